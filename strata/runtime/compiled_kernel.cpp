// CompiledKernel: checks of arguments, temporaries, and the distribution of the parallel loop over threads.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "strata/base/flags.h"
#include "strata/base/interrupt.h"
#include "strata/codegen/dot.h"
#include "strata/codegen/estimate.h"
#include "strata/expr/evaluate.h"
#include "strata/runtime/device.h"
#include "strata/runtime/polling.h"
#include "strata/runtime/trace_kernel.h"

namespace strata {

namespace {

/// Prints the time of a run at its end, if the flag DEBUG is 2 or more.
class RunReport {
 public:
  explicit RunReport(const Kernel& kernel) : kernel_(flags::DEBUG.get() >= 2 ? &kernel : nullptr) {}
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;
  ~RunReport() {
    if (kernel_ == nullptr) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const KernelCost cost = cost_of(kernel_->ast);
    std::fprintf(stderr, "%-24s %10.2f us %9.2f GFLOP/s %9.2f GB/s\n", kernel_->name.c_str(), seconds * 1e6,
                 cost.operations / seconds * 1e-9, cost.bytes / seconds * 1e-9);
  }

 private:
  const Kernel* kernel_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Runs the parallel loop of a long kernel in chunks of about 15 ms. Between its chunks the thread that requested the
/// run checks for interrupts; after an interrupt the other threads end with their current chunks.
template <class Chunk>
class LongRun {
 public:
  /// @param first_chunk the iterations of the first chunk, by the estimate; the sizes of later ones follow from
  /// measured times
  LongRun(const Chunk& run_chunk, std::int64_t count, std::int64_t first_chunk, int threads,
          std::atomic<bool>& is_stopped)
      : run_chunk_(run_chunk),
        is_stopped_(is_stopped),
        count_(count),
        most_(std::max<std::int64_t>(count / (4 * std::int64_t{threads}), 1)),
        least_(std::max<std::int64_t>(count / (16 * std::int64_t{threads}), 1)),
        first_chunk_(std::min(first_chunk, most_)),
        threads_(threads) {}

  void on(Executor& executor) {
    // Each thread takes the next free iterations. With fixed shares the caller could be idle while others work, and
    // only the caller runs InterruptChecks.
    if (threads_ == 1) return work();
    executor.parallel_for(0, threads_, 1, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) work();
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::duration<double> kChunk{0.015};
  static constexpr double kGrowth =
      8;  // the most that a chunk may grow from one to the next: the first iterations may be cheaper than later ones

  /// Stops the loop on all threads if this one leaves it by an exception.
  struct Ending {
    std::atomic<bool>& is_stopped;
    bool is_done = false;
    ~Ending() {
      if (!is_done) is_stopped = true;
    }
  };

  void work() {
    Ending ending{is_stopped_};
    run_chunks();
    ending.is_done = true;
  }
  void run_chunks() {
    const bool is_caller = std::this_thread::get_id() == caller_;
    std::int64_t size = first_chunk_;
    while (!is_stopped_) {
      const auto [begin, end] = take(size);
      if (begin == end) return;
      const Clock::time_point start = Clock::now();
      run_chunk_(begin, end);
      size = next_size(end - begin, Clock::now() - start);
      if (is_caller) check_interrupt();
    }
  }

  /// The iterations of the next chunk, given that `iterations` of them took the time `took`.
  std::int64_t next_size(std::int64_t iterations, std::chrono::duration<double> took) const {
    const double growth = took * kGrowth < kChunk ? kGrowth : kChunk / took;
    return std::clamp(static_cast<std::int64_t>(static_cast<double>(iterations) * growth), std::int64_t{1}, most_);
  }

  /// Takes the next iterations, at most `size`; an empty range if all are taken. The number is such that, if all
  /// threads take as many, they finish together: no thread begins a long chunk when the others have nothing left.
  std::pair<std::int64_t, std::int64_t> take(std::int64_t size) {
    const auto quotient_up = [](std::int64_t n, std::int64_t d) { return (n + d - 1) / d; };
    std::int64_t begin = next_;
    while (true) {
      const std::int64_t left = count_ - begin;
      const std::int64_t rounds = quotient_up(std::max<std::int64_t>(left, 1), threads_ * size);
      const std::int64_t even = quotient_up(left, threads_ * rounds);
      const std::int64_t end = begin + std::min(std::max(even, std::min(size, least_)), left);
      if (next_.compare_exchange_weak(begin, end)) return {begin, end};
    }
  }

  const Chunk& run_chunk_;
  std::atomic<bool>& is_stopped_;
  const std::int64_t count_, most_, least_, first_chunk_;
  const int threads_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<std::int64_t> next_{0};
};

/// The scratch buffers of the calls that run at the same time: a call takes a set, and gives it back at its end. The
/// first set is that of the run.
class ScratchSets {
 public:
  /// @param sizes elements, by slot of kernel.scratch
  ScratchSets(const Kernel& kernel, std::span<void* const> buffers, std::vector<std::int64_t> sizes)
      : kernel_(kernel), sizes_(std::move(sizes)) {
    for (void* const b : buffers) first_.push_back(b);
    free_.push_back(&first_);
  }

