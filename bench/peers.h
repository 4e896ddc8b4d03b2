// The libraries that are timed side by side. Each has a file of its own; CMake compiles it when the library is found
// and `absent_<peer>.cpp` in its place when not.
#pragma once

#include <memory>
#include <string>

#include "bench/program.h"

namespace strata::bench {

/// A library's way to build and simplify one program. Parsing is over when it is made.
class Peer {
 public:
  virtual ~Peer() = default;
  /// Builds and simplifies the whole expression again.
  virtual void build() = 0;
  /// What `build` ends in, as text.
  virtual std::string result() = 0;
};

/// Strata, with what the previous `build` made still alive ("warm") or with nothing alive ("cold").
std::unique_ptr<Peer> make_strata_warm(const Program& program);
std::unique_ptr<Peer> make_strata_cold(const Program& program);

/// MLIR AffineExpr: one context for all builds ("warm"), or a new one for each. Null when MLIR was not found.
std::unique_ptr<Peer> make_mlir_warm(const Program& program);
std::unique_ptr<Peer> make_mlir_cold(const Program& program);

/// isl: quasi-affine expressions, simplified by their gist on the variables' box. Null when isl was not found.
std::unique_ptr<Peer> make_isl(const Program& program);

/// Did Strata's result reach the ideal that the file states, and does it have the program's value at `points` random
/// points? Empty when yes, else what is wrong.
std::string verify_strata(const Program& program, int points);

}  // namespace strata::bench
