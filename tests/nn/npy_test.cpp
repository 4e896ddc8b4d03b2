// npy files: all dtypes and shapes, NumPy's own bytes, both byte and element orders, everything that is refused.
#include "strata/nn/npy.h"

#include <fstream>
#include <limits>

#include "strata/runtime/posix_io.h"
#include "tests/nn/arrays.h"

namespace strata {
namespace {

/// A file of version `version`.0 with `dict` as its header and `count` zeros behind it.
Bytes npy_of(const std::string& dict, std::size_t count = 0, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  if (version == 1)
    append_little(out, static_cast<std::uint16_t>(dict.size()));
  else
    append_little(out, static_cast<std::uint32_t>(dict.size()));
  return as_bytes(out + dict + std::string(count, '\0'));
}

std::string npy_refusal(const Bytes& bytes) {
  return error_of(ErrorKind::parse, [&] { parse_npy(bytes); });
}
std::string npy_refusal(const std::string& dict, std::size_t count = 0) { return npy_refusal(npy_of(dict, count)); }
/// A header whose dtype is `descr`, a literal.
std::string with_descr(const std::string& descr) {
  return "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}";
}
std::string with_shape(const std::string& shape) {
  return "{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + "}";
}

// Written by NumPy 1.24.
const std::string kStart = "934e554d5059 0100 7600 7b276465736372273a20";  // \x93NUMPY 1.0 {'descr':
const std::string kOrder = "272c2027666f727472616e5f6f72646572273a20";     // ', 'fortran_order':
const std::string kShape = "2c20277368617065273a20";                       // , 'shape':
const std::string kFalse = "46616c7365", kTrue = "54727565";

const std::string kFloats = kStart + "273c6634" + kOrder + kFalse + kShape +
                            "28322c2033292c207d 20*58 0a 00000000 0000803f 00000040 00004040 00008040 0000a040";
const std::string kScalar = kStart + "273c6638" + kOrder + kFalse + kShape + "28292c207d 20*62 0a 000000000000f83f";
const std::string kBooleans = kStart + "277c6231" + kOrder + kFalse + kShape + "28332c292c207d 20*60 0a 01 00 01";
const std::string kBigFortran = kStart + "273e6934" + kOrder + kTrue + kShape +
                                "28322c2033292c207d 20*59 0a 00000000 00000003 00000001 00000004 00000002 00000005";
const std::string kVersion2 = "934e554d5059 0200 74000000 7b276465736372273a20273e7532" + kOrder + kTrue + kShape +
                              "28322c20332c2034292c207d 20*54 0a"
                              "0000 000c 0004 0010 0008 0014 0001 000d 0005 0011 0009 0015"
                              "0002 000e 0006 0012 000a 0016 0003 000f 0007 0013 000b 0017";
const std::string kVersion3 = "934e554d5059 0300 74000000 7b276465736372273a20273c6632" + kOrder + kFalse + kShape +
                              "28302c2033292c207d 20*56 0a";

TEST(Npy, RoundTripsOfAllDtypesAndShapes) {
  for (const DType dtype : dtypes::all()) {
    if (dtype == dtypes::bfloat16) continue;
    for (const auto& shape : shapes()) {
      SCOPED_TRACE(detail::message(dtype.name(), " ", shape_text(shape)));
      const HostArray array = sample(dtype, shape);
      const Bytes bytes = to_npy(array);
      EXPECT_EQ((bytes.size() - array.data.nbytes()) % 64, 0U);
      expect_same(parse_npy(bytes), array);
    }
  }
}

TEST(Npy, ReadsWhatNumPyWrites) {
  const HostArray floats = parse_npy(unhex(kFloats));
  EXPECT_EQ(floats.shape, (std::vector<std::int64_t>{2, 3}));
  for (int k = 0; k < 6; ++k) EXPECT_EQ(floats.data.as<float>()[static_cast<std::size_t>(k)], k);
  const HostArray scalar = parse_npy(unhex(kScalar));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(scalar.data.as<double>()[0], 1.5);
  expect_same(parse_npy(unhex(kBooleans)), array_of(dtypes::boolean, {3}, unhex("01 00 01")));
  expect_same(parse_npy(unhex(kVersion3)), sample(dtypes::float16, {0, 3}));
}

TEST(Npy, WritesTheBytesOfNumPy) {
  for (const std::string& text : {kFloats, kScalar, kBooleans}) {
    const Bytes bytes = unhex(text);
    EXPECT_EQ(to_npy(parse_npy(bytes)), bytes);
  }
}

TEST(Npy, BigEndianAndFortranOrder) {
  const HostArray ints = parse_npy(unhex(kBigFortran));
  EXPECT_EQ(ints.shape, (std::vector<std::int64_t>{2, 3}));
  for (std::int32_t k = 0; k < 6; ++k) EXPECT_EQ(ints.data.as<std::int32_t>()[static_cast<std::size_t>(k)], k);
  const HostArray cube = parse_npy(unhex(kVersion2));
  EXPECT_EQ(cube.shape, (std::vector<std::int64_t>{2, 3, 4}));
  for (std::uint16_t k = 0; k < 24; ++k) EXPECT_EQ(cube.data.as<std::uint16_t>()[k], k);
}

TEST(Npy, FortranOrderOfEverySizeOfElement) {
  for (const DType dtype : {dtypes::int8, dtypes::float16, dtypes::float32, dtypes::uint64}) {
    for (const auto& shape : shapes()) {
      SCOPED_TRACE(detail::message(dtype.name(), " ", shape_text(shape)));
      const HostArray array = sample(dtype, shape);
      const std::size_t size = dtype.itemsize();
      // Element (i0, i1, ...) lies at i0 + n0 * (i1 + n1 * ...).
      Bytes turned(array.data.nbytes());
      for (std::size_t k = 0; k < turned.size() / size; ++k) {
        std::size_t rest = k, at = 0;
        for (std::size_t axis = shape.size(); axis-- > 0;) {
          const auto n = static_cast<std::size_t>(shape[axis]);
          std::size_t stride = 1;
          for (std::size_t j = 0; j < axis; ++j) stride *= static_cast<std::size_t>(shape[j]);
          at += rest % n * stride;
          rest /= n;
        }
        std::memcpy(&turned[at * size], &elements(array)[k * size], size);
      }
      const std::string one = dtype.itemsize() == 1 ? "|" : "<";
      const std::string name = dtype == dtypes::int8      ? "i1"
                               : dtype == dtypes::float16 ? "f2"
                               : dtype == dtypes::float32 ? "f4"
                                                          : "u8";
      Bytes file = npy_of("{'descr': '" + one + name + "', 'fortran_order': True, 'shape': " + shape_text(shape) + "}");
      file.insert(file.end(), turned.begin(), turned.end());
      expect_same(parse_npy(file), array);
    }
  }
}

std::string dict_of_rank(std::size_t rank) {
  std::string shape;
  for (std::size_t k = 0; k < rank; ++k) shape += "1,";
  return "{'descr': '<i4', 'fortran_order': True, 'shape': (" + shape + ")}";
}

TEST(Npy, SixtyFourDimensionsAndNoMore) {
  const HostArray array = parse_npy(npy_of(dict_of_rank(64), 4, 2));
  EXPECT_EQ(array.shape, std::vector<std::int64_t>(64, 1));
  expect_same(parse_npy(to_npy(array)), array);
  for (const std::size_t rank : {65U, 40'000U}) {
    const std::string message = npy_refusal(npy_of(dict_of_rank(rank), 4, 2));
    EXPECT_TRUE(has(message, "[npy] the bytes: ")) << message;
    EXPECT_TRUE(has(message, "expected a shape of 64 dimensions at most, found " + std::to_string(rank)));
  }
  HostArray wide = array;
  wide.shape.push_back(1);
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [&] { to_npy(wide); }), "has 65 dimensions; a file has 64 at most"));
}

