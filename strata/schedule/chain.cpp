#include "strata/schedule/chain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "strata/graph/blocks.h"
#include "strata/schedule/contraction.h"
#include "strata/schedule/late_division.h"

namespace strata {

namespace {

constexpr double kCacheBytes = 1 << 20;       // that stay in a cache while a block is computed
constexpr std::int64_t kRows = 64;            // of a block, about: codegen/block.cpp chooses them
constexpr std::size_t kMostItems = 16;        // of a chain
constexpr std::size_t kMostEnds = 4;          // of a chain
constexpr std::size_t kMostVisits = 1 << 12;  // of items, to tell whether one needs another
constexpr int kMostTrials = 4;                // to find chains that compute nothing twice in vain
constexpr std::int64_t kShortestRow = 16;     // of a wide result: fewer elements are no row
constexpr double kOperations = 32;            // that take as long as a byte of a result takes to be written and read
constexpr double kLarger = 2;                 // how much larger the results between are than all else

double bytes(const LazyOp& n) { return elements(*n.node()) * static_cast<double>(n.dtype().itemsize()); }

using Places = std::set<std::size_t>;  // of items

/// One kernel of several items: those at its ends, and those whose results are between its parts.
struct Chain {
  Places ends, inner;
  std::optional<ScheduleItem> item{};  // the kernel
};

/// What in_blocks() is given.
struct Question {
  LazyOp kernel;
  bool reassociate, is_forced;
  bool operator==(const Question&) const = default;
};
/// A kernel whose results between are computed in blocks of rows: `rows` of them, or none.
struct KernelInBlocks {
  LazyOp ast;
  std::int64_t rows = 0;
};

KernelInBlocks in_blocks(const Question& of) {
  KernelInBlocks out{of.kernel};
  const bool is_one = of.kernel.src().size() == 1;
  if (of.reassociate && is_one) out.ast = with_late_divisions(out.ast);
  const std::optional<std::size_t> axis = best_block_axis(out.ast);
  if (!axis) return out;
  const BlockAxes axes = *block_axes(out.ast, *axis).axes;
  if (!of.reassociate && reorders_sums(out.ast, axes)) return out;
  const RowBytes row = bytes_of_row(out.ast, axes);
  const bool is_small = row.whole <= kCacheBytes || row.whole <= 2 * static_cast<double>(kRows) * row.between;
  if (is_small || of.is_forced) out.rows = out.ast.src(0).shape()[*axis].value();
  return out;
}

struct QuestionHash {
  std::size_t operator()(const Question& q) const {
    return std::hash<LazyOp>()(q.kernel) * 4 + (q.reassociate ? 2 : 0) + (q.is_forced ? 1 : 0);
  }
};
/// in_blocks(), whose answers each thread keeps: the layers of a network, and its steps, ask the same.
const KernelInBlocks& kept_in_blocks(const Question& of) {
  constexpr std::size_t kMost = 256;
  static thread_local std::unordered_map<Question, KernelInBlocks, QuestionHash> answers;
  if (const auto known = answers.find(of); known != answers.end()) return known->second;
  if (answers.size() == kMost) answers.clear();
  return answers.emplace(of, in_blocks(of)).first->second;
}

class Chaining {
 public:
  Chaining(std::vector<ScheduleItem> items, const std::vector<KernelParts>& parts,
           const std::unordered_map<const LazyNode*, Boundary>& materialized, const FusionOptions& options)
      : items_(std::move(items)), parts_(parts), materialized_(materialized), options_(options) {
    for (std::size_t k = 0; k < items_.size(); ++k)
      for (const LazyOp& output : items_[k].outputs) maker_.insert_or_assign(output.node(), k);
    readers_.resize(items_.size()), makers_.resize(items_.size());
    for (std::size_t k = 0; k < items_.size(); ++k)
      for (const LazyOp& input : items_[k].inputs)
        if (const auto it = maker_.find(input.node()); it != maker_.end() && it->second < k)
          makers_[k].insert(it->second), readers_[it->second].insert(k);
    for (std::size_t k = 0; k < items_.size(); ++k) {
      is_wide_.push_back(is_wide(k));
      is_of_rows_.push_back(is_of_rows(k));
    }
  }

