// HTTP for this machine's own browser: on the loopback addresses alone, by the shared object libstrata_http.so, which is there
// where cpp-httplib was found when Strata was built.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct StrataHttpServer;
struct StrataHttpTable;

namespace strata::tools {

struct HttpAsk {
  std::string_view method, path;  ///< "GET", "/trace"
  std::string_view host;          ///< empty where the request names none, or several
  std::string_view site;          ///< Sec-Fetch-Site: whose page asks, as browsers say
  std::string_view from;          ///< the parameter
};

struct HttpAnswer {
  int status = 200;
  std::string type, body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// What answers requests; called by several threads at a time.
class HttpSite {
 public:
  virtual ~HttpSite() = default;
  virtual HttpAnswer answer(const HttpAsk& ask) const = 0;
};

/// Serves a site while it lives.
class HttpServer {
 public:
  /// @pre the site outlives it; a port of 0 is one that is free
  /// @throws Error (undefined) where there is no libstrata_http.so, (budget) where the port cannot be had
  HttpServer(const HttpSite& site, int port);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  const StrataHttpTable* table_;
  StrataHttpServer* server_;
};

}  // namespace strata::tools
