// The page strata.html: where it is installed, and the copies of it that are shown.
//
// It is installed compressed, as share/strata/strata.html.gz. A browser gets a copy in a private folder of this user; the copy
// may have a trace in it.
#pragma once

#include <string>
#include <string_view>

namespace strata::tools {

/// The folder of the running program's file; "" where it is not known.
std::string program_folder();

/// The page. It is what STRATA_VIZ_PAGE names, by an absolute path, or else lies in share/strata, in the program's folder or
/// beside it.
/// @throws Error (undefined) where there is none, or no zlib; (parse) where it is damaged
std::string read_page();

/// `page` with the trace that the file `path` holds, as JSON lines or these compressed, and the file's name as its title.
/// @throws Error (parse) where the file cannot be read or is no trace, (budget) where it is too large for a page
std::string page_with_trace(const std::string& page, const std::string& path);

/// `page` as a server gives it: it may fetch from its own server. With `follows` it says that there is a trace to be fetched.
/// @throws Error (parse) for a page that does not limit what it may do
std::string page_for_server(const std::string& page, bool follows);

/// The path of a file with this content and name in the private folder. It is written in one step, where it has another one.
/// @throws Error (budget) with the system's reason
std::string keep_page(const std::string& name, const std::string& content);

/// A page that goes on to `url`: what openers take, which drop a URL's fragment.
std::string keep_launcher(const std::string& url);

/// `file:///path`
std::string file_url(const std::string& path);

/// Shows `url` in a browser: that of the environment's BROWSER, or the desktop's. Does not wait.
/// @returns why that does not work here, or ""
std::string open_in_browser(const std::string& url);

}  // namespace strata::tools
