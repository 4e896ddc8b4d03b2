"""export_c(object=): kernels that LLVM compiles when the model is exported. Deterministic models give the bits of this process on each
machine, linked with the C file, and run in another process: under qemu and node where the machine is another one."""
import fnmatch
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import strata
import test_export_machines as machines
from exported import (ALLOWED, AS_C, AS_CXX, CLANG, COMPILERS, GCC, NEEDS_COMPILERS, WARNINGS, call_twice, deterministic, gru, make_mlp,
                      make_symbolic, normal, run)
from strata import Tensor
from test_export import random_function
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
