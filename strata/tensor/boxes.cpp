#include "strata/tensor/boxes.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "strata/ops/indexed.h"
#include "strata/tensor/front.h"

namespace strata {
namespace {

/// A box by its least and largest coordinates.
template <class Real>
struct Corners {
  Real x1, y1, x2, y2;
  Real area() const { return (x2 - x1) * (y2 - y1); }
};

template <class Real>
Corners<Real> corners_of(std::span<const Real> box, bool has_centre) {
  if (has_centre) return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]), std::max(box[1], box[3])};
}

/// The intersection divided by the union.
template <class Real>
Real overlap(const Corners<Real>& a, const Corners<Real>& b) {
  const Real width = std::max(Real(0), std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  const Real height = std::max(Real(0), std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
  const Real shared = width * height, all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : Real(0);
}

template <class Real>
std::vector<std::int64_t> kept(std::span<const Real> boxes, std::span<const Real> scores, const NmsOptions& o) {
  STRATA_CHECK(o.iou_threshold >= 0 && o.iou_threshold <= 1, domain, "[nms] iou_threshold is ", o.iou_threshold,
               ", not in [0, 1]");
  STRATA_CHECK(!o.max_boxes || *o.max_boxes >= 0, domain, "[nms] max_boxes is ", *o.max_boxes, ", below 0");
  const auto most_overlap = static_cast<Real>(o.iou_threshold);
  const auto score = [&](std::int64_t k) { return scores[static_cast<std::size_t>(k)]; };
  std::vector<std::int64_t> order, out;
  for (std::int64_t k = 0; k < std::ssize(scores); ++k)
    if (o.score_threshold ? score(k) > static_cast<Real>(*o.score_threshold) : !std::isnan(score(k)))
      order.push_back(k);
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return score(a) > score(b) || (score(a) == score(b) && a < b); });
  std::vector<Corners<Real>> taken;
  for (const std::int64_t k : order) {
    if (o.max_boxes && std::ssize(out) >= *o.max_boxes) break;
    const Corners<Real> now = corners_of(boxes.subspan(4 * static_cast<std::size_t>(k), 4), o.has_centres);
    const auto covers = [&](const Corners<Real>& better) { return overlap(now, better) > most_overlap; };
    if (std::any_of(taken.begin(), taken.end(), covers)) continue;
    taken.push_back(now);
    out.push_back(k);
  }
  return out;
}

template <class Real>
std::vector<std::int64_t> kept_of(const Tensor& boxes, const Tensor& scores, const NmsOptions& options) {
  const DType dtype = std::is_same_v<Real, double> ? dtypes::float64 : dtypes::float32;
  const auto b = boxes.cast(dtype).template to_vector<Real>(), s = scores.cast(dtype).template to_vector<Real>();
  return detail::kept_boxes(std::span<const Real>(b), std::span<const Real>(s), options);
}

}  // namespace

std::vector<std::int64_t> detail::kept_boxes(std::span<const float> boxes, std::span<const float> scores,
                                             const NmsOptions& options) {
  return kept(boxes, scores, options);
}
std::vector<std::int64_t> detail::kept_boxes(std::span<const double> boxes, std::span<const double> scores,
                                             const NmsOptions& options) {
  return kept(boxes, scores, options);
}

Tensor nms(const Tensor& boxes, const Tensor& scores, const NmsOptions& options, At at) {
  const OriginScope scope("nms", at);
  STRATA_CHECK(boxes.ndim() == 2 && boxes.size(1) == Int(4) && scores.ndim() == 1 && boxes.size(0) == scores.size(0),
               shape, "[nms] boxes of shape ", render(boxes.shape()), " and scores of shape ", render(scores.shape()),
               ": (n, 4) and (n,) are expected");
  ops::number_of(scores.size(0), "nms");
  for (const Tensor* const x : {&boxes, &scores})
    STRATA_CHECK(x->dtype().is_float(), domain, "[nms] ", x == &boxes ? "boxes have" : "scores have", " dtype ",
                 x->dtype().name(), ": cast them to a float dtype first");
  front::CommonDevice devices("nms");
  for (const Tensor* const x : {&boxes, &scores}) devices.node_of(*x);
  const bool is_double = boxes.dtype() == dtypes::float64;
  const std::vector<std::int64_t> out = is_double ? kept_of<double>(boxes.detach(), scores.detach(), options)
                                                  : kept_of<float>(boxes.detach(), scores.detach(), options);
  return Tensor::from(out, {std::ssize(out)}).to(boxes.device());
}

}  // namespace strata
