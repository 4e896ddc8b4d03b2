#include "strata/engine/loop_program.h"

#include <algorithm>
#include <cstring>

#include "strata/base/interrupt.h"
#include "strata/base/small_vec.h"
#include "strata/expr/evaluate.h"
#include "strata/view/strided.h"

namespace strata {

namespace {

constexpr double kUnpolled = 0.002;  // estimated seconds between two checks for interrupts

/// One run of a loop.
class LoopRun {
 public:
  LoopRun(const LoopPlan& plan, std::span<void* const> buffers, std::span<const std::int64_t> values)
      : plan_(plan), buffers_(buffers), values_(values) {
    for (std::size_t k = 0; k < plan.variables.size(); ++k)
      if (!plan.variables[k].bound_value()) known_.emplace_back(plan.variables[k], values[k]);
  }

  void run() {
    count_ = number(plan_.count);
    fill();
    if (plan_.last_source && !plan_.goes_on) take_count();
    begin();
    bool goes_on = !plan_.goes_on || is_true(at(*plan_.last_source));
    std::int64_t k = 0;
    for (; k < count_ && goes_on; ++k) {
      if (k > 0) move();
      step(k == 0);
      if (plan_.goes_on) goes_on = is_true(cells_[*plan_.goes_on]);
    }
    finish(k);
  }

 private:
  static bool is_true(const void* at) { return *static_cast<const unsigned char*>(at) != 0; }
  std::int64_t number(const Int& size) const { return size.is_number() ? size.value() : evaluate(size.expr(), known_); }
  char* at(const LoopPlace& p, std::int64_t step = 0) const {
    void* const memory = p.slot < buffers_.size() ? buffers_[p.slot] : plan_.shared[p.slot - buffers_.size()].data();
    return static_cast<char*>(memory) + number(p.offset) + step * number(p.stride);
  }

  void fill() {
    for (const LoopPlan::Fill& f : plan_.fills) {
      char* const first = at(f.place);
      const std::uint64_t bits = f.value.bits();
      const std::size_t size = f.value.dtype().itemsize();
      const auto bytes = static_cast<std::size_t>(number(f.count)) * size;
      if (bits == 0 || size == 1)
        std::memset(first, static_cast<int>(bits & 255U), bytes);
      else
        for (std::size_t k = 0; k < bytes; k += size) std::memcpy(first + k, &bits, size);
    }
  }

  void take_count() {
    std::int64_t given = 0;
    std::memcpy(&given, at(*plan_.last_source), sizeof given);
    STRATA_CHECK(given >= 0 && given <= count_, domain, "[scan] ", given, " steps are not within [0, ", count_, "]");
    count_ = given;
  }

  void begin() {
    cells_.resize(plan_.cells);
    for (std::size_t c = 0; c < plan_.places.size(); ++c) {
      const std::int64_t stride = number(plan_.places[c].stride);
      strides_.push_back(plan_.is_reversed ? -stride : stride);
      cells_[c] = at(plan_.places[c], plan_.is_reversed ? count_ - 1 : 0);
    }
    for (const LoopState& s : plan_.states) {
      RunState own{at(s.initial), {}, s.last ? at(*s.last) : nullptr, static_cast<std::size_t>(number(s.bytes))};
      for (std::size_t b = 0; b < s.buffers.size(); ++b) own.buffers[b] = at(s.buffers[b]);
      states_.push_back(own);
      cells_[s.read] = own.initial;
      // An odd number of steps begins with the first buffer, so that the last step writes the result.
      if (!s.buffers.empty()) cells_[s.write] = own.buffers[count_ % 2 == 1 ? 0 : 1];
    }
    std::size_t most = 0;
    for (const StepLaunch& l : plan_.launches) most = std::max(most, l.values.size());
    numbers_.resize(most);
    for (const StepCopy& c : plan_.copies) bytes_.push_back(static_cast<std::size_t>(number(c.bytes)));
  }

