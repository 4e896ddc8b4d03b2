// Binds methods of tensors for reductions, scans and sorting.
#include "python/src/call.h"

namespace strata::python {

namespace {

/// A reduction in a given dtype: casts before it, and after it, too, because sums of small integers are i64.
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
  if (axes) throw py::type_error("max() and min() take an axis or a dim, not both");
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

py::object unique_of(const Tensor& x, bool, bool return_inverse, bool return_counts,
                     const std::optional<std::int64_t>& axis) {
  const Tensor::Unique found = running([&] { return x.unique(axis); });
  if (!return_inverse && !return_counts) return object_of(found.values);
  py::list out;
  out.append(object_of(found.values));
  if (return_inverse) out.append(object_of(found.inverse));
  if (return_counts) out.append(object_of(found.counts));
  return py::tuple(out);
}
py::object unique_consecutive_of(const Tensor& x, bool return_inverse, bool return_counts,
                                 const std::optional<std::int64_t>& axis) {
  const Tensor::Unique found = running([&] { return x.unique_consecutive(axis); });
  if (!return_inverse && !return_counts) return object_of(found.values);
  py::list out;
  out.append(object_of(found.values));
  if (return_inverse) out.append(object_of(found.inverse));
  if (return_counts) out.append(object_of(found.counts));
  return py::tuple(out);
}

Tensor::Between between_of(const std::string& word) {
  return static_cast<Tensor::Between>(choice_of({py::str(word).ptr(), "quantile", "interpolation"},
                                                {"linear", "lower", "higher", "midpoint", "nearest"}));
}

void bind_sums(Functions& f) {
  f.op("sum", "axis=None, keepdim=False, *, dtype=None", &reduced_as<&Tensor::sum>,
       "The sum over axes, by default all. Of integers and bools: int64.");
  f.op("prod", "axis=None, keepdim=False, *, dtype=None", &reduced_as<&Tensor::prod>,
       "The product over axes, by default all. Of integers and bools: int64.");
  f.op("mean", "axis=None, keepdim=False, *, dtype=None", &reduced_as<&Tensor::mean>,
       "The mean over axes, by default all.");
  constexpr const char* extremes = "axis!|axes=None, keepdim=False, *, dim!|dims=None";
  f.op("max", extremes, &extreme_of<&Tensor::max, &Tensor::max_with_indices>,
       "The largest element over axes, by default all; NaN where there is one. max(dim=1), as "
       "PyTorch has it, and max_with_indices(1) say where, too.");
  f.op("min", extremes, &extreme_of<&Tensor::min, &Tensor::min_with_indices>,
       "The smallest element over axes, by default all; NaN where there is one. min(dim=1), as "
       "PyTorch has it, and min_with_indices(1) say where, too.");
  f.op(
      "max_with_indices", "axis, keepdim=False",
      [](const Tensor& x, std::int64_t axis, bool keepdim) { return ValuesIndices{x.max_with_indices(axis, keepdim)}; },
      "The largest elements along an axis, and where the first of each is.");
  f.op(
      "min_with_indices", "axis, keepdim=False",
      [](const Tensor& x, std::int64_t axis, bool keepdim) { return ValuesIndices{x.min_with_indices(axis, keepdim)}; },
      "The smallest elements along an axis, and where the first of each is.");
  f.op(
      "norm", "p|ord=2.0, axis=None, keepdim=False",
      [](const Tensor& x, const py::object& p, const AxesArg& axes, bool keepdim) {
        return x.norm(order_of_norm(p), axes, keepdim);
      },
      "(sum |x|**p)**(1/p); inf and -inf: the largest and smallest |x|; 0: how many are not 0.");
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
       "The variance over axes, divided by the count less `correction` (1; ddof: the same).");
  f.op("std", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.std(axes, c, keepdim); }),
       "The square root of var().");
  f.op("var_mean", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.var_mean(axes, c, keepdim); }),
       "var() and mean().");
  f.op("std_mean", how,
       by([](const Tensor& x, const AxesArg& axes, double c, bool keepdim) { return x.std_mean(axes, c, keepdim); }),
       "std() and mean().");
  f.op("median", "axis=None, keepdim=False", &median_of,
       "The lower one of two in the middle: of all elements, or along an axis, with its place.");
  f.op("nanmedian", "axis=None, keepdim=False", &nanmedian_of, "The median of what is not NaN.");
  f.op(
      "mode", "axis=-1, keepdim=False",
      [](const Tensor& x, std::int64_t axis, bool keepdim) { return ValuesIndices{x.mode(axis, keepdim)}; },
      "The most frequent element along an axis, the smallest of several, and a place of it.");
  f.op(
      "quantile", "q, axis=None, keepdim=False, *, interpolation|method='linear'",
      [](const Tensor& x, const Operand& q, const std::optional<std::int64_t>& axis, bool keepdim,
         const std::string& word) { return x.quantile(q, axis, keepdim, between_of(word)); },
      "The elements below which a share of q lies, q in [0, 1].");
  f.op(
      "nanquantile", "q, axis=None, keepdim=False, *, interpolation|method='linear'",
      [](const Tensor& x, const Operand& q, const std::optional<std::int64_t>& axis, bool keepdim,
         const std::string& word) { return x.nanquantile(q, axis, keepdim, between_of(word)); },
      "The quantiles of what is not NaN.");
  f.op("bincount", "weights=None, minlength|least=0", &Tensor::bincount,
       "How often each integer from 0 on is there, or the sum of their weights. Realizes.", Gil::release);
}

