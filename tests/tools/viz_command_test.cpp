// `strata viz` and --link: what links say, which files are written, what a browser is given.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/files.h"
#include "tests/tools/command_line.h"
#include "tools/batch.h"
#include "tools/gzip.h"
#include "tools/link.h"
#include "tools/page.h"

namespace strata::tools {
namespace {

constexpr std::string_view kPage =
    "<!doctype html><html><head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'\">"
    "<title>Strata</title></head><body>$& the page</body></html>";

/// A variable of the environment, while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A page and a cache of its own; no display and no browser.
class VizCommand : public ::testing::Test {
 protected:
  std::string file(const char* name) const { return top_.file(name); }
  std::string page() const { return contents(file("cache/viz/strata.html")); }

  PrivateFolder top_;
  ScopedFlag<std::string> flag_{flags::CACHE_DIR, file("cache")};
  Environment page_{"STRATA_VIZ_PAGE", write_file(file("page.gz"), gzip(kPage))};
  Environment browser_{"BROWSER", ""}, display_{"DISPLAY", ""}, wayland_{"WAYLAND_DISPLAY", ""};
};

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

/// The keys and values behind '#'.
std::map<std::string, std::string> parts_of(std::string_view url) {
  std::map<std::string, std::string> out;
  const std::size_t hash = url.find('#');
  if (hash == std::string_view::npos) return out;
  for (const std::string_view part : split(url.substr(hash + 1), '&')) {
    const std::size_t equals = part.find('=');
    out[std::string(part.substr(0, equals))] = percent_decoded(part.substr(equals + 1));
  }
  return out;
}

struct LinkCase {
  std::string line, mode, text, kind;
};

const std::vector<LinkCase>& link_cases() {
  static const std::vector<LinkCase> cases = {
      {"expr '(a + b*10) % 10' --var a=0..10 --var b=-3..10", "expression", "a: 0..10; b: -3..10; (a + b*10) % 10",
       "expr"},
      {"expr 'i % n' --var i=0..63 --var n=1..64 --assume 'i < n' --at i=1,n=2 --trace --json", "expression",
       "i: 0..63; n: 1..64; i % n; assume i < n", "expr"},
      {"expr 'a\n% 4' --var a=0..3", "expression", "a: 0..3; a % 4", "expr"},
      {"view --shape 3,2 --permute 1,0 --reshape 3,2", "movement",
       "ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2))", "view"},
      {"view --shape 2,3 --pad 1:0,0:1 --shrink 1:,:2 --flip 0", "movement",
       "ShapeTracker.from_shape((2, 3)).pad(((1, 0), (0, 1))).shrink(((1, 3), (0, 2))).flip((0,))", "view"},
      {"view --shape 4,3 --strides 3,1 --mask 0:2,0:2", "shape",
       "View(shape=(4, 3), strides=(3, 1), offset=0, mask=((0, 2), (0, 2)), contiguous=False)", "view"},
      {"view --shape 2 --strides -1 --offset 1 --expand 2 --idxs k --why --addresses", "movement",
       "View(shape=(2,), strides=(-1,), offset=1, mask=None, contiguous=False).expand((2,))", "view"},
      {"view --shape n,3 --var n=1..100 --stride 1,-2", "movement",
       "n: 1..100; ShapeTracker.from_shape((n, 3)).stride((1, -2))", "view"},
      {"view --views 'View(shape=(2, 2), strides=(1, 2)), View(shape=(4,))'", "shape",
       "ShapeTracker(views=(View(shape=(2, 2), strides=(1, 2), offset=0, mask=None, "
       "contiguous=False), "
       "View(shape=(4,), strides=(1,), offset=0, mask=None, contiguous=True)))",
       "view"},
      {"view --expr '(i*2 + j) % 5' --valid 'j < 2' --var i=0..2 --var j=0..2", "expression",
       "i: 0..2; j: 0..2; (i*2 + j) % 5; valid j < 2", "expr"},
      {"layout '(4,(2,2)):(2,(1,8))'", "layouts", "(4,(2,2)):(2,(1,8))", "layout"},
      {"layout composition '(6,2):(8,2)' '(4,3):(3,1)'", "layouts", "composition((6,2):(8,2), (4,3):(3,1))", "layout"},
      {"layout swizzle 2 0 2", "layouts", "swizzle(2, 0, 2)", "layout"},
      {"layout '(n,4):(4,1)' --var n=1..9", "layouts", "n: 1..9; (n,4):(4,1)", "layout"},
      {"kernel 'n: 1..100; a: i32[n]; b = a*2 % 7 & 3' --show axes", "kernel", "n: 1..100; a: i32[n]; b = a*2 % 7 & 3",
       "kernel"},
      {"kernel 'a: f32[8,4]\nb = a.sum(1)'", "kernel", "a: f32[8,4]\nb = a.sum(1)", "kernel"},
  };
  return cases;
}

TEST_F(VizCommand, LinksOfEveryCommand) {
  for (const LinkCase& c : link_cases()) {
    std::vector<std::string> words = words_of(c.line);
    words.emplace_back("--link");
    const Output r = run(words);
    ASSERT_EQ(r.status, 0) << c.line << '\n' << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_TRUE(r.out.starts_with("file://" + file("cache") + "/viz/strata.html#mode=")) << r.out;
    EXPECT_EQ(r.out.find_first_of(" \n"), r.out.size() - 1) << r.out;
    const auto parts = parts_of(std::string_view(r.out).substr(0, r.out.size() - 1));
    EXPECT_EQ(parts.at("mode"), c.mode) << c.line;
    EXPECT_EQ(parts.at("q"), c.text) << c.line;
    EXPECT_EQ(page(), kPage);
  }
}

/// The text of a link is what the box takes.
TEST_F(VizCommand, TheBoxReadsWhatLinksSay) {
  for (const LinkCase& c : link_cases()) {
    JsonWriter json;
    json.begin_object().member("do", "read").member("text", c.text).end_object();
    const std::string said = answer(json.take());
    JsonDocument document;
    document.read(said);
    EXPECT_EQ(document.salvage("kind"), "\"" + c.kind + "\"") << c.text << '\n' << said;
  }
}

TEST_F(VizCommand, KernelsSayTheirTargetAndOpts) {
  const std::string kernel = "kernel 'a: f32[8,4]; b = a.sum(1)' --link";
  auto parts = parts_of(run(words_of(kernel + " --target cuda --opts 'UPCAST 0 4, LANES 1 16'")).out);
  EXPECT_EQ(parts.at("target"), "cuda\n");
  EXPECT_EQ(parts.at("opts"), "UPCAST 0 4, LANES 1 16");
  parts = parts_of(run(words_of(kernel + " --device CLANG --vector-bytes 64")).out);
  EXPECT_EQ(parts.at("target"), "c");
  EXPECT_EQ(parts.at("vector_bytes"), "64\n");
  EXPECT_EQ(parts.count("opts"), 0U);
  EXPECT_EQ(parts_of(run(words_of(kernel + " --device INTERP")).out).count("target"), 0U);
}

TEST(Links, EveryByteComesBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text : {all, std::string("µ→\xF0\x9F\x98\x80;#%&+= '\"<>\\")}) {
    const std::string encoded = percent_encoded(text);
    EXPECT_EQ(encoded.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%"),
              std::string::npos);
    EXPECT_EQ(percent_decoded(encoded), text);
  }
  EXPECT_EQ(fragment_of({"kernel", "a; b#", {{"opts", "X 1"}}}), "#mode=kernel&q=a%3B%20b%23&opts=X%201");
  EXPECT_EQ(file_url("/tmp/a b/#1%.html"), "file:///tmp/a%20b/%231%25.html");
}

TEST_F(VizCommand, LinksRefuseWhatTheCommandsRefuse) {
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"expr 'a %% 4' --var a=0..3", 1, "\n   ^"},
      {"expr 'a + c' --var a=0..3", 1, "--var c=0..9"},
      {"expr 'é' --var a=0..3", 1, "[parse]"},
      {"view", 2, "needs --shape"},
      {"view --shape 3,2 --reshape 4", 1, "[reshape]"},
      {"layout frobnicate '4:1'", 2, "there is no function"},
      {"layout '(4:'", 1, "^"},
      {"kernel 'b = a'", 1, "^"},
      {"kernel 'a: f32[4]; b = a' --opts 'UPCAST'", 1, "--opts"},
      {"kernel 'a: f32[4]; b = a' --run", 2, "--run is not for the page"},
      {"kernel 'a: f32[4]; b = a' --device XPU", 2, "--device"},
  };
  for (const auto& [line, status, message] : cases)
    for (const bool by_viz : {false, true}) {
      std::vector<std::string> words = words_of(line);
      if (by_viz) {
        words.insert(words.begin(), "viz");
      } else {
        words.emplace_back("--link");
      }
      const Output r = run(words);
      EXPECT_EQ(r.status, status) << line << r.err;
      EXPECT_TRUE(has(r.err, message)) << line << '\n' << r.err;
      EXPECT_EQ(r.out, "");
    }
}

