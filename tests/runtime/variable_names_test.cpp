// Variables of kernels may be called what languages, and the compiler itself, call something else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/ops/kernel_text.h"
#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"
#include "strata/render/writer.h"
#include "strata/runtime/device.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/shared_object.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

const Language& (*const kLanguages[])() = {CLanguage,     CUDALanguage, OpenCLLanguage, OpenCLLanguageWithoutHalf,
                                           MetalLanguage, WGSLLanguage};

/// Identifiers that stand in `text`; what follows a $ is none.
void add_words(std::string_view text, std::set<std::string>& out) {
  for (std::size_t at = 0; at < text.size();) {
    const auto is_inner = [&](std::size_t k) {
      return k < text.size() && (std::isalnum(static_cast<unsigned char>(text[k])) != 0 || text[k] == '_');
    };
    if (text[at] == '$') {  // and what goes on behind it
      for (at += 2; is_inner(at);) ++at;
      continue;
    }
    if (!is_inner(at)) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (is_inner(at)) ++at;
    if (at < text.size() && text[at] == '$') continue;  // a part of a name
    if (std::isdigit(static_cast<unsigned char>(text[begin])) == 0) out.emplace(text.substr(begin, at - begin));
  }
}
/// What the tables of a language say beside names that are its own.
std::set<std::string> words_of(const Language& l) {
  std::set<std::string> out;
  for (const rendering::TypeText& t : l.types) add_words(t.value, out), add_words(t.memory, out);
  for (const rendering::NarrowText& n : l.narrow)
    for (const std::string_view text : {n.load, n.store, n.round, n.round_double, n.round_int}) add_words(text, out);
  for (const rendering::OpText& row : l.ops) add_words(row.text, out);
  for (const rendering::OpText& row : rendering::common_rows()) add_words(row.text, out);
  for (const std::string_view text : {l.declare,    l.variable,         l.array,         l.loop,          l.local,
                                      l.own,        l.barrier,          l.convert,       l.bits,          l.kernel,
                                      l.space,      l.restricted,       l.infinity[0],   l.infinity[1],   l.nan[0],
                                      l.nan[1],     l.special.instance, l.special.local, l.special.group, l.load_lanes,
                                      l.store_lanes})
    add_words(text, out);
  return out;
}

/// Keywords of the languages that no row has, functions that programs call, and what the compiler itself calls
/// something.
constexpr const char* kMore =
    "alignas asm auto bool break case char class const constexpr continue default delete discard "
    "do double else enum explicit "
    "export extern false float for friend goto half if inline int kernel let long loop mutable "
    "namespace new operator override "
    "private protected public register restrict return short signed sizeof static struct switch "
    "template this throw true try "
    "typedef typename union unsigned using var virtual void volatile while wchar_t alias "
    "continuing fallthrough fn ptr texture "
    "become crate demote filter groupshared highp impl lowp macro match mediump module move noise "
    "pixelfragment precise resource "
    "self snorm super trait unorm varying yield NULL INFINITY NAN bfloat uchar ushort uint ulong "
    "size_t ptrdiff_t event_t "
    "sampler_t image2d_t vec4 vec2 mat4x4 float2 float4x4 int8 half2 float16_t f16 f32 i32 u32 "
    "f32x8 i8 u8 bf16 threadIdx "
    "blockIdx blockDim gridDim warpSize threadgroup device constant thread vertex fragment metal "
    "main printf memcpy exp log sin "
    "data0 data1 data2 temp0 temp1 alu0 acc0 val0 phi0 c0 t0 k k_entry gid lid idx gidx0 gidx0x "
    "lidx0 data0x entry loop0 values "
    "buffers load0 if3 aligned end begin";
std::string text_with(const std::string& name) {
  return detail::message(name, ": 1..8; a: f32[", name, ",3]; b = a.sum(1)*", name);
}
/// Those that texts of kernels leave to variables.
std::set<std::string> all_names() {
  std::set<std::string> words, out;
  add_words(kMore, words);
  for (const auto& language : kLanguages) words.merge(words_of(language()));
  for (const std::string& name : words) {
    const bool is_free = !name.starts_with("_") && complaint([&] { parse_kernel(text_with(name)); }).empty();
    if (is_free && name != "a" && name != "b") out.insert(name);
  }
  return out;
}

Kernel kernel_with(const std::string& name, bool has_instances, std::string_view opts = {}) {
  Target target;
  target.instances = has_instances;
  return compile_kernel(parse_kernel(text_with(name)).kernel, target,
                        opts.empty() ? std::vector<Opt>() : parse_opts(opts));
}

