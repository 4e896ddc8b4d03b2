// `strata run`, `strata inspect` and `strata export`: ONNX models. The commands run a model on arrays of npy files,
// list its nodes, and write it as a C file.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>

#include "strata/base/json.h"
#include "strata/export/export_c.h"
#include "strata/nn/npy.h"
#include "strata/onnx/call.h"
#include "strata/onnx/capture.h"
#include "strata/onnx/memory.h"
#include "strata/onnx/model.h"
#include "strata/tensor/random.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

/// "NAME=TEXT" as a pair; a text without = has an empty name.
std::pair<std::string, std::string> named_text(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

using Bounds = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

/// The bounds of all options --size NAME=N and NAME=MIN..MAX.
Bounds read_sizes(const Invocation& invocation) {
  Bounds out;
  for (const std::string& text : invocation.values("--size")) {
    const std::string where = "--size " + text;
    const auto [name, range] = named_text(text);
    if (name.empty()) throw UsageError(where + ": expected NAME=N or NAME=MIN..MAX", &invocation.command());
    const std::size_t dots = range.find("..");
    const std::int64_t low = parse_integer(range.substr(0, dots), where, invocation.command());
    const std::int64_t high =
        dots == std::string::npos ? low : parse_integer(range.substr(dots + 2), where, invocation.command());
    if (low < 1) throw UsageError(where + ": a size is at least 1", &invocation.command());
    if (high < low)
      throw UsageError(detail::message(where, ": the range is empty, ", low, " is more than ", high),
                       &invocation.command());
    if (!out.emplace(name, std::pair(low, high)).second)
      throw UsageError(where + ": " + name + " is given twice", &invocation.command());
  }
  return out;
}

onnx::LoadOptions load_options(const Invocation& invocation) {
  onnx::LoadOptions options{.bounds = read_sizes(invocation)};
  if (const auto device = invocation.value("--device")) options.device = &Device::get(*device);
  return options;
}

/// The options --size that would give each range one number, of an example.
std::string fixed_sizes(const Bounds& bounds) {
  std::string out;
  for (const auto& [name, range] : bounds)
    if (range.first < range.second)
      out += detail::message(out.empty() ? "" : " ", "--size ", name, "=", onnx::example_size(range));
  return out;
}

/// @throws Error as capture(); where the call needs numbers, also with the options that give them
onnx::Capture captured(const Invocation& invocation, const onnx::Model& model, const onnx::NamedValues& inputs,
                       const onnx::NamedValues& constants) {
  const std::string fixed = fixed_sizes(read_sizes(invocation));
  try {
    return onnx::capture(model, inputs, constants);
  } catch (const Error& e) {
    if (fixed.empty()) throw;
    throw Error(e.kind(),
                detail::message(e.what(), "\n  The call fails for a range of sizes; one size is written by ", fixed));
  }
}

bool has_name(const onnx::NamedValues& values, const std::string& name) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
}

/// The inputs of the call: those of --input, by name or in order, and the others as examples where `completes`.
onnx::NamedValues read_inputs(const Invocation& invocation, const onnx::Model& model, bool completes) {
  onnx::NamedValues out;
  std::size_t next = 0;
  for (const std::string& text : invocation.values("--input")) {
    auto [name, path] = named_text(text);
    if (name.empty()) {
      STRATA_CHECK(next < model.inputs().size(), domain, "[", invocation.command().name, "] --input ", path,
                   ": the model has ", model.inputs().size(), " inputs");
      name = model.inputs()[next++].name;
    }
    out.emplace_back(name, nn::from_array(read_npy(path)));
  }
  if (!completes) return out;
  Generator generator(0);
  for (auto& [name, example] : model.example_inputs()) {
    if (has_name(out, name)) continue;
    const Tensor& like = example.tensor();
    out.emplace_back(name, like.dtype().is_float() ? randn_like(like, generator) : like);
  }
  return out;
}

