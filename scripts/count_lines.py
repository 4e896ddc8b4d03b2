#!/usr/bin/env python3
"""Lines of code by floor, without comments, docstrings and blank lines.

count_lines.py [REVISION]   the working tree, or a git revision
count_lines.py A B          two revisions, and the difference

The floors come first, then what is around them, and their sum; below it what is no part of the product: tests, benches,
examples, and pages, of which each line that is not blank counts. Tables (*.def) are code. `longest` is by lines of code.
"""
import ast
import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ["strata/", "python/", "tools", "viz", "cmake"]  # what rows begin with, in their order
OTHERS = ["tests", "bench", "examples", "scripts", "packaging", "docs"]
C_LIKE = {".cpp", ".h", ".def", ".ts", ".tsx", ".mts", ".mjs", ".css"}
PYTHON = {".py", ".pyi"}
HASH = {".cmake", ".sh"}  # comments are lines that begin with #
# Literals come first, so that what looks like a comment in them stays; a ' behind a digit separates digits.
COMMENT = re.compile(r'''R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`'''
                     r"|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL)


def row_of(path: str) -> str | None:
    first, *rest = path.split("/")
    if first == "strata":
        return "strata/*.h" if path == "strata/strata.h" else "strata/" + rest[0].removesuffix(".h")
    if path.endswith(".md") or path.startswith("viz/tests/"):
        return "docs" if path.endswith(".md") else "tests"
    if first == "python":
        return f"python/{rest[0]}" if rest[0] in {"src", "strata"} else "python/*"
    alone = {"CMakeLists.txt": "cmake", "run": "scripts", "test": "scripts"}
    return first if first in PRODUCT + OTHERS else alone.get(first)


def code_lines(path: str, text: str) -> int | None:
    name, suffix = Path(path).name, Path(path).suffix
    has_hash = suffix in HASH | PYTHON or name == "CMakeLists.txt" or path in {"run", "test"}
    if suffix in C_LIKE:
        text = COMMENT.sub(lambda m: "\n" * m[0].count("\n") if m["comment"] else m[0], text)
    elif suffix in PYTHON:
        text = without_docstrings(text)
    elif not has_hash and suffix not in {".md", ".html"}:
        return None
    return sum(1 for line in text.splitlines() if line.strip() and not (has_hash and line.lstrip().startswith("#")))


def without_docstrings(text: str) -> str:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(lines)


def files_of(revision: str | None) -> dict[str, bytes]:
    command = ["archive", revision] if revision else ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(["git", *command], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    if revision is None:
        return {n: (ROOT / n).read_bytes() for n in out.decode().split("\0") if (ROOT / n).is_file()}
    with tarfile.open(fileobj=io.BytesIO(out)) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}


def counted(revision: str | None) -> dict[str, list[tuple[int, str]]]:
    """By row: the lines and the name of each file."""
    rows: dict[str, list[tuple[int, str]]] = {}
    for name, content in files_of(revision).items():
        if (row := row_of(name)) and (lines := code_lines(name, content.decode(errors="replace"))) is not None:
            rows.setdefault(row, []).append((lines, name))
    return rows


def main() -> int:
    if len(sys.argv) > 3 or any(word.startswith("-") for word in sys.argv[1:]):
        print(__doc__)
        return 2
    tables = [counted(revision) for revision in sys.argv[1:] or [None]]
    rows = sorted({row for table in tables for row in table} - {*OTHERS})
    rows.sort(key=lambda row: [row.startswith(start) for start in PRODUCT].index(True))
    for row in [*rows, "sum", *OTHERS]:
        cells = [[f for r in (rows if row == "sum" else [row]) for f in table.get(r, [])] for table in tables]
        sums = [sum(lines for lines, _ in files) for files in cells]
        text = f"{row:<16}" + "".join(f"{len(f):>5} files{n:>7} lines" for f, n in zip(cells, sums))
        if len(tables) == 2:
            text += f"{sums[1] - sums[0]:>+8}{100 * sums[1] / max(sums[0], 1) - 100:>+8.1f} %"
        print("{}   longest {:>4} {}".format(text, *max(cells[-1], default=(0, ""))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
