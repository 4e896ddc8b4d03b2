// HttpServer: HTTP on the loopback addresses, for `strata viz --serve`. The implementation is cpp-httplib in the shared
// object libstrata_http.so (http_plugin/), which exists if cpp-httplib was found at build time. It answers by an
// HttpSite (page_site.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct StrataHttpServer;
struct StrataHttpTable;

namespace strata::tools {

/// A request: the parts on which answers depend.
struct HttpAsk {
  std::string_view method, path;  ///< "GET", "/trace"
  std::string_view host;          ///< the header Host; empty if there is none, or several
  std::string_view site;          ///< the header Sec-Fetch-Site: the site whose page asks
  std::string_view from;          ///< the query parameter `from`
};

struct HttpAnswer {
  int status = 200;
  std::string type, body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Answers requests. Several threads call answer() at the same time.
class HttpSite {
 public:
  virtual ~HttpSite() = default;
  virtual HttpAnswer answer(const HttpAsk& ask) const = 0;
};

/// Serves a site while the object lives.
class HttpServer {
 public:
  /// Listens on `port`; 0: any free port. @pre the site outlives the server
  /// @throws Error (undefined) if there is no libstrata_http.so, (budget) if the port is not available
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
