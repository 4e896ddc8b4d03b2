"""What the tests of export_c() share: compilers, models as shared objects, and comparisons bit by bit."""
import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import strata
from strata import Tensor

CLANG = shutil.which("clang-19") or shutil.which("clang")
GCC = shutil.which("gcc")
TCC = shutil.which("tcc")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off"]
AS_C = ["-std=c11"]
AS_CXX = ["-x", "c++", "-std=c++17"]
COMPILERS = [(c, o, s) for c, o, s in [(GCC, "-O2", AS_C), (CLANG, "-O0", AS_C), (GCC, "-O0", AS_CXX), (CLANG, "-O2", AS_CXX)] if c]
# What a compiled model may ask of others: the functions that compilers call for copies, and the compiler's own.
ALLOWED = re.compile(r"(memcpy|memset|memmove|memcmp|_GLOBAL_OFFSET_TABLE_|__aeabi_\w+|__(u)?div\w+|__(u)?mod\w+|__float\w+|__fix\w+"
                     r"|__stack_chk_fail|__extend\w+|__trunc\w+)$")

NEEDS_COMPILERS = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is here")


@pytest.fixture(autouse=True)
def deterministic():
    with strata.flags(DETERMINISTIC=True):
        yield


# A library that a sanitizer puts in front of Python is none of the programs that the tests make.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=ENVIRONMENT, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return done.stdout


def call_twice(f, *arguments):
    """Captures: the function runs in the first two calls."""
    f(*arguments)
    return f(*arguments)


def objects_of(path):
    """The kernels that LLVM compiled, where the model was exported so."""
    return [p for p in [f"{path}_kernels.o"] if Path(p).exists()]


def check(f, folder, name, targets=("plain", "generic"), **options):
    """Exports with a self test, which compares exactly, and runs it as each compiler makes it."""
    for target in targets:
        path = folder / f"{name}_{target if isinstance(target, str) else len(target)}"
        f.export_c(path, target=target, selftest=True, **options)
        files = [f"{path}.c", f"{path}_test.c"]
        for k, (compiler, level, language) in enumerate(COMPILERS):
            program = folder / f"{path.name}{k}"
            run(compiler, level, *language, *WARNINGS, *files, *(f"-Wl,{made}" for made in objects_of(path)), "-o", program)
            assert "worst difference 0\n" in run(program, cwd=folder)
        run(COMPILERS[0][0], *AS_C, "-O2", "-ffreestanding", "-c", f"{path}.c", "-o", f"{path}.o")
        for made in (f"{path}.o", *objects_of(path)):
            asked = [line.split()[-1] for line in run("nm", "-u", made).splitlines()]
            assert [s for s in asked if not ALLOWED.match(s) and not (objects_of(path) and s.startswith(f"{path.name}_k"))] == []
        if target == "plain" and TCC:
            run(TCC, "-Wall", "-Werror", "-c", f"{path}.c", "-o", f"{path}.tcc.o")
            run(COMPILERS[0][0], f"{path}_test.c", f"{path}.tcc.o", *objects_of(path), "-o", folder / "by_tcc")
            assert "worst difference 0\n" in run(folder / "by_tcc", cwd=folder)


