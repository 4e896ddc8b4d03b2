#include "tests/fuzz/kernel_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "strata/base/check.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/posix_io.h"
#include "strata/runtime/subprocess.h"
#include "tests/render/host.h"

namespace strata::oracle {
namespace {

using detail::message;

// Both files are in 64-bit numbers and the bytes of buffers. In: the number of buffers, of each its size and bytes, the
// number of calls, that of values, the values. Out, as each kernel ends: of each buffer its bytes and whether what is
// around them was left alone.
constexpr std::string_view kMain = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block { unsigned char *all, *data; long long bytes, before, behind; };

static void need(int fine) {
  if (fine) return;
  fputs("the program's own files fail\n", stderr);
  exit(3);
}
static long long number(FILE* in) {
  long long out = 0;
  need(fread(&out, sizeof(out), 1, in) == 1);
  return out;
}

#ifdef __SANITIZE_ADDRESS__
#define CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKED 1
#endif
#endif

#ifdef CHECKED
void __asan_poison_memory_region(void const volatile*, size_t);
void __asan_unpoison_memory_region(void const volatile*, size_t);
const char* __asan_default_options(void);
const char* __asan_default_options(void) { return "detect_leaks=0:print_legend=0"; }
enum { kGuard = 0 };
static void guard(struct block* b) { __asan_poison_memory_region(b->all, (size_t)b->before); }
static int intact(struct block* b) {
  __asan_unpoison_memory_region(b->all, (size_t)b->before);
  return 1;
}
#else
enum { kGuard = 64 };
static void guard(struct block* b) {
  memset(b->all, 0xa5, (size_t)b->before);
  memset(b->data + b->bytes, 0xa5, (size_t)b->behind);
}
static int intact(struct block* b) {
  long long wrong = 0;
  for (long long k = 0; k < b->before; k++) wrong += b->all[k] != 0xa5;
  for (long long k = 0; k < b->behind; k++) wrong += b->data[b->bytes + k] != 0xa5;
  return wrong == 0;
}
#endif

static struct block block_of(FILE* in, int shifted) {
  struct block b = {0, 0, number(in), kGuard, kGuard};
  b.before += b.bytes == 0 ? 16 : shifted ? 8 : 0;
  b.all = malloc((size_t)(b.before + b.bytes + b.behind));
  need(b.all != 0);
  b.data = b.all + b.before;
  need(fread(b.data, 1, (size_t)b.bytes, in) == (size_t)b.bytes);
  guard(&b);
  return b;
}

static void call_all(FILE* in, entry_of_kernel* entry, void* const* pointers) {
  long long calls = number(in), count = number(in);
  for (long long c = 0; c < calls; c++) {
    long long* values = malloc((size_t)count * sizeof(*values));
    need(values != 0 || count == 0);
    for (long long k = 0; k < count; k++) values[k] = number(in);
    if (entry != 0) entry(pointers, values);
    free(values);
  }
}

static void run(FILE* in, FILE* out, entry_of_kernel* entry, int ordinal) {
  const long long count = number(in);
  struct block* blocks = malloc((size_t)count * sizeof(*blocks));
  void** pointers = malloc((size_t)count * sizeof(*pointers));
  need(count == 0 || (blocks != 0 && pointers != 0));
  for (long long k = 0; k < count; k++) {
    blocks[k] = block_of(in, (int)((ordinal + k) % 2));
    pointers[k] = blocks[k].data;
  }
  call_all(in, entry, pointers);
  for (long long k = 0; k < count; k++) {
    const long long whole = intact(&blocks[k]);
    const size_t bytes = (size_t)blocks[k].bytes;
    if (entry != 0) {
      need(fwrite(blocks[k].data, 1, bytes, out) == bytes);
      need(fwrite(&whole, sizeof(whole), 1, out) == 1);
    }
    free(blocks[k].all);
  }
  free(blocks);
  free(pointers);
  need(fflush(out) == 0);
}

int main(int argc, char** argv) {
  const int first = argc > 1 ? atoi(argv[1]) : 0;
  FILE *in = fopen("before", "rb"), *out = fopen("after", "wb");
  need(in != 0 && out != 0);
  for (int k = 0; entries[k] != 0; k++) run(in, out, k < first ? 0 : entries[k], k);
  fclose(in);
  fclose(out);
  return 0;
}
)";

std::string source_of(std::span<const ProgramKernel> kernels) {
  std::string out, entries;
  for (const ProgramKernel& k : kernels) {
    // Of a function that others may call compilers want a declaration.
    out += message("void ", k.name, "_entry(void* const* buffers, const long long* values);\n", "#line 1 \"", k.name,
                   ".c\"\n", k.source, "\n");
    entries += message(k.name, "_entry, ");
  }
  return out += message("#line 1 \"main.c\"\n",
                        "typedef void entry_of_kernel(void* const* buffers, const long long* values);\n",
                        "static entry_of_kernel* const entries[] = {", entries, "0};\n", kMain);
}

Bytes input_of(std::span<const ProgramKernel> kernels) {
  Bytes out;
  const auto put = [&](const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    out.insert(out.end(), at, at + bytes);
  };
  const auto number = [&](std::size_t n) {
    const auto wide = static_cast<std::int64_t>(n);
    put(&wide, sizeof(wide));
  };
  for (const ProgramKernel& k : kernels) {
    number(k.buffers.size());
    for (const Bytes& b : k.buffers) {
      number(b.size());
      put(b.data(), b.size());
    }
    number(k.calls.size());
    number(k.calls.empty() ? 0 : k.calls.front().size());
    for (const std::vector<long long>& values : k.calls) put(values.data(), values.size() * sizeof(long long));
  }
  return out;
}

/// What a program left in the file of buffers.
class Output {
 public:
  explicit Output(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return;
    bytes_.resize(static_cast<std::size_t>(status.st_size));
    if (!read_exactly(file.get(), bytes_.data(), bytes_.size())) bytes_.clear();
  }

