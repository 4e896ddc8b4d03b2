#include "strata/nn/safetensors_header.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "strata/base/json.h"
#include "strata/base/quotes.h"

namespace strata {
namespace {

constexpr std::uint64_t kMostHeader = 100'000'000;
constexpr std::size_t kLengthSize = 8;
constexpr std::string_view kReader = "[json] ";  // the prefix of JSON errors, which is removed
constexpr std::string_view kMetadata = "__metadata__";

struct SafeTensorsDtype {
  std::string_view name;
  DType dtype;
};
// The order of the rows is the reference implementation's order of dtypes, by which tensors are sorted.
// clang-format off
constexpr SafeTensorsDtype kSafeTensorsDtypes[] = {
    {"BOOL", dtypes::boolean},
    {"U8",   dtypes::uint8},
    {"I8",   dtypes::int8},
    {"I16",  dtypes::int16},
    {"U16",  dtypes::uint16},
    {"F16",  dtypes::float16},
    {"BF16", dtypes::bfloat16},
    {"I32",  dtypes::int32},
    {"U32",  dtypes::uint32},
    {"F32",  dtypes::float32},
    {"F64",  dtypes::float64},
    {"I64",  dtypes::int64},
    {"U64",  dtypes::uint64},
};
// clang-format on

std::string dtype_names() {
  std::string out;
  for (const SafeTensorsDtype& row : kSafeTensorsDtypes) out += detail::message(out.empty() ? "" : ", ", row.name);
  return out;
}

/// Reads the JSON text of the header, and checks every value.
class HeaderReader {
 public:
  HeaderReader(const ByteSource& source, std::string_view text) : source_(source) {
    if (!text.starts_with('{'))
      fail(1, "expected '{', found ", text.empty() ? "its end" : in_quotes(character_at(text, 0)));
    try {
      document_.read(text);
    } catch (const Error& error) {
      std::string_view what = error.what();
      if (what.starts_with(kReader)) what.remove_prefix(kReader.size());
      if (error.kind() == ErrorKind::request) fail(error.column(), what);
      throw Error(error.kind(), detail::message("[safetensors] ", source.name(), ": ", what));
    }
  }

