// The requests about kernels: `kernel`, `order`, `evaluate`.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "strata/base/quotes.h"
#include "tools/ask_candidates.h"
#include "tools/ask_kernel.h"
#include "tools/ask_order.h"
#include "tools/batch_kernel_fields.h"
#include "tools/batch_rows.h"
#include "tools/split.h"

namespace strata::tools {
namespace {

std::string text_or(const Request& request, std::string_view key, std::string_view otherwise) {
  const auto value = request.find(key);
  return std::string(value ? value->as_string(key) : otherwise);
}

const KernelLanguage& language_asked(const Request& request) {
  const std::string word = text_or(request, "target", "c");
  const KernelLanguage* const language = find_kernel_language(word);
  STRATA_CHECK(language != nullptr, request, "[request] there is no target ", in_quotes(word), ": there are ",
               kernel_language_words());
  return *language;
}

Target target_asked(const Request& request, const KernelLanguage& language) {
  Target out = language.target();
  const auto bytes = request.find("vector_bytes");
  if (!bytes) return out;
  const std::int64_t n = bytes->as_integer("vector_bytes");
  if (n != 16 && n != 32 && n != 64)
    throw Error(ErrorKind::request,
                detail::message("[request] vector_bytes is ", n, ": vectors are of 16, 32 or 64 bytes"),
                bytes->column());
  out.vector_bytes = static_cast<int>(n);
  return out;
}

constexpr std::string_view kCandidates = "candidates";  // a word of `show` that is not a section

bool holds(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The sections that the words of `show` name; `all` means all sections except times and candidates.
std::vector<std::string_view> sections_asked(std::string_view list) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split(list, ',')) {
    if (word == "all") {
      std::copy_if(std::begin(kKernelSections), std::end(kKernelSections), std::back_inserter(out),
                   [](std::string_view section) { return section != "passes"; });
      continue;
    }
    const bool is_known = word == kCandidates || std::find(std::begin(kKernelSections), std::end(kKernelSections),
                                                           word) != std::end(kKernelSections);
    STRATA_CHECK(is_known, request, "[request] there is nothing to show that is called ", in_quotes(word));
    out.push_back(word);
  }
  return out;
}

KernelQuestion read_kernel_question(const Request& request) {
  const KernelLanguage& language = language_asked(request);
  return {request.text("text"), &language, target_asked(request, language),
          read_opts(text_or(request, "opts", "auto"), "opts")};
}

void write_candidates(JsonWriter& json, const std::vector<OptCandidate>& candidates) {
  json.key("candidates").begin_array();
  for (const OptCandidate& c : candidates) {
    json.begin_object().member("opt", c.opt.text()).member("legal", c.refusal.empty());
    json.member("reason", c.refusal).end_object();
  }
  json.end_array();
}

// --- runs ---

std::int64_t integer_or(const Request& request, std::string_view key, std::int64_t otherwise) {
  const auto value = request.find(key);
  return value ? value->as_integer(key) : otherwise;
}

VariableValues values_asked(const Request& request) {
  VariableValues out;
  if (const auto values = request.find("values"))
    for (const auto& m : values->as_object("values"))
      out.emplace_back(m.key, m.value.as_integer("the value of " + in_quotes(m.key)));
  return out;
}

void write_values(JsonWriter& json, const VariableValues& values) {
  json.key("values").begin_object();
  for (const auto& [name, value] : values) json.member(name, value);
  json.end_object();
}

/// Writes a list of integers: to `memory` as 32-bit integers, if it is not null and they fit; else by write_numbers().
void write_triples(JsonWriter& json, const std::vector<std::int64_t>& triples, NumberLists* memory) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (memory == nullptr || std::any_of(triples.begin(), triples.end(), [](std::int64_t n) { return n > most; }))
    return write_numbers(json, triples, memory);
  std::vector<std::int32_t> list;
  list.reserve(triples.size());
  for (const std::int64_t n : triples) list.push_back(static_cast<std::int32_t>(n));
  memory->add(json, std::move(list));
}

