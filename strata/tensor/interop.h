// Tensors and what else is in memory: spans, mdspan, Eigen, pointers. Nothing is copied where strides say how the elements lie.
//
//   std::vector<float> v(12);
//   Tensor x = Tensor::from(std::move(v), {3, 4});                          // the vector's memory, which the tensor keeps
//   Tensor y = Tensor::from_blob(p, {3, 4}, {.strides = Index{1, 3}, .deleter = free});
//   Tensor z = as_tensor(std::span(storage), {3, 4});                       // the caller's memory, which has to stay
//   std::span<const float> s = x.span<float>();
//
//   Eigen::MatrixXf m = ...;
//   Tensor t = as_tensor(m);                                                // the matrix's memory; std::move(m): kept
//   using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
//   const Tensor square = t.matmul(t.t());
//   auto map = to_map<Eigen::Map<const Rows>>(square);
//
// DLPack is in dlpack.h. Neither Eigen's headers nor DLPack's are needed here.
//
// Whose memory it is: a tensor made of what is borrowed (a span, an lvalue) needs it for as long as the tensor, or one that was
// made of it and is not realized, lives; its elements must not change meanwhile. What a tensor gives lives as long as the tensor
// (or a copy of the handle) and until it is assigned to; it is for reading.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "strata/tensor/tensor.h"
#include "strata/view/mdspan.h"
#include "strata/view/memory_ref.h"

namespace strata {

// --- pointers and strides ---

/// Where a tensor's elements are. It keeps the memory.
struct StridedBuffer {
  Buffer buffer;
  Index shape;
  Index strides;            ///< in elements, of any sign; 0 where a dimension repeats
  std::int64_t offset = 0;  ///< of the element at index 0
};
/// The memory of `x`: as it stands where `x` is memory seen through movement operations and strides say the result; else `x` is
/// realized, row-major. @throws as realize()
StridedBuffer strided_buffer(const Tensor& x);

/// The elements of `x`, as strided_buffer(). @throws also Error (domain) unless T is the dtype's
template <class T>
MemoryRef<const T> to_memory_ref(const Tensor& x) {
  const StridedBuffer b = strided_buffer(x);
  return {b.buffer.as<const T>(), b.shape, b.strides, b.offset};
}
template <class T>
void to_memory_ref(Tensor&& x) = delete;  // the memory would go with the tensor

/// Borrowed elements. @throws as Tensor::from_blob
template <class T>
Tensor as_tensor(const MemoryRef<T>& elements, At at = At::current()) {
  T* const first = product(elements.shape()) == 0 ? elements.storage().data()
                                                  : elements.storage().data() + elements.offset();
  return Tensor::from_blob(first, to_ints(elements.shape()), {.strides = elements.strides()}, at);
}

// --- spans ---

/// Borrowed elements, row-major; of one dimension where no shape is given.
/// @throws Error (shape) unless there are as many as the shape says
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

/// Borrowed elements, under layout_right, layout_left, layout_stride or another layout with strides.
/// @throws Error (overflow) where a size or stride leaves 64 bits, and as Tensor::from_blob
template <class T, class Extents, class Layout>
Tensor as_tensor(const std::mdspan<T, Extents, Layout>& elements, At at = At::current()) {
  return as_tensor(from_mdspan(elements), at);
}
/// The elements of `x`. Realizes what is no memory.
/// @throws Error (shape) for another rank, (domain) for another dtype, (undefined) for strides that std::layout_stride does not
///   have: not above 0 (of what is flipped or expanded: make it contiguous()), or under which elements meet
template <class T, std::size_t Rank>
StridedMdspan<const T, Rank> to_mdspan(const Tensor& x) {
  return to_mdspan<Rank>(to_memory_ref<T>(x));
}
template <class T, std::size_t Rank>
void to_mdspan(Tensor&& x) = delete;  // the memory would go with the tensor

#endif

// --- matrices of Eigen, and others that answer as they do ---

template <class M>
concept StridedMatrix = requires(const M& m) {
  { *m.data() } -> std::convertible_to<typename M::Scalar>;
  { m.rows() } -> std::convertible_to<std::int64_t>;
  { m.cols() } -> std::convertible_to<std::int64_t>;
  { m.innerStride() } -> std::convertible_to<std::int64_t>;
  { m.outerStride() } -> std::convertible_to<std::int64_t>;
  { static_cast<bool>(M::IsRowMajor) };
};

/// The elements of a matrix, map, block, transposed or vector, of shape (rows, columns): of an lvalue borrowed, else the tensor
/// keeps the matrix (or the map or block: what these look at has to stay). Those of a const lvalue are read-only.
/// @throws as Tensor::from_blob
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
    // Not make_shared: with new, memory is aligned as the type says.
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

/// A tensor of one or two dimensions as a matrix.
struct MatrixLayout {
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;
};
/// @param is_row whether one dimension is a row. @throws Error (shape) for another rank, or other sizes than those that the
///   map has (-1: any)
MatrixLayout matrix_layout(const Strided& memory, bool is_row, std::int64_t rows, std::int64_t columns);
/// The strides that a map has: its own where these are numbers (0: those of a whole matrix), else -1.
struct MapStrides {
  std::int64_t outer, inner;
};
/// What a map's dynamic strides are. @throws Error (undefined) where the map cannot say those of the matrix
MapStrides map_strides(const MatrixLayout& matrix, bool is_row_major, const MapStrides& own);

/// @pre strides that S has as numbers are these
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

/// The elements of `x`, (rows, columns) or (elements), as an Eigen::Map<const Matrix, options, stride>: of one dimension it is a
/// column, or a row where the matrix has one row. Realizes what is no memory.
/// @throws Error (shape) for another rank or other sizes than the matrix has, (domain) for another dtype or memory that is not
///   aligned as the map wants, (undefined) where the map cannot say the strides: plain ones are those of a whole matrix in its
///   own storage order, which for tensors is Eigen::RowMajor
template <class Map>
Map to_map(const Tensor& x) {
  using Parameters = detail::MapParameters<Map>;
  using Matrix = typename Parameters::Matrix;
  using Stride = typename Parameters::Stride;
  using T = typename Matrix::Scalar;
  static_assert(std::is_const_v<Matrix>, "a tensor's elements are for reading: Map<const Matrix>");
  constexpr std::int64_t rows = Matrix::RowsAtCompileTime, columns = Matrix::ColsAtCompileTime;
  const MemoryRef<const T> memory = to_memory_ref<T>(x);
  const detail::MatrixLayout matrix = detail::matrix_layout(memory.layout(), rows == 1, rows, columns);
  const detail::MapStrides strides =
      detail::map_strides(matrix, Matrix::IsRowMajor,
                          {static_cast<int>(Stride::OuterStrideAtCompileTime),
                           static_cast<int>(Stride::InnerStrideAtCompileTime)});
  const T* const first = memory.storage().data() + memory.offset();
  constexpr int alignment = Parameters::alignment > 0 ? Parameters::alignment : 1;
  STRATA_CHECK(reinterpret_cast<std::uintptr_t>(first) % alignment == 0, domain,
               "[to_map] the elements are not aligned to ", alignment, " bytes");
  using Size = decltype(Stride().inner());
  return Map(first, static_cast<Size>(matrix.rows), static_cast<Size>(matrix.columns),
             detail::eigen_strides<Stride>(strides));
}
template <class Map>
void to_map(Tensor&& x) = delete;  // the memory would go with the tensor

}  // namespace strata
