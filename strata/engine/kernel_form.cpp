#include "strata/engine/kernel_form.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "strata/codegen/stream_opts.h"
#include "strata/graph/order_rows.h"
#include "strata/graph/rebuild.h"

namespace strata {

namespace {

constexpr std::size_t kMostNumbers = 16, kMostOffsets = 8;  // arguments cost registers
constexpr std::string_view kOffset = "offset";              // the names of variables begin so
constexpr std::int64_t kLineBytes = 64;                     // bytes of a cache line

/// Whether the code for `op` is the same for each float among its operands.
bool takes_any_number(Ops op) {
  constexpr std::array kOps = {Ops::ADD,   Ops::SUB,   Ops::MUL,   Ops::DIV,   Ops::MAX,
                               Ops::MIN,   Ops::POW,   Ops::ATAN2, Ops::MOD,   Ops::CMPLT,
                               Ops::CMPEQ, Ops::CMPNE, Ops::WHERE, Ops::STORE, Ops::ASSOCIATIVE_SCAN};
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

bool is_product(const LazyOp& n) { return (n.op() == Ops::MUL || n.op() == Ops::MULACC) && n.dtype().is_float(); }

/// Whether a compiler may contract products of numbers in the code otherwise than those of arguments. With a number in
/// the code -(x * c) becomes x * -c, the arms of a choice may be multiplied when it compiles, and which of two products
/// is contracted may depend on the numbers.
bool may_contract_otherwise(std::span<const LazyNode* const> nodes, Contraction contraction) {
  if (contraction == Contraction::none) return false;
  const auto negates = [](const LazyOp& n) {
    return n.op() == Ops::CONST && std::get<ConstArg>(n.arg()).value.as_double() == -1;
  };
  const auto chooses = [](const LazyOp& n) {
    return n.op() == Ops::WHERE || n.op() == Ops::MAX || n.op() == Ops::MIN || n.op() == Ops::NEG || n.op() == Ops::ABS;
  };
  std::unordered_set<const LazyNode*> contracted;  // what a sum or a formula may contract
  for (const LazyNode* n : nodes) {
    constexpr std::array kExact = {Ops::STORE, Ops::MAX,   Ops::MIN, Ops::CMPLT,      Ops::CMPEQ,
                                   Ops::CMPNE, Ops::WHERE, Ops::MUL, Ops::REDUCE_MAX, Ops::REDUCE_MIN};
    if (std::find(kExact.begin(), kExact.end(), n->op) == kExact.end())
      for (const LazyOp& s : n->src) contracted.insert(s.node());
  }
  return std::any_of(nodes.begin(), nodes.end(), [&](const LazyNode* n) {
    const auto products = std::count_if(n->src.begin(), n->src.end(), is_product);
    if (n->op == Ops::MUL && n->dtype.is_float())
      return contracted.contains(n) && ((products > 0 && std::any_of(n->src.begin(), n->src.end(), negates)) ||
                                        std::any_of(n->src.begin(), n->src.end(), chooses));
    if (n->op == Ops::NEG || n->op == Ops::ABS) return products > 0;
    if (n->op != Ops::ADD && n->op != Ops::SUB && n->op != Ops::SUM && n->op != Ops::ASSOCIATIVE_SCAN) return false;
    return products > (contraction == Contraction::by_compilers ? 0 : 1);
  });
}

/// A LOAD or STORE whose offset may be an argument: one View of numbers without a mask, and other offsets within the
/// buffer.
struct Movable {
  const LazyNode* access;
  View view;
  std::int64_t least, most;  // offsets
  std::int64_t step = 1;     // offsets are its multiples
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

/// A Movable STORE. @pre it is the only access to its buffer
std::optional<Movable> movable_store(const LazyOp& kernel, const LazyNode& n) {
  std::optional<Movable> out = movable(n);
  if (!out || stream_opts(kernel, buffers_of(kernel)).empty()) return out;
  out->step = kLineBytes / static_cast<std::int64_t>(n.src[0].dtype().itemsize());
  out->least += (out->step - out->least % out->step) % out->step;
  out->most -= out->most % out->step;
  return out->view.offset().value() % out->step == 0 && out->least < out->most ? out : std::nullopt;
}

/// The LOADs and STOREs whose offsets may be arguments.
std::vector<Movable> movables(const LazyOp& kernel, std::span<const LazyNode* const> nodes) {
  std::unordered_map<int, int> stores, loads;  // how many, by slot
  for (const LazyNode* n : nodes)
    if (n->op == Ops::STORE || n->op == Ops::LOAD)
      ++(n->op == Ops::STORE ? stores : loads)[std::get<BufferArg>(n->arg).slot];
  std::vector<Movable> out;
  for (const LazyNode* n : nodes) {
    if (n->op != Ops::STORE && n->op != Ops::LOAD) continue;
    const int slot = std::get<BufferArg>(n->arg).slot;
    std::optional<Movable> found;
    if (n->op == Ops::LOAD && !stores.contains(slot)) found = movable(*n);
    if (n->op == Ops::STORE && stores[slot] == 1 && !loads.contains(slot)) found = movable_store(kernel, *n);
    if (found) out.push_back(*std::move(found));
  }
  return out;
}

}  // namespace

Contraction contraction_of(const Device& device) {
  const Target target = target_of(device);
  if (!target.contract) return Contraction::none;
  return target.explicit_fma ? Contraction::of_additions : Contraction::by_compilers;
}

std::optional<KernelForm> form_of(const LazyOp& kernel, const Values& values, Contraction contraction) {
  if (ordered_by(kernel) != nullptr) return std::nullopt;  // no code is compiled for it
  std::vector<const LazyNode*> numbers;
  std::unordered_set<const LazyNode*> fixed;
  const std::vector<const LazyNode*> nodes = postorder(kernel);
  std::unordered_set<const LazyNode*> closed;  // made of numbers alone
  for (const LazyNode* n : nodes) {
    const bool is_closed = is_elementwise(n->op) && std::all_of(n->src.begin(), n->src.end(), [&](const LazyOp& s) {
                             return closed.contains(s.node());
                           });
    if (n->op == Ops::CONST || is_closed) closed.insert(n);
    if (is_number(*n)) numbers.push_back(n);
    for (const LazyOp& s : n->src)
      if (!takes_any_number(n->op) || is_closed) fixed.insert(s.node());
  }
  std::erase_if(numbers, [&](const LazyNode* n) { return fixed.contains(n); });
  if (may_contract_otherwise(nodes, contraction)) numbers.clear();
  // NOTE: a user's variable may have the name that an offset would get.
  const bool may_move =
      std::none_of(values.begin(), values.end(), [](const auto& v) { return v.first.name().starts_with(kOffset); });
  std::vector<Movable> moved = may_move ? movables(kernel, nodes) : std::vector<Movable>();
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
  std::unordered_map<const LazyNode*, ShapeTracker> stored_at;
  for (const Movable& m : moved) {
    const auto& arg = std::get<BufferArg>(m.access->arg);
    const Variable offset(detail::message(kOffset, out.offsets.size()), m.least / m.step, m.most / m.step);
    const ShapeTracker st({View::create(m.view.shape(), m.view.strides(), Int(offset) * Int(m.step))});
    if (m.access->op == Ops::STORE)
      stored_at.emplace(m.access, st);
    else
      arguments.emplace(m.access, LazyOp::load(arg.slot, m.access->dtype, st, arg.size));
    out.offsets.emplace_back(offset.name(), m.view.offset().value() / m.step);
  }
  detail::Rebuild build(
      [&](const LazyOp& n, const std::vector<LazyOp>& sources) {
        const auto it = stored_at.find(n.node());
        if (it == stored_at.end()) return n.with_sources(sources);
        const auto& arg = std::get<BufferArg>(n.arg());
        return LazyOp::store(arg.slot, it->second, sources[0], arg.size);
      },
      [&](const LazyOp& n) -> std::optional<LazyOp> {
        const auto it = arguments.find(n.node());
        return it == arguments.end() ? std::nullopt : std::optional(it->second);
      });
  out.kernel = build(kernel);
  return out;
}

}  // namespace strata
