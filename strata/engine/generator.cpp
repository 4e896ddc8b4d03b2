#include "strata/engine/generator.h"

namespace strata {

Generator& Generator::default_generator() {
  static Generator& generator = *new Generator(0);  // never destroyed: threads may outlive every static
  return generator;
}

void manual_seed(std::uint64_t seed) { Generator::default_generator().manual_seed(seed); }

}  // namespace strata
