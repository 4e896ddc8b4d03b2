// The groups of bench_micro: each prints one Markdown table.
#pragma once

#include <string>
#include <vector>

#include "bench/harness.h"

namespace strata::bench {

/// Constructors on nodes that exist, and node life and death.
void bench_nodes();
/// Evaluate, render, parse, substitute.
void bench_reading();
/// The affine forms of `i * 128 + 64`: runtime, the specification's loop, compile time.
void bench_affine();
/// Sums of 1000 terms, a million nodes, a deep chain.
void bench_scale();
/// Movement operations, merging, index expressions.
void bench_views();
/// One thread and two.
void bench_threads();

/// A row and the time it has to stay under, 0 when none is stated.
struct Goal {
  Row row;
  double target_ns = 0;
};

/// Measures the rows in turn and prints: what, median, minimum, target.
void print_goals(const std::string& title, const std::vector<Goal>& goals);

}  // namespace strata::bench