  std::vector<ScheduleItem> run() {
    for (int round = 0; round < kMostTrials; ++round) {
      find_chains();
      const Places wasted = wasted_of_chains();
      if (wasted.empty()) break;
      if (round + 1 < kMostTrials)
        kept_.insert(wasted.begin(), wasted.end());
      else
        drop_chains_with(wasted);
    }
    return in_order();
  }

 private:
  bool is_forced() const { return options_.chains == FusionOptions::Chains::wherever_possible; }
  static bool may_end(const ScheduleItem& item) { return item.is_kernel() && !item.part; }
  /// Whether the results of item `k` may be between parts of another kernel.
  bool may_be_between(std::size_t k) const {
    const ScheduleItem& item = items_[k];
    if (!item.is_kernel() || item.part || kept_.contains(k)) return false;
    return std::none_of(item.outputs.begin(), item.outputs.end(), [&](const LazyOp& output) {
      const Boundary why = materialized_.at(output.node());
      return why == Boundary::asked || why == Boundary::contiguous || output.node()->is_closed;
    });
  }
  double bytes_of(std::size_t k) const {
    double out = 0;
    for (const LazyOp& output : items_[k].outputs) out += bytes(output);
    return out;
  }
  /// Whether the results of item `k` fit in no cache, and are much larger than what they are made of, or are made of
  /// wide ones and as large.
  bool is_wide(std::size_t k) const {
    double of_narrow = 0, of_wide = 0;
    for (const LazyOp& input : items_[k].inputs) {
      const auto it = maker_.find(input.node());
      const bool is_of_wide =
          it != maker_.end() && it->second < k && is_wide_[it->second] && 2 * bytes(input) >= bytes_of(it->second);
      if (is_of_wide)
        of_wide = std::max(of_wide, bytes(input));
      else
        of_narrow += bytes(input);
    }
    const double own = bytes_of(k);
    return own >= kCacheBytes && (of_wide > 0 ? 2 * own >= of_wide : own >= kLarger * of_narrow);
  }

  /// Finds chains, the last ones first. A chain with all that its results between are for comes before one whose
  /// results between nothing else reads.
  void find_chains() {
    chains_.clear();
    chain_of_end_.clear();
    Places taken;
    for (std::size_t k = items_.size(); k-- > 0;) {
      if (taken.contains(k) || !may_end(items_[k])) continue;
      Chain chain = with_all_ends(k, taken);
      bool is_one = !chain.inner.empty() && join(chain);
      if (!is_one && (chain.ends.size() > 1 || !are_alone(chain))) {
        chain = Chain{{k}, inner_of({k}, true)};
        is_one = !chain.inner.empty() && join(chain);
      }
      if (!is_one) continue;
      for (const std::size_t end : chain.ends) chain_of_end_.emplace(end, chains_.size());
      taken.insert(chain.ends.begin(), chain.ends.end());
      taken.insert(chain.inner.begin(), chain.inner.end());
      chains_.push_back(std::move(chain));
    }
  }

  /// Whether only items of the chain read what is between.
  bool are_alone(const Chain& chain) const {
    return std::all_of(chain.inner.begin(), chain.inner.end(), [&](std::size_t k) { return is_alone(k, chain); });
  }
  bool is_alone(std::size_t k, const Chain& chain) const {
    return std::all_of(readers_[k].begin(), readers_[k].end(),
                       [&](std::size_t r) { return chain.ends.contains(r) || chain.inner.contains(r); });
  }

  /// Whether the result of item `k` has one element for each row of a wide one.
  bool is_of_rows(std::size_t k) const {
    const double own = elements(*items_[k].outputs[0].node());
    return std::any_of(makers_[k].begin(), makers_[k].end(), [&](std::size_t m) {
      const LazyNode& n = *items_[m].outputs[0].node();
      if (is_of_rows_[m]) return own == elements(n);
      return is_wide_[m] && std::any_of(n.shape.begin(), n.shape.end(), [&](const Int& size) {
               return size.vmax() >= kShortestRow && own * static_cast<double>(size.vmax()) == elements(n);
             });
    });
  }

