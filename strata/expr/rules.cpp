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

}  // namespace strata
