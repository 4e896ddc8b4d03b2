// `strata kernel`: a kernel's text through the compiler, stage by stage, and run.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "strata/base/json.h"
#include "strata/expr/parse.h"
#include "strata/graph/kernel_text.h"
#include "strata/ir/uop.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/kernel_run.h"
#include "tools/kernel_target.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

constexpr std::string_view kSections[] = {"ast", "axes",  "uops",  "source",
                                          "asm", "proof", "passes"};
constexpr std::string_view kShown = "axes,uops,source,proof";

// --- options ---

std::vector<std::string_view> read_sections(const Invocation& invocation, std::string& storage) {
  storage = invocation.value("--show").value_or(std::string(kShown));
  if (storage == "all") return {std::begin(kSections), std::end(kSections)};
  std::vector<std::string_view> out = split(storage, ',');
  for (const std::string_view section : out)
    if (std::find(std::begin(kSections), std::end(kSections), section) == std::end(kSections))
      throw UsageError(
          detail::message("--show ", section, ": there are ast, axes, uops, source, asm, ",
                          "proof, passes and all"),
          &invocation.command());
  return out;
}

std::optional<std::vector<Opt>> read_opts(const Invocation& invocation) {
  const std::string text = invocation.value("--opts").value_or("auto");
  if (text == "auto") return std::nullopt;
  if (text == "none") return std::vector<Opt>();
  try {
    return parse_opts(text);
  } catch (const Error& e) {
    throw TextError(e, text, "--opts");
  }
}

VariableValues read_values(const Invocation& invocation) {
  VariableValues out;
  for (const std::string& list : invocation.values("--values"))
    for (const std::string_view item : split(list, ',')) {
      const std::size_t equals = item.find('=');
      const std::string where = detail::message("--values ", item);
      if (equals == std::string_view::npos)
        throw UsageError(where + ": expected NAME=VALUE", &invocation.command());
      out.emplace_back(item.substr(0, equals),
                       parse_integer(item.substr(equals + 1), where, invocation.command()));
    }
  return out;
}

std::optional<std::int64_t> read_repeats(const Invocation& invocation) {
  const auto text = invocation.value("--repeat");
  if (!text) return std::nullopt;
  const std::int64_t out = parse_integer(*text, "--repeat", invocation.command());
  if (out < 1) throw UsageError("--repeat: at least 1", &invocation.command());
  return out;
}

// --- what is told ---

/// A kernel as a device has it. The compiled program is there where it is to run.
struct Told {
  const KernelText& text;
  const Device& device;
  const Kernel& kernel;
  int vector_bytes;
  std::optional<KernelRun> run;
};

/// That of the text; of those through which kernels hand over, a name that no text has.
std::string name_of_buffer(const Told& told, std::size_t slot) {
  return slot < told.text.names.size() ? told.text.names[slot] : "(temporary)";
}

/// Machine code, or why there is none.
std::pair<std::string, bool> assembly_of(const Told& told) {
  try {
    return {told.device.assembly(told.kernel), true};
  } catch (const Error& e) {
    return {detail::message("none: ", e.what(), "\n"), false};
  }
}

std::string passes_text(const Kernel& kernel) {
  std::string out;
  for (const auto& [name, seconds] : kernel.times) {
    std::string label = name;
    label.resize(std::max<std::size_t>(label.size() + 1, 12), ' ');
    out += detail::message(label, seconds_text(seconds), "\n");
  }
  return out;
}

std::string opts_text(const Kernel& kernel) {
  return kernel.opts.empty() ? "none" : text_of(kernel.opts);
}

/// Of one of the kernels that a kernel is made of.
std::string section_of(const Told& told, std::string_view section) {
  const Kernel& k = told.kernel;
  if (section == "ast") return k.ast.text();
  if (section == "axes") return detail::message(k.axes, "opts: ", opts_text(k), "\n");
  if (section == "uops") return k.uops.text();
  if (section == "source") return told.device.source(k);
  if (section == "asm") return assembly_of(told).first;
  if (section == "proof") return k.proof.text() + "\n";
  return passes_text(k);
}

