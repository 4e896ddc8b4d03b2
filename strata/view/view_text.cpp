// Views, ShapeTrackers and UOp expressions as text, in the specification's notation.

#include "strata/expr/render.h"
#include "strata/view/shape_tracker.h"

namespace strata {
namespace {

std::string mask_text(const Mask& mask) {
  std::string out = "(";
  for (std::size_t j = 0; j < mask.size(); ++j)
    out += detail::message(j == 0 ? "(" : ", (", mask[j].begin.render(), ", ", mask[j].end.render(), ")");
  return out + (mask.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string IndexedUOp::render() const {
  if (is_condition && expr.is_constant()) return expr.value() != 0 ? "True" : "False";
  return expr.render();
}

std::string IndexedUOp::tree() const { return render_tree(expr); }

std::string View::render() const {
  return detail::message("View(shape=", strata::render(shape_), ", strides=", strata::render(strides_),
                         ", offset=", offset_.render(), ", mask=", mask_ ? mask_text(*mask_) : "None",
                         ", contiguous=", contiguous_ ? "True" : "False", ")");
}

std::string ShapeTracker::render() const {
  std::string out = "ShapeTracker(views=(";
  for (std::size_t k = 0; k < views_.size(); ++k) {
    if (k != 0) out += ", ";
    out += views_[k].render();
  }
  return out + (views_.size() == 1 ? ",))" : "))");
}

}  // namespace strata
