// Tensor::from_blob(), which imports a user's memory, and strided_buffer(), which exports a tensor's memory.
//
// Strides are expressed by movement ops, so that an imported tensor is an ordinary node. The dimension with the largest
// stride comes first: it becomes windows, `stride` elements apart, over the rest of the memory; and so on. The ops
// merge into one View with the given strides.

#include <algorithm>
#include <limits>

#include "strata/engine/buffer_storage.h"
#include "strata/graph/strided_memory.h"
#include "strata/ops/products.h"
#include "strata/tensor/access.h"
#include "strata/tensor/interop.h"

namespace strata {

namespace {

/// A dimension with more than one address, with the absolute value of its stride.
struct ForeignDim {
  std::size_t at;  ///< the position in the shape
  std::int64_t size, stride;
};

/// The layout of a strided array within its extent: the memory from its lowest to its highest element.
class ForeignLayout {
 public:
  ForeignLayout(const Index& shape, const Index& strides) : shape_(shape) {
    Int128 below = 0, above = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (shape[k] <= 1 || strides[k] == 0) continue;
      const Int128 reach = static_cast<Int128>(strides[k]) * (shape[k] - 1);
      (reach < 0 ? below : above) += reach < 0 ? -reach : reach;
      STRATA_CHECK(below + above < kPosInf, overflow, "[from_blob] shape ", render(shape), " with strides ",
                   render(strides), " reaches over more than 2^63 - 1 elements");
      dims_.push_back({k, shape[k], strides[k] < 0 ? -strides[k] : strides[k]});
      if (strides[k] < 0) backwards_.push_back(static_cast<std::int64_t>(k));
    }
    first_ = static_cast<std::int64_t>(below);
    extent_ = static_cast<std::int64_t>(below + above + 1);
    std::sort(dims_.begin(), dims_.end(), [](const ForeignDim& a, const ForeignDim& b) {
      return a.stride != b.stride ? a.stride > b.stride : a.at < b.at;
    });
  }

  std::int64_t first() const { return first_; }    ///< the position of the element at index 0
  std::int64_t extent() const { return extent_; }  ///< the number of elements from the lowest to the highest

  /// {an EMPTY node for the memory of the extent, in a shape that needs few movement ops; the tensor's node over it}.
  std::pair<LazyOp, LazyOp> nodes(DType dtype) const {
    const SmallVec<ForeignDim, 6> runs = joined_dims();
    const bool is_dense = runs.empty() || (runs.size() == 1 && runs[0].stride == 1);
    if (is_dense && is_in_order()) {
      const LazyOp memory = LazyOp::empty(dtype, to_ints(shape_));
      return {memory, memory};
    }
    if (is_dense) {
      const LazyOp memory = LazyOp::empty(dtype, sizes());
      return {memory, ordered(memory)};
    }
    const LazyOp memory = LazyOp::empty(dtype, {extent_});
    return {memory, ordered(strided(memory, runs).reshape(sizes()))};
  }

 private:
  /// The dimensions, with neighbours merged where the stride of one is the extent of the next.
  SmallVec<ForeignDim, 6> joined_dims() const {
    SmallVec<ForeignDim, 6> out;
    for (const ForeignDim& d : dims_) {
      std::int64_t span = 0;
      if (!out.empty() && try_mul(d.size, d.stride, span) && out.back().stride == span)
        out.back() = {d.at, out.back().size * d.size, d.stride};
      else
        out.push_back(d);
    }
    return out;
  }
  Ints sizes() const {
    Ints out;
    for (const ForeignDim& d : dims_) out.push_back(d.size);
    return out;
  }
  /// True iff the elements are in row-major order of the shape.
  bool is_in_order() const {
    std::int64_t elements = 1;
    for (const ForeignDim& d : dims_) elements *= d.size;
    return backwards_.empty() && elements == product(shape_) &&
           std::is_sorted(dims_.begin(), dims_.end(),
                          [](const ForeignDim& a, const ForeignDim& b) { return a.at < b.at; });
  }

