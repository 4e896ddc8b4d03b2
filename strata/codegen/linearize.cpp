// linearize(): finds for each UOp the block (loop body) in which it stands, then orders each block topologically.

#include "strata/codegen/linearize.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/sort_few.h"
#include "strata/base/walk.h"
#include "strata/codegen/seldom.h"

namespace strata {

namespace {

/// A set of loop numbers, as bits.
class LoopSet {
 public:
  void insert(std::size_t k) {
    if (words_.size() <= k / 64) words_.resize(k / 64 + 1, 0);
    words_[k / 64] |= std::uint64_t{1} << (k % 64);
  }
  void erase(std::size_t k) {
    if (k / 64 < words_.size()) words_[k / 64] &= ~(std::uint64_t{1} << (k % 64));
  }
  bool has(std::size_t k) const { return k / 64 < words_.size() && (words_[k / 64] >> (k % 64) & 1) != 0; }
  void merge(const LoopSet& o) {
    if (words_.size() < o.words_.size()) words_.resize(o.words_.size(), 0);
    for (std::size_t w = 0; w < o.words_.size(); ++w) words_[w] |= o.words_[w];
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (const std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
    return n;
  }
  template <class F>
  void for_each(const F& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        f(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
  }

 private:
  SmallVec<std::uint64_t, 2> words_;
};

constexpr std::size_t kRoot = static_cast<std::size_t>(-1);

class Linearizing {
 public:
  Linearizing(const Lowered& kernel, bool contract) : kernel_(kernel), contract_(contract) {}

  UOpGraph run() {
    order_nodes();
    find_free_loops();
    find_enclosing();
    place_nodes();
    seldom_ = SeldomChoices(nodes_, number_, block_);
    add_edges();
    emit_block(kRoot);
    return std::move(list_);
  }
  std::vector<UOp> stand_ins() const {
    std::vector<UOp> out(kernel_.graph.size());
    for (const auto& [of, stand_in] : listed_) out[of.num()] = stand_in;
    return out;
  }

 private:
  static bool is_reduce_node(UOp u) { return u.op() == UOps::REDUCE; }
  /// Whether `u` stands for an accumulator, or assigns to one: it is no instruction of its own.
  static bool is_accumulator(UOp u) {
    return u.op() == UOps::REDUCE || u.op() == UOps::CARRY || u.op() == UOps::CARRIED;
  }
  /// The loop of a CARRY or CARRIED.
  static UOp carrying_loop(UOp u) { return u.op() == UOps::CARRY ? u.src(1) : u.src(0).src(1); }

  /// The k-th source in the order of computation: a store's value, which takes longer, before its index.
  static UOp source(UOp u, std::size_t k) {
    if (u.op() == UOps::STORE && (k == 1 || k == 2)) k = 3 - k;
    return u.src(k);
  }

  // Collects the UOps that the stores need, sources first, and the loops among them.
  void order_nodes() {
    for (const StagedLocal& s : kernel_.staged) staged_.emplace(s.local, &s.loops);
    const auto visit = [&](UOp root) {
      detail::walk(
          root, [&](UOp u) { return number_.try_emplace(u, 0).second; },
          [](UOp u, std::size_t k) { return k < u.src().size() ? source(u, k) : UOp(); },
          [&](UOp u) {
            number_[u] = nodes_.size();
            nodes_.push_back(u);
          });
    };
    for (const PlacedStore& s : kernel_.stores) {
      for (const UOp loop : s.loops) visit(loop);
      visit(s.store);
    }
    for (const UOp u : kernel_.carried) visit(u);
    for (const UOp u : nodes_)
      if (u.op() == UOps::LOOP) {
        loop_number_.emplace(u, loops_.size());
        loops_.push_back(u);
      }
  }

  void find_free_loops() {
    for (const PlacedStore& p : kernel_.pinned) pinned_.emplace(p.store, &p.loops);
    for (const LoopInside& in : kernel_.nest) around_.emplace(in.loop, in.around);
    // Reductions that share loops are at one place: each depends on all loops on which any of them depends.
    std::vector<LoopSet> shared(loops_.size());
    for (bool changed = true; changed;) {
      changed = false;
      free_.assign(nodes_.size(), {});
      for (std::size_t k = 0; k < nodes_.size(); ++k) {
        find_free_of(k, shared);
        if (!is_reduce_node(nodes_[k])) continue;
        LoopSet& group = shared[loop_number_.at(nodes_[k].reduced_loops().front())];
        const std::size_t before = group.count();
        group.merge(free_[k]);
        changed = changed || group.count() != before;
      }
    }
    for (const PlacedStore& s : kernel_.stores)
      for (const UOp loop : s.loops) free_[number_.at(s.store)].insert(loop_number_.at(loop));
  }
  void find_free_of(std::size_t k, const std::vector<LoopSet>& shared) {
    const UOp u = nodes_[k];
    for (const UOp s : u.src()) free_[k].merge(free_[number_.at(s)]);
    // A load from scratch memory belongs to the iteration in which the memory is filled.
    if (u.op() == UOps::LOAD && staged_.contains(u.src(0)))
      for (const UOp loop : *staged_.at(u.src(0))) free_[k].insert(loop_number_.at(loop));
    if (u.op() == UOps::LOOP) free_[k].insert(loop_number_.at(u));
    if (const auto it = pinned_.find(u); it != pinned_.end())
      for (const UOp loop : *it->second) free_[k].insert(loop_number_.at(loop));
    if (u.op() == UOps::CARRIED) {
      add_around(k, carrying_loop(u));
      free_[k].erase(loop_number_.at(carrying_loop(u)));
    }
    if (!is_reduce_node(u)) return;
    free_[k].merge(shared[loop_number_.at(u.reduced_loops().front())]);
    // The sum of an inner level stays inside of the outer level's loop, also if it does not depend on the outer
    // counter.
    add_around(k, u.reduced_loops().front());
    for (const UOp loop : u.reduced_loops()) free_[k].erase(loop_number_.at(loop));
  }

  /// Adds the loops around `loop` to those on which node k depends.
  void add_around(std::size_t k, UOp loop) {
    for (auto it = around_.find(loop); it != around_.end(); it = around_.find(it->second))
      if (loop_number_.contains(it->second)) free_[k].insert(loop_number_.at(it->second));
  }

  // Computes enclosing_[l], the loops around loop l. Output loops state their enclosing loop; the first loop of a
  // reduction is inside of all loops on which the reduction depends, and each further loop inside of the ones before.
  void find_enclosing() {
    enclosing_.resize(loops_.size());
    std::vector<LoopSet> direct(loops_.size());
    for (const LoopInside& in : kernel_.nest)
      if (loop_number_.contains(in.loop)) direct[loop_number_.at(in.loop)].insert(loop_number_.at(in.around));
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const UOp u = nodes_[k];
      if (u.op() == UOps::LOOP)
        for (const UOp s : u.src()) direct[loop_number_.at(u)].merge(free_[number_.at(s)]);
      if (!is_reduce_node(u)) continue;
      LoopSet around = free_[k];
      for (const UOp loop : u.reduced_loops()) {
        direct[loop_number_.at(loop)].merge(around);
        around.insert(loop_number_.at(loop));
      }
    }
    // The transitive closure by repetition: the relation is a forest with few levels.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t l = 0; l < loops_.size(); ++l) {
        LoopSet all = direct[l];
        direct[l].for_each([&](std::size_t o) { all.merge(direct[o]); });
        STRATA_ASSERT(!all.has(l), "[linearize] a loop is inside of itself");
        changed = changed || all.count() != direct[l].count();
        direct[l] = all;
      }
    }
    enclosing_ = std::move(direct);
    parent_.resize(loops_.size());
    for (std::size_t l = 0; l < loops_.size(); ++l) parent_[l] = innermost(enclosing_[l]);
  }

