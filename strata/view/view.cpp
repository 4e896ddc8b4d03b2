// View: checks, the canonical form, and questions about one View (or two).

#include "strata/view/view.h"

#include <algorithm>
#include <array>

#include "strata/view/merge.h"
#include "strata/view/size_ops.h"

namespace strata {
namespace {

void check_mask(const Ints& shape, const Mask& mask) {
  STRATA_CHECK(mask.size() == shape.size(), shape, "[view] ", mask.size(), " mask pairs for shape ", render(shape),
               " of ", shape.size(), " dimensions");
  for (std::size_t j = 0; j < shape.size(); ++j) {
    const auto& [begin, end] = mask[j];
    STRATA_CHECK(!surely_less(begin, 0) && !surely_less(end, begin) && !surely_less(shape[j], end), shape,
                 "[view] dimension ", j, ": mask (", begin.render(), ", ", end.render(), ") is not inside (0, ",
                 shape[j].render(), ")");
  }
}

struct Range {
  std::int64_t lo, hi;
};

// The least and the largest value of stride * index.
Range reach(const Int& stride, const Range& index) {
  const std::array corners{sat_mul(stride.vmin(), index.lo), sat_mul(stride.vmin(), index.hi),
                           sat_mul(stride.vmax(), index.lo), sat_mul(stride.vmax(), index.hi)};
  const auto [lo, hi] = std::minmax_element(corners.begin(), corners.end());
  return {*lo, *hi};
}

// Do all addresses fit in 64 bits for every value of the variables? Decided from bounds.
bool symbolic_addresses_fit(const Ints& shape, const Ints& strides, const Int& offset,
                            const std::optional<Mask>& mask) {
  Range total{offset.vmin(), offset.vmax()};
  for (std::size_t j = 0; j < shape.size(); ++j) {
    Range index{0, std::max<std::int64_t>(shape[j].vmax() - 1, 0)};
    if (mask) {
      index.lo = std::clamp<std::int64_t>((*mask)[j].begin.vmin(), 0, index.hi);
      index.hi = std::clamp<std::int64_t>((*mask)[j].end.vmax() - 1, index.lo, index.hi);
    }
    const Range r = reach(strides[j], index);
    if (is_inf(total.lo) || is_inf(total.hi) || is_inf(r.lo) || is_inf(r.hi)) return false;
    total = {sat_add(total.lo, r.lo), sat_add(total.hi, r.hi)};
  }
  return !is_inf(total.lo) && !is_inf(total.hi);
}

// @pre `mask` lies inside `shape`, whose product fits in 64 bits; therefore the sums below fit in 128 bits
bool addresses_fit(const Index& shape, const Index& strides, std::int64_t offset, const std::optional<Mask>& mask) {
  Int128 lo = offset, hi = offset;
  for (std::size_t j = 0; j < shape.size(); ++j) {
    const std::int64_t begin = mask ? (*mask)[j].begin.value() : 0;
    const std::int64_t end = mask ? (*mask)[j].end.value() : shape[j];
    if (begin >= end) return true;  // no index is valid
    const Int128 first = static_cast<Int128>(strides[j]) * begin;
    const Int128 last = static_cast<Int128>(strides[j]) * (end - 1);
    lo += std::min(first, last);
    hi += std::max(first, last);
  }
  return lo >= kNegInf && hi <= kPosInf;
}

bool is_number_mask(const std::optional<Mask>& mask) {
  return !mask || std::all_of(mask->begin(), mask->end(),
                              [](const Extent& e) { return e.begin.is_number() && e.end.is_number(); });
}

void check_addresses(const Ints& shape, const Ints& strides, const Int& offset, const std::optional<Mask>& mask) {
  const std::optional<Index> sizes = numbers(shape), steps = numbers(strides);
  const bool concrete = sizes && steps && offset.is_number() && is_number_mask(mask);
  const bool fit = concrete ? addresses_fit(*sizes, *steps, offset.value(), mask)
                            : symbolic_addresses_fit(shape, strides, offset, mask);
  STRATA_CHECK(fit, overflow, "[view] the addresses of shape ", render(shape), " with strides ", render(strides),
               " and offset ", offset.render(), " leave 64 bits");
}

bool is_row_major(const Ints& shape, const Ints& strides) {
  Int expected = 1;
  for (std::size_t j = shape.size(); j-- > 0;) {
    if (shape[j].vmax() <= 1) continue;  // its stride is 0
    if (!(strides[j] == expected)) return false;
    if (j != 0) expected *= shape[j];
  }
  return true;
}

}  // namespace

View View::create(Ints shape, std::optional<Ints> strides, Int offset, std::optional<Mask> mask) {
  check_sizes("view", shape);
  STRATA_CHECK(!strides || strides->size() == shape.size(), shape, "[view] ", strides->size(), " strides for shape ",
               strata::render(shape), " of ", shape.size(), " dimensions");
  if (mask) check_mask(shape, *mask);
  View v;
  v.shape_ = std::move(shape);
  v.become_row_major();
  const bool plain = !strides && offset == Int(0);
  if (plain && !mask) return v;
  if (strides) v.strides_ = *std::move(strides);
  v.offset_ = std::move(offset);
  v.mask_ = std::move(mask);
  if (!plain && !has_no_index(v.shape_)) check_addresses(v.shape_, v.strides_, v.offset_, v.mask_);
  v.canonicalize("view");
  return v;
}

View View::row_major(const Ints& shape) {
  View v;
  v.shape_ = shape;
  v.become_row_major();
  return v;
}

void View::become_row_major() {
  contiguous_ = true;
  strides_.resize(rank(), 0);
  if (has_no_index(shape_)) return;
  Int place = 1;
  for (std::size_t j = rank(); j-- > 0;) {
    if (shape_[j].vmax() <= 1) continue;
    strides_[j] = place;
    if (j != 0) place *= shape_[j];
  }
}

View View::of(const Single& single, const Ints& shape) {
  View v;
  v.shape_ = shape;
  if (has_no_index(shape)) {
    v.become_nowhere();
    return v;
  }
  bool whole = true;
  for (std::size_t j = 0; j < shape.size(); ++j) {
    v.strides_.push_back(single.stride[j]);
    whole = whole && single.begin[j] == 0 && shape[j] == Int(single.end[j]);
  }
  v.offset_ = single.offset;
  if (!whole) v.mask_.emplace();
  for (std::size_t j = 0; j < shape.size() && !whole; ++j) v.mask_->push_back({single.begin[j], single.end[j]});
  v.decide_contiguous();
  return v;
}

void View::become_nowhere() {
  strides_.clear();
  strides_.resize(rank(), 0);
  offset_ = 0;
  mask_.reset();
  contiguous_ = has_no_index(shape_);
  if (!contiguous_) mask_.emplace(rank(), Extent{0, 0});
}

void View::canonicalize(std::string_view operation) {
  if (has_no_index(shape_)) return become_nowhere();
  for (std::size_t j = 0; j < rank(); ++j)
    if (shape_[j].vmax() <= 1) strides_[j] = 0;
  bool whole = true;
  for (std::size_t j = 0; mask_ && j < rank(); ++j) {
    auto& [begin, end] = (*mask_)[j];
    if (plainly_at_most(end, begin)) return become_nowhere();
    if (plainly_at_most(begin, 0)) begin = 0;
    if (plainly_at_most(shape_[j], end)) end = shape_[j];
    whole = whole && begin == Int(0) && end == shape_[j];
  }
  if (whole) mask_.reset();
  for (std::size_t j = 0; mask_ && j < rank(); ++j) {
    const auto& [begin, end] = (*mask_)[j];
    if (strides_[j] == Int(0) || !plainly_at_most(end, begin + 1)) continue;
    offset_ = plus_product(operation, offset_, strides_[j], begin);
    strides_[j] = 0;
  }
  decide_contiguous();
}

void View::decide_contiguous() {
  contiguous_ = has_no_index(shape_) || (!mask_ && offset_ == Int(0) && is_row_major(shape_, strides_));
}

bool View::is_nowhere() const { return mask_ && !mask_->empty() && (*mask_)[0].begin == (*mask_)[0].end; }

bool View::is_concrete() const {
  const auto number = [](const Int& v) { return v.is_number(); };
  return std::all_of(shape_.begin(), shape_.end(), number) && std::all_of(strides_.begin(), strides_.end(), number) &&
         offset_.is_number() && is_number_mask(mask_);
}

namespace {

// The result of minify under construction: dimensions of size above 1; only the last one still grows.
struct Joined {
  Ints shape, strides;
  Int offset;
  Mask mask;
};

// Joins a dimension to the last one, when both are one dimension with a joint index.
bool join(Joined& out, const Int& size, const Int& stride, const Extent& valid) {
  Int& last_size = out.shape.back();
  Int& last_stride = out.strides.back();
  Extent& last = out.mask.back();
  const bool full = is_full(valid, size);
  try {
    const Int step = size * stride;
    if (full && surely_equal(last_stride, step)) {
      last = {last.begin * size, last.end * size};
    } else if (last.end == last.begin + 1 && surely_at_most(valid.end, size)) {
      // only one index is valid, so its share of the address is constant
      out.offset = out.offset + (last_stride - step) * last.begin;
      last = {last.begin * size + valid.begin, last.begin * size + valid.end};
    } else {
      return false;
    }
    last_size *= size;
    last_stride = stride;
    return true;
  } catch (const Error& error) {  // a stride or offset of the joint dimension does not fit in 64 bits
    if (error.kind() != ErrorKind::overflow) throw;
    return false;
  }
}

}  // namespace

View View::minify() const {
  if (is_nowhere()) {
    View v;
    v.shape_ = {size()};
    v.become_nowhere();
    return v;
  }
  Joined out;
  out.offset = offset_;
  for (std::size_t j = 0; j < rank(); ++j) {
    if (shape_[j] == Int(1) && is_full(extent(j), shape_[j])) continue;
    if (!out.shape.empty() && join(out, shape_[j], strides_[j], extent(j))) continue;
    out.shape.push_back(shape_[j]);
    out.strides.push_back(strides_[j]);
    out.mask.push_back(extent(j));
  }
  View v;
  v.shape_ = std::move(out.shape);
  v.strides_ = std::move(out.strides);
  v.offset_ = std::move(out.offset);
  if (mask_) v.mask_ = std::move(out.mask);
  v.canonicalize("minify");
  return v;
}

std::optional<View> operator+(const View& lower, const View& upper) {
  const std::array stack{lower, upper};
  return merge(stack).view;
}

template <class Visit>
void View::for_each_size(const Visit& visit) const {
  for (const Int& v : shape_) visit(v);
  for (const Int& v : strides_) visit(v);
  visit(offset_);
  if (!mask_) return;
  for (const Extent& e : *mask_) {
    visit(e.begin);
    visit(e.end);
  }
}

std::vector<Variable> View::vars() const {
  std::vector<Variable> out;
  for_each_size([&](const Int& v) {
    if (v.is_number()) return;
    const std::vector<Variable> of_v = variables(v.expr());
    out.insert(out.end(), of_v.begin(), of_v.end());
  });
  return in_order(std::move(out));
}

template <class Change>
View View::changed(const Change& change) const {
  if (is_concrete()) return *this;
  View v = *this;
  for (Int& size : v.shape_) size = change(size);
  for (Int& step : v.strides_) step = change(step);
  v.offset_ = change(offset_);
  check_sizes("view", v.shape_);
  for (std::size_t j = 0; v.mask_ && j < rank(); ++j) {
    // Cuts off mask bounds beyond the size (possible for some values of the variables): there are no such indices.
    auto& [begin, end] = (*v.mask_)[j];
    begin = change(begin);
    end = change(end);
    if (plainly_at_most(begin, 0)) begin = 0;
    if (plainly_at_most(v.shape_[j], end)) end = v.shape_[j];
    if (plainly_at_most(end, begin)) begin = end = 0;
  }
  if (!has_no_index(v.shape_)) check_addresses(v.shape_, v.strides_, v.offset_, v.mask_);
  v.canonicalize("view");
  return v;
}

std::pair<View, Values> View::unbind() const {
  Values values;
  View out = changed([&](const Int& v) -> Int {
    if (v.is_number()) return v;
    const auto [plain, bound] = strata::unbind(v.expr());
    values.insert(values.end(), bound.begin(), bound.end());
    return plain;
  });
  return {std::move(out), in_order("unbind", std::move(values))};
}

View View::substitute(const Substitution& map) const {
  return changed([&](const Int& v) -> Int { return v.is_number() ? v : Int(strata::substitute(v.expr(), map)); });
}

std::size_t View::hash() const {
  std::uint64_t h = rank() + (mask_ ? 1 : 0);
  for_each_size([&](const Int& v) {
    const std::uint64_t part = v.is_number() ? static_cast<std::uint64_t>(v.value()) : v.expr().hash();
    h = (h ^ part) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  });
  return static_cast<std::size_t>(h);
}

}  // namespace strata