/// Writes a scalar; NaN and infinities, which JSON numbers cannot be, as strings.
void write_element(JsonWriter& json, const Scalar& value) {
  if (value.dtype().is_bool())
    json.value(std::int64_t{value.as_bool() ? 1 : 0});
  else if (value.dtype().is_float() && !std::isfinite(value.as_double()))
    json.value(value.text());
  else
    json.raw(value.text());
}

bool is_double(const Scalar& value) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  const DType dtype = value.dtype();
  if (!dtype.is_int()) return true;
  if (dtype.is_unsigned()) return value.as_uint() <= static_cast<std::uint64_t>(most);
  return -most <= value.as_int() && value.as_int() <= most;
}

void write_elements(JsonWriter& json, DType dtype, const std::vector<std::byte>& bytes, NumberLists* memory) {
  std::vector<Scalar> values;
  for (std::size_t at = 0; at < bytes.size(); at += dtype.itemsize())
    values.push_back(load_scalar(dtype, bytes.data() + at));
  if (memory != nullptr && std::all_of(values.begin(), values.end(), is_double)) {
    std::vector<double> list;
    for (const Scalar& value : values) list.push_back(value.as_double());
    return memory->add(json, std::move(list));
  }
  json.begin_array();
  for (const Scalar& value : values) write_element(json, value);
  json.end_array();
}

}  // namespace

void answer_kernel(const Request& request, Work& work, JsonWriter& json) {
  const std::string show = text_or(request, "show", kShownSections);
  const std::vector<std::string_view> sections = sections_asked(show);
  const KernelQuestion question = read_kernel_question(request);
  const KernelAnswer answer = ask_kernel(question, work);
  const KernelLanguage& language = *question.language;
  write_kernel(json, {answer.text.names, answer.kernel, answer.record, language.device, language.word,
                      question.target.vector_bytes, sections, holds(sections, "passes"),
                      [&](const Kernel& k, SourceLines* lines) { return language.source(k, k.name, lines); },
                      [](const Kernel&) { return std::nullopt; }});
  if (holds(sections, kCandidates)) write_candidates(json, ask_candidates(question, answer));
}

void answer_order(const Request& request, Work& work, JsonWriter& json) {
  const std::int64_t limit = integer_or(request, "limit", default_accesses);
  STRATA_CHECK(0 <= limit && limit <= most_accesses, request, "[request] limit is ", limit, ", not from 0 to ",
               most_accesses);
  const KernelAnswer asked = ask_kernel(read_kernel_question(request), work);
  const OrderAnswer answer = ask_order(asked, values_asked(request), limit, work);
  json.key("buffers").begin_array();
  for (std::size_t slot = 0; slot < answer.sizes.size(); ++slot) {
    json.begin_object().member("name", name_of_buffer(asked.text.names, slot));
    json.member("dtype", asked.kernel.buffers[slot].dtype.name());
    json.member("size", answer.sizes[slot]).end_object();
  }
  json.end_array();
  write_values(json, answer.values);
  json.key("kernels").begin_array();
  for (const OrderAnswer::Part& part : answer.kernels)
    json.begin_object().member("name", part.name).member("accesses", part.accesses).end_object();
  json.end_array();
  write_triples(json.key("order"), answer.triples, request.memory());
}

void answer_evaluate(const Request& request, Work& work, JsonWriter& json) {
  const auto seed = static_cast<std::uint64_t>(integer_or(request, "seed", 2026));
  const std::string text = request.text("text");
  work.charge(text.size());
  const KernelText kernel = read_kernel(text);
  const EvaluateAnswer answer = ask_evaluate(kernel, values_asked(request), seed, work);
  write_values(json, answer.values);
  json.key("buffers").begin_array();
  for (std::size_t slot = 0; slot < answer.buffers.size(); ++slot) {
    const BufferUse& use = answer.buffers[slot];
    json.begin_object().member("name", name_of_buffer(kernel.names, slot));
    json.member("dtype", use.dtype.name()).member("size", answer.sizes[slot]);
    json.member("read", use.read).member("written", use.written);
    if (use.read) write_elements(json.key("input"), use.dtype, answer.before.bytes[slot], request.memory());
    if (use.written) write_elements(json.key("output"), use.dtype, answer.after.bytes[slot], request.memory());
    json.end_object();
  }
  json.end_array();
}

}  // namespace strata::tools
