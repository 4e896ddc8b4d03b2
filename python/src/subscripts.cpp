#include "python/src/subscripts.h"

#include <vector>

#include "python/src/convert.h"
#include "python/src/running.h"
#include "strata/tensor/writes.h"

namespace strata::python {

namespace {

std::optional<Int> slice_end(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (!PyIndex_Check(o) && !py::isinstance<Expr>(o))
    throw py::type_error("the bounds and the step of a slice must be integers or None");
  return int_of_object(o);
}

Subscript subscript_of(PyObject* o) {
  if (PyLong_CheckExact(o)) return int_of_object(o);
  if (o == Py_None) return new_axis;
  if (o == Py_Ellipsis) return ellipsis;
  if (PySlice_Check(o)) {
    const auto* const s = reinterpret_cast<PySliceObject*>(o);
    return Slice{slice_end(s->start), slice_end(s->stop), slice_end(s->step).value_or(1).value()};
  }
  if (const Tensor* const t = tensor_in(o)) return *t;
  if (PyBool_Check(o)) return Tensor(o == Py_True);
  if (py::isinstance<Expr>(o)) return int_of_object(o);
  if (PyIndex_Check(o) && !PyObject_CheckBuffer(o)) return int_of_object(o);
  if (PyUnicode_Check(o)) throw py::type_error("a str is not a subscript of a tensor");
  const Tensor t = tensor_from_object(o, "index");
  // A NumPy integer removes its axis, like an int. An empty list becomes f32, and is cast to integers.
  if (t.ndim() == 0 && t.dtype().is_int() && PyIndex_Check(o)) return int_of_object(o);
  if (t.numel() == Int(0) && t.dtype() == dtypes::float32) return t.cast(dtypes::int64);
  return Subscript::checked(t);  // the values of a list or an array are known, so they are checked
}

std::vector<Subscript> subscripts_of(PyObject* key) {
  std::vector<Subscript> out;
  if (PyTuple_Check(key))
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); ++k) out.push_back(subscript_of(PyTuple_GET_ITEM(key, k)));
  else
    out.push_back(subscript_of(key));
  return out;
}

/// Whether a subscript is a mask, which must be realized, because the number of its true elements is a size.
bool has_mask(const std::vector<Subscript>& subscripts) {
  for (const Subscript& s : subscripts)
    if (const auto* const t = std::get_if<std::shared_ptr<const Tensor>>(&s.what()))
      if ((*t)->dtype().is_bool()) return true;
  return false;
}

}  // namespace

Tensor subscripted(const Tensor& x, PyObject* key) {
  const std::vector<Subscript> subscripts = subscripts_of(key);
  if (!has_mask(subscripts)) return x.index(subscripts);
  return running([&] { return x.index(subscripts); });
}

Tensor with_put(const Tensor& x, PyObject* key, const Operand& value, const std::optional<Tensor::Reduce>& reduce) {
  const py::object all = py::reinterpret_steal<py::object>(PyList_Check(key) ? PyList_AsTuple(key) : Py_NewRef(key));
  const std::vector<Subscript> subscripts = subscripts_of(all.ptr());
  const auto put = [&] { return reduce ? x.index_put(subscripts, value, *reduce) : x.index_put(subscripts, value); };
  return has_mask(subscripts) ? running(put) : put();
}

void put_at(const Tensor& x, PyObject* key, PyObject* value) {
  const std::vector<Subscript> subscripts = subscripts_of(key);
  const Incoming<Operand> in(Given{value, "index_put", "value"});
  if (has_mask(subscripts)) return running([&] { put_in_place(x, subscripts, in.get()); });
  const Tensor* const from = in.get().tensor();
  if (!x.is_realized() || (from != nullptr && !from->is_realized()))
    running([&] { compute_before_write(x, subscripts, in.get()); });
  put_in_place(x, subscripts, in.get());  // under the GIL, so that threads write one after another
}

}  // namespace strata::python
