// Reads ONNX's messages by protozero. The numbers of fields are those of onnx.proto (IR version 8). Unknown fields are
// passed over, as protocol buffers ask for. Graphs within graphs wait in a list, so nothing recurses.
#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "strata/base/check.h"
#include "strata/dtype/scalar.h"
#include "strata/nn/array_file.h"
#include "strata/nn/byte_io.h"
#include "strata/onnx/reader.h"

namespace strata::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_wire_type;

/// A message whose fields are checked for their wire type before they are read.
class Message {
 public:
  explicit Message(const data_view& bytes) : in_(bytes) {}
  bool next() { return in_.next(); }
  std::uint32_t field() const { return in_.tag(); }
  void skip() { in_.skip(); }
  data_view bytes() {
    want(pbf_wire_type::length_delimited);
    return in_.get_view();
  }
  std::string text() {
    const data_view view = bytes();
    return {view.data(), view.size()};
  }
  std::int64_t integer() {
    want(pbf_wire_type::varint);
    return in_.get_int64();
  }
  float number() {
    want(pbf_wire_type::fixed32);
    return in_.get_float();
  }
  /// A repeated field, packed or not: reads what is there into `out`.
  void integers(std::vector<std::int64_t>& out) {
    if (in_.wire_type() == pbf_wire_type::varint) return out.push_back(in_.get_int64());
    want(pbf_wire_type::length_delimited);
    for (const std::int64_t value : in_.get_packed_int64()) out.push_back(value);
  }
  void floats(std::vector<float>& out) {
    if (in_.wire_type() == pbf_wire_type::fixed32) return out.push_back(in_.get_float());
    want(pbf_wire_type::length_delimited);
    for (const float value : in_.get_packed_float()) out.push_back(value);
  }
  void doubles(std::vector<double>& out) {
    if (in_.wire_type() == pbf_wire_type::fixed64) return out.push_back(in_.get_double());
    want(pbf_wire_type::length_delimited);
    for (const double value : in_.get_packed_double()) out.push_back(value);
  }

 private:
  void want(pbf_wire_type type) const {
    STRATA_CHECK(in_.wire_type() == type, parse, "field ", in_.tag(), " of a message has the wire type ",
                 static_cast<int>(in_.wire_type()), " instead of ", static_cast<int>(type));
  }
  protozero::pbf_reader in_;
};

/// The fields of a TensorProto before they are elements.
struct TensorFields {
  std::vector<std::int64_t> dims, integers, unsigned_integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::string> texts;
  std::string name;
  data_view raw;
  bool has_raw = false, is_external = false;
  std::int64_t type = 0;
  std::vector<std::pair<std::string, std::string>> external;
};

template <class T, class From>
Buffer converted(const std::vector<From>& values, DType dtype) {
  const Buffer out = Buffer::allocate(std::ssize(values), dtype);
  auto* to = static_cast<T*>(out.data());
  for (const From value : values) *to++ = static_cast<T>(value);
  return out;
}

std::int64_t number_of_text(const std::string& text, const std::string& what) {
  STRATA_CHECK(!text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos, parse,
               what, " is not a number: ", text);
  return std::stoll(text);
}

Buffer external_elements(const TensorFields& t, DType dtype, std::int64_t count, const std::string& folder) {
  std::string location;
  std::int64_t offset = 0, length = -1;
  for (const auto& [key, value] : t.external) {
    if (key == "location") location = value;
    if (key == "offset") offset = number_of_text(value, "the offset of \"" + t.name + "\"");
    if (key == "length") length = number_of_text(value, "the length of \"" + t.name + "\"");
  }
  return read_external(folder, location, offset, length, dtype, count, t.name);
}

Buffer stated_elements(const TensorFields& t, DType dtype) {
  if (dtype == dtypes::float32) return Buffer::fromCPU(t.floats);
  if (dtype == dtypes::float64) return Buffer::fromCPU(t.doubles);
  if (dtype == dtypes::int64) return Buffer::fromCPU(t.integers);
  if (dtype == dtypes::uint64) return converted<std::uint64_t>(t.unsigned_integers, dtype);
  if (dtype == dtypes::uint32) return converted<std::uint32_t>(t.unsigned_integers, dtype);
  if (dtype == dtypes::int32) return converted<std::int32_t>(t.integers, dtype);
  if (dtype.itemsize() == 2) return converted<std::uint16_t>(t.integers, dtype);
  return converted<std::uint8_t>(t.integers, dtype);
}

