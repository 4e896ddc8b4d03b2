// plan_rows: the contiguous rows of a tensor, as one box where the row's address is affine, otherwise as a table of
// addresses.

#include <algorithm>
#include <utility>

#include "strata/loops/loop_plan.h"
#include "strata/view/int.h"
#include "strata/view/single.h"

namespace strata::detail {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 26;
constexpr std::int64_t kChunk = std::int64_t{1} << 15;  // the least number of elements worth a task

/// Checks the rows of a tensor of `shape`: the elements of the dimensions after `last`.
class RowCheck {
 public:
  RowCheck(const Index& shape, std::size_t last) : shape_(shape), outer_(last + 1), stride_(shape.size(), 0) {
    for (std::size_t j = shape.size(); j-- > outer_;) {
      stride_[j] = size_;
      size_ *= shape[j];
    }
  }
  std::int64_t size() const { return size_; }
  std::size_t outer() const { return outer_; }

  /// @throws Error (shape) unless the piece's rows are whole and in order.
  void check(const Piece& p) const {
    for (std::size_t j = outer_; j < shape_.size(); ++j) {
      STRATA_CHECK(p.extent[j] == shape_[j], shape, "[parallelLoops] dimension ", j, " of size ", shape_[j],
                   " is not one run: only [", p.lo[j], ", ", p.lo[j] + p.extent[j], ") is valid");
      check_stride(p, j);
    }
  }
  void check_stride(const Piece& p, std::size_t j) const {
    STRATA_CHECK(p.extent[j] <= 1 || p.slope[j] == stride_[j], shape, "[parallelLoops] dimension ", j,
                 " is not contiguous: its stride is ", p.slope[j], ", not ", stride_[j]);
  }
  /// The first dimension after `last` along which the piece does not cover everything.
  std::size_t cut(const Piece& p) const {
    std::size_t j = outer_;
    while (j + 1 < shape_.size() && p.extent[j] == shape_[j]) ++j;
    return j;
  }
  /// The address at which the row of the piece begins; -1 when that is not an address.
  std::int64_t row_start(const Piece& p) const {
    Int128 start = p.base;
    for (std::size_t j = outer_; j < shape_.size(); ++j) start -= static_cast<Int128>(stride_[j]) * p.lo[j];
    return start < 0 || start > kPosInf ? -1 : static_cast<std::int64_t>(start);
  }

 private:
  Index shape_;
  std::size_t outer_;
  Index stride_;
  std::int64_t size_ = 1;
};

/// Plans the rows of one piece as a box.
void plan_box(const Piece& p, std::size_t outer, RowPlan& out) {
  out.lo.append(p.lo.data(), outer);
  out.extent.append(p.extent.data(), outer);
  out.step.append(p.slope.data(), outer);
  out.base = p.base;
  out.rows = product(out.extent);
}

/// Calls f(row number, address) for each row that the piece covers in part or in whole.
template <class F>
void for_each_row(const Piece& p, const Index& shape, std::size_t outer, std::int64_t start, F&& f) {
  Index at(outer, 0);
  for (;;) {
    std::int64_t row = 0, address = start;
    for (std::size_t j = 0; j < outer; ++j) {
      row = row * shape[j] + p.lo[j] + at[j];
      address += p.slope[j] * at[j];
    }
    f(static_cast<std::size_t>(row), address);
    std::size_t j = outer;
    while (j > 0 && ++at[j - 1] == p.extent[j - 1]) at[--j] = 0;
    if (j == 0) return;
  }
}

/// Plans a table of rows, each of which several pieces may cover together.
void plan_table(const Piecewise& f, const Index& shape, const RowCheck& check, RowPlan& out) {
  out.lo = Index(check.outer(), 0);
  out.extent.append(shape.data(), check.outer());
  out.step = Index(check.outer(), 0);
  out.rows = product(out.extent);
  STRATA_CHECK(out.rows <= kMostRows, budget, "[parallelLoops] ", out.rows,
               " rows without a common stride are more than ", kMostRows);
  out.table.assign(static_cast<std::size_t>(out.rows), -1);
  std::vector<std::int64_t> covered(out.table.size(), 0);
  std::size_t cut = check.outer();
  Pieces pieces(f, kMostWork);
  Piece p;
  while (pieces.next(p)) {
    std::int64_t part = 1;
    for (std::size_t j = check.outer(); j < shape.size(); ++j) {
      check.check_stride(p, j);
      part *= p.extent[j];
    }
    if (part != check.size()) cut = check.cut(p);
    for_each_row(p, shape, check.outer(), check.row_start(p), [&](std::size_t row, std::int64_t address) {
      STRATA_CHECK(address >= 0 && (covered[row] == 0 || out.table[row] == address), shape,
                   "[parallelLoops] dimension ", cut, " is not contiguous: it jumps in row ", row);
      out.table[row] = address;
      covered[row] += part;
    });
  }
  STRATA_CHECK(pieces.complete(), budget, "[parallelLoops] the search for the rows takes too long");
  for (std::size_t row = 0; row < covered.size(); ++row)
    STRATA_CHECK(covered[row] == 0 || covered[row] == check.size(), shape, "[parallelLoops] dimension ", cut,
                 " of size ", shape[cut], " is not one run: row ", row, " is valid in part");
}

}  // namespace

RowPlan plan_rows(std::span<const Strided> views, std::int64_t last) {
  const Index& shape = views.back().shape;
  STRATA_CHECK(last >= 0 && std::cmp_less(last, shape.size()), shape, "[parallelLoops] there is no dimension ", last,
               " in shape ", render(shape));
  RowPlan out;
  for (const std::int64_t n : shape)
    if (n == 0) return out;
  const RowCheck check(shape, static_cast<std::size_t>(last));
  const Single one = single(views);
  out.row_size = check.size();
  if (one.found == Answer::yes) {
    Piece p{one.begin, one.end, one.stride, one.offset};
    for (std::size_t j = 0; j < shape.size(); ++j) p.extent[j] -= p.lo[j];
    if (volume(p) == 0) return out;
    for (std::size_t j = 0; j < shape.size(); ++j) p.base += p.slope[j] * p.lo[j];
    check.check(p);
    plan_box(p, check.outer(), out);
  } else {
    plan_table(piecewise(views), shape, check, out);
  }
  return out;
}

std::int64_t RowPlan::grain(std::int64_t threads) const {
  const std::int64_t worth = std::max<std::int64_t>(kChunk / std::max<std::int64_t>(row_size, 1), 1);
  const std::int64_t fair = std::max<std::int64_t>(rows / (threads * 8), 1);
  return threads <= 1 ? std::max<std::int64_t>(rows, 1) : std::max(worth, fair);
}

RowCursor::RowCursor(const RowPlan& plan, std::int64_t row)
    : plan_(plan), row_(row), at_(plan.lo), address_(plan.base) {
  std::int64_t rest = row;
  for (std::size_t j = at_.size(); j-- > 0;) {
    const std::int64_t digit = rest % plan.extent[j];
    rest /= plan.extent[j];
    at_[j] += digit;
    address_ += digit * plan.step[j];
  }
}

}  // namespace strata::detail
