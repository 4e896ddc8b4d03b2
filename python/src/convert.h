// Incoming<T> and Outgoing<T>: the conversions of Python arguments to C++ and of C++ results to Python, for the
// functions of call.h.
//
// Incoming<T> is constructed from a Given, the object that was passed for a parameter. It owns whatever the conversion
// creates, and get() returns the C++ argument. For a wrong object it throws py::type_error, which names the function
// and the parameter. `type` is the annotation in the stubs; names that Python does not define (TensorLike, Size, ...)
// are at the top of python/tools/stubs.py.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"
#include "strata/engine/generator.h"
#include "strata/tensor/functional.h"

namespace strata::python {

/// An object that was passed for a parameter of a function.
struct Given {
  PyObject* object;
  const char* function;
  const char* parameter;
  PyObject* beside = nullptr;  ///< the call's first argument: beside an f64 tensor a float is f64

  bool is_none() const { return object == Py_None; }
  /// @throws py::type_error, always, e.g. "sum(): axis must be an integer, not str" for wanted = "an integer"
  [[noreturn]] void refuse(const char* wanted) const;
  /// The same with another object, for an item of a sequence.
  Given with(PyObject* other) const { return {other, function, parameter, beside}; }
};

// --- from objects to values (convert.cpp) ---

/// Whether the object is an int, or a scalar with __index__ (np.int64). False for bools, tensors and arrays, which have
/// __index__, too, but are masks or elements.
bool is_integer(PyObject* object);
std::int64_t integer_of(const Given& g);  ///< @throws py::type_error unless is_integer()
double real_of(const Given& g);           ///< of an int, a float, a NumPy scalar or a tensor of one element
bool truth_of(const Given& g);            ///< of a bool, also NumPy's, or of the integers 0 and 1
std::string text_of(const Given& g);
/// The value of a Python or NumPy number; nothing for other objects.
std::optional<Number> try_number(PyObject* object);
/// The expression that is the object, if all its variables are bound; else null.
const Expr* integer_in(PyObject* object);
Number number_of(const Given& g);
std::vector<std::int64_t> integers_of(const Given& g);  ///< of an integer, or a sequence of them
Int size_of(const Given& g);                            ///< of an integer, an expression, or a tensor with one integer
Ints sizes_of(const Given& g);                          ///< of a size, or a sequence of sizes
const Device& device_of(const Given& g);                ///< of a name or a Device, also PyTorch's
const Device* try_device(std::string name);             ///< upper or lower case; "cpu" is the default; null: none
std::string known_devices();                            ///< all names, and what unavailable devices need
/// A tensor of an object with numbers: a tensor, a number, (nested) lists, an array. @throws py::type_error
Tensor tensor_of(const Given& g);
/// Of a sequence of such objects, or of a tensor, which is split along its first axis.
std::vector<Tensor> tensors_of(const Given& g);
/// The arguments of a parameter "*name": the items of a tuple or list, else the one object.
py::tuple rest_of(const py::object& rest);
PerAxis per_axis_of(const Given& g);
ConvPadding conv_padding_of(const Given& g);
/// The index in `names` of the text that was given. @throws Error (domain) naming all of them
std::size_t choice_of(const Given& g, std::initializer_list<const char*> names);

template <class T>
struct Incoming;

/// The base of an Incoming whose conversion is one function.
template <class T, T (*of)(const Given&)>
struct IncomingValue {
  explicit IncomingValue(const Given& g) : value(of(g)) {}
  const T& get() const { return value; }
  T value;
};

// clang-format off
template <> struct Incoming<std::int64_t> : IncomingValue<std::int64_t, integer_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "int"; };
template <> struct Incoming<double> : IncomingValue<double, real_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "float"; };
template <> struct Incoming<bool> : IncomingValue<bool, truth_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "bool"; };
template <> struct Incoming<std::string> : IncomingValue<std::string, text_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "str"; };
template <> struct Incoming<Number> : IncomingValue<Number, number_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "Number"; };
template <> struct Incoming<std::vector<std::int64_t>> : IncomingValue<std::vector<std::int64_t>, integers_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "int | Sequence[int]"; };
template <> struct Incoming<Ints> : IncomingValue<Ints, sizes_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "Size | Sequence[Size]"; };
template <> struct Incoming<std::vector<Tensor>> : IncomingValue<std::vector<Tensor>, tensors_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "Sequence[TensorLike] | Tensor"; };
template <> struct Incoming<PerAxis> : IncomingValue<PerAxis, per_axis_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "int | Sequence[int]"; };
template <> struct Incoming<ConvPadding> : IncomingValue<ConvPadding, conv_padding_of> { using IncomingValue::IncomingValue; static constexpr const char* type = "int | str | Sequence[int] | Sequence[tuple[int, int]]"; };
// clang-format on

