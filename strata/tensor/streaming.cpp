#include "strata/tensor/streaming.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/base/check.h"
#include "strata/engine/realize.h"
#include "strata/tensor/access.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/jit_watching.h"
#include "strata/tensor/stream_plan.h"

namespace strata {

using stream::kFixed;
using stream::Place;
using stream::Plan;

namespace {

Ints with_positions(const Place& p, std::int64_t count) {
  Ints out = p.shape;
  out[p.axis] = count;
  return out;
}

LazyOp positions_of(const LazyOp& x, std::size_t axis, std::int64_t begin, std::int64_t end) {
  Mask bounds;
  for (const Int& size : x.shape()) bounds.push_back({0, size});
  bounds[axis] = {begin, end};
  return x.shrink(bounds);
}

LazyOp zeros_of(DType dtype, const Ints& shape) { return LazyOp::constant(Scalar::of(dtype, std::int64_t{0}), shape); }

std::int64_t bytes_of(DType dtype, const Ints& shape) {
  return product(shape).value() * static_cast<std::int64_t>(dtype.itemsize());
}

}  // namespace

/// The plan, and what is kept between blocks.
class Stream::State {
 public:
  State(Plan plan, const Device& device)
      : plan_(std::move(plan)), device_(device), rings_(plan_.places.size()), states_(plan_.places.size()) {
    restart();
    for (const std::optional<Tensor>& ring : rings_) {
      initial_rings_.emplace_back();
      if (ring) initial_rings_.back() = ring->clone().realize();
    }
    for (const std::vector<Tensor>& all : states_) {
      initial_states_.emplace_back();
      for (const Tensor& state : all) initial_states_.back().push_back(state.clone().realize());
    }
    initial_known_ = known_, initial_given_ = given_;
  }

  const Plan& plan() const { return plan_; }

  Tensor take(const Tensor& block) {
    const Place& x = plan_.places.front();
    Ints expected = x.shape;
    STRATA_CHECK(block.shape().size() == expected.size(), shape, "[Stream] a block of shape ", render(block.shape()),
                 ": a block has the shape of the example, ", render(expected), ", but for axis ", x.axis);
    expected[x.axis] = block.shape()[x.axis];
    STRATA_CHECK(block.shape() == expected && expected[x.axis].is_number(), shape, "[Stream] a block of shape ",
                 render(block.shape()), ": a block has the shape of the example, ", render(x.shape), ", but for axis ",
                 x.axis);
    STRATA_CHECK(block.dtype() == x.node.dtype(), domain, "[Stream] a block of ", block.dtype().name(),
                 ": the example is of ", x.node.dtype().name());
    STRATA_CHECK(&block.device() == &device_, domain, "[Stream] a block on ", block.device().name(),
                 ": the example is on ", device_.name());
    return advance(&block);
  }

  void reset() {
    for (std::size_t k = 0; k < rings_.size(); ++k) {
      put_back(rings_[k], initial_rings_[k]);
      for (std::size_t s = 0; s < states_[k].size(); ++s) {
        std::optional<Tensor> state = states_[k][s];
        put_back(state, initial_states_[k][s]);
        states_[k][s] = *state;
      }
    }
    known_ = initial_known_, given_ = initial_given_;
  }

 private:
  /// NOTE: a tensor that a captured function assigns to stays that tensor.
  static void put_back(std::optional<Tensor>& now, const std::optional<Tensor>& before) {
    if (!before)
      now.reset();
    else if (now && now->shape() == before->shape())
      now->assign(before->clone()), now->realize();
    else
      now = before->clone().realize();
  }

  /// The stream in front of the first position: what the input has no part in is computed.
  void restart() {
    known_.assign(plan_.places.size(), 0);
    const std::vector<std::int64_t> first = plan_.needed(known_);
    for (std::size_t k = 0; k < plan_.places.size(); ++k) {
      const Place& p = plan_.places[k];
      if (first[k] < 0) rings_[k] = TensorAccess::of(zeros_of(p.node.dtype(), with_positions(p, -first[k])), device_);
      if (p.kind != Place::Kind::loop) continue;
      const auto& arg = std::get<StepArg>(p.node.arg());
      for (std::size_t s = 0; s < arg.step->states; ++s)
        states_[k].push_back(TensorAccess::of(*p.reads[s].fixed, device_).clone());
    }
    advance(nullptr);
  }

