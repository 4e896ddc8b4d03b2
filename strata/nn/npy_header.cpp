#include "strata/nn/npy_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/nn/array_file.h"

namespace strata {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;   // of the first element in the file
constexpr std::size_t kRoomToGrow = 21;  // NumPy reserves room for 21 digits of the first size
constexpr bool kIsBig = std::endian::native == std::endian::big;

struct NpyDtype {
  std::string_view name;  // without the byte order
  DType dtype;
};
// clang-format off
constexpr NpyDtype kNpyDtypes[] = {
    {"b1", dtypes::boolean},
    {"i1", dtypes::int8},  {"i2", dtypes::int16},   {"i4", dtypes::int32},   {"i8", dtypes::int64},
    {"u1", dtypes::uint8}, {"u2", dtypes::uint16},  {"u4", dtypes::uint32},  {"u8", dtypes::uint64},
                           {"f2", dtypes::float16}, {"f4", dtypes::float32}, {"f8", dtypes::float64},
};

struct RefusedRow {
  char kind;
  std::string_view what;
};
constexpr RefusedRow kRefused[] = {
    {'O', "Python objects are not read"},
    {'c', "complex numbers are not supported"},
    {'S', "byte strings are not supported"},
    {'a', "byte strings are not supported"},
    {'U', "texts are not supported"},
    {'V', "raw bytes are not supported (extensions of NumPy write bfloat16 so)"},
    {'M', "dates are not supported"},
    {'m', "durations are not supported"},
    {'f', "floats have 2, 4 or 8 bytes"},
    {'i', "integers have 1, 2, 4 or 8 bytes"},
    {'u', "integers have 1, 2, 4 or 8 bytes"},
};
// clang-format on

/// Parses the dictionary: exactly the three keys, each once, with literals of the right type. Other Python syntax
/// (escapes, prefixes, underscores in numbers, comments), which no writer of arrays uses, is refused.
class DictReader {
 public:
  /// `longs`: sizes may end in L, as Python 2 wrote them.
  DictReader(const ByteSource& source, std::string_view text, bool longs)
      : source_(source), text_(text), longs_(longs) {}

  NpyHeader read() {
    expect('{');
    while (skip_space(), peek() != '}') {
      read_entry();
      skip_space();
      if (peek() != ',') break;
      ++at_;
    }
    expect('}');
    skip_space();
    if (at_ != text_.size()) fail(at_, "expected nothing behind '}', found ", found());
    for (std::size_t k = 0; k < kKeys.size(); ++k)
      if (!seen_[k]) fail(at_, "there is no key '", kKeys[k], "'");
    return std::move(out_);
  }

 private:
  static constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};

  template <class... Parts>
  [[noreturn]] void fail(std::size_t at, const Parts&... parts) const {
    source_.fail_at(at + 1, "column ", at + 1, " of the header: ", parts...);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string found() const { return at_ < text_.size() ? in_quotes(character_at(text_, at_)) : "its end"; }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  void expect(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) fail(at_, "expected '", std::string_view(&c, 1), "', found ", found());
    ++at_;
  }

  void read_entry() {
    const std::size_t begin = at_;
    const std::string_view key = read_string("a key in quotes");
    const auto row = std::find(kKeys.begin(), kKeys.end(), key);
    if (row == kKeys.end()) fail(begin, "expected one of descr, fortran_order, shape, found ", in_quotes(key));
    bool& seen = seen_[static_cast<std::size_t>(row - kKeys.begin())];
    if (seen) fail(begin, "the key ", in_quotes(key), " is given twice");
    seen = true;
    expect(':');
    skip_space();
    if (key == "descr") return read_descr();
    if (key == "shape") return read_shape();
    out_.fortran_order = read_bool();
  }

