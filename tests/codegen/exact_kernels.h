// Kernels whose order is defined, compared to the bit: lists, interpreted, and what devices make of them, with the
// interpreter of graphs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/graph/interpret.h"
#include "strata/runtime/device.h"
#include "tests/base/errors.h"
#include "tests/codegen/kernel_ranges.h"

namespace strata::oracle {

inline Scalar element_of(DType dtype, std::uint64_t bits, bool is_wild) {
  if (dtype.is_bool()) return Scalar((bits & 1) != 0);
  if (is_wild && bits % 5 == 0) return Scalar::from_bits(dtype, bits * 0x9e3779b97f4a7c15U);
  if (is_wild && bits % 7 == 0) return Scalar::of(dtype, -0.0);
  if (dtype.is_float()) return Scalar::of(dtype, (static_cast<double>(bits % 2001) - 1000) / 977);
  return Scalar::of(dtype, static_cast<std::int64_t>(bits % 41) - (dtype.is_unsigned() ? 0 : 20));
}

inline Buffers memory_for(const LazyOp& ast, const KernelValues& values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const bool is_wild = random() % 3 == 0;
  Buffers out;
  for (const BufferUse& use : buffers_of(ast)) {
    out.emplace_back(use.dtype, use.dtype.is_none() ? 0 : number_of(use.size, values));
    for (std::int64_t k = 0; k < out.back().size(); ++k) out.back().put(k, element_of(use.dtype, random(), is_wild));
  }
  return out;
}

inline KernelValues values_of(const Kernel& k, const KernelValues& values) {
  KernelValues out;
  for (const Variable& v : k.variables) {
    std::int64_t value = v.name() == kRangeEnd && k.parallel ? number_of(*k.parallel, values) : 0;
    for (const auto& [name, known] : values)
      if (name == v.name()) value = known;
    out.emplace_back(v.name(), value);
  }
  return out;
}

inline bool is_nan(const Scalar& v) { return v.dtype().is_float() && v.as_double() != v.as_double(); }
/// Whether the kernel takes extremes: of -0 and +0 MAX and MIN give either.
inline bool has_any_zero(const LazyOp& ast) {
  const auto nodes = postorder(ast);
  return std::any_of(nodes.begin(), nodes.end(), [](const LazyNode* n) {
    const auto* along = std::get_if<AxisArg>(&n->arg);
    return along != nullptr && (along->op == Ops::REDUCE_MAX || along->op == Ops::REDUCE_MIN);
  });
}
inline bool are_same(const Scalar& a, const Scalar& b, bool any_zero) {
  const bool are_zero = any_zero && a.dtype().is_float() && a.as_double() == 0 && b.as_double() == 0;
  return a == b || are_zero || (is_nan(a) && is_nan(b));
}
inline void expect_same(const Buffers& found, const Buffers& wanted, const std::string& what, bool any_zero) {
  for (std::size_t b = 0; b < wanted.size(); ++b) {
    EXPECT_TRUE(found[b].is_intact()) << what << ": buffer " << b;
    for (std::int64_t k = 0; k < wanted[b].size(); ++k)
      if (!are_same(found[b][k], wanted[b][k], any_zero))
        FAIL() << what << ": element " << k << " of buffer " << b << " is " << found[b][k].text() << ", not "
               << wanted[b][k].text();
  }
}

/// The memory between the kernels that run first and the kernel.
inline void add_temporaries(Buffers& memory, const Kernel& kernel, const KernelValues& values) {
  while (memory.size() < kernel.buffers.size()) {
    const BufferUse& use = kernel.buffers[memory.size()];
    memory.emplace_back(use.dtype, number_of(use.size, values));
  }
}

/// Compares the list, interpreted, and what devices make of it, with the interpreter.
inline void check_exactly(const LazyOp& ast, const KernelValues& values, const std::optional<std::vector<Opt>>& opts,
                          std::uint64_t seed, bool on_devices) {
  const Buffers before = memory_for(ast, values, seed);
  Buffers wanted = before;
  interpret(ast, memory_of(wanted), values);
  for (const bool has_instances : {false, true}) {
    Target target = (has_instances ? Target::of_instances() : Target()).deterministic();
    target.shuffles = seed % 2 == 0;
    const Kernel list = compile_kernel(ast, target, opts);
    Buffers found = before;
    add_temporaries(found, list, values);
    const auto run = [&](const Kernel& k) {
      interpret(k.uops, memory_of(found), values_of(k, values), std::uint64_t{1} << 26);
    };
    for (const auto& first : list.before) run(*first);
    run(list);
    expect_same(found, wanted, "list\n" + ast.text() + text_of(list.opts), has_any_zero(ast));
  }
  if (!on_devices) return;
  for (const char* name : {"LLVM", "CLANG"}) {
    const Device& device = Device::get(name);
    const Kernel code = compile_kernel(ast, device.target().deterministic(), opts);
    Buffers found = before;
    add_temporaries(found, code, values);
    std::vector<void*> pointers;
    for (GuardedMemory& b : found) pointers.push_back(b.data());
    const auto run = [&](const Kernel& k) {
      std::vector<std::int64_t> numbers;
      for (const auto& [variable, value] : values_of(k, values)) numbers.push_back(value);
      device.compile(k)->run({pointers.data(), pointers.size()}, {numbers.data(), numbers.size()});
    };
    for (const auto& first : code.before) run(*first);
    run(code);
    expect_same(found, wanted, detail::message(name, "\n", ast.text(), text_of(code.opts)), has_any_zero(ast));
  }
}

/// The UOps that a run of the list takes.
inline std::uint64_t steps_of(const UOpGraph& list, Buffers memory) {
  std::uint64_t least = 0, most = std::uint64_t{1} << 26;
  while (least + 1 < most) {
    const std::uint64_t budget = (least + most) / 2;
    const bool is_enough = complaint([&] { interpret(list, memory_of(memory), {}, budget); }).empty();
    (is_enough ? most : least) = budget;
  }
  return most;
}

}  // namespace strata::oracle
