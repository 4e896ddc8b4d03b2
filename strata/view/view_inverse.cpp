// Inverses of Views: from addresses back to row-major numbers of indices.
//
// The addresses of a View's valid indices are lowest + sum over k of step[k] * t[k], 0 <= t[k] < count[k]. The
// addresses of a box of the memory have this form, too: its steps are products of the memory's sizes, so each step is
// at least step * count of the one before. Two forms of one set of this kind differ only by runs that continue one
// another. This decides the question: sort the runs and join those that continue in both address and number; a View is
// the inverse iff dimensions of the box, from the last one on, fill each run exactly.

#include <algorithm>
#include <limits>

#include "strata/base/sort_few.h"
#include "strata/view/merge.h"
#include "strata/view/size_ops.h"
#include "strata/view/view.h"

namespace strata {
namespace {

// A run along one dimension: address lowest + step * t belongs to index number `number * t` (relative), 0 <= t < count.
struct Run {
  std::int64_t step, count, number;
};

// The addresses and index numbers of a View of numbers.
struct Image {
  bool nowhere = false;
  Int128 lowest = 0, highest = 0;  ///< the lowest and the highest address
  std::int64_t number = 0;         ///< the row-major number of the index with the lowest address
  SmallVec<Run, 6> runs;           ///< runs with a count above 1, by ascending step
};

void add_dimension(Image& image, const Strided& v, std::size_t j, std::int64_t place) {
  const std::int64_t begin = v.begin[j], last = v.end[j] - 1, stride = v.stride[j];
  const std::int64_t first = stride < 0 ? last : begin;
  image.lowest += static_cast<Int128>(stride) * first;
  image.highest += static_cast<Int128>(stride) * (stride < 0 ? begin : last);
  image.number += place * first;
  if (begin == last) return;
  // A step that is clamped here leads to addresses outside any memory.
  const std::uint64_t step = std::min(magnitude(stride), static_cast<std::uint64_t>(kPosInf));
  image.runs.push_back({static_cast<std::int64_t>(step), v.end[j] - begin, stride < 0 ? -place : place});
}

// Joins runs that continue one another in address and number. Nothing when two indices share an address, or when the
// addresses are not those of a box.
std::optional<Image> joined(Image image) {
  sort_few(image.runs, [](const Run& a, const Run& b) { return a.step < b.step; });
  SmallVec<Run, 6> runs;
  for (const Run& run : image.runs) {
    if (run.step == 0) return std::nullopt;
    if (!runs.empty()) {
      Run& inner = runs.back();
      const Int128 span = static_cast<Int128>(inner.step) * inner.count;
      if (run.step < span) return std::nullopt;
      if (run.step == span && run.number == static_cast<Int128>(inner.number) * inner.count) {
        inner.count *= run.count;
        continue;
      }
    }
    runs.push_back(run);
  }
  image.runs = std::move(runs);
  return image;
}

// The image of a View. Nothing when an address is outside [0, elements), when two indices share one, or when the
// addresses are not those of a box.
std::optional<Image> image_of(const Strided& v, std::int64_t elements) {
  Image out;
  out.lowest = out.highest = v.offset;
  for (std::size_t j = 0; j < v.shape.size(); ++j) out.nowhere = out.nowhere || v.begin[j] >= v.end[j];
  if (out.nowhere) return out;
  std::int64_t place = 1;
  for (std::size_t j = v.shape.size(); j-- > 0; place *= v.shape[j]) add_dimension(out, v, j, place);
  if (out.lowest < 0 || out.highest >= elements) return std::nullopt;
  return joined(std::move(out));
}

// The inverse as a function of the indices of `memory`. @pre addresses are below the number of elements
std::optional<Single> inverse_on(const Index& memory, const Image& image) {
  if (image.nowhere && memory.empty()) return std::nullopt;  // without dimensions there is no mask
  Single out = detail::nowhere_single(memory.size());
  if (image.nowhere) return out;
  auto lowest = static_cast<std::int64_t>(image.lowest);
  auto highest = static_cast<std::int64_t>(image.highest);
  std::size_t k = 0;
  std::int64_t filled = 1, place = 1;  // `filled` of run k; `place`: product of the memory's last sizes
  Int128 offset = image.number;
  // Each dimension of the memory, from the last one on, must fill a part of run k; a full run moves on to run k + 1.
  for (std::size_t t = memory.size(); t-- > 0; place *= memory[t]) {
    const std::int64_t first = lowest % memory[t], count = highest % memory[t] - first + 1;
    if (count <= 0) return std::nullopt;
    lowest /= memory[t];
    highest /= memory[t];
    out.begin[t] = first;
    out.end[t] = first + count;
    if (count == 1) continue;
    if (k == image.runs.size()) return std::nullopt;
    const Run& run = image.runs[k];
    if (place != run.step * filled || count > run.count / filled) return std::nullopt;
    out.stride[t] = run.number * filled;
    offset -= static_cast<Int128>(out.stride[t]) * first;
    filled *= count;
    if (filled != run.count) continue;
    filled = 1;
    ++k;
  }
  if (k != image.runs.size() || offset < kNegInf || offset > kPosInf) return std::nullopt;
  out.offset = static_cast<std::int64_t>(offset);
  return out;
}

// `elements` as a shape with one dimension for each run, the largest step first, and one for a gap below the smallest
// step. Nothing when a step does not divide the next larger one.
std::optional<Index> shape_by_runs(const Image& image, std::int64_t elements) {
  Index out;
  std::int64_t whole = elements;
  for (std::size_t k = image.runs.size(); k-- > 0;) {
    const std::int64_t step = image.runs[k].step;
    if (whole % step != 0) return std::nullopt;
    out.push_back(whole / step);
    whole = step;
  }
  if (whole != 1 || out.empty()) out.push_back(whole);
  return out;
}

}  // namespace

std::optional<View> View::symbolic_inverse() const {
  if (mask_) return std::nullopt;
  if (has_no_index(shape_)) return row_major({0});
  if (surely_less(offset_, 0) || surely_at_most(size(), offset_)) return std::nullopt;
  // The dimensions of a permutation are digits of the address: each next stride is the product of the sizes so far.
  const Ints number = row_major_strides(shape_);
  View out;
  Int place = 1, lowest = offset_;
  std::vector<bool> used(rank(), false);
  for (std::size_t taken = 0; taken < rank(); ++taken) {
    std::size_t j = 0;
    const auto is_next = [&](std::size_t k) {
      return !used[k] && (shape_[k] == Int(1) || strides_[k] == place || strides_[k] == -place);
    };
    while (j < rank() && !is_next(j)) ++j;
    if (j == rank()) return std::nullopt;
    used[j] = true;
    if (shape_[j] == Int(1)) continue;
    const bool backwards = !(strides_[j] == place);
    out.shape_.insert_at(0, shape_[j]);
    out.strides_.insert_at(0, backwards ? -number[j] : number[j]);
    if (backwards) lowest -= place * (shape_[j] - 1);
    if (backwards) out.offset_ += number[j] * (shape_[j] - 1);
    place *= shape_[j];
  }
  if (!(lowest == Int(0))) return std::nullopt;
  out.canonicalize("invert");
  return out;
}

std::optional<View> View::inverse(const Int& elements) const {
  check_sizes("invert", {elements});
  if (!is_concrete() || !elements.is_number())
    return surely_equal(elements, size()) ? symbolic_inverse() : std::nullopt;
  const std::optional<Image> image = image_of(to_strided(*this), elements.value());
  const std::optional<Index> memory = image ? shape_by_runs(*image, elements.value()) : std::nullopt;
  const std::optional<Single> found = memory ? inverse_on(*memory, *image) : std::nullopt;
  return found ? std::optional(of(*found, to_ints(*memory))) : std::nullopt;
}

std::optional<View> View::invert(const Ints& out_shape) const {
  check_sizes("invert", out_shape);
  const std::optional<Index> memory = numbers(out_shape);
  if (!is_concrete() || !memory) {
    if (!surely_equal(strata::product(out_shape), size())) return std::nullopt;
    const std::optional<View> flat = symbolic_inverse();
    return flat ? flat->reshape(out_shape) : std::nullopt;
  }
  const std::optional<Image> image = image_of(to_strided(*this), product(*memory));
  const std::optional<Single> found = image ? inverse_on(*memory, *image) : std::nullopt;
  return found ? std::optional(of(*found, out_shape)) : std::nullopt;
}

}  // namespace strata
