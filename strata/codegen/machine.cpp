#include "strata/codegen/machine.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "strata/base/check.h"
#include "strata/base/text.h"

namespace strata {

namespace {

constexpr MachineNumber kNumbers[] = {
    {"gigahertz", "cycles in a nanosecond", &Machine::gigahertz},
    {"path_bytes", "bytes of a vector that a unit handles at once", &Machine::path_bytes},
    {"multiplies", "multiply-adds of floats in a cycle", &Machine::multiplies},
    {"simple", "operations of integers, comparisons and shuffles in a cycle", &Machine::simple},
    {"loads", "loads in a cycle", &Machine::loads},
    {"stores", "stores in a cycle", &Machine::stores},
    {"issued", "instructions in a cycle", &Machine::issued},
    {"latency", "cycles until the result of an addition of floats can be added to", &Machine::latency},
    {"division", "cycles between two divisions of f32", &Machine::division},
    {"window", "instructions that run at once", &Machine::window},
    {"loop", "cycles that an iteration adds to the body of a loop", &Machine::loop},
    {"exit", "cycles that the end of a long loop costs", &Machine::exit},
    {"line", "bytes of a cache line", &Machine::line},
    {"l1_bytes", "bytes of the L1 cache", &Machine::l1_bytes},
    {"l2_bytes", "bytes of the L2 cache", &Machine::l2_bytes},
    {"l3_bytes", "bytes of the L3 cache", &Machine::l3_bytes},
    {"l1_refill", "bytes from L2 in a cycle", &Machine::l1_refill},
    {"l2_refill", "bytes from L3 in a cycle", &Machine::l2_refill},
    {"l3_refill", "bytes from memory in a cycle", &Machine::l3_refill},
};

/// The table. The row of 64 bytes is that of a Zen 4, whose units take 32 bytes at once; the one of 32 bytes fits Zen 2
/// and later and Haswell and later; the one of 16 bytes fits a Neoverse N1 and processors of x86-64 without AVX.
constexpr Machine kNarrow = [] {
  Machine out;
  out.gigahertz = 3;
  out.path_bytes = 16;
  out.issued = 4;
  out.window = 64;
  out.l1_refill = 16;
  out.l2_refill = 12;
  out.l3_refill = 8;
  return out;
}();
constexpr Machine kWide{};

}  // namespace

std::span<const MachineNumber> machine_numbers() { return kNumbers; }

const Machine& machine_of(int vector_bytes) { return vector_bytes <= 16 ? kNarrow : kWide; }

std::string text_of(const Machine& machine) {
  std::string out;
  for (const MachineNumber& n : kNumbers) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, machine.*n.value);
    out += detail::message(n.name, " ", std::string_view(digits, end.ptr), "\n");
  }
  return out;
}

std::optional<Machine> parse_machine(std::string_view text, const Machine& base) {
  Machine out = base;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t blank = std::min(line.find(' '), line.size());
    for (const MachineNumber& n : kNumbers) {
      if (n.name != line.substr(0, blank)) continue;
      const std::optional<double> value = read_double(line.substr(std::min(blank + 1, line.size())));
      if (!value || !std::isfinite(*value) || *value <= 0) return std::nullopt;
      out.*n.value = *value;
    }
  }
  return out;
}

}  // namespace strata
