// The conformance cases of ONNX (Debian: libonnx-testdata) through C: each case is exported (export_c.h), compiled with
// warnings as errors, and run in another process, which compares.
//
//   onnx_cases --refused tests/export/refused.txt [--data FOLDER] [--every N] [--units N] [--threads N] [--compiler CC]
//              [--flags WORDS] [--device NAME] [--target T] [--keep FOLDER] [FILTER...]
//
// A case passes if each output has elements within rtol 1e-3 and atol 1e-7 of the expected ones; integers and bools are
// equal. Outputs of models that draw random numbers are not compared. Inputs whose elements decide a size or a branch
// are constants of the export; a case of which nothing is left to compute then is listed. Cases that do not pass stand
// in the list of refused ones, with a reason; the program fails if a listed case passes, or another one fails. The
// sources of many cases are one file: no two names are the same. `--every N` takes each N-th case. A FILTER is a part
// of a case's path.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/export_c.h"
#include "strata/onnx/call.h"
#include "strata/onnx/capture.h"
#include "strata/onnx/reader.h"
#include "strata/runtime/posix_io.h"
#include "strata/runtime/subprocess.h"

namespace {

namespace fs = std::filesystem;
using namespace strata;
using onnx::Datum;
using strata::detail::message;

/// What all units share: memory, and the comparison of elements.
constexpr const char* kCommon = R"(#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of exactly so many bytes. */
static void *get_(size_t bytes) {
  void *const out = malloc(bytes > 0 ? bytes : 1);
  if (out == 0) { exit(3); }
  memset(out, 0x5a, bytes);
  return out;
}
static void *aligned_(size_t bytes) {
  void *const out = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (out == 0) { exit(3); }
  return out;
}
static void *read_(FILE *data, size_t bytes) {
  void *const out = get_(bytes);
  if (fread(out, 1, bytes, data) != bytes) { exit(4); }
  return out;
}
static double half_(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  double out = (bits & 1023) + (exponent > 0 ? 1024 : 0);
  int k;
  if (exponent == 31) { return (bits & 1023) != 0 ? (double)(0.0f / (float)(bits & 0)) : (bits >> 15) != 0 ? -1e300 : 1e300; }
  for (k = exponent > 0 ? exponent : 1; k < 25; ++k) { out /= 2; }
  for (k = 25; k < exponent; ++k) { out *= 2; }
  return (bits >> 15) != 0 ? -out : out;
}
static double number_(const char *type, const unsigned char *at, size_t k) {
  if (strcmp(type, "f16") == 0) { return half_(((const uint16_t *)(const void *)at)[k]); }
  if (strcmp(type, "f32") == 0) { return (double)((const float *)(const void *)at)[k]; }
  return ((const double *)(const void *)at)[k];
}
/* Whether the elements are those that are expected; prints the first that is not. */
static int same_(const char *model, const char *output, const char *type, size_t size, const void *got,
                 const void *expected, size_t count) {
  const unsigned char *const a = (const unsigned char *)got, *const b = (const unsigned char *)expected;
  size_t k;
  for (k = 0; k < count; ++k) {
    if (strcmp(type, "bf16") == 0) {
      const int x = ((const uint16_t *)got)[k], y = ((const uint16_t *)expected)[k];
      if (x - y >= -1 && x - y <= 1) { continue; }
    } else if (type[0] == 'f') {
      const double x = number_(type, a, k), y = number_(type, b, k);
      const double d = x > y ? x - y : y - x, bound = 1e-7 + 1e-3 * (y < 0 ? -y : y);
      if (x == y || (x != x && y != y) || d <= bound) { continue; }
      printf("%s FAILED output %s: element %zu is %g instead of %g\n", model, output, k, x, y);
      return 0;
    } else if (memcmp(a + k * size, b + k * size, size) == 0) {
      continue;
    }
    printf("%s FAILED output %s: element %zu is another one\n", model, output, k);
    return 0;
  }
  return 1;
}
static int ran_(const char *model, int status, const char *text) {
  if (status != 0) { printf("%s FAILED %s\n", model, text); }
  return status == 0;
}
)";

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

