// Tensors: arrays that are computed when they are needed.
//
//   Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
//   Tensor y = (x * 2 + 1).relu().sum(1);     // nothing has run
//   y.to_vector<float>();                     // one kernel: {8, 16}
//
//   Tensor w = Tensor::ones({2, 2}).requires_grad(true);
//   (x.matmul(w)).sum().backward();
//   w.grad()->to_vector<float>();             // {4, 4, 6, 6}
//
// A Tensor is a handle on a node of a graph. Operations make nodes; shapes and dtypes are checked where they are written. What
// a node means never changes: `auto` is harmless, and a handle keeps all that it needs. Copies of a handle are the same tensor:
// they see its gradient, and what assign() gives it.
//
// Names, broadcasting, dtypes and edge cases are PyTorch's. Axes below 0 count from the end. Functions may be called from any
// thread; one tensor is not assigned to or differentiated by two threads at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/ops/options.h"
#include "strata/ops/parameters.h"
#include "strata/runtime/device.h"
#include "strata/tensor/operand.h"
#include "strata/tensor/subscript.h"
#include "strata/tensor/tensor_state.h"

namespace strata {

/// An array on a device, computed when it is needed.
class Tensor {
 public:
  Tensor();  ///< the empty f32 tensor, (0,), on the default device; what is moved from becomes one, too
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;  // not x[0] = y, which would change nothing: index_put
  Tensor& operator=(Tensor&&) & noexcept = default;

  // --- making (create.cpp) ---
  /// A number, f32, i64 or bool as its C++ type is.
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit Tensor(T value) : Tensor(number(Number(value))) {}
  /// A copy of elements in row-major order. @throws Error (shape) unless there are as many as the shape says
  template <class T>
  static Tensor from(std::span<const T> elements, const Ints& shape, At at = At::current()) {
    return from_elements(Buffer::fromCPU(elements), shape, at);
  }
  template <class T>
  static Tensor from(const std::vector<T>& elements, const Ints& shape, At at = At::current()) {
    return from(std::span<const T>(elements), shape, at);
  }
  static Tensor from(const std::vector<bool>& elements, const Ints& shape, At at = At::current());
  /// The elements of a vector that is moved here, without a copy. @throws as from(); the vector is gone then, too
  template <class T>
    requires(!std::same_as<T, bool>)
  static Tensor from(std::vector<T>&& elements, const Ints& shape, At at = At::current()) {
    const auto held = std::make_shared<std::vector<T>>(std::move(elements));
    if (held->empty()) return from(std::span<const T>(*held), shape, at);
    static_assert(dtype_of<T>() != dtypes::none, "no dtype has elements of this C++ type");
    return from_elements(
        Buffer::from_pointer(held->data(), std::ssize(*held), dtype_of<T>(), [held](void*) {}),
        shape, at);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> elements, At at = At::current()) {
    return from(std::vector<T>(elements), {static_cast<std::int64_t>(elements.size())}, at);
  }
  /// The memory of a buffer itself, row-major. @pre nobody writes it any more
  static Tensor from_buffer(const Buffer& buffer, const Ints& shape, At at = At::current());
  /// A user's memory itself, as elements of `shape` whose first one is `first`: strides become a view, so that memory that is
  /// transposed, cut out of more, repeated (stride 0) or backwards (below 0) is not copied either. Only elements that are not
  /// aligned to their size are copied; then, and where there is no element, the deleter is called at once.
  /// More ways in and out, for spans, mdspan, Eigen and DLPack, are in interop.h and dlpack.h.
  /// @pre the memory stays, and its elements as they are, until the deleter is called; booleans are 0 or 1
  /// @throws Error (domain) for null or a dtype that is no scalar, (shape) for a size that is negative or no number, or another
  ///   number of strides than dimensions, (overflow) where elements leave 64 bits or the address space. The memory stays the
  ///   caller's then: the deleter is not called.
  static Tensor from_blob(void* first, const Ints& shape, DType dtype, BlobOptions options = {},
                          At at = At::current());
  /// Elements of a C++ type; those of a const one are read-only.
  template <class T>
    requires(!std::is_void_v<T> && dtype_of<std::remove_const_t<T>>() != dtypes::none)
  static Tensor from_blob(T* first, const Ints& shape, BlobOptions options = {}, At at = At::current()) {
    options.read_only = options.read_only || std::is_const_v<T>;
    return from_blob(const_cast<std::remove_const_t<T>*>(first), shape,
                     dtype_of<std::remove_const_t<T>>(), std::move(options), at);
  }
  /// Memory whose elements have no defined values.
  static Tensor empty(const Ints& shape, DType dtype = dtypes::float32, At at = At::current());
  Tensor new_empty(const Ints& shape, At at = At::current()) const;
  Tensor empty_like(At at = At::current()) const { return new_empty(shape(), at); }

