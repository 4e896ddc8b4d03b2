// Recording::program() and run_apart(): a recording as data, and its results apart from the memory of replays.

#include <cstring>
#include <utility>

#include "strata/engine/recording.h"

namespace strata {

RecordedProgram Recording::program() const {
  RecordedProgram out;
  for (const Launch& launch : launches_) {
    const Kernel& kernel = launch.kernel->kernel();
    const std::size_t given = kernel.buffers.size() - kernel.temporaries.size();
    const auto end = launch.places.begin() + static_cast<std::ptrdiff_t>(given);
    out.launches.push_back(
        {launch.kernel, {launch.places.begin(), end}, launch.recorded_values, launch.own, launch.origin});
  }
  for (std::size_t place = 0; place < recorded_.size(); ++place) {
    const Recorded& r = recorded_[place];
    out.places.push_back({r.bytes, r.is_written, r.is_outside, memory_[place]});
  }
  for (const FeedListener::Fed& f : fed_)
    if (const auto place = place_of(f.buffer)) out.fed.push_back({*place, f.rule});
  out.updates = updates_;
  return out;
}

std::vector<std::optional<Buffer>> Recording::run_apart() const {
  std::vector<std::optional<Buffer>> out(recorded_.size());
  std::vector<void*> memory = memory_;
  for (std::size_t place = 0; place < memory.size(); ++place) {
    const Recorded& r = recorded_[place];
    out[place] = Buffer::allocate(std::max<std::int64_t>(r.bytes, 1), dtypes::uint8);
    memory[place] = out[place]->data();
    const auto bytes = static_cast<std::size_t>(r.bytes);
    if (r.held != nullptr && is_lent_[place])
      r.held->read(memory[place], bytes);
    else if (!r.is_written)
      std::memcpy(memory[place], memory_[place], bytes);
  }
  std::vector<Buffer> before;
  for (const RecordedUpdate& u : updates_) {
    memory[u.after] = memory[u.before];
    before.push_back(Buffer::allocate(out[u.before]->size(), dtypes::uint8));
    before.back().copy_from(*out[u.before]);
  }
  for (const Launch& launch : launches_) {
    std::vector<void*> arguments;
    for (const std::size_t place : launch.places) arguments.push_back(memory[place]);
    std::vector<std::int64_t> values = launch.recorded_values;
    launch.kernel->replay(arguments, values);
  }
  for (std::size_t k = 0; k < updates_.size(); ++k)
    out[updates_[k].after] = std::exchange(out[updates_[k].before], before[k]);
  return out;
}

}  // namespace strata