Datum datum_of(const TensorFields& t, const std::string& folder) {
  const std::string what = "the tensor \"" + t.name + "\"";
  STRATA_CHECK(t.dims.size() <= kMostRank, budget, what, " has ", t.dims.size(), " dimensions, more than ", kMostRank);
  if (t.type == kTextElements) {
    std::int64_t count = 0;
    const bool fits = try_count(dtypes::uint8, t.dims, count) && count == std::ssize(t.texts);
    STRATA_CHECK(fits, parse, what, " of shape ", sizes_text(t.dims), " has ", t.texts.size(), " texts");
    return Texts{t.dims, t.texts};
  }
  const DType dtype = dtype_of_element(t.type, what);
  std::int64_t count = 0;
  STRATA_CHECK(try_count(dtype, t.dims, count), parse, what, " has the impossible shape ", sizes_text(t.dims));
  Buffer elements = [&] {
    if (t.is_external) return external_elements(t, dtype, count, folder);
    if (!t.has_raw) return stated_elements(t, dtype);
    const auto bytes = static_cast<std::uint64_t>(count) * dtype.itemsize();
    STRATA_CHECK(t.raw.size() == bytes, parse, what, " of ", dtype.name(), sizes_text(t.dims), " needs ", bytes,
                 " bytes, but has ", t.raw.size());
    const Buffer out = Buffer::allocate(count, dtype);
    if (bytes > 0) std::memcpy(out.data(), t.raw.data(), t.raw.size());
    if constexpr (kSwapsLittle) swap_bytes(out);
    return out;
  }();
  STRATA_CHECK(elements.size() == count, parse, what, " of ", dtype.name(), sizes_text(t.dims), " needs ", count,
               " elements, but has ", elements.size());
  if (dtype == dtypes::boolean)
    for (std::int64_t k = 0; k < count; ++k) {
      auto& byte = static_cast<std::uint8_t*>(elements.data())[k];
      STRATA_CHECK(byte <= 1, parse, what, " has the boolean ", int{byte}, " at ", k);
    }
  return Tensor::from_buffer(elements, to_shape(t.dims));
}

TensorFields tensor_fields(const data_view& bytes) {
  TensorFields t;
  Message in(bytes);
  while (in.next()) switch (in.field()) {
      case 1: in.integers(t.dims); break;
      case 2: t.type = in.integer(); break;
      case 3: throw Error(ErrorKind::undefined, "the tensor \"" + t.name + "\" is stored in segments");
      case 4: in.floats(t.floats); break;
      case 5: in.integers(t.integers); break;
      case 6: t.texts.push_back(in.text()); break;
      case 7: in.integers(t.integers); break;
      case 8: t.name = in.text(); break;
      case 9:
        t.raw = in.bytes();
        t.has_raw = true;
        break;
      case 10: in.doubles(t.doubles); break;
      case 11: in.integers(t.unsigned_integers); break;
      case 13: {
        Message entry(in.bytes());
        auto& [key, value] = t.external.emplace_back();
        while (entry.next()) switch (entry.field()) {
            case 1: key = entry.text(); break;
            case 2: value = entry.text(); break;
            default: entry.skip();
          }
        break;
      }
      case 14: t.is_external = in.integer() == 1; break;
      default: in.skip();
    }
  return t;
}

