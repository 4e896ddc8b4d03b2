#include "strata/render/usage.h"

#include <algorithm>

namespace strata::rendering {
namespace {

/// The greatest depth of an expression; deeper ones are split by variables, for readability, and because compilers
/// recurse over expressions.
constexpr std::uint8_t kDeepest = 20;

bool is_end(const Scalar& value, bool largest) {
  const DType dtype = value.dtype();
  if (dtype.is_float()) return false;
  if (dtype.is_bool()) return value.as_bool() == largest;
  const int bits = dtype.bits();
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  const std::uint64_t least = dtype.is_unsigned() ? 0 : sign;
  return value.bits() == (largest ? ones ^ least : least);
}

UOp without_noops(UOp u) {
  while (u.op() == UOps::ALU && u.alu() == Ops::NOOP) u = u.src(0);
  return u;
}

bool negates(UOp u) {
  u = without_noops(u);
  if (u.op() != UOps::ALU) return false;
  const auto is_negative = [](UOp k) { return k.op() == UOps::CONST && k.constant().as_double() < 0; };
  return u.alu() == Ops::NEG || u.alu() == Ops::SUB ||
         (u.alu() == Ops::MUL && (is_negative(u.src(0)) || is_negative(u.src(1))));
}

std::optional<bool> folded_comparison(UOp u) {
  const Ops op = u.alu();
  const bool alike = without_noops(u.src(0)) == without_noops(u.src(1));
  if (op == Ops::CMPLT) {
    if (alike) return false;
    const Scalar* a = constant_of(u.src(0));
    const Scalar* b = constant_of(u.src(1));
    if ((a != nullptr && is_end(*a, true)) || (b != nullptr && is_end(*b, false))) return false;
  } else if (alike && !u.src(0).dtype().is_float()) {
    if (op == Ops::CMPEQ) return true;
    if (op == Ops::CMPNE) return false;
  }
  return std::nullopt;
}

bool is_left_out(UOp u) {
  if (u.alu() != Ops::SHL && !(u.alu() == Ops::SHR && u.dtype().is_unsigned())) return false;
  const Scalar* count = constant_of(u.src(1));
  return count != nullptr && count->bits() >= static_cast<std::uint64_t>(u.dtype().bits());
}

/// Whether `u` is a MAX with the largest value of the dtype, or a MIN with the smallest: its result is that value.
bool is_at_end(UOp u) {
  if (u.alu() != Ops::MAX && u.alu() != Ops::MIN) return false;
  const auto end = [&](UOp s) {
    const Scalar* c = constant_of(s);
    return c != nullptr && !c->dtype().is_bool() && is_end(*c, u.alu() == Ops::MAX);
  };
  return end(u.src(0)) || end(u.src(1));
}

Scalar end_of(UOp u) {
  const DType dtype = u.dtype().scalar();
  return Scalar::of(dtype, u.alu() == Ops::MAX ? highest(dtype) : lowest(dtype));
}

bool is_acc(UOp u) { return u.op() == UOps::DEFINE_ACC || u.op() == UOps::PHI; }

/// A store to scratch memory, which is only needed if something is loaded from the memory.
bool fills_scratch(UOp u) { return u.op() == UOps::STORE && u.src(0).op() == UOps::DEFINE_LOCAL; }

bool is_expression(UOp u) {
  switch (u.op()) {
    case UOps::ALU:
    case UOps::CAST:
    case UOps::BITCAST:
    case UOps::VECTORIZE:
    case UOps::GEP: return true;
    default: return false;
  }
}

}  // namespace

bool may_be_absolute(UOp where) { return where.dtype().is_float() && (negates(where.src(1)) || negates(where.src(2))); }

std::optional<Scalar> folded(UOp u) {
  if (u.op() != UOps::ALU) return std::nullopt;
  if (row(u.alu()).typing == OpTyping::compare) {
    const std::optional<bool> value = folded_comparison(u);
    return value ? std::optional(Scalar(*value)) : std::nullopt;
  }
  if (is_at_end(u)) return end_of(u);
  return is_left_out(u) ? std::optional(Scalar::of(u.dtype().scalar(), std::int64_t{0})) : std::nullopt;
}

Usage::Usage(const UOpGraph& list) : facts_(list.size()) {
  find_live(list);
  find_blocks(list);
  find_data(list);
  find_inlined(list);
}

void Usage::find_live(const UOpGraph& list) {
  std::vector<UOp> work;
  std::vector<std::vector<UOp>> assigned(list.size());
  const auto mark = [&](UOp u) {
    if (facts_[u.num()].live) return;
    facts_[u.num()].live = true;
    work.push_back(u);
  };
  for (const UOp u : list) {
    if (u.op() == UOps::PHI) {
      assigned[u.src(0).num()].push_back(u);
      ++facts_[u.src(0).num()].assignments;
    }
    if (fills_scratch(u)) assigned[u.src(0).num()].push_back(u);
  }
  for (const UOp u : list) {
    const bool stores = u.op() == UOps::STORE && !fills_scratch(u);
    const bool acts = stores || u.op() == UOps::LOOP || u.op() == UOps::ENDLOOP || u.op() == UOps::IF ||
                      u.op() == UOps::ENDIF || u.op() == UOps::BARRIER;
    if (acts) mark(u);
  }
  while (!work.empty()) {
    const UOp u = work.back();
    work.pop_back();
    for (const UOp assignment : assigned[u.num()]) mark(assignment);
    if (folded(u)) continue;
    for (const UOp s : u.src()) {
      mark(s);
      ++facts_[s.num()].uses;
      facts_[s.num()].user = static_cast<std::uint32_t>(u.num());
    }
  }
}

void Usage::find_blocks(const UOpGraph& list) {
  std::vector<std::uint32_t> blocks{0};
  std::uint32_t epoch = 0, made = 0;
  for (const UOp u : list) {
    Facts& f = facts_[u.num()];
    f.outer = blocks.back();
    f.epoch = epoch;
    if (u.op() == UOps::LOOP || u.op() == UOps::IF) blocks.push_back(++made);
    if (u.op() == UOps::ENDLOOP || u.op() == UOps::ENDIF) blocks.pop_back();
    f.block = blocks.back();
    if (u.op() == UOps::PHI || u.op() == UOps::LOOP || u.op() == UOps::ENDLOOP || u.op() == UOps::ENDIF) ++epoch;
  }
}

void Usage::find_data(const UOpGraph& list) {
  for (std::size_t n = list.size(); n-- > 0;) {
    const UOp u = list[n];
    if (!facts_[n].live) continue;
    for (std::size_t k = 0; k < u.src().size(); ++k) {
      const bool access = u.op() == UOps::LOAD || u.op() == UOps::STORE;
      const bool value = (u.op() == UOps::LOAD && k == 3) || (u.op() == UOps::STORE && k == 2) || u.op() == UOps::PHI ||
                         u.op() == UOps::DEFINE_ACC || (!access && facts_[n].data);
      if (value) facts_[u.src(k).num()].data = true;
    }
  }
}

void Usage::find_inlined(const UOpGraph& list) {
  for (const UOp u : list) {
    Facts& f = facts_[u.num()];
    f.reads_acc = is_acc(u);
    if (!f.live || !is_expression(u)) continue;
    std::uint8_t depth = 0;
    for (const UOp s : u.src()) {
      const Facts& source = facts_[s.num()];
      if (!source.inlined && !is_acc(s)) continue;
      depth = std::max(depth, source.depth);
      f.reads_acc = f.reads_acc || source.reads_acc;
    }
    f.depth = static_cast<std::uint8_t>(depth + 1);
    const Facts& user = facts_[f.user];
    const bool still = !f.reads_acc || (f.epoch == user.epoch && list[f.user].op() != UOps::LOOP);
    f.inlined = f.uses == 1 && f.block == user.outer && f.depth <= kDeepest && still;
  }
}

}  // namespace strata::rendering
