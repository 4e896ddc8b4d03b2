// Function and Functions: bind C++ functions of tensors to Python. One call gives the name, the parameters in Python's
// notation, the C++ function and the docstring:
//
//   functions.op("sum", "axis=None, keepdim=False", &Tensor::sum, "The sum over axes.");
//
// This binds x.sum(1), x.sum(dim=1, keepdim=True) and strata.sum(x, axis=(0, 1)). The types of the parameters are those
// of the C++ function; convert.h says for each type which Python objects are accepted, and its annotation. A default is
// a Python literal, and is converted like an argument. Names of parameters:
// - axis, axes, dim and dims are synonyms, and so are keepdim and keepdims, self and input;
// - "low|min" has the synonym min; "axis!" has no synonyms, except those that are written;
// - "*shape" takes one sequence, or all remaining positional arguments;
// - "*" alone: the parameters behind it are keyword-only.
//
// Functions use Python's vectorcall protocol, without pybind11's search for an overload, because building a lazy
// operation takes only about a microsecond. A LocationScope (location.h) notes the calling line of Python.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "python/src/convert.h"
#include "python/src/running.h"

namespace strata::python {

inline constexpr std::size_t kMostParameters = 24;

/// A parameter of a Function.
struct Parameter {
  std::vector<PyObject*> names;  ///< its name, then synonyms; interned, alive as long as the process
  PyObject* fallback = nullptr;  ///< the default; null: required
  std::string text;              ///< the default as it was written
  const char* type = nullptr;    ///< its annotation
  bool by_name_only = false, rest = false;

  const char* name() const { return PyUnicode_AsUTF8(names.front()); }
};

/// A function that Python can call: it matches arguments with parameters, and passes their values to call().
class Function {
 public:
  Function(const char* name, const char* parameters, bool is_method, const char* doc);
  virtual ~Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  const char* name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const char* result() const { return result_; }  ///< the annotation of the result
  /// Calls the function; the arguments are those of Python's vectorcall protocol. @return a new reference
  /// @throws py::type_error for arguments that do not match; what the C++ function throws
  PyObject* operator()(PyObject* const* args, std::size_t count, PyObject* names) const;

 protected:
  /// @param values borrowed references, one for each parameter  @return a new reference
  virtual PyObject* call(PyObject* const* values) const = 0;
  void set_types(const std::vector<const char*>& parameters, const char* result);

 private:
  friend class InPlaceFunction;
  void read(std::string_view text);
  void read_one(std::string_view text, bool by_name_only);
  std::vector<std::string> names_to_give(std::string_view given) const;
  std::size_t position_of(PyObject* name) const;
  void fill(PyObject* const* args, std::size_t count, PyObject* names, PyObject** values, py::object& rest) const;

  const char* name_;
  std::string doc_;
  const char* result_ = "None";
  std::vector<Parameter> parameters_;
  std::size_t positions_ = 0;  // the number of parameters that are not keyword-only
};

/// The Python object of a function. `binds`: as a class attribute it is a method, whose first argument is the instance.
/// @return a new reference
PyObject* object_of_function(std::shared_ptr<const Function> function, bool binds);
/// The function of such an object; null for other objects.
const Function* function_of_object(py::handle object);
/// @pre function_of_object(object) != nullptr
std::shared_ptr<const Function> shared_function(py::handle object);

/// The object of a Python literal: None, True, False, an integer, a float, 'text', inf, -inf, (). @return a new
/// reference
PyObject* literal(std::string_view text);

/// Whether the interpreter's lock is held while the C++ function runs. It is released around functions that may compile
/// or run kernels.
enum class Gil : std::uint8_t { keep, release };

/// The result and the argument types of a callable: a pointer to a function or to a member function, or a lambda. A
/// last parameter of type At is not a parameter in Python; it gets At::current().
template <class R, class... A>
struct Callable {
  using Result = R;
  using Arguments = std::tuple<A...>;
};
template <class F>
struct CallableOf : CallableOf<decltype(&F::operator())> {};
template <class R, class... A>
struct CallableOf<R (*)(A...)> : Callable<R, A...> {};
template <class R, class C, class... A>
struct CallableOf<R (C::*)(A...) const>
    : std::conditional_t<std::is_same_v<C, Tensor>, Callable<R, const Tensor&, A...>, Callable<R, A...>> {};

/// The Function of a C++ callable: converts each argument with Incoming, and the result with Outgoing.
template <class F>
class FunctionOf final : public Function {
  using Signature = CallableOf<F>;
  using All = typename Signature::Arguments;
  using Result = std::decay_t<typename Signature::Result>;
  static constexpr std::size_t kAll = std::tuple_size_v<All>;
  template <std::size_t k>
  using TypeAt = std::remove_cvref_t<std::tuple_element_t<k, All>>;
  static constexpr bool ends_with_location() {
    if constexpr (kAll == 0)
      return false;
    else
      return std::is_same_v<TypeAt<kAll - 1>, At>;
  }
  static constexpr std::size_t kCount = kAll - (ends_with_location() ? 1 : 0);

 public:
  FunctionOf(const char* name, const char* parameters, bool is_method, F f, const char* doc, Gil gil)
      : Function(name, parameters, is_method, doc), f_(f), gil_(gil) {
    set_types(types(std::make_index_sequence<kCount>()), Outgoing<Result>::type);
  }

