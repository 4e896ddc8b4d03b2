"""Reductions of segments by offsets, beside a loop over the segments."""
import re

import numpy as np
import pytest
import strata
from strata import Tensor

rng = np.random.default_rng(4)
OFFSETS = ([0, 3, 3, 7, 10], [2, 2, 5, 9], [0, 10], [4], [0, 0, 0], [10, 10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
NONE = {"sum": lambda d: 0, "mean": lambda d: np.nan, "max": lambda d: -np.inf if d.kind == "f" else np.iinfo(d).min, "min": lambda d: np.inf if d.kind == "f" else np.iinfo(d).max}


def looped(x, offsets, how, axis):
    x = np.moveaxis(x, axis, 0)
    out = [getattr(x[a:b], how)(0, dtype=x.dtype) if how == "sum" and b > a else getattr(x[a:b], how)(0) if b > a else np.full(x.shape[1:], NONE[how](x.dtype), x.dtype) for a, b in zip(offsets, offsets[1:])]
    return np.moveaxis(np.stack(out) if out else np.zeros((0, *x.shape[1:]), x.dtype), 0, axis)


@pytest.mark.parametrize("device", ["LLVM", "INTERP"])
@pytest.mark.parametrize("how", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8", "int8"])
def test_segments(device, how, dtype):
    if how == "mean" and not dtype.startswith("f"):
        with pytest.raises(strata.DomainError, match="has no mean"):
            Tensor(np.zeros(3, dtype)).segment_mean(Tensor([0, 3]))
        return
    with strata.flags(DEVICE=device):
        for offsets in OFFSETS:
            for shape, axis in (((10,), 0), ((10, 3), 0), ((4, 10), 1), ((2, 10, 3), -2)):
                x = (rng.standard_normal(shape) * 4).astype(dtype) if dtype[0] == "f" else rng.integers(0, 9, shape).astype(dtype)
                got = getattr(Tensor(x), "segment_" + how)(Tensor(np.array(offsets, "int32")), axis).numpy()
                want = looped(x.astype("float32") if dtype == "float16" else x, offsets, how, axis).astype(dtype)
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=2e-3 if dtype == "float16" else 1e-5, atol=2e-3 if dtype == "float16" else 1e-6)


def test_softmax_of_ragged_rows():
    for offsets in OFFSETS:
        x = (rng.standard_normal((10, 2)) * 30).astype("float32")
        want = np.zeros_like(x)
        for a, b in zip(offsets, offsets[1:]):
            if b > a:
                e = np.exp(x[a:b] - x[a:b].max(0))
                want[a:b] = e / e.sum(0)
        np.testing.assert_allclose(Tensor(x).segment_softmax(Tensor(offsets)).numpy(), want, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(Tensor(x.T.copy()).segment_softmax(Tensor(offsets), 1).numpy(), want.T, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("how", ["sum", "mean", "max", "softmax"])
def test_gradients_of_segments(how):
    offsets, x = [0, 2, 6, 9], rng.standard_normal((10, 2)).astype("float32")
    weights = rng.standard_normal((10 if how == "softmax" else 3, 2)).astype("float32")
    slope = strata.grad(lambda v: (getattr(v, "segment_" + how)(Tensor(offsets)) * weights).sum())(Tensor(x)).numpy()

    def one(v):
        parts = [v[a:b] for a, b in zip(offsets, offsets[1:])]
        made = [p.softmax(0) if how == "softmax" else getattr(p, how)(0) for p in parts]
        made = [m[0] if isinstance(m, tuple) else m for m in made]
        return ((strata.cat(made, 0) * weights[:9]) if how == "softmax" else strata.stack(made, 0) * weights).sum()

    np.testing.assert_allclose(slope, strata.grad(one)(Tensor(x)).numpy(), rtol=1e-4, atol=1e-5)


def test_offsets_of_a_capture():
    step = strata.jit(lambda x, offsets: (x.segment_sum(offsets), x.segment_max(offsets)))
    for k in range(4):
        x, offsets = rng.standard_normal((1000,)).astype("float32"), np.sort(rng.integers(0, 1001, 50))
        total, largest = step(Tensor(x), Tensor(offsets))
        np.testing.assert_allclose(total.numpy(), looped(x, offsets, "sum", 0), rtol=1e-4, atol=1e-4)
        assert np.array_equal(largest.numpy(), looped(x, offsets, "max", 0))
    assert step.replays == 2


def test_segments_of_symbolic_sizes():
    n = strata.Variable("n", 1, 20)
    x = rng.standard_normal(20).astype("float32")
    for count in (1, 7, 20):
        got = Tensor(x).realize()[: n.bind(count)].segment_sum(Tensor([0, count // 2, count])).numpy()
        np.testing.assert_allclose(got, looped(x[:count], [0, count // 2, count], "sum", 0), rtol=1e-5, atol=1e-6)


def test_wrong_offsets():
    x = Tensor(np.zeros((5, 2), "float32"))
    for offsets, error, words in (
        ([0, 3, 2], strata.ShapeError, "[segment_sum] offset 2 at 2 is below 3 in front of it: offsets do not fall"),
        ([0, 6], strata.ShapeError, "[segment_sum] offset 6 at 1 is outside of an axis of 5 elements"),
        ([-1, 2], strata.ShapeError, "[segment_sum] offset -1 at 0 is outside of an axis of 5 elements"),
        ([[0, 2]], strata.ShapeError, "[segment_sum] offsets of shape (1, 2): offsets are a vector"),
        (np.zeros(0, "int64"), strata.ShapeError, "[segment_sum] offsets of shape (0,): offsets are a vector"),
        ([0.0, 2.0], strata.DomainError, "[segment_sum] offsets of dtype f32: offsets are integers")):
        with pytest.raises(error, match=re.escape(words)):
            x.segment_sum(Tensor(offsets))
    with pytest.raises(strata.ShapeError, match="a scalar has no axis of segments"):
        Tensor(1.0).segment_sum(Tensor([0]))
