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
  static Tensor full(const Ints& shape, Number value,
                     At at = At::current());  ///< f32, i64 or bool as the number is
  static Tensor full(const Ints& shape, Number value, DType dtype, At at = At::current());
  static Tensor zeros(const Ints& shape, DType dtype = dtypes::float32, At at = At::current());
  static Tensor ones(const Ints& shape, DType dtype = dtypes::float32, At at = At::current());
  Tensor full_like(Number value, At at = At::current()) const;
  Tensor zeros_like(At at = At::current()) const;
  Tensor ones_like(At at = At::current()) const;
  /// begin, begin + step, ... before end. i64 where all are integers, else f32.
  static Tensor arange(Number begin, Number end, Number step = 1, At at = At::current());
  static Tensor arange(Number end, At at = At::current());
  /// `steps` numbers from begin to end, both among them.
  static Tensor linspace(double begin, double end, std::int64_t steps,
                         DType dtype = dtypes::float32, At at = At::current());
  static Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {},
                    DType dtype = dtypes::float32, At at = At::current());
  /// base to the powers linspace() gives.
  static Tensor logspace(double begin, double end, std::int64_t steps, double base = 10,
                         DType dtype = dtypes::float32, At at = At::current());
  /// (2, count) of i64: rows and columns of what tril() and triu() leave of a matrix.
  static Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset = 0,
                             At at = At::current());
  static Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset = 0,
                             At at = At::current());
  /// Of this tensor's dtype and device.
  Tensor new_full(const Ints& shape, Number value, At at = At::current()) const;
  Tensor new_zeros(const Ints& shape, At at = At::current()) const;
  Tensor new_ones(const Ints& shape, At at = At::current()) const;
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

  // --- elements (elementwise.cpp, binary.cpp, special.cpp) ---
  Tensor cast(DType dtype, At at = At::current()) const;
  Tensor bitcast(DType dtype, At at = At::current()) const;
  Tensor to_float(At at = At::current()) const { return cast(dtypes::float32, at); }
#define STRATA_UNARY(name, ...) Tensor name(At at = At::current()) const;
#include "strata/tensor/unary.def"
  /// The derivative of digamma, `order` times. @throws Error (domain) unless 0 <= order <= 60
  Tensor polygamma(std::int64_t order, At at = At::current()) const;
  Tensor mvlgamma(std::int64_t p, At at = At::current()) const;
  /// log(x / (1 - x)); x is kept between eps and 1 - eps where one is given.
  Tensor logit(std::optional<double> eps = {}, At at = At::current()) const;
  /// Mantissa, from 0.5 to below 1, and exponent (i32).
  std::pair<Tensor, Tensor> frexp(At at = At::current()) const;
  Tensor leaky_relu(double slope = 0.01, At at = At::current()) const;
  Tensor elu(double alpha = 1, At at = At::current()) const;
  Tensor celu(double alpha = 1, At at = At::current()) const;
  Tensor softplus(double beta = 1, double threshold = 20, At at = At::current()) const;
  Tensor hardtanh(double low = -1, double high = 1, At at = At::current()) const;
  Tensor hardshrink(double lambda = 0.5, At at = At::current()) const;
  Tensor softshrink(double lambda = 0.5, At at = At::current()) const;
  Tensor threshold(double threshold, double value, At at = At::current()) const;
  Tensor gelu(bool tanh_approximation = false, At at = At::current()) const;
  Tensor round(std::int64_t decimals, At at = At::current()) const;
  Tensor nan_to_num(double nan = 0, std::optional<double> inf = {},
                    std::optional<double> neg_inf = {}, At at = At::current()) const;
  /// Between low and high. @throws Error (domain) where neither is given
  Tensor clip(const std::optional<Operand>& low, const std::optional<Operand>& high = {},
              At at = At::current()) const;