  std::string_view read_string(std::string_view what) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(at_, "expected ", what, ", found ", found());
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '\\' || c < 0x20) fail(at_, "unexpected in a text: ", found());
      ++at_;
    }
    if (at_ >= text_.size()) fail(begin - 1, "a text without its closing quote");
    return text_.substr(begin, at_++ - begin);
  }

  bool read_bool() {
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    fail(at_, "expected True or False, found ", found());
  }

  void read_descr() {
    const std::size_t begin = at_;
    if (peek() == '[' || peek() == '(' || peek() == '{')
      fail(at_, "structured dtypes are not supported: ", in_quotes(text_.substr(at_)));
    const std::string_view name = read_string("a dtype in quotes");
    if (name.empty() || std::string_view("<>=|").find(name[0]) == name.npos)
      fail(begin, "expected a dtype like '<f4', '>i8' or '|b1', found ", in_quotes(name));
    const std::string_view type = name.substr(1);
    for (const NpyDtype& row : kNpyDtypes) {
      if (row.name != type) continue;
      out_.dtype = row.dtype;
      if (row.dtype.itemsize() == 1) return;
      if (name[0] == '|')
        fail(begin, "dtype ", in_quotes(name), ": elements of several bytes need a byte order, '<' or '>'");
      out_.swapped = name[0] == (kIsBig ? '<' : '>');
      return;
    }
    for (const RefusedRow& row : kRefused)
      if (type.starts_with(row.kind)) fail(begin, "dtype ", in_quotes(name), ": ", row.what);
    fail(begin, "dtype ", in_quotes(name), " is not known");
  }

  void read_shape() {
    const std::size_t begin = at_;
    expect('(');
    bool comma = true;
    while (skip_space(), peek() != ')') {
      if (!comma) fail(at_, "expected ',' or ')', found ", found());
      out_.shape.push_back(read_size());
      skip_space();
      comma = peek() == ',';
      if (comma) ++at_;
    }
    if (out_.shape.size() > kMostDimensions)
      fail(begin, "expected a shape of ", kMostDimensions, " dimensions at most, found ", out_.shape.size());
    if (out_.shape.size() == 1 && !comma)
      fail(at_, "expected ',' (one size in brackets is a number, not a tuple), found ", found());
    ++at_;
  }

  std::int64_t read_size() {
    const std::size_t begin = at_;
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    const auto length = static_cast<std::size_t>(end - (text_.data() + at_));
    const std::string_view digits = text_.substr(begin, length);
    if (error == std::errc::result_out_of_range)
      fail(begin, "the size ", in_quotes(digits), " does not fit in 64 bits");
    if (error != std::errc()) fail(begin, "expected a size, found ", found());
    if (digits[0] == '-') fail(begin, "a negative size ", in_quotes(digits));
    if (digits.size() > 1 && digits[0] == '0') fail(begin, "a size with a leading zero");
    at_ += length;
    if (longs_ && peek() == 'L') ++at_;
    return out;
  }

  const ByteSource& source_;
  std::string_view text_;
  bool longs_;
  std::size_t at_ = 0;
  std::array<bool, kKeys.size()> seen_{};
  NpyHeader out_;
};

std::string npy_name(DType dtype) {
  for (const NpyDtype& row : kNpyDtypes) {
    if (row.dtype != dtype) continue;
    const char order = dtype.itemsize() == 1 ? '|' : kIsBig ? '>' : '<';
    return detail::message(std::string_view(&order, 1), row.name);
  }
  throw Error(ErrorKind::domain, detail::message("[npy] the format has no dtype for ", dtype.name(),
                                                 "; safetensors has, or convert the array first"));
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& source) {
  const std::vector<std::byte> start = source.read(0, std::min<std::uint64_t>(12, source.size()));
  if (!text_of(start).starts_with(kMagic))
    source.fail("expected an npy file, which begins with ", in_quotes(kMagic), ", found ",
                start.empty() ? "nothing" : in_quotes(text_of(start).substr(0, kMagic.size())));
  if (start.size() < 10) source.fail("the file ends within the first ", start.size(), " bytes");
  const auto major = static_cast<int>(start[6]), minor = static_cast<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) source.fail("expected version 1.0, 2.0 or 3.0, found ", major, ".", minor);
  const std::size_t begin = major == 1 ? 10 : 12;
  if (start.size() < begin) source.fail("the file ends within the first ", start.size(), " bytes");
  const std::uint64_t length =
      major == 1 ? load_little<std::uint16_t>(&start[8]) : load_little<std::uint32_t>(&start[8]);
  if (length > source.size() - begin)
    source.fail("expected a header of ", length, " bytes, found ", source.size() - begin);
  const std::vector<std::byte> text = source.read(begin, length);
  NpyHeader out = DictReader(source, text_of(text), major < 3).read();
  out.length = begin + length;
  return out;
}

std::string npy_header_text(DType dtype, std::span<const std::int64_t> shape) {
  std::string dict =
      detail::message("{'descr': '", npy_name(dtype), "', 'fortran_order': False, 'shape': ", shape_text(shape), ", }");
  if (!shape.empty()) dict.append(kRoomToGrow - std::to_string(shape[0]).size(), ' ');
  const std::size_t begin = kMagic.size() + 4;  // version and length
  const std::size_t end = (begin + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dict.append(end - begin - dict.size() - 1, ' ');
  std::string out = detail::message(kMagic, std::string_view("\1\0", 2));
  append_little(out, static_cast<std::uint16_t>(end - begin));
  return detail::message(out, dict, "\n");
}

}  // namespace strata