bool draws_random_numbers(const onnx::Definition& model) {
  static const std::set<std::string> kRandom = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  for (const onnx::Graph& graph : model.graphs)
    for (const onnx::Node& node : graph.nodes) {
      if (kRandom.contains(node.op)) return true;
      if (node.op == "Dropout" && node.inputs.size() > 2) return true;
    }
  return false;
}

struct Options {
  fs::path data = "/usr/include/onnx/backend/test/data";
  std::string refused, compiler = "cc", device = "INTERP", target = "generic", keep;
  std::vector<std::string> flags = {"-O1"};
  std::size_t every = 1, units = 8;
  unsigned threads = 1;
  std::vector<std::string> filters;
};

Options options_of(int argc, char** argv) {
  Options out;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool has_value = k + 1 < argc;
    const auto number = [&] { return static_cast<std::size_t>(std::stoul(argv[++k])); };
    if (word == "--data" && has_value)
      out.data = argv[++k];
    else if (word == "--refused" && has_value)
      out.refused = argv[++k];
    else if (word == "--every" && has_value)
      out.every = number();
    else if (word == "--units" && has_value)
      out.units = number();
    else if (word == "--threads" && has_value)
      out.threads = static_cast<unsigned>(number());
    else if (word == "--compiler" && has_value)
      out.compiler = argv[++k];
    else if (word == "--flags" && has_value) {
      std::istringstream words(argv[++k]);
      out.flags.clear();
      for (std::string flag; words >> flag;) out.flags.push_back(flag);
    } else if (word == "--device" && has_value)
      out.device = argv[++k];
    else if (word == "--target" && has_value)
      out.target = argv[++k];
    else if (word == "--keep" && has_value)
      out.keep = argv[++k];
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
  std::vector<std::string> taken;
  for (std::size_t k = 0; k < out.size(); k += options.every) taken.push_back(out[k]);
  return taken;
}

/// "path reason" by line; lines that begin with # are comments.
std::map<std::string, std::string> refused_of(const std::string& path) {
  std::map<std::string, std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out[line.substr(0, line.find(' '))] = line;
  return out;
}

/// The C code of cases, and the data that it reads in order.
struct Unit {
  std::string code, data, calls;
};

std::string elements_of(const Tensor& x) {
  const Buffer memory = x.contiguous().buffer().toCPU();
  const auto bytes = static_cast<std::size_t>(x.numel().value()) * x.itemsize();
  return {static_cast<const char*>(memory.data()), bytes};
}

/// The data of a call, with what follows from it.
struct CallData {
  onnx::NamedValues inputs, constants;
  std::vector<Tensor> expected;
};

CallData read_call(const onnx::Model& model, const fs::path& data) {
  const onnx::Graph& graph = model.definition().graphs[0];
  CallData out;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const fs::path file = data / message("input_", k, ".pb");
    if (!fs::exists(file)) break;
    const Datum value = read_file(file, graph.inputs[k]);
    STRATA_CHECK(value.is_tensor(), domain, "the input ", graph.inputs[k].name, " is ", value.type_text());
    out.inputs.emplace_back(graph.inputs[k].name, onnx::moved(value.tensor(), model.device()));
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const Datum value = read_file(data / message("output_", k, ".pb"), graph.outputs[k]);
    STRATA_CHECK(value.is_tensor(), domain, "the output ", graph.outputs[k].name, " is ", value.type_text());
    out.expected.push_back(value.tensor());
  }
  return out;
}

/// Captures a call; inputs whose elements decide sizes become constants.
onnx::Capture captured(const onnx::Model& model, CallData& call) {
  while (true) {
    onnx::Capture out = onnx::capture(model, call.inputs, call.constants);
    if (out.decisive.empty()) return out;
    for (const std::string& name : out.decisive) {
      const auto it =
          std::find_if(call.inputs.begin(), call.inputs.end(), [&](const auto& x) { return x.first == name; });
      call.constants.push_back(*it);
      call.inputs.erase(it);
    }
  }
}