  /// The innermost loop of the set; kRoot for an empty set.
  std::size_t innermost(const LoopSet& set) const {
    std::size_t best = kRoot;
    set.for_each([&](std::size_t l) {
      if (best == kRoot || enclosing_[l].count() > enclosing_[best].count()) best = l;
    });
    if (best != kRoot)
      set.for_each([&](std::size_t l) {
        STRATA_ASSERT(l == best || enclosing_[best].has(l), "[linearize] a value depends on loops that do not nest");
      });
    return best;
  }

  void place_nodes() {
    block_.resize(nodes_.size());
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const UOp u = nodes_[k];
      block_[k] = u.op() == UOps::LOOP ? parent_[loop_number_.at(u)] : innermost(free_[k]);
    }
  }

  // --- order: the items of a block are its UOps and the loops directly inside of it ---

  std::size_t depth(std::size_t block) const { return block == kRoot ? 0 : enclosing_[block].count() + 1; }

  /// An item of a block.
  struct Item {
    std::size_t block;
    std::size_t id;  ///< the number of a UOp, or nodes_.size() + the number of a loop
    bool operator==(const Item&) const = default;
  };
  std::size_t loop_item(std::size_t loop) const { return nodes_.size() + loop; }

  /// `from` must come before `to`: an edge between the items that contain them in their innermost common block.
  void edge(Item from, Item to) {
    while (from.block != to.block) {
      Item& deeper = depth(from.block) >= depth(to.block) ? from : to;
      deeper = {parent_[deeper.block], loop_item(deeper.block)};
    }
    if (from.id != to.id) after_[from.id].push_back(to.id);
  }
  Item item_of(std::size_t k) const {
    const UOp u = nodes_[k];
    if (u.op() == UOps::LOOP) return {block_[k], loop_item(loop_number_.at(u))};
    return {block_[k], k};
  }
  Item inside(UOp loop) const { return {loop_number_.at(loop), static_cast<std::size_t>(-1)}; }

