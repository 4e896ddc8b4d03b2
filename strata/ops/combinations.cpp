// Combinations of elements: Cartesian products, r-element choices, powers of a vector (vander).

#include <algorithm>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kMostChoices = std::int64_t{1} << 24;

/// All choices of r of n indices in lexicographic order, row after row. In each row the indices ascend;
/// with_replacement they may repeat.
std::vector<std::int64_t> choices(std::int64_t n, std::int64_t r, bool with_replacement) {
  std::vector<std::int64_t> out, row(static_cast<std::size_t>(r));
  const std::int64_t step = with_replacement ? 0 : 1;
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<std::int64_t>(k) * step;
  if (n == 0 || (!with_replacement && r > n)) return out;
  double count = 1;
  for (std::int64_t k = 1; k <= r && count <= kMostChoices; ++k)
    count *= static_cast<double>(with_replacement ? n + k - 1 : n - r + k) / static_cast<double>(k);
  STRATA_CHECK(count * static_cast<double>(r) <= kMostChoices, budget, "[combinations] ", r, " of ", n,
               " elements give more than ", kMostChoices / r, " choices");
  const auto last_of = [&](std::size_t k) { return n - 1 - static_cast<std::int64_t>(row.size() - 1 - k) * step; };
  while (true) {
    out.insert(out.end(), row.begin(), row.end());
    std::size_t k = row.size();
    while (k > 0 && row[k - 1] == last_of(k - 1)) --k;
    if (k == 0) return out;
    ++row[k - 1];
    for (; k < row.size(); ++k) row[k] = row[k - 1] + step;
  }
}

}  // namespace

Value Value::cartesian_prod(std::span<const Value> tensors) {
  STRATA_CHECK(!tensors.empty(), shape, "[cartesian_prod] there is no tensor");
  for (const Value& x : tensors)
    STRATA_CHECK(x.ndim() == 1, shape, "[cartesian_prod] a tensor has shape ", render(x.shape()),
                 "; one dimension is expected");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Value> columns;
  for (const Value& grid : meshgrid(tensors)) columns.push_back(grid.flatten());
  return stack(columns, 1);
}

Value Value::combinations(std::int64_t r, bool with_replacement) const {
  STRATA_CHECK(ndim() == 1, shape, "[combinations] the tensor has shape ", render(shape()),
               "; one dimension is expected");
  STRATA_CHECK(r >= 0 && r <= kMostChoices, domain, "[combinations] a choice has ", r, " elements; 0 to ", kMostChoices,
               " are expected");
  if (r == 0) return narrow(0, 0, 0);
  const std::vector<std::int64_t> places = choices(number_of(size(0), "combinations"), r, with_replacement);
  const std::int64_t count = std::ssize(places) / r;
  return take(from(places, {count, r}));
}

Value Value::vander(std::optional<std::int64_t> columns, bool increasing) const {
  STRATA_CHECK(ndim() == 1, shape, "[vander] the tensor has shape ", render(shape()), "; one dimension is expected");
  const std::int64_t n = columns ? *columns : number_of(size(0), "vander");
  STRATA_CHECK(n >= 0, domain, "[vander] the number of columns is ", n, "; 0 or more is expected");
  const Value x = as_summable(*this);
  if (n == 0) return x.unsqueeze(1).narrow(1, 0, 0);
  std::vector<Value> powers = {x.ones_like()};
  while (std::ssize(powers) < n) powers.push_back(powers.size() == 1 ? x : powers.back() * x);
  if (!increasing) std::reverse(powers.begin(), powers.end());
  return stack(powers, 1);
}

}  // namespace strata::ops
