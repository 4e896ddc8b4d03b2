// Contractions: reductions that read each of their elements many times, such as products of matrices and convolutions.
// A contraction is fast if its kernel has a register tile for it, and two contractions in one kernel cannot have one
// each. Internal to schedule/.
#pragma once

#include <unordered_map>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The size of a dimension; the largest one if the size is symbolic. At least 1.
double count_of(const Int& size);
/// The number of elements of `n`; the largest one if the shape is symbolic. At least 1.
double elements(const LazyNode& n);
/// The number of elements that the reduction `n` combines into one.
double reduced_count(const LazyNode& n);

/// How often a reduction may read an element without being a contraction.
constexpr double kMostReads = 8;
/// How often reductions read their elements. Nodes are noted sources first; a node that is not noted is memory.
class ElementsRead {
 public:
  void note(const LazyNode& n, bool is_memory = false);
  /// True iff the reduction `n` combines at least kMemoryCost elements into one, and combines more than kMostReads
  /// times as many elements as it reads: elements of memory and of reductions, at least one. @pre sources of n are
  /// noted
  bool is_contraction(const LazyNode& n) const;

 private:
  double of(const LazyNode& n) const;
  std::unordered_map<const LazyNode*, double> read_;  // an upper bound: a source of several nodes counts several times
};
/// True iff a reduction of the kernel, a SINK, is a contraction.
bool has_contraction(const LazyOp& kernel);

}  // namespace strata
