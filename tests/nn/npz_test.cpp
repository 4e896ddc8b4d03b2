// npz files: round trips, NumPy's own bytes, compressed and wide archives, everything that is refused.
#include "strata/nn/npz.h"

#include <filesystem>

#include "strata/nn/npy.h"
#include "strata/nn/zip.h"
#include "strata/nn/zip_data.h"
#include "tests/nn/arrays.h"

namespace strata {
namespace {

// Written by NumPy 1.24: savez(a=int16 [1, 2], b=True).
const std::string kStored =
    "504b0304 1400 0000 0000 0000 2100 9d32853a 84000000 84000000 0500 1400 612e6e7079"
    "0100 1000 8400000000000000 8400000000000000"
    "934e554d5059 0100 7600 7b276465736372273a20273c6932272c2027666f727472616e5f6f72646572273a20"
    "46616c73652c20277368617065273a2028322c292c207d 20*60 0a 0100 0200"
    "504b0304 1400 0000 0000 0000 2100 822df8d3 81000000 81000000 0500 1400 622e6e7079"
    "0100 1000 8100000000000000 8100000000000000"
    "934e554d5059 0100 7600 7b276465736372273a20277c6231272c2027666f727472616e5f6f72646572273a20"
    "46616c73652c20277368617065273a2028292c207d 20*62 0a 01"
    "504b0102 1403 1400 0000 0000 0000 2100 9d32853a 84000000 84000000 0500 0000 0000 0000 0000"
    "00008001 00000000 612e6e7079"
    "504b0102 1403 1400 0000 0000 0000 2100 822df8d3 81000000 81000000 0500 0000 0000 0000 0000"
    "00008001 bb000000 622e6e7079"
    "504b0506 0000 0000 0200 0200 66000000 73010000 0000";
// savez_compressed(w=zeros((4, 5)), e=uint8 [7]), the second name being e with an acute accent.
const std::string kDeflated =
    "504b0304 1400 0000 0800 0000 2100 33bfd215 49000000 20010000 0500 1400 772e6e7079"
    "0100 1000 2001000000000000 4900000000000000"
    "9bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a1aea3a09e965f54529498179f5f94920a12774bcc294e"
    "05"
    "8a17672416a402f91a263a0aa69a3a0ab50a64032e86410e00"
    "504b0304 1400 0008 0800 0000 2100 4e17c529 45000000 81000000 0600 1400 c3a92e6e7079"
    "0100 1000 8100000000000000 4500000000000000"
    "9bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f54529498179f5f94920a12774bcc294e"
    "05"
    "8a17672416a402f91a863a9a3a0ab50a14002e7600"
    "504b0102 1403 1400 0000 0800 0000 2100 33bfd215 49000000 20010000 0500 0000 0000 0000 0000"
    "00008001 00000000 772e6e7079"
    "504b0102 1403 1400 0008 0800 0000 2100 4e17c529 45000000 81000000 0600 0000 0000 0000 0000"
    "00008001 80000000 c3a92e6e7079"
    "504b0506 0000 0000 0200 0200 67000000 fd000000 0000";

NamedArrays stored_arrays() {
  return {{"a", array_of(dtypes::int16, {2}, unhex("0100 0200"))}, {"b", array_of(dtypes::boolean, {}, unhex("01"))}};
}

std::string npz_refusal(const Bytes& bytes) {
  return error_of(ErrorKind::parse, [&] { parse_npz(bytes); });
}
/// `bytes` with others from `at` on; a negative `at` counts from the end.
Bytes with(Bytes bytes, std::ptrdiff_t at, const std::string& hex) {
  const Bytes other = unhex(hex);
  std::copy(other.begin(), other.end(), at < 0 ? bytes.end() + at : bytes.begin() + at);
  return bytes;
}
Bytes archive(const std::vector<std::pair<std::string, std::string>>& files) {
  ZipWriter zip;
  for (const auto& [name, text] : files) {
    BytePieces contents;
    contents.add(text);
    zip.add(name, std::move(contents));
  }
  return std::move(zip).finish().join();
}

class Npz : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_zlib()) GTEST_SKIP() << "there is no zlib";
  }
};

