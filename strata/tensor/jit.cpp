#include "strata/tensor/jit.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "strata/base/flags.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/placed.h"
#include "strata/engine/recording.h"
#include "strata/tensor/access.h"
#include "strata/tensor/host_reads.h"
#include "strata/tensor/jit_arguments.h"
#include "strata/tensor/jit_outputs.h"
#include "strata/tensor/jit_run.h"
#include "strata/tensor/jit_turn.h"
#include "strata/tensor/jit_updates.h"
#include "strata/tensor/jit_watching.h"

namespace strata {

using namespace jit_updates;
using namespace jit_watching;

namespace {

/// True iff only these handles on `leaf` hold its memory, so that the memory can be reused.
bool is_free(const LazyOp& leaf, long handles) { return leaf.owners() == handles && memory_of(leaf).is_held_by(2); }

/// A new leaf over `memory`, of the shape and in the form of `like`'s.
LazyOp leaf_like(const LazyOp& like, const Buffer& memory) { return leaf_of(memory, like.shape(), placed_form(like)); }

const State& state_of(const Tensor& x) { return TensorAccess::state(x); }

}  // namespace

class Jit::Capture {
 public:
  /// @param forms of the arguments, before the first call
  Capture(const Arguments& arguments, const std::vector<std::shared_ptr<const PlacedForm>>& forms, SeenRun first)
      : known_(std::move(first.read)), first_(std::move(first)) {
    for (std::size_t k = 0; k < arguments.tensors.size(); ++k) {
      const Tensor& x = arguments.tensors[k];
      Values values;
      inputs_.push_back({unbound(x.shape(), values), x.dtype(), &x.device(), forms[k]});
    }
    for (const Expr& e : arguments.integers) integers_.push_back(unbind(e).first);
  }

  bool is_captured() const { return recording_ != nullptr; }
  /// Whether a call of it had exchanges, or memory that is placed.
  bool is_on_mesh() const { return is_on_mesh_; }
  std::vector<RecordedTime> times(int repeats) {
    return resolve() ? recording_->times(repeats) : std::vector<RecordedTime>();
  }

  Captured captured(const std::string& name, bool runs) {
    STRATA_CHECK(is_captured() && resolve(), domain, "[jit] ", name,
                 " is not captured: call it twice with such arguments first");
    STRATA_CHECK(!is_on_mesh_ && !recording_->has_steps(), undefined, "[jit] ", name,
                 " computes with sharded tensors: what is exported works on tensors in one memory");
    Captured out{name, recording_->program(), {}, {}, {}, integers_, values_, keeps_values_};
    const auto apart = runs ? recording_->run_apart() : std::vector<std::optional<Buffer>>();
    const auto value_of = [&](const std::optional<std::size_t>& place) {
      return runs && place ? apart[*place] : std::optional<Buffer>();
    };
    for (const Input& x : inputs_) {
      const bool is_first = x.same_as == out.inputs.size();
      const auto same_as = is_first ? std::nullopt : std::optional(x.same_as);
      out.inputs.push_back({x.dtype, x.shape, x.place, same_as, value_of(x.place), x.device});
    }
    for (const Output& o : outputs_) {
      Values ignored;
      const auto value = o.place ? value_of(o.place) : o.last.buffer();
      out.outputs.push_back({o.last.dtype(), unbound(o.shape, ignored), o.place, {}, value});
    }
    for (const Written& w : written_)
      for (const Assigned& a : w.by) note_state(w, a, out);
    host_reads_.tell(out);
    return out;
  }

  bool matches(const Arguments& arguments) const {
    const std::span<const Tensor> inputs = arguments.tensors;
    if (inputs.size() != inputs_.size() || arguments.integers.size() != integers_.size()) return false;
    Values values;
    for (std::size_t k = 0; k < integers_.size(); ++k)
      if (!same(unbind(arguments.integers[k]).first, integers_[k])) return false;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Tensor& x = inputs[k];
      if (x.dtype() != inputs_[k].dtype || &x.device() != inputs_[k].device) return false;
      if (!is_same_form(placed_form(x.node()), inputs_[k].form)) return false;
      const bool is_same =
          is_known(x.shape()) ? x.shape() == inputs_[k].shape : unbound(x.shape(), values) == inputs_[k].shape;
      if (!is_same) return false;
    }
    if (!is_captured()) return true;
    if (is_deterministic_ != (flags::DETERMINISTIC.get() != 0)) return false;
    return are_same_tensors(inputs) && (!keeps_values_ || are_same(arguments.values, values_));
  }

