"""Random tensors of both libraries, and which numbers are near enough to one another: for fuzz_torch.py.

A tensor is a line of a program, `make("float32", (2, 3), "normal", 17)`, so that what is printed can be run again. A float result is
looked at three times: as PyTorch computes it in the dtypes of the program, in f64 (`wide`), and, where its dtypes have 16 bits, in
f32, as PyTorch has few functions of those and rounds their sums in between.
"""
import numpy as np
import strata
import torch

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)
KINDS = ("small", "normal", "positive", "unit", "special", "wide")
LAYOUTS = ("rows", "columns", "every other", "backwards")

# A result of one operation: the relative error, and the error in units of what f32 (or f64) loses of the largest number there is.
RELATIVE = {"float16": 1.1e-3, "bfloat16": 8.5e-3, "float32": 2e-5, "float64": 1e-11}
ABSOLUTE = {"float16": 2e-5, "bfloat16": 2e-5, "float32": 1e-5, "float64": 1e-12}
SMALLEST = {"float16": 1.2e-7, "bfloat16": 2e-38, "float32": 2e-38, "float64": 1e-300}
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.79e308}
SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.0, 1e4, -1e4, 1e-4, 6e4, 1e30, -1e30, 1e-30, 88.0, -104.0)


def carrier(dtype):
    """NumPy's dtype that holds its values."""
    return "float32" if dtype == "bfloat16" else dtype


def numbers(dtype, shape, kind, seed):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, size=shape).astype(bool)
    if kind.startswith("below"):  # "below 5": indices
        return np.asarray(random.integers(0, int(kind.split()[1]), size=shape)).astype(dtype)
    if kind.startswith("distinct"):  # "distinct 5 1": indices below 5, each once along axis 1
        _, size, axis = kind.split()
        whole = random.permuted(np.broadcast_to(np.arange(int(size)), (*(n for k, n in enumerate(shape) if k != int(axis)), int(size))), axis=-1)
        return np.moveaxis(whole[..., : shape[int(axis)]], -1, int(axis)).astype(dtype) if shape else np.asarray(0, dtype)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        if kind in ("special", "wide"):
            edges = np.array([0, 1, 2, 7, info.max, info.min, info.max - 1, info.min + 1, info.max // 2], dtype)
            return np.asarray(edges[random.integers(0, len(edges), size=shape)], dtype)
        low, high = {"small": (-3, 4), "positive": (1, 7), "unit": (0, 2), "normal": (-9, 10)}[kind]
        return np.asarray(random.integers(max(low, info.min), high, size=shape)).astype(dtype)
    out = {
        "small": lambda: random.integers(-3, 4, size=shape), "normal": lambda: 2 * random.standard_normal(shape), "positive": lambda: random.uniform(0.1, 3, size=shape),
        "unit": lambda: random.uniform(-0.95, 0.95, size=shape), "special": lambda: np.asarray(SPECIAL)[random.integers(0, len(SPECIAL), size=shape)],
        "wide": lambda: 100 * random.standard_normal(shape)}[kind]()
    with np.errstate(over="ignore"):
        out = np.asarray(out).astype(carrier(dtype))
    return torch.from_numpy(np.atleast_1d(out)).bfloat16().float().numpy().reshape(out.shape) if dtype == "bfloat16" else out


def laid_out(values, layout):
    """The same array, in memory of another order."""
    if values.ndim == 0 or layout == "rows":
        return values.copy()
    if layout == "columns":
        return np.ascontiguousarray(values.T).T
    if layout == "every other":
        return np.repeat(values, 2, axis=-1)[..., ::2]
    return values[::-1].copy()[::-1]


class Ours:
    """Strata."""

    T, F = strata, strata.nn.functional

    @staticmethod
    def make(dtype, shape, kind, seed, layout="rows", grad=False):
        values = laid_out(numbers(dtype, shape, kind, seed), layout)
        out = strata.Tensor(values)
        out = out.cast(dtype) if dtype == "bfloat16" else out
        return out.requires_grad_() if grad else out


class Theirs:
    """PyTorch; floats are of the dtype that `floats` gives for each."""

    class Torch:
        def __init__(self, floats):
            self.floats = floats

        def __getattr__(self, name):
            return getattr(torch, self.floats.get(name, name))

    def __init__(self, floats=None):
        self.floats = floats or {}
        self.T, self.F = self.Torch(self.floats), torch.nn.functional

    def make(self, dtype, shape, kind, seed, layout="rows", grad=False):
        values = torch.tensor(numbers(dtype, shape, kind, seed))
        out = values.to(getattr(torch, self.floats.get(dtype, dtype)))
        return out.requires_grad_() if grad else out


NATIVE = Theirs()
SINGLE = Theirs({"float16": "float32", "bfloat16": "float32"})
WIDE = Theirs({name: "float64" for name in FLOATS})


def flat(result):
    if isinstance(result, (tuple, list)):
        return [v for part in result for v in flat(part)]
    return [result]


def dtype_of(v):
    if isinstance(v, (bool, np.bool_)):
        return "bool"
    if isinstance(v, (int, float)):
        return "int64" if isinstance(v, int) else "float64"
    return str(v.dtype).split(".")[-1] if isinstance(v, torch.Tensor) else str(v.dtype)


def array(v):
    """A result as an array: floats of 16 bits as f32."""
    if isinstance(v, (bool, int, float, np.ndarray)):
        return np.asarray(v)
    if isinstance(v, torch.Tensor):
        v = v.detach()
        return (v.float() if v.dtype in (torch.bfloat16, torch.float16) else v).numpy()
    v = v.detach()
    return np.asarray((v.cast("float32") if dtype_of(v) in ("bfloat16", "float16") else v).numpy())


def near(got, want, dtype, slack=1.0):
    """Where numbers are as near as one operation in `dtype` comes; `slack` times that far."""
    got, want = got.astype("float64"), want.astype("float64")
    with np.errstate(all="ignore"):
        finite = np.abs(want[np.isfinite(want)])
        scale = float(finite.max()) if finite.size else 0.0
        rough = RELATIVE[dtype] if slack > 1 and dtype in ("float16", "bfloat16") else 0.0  # slopes are made of rounded results
        bound = rough + slack * (RELATIVE[dtype] * np.abs(want) + ABSOLUTE[dtype] * min(max(scale, 1.0), 1e6) + SMALLEST[dtype])
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= bound)
        too_large = np.isinf(got) & (np.sign(got) == np.sign(want)) & (np.abs(want) >= LARGEST[dtype] * (1 - RELATIVE[dtype]))
    return same | too_large


def wrong_at(got, wants, slack=1.0, coarsest=None):
    """Where a result is none of what it may be: its shape's words, or the places. Of `wants` the first has the shape."""
    dtype, mine = dtype_of(got), array(got)
    if tuple(mine.shape) != tuple(array(wants[0]).shape):
        return f"shape {tuple(mine.shape)}, not {tuple(array(wants[0]).shape)}", []
    right = np.zeros(mine.shape, bool)
    for want in wants:
        other = array(want)
        if other.shape == mine.shape:
            right |= near(mine, other, coarsest or dtype, slack) if dtype in FLOATS else mine == other
    return "", [tuple(int(k) for k in at) for at in np.argwhere(~right)]


def coarser(a, b):
    order = ("float64", "float32", "float16", "bfloat16")
    return max((d for d in (a, b) if d in order), key=order.index, default=None)