/// The elements of a value, the first ones where there are many.
std::string elements_text(const onnx::Datum& value) {
  constexpr std::int64_t most = 8;
  if (value.is_sequence() || value.is_empty_optional()) return "";
  std::string out;
  const onnx::Sizes shape = value.shape();
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const Buffer elements =
      value.is_tensor() && count > 0 ? value.tensor().buffer().toCPU() : Buffer::allocate(0, dtypes::float32);
  for (std::int64_t k = 0; k < std::min(count, most); ++k)
    out += (k > 0 ? " " : "") +
           (value.is_texts() ? value.texts().elements[static_cast<std::size_t>(k)] : elements[k].text());
  return count > most ? out + " ..." : out;
}

void write_outputs(const Invocation& invocation, const onnx::NamedValues& outputs) {
  std::size_t next = 0;
  for (const std::string& text : invocation.values("--output")) {
    const auto [name, path] = named_text(text);
    const auto found = name.empty() ? outputs.begin() + static_cast<std::ptrdiff_t>(std::min(next++, outputs.size()))
                                    : std::find_if(outputs.begin(), outputs.end(),
                                                   [&, &n = name](const auto& output) { return output.first == n; });
    STRATA_CHECK(found != outputs.end(), domain, "[run] --output ", text, ": the model has no such output");
    write_npy(path, nn::to_array(found->second.tensor()));
  }
}

/// Runs the model and waits for the values.
onnx::NamedValues run_now(const onnx::Model& model, const onnx::NamedValues& inputs) {
  onnx::NamedValues outputs = model(inputs);
  for (const auto& [name, value] : outputs)
    if (value.is_tensor()) value.tensor().realize();
  return outputs;
}

