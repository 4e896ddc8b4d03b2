"""Gradients of running extremes and of scattered extremes of 16-bit floats: those of f32, rounded once."""
import numpy as np
import pytest
import strata
from strata import Tensor

rng = np.random.default_rng(8)
INDEX = rng.integers(0, 3, (6, 4))
FUNCTIONS = {
    "cummax": lambda x: x.cummax(0).values, "cummin": lambda x: x.cummin(1).values, "logcumsumexp": lambda x: x.logcumsumexp(0), "cumprod": lambda x: x.cumprod(0), "cumsum": lambda x: x.cumsum(1),
    "scatter_reduce amax": lambda x: (x[:3] * 1).scatter_reduce(0, Tensor(INDEX), x, "amax"), "index_reduce amin": lambda x: (x[:3] * 1).index_reduce(0, Tensor(INDEX[:, 0].copy()), x, "amin"),
    "scatter_add": lambda x: (x[:3] * 1).scatter_add(0, Tensor(INDEX), x), "index_add": lambda x: (x[:3] * 1).index_add(0, Tensor(INDEX[:, 0].copy()), x), "scatter": lambda x: (x[:3] * 1).scatter(0, Tensor(INDEX), x),
    "segment_sum": lambda x: x.segment_sum(Tensor([0, 2, 6])), "segment_max": lambda x: x.segment_max(Tensor([0, 2, 6])), "segment_softmax": lambda x: x.segment_softmax(Tensor([0, 2, 6])),
    "sort": lambda x: x.sort(0).values, "topk": lambda x: x.topk(2, 0).values, "median": lambda x: x.median(0).values, "amax": lambda x: x.amax(1), "linear_recurrence": lambda x: x.linear_recurrence(x, 0)}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes(name, dtype):
    values = Tensor(rng.uniform(0.5, 1.5, (6, 4)).astype("float32")).cast(dtype).float().numpy()
    weights = rng.integers(-2, 3, FUNCTIONS[name](Tensor(values)).shape).astype("float32")
    slopes = []
    for of in (dtype, "float32"):
        x = Tensor(values).cast(of).detach().requires_grad_()
        (FUNCTIONS[name](x) * Tensor(weights).cast(of)).sum().backward()
        assert str(x.grad.dtype) == of
        slopes.append(x.grad.float().numpy())
    assert np.abs(slopes[0] - slopes[1]).max() <= 0.03 * max(1, np.abs(slopes[1]).max())