  /// Takes a block, or the part that precedes all blocks.
  Tensor advance(const Tensor* block) {
    const NoGrad no_grad;
    const Place& x = plan_.places.front();
    const std::int64_t count = block == nullptr ? 0 : block->shape()[x.axis].value();
    std::vector<std::int64_t> next = plan_.known(given_ + count);
    if (block == nullptr) next.back() = 0;  // results that x has no part in come with the first block
    const std::vector<std::int64_t> first = plan_.needed(known_), kept = plan_.needed(next);
    const bool is_captured = jit_watching::Watching::is_active(), is_steady = steady(next);
    STRATA_CHECK(!is_captured || is_steady, domain, "[Stream] a block of ", count,
                 " positions cannot be captured: it changes the sizes of what is kept; blocks of a multiple of ",
                 plan_.period(), " positions can, behind the start of the signal");
    std::vector<std::optional<LazyOp>> buffers(plan_.places.size());
    std::vector<std::pair<std::size_t, LazyOp>> later;
    std::vector<std::pair<Tensor*, LazyOp>> states;
    for (std::size_t k = 0; k < plan_.places.size(); ++k) {
      const Place& p = plan_.places[k];
      const std::int64_t fresh = next[k] - known_[k];
      std::optional<LazyOp> value;
      if (fresh > 0) value = k == 0 ? block->node() : value_of(k, fresh, buffers, first, states);
      if (value && kept[k] < next[k] && k != 0) value = value->contiguous();
      if (rings_[k] && value)
        buffers[k] = joined(p, {rings_[k]->node(), *value});
      else if (rings_[k])
        buffers[k] = rings_[k]->node();
      else
        buffers[k] = value;
      if (fresh > 0 || kept[k] != first[k])
        later.emplace_back(k, kept[k] == next[k]
                                  ? zeros_of(p.node.dtype(), with_positions(p, 0))
                                  : positions_of(*buffers[k], p.axis, kept[k] - first[k], next[k] - first[k]));
    }
    const Place& y = plan_.places.back();
    const std::size_t last = plan_.places.size() - 1;
    Tensor out = TensorAccess::of(
        next[last] == known_[last] ? zeros_of(y.node.dtype(), with_positions(y, 0)) : *buffers[last], device_);
    std::vector<Tensor> made;
    if (next[last] > known_[last]) out = out.contiguous(), made.push_back(out);
    for (auto& [k, value] : later) {
      if (k == last) continue;
      if (kept[k] == next[k]) {
        rings_[k].reset();
        continue;
      }
      Tensor ring = TensorAccess::of(value, device_);
      if (rings_[k] && rings_[k]->shape() == ring.shape())
        rings_[k]->assign(ring);
      else
        rings_[k] = ring.contiguous();
      made.push_back(*rings_[k]);
    }
    for (auto& [state, value] : states) {
      state->assign(TensorAccess::of(value, device_));
      made.push_back(*state);
    }
    if (!is_captured && !made.empty()) {
      std::vector<LazyOp> roots;
      for (const Tensor& t : made) roots.push_back(t.node());
      realize(roots, device_);
    }
    // A stream that goes on as it began keeps its numbers: they do not grow, and a captured call changes none.
    if (!is_steady) known_ = next, given_ += count;
    return out;
  }

  /// Whether what follows `next` is what follows known_, moved on.
  bool steady(const std::vector<std::int64_t>& next) const {
    for (std::size_t k = 0; k < plan_.places.size(); ++k) {
      if (known_[k] < plan_.places[k].lead) return false;
      for (const stream::Read& r : plan_.places[k].reads) {
        if (r.base != kFixed && next[r.base] - known_[r.base] != r.rate * (next[k] - known_[k])) return false;
        if (r.masked > known_[k]) return false;
      }
    }
    return next[0] > known_[0];
  }

  LazyOp joined(const Place& p, const std::vector<LazyOp>& parts) const {
    std::vector<Tensor> all;
    for (const LazyOp& part : parts) all.push_back(TensorAccess::of(part, device_));
    return Tensor::cat(all, static_cast<std::int64_t>(p.axis)).node();
  }

