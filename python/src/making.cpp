// Binds functions that create tensors: from data, from sizes, and of random numbers; and the class Generator.
#include "python/src/call.h"
#include "python/src/memory.h"
#include "python/src/tensor_values.h"
#include "strata/nn/layers.h"
#include "strata/ops/indexed.h"
#include "strata/tensor/access.h"
#include "strata/tensor/random.h"

namespace strata::python {

namespace {

/// The last parameters of many PyTorch functions: dtype, device, requires_grad.
#define STRATA_TAIL "dtype=None, device=None, requires_grad=False"

Tensor finished(const Tensor& made, const Device* device, bool requires_grad) {
  Tensor out = device != nullptr ? made.to(*device) : made;
  if (requires_grad) out = Tensor(out).requires_grad(true);
  return out;
}
Tensor finished(const Tensor& made, const std::optional<DType>& dtype, const Device* device, bool requires_grad) {
  return finished(dtype ? made.cast(*dtype) : made, device, requires_grad);
}

template <Tensor (*make)(const Ints&, DType, At)>
Tensor of_sizes(const Ints& shape, const std::optional<DType>& dtype, const Device* device, bool requires_grad) {
  return finished(make(shape, dtype.value_or(dtypes::float32), At::current()), device, requires_grad);
}

Tensor full_of(const Ints& shape, const Number& value, const std::optional<DType>& dtype, const Device* device,
               bool requires_grad) {
  return finished(dtype ? Tensor::full(shape, value, *dtype) : Tensor::full(shape, value), device, requires_grad);
}

/// 0, 1, ..., count - 1: shape (count,), i64.
Tensor counting(const Int& count) { return TensorAccess::of(ops::counting(count).node(), Device::default_device()); }

/// arange() of integers of which one is symbolic.
Tensor counted_to(const Int& begin, const Int& end, const Number& step, const std::optional<DType>& dtype) {
  const std::int64_t by = step.value().dtype().is_float() ? 0 : step.value().as_int();
  STRATA_CHECK(by > 0 && known(is_at_most(begin, end)), domain, "[arange] from ", begin.render(), " to ", end.render(),
               " by ", step.value().text(),
               ": with symbolic ends the step is an integer above 0, and no value leads away from the end");
  const Int all = end - begin, count = by == 1 ? all : Int((all + Int(by - 1)).expr() / Expr(by));
  const Tensor places = counting(count) * by;
  const Tensor made = begin.is_number() ? places + begin.value() : places + Tensor(begin.expr());
  return dtype ? made.cast(*dtype) : made;
}

/// The function arange(end), or arange(begin, end, step).
Tensor counted(const NumberOrSize& first, const std::optional<NumberOrSize>& second, const Number& step,
               const std::optional<DType>& dtype, const Device* device, bool requires_grad) {
  if (first.size || (second && second->size)) {
    const auto integer = [](const NumberOrSize& v) {
      STRATA_CHECK(v.size || !v.number.value().dtype().is_float(), domain,
                   "[arange] with symbolic ends the other end is an integer, not ", v.number.value().text());
      return v.size ? *v.size : Int(v.number.value().as_int());
    };
    return finished(counted_to(second ? integer(first) : Int(0), integer(second.value_or(first)), step, dtype), device,
                    requires_grad);
  }
  const Number begin = first.number;
  const std::optional<Number> end = second ? std::optional(second->number) : std::nullopt;
  const Number from = end ? begin : Number(0), to = end.value_or(begin);
  Tensor made = Tensor::arange(from, to, step);
  if (dtype && made.dtype().is_float())  // computed in f64, not rounded to f32 in between
    made = Tensor::arange(made.size(0).value()).cast(dtypes::float64) * step.value().as_double() +
           from.value().as_double();
  return finished(made, dtype, device, requires_grad);
}

Tensor uniform(const Ints& shape, const std::optional<DType>& dtype, const Generator& g, const Device* device,
               bool requires_grad) {
  return finished(rand(shape, dtype.value_or(dtypes::float32), g), device, requires_grad);
}
Tensor gaussian(const Ints& shape, const std::optional<DType>& dtype, const Generator& g, const Device* device,
                bool requires_grad) {
  return finished(randn(shape, dtype.value_or(dtypes::float32), g), device, requires_grad);
}

/// The function randint(high, size=...), or randint(low, high, size).
Tensor integers(std::int64_t low, const py::object& high, const std::optional<Ints>& size,
                const std::optional<DType>& dtype, const Generator& g, const Device* device) {
  std::int64_t from = 0, to = low;
  std::optional<Ints> shape = size;
  if (!high.is_none() && !PyIndex_Check(high.ptr())) {
    shape = sizes_of({high.ptr(), "randint", "size"});  // randint(high, size)
  } else if (!high.is_none()) {
    from = low;
    to = integer_of({high.ptr(), "randint", "high"});
  }
  return finished(randint(from, to, shape.value_or(Ints{}), dtype.value_or(dtypes::int64), g), device, false);
}

Tensor like(const Tensor& made, const std::optional<DType>& dtype, bool requires_grad) {
  return finished(made, dtype, nullptr, requires_grad);
}

void bind_data(Functions& f) {
  f.function(
      "tensor", "data, " STRATA_TAIL,
      [](const py::object& data, const py::object& dtype, const py::object& device, bool requires_grad) {
        const Tensor out = made_tensor(data.ptr(), dtype.ptr(), device.ptr(), false);
        // A tensor that was made from a list or a number has memory of its own already.
        const bool is_own = PyList_Check(data.ptr()) || PyTuple_Check(data.ptr()) || out.ndim() == 0;
        const Tensor given = tensor_in(data.ptr()) != nullptr ? out.detach() : out;
        return finished(is_own ? given : copied_tensor(out), nullptr, requires_grad);
      },
      "A tensor with a copy of `data`: a number, nested lists of numbers, an array or a tensor. "
      "(Tensor() and as_tensor() share memory.) Without `dtype`, floats become float32, integers "
      "int64 and bools bool; arrays and tensors keep their dtype. The copy of a tensor is detached "
      "from its graph.");
  f.function(
      "as_tensor", "data, dtype=None, device=None",
      [](const py::object& data, const py::object& dtype, const py::object& device) {
        return made_tensor(data.ptr(), dtype.ptr(), device.ptr(), false);
      },
      "`data` as a tensor. A tensor is returned as it is, if `dtype` and `device` do not change "
      "it. An array or another object with memory shares its memory, if the strides allow this; "
      "numbers and lists are copied.");
}

void bind_filled(Functions& f) {
  f.making("zeros", "*shape|size=(), " STRATA_TAIL, &of_sizes<&Tensor::zeros>,
           "A tensor of zeros, by default float32: zeros(2, 3) or zeros((2, 3)) has shape (2, 3).");
  f.making("ones", "*shape|size=(), " STRATA_TAIL, &of_sizes<&Tensor::ones>,
           "A tensor of ones, by default float32: ones(2, 3) or ones((2, 3)) has shape (2, 3).");
  f.making("empty", "*shape|size=(), " STRATA_TAIL, &of_sizes<&Tensor::empty>,
           "A tensor whose elements have unspecified values, by default float32.");
  f.making("full", "shape|size, fill_value|value, " STRATA_TAIL, &full_of,
           "A tensor whose elements are all `fill_value`. The default dtype is float32, int64 or bool "
           "for a float, an integer or a bool.");
  f.op(
      "zeros_like", "*, dtype=None, requires_grad=False",
      [](const Tensor& x, const std::optional<DType>& dtype, bool g) { return like(x.zeros_like(), dtype, g); },
      "A tensor of zeros with the shape, the dtype (unless `dtype` is given) and the device of "
      "this tensor.");
  f.op(
      "ones_like", "*, dtype=None, requires_grad=False",
      [](const Tensor& x, const std::optional<DType>& dtype, bool g) { return like(x.ones_like(), dtype, g); },
      "A tensor of ones with the shape, the dtype (unless `dtype` is given) and the device of this "
      "tensor.");
  f.op(
      "empty_like", "*, dtype=None, requires_grad=False",
      [](const Tensor& x, const std::optional<DType>& dtype, bool g) {
        return finished(Tensor::empty(x.shape(), dtype.value_or(x.dtype())), &x.device(), g);
      },
      "A tensor of unspecified values with the shape, the dtype (unless `dtype` is given) and the "
      "device of this tensor.");
  f.op(
      "full_like", "fill_value|value, *, dtype=None, requires_grad=False",
      [](const Tensor& x, const Number& v, const std::optional<DType>& dtype, bool g) {
        if (!dtype) return finished(x.full_like(v), nullptr, g);
        return finished(Tensor::full(x.shape(), v, *dtype), &x.device(), g);
      },
      "A tensor whose elements are all `fill_value`, with the shape, the dtype (unless `dtype` is "
      "given) and the device of this tensor.");
  f.method("new_zeros", "*shape|size", &Tensor::new_zeros,
           "A tensor of zeros of the given shape, with the dtype and device of this tensor.");
  f.method("new_ones", "*shape|size", &Tensor::new_ones,
           "A tensor of ones of the given shape, with the dtype and device of this tensor.");
  f.method("new_empty", "*shape|size", &Tensor::new_empty,
           "A tensor of unspecified values of the given shape, with the dtype and device of this tensor.");
  f.method("new_full", "shape|size, fill_value|value", &Tensor::new_full,
           "A tensor of the given shape whose elements are all `fill_value`, with the dtype and device "
           "of this tensor.");
  f.making("arange", "start|begin, end|stop=None, step=1, " STRATA_TAIL, &counted,
           "The numbers start, start + step, ... up to, but without, `end`, as a vector. arange(end) "
           "begins with 0. The default dtype is int64 if start, end and step are integers, else "
           "float32. Raises DomainError if `step` is 0 or leads away from `end`.");
  f.making(
      "linspace", "start|begin, end|stop, steps|num=50, " STRATA_TAIL,
      [](double begin, double end, const Int& steps, const std::optional<DType>& dtype, const Device* device, bool g) {
        return finished(Tensor::linspace(begin, end, steps, dtype.value_or(dtypes::float32)), device, g);
      },
      "A vector of `steps` evenly spaced numbers from `start` to `end`, both included. Raises "
      "DomainError if `steps` is negative.");
  f.making(
      "logspace", "start|begin, end|stop, steps|num=50, base=10.0, " STRATA_TAIL,
      [](double begin, double end, std::int64_t steps, double base, const std::optional<DType>& dtype,
         const Device* device, bool g) {
        return finished(Tensor::logspace(begin, end, steps, base, dtype.value_or(dtypes::float32)), device, g);
      },
      "A vector of `steps` powers of `base`, whose exponents are evenly spaced from `start` to "
      "`end`, both included.");
  f.making(
      "eye", "n|rows|N, m|columns|M=None, " STRATA_TAIL,
      [](const Int& n, const std::optional<Int>& m, const std::optional<DType>& dtype, const Device* device, bool g) {
        const Int columns = m.value_or(n);
        if (n.is_number() && columns.is_number())
          return finished(Tensor::eye(n.value(), columns.value(), dtype.value_or(dtypes::float32)), device, g);
        const Tensor is_one = counting(n).unsqueeze(1).eq(counting(columns));
        return finished(is_one.cast(dtype.value_or(dtypes::float32)), device, g);
      },
      "A matrix of `n` rows and `m` columns (by default n), with ones on its main diagonal and "
      "zeros elsewhere.");
  f.function("tril_indices", "row|rows, col|columns, offset=0", &Tensor::tril_indices,
             "The row and column indices of the elements that tril(offset) keeps of a matrix of `row` "
             "rows and `col` columns: int64 of shape (2, count).");
  f.function("triu_indices", "row|rows, col|columns, offset=0", &Tensor::triu_indices,
             "The row and column indices of the elements that triu(offset) keeps of a matrix of `row` "
             "rows and `col` columns: int64 of shape (2, count).");
}

void bind_windows(Functions& f) {
  f.making(
      "hann_window", "window_length|size, periodic=True, " STRATA_TAIL,
      [](std::int64_t size, bool periodic, const std::optional<DType>& dtype, const Device* device, bool g) {
        return finished(Tensor::hann_window(size, periodic, dtype.value_or(dtypes::float32)), device, g);
      },
      "The Hann window of `window_length` elements: a period of its cosines, or with periodic=False one that is "
      "symmetric.");
  f.making(
      "hamming_window", "window_length|size, periodic=True, " STRATA_TAIL,
      [](std::int64_t size, bool periodic, const std::optional<DType>& dtype, const Device* device, bool g) {
        return finished(Tensor::hamming_window(size, periodic, dtype.value_or(dtypes::float32)), device, g);
      },
      "The Hamming window of `window_length` elements: a period of its cosines, or with periodic=False one that is "
      "symmetric.");
  f.making(
      "blackman_window", "window_length|size, periodic=True, " STRATA_TAIL,
      [](std::int64_t size, bool periodic, const std::optional<DType>& dtype, const Device* device, bool g) {
        return finished(Tensor::blackman_window(size, periodic, dtype.value_or(dtypes::float32)), device, g);
      },
      "The Blackman window of `window_length` elements: a period of its cosines, or with periodic=False one that is "
      "symmetric.");
}

void bind_random_numbers(Functions& f) {
  f.making("rand", "*shape|size=(), dtype=None, generator=None, device=None, requires_grad=False", &uniform,
           "Random numbers, uniform in [0, 1), by default float32. Raises DomainError if `dtype` is not "
           "a float dtype.");
  f.making("randn", "*shape|size=(), dtype=None, generator=None, device=None, requires_grad=False", &gaussian,
           "Random numbers of the normal distribution with mean 0 and standard deviation 1, by default "
           "float32. Raises DomainError if `dtype` is not a float dtype.");
  f.making("randint", "low, high=None, size|shape=None, dtype=None, generator=None, device=None", &integers,
           "Uniform random integers in [low, high), by default int64. randint(10, (2, 3)) has low = 0; "
           "randint(5, 10, (2, 3)) names both. Raises DomainError unless low < high.");
  f.op("rand_like", "generator=None", &rand_like, "rand() with the shape, dtype and device of this tensor.");
  f.op("randn_like", "generator=None", &randn_like, "randn() with the shape, dtype and device of this tensor.");
  f.op("randint_like", "low, high, generator=None", &randint_like,
       "randint() in [low, high) with the shape, dtype and device of this tensor.");
  f.function("normal", "mean, std|deviation, generator=None", &normal,
             "Random numbers of normal distributions: each element has its own mean and standard "
             "deviation, from the tensors `mean` and `std`, which broadcast.");
  f.making("randperm", "n, generator=None", &randperm,
           "The integers 0, 1, ..., n - 1 in random order: int64 of shape (n,). Raises DomainError if n "
           "is negative.");
  f.op("bernoulli", "generator=None", &bernoulli,
       "Random zeros and ones: an element is 1 with a probability that is the element of this "
       "tensor, in [0, 1]. The result has the shape, dtype and device of this tensor. Raises "
       "DomainError unless this tensor is of floats.");
  f.op("multinomial", "num_samples|count, replacement=False, generator=None", &multinomial,
       "Draws `num_samples` indices of the last axis, with probabilities proportional to the "
       "elements, the weights: int64 of shape (num_samples,) for weights of shape (n,), or (rows, "
       "num_samples) for (rows, n). An index whose weight is not above 0 is never drawn; if no "
       "other index is left, the result is -1. Raises DomainError if the weights are not floats, or "
       "if num_samples > n without replacement.");
  f.function(
      "manual_seed", "seed", [](std::int64_t seed) { manual_seed(static_cast<std::uint64_t>(seed)); },
      "Sets the seed of the default generator. Equal seeds give equal sequences of random numbers.");
}

/// Functions for initial values that tinygrad has as static methods of Tensor.
void bind_initial_values(Functions& f) {
  f.making(
      "uniform", "*shape|size=(), low=0.0, high=1.0, dtype=None",
      [](const Ints& shape, double low, double high, const std::optional<DType>& dtype) {
        return nn::uniform(shape, low, high, dtype.value_or(dtypes::float32));
      },
      "Random numbers, uniform in [low, high). Raises DomainError if low > high.");
  f.making(
      "kaiming_uniform", "*shape|size=(), a=0.01, dtype=None",
      [](const Ints& shape, double slope, const std::optional<DType>& dtype) {
        return nn::kaiming_uniform(shape, slope, dtype.value_or(dtypes::float32));
      },
      "Initial values of He et al., 2015, for a leaky ReLU of negative slope `a`: uniform in [-b, "
      "b), where b = sqrt(6 / ((1 + a**2) * fan_in)). For a weight of shape (out, in, sizes...), "
      "fan_in is in * product(sizes). Raises ShapeError below two dimensions.");
  f.making(
      "kaiming_normal", "*shape|size=(), a=0.01, dtype=None",
      [](const Ints& shape, double slope, const std::optional<DType>& dtype) {
        return nn::kaiming_normal(shape, slope, dtype.value_or(dtypes::float32));
      },
      "Initial values of He et al., 2015, with the variance of kaiming_uniform(): normal, with "
      "mean 0 and standard deviation sqrt(2 / ((1 + a**2) * fan_in)).");
  f.making(
      "glorot_uniform", "*shape|size=(), gain=1.0, dtype=None",
      [](const Ints& shape, double gain, const std::optional<DType>& dtype) {
        return nn::xavier_uniform(shape, gain, dtype.value_or(dtypes::float32));
      },
      "Initial values of Glorot and Bengio, 2010: uniform in [-b, b), where b = gain * sqrt(6 / "
      "(fan_in + fan_out)). For a weight of shape (out, in, sizes...), fan_in is in * "
      "product(sizes), and fan_out is out * product(sizes). Raises ShapeError below two dimensions.");
}

}  // namespace

void bind_generator(py::module_& m) {
  py::class_<Generator>(m, "Generator",
                        "A generator of random numbers. Its state is a seed and the count of the numbers drawn so "
                        "far; equal states give equal numbers on every device.")
      .def(py::init<std::uint64_t>(), py::arg("seed") = 0)
      .def(
          "manual_seed",
          [](Generator& g, std::uint64_t seed) {
            g.manual_seed(seed);
            return g;
          },
          py::arg("seed"), "Sets the seed and the count of drawn numbers to 0. Returns the generator.")
      .def(py::pickle([](Generator& g) { return py::make_tuple(g.seed(), g.draw(0)); },
                      [](const py::tuple& state) {
                        Generator out(py::cast<std::uint64_t>(state[0]));
                        out.draw(py::cast<std::uint64_t>(state[1]));
                        return out;
                      }))
      .def_property_readonly("seed", &Generator::seed, "The seed of the sequence.")
      .def("initial_seed", &Generator::seed, "The seed of the sequence.");
}

void bind_making(Functions& f) {
  bind_data(f);
  bind_filled(f);
  bind_windows(f);
  bind_random_numbers(f);
  bind_initial_values(f);
}

}  // namespace strata::python
