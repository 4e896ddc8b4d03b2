// Boxes through Views. A box becomes sums of progressions of addresses, with a level for each stride. These are cut
// until each level moves one coordinate of the tensor below and carries into no other; then each coordinate is a sum of
// its own levels.

#include "strata/shard/image.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/base/check.h"
#include "strata/view/merge.h"

namespace strata {
namespace {

using Boxes = std::optional<std::vector<StridedBox>>;  // nothing: more than the limit

/// The addresses of a box of valid indices, with steps above 0. @throws Error (shape) unless all of them are in
/// [0, elements)
Progressions addresses_of(const Strided& view, const StridedBox& box, std::int64_t elements) {
  Progressions out;
  Int128 least = view.offset, greatest = view.offset;
  SmallVec<std::pair<Int128, std::int64_t>, 6> levels;  // step and count
  for (std::size_t j = 0; j < box.size(); ++j) {
    const Int128 stride = view.stride[j], first = stride * box[j].begin;
    least += first;
    greatest += first;
    if (box[j].length > 1) levels.push_back({stride, box[j].length});
    if (box[j].count > 1) levels.push_back({stride * box[j].stride, box[j].count});
  }
  for (const auto& [step, count] : levels) (step < 0 ? least : greatest) += step * (count - 1);
  STRATA_CHECK(least >= 0 && greatest < elements, shape, "[shard] a View reads beyond the ", elements,
               " elements below it: ", render(box), " of strides ", render(view.stride), ", offset ", view.offset);
  out.base = static_cast<std::int64_t>(least);
  for (const auto& [step, count] : levels)
    if (step != 0) out.levels.push_back({static_cast<std::int64_t>(step < 0 ? -step : step), count});
  return out;
}

Int128 greatest_of(const Progressions& sums) {
  Int128 out = sums.base;
  for (const Level& l : sums.levels) out += static_cast<Int128>(l.step) * (l.count - 1);
  return out;
}

/// `sums` with level t replaced by those that are given; base moved by `shift`.
Progressions replaced(const Progressions& sums, std::size_t t, std::int64_t shift,
                      std::initializer_list<Level> levels) {
  Progressions out = sums;
  out.base += shift;
  out.levels.erase_at(t);
  for (const Level& l : levels)
    if (l.count > 1) out.levels.push_back(l);
  return out;
}

/// Sums cut at rows of `length`: each part has levels that move whole rows, and levels that stay inside of a row.
class RowCut {
 public:
  struct Part {
    Progressions row, inside;
  };

  RowCut(std::int64_t length, std::size_t most) : length_(length), most_(most) {}

  /// Nothing where that takes more than the limit. @pre the sums are not negative, their levels have steps above 0 and
  ///   counts above 1
  std::optional<std::vector<Part>> run(const Progressions& sums) {
    open_ = {sums};
    std::vector<Part> out;
    while (!open_.empty()) {
      if (out.size() + open_.size() > most_) return std::nullopt;
      const Progressions next = std::move(open_.back());
      open_.pop_back();
      if (const std::optional<std::size_t> t = carrying(next))
        cut(next, *t);
      else
        out.push_back(split(next));
    }
    return out;
  }

 private:
  bool moves_rows(const Level& l) const { return l.step % length_ == 0; }

  /// The level with the largest step inside of rows, where these levels carry into the next row.
  std::optional<std::size_t> carrying(const Progressions& sums) const {
    std::optional<std::size_t> out;
    Int128 reach = sums.base % length_;
    for (std::size_t t = 0; t < sums.levels.size(); ++t) {
      const Level& l = sums.levels[t];
      if (moves_rows(l)) continue;
      reach += static_cast<Int128>(l.step) * (l.count - 1);
      if (!out || l.step > sums.levels[*out].step) out = t;
    }
    return reach < length_ ? std::nullopt : out;
  }

  Part split(const Progressions& sums) const {
    Part out{{sums.base / length_, {}}, {sums.base % length_, {}}};
    for (const Level& l : sums.levels)
      if (moves_rows(l))
        out.row.levels.push_back({l.step / length_, l.count});
      else
        out.inside.levels.push_back(l);
    return out;
  }

  void cut(const Progressions& sums, std::size_t t) {
    const Level l = sums.levels[t];
    const std::int64_t period = length_ / gcd(length_, l.step);  // so many steps are whole rows
    if (l.count > period) {
      const std::int64_t periods = l.count / period, rest = l.count % period;
      open_.push_back(replaced(sums, t, 0, {{l.step, period}, {l.step * period, periods}}));
      if (rest != 0) open_.push_back(replaced(sums, t, l.step * period * periods, {{l.step, rest}}));
      return;
    }
    Int128 others = sums.base % length_;  // how far the other levels reach inside of the row of the base
    for (std::size_t u = 0; u < sums.levels.size(); ++u)
      if (u != t && !moves_rows(sums.levels[u]))
        others += static_cast<Int128>(sums.levels[u].step) * (sums.levels[u].count - 1);
    const std::int64_t least = sums.base % length_;
    for (std::int64_t i = 0; i < l.count && open_.size() <= most_;) {
      const Int128 row = (least + static_cast<Int128>(l.step) * i) / length_;
      const Int128 left = (row + 1) * length_ - 1 - others - static_cast<Int128>(l.step) * i;  // to the end of the row
      const std::int64_t count =
          left < 0 ? 1 : static_cast<std::int64_t>(std::min<Int128>(left / l.step + 1, l.count - i));
      open_.push_back(replaced(sums, t, l.step * i, {{l.step, count}}));
      i += count;
    }
  }

