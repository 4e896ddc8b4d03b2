#include "strata/tensor/dlpack.h"
#include "python/src/dlpack_capsule.h"
#include "python/src/running.h"

namespace strata::python {

namespace {

template <class M>
struct CapsuleName;
template <>
struct CapsuleName<dlpack::ManagedTensor> {
  static constexpr const char *fresh = "dltensor", *used = "used_dltensor";
};
template <>
struct CapsuleName<dlpack::ManagedTensorVersioned> {
  static constexpr const char *fresh = "dltensor_versioned", *used = "used_dltensor_versioned";
};

/// The destructor of a capsule: releases the memory, if no consumer took it.
template <class M>
void delete_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, CapsuleName<M>::fresh) == 0) return;
  auto* const managed = static_cast<M*>(PyCapsule_GetPointer(capsule, CapsuleName<M>::fresh));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class M>
py::object new_capsule(const Tensor& x, bool copy) {
  M* const managed = running([&] { return to_dlpack<M>(x, copy); });
  PyObject* const out = PyCapsule_New(managed, CapsuleName<M>::fresh, &delete_capsule<M>);
  if (out != nullptr) return py::reinterpret_steal<py::object>(out);
  managed->deleter(managed);
  throw py::error_already_set();
}

template <class M>
std::optional<Tensor> taken(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, CapsuleName<M>::fresh) == 0) return std::nullopt;
  auto* const managed = static_cast<M*>(PyCapsule_GetPointer(capsule, CapsuleName<M>::fresh));
  PyCapsule_SetName(capsule, CapsuleName<M>::used);  // marks the capsule as consumed
  return from_dlpack(managed);
}

/// The capsule of a producer: with the versioned struct if the producer supports it, else with the older one.
py::object ask_for_capsule(py::handle object) {
  if (PyCapsule_CheckExact(object.ptr())) return py::reinterpret_borrow<py::object>(object);
  const py::object ask = object.attr("__dlpack__");
  try {
    return ask(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (const py::error_already_set& e) {
    if (!e.matches(PyExc_TypeError)) throw;  // a producer that does not know max_version
  }
  return ask();
}

}  // namespace

Tensor tensor_from_dlpack(py::handle object) {
  const py::object capsule = ask_for_capsule(object);
  if (auto t = taken<dlpack::ManagedTensorVersioned>(capsule.ptr())) return *t;
  if (auto t = taken<dlpack::ManagedTensor>(capsule.ptr())) return *t;
  throw Error(ErrorKind::domain,
              "[from_dlpack] the capsule is not a DLPack capsule, or another consumer has taken "
              "the capsule");
}

py::object dlpack_capsule(const Tensor& x, bool is_versioned, bool copy) {
  return is_versioned ? new_capsule<dlpack::ManagedTensorVersioned>(x, copy)
                      : new_capsule<dlpack::ManagedTensor>(x, copy);
}

}  // namespace strata::python