  void step(bool is_first) {
    for (const StepLaunch& l : plan_.launches) {
      arguments_.clear();
      for (const std::size_t c : l.cells) arguments_.push_back(cells_[c]);
      for (std::size_t v = 0; v < l.values.size(); ++v)
        numbers_[v] = l.values[v] < 0 ? 0 : values_[static_cast<std::size_t>(l.values[v])];
      const std::span<std::int64_t> numbers(numbers_.data(), l.values.size());
      const std::span<void* const> arguments(arguments_.data(), arguments_.size());
      if (is_first)
        l.kernel->replay(arguments, numbers);
      else
        l.kernel->replay_rest(arguments, numbers, l.keeps);
      for (const StepCheck& c : l.numbers) check(c);
      unpolled_ += l.kernel->estimated_seconds();
      if (unpolled_ <= kUnpolled) continue;
      check_interrupt();
      unpolled_ = 0;
    }
    for (const StepCheck& c : plan_.checks) check(c);
    for (std::size_t k = 0; k < plan_.copies.size(); ++k)
      std::memcpy(cells_[plan_.copies[k].to], cells_[plan_.copies[k].from], bytes_[k]);
  }

  void check(const StepCheck& c) const {
    Index shape;
    for (const Int& size : c.of.shape()) shape.push_back(number(size));
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::string words;
    if (c.range) {
      words =
          words_on_outside(*c.range, {cells_[c.cell], c.of.dtype(), shape, contiguous_box(shape).stride}).value_or("");
    } else {
      const Buffer all = Buffer::from_pointer(cells_[c.cell], count, c.of.dtype(), [](void*) {});
      for (std::int64_t k = 0; k < count && words.empty(); ++k)
        if (all[k].is_nan())
          words = detail::message("[NAN_CHECK] ", spec_name(c.of.op()), " of shape ", render(c.of.shape()),
                                  " made a NaN at element ", k, ", in a step of a loop");
    }
    if (words.empty()) return;
    const std::string origin = c.origin.text();
    if (!origin.empty()) words += detail::message(" (", origin, ")");
    throw Error(c.range ? ErrorKind::shape : ErrorKind::domain, words);
  }

  /// Sets the cells for the next step.
  void move() {
    for (std::size_t k = 0; k < plan_.states.size(); ++k) {
      const LoopState& s = plan_.states[k];
      if (s.read == s.write) continue;
      cells_[s.read] = cells_[s.write];
      if (s.buffers.empty()) continue;  // the cell of a row moves below
      const auto& buffers = states_[k].buffers;
      cells_[s.write] = cells_[s.write] == buffers[0] ? buffers[1] : buffers[0];
    }
    for (std::size_t c = 0; c < strides_.size(); ++c) cells_[c] = static_cast<char*>(cells_[c]) + strides_[c];
  }

  /// Stores what the steps have left elsewhere.
  void finish(std::int64_t executed) {
    for (std::size_t k = 0; k < plan_.states.size(); ++k) {
      const void* const from = executed == 0 ? states_[k].initial : cells_[plan_.states[k].write];
      void* const to = states_[k].last;
      if (to != nullptr && to != from && states_[k].bytes > 0) std::memcpy(to, from, states_[k].bytes);
    }
    if (plan_.executed) std::memcpy(at(*plan_.executed), &executed, sizeof executed);
  }

  struct RunState {
    void* initial = nullptr;
    void* buffers[2] = {};
    void* last = nullptr;
    std::size_t bytes = 0;
  };

  const LoopPlan& plan_;
  std::span<void* const> buffers_;
  std::span<const std::int64_t> values_;
  Values known_;
  std::int64_t count_ = 0;
  double unpolled_ = 0;
  SmallVec<void*, 48> cells_;
  SmallVec<std::int64_t, 32> strides_;  // by place
  SmallVec<RunState, 8> states_;
  SmallVec<std::size_t, 8> bytes_;  // by copy
  SmallVec<void*, 16> arguments_;
  SmallVec<std::int64_t, 8> numbers_;
};

}  // namespace

void LoopProgram::run(std::span<void* const> buffers, std::span<const std::int64_t> values) {
  LoopRun(plan_, buffers, values).run();
}

}  // namespace strata
