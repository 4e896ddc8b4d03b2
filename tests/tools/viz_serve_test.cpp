// `strata viz --serve`: who is answered, with what, and where it listens.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/codegen/kernel.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/files.h"
#include "tests/tools/command_line.h"
#include "tools/gzip.h"
#include "tools/http_server.h"
#include "tools/page_site.h"

namespace strata::tools {
namespace {

std::string header_of(const HttpAnswer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers)
    if (key == name) return value;
  return "";
}

TEST(VizSite, KnowsItsOwnNames) {
  for (const char* host : {"localhost", "127.0.0.1", "[::1]", "localhost:1", "127.0.0.1:65535", "[::1]:8080"})
    EXPECT_TRUE(is_own_host(host)) << host;
  for (const char* host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:", "localhost:x",
        "localhost:123456", "localhost:80@evil.example", "127.0.0.2", "::1", "[::1]evil", "[::1", "0.0.0.0",
        "evil.example:80", " localhost", "localhost ", "LOCALHOST.", "localhost:80 "})
    EXPECT_FALSE(is_own_host(host)) << host;
}

TEST(VizSite, GivesThePageAndNothingElse) {
  const PageSite site("the page", "");
  for (const char* method : {"GET", "HEAD"}) {
    const HttpAnswer page = site.answer({method, "/", "localhost:1", "cross-site", ""});
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "the page");
    EXPECT_EQ(header_of(page, "Cache-Control"), "no-store");
    EXPECT_EQ(header_of(page, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header_of(page, "Content-Security-Policy"), "frame-ancestors 'none'");
    EXPECT_EQ(header_of(page, "Access-Control-Allow-Origin"), "");
  }
  for (const char* path :
       {"/trace", "/index.html", "/../etc/passwd", "//", "", "/strata.html", "/etc/passwd", "/./", "/%2e"})
    EXPECT_EQ(site.answer({"GET", path, "localhost", "", ""}).status, 404) << path;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get", ""})
    EXPECT_EQ(site.answer({method, "/", "localhost", "", ""}).status, 405) << method;
  const HttpAnswer refused = site.answer({"GET", "/", "evil.example", "", ""});
  EXPECT_EQ(refused.status, 403);
  EXPECT_FALSE(has(refused.body, "the page"));
}

/// A client that follows a trace as the page does.
class Follower {
 public:
  explicit Follower(const PageSite& site) : site_(site) {}

  void ask() {
    const HttpAnswer a = site_.answer({"GET", "/trace", "127.0.0.1:80", "same-origin", std::to_string(text.size())});
    ASSERT_EQ(a.status, 200);
    const std::string from = header_of(a, "Trace-From"), file = header_of(a, "Trace-File");
    const bool is_another = file != file_;
    file_ = file;
    if (is_another && !text.empty()) {
      text.clear();
      return ask();
    }
    if (from == "0") text.clear();
    text += a.body;
  }
  std::string text;

 private:
  const PageSite& site_;
  std::string file_ = "none";
};

TEST(VizSite, FollowsATraceThatGrows) {
  const PrivateFolder folder;
  const std::string path = folder.file("trace.jsonl");
  const PageSite site("page", path);
  Follower follower(site);
  follower.ask();
  EXPECT_EQ(follower.text, "");  // it is not there yet
  std::string all = "{\"pid\":1}\n";
  for (int k = 0; k < 5; ++k) {
    write_file(path, all);
    follower.ask();
    EXPECT_EQ(follower.text, all);
    all += "{\"run\":" + std::to_string(k) + "}\n";
  }
  write_file(path, "");  // by another run, in place
  follower.ask();
  EXPECT_EQ(follower.text, "");
  write_file(path, "{\"pid\":2}\n");
  follower.ask();
  EXPECT_EQ(follower.text, "{\"pid\":2}\n");
  const std::string longer = "{\"pid\":3}\n" + all;
  write_file(path, longer);  // in place, and longer than what was read
  follower.ask();
  EXPECT_EQ(follower.text, longer);
  std::filesystem::remove(path);
  follower.ask();
  EXPECT_EQ(follower.text, "");
  write_file(path, "half a li");
  follower.ask();
  EXPECT_EQ(follower.text, "half a li");
}

