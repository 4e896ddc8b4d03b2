// Reshape: the same elements in another shape, as one View when there is one.

#include <array>

#include "strata/view/merge.h"
#include "strata/view/size_ops.h"
#include "strata/view/view.h"

namespace strata {
namespace {

std::string elements(const Ints& shape) {
  try {
    const Int n = product(shape);
    return detail::message(n.render(), n == Int(1) ? " element" : " elements");
  } catch (const Error&) {
    return "more elements than 64 bits count";
  }
}

// to += by, if both are numbers and the sum fits in 64 bits.
bool try_add_to(Int& to, const Int& by) {
  std::int64_t sum = 0;
  if (!to.is_number() || !by.is_number() || !try_add(to.value(), by.value(), sum)) return false;
  to = sum;
  return true;
}

// outer == size * inner, without overflow.
bool continues(const Int& outer, const Int& size, const Int& inner) {
  std::int64_t whole = 0;
  if (size.is_number() && inner.is_number()) return try_mul(size.value(), inner.value(), whole) && outer == Int(whole);
  return outer == size * inner;
}

}  // namespace

// Reshape by groups. Old dimensions from i on and new dimensions from j on are taken together until both have the same
// number of elements. Groups are independent: there is a View iff there is one for each group. A group of one old and
// one new dimension is kept as it is. A group without masks has a View iff it is one run of memory. Proof: as a
// function of the group's row-major number a, the address is
//   constant + sum over old dimensions t of (stride[t] - size[t + 1] * stride[t + 1]) * floor(a / P[t]),
// where P[t] is the product of the later sizes. Floors by different numbers are linearly independent, and inside a
// group the new dimensions share no P with the old ones.
struct View::Regroup {
  const View& v;
  const Ints& shape;
  View& out;
  std::size_t i = 0, j = 0;
  std::size_t old_end = v.rank(), new_end = shape.size();  // sizes from here on are written the same

  Answer run() {
    while (old_end > 0 && new_end > 0 && v.shape_[old_end - 1] == shape[new_end - 1]) {
      --old_end;
      --new_end;
    }
    Answer answer = Answer::yes;
    while (answer == Answer::yes && (i < v.rank() || j < shape.size())) {
      if (i < v.rank() && v.shape_[i] == Int(1)) {
        if (!is_full(v.extent(i), v.shape_[i])) return Answer::unknown;
        ++i;
      } else if (j < shape.size() && shape[j] == Int(1)) {
        ++j;
      } else if (i == v.rank() || j == shape.size()) {
        return Answer::unknown;
      } else if (v.shape_[i] == shape[j]) {
        out.strides_[j] = v.strides_[i];
        if (v.mask_) (*out.mask_)[j] = (*v.mask_)[i];
        ++i;
        ++j;
      } else {
        answer = v.shape_[i].is_number() && shape[j].is_number() ? take_group() : take_rest();
      }
    }
    return answer;
  }

 private:
  // The smallest group from here on: the fewest old and new dimensions with equal numbers of elements.
  Answer take_group() {
    const std::size_t old_first = i, new_first = j;
    std::int64_t have = v.shape_[i++].value(), want = shape[j++].value();
    bool masked = !is_full(v.extent(old_first), v.shape_[old_first]);
    while (have != want) {
      const Ints& longer = have < want ? v.shape_ : shape;
      std::size_t& next = have < want ? i : j;
      if (next == longer.size() || !longer[next].is_number()) return Answer::unknown;
      if (have < want) masked = masked || !is_full(v.extent(i), v.shape_[i]);
      (have < want ? have : want) *= longer[next++].value();
    }
    if (masked) return split_masked(old_first, new_first);
    if (!is_run(old_first, i)) return Answer::no;
    return split(new_first, last_stride(old_first, i)) ? Answer::yes : Answer::unknown;
  }

