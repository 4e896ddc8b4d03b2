// Tensor: the array type of the library's users. Operations record a graph and compute nothing; realize(), or reading
// the elements, compiles and runs the graph.
//
//   Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
//   Tensor y = (x * 2 + 1).relu().sum(1);     // nothing has run
//   y.to_vector<float>();                     // one kernel: {8, 16}
//
//   Tensor w = Tensor::ones({2, 2}).requires_grad(true);
//   (x.matmul(w)).sum().backward();
//   w.grad()->to_vector<float>();             // {4, 4, 6, 6}
//
// A Tensor is a handle on a node of a graph. An operation makes a new node and checks shapes and dtypes at once. Nodes
// are immutable and keep their sources alive, so that intermediate results may be held in `auto` variables and outlive
// their operands. Copies of a handle are the same tensor: they share its gradient, and assign() to one changes all.
//
// Names, broadcasting, dtypes and edge cases are PyTorch's. Negative axes count from the end. Functions may be called
// from any thread; one tensor must not be assigned to or differentiated by two threads at once.
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

class MeshRanks;
class Sharding;
struct Split;

/// A lazily computed array with a shape, a dtype and a device.
class Tensor {
 public:
  Tensor();  ///< an empty f32 tensor of shape (0,) on the default device; a moved-from tensor becomes one, too
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;  // lvalues only: x[0] = y would change nothing; use index_put
  Tensor& operator=(Tensor&&) & noexcept = default;

  // --- making (create.cpp) ---
  /// A scalar of shape (), on the default device: f32, i64 or bool for a floating, integral or bool T.
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit Tensor(T value) : Tensor(number(Number(value))) {}
  /// An integer as an i64 scalar of shape (), on the default device. Its variables have values (bind()) when it is
  /// computed; a captured function that gets them as arguments computes with those of each call (jit.h).
  explicit Tensor(const Expr& value);
  /// Copies `elements`, in row-major order. @throws Error (shape) unless elements.size() == product(shape)
  template <class T>
  static Tensor from(std::span<const T> elements, const Ints& shape, At at = At::current()) {
    return from_elements(Buffer::fromCPU(elements), shape, at);
  }
  template <class T>
  static Tensor from(const std::vector<T>& elements, const Ints& shape, At at = At::current()) {
    return from(std::span<const T>(elements), shape, at);
  }
  static Tensor from(const std::vector<bool>& elements, const Ints& shape, At at = At::current());
  /// Takes over the memory of `elements` without a copy. @throws as from() of a span; `elements` is moved from in any
  /// case
  template <class T>
    requires(!std::same_as<T, bool>)
  static Tensor from(std::vector<T>&& elements, const Ints& shape, At at = At::current()) {
    const auto held = std::make_shared<std::vector<T>>(std::move(elements));
    if (held->empty()) return from(std::span<const T>(*held), shape, at);
    static_assert(dtype_of<T>() != dtypes::none, "no dtype has elements of this C++ type");
    const auto deleter = [held](void*) {};
    return from_elements(Buffer::from_pointer(held->data(), std::ssize(*held), dtype_of<T>(), deleter, false, true),
                         shape, at);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> elements, At at = At::current()) {
    return from(std::vector<T>(elements), {static_cast<std::int64_t>(elements.size())}, at);
  }
  /// A tensor over the memory of `buffer`, row-major, without a copy. @pre nobody writes to the buffer afterwards
  /// @throws Error (shape) where the buffer has fewer than product(shape) elements
  static Tensor from_buffer(const Buffer& buffer, const Ints& shape, At at = At::current());
  /// A tensor over the user's memory, without a copy; `first` points to the element at index 0. Strides become a view:
  /// transposed memory, a part of a larger array, repeated elements (stride 0) and reversed axes (stride < 0) are not
  /// copied either. Only elements that are not aligned to their size are copied; then, and where the tensor has no
  /// elements, the deleter is called at once. interop.h and dlpack.h have the same for spans, mdspan, Eigen and DLPack.
  /// @pre the memory stays valid and unchanged until the deleter is called; the bytes of booleans are 0 or 1
  /// @throws Error (domain) for null, or a dtype that is not a scalar's; (shape) for a size that is negative or
  ///   symbolic, or where the numbers of strides and dimensions differ; (overflow) where the element count exceeds 64
  ///   bits or the memory exceeds the address space. The caller keeps the memory then: the deleter is not called.
  static Tensor from_blob(void* first, const Ints& shape, DType dtype, BlobOptions options = {}, At at = At::current());
  /// from_blob() with the dtype of the C++ type T; memory behind a pointer to const is read-only.
  template <class T>
    requires(!std::is_void_v<T> && dtype_of<std::remove_const_t<T>>() != dtypes::none)
  static Tensor from_blob(T* first, const Ints& shape, BlobOptions options = {}, At at = At::current()) {
    options.read_only = options.read_only || std::is_const_v<T>;
    return from_blob(const_cast<std::remove_const_t<T>*>(first), shape, dtype_of<std::remove_const_t<T>>(),
                     std::move(options), at);
  }
  /// A tensor whose elements have unspecified values.
  static Tensor empty(const Ints& shape, DType dtype = dtypes::float32, At at = At::current());
  /// empty() with the dtype and device of this tensor.
  Tensor new_empty(const Ints& shape, At at = At::current()) const;
  /// empty() with the shape, dtype and device of this tensor.
  Tensor empty_like(At at = At::current()) const { return new_empty(shape(), at); }