  /// The items between in the chain of `ends`: wide ones, and those of their rows.
  /// @param only whether other items may not read them
  Places inner_of(const Places& ends, bool only) const {
    Places chain = ends, open, out;
    for (const std::size_t end : ends) open.insert(makers_[end].begin(), makers_[end].end());
    while (!open.empty() && chain.size() < kMostItems) {
      const std::size_t k = *open.rbegin();  // users first: a later item reads none of those that are open
      open.erase(k);
      if (chain.contains(k) || !may_be_between(k)) continue;
      if (!is_forced() && !is_wide_[k] && !is_of_rows_[k]) continue;
      const auto is_in = [&](std::size_t r) { return chain.contains(r); };
      if (only && !std::all_of(readers_[k].begin(), readers_[k].end(), is_in)) continue;
      chain.insert(k), out.insert(k);
      open.insert(makers_[k].begin(), makers_[k].end());
    }
    return out;
  }

  /// The chain that ends with item `last`, and with the ends of all else that reads what is between, as far as none of
  /// them needs another. Those that do are for chains of their own, which compute the results between again.
  Chain with_all_ends(std::size_t last, const Places& taken) const {
    Chain out{{last}, inner_of({last}, false)};
    Places tried = {last};
    for (bool grows = true; grows;) {
      grows = false;
      for (const std::size_t end : uses_of(out)) {
        if (taken.contains(end) || !tried.insert(end).second || !may_end(items_[end])) continue;
        if (out.ends.size() == kMostEnds || !is_apart(end, out.ends)) continue;
        out.ends.insert(end);
        grows = true;
      }
      if (grows) out.inner = inner_of(out.ends, false);
    }
    return out;
  }
  /// What reads the results between of a chain and is no part of it. In place of an item whose result may be between,
  /// too, and is as large as theirs: what reads that.
  Places uses_of(const Chain& chain) const {
    Places out, seen, open;
    double largest = 0;
    for (const std::size_t k : chain.inner) {
      open.insert(readers_[k].begin(), readers_[k].end());
      largest = std::max(largest, bytes_of(k));
    }
    while (!open.empty() && seen.size() < kMostItems) {
      const std::size_t r = *open.begin();
      open.erase(r);
      if (chain.ends.contains(r) || chain.inner.contains(r) || !seen.insert(r).second) continue;
      if (may_be_between(r) && 2 * bytes_of(r) >= largest && !readers_[r].empty())
        open.insert(readers_[r].begin(), readers_[r].end());
      else
        out.insert(r);
    }
    return out;
  }

  /// Whether item `k` needs none of `ends`, nor they it, with the chains that there are.
  bool is_apart(std::size_t k, const Places& ends) const {
    return !is_needed(ends, k) &&
           std::all_of(ends.begin(), ends.end(), [&](std::size_t e) { return !is_needed({k}, e); });
  }
  /// Whether item `last` needs one of `wanted`. True where that takes long to tell.
  bool is_needed(const Places& wanted, std::size_t last) const {
    std::vector<std::size_t> open = {last};
    Places seen;
    while (!open.empty()) {
      const std::size_t k = open.back();
      open.pop_back();
      if (k != last && wanted.contains(k)) return true;
      if (!seen.insert(k).second) continue;
      if (seen.size() > kMostVisits) return true;
      open.insert(open.end(), makers_[k].begin(), makers_[k].end());
      if (const auto it = chain_of_end_.find(k); it != chain_of_end_.end())
        open.insert(open.end(), chains_[it->second].ends.begin(), chains_[it->second].ends.end());
    }
    return false;
  }