  // --- what it is ---
  const Ints& shape() const { return node().shape(); }
  std::int64_t ndim() const { return static_cast<std::int64_t>(shape().size()); }
  const Int& size(std::int64_t axis) const;
  Int numel() const { return product(shape()); }
  DType dtype() const { return node().dtype(); }
  const Device& device() const { return *state_->device; }
  std::size_t itemsize() const { return dtype().itemsize(); }
  /// Shape, dtype, device and whether it is realized; and the elements where it is.
  std::string repr() const;

  // --- running ---
  /// Computes it. What was needed on the way and no gradient can ask for is forgotten. @throws as strata::realize
  const Tensor& realize() const;
  bool is_realized() const;
  /// The elements in row-major order. Realizes. @throws Error (domain) unless T is the dtype's
  template <class T>
  std::vector<T> to_vector() const {
    using Held = std::conditional_t<std::same_as<T, bool>, unsigned char, T>;  // others write any byte
    const Buffer b = buffer();
    const auto* const first = reinterpret_cast<const Held*>(b.as<T>().data());
    return std::vector<T>(first, first + count());
  }
  /// The elements in row-major order where they are, to be read for as long as this tensor or a copy of the handle lives and
  /// is not assigned to. Realizes; where it is memory by then, copies nothing. @throws as to_vector()
  template <class T>
  std::span<const T> span() const& {
    return buffer().as<const T>().first(static_cast<std::size_t>(count()));
  }
  template <class T>
  void span() const&& = delete;  // the memory would go with the tensor
  /// The one element. Realizes. @throws Error (shape) unless there is one
  Scalar scalar() const;
  template <class T = double>
  T item() const {
    if constexpr (std::same_as<T, bool>)
      return scalar().as_bool();
    else if constexpr (std::floating_point<T>)
      return static_cast<T>(scalar().as_double());
    else
      return static_cast<T>(scalar().as_int());
  }
  /// The memory, row-major. Realizes.
  Buffer buffer() const;
  /// What would run, a line for each kernel.
  std::string explain() const;
  /// The same values on another device.
  Tensor to(const Device& device, At at = At::current()) const;
  Tensor to(std::string_view device, At at = At::current()) const {
    return to(Device::get(device), at);
  }
  /// The same values in memory of their own.
  Tensor contiguous(At at = At::current()) const;
  /// This handle and its copies stand for `value` from now on; a parameter stays one. @throws Error (shape, domain) unless shape
  /// and dtype are the same
  void assign(const Tensor& value) const;
  const LazyOp& node() const {
    if (TensorListener::current() != nullptr) tell_read();
    return state_->node;
  }

  // --- gradients (autograd.cpp) ---
  /// Whether something that gradients are taken by is below.
  bool requires_grad() const { return node().is_tracked(); }
  /// Gradients are taken by this tensor, which forgets how it was made, or no longer. @throws Error (domain) unless floats
  Tensor& requires_grad(bool on);
  /// d(this)/dx is added to the gradient of each x below that requires_grad(true) made one. `gradient` defaults to 1.
  /// @throws Error (shape) where this is no scalar and no gradient is given, (domain) where nothing below takes one
  void backward(const std::optional<Tensor>& gradient = {}, At at = At::current()) const;
  std::optional<Tensor> grad() const;
  void set_grad(const std::optional<Tensor>& gradient) const;
  /// The same values, which no gradient passes.
  Tensor detach(At at = At::current()) const;

