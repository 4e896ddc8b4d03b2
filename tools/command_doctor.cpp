// `strata doctor`: reports the CPU, threads, compilers, LLVM, OpenCL, cache and MPI of this machine, what is missing,
// and a test of the default device.
#include <algorithm>
#include <ostream>

#include "strata/base/json.h"
#include "strata/base/version.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/llvm_library.h"
#include "strata/runtime/opencl_library.h"
#include "strata/tensor/tensor.h"
#include "tools/cache_report.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/device_text.h"
#include "tools/machine.h"
#include "tools/mesh_report.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

struct CompilerFound {
  std::string path;
  std::string version;  // the version; the error if the compiler does not report one
  bool works = false;
  bool is_used = false;
};

/// The result of 2+3 on the default device.
struct Sum {
  std::string device;
  std::string text;
  bool is_right = false;
};

/// The whole report.
struct Diagnosis {
  HostMachine machine;
  int threads = 1;
  std::vector<CompilerFound> compilers;
  std::string plugin, llvm;  // the plugin's file and LLVM's version; empty if missing
  std::vector<OpenClPlatform> opencl;
  CacheReport cache;
  MeshReport meshes;
  Sum sum;
  Remedy remedy;  // the packages for all that is missing
};

// --- finding out ---

std::vector<CompilerFound> find_compilers() {
  std::string used;
  if (Device::get("CLANG").missing().empty()) used = HostCompiler::find()->path();
  std::vector<std::string> paths = HostCompiler::on_path();
  if (!used.empty() && std::find(paths.begin(), paths.end(), used) == paths.end())
    paths.insert(paths.begin(), used);  // the compiler that STRATA_CC names
  std::vector<CompilerFound> out;
  for (const std::string& path : paths) {
    out.push_back({path, {}, false, path == used});
    try {
      out.back().version = HostCompiler(path).version();
      out.back().works = true;
    } catch (const Error& error) {
      out.back().version = error.what();
    }
  }
  return out;
}

Sum try_sum() {
  Sum out;
  try {
    const Device& device = Device::default_device();
    out.device = device.name();
    STRATA_CHECK(device.missing().empty(), domain, device.missing());
    STRATA_CHECK(out.device != "NULL", domain, "[doctor] NULL computes nothing");
    const auto value = (Tensor::from({2.0F}) + Tensor::from({3.0F})).item<float>();
    out.is_right = value == 5;
    out.text = detail::message("2+3 is ", out.is_right ? "5" : Scalar(value).text(), " on ", out.device);
  } catch (const std::exception& error) {
    out.text = error.what();
  }
  return out;
}

Remedy remedy_of_all() {
  struct Row {
    std::string_view device;
    Remedy (*remedy)();
  };
  constexpr Row rows[] = {
      {"LLVM", LlvmLibrary::remedy}, {"CLANG", HostCompiler::remedy}, {"OPENCL", OpenClLibrary::remedy}};
  std::vector<Remedy> needed;
  for (const Row& row : rows)
    if (!Device::get(row.device).missing().empty()) needed.push_back(row.remedy());
  Remedy out;
  for (const Remedy& remedy : needed) {
    if (remedy.packages.empty()) continue;
    out.packages += (out.packages.empty() ? "" : " ") + remedy.packages;
    out.builds_again = out.builds_again || remedy.builds_again;
  }
  return out;
}

Diagnosis examine() {
  Diagnosis out;
  out.machine = this_machine();
  out.threads = default_executor().concurrency();
  out.compilers = find_compilers();
  if (Device::get("LLVM").missing().empty()) {
    out.plugin = LlvmLibrary::default_path();
    out.llvm = LlvmLibrary::open()->version();
  }
  out.cache = report_of(DiskCache(DiskCache::default_folder(), DiskCache::default_limit()));
  out.sum = try_sum();
  // Last, because the drivers need much address space, which may be limited. missing() comes first: it opens the
  // drivers, and keeps them open.
  if (Device::get("OPENCL").missing().empty()) out.opencl = OpenClLibrary::platforms();
  out.remedy = remedy_of_all();
  out.meshes = report_of_meshes();
  return out;
}

// --- for people ---

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += detail::message(out.empty() ? "" : between, word);
  return out;
}

void print_machine(const Diagnosis& found, Lines& lines) {
  const HostMachine& m = found.machine;
  lines.print("strata", STRATA_VERSION);
  lines.print("processor", m.processor.empty() ? "unknown" : m.processor, joined(m.features, " "));
  lines.print("threads", detail::message(found.threads, " of ", m.processors, " processors"));
  if (m.memory > 0) lines.print("memory", bytes_text(m.memory), detail::message(bytes_text(m.available), " available"));
}

