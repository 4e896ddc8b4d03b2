// The gradient of a SCAN: a loop from the last step to the first, whose state is the gradient by the state.
//
// The gradient by a captured value is a sum over all steps. Where the gradient of one step is a sum of products of
// small operands, as the gradient by a weight is, the loop stores the operands, and one contraction behind the loop
// adds up all steps at once. Else the sum is one more state of the loop.

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/walk.h"
#include "strata/ops/batching.h"
#include "strata/ops/gradient.h"
#include "strata/ops/loop.h"

namespace strata::ops {

namespace {

using Grads = std::vector<std::optional<LazyOp>>;

LazyOp zeros(DType dtype, const Ints& shape) {
  const LazyOp zero = LazyOp::constant(Scalar::from_bits(dtype, 0), Ints{});
  return zero.reshape(Ints(shape.size(), 1)).expand(shape);
}
Ints with_front(const Int& front, const Ints& shape) {
  Ints out = {front};
  for (const Int& size : shape) out.push_back(size);
  return out;
}

/// The sum over all steps of a node of the step, as a node behind the loop.
class SumOverSteps {
 public:
  /// All elements that a node of the step has, with an axis of steps in front.
  using Sequence = std::function<LazyOp(const LazyOp& node)>;
  using Is = std::function<bool(const LazyOp& node)>;
  /// @param is_known whether `sequence` has the node without storing it for this sum
  /// @param is_outside whether a node is the same in all steps, and exists outside of the loop
  SumOverSteps(Int count, Sequence sequence, Is is_known, Is is_outside)
      : count_(std::move(count)),
        sequence_(std::move(sequence)),
        is_known_(std::move(is_known)),
        is_outside_(std::move(is_outside)) {}

  LazyOp operator()(const LazyOp& root) const {
    std::vector<const LazyOp*> moved;
    const LazyOp* const at = below_movement(root, moved);
    LazyOp out = total(*at);
    for (auto it = moved.rbegin(); it != moved.rend(); ++it) out = moved_as(*(*it)->node(), out);
    return out;
  }

 private:
  /// The node below the movement ops that `n` ends in, which are added to `moved`, outermost first. NOTE: an input of
  /// the loop may be a REQUIRES_GRAD, below which nothing exists.
  const LazyOp* below_movement(const LazyOp& n, std::vector<const LazyOp*>& moved) const {
    const auto is_passed = [](Ops op) { return is_movement(op) || (is_annotation(op) && op != Ops::REQUIRES_GRAD); };
    const LazyOp* at = &n;
    for (; !is_known_(*at) && is_passed(at->op()); at = &at->src(0))
      if (is_movement(at->op())) moved.push_back(at);
    return at;
  }
  LazyOp total(const LazyOp& n) const {
    if (n.op() != Ops::SUM || is_known_(n)) return summed(lifted(n), {0}, n.shape());
    Axes axes = {0};
    for (const std::int64_t axis : std::get<Axes>(n.arg())) axes.push_back(axis + 1);
    return summed(product_of(n.src(0)), axes, n.shape());
  }
  static LazyOp summed(const LazyOp& x, const Axes& axes, const Ints& shape) {
    return LazyOp::reduce(Ops::SUM, x, axes).reshape(shape);
  }
  LazyOp product_of(const LazyOp& n) const {
    if (n.op() == Ops::MUL && !is_known_(n)) return lifted(n.src(0)) * lifted(n.src(1));
    return lifted(n);
  }
  /// The node in all steps. Movement ops are applied to all steps.
  LazyOp lifted(const LazyOp& n) const {
    std::vector<const LazyOp*> moved;
    const LazyOp* const at = below_movement(n, moved);
    LazyOp out = is_outside_(*at) ? at->reshape(with_front(1, at->shape())).expand(with_front(count_, at->shape()))
                                  : sequence_(*at);
    for (auto it = moved.rbegin(); it != moved.rend(); ++it) out = moved_in_all(**it, count_, out);
    return out;
  }

  Int count_;
  Sequence sequence_;
  Is is_known_, is_outside_;
};

class LoopGradient {
 public:
  /// @param loop with the gradient of its step
  /// @param y a SCAN node of a step with the same results  @param dy the gradient by `y`
  LoopGradient(Loop loop, const LazyOp& y, const LazyOp& dy)
      : loop_(std::move(loop)),
        step_(*loop_.step),
        gradient_(*step_.gradient),
        of_(*std::get<StepArg>(y.arg()).step),
        bundle_(bundle_of(of_, y.dtype(), std::get<StepArg>(y.arg()).of_saved)),
        dy_(dy) {}

