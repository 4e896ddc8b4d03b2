#include "strata/engine/schedule_cache.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "strata/base/fork.h"
#include "strata/base/meter.h"
#include "strata/base/trace.h"
#include "strata/base/walk.h"

namespace strata {

namespace {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  seed = (seed ^ value) * 0x9e3779b97f4a7c15U;
  return seed ^ (seed >> 29);
}

/// Whether the memory of `n` is there, or will be: what is below is no part of the graph.
bool is_memory(const LazyNode& n) { return n.op == Ops::EMPTY || is_realized(n); }

}  // namespace

/// Numbers of nodes. Of few nodes, whose search is quicker than a hash table's allocations, a list.
class ScheduleCache::Numbers {
 public:
  /// Gives the node the number 0; false where it has one.
  bool add(const LazyNode* n) {
    if (!many_.empty()) return many_.try_emplace(n, 0).second;
    if (in_few(n) != end()) return false;
    if (count_ < few_.size())
      few_[count_++] = {n, 0};
    else
      many_.insert(few_.begin(), few_.end()), many_.emplace(n, 0);
    return true;
  }
  void set(const LazyNode* n, std::uint32_t number) { (many_.empty() ? in_few(n)->second : many_.at(n)) = number; }
  std::optional<std::uint32_t> find(const LazyNode* n) const {
    if (!many_.empty()) {
      const auto it = many_.find(n);
      return it == many_.end() ? std::nullopt : std::optional(it->second);
    }
    const Numbered* const it = in_few(n);
    return it == end() ? std::nullopt : std::optional(it->second);
  }

 private:
  using Numbered = std::pair<const LazyNode*, std::uint32_t>;

  const Numbered* end() const { return few_.data() + count_; }
  const Numbered* in_few(const LazyNode* n) const {
    return std::find_if(few_.data(), end(), [&](const Numbered& known) { return known.first == n; });
  }
  Numbered* in_few(const LazyNode* n) { return few_.data() + (std::as_const(*this).in_few(n) - few_.data()); }

  std::array<Numbered, 12> few_;
  std::size_t count_ = 0;
  std::unordered_map<const LazyNode*, std::uint32_t> many_;
};

/// A graph with its nodes numbered, sources first.
struct ScheduleCache::Structure {
  std::vector<const LazyOp*> nodes;
  std::vector<bool> memory;            ///< by node
  std::vector<std::uint32_t> sources;  ///< of all nodes, one node's after another's; then the roots
  FusionOptions options;
  std::uint64_t hash = 0;
  /// A loop's argument is its step, which holds what it takes from outside, and no other graph has the same.
  bool has_loop = false;

  Structure(std::span<const LazyOp> roots, const FusionOptions& of) : options(of) {
    constexpr std::size_t usual = 8;
    nodes.reserve(usual), memory.reserve(usual), sources.reserve(usual);
    const auto source = [](const LazyOp* n, std::size_t k) {
      return is_memory(*n->node()) ? nullptr : needed_source(n, k);
    };
    const auto enter = [&](const LazyOp* n) { return numbers_.add(n->node()); };
    for (const LazyOp& root : roots) detail::walk(&root, enter, source, [&](const LazyOp* n) { add(*n); });
    for (const LazyOp& root : roots) add_source(root);
    hash = mix(hash, (options.fuse ? 1U : 0U) | (options.dots ? 2U : 0U) | (options.bf16_dots ? 4U : 0U) |
                         (options.reassociate ? 8U : 0U) | static_cast<unsigned>(options.chains) << 4);
    hash = mix(hash, options.most_nodes);
  }

  /// Whether the same nodes are memory now.
  bool is_as_before() const {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (memory[k] != is_memory(*nodes[k]->node())) return false;
    return true;
  }
  std::optional<std::uint32_t> number_of(const LazyOp& n) const { return numbers_.find(n.node()); }

 private:
  void add(const LazyOp& n) {
    const LazyNode& node = *n.node();
    numbers_.set(&node, static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(&n);
    memory.push_back(is_memory(node));
    hash = mix(hash, hash_of_own(node, !memory.back()));
    hash = mix(hash, (memory.back() ? 1U : 0U) | (node.is_tracked ? 2U : 0U));
    has_loop = has_loop || (n.op() == Ops::SCAN && !memory.back());
    if (!memory.back())
      for (const LazyOp& s : needed(node)) add_source(s);
  }
  void add_source(const LazyOp& n) {
    sources.push_back(numbers_.find(n.node()).value());
    hash = mix(hash, sources.back());
  }

  Numbers numbers_;
};

struct ScheduleCache::Entry {
  /// What a schedule depends on of a node, beside its sources.
  struct OwnPart {
    Ops op;
    DType dtype;
    bool is_memory, is_tracked;
    Ints shape;
    LazyArg arg;

    OwnPart(const LazyNode& n, bool memory)
        : op(n.op),
          dtype(n.dtype),
          is_memory(memory),
          is_tracked(n.is_tracked),
          shape(n.shape),
          arg(arg_of(n, memory)) {}

    bool is_of(const LazyNode& n, bool memory) const {
      return op == n.op && dtype == n.dtype && is_memory == memory && is_tracked == n.is_tracked && shape == n.shape &&
             arg == arg_of(n, memory);
    }

