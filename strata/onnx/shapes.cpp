// Operators that change shapes, join and split, and make tensors of shapes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "strata/onnx/operators.h"
#include "strata/onnx/sizes.h"

namespace strata::onnx {
namespace {

/// A list that is an attribute of older versions and input `i` of newer ones.
Sizes listed(const Call& call, const char* attribute, std::size_t i) {
  return call.node().row->attribute(attribute) != nullptr ? call.integers(attribute) : call.integers_of(i);
}

/// Begin and end of Shape, limited to the rank.
std::int64_t limited(std::int64_t at, std::int64_t rank) {
  return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank);
}

/// The shape of Reshape: 0 takes the size of x, -1 follows from the others.
Ints reshaped(const Ints& given, const Ints& from, bool allows_zero) {
  Ints out = given;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Int& size = given[k];
    STRATA_CHECK(!size.is_number() || size.value() >= -1, shape, "the shape ", render(given), " has the size ",
                 size.render());
    STRATA_CHECK(size.is_number() || size.vmin() >= (allows_zero ? 0 : 1), shape, "the size ", size.render(), " of ",
                 render(given), " may be less than ", allows_zero ? 0 : 1, ": a 0 takes the size of the input");
    if (!(size == Int(0)) || allows_zero) continue;
    STRATA_CHECK(k < from.size(), shape, "the shape ", render(given), " has a 0 where ", render(from), " has no size");
    out[k] = from[k];
  }
  return out;
}

std::int64_t last_of(const Call& call, std::int64_t rank) {
  return call.given("end") ? limited(call.integer("end"), rank) : rank;
}

/// sliced() along an axis whose size is symbolic, by steps of 1.
Tensor sliced_symbolic(const Tensor& x, std::int64_t axis, const Int& begin, const Int& end, std::int64_t step) {
  const Int& size = x.size(axis);
  STRATA_CHECK(step == 1, shape, "a slice of axis ", axis, " of the shape ", render(x.shape()), " by steps of ", step,
               " needs numbers: load the model without bounds of these sizes");
  // From the end, and limited to the axis, as far as that holds for all sizes.
  const auto limited = [&](const Int& at) -> Int {
    Int place = at.vmax() < 0 ? size + at : at;
    if (known(is_at_most(size, place))) return size;
    if (known(is_at_most(place, 0))) return 0;
    STRATA_CHECK((at.vmin() >= 0 || at.vmax() < 0) && known(is_at_most(0, place)) && known(is_at_most(place, size)),
                 shape, "the position ", at.render(), " may be inside or outside of axis ", axis, " of the shape ",
                 render(x.shape()), ": load the model without bounds of these sizes");
    return place;
  };
  const Int from = limited(begin), to = limited(end);
  if (known(is_at_most(to, from))) return x.narrow(axis, 0, 0);
  STRATA_CHECK(known(is_at_most(from, to)), shape, "the slice from ", from.render(), " to ", to.render(),
               " may be empty: load the model without bounds of these sizes");
  return x.narrow(axis, from, to - from);
}

Tensor sliced(const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  STRATA_CHECK(step != 0, domain, "the step along axis ", axis, " is 0");
  if (!x.size(axis).is_number()) return sliced_symbolic(x, axis, begin, end, step);
  const std::int64_t size = x.size(axis).value();
  const auto clamped = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  begin = step > 0 ? clamped(begin, 0, size) : clamped(begin, 0, size - 1);
  end = step > 0 ? clamped(end, 0, size) : clamped(end, -1, size - 1);
  step = std::clamp(step, -size - 1, size + 1);
  std::int64_t count = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  count = size == 0 ? 0 : std::max(count, std::int64_t{0});
  if (count == 0) return x.narrow(axis, 0, 0);
  if (step == 1) return x.narrow(axis, begin, count);
  std::vector<Subscript> subscripts;
  for (std::int64_t d = 0; d < axis; ++d) subscripts.emplace_back(Slice{});
  const std::int64_t stop = begin + count * step;
  if (stop >= 0)
    subscripts.emplace_back(Slice{Int(begin), Int(stop), step});
  else
    subscripts.emplace_back(Slice{Int(begin), {}, step});
  return x.index(subscripts);
}

