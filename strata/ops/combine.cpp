// Several tensors in one: diagonal blocks, products and choices of elements, powers; and cuts along named axes.

#include <algorithm>
#include <vector>

#include "strata/ops/meet.h"
#include "strata/ops/indexed.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kMostChoices = std::int64_t{1} << 24;

void check_any(std::span<const Value> tensors, const char* operation) {
  STRATA_CHECK(!tensors.empty(), shape, "[", operation, "] there is no tensor");
}

/// Places of r of n in order, each below (or, with_replacement, at most) the next.
std::vector<std::int64_t> choices(std::int64_t n, std::int64_t r, bool with_replacement) {
  std::vector<std::int64_t> out, row(static_cast<std::size_t>(r));
  const std::int64_t step = with_replacement ? 0 : 1;
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<std::int64_t>(k) * step;
  if (n == 0 || (!with_replacement && r > n)) return out;
  double count = 1;
  for (std::int64_t k = 1; k <= r && count <= kMostChoices; ++k)
    count *= static_cast<double>(with_replacement ? n + k - 1 : n - r + k) / static_cast<double>(k);
  STRATA_CHECK(count * static_cast<double>(r) <= kMostChoices, budget, "[combinations] ", r, " of ",
               n, " elements are more than ", kMostChoices / r, " choices");
  const auto last_of = [&](std::size_t k) {
    return n - 1 - static_cast<std::int64_t>(row.size() - 1 - k) * step;
  };
  while (true) {
    out.insert(out.end(), row.begin(), row.end());
    std::size_t k = row.size();
    while (k > 0 && row[k - 1] == last_of(k - 1)) --k;
    if (k == 0) return out;
    ++row[k - 1];
    for (; k < row.size(); ++k) row[k] = row[k - 1] + step;
  }
}

/// The axis of hsplit() and its relatives; parts have to be equal where a count is given.
std::int64_t cut_axis(const char* operation, const Value& x, std::int64_t least, std::int64_t axis,
                      std::int64_t count) {
  STRATA_CHECK(x.ndim() >= least, shape, "[", operation, "] of shape ", render(x.shape()), ": ",
               least, least == 1 ? " dimension is needed" : " dimensions at least are needed");
  const std::int64_t n = number_of(x.size(axis), operation);
  STRATA_CHECK(count > 0 && n % count == 0, shape, "[", operation, "] axis ", axis, " of size ", n,
               " into ", count, " equal parts");
  return axis;
}
std::int64_t horizontal(const Value& x) { return x.ndim() < 2 ? 0 : 1; }

}  // namespace

std::vector<Value> Value::broadcast_tensors(std::span<const Value> tensors) {
  std::vector<Ints> shapes;
  for (const Value& x : tensors) shapes.push_back(x.shape());
  const Ints to = tensors.empty() ? Ints{} : broadcast_shape("broadcast_tensors", shapes);
  std::vector<Value> out;
  for (const Value& x : tensors) out.push_back(x.broadcast_to(to));
  return out;
}

Value Value::block_diag(std::span<const Value> tensors) {
  check_any(tensors, "block_diag");
  std::vector<Value> blocks, rows;
  Int columns = 0, begin = 0;
  for (const Value& x : tensors) {
    STRATA_CHECK(x.ndim() <= 2, shape, "[block_diag] of shape ", render(x.shape()),
                 ": two dimensions at most are meant");
    blocks.push_back(x.atleast_2d());
    columns += blocks.back().size(1);
  }
  for (const Value& x : blocks) {
    const Int end = begin + x.size(1);
    rows.push_back(x.pad({{0, 0}, {begin, columns - end}}));
    begin = end;
  }
  return cat(rows, 0);
}

Value Value::cartesian_prod(std::span<const Value> tensors) {
  check_any(tensors, "cartesian_prod");
  for (const Value& x : tensors)
    STRATA_CHECK(x.ndim() == 1, shape, "[cartesian_prod] of shape ", render(x.shape()),
                 ", where one dimension is expected");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Value> columns;
  for (const Value& grid : meshgrid(tensors)) columns.push_back(grid.flatten());
  return stack(columns, 1);
}

Value Value::combinations(std::int64_t r, bool with_replacement) const {
  STRATA_CHECK(ndim() == 1, shape, "[combinations] of shape ", render(shape()),
               ", where one dimension is expected");
  STRATA_CHECK(r >= 0 && r <= kMostChoices, domain, "[combinations] of ", r, " elements");
  if (r == 0) return narrow(0, 0, 0);
  const std::vector<std::int64_t> places =
      choices(number_of(size(0), "combinations"), r, with_replacement);
  const std::int64_t count = std::ssize(places) / r;
  return take(from(places, {count, r}));
}

Value Value::vander(std::optional<std::int64_t> columns, bool increasing) const {
  STRATA_CHECK(ndim() == 1, shape, "[vander] of shape ", render(shape()),
               ", where one dimension is expected");
  const std::int64_t n = columns ? *columns : number_of(size(0), "vander");
  STRATA_CHECK(n >= 0, domain, "[vander] of ", n, " columns");
  const Value x = as_summable(*this);
  if (n == 0) return x.unsqueeze(1).narrow(1, 0, 0);
  std::vector<Value> powers = {x.ones_like()};
  while (std::ssize(powers) < n) powers.push_back(powers.size() == 1 ? x : powers.back() * x);
  if (!increasing) std::reverse(powers.begin(), powers.end());
  return stack(powers, 1);
}

std::vector<Value> Value::hsplit(std::int64_t count) const {
  STRATA_CHECK(ndim() > 0, shape, "[hsplit] of a scalar");
  return tensor_split(count, cut_axis("hsplit", *this, 1, horizontal(*this), count));
}
std::vector<Value> Value::vsplit(std::int64_t count) const {
  return tensor_split(count, cut_axis("vsplit", *this, 2, 0, count));
}
std::vector<Value> Value::dsplit(std::int64_t count) const {
  return tensor_split(count, cut_axis("dsplit", *this, 3, 2, count));
}
std::vector<Value> Value::hsplit(std::span<const std::int64_t> indices) const {
  STRATA_CHECK(ndim() > 0, shape, "[hsplit] of a scalar");
  return tensor_split(indices, cut_axis("hsplit", *this, 1, horizontal(*this), 1));
}
std::vector<Value> Value::vsplit(std::span<const std::int64_t> indices) const {
  return tensor_split(indices, cut_axis("vsplit", *this, 2, 0, 1));
}
std::vector<Value> Value::dsplit(std::span<const std::int64_t> indices) const {
  return tensor_split(indices, cut_axis("dsplit", *this, 3, 2, 1));
}

}  // namespace strata::ops
