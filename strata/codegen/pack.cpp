// PACK as a rewrite of the kernel's graph.

#include "strata/codegen/pack.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/codegen/load_dims.h"
#include "strata/codegen/trim.h"
#include "strata/graph/absorb.h"
#include "strata/graph/rebuild.h"

namespace strata {

namespace {

constexpr std::int64_t kWidestBlock = std::int64_t{1} << 30;

std::string refusal(const LoadDims& dims, std::size_t axis, int slot) {
  if (!dims.reason().empty()) return dims.reason();
  if (axis >= dims.outputs()) return detail::message("axis ", axis, " is not an output axis");
  if (dims.position_of(axis) < dims.dims().size()) return {};
  return detail::message("buffer ", slot, " does not move along axis ", axis);
}

/// The order of packed memory, for the dimensions of `dims` where the elements of a block follow dimension `block`.
Axes packed_order(const LoadDims& dims, std::size_t block) {
  Axes outer, inner;
  for (std::size_t k = 0; k < dims.dims().size(); ++k) {
    const auto at = static_cast<std::int64_t>(k > block ? k + 1 : k);
    if (k != block) (dims.dims()[k].axis < dims.outputs() ? outer : inner).push_back(at);
  }
  outer.push_back(static_cast<std::int64_t>(block));
  for (const std::int64_t k : inner) outer.push_back(k);
  outer.push_back(static_cast<std::int64_t>(block) + 1);
  return outer;
}

}  // namespace

std::string pack_refusal(const LazyOp& kernel, std::size_t axis, int slot, const Target& target) {
  return refusal(LoadDims(kernel, slot, target), axis, slot);
}

std::vector<std::size_t> pack_axes(const LazyOp& kernel, int slot, const Target& target) {
  const LoadDims dims(kernel, slot, target);
  std::vector<std::size_t> out;
  for (std::size_t axis = 0; axis < dims.outputs(); ++axis)
    if (refusal(dims, axis, slot).empty()) out.push_back(axis);
  return out;
}

PackedKernels pack_buffer(const LazyOp& kernel, const Opt& opt, const Target& target, int temporary) {
  const LoadDims found(kernel, opt.slot, target);
  const std::string why = refusal(found, opt.axis, opt.slot);
  STRATA_CHECK(why.empty(), domain, "[", opt.text(), "] ", why);
  STRATA_CHECK(opt.amount >= 2 && opt.amount <= kWidestBlock, domain, "[", opt.text(), "] the amount is from 2 to ",
               kWidestBlock);
  const std::vector<MovingDim>& dims = found.dims();
  const std::size_t block = found.position_of(opt.axis);
  const std::int64_t size = dims[block].size, blocks = (size - 1) / opt.amount + 1;
  const Int reach = Int(blocks) * Int(opt.amount);

  Padding beyond(dims.size(), {0, 0});
  beyond[block].second = reach - Int(size);
  Mask inside;
  Ints in_blocks, whole;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    inside.push_back({0, dims[k].size});
    in_blocks.push_back(k == block ? blocks : dims[k].size);
    if (k == block) in_blocks.push_back(opt.amount);
    whole.push_back(k == block ? reach : Int(dims[k].size));
  }
  const Axes order = packed_order(found, block);

  const LazyOp load = found.load_op();
  const LazyOp packed = moving(load, dims).pad(beyond).reshape(in_blocks).permute(order);
  if (temporary < 0) temporary = static_cast<int>(buffers_of(kernel).size());
  const ShapeTracker memory = ShapeTracker::from_shape(packed.shape());
  const LazyOp unpacked = spread(LazyOp::load(temporary, load.dtype(), memory, product(packed.shape()))
                                     .permute(inverse_order(order))
                                     .reshape(whole)
                                     .shrink(inside),
                                 dims, load.shape());
  detail::Rebuild rebuild(
      [](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
      [&](const LazyOp& n) { return n.node() == &found.load() ? std::optional(unpacked) : std::nullopt; });
  return {absorb_movement(LazyOp::sink({LazyOp::store(temporary, memory, packed)})), absorb_movement(rebuild(kernel)),
          temporary};
}

RestKernel rest_of(const LazyOp& kernel, std::span<const Opt> opts, const Target& target) {
  LazyOp rest = kernel;
  std::vector<Opt> trims;
  for (; !opts.empty() && (opts[0].kind == Opt::Kind::PACK || opts[0].kind == Opt::Kind::TRIM); opts = opts.subspan(1))
    if (opts[0].kind == Opt::Kind::PACK)
      rest = pack_buffer(rest, opts[0], target).rest;
    else
      trims.push_back(opts[0]);
  RestKernel out{rest, KernelAxes(rest)};
  for (const Opt& opt : trims) out.axes.add(trim(kernel, opt, static_cast<int>(buffers_of(rest).size())));
  out.axes.apply(opts);
  return out;
}

}  // namespace strata
