"""Slopes of functions of two operands at special points (zeros of both signs, infinities, NaN, all crossed), beside PyTorch's.

Where ours differ, docs/coming-from.md says so, and DIFFERENT says where: what is not in it is as PyTorch has it.
"""
import numpy as np
import pytest
import strata

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")

INF, NAN = np.inf, np.nan
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.3, 1e-30, INF, -INF, NAN]
A = np.array([a for a in SPECIAL for b in SPECIAL])
B = np.array([b for a in SPECIAL for b in SPECIAL])


def method(name):
    return lambda T, a, b: getattr(a, name)(b)


METHODS = """add sub mul div remainder fmod pow float_power maximum minimum fmax fmin atan2 hypot copysign logaddexp logaddexp2 xlogy
ldexp""".split()
FUNCTIONS = {
    **{name: method(name) for name in METHODS},
    "xlog1py": lambda T, a, b: (T.special if T is torch else T).xlog1py(a, b),
    "lerp": lambda T, a, b: a.lerp(b, 0.3),
    "where": lambda T, a, b: T.where(a > b, a, b),
    "addcdiv": lambda T, a, b: T.addcdiv(a, a, b),
    "clamp_min": lambda T, a, b: T.clamp(a, min=b),
    "clamp_max": lambda T, a, b: T.clamp(a, max=b),
    "x % y": lambda T, a, b: a % b,
}
VALUE_IS_NAN = np.isnan(A) | np.isnan(B)
ENDLESS_QUOTIENT = np.isinf(A) | (B == 0)  # of which the modulus is NaN
NO_LOGARITHM = (A == 0) & ((B == 0) | (B == -1) | np.isinf(B))
DIFFERENT = {
    "fmod": ENDLESS_QUOTIENT, "remainder": ENDLESS_QUOTIENT, "x % y": ENDLESS_QUOTIENT,
    "clamp_min": VALUE_IS_NAN, "clamp_max": VALUE_IS_NAN,
    "logaddexp": (A == B) & np.isinf(A), "logaddexp2": (A == B) & np.isinf(A),
    "copysign": np.isinf(A) | np.isnan(A),
    "xlogy": NO_LOGARITHM, "xlog1py": NO_LOGARITHM,
}


def slopes(T, f):
    a, b = T.tensor(A), T.tensor(B)
    a.requires_grad = True
    b.requires_grad = True
    f(T, a, b).sum().backward()
    return [np.zeros_like(A) if t.grad is None else t.grad.numpy() for t in (a, b)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_at_special_points(name):
    theirs, ours = slopes(torch, FUNCTIONS[name]), slopes(strata, FUNCTIONS[name])
    known = DIFFERENT.get(name, np.zeros(A.shape, bool))
    for by, other, mine in zip("ab", theirs, ours):
        wrong = ~np.isclose(mine, other, rtol=1e-9, atol=0, equal_nan=True) & ~known
        assert not wrong.any(), "\n".join(
            f"{name}({A[k]}, {B[k]}) by {by}: {mine[k]}, PyTorch has {other[k]}" for k in np.flatnonzero(wrong))


def test_slopes_of_ours_where_they_differ():
    """What docs/coming-from.md says of them."""
    def at(f, a, b):
        x, y = (strata.tensor(v, dtype="float64", requires_grad=True) for v in (a, b))
        f(x, y).backward()
        return [0 if t.grad is None else t.grad.item() for t in (x, y)]

    assert np.isnan(at(lambda x, y: x.fmod(y), 1.0, 0.0)[1]) and np.isnan(at(lambda x, y: x % y, 1.0, 0.0)[1])
    assert at(lambda x, y: x.clamp(min=y), NAN, 1.0) == [1, 0] and at(lambda x, y: x.clamp(max=y), 1.0, NAN) == [0, 1]
    assert at(lambda x, y: x.logaddexp(y), INF, INF) == [0.5, 0.5]
    assert at(lambda x, y: x.copysign(y), INF, -1.0)[0] == -1
    assert at(lambda x, y: x.xlogy(y), 0.0, 0.0) == [0, 0] and at(lambda x, y: strata.xlog1py(x, y), 0.0, -1.0) == [0, 0]
