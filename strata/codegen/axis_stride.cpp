#include "strata/codegen/axis_stride.h"

#include <algorithm>

#include "strata/codegen/thread_opts.h"

namespace strata {

namespace {

/// The value of a stride that depends on symbolic sizes alone, each at its assumed value. Nothing is as near as it may
/// be: neighbours along the axis count as far apart.
std::int64_t assumed(const Expr& stride) {
  Substitution sizes;
  for (const Variable& v : variables(stride)) sizes.emplace_back(v, std::clamp(kUnknownSize, v.vmin(), v.vmax()));
  const Expr value = substitute(stride, sizes);
  return std::max(value.is_constant() ? value.value() : 0, AxisStride::kFarStride);
}

}  // namespace

std::vector<AxisStride> strides_of(const Access& a, std::span<const std::pair<Variable, std::size_t>> counters,
                                   std::size_t axes) {
  std::vector<AxisStride> out(axes);
  const auto has = [](const std::vector<Variable>& some, const Variable& v) {
    return std::any_of(some.begin(), some.end(), [&](const Variable& u) { return same(u, v); });
  };
  const std::vector<Variable> in_condition = variables(a.valid);
  for (const auto& [v, axis] : counters) {
    const Expr moved = substitute(a.index, {{v, v + 1}}) - a.index;
    const bool is_guarded = has(in_condition, v);
    if (same(moved, Expr(0)) && !is_guarded) continue;  // the axis may have other counters, in other nests
    const std::vector<Variable> in_stride = variables(moved);
    const bool is_linear = std::none_of(counters.begin(), counters.end(),
                                        [&](const auto& counter) { return has(in_stride, counter.first); });
    const bool is_known = moved.is_constant();
    out[axis] = {is_linear, is_known ? moved.value() : is_linear ? assumed(moved) : 0, is_guarded, is_known};
  }
  return out;
}

}  // namespace strata
