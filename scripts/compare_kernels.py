#!/usr/bin/env python3
"""Whether two versions of Strata generate the same kernels, text by text.

    scripts/compare_kernels.py BASE [NEW] [--count N] [--seed S] [--ways LLVM,CLANG,...]

BASE and NEW are git revisions or folders with a checkout; NEW is the working tree where it is not given. Both are built
(Release) in build/compare/NAME/build, from a worktree or a copy beside that. A worktree is removed afterwards; what was
built of a revision is used again. Compared are

- random kernels, N of them (2000) from seed S (1): lists and all languages, as tests/fuzz/kernel_texts.cpp prints them;
- what the programs of examples/ and random programs of tensors compile in several ways, each a device and flags behind
  it (LLVM+NOFUSE), from their traces (docs/viz-trace.md): names, axes, Opts, UOps and sources, in their order, those
  that are the same once. On INTERP the source is the kernel's AST. Programs that take a device minutes are left out.

Where texts differ, the first one is printed as a unified diff, and the exit status is 1; it is 2 where something fails.
CMAKE_BUILD_PARALLEL_LEVEL says how many compilers run at a time.
"""
import argparse
import difflib
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPARE = ROOT / "build" / "compare"
DIGITS = ROOT / "examples" / "data" / "digits.csv"  # the same for both
# Short runs, which compile all that long ones do: in its last four epochs digits does not move its pictures.
PROGRAMS = {
    "digits": ["--epochs", "5", "--data", str(DIGITS)],
    "transformer": ["--steps", "3"],
    "convolve": [],
    "rollout": ["--seconds", "1", "--rollouts", "128"],
    "fir": [],
    "tests/fuzz_graph": ["--count", "100", "--seed", "1", "--devices", "fused,nofuse,jit,slopes"],
}
# What takes minutes, and what sets the flag by itself.
LEFT_OUT = {"INTERP": {"digits", "transformer"}, "CLANG": {"tests/fuzz_graph"}, "LLVM+NOFUSE": {"tests/fuzz_graph"}}
WAYS = "LLVM,CLANG,LLVM+DETERMINISTIC,LLVM+NOFUSE,INTERP"
NO_SOURCES = {".git", "build", "b", "node_modules", "__pycache__"}
TARGETS = ["kernel_texts", *(Path(program).name for program in PROGRAMS)]
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DSTRATA_TESTS=ON", "-DSTRATA_EXAMPLES=ON", "-DSTRATA_PYTHON=OFF"]


class Failure(Exception):
    """Something did not run, so that nothing is said of kernels."""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def compile_tree(folder: Path) -> None:
    """Builds <folder>/source in <folder>/build."""
    configure = ["cmake", "-S", folder / "source", "-B", folder / "build", *OPTIONS]
    if shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    environment = {**os.environ, "CCACHE_BASEDIR": str(COMPARE)}  # both sides share what is compiled
    with open(folder / "log.txt", "w+") as log:
        for command in (configure, ["cmake", "--build", folder / "build", "--target", *TARGETS]):
            if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment).returncode != 0:
                log.seek(0)
                raise Failure("".join(log.readlines()[-40:]) + f"{folder} was not built: {folder}/log.txt")


def copy_tree(tree: Path, to: Path) -> None:
    """What is the same already stays untouched: builds go by times, and those in the tree may lie."""
    kept = set()
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name not in NO_SOURCES]
        for path in (Path(folder, name) for name in names):
            copy = to / path.relative_to(tree)
            kept.add(copy)
            if path.is_file() and not (copy.is_file() and filecmp.cmp(path, copy, shallow=False)):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    for path in [path for path in to.rglob("*") if path.is_file() and path not in kept]:
        path.unlink()


def built(word: str) -> Path:
    """The build folder of a revision or of a checkout."""
    tree = Path(word).resolve()
    if (tree / "CMakeLists.txt").is_file():
        folder = COMPARE / f"{tree.name}-{zlib.crc32(bytes(tree)):08x}"
        copy_tree(tree, folder / "source")
        compile_tree(folder)
        return folder / "build"
    commit = git("rev-parse", "--verify", "--end-of-options", word + "^{commit}")
    folder = COMPARE / commit[:12]
    complete = folder / "complete"  # names what was built
    if complete.exists() and complete.read_text() == " ".join(TARGETS):
        return folder / "build"
    if (folder / "source").exists():  # of a run that was stopped
        git("worktree", "remove", "--force", str(folder / "source"))
    git("worktree", "add", "--quiet", "--force", "--detach", str(folder / "source"), commit)
    try:
        compile_tree(folder)
    finally:
        git("worktree", "remove", "--force", str(folder / "source"))
    complete.write_text(" ".join(TARGETS))
    return folder / "build"