TEST(NpzWithoutZlib, SaysWhatIsMissing) {
  if (has_zlib()) GTEST_SKIP() << "there is zlib";
  const PrivateFolder folder;
  const std::string path = folder.file("a.npz");
  for (const std::string& hex : {kStored, kDeflated})
    EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { parse_npz(unhex(hex)); }), "zlib1g-dev"));
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { write_npz(path, stored_arrays()); }), "zlib1g-dev"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(Npz, CheckSums) {
  EXPECT_EQ(crc32({}), 0U);
  EXPECT_EQ(crc32({}, 0x414FA339U), 0x414FA339U);
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926U);
  const Bytes text = as_bytes("The quick brown fox jumps over the lazy dog");
  EXPECT_EQ(crc32(text), 0x414FA339U);
  for (std::size_t k = 0; k <= text.size(); ++k)
    EXPECT_EQ(crc32(std::span(text).subspan(k), crc32(std::span(text).first(k))), 0x414FA339U);
}

TEST_F(Npz, RoundTripsKeepNamesAndOrder) {
  NamedArrays arrays;
  for (const DType dtype : dtypes::all())
    if (dtype != dtypes::bfloat16)
      for (const auto& shape : shapes())
        arrays.emplace_back(detail::message("z", arrays.size() % 7, dtype.name(), shape_text(shape)),
                            sample(dtype, shape));
  arrays.emplace_back("", sample(dtypes::int8, {1}));
  arrays.emplace_back("a/b.npy", sample(dtypes::int8, {2}));
  arrays.emplace_back("\xC3\xA9", sample(dtypes::int8, {3}));
  expect_same(parse_npz(to_npz(arrays)), arrays);
  EXPECT_TRUE(parse_npz(to_npz({})).empty());
}

TEST_F(Npz, ReadsWhatNumPyWrites) {
  expect_same(parse_npz(unhex(kStored)), stored_arrays());
  EXPECT_TRUE(parse_npz(unhex("504b0506 00*18")).empty());
}

TEST_F(Npz, ReadsWhatNumPyCompresses) {
  const NamedArrays arrays = {{"w", array_of(dtypes::float64, {4, 5}, Bytes(160))},
                              {"\xC3\xA9", array_of(dtypes::uint8, {1}, unhex("07"))}};
  expect_same(parse_npz(unhex(kDeflated)), arrays);
}

TEST_F(Npz, RefusesDamagedCompression) {
  const Bytes good = unhex(kDeflated);
  EXPECT_TRUE(has(npz_refusal(with(good, 55, "ff ff ff ff")), "entry 'w.npy': its compressed bytes are damaged"));
  // The directory's entry of w.npy is at 0xfd: packed size at +20, size at +24.
  EXPECT_TRUE(has(npz_refusal(with(good, 0xfd + 24, "1f")), "expected 287 bytes, found more"));
  EXPECT_TRUE(has(npz_refusal(with(good, 0xfd + 24, "21")), "expected 289 bytes, found 288"));
  EXPECT_TRUE(has(npz_refusal(with(good, 0xfd + 24, "feffffff")), "expected 4294967294 bytes, found 288"));
  EXPECT_TRUE(has(npz_refusal(with(good, 0xfd + 20, "48")), "expected 288 bytes, the compressed ones end after"));
  EXPECT_TRUE(has(npz_refusal(with(good, 0xfd + 20, "00")), "expected 288 bytes, the compressed ones end after 0"));
  EXPECT_TRUE(has(npz_refusal(with(good, 0xfd + 16, "00")), "entry 'w.npy': expected the check sum"));
}

