// safetensors files: round trips, the reference's layout, mapped and copied elements, everything that is refused.
#include "strata/nn/safetensors.h"

#include <filesystem>

#include "strata/nn/safetensors_header.h"
#include "tests/nn/arrays.h"

namespace strata {
namespace {

Bytes safetensors_of(const std::string& header, const std::string& data = {}) {
  std::string out;
  append_little(out, std::uint64_t{header.size()});
  return as_bytes(out + header + data);
}
std::string safetensors_refusal(const Bytes& bytes) {
  return error_of(ErrorKind::parse, [&] { parse_safetensors(bytes); });
}
std::string safetensors_refusal(const std::string& header, const std::string& data = {}) {
  return safetensors_refusal(safetensors_of(header, data));
}
/// A tensor `w` of four bytes, with `text` in the place of one of its members.
std::string with(const std::string& key, const std::string& text) {
  const std::string members[][2] = {
      {"dtype", R"("dtype":"F32")"}, {"shape", R"("shape":[1])"}, {"data_offsets", R"("data_offsets":[0,4])"}};
  std::string out;
  for (const auto& [name, member] : members) {
    const std::string& now = name == key ? text : member;
    if (!now.empty()) out += (out.empty() ? "" : ",") + now;
  }
  return "{\"w\":{" + out + "}}";
}
void expect_same(const SafeTensors& a, const SafeTensors& b) {
  expect_same(a.tensors, b.tensors);
  EXPECT_EQ(a.metadata, b.metadata);
}

TEST(SafeTensors, RoundTripsOfAllDtypesAndShapes) {
  SafeTensors file;
  file.metadata = {{"format", "pt"}, {"a \"key\"", "\xC3\xA9\n\0"}, {"", ""}};
  for (const auto& shape : shapes()) {
    for (const DType dtype : dtypes::all())
      file.tensors.emplace_back(detail::message(dtype.name(), shape_text(shape)), sample(dtype, shape));
  }
  const SafeTensors once = parse_safetensors(to_safetensors(file));
  EXPECT_EQ(once.tensors.size(), file.tensors.size());
  EXPECT_EQ(once.metadata, file.metadata);
  for (const auto& [name, tensor] : once.tensors) {
    SCOPED_TRACE(name);
    const auto same_name = [&](const auto& other) { return other.first == name; };
    const auto before = std::find_if(file.tensors.begin(), file.tensors.end(), same_name);
    ASSERT_NE(before, file.tensors.end());
    expect_same(tensor, before->second);
  }
  EXPECT_EQ(to_safetensors(once), to_safetensors(file));
  expect_same(parse_safetensors(to_safetensors({})), {});
}

TEST(SafeTensors, WritesTheLayoutOfTheReference) {
  const SafeTensors file = {{{"b", sample(dtypes::float32, {1, 2})},
                             {"c", sample(dtypes::uint8, {3})},
                             {"a", sample(dtypes::float32, {})},
                             {"d", sample(dtypes::int64, {1})},
                             {"e", sample(dtypes::bfloat16, {0})}},
                            {{"k", "v"}}};
  const std::string header = R"({"__metadata__":{"k":"v"},"d":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                             R"("a":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
                             R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[12,20]},)"
                             R"("e":{"dtype":"BF16","shape":[0],"data_offsets":[20,20]},)"
                             R"("c":{"dtype":"U8","shape":[3],"data_offsets":[20,23]}})";
  std::string data;
  for (const char* const name : {"d", "a", "b", "e", "c"})
    for (const auto& [other, tensor] : file.tensors)
      if (other == name) data += text_of(bytes_of(tensor.data));
  EXPECT_EQ(to_safetensors(file), safetensors_of(header + std::string((8 - header.size() % 8) % 8, ' '), data));
}

TEST(SafeTensors, DtypesOfMoreBytesComeLater) {
  for (const DType a : dtypes::all())
    for (const DType b : dtypes::all())
      if (a.itemsize() < b.itemsize()) {
        EXPECT_LT(safetensors_rank(a), safetensors_rank(b));
      }
}

TEST(SafeTensors, ReadsInTheOrderOfTheBytes) {
  const SafeTensors file =
      parse_safetensors(safetensors_of(R"({"z":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                                       R"("y":{"shape":[2],"data_offsets":[0,2],"dtype":"I8"},)"
                                       R"("none":{"dtype":"F64","shape":[0,7],"data_offsets":[2,2]}}   )",
                                       "abc"));
  ASSERT_EQ(file.tensors.size(), 3U);
  EXPECT_EQ(file.tensors[0].first, "y");
  EXPECT_EQ(file.tensors[1].first, "none");
  EXPECT_EQ(file.tensors[2].first, "z");
  EXPECT_EQ(elements(file.tensors[2].second), as_bytes("c"));
  EXPECT_TRUE(file.metadata.empty());
}

TEST(SafeTensors, MappedElementsOutliveTheFile) {
  const PrivateFolder folder;
  const std::string path = folder.file("m.safetensors");
  const SafeTensors file = {{{"a", sample(dtypes::float64, {100, 3})}, {"b", sample(dtypes::uint8, {5})}},
                            {{"k", "v"}}};
  write_safetensors(path, file);
  for (const Placement placement : {Placement::mapped, Placement::copied})
    expect_same(read_safetensors(path, placement), file);
  SafeTensors read = read_safetensors(path);
  std::filesystem::remove(path);
  const HostArray last = read.tensors[1].second;
  read = {};
  expect_same(last, file.tensors[1].second);
  last.data.as<std::uint8_t>()[0] = 99;  // this process's own
}

TEST(SafeTensors, WritingToMappedElementsLeavesTheFile) {
  const PrivateFolder folder;
  const std::string path = folder.file("m.safetensors");
  const SafeTensors file = {{{"a", sample(dtypes::int32, {4})}}, {}};
  write_safetensors(path, file);
  const SafeTensors read = read_safetensors(path);
  read.tensors[0].second.data.as<std::int32_t>()[0] = 7;
  expect_same(read_safetensors(path), file);
  write_safetensors(path, read);  // over the file that is mapped
  EXPECT_EQ(read_safetensors(path).tensors[0].second.data.as<std::int32_t>()[0], 7);
}

TEST(SafeTensors, ElementsThatAreNotAlignedAreCopied) {
  const PrivateFolder folder;
  const std::string path = folder.file("m.safetensors");
  std::string header = R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  header.resize(header.size() + (9 - header.size() % 8), ' ');
  BytePieces pieces;
  pieces.add(std::string(text_of(safetensors_of(header, "0123456789abcdef"))));
  pieces.write("test", path);
  const SafeTensors file = read_safetensors(path);
  EXPECT_EQ(text_of(bytes_of(file.tensors[0].second.data)), "0123456789abcdef");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensors[0].second.data.data()) % 8, 0U);
}