Tensor sliced_all(const Tensor& x, const Sizes& begins, const Sizes& ends, Sizes axes, const Sizes& steps) {
  if (axes.empty()) {
    axes.resize(begins.size());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  STRATA_CHECK(
      begins.size() == ends.size() && begins.size() == axes.size() && (steps.empty() || steps.size() == axes.size()),
      shape, begins.size(), " begins, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(), " steps");
  Tensor out = x;
  for (std::size_t k = 0; k < axes.size(); ++k)
    out = sliced(out, Call::axis_in(axes[k], x.ndim()), begins[k], ends[k], steps.empty() ? 1 : steps[k]);
  return out;
}

PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "wrap") return PadMode::circular;
  STRATA_CHECK(name == "edge", domain, "the mode is ", name);
  return PadMode::replicate;
}

Results padded(const Call& call, const Sizes& pads, const Number& value) {
  const Tensor x = call.x(0);
  const auto rank = static_cast<std::size_t>(x.ndim());
  Padding around(rank, {0, 0});
  Sizes axes = call.opset() >= 18 && call.has(3) ? call.integers_of(3) : Sizes();
  if (axes.empty())
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
  STRATA_CHECK(pads.size() == 2 * axes.size(), shape, pads.size(), " pads for ", axes.size(), " dimensions");
  for (std::size_t k = 0; k < axes.size(); ++k)
    around[static_cast<std::size_t>(Call::axis_in(axes[k], x.ndim()))] = {pads[k], pads[k + axes.size()]};
  return {x.pad(around, pad_mode(call.text("mode")), value)};
}

/// The shape of x with its axes in blocks: (batch, channels..., height, width) of depth to space and back.
struct Blocks {
  Int batch;
  std::int64_t channels, height, width, block;
  explicit Blocks(const Call& call) {
    const Tensor& x = call.datum(0).tensor();
    STRATA_CHECK(x.ndim() == 4, shape, "the input has ", x.ndim(), " dimensions instead of 4");
    batch = x.size(0);
    channels = number_of_size(x, 1);
    height = number_of_size(x, 2);
    width = number_of_size(x, 3);
    block = call.integer("blocksize");
    STRATA_CHECK(block >= 1 && block <= 1 << 20, domain, "the block size is ", block);
  }
};

}  // namespace

Results shape_of(const Call& call) {
  const Ints shape = call.datum(0).is_texts() ? to_shape(call.datum(0).shape()) : call.datum(0).tensor().shape();
  const auto rank = std::ssize(shape);
  const std::int64_t begin = call.opset() >= 15 ? limited(call.integer("start"), rank) : 0;
  const std::int64_t end = call.opset() >= 15 ? std::max(last_of(call, rank), begin) : rank;
  return {integers_datum(call.device(), {{end - begin}, {shape.begin() + begin, shape.begin() + end}, dtypes::int64})};
}

Results size_of(const Call& call) {
  const Datum& x = call.datum(0);
  return {integers_datum(
      call.device(), {{}, {x.is_texts() ? Int(std::ssize(x.texts().elements)) : x.tensor().numel()}, dtypes::int64})};
}

Results reshape(const Call& call) {
  const bool allows_zero = call.opset() >= 14 && call.integer("allowzero") != 0;
  const Ints given = call.sizes_of_input(1);
  if (!call.datum(0).is_texts()) return {call.x(0).reshape(reshaped(given, call.x(0).shape(), allows_zero))};
  Texts texts = call.datum(0).texts();
  Sizes shape;
  for (const Int& size : reshaped(given, to_shape(texts.shape), allows_zero)) shape.push_back(size.value());
  const std::int64_t known = std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                             [](std::int64_t a, std::int64_t b) { return b < 0 ? a : a * b; });
  texts.shape = shape;
  for (std::int64_t& size : texts.shape)
    if (size < 0) size = known == 0 ? 0 : std::ssize(texts.elements) / known;
  const std::int64_t count =
      std::accumulate(texts.shape.begin(), texts.shape.end(), std::int64_t{1}, std::multiplies<>());
  STRATA_CHECK(count == std::ssize(texts.elements), shape, texts.elements.size(), " texts do not have the shape ",
               sizes_text(shape));
  return {texts};
}

