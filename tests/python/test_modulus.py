"""What is left of a division of floats: C's fmod, exact for every quotient, the same bits on every device; `%` as PyTorch has it."""
import math

import numpy as np
import pytest
import strata

try:
    import torch
except ImportError:
    torch = None

COUNT = 1 << 20
BITS = {"float16": np.uint16, "float32": np.uint32, "float64": np.uint64}
DEVICES = [d.name for d in strata.Device.list() if not d.missing and d.name in ("LLVM", "CLANG", "OPENCL", "INTERP")]


def specials(dtype):
    f = np.finfo(dtype)
    one = np.array(1, dtype)
    least, small = np.array(f.smallest_subnormal, dtype), np.array(f.tiny, dtype)
    up = [0, 0.5, 1, 2, 3, 7, 10, np.inf, np.nan, f.max, least, least * dtype(3), small, np.nextafter(small, 0 * one), np.nextafter(small, one),
          np.nextafter(one, 2 * one), np.nextafter(one, 0 * one), np.sqrt(f.max)]
    each = np.array([v for x in up for v in (x, -x)], dtype)
    return np.repeat(each, each.size), np.tile(each, each.size)


def pairs(dtype, count):
    """Of all bit patterns; quotients of every size; near whole quotients; all special values crossed."""
    random = np.random.default_rng(7)
    bits = BITS[np.dtype(dtype).name]

    def any_of(n):
        return random.integers(0, np.iinfo(bits).max, size=n, dtype=bits, endpoint=True).view(dtype)

    quarter = count // 4
    with np.errstate(all="ignore"):
        y = any_of(quarter)
        whole = (y * random.integers(0, 2000, size=quarter)).astype(dtype)
        near = np.nextafter(whole, np.array(np.inf, dtype))
        subnormal = (any_of(quarter).view(bits) & bits((1 << np.finfo(dtype).nmant) - 1)).view(dtype)
    a, b = specials(dtype)
    return np.concatenate([any_of(2 * quarter), whole, near[: quarter // 2], any_of(quarter - quarter // 2), a]), np.concatenate(
        [any_of(quarter), subnormal, y, y[: quarter // 2], any_of(quarter - quarter // 2), b])


def same(found, expected):
    bits = BITS[expected.dtype.name]
    wrong = (found.view(bits) != expected.view(bits)) & ~(np.isnan(found) & np.isnan(expected))
    return np.flatnonzero(wrong)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fmod_is_exact(dtype, device):
    a, b = pairs(dtype, COUNT if device in ("LLVM", "CLANG") else COUNT // 16)
    # The wider type has the same one: it is exact there, and rounds to nothing here.
    with np.errstate(all="ignore"):
        expected = np.fmod(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    x, y = (strata.from_numpy(v).to(device) for v in (a, b))
    found = x.fmod(y).numpy()
    wrong = same(found, expected)
    assert wrong.size == 0, [(a[k], b[k], found[k], expected[k]) for k in wrong[:5]]
    with np.errstate(all="ignore"):
        expected = np.where((expected != 0) & ((expected < 0) != (b < 0)), expected + b, expected)
    wrong = same((x % y).numpy(), expected)
    assert wrong.size == 0, [(a[k], b[k]) for k in wrong[:5]]
    if torch is not None and dtype != np.float16:  # PyTorch's own loses long quotients
        is_short = ~(np.abs(a.astype(np.float64)) > np.abs(b.astype(np.float64)) * 1000)
        wrong = np.flatnonzero(is_short[same(expected, (torch.from_numpy(a) % torch.from_numpy(b)).numpy())])
        assert wrong.size == 0


@pytest.mark.parametrize("device", DEVICES)
def test_fmod_of_bfloat16(device):
    a, b = pairs(np.float32, COUNT // 8)
    x, y = (strata.from_numpy(v).to(device).cast("bfloat16") for v in (a, b))
    with np.errstate(all="ignore"):
        expected = np.fmod(x.float().numpy(), y.float().numpy())
    found = x.fmod(y)
    assert found.dtype == strata.bfloat16
    assert same(found.float().numpy(), expected).size == 0


def test_quotients_beyond_the_significand():
    assert strata.tensor([1e20]).fmod(3).item() == math.fmod(float(np.float32(1e20)), 3)
    big = strata.tensor([1e300, -1e300], dtype="float64")
    assert big.fmod(3).tolist() == [math.fmod(1e300, 3), math.fmod(-1e300, 3)]
    assert (big % 7.1).tolist() == [1e300 % 7.1, -1e300 % 7.1]
    x = strata.rand(1000, dtype="float64") * 1e18
    assert bool(((x % 0.7).ge(0) & (x % 0.7).lt(0.7)).all())


def test_slopes():
    a, b = (strata.tensor(v, dtype="float64", requires_grad=True) for v in ([7.5, -7.5, 1e18], [2.0, 2.0, 3.0]))
    (a.fmod(b) * strata.tensor([1.0, 10.0, 100.0], dtype="float64")).sum().backward()
    assert a.grad.tolist() == [1, 10, 100] and b.grad.tolist() == [-3, 30, -100 * float(10**18 // 3)]