  /// Whether no variable has different values in the items of the chain.
  bool agree_on_values(const Chain& chain) const {
    Values all;
    for (const Places* places : {&chain.ends, &chain.inner})
      for (const std::size_t k : *places) all.insert(all.end(), items_[k].values.begin(), items_[k].values.end());
    for (const auto& [variable, value] : all)
      for (const auto& [other, of_other] : all)
        if (same(variable, other) && value != of_other) return false;
    return true;
  }
  /// Whether the results between are much more memory than all else, and what the chain computes once more than needed
  /// takes less time than to store them.
  bool is_worthwhile(const Chain& chain) const {
    double of_between = 0, of_rest = 0, again = 0;
    std::set<const LazyNode*> seen;
    const auto add = [&](const LazyOp& n) {
      const auto it = maker_.find(n.node());
      const bool is_between = it != maker_.end() && chain.inner.contains(it->second);
      if (!is_between && seen.insert(n.node()).second) of_rest += bytes(n);
    };
    for (const std::size_t k : chain.inner) {
      of_between += bytes_of(k);
      if (!is_alone(k, chain)) again += cost_of(items_[k].ast).operations;
    }
    for (const Places* places : {&chain.ends, &chain.inner})
      for (const std::size_t k : *places)
        for (const LazyOp& input : items_[k].inputs) add(input);
    for (const std::size_t k : chain.ends)
      for (const LazyOp& output : items_[k].outputs) add(output);
    return of_between >= kCacheBytes && of_between >= kLarger * of_rest && again <= kOperations * of_between;
  }

  // --- results that are computed again ---

  /// What a node is made of: a result that the chain computes again, and memory that is made of the same result as
  /// other kernels computed it. Both may differ in the last bits.
  struct Copies {
    bool here = false, elsewhere = false;
    bool are_both() const { return here && elsewhere; }
  };
  /// Whether the chain compares both copies of a result, or depends on their difference otherwise than smoothly: the
  /// gradient of a maximum, for example, looks for the elements that are equal to it.
  bool mixes_copies(const Chain& chain) const {
    Places again, made_of;
    for (const std::size_t k : chain.inner)
      if (!is_alone(k, chain)) again.insert(k);
    if (again.empty()) return false;
    for (std::vector<std::size_t> open(again.begin(), again.end()); !open.empty();) {
      const std::size_t k = open.back();
      open.pop_back();
      for (const std::size_t r : readers_[k])
        if (made_of.insert(r).second) open.push_back(r);
      if (made_of.size() > kMostVisits) return true;
    }
    std::unordered_map<const LazyNode*, Copies> known;
    for (const std::size_t end : chain.ends)
      for (const Stored& stored : parts_[end].stored)
        if (!find_copies(*stored.value.node(), chain, again, made_of, known)) return true;
    return false;
  }
  /// Whether the chain stores an extreme of what is between, which a gradient may compare with its elements later.
  bool stores_extremes(const Chain& chain) const {
    return std::any_of(chain.ends.begin(), chain.ends.end(), [&](std::size_t end) {
      return std::any_of(parts_[end].stored.begin(), parts_[end].stored.end(), [](const Stored& stored) {
        const LazyNode* n = stored.value.node();
        while (is_movement(n->op) || is_annotation(n->op) || n->op == Ops::CONTIGUOUS) n = n->src[0].node();
        return n->is_tracked &&
               (n->op == Ops::REDUCE_MAX || n->op == Ops::REDUCE_MIN || n->op == Ops::MAX || n->op == Ops::MIN);
      });
    });
  }
  /// Finds the copies of `root` and of all below it; false where some node mixes them.
  bool find_copies(const LazyNode& root, const Chain& chain, const Places& again, const Places& made_of,
                   std::unordered_map<const LazyNode*, Copies>& known) const {
    std::vector<const LazyNode*> open = {&root};
    while (!open.empty()) {
      const LazyNode& n = *open.back();
      const auto it = maker_.find(&n);
      const bool is_end = it != maker_.end() && chain.ends.contains(it->second);
      const bool is_memory = it != maker_.end() && !chain.inner.contains(it->second) && !is_end;
      if (known.contains(&n) || is_memory || is_realized(n)) {
        known.try_emplace(&n, Copies{false, is_memory && made_of.contains(it->second)});
        open.pop_back();
        continue;
      }
      bool is_ready = true;
      for (const LazyOp& s : n.src)
        if (!known.contains(s.node())) open.push_back(s.node()), is_ready = false;
      if (!is_ready) continue;
      open.pop_back();
      Copies own;
      for (const LazyOp& s : n.src) {
        own.here = own.here || known.at(s.node()).here;
        own.elsewhere = own.elsewhere || known.at(s.node()).elsewhere;
      }
      if (own.are_both() && !is_smooth(n, known)) return false;
      own.here = own.here || (it != maker_.end() && again.contains(it->second));
      known.emplace(&n, own);
    }
    return true;
  }
  static bool is_smooth(const LazyNode& n, const std::unordered_map<const LazyNode*, Copies>& known) {
    switch (n.op) {
      case Ops::ADD:
      case Ops::SUB:
      case Ops::MUL:
      case Ops::NEG:
      case Ops::EXP:
      case Ops::SUM:
      case Ops::WHERE:
      case Ops::CONTIGUOUS: return true;
      case Ops::DIV: return !known.at(n.src[1].node()).are_both();
      case Ops::CAST: return n.dtype.is_float() && n.src[0].dtype().is_float();
      default: return is_movement(n.op) || is_annotation(n.op);
    }
  }