/// The code that runs a call and compares.
void write_call(Unit& unit, const std::string& name, const onnx::Capture& capture, const CallData& call,
                const ExportedModel& model, bool is_random) {
  std::string arguments, code = message("static int ", name, "_case(FILE *data) {\n  int same = 1;\n");
  std::string checks, frees;
  for (std::size_t k = 0; k < capture.arguments.size(); ++k) {
    const Tensor& x = capture.arguments[k];
    const std::string elements = elements_of(x);
    unit.data += elements;
    code += message("  void *const a", k, " = read_(data, ", elements.size(), ");\n");
    arguments += message("(", exporting::c_type(x.dtype()), " *)a", k, ", ");
    frees += message("  free(a", k, ");\n");
  }
  for (std::size_t k = 0; k < call.expected.size(); ++k) {
    const Tensor& y = call.expected[k];
    const std::string elements = elements_of(y);
    unit.data += elements;
    code += message("  void *const e", k, " = read_(data, ", elements.size(), ");\n  void *const b", k, " = get_(",
                    elements.size(), ");\n");
    arguments += message("(", exporting::c_type(y.dtype()), " *)b", k, ", ");
    if (!is_random)
      checks += message("  same = same && same_(\"", name, "\", \"", capture.outputs[k], "\", \"", y.dtype().name(),
                        "\", ", y.itemsize(), ", b", k, ", e", k, ", ", y.numel().value(), ");\n");
    frees += message("  free(b", k, ");\n  free(e", k, ");\n");
  }
  if (model.state_bytes > 0) {
    code += message("  void *const state = aligned_(", model.state_bytes, ");\n");
    arguments += "state, ";
    frees += "  free(state);\n";
  }
  code += message("  void *const arena = aligned_(", model.arena_bytes, ");\n");
  if (model.state_bytes > 0)
    code += message("  same = ran_(\"", name, "\", (int)", name, "_reset(state), \"reset\");\n");
  code += message("  {\n    const ", name, "_status status = ", name, "_run(", arguments, "arena, ", model.arena_bytes,
                  ", 0, 0);\n    same = same && ran_(\"", name, "\", (int)status, ", name,
                  "_status_text(status));\n  }\n", checks, frees, "  free(arena);\n  return same;\n}\n");
  unit.code += code;
  unit.calls += message("  if (", name, "_case(data)) { printf(\"", name, " ok\\n\"); }\n  fflush(stdout);\n");
}

/// Exports a case to the unit. Returns the names of its models.
std::vector<std::string> export_case(const Options& options, const std::string& path, Unit& unit) {
  const fs::path folder = options.data / path;
  onnx::LoadOptions load;
  load.device = &Device::get(options.device);
  load.checks_sizes = false;
  const auto model = onnx::load((folder / "model.onnx").string(), load);
  const bool is_random = draws_random_numbers(model->definition());
  std::vector<std::string> names;
  for (int set = 0;; ++set) {
    const fs::path data = folder / message("test_data_set_", set);
    if (!fs::exists(data)) break;
    CallData call = read_call(*model, data);
    const onnx::Capture capture = captured(*model, call);
    ExportOptions how;
    how.target = options.target;
    how.inputs = capture.inputs;
    how.outputs = capture.outputs;
    how.unique_names = true;
    const std::string name = exporting::c_name(
        message(path.substr(0, 1), path.substr(path.find('/') + 1), set > 0 ? message("_s", set) : ""));
    const ExportedModel exported = exported_c(*capture.function, name, how);
    STRATA_CHECK(exported.kernels > 0 || !call.inputs.empty() || call.constants.empty(), domain,
                 "elements of all inputs decide sizes or branches, and nothing is left to compute");
    const std::vector<Tensor> results = (*capture.function)(capture.arguments);
    STRATA_CHECK(results.size() == call.expected.size(), domain, "there are ", results.size(), " outputs");
    for (std::size_t k = 0; k < results.size(); ++k)
      STRATA_CHECK(results[k].shape() == call.expected[k].shape() && results[k].dtype() == call.expected[k].dtype(),
                   shape, "output ", capture.outputs[k], " is ", results[k].dtype().name(), render(results[k].shape()),
                   " instead of ", call.expected[k].dtype().name(), render(call.expected[k].shape()));
    std::string source = exported.source;
    const std::string include = message("#include \"", name, ".h\"\n");
    STRATA_CHECK(source.find(include) != std::string::npos, domain, "the source has no ", include);
    source.replace(source.find(include), include.size(), "");
    unit.code += exported.header + source;
    write_call(unit, name, capture, call, exported, is_random);
    names.push_back(name);
  }
  STRATA_CHECK(!names.empty(), domain, "there is no data");
  return names;
}

