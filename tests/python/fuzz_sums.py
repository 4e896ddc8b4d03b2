"""Reductions of 100,000 elements, of each dtype, against f64 (or what integers are exactly), within the bounds of docs/accuracy.md,
docs/tensors.md and strata/ir/sum_order.h: for fuzz_torch.py."""
import math
import random

import numpy as np
import strata
from fuzz_values import DTYPES, FLOATS, LAYOUTS, Ours, dtype_of, numbers

COUNT = 100_000
SHAPES = ((COUNT,), (1000, 100), (10, 10_000), (2, 50_000), (25, 40, 100), (COUNT, 1), (50_000, 2))
UNIT = {"float16": 2.0**-24, "bfloat16": 2.0**-24, "float32": 2.0**-24, "float64": 2.0**-53}  # of what is added up in
LAST = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}  # of the result
SMALLEST = {"float16": 2.0**-25, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 0.0}
LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.4e38, "float64": 1.7e308}
NAMES = ("sum", "mean", "prod", "var", "std", "norm", "max", "min", "amax", "amin", "argmax", "argmin", "any", "all", "count_nonzero", "cumsum", "logsumexp", "nansum", "nanmean", "dot", "matmul", "aminmax")
OF_FLOATS = {"mean", "var", "std", "norm", "logsumexp", "nanmean"}


def longest_chain(n):
    return 64 + math.log2(max(n, 1))


def truth(name, x, axis):
    """What it is in f64, or exactly, and how far a result may be from it, as a function of the result's dtype."""
    n = x.size if axis is None else x.shape[axis]
    size = np.abs(x).sum(axis=axis) if name != "cumsum" else np.abs(x).cumsum(axis=axis)
    added = lambda d: longest_chain(n) * UNIT[d] * size
    if name in ("sum", "nansum"):
        return x.sum(axis=axis), added
    if name in ("mean", "nanmean"):
        return x.mean(axis=axis), lambda d: added(d) / n
    if name == "cumsum":
        return x.cumsum(axis=axis), added
    if name == "prod":
        out = x.prod(axis=axis)
        return out, lambda d: 1.01 * n * UNIT[d] * np.abs(out)
    if name in ("var", "std"):
        out = getattr(x, name)(axis=axis, ddof=1)
        return out, lambda d: 1e-5 * out
    if name == "norm":
        out = np.sqrt((x * x).sum(axis=axis))
        return out, lambda d: longest_chain(n) * UNIT[d] * out
    top = x.max(axis=axis, keepdims=True)
    out = np.squeeze(top + np.log(np.exp(x - top).sum(axis=axis, keepdims=True)), axis=axis) if axis is not None else (top + np.log(np.exp(x - top).sum())).reshape(())
    return out, lambda d: (longest_chain(n) + 4) * UNIT[d] + 4 * UNIT[d] * np.abs(out)


def exact(name, x, axis):
    f = {"max": np.max, "amax": np.max, "min": np.min, "amin": np.min, "argmax": np.argmax, "argmin": np.argmin, "any": np.any, "all": np.all,
         "count_nonzero": lambda a, axis: np.count_nonzero(a, axis=axis)}[name]
    return np.asarray(f(x, axis=axis))


def is_right(got, want, bound, dtype):
    """Within the bound, and then rounded once."""
    with np.errstate(all="ignore"):
        may = bound + LAST[dtype] * np.abs(want) * 1.01 + SMALLEST[dtype]
        beyond = np.isinf(got) & (np.abs(want) + may >= LARGEST[dtype])
        return (np.abs(got - want) <= may) | beyond | (np.isnan(got) & np.isnan(want))


