// Reading bytes from files, and files that are replaced in one step.
#include "strata/nn/byte_io.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/base/files.h"
#include "tests/nn/arrays.h"

namespace strata {
namespace {

BytePieces pieces(const std::string& text) {
  BytePieces out;
  out.add(text);
  return out;
}
std::size_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(ByteIo, LittleEndianNumbers) {
  std::string text;
  append_little(text, std::uint16_t{0x0201});
  append_little(text, std::uint32_t{0x06050403});
  append_little(text, std::uint64_t{0x8E0D0C0B0A090807});
  EXPECT_EQ(as_bytes(text), unhex("01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 8e"));
  const Bytes bytes = as_bytes(text);
  EXPECT_EQ(load_little<std::uint16_t>(bytes.data()), 0x0201);
  EXPECT_EQ(load_little<std::uint32_t>(&bytes[2]), 0x06050403U);
  EXPECT_EQ(load_little<std::uint64_t>(&bytes[6]), 0x8E0D0C0B0A090807U);
}

TEST(ByteIo, ReadsWithinTheEnd) {
  const PrivateFolder folder;
  const std::string path = folder.file("f");
  std::ofstream(path) << "0123456789";
  const Bytes memory = as_bytes("0123456789");
  const ByteSource file = ByteSource::file("test", path), span("test", memory);
  for (const ByteSource* source : {&file, &span}) {
    EXPECT_EQ(source->size(), 10U);
    EXPECT_EQ(source->read(3, 4), as_bytes("3456"));
    EXPECT_EQ(source->read(10, 0), Bytes{});
    for (const auto& [at, count] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{8, 3}, {11, 0}, {~0ULL, 2}, {1, ~0ULL}})
      EXPECT_TRUE(has(error_of(ErrorKind::parse, [&] { source->read(at, count); }), "the end is at byte 10"));
  }
  EXPECT_EQ(text_of({file.map().get(), 10}), "0123456789");
  EXPECT_EQ(span.map(), nullptr);
  std::filesystem::resize_file(path, 5);
  EXPECT_TRUE(has(error_of(ErrorKind::parse, [&] { file.read(3, 4); }), "it has become shorter"));
}

TEST(ByteIo, MappedBytesArePrivate) {
  const PrivateFolder folder;
  const std::string path = folder.file("f");
  std::ofstream(path) << "abc";
  const auto pages = ByteSource::file("test", path).map();
  pages.get()[0] = std::byte{'X'};
  EXPECT_EQ(contents(path), "abc");
}

TEST(ByteIo, RefusesWhatIsNoFile) {
  const PrivateFolder folder;
  const auto refusal = [](const std::string& path) {
    return error_of(ErrorKind::parse, [&] { ByteSource::file("test", path); });
  };
  EXPECT_TRUE(has(refusal(folder.file("none")), "none: cannot read it: No such file"));
  EXPECT_TRUE(has(refusal(folder.path()), "it is not a regular file"));
  EXPECT_TRUE(has(refusal("/dev/null"), "it is not a regular file"));
  EXPECT_TRUE(has(refusal(""), "it is not a path"));
  EXPECT_TRUE(has(refusal(std::string("/dev/null\0x", 11)), "it is not a path"));
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(has(refusal(pipe), "it is not a regular file"));  // and does not wait for a writer
}

TEST(ByteIo, ReplacesAFileInOneStep) {
  const PrivateFolder folder;
  const std::string path = folder.file("f"), link = folder.file("link");
  pieces("first").write("test", path);
  EXPECT_EQ(contents(path), "first");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink("f", link);
  std::ifstream before(path);
  pieces("second").write("test", link);
  EXPECT_EQ(contents(path), "second");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(before), {}), "first");
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(files_in(folder.path()), 2U);
}

TEST(ByteIo, AFailedWriteLeavesWhatWasThere) {
  const PrivateFolder folder;
  const std::string path = folder.file("f");
  pieces("old").write("test", path);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {100, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of(ErrorKind::budget, [&] { pieces(std::string(1000, 'x')).write("test", path); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_TRUE(has(message, "[test] cannot write " + path + ": File too large"));
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(ByteIo, RefusesToReplaceWhatIsNoFile) {
  const PrivateFolder folder;
  const auto refusal = [](const std::string& path) {
    return error_of(ErrorKind::budget, [&] { pieces("x").write("test", path); });
  };
  EXPECT_TRUE(has(refusal(folder.path()), "it is not a regular file"));
  EXPECT_TRUE(has(refusal("/dev/null"), "it is not a regular file"));
  EXPECT_TRUE(has(refusal(folder.file("none/f")), "No such file"));
  EXPECT_TRUE(has(refusal(""), "it is not a path"));
  std::filesystem::create_symlink("nowhere", folder.file("link"));
  EXPECT_TRUE(has(refusal(folder.file("link")), "No such file"));
  EXPECT_EQ(files_in(folder.path()), 1U);
}

}  // namespace
}  // namespace strata