TEST(SafeTensors, RefusesLengths) {
  EXPECT_TRUE(has(safetensors_refusal(Bytes{}), "expected a safetensors file, found 0 bytes"));
  EXPECT_TRUE(has(safetensors_refusal(unhex("02 00*7 7b")), "expected a header of 2 bytes, found 1 bytes"));
  EXPECT_TRUE(
      has(safetensors_refusal(unhex("ff*8 7b7d")), "expected a header of 18446744073709551615 bytes, found 2 bytes"));
  const PrivateFolder folder;
  const std::string path = folder.file("large");
  BytePieces length;
  length.add(std::string(text_of(unhex("01 e1 f5 05 00*4"))));  // 100,000,001
  length.write("test", path);
  std::filesystem::resize_file(path, 8 + 100'000'001);
  EXPECT_TRUE(has(error_of(ErrorKind::parse, [&] { read_safetensors(path); }),
                  "expected a header of 100000001 bytes, found more than the format's 100 MB"));
  const Bytes good = safetensors_of(with("", ""), "1234");
  EXPECT_EQ(parse_safetensors(good).tensors.size(), 1U);
  for (std::size_t size = 0; size < good.size(); ++size)
    safetensors_refusal(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
}

TEST(SafeTensors, RefusesHeadersWithTheColumn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "column 1 of the header: expected '{', found its end"},
      {" {}", "column 1 of the header: expected '{', found ' '"},
      {"[]", "column 1 of the header: expected '{', found '['"},
      {"{} x", "column 4 of the header: text after the value"},
      {"{\"w\":1}", "column 6 of the header: 'w' is an integer, not an object"},
      {"{\"w\":{}}", "expected dtype, shape and data_offsets of 'w', found no dtype"},
      {with("shape", ""), "found no shape"},
      {with("data_offsets", ""), "found no data_offsets"},
      {with("dtype", R"("dtype":"F8_E4M3")"), "the dtype of 'w' is 'F8_E4M3', not one of BOOL, U8, I8, I16"},
      {with("dtype", R"("dtype":"f32")"), "the dtype of 'w' is 'f32', not one of"},
      {with("dtype", R"("dtype":1)"), "the dtype is an integer, not a string"},
      {with("dtype", R"("dtype":"F32","x":0)"), "expected dtype, shape or data_offsets of 'w', found 'x'"},
      {with("dtype", R"("dtype":"F32","dtype":"F32")"), "the key 'dtype' is given twice"},
      {with("shape", R"("shape":1)"), "'w' is an integer, not an array"},
      {with("shape", R"("shape":[1.0])"), "'w' is a number with a fraction or exponent, not an integer"},
      {with("shape", R"("shape":[-1])"), "expected a number from 0 to 2**63 - 1 of 'w', found '-1'"},
      {with("shape", R"("shape":[-0])"), "found '-0'"},
      {with("shape", R"("shape":[9223372036854775808])"), "found '9223372036854775808'"},
      {with("shape", R"("shape":[4294967296,4294967296])"), "do not fit in 64 bits"},
      {with("shape", R"("shape":[2])"), "expected 8 bytes of 'w', f32 of shape (2,), found 4"},
      {with("data_offsets", R"("data_offsets":[0])"), "expected two data_offsets of 'w', found 1"},
      {with("data_offsets", R"("data_offsets":[0,2,4])"), "expected two data_offsets of 'w', found 3"},
      {with("data_offsets", R"("data_offsets":[4,0])"), "the data_offsets of 'w' end before they begin"},
      {with("data_offsets", R"("data_offsets":[1,5])"),
       "expected a tensor from byte 0 of the elements on, found 'w' from 1"},
      {R"({"__metadata__":[]})", "__metadata__ is an array, not an object"},
      {R"({"__metadata__":null})", "__metadata__ is null, not an object"},
      {R"({"__metadata__":{"k":1}})", "'k' is an integer, not a string"},
      {R"({"w":{},"w":{}})", "the key 'w' is given twice"},
      {"{\"\xFF\":{}}", "column 3 of the header: invalid UTF-8"},
  };
  for (const auto& [header, message] : cases) EXPECT_TRUE(has(safetensors_refusal(header, "1234"), message));
}