  /// Captures a call of the function on copies of the inputs, whose memory is not shared with anything. Assignments to
  /// the copies are passed on to the inputs.
  std::vector<Tensor> capture(const Function& function, const Arguments& arguments, const std::string& name) {
    const std::span<const Tensor> inputs = arguments.tensors;
    std::vector<Tensor> own;
    std::vector<Buffer> memory;
    values_ = arguments.values;
    is_deterministic_ = flags::DETERMINISTIC.get() != 0;
    read_.clear(), written_.clear(), outputs_.clear();  // of an earlier call that threw
    // What has changed since it was read has to be memory, so that replays find it.
    for (const std::weak_ptr<TensorState>& known : known_)
      if (const State state = known.lock(); state != nullptr && !chain_of(state->node()))
        TensorAccess::of(state).realize();
    for (std::size_t k = 0; k < inputs.size(); ++k) copy_input(inputs, k, own, memory);
    Watching watching(birth_now());
    auto recording = std::make_unique<Recording>(changes_of(own, watching));
    for (std::size_t k = 0; k < own.size(); ++k) watching.add_stand_in(state_of(inputs[k]), state_of(own[k]));
    std::vector<Tensor> results;
    try {
      results = host_reads_.during([&] { return function(own); }, memory, *recording);
      watching.stop(results);
      settle(watching, recording.get());
      results = in_own_memory(results);
      check_clashes(watching);
    } catch (const std::exception&) {  // leave the inputs as if the function had been called on them directly
      is_on_mesh_ = recording->has_steps();
      if (!watching.has_clash()) hand_back(watching, own, inputs);
      throw;
    }
    for (std::size_t k = 0; k < own.size(); ++k) {
      inputs_[k].place = recording->place_of(memory[k]);
      inputs_[k].is_written = watching.has_assigned(state_of(own[k]));
      if (watching.has_used(state_of(inputs[k]))) inputs_[k].outside = state_of(inputs[k]);
    }
    // A tensor that is no memory could not be read again: the next call tries once more.
    const bool is_whole = std::all_of(watching.read_.begin(), watching.read_.end(),
                                      [](const auto& known) { return chain_of(known.second).has_value(); });
    if (!is_whole) {
      for (const auto& [state, before] : watching.read_) known_.push_back(state);
      hand_back(watching, own, inputs);
      return results;
    }
    const auto stands_for = [&](const State& state) -> std::optional<std::size_t> {
      for (std::size_t k = 0; k < own.size(); ++k)
        if (state_of(own[k]) == state) return k;
      return std::nullopt;
    };
    for (const auto& [state, before] : watching.read_)
      if (!stands_for(state)) note_read(state, before, *recording);
    for (const auto& [state, before] : watching.assigned_) note_assigned(state, stands_for(state), *recording);
    hand_back(watching, own, inputs);
    for (const Tensor& y : results) {
      const LazyOp leaf = y.node();
      outputs_.push_back({recording->place_of(memory_of(leaf)), y, y.shape()});
      is_on_mesh_ = is_on_mesh_ || placed_form(leaf) != nullptr;
    }
    is_on_mesh_ = is_on_mesh_ || recording->has_steps();
    keeps_values_ = keeps_values_ || is_on_mesh_ || !follows_values(*recording);  // plans of ranks are for numbers
    std::vector<RecordedUpdate> updates = find_updates(written_, read_, inputs_);
    recording->stop(name, updates);
    recording_ = std::move(recording);
    let_go(updates);
    if (!results.empty()) results[0].device().finish_compiling();
    known_.clear();
    return results;
  }

  /// @pre resolve()
  std::vector<Tensor> replay(const Arguments& arguments) {
    take(arguments);
    std::vector<Tensor> results;
    for (Output& o : outputs_) results.push_back(fresh(o, arguments.values));
    run(arguments.tensors);
    return results;
  }
  /// @pre resolve()
  void replay_into(std::span<const Tensor> outputs, const Arguments& arguments, const std::string& name) {
    take(arguments);
    check(outputs, arguments.values, name);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (outputs_[k].place) recording_->set_memory(*outputs_[k].place, outputs[k].buffer().data());
    for (const Tensor& y : outputs) y.buffer().memory().note_write();
    run(arguments.tensors);
  }

