// kernel_of(): the SINK of one kernel.

#include "strata/schedule/kernel_of.h"

#include <algorithm>

#include "strata/graph/absorb.h"
#include "strata/graph/rebuild.h"

namespace strata {

namespace {

class KernelOf {
 public:
  KernelOf(const std::vector<Stored>& stored, const std::unordered_map<const LazyNode*, Boundary>& materialized,
           const std::unordered_map<const LazyNode*, Ints>& between)
      : stored_(stored),
        materialized_(materialized),
        between_(between),
        item_{stored[0].output, {}, {}, {}, Boundary::asked} {}

  ScheduleItem run() {
    detail::Rebuild build([this](const LazyOp& n, const std::vector<LazyOp>& sources) { return made(n, sources); },
                          [this](const LazyOp& n) { return is_input(n) ? std::optional(input(n)) : std::nullopt; });
    std::vector<LazyOp> stores;
    for (const Stored& s : stored_) {
      const LazyOp value = build(s.value);
      if (stored_.size() == 1 && is_whole(value, s)) {
        item_.ast = value;
        item_.outputs = {s.output};
        return std::move(item_);
      }
      stores.push_back(LazyOp::store(static_cast<int>(item_.outputs.size()), s.st, value, product(s.output.shape())));
      item_.outputs.push_back(s.output);
    }
    item_.ast = unbind(LazyOp::sink(stores), item_.values);
    return std::move(item_);
  }

 private:
  /// True iff `value` is the whole contiguous memory of an input, and the output may share that memory.
  static bool is_whole(const LazyOp& value, const Stored& s) {
    if (value.op() != Ops::LOAD || s.output.op() == Ops::CONTIGUOUS || s.output.op() == Ops::CONCAT) return false;
    const auto& arg = std::get<BufferArg>(value.arg());
    return arg.st.simplify().contiguous() && arg.size == product(arg.st.shape());
  }
  bool is_input(const LazyOp& n) const {
    if (n.op() == Ops::EMPTY || is_realized(*n.node())) return true;
    return materialized_.contains(n.node()) && !between_.contains(n.node()) &&
           std::none_of(stored_.begin(), stored_.end(), [&](const Stored& s) { return s.output == n; });
  }

  LazyOp made(const LazyOp& n, const std::vector<LazyOp>& sources) const {
    LazyOp own = computed(n, sources);
    const auto it = between_.find(n.node());
    return it == between_.end() ? own : own.reshape(it->second).contiguous().reshape(n.shape());
  }
  LazyOp computed(const LazyOp& n, const std::vector<LazyOp>& sources) const {
    if (n.op() == Ops::CONTIGUOUS || is_annotation(n.op())) return sources[0];
    if (n.op() == Ops::FORMULA) return n.formula_of(sources[0]);
    const bool is_one = !sources.empty() && is_absorbed(n, sources[0]);
    return is_one ? absorbed(n, sources[0]) : n.with_sources(sources);
  }
  /// A LOAD of a new input slot; input slots follow the output slots.
  LazyOp input(const LazyOp& n) {
    const int slot = static_cast<int>(stored_.size() + item_.inputs.size());
    item_.inputs.push_back(n);
    return LazyOp::load(slot, n.dtype(), ShapeTracker::from_shape(n.shape()));
  }

  const std::vector<Stored>& stored_;
  const std::unordered_map<const LazyNode*, Boundary>& materialized_;
  const std::unordered_map<const LazyNode*, Ints>& between_;
  ScheduleItem item_;
};

}  // namespace

ScheduleItem kernel_of(const std::vector<Stored>& stored,
                       const std::unordered_map<const LazyNode*, Boundary>& materialized, Boundary why,
                       const std::unordered_map<const LazyNode*, Ints>& between) {
  ScheduleItem out = KernelOf(stored, materialized, between).run();
  out.why = why;
  if (stored[0].output.op() == Ops::CONCAT) out.part = stored[0].value;
  return out;
}

}  // namespace strata