Results flatten(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t given = call.integer("axis");
  STRATA_CHECK(given >= -x.ndim() && given <= x.ndim(), shape, "axis ", given, " for ", x.ndim(), " dimensions");
  const std::int64_t middle = given < 0 ? given + x.ndim() : given;
  Int front = 1, back = 1;
  for (std::int64_t d = 0; d < x.ndim(); ++d) (d < middle ? front : back) *= x.size(d);
  return {x.reshape({front, back})};
}

Results squeeze(const Call& call) {
  const Tensor x = call.x(0);
  const bool by_input = call.node().row->attribute("axes") == nullptr;
  const Sizes given = by_input ? (call.has(1) ? call.integers_of(1) : Sizes()) : call.integers("axes");
  if (given.empty()) return {x.squeeze()};
  Axes axes;
  for (const std::int64_t axis : given) {
    axes.push_back(Call::axis_in(axis, x.ndim()));
    STRATA_CHECK(x.size(axis) == Int(1), shape, "axis ", axis, " has the size ", render(x.shape()));
  }
  return {x.squeeze(axes)};
}

Results unsqueeze(const Call& call) {
  Tensor x = call.x(0);
  Sizes axes = listed(call, "axes", 1);
  STRATA_CHECK(axes.size() <= 32, budget, axes.size(), " new axes");
  const std::int64_t rank = x.ndim() + std::ssize(axes);
  for (std::int64_t& axis : axes) axis = Call::axis_in(axis, rank);
  std::sort(axes.begin(), axes.end());
  STRATA_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), shape,
               "an axis is given twice: ", sizes_text(axes));
  for (const std::int64_t axis : axes) x = x.unsqueeze(axis);
  return {x};
}

Results transpose(const Call& call) {
  const Tensor x = call.x(0);
  Axes order;
  for (const std::int64_t axis : call.integers("perm")) order.push_back(axis);
  if (!call.given("perm"))
    for (std::int64_t d = x.ndim(); d-- > 0;) order.push_back(d);
  return {x.permute(order)};
}

Results expand(const Call& call) {
  const Tensor x = call.x(0);
  const Ints given = call.sizes_of_input(1), &own = x.shape();
  STRATA_CHECK(given.size() <= 32, budget, "a shape of ", given.size(), " dimensions");
  Ints shape;
  for (std::size_t k = given.size(); k < own.size(); ++k) shape.push_back(1);
  for (const Int& size : given) shape.push_back(size);
  // Both sides broadcast: a size of 1 takes the size of x.
  for (std::size_t k = 0; k < own.size(); ++k) {
    Int& size = shape[shape.size() - own.size() + k];
    STRATA_CHECK(size.vmin() >= 0, shape, "the size ", size.render());
    if (size == Int(1)) size = own[k];
  }
  return {x.expand(shape)};
}

Results tile(const Call& call) {
  const Tensor x = call.x(0);
  const Ints counts = call.sizes_of_input(1);
  STRATA_CHECK(std::ssize(counts) == x.ndim(), shape, counts.size(), " counts for ", x.ndim(), " dimensions");
  return {x.repeat(counts)};
}

Results concat(const Call& call) {
  const std::vector<Tensor> parts = call.all();
  return {Tensor::cat(parts, Call::axis_in(call.integer("axis"), parts[0].ndim()))};
}

