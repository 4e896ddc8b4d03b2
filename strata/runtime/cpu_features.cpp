#include "strata/runtime/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#include <sys/utsname.h>
#endif

#include <cstdint>

#include "strata/base/check.h"

namespace strata {
namespace {

#if defined(__x86_64__)

struct Leaf {
  std::uint32_t number, part;
  bool a, b, c, d;  // the registers that are the same on all cores
};

// The CPUID leaves with the vendor, family and features, the layout of the vector state, and the extended features.
constexpr Leaf kLeaves[] = {
    {0x0, 0, true, true, true, true},           {0x1, 0, true, false, true, true},
    {0x7, 0, true, true, true, true},           {0x7, 1, true, true, true, true},
    {0xd, 1, true, false, false, false},        {0x14, 0, true, true, true, false},
    {0x19, 0, true, true, true, false},         {0x1e, 1, true, true, true, true},
    {0x24, 0, true, true, true, true},          {0x80000001, 0, false, false, true, true},
    {0x80000008, 0, false, true, false, false},
};
constexpr std::uint32_t kSavesState = 1u << 27;  // bit OSXSAVE of leaf 1, register c: the system has enabled xgetbv

/// The register sets that the system saves at a context switch (XCR0). Instructions that use other registers trap.
std::uint64_t enabled_state() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

std::string describe_processor() {
  std::string out = "x86_64";
  bool saves_state = false;
  for (const Leaf& leaf : kLeaves) {
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf.number, leaf.part, &a, &b, &c, &d) == 0) continue;
    if (leaf.number == 1) saves_state = (c & kSavesState) != 0;
    out += detail::message(" ", leaf.number, ":", leaf.a ? a : 0, ",", leaf.b ? b : 0, ",", leaf.c ? c : 0, ",",
                           leaf.d ? d : 0);
  }
  return saves_state ? detail::message(out, " ", enabled_state()) : out;
}

#else

std::string describe_processor() {
  utsname system{};
  uname(&system);
  return detail::message(system.machine, " ", getauxval(AT_HWCAP), " ", getauxval(AT_HWCAP2));
}

#endif

}  // namespace

const std::string& cpu_features() {
  static const std::string& text = *new std::string(describe_processor());  // never destroyed: threads may outlive it
  return text;
}

}  // namespace strata
