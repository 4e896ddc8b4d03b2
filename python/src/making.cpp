// Binds functions that create tensors: from data, from sizes, and of random numbers; and the class Generator.
#include "python/src/call.h"
#include "python/src/memory.h"
#include "python/src/tensor_values.h"
#include "strata/nn/layers.h"
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

/// The function arange(end), or arange(begin, end, step).
Tensor counted(const Number& begin, const std::optional<Number>& end, const Number& step,
               const std::optional<DType>& dtype, const Device* device, bool requires_grad) {
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
        // The memory of a tensor made from a list or a number is already new.
        const bool is_own = PyList_Check(data.ptr()) || PyTuple_Check(data.ptr()) || out.ndim() == 0;
        const Tensor given = tensor_in(data.ptr()) != nullptr ? out.detach() : out;
        return finished(is_own ? given : copied_tensor(out), nullptr, requires_grad);
      },
      "A tensor with a copy of the data, which Tensor() would share.");
  f.function(
      "as_tensor", "data, dtype=None, device=None",
      [](const py::object& data, const py::object& dtype, const py::object& device) {
        return made_tensor(data.ptr(), dtype.ptr(), device.ptr(), false);
      },
      "A tensor over the memory of the data where that can be, the same tensor where it is one.");
}

void bind_filled(Functions& f) {
  f.making("zeros", "*shape|size=(), " STRATA_TAIL, &of_sizes<&Tensor::zeros>, "Zeros: zeros(2, 3) or zeros((2, 3)).");
  f.making("ones", "*shape|size=(), " STRATA_TAIL, &of_sizes<&Tensor::ones>, "Ones: ones(2, 3) or ones((2, 3)).");
  f.making("empty", "*shape|size=(), " STRATA_TAIL, &of_sizes<&Tensor::empty>,
           "Memory whose elements have no defined values.");
  f.making("full", "shape|size, fill_value|value, " STRATA_TAIL, &full_of,
           "One value; float32, int64 or bool as it is.");
  f.op(
      "zeros_like", "*, dtype=None, requires_grad=False",
      [](const Tensor& x, const std::optional<DType>& dtype, bool g) { return like(x.zeros_like(), dtype, g); },
      "Zeros of the same shape, dtype and device.");
  f.op(
      "ones_like", "*, dtype=None, requires_grad=False",
      [](const Tensor& x, const std::optional<DType>& dtype, bool g) { return like(x.ones_like(), dtype, g); },
      "Ones of the same shape, dtype and device.");
  f.op(
      "empty_like", "*, dtype=None, requires_grad=False",
      [](const Tensor& x, const std::optional<DType>& dtype, bool g) {
        return finished(Tensor::empty(x.shape(), dtype.value_or(x.dtype())), &x.device(), g);
      },
      "Memory of the same shape, dtype and device.");
  f.op(
      "full_like", "fill_value|value, *, dtype=None, requires_grad=False",
      [](const Tensor& x, const Number& v, const std::optional<DType>& dtype, bool g) {
        if (!dtype) return finished(x.full_like(v), nullptr, g);
        return finished(Tensor::full(x.shape(), v, *dtype), &x.device(), g);
      },
      "One value, of the same shape, dtype and device.");
  f.method("new_zeros", "*shape|size", &Tensor::new_zeros, "Zeros of the same dtype and device.");
  f.method("new_ones", "*shape|size", &Tensor::new_ones, "Ones of the same dtype and device.");
  f.method("new_empty", "*shape|size", &Tensor::new_empty, "Memory of the same dtype and device.");
  f.method("new_full", "shape|size, fill_value|value", &Tensor::new_full, "One value, of the same dtype and device.");
  f.making("arange", "start|begin, end|stop=None, step=1, " STRATA_TAIL, &counted,
           "start, start + step, ... before end; arange(end) begins with 0. int64 where all are "
           "integers, else float32.");
  f.making(
      "linspace", "start|begin, end|stop, steps|num=50, " STRATA_TAIL,
      [](double begin, double end, std::int64_t steps, const std::optional<DType>& dtype, const Device* device,
         bool g) { return finished(Tensor::linspace(begin, end, steps, dtype.value_or(dtypes::float32)), device, g); },
      "So many numbers from start to end, both among them.");
  f.making(
      "logspace", "start|begin, end|stop, steps|num=50, base=10.0, " STRATA_TAIL,
      [](double begin, double end, std::int64_t steps, double base, const std::optional<DType>& dtype,
         const Device* device, bool g) {
        return finished(Tensor::logspace(begin, end, steps, base, dtype.value_or(dtypes::float32)), device, g);
      },
      "Powers of the base with exponents from start to end.");
  f.making(
      "eye", "n|rows|N, m|columns|M=None, " STRATA_TAIL,
      [](std::int64_t n, const std::optional<std::int64_t>& m, const std::optional<DType>& dtype, const Device* device,
         bool g) { return finished(Tensor::eye(n, m, dtype.value_or(dtypes::float32)), device, g); },
      "Ones on the diagonal, zeros elsewhere.");
  f.function("tril_indices", "row|rows, col|columns, offset=0", &Tensor::tril_indices,
             "The indices of the lower triangle, (2, count).");
  f.function("triu_indices", "row|rows, col|columns, offset=0", &Tensor::triu_indices,
             "The indices of the upper triangle, (2, count).");
}

