"""export_c(): captured functions as C files, compiled with all warnings as errors by gcc and clang, as C and as C++, run in another
process, and compared bit by bit with the results in this one."""
import ctypes
import itertools
import shutil
import subprocess
import threading

import numpy as np
import pytest

import strata
from exported import (ALLOWED, AS_C, CLANG, COMPILERS, ENVIRONMENT, NEEDS_COMPILERS, WARNINGS, Library, call_twice, check, deterministic,
                      make_mlp, make_symbolic, normal, run)
from strata import Tensor

pytestmark = NEEDS_COMPILERS


def test_mlp(tmp_path):
    mlp, x, y = make_mlp(np.random.default_rng(1))
    check(mlp, tmp_path, "mlp", ("plain", "generic", "avx2", "avx512"))
    model = Library(tmp_path / "mlp_plain")
    out = np.zeros((4, 10), "f4")
    assert model(np.ascontiguousarray(x.numpy()), out) == 0
    assert np.array_equal(out, y.numpy())
    assert "const float *x" in model.header


def test_convolutions(tmp_path):
    rng = np.random.default_rng(2)
    k1, k2, w = normal(rng, 8, 1, 3, 3), normal(rng, 16, 8, 3, 3), normal(rng, 256, 10)

    @strata.jit
    def net(x):
        h = x.conv2d(k1, padding=1).relu().max_pool2d(2)
        return h.conv2d(k2, padding=1).relu().max_pool2d(2).flatten(1) @ w

    call_twice(net, normal(rng, 2, 1, 16, 16))
    check(net, tmp_path, "net")


def test_dtypes_and_functions(tmp_path):
    rng = np.random.default_rng(5)

    @strata.jit
    def mixed(a, b, c):
        return (a.cast("f16").exp() * 2, (b // 3 + b % 5).max(0), c.logical_not(), a.sqrt().floor(), a.sin().round(),
                (a > 0).sum(), a.cast("bf16").sum(1), (b << 2) ^ b, a.argmax(1), a.cast("f64").log().sqrt().ceil(),
                a.cast("i8").cast("i16"), a.cast("f16").sum(1), b.cast("u8").cast("f16"), a.atan2(a + 1), a.erf())

    call_twice(mixed, normal(rng, 6, 7) * 10, Tensor(rng.integers(-20, 20, (6, 7)).astype("i4")),
               Tensor(rng.integers(0, 2, (6, 7)).astype(bool)))
    check(mixed, tmp_path, "mixed", ("plain", "generic", "avx2"))


def test_roots_and_roundings_without_instructions(tmp_path):
    """Each helper on random bits, as a compiler without a square root runs it."""
    rng = np.random.default_rng(6)
    for dtype, bits in (("f4", "u4"), ("f8", "u8")):
        special = np.array([0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, np.inf, -np.inf, np.nan, 2**23 - 0.5, 2**52 - 0.5, 1e-45, 1e-310], dtype)
        random = rng.integers(0, 2 ** (8 * int(dtype[1])), 20000, dtype=bits).view(dtype)
        near = (rng.standard_normal(20000) * 1000).astype(dtype)
        halves = (rng.integers(-5000, 5000, 10000) / 2).astype(dtype)
        values = np.concatenate([special, random, near, halves])

        @strata.jit
        def all_of(x):
            return x.sqrt(), x.floor(), x.ceil(), x.trunc(), x.round()

        x = Tensor(values)
        call_twice(all_of, x)
        path = tmp_path / f"all_{dtype}"
        all_of.export_c(path, target="plain")
        shared = f"{path}.so"
        run(COMPILERS[0][0], "-O1", *AS_C, "-D__TINYC__", "-shared", "-fPIC", f"{path}.c", "-o", shared)
        outs = [np.zeros_like(values) for _ in range(5)]
        arguments = [ctypes.c_void_p(a.ctypes.data) for a in [values, *outs]]
        assert getattr(ctypes.CDLL(shared), f"all_{dtype}_run")(*arguments, None, ctypes.c_size_t(0), None, None) == 0
        with np.errstate(all="ignore"):
            for got, want in zip(outs, [np.sqrt(values), np.floor(values), np.ceil(values), np.trunc(values), np.rint(values)]):
                same = (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))
                assert same.all(), (values[~same][:5], got[~same][:5], want[~same][:5])


