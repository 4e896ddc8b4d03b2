// PageSite: the answers of `strata viz --serve`: the page, a growing trace, and assembly of the trace's kernels. No
// other file can be requested.
#pragma once

#include <string>
#include <string_view>

#include "tools/http_server.h"

namespace strata::tools {

/// Whether the header Host is localhost, 127.0.0.1 or [::1], with any port, because a tunnel has another port. This
/// prevents DNS rebinding: a foreign page whose name resolves to 127.0.0.1 sends that name as the Host.
bool is_own_host(std::string_view host);

/// GET / answers the page.
/// GET /trace?from=N answers the bytes of the trace from N on, at most `kMostAtOnce`. The header Trace-From is the
/// position of the first byte: N, or 0 if the file is shorter than N. The header Trace-File identifies the trace: it
/// changes when another trace is written to the same file. GET /assembly/K/P answers the assembly of the trace's kernel
/// K, compiled at the request: P = 0 is the kernel itself, P > 0 the P-th kernel that runs before it. 404 with the
/// reason if that is not possible.
class PageSite final : public HttpSite {
 public:
  static constexpr std::size_t kMostAtOnce = std::size_t{8} << 20;

  /// @param trace the path of the trace, which need not exist yet; empty: no trace
  PageSite(std::string page, std::string trace) : page_(std::move(page)), trace_(std::move(trace)) {}
  HttpAnswer answer(const HttpAsk& ask) const override;

 private:
  HttpAnswer trace_from(std::string_view from) const;
  HttpAnswer assembly_of(std::string_view words) const;

  std::string page_, trace_;
};

}  // namespace strata::tools
