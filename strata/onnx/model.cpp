// Loads a model, holds its weights, and checks the inputs of a call.
#include "strata/onnx/model.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "strata/base/check.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/realize.h"
#include "strata/nn/byte_io.h"
#include "strata/onnx/call.h"
#include "strata/onnx/link.h"
#include "strata/onnx/reader.h"
#include "strata/onnx/run.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"

namespace strata::onnx {
namespace {

constexpr std::size_t kMostInitializers = 50'000;

/// A weight as the model keeps it: floats on the device, small integers on the host, where shapes are computed.
Tensor placed(const Tensor& x, const Device& device) {
  const bool is_on_host = !x.dtype().is_float() && x.numel().value() <= kFoldedElements;
  return moved(x, is_on_host ? Device::get("INTERP") : device);
}

/// Whether the model has the operator Gradient, and the slots of the values by which it differentiates.
std::vector<int> gradient_slots(const Definition& model) {
  std::set<std::string> names;
  for (const Node& node : model.graphs[0].nodes)
    if (const Attribute* const xs = node.op == "Gradient" ? node.find("xs") : nullptr)
      names.insert(xs->texts.begin(), xs->texts.end());
  std::vector<int> out;
  const auto add = [&](const std::string& name, int slot) {
    if (names.contains(name)) out.push_back(slot);
  };
  const Graph& graph = model.graphs[0];
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) add(graph.inputs[k].name, graph.input_slots[k]);
  for (const Node& node : graph.nodes)
    for (std::size_t k = 0; k < node.outputs.size(); ++k) add(node.outputs[k], node.output_slots[k]);
  return out;
}

/// Checks a given value against the type of its port. `bound` has the sizes that symbols stand for.
void check_input(const Port& port, const Datum& given, const LoadOptions& options,
                 std::map<std::string, std::int64_t>& bound) {
  const auto refuse = [&](ErrorKind kind, const std::string& why) {
    throw Error(kind,
                "[onnx] the input \"" + port.name + "\" is " + port.type_text() + ", not " + given.type_text() + why);
  };
  if (port.kind == Port::Kind::sequence && !given.is_sequence()) refuse(ErrorKind::domain, "");
  if (port.kind == Port::Kind::texts && !given.is_texts()) refuse(ErrorKind::domain, "");
  if (port.kind == Port::Kind::tensor && (!given.is_tensor() || given.tensor().dtype() != port.dtype))
    refuse(ErrorKind::domain, "");
  const bool has_sizes = port.kind == Port::Kind::tensor || port.kind == Port::Kind::texts;
  if (!has_sizes || !port.has_shape) return;
  Sizes sizes;
  if (given.is_tensor())
    for (const Int& size : given.tensor().shape()) sizes.push_back(present(size));
  else
    sizes = given.shape();
  for (std::size_t k = 0; k < std::min(sizes.size(), port.symbols.size()); ++k) {
    const auto found = options.bounds.find(port.symbols[k]);
    if (found == options.bounds.end()) continue;
    const auto [low, high] = found->second;
    STRATA_CHECK(low <= sizes[k] && sizes[k] <= high, shape, "[onnx] the input \"", port.name, "\" is ",
                 port.type_text(), ", and ", port.symbols[k], " is ", sizes[k], ", outside of its bounds ", low,
                 " and ", high);
  }
  if (!options.checks_sizes) return;
  if (sizes.size() != port.sizes.size()) refuse(ErrorKind::shape, "");
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (port.sizes[k] >= 0 && port.sizes[k] != sizes[k]) refuse(ErrorKind::shape, "");
    if (port.symbols[k].empty()) continue;
    const auto [at, is_new] = bound.emplace(port.symbols[k], sizes[k]);
    if (!is_new && at->second != sizes[k])
      refuse(ErrorKind::shape, ": " + port.symbols[k] + " is " + std::to_string(at->second) + " already");
  }
}

/// The symbol as the name of a variable, which another symbol does not get.
std::string name_of_variable(const std::string& symbol, std::size_t number) {
  std::string out;
  for (const char c : symbol) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const bool is_name = out == symbol && std::isdigit(static_cast<unsigned char>(out[0])) == 0;
  return is_name ? out : "size" + std::to_string(number) + "_" + out;
}

