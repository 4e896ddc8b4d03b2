// Views to layouts, stacks of Views to hierarchical layouts, and back.

#include "strata/layout/layout_convert.h"

#include "strata/layout/layout_algebra.h"
#include "strata/view/merge.h"
#include "strata/view/strided.h"

namespace strata {

namespace {

using detail::int_at_most;

/// Splits the dimensions of a stack of numbers, over its valid box, into leaves.
class Refinement {
 public:
  /// @pre the box [begin, end) is not empty, and all of it is valid
  Refinement(std::vector<Strided> views, const Index& begin, const Index& end, std::uint64_t budget)
      : views_(std::move(views)), begin_(begin), end_(end), budget_(budget) {}

  // Splits each dimension by itself, then checks that the address is linear in all leaves of all dimensions together.
  std::optional<PlacedLayout> run() {
    const Strided top = views_.back();
    PlacedLayout out;
    out.shape = to_ints(top.shape);
    out.begin = to_ints(begin_);
    out.offset = *value_at(piecewise(views_), begin_);
    start_ = top.offset;
    for (std::size_t j = 0; j < top.shape.size(); ++j)
      start_ = detail::checked_multiply_add(start_, top.stride[j], begin_[j]);
    for (std::size_t j = 0; j < top.shape.size(); ++j) {
      const std::optional<Layout> mode = refine(end_[j] - begin_[j], top.stride[j]);
      if (!mode) return std::nullopt;
      out.modes.push_back(*mode);
    }
    set_top(leaf_size_, leaf_stride_);
    if (single(piecewise(views_), budget_).found != Answer::yes) return std::nullopt;
    return out;
  }

 private:
  void set_top(const Index& size, const Index& stride) {
    views_.back() = {size, stride, start_, Index(size.size(), 0), size};
  }
  // The layout of one dimension, with all others at their begin.
  std::optional<Layout> refine(std::int64_t size, std::int64_t stride) {
    Layout::Leaves leaves;
    if (size == 1) leaves.push_back({1, 0});
    // The longest linear start becomes a leaf; the remaining leaves see only multiples of its length.
    while (size > 1) {
      set_top(Index{size}, Index{stride});
      const std::optional<detail::Line> line = detail::line_from_start(piecewise(views_), size, budget_);
      if (!line || size % line->length != 0) return std::nullopt;
      leaves.push_back({line->length, line->slope});
      leaf_size_.push_back(line->length);
      leaf_stride_.push_back(stride);
      size /= line->length;
      if (size > 1) stride *= line->length;
    }
    return leaves.size() == 1 ? Layout(leaves[0].size, leaves[0].stride) : Layout::flat(leaves);
  }

