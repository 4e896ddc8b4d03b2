"""export_c(object=): kernels that LLVM compiles when the model is exported. Deterministic models give the bits of this process on each
machine, linked with the C file, and run in another process: under qemu and node where the machine is another one."""
import fnmatch
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import strata
import test_export_machines as machines
import test_export_report
from exported import (AS_C, CLANG, COMPILERS, GCC, NEEDS_COMPILERS, WARNINGS, Library, call_twice, check, deterministic, gru, make_mlp,
                      make_symbolic, normal, run, steps_agree)
from strata import Tensor
from test_export import PARALLEL, random_function
from test_export_machines import BARE, HERE, LINUX, M4, WASM, allowed, program_text

pytestmark = NEEDS_COMPILERS
ALL = os.environ.get("STRATA_EXPORT_MACHINES") == "all"
FLAGS = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
NEEDS_TOOLS = pytest.mark.skipif(not (GCC and CLANG and all(shutil.which(p) for p in machines.NEEDED)), reason="clang, qemu, node or lld is not here")


def runs_here(target):
    return all(f in FLAGS for f in {"avx2": ("avx2", "fma", "f16c"), "avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl")}.get(target, ()))


class Machine:
    """What an object is exported for, and what makes and runs a program with it. @param kind: of symbols.txt"""

    def __init__(self, kind, export, compile, link=LINUX, runs=()):
        self.kind, self.export, self.compile, self.link, self.runs = kind, export, [*AS_C, *compile], list(link), list(runs)


SOFT = ["--target=armv7em-none-eabi", "-mcpu=cortex-m4", "-mfloat-abi=softfp"]
NODE = ["node", str(HERE / "run.mjs")]
MACHINES = {
    "x86-64": Machine("x86-64", {"object": "x86_64"}, []),
    "x86-64-avx2": Machine("x86-64", {"object": "x86_64", "target": "avx2"}, []),
    "x86-64-avx512": Machine("x86-64", {"object": "x86_64", "target": "avx512"}, []),
    "x86-64-nehalem": Machine("x86-64", {"object": "x86_64", "cpu": "nehalem"}, []),
    "x86-64-plain": Machine("x86-64", {"object": "x86_64", "target": "plain"}, []),
    "aarch64": Machine("aarch64", {"object": "aarch64", "target": "neon"}, ["--target=aarch64-linux-gnu"], runs=["qemu-aarch64"]),
    "aarch64-plain": Machine("aarch64", {"object": "aarch64", "target": "plain"}, ["--target=aarch64-linux-gnu"], runs=["qemu-aarch64"]),
    "armv7em": Machine("cortex-m4", {"object": "armv7em", "target": "plain"}, M4, runs=["qemu-arm"]),
    "armv7em-generic": Machine("cortex-m4", {"object": "armv7em"}, M4, runs=["qemu-arm"]),
    "armv7em-softfp": Machine("cortex-m4", {"object": "thumbv7em-none-eabi", "target": "plain"}, SOFT, runs=["qemu-arm"]),
    "armv7a": Machine("armv7", {"object": "armv7a-linux-gnueabihf", "features": "+vfp3d16,-neon"}, machines.ARM, runs=["qemu-arm"]),
    "riscv64": Machine("riscv64", {"object": "riscv64"}, ["--target=riscv64-linux-gnu", "-march=rv64gc"], runs=["qemu-riscv64"]),
    "riscv64-rvv": Machine("riscv64", {"object": "riscv64", "target": "rvv"}, ["--target=riscv64-linux-gnu", "-march=rv64gc"],
                           runs=["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0"]),
    "wasm32": Machine("wasm", {"object": "wasm32", "target": "plain"}, ["--target=wasm32"], WASM, NODE),
    "wasm32-simd": Machine("wasm", {"object": "wasm32", "target": "wasm"}, ["--target=wasm32"], WASM, NODE),
}
SAMPLE = ("x86-64", "x86-64-avx2", "aarch64", "armv7em", "riscv64", "wasm32-simd")


@pytest.fixture(scope="module")
def every():
    with strata.flags(DETERMINISTIC=True):
        return {case.name: case for case in machines.cases()}


def undefined(path):
    return {line.split()[-1] for line in run("llvm-nm-19", "-u", path).splitlines()}


