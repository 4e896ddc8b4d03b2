// Machine: the numbers of a processor that predicted times depend on (cycles.h). A target has the row of the table
// machine_of() for its vectors, so that the choice of Opts and the text of a kernel are the same on every machine with
// that target. `strata bench --machine` measures a row for this machine (runtime/measured_machine.h).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace strata {

/// A processor. Rates are per cycle of one core. A vector longer than `path_bytes` passes through a unit in pieces.
struct Machine {
  double gigahertz = 3.7;  ///< cycles in a nanosecond
  double path_bytes = 32;  ///< bytes of a vector that a unit computes, loads or stores at once
  double multiplies = 2;   ///< multiply-adds, additions and multiplications of floats
  double simple = 3;       ///< operations of integers, comparisons, selections, shuffles
  double loads = 2;        ///< loads
  double stores = 1;       ///< stores
  double issued = 5;       ///< instructions of all kinds
  double latency = 4;      ///< cycles from an addition of floats to one that reads its result
  double division = 5;     ///< cycles between two divisions or square roots of f32
  double window = 96;      ///< instructions that run at once: shorter loops overlap with what follows them
  double loop = 1;         ///< cycles that each iteration of a loop adds to its body
  double exit = 8;         ///< cycles that the end of a longer loop costs
  double line = 64;        ///< bytes of a cache line
  double l1_bytes = 1 << 15, l2_bytes = 1 << 20, l3_bytes = 1 << 24;  ///< bytes of the caches
  double l1_refill = 32, l2_refill = 27, l3_refill = 11;  ///< bytes that each gets from the next level in a cycle

  std::array<double, 3> cache_bytes() const { return {l1_bytes, l2_bytes, l3_bytes}; }
  std::array<double, 3> refills() const { return {l1_refill, l2_refill, l3_refill}; }
  bool operator==(const Machine&) const = default;
};

/// A number of a Machine: its name, its meaning, and where it is.
struct MachineNumber {
  std::string_view name, text;
  double Machine::* value;
};
/// All numbers, in the order of the struct.
std::span<const MachineNumber> machine_numbers();

/// The committed row for a target with vectors of so many bytes.
const Machine& machine_of(int vector_bytes);

/// The numbers as lines `name value`, and back. Lines with unknown names are skipped, numbers without a line are those
/// of `base`. Nothing where a value is not a positive number.
std::string text_of(const Machine& machine);
std::optional<Machine> parse_machine(std::string_view text, const Machine& base);

}  // namespace strata
