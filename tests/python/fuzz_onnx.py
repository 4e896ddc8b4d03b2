"""Random functions of tensors, written by to_onnx() and read back by strata.onnx.load(): the values must be the same.

    python3 tests/python/fuzz_onnx.py --count 2000 --seed 1

Integers and bools are compared exactly. Floats are compared within `ULPS` steps of the dtype, or within that part of the largest
element; the dtype is a smaller one where an operation that ONNX says by others (`SAID_BY_OTHERS`) was computed in it on the way. Inputs
have other elements than those with which the function was captured."""
import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

import strata
from strata import Tensor

FLOATS = ["f32", "f32", "f32", "f64", "f16", "bf16"]
INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
EPSILON = {"f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f32": 2.0 ** -23, "f64": 2.0 ** -52}
ULPS = 64
SAID_BY_OTHERS = re.compile(r"\.(exp2|expm1|log2|log10|log1p|logsigmoid|silu|mish|tanhshrink|atan2)\(")
BATCH = strata.Variable("batch", 1, 6)


def dtype_of(x):
    return str(x.dtype).replace("dtypes.", "")


SHORT = {"float": "f32", "double": "f64", "half": "f16", "bfloat16": "bf16", "char": "i8", "short": "i16", "int": "i32", "long": "i64",
         "uchar": "u8", "ushort": "u16", "uint": "u32", "ulong": "u64", "bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64"}


def short(x):
    name = dtype_of(x)
    return SHORT.get(name, name)


def random_input(rng, shape, dtype):
    numbers = np.random.default_rng(rng.randrange(2 ** 32))
    if dtype in EPSILON:
        x = numbers.standard_normal(shape) * rng.choice([1, 1, 3])
        if rng.random() < 0.1:
            x = np.where(numbers.random(shape) < 0.2, rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan]), x)
        return Tensor(np.asarray(x, np.float64)).cast(dtype).realize()
    if dtype == "bool":
        return Tensor(np.asarray(numbers.random(shape) < 0.5))
    low = 0 if dtype[0] == "u" else -20
    return Tensor(np.asarray(numbers.integers(low, 20, shape), np.int64)).cast(dtype).realize()