std::string section_text(const Told& told, std::string_view section) {
  std::string out;
  for (const auto& first : told.kernel.before)
    out += detail::message(
        "first ", first->name, ":\n",
        section_of({told.text, told.device, *first, told.vector_bytes, std::nullopt}, section),
        "then:\n");
  return out + section_of(told, section);
}

/// What the kernel's code calls a buffer.
std::string name_in_code(const Kernel& kernel, std::size_t slot) {
  for (const UOp u : kernel.uops)
    if (u.op() == UOps::DEFINE_GLOBAL)
      if (const auto& global = std::get<Global>(u.arg()); global.slot == static_cast<int>(slot))
        return global.name;
  return detail::message("data", slot);
}

void print_buffers(const Told& told, Lines& lines) {
  const std::vector<BufferUse>& buffers = told.kernel.buffers;
  for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
    const BufferUse& use = buffers[slot];
    if (use.dtype.is_none()) continue;
    const std::string_view way = use.read && use.written ? "read, written"
                                 : use.read              ? "read"
                                                         : "written";
    lines.print(slot == 0 ? "buffers" : "",
                detail::message(name_of_buffer(told, slot), ": ", use.dtype.name(), "[",
                                use.size.render(), "]"),
                detail::message(name_in_code(told.kernel, slot), ", ", way));
  }
}

void print_run(const Told& told, Lines& lines) {
  const KernelRun& run = *told.run;
  lines.print("check", run.check);
  lines.print("time", seconds_text(run.median),
              detail::message("median of ", run.seconds.size(),
                              run.seconds.size() == 1 ? " run, " : " runs, ", run.threads,
                              run.threads == 1 ? " thread" : " threads"));
  if (told.device.name() == "NULL") return;
  const bool floats = run.work.floats;
  lines.print("speed", speed_text(run.work.operations / run.median, floats),
              "operations of the AST, each once an element");
  lines.print("memory", bandwidth_text(run.work.bytes / run.median), "each buffer once");
  const Roofline& roof = roofline(told.device, run.work.doubles);
  if (roof.peak <= 0) return lines.print("roofline", roof.text);
  const double least = roof.seconds(run.work);
  const bool in_cache = run.work.bytes / roof.bandwidth > run.median;
  const auto percent = static_cast<std::int64_t>(std::lround(100 * least / run.median));
  lines.print("roofline",
              detail::message(percent, "% of ", bandwidth_text(roof.bandwidth), " and ",
                              speed_text(roof.peak, true)),
              detail::message(in_cache ? "the data is in a cache; " : "", roof.text));
}

void print(const Told& told, std::span<const std::string_view> sections, Console& console, bool colour) {
  Lines lines(console, colour);
  lines.print("kernel", told.kernel.name, told.device.name());
  print_buffers(told, lines);
  for (const std::string_view section : sections) {
    std::string text = section_text(told, section);
    if (!text.ends_with('\n')) text += '\n';
    console.out << '\n' << paint(colour, Style::bold, section) << '\n' << text;
  }
  if (!told.run) return;
  if (!sections.empty()) console.out << '\n';
  print_run(told, lines);
}

// --- JSON ---

void write_buffers(JsonWriter& json, const Told& told) {
  json.key("buffers").begin_array();
  for (std::size_t slot = 0; slot < told.kernel.buffers.size(); ++slot) {
    const BufferUse& use = told.kernel.buffers[slot];
    json.begin_object().member("name", name_of_buffer(told, slot)).member("dtype", use.dtype.name());
    json.key("size");
    if (use.size.is_number())
      json.value(use.size.value());
    else
      json.value(use.size.render());
    json.member("read", use.read).member("written", use.written).end_object();
  }
  json.end_array();
}

void write_proof(JsonWriter& json, const BoundsProof& proof) {
  json.key("proof").begin_object().member("accesses", static_cast<std::int64_t>(proof.accesses));
  json.member("by_bounds", static_cast<std::int64_t>(proof.by_bounds));
  json.member("by_algebra", static_cast<std::int64_t>(proof.by_algebra));
  write_number(json, "seconds", proof.seconds);
  json.end_object();
}