void print_devices(Lines& lines, bool colour) {
  bool is_first = true;
  for (const Device* device : Device::all()) {
    const std::string missing = device->missing();
    const std::string state =
        missing.empty() ? paint(colour, Style::green, "usable ") : paint(colour, Style::red, "missing");
    lines.print(is_first ? "devices" : "", detail::message(padded(device->name(), 8), state, "  ", device->text()),
                missing.empty() && is_default(*device) ? "default" : missing);
    is_first = false;
  }
}

void print_back_ends(const Diagnosis& found, Lines& lines) {
  if (found.compilers.empty()) lines.print("compilers", "none on PATH");
  for (const CompilerFound& compiler : found.compilers)
    lines.print(&compiler == found.compilers.data() ? "compilers" : "", compiler.path,
                compiler.version + (compiler.is_used ? "; used" : ""));
  if (!found.llvm.empty()) lines.print("LLVM", found.llvm, found.plugin);
  for (const OpenClPlatform& platform : found.opencl)
    lines.print("OpenCL", platform.name + ": " + joined(platform.devices, ", "), platform.version);
  lines.print("disk cache", found.cache.folder, text_of(found.cache));
}

void print_meshes(const MeshReport& found, Lines& lines, bool colour) {
  lines.print("MPI", found.library.empty() ? "missing" : found.library,
              found.library.empty() ? found.problem : found.plugin);
  lines.print("launcher", found.launcher.empty() ? "none on PATH" : found.launcher, found.launcher_version);
  if (!found.ranks.empty()) lines.print("ranks", paint(colour, found.meets ? Style::green : Style::red, found.ranks));
}

void print(const Diagnosis& found, Console& console, bool colour) {
  Lines lines(console, colour);
  print_machine(found, lines);
  print_devices(lines, colour);
  print_back_ends(found, lines);
  print_meshes(found.meshes, lines, colour);
  lines.print("check", paint(colour, found.sum.is_right ? Style::green : Style::red, found.sum.text));
  if (!found.remedy.packages.empty()) lines.print("missing", found.remedy.text());
}

// --- for programs ---

void write_text(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  if (text.empty())
    json.null();
  else
    json.value(text);
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_back_ends(JsonWriter& json, const Diagnosis& found) {
  json.key("devices").begin_array();
  for (const Device* device : Device::all()) json.raw(device_json(*device));
  json.end_array().key("compilers").begin_array();
  for (const CompilerFound& compiler : found.compilers) {
    json.begin_object().member("path", compiler.path).member("works", compiler.works);
    json.member("used", compiler.is_used).member("version", compiler.version).end_object();
  }
  json.end_array().key("llvm").begin_object();
  write_text(json, "path", found.plugin);
  write_text(json, "version", found.llvm);
  json.end_object().key("opencl").begin_array();
  for (const OpenClPlatform& platform : found.opencl) {
    json.begin_object().member("name", platform.name).member("version", platform.version);
    write_texts(json, "devices", platform.devices);
    json.end_object();
  }
  json.end_array();
}

std::string to_json(const Diagnosis& found) {
  JsonWriter json;
  json.begin_object().member("version", STRATA_VERSION);
  write_text(json, "processor", found.machine.processor);
  write_texts(json, "features", found.machine.features);
  json.member("processors", std::int64_t{found.machine.processors});
  json.member("threads", std::int64_t{found.threads});
  json.member("memory", static_cast<std::int64_t>(found.machine.memory));
  json.member("available", static_cast<std::int64_t>(found.machine.available));
  write_back_ends(json, found);
  json.key("cache");
  write_cache(json, found.cache);
  json.key("mpi");
  write_meshes(json, found.meshes);
  json.key("check").begin_object();
  write_text(json, "device", found.sum.device);
  json.member("right", found.sum.is_right).member("text", found.sum.text).end_object();
  write_text(json, "command", found.remedy.text());
  return json.end_object().take();
}

}  // namespace

int command_doctor(const Invocation& invocation, Console& console) {
  const Diagnosis found = examine();
  if (invocation.has("--json"))
    console.out << to_json(found) << '\n';
  else
    print(found, console, wants_colour(invocation, console));
  return found.sum.is_right && found.meshes.meets ? 0 : 1;
}

}  // namespace strata::tools