  // The group of all remaining dimensions before the equal sizes at the end. For symbolic sizes, where it is not known
  // which group ends first.
  Answer take_rest() {
    if (i >= old_end || j >= new_end) return Answer::unknown;
    for (std::size_t t = i; t < old_end; ++t)
      if (!is_full(v.extent(t), v.shape_[t])) return Answer::unknown;
    if (!is_run(i, old_end)) return Answer::unknown;
    const Int stride = last_stride(i, old_end);
    const std::size_t first = j;
    i = old_end;
    j = new_end;
    return split(first, stride) ? Answer::yes : Answer::unknown;
  }

  bool is_run(std::size_t first, std::size_t last) const {
    std::size_t outer = first;
    for (std::size_t t = first + 1; t < last; ++t) {
      if (v.shape_[t] == Int(1)) continue;
      if (!continues(v.strides_[outer], v.shape_[t], v.strides_[t])) return false;
      outer = t;
    }
    return true;
  }
  Int last_stride(std::size_t first, std::size_t last) const {
    while (last - 1 > first && v.shape_[last - 1] == Int(1)) --last;
    return v.strides_[last - 1];
  }

  // Sets the strides of the new dimensions [first, j) of a run of memory; false when one does not fit in 64 bits.
  bool split(std::size_t first, Int stride) {
    for (std::size_t t = j; t-- > first;) {
      out.strides_[t] = stride;
      if (t == first) break;
      std::int64_t next = 0;
      if (!stride.is_number() || !shape[t].is_number()) {
        stride *= shape[t];
      } else if (try_mul(stride.value(), shape[t].value(), next)) {
        stride = next;
      } else {
        return false;
      }
    }
    return true;
  }

  // A group of old dimensions with masks. If the valid indices are a box in the new dimensions, its corners are the
  // first and the last valid index. It is a box iff the number of valid indices equals the volume between these
  // corners.
  Answer split_masked(std::size_t old_first, std::size_t new_first) {
    std::int64_t first = 0, last = 0, valid = 1;
    View part;
    part.mask_.emplace();
    for (std::size_t t = old_first; t < i; ++t) {
      const Extent extent = v.extent(t);
      if (!extent.begin.is_number() || !extent.end.is_number()) return Answer::unknown;
      first = first * v.shape_[t].value() + extent.begin.value();
      last = last * v.shape_[t].value() + extent.end.value() - 1;
      valid *= extent.end.value() - extent.begin.value();
      part.shape_.push_back(v.shape_[t]);
      part.strides_.push_back(v.strides_[t]);
      part.mask_->push_back(extent);
    }
    for (std::size_t t = j; t-- > new_first;) {
      const std::int64_t size = shape[t].value();
      (*out.mask_)[t] = {first % size, last % size + 1};
      const std::int64_t width = last % size - first % size + 1;
      if (width <= 0 || valid % width != 0) return Answer::no;
      valid /= width;
      first /= size;
      last /= size;
    }
    if (valid != 1) return Answer::no;
    part = part.minify();
    const bool is_interval = part.rank() == 1 && part.is_concrete();
    const bool done = is_interval && try_add_to(out.offset_, part.offset_) && split(new_first, part.strides_[0]);
    return done ? Answer::yes : Answer::unknown;
  }
};

std::optional<View> View::reshape(const Ints& shape) const {
  std::optional<View> out;
  if (shape == shape_) return out = *this;
  check_sizes("reshape", shape);
  STRATA_CHECK(surely_equal(size(), product(shape)), shape, "[reshape] cannot reshape ", strata::render(shape_), ", ",
               elements(shape_), ", to ", strata::render(shape), ", ", elements(shape));
  out = View();
  out->shape_ = shape;
  out->become_row_major();
  if (contiguous_) return out;
  if (is_nowhere()) {
    out->become_nowhere();
    if (shape.empty()) out.reset();
    return out;
  }
  out->offset_ = offset_;
  if (mask_) {
    out->mask_.emplace();
    for (const Int& size : shape) out->mask_->push_back({0, size});
  }
  switch (Regroup{*this, shape, *out}.run()) {
    case Answer::yes: out->canonicalize("reshape"); break;
    case Answer::no: out.reset(); break;
    case Answer::unknown: return merge(std::array{*this, row_major(shape)}).view;
  }
  return out;
}

}  // namespace strata
