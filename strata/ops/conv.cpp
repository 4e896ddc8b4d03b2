// Convolutions, as one sum of products over input channels and kernel elements of the input's windows and the weight;
// transposed convolutions; unfold() and fold().

#include <algorithm>
#include <array>
#include <numeric>

#include "strata/ops/backward.h"
#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/spatial.h"

namespace strata {

std::vector<std::int64_t> PerAxis::of(const char* operation, const char* what, std::size_t ndim,
                                      std::int64_t least) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  STRATA_CHECK(is_one_ || each_.size() == ndim, shape, "[", operation, "] ", what, " of ", each_.size(), " axes, not ",
               ndim);
  std::vector<std::int64_t> out = is_one_ ? std::vector<std::int64_t>(ndim, each_[0]) : each_;
  for (const std::int64_t n : out)
    STRATA_CHECK(n >= least && n <= kMost, domain, "[", operation, "] ", what, " ", n, ": ", least, " to ", kMost,
                 " is expected");
  return out;
}

ConvPadding::Sides ConvPadding::of(const char* operation, const std::vector<std::int64_t>& reach,
                                   const std::vector<std::int64_t>& stride) const {
  if (word_ == "same") {
    Sides out;
    for (std::size_t k = 0; k < reach.size(); ++k) {
      STRATA_CHECK(stride[k] == 1, domain, "[", operation, "] padding \"same\" needs stride 1, not ", stride[k]);
      out.emplace_back(reach[k] / 2, reach[k] - reach[k] / 2);
    }
    return out;
  }
  STRATA_CHECK(word_.empty() || word_ == "valid", domain, "[", operation, "] padding \"", word_,
               "\": \"same\", \"valid\" or numbers are expected");
  if (sides_.empty()) {
    Sides out;
    for (const std::int64_t n : each_.of(operation, "padding", reach.size(), 0)) out.emplace_back(n, n);
    return out;
  }
  Sides out;
  for (const auto& [before, after] : sides_) {
    const std::vector<std::int64_t> checked = PerAxis({before, after}).of(operation, "padding", 2, 0);
    out.emplace_back(checked[0], checked[1]);
  }
  STRATA_CHECK(out.size() == reach.size(), shape, "[", operation, "] padding is given for ", out.size(),
               " axes, not for the ", reach.size(), " spatial axes");
  return out;
}

}  // namespace strata

