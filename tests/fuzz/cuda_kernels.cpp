// Random kernels for a machine with a GPU, on which nothing of Strata is built.
//
//   cuda_kernels write FOLDER --count N --seed S     here: the kernels as CUDA, in kernels<K>.cu, and what they work on
//   nvcc -fmad=false FOLDER/*.cu -o run && ./run FOLDER     there: leaves FOLDER/results.bin
//   cuda_kernels check FOLDER --count N --seed S     here: compares with the oracle of fuzz_kernel
//
// Kernels run as many instances as they have, in blocks of 64, so that the last block has some too many. Each buffer
// lies between guards, which nobody may touch.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/codegen/kernel_trial.h"
#include "tests/fuzz/flags.h"

namespace strata::oracle {
namespace {

constexpr std::uint64_t kFiles = 16;  // nvcc is slow, and runs beside itself

constexpr std::string_view kMain = R"(#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
struct Case { const void* kernel; const char* name; long long instances; std::vector<long long> bytes, slots, values; };
@declared
int main(int, char** argv) {
  std::vector<Case> cases;
  @called
  const std::string folder = argv[1];
  FILE* in = fopen((folder + "/before.bin").c_str(), "rb");
  FILE* out = fopen((folder + "/results.bin").c_str(), "wb");
  const size_t guard = 256;
  int faults = 0;
  for (Case& c : cases) {
    std::vector<void*> memory, arguments;
    std::vector<std::vector<char>> host;
    for (const long long n : c.bytes) {
      host.emplace_back(n + 2 * guard, (char)0xa5);
      if (fread(host.back().data() + guard, 1, n, in) != (size_t)n) return 3;
      void* there = nullptr;
      cudaMalloc(&there, n + 2 * guard);
      cudaMemcpy(there, host.back().data(), n + 2 * guard, cudaMemcpyHostToDevice);
      memory.push_back((char*)there + guard);
    }
    for (const long long slot : c.slots) arguments.push_back(&memory[slot]);
    for (long long& v : c.values) arguments.push_back(&v);
    cudaLaunchKernel(c.kernel, dim3((c.instances + 63) / 64), dim3(64), arguments.data(), 0, 0);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
      printf("%s: %s\n", c.name, cudaGetErrorString(error));
      return 1;
    }
    for (size_t k = 0; k < memory.size(); ++k) {
      cudaMemcpy(host[k].data(), (char*)memory[k] - guard, host[k].size(), cudaMemcpyDeviceToHost);
      for (size_t j = 0; j < guard; ++j)
        if (host[k][j] != (char)0xa5 || host[k][host[k].size() - 1 - j] != (char)0xa5) {
          printf("%s: writes outside of buffer %d\n", c.name, (int)k);
          ++faults;
          break;
        }
      fwrite(host[k].data() + guard, 1, c.bytes[k], out);
      cudaFree((char*)memory[k] - guard);
    }
  }
  printf("%d kernels, %d faults\n", (int)cases.size(), faults);
  return fclose(out) != 0 || faults != 0;
}
)";

std::string list_of(std::span<const long long> numbers) {
  std::string out;
  for (const long long n : numbers) out += detail::message(out.empty() ? "" : ", ", static_cast<std::int64_t>(n));
  return "{" + out + "}";
}
std::string replaced(std::string text, std::string_view what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

int write(const std::filesystem::path& folder, std::uint64_t count, std::uint64_t seed) {
  std::filesystem::create_directories(folder);
  std::map<std::uint64_t, std::string> kernels, cases;
  std::string declared, called;
  std::ofstream before(folder / "before.bin", std::ios::binary);
  std::uint64_t written = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    Trial trial(drawn(seed + k));
    Verdict verdict;
    const std::string name = "k" + std::to_string(seed + k);
    const std::optional<Trial::Launch> launch = trial.launch(CUDALanguage(), name, verdict);
    if (verdict.fails()) std::printf("%s: %s\n", name.c_str(), verdict.text.c_str());
    if (!launch) continue;
    std::vector<long long> bytes;
    for (GuardedMemory b : trial.before()) {
      bytes.push_back(static_cast<long long>(b.bytes().size()));
      before.write(reinterpret_cast<const char*>(b.bytes().data()), static_cast<std::streamsize>(b.bytes().size()));
    }
    const std::uint64_t file = written * kFiles / count;
    kernels[file] += launch->source;
    cases[file] +=
        detail::message("  out.push_back({(const void*)", name, ", \"", name, "\", ", launch->instances, ", ",
                        list_of(bytes), ", ", list_of(launch->slots), ", ", list_of(launch->values), "});\n");
    ++written;
  }
  for (const auto& [file, text] : kernels) {
    const std::string number = std::to_string(file);
    std::ofstream(folder / ("kernels" + number + ".cu"))
        << text << "\n#include <vector>\nstruct Case { const void* kernel; const char* name; long long instances; "
        << "std::vector<long long> bytes, slots, values; };\nvoid cases" << number << "(std::vector<Case>& out) {\n"
        << cases[file] << "}\n";
    declared += "void cases" + number + "(std::vector<Case>& out);\n";
    called += "cases" + number + "(cases);\n";
  }
  std::ofstream(folder / "main.cu") << replaced(replaced(std::string(kMain), "@declared", declared), "@called", called);
  std::printf("%llu of %llu kernels\n", static_cast<unsigned long long>(written),
              static_cast<unsigned long long>(count));
  return written == 0 ? 1 : 0;
}

int check(const std::filesystem::path& folder, std::uint64_t count, std::uint64_t seed) {
  std::ifstream results(folder / "results.bin", std::ios::binary);
  int compared = 0, faults = 0;
  Comparison all;
  for (std::uint64_t k = 0; k < count; ++k) {
    const unsigned long long number = seed + k;
    Trial trial(drawn(number));
    Verdict verdict;
    if (!trial.launch(CUDALanguage(), "k", verdict)) continue;
    Buffers after = trial.before();
    for (GuardedMemory& b : after)
      results.read(reinterpret_cast<char*>(b.bytes().data()), static_cast<std::streamsize>(b.bytes().size()));
    if (!results) {
      std::printf("the results end at kernel %llu\n", number);
      return 1;
    }
    if (trial.oracle().fails()) continue;
    const Verdict v = trial.left("CUDA", after);
    ++compared;
    if (!v.fails()) continue;
    ++faults;
    std::printf("kernel %llu: %s\n%s\n", number, v.text.c_str(), trial.text().c_str());
  }
  std::printf("%d kernels compared, %d differ\n", compared, faults);
  return compared == 0 || faults != 0 ? 1 : 0;
}

int run(std::span<char* const> arguments) {
  std::uint64_t count = 200, seed = 1;
  for (std::size_t k = 3; k + 1 < arguments.size(); k += 2) {
    const std::string_view flag = arguments[k];
    if (flag == "--count") count = number_of(flag, arguments[k + 1]);
    if (flag == "--seed") seed = number_of(flag, arguments[k + 1]);
  }
  const std::string_view what = arguments.size() < 3 ? "" : arguments[1];
  if (what == "write") return write(arguments[2], count, seed);
  if (what == "check") return check(arguments[2], count, seed);
  std::fprintf(stderr, "cuda_kernels write|check FOLDER [--count N] [--seed S]\n");
  return 2;
}

}  // namespace
}  // namespace strata::oracle

int main(int argc, char** argv) { return strata::oracle::run({argv, static_cast<std::size_t>(argc)}); }
