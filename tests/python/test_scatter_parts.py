"""Sums of very long rows into few places: the parts of a row have tables of their own, which threads share."""
import numpy as np
import pytest

from strata import Tensor

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("count, places", [((1 << 17) - 1, 7), (1 << 17, 7), ((1 << 17) + 3, 100), (150_001, 1000), (200_000, 2)])
def test_sums_of_parts(dtype, count, places):
    index = RANDOM.integers(-places, places, count)
    is_float = np.issubdtype(dtype, np.floating)
    values = RANDOM.standard_normal(count).astype(dtype) if is_float else RANDOM.integers(0, 50, count).astype(dtype)
    target = (RANDOM.standard_normal(places) * 100).astype(dtype)
    wanted = target.astype(np.float64 if is_float else dtype)
    np.add.at(wanted, index, values.astype(wanted.dtype))
    found = Tensor(target).index_add(0, Tensor(index), Tensor(values)).numpy()
    assert found.dtype == dtype
    if is_float:
        largest = np.abs(values).sum() * (2e-6 if dtype == np.float32 else 1e-14)
        assert np.abs(found - wanted).max() < largest
    else:
        np.testing.assert_array_equal(found, wanted)


def test_devices_agree():
    count, places = (1 << 17) + 5, 11
    index, values = RANDOM.integers(0, places, count), RANDOM.standard_normal(count).astype(np.float32)
    target = RANDOM.standard_normal(places).astype(np.float32)

    def on(device):
        parts = [Tensor(a).to(device) for a in (target, index, values)]
        return parts[0].scatter_add(0, parts[1], parts[2]).numpy()

    np.testing.assert_allclose(on("LLVM"), on("INTERP"), rtol=0, atol=2e-6 * np.abs(values).sum())


def test_counts_and_gradients():
    count, places = 1 << 18, 50
    index = RANDOM.integers(0, places, count)
    np.testing.assert_array_equal(Tensor(index).bincount(minlength=places).numpy(), np.bincount(index, minlength=places))
    values = Tensor(RANDOM.standard_normal(count).astype(np.float32)).requires_grad_()
    weights = Tensor(RANDOM.standard_normal(places).astype(np.float32))
    (Tensor(np.zeros(places, np.float32)).scatter_add(0, Tensor(index), values) * weights).sum().backward()
    np.testing.assert_array_equal(values.grad.numpy(), weights.numpy()[index])
