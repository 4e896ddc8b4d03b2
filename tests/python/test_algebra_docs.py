"""The examples in docstrings of the algebra and of what stands under tensors: run, and compared."""
import doctest
import types

import numpy
import pytest
import strata
import strata.spec.mlops
import strata.spec.shape.shapetracker
import strata.spec.shape.symbolic
from strata import expr, layout

CLASSES = ["AffinePrimitives", "Buffer", "ClangProgram", "Device", "Expr", "KernelLog", "LazyOp", "Layout", "Linearizer", "Program",
           "ShapeTracker", "UOpGraph", "Variable", "View"]
FUNCTIONS = ["compile_kernel", "expand_node", "parse_kernel", "prove", "uops_to_cstyle"]
SPEC = [strata.spec, strata.spec.mlops, strata.spec.shape.shapetracker, strata.spec.shape.symbolic, strata.spec.tensor]

OURS = {name: getattr(strata, name) for name in dir(strata) if not name.startswith("__")} | {"numpy": numpy}


def documented():
    """(name, object, what its examples may use)"""
    for name in CLASSES:
        c = getattr(strata, name)
        yield name, c, OURS
        yield from ((f"{name}.{m}", vars(c)[m], OURS) for m in vars(c) if not m.startswith("_") and m != "DEFAULT")  # a static property has no docstring
    yield from ((name, getattr(strata, name), OURS) for name in FUNCTIONS)
    for module in (expr, layout):
        yield module.__name__, module, OURS
        yield from ((f"{module.__name__}.{n}", getattr(module, n), OURS | vars(module)) for n in module.__all__)
    for module in SPEC:
        yield module.__name__, module, vars(module)
        for n, o in vars(module).items():
            if isinstance(o, (type, types.FunctionType)) and o.__module__ == module.__name__:
                yield f"{module.__name__}.{n}", o, vars(module)


DOCUMENTED = {name: (getattr(o, "__doc__", None) or "", names) for name, o, names in documented()}
EXAMPLES = [name for name, (doc, _) in DOCUMENTED.items() if ">>>" in doc]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    doc, names = DOCUMENTED[name]
    test = doctest.DocTestParser().get_doctest(doc, dict(names, Tensor=strata.spec.Tensor), name, None, None)
    told = []
    try:
        failed, run = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=told.append)
    finally:
        strata.Device.DEFAULT = None
    assert run > 0 and failed == 0, "".join(told)


@pytest.mark.parametrize("name", [n for n in DOCUMENTED if not n.startswith("strata.spec")])
def test_everything_has_a_docstring(name):
    # pybind11 puts the signature in front, which is none.
    lines = [line for line in DOCUMENTED[name][0].splitlines() if line.strip() and "(self: " not in line and "->" not in line]
    assert lines, name