Results split(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  const Int& size = x.size(axis);
  const auto count = static_cast<std::int64_t>(call.outputs());
  const bool by_input = call.node().row->attribute("split") == nullptr;
  Ints sizes;
  if (by_input && call.has(1)) sizes = call.sizes_of_input(1);
  if (!by_input) sizes = to_shape(call.integers("split"));
  if (call.node().row->attribute("num_outputs") != nullptr && call.given("num_outputs")) {
    STRATA_CHECK(sizes.empty() && call.integer("num_outputs") == count && count > 0, domain, "num_outputs is ",
                 call.integer("num_outputs"), " for ", count, " outputs and ", sizes.size(), " sizes");
    const Int part((size + Int(count - 1)).expr() / Expr(count)), last = size - part * Int(count - 1);
    STRATA_CHECK(known(is_at_most(0, last)), shape, "an axis of ", size.render(), " does not split into ", count,
                 " parts of which only the last one is smaller");
    sizes = Ints(static_cast<std::size_t>(count), part);
    sizes.back() = last;
  }
  if (sizes.empty()) {
    const std::optional<Int> part = count > 0 ? exact_quotient(size, count) : std::nullopt;
    STRATA_CHECK(part, shape, "an axis of ", size.render(), " does not split into ", count, " equal parts");
    sizes = Ints(static_cast<std::size_t>(count), *part);
  }
  STRATA_CHECK(std::ssize(sizes) == count, shape, sizes.size(), " sizes for ", count, " outputs");
  const std::vector<Tensor> parts = x.split(sizes, axis);
  return {parts.begin(), parts.end()};
}

Results slice_by_attributes(const Call& call) {
  return {sliced_all(call.x(0), call.integers("starts"), call.integers("ends"), call.integers("axes"), {})};
}
Results slice(const Call& call) {
  // A symbolic begin or end.
  if (call.datum(1).expressions() != nullptr || call.datum(2).expressions() != nullptr) {
    const Ints begins = call.sizes_of_input(1), ends = call.sizes_of_input(2);
    Sizes axes = call.has(3) ? call.integers_of(3) : Sizes();
    const Sizes steps = call.has(4) ? call.integers_of(4) : Sizes();
    if (axes.empty())
      for (std::size_t k = 0; k < begins.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    STRATA_CHECK(
        begins.size() == ends.size() && begins.size() == axes.size() && (steps.empty() || steps.size() == axes.size()),
        shape, begins.size(), " begins, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(), " steps");
    Tensor out = call.x(0);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const std::int64_t axis = Call::axis_in(axes[k], out.ndim()), step = steps.empty() ? 1 : steps[k];
      const bool is_number = begins[k].is_number() && ends[k].is_number();
      out = is_number ? sliced(out, axis, begins[k].value(), ends[k].value(), step)
                      : sliced_symbolic(out, axis, begins[k], ends[k], step);
    }
    return {out};
  }
  return {sliced_all(call.x(0), call.integers_of(1), call.integers_of(2), call.has(3) ? call.integers_of(3) : Sizes(),
                     call.has(4) ? call.integers_of(4) : Sizes())};
}

Results pad_by_attributes(const Call& call) { return padded(call, call.integers("pads"), call.number("value")); }
Results pad(const Call& call) {
  if (!call.has(2)) return padded(call, call.integers_of(1), 0);
  const Tensor& value = call.datum(2).tensor();
  STRATA_CHECK(value.numel() == Int(1), shape, "the value has the shape ", render(value.shape()));
  realize_known(value);
  return padded(call, call.integers_of(1), Number(value.scalar()));
}

Results center_crop_pad(const Call& call) {
  const Tensor x = call.x(0);
  const Sizes wanted = call.integers_of(1);
  Sizes axes = call.integers("axes");
  if (axes.empty())
    for (std::int64_t d = 0; d < x.ndim(); ++d) axes.push_back(d);
  STRATA_CHECK(wanted.size() == axes.size(), shape, wanted.size(), " sizes for ", axes.size(), " axes");
  Padding around(static_cast<std::size_t>(x.ndim()), {0, 0});
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t axis = Call::axis_in(axes[k], x.ndim()), size = number_of_size(x, axis);
    STRATA_CHECK(wanted[k] >= 0 && wanted[k] <= std::int64_t{1} << 40, shape, "the size ", wanted[k]);
    // What is odd is cut off, or added, at the end.
    const std::int64_t before = wanted[k] < size ? -((size - wanted[k]) / 2) : (wanted[k] - size) / 2;
    around[static_cast<std::size_t>(axis)] = {before, wanted[k] - size - before};
  }
  return {x.pad(around)};
}