  Grads run() {
    std::vector<LazyOp> initial;
    for (std::size_t k = 0; k < step_.states; ++k) add_state(k, initial);
    find_used();
    std::vector<LazyOp> sequences;
    add_sequences(sequences);
    plan_outputs();
    plan_sums(initial);
    StepGraph back;
    back.inputs = state_inputs_;
    back.inputs.insert(back.inputs.end(), sequence_inputs_.begin(), sequence_inputs_.end());
    back.states = state_inputs_.size();
    back.sequences = sequence_inputs_.size();
    back.results = state_results_;
    back.results.insert(back.results.end(), outputs_.begin(), outputs_.end());
    back.count = step_.count;
    back.is_reversed = !step_.is_reversed;
    back.is_counted = step_.has_last_source();
    std::vector<LazyOp> sources = initial;
    sources.insert(sources.end(), sequences.begin(), sequences.end());
    std::optional<LazyOp> last;
    if (step_.condition) last = count_of_loop(loop_.step, loop_.sources);
    if (step_.is_counted) last = loop_.sources.back();
    result_ = make_loop(std::move(back), std::move(sources), last, false);
    return gradients();
  }

 private:
  /// The index of result `k` of the step among the placeholders of its gradient.
  std::optional<std::size_t> placeholder_of(std::size_t k) const {
    const auto it = std::find(gradient_.results.begin(), gradient_.results.end(), k);
    return it == gradient_.results.end() ? std::nullopt
                                         : std::optional(static_cast<std::size_t>(it - gradient_.results.begin()));
  }
  LazyOp dy_of(std::size_t k) const {
    for (const BundlePart& part : bundle_.parts)
      if (part.result == k) return part_of_bundle(of_, bundle_, dy_, k);
    const LazyOp& r = step_.results[k];
    return zeros(r.dtype(), step_.is_state(k) ? r.shape() : with_front(step_.count, r.shape()));
  }

  void add_state(std::size_t k, std::vector<LazyOp>& initial) {
    const auto p = placeholder_of(k);
    state_at_.push_back(p ? std::optional(state_inputs_.size()) : std::nullopt);
    if (!p) return;
    const LazyOp& input = step_.inputs[k];
    state_inputs_.push_back(gradient_.by_results[*p]);
    state_results_.push_back(gradient_.by_inputs[k] ? *gradient_.by_inputs[k] : zeros(input.dtype(), input.shape()));
    initial.push_back(dy_of(k));
  }

  /// Which values of the forward loop the gradient reads.
  void find_used() {
    const auto is_end = [&](const LazyOp& n) { return sequence_of(n).has_value() || captured_.contains(n.node()); };
    for (std::size_t k = step_.states + step_.sequences; k < step_.inputs.size(); ++k)
      captured_.insert(step_.inputs[k].node());
    std::unordered_set<const LazyNode*> seen;
    for (const std::optional<LazyOp>& g : gradient_.by_inputs)
      if (g)
        detail::walk(
            &*g, [&](const LazyOp* n) { return seen.insert(n->node()).second; },
            [&](const LazyOp* n, std::size_t k) { return is_end(*n) ? nullptr : source_in_step(n, k); },
            [&](const LazyOp* n) {
              if (sequence_of(*n)) used_.push_back(*n);
            });
  }
  /// All elements of a node of the step: of a sequence, of a saved value, of the gradient by an output.
  std::optional<LazyOp> sequence_of(const LazyOp& n) const {
    for (std::size_t k = step_.states; k < step_.states + step_.sequences; ++k)
      if (step_.inputs[k] == n) return loop_.sources[k];
    for (std::size_t p = 0; p < gradient_.by_results.size(); ++p)
      if (gradient_.by_results[p] == n)
        return step_.is_state(gradient_.results[p]) ? std::nullopt : std::optional(dy_of(gradient_.results[p]));
    const auto saved = step_.saved.find(n.node());
    return saved == step_.saved.end() ? std::nullopt : std::optional(loop_.result(saved->second));
  }
  void add_sequences(std::vector<LazyOp>& sequences) {
    for (const LazyOp& n : used_) {
      sequence_inputs_.push_back(n);
      sequences.push_back(*sequence_of(n));
    }
  }

  std::size_t add_output(const LazyOp& n) {
    const auto known = std::find(outputs_.begin(), outputs_.end(), n);
    if (known != outputs_.end()) return static_cast<std::size_t>(known - outputs_.begin());
    outputs_.push_back(n);
    return outputs_.size() - 1;
  }
  bool is_wanted(std::size_t input) const {
    const LazyOp& source = loop_.sources[input];
    return source.is_tracked() && source.dtype().is_float() && gradient_.by_inputs[input].has_value();
  }
  /// The gradients by elements of sequences.
  void plan_outputs() {
    for (std::size_t k = step_.states; k < step_.states + step_.sequences; ++k)
      if (is_wanted(k)) output_at_.emplace(k, add_output(*gradient_.by_inputs[k]));
  }

