// `strata` run inside of a test.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/base/errors.h"
#include "tools/cli.h"

namespace strata::tools {

struct Output {
  int status;
  std::string out;
  std::string err;
};

inline Output run(const std::vector<std::string>& words, bool colour = false) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err, colour, colour};
  const int status = run_program(words, console);
  return {status, out.str(), err.str()};
}

/// The words of a line of a shell, with single quotes.
inline std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace strata::tools