/// Compiles and runs the unit. Returns the lines that its program printed, or what the compiler said.
std::string run_unit(const Options& options, const Unit& unit, const fs::path& folder, std::size_t number) {
  const fs::path base = folder / message("unit", number);
  std::ofstream(base.string() + ".c")
      << kCommon << unit.code
      << "int main(int count, char **words) {\n  FILE *const data = fopen(words[count > 1 ? "
         "1 : 0], \"rb\");\n  if (data == 0) { return 2; }\n"
      << unit.calls << "  fclose(data);\n  return 0;\n}\n";
  std::ofstream(base.string() + ".bin", std::ios::binary) << unit.data;
  Command compile;
  compile.words = {"/usr/bin/env", options.compiler, "-std=c11",         "-Wall", "-Wextra", "-Wpedantic",
                   "-Wconversion", "-Werror",        "-ffp-contract=off"};
  compile.words.insert(compile.words.end(), options.flags.begin(), options.flags.end());
  for (const char* word : {".c", "-o", ""})
    compile.words.push_back(std::string_view(word) == "-o" ? "-o" : base.string() + word);
  compile.folder = folder.string();
  compile.timeout = std::chrono::minutes(20);
  if (const ProcessResult done = run_process(compile); !done.succeeded())
    return "the compiler " + describe(done) + "\n" + done.output;
  Command run;
  run.words = {base.string(), base.string() + ".bin"};
  run.folder = folder.string();
  run.timeout = std::chrono::minutes(5);
  const ProcessResult done = run_process(run);
  return done.output + (done.succeeded() ? "" : "the program " + describe(done) + "\n");
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
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const PrivateFolder own;
  const fs::path folder = options.keep.empty() ? fs::path(own.path()) : fs::path(options.keep);
  std::map<std::string, std::string> why;  // by case; empty: passed
  std::vector<std::string> problems;
  std::mutex writing;
  std::atomic<std::size_t> next = 0;
  const std::size_t units = std::min(options.units, cases.size());
  const auto work = [&] {
    for (std::size_t u = next++; u < units; u = next++) {
      Unit unit;
      std::map<std::string, std::string> found, models;
      for (std::size_t k = u; k < cases.size(); k += units) {
        const Unit before = unit;
        try {
          for (const std::string& name : export_case(options, cases[k], unit)) models[name] = cases[k];
          found[cases[k]] = "the program did not come to it";
        } catch (const std::exception& e) {
          unit = before;
          found[cases[k]] = e.what();
        }
      }
      std::istringstream lines(run_unit(options, unit, folder, u));
      std::set<std::string> failed;
      std::string rest;
      for (std::string line; std::getline(lines, line);) {
        const std::string name = line.substr(0, line.find(' '));
        const auto of = models.find(name);
        const std::string what = line.substr(std::min(line.size(), name.size() + 1));
        if (of == models.end()) {
          rest += line + "\n";
        } else if (what == "ok") {
          if (!failed.contains(of->second)) found[of->second] = "";
        } else {
          failed.insert(of->second);
          found[of->second] = what;
        }
      }
      const std::lock_guard lock(writing);
      why.merge(found);
      if (!rest.empty()) problems.push_back(message("unit ", u, ": ", rest));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 1; k < options.threads; ++k) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::size_t passed = 0, failed = problems.size(), listed = 0;
  for (const auto& [name, reason] : why) {
    const bool is_listed = refused.contains(name);
    ++(reason.empty() && !is_listed ? passed : !reason.empty() && is_listed ? listed : failed);
    if (reason.empty() == is_listed)
      std::printf("FAILED %s: %s\n", name.c_str(),
                  reason.empty() ? "passes, but is in the list of refused cases" : reason.c_str());
  }
  for (const std::string& problem : problems) std::printf("FAILED %s\n", problem.c_str());
  std::printf("%zu passed, %zu failed, %zu refused as listed, %.1f s\n", passed, failed, listed, seconds());
  return failed == 0 ? 0 : 1;
}