TEST(SafeTensors, SixtyFourDimensionsAndNoMore) {
  const auto of_rank = [](std::size_t rank) {
    std::string shape;
    for (std::size_t k = 0; k < rank; ++k) shape += k == 0 ? "1" : ",1";
    return R"({"w":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})";
  };
  const SafeTensors most = parse_safetensors(safetensors_of(of_rank(64), "1"));
  EXPECT_EQ(most.tensors.at(0).second.shape.size(), 64U);
  for (const std::size_t rank : {65U, 40'000U})
    EXPECT_TRUE(has(safetensors_refusal(of_rank(rank), "1"),
                    "expected a shape of 64 dimensions at most of 'w', found " + std::to_string(rank)));
  SafeTensors wide = most;
  wide.tensors[0].second.shape.push_back(1);
  EXPECT_TRUE(
      has(error_of(ErrorKind::shape, [&] { to_safetensors(wide); }), "has 65 dimensions; a file has 64 at most"));
}

TEST(SafeTensors, RefusesHolesAndOverlaps) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(parse_safetensors(safetensors_of(two("[2,4]", "[0,2]"), "1234")).tensors.size(), 2U);
  EXPECT_TRUE(
      has(safetensors_refusal(two("[0,2]", "[1,3]"), "123"), "from byte 2 of the elements on, found 'b' from 1"));
  EXPECT_TRUE(
      has(safetensors_refusal(two("[0,2]", "[0,2]"), "12"), "from byte 2 of the elements on, found 'b' from 0"));
  EXPECT_TRUE(
      has(safetensors_refusal(two("[0,2]", "[3,5]"), "12345"), "from byte 2 of the elements on, found 'b' from 3"));
  EXPECT_TRUE(has(safetensors_refusal(two("[0,2]", "[2,4]"), "123"), "expected 4 bytes of elements, found 3"));
  EXPECT_TRUE(has(safetensors_refusal(two("[0,2]", "[2,4]"), "12345"), "expected 4 bytes of elements, found 5"));
  EXPECT_TRUE(has(safetensors_refusal("{}", "1"), "expected 0 bytes of elements, found 1"));
}

TEST(SafeTensors, RefusesBooleansThatAreNone) {
  const std::string header = R"({"w":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})";
  EXPECT_TRUE(has(safetensors_refusal(header, std::string("\0\1\2", 3)),
                  "element 2 of 'w', which is BOOL, is neither 0 nor 1"));
}

TEST(SafeTensors, TooManyValuesIsABudget) {
  std::string header = "{\"__metadata__\":[";
  for (int k = 0; k < 1 << 22; ++k) header += "0,";
  const Bytes bytes = safetensors_of(header + "0]}");
  EXPECT_TRUE(
      has(error_of(ErrorKind::budget, [&] { parse_safetensors(bytes); }), "[safetensors] the bytes: more than"));
}

TEST(SafeTensors, RefusesToWrite) {
  const auto refused = [](const SafeTensors& file) {
    return error_of(ErrorKind::domain, [&] { to_safetensors(file); });
  };
  const HostArray w = sample(dtypes::int8, {1});
  EXPECT_TRUE(has(refused({{{"w", w}, {"w", w}}, {}}), "the name 'w' is given twice"));
  EXPECT_TRUE(has(refused({{{"\xFF", w}}, {}}), "is not UTF-8"));
  EXPECT_TRUE(has(refused({{{"__metadata__", w}}, {}}), "a tensor cannot have the name '__metadata__'"));
  EXPECT_TRUE(has(refused({{}, {{"k", "1"}, {"k", "2"}}}), "the metadata 'k' is given twice"));
  EXPECT_TRUE(has(refused({{}, {{"k", "\xFF"}}}), "is not UTF-8"));
  HostArray wrong = w;
  wrong.shape = {2};
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [&] { to_safetensors({{{"w", wrong}}, {}}); }),
                  "'w' of shape (2,) has 1 elements"));
  std::string text;
  text.resize(100'000'001, 'x');
  const SafeTensors wide = {{}, {{"k", text}}};
  EXPECT_TRUE(has(error_of(ErrorKind::budget, [&] { to_safetensors(wide); }), "the format's limit is 100000000"));
}

TEST(SafeTensors, Files) {
  const PrivateFolder folder;
  const std::string path = folder.file("a.safetensors");
  EXPECT_TRUE(
      has(error_of(ErrorKind::parse, [&] { read_safetensors(path); }), "[safetensors] " + path + ": cannot read it"));
  write_safetensors(path, {});
  expect_same(read_safetensors(path), {});
}

}  // namespace
}  // namespace strata