/// The names of the parameters of `text`, in C's languages and in WGSL.
std::vector<std::string> parameters_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("@builtin(") != std::string::npos) continue;  // the language's own
    if (const std::size_t binding = line.find("@binding("); binding != std::string::npos) {
      const std::size_t begin = line.find("> ") + 2;
      out.push_back(line.substr(begin, line.find(':', begin) - begin));
    } else if (const std::size_t open = line.find(" k("); open != std::string::npos && line.ends_with("{")) {
      std::string list = line.substr(open + 3, line.rfind(')') - open - 3);
      std::istringstream parts(list);
      for (std::string part; std::getline(parts, part, ',');) {
        if (part.find(" [[") != std::string::npos) continue;  // the language's own
        out.push_back(part.substr(part.find_last_of(" *&") + 1));
      }
    }
  }
  return out;
}

TEST(VariableNames, AreNoWordsOfAnyLanguage) {
  EXPECT_GT(all_names().size(), 200U);
  for (const std::string& name : all_names()) {
    const Kernel list = kernel_with(name, false), instances = kernel_with(name, true);
    for (const Kernel* k : {&list, &instances})
      EXPECT_TRUE(std::any_of(k->variables.begin(), k->variables.end(), [&](const Variable& v) {
        return v.name() == name;
      })) << name;
    for (const auto& language : kLanguages) {
      const Language& l = language();
      const std::string text = uops_to_cstyle(l, "k", l.gnu_vectors ? list.uops : instances.uops);
      const std::vector<std::string> parameters = parameters_of(text);
      ASSERT_GE(parameters.size(), 3U) << text;
      const std::set<std::string> words = words_of(l);
      EXPECT_EQ(std::set(parameters.begin(), parameters.end()).size(), parameters.size()) << text;
      for (const std::string& p : parameters) {
        EXPECT_FALSE(rendering::is_reserved(p)) << l.name << " " << name << "\n" << text;
        EXPECT_FALSE(words.contains(p) && p.size() > 1) << l.name << " " << name << "\n" << text;
      }
    }
  }
}

/// b of `a` = 1, 2, 3, ... for a size of 5.
void expect_results(const std::string& name, const std::vector<float>& b) {
  for (std::size_t k = 0; k < 5; ++k) {
    const float first = static_cast<float>(3 * k);
    EXPECT_EQ(b[k], 5 * ((first + 1) + (first + 2) + (first + 3))) << name;
  }
}
template <class Run>
void expect_runs(const std::string& name, const Kernel& kernel, const Run& run) {
  std::vector<float> a(15), b(5);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k + 1);
  std::vector<long long> values;
  for (const Variable& v : kernel.variables) values.push_back(v.name() == kRangeBegin ? 0 : 5);
  void* buffers[] = {b.data(), a.data()};
  run(buffers, values);
  expect_results(name, b);
}

TEST(VariableNames, CompileAndRunAsC) {
  std::string all;
  std::vector<std::pair<std::string, Kernel>> kernels;
  CStyleOptions style;
  style.entry = true;
  for (const std::string& name : all_names()) {
    kernels.emplace_back(name, kernel_with(name, false, "PARALLEL 0"));
    all += uops_to_cstyle(CLanguage(), detail::message("random_", kernels.size()), kernels.back().second.uops, style);
  }
  const auto object = SharedObject::load(HostCompiler::find()->compile(all, {}));
  for (std::size_t k = 0; k < kernels.size(); ++k)
    expect_runs(kernels[k].first, kernels[k].second, [&](void** buffers, std::vector<long long>& values) {
      object->function<void (*)(void* const*, const long long*)>(detail::message("random_", k + 1, "_entry"))(
          buffers, values.data());
    });
}

TEST(VariableNames, CompileAndRunOnDevices) {
  const std::set<std::string> names = all_names();
  for (const char* device_name : {"LLVM", "OPENCL"}) {
    const Device& device = Device::get(device_name);
    if (!device.missing().empty()) continue;
    std::size_t n = 0;
    for (const std::string& name : names) {
      // Building a program takes long there: a sample, and what the compiler itself calls something.
      const bool is_ours = name.find_first_of("0123456789") != std::string::npos;
      if (device.target().instances && ++n % 8 != 0 && !is_ours) continue;
      const CompiledKernel kernel = compile(parse_kernel(text_with(name)).kernel, device);
      const Buffer a = Buffer::allocate(24, dtypes::float32), b = Buffer::allocate(8, dtypes::float32);
      for (std::size_t k = 0; k < 24; ++k) static_cast<float*>(a.data())[k] = static_cast<float>(k + 1);
      kernel.run({b, a}, {{name, 5}});
      const float* const out = static_cast<const float*>(b.data());
      expect_results(name, {out, out + 5});
    }
  }
}

TEST(VariableNames, WhatLoopsAreCalledIsRefusedWithAReason) {
  for (const char* name : {"ridx0", "ridx", "lane_0"}) {
    const std::string text = complaint([&] { kernel_with(name, false); });
    EXPECT_NE(text.find(detail::message("the name ", name, " is reserved for loops")), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace strata
