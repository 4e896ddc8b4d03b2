#include "strata/codegen/rows.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/sort_few.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

using AxisBits = std::uint64_t;
constexpr std::size_t kMostAxisBits = 64;

bool has(AxisBits axes, std::size_t a) { return (axes >> a & 1) != 0; }

/// For each reduction, the output axes on which it depends.
std::vector<AxisBits> rows_of_reductions(const UOpGraph& plain, std::size_t outputs,
                                         std::span<const std::pair<Variable, std::size_t>> counters) {
  std::vector<AxisBits> out, depends(plain.size());
  std::size_t loops = 0;
  for (const UOp u : plain) {
    AxisBits& of = depends[u.num()];
    for (const UOp s : u.src()) of |= depends[s.num()];
    if (u.op() == UOps::LOOP) {
      const std::string name = detail::message("ridx", loops++);
      for (const auto& [v, axis] : counters)
        if (v.name() == name) of |= AxisBits{1} << axis;
    }
    if (u.op() != UOps::REDUCE) continue;
    for (const UOp loop : u.reduced_loops()) of &= ~depends[loop.num()];
    out.push_back(of & ((AxisBits{1} << outputs) - 1));
  }
  return out;
}

/// True iff a loop on which the row does not depend is around a loop on which it depends.
bool is_inside(AxisBits row, AxisBits loops, const std::vector<std::size_t>& order) {
  bool some_around = false;
  for (const std::size_t a : order) {
    if (some_around && has(row, a)) return true;
    some_around = some_around || (has(loops, a) && !has(row, a));
  }
  return false;
}

}  // namespace

std::optional<Opt> rows_outside(const UOpGraph& plain, const KernelAxes& axes,
                                std::span<const std::pair<Variable, std::size_t>> counters) {
  if (axes.groups().empty() || axes.axes().size() >= kMostAxisBits) return std::nullopt;
  const std::vector<AxisBits> rows = rows_of_reductions(plain, axes.outputs(), counters);
  AxisBits loops = 0;
  for (const auto& [v, axis] : counters) loops |= AxisBits{1} << axis;
  if (std::none_of(rows.begin(), rows.end(), [&](AxisBits row) { return is_inside(row, loops, axes.order()); }))
    return std::nullopt;
  Opt out{Opt::Kind::REORDER, 0, 0, 0, axes.order()};
  const auto users = [&](std::size_t a) {
    return std::count_if(rows.begin(), rows.end(), [&](AxisBits row) { return has(row, a); });
  };
  const auto place = [&](std::size_t a) {
    return std::find(axes.order().begin(), axes.order().end(), a) - axes.order().begin();
  };
  sort_few(out.order, [&](std::size_t a, std::size_t b) {
    return users(a) != users(b) ? users(a) > users(b) : place(a) < place(b);
  });
  if (out.order == axes.order()) return std::nullopt;
  return out;
}

std::int64_t lanes_along_row(std::int64_t row, std::int64_t lanes) {
  const auto steps = [&](std::int64_t n) { return row / n + row % n; };
  std::int64_t best = lanes;
  for (std::int64_t n = lanes / 2; n >= kSumLanes; n /= 2)
    if (steps(n) < steps(best)) best = n;
  return best;
}

}  // namespace strata
