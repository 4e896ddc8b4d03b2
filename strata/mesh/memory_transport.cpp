#include "strata/mesh/memory_transport.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "strata/base/version.h"

namespace strata {
struct MemoryHub;
}

/// A message that is sent, or a receive that is posted.
struct StrataMeshRequest {
  std::int32_t from = 0, to = 0, tag = 0;
  bool is_send = false;
  const void* source = nullptr;  // of a send
  void* target = nullptr;        // of a receive
  std::uint64_t bytes = 0;
  std::vector<std::byte> copy;  // of a short send, which is done at once
  bool is_done = false;
  std::string failure;
};

struct StrataMeshWorld {
  std::shared_ptr<strata::MemoryHub> hub;
  std::int32_t rank = 0;
};

namespace strata {
namespace {

using Request = std::shared_ptr<StrataMeshRequest>;

/// A send of at most this many bytes is copied, so that it is done without its receiver.
constexpr std::uint64_t kEager = 4096;

}  // namespace

/// What the ranks share.
struct MemoryHub {
  std::mutex mutex;
  // By receiving rank, in order of posting: messages that met no receive, and receives that met no message.
  std::vector<std::deque<Request>> sent, awaited;
  std::vector<Request> held;  // what users hold handles on
  std::string aborted;        // the text of abort(), or ""
};

namespace {

using Hub = MemoryHub;

void say(char* text, std::string_view words) {
  const std::size_t size = std::min<std::size_t>(words.size(), STRATA_MESH_TEXT - 1);
  std::memcpy(text, words.data(), size);
  text[size] = '\0';
}

/// @pre the hub's mutex is held
bool is_over(const Hub& hub, char* text) {
  if (!hub.aborted.empty()) say(text, hub.aborted);
  return !hub.aborted.empty();
}

bool matches(const StrataMeshRequest& a, const StrataMeshRequest& b) { return a.from == b.from && a.tag == b.tag; }

/// The first request of `queue` that matches, taken out of it; null if there is none.
Request take_match(std::deque<Request>& queue, const StrataMeshRequest& other) {
  const auto at = std::find_if(queue.begin(), queue.end(), [&](const Request& r) { return matches(*r, other); });
  if (at == queue.end()) return nullptr;
  Request out = *at;
  queue.erase(at);
  return out;
}

void deliver(StrataMeshRequest& send, StrataMeshRequest& receive) {
  if (send.bytes == receive.bytes)
    std::memcpy(receive.target, send.copy.empty() ? send.source : send.copy.data(), send.bytes);
  else
    receive.failure = "a message of " + std::to_string(send.bytes) + " bytes, where " + std::to_string(receive.bytes) +
                      " were to come";
  send.is_done = receive.is_done = true;
}

std::int32_t post(StrataMeshWorld& world, Request request, StrataMeshRequest** handle, char* text) {
  Hub& hub = *world.hub;
  const std::lock_guard lock(hub.mutex);
  if (is_over(hub, text)) return STRATA_MESH_FAILED;
  const auto to = static_cast<std::size_t>(request->to);
  auto& partners = request->is_send ? hub.awaited[to] : hub.sent[to];
  if (const Request partner = take_match(partners, *request)) {
    StrataMeshRequest& send = request->is_send ? *request : *partner;
    deliver(send, request->is_send ? *partner : *request);
  } else {
    if (request->is_send && request->bytes <= kEager && request->bytes > 0) {
      const auto* const begin = static_cast<const std::byte*>(request->source);
      request->copy.assign(begin, begin + request->bytes);
    }
    if (request->is_send && request->bytes <= kEager) request->is_done = true;
    (request->is_send ? hub.sent[to] : hub.awaited[to]).push_back(request);
  }
  *handle = request.get();
  hub.held.push_back(std::move(request));
  return STRATA_MESH_OK;
}

/// Forgets a handle. @pre the hub's mutex is held
void release(Hub& hub, const StrataMeshRequest* request) {
  const auto at = std::find_if(hub.held.begin(), hub.held.end(), [&](const Request& r) { return r.get() == request; });
  *at = std::move(hub.held.back());
  hub.held.pop_back();
}

/// Ends a request that met no other. @pre the hub's mutex is held
void withdraw(Hub& hub, StrataMeshRequest& request) {
  if (request.is_done) return;
  const auto to = static_cast<std::size_t>(request.to);
  std::erase_if(request.is_send ? hub.sent[to] : hub.awaited[to],
                [&](const Request& r) { return r.get() == &request; });
  request.is_done = true;
}

// --- the functions of the table ---

void memory_version(char* text) { say(text, "memory of one process, Strata " STRATA_VERSION); }

std::int32_t memory_connect(const std::int32_t*, void (*)(void*), void*, StrataMeshWorld**, StrataMeshPlace*,
                            char* text) {
  say(text, "the ranks of one process are connected when they are made");
  return STRATA_MESH_FAILED;
}

std::int32_t memory_hosts(StrataMeshWorld* world, std::int32_t* hosts, char*) {
  std::fill_n(hosts, world->hub->sent.size(), 0);
  return STRATA_MESH_OK;
}

std::int32_t memory_send(StrataMeshWorld* world, std::int32_t to, std::int32_t tag, const void* data,
                         std::uint64_t bytes, StrataMeshRequest** request, char* text) {
  auto made = std::make_shared<StrataMeshRequest>();
  made->from = world->rank, made->to = to, made->tag = tag, made->bytes = bytes;
  made->is_send = true;
  made->source = data;
  return post(*world, std::move(made), request, text);
}

std::int32_t memory_receive(StrataMeshWorld* world, std::int32_t from, std::int32_t tag, void* data,
                            std::uint64_t bytes, StrataMeshRequest** request, char* text) {
  auto made = std::make_shared<StrataMeshRequest>();
  made->from = from, made->to = world->rank, made->tag = tag, made->bytes = bytes;
  made->target = data;
  return post(*world, std::move(made), request, text);
}

std::int32_t memory_test(StrataMeshWorld* world, StrataMeshRequest* request, std::int32_t* done, char* text) {
  Hub& hub = *world->hub;
  const std::lock_guard lock(hub.mutex);
  const bool is_ended = is_over(hub, text);
  *done = request->is_done ? 1 : 0;
  if (!request->is_done && !is_ended) return STRATA_MESH_OK;
  if (!request->failure.empty()) say(text, request->failure);
  const bool failed = is_ended || !request->failure.empty();
  withdraw(hub, *request);
  release(hub, request);
  return failed ? STRATA_MESH_FAILED : STRATA_MESH_OK;
}

void memory_cancel(StrataMeshWorld* world, StrataMeshRequest* request) {
  const std::lock_guard lock(world->hub->mutex);
  withdraw(*world->hub, *request);
}

std::int32_t memory_probe(StrataMeshWorld* world, std::int32_t tag, std::int32_t* found, std::int32_t* from,
                          std::uint64_t* bytes, char* text) {
  Hub& hub = *world->hub;
  const std::lock_guard lock(hub.mutex);
  if (is_over(hub, text)) return STRATA_MESH_FAILED;
  const auto& sent = hub.sent[static_cast<std::size_t>(world->rank)];
  const auto at = std::find_if(sent.begin(), sent.end(), [&](const Request& r) { return r->tag == tag; });
  *found = at != sent.end() ? 1 : 0;
  if (at != sent.end()) *from = (*at)->from, *bytes = (*at)->bytes;
  return STRATA_MESH_OK;
}

void memory_abort(StrataMeshWorld* world, std::int32_t, const char* text) {
  Hub& hub = *world->hub;
  const std::lock_guard lock(hub.mutex);
  if (hub.aborted.empty()) hub.aborted = *text != '\0' ? text : "another rank aborted";
}

void memory_disconnect(StrataMeshWorld* world) { const std::unique_ptr<StrataMeshWorld> ended(world); }

}  // namespace

const StrataMeshTable& memory_table() {
  static constexpr StrataMeshTable table = {STRATA_MESH_ABI, memory_version, memory_connect,   memory_hosts,
                                            memory_send,     memory_receive, memory_test,      memory_cancel,
                                            memory_probe,    memory_abort,   memory_disconnect};
  return table;
}

std::vector<StrataMeshWorld*> memory_worlds(std::int32_t ranks) {
  const auto hub = std::make_shared<Hub>();
  hub->sent.resize(static_cast<std::size_t>(ranks));
  hub->awaited.resize(static_cast<std::size_t>(ranks));
  std::vector<std::unique_ptr<StrataMeshWorld>> made;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    made.push_back(std::make_unique<StrataMeshWorld>(StrataMeshWorld{hub, rank}));
  std::vector<StrataMeshWorld*> out;
  for (auto& world : made) out.push_back(world.release());
  return out;
}

}  // namespace strata