  LazyOp value_of(std::size_t k, std::int64_t fresh, const std::vector<std::optional<LazyOp>>& buffers,
                  const std::vector<std::int64_t>& first, std::vector<std::pair<Tensor*, LazyOp>>& states) {
    const Place& p = plan_.places[k];
    const auto operand = [&](std::size_t r, std::int64_t from, std::int64_t count) {
      const stream::Read& read = p.reads[r];
      if (read.base == kFixed) return elements_of(read, nullptr, p.node, 0, from, count);
      return elements_of(read, &plan_.places[read.base], *buffers[read.base], first[read.base], from, count);
    };
    const std::int64_t from = known_[k];
    const std::int64_t front = std::clamp<std::int64_t>(p.lead - from, 0, fresh);
    switch (p.kind) {
      case Place::Kind::pad: {
        if (front == fresh) return zeros_of(p.node.dtype(), with_positions(p, fresh));
        Padding around = std::get<Padding>(p.node.arg());
        around[p.axis] = {front, 0};
        return operand(0, from + front, fresh - front).pad(around);
      }
      case Place::Kind::behind: {
        std::vector<LazyOp> parts;
        if (front > 0) {
          const auto fronts = p.node.src().first(p.node.src().size() - 1);
          const LazyOp all = LazyOp::concatenated(fronts, static_cast<std::int64_t>(p.axis));
          parts.push_back(positions_of(all, p.axis, from, from + front));
        }
        if (front < fresh) parts.push_back(operand(0, from + front, fresh - front));
        return parts.size() == 1 ? parts[0] : joined(p, parts);
      }
      case Place::Kind::parts: {
        std::vector<LazyOp> parts;
        for (std::size_t r = 0; r < p.reads.size(); ++r) parts.push_back(operand(r, from, fresh));
        if (const auto* along = std::get_if<Axes>(&p.node.arg())) return LazyOp::concatenated(parts, along->front());
        return LazyOp::concatenated(parts).reshape(with_positions(p, fresh));
      }
      case Place::Kind::loop: return loop_of(k, fresh, operand, states);
      case Place::Kind::result: return operand(0, from, fresh);
      default: break;
    }
    std::vector<LazyOp> operands;
    for (std::size_t r = 0; r < p.reads.size(); ++r) operands.push_back(operand(r, from, fresh));
    const LazyArg& arg = p.node.arg();
    switch (const Ops op = p.node.op()) {
      case Ops::CAST: return operands[0].cast(p.node.dtype());
      case Ops::BITCAST: return operands[0].bitcast(p.node.dtype());
      case Ops::FORMULA: return operands[0].formula(*std::get<FormulaArg>(arg).formula);
      case Ops::CONTIGUOUS: return operands[0].contiguous();
      case Ops::GATHER: return LazyOp::gather(operands[0], operands[1]);
      case Ops::ASSOCIATIVE_SCAN: {  // along another axis
        const auto [by, along] = std::get<AxisArg>(arg);
        if (by == Ops::MULACC)
          return LazyOp::recurrence(std::span(operands).first(operands.size() - 1), operands.back(), along);
        return operands.size() == 2 ? LazyOp::scan_behind(by, operands[0], operands[1], along)
                                    : LazyOp::scan(by, operands[0], along);
      }
      case Ops::ORDER: {
        const auto& order = std::get<OrderArg>(arg);
        return LazyOp::order(operands[0], order, p.node.shape()[static_cast<std::size_t>(order.axis)]);
      }
      default: return is_reduce(op) ? LazyOp::reduce(op, operands[0], std::get<Axes>(arg)) : LazyOp::alu(op, operands);
    }
  }

  template <class Operand>
  LazyOp loop_of(std::size_t k, std::int64_t fresh, const Operand& operand,
                 std::vector<std::pair<Tensor*, LazyOp>>& states) {
    const Place& p = plan_.places[k];
    const auto& arg = std::get<StepArg>(p.node.arg());
    auto step = std::make_shared<StepGraph>(*arg.step);
    step->count = fresh;
    std::vector<LazyOp> sources;
    for (std::size_t r = 0; r < p.reads.size(); ++r)
      sources.push_back(r < step->states ? states_[k][r].node() : operand(r, known_[k], fresh));
    const LazyOp all = LazyOp::loop(step, sources, p.node.dtype(), arg.of_saved);
    const Bundle bundle = bundle_of(*step, p.node.dtype(), arg.of_saved);
    for (std::size_t s = 0; s < step->states; ++s)
      states.emplace_back(&states_[k][s], result_of_loop(step, sources, s));
    return all.shrink({{bundle.rows, bundle.rows + Int(fresh) * bundle.row}}).reshape({fresh, bundle.row});
  }