  /// Makes the kernel of the chain; false where it cannot be one, or does not pay.
  bool join(Chain& chain) {
    if (!is_forced() && !is_worthwhile(chain)) return false;
    if (mixes_copies(chain) || stores_extremes(chain)) return false;
    if (const auto known = joined_.find({chain.ends, chain.inner}); known != joined_.end()) {
      chain.item = known->second;
    } else {
      if (agree_on_values(chain)) chain.item = joined(chain);
      joined_.emplace(std::pair(chain.ends, chain.inner), chain.item);
    }
    return chain.item.has_value();
  }
  std::optional<ScheduleItem> joined(const Chain& chain) const {
    std::unordered_map<const LazyNode*, Ints> between;
    for (const std::size_t k : chain.inner)
      for (const LazyOp& output : items_[k].outputs) between.emplace(output.node(), parts_[k].domain);
    std::optional<ScheduleItem> best;
    std::int64_t most = 0;
    // The rows are those of the first store: any end may have them.
    for (auto first = chain.ends.rbegin(); first != chain.ends.rend() && most < kRows; ++first) {
      std::vector<Stored> stored = parts_[*first].stored;
      for (const std::size_t end : chain.ends)
        if (end != *first) stored.insert(stored.end(), parts_[end].stored.begin(), parts_[end].stored.end());
      ScheduleItem item = kernel_of(stored, materialized_, items_[*first].why, between);
      if (!item.is_kernel() || uses_dots(item.ast)) continue;
      const KernelInBlocks& found = kept_in_blocks({item.ast, options_.reassociate, is_forced()});
      if (found.rows <= most) continue;
      item.ast = found.ast;
      most = found.rows, best = std::move(item);
    }
    return best;
  }
  /// Whether the kernel has sums of products of bytes or bf16 for which the device has an instruction.
  bool uses_dots(const LazyOp& kernel) const {
    const std::vector<const LazyNode*> nodes = postorder(kernel);
    return std::any_of(nodes.begin(), nodes.end(), [&](const LazyNode* n) {
      const bool is_wanted = n->dtype.is_none() ? false : n->dtype.is_float() ? options_.bf16_dots : options_.dots;
      return is_wanted && !dot_casts(*n).empty();
    });
  }

