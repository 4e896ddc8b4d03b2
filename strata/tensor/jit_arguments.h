// The arguments of a call of a captured function (jit.h). Internal to tensor/.
#pragma once

#include <span>

#include "strata/base/check.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/jit_run.h"

namespace strata {

struct Jit::Arguments {
  std::span<const Tensor> tensors;
  std::span<const Expr> integers;
  Values values = {};  ///< of the variables in the shapes of the tensors, then of those of the integers

  /// @throws Error (domain) where a variable has no value, or two
  Arguments(std::span<const Tensor> of_tensors, std::span<const Expr> of_integers)
      : tensors(of_tensors), integers(of_integers) {
    for (const Tensor& x : tensors)
      if (!jit_watching::is_known(x.shape())) jit_watching::unbound(x.shape(), values);
    for (const Expr& e : integers) add_values_of(e);
    if (integers.empty()) return;
    for (std::size_t k = 1; k < values.size(); ++k)
      for (std::size_t j = 0; j < k; ++j)
        STRATA_CHECK(values[j].first.name() != values[k].first.name() || values[j].second == values[k].second, domain,
                     "[jit] the variable ", values[k].first.name(), " has two values in one call, ", values[j].second,
                     " and ", values[k].second);
  }

 private:
  void add_values_of(const Expr& e) {
    for (const Variable& v : variables(e))
      STRATA_CHECK(v.bound_value(), domain, "[jit] the variable ", v.name(), " of the argument ", e.render(),
                   " has no value: bind() gives it one");
    const auto [plain, bound] = unbind(e);
    values.insert(values.end(), bound.begin(), bound.end());
  }
};

}  // namespace strata
