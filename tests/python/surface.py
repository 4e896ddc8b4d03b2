"""The functions and methods of tensors, from the tables that they carry, and calls of them: for tests of all there is."""
import inspect

import strata
from strata import Tensor

A = Tensor([[1.0, 5.0], [3.0, 2.0]])


def is_ours(f):
    return type(f).__module__ == "strata" and type(f).__name__ in ("method", "function")


METHODS = {n: inspect.getattr_static(Tensor, n) for n in dir(Tensor)}
METHODS = {n: f for n, f in METHODS.items() if is_ours(f) and not n.startswith("__")}
FUNCTIONS = {n: getattr(strata, n) for n in dir(strata) if is_ours(getattr(strata, n)) and not n.startswith("_")}

# What may stand where a type is asked for.
SIMPLE = {"TensorLike": A, "Sequence[TensorLike] | Tensor": [A, A], "int": 0, "float": 1.0, "str": "sum", "Number": 1, "Size": 1, "Number | Size": 1,
          "Size | Sequence[Size]": (2, 2), "int | Sequence[int]": (0,), "bool": True, "DTypeLike": "float32",
          "Sequence[TensorLike]": [A, A], "TensorLike | None": A, "Any": 1, "Tensor | Sequence[TensorLike]": A, "Tensor | str": A}


def calls():
    """(label, function): all functions, and the methods that are none."""
    for name, f in sorted(FUNCTIONS.items()):
        yield "strata." + name, f
    for name, f in sorted(METHODS.items()):
        if name not in FUNCTIONS:
            yield "x." + name, f


def argument_of(row):
    names, type_, _, _ = row
    return "sum" if type_.startswith("Literal['sum'") else SIMPLE.get(type_, 1)


def given(f, at, value):
    """Arguments by position and by name where parameter `at` is the value; those that have no default are simple ones."""
    positions, named = [], {}
    for k, row in enumerate(f.__parameters__):
        names, _, default, kind = row
        if k != at and default is not None:
            continue
        argument = value if k == at else argument_of(row)
        if kind == "rest":
            positions.extend(argument if isinstance(argument, (tuple, list)) else [argument])
        elif kind == "position" and k == len(positions):
            positions.append(argument)
        else:
            named[names[0] if names[0] not in ("lambda", "from") else names[1]] = argument
    return positions, named
