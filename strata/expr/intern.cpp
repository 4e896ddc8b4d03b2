// The intern table of expressions. Nodes die by a worklist that is linked through the dead nodes themselves.
#include <cstring>
#include <memory>
#include <new>

#include "strata/base/fork.h"
#include "strata/base/intern_table.h"
#include "strata/base/meter.h"
#include "strata/base/text.h"
#include "strata/expr/node.h"

namespace strata {
namespace {

constexpr std::uint64_t kOrderMask = (std::uint64_t{1} << 56) - 1;
constexpr std::uint64_t kInternUnits = 24;  // Meter units for a node without operands: mostly the cost of a cache miss
constexpr std::uint64_t kStepsToCharge = 64;
constexpr std::int64_t kSmallMin = -256, kSmallMax = 1024;

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

// A handle on a live node; null for a dying one. @pre the shard is locked, so no other thread sees the count while it
// is raised and lowered again
Node* revive(Node* n) {
  if (n->has(kImmortal) || n->refs.fetch_add(1, std::memory_order_acq_rel) != 0) [[likely]]
    return n;
  n->refs.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

// Never destroyed: handles in static storage may outlive every static table.
detail::InternTable<Node, 64>& table() {
  static auto& nodes = *new detail::InternTable<Node, 64>;
  return nodes;
}

Node* allocate(Op op, std::size_t arity, std::size_t payload, std::uint64_t hash) {
  void* memory = ::operator new(sizeof(Node) + payload);
  Node* n = new (memory) Node{};
  n->refs.store(1, std::memory_order_relaxed);
  n->op = op;
  n->arity = static_cast<std::uint16_t>(arity);
  n->hash = hash;
  n->order = static_cast<std::uint64_t>(op) << 56;
  return n;
}

void fill_constant(Node& n, std::int64_t value) {
  n.lo = n.hi = n.residue = value;
  n.modulus = 0;
  n.flags = static_cast<std::uint8_t>(n.flags | kTight | kDense | kLinear);
}

std::uint64_t hash_constant(std::int64_t value) { return mix_hash(1, static_cast<std::uint64_t>(value)); }

// Constants of small magnitude are made once and not counted.
const Node* small_constants() {
  static const Node* const all = [] {
    const std::size_t count = static_cast<std::size_t>(kSmallMax - kSmallMin + 1);
    Node* nodes = static_cast<Node*>(::operator new(count * sizeof(Node)));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t value = kSmallMin + static_cast<std::int64_t>(i);
      Node* n = new (nodes + i) Node{};
      n->op = Op::Const;
      n->flags = kImmortal;
      n->hash = hash_constant(value);
      n->order = static_cast<std::uint64_t>(Op::Const) << 56;
      fill_constant(*n, value);
    }
    return nodes;
  }();
  return all;
}

const ForkHook fork_hook(
    ForkOrder::expressions,
    [] {
      small_constants();
      table().hold();
    },
    [] { table().let_go(); });

void destroy(Node* n) {
  if (n->is(Op::Var)) delete &n->variable();
  n->~Node();
  ::operator delete(n);
}

// Drops one count. After the last one, unlinks the node and adds it to the list of dead nodes (linked through `order`).
void drop(const Node* shared, Node*& dead) noexcept {
  if (shared->has(kImmortal) || shared->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Node* n = const_cast<Node*>(shared);
  table().remove(n);
  n->order = reinterpret_cast<std::uintptr_t>(dead);
  dead = n;
}

int three_way(std::int64_t a, std::int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

int compare_variables(const VariableInfo& a, const VariableInfo& b) {
  if (const int c = natural_compare(a.name, b.name)) return c;
  if (const int c = three_way(a.min, b.min)) return c;
  if (const int c = three_way(a.max, b.max)) return c;
  if (a.bound != b.bound) return a.bound ? 1 : -1;
  return three_way(a.value, b.value);
}

}  // namespace

// Unlinks and frees a node whose last count is gone, and every node that dies with it.
[[gnu::noinline]] static void bury(const Node* n) noexcept;

void release(const Node* n) noexcept {
  if (n->has(kImmortal) || n->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  bury(n);
}

static void bury(const Node* shared) noexcept {
  Node* dead = const_cast<Node*>(shared);
  table().remove(dead);
  dead->order = 0;
  while (dead != nullptr) {
    Node* victim = dead;
    dead = reinterpret_cast<Node*>(static_cast<std::uintptr_t>(victim->order));
    for_each_child(victim, [&](const Node* child) { drop(child, dead); });
    destroy(victim);
  }
}

// Compares the prefixes `order` first. Equal prefixes are decided by the first difference of the operands: a
// coefficient decides at once, a child is what the loop compares next.
int compare_nodes(const Node* a, const Node* b) {
  for (std::uint64_t steps = 1; a != b; ++steps) {
    if (steps % kStepsToCharge == 0) Meter::charge(kStepsToCharge);
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    if (a->is(Op::Const)) return three_way(a->value(), b->value());
    if (a->is(Op::Var)) return compare_variables(a->variable(), b->variable());
    const std::size_t common = std::min(a->arity, b->arity);
    const Node *x = nullptr, *y = nullptr;
    if (a->is(Op::Sum)) {
      for (std::size_t i = 0; i < common && x == nullptr; ++i) {
        const Term &s = a->terms()[i], &t = b->terms()[i];
        if (s.atom != t.atom) {
          x = s.atom;
          y = t.atom;
        } else if (s.coefficient != t.coefficient) {
          return three_way(s.coefficient, t.coefficient);
        }
      }
      if (x == nullptr && a->arity == b->arity) return three_way(a->k0(), b->k0());
    } else {
      for (std::size_t i = 0; i < common && x == nullptr; ++i) {
        if (a->src(i) != b->src(i)) {
          x = a->src(i);
          y = b->src(i);
        }
      }
    }
    if (x == nullptr) return three_way(a->arity, b->arity);
    a = x;
    b = y;
  }
  return 0;
}

Expr intern_constant(std::int64_t value) {
  if (value >= kSmallMin && value <= kSmallMax) return Expr::adopt(small_constants() + (value - kSmallMin));
  Meter::charge(kInternUnits);
  const std::uint64_t hash = hash_constant(value);
  return Expr::adopt(table().find_or_make(
      hash, [&](const Node& n) { return n.is_const(value); }, revive,
      [&] {
        Node* n = allocate(Op::Const, 0, 0, hash);
        fill_constant(*n, value);
        return n;
      }));
}

Expr intern_variable(const VariableInfo& info) {
  std::uint64_t hash = mix_hash(mix_hash(mix_hash(2, hash_text(info.name)), static_cast<std::uint64_t>(info.min)),
                                static_cast<std::uint64_t>(info.max));
  if (info.bound) hash = mix_hash(hash + 1, static_cast<std::uint64_t>(info.value));
  return Expr::adopt(table().find_or_make(
      hash, [&](const Node& n) { return n.is(Op::Var) && compare_variables(n.variable(), info) == 0; }, revive,
      [&] {
        auto owned = std::make_unique<const VariableInfo>(info);
        Node* n = allocate(Op::Var, 0, sizeof(owned.get()), hash);
        n->order |= natural_key(info.name);
        n->variables = std::uint64_t{1} << (mix_hash(3, hash_text(info.name)) >> 58);
        *reinterpret_cast<const VariableInfo**>(n + 1) = owned.release();
        compute_facts(*n);
        return n;
      }));
}

Expr intern_sum(const Linear& sum) {
  if (sum.terms.empty()) return intern_constant(sum.k0);
  if (sum.k0 == 0 && sum.terms.size() == 1 && sum.terms[0].coefficient == 1) return Expr::share(sum.terms[0].atom);
  const std::size_t arity = sum.terms.size(), bytes = arity * sizeof(Term);
  Meter::charge(kInternUnits + arity);
  STRATA_ASSERT(arity <= kMaxArity, "a sum of ", arity, " terms");
  std::uint64_t hash = mix_hash(4, static_cast<std::uint64_t>(sum.k0));
  for (const Term& t : sum.terms) hash = mix_hash(hash + static_cast<std::uint64_t>(t.coefficient), t.atom->hash);
  return Expr::adopt(table().find_or_make(
      hash,
      [&](const Node& n) {
        if (!n.is(Op::Sum) || n.arity != arity || n.k0() != sum.k0) return false;
        for (std::size_t i = 0; i < arity; ++i) {
          if (n.terms()[i].atom != sum.terms[i].atom || n.terms()[i].coefficient != sum.terms[i].coefficient)
            return false;
        }
        return true;
      },
      revive,
      [&] {
        Node* n = allocate(Op::Sum, arity, sizeof(std::int64_t) + bytes, hash);
        n->order |= sum.terms[0].atom->order & kOrderMask;
        auto* payload = reinterpret_cast<std::int64_t*>(n + 1);
        *payload = sum.k0;
        std::memcpy(payload + 1, sum.terms.data(), bytes);
        for (const Term& t : sum.terms) {
          retain(t.atom);
          n->variables |= t.atom->variables;
        }
        compute_facts(*n);
        return n;
      }));
}

namespace {

std::uint64_t hash_sources(Op op, std::span<const Node* const> sources) {
  std::uint64_t hash = mix_hash(5, static_cast<std::uint64_t>(op));
  for (const Node* s : sources) hash = mix_hash(hash, s->hash);
  return hash;
}

bool has_sources(const Node& n, Op op, std::span<const Node* const> sources) {
  return n.op == op && n.arity == sources.size() && std::equal(sources.begin(), sources.end(), n.sources().begin());
}

}  // namespace

Expr intern(Op op, std::span<const Node* const> sources) {
  Meter::charge(kInternUnits + sources.size());
  const std::uint64_t hash = hash_sources(op, sources);
  STRATA_ASSERT(sources.size() <= kMaxArity, to_string(op), " of ", sources.size(), " operands");
  return Expr::adopt(table().find_or_make(
      hash, [&](const Node& n) { return has_sources(n, op, sources); }, revive,
      [&] {
        Node* n = allocate(op, sources.size(), sources.size_bytes(), hash);
        n->order |= sources[0]->order & kOrderMask;
        std::memcpy(static_cast<void*>(n + 1), sources.data(), sources.size_bytes());
        for (const Node* s : sources) {
          retain(s);
          n->variables |= s->variables;
        }
        compute_facts(*n);
        return n;
      }));
}

const Node* find_interned(Op op, std::span<const Node* const> sources) {
  const std::uint64_t hash = hash_sources(op, sources);
  return table().find(hash, [&](const Node& n) { return has_sources(n, op, sources); }, revive);
}

const Node* find_interned(Op op, const Node* x, std::int64_t c) {
  const std::uint64_t hash = mix_hash(mix_hash(mix_hash(5, static_cast<std::uint64_t>(op)), x->hash), hash_constant(c));
  return table().find(
      hash, [&](const Node& n) { return n.op == op && n.src(0) == x && n.src(1)->is_const(c); }, revive);
}

std::size_t live_nodes() { return table().size(); }

}  // namespace strata