template <>
struct Incoming<Int> {
  explicit Incoming(const Given& g) : value(size_of(g)) {}
  const Int& get() const { return value; }
  static constexpr const char* type = "Size";
  Int value;
};

/// A number, or an expression of bound variables.
struct NumberOrSize {
  Number number = 0;
  std::optional<Int> size = std::nullopt;  ///< set where the object is an expression with variables
};
template <>
struct Incoming<NumberOrSize> {
  explicit Incoming(const Given& g) {
    const Expr* const e = integer_in(g.object);
    if (e != nullptr && !e->is_constant())
      value.size = Int(*e);
    else
      value.number = e != nullptr ? Number(e->value()) : number_of(g);
  }
  const NumberOrSize& get() const { return value; }
  static constexpr const char* type = "Number | Size";
  NumberOrSize value;
};

template <>
struct Incoming<Axes> {
  explicit Incoming(const Given& g) {
    for (const std::int64_t a : integers_of(g)) value.push_back(a);
  }
  const Axes& get() const { return value; }
  static constexpr const char* type = "int | Sequence[int]";
  Axes value;
};

/// An integer, a sequence of integers, or None. None and an empty sequence mean all axes.
template <>
struct Incoming<AxesArg> {
  explicit Incoming(const Given& g) {
    if (g.is_none()) return;
    if (PyLong_CheckExact(g.object)) {
      value = AxesArg(integer_of(g));
      return;
    }
    Axes axes;
    for (const std::int64_t a : integers_of(g)) axes.push_back(a);
    value = AxesArg(axes);
  }
  const AxesArg& get() const { return value; }
  static constexpr const char* type = "int | Sequence[int] | None";
  AxesArg value;
};

template <>
struct Incoming<DType> {
  explicit Incoming(const Given& g) : value(dtype_of_object(g.object)) {}
  DType get() const { return value; }
  static constexpr const char* type = "DTypeLike";
  DType value;
};

template <>
struct Incoming<Device> {
  explicit Incoming(const Given& g) : value(&device_of(g)) {}
  const Device& get() const { return *value; }
  static constexpr const char* type = "DeviceLike";
  const Device* value;
};