class Program:
    """A random function: a list of steps, each of which makes a tensor of earlier ones."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        rng = self.rng
        sizes = [rng.choice([1, 2, 3, 4, 5, 0]) if rng.random() < 0.1 else rng.choice([2, 3, 4, 5]) for _ in range(3)]
        rank = rng.choice([0, 1, 2, 2, 3, 3])
        self.inputs = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            shape = tuple(rng.choice([s, s, s, 1]) for s in sizes[:rank])
            self.inputs.append((shape, rng.choice(FLOATS + INTS[:4] + INTS[rng.randrange(8):][:2] + ["bool"])))
        self.outside = random_input(rng, tuple(sizes[:rank]), rng.choice(["f32", "i32"]))
        self.steps = rng.randint(1, 8)
        # A symbolic batch: the first dimension of the inputs.
        self.is_symbolic = rank > 0 and rng.random() < 0.25
        if self.is_symbolic:
            self.inputs = [((6,) + shape[1:], dtype) for shape, dtype in self.inputs]
            self.outside = random_input(rng, tuple(sizes[1:rank]), rng.choice(["f32", "i32"]))
        self.seed = seed
        self.choices = rng.randrange(2 ** 32)
        self.text = []

    def values(self, rng, batch=3):
        out = [random_input(rng, shape, dtype) for shape, dtype in self.inputs]
        return [x[:BATCH.bind(batch)] for x in out] if self.is_symbolic else out

    def __call__(self, *inputs):
        rng = random.Random(self.choices)
        pool = list(inputs) + [self.outside]
        self.text = []
        tries = 0
        while len(self.text) < self.steps and tries < 60:
            tries += 1
            try:
                text, y = step(rng, pool)
            except (strata.Error, TypeError, ValueError):  # what does not fit, also symbolic sizes where numbers are needed
                continue
            if not self.is_symbolic and y.numel() > 4096:
                continue
            self.text.append(f"t{len(pool)} = {text}: {short(y)}{tuple(map(str, y.shape))}")
            pool.append(y)
        count = rng.choice([1, 1, 2, 3])
        # Also inputs as outputs, and one tensor as several.
        made = pool[len(inputs):] if rng.random() < 0.8 else pool
        places = [rng.choice(range(len(pool))[-len(made):][-3:]) for _ in range(count)]
        self.outputs = places + ([len(pool) - 1] if rng.random() < 0.3 else [])
        return tuple(pool[k] for k in self.outputs)

    def epsilon(self, k):
        """The largest step of the dtypes in which what ONNX says by others was computed on the way to a tensor of the pool."""
        before = len(self.inputs) + 1
        if k < before:
            return 0
        step, _, type_text = self.text[k - before].partition(" = ")[2].rpartition(": ")
        own = EPSILON.get(type_text.partition("(")[0], 0) if SAID_BY_OTHERS.search(step) else 0
        return max([own] + [self.epsilon(int(j)) for j in re.findall(r"\bt(\d+)", step)])


UNARY = ("neg abs sign square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
         "atanh erf floor ceil round trunc frac relu relu6 sigmoid logsigmoid silu mish hardsigmoid hardswish softsign tanhshrink isnan "
         "isinf isfinite logical_not bitwise_not positive").split()
BINARY = ("add sub mul div floor_divide trunc_divide fmod remainder pow maximum minimum fmax fmin atan2 hypot lt le gt ge eq ne logical_and logical_or "
          "logical_xor").split()
REDUCE = "sum prod max min mean any all argmax argmin var logsumexp".split()


def step(rng, pool):
    k = rng.randrange(len(pool))
    x = pool[k]
    rank = len(x.shape)
    axis = rng.randrange(rank) if rank else 0
    kind = rng.random()
    if kind < 0.2:
        name = rng.choice(UNARY)
        return f"t{k}.{name}()", getattr(x, name)()
    if kind < 0.4:
        name = rng.choice(BINARY)
        j = rng.randrange(len(pool))
        if rng.random() < 0.3:
            number = rng.choice([2, 3, -1, 0, 0.5, 7])
            return f"t{k}.{name}({number})", getattr(x, name)(number)
        return f"t{k}.{name}(t{j})", getattr(x, name)(pool[j])
    if kind < 0.52:
        name = rng.choice(REDUCE)
        keep = rng.random() < 0.5
        if not rank:
            return f"t{k}.{name}()", getattr(x, name)()
        return f"t{k}.{name}({axis}, {keep})", getattr(x, name)(axis, keepdim=keep)
    if kind < 0.72:
        return movement(rng, x, k, rank, axis)
    if kind < 0.8:
        to = rng.choice(FLOATS + INTS + ["bool"])
        if x.dtype.is_float if hasattr(x.dtype, "is_float") else short(x) in EPSILON:
            if to not in EPSILON and to != "bool":
                return f"clip(t{k}).cast({to})", x.isfinite().where(x, 0).clip(-100 if to[0] != "u" else 0, 100).cast(to)
        return f"t{k}.cast({to})", x.cast(to)
    if kind < 0.86:
        j, i = rng.randrange(len(pool)), rng.randrange(len(pool))
        return f"where(t{i} > 0, t{k}, t{j})", (pool[i] > 0).where(x, pool[j])
    if kind < 0.92:
        j = rng.randrange(len(pool))
        return f"t{k}.matmul(t{j}^)", x.matmul(pool[j].transpose(-1, -2) if len(pool[j].shape) > 1 else pool[j])
    return special(rng, x, k, rank, axis)


def movement(rng, x, k, rank, axis):
    what = rng.randrange(10)
    n = x.shape[axis] if rank else 1
    if what == 0:
        return f"t{k}.flatten()", x.flatten()
    if what == 1:
        order = list(range(rank))
        rng.shuffle(order)
        return f"t{k}.permute({order})", x.permute(order)
    if what == 2:
        at = rng.randint(0, rank)
        return f"t{k}.unsqueeze({at})", x.unsqueeze(at)
    if what == 3:
        return f"t{k}.flip({axis})", x.flip(axis)
    if what == 4:
        pads = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(rank)]
        return f"t{k}.pad({pads})", x.pad(pads)
    if what == 5:
        step_by = rng.choice([1, 2, -1, -2])
        return f"t{k}[::{step_by}]", x[::step_by]
    if what == 6:
        begin = rng.randint(0, max(int(n) - 1, 0))
        return f"t{k}[{begin}:]", x[begin:]
    if what == 7:
        times = rng.randint(1, 3)
        return f"t{k}.expand", x.unsqueeze(0).expand([times] + [int(s) for s in x.shape])
    if what == 8:
        return f"cat([t{k}, t{k}], {axis})", strata.cat([x, x], axis)
    return f"t{k}.roll(1, {axis})", x.roll(1, axis)


def special(rng, x, k, rank, axis):
    if not rank:
        return f"t{k}.reshape(1)", x.reshape(1)
    what = rng.randrange(10)
    if what == 0:
        return f"t{k}.cumsum({axis})", x.cumsum(axis)
    if what == 1:
        return f"t{k}.softmax({axis})", x.softmax(axis)
    if what == 2:
        descending = rng.random() < 0.5
        return f"t{k}.sort({axis}, {descending})[0]", x.sort(axis, descending)[0]
    if what == 3:
        return f"t{k}.argsort({axis})", x.argsort(axis)
    if what == 4:
        index = Tensor([0, -1, 0])
        return f"t{k}.index_select({axis}, [0, -1, 0])", x.index_select(axis, index)
    if what == 5:
        index = (x.argsort(axis) + 1).remainder(int(x.shape[axis]))
        return f"t{k}.gather({axis}, ...)", x.gather(axis, index)
    if what == 6:
        index = Tensor([0, 1]).reshape([2] + [1] * (rank - 1)).expand([2] + [int(s) for s in x.shape[1:]])
        return f"t{k}.scatter_add(0, [0, 1], t{k})", x.scatter_add(0, index, x[:2])
    if what == 7:
        return f"t{k}.cummax({axis})", x.cummax(axis)[0]
    if what == 8:
        return f"t{k}.tril()", x.tril()
    return f"scan of t{k}", strata.scan(lambda s, e: ((s[0] + e[0],), (s[0] * 2,)), (x[0] * 0,), (x,))[1][0]


def plain(x):
    """The elements without symbolic sizes."""
    return Tensor(x.cast("f64").numpy()).cast(short(x)) if short(x) in EPSILON else Tensor(x.numpy())


def differs(a, b, epsilon):
    """What is wrong between two tensors; None where they agree."""
    if tuple(a.shape) != tuple(b.shape) or short(a) != short(b):
        return f"{short(a)}{tuple(a.shape)} instead of {short(b)}{tuple(b.shape)}"
    dtype = short(a)
    if dtype not in EPSILON:
        x, y = a.numpy(), b.numpy()
        return None if (x == y).all() else f"{x.tolist()} instead of {y.tolist()}"
    epsilon = max(epsilon, EPSILON[dtype])
    x, y = a.cast("f64").numpy(), b.cast("f64").numpy()
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        finite = np.isfinite(x) & np.isfinite(y)
        scale = np.abs(y[finite]).max() if finite.any() else 0
        near = finite & (np.abs(x - y) <= ULPS * epsilon * np.maximum(scale, np.abs(y)))
    return None if (same | near).all() else f"{x.tolist()} instead of {y.tolist()}"


class Outcome:
    def __init__(self):
        self.compared, self.symbolic, self.refused, self.failures, self.reasons = 0, 0, 0, [], {}


def fuzz(count, seed, verbose=False):
    out = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.onnx"
        for k in range(count):
            try_one(seed + k, path, out, verbose)
    print(f"fuzz_onnx: seed {seed}, {out.compared} functions compared, {out.symbolic} of them of a symbolic size, {out.refused} refused, {len(out.failures)} failed")
    return out


def try_one(seed, path, out, verbose=False):
    program = Program(seed)
    rng = random.Random(seed ^ 0x5eed)
    f = strata.jit(program)
    try:
        for batch in (2, 3, 3):
            f(*program.values(rng, batch))
        given = program.values(rng, 5)
        expected = f(*given)
        for y in expected:
            y.realize()
    except strata.Error as error:
        out.reasons[f"run: {str(error)[:60]}"] = out.reasons.get(f"run: {str(error)[:60]}", 0) + 1
        return
    names = [f"in{k}" for k in range(len(given))]
    try:
        f.to_onnx(path, inputs=names)
    except strata.Error as error:
        assert "cannot have" in str(error) or (program.is_symbolic and "alone" in str(error)), error
        out.refused += 1
        for line in str(error).splitlines()[1:]:
            out.reasons[line[:70]] = out.reasons.get(line[:70], 0) + 1
        return
    try:
        if program.is_symbolic:  # a file's inputs have numbers for sizes
            given, expected = [plain(x) for x in given], [plain(y) for y in expected]
        got = strata.onnx.load(path)(dict(zip(names, given)))
        got = list(got.values()) if isinstance(got, dict) else [got]
        wrong = [(k, differs(a, b, program.epsilon(place))) for k, (a, b, place) in enumerate(zip(got, expected, program.outputs))]
        wrong = [f"output {k}: {text}" for k, text in wrong if text]
        assert len(got) == len(expected)
    except (strata.Error, RuntimeError) as error:
        wrong = [str(error)]
    out.compared += 1
    out.symbolic += program.is_symbolic
    if wrong:
        out.failures.append(seed)
        print(f"fuzz_onnx: seed {seed}\n  inputs {program.inputs}\n  " + "\n  ".join(program.text + [w[:600] for w in wrong]))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--device", default=None)
    arguments.add_argument("--reasons", action="store_true")
    given = arguments.parse_args()
    if given.device:
        strata.Device.DEFAULT = given.device
    outcome = fuzz(given.count, given.seed)
    if given.reasons:
        for reason, times in sorted(outcome.reasons.items(), key=lambda r: -r[1]):
            print(f"{times:6} {reason}")
    print(f"{outcome.compared - len(outcome.failures)} passed, {len(outcome.failures)} failed")
    sys.exit(1 if outcome.failures or outcome.compared < given.count // 3 else 0)