Results constant(const Call& call) {
  // A node with several values is ambiguous; the value is the one attribute that it has.
  STRATA_CHECK(call.node().attributes.size() == 1, parse, "a constant has ", call.node().attributes.size(), " values");
  const Attribute& a = call.node().attributes[0];
  const Device& host = Device::get("INTERP");
  switch (a.type) {
    case AttributeType::number: return {Tensor::full({}, a.number, dtypes::float32).to(host)};
    case AttributeType::integer: return {Tensor::full({}, a.integer, dtypes::int64).to(host)};
    case AttributeType::numbers: {
      const std::vector<float> elements(a.numbers.begin(), a.numbers.end());
      return {moved(Tensor::from(elements, {std::ssize(elements)}), host)};
    }
    case AttributeType::integers: return {moved(Tensor::from(a.integers, {std::ssize(a.integers)}), host)};
    case AttributeType::text: return {Texts{{}, {a.text}}};
    case AttributeType::texts: return {Texts{{std::ssize(a.texts)}, a.texts}};
    default: break;
  }
  STRATA_CHECK(!a.tensor.is_absent(), parse, "the constant has no value");
  if (!a.tensor.is_tensor() || a.tensor.tensor().numel().value() > 4096) {
    if (a.tensor.is_tensor()) return {call.here(a.tensor.tensor())};
    return {a.tensor};
  }
  return {moved(a.tensor.tensor(), host)};
}

Results constant_of_shape(const Call& call) {
  const Ints shape = call.sizes_of_input(0);
  STRATA_CHECK(shape.size() <= 32, budget, "a shape of ", shape.size(), " dimensions");
  for (const Int& size : shape)
    STRATA_CHECK(size.vmin() >= 0, shape, "the shape ", render(shape), " has the size ", size.render());
  if (!call.given("value")) return {call.full(shape, 0, dtypes::float32)};
  const Tensor& value = call.tensor("value").tensor();
  STRATA_CHECK(value.numel() == Int(1), shape, "the value has the shape ", render(value.shape()));
  return {call.full(shape, Number(value.scalar()), value.dtype())};
}

Results range(const Call& call) {
  const DType dtype = call.datum(0).tensor().dtype();
  if (call.datum(0).expressions() != nullptr || call.datum(1).expressions() != nullptr) {
    const Int begin = call.sizes_of_input(0)[0], end = call.sizes_of_input(1)[0], count = end - begin;
    const std::int64_t step = call.integer_of(2);
    STRATA_CHECK(step == 1 && count.vmin() >= 0, shape, "the range from ", begin.render(), " to ", end.render(), " by ",
                 step, " needs numbers: load the model without bounds of these sizes");
    const Tensor places = call.arange(count);
    return {(begin == Int(0) ? places : places + call.here(Tensor(begin.expr()))).cast(dtype)};
  }
  if (dtype.is_float()) {
    const double begin = call.number_of(0), end = call.number_of(1), step = call.number_of(2);
    STRATA_CHECK(step != 0 && std::isfinite(begin) && std::isfinite(end) && std::isfinite(step), domain, "from ", begin,
                 " to ", end, " by ", step);
    const double count = std::max(std::ceil((end - begin) / step), 0.0);
    STRATA_CHECK(count < 9e15, budget, "a range of ", count, " elements");
    const Tensor places = call.arange(static_cast<std::int64_t>(count));
    return {(places.cast(dtypes::float64) * step + begin).cast(dtype)};
  }
  const std::int64_t begin = call.integer_of(0), end = call.integer_of(1), step = call.integer_of(2);
  STRATA_CHECK(step != 0, domain, "the step is 0");
  const double span = static_cast<double>(end) - static_cast<double>(begin);
  const double guess = span / static_cast<double>(step);
  STRATA_CHECK(guess < 9e15 && std::abs(span) < 9e18, budget, "a range of ", guess, " elements");
  const std::int64_t rest = end - begin;
  const bool is_empty = (step > 0) != (rest > 0) || rest == 0;
  const std::int64_t count = is_empty ? 0 : rest / step + (rest % step != 0 ? 1 : 0);
  return {(call.arange(count) * step + begin).cast(dtype)};
}