template <>
struct Incoming<Tensor> {
  explicit Incoming(const Given& g) {
    if (const Tensor* const t = tensor_in(g.object))
      value = t;
    else
      value = &made.emplace(tensor_of(g));
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  const Tensor& get() const { return *value; }
  static constexpr const char* type = "TensorLike";
  std::optional<Tensor> made;
  const Tensor* value;
};

/// A tensor, a number (whose dtype adapts to that of the other operand), or an object that tensor_of() converts.
template <>
struct Incoming<Operand> {
  explicit Incoming(const Given& g) : value(0) {
    if (const Tensor* const t = tensor_in(g.object))
      value = Operand(*t);
    else if (const auto number = try_number(g.object))
      value = Operand(*number);
    else
      value = Operand(made.emplace(tensor_of(g)));
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  const Operand& get() const { return value; }
  static constexpr const char* type = "TensorLike";
  std::optional<Tensor> made;
  Operand value;
};

/// @throws py::type_error
inline const Generator& generator_of(const Given& g) {
  if (!py::isinstance<Generator>(py::handle(g.object))) g.refuse("a strata.Generator or None");
  return py::cast<const Generator&>(py::handle(g.object));
}

template <>
struct Incoming<Generator> {
  explicit Incoming(const Given& g) : value(g.is_none() ? Generator::default_generator() : generator_of(g)) {}
  const Generator& get() const { return value; }
  static constexpr const char* type = "Generator | None";
  Generator value;
};

template <>
struct Incoming<py::object> {
  explicit Incoming(const Given& g) : value(py::reinterpret_borrow<py::object>(g.object)) {}
  const py::object& get() const { return value; }
  static constexpr const char* type = "Any";
  py::object value;
};

/// The first argument of a joining method: a tensor, or, if the method is called on the class, the sequence of all
/// tensors.
struct FirstOrAll {
  py::object object;
};
template <>
struct Incoming<FirstOrAll> {
  explicit Incoming(const Given& g) : value{py::reinterpret_borrow<py::object>(g.object)} {}
  const FirstOrAll& get() const { return value; }
  static constexpr const char* type = "Tensor | Sequence[TensorLike]";
  FirstOrAll value;
};
/// The first argument of einsum(): a tensor, or, if the method is called on the class, the formula.
struct FirstOrFormula {
  py::object object;
};
template <>
struct Incoming<FirstOrFormula> {
  explicit Incoming(const Given& g) : value{py::reinterpret_borrow<py::object>(g.object)} {}
  const FirstOrFormula& get() const { return value; }
  static constexpr const char* type = "Tensor | str";
  FirstOrFormula value;
};

/// The Python texts of an enum, in the order of its values.
template <class E>
struct Words;
template <>
struct Words<Reduction> {
  static std::size_t of(const Given& g) { return choice_of(g, {"none", "mean", "sum", "batchmean"}); }
  static constexpr const char* type = "Literal['none', 'mean', 'sum', 'batchmean']";
};
template <>
struct Words<Tensor::PadMode> {
  static std::size_t of(const Given& g) { return choice_of(g, {"constant", "reflect", "replicate", "circular"}); }
  static constexpr const char* type = "Literal['constant', 'reflect', 'replicate', 'circular']";
};
template <>
struct Words<Tensor::Reduce> {
  static std::size_t of(const Given& g) { return choice_of(g, {"sum", "prod", "mean", "amax", "amin"}); }
  static constexpr const char* type = "Literal['sum', 'prod', 'mean', 'amax', 'amin']";
};
template <class E>
  requires requires { Words<E>::type; }
struct Incoming<E> {
  explicit Incoming(const Given& g) : value(static_cast<E>(Words<E>::of(g))) {}
  const E& get() const { return value; }
  static constexpr const char* type = Words<E>::type;
  E value;
};

/// The annotation of std::optional<T>.
template <class T>
struct OptionalType;
// clang-format off
template <> struct OptionalType<Tensor::Reduce> { static constexpr const char* type = "Literal['sum', 'prod', 'mean', 'amax', 'amin'] | None"; };
template <> struct OptionalType<std::int64_t> { static constexpr const char* type = "int | None"; };
template <> struct OptionalType<Int> { static constexpr const char* type = "Size | None"; };
template <> struct OptionalType<NumberOrSize> { static constexpr const char* type = "Number | Size | None"; };
template <> struct OptionalType<double> { static constexpr const char* type = "float | None"; };
template <> struct OptionalType<bool> { static constexpr const char* type = "bool | None"; };
template <> struct OptionalType<std::string> { static constexpr const char* type = "str | None"; };
template <> struct OptionalType<Number> { static constexpr const char* type = "Number | None"; };
template <> struct OptionalType<Tensor> { static constexpr const char* type = "TensorLike | None"; };
template <> struct OptionalType<Operand> { static constexpr const char* type = "TensorLike | None"; };
template <> struct OptionalType<DType> { static constexpr const char* type = "DTypeLike | None"; };
template <> struct OptionalType<PerAxis> { static constexpr const char* type = "int | Sequence[int] | None"; };
template <> struct OptionalType<Ints> { static constexpr const char* type = "Size | Sequence[Size] | None"; };
template <> struct OptionalType<Axes> { static constexpr const char* type = "int | Sequence[int] | None"; };
template <> struct OptionalType<std::vector<std::int64_t>> { static constexpr const char* type = "int | Sequence[int] | None"; };
// clang-format on

template <class T>
struct Incoming<std::optional<T>> {
  explicit Incoming(const Given& g) {
    if (g.is_none()) return;
    if constexpr (std::is_same_v<T, Operand>)
      value.emplace(in.emplace(g).get());  // an Operand may point into its Incoming
    else
      value.emplace(Incoming<T>(g).get());
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  const std::optional<T>& get() const { return value; }
  static constexpr const char* type = OptionalType<T>::type;
  std::optional<T> value;
  struct Nothing {};
  std::conditional_t<std::is_same_v<T, Operand>, std::optional<Incoming<Operand>>, Nothing> in{};
};

/// A device; null for None, which means the default.
template <>
struct Incoming<const Device*> {
  explicit Incoming(const Given& g) : value(g.is_none() ? nullptr : &device_of(g)) {}
  const Device* get() const { return value; }
  static constexpr const char* type = "DeviceLike | None";
  const Device* value;
};

template <>
struct Incoming<std::span<const Tensor>> {
  explicit Incoming(const Given& g) : tensors(tensors_of(g)), value(tensors) {}
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  std::span<const Tensor> get() const { return value; }
  static constexpr const char* type = "Sequence[TensorLike] | Tensor";
  std::vector<Tensor> tensors;
  std::span<const Tensor> value;
};

// --- from values to objects ---

template <class T>
struct Outgoing;

/// The result of e.g. max(): a tensor, or ValuesIndices if an axis was given.
struct ValuesByAxis {
  py::object result;
};

/// A pair that Python sees as a named tuple with .values and .indices.
struct ValuesIndices {
  std::pair<Tensor, Tensor> both;
};
PyObject* values_indices(ValuesIndices&& v);  // convert.cpp
PyObject* tuple_of(std::vector<Tensor>&& tensors);

template <>
struct Outgoing<Tensor> {
  static PyObject* object(Tensor&& t) { return new_tensor(std::move(t)); }
  static constexpr const char* type = "Tensor";
};
template <>
struct Outgoing<std::vector<Tensor>> {
  static PyObject* object(std::vector<Tensor>&& t) { return tuple_of(std::move(t)); }
  static constexpr const char* type = "tuple[Tensor, ...]";
};
template <>
struct Outgoing<std::pair<Tensor, Tensor>> {
  static PyObject* object(std::pair<Tensor, Tensor>&& t) { return tuple_of({std::move(t.first), std::move(t.second)}); }
  static constexpr const char* type = "tuple[Tensor, Tensor]";
};
template <>
struct Outgoing<ValuesIndices> {
  static PyObject* object(ValuesIndices&& v) { return values_indices(std::move(v)); }
  static constexpr const char* type = "ValuesIndices";
};
template <>
struct Outgoing<ValuesByAxis> {
  static PyObject* object(ValuesByAxis&& v) { return v.result.release().ptr(); }
  static constexpr const char* type = "Tensor; dim: ValuesIndices";  // stubs.py makes overloads of it
};
template <>
struct Outgoing<std::optional<Tensor>> {
  static PyObject* object(std::optional<Tensor>&& t) {
    if (t) return new_tensor(std::move(*t));
    Py_RETURN_NONE;
  }
  static constexpr const char* type = "Tensor | None";
};
template <>
struct Outgoing<py::object> {
  static PyObject* object(py::object&& o) { return o.release().ptr(); }
  static constexpr const char* type = "Any";
};
template <>
struct Outgoing<bool> {
  static PyObject* object(bool b) { return PyBool_FromLong(b ? 1 : 0); }
  static constexpr const char* type = "bool";
};
template <>
struct Outgoing<std::int64_t> {
  static PyObject* object(std::int64_t v) { return PyLong_FromLongLong(v); }
  static constexpr const char* type = "int";
};
template <>
struct Outgoing<double> {
  static PyObject* object(double v) { return PyFloat_FromDouble(v); }
  static constexpr const char* type = "float";
};
template <>
struct Outgoing<std::string> {
  static PyObject* object(const std::string& s) {
    return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
  }
  static constexpr const char* type = "str";
};
template <>
struct Outgoing<Int> {
  static PyObject* object(const Int& v) { return object_of_int(v).release().ptr(); }
  static constexpr const char* type = "Size";
};
template <>
struct Outgoing<DType> {
  static PyObject* object(DType d) { return object_of_dtype(d).release().ptr(); }
  static constexpr const char* type = "DType";
};
template <>
struct Outgoing<void> {
  static constexpr const char* type = "None";
};

/// The sizes as a tuple. @return a new reference
PyObject* tuple_of_sizes(const Ints& sizes);

}  // namespace strata::python
