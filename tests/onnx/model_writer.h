// Writes ONNX models as bytes, field by field, also models that no exporter would write. A message is a string; the
// numbers of fields are those of onnx.proto.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::onnx_writer {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
inline std::string integer(std::uint32_t field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes(std::uint32_t field, std::string_view content) {
  return varint(field << 3 | 2) + varint(content.size()) + std::string(content);
}
inline std::string number(std::uint32_t field, float value) {
  std::string out = varint(field << 3 | 5);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int k = 0; k < 4; ++k) out += static_cast<char>(bits >> (8 * k) & 255);
  return out;
}

using Sizes = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kText = 8, kBool = 9, kDouble = 11;

/// A TensorProto with raw elements.
inline std::string tensor(const std::string& name, int type, const Sizes& dims, std::string_view raw) {
  std::string out;
  for (const std::int64_t size : dims) out += integer(1, size);
  return out + integer(2, type) + bytes(8, name) + bytes(9, raw);
}
template <class T>
std::string raw(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}
/// A vector of 64-bit integers.
inline std::string integers(const std::string& name, const Sizes& elements) {
  return tensor(name, kInt64, {static_cast<std::int64_t>(elements.size())}, raw(elements));
}
inline std::string floats(const std::string& name, const Sizes& dims, const std::vector<float>& elements) {
  return tensor(name, kFloat, dims, raw(elements));
}

// Attributes: whole messages for node().
inline std::string attribute(const std::string& name, std::int64_t value) {
  return bytes(1, name) + integer(3, value) + integer(20, 2);
}
inline std::string attribute(const std::string& name, const std::string& text) {
  return bytes(1, name) + bytes(4, text) + integer(20, 3);
}
inline std::string attribute(const std::string& name, const Sizes& values) {
  std::string out = bytes(1, name);
  for (const std::int64_t value : values) out += integer(8, value);
  return out + integer(20, 7);
}
inline std::string tensor_attribute(const std::string& name, const std::string& content) {
  return bytes(1, name) + bytes(5, content) + integer(20, 4);
}
inline std::string graph_attribute(const std::string& name, const std::string& content) {
  return bytes(1, name) + bytes(6, content) + integer(20, 5);
}

inline std::string node(const std::string& op, const Names& inputs, const Names& outputs, const Names& attributes = {},
                        const std::string& domain = "") {
  std::string out;
  for (const std::string& name : inputs) out += bytes(1, name);
  for (const std::string& name : outputs) out += bytes(2, name);
  out += bytes(4, op);
  for (const std::string& content : attributes) out += bytes(5, content);
  return domain.empty() ? out : out + bytes(7, domain);
}

/// A ValueInfoProto; a size below 0 is the symbol "n".
inline std::string port(const std::string& name, int type, const Sizes& dims) {
  std::string shape;
  for (const std::int64_t size : dims) shape += bytes(1, size < 0 ? bytes(2, "n") : integer(1, size));
  return bytes(1, name) + bytes(2, bytes(1, integer(1, type) + bytes(2, shape)));
}

/// The parts of a graph, as whole messages.
struct GraphParts {
  Names nodes = {}, inputs = {}, outputs = {}, initializers = {};
};
inline std::string graph(const GraphParts& parts) {
  std::string out;
  for (const std::string& content : parts.nodes) out += bytes(1, content);
  out += bytes(2, "g");
  for (const std::string& content : parts.initializers) out += bytes(5, content);
  for (const std::string& content : parts.inputs) out += bytes(11, content);
  for (const std::string& content : parts.outputs) out += bytes(12, content);
  return out;
}
inline std::string opset(std::int64_t version, const std::string& domain = "") {
  return bytes(8, (domain.empty() ? "" : bytes(1, domain)) + integer(2, version));
}
inline std::string model_of(const std::string& graph_bytes, std::int64_t version = 17) {
  return integer(1, 8) + bytes(7, graph_bytes) + opset(version);
}
inline std::string model(const GraphParts& parts, std::int64_t version = 17) { return model_of(graph(parts), version); }

}  // namespace strata::onnx_writer
