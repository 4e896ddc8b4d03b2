// Flags: environment, defaults, malformed values, scoped overrides, threads.
#include "strata/base/flags.h"

#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strata/base/check.h"

namespace strata {
namespace {

TEST(Flags, DefaultWithoutEnvironment) {
  Flag<std::int64_t> flag("TEST_ABSENT", "Int", 3, "help");
  EXPECT_EQ(flag.get(), 3);
  EXPECT_EQ(flag.environment_name(), "STRATA_TEST_ABSENT");
  EXPECT_EQ(flag.default_text(), "3");
}

TEST(Flags, EnvironmentIsReadOnceOnFirstUse) {
  Flag<std::int64_t> number("TEST_NUMBER", "Int", 3, "help");
  Flag<bool> truth("TEST_TRUTH", "Bool", false, "help");
  Flag<std::string> text("TEST_TEXT", "Text", "none", "help");
  setenv("STRATA_TEST_NUMBER", "-7", 1);
  setenv("STRATA_TEST_TRUTH", "on", 1);
  setenv("STRATA_TEST_TEXT", "a b", 1);
  EXPECT_EQ(number.get(), -7);
  EXPECT_TRUE(truth.get());
  EXPECT_EQ(text.get(), "a b");
  setenv("STRATA_TEST_NUMBER", "8", 1);
  EXPECT_EQ(number.get(), -7);
}

TEST(Flags, MalformedValueNamesTheVariableEveryTime) {
  setenv("STRATA_TEST_BAD", "12x", 1);
  Flag<std::int64_t> flag("TEST_BAD", "Int", 0, "help");
  for (int turn = 0; turn < 2; ++turn) {
    try {
      flag.get();
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::domain);
      EXPECT_NE(std::string(e.what()).find("STRATA_TEST_BAD='12x'"), std::string::npos) << e.what();
    }
  }
  setenv("STRATA_TEST_BAD_BOOL", "maybe", 1);
  Flag<bool> truth("TEST_BAD_BOOL", "Bool", true, "help");
  EXPECT_THROW(truth.get(), Error);
}

TEST(Flags, OverrideEndsWithItsScope) {
  Flag<std::int64_t> flag("TEST_SCOPE", "Int", 1, "help");
  {
    ScopedFlag outer(flag, 5);
    EXPECT_EQ(flag.get(), 5);
    {
      ScopedFlag inner(flag, 6);
      EXPECT_EQ(flag.get(), 6);
    }
    EXPECT_EQ(flag.get(), 5);
  }
  EXPECT_EQ(flag.get(), 1);
}

TEST(Flags, OverridesFromManyThreads) {
  Flag<std::string> flag("TEST_THREADS", "Text", "quiet", "help");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&flag] {
      for (int turn = 0; turn < 200; ++turn) {
        ScopedFlag change(flag, std::string("loud"));
        const std::string seen = flag.get();
        EXPECT_TRUE(seen == "loud" || seen == "quiet");
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Flags, TableListsEveryFlag) {
  bool found = false;
  for (const FlagBase* flag : flags::all()) {
    EXPECT_FALSE(flag->help().empty());
    found |= flag->name() == "DEBUG";
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace strata