/// A sparse tensor as the dense one that it stands for: values at row-major positions or at coordinates.
std::pair<std::string, Datum> dense_of_sparse(const data_view& bytes, const std::string& folder) {
  TensorFields values, indices;
  std::vector<std::int64_t> dims;
  Message in(bytes);
  while (in.next()) switch (in.field()) {
      case 1: values = tensor_fields(in.bytes()); break;
      case 2: indices = tensor_fields(in.bytes()); break;
      case 3: in.integers(dims); break;
      default: in.skip();
    }
  const std::string what = "the sparse tensor \"" + values.name + "\"";
  const Buffer given = datum_of(values, folder).tensor().buffer();
  const Tensor at = datum_of(indices, folder).tensor();
  std::int64_t count = 0;
  STRATA_CHECK(dims.size() <= kMostRank && try_count(given.dtype(), dims, count), parse, what,
               " has the impossible shape ", sizes_text(dims));
  STRATA_CHECK(count <= std::int64_t{1} << 28, budget, what, " of shape ", sizes_text(dims),
               " is too large to be stored densely");
  STRATA_CHECK(at.dtype() == dtypes::int64, parse, what, " has indices of ", at.dtype().name());
  const std::vector<std::int64_t> positions = at.to_vector<std::int64_t>();
  const auto rank = static_cast<std::int64_t>(dims.size());
  const bool is_linear = at.ndim() == 1;
  STRATA_CHECK(std::ssize(positions) == given.size() * (is_linear ? 1 : rank), parse, what, " has ", given.size(),
               " values, but ", positions.size(), " indices");
  const Buffer out = Buffer::allocate(count, given.dtype());
  std::memset(out.data(), 0, out.nbytes());
  const std::size_t item = given.dtype().itemsize();
  for (std::int64_t k = 0; k < given.size(); ++k) {
    std::int64_t place = is_linear ? positions[static_cast<std::size_t>(k)] : 0;
    for (std::int64_t d = 0; !is_linear && d < rank; ++d) {
      const std::int64_t index = positions[static_cast<std::size_t>(k * rank + d)];
      const std::int64_t size = dims[static_cast<std::size_t>(d)];
      STRATA_CHECK(index >= 0 && index < size, parse, what, " has the index ", index, " along an axis of ", size);
      place = place * size + index;
    }
    STRATA_CHECK(place >= 0 && place < count, parse, what, " has the index ", place, " of ", count, " elements");
    std::memcpy(static_cast<std::byte*>(out.data()) + static_cast<std::size_t>(place) * item,
                static_cast<const std::byte*>(given.data()) + static_cast<std::size_t>(k) * item, item);
  }
  return {values.name, Tensor::from_buffer(out, to_shape(dims))};
}

void read_shape(const data_view& bytes, Port& port) {
  port.has_shape = true;
  Message shape(bytes);
  while (shape.next()) {
    if (shape.field() != 1) {
      shape.skip();
      continue;
    }
    Message dim(shape.bytes());
    std::int64_t size = -1;
    std::string symbol;
    while (dim.next()) switch (dim.field()) {
        case 1: size = dim.integer(); break;
        case 2: symbol = dim.text(); break;
        default: dim.skip();
      }
    STRATA_CHECK(size >= -1, parse, "\"", port.name, "\" has the size ", size);
    STRATA_CHECK(port.sizes.size() < kMostRank, budget, "\"", port.name, "\" has more than ", kMostRank, " dimensions");
    port.sizes.push_back(size);
    port.symbols.push_back(size >= 0 ? "" : symbol);
  }
}

/// The type of a port. The elements of sequences and optionals are looked at only for their depth.
void read_type(data_view bytes, Port& port) {
  for (std::size_t depth = 0;; ++depth) {
    STRATA_CHECK(depth < kDeepestType, budget, "the type of \"", port.name, "\" is nested more than ", kDeepestType,
                 " deep");
    Message type(bytes);
    data_view inner;
    while (type.next()) {
      const std::uint32_t field = type.field();
      if (field != 1 && field != 4 && field != 5 && field != 8 && field != 9) {
        type.skip();
        continue;
      }
      STRATA_CHECK(field != 5 && field != 8, undefined, "\"", port.name, "\" is a ",
                   field == 5 ? "map" : "sparse tensor", ", which Strata lacks");
      Message content(type.bytes());
      if (depth == 0)
        port.kind = field == 1 ? Port::Kind::tensor : field == 4 ? Port::Kind::sequence : Port::Kind::optional;
      while (content.next()) {
        if (field != 1) {
          if (content.field() == 1)
            inner = content.bytes();
          else
            content.skip();
        } else if (content.field() == 1) {
          const std::int64_t number = content.integer();
          if (depth > 0) continue;
          if (number == kTextElements)
            port.kind = Port::Kind::texts;
          else
            port.dtype = dtype_of_element(number, "\"" + port.name + "\"");
        } else if (content.field() == 2 && depth == 0) {
          read_shape(content.bytes(), port);
        } else {
          content.skip();
        }
      }
    }
    if (inner.empty()) return;
    bytes = inner;
  }
}

Port read_port(const data_view& bytes) {
  Port port;
  data_view type;
  Message in(bytes);
  while (in.next()) switch (in.field()) {
      case 1: port.name = in.text(); break;
      case 2: type = in.bytes(); break;
      default: in.skip();
    }
  if (!type.empty()) read_type(type, port);
  return port;
}

/// Bytes of a graph that waits to be read, and where it stands.
struct Waiting {
  data_view bytes;
  int graph = 0;
  std::size_t depth = 0;
};