def compile_and_run(machine, folder, every):
    """The words that the program of the models prints."""
    for model, case in every.items():
        info = case.f.export_c(folder / model, **machine.export)
        assert info["code_bytes"] > 0 and f"{model}_kernels.o" in info["files"]
    (folder / "program.c").write_text(program_text(every))
    command = [CLANG, *machine.compile]
    run(*command, "-O1", *machines.WARNINGS, *BARE[:2], "-c", *(folder / f"{model}.c" for model in every), cwd=folder)
    objects = [folder / f"{model}{end}" for model in every for end in (".o", "_kernels.o")]
    for path in objects:
        own = {f"{path.stem}_k*"} if not path.stem.endswith("_kernels") else set()
        names = [*allowed(machine.kind), *own]
        assert [s for s in undefined(path) if not any(fnmatch.fnmatchcase(s, name) for name in names)] == [], path
    sources = [folder / "program.c", HERE / "start.c", HERE / "abi.c", *objects]
    run(CLANG, "-O1", *machine.compile[1:], "-I", HERE, "-I", folder, *sources, *machine.link, "-o", folder / "program")
    return run(*machine.runs, folder / "program").split()


@NEEDS_TOOLS
@pytest.mark.parametrize("name", MACHINES if ALL else SAMPLE)
def test_same_bits(tmp_path, every, name):
    if not runs_here(MACHINES[name].export.get("target")):
        pytest.skip("the processor lacks the instructions")
    written = iter(compile_and_run(MACHINES[name], tmp_path, every))
    for model, case in every.items():
        for k, want in enumerate(case.results):
            got = np.frombuffer(bytes.fromhex(next(written)), "u1").view(want.dtype).reshape(want.shape)
            same = machines.agree(got, want)
            assert same.all(), f"{model}, result {k}, {name}: {got[~same][:4]}, not {want[~same][:4]}"
    assert next(written, None) is None


X86 = [t for t in ("plain", "generic", "avx2", "avx512") if runs_here(t)]


def make_halves(rng):
    """Integers of 8 bits, f16 and bf16."""
    w = Tensor(rng.integers(-127, 128, (48, 24)).astype("i1"))

    @strata.jit
    def halves(a, b):
        half = a.cast("f16")
        return (b.cast("i32") @ w.cast("i32"), half.exp() * 2, half.sum(1), a.cast("bf16").sum(1), (half > 0.5).where(half, half - 1),
                half.cast("bool"), (a > 0).cast("f16"), half.cast("bf16"), a.cast("f64").cast("f16"), b.cast("f16") / 3, half.cast("i8"))

    call_twice(halves, normal(rng, 16, 48) * 10, Tensor(rng.integers(-128, 128, (16, 48)).astype("i1")))
    return halves


def make_sequence(rng):
    step = gru(normal(rng, 5, 24), normal(rng, 8, 24), 8)

    @strata.jit
    def sequence(x, h):
        return strata.scan(step, h, x)

    call_twice(sequence, normal(rng, 7, 2, 5), normal(rng, 2, 8))
    return sequence


def make_sorted(rng):
    """Functions that order rows, which stay in C."""
    @strata.jit
    def ordered(x):
        return x.sort(1)[0], x.argsort(0), x.abs().sum(1)

    call_twice(ordered, normal(rng, 6, 40))
    return ordered


def make_net(rng):
    k1, k2, w = normal(rng, 8, 1, 3, 3), normal(rng, 16, 8, 3, 3), normal(rng, 64, 10)

    @strata.jit
    def digits(x):
        return (x.conv2d(k1, padding=1).relu().max_pool2d(2).conv2d(k2, padding=1).relu().max_pool2d(2).flatten(1) @ w).softmax(-1)

    call_twice(digits, normal(rng, 2, 1, 8, 8))
    return digits


MODELS = {"digits": make_net, "halves": make_halves, "sequence": make_sequence, "sorted": make_sorted,
          "symbolic": lambda rng: make_symbolic(rng)[0]}


@pytest.mark.parametrize("name", MODELS)
def test_same_bits_here(tmp_path, name):
    """The self test, with the C file as gcc, clang and tcc compile it, as C and as C++."""
    model = MODELS[name](np.random.default_rng(60))
    check(model, tmp_path, name, X86[1:4:2] if name != "sorted" else ["generic"], object="x86_64")