void bind_order(Functions& f) {
  f.op("softmax", "axis=-1, dtype=None", &along_as<&Tensor::softmax>, "exp(x) / sum(exp(x)) along an axis.");
  f.op("log_softmax", "axis=-1, dtype=None", &along_as<&Tensor::log_softmax>, "log(softmax(x)), without overflow.");
  f.op("cumsum", "axis=0, dtype=None", &along_as<&Tensor::cumsum>, "Sums up to each index of an axis.");
  f.op("cumprod", "axis=0, dtype=None", &along_as<&Tensor::cumprod>, "Products up to each index of an axis.");
  f.op(
      "cummax", "axis", [](const Tensor& x, std::int64_t axis) { return ValuesIndices{x.cummax(axis)}; },
      "The largest up to each index of an axis, and where it is.");
  f.op(
      "cummin", "axis", [](const Tensor& x, std::int64_t axis) { return ValuesIndices{x.cummin(axis)}; },
      "The smallest up to each index of an axis, and where it is.");
  f.op(
      "trapezoid", "dx|x=1, axis=-1",
      [](const Tensor& y, const Operand& dx, std::int64_t axis) { return y.trapezoid(dx, axis); },
      "The integral along an axis by trapezoids: of a width, or at places x.");
  f.op(
      "cumulative_trapezoid", "dx|x=1, axis=-1",
      [](const Tensor& y, const Operand& dx, std::int64_t axis) { return y.cumulative_trapezoid(dx, axis); },
      "The integrals up to each index.");
  f.op(
      "sort", "axis=-1, descending=False, stable=True",
      [](const Tensor& x, std::int64_t axis, bool descending, bool) { return ValuesIndices{x.sort(axis, descending)}; },
      "In order along an axis, and where each was. Stable; NaN counts as the largest.");
  f.op(
      "argsort", "axis=-1, descending=False, stable=True",
      [](const Tensor& x, std::int64_t axis, bool descending, bool) { return x.argsort(axis, descending); },
      "Where each element of the sorted tensor was.");
  f.op(
      "topk", "k, axis=-1, largest=True, sorted=True",
      [](const Tensor& x, std::int64_t k, std::int64_t axis, bool largest, bool) {
        return ValuesIndices{x.topk(k, axis, largest)};
      },
      "The k largest or smallest along an axis, in order, and where they were.");
  f.op(
      "kthvalue", "k, axis=-1, keepdim=False",
      [](const Tensor& x, std::int64_t k, std::int64_t axis, bool keepdim) {
        return ValuesIndices{x.kthvalue(k, axis, keepdim)};
      },
      "The k-th smallest along an axis, counted from 1, and where it was.");
  f.op("unique", "sorted=True, return_inverse=False, return_counts=False, axis=None", &unique_of,
       "The different elements in order; where each element is among them; how often they are "
       "there. Realizes.");
  f.op("unique_consecutive", "return_inverse=False, return_counts=False, axis=None", &unique_consecutive_of,
       "The same, of neighbours alone. Realizes.");
}

}  // namespace

void bind_reductions(Functions& f) {
  bind_sums(f);
  bind_statistics(f);
  bind_order(f);
}

}  // namespace strata::python
