#!/usr/bin/env python3
"""What keeps the floors standing, checked on the text of the sources.

The lines strata_floor() of CMakeLists.txt say what each floor stands on. A file of a floor includes its own floor and those that it
stands on, directly or by another, and no umbrella header (strata/*.h); no line says what no include needs; DESIGN.md's graph and the
table of docs/floors/ say the same. There is no include cycle; the floors of ALGEBRA use the standard library only, and so do headers
that are installed, but for POSIX, and those name nothing of other libraries; headers at paths of an earlier version (FORWARDING)
only forward; files stay short, and so do lines, but for those of aligned tables; nothing is parked in comments.
Prints `N passed, N failed` over the files.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What each floor stands on, those below first.
FLOORS = {name: set(re.findall(r"strata_(\w+)", links)) for name, links in
          re.findall(r"^strata_floor\((\w+) ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)}
ALGEBRA = {"base", "dtype", "expr", "view", "affine", "layout", "shard", "loops"}
STANDARD = set("""algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
climits clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
cstring ctime cwchar deque exception execution filesystem format forward_list fstream functional future initializer_list
iomanip ios iosfwd iostream istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric
optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream
stack stdexcept stop_token streambuf string string_view system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version""".split())
POSIX = {"sys/stat.h"}
C_HEADERS = {"stdint.h"}  # of headers that are C as well
OF_FORK = ("strata/base/fork.cpp", "pthread.h")  # the one place of the algebra that knows of processes
PRIVATE = "strata/runtime/llvm_plugin/"  # what cmake/install.cmake leaves out
USERS_GRADIENT = "strata/tensor/custom_gradient.h"  # whose functions may capture a Tensor
MAY_INCLUDE_USERS_GRADIENT = {"strata/tensor.h", "strata/tensor/custom_gradient.cpp"}
# Headers at paths of an earlier version, each for one version: all that they do is include what took their place, on a floor above.
FORWARDING = {"strata/graph/kernel_text.h": "strata/ops/kernel_text.h", "strata/view/layout_by_mode.h": "strata/layout/layout_by_mode.h"}
FOREIGN = re.compile(r"\bnamespace (?:fmt|nlohmann|llvm|tbb|pybind11)\b|\b(?:fmt|nlohmann|llvm|tbb|pybind11)::"
                     r"|\b(?:LLVM[A-Z]|_?cl_|z_|Py(?:Object|_))\w*")
LENGTH_CAP = 600  # tables (*.def) exempt
WIDTH_CAP = 120  # of a line of .h and .cpp, comments among them, as clang-format holds it. Aligned tables and raw strings are exempt
# Split, so that this file does not hold the words that it forbids.
FORBIDDEN = [(re.compile(pattern), word) for pattern, word in [
    (r"\bTO" r"DO\b", "an open task"), (r"\bFIX" r"ME\b", "an open task"), (r"\bXX" r"X\b", "an open task"),
    (r"\bNO" r"LINT", "a silenced check"), (r"^\s*#\s*if\s+0\b", "code switched off"),
    (r"\bcatch\s*\(\s*\.\.\.\s*\)", "an error swallowed whole")]]
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def floor_of(path: str) -> str | None:
    """The floor of a path below the root; umbrella headers are in none."""
    match = re.match(r"strata/(\w+)/", path)
    return match[1] if match and match[1] in FLOORS else None


def reach(floor: str) -> set[str]:
    """The floor and all that it stands on."""
    return {floor}.union(*(reach(below) for below in FLOORS[floor]))


def check_map(graph: dict) -> list[str]:
    """What the lines of CMakeLists.txt, the tree and the documents say of the floors, beside each other."""
    problems, seen = [], set()
    for floor, below in FLOORS.items():
        problems += [f"CMakeLists.txt: {floor} stands on {name}, of which no line comes before" for name in sorted(below - seen)]
        seen.add(floor)
    if problems:
        return problems
    used = {(floor_of(path), floor_of(target)) for path, targets in graph.items() for target in targets}
    for floor, below in FLOORS.items():
        problems += [f"CMakeLists.txt: {floor} includes nothing of {name}" for name in sorted(below) if (floor, name) not in used]
    folders = {path.name for path in (ROOT / "strata").iterdir() if path.is_dir()}
    problems += [f"strata/{name}/ is no floor, or no floor has it" for name in sorted(folders ^ FLOORS.keys())]

    design = (ROOT / "DESIGN.md").read_text()
    chains = re.findall(r"^(?:\w+(?: → \w+)+ *)+$", "\n".join(re.split(r" {2,}|\n", design)), re.MULTILINE)
    drawn = {pair for chain in chains for names in [chain.split(" → ")] for pair in zip(names, names[1:])}
    meant = {(floor, name) for floor, below in FLOORS.items() for name in below}
    problems += [f"DESIGN.md: {a} → {b} is " + ("not drawn" if (a, b) in meant else "not so") for a, b in sorted(drawn ^ meant)]
    if re.findall(r"^strata/(\w+)/", design, re.MULTILINE) != list(FLOORS):
        problems.append("DESIGN.md: the list of floors is another than that of CMakeLists.txt")
    table = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \|[^|]*\| ([^|]*) \|", (ROOT / "docs/floors/README.md").read_text(), re.MULTILINE)
    rows = {name: set(on.split(", ")) - {"the standard library"} for name, page, on in table if on != "all" and name == page}
    problems += [f"docs/floors/README.md: the row of {name} is another than its line of CMakeLists.txt"
                 for name in sorted(FLOORS.keys() | rows.keys()) if rows.get(name) != FLOORS.get(name)]
    problems += [f"docs/floors/{name}.md is missing" for name in FLOORS if not (ROOT / f"docs/floors/{name}.md").exists()]
    return problems


def check_includes(path: str, text: str, graph: dict) -> list[str]:
    problems = []
    if path in FORWARDING:
        return [] if INCLUDE.findall(text) == [(FORWARDING[path], "")] else [f'is to include "{FORWARDING[path]}" alone']
    floor = floor_of(path)
    is_public = path.startswith("strata/") and path.endswith(".h") and not path.startswith(PRIVATE)
    for quoted, angled in INCLUDE.findall(text):
        if quoted:
            graph.setdefault(path, []).append(quoted)
            if not (ROOT / quoted).exists():
                problems.append(f'"{quoted}" is not a path from the root of the tree')
            if quoted in FORWARDING:
                problems.append(f'"{quoted}" is for programs of an earlier version: "{FORWARDING[quoted]}" is meant')
            target = floor_of(quoted)
            if floor and target not in reach(floor):
                problems.append(f'{floor} does not stand on what it includes: "{quoted}"')
        elif floor in ALGEBRA and angled not in STANDARD and (path, angled) != OF_FORK:
            problems.append(f"{floor} uses the standard library only, not <{angled}>")
        elif is_public and angled not in STANDARD | POSIX | C_HEADERS:
            problems.append(f"a header that is installed includes <{angled}>")
        if quoted == USERS_GRADIENT and floor and path not in MAY_INCLUDE_USERS_GRADIENT:
            problems.append(f'includes "{quoted}": operations of ours capture nothing, with_gradient() of ops/backward.h is meant')
        if is_public and quoted.startswith(PRIVATE):
            problems.append(f'a header that is installed includes "{quoted}", which is not')
    code = re.sub(r"//[^\n]*", "", text) if is_public else ""
    problems += [f"a header that is installed names {name}" for name in sorted(set(FOREIGN.findall(code)))]
    return problems


def check_text(path: str, text: str) -> list[str]:
    lines = text.splitlines()
    problems = []
    if len(lines) > LENGTH_CAP and not path.endswith(".def"):
        problems.append(f"{len(lines)} lines, the cap is {LENGTH_CAP}")
    is_table = is_raw = False
    for number, line in enumerate(lines, 1):
        problems += [f"line {number}: {word}" for regex, word in FORBIDDEN if regex.search(line)]
        is_table = "clang-format off" in line or (is_table and "clang-format on" not in line)
        was_raw = is_raw
        is_raw = line.rfind('R"') > line.rfind(')"') if 'R"' in line else is_raw and ')"' not in line
        if len(line) > WIDTH_CAP and not (is_table or was_raw or 'R"' in line) and path.endswith((".h", ".cpp")):
            problems.append(f"line {number}: {len(line)} columns, the cap is {WIDTH_CAP}")
    explained = path.endswith(".cpp") and (ROOT / path).with_suffix(".h").exists()  # by the header beside it
    if path.startswith(("strata/", "tools/", "viz/")) and not path.endswith((".py", ".ts", ".tsx")) and not explained and not text.startswith("//"):
        problems.append("does not open with what it is for")
    return problems


def cycles(graph: dict) -> list[str]:
    """Include cycles, by removing what includes nothing until nothing can be removed."""
    edges = {node: set(targets) for node, targets in graph.items()}
    while leaves := {n for targets in edges.values() for n in targets if n not in edges} | {
            n for n, targets in edges.items() if not targets}:
        edges = {n: targets - leaves for n, targets in edges.items() if n not in leaves}
    return sorted(edges)


def main() -> int:
    files = sorted(p for folder in ("strata", "tools", "tests", "bench", "examples", "viz")
                   for p in (ROOT / folder).rglob("*")
                   if p.suffix in {".h", ".cpp", ".def", ".py", ".sh", ".ts", ".tsx"} and "node_modules" not in p.parts)
    graph: dict = {}
    failed = 0
    for file in files:
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text()
        problems = check_text(path, text) + (check_includes(path, text, graph) if file.suffix in {".h", ".cpp"} else [])
        failed += bool(problems)
        for problem in problems:
            print(f"{path}: {problem}")
    looped = cycles(graph)
    if looped:
        print("include cycle among: " + ", ".join(looped))
    misfits = check_map(graph)
    print("".join(f"{problem}\n" for problem in misfits), end="")
    failed += bool(looped) + bool(misfits)
    print(f"{len(files) + 2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
