// Writes ONNX's messages by protozero. The numbers of fields are those of onnx.proto (IR version 8). A graph has a
// lower number than the graphs in its attributes, so graphs become bytes from the last to the first, and nothing
// recurses.
#include <protozero/pbf_writer.hpp>

#include <vector>

#include "strata/base/check.h"
#include "strata/base/version.h"
#include "strata/nn/byte_io.h"
#include "strata/onnx/writer.h"

namespace strata::onnx {
namespace {

using protozero::pbf_writer;

void write_tensor(pbf_writer out, const std::string& name, const Datum& value) {
  for (const std::int64_t size : value.shape()) out.add_int64(1, size);
  if (value.is_texts()) {
    out.add_int32(2, kTextElements);
    for (const std::string& text : value.texts().elements) out.add_string(6, text);
    if (!name.empty()) out.add_string(8, name);
    return;
  }
  const Tensor& x = value.tensor();
  out.add_int32(2, static_cast<std::int32_t>(element_of_dtype(x.dtype())));
  if (!name.empty()) out.add_string(8, name);
  Buffer elements = x.buffer().toCPU();
  if constexpr (kSwapsLittle) {
    const Buffer turned = Buffer::allocate(elements.size(), elements.dtype());
    turned.copy_from(elements);
    swap_bytes(turned);
    elements = turned;
  }
  const auto bytes = static_cast<std::size_t>(x.numel().value()) * x.dtype().itemsize();
  out.add_bytes(9, static_cast<const char*>(elements.data()), bytes);
}

void write_attribute(pbf_writer out, const Attribute& a, const std::vector<std::string>& graphs) {
  out.add_string(1, a.name);
  switch (a.type) {
    case AttributeType::number: out.add_float(2, static_cast<float>(a.number)); break;
    case AttributeType::integer: out.add_int64(3, a.integer); break;
    case AttributeType::text: out.add_bytes(4, a.text); break;
    case AttributeType::tensor: write_tensor(pbf_writer(out, 5), "", a.tensor); break;
    case AttributeType::graph: out.add_message(6, graphs[static_cast<std::size_t>(a.graph)]); break;
    case AttributeType::numbers:
      for (const double number : a.numbers) out.add_float(7, static_cast<float>(number));
      break;
    case AttributeType::integers:
      for (const std::int64_t integer : a.integers) out.add_int64(8, integer);
      break;
    case AttributeType::texts:
      for (const std::string& text : a.texts) out.add_bytes(9, text);
      break;
    case AttributeType::undefined: break;
  }
  out.add_enum(20, static_cast<std::int32_t>(a.type));
}

void write_node(pbf_writer out, const Node& node, const std::vector<std::string>& graphs) {
  for (const std::string& name : node.inputs) out.add_string(1, name);
  for (const std::string& name : node.outputs) out.add_string(2, name);
  if (!node.name.empty()) out.add_string(3, node.name);
  out.add_string(4, node.op);
  for (const Attribute& a : node.attributes) write_attribute(pbf_writer(out, 5), a, graphs);
  if (!node.domain.empty()) out.add_string(7, node.domain);
}

void write_port(pbf_writer out, const Port& port) {
  out.add_string(1, port.name);
  if (port.kind == Port::Kind::unknown) return;
  STRATA_CHECK(port.kind == Port::Kind::tensor || port.kind == Port::Kind::texts, undefined, "[onnx] \"", port.name,
               "\" is a ", port.type_text(), ": such inputs and outputs are not written");
  pbf_writer type(out, 2);
  pbf_writer tensor(type, 1);
  const bool is_text = port.kind == Port::Kind::texts;
  tensor.add_int32(1, static_cast<std::int32_t>(is_text ? kTextElements : element_of_dtype(port.dtype)));
  if (!port.has_shape) return;
  // NOTE: a scalar has a shape without dimensions, and an unknown size is a dimension without a value: empty messages,
  // which a pbf_writer within another one would leave out.
  std::string shape_bytes;
  pbf_writer shape(shape_bytes);
  for (std::size_t k = 0; k < port.sizes.size(); ++k) {
    std::string dim_bytes;
    pbf_writer dim(dim_bytes);
    if (port.sizes[k] >= 0)
      dim.add_int64(1, port.sizes[k]);
    else if (!port.symbols[k].empty())
      dim.add_string(2, port.symbols[k]);
    shape.add_message(1, dim_bytes);
  }
  tensor.add_message(2, shape_bytes);
}

std::string graph_bytes(const Graph& graph, const std::vector<std::string>& graphs) {
  std::string bytes;
  pbf_writer out(bytes);
  for (const Node& node : graph.nodes) write_node(pbf_writer(out, 1), node, graphs);
  out.add_string(2, graph.name.empty() ? "graph" : graph.name);
  for (const auto& [name, value] : graph.initializers) write_tensor(pbf_writer(out, 5), name, value);
  for (const Port& port : graph.inputs) write_port(pbf_writer(out, 11), port);
  for (const Port& port : graph.outputs) write_port(pbf_writer(out, 12), port);
  return bytes;
}

void check_bytes(const Definition& model) {
  std::uint64_t bytes = 0;
  for (const Graph& graph : model.graphs)
    for (const auto& [name, value] : graph.initializers)
      if (value.is_tensor())
        bytes += static_cast<std::uint64_t>(value.tensor().numel().value()) * value.tensor().dtype().itemsize();
  STRATA_CHECK(bytes <= kMostBytes, budget, "[onnx] the model has ", bytes,
               " bytes of weights; an ONNX file has at most ", kMostBytes);
}

}  // namespace

std::int64_t element_of_dtype(DType dtype) {
  for (std::int64_t number = 1; number <= 16; ++number) {
    if (number == kTextElements || number == 14 || number == 15) continue;
    if (dtype_of_element(number, "a tensor") == dtype) return number;
  }
  throw InternalError("[onnx] " + dtype.name() + " has no number in ONNX");
}

std::string write_definition(const Definition& model) {
  STRATA_CHECK(model.functions.empty(), undefined, "[onnx] functions of a file's own are not written");
  check_bytes(model);
  std::vector<std::string> graphs(model.graphs.size());
  for (std::size_t g = model.graphs.size(); g-- > 0;) {
    graphs[g] = graph_bytes(model.graphs[g], graphs);
    for (const Node& node : model.graphs[g].nodes)
      for (const Attribute& a : node.attributes)
        if (a.type == AttributeType::graph) graphs[static_cast<std::size_t>(a.graph)] = {};
  }
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int64(1, model.ir_version);
  out.add_string(2, model.producer);
  if (model.producer == "strata") out.add_string(3, STRATA_VERSION);
  out.add_message(7, graphs[0]);
  for (const auto& [domain, version] : model.opsets) {
    pbf_writer opset(out, 8);
    if (!domain.empty()) opset.add_string(1, domain);
    opset.add_int64(2, version);
  }
  STRATA_CHECK(bytes.size() <= kMostBytes, budget, "[onnx] the model has ", bytes.size(),
               " bytes; an ONNX file has at most ", kMostBytes);
  return bytes;
}

}  // namespace strata::onnx