def run(command: list, **options) -> subprocess.CompletedProcess:
    """Flags that are set outside do not count."""
    flags = {"STRATA_DISK_CACHE": "0"} | options.pop("flags", {})
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRATA_")} | flags
    return subprocess.run(command, env=environment, capture_output=True, text=True, **options)


def random_texts(build: Path, *words: str) -> str:
    done = run([build / "tests" / "kernel_texts", *words])
    if done.returncode != 0:
        raise Failure(f"{build}: kernel_texts ended in {done.returncode}: {done.stderr}")
    return done.stdout


def random_text(build: Path, line: str) -> str:
    """The text whose hash stands in the line."""
    seed, what = line.split(" ", 1)[0], line.split(" ", 1)[1].rpartition(" ")[0]
    parts = re.split(r"^--- (.*)\n", random_texts(build, "--only", seed), flags=re.MULTILINE)
    return f"kernel {seed}: {what}\n" + dict(zip(parts[1::2], parts[2::2])).get(what, "")


def kernel_text(kernel: dict) -> str:
    parts = [f"{key}: {kernel[key]}" for key in ("name", "axes", "opts")] + [kernel["uops"], kernel["source"]]
    return "\n".join([kernel_text(first) for first in kernel.get("first", [])] + parts)


def program_texts(build: Path, program: str, way: str) -> list[str]:
    device, *switches = way.split("+")
    flags = {"STRATA_DEVICE": device, "STRATA_PLUGIN_DIR": str(build)} | {f"STRATA_{name}": "1" for name in switches}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.jsonl")
        done = run([build / program, *PROGRAMS[program]], cwd=folder, flags=flags | {"STRATA_VIZ": str(trace)})
        events = [json.loads(line) for line in trace.read_text().splitlines()] if trace.exists() else []
    texts = [kernel_text(event) for event in events if event["event"] == "kernel"]
    # Few steps may leave a net that fails its own test, which is the status 1; an error says whose it is.
    is_error = done.returncode not in {0, 1} or f"{Path(program).name}: " in done.stderr
    if is_error or not texts or events[-1]["event"] != "end":
        raise Failure(f"{build / program} on {way} ended in {done.returncode}: {done.stderr[-2000:]}")
    return texts


def same(what: str, base: list[str], new: list[str], text_of=lambda side, text: text) -> bool:
    """Compares ordered sets of texts, and says what differs; `text_of(side, text)` is what is printed for a text."""
    sides = dict.fromkeys(base), dict.fromkeys(new)
    if list(sides[0]) == list(sides[1]):
        print(f"{what}: {len(sides[0])} texts are the same", flush=True)
        return True
    gone, come = ([t for t in a if t not in b] for a, b in (sides, sides[::-1]))
    if not gone and not come:
        print(f"{what}: {len(sides[0])} texts are the same, in another order")
        return False
    print(f"{what}: {len(gone)} of {len(sides[0])} texts are gone, {len(come)} of {len(sides[1])} are new; the first:")
    texts = [text_of(side, some[0]).splitlines() if some else [] for side, some in enumerate((gone, come))]
    print("\n".join(difflib.unified_diff(*texts, "base", "new", lineterm="")), flush=True)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE")
    parser.add_argument("new", metavar="NEW", nargs="?", default=str(ROOT))
    parser.add_argument("--count", default="2000")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--ways", default=WAYS)
    options = parser.parse_args()
    try:
        builds = [built(options.base), built(options.new)]
        lines = [random_texts(b, "--count", options.count, "--seed", options.seed).splitlines() for b in builds]
        compared = [same(f"{options.count} random kernels", *lines, lambda side, line: random_text(builds[side], line))]
        for way in options.ways.split(","):
            for program in (p for p in PROGRAMS if p not in LEFT_OUT.get(way, ())):
                texts = [program_texts(b, program, way) for b in builds]
                compared.append(same(f"{program} on {way}", *texts))
    except (Failure, subprocess.CalledProcessError) as failure:
        print(failure, file=sys.stderr)
        return 2
    print("the kernels are the same" if all(compared) else "kernels DIFFER")
    return 0 if all(compared) else 1


if __name__ == "__main__":
    sys.exit(main())