  /// Whether a chain reads the results of item `k` from memory.
  bool is_loaded(std::size_t k) const {
    return std::any_of(chains_.begin(), chains_.end(), [&](const Chain& chain) {
      return !chain.inner.contains(k) && std::any_of(readers_[k].begin(), readers_[k].end(), [&](std::size_t r) {
        return chain.ends.contains(r) || chain.inner.contains(r);
      });
    });
  }
  Places between_of_chains() const {
    Places out;
    for (const Chain& chain : chains_) out.insert(chain.inner.begin(), chain.inner.end());
    return out;
  }
  /// By item, whether nothing needs it: it is between in all chains that read it, and nothing else reads it.
  std::vector<bool> gone() const {
    std::vector<bool> out(items_.size(), false);
    const Places inner = between_of_chains();
    for (std::size_t k = items_.size(); k-- > 0;)
      out[k] = inner.contains(k) && !is_loaded(k) &&
               std::all_of(readers_[k].begin(), readers_[k].end(),
                           [&](std::size_t r) { return chain_of_end_.contains(r) || out[r]; });
    return out;
  }
  /// The results between that are memory nevertheless, because a chain loads them or an item that is in no chain.
  Places wasted_of_chains() const {
    const std::vector<bool> is_gone = gone();
    const Places inner = between_of_chains();
    Places out;
    for (const std::size_t k : inner)
      if (!is_gone[k] && (is_loaded(k) || std::any_of(readers_[k].begin(), readers_[k].end(), [&](std::size_t r) {
                            return !chain_of_end_.contains(r) && !inner.contains(r);
                          })))
        out.insert(k);
    return out;
  }
  void drop_chains_with(Places wasted) {
    while (!wasted.empty()) {
      std::erase_if(chains_, [&](const Chain& chain) {
        return std::any_of(wasted.begin(), wasted.end(), [&](std::size_t k) { return chain.inner.contains(k); });
      });
      chain_of_end_.clear();
      for (std::size_t c = 0; c < chains_.size(); ++c)
        for (const std::size_t end : chains_[c].ends) chain_of_end_.emplace(end, c);
      wasted = wasted_of_chains();
    }
  }

  /// The items that are left, each behind those that it needs: a chain in the place of its last end.
  std::vector<ScheduleItem> in_order() {
    const std::vector<bool> is_gone = gone();
    std::vector<ScheduleItem> out;
    std::vector<bool> is_begun(items_.size(), false), is_done(items_.size(), false);
    std::vector<std::size_t> open;
    const auto place_of = [&](std::size_t k) {
      const auto it = chain_of_end_.find(k);
      return it == chain_of_end_.end() ? k : *chains_[it->second].ends.rbegin();
    };
    for (std::size_t last = 0; last < items_.size(); ++last) {
      if (is_gone[last]) continue;
      open.push_back(place_of(last));
      while (!open.empty()) {
        const std::size_t k = open.back();
        const auto chain = chain_of_end_.find(k);
        ScheduleItem& item = chain == chain_of_end_.end() ? items_[k] : *chains_[chain->second].item;
        if (!is_begun[k]) {
          is_begun[k] = true;
          for (const LazyOp& input : item.inputs)
            if (const auto it = maker_.find(input.node());
                it != maker_.end() && it->second < k && !is_done[place_of(it->second)])
              open.push_back(place_of(it->second));
          continue;
        }
        open.pop_back();
        if (is_done[k]) continue;
        is_done[k] = true;
        out.push_back(std::move(item));
      }
    }
    return out;
  }

  std::vector<ScheduleItem> items_;
  const std::vector<KernelParts>& parts_;
  const std::unordered_map<const LazyNode*, Boundary>& materialized_;
  const FusionOptions& options_;
  /// By result: the item. NOTE: an item may read its own result, which another thread has realized since.
  std::unordered_map<const LazyNode*, std::size_t> maker_;
  std::vector<Places> readers_, makers_;  // by item: of its result; of what it reads
  std::vector<bool> is_wide_, is_of_rows_;
  Places kept_;  // items whose results are memory
  std::vector<Chain> chains_;
  std::unordered_map<std::size_t, std::size_t> chain_of_end_;
  std::map<std::pair<Places, Places>, std::optional<ScheduleItem>> joined_;  // by ends and items between
};

}  // namespace

std::vector<ScheduleItem> in_chains(std::vector<ScheduleItem> items, const std::vector<KernelParts>& parts,
                                    const std::unordered_map<const LazyNode*, Boundary>& materialized,
                                    const FusionOptions& options) {
  return Chaining(std::move(items), parts, materialized, options).run();
}

}  // namespace strata