def test_halves(tmp_path):
    """All f16, widened and narrowed, by our own code."""
    every = np.arange(1 << 16, dtype="u2").view("f2")
    wide = np.concatenate([every.astype("f4"), np.random.default_rng(7).integers(0, 1 << 32, 50000, dtype="u4").view("f4")])

    @strata.jit
    def both(h, f):
        return h.cast("f32"), f.cast("f16")

    call_twice(both, Tensor(every), Tensor(wide))
    both.export_c(tmp_path / "both", target="plain")
    a, b = np.zeros(every.shape, "f4"), np.zeros(wide.shape, "f2")
    assert Library(tmp_path / "both")(every, wide, a, b) == 0
    with np.errstate(all="ignore"):
        assert np.array_equal(a, every.astype("f4"), equal_nan=True) and np.array_equal(b, wide.astype("f2"), equal_nan=True)


def test_symbolic_batch(tmp_path):
    symbolic, rows = make_symbolic(np.random.default_rng(10))
    check(symbolic, tmp_path, "symbolic")
    model = Library(tmp_path / "symbolic_generic", sizes=1)
    assert model.arena_bytes(0) == 0 and model.arena_bytes(65) == 0
    assert model.arena_bytes(1) < model.arena_bytes(64) <= model.macro("ARENA_BYTES")
    for k in (1, 2, 3, 16, 63, 64):
        x = np.ascontiguousarray(rows(k).numpy())
        y, total = np.zeros((k, 4), "f4"), np.zeros(16, "f4")
        arena = model.memory(model.arena_bytes(k))
        assert model(x, y, total, k, arena=arena) == 0
        want = symbolic(rows(k))
        assert np.array_equal(y, want[0].numpy()) and np.array_equal(total, want[1].numpy())


class Argument(ctypes.Structure):
    _fields_ = [(n, ctypes.c_char_p) for n in ("name", "kind", "dtype", "shape")] + [("most", ctypes.c_int64), ("least", ctypes.c_int64)]


def test_table_of_arguments(tmp_path):
    symbolic, _ = make_symbolic(np.random.default_rng(17))
    symbolic.export_c(tmp_path / "symbolic", outputs=["scores", "total"])
    model = Library(tmp_path / "symbolic", sizes=1)
    table = (Argument * model.macro("ARGUMENTS")).in_dll(model.library, "symbolic_arguments")
    rows = [(*[getattr(a, n).decode() for n in ("name", "kind", "dtype", "shape")], a.most, a.least) for a in table]
    assert rows == [("x", "in", "f32", "[n, 16]", 1024, 0), ("scores", "out", "f32", "[n, 4]", 256, 0), ("total", "out", "f32", "[16]", 16, 0),
                    ("n", "size", "i64", "[]", 64, 1)]


def test_each_status(tmp_path):
    symbolic, rows = make_symbolic(np.random.default_rng(11))
    symbolic.export_c(tmp_path / "symbolic", weights="pointer")
    model = Library(tmp_path / "symbolic", sizes=1)
    weights = model.memory(model.macro("WEIGHTS_BYTES"))
    weights[:] = np.fromfile(tmp_path / "symbolic.bin", "u1")
    check_weights = model.library.symbolic_check_weights
    assert check_weights(model.word(weights)) == 0
    x, y, total, n = np.ascontiguousarray(rows(4).numpy()), np.zeros((4, 4), "f4"), np.full(16, 7, "f4"), 4
    assert model(None, y, total, n, weights) == 1 and model(x, None, total, n, weights) == 1
    assert model(x, y, total, n, None) == 1
    assert model.run_(*[model.word(a) for a in (x, y, total, n, weights)], None, ctypes.c_size_t(1 << 20), None, None) == 1
    assert model(x, y, total, 0, weights) == 2 and model(x, y, total, 65, weights) == 2
    odd = np.zeros(4 * 16 * 4 + 1, "u1")[1:]
    assert model(odd, y, total, n, weights) == 3
    arena = model.memory(model.macro("ARENA_BYTES") + 64)
    assert model(x, y, total, n, weights, arena=arena[4:]) == 3
    assert model(x, y, total, n, weights, arena=arena, arena_bytes=model.arena_bytes(4) - 1) == 4
    assert (y == 0).all() and (total == 7).all()  # nothing is written
    assert model(x, y, total, n, weights, arena=arena, arena_bytes=model.arena_bytes(4)) == 0
    assert np.array_equal(y, symbolic(rows(4))[0].numpy())
    weights[3] ^= 1
    assert check_weights(model.word(weights)) == 5
    texts = [model.text(k) for k in range(6)]
    assert len(set(texts)) == 6 and texts[0] == "no error" and model.text(77) == "an unknown status"


