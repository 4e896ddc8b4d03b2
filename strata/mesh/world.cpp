#include "strata/mesh/world.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <thread>
#include <utility>

#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/base/interrupt.h"
#include "strata/base/version.h"
#include "strata/mesh/memory_transport.h"
#include "strata/mesh/mesh_text.h"
#include "strata/mesh/watchdog.h"

namespace strata {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::int32_t kNoteTag = 16384;  // above those of steps
constexpr milliseconds kBetweenNotes{1};  // asking for them
constexpr seconds kForTheSpeaker{1};      // how long the others wait for it
constexpr std::int64_t kSpins = 2000;     // turns before a thread that waits yields
constexpr milliseconds kUntilSleep{50};   // waited, before it sleeps between turns
constexpr std::chrono::microseconds kSleep{100};

seconds timeout() {
  const std::int64_t limit = flags::MESH_TIMEOUT.get();
  STRATA_CHECK(limit >= 0, domain, "[mesh] STRATA_MESH_TIMEOUT is ", limit, ", not 0 or more seconds");
  return seconds(limit);
}

}  // namespace

/// What a rank tells another one at any time.
struct World::Note {
  std::int64_t is_failure = 0;  ///< 0: it waits in `step`
  std::int64_t step = 0;
  std::array<char, STRATA_MESH_TEXT> text{};
};

World::World(const StrataMeshTable& table, StrataMeshWorld* world, const StrataMeshPlace& place, bool is_simulated)
    : table_(table),
      world_(world),
      rank_(place.rank),
      size_(place.size),
      is_simulated_(is_simulated),
      generation_(fork_generation()),
      here_(static_cast<std::size_t>(place.size), -1) {}

World::~World() {
  if (is_simulated_) table_.disconnect(world_);  // others are ended by end()
}

std::vector<std::shared_ptr<World>> World::simulated(std::int64_t ranks) {
  STRATA_CHECK(1 <= ranks && ranks <= 65536, domain, "[mesh] ", ranks, " simulated ranks, not 1 to 65536");
  std::vector<std::shared_ptr<World>> out;
  std::int32_t rank = 0;
  const auto group = std::make_shared<const char>();
  for (StrataMeshWorld* const world : memory_worlds(static_cast<std::int32_t>(ranks))) {
    const StrataMeshPlace place{rank++, static_cast<std::int32_t>(ranks)};
    out.push_back(std::shared_ptr<World>(new World(memory_table(), world, place, true)));
    out.back()->group_ = group;
    out.back()->find_hosts();
  }
  return out;
}

void World::find_hosts() {
  std::vector<std::int32_t> hosts(static_cast<std::size_t>(size_));
  std::array<char, STRATA_MESH_TEXT> why{};
  STRATA_CHECK(table_.hosts(world_, hosts.data(), why.data()) == STRATA_MESH_OK, undefined, "[mesh] ", why.data());
  for (std::int64_t r = 0; r < size_; ++r)
    if (hosts[static_cast<std::size_t>(r)] == hosts[static_cast<std::size_t>(rank_)]) local_ranks_.push_back(r);
}

std::string World::version() const {
  std::array<char, STRATA_MESH_TEXT> text{};
  table_.version(text.data());
  return text.data();
}

void World::check_usable() const {
  STRATA_CHECK(generation_ == fork_generation(), undefined, "[mesh] rank ", rank_,
               " was connected before fork(): only the parent process is a rank");
  STRATA_CHECK(!is_ended_, undefined, "[mesh] rank ", rank_, " has said goodbye to the others");
  STRATA_CHECK(failure_.empty(), undefined, failure_);
}

void World::agree(const StepText& text) {
  Step step(shared_from_this(), text);
  step.wait([&] { return step.has_agreed(); });
  step.finish();
}

// --- notes ---

void World::send_note(std::int64_t to, const Note& note) {
  const auto memory = std::make_shared<Note>(note);
  std::array<char, STRATA_MESH_TEXT> why{};
  StrataMeshRequest* request = nullptr;
  if (table_.send(world_, static_cast<std::int32_t>(to), kNoteTag, memory.get(), sizeof(Note), &request, why.data()) ==
      STRATA_MESH_OK)
    left_.push_back({request, memory});
}

/// Takes the notes that have come, and forgets messages that are done by now.
void World::take_notes() {
  std::array<char, STRATA_MESH_TEXT> why{};
  std::erase_if(left_, [&](const Left& left) {
    std::int32_t done = 0;
    return table_.test(world_, left.request, &done, why.data()) != STRATA_MESH_OK || done != 0;
  });
  while (true) {
    std::int32_t found = 0, from = 0;
    std::uint64_t bytes = 0;
    const auto state = table_.probe(world_, kNoteTag, &found, &from, &bytes, why.data());
    STRATA_CHECK(state == STRATA_MESH_OK, undefined, why.data());
    if (found == 0) return;
    Note note;
    StrataMeshRequest* request = nullptr;
    STRATA_CHECK(table_.receive(world_, from, kNoteTag, &note, sizeof(note), &request, why.data()) == STRATA_MESH_OK,
                 undefined, "[mesh] ", why.data());
    for (std::int32_t done = 0; done == 0;)
      STRATA_CHECK(table_.test(world_, request, &done, why.data()) == STRATA_MESH_OK, undefined, "[mesh] ", why.data());
    std::int64_t& here = here_[static_cast<std::size_t>(from)];
    if (note.is_failure == 0)
      here = std::max(here, note.step);
    else if (failure_.empty())
      failure_ = note.text.data();
  }
}