def test_sizes_and_threads(tmp_path):
    """One object for all sizes; a caller's threads get parts of a loop."""
    symbolic, rows = make_symbolic(np.random.default_rng(61))
    symbolic.export_c(tmp_path / "m", object="x86_64", target=X86[-1])
    model, parts = Library(tmp_path / "m", sizes=1), []

    @PARALLEL
    def share(user, n, body, arguments):
        parts.append(n)
        for k in reversed(range(n)):
            body(arguments, k, k + 1)

    for k in (1, 9, 64):
        want, x = symbolic(rows(k)), np.ascontiguousarray(rows(k).numpy())
        for parallel in (None, share):
            y, total = np.zeros((k, 4), "f4"), np.zeros(16, "f4")
            assert model(x, y, total, k, parallel=parallel) == 0
            assert np.array_equal(y, want[0].numpy()) and np.array_equal(total, want[1].numpy())
    assert max(parts, default=0) > 1
    assert model(x, y, total, 65) == 2


def test_training_with_state(tmp_path):
    rng = np.random.default_rng(62)
    w = Tensor((rng.standard_normal((8, 3)) * 0.3).astype("f4"), requires_grad=True)
    optimizer = strata.optim.Adam([w], lr=0.01)

    @strata.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = (x @ w).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    batch = lambda: (normal(rng, 6, 8), Tensor(rng.integers(0, 3, 6).astype("i8")))
    for _ in range(3):
        step(*batch())
    steps_agree(step, tmp_path, "step", [(batch(), ()) for _ in range(6)], object="x86_64")


def test_random_functions(tmp_path):
    """Bit by bit beside LLVM in this process, and near the interpreter, whose exp and tanh are rounded once."""
    seed = 60240
    for k in range(30):
        for device in ("LLVM", "INTERP")[:1 + (k % 3 == 0)]:
            rng, name = np.random.default_rng(seed + k), tmp_path / f"f{k}_{device}"
            with strata.flags(DEVICE=device):
                f = random_function(rng)
                call_twice(f, normal(rng, 6, 6), normal(rng, 6, 6))
                f.export_c(name, object="x86_64", target=X86[k % len(X86)], selftest=True, inputs=["x", "y"], outputs=["out", "total"])
            run(COMPILERS[k % 2][0], *AS_C, "-O0", *WARNINGS, f"{name}.c", f"{name}_test.c", f"{name}_kernels.o", "-o", name)
            printed = subprocess.run([name], capture_output=True, text=True).stdout
            worst = float(re.fullmatch(rf"{name.name}: worst difference (\S+)\n", printed)[1])
            assert worst <= (0 if device == "LLVM" else 2e-7), f"seed {seed + k}, {device}"


@pytest.mark.parametrize("weights", ["pointer", "file"])
def test_weights_elsewhere(tmp_path, weights):
    f, _, _ = make_mlp(np.random.default_rng(63))
    f.export_c(tmp_path / "m", weights=weights, object="x86_64", selftest=True)
    run(COMPILERS[0][0], *AS_C, *WARNINGS, *(tmp_path / n for n in ("m.c", "m_test.c", "m_kernels.o")), "-o", tmp_path / "m")
    assert "worst difference 0\n" in run(tmp_path / "m", cwd=tmp_path)


@pytest.mark.parametrize("weight_dtype", ["f16", "int8"])
def test_stored_weights(tmp_path, weight_dtype):
    """The C file has the same bits."""
    w, x = normal(np.random.default_rng(64), 64, 48), normal(np.random.default_rng(65), 3, 64)

    @strata.jit
    def f(x):
        return (x @ w).relu().sum(0)

    call_twice(f, x)
    given, results = np.ascontiguousarray(x.numpy()), []
    for name, more in (("c", {}), ("o", {"object": "x86_64", "target": X86[-1]})):
        f.export_c(tmp_path / name, weight_dtype=weight_dtype, **more)
        results.append(np.zeros(48, "f4"))
        assert Library(tmp_path / name)(given, results[-1]) == 0
    assert results[0].any() and np.array_equal(*results)


