#!/usr/bin/env python3
"""The documentation's code, run, and the places that it names: check_docs.py --build BUILD_FOLDER [--all] [FILE...]
(default README.md, DESIGN.md, CONTRIBUTING.md and docs with its folders); check_docs.py --places [FILE...]: the places alone

`path:function`  in single backquotes, outside of blocks, path from the root of the tree: the file declares or defines the
            function (a macro by #define), or is a table (*.def) with a row of that name. `Class::function` is of a class of the file.

```cpp      compiled against the library of the build and run, in a folder with copies of the files of docs/models. A block without `main` becomes the body of one; its
            #include lines move to the top, <strata/strata.h> and `using namespace strata` are there already.
```python   run in an empty folder by PYTHON (default /usr/bin/python3, Debian's), with the build's Python module in its
            path. Where the build has no module these blocks are left out, and a line says how many
            (with --all, the check fails then).
```console  each `$ command` is run in bash at the root of the tree, with the build's `strata` in the path; the lines
            after it are its output (both streams).
An ```output block right after a cpp or python block is what it prints. A line `...` in an output stands for any lines,
and `…` within a line for any text. A line `<!-- check: WORD -->` before a block: `continues` (cpp, python: after the
previous block of its language on the page, in one program), and for cpp `compile` (do not run it) and `declarations`
(at file scope, compiled only). Lines of messages are those of the page. Prints `N passed, N failed`, with `, N not run`
where blocks were left out.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"<!-- check: (\w+) -->\s*\Z")
MARKERS = {"cpp": {"", "compile", "declarations", "continues"}, "python": {"", "continues"}}
PLACE = re.compile(r"(?<!`)`([\w./-]+\.(?:h|cpp|def)):([^`\s]+)`(?!`)")
KEYWORDS = {"return", "throw", "new", "delete", "else", "case", "co_return", "goto", "using", "typedef", "do"}
MARK = "\x1e"  # what a program of several blocks prints, in a line of its own, before each of them


@dataclass
class Block:
    file: Path
    line: int  # of its first fence
    language: str
    text: str
    marker: str
    output: str | None = None  # of a cpp or python block

    def place(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"


def blocks(file: Path) -> list[Block]:
    text = file.read_text()
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        between = text[end:fence.start()]
        end = fence.end()
        line = text.count("\n", 0, fence.start()) + 1
        if fence[1] == "output":
            if not found or found[-1].language not in MARKERS or between.strip():
                raise SystemExit(f"{file}:{line}: an output block that follows no cpp or python block")
            found[-1].output = fence[2]
            continue
        marker = MARKER.search(between)
        found.append(Block(file, line, fence[1], fence[2], marker[1] if marker else ""))
        if found[-1].marker not in MARKERS.get(fence[1], {""}):
            raise SystemExit(f"{found[-1].place()}: unknown marker {found[-1].marker}")
    return found


def code_of(text: str) -> str:
    """C++ without its comments and the insides of its literals."""
    token = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'", re.DOTALL)
    return token.sub(lambda m: " " if m[0].startswith("/") else '""', text)


def is_declared(name: str, code: str) -> bool:
    """Whether code declares or defines a function: a type in front of its name (or its class, of a constructor), and behind its
    parameters what may follow those. What calls it has an operator, a keyword or nothing in front."""
    if re.search(rf"^#define {re.escape(name)}\(", code, re.MULTILINE):
        return True
    scope, _, last = name.rpartition("::")
    if scope and not re.search(rf"\b(?:class|struct|namespace) {re.escape(scope)}\b|\b{re.escape(scope)}::", code):
        return False
    for found in re.finditer(rf"(?<![\w~.>])(?:\w+::)*(?<!\w){re.escape(last)}\s*\(", code):
        front = re.split(r"[;{}]|^#.*$|^ *(?:public|private|protected):", code[:found.start()], flags=re.MULTILINE)[-1]
        if not re.fullmatch(r"(?:[\w:<>,&*\s\[\]\"]|\.\.\.|\([^()]*\))*", front) or KEYWORDS & set(front.split()):
            continue
        is_constructor = not front.strip() and re.fullmatch(rf"(?:{last}::)?{last}\s*\(", found[0])
        if not is_constructor and not re.search(r"[\w>&*\]]\s*$", front):
            continue
        depth, k = 1, found.end()
        while k < len(code) and depth:
            depth += {"(": 1, ")": -1}.get(code[k], 0)
            k += 1
        if re.match(r"\s*(?:const\b|noexcept\b|override\b|final\b|&&?|\s)*(?:->|requires\b|[;{:]|=\s*(?:0|default|delete)\b)", code[k:]):
            return True
    return False


def has_row(name: str, text: str) -> bool:
    """Whether a table has a row of that name: its first argument or its second; or what the comment behind says."""
    row = re.compile(rf"^STRATA_\w+\((?:[\w:]+, )?{re.escape(name)}[,)]|^STRATA_\w+\(.*\)\s*// {re.escape(name)}$", re.MULTILINE)
    return row.search(text) is not None


def check_places(file: Path) -> list[tuple[str, str | None]]:
    """Each place that a page names, and what is wrong with it."""
    text = FENCE.sub(lambda m: "\n" * m[0].count("\n"), file.read_text())
    found: list[tuple[str, str | None]] = []
    for place in PLACE.finditer(text):
        path, name = ROOT / place[1], place[2]
        problem = None
        if not path.is_file():
            problem = f"there is no {place[1]}"
        elif path.suffix == ".def" and not has_row(name, path.read_text()):
            problem = f"{place[1]} has no row {name}"
        elif path.suffix != ".def" and not is_declared(name, code_of(path.read_text())):
            problem = f"{place[1]} declares no {name}"
        found.append((f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, place.start()) + 1}", problem))
    return found


def programs(file: Path) -> list[list[Block]]:
    """The blocks of a page that are run, those that continue each other together."""
    found: list[list[Block]] = []
    for block in blocks(file):
        if block.marker == "continues":
            before = [p for p in found if p[0].language == block.language]
            if not before or before[-1][-1].marker not in {"", "continues"}:
                raise SystemExit(f"{block.place()}: continues no {block.language} block that runs")
            before[-1].append(block)
        elif block.language in {*MARKERS, "console"}:
            found.append([block])
    return found


def agrees(printed: str, expected: str) -> bool:
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        text = re.escape(line.rstrip()).replace("…", ".*") + r"[ \t]*\n"
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else text
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def cpp_program(program: list[Block]) -> str:
    """The blocks as one source, whose lines are those of their page."""
    opening = "#include <strata/strata.h>\n#include <cassert>\n#include <iostream>\n"
    body = ""
    for block in program:
        body += f'std::cout << "{MARK}\\n" << std::flush;\n#line {block.line + 1} "{block.file.name}"\n'
        for line in block.text.splitlines():
            is_include = line.lstrip().startswith("#include")
            opening += line + "\n" if is_include else ""
            body += ("" if is_include else line) + "\n"
    if program[0].marker == "declarations" or any(re.search(r"\bint main\(", b.text) for b in program):
        return opening + body[body.index("\n") + 1:]
    return f"{opening}using namespace strata;\nint main() {{\n{body}}}\n"


def python_program(program: list[Block]) -> str:
    lines: list[str] = []
    for block in program:
        lines += [""] * (block.line - 1 - len(lines))
        lines += [f"print({MARK!r}, flush=True)", *block.text.splitlines()]
    return "\n".join(lines) + "\n"


def run_program(command: list[str], program: list[Block], folder: Path, **environment: str) -> list[str | None]:
    """What is wrong with each block: how the program ended in it, or what it printed instead of its output."""
    result = subprocess.run(command, cwd=folder, env=dict(os.environ, **environment), text=True, timeout=300,
                            stdin=subprocess.DEVNULL, capture_output=True)
    printed = result.stdout.split(MARK + "\n")
    printed = printed[1:] if len(printed) > 1 else printed
    problems: list[str | None] = []
    for k, block in enumerate(program):
        if k >= len(printed):
            problems.append("not reached")
        elif result.returncode != 0 and k + 1 == len(printed):
            problems.append(f"exit status {result.returncode}:\n{printed[k]}{result.stderr}")
        elif block.output is not None and not agrees(printed[k], block.output):
            problems.append(f"printed\n{printed[k]}instead of\n{block.output}")
        else:
            problems.append(None)
    return problems


COMPILE = [os.environ.get("CXX", "g++"), "-std=c++20", "-UNDEBUG", "-O1", "-Wall", "-Wextra", "-pthread"]


def precompile(folder: Path) -> None:
    """<strata/strata.h>, read once: GCC finds it in `folder` before that of the tree."""
    header = folder / "strata" / "strata.h"
    header.parent.mkdir(parents=True)
    header.write_text(f'#include "{ROOT}/strata/strata.h"\n')
    subprocess.run([*COMPILE, f"-I{ROOT}", "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)


def check_cpp(program: list[Block], build: Path, work: Path) -> list[str | None]:
    source, binary = work / "block.cpp", work / "block"
    source.write_text(cpp_program(program))
    libs = subprocess.run(["pkg-config", "--libs-only-l", "--libs-only-other", "strata"], check=True, text=True,
                          env=dict(os.environ, PKG_CONFIG_PATH=str(build)), stdout=subprocess.PIPE).stdout.split()
    libraries = [f"-L{build}", *libs]
    only = ["-fsyntax-only"] if program[0].marker in {"compile", "declarations"} else ["-o", str(binary), *libraries]
    headers = [f"-I{work.parent / 'headers'}", f"-I{ROOT}"]
    result = subprocess.run([*COMPILE, *headers, str(source), *only], capture_output=True, text=True)
    if result.returncode != 0:
        return [f"does not compile:\n{result.stderr}", *["does not compile"] * (len(program) - 1)]
    if "-fsyntax-only" in only:
        return [None]
    with tempfile.TemporaryDirectory(dir=work) as empty:
        shutil.copytree(ROOT / "docs/models", empty, dirs_exist_ok=True)
        return run_program([str(binary)], program, Path(empty), STRATA_PLUGIN_DIR=str(build.resolve()))


def check_python(program: list[Block], build: Path, work: Path) -> list[str | None]:
    source = work / program[0].file.name  # what messages call it
    source.write_text(python_program(program))
    python = os.environ.get("PYTHON", "/usr/bin/python3")
    with tempfile.TemporaryDirectory(dir=work) as empty:
        return run_program([python, str(source)], program, Path(empty), PYTHONPATH=str(build.resolve() / "python"))


def check_console(program: list[Block], build: Path, _work: Path) -> list[str | None]:
    environment = dict(os.environ, PATH=f"{build.resolve()}:{os.environ['PATH']}")
    turns = re.split(r"^\$ ", program[0].text, flags=re.MULTILINE)
    if turns[0].strip():
        return ["starts with output, not with a `$ command`"]
    for turn in turns[1:]:
        command, _, expected = turn.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command += "\n" + more
        result = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, text=True, timeout=300,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not agrees(result.stdout, expected):
            return [f"$ {command}\nprinted\n{result.stdout}instead of\n{expected}"]
    return [None]


def main() -> int:
    parser = argparse.ArgumentParser()
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--build", type=Path)
    which.add_argument("--places", action="store_true", help="run nothing")
    parser.add_argument("--all", action="store_true", help="blocks that are left out have failed")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    pages = [p for p in ("README.md", "DESIGN.md", "CONTRIBUTING.md") if (ROOT / p).exists()]
    files = [f.resolve() for f in options.files] or [ROOT / p for p in pages] + sorted((ROOT / "docs").rglob("*.md"))
    places = [place for file in files for place in check_places(file)]
    wrong = [f"{place}: {problem}\n" for place, problem in places if problem is not None]
    print("\n".join(wrong), end="\n" if wrong else "")
    failed = len(wrong)
    passed = len(places) - failed
    if options.places:
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    has_python = any((options.build / "python" / "strata").glob("_strata*.so"))
    all_programs = [p for file in files for p in programs(file)]
    to_run = [p for p in all_programs if has_python or p[0].language != "python"]
    left_out = sum(len(p) for p in all_programs) - sum(len(p) for p in to_run)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as workers:
        if any(p[0].language == "cpp" for p in to_run):
            precompile(Path(folder) / "headers")

        def check(k: int) -> list[str | None]:
            work = Path(folder) / str(k)
            work.mkdir()
            by_language = {"cpp": check_cpp, "python": check_python, "console": check_console}
            return by_language[to_run[k][0].language](to_run[k], options.build, work)

        for program, problems in zip(to_run, workers.map(check, range(len(to_run))), strict=True):
            for block, problem in zip(program, problems, strict=True):
                failed += problem is not None
                passed += problem is None
                if problem is not None:
                    print(f"{block.place()}: {problem}\n")
    if left_out:
        print(f"LEFT OUT: {left_out} python blocks: {options.build} has no Python module")
    print(f"{passed} passed, {failed} failed" + (f", {left_out} not run" if left_out else ""))
    return 1 if failed or passed == 0 or (options.all and left_out) else 0


if __name__ == "__main__":
    sys.exit(main())
