// DOT as a rewrite of the kernel's graph.

#include "strata/codegen/dot.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "strata/base/sort_few.h"
#include "strata/codegen/load_dims.h"
#include "strata/graph/absorb.h"
#include "strata/graph/rebuild.h"

namespace strata {

namespace {

constexpr std::int64_t kWordBytes = 4;
constexpr double kWorthWords = 8;             // fewest uses of an element that pay for making words in each run,
constexpr double kWorthWordsFarAway = 16;     // where they leave the caches;
constexpr double kWorthPairsFarAway = 10;     // of bf16, whose products without words take longer
constexpr std::int64_t kMostByteCopies = 16;  // of a byte, in the words of windows
constexpr std::int64_t kInCaches = 1 << 23;   // bytes that stay there
constexpr std::int64_t kWorthDots = 32;       // shortest axis
constexpr std::int64_t kSigns = -0x7f7f7f80;  // the highest bit of each byte of a word

// Of bf16.
constexpr int kFractionBits = 7, kExponentBias = 127;
constexpr std::int64_t kMagnitude = 0x7fff;

bool is_byte(DType dtype) { return dtype == dtypes::int8 || dtype == dtypes::uint8; }
bool is_factor(DType dtype) { return is_byte(dtype) || dtype == dtypes::bfloat16; }
/// The dtype of the products of factors.
DType product_dtype(DType factor) { return is_byte(factor) ? dtypes::int32 : dtypes::float32; }
std::int64_t elements_of_word(DType factor) { return kWordBytes / static_cast<std::int64_t>(factor.itemsize()); }

LazyOp number(std::int64_t value, const Ints& shape, DType dtype = dtypes::int32) {
  return LazyOp::constant(Scalar::of(dtype, value), shape);
}

/// The sum of products of a kernel.
struct SumOfProducts {
  const LazyNode* sum = nullptr;  ///< null: there is none
  const LazyNode* loads[2] = {nullptr, nullptr};
};

/// The LOAD of factors whose elements `n` has in product_dtype(), moved or not; null for something else.
const LazyNode* widened_factor(const LazyOp& n) {
  const LazyOp* of = &n;
  while (is_movement(of->op())) of = &of->src(0);
  if (of->op() != Ops::CAST) return nullptr;
  const LazyOp& narrow = of->src(0);
  const bool is_one =
      narrow.op() == Ops::LOAD && is_factor(narrow.dtype()) && of->dtype() == product_dtype(narrow.dtype());
  return is_one ? narrow.node() : nullptr;
}

/// The kernel where factors are moved first, and widened then.
LazyOp with_moved_factors(const LazyOp& kernel) {
  detail::Rebuild rebuild(
      [](const LazyOp& n, const std::vector<LazyOp>& sources) {
        const bool is_moved =
            is_movement(n.op()) && sources[0].op() == Ops::CAST && is_factor(sources[0].src(0).dtype());
        return is_moved ? moved_as(*n.node(), sources[0].src(0)).cast(sources[0].dtype()) : n.with_sources(sources);
      },
      [](const LazyOp&) { return std::optional<LazyOp>(); });
  return absorb_movement(rebuild(kernel));
}

SumOfProducts sum_of_products(const LazyOp& kernel) {
  SumOfProducts out;
  int reductions = 0;
  for (const LazyNode* n : postorder(kernel)) {
    if (!is_reduce(n->op)) continue;
    const LazyOp& product = n->src[0];
    if (++reductions > 1) return {};
    if (n->op != Ops::SUM || product.op() != Ops::MUL) continue;
    const LazyNode *a = widened_factor(product.src(0)), *b = widened_factor(product.src(1));
    if (a != nullptr && b != nullptr) out = {n, {a, b}};
  }
  return out;
}

int slot_of(const LazyNode& load) { return std::get<BufferArg>(load.arg).slot; }

/// The two buffers of a kernel with a DOT.
class Operands {
 public:
  Operands(const LazyOp& kernel, std::size_t axis, int slot, const Target& target)
      : kernel_(with_moved_factors(kernel)), found_(sum_of_products(kernel_)), axis_(axis) {
    if (found_.sum == nullptr) {
      reason_ = "the kernel has no sum of products of bytes in int32 or of bf16 in float32, or other reductions";
      return;
    }
    if (found_.sum->dtype.is_float() && !target.reassociate) {
      reason_ = "a SUM of floats keeps the defined order";
      return;
    }
    const int slots[] = {slot_of(*found_.loads[0]), slot_of(*found_.loads[1])};
    if (slots[0] == slots[1] || (slot != slots[0] && slot != slots[1])) {
      reason_ = detail::message("buffer ", slot, " is not multiplied by another one");
      return;
    }
    // Bytes that windows share have a word in each window. Words of bf16 would take as much memory as f32.
    const std::int64_t copies = is_byte(found_.loads[0]->dtype) ? kMostByteCopies : 1;
    weights_.emplace(kernel_, slot, target, copies);
    values_.emplace(kernel_, slot == slots[0] ? slots[1] : slots[0], target, copies);
    for (const LoadDims* const dims : {&*weights_, &*values_}) {
      if (reason_.empty()) reason_ = dims->reason();
      if (reason_.empty()) check(*dims, KernelAxes(kernel_));
    }
  }