TEST_F(VizCommand, WritesThePageForItsUserAlone) {
  const Output r = run({"viz"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "file://" + file("cache") + "/viz/strata.html\n");
  EXPECT_TRUE(has(r.err, "there is no display here: open this page in a browser")) << r.err;
  EXPECT_EQ(run({"viz", "--no-open"}).err, "");
  EXPECT_EQ(page(), kPage);
  struct stat status{};
  ASSERT_EQ(stat(file("cache/viz").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat(file("cache/viz/strata.html").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  write_file(file("cache/viz/strata.html"), "of another version");
  run({"viz", "--no-open"});
  EXPECT_EQ(page(), kPage);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file("cache/viz")), {}), 1);
}

TEST_F(VizCommand, RefusesFoldersOfOthers) {
  run({"viz", "--no-open"});
  ASSERT_EQ(chmod(file("cache/viz").c_str(), 0777), 0);
  EXPECT_TRUE(has(run({"viz"}).err, "users other than the owner may write to it"));
  std::filesystem::remove_all(file("cache/viz"));
  ASSERT_EQ(symlink(file("elsewhere").c_str(), file("cache/viz").c_str()), 0);
  std::filesystem::create_directory(file("elsewhere"));
  EXPECT_TRUE(has(run({"viz"}).err, "it is a symbolic link"));
  EXPECT_TRUE(std::filesystem::is_empty(file("elsewhere")));
}

TEST_F(VizCommand, ShowsWhatACommandLooksAt) {
  const Output r = run(words_of("viz --no-open view --shape 3,2 --permute 1,0"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, run(words_of("view --shape 3,2 --permute 1,0 --link")).out);
  EXPECT_EQ(run(words_of("viz expr -a --var a=0..3 --no-open")).status, 2);  // its options go first
  EXPECT_EQ(run({"viz", "layout", "--help"}).out, run({"layout", "--help"}).out);
  EXPECT_TRUE(has(run({"viz", "view", "--shpe", "2"}).err, "did you mean '--shape'?\ntry: strata view --help"));
}

/// What the page has in the element of a trace.
std::string trace_in(const std::string& text) {
  const std::string begin = "<script type=\"application/json\" id=\"trace\" data-encoding=\"gzip-base64\">";
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "none";
  const std::string letters = text.substr(at + begin.size(), text.find("</script>", at) - at - begin.size());
  EXPECT_EQ(letters.size() % 4, 0U);
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string packed;
  for (std::size_t i = 0; i + 4 <= letters.size(); i += 4) {
    std::uint32_t bits = 0;
    std::size_t bytes = 3;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t value = kLetters.find(letters[i + k]);
      if (value == std::string_view::npos) --bytes;
      bits = bits << 6 | (value == std::string_view::npos ? 0U : static_cast<std::uint32_t>(value));
    }
    for (std::size_t k = 0; k < bytes; ++k) packed += static_cast<char>(bits >> (16 - 8 * k) & 255);
  }
  return gunzip("the trace", packed, std::size_t{1} << 28);
}

TEST_F(VizCommand, PutsATraceIntoThePage) {
  std::string trace;
  for (int k = 0; k < 50000; ++k) trace += "{\"event\":\"run\",\"text\":\"</script><!-- " + std::to_string(k) + "\"}\n";
  for (const std::size_t cut : {0U, 1U, 2U}) {
    const std::string part = trace.substr(0, trace.size() - cut);
    write_file(file("a<b>&.jsonl"), part);
    write_file(file("packed.jsonl.gz"), gzip(part));
    for (const char* name : {"a<b>&.jsonl", "packed.jsonl.gz"}) {
      const Output r = run({"viz", "--no-open", file(name)});
      ASSERT_EQ(r.status, 0) << r.err;
      const std::string text = contents(percent_decoded(r.out.substr(7, r.out.size() - 8)));
      EXPECT_TRUE(trace_in(text) == part) << name;
      EXPECT_TRUE(has(text, std::string(name) == "packed.jsonl.gz" ? "<title>packed.jsonl.gz - Strata</title>"
                                                                   : "<title>a&lt;b&gt;&amp;.jsonl - Strata</title>"));
      EXPECT_TRUE(text.ends_with("</head><body>$& the page</body></html>"));
    }
  }
}

TEST_F(VizCommand, RefusesWhatIsNoTrace) {
  write_file(file("empty"), "");
  write_file(file("notes"), "text");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {file("missing"), "No such file or directory"}, {top_.path(), "it is not a regular file"},
      {"/dev/null", "it is not a regular file"},      {file("empty"), "the file is empty"},
      {file("notes"), "the file is not a trace"},
  };
  for (const auto& [path, message] : cases) {
    const Output r = run({"viz", path});
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r.err, message)) << r.err;
    EXPECT_EQ(r.out, "");
  }
  EXPECT_EQ(run({"viz", file("notes"), "more"}).status, 2);
  EXPECT_TRUE(has(run({"viz", "--serve", "65536"}).err, "a port is at most 65535"));
  EXPECT_TRUE(has(run({"viz", "--serve", "99999999999999999999"}).err, "a port is at most 65535"));
}

