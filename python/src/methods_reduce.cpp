// Binds methods of tensors for reductions, scans and sorting.
#include "python/src/call.h"

namespace strata::python {

namespace {

/// `x` in a given dtype. A reduction casts its operand, and its result, too, because sums of small integers are i64.
Tensor in_dtype(const Tensor& x, const std::optional<DType>& dtype) { return dtype ? x.cast(*dtype) : x; }

using Reduction1 = Tensor (Tensor::*)(const AxesArg&, bool, At) const;

template <Reduction1 reduce>
Tensor reduced_as(const Tensor& x, const AxesArg& axes, bool keepdim, const std::optional<DType>& dtype) {
  return in_dtype((in_dtype(x, dtype).*reduce)(axes, keepdim, At::current()), dtype);
}

using AlongAxis = Tensor (Tensor::*)(std::int64_t, At) const;

template <AlongAxis method>
Tensor along_as(const Tensor& x, std::int64_t axis, const std::optional<DType>& dtype) {
  return in_dtype((in_dtype(x, dtype).*method)(axis, At::current()), dtype);
}

/// The correction of a variance, which divides by count - correction. PyTorch calls it `unbiased` or `correction`,
/// NumPy `ddof`.
double correction_of(const std::optional<bool>& unbiased, const std::optional<double>& correction,
                     const std::optional<double>& ddof) {
  if (correction) return *correction;
  if (ddof) return *ddof;
  return unbiased.value_or(true) ? 1 : 0;
}

double order_of_norm(const py::object& p) {
  if (p.is_none()) return 2;
  if (PyUnicode_Check(p.ptr())) {
    choice_of({p.ptr(), "norm", "p"}, {"fro"});
    return 2;
  }
  return real_of({p.ptr(), "norm", "p"});
}

py::object pair_object(std::pair<Tensor, Tensor> both) {
  return py::reinterpret_steal<py::object>(values_indices({std::move(both)}));
}

using Extreme = std::pair<Tensor, Tensor> (Tensor::*)(std::int64_t, bool, At) const;

/// max() and min(): with NumPy's parameter `axis` the values, with PyTorch's `dim` the pair (values, indices).
template <Reduction1 values, Extreme with_places>
ValuesByAxis extreme_of(const Tensor& x, const std::optional<Axes>& axes, bool keepdim,
                        const std::optional<std::int64_t>& dim) {
  if (!dim) return {object_of((x.*values)(axes ? AxesArg(*axes) : AxesArg(), keepdim, At::current()))};
  if (axes) throw py::type_error("max() and min() take either an axis or a dim, not both");
  return {pair_object((x.*with_places)(*dim, keepdim, At::current()))};
}

/// PyTorch's median, the lower one of two middle elements: of all elements, or along an axis the pair (values,
/// indices).
py::object median_of(const Tensor& x, const std::optional<std::int64_t>& axis, bool keepdim) {
  return axis ? pair_object(x.median(*axis, keepdim)) : object_of(x.median());
}
py::object nanmedian_of(const Tensor& x, const std::optional<std::int64_t>& axis, bool keepdim) {
  return axis ? pair_object(x.nanmedian(*axis, keepdim)) : object_of(x.nanmedian());
}

/// The values, and behind them what else was asked for.
py::object unique_parts(const Tensor::Unique& found, bool return_index, bool return_inverse, bool return_counts) {
  if (!return_index && !return_inverse && !return_counts) return object_of(found.values);
  py::list out;
  out.append(object_of(found.values));
  if (return_index) out.append(object_of(found.first));
  if (return_inverse) out.append(object_of(found.inverse));
  if (return_counts) out.append(object_of(found.counts));
  return py::tuple(out);
}
py::object unique_of(const Tensor& x, bool, bool return_inverse, bool return_counts,
                     const std::optional<std::int64_t>& axis, bool return_index) {
  return unique_parts(running([&] { return x.unique(axis); }), return_index, return_inverse, return_counts);
}
py::object unique_consecutive_of(const Tensor& x, bool return_inverse, bool return_counts,
                                 const std::optional<std::int64_t>& axis, bool return_index) {
  return unique_parts(running([&] { return x.unique_consecutive(axis); }), return_index, return_inverse, return_counts);
}

Tensor::Between between_of(const std::string& word) {
  return static_cast<Tensor::Between>(choice_of({py::str(word).ptr(), "quantile", "interpolation"},
                                                {"linear", "lower", "higher", "midpoint", "nearest"}));
}

void bind_sums(Functions& f) {
  f.op("sum", "axis=None, keepdim=False, *, dtype=None", &reduced_as<&Tensor::sum>,
       "The sum over axes, by default all. The sum of integers or bools is int64, of uint64 it is uint64, "
       "unless `dtype` is given.");
  f.op("prod", "axis=None, keepdim=False, *, dtype=None", &reduced_as<&Tensor::prod>,
       "The product over axes, by default all. The product of integers or bools is int64, of uint64 it is "
       "uint64, unless `dtype` is given.");
  f.op("mean", "axis=None, keepdim=False, *, dtype=None", &reduced_as<&Tensor::mean>,
       "The mean over axes, by default all. Raises DomainError unless the elements, or `dtype`, are "
       "floats.");
  constexpr const char* extremes = "axis!|axes=None, keepdim=False, *, dim!|dims=None";
  f.op("max", extremes, &extreme_of<&Tensor::max, &Tensor::max_with_indices>,
       "The largest element over axes, by default all; NaN if an element is NaN. With `dim`, "
       "PyTorch's parameter, the result is a pair (values, indices), as of max_with_indices().");
  f.op("min", extremes, &extreme_of<&Tensor::min, &Tensor::min_with_indices>,
       "The smallest element over axes, by default all; NaN if an element is NaN. With `dim`, "
       "PyTorch's parameter, the result is a pair (values, indices), as of min_with_indices().");
  f.op(
      "max_with_indices", "axis, keepdim=False",
      [](const Tensor& x, std::int64_t axis, bool keepdim) { return ValuesIndices{x.max_with_indices(axis, keepdim)}; },
      "The largest elements along an axis, and their indices (int64). Of equal elements the index "
      "is that of the first.");
  f.op(
      "min_with_indices", "axis, keepdim=False",
      [](const Tensor& x, std::int64_t axis, bool keepdim) { return ValuesIndices{x.min_with_indices(axis, keepdim)}; },
      "The smallest elements along an axis, and their indices (int64). Of equal elements the index "
      "is that of the first.");
  f.op(
      "norm", "p|ord=2.0, axis=None, keepdim=False",
      [](const Tensor& x, const py::object& p, const AxesArg& axes, bool keepdim) {
        return x.norm(order_of_norm(p), axes, keepdim);
      },
      "The vector norm of order `p` over axes, by default all: sum(|x|**p)**(1/p). p=inf and "
      "p=-inf give the largest and the smallest |x|, p=0 the number of elements that are not 0.");
}

void bind_statistics(Functions& f) {
  constexpr const char* how = "axis=None, unbiased=None, keepdim=False, *, correction=None, ddof=None";
  const auto by = [](auto reduce) {
    return [reduce](const Tensor& x, const AxesArg& axes, const std::optional<bool>& unbiased, bool keepdim,
                    const std::optional<double>& correction, const std::optional<double>& ddof) {
      return reduce(x, axes, correction_of(unbiased, correction, ddof), keepdim);
    };
  };
  f.op("var", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.var(axes, c, keepdim); }),
       "The variance over axes, by default all: the sum of the squared distances to the mean, "
       "divided by count - correction. The default correction is 1, or 0 with unbiased=False; "
       "`ddof` is NumPy's name of it. Raises DomainError unless the elements are floats.");
  f.op("std", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.std(axes, c, keepdim); }),
       "The standard deviation over axes, by default all: the square root of var().");
  f.op("var_mean", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.var_mean(axes, c, keepdim); }),
       "The pair (variance, mean) over axes, by default all. The parameters are those of var().");
  f.op("std_mean", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.std_mean(axes, c, keepdim); }),
       "The pair (standard deviation, mean) over axes, by default all. The parameters are those of "
       "var().");
  f.op("median", "axis=None, keepdim=False", &median_of,
       "The median, the lower one of two middle elements; NaN if an element is NaN. Without `axis`, "
       "the median of all elements; with `axis`, the pair (values, indices).");
  f.op("nanmedian", "axis=None, keepdim=False", &nanmedian_of,
       "median() of the elements that are not NaN; NaN if all are.");
  f.op(
      "mode", "axis=-1, keepdim=False",
      [](const Tensor& x, std::int64_t axis, bool keepdim) { return ValuesIndices{x.mode(axis, keepdim)}; },
      "The most frequent elements along an axis, and the indices (int64) of their last occurrence. "
      "Of several most frequent elements, the smallest is taken.");
  f.op(
      "quantile", "q, axis=None, keepdim=False, *, interpolation|method='linear'",
      [](const Tensor& x, const Operand& q, const std::optional<std::int64_t>& axis, bool keepdim,
         const std::string& word) { return x.quantile(q, axis, keepdim, between_of(word)); },
      "The quantiles `q` of all elements or along an axis; q=0.5 is the median. `q` is a number in "
      "[0, 1], or a vector, whose axis becomes the first of the result. `interpolation` says what "
      "a quantile between two elements is: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. "
      "Raises DomainError unless the elements are floats, and for a number outside of [0, 1]; such "
      "elements of a vector give NaN.");
  f.op(
      "nanquantile", "q, axis=None, keepdim=False, *, interpolation|method='linear'",
      [](const Tensor& x, const Operand& q, const std::optional<std::int64_t>& axis, bool keepdim,
         const std::string& word) { return x.nanquantile(q, axis, keepdim, between_of(word)); },
      "quantile() of the elements that are not NaN.");
  f.op("bincount", "weights=None, minlength|least=0", &Tensor::bincount,
       "Counts the elements of a vector of integers: out[v] is the number of elements equal to v, "
       "or the sum of their `weights`. The result has at least `minlength` elements. Realizes the "
       "smallest and the largest element. Raises DomainError for a negative element.",
       Gil::release);
}