namespace strata::ops {

Spatial::Spatial(const char* operation, const Value& x, std::size_t axes) : operation_(operation), x_(x) {
  const auto n = static_cast<std::int64_t>(axes);
  STRATA_CHECK(x.ndim() == n + 2 || x.ndim() == n + 1, shape, "[", operation, "] the input has shape ",
               render(x.shape()), "; (batch, channels, ", axes, axes == 1 ? " size)" : " sizes)",
               ", with or without the batch, is expected");
  is_one_ = x.ndim() == n + 1;
  if (is_one_) x_ = x.unsqueeze(0);
  for (std::size_t k = 0; k < axes; ++k) sizes.push_back(x_.size(static_cast<std::int64_t>(k) + 2));
}

Numbers Spatial::numbers() const {
  Numbers out;
  for (const Int& size : sizes) out.push_back(number_of(size, operation_));
  return out;
}

Value padded(const Value& x, const ConvPadding::Sides& sides, Number value) {
  Padding padding(x.shape().size() - sides.size(), {0, 0});
  for (const auto& [before, after] : sides) padding.push_back({before, after});
  const bool is_none = std::all_of(sides.begin(), sides.end(),
                                   [](const auto& s) { return s == std::pair<std::int64_t, std::int64_t>(); });
  return is_none ? x : x.pad(padding, PadMode::constant, value);
}

Value windows_of(const Value& x, std::span<const Window> each, const Ints& counts) {
  return Value(windows_of(x.node(), each, std::span(counts.data(), counts.size())));
}

namespace {

/// The windows along each spatial axis of the padded input, and their numbers (the output sizes).
struct ConvPlan {
  std::vector<Window> windows;
  Ints counts;
};

ConvPlan plan(const char* operation, const Ints& sizes, const Numbers& kernel, const Numbers& stride,
              const Numbers& dilation, const ConvPadding::Sides& sides) {
  ConvPlan out;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Window w{kernel[k], stride[k], dilation[k]};
    const Int size = sizes[k] + Int(sides[k].first) + Int(sides[k].second);
    STRATA_CHECK(w.size >= 1 && known(is_at_most(w.reach(), size)), shape, "[", operation, "] a kernel that spans ",
                 w.reach().render(), " elements does not fit the ", size.render(), " elements of spatial axis ", k,
                 " with its padding");
    out.windows.push_back(w);
    out.counts.push_back(w.count_in(size));
  }
  return out;
}

Numbers kernel_of(const char* operation, const Value& weight) {
  Numbers out;
  for (std::int64_t k = 2; k < weight.ndim(); ++k) out.push_back(number_of(weight.size(k), operation));
  return out;
}
Numbers reach_of(const Numbers& kernel, const Numbers& dilation) {
  Numbers out;
  for (std::size_t k = 0; k < kernel.size(); ++k)
    out.push_back((Window{kernel[k], 1, dilation[k]}.reach() - Int(1)).value());
  return out;
}

Value with_bias(const char* operation, const Value& y, const std::optional<Value>& bias) {
  if (!bias) return y;
  STRATA_CHECK(bias->ndim() == 1 && bias->size(0) == y.size(1), shape, "[", operation, "] a bias of shape ",
               render(bias->shape()), " does not match ", y.size(1).render(), " channels");
  Ints sizes = {y.size(1)};
  for (std::int64_t k = 2; k < y.ndim(); ++k) sizes.push_back(1);
  return y + bias->reshape(sizes);
}

/// The convolution of x (batch, channels, padded sizes...) with a weight (out channels, channels / groups, kernel...).
Value convolved(const char* operation, const Value& x, const Value& weight, const ConvPlan& p, std::int64_t groups) {
  const std::size_t n = p.counts.size();
  const Int &batch = x.size(0), &in = weight.size(1);
  const Int out = number_of(weight.size(0), operation) / groups;
  const Value seen = windows_of(x, p.windows, p.counts);  // (batch, channels, counts..., kernel...)
  Ints inputs = {batch, groups, 1, in}, weights = {groups, out}, result = {batch, out * Int(groups)};
  Axes input_order = {0, 1, 2}, summed;
  for (std::size_t k = 0; k < n; ++k) {
    inputs.push_back(p.counts[k]), weights.push_back(1), result.push_back(p.counts[k]);
    input_order.push_back(static_cast<std::int64_t>(4 + k));
  }
  input_order.push_back(3), weights.push_back(in);
  summed.push_back(static_cast<std::int64_t>(n + 3));
  for (std::size_t k = 0; k < n; ++k) {
    inputs.push_back(p.windows[k].size), weights.push_back(p.windows[k].size);
    input_order.push_back(static_cast<std::int64_t>(4 + n + k));
    summed.push_back(static_cast<std::int64_t>(n + 4 + k));
  }
  return sum_of_products(operation, seen.reshape(inputs).permute(input_order), weight.reshape(weights), summed)
      .reshape(result);
}

/// What one axis adds to a phase of an adjoint: the outputs whose place is `phase` modulo the step. They are a
/// convolution with steps of 1, of every `every`-th element of the kernel from `first` on.
struct PhaseAxis {
  std::int64_t first = 0, every = 1;
  Window window{0, 1, 1};  ///< of no elements where the outputs are 0
  std::pair<std::int64_t, std::int64_t> sides;
};

/// @param from the place of output 0 among the places of whole windows  @param count outputs of each phase  @param size
/// of the axis of the values
PhaseAxis phase_axis(const Window& w, std::int64_t phase, std::int64_t from, const Int& count, const Int& size) {
  const std::int64_t place = phase + from, rest = place % w.step, shared = std::gcd(w.step, w.dilation);
  PhaseAxis out;
  out.every = w.step / shared;
  while (out.first < out.every && out.first * w.dilation % w.step != rest) ++out.first;
  if (out.first >= std::min(out.every, w.size)) return out;
  const std::int64_t elements = (w.size - out.first - 1) / out.every + 1, apart = w.dilation / shared;
  const std::int64_t reach = (elements - 1) * apart;
  const std::int64_t front = (out.first * w.dilation - rest) / w.step - place / w.step + reach;
  const std::int64_t back = (count - size).value() + reach - front;
  const bool is_seen = known(is_less(-front, size)) && known(is_less(-back, size));
  if (is_seen) out.window.size = elements, out.window.dilation = apart;
  out.sides = {front, back};
  return out;
}

/// The adjoint of the convolution that has windows `each` on an input padded by `sides`: the sum, for each element of
/// that input, of the values at the windows that it is in, times the kernel. With steps it is cut into phases: the
/// outputs at equal places modulo the steps are a convolution of the values with a part of the kernel.
class Adjoint {
 public:
  /// @param values (batch, out channels, counts...)  @param weight of the convolution  @param sizes of the input
  Adjoint(const char* operation, const Value& values, const Value& weight, std::span<const Window> each,
          const ConvPadding::Sides& sides, const Ints& sizes, std::int64_t groups)
      : operation_(operation),
        values_(values),
        weight_(weight),
        each_(each),
        sides_(sides),
        sizes_(sizes),
        groups_(groups),
        channels_(weight.size(1) * Int(groups)),
        shape_{values.size(0), channels_} {
    for (std::size_t k = 0; k < each.size(); ++k) {
      phases_ *= static_cast<std::size_t>(each[k].step);
      counts_.push_back(Window{1, each[k].step}.count_in(sizes[k]));
      shape_.push_back(counts_[k]);
      spatial_.push_back(static_cast<std::int64_t>(k) + 2);
    }
  }

