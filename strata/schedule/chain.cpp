#include "strata/schedule/chain.h"

#include <algorithm>
#include <optional>
#include <set>

#include "strata/graph/blocks.h"
#include "strata/schedule/contraction.h"
#include "strata/schedule/late_division.h"

namespace strata {

namespace {

constexpr double kCacheBytes = 1 << 20;  // that stay in a cache while a block is computed
constexpr double kRows = 64;             // of a block, about: codegen/block.cpp chooses them
constexpr std::size_t kMostItems = 16;   // of a chain
constexpr double kLarger = 2;            // how much larger the results between are than all else

double bytes(const LazyOp& n) { return elements(*n.node()) * static_cast<double>(n.dtype().itemsize()); }

class Chaining {
 public:
  Chaining(std::vector<ScheduleItem> items, const std::vector<KernelParts>& parts,
           const std::unordered_map<const LazyNode*, Boundary>& materialized, const FusionOptions& options)
      : items_(std::move(items)), parts_(parts), materialized_(materialized), options_(options) {
    for (std::size_t k = 0; k < items_.size(); ++k) {
      for (const LazyOp& output : items_[k].outputs) maker_.insert_or_assign(output.node(), k);
      for (const LazyOp& input : items_[k].inputs) readers_[input.node()].insert(k);
    }
  }

  std::vector<ScheduleItem> run() {
    std::vector<bool> is_gone(items_.size(), false);
    for (std::size_t k = items_.size(); k-- > 0;) {
      if (is_gone[k] || !may_end(items_[k])) continue;
      const std::set<std::size_t> before = chain_of(k);
      if (before.empty()) continue;
      std::optional<ScheduleItem> joined = joined_with(k, before);
      if (!joined) continue;
      items_[k] = *std::move(joined);
      for (const std::size_t b : before) is_gone[b] = true;
    }
    std::vector<ScheduleItem> out;
    for (std::size_t k = 0; k < items_.size(); ++k)
      if (!is_gone[k]) out.push_back(std::move(items_[k]));
    return out;
  }

 private:
  bool is_forced() const { return options_.chains == FusionOptions::Chains::wherever_possible; }
  static bool may_end(const ScheduleItem& item) { return item.is_kernel() && !item.part; }
  /// Whether the result of item `k` may be one between parts of another kernel.
  bool may_be_between(std::size_t k) const {
    const ScheduleItem& item = items_[k];
    if (!item.is_kernel() || item.part || item.outputs.size() != 1) return false;
    const LazyNode& n = *item.outputs[0].node();
    return item.why != Boundary::asked && item.why != Boundary::contiguous && !n.is_tracked && !n.is_closed;
  }

  /// The items before item `last` of its chain: all from the sources of a large result to its use.
  std::set<std::size_t> chain_of(std::size_t last) const {
    std::set<std::size_t> chain = {last}, open = makers_of(last);
    std::vector<std::size_t> order;  // users first: a later item reads none of those that are open
    while (!open.empty() && chain.size() < kMostItems) {
      const std::size_t k = *open.rbegin();
      open.erase(k);
      if (!may_be_between(k)) continue;
      const std::set<std::size_t>& readers = readers_.at(items_[k].outputs[0].node());
      if (!std::all_of(readers.begin(), readers.end(), [&](std::size_t r) { return chain.contains(r); })) continue;
      chain.insert(k), order.push_back(k);
      open.merge(makers_of(k));
    }
    std::set<std::size_t> out;
    for (std::size_t j = order.size(); j-- > 0;) {
      const ScheduleItem& item = items_[order[j]];
      const bool reads_one = std::any_of(item.inputs.begin(), item.inputs.end(), [&](const LazyOp& input) {
        const auto it = maker_.find(input.node());
        return it != maker_.end() && out.contains(it->second);
      });
      if (reads_one || is_forced() || bytes(item.outputs[0]) >= kCacheBytes) out.insert(order[j]);
    }
    return out;
  }

  /// The items whose outputs item `k` reads.
  std::set<std::size_t> makers_of(std::size_t k) const {
    std::set<std::size_t> out;
    for (const LazyOp& input : items_[k].inputs)
      if (const auto it = maker_.find(input.node()); it != maker_.end()) out.insert(it->second);
    return out;
  }
  /// Whether no variable has different values in the items.
  bool agree_on_values(std::size_t last, const std::set<std::size_t>& before) const {
    Values all = items_[last].values;
    for (const std::size_t b : before) all.insert(all.end(), items_[b].values.begin(), items_[b].values.end());
    for (const auto& [variable, value] : all)
      for (const auto& [other, of_other] : all)
        if (same(variable, other) && value != of_other) return false;
    return true;
  }

  std::optional<ScheduleItem> joined_with(std::size_t last, const std::set<std::size_t>& before) const {
    std::unordered_map<const LazyNode*, Ints> between;
    double of_between = 0, of_rest = 0;
    for (const std::size_t b : before) {
      between.emplace(items_[b].outputs[0].node(), parts_[b].domain);
      of_between += bytes(items_[b].outputs[0]);
    }
    if (!agree_on_values(last, before)) return std::nullopt;
    ScheduleItem out = kernel_of(parts_[last].stored, materialized_, items_[last].why, between);
    if (!out.is_kernel() || uses_dots(out.ast)) return std::nullopt;
    for (const LazyOp& input : out.inputs) of_rest += bytes(input);
    for (const LazyOp& output : out.outputs) of_rest += bytes(output);
    if (!is_forced() && (of_between < kCacheBytes || of_between < kLarger * of_rest)) return std::nullopt;
    if (options_.reassociate) out.ast = with_late_divisions(out.ast);
    const std::optional<std::size_t> axis = best_block_axis(out.ast);
    if (!axis) return std::nullopt;
    const RowBytes row = bytes_of_row(out.ast, *block_axes(out.ast, *axis).axes);
    if (!is_forced() && row.whole > kCacheBytes && row.whole > 2 * kRows * row.between) return std::nullopt;
    return out;
  }
  /// Whether the kernel has sums of products of bytes or bf16 for which the device has an instruction.
  bool uses_dots(const LazyOp& kernel) const {
    const std::vector<const LazyNode*> nodes = postorder(kernel);
    return std::any_of(nodes.begin(), nodes.end(), [&](const LazyNode* n) {
      const bool is_wanted = n->dtype.is_none() ? false : n->dtype.is_float() ? options_.bf16_dots : options_.dots;
      return is_wanted && !dot_casts(*n).empty();
    });
  }

  std::vector<ScheduleItem> items_;
  const std::vector<KernelParts>& parts_;
  const std::unordered_map<const LazyNode*, Boundary>& materialized_;
  const FusionOptions& options_;
  std::unordered_map<const LazyNode*, std::size_t> maker_;              // by result: the item
  std::unordered_map<const LazyNode*, std::set<std::size_t>> readers_;  // by result: the items that read it
};

}  // namespace

std::vector<ScheduleItem> in_chains(std::vector<ScheduleItem> items, const std::vector<KernelParts>& parts,
                                    const std::unordered_map<const LazyNode*, Boundary>& materialized,
                                    const FusionOptions& options) {
  return Chaining(std::move(items), parts, materialized, options).run();
}

}  // namespace strata