double seconds_of_run(const onnx::Model& model, const onnx::NamedValues& inputs) {
  const auto begin = std::chrono::steady_clock::now();
  run_now(model, inputs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string run_json(const onnx::NamedValues& outputs, double first, double again) {
  JsonWriter json;
  json.begin_object().key("outputs").begin_array();
  for (const auto& [name, value] : outputs) {
    json.begin_object().member("name", name).member("type", value.type_text());
    json.member("elements", elements_text(value)).end_object();
  }
  json.end_array().key("first_seconds").raw(Scalar(first).text()).key("seconds").raw(Scalar(again).text());
  return json.end_object().take();
}

// --- inspect ---

/// A line of the table of nodes.
struct NodeLine {
  std::string op, name, type;
};

std::string op_text(const onnx::Node& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

NodeLine line_of(const onnx::Node& node, const std::vector<onnx::Datum>& outputs) {
  std::string type;
  for (std::size_t k = 0; k < outputs.size() && k < node.outputs.size(); ++k)
    if (!node.outputs[k].empty()) type += (type.empty() ? "" : ", ") + outputs[k].type_text();
  return {op_text(node), node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name, type};
}

/// The nodes of a call on example inputs, and its memory. A node whose shape depends on values stops the walk, with the
/// reason.
std::vector<NodeLine> walked(const onnx::Model& model, onnx::PlannedMemory& memory, std::string& stopped) {
  std::vector<NodeLine> out;
  try {
    memory = planned_memory(model, [&](const onnx::Node& node, const std::vector<onnx::Datum>& outputs) {
      out.push_back(line_of(node, outputs));
    });
  } catch (const Error& e) {
    stopped = e.what();
  }
  return out;
}

/// What of a model is printed: also of one that cannot be run.
struct Inspected {
  std::string producer, refusal, stopped;
  std::map<std::string, std::int64_t> opsets, operators;
  std::vector<onnx::Port> inputs, outputs;
  std::vector<NodeLine> nodes;
  onnx::PlannedMemory memory;  ///< of a model that runs to its end
  bool has_ranges = false;     ///< sizes are ranges, and the memory is that of the largest
  std::int64_t graphs = 0, parameters = 0;
  std::uint64_t parameter_bytes = 0;
};

Inspected inspected(const Invocation& invocation) {
  onnx::Definition definition = onnx::read_model(invocation.arguments().front());
  Inspected out;
  out.producer = definition.producer;
  out.opsets = definition.opsets;
  out.graphs = std::ssize(definition.graphs);
  std::vector<NodeLine> stated;
  for (const onnx::Graph& graph : definition.graphs)
    for (const onnx::Node& node : graph.nodes) {
      ++out.operators[op_text(node)];
      stated.push_back(line_of(node, {}));
    }
  out.inputs = definition.graphs[0].inputs;
  out.outputs = definition.graphs[0].outputs;
  try {
    onnx::Model model(std::move(definition), load_options(invocation));
    model.eval();
    out.inputs = model.inputs();
    for (const auto& [name, tensor] : model.state_dict()) {
      const std::int64_t count = tensor.numel().value();
      out.parameters += count;
      out.parameter_bytes += static_cast<std::uint64_t>(count) * tensor.itemsize();
    }
    out.nodes = walked(model, out.memory, out.stopped);
    for (const auto& [name, range] : read_sizes(invocation))
      out.has_ranges = out.has_ranges || range.first < range.second;
  } catch (const Error& e) {
    out.refusal = e.what();
    out.nodes = std::move(stated);
  }
  return out;
}

void json_ports(JsonWriter& json, std::string_view key, const std::vector<onnx::Port>& ports) {
  json.key(key).begin_array();
  for (const onnx::Port& port : ports)
    json.begin_object().member("name", port.name).member("type", port.type_text()).end_object();
  json.end_array();
}

std::string inspect_json(const Inspected& model) {
  JsonWriter json;
  json.begin_object().member("producer", model.producer).key("opsets").begin_object();
  for (const auto& [domain, version] : model.opsets) json.member(domain.empty() ? "ai.onnx" : domain, version);
  json.end_object();
  json_ports(json, "inputs", model.inputs);
  json_ports(json, "outputs", model.outputs);
  json.key("nodes").begin_array();
  for (const NodeLine& node : model.nodes)
    json.begin_object().member("operator", node.op).member("name", node.name).member("type", node.type).end_object();
  json.end_array().key("operators").begin_object();
  for (const auto& [name, count] : model.operators) json.member(name, count);
  json.end_object().member("parameters", model.parameters);
  json.member("parameter_bytes", static_cast<std::int64_t>(model.parameter_bytes));
  if (model.refusal.empty() && model.stopped.empty()) {
    json.member("input_bytes", model.memory.inputs).member("output_bytes", model.memory.outputs);
    if (model.memory.unknown.empty()) {
      json.member("intermediate_bytes", model.memory.intermediates).member("unshared_bytes", model.memory.unshared);
      json.member("loops", static_cast<std::int64_t>(model.memory.loops));
    } else {
      json.member("memory_unknown", model.memory.unknown);
    }
  }
  if (!model.stopped.empty()) json.member("stopped", model.stopped);
  if (!model.refusal.empty()) json.member("error", model.refusal);
  return json.end_object().take();
}

void print_ports(Lines& lines, std::string_view label, const std::vector<onnx::Port>& ports) {
  for (std::size_t k = 0; k < ports.size(); ++k)
    lines.print(k == 0 ? label : "", ports[k].name + ": " + ports[k].type_text());
}

void print_memory(Lines& lines, const Inspected& model) {
  const onnx::PlannedMemory& memory = model.memory;
  const std::string most = model.has_ranges ? "at most " : "";
  const auto bytes = [&](std::int64_t n) { return most + bytes_text(static_cast<std::uint64_t>(n)); };
  if (!memory.unknown.empty())
    lines.print("memory", "that of intermediate results is known in a run alone: " + memory.unknown);
  else
    lines.print("memory", bytes(memory.intermediates) + " of intermediate results",
                memory.unshared == memory.intermediates ? "" : bytes(memory.unshared) + " without reuse");
  if (memory.loops > 0)
    lines.print("",
                detail::message("without that of the steps of ", memory.loops, memory.loops == 1 ? " loop" : " loops"));
  lines.print("", bytes(memory.inputs) + " of inputs");
  lines.print("", bytes(memory.outputs) + " of outputs");
}

void print_nodes(const std::vector<NodeLine>& nodes, bool colour, Console& console) {
  std::size_t op_width = 8, name_width = 4;
  for (const NodeLine& node : nodes) {
    op_width = std::max(op_width, std::min<std::size_t>(node.op.size(), 24));
    name_width = std::max(name_width, std::min<std::size_t>(node.name.size(), 40));
  }
  console.out << paint(colour, Style::bold,
                       padded("operator", op_width + 2) + padded("node", name_width + 2) + "outputs")
              << '\n';
  for (const NodeLine& node : nodes) {
    std::string line = padded(node.op, op_width + 2) + padded(node.name, name_width + 2) + node.type;
    line.erase(line.find_last_not_of(' ') + 1);
    console.out << line << '\n';
  }
}

// --- export ---

/// The inputs of --constant.
onnx::NamedValues read_constants(const Invocation& invocation) {
  onnx::NamedValues out;
  for (const std::string& text : invocation.values("--constant")) {
    const auto [name, path] = named_text(text);
    if (name.empty()) throw UsageError("--constant " + text + ": expected NAME=FILE", &invocation.command());
    out.emplace_back(name, nn::from_array(read_npy(path)));
  }
  return out;
}

ExportOptions export_options_of(const Invocation& invocation, const onnx::Capture& call) {
  ExportOptions out;
  out.target = invocation.value("--target").value_or(out.target);
  out.kernels = invocation.value("--kernels").value_or(out.kernels);
  out.object = invocation.value("--object").value_or(out.object);
  out.cpu = invocation.value("--cpu").value_or(out.cpu);
  out.features = invocation.value("--features").value_or(out.features);
  out.weights = invocation.value("--weights").value_or(out.weights);
  out.weight_dtype = invocation.value("--weight-dtype").value_or(out.weight_dtype);
  out.selftest = invocation.has("--selftest");
  out.cpp = invocation.has("--cpp");
  out.lines = !invocation.has("--no-lines");
  out.deterministic = out.deterministic || invocation.has("--deterministic");
  out.inputs = call.inputs;
  out.outputs = call.outputs;
  out.unique_names = true;
  const auto bytes = [&](std::string_view option) {
    const auto text = invocation.value(option);
    const std::string where = std::string(option) + " " + text.value_or("");
    return text ? std::optional(parse_integer(*text, where, invocation.command())) : std::nullopt;
  };
  out.max_ram = bytes("--max-ram");
  out.max_flash = bytes("--max-flash");
  return out;
}

std::string export_json(const ExportedModel& model, const std::vector<std::string>& files) {
  JsonWriter json;
  json.begin_object().member("name", model.name).key("files").begin_array();
  for (const std::string& file : files) json.value(file);
  json.end_array().member("arena_bytes", model.arena_bytes).member("state_bytes", model.state_bytes);
  json.member("constant_bytes", model.constant_bytes).member("stack_bytes", model.stack_bytes);
  json.member("code_bytes", model.code_bytes);
  json.key("operations").raw(Scalar(model.operations).text());
  json.member("kernels", static_cast<std::int64_t>(model.kernels));
  return json.end_object().take();
}

}  // namespace

int command_run(const Invocation& invocation, Console& console) {
  const auto model = onnx::load(invocation.arguments().front(), load_options(invocation));
  const onnx::NamedValues inputs = read_inputs(invocation, *model, invocation.has("--random"));
  const double first = seconds_of_run(*model, inputs);
  const auto begin = std::chrono::steady_clock::now();
  const onnx::NamedValues outputs = run_now(*model, inputs);
  const double again = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  write_outputs(invocation, outputs);
  if (invocation.has("--json")) {
    console.out << run_json(outputs, first, again) << '\n';
    return 0;
  }
  Lines lines(console, wants_colour(invocation, console));
  for (const auto& [name, value] : outputs) {
    lines.print("output", name + ": " + value.type_text());
    if (const std::string elements = elements_text(value); !elements.empty()) lines.print("", elements);
  }
  lines.print("time", seconds_text(again), "the first call " + seconds_text(first));
  return 0;
}

int command_inspect(const Invocation& invocation, Console& console) {
  const Inspected model = inspected(invocation);
  if (invocation.has("--json")) {
    console.out << inspect_json(model) << '\n';
    return model.refusal.empty() ? 0 : 1;
  }
  const bool colour = wants_colour(invocation, console);
  print_nodes(model.nodes, colour, console);
  Lines lines(console, colour);
  console.out << '\n';
  if (!model.producer.empty()) lines.print("producer", model.producer);
  for (const auto& [domain, version] : model.opsets)
    lines.print("opset", detail::message(domain.empty() ? "ai.onnx" : domain, " ", version));
  print_ports(lines, "inputs", model.inputs);
  print_ports(lines, "outputs", model.outputs);
  std::string operators;
  for (const auto& [name, count] : model.operators)
    operators += detail::message(operators.empty() ? "" : ", ", name, " ", count);
  lines.print("operators", operators);
  if (model.graphs > 1) lines.print("graphs", std::to_string(model.graphs));
  if (model.refusal.empty())
    lines.print("parameters", std::to_string(model.parameters), bytes_text(model.parameter_bytes));
  if (model.refusal.empty() && model.stopped.empty()) print_memory(lines, model);
  if (!model.stopped.empty()) lines.print("stopped", model.stopped);
  if (model.refusal.empty()) return 0;
  console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << model.refusal << '\n';
  return 1;
}

int command_export(const Invocation& invocation, Console& console) {
  const auto path = invocation.value("--output");
  if (!path)
    throw UsageError("'export' needs --output PATH: the files PATH.h and PATH.c are written", &invocation.command());
  const auto model = onnx::load(invocation.arguments().front(), load_options(invocation));
  const onnx::NamedValues constants = read_constants(invocation);
  onnx::NamedValues inputs = read_inputs(invocation, *model, true);
  for (const auto& [name, value] : constants)
    std::erase_if(inputs, [&, &n = name](const auto& input) { return input.first == n; });
  const onnx::Capture call = captured(invocation, *model, inputs, constants);
  STRATA_CHECK(call.decisive.empty(), domain, "[export] elements of the input \"", call.decisive[0],
               "\" decide a size or a branch: they are needed before the export, by --constant ", call.decisive[0],
               "=FILE");
  const ExportedModel exported = export_c(*call.function, *path, export_options_of(invocation, call));
  std::vector<std::string> files;
  for (const std::string& file : files_of(exported))
    files.push_back((std::filesystem::path(*path).parent_path() / file).string());
  if (const auto picture = invocation.value("--svg")) {
    std::ofstream to(*picture);
    to << report_svg(exported);
    to.close();
    STRATA_CHECK(to, budget, "[export] ", *picture, " cannot be written");
    files.push_back(*picture);
  }
  if (invocation.has("--json")) {
    console.out << export_json(exported, files) << '\n';
    return 0;
  }
  Lines lines(console, wants_colour(invocation, console));
  for (std::size_t k = 0; k < files.size(); ++k)
    lines.print(k == 0 ? "files" : "", files[k], bytes_text(std::filesystem::file_size(files[k])));
  console.out << report_text(exported);
  return 0;
}

}  // namespace strata::tools