TEST_F(Npz, RefusesBytesBehindTheCompressedOnes) {
  const Bytes packed = unhex("0300 00");  // the empty stream and a byte
  const ByteSource source("npz", packed);
  EXPECT_TRUE(inflate(source, std::span(packed).first(2), 0).empty());
  EXPECT_TRUE(
      has(error_of(ErrorKind::parse, [&] { inflate(source, packed, 0); }), "1 bytes follow the compressed ones"));
  EXPECT_TRUE(has(error_of(ErrorKind::parse, [&] { inflate(source, {}, 0); }), "end after 0"));
}

TEST_F(Npz, WideFieldsAreReadAsTheyAreWritten) {
  for (const auto& [most32, most16] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 0}, {1, 0xFFFF}, {150, 0xFFFF}, {300, 2}, {0xFFFFFFFF, 3}}) {
    ZipWriter zip(most32, most16);
    for (const auto& [name, array] : stored_arrays()) zip.add(name + ".npy", npy_pieces(name, array));
    expect_same(parse_npz(std::move(zip).finish().join()), stored_arrays());
  }
}

TEST_F(Npz, MoreEntriesThanNarrowFieldsCount) {
  ZipWriter zip;
  for (int k = 0; k < 66'000; ++k) {
    BytePieces contents;
    contents.add(std::string("x"));
    zip.add(std::to_string(k), std::move(contents));
  }
  const Bytes bytes = std::move(zip).finish().join();
  const ByteSource source("npz", bytes);
  const std::vector<ZipEntry> entries = zip_entries(source);
  ASSERT_EQ(entries.size(), 66'000U);
  EXPECT_EQ(zip_contents(source, entries[65'999]), as_bytes("x"));
}

TEST_F(Npz, RefusesWideFieldsThatAreWrong) {
  ZipWriter zip(0, 0);
  for (const auto& [name, array] : stored_arrays()) zip.add(name + ".npy", npy_pieces(name, array));
  const Bytes good = std::move(zip).finish().join();
  // From the end: the end record, 22 bytes, the locator, 20, the wide end record, 56.
  EXPECT_TRUE(has(npz_refusal(with(good, -42, "00")), "expected the directory in front of byte"));
  EXPECT_TRUE(has(npz_refusal(with(good, -42 + 8, "ff*8")), "expected the zip64 end record in front of byte"));
  EXPECT_TRUE(has(npz_refusal(with(good, -42 + 8, "00")), "the zip64 end record at byte"));
  EXPECT_TRUE(has(npz_refusal(with(good, -98 + 16, "01")), "split over several files"));
  EXPECT_TRUE(has(npz_refusal(with(good, -98 + 40, "ff*8")), "expected the directory in front of byte"));
  EXPECT_TRUE(has(npz_refusal(with(good, -98 + 24, "ff*16")), "entries, the directory has"));
  EXPECT_TRUE(has(npz_refusal(with(good, -98 + 24, "03 00*7 03 00*7")),
                  "expected an entry of the directory 0 bytes before its end"));
  EXPECT_TRUE(has(npz_refusal(with(good, -98 + 24, "01 00*7 01 00*7")), "bytes of the directory are left"));
}

TEST_F(Npz, RefusesDamagedArchives) {
  const Bytes good = unhex(kStored);
  constexpr std::ptrdiff_t first = 0x173, second = first + 51;  // in the directory
  EXPECT_TRUE(has(npz_refusal(Bytes{}), "found no end record in 0 bytes"));
  EXPECT_TRUE(has(npz_refusal(as_bytes("\x93NUMPY")), "found no end record in 6 bytes"));
  EXPECT_TRUE(has(npz_refusal(with(good, 180, "ff")), "entry 'a.npy': expected the check sum 981807773"));
  EXPECT_TRUE(has(npz_refusal(with(good, first, "ff")), "expected an entry of the directory 102 bytes before its end"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 8, "01")), "entry 'a.npy' is encrypted"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 10, "0c")), "expected method 0 (stored) or 8 (deflated), found 12"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 24, "85")), "is stored with 133 bytes, but takes 132"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 20, "ff*8")), "lacks its zip64 sizes"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 20, "feffffff feffffff")),
                  "expected its header and 4294967294 bytes at byte 0"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 42, "01")), "expected its header"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 42, "00 00 00 ff")), "expected its header"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 28, "ff ff")), "an entry of 65581 bytes begins 102 bytes"));
  EXPECT_TRUE(has(npz_refusal(with(good, 26, "ff ff")), "expected its header"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 46, "63")),
                  "entry 'c.npy' has the name 'a.npy' in the header before the data"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 46, "00")), "is not UTF-8 without NUL"));
  EXPECT_TRUE(has(npz_refusal(with(good, first + 46, "ff")), "is not UTF-8 without NUL"));
  EXPECT_TRUE(has(npz_refusal(with(with(good, second + 46, "61"), 0xbb + 30, "61")), "entry 'a.npy' is given twice"));
  EXPECT_TRUE(has(npz_refusal(with(good, -22 + 4, "01")), "split over several files"));
  EXPECT_TRUE(has(npz_refusal(with(good, -22 + 10, "03")), "split over several files"));
  EXPECT_TRUE(has(npz_refusal(with(good, -22 + 8, "0300 0300")), "expected 3 entries, the directory has 102 bytes"));
  EXPECT_TRUE(
      has(npz_refusal(with(good, -22 + 8, "0100 0100")), "expected 1 entries, 51 bytes of the directory are left"));
  EXPECT_TRUE(has(npz_refusal(with(good, -22 + 16, "00")), "expected the directory in front of byte 473"));
  for (std::size_t size = 1; size < good.size(); ++size)
    npz_refusal(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
}

