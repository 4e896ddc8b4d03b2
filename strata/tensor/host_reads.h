// HostReads: which memory the host reads while a function runs. A captured function (jit.h) that reads an element of
// its arguments, e.g. by item(), keeps what it computed from the element: a program that is exported must know.
// Internal to tensor/.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strata/engine/recording.h"
#include "strata/runtime/buffer.h"
#include "strata/tensor/captured.h"

namespace strata {

/// Observes Tensor::buffer() on this thread, while an object of the class lives. All listeners are called.
class HostReadListener {
 public:
  explicit HostReadListener(std::function<void(const Buffer&)> read) : read_(std::move(read)), outer_(current_) {
    current_ = this;
  }
  ~HostReadListener() { current_ = outer_; }
  HostReadListener(const HostReadListener&) = delete;
  HostReadListener& operator=(const HostReadListener&) = delete;

  /// To be called where the elements of a tensor are given to the host.
  static void note(const Buffer& memory) {
    for (const HostReadListener* l = current_; l != nullptr; l = l->outer_) l->read_(memory);
  }

 private:
  std::function<void(const Buffer&)> read_;
  HostReadListener* outer_;
  static inline constinit thread_local HostReadListener* current_ = nullptr;
};

/// What the host reads while a call is captured.
class HostReads {
 public:
  /// Runs `function`. @param inputs the memory of its arguments @param recording of the call
  template <class F>
  auto during(const F& function, std::span<const Buffer> inputs, const Recording& recording) {
    inputs_.assign(inputs.size(), false);
    places_.clear();
    const HostReadListener listener([&](const Buffer& seen) {
      for (std::size_t k = 0; k < inputs.size(); ++k) inputs_[k] = inputs_[k] || inputs[k].data() == seen.data();
      if (const auto place = recording.place_of(seen)) places_.push_back(*place);
    });
    return function();
  }
  /// Sets `read_by_host` and `state_is_read_by_host`. @pre the other members are set
  void tell(Captured& out) const {
    for (std::size_t k = 0; k < out.inputs.size(); ++k)
      if (inputs_[k] || follow(out.program, out.inputs[k].place)) out.read_by_host.push_back(k);
    for (const CapturedState& s : out.states)
      out.state_is_read_by_host = out.state_is_read_by_host || (!s.input && follow(out.program, s.before));
  }

 private:
  /// Whether the host read memory that follows from the place `from`.
  bool follow(const RecordedProgram& program, const std::optional<std::size_t>& from) const {
    if (!from) return false;
    std::vector<bool> follows(program.places.size());
    follows[*from] = true;
    for (const RecordedProgram::Launch& l : program.launches) {
      const std::vector<BufferUse>& uses = l.kernel->kernel().buffers;
      bool reads = false;
      for (std::size_t slot = 0; slot < l.places.size(); ++slot)
        reads = reads || (uses[slot].read && follows[l.places[slot]]);
      for (std::size_t slot = 0; slot < l.places.size() && reads; ++slot)
        if (uses[slot].written) follows[l.places[slot]] = true;
    }
    return std::any_of(places_.begin(), places_.end(), [&](std::size_t p) { return follows[p]; });
  }

  std::vector<bool> inputs_;         // the host read the memory
  std::vector<std::size_t> places_;  // that the host read
};

}  // namespace strata