def test_a_class_and_two_models_in_one_program(tmp_path):
    gxx = shutil.which("g++") or shutil.which("clang++-19")
    if not gxx:
        pytest.skip("no compiler of C++ is here")
    for name, seed in (("one", 66), ("two", 67)):
        make_mlp(np.random.default_rng(seed))[0].export_c(tmp_path / name, object="x86_64", cpp=True, outputs=["y"])
    (tmp_path / "main.cpp").write_text('''#include "one.hpp"
#include "two.hpp"
static float x[ONE_X_ELEMENTS], y[ONE_Y_ELEMENTS];
int main() {
  one_model one;
  two_model two;
  return one.try_run(x, y) != ONE_OK || two.try_run(x, y) != TWO_OK;
}
''')
    sources = [tmp_path / f"{name}{end}" for name in ("one", "two") for end in (".c", "_kernels.o")]
    run(COMPILERS[0][0], *AS_C, "-c", *sources[::2], cwd=tmp_path)
    run(gxx, "-std=c++20", *WARNINGS, tmp_path / "main.cpp", tmp_path / "one.o", tmp_path / "two.o", *sources[1::2], "-o", tmp_path / "main")
    run(tmp_path / "main")


EXPORTS = """
import sys, numpy as np, strata
from exported import make_mlp
for machine, target in (("x86_64", "avx2"), ("armv7em", "plain"), ("wasm32", "wasm")):
    make_mlp(np.random.default_rng(68))[0].export_c(f"{sys.argv[1]}/m_{machine}", object=machine, target=target, deterministic=True)
"""


def test_same_bytes_twice(tmp_path):
    """In two processes."""
    (tmp_path / "main.py").write_text(EXPORTS)
    written = []
    for k in range(2):
        folder = tmp_path / str(k)
        folder.mkdir()
        path = os.pathsep.join([str(Path(__file__).parent), str(Path(strata.__file__).parents[1])])
        subprocess.run([sys.executable, tmp_path / "main.py", folder], env={**os.environ, "PYTHONPATH": path}, check=True)
        written.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert written[0] == written[1] and len(written[0]) == 9


USED = """
#include "NAME.h"
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
NAMEUP_ALIGNAS(64) static unsigned char memory[ARGUMENTS][1 << 20], arena[NAMEUP_ARENA_BYTES + 64];
static unsigned char stack[1 << 18];
static ucontext_t here, there;
static void nothing(void) {}
static void runs(void) { NAME_run(GIVEN arena, sizeof arena, 0, 0); }
static void (*volatile body)(void);
static void starts(void) { body(); }
static size_t used(void (*f)(void)) {
  size_t k = 0;
  memset(stack, 165, sizeof stack);
  body = f;
  getcontext(&there);
  there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = sizeof stack, there.uc_link = &here;
  makecontext(&there, starts, 0);
  swapcontext(&here, &there);
  while (stack[k] == 165) { ++k; }
  return sizeof stack - k;
}
int main(void) {
  const size_t without = used(nothing);
  printf("%zu", used(runs) - without);
  return 0;
}
"""


@pytest.mark.parametrize("target", X86)
def test_stack(tmp_path, target):
    """A run of each model, on a stack of its own that was filled before: no more is used than the header states."""
    for name, make in {**MODELS, **test_export_report.MODELS}.items():
        info = make(np.random.default_rng(69)).export_c(tmp_path / name, object="x86_64", target=target)
        header = (tmp_path / f"{name}.h").read_text()
        parameters = header[header.rindex(f"{name}_run("):].split("(")[1].split("void *arena")[0].split(",")[:-1]
        given = "".join("1, " if "int64_t" in p and "*" not in p else f"(void *)memory[{k}], " for k, p in enumerate(parameters))
        text = USED.replace("NAMEUP", name.upper()).replace("NAME", name).replace("ARGUMENTS", str(len(parameters))).replace("GIVEN", given)
        (tmp_path / "used.c").write_text(text)
        run(COMPILERS[0][0], "-O2", "-std=gnu11", *(tmp_path / f for f in ("used.c", f"{name}.c", f"{name}_kernels.o")), "-o", tmp_path / "used")
        used = int(run(tmp_path / "used"))
        assert f"#define {name.upper()}_STACK_BYTES {info['stack_bytes']}\n" in header
        assert 0 < used <= info["stack_bytes"] <= 3 * used + 512, (name, used, info["stack_bytes"])


