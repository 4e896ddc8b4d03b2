// The request `kernel`.
#include <algorithm>
#include <iterator>

#include "strata/base/quotes.h"
#include "tools/ask_kernel.h"
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
  STRATA_CHECK(language != nullptr, request, "[request] there is no target ", in_quotes(word),
               ": there are ", kernel_language_words());
  return *language;
}

Target target_asked(const Request& request, const KernelLanguage& language) {
  Target out = language.target();
  const auto bytes = request.find("vector_bytes");
  if (!bytes) return out;
  const std::int64_t n = bytes->as_integer("vector_bytes");
  if (n != 16 && n != 32 && n != 64)
    throw Error(
        ErrorKind::request,
        detail::message("[request] vector_bytes is ", n, ": vectors are of 16, 32 or 64 bytes"),
        bytes->column());
  out.vector_bytes = static_cast<int>(n);
  return out;
}

/// The sections of a list of words; `all` is all but those of times.
std::vector<std::string_view> sections_asked(std::string_view list) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split(list, ',')) {
    if (word == "all") {
      std::copy_if(std::begin(kKernelSections), std::end(kKernelSections), std::back_inserter(out),
                   [](std::string_view section) { return section != "passes"; });
      continue;
    }
    const auto* const known = std::find(std::begin(kKernelSections), std::end(kKernelSections), word);
    STRATA_CHECK(known != std::end(kKernelSections), request,
                 "[request] there is nothing to show that is called ", in_quotes(word));
    out.push_back(*known);
  }
  return out;
}

}  // namespace

KernelQuestion read_kernel_question(const Request& request) {
  const KernelLanguage& language = language_asked(request);
  return {request.text("text"), &language, target_asked(request, language),
          read_opts(text_or(request, "opts", "auto"), "opts")};
}

void answer_kernel(const Request& request, Work& work, JsonWriter& json) {
  const std::string show = text_or(request, "show", kShownSections);
  std::vector<std::string_view> sections = sections_asked(show);
  const bool timed = std::find(sections.begin(), sections.end(), "passes") != sections.end();
  const KernelQuestion question = read_kernel_question(request);
  const KernelAnswer answer = ask_kernel(question, work);
  const KernelLanguage& language = *question.language;
  write_kernel(
      json, {answer.text.names, answer.kernel, answer.record, language.device, language.word,
             question.target.vector_bytes, std::move(sections), timed,
             [&](const Kernel& k, SourceLines* lines) { return language.source(k, k.name, lines); },
             [](const Kernel&) { return std::nullopt; }});
}

}  // namespace strata::tools
