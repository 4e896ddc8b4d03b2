#include "strata/engine/recording.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "strata/base/interrupt.h"
#include "strata/engine/in_place.h"
#include "strata/engine/kernel_cache.h"
#include "strata/runtime/allocator.h"
#include "strata/runtime/trace_kernel.h"
#include "strata/schedule/memory_plan.h"

namespace strata {

namespace {

constexpr double kUninterrupted = 1;  // the most seconds without a check for interrupts, by estimate

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
  void stepped(RanStep step) override { to_.add(std::move(step)); }
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

void Recording::stop(std::string name, std::span<RecordedUpdate> updates) {
  if (listening_ == nullptr) return;
  fed_ = std::move(listening_->fed);
  listening_.reset();
  changes_ = {};
  // What the recorded calls have freed is of other sizes, and would lie beside what compiling and replays need.
  Allocator::host().release_large();
  const UninterruptedScope compiling;  // the calls are over: all or nothing of this
  for (RecordedUpdate& u : updates) {
    u.is_in_place = update_in_place(u);
    if (u.is_in_place) updates_.push_back(u);
  }
  find_packed();
  plan();
  find_dead();
  name_ = std::move(name);
  static constinit std::atomic<std::uint64_t> last{0};
  key_ = {0, ++last};
  if (TraceFile* const trace = TraceFile::current()) traced_capture(*trace);
}

/// Finds the launches whose packed elements are kept, now that all writes are known.
void Recording::find_packed() {
  std::vector<bool> differs;
  for (const Recorded& r : recorded_) differs.push_back(r.is_written || r.is_outside);
  for (const FeedListener::Fed& f : fed_)
    if (const auto place = place_of(f.buffer)) differs[*place] = true;
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    Launch& launch = launches_[k];
    if (!launch.kernel) continue;
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
    const DeviceMemory* const memory = recorded_[place].held.get();
    known = packed_.insert(known, {place, memory, memory->writes(), {}});
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

std::size_t Recording::add_place(Recorded recorded, void* memory) {
  recorded_.push_back(std::move(recorded));
  memory_.push_back(memory);
  is_lent_.push_back(false);
  return memory_.size() - 1;
}

/// The place of an argument of the next launch. Memory that a kernel writes first is not kept: when it is freed, other
/// memory may have its address, which then is the address of another place.
std::size_t Recording::add_memory(const Buffer& buffer, bool is_output) {
  std::optional<std::size_t> place = place_of(buffer);
  if (!place) {
    Recorded recorded;
    recorded.memory = buffer.watched();
    if (!is_output) recorded.held = recorded.memory.lock();
    recorded.is_outside = buffer.memory().is_written_outside();
    place = add_place(std::move(recorded), buffer.data());
    place_.insert_or_assign(buffer.data(), *place);
  }
  Recorded& r = recorded_[*place];
  r.bytes = std::max(r.bytes, static_cast<std::int64_t>(buffer.nbytes()));
  r.is_written = r.is_written || is_output;
  return *place;
}

void Recording::add(const RanKernel& ran) {
  constexpr double between = 0.002;  // seconds between two checks for interrupts
  unpolled_ += ran.kernel->estimated_seconds();
  const std::vector<std::int64_t> values = ran.kernel->arguments(ran.values);
  Launch launch{ran.kernel, {}, values, values, unpolled_ > between, false, {}, {}};
  launch.own = ran.own;
  launch.origin = ran.origin;
  launch.offsets = ran.offsets;
  if (launch.polls) unpolled_ = 0;
  for (std::size_t k = 0; k < ran.buffers.size(); ++k)
    launch.places.push_back(add_memory(ran.buffers[k], k < ran.outputs));
  for (const std::int64_t bytes : ran.kernel->temporary_bytes(ran.values)) {
    Recorded temporary;
    temporary.bytes = bytes;
    temporary.is_written = true;
    launch.places.push_back(add_place(std::move(temporary), nullptr));
  }
  launches_.push_back(std::move(launch));
}

void Recording::add(RanStep ran) {
  has_steps_ = true;
  if (ran.is_check) {
    Check check{{}, std::move(ran.run)};
    for (const Buffer& b : ran.buffers)
      check.places.push_back(wrote(b) ? std::nullopt : std::optional(add_memory(b, false)));
    checks_.push_back(std::move(check));
    return;
  }
  Launch launch{nullptr, {}, {}, {}, false, false, {}, {}};
  launch.step = std::move(ran.run);
  launch.outputs = ran.outputs;
  for (std::size_t k = 0; k < ran.buffers.size(); ++k)
    launch.places.push_back(add_memory(ran.buffers[k], k < ran.outputs));
  launches_.push_back(std::move(launch));
}

/// Gives the intermediate results memory for replays: those whose recorded memory is free, and temporaries.
void Recording::plan() {
  std::vector<MemoryLife> life(recorded_.size(), MemoryLife{0, SIZE_MAX, 0});  // by place
  for (std::size_t k = 0; k < launches_.size(); ++k)
    for (const std::size_t place : launches_[k].places)
      life[place] = {recorded_[place].bytes, std::min(life[place].first, k), k};
  std::vector<bool> keeps(recorded_.size());  // by place: whether it has packed elements that later replays use
  for (const Launch& launch : launches_) {
    if (!launch.kernel) continue;
    const auto& before = launch.kernel->kernel().before;
    for (std::size_t j = 0; j < before.size(); ++j)
      for (std::size_t slot = 0; slot < before[j]->buffers.size(); ++slot)
        if (launch.keeps[j] != 0 && before[j]->buffers[slot].written) keeps[launch.places[slot]] = true;
  }
  std::vector<MemoryLife> lives;
  std::vector<std::size_t> planned, kept;
  for (std::size_t place = 0; place < recorded_.size(); ++place) {
    Recorded& r = recorded_[place];
    if (r.held == nullptr) r.held = r.memory.lock();
    if (r.held != nullptr) continue;
    if (keeps[place]) {
      kept.push_back(place);
      continue;
    }
    planned.push_back(place);
    lives.push_back(life[place]);
  }
  std::erase_if(place_, [&](const auto& known) { return recorded_[known.second].held == nullptr; });
  const ArenaPlan arena = plan_arena(lives);
  if (!planned.empty()) arena_ = Buffer::allocate(std::max<std::int64_t>(arena.bytes, 1), dtypes::uint8);
  for (std::size_t k = 0; k < planned.size(); ++k)
    memory_[planned[k]] = static_cast<char*>(arena_->data()) + arena.offsets[k];
  for (const std::size_t place : kept) {
    const Buffer own = Buffer::allocate(recorded_[place].bytes, dtypes::uint8);
    recorded_[place].held = own.watched().lock();
    memory_[place] = own.data();
  }
}

/// Finds the kernels that write nothing that is kept, or that another one reads. @pre plan() has found what is kept
void Recording::find_dead() {
  std::vector<bool> is_needed;  // by place
  for (const Recorded& r : recorded_) is_needed.push_back(r.held != nullptr);
  for (std::size_t k = launches_.size(); k-- > 0;) {
    Launch& launch = launches_[k];
    bool is_live = launch.kernel == nullptr;  // all ranks of a mesh do a step
    for (std::size_t slot = 0; slot < launch.places.size(); ++slot)
      is_live = is_live || (launch.is_written(slot) && is_needed[launch.places[slot]]);
    launch.is_dead = !is_live;
    if (is_live)
      for (const std::size_t place : launch.places) is_needed[place] = true;
  }
}

/// Makes an assignment in place, if it can be: see stop().
bool Recording::update_in_place(const RecordedUpdate& update) {
  const auto same_memory = [&](std::size_t place) {
    for (const RecordedUpdate& u : updates_)
      if (u.after == place) return u.before;
    return place;
  };
  const auto uses = [&](const Launch& launch, std::size_t place) {
    return std::any_of(launch.places.begin(), launch.places.end(),
                       [&](std::size_t p) { return same_memory(p) == same_memory(place); });
  };
  std::optional<std::size_t> writer;
  std::size_t last = 0;  // the launch that reads the old value last; or a step, in which other ranks may fail
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    if (uses(launches_[k], update.before) || !launches_[k].kernel) last = k;
    if (!uses(launches_[k], update.after)) continue;
    if (writer) return false;  // it computes a part alone, or the new value is read
    writer = k;
  }
  if (!writer || !launches_[*writer].kernel || recorded_[update.before].bytes != recorded_[update.after].bytes)
    return false;
  // The writer runs after all readers, so nothing before them may need what it writes, or write what it reads.
  Launch launch = launches_[*writer];
  const std::size_t to = std::max(last, *writer);
  for (std::size_t k = *writer + 1; k <= to; ++k)
    for (std::size_t slot = 0; slot < launches_[k].places.size(); ++slot)
      for (std::size_t mine = 0; mine < launch.places.size(); ++mine)
        if (same_memory(launches_[k].places[slot]) == same_memory(launch.places[mine]) &&
            (launches_[k].is_written(slot) || launch.is_written(mine)))
          return false;
  double seconds = 0;  // until the end, without a check for interrupts
  for (std::size_t k = *writer; k < launches_.size(); ++k)
    if (launches_[k].kernel) seconds += launches_[k].kernel->estimated_seconds();
  if (seconds > kUninterrupted) return false;
  if (uses(launch, update.before) && !put_in_place(launch, update)) return false;
  launches_.erase(launches_.begin() + static_cast<std::ptrdiff_t>(*writer));
  launches_.insert(launches_.begin() + static_cast<std::ptrdiff_t>(to), std::move(launch));
  launches_[to].updates = true;
  return true;
}

/// Gives the launch a kernel that writes the new value over the old one. False if there is no such kernel.
bool Recording::put_in_place(Launch& launch, const RecordedUpdate& update) {
  const CompiledKernel& old = *launch.kernel;
  const auto slot_of = [&](std::size_t place) {
    return std::find(launch.places.begin(), launch.places.end(), place) - launch.places.begin();
  };
  const auto input = slot_of(update.before), output = slot_of(update.after);
  const bool is_once = std::count(launch.places.begin(), launch.places.end(), update.before) == 1;
  if (!is_once || !old.kernel().before.empty() || !old.kernel().temporaries.empty() || old.device() == nullptr ||
      !launch.offsets.empty())
    return false;
  std::optional<LazyOp> ast = kernel_in_place(old.kernel().ast, static_cast<int>(output), static_cast<int>(input));
  if (!ast) return false;
  if (std::optional<LazyOp> changes = kernel_of_changes(*ast)) ast = std::move(changes);
  std::vector<std::pair<std::string, std::int64_t>> values;
  for (std::size_t k = 0; k < launch.values.size(); ++k)
    values.emplace_back(old.kernel().variables[k].name(), launch.recorded_values[k]);
  try {
    launch.kernel = KernelCache::instance().get(*ast, *old.device());
  } catch (const Error&) {  // an iteration would read what another one writes
    return false;
  }
  if (!launch.kernel->kernel().temporaries.empty()) return false;
  launch.places.erase(launch.places.begin() + input);
  launch.values = launch.recorded_values = launch.kernel->arguments(values);
  return true;
}

std::optional<std::size_t> Recording::place_of(const Buffer& buffer) const {
  const auto it = place_.find(buffer.data());
  if (it == place_.end()) return std::nullopt;
  const Recorded& r = recorded_[it->second];
  // Memory of others may have several owners; what is held has its address to itself.
  const bool is_same = r.held != nullptr || r.memory.lock() == buffer.watched().lock();
  return is_same ? std::optional(it->second) : std::nullopt;
}

bool Recording::wrote(const Buffer& buffer) const {
  const auto place = place_of(buffer);
  return place && recorded_[*place].is_written;
}

bool Recording::had(const Values& known) const {
  return std::all_of(launches_.begin(), launches_.end(), [&](const Launch& launch) {
    if (!launch.kernel) return true;
    const std::vector<Variable>& variables = launch.kernel->kernel().variables;
    RanKernel ran;
    ran.own = launch.own;
    for (std::size_t k = 0; k < variables.size(); ++k)
      ran.values.emplace_back(variables[k].name(), launch.recorded_values[k]);
    return ran.had(known);
  });
}

void Recording::set_value(const std::string& name, std::int64_t value) {
  for (Launch& launch : launches_) {
    if (!launch.kernel || std::find(launch.own.begin(), launch.own.end(), name) != launch.own.end()) continue;
    const std::vector<Variable>& variables = launch.kernel->kernel().variables;
    for (std::size_t k = 0; k < variables.size(); ++k)
      if (variables[k].name() == name) launch.values[k] = value;
  }
}

/// What precedes the kernels: host memory, and checks.
void Recording::begin_replay() {
  for (const FeedListener::Fed& f : fed_) f.fill(f.buffer.data());
  for (const Check& check : checks_) {
    arguments_.clear();
    for (const auto& place : check.places) arguments_.push_back(place ? memory_[*place] : nullptr);
    check.step(arguments_);
  }
}

void Recording::replay() {
  look_for_changes();
  if (TraceFile* const trace = TraceFile::current()) return replay_traced(*trace);
  begin_replay();
  std::optional<UninterruptedScope> updating;
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    if (launches_[k].polls) check_interrupt();
    if (launches_[k].updates && !updating) updating.emplace();
    if (!launches_[k].is_dead) run(launches_[k]);
  }
}

void Recording::replay_traced(TraceFile& trace) {
  const std::int64_t capture = traced_capture(trace), begin = trace.now();
  std::vector<std::int64_t> marks;  // the times between kernels; another step counts to the kernel before it
  marks.reserve(launches_.size() + 1);
  begin_replay();
  std::optional<UninterruptedScope> updating;
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    if (launches_[k].polls) check_interrupt();
    if (launches_[k].updates && !updating) updating.emplace();
    if (launches_[k].kernel) marks.push_back(trace.now() - begin);
    if (!launches_[k].is_dead) run(launches_[k]);
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
    if (!launch.kernel) continue;
    json.begin_object().member("kernel", traced_kernel(trace, *launch.kernel)).key("places").begin_array();
    for (const std::size_t place : launch.places) json.value(static_cast<std::int64_t>(place));
    json.end_array().end_object();
  }
  json.end_array().key("places").begin_array();
  for (const Recorded& r : recorded_) json.value(r.bytes);
  const TraceFile::Once once{"capture", json.end_array().end_object().take()};
  return trace.write_once(TraceTable::capture, key_, {&once, 1});
}