  Plan plan_;
  const Device& device_;
  std::vector<std::optional<Tensor>> rings_, initial_rings_;  // by place; of the positions from needed(known_) on
  std::vector<std::vector<Tensor>> states_, initial_states_;  // by place
  std::vector<std::int64_t> known_, initial_known_;           // by place
  std::int64_t given_ = 0, initial_given_ = 0;
};

Tensor Stream::operator()(const Tensor& block) { return state_->take(block); }
void Stream::reset() { state_->reset(); }
std::int64_t Stream::period() const { return state_->plan().period(); }
std::int64_t Stream::axis() const { return static_cast<std::int64_t>(state_->plan().places.back().axis); }

std::vector<StreamRing> Stream::rings() const {
  std::vector<StreamRing> out;
  for (const Place& p : state_->plan().places) {
    if (p.most > 0) {
      const Ints shape = with_positions(p, p.most);
      out.push_back({p.name, shape, p.least, p.most, bytes_of(p.node.dtype(), shape)});
    }
    if (p.kind != Place::Kind::loop) continue;
    const StepGraph& step = *std::get<StepArg>(p.node.arg()).step;
    for (std::size_t s = 0; s < step.states; ++s)
      out.push_back({p.name + ", state " + std::to_string(s), step.inputs[s].shape(), 0, 0,
                     bytes_of(step.inputs[s].dtype(), step.inputs[s].shape())});
  }
  return out;
}

std::string Stream::describe() const {
  std::string out;
  std::int64_t bytes = 0;
  for (const StreamRing& r : rings()) {
    const std::string positions =
        r.least == r.most ? std::to_string(r.most) : std::to_string(r.least) + " to " + std::to_string(r.most);
    out +=
        r.name + ": " + (r.most == 0 ? std::string("state") : positions + (r.most == 1 ? " position" : " positions"));
    out += ", " + render(r.shape) + ", " + std::to_string(r.bytes) + " bytes\n";
    bytes += r.bytes;
  }
  return out + "in all " + std::to_string(bytes) + " bytes; blocks of multiples of " + std::to_string(period()) +
         (period() == 1 ? " position" : " positions") + " keep the sizes\n";
}

Stream streaming(const std::function<Tensor(const Tensor&)>& f, const Tensor& example, std::int64_t axis) {
  const std::int64_t rank = example.ndim(), at = axis < 0 ? axis + rank : axis;
  STRATA_CHECK(at >= 0 && at < rank, shape, "[streaming] axis ", axis, " of an example of shape ",
               render(example.shape()));
  for (const Int& size : example.shape())
    STRATA_CHECK(size.is_number() && size.value() > 0, shape, "[streaming] an example of shape ",
                 render(example.shape()), ": sizes are numbers above 0");
  const NoGrad no_grad;
  const Tensor longer = Tensor::cat(std::vector<Tensor>{example, example}, at);
  const auto traced = [&](const Tensor& x) {
    Jit jit([&](std::span<const Tensor> given) { return std::vector<Tensor>{f(given[0])}; }, 1, "streaming");
    // A function that makes its weights in its first call is captured in the third.
    for (int call = 0; call < 4 && jit.replays() == 0; ++call) static_cast<void>(jit({&x, 1}));
    STRATA_CHECK(jit.replays() > 0, domain,
                 "[streaming] no call of the function is captured: its calls differ, or the flag CHECK_INDEX is set");
    Traced out = jit.traced();
    for (const TracedChange& c : out.changes)
      STRATA_CHECK(false, domain, "[streaming] the function ", c.what, ": a stream cannot follow this");
    STRATA_CHECK(out.fed.empty(), domain,
                 "[streaming] the function reads values that differ in each call, e.g. random numbers");
    return out;
  };
  const Traced a = traced(example), b = traced(longer);
  return Stream(std::make_shared<Stream::State>(
      stream::plan_of(a.outputs[0], a.inputs[0], b.outputs[0], b.inputs[0], static_cast<std::size_t>(at)),
      example.device()));
}

}  // namespace strata