  // --- properties ---
  const Ints& shape() const { return state_->shape; }
  std::int64_t ndim() const { return static_cast<std::int64_t>(shape().size()); }
  /// @throws Error (shape) for an axis outside of [-ndim(), ndim())
  const Int& size(std::int64_t axis) const;
  Int numel() const { return product(shape()); }
  DType dtype() const { return state_->dtype; }
  const Device& device() const { return *state_->device; }
  std::size_t itemsize() const { return dtype().itemsize(); }
  /// A text with the shape, the dtype, the device and, where the tensor is realized, the elements. Runs nothing.
  std::string repr() const;

  // --- running ---
  /// Computes the elements and stores them in memory. Afterwards the tensor's node is that memory and its operands are
  /// released, except where a gradient may pass through the node. @throws as strata::realize
  const Tensor& realize() const;
  bool is_realized() const;
  /// A copy of the elements, in row-major order. Realizes. @throws Error (domain) unless T is the C++ type of the dtype
  template <class T>
  std::vector<T> to_vector() const {
    // Other libraries may have written bytes other than 0 and 1: read booleans as bytes.
    using Held = std::conditional_t<std::same_as<T, bool>, unsigned char, T>;
    const Buffer b = buffer();
    const auto* const first = reinterpret_cast<const Held*>(b.as<T>().data());
    return std::vector<T>(first, first + count());
  }
  /// The elements in memory, in row-major order, for reading. Realizes; copies nothing. Valid while this tensor or a
  /// copy of its handle lives, and until the tensor is assigned to. @throws as to_vector()
  template <class T>
  std::span<const T> span() const& {
    return buffer().as<const T>().first(static_cast<std::size_t>(count()));
  }
  template <class T>
  void span() const&& = delete;  // the span would outlive the memory
  /// The element of a tensor with one element. Realizes. @throws Error (shape) unless numel() is 1
  Scalar scalar() const;
  /// scalar(), converted to T.
  template <class T = double>
  T item() const {
    if constexpr (std::same_as<T, bool>)
      return scalar().as_bool();
    else if constexpr (std::floating_point<T>)
      return static_cast<T>(scalar().as_double());
    else
      return static_cast<T>(scalar().as_int());
  }
  /// The memory of the elements, row-major. Realizes.
  Buffer buffer() const;
  /// The schedule that realize() would run: a line for each kernel. Runs nothing.
  std::string explain() const;
  /// A tensor with the same elements on `device`; this tensor itself where it is on `device`.
  Tensor to(const Device& device, At at = At::current()) const;
  Tensor to(std::string_view device, At at = At::current()) const { return to(Device::get(device), at); }
  /// A tensor with the same elements, stored row-major in memory of its own.
  Tensor contiguous(At at = At::current()) const;
  /// This handle and its copies stand for `value` afterwards, detached; a parameter stays a parameter and keeps its
  /// gradient. Computes nothing. @throws Error (shape) where the shapes differ, (domain) where the dtypes or devices
  /// differ
  void assign(const Tensor& value) const;
  /// The graph node that the tensor stands for at this time.
  LazyOp node() const {
    if (TensorListener::current() != nullptr) tell_read();
    return state_->node();
  }

