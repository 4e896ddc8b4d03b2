#include "strata/engine/generator.h"

#include "strata/base/fork.h"

namespace strata {

Generator& Generator::default_generator() {
  static Generator& generator = *new Generator(0);  // never destroyed: threads may outlive every static
  return generator;
}

namespace {
const ForkHook generator_hook(ForkOrder::tables, [] { Generator::default_generator(); }, [] {});
}  // namespace

void manual_seed(std::uint64_t seed) { Generator::default_generator().manual_seed(seed); }

}  // namespace strata
