// World: one rank's connection to the others, over a transport; and Step: one collective action of all ranks of a
// world. What is sent when, and what happens at faults: transport.h.
//
// A World and its Steps are used by one thread at a time; the ranks of a simulated world may have a thread each.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/mesh/transport.h"
#include "strata/runtime/hash128.h"

namespace strata {

/// What a step does, in words, and where the program asked for it. All ranks have to do the same; places may differ.
struct StepText {
  std::string what;
  std::source_location place;  ///< none where the words name one
  /// Words in front of `what`, and a hash of all that the words leave out; both are made once for many steps.
  std::shared_ptr<const std::string> plan_words = {};
  Hash128 plan = {};

  std::string words() const { return plan_words ? *plan_words + what : what; }
};

class Step;

/// A rank's connection to all ranks of its world.
class World : public std::enable_shared_from_this<World> {
 public:
  /// The world of all processes that a launcher started together, over MPI (mpi_library.h). The first call connects,
  /// which waits for all of them; it stays connected until the process exits, and then says goodbye.
  /// @throws Error (undefined) where MPI is missing, cannot start, or does not know the launcher's other processes, and
  ///   while another thread connects
  static std::shared_ptr<World> of_process();
  /// The ranks of an MPI communicator, given by its Fortran handle (mpi4py: comm.py2f()). Connected until the process
  /// exits or ends MPI. Collective. @throws as of_process()
  static std::shared_ptr<World> of_communicator(std::int32_t fortran_handle);
  /// `ranks` ranks of this process, by rank. @throws Error (domain) unless 1 <= ranks <= 65536
  static std::vector<std::shared_ptr<World>> simulated(std::int64_t ranks);

  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  std::int64_t rank() const { return rank_; }
  std::int64_t size() const { return size_; }
  /// The ranks on this rank's host, rising, this one among them.
  const std::vector<std::int64_t>& local_ranks() const { return local_ranks_; }
  bool is_simulated() const { return is_simulated_; }
  /// Whether both are ranks that one call of simulated() made, or the same rank.
  bool is_beside(const World& other) const { return this == &other || (group_ && group_ == other.group_); }
  /// The name and version of the library that moves the bytes.
  std::string version() const;

  /// A step that moves nothing: returns once all ranks have begun it. @throws as Step::wait()
  void agree(const StepText& text);
  /// Tells the others that this rank does no further step, and why; from now on steps throw that, here and where others
  /// wait. Nothing where a step has failed before.
  void fail(const std::string& why);
  /// Why steps throw; empty as long as they do not.
  const std::string& failure() const { return failure_; }
  /// Says goodbye to the others and disconnects; aborts all where a step has failed, or where others do something else.
  /// Called when the process exits. Nothing for simulated ranks, and in a child of fork().
  void end();

 private:
  friend class Step;
  struct Note;
  using Clock = std::chrono::steady_clock;

  World(const StrataMeshTable& table, StrataMeshWorld* world, const StrataMeshPlace& place, bool is_simulated);
  static std::shared_ptr<World> connect(const std::int32_t* communicator);
  static void end_all();

  void find_hosts();
  void check_usable() const;
  Hash128 settings();
  void send_note(std::int64_t to, const Note& note);
  void take_notes();
  void announce(std::int64_t step);
  std::string silent_ranks(const Step& step) const;
  bool is_speaker(const Step& step) const;
  [[noreturn]] void abort(const std::string& why);
  void idle(Step& step, Clock::time_point begin, std::int64_t turn);

  const StrataMeshTable& table_;
  StrataMeshWorld* world_;
  std::int64_t rank_, size_;
  std::vector<std::int64_t> local_ranks_;
  bool is_simulated_, is_ended_ = false;
  std::shared_ptr<const char> group_;  // of simulated ranks: one object for all
  std::uint64_t generation_;           // of forks
  std::int64_t next_step_ = 0;
  std::vector<std::int64_t> under_way_;  // the numbers of steps
  std::vector<std::int64_t> here_;       // by rank: the last step in which it said that it waits
  std::int64_t announced_ = -1;          // the last step in which this rank said so
  std::string failure_;
  std::array<std::int64_t, 5> set_numbers_{};  // the flags that settings_ is the hash of
  std::string set_device_ = "?";
  Hash128 settings_;
  Clock::time_point asked_{};  // when notes were last asked for
  struct Left {
    StrataMeshRequest* request = nullptr;
    std::shared_ptr<const void> memory;
  };
  std::vector<Left> left_;  // messages of dropped steps, which could not be ended
};

/// One collective action. It moves bytes after all ranks have agreed that they do the same.
class Step {
 public:
  /// Begins the agreement; does not wait.
  /// @throws Error (undefined) where a step of the world has failed before; (budget) where the oldest step under way
  /// was begun kMostSteps before
  Step(std::shared_ptr<World> world, StepText text) : Step(std::move(world), std::move(text), false) {}
  /// A step that is not finished ends here: the others are told, and the messages are withdrawn. Where that is not
  /// possible within 0.1 s and the caller's memory is concerned, all ranks are aborted.
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  World& world() const { return *world_; }
  /// Makes progress; true once all ranks have agreed.
  /// @throws Error (undefined) where they do not: the ranks, what they do, and their places. All ranks throw it.
  bool has_agreed();

  /// Begins a message. `memory`: what keeps the bytes; null where the caller does, until the message is done.
  /// @pre sends: has_agreed(). Receives may come before.
  std::size_t send(std::int64_t to, const void* data, std::uint64_t bytes, std::shared_ptr<const void> memory);
  std::size_t receive(std::int64_t from, void* data, std::uint64_t bytes, std::shared_ptr<const void> memory);
  /// Makes progress with a message; true once it is done. @throws Error (undefined) where the transport fails
  bool is_done(std::size_t message);
  /// The step is over. @pre all messages are done
  void finish();

  /// Waits until progress() is true, calling it again and again.
  /// @throws what a check of base/interrupt.h throws, within 0.2 s; Error (undefined) where another rank has failed
  void wait(const std::function<bool()>& progress);

 private:
  friend class World;
  /// The kinds of messages of a step, which its tags tell apart.
  enum class Kind : std::uint8_t { hash, words, bytes };
  struct Message {
    StrataMeshRequest* request = nullptr;  // null: done
    std::int64_t peer = 0;
    std::shared_ptr<const void> memory;
  };
  struct Agreement;

  Step(std::shared_ptr<World> world, StepText text, bool is_goodbye);
  std::int32_t tag(Kind kind) const;
  std::size_t post(bool is_send, std::int64_t peer, Kind kind, const void* data, std::uint64_t bytes,
                   std::shared_ptr<const void> memory);
  void post_hash();
  bool compare();
  void begin_words();
  bool exchange_words();
  bool withdraw();
  void abandon();
  std::string text() const;

  std::shared_ptr<World> world_;
  StepText text_;
  bool is_goodbye_;
  std::int64_t number_ = 0;
  Hash128 hash_;
  bool is_finished_ = false, has_agreed_ = false;
  std::shared_ptr<Agreement> agreement_;
  std::vector<Message> messages_;
};

/// How many steps of a world may begin while one is under way.
inline constexpr std::int64_t kMostSteps = 1024;

}  // namespace strata