 protected:
  PyObject* call(PyObject* const* values) const override {
    return call_with(values, std::make_index_sequence<kCount>());
  }

 private:
  template <std::size_t... k>
  static std::vector<const char*> types(std::index_sequence<k...>) {
    return {Incoming<TypeAt<k>>::type...};
  }
  template <std::size_t... k>
  PyObject* call_with(PyObject* const* values, std::index_sequence<k...>) const {
    std::tuple<Incoming<TypeAt<k>>...> in{Given{values[k], this->name(), this->parameters()[k].name(), values[0]}...};
    const auto run = [&]() -> typename Signature::Result {
      if constexpr (std::is_member_function_pointer_v<F>)
        return run_member(in, std::make_index_sequence<kCount - 1>());
      else if constexpr (ends_with_location())
        return f_(std::get<k>(in).get()..., At::current());
      else
        return f_(std::get<k>(in).get()...);
    };
    if constexpr (std::is_void_v<Result>) {
      unlocked(run);
      Py_RETURN_NONE;
    } else {
      return Outgoing<Result>::object(unlocked(run));
    }
  }
  template <class In, std::size_t... k>
  auto run_member(In& in, std::index_sequence<k...>) const {
    const Tensor& self = std::get<0>(in).get();
    if constexpr (ends_with_location())
      return (self.*f_)(std::get<k + 1>(in).get()..., At::current());
    else
      return (self.*f_)(std::get<k + 1>(in).get()...);
  }
  template <class Run>
  auto unlocked(const Run& run) const {
    if (gil_ == Gil::keep) return run();
    return running(run);
  }

  F f_;
  Gil gil_;
};

/// Binds functions to the module and to the class Tensor.
class Functions {
 public:
  Functions(py::module_& m, py::handle tensor_class) : module_(m), class_(tensor_class) {}

  /// Binds a method of tensors, and the same function of the module, whose first parameter is "self".
  template <class F>
  void op(const char* name, const char* parameters, F f, const char* doc, Gil gil = Gil::keep) {
    const auto function = make(name, parameters, true, f, doc, gil);
    class_.attr(name) = object(function, true);
    module_.attr(name) = object(function, false);
  }
  /// Binds a method only.
  template <class F>
  void method(const char* name, const char* parameters, F f, const char* doc, Gil gil = Gil::keep) {
    class_.attr(name) = object(make(name, parameters, true, f, doc, gil), true);
  }
  /// Binds a function of the module only.
  template <class F>
  void function(const char* name, const char* parameters, F f, const char* doc, Gil gil = Gil::keep) {
    module_.attr(name) = object(make(name, parameters, false, f, doc, gil), false);
  }
  /// Binds a function of the module that is also a static method, as in tinygrad: strata.zeros, Tensor.zeros.
  template <class F>
  void making(const char* name, const char* parameters, F f, const char* doc, Gil gil = Gil::keep) {
    const py::object made = object(make(name, parameters, false, f, doc, gil), false);
    module_.attr(name) = made;
    class_.attr(name) = py::reinterpret_steal<py::object>(PyStaticMethod_New(made.ptr()));
  }
  /// Binds a function of several tensors, and a method whose instance is the first of them. Called on the class, the
  /// method takes all: strata.cat([a, b]), a.cat(b), Tensor.cat([a, b]).
  template <class F, class G>
  void joining(const char* name, const char* parameters, F f, const char* more, G of_first, const char* doc,
               Gil gil = Gil::keep) {
    module_.attr(name) = object(make(name, parameters, false, f, doc, gil), false);
    class_.attr(name) = object(make(name, more, true, of_first, doc, gil), true);
  }
  py::module_& module() { return module_; }
  py::handle tensor_class() const { return class_; }

 private:
  template <class F>
  static std::shared_ptr<const Function> make(const char* name, const char* parameters, bool is_method, F f,
                                              const char* doc, Gil gil) {
    return std::make_shared<FunctionOf<F>>(name, parameters, is_method, f, doc, gil);
  }
  static py::object object(const std::shared_ptr<const Function>& function, bool binds) {
    return py::reinterpret_steal<py::object>(object_of_function(function, binds));
  }

  py::module_& module_;
  py::handle class_;
};

void bind_tensor_class(py::module_& m);           // tensor_object.cpp
void bind_tensor_values(Functions& f);            // tensor_values.cpp
void bind_operations(Functions& f);               // operations.cpp
void bind_elementwise(Functions& f);              // methods_elementwise.cpp
void bind_movement(Functions& f);                 // methods_movement.cpp
void bind_reductions(Functions& f);               // methods_reduce.cpp
void bind_indexed(Functions& f);                  // methods_index.cpp
void bind_matrices(Functions& f);                 // methods_matrices.cpp
void bind_fourier(Functions& f);                  // methods_fourier.cpp
void bind_making(Functions& f);                   // making.cpp
void bind_functional(Functions& f);               // functional.cpp
void bind_losses(Functions& f);                   // losses.cpp
void bind_gradients(Functions& f);                // gradients.cpp
void bind_loops(py::module_& m);                  // loops.cpp
void bind_streams(py::module_& m);                // streams.cpp
void bind_transforms(py::module_& m);             // transforms.cpp
void bind_sharded(py::module_& m, Functions& f);  // sharded.cpp
void bind_generator(py::module_& m);              // making.cpp
/// Binds functions again under other names; call it last. In aliases.cpp.
void bind_aliases(Functions& f);

}  // namespace strata::python