  /// Finds the current memory of all tensors that are read from outside, for the next replay. False if one of them has
  /// changed in more than its elements, so that the capture cannot be replayed.
  bool resolve() {
    for (Read& r : read_) {
      if (r.is_seen()) continue;
      if (!find_again(r)) return false;
      use(r);
    }
    // Tensors that shared memory when they were captured have one place: they must still share memory.
    return std::all_of(read_.begin(), read_.end(), [&](const Read& r) { return recording_->memory(r.place) == r.at; });
  }

 private:
  struct Output {
    std::optional<std::size_t> place;
    Tensor last;
    Ints shape;
  };

  void copy_input(std::span<const Tensor> inputs, std::size_t k, std::vector<Tensor>& own,
                  std::vector<Buffer>& memory) {
    const Tensor& x = inputs[k];
    for (std::size_t j = 0; j < k; ++j) {
      if (state_of(inputs[j]) != state_of(x)) continue;
      inputs_[k].same_as = j;
      own.push_back(own[j]);
      memory.push_back(memory[j]);
      return;
    }
    inputs_[k].same_as = k;
    const Buffer from = memory_of(x.node()), to = Buffer::allocate(from.size(), from.dtype());
    to.copy_from(from);
    own.push_back(TensorAccess::of(leaf_like(x.node(), to), x.device()));
    memory.push_back(to);
  }
  static void hand_back(const Watching& watching, std::span<const Tensor> own, std::span<const Tensor> inputs) {
    for (std::size_t k = 0; k < own.size(); ++k)
      if (watching.has_assigned(state_of(own[k]))) set_node(state_of(inputs[k]), state_of(own[k])->node());
  }
  static void set_node(const State& state, const LazyOp& node) {
    state->set_node(state->slot != nullptr ? parameter_over(node.detached(), state->slot) : node);
  }
  /// True iff the identities among inputs and tensors from outside are those of the captured call, as far as they
  /// matter: where a tensor is assigned to.
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
  /// Whether the variables of the arguments have the values of the call wherever the function uses them. A value of its
  /// own shows in one of two calls with different values; after two with the same one nothing is known.
  bool follows_values(const Recording& recording) const {
    for (std::size_t k = 0; k < values_.size(); ++k)
      if (values_[k].second == first_.values[k].second) return false;
    return first_.had_values && recording.had(values_);
  }
  static bool are_same(const Values& a, const Values& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.second == y.second; });
  }

  void note_read(const State& state, const LazyOp& before, const Recording& recording) {
    const std::optional<Chain> chain = chain_of(before);
    const Buffer memory = memory_of((*chain)[0]);
    const std::optional<std::size_t> place = recording.place_of(memory);
    if (!place) return;
    read_.push_back({state, view_of(*chain), before.node()->weak_from_this(), *place, memory.data(), memory.nbytes(),
                     nullptr, placed_form((*chain)[0])});
    look(read_.back(), (*chain)[0]);
  }
  /// @param input the input that the tensor stands for, if any
  void note_assigned(const State& state, const std::optional<std::size_t>& input, const Recording& recording) {
    const Chain chain = *chain_of(state->node());
    const auto it =
        std::find_if(written_.begin(), written_.end(), [&](const Written& w) { return w.like == chain[0]; });
    Written& w = it != written_.end() ? *it : add_written(chain[0], recording);
    w.by.push_back({input ? State() : state, view_of(chain), input});
    const auto is_symbolic = [](const Int& size) { return !size.is_number(); };
    keeps_values_ = keeps_values_ || std::any_of(chain[0].shape().begin(), chain[0].shape().end(), is_symbolic);
  }

  Written& add_written(const LazyOp& leaf, const Recording& recording) {
    const Buffer memory = memory_of(leaf);
    Written w{recording.place_of(memory),
              leaf.shape(),
              leaf.dtype(),
              memory.size(),
              placed_form(leaf),
              leaf,
              {},
              {},
              {},
              {},
              {},
              {}};
    for (std::size_t k = 0; k < written_.size() && w.place && !w.same_as; ++k)
      if (written_[k].place == w.place) w.same_as = k;
    STRATA_ASSERT(!w.same_as || written_[*w.same_as].dtype == leaf.dtype(), "memory of two dtypes");
    return written_.emplace_back(std::move(w));
  }

  /// Makes later replays read the memory that find_again() found.
  void use(Read& r) {
    recording_->set_memory(r.place, r.at, r.memory);
    r.seen = r.state->node().node()->weak_from_this();
  }
  /// Lets go of the memory of the captured call, of which replays have their own.
  void let_go(std::span<const RecordedUpdate> updates) {
    for (Written& w : written_) {
      for (const RecordedUpdate& u : updates)
        if (u.is_in_place && u.after == w.place) w.in_place = u.before;
      if (w.place) recording_->release(*w.place);
      w.like.reset();
    }
    for (const Output& o : outputs_)
      if (o.place) recording_->release(*o.place);
    for (Read& r : read_) {
      if (r.memory != nullptr) recording_->release(r.place);
    }
  }

  /// Adds the memory of an assigned tensor to `out.states`, once for each place that is read as its old value.
  void note_state(const Written& w, const Assigned& a, Captured& out) const {
    STRATA_CHECK(w.place, domain, "[jit] ", out.name, " assigns memory to a tensor that no kernel of it writes");
    CapturedState state{w.dtype, w.size, w.shape, {}, *w.place, a.input, nullptr};
    if (a.input) {
      state.before = inputs_[*a.input].place;
    } else {
      const Buffer memory = memory_of((*chain_of(a.state->node()))[0]);
      state.value = memory.data();
      for (const Read& r : read_) {
        if (r.state != a.state) continue;
        STRATA_CHECK(is_same_view(r.view, a.view), domain, "[jit] ", out.name,
                     " assigns to a tensor a value in another order of memory than it reads");
        state.before = r.place;
      }
      for (const Read& r : read_)
        STRATA_CHECK(r.place != state.before || w.is_of(r.state), domain, "[jit] ", out.name,
                     " assigns to a tensor whose memory it reads as another tensor, too");
    }
    for (const CapturedState& s : out.states)
      if (s.after == state.after && s.before == state.before && s.input == state.input) return;
    out.states.push_back(state);
  }

  /// Makes the next run read these arguments.
  void take(const Arguments& arguments) {
    for (std::size_t k = 0; k < arguments.tensors.size(); ++k)
      if (inputs_[k].place) recording_->set_memory(*inputs_[k].place, memory_of(arguments.tensors[k].node()).data());
    if (keeps_values_) return;
    for (const auto& [variable, value] : arguments.values) recording_->set_value(std::string(variable.name()), value);
  }
  void run(std::span<const Tensor> inputs) {
    next_.clear();  // of an interrupted run
    for (const Written& w : written_) {
      if (!w.in_place) continue;
      if (w.by[0].input)
        own(w, inputs[*w.by[0].input]);
      else
        own(w);
    }
    for (Written& w : written_) {
      next_.emplace_back();
      if (!w.in_place) next_.back() = w.same_as ? leaf_of(memory_of(*next_[*w.same_as]), w.shape, w.form) : fresh(w);
    }
    recording_->replay();
    for (std::size_t k = 0; k < written_.size(); ++k)
      if (next_[k]) hand_over(written_[k], *next_[k], inputs);
    next_.clear();
  }
  void check(std::span<const Tensor> outputs, const Values& values, const std::string& name) const {
    jit_outputs::check_count(name, outputs.size(), outputs_.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Output& o = outputs_[k];
      const Ints shape = shape_of(o, values);
      jit_outputs::check_output(name, k, outputs[k], shape, o.last);
      for (std::size_t j = 0; j < read_.size(); ++j)
        jit_outputs::check_apart(name, k, outputs[k], "tensor that the function reads from outside", j,
                                 {static_cast<const char*>(read_[j].at), read_[j].bytes});
      for (std::size_t j = 0; j < written_.size(); ++j)
        for (const Assigned& a : written_[j].by)
          if (!a.input)
            jit_outputs::check_apart(name, k, outputs[k], "tensor that the function assigns to", j,
                                     jit_outputs::bytes_below(a.state->node()));
    }
  }

  /// A leaf for the new value: the spare one if its memory is free, else new memory. The recording will write to it.
  LazyOp fresh(Written& w) {
    LazyOp out = w.spare && is_free(*w.spare, 1) ? std::move(*w.spare)
                                                 : leaf_of(Buffer::allocate(w.size, w.dtype), w.shape, w.form);
    w.spare.reset();
    if (w.place) recording_->set_memory(*w.place, memory_of(out).data());
    return out;
  }
  /// Makes the memory of tensors that are assigned to in place their own: copies it if others may see it. Notes the
  /// write.
  void own(const Written& w) {
    if (!are_sole_owners(w.owners)) {
      const Buffer from = memory_of((*chain_of(w.owners[0]->node()))[0]), to = Buffer::allocate(w.size, w.dtype);
      std::memcpy(to.data(), from.data(), std::min(from.nbytes(), to.nbytes()));
      const LazyOp leaf = leaf_of(to, w.shape, w.form);
      for (const Assigned& a : w.by) a.state->set_node(rebuilt(a.view, leaf, a.state));
      for (Read& r : read_)
        if (r.place == *w.in_place) {
          const bool is_found = find_again(r);
          STRATA_ASSERT(is_found, "[jit] a copy of assigned memory is not what was read");
          use(r);
        }
    }
    const Read& r = *std::find_if(read_.begin(), read_.end(), [&](const Read& x) { return x.place == *w.in_place; });
    r.memory->note_write();
    recording_->set_memory(*w.place, r.at);
  }
  /// The same for an argument, which has been computed.
  void own(const Written& w, const Tensor& x) {
    const State& state = state_of(x);
    const bool is_whole = x.node().op() == Ops::EMPTY;
    const bool is_its_own = is_whole && are_sole_owners({&state, 1});  // NOTE: apart, because node() is a handle
    Buffer memory = memory_of(x.node());
    if (!is_its_own) {
      const Buffer copy = Buffer::allocate(memory.size(), w.dtype);
      copy.copy_from(memory);
      memory = copy;
      set_node(state, leaf_of(copy, w.shape, w.form));
      recording_->set_memory(*w.in_place, copy.data());
    }
    memory.memory().note_write();
    recording_->set_memory(*w.place, memory.data());
  }
  /// The shape of a result of a call with such values.
  Ints shape_of(const Output& o, const Values& values) const {
    return is_known(o.shape) || keeps_values_ ? o.shape : bound(o.shape, values);
  }
  Tensor fresh(Output& o, const Values& values) {
    const LazyOp leaf = o.last.node();
    const bool is_reused = is_known(o.shape) && TensorAccess::state(o.last).use_count() == 1 && is_free(leaf, 2);
    if (!is_reused) {
      const Ints shape = shape_of(o, values);
      const Buffer memory = Buffer::allocate(memory_of(leaf).size(), leaf.dtype());
      o.last = TensorAccess::of(leaf_of(memory, shape, placed_form(leaf)), o.last);
    }
    if (o.place) recording_->set_memory(*o.place, memory_of(o.last.node()).data());
    return o.last;
  }
  /// Makes the assigned tensors stand for `leaf`; the memory of the previous replay becomes the spare memory.
  static void hand_over(Written& w, const LazyOp& leaf, std::span<const Tensor> inputs) {
    if (!w.same_as) w.spare = std::exchange(w.given, leaf);
    for (const Assigned& a : w.by) {
      if (a.input)
        set_node(state_of(inputs[*a.input]), rebuilt(a.view, leaf, state_of(inputs[*a.input])));
      else
        a.state->set_node(rebuilt(a.view, leaf, a.state));
    }
  }

  std::vector<Input> inputs_;
  std::vector<Expr> integers_;                     ///< without values
  std::vector<std::weak_ptr<TensorState>> known_;  ///< what calls read from outside, until one is captured
  std::unique_ptr<Recording> recording_;
  std::vector<Read> read_;
  std::vector<Written> written_;
  std::vector<Output> outputs_;
  Values values_;  ///< the values of variables in the captured call
  SeenRun first_;
  /// Replays only for equal values_: assigned memory has a symbolic size, or the function has values of its own.
  bool keeps_values_ = false;
  bool is_on_mesh_ = false, is_deterministic_ = false;
  HostReads host_reads_;
  std::vector<std::optional<LazyOp>> next_;  ///< during a run: the memory that is written, unless in place
};