  /// Runs f(memory by slot).
  template <class F>
  void with(const F& f) {
    const Taken taken{*this, take()};
    f(std::span<void* const>(taken.set->data(), taken.set->size()));
  }

 private:
  using Set = SmallVec<void*, 8>;
  struct Taken {
    ScratchSets& of;
    const Set* set;
    Taken(ScratchSets& all, const Set* taken) : of(all), set(taken) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() {
      const std::lock_guard lock(of.mutex_);
      of.free_.push_back(set);
    }
  };

  const Set* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) free_.push_back(&add());
    const Set* const out = free_.back();
    free_.pop_back();
    return out;
  }
  const Set& add() {
    Set& out = more_.emplace_back(first_);
    free_.reserve(more_.size() + 1);  // so that a set is given back without an allocation
    for (std::size_t k = 0; k < kernel_.scratch.size(); ++k) {
      const auto slot = static_cast<std::size_t>(kernel_.scratch[k]);
      held_.push_back(Buffer::allocate(sizes_[k], kernel_.buffers[slot].dtype));
      out[slot] = held_.back().data();
    }
    return out;
  }

  const Kernel& kernel_;
  std::vector<std::int64_t> sizes_;
  Set first_;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::deque<Set> more_;
  std::vector<Buffer> held_;
  std::vector<const Set*> free_;
};

std::uint64_t next_id() {
  static constinit std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

CompiledKernel::CompiledKernel(std::shared_ptr<const Kernel> kernel, std::shared_ptr<Program> program,
                               std::vector<CompiledKernel> before, const Device* device,
                               std::shared_ptr<const CompiledKernel> of_normals)
    : kernel_(std::move(kernel)),
      program_(std::move(program)),
      device_(device),
      id_(next_id()),
      has_chunks_(program_->has_chunks()),
      polls_(program_->polls()) {
  const std::vector<Variable>& mine = kernel_->variables;
  for (std::size_t k = 0; k < mine.size(); ++k) {
    if (mine[k].name() == kRangeBegin) begin_ = static_cast<int>(k);
    if (mine[k].name() == kRangeEnd) end_ = static_cast<int>(k);
  }
  if (kernel_->parallel && kernel_->parallel->is_number()) trip_count_ = kernel_->parallel->value();
  const KernelCost cost = vector_cost_of(*kernel_);
  seconds_ = strata::estimated_seconds(cost);
  if (kernel_->parallel) iterations_at_once_ = iterations_within(kLongIteration, cost, kernel_->parallel->vmax());
  for (const CompiledKernel& first : before) positions_.push_back(positions_of(first));
  first_ = std::move(before);
  if (of_normals != nullptr) positions_of_normals_ = positions_of(*of_normals);
  of_normals_ = std::move(of_normals);
}

/// For each variable of `part`, its index among this kernel's variables; -1 for begin0 and end0.
std::vector<int> CompiledKernel::positions_of(const CompiledKernel& part) const {
  const std::vector<Variable>& mine = kernel_->variables;
  std::vector<int> out;
  for (const Variable& v : part.kernel().variables) {
    const auto at = std::find_if(mine.begin(), mine.end(), [&](const Variable& m) { return same(m, v); });
    out.push_back(is_range_bound(v.name()) ? -1 : static_cast<int>(at - mine.begin()));
  }
  return out;
}

std::int64_t CompiledKernel::value_of(const Variable& v, NamedValues values) const {
  if (v.bound_value()) return *v.bound_value();
  const auto it =
      std::find_if(values.begin(), values.end(), [&](const auto& known) { return known.first == v.name(); });
  STRATA_CHECK(it != values.end(), domain, "[run] the variable ", v.name(), " of ", kernel_->name, " has no value");
  STRATA_CHECK(v.min() <= it->second && it->second <= v.max(), domain, "[run] ", v.name(), " = ", it->second,
               " is outside of its bounds [", v.min(), ", ", v.max(), "]");
  return it->second;
}

std::int64_t CompiledKernel::number(const Int& size, NamedValues values) const {
  if (size.is_number()) return size.value();
  Values known;
  for (const Variable& v : variables(size.expr()))
    if (!v.bound_value()) known.emplace_back(v, value_of(v, values));
  return evaluate(size.expr(), known);
}

/// Checks dtype, size and writability of the buffers.
void CompiledKernel::check(std::span<const Buffer> buffers, NamedValues values) const {
  const Kernel& k = *kernel_;
  for (std::size_t slot = 0; slot < std::min(buffers.size(), k.buffers.size()); ++slot) {
    const BufferUse& use = k.buffers[slot];
    if (use.dtype.is_none()) continue;
    STRATA_CHECK(buffers[slot].dtype() == use.dtype, shape, "[run] buffer ", slot, " of ", k.name, " is of ",
                 use.dtype.name(), ", not of ", buffers[slot].dtype().name());
    const std::int64_t size = number(use.size, values);
    STRATA_CHECK(buffers[slot].size() >= size, shape, "[run] buffer ", slot, " of ", k.name, " has ",
                 buffers[slot].size(), " elements, fewer than ", size);
    STRATA_CHECK(!use.written || !buffers[slot].is_read_only(), domain, "[run] buffer ", slot, " of ", k.name,
                 " is written, and its memory is read-only");
  }
}

std::vector<std::int64_t> CompiledKernel::arguments(NamedValues values) const {
  std::vector<std::int64_t> out;
  for (const Variable& v : kernel_->variables) out.push_back(is_range_bound(v.name()) ? 0 : value_of(v, values));
  return out;
}

std::vector<Buffer> CompiledKernel::temporaries(NamedValues values) const {
  std::vector<Buffer> out;
  for (const int slot : kernel_->temporaries) {
    const BufferUse& use = kernel_->buffers[static_cast<std::size_t>(slot)];
    out.push_back(Buffer::allocate(number(use.size, values), use.dtype));
  }
  return out;
}

std::vector<std::int64_t> CompiledKernel::temporary_bytes(NamedValues values) const {
  std::vector<std::int64_t> out;
  for (const int slot : kernel_->temporaries) {
    const BufferUse& use = kernel_->buffers[static_cast<std::size_t>(slot)];
    out.push_back(number(use.size, values) * static_cast<std::int64_t>(use.dtype.itemsize()));
  }
  return out;
}

void CompiledKernel::run(std::span<const Buffer> buffers, NamedValues values, Executor* executor) const {
  const Kernel& k = *kernel_;
  const std::size_t given = k.buffers.size() - k.temporaries.size();
  STRATA_CHECK(buffers.size() >= given, shape, "[run] ", k.name, " takes ", given, " buffers, not ", buffers.size());
  check(buffers.first(given), values);
  for (std::size_t slot = 0; slot < given; ++slot)
    if (k.buffers[slot].written) buffers[slot].memory().note_write();
  SmallVec<void*, 8> memory;
  for (const Buffer& b : buffers.first(given)) memory.push_back(b.data());
  const std::vector<Buffer> between = temporaries(values);
  for (const Buffer& b : between) memory.push_back(b.data());
  std::vector<std::int64_t> all = arguments(values);
  const RunReport report(k);
  TraceFile* const trace = TraceFile::current();
  const std::int64_t begin = trace != nullptr ? trace->now() : 0;
  replay({memory.data(), memory.size()}, all, executor);
  if (trace == nullptr) return;
  const int threads = !k.parallel           ? 1
                      : executor != nullptr ? executor->concurrency()
                                            : default_executor().concurrency();
  trace_run(*trace, *this, begin, threads, {memory.data(), memory.size()}, values);
}

std::int64_t CompiledKernel::trip_count(std::span<const std::int64_t> values) const {
  return trip_count_ ? *trip_count_ : number(*kernel_->parallel, values);
}

/// `size` at these values of the kernel's variables.
std::int64_t CompiledKernel::number(const Int& size, std::span<const std::int64_t> values) const {
  if (size.is_number()) return size.value();
  Values known;
  for (std::size_t k = 0; k < kernel_->variables.size(); ++k)
    if (const Variable& v = kernel_->variables[k]; !is_range_bound(v.name()) && !v.bound_value())
      known.emplace_back(v, values[k]);
  return evaluate(size.expr(), known);
}

/// Calls a program that polls (Program::polls()). `is_caller`: on the thread that requested the run.
void CompiledKernel::call(std::span<void* const> buffers, std::span<const std::int64_t> values,
                          std::atomic<bool>& is_stopped, bool is_caller) const {
  SmallVec<void*, 8> with_poll;
  for (void* const b : buffers) with_poll.push_back(b);
  with_poll.push_back(Polling::address());
  Polling polling(is_stopped, is_caller);
  program_->run({with_poll.data(), with_poll.size()}, values);
  polling.finish();
}

void CompiledKernel::replay(std::span<void* const> buffers, std::span<std::int64_t> values, Executor* executor) const {
  for (std::size_t k = 0; k < first_.size(); ++k) replay_first(k, buffers, values, executor);
  replay_last(buffers, values, executor);
}

void CompiledKernel::replay_rest(std::span<void* const> buffers, std::span<std::int64_t> values,
                                 std::span<const char> is_done, Executor* executor) const {
  for (std::size_t k = 0; k < first_.size(); ++k)
    if (is_done[k] == 0) replay_first(k, buffers, values, executor);
  replay_last(buffers, values, executor);
}

void CompiledKernel::replay_first(std::size_t k, std::span<void* const> buffers, std::span<std::int64_t> values,
                                  Executor* executor) const {
  replay_part(first_[k], positions_[k], buffers, values, executor);
}

/// A kernel that runs first, or the one of normal numbers.
void CompiledKernel::replay_part(const CompiledKernel& part, const std::vector<int>& positions,
                                 std::span<void* const> buffers, std::span<std::int64_t> values,
                                 Executor* executor) const {
  SmallVec<std::int64_t, 8> theirs;
  for (const int position : positions) theirs.push_back(position < 0 ? 0 : values[static_cast<std::size_t>(position)]);
  part.replay(buffers.first(part.kernel().buffers.size()), {theirs.data(), theirs.size()}, executor);
}

/// True iff of_normals_ may run: the kernels that run first have, on these buffers.
bool CompiledKernel::finds_normals(std::span<void* const> buffers) const {
  std::array<std::uint16_t, 2> least{0xffff, 0xffff};
  for (std::size_t k = 0; k < least.size(); ++k) {
    const auto slot = static_cast<std::size_t>(kernel_->least[k]);
    const auto* const all = static_cast<const std::uint16_t*>(buffers[slot]);
    for (std::int64_t j = 0; j < kernel_->buffers[slot].size.value(); ++j) least[k] = std::min(least[k], all[j]);
  }
  return are_normal(least[0], least[1]);
}

/// The kernel itself.
void CompiledKernel::replay_last(std::span<void* const> buffers, std::span<std::int64_t> values,
                                 Executor* executor) const {
  if (of_normals_ != nullptr && finds_normals(buffers))
    return replay_part(*of_normals_, positions_of_normals_, buffers, values, executor);
  const bool is_cut = begin_ >= 0 || end_ >= 0;  // false: the program launches all iterations itself
  if ((!kernel_->parallel || !is_cut) && !polls_) return program_->run(buffers, values);
  std::atomic<bool> is_stopped{false};
  if (!kernel_->parallel || !is_cut) return call(buffers, values, is_stopped, true);
  const std::thread::id caller = polls_ ? std::this_thread::get_id() : std::thread::id();
  const auto run_on = [&](std::span<void* const> memory, std::int64_t begin, std::int64_t end) {
    SmallVec<std::int64_t, 8> mine;
    for (const std::int64_t v : values) mine.push_back(v);
    if (begin_ >= 0) mine[static_cast<std::size_t>(begin_)] = begin;
    if (end_ >= 0) mine[static_cast<std::size_t>(end_)] = end;
    if (!polls_) return program_->run(memory, {mine.data(), mine.size()});
    call(memory, {mine.data(), mine.size()}, is_stopped, std::this_thread::get_id() == caller);
  };
  std::optional<ScratchSets> scratch;
  if (!kernel_->scratch.empty()) {
    std::vector<std::int64_t> sizes;
    for (const int slot : kernel_->scratch)
      sizes.push_back(number(kernel_->buffers[static_cast<std::size_t>(slot)].size, values));
    scratch.emplace(*kernel_, buffers, std::move(sizes));
  }
  const auto run_chunk = [&](std::int64_t begin, std::int64_t end) {
    if (!scratch) return run_on(buffers, begin, end);
    scratch->with([&](std::span<void* const> memory) { run_on(memory, begin, end); });
  };
  const std::int64_t count = trip_count(values);
  if (count <= 1 || !has_chunks_) return run_chunk(0, count);
  Executor& on = executor != nullptr ? *executor : default_executor();
  const int threads = on.concurrency();
  if (count > iterations_at_once_) return LongRun(run_chunk, count, iterations_at_once_, threads, is_stopped).on(on);
  if (threads == 1) return run_chunk(0, count);
  const std::int64_t chunks = 4 * std::int64_t{threads};
  on.parallel_for(0, count, std::max<std::int64_t>((count + chunks - 1) / chunks, 1),
                  [&run_chunk](std::int64_t begin, std::int64_t end) { run_chunk(begin, end); });
}

}  // namespace strata
