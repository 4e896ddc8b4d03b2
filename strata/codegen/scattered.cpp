// Transposed: the perfect shuffle. Let P columns of L lanes be an array of P * L elements, column by column, so that an
// element's position has the bits of its column in front of those of its lane. A step interleaves each vector of the
// first half with its counterpart in the second: the foremost bit of the positions moves to the end. After log2(P)
// steps the bits of the column are behind those of the lane: the array is the matrix row by row.

#include "strata/codegen/scattered.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>

#include "strata/base/sort_few.h"

namespace strata {

std::vector<std::vector<std::size_t>> runs_of(std::span<const ScatteredStore> stores, std::size_t most) {
  struct Entry {
    std::size_t store, group;
    std::int64_t offset;  // of the index from that of the group's first store
  };
  std::vector<Entry> entries;
  std::vector<std::size_t> firsts;  // of the groups: stores with the same condition, whose indices differ by numbers
  for (std::size_t k = 0; k < stores.size(); ++k) {
    std::optional<Entry> entry;
    for (std::size_t g = 0; g < firsts.size() && !entry; ++g) {
      const IndexExprs& first = stores[firsts[g]].at;
      if (!same(first.valid, stores[k].at.valid)) continue;
      const Expr apart = stores[k].at.index - first.index;
      if (apart.is_constant()) entry = Entry{k, g, apart.value()};
    }
    if (!entry) entry = Entry{k, firsts.size(), 0}, firsts.push_back(k);
    entries.push_back(*entry);
  }
  sort_few(entries, [](const Entry& a, const Entry& b) {
    return std::tuple(a.group, a.offset, a.store) < std::tuple(b.group, b.offset, b.store);
  });
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const bool goes_on = e > 0 && entries[e].group == entries[e - 1].group &&
                         entries[e].offset == entries[e - 1].offset + 1 && out.back().size() < most;
    if (!goes_on) out.emplace_back();
    out.back().push_back(entries[e].store);
  }
  return out;
}

bool Transposed::pays(std::span<const UOp> columns) {
  const int lanes = columns[0].dtype().lanes();
  return columns.size() >= 4 && lanes <= kMostTurned && std::has_single_bit(static_cast<unsigned>(lanes));
}

Transposed::Transposed(UOpGraph& graph, std::span<const UOp> columns)
    : graph_(graph),
      lanes_(static_cast<std::size_t>(columns[0].dtype().lanes())),
      width_(std::bit_ceil(columns.size())),
      rows_(columns.begin(), columns.end()) {
  const DType dtype = columns[0].dtype();
  rows_.resize(width_, columns[0]);  // whatever fills the array
  const auto part = [&](UOp v, std::size_t k) {
    return graph_.add(UOps::GEP, dtype.scalar(), {v}, static_cast<std::int64_t>(k));
  };
  for (std::size_t step = 1; step < width_; step *= 2) {
    std::vector<UOp> next;
    for (std::size_t k = 0; k < width_; ++k) {
      const UOp even = rows_[k / 2], odd = rows_[k / 2 + width_ / 2];
      std::vector<UOp> mixed;
      for (std::size_t j = 0; j < lanes_ / 2; ++j) {
        const std::size_t from = (k % 2) * lanes_ / 2 + j;
        mixed.push_back(part(even, from));
        mixed.push_back(part(odd, from));
      }
      next.push_back(graph_.add(UOps::VECTORIZE, dtype, mixed));
    }
    rows_ = std::move(next);
  }
}

UOp Transposed::lane(std::size_t flat) const {
  const UOp from = rows_[flat / lanes_];
  return graph_.add(UOps::GEP, from.dtype().scalar(), {from}, static_cast<std::int64_t>(flat % lanes_));
}

UOp Transposed::row(std::size_t lane_number, std::size_t first, std::size_t count) const {
  const std::size_t begin = lane_number * width_ + first;
  if (count == lanes_) return rows_[begin / lanes_];
  if (count == 1) return lane(begin);
  std::vector<UOp> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(lane(begin + k));
  return graph_.add(UOps::VECTORIZE, rows_[0].dtype().scalar().vec(static_cast<int>(count)), out);
}

}  // namespace strata
