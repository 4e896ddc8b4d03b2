// heuristic_opts(): whether a reduction is computed by dot products, or split, for threads or so that its loads
// can be packed.

#include <algorithm>

#include "strata/codegen/block.h"
#include "strata/codegen/dot.h"
#include "strata/codegen/heuristic.h"
#include "strata/codegen/search.h"
#include "strata/codegen/split_reduce.h"
#include "strata/codegen/split_scan.h"

namespace strata {

namespace {

bool packs(const std::vector<Opt>& opts) {
  return std::any_of(opts.begin(), opts.end(),
                     [](const Opt& o) { return o.kind == Opt::Kind::STAGE || o.kind == Opt::Kind::PACK; });
}

std::vector<Opt> with_split(const LazyOp& kernel, const Opt& split, const Target& target) {
  const LazyOp rest = split_reduction(kernel, split, target).rest;
  std::vector<Opt> out = searched(rest, loop_opts(rest, target), target);
  out.insert(out.begin(), split);
  return out;
}

std::vector<Opt> with_dot(const LazyOp& kernel, const Opt& dot, const Target& target, std::span<const int> kept) {
  const DotKernels kernels = dot_products(kernel, dot, target);
  std::vector<int> words;
  if (std::find(kept.begin(), kept.end(), static_cast<int>(dot.amount)) != kept.end()) words = {kernels.words};
  std::vector<Opt> out = loop_opts(kernels.rest, target, words);
  out.insert(out.begin(), dot);
  return out;
}

}  // namespace

std::vector<Opt> heuristic_opts(const LazyOp& kernel, const Target& target, std::span<const int> kept) {
  if (const std::optional<Opt> block = worthwhile_block(kernel, target)) return {*block};
  if (const KernelAxes axes(kernel); axes.scan() || axes.scatter()) {
    const std::optional<Opt> split = worthwhile_scan_split(kernel, target);
    if (!split) return loop_opts(kernel, target);
    std::vector<Opt> out = loop_opts(split_scan(kernel, *split, target).rest, target);
    out.insert(out.begin(), *split);
    return out;
  }
  // Not split: sums of many outputs, each of a loop of its own, have enough work for threads.
  if (const std::optional<Opt> dot = worthwhile_dot(kernel, target, kept)) return with_dot(kernel, *dot, target, kept);
  if (const std::optional<Opt> split = worthwhile_split(kernel, target)) return with_split(kernel, *split, target);
  std::vector<Opt> whole = loop_opts(kernel, target, kept, true);
  if (packs(whole)) return searched(kernel, std::move(whole), target);
  // The panels of a long reduction, such as the gradient of a convolution's weights, fit into scratch memory part by
  // part.
  for (const Opt& split : splits_to_pack(kernel, target)) {
    const std::vector<LazyOp> first = split_reduction(kernel, split, target).first;
    if (first.size() == 1 && packs(loop_opts(first[0], target))) return with_split(kernel, split, target);
  }
  return searched(kernel, std::move(whole), target);
}

}  // namespace strata
