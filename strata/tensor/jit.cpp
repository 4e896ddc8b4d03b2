#include "strata/tensor/jit.h"

#include <algorithm>
#include <optional>

#include "strata/base/flags.h"
#include "strata/engine/recording.h"
#include "strata/engine/storage.h"
#include "strata/tensor/access.h"

namespace strata {

namespace {

using State = std::shared_ptr<TensorState>;

/// A tensor that is some memory seen through movement: the memory first, the tensor's node last.
using Chain = std::vector<LazyOp>;

/// Nothing where a node is computed otherwise.
std::optional<Chain> chain_of(const LazyOp& node) {
  Chain out = {node};
  while (is_movement(out.back().op()) || out.back().op() == Ops::NOOP)
    out.push_back(LazyOp(out.back().src(0)));
  if (!is_realized(*out.back().node())) return std::nullopt;
  std::reverse(out.begin(), out.end());
  return out;
}
bool is_same_view(const Chain& a, const Chain& b) {
  if (a.size() != b.size() || !(a[0].shape() == b[0].shape()) || a[0].dtype() != b[0].dtype())
    return false;
  for (std::size_t k = 1; k < a.size(); ++k)
    if (a[k].op() != b[k].op() || !(a[k].shape() == b[k].shape()) ||
        (a[k].op() != Ops::NOOP && !(a[k].arg() == b[k].arg())))
      return false;
  return true;
}
/// The chain on other memory.
LazyOp rebuilt(const Chain& chain, const LazyOp& leaf, const State& state) {
  LazyOp out = leaf;
  for (std::size_t k = 1; k < chain.size(); ++k)
    out = chain[k].op() != Ops::NOOP ? chain[k].with_sources({&out, 1})
          : state->slot != nullptr   ? out.tracked(state->slot)
                                     : out;
  return out;
}

/// Sizes without the values of variables, which are put into `values`.
Ints unbound(const Ints& shape, Values& values) {
  Ints out;
  for (const Int& size : shape) {
    if (size.is_number()) {
      out.push_back(size);
      continue;
    }
    auto [plain, bound] = unbind(size.expr());
    values.insert(values.end(), bound.begin(), bound.end());
    out.push_back(plain);
  }
  return out;
}
Ints bound(const Ints& shape, const Values& values) {
  Substitution map;
  for (const auto& [variable, value] : values) map.emplace_back(variable, variable.bind(value));
  Ints out;
  for (const Int& size : shape)
    out.push_back(size.is_number() ? size : Int(substitute(size.expr(), map)));
  return out;
}

/// Memory that nothing but `leaf` knows, so that it may be written again.
bool is_free(const LazyOp& leaf) { return leaf.is_sole_owner() && buffer_of(leaf).is_held_by(2); }

/// Tensors from now on are born at this or later.
std::uint64_t birth_now() { return TensorAccess::state(Tensor(0))->born; }

/// What a call reads from outside and assigns to.
class Watching final : public TensorListener {
 public:
  explicit Watching(std::uint64_t begin) : begin_(begin) {}
  void read(const State& state) override { note(state, read_); }
  void assigned(const State& state) override { note(state, assigned_); }

  std::vector<std::pair<State, LazyOp>> read_, assigned_;  // with the node that it had first

 private:
  void note(const State& state, std::vector<std::pair<State, LazyOp>>& in) const {
    if (state->born >= begin_) return;
    for (const auto& [known, node] : in)
      if (known == state) return;
    in.emplace_back(state, state->node);
  }
  std::uint64_t begin_;
};

/// What a call assigned to outside is memory after it, which no gradient passes.
void settle(const Watching& watching) {
  for (const auto& [state, before] : watching.assigned_) {
    if (!chain_of(state->node)) TensorAccess::of(state).realize();
    const LazyOp& node = state->node;
    if (state->slot != nullptr || !node.is_tracked()) continue;
    state->node = is_realized(*node.node()) ? leaf_of(buffer_of(node), node.shape()) : node.detached();
  }
}

/// As it is written. What it reads from outside gets memory, so that a capture knows it again.
std::vector<Tensor> first_run(const Jit::Function& function, std::span<const Tensor> inputs) {
  Watching watching(birth_now());
  std::vector<Tensor> results = function(inputs);
  for (const Tensor& y : results) y.realize();
  for (const auto& [state, before] : watching.read_)
    if (!chain_of(state->node)) TensorAccess::of(state).realize();
  settle(watching);
  return results;
}

}  // namespace

class Jit::Capture {
 public:
  explicit Capture(std::span<const Tensor> inputs) {
    for (const Tensor& x : inputs) {
      Values values;
      inputs_.push_back({unbound(x.shape(), values), x.dtype(), &x.device(), std::nullopt});
    }
  }

