#include "strata/export/stack.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace strata::exporting {

namespace {

bool is_integer(UOp u) {
  const DType d = u.dtype();
  return u.op() == UOps::DEFINE_GLOBAL || u.op() == UOps::DEFINE_LOCAL || u.op() == UOps::LOOP ||
         (!d.is_vector() && !d.is_float());
}
/// Whether the value has a place of its own: constants are in the instructions.
bool has_place(UOp u) {
  switch (u.op()) {
    case UOps::CONST:
    case UOps::STORE:
    case UOps::ENDLOOP:
    case UOps::IF:
    case UOps::ENDIF:
    case UOps::PHI:
    case UOps::BARRIER: return false;
    default: return true;
  }
}

/// Whether processors without AVX-512 compute the vector by several instructions, with registers for what is between.
bool is_emulated(UOp u) {
  const auto is_wide_integer = [](DType d) { return !d.is_float() && d.scalar().itemsize() == 8; };
  if (!u.dtype().is_vector()) return false;
  if (u.op() == UOps::ALU) return std::get<Ops>(u.arg()) == Ops::MUL && is_wide_integer(u.dtype());
  return u.op() == UOps::CAST && u.dtype().is_float() != u.src(0).dtype().is_float() &&
         (is_wide_integer(u.dtype()) || is_wide_integer(u.src(0).dtype()));
}

}  // namespace

KernelValues values_of(const UOpGraph& graph, std::int64_t register_bytes) {
  KernelValues out;
  out.register_bytes = register_bytes;
  const std::vector<UOp> list(graph.begin(), graph.end());
  const std::size_t n = list.size();
  std::vector<std::size_t> last(n), end(n);
  std::vector<std::vector<std::size_t>> around(n);  // loops around, outermost first
  std::map<std::size_t, std::size_t> position;      // by number in the graph
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < n; ++k) {
    position[list[k].num()] = k;
    if (list[k].op() == UOps::ENDLOOP) {
      end[open.back()] = k;
      open.pop_back();
    }
    around[k] = open;
    if (list[k].op() == UOps::LOOP) open.push_back(k);
  }
  std::set<std::pair<std::size_t, std::size_t>> accesses;
  for (std::size_t k = 0; k < n; ++k) {
    last[k] = std::max(last[k], k);
    if (list[k].op() == UOps::LOAD || list[k].op() == UOps::STORE)
      accesses.emplace(list[k].src(0).num(), list[k].src(1).num());
    for (const UOp s : list[k].src()) {
      const std::size_t from = position.at(s.num());
      std::size_t use = k;
      // What was made before a loop and is read in it is needed up to its end.
      for (const std::size_t loop : around[k])
        if (loop >= from) {
          use = std::max(use, end[loop]);
          break;
        }
      last[from] = std::max(last[from], use);
    }
  }
  std::vector<std::int64_t> integers(n + 1), values(n + 1), wide(n + 1);
  for (std::size_t k = 0; k < n; ++k) {
    const UOp u = list[k];
    if (u.op() == UOps::DEFINE_LOCAL)
      out.array_bytes +=
          (std::get<Local>(u.arg()).size * static_cast<std::int64_t>(u.dtype().scalar().itemsize()) + 63) / 64 * 64;
    if (!has_place(u) || u.op() == UOps::DEFINE_LOCAL) continue;
    if (is_emulated(u)) ++out.emulated;
    const std::size_t begin = u.op() == UOps::DEFINE_GLOBAL || u.op() == UOps::DEFINE_VAR ? 0 : k;
    if (is_integer(u)) {
      ++integers[begin], --integers[last[k] + (last[k] == begin ? 1 : 0)];
    } else {
      const auto size = static_cast<std::int64_t>(u.dtype().itemsize());
      const bool is_wide = size > register_bytes;
      const std::int64_t amount = is_wide ? size : 1;
      std::vector<std::int64_t>& of = is_wide ? wide : values;
      of[begin] += amount, of[last[k] + (last[k] == begin ? 1 : 0)] -= amount;
    }
  }
  std::int64_t now_integers = 0, now_values = 0, now_wide = 0;
  for (std::size_t k = 0; k <= n; ++k) {
    now_integers += integers[k], now_values += values[k], now_wide += wide[k];
    out.wide_bytes = std::max(out.wide_bytes, now_wide);
    out.integers = std::max(out.integers, now_integers);
    out.values = std::max(out.values, now_values);
  }
  out.accesses = static_cast<std::int64_t>(accesses.size());
  return out;
}

namespace {
std::int64_t above(std::int64_t n, std::int64_t limit) { return std::max<std::int64_t>(n - limit, 0); }
}  // namespace

// The numbers are those of gcc 12 for x86-64: 15 registers for integers, of which a function saves 6 where it needs
// them, and 16 for other values. gcc keeps more values than the list has: addresses of accesses, and what it moves out
// of loops; vectors that are wider than a register lie in memory. tests/python/test_export_report.py compares the sum
// with what gcc states.
std::int64_t frame_of(const KernelValues& v, bool has_helpers) {
  constexpr std::int64_t address = 8, saved = 6, temporaries = 16, helpers = 32;
  const std::int64_t saves = std::min(saved, above(v.integers + v.accesses / 4, 5));
  const std::int64_t spills = v.register_bytes * (above(v.values, 12) + std::min<std::int64_t>(v.emulated, 12)) +
                              8 * above(v.integers, 14) + 2 * above(v.accesses, 32);
  // Vectors wider than 16 bytes make the compiler align the frame, where it has any.
  const bool is_aligned = v.register_bytes > 16 && spills + v.array_bytes + v.wide_bytes > 0;
  return address + temporaries + (has_helpers ? helpers : 0) + 8 * saves + spills +
         (is_aligned ? v.register_bytes + 8 : 0) + v.array_bytes + v.wide_bytes;
}

std::int64_t frame_of_share() { return 40; }
/// Where all arguments are in registers, the call is a jump.
std::int64_t frame_of_part(std::size_t given) {
  return given <= 6 ? 8 : 24 + 8 * above(static_cast<std::int64_t>(given), 6);
}

/// Parameters beyond the sixth are in the memory of the caller's caller.
std::int64_t frame_of_caller(std::size_t kept, std::size_t given, std::int64_t arrays) {
  constexpr std::int64_t saved = 6;  // registers that a call leaves
  return 16 + 8 * (std::min(static_cast<std::int64_t>(kept), saved) + above(static_cast<std::int64_t>(given), 6)) +
         arrays;
}

}  // namespace strata::exporting