void Recording::run(Launch& launch) {
  arguments_.clear();
  for (const std::size_t place : launch.places) arguments_.push_back(memory_[place]);
  for (std::size_t slot = 0; slot < launch.offsets.size(); ++slot)
    arguments_[slot] = static_cast<std::byte*>(arguments_[slot]) + launch.offsets[slot];
  if (!launch.kernel) return launch.step(arguments_);
  launch.kernel->replay_rest(arguments_, launch.values, launch.is_done);
  launch.is_done = launch.keeps;
}

std::vector<RecordedTime> Recording::times(int repeats) {
  std::vector<void*> memory = memory_;
  std::vector<Buffer> scratch;
  for (std::size_t place = 0; place < memory.size(); ++place) {
    const Recorded& r = recorded_[place];
    if (r.held != nullptr && is_lent_[place]) memory[place] = r.held->host();
    if (!r.is_written) continue;
    scratch.push_back(Buffer::allocate(r.bytes, dtypes::uint8));
    memory[place] = scratch.back().data();
    const auto bytes = static_cast<std::size_t>(r.bytes);
    r.held != nullptr ? r.held->read(memory[place], bytes) : static_cast<void>(std::memset(memory[place], 0, bytes));
  }
  std::vector<RecordedTime> out;
  for (const Launch& launch : launches_) {
    if (!launch.kernel || launch.is_dead) continue;
    std::vector<void*> arguments;
    for (const std::size_t place : launch.places) arguments.push_back(memory[place]);
    for (std::size_t slot = 0; slot < launch.offsets.size(); ++slot)
      arguments[slot] = static_cast<std::byte*>(arguments[slot]) + launch.offsets[slot];
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