  static LazyOp strided(const LazyOp& memory, const SmallVec<ForeignDim, 6>& runs) {
    LazyOp out = memory;
    std::int64_t left = memory.shape()[0].value();
    for (std::size_t k = 0; k < runs.size(); ++k) {
      left -= (runs[k].size - 1) * runs[k].stride;
      if (k + 1 < runs.size()) {
        out = ops::windows(out, k, {left, runs[k].stride}, runs[k].size);
      } else {
        Ints steps(k + 1, 1);
        steps[k] = runs[k].stride;
        out = out.stride(steps);
      }
    }
    return out;
  }

  /// Permutes dimensions from the order of strides to that of the shape, adds dimensions of size 1 and of stride 0, and
  /// flips axes of negative stride.
  LazyOp ordered(const LazyOp& by_stride) const {
    SmallVec<std::size_t, 6> places;
    for (std::size_t k = 0; k < dims_.size(); ++k) places.push_back(k);
    std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return dims_[a].at < dims_[b].at; });
    Axes order;
    Ints whole(shape_.size(), 1);
    for (const std::size_t place : places) {
      order.push_back(static_cast<std::int64_t>(place));
      whole[dims_[place].at] = dims_[place].size;
    }
    return by_stride.permute(order).reshape(whole).expand(to_ints(shape_)).flip(backwards_);
  }

  Index shape_;
  SmallVec<ForeignDim, 6> dims_;  // largest strides first
  Axes backwards_;
  std::int64_t first_ = 0, extent_ = 0;
};

Index checked_sizes(const Ints& shape) {
  Index out;
  for (const Int& size : shape) {
    STRATA_CHECK(size.is_number() && size.value() >= 0, shape, "[from_blob] shape ", render(shape), " has the size ",
                 size.render());
    out.push_back(size.value());
  }
  product(out);  // has to fit in 64 bits
  return out;
}

/// The address of the lowest element. @throws Error (overflow) where the memory exceeds the address space
std::uintptr_t lowest_address(const void* first, const ForeignLayout& layout, DType dtype) {
  const auto itemsize = static_cast<Int128>(dtype.itemsize());
  const auto at = reinterpret_cast<std::uintptr_t>(first);
  const Int128 lowest = static_cast<Int128>(at) - layout.first() * itemsize;
  const Int128 bytes = layout.extent() * itemsize;
  STRATA_CHECK(lowest > 0 && bytes <= kPosInf && lowest + bytes <= std::numeric_limits<std::uintptr_t>::max(), overflow,
               "[from_blob] ", layout.extent(), " elements of ", dtype.name(), ", ", layout.first(),
               " of them below the first one, leave the address space");
  return static_cast<std::uintptr_t>(lowest);
}

std::optional<StridedBuffer> in_place(const LazyOp& node) {
  const std::optional<StridedMemory> found = strided_memory(node);
  if (!found) return std::nullopt;
  return StridedBuffer{buffer_of(found->memory), found->shape, found->strides, found->offset};
}

}  // namespace

