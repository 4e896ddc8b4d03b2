// Exchange of tensors with other C++ containers of elements: std::span, std::mdspan, Eigen and pointers with strides.
// as_tensor() imports; strided_buffer(), to_memory_ref(), to_mdspan() and to_map() export. Memory that strides can
// describe is not copied.
//
//   std::vector<float> v(12);
//   Tensor x = Tensor::from(std::move(v), {3, 4});  // the vector's memory, which the tensor keeps
//   Tensor y = Tensor::from_blob(p, {3, 4}, {.strides = Index{1, 3}, .deleter = free});
//   Tensor z = as_tensor(std::span(storage), {3, 4});  // the caller's memory, which has to stay
//   std::span<const float> s = x.span<float>();
//
//   Eigen::MatrixXf m = ...;
//   Tensor t = as_tensor(m);  // the matrix's memory; std::move(m): kept
//   using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
//   const Tensor square = t.matmul(t.t());
//   auto map = to_map<Eigen::Map<const Rows>>(square);
//
// DLPack is in dlpack.h. This header includes neither Eigen's headers nor DLPack's.
//
// Lifetimes. Import: memory that is borrowed (from a span or an lvalue) must stay valid and unchanged while the tensor,
// or an unrealized tensor that was computed from it, lives. Export: exported memory is read-only; it is valid while the
// tensor or a copy of its handle lives, and until the tensor is assigned to.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "strata/tensor/tensor.h"
#include "strata/view/mdspan.h"
#include "strata/view/memory_ref.h"