TEST(Npy, ManyDimensionsAreRefusedByTheNameOfTheFile) {
  const PrivateFolder folder;
  const std::string path = folder.file("wide.npy");
  BytePieces file;
  file.add(std::string(text_of(npy_of(dict_of_rank(40'000), 4, 2))));
  file.write("test", path);
  const std::string message = error_of(ErrorKind::parse, [&] { read_npy(path); });
  EXPECT_TRUE(has(message, "wide.npy")) << message;
  EXPECT_TRUE(has(message, "found 40000")) << message;
}

TEST(Npy, OtherSpellingsOfTheHeader) {
  for (const std::string dict : {R"({"shape":(2,),"descr":"<i4","fortran_order":False})",
                                 " { 'descr' : '=i4' , 'fortran_order' : False , 'shape' : ( 2 , ) , } \n\n",
                                 "{'descr':'<i4','fortran_order':True,'shape':(2L,),}"}) {
    expect_same(parse_npy(npy_of(dict, 8)), array_of(dtypes::int32, {2}, Bytes(8)));
  }
  EXPECT_EQ(parse_npy(npy_of(with_shape("(1,2,)"), 8)).shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(parse_npy(npy_of(with_descr("'>u1'"), 1)).dtype, dtypes::uint8);
  EXPECT_TRUE(has(error_of(ErrorKind::parse, [] { parse_npy(npy_of(with_shape("(2L,)"), 8, 3)); }), "'L'"));
}

TEST(Npy, RefusesDtypesByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"'|O'", "dtype '|O': Python objects"},
      {"'<c8'", "dtype '<c8': complex numbers"},
      {"'|S5'", "dtype '|S5': byte strings"},
      {"'<U3'", "dtype '<U3': texts"},
      {"'|V2'", "bfloat16"},
      {"'<M8[ns]'", "dtype '<M8[ns]': dates"},
      {"'<m8[s]'", "durations"},
      {"'<f16'", "dtype '<f16': floats have"},
      {"'<i3'", "integers have"},
      {"'|i4'", "need a byte order"},
      {"'f4'", "expected a dtype like"},
      {"'!f4'", "expected a dtype like"},
      {"''", "expected a dtype like"},
      {"'<'", "dtype '<' is not known"},
      {"'|b2'", "dtype '|b2' is not known"},
      {"[('x', '<f4'), ('y', '<i4')]", "structured dtypes are not supported: '[("},
      {"('<f4', (2,))", "structured dtypes"},
      {"None", "expected a dtype in quotes, found 'N'"},
      {"'<f4\\x00'", "unexpected in a text: '\\'"},
  };
  for (const auto& [descr, message] : cases) EXPECT_TRUE(has(npy_refusal(with_descr(descr), 4), message));
}

TEST(Npy, RefusesHeadersWithTheColumn) {
  const std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "column 1 of the header: expected '{', found its end"},
      {"[]", "column 1 of the header: expected '{', found '['"},
      {"{}", "column 3 of the header: there is no key 'descr'"},
      {"{,}", "column 2 of the header: expected a key in quotes, found ','"},
      {"{'descr': '<i4', 'descr': '<i4'}", "column 18 of the header: the key 'descr' is given twice"},
      {"{'descr' '<i4'}", "column 10 of the header: expected ':', found '''"},
      {"{'descr': '<i4' 'shape': ()}", "column 17 of the header: expected '}', found '''"},
      {"{'order': 1}", "expected one of descr, fortran_order, shape, found 'order'"},
      {"{'descr': '<i4', 'shape': ()}", "there is no key 'fortran_order'"},
      {"{'descr': '<i4', 'fortran_order': 0, 'shape': ()}", "expected True or False, found '0'"},
      {"{'descr': '<i4', 'fortran_order': Falsey, 'shape': ()}", "expected '}', found 'y'"},
      {good + "x", "expected nothing behind '}', found 'x'"},
      {good + std::string(1, '\0'), "found '\\x00'"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,)", "expected '}', found its end"},
      {"{'descr", "without its closing quote"},
  };
  for (const auto& [dict, message] : cases) EXPECT_TRUE(has(npy_refusal(dict, 4), message));
  try {
    parse_npy(npy_of("{'descr': 7}"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.column(), 11U);
  }
}

TEST(Npy, RefusesShapes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(1)", "not a tuple"},
      {"1", "expected '(', found '1'"},
      {"[1]", "expected '(', found '['"},
      {"(,)", "expected a size, found ','"},
      {"(1 2)", "expected ',' or ')', found '2'"},
      {"(1,,2)", "expected a size, found ','"},
      {"(-1,)", "a negative size '-1'"},
      {"(-0,)", "a negative size '-0'"},
      {"(+1,)", "expected a size, found '+'"},
      {"(01,)", "a size with a leading zero"},
      {"(1.0,)", "expected ',' or ')', found '.'"},
      {"(1_0,)", "found '_'"},
      {"(True,)", "expected a size, found 'T'"},
      {"(9223372036854775808,)", "the size '9223372036854775808' does not fit in 64 bits"},
      {"(9223372036854775807,)", "do not fit in 64 bits"},
      {"(4611686018427387904, 4)", "do not fit in 64 bits"},
      {"(0, 4611686018427387904, 4)", "do not fit in 64 bits"},
      {"(1,", "expected a size, found '}'"},
      {"(2,)", "expected 8 bytes of elements, i32 of shape (2,), found 4"},
      {"(0,)", "expected 0 bytes of elements, i32 of shape (0,), found 4"},
      {"(1000000000000,)", "expected 4000000000000 bytes of elements"},
  };
  for (const auto& [shape, message] : cases) EXPECT_TRUE(has(npy_refusal(with_shape(shape), 4), message));
}

TEST(Npy, RefusesWhatIsCutOffOrNoNpy) {
  const Bytes whole = unhex(kFloats), wide = unhex(kVersion3);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(
        has(npy_refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), "[npy] the bytes: "));
  for (std::size_t size = 0; size < wide.size(); ++size)
    npy_refusal(Bytes(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(size)));
  EXPECT_TRUE(has(npy_refusal(Bytes{}), "found nothing"));
  EXPECT_TRUE(has(npy_refusal(as_bytes("PK\3\4 and so on")), "begins with '\\x93NUMPY', found 'PK"));
  Bytes version = whole;
  version[6] = std::byte{4};
  EXPECT_TRUE(has(npy_refusal(version), "expected version 1.0, 2.0 or 3.0, found 4.0"));
  version[6] = std::byte{1}, version[7] = std::byte{1};
  EXPECT_TRUE(has(npy_refusal(version), "found 1.1"));
  EXPECT_TRUE(has(npy_refusal(unhex("934e554d5059 0200 ffffffff 7b7d")), "a header of 4294967295 bytes, found 2"));
}

TEST(Npy, RefusesBooleansThatAreNone) {
  Bytes bytes = unhex(kBooleans);
  bytes.back() = std::byte{2};
  EXPECT_TRUE(has(npy_refusal(bytes), "element 2 of bool is the byte 2, neither 0 nor 1"));
}

TEST(Npy, RefusesToWriteWhatTheFormatHasNot) {
  EXPECT_TRUE(has(error_of(ErrorKind::domain, [] { to_npy(sample(dtypes::bfloat16, {2})); }), "no dtype for bf16"));
  HostArray wrong = sample(dtypes::int32, {2, 3});
  wrong.shape = {7};
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [&] { to_npy(wrong); }), "of shape (7,) has 6 elements"));
  wrong.shape = {-2, -3};
  error_of(ErrorKind::shape, [&] { to_npy(wrong); });
  wrong = sample(dtypes::int32, {2});
  wrong.dtype = dtypes::float32;
  EXPECT_TRUE(has(error_of(ErrorKind::domain, [&] { to_npy(wrong); }), "is declared as f32, but the elements are i32"));
}

TEST(Npy, Files) {
  const PrivateFolder folder;
  const std::string path = folder.file("a.npy");
  const HostArray array = sample(dtypes::float64, {3, 4});
  write_npy(path, array);
  expect_same(read_npy(path), array);
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(as_bytes(std::string(std::istreambuf_iterator<char>(in), {})), to_npy(array));
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_TRUE(has(error_of(ErrorKind::parse, [&] { read_npy(path); }), path + ": expected 96 bytes"));
}

}  // namespace
}  // namespace strata
