// rows.def as a table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "strata/tensor/tensor.h"
#include "tests/accuracy/reference.h"

namespace strata::test {

struct Row {
  std::string_view name;
  Tensor (*of_one)(const Tensor&);
  Real (*true_value)(Real);
  Tensor (*of_two)(const Tensor&, const Tensor&);
  Real (*of_two_true)(Real, Real);
  double f32, f64;
  Real (*absolute)(Real x);
  std::string_view absolute_text;
  std::vector<double> switches;
  double least;  ///< no argument below is tried: the reflection loses more there
};

std::span<const Row> rows();
/// Names of unary and binary rows of operations.def.
std::span<const std::string_view> functions_of_tensors();
/// Whether another test says what this function gives.
bool is_elsewhere(std::string_view name);

}  // namespace strata::test
