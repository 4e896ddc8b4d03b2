#include "strata/tensor/stream_scans.h"

#include <span>
#include <utility>

#include "strata/base/check.h"
#include "strata/graph/step_graph.h"
#include "strata/ir/scan_order.h"
#include "strata/ops/loop.h"
#include "strata/ops/value.h"
#include "strata/tensor/stream_chain.h"

namespace strata::stream {

namespace {

using ops::Value;

/// The loop in the making: first the states, then the operands.
class ScanStep {
 public:
  ScanStep(const LazyOp& scan, const std::vector<std::optional<LazyOp>>& each)
      : scan_(scan), each_(each), arg_(std::get<AxisArg>(scan.arg())), shape_(scan.shape()) {
    shape_.erase_at(static_cast<std::size_t>(arg_.axis));
  }

  LazyOp run() {
    if (arg_.op == Ops::MULACC)
      recur();
    else if (is_grouped_scan(arg_.op, scan_.dtype()))
      add_in_groups();
    else
      add_in_order();
    for (const Value& state : next_) step_.results.push_back(state.node());
    step_.results.push_back(result_->node());
    step_.count = scan_.shape()[static_cast<std::size_t>(arg_.axis)];
    const ops::Loop loop = ops::make_loop(std::move(step_), std::move(sources_), {}, false);
    Axes back;
    for (std::int64_t k = 0; k < std::ssize(scan_.shape()); ++k)
      back.push_back(k < arg_.axis ? k + 1 : k == arg_.axis ? 0 : k);
    return loop.result(next_.size()).permute(back);
  }

 private:
  Value input(DType dtype, const Ints& shape, const LazyOp& source) {
    step_.inputs.push_back(placeholder(dtype, shape));
    sources_.push_back(source);
    return step_.inputs.back();
  }
  /// @pre no operand() yet
  Value state(const Scalar& first, const Ints& shape) {
    ++step_.states;
    return input(first.dtype(), shape, LazyOp::constant(first, shape));
  }
  Value operand(std::size_t k) {
    if (each_[k]) return *each_[k];
    ++step_.sequences;
    Axes to_front = {arg_.axis};
    for (std::int64_t d = 0; d < std::ssize(scan_.shape()); ++d)
      if (d != arg_.axis) to_front.push_back(d);
    return input(scan_.src(k).dtype(), shape_, scan_.src(k).permute(to_front));
  }
  Value combined(const Value& a, const Value& b) const {
    return LazyOp::alu(combining_op(arg_.op), {a.node(), b.node()});
  }

  void recur() {
    const std::size_t factors = scan_.src().size() - 1;
    const Scalar zero = Scalar::of(scan_.dtype(), std::int64_t{0});
    std::vector<Value> before;  // the last results, the newest first
    for (std::size_t k = 0; k < factors; ++k) before.push_back(state(zero, shape_));
    LazyOp y = operand(factors);
    for (std::size_t k = factors; k-- > 0;)
      y = LazyOp::alu(Ops::ADD, {LazyOp::alu(Ops::MUL, {operand(k).node(), before[k].node()}), y});
    result_ = y;
    next_ = {*result_};
    next_.insert(next_.end(), before.begin(), before.end() - 1);
  }

  void add_in_order() {
    const Value total = state(identity_of(arg_.op, scan_.dtype()), shape_);
    result_ = combined(total, operand(0));
    next_ = {*result_};
  }

  void add_in_groups() {
    const Scalar identity = identity_of(arg_.op, scan_.dtype());
    const Value none = LazyOp::constant(identity, shape_);
    const Value place = state(Scalar::of(dtypes::int32, std::int64_t{0}), {});  // in its block
    const auto is_last_of = [&](std::int64_t count) { return place.bitwise_and(count - 1).eq(count - 1); };
    std::vector<Value> partners, totals;
    for (std::int64_t half = 1; half < kScanGroup; half *= 2) partners.push_back(state(identity, shape_));
    for (std::size_t level = 0; level < kScanLengths.size(); ++level) totals.push_back(state(identity, shape_));
    next_ = {(place + 1).bitwise_and(kScanLengths[2] - 1)};
    // The prefix in the group: the partner of a step is the last element of the half in front (scan_partner()).
    Value prefix = operand(0);
    for (std::size_t k = 0; k < partners.size(); ++k) {
      const std::int64_t half = std::int64_t{1} << k;
      next_.push_back(place.bitwise_and(2 * half - 1).eq(half - 1).where(prefix, partners[k]));
      prefix = place.bitwise_and(half).eq(half).where(combined(prefix, partners[k]), prefix);
    }
    result_ = combined(prefix, combined(combined(totals[2], totals[1]), totals[0]));
    Value more = prefix;  // what a total gets where the group, run or block ends
    for (std::size_t level = 0; level < totals.size(); ++level) {
      const Value sum = combined(totals[level], more), ends = is_last_of(kScanLengths[level]);
      const bool is_top = level + 1 == totals.size();
      const Value kept = is_top ? sum : is_last_of(kScanLengths[level + 1]).where(none, sum);
      next_.push_back(ends.where(kept, totals[level]));
      more = sum;
    }
  }

  const LazyOp& scan_;
  const std::vector<std::optional<LazyOp>>& each_;
  const AxisArg arg_;
  Ints shape_;  ///< of a position
  StepGraph step_;
  std::vector<LazyOp> sources_;
  std::vector<Value> next_;  ///< states
  std::optional<Value> result_;
};

}  // namespace

LazyOp loop_of_scan(const LazyOp& scan, const std::vector<std::optional<LazyOp>>& each) {
  STRATA_CHECK(std::get<AxisArg>(scan.arg()).op == Ops::MULACC || scan.src().size() == 1, domain, "[streaming] ",
               place_name(scan), " is not followed: totals in front of it are given");
  return ScanStep(scan, each).run();
}

}  // namespace strata::stream
