"""Sorting, selection and what is made of them, beside NumPy: dtypes, sizes, axes, views, devices, captures, exports."""
import os
import subprocess
import sys

import numpy as np
import pytest

import exported
import strata
from strata import Tensor

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
KINDS = ["random", "special", "few", "bits", "sorted", "reversed", "pipe", "equal"]
SIZES = [0, 1, 2, 3, 15, 16, 17, 24, 25, 63, 64, 65, 513, 1000, 1003]


def array(random, dtype, shape, kind):
    """Elements of a kind; NaNs have the bits that the dtype's own NaN has."""
    dtype, n = np.dtype(dtype), int(np.prod(shape))
    if dtype.kind == "f":
        x = random.standard_normal(n).astype(dtype)
        if kind == "special":
            x = random.choice(np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 2.5], dtype), n)
        if kind == "few":
            x = np.round(x)
        if kind == "bits":
            x = random.integers(0, 256, n * dtype.itemsize, dtype=np.uint8).view(dtype)
    elif dtype.kind == "b":
        x = random.integers(0, 2, n).astype(dtype)
    else:
        x = random.integers(0, 256, n * dtype.itemsize, dtype=np.uint8).view(dtype)
        if kind in ("few", "special"):
            x = (x % 3).astype(dtype)
    if kind in ("sorted", "reversed"):
        x = np.sort(x)[:: 1 if kind == "sorted" else -1].copy()
    if kind == "pipe":
        x = np.concatenate([np.sort(x[: n // 2]), np.sort(x[n // 2 :])[::-1]])
    if kind == "equal" and n > 0:
        x[:] = x[0]
    return x.reshape(shape)


def places(x, axis, descending=False):
    """The places in stable order: NaN is the largest, -0 equals 0."""
    keys = np.searchsorted(np.unique(x[~np.isnan(x)] if x.dtype.kind == "f" else x), x)
    if x.dtype.kind == "f":
        keys = np.where(np.isnan(x), x.size + 1, keys)
    return np.argsort(-keys if descending else keys, axis=axis, kind="stable")


def same(tensor, expected):
    """Equal bits, NaNs included."""
    got = tensor.numpy()
    assert got.shape == expected.shape and got.dtype == expected.dtype
    assert got.tobytes() == np.ascontiguousarray(expected).tobytes()


def check(x, tensor, axis, descending):
    order = places(x, axis, descending)
    same(tensor.argsort(axis, descending), order)
    same(tensor.sort(axis, descending).values, np.take_along_axis(x, order, axis))
    n = x.shape[axis]
    for k in sorted({0, min(n, 1), min(n, 10), n // 2}):
        values, indices = tensor.topk(k, axis, descending)
        first = np.take(order, range(k), axis)
        same(indices, first)
        same(values, np.take_along_axis(x, first, axis))
    if n > 0:
        k = n // 3
        one = np.take(places(x, axis), [k], axis)
        value, index = tensor.kthvalue(k + 1, axis, keepdim=True)
        same(index, one)
        same(value, np.take_along_axis(x, one, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_all_sizes(dtype):
    random = np.random.default_rng(1)
    for k, n in enumerate(SIZES):
        for rows in (1, 5, 18):
            x = array(random, dtype, (rows, n), KINDS[(k + rows) % len(KINDS)])
            check(x, Tensor(x), 1, (k + rows) % 2 == 1)


@pytest.mark.parametrize("device", ["INTERP", "CLANG", "LLVM"])
def test_axes_and_views(device):
    random = np.random.default_rng(2)
    for k in range(24 if device == "LLVM" else 12):
        dtype, kind = DTYPES[k % len(DTYPES)], KINDS[k % len(KINDS)]
        x = array(random, dtype, (3, 19, 17), kind)
        t = Tensor(x).to(device)
        views = [(x, t), (x.transpose(2, 0, 1), t.permute(2, 0, 1)), (x[:, ::-1], t.flip(1)), (x[1:, 2::3], t[1:, 2::3]),
                 (np.broadcast_to(x[:, :1], (3, 5, 17)), t[:, :1].expand(3, 5, 17)),
                 (np.pad(x, ((0, 0), (1, 2), (0, 0))), t.pad(((0, 0), (1, 2), (0, 0)))), (x.T, t.permute(2, 1, 0))]
        for j, (a, b) in enumerate(views):
            if device != "LLVM" and (j + k) % 7 != 0:  # CLANG takes long to compile
                continue
            check(a, b, (j + k) % 3 - 3, (j + k) % 2 == 1)


def test_long_rows():
    random = np.random.default_rng(3)
    for dtype in ("i2", "u4", "f4", "f8", "i8"):
        for n, kind in ((100_000, "random"), (300_001, "special"), (5000, "few")):
            x = array(random, dtype, (n,), kind)
            check(x, Tensor(x), 0, dtype == "f4")


def crowded(random, dtype, n, kind):
    """Rows whose keys are hard to tell apart by their first bits, or by a seventh of them."""
    limits = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    u, k = random.random(n), np.arange(n)
    if kind == "sevenths":  # each seventh is one number, the others are many, or the other way round
        x = np.where(k % 7 == 0, 1e6, 2e6 + 1000 * u)
    elif kind == "between":
        x = np.where(k % 7 == 0, 1e6 * u, 1e6)
    elif kind == "clumps":  # of close numbers, far apart
        x = np.exp2(random.integers(0, 5, n) * 6) + np.floor(100 * u)
    elif kind == "outliers":
        x = np.where(u < 3 / n, float(limits.max) / 4 * u, np.floor(1e5 * random.random(n)))
    elif kind == "exponents":
        x = np.exp2(random.integers(0, 31, n)) * (1 + u / 1e6)
    else:  # "teeth": short rows in order, one behind another
        x = k % 100 * 1e4
    return np.clip(x, 0, float(limits.max) / 2).astype(dtype)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_buckets(dtype):
    """Long rows: no distribution of keys is sorted wrongly, whatever buckets are chosen for it."""
    random = np.random.default_rng(11)
    for k, kind in enumerate(["sevenths", "between", "clumps", "outliers", "exponents", "teeth"] + KINDS):
        for n in (4095, 4096, 8192, 9001, 32_768, 120_000):
            x = crowded(random, dtype, n, kind) if kind not in KINDS else array(random, dtype, (n,), kind)
            if np.dtype(dtype).kind == "f" and k % 2 == 0:
                x[:: n // 9] = np.array([0, -0.0, np.nan], dtype)[random.integers(0, 3, x[:: n // 9].size)]
            descending = (k + n) % 2 == 1
            same(Tensor(x).sort(0, descending).values, x[places(x, 0, descending)])
        x = np.stack([x[:9001], x[:9001][::-1], np.roll(x[:9001], 9)], 1)  # rows of a step
        same(Tensor(x).sort(0).values, np.take_along_axis(x, places(x, 0), 0))


@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "i4", "f4", "f8"])
def test_few_of_many(dtype):
    """The first few, where they are close together, far apart, or equal to many others."""
    random = np.random.default_rng(12)
    for n in (511, 512, 513, 1003, 1025, 5000, 70_001):
        for j, kind in enumerate(KINDS):
            x = np.stack([array(random, dtype, (n,), kind), array(random, dtype, (n,), "random")])
            x[1, 3::256] = x[1].max()  # in one lane
            if j % 2 == 0:
                x[0, 5::32], x[0, -20:] = x[0].max(), x[0].min()
            for k in (1, 9, 16, 17, 64, 65):
                largest = (j + k) % 2 == 0
                first = places(x, 1, largest)[:, :k]
                for t in (Tensor(x), Tensor(np.repeat(x, 2, 1))[:, ::2], Tensor(x.T.copy()).permute(1, 0)):
                    values, indices = t.topk(k, 1, largest)
                    same(indices, first)
                    same(values, np.take_along_axis(x, first, 1))


def test_bfloat16():
    x = array(np.random.default_rng(4), "f4", (20, 300), "special")
    t = Tensor(x).cast(strata.bfloat16)
    order = places(t.cast(strata.float32).numpy(), 1)
    same(t.argsort(1), order)
    same(t.sort(1).values.cast(strata.float32), np.take_along_axis(t.cast(strata.float32).numpy(), order, 1))


def test_one_and_two_threads_agree():
    """Rows go to the threads of the executor; the program has as many as STRATA_THREADS says when it starts."""
    code = ("import numpy as np, strata, sys\n"
            "x = strata.Tensor(np.random.default_rng(5).standard_normal((333, 257)).astype('f4'))\n"
            "sys.stdout.buffer.write(x.sort(1).values.numpy().tobytes() + x.argsort(0).numpy().tobytes())")
    runs = [subprocess.run([sys.executable, "-c", code], env=os.environ | {"STRATA_THREADS": threads}, check=True,
                           capture_output=True).stdout for threads in ("1", "2")]
    assert runs[0] == runs[1] and len(runs[0]) == 333 * 257 * 12


def test_captures_replay_sorts():
    @strata.jit
    def step(x):
        values, indices = (x * 2).sort(0)
        return values + 1, indices, x.topk(3, 1).values, x.median(1).indices

    random = np.random.default_rng(6)
    for _ in range(4):
        x = array(random, "f4", (40, 30), "few")
        values, indices, largest, middle = step(Tensor(x))
        order = places(x, 0)
        same(values, np.take_along_axis(x, order, 0) * np.float32(2) + np.float32(1))
        same(indices, order)
        same(largest, np.take_along_axis(x, places(x, 1, True)[:, :3], 1))
        same(middle, places(x, 1)[:, 14])


def test_symbolic_sizes():
    n = strata.Variable("n", 0, 200)
    random = np.random.default_rng(7)
    whole = array(random, "f4", (200, 3), "few")
    for size in (0, 1, 17, 200):
        x = Tensor(whole)[: n.bind(size)]
        order = places(whole[:size], 0)
        same(x.argsort(0), order)
        same(x.sort(0).values, np.take_along_axis(whole[:size], order, 0))


def test_gradients_go_to_the_places():
    x = Tensor(np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], "f4"), requires_grad=True)
    values, _ = x.sort(1)
    (values * Tensor(np.array([1.0, 10.0, 100.0], "f4"))).sum().backward()
    assert x.grad.tolist() == [[100, 1, 10], [1, 100, 10]]


def test_in_loops():
    def step(state, row):
        values, _ = strata.cat([state, row]).topk(4, 0)
        return values, values.sort(0).values

    random = np.random.default_rng(8)
    rows = random.standard_normal((12, 5)).astype("f4")
    first = np.full(4, -10, "f4")
    last, each = strata.scan(step, Tensor(first), Tensor(rows))
    kept = first
    for k, row in enumerate(rows):
        kept = np.sort(np.concatenate([kept, row]))[::-1][:4]
        same(each[k], kept[::-1])
    same(last, kept)


def test_mode_unique_and_medians():
    random = np.random.default_rng(9)
    for n, m in ((1, 1), (7, 3), (200, 5)):
        x = random.integers(0, 4, (n, m)).astype("i4")
        values, inverse, counts = np.unique(x, axis=0, return_inverse=True, return_counts=True)
        got = Tensor(x).unique(return_inverse=True, return_counts=True, axis=0)
        assert [t.tolist() for t in got] == [values.tolist(), inverse.ravel().tolist(), counts.tolist()]
        value, index = Tensor(x).mode(0)
        for c in range(m):
            found, often = np.unique(x[:, c], return_counts=True)
            assert value.tolist()[c] == found[often.argmax()]
            assert index.tolist()[c] == np.nonzero(x[:, c] == value.tolist()[c])[0][-1]
    x = array(random, "f8", (6, 31), "special")
    value, index = Tensor(x).median(1)
    for row, v, k in zip(x, value.tolist(), index.tolist()):
        nans = np.isnan(row)
        assert (np.isnan(v) and k == nans.argmax()) if nans.any() else (v == np.sort(row)[15] and row[k] == v)


@exported.NEEDS_COMPILERS
def test_exports(tmp_path):
    """The exported file has the functions that sort, compiles without a warning, and computes the same bits."""
    random = np.random.default_rng(10)

    @strata.jit
    def sorts(x, y):
        values, indices = x.sort(1)
        middle = x.kthvalue(35, 1, keepdim=True).values
        return (values + 1, indices, x.topk(3, 0).indices, x.cast("f16").sort(0).values, x.flip(1).argsort(1), middle,
                x.cast("f64").sort(1).values, (x > 0).argsort(1), y.sort(0).values, y.argsort(0, True), y.topk(5, 0).indices)

    x = Tensor(array(random, "f4", (40, 70), "few"))
    with strata.flags(DETERMINISTIC=True):
        exported.call_twice(sorts, x, Tensor(array(random, "i4", (5000,), "random")))
        exported.check(sorts, tmp_path, "sorts", ("plain", "generic", "avx2"))


@exported.NEEDS_COMPILERS
def test_exports_of_symbolic_sizes(tmp_path):
    n = strata.Variable("n", 1, 300)
    random = np.random.default_rng(11)
    whole = array(random, "f4", (300, 7), "few")

    @strata.jit
    def sorts(x):
        return x.sort(0).values, x.topk(1, 0).indices

    for size in (250, 300, 299):
        sorts(Tensor(whole)[: n.bind(size)].contiguous())
    sorts.export_c(tmp_path / "symbolic", target="generic")
    model = exported.Library(tmp_path / "symbolic", sizes=1)
    for size in (1, 17, 299):
        values, indices = np.zeros((size, 7), "f4"), np.zeros((1, 7), "i8")
        assert model(np.ascontiguousarray(whole[:size]), values, indices, size) == 0
        order = places(whole[:size], 0)
        assert values.tobytes() == np.take_along_axis(whole[:size], order, 0).tobytes()
        assert indices.tolist() == places(whole[:size], 0, True)[:1].tolist()


def test_streams_along_another_axis():
    random = np.random.default_rng(12)
    example, x = (random.standard_normal((16, 7)).astype("f4") for _ in range(2))
    for f, expected in ((lambda q: q.sort(1).values, np.sort(x, 1)), (lambda q: q.argsort(1, True), places(x, 1, True))):
        same(strata.streaming(f, 0, Tensor(example))(Tensor(x)), expected)
    with pytest.raises(strata.DomainError, match="sorts the axis of positions"):
        strata.streaming(lambda q: q.sort(0).values, 0, Tensor(example))
