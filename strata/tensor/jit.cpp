#include "strata/tensor/jit.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "strata/base/fork.h"
#include "strata/base/interrupt.h"
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
/// The first of a chain, or what it would be if it were realized.
const LazyOp& memory_below(const LazyOp& node) {
  const LazyOp* at = &node;
  while (is_movement(at->op()) || at->op() == Ops::NOOP) at = &at->src()[0];
  return *at;
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

bool is_known(const Ints& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Int& n) { return n.is_number(); });
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

// --- outputs that the caller has ---

struct Bytes {
  const char* begin;
  std::size_t size;
};
Bytes bytes_of(const Tensor& x) {
  const Buffer memory = x.buffer();
  return {static_cast<const char*>(memory.data()), memory.nbytes()};
}

void check_count(const std::string& name, std::size_t outputs, std::size_t results) {
  STRATA_CHECK(outputs == results, shape, "[jit] ", name, " has ", results, " results, not ", outputs);
}
/// That result `k`, of a shape and of the dtype and device of `result`, can be put into `output`.
void check_output(const std::string& name, std::size_t k, const Tensor& output, const Ints& shape,
                  const Tensor& result) {
  STRATA_CHECK(output.shape() == shape, shape, "[jit] result ", k, " of ", name, " is of shape ",
               render(shape), ", and the output for it of ", render(output.shape()));
  STRATA_CHECK(output.dtype() == result.dtype(), domain, "[jit] result ", k, " of ", name, " is of ",
               result.dtype().name(), ", and the output for it of ", output.dtype().name());
  STRATA_CHECK(&output.device() == &result.device(), domain, "[jit] result ", k, " of ", name,
               " is on ", result.device().name(), ", and the output for it on ",
               output.device().name());
  const LazyOp& node = output.node();
  STRATA_CHECK(node.op() == Ops::EMPTY && is_realized(*node.node()), domain,
               "[jit] the output for result ", k, " of ", name, " is ",
               node.is_tracked() ? "a parameter" : "not realized, or a part of other memory",
               ": it has to be row-major memory of its own");
  STRATA_CHECK(!output.buffer().is_read_only(), domain, "[jit] the output for result ", k, " of ",
               name, " is in memory that is read-only");
}
void check_apart(const std::string& name, std::size_t k, Bytes output, std::string_view what,
                 std::size_t j, Bytes other) {
  const std::less<> before;
  STRATA_CHECK(!before(output.begin, other.begin + other.size) ||
                   !before(other.begin, output.begin + output.size),
               domain, "[jit] the output for result ", k, " of ", name, " is memory of ", what, " ",
               j);
}
void check_outputs(const std::string& name, std::span<const Tensor> outputs,
                   std::span<const Tensor> results) {
  check_count(name, outputs.size(), results.size());
  for (std::size_t k = 0; k < outputs.size(); ++k)
    check_output(name, k, outputs[k], results[k].shape(), results[k]);
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
      if (x.dtype() != inputs_[k].dtype || &x.device() != inputs_[k].device ||
          x.shape().size() != inputs_[k].shape.size())
        return false;
      if (x.shape() == inputs_[k].shape) continue;
      Values values;
      if (is_known(x.shape()) || !(unbound(x.shape(), values) == inputs_[k].shape)) return false;
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

  /// @pre resolve()
  std::vector<Tensor> replay(std::span<const Tensor> inputs) {
    const Values values = take(inputs);
    std::vector<Tensor> results;
    for (Output& o : outputs_) results.push_back(fresh(o, values));
    run();
    return results;
  }
  /// @pre resolve()
  void replay_into(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                   const std::string& name) {
    const Values values = take(inputs);
    check(outputs, inputs, values, name);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (outputs_[k].place) recording_->set_memory(*outputs_[k].place, outputs[k].buffer().data());
    run();
  }

  /// Whether the tensors from outside are what they were but for their elements; where they are now is seen by replays then.
  bool resolve() {
    for (Read& r : read_) {
      if (r.state->node == r.seen) continue;
      if (!find_again(r)) return false;
      recording_->set_memory(r.place, r.at);
      r.seen = r.state->node;
    }
    // Tensors that shared memory when they were captured are one place: they have to share it still.
    return std::all_of(read_.begin(), read_.end(),
                       [&](const Read& r) { return recording_->memory(r.place) == r.at; });
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
    std::size_t bytes;
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
      read_.push_back({state, *chain, before, *place, memory.data(), memory.nbytes()});
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

  /// Where a tensor from outside is now; false where it is seen in another way.
  static bool find_again(Read& r) {
    const LazyOp& node = r.state->node;
    if (r.chain.size() == 1 && node.op() == Ops::EMPTY &&
        is_realized(*node.node())) {  // the usual, without a list
      if (!(node.shape() == r.chain[0].shape()) || node.dtype() != r.chain[0].dtype()) return false;
      r.at = buffer_of(node).data();
      return true;
    }
    std::optional<Chain> now = chain_of(node);
    if (!now) {
      TensorAccess::of(r.state).realize();
      now = chain_of(r.state->node);
    }
    if (!now || !is_same_view(*now, r.chain)) return false;
    r.at = buffer_of((*now)[0]).data();
    return true;
  }

  /// Has the next run read `inputs`; the values of their variables.
  Values take(std::span<const Tensor> inputs) {
    Values values;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs_[k].place) recording_->set_memory(*inputs_[k].place, inputs[k].buffer().data());
      if (!is_known(inputs[k].shape())) unbound(inputs[k].shape(), values);
    }
    for (const auto& [variable, value] : values)
      recording_->set_value(std::string(variable.name()), value);
    return values;
  }
  void run() {
    next_.clear();
    for (Written& w : written_) next_.push_back(fresh(w.spare, w.like, w.place));
    recording_->replay();
    for (std::size_t k = 0; k < written_.size(); ++k) hand_over(written_[k], next_[k]);
    next_.clear();
  }
  void check(std::span<const Tensor> outputs, std::span<const Tensor> inputs, const Values& values,
             const std::string& name) const {
    check_count(name, outputs.size(), outputs_.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Output& o = outputs_[k];
      Values before;
      if (values.empty())
        check_output(name, k, outputs[k], o.shape, o.last);
      else
        check_output(name, k, outputs[k], bound(unbound(o.shape, before), values), o.last);
      const Bytes mine = bytes_of(outputs[k]);
      for (std::size_t j = 0; j < inputs.size(); ++j)
        check_apart(name, k, mine, "input", j, bytes_of(inputs[j]));
      for (std::size_t j = 0; j < k; ++j)
        check_apart(name, k, mine, "output", j, bytes_of(outputs[j]));
      for (std::size_t j = 0; j < read_.size(); ++j)
        check_apart(name, k, mine, "tensor that it reads from outside", j,
                    {static_cast<const char*>(read_[j].at), read_[j].bytes});
    }
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
    const LazyOp& before = memory_below(w.by[0].state->node);
    if (is_realized(*before.node())) w.spare = before;
    for (const Assigned& a : w.by) a.state->node = rebuilt(a.chain, leaf, a.state);
  }

  std::vector<Input> inputs_;
  std::unique_ptr<Recording> recording_;
  std::vector<Read> read_;
  std::vector<Written> written_;
  std::vector<Output> outputs_;
  std::vector<LazyOp> next_;  // of a run: what is written
};