  /// The next kernel's, or false where it did not get that far.
  bool take(const ProgramKernel& kernel, ProgramOutcome& out) {
    std::size_t need = 0;
    for (const Bytes& b : kernel.buffers) need += b.size() + sizeof(std::int64_t);
    if (need > bytes_.size() - at_) return false;
    for (std::size_t slot = 0; slot < kernel.buffers.size(); ++slot) {
      const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
      const std::size_t size = kernel.buffers[slot].size();
      out.buffers.emplace_back(from, from + static_cast<std::ptrdiff_t>(size));
      std::int64_t whole = 0;
      std::memcpy(&whole, bytes_.data() + at_ + size, sizeof(whole));
      if (whole == 0) out.fault = message("wrote around buffer ", slot);
      at_ += size + sizeof(whole);
    }
    return true;
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
};

/// How it ended and what it said, but for the bytes that AddressSanitizer keeps.
std::string told(const ProcessResult& result) {
  return message(describe(result), "\n", result.output.substr(0, result.output.find("Shadow bytes around")));
}

/// A folder with one program in it.
class Program {
 public:
  Program(std::span<const ProgramKernel> kernels, const ProgramBuild& build) : kernels_(kernels), build_(build) {}

  /// What the compiler says, where it makes no program.
  std::string built() const {
    const std::string source = source_of(kernels_);
    const Bytes before = input_of(kernels_);
    write("kernels.c", source.data(), source.size());
    write("before", before.data(), before.size());
    CompileOptions options;
    options.deterministic = build_.is_deterministic;
    if (build_.is_checked)
      options.extra = {"-O1",
                       "-g",
                       "-fsanitize=address,undefined,float-cast-overflow",
                       "-fno-sanitize-recover=all",
                       "-fno-omit-frame-pointer",
                       "-Wall",
                       "-Wextra",
                       "-Werror",
                       "-Wno-invalid-feature-combination",  // clang's own features, on processors with AVX10
                       "-DSTRATA_PLAIN_STORES"};
    std::vector<std::string> words = {build_.compiler, "kernels.c", "-o", "kernels"};
    const std::vector<std::string> flags = HostCompiler::flags(options);
    words.insert(words.end(), flags.begin(), flags.end());
    words.emplace_back("-lm");
    const ProcessResult result = run(std::move(words));
    return result.succeeded() ? "" : message("the compiler ", told(result));
  }

  /// All kernels from `first` on, up to one that ends the program: `first` is then the one behind it.
  void run_from(std::size_t& first, std::span<ProgramOutcome> outcomes) const {
    const ProcessResult result = run({folder_.file("kernels"), std::to_string(first)});
    Output output(folder_.file("after"));
    while (first < kernels_.size() && output.take(kernels_[first], outcomes[first])) ++first;
    if (first == kernels_.size() && result.succeeded()) return;
    const std::size_t at = std::min(first, kernels_.size() - 1);
    outcomes[at].fault = message("the program ", told(result));
    first = at + 1;
  }

 private:
  ProcessResult run(std::vector<std::string> words) const {
    Command command;
    command.words = std::move(words);
    command.folder = folder_.path();
    command.timeout = std::chrono::minutes(5);
    return run_process(command);
  }
  void write(const char* name, const void* data, std::size_t bytes) const {
    const Fd file(open(folder_.file(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    STRATA_CHECK(file && write_all(file.get(), data, bytes), budget, "[program] cannot write ", folder_.path(), ": ",
                 last_error_text());
  }

  std::span<const ProgramKernel> kernels_;
  const ProgramBuild& build_;
  PrivateFolder folder_;
};

}  // namespace

std::string ProgramBuild::words() const {
  return message(std::filesystem::path(compiler).filename().string(), is_checked ? ", checked" : "",
                 is_deterministic ? ", deterministic" : "");
}

std::vector<std::string> program_compilers(const std::vector<std::string>& names, bool is_checked) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string path = test::find_program(name);
    if (!path.empty() && Program({}, {path, is_checked, false}).built().empty()) out.push_back(path);
  }
  return out;
}

std::vector<ProgramOutcome> run_kernels(std::span<const ProgramKernel> kernels, const ProgramBuild& build) {
  std::vector<ProgramOutcome> out(kernels.size());
  // Halves of what the compiler refuses, until it is one kernel.
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, kernels.size()}};
  while (!open.empty()) {
    const auto [begin, end] = open.back();
    open.pop_back();
    if (begin == end) continue;
    const Program program(kernels.subspan(begin, end - begin), build);
    const std::string complaint = program.built();
    const std::size_t middle = begin + (end - begin) / 2;
    if (!complaint.empty() && end - begin == 1) {
      out[begin].fault = complaint;
    } else if (!complaint.empty()) {
      open.emplace_back(begin, middle);
      open.emplace_back(middle, end);
    } else {
      for (std::size_t at = 0; at < end - begin;) program.run_from(at, std::span(out).subspan(begin, end - begin));
    }
  }
  return out;
}

}  // namespace strata::oracle
