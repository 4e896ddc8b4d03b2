"""cat and stack of many and of large pieces along any axis: beside NumPy, with gradients, captured, in the order of the parts."""
import numpy as np
import pytest
import strata
from strata import Tensor

rng = np.random.default_rng(11)
SHAPES = [(1100, 1003), (3, 700, 600), (20, 5, 7), (1 << 21,)]


@pytest.mark.parametrize("device", ["LLVM", "INTERP"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "int64"])
def test_many_pieces(device, dtype):
    with strata.flags(DEVICE=device):
        for axis in (0, 1, 2, -1):
            parts = [(rng.standard_normal((3, 4, 5)) * 3).astype(dtype) for _ in range(40)]
            parts = [p if k % 3 else np.take(p, range(k % 4), axis) for k, p in enumerate(parts)]
            for made in (lambda t: t, lambda t: t.contiguous() if t.dtype == "bool" else t * 1, lambda t: t.flip(0)):
                want = np.concatenate([np.flip(p, 0) if made(Tensor([1.0, 2.0])).tolist() == [2.0, 1.0] else p for p in parts], axis)
                assert np.array_equal(strata.cat([made(Tensor(p)) for p in parts], axis).numpy(), want)


@pytest.mark.parametrize("shape", SHAPES)
def test_large_pieces(shape):
    a, b = (rng.standard_normal(shape).astype("float32") for _ in range(2))
    for axis in range(len(shape)):
        x, y = Tensor(a).realize(), Tensor(b).realize()
        assert np.array_equal(strata.cat([x, y * 2], axis).numpy(), np.concatenate([a, b * 2], axis))
        assert np.array_equal(strata.cat([x, y], axis).numpy(), np.concatenate([a, b], axis))
        assert np.array_equal(strata.stack([x, y], axis).numpy(), np.stack([a, b], axis))


def test_gradients_of_pieces():
    for axis in (0, 1, 2):
        xs = [Tensor(rng.standard_normal((2, 3, 4)).astype("float32")).requires_grad_() for _ in range(20)]
        weights = rng.standard_normal(np.concatenate([x.numpy() for x in xs], axis).shape).astype("float32")
        (strata.cat([x * 2 for x in xs], axis) * weights).sum().backward()
        for x, w in zip(xs, np.split(weights, 20, axis)):
            np.testing.assert_allclose(x.grad.numpy(), 2 * w, rtol=1e-6)


def test_pieces_in_a_capture():
    step = strata.jit(lambda x, w: strata.cat([x @ w, x, x + 1] * 8, 1).sum(0))
    for k in range(4):
        x, w = (rng.standard_normal((5, 5)).astype("float32") for _ in range(2))
        np.testing.assert_allclose(step(Tensor(x), Tensor(w)).numpy(), np.concatenate([x @ w, x, x + 1] * 8, 1).sum(0), rtol=1e-4, atol=1e-5)
    assert step.replays == 2


def test_a_part_that_changes_later():
    x = Tensor(np.zeros((20, 50), "float32")).realize()
    y = strata.cat([x] * 20, 1).realize()
    x += 1
    x.realize()
    assert y.numpy().sum() == 0 and strata.cat([x] * 20, 1).numpy().sum() == 20 * 1000