namespace {

/// The same for a thread as long as it lives, and no other's: also in children of fork().
std::uint64_t thread_number() {
  static constinit std::atomic<std::uint64_t> last{0};
  thread_local constinit std::uint64_t mine = 0;
  if (mine == 0) mine = ++last;
  return mine;
}

constexpr int kThreadBits = 40;
constexpr std::uint64_t kThread = (std::uint64_t{1} << kThreadBits) - 1;

}  // namespace

/// The turn of the thread that calls the function.
class Jit::Turn {
 public:
  explicit Turn(Jit& jit) : jit_(jit) {
    constexpr auto between = std::chrono::microseconds(200);
    const std::uint64_t me = thread_number() | fork_generation() << kThreadBits;
    for (std::uint64_t owner = 0; !jit.owner_.compare_exchange_strong(owner, me); owner = 0) {
      STRATA_CHECK((owner & kThread) != (me & kThread), domain, "[jit] ", jit.name_,
                   " calls itself: while it is captured or replayed it can only wait for that to "
                   "end; call what "
                   "it is made of, without jit");
      if (owner >> kThreadBits != me >> kThreadBits) {
        if (!jit.owner_.compare_exchange_strong(owner, me)) continue;
        // A child of fork(): the owner is a thread of the parent. What that was at is left as it is, and is nobody's.
        std::construct_at(&jit.captures_);
        return;
      }
      check_interrupt();
      std::this_thread::sleep_for(between);
    }
  }
  ~Turn() { jit_.owner_.store(0, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Jit& jit_;
};

Jit::Jit(Function function, std::size_t most_captures, std::string name)
    : function_(std::move(function)),
      name_(std::move(name)),
      most_captures_(std::max<std::size_t>(most_captures, 1)) {}
Jit::~Jit() = default;

std::vector<RecordedTime> Jit::times(int repeats) {
  const Turn turn(*this);
  if (captures_.empty() || !captures_.front()->is_captured()) return {};
  return captures_.front()->times(repeats);
}

/// The capture for such inputs, which is the first then; null where there is none, or none any more that can be replayed.
Jit::Capture* Jit::find(std::span<const Tensor> inputs) {
  for (const Tensor& x : inputs) x.realize();
  for (auto it = captures_.begin(); it != captures_.end(); ++it) {
    if (!(*it)->matches(inputs)) continue;
    captures_.splice(captures_.begin(), captures_, it);
    if (!(*it)->is_captured() || (*it)->resolve()) return it->get();
    captures_.pop_front();
    return nullptr;
  }
  return nullptr;
}

/// As it is written, and captured the second time. @param known of find(), not captured
std::vector<Tensor> Jit::run(Capture* known, std::span<const Tensor> inputs) {
  ++runs_;
  if (known != nullptr) return known->capture(function_, inputs);
  std::vector<Tensor> results = first_run(function_, inputs);
  captures_.push_front(std::make_unique<Capture>(inputs));
  if (captures_.size() > most_captures_) captures_.pop_back();
  return results;
}

std::vector<Tensor> Jit::operator()(std::span<const Tensor> inputs) {
  const Turn turn(*this);
  Capture* const known = find(inputs);
  if (known == nullptr || !known->is_captured()) return run(known, inputs);
  std::vector<Tensor> results = known->replay(inputs);
  ++replays_;
  return results;
}

void Jit::into(std::span<const Tensor> outputs, std::span<const Tensor> inputs) {
  const Turn turn(*this);
  Capture* const known = find(inputs);
  if (known != nullptr && known->is_captured()) {
    known->replay_into(outputs, inputs, name_);
    ++replays_;
    return;
  }
  const std::vector<Tensor> results = run(known, inputs);
  check_outputs(name_, outputs, results);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    outputs[k].buffer().copy_from(results[k].buffer());
}

}  // namespace strata
