#!/usr/bin/env python3
"""The reference: `build.py OUT [--module FOLDER]` makes OUT/html/index.html from the headers, with Doxygen, and beside it, in
OUT/html/python, that of the Python module which lies in FOLDER. Fails on words that are wrong (an unknown parameter, a link
to nothing, a command that is none), naming file and line.

Public is what `#include <strata/strata.h>` brings in, and each header that README.md, docs/ or examples/ include; but nothing
in a namespace `detail`. What Doxygen reads is a copy of them: the comment at the head of a file
describes that file, a floor is a group, and tables (*.def) are written out, each row with its own words.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = re.compile(r'#include [<"](strata/[^">]+\.h)[">]')


def public_headers():
    """Paths from the root, in the order of the floors and then of names."""
    todo = ["strata/strata.h"]
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/*.[mc]*"))]:
        todo += INCLUDE.findall(page.read_text(encoding="utf-8"))
    seen = set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += INCLUDE.findall((ROOT / name).read_text(encoding="utf-8"))
    return sorted(seen)


def floors():
    """[(name, what it is)] as DESIGN.md lists them, from the bottom."""
    rows, found = [], False
    for line in (ROOT / "DESIGN.md").read_text(encoding="utf-8").splitlines():
        start = re.match(r"strata/(\w+)/\s+(.+)", line)
        if start:
            rows.append([start[1], start[2]])
        elif rows and re.match(r" {10,}\S", line) and not found:
            rows[-1][1] += " " + line.strip()
        elif rows:
            found = True
    return [(name, text[0].upper() + text[1:] + ".") for name, text in rows]


def plain(text):
    """Text that means nothing to Doxygen but itself, save `code` and *emphasis*."""
    pieces = re.split(r"(`[^`]*`|(?<!\S)\*\w+\*)", text)
    return "".join(p if k % 2 else re.sub(r"([@\\<>#%*&])", r"\\\1", p) for k, p in enumerate(pieces))


def head(lines):
    """The comment at the head of a file as its description: what is set in by two is an example."""
    count = next((k for k, line in enumerate(lines) if not line.startswith("//")), len(lines))
    out, code = ["/** @file"], False
    for line in lines[:count]:
        text = line[2:].removeprefix(" ").rstrip()
        if text.startswith("  ") != code and text:
            code = not code
            out.append("@code{.unparsed}" if code else "@endcode")
        out.append(text[2:].replace("*/", "* /") if code else plain(text))
    return out + (["@endcode"] if code else []) + ["*/"] + lines[count:]


def split(text):
    """Arguments of a macro, and what comes behind its closing parenthesis."""
    parts, depth, start, quoted = [], 0, 0, False
    k = 0
    while k < len(text):
        c = text[k]
        if quoted:
            k += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c == ")":
            return parts + [text[start:k].strip()], text[k + 1:]
        elif c == "," and not depth:
            parts.append(text[start:k].strip())
            start = k + 1
        k += 1
    return None, ""


# A parameter of an operation (strata/ops/parameters.h) as a declaration has it; {0} is the type of tensors, {1} that of operands.
DECLARED = {"tensor": "const {0}& {2}", "tensors": "std::span<const {0}> {2}", "operand": "const {1}& {2}",
            "operand_or": "const {1}& {2} = {3}", "maybe_tensor": "const std::optional<{0}>& {2} = {{}}",
            "maybe_operand": "const std::optional<{1}>& {2} = {{}}", "arg": "{2} {3}", "opt": "{2} {3} = {4}"}
RESULTS = {"one": "{0}", "pair": "std::pair<{0}, {0}>", "list": "std::vector<{0}>"}


def parameters_of(text, types, passed=False):
    """The list (opt(double, slope, 0.01), ...) as a declaration has it, or its names."""
    parameters = []
    for item in split(text[1:])[0]:
        if item:
            kind, rest = item.split("(", 1)
            arguments = split(rest)[0]
            name = arguments[1] if kind in ("arg", "opt") else arguments[0]
            parameters.append(name if passed else DECLARED[kind].format(*types, *arguments))
    return ", ".join(parameters)


def written_out(body, types, macros):
    """The macros of strata/ops/parameters.h in the body of a row."""
    while call := re.search(r"STRATA_(RESULT|DECLARED|PASSED|COMMA_AFTER|STRIP|EACH_NAME)\(|STRATA_(ARRAY|OPERAND|STRIP)\b", body):
        before = body[:call.start()]
        if call[2] == "STRIP":  # STRATA_STRIP (a, b)
            inner, after = split(body[body.index("(", call.end()) + 1:])
            body = before + ", ".join(inner) + after
            continue
        if call[2]:
            body = before + types[call[2] == "OPERAND"] + body[call.end():]
            continue
        arguments, after = split(body[call.end():])
        if call[1] == "RESULT":
            made = RESULTS[arguments[0]].format(*types)
        elif call[1] == "COMMA_AFTER":
            made = "," if parameters_of(arguments[0], types) else ""
        elif call[1] == "STRIP":
            made = ", ".join(arguments)
        elif call[1] == "EACH_NAME":
            macro, names, *more = [written_out(x, types, macros) if k > 1 else x for k, x in enumerate(arguments)]
            made = ""
            for alias in filter(None, split(names[1:])[0]):
                parameters, inner = macros[macro]
                values = dict(zip(parameters, [alias, *more]))
                made += f" /** The same as {values['name']}(). */ " + re.sub(r"\b\w+\b", lambda m: values.get(m[0], m[0]), inner)
        else:
            made = parameters_of(arguments[0], types, call[1] == "PASSED")
        body = before + made + after
    return body


def rows(name, macros, types):
    """A table written out: one line."""
    out = []
    text = re.sub(r"^\s*//.*$", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.M)
    for call in re.finditer(r"^(STRATA_\w+)\(", text, flags=re.M):
        if call[1] not in macros:
            continue
        parameters, body = macros[call[1]]
        arguments, rest = split(text[call.end():])
        if parameters == ["..."]:  # STRATA_X(...) STRATA_Y(__VA_ARGS__)
            parameters, body = macros[re.match(r"STRATA_\w+", body)[0]]
        values = dict(zip(parameters, arguments))
        comment = re.match(r"[ \t]*//[ \t]*(.*)", rest)
        said = [values[p].strip('"') for p in ("text", "meaning", "title", "help") if p in values]
        if not said and name.endswith("operations.def") and arguments[-1].startswith('"'):
            said = [arguments[-1].strip('"')]
        words = said[0] if said else comment[1] if comment else f"{values['of']}()." if "of" in values else ""
        if words:
            out.append(f"/** {plain(words)} */")
        out.append(written_out(re.sub(r"\b\w+\b", lambda m: values.get(m[0], m[0]), body), types, macros))
    return " ".join(out)


def prepared(name):
    """A header as Doxygen is to read it, and how many lines it is longer."""
    original = (ROOT / name).read_text(encoding="utf-8").splitlines()
    lines = head(original)
    floor = Path(name).parts[1] if len(Path(name).parts) > 2 else ""
    macros, out, used, types = {}, [], set(), ["Tensor", "Operand"]
    for k, line in enumerate(lines):
        if of := re.match(r"#define STRATA_(ARRAY|OPERAND) (\w+)", line):
            types[of[1] == "OPERAND"] = of[2]
        define = re.match(r"#define (STRATA_\w+)\(([^)]*)\)\s*(.*)", line)
        if define:
            body, follow = define[3], k
            while lines[follow].endswith("\\"):
                follow += 1
                body = body.rstrip("\\") + lines[follow].strip()
            macros[define[1]] = ([p.strip() for p in define[2].split(",")], body)
            used.update(range(k, follow + 1))
        table = re.match(r'#include "(strata/[^"]+\.def)"', line)
        line = rows(table[1], macros, types) if table else "" if k in used else line
        line = re.sub(r"@throws as ", "@throws Error as ", line)
        if floor:
            line = re.sub(r"^(namespace strata(?:::\w+)* \{)$", rf"\1 /** @addtogroup floor_{floor} */ /** @{{ */", line)
            line = re.sub(r"^\}  // namespace strata(?:::\w+)*$", "/** @} */ }", line)
        out.append(line)
    return "\n".join(out) + "\n", len(lines) - len(original)


def page(path, public):
    """A page of docs/ as Doxygen is to read it: what the reference does not have is no link."""
    text = path.read_text(encoding="utf-8")

    def link(m):
        target = os.path.relpath(path.parent / m[2], ROOT)
        if target.endswith(".md") and Path(target).parent.name == "docs":
            return f"@ref {Path(target).stem}_page \"{m[1]}\""
        return f'@ref {target} "{m[1]}"' if target in public else m[1]

    blocks = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    blocks = [b if k % 2 else re.sub(r"\[([^\]`]+)\]\(([^)\s]+\.\w+)\)", link, b) for k, b in enumerate(blocks)]
    blocks = [re.sub(r"^```(cpp|python)?.*", r"```\1", b) if k % 2 else b for k, b in enumerate(blocks)]
    return re.sub(r"\A# (.*)", rf"# \1 {{#{path.stem}_page}}", "".join(blocks))


def main_page(has_python):
    out = ["/** @mainpage Strata", "", "Public headers by floor, each floor standing on others above it in this list:", ""]
    out += [f"- @ref floor_{name} : {plain(text)}" for name, text in floors()]
    out += ["", "All of them: `#include <strata/strata.h>`. One: `#include <strata/view.h>`. Tensors are in strata::Tensor, the",
            "functions of neural networks in functional.h, modules in strata::nn.", ""]
    if has_python:
        out += ['<a href="python/index.html">The Python module</a> has pages of its own.', ""]
    out += ["*/"]
    for name, text in floors():
        out += [f"/** @defgroup floor_{name} {name}", f"    @brief {plain(text)} */"]
    return "\n".join(out) + "\n"


def doxygen(program, out, has_python):
    """The pages; gives the warnings, by the lines of the originals."""
    copy = out / "input"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(out / "html", ignore_errors=True)
    longer = {}
    for name in public_headers():
        text, longer[name] = prepared(name)
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")
    guides = sorted(ROOT.glob("docs/*.md"))
    for guide in guides:
        (copy / guide.name).write_text(page(guide, longer), encoding="utf-8")
    (copy / "main.dox").write_text(main_page(has_python), encoding="utf-8")
    version = re.search(r'STRATA_VERSION "([^"]+)"', (ROOT / "strata/base/version.h").read_text(encoding="utf-8"))[1]
    settings = (HERE / "Doxyfile").read_text(encoding="utf-8") + f"""
