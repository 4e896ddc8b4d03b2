// Programs: functions of shared objects, called by pointers or through their entry, loaded and unloaded.
#include "strata/runtime/program.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/runtime/clang_program.h"
#include "strata/runtime/shared_object.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

using Bytes = std::vector<std::byte>;

Bytes compile(const std::string& source) { return HostCompiler::find()->compile(source); }

/// Functions f0 to f16 of as many pointers: each adds up what the later ones point to, into what the first does.
std::string functions_of_pointers() {
  std::string out;
  for (int count = 0; count <= 16; ++count) {
    std::string parameters, sum = "1";
    for (int i = 0; i < count; ++i) {
      parameters += detail::message(i == 0 ? "" : ", ", "int* p", i);
      if (i > 0) sum += detail::message(" + *p", i);
    }
    out += detail::message("void f", count, "(", count == 0 ? "void" : parameters, ") { ",
                           count == 0 ? "" : detail::message("*p0 = ", sum, ";"), " }\n");
  }
  return out;
}

const Bytes& pointer_object() {
  static const Bytes object = compile(functions_of_pointers());
  return object;
}

/// `sum`: data0[i] = the sum over the other buffers of their element i, plus values[1]; values[0] elements.
const Bytes& entry_object() {
  static const Bytes object = compile(R"(
    void sum_entry(void* const* buffers, const long long* values) {
      for (long long i = 0; i < values[0]; ++i) {
        float sum = values[1];
        for (int k = 1; k < 20; ++k) sum += ((const float*)buffers[k])[i];
        ((float*)buffers[0])[i] = sum;
      }
    })");
  return object;
}

int mapped_kernels() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += has(line, "strata-kernel") && has(line, "r-x");
  return count;
}

TEST(ClangProgram, TheSpecificationsExample) {
  const ScopedFlag no_cache(flags::DISK_CACHE, false);
  const Buffer input_a = Buffer::fromCPU(std::vector<float>{2}), input_b = Buffer::fromCPU(std::vector<float>{3});
  const Buffer output = Buffer::allocate(1, dtypes::float32);
  const ClangProgram program("add", compile_clang("void add(float *a, float *b, float *c) { *a = *b + *c; }"));
  program(output, input_a, input_b);
  EXPECT_EQ(output.toCPU()[0].as_double(), 5);
}

TEST(ClangProgram, TakesUpToSixteenPointers) {
  const std::vector<int> powers = {1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,  1 << 8,
                                   1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16};
  std::vector<int> numbers = powers;
  std::vector<void*> pointers;
  for (int& number : numbers) pointers.push_back(&number);
  for (std::size_t count = 0; count <= 16; ++count) {
    ClangProgram program("f" + std::to_string(count), pointer_object());
    numbers = powers;
    program.run(std::span(pointers).first(count), {});
    int sum = 1;
    for (std::size_t i = 1; i < count; ++i) sum += powers[i];
    EXPECT_EQ(numbers[0], count == 0 ? powers[0] : sum);
  }
  ClangProgram program("f16", pointer_object());
  pointers.push_back(pointers.front());
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [&] { program.run(pointers, {}); }), "not 17 and 0"));
  error_of(ErrorKind::shape, [&] { program.run(std::span(pointers).first(16), std::array<std::int64_t, 1>{1}); });
  const Buffer one = Buffer::fromCPU(std::vector<int>{7});
  ClangProgram("f1", pointer_object())(one);
  EXPECT_EQ(one[0].as_int(), 1);
  ClangProgram("f0", pointer_object())();
}

TEST(ClangProgram, AnEntryTakesAnyNumber) {
  std::vector<float> data(3, 2);
  std::vector<void*> buffers(20, data.data());
  std::vector<float> out(3);
  buffers[0] = out.data();
  ClangProgram program("sum", entry_object());
  program.run(buffers, std::array<std::int64_t, 2>{3, 5});
  EXPECT_EQ(out, (std::vector<float>{43, 43, 43}));
}

TEST(ClangProgram, MissingFunctionsAreNamed) {
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [] { ClangProgram("g", pointer_object()); }), "'g'"));
  error_of(ErrorKind::undefined, [] { ClangProgram("", pointer_object()); });
}

TEST(ObjectProgram, ChecksTheNumbers) {
  ObjectProgram program("sum", entry_object(), 20, 2);
  EXPECT_EQ(program.name(), "sum");
  std::vector<float> data(3, 2);
  std::vector<void*> buffers(20, data.data());
  program.run(buffers, std::array<std::int64_t, 2>{3, 0});
  EXPECT_EQ(data[0], 38);
  const auto run = [&](std::size_t count, std::size_t values) {
    const std::vector<std::int64_t> zeros(values);
    return error_of(ErrorKind::shape, [&] { program.run(std::span(buffers).first(count), zeros); });
  };
  EXPECT_EQ(run(19, 2), "[run] sum takes 20 buffers and 2 values, not 19 and 2");
  run(20, 1);
  run(20, 3);
  run(0, 0);
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [] { ObjectProgram("f1", pointer_object(), 1, 0); }), "f1_entry"));
}

TEST(SharedObject, WhatIsCutOffIsRefused) {
  const Bytes& whole = pointer_object();
  EXPECT_TRUE(SharedObject::is_whole(whole));
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 97) {
    const auto part = std::span(whole).first(size);
    try {
      SharedObject::load(part);  // from some length on, only what the loader does not need is missing
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::undefined) << e.what();
    }
  }
  error_of(ErrorKind::undefined, [] { SharedObject::load({}); });
  error_of(ErrorKind::undefined, [] { SharedObject::load(Bytes(5000)); });
  Bytes relocatable = whole;
  relocatable[16] = std::byte{1};  // says that it is not linked
  error_of(ErrorKind::undefined, [&] { SharedObject::load(relocatable); });
}

TEST(SharedObject, ObjectsOfOneNameAreKeptApart) {
  const Bytes one = compile("int f(void) { return 1; }"), two = compile("int f(void) { return 2; }");
  using F = int (*)();
  const int before = mapped_kernels();
  {
    const auto a = SharedObject::load(one), b = SharedObject::load(two), c = SharedObject::load(one);
    EXPECT_EQ(a->function<F>("f")(), 1);
    EXPECT_EQ(b->function<F>("f")(), 2);
    EXPECT_NE(a->function<F>("f"), c->function<F>("f"));
    EXPECT_EQ(mapped_kernels(), before + 3);
  }
  EXPECT_EQ(mapped_kernels(), before);
}

TEST(SharedObject, ProgramsKeepItLoaded) {
  const int before = mapped_kernels();
  auto program = std::make_unique<ClangProgram>("f0", pointer_object());
  EXPECT_EQ(mapped_kernels(), before + 1);
  (*program)();
  program.reset();
  EXPECT_EQ(mapped_kernels(), before);
}

TEST(SharedObjectThread, LoadsFromManyThreads) {
  const Bytes& object = entry_object();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&object] {
      for (int turn = 0; turn < 30; ++turn) {
        std::vector<float> data(2, 1);
        std::vector<void*> buffers(20, data.data());
        ObjectProgram("sum", object, 20, 2).run(buffers, std::array<std::int64_t, 2>{2, 0});
        EXPECT_EQ(data[1], 19);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strata
