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
constexpr int kMostTrials = 4;
constexpr double kLarger = 2;  // how much larger the results between are than all else

double bytes(const LazyOp& n) { return elements(*n.node()) * static_cast<double>(n.dtype().itemsize()); }

using Places = std::set<std::size_t>;  // of items

/// One kernel of several items: those at its ends, and those whose results are between its parts.
struct Chain {
  Places ends, inner;
  std::optional<ScheduleItem> item{};  // the kernel
};

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
        if (const auto it = maker_.find(input.node()); it != maker_.end())
          makers_[k].insert(it->second), readers_[it->second].insert(k);
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
  bool is_large(std::size_t k) const { return is_forced() || bytes_of(k) >= kCacheBytes; }

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
    return std::all_of(chain.inner.begin(), chain.inner.end(), [&](std::size_t k) {
      return std::all_of(readers_[k].begin(), readers_[k].end(),
                         [&](std::size_t r) { return chain.ends.contains(r) || chain.inner.contains(r); });
    });
  }

  /// The items between in the chain of `ends`: all from the sources of a large result to its uses.
  /// @param only whether other items may not read them
  Places inner_of(const Places& ends, bool only) const {
    Places chain = ends, open;
    for (const std::size_t end : ends) open.insert(makers_[end].begin(), makers_[end].end());
    std::vector<std::size_t> order;  // users first: a later item reads none of those that are open
    while (!open.empty() && chain.size() < kMostItems) {
      const std::size_t k = *open.rbegin();
      open.erase(k);
      if (chain.contains(k) || !may_be_between(k)) continue;
      const bool is_alone =
          std::all_of(readers_[k].begin(), readers_[k].end(), [&](std::size_t r) { return chain.contains(r); });
      if (only && !is_alone) continue;
      chain.insert(k), order.push_back(k);
      open.insert(makers_[k].begin(), makers_[k].end());
    }
    Places out;
    for (std::size_t j = order.size(); j-- > 0;) {
      const Places& makers = makers_[order[j]];
      const bool reads_one = std::any_of(makers.begin(), makers.end(), [&](std::size_t m) { return out.contains(m); });
      if (reads_one || is_large(order[j])) out.insert(order[j]);
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
  /// What reads the results between of a chain and is no part of it: for a large result that may be between, its uses.
  Places uses_of(const Chain& chain) const {
    Places out, seen, open;
    for (const std::size_t k : chain.inner) open.insert(readers_[k].begin(), readers_[k].end());
    while (!open.empty() && seen.size() < kMostItems) {
      const std::size_t r = *open.begin();
      open.erase(r);
      if (chain.ends.contains(r) || chain.inner.contains(r) || !seen.insert(r).second) continue;
      if (may_be_between(r) && is_large(r) && !readers_[r].empty())
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
  /// Whether the results between are much more memory than all else.
  bool is_worthwhile(const Chain& chain) const {
    double of_between = 0, of_rest = 0;
    std::set<const LazyNode*> seen;
    const auto add = [&](const LazyOp& n) {
      const auto it = maker_.find(n.node());
      const bool is_between = it != maker_.end() && chain.inner.contains(it->second);
      if (!is_between && seen.insert(n.node()).second) of_rest += bytes(n);
    };
    for (const std::size_t k : chain.inner) of_between += bytes_of(k);
    for (const Places* places : {&chain.ends, &chain.inner})
      for (const std::size_t k : *places)
        for (const LazyOp& input : items_[k].inputs) add(input);
    for (const std::size_t k : chain.ends)
      for (const LazyOp& output : items_[k].outputs) add(output);
    return of_between >= kCacheBytes && of_between >= kLarger * of_rest;
  }

  /// Makes the kernel of the chain; false where it cannot be one, or does not pay.
  bool join(Chain& chain) {
    if (!is_forced() && !is_worthwhile(chain)) return false;
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
      if (options_.reassociate && chain.ends.size() == 1) item.ast = with_late_divisions(item.ast);
      const std::optional<std::size_t> axis = best_block_axis(item.ast);
      if (!axis) continue;
      const BlockAxes axes = *block_axes(item.ast, *axis).axes;
      if (!options_.reassociate && adds_up_in_blocks(item.ast, axes)) continue;
      const RowBytes row = bytes_of_row(item.ast, axes);
      if (!is_forced() && row.whole > kCacheBytes && row.whole > 2 * static_cast<double>(kRows) * row.between) continue;
      const std::int64_t rows = item.ast.src(0).shape()[*axis].value();
      if (rows > most) most = rows, best = std::move(item);
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

  /// By item, whether nothing needs it: it is between in all chains that read it.
  std::vector<bool> gone() const {
    std::vector<bool> out(items_.size(), false);
    Places inner;
    for (const Chain& chain : chains_) inner.insert(chain.inner.begin(), chain.inner.end());
    for (std::size_t k = items_.size(); k-- > 0;)
      out[k] = inner.contains(k) && std::all_of(readers_[k].begin(), readers_[k].end(), [&](std::size_t r) {
                 const auto end = chain_of_end_.find(r);
                 return end == chain_of_end_.end() ? out[r] : chains_[end->second].inner.contains(k);
               });
    return out;
  }
  /// The results between that are memory nevertheless, because an item that is in no chain reads them.
  Places wasted_of_chains() const {
    const std::vector<bool> is_gone = gone();
    Places inner, out;
    for (const Chain& chain : chains_) inner.insert(chain.inner.begin(), chain.inner.end());
    for (const std::size_t k : inner)
      if (!is_gone[k] && std::any_of(readers_[k].begin(), readers_[k].end(), [&](std::size_t r) {
            const auto end = chain_of_end_.find(r);
            return end == chain_of_end_.end() ? !inner.contains(r) : !chains_[end->second].inner.contains(k);
          }))
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
            if (const auto it = maker_.find(input.node()); it != maker_.end() && !is_done[place_of(it->second)])
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
  std::unordered_map<const LazyNode*, std::size_t> maker_;  // by result: the item
  std::vector<Places> readers_, makers_;                    // by item: of its result; of what it reads
  Places kept_;                                             // items whose results are memory
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