@pytest.mark.parametrize("target", X86)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stack_of_sorts_of_long_rows(tmp_path, target, dtype):
    """Buckets, and few elements of many, keep arrays on the stack: by rows of lengths on both sides of where they begin."""
    rng = np.random.default_rng(3)
    functions = {"sorted": lambda x: x.sort(-1)[0], "places": lambda x: x.argsort(-1), "few": lambda x: x.topk(10)[0]}
    for (name, function), shape in itertools.product(functions.items(), [(3, 600), (3, 5000), (20000,)]):
        x = Tensor(rng.standard_normal(shape).astype("float32") * 100).cast(getattr(strata, dtype)).realize()
        captured = strata.jit(function)
        for _ in range(2):
            captured(x)
        info = captured.export_c(tmp_path / name, target=target)
        text = USED.replace("NAMEUP", name.upper()).replace("NAME", name).replace("ARGUMENTS", "2").replace("GIVEN", "(void *)memory[0], (void *)memory[1], ")
        (tmp_path / "used.c").write_text(text)
        for flags in (["-O1"], ["-O2", "-march=native"]):
            run(COMPILERS[0][0], *flags, "-std=gnu11", *(tmp_path / f for f in ("used.c", f"{name}.c")), "-o", tmp_path / "used")
            used = int(run(tmp_path / "used"))
            assert 0 < used <= info["stack_bytes"], (name, shape, flags, used, info["stack_bytes"])


def test_flash_counts_the_code(tmp_path):
    mlp = make_mlp(np.random.default_rng(70))[0]
    in_c, info = mlp.export_c(tmp_path / "c"), mlp.export_c(tmp_path / "m", object="x86_64")
    sizes = [line.split() for line in run("readelf", "-SW", tmp_path / "m_kernels.o").replace("[ ", "[").splitlines()]
    loaded = sum(int(row[5], 16) for row in sizes if len(row) > 7 and row[0].startswith("[") and row[2] == "PROGBITS" and "A" in row[7])
    assert in_c["code_bytes"] == 0 and 0 < info["code_bytes"] == loaded
    flash = info["constant_bytes"] + info["code_bytes"]
    assert f", code of kernels {info['code_bytes']}</text>" in info["svg"] and "code of kernels" not in in_c["svg"] + in_c["text"]
    assert f"flash       {flash} bytes: weights and tables {info['constant_bytes']}, code of kernels {info['code_bytes']}\n" in info["text"]
    assert mlp.export_c(tmp_path / "m", object="x86_64", max_flash=flash)["code_bytes"] == info["code_bytes"]
    with pytest.raises(strata.Error, match=rf"m needs {flash} bytes of flash, max_flash is {flash - 1}: weights and tables .*, code of kernels {info['code_bytes']}$"):
        mlp.export_c(tmp_path / "none" / "m", object="x86_64", max_flash=flash - 1)
    assert not (tmp_path / "none").exists()


def test_the_file_is_for_the_machine_of_the_object(tmp_path):
    if not CLANG:
        pytest.skip("clang is not here")
    make_mlp(np.random.default_rng(71))[0].export_c(tmp_path / "m", object="x86_64")
    done = subprocess.run([CLANG, "--target=aarch64-linux-gnu", "-ffreestanding", "-fsyntax-only", tmp_path / "m.c"], capture_output=True, text=True)
    assert done.returncode == 1 and "m: m_kernels.o is for x86_64-unknown-linux-gnu" in done.stderr


