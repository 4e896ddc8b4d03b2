// joined(): merges independent kernels of the same shape that share an input, so that the input is read once.

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "strata/graph/rebuild.h"
#include "strata/schedule/contraction.h"
#include "strata/schedule/kernel_of.h"

namespace strata {

namespace {

/// `store` with buffer slot k renamed to slots[k].
LazyOp renumbered(const LazyOp& store, const std::vector<int>& slots) {
  return detail::Rebuild([&](const LazyOp& n, const std::vector<LazyOp>& sources) {
    const auto* arg = std::get_if<BufferArg>(&n.arg());
    if (arg == nullptr) return n.with_sources(sources);
    const int slot = slots[static_cast<std::size_t>(arg->slot)];
    return n.op() == Ops::LOAD ? LazyOp::load(slot, n.dtype(), arg->st, arg->size)
                               : LazyOp::store(slot, arg->st, sources[0], arg->size);
  })(store);
}

/// Whether no variable has one value in `a` and another in `b`: a kernel runs with one value of each variable.
bool agree(const Values& a, const Values& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& of_a) {
    return std::all_of(b.begin(), b.end(),
                       [&](const auto& of_b) { return !same(of_a.first, of_b.first) || of_a.second == of_b.second; });
  });
}
/// Adds the values of variables that `values` lacks.
void add_values(Values& values, const Values& more) {
  for (const auto& value : more)
    if (std::none_of(values.begin(), values.end(), [&](const auto& known) { return same(known.first, value.first); }))
      values.push_back(value);
}

class Joining {
 public:
  Joining(std::vector<ScheduleItem> items, std::size_t most) : items_(std::move(items)), most_(most) {}

  std::vector<ScheduleItem> run() {
    find_levels();
    std::vector<std::vector<std::size_t>> groups;
    std::map<std::tuple<std::size_t, std::string, const LazyNode*>, std::size_t> leader;
    std::vector<std::size_t> nodes;    // by group
    std::vector<Values> values;        // by group
    std::vector<ReductionKind> kinds;  // by group
    for (std::size_t k = 0; k < items_.size(); ++k) {
      const ScheduleItem& item = items_[k];
      std::optional<std::size_t> group;
      const std::size_t size = postorder(item.ast).size();
      const bool may_join = joins(item);
      const ReductionKind kind = may_join ? reductions_of(item.ast) : ReductionKind::none;
      const std::string shape = may_join ? render(item.ast.src(0).shape()) : std::string();
      if (may_join)
        for (const LazyOp& input : item.inputs)
          if (const auto it = leader.find({level_[k], shape, input.node()});
              it != leader.end() && nodes[it->second] + size <= most_ && can_share_kernel(kind, kinds[it->second]) &&
              agree(values[it->second], item.values)) {
            group = it->second;
            break;
          }
      if (!group) {
        group = groups.size();
        groups.emplace_back(), nodes.push_back(0), values.emplace_back(), kinds.push_back(kind);
      }
      groups[*group].push_back(k);
      add_values(values[*group], item.values);
      nodes[*group] += size;
      kinds[*group] = std::max(kinds[*group], kind);
      if (may_join)
        for (const LazyOp& input : item.inputs) leader.try_emplace({level_[k], shape, input.node()}, *group);
    }
    return together(groups);
  }

 private:
  static bool joins(const ScheduleItem& item) {
    if (!item.is_kernel() || item.outputs[0].op() == Ops::CONCAT) return false;
    const std::vector<const LazyNode*> nodes = postorder(item.ast);
    return std::none_of(nodes.begin(), nodes.end(), [](const LazyNode* n) {
      return is_scan(n->op) || n->op == Ops::SCATTER || n->op == Ops::ORDER || n->op == Ops::CONTIGUOUS;
    });
  }
  void find_levels() {
    std::unordered_map<const LazyNode*, std::size_t> of;
    for (const ScheduleItem& item : items_) {
      std::size_t level = 0;
      for (const LazyOp& input : item.inputs)
        if (const auto it = of.find(input.node()); it != of.end()) level = std::max(level, it->second + 1);
      level_.push_back(level);
      for (const LazyOp& output : item.outputs) {
        std::size_t& known = of[output.node()];  // the parts of a CONCAT may be at different levels
        known = std::max(known, level);
      }
    }
  }

  std::vector<ScheduleItem> together(const std::vector<std::vector<std::size_t>>& groups) const {
    std::vector<std::pair<std::size_t, std::size_t>> order;  // by level, then in the original order
    for (std::size_t g = 0; g < groups.size(); ++g) order.emplace_back(level_[groups[g][0]], g);
    std::sort(order.begin(), order.end());
    std::vector<ScheduleItem> out;
    for (const auto& [level, g] : order)
      out.push_back(groups[g].size() == 1 ? items_[groups[g][0]] : one_of(groups[g]));
    return out;
  }
  ScheduleItem one_of(const std::vector<std::size_t>& group) const {
    ScheduleItem out = items_[group[0]];
    out.outputs.clear(), out.inputs.clear();
    for (const std::size_t k : group) {
      const ScheduleItem& item = items_[k];
      out.outputs.insert(out.outputs.end(), item.outputs.begin(), item.outputs.end());
      for (const LazyOp& input : item.inputs)
        if (std::find(out.inputs.begin(), out.inputs.end(), input) == out.inputs.end()) out.inputs.push_back(input);
      add_values(out.values, item.values);
    }
    std::vector<LazyOp> stores;
    for (const std::size_t k : group) {
      const ScheduleItem& item = items_[k];
      std::vector<int> slots;
      for (std::size_t o = 0; o < item.outputs.size(); ++o) slots.push_back(static_cast<int>(stores.size() + o));
      for (const LazyOp& input : item.inputs) {
        const auto at = std::find(out.inputs.begin(), out.inputs.end(), input) - out.inputs.begin();
        slots.push_back(static_cast<int>(out.outputs.size()) + static_cast<int>(at));
      }
      for (const LazyOp& store : item.ast.src()) stores.push_back(renumbered(store, slots));
    }
    out.ast = LazyOp::sink(stores);
    return out;
  }

  std::vector<ScheduleItem> items_;
  std::size_t most_;
  std::vector<std::size_t> level_;
};

}  // namespace

std::vector<ScheduleItem> joined(std::vector<ScheduleItem> items, std::size_t most_nodes) {
  return Joining(std::move(items), most_nodes).run();
}

}  // namespace strata
