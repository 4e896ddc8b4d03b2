// Random computations with sharded tensors as captured functions, beside calls that are not captured.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "strata/tensor/jit.h"
#include "tests/spmd/random_program.h"

namespace strata::spmd_oracle {

/// One random program (random_program.h), captured.
class CapturedProgram {
 public:
  /// @pre what `ranks` refers to lives as long as the object
  CapturedProgram(std::uint64_t seed, MeshRanks ranks, const MeshShape& mesh)
      : seed_(seed),
        ranks_(ranks),
        mesh_(mesh),
        first_(seed, ranks, mesh),
        jit_([this](std::span<const Tensor> inputs) {
          std::vector<Twin> given;
          for (std::size_t k = 0; k < inputs.size(); ++k) given.push_back({inputs[k], first_.inputs()[k].plain});
          const Program again(seed_, ranks_, mesh_, false, given);
          std::vector<Tensor> out;
          for (const Twin& t : again.twins()) out.push_back(t.sharded);
          return out;
        }) {}

  /// Calls the function with elements of this call's own. Returns what differs from the program without a capture; a
  /// result with one other bit, or that is sharded in another way.
  std::string call(std::int64_t number) {
    std::vector<Twin> given;
    std::vector<Tensor> inputs;
    for (const Twin& t : first_.inputs()) {
      const Tensor plain = (t.plain + number).cast(t.plain.dtype()).contiguous().realize();
      const auto sharding = t.sharded.sharding();
      given.push_back({sharding ? plain.shard(ranks_, *sharding->splits()) : plain, plain});
      inputs.push_back(given.back().sharded);
    }
    const std::vector<Tensor> results = jit_(inputs);
    const Program expected(seed_, ranks_, mesh_, false, given);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Tensor& plain = expected.twins()[k].plain;
      const Buffer a = results[k].contiguous().buffer(), b = plain.contiguous().buffer();
      const auto bytes = static_cast<std::size_t>(product(plain.shape()).value()) * plain.itemsize();
      if (std::memcmp(a.data(), b.data(), bytes) != 0)
        return detail::message("t", k, ":\n", expected.text(), results[k].repr(), " is not\n", plain.repr());
    }
    return {};
  }

  std::size_t replays() const { return jit_.replays(); }

 private:
  std::uint64_t seed_;
  MeshRanks ranks_;
  MeshShape mesh_;
  Program first_;
  Jit jit_;
};

}  // namespace strata::spmd_oracle