void bind_random_numbers(Functions& f) {
  f.making("rand", "*shape|size=(), dtype=None, generator=None, device=None, requires_grad=False", &uniform,
           "Uniform in [0, 1).");
  f.making("randn", "*shape|size=(), dtype=None, generator=None, device=None, requires_grad=False", &gaussian,
           "Normal, mean 0 and deviation 1.");
  f.making("randint", "low, high=None, size|shape=None, dtype=None, generator=None, device=None", &integers,
           "Integers from low to high - 1: randint(10, (2, 3)), randint(5, 10, (2, 3)).");
  f.op("rand_like", "generator=None", &rand_like, "Uniform in [0, 1), of the same shape, dtype and device.");
  f.op("randn_like", "generator=None", &randn_like, "Normal, of the same shape, dtype and device.");
  f.op("randint_like", "low, high, generator=None", &randint_like,
       "Integers from low to high - 1, of the same shape, dtype and device.");
  f.function("normal", "mean, std|deviation, generator=None", &normal,
             "Normal, of a mean and a deviation for each element.");
  f.making("randperm", "n, generator=None", &randperm, "0 ... n-1 in random order, int64.");
  f.op("bernoulli", "generator=None", &bernoulli, "1 with the probability that the element is, else 0.");
  f.op("multinomial", "num_samples|count, replacement=False, generator=None", &multinomial,
       "Indices drawn by the weights of the last axis. What has a weight that is not above 0 is "
       "never drawn; -1 where nothing else is left. int64.");
  f.function(
      "manual_seed", "seed", [](std::int64_t seed) { manual_seed(static_cast<std::uint64_t>(seed)); },
      "Seeds the default generator: random numbers from the beginning of a sequence.");
}

/// Functions for initial values that tinygrad has as static methods of Tensor.
void bind_initial_values(Functions& f) {
  f.making(
      "uniform", "*shape|size=(), low=0.0, high=1.0, dtype=None",
      [](const Ints& shape, double low, double high, const std::optional<DType>& dtype) {
        return nn::uniform(shape, low, high, dtype.value_or(dtypes::float32));
      },
      "Uniform between two bounds.");
  f.making(
      "kaiming_uniform", "*shape|size=(), a=0.01, dtype=None",
      [](const Ints& shape, double slope, const std::optional<DType>& dtype) {
        return nn::kaiming_uniform(shape, slope, dtype.value_or(dtypes::float32));
      },
      "He et al., 2015: uniform within sqrt(6 / ((1 + a**2) * inputs)).");
  f.making(
      "kaiming_normal", "*shape|size=(), a=0.01, dtype=None",
      [](const Ints& shape, double slope, const std::optional<DType>& dtype) {
        return nn::kaiming_normal(shape, slope, dtype.value_or(dtypes::float32));
      },
      "He et al., 2015: normal, of a third of that variance.");
  f.making(
      "glorot_uniform", "*shape|size=(), gain=1.0, dtype=None",
      [](const Ints& shape, double gain, const std::optional<DType>& dtype) {
        return nn::xavier_uniform(shape, gain, dtype.value_or(dtypes::float32));
      },
      "Glorot and Bengio, 2010: uniform within sqrt(6 / (inputs + outputs)).");
}

}  // namespace

void bind_generator(py::module_& m) {
  py::class_<Generator>(m, "Generator", "Where random numbers come from: a seed, and how many were drawn.")
      .def(py::init<std::uint64_t>(), py::arg("seed") = 0)
      .def(
          "manual_seed",
          [](Generator& g, std::uint64_t seed) {
            g.manual_seed(seed);
            return g;
          },
          py::arg("seed"), "From the beginning of another sequence.")
      .def(py::pickle([](Generator& g) { return py::make_tuple(g.seed(), g.draw(0)); },
                      [](const py::tuple& state) {
                        Generator out(py::cast<std::uint64_t>(state[0]));
                        out.draw(py::cast<std::uint64_t>(state[1]));
                        return out;
                      }))
      .def_property_readonly("seed", &Generator::seed, "The seed.")
      .def("initial_seed", &Generator::seed, "The seed.");
}

void bind_making(Functions& f) {
  bind_data(f);
  bind_filled(f);
  bind_random_numbers(f);
  bind_initial_values(f);
}

}  // namespace strata::python
