#include "strata/export/targets.h"

#include <algorithm>

#include "strata/base/check.h"

namespace strata::exporting {

using detail::message;

namespace {

// clang-format off
constexpr TargetRow kTargets[] = {
    {"plain",   4,  16, 4096},
    {"generic", 16, 16, std::int64_t{1} << 15},
    {"neon",    16, 32, std::int64_t{1} << 15},
    {"wasm",    16, 16, std::int64_t{1} << 15},
    {"rvv",     16, 32, std::int64_t{1} << 15},
    {"avx2",    32, 16, std::int64_t{1} << 17, 1, "avx2", "fma", 0x20, 0x06},
    {"avx512",  64, 32, std::int64_t{1} << 17, 2, "avx512f,avx512bw,avx512dq,avx512vl", "fma", 0xc0030020, 0xe6},
};
// clang-format on

const TargetRow& row_of(std::string_view word) {
  const auto* const row =
      std::find_if(std::begin(kTargets), std::end(kTargets), [&](const TargetRow& r) { return r.word == word; });
  std::string known;
  for (const TargetRow& r : kTargets) known += message(known.empty() ? "" : ", ", r.word);
  STRATA_CHECK(row != std::end(kTargets), domain, "[export] the target \"", word, "\" is unknown: the targets are ",
               known);
  return *row;
}

}  // namespace

std::vector<const TargetRow*> targets_of(std::string_view words) {
  std::vector<const TargetRow*> out;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    const TargetRow& row = row_of(words.substr(at, end - at));
    if (!out.empty())
      STRATA_CHECK(row.level < out.back()->level, domain, "[export] the targets \"", words,
                   "\": every processor with \"", row.word, "\" has \"", out.back()->word,
                   "\", which is in front of it, so \"", row.word, "\" would never run");
    out.push_back(&row);
    if (end == words.size()) break;
    at = end + 1;
  }
  STRATA_CHECK(out.size() == 1 || out.back()->level == 0, domain, "[export] the targets \"", words,
               "\" end in one that not all processors have: add \"generic\" or \"plain\"");
  return out;
}

Target target_of_row(const TargetRow& row, bool deterministic) {
  Target out;
  out.vector_bytes = row.vector_bytes;
  out.vector_registers = row.registers;
  out.scratch_bytes = row.scratch;
  return deterministic ? out.deterministic() : out;
}

const TargetRow& plain_target() { return kTargets[0]; }

}  // namespace strata::exporting