  void add_edges() {
    after_.resize(nodes_.size() + loops_.size());
    items_.resize(loops_.size() + 1);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const UOp u = nodes_[k];
      if (seldom_.is_inside(k)) continue;
      items_of(block_[k]).push_back(item_of(k).id);
      if (is_reduce_node(u)) {
        reduction_edges(k);
      } else {
        for (const UOp s : u.src())
          if (s.op() != UOps::LOOP && !seldom_.is_inside(number_.at(s))) edge(item_of(number_.at(s)), item_of(k));
        for (const std::size_t s : seldom_.needs(k))
          if (nodes_[s].op() != UOps::LOOP) edge(item_of(s), item_of(k));
      }
      if (u.op() == UOps::CARRY) starts_[loop_number_.at(carrying_loop(u))].push_back(k);
      if (u.op() == UOps::CARRIED) carried_edges(k);
    }
    memory_edges();
    for (const auto& [first, second] : kernel_.in_order)
      if (number_.contains(first) && number_.contains(second))
        edge(item_of(number_.at(first)), item_of(number_.at(second)));
    // Accumulators change in the order in which lower() made them, copies along the lanes fastest.
    for (auto& [loop, reductions] : ends_)
      sort_few(reductions, [&](std::size_t a, std::size_t b) { return nodes_[a].num() < nodes_[b].num(); });
  }
  std::vector<std::size_t>& items_of(std::size_t block) { return items_[block == kRoot ? loops_.size() : block]; }

  void reduction_edges(std::size_t k) {
    const UOp u = nodes_[k];
    const std::size_t outer = loop_number_.at(u.reduced_loops().front());
    const Item first_loop{parent_[outer], loop_item(outer)};
    edge(item_of(number_.at(u.src(0))), first_loop);
    for (const UOp v : u.reduced_values()) {
      const std::size_t n = number_.at(v);
      if (v.op() == UOps::LOOP) continue;
      const Item value = item_of(n);
      // A value computed outside of the loops must precede them.
      Item in = inside(u.reduced_loops().back());
      if (value.block != in.block) edge(value, in);
    }
    edge(first_loop, item_of(k));
    starts_[outer].push_back(k);
    ends_[loop_number_.at(u.reduced_loops().back())].push_back(k);
  }

  void carried_edges(std::size_t k) {
    const UOp u = nodes_[k];
    const std::size_t loop = loop_number_.at(carrying_loop(u));
    const Item next = item_of(number_.at(u.src(1)));
    if (next.block != loop) edge(next, {loop, static_cast<std::size_t>(-1)});
    edge({parent_[loop], loop_item(loop)}, item_of(k));
    ends_[loop].push_back(k);
  }

  // Loads of a buffer precede the stores to the same index; loads of scratch memory follow all stores to it.
  void memory_edges() {
    std::unordered_map<UOp, std::vector<std::size_t>> loads;  // by index; of scratch memory, by memory
    const auto key = [](UOp u) { return u.src(0).op() == UOps::DEFINE_LOCAL ? u.src(0) : u.src(1); };
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (nodes_[k].op() == UOps::LOAD) loads[key(nodes_[k])].push_back(k);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (nodes_[k].op() != UOps::STORE) continue;
      const auto it = loads.find(key(nodes_[k]));
      if (it == loads.end()) continue;
      for (const std::size_t load : it->second) {
        if (nodes_[load].src(0) != nodes_[k].src(0) || is_after(nodes_[k], nodes_[load])) continue;
        if (nodes_[k].src(0).op() == UOps::DEFINE_LOCAL)
          edge(item_of(k), item_of(load));
        else
          edge(item_of(load), item_of(k));
      }
    }
  }

  /// Whether the kernel says that the load comes after the store.
  bool is_after(UOp store, UOp load) const {
    return std::find(kernel_.in_order.begin(), kernel_.in_order.end(), std::pair(store, load)) !=
           kernel_.in_order.end();
  }

  // --- the list ---

  UOp in_list(UOp u) const { return listed_.at(u); }

  void emit_block(std::size_t root) {
    struct Open {
      std::size_t block;
      std::vector<std::size_t> order;
      std::size_t next;
    };
    std::vector<Open> open;
    open.push_back({root, sorted(root), 0});
    while (!open.empty()) {
      Open& top = open.back();
      if (top.next == top.order.size()) {
        if (top.block != kRoot) close(top.block);
        open.pop_back();
        continue;
      }
      const std::size_t id = top.order[top.next++];
      if (id < nodes_.size()) {
        if (is_lazy(top.block))
          waiting_.insert(nodes_[id]);
        else
          emit(nodes_[id]);
      } else {
        begin(id - nodes_.size());
        open.push_back({id - nodes_.size(), sorted(id - nodes_.size()), 0});
      }
    }
  }

  /// The items of a block in topological order; independent items in the order of items_.
  std::vector<std::size_t> sorted(std::size_t block) {
    const std::vector<std::size_t>& items = items_of(block);
    std::unordered_map<std::size_t, std::pair<std::size_t, std::size_t>>
        state;  // position, number of unmet dependences
    for (std::size_t k = 0; k < items.size(); ++k) state.emplace(items[k], std::pair{k, 0});
    for (const std::size_t id : items)
      for (const std::size_t next : after_[id]) ++state.at(next).second;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t k = 0; k < items.size(); ++k)
      if (state.at(items[k]).second == 0) ready.push(k);
    std::vector<std::size_t> out;
    while (!ready.empty()) {
      const std::size_t id = items[ready.top()];
      ready.pop();
      out.push_back(id);
      for (const std::size_t next : after_[id])
        if (--state.at(next).second == 0) ready.push(state.at(next).first);
    }
    STRATA_ASSERT(out.size() == items.size(), "[linearize] loops wait for one another");
    return out;
  }

  void begin(std::size_t loop) {
    for (const std::size_t k : starts_[loop]) {
      const UOp u = nodes_[k];
      listed_[u] = list_.add(UOps::DEFINE_ACC, u.dtype(), {in_list(u.src(0))}, {}, false);
    }
    const UOp u = loops_[loop];
    listed_[u] = list_.add(UOps::LOOP, u.dtype(), {in_list(u.src(0)), in_list(u.src(1))}, {}, false);
  }

  void close(std::size_t loop) {
    // All next values are computed before the first accumulator gets its own.
    for (const std::size_t k : ends_[loop])
      if (nodes_[k].op() == UOps::CARRIED) emit_waiting(nodes_[k].src(1));
    std::unordered_set<UOp> assigned;
    for (const std::size_t k : ends_[loop]) {
      const UOp u = nodes_[k];
      if (u.op() == UOps::CARRIED) {
        STRATA_ASSERT(!assigned.contains(u.src(1)), "[linearize] a CARRIED of an accumulator with its next value");
        assigned.insert(u.src(0));
        list_.add(UOps::PHI, u.dtype(), {in_list(u.src(0)), in_list(u.src(1))}, {}, false);
        listed_[u] = in_list(u.src(0));
        continue;
      }
      const UOp accumulator = in_list(u);
      UOp total = accumulator;
      for (const UOp v : u.reduced_values()) total = combined(combining_op(u.reduction().op), total, v);
      list_.add(UOps::PHI, u.dtype(), {accumulator, total}, {}, false);
    }
    list_.add(UOps::ENDLOOP, dtypes::none, {in_list(loops_[loop])}, {}, false);
  }

  /// True iff the UOps of a loop wait until an accumulator needs them: in a loop without loops and stores, that is the
  /// order in which the fewest values live.
  bool is_lazy(std::size_t block) {
    if (block == kRoot || ends_[block].empty()) return false;
    const auto [it, is_new] = lazy_.try_emplace(block, false);
    if (is_new)
      it->second = std::all_of(items_[block].begin(), items_[block].end(),
                               [&](std::size_t id) { return id < nodes_.size() && nodes_[id].op() != UOps::STORE; });
    return it->second;
  }
  /// Emits `root`, after what it needs, unless that is done.
  void emit_waiting(UOp root) {
    detail::walk(
        root, [&](UOp u) { return waiting_.erase(u) != 0; },
        [&](UOp u, std::size_t k) {
          if (k < u.src().size()) return source(u, k);
          if (!u.is_seldom()) return UOp();
          const std::span<const std::size_t> more = seldom_.needs(number_.at(u));
          return k - u.src().size() < more.size() ? nodes_[more[k - u.src().size()]] : UOp();
        },
        [&](UOp u) { emit(u); });
  }

  /// The op that adds `value` to a sum in one instruction: MULACC for a product of floats, DOT4 or DOT2 for one
  /// without a sum.
  std::optional<Ops> summing_op(UOp value) const {
    if (value.op() != UOps::ALU) return std::nullopt;
    if (value.alu() == Ops::MUL && contract_ && value.dtype().is_float()) return Ops::MULACC;
    if (value.alu() != Ops::DOT4 && !(value.alu() == Ops::DOT2 && contract_)) return std::nullopt;
    const UOp sum = value.src(2);
    const bool is_zero = sum.op() == UOps::CONST && sum.constant().bits() == 0;
    return is_zero ? std::optional(value.alu()) : std::nullopt;
  }

  UOp combined(Ops op, UOp total, UOp value) {
    emit_waiting(value);
    if (const auto summing = op == Ops::ADD ? summing_op(value) : std::nullopt) {
      const UOp operands[] = {in_list(value.src(0)), in_list(value.src(1)), total};
      return list_.add(UOps::ALU, total.dtype(), operands, *summing, false);
    }
    const UOp operands[] = {total, in_list(value)};
    return list_.add(UOps::ALU, total.dtype(), operands, op, false);
  }

  /// True iff `u` is a product that is used only by sums, into which it goes, so that it is not emitted itself.
  bool is_contracted(UOp u) {
    if (!summing_op(u)) return false;
    if (uses_.empty()) count_uses();
    return uses_.at(u) == 0;
  }
  void count_uses() {
    for (const UOp u : nodes_) uses_.try_emplace(u, 0);
    for (const UOp u : nodes_) {
      const bool sums = is_reduce_node(u) && u.reduction().op == Ops::SUM;
      for (std::size_t k = 0; k < u.src().size(); ++k)
        if (!sums || k == 0) ++uses_[u.src(k)];
    }
  }

  void emit(UOp u) {
    if (is_accumulator(u) || is_contracted(u)) return;
    if (u.op() == UOps::ALU && u.alu() == Ops::NOOP) {
      listed_[u] = in_list(u.src(0));
      return;
    }
    if (u.is_seldom() && !listed_.contains(u.src(1))) return emit_seldom(u);
    SmallVec<UOp, 4> src;
    for (const UOp s : u.src()) src.push_back(in_list(s));
    listed_[u] = list_.add(u.op(), u.dtype(), std::span<const UOp>(src.data(), src.size()), u.arg(), false);
  }

  /// The second choice of a WHERE in an accumulator, and an IF that computes the first choice where a lane takes it.
  void emit_seldom(UOp where) {
    const UOp asked = in_list(where.src(0)), usual = in_list(where.src(2));
    const UOp result = list_.add(UOps::DEFINE_ACC, where.dtype(), {usual}, {}, false);
    const UOp block = list_.add(UOps::IF, dtypes::none, {asked}, {}, false);
    std::vector<UOp> made;
    detail::walk(
        where.src(1), [&](UOp u) { return seldom_.is_inside(number_.at(u)) && !listed_.contains(u); },
        [](UOp u, std::size_t k) {
          if (u.is_seldom() && k > 0) ++k;  // emit() makes its first choice
          return k < u.src().size() ? u.src(k) : UOp();
        },
        [&](UOp u) {
          emit(u);
          made.push_back(u);
        });
    const UOp value = list_.add(UOps::ALU, where.dtype(), {asked, in_list(where.src(1)), usual}, Ops::WHERE, false);
    list_.add(UOps::PHI, where.dtype(), {result, value}, {}, false);
    list_.add(UOps::ENDIF, dtypes::none, {block}, {}, false);
    for (const UOp u : made) listed_.erase(u);
    listed_[where] = result;
  }

  const Lowered& kernel_;
  bool contract_;
  std::vector<UOp> nodes_;
  std::unordered_map<UOp, std::size_t> number_;
  std::vector<UOp> loops_;
  std::unordered_map<UOp, std::size_t> loop_number_;
  std::vector<LoopSet> free_, enclosing_;
  std::vector<std::size_t> parent_, block_;
  SeldomChoices seldom_;
  std::vector<std::vector<std::size_t>> items_, after_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> starts_, ends_;
  std::unordered_map<UOp, std::size_t> uses_;
  std::unordered_map<UOp, const std::vector<UOp>*> pinned_;  // by LOAD
  std::unordered_map<UOp, const std::vector<UOp>*> staged_;  // by DEFINE_LOCAL: the loops around the code that fills it
  std::unordered_map<UOp, UOp> around_;                      // by loop: the loop directly around it
  std::unordered_map<std::size_t, bool> lazy_;               // by loop
  std::unordered_set<UOp> waiting_;
  std::unordered_map<UOp, UOp> listed_;
  UOpGraph list_;
};

}  // namespace

UOpGraph linearize(const Lowered& kernel, bool contract, std::vector<UOp>* stand_ins) {
  Linearizing linearizing(kernel, contract);
  UOpGraph list = linearizing.run();
  if (stand_ins != nullptr) *stand_ins = linearizing.stand_ins();
  return list;
}

}  // namespace strata