  SafeTensorsHeader read() const {
    SafeTensorsHeader out;
    for (const JsonValue::Member& member : document_.root().as_object("the header")) {
      if (member.key == kMetadata) {
        read_metadata(member.value, out);
      } else {
        out.tensors.push_back(read_tensor(member));
      }
    }
    return out;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(std::size_t column, const Parts&... parts) const {
    source_.fail_at(column, "column ", column, " of the header: ", parts...);
  }
  void expect(const JsonValue& value, JsonKind kind, std::string_view what) const {
    if (!value.is(kind)) fail(value.column(), what, " is ", describe(value.kind()), ", not ", describe(kind));
  }

  void read_metadata(const JsonValue& value, SafeTensorsHeader& out) const {
    expect(value, JsonKind::object, kMetadata);
    for (const JsonValue::Member& member : value.as_object(kMetadata)) {
      expect(member.value, JsonKind::string, in_quotes(member.key));
      out.metadata.emplace_back(member.key, member.value.as_string(kMetadata));
    }
  }

  TensorRow read_tensor(const JsonValue::Member& tensor) const {
    TensorRow out;
    out.name = tensor.key;
    const std::string name = in_quotes(tensor.key);
    expect(tensor.value, JsonKind::object, name);
    bool has_shape = false, has_offsets = false;
    for (const JsonValue::Member& member : tensor.value.as_object(name)) {
      if (member.key == "dtype") {
        out.dtype = read_dtype(member.value, name);
      } else if (member.key == "shape") {
        has_shape = true;
        check_rank(member.value, name);
        for (const std::uint64_t size : read_numbers(member.value, name))
          out.shape.push_back(static_cast<std::int64_t>(size));
      } else if (member.key == "data_offsets") {
        has_offsets = true;
        read_offsets(member.value, name, out);
      } else {
        fail(member.column, "expected dtype, shape or data_offsets of ", name, ", found ", in_quotes(member.key));
      }
    }
    if (out.dtype.is_none() || !has_shape || !has_offsets)
      fail(tensor.value.column(), "expected dtype, shape and data_offsets of ", name, ", found ",
           out.dtype.is_none() ? "no dtype"
           : has_shape         ? "no data_offsets"
                               : "no shape");
    check_size(out, tensor.column);
    return out;
  }

  DType read_dtype(const JsonValue& value, const std::string& name) const {
    expect(value, JsonKind::string, "the dtype");
    const std::string_view text = value.as_string("the dtype");
    for (const SafeTensorsDtype& row : kSafeTensorsDtypes)
      if (row.name == text) return row.dtype;
    fail(value.column(), "the dtype of ", name, " is ", in_quotes(text), ", not one of ", dtype_names());
  }

  std::vector<std::uint64_t> read_numbers(const JsonValue& value, const std::string& name) const {
    expect(value, JsonKind::array, name);
    std::vector<std::uint64_t> out;
    for (const JsonValue& item : value.as_array(name)) {
      expect(item, JsonKind::integer, name);
      const std::string text = item.raw();
      std::int64_t number = 0;
      const bool fits = std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
      if (!fits || text.starts_with('-'))
        fail(item.column(), "expected a number from 0 to 2**63 - 1 of ", name, ", found ", in_quotes(text));
      out.push_back(static_cast<std::uint64_t>(number));
    }
    return out;
  }

  void check_rank(const JsonValue& shape, const std::string& name) const {
    expect(shape, JsonKind::array, name);
    const std::size_t rank = shape.as_array(name).size();
    if (rank > kMostDimensions)
      fail(shape.column(), "expected a shape of ", kMostDimensions, " dimensions at most of ", name, ", found ", rank);
  }

  void read_offsets(const JsonValue& value, const std::string& name, TensorRow& out) const {
    const std::vector<std::uint64_t> numbers = read_numbers(value, name);
    if (numbers.size() != 2) fail(value.column(), "expected two data_offsets of ", name, ", found ", numbers.size());
    out.begin = numbers[0], out.end = numbers[1];
    if (out.begin > out.end) fail(value.column(), "the data_offsets of ", name, " end before they begin");
  }

  void check_size(const TensorRow& row, std::size_t column) const {
    std::int64_t count = 0;
    if (!try_count(row.dtype, row.shape, count))
      fail(column, "the bytes of ", in_quotes(row.name), ", ", row.dtype.name(), " of shape ", shape_text(row.shape),
           ", do not fit in 64 bits");
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * row.dtype.itemsize();
    if (bytes != row.end - row.begin)
      fail(column, "expected ", bytes, " bytes of ", in_quotes(row.name), ", ", row.dtype.name(), " of shape ",
           shape_text(row.shape), ", found ", row.end - row.begin);
  }

  const ByteSource& source_;
  JsonDocument document_;
};

/// Sorts the tensors by their byte ranges, which must cover all bytes behind the header without overlap or hole.
void check_tiling(const ByteSource& source, SafeTensorsHeader& header) {
  const auto place = [](const TensorRow& row) { return std::tie(row.begin, row.end, row.name); };
  std::sort(header.tensors.begin(), header.tensors.end(),
            [&](const TensorRow& a, const TensorRow& b) { return place(a) < place(b); });
  std::uint64_t at = 0;
  for (const TensorRow& row : header.tensors) {
    if (row.begin != at)
      source.fail("expected a tensor from byte ", at, " of the elements on, found ", in_quotes(row.name), " from ",
                  row.begin);
    at = row.end;
  }
  const std::uint64_t found = source.size() - header.length;
  if (at != found) source.fail("expected ", at, " bytes of elements, found ", found);
}

void check_length(std::uint64_t bytes) {
  STRATA_CHECK(bytes <= kMostHeader, budget, "[safetensors] a header of ", bytes,
               " bytes or more, the format's limit is ", kMostHeader);
}

/// The bytes of names and metadata, a lower bound of the header's length.
std::uint64_t texts_size(const SafeTensorsHeader& header) {
  std::uint64_t out = 0;
  for (const auto& [key, value] : header.metadata) out += key.size() + value.size();
  for (const TensorRow& row : header.tensors) out += row.name.size();
  return out;
}

}  // namespace

SafeTensorsHeader read_safetensors_header(const ByteSource& source) {
  if (source.size() < kLengthSize) source.fail("expected a safetensors file, found ", source.size(), " bytes");
  const auto length = load_little<std::uint64_t>(source.read(0, kLengthSize).data());
  const std::uint64_t room = source.size() - kLengthSize;
  if (length > kMostHeader || length > room)
    source.fail("expected a header of ", length, " bytes, found ",
                length > room ? detail::message(room, " bytes") : "more than the format's 100 MB");
  const std::vector<std::byte> text = source.read(kLengthSize, length);
  SafeTensorsHeader out = HeaderReader(source, text_of(text)).read();
  out.length = kLengthSize + length;
  check_tiling(source, out);
  return out;
}

std::size_t safetensors_rank(DType dtype) {
  const auto* const row = std::find_if(std::begin(kSafeTensorsDtypes), std::end(kSafeTensorsDtypes),
                                       [&](const SafeTensorsDtype& r) { return r.dtype == dtype; });
  STRATA_ASSERT(row != std::end(kSafeTensorsDtypes), "safetensors has no dtype ", dtype.name());
  return static_cast<std::size_t>(row - std::begin(kSafeTensorsDtypes));
}

std::string safetensors_header_text(const SafeTensorsHeader& header) {
  check_length(texts_size(header));  // before a text of that length is made
  JsonWriter json;
  json.begin_object();
  if (!header.metadata.empty()) {
    json.key(kMetadata).begin_object();
    for (const auto& [key, value] : header.metadata) json.member(key, value);
    json.end_object();
  }
  for (const TensorRow& row : header.tensors) {
    json.key(row.name).begin_object();
    json.member("dtype", kSafeTensorsDtypes[safetensors_rank(row.dtype)].name).key("shape").begin_array();
    for (const std::int64_t size : row.shape) json.value(size);
    json.end_array().key("data_offsets").begin_array();
    json.value(static_cast<std::int64_t>(row.begin)).value(static_cast<std::int64_t>(row.end));
    json.end_array().end_object();
  }
  std::string text = json.end_object().take();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check_length(text.size());
  std::string out;
  append_little(out, std::uint64_t{text.size()});
  return out += text;
}

}  // namespace strata