void World::announce(std::int64_t step) {
  if (announced_ >= step) return;
  announced_ = step;
  here_[static_cast<std::size_t>(rank_)] = step;
  for (std::int64_t to = 0; to < size_; ++to)
    if (to != rank_) send_note(to, {0, step, {}});
}

void World::fail(const std::string& why) {
  if (!failure_.empty() || is_ended_ || generation_ != fork_generation()) return;
  failure_ = why;
  Note note{1, next_step_, {}};
  std::memcpy(note.text.data(), why.data(), std::min<std::size_t>(why.size(), note.text.size() - 1));
  for (std::int64_t to = 0; to < size_; ++to)
    if (to != rank_) send_note(to, note);
}

// --- waiting ---

/// The ranks that a step waits for and that do not say that they wait, too; where all do, those it waits for.
std::string World::silent_ranks(const Step& step) const {
  std::vector<std::int64_t> missing;
  if (step.has_agreed_)
    for (const Step::Message& message : step.messages_)
      if (message.request != nullptr) missing.push_back(message.peer);
  if (!step.has_agreed_)
    for (std::int64_t r = 0; r < size_; ++r)
      if (r != rank_) missing.push_back(r);
  std::vector<std::int64_t> silent;
  for (const std::int64_t r : missing)
    if (here_[static_cast<std::size_t>(r)] < step.number_) silent.push_back(r);
  return ranks_text(silent.empty() ? missing : silent);
}

bool World::is_speaker(const Step& step) const {
  return std::none_of(here_.begin(), here_.begin() + rank_, [&](std::int64_t here) { return here >= step.number_; });
}

void World::abort(const std::string& why) {
  failure_ = why;
  table_.abort(world_, 1, why.c_str());
  throw Error(ErrorKind::undefined, why);
}

/// What a rank does between two looks at what it waits for.
void World::idle(Step& step, Clock::time_point begin, std::int64_t turn) {
  if (turn < kSpins && turn % 64 != 0) return;
  check_interrupt();
  const Clock::time_point now = Clock::now();
  if (now - asked_ >= kBetweenNotes) {
    asked_ = now;
    take_notes();
    STRATA_CHECK(failure_.empty(), undefined, failure_);
    const seconds limit = timeout();
    if (limit > seconds(0)) {
      const auto waited = now - begin;
      const bool is_asked = std::any_of(here_.begin(), here_.end(), [&](auto here) { return here >= step.number_; });
      if (is_asked || waited * 2 >= limit) announce(step.number_);
      if (waited >= limit && (is_speaker(step) || waited >= limit + kForTheSpeaker))
        abort(detail::message("[mesh] rank ", rank_, " waited ", limit.count(), " s (STRATA_MESH_TIMEOUT) for ",
                              silent_ranks(step), " in ", step.text()));
    }
  }
  if (turn < kSpins) return;
  if (now - begin < kUntilSleep)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(kSleep);
}

// --- the end ---

void World::end() {
  if (is_ended_ || is_simulated_ || generation_ != fork_generation()) return;
  std::string last_words;
  try {
    if (failure_.empty()) {
      Step goodbye(shared_from_this(), {"the end of the program", std::source_location::current()}, true);
      goodbye.wait([&] { return goodbye.has_agreed(); });
      goodbye.finish();
    }
  } catch (const std::exception& error) {
    last_words = error.what();
    if (failure_.empty()) failure_ = last_words;
  }
  is_ended_ = true;
  if (!failure_.empty()) return table_.abort(world_, 1, last_words.c_str());
  const Watchdog watchdog("MPI_Finalize");
  table_.disconnect(world_);
}

// --- what is compared ---

/// The hash of what steps depend on beside their words; made again where a flag has changed.
Hash128 World::settings() {
  const std::array<std::int64_t, 5> numbers = {flags::DETERMINISTIC.get() ? 1 : 0, flags::NOFUSE.get() ? 1 : 0,
                                               flags::BLOCKS.get(), flags::NAN_CHECK.get() ? 1 : 0,
                                               flags::CHECK_INDEX.get() ? 1 : 0};
  const std::string device = flags::DEVICE.has_text() ? flags::DEVICE.get() : std::string();
  if (numbers == set_numbers_ && device == set_device_) return settings_;
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(std::string_view(STRATA_VERSION))));
  hasher.add(std::as_bytes(std::span(numbers)));
  hasher.add(std::as_bytes(std::span(device)));
  set_numbers_ = numbers, set_device_ = device;
  return settings_ = hasher.finish();
}

}  // namespace strata