  bool is_captured() const { return recording_ != nullptr; }
  std::vector<RecordedTime> times(int repeats) const { return recording_->times(repeats); }

  bool matches(std::span<const Tensor> inputs) const {
    if (inputs.size() != inputs_.size()) return false;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Tensor& x = inputs[k];
      Values values;
      if (x.dtype() != inputs_[k].dtype || &x.device() != inputs_[k].device ||
          !(unbound(x.shape(), values) == inputs_[k].shape))
        return false;
    }
    return true;
  }

  /// Calls the function on copies of the inputs, whose memory is then no other's.
  std::vector<Tensor> capture(const Function& function, std::span<const Tensor> inputs) {
    std::vector<Tensor> own;
    for (const Tensor& x : inputs) {
      const Buffer from = x.buffer(), to = Buffer::allocate(from.size(), from.dtype());
      to.copy_from(from);
      own.push_back(TensorAccess::of(leaf_of(to, x.shape()), x.device()));
    }
    auto recording = std::make_unique<Recording>();
    std::vector<Tensor> results;
    Watching watching(birth_now());
    results = function(own);
    settle(watching);
    for (Tensor& y : results) y = own_memory(y, *recording);
    recording->stop();
    for (std::size_t k = 0; k < own.size(); ++k)
      inputs_[k].place = recording->place_of(own[k].buffer());
    for (const auto& [state, before] : watching.read_)
      if (std::none_of(own.begin(), own.end(),
                       [&](const Tensor& x) { return TensorAccess::state(x) == state; }))
        note_read(state, before, *recording);
    for (const auto& [state, before] : watching.assigned_) note_assigned(state, *recording);
    for (const Tensor& y : results)
      outputs_.push_back({recording->place_of(y.buffer()), y, y.shape()});
    recording_ = std::move(recording);
    return results;
  }