  Value run() const {
    std::vector<std::optional<Value>> found;
    for (std::size_t number = 0; number < phases_; ++number) found.push_back(phase(number));
    const auto some = std::find_if(found.begin(), found.end(), [](const auto& part) { return part.has_value(); });
    const DType dtype = some == found.end() ? values_.dtype() : (*some)->dtype();
    std::vector<LazyOp> parts;
    for (const std::optional<Value>& part : found)
      parts.push_back(part ? part->node() : LazyOp::constant(Scalar::of(dtype, std::int64_t{0}), shape_));
    return interleaved(parts);
  }

 private:
  /// The axes of phase `number`; the last spatial axis counts fastest.
  std::vector<PhaseAxis> axes_of(std::size_t number) const {
    std::vector<PhaseAxis> out(each_.size());
    for (std::size_t k = each_.size(); k-- > 0;) {
      const auto step = static_cast<std::size_t>(each_[k].step);
      out[k] = phase_axis(each_[k], static_cast<std::int64_t>(number % step), sides_[k].first, counts_[k],
                          values_.size(spatial_[k]));
      number /= step;
    }
    return out;
  }

  /// Nothing where the outputs are 0.
  std::optional<Value> phase(std::size_t number) const {
    const std::vector<PhaseAxis> axes = axes_of(number);
    if (std::any_of(axes.begin(), axes.end(), [](const PhaseAxis& axis) { return axis.window.size == 0; })) return {};
    Mask bounds = {{0, weight_.size(0)}, {0, weight_.size(1)}};
    Ints every = {1, 1}, split = {groups_, number_of(weight_.size(0), operation_) / groups_, weight_.size(1)},
         turned = {channels_, split[1]};
    ConvPlan p{{}, counts_};
    ConvPadding::Sides around;
    for (const PhaseAxis& axis : axes) {
      bounds.push_back({axis.first, axis.first + (axis.window.size - 1) * axis.every + 1});
      every.push_back(axis.every), split.push_back(axis.window.size), turned.push_back(axis.window.size);
      around.push_back(axis.sides);
      p.windows.push_back(axis.window);
    }
    const Value kernel(weight_.node().shrink(bounds).stride(every));
    return convolved(operation_, padded(values_, around),
                     kernel.reshape(split).transpose(1, 2).reshape(turned).flip(spatial_), p, groups_);
  }

