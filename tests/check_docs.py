#!/usr/bin/env python3
"""The documentation's code, run: check_docs.py --build BUILD_FOLDER [FILE...]  (default README.md, docs/*.md, ...).

```cpp      compiled against the library of the build and run. A block without `main` becomes the body of one; its
            #include lines move to the top, <strata/strata.h> and `using namespace strata` are there already.
            An ```output block right after it is what it prints.
```console  each `$ command` is run in bash at the root of the tree, with the build's `strata` in the path; the lines
            after it are its output (both streams).
A line `...` in an output stands for any lines, and `…` within a line for any text. A line `<!-- check: WORD -->` before
a block: `compile` (do not run it), `declarations` (at file scope, compiled only), `continues` (after the previous cpp
block of the page, in one program).
Prints `N passed, N failed`.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"<!-- check: (\w+) -->\s*\Z")
MARKERS = {"", "compile", "declarations", "continues"}


@dataclass
class Block:
    place: str
    language: str
    text: str
    marker: str
    output: str | None = None  # of a cpp block


def blocks(file: Path) -> list[Block]:
    text = file.read_text()
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        between = text[end:fence.start()]
        end = fence.end()
        line = text.count("\n", 0, fence.start()) + 1
        if fence[1] == "output":
            if not found or found[-1].language != "cpp" or between.strip():
                raise SystemExit(f"{file}:{line}: an output block that follows no cpp block")
            found[-1].output = fence[2]
            continue
        marker = MARKER.search(between)
        found.append(Block(f"{file.relative_to(ROOT)}:{line}", fence[1], fence[2], marker[1] if marker else ""))
        if found[-1].marker not in MARKERS:
            raise SystemExit(f"{found[-1].place}: unknown marker {found[-1].marker}")
    return found


def agrees(printed: str, expected: str) -> bool:
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()).replace("…", ".*") + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def program(text: str, marker: str) -> str:
    includes = "".join(line + "\n" for line in text.splitlines() if line.lstrip().startswith("#include"))
    rest = "".join(line + "\n" for line in text.splitlines() if not line.lstrip().startswith("#include"))
    opening = "#include <strata/strata.h>\n#include <cassert>\n#include <iostream>\n" + includes
    if marker == "declarations" or re.search(r"\bint main\(", text):
        return opening + rest
    return f"{opening}using namespace strata;\nint main() {{\n{rest}}}\n"


def check_cpp(block: Block, text: str, build: Path, work: Path) -> str | None:
    source, binary = work / "block.cpp", work / "block"
    source.write_text(program(text, block.marker))
    libs = re.search(r"^Libs: -L\S+ (.*)$", (build / "strata.pc").read_text(), re.MULTILINE)[1].split()
    libraries = [f"-L{build}", *libs]
    only = ["-fsyntax-only"] if block.marker in {"compile", "declarations"} else ["-o", str(binary), *libraries]
    compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-UNDEBUG", "-O1", "-Wall", "-Wextra", f"-I{ROOT}"]
    result = subprocess.run([*compiler, str(source), *only, "-pthread"], capture_output=True, text=True)
    if result.returncode != 0:
        return f"does not compile:\n{result.stderr}"
    if "-fsyntax-only" in only:
        return None
    result = subprocess.run([str(binary)], capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        return f"exit status {result.returncode}:\n{result.stdout}{result.stderr}"
    if block.output is not None and not agrees(result.stdout, block.output):
        return f"printed\n{result.stdout}instead of\n{block.output}"
    return None


def check_console(block: Block, build: Path) -> str | None:
    environment = dict(os.environ, PATH=f"{build.resolve()}:{os.environ['PATH']}")
    turns = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    if turns[0].strip():
        return "starts with output, not with a `$ command`"
    for turn in turns[1:]:
        command, _, expected = turn.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command += "\n" + more
        result = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, text=True, timeout=300,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not agrees(result.stdout, expected):
            return f"$ {command}\nprinted\n{result.stdout}instead of\n{expected}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    pages = [p for p in ("README.md", "DESIGN.md", "CONTRIBUTING.md") if (ROOT / p).exists()]
    files = [f.resolve() for f in options.files] or [ROOT / p for p in pages] + sorted((ROOT / "docs").glob("*.md"))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            before = ""
            for block in blocks(file):
                problem = None
                if block.language == "cpp":
                    before = (before if block.marker == "continues" else "") + block.text
                    problem = check_cpp(block, before, options.build, Path(folder))
                elif block.language == "console":
                    problem = check_console(block, options.build)
                else:
                    continue
                failed += problem is not None
                passed += problem is None
                if problem is not None:
                    print(f"{block.place}: {problem}\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
