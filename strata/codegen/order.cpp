#include "strata/codegen/order.h"

#include <algorithm>
#include <limits>

#include "strata/codegen/kernel.h"
#include "strata/codegen/variables.h"
#include "strata/graph/absorb.h"

namespace strata {

Int OrderPlan::groups() const {
  constexpr std::int64_t kSideBySide = 16;
  const Int all = rows.outer * rows.inner;
  if (all.is_number()) return (all.value() + kSideBySide - 1) / kSideBySide;
  return (all.expr() + (kSideBySide - 1)) / kSideBySide;
}

// NOTE: the functions of runtime/host_kernels divide this memory.
std::int64_t order_work_bytes(const OrderPlan& plan) {
  constexpr std::int64_t kLanes = 16, kMostAtOnce = 4096, kLeastInBuckets = 4096, kMostOfBucket = 2048;
  constexpr std::int64_t kCounts = std::int64_t{6} * 2048 * 4;       // of the digits of a key of 64 bits
  constexpr std::int64_t kBuckets = std::int64_t{2} * 3 * 4096 * 4;  // three numbers for each bucket of two levels
  const std::int64_t size = plan.size.vmax(), item = static_cast<std::int64_t>(plan.dtype.itemsize());
  const auto lines = [](std::int64_t bytes) { return (bytes + 127) / 64 * 64; };
  const std::int64_t by_buckets = kBuckets + kLanes * kMostOfBucket * item;
  const bool has_buckets = !plan.arg.of_places && item >= 4 && size >= kLeastInBuckets;
  const std::int64_t out = 2 * lines(size * item) + kCounts + (has_buckets ? by_buckets : 0) +
                           (plan.arg.of_places ? 2 * lines(size * 4) : 0);
  if (plan.groups().vmax() == 1 && (plan.rows.outer * plan.rows.inner).vmax() < 4) return out;
  const std::int64_t at_once = std::min(size, kMostAtOnce), room = kLanes * (2 * at_once + kLanes);
  return std::max(out, plan.arg.of_places ? room * 8 + kLanes * at_once * item : room * item);
}

// NOTE: measured with gcc and clang at -O1 and -O2 over the arrays that the functions declare: up to 5.4 KB for
// networks, 14.5 KB for few of many elements, 19.5 KB for buckets (tests/python/test_export_object.py).
std::int64_t order_stack_bytes(const OrderPlan& plan) {
  constexpr std::int64_t kTile = 256, kVectors = 6144, kFew = 18432, kBuckets = 26624;
  constexpr std::int64_t kMostFew = 64, kLeastForFew = 512, kLeastInBuckets = 4096;
  const std::int64_t size = plan.size.vmax(), item = static_cast<std::int64_t>(plan.dtype.itemsize());
  const bool has_buckets = !plan.arg.of_places && item >= 4 && size >= kLeastInBuckets;
  const bool are_few = plan.arg.first == Int(0) && plan.count.vmin() <= kMostFew && size >= kLeastForFew;
  const std::int64_t of_network = kTile * item + kVectors;
  return std::max({of_network, are_few ? kFew : 0, has_buckets ? kBuckets : 0});
}

Kernel order_kernel(const LazyOp& ast, const Target& target) {
  const LazyOp rest = absorb_movement(ast);
  const LazyNode& order = *ordered_by(rest);
  const LazyOp& source = order.src[0];
  const auto& arg = std::get<OrderArg>(order.arg);
  const auto axis = static_cast<std::size_t>(arg.axis);
  const auto* const load = std::get_if<BufferArg>(&source.arg());
  const auto rows = load != nullptr ? order_rows(load->st, arg.axis) : std::nullopt;
  STRATA_CHECK(rows && std::get<BufferArg>(rest.src(0).arg()).st.simplify().contiguous(), domain, "[order] ",
               spec_name(source.op()), " of shape ", render(source.shape()),
               " is no view of one buffer whose rows have one step, or the result is not stored as one whole buffer");
  const OrderPlan plan{source.dtype(), arg, source.shape()[axis], order.shape[axis], *rows};
  constexpr std::int64_t kMostElements = std::numeric_limits<std::uint32_t>::max();
  STRATA_CHECK(plan.size.vmax() <= kMostElements, budget, "[order] a row has ", plan.size.vmax(),
               " elements; rows of at most ", kMostElements, " are sorted");
  Kernel out{kernel_name(ast), ast, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  out.contract = target.contract;
  out.order = std::make_shared<const OrderPlan>(plan);
  out.axes = detail::message("rows of ", plan.size.render(), " elements in groups of 16\n");
  out.buffers = buffers_of(ast);
  out.temporaries = out.scratch = {static_cast<int>(out.buffers.size())};
  out.buffers.push_back({dtypes::uint8, order_work_bytes(plan), true, true});
  out.variables = kernel_variables(ast);
  out.parallel = plan.groups();
  if (target.instances) return out;
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  for (const std::string_view name : {kRangeBegin, kRangeEnd}) out.variables.emplace_back(std::string(name), 0, kEnd);
  return out;
}

}  // namespace strata
