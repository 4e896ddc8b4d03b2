#include "strata/engine/in_place.h"

#include <unordered_map>
#include <unordered_set>

#include "strata/graph/rebuild.h"
#include "strata/ir/ops.h"

namespace strata {

namespace {

const BufferArg& buffer_arg(const LazyNode& n) { return std::get<BufferArg>(n.arg); }

/// The one load of the buffer; null if there are several.
const LazyNode* only_load(std::span<const LazyNode* const> nodes, int slot) {
  const LazyNode* out = nullptr;
  for (const LazyNode* n : nodes) {
    if (n->op != Ops::LOAD || buffer_arg(*n).slot != slot) continue;
    if (out != nullptr) return nullptr;
    out = n;
  }
  return out;
}

/// Whether the value of `store` is computed from `load` by elementwise ops.
bool is_elementwise_of(const LazyNode& store, const LazyNode* load) {
  std::vector<const LazyNode*> open = {store.src[0].node()};
  std::unordered_set<const LazyNode*> seen;
  while (!open.empty()) {
    const LazyNode* const n = open.back();
    open.pop_back();
    if (n == load) return true;
    if (!seen.insert(n).second || !is_elementwise(n->op)) continue;
    for (const LazyOp& s : n->src) open.push_back(s.node());
  }
  return false;
}

/// The box of indices at which the CONST is true.
std::optional<Mask> box_of_truth(const LazyOp& n) {
  if (n.op() != Ops::CONST) return std::nullopt;
  const auto& arg = std::get<ConstArg>(n.arg());
  const ShapeTracker st = arg.st.simplify();
  if (!n.dtype().is_bool() || arg.value.bits() == 0 || st.views().size() != 1) return std::nullopt;
  return st.views()[0].mask();
}

/// The elements of `value` in the box; nothing where they are not computed element by element.
std::optional<LazyOp> in_box(const LazyOp& value, const Mask& box) {
  for (const LazyNode* n : postorder(value))
    if (n->op != Ops::LOAD && n->op != Ops::CONST && n->op != Ops::IOTA && !is_elementwise(n->op)) return std::nullopt;
  const auto same_op = [](const LazyOp& n, const std::vector<LazyOp>& sources) {
    if (n.op() == Ops::CAST) return sources[0].cast(n.dtype());
    return n.op() == Ops::BITCAST ? sources[0].bitcast(n.dtype()) : LazyOp::alu(n.op(), sources);
  };
  detail::Rebuild build(same_op, [&](const LazyOp& n) -> std::optional<LazyOp> {
    if (n.op() == Ops::CONST) {
      const auto& c = std::get<ConstArg>(n.arg());
      return LazyOp::constant(c.value, c.st.shrink(box));
    }
    if (n.op() == Ops::IOTA) return LazyOp::iota(n.dtype(), std::get<ShapeTracker>(n.arg()).shrink(box));
    if (n.op() != Ops::LOAD) return std::nullopt;
    const BufferArg& b = buffer_arg(*n.node());
    return LazyOp::load(b.slot, n.dtype(), b.st.shrink(box), b.size);
  });
  return build(value);
}

}  // namespace

std::optional<LazyOp> kernel_of_changes(const LazyOp& ast) {
  if (ast.op() != Ops::SINK || ast.src().size() != 1) return std::nullopt;
  const BufferArg& to = buffer_arg(*ast.src(0).node());
  const LazyOp choice = ast.src(0).node()->src[0];
  if (choice.op() != Ops::WHERE || choice.node()->src[2].op() != Ops::LOAD) return std::nullopt;
  const BufferArg& old = buffer_arg(*choice.node()->src[2].node());
  if (old.slot != to.slot || !(old.st == to.st) || !(old.size == to.size)) return std::nullopt;
  const std::optional<Mask> box = box_of_truth(choice.node()->src[0]);
  const std::optional<LazyOp> value = box ? in_box(choice.node()->src[1], *box) : std::nullopt;
  if (!value) return std::nullopt;
  return LazyOp::sink({LazyOp::store(to.slot, to.st.shrink(*box), *value, to.size)});
}

std::optional<LazyOp> kernel_in_place(const LazyOp& ast, int output, int input) {
  if (ast.op() != Ops::SINK) return std::nullopt;
  const std::vector<const LazyNode*> nodes = postorder(ast);
  const LazyNode* const load = only_load(nodes, input);
  const LazyNode* store = nullptr;
  for (const LazyOp& s : ast.src())
    if (buffer_arg(*s.node()).slot == output) store = store == nullptr ? s.node() : nullptr;
  if (load == nullptr || store == nullptr || load->dtype != store->src[0].dtype() ||
      !(buffer_arg(*load).st == buffer_arg(*store).st) || !(buffer_arg(*load).size == buffer_arg(*store).size) ||
      !is_elementwise_of(*store, load))
    return std::nullopt;
  std::unordered_map<const LazyNode*, LazyOp> before = {{ast.node(), ast}}, made;
  for (const LazyNode* n : nodes)
    for (const LazyOp& s : n->src) before.emplace(s.node(), s);
  std::vector<LazyOp> sources;
  for (const LazyNode* n : nodes) {
    sources.clear();
    for (const LazyOp& s : n->src) sources.push_back(made.at(s.node()));
    const auto rewritten = [&]() -> LazyOp {
      if (n->op == Ops::SINK) return LazyOp::sink(sources);
      if (n->op == Ops::STORE)
        return LazyOp::store(buffer_arg(*n).slot, buffer_arg(*n).st, sources[0], buffer_arg(*n).size);
      if (n->op != Ops::LOAD) return sources.empty() ? before.at(n) : before.at(n).with_sources(sources);
      const BufferArg& b = buffer_arg(*n);
      return LazyOp::load(b.slot == input ? output : b.slot - (b.slot > input ? 1 : 0), n->dtype, b.st, b.size);
    };
    made.emplace(n, rewritten());
  }
  return made.at(ast.node());
}

}  // namespace strata