void bind_order(Functions& f) {
  f.op("softmax", "axis=-1, dtype=None", &along_as<&Tensor::softmax>,
       "exp(x) / sum(exp(x)) along an axis. With `dtype`, x is cast first.");
  f.op("log_softmax", "axis=-1, dtype=None", &along_as<&Tensor::log_softmax>,
       "log(softmax(x)) along an axis, computed without overflow. With `dtype`, x is cast first.");
  f.op("cumsum", "axis=0, dtype=None", &along_as<&Tensor::cumsum>,
       "The cumulative sums along an axis: element k of the result is the sum of the elements 0 to "
       "k.");
  f.op("cumprod", "axis=0, dtype=None", &along_as<&Tensor::cumprod>,
       "The cumulative products along an axis: element k of the result is the product of the "
       "elements 0 to k.");
  f.op(
      "cummax", "axis", [](const Tensor& x, std::int64_t axis) { return ValuesIndices{x.cummax(axis)}; },
      "The cumulative maxima along an axis: element k of the result is the largest of the elements "
      "0 to k. The result is the pair (values, indices).");
  f.op(
      "cummin", "axis", [](const Tensor& x, std::int64_t axis) { return ValuesIndices{x.cummin(axis)}; },
      "The cumulative minima along an axis: element k of the result is the smallest of the "
      "elements 0 to k. The result is the pair (values, indices).");
  f.op(
      "trapezoid", "dx|x=1, axis=-1",
      [](const Tensor& y, const Operand& dx, std::int64_t axis) { return y.trapezoid(dx, axis); },
      "The integral along an axis by the trapezoidal rule. `dx` is the distance between "
      "neighbouring elements, or a tensor `x` of their positions.");
  f.op(
      "cumulative_trapezoid", "dx|x=1, axis=-1",
      [](const Tensor& y, const Operand& dx, std::int64_t axis) { return y.cumulative_trapezoid(dx, axis); },
      "The cumulative trapezoid() along an axis: the integrals from the first element to each "
      "later one.");
  f.op(
      "sort", "axis=-1, descending=False, stable=True",
      [](const Tensor& x, std::int64_t axis, bool descending, bool) { return ValuesIndices{x.sort(axis, descending)}; },
      "The elements sorted along an axis, and their indices (int64) in this tensor. The sort is "
      "stable; NaN counts as the largest value.");
  f.op(
      "argsort", "axis=-1, descending=False, stable=True",
      [](const Tensor& x, std::int64_t axis, bool descending, bool) { return x.argsort(axis, descending); },
      "The indices (int64) that sort the tensor along an axis. The sort is stable; NaN counts as "
      "the largest value.");
  f.op(
      "topk", "k, axis=-1, largest=True, sorted=True",
      [](const Tensor& x, std::int64_t k, std::int64_t axis, bool largest, bool) {
        return ValuesIndices{x.topk(k, axis, largest)};
      },
      "The k largest elements along an axis, in descending order, and their indices (int64). "
      "largest=False gives the k smallest, in ascending order. Raises ShapeError unless 0 <= k <= "
      "size.");
  f.op(
      "kthvalue", "k, axis=-1, keepdim=False",
      [](const Tensor& x, std::int64_t k, std::int64_t axis, bool keepdim) {
        return ValuesIndices{x.kthvalue(k, axis, keepdim)};
      },
      "The k-th smallest elements along an axis, and their indices (int64). k counts from 1.");
  f.op("unique", "sorted=True, return_inverse=False, return_counts=False, axis=None, return_index=False", &unique_of,
       "The distinct elements, or the distinct slices along `axis`, sorted. return_inverse=True "
       "adds the index into them of each element or slice; return_counts=True adds how often each "
       "occurs; return_index=True, in front of these, the index of the first occurrence. The result is then a tuple, "
       "in NumPy's order. Realizes the tensor.");
  f.op("unique_consecutive", "return_inverse=False, return_counts=False, axis=None, return_index=False",
       &unique_consecutive_of,
       "The elements, or the slices along `axis`, without those that equal their predecessor. The "
       "parameters are those of unique(). Realizes the tensor.");
}

}  // namespace

void bind_reductions(Functions& f) {
  bind_sums(f);
  bind_statistics(f);
  bind_order(f);
}

}  // namespace strata::python