def test_two_models_in_one_program(tmp_path):
    for name, seed in (("one", 12), ("two", 13)):
        f, x, _ = make_mlp(np.random.default_rng(seed))
        f.export_c(tmp_path / name, selftest=True)
        test = (tmp_path / f"{name}_test.c").read_text()
        (tmp_path / f"{name}_test.c").write_text(test.replace("int main(void)", f"int {name}_main(void);\nint {name}_main(void)"))
    (tmp_path / "main.c").write_text("int one_main(void);\nint two_main(void);\nint main(void) { return one_main() + two_main(); }\n")
    run(COMPILERS[0][0], *AS_C, *[tmp_path / f for f in ("one.c", "two.c", "one_test.c", "two_test.c", "main.c")], "-o", tmp_path / "both")
    assert run(tmp_path / "both").count("worst difference 0\n") == 2


def test_same_bytes_twice(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        f, _, _ = make_mlp(np.random.default_rng(14))
        f.export_c(tmp_path / folder / "model", lines=False)
    for ending in (".h", ".c"):
        assert (tmp_path / f"a/model{ending}").read_bytes() == (tmp_path / f"b/model{ending}").read_bytes()
    assert "exported.py" not in (tmp_path / "a/model.c").read_text()
    f.export_c(tmp_path / "lines")
    assert (tmp_path / "lines.c").read_text().count("written at exported.py:") == 3


BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, BODY, ctypes.c_void_p)