TEST(VizSite, ATraceIsForItsPageAlone) {
  const PrivateFolder folder;
  const PageSite site("page", write_file(folder.file("t"), "0123456789\n"));
  for (const char* whose : {"", "none", "same-origin"})
    EXPECT_EQ(site.answer({"GET", "/trace", "localhost", whose, "4"}).body, "456789\n") << whose;
  for (const char* whose : {"cross-site", "same-site", "x"})
    EXPECT_EQ(site.answer({"GET", "/trace", "localhost", whose, "4"}).status, 403) << whose;
  for (const char* from : {"-1", "x", "1x", " 1", "9223372036854775807", "99999999999999999999"})
    EXPECT_EQ(site.answer({"GET", "/trace", "localhost", "", from}).status, 400) << from;
  EXPECT_EQ(site.answer({"GET", "/trace", "localhost", "", "11"}).body, "");
  EXPECT_EQ(site.answer({"GET", "/trace", "localhost", "", "12"}).body, "0123456789\n");
  EXPECT_EQ(site.answer({"GET", "/trace", "localhost", "", "4611686018427387903"}).body, "0123456789\n");
  EXPECT_EQ(site.answer({"GET", "/trace/", "localhost", "", ""}).status, 404);
  const PageSite odd("page", folder.path());  // a folder: nothing is read from it
  EXPECT_EQ(odd.answer({"GET", "/trace", "localhost", "", ""}).body, "");
}

TEST(VizSite, MakesMachineCodeWhenItIsAskedFor) {
  const PrivateFolder folder;
  const std::string rest =
      R"(,"contract":true,"operations":1e9,"bytes":"inf","first":[{"source":"int g(int a){return a*5;}"}]})";
  const auto kernel = [&](int number, const std::string& device, const std::string& source) {
    return detail::message(R"({"event":"kernel","kernel":)", number, R"(,"device":)", device, R"(,"source":")", source,
                           "\"", rest, "\n");
  };
  const PageSite site(
      "page", write_file(folder.file("t"), kernel(0, R"("CLANG")", "int f(int a){return a+1;}") +
                                               kernel(1, R"("INTERP")", "x") + kernel(2, "null", "x") +
                                               kernel(3, R"("CLANG")", "no C") + kernel(4, R"("NOWHERE")", "x") +
                                               "{\"event\":\"kernel\",\"kernel\":5,\n"));
  const auto ask = [&](const std::string& words, std::string_view whose = "same-origin") {
    return site.answer({"GET", "/assembly/" + words, "localhost", whose, ""});
  };
  const HttpAnswer code = ask("0/0");
  EXPECT_EQ(code.status, 200) << code.body;
  EXPECT_TRUE(has(code.body, "f:") && has(code.body, "ret")) << code.body;
  EXPECT_TRUE(has(ask("0/1").body, "g:"));
  EXPECT_EQ(ask("0/0", "cross-site").status, 403);
  for (const auto& [words, reason] : {std::pair{"0/2", "has parts 0 to 1, not 2"},
                                      {"9/0", "no kernel 9"},
                                      {"1/0", "INTERP has no machine code"},
                                      {"2/0", "device of kernel 2 is not in the trace"},
                                      {"3/0", "error"},
                                      {"4/0", "NOWHERE"},
                                      {"5/0", "found the end of the line"}}) {
    const HttpAnswer refused = ask(words);
    EXPECT_EQ(refused.status, 404) << words;
    EXPECT_TRUE(has(refused.body, reason)) << refused.body;
  }
  for (const char* words : {"", "/", "0", "0/", "/0", "0/0/0", "-1/0", "0/x", "99999999999999999999/0"})
    EXPECT_EQ(ask(words).status, 400) << words;
  EXPECT_EQ(PageSite("page", "").answer({"GET", "/assembly/0/0", "localhost", "", ""}).status, 404);
}

