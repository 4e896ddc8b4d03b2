// The exception classes: one for each kind of Error, derived from strata.Error and from the builtin exception of the
// same meaning.
#include <array>
#include <new>
#include <string>
#include <utility>

#include "python/src/bind.h"

namespace strata::python {

namespace {

struct ErrorClass {
  const char* name;
  int parent;          // the index of a row above; -1: none
  PyObject** builtin;  // a builtin base class, unless the parent has it
  const char* doc;
};

// clang-format off
constexpr int kError = 0, kParse = 1, kDomain = 2, kShape = 3, kOutOfRange = 4, kUndefined = 5, kOverflow = 6,
              kBudget = 7, kOutOfMemory = 8, kRequest = 9, kFile = 10, kMissingFile = 11, kInternal = 12;
const std::array<ErrorClass, 13> kClasses{{
    {"Error",             -1,      &PyExc_Exception,         "The base class of errors in the use of Strata. `kind` is the kind of error as a word. `column` is the 1-based column of the error in a text, or 0."},
    {"ParseError",        kError,  &PyExc_ValueError,        "A text cannot be read, or contains an unknown name."},
    {"DomainError",       kError,  &PyExc_ValueError,        "An operation does not accept a value, e.g. a zero divisor or min > max."},
    {"ShapeError",        kError,  &PyExc_ValueError,        "Ranks, sizes, masks or permutations do not match."},
    {"OutOfRangeError",   kShape,  &PyExc_IndexError,        "An index or an axis is out of range."},
    {"UndefinedError",    kError,  &PyExc_ValueError,        "An operation has no result for its operands."},
    {"IntOverflowError",  kError,  &PyExc_OverflowError,     "A value does not fit in 64 bits."},
    {"BudgetError",       kError,  &PyExc_RuntimeError,      "A limit on work or size was reached."},
    {"OutOfMemoryError",  kBudget, &PyExc_MemoryError,       "The requested memory is not available."},
    {"RequestError",      kError,  &PyExc_ValueError,        "A request is malformed: its JSON or one of its keys."},
    {"FileError",         kError,  &PyExc_OSError,           "A file cannot be read or written."},
    {"MissingFileError",  kFile,   &PyExc_FileNotFoundError, "A file, or the folder of a file to write, does not exist."},
    {"InternalError",     -1,      &PyExc_RuntimeError,      "A bug in Strata. Please report it."},
}};
// clang-format on

std::array<PyObject*, kClasses.size()> error_classes{};  // live as long as the process

bool says(const Error& e, std::string_view words) {
  return std::string_view(e.what()).find(words) != std::string_view::npos;
}

/// Whether an error is about opening or writing a file. The kinds of Error do not distinguish that from an error in the
/// file's contents.
bool is_of_a_file(const Error& e) {
  return says(e, ": cannot read it: ") || says(e, "] cannot write ") || says(e, ": it is not a regular file");
}

int class_of(const Error& e) {
  if (is_of_a_file(e)) return says(e, "No such file or directory") ? kMissingFile : kFile;
  switch (e.kind()) {
    case ErrorKind::parse: return kParse;
    case ErrorKind::domain: return kDomain;
    case ErrorKind::shape:
      // For these NumPy and PyTorch raise IndexError. The kinds of Error do not distinguish them, so the message
      // decides.
      return says(e, " is outside of a") || says(e, "has no axis") ? kOutOfRange : kShape;
    case ErrorKind::undefined: return kUndefined;
    case ErrorKind::overflow: return kOverflow;
    case ErrorKind::budget: return says(e, "out of memory") ? kOutOfMemory : kBudget;
    case ErrorKind::request: return kRequest;
  }
  return kError;
}

void raise_error(const Error& e) {
  PyObject* const type = error_classes[static_cast<std::size_t>(class_of(e))];
  const py::object text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(e.what(), static_cast<Py_ssize_t>(std::string_view(e.what()).size()), "replace"));
  if (!text) return;
  const py::object error = py::reinterpret_steal<py::object>(PyObject_CallOneArg(type, text.ptr()));
  if (!error) return;
  error.attr("kind") = py::str(std::string(to_string(e.kind())));
  error.attr("column") = py::int_(e.column());
  PyErr_SetObject(type, error.ptr());
}

PyObject* new_class(const ErrorClass& row) {
  const py::object builtin = py::reinterpret_borrow<py::object>(*row.builtin);
  py::object bases = builtin;
  if (row.parent >= 0) {
    const py::object parent = py::reinterpret_borrow<py::object>(error_classes[static_cast<std::size_t>(row.parent)]);
    bases = py::make_tuple(parent, builtin);
  }
  const std::string name = std::string("strata.") + row.name;
  PyObject* const out = PyErr_NewExceptionWithDoc(name.c_str(), row.doc, bases.ptr(), nullptr);
  if (out == nullptr) throw py::error_already_set();
  return out;
}

}  // namespace

void raise_current_exception() {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::cast_error& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const Error& e) {
    raise_error(e);
  } catch (const InternalError& e) {
    PyErr_SetString(error_classes[kInternal], e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

void bind_errors(py::module_& m) {
  for (std::size_t k = 0; k < kClasses.size(); ++k) {
    error_classes[k] = new_class(kClasses[k]);
    m.add_object(kClasses[k].name, py::reinterpret_borrow<py::object>(error_classes[k]));
  }
  const py::handle base(error_classes[kError]);
  base.attr("kind") = py::none();
  base.attr("column") = 0;
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(std::move(p));
    } catch (const Error& e) {
      raise_error(e);
    } catch (const InternalError& e) {
      PyErr_SetString(error_classes[kInternal], e.what());
    }
  });
}

}  // namespace strata::python
