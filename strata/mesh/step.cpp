// Steps: agreement, messages, what becomes of a step that is dropped.
#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "strata/base/fork.h"
#include "strata/mesh/mesh_text.h"
#include "strata/mesh/world.h"

namespace strata {

/// What a rank knows of the hashes of others.
struct HashNote {
  Hash128 hash;
  std::uint64_t is_same = 1;  ///< whether all that it has heard of are this one
};

namespace {

constexpr std::int64_t kTags = 4096;  // steps whose tags differ
constexpr std::int32_t kKinds = 4;
constexpr std::chrono::milliseconds kToWithdraw{100};

}  // namespace

/// The memory of an agreement's messages.
struct Step::Agreement {
  struct Round {
    HashNote sent, received;
    std::size_t sending = 0, receiving = 0;  // messages
  };
  std::vector<Round> rounds;
  std::size_t at = 0;  // the round
  bool is_same = true;
  // Where they do not agree:
  bool has_words = false;
  std::vector<StepWords> said;  // one, or on rank 0 one a rank
  std::unique_ptr<Verdict> verdict;
  std::vector<std::size_t> waiting;  // messages
  bool has_verdict = false;
};

Step::Step(std::shared_ptr<World> world, StepText text, bool is_goodbye)
    : world_(std::move(world)),
      text_(std::move(text)),
      is_goodbye_(is_goodbye),
      agreement_(std::make_shared<Agreement>()) {
  world_->check_usable();
  number_ = world_->next_step_;
  for (const std::int64_t other : world_->under_way_)
    STRATA_CHECK(number_ - other < kMostSteps, budget, "[mesh] step ", other, " is still under way when step ", number_,
                 " begins: more than ", kMostSteps, " steps");
  // Hashes are combined by exclusive or, rotated apart. The tags compare the number.
  const Hash128 words = hash128(std::as_bytes(std::span(text_.what)));
  const Hash128 settings = is_goodbye ? Hash128() : world_->settings();
  hash_ = {words.high ^ std::rotl(settings.high, 21) ^ std::rotl(text_.plan.high, 42),
           words.low ^ std::rotl(settings.low, 21) ^ std::rotl(text_.plan.low, 42)};
  ++world_->next_step_;
  world_->under_way_.push_back(number_);
  for (std::int64_t distance = 1; distance < world_->size(); distance *= 2) agreement_->rounds.emplace_back();
  messages_.reserve(2 * agreement_->rounds.size() + 2);
  std::int64_t distance = 1;
  for (Agreement::Round& round : agreement_->rounds) {
    const std::int64_t from = (world_->rank() - distance % world_->size() + world_->size()) % world_->size();
    round.receiving = post(false, from, Kind::hash, &round.received, sizeof(HashNote), agreement_);
    distance *= 2;
  }
  if (!agreement_->rounds.empty()) post_hash();
}

Step::~Step() {
  if (!is_finished_) abandon();
}

std::string Step::text() const {
  const std::string place = place_text(text_.place);
  return detail::message("step ", number_, ", ", text_.words(), place.empty() ? "" : " (" + place + ")");
}

std::int32_t Step::tag(Kind kind) const {
  return static_cast<std::int32_t>(number_ % kTags) * kKinds + static_cast<std::int32_t>(kind);
}

// --- messages ---

std::size_t Step::post(bool is_send, std::int64_t peer, Kind kind, const void* data, std::uint64_t bytes,
                       std::shared_ptr<const void> memory) {
  std::array<char, STRATA_MESH_TEXT> why{};
  const auto other = static_cast<std::int32_t>(peer);
  StrataMeshRequest* request = nullptr;
  const StrataMeshTable& table = world_->table_;
  const std::int32_t status =
      is_send ? table.send(world_->world_, other, tag(kind), data, bytes, &request, why.data())
              : table.receive(world_->world_, other, tag(kind), const_cast<void*>(data), bytes, &request, why.data());
  STRATA_CHECK(status == STRATA_MESH_OK, undefined, why.data());
  messages_.push_back({request, peer, std::move(memory)});
  return messages_.size() - 1;
}

std::size_t Step::send(std::int64_t to, const void* data, std::uint64_t bytes, std::shared_ptr<const void> memory) {
  return post(true, to, Kind::bytes, data, bytes, std::move(memory));
}
std::size_t Step::receive(std::int64_t from, void* data, std::uint64_t bytes, std::shared_ptr<const void> memory) {
  return post(false, from, Kind::bytes, data, bytes, std::move(memory));
}

bool Step::is_done(std::size_t message) {
  Message& m = messages_[message];
  if (m.request == nullptr) return true;
  std::array<char, STRATA_MESH_TEXT> why{};
  std::int32_t done = 0;
  if (world_->table_.test(world_->world_, m.request, &done, why.data()) != STRATA_MESH_OK) {
    m.request = nullptr;
    throw Error(ErrorKind::undefined, why.data());
  }
  if (done != 0) m = {nullptr, m.peer, nullptr};
  return done != 0;
}

void Step::finish() {
  is_finished_ = true;
  std::erase(world_->under_way_, number_);
}

void Step::wait(const std::function<bool()>& progress) {
  const auto begin = World::Clock::now();
  for (std::int64_t turn = 1; !progress(); ++turn) world_->idle(*this, begin, turn);
}

// --- agreement ---

void Step::post_hash() {
  Agreement& a = *agreement_;
  Agreement::Round& round = a.rounds[a.at];
  round.sent = {hash_, a.is_same ? std::uint64_t{1} : 0};
  const std::int64_t to = (world_->rank() + (std::int64_t{1} << a.at)) % world_->size();
  round.sending = post(true, to, Kind::hash, &round.sent, sizeof(HashNote), agreement_);
}

/// The rounds; true after the last one.
bool Step::compare() {
  Agreement& a = *agreement_;
  while (a.at < a.rounds.size()) {
    const Agreement::Round& round = a.rounds[a.at];
    if (!is_done(round.receiving) || !is_done(round.sending)) return false;
    a.is_same = a.is_same && round.received.is_same != 0 && round.received.hash == hash_;
    if (++a.at < a.rounds.size()) post_hash();
  }
  return true;
}

bool Step::has_agreed() {
  if (has_agreed_) return true;
  if (!compare()) return false;
  if (agreement_->is_same) return has_agreed_ = true;
  if (!agreement_->has_words) begin_words();
  if (!exchange_words()) return false;
  if (!withdraw()) return false;
  finish();
  const Verdict& verdict = *agreement_->verdict;
  if (verdict.has_goodbye != 0) world_->failure_ = verdict.text.data();
  throw Error(ErrorKind::undefined, verdict.text.data());
}

void Step::begin_words() {
  Agreement& a = *agreement_;
  a.has_words = true;
  a.verdict = std::make_unique<Verdict>();
  StepWords mine;
  put_text(mine.what, text_.words());
  put_text(mine.settings, is_goodbye_ ? std::string() : settings_text());
  put_text(mine.place, is_goodbye_ ? std::string() : place_text(text_.place));
  mine.is_goodbye = is_goodbye_ ? 1 : 0;
  const bool is_judge = world_->rank() == 0;
  a.said.resize(is_judge ? static_cast<std::size_t>(world_->size()) : 1);
  a.said[0] = mine;
  if (!is_judge) {
    a.waiting.push_back(post(true, 0, Kind::words, a.said.data(), sizeof(StepWords), agreement_));
    a.waiting.push_back(post(false, 0, Kind::words, a.verdict.get(), sizeof(Verdict), agreement_));
    return;
  }
  for (std::int64_t r = 1; r < world_->size(); ++r)
    a.waiting.push_back(
        post(false, r, Kind::words, &a.said[static_cast<std::size_t>(r)], sizeof(StepWords), agreement_));
}

/// True once the verdict is here, and on rank 0 has been sent.
bool Step::exchange_words() {
  Agreement& a = *agreement_;
  const auto all_done = [&] {
    return std::all_of(a.waiting.begin(), a.waiting.end(), [this](std::size_t m) { return is_done(m); });
  };
  if (!all_done()) return false;
  if (world_->rank() != 0 || a.has_verdict) return true;
  a.has_verdict = true;
  *a.verdict = verdict_on(number_, a.said);
  a.waiting.clear();
  for (std::int64_t r = 1; r < world_->size(); ++r)
    a.waiting.push_back(post(true, r, Kind::words, a.verdict.get(), sizeof(Verdict), agreement_));
  return all_done();
}

// --- messages that are withdrawn ---

/// Ends what is under way; true once nothing is.
bool Step::withdraw() {
  World& world = *world_;
  std::array<char, STRATA_MESH_TEXT> why{};
  for (const Message& m : messages_)
    if (m.request != nullptr) world.table_.cancel(world.world_, m.request);
  for (Message& m : messages_) {
    std::int32_t done = 0;
    if (m.request == nullptr) continue;
    const bool is_lost = world.table_.test(world.world_, m.request, &done, why.data()) != STRATA_MESH_OK;
    if (is_lost || done != 0) m.request = nullptr;
  }
  return std::all_of(messages_.begin(), messages_.end(), [](const Message& m) { return m.request == nullptr; });
}

void Step::abandon() {
  finish();
  World& world = *world_;
  if (world.generation_ != fork_generation()) return;
  world.fail(detail::message("[mesh] rank ", world.rank(), " gave up ", text()));
  const auto begin = World::Clock::now();
  while (!withdraw()) {
    std::this_thread::yield();
    if (World::Clock::now() - begin > kToWithdraw) break;
  }
  bool is_users = false;  // whether memory of the caller is left
  for (Message& m : messages_) {
    if (m.request == nullptr) continue;
    is_users = is_users || !m.memory;
    world.left_.push_back({m.request, std::move(m.memory)});
  }
  if (is_users) world.table_.abort(world.world_, 1, world.failure_.c_str());
}

}  // namespace strata