def stack_of(path, name, *more):
    """The bytes of the stack that NAME_run() needs at most: frames as gcc states them, summed along the calls that it states. The
    callback for threads calls any function that runs a part of a loop."""
    run(GCC, "-O2", *AS_C, *more, "-fcallgraph-info=su", "-c", f"{path}.c", "-o", f"{path}.su.o")
    text = Path(f"{path}.su.ci").read_text() if Path(f"{path}.su.ci").exists() else Path(f"{path}.ci").read_text()
    frames, calls = {}, {}
    for title, label in re.findall(r'node: \{ title: "([^"]*)" label: "([^"]*)"', text):
        frame = re.search(r"(\d+) bytes \(([\w,]+)\)", label)
        assert frame is None or frame[2] in ("static", "dynamic,bounded"), label
        frames[title] = int(frame[1]) if frame else 0
    for source, target in re.findall(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"', text):
        calls.setdefault(source, set()).add(target)
    calls["__indirect_call"] = {f for f in frames if f.endswith("_part") or "_part." in f}

    depths = {}

    def depth(f, above=()):
        assert f not in above, f"{f} calls itself"
        if f not in depths:
            depths[f] = frames.get(f, 0) + max((depth(g, above + (f,)) for g in calls.get(f, ())), default=0)
        return depths[f]

    return depth(f"{name}_run")


class Library:
    """A model as a shared object. Arrays are passed by their addresses."""

    def __init__(self, path, sizes=0, state=False, weights=False):
        self.path, self.name = Path(path), Path(path).name
        shared = f"{path}.so"
        run(COMPILERS[0][0], "-O2", *AS_C, *WARNINGS, "-shared", "-fPIC", f"{path}.c", *objects_of(path), "-o", shared)
        self.library = ctypes.CDLL(shared)
        self.header = Path(f"{path}.h").read_text()
        self.run_ = getattr(self.library, f"{self.name}_run")
        bytes_of = getattr(self.library, f"{self.name}_arena_bytes")
        bytes_of.restype, bytes_of.argtypes = ctypes.c_size_t, [ctypes.c_int64] * sizes
        self.arena_bytes = bytes_of
        text = getattr(self.library, f"{self.name}_status_text")
        text.restype = ctypes.c_char_p
        self.text = lambda status: text(status).decode()

    def macro(self, word):
        return int(re.search(rf"#define {self.name.upper()}_{word} (\d+)", self.header)[1])

    @staticmethod
    def memory(count):
        whole = np.zeros(count + 64, "u1")
        return whole[-whole.ctypes.data % 64:][:count]

    @staticmethod
    def word(a):
        if a is None or isinstance(a, int):
            return ctypes.c_int64(a or 0)
        return ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a

    def __call__(self, *arguments, arena=None, arena_bytes=None, parallel=None):
        """The status."""
        arena = self.memory(self.macro("ARENA_BYTES") + 64) if arena is None else arena
        given = len(arena) if arena_bytes is None else arena_bytes
        words = [self.word(a) for a in arguments]
        return self.run_(*words, self.word(arena), ctypes.c_size_t(given), parallel, None)


def normal(rng, *shape):
    return Tensor((rng.standard_normal(shape) * 0.3).astype("f4"))


def make_mlp(rng, rows=4):
    w1, b1, w2 = normal(rng, 64, 32), normal(rng, 32), normal(rng, 32, 10)

    @strata.jit
    def mlp(x):
        return ((x @ w1 + b1).relu() @ w2).softmax(-1)

    x = normal(rng, rows, 64)
    return mlp, x, call_twice(mlp, x)


def gru(wx, wh, size):
    def step(h, x):
        gx, gh = x @ wx, h @ wh
        r, z = (gx[:, :size] + gh[:, :size]).sigmoid(), (gx[:, size:2 * size] + gh[:, size:2 * size]).sigmoid()
        h = (1 - z) * (gx[:, 2 * size:] + r * gh[:, 2 * size:]).tanh() + z * h
        return h, h
    return step


def make_symbolic(rng):
    n = strata.Variable("n", 1, 64)
    w, v, full = normal(rng, 16, 32), normal(rng, 32, 4), normal(rng, 64, 16)

    @strata.jit
    def symbolic(x):
        return ((x @ w).relu() @ v).softmax(-1), x.sum(0)

    rows = lambda k: full.shrink(((0, n.bind(k)), (0, 16))).contiguous()
    for k in (5, 7):
        symbolic(rows(k))
    return symbolic, rows


def steps_agree(f, folder, name, calls, sizes=0, **options):
    """Exports, and runs both side by side from the state of the export: each result is equal, bit by bit."""
    state = f.export_c(folder / name, **options)["state_bytes"]
    model = Library(folder / name, sizes=sizes)
    held = [model.memory(state)] if state else []
    if state:
        assert getattr(model.library, f"{name}_reset")(model.word(held[0])) == 0
    for arguments, values in calls:
        want = f(*arguments)
        want = [w.numpy() for w in (want if isinstance(want, tuple) else (want,))]
        got = [np.zeros(w.shape, w.dtype) for w in want]
        given = [np.ascontiguousarray(a.numpy()) for a in arguments if isinstance(a, Tensor)]
        assert model(*given, *got, *values, *held) == 0
        for g, w in zip(got, want):
            assert np.array_equal(g, w, equal_nan=True)