// An error of the compiler quotes what it reads.
TEST(VizSite, TracesDoNotShowOtherFiles) {
  const PrivateFolder folder;
  const std::string secret = write_file(folder.file("secret"), "topsecret words\n");
  std::string trace;
  const std::string sources[] = {
      R"(#include \")" + secret + R"(\"\n)",          R"( # include \")" + secret + R"(\"\n)",
      R"(%:include \")" + secret + R"(\"\n)",         R"(#inc\\\nlude \")" + secret + R"(\"\n)",
      R"(/**/ #/**/include \")" + secret + R"(\"\n)", R"(#include_next \")" + secret + R"(\"\n)",
      R"(#import \")" + secret + R"(\"\n)",           R"(#define X\n#include \")" + secret + R"(\"\n)"};
  for (std::size_t k = 0; k < std::size(sources); ++k)
    trace += detail::message(R"({"event":"kernel","kernel":)", k, R"(,"device":"CLANG","source":")", sources[k],
                             R"(","contract":true,"operations":1,"bytes":1,"first":[]})", "\n");
  const PageSite site("page", write_file(folder.file("t"), trace));
  for (std::size_t k = 0; k < std::size(sources); ++k) {
    const HttpAnswer answer =
        site.answer({"GET", detail::message("/assembly/", k, "/0"), "localhost", "same-origin", ""});
    EXPECT_EQ(answer.status, 404) << sources[k];
    EXPECT_TRUE(has(answer.body, "directives of its own")) << sources[k] << answer.body;
    EXPECT_FALSE(has(answer.body, "topsecret")) << sources[k] << answer.body;
  }
}

