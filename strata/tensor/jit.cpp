#include "strata/tensor/jit.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "strata/base/flags.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/recording.h"
#include "strata/tensor/access.h"
#include "strata/tensor/jit_outputs.h"
#include "strata/tensor/jit_turn.h"

namespace strata {

namespace {

using State = std::shared_ptr<TensorState>;

/// A tensor that is some memory seen through movement: the memory first, the tensor's node last.
using Chain = std::vector<LazyOp>;

/// Nothing where a node is computed otherwise.
std::optional<Chain> chain_of(const LazyOp& node) {
  Chain out = {node};
  while (is_movement(out.back().op()) || is_annotation(out.back().op()))
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
        (!is_annotation(a[k].op()) && !(a[k].arg() == b[k].arg())))
      return false;
  return true;
}
/// The chain on other memory.
LazyOp rebuilt(const Chain& chain, const LazyOp& leaf, const State& state) {
  LazyOp out = leaf;
  for (std::size_t k = 1; k < chain.size(); ++k)
    out = !is_annotation(chain[k].op()) ? chain[k].with_sources({&out, 1})
          : state->slot != nullptr      ? out.tracked(state->slot)
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

const State& state_of(const Tensor& x) { return TensorAccess::state(x); }

/// What a call reads from outside and assigns to.
class Watching final : public TensorListener {
 public:
  explicit Watching(std::uint64_t begin) : begin_(begin) {}
  void read(const State& state) override {
    look_for_clash(state);
    note(state, read_);
  }
  void assigned(const State& state) override {
    look_for_clash(state);
    note(state, assigned_);
  }
  /// `copy` stands for `original` in the call, which may know that one, too.
  void add_stand_in(const State& original, const State& copy) {
    pairs_.emplace_back(original, copy);
  }
  /// The function has returned these: what is read and assigned to from now on is not its doing.
  void stop(std::span<const Tensor> results) {
    for (const Tensor& y : results) read(TensorAccess::state(y));
    stopped_ = true;
  }
  /// One of a tensor and its stand-in was used after the other had been assigned to: it was not what the function expects.
  bool has_clash() const { return clash_; }

  bool has_assigned(const State& state) const { return contains(assigned_, state); }
  bool has_used(const State& state) const { return contains(read_, state) || has_assigned(state); }

  std::vector<std::pair<State, LazyOp>> read_, assigned_;  // with the node that it had first

 private:
  static bool contains(const std::vector<std::pair<State, LazyOp>>& in, const State& state) {
    return std::any_of(in.begin(), in.end(), [&](const auto& known) { return known.first == state; });
  }
  void look_for_clash(const State& state) {
    for (const auto& [original, copy] : pairs_)
      if (!stopped_ && (state == original || state == copy))
        clash_ = clash_ || has_assigned(state == original ? copy : original);
  }
  void note(const State& state, std::vector<std::pair<State, LazyOp>>& in) const {
    if (stopped_ || state->born >= begin_) return;
    for (const auto& [known, node] : in)
      if (known == state) return;
    in.emplace_back(state, state->node);
  }
  std::uint64_t begin_;
  std::vector<std::pair<State, State>> pairs_;
  bool clash_ = false, stopped_ = false;
};

/// The values of `y` in memory that a kernel writes for it alone.
Tensor in_own_memory(const Tensor& y) {
  const LazyOp node = y.node().detached();
  Ints longer = {1};
  for (const Int& size : node.shape()) longer.push_back(size);
  const Tensor copy = TensorAccess::of(node.reshape(longer).contiguous(), y);
  copy.realize();
  return TensorAccess::of(leaf_of(copy.buffer(), node.shape()), y);
}

/// What a call assigned to outside is memory after it, which no gradient passes; of a recorded call, memory that it wrote.
void settle(const Watching& watching, const Recording* recording = nullptr) {
  for (const auto& [state, before] : watching.assigned_) {
    if (!chain_of(state->node)) TensorAccess::of(state).realize();
    if (recording != nullptr && !recording->wrote(buffer_of((*chain_of(state->node))[0]))) {
      const LazyOp copy = in_own_memory(TensorAccess::of(state)).node();
      state->node = state->slot != nullptr ? parameter_over(copy, state->slot) : copy;
    }
    const LazyOp& node = state->node;
    if (state->slot != nullptr || !node.is_tracked()) continue;
    state->node = is_realized(*node.node()) ? leaf_of(buffer_of(node), node.shape()) : node.detached();
  }
}

/// As it is written. What it reads from outside gets memory, so that a capture knows it again.
std::vector<Tensor> first_run(const Jit::Function& function, std::span<const Tensor> inputs) {
  Watching watching(birth_now());
  std::vector<Tensor> results = function(inputs);
  watching.stop(results);
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
      inputs_.push_back({unbound(x.shape(), values), x.dtype(), &x.device()});
    }
  }

