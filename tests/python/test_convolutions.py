"""Random convolutions, whose loads are packed into scratch memory: forward and gradients on devices that compile, beside INTERP."""
import random

import numpy as np
import pytest

import strata
from strata import Tensor

# Whole numbers, so that sums are exact in any order.
EXACT = ["float32", "float64", "int32", "int8", "uint8"]
ROUNDED = ["float16", "bfloat16"]


def random_case(seed):
    rng = random.Random(seed)
    rank = rng.choice([1, 2, 2, 2, 3])
    groups = rng.choice([1, 1, 1, 2, 4])
    kernel = [rng.choice([1, 2, 3, 3, 5]) for _ in range(rank)]
    options = {"stride": rng.choice([1, 1, 2, 3]), "padding": rng.choice([0, 1, 2]), "dilation": rng.choice([1, 1, 2]), "groups": groups}
    inputs, outputs = groups * rng.choice([1, 3, 4, 9, 16, 17]), groups * rng.choice([1, 5, 8, 16, 32, 33, 40])
    sizes = []
    for k in kernel:
        least = max((k - 1) * options["dilation"] + 1 - 2 * options["padding"], 1)
        sizes.append(least + rng.randrange({1: 60, 2: 20, 3: 8}[rank]))
    numbers = np.random.RandomState(seed)
    x = numbers.randint(-4, 5, (rng.choice([1, 1, 2, 3]), inputs, *sizes)).astype("float32")
    w = numbers.randint(-3, 4, (outputs, inputs // groups, *kernel)).astype("float32")
    return x, w, options, rng.choice(EXACT + ROUNDED)


def convolved(x, w, options):
    return {3: x.conv1d, 4: x.conv2d, 5: x.conv3d}[len(x.shape)](w, **options)


def forward(case, device):
    x, w, options, dtype = case
    if dtype == "uint8":
        x, w = abs(x), abs(w)
    y = convolved(Tensor(x, device=device).cast(dtype), Tensor(w, device=device).cast(dtype), options)
    return (y.relu() + 1).cast("float64").numpy()


def gradients(case, device):
    x, w, options, _ = case
    leaves = [Tensor(v, device=device, requires_grad=True) for v in (x, w)]
    y = convolved(*leaves, options)
    weights = np.random.RandomState(1).randint(-2, 3, y.shape).astype("float32")
    (y * Tensor(weights, device=device)).sum().backward()
    return [leaf.grad.numpy() for leaf in leaves]


@pytest.mark.parametrize("device, count", [("LLVM", 40), ("CLANG", 4), ("OPENCL", 6)])
def test_random_convolutions(device, count):
    for seed in range(count):
        case = random_case(seed)
        got, expected = forward(case, device), forward(case, "INTERP")
        most = 0 if case[3] in EXACT else 0.02 * abs(expected).max()
        assert (abs(got - expected) <= most).all(), f"seed {seed}: {case[0].shape} {case[1].shape} {case[2]} {case[3]}"


@pytest.mark.parametrize("device, count", [("LLVM", 25), ("CLANG", 2)])
def test_gradients_of_random_convolutions(device, count):
    for seed in range(1000, 1000 + count):
        case = random_case(seed)
        for got, expected in zip(gradients(case, device), gradients(case, "INTERP")):
            assert (got == expected).all(), f"seed {seed}: {case[0].shape} {case[1].shape} {case[2]}"


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("kernel, padding, dilation", [(1, 0, 1), (3, 0, 1), (3, 1, 1), (3, 2, 2), (2, 1, 1), (3, 4, 1), (5, 2, 1), (7, 0, 1)])
def test_the_gradient_by_the_image_is_the_transposed_convolution(groups, kernel, padding, dilation):
    rng = np.random.default_rng(kernel * 100 + groups)
    size = (9, 10) if kernel < 7 else (7, 8)  # 7: an output that is much smaller than the image
    x = strata.tensor(rng.integers(-3, 4, (2, 4, *size)).astype(np.float32), requires_grad=True)
    w = strata.tensor(rng.integers(-3, 4, (8, 4 // groups, kernel, kernel)).astype(np.float32), requires_grad=True)
    y = strata.conv2d(x, w, padding=padding, dilation=dilation, groups=groups)
    dy = strata.tensor(rng.integers(-3, 4, tuple(y.shape)).astype(np.float32))
    dx, dw = strata.gradients(y, [x, w], dy)
    expected = strata.conv_transpose2d(dy, w.detach(), padding=padding, dilation=dilation, groups=groups)
    assert np.array_equal(dx.numpy(), expected.numpy())
    # Both are linear in dy, x and w: sum(dx * u) is sum(y(u) * dy), and so are its gradients.
    u = strata.tensor(rng.integers(-3, 4, tuple(x.shape)).astype(np.float32))
    (by_w,) = strata.gradients((dx * u).sum(), [w])
    (same,) = strata.gradients((strata.conv2d(u, w, padding=padding, dilation=dilation, groups=groups) * dy).sum(), [w])
    assert np.array_equal(by_w.numpy(), same.numpy())
    assert dw.shape == w.shape