TEST(VizSite, SourcesThatStrataWritesAreCompiled) {
  const Device& device = Device::get("CLANG");
  std::string trace;
  std::int64_t count = 0;
  for (const char* text : {"a: f16[64]; b = abs(a) * 2 + exp(a)", "a: f32[4194304]; b = a + 1",
                           "a: f32[64,64]; b: f32[64,64]; c = abs(a @ b)", "a: i64[100]; b = a / 3"})
    for (const bool contract : {true, false}) {
      const Target target = contract ? device.target() : device.target().deterministic();
      JsonWriter json;
      json.begin_object().member("event", "kernel").member("kernel", count++).member("device", "CLANG");
      json.member("source", std::string_view(device.source(compile_kernel(parse_kernel(text).kernel, target))));
      json.member("contract", contract).member("operations", std::int64_t{1}).member("bytes", std::int64_t{1});
      trace += json.key("first").begin_array().end_array().end_object().take() + "\n";
    }
  const PrivateFolder folder;
  const PageSite site("page", write_file(folder.file("t"), trace));
  for (std::int64_t k = 0; k < count; ++k) {
    const HttpAnswer answer =
        site.answer({"GET", detail::message("/assembly/", k, "/0"), "localhost", "same-origin", ""});
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
}

TEST(VizSite, GivesLongTracesInPieces) {
  const PrivateFolder folder;
  std::string all = "{\"pid\":1}\n";
  while (all.size() < PageSite::kMostAtOnce * 2 + 100) all += std::string(999, 'x') + '\n';
  const PageSite site("page", write_file(folder.file("t"), all));
  Follower follower(site);
  for (const std::size_t pieces : {1U, 2U, 3U}) {
    follower.ask();
    EXPECT_EQ(follower.text.size(), std::min(all.size(), pieces * PageSite::kMostAtOnce));
  }
  EXPECT_TRUE(follower.text == all);
}

#if STRATA_HAS_HTTP

/// All that a server says to these bytes.
std::string talk(int port, const std::string& request) {
  const Fd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return "no connection";
  send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string out;
  char piece[4096];
  for (ssize_t count = 0; (count = recv(connection.get(), piece, sizeof piece, 0)) > 0;)
    out.append(piece, static_cast<std::size_t>(count));
  return out;
}

std::string get(int port, const std::string& target, const std::string& host = "localhost") {
  return talk(port, "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nAccept-Encoding: gzip, br\r\n\r\n");
}

TEST(VizServer, AnswersOverTheWire) {
  const PrivateFolder folder;
  const PageSite site("the page " + std::string(1 << 20, 'x'), write_file(folder.file("t"), "0123456789\n"));
  const HttpServer server(site, 0);
  const int port = server.port();
  const std::string page = get(port, "/");
  EXPECT_TRUE(page.starts_with("HTTP/1.1 200 ")) << page.substr(0, 200);
  EXPECT_FALSE(has(page, "Content-Encoding"));
  EXPECT_FALSE(has(page, "Access-Control"));
  EXPECT_TRUE(page.ends_with("xxx"));
  EXPECT_TRUE(get(port, "/trace?from=4").ends_with("\r\n\r\n456789\n"));
  EXPECT_TRUE(has(get(port, "/trace?from=99"), "Trace-From: 0\r\n"));
  EXPECT_TRUE(get(port, "/", "evil.example:" + std::to_string(port)).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(talk(port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(
      talk(port, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").starts_with("HTTP/1.1 403 "));
  for (const std::string path :
       {"/../t", "/..%2ft", "/%2e%2e/t", "//", "/t", "/trace/../t", "/trace%00", "/etc/passwd"})
    EXPECT_FALSE(get(port, path).starts_with("HTTP/1.1 200 ")) << path;
  const std::string head = talk(port, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n")) << head;
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS"})
    EXPECT_FALSE(talk(port, method + " / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nabcd")
                     .starts_with("HTTP/1.1 200"))
        << method;
  EXPECT_FALSE(talk(port, "nonsense\r\n\r\n").starts_with("HTTP/1.1 200"));
  EXPECT_FALSE(get(port, "/" + std::string(100000, 'a')).starts_with("HTTP/1.1 200"));
}

/// The addresses, as /proc has them, that are listened on at a port.
std::vector<std::string> listening(const char* table, int port) {
  std::ifstream in(table);
  std::vector<std::string> out;
  std::ostringstream wanted;
  wanted << std::hex << std::uppercase << port;
  std::string at, local, remote, state;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    words >> at >> local >> remote >> state;
    const std::size_t colon = local.find(':');
    if (state == "0A" &&
        local.substr(colon + 1) == std::string(4 - std::min<std::size_t>(4, wanted.str().size()), '0') + wanted.str())
      out.push_back(local.substr(0, colon));
  }
  return out;
}

TEST(VizServer, ListensOnLoopbackAlone) {
  const PageSite site("page", "");
  const HttpServer server(site, 0);
  EXPECT_EQ(listening("/proc/net/tcp", server.port()), std::vector<std::string>{"0100007F"});
  for (const std::string& address : listening("/proc/net/tcp6", server.port()))
    EXPECT_EQ(address, "00000000000000000000000001000000");
  try {
    const HttpServer second(site, server.port());
    FAIL() << "two servers on one port";
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "cannot listen on port")) << e.what();
  }
}

TEST(VizServer, EndsWhileClientsAreSilent) {
  const PageSite site("page", "");
  const auto begin = std::chrono::steady_clock::now();
  Fd silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  {
    const HttpServer server(site, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(get(server.port(), "/").starts_with("HTTP/1.1 200 "));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

/// The command, until a signal ends it.
TEST(VizServer, CtrlCEndsTheCommand) {
  const PrivateFolder folder;
  const std::string page =
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'\"><title>Strata</title>";
  setenv("STRATA_VIZ_PAGE", write_file(folder.file("page"), gzip(page)).c_str(), 1);
  const std::string trace = write_file(folder.file("trace.jsonl"), "{}\n"), said = folder.file("said");
  int status = -1;
  std::atomic<bool> ended = false;
  std::thread program([&] {
    std::ofstream out(said), err(folder.file("err"));
    Console console{out, err};
    status = run_program(std::vector<std::string>{"viz", "--no-open", "--serve", trace}, console);
    ended = true;
  });
  std::string url;
  while (!url.ends_with('\n') && !ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    url = contents(said);
  }
  if (ended) {
    program.join();
    FAIL() << "the server ended by itself: " << contents(folder.file("err"));
  }
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  const std::string served = get(port, "/");
  EXPECT_TRUE(has(served, "content=\"connect-src 'self'; default-src 'none'\"")) << served;
  EXPECT_TRUE(has(served, "id=\"trace\" data-encoding=\"follow\"></script>")) << served;
  EXPECT_TRUE(get(port, "/trace").ends_with("\r\n\r\n{}\n"));
  pthread_kill(program.native_handle(), SIGINT);
  program.join();
  unsetenv("STRATA_VIZ_PAGE");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(url, "http://127.0.0.1:" + std::to_string(port) + "/\n");
  EXPECT_EQ(get(port, "/"), "no connection");
}

#endif

}  // namespace
}  // namespace strata::tools