  /// The gradients by captured values.
  void plan_sums(std::vector<LazyOp>& initial) {
    for (std::size_t k = step_.states + step_.sequences; k < step_.inputs.size(); ++k) {
      if (!is_wanted(k)) continue;
      const LazyOp& g = *gradient_.by_inputs[k];
      if (const auto stored = operands_of_sum(g)) {
        for (const LazyOp& n : *stored) add_output(n);
        lifted_.insert(k);
        continue;
      }
      const LazyOp sum = placeholder(g.dtype(), g.shape());
      sum_at_.emplace(k, state_inputs_.size());
      state_inputs_.push_back(sum);
      state_results_.push_back(sum + g);
      initial.push_back(zeros(g.dtype(), g.shape()));
    }
  }
  /// What the loop would have to store for a sum behind the loop; nothing where that is more than the sum itself. The
  /// elements behind the last step of a loop with a condition are undefined, so that such a loop has no sum behind it.
  std::optional<std::vector<LazyOp>> operands_of_sum(const LazyOp& g) const {
    if (step_.has_last_source()) return std::nullopt;
    std::vector<LazyOp> out;
    double elements = 0;
    const auto note = [&](const LazyOp& n) {
      if (!is_stored(n) && std::find(out.begin(), out.end(), n) == out.end()) {
        out.push_back(n);
        elements += static_cast<double>(product(n.shape()).vmax());
      }
      return LazyOp::empty(n.dtype(), with_front(step_.count, n.shape()));
    };
    SumOverSteps(
        step_.count, note, [&](const LazyOp& n) { return is_stored(n); },
        [&](const LazyOp& n) { return is_outside(n); })(g);
    if (elements > static_cast<double>(product(g.shape()).vmax())) return std::nullopt;
    return out;
  }
  /// Whether the elements of a node in all steps exist behind the loop.
  bool is_stored(const LazyOp& n) const {
    return sequence_of(n) || std::find(outputs_.begin(), outputs_.end(), n) != outputs_.end();
  }
  bool is_outside(const LazyOp& n) const { return n.node()->is_closed || captured_.contains(n.node()); }

  Grads gradients() {
    Grads out;
    for (std::size_t k = 0; k < loop_.sources.size(); ++k) {
      out.emplace_back();
      if (k < step_.states && state_at_[k]) out.back() = result_.result(*state_at_[k]);
      if (const auto it = output_at_.find(k); it != output_at_.end()) out.back() = output(it->second);
      if (const auto it = sum_at_.find(k); it != sum_at_.end()) out.back() = result_.result(it->second);
      if (lifted_.contains(k)) out.back() = sum_of(*gradient_.by_inputs[k]);
    }
    return out;
  }
  LazyOp output(std::size_t k) const { return result_.result(state_inputs_.size() + k); }
  LazyOp sum_of(const LazyOp& g) const {
    const auto sequence = [&](const LazyOp& n) {
      const auto at = std::find(outputs_.begin(), outputs_.end(), n);
      if (at != outputs_.end()) return output(static_cast<std::size_t>(at - outputs_.begin()));
      return *sequence_of(n);
    };
    return SumOverSteps(
        step_.count, sequence, [&](const LazyOp& n) { return is_stored(n); },
        [&](const LazyOp& n) { return is_outside(n); })(g);
  }

  Loop loop_;
  const StepGraph& step_;
  const StepGradient& gradient_;
  const StepGraph& of_;
  Bundle bundle_;
  LazyOp dy_;
  std::vector<LazyOp> state_inputs_, state_results_, sequence_inputs_, outputs_, used_;
  std::vector<std::optional<std::size_t>> state_at_;        // by state of the step
  std::unordered_map<std::size_t, std::size_t> output_at_;  // by input of the step
  std::unordered_map<std::size_t, std::size_t> sum_at_;     // by input: a state
  std::unordered_set<std::size_t> lifted_;                  // inputs whose gradient is added up behind the loop
  std::unordered_set<const LazyNode*> captured_;
  Loop result_;
};

/// The loop with further results for all that its gradient needs. All results of `step` are wanted.
Loop with_saved(const StepGraph& step, std::span<const LazyOp> sources) {
  StepGraph own = step;
  own.gradient = nullptr;
  own.saved.clear();
  own.inputs.erase(own.inputs.begin() + static_cast<std::ptrdiff_t>(step.states + step.sequences), own.inputs.end());
  std::vector<LazyOp> inner(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(own.inputs.size()));
  return make_loop(std::move(own), std::move(inner),
                   step.has_last_source() ? std::optional(sources.back()) : std::nullopt, true);
}

}  // namespace

std::vector<std::optional<LazyOp>> loop_gradients(const LazyOp& y, const LazyOp& dy) {
  const std::shared_ptr<const StepGraph>& step = std::get<StepArg>(y.arg()).step;
  // Saved results are differentiated for second derivatives alone: there they are results like others.
  const bool is_known = step->gradient != nullptr && !std::get<StepArg>(y.arg()).of_saved;
  const Loop loop = is_known ? Loop{step, {y.src().begin(), y.src().end()}} : with_saved(*step, y.src());
  return LoopGradient(loop, y, dy).run();
}

}  // namespace strata::ops