  /// The phases in memory, one behind the other, read in turn.
  LazyOp interleaved(const std::vector<LazyOp>& parts) const {
    const auto n = static_cast<std::int64_t>(each_.size());
    Ints stacked, joined = {shape_[0], shape_[1]};
    Axes order = {n, n + 1};
    Mask inside = {{0, shape_[0]}, {0, shape_[1]}};
    for (std::int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      stacked.push_back(each_[at].step), joined.push_back(counts_[at] * Int(each_[at].step));
      order.push_back(n + 2 + k), order.push_back(k);
      inside.push_back({0, sizes_[at]});
    }
    if (phases_ == 1) return parts[0].shrink(inside);
    for (const Int& size : shape_) stacked.push_back(size);
    return LazyOp::concatenated(parts).reshape(stacked).permute(order).reshape(joined).shrink(inside);
  }

  const char* operation_;
  const Value &values_, &weight_;
  std::span<const Window> each_;
  const ConvPadding::Sides& sides_;
  const Ints& sizes_;
  std::int64_t groups_;
  Int channels_;
  std::size_t phases_ = 1;
  Ints counts_;  // by spatial axis: the outputs of each phase
  Ints shape_;   // of a phase
  Axes spatial_;
};

Value adjoint(const char* operation, const Value& values, const Value& weight, std::span<const Window> each,
              const ConvPadding::Sides& sides, const Ints& sizes, std::int64_t groups) {
  return Adjoint(operation, values, weight, each, sides, sizes, groups).run();
}

/// True iff adjoint() serves: steps are 1, or phases are few and windows have several elements. Windows of one element
/// are moved apart, which is a product and a View.
bool is_worth_phases(std::span<const Window> each) {
  constexpr double most = 16;
  double phases = 1;
  for (const Window& w : each) phases *= static_cast<double>(w.step);
  const bool has_several = std::any_of(each.begin(), each.end(), [](const Window& w) { return w.size > 1; });
  return phases == 1 || (phases <= most && has_several);
}

/// The numbers of Saved: the groups, then of each spatial axis the step, the dilation, and the padding in front and
/// behind.
struct SavedPlan {
  static Ints numbers(std::int64_t groups, std::span<const Window> each, const ConvPadding::Sides& sides) {
    Ints out = {groups};
    for (std::size_t k = 0; k < each.size(); ++k)
      for (const std::int64_t n : {each[k].step, each[k].dilation, sides[k].first, sides[k].second}) out.push_back(n);
    return out;
  }
  /// @param input, weight, output of the convolution
  SavedPlan(const Saved& saved, const Value& input, const Value& weight, const Value& output)
      : groups(saved.number(0)) {
    for (std::int64_t k = 2; k < weight.ndim(); ++k) {
      const auto at = static_cast<std::size_t>(4 * (k - 2) + 1);
      forwards.windows.push_back({number_of(weight.size(k), "conv"), saved.number(at), saved.number(at + 1)});
      sides.emplace_back(saved.number(at + 2), saved.number(at + 3));
      forwards.counts.push_back(output.size(k));
      sizes.push_back(input.size(k));
    }
  }
  std::int64_t groups;
  ConvPlan forwards;
  ConvPadding::Sides sides;
  Ints sizes;
};

/// The gradients of a convolution by the input and by the weight. `saved`: both, and SavedPlan::numbers().
std::vector<Value> conv_gradients(const Value& dy, const Saved& saved) {
  const Value &x = saved[0], &weight = saved[1];
  const SavedPlan p(saved, x, weight, dy);
  const Value variable(weight.node().tracked({}));
  const Value y = convolved("conv", padded(x, p.sides), variable, p.forwards, p.groups);
  const Value by_x = adjoint("conv", dy, weight, p.forwards.windows, p.sides, p.sizes, p.groups);
  return {by_x.cast(x.dtype()), gradients(y, {&variable, 1}, dy)[0]};
}

/// The gradients of a transposed convolution, which is the adjoint of a convolution of dy.
std::vector<Value> conv_transpose_gradients(const Value& dy, const Saved& saved) {
  const Value &x = saved[0], &weight = saved[1];
  const SavedPlan p(saved, dy, weight, x);
  const Value variable(weight.node().tracked({})), input = padded(dy, p.sides);
  const Value y = convolved("conv_transpose", input, variable, p.forwards, p.groups);
  return {convolved("conv_transpose", input, weight, p.forwards, p.groups).cast(x.dtype()),
          gradients(y, {&variable, 1}, x.cast(y.dtype()))[0]};
}

/// True iff adjoint() pads by numbers, and no phase has outputs that are 0 for some of the sizes alone: all sizes are
/// numbers, or steps are 1 and the padding is less than what a window spans.
bool has_plain_sides(const ConvPlan& p, const ConvPadding::Sides& sides) {
  const auto is_number = [](const Int& n) { return n.is_number(); };
  if (std::all_of(p.counts.begin(), p.counts.end(), is_number)) return true;
  for (std::size_t k = 0; k < sides.size(); ++k) {
    const std::int64_t reach = p.windows[k].reach().value();
    if (p.windows[k].step > 1 || sides[k].first >= reach || sides[k].second >= reach) return false;
  }
  return true;
}

/// `y`, the convolution of `x`, with conv_gradients() where these are no more work than the sums of windows that follow
/// from the formula: where adjoint() serves, and the output is not much smaller than the steps make it.
Value with_conv_gradients(const Value& y, const Value& x, const Value& weight, const ConvPlan& p,
                          const ConvPadding::Sides& sides, std::int64_t groups) {
  constexpr double most = 2;  // elements of the input for each window and step
  if (!kTakesGradients || !is_worth_phases(p.windows) || !has_plain_sides(p, sides)) return y;
  double ratio = 1;
  for (std::size_t k = 0; k < p.windows.size(); ++k)
    ratio *= static_cast<double>(x.size(static_cast<std::int64_t>(k) + 2).vmax()) /
             static_cast<double>(p.counts[k].vmax() * p.windows[k].step);
  if (ratio > most) return y;
  return with_gradient(y, std::array{x, weight}, &conv_gradients,
                       Saved({x, weight}, SavedPlan::numbers(groups, p.windows, sides)));
}

void check_channels(const char* operation, const Value& x, const Value& weight, std::int64_t groups, std::int64_t own,
                    std::int64_t shared) {
  STRATA_CHECK(groups >= 1 && own % groups == 0, domain, "[", operation, "] ", groups,
               " groups do not divide the channels of a weight of shape ", render(weight.shape()));
  STRATA_CHECK(x.size(1) == Int(shared), shape, "[", operation, "] the input has ", x.size(1).render(),
               " channels; a weight of shape ", render(weight.shape()), " and ", groups,
               groups == 1 ? " group need " : " groups need ", shared);
}

Value conv(const char* operation, const Value& input, const Value& weight, const std::optional<Value>& bias,
           const ConvOptions& o) {
  const Numbers kernel = kernel_of(operation, weight);
  const std::size_t n = kernel.size();
  const Spatial x(operation, input, n);
  const std::int64_t out = number_of(weight.size(0), operation), in = number_of(weight.size(1), operation);
  check_channels(operation, x.batched(), weight, o.groups, out, (Int(in) * Int(o.groups)).value());
  const Numbers stride = o.stride.of(operation, "stride", n, 1), dilation = o.dilation.of(operation, "dilation", n, 1);
  const ConvPadding::Sides sides = o.padding.of(operation, reach_of(kernel, dilation), stride);
  const ConvPlan p = plan(operation, x.sizes, kernel, stride, dilation, sides);
  const Value y = convolved(operation, padded(x.batched(), sides), weight, p, o.groups);
  return x.unbatched(with_bias(operation, with_conv_gradients(y, x.batched(), weight, p, sides, o.groups), bias));
}

/// For each element of the input its products with the kernel, summed over input channels: (batch, out channels,
/// sizes..., kernel...).
Value spread_by(const char* operation, const Value& x, const Value& weight, std::int64_t groups) {
  const Int in = number_of(x.size(1), operation) / groups, &out = weight.size(1);
  Ints inputs = {x.size(0), groups, in, 1}, weights = {groups, in, out}, result = {x.size(0), out * Int(groups)};
  for (std::int64_t k = 2; k < x.ndim(); ++k)
    inputs.push_back(x.size(k)), weights.push_back(1), result.push_back(x.size(k));
  for (std::int64_t k = 2; k < x.ndim(); ++k)
    inputs.push_back(1), weights.push_back(weight.size(k)), result.push_back(weight.size(k));
  return sum_of_products(operation, x.reshape(inputs), weight.reshape(weights), {2}).reshape(result);
}

/// The transposed convolution: adjoint(), or spread_by(), and then all kernels added into the output.
Value conv_transpose(const char* operation, const Value& input, const Value& weight, const std::optional<Value>& bias,
                     const ConvTransposeOptions& o) {
  const Numbers kernel = kernel_of(operation, weight);
  const std::size_t n = kernel.size();
  const Spatial x(operation, input, n);
  const Numbers in_sizes = x.numbers();
  const std::int64_t in = number_of(weight.size(0), operation);
  check_channels(operation, x.batched(), weight, o.groups, in, in);
  const Numbers stride = o.stride.of(operation, "stride", n, 1), dilation = o.dilation.of(operation, "dilation", n, 1),
                wanted = o.output_size ? o.output_size->of(operation, "output size", n, 0) : Numbers();
  Numbers more = o.output_padding.of(operation, "output padding", n, 0), reaches;
  std::vector<Window> each;
  std::vector<Int> sizes;
  ConvPadding::Sides sides;
  for (std::size_t k = 0; k < n; ++k) {
    STRATA_CHECK(in_sizes[k] > 0 && kernel[k] > 0, shape, "[", operation, "] an input of shape ", render(input.shape()),
                 " or a weight of shape ", render(weight.shape()), " has an empty spatial axis");
    each.push_back({kernel[k], stride[k], dilation[k]});
    reaches.push_back(each[k].reach().value() - 1);
  }
  const ConvPadding::Sides padding = o.padding.of(operation, reaches, stride);
  for (std::size_t k = 0; k < n; ++k) {
    const auto [before, after] = padding[k];
    const Int whole = Int(in_sizes[k] - 1) * Int(stride[k]) + each[k].reach(), cut = Int(before) + Int(after);
    const std::int64_t limit = std::max(stride[k], dilation[k]);
    if (o.output_size) {
      const std::int64_t least = (whole - cut).value();
      STRATA_CHECK(wanted[k] >= least && wanted[k] < least + limit, shape, "[", operation, "] the output size ",
                   wanted[k], " of spatial axis ", k, " is not from ", least, " to ", least + limit - 1);
      more[k] = wanted[k] - least;
    }
    STRATA_CHECK(more[k] < limit, domain, "[", operation, "] output padding ", more[k], " is not less than stride ",
                 stride[k], " or dilation ", dilation[k]);
    sizes.push_back(whole + Int(more[k]));
    sides.emplace_back(-before, -after);
    STRATA_CHECK(sizes[k].value() > cut.value(), shape, "[", operation, "] padding ", before, " and ", after,
                 " leaves nothing of spatial axis ", k);
  }
  if (is_worth_phases(each)) {
    ConvPadding::Sides around;
    Ints results;
    for (std::size_t k = 0; k < n; ++k) {
      const auto [before, after] = padding[k];
      results.push_back(sizes[k].value() - before - after);
      around.emplace_back(before, after - more[k]);
    }
    const Value y = adjoint(operation, x.batched(), weight, each, around, results, o.groups);
    const std::array<Value, 2> inputs{x.batched(), weight};
    return x.unbatched(with_bias(
        operation,
        kTakesGradients ? with_gradient(y, inputs, &conv_transpose_gradients,
                                        Saved({inputs[0], inputs[1]}, SavedPlan::numbers(o.groups, each, around)))
                        : y,
        bias));
  }
  const Value terms = spread_by(operation, x.batched(), weight, o.groups);
  const Value whole = Value(unwindowed_of(terms.node(), each, sizes));
  return x.unbatched(with_bias(operation, padded(whole, sides), bias));
}

void check_axes(const char* operation, const Value& weight, std::int64_t n) {
  STRATA_CHECK(weight.ndim() == n + 2 && n > 0, shape, "[", operation, "] the weight has shape ",
               render(weight.shape()), "; two channel dimensions and ", n,
               n == 1 ? " kernel size are" : " kernel sizes are", " expected");
}

}  // namespace

