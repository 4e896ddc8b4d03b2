// `strata cache` on folders of its own: what is listed, verified, deleted, refused.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/files.h"
#include "tests/tools/command_line.h"

namespace strata::tools {
namespace {

/// A folder with two entries, which the flags name.
class CacheCommand : public ::testing::Test {
 protected:
  CacheCommand() : folder_(top_.file("cache")), flag_(flags::CACHE_DIR, folder_) {
    DiskCache cache(folder_, 1 << 20);
    for (const Hash128& key : keys_) cache.put(key, std::vector<std::byte>(100));
  }
  std::string file(const Hash128& key) const { return folder_ + "/" + key.text(); }

  PrivateFolder top_;
  std::string folder_;
  ScopedFlag<std::string> flag_;
  const std::vector<Hash128> keys_{cache_key({"a"}), cache_key({"b"})};
};

TEST_F(CacheCommand, ListsWhatIsThere) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"cache"}, {"cache", "list"}}) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    for (const std::string& text :
         {folder_, std::string("2 entries, 312 bytes of 256 MiB"), std::string("oldest"), std::string("newest")})
      EXPECT_TRUE(has(r.out, text)) << r.out << " lacks " << text;
  }
  const Output json = run({"cache", "--json"});
  JsonDocument document;
  document.read(json.out);
  EXPECT_EQ(document.salvage("entries"), "2");
  EXPECT_EQ(document.salvage("bytes"), "312");
  EXPECT_EQ(document.salvage("limit"), "268435456");
  EXPECT_EQ(document.salvage("usable"), "true");
  EXPECT_EQ(run({"cache", "path"}).out, folder_ + "\n");
  EXPECT_EQ(run({"cache", "path", "--json"}).out, "{\"folder\":\"" + folder_ + "\"}\n");
}

TEST_F(CacheCommand, AnEmptyOneHasNoTimes) {
  run({"cache", "clear"});
  EXPECT_TRUE(has(run({"cache"}).out, "0 entries, 0 bytes of"));
  EXPECT_TRUE(has(run({"cache", "--json"}).out, R"("oldest":null,"newest":null)"));
}

TEST_F(CacheCommand, CheckFindsDamageAndLeavesIt) {
  EXPECT_EQ(run({"cache", "check"}).status, 0);
  EXPECT_TRUE(has(run({"cache", "check"}).out, "2 entries are whole"));
  write_file(file(keys_[0]), "damage");
  const Output r = run({"cache", "check"});
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(has(r.out, "1 of 2 entries damaged")) << r.out;
  EXPECT_TRUE(has(r.out, keys_[0].text())) << r.out;
  const Output json = run({"cache", "check", "--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_TRUE(has(json.out, "\"damaged\":[\"" + keys_[0].text() + "\"]")) << json.out;
  EXPECT_TRUE(std::filesystem::exists(file(keys_[0])));
}

TEST_F(CacheCommand, ClearDeletesEntriesAlone) {
  write_file(folder_ + "/notes", "mine");
  EXPECT_TRUE(has(run({"cache", "clear", "--json"}).out, R"("deleted":2)"));
  EXPECT_TRUE(has(run({"cache", "clear"}).out, "0 files"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/notes"));
}

TEST_F(CacheCommand, AFolderThatOthersWriteToIsRefused) {
  chmod(folder_.c_str(), 0777);
  const Output listed = run({"cache"});
  EXPECT_EQ(listed.status, 1);
  EXPECT_TRUE(has(listed.out, "cannot be used: users other than the owner may write to it")) << listed.out;
  EXPECT_TRUE(has(run({"cache", "--json"}).out, R"("usable":false)"));
  for (const std::string action : {"check", "clear"}) {
    const Output r = run({"cache", action});
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r.err, "cannot be used")) << r.err;
  }
  EXPECT_EQ(run({"cache", "path"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(file(keys_[0])));
}

TEST_F(CacheCommand, OtherActionsAreUsageErrors) {
  const Output r = run({"cache", "empty"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(has(r.err, "'empty' is not one of list|path|check|clear")) << r.err;
}

}  // namespace
}  // namespace strata::tools
