"""export_c() on other machines: deterministic models give the bits of this process, from gcc, clang and tcc at all levels of optimisation
for x86-64, and from clang for ARM (64 bits; 32 bits; a Cortex-M4), RISC-V and WebAssembly, under qemu and node. The programs are without a
C library: tests/export/machines/ has their start. NaNs may have any bits. With STRATA_EXPORT_MACHINES=all each compiler, level and target
of the exporter is tried; else a sample of them."""
import ctypes
import fnmatch
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import strata
from exported import AS_C, CLANG, GCC, TCC, call_twice, deterministic, gru, make_mlp, make_symbolic, normal, run
from strata import Tensor

HERE = Path(__file__).parents[1] / "export" / "machines"
ALL = os.environ.get("STRATA_EXPORT_MACHINES") == "all"
LEVELS = ("-O0", "-O1", "-O2", "-O3")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
BARE = ["-ffreestanding", "-fno-stack-protector", "-nostdlib", "-static"]
LINUX = [*BARE, "-fuse-ld=lld"]
WASM = ["-ffreestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--export=program", "-Wl,-z,stack-size=1048576"]


class Machine:
    """A compiler with its options, and what runs its programs. @param kind: of symbols.txt"""

    def __init__(self, kind, compiler, compile, link=(), runs=(), levels=LEVELS, targets=("plain", "generic"), warnings=WARNINGS):
        self.kind, self.compiler, self.compile, self.link, self.runs = kind, compiler, list(compile), list(link), list(runs)
        self.levels, self.targets, self.warnings = levels, targets, warnings


ARM = ["--target=armv7-linux-gnueabihf", "-mfpu=vfpv3-d16"]
M4 = ["--target=armv7em-none-eabihf", "-mcpu=cortex-m4"]  # its program runs under an ARMv7-A, which has all of its instructions
# No -ffp-contract=off for clang: the files say so themselves. gcc's -std=c11 is the same.
MACHINES = {
    "gcc": Machine("x86-64", GCC, AS_C, BARE, targets=("plain", "generic", "avx2")),
    "gcc-avx2": Machine("x86-64", GCC, [*AS_C, "-mavx2", "-mfma"], BARE, targets=("plain", "avx2", "generic")),
    "clang": Machine("x86-64", CLANG, AS_C, LINUX, targets=("plain", "generic", "avx512")),
    "clang-avx2": Machine("x86-64", CLANG, [*AS_C, "-mavx2", "-mfma"], LINUX, targets=("generic", "plain", "avx2")),
    "tcc": Machine("tcc", TCC, [], levels=("-O0",), targets=("plain",), warnings=["-Wall", "-Werror"]),
    "aarch64": Machine("aarch64", CLANG, [*AS_C, "--target=aarch64-linux-gnu"], LINUX, ["qemu-aarch64"], targets=("neon", "plain")),
    "armv7": Machine("armv7", CLANG, [*AS_C, *ARM], LINUX, ["qemu-arm"], targets=("generic", "plain")),
    "armv7-neon": Machine("armv7", CLANG, [*AS_C, "--target=armv7-linux-gnueabihf", "-mfpu=neon"], LINUX, ["qemu-arm"], targets=("plain",)),
    "cortex-m4": Machine("cortex-m4", CLANG, [*AS_C, *M4], LINUX, ["qemu-arm"], targets=("plain", "generic")),
    "riscv64": Machine("riscv64", CLANG, [*AS_C, "--target=riscv64-linux-gnu", "-march=rv64gc"], LINUX, ["qemu-riscv64"],
                       targets=("rvv", "plain")),
    "wasm": Machine("wasm", CLANG, [*AS_C, "--target=wasm32"], WASM, ["node", str(HERE / "run.mjs")], targets=("plain", "generic")),
    "wasm-simd": Machine("wasm", CLANG, [*AS_C, "--target=wasm32", "-msimd128"], WASM, ["node", str(HERE / "run.mjs")],
                         targets=("wasm", "plain")),
}
NEEDED = {"qemu-aarch64", "qemu-arm", "qemu-riscv64", "node", "ld.lld-19"}

pytestmark = pytest.mark.skipif(not (GCC and CLANG and TCC and all(shutil.which(p) for p in NEEDED)),
                                reason=f"gcc, clang, tcc or one of {sorted(NEEDED)} is not here")