  std::vector<Strided> views_;
  const Index begin_, end_;
  const std::uint64_t budget_;
  std::int64_t start_ = 0;  // the address of the top View at begin_
  Index leaf_size_, leaf_stride_;
};

struct IndexBox {
  Index begin, end;
};
// The valid indices as a box; nothing when they are not a non-empty box.
std::optional<IndexBox> valid_box(const Piecewise& f, std::uint64_t budget) {
  std::optional<IndexBox> hull;
  std::int64_t covered = 0;
  Pieces pieces(f, budget);
  Piece p;
  while (pieces.next(p)) {
    if (!hull) hull = IndexBox{p.lo, p.lo};
    for (std::size_t j = 0; j < p.lo.size(); ++j) {
      hull->begin[j] = std::min(hull->begin[j], p.lo[j]);
      hull->end[j] = std::max(hull->end[j], p.lo[j] + p.extent[j]);
    }
    covered += volume(p);
  }
  if (!pieces.complete() || !hull) return std::nullopt;
  Index extent;
  for (std::size_t j = 0; j < hull->end.size(); ++j) extent.push_back(hull->end[j] - hull->begin[j]);
  return product(extent) == covered ? hull : std::nullopt;
}

std::optional<PlacedLayout> refine_numbers(const std::vector<View>& views, std::uint64_t budget) {
  std::vector<Strided> stack = to_strided(views);
  const Strided& top = stack.back();
  bool masked_below = false;
  for (std::size_t k = 0; k + 1 < views.size(); ++k) masked_below |= views[k].mask().has_value();
  std::optional<IndexBox> box = IndexBox{top.begin, top.end};
  if (masked_below) box = valid_box(piecewise(stack), budget);
  if (!box) return std::nullopt;
  for (std::size_t j = 0; j < box->begin.size(); ++j)
    if (box->end[j] <= box->begin[j]) return std::nullopt;
  return Refinement(std::move(stack), box->begin, box->end, budget).run();
}

// A View as a layout: the function of the row-major number of its index.
std::optional<Layout> flat_layout(const View& v) {
  if (v.mask() || !(v.offset() == Int(0))) return std::nullopt;
  Layout::Leaves leaves;
  for (std::size_t t = v.rank(); t-- > 0;) {
    if (!int_at_most(1, v.shape()[t])) return std::nullopt;
    leaves.push_back({v.shape()[t], v.strides()[t]});
  }
  return Layout::flat(leaves);
}

// Composes the layouts of the views, from the top down: for symbolic sizes without masks and offsets.
std::optional<PlacedLayout> compose_symbolic(const std::vector<View>& views) {
  std::optional<PlacedLayout> out = to_layout(views.back());
  if (!out || out->modes.empty() || !(out->offset == Int(0)) || views.back().mask()) return std::nullopt;
  // A second mode keeps a single dimension from being merged into its mode.
  out->modes.push_back(Layout(1, 0));
  Layout composed = out->layout();
  for (std::size_t k = views.size() - 1; k-- > 0;) {
    const std::optional<Layout> below = flat_layout(views[k]);
    if (!below || !int_at_most(composed.cosize(), below->size())) return std::nullopt;
    composed = composition(*below, composed);
  }
  for (std::size_t j = 0; j + 1 < out->modes.size(); ++j) out->modes[j] = composed.mode(j);
  out->modes.pop_back();
  return out;
}

}  // namespace

PlacedLayout place(const Layout& l, const Int& offset) {
  PlacedLayout out;
  for (std::size_t k = 0; k < l.rank(); ++k) {
    out.modes.push_back(l.mode(k));
    out.shape.push_back(out.modes.back().size());
  }
  out.begin.resize(l.rank(), 0);
  out.offset = offset;
  return out;
}

std::optional<PlacedLayout> to_layout(const View& v) {
  PlacedLayout out;
  out.shape = v.shape();
  out.offset = v.offset();
  for (std::size_t j = 0; j < v.rank(); ++j) {
    const Extent extent = v.mask() ? (*v.mask())[j] : Extent{0, v.shape()[j]};
    const Int size = extent.end - extent.begin;
    if (!int_at_most(1, size)) return std::nullopt;
    out.modes.push_back(Layout(size, v.strides()[j]));
    out.begin.push_back(extent.begin);
    out.offset += v.strides()[j] * extent.begin;
  }
  return out;
}

std::optional<PlacedLayout> to_layout(const ShapeTracker& st, std::uint64_t budget) {
  const std::vector<View> views = st.simplify().views();
  if (views.size() == 1) return to_layout(views[0]);
  if (st.is_concrete()) return refine_numbers(views, budget);
  try {
    return compose_symbolic(views);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::undefined && e.kind() != ErrorKind::overflow) throw;
    return std::nullopt;
  }
}

std::optional<View> to_view(const PlacedLayout& l) {
  Ints strides;
  Mask mask;
  Int offset = l.offset;
  for (std::size_t j = 0; j < l.modes.size(); ++j) {
    const Layout mode = coalesce(l.modes[j]);
    if (mode.leaves().size() != 1) return std::nullopt;
    strides.push_back(mode.leaves()[0].stride);
    offset -= strides[j] * l.begin[j];
    mask.push_back({l.begin[j], l.begin[j] + mode.leaves()[0].size});
  }
  return View::create(l.shape, strides, offset, mask);
}

std::optional<View> to_view(const Layout& l, const Int& offset) { return to_view(place(l, offset)); }

ShapeTracker to_shape_tracker(const PlacedLayout& l) {
  if (const std::optional<View> view = to_view(l)) return ShapeTracker({*view});
  Ints sizes, strides, box;
  Padding around;
  for (std::size_t j = 0; j < l.modes.size(); ++j) {
    const Layout::Leaves& leaves = l.modes[j].leaves();
    for (std::size_t t = leaves.size(); t-- > 0;) {
      sizes.push_back(leaves[t].size);
      strides.push_back(leaves[t].stride);
    }
    box.push_back(l.modes[j].size());
    around.push_back({l.begin[j], l.shape[j] - box[j] - l.begin[j]});
  }
  return ShapeTracker({View::create(sizes, strides, l.offset), View::create(box).pad(around)});
}

}  // namespace strata
