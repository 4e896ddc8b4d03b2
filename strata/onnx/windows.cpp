// The arithmetic of windows.
#include "strata/onnx/windows.h"

#include <algorithm>

namespace strata::onnx {
namespace {

constexpr std::int64_t kLargestWindow = std::int64_t{1} << 31, kMostWindows = std::int64_t{1} << 24;

std::int64_t at_or(const Sizes& list, std::size_t k, std::int64_t otherwise) {
  return k < list.size() ? list[k] : otherwise;
}

std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The pads of both sides together with which there is a window for each step. They depend on the size.
std::int64_t same_pads(const WindowAxis& w, std::size_t k, const Ints& shape) {
  STRATA_CHECK(w.size.is_number(), shape, "axis ", k + 2, " of the shape ", render(shape),
               " has to be a number, since auto_pad with stride ", w.stride,
               " makes pads of it: load the model without bounds of it");
  const std::int64_t size = w.size.value(), count = rounded_up(size, w.stride);
  return std::max((count - 1) * w.stride + w.extent() - size, std::int64_t{0});
}

}  // namespace

std::vector<WindowAxis> windows_of(const Call& call, const Ints& shape, const Sizes& kernel, bool has_dilations) {
  STRATA_CHECK(shape.size() >= 2 && shape.size() - 2 == kernel.size(), shape, "a kernel of shape ", sizes_text(kernel),
               " for an input of shape ", render(shape));
  const std::size_t rank = kernel.size();
  const Sizes strides = call.integers("strides"), pads = call.integers("pads");
  const Sizes dilations = has_dilations ? call.integers("dilations") : Sizes();
  for (const Sizes* const list : {&strides, &dilations})
    STRATA_CHECK(list->empty() || list->size() == rank, shape, list->size(), " numbers for ", rank, " axes");
  STRATA_CHECK(pads.empty() || pads.size() == 2 * rank, shape, pads.size(), " pads for ", rank, " axes");
  const std::string& automatic = call.text("auto_pad");
  STRATA_CHECK(automatic == "NOTSET" || automatic == "VALID" || automatic == "SAME_UPPER" || automatic == "SAME_LOWER",
               domain, "auto_pad is ", automatic);
  std::vector<WindowAxis> out;
  for (std::size_t k = 0; k < rank; ++k) {
    WindowAxis w{
        .size = shape[k + 2], .kernel = kernel[k], .stride = at_or(strides, k, 1), .dilation = at_or(dilations, k, 1)};
    const bool is_sane = w.kernel >= 1 && w.stride >= 1 && w.dilation >= 1 && w.kernel < kLargestWindow &&
                         w.stride < kLargestWindow && w.dilation < kLargestWindow;
    STRATA_CHECK(is_sane, domain, "a kernel of ", w.kernel, " with stride ", w.stride, " and dilation ", w.dilation);
    if (automatic.starts_with("SAME")) {
      const std::int64_t total = w.stride == 1 ? w.extent() - 1 : same_pads(w, k, shape);
      w.before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after = total - w.before;
    } else {
      if (automatic == "NOTSET") {
        w.before = at_or(pads, k, 0);
        w.after = at_or(pads, k + rank, 0);
      }
      STRATA_CHECK(w.before >= 0 && w.after >= 0 && w.before < kLargestWindow && w.after < kLargestWindow, domain,
                   "the pads are ", w.before, " and ", w.after);
      const Int room = w.size + Int(w.before) + Int(w.after) - Int(w.extent());
      STRATA_CHECK(known(is_at_most(0, room)), shape, "a window of ", w.extent(), " does not fit into ",
                   w.size.render(), " elements with pads ", w.before, " and ", w.after);
      const std::int64_t most = rounded_up(room.vmax(), w.stride) + 1;
      STRATA_CHECK(most < kMostWindows, budget, most, " windows along an axis");
    }
    out.push_back(w);
  }
  return out;
}

ConvPadding::Sides pads_of(const std::vector<WindowAxis>& windows) {
  ConvPadding::Sides out;
  for (const WindowAxis& w : windows) out.emplace_back(w.before, w.after);
  return out;
}

Sizes strides_of(const std::vector<WindowAxis>& windows) {
  Sizes out;
  for (const WindowAxis& w : windows) out.push_back(w.stride);
  return out;
}

Sizes dilations_of(const std::vector<WindowAxis>& windows) {
  Sizes out;
  for (const WindowAxis& w : windows) out.push_back(w.dilation);
  return out;
}

}  // namespace strata::onnx
