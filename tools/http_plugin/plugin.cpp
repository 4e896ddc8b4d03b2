// libstrata_http.so: the implementation of http_abi.h by cpp-httplib.
#include <httplib.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tools/http_plugin/http_abi.h"

namespace {

constexpr int kTries = 20;  // attempts to find a port that is free at both addresses
constexpr std::size_t kThreads = 8;

StrataHttpText text_of(const std::string& text) { return {text.data(), text.size()}; }
std::string string_of(StrataHttpText text) { return {text.data, text.size}; }

/// Writes an answer to the response. NOTE: as a content provider, because the library would compress a plain body at
/// each request.
void write_reply(void* out, std::int32_t status, const StrataHttpHeader* headers, std::size_t count,
                 StrataHttpText type, StrataHttpText body) {
  auto& response = *static_cast<httplib::Response*>(out);
  response.status = status == 200 ? -1 : status;  // -1: the library chooses between 200 and 206
  for (std::size_t k = 0; k < count; ++k) response.set_header(string_of(headers[k].name), string_of(headers[k].value));
  if (body.size == 0) {
    response.set_content(std::string(), string_of(type));
    return;
  }
  const auto kept = std::make_shared<const std::string>(string_of(body));
  response.set_content_provider(kept->size(), string_of(type),
                                [kept](std::size_t at, std::size_t size, httplib::DataSink& sink) {
                                  return sink.write(kept->data() + at, size);
                                });
}

}  // namespace

// Not an anonymous namespace, because the struct of the C interface has members of these types.
namespace strata_http {

/// A server on one address.
class Listener {
 public:
  explicit Listener(const StrataHttpOptions& options) {
    server_.set_socket_options([](socket_t socket) {
      // SO_REUSEADDR, not SO_REUSEPORT, with which another process could take a part of the connections.
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // One request for each connection: idle connections would delay stop().
    server_.set_keep_alive_max_count(1);
    server_.set_keep_alive_timeout(1);
    server_.set_read_timeout(2);
    server_.set_payload_max_length(0);
    server_.set_pre_routing_handler([options](const httplib::Request& request, httplib::Response& response) {
      const bool one_host = request.get_header_value_count("Host") == 1;
      const std::string host = one_host ? request.get_header_value("Host") : std::string();
      const std::string site = request.get_header_value("Sec-Fetch-Site");
      const std::string from = request.get_param_value("from");
      const StrataHttpAsk ask{text_of(request.method), text_of(request.path), text_of(host), text_of(site),
                              text_of(from)};
      options.answer(options.context, &ask, &response, write_reply);
      return httplib::Server::HandlerResponse::Handled;
    });
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

  /// Binds the address. Returns the port, or -1.
  int bind(const char* address, int port) {
    if (port == 0) return server_.bind_to_any_port(address);
    return server_.bind_to_port(address, port) ? port : -1;
  }

  void start() {
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      has_ended_ = true;
    });
    // Wait until the server runs, because stopping it before has no effect.
    while (!server_.is_running() && !has_ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  httplib::Server server_;
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

}  // namespace strata_http

struct StrataHttpServer {
  int port = -1;
  std::unique_ptr<strata_http::Listener> four, six;

  /// Binds 127.0.0.1 and ::1, or only 127.0.0.1 if ::1 fails. @returns whether both are bound
  bool bind(const StrataHttpOptions& options) {
    four = std::make_unique<strata_http::Listener>(options);
    six = std::make_unique<strata_http::Listener>(options);
    port = four->bind("127.0.0.1", options.port);
    if (port < 0) return false;
    if (six->bind("::1", port) == port) return true;
    six.reset();
    return false;
  }
};

namespace {

StrataHttpServer* start_server(const StrataHttpOptions* options) {
  try {
    auto server = std::make_unique<StrataHttpServer>();
    const int tries = options->port == 0 ? kTries : 1;
    for (int k = 0; k < tries && !server->bind(*options); ++k) {
    }
    if (server->port < 0) return nullptr;
    server->four->start();
    if (server->six) server->six->start();
    return server.release();
  } catch (const std::exception&) {
    return nullptr;  // no memory, or no thread
  }
}

std::int32_t port_of(const StrataHttpServer* server) { return server->port; }
void stop_server(StrataHttpServer* server) { delete server; }

constexpr StrataHttpTable kTable{STRATA_HTTP_ABI, start_server, port_of, stop_server};

}  // namespace

extern "C" __attribute__((visibility("default"))) const StrataHttpTable* strata_http_table() { return &kTable; }