  bool is_captured() const { return recording_ != nullptr; }
  std::vector<RecordedTime> times(int repeats) const { return recording_->times(repeats); }

  bool matches(std::span<const Tensor> inputs) const {
    if (inputs.size() != inputs_.size()) return false;
    Values values;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Tensor& x = inputs[k];
      if (x.dtype() != inputs_[k].dtype || &x.device() != inputs_[k].device) return false;
      const bool is_same = is_known(x.shape()) ? x.shape() == inputs_[k].shape
                                               : unbound(x.shape(), values) == inputs_[k].shape;
      if (!is_same) return false;
    }
    if (!is_captured()) return true;
    return are_same_tensors(inputs) && (!writes_symbolic_ || are_same(values, values_));
  }

  /// Calls the function on copies of the inputs, whose memory is then no other's. What is assigned to them the inputs get.
  std::vector<Tensor> capture(const Function& function, std::span<const Tensor> inputs,
                              const std::string& name) {
    std::vector<Tensor> own;
    std::vector<Buffer> memory;
    values_.clear();  // of a call that was to be captured and threw
    for (std::size_t k = 0; k < inputs.size(); ++k) copy_input(inputs, k, own, memory);
    auto recording = std::make_unique<Recording>();
    Watching watching(birth_now());
    for (std::size_t k = 0; k < own.size(); ++k)
      watching.add_stand_in(state_of(inputs[k]), state_of(own[k]));
    std::vector<Tensor> results;
    try {
      results = function(own);
      watching.stop(results);
      settle(watching, recording.get());
      for (Tensor& y : results) y = in_own_memory(y);
      check_clashes(watching);
    } catch (const std::exception&) {  // the inputs are what they would be if they had been given themselves
      if (!watching.has_clash()) hand_back(watching, own, inputs);
      throw;
    }
    recording->stop(name);
    for (std::size_t k = 0; k < own.size(); ++k) {
      inputs_[k].place = recording->place_of(memory[k]);
      inputs_[k].is_written = watching.has_assigned(state_of(own[k]));
      if (watching.has_used(state_of(inputs[k]))) inputs_[k].outside = state_of(inputs[k]);
    }
    const auto stands_for = [&](const State& state) -> std::optional<std::size_t> {
      for (std::size_t k = 0; k < own.size(); ++k)
        if (state_of(own[k]) == state) return k;
      return std::nullopt;
    };
    for (const auto& [state, before] : watching.read_)
      if (!stands_for(state)) note_read(state, before, *recording);
    for (const auto& [state, before] : watching.assigned_)
      note_assigned(state, stands_for(state), *recording);
    hand_back(watching, own, inputs);
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
    run(inputs);
    return results;
  }
  /// @pre resolve()
  void replay_into(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                   const std::string& name) {
    const Values values = take(inputs);
    check(outputs, values, name);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (outputs_[k].place) recording_->set_memory(*outputs_[k].place, outputs[k].buffer().data());
    run(inputs);
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
    std::optional<std::size_t> place = {};
    std::size_t same_as = 0;  ///< the first one that is the same tensor, maybe itself
    bool is_written = false;
    State outside = {};  ///< the tensor of the captured call where the function knows that one from outside, too
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
    State state;  ///< null for an input
    Chain chain;
    std::optional<std::size_t> input;
  };
  /// Memory that tensors from outside have after the call.
  struct Written {
    std::optional<std::size_t> place;
    LazyOp like;                  ///< of the captured call
    std::optional<LazyOp> spare;  ///< what they had before, for the next one
    std::optional<LazyOp> given;  ///< by the last replay: no memory of a user's, which must not be written
    std::vector<Assigned> by;
    std::optional<std::size_t> same_as = {};  ///< an earlier one: another leaf of its memory
  };
  struct Output {
    std::optional<std::size_t> place;
    Tensor last;
    Ints shape;
  };

  void copy_input(std::span<const Tensor> inputs, std::size_t k, std::vector<Tensor>& own,
                  std::vector<Buffer>& memory) {
    const Tensor& x = inputs[k];
    unbound(x.shape(), values_);
    for (std::size_t j = 0; j < k; ++j) {
      if (state_of(inputs[j]) != state_of(x)) continue;
      inputs_[k].same_as = j;
      own.push_back(own[j]);
      memory.push_back(memory[j]);
      return;
    }
    inputs_[k].same_as = k;
    const Buffer from = x.buffer(), to = Buffer::allocate(from.size(), from.dtype());
    to.copy_from(from);
    own.push_back(TensorAccess::of(leaf_of(to, x.shape()), x.device()));
    memory.push_back(to);
  }
  static void hand_back(const Watching& watching, std::span<const Tensor> own,
                        std::span<const Tensor> inputs) {
    for (std::size_t k = 0; k < own.size(); ++k)
      if (watching.has_assigned(state_of(own[k])))
        set_node(state_of(inputs[k]), state_of(own[k])->node);
  }
  static void set_node(const State& state, const LazyOp& node) {
    state->node = state->slot != nullptr ? parameter_over(node.detached(), state->slot) : node;
  }
  /// @throws Error (domain) for a tensor that is an input and known from outside, too, where one is used after the other is
  /// assigned to; all is as before the call then
  static void check_clashes(const Watching& watching) {
    if (!watching.has_clash()) return;
    for (const auto& [state, before] : watching.assigned_) state->node = before;
    throw Error(ErrorKind::domain,
                "[jit] a tensor is an argument, and the function also uses the tensor from outside "
                "of the arguments after a change: use the tensor in one of the two ways alone");
  }

  /// Whether inputs are one tensor where that makes a difference: as they were when they were captured.
  bool are_same_tensors(std::span<const Tensor> inputs) const {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const State& state = state_of(inputs[k]);
      const Input& input = inputs_[k];
      if (input.same_as != k && state_of(inputs[input.same_as]) != state) return false;
      if (state == input.outside) continue;
      for (const Written& w : written_)
        for (const Assigned& a : w.by)
          if (!a.input && a.state == state) return false;
      if (!input.is_written) continue;
      for (const Read& r : read_)
        if (r.state == state) return false;
      for (std::size_t j = 0; j < inputs.size(); ++j)
        if (inputs_[j].same_as != input.same_as && state_of(inputs[j]) == state) return false;
    }
    return true;
  }
  static bool are_same(const Values& a, const Values& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.second == y.second; });
  }

  void note_read(const State& state, const LazyOp& before, const Recording& recording) {
    const std::optional<Chain> chain = chain_of(before);
    if (!chain) return;  // made of others, which are recorded as they are
    const Buffer memory = buffer_of((*chain)[0]);
    if (const auto place = recording.place_of(memory))
      read_.push_back({state, *chain, before, *place, memory.data(), memory.nbytes()});
  }
  /// @param input which the tensor stands for, if any
  void note_assigned(const State& state, const std::optional<std::size_t>& input,
                     const Recording& recording) {
    const Chain chain = *chain_of(state->node);
    const auto it = std::find_if(written_.begin(), written_.end(),
                                 [&](const Written& w) { return w.like == chain[0]; });
    Written& w = it != written_.end() ? *it : add_written(chain[0], recording);
    w.by.push_back({input ? State() : state, chain, input});
    const auto is_symbolic = [](const Int& size) { return !size.is_number(); };
    writes_symbolic_ = writes_symbolic_ ||
                       std::any_of(chain[0].shape().begin(), chain[0].shape().end(), is_symbolic);
  }

  Written& add_written(const LazyOp& leaf, const Recording& recording) {
    Written w{recording.place_of(buffer_of(leaf)), leaf, {}, {}, {}, {}};
    for (std::size_t k = 0; k < written_.size() && w.place && !w.same_as; ++k)
      if (written_[k].place == w.place) w.same_as = k;
    STRATA_ASSERT(!w.same_as || written_[*w.same_as].like.dtype() == leaf.dtype(),
                  "memory of two dtypes");
    return written_.emplace_back(std::move(w));
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
  void run(std::span<const Tensor> inputs) {
    next_.clear();  // of a run that was interrupted
    for (Written& w : written_)
      next_.push_back(w.same_as ? leaf_of(buffer_of(next_[*w.same_as]), w.like.shape())
                                : fresh(w.spare, w.like, w.place));
    recording_->replay();
    for (std::size_t k = 0; k < written_.size(); ++k) hand_over(written_[k], next_[k], inputs);
    next_.clear();
  }
  void check(std::span<const Tensor> outputs, const Values& values, const std::string& name) const {
    jit_outputs::check_count(name, outputs.size(), outputs_.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Output& o = outputs_[k];
      Values before;
      const Ints& shape = values.empty() ? o.shape : bound(unbound(o.shape, before), values);
      jit_outputs::check_output(name, k, outputs[k], shape, o.last);
      for (std::size_t j = 0; j < read_.size(); ++j)
        jit_outputs::check_apart(name, k, outputs[k], "tensor that the function reads from outside",
                                 j, {static_cast<const char*>(read_[j].at), read_[j].bytes});
      for (std::size_t j = 0; j < written_.size(); ++j)
        for (const Assigned& a : written_[j].by)
          if (!a.input)
            jit_outputs::check_apart(name, k, outputs[k], "tensor that the function assigns to", j,
                                     jit_outputs::bytes_below(a.state->node));
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
  static void hand_over(Written& w, const LazyOp& leaf, std::span<const Tensor> inputs) {
    if (!w.same_as) w.spare = std::exchange(w.given, leaf);
    for (const Assigned& a : w.by) {
      if (a.input)
        set_node(state_of(inputs[*a.input]), rebuilt(a.chain, leaf, state_of(inputs[*a.input])));
      else
        a.state->node = rebuilt(a.chain, leaf, a.state);
    }
  }

  std::vector<Input> inputs_;
  std::unique_ptr<Recording> recording_;
  std::vector<Read> read_;
  std::vector<Written> written_;
  std::vector<Output> outputs_;
  Values values_;                 ///< of the variables in the captured call
  bool writes_symbolic_ = false;  ///< memory for these values alone
  std::vector<LazyOp> next_;      ///< of a run: what is written
};

class Jit::Turn : private JitTurn {
 public:
  explicit Turn(Jit& jit) : JitTurn(jit.owner_, jit.name_) {
    // What the parent's thread was at is left as it is, and is nobody's.
    if (was_parents()) std::construct_at(&jit.captures_);
  }
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
  for (auto it = captures_.begin(); it != captures_.end(); ++it) {
    if (!(*it)->matches(inputs)) continue;
    captures_.splice(captures_.begin(), captures_, it);
    if (!(*it)->is_captured() || (*it)->resolve()) return it->get();
    captures_.pop_front();
    return nullptr;
  }
  return nullptr;
}

/// The capture to replay; null where the function has to run.
Jit::Capture* Jit::replayable(std::span<const Tensor> inputs) {
  for (const Tensor& x : inputs) x.realize();
  if (flags::CHECK_INDEX.get()) return nullptr;  // indices are looked at in each call
  Capture* const known = find(inputs);
  return known != nullptr && known->is_captured() ? known : nullptr;
}

/// As it is written, and captured the second time. @pre replayable(inputs) gave null
std::vector<Tensor> Jit::run(std::span<const Tensor> inputs) {
  ++runs_;
  if (flags::CHECK_INDEX.get()) return first_run(function_, inputs);
  if (Capture* const known = find(inputs)) return known->capture(function_, inputs, name_);
  std::vector<Tensor> results = first_run(function_, inputs);
  captures_.push_front(std::make_unique<Capture>(inputs));
  if (captures_.size() > most_captures_) captures_.pop_back();
  return results;
}

std::vector<Tensor> Jit::operator()(std::span<const Tensor> inputs) {
  const Turn turn(*this);
  Capture* const known = replayable(inputs);
  if (known == nullptr) return run(inputs);
  std::vector<Tensor> results = known->replay(inputs);
  ++replays_;
  return results;
}

void Jit::into(std::span<const Tensor> outputs, std::span<const Tensor> inputs) {
  const Turn turn(*this);
  jit_outputs::check_apart(name_, outputs, inputs);
  if (Capture* const known = replayable(inputs)) {
    known->replay_into(outputs, inputs, name_);
    ++replays_;
    return;
  }
  const std::vector<Tensor> results = run(inputs);
  jit_outputs::check_outputs(name_, outputs, results);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    outputs[k].buffer().copy_from(results[k].buffer());
}

}  // namespace strata