  // --- tensors in parts (sharded.h has the types and the rules; sharded.cpp) ---
  /// The same elements, each rank having those that the splits give it; without splits each rank has all. Computes
  /// nothing. Gradients pass through.
  /// @throws Error (domain) for names that the mesh does not have, axes that the tensor does not have, one rank of a
  ///   simulated mesh; as Sharding::create(); (domain) for a symbolic size without a value
  Tensor shard(const MeshRanks& ranks, const std::vector<Split>& splits, At at = At::current()) const;
  /// The same by the text of splits: `data:0`, `data:0,model:1/cyclic(16)`, `replicated`. @throws Error (parse)
  Tensor shard(const MeshRanks& ranks, std::string_view splits, At at = At::current()) const;
  /// Where the elements are, where they are in parts, or will be because shard() says so; else nothing.
  std::optional<Sharding> sharding() const;
  /// What a rank has: the elements whose coordinates it owns, in a tensor of its own, e.g. rows 2 and 3. Realizes this
  /// tensor, which is collective. Default: the rank of this process; of simulated ranks the first one.
  /// @throws Error (domain) where the tensor is not sharded, or the rank is not in this process
  Tensor local(std::optional<std::int64_t> rank = std::nullopt) const;
  /// A tensor of `shape` whose parts the ranks have: one for each rank of this process, in order, of the shape that
  /// local() gives. Computes and copies the parts; not collective.
  /// @throws Error (shape) for another number of parts or another shape, (domain) for different dtypes or devices, and
  /// for
  ///   parts that take gradients; as shard()
  static Tensor from_local(const MeshRanks& ranks, const std::vector<Tensor>& parts, const Ints& shape,
                           const std::vector<Split>& splits, At at = At::current());

  // --- gradients (autograd.cpp) ---
  /// True iff the tensor is a parameter (requires_grad(true)) or was computed from one.
  bool requires_grad() const { return node().is_tracked(); }
  /// `on` makes the tensor a parameter: a leaf by which gradients are taken, detached from how it was computed; !on
  /// makes a parameter a constant again. Returns this tensor. @throws Error (domain) where `on` and the dtype is not a
  /// float
  Tensor& requires_grad(bool on);
  /// Adds d(this)/dx to x.grad() for each parameter x that this tensor was computed from. `gradient` is the gradient by
  /// this tensor, of its shape; default 1. @throws Error (shape) where `gradient` is absent and numel() is not 1, or
  /// has another shape; (domain) where the tensor depends on no parameter
  void backward(const std::optional<Tensor>& gradient = {}, At at = At::current()) const;
  /// The gradient that backward() accumulated; nothing before the first backward(), and for a tensor that is not a
  /// parameter.
  std::optional<Tensor> grad() const;
  /// Replaces the gradient; std::nullopt clears it. @throws Error (domain) unless the tensor is a parameter and the
  /// dtypes are equal, (shape) where the shapes differ
  void set_grad(const std::optional<Tensor>& gradient) const;
  /// A tensor with the same elements that blocks gradients.
  Tensor detach(At at = At::current()) const;

  // --- the operations of the table; each row of operations.def documents meaning, parameters and reference
  // (docs/operations.md) ---
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
#define STRATA_METHOD_ALIAS(alias, result, name, declared, passed) \
  result alias(STRATA_STRIP declared At at = At::current()) const { return name(STRATA_STRIP passed at); }
#define STRATA_STATIC(result, name, parameters, binding, names, ...)                                                   \
  static STRATA_RESULT(result) name(STRATA_DECLARED(parameters) STRATA_COMMA_AFTER(parameters) At at = At::current()); \
  STRATA_EACH_NAME(STRATA_STATIC_ALIAS, names, STRATA_RESULT(result), name,                                            \
                   (STRATA_DECLARED(parameters) STRATA_COMMA_AFTER(parameters)),                                       \
                   (STRATA_PASSED(parameters) STRATA_COMMA_AFTER(parameters)))
#define STRATA_STATIC_ALIAS(alias, result, name, declared, passed) \
  static result alias(STRATA_STRIP declared At at = At::current()) { return name(STRATA_STRIP passed at); }
#include "strata/ops/operations.def"
#undef STRATA_UNARY_ALIAS
#undef STRATA_BINARY_ALIAS
#undef STRATA_METHOD_ALIAS
#undef STRATA_STATIC_ALIAS
#undef STRATA_ARRAY
#undef STRATA_OPERAND

