#include "tools/http_server.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>

#include "strata/base/check.h"
#include "strata/runtime/llvm_library.h"
#include "tools/http_plugin/http_abi.h"
#include "tools/page.h"

namespace strata::tools {
namespace {

constexpr const char* kHttpFile = "libstrata_http.so";

/// The path of the plugin: its file in the folder of the program or, next, in one of the folders of the LLVM plugin.
/// @throws Error (undefined) if there is no such file
std::string find_http_file() {
  std::vector<std::string> folders = LlvmLibrary::default_folders();
  folders.insert(folders.begin(), program_folder());
  std::string sought;
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder) / kHttpFile;
    std::error_code failed;
    if (path.is_absolute() && std::filesystem::is_regular_file(path, failed)) return path.string();
    sought += detail::message(sought.empty() ? "" : ", ", folder);
  }
  throw Error(ErrorKind::undefined, detail::message("[serve] no ", kHttpFile, " (sought: ", sought,
                                                    "): apt-get install libcpp-httplib-dev, then build Strata again"));
}

/// Opens the plugin. NOTE: never closed, because it may have created static objects.
const StrataHttpTable* open_http() {
  const std::string path = find_http_file();
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char* const reason = handle != nullptr ? nullptr : dlerror();
  STRATA_CHECK(handle, undefined, "[serve] ", path, " cannot be opened (",
               reason != nullptr ? reason : "no reason given", ")");
  const auto entry = reinterpret_cast<StrataHttpEntry>(dlsym(handle, STRATA_HTTP_ENTRY));
  const StrataHttpTable* const table = entry != nullptr ? entry() : nullptr;
  STRATA_CHECK(table && table->abi_version == STRATA_HTTP_ABI, undefined, "[serve] ", path,
               " is of another version of Strata: build both together");
  return table;
}

std::string_view view_of(StrataHttpText text) { return {text.data, text.size}; }
StrataHttpText http_text(std::string_view text) { return {text.data(), text.size()}; }

HttpAnswer answer_of(const HttpSite& site, const HttpAsk& ask) {
  try {
    return site.answer(ask);
  } catch (const std::exception& e) {
    return {500, "text/plain; charset=utf-8", detail::message(e.what(), "\n")};
  }
}

void pass_on(void* context, const StrataHttpAsk* ask, void* out, StrataHttpReply reply) {
  const HttpAnswer answer =
      answer_of(*static_cast<const HttpSite*>(context),
                {view_of(ask->method), view_of(ask->path), view_of(ask->host), view_of(ask->site), view_of(ask->from)});
  std::vector<StrataHttpHeader> headers;
  for (const auto& [name, value] : answer.headers) headers.push_back({http_text(name), http_text(value)});
  reply(out, answer.status, headers.data(), headers.size(), http_text(answer.type), http_text(answer.body));
}

}  // namespace

HttpServer::HttpServer(const HttpSite& site, int port) : table_(open_http()), server_(nullptr) {
  // The const_cast is safe: the context is only passed back to answer(), which is const.
  const StrataHttpOptions options{port, const_cast<HttpSite*>(&site), pass_on};
  server_ = table_->start(&options);
  STRATA_CHECK(server_, budget, "[serve] cannot listen on port ", port,
               " of 127.0.0.1: another program uses the port, or this user may not use the port");
}

HttpServer::~HttpServer() { table_->stop(server_); }

int HttpServer::port() const { return table_->port(server_); }

}  // namespace strata::tools