/// Reads a model message by message; the graphs that attributes hold wait in a list.
class ModelReader {
 public:
  explicit ModelReader(const std::string& folder) : folder_(folder) {}

  Definition read(std::string_view bytes) {
    Message in(data_view(bytes.data(), bytes.size()));
    data_view graph;
    bool has_graph = false;
    std::vector<data_view> functions;
    while (in.next()) switch (in.field()) {
        case 1: out_.ir_version = in.integer(); break;
        case 2: out_.producer = in.text(); break;
        case 7:
          graph = in.bytes();
          has_graph = true;
          break;
        case 8: read_opset(in.bytes(), out_.opsets); break;
        case 25: functions.push_back(in.bytes()); break;
        default: in.skip();
      }
    STRATA_CHECK(has_graph, parse, "these bytes have no graph: they are not an ONNX model");
    STRATA_CHECK(out_.ir_version >= 1 && out_.ir_version <= 64, parse, "the version of the format is ",
                 out_.ir_version);
    add_graph(graph, -1, 0);
    for (const data_view& function : functions) read_function(function);
    while (!waiting_.empty()) {
      const Waiting next = waiting_.back();
      waiting_.pop_back();
      read_graph(next);
    }
    return std::move(out_);
  }

 private:
  int add_graph(const data_view& bytes, int parent, std::size_t depth) {
    STRATA_CHECK(depth < kDeepestGraph, budget, "graphs are nested more than ", kDeepestGraph, " deep");
    const int number = static_cast<int>(out_.graphs.size());
    out_.graphs.emplace_back().parent = parent;
    waiting_.push_back({bytes, number, depth});
    return number;
  }

  static void read_opset(const data_view& bytes, std::map<std::string, std::int64_t>& to) {
    Message in(bytes);
    std::string domain;
    std::int64_t version = 0;
    while (in.next()) switch (in.field()) {
        case 1: domain = in.text(); break;
        case 2: version = in.integer(); break;
        default: in.skip();
      }
    if (domain == "ai.onnx") domain.clear();
    STRATA_CHECK(to.emplace(domain, version).second, parse, "the domain \"", domain, "\" has two versions");
  }

  void read_function(const data_view& bytes) {
    Function function;
    const int number = static_cast<int>(out_.graphs.size());
    function.graph = number;
    out_.graphs.emplace_back();
    Message in(bytes);
    std::vector<data_view> nodes;
    while (in.next()) switch (in.field()) {
        case 1: function.name = in.text(); break;
        case 4: out_.graphs.back().inputs.emplace_back().name = in.text(); break;
        case 5: out_.graphs.back().outputs.emplace_back().name = in.text(); break;
        case 6: function.attributes.push_back(in.text()); break;
        case 7: nodes.push_back(in.bytes()); break;
        case 9: read_opset(in.bytes(), function.opsets); break;
        case 10: function.domain = in.text(); break;
        default: in.skip();
      }
    for (const data_view& node : nodes) add_node(node, number, 0);
    out_.graphs[static_cast<std::size_t>(number)].name = function.name;
    out_.functions.push_back(std::move(function));
  }

  void read_graph(const Waiting& from) {
    const auto number = static_cast<std::size_t>(from.graph);
    Message in(from.bytes);
    while (in.next()) switch (in.field()) {
        case 1: add_node(in.bytes(), from.graph, from.depth); break;
        case 2: out_.graphs[number].name = in.text(); break;
        case 5: {
          const TensorFields t = tensor_fields(in.bytes());
          out_.graphs[number].initializers.emplace_back(t.name, datum_of(t, folder_));
          break;
        }
        case 11: out_.graphs[number].inputs.push_back(read_port(in.bytes())); break;
        case 12: out_.graphs[number].outputs.push_back(read_port(in.bytes())); break;
        case 15: out_.graphs[number].initializers.push_back(dense_of_sparse(in.bytes(), folder_)); break;
        default: in.skip();
      }
  }

  void add_node(const data_view& bytes, int graph, std::size_t depth) {
    STRATA_CHECK(++nodes_ <= kMostNodes, budget, "the model has more than ", kMostNodes, " nodes");
    Node node;
    Message in(bytes);
    while (in.next()) switch (in.field()) {
        case 1: node.inputs.push_back(in.text()); break;
        case 2: node.outputs.push_back(in.text()); break;
        case 3: node.name = in.text(); break;
        case 4: node.op = in.text(); break;
        case 5: node.attributes.push_back(read_attribute(in.bytes(), graph, depth)); break;
        case 7: node.domain = in.text(); break;
        default: in.skip();
      }
    if (node.domain == "ai.onnx") node.domain.clear();
    out_.graphs[static_cast<std::size_t>(graph)].nodes.push_back(std::move(node));
  }

