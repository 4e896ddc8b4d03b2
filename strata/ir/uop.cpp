// UOpGraph: adding UOps, finding equal ones, and the functions for common UOps.
#include "strata/ir/uop.h"

#include <algorithm>
#include <limits>

#include "strata/base/check.h"
#include "strata/base/meter.h"
#include "strata/ir/uop_rules.h"

namespace strata {
namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}
std::uint64_t mix(std::uint64_t h, std::int64_t v) { return mix(h, static_cast<std::uint64_t>(v)); }
std::uint64_t mix(std::uint64_t h, std::string_view text) {
  for (const char c : text) h = mix(h, std::uint64_t{static_cast<unsigned char>(c)});
  return mix(h, std::uint64_t{text.size()});
}
std::uint64_t mix(std::uint64_t h, DType dtype) {
  const auto id = static_cast<std::uint64_t>(dtype.id());
  return mix(h, id << 8 | static_cast<std::uint64_t>(dtype.lanes()) << 1 | std::uint64_t{dtype.is_pointer()});
}

std::uint64_t mix_arg(std::uint64_t h, std::monostate) { return h; }
std::uint64_t mix_arg(std::uint64_t h, std::int64_t number) { return mix(h, number); }
std::uint64_t mix_arg(std::uint64_t h, const Scalar& scalar) { return mix(mix(h, scalar.dtype()), scalar.bits()); }
std::uint64_t mix_arg(std::uint64_t h, Ops op) { return mix(h, static_cast<std::uint64_t>(op)); }
std::uint64_t mix_arg(std::uint64_t h, const Global& global) {
  return mix(mix(h, std::int64_t{global.slot}), global.name);
}
std::uint64_t mix_arg(std::uint64_t h, const Local& local) { return mix(mix(h, local.size), local.name); }
std::uint64_t mix_arg(std::uint64_t h, const Special& special) {
  return mix(mix(mix(h, std::int64_t{special.axis}), special.size), special.name);
}
std::uint64_t mix_arg(std::uint64_t h, const LoopReduction& reduction) {
  return mix(mix_arg(h, reduction.op), reduction.loops);
}
std::uint64_t mix_arg(std::uint64_t h, const Variable& variable) { return mix(h, std::uint64_t{variable.hash()}); }

std::uint64_t hash_of(UOps op, DType dtype, std::span<const UOp> src, const UOpArg& arg) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(op), dtype);
  for (const UOp s : src) h = mix(h, std::uint64_t{s.num()});
  h = mix(h, std::uint64_t{arg.index()});
  return std::visit([&](const auto& held) { return mix_arg(h, held); }, arg);
}

bool equal(const Variable& a, const Variable& b) { return same(a, b); }
template <class T>
bool equal(const T& a, const T& b) {
  return a == b;
}
bool equal_args(const UOpArg& a, const UOpArg& b) {
  if (a.index() != b.index()) return false;
  const auto held = [&](const auto& x) { return equal(x, std::get<std::decay_t<decltype(x)>>(b)); };
  return std::visit(held, a);
}

/// Replaces a bound Variable by its plain one: values are given when the kernel runs and are no part of the kernel.
void unbind_variable(UOpArg& arg) {
  const auto* variable = std::get_if<Variable>(&arg);
  if (variable != nullptr && variable->is_variable() && variable->bound_value()) arg = variable->unbind().first;
}

constexpr std::uint64_t kUnitsOfAUOp = 16;

}  // namespace

std::string spec_name(UOps op) { return detail::message("UOps.", row(op).name); }

UOp UOpGraph::add(UOps op, DType dtype, std::span<const UOp> src, UOpArg arg, bool cachable) {
  Meter::charge(kUnitsOfAUOp + src.size());
  for (std::size_t k = 0; k < src.size(); ++k)
    STRATA_CHECK(owns(src[k]), domain, "[", row(op).name, "] source ", k, " is not a UOp of this graph");
  check_uop(op, dtype, src, arg);
  unbind_variable(arg);
  const std::uint64_t hash = cachable ? hash_of(op, dtype, src, arg) : 0;
  if (cachable)
    if (const UOp old = find(hash, op, dtype, src, arg)) return old;
  STRATA_CHECK(size() < std::numeric_limits<std::uint32_t>::max(), budget, "[", row(op).name, "] the list is full");
  const auto num = static_cast<std::uint32_t>(size());
  auto node = std::make_unique<UOpNode>(UOpNode{op, dtype, num, {}, std::move(arg)});
  node->src.append(src.data(), src.size());
  // Reserve first, so that nothing throws between the two insertions.
  if (nodes_.size() == nodes_.capacity()) nodes_.reserve(2 * nodes_.size() + 16);
  if (cachable) known_.emplace(hash, num);
  nodes_.push_back(std::move(node));
  return (*this)[num];
}