Tensor Tensor::from_blob(void* first, const Ints& shape, DType dtype, BlobOptions options, At at) {
  const OriginScope scope("from_blob", at);
  STRATA_CHECK(!dtype.is_none() && dtype == dtype.scalar(), domain, "[from_blob] ", dtype.name(),
               " is not the dtype of an element");
  const Index sizes = checked_sizes(shape);
  const Index strides = options.strides.value_or(detail::contiguous_strides(sizes));
  STRATA_CHECK(strides.size() == sizes.size(), shape, "[from_blob] ", strides.size(), " strides for shape ",
               render(sizes));
  if (product(sizes) == 0) {
    const Tensor out = from_buffer(Buffer::allocate(0, dtype), shape, at);
    if (options.deleter) options.deleter(first);
    return out;
  }
  STRATA_CHECK(first != nullptr, domain, "[from_blob] shape ", render(sizes), " has a null address");
  const ForeignLayout layout(sizes, strides);
  void* const lowest = reinterpret_cast<void*>(lowest_address(first, layout, dtype));
  const auto [memory, node] = layout.nodes(dtype);
  const Tensor out = TensorAccess::of(node, Device::default_device());
  // Ownership passes last: an Error thrown before leaves the memory to the caller.
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(first) % dtype.itemsize() == 0;
  if (!is_aligned) {
    memory.realize_as(std::make_shared<BufferStorage>(Buffer::fromCPU(lowest, layout.extent(), dtype)));
    if (options.deleter) options.deleter(first);
    return out;
  }
  Buffer::Deleter deleter;
  if (options.deleter) deleter = [first, tell = std::move(options.deleter)](void*) { tell(first); };
  memory.realize_as(std::make_shared<BufferStorage>(
      Buffer::from_pointer(lowest, layout.extent(), dtype, std::move(deleter), options.read_only, options.constant)));
  return out;
}

StridedBuffer strided_buffer(const Tensor& x) {
  if (std::optional<StridedBuffer> out = in_place(x.node())) return *out;
  const Buffer buffer = x.buffer();
  Index shape;
  for (const Int& size : x.shape()) shape.push_back(size.is_number() ? size.value() : evaluate(size.expr()));
  return {buffer, shape, detail::contiguous_strides(shape), 0};
}

namespace detail {

MatrixLayout matrix_layout(const Strided& memory, bool is_row, std::int64_t rows, std::int64_t columns) {
  const Index &shape = memory.shape, &stride = memory.stride;
  STRATA_CHECK(shape.size() == 1 || shape.size() == 2, shape, "[to_map] a tensor of shape ", render(shape),
               " is not a matrix");
  const MatrixLayout out = shape.size() == 2 ? MatrixLayout{shape[0], shape[1], stride[0], stride[1]}
                           : is_row          ? MatrixLayout{1, shape[0], 0, stride[0]}
                                             : MatrixLayout{shape[0], 1, stride[0], 0};
  STRATA_CHECK((rows == -1 || rows == out.rows) && (columns == -1 || columns == out.columns), shape,
               "[to_map] a tensor of shape ", render(shape), " is not a matrix of ", rows, " rows and ", columns,
               " columns (-1: any)");
  return out;
}

MapStrides map_strides(const MatrixLayout& matrix, bool is_row_major, const MapStrides& own) {
  // Along a dimension of size 0 or 1 any stride fits. Eigen takes a dynamic stride of 0 for that of a densely packed
  // matrix.
  const auto chosen = [&](const char* which, std::int64_t fixed, std::int64_t plain, std::int64_t stride,
                          std::int64_t count) {
    const bool is_free = count <= 1 || matrix.rows == 0 || matrix.columns == 0;
    const std::int64_t wanted = fixed == 0 ? plain : fixed;
    STRATA_CHECK(is_free || (fixed == -1 ? stride != 0 : stride == wanted), undefined, "[to_map] the tensor's ", which,
                 " stride is ", stride, ", the stride of the map is ",
                 fixed == -1 ? std::string("another") : std::to_string(wanted),
                 ": use Eigen::Dynamic as the stride of the map, or make the tensor contiguous()");
    return fixed != -1 ? fixed : is_free ? plain : stride;
  };
  const bool r = is_row_major;
  const std::int64_t count = r ? matrix.columns : matrix.rows;
  const std::int64_t inner = chosen("inner", own.inner, 1, r ? matrix.column_stride : matrix.row_stride, count);
  const std::int64_t plain = (inner == 0 ? 1 : inner) * count;  // does not overflow: bounded by the memory's extent
  const std::int64_t outer =
      chosen("outer", own.outer, plain, r ? matrix.row_stride : matrix.column_stride, r ? matrix.rows : matrix.columns);
  return {outer, inner};
}

}  // namespace detail

}  // namespace strata
