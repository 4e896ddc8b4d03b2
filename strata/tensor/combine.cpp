// Several tensors in one: diagonal blocks, products and choices of elements, powers; and cuts along named axes.

#include <algorithm>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata {

namespace {

constexpr std::int64_t kMostChoices = std::int64_t{1} << 24;

void check_any(std::span<const Tensor> tensors, const char* operation) {
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
std::int64_t cut_axis(const char* operation, const Tensor& x, std::int64_t least, std::int64_t axis,
                      std::int64_t count) {
  STRATA_CHECK(x.ndim() >= least, shape, "[", operation, "] of shape ", render(x.shape()), ": ",
               least, least == 1 ? " dimension is needed" : " dimensions at least are needed");
  const std::int64_t n = number_of(x.size(axis), operation);
  STRATA_CHECK(count > 0 && n % count == 0, shape, "[", operation, "] axis ", axis, " of size ", n,
               " into ", count, " equal parts");
  return axis;
}
std::int64_t horizontal(const Tensor& x) { return x.ndim() < 2 ? 0 : 1; }

}  // namespace

std::vector<Tensor> Tensor::broadcast_tensors(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("broadcast_tensors", at);
  std::vector<Ints> shapes;
  for (const Tensor& x : tensors) shapes.push_back(x.shape());
  const Ints to = tensors.empty() ? Ints{} : broadcast_shape("broadcast_tensors", shapes);
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(x.broadcast_to(to));
  return out;
}

Tensor Tensor::block_diag(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("block_diag", at);
  check_any(tensors, "block_diag");
  std::vector<Tensor> blocks, rows;
  Int columns = 0, begin = 0;
  for (const Tensor& x : tensors) {
    STRATA_CHECK(x.ndim() <= 2, shape, "[block_diag] of shape ", render(x.shape()),
                 ": two dimensions at most are meant");
    blocks.push_back(x.atleast_2d());
    columns += blocks.back().size(1);
  }
  for (const Tensor& x : blocks) {
    const Int end = begin + x.size(1);
    rows.push_back(x.pad({{0, 0}, {begin, columns - end}}));
    begin = end;
  }
  return cat(rows, 0);
}

Tensor Tensor::cartesian_prod(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("cartesian_prod", at);
  check_any(tensors, "cartesian_prod");
  for (const Tensor& x : tensors)
    STRATA_CHECK(x.ndim() == 1, shape, "[cartesian_prod] of shape ", render(x.shape()),
                 ", where one dimension is expected");
  if (tensors.size() == 1) return own(tensors[0]);
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors)) columns.push_back(grid.flatten());
  return stack(columns, 1);
}

Tensor Tensor::combinations(std::int64_t r, bool with_replacement, At at) const {
  const OriginScope scope("combinations", at);
  STRATA_CHECK(ndim() == 1, shape, "[combinations] of shape ", render(shape()),
               ", where one dimension is expected");
  STRATA_CHECK(r >= 0 && r <= kMostChoices, domain, "[combinations] of ", r, " elements");
  if (r == 0) return narrow(0, 0, 0);
  const std::vector<std::int64_t> places =
      choices(number_of(size(0), "combinations"), r, with_replacement);
  const std::int64_t count = std::ssize(places) / r;
  return take(from(places, {count, r}).to(device()));
}

Tensor Tensor::vander(std::optional<std::int64_t> columns, bool increasing, At at) const {
  const OriginScope scope("vander", at);
  STRATA_CHECK(ndim() == 1, shape, "[vander] of shape ", render(shape()),
               ", where one dimension is expected");
  const std::int64_t n = columns ? *columns : number_of(size(0), "vander");
  STRATA_CHECK(n >= 0, domain, "[vander] of ", n, " columns");
  const Tensor x = as_summable(*this);
  if (n == 0) return x.unsqueeze(1).narrow(1, 0, 0);
  std::vector<Tensor> powers = {x.ones_like()};
  while (std::ssize(powers) < n) powers.push_back(powers.size() == 1 ? x : powers.back() * x);
  if (!increasing) std::reverse(powers.begin(), powers.end());
  return stack(powers, 1);
}

std::vector<Tensor> Tensor::hsplit(std::int64_t count, At at) const {
  const OriginScope scope("hsplit", at);
  STRATA_CHECK(ndim() > 0, shape, "[hsplit] of a scalar");
  return tensor_split(count, cut_axis("hsplit", *this, 1, horizontal(*this), count));
}
std::vector<Tensor> Tensor::vsplit(std::int64_t count, At at) const {
  const OriginScope scope("vsplit", at);
  return tensor_split(count, cut_axis("vsplit", *this, 2, 0, count));
}
std::vector<Tensor> Tensor::dsplit(std::int64_t count, At at) const {
  const OriginScope scope("dsplit", at);
  return tensor_split(count, cut_axis("dsplit", *this, 3, 2, count));
}
std::vector<Tensor> Tensor::hsplit(std::span<const std::int64_t> indices, At at) const {
  const OriginScope scope("hsplit", at);
  STRATA_CHECK(ndim() > 0, shape, "[hsplit] of a scalar");
  return tensor_split(indices, cut_axis("hsplit", *this, 1, horizontal(*this), 1));
}
std::vector<Tensor> Tensor::vsplit(std::span<const std::int64_t> indices, At at) const {
  const OriginScope scope("vsplit", at);
  return tensor_split(indices, cut_axis("vsplit", *this, 2, 0, 1));
}
std::vector<Tensor> Tensor::dsplit(std::span<const std::int64_t> indices, At at) const {
  const OriginScope scope("dsplit", at);
  return tensor_split(indices, cut_axis("dsplit", *this, 3, 2, 1));
}

}  // namespace strata