  /// The type that a field of an attribute stands for; 0 for other fields. Old files state no type.
  static std::int64_t type_of_field(std::uint32_t field) {
    if (field >= 2 && field <= 6) return static_cast<std::int64_t>(field) - 1;
    return field >= 7 && field <= 9 ? static_cast<std::int64_t>(field) - 1 : 0;
  }

  Attribute read_attribute(const data_view& bytes, int graph, std::size_t depth) {
    Attribute a;
    std::int64_t type = 0, by_field = 0;
    data_view inner;
    Message in(bytes);
    while (in.next()) {
      by_field = std::max(by_field, type_of_field(in.field()));
      switch (in.field()) {
        case 1: a.name = in.text(); break;
        case 2: a.number = static_cast<double>(in.number()); break;
        case 3: a.integer = in.integer(); break;
        case 4: a.text = in.text(); break;
        case 5: {
          TensorFields t = tensor_fields(in.bytes());
          if (t.name.empty()) t.name = a.name;
          a.tensor = datum_of(t, folder_);
          break;
        }
        case 6: inner = in.bytes(); break;
        case 7: {
          std::vector<float> numbers;
          in.floats(numbers);
          a.numbers.insert(a.numbers.end(), numbers.begin(), numbers.end());
          break;
        }
        case 8: in.integers(a.integers); break;
        case 9: a.texts.push_back(in.text()); break;
        case 20: type = in.integer(); break;
        case 21: a.reference = in.text(); break;
        case 22: a.tensor = dense_of_sparse(in.bytes(), folder_).second; break;
        default: in.skip();
      }
    }
    if (type == 0) type = by_field;
    if (type == 11) type = 4;  // a sparse tensor is a dense one from here on
    // Optionals and sequences state types of elements (13) where they are empty: the value says nothing more.
    STRATA_CHECK((type > 0 && type <= 8) || type == 13, undefined, "the attribute \"", a.name, "\" has the type ",
                 type);
    a.type = type == 13 ? AttributeType::undefined : static_cast<AttributeType>(type);
    if (a.type == AttributeType::graph && a.reference.empty()) a.graph = add_graph(inner, graph, depth + 1);
    return a;
  }

  const std::string& folder_;
  Definition out_;
  std::vector<Waiting> waiting_;
  std::size_t nodes_ = 0;
};

/// Calls `read`, and says in each message which file it is about.
template <class F>
auto of_file(const std::string& name, const F& read) {
  try {
    return read();
  } catch (const protozero::exception& e) {
    throw Error(ErrorKind::parse, "[onnx] " + name + ": damaged or cut off (" + e.what() + ")");
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with("[onnx]")) throw;
    throw Error(e.kind(), "[onnx] " + name + ": " + e.what());
  }
}

Datum read_sequence(const data_view& bytes) {
  Sequence out;
  Message in(bytes);
  while (in.next()) switch (in.field()) {
      case 3: out.push_back(datum_of(tensor_fields(in.bytes()), "")); break;
      case 4:
      case 5:
      case 6:
      case 7: throw Error(ErrorKind::undefined, "a sequence holds something other than tensors");
      default: in.skip();
    }
  return out;
}

Datum read_optional(const data_view& bytes) {
  Message in(bytes);
  while (in.next()) switch (in.field()) {
      case 3: return datum_of(tensor_fields(in.bytes()), "");
      case 5: return read_sequence(in.bytes());
      case 4:
      case 6:
      case 7: throw Error(ErrorKind::undefined, "an optional holds something other than a tensor or a sequence");
      default: in.skip();
    }
  return EmptyOptional{};
}

}  // namespace

bool has_reader() { return true; }

Definition read_definition(std::string_view bytes, const std::string& folder, const std::string& name) {
  return of_file(name, [&] { return ModelReader(folder).read(bytes); });
}

Datum read_value(std::string_view bytes, Port::Kind kind, const std::string& name) {
  const data_view view(bytes.data(), bytes.size());
  return of_file(name, [&]() -> Datum {
    if (kind == Port::Kind::sequence) return read_sequence(view);
    if (kind == Port::Kind::optional) return read_optional(view);
    return datum_of(tensor_fields(view), "");
  });
}

}  // namespace strata::onnx