def check_sum(seed, fail, counts):
    """One reduction; `fail(text)` where it is wrong."""
    choose = random.Random(seed)
    dtype, name, shape, layout = choose.choice(DTYPES), choose.choice(NAMES), choose.choice(SHAPES), choose.choice(LAYOUTS)
    if name in OF_FLOATS and dtype not in FLOATS:
        dtype = choose.choice(FLOATS)
    kind = choose.choice(("normal", "positive", "unit", "small"))
    axis = choose.choice((None, *range(len(shape)))) if name not in ("cumsum",) else choose.randrange(len(shape))
    if name == "aminmax":
        name = "amax"
    where = f"make({dtype!r}, {shape}, {kind!r}, {seed % 1000}, layout={layout!r})"
    x, values = Ours.make(dtype, shape, kind, seed % 1000, layout), numbers(dtype, shape, kind, seed % 1000)
    counts[f"sums of {dtype}"] += 1
    if name == "prod" and dtype in FLOATS:  # around 1, as it would be 0 or infinite
        x, values = product_of_ones(dtype, shape, seed)
        where = f"a product around 1, {dtype}, {shape}, {seed}"
    if name in ("dot", "matmul"):
        return check_product(dtype, kind, seed, fail)
    out = getattr(x, name)() if axis is None else getattr(x, name)(axes=axis)
    text = f"{where}.{name}({'' if axis is None else f'axes={axis}'})"
    got = out.cast("float32").numpy() if dtype_of(out) in ("float16", "bfloat16") else out.numpy()
    wide = values.astype("float64") if dtype in FLOATS else values
    if name in ("max", "min", "amax", "amin", "argmax", "argmin", "any", "all", "count_nonzero"):
        want = exact(name, wide, axis)
        right = got == want
    elif dtype not in FLOATS:
        with np.errstate(over="ignore"):
            want = np.asarray({"sum": np.sum, "nansum": np.sum, "prod": np.prod, "cumsum": np.cumsum}[name](values.astype("int64"), axis=axis))
        right = got == want
        if dtype_of(out) != "int64":
            return fail(f"{text} is of {dtype_of(out)}")
    else:
        want, bound = truth(name, wide, axis)
        right = is_right(got.astype("float64"), want, bound(dtype), dtype)
        if dtype_of(out) != dtype:
            return fail(f"{text} is of {dtype_of(out)}")
    if got.shape != want.shape:
        return fail(f"{text} has the shape {got.shape}, not {want.shape}")
    if not np.all(right):
        at = tuple(int(k) for k in np.argwhere(~np.atleast_1d(right))[0])
        return fail(f"{text}: {np.sum(~np.atleast_1d(right))} of {np.size(right)}: at {at} it is {np.atleast_1d(got)[at]!r}, not {np.atleast_1d(want)[at]!r}")


def product_of_ones(dtype, shape, seed):
    """Factors whose product neither vanishes nor overflows, and what they are in the dtype."""
    values = 1 + np.random.default_rng(seed).normal(size=shape) * (4 / math.sqrt(COUNT))
    x = strata.Tensor(values).cast(dtype)
    return x, x.cast("float64").numpy()


def check_product(dtype, kind, seed, fail):
    if dtype == "bool":
        dtype = "int32"
    a, b = Ours.make(dtype, (3, COUNT // 10), kind, seed % 1000), Ours.make(dtype, (COUNT // 10, 2), kind, seed % 997)
    x, y = numbers(dtype, (3, COUNT // 10), kind, seed % 1000), numbers(dtype, (COUNT // 10, 2), kind, seed % 997)
    out = a @ b
    text = f"make({dtype!r}, {a.shape}, {kind!r}, {seed % 1000}) @ make({dtype!r}, {b.shape}, {kind!r}, {seed % 997})"
    if dtype not in FLOATS:
        with np.errstate(over="ignore"):
            want = x @ y  # wraps in the dtype
        if not np.array_equal(out.numpy(), want):
            fail(f"{text}: {out.tolist()}, not {want.tolist()}")
        return
    got = out.cast("float64").numpy()
    x, y = x.astype("float64"), y.astype("float64")
    bound = (longest_chain(x.shape[1]) + 1) * UNIT[dtype] * (np.abs(x) @ np.abs(y))
    if not np.all(is_right(got, x @ y, bound, dtype)):
        fail(f"{text}: {got.tolist()}, not {(x @ y).tolist()}")