  // --- the operations of the table: what each means, its parameters and its reference stand in its row ---
  using PadMode = strata::PadMode;
  using Between = strata::Between;
  using Reduce = strata::Reduce;
#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand
#define STRATA_UNARY(name, dtype, in_place, names, ...) \
  Tensor name(At at = At::current()) const;             \
  STRATA_EACH_NAME(STRATA_UNARY_ALIAS, names, name)
#define STRATA_UNARY_ALIAS(alias, name) \
  Tensor alias(At at = At::current()) const { return name(at); }
#define STRATA_BINARY(name, dtype, in_place, names, ...) \
  Tensor name(const Operand& other) const;               \
  STRATA_EACH_NAME(STRATA_BINARY_ALIAS, names, name)
#define STRATA_BINARY_ALIAS(alias, name) \
  Tensor alias(const Operand& other) const { return name(other); }
#define STRATA_METHOD(result, name, parameters, binding, in_place, names, ...)                  \
  STRATA_RESULT(result)                                                                         \
  name(STRATA_DECLARED(parameters) STRATA_COMMA_AFTER(parameters) At at = At::current()) const; \
  STRATA_EACH_NAME(STRATA_METHOD_ALIAS, names, STRATA_RESULT(result), name,                     \
                   (STRATA_DECLARED(parameters) STRATA_COMMA_AFTER(parameters)),                \
                   (STRATA_PASSED(parameters) STRATA_COMMA_AFTER(parameters)))
#define STRATA_METHOD_ALIAS(alias, result, name, declared, passed)  \
  result alias(STRATA_STRIP declared At at = At::current()) const { \
    return name(STRATA_STRIP passed at);                            \
  }
#define STRATA_STATIC(result, name, parameters, binding, names, ...)                          \
  static STRATA_RESULT(result)                                                                \
      name(STRATA_DECLARED(parameters) STRATA_COMMA_AFTER(parameters) At at = At::current()); \
  STRATA_EACH_NAME(STRATA_STATIC_ALIAS, names, STRATA_RESULT(result), name,                   \
                   (STRATA_DECLARED(parameters) STRATA_COMMA_AFTER(parameters)),              \
                   (STRATA_PASSED(parameters) STRATA_COMMA_AFTER(parameters)))
#define STRATA_STATIC_ALIAS(alias, result, name, declared, passed)   \
  static result alias(STRATA_STRIP declared At at = At::current()) { \
    return name(STRATA_STRIP passed at);                             \
  }
#include "strata/ops/operations.def"
#undef STRATA_UNARY_ALIAS
#undef STRATA_BINARY_ALIAS
#undef STRATA_METHOD_ALIAS
#undef STRATA_STATIC_ALIAS
#undef STRATA_ARRAY
#undef STRATA_OPERAND

  // --- operations that look at elements: they realize what they are given (indexing.cpp, nonzero.cpp, statistics.cpp, unique.cpp) ---
  /// Whether shapes and all elements are the same.
  bool equal(const Tensor& other, At at = At::current()) const;
  /// Whether isclose() holds everywhere.
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                At at = At::current()) const;
  /// Different elements, or slices along an axis, in order; where each was put (of this shape, or of the axis's); how often
  /// they are there. unique_consecutive(): only of neighbours.
  struct Unique;
  Unique unique(std::optional<std::int64_t> axis = {}, At at = At::current()) const;
  Unique unique_consecutive(std::optional<std::int64_t> axis = {}, At at = At::current()) const;
  /// How many elements there are of 0, 1, ... (at least `least` of them), or the sum of their weights. Realizes the largest.
  Tensor bincount(const std::optional<Tensor>& weights = {}, std::int64_t least = 0,
                  At at = At::current()) const;
  /// As PyTorch's brackets. Integers take an axis away first; dimensions of tensors' indices stand where these are side by side, else
  /// in front. Realizes masks. @throws Error (shape) naming index, axis and size
  Tensor index(std::span<const Subscript> subscripts, At at = At::current()) const;
  Tensor operator[](std::initializer_list<Subscript> subscripts) const;
  Tensor operator[](const Subscript& subscript) const;
  /// This with `value`, which broadcasts, at those places; of a place named twice the last one, or (accumulate) the sum.
  Tensor index_put(std::span<const Subscript> subscripts, const Operand& value,
                   bool accumulate = false) const;
  Tensor index_put(std::initializer_list<Subscript> subscripts, const Operand& value,
                   bool accumulate = false) const {
    return index_put({subscripts.begin(), subscripts.size()}, value, accumulate);
  }
  /// The indices of what is not 0, (count, ndim) of i64.
  Tensor nonzero(At at = At::current()) const;
  Tensor argwhere(At at = At::current()) const { return nonzero(at); }
  /// The elements for which the mask holds, as one dimension. Realizes the mask.
  Tensor masked_select(const Tensor& mask, At at = At::current()) const;
  /// (..., classes) of i64: 1 where the class is this, none for what is no class. -1: one more than the largest, which is realized.
  Tensor one_hot(std::int64_t classes = -1, At at = At::current()) const;
  /// The same values in memory of their own.
  Tensor clone(At at = At::current()) const { return contiguous(at); }

 private:
  friend class TensorAccess;
  Tensor(LazyOp node, const Device& device);
  explicit Tensor(std::shared_ptr<TensorState> state) : state_(std::move(state)) {}
  void tell_read() const;
  static Tensor number(const Number& value);
  static Tensor from_elements(const Buffer& elements, const Ints& shape, At at);
  std::int64_t count() const;

  TensorHandle state_;
};

/// What unique() gives.
struct Tensor::Unique {
  Tensor values, inverse, counts;
};

// Operators; of comparisons each element is a bool.
#define STRATA_OPERATOR(symbol, name) Tensor operator symbol(const Operand& a, const Operand& b);
#include "strata/ops/operations.def"
Tensor operator-(const Tensor& a);
Tensor operator~(const Tensor& a);

}  // namespace strata
