// `strata kernel`: compiles the text of a kernel, prints the stages of the compilation, and runs the kernel.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "strata/base/json.h"
#include "strata/expr/parse.h"
#include "strata/ir/uop.h"
#include "tools/ask_kernel.h"
#include "tools/batch_kernel_fields.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/kernel_run.h"
#include "tools/kernel_target.h"
#include "tools/link.h"
#include "tools/request.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

// --- options ---

std::vector<std::string_view> read_sections(const Invocation& invocation, std::string& storage) {
  storage = invocation.value("--show").value_or(std::string(kShownSections));
  if (storage == "all") return {std::begin(kKernelSections), std::end(kKernelSections)};
  std::vector<std::string_view> out = split(storage, ',');
  for (const std::string_view section : out)
    if (std::find(std::begin(kKernelSections), std::end(kKernelSections), section) == std::end(kKernelSections))
      throw UsageError(detail::message("--show ", section, ": there are ast, axes, uops, source, asm, ",
                                       "proof, time, passes and all"),
                       &invocation.command());
  return out;
}

VariableValues read_values(const Invocation& invocation) {
  VariableValues out;
  for (const std::string& list : invocation.values("--values"))
    for (const std::string_view item : split(list, ',')) {
      const std::size_t equals = item.find('=');
      const std::string where = detail::message("--values ", item);
      if (equals == std::string_view::npos) throw UsageError(where + ": expected NAME=VALUE", &invocation.command());
      out.emplace_back(item.substr(0, equals), parse_integer(item.substr(equals + 1), where, invocation.command()));
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

// --- the report ---

/// The data of the report on a kernel that was compiled for a device. `run` has a value if the kernel ran.
struct Told {
  const KernelText& text;
  const Device& device;
  const Kernel& kernel;
  const Target& target;
  std::optional<KernelRun> run;
};

/// The assembly, or the reason why there is none.
std::pair<std::string, bool> assembly_of(const Device& device, const Kernel& kernel) {
  try {
    return {device.assembly(kernel), true};
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

std::string predicted_text(const Kernel& kernel, const Machine& machine) {
  if (kernel.cycles.total() == 0) return "no prediction for this target\n";
  const Cycles& c = kernel.cycles;
  std::string out = detail::message("predicted   ", seconds_text(c.seconds(machine)), " on one thread\n");
  const auto part = [&](std::string_view name, double cycles) {
    if (cycles > 0) out += detail::message(name, seconds_text(cycles / (machine.gigahertz * 1e9)), "\n");
  };
  part("compute     ", c.issue);
  part("L2 to L1    ", c.caches[0]);
  part("L3 to L2    ", c.caches[1]);
  part("memory      ", c.caches[2]);
  return out;
}

/// Prints the sections of one of the kernels that a kernel consists of.
std::string section_of(const Told& told, std::string_view section) {
  const Kernel& k = told.kernel;
  if (section == "ast") return k.ast.text();
  if (section == "axes") return detail::message(k.axes, "opts: ", opts_text(k), "\n");
  if (section == "uops") return k.uops.text();
  if (section == "source") return told.device.source(k);
  if (section == "asm") return assembly_of(told.device, k).first;
  if (section == "proof") return k.proof.text() + "\n";
  if (section == "time") return predicted_text(k, told.target.machine());
  return passes_text(k);
}

std::string section_text(const Told& told, std::string_view section) {
  std::string out;
  for (const auto& first : told.kernel.before)
    out += detail::message("first ", first->name, ":\n",
                           section_of({told.text, told.device, *first, told.target, std::nullopt}, section), "then:\n");
  out += section_of(told, section);
  const bool is_code = section == "uops" || section == "source" || section == "asm";
  if (const auto& other = told.kernel.of_normals; other != nullptr && is_code)
    out += detail::message("or, where no number is subnormal:\n",
                           section_of({told.text, told.device, *other, told.target, std::nullopt}, section));
  return out;
}

/// The name of a buffer in the kernel's code.
std::string name_in_code(const Kernel& kernel, std::size_t slot) {
  for (const UOp u : kernel.uops)
    if (u.op() == UOps::DEFINE_GLOBAL)
      if (const auto& global = std::get<Global>(u.arg()); global.slot == static_cast<int>(slot)) return global.name;
  return detail::message("data", slot);
}

void print_buffers(const Told& told, Lines& lines) {
  const std::vector<BufferUse>& buffers = told.kernel.buffers;
  for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
    const BufferUse& use = buffers[slot];
    if (use.dtype.is_none()) continue;
    const std::string_view way = use.read && use.written ? "read, written" : use.read ? "read" : "written";
    lines.print(
        slot == 0 ? "buffers" : "",
        detail::message(name_of_buffer(told.text.names, slot), ": ", use.dtype.name(), "[", use.size.render(), "]"),
        detail::message(name_in_code(told.kernel, slot), ", ", way));
  }
}

void print_run(const Told& told, Lines& lines) {
  const KernelRun& run = *told.run;
  lines.print("check", run.check);
  lines.print("time", seconds_text(run.median),
              detail::message("median of ", run.seconds.size(), run.seconds.size() == 1 ? " run, " : " runs, ",
                              run.threads, run.threads == 1 ? " thread" : " threads"));
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
              detail::message(percent, "% of ", bandwidth_text(roof.bandwidth), " and ", speed_text(roof.peak, true)),
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
  KernelRecord record;  // of a second compilation, which records the stages
  compile_kernel(told.text.kernel, told.target, told.kernel.opts, &record);
  const KernelLanguage* const language = language_of(told.device);
  JsonWriter json;
  json.begin_object();
  write_kernel(json, {told.text.names,
                      told.kernel,
                      record,
                      told.device.name(),
                      language == nullptr ? "none" : language->word,
                      told.target.vector_bytes,
                      {std::begin(kKernelSections), std::end(kKernelSections)},
                      true,
                      [&](const Kernel& k, SourceLines* lines) {
                        return language == nullptr ? told.device.source(k) : language->source(k, k.name, lines);
                      },
                      [&](const Kernel& k) -> std::optional<std::string> {
                        auto [text, there] = assembly_of(told.device, k);
                        return there ? std::optional(std::move(text)) : std::nullopt;
                      }});
  if (told.run) write_run(json, told);
  return json.end_object().take();
}

// --- the command ---

int tell(const Invocation& invocation, const Told& told, std::span<const std::string_view> sections, Console& console) {
  if (invocation.has("--json"))
    console.out << to_json(told) << '\n';
  else
    print(told, sections, console, wants_colour(invocation, console));
  return told.run && told.run->agrees == false ? 1 : 0;
}

int report_kernel_error(const TextError& e, Console& console) {
  console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << e.what() << '\n';
  if (e.column() != 0) console.err << show_caret(e.text(), e.column()) << '\n';
  return 1;
}

/// The members of the link beside the text. For a device without a language, the page chooses the target.
std::vector<std::pair<std::string, std::string>> link_parts(const Invocation& invocation) {
  std::vector<std::pair<std::string, std::string>> out;
  if (const auto opts = invocation.value("--opts")) out.emplace_back("opts", in_one_line(*opts));
  if (const KernelLanguage* language = language_of(*read_kernel_target(invocation).device))
    out.emplace_back("target", language->word);
  if (const auto bytes = invocation.value("--vector-bytes")) out.emplace_back("vector_bytes", *bytes);
  return out;
}

}  // namespace

int link_kernel(const Invocation& invocation, Console& console, const LinkUse& use) {
  for (const std::string_view option : {"--run", "--repeat", "--values"})
    if (invocation.has(option))
      throw UsageError(detail::message(option, " is not for the page: leave it out"), &invocation.command());
  std::string storage;
  read_sections(invocation, storage);
  const std::string& text = invocation.arguments().front();
  try {
    read_kernel(text);
    read_opts(invocation.value("--opts").value_or("auto"), "--opts");
  } catch (const TextError& e) {
    return report_kernel_error(e, console);
  }
  return use({"kernel", text, link_parts(invocation)});
}

int command_kernel(const Invocation& invocation, Console& console) {
  if (invocation.has("--link")) return link_kernel(invocation, console, print_link(console));
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
    auto opts = read_opts(invocation.value("--opts").value_or("auto"), "--opts");
    if (!runs) {
      const Kernel kernel = compile_kernel(text.kernel, target.target, std::move(opts));
      return tell(invocation, {text, device, kernel, target.target, std::nullopt}, sections, console);
    }
    STRATA_CHECK(device.missing().empty(), domain, device.missing());
    const CompiledKernel kernel = compiled_for(text.kernel, target, std::move(opts));
    return tell(invocation, {text, device, kernel.kernel(), target.target, run_kernel(kernel, device, values, repeats)},
                sections, console);
  } catch (const TextError& e) {
    return report_kernel_error(e, console);
  }
}

}  // namespace strata::tools
