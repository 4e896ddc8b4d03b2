#include "strata/engine/recording.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "strata/base/interrupt.h"
#include "strata/runtime/trace_kernel.h"

namespace strata {

namespace {

/// Whether the results of the kernel depend on the values of variables.
bool has_variables(const std::shared_ptr<const Kernel>& kernel) {
  return std::any_of(kernel->variables.begin(), kernel->variables.end(),
                     [](const Variable& v) { return !is_range_bound(v.name()); });
}

}  // namespace

class Recording::Listening final : public RunListener, public FeedListener {
 public:
  explicit Listening(Recording& to) : to_(to) {}
  void ran(RanKernel kernel) override { to_.add(kernel); }
  bool keeps(const Buffer& memory) const override {
    const auto is_same = [&](const Fed& f) { return f.buffer.data() == memory.data(); };
    return !to_.wrote(memory) && std::none_of(fed.begin(), fed.end(), is_same) &&
           !(to_.changes_ && to_.changes_(memory));
  }

 private:
  Recording& to_;
};

Recording::Recording(Changes changes) : changes_(std::move(changes)), listening_(std::make_unique<Listening>(*this)) {}
Recording::~Recording() = default;

void Recording::stop(std::string name) {
  if (listening_ == nullptr) return;
  fed_ = std::move(listening_->fed);
  for (const FeedListener::Fed& f : fed_) held_.push_back(f.buffer);
  listening_.reset();
  changes_ = {};
  find_packed();
  name_ = std::move(name);
  static constinit std::atomic<std::uint64_t> last{0};
  key_ = {0, ++last};
  if (TraceFile* const trace = TraceFile::current()) traced_capture(*trace);
}

/// Finds the launches whose packed elements are kept, now that all writes are known.
void Recording::find_packed() {
  std::vector<bool> differs;
  for (std::size_t k = 0; k < written_.size(); ++k) differs.push_back(written_[k] || outside_[k]);
  for (const FeedListener::Fed& f : fed_)
    if (const auto place = place_of(f.buffer)) differs[*place] = true;
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    Launch& launch = launches_[k];
    const auto& before = launch.kernel->kernel().before;
    std::unordered_map<std::size_t, std::vector<std::size_t>> packed_from;  // by place of packed elements: the places
    for (std::size_t j = 0; j < before.size(); ++j) {
      std::vector<std::size_t> from, written;
      bool keeps = !has_variables(before[j]);
      for (std::size_t slot = 0; slot < before[j]->buffers.size(); ++slot) {
        const std::size_t place = launch.places[slot];
        if (before[j]->buffers[slot].written) written.push_back(place);
        if (!before[j]->buffers[slot].read) continue;
        const auto packed = packed_from.find(place);
        if (packed == packed_from.end())
          keeps = keeps && !differs[place], from.push_back(place);
        else
          from.insert(from.end(), packed->second.begin(), packed->second.end());
      }
      launch.keeps.push_back(keeps ? 1 : 0);
      if (!keeps) continue;
      for (const std::size_t place : written) packed_from.emplace(place, from);
      for (const std::size_t place : from) packed_place(place).packings.emplace_back(k, j);
    }
    launch.is_done.assign(launch.keeps.size(), 0);
  }
}

/// The entry of a place that no kernel of the recording writes.
Recording::PackedPlace& Recording::packed_place(std::size_t place) {
  auto known = std::find_if(packed_.begin(), packed_.end(), [&](const PackedPlace& p) { return p.place == place; });
  if (known == packed_.end()) {
    const auto memory = std::find_if(held_.begin(), held_.end(), [&](const Buffer& b) { return place_of(b) == place; });
    known = packed_.insert(known, {place, &memory->memory(), memory->memory().writes(), {}});
  }
  return *known;
}

/// Finds the packed elements that were written since they were packed.
void Recording::look_for_changes() {
  for (PackedPlace& p : packed_) {
    const std::uint64_t writes = writes_to(p.memory);
    if (writes == p.writes && (p.memory == nullptr || !p.memory->is_written_outside())) continue;
    p.writes = writes;
    changed(p);
  }
}

std::size_t Recording::add_memory(const Buffer& buffer) {
  const auto [it, is_new] = place_.try_emplace(buffer.data(), memory_.size());
  if (is_new) memory_.push_back(buffer.data());
  if (is_new) written_.push_back(false);
  if (is_new) outside_.push_back(buffer.memory().is_written_outside());
  if (is_new) is_lent_.push_back(false);
  held_.push_back(buffer);
  return it->second;
}

void Recording::add(const RanKernel& ran) {
  constexpr double between = 0.002;  // seconds between two checks for interrupts
  unpolled_ += ran.kernel->estimated_seconds();
  const std::vector<std::int64_t> values = ran.kernel->arguments(ran.values);
  Launch launch{ran.kernel, {}, values, values, unpolled_ > between, {}, {}};
  if (launch.polls) unpolled_ = 0;
  for (const Buffer& b : ran.buffers) launch.places.push_back(add_memory(b));
  for (std::size_t k = 0; k < ran.outputs; ++k) written_[launch.places[k]] = true;
  for (const Buffer& b : ran.kernel->temporaries(ran.values)) {
    launch.places.push_back(add_memory(b));
    written_[launch.places.back()] = true;
  }
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
  look_for_changes();
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
  json.end_array().key("places").begin_array();
  for (const std::int64_t n : bytes_of_places()) json.value(n);
  const TraceFile::Once once{"capture", json.end_array().end_object().take()};
  return trace.write_once(TraceTable::capture, key_, {&once, 1});
}

void Recording::run(Launch& launch) {
  arguments_.clear();
  for (const std::size_t place : launch.places) arguments_.push_back(memory_[place]);
  launch.kernel->replay_rest(arguments_, launch.values, launch.is_done);
  launch.is_done = launch.keeps;
}

/// The sizes of the recorded memory, by place.
std::vector<std::int64_t> Recording::bytes_of_places() const {
  std::vector<std::int64_t> out(memory_.size());
  for (const Buffer& b : held_)
    if (const auto place = place_of(b)) out[*place] = std::max(out[*place], static_cast<std::int64_t>(b.nbytes()));
  return out;
}

std::vector<RecordedTime> Recording::times(int repeats) {
  std::vector<void*> memory = memory_;
  for (const Buffer& b : held_)
    if (const auto place = place_of(b); place && (is_lent_[*place] || written_[*place])) memory[*place] = b.data();
  const std::vector<std::int64_t> bytes = bytes_of_places();
  std::vector<Buffer> scratch;
  for (std::size_t place = 0; place < memory.size(); ++place) {
    if (!written_[place]) continue;
    scratch.push_back(Buffer::fromCPU(memory[place], bytes[place], dtypes::uint8));
    memory[place] = scratch.back().data();
  }
  std::vector<RecordedTime> out;
  for (const Launch& launch : launches_) {
    std::vector<void*> arguments;
    for (const std::size_t place : launch.places) arguments.push_back(memory[place]);
    std::vector<std::int64_t> values = launch.recorded_values;
    launch.kernel->replay(arguments, values);  // packs
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < repeats; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      launch.kernel->replay_rest(arguments, values, launch.keeps);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    out.push_back({launch.kernel, best});
  }
  std::sort(out.begin(), out.end(), [](const RecordedTime& a, const RecordedTime& b) { return a.seconds > b.seconds; });
  return out;
}

}  // namespace strata