/// A variable for each symbol with bounds. @throws Error (domain)
std::map<std::string, Variable> variables_of(const LoadOptions& options, const std::vector<Port>& inputs) {
  std::set<std::string> symbols;
  for (const Port& port : inputs)
    for (const std::string& symbol : port.symbols)
      if (!symbol.empty()) symbols.insert(symbol);
  std::map<std::string, Variable> out;
  for (const auto& [symbol, bounds] : options.bounds) {
    const auto [low, high] = bounds;
    std::string known;
    for (const std::string& name : symbols) known += (known.empty() ? "" : ", ") + name;
    STRATA_CHECK(symbols.contains(symbol), domain, "[onnx] bounds of \"", symbol,
                 "\", which is no symbolic size of an input; there are: ", known.empty() ? "none" : known);
    STRATA_CHECK(low >= 0 && low <= high && high <= std::int64_t{1} << 40, domain, "[onnx] the bounds of \"", symbol,
                 "\" are ", low, " and ", high);
    if (low < high) out.emplace(symbol, Variable(name_of_variable(symbol, out.size()), low, high));
  }
  return out;
}

std::unique_ptr<Model> loaded(Definition definition, LoadOptions options) {
  auto model = std::make_unique<Model>(std::move(definition), std::move(options));
  model->eval();
  return model;
}

}  // namespace

Model::Model(Definition definition, LoadOptions options)
    : definition_(std::make_unique<Definition>(std::move(definition))), options_(std::move(options)) {
  if (options_.device == nullptr) options_.device = &Device::default_device();
  link(*definition_);
  std::size_t count = 0;
  for (const Graph& graph : definition_->graphs) count += graph.initializers.size();
  STRATA_CHECK(count <= kMostInitializers, budget, "[onnx] the model has ", count, " initializers, more than ",
               kMostInitializers);
  std::set<std::string> filled;
  constants_.resize(definition_->graphs.size());
  for (std::size_t g = 0; g < definition_->graphs.size(); ++g)
    for (auto& [name, value] : definition_->graphs[g].initializers) {
      if (g == 0) filled.insert(name);
      if (value.is_tensor()) {
        const Tensor weight = placed(value.tensor(), *options_.device);
        const bool is_named = g == 0;
        value = !is_named ? weight : weight.dtype().is_float() ? add(name, weight) : add_buffer(name, weight);
      }
      constants_[g].push_back(value);
    }
  for (const Port& port : definition_->graphs[0].inputs)
    (filled.contains(port.name) ? optional_inputs_ : inputs_).push_back(port);
  variables_ = variables_of(options_, definition_->graphs[0].inputs);
  tracked_ = gradient_slots(*definition_);
}

Model::~Model() = default;

std::int64_t example_size(const std::pair<std::int64_t, std::int64_t>& bounds) {
  return std::clamp<std::int64_t>(4, bounds.first, bounds.second);
}

const std::vector<Port>& Model::outputs() const { return definition_->graphs[0].outputs; }

void Model::bind(const NamedValues& given, std::vector<Datum>& values) const {
  const Graph& graph = definition_->graphs[0];
  std::map<std::string_view, const Datum*> by_name;
  for (const auto& [name, value] : given)
    STRATA_CHECK(by_name.emplace(name, &value).second, domain, "[onnx] the input \"", name, "\" is given twice");
  std::map<std::string, std::int64_t> bound;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const Port& port = graph.inputs[k];
    const auto found = by_name.find(port.name);
    if (found == by_name.end()) {
      const bool has_value = !values[static_cast<std::size_t>(graph.input_slots[k])].is_absent();
      STRATA_CHECK(has_value, domain, "[onnx] the input \"", port.name, "\" (", port.type_text(), ") is missing");
      continue;
    }
    check_input(port, *found->second, options_, bound);
    const Datum& value = *found->second;
    const bool is_foreign = value.is_tensor() && value.tensor().device().name() != "INTERP";
    values[static_cast<std::size_t>(graph.input_slots[k])] =
        is_foreign ? Datum(moved(value.tensor(), *options_.device)) : value;
    by_name.erase(found);
  }
  STRATA_CHECK(by_name.empty(), domain, "[onnx] the model has no input \"", by_name.begin()->first, "\"");
}