TEST_F(Npz, RefusesEntriesThatShareBytes) {
  const Bytes inner = archive({{"b.npy", "x"}});
  const std::string text(text_of(inner).substr(0, 36));
  Bytes bytes = archive({{"a.npy", text}, {"b.npy", "x"}});
  // The directory's second entry points into the first one's bytes, where there is such a header.
  const std::size_t second = bytes.size() - 22 - 51;
  bytes[second + 42] = std::byte{35};
  EXPECT_TRUE(has(npz_refusal(bytes), "entries 'a.npy' and 'b.npy' overlap"));
}

TEST_F(Npz, RefusesWhatIsNoArray) {
  EXPECT_TRUE(has(npz_refusal(archive({{"readme.txt", "hello"}})), "names end in .npy, found 'readme.txt'"));
  EXPECT_TRUE(has(npz_refusal(archive({{"w.npy", "hello"}})), "[npz] the bytes: entry 'w.npy': expected an npy file"));
}

TEST_F(Npz, RefusesNamesToWrite) {
  const auto refused = [](const std::vector<std::string>& names) {
    NamedArrays arrays;
    for (const std::string& name : names) arrays.emplace_back(name, sample(dtypes::int8, {1}));
    return error_of(ErrorKind::domain, [&] { to_npz(arrays); });
  };
  EXPECT_TRUE(has(refused({"a", "b", "a"}), "the name 'a' is given twice"));
  EXPECT_TRUE(has(refused({"\xFF"}), "the name '\\xFF' is not UTF-8"));
  EXPECT_TRUE(has(refused({std::string("a\0b", 3)}), "has a NUL"));
  EXPECT_TRUE(has(refused({std::string(65'532, 'x')}), "has 65532 bytes"));
  const NamedArrays longest = {{std::string(65'531, 'x'), sample(dtypes::int8, {1})}};
  expect_same(parse_npz(to_npz(longest)), longest);
  EXPECT_TRUE(
      has(error_of(ErrorKind::domain, [] { to_npz({{"w", sample(dtypes::bfloat16, {1})}}); }), "no dtype for bf16"));
}

TEST_F(Npz, Files) {
  const PrivateFolder folder;
  const std::string path = folder.file("a.npz");
  write_npz(path, stored_arrays());
  expect_same(read_npz(path), stored_arrays());
  EXPECT_TRUE(has(error_of(ErrorKind::parse, [&] { read_npy(path); }), "[npy] " + path + ": expected an npy file"));
}

}  // namespace
}  // namespace strata