#define STRATA_BINARY(name) Tensor name(const Operand& other) const;
#include "strata/tensor/binary.def"
  /// a where this holds, else b.
  Tensor where(const Operand& a, const Operand& b) const;
  Tensor masked_fill(const Tensor& mask, const Operand& value) const;
  Tensor lerp(const Tensor& end, const Operand& weight) const;
  /// this + value*a*b, this + value*a/b.
  Tensor addcmul(const Tensor& a, const Tensor& b, const Number& value = 1, At at = At::current()) const;
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Number& value = 1, At at = At::current()) const;
  /// Whether shapes and all elements are the same. Realizes.
  bool equal(const Tensor& other, At at = At::current()) const;
  /// Whether isclose() holds everywhere. Realizes.
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                At at = At::current()) const;
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
                 bool equal_nan = false, At at = At::current()) const;
  /// Whether each is among the elements of `others`.
  Tensor isin(const Tensor& others, At at = At::current()) const;

  // --- movement (movement.cpp, rearrange.cpp, diagonal.cpp, places.cpp, pad.cpp) ---
  /// One size may be -1: what is left. @throws Error (shape) unless as many elements
  Tensor reshape(const Ints& shape, At at = At::current()) const;
  Tensor permute(const Axes& order, At at = At::current()) const;
  /// A size of -1 stays. @throws Error (shape) unless sizes are the same or 1; dimensions are added in front
  Tensor expand(const Ints& shape, At at = At::current()) const;
  Tensor broadcast_to(const Ints& shape, At at = At::current()) const { return expand(shape, at); }
  Tensor view_as(const Tensor& other, At at = At::current()) const;
  Tensor reshape_as(const Tensor& other, At at = At::current()) const;
  Tensor expand_as(const Tensor& other, At at = At::current()) const;
  Tensor flip(const ListedAxes& axes, At at = At::current()) const;
  Tensor flipud(At at = At::current()) const;
  Tensor fliplr(At at = At::current()) const;
  /// From begin to end on each dimension. @throws Error (shape)
  Tensor shrink(const Mask& bounds, At at = At::current()) const;
  Tensor transpose(std::int64_t a = -2, std::int64_t b = -1, At at = At::current()) const;
  Tensor swapaxes(std::int64_t a, std::int64_t b, At at = At::current()) const {
    return transpose(a, b, at);
  }
  Tensor swapdims(std::int64_t a, std::int64_t b, At at = At::current()) const {
    return transpose(a, b, at);
  }
  Tensor t(At at = At::current()) const;
  Tensor movedim(const Axes& from, const Axes& to, At at = At::current()) const;
  Tensor squeeze(At at = At::current()) const;
  Tensor squeeze(std::int64_t axis, At at = At::current()) const;
  Tensor squeeze(const Axes& axes, At at = At::current()) const;
  Tensor unsqueeze(std::int64_t axis, At at = At::current()) const;
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1, At at = At::current()) const;
  Tensor ravel(At at = At::current()) const;
  Tensor unflatten(std::int64_t axis, const Ints& sizes, At at = At::current()) const;
  Tensor atleast_1d(At at = At::current()) const;
  Tensor atleast_2d(At at = At::current()) const;
  Tensor atleast_3d(At at = At::current()) const;
  /// `length` indices of an axis from `begin` on. @throws Error (shape)
  Tensor narrow(std::int64_t axis, const Int& begin, const Int& length, At at = At::current()) const;
  /// One index of an axis, which goes. @throws Error (shape)
  Tensor select(std::int64_t axis, const Int& index, At at = At::current()) const;
  /// This with `source` where select(), a slice or diagonal() would look.
  Tensor select_scatter(const Tensor& source, std::int64_t axis, std::int64_t index,
                        At at = At::current()) const;
  Tensor slice_scatter(const Tensor& source, std::int64_t axis = 0, const Slice& slice = {},
                       At at = At::current()) const;
  Tensor diagonal_scatter(const Tensor& source, std::int64_t offset = 0, std::int64_t axis1 = 0,
                          std::int64_t axis2 = 1, At at = At::current()) const;
  /// Element (i, j, ...) is number offset + i*strides[0] + j*strides[1] + ... of this in row-major order.
  /// @throws Error (shape) where one is outside
  Tensor as_strided(const Ints& shape, const Ints& strides, const Int& offset = 0,
                    At at = At::current()) const;
  /// One count a dimension, of dimensions in front where there are more.
  Tensor repeat(const Ints& counts, At at = At::current()) const;
  Tensor tile(const Ints& counts, At at = At::current()) const;  ///< 1 where counts are fewer than dimensions
  Tensor repeat_interleave(std::int64_t count, std::optional<std::int64_t> axis = {},
                           At at = At::current()) const;
  Tensor roll(const Axes& shifts, const Axes& axes, At at = At::current()) const;
  Tensor roll(std::int64_t shift, At at = At::current()) const;
  Tensor rot90(std::int64_t times = 1, std::int64_t from = 0, std::int64_t to = 1,
               At at = At::current()) const;
  /// What lies around: a value, what is mirrored at the first and last element, these themselves, the other end.
  enum class PadMode : std::uint8_t { constant, reflect, replicate, circular };
  /// `before` and `after` of each dimension, below 0 to take away. @throws Error (shape) where modes other than constant
  /// need more than there is
  Tensor pad(const Padding& padding, PadMode mode = PadMode::constant, Number value = 0,
             At at = At::current()) const;
  Tensor tril(std::int64_t diagonal = 0, At at = At::current()) const;
  Tensor triu(std::int64_t diagonal = 0, At at = At::current()) const;
  Tensor diag(std::int64_t diagonal = 0, At at = At::current()) const;
  Tensor diagflat(std::int64_t offset = 0, At at = At::current()) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1,
                  At at = At::current()) const;
  Tensor diag_embed(std::int64_t offset = 0, std::int64_t axis1 = -2, std::int64_t axis2 = -1,
                    At at = At::current()) const;
  /// Windows of `size` along an axis, every `step`: they become a last dimension.
  Tensor unfold(std::int64_t axis, std::int64_t size, std::int64_t step, At at = At::current()) const;
  /// (..., c*r*r, h, w) to (..., c, h*r, w*r), and back.
  Tensor pixel_shuffle(std::int64_t r, At at = At::current()) const;
  Tensor pixel_unshuffle(std::int64_t r, At at = At::current()) const;

  // --- several together, and one apart (join.cpp, combine.cpp, split.cpp) ---
  /// Along an axis; dtypes are promoted. Of one dimension and size 0: left out. @throws Error (shape)
  static Tensor cat(std::span<const Tensor> tensors, std::int64_t axis = 0, At at = At::current());
  static Tensor stack(std::span<const Tensor> tensors, std::int64_t axis = 0, At at = At::current());
  static Tensor hstack(std::span<const Tensor> tensors, At at = At::current());
  static Tensor vstack(std::span<const Tensor> tensors, At at = At::current());
  static Tensor dstack(std::span<const Tensor> tensors, At at = At::current());
  static Tensor column_stack(std::span<const Tensor> tensors, At at = At::current());
  static std::vector<Tensor> meshgrid(std::span<const Tensor> axes, bool ij = true,
                                      At at = At::current());
  /// All as the shape to which they broadcast.
  static std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors, At at = At::current());
  /// Matrices along the diagonal of one.
  static Tensor block_diag(std::span<const Tensor> tensors, At at = At::current());
  /// All tuples of one element of each, as rows; all of r elements of this, in order.
  static Tensor cartesian_prod(std::span<const Tensor> tensors, At at = At::current());
  Tensor combinations(std::int64_t r = 2, bool with_replacement = false, At at = At::current()) const;
  /// Powers of this as columns, from columns - 1 down to 0, or (increasing) up.
  Tensor vander(std::optional<std::int64_t> columns = {}, bool increasing = false,
                At at = At::current()) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t axis = 0, At at = At::current()) const;
  std::vector<Tensor> split(std::span<const std::int64_t> sizes, std::int64_t axis = 0,
                            At at = At::current()) const;
  std::vector<Tensor> chunk(std::int64_t count, std::int64_t axis = 0, At at = At::current()) const;
  /// As many parts as said, the first ones larger by one; or cut before indices.
  std::vector<Tensor> tensor_split(std::int64_t count, std::int64_t axis = 0,
                                   At at = At::current()) const;
  std::vector<Tensor> tensor_split(std::span<const std::int64_t> indices, std::int64_t axis = 0,
                                   At at = At::current()) const;
  std::vector<Tensor> unbind(std::int64_t axis = 0, At at = At::current()) const;
  /// tensor_split() along the axis of columns, rows, and depth.
  std::vector<Tensor> hsplit(std::int64_t count, At at = At::current()) const;
  std::vector<Tensor> hsplit(std::span<const std::int64_t> indices, At at = At::current()) const;
  std::vector<Tensor> vsplit(std::int64_t count, At at = At::current()) const;
  std::vector<Tensor> vsplit(std::span<const std::int64_t> indices, At at = At::current()) const;
  std::vector<Tensor> dsplit(std::int64_t count, At at = At::current()) const;
  std::vector<Tensor> dsplit(std::span<const std::int64_t> indices, At at = At::current()) const;

  // --- reductions (reduce.cpp, statistics.cpp). Of equal ones max() and min() share the gradient ---
  Tensor sum(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor prod(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor max(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor min(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor amax(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const {
    return max(axes, keepdim, at);
  }
  Tensor amin(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const {
    return min(axes, keepdim, at);
  }
  std::pair<Tensor, Tensor> aminmax(std::optional<std::int64_t> axis = {}, bool keepdim = false,
                                    At at = At::current()) const;
  /// Values, and where the first of them is (i64): a gradient goes there alone.
  std::pair<Tensor, Tensor> max_with_indices(std::int64_t axis, bool keepdim = false,
                                             At at = At::current()) const;
  std::pair<Tensor, Tensor> min_with_indices(std::int64_t axis, bool keepdim = false,
                                             At at = At::current()) const;
  Tensor mean(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor var(const AxesArg& axes = {}, double correction = 1, bool keepdim = false,
             At at = At::current()) const;
  Tensor std(const AxesArg& axes = {}, double correction = 1, bool keepdim = false,
             At at = At::current()) const;
  /// Each with the mean.
  std::pair<Tensor, Tensor> var_mean(const AxesArg& axes = {}, double correction = 1,
                                     bool keepdim = false, At at = At::current()) const;
  std::pair<Tensor, Tensor> std_mean(const AxesArg& axes = {}, double correction = 1,
                                     bool keepdim = false, At at = At::current()) const;
  /// Of what is no NaN.
  Tensor nansum(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor nanmean(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor any(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor all(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  Tensor logsumexp(const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  /// (sum |x|^p)^(1/p); inf and -inf: the largest and smallest |x|; 0: how many are not 0.
  Tensor norm(double p = 2, const AxesArg& axes = {}, bool keepdim = false, At at = At::current()) const;
  /// norm() of this - other.
  Tensor dist(const Tensor& other, double p = 2, At at = At::current()) const;
  /// Slices along an axis whose norm is above `most` made shorter, to that.
  Tensor renorm(double p, std::int64_t axis, double most, At at = At::current()) const;
  /// Summed to a shape that broadcasts to this one's.
  Tensor sum_to_size(const Ints& shape, At at = At::current()) const;
  Tensor argmax(std::optional<std::int64_t> axis = {}, bool keepdim = false, At at = At::current()) const;
  Tensor argmin(std::optional<std::int64_t> axis = {}, bool keepdim = false, At at = At::current()) const;
  Tensor count_nonzero(const AxesArg& axes = {}, At at = At::current()) const;
  Tensor softmax(std::int64_t axis = -1, At at = At::current()) const;
  Tensor log_softmax(std::int64_t axis = -1, At at = At::current()) const;

  // --- cumulative (cumulative.cpp, differences.cpp) and order (sort.cpp, quantile.cpp, unique.cpp) ---
  Tensor cumsum(std::int64_t axis, At at = At::current()) const;
  Tensor cumprod(std::int64_t axis, At at = At::current()) const;
  std::pair<Tensor, Tensor> cummax(std::int64_t axis,
                                   At at = At::current()) const;  ///< values and indices (i64)
  std::pair<Tensor, Tensor> cummin(std::int64_t axis, At at = At::current()) const;
  Tensor logcumsumexp(std::int64_t axis, At at = At::current()) const;
  /// What is between neighbours, `times` over, of this with `prepend` in front and `append` behind.
  Tensor diff(std::int64_t times = 1, std::int64_t axis = -1,
              const std::optional<Tensor>& prepend = {}, const std::optional<Tensor>& append = {},
              At at = At::current()) const;
  /// The integral of what is linear between these values, `spacing` apart or at the places that it holds.
  Tensor trapezoid(const Operand& spacing = 1, std::int64_t axis = -1) const;
  Tensor cumulative_trapezoid(const Operand& spacing = 1, std::int64_t axis = -1) const;
  /// Values and indices (i64); stable. NaN counts as the largest.
  std::pair<Tensor, Tensor> sort(std::int64_t axis = -1, bool descending = false,
                                 At at = At::current()) const;
  Tensor argsort(std::int64_t axis = -1, bool descending = false, At at = At::current()) const;
  std::pair<Tensor, Tensor> topk(std::int64_t k, std::int64_t axis = -1, bool largest = true,
                                 At at = At::current()) const;
  /// The k-th smallest, counted from 1.
  std::pair<Tensor, Tensor> kthvalue(std::int64_t k, std::int64_t axis = -1, bool keepdim = false,
                                     At at = At::current()) const;
  /// The lower one of two in the middle; NaN where one is.
  Tensor median(At at = At::current()) const;
  std::pair<Tensor, Tensor> median(std::int64_t axis, bool keepdim = false, At at = At::current()) const;
  Tensor nanmedian(At at = At::current()) const;
  std::pair<Tensor, Tensor> nanmedian(std::int64_t axis, bool keepdim = false,
                                      At at = At::current()) const;
  Tensor msort(At at = At::current()) const { return sort(0, false, at).first; }
  /// What is there most often, the smallest of several, and the last place where it is.
  std::pair<Tensor, Tensor> mode(std::int64_t axis = -1, bool keepdim = false,
                                 At at = At::current()) const;
  enum class Between : std::uint8_t { linear, lower, higher, midpoint, nearest };
  /// For each q (a number, or a tensor of one dimension, which comes first), what is above that share of all elements or of an
  /// axis's. @throws Error (domain) for a number outside of [0, 1]; of tensors those give NaN
  Tensor quantile(const Operand& q, std::optional<std::int64_t> axis = {}, bool keepdim = false,
                  Between between = Between::linear) const;
  Tensor nanquantile(const Operand& q, std::optional<std::int64_t> axis = {}, bool keepdim = false,
                     Between between = Between::linear) const;
  /// Different elements, or slices along an axis, in order; where each was put (of this shape, or of the axis's); how often
  /// they are there. Realizes. unique_consecutive(): only of neighbours.
  struct Unique;
  Unique unique(std::optional<std::int64_t> axis = {}, At at = At::current()) const;
  Unique unique_consecutive(std::optional<std::int64_t> axis = {}, At at = At::current()) const;
  /// How many elements there are of 0, 1, ... (at least `least` of them), or the sum of their weights. Realizes the largest.
  Tensor bincount(const std::optional<Tensor>& weights = {}, std::int64_t least = 0,
                  At at = At::current()) const;
  /// How many are in each of `bins` parts from low to high, NaN in none (both 0: from least to greatest; all NaN unless finite).
  Tensor histc(std::int64_t bins = 100, double low = 0, double high = 0, At at = At::current()) const;
  /// Of variables as rows and observations as columns.
  Tensor cov(double correction = 1, At at = At::current()) const;
  Tensor corrcoef(At at = At::current()) const;

  // --- products (linalg.cpp) ---
  Tensor matmul(const Tensor& other, At at = At::current()) const;
  Tensor dot(const Tensor& other, At at = At::current()) const;
  Tensor outer(const Tensor& other, At at = At::current()) const;
  Tensor bmm(const Tensor& other, At at = At::current()) const;
  Tensor mv(const Tensor& vector, At at = At::current()) const;
  Tensor inner(const Tensor& other, At at = At::current()) const;
  /// this*beta + (a @ b)*alpha. Of a beta of 0, NaNs in this do not matter.
  Tensor addmm(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1,
               At at = At::current()) const;
  Tensor baddbmm(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1,
                 At at = At::current()) const;
  Tensor mm(const Tensor& other, At at = At::current()) const;  ///< of two matrices
  Tensor addbmm(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1,
                At at = At::current()) const;
  Tensor addmv(const Tensor& matrix, const Tensor& vector, double beta = 1, double alpha = 1,
               At at = At::current()) const;
  Tensor addr(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1,
              At at = At::current()) const;
  /// @throws Error (domain) for a power below 0, (shape) unless matrices are square
  Tensor matrix_power(std::int64_t power, At at = At::current()) const;
  /// All of them one after another, in the order that multiplies least.
  static Tensor multi_dot(std::span<const Tensor> matrices, At at = At::current());
  /// Of the last two dimensions. @throws Error (domain) unless `kind` is "fro", "1", "-1", "inf" or "-inf"
  Tensor matrix_norm(std::string_view kind = "fro", bool keepdim = false, At at = At::current()) const;
  /// Summed over the last `count` dimensions of this and the first of `other`; or over pairs of axes.
  Tensor tensordot(const Tensor& other, std::int64_t count = 2, At at = At::current()) const;
  Tensor tensordot(const Tensor& other, const Axes& own, const Axes& others, At at = At::current()) const;
  Tensor kron(const Tensor& other, At at = At::current()) const;
  Tensor cross(const Tensor& other, std::int64_t axis = -1, At at = At::current()) const;
  /// Distances between rows by their p-norm: (..., n, k) and (..., m, k) to (..., n, m).
  Tensor cdist(const Tensor& other, double p = 2, At at = At::current()) const;
  Tensor trace(At at = At::current()) const;
  /// "ij,jk->ik" over tensors. @throws Error (parse, shape)
  static Tensor einsum(std::string_view formula, std::span<const Tensor> tensors,
                       At at = At::current());

  // --- indexing (indexing.cpp): as PyTorch's brackets. Integers take an axis away first; dimensions of tensors' indices
  // stand where these are side by side, else in front. @throws Error (shape) naming index, axis and size ---
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

  // --- by tensors of integers, below 0 from the end (gather.cpp, scatter.cpp). What is outside gives 0, is put nowhere ---
  /// out[i][j] = this[index[i][j]][j] for axis 0, and so on.
  Tensor gather(std::int64_t axis, const Tensor& index, At at = At::current()) const;
  Tensor index_select(std::int64_t axis, const Tensor& index, At at = At::current()) const;
  /// Of all elements in row-major order.
  Tensor take(const Tensor& index, At at = At::current()) const;
  Tensor take_along_dim(const Tensor& index, std::optional<std::int64_t> axis = {},
                        At at = At::current()) const;
  /// This, with out[index[i][j]][j] = value[i][j] for axis 0, and so on; of several the last.
  Tensor scatter(std::int64_t axis, const Tensor& index, const Operand& value) const;
  Tensor scatter_add(std::int64_t axis, const Tensor& index, const Operand& value) const;
  enum class Reduce : std::uint8_t { sum, prod, mean, amax, amin };
  /// Where values are put, they are reduced, with (include_self) what is there or without.
  Tensor scatter_reduce(std::int64_t axis, const Tensor& index, const Operand& value, Reduce reduce,
                        bool include_self = true) const;
  /// out[index[i]][j] = source[i][j] for axis 0, and so on.
  Tensor index_copy(std::int64_t axis, const Tensor& index, const Tensor& source,
                    At at = At::current()) const;
  Tensor index_add(std::int64_t axis, const Tensor& index, const Tensor& source,
                   const Number& alpha = 1, At at = At::current()) const;
  Tensor index_fill(std::int64_t axis, const Tensor& index, const Operand& value) const;
  Tensor index_reduce(std::int64_t axis, const Tensor& index, const Tensor& source, Reduce reduce,
                      bool include_self = true, At at = At::current()) const;
  /// This with the elements of `source` at places in row-major order.
  Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false,
             At at = At::current()) const;

  // --- by masks and by order (masks.cpp) ---
  /// The indices of what is not 0, (count, ndim) of i64. Realizes.
  Tensor nonzero(At at = At::current()) const;
  Tensor argwhere(At at = At::current()) const { return nonzero(at); }
  /// The elements for which the mask holds, as one dimension. Realizes the mask.
  Tensor masked_select(const Tensor& mask, At at = At::current()) const;
  /// This, with the elements of `source` in order where the mask holds.
  Tensor masked_scatter(const Tensor& mask, const Tensor& source, At at = At::current()) const;
  /// (..., classes) of i64: 1 where the class is this, none for what is no class. -1: one more than the largest, which is realized.
  Tensor one_hot(std::int64_t classes = -1, At at = At::current()) const;
  /// Where each value would go into this, sorted along its last axis: before equal ones, or (right) behind; NaN behind all.
  Tensor searchsorted(const Tensor& values, bool right = false, At at = At::current()) const;
  Tensor bucketize(const Tensor& boundaries, bool right = false, At at = At::current()) const {
    return boundaries.searchsorted(*this, right, at);
  }

  // --- other names of the same ---
#define STRATA_ALIAS(name, of) \
  Tensor name(At at = At::current()) const { return of(at); }
#define STRATA_ALIAS_OF_TWO(name, of) \
  Tensor name(const Operand& other) const { return of(other); }
#define STRATA_ALIAS_OF_TENSORS(name, of) \
  Tensor name(const Tensor& other, At at = At::current()) const { return of(other, at); }
#include "strata/tensor/aliases.def"
  Tensor clamp(const std::optional<Operand>& low, const std::optional<Operand>& high = {},
               At at = At::current()) const {
    return clip(low, high, at);
  }
  Tensor moveaxis(const Axes& from, const Axes& to, At at = At::current()) const {
    return movedim(from, to, at);
  }

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
#include "strata/tensor/operators.def"
Tensor operator-(const Tensor& a);
Tensor operator~(const Tensor& a);

}  // namespace strata
