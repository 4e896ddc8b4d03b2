// Tensor::repr(). Runs nothing: elements are shown if they are in memory.
//
//   Tensor([[1.0, 2.0],
//           [3.0, 4.0]], shape=(2, 2), dtype=f32, device=LLVM)
//   Tensor(shape=(2, 2), dtype=f32, device=LLVM, not realized)

#include <algorithm>

#include "strata/tensor/tensor.h"

namespace strata {

namespace {

constexpr std::int64_t kShownWhole =
    1000;  // larger tensors show the first and last kShownEnds elements along each axis
constexpr std::int64_t kShownEnds = 3;

class ElementTexts {
 public:
  ElementTexts(const Buffer& elements, const Index& shape)
      : elements_(elements),
        shape_(shape),
        strides_(*numbers(row_major_strides(to_ints(shape)))),
        is_cut_(product(shape) > kShownWhole) {}

  /// `indent`: the column of the first bracket.
  std::string text(std::size_t indent) const {
    if (shape_.empty()) return elements_[0].text();
    std::string out;
    Index at;  // the current index in each open bracket
    open(out, at);
    while (!at.empty()) {
      const std::size_t axis = at.size() - 1;
      const bool is_row = at.size() == shape_.size();
      if (is_row && shape_[axis] > 0) out += element(at);
      if (++at[axis] >= shape_[axis]) {
        at.pop_back();
        out += ']';
        continue;
      }
      std::string between = ",";
      if (is_row) between += ' ';
      if (!is_row) between.append(shape_.size() - at.size(), '\n').append(indent + at.size(), ' ');
      out += between;
      if (is_cut_ && at[axis] == kShownEnds && shape_[axis] > 2 * kShownEnds) {
        at[axis] = shape_[axis] - kShownEnds;
        out += "...";
        out += between;
      }
      if (!is_row) open(out, at);
    }
    return out;
  }

 private:
  /// Opens brackets down to a row or an empty axis.
  void open(std::string& out, Index& at) const {
    do {
      at.push_back(0);
      out += '[';
    } while (at.size() < shape_.size() && shape_[at.size() - 1] > 0);
  }
  std::string element(const Index& at) const {
    std::int64_t place = 0;
    for (std::size_t k = 0; k < at.size(); ++k) place += at[k] * strides_[k];
    return elements_[place].text();
  }

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
  if (shows) out += ElementTexts(buffer().toCPU(), *sizes).text(open.size()) + ", ";
  out += "shape=" + render(shape()) + ", dtype=" + dtype().name() + ", device=" + std::string(device().name());
  if (!is_realized()) out += ", not realized";
  if (requires_grad()) out += ", requires_grad";
  return out + ")";
}

}  // namespace strata
