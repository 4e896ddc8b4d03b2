"""searchsorted and bucketize in rows that are counted and in rows that are halved: beside NumPy, and with NaN as documented."""
import numpy as np
import pytest
import strata
from strata import Tensor

rng = np.random.default_rng(2)


def positions(row, v, right):
    """By the documented definition: the first element behind v in front of the NaNs; behind all where there is none."""
    behind = [(e > v if right else e >= v) for e in row]
    return behind.index(True) if any(behind) else len(row)


@pytest.mark.parametrize("device", ["LLVM", "INTERP"])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 65, 100, 127, 128, 129, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8", "uint8"])
def test_positions(device, n, dtype):
    with strata.flags(DEVICE=device):
        for right in (False, True):
            row = np.sort(rng.integers(-20, 20, n).astype(dtype) if dtype[0] != "u" else rng.integers(0, 20, n).astype(dtype))
            values = np.concatenate([rng.integers(0, 22, 30), [0, 25]]).astype(dtype).reshape(4, 8)
            if dtype[0] == "f":
                row[: n // 5] = -np.inf
                if n > 2:
                    row[-(n // 4) - 1 :] = np.nan
                values[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
            want = np.array([positions(row, v, right) for v in values.ravel()]).reshape(values.shape)
            assert np.array_equal(Tensor(row).searchsorted(Tensor(values), right).numpy(), want)
            assert np.array_equal(Tensor(values).bucketize(Tensor(row), right).numpy(), want)
            rows = np.stack([row, np.roll(row, 0), np.sort(row)])
            got = Tensor(rows).searchsorted(Tensor(values[:3]), right).numpy()
            assert np.array_equal(got, [[positions(r, v, right) for v in vs] for r, vs in zip(rows, values[:3])])


def test_other_dtypes_and_shapes():
    row = np.sort(rng.standard_normal(500)).astype("float32")
    for values in (np.float32(0.25), rng.integers(-2, 3, (2, 3, 4)), np.zeros((0, 3), "float32"), rng.standard_normal(7).astype("float64")):
        assert np.array_equal(Tensor(row).searchsorted(Tensor(values)).numpy(), np.searchsorted(row.astype("float64"), values))
    assert Tensor(np.arange(100)).searchsorted(Tensor([2.5, 200.0, float("nan")])).tolist() == [3, 100, 100]
    assert Tensor(np.zeros(0, "float32")).searchsorted(Tensor([1.0])).tolist() == [0]


def test_many_values_in_a_long_row():
    row, values = np.sort(rng.standard_normal(100_003)), rng.standard_normal(50_000)
    assert np.array_equal(Tensor(row).searchsorted(Tensor(values)).numpy(), np.searchsorted(row, values))


def test_a_symbolic_row():
    n = strata.Variable("n", 1, 300)
    row, values = np.sort(rng.standard_normal(300)).astype("float32"), rng.standard_normal(20).astype("float32")
    for count in (1, 70, 255, 256, 300):
        got = Tensor(row).realize()[: n.bind(count)].searchsorted(Tensor(values)).numpy()
        assert np.array_equal(got, np.searchsorted(row[:count], values))


def test_in_a_capture():
    step = strata.jit(lambda row, values: row.searchsorted(values, True))
    for _ in range(4):
        row, values = np.sort(rng.integers(0, 50, 200)), rng.integers(0, 50, 30)
        assert np.array_equal(step(Tensor(row), Tensor(values)).numpy(), np.searchsorted(row, values, "right"))
    assert step.replays == 2