def specials(rng):
    """Floats of all sizes: subnormal ones, infinities and a NaN among them."""
    some = [0, -0.0, 1e-45, -3e-40, 1.1754942e-38, 1.1754944e-38, np.inf, -np.inf, np.nan, 3.4e38, 1, -1, 0.5, 88.7, -103.9, 2.5, 3.5, -2.5]
    random = rng.integers(0, 1 << 32, 46, dtype="u4").view("f4")
    return Tensor(np.concatenate([np.array(some, "f4"), random, rng.standard_normal(64).astype("f4")]).reshape(16, 8))


class Case:
    """A function, its arguments and its results in this process. @param sizes: those of NAME_run()"""

    def __init__(self, name, f, arguments, sizes=()):
        self.name, self.f, self.sizes = name, f, list(sizes)
        self.arguments = [np.ascontiguousarray(a.numpy()) for a in arguments]
        results = f(*arguments)
        self.results = [np.ascontiguousarray(r.numpy()) for r in (results if isinstance(results, tuple) else (results,))]


def cases():
    rng = np.random.default_rng(20)
    mlp, x, _ = make_mlp(rng)
    k1, w = normal(rng, 4, 1, 3, 3), normal(rng, 64, 5)

    @strata.jit
    def net(x):
        return x.conv2d(k1, padding=1).relu().max_pool2d(2).flatten(1) @ w

    @strata.jit
    def formulas(a):
        return (a.exp(), a.tanh(), a.abs().sqrt(), a / (a + 0.3), 1 / a, a.sin(), a.cos(), a.log(), a.erf(), a.softmax(-1), a.floor(),
                a.round(), a.trunc(), a.ceil(), a * 0.5, a.maximum(-a), (a > 0).sum(), a.argmax(1), a.sum(0), a.sum(), a.atan2(a + 1),
                a.sigmoid(), a * a + a, a.exp2(), a.log2(), a % 3, a // 3)

    @strata.jit
    def doubles(a):
        return a.exp(), a.tanh(), a.abs().sqrt(), a / (a + 0.3), a.sin(), a.log(), a.sum(0), a * a + a, a.cast("f32"), a.round(), a > 0

    @strata.jit
    def integers(b, l, u):
        return (b // 3 + b % 5, l // 7, l % 11, l // (b + 3000), u // 3, (b << 2) ^ b, l >> 3, b.sum(), l.cast("f32"), l.cast("f64"),
                l.cast("f32").cast("i64"), (b.cast("f32") * 1.5).cast("i32"), b.cast("i8"), b.cast("u8"), u.cast("f32"), b.max(0), l.argmax(1),
                u.cast("f64").cast("u64"), b * b * b * b, b.cast("f64") / 3)

    @strata.jit
    def halves(a):
        return (a.cast("f16").exp() * 2, a.cast("f16").sum(1), a.cast("bf16").sum(1).cast("f32"), (a.cast("bf16") * a.cast("bf16")).cast("f32"),
                a.cast("f16").cast("f32"), a.cast("bf16").cast("f32"), a.cast("f16") / 3, a.cast("f16").cast("bf16").cast("f32"))

    wx, wh, xs = normal(rng, 3, 24), normal(rng, 8, 24), normal(rng, 5, 2, 3)

    @strata.jit
    def recurrent(xs):
        h, all_h = strata.scan(gru(wx, wh, 8), Tensor(np.zeros((2, 8), "f4")), xs)
        return h, all_h

    symbolic, rows = make_symbolic(rng)
    given = {
        "net": (net, [normal(rng, 2, 1, 8, 8)]),
        "formulas": (formulas, [specials(rng)]),
        "doubles": (doubles, [Tensor(np.concatenate([[0, -0.0, 5e-324, 1e-310, np.inf, -np.inf, np.nan, 1e308], rng.standard_normal(40) * 10]))]),
        "integers": (integers, [Tensor(rng.integers(-2000, 2000, (6, 7)).astype("i4")), Tensor(rng.integers(-2**62, 2**62, (6, 7))),
                                Tensor(rng.integers(0, 2**63, (6, 7)).astype("u8"))]),
        "halves": (halves, [specials(rng)]),
        "recurrent": (recurrent, [xs]),
    }
    for f, arguments in given.values():
        call_twice(f, *arguments)
    out = [Case("mlp", mlp, [x]), *(Case(name, f, arguments) for name, (f, arguments) in given.items())]
    return [*out, Case("symbolic", symbolic, [rows(9)], [9])]


def bits(a):
    return a.view(f"u{a.dtype.itemsize}")


def as_c(a):
    """The type of the elements in the model's header, and that of their bits."""
    kind = {"float32": "float", "float64": "double", "bool": "uint8_t"}.get(a.dtype.name)
    kind = kind or ("uint16_t" if a.dtype.name in ("float16", "bfloat16") else f"{a.dtype.name}_t")
    return kind, f"uint{8 * a.dtype.itemsize}_t"


def run_text(model, case):
    """A function that runs the model, and writes the bytes of its results as hexadecimal digits, a result a line."""
    up, given, lines = model.upper(), [], []
    for k, a in enumerate(case.arguments):
        elements = ", ".join(f"{v}u" for v in bits(a).ravel().tolist())
        lines += [f"static {up}_ALIGNAS(64) const {as_c(a)[1]} {model}_x{k}[] = {{{elements}}};"]
        given += [f"(const {as_c(a)[0]} *)(const void *){model}_x{k}"]
    for k, a in enumerate(case.results):
        lines += [f"static {up}_ALIGNAS(64) unsigned char {model}_y{k}[{a.nbytes}];"]
        given += [f"({as_c(a)[0]} *)(void *){model}_y{k}"]
    given += [str(n) for n in case.sizes]
    lines += [f"static {up}_ALIGNAS(64) unsigned char {model}_arena[{up}_ARENA_BYTES + 64];",
              f"static void {model}_prints(void) {{",
              f"  if ({model}_run({', '.join(given)}, {model}_arena, sizeof {model}_arena, 0, 0) != {up}_OK) {{ write_bytes(\"refused\", 7); }}"]
    return "\n".join([*lines, *(f"  write_hex({model}_y{k}, sizeof {model}_y{k});" for k in range(len(case.results))), "}", ""])


def program_text(cases):
    """The program of a machine. @param cases: by the names of models"""
    lines = ['#include "machine.h"', *(f'#include "{m}.h"' for m in cases), "", *(run_text(m, case) for m, case in cases.items())]
    return "\n".join([*lines, "int program(void) {", *(f"  {m}_prints();" for m in cases), "  return 0;", "}", ""])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """All cases, exported for all targets: folder, and cases by the names of models, by target."""
    folder, by_target = tmp_path_factory.mktemp("machines"), {}
    with strata.flags(DETERMINISTIC=True):
        every = cases()
        for target in sorted({t for m in MACHINES.values() for t in m.targets}):
            by_target[target] = {f"{case.name}_{target}": case for case in every}
            for model, case in by_target[target].items():
                case.f.export_c(folder / model, target=target)
            (folder / f"program_{target}.c").write_text(program_text(by_target[target]))
    return folder, by_target


def allowed(kind):
    rows = [line.split() for line in (HERE / "symbols.txt").read_text().splitlines() if line and line[0] != "#"]
    return [name for row in rows if row[0] in ("all", kind) for name in row[1:]]


def agree(got, want):
    """Bit by bit; NaNs have any bits."""
    same = bits(got) == bits(want)
    return same | (np.isnan(got) & np.isnan(want)) if want.dtype.kind == "f" else same


def compile_and_run(name, folder, target, models, level):
    """The words that the program of the models prints."""
    machine, made = MACHINES[name], folder / f"{name}_{target}{level}"
    made.mkdir()
    command = [machine.compiler, level, *machine.compile, *machine.warnings]
    if machine.compiler == TCC:
        for model in models:
            run(*command, "-c", folder / f"{model}.c", "-o", made / f"{model}.o")
    else:
        run(*command, *BARE[:2], "-c", *(folder / f"{model}.c" for model in models), cwd=made)
    for model in models:
        asked = {line.split()[-1] for line in run("llvm-nm-19", "-u", made / f"{model}.o").splitlines()}
        assert [s for s in asked if not any(fnmatch.fnmatchcase(s, name) for name in allowed(machine.kind))] == [], model
    sources = [folder / f"program_{target}.c", HERE / "start.c", HERE / "abi.c", *(made / f"{model}.o" for model in models)]
    if machine.compiler == TCC:
        library = Path("/usr/lib/x86_64-linux-gnu/tcc/libtcc1.a")
        run(GCC, "-O1", "-I", HERE, "-I", folder, *sources, library, *BARE, "-o", made / "program")
    else:
        run(machine.compiler, "-O1", *machine.compile[1:], "-I", HERE, "-I", folder, *sources, *machine.link, "-o", made / "program")
    return run(*machine.runs, made / "program").split()


def check_machine(name, models, target, level):
    folder, by_target = models
    written = iter(compile_and_run(name, folder, target, by_target[target], level))
    for model, case in by_target[target].items():
        for k, want in enumerate(case.results):
            got = np.frombuffer(bytes.fromhex(next(written)), "u1").view(want.dtype).reshape(want.shape)
            same = agree(got, want)
            assert same.all(), f"{model}, result {k}, {name} {level}: {got[~same][:4]}, not {want[~same][:4]}"
    assert next(written, None) is None


def sample():
    """Of each machine its first target at one level, which differs from machine to machine; or all of them."""
    for k, (name, machine) in enumerate(MACHINES.items()):
        if ALL:
            yield from ((name, target, level) for target in machine.targets for level in machine.levels)
        else:
            yield name, machine.targets[0], machine.levels[(k + 2) % len(machine.levels)]


@pytest.mark.parametrize("name, target, level", sample())
def test_same_bits(models, name, target, level):
    check_machine(name, models, target, level)


def test_vectors_that_flush_subnormals_are_refused(models):
    """Vectors of 32-bit ARM compute no subnormal numbers: only a deterministic model for GNU vectors refuses them."""
    folder, _ = models
    command = [CLANG, *AS_C, "--target=armv7-linux-gnueabihf", "-mfpu=neon", *WARNINGS, *BARE[:2], "-fsyntax-only"]
    done = subprocess.run([*command, folder / "formulas_generic.c"], capture_output=True, text=True)
    assert done.returncode == 1 and "formulas_generic: vectors of 32-bit ARM have no subnormal numbers: compile without NEON" in done.stderr
    run(*command, folder / "formulas_plain.c")


def test_abi_of_arm_against_the_processor(tmp_path):
    """What the programs for ARM compute doubles with gives the bits of this machine's doubles."""
    run(CLANG, "-O1", "-shared", "-fPIC", "-ffreestanding", *WARNINGS[:2], "-Werror", HERE / "abi.c", "-o", tmp_path / "abi.so")
    library, rng = ctypes.CDLL(str(tmp_path / "abi.so")), np.random.default_rng(3)
    u8, u4, i8, i4 = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int64, ctypes.c_int

    def called(name, result, kinds, *columns):
        f = getattr(library, name)
        f.restype, f.argtypes = result, kinds
        return np.array([f(*map(int, row)) for row in zip(*columns)], result)

    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.3e-308, 1.7976931348623157e308, 3.4e38, 1e-45, 1e-46], "f8")
    random, near = rng.integers(0, 1 << 64, 1500, dtype="u8").view("f8"), rng.standard_normal(1000) * np.exp2(rng.integers(-3, 3, 1000))
    small = rng.integers(0, 1 << 53, 500, dtype="u8").view("f8")
    a = np.concatenate([np.repeat(special, len(special)), random, near, near, small])
    b = np.concatenate([np.tile(special, len(special)), rng.permutation(random), rng.permutation(near), near * -1.0000000000000002, small[::-1]])
    with np.errstate(all="ignore"):
        for name, want in (("sum", a + b), ("difference", a - b), ("product", a * b), ("quotient", a / b)):
            assert agree(called(f"double_{name}", u8, [u8, u8], bits(a), bits(b)).view("f8"), want).all(), name
        order = np.where(np.isnan(a) | np.isnan(b), 2, np.where(a < b, -1, (a > b).astype("i4")))
        assert (called("double_compared", i4, [u8, u8], bits(a), bits(b)) == order).all()
        assert agree(called("single_of_double", u4, [u8], bits(a)).view("f4"), a.astype("f4")).all()
        floats = np.concatenate([a.astype("f4"), rng.integers(0, 1 << 32, 1000, dtype="u4").view("f4")])
        assert agree(called("double_of_single", u8, [u4], bits(floats)).view("f8"), floats.astype("f8")).all()
        inside = np.clip(np.nan_to_num(a), -9e18, 9e18)
        assert (called("signed_of_double", i8, [u8], bits(inside)) == inside.astype("i8")).all()
    n = np.concatenate([rng.integers(-2**63, 2**63 - 1, 1000), rng.integers(-2**20, 2**20, 500), np.array([0, 1, -1, -2**63, 2**63 - 1])])
    assert (called("double_of_signed", u8, [i8], n).view("f8") == n.astype("f8")).all()
    assert (called("double_of_unsigned", u8, [u8], bits(n)).view("f8") == bits(n).astype("f8")).all()
    assert (called("single_of_signed", u4, [i8], n).view("f4") == n.astype("f4")).all()
    assert (called("single_of_unsigned", u4, [u8], bits(n)).view("f4") == bits(n).astype("f4")).all()
    by = n[::-1] >> rng.integers(0, 63, n.size)
    by[by == 0] = 3
    rest, divided = u8(), library.divided
    divided.restype, divided.argtypes = u8, [u8, u8, ctypes.POINTER(u8)]
    for x, y in zip(bits(n).tolist(), bits(by).tolist()):
        assert (divided(x, y, ctypes.byref(rest)), rest.value) == divmod(x, y)
