// The host's C compiler: finding it, what it makes, what becomes of its failures. How processes are run:
// subprocess_test.cpp.
#include "strata/runtime/host_compiler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/runtime/cpu_features.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/posix_io.h"
#include "strata/runtime/shared_object.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

/// An environment variable until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A shell script that stands in for a compiler.
std::string script(const PrivateFolder& folder, const char* name, const std::string& text) {
  const std::string path = folder.file(name);
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  chmod(path.c_str(), 0700);
  return path;
}

template <class Function>
Function load(const Bytes& object, const char* name) {
  static std::vector<std::shared_ptr<const SharedObject>> loaded;  // for as long as the functions are called
  loaded.push_back(SharedObject::load(object));
  return loaded.back()->function<Function>(name);
}

TEST(HostCompiler, EveryCompilerHereWorks) {
  int count = 0;
  for (const char* name : {"clang-19", "clang", "gcc", "cc"}) {
    const ScopedFlag flag(flags::CC, std::string(name));
    std::shared_ptr<const HostCompiler> compiler;
    try {
      compiler = HostCompiler::find();
    } catch (const Error&) {
      continue;
    }
    ++count;
    EXPECT_TRUE(has(compiler->path(), name));
    const Bytes object = compiler->compile("int seven(void) { return 7; }");
    EXPECT_EQ(load<int (*)()>(object, "seven")(), 7) << name;
  }
  EXPECT_GT(count, 0) << "there is no C compiler";
}

TEST(HostCompiler, IsTheOneThatTheFlagNames) {
  const PrivateFolder folder;
  const std::string path = script(folder, "mine", "echo 'mine 1.0'; echo more");
  {
    const ScopedFlag flag(flags::CC, path);
    EXPECT_EQ(HostCompiler::find()->path(), path);
    EXPECT_EQ(HostCompiler::find(), HostCompiler::find());  // remembered
    EXPECT_EQ(HostCompiler::find()->version(), "mine 1.0");
  }
  const ScopedVariable path_list("PATH", detail::message("relative::/nowhere:", folder.path()));
  {
    const ScopedFlag flag(flags::CC, std::string("mine"));
    EXPECT_EQ(HostCompiler::find()->path(), path);
  }
  const ScopedFlag flag(flags::CC, std::string());
  const std::string clang = script(folder, "clang", ""), gcc = script(folder, "gcc", "");
  EXPECT_EQ(HostCompiler::find()->path(), clang);
  std::filesystem::remove(clang);
  EXPECT_EQ(HostCompiler::find()->path(), gcc);
}

TEST(HostCompiler, AnotherVersionIsAnotherIdentity) {
  const PrivateFolder folder;
  const ScopedFlag flag(flags::CC, script(folder, "cc", "exit 1"));
  const std::shared_ptr<const HostCompiler> before = HostCompiler::find();
  EXPECT_TRUE(before->is_current());
  script(folder, "cc", "exit 22");
  EXPECT_FALSE(before->is_current());
  EXPECT_NE(HostCompiler::find()->identity(), before->identity());
}

TEST(HostCompiler, MissingOnesAreNamed) {
  const PrivateFolder folder;
  std::ofstream(folder.file("text")) << "not a program";
  for (const std::string& name :
       {std::string("no-such-compiler"), folder.file("absent"), folder.file("text"), folder.path()}) {
    const ScopedFlag flag(flags::CC, name);
    const std::string what = error_of(ErrorKind::undefined, [] { HostCompiler::find(); });
    EXPECT_TRUE(has(what, "STRATA_CC") && has(what, name)) << what;
  }
  {
    const ScopedFlag flag(flags::CC, std::string());
    const ScopedVariable path_list("PATH", folder.path());
    const std::string what = error_of(ErrorKind::undefined, [] { compile_clang("int x;"); });
    EXPECT_TRUE(has(what, "there is no C compiler") && has(what, "or apt-get install gcc")) << what;
  }
  EXPECT_NO_THROW(HostCompiler::find());  // the next call works
}

