"""Random products with a matrix that lies across (A @ B^T), which are packed for a few rows: beside INTERP."""
import random

import numpy as np
import pytest

from strata import Tensor

SIZES = [1, 2, 3, 5, 8, 13, 16, 17, 24, 31, 32, 33, 48, 64, 100]
# Whole numbers, so that sums are exact in any order.
EXACT = ["float32", "float32", "float64", "int32", "int8"]
ROUNDED = ["float16", "bfloat16"]


def product(a, w, epilogue):
    if epilogue == "itself":
        return a @ a.transpose(-1, -2)
    if epilogue == "every second row":
        return a @ w[..., ::2, :].transpose(-1, -2)
    y = a @ w.transpose(-1, -2)
    return {"none": lambda: y, "relu": lambda: y.relu() + 1, "row sums": lambda: y + w.sum(-1).unsqueeze(-2)}[epilogue]()


@pytest.mark.parametrize("device, count", [("LLVM", 60), ("CLANG", 5), ("OPENCL", 5)])
def test_random_products(device, count):
    for seed in range(count):
        rng = random.Random(seed)
        m, n, k = (rng.choice(SIZES) for _ in range(3))
        batch = rng.choice([(), (), (2,), (3,)])
        dtype, epilogue = rng.choice(EXACT + ROUNDED), rng.choice(["none", "relu", "row sums", "itself", "every second row"])
        numbers = np.random.RandomState(seed)
        values = [numbers.randint(-4, 5, (*batch, rows, k)).astype("float32") for rows in (m, n)]
        got, expected = (
            product(*(Tensor(v, device=name).cast(dtype).realize() for v in values), epilogue).cast("float64").numpy()
            for name in (device, "INTERP")
        )
        most = 0 if dtype in EXACT else 0.03 * abs(expected).max()
        assert (abs(got - expected) <= most).all(), f"seed {seed}: {m} by {n} by {k}, {batch} {dtype} {epilogue}"