Value conv_nd(const Value& x, const Value& weight, const std::optional<Value>& bias, const ConvOptions& options) {
  check_axes("conv_nd", weight, std::max<std::int64_t>(weight.ndim() - 2, 1));
  return conv("conv_nd", x, weight, bias, options);
}
Value conv_transpose_nd(const Value& x, const Value& weight, const std::optional<Value>& bias,
                        const ConvTransposeOptions& options) {
  check_axes("conv_transpose_nd", weight, std::max<std::int64_t>(weight.ndim() - 2, 1));
  return conv_transpose("conv_transpose_nd", x, weight, bias, options);
}

#define STRATA_CONV(name, apply, Options, n)                                                                  \
  Value name(const Value& x, const Value& weight, const std::optional<Value>& bias, const Options& options) { \
    check_axes(#name, weight, n);                                                                             \
    return apply(#name, x, weight, bias, options);                                                            \
  }
STRATA_CONV(conv1d, conv, ConvOptions, 1)
STRATA_CONV(conv2d, conv, ConvOptions, 2)
STRATA_CONV(conv3d, conv, ConvOptions, 3)
STRATA_CONV(conv_transpose1d, conv_transpose, ConvTransposeOptions, 1)
STRATA_CONV(conv_transpose2d, conv_transpose, ConvTransposeOptions, 2)
STRATA_CONV(conv_transpose3d, conv_transpose, ConvTransposeOptions, 3)
#undef STRATA_CONV

namespace {

/// The windows of unfold() and fold().
struct Columns {
  Columns(const char* operation, const PerAxis& kernel, const UnfoldOptions& o, const Ints& sizes) {
    const Numbers padding = o.padding.of(operation, "padding", 2, 0);
    for (const std::int64_t n : padding) sides.emplace_back(n, n), around.push_back({n, n});
    p = plan(operation, sizes, kernel.of(operation, "kernel size", 2, 1), o.stride.of(operation, "stride", 2, 1),
             o.dilation.of(operation, "dilation", 2, 1), sides);
  }
  std::int64_t elements() const { return (Int(p.windows[0].size) * Int(p.windows[1].size)).value(); }
  /// (batch, channels, height, width) becomes (batch, channels * elements of a window, windows).
  LazyOp of(const LazyOp& image) const {
    const Value seen = windows_of(Value(image.pad(around)), p.windows, p.counts);
    return seen.node()
        .permute({0, 1, 4, 5, 2, 3})
        .reshape({image.shape()[0], image.shape()[1] * Int(elements()), p.counts[0] * p.counts[1]});
  }
  ConvPadding::Sides sides;
  Padding around = {{0, 0}, {0, 0}};
  ConvPlan p;
};

}  // namespace

Value unfold(const Value& input, const PerAxis& kernel, const UnfoldOptions& options) {
  const Spatial x("unfold", input, 2);
  const Columns columns("unfold", kernel, options, x.sizes);
  return x.unbatched(Value(columns.of(x.batched().node())));
}

Value fold(const Value& input, const PerAxis& output_size, const PerAxis& kernel, const UnfoldOptions& options) {
  const Spatial x("fold", input, 1);
  const Numbers to = output_size.of("fold", "output size", 2, 1);
  const Columns columns("fold", kernel, options, {to[0], to[1]});
  const Ints& shape = x.batched().shape();
  const ConvPlan& p = columns.p;
  const std::int64_t rows = number_of(shape[1], "fold"), elements = columns.elements();
  STRATA_CHECK(rows % elements == 0, shape, "[fold] columns of ", rows, " elements do not match a kernel of ", elements,
               " elements");
  const Int count = p.counts[0] * p.counts[1];
  STRATA_CHECK(shape[2] == count, shape, "[fold] columns of shape ", render(input.shape()),
               " do not match an image of ", to[0], " x ", to[1], ", which has ", count.render(), " windows");
  const Ints split = {shape[0], rows / elements, p.windows[0].size, p.windows[1].size, p.counts[0], p.counts[1]};
  const Value terms = x.batched().reshape(split).permute({0, 1, 4, 5, 2, 3});
  std::vector<Int> sizes;
  ConvPadding::Sides inner;
  for (std::size_t k = 0; k < 2; ++k) {
    sizes.push_back(Int(to[k]) + Int(2 * columns.sides[k].first));
    inner.emplace_back(-columns.sides[k].first, -columns.sides[k].second);
  }
  return x.unbatched(padded(Value(unwindowed_of(terms.node(), p.windows, sizes)), inner));
}

}  // namespace strata::ops