class Jit::Turn : private JitTurn {
 public:
  explicit Turn(Jit& jit) : JitTurn(jit.owner_, jit.name_) {
    // The parent's thread may have been changing the list at the fork: leak it, and start with an empty one.
    if (was_parents()) std::construct_at(&jit.captures_);
  }
};

/// Drops the capture in front where an error passes and it computes on a mesh: ranks that were interrupted in another
/// call than the others have captured another one, and all of them begin anew.
struct Jit::DropOnMesh {
  Jit& jit;
  int before = std::uncaught_exceptions();
  ~DropOnMesh() {
    if (std::uncaught_exceptions() > before && jit.captures_.front()->is_on_mesh()) jit.captures_.pop_front();
  }
};

Jit::Jit(Function function, std::size_t most_captures, std::string name)
    : Jit([f = std::move(function)](std::span<const Tensor> tensors, std::span<const Expr>) { return f(tensors); },
          most_captures, std::move(name)) {}
Jit::Jit(FunctionOfIntegers function, std::size_t most_captures, std::string name)
    : function_(std::move(function)), name_(std::move(name)), most_captures_(std::max<std::size_t>(most_captures, 1)) {}
Jit::~Jit() = default;

std::vector<RecordedTime> Jit::times(int repeats) {
  const Turn turn(*this);
  if (captures_.empty() || !captures_.front()->is_captured()) return {};
  return captures_.front()->times(repeats);
}

