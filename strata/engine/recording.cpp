#include "strata/engine/recording.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "strata/base/interrupt.h"
#include "strata/runtime/trace_kernel.h"

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

void Recording::stop(std::string name) {
  if (listening_ == nullptr) return;
  fed_ = std::move(listening_->fed);
  for (const FeedListener::Fed& f : fed_) held_.push_back(f.buffer);
  listening_.reset();
  name_ = std::move(name);
  static constinit std::atomic<std::uint64_t> last{0};
  key_ = {0, ++last};
  if (TraceFile* const trace = TraceFile::current()) traced_capture(*trace);
}

std::size_t Recording::add_memory(const Buffer& buffer) {
  const auto [it, is_new] = place_.try_emplace(buffer.data(), memory_.size());
  if (is_new) memory_.push_back(buffer.data());
  if (is_new) written_.push_back(false);
  held_.push_back(buffer);
  return it->second;
}

void Recording::add(const RanKernel& ran) {
  constexpr double between = 0.002;  // seconds between two checks for interrupts
  unpolled_ += ran.kernel->estimated_seconds();
  Launch launch{ran.kernel, {}, ran.kernel->arguments(ran.values), unpolled_ > between};
  if (launch.polls) unpolled_ = 0;
  for (const Buffer& b : ran.buffers) launch.places.push_back(add_memory(b));
  for (std::size_t k = 0; k < ran.outputs; ++k) written_[launch.places[k]] = true;
  for (const Buffer& b : ran.kernel->temporaries(ran.values)) launch.places.push_back(add_memory(b));
  launches_.push_back(std::move(launch));
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
  for (Launch& launch : launches_) {
    const std::vector<Variable>& variables = launch.kernel->kernel().variables;
    for (std::size_t k = 0; k < variables.size(); ++k)
      if (variables[k].name() == name) launch.values[k] = value;
  }
}

void Recording::replay() {
  if (TraceFile* const trace = TraceFile::current()) return replay_traced(*trace);
  for (const FeedListener::Fed& f : fed_) f.fill(f.buffer.data());
  for (Launch& launch : launches_) {
    if (launch.polls) check_interrupt();
    run(launch);
  }
}

void Recording::replay_traced(TraceFile& trace) {
  const std::int64_t capture = traced_capture(trace), begin = trace.now();
  std::vector<std::int64_t> marks;  // the times between launches
  marks.reserve(launches_.size() + 1);
  for (const FeedListener::Fed& f : fed_) f.fill(f.buffer.data());
  for (Launch& launch : launches_) {
    if (launch.polls) check_interrupt();
    marks.push_back(trace.now() - begin);
    run(launch);
  }
  marks.push_back(trace.now() - begin);
  JsonWriter json = TraceFile::line("replay", begin);
  json.member("capture", capture).member("ns", marks.back());
  json.member("threads", std::int64_t{default_executor().concurrency()}).key("marks").begin_array();
  for (const std::int64_t mark : marks) json.value(mark);
  trace.write(json.end_array().end_object().take());
  trace.flush();
}

/// The number of the recording in the trace. Writes its line at the first call.
std::int64_t Recording::traced_capture(TraceFile& trace) {
  if (const auto known = trace.find(TraceTable::capture, key_)) return *known;
  JsonWriter json;
  json.begin_object().member("at", trace.now()).member("name", std::string_view(name_));
  json.key("steps").begin_array();
  for (const Launch& launch : launches_) {
    json.begin_object().member("kernel", traced_kernel(trace, *launch.kernel)).key("places").begin_array();
    for (const std::size_t place : launch.places) json.value(static_cast<std::int64_t>(place));
    json.end_array().end_object();
  }
  json.end_array().key("places").begin_array();  // sizes in bytes
  std::vector<std::int64_t> bytes(memory_.size());
  for (const Buffer& b : held_)
    if (const auto place = place_of(b)) bytes[*place] = std::max(bytes[*place], static_cast<std::int64_t>(b.nbytes()));
  for (const std::int64_t n : bytes) json.value(n);
  const TraceFile::Once once{"capture", json.end_array().end_object().take()};
  return trace.write_once(TraceTable::capture, key_, {&once, 1});
}

void Recording::run(Launch& launch) {
  arguments_.clear();
  for (const std::size_t place : launch.places) arguments_.push_back(memory_[place]);
  launch.kernel->replay(arguments_, launch.values);
}

std::vector<RecordedTime> Recording::times(int repeats) {
  std::vector<RecordedTime> out;
  for (Launch& launch : launches_) {
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < repeats; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      run(launch);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    out.push_back({launch.kernel, best});
  }
  std::sort(out.begin(), out.end(), [](const RecordedTime& a, const RecordedTime& b) { return a.seconds > b.seconds; });
  return out;
}

}  // namespace strata