void write_run(JsonWriter& json, const Told& told) {
  const KernelRun& run = *told.run;
  json.key("run").begin_object().key("agrees");
  if (run.agrees)
    json.value(*run.agrees);
  else
    json.null();
  json.member("check", run.check).member("threads", std::int64_t{run.threads});
  json.member("iterations", static_cast<std::int64_t>(run.seconds.size()));
  write_number(json, "median_seconds", run.median);
  json.key("seconds").begin_array();
  for (const double s : run.seconds) json.raw(Scalar(s).text());
  json.end_array();
  write_number(json, "operations", run.work.operations);
  write_number(json, "bytes", run.work.bytes);
  const Roofline& roof = roofline(told.device, run.work.doubles);
  json.key("roofline").begin_object().member("text", roof.text);
  write_number(json, "bytes_per_second", roof.bandwidth);
  write_number(json, "operations_per_second", roof.peak);
  write_number(json, "least_seconds", roof.seconds(run.work));
  json.end_object().end_object();
}

std::string to_json(const Told& told) {
  const Kernel& k = told.kernel;
  JsonWriter json;
  json.begin_object().member("name", k.name).member("device", told.device.name());
  json.member("target", language_of(told.device));
  json.member("vector_bytes", std::int64_t{told.vector_bytes});
  write_buffers(json, told);
  json.key("opts").begin_array();
  for (const Opt& opt : k.opts) json.value(opt.text());
  json.end_array().key("first").begin_array();  // SPLITREDUCE: what runs before it
  for (const auto& first : k.before) {
    json.begin_object().member("name", first->name).member("opts", opts_text(*first));
    json.member("axes", first->axes).member("uops", first->uops.text());
    json.member("source", told.device.source(*first));
    write_proof(json, first->proof);
    json.end_object();
  }
  json.end_array().member("ast", k.ast.text()).member("axes", k.axes).member("uops", k.uops.text());
  json.member("source", told.device.source(k));
  const auto [assembly, there] = assembly_of(told);
  json.key("asm");
  if (there)
    json.value(assembly);
  else
    json.null();
  write_proof(json, k.proof);
  json.key("passes").begin_object();
  for (const auto& [name, seconds] : k.times) write_number(json, name, seconds);
  json.end_object();
  if (told.run) write_run(json, told);
  return json.end_object().take();
}

// --- the command ---

int tell(const Invocation& invocation, const Told& told, std::span<const std::string_view> sections,
         Console& console) {
  if (invocation.has("--json"))
    console.out << to_json(told) << '\n';
  else
    print(told, sections, console, wants_colour(invocation, console));
  return told.run && told.run->agrees == false ? 1 : 0;
}

KernelText read_kernel(const std::string& text) {
  try {
    return parse_kernel(text);
  } catch (const Error& e) {
    throw TextError(e, text, "");
  }
}

}  // namespace

int command_kernel(const Invocation& invocation, Console& console) {
  std::string storage;
  const std::vector<std::string_view> sections = read_sections(invocation, storage);
  const VariableValues values = read_values(invocation);
  const auto repeats = read_repeats(invocation);
  const bool runs = invocation.has("--run");
  if (!runs && (repeats || !values.empty()))
    throw UsageError("--repeat and --values go with --run", &invocation.command());
  try {
    const KernelText text = read_kernel(invocation.arguments().front());
    const KernelTarget target = read_kernel_target(invocation);
    const Device& device = *target.device;
    auto opts = read_opts(invocation);
    if (!runs) {
      const Kernel kernel = compile_kernel(text.kernel, target.target, std::move(opts));
      return tell(invocation, {text, device, kernel, target.target.vector_bytes, std::nullopt},
                  sections, console);
    }
    STRATA_CHECK(device.missing().empty(), domain, device.missing());
    const CompiledKernel kernel = compiled_for(text.kernel, target, std::move(opts));
    return tell(invocation,
                {text, device, kernel.kernel(), target.target.vector_bytes,
                 run_kernel(kernel, device, values, repeats)},
                sections, console);
  } catch (const TextError& e) {
    console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << e.what() << '\n';
    if (e.column() != 0) console.err << show_caret(e.text(), e.column()) << '\n';
    return 1;
  }
}

}  // namespace strata::tools