Results eye_like(const Call& call) {
  const Ints shape = call.datum(0).tensor().shape();
  STRATA_CHECK(shape.size() == 2, shape, "the input has ", shape.size(), " dimensions instead of 2");
  const DType dtype =
      call.given("dtype") ? dtype_of_element(call.integer("dtype"), "the result") : call.datum(0).tensor().dtype();
  const Tensor rows = call.arange(shape[0]).unsqueeze(1), columns = call.arange(shape[1]).unsqueeze(0);
  return {(columns - rows == call.integer("k")).cast(dtype)};
}

Results triangle(const Call& call) {
  const Tensor x = call.x(0);
  STRATA_CHECK(x.ndim() >= 2, shape, "the input has ", x.ndim(), " dimensions");
  const std::int64_t limit = std::int64_t{1} << 40;
  const std::int64_t k = call.has(1) ? std::clamp(call.integer_of(1), -limit, limit) : 0;
  return {call.integer("upper") != 0 ? x.triu(k) : x.tril(k)};
}

Results depth_to_space(const Call& call) {
  const Blocks s(call);
  const bool is_crd = call.opset() >= 11 && call.text("mode") == "CRD";
  const std::int64_t b = s.block, depth = s.channels / (b * b);
  STRATA_CHECK(depth * b * b == s.channels, shape, s.channels, " channels for blocks of ", b);
  const Tensor x = is_crd ? call.x(0).reshape({s.batch, depth, b, b, s.height, s.width}).permute({0, 1, 4, 2, 5, 3})
                          : call.x(0).reshape({s.batch, b, b, depth, s.height, s.width}).permute({0, 3, 4, 1, 5, 2});
  return {x.reshape({s.batch, depth, s.height * b, s.width * b})};
}

Results space_to_depth(const Call& call) {
  const Blocks s(call);
  const std::int64_t b = s.block, height = s.height / b, width = s.width / b;
  STRATA_CHECK(height * b == s.height && width * b == s.width, shape, "an image of ", s.height, " x ", s.width,
               " for blocks of ", b);
  const Tensor x = call.x(0).reshape({s.batch, s.channels, height, b, width, b}).permute({0, 3, 5, 1, 2, 4});
  return {x.reshape({s.batch, s.channels * b * b, height, width})};
}

Results reverse_sequence(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t time = call.integer("time_axis"), batch = call.integer("batch_axis");
  STRATA_CHECK(x.ndim() >= 2 && ((time == 0 && batch == 1) || (time == 1 && batch == 0)), domain, "time axis ", time,
               ", batch axis ", batch);
  const Tensor rows = time == 1 ? x : x.transpose(0, 1);
  const Int& length = rows.size(1);
  const Tensor lengths = call.x(1).reshape({-1, 1}), places = call.arange(length).unsqueeze(0);
  const Tensor from = (places < lengths).where(lengths - 1 - places, places);
  Ints shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[0] = rows.size(0);
  shape[1] = length;
  const Tensor out = rows.gather(1, from.reshape(shape).expand(rows.shape()));
  return {time == 1 ? out : out.transpose(0, 1)};
}

}  // namespace strata::onnx