  const std::string& reason() const { return reason_; }
  /// The kernel, in which factors are moved before they are widened.
  const LazyOp& kernel() const { return kernel_; }
  const LazyNode& sum() const { return *found_.sum; }
  const LoadDims& weights() const { return *weights_; }
  const LoadDims& values() const { return *values_; }

 private:
  void check(const LoadDims& of, const KernelAxes& axes) {
    if (axis_ < axes.outputs() || axis_ >= axes.axes().size()) {
      reason_ = detail::message("axis ", axis_, " is not a reduce axis");
      return;
    }
    for (std::size_t a = axes.outputs(); a < axes.axes().size(); ++a)
      if (of.position_of(a) == of.dims().size() && (a == axis_ || !(axes.axes()[a].size == Int(1))))
        reason_ = detail::message("buffer ", slot_of(of.load()), " does not move along axis ", a);
  }

  LazyOp kernel_;
  SumOfProducts found_;
  std::size_t axis_;
  std::optional<LoadDims> weights_, values_;
  std::string reason_;
};

/// The words of a buffer along dimension `along` of its LoadDims, in the order of the dimensions.
LazyOp words_of(const LoadDims& of, std::size_t along) {
  const std::vector<MovingDim>& dims = of.dims();
  const std::int64_t in_word = elements_of_word(of.load().dtype), bits = 8 * kWordBytes / in_word;
  const std::int64_t size = dims[along].size, words = (size - 1) / in_word + 1;
  Padding beyond(dims.size(), {0, 0});
  beyond[along].second = words * in_word - size;
  Ints in_words, shape;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    shape.push_back(k == along ? words : dims[k].size);
    in_words.push_back(shape.back());
    if (k == along) in_words.push_back(in_word);
  }
  const LazyOp elements = moving(of.load_op(), dims).pad(beyond).reshape(in_words);
  const DType pattern = in_word == 4 ? dtypes::uint8 : dtypes::uint16;
  std::optional<LazyOp> out;
  for (std::int64_t j = 0; j < in_word; ++j) {
    Mask chosen;
    for (const Int& n : in_words) chosen.push_back({0, n});
    chosen[along + 1] = {j, j + 1};
    const LazyOp one = elements.shrink(chosen).reshape(shape);
    LazyOp in_place = (one.dtype() == pattern ? one : one.bitcast(pattern)).cast(dtypes::int32);
    if (j > 0) in_place = LazyOp::alu(Ops::SHL, {in_place, number(bits * j, shape)});
    out = out ? LazyOp::alu(Ops::OR, {*out, in_place}) : in_place;
  }
  return *out;
}

/// The dimensions, where dimension `along` is in words.
std::vector<MovingDim> dims_of_words(const LoadDims& of, std::size_t along) {
  std::vector<MovingDim> out = of.dims();
  out[along].size = (out[along].size - 1) / elements_of_word(of.load().dtype) + 1;
  return out;
}

/// The dimensions in the order of their strides, the longest first. Where windows overlap, the dimensions of the sum
/// come before those of the result, as in a product of matrices: each group then merges to one axis.
Axes memory_order(const LoadDims& of) {
  const BufferArg& buffer = std::get<BufferArg>(of.load().arg);
  const View view = buffer.st.simplify().views()[0];
  const auto step = [&](std::int64_t k) {
    return std::abs(view.strides()[of.dims()[static_cast<std::size_t>(k)].dim].value());
  };
  Axes out;
  std::int64_t elements = 1;
  for (std::size_t k = 0; k < of.dims().size(); ++k) {
    out.push_back(static_cast<std::int64_t>(k));
    elements *= of.dims()[k].size;
  }
  const bool overlaps = elements > buffer.size.value();
  const auto key = [&](std::int64_t k) {
    const bool is_output = of.dims()[static_cast<std::size_t>(k)].axis < of.outputs();
    return std::tuple(overlaps && is_output, -step(k), k);
  };
  sort_few(out, [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  return out;
}

LazyOp storing(int slot, const LazyOp& value) {
  return absorb_movement(LazyOp::sink({LazyOp::store(slot, ShapeTracker::from_shape(value.shape()), value)}));
}

LazyOp loading(int slot, const Ints& shape) {
  return LazyOp::load(slot, dtypes::int32, ShapeTracker::from_shape(shape), product(shape));
}

/// `factor` times the sums of the buffer's bytes over all reduce axes, with the dimensions of its output axes.
LazyOp sums_of(const LoadDims& of, std::int64_t factor) {
  const LazyOp bytes = moving(of.load_op(), of.dims()).cast(dtypes::int32);
  Axes reduced;
  Ints left;
  for (std::size_t k = 0; k < of.dims().size(); ++k)
    if (of.dims()[k].axis >= of.outputs())
      reduced.push_back(static_cast<std::int64_t>(k));
    else
      left.push_back(of.dims()[k].size);
  const LazyOp sums = LazyOp::reduce(Ops::SUM, bytes, reduced).reshape(left);
  return sums * number(factor, left);
}

/// The least magnitudes of the buffer's bf16, for are_normal(), of each run of neighbours in memory. That of 0 is the
/// largest.
LazyOp least_of(const LoadDims& of) {
  const LazyOp bits = moving(of.load_op(), of.dims()).bitcast(dtypes::uint16);
  const LazyOp magnitudes = LazyOp::alu(Ops::AND, {bits, number(kMagnitude, bits.shape(), bits.dtype())});
  const std::int64_t inner = memory_order(of).back();
  Ints left = bits.shape();
  left.erase_at(static_cast<std::size_t>(inner));
  return LazyOp::reduce(Ops::REDUCE_MIN, magnitudes - number(1, bits.shape(), bits.dtype()), {inner}).reshape(left);
}

std::vector<MovingDim> output_dims(const LoadDims& of) {
  std::vector<MovingDim> out;
  for (const MovingDim& m : of.dims())
    if (m.axis < of.outputs()) out.push_back(m);
  return out;
}

}  // namespace

std::string dot_refusal(const LazyOp& kernel, std::size_t axis, int slot, const Target& target) {
  return Operands(kernel, axis, slot, target).reason();
}

DotKernels dot_products(const LazyOp& kernel, const Opt& opt, const Target& target) {
  const Operands found(kernel, opt.axis, static_cast<int>(opt.amount), target);
  STRATA_CHECK(found.reason().empty(), domain, "[", opt.text(), "] ", found.reason());
  const LoadDims &weights = found.weights(), &values = found.values();
  const bool are_bytes = is_byte(weights.load().dtype);
  const bool has_signs = weights.load().dtype == dtypes::int8;
  const bool is_shifted = are_bytes && values.load().dtype == weights.load().dtype;

  // The words of both, and the sums.
  int slot = static_cast<int>(buffers_of(kernel).size());
  const int weight_slot = slot++, value_slot = slot++, sum_slot = is_shifted ? slot++ : -1;
  const std::size_t weight_at = weights.position_of(opt.axis), value_at = values.position_of(opt.axis);
  const Axes order = memory_order(weights);
  const LazyOp weight_words = words_of(weights, weight_at).permute(order);
  LazyOp value_words = words_of(values, value_at);
  if (is_shifted) value_words = LazyOp::alu(Ops::XOR, {value_words, number(kSigns, value_words.shape())});

  // The products of words.
  const LazyNode& product = *found.sum().src[0].node();
  Ints shape = product.shape;
  const std::vector<MovingDim> weight_dims = dims_of_words(weights, weight_at),
                               value_dims = dims_of_words(values, value_at);
  shape[weight_dims[weight_at].dim] = weight_dims[weight_at].size;
  const LazyOp by_weights =
      spread(loading(weight_slot, weight_words.shape()).permute(inverse_order(order)), weight_dims, shape);
  const LazyOp by_values = spread(loading(value_slot, value_words.shape()), value_dims, shape);
  const LazyOp dots = LazyOp::alu(
      are_bytes ? Ops::DOT4 : Ops::DOT2,
      {has_signs ? by_values : by_weights, has_signs ? by_weights : by_values, number(0, shape, found.sum().dtype)});
  LazyOp sum = LazyOp::reduce(Ops::SUM, dots, std::get<Axes>(found.sum().arg));

  DotKernels out{{storing(weight_slot, weight_words)}, storing(value_slot, value_words), kernel, weight_slot, {}, {}};
  if (is_shifted) {
    const LazyOp sums = sums_of(weights, has_signs ? -128 : 128);
    out.of_weights.push_back(storing(sum_slot, sums));
    sum = sum + spread(loading(sum_slot, sums.shape()), output_dims(weights), sum.shape());
  }
  if (!are_bytes && target.native_of_normals.has(Ops::DOT2)) out.least = {least_of(weights), least_of(values)};
  for (int k = weight_slot; k < slot; ++k) out.temporaries.push_back(k);
  detail::Rebuild rebuild(
      [](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
      [&](const LazyOp& n) { return n.node() == &found.sum() ? std::optional(sum) : std::nullopt; });
  out.rest = absorb_movement(rebuild(found.kernel()));
  return out;
}

std::optional<Opt> worthwhile_dot(const LazyOp& kernel, const Target& target, std::span<const int> kept) {
  const SumOfProducts found = sum_of_products(kernel);
  if (found.sum == nullptr) return std::nullopt;
  const bool are_bytes = is_byte(found.loads[0]->dtype);
  if (are_bytes ? !target.native.has(Ops::DOT4) : !target.native_of_normals.has(Ops::DOT2)) return std::nullopt;
  const KernelAxes axes(kernel);
  const auto is_long = [&](const Int& size) { return size.is_number() && size.value() >= kWorthDots; };
  std::size_t along = axes.axes().size();  // behind the innermost reduce axis that is long enough
  while (along > axes.outputs() && !is_long(axes.axes()[along - 1].size)) --along;
  if (along == axes.outputs()) return std::nullopt;
  // The weights move along the last output axis.
  std::size_t inner = axes.outputs();
  while (inner > 0 && axes.axes()[inner - 1].size == Int(1)) --inner;
  if (inner == 0) return std::nullopt;
  for (const LazyNode* load : found.loads) {
    const int slot = slot_of(*load);
    const Operands operands(kernel, along - 1, slot, target);
    if (!operands.reason().empty()) return std::nullopt;
    const LoadDims &weights = operands.weights(), &values = operands.values();
    const auto moves = [&](const LoadDims& of) { return of.position_of(inner - 1) < of.dims().size(); };
    if (!moves(weights) || moves(values)) continue;
    const auto pays = [&](const LoadDims& of) {
      double uses = 1;
      for (std::size_t a = 0; a < axes.outputs(); ++a)
        if (of.position_of(a) == of.dims().size()) uses *= static_cast<double>(axes.axes()[a].size.vmax());
      const bool stays = std::get<BufferArg>(of.load().arg).size.vmax() <= kInCaches;
      const double far_away = are_bytes ? kWorthWordsFarAway : kWorthPairsFarAway;
      return uses >= (stays ? kWorthWords : far_away) ||
             std::find(kept.begin(), kept.end(), slot_of(of.load())) != kept.end();
    };
    if (pays(weights) && pays(values)) return Opt{Opt::Kind::DOT, along - 1, slot, 0, {}};
  }
  return std::nullopt;
}

bool are_normal(std::uint16_t a, std::uint16_t b) {
  const int e = (a + 1) >> kFractionBits, f = (b + 1) >> kFractionBits;  // biased; those of subnormal elements are 0
  return e > 0 && f > 0 && e + f - 2 * kExponentBias - 2 * kFractionBits >= 1 - kExponentBias;
}

}  // namespace strata
