// The expressions of data/exprs.txt as postfix programs, so that no peer is charged for parsing text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata::bench {

struct Range {
  std::string name;
  std::int64_t min;
  std::int64_t max;
};

/// One step of a postfix program; its value goes to the slot with its own position.
struct Step {
  char op;                          // 'c' constant, 'v' variable, '+' '*', '/' floor division, '%' its modulus
  std::int64_t value;               // the constant, or the variable's position in `variables`
  std::size_t left = 0, right = 0;  // slots of the operands
};

struct Program {
  std::string name;
  std::string text;
  std::string ideal;  // a text, "affine" or "as is"
  std::vector<Range> variables;
  std::vector<Step> steps;  // the last one is the result

  std::size_t operations() const;  ///< steps that are neither constants nor variables
};

/// `text` over the given variables. @throws std::runtime_error on anything but + * // % ( ) names and numbers.
std::vector<Step> parse_steps(std::string_view text, const std::vector<Range>& variables);

/// Every row of the file. @throws std::runtime_error with the path when it cannot be read.
std::vector<Program> read_programs(const std::string& path);

/// The program's value at a point, in plain 64-bit arithmetic: the yardstick for every result.
std::int64_t run_program(const std::vector<Step>& steps, const std::vector<std::int64_t>& point);

/// How many floor divisions and modulos a rendered result still holds, in the notation of any of the peers.
int count_div_mod(std::string_view text);

}  // namespace strata::bench
