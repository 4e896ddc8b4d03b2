"""Operands that change in place after an operation: its slopes stay those at the operands that it was computed from.

The operations are all those of test_against_torch.py and test_linalg.py that have slopes; a change is made to each tensor that went
in, to those of indices and labels, too. PyTorch, whose operands do not change, says what the slopes are.
"""
import numpy as np
import pytest
import strata

import test_against_torch
import test_linalg
from test_against_torch import torch

ATTRIBUTES = {"grad": True}


def by_adding(tensors):
    with strata.no_grad():
        for t in tensors:
            t.assign(t.logical_not()) if t.dtype == strata.bool_ else t.add_(1)


def by_assigning(tensors):
    for t in tensors:
        t.assign(t.zeros_like())


def by_an_element(tensors):
    with strata.no_grad():
        for t in tensors:
            t[...] = 0


CHANGES = {"add_": by_adding, "assign": by_assigning, "x[...] = 0": by_an_element}


class Recorded:
    """The library, and what tensors a case makes by it."""

    def __init__(self):
        self.made = []

    def __getattr__(self, name):
        return getattr(strata, name)

    def tensor(self, *args, **options):
        t = strata.tensor(*args, **options)
        self.made.append(t)
        return t


def weighted(T, results, dtype):
    """A number that depends on every result."""
    total = None
    for k, r in enumerate(test_against_torch.flat(results)):
        if isinstance(r, (bool, int, float)) or not r.requires_grad or not r.is_floating_point():
            continue
        weights = np.random.default_rng(7 + k).uniform(0.5, 1.5, size=tuple(r.shape)).astype(str(r.dtype).split(".")[-1])
        part = (r * (T.tensor(weights) if weights.ndim == 0 else T.from_numpy(weights))).sum()
        total = part if total is None else total + part
    assert total is not None, "no result depends on the inputs"
    return total


def leaves(T, inputs):
    tensors = [T.tensor(x) if x.ndim == 0 else T.from_numpy(x.copy()) for x in inputs]
    for t in tensors:
        t.requires_grad = True
    return tensors


def check(name, inputs, run, rtol, atol):
    """`run(library, *tensors)` makes results; for each way to change its operands afterwards."""
    tensors = leaves(torch, inputs)
    weighted(torch, run(torch, *tensors), name).backward()
    expected = [np.zeros_like(x) if t.grad is None else t.grad.numpy() for x, t in zip(inputs, tensors)]
    wrong = []
    for how, change in CHANGES.items():
        for computed in (False, True):  # the operands are leaves, or computed
            library, tensors = Recorded(), leaves(strata, inputs)
            operands = [t * 1 for t in tensors] if computed else tensors
            total = weighted(library, run(library, *operands), name)
            change([*operands, *library.made])
            total.backward()
            for k, (t, slope) in enumerate(zip(tensors, expected)):
                found = np.zeros_like(slope) if t.grad is None else t.grad.numpy()
                if not np.allclose(found, slope, rtol=rtol, atol=atol, equal_nan=True):
                    wrong.append(f"{how} of {'computed operands' if computed else 'leaves'}: operand {k}: {found}, not {slope}")
    assert not wrong, "\n".join(wrong)


SLOPES = {n: c for n, c in test_against_torch.CASES.items() if c.grad and c.shapes and c.dtype.startswith("float")}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_are_those_of_the_old_operands(name):
    case = SLOPES[name]

    def run(library, *tensors):
        is_theirs = library is torch
        return case.f(library, torch.nn.functional if is_theirs else strata.nn.functional, *tensors)

    check(name, case.inputs(), run, 10 * case.rtol, 10 * case.atol)


@pytest.mark.parametrize("name", test_linalg.CASES)
def test_of_linear_algebra(name):
    f, *inputs = test_linalg.CASES[name]
    check(name, inputs, lambda library, *tensors: f(library.linalg, *tensors), 1e-7, 1e-8)
