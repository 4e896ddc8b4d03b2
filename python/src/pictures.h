// bind_pictures(): adds viz() and _repr_html_() to a class, e.g. Layout and Expr. Both are implemented in
// strata/_viz.py.
#pragma once

#include <string>

#include "python/src/bind.h"

namespace strata::python {

template <class Class>
void bind_pictures(Class& c) {
  c.def(
      "viz",
      [](const py::object& self, bool open) {
        return py::module_::import("strata._viz").attr("show")(self, open).cast<std::string>();
      },
      py::arg("open") = true,
      "Opens the page that shows this object in a browser, unless `open` is False. Returns the URL "
      "of the page.");
  c.def(
      "_repr_html_",
      [](const py::object& self) {
        return py::module_::import("strata._viz").attr("picture")(self).template cast<std::string>();
      },
      "The HTML that a notebook shows: the text, and for a layout or Views with few elements a "
      "table of the addresses.");
}

}  // namespace strata::python
