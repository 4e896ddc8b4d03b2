// Random lists of UOps for tests of renderers: loops, accumulators, vectors, gates, casts, all dtypes; each access in
// bounds, each value one that devices agree on bit by bit (up to the bits of a NaN).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strata/ir/uop.h"

namespace strata::test {

struct RandomOptions {
  std::vector<DType> dtypes;  ///< of which values are; empty: all
  int most_lanes = 16;
  int ops = 12;  ///< in a block
};

struct RandomKernel {
  struct Buffer {
    DType dtype;
    std::int64_t size = 0;  ///< elements
    bool stored = false;
    std::vector<std::byte> data;
  };
  UOpGraph list;
  std::vector<Buffer> buffers;  ///< by slot
  std::vector<std::pair<std::string, std::int64_t>> values;
};

RandomKernel random_kernel(std::uint64_t seed, const RandomOptions& options = {});

}  // namespace strata::test