  std::int64_t length_;
  std::size_t most_;
  std::vector<Progressions> open_;
};

/// Coordinates in `shape` of the addresses `sums`, axis by axis from the last one.
Boxes boxes_in(const Index& shape, const Progressions& sums) {
  struct Partial {
    Progressions rows;
    std::vector<AxisPart> parts;  ///< of the axes so far, the last one first
  };
  std::vector<Partial> partials = {{sums, {}}};
  for (std::size_t j = shape.size(); j-- > 0;) {
    std::vector<Partial> next;
    for (Partial& partial : partials) {
      const auto cut = RowCut(shape[j], kMostImageBoxes).run(partial.rows);
      if (!cut || next.size() + cut->size() > kMostImageBoxes) return std::nullopt;
      for (const RowCut::Part& part : *cut) {
        const std::optional<AxisPart> inside = stripes_of(part.inside, kMostImageBoxes);
        if (!inside) return std::nullopt;
        next.push_back({part.row, partial.parts});
        next.back().parts.push_back(*inside);
      }
    }
    partials = std::move(next);
  }
  std::vector<StridedBox> out;
  for (Partial& partial : partials) {
    std::size_t combinations = 1;
    for (const AxisPart& part : partial.parts) combinations = std::min(combinations * part.size(), kMostImageBoxes + 1);
    if (out.size() + combinations > kMostImageBoxes) return std::nullopt;
    std::reverse(partial.parts.begin(), partial.parts.end());
    for (StridedBox& box : boxes_of(partial.parts)) out.push_back(std::move(box));
  }
  return out;
}

/// The smallest box of intervals that has all addresses from `least` to `greatest`.
StridedBox box_between(const Index& shape, std::int64_t least, std::int64_t greatest) {
  StridedBox out(shape.size());
  for (std::size_t j = shape.size(); j-- > 0;) {
    const std::int64_t first = least % shape[j], last = greatest % shape[j];
    least /= shape[j];
    greatest /= shape[j];
    out[j] = least == greatest ? interval(first, last + 1) : interval(0, shape[j]);
  }
  return out;
}

/// The valid part of `boxes`.
Boxes valid_part(const Strided& view, const std::vector<StridedBox>& boxes) {
  std::vector<StridedBox> out;
  for (const StridedBox& box : boxes) {
    std::vector<AxisPart> parts;
    std::size_t combinations = 1;
    for (std::size_t j = 0; j < box.size(); ++j) {
      parts.push_back(clipped(box[j], view.begin[j], view.end[j]));
      combinations = std::min(combinations * parts.back().size(), kMostImageBoxes + 1);
    }
    if (out.size() + combinations > kMostImageBoxes) return std::nullopt;
    for (StridedBox& part : boxes_of(parts)) out.push_back(std::move(part));
  }
  return out;
}

/// The image through one View onto a tensor of `shape`.
class ViewImage {
 public:
  ViewImage(const View& view, const Index& shape) : view_(to_strided(view)), shape_(shape), elements_(product(shape)) {}

  void run(Image& image) const {
    if (image.boxes.empty()) return;
    Boxes valid = valid_part(view_, image.boxes);
    image.is_larger = image.is_larger || !valid;
    if (!valid) valid = valid_part(view_, {hull(image.boxes)});  // one box of intervals: at most one part
    image.boxes = std::move(*valid);
    if (image.boxes.empty()) return;
    std::vector<Progressions> addresses;
    for (const StridedBox& box : image.boxes) addresses.push_back(addresses_of(view_, box, elements_));
    if (Boxes exact = all_boxes(addresses)) {
      image.boxes = std::move(*exact);
      return;
    }
    image.boxes = {larger(addresses)};
    image.is_larger = true;
  }

 private:
  Boxes all_boxes(const std::vector<Progressions>& addresses) const {
    std::vector<StridedBox> out;
    for (const Progressions& sums : addresses) {
      const Boxes boxes = boxes_in(shape_, sums);
      if (!boxes || out.size() + boxes->size() > kMostImageBoxes) return std::nullopt;
      out.insert(out.end(), boxes->begin(), boxes->end());
    }
    return disjoint(out, kMostImageBoxes);
  }

  StridedBox larger(const std::vector<Progressions>& addresses) const {
    std::int64_t least = addresses.front().base;
    Int128 greatest = least;
    for (const Progressions& sums : addresses) {
      least = std::min(least, sums.base);
      greatest = std::max(greatest, greatest_of(sums));
    }
    return box_between(shape_, least, static_cast<std::int64_t>(greatest));
  }

  Strided view_;
  const Index& shape_;
  std::int64_t elements_;
};

}  // namespace

Image image_of(const ShapeTracker& read, const Index& shape, const std::vector<StridedBox>& boxes) {
  STRATA_CHECK(read.is_concrete(), undefined, "[shard] symbolic sizes: ", read.render());
  const std::vector<View>& views = read.views();
  Image out{boxes, false};
  for (std::size_t k = views.size(); k-- > 0;) {
    const Index below = k == 0 ? shape : *numbers(views[k - 1].shape());
    if (views[k].contiguous() && *numbers(views[k].shape()) == below) continue;
    ViewImage(views[k], below).run(out);
  }
  return out;
}

}  // namespace strata
