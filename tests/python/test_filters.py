"""Recurrences and digital filters against loops in float64: groups in vectors, and what they leave to single elements."""
import numpy as np
import pytest

import strata
from strata import Tensor

RANDOM = np.random.default_rng(3)
SIZES = (1, 2, 5, 15, 16, 17, 31, 33, 100, 515)


def looped(factors, term):
    """The recurrence along the last axis, in the dtype of `term`, element by element."""
    y = np.zeros_like(term)
    for t in range(term.shape[-1]):
        total = term[..., t].copy()
        for k in reversed(range(len(factors))):
            if t > k:
                total = total + np.broadcast_to(factors[k], term.shape)[..., t] * y[..., t - 1 - k]
            else:
                total = total + np.broadcast_to(factors[k], term.shape)[..., t] * 0
        y[..., t] = total
    return y


def filtered(b, a, x):
    b, a = np.asarray(b, np.float64) / a[0], np.asarray(a, np.float64) / a[0]
    x = x.astype(np.float64)
    term = np.zeros_like(x)
    for k, each in enumerate(b):
        if k < x.shape[-1]:
            term[..., k:] += each * x[..., : x.shape[-1] - k]
    return looped([-each for each in a[1:]], term) if len(a) > 1 else term


def close(found, wanted, dtype):
    """Beside the largest element so far: what a recurrence has rounded stays in it."""
    scale = np.maximum.accumulate(np.abs(wanted), -1)
    digits = {np.float16: 2e-3, np.float32: 1e-5, np.float64: 1e-13}[dtype]
    assert found.shape == wanted.shape
    assert np.all(np.abs(found - wanted) <= digits * scale + 1e-30), np.max(np.abs(found - wanted) / (scale + 1e-30))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_recurrences_of_one_factor(n, dtype):
    x = RANDOM.standard_normal((3, n)).astype(dtype)
    for factor in (0.5, -0.9, 0.999, 1.0, 0.0, 1e-3, -1.05, 0.0625):
        wanted = looped([np.asarray(dtype(factor), np.float64)], x.astype(np.float64))
        close(Tensor(x).linear_recurrence(factor).numpy(), wanted, dtype)
    factors = RANDOM.uniform(-1.2, 1.2, (3, n)).astype(dtype)
    factors[RANDOM.random((3, n)) < 0.1] = 0
    factors[RANDOM.random((3, n)) < 0.05] = 1e-30
    wanted = looped([factors.astype(np.float64)], x.astype(np.float64))
    close(Tensor(x).linear_recurrence(Tensor(factors)).numpy(), wanted, dtype)
    by_rows = factors[:, :1]
    close(Tensor(x).linear_recurrence(Tensor(by_rows)).numpy(),
          looped([by_rows.astype(np.float64)], x.astype(np.float64)), dtype)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_not_finite_is_as_in_a_loop(n):
    for factor in (0.5, 0.0, -1.0, 3.0, np.float32(1e-20), np.float32(1e20)):
        for special in (np.inf, -np.inf, np.nan):
            x = RANDOM.standard_normal((2, n)).astype(np.float32)
            x[1, n // 2] = special
            if factor == np.float32(1e20):  # an infinite product plus the other infinity: NaN only where the product is rounded
                x[1, : n // 2] = 0
            with np.errstate(all="ignore"):
                wanted = looped([np.float32(factor)], x)
            found = Tensor(x).linear_recurrence(float(factor)).numpy()
            np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
            finite = np.isfinite(wanted)
            np.testing.assert_array_equal(found[~finite], wanted[~finite])
            np.testing.assert_allclose(found[finite], wanted[finite], rtol=1e-3, atol=1e-4)


def test_products_of_factors_that_leave_the_range_of_floats():
    """1e20 * 1e20 is no float, nor 1e-30 * 1e-30: the elements are."""
    term = np.zeros(64, np.float32)
    term[3], term[40] = 1e-30, 1e30
    factors = np.ones(64, np.float32)
    factors[[4, 5]], factors[[41, 42]] = 1e20, 1e-30
    wanted = looped([factors], term)
    assert wanted[5] == np.float32(1e10) and wanted[42] > 0
    np.testing.assert_allclose(Tensor(term).linear_recurrence(Tensor(factors)).numpy(), wanted, rtol=1e-5)
    alone = np.zeros(40, np.float32)
    alone[2] = 1e30
    for factor in (1e-20, 1e-10):
        wanted = looped([np.float32(factor)], alone)
        np.testing.assert_allclose(Tensor(alone).linear_recurrence(factor).numpy(), wanted, rtol=1e-5)


FILTERS = [
    ([1.0], [1.0]),
    ([0.5, 0.25, 0.25], [2.0]),
    ([0.1], [1.0, -0.9]),
    ([1.0, 0.0, -1.0], [1.0, -1.8, 0.97]),
    ([0.2, 0.4, 0.2], [1.0, 0.0, -0.5]),
    ([0.2], [1.0, 0.0, 0.0, -0.5]),
    ([0.3, 0.1], [1.5, -0.9, 0.3, -0.1, 0.05]),
    ([0.3, 0.1], [1.0, -0.5, 0.2, -0.1, 0.05, -0.02, 0.01]),
    ([1.0], [1.0] + 16 * [0.01]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("b, a", FILTERS)
def test_filters(b, a, dtype):
    b, a = np.array(b, dtype), np.array(a, dtype)
    for n in SIZES:
        x = RANDOM.standard_normal((2, n)).astype(dtype)
        close(Tensor(x).lfilter(Tensor(b), Tensor(a)).numpy(), filtered(b, a, x), dtype)
        close(Tensor(x.T.copy()).lfilter(Tensor(b), Tensor(a), 0).numpy().T, filtered(b, a, x), dtype)


def test_filters_of_symbolic_length_and_of_16_bits():
    b, a = Tensor([0.2, 0.1]), Tensor([1.0, -0.7, 0.1])
    n = strata.Variable("n", 1, 100)
    x = RANDOM.standard_normal((2, 100)).astype(np.float32)
    for size in (1, 3, 16, 50, 100):
        found = Tensor(x)[:, : n.bind(size)].lfilter(b, a)
        close(found.numpy(), filtered([0.2, 0.1], [1.0, -0.7, 0.1], x[:, :size]), np.float32)
    half = RANDOM.standard_normal(40).astype(np.float16)
    found = Tensor(half).lfilter(b.half(), a.half())
    assert found.dtype == strata.float16
    wanted = filtered(np.float16([0.2, 0.1]), np.float16([1.0, -0.7, 0.1]), half)
    close(found.numpy().astype(np.float64), wanted, np.float16)


def test_cascades():
    sections = np.array([[1, 2, 1, 1, -1.6, 0.8], [0.5, 0, -0.5, 2.0, -0.3, 0.9], [1, -1, 0.5, 1, 0.1, 0.2]])
    x = RANDOM.standard_normal((3, 200))
    wanted = x
    for row in sections:
        wanted = filtered(row[:3], row[3:], wanted)
    close(Tensor(x).sosfilt(Tensor(sections)).numpy(), wanted, np.float64)
    close(strata.sosfilt(Tensor(x.T.copy()), sections, axis=0).numpy().T, wanted, np.float64)
    assert Tensor(x).sosfilt(Tensor(np.zeros((0, 6)))).numpy().tolist() == x.tolist()


def test_gradients_of_filters():
    def loss(x, b, a):
        return (Tensor(x).lfilter(b, a) * weights).sum()

    weights = Tensor(RANDOM.standard_normal((2, 37)))
    values = [RANDOM.standard_normal((2, 37)), np.array([0.4, -0.2, 0.1]), np.array([1.3, -0.8, 0.3, 0.1])]
    tensors = [Tensor(v).requires_grad_() for v in values]
    (tensors[0].lfilter(tensors[1], tensors[2]) * weights).sum().backward()
    for k, tensor in enumerate(tensors):
        found = tensor.grad.numpy()
        for at in list(np.ndindex(values[k].shape))[:: max(1, values[k].size // 6)]:
            moved = []
            for step in (1e-5, -1e-5):
                other = [v.copy() for v in values]
                other[k][at] += step
                moved.append(loss(*map(Tensor, other)).item())
            assert abs((moved[0] - moved[1]) / 2e-5 - found[at]) < 1e-6 * max(1, abs(found[at])), (k, at)


def test_wrong_use():
    x = Tensor(np.zeros((2, 4), np.float32))
    for call, message in [
        (lambda: x.lfilter(Tensor([]), Tensor([1.0])), r"\[lfilter\] `b` has shape \(0,\)"),
        (lambda: x.lfilter(Tensor([1.0]), Tensor([[1.0]])), r"\[lfilter\] `a` has shape \(1, 1\)"),
        (lambda: x.lfilter(Tensor([1.0]), Tensor(np.ones(18))), r"\[lfilter\] `a` has 18 coefficients, more than 17"),
        (lambda: x.lfilter(Tensor([1.0]), Tensor([1.0]), 2), r"\[lfilter\] axis 2 is outside"),
        (lambda: Tensor(1.0).lfilter(Tensor([1.0]), Tensor([1.0])), r"\[lfilter\]"),
        (lambda: x.sosfilt(Tensor(np.ones(6))), r"\[sosfilt\] sections of shape \(6,\)"),
    ]:
        with pytest.raises((ValueError, IndexError), match=message):
            call()


SLOW = [[1.99, -0.9901], [1.9999, -0.99990001], [1.8, -0.97], [2.7, -2.43, 0.729], [0.99999], [-0.9999]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factors", SLOW)
def test_slow_poles_are_about_as_exact_as_in_a_loop(factors, dtype):
    """A response to what is in front of a group goes into all later groups: its rounding would move the poles."""
    factors = [dtype(each) for each in factors]
    a = np.array([1] + [-each for each in factors], dtype)
    errors = []  # of the filter, of the recurrence and of the loop, as parts of the largest element
    for _ in range(7):
        x = RANDOM.standard_normal(3000).astype(dtype)
        exact = looped([np.asarray(each, np.longdouble) for each in factors], x.astype(np.longdouble))
        of_filter = Tensor(x).lfilter(Tensor(np.ones(1, dtype)), Tensor(a)).numpy()
        of_recurrence = of_filter
        if len(factors) == 1:
            of_recurrence = Tensor(x).linear_recurrence(Tensor(np.full(3000, factors[0], dtype))).numpy()
        errors.append([np.abs(found - exact).max() / np.abs(exact).max() for found in (of_filter, of_recurrence, looped(factors, x))])
    of_filter, of_recurrence, plain = np.mean(errors, 0)  # an error is a walk at random
    assert max(of_filter, of_recurrence) < 6 * plain + 8 * np.finfo(dtype).eps



def low_pass(order, cut):
    """A Butterworth filter of poles that lie close together: what groups in vectors are worst at."""
    w = 4 * np.tan(np.pi * cut / 2)
    places = w * np.exp(1j * np.pi * (2 * np.arange(1, order + 1) + order - 1) / (2 * order))
    poles = (4 + places) / (4 - places)
    b = np.real(w**order / np.prod(4 - places)) * np.poly(-np.ones(order))
    return b.astype(np.float32), np.real(np.poly(poles)).astype(np.float32)


@pytest.mark.parametrize("order, cut", [(4, 0.02), (4, 0.05), (3, 0.01), (3, 0.02), (2, 0.001), (2, 0.01), (2, 0.3), (1, 0.001)])
def test_low_passes_are_about_as_exact_as_in_a_loop(order, cut):
    b, a = low_pass(order, cut)
    x = (1 + 0.3 * RANDOM.standard_normal(3000)).astype(np.float32)
    exact = filtered(b.astype(np.float64), a.astype(np.float64), x)
    term = np.zeros_like(x)
    for k, each in enumerate(b):
        term[k:] += each * x[: len(x) - k]
    plain = np.abs(looped([-each for each in a[1:]], term) - exact).max()
    assert np.abs(Tensor(x).lfilter(Tensor(b), Tensor(a)).numpy() - exact).max() < 6 * plain + 1e-6


@pytest.mark.parametrize("place", range(16))
def test_what_follows_a_small_or_infinite_element_of_a_group(place):
    term, factors = np.zeros(64, np.float32), np.ones(64, np.float32)
    term[32 + place], factors[[33 + place, 34 + place]] = 1e30, 1e-30
    found = Tensor(term).linear_recurrence(Tensor(factors)).numpy()
    np.testing.assert_allclose(found, looped([factors], term), rtol=1e-5)
    term, factors = np.zeros(64, np.float32), np.ones(64, np.float32)
    term[0], factors[17 + place], factors[18 + place], term[20 + place] = 3e38, 100, 0, 1
    with np.errstate(all="ignore"):
        wanted = looped([factors], term)
    np.testing.assert_array_equal(Tensor(term).linear_recurrence(Tensor(factors)).numpy(), wanted)


def test_a_tiny_factor_beside_a_large_one():
    x = np.zeros(48, np.float32)
    x[14], x[15] = 1e38, -0.5e38
    for tiny in (1e-40, 1e-38, 1e-20):
        a = np.array([1, -0.5, -tiny], np.float32)
        found = Tensor(x).lfilter(Tensor([1.0]), Tensor(a)).numpy()
        np.testing.assert_allclose(found, looped([np.float32(0.5), np.float32(tiny)], x), rtol=1e-5)