  // --- operations whose result depends on elements: they realize operands (indexing.cpp, nonzero.cpp, statistics.cpp,
  // unique.cpp) ---
  /// True iff the shapes are equal and all elements are equal (so false for a NaN). Realizes both.
  bool equal(const Tensor& other, At at = At::current()) const;
  /// True iff isclose() is true for all elements. Realizes both.
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                At at = At::current()) const;
  struct Unique;
  /// The distinct elements, or distinct slices along `axis`, sorted; the index into them of each element or slice; how
  /// often each occurs; the index of its first occurrence. unique_consecutive() merges only equal neighbours and does
  /// not sort. @throws Error (shape) for symbolic sizes, or an axis out of range
  Unique unique(std::optional<std::int64_t> axis = {}, At at = At::current()) const;
  Unique unique_consecutive(std::optional<std::int64_t> axis = {}, At at = At::current()) const;
  /// Result[v] counts the elements equal to v, or adds up their weights; shape (max(least, largest element + 1),).
  /// Realizes the smallest and the largest element. @throws Error (shape) unless this is one dimension of integers and
  /// the weights have the same shape; (domain) for an element or a `least` below 0; (budget) for an element >= 2^40
  Tensor bincount(const std::optional<Tensor>& weights = {}, std::int64_t least = 0, At at = At::current()) const;
  /// Indexing as with PyTorch's brackets. Integers remove their axes first. The dimensions of index tensors take the
  /// place of the indexed axes where these are adjacent, else they come first. Realizes masks.
  /// @throws Error (shape) naming index, axis and size for an integer out of range
  Tensor index(std::span<const Subscript> subscripts, At at = At::current()) const;
  Tensor operator[](std::initializer_list<Subscript> subscripts) const;
  Tensor operator[](const Subscript& subscript) const;
  /// A copy of this tensor with `value`, which broadcasts, at the selected places. Where a place is selected more than
  /// once the last value wins; with `accumulate` all values are added to the element, with `reduce` the element and all
  /// of its values are combined.
  Tensor index_put(std::span<const Subscript> subscripts, const Operand& value, bool accumulate = false) const;
  Tensor index_put(std::initializer_list<Subscript> subscripts, const Operand& value, bool accumulate = false) const {
    return index_put({subscripts.begin(), subscripts.size()}, value, accumulate);
  }
  Tensor index_put(std::span<const Subscript> subscripts, const Operand& value, Reduce reduce) const;
  Tensor index_put(std::initializer_list<Subscript> subscripts, const Operand& value, Reduce reduce) const {
    return index_put({subscripts.begin(), subscripts.size()}, value, reduce);
  }
  /// The indices of the nonzero elements in row-major order: shape (count, ndim), i64. Realizes this tensor.
  Tensor nonzero(At at = At::current()) const;
  Tensor argwhere(At at = At::current()) const { return nonzero(at); }
  /// The elements at which `mask` is true, in row-major order, as one dimension; this tensor and the mask broadcast.
  /// Realizes the mask.
  /// @throws Error (domain) unless the mask is of bools, (shape) where the shapes do not broadcast
  Tensor masked_select(const Tensor& mask, At at = At::current()) const;
  /// Result[..., c] is 1 where the element is c, else 0: shape (..., classes), i64. An element outside of [0, classes)
  /// gives a row of zeros. classes == -1 means the largest element + 1, which is realized. @throws Error (domain)
  /// unless the elements are integers
  Tensor one_hot(std::int64_t classes = -1, At at = At::current()) const;
  /// The same for a symbolic number of classes.
  Tensor one_hot(const Int& classes, At at = At::current()) const;
  /// As contiguous().
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

/// The result of unique() and unique_consecutive(), where n is the number of distinct elements or slices:
///   values   (n,), or the tensor's shape with size n along `axis`
///   inverse  i64, of the tensor's shape, or of the axis's size: the index into `values` of each element or slice
///   counts   (n,) of i64: how often each value occurs
struct Tensor::Unique {
  Tensor values;
  Tensor inverse, counts, first;  ///< i64; `first` counts elements in row-major order, or slices
};

// Operators. Comparisons are elementwise and give bools.
#define STRATA_OPERATOR(symbol, name) Tensor operator symbol(const Operand& a, const Operand& b);
#include "strata/ops/operations.def"
Tensor operator-(const Tensor& a);
Tensor operator~(const Tensor& a);

}  // namespace strata