  /// Nothing where a tensor from outside is no longer what it was: the call has to be captured again.
  std::optional<std::vector<Tensor>> replay(std::span<const Tensor> inputs) {
    if (!resolve()) return std::nullopt;
    Values values;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs_[k].place) recording_->set_memory(*inputs_[k].place, inputs[k].buffer().data());
      unbound(inputs[k].shape(), values);
    }
    for (const auto& [variable, value] : values)
      recording_->set_value(std::string(variable.name()), value);
    std::vector<LazyOp> next;
    for (Written& w : written_) next.push_back(fresh(w.spare, w.like, w.place));
    std::vector<Tensor> results;
    for (Output& o : outputs_) results.push_back(fresh(o, values));
    recording_->replay();
    for (std::size_t k = 0; k < written_.size(); ++k) hand_over(written_[k], next[k]);
    return results;
  }

 private:
  struct Input {
    Ints shape;
    DType dtype;
    const Device* device;
    std::optional<std::size_t> place;
  };
  struct Read {
    State state;
    Chain chain;
    LazyOp seen;
    std::size_t place;
    void* at;  ///< its memory
  };
  struct Assigned {
    State state;
    Chain chain;
  };
  /// Memory that tensors from outside have after the call.
  struct Written {
    std::optional<std::size_t> place;
    LazyOp like;                  ///< of the captured call
    std::optional<LazyOp> spare;  ///< what they had before, for the next one
    std::vector<Assigned> by;
  };
  struct Output {
    std::optional<std::size_t> place;
    Tensor last;
    Ints shape;
  };

  /// A result in memory that a kernel of the recording writes for it alone.
  Tensor own_memory(const Tensor& y, const Recording&) const {
    const LazyOp node = y.node().detached();
    Ints longer = {1};
    for (const Int& size : node.shape()) longer.push_back(size);
    const Tensor copy = TensorAccess::of(node.reshape(longer).contiguous(), y);
    copy.realize();
    return TensorAccess::of(leaf_of(copy.buffer(), node.shape()), y);
  }
  void note_read(const State& state, const LazyOp& before, const Recording& recording) {
    const std::optional<Chain> chain = chain_of(before);
    if (!chain) return;  // made of others, which are recorded as they are
    const Buffer memory = buffer_of((*chain)[0]);
    if (const auto place = recording.place_of(memory))
      read_.push_back({state, *chain, before, *place, memory.data()});
  }
  void note_assigned(const State& state, const Recording& recording) {
    const Chain chain = *chain_of(state->node);
    const auto it = std::find_if(written_.begin(), written_.end(),
                                 [&](const Written& w) { return w.like == chain[0]; });
    Written& w = it != written_.end()
                     ? *it
                     : written_.emplace_back(Written{
                           recording.place_of(buffer_of(chain[0])), chain[0], std::nullopt, {}});
    w.by.push_back({state, chain});
  }

  /// Where the tensors from outside are now.
  bool resolve() {
    for (Read& r : read_) {
      if (r.state->node == r.seen) continue;
      std::optional<Chain> now = chain_of(r.state->node);
      if (!now) {
        TensorAccess::of(r.state).realize();
        now = chain_of(r.state->node);
      }
      if (!now || !is_same_view(*now, r.chain)) return false;
      r.at = buffer_of((*now)[0]).data();
      recording_->set_memory(r.place, r.at);
      r.seen = r.state->node;
    }
    // Tensors that shared memory when they were captured are one place: they have to share it still.
    return std::all_of(read_.begin(), read_.end(),
                       [&](const Read& r) { return recording_->memory(r.place) == r.at; });
  }

  /// A leaf like another: the spare one where nobody else knows it.
  LazyOp fresh(std::optional<LazyOp>& spare, const LazyOp& like, std::optional<std::size_t> place) {
    LazyOp out = spare && is_free(*spare)
                     ? std::move(*spare)
                     : leaf_of(Buffer::allocate(buffer_of(like).size(), like.dtype()), like.shape());
    spare.reset();
    if (place) recording_->set_memory(*place, buffer_of(out).data());
    return out;
  }
  Tensor fresh(Output& o, const Values& values) {
    const bool is_reused =
        values.empty() && TensorAccess::state(o.last).use_count() == 1 && is_free(o.last.node());
    if (!is_reused) {
      Values before;
      const Ints shape = values.empty() ? o.shape : bound(unbound(o.shape, before), values);
      const LazyOp& node = o.last.node();
      o.last = TensorAccess::of(
          leaf_of(Buffer::allocate(buffer_of(node).size(), node.dtype()), shape), o.last);
    }
    if (o.place) recording_->set_memory(*o.place, o.last.buffer().data());
    return o.last;
  }
  /// The tensors stand for what was written; what they stood for is the next spare memory.
  static void hand_over(Written& w, const LazyOp& leaf) {
    if (const std::optional<Chain> before = chain_of(w.by[0].state->node)) w.spare = (*before)[0];
    for (const Assigned& a : w.by) a.state->node = rebuilt(a.chain, leaf, a.state);
  }

  std::vector<Input> inputs_;
  std::unique_ptr<Recording> recording_;
  std::vector<Read> read_;
  std::vector<Written> written_;
  std::vector<Output> outputs_;
};

Jit::Jit(Function function, std::size_t most_captures)
    : function_(std::move(function)), most_captures_(std::max<std::size_t>(most_captures, 1)) {}
Jit::~Jit() = default;

std::vector<RecordedTime> Jit::times(int repeats) {
  const std::lock_guard lock(mutex_);
  if (captures_.empty() || !captures_.front()->is_captured()) return {};
  return captures_.front()->times(repeats);
}

Jit::Capture* Jit::find(std::span<const Tensor> inputs) {
  for (auto it = captures_.begin(); it != captures_.end(); ++it) {
    if (!(*it)->matches(inputs)) continue;
    captures_.splice(captures_.begin(), captures_, it);
    return captures_.front().get();
  }
  return nullptr;
}

std::vector<Tensor> Jit::operator()(std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  for (const Tensor& x : inputs) x.realize();
  if (flags::CHECK_INDEX.get()) {  // indices are looked at in each call
    ++runs_;
    return first_run(function_, inputs);
  }
  Capture* known = find(inputs);
  if (known != nullptr && known->is_captured()) {
    if (std::optional<std::vector<Tensor>> results = known->replay(inputs)) {
      ++replays_;
      return std::move(*results);
    }
    captures_.pop_front();
    known = nullptr;
  }
  ++runs_;
  if (known != nullptr) return known->capture(function_, inputs);
  std::vector<Tensor> results = first_run(function_, inputs);
  captures_.push_front(std::make_unique<Capture>(inputs));
  if (captures_.size() > most_captures_) captures_.pop_back();
  return results;
}

}  // namespace strata
