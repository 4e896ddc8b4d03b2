// The conformance cases of ONNX (Debian: libonnx-testdata), run in one process, so that cases share compiled kernels.
//
//   onnx_conformance --refused tests/onnx/refused.txt [--data FOLDER] [--threads N] [--slow SECONDS] [FILTER...]
//
// A case is a folder with model.onnx and test_data_set_K/{input,output}_J.pb. It passes if each output has the expected
// type and shape, and elements within rtol 1e-3 and atol 1e-7; integers, bools and texts are equal. Outputs of models
// that draw random numbers are compared by type and shape. Cases that do not pass stand in the list of refused ones,
// with a reason; the program fails if a listed case passes, or another one fails. A FILTER is a part of a case's path.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/check.h"
#include "strata/onnx/call.h"
#include "strata/onnx/model.h"
#include "strata/onnx/reader.h"

namespace {

namespace fs = std::filesystem;
using namespace strata;
using onnx::Datum;

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

std::string bytes_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// A value of a file. The data has the bits of bf16 as u16.
Datum read_file(const fs::path& file, const onnx::Port& port) {
  Datum value = onnx::read_value(bytes_of_file(file), port.kind, file.string());
  const bool is_bits = port.dtype == dtypes::bfloat16 && value.is_tensor() && value.tensor().dtype() == dtypes::uint16;
  return is_bits ? Datum(value.tensor().bitcast(dtypes::bfloat16)) : value;
}

/// Why `got` is not `expected`; empty if it is.
std::string difference(const Datum& got, const Datum& expected, bool is_random) {
  if (expected.is_sequence() && got.is_sequence() && got.sequence().size() == expected.sequence().size()) {
    for (std::size_t k = 0; k < expected.sequence().size(); ++k)
      if (const std::string why = difference(got.sequence()[k], expected.sequence()[k], is_random); !why.empty())
        return "element " + std::to_string(k) + ": " + why;
    return {};
  }
  if (got.type_text() != expected.type_text()) return "is " + got.type_text() + " instead of " + expected.type_text();
  if (expected.is_texts() && got.texts().elements != expected.texts().elements) return "the texts are others";
  if (!expected.is_tensor() || is_random) return {};
  if (got.tensor().dtype() == dtypes::bfloat16) {
    // The data is cut where it should be rounded: the last bit may differ.
    const onnx::Sizes a = onnx::read_integers(got.tensor().bitcast(dtypes::uint16));
    const onnx::Sizes b = onnx::read_integers(expected.tensor().bitcast(dtypes::uint16));
    for (std::size_t k = 0; k < a.size(); ++k)
      if (std::abs(a[k] - b[k]) > 1) return "element " + std::to_string(k) + " differs by more than the last bit";
    return {};
  }
  if (!got.tensor().dtype().is_float()) {
    const onnx::Sizes a = onnx::read_integers(got.tensor()), b = onnx::read_integers(expected.tensor());
    for (std::size_t k = 0; k < a.size(); ++k)
      if (a[k] != b[k])
        return "element " + std::to_string(k) + " is " + std::to_string(a[k]) + " instead of " + std::to_string(b[k]);
    return {};
  }
  const std::vector<double> a = onnx::read_numbers(got.tensor()), b = onnx::read_numbers(expected.tensor());
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
    if (!(std::abs(a[k] - b[k]) <= kAbsolute + kRelative * std::abs(b[k])))
      return "element " + std::to_string(k) + " is " + std::to_string(a[k]) + " instead of " + std::to_string(b[k]);
  }
  return {};
}

bool draws_random_numbers(const onnx::Definition& model) {
  static const std::set<std::string> kRandom = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  for (const onnx::Graph& graph : model.graphs)
    for (const onnx::Node& node : graph.nodes) {
      if (kRandom.contains(node.op)) return true;
      // Dropout draws where it is in training: where it has the third input.
      if (node.op == "Dropout" && node.inputs.size() > 2) return true;
    }
  return false;
}