TEST(HostCompiler, OnPathIsEachFileOnce) {
  const PrivateFolder folder;
  const std::string gcc = script(folder, "gcc", "exit 1"), clang = script(folder, "clang", "exit 1");
  std::filesystem::create_symlink(clang, folder.file("clang-19"));
  std::filesystem::create_symlink(gcc, folder.file("cc"));
  const ScopedVariable path_list("PATH", folder.path());
  EXPECT_EQ(HostCompiler::on_path(), (std::vector<std::string>{folder.file("clang-19"), gcc}));
}

TEST(HostCompiler, ItsMessageIsShown) {
  const PrivateFolder top;
  const ScopedVariable temporary("TMPDIR", top.path());
  const auto compile = [](const char* source) {
    return error_of(ErrorKind::undefined, [&] { HostCompiler::find()->compile(source); });
  };
  const std::string what = compile("void f(void) { wrong_word; }");
  EXPECT_TRUE(has(what, "exited with 1") && has(what, "wrong_word") && has(what, "error")) << what;
  EXPECT_TRUE(has(compile("int g(void); int f(void) { return g(); }"), "undefined reference to `g'") ||
              has(compile("int g(void); int f(void) { return g(); }"), "undefined symbol: g"));
  compile("\x01\x02 {{{{");
  EXPECT_TRUE(std::filesystem::is_empty(top.path()));  // nothing is left behind
  EXPECT_FALSE(HostCompiler::find()->compile("").empty());
  EXPECT_TRUE(std::filesystem::is_empty(top.path()));
}

TEST(HostCompiler, LibrariesAreLinkedWhereTheyAreNeeded) {
  const Bytes object = HostCompiler::find()->compile(R"(
    double erf(double);
    void* memset(void*, int, unsigned long);
    double f(double x) { return erf(x); }
    void zero(char* p, long n) { memset(p, 0, n); }
    float narrow(float x) { _Float16 h = x; return h; })");
  EXPECT_EQ(load<double (*)(double)>(object, "f")(0.5), std::erf(0.5));
  char text[] = "abc";
  load<void (*)(char*, long)>(object, "zero")(text, 2);
  EXPECT_EQ(std::string(text, 3), std::string("\0\0c", 3));
  EXPECT_EQ(load<float (*)(float)>(object, "narrow")(1.0004F), 1);
}

TEST(HostCompiler, DeterministicCodeRoundsEveryOperation) {
  const char* source = "double f(double a, double b, double c) { return a * b + c; }";
  const CompileOptions deterministic{.deterministic = true};
  const auto f = load<double (*)(double, double, double)>(HostCompiler::find()->compile(source, deterministic), "f");
  const volatile double a = 1 + 0x1p-30, product = a * a;
  EXPECT_EQ(f(a, a, -product), 0);  // not the error of the product
  EXPECT_NE(HostCompiler::flags(deterministic), HostCompiler::flags({}));
  const CompileOptions defined{.extra = {"-DVALUE=3"}};
  EXPECT_EQ(load<int (*)()>(HostCompiler::find()->compile("int g(void) { return VALUE; }", defined), "g")(), 3);
  for (const std::string& flag : HostCompiler::flags(deterministic)) EXPECT_FALSE(has(flag, "fast")) << flag;
}

