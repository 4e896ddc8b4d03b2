"""Rows whose lengths are no multiple of a vector: what is left over is computed in shorter vectors, in all dtypes."""

import numpy as np
import pytest

from strata import Tensor

LENGTHS = (17, 20, 24, 31, 40, 47, 63, 66, 79, 100, 104, 127, 136, 200, 259)
FUNCTIONS = {
    "softmax": (lambda x: x.softmax(1), lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)),
    "logsumexp": (lambda x: x.logsumexp(1), lambda x: np.log(np.exp(x).sum(1))),
    "centred": (lambda x: x - x.mean(1, keepdim=True), lambda x: x - x.mean(1, keepdims=True)),
    "scaled by the largest": (lambda x: (x / x.abs().max(1, keepdim=True)).exp(), lambda x: np.exp(x / np.abs(x).max(1, keepdims=True))),
    "columns": (lambda x: (x.T.softmax(1) * 2).exp(), lambda x: np.exp(2 * np.exp(x.T) / np.exp(x.T).sum(1, keepdims=True))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype,bound", [("float16", 4e-3), ("float32", 2e-6), ("float64", 1e-13)])
def test_ends_of_rows(name, dtype, bound):
    function, expected = FUNCTIONS[name]
    for length in LENGTHS:
        x = np.random.default_rng(length).normal(0, 1, (20000 // length, length)).astype(dtype)
        y, wanted = function(Tensor(x)).numpy(), expected(x.astype("float64"))
        assert y.shape == wanted.shape
        np.testing.assert_allclose(y.astype("float64"), wanted, rtol=bound, atol=bound, err_msg=f"{name} of rows of {length}")
