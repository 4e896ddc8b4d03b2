#include "strata/engine/recording.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "strata/base/interrupt.h"

namespace strata {

class Recording::Listening final : public RunListener, public FeedListener {
 public:
  explicit Listening(Recording& to) : to_(to) {}
  void ran(RanKernel kernel) override { to_.add(kernel); }

 private:
  Recording& to_;
};

Recording::Recording() : listening_(std::make_unique<Listening>(*this)) {}
Recording::~Recording() = default;

void Recording::stop() {
  if (listening_ == nullptr) return;
  fed_ = std::move(listening_->fed);
  for (const FeedListener::Fed& f : fed_) held_.push_back(f.buffer);
  listening_.reset();
}

std::size_t Recording::add_memory(const Buffer& buffer) {
  const auto [it, is_new] = place_.try_emplace(buffer.data(), memory_.size());
  if (is_new) memory_.push_back(buffer.data());
  if (is_new) written_.push_back(false);
  held_.push_back(buffer);
  return it->second;
}

void Recording::add(const RanKernel& ran) {
  constexpr double between = 0.002;  // seconds, between looks
  unlooked_ += ran.kernel->estimated_seconds();
  Step step{ran.kernel, {}, ran.kernel->arguments(ran.values), unlooked_ > between};
  if (step.looks) unlooked_ = 0;
  for (const Buffer& b : ran.buffers) step.places.push_back(add_memory(b));
  for (std::size_t k = 0; k < ran.outputs; ++k) written_[step.places[k]] = true;
  for (const Buffer& b : ran.kernel->temporaries(ran.values)) step.places.push_back(add_memory(b));
  steps_.push_back(std::move(step));
}

std::optional<std::size_t> Recording::place_of(const Buffer& buffer) const {
  const auto it = place_.find(buffer.data());
  return it == place_.end() ? std::nullopt : std::optional(it->second);
}

bool Recording::wrote(const Buffer& buffer) const {
  const auto place = place_of(buffer);
  return place && written_[*place];
}

void Recording::set_value(const std::string& name, std::int64_t value) {
  for (Step& step : steps_) {
    const std::vector<Variable>& variables = step.kernel->kernel().variables;
    for (std::size_t k = 0; k < variables.size(); ++k)
      if (variables[k].name() == name) step.values[k] = value;
  }
}

void Recording::replay() {
  for (const FeedListener::Fed& f : fed_) f.fill(f.buffer.data());
  for (Step& step : steps_) {
    if (step.looks) check_interrupt();
    run(step);
  }
}

void Recording::run(Step& step) {
  arguments_.clear();
  for (const std::size_t place : step.places) arguments_.push_back(memory_[place]);
  step.kernel->replay(arguments_, step.values);
}

std::vector<RecordedTime> Recording::times(int repeats) {
  std::vector<RecordedTime> out;
  for (Step& step : steps_) {
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < repeats; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      run(step);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    out.push_back({step.kernel, best});
  }
  std::sort(out.begin(), out.end(),
            [](const RecordedTime& a, const RecordedTime& b) { return a.seconds > b.seconds; });
  return out;
}

}  // namespace strata