UOp UOpGraph::find(std::uint64_t hash, UOps op, DType dtype, std::span<const UOp> src, const UOpArg& arg) const {
  const auto [first, last] = known_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const UOp old = (*this)[at->second];
    if (old.op() == op && old.dtype() == dtype && equal_args(old.arg(), arg) && std::ranges::equal(old.src(), src))
      return old;
  }
  return {};
}

void UOpGraph::mark_seldom(UOp where) {
  const bool is_where = owns(where) && where.op() == UOps::ALU && where.alu() == Ops::WHERE;
  STRATA_ASSERT(is_where, "[mark_seldom] not a WHERE of this graph");
  nodes_[where.num()]->is_seldom = true;
}

bool UOpGraph::owns(UOp u) const { return u && u.num() < size() && (*this)[u.num()] == u; }

UOp UOpGraph::constant(DType dtype, std::int64_t value) {
  return add(UOps::CONST, dtype, {}, Scalar::of(dtype.scalar(), value));
}

UOp UOpGraph::alu(Ops op, std::span<const UOp> operands) {
  std::vector<DType> from;
  from.reserve(operands.size());
  for (const UOp u : operands) {
    STRATA_CHECK(u, domain, "[", row(op).name, "] an operand is an empty handle");
    from.push_back(u.dtype());
  }
  return add(UOps::ALU, result_dtype(op, from), operands, op);
}
UOp UOpGraph::alu(Ops op, std::initializer_list<UOp> operands) {
  return alu(op, std::span<const UOp>(operands.begin(), operands.size()));
}

UOp UOpGraph::cast(UOp value, DType to) {
  STRATA_CHECK(value, domain, "[CAST] the value is an empty handle");
  const DType from[] = {value.dtype()};
  const DType dtype = result_dtype(Ops::CAST, from, to.is_pointer() ? to : to.scalar());
  return dtype == value.dtype() ? value : add(UOps::CAST, dtype, {value});
}
UOp UOpGraph::bitcast(UOp value, DType to) {
  STRATA_CHECK(value, domain, "[BITCAST] the value is an empty handle");
  const DType from[] = {value.dtype()};
  const DType dtype = result_dtype(Ops::BITCAST, from, to.is_pointer() ? to : to.scalar());
  return dtype == value.dtype() ? value : add(UOps::BITCAST, dtype, {value});
}

UOp UOpGraph::broadcast(UOp scalar, int lanes) {
  STRATA_CHECK(scalar, domain, "[VECTORIZE] the scalar is an empty handle");
  if (lanes == 1) return scalar;
  const DType dtype = scalar.dtype().vec(lanes);
  if (scalar.op() == UOps::CONST) return add(UOps::CONST, dtype, {}, scalar.arg());
  return add(UOps::VECTORIZE, dtype, std::vector<UOp>(static_cast<std::size_t>(lanes), scalar));
}

UOp UOpGraph::lane(UOp vector, int k) {
  STRATA_CHECK(vector, domain, "[GEP] the vector is an empty handle");
  if (!vector.dtype().is_vector()) return vector;
  STRATA_CHECK(k >= 0 && k < vector.dtype().lanes(), domain, "[GEP] lane ", k, " is not in ", vector.dtype().name());
  if (vector.op() == UOps::CONST) return constant(vector.constant());
  // An accumulator may have changed since the vector was made of it: take the lane of the vector.
  const bool joined = vector.op() == UOps::VECTORIZE;
  const UOp own = joined ? vector.src(static_cast<std::size_t>(k)) : UOp();
  if (own && own.op() != UOps::DEFINE_ACC) return own;
  return add(UOps::GEP, vector.dtype().scalar(), {vector}, std::int64_t{k});
}

}  // namespace strata
