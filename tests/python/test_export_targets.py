"""export_c() for several targets: one file, whose code for each target gives the same bits, and which chooses by the processor. Processors
that lack instructions are qemu's."""
import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import strata
from exported import (ALLOWED, AS_C, CLANG, COMPILERS, GCC, NEEDS_COMPILERS, TCC, WARNINGS, Library, call_twice, check, deterministic, gru,
                      make_mlp, make_symbolic, normal, run, stack_of)
from strata import Tensor

pytestmark = NEEDS_COMPILERS
ALL = ["avx512", "avx2", "generic"]
FLAGS = open("/proc/cpuinfo").read() if shutil.which("uname") else ""
NEEDS_AVX512 = pytest.mark.skipif(not all(f in FLAGS for f in ("avx512f", "avx512bw", "avx512dq", "avx512vl", "fma")),
                                  reason="the processor has no AVX-512")


def make_formulas(rng):
    @strata.jit
    def formulas(a, b):
        return (a.exp(), a.sin().round(), a.sqrt().floor(), a / 3, a.sum(0), (b * b // 3).max(0), b.cast("f32") * 0.5, a.cast("f16").exp(),
                a.cast("f64").log(), a.sort(1)[0], b.cast("i64") * b.cast("i64"), a.cast("bf16").sum(1))

    call_twice(formulas, normal(rng, 40, 33) * 10, Tensor(rng.integers(-2000, 2000, (40, 33)).astype("i4")))
    return formulas


def make_recurrent(rng):
    wx, wh, total = normal(rng, 5, 72), normal(rng, 24, 72), Tensor(np.full((2, 24), 0.5, "f4"))

    @strata.jit
    def recurrent(xs):
        h, every = strata.scan(gru(wx, wh, 24), total * 1, xs)
        total.assign(h)
        return every

    call_twice(recurrent, normal(rng, 7, 2, 5))
    return recurrent


def make_product(rng):
    w = normal(rng, 96, 160)

    @strata.jit
    def product(x):
        return (x @ w).softmax(-1)

    call_twice(product, normal(rng, 64, 96))
    return product


def make_windows(rng):
    """Padded convolutions, whose loads and stores have a gate for each lane."""
    def drawn(dtype, *shape): return Tensor(np.abs(rng.standard_normal(shape) * 9).astype(dtype))
    dtypes = ("f4", "f8", "i4", "i8")
    weights = [drawn(d, 8, 2, 3, 3) for d in dtypes]

    @strata.jit
    def windows(*xs):
        return tuple(x.conv2d(w, padding=1) for x, w in zip(xs, weights))

    call_twice(windows, *[drawn(d, 1, 2, 29, 29) for d in dtypes])
    return windows


MODELS = {"mlp": lambda rng: make_mlp(rng)[0], "formulas": make_formulas, "recurrent": make_recurrent, "product": make_product, "windows": make_windows,
          "symbolic": lambda rng: make_symbolic(rng)[0]}


@pytest.mark.parametrize("name", MODELS)
def test_each_target_has_the_same_bits(tmp_path, name):
    """The self test runs all targets that the processor has, compiled without options for them, as C and as C++."""
    check(MODELS[name](np.random.default_rng(40)), tmp_path, name, (ALL,))


@pytest.mark.parametrize("target, flags", [("avx2", ["-mavx2", "-mfma"]),
                                            pytest.param("avx512", ["-march=x86-64-v4"], marks=NEEDS_AVX512)])
def test_gates_of_vectors(tmp_path, target, flags):
    """Loads and stores with a gate for each lane, by the processor's instructions and without them: nothing else is touched."""
    path = tmp_path / "windows"
    make_windows(np.random.default_rng(42)).export_c(path, target=target, selftest=True)
    text = path.with_suffix(".c").read_text()
    for size in ("32x8", "64x4") if target == "avx2" else ("32x16", "64x8"):
        assert f"_{size}_load(data" in text and f"_{size}_store(data" in text
    files = [f"{path}.c", f"{path}_test.c"]
    for compiler, *more in [(GCC, "-O2", *flags), (GCC, "-O1"), (CLANG, "-O1", *flags, "-fsanitize=address,undefined")]:
        run(compiler, "-std=c11", "-ffp-contract=off", *more, *WARNINGS, *files, "-o", tmp_path / "program")
        assert "worst difference 0\n" in run(tmp_path / "program", cwd=tmp_path)


@NEEDS_AVX512
def test_the_best_target_runs(tmp_path):
    """Each target by itself, and the best one by NAME_run(): by marks that the functions of the targets have got."""
    f, x, y = make_mlp(np.random.default_rng(41))
    f.export_c(tmp_path / "m", target=ALL)
    text = (tmp_path / "m.c").read_text()
    for k, target in enumerate(ALL):
        begin = text.index("{\n", text.index(f"m_{target}_steps("))
        text = text[:begin] + "{\n  extern int ran;\n  ran = " + str(k) + ";\n" + text[begin + 2:]
    (tmp_path / "m.c").write_text("extern int ran;\nint ran;\n" + text)
    model = Library(tmp_path / "m")
    ran, given = ctypes.c_int.in_dll(model.library, "ran"), np.ascontiguousarray(x.numpy())
    arena = model.memory(model.macro("ARENA_BYTES") + 64)
    assert model.library.m_best_target() == 0 and model.macro("TARGETS") == 3
    for target in range(3):
        out = np.zeros((4, 10), "f4")
        assert model.library.m_run_on(target, *map(model.word, (given, out, arena)), ctypes.c_size_t(len(arena)), None, None) == 0
        assert np.array_equal(out, y.numpy()) and ran.value == target
    assert model(given, out) == 0 and ran.value == 0
    out[:] = 7
    assert model.library.m_run_on(3, *map(model.word, (given, out, arena)), ctypes.c_size_t(len(arena)), None, None) == 6
    assert (out == 7).all() and model.text(6) == "the target is not among those that the file was compiled for"


@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-x86_64 is not here")
@pytest.mark.parametrize("processor, best", [("qemu64", 2), ("Nehalem", 2), ("max", 1), ("max,-fma", 2), ("max,-avx2", 2), ("max,-xsave", 2)])
def test_processors_without_instructions(tmp_path, processor, best):
    f, _, _ = make_mlp(np.random.default_rng(42))
    f.export_c(tmp_path / "m", target=ALL, selftest=True)
    (tmp_path / "best.c").write_text('#include "m.h"\n#include <stdio.h>\nint main(void) { printf("%d\\n", m_best_target()); return 0; }\n')
    for program, source in (("test", "m_test.c"), ("best", "best.c")):
        run(COMPILERS[0][0], *AS_C, "-O2", "-static", tmp_path / source, tmp_path / "m.c", "-o", tmp_path / program)
    assert int(run("qemu-x86_64", "-cpu", processor, tmp_path / "best")) == best
    assert "worst difference 0\n" in run("qemu-x86_64", "-cpu", processor, tmp_path / "test")


def test_all_compilers_and_machines(tmp_path):
    """Elsewhere than on x86-64, and for tcc, the file is that of its last target."""
    f, _, _ = make_mlp(np.random.default_rng(43))
    f.export_c(tmp_path / "m", target="avx512,avx2,plain", selftest=True)
    if TCC:
        run(TCC, "-Wall", "-Werror", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o")
        run(COMPILERS[0][0], tmp_path / "m_test.c", tmp_path / "m.o", "-o", tmp_path / "m")
        assert "worst difference 0\n" in run(tmp_path / "m")
    lister = shutil.which("llvm-nm-19") or shutil.which("llvm-nm")
    if not CLANG or not lister:
        pytest.skip("clang or llvm-nm is not here")
    f.export_c(tmp_path / "m", target=["avx2", "neon"])
    for triple in ("aarch64-linux-gnu", "armv7em-none-eabi", "riscv64-linux-gnu", "wasm32"):
        run(CLANG, f"--target={triple}", "-ffreestanding", "-O2", *AS_C, *WARNINGS, "-c", tmp_path / "m.c", "-o", tmp_path / "m.o",
            *(["-DNDEBUG", "-mfpu=none"] if "arm" in triple else []))
        asked = {line.split()[-1] for line in run(lister, "-u", tmp_path / "m.o").splitlines()}
        assert [s for s in asked - {"__stack_pointer"} if not ALLOWED.match(s)] == []


def test_instructions_are_those_of_the_targets(tmp_path):
    """The functions of a target have its registers, and the others do not. A deterministic file has no fma, though gcc is not told so."""
    dump = shutil.which("objdump")
    if not GCC or not dump:
        pytest.skip("gcc or objdump is not here")
    f, _, _ = make_mlp(np.random.default_rng(44), rows=16)
    for is_deterministic in (True, False):
        f.export_c(tmp_path / "m", target=ALL, deterministic=is_deterministic)
        run(GCC, "-O2", "-std=gnu11", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o")  # forms each fma that it can
        code = {}
        for part in run(dump, "-d", "--no-show-raw-insn", tmp_path / "m.o").split("\n\n"):
            target = next((t for t in ALL[:2] if f"<m_{t}_" in part.split(":\n")[0]), "others")
            code[target] = code.get(target, "") + part.split(":\n", 1)[-1]
        assert "%zmm" in code["avx512"] and "%ymm" in code["avx2"] and "%zmm" not in code["avx2"]
        assert "%ymm" not in code["others"] and "%zmm" not in code["others"]
        for target in ALL[:2]:
            assert bool(re.search("vfn?m(add|sub)", code[target])) == (not is_deterministic)


@pytest.mark.parametrize("weights", ["embed", "pointer"])
def test_weights_are_packed_for_each_target(tmp_path, weights):
    product = make_product(np.random.default_rng(45))
    one = {t: product.export_c(tmp_path / "m", target=t, weights=weights) for t in ALL}
    every = product.export_c(tmp_path / "m", target=ALL, weights=weights)
    parts = {t: {(p["name"].split(", ")[1], p["bytes"]) for p in info["constants"]} for t, info in one.items()}
    assert every["constant_bytes"] <= sum(info["constant_bytes"] for info in one.values())
    assert {(p["name"].split(", ")[1], p["bytes"]) for p in every["constants"]} == set().union(*parts.values())
    assert every["arena_bytes"] == max(info["arena_bytes"] for info in one.values())
    with pytest.raises(strata.Error, match=f"m needs {every['constant_bytes']} bytes of flash"):
        product.export_c(tmp_path / "m", target=ALL, weights=weights, max_flash=every["constant_bytes"] - 1)


@pytest.mark.skipif(GCC is None, reason="gcc is not here")
@pytest.mark.parametrize("name", ["mlp", "product", "symbolic"])
def test_stack(tmp_path, name):
    bound = MODELS[name](np.random.default_rng(46)).export_c(tmp_path / name, target=ALL)["stack_bytes"]
    used = stack_of(tmp_path / name, name)
    assert used <= bound <= 3.6 * used, (used, bound)


def test_sizes(tmp_path):
    """The arena of a size is enough for each target."""
    symbolic, rows = make_symbolic(np.random.default_rng(47))
    symbolic.export_c(tmp_path / "m", target=ALL)
    model = Library(tmp_path / "m", sizes=1)
    for k in (1, 9, 64):
        want, x = symbolic(rows(k)), np.ascontiguousarray(rows(k).numpy())
        for target in range(model.library.m_best_target(), 3):
            y, total, arena = np.zeros((k, 4), "f4"), np.zeros(16, "f4"), model.memory(model.arena_bytes(k))
            words = [model.word(a) for a in (x, y, total, k, arena)]
            assert model.library.m_run_on(target, *words, ctypes.c_size_t(len(arena) - 1), None, None) == 4
            assert model.library.m_run_on(target, *words, ctypes.c_size_t(len(arena)), None, None) == 0
            assert np.array_equal(y, want[0].numpy()) and np.array_equal(total, want[1].numpy())


def test_a_class_keeps_the_choice(tmp_path):
    recurrent = make_recurrent(np.random.default_rng(48))
    recurrent.export_c(tmp_path / "m", target=ALL, cpp=True, outputs=["every"])
    (tmp_path / "main.cpp").write_text('''#include "m.hpp"
static float x[M_XS_ELEMENTS], y[M_EVERY_ELEMENTS];
int main() {
  m_model one, model(std::move(one));
  return model.try_run(x, y);
}
''')
    gxx = shutil.which("g++") or shutil.which("clang++-19")
    if not gxx:
        pytest.skip("no compiler of C++ is here")
    run(COMPILERS[0][0], *AS_C, "-O1", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o")
    run(gxx, "-std=c++20", *WARNINGS, tmp_path / "main.cpp", tmp_path / "m.o", "-o", tmp_path / "main")
    run(tmp_path / "main")
    assert "m_run_on(this->m_chosen, " in (tmp_path / "m.hpp").read_text()


@pytest.mark.parametrize("target, words", [
    (["avx2", "avx512", "generic"], 'the targets "avx2,avx512,generic": every processor with "avx512" has "avx2", which is in front of it'),
    ("generic,neon", 'every processor with "neon" has "generic"'), ("avx2,avx2,plain", 'every processor with "avx2" has "avx2"'),
    ("avx512,avx2", 'the targets "avx512,avx2" end in one that not all processors have: add "generic" or "plain"'),
    ("avx2,", 'the target "" is unknown'), (["avx2", "sse9"], 'the target "sse9" is unknown')])
def test_refusals(tmp_path, target, words):
    f, _, _ = make_mlp(np.random.default_rng(49))
    with pytest.raises(strata.Error) as refused:
        f.export_c(tmp_path / "m", target=target)
    assert words in str(refused.value) and not list(tmp_path.iterdir())


def test_a_target_is_a_word(tmp_path):
    f, _, _ = make_mlp(np.random.default_rng(50))
    with pytest.raises(TypeError, match="target is a word or a list of words, not 7"):
        f.export_c(tmp_path / "m", target=7)