TEST_F(VizCommand, SaysWhereThePageIsMissingOrDamaged) {
  const std::string packed = gzip(kPage);
  for (const auto& [name, bytes, message] : std::vector<std::tuple<const char*, std::string, std::string>>{
           {"cut", packed.substr(0, packed.size() / 2), "damaged, or end too early"},
           {"none", "", "damaged, or end too early"},
           {"text", "<!doctype html>", "damaged, or end too early"}}) {
    const Environment page("STRATA_VIZ_PAGE", write_file(file(name), bytes));
    const Output r = run({"viz"});
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r.err, message)) << r.err;
  }
  const Environment page("STRATA_VIZ_PAGE", file("missing"));
  EXPECT_TRUE(has(run({"viz"}).err, "the page is not here (sought: " + file("missing")));
  EXPECT_TRUE(has(run({"expr", "1", "--link"}).err, "STRATA_VIZ_PAGE may name strata.html.gz"));
  EXPECT_THROW(page_for_server("<title>no policy</title>", false), Error);
  EXPECT_THROW(page_for_server("http-equiv=\"Content-Security-Policy\" content=\"", true), Error);
}

TEST_F(VizCommand, StartsTheBrowserOfTheEnvironment) {
  const std::string script = write_file(file("browser"), "#!/bin/sh\nprintf '%s|' \"$@\" > '" + file("half") +
                                                             "' && mv '" + file("half") + "' '" + file("said") + "'\n");
  ASSERT_EQ(chmod(script.c_str(), 0700), 0);
  const auto said = [&] {
    for (int k = 0; k < 1000 && !std::filesystem::exists(file("said")); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::string out = contents(file("said"));
    std::filesystem::remove(file("said"));
    return out;
  };
  const std::string url = "file://" + file("cache") + "/viz/strata.html";
  {
    const Environment browser("BROWSER", "/no/such:" + script + " --new");
    EXPECT_EQ(run({"viz"}).err, "");
    EXPECT_EQ(said(), "--new|" + url + "|");
  }
  const Environment browser("BROWSER", script + " a%sb");
  EXPECT_EQ(run({"viz"}).err, "");
  EXPECT_EQ(said(), "a" + url + "b|");
  // What opens files drops fragments: a page that goes on to the URL is opened.
  const std::string link = run({"viz", "layout", "4:1"}).out;
  const std::string opened = said();
  const std::string launcher = contents(opened.substr(8, opened.size() - 10));
  std::string escaped = link.substr(0, link.size() - 1);
  for (std::size_t at = 0; (at = escaped.find('&', at)) != std::string::npos; at += 5) escaped.insert(at + 1, "amp;");
  EXPECT_TRUE(has(launcher, "content=\"0;url=" + escaped + "\"")) << launcher;
  const Environment none("BROWSER", "/no/such");
  EXPECT_TRUE(has(run({"viz"}).err, "BROWSER is '/no/such', which cannot be started"));
}

}  // namespace
}  // namespace strata::tools