Captured Jit::captured(bool runs) {
  const Turn turn(*this);
  STRATA_CHECK(!captures_.empty(), domain, "[jit] ", name_, " is not captured: call it twice first");
  return captures_.front()->captured(name_, runs);
}

/// The capture for such arguments, which moves to the front of the list. Null if there is none, or if it can no longer
/// be replayed and is dropped.
Jit::Capture* Jit::find(const Arguments& arguments) {
  for (auto it = captures_.begin(); it != captures_.end(); ++it) {
    if (!(*it)->matches(arguments)) continue;
    captures_.splice(captures_.begin(), captures_, it);
    if (!(*it)->is_captured() || (*it)->resolve()) return it->get();
    captures_.pop_front();
    return nullptr;
  }
  return nullptr;
}

/// The capture to replay; null where the function has to run.
Jit::Capture* Jit::replayable(const Arguments& arguments) {
  for (const Tensor& x : arguments.tensors) x.realize();
  if (flags::CHECK_INDEX.get()) return nullptr;  // each call checks its indices
  Capture* const known = find(arguments);
  return known != nullptr && known->is_captured() ? known : nullptr;
}

/// Runs the function; the second call with such arguments is captured. @pre replayable(arguments) returned null
std::vector<Tensor> Jit::run(const Arguments& arguments) {
  ++runs_;
  const auto function = [&](std::span<const Tensor> tensors) { return function_(tensors, arguments.integers); };
  SeenRun seen{arguments.values};
  if (flags::CHECK_INDEX.get()) return first_run(function, arguments.tensors, seen);
  if (Capture* const known = find(arguments)) {
    const DropOnMesh failed{*this};
    return known->capture(function, arguments, name_);
  }
  std::vector<std::shared_ptr<const PlacedForm>> forms;
  for (const Tensor& x : arguments.tensors) forms.push_back(placed_form(x.node()));
  std::vector<Tensor> results = first_run(function, arguments.tensors, seen);
  captures_.push_front(std::make_unique<Capture>(arguments, forms, std::move(seen)));
  if (captures_.size() > most_captures_) captures_.pop_back();
  return results;
}

std::vector<Tensor> Jit::operator()(std::span<const Tensor> inputs, std::span<const Expr> integers) {
  const Turn turn(*this);
  if (Watching::is_active()) {
    ++runs_;
    return function_(inputs, integers);
  }
  const Arguments arguments(inputs, integers);
  Capture* const known = replayable(arguments);
  if (known == nullptr) return run(arguments);
  std::optional<DropOnMesh> failed;
  if (known->is_on_mesh()) failed.emplace(*this);
  std::vector<Tensor> results = known->replay(arguments);
  ++replays_;
  return results;
}

void Jit::into(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Expr> integers) {
  const Turn turn(*this);
  STRATA_CHECK(
      !Watching::is_active(), domain, "[jit] into() of ", name_,
      " is called in a captured function, whose replays would not write the outputs again: return the results");
  jit_outputs::check_apart(name_, outputs, inputs);
  const Arguments arguments(inputs, integers);
  if (Capture* const known = replayable(arguments)) {
    known->replay_into(outputs, arguments, name_);
    ++replays_;
    return;
  }
  const std::vector<Tensor> results = run(arguments);
  jit_outputs::check_outputs(name_, outputs, results);
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k].buffer().copy_from(results[k].buffer());
}

}  // namespace strata