INPUT                   = main.dox {' '.join(g.name for g in guides)} {' '.join(longer)}
STRIP_FROM_PATH         = "{copy}"
PROJECT_NUMBER          = {version}
OUTPUT_DIRECTORY        = "{out}"
WARN_FORMAT             = "$file:$line: $text"
"""

    def run(more=""):
        done = subprocess.run([program, "-"], input=settings + more, text=True, cwd=copy, stderr=subprocess.PIPE, check=True)
        lines = re.sub(rf"^{re.escape(str(copy))}/(.*?):(\d+):", original, done.stderr, flags=re.M).splitlines()
        return [line for line in dict.fromkeys(lines) if line.strip()]

    def original(m):
        return f"{m[1]}:{max(1, int(m[2]) - longer.get(m[1], 0))}:"

    wrong = run()
    silent = run("EXTRACT_ALL=NO\nGENERATE_HTML=NO\nWARN_IF_DOC_ERROR=NO\nWARN_IF_UNDOCUMENTED=YES\n")
    bare = [line for line in silent if "not documented" in line]
    classes = [line for line in bare if ": warning: Compound strata::" in line]
    print(f"{len(longer)} headers, {len(list((out / 'html').glob('*.html')))} pages; "
          f"{len(bare) - len(classes)} members, values and constants say no more than their names")
    return wrong + classes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--doxygen", default="doxygen", help="the program")
    parser.add_argument("--module", help="the folder of the Python module")
    chosen = parser.parse_args()
    out = chosen.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    warnings = doxygen(chosen.doxygen, out, bool(chosen.module))
    for warning in warnings:
        print(warning)
    failed = any(re.match(r"\S+:\d+: ", warning) for warning in warnings)  # others are about Doxygen's settings
    if chosen.module:
        script = [sys.executable, str(ROOT / "python/tools/reference.py"), str(out / "html/python")]
        environment = dict(os.environ, PYTHONPATH=chosen.module, PYTHONDONTWRITEBYTECODE="1")
        failed |= subprocess.run(script, env=environment).returncode != 0
    print(out / "html/index.html")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
