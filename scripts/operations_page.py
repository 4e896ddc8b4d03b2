#!/usr/bin/env python3
"""Writes docs/operations.md from the table of operations, with the Python module in the path:

    PYTHONPATH=build/plain/python scripts/operations_page.py

Names, rules, references and meanings are those of the rows; parameters are those of the functions that Python has.
tests/python/test_operations_page.py says whether the page is that of the table.
"""
import re
from pathlib import Path

import strata
from strata import _strata

PAGE = Path(__file__).resolve().parents[1] / "docs/operations.md"
HEAD = """# All operations

Made by `scripts/operations_page.py` from [the table of operations](../strata/ops/operations.def), which C++, Python and the text of
kernels take them from. What they mean together, broadcasting and dtypes among it: [Tensors](tensors.md), [ops](floors/ops.md).

- **names**: what stands in brackets are further names. `NAME_()` is there in place where the column says so.
- **parameters** are written as Python has them, by their first names. C++ has the same order.
- **dtype** of the result. *same*: the operand's. *number*: the operands', bools as int64 or refused. *promoted*: that to which the operands
  are promoted. *real*: a float, float32 of integers. *integer*: the operands', floats are refused. *boolean*, *float64*: that one.
- **reference**: what gives the same in NumPy or PyTorch; where nothing does, why.
"""
SECTIONS = {
    "unary": ("Of one tensor, element by element", "Methods, `x.exp()`, functions, `strata.exp(x)`, and functions of a kernel's text, `exp(a)`."),
    "binary": ("Of two operands that broadcast", "The same of a tensor and a tensor or number: `x.maximum(y)`, `strata.maximum(x, 0)`, `maximum(a, 0)`."),
    "method": ("Methods", "Of a tensor, `x.sum(1)`; nearly all are functions, too, `strata.sum(x, 1)`."),
    "static": ("Making and joining", "Functions, `strata.cat([a, b])`, and static methods of C++, `Tensor::cat`."),
    "function": ("Functions of neural networks", "Functions, `strata.conv2d(x, weight)`, as `torch.nn.functional` has them."),
    "linalg": ("Linear algebra", "Functions of `strata.linalg`, as `torch.linalg` has them."),
    "fft": ("Fourier transforms", "Functions of `strata.fft`, as `torch.fft` has them, of pairs of real and imaginary part."),
}
OTHER_NAMES = {"to_float": "float"}


def python_name(row):
    """What Python calls it: reductions with indices are a parameter of those without."""
    name = OTHER_NAMES.get(row["name"], row["name"])
    return name.removesuffix("_with_indices") if row["kind"] == "function" else name


def python_function(row):
    name = python_name(row)
    places = {"static": [strata], "function": [strata], "linalg": [strata.linalg, strata], "fft": [strata.fft]}.get(row["kind"], [strata.Tensor])
    return next(getattr(place, name) for place in places if hasattr(place, name))


def parameters(row):
    out, starred = [], False
    for names, _, default, kind in python_function(row).__parameters__:
        if names[0] == "self" and row["kind"] not in ("static", "function", "linalg", "fft"):
            continue
        if kind == "name" and not starred:
            out.append("*")
        starred = starred or kind in ("name", "rest")
        name = "x" if names[0] == "self" else names[0]
        if row["name"].endswith("_with_indices") and name == "return_indices":
            default = "True"
        out.append("*" * (kind == "rest") + name + ("" if default is None else "=" + default))
    return ", ".join(out)


def words(text):
    """Text of which Markdown makes nothing."""
    return re.sub(r"[|<]|(?<! )\*|\*(?! )", r"\\\g<0>", text)


def reference(text):
    """A function, or a formula, as code; or words that say why there is none."""
    text = text.removeprefix("none: ")
    return f"`{text}`" if re.search(r"\b(?:np|torch)\.", text) else words(text)


def entry(rows):
    """A line of a table: of the rows of one name."""
    first = rows[0]
    names = list(dict.fromkeys(n for row in rows for n in row["names"]))
    call = f"`{python_name(first)}({parameters(first)})`" + (" (" + ", ".join(f"`{n}`" for n in names) + ")" if names else "")
    references = dict.fromkeys(reference(row["reference"]) for row in rows)
    meanings = dict.fromkeys(words(row["meaning"]) for row in rows)
    cells = [call] + [first["dtype"]] * bool(first["dtype"])
    if first["kind"] in ("unary", "binary", "method"):
        cells.append("in place" if any(row["in_place"] for row in rows) else "")
    return "| " + " | ".join([*cells, "; ".join(references), " ".join(meanings)]) + " |"


def section(kind, title, says):
    by_name = {}
    for row in _strata._operations():
        if row["kind"] == kind:
            by_name.setdefault(row["name"], []).append(row)
    columns = ["names, parameters"]
    columns += ["dtype"] * (kind in ("unary", "binary")) + ["in place"] * (kind in ("unary", "binary", "method")) + ["reference", "meaning"]
    return [f"## {title}", "", says, "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *map(entry, by_name.values()), ""]


def page():
    lines = [HEAD]
    for kind, (title, says) in SECTIONS.items():
        lines += section(kind, title, says)
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