/// Runs all data sets of a case. Returns why it does not pass; empty if it does.
std::string run_case(const fs::path& folder) {
  try {
    const auto model = onnx::load((folder / "model.onnx").string(), {.checks_sizes = false});
    const onnx::Graph& graph = model->definition().graphs[0];
    const bool is_random = draws_random_numbers(model->definition());
    for (int set = 0;; ++set) {
      const fs::path data = folder / ("test_data_set_" + std::to_string(set));
      if (!fs::exists(data)) return set > 0 ? "" : "there is no data";
      onnx::NamedValues inputs;
      for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
        const fs::path file = data / ("input_" + std::to_string(k) + ".pb");
        if (!fs::exists(file)) break;
        inputs.emplace_back(graph.inputs[k].name, read_file(file, graph.inputs[k]));
      }
      const onnx::NamedValues outputs = (*model)(inputs);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const fs::path file = data / ("output_" + std::to_string(k) + ".pb");
        const Datum expected = read_file(file, graph.outputs[k]);
        const std::string why = difference(outputs[k].second, expected, is_random);
        if (!why.empty()) return "output " + outputs[k].first + ": " + why;
      }
    }
  } catch (const std::exception& e) {
    return e.what();
  }
}

struct Options {
  fs::path data = "/usr/include/onnx/backend/test/data";
  std::string refused;
  unsigned threads = 1;
  double slow = 1e9;
  std::vector<std::string> filters;
};

Options options_of(int argc, char** argv) {
  Options out;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool has_value = k + 1 < argc;
    if (word == "--data" && has_value)
      out.data = argv[++k];
    else if (word == "--refused" && has_value)
      out.refused = argv[++k];
    else if (word == "--threads" && has_value)
      out.threads = static_cast<unsigned>(std::stoul(argv[++k]));
    else if (word == "--slow" && has_value)
      out.slow = std::stod(argv[++k]);
    else
      out.filters.push_back(word);
  }
  return out;
}

/// The cases that pass the filters, as paths below the data.
std::vector<std::string> cases_of(const Options& options) {
  std::vector<std::string> out;
  for (const auto& group : fs::directory_iterator(options.data))
    for (const auto& folder : fs::directory_iterator(group.path())) {
      const std::string name = fs::relative(folder.path(), options.data).string();
      const bool is_wanted = options.filters.empty() ||
                             std::any_of(options.filters.begin(), options.filters.end(),
                                         [&](const std::string& f) { return name.find(f) != std::string::npos; });
      if (is_wanted && fs::exists(folder.path() / "model.onnx")) out.push_back(name);
    }
  std::sort(out.begin(), out.end());
  return out;
}

/// "path reason" by line; lines that begin with # are comments.
std::map<std::string, std::string> refused_of(const std::string& path) {
  std::map<std::string, std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out[line.substr(0, line.find(' '))] = line;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  const std::vector<std::string> cases = cases_of(options);
  const std::map<std::string, std::string> refused = refused_of(options.refused);
  if (cases.empty() || !onnx::has_reader()) {
    std::puts(cases.empty() ? "there are no cases (Debian: libonnx-testdata)" : "this build reads no ONNX files");
    return cases.empty() && !options.filters.empty() ? 1 : 0;
  }
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::atomic<std::size_t> next = 0, passed = 0, failed = 0, listed = 0;
  std::mutex printing;
  const auto work = [&] {
    for (std::size_t k = next++; k < cases.size(); k = next++) {
      const auto from = Clock::now();
      const std::string why = run_case(options.data / cases[k]);
      const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
      const bool is_listed = refused.contains(cases[k]);
      ++(why.empty() && !is_listed ? passed : !why.empty() && is_listed ? listed : failed);
      const std::lock_guard lock(printing);
      if (why.empty() == is_listed)
        std::printf("FAILED %s: %s\n", cases[k].c_str(),
                    why.empty() ? "passes, but is in the list of refused cases" : why.c_str());
      if (seconds > options.slow) std::printf("slow %s: %.2f s\n", cases[k].c_str(), seconds);
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 1; k < options.threads; ++k) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu passed, %zu failed, %zu refused as listed, %.1f s\n", passed.load(), failed.load(), listed.load(),
              std::chrono::duration<double>(Clock::now() - begin).count());
  return failed == 0 ? 0 : 1;
}
