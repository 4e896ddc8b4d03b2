// What `strata viz --serve` answers: the page, a trace as it grows, machine code of its kernels. Nothing else is here,
// whatever a path says.
#pragma once

#include <string>
#include <string_view>

#include "tools/http_server.h"

namespace strata::tools {

/// Whether a request's Host means this machine by its own names: localhost, 127.0.0.1 or [::1], with any port, as a tunnel has another
/// one. A page of somebody else, whose name its owner lets mean 127.0.0.1, says that name.
bool is_own_host(std::string_view host);

/// GET / is the page. GET /trace?from=N is what the trace has from byte N on, at most `kMostAtOnce` bytes; its header Trace-From is
/// where that begins, which is 0 where the file is shorter than N; its header Trace-File stays the same until another
/// trace is written under the file's name. GET /assembly/K/P is machine code of the trace's kernel K, made now: of the kernel itself
/// for P = 0, else of the P-th of those that run before it; 404 with the reason where there is none.
class PageSite final : public HttpSite {
 public:
  static constexpr std::size_t kMostAtOnce = std::size_t{8} << 20;

  /// @param trace the file's path, which need not be there yet; "" for none
  PageSite(std::string page, std::string trace)
      : page_(std::move(page)), trace_(std::move(trace)) {}
  HttpAnswer answer(const HttpAsk& ask) const override;

 private:
  HttpAnswer trace_from(std::string_view from) const;
  HttpAnswer assembly_of(std::string_view words) const;

  std::string page_, trace_;
};

}  // namespace strata::tools