TEST(HostCompiler, StrangeCompilersAreErrors) {
  const PrivateFolder folder, temporary_folder;
  const ScopedVariable temporary("TMPDIR", temporary_folder.path());
  const auto compile = [&](ErrorKind kind, const std::string& text, const CompileOptions& options = {}) {
    const HostCompiler compiler(script(folder, "strange", text));
    std::string what = error_of(kind, [&] { compiler.compile("int x;", options); });
    EXPECT_TRUE(std::filesystem::is_empty(temporary_folder.path())) << text;
    return what;
  };
  EXPECT_TRUE(has(compile(ErrorKind::undefined, "echo no licence >&2; exit 3"), "exited with 3:\nno licence"));
  EXPECT_TRUE(has(compile(ErrorKind::undefined, "kill -11 $$"), "was ended by signal 11"));
  EXPECT_TRUE(has(compile(ErrorKind::undefined, "exit 0"), "made no object"));
  EXPECT_TRUE(has(compile(ErrorKind::undefined, "echo junk > kernel.o"), "made no object"));
  EXPECT_LT(compile(ErrorKind::undefined, "head -c 10000000 /dev/zero; exit 1").size(), 100'000U);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(has(compile(ErrorKind::budget, "sleep 60 & sleep 60", {.timeout = 100ms}), "took too long"));
  EXPECT_TRUE(has(compile(ErrorKind::budget, "sleep 60", {.is_cancelled = [] { return true; }}), "was cancelled"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  const std::string gone = script(folder, "gone", "");
  const HostCompiler compiler(gone);
  std::filesystem::remove(gone);
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { compiler.compile("int x;"); }), "could not be started"));
}

TEST(HostCompiler, WithoutRoomForItsFilesItSaysSo) {
  const std::shared_ptr<const HostCompiler> compiler = HostCompiler::find();
  {
    const ScopedVariable temporary("TMPDIR", "/nowhere/at/all");
    const std::string what = error_of(ErrorKind::budget, [&] { compiler->compile("int x;"); });
    EXPECT_TRUE(has(what, "/nowhere/at/all")) << what;
  }
  EXPECT_FALSE(compiler->compile("int x;").empty());  // the next call works
}

TEST(HostCompiler, RelativePathsAreThoseOfTheCaller) {
  const PrivateFolder folder;
  script(folder, "cc", "echo relative");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  {
    const ScopedFlag flag(flags::CC, std::string("./cc"));
    EXPECT_EQ(HostCompiler::find()->version(), "relative");
  }
  std::filesystem::current_path(before);
}

TEST(CompileClang, GoesThroughTheDiskCache) {
  const PrivateFolder folder;
  const ScopedFlag on(flags::DISK_CACHE, true);
  const ScopedFlag place(flags::CACHE_DIR, folder.file("cache"));
  const std::string source = "int f(void) { return 11; }";
  const Bytes first = compile_clang(source);
  EXPECT_EQ(compile_clang(source), first);
  EXPECT_EQ(DiskCache::shared()->statistics().hits, 1U);
  compile_clang(source, {.deterministic = true});
  compile_clang(source + " ");
  const DiskCache::Statistics after = DiskCache::shared()->statistics();
  EXPECT_EQ(after.hits, 1U);
  EXPECT_EQ(after.stored, 3U);
  error_of(ErrorKind::undefined, [] { compile_clang("int f(void) { return"); });
  EXPECT_EQ(DiskCache::shared()->statistics().stored, 3U);
  const ScopedFlag off(flags::DISK_CACHE, false);
  EXPECT_EQ(load<int (*)()>(compile_clang(source), "f")(), 11);
}

TEST(CompileClangThread, ManyAtOnce) {
  const PrivateFolder folder;
  const ScopedFlag on(flags::DISK_CACHE, true);
  const ScopedFlag place(flags::CACHE_DIR, folder.file("cache"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int turn = 0; turn < 3; ++turn) {
        const int value = (t + turn) % 4;
        const Bytes object = compile_clang(detail::message("int f(void) { return ", value, "; }"));
        EXPECT_EQ(SharedObject::load(object)->function<int (*)()>("f")(), value);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(CpuFeatures, AreTheSameEveryTime) {
  EXPECT_FALSE(cpu_features().empty());
  EXPECT_EQ(&cpu_features(), &cpu_features());
}

}  // namespace
}  // namespace strata
