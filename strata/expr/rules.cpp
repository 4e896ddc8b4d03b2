// The rule table as an array of data.
#include "strata/expr/rules.h"

namespace strata {

namespace {

constexpr Rule kRules[] = {
#define STRATA_RULE(name, title, before, after, guard, check, proof) \
  Rule{#name, title, before, after, guard, Check::check, proof},
#include "strata/expr/rules.def"
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

std::string_view through(RuleId id) {
  struct Row {
    RuleId rule;
    std::string_view how;
  };
  // clang-format off
  static constexpr Row kThrough[] = {
    {RuleId::D2,  "D3 with a = 0"},
    {RuleId::D5,  "D4 when c divides a; otherwise known only: D41 goes the other way, to fewer operators"},
    {RuleId::D6,  "D4: the constant's multiple is pulled with the others"},
    {RuleId::D8,  "D7: y//g is 0"},
    {RuleId::D14, "D40, then D4"},
    {RuleId::D15, "D16 with a = 1"},
    {RuleId::D17, "D32 with a = 1"},
    {RuleId::D18, "D33 with a = 1"},
    {RuleId::D19, "D34 with a = 1"},
    {RuleId::D22, "D39, or D21 under an assumption"},
    {RuleId::D25, "D12, then D3"},
    {RuleId::D28, "D13"},
    {RuleId::D29, "known only: found by the exact step"},
    {RuleId::D30, "D7, then D3"},
    {RuleId::M3,  "M6 with a = 1 and y = 0"},
    {RuleId::M4,  "M11: the multiple of c is the aligned addend"},
    {RuleId::M5,  "M6 with a = 1"},
    {RuleId::M7,  "M9 with y = 0"},
    {RuleId::M13, "M11: -x and (c-1)*x differ by a multiple of c"},
    {RuleId::M14, "M6 with a = 1 and y = 0"},
    {RuleId::M15, "M11"},
    {RuleId::C3,  "C2 on the difference"},
    {RuleId::C6,  "known only: one comparison is shorter than two"},
    {RuleId::C7,  "C28"},
    {RuleId::C8,  "C28"},
    {RuleId::C10, "C13"},
    {RuleId::C11, "C4 and C5, read from right to left"},
    {RuleId::C12, "known only: the left side is shorter"},
    {RuleId::S2,  "S12 or S13, and S1"},
    {RuleId::S3,  "S8: the clamp's arms are ordered by their bounds"},
    {RuleId::Y2,  "Y1, then Y16"},
    {RuleId::Y3,  "Y13, then Y15"},
  };
  // clang-format on
  for (const Row& row : kThrough) {
    if (row.rule == id) return row.how;
  }
  return {};
}

}  // namespace strata
