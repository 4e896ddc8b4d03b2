#include "strata/engine/kernel_form.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "strata/graph/rebuild.h"

namespace strata {

namespace {

constexpr std::size_t kMostNumbers = 16, kMostOffsets = 8;  // arguments cost registers
constexpr std::string_view kOffset = "offset";              // the names of variables begin so

/// Whether the code for `op` is the same for each float among its operands.
bool takes_any_number(Ops op) {
  constexpr std::array kOps = {Ops::ADD,   Ops::SUB, Ops::MUL,   Ops::DIV,   Ops::MAX,   Ops::MIN,   Ops::POW,
                               Ops::ATAN2, Ops::MOD, Ops::CMPLT, Ops::CMPEQ, Ops::CMPNE, Ops::WHERE, Ops::STORE};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

/// The ShapeTracker by which a CONST's value is loaded from a buffer of one element: valid where that of the CONST is.
/// Nothing where the CONST is behind several Views with masks.
std::optional<ShapeTracker> of_one_element(const ShapeTracker& st) {
  const View& top = st.views().back();
  const bool is_masked_below =
      std::any_of(st.views().begin(), st.views().end() - 1, [](const View& v) { return v.mask().has_value(); });
  if (is_masked_below || (top.mask() && st.views().size() > 1)) return std::nullopt;
  return ShapeTracker({View::create(top.shape(), Ints(top.rank(), 0), 0, top.mask())});
}

/// Whether the node is a float that may be an argument.
bool is_number(const LazyNode& n) {
  if (n.op != Ops::CONST || !n.dtype.is_float()) return false;
  const auto& arg = std::get<ConstArg>(n.arg);
  const double value = arg.value.as_double();
  return value != 0 && value != 1 && value != -1 && value != 2 && of_one_element(arg.st);
}

/// A LOAD whose offset may be an argument: one View of numbers without a mask, and other offsets within the buffer.
struct Movable {
  const LazyNode* load;
  View view;
  std::int64_t least, most;  // offsets
};
std::optional<Movable> movable(const LazyNode& n) {
  const auto& arg = std::get<BufferArg>(n.arg);
  const ShapeTracker st = arg.st.simplify();
  if (st.views().size() != 1 || st.views()[0].mask() || !arg.size.is_number()) return std::nullopt;
  const View& view = st.views()[0];
  std::int64_t least = 0, most = arg.size.value() - 1;
  for (std::size_t d = 0; d < view.rank(); ++d) {
    const Int &size = view.shape()[d], &stride = view.strides()[d];
    std::int64_t reach = 0;
    if (!size.is_number() || !stride.is_number() || size.value() < 1) return std::nullopt;
    if (!try_mul(size.value() - 1, stride.value(), reach)) return std::nullopt;
    (reach < 0 ? least : most) -= reach;
  }
  if (!view.offset().is_number() || least >= most || view.offset().value() < least || view.offset().value() > most)
    return std::nullopt;
  return Movable{&n, view, least, most};
}

}  // namespace

std::optional<KernelForm> form_of(const LazyOp& kernel, const Values& values, bool may_move) {
  std::vector<const LazyNode*> numbers;
  std::vector<Movable> moved;
  std::unordered_set<const LazyNode*> fixed;
  std::unordered_set<int> written;
  const std::vector<const LazyNode*> nodes = postorder(kernel);
  for (const LazyNode* n : nodes) {
    if (n->op == Ops::STORE) written.insert(std::get<BufferArg>(n->arg).slot);
    if (is_number(*n)) numbers.push_back(n);
    for (const LazyOp& s : n->src)
      if (!takes_any_number(n->op)) fixed.insert(s.node());
  }
  std::erase_if(numbers, [&](const LazyNode* n) { return fixed.contains(n); });
  // NOTE: a user's variable may have the name that an offset would get.
  may_move = may_move && std::none_of(values.begin(), values.end(),
                                      [](const auto& v) { return v.first.name().starts_with(kOffset); });
  for (const LazyNode* n : nodes)
    if (may_move && n->op == Ops::LOAD && !written.contains(std::get<BufferArg>(n->arg).slot))
      if (std::optional<Movable> found = movable(*n)) moved.push_back(*std::move(found));
  if (numbers.size() > kMostNumbers) numbers.clear();
  if (moved.size() > kMostOffsets) moved.clear();
  if (numbers.empty() && moved.empty()) return std::nullopt;
  const auto first = static_cast<int>(buffers_of(kernel).size());
  KernelForm out{kernel, {}};
  std::unordered_map<const LazyNode*, LazyOp> arguments;
  for (const LazyNode* n : numbers) {
    const auto& arg = std::get<ConstArg>(n->arg);
    const int slot = first + static_cast<int>(out.numbers.size());
    arguments.emplace(n, LazyOp::load(slot, n->dtype, *of_one_element(arg.st), 1));
    out.numbers.push_back(arg.value);
  }
  for (const Movable& m : moved) {
    const auto& arg = std::get<BufferArg>(m.load->arg);
    const Variable offset(detail::message(kOffset, out.offsets.size()), m.least, m.most);
    const View view = View::create(m.view.shape(), m.view.strides(), Int(offset));
    arguments.emplace(m.load, LazyOp::load(arg.slot, m.load->dtype, ShapeTracker({view}), arg.size));
    out.offsets.emplace_back(offset.name(), m.view.offset().value());
  }
  detail::Rebuild build([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                        [&](const LazyOp& n) -> std::optional<LazyOp> {
                          const auto it = arguments.find(n.node());
                          return it == arguments.end() ? std::nullopt : std::optional(it->second);
                        });
  out.kernel = build(kernel);
  return out;
}

}  // namespace strata