    /// Nothing of memory, whose elements only matter, and of identities.
    static const LazyArg& arg_of(const LazyNode& n, bool memory) {
      static const LazyArg nothing;
      return memory || std::holds_alternative<IdentityArg>(n.arg) ? nothing : n.arg;
    }
  };
  /// An item whose nodes are numbers.
  struct Item {
    std::optional<LazyOp> kernel;  ///< nothing: a FROM, which is its output
    std::vector<std::uint32_t> outputs, inputs;
    Values values;
    Boundary why;
    std::optional<std::uint32_t> part;
  };

  std::uint64_t hash;
  FusionOptions options;
  std::vector<OwnPart> nodes;
  std::vector<std::uint32_t> sources;
  std::vector<Item> items;

  bool is_of(const Structure& s) const {
    if (hash != s.hash || options != s.options || sources != s.sources || nodes.size() != s.nodes.size()) return false;
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (!nodes[k].is_of(*s.nodes[k]->node(), s.memory[k])) return false;
    return true;
  }

  std::vector<ScheduleItem> items_on(const Structure& s) const {
    std::vector<ScheduleItem> out;
    out.reserve(items.size());
    const auto of = [&](const std::vector<std::uint32_t>& numbers) {
      std::vector<LazyOp> ops;
      ops.reserve(numbers.size());
      for (const std::uint32_t n : numbers) ops.push_back(*s.nodes[n]);
      return ops;
    };
    for (const Item& item : items) {
      const LazyOp& ast = item.kernel ? *item.kernel : *s.nodes[item.outputs[0]];
      out.push_back({ast, of(item.outputs), of(item.inputs), item.values, item.why});
      if (item.part) out.back().part = *s.nodes[*item.part];
    }
    return out;
  }

  /// Null where an item has a node that is not of the graph.
  static std::shared_ptr<const Entry> made(const Structure& s, std::span<const ScheduleItem> items) {
    auto out = std::make_shared<Entry>(Entry{s.hash, s.options, {}, s.sources, {}});
    const auto numbers = [&](std::span<const LazyOp> ops, std::vector<std::uint32_t>& to) {
      for (const LazyOp& n : ops) {
        const auto number = s.number_of(n);
        if (!number) return false;
        to.push_back(*number);
      }
      return true;
    };
    for (const ScheduleItem& item : items) {
      Item& own = out->items.emplace_back(Item{{}, {}, {}, item.values, item.why, {}});
      if (!numbers(item.outputs, own.outputs) || !numbers(item.inputs, own.inputs)) return nullptr;
      if (item.ast != item.outputs[0]) own.kernel = item.ast;
      if (item.part) own.part = s.number_of(*item.part);
      if (item.part && !own.part) return nullptr;
    }
    out->nodes.reserve(s.nodes.size());
    for (std::size_t k = 0; k < s.nodes.size(); ++k) out->nodes.emplace_back(*s.nodes[k]->node(), s.memory[k]);
    return out;
  }
};

ScheduleCache& ScheduleCache::instance() {
  static ScheduleCache& cache = *new ScheduleCache;  // never destroyed: threads may outlive every static
  return cache;
}

struct ScheduleCache::AtFork {
  static void before() { instance().mutex_.lock(); }
  static void after() { instance().mutex_.unlock(); }
  static const ForkHook hook;
};
const ForkHook ScheduleCache::AtFork::hook(ForkOrder::schedule_cache, &before, &after);

std::vector<ScheduleItem> ScheduleCache::get(std::span<const LazyOp> roots, const FusionOptions& options) {
  if (Meter::is_set() || RewriteTrace::current() != nullptr) return schedule(roots, options);
  const Structure structure(roots, options);
  if (structure.has_loop) return schedule(roots, options);
  if (const auto known = find(structure)) return known->items_on(structure);
  const bool is_second = is_known(structure.hash);
  std::vector<ScheduleItem> items = schedule(roots, options);
  // Another thread may have realized nodes in between, of which schedule() knew.
  if (is_second && structure.nodes.size() <= kMostNodes && structure.is_as_before())
    if (auto entry = Entry::made(structure, items)) keep(std::move(entry));
  return items;
}

std::shared_ptr<const ScheduleCache::Entry> ScheduleCache::find(const Structure& structure) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = at_.equal_range(structure.hash);
  for (auto it = first; it != last; ++it) {
    if (!(*it->second)->is_of(structure)) continue;
    ++statistics_.hits;
    entries_.splice(entries_.begin(), entries_, it->second);
    return *it->second;
  }
  ++statistics_.misses;
  return nullptr;
}

bool ScheduleCache::is_known(std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  return std::exchange(seen_[hash % kSeen], hash) == hash;
}

void ScheduleCache::keep(std::shared_ptr<const Entry> entry) {
  std::list<std::shared_ptr<const Entry>> dropped;  // declared before the lock, so destroyed after its release
  const std::lock_guard lock(mutex_);
  statistics_.nodes += entry->nodes.size();
  entries_.push_front(std::move(entry));
  at_.emplace(entries_.front()->hash, entries_.begin());
  while (statistics_.nodes > kMostNodes) {
    const auto oldest = std::prev(entries_.end());
    statistics_.nodes -= (*oldest)->nodes.size();
    const auto [first, last] = at_.equal_range((*oldest)->hash);
    at_.erase(std::find_if(first, last, [&](const auto& at) { return at.second == oldest; }));
    dropped.splice(dropped.begin(), entries_, oldest);
  }
}

ScheduleCache::Statistics ScheduleCache::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics out = statistics_;
  out.size = entries_.size();
  return out;
}

void ScheduleCache::clear() {
  std::list<std::shared_ptr<const Entry>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
  at_.clear();
  statistics_.nodes = 0;
  std::fill(seen_.begin(), seen_.end(), 0);
}

}  // namespace strata