def test_threads_of_the_caller(tmp_path):
    rng = np.random.default_rng(15)
    w = normal(rng, 256, 256)

    @strata.jit
    def wide(x):
        return (x @ w).relu().softmax(-1)

    x = normal(rng, 256, 256)
    want = call_twice(wide, x).numpy()
    wide.export_c(tmp_path / "wide")
    model = Library(tmp_path / "wide")
    parts = []

    @PARALLEL
    def share(user, n, body, arguments):
        cuts = [0, n // 3, n // 2, n]
        parts.append(n)
        threads = [threading.Thread(target=body, args=(arguments, a, b)) for a, b in zip(cuts, cuts[1:])]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    given = np.ascontiguousarray(x.numpy())
    for parallel in (None, share):
        y = np.zeros((256, 256), "f4")
        assert model(given, y, parallel=parallel) == 0
        assert np.array_equal(y, want)
    assert parts and min(parts) > 1
    outs = [np.zeros((256, 256), "f4") for _ in range(2)]  # two threads, an arena each
    threads = [threading.Thread(target=model, args=(given, y)) for y in outs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(y, want) for y in outs)


@pytest.mark.parametrize("weights", ["pointer", "file"])
def test_weights_elsewhere(tmp_path, weights):
    f, _, _ = make_mlp(np.random.default_rng(16))
    f.export_c(tmp_path / "model", weights=weights, selftest=True)
    program = tmp_path / "program"
    run(COMPILERS[0][0], *AS_C, *WARNINGS, tmp_path / "model.c", tmp_path / "model_test.c", "-o", program)
    assert "worst difference 0\n" in run(program, cwd=tmp_path)
    blob = bytearray((tmp_path / "model.bin").read_bytes())
    blob[100] ^= 1
    (tmp_path / "model.bin").write_bytes(blob)
    assert subprocess.run([program], cwd=tmp_path, capture_output=True).returncode == 1


def test_a_file_of_weights_is_that_of_the_model(tmp_path):
    """The head of the file tells whose it is: before anything is written, in each run and reset."""
    files = {}
    for name, seed in (("one", 17), ("two", 18)):
        w = normal(np.random.default_rng(seed), 8, 8)
        total = Tensor(np.full(8, 2, "f4"))

        @strata.jit
        def f(x):
            total.assign(total + x)
            return x @ w + total

        call_twice(f, normal(np.random.default_rng(3), 8))
        f.export_c(tmp_path / name, weights="file", inputs=["x"])
        model = Library(tmp_path / name)
        files[name] = model.memory(model.macro("WEIGHTS_BYTES"))
        files[name][:] = np.fromfile(tmp_path / f"{name}.bin", "u1")
    x, y, state = np.ones(8, "f4"), np.full(8, 7, "f4"), model.memory(model.macro("STATE_BYTES"))
    reset = lambda w: model.library.two_reset(model.word(state), model.word(w))
    state[:] = 1
    assert reset(files["one"]) == 5 and (state == 1).all()
    assert model(x, y, state, files["one"]) == 5 and (y == 7).all()
    assert reset(files["two"]) == 0 and model(x, y, state, files["two"]) == 0
    assert np.array_equal(y, f(Tensor(x)).numpy())
    files["two"][-64] ^= 1  # an element, which the check alone reads
    assert model.library.two_check_weights(model.word(files["two"])) == 5


def test_what_cannot_be_exported(tmp_path):
    def refused(f, words, **options):
        with pytest.raises(strata.Error, match=words):
            f.export_c(tmp_path / options.pop("name", "model"), **options)
        assert not list(tmp_path.iterdir())

    @strata.jit
    def f(x, y):
        return x + y, x

    refused(f, "call it twice")
    x = Tensor(np.ones(3, "f4"))
    f(x, x * 2)
    refused(f, "call it twice")
    f(x, x * 2)
    refused(f, "target \"vax\" is unknown: the targets are plain, generic, neon, wasm, rvv, avx2, avx512", target="vax")
    refused(f, "weights", weights="disk")
    for name in ("two__names", "2", "int", "a-b", "_x"):
        refused(f, "no name of a model", name=name)
    refused(f, "two arguments are named A", inputs=["a", "A"])
    refused(f, "1 names are given for 2", outputs=["a"])

    n = strata.Variable("n", 1, 8)

    @strata.jit
    def g(x):
        return x.sum()

    for _ in range(2):
        g(Tensor(np.ones(8, "f4")).shrink(((0, n.bind(4)),)).contiguous())
    refused(g, "two values of n")


def test_other_processors(tmp_path):
    """Compiled for processors without their libraries: nothing but the compiler's own functions is missing."""
    lister = shutil.which("llvm-nm-19") or shutil.which("llvm-nm")
    if not CLANG or not lister:
        pytest.skip("clang or llvm-nm is not here")
    rng = np.random.default_rng(18)

    @strata.jit
    def f(x):
        return x.softmax(-1), x.abs().sqrt().round(), x.cast("f64").exp(), (x.cast("i64") // 3).cast("f16")

    call_twice(f, normal(rng, 4, 9))
    product, _, _ = make_mlp(rng, rows=16)
    processors = {"aarch64-linux-gnu": ("neon", []), "thumbv7em-none-eabihf": ("plain", ["-mcpu=cortex-m4"]),
                  "riscv64-linux-gnu": ("rvv", ["-march=rv64gcv"]), "wasm32": ("wasm", ["-msimd128"])}
    for (triple, (vectors, more)), (model, target) in itertools.product(processors.items(), ((f, "plain"), (f, None), (product, None))):
        model.export_c(tmp_path / "f", target=target or vectors)
        run(CLANG, f"--target={triple}", *more, "-ffreestanding", "-O2", *AS_C, *WARNINGS, "-c", tmp_path / "f.c", "-o", tmp_path / "f.o")
        asked = {line.split()[-1] for line in run(lister, "-u", tmp_path / "f.o").splitlines()}
        assert [s for s in asked - {"__stack_pointer", "__indirect_function_table", "__linear_memory"} if not ALLOWED.match(s)] == []


def test_fast_math_is_refused(tmp_path):
    f, _, _ = make_mlp(np.random.default_rng(19))
    f.export_c(tmp_path / "f")
    done = subprocess.run([COMPILERS[0][0], "-ffast-math", "-c", tmp_path / "f.c", "-o", tmp_path / "f.o"], capture_output=True, text=True)
    assert done.returncode != 0 and "-ffast-math changes what the functions compute" in done.stderr


RACES = r"""
#include "wide.h"
#include <pthread.h>
#include <stdio.h>
static float x[WIDE_X_ELEMENTS];
static void *run(void *arena) {
  float *y = (float *)(void *)((unsigned char *)arena + WIDE_ARENA_BYTES);
  int k;
  for (k = 0; k < 10; ++k)
    if (wide_run(x, y, arena, WIDE_ARENA_BYTES, 0, 0) != WIDE_OK) return arena;
  return 0;
}
WIDE_ALIGNAS(64) static unsigned char arenas[4][(WIDE_ARENA_BYTES + 4 * WIDE_Y_ELEMENTS + 63) / 64 * 64];
int main(void) {
  pthread_t threads[4];
  void *failed = 0;
  int k;
  for (k = 0; k < WIDE_X_ELEMENTS; ++k) x[k] = (float)(k % 7);
  for (k = 0; k < 4; ++k) pthread_create(&threads[k], 0, run, arenas[k]);
  for (k = 0; k < 4; ++k) {
    void *out;
    pthread_join(threads[k], &out);
    failed = out != 0 ? out : failed;
  }
  return failed != 0;
}
"""


def test_threads_have_no_races(tmp_path):
    rng = np.random.default_rng(20)
    w = normal(rng, 16, 16)

    @strata.jit
    def wide(x):
        return (x @ w).relu().softmax(-1)

    call_twice(wide, normal(rng, 8, 16))
    wide.export_c(tmp_path / "wide", outputs=["y"])
    (tmp_path / "main.c").write_text(RACES)
    built = subprocess.run([COMPILERS[0][0], "-fsanitize=thread", "-O1", "-pthread", tmp_path / "main.c", tmp_path / "wide.c", "-o", tmp_path / "main"],
                           capture_output=True, text=True, env=ENVIRONMENT)
    if built.returncode != 0:
        pytest.skip("the compiler has no ThreadSanitizer")
    setarch = [shutil.which("setarch"), "-R"] if shutil.which("setarch") else []
    run(*setarch, tmp_path / "main")


def random_function(rng):
    """A random function of two matrices, as steps on a list of tensors."""
    steps = [(int(rng.integers(0, 14)), rng.integers(0, 1 << 30, 2)) for _ in range(int(rng.integers(3, 9)))]
    w = normal(rng, 6, 6)

    @strata.jit
    def f(x, y):
        all_ = [x, y]
        for op, (i, j) in steps:
            a, b = all_[i % len(all_)], all_[j % len(all_)]
            all_.append([lambda: a + b, lambda: a * b, lambda: a @ w, lambda: a.transpose(0, 1).contiguous(), lambda: a.tanh(),
                         lambda: a.softmax(-1), lambda: (a > b).where(a, b), lambda: a - a.mean(0, keepdim=True),
                         lambda: a.cumsum(1), lambda: a.sum(1, keepdim=True) + b, lambda: a.flip(0), lambda: a.abs().sqrt(),
                         lambda: a.maximum(b).exp() * 0.1, lambda: (a.cast("i32") % 5 + 3).cast("f32")][op]())
        return all_[-1], all_[-2].sum()

    return f


def test_random_functions(tmp_path):
    seed = 20240
    for k in range(16):
        rng = np.random.default_rng(seed + k)
        f = random_function(rng)
        call_twice(f, normal(rng, 6, 6), normal(rng, 6, 6))
        name = tmp_path / f"f{k}"
        f.export_c(name, target=["plain", "generic", "avx2", "avx512"][k % 4], selftest=True, inputs=["x", "y"], outputs=["out", "total"])
        compiler, level, language = COMPILERS[k % len(COMPILERS)]
        run(compiler, level, *language, *WARNINGS, f"{name}.c", f"{name}_test.c", "-o", name)
        assert "worst difference 0\n" in run(name), f"seed {seed + k}"
