// Tensors as texts. Nothing is run for one: elements are shown where they are in memory.
//
//   Tensor([[1.0, 2.0],
//           [3.0, 4.0]], shape=(2, 2), dtype=f32, device=LLVM)
//   Tensor(shape=(2, 2), dtype=f32, device=LLVM, not realized)

#include <algorithm>

#include "strata/tensor/tensor.h"

namespace strata {

namespace {

constexpr std::int64_t kShownWhole = 1000;  // of more elements, the first and last ones along each axis
constexpr std::int64_t kShownEnds = 3;

class ElementTexts {
 public:
  ElementTexts(const Buffer& elements, const Index& shape)
      : elements_(elements),
        shape_(shape),
        strides_(*numbers(row_major_strides(to_ints(shape)))),
        is_cut_(product(shape) > kShownWhole) {}

  /// Recursive: as deep as there are dimensions.
  std::string text(std::size_t depth, std::int64_t first, std::size_t indent) const {
    if (depth == shape_.size()) return elements_[first].text();
    const bool is_row = depth + 1 == shape_.size();
    const std::string between =
        is_row ? ", "
               : ",\n" + std::string(shape_.size() - depth - 2, '\n') + std::string(indent + 1, ' ');
    std::string out = "[";
    for (std::int64_t k = 0; k < shape_[depth]; ++k) {
      if (k > 0) out += between;
      if (is_cut_ && k == kShownEnds && shape_[depth] > 2 * kShownEnds) {
        k = shape_[depth] - kShownEnds;
        out += "..." + between;
      }
      out += text(depth + 1, first + k * strides_[depth], indent + 1);
    }
    return out + "]";
  }

 private:
  Buffer elements_;
  Index shape_, strides_;
  bool is_cut_;
};

}  // namespace

std::string Tensor::repr() const {
  constexpr std::string_view open = "Tensor(";
  std::string out(open);
  const auto sizes = numbers(shape());
  const bool shows = sizes.has_value() && is_realized();
  if (shows) out += ElementTexts(buffer().toCPU(), *sizes).text(0, 0, open.size()) + ", ";
  out += "shape=" + render(shape()) + ", dtype=" + dtype().name() +
         ", device=" + std::string(device().name());
  if (!is_realized()) out += ", not realized";
  if (requires_grad()) out += ", requires_grad";
  return out + ")";
}

}  // namespace strata