namespace strata {

// --- pointers and strides ---

/// The memory of a tensor's elements, on the host or on a device, with their layout; owns a share of the memory.
struct StridedBuffer {
  Buffer buffer;
  Index shape;
  Index strides;            ///< in elements, of any sign; 0 where a dimension repeats
  std::int64_t offset = 0;  ///< of the element at index 0, in elements
};
/// The memory of `x`. Where `x` is realized memory seen through movement operations, and strides can describe the
/// result, that memory itself is returned; otherwise `x` is realized and its row-major memory returned. E.g. the memory
/// of a realized (2, 3) transposed: shape (3, 2), strides (1, 3). Bound symbolic sizes become numbers. @throws as
/// realize()
StridedBuffer strided_buffer(const Tensor& x);

/// strided_buffer(x) as a MemoryRef. @throws Error (domain) unless T is the C++ type of x's dtype and the host sees the
/// memory; as strided_buffer()
template <class T>
MemoryRef<const T> to_memory_ref(const Tensor& x) {
  const StridedBuffer b = strided_buffer(x);
  return {b.buffer.as<const T>(), b.shape, b.strides, b.offset};
}
template <class T>
void to_memory_ref(Tensor&& x) = delete;  // the memory would go with the tensor

/// A tensor over the borrowed memory of `elements`. @throws as Tensor::from_blob
template <class T>
Tensor as_tensor(const MemoryRef<T>& elements, At at = At::current()) {
  T* const first =
      product(elements.shape()) == 0 ? elements.storage().data() : elements.storage().data() + elements.offset();
  return Tensor::from_blob(first, to_ints(elements.shape()), {.strides = elements.strides()}, at);
}

// --- spans ---

/// A tensor over the borrowed, row-major memory of `elements`; without `shape` it has one dimension.
/// @throws Error (shape) unless elements.size() == product(shape); as Tensor::from_blob
template <class T>
Tensor as_tensor(std::span<T> elements, const Ints& shape, At at = At::current()) {
  STRATA_CHECK(product(shape) == Int(std::ssize(elements)), shape, "[as_tensor] ", elements.size(),
               " elements do not fill shape ", render(shape));
  return Tensor::from_blob(elements.data(), shape, {}, at);
}
template <class T>
Tensor as_tensor(std::span<T> elements, At at = At::current()) {
  return as_tensor(elements, {std::ssize(elements)}, at);
}

// --- mdspan, where the standard library has it ---

#if defined(__cpp_lib_mdspan)

/// A tensor over the borrowed memory of `elements`. The layout is layout_right, layout_left, layout_stride or another
/// layout with strides. @throws Error (overflow) where a size or stride exceeds 64 bits; as Tensor::from_blob
template <class T, class Extents, class Layout>
Tensor as_tensor(const std::mdspan<T, Extents, Layout>& elements, At at = At::current()) {
  return as_tensor(from_mdspan(elements), at);
}
/// The memory of strided_buffer(x) as an mdspan.
/// @throws Error (shape) unless x.ndim() == Rank; (domain) unless T is the C++ type of x's dtype; (undefined) for
///   strides that std::layout_stride cannot represent: strides <= 0 (of a flipped or expanded tensor: make it
///   contiguous() first), and strides under which two indices share an element
template <class T, std::size_t Rank>
StridedMdspan<const T, Rank> to_mdspan(const Tensor& x) {
  return to_mdspan<Rank>(to_memory_ref<T>(x));
}
template <class T, std::size_t Rank>
void to_mdspan(Tensor&& x) = delete;  // the memory would go with the tensor

#endif

// --- matrices of Eigen, and types with the same members ---

/// A dense matrix in the manner of Eigen: data(), rows(), cols(), inner and outer stride, storage order.
template <class M>
concept StridedMatrix = requires(const M& m) {
  { *m.data() } -> std::convertible_to<typename M::Scalar>;
  { m.rows() } -> std::convertible_to<std::int64_t>;
  { m.cols() } -> std::convertible_to<std::int64_t>;
  { m.innerStride() } -> std::convertible_to<std::int64_t>;
  { m.outerStride() } -> std::convertible_to<std::int64_t>;
  { static_cast<bool>(M::IsRowMajor) };
};

/// A tensor of shape (rows, columns) over the elements of a matrix, map, block, transposed matrix or vector. An lvalue
/// is borrowed; an rvalue is moved into the tensor (of an rvalue map or block, the memory that it refers to is still
/// borrowed). The elements of a const lvalue are read-only. @throws as Tensor::from_blob
template <class M>
  requires StridedMatrix<std::remove_cvref_t<M>>
Tensor as_tensor(M&& matrix, At at = At::current()) {
  using Plain = std::remove_cvref_t<M>;
  const auto over = [&](auto& m, const Buffer::Deleter& deleter) {
    const std::int64_t inner = m.innerStride(), outer = m.outerStride();
    const Index strides = Plain::IsRowMajor ? Index{outer, inner} : Index{inner, outer};
    return Tensor::from_blob(m.data(), {std::int64_t{m.rows()}, std::int64_t{m.cols()}},
                             {.strides = strides, .deleter = deleter}, at);
  };
  if constexpr (std::is_lvalue_reference_v<M>) {
    return over(matrix, {});
  } else {
    // Not make_shared: Plain's own operator new aligns the memory as Eigen requires.
    const std::shared_ptr<Plain> held(new Plain(std::forward<M>(matrix)));
    return over(*held, [held](void*) {});
  }
}

namespace detail {

/// The parameters of Eigen::Map<Matrix, Options, Stride>.
template <class Map>
struct MapParameters;
template <template <class, int, class> class Map, class M, int options, class S>
struct MapParameters<Map<M, options, S>> {
  using Matrix = M;
  using Stride = S;
  static constexpr int alignment = options;
};

/// Sizes and strides (in elements) of a tensor of one or two dimensions, seen as a matrix.
struct MatrixLayout {
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;
};
/// @param is_row whether a tensor of one dimension becomes a row; otherwise it becomes a column
/// @param rows, columns the sizes that the map has at compile time; -1: any size
/// @throws Error (shape) for a rank other than 1 and 2, or sizes other than `rows` and `columns`
MatrixLayout matrix_layout(const Strided& memory, bool is_row, std::int64_t rows, std::int64_t columns);
/// The strides of an Eigen::Map's type: the compile-time value, where 0 means the stride of a densely packed matrix;
/// -1: dynamic.
struct MapStrides {
  std::int64_t outer, inner;
};
/// The strides with which to construct a map over `matrix`; `own` are the strides of the map's type.
/// @throws Error (undefined) where a map of this type cannot have the strides of `matrix`
MapStrides map_strides(const MatrixLayout& matrix, bool is_row_major, const MapStrides& own);

/// An Eigen stride object of type S. @pre strides that are compile-time values of S equal those of `strides`
template <class S>
S eigen_strides(const MapStrides& strides) {
  using Size = decltype(S().inner());
  const auto outer = static_cast<Size>(strides.outer), inner = static_cast<Size>(strides.inner);
  if constexpr (std::constructible_from<S, Size, Size>)
    return S(outer, inner);
  else if constexpr (static_cast<int>(S::OuterStrideAtCompileTime) == 0)
    return S(inner);
  else
    return S(outer);
}

}  // namespace detail

/// The memory of strided_buffer(x) as `Map`, an Eigen::Map<const Matrix, options, stride>. `x` has the shape (rows,
/// columns), or (elements), which becomes a column, or a row where Matrix has one row at compile time.
/// @throws Error (shape) for a rank other than 1 and 2, or sizes other than Matrix's compile-time sizes; (domain)
///   unless Matrix::Scalar is the C++ type of x's dtype, or for memory that is not aligned as `options` says;
///   (undefined) where the map cannot have the strides of `x`: without a stride argument it has those of a densely
///   packed matrix in Matrix's storage order, so that a row-major tensor needs Eigen::RowMajor
template <class Map>
Map to_map(const Tensor& x) {
  using Parameters = detail::MapParameters<Map>;
  using Matrix = typename Parameters::Matrix;
  using MapStride = typename Parameters::Stride;
  using T = typename Matrix::Scalar;
  static_assert(std::is_const_v<Matrix>, "a tensor's elements are for reading: Map<const Matrix>");
  constexpr std::int64_t rows = Matrix::RowsAtCompileTime, columns = Matrix::ColsAtCompileTime;
  const MemoryRef<const T> memory = to_memory_ref<T>(x);
  const detail::MatrixLayout matrix = detail::matrix_layout(memory.layout(), rows == 1, rows, columns);
  const detail::MapStrides strides = detail::map_strides(
      matrix, Matrix::IsRowMajor,
      {static_cast<int>(MapStride::OuterStrideAtCompileTime), static_cast<int>(MapStride::InnerStrideAtCompileTime)});
  const T* const first = memory.storage().data() + memory.offset();
  constexpr int alignment = Parameters::alignment > 0 ? Parameters::alignment : 1;
  STRATA_CHECK(reinterpret_cast<std::uintptr_t>(first) % alignment == 0, domain,
               "[to_map] the elements are not aligned to ", alignment, " bytes");
  using Size = decltype(MapStride().inner());
  return Map(first, static_cast<Size>(matrix.rows), static_cast<Size>(matrix.columns),
             detail::eigen_strides<MapStride>(strides));
}
template <class Map>
void to_map(Tensor&& x) = delete;  // the memory would go with the tensor

}  // namespace strata
