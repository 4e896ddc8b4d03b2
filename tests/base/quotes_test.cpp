// Users' texts in messages: what is shown as it is, what by its bytes, where it is cut.
#include "strata/base/quotes.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "strata/affine/affine.h"
#include "strata/base/check.h"
#include "strata/expr/expr.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

using namespace std::string_view_literals;

static_assert(utf8_length("\xC3\xA9", 0) == 2 && utf8_length("\xC3", 0) == 0);
static_assert(character_at("a\xE2\x82\xACz", 1) == "\xE2\x82\xAC" && character_at("a", 1).empty());
static_assert(character_at("\xFFz", 0) == "\xFF");

TEST(InQuotes, ShowsWhatIsPrintable) {
  EXPECT_EQ(in_quotes("a b\\'"), "'a b\\''");
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "'\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80'");
  EXPECT_EQ(in_quotes("\xC2\xA0"), "'\xC2\xA0'");
}

TEST(InQuotes, ShowsTheRestByItsBytes) {
  EXPECT_EQ(in_quotes("a\0b"sv), "'a\\x00b'");
  EXPECT_EQ(in_quotes("\x1B[31m\x7F\n"), "'\\x1B[31m\\x7F\\x0A'");
  EXPECT_EQ(in_quotes("\xC2\x80\xC2\x9F"), "'\\xC2\\x80\\xC2\\x9F'") << "control characters";
  EXPECT_EQ(in_quotes("\xFF\xC3z\xC3"), "'\\xFF\\xC3z\\xC3'");
  EXPECT_EQ(in_quotes("\xED\xA0\x80"), "'\\xED\\xA0\\x80'") << "a surrogate";
  EXPECT_EQ(in_quotes("\xC0\x80"), "'\\xC0\\x80'") << "an overlong form";
}

TEST(InQuotes, IsCutBetweenCharacters) {
  const std::string x39(39, 'x');
  EXPECT_EQ(in_quotes(x39 + "x"), "'" + x39 + "x'");
  EXPECT_EQ(in_quotes(x39 + "xx"), "'" + x39 + "x...'");
  EXPECT_EQ(in_quotes(x39 + "\xC3\xA9"), "'" + x39 + "...'");
  EXPECT_EQ(in_quotes(x39 + "\xC3"), "'" + x39 + "\\xC3'");
}

TEST(InQuotes, NamesWithANulDoNotEndTheMessage) {
  EXPECT_EQ(complaint([] { Variable("a\0b"sv, 0, 1); }),
            "[variable] 'a\\x00b' is not a name: letters, digits and _, and no word of the grammar");
  AffinePrimitives primitives;
  EXPECT_EQ(complaint([&] { primitives["a\0b"sv]; }), "[affine] 'a\\x00b' is not a name");
}

}  // namespace
}  // namespace strata
