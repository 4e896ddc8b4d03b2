"""index_put() with reductions and the first occurrences of unique(), beside NumPy."""
import numpy as np
import pytest

import strata
from strata import Tensor

RANDOM = np.random.default_rng(19)
FOLD = {"sum": np.add.at, "prod": np.multiply.at, "amax": np.maximum.at, "amin": np.minimum.at}


def put(x, at, values, reduce):
    """The same by NumPy: each place with its values, one after another."""
    out = x.astype("f8")
    values = np.broadcast_to(values, out[at].shape).astype("f8")
    if reduce != "mean":
        FOLD[reduce](out, at, values)
        return out
    counts = np.ones(x.shape)
    np.add.at(out, at, values)
    np.add.at(counts, at, 1)
    return out / counts


@pytest.mark.parametrize("reduce, dtype", [(reduce, dtype) for reduce in [*FOLD, "mean"] for dtype in ["f4", "f8", "i4", "i8"]
                                           if reduce != "mean" or dtype[0] == "f"])
@pytest.mark.parametrize("device", ["INTERP", "LLVM"])
def test_index_put_reduces(reduce, dtype, device):
    x = RANDOM.integers(-4, 5, (4, 5, 3)).astype(dtype)
    rows, columns = RANDOM.integers(0, 4, 9), RANDOM.integers(-5, 5, 9)
    mask = RANDOM.integers(0, 2, (4, 5)).astype(bool)
    mask[0, 0] = True
    cases = [((rows, columns), RANDOM.integers(-3, 4, (9, 3))), ((slice(None), columns), RANDOM.integers(-3, 4, (9, 3))),
             ((rows,), np.array(2)), ((slice(1, 4), slice(0, 5, 2)), RANDOM.integers(-3, 4, (3, 3))), ((2,), np.array(3)),
             ((mask,), RANDOM.integers(-3, 4, (int(mask.sum()), 3))), ((mask,), np.array(2))]
    given = Tensor(x).to(device)
    for at, values in cases:
        values = values.astype(dtype)
        key = tuple(Tensor(k).to(device) if isinstance(k, np.ndarray) else k for k in at)
        y = given.index_put(key, Tensor(values).to(device), reduce=reduce)
        np.testing.assert_allclose(y.numpy().astype("f8"), put(x, at, values, reduce), rtol=1e-6, err_msg=f"{at}")
        assert y.dtype == given.dtype
    assert (given.numpy() == x).all()


def test_mean_of_integers():
    x, at, values = np.array([7, 1, -8], "i4"), np.array([0, 2, 2]), np.array([2, 3, 3], "i4")
    y = Tensor(x).index_put((Tensor(at),), Tensor(values), reduce="mean")
    assert y.tolist() == Tensor(x).scatter_reduce(0, Tensor(at), Tensor(values), "mean").tolist()


def test_gradients_of_a_reducing_index_put():
    x = Tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    v = Tensor(np.array([5.0, 7.0]), requires_grad=True)
    x.index_put((Tensor(np.array([0, 0])),), v, reduce="prod").sum().backward()
    assert x.grad.tolist() == [35.0, 1.0, 1.0] and v.grad.tolist() == [7.0, 5.0]


def test_a_reduction_has_to_agree():
    x = Tensor(np.zeros(3, "f4"))
    assert x.index_put((0,), 2, accumulate=True, reduce="sum").tolist() == [2, 0, 0]
    with pytest.raises(ValueError, match=r"\[index_put\] accumulate=True adds the values, and reduce asks"):
        x.index_put((0,), 2, accumulate=True, reduce="prod")
    with pytest.raises(ValueError, match=r"\[index_put\] reduce is 'max', not one of 'sum', 'prod', 'mean', 'amax', 'amin'"):
        x.index_put((0,), 2, reduce="max")


@pytest.mark.parametrize("device", ["INTERP", "LLVM"])
def test_unique_tells_the_first_occurrence(device):
    for shape, axis in [((40,), None), ((6, 7), None), ((30, 2), 0), ((2, 30), 1), ((0,), None)]:
        x = RANDOM.integers(0, 4, shape)
        got = Tensor(x).to(device).unique(return_index=True, return_inverse=True, return_counts=True, axis=axis)
        want = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        for ours, theirs in zip(got, want):
            assert ours.numpy().reshape(-1).tolist() == theirs.reshape(-1).tolist(), (shape, axis)
        values, first = Tensor(x).to(device).unique(return_index=True, axis=axis)
        assert first.tolist() == want[1].tolist() and first.dtype == strata.int64
    values, first = Tensor(np.array([3, 3, 1, 3, 3, 3])).to(device).unique_consecutive(return_index=True)
    assert values.tolist() == [3, 1, 3] and first.tolist() == [0, 2, 3]
