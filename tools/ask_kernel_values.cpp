#include "tools/ask_kernel_values.h"

#include <algorithm>

#include "strata/expr/evaluate.h"

namespace strata::tools {
namespace {

double operations_of(const LazyNode& n) {
  const Ops op = n.op;
  if (op == Ops::MULACC) return 2;
  if (op == Ops::DOT4) return 8;
  if (op == Ops::DOT2) return 4;
  if (is_reduce(op) || op == Ops::SCATTER) return 1;
  if (is_scan(op)) return static_cast<double>(n.src.size());
  const bool free = op == Ops::NOOP || op == Ops::CAST || op == Ops::BITCAST || op == Ops::WHERE;
  return is_elementwise(op) && !free ? 1 : 0;
}

}  // namespace

std::int64_t KernelSizes::operator()(const Int& size) const {
  if (size.is_number()) return size.value();
  Values known;
  for (const Variable& v : variables(size.expr())) known.emplace_back(v, value(v));
  return evaluate(size.expr(), known);
}

double KernelSizes::elements(const Ints& shape) const {
  double out = 1;
  for (const Int& size : shape) out *= static_cast<double>((*this)(size));
  return out;
}

std::int64_t KernelSizes::value(const Variable& v) const {
  const auto it =
      std::find_if(values_.begin(), values_.end(), [&](const auto& known) { return known.first == v.name(); });
  STRATA_CHECK(it != values_.end(), domain, "[run] the variable ", v.name(), " has no value: --values ", v.name(), "=",
               v.max());
  STRATA_CHECK(v.min() <= it->second && it->second <= v.max(), domain, "[run] ", v.name(), " = ", it->second,
               " is outside of its bounds [", v.min(), ", ", v.max(), "]");
  return it->second;
}

KernelWork work_of(const LazyOp& kernel, std::span<const BufferUse> buffers, const VariableValues& values) {
  const KernelSizes sizes(values);
  KernelWork out;
  for (const LazyNode* n : postorder(kernel)) {
    if (n->op == Ops::SINK || n->op == Ops::STORE) continue;
    const bool is_along = n->op == Ops::SCATTER;
    const double elements = sizes.elements(is_reduce(n->op) || is_along ? n->src[is_along ? 2 : 0].shape() : n->shape);
    const double operations = operations_of(*n) * elements;
    out.operations += operations;
    out.oracle_elements += elements;
    const DType dtype = n->src.empty() ? n->dtype : n->src.back().dtype();
    out.floats = out.floats || (operations > 0 && dtype.is_float());
    out.doubles = out.doubles || (operations > 0 && dtype == dtypes::float64);
  }
  for (const BufferUse& use : buffers) {
    if (use.dtype.is_none()) continue;
    const int ways = (use.read ? 1 : 0) + (use.written ? 1 : 0);
    out.bytes += ways * static_cast<double>(sizes(use.size)) * static_cast<double>(use.dtype.itemsize());
  }
  return out;
}

std::uint64_t RandomValues::bits() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

Scalar RandomValues::next(DType dtype) {
  if (dtype.is_bool()) return Scalar((bits() & 1) != 0);
  if (dtype.is_float()) return Scalar::of(dtype, static_cast<double>(bits() >> 11) * 0x1p-52 - 1);
  const auto n = static_cast<std::int64_t>(bits() % 201) - 100;
  return Scalar::of(dtype, dtype.is_unsigned() && n < 0 ? -n : n);
}

KernelMemory random_memory(std::span<const BufferUse> buffers, std::size_t given, const KernelSizes& sizes,
                           std::uint64_t seed) {
  RandomValues random(seed);
  KernelMemory out;
  for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
    const BufferUse& use = buffers[slot];
    const std::int64_t size = use.dtype.is_none() ? 0 : sizes(use.size);
    const std::size_t width = use.dtype.is_none() ? 0 : use.dtype.itemsize();
    std::vector<std::byte>& bytes = out.bytes.emplace_back(static_cast<std::size_t>(size) * width, std::byte{0});
    for (std::size_t at = 0; slot < given && at < bytes.size(); at += width)
      store_scalar(random.next(use.dtype), bytes.data() + at);
    out.buffers.push_back({bytes.data(), size});
  }
  return out;
}

}  // namespace strata::tools