const Port* Model::port(std::string_view name) const {
  const std::vector<Port>& ports = definition_->graphs[0].inputs;
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

/// A copy of x in memory for the largest sizes, if the port has sizes with bounds.
Tensor Model::bound(const Tensor& x, const Port& port) const {
  Ints shape = x.shape();
  Int largest = 1;
  bool is_bound = false;
  for (std::size_t k = 0; k < port.symbols.size() && k < shape.size(); ++k) {
    const auto found = variables_.find(port.symbols[k]);
    if (found == variables_.end() || !shape[k].is_number()) continue;
    shape[k] = found->second.bind(shape[k].value());
    is_bound = true;
  }
  if (!is_bound) return x;
  for (const Int& size : shape) largest *= size.vmax();
  const Buffer elements = x.buffer().toCPU(), memory = Buffer::allocate(largest.value(), x.dtype());
  const auto bytes = static_cast<std::size_t>(x.numel().value()) * x.itemsize();
  if (bytes > 0) std::memcpy(memory.data(), elements.data(), bytes);
  return TensorAccess::of(leaf_of(memory, shape), *options_.device);
}

NamedValues Model::bound(const NamedValues& given) const {
  NamedValues out;
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [name, value] : given) {
    const Port* const at = port(name);
    STRATA_CHECK(at != nullptr, domain, "[onnx] the model has no input \"", name, "\"");
    check_input(*at, value, options_, sizes);
    const bool has_sizes = value.is_tensor() && at->has_shape && std::ssize(at->symbols) == value.tensor().ndim();
    out.emplace_back(name, has_sizes ? Datum(bound(value.tensor(), *at)) : value);
  }
  return out;
}

/// The values computed, with the present sizes as numbers.
std::vector<Datum> Model::with_numbers(std::vector<Datum> results) const {
  std::vector<LazyOp> nodes;
  for (const Datum& value : results)
    if (value.is_tensor()) nodes.push_back(value.tensor().node());
  realize(nodes, *options_.device);
  for (Datum& value : results) {
    if (!value.is_tensor()) continue;
    Ints shape;
    for (const Int& size : value.tensor().shape()) shape.push_back(present(size));
    if (!(shape == value.tensor().shape()))
      value = TensorAccess::of(leaf_of(value.tensor().buffer(), shape), *options_.device);
  }
  return results;
}

NamedValues Model::run(const NamedValues& inputs, const Observer& observe) const {
  // A capture would not see the copy; and a step of a loop has no elements.
  const bool binds = !variables_.empty() && !is_training() && tracked_.empty() && TensorListener::current() == nullptr;
  const NamedValues given = binds ? bound(inputs) : inputs;
  const Graph& graph = definition_->graphs[0];
  std::vector<Datum> values(static_cast<std::size_t>(definition_->slots));
  for (std::size_t k = 0; k < graph.initializer_slots.size(); ++k)
    values[static_cast<std::size_t>(graph.initializer_slots[k])] = constants_[0][k];
  bind(given, values);
  std::optional<NoGrad> quiet;
  if (!is_training() && tracked_.empty()) quiet.emplace();
  std::vector<Datum> results = Run(*definition_, constants_, options_, tracked_, std::move(values), observe).run();
  for (Datum& value : results)
    if (value.is_tensor()) value = moved(value.tensor(), *options_.device);
  if (binds) results = with_numbers(std::move(results));
  NamedValues out;
  for (std::size_t k = 0; k < results.size(); ++k) {
    out.emplace_back(graph.outputs[k].name, std::move(results[k]));
  }
  return out;
}

Tensor Model::operator()(const Tensor& x) const {
  STRATA_CHECK(inputs_.size() == 1, domain, "[onnx] the model has ", inputs_.size(), " inputs: give them by name");
  const NamedValues results = (*this)(NamedValues{{inputs_[0].name, x}});
  STRATA_CHECK(!results.empty(), domain, "[onnx] the model has no output");
  return results[0].second.tensor();
}

NamedValues Model::example_inputs(const std::map<std::string, std::int64_t>& given) const {
  NamedValues out;
  for (const Port& port : inputs_) {
    STRATA_CHECK(port.kind == Port::Kind::tensor && port.has_shape, undefined, "[onnx] the input \"", port.name,
                 "\" is ", port.type_text(), ": an example of it cannot be made");
    Sizes sizes = port.sizes;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k] >= 0) continue;
      const auto symbol = given.find(port.symbols[k]);
      const auto bounds = options_.bounds.find(port.symbols[k]);
      sizes[k] = symbol != given.end()             ? symbol->second
                 : bounds != options_.bounds.end() ? example_size(bounds->second)
                                                   : 1;
    }
    out.emplace_back(port.name,
                     TensorAccess::of(Tensor::full(to_shape(sizes), 1, port.dtype).node(), *options_.device));
  }
  return out;
}

Definition read_model(const std::string& path) {
  const ByteSource source = ByteSource::file("onnx", path);
  const std::vector<std::byte> bytes = source.read(0, source.size());
  return read_definition(text_of(bytes), std::filesystem::absolute(path).parent_path().string(), path);
}

std::unique_ptr<Model> load(const std::string& path, LoadOptions options) {
  return loaded(read_model(path), std::move(options));
}

std::unique_ptr<Model> parse(std::string_view bytes, LoadOptions options) {
  return loaded(read_definition(bytes, "", "the bytes"), std::move(options));
}

}  // namespace strata::onnx
