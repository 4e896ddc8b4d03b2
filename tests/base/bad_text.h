// Texts that parsers have to refuse.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "tests/base/errors.h"

namespace strata {

struct BadText {
  std::string_view text;
  std::size_t column;
  std::string_view says;
  ErrorKind kind = ErrorKind::parse;
};

/// That `parse`, a function, refuses the text with the kind, the column and the words.
template <class F>
void expect_refused(const BadText& c, const F& parse) {
  SCOPED_TRACE(c.text);
  const Error e = error_of([&] { parse(c.text); });
  EXPECT_EQ(e.kind(), c.kind) << e.what();
  EXPECT_EQ(e.column(), c.column) << e.what();
  EXPECT_TRUE(has(e.what(), c.says));
}

}  // namespace strata