REFUSED = [
    ({"object": "vax"}, r'the object "vax" is unknown: x86_64, aarch64, armv7em, riscv64, wasm32, or a triple of such a machine'),
    ({"object": "i686-linux-gnu"}, 'the object "i686-linux-gnu" is unknown'),
    ({"object": "aarch64_be-linux-gnu"}, 'this LLVM compiles for x86_64, aarch64, arm, thumb, riscv64, wasm32, and not for the triple "aarch64_be-'),
    ({"object": "armebv7-linux-gnueabi"}, 'and not for the triple "armebv7-'),
    ({"object": "x86_64", "cpu": "cortex-m4"}, 'LLVM knows no CPU "cortex-m4" of x86_64, but .*haswell, .*znver4'),
    ({"object": "armv7em", "cpu": "skylake"}, 'LLVM knows no CPU "skylake" of thumb, but .*cortex-m7'),
    ({"object": "x86_64", "features": "+sse9"}, r'LLVM knows no feature "\+sse9" of x86_64: \+ or - and one of .*sse4.1'),
    ({"object": "x86_64", "features": "sse4.1"}, 'LLVM knows no feature "sse4.1" of x86_64'),
    ({"object": "x86_64", "target": "neon"}, 'the target "neon" is not of the machine x86_64-unknown-linux-gnu: its targets are plain, generic, avx2, avx512$'),
    ({"object": "armv7em", "target": "neon"}, 'the target "neon" is not of the machine thumbv7em-none-eabihf: its targets are plain, generic$'),
    ({"object": "riscv64", "features": "-d,-f"}, "riscv64-unknown-linux-gnu without the feature f: LLVM does not compile all kernels for it"),
    ({"object": "wasm32", "target": "avx2"}, 'the target "avx2" is not of the machine wasm32'),
    ({"object": "x86_64", "target": "avx2,generic"}, 'an object is for one target, not "avx2,generic": only a C file chooses when it runs'),
    ({"object": "x86_64", "kernels": "opencl"}, r'kernels in opencl are no C file: they have no object \("x86_64"\)'),
    ({"cpu": "haswell"}, 'the CPU "haswell" is of an object'),
    ({"features": "+avx2"}, r'the features "\+avx2" are of an object: give its machine, e.g. object "x86_64"'),
    ({"object": "armv7a-linux-gnueabihf", "target": "plain", "features": "+neon"}, "vectors of armv7a-linux-gnueabihf have no subnormal numbers"),
    ({"object": "armv7a-linux-gnueabihf", "target": "neon"}, "vectors of armv7a-linux-gnueabihf have no subnormal numbers: take the feature -neon"),
]


@pytest.mark.parametrize("options, words", REFUSED)
def test_refusals(tmp_path, options, words):
    f = make_mlp(np.random.default_rng(72))[0]
    with pytest.raises(strata.Error, match=words) as refused:
        f.export_c(tmp_path / "m", **options)
    assert refused.value.kind == "domain" and not list(tmp_path.iterdir())


@pytest.mark.parametrize("triple, mark", [("arm64-apple-macosx", b"\xcf\xfa\xed\xfe"), ("x86_64-apple-macosx", b"\xcf\xfa\xed\xfe"),
                                          ("x86_64-pc-windows-msvc", b"\x64\x86"), ("wasm32-wasi", b"\0asm"),
                                          ("riscv64-unknown-elf", b"\x7fELF"), ("thumbv8m.main-none-eabihf", b"\x7fELF")])
def test_triples(tmp_path, every, triple, mark):
    for name in ("formulas", "halves"):
        info = every[name].f.export_c(tmp_path / name, object=triple, target="plain")
        assert (tmp_path / f"{name}_kernels.o").read_bytes().startswith(mark) and info["code_bytes"] > 500


def test_vectors_of_arm_where_bits_may_differ(tmp_path):
    f = make_mlp(np.random.default_rng(73))[0]
    assert f.export_c(tmp_path / "m", object="armv7a-linux-gnueabihf", target="neon", deterministic=False)["code_bytes"] > 0


def test_products_and_sums_are_fused_where_bits_may_differ(tmp_path):
    dump = shutil.which("objdump")
    if not dump:
        pytest.skip("objdump is not here")
    f = make_mlp(np.random.default_rng(74), rows=16)[0]
    for is_deterministic in (True, False):
        f.export_c(tmp_path / "m", object="x86_64", target="avx2", deterministic=is_deterministic)
        assert bool(re.search("vfn?m(add|sub)", run(dump, "-d", tmp_path / "m_kernels.o"))) == (not is_deterministic)


def test_without_llvm(tmp_path):
    """A module without the plugin beside it."""
    folder = tmp_path / "strata"
    shutil.copytree(Path(strata.__file__).parent, folder, ignore=shutil.ignore_patterns("libstrata_llvm*", "__pycache__"))
    (tmp_path / "main.py").write_text("""
import numpy, strata
f = strata.jit(lambda x: x + 1)
f(strata.Tensor(numpy.ones(3, "f4"))), f(strata.Tensor(numpy.ones(3, "f4")))
try:
    f.export_c("m", object="x86_64")
except strata.Error as error:
    print(error.kind, error)
""")
    environment = {name: value for name, value in os.environ.items() if name != "STRATA_PLUGIN_DIR"}
    done = subprocess.run([sys.executable, tmp_path / "main.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={**environment, "PYTHONPATH": str(tmp_path), "STRATA_DEVICE": "INTERP"})
    assert done.stdout.startswith("undefined [export] the object: [llvm] no libstrata_llvm.so"), done.stderr
    assert not (tmp_path / "m.h").exists()
