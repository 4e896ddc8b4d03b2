#!/usr/bin/env python3
"""What is public, a line each, beside the list tests/public_api.txt:
`check_api.py [--module FOLDER] [--update]`.

Public in C++ is what `#include <strata/strata.h>` brings in, and each header that README.md, docs/ or examples/ include; nothing in a
namespace `detail`, nothing private. clang says what that is, so rows of tables are there as what they expand to. Public in Python are
the names of the package in FOLDER, of its modules and of their classes; without FOLDER, Python's lines are left as they are.

A line that is new has to be in the list: --update writes it. A line that disappeared fails, unless its name is still declared as
[[deprecated]], the list has marked it so since, or a function took its place that can be called with the same arguments. Prints
`N passed, N failed` over the lines.
"""
import argparse
import importlib
import importlib.util
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = " [[deprecated]]"
HEAD = """# What is public, a line each; tests/check_api.py writes and compares it (--update adds what is new).
# A parameter with `=` may be left out. A line leaves this list by hand, after a version in which it was marked [[deprecated]].
"""
RECORDS = {"CXXRecordDecl", "ClassTemplateDecl"}
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXConversionDecl"}
NAMED = {"TypeAliasTemplateDecl": "alias", "ConceptDecl": "concept",
         "FieldDecl": "field", "VarDecl": "constant", "VarTemplateDecl": "constant"}


def reference(root):
    """The reference's script, which knows what is public."""
    spec = importlib.util.spec_from_file_location("reference_build", root / "docs/reference/build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def header_lines(root, listed):
    """Headers that users include: the umbrellas, those that pages and examples show, and those that were shown before."""
    pages = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("examples/*.[mc]*")]
    names = {f"strata/{path.name}" for path in (root / "strata").glob("*.h")}
    names |= {name for page in pages for name in reference(root).INCLUDE.findall(page.read_text(encoding="utf-8"))}
    names |= {line.removeprefix("header ") for line in listed if line.startswith("header ")}
    texts = {name: (root / name).read_text(encoding="utf-8") for name in names if (root / name).exists()}
    return {f"header {name}": MARK if '#pragma message("deprecated' in text else "" for name, text in texts.items()}


def declarations(root, compiler):
    """Each `namespace strata { }` that the public headers have, as clang's JSON."""
    text = "".join(f'#include "{name}"\n' for name in reference(root).public_headers())
    command = [compiler, "-std=c++23", "-stdlib=libc++", f"-I{root}", "-fsyntax-only", "-x", "c++", "-", "-Xclang", "-ast-dump=json",
               "-Xclang", "-ast-dump-filter=strata"]
    dump = subprocess.run(command, input=text, text=True, cwd=root, stdout=subprocess.PIPE, check=True).stdout
    decoder, at = json.JSONDecoder(), 0
    while (at := dump.find("{", at)) >= 0:
        node, at = decoder.raw_decode(dump, at)
        if node["kind"] == "NamespaceDecl" and node["name"] == "strata":
            yield node


class Cxx:
    """The lines of C++: to each its mark, or nothing."""

    def __init__(self):
        self.lines = {}
        self.aliases = []  # (name, whose other name it is, its mark)

    def add(self, kind, name, rest="", deprecated=False):
        line = f"{kind} {name}{rest}"
        self.lines[line] = MARK if deprecated or self.lines.get(line) else ""

    def scope(self, nodes, prefix, is_class=False, access="public", deprecated=False):
        for node in nodes:
            kind, name = node["kind"], node.get("name", "")
            if kind == "AccessSpecDecl":
                access = node["access"]
            elif not (is_class and access != "public"):
                self.declaration(node, kind, name, prefix, is_class, deprecated)

    def declaration(self, node, kind, name, prefix, is_class, deprecated):
        inner = node.get("inner", [])
        deprecated = deprecated or any(part["kind"] == "DeprecatedAttr" for part in inner)
        full = prefix + name
        if kind == "NamespaceDecl":
            if name and name != "detail":
                self.scope(inner, prefix if node.get("isInline") else full + "::", deprecated=deprecated)
        elif node.get("isImplicit"):
            pass
        elif kind == "FriendDecl":  # a friend that is defined in its class is found by its operands
            for friend in inner:
                if any(part["kind"] == "CompoundStmt" for part in friend.get("inner", [])):
                    self.function(friend, prefix.rsplit("::", 2)[0] + "::" + friend["name"], deprecated)
        elif kind == "LinkageSpecDecl":
            self.scope(inner, prefix, is_class, deprecated=deprecated)
        elif "parentDeclContextId" in node and (kind in FUNCTIONS or kind == "FunctionTemplateDecl"):
            pass  # said in its class
        elif kind == "FunctionTemplateDecl":
            first = next((part for part in inner if part["kind"] in FUNCTIONS), None)
            if first and "previousDecl" not in node:
                self.function(first, full, deprecated, template=True)
        elif kind in FUNCTIONS:
            if not node.get("explicitlyDeleted") and "previousDecl" not in node:
                self.function(node, full, deprecated)
        elif kind == "ClassTemplateDecl":
            record = next(part for part in inner if part["kind"] == "CXXRecordDecl")
            self.record(record, full, deprecated, "class template")
        elif kind == "CXXRecordDecl" and name:
            self.record(node, full, deprecated, "class")
        elif kind == "EnumDecl":
            if name:
                self.add("enum", full, deprecated=deprecated)
            scope = f"{full}::" if name else prefix
            for part in inner:
                if part["kind"] == "EnumConstantDecl":
                    own = any(word["kind"] == "DeprecatedAttr" for word in part.get("inner", []))
                    self.add("value", scope + part["name"], deprecated=deprecated or own)
        elif kind == "UsingDecl":
            shadows = name.rsplit("::", 1)[-1]
            self.add("using", prefix + shadows, deprecated=deprecated)
        elif kind in {"TypeAliasDecl", "TypedefDecl"}:
            kinds = node["type"]
            target = re.sub(r"<.*", "", kinds.get("desugaredQualType", kinds["qualType"]))
            self.aliases.append((full, target, deprecated))
        elif kind in NAMED and name:
            self.add(NAMED[kind], full, deprecated=deprecated)

    def record(self, node, full, deprecated, kind):
        deprecated = deprecated or any(part["kind"] == "DeprecatedAttr" for part in node.get("inner", []))
        if node.get("completeDefinition"):
            self.add(kind, full, deprecated=deprecated)
            access = "private" if node["tagUsed"] == "class" else "public"
            self.scope(node.get("inner", []), full + "::", True, access, deprecated)
        elif f"{kind} {full}" not in self.lines:
            self.add(kind, full, deprecated=deprecated)

    def function(self, node, full, deprecated, template=False):
        inner = node.get("inner", [])
        deprecated = deprecated or any(part["kind"] == "DeprecatedAttr" for part in inner)
        parameters = [part["type"]["qualType"].replace("strata::", "") + (" =" if "init" in part else "")
                      for part in inner if part["kind"] == "ParmVarDecl"]
        whole = node["type"]["qualType"]
        if re.search(r"\.\.\.\)[^()]*$", whole) and not (parameters and parameters[-1].endswith("...")):
            parameters.append("...")
        after = re.search(r"\)( const)?( volatile)?( &&?)?( noexcept.*)?( -> .*)?$", whole)
        behind = "".join(part or "" for part in after.groups()[:3]) if after else ""
        self.add("function template" if template else "function", full, f"({', '.join(parameters)}){behind}", deprecated)


    def name_aliases(self):
        """Another name of a class or an enum is one as well, with its values and fields; a deprecated one with all that is in it."""
        for full, target, deprecated in self.aliases:
            same = re.compile(rf"(enum|class)(?: template)? {re.escape(target)}")
            own = rf"(.*) {re.escape(target)}::(.+)" if deprecated else rf"(value|field) {re.escape(target)}::(\w+)"
            part = re.compile(own)
            kind = next((found[1] for line in self.lines if (found := same.fullmatch(line))), "alias")
            self.add(kind, full, deprecated=deprecated)
            for found in [found for line in self.lines if (found := part.fullmatch(line))]:
                self.add(found[1], f"{full}::{found[2]}", deprecated=deprecated)


def cxx_lines(root, compiler):
    out = Cxx()
    for node in declarations(root, compiler):
        out.declaration(node, "NamespaceDecl", "strata", "", False, False)
    out.name_aliases()
    return out.lines


def members(cls):
    """What a class has, with what bases that are not public lend it."""
    own = [base for base in cls.__mro__ if base is cls or base.__name__.startswith("_")]
    values = getattr(cls, "__members__", {})
    return sorted({name for base in own for name in [*vars(base), *values] if not name.startswith("_")})


def python_lines(folder):
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    package = importlib.import_module("strata")
    names = [found.name for found in pkgutil.walk_packages(package.__path__, "strata.")]
    modules = [package] + [importlib.import_module(name) for name in names if not re.search(r"\.(_|libstrata)", name)]
    lines = {}
    for module in modules:
        lines[f"python {module.__name__}"] = ""
        for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
            value = getattr(module, name)
            if inspect.ismodule(value) or not getattr(value, "__module__", None) and type(value).__module__ == "__future__":
                continue
            if getattr(value, "__module__", None) and value.__module__.split(".")[0] != "strata":
                continue
            lines[f"python {module.__name__}.{name}"] = ""
            if inspect.isclass(value):
                lines |= {f"python {module.__name__}.{name}.{member}": "" for member in members(value)}
    return lines


def signature(line):
    """(kind and name, [parameter], what is behind them): of what is no function, ([the line], [], "")."""
    found = re.match(r"(function .*?(?:operator\(\))?)\((.*)\)((?: const)?(?: volatile)?(?: &&?)?)$", line)
    if not found:
        return line, [], ""
    parameters, depth = [""], 0
    for character in found[2]:
        depth += (character in "<([") - (character in ">)]")
        if character == "," and not depth:
            parameters.append("")
        else:
            parameters[-1] += character
    return found[1], [part.strip() for part in parameters if part.strip()], found[3]


def serves(new, old):
    """Whether a call of the function of the line `old` is one of that of `new`."""
    name, given, behind = signature(old)
    new_name, wanted, new_behind = signature(new)
    if (name, behind) != (new_name, new_behind) or len(given) > len(wanted):
        return False
    pairs = zip(given, wanted)
    return all(a == b or a + " =" == b for a, b in pairs) and all(b.endswith(" =") for b in wanted[len(given):])


def read(path):
    if not path.exists():
        return {}
    rows = [row for row in path.read_text(encoding="utf-8").splitlines() if row and not row.startswith("#")]
    return {row.removesuffix(MARK): MARK if row.endswith(MARK) else "" for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", help="the folder of the Python package, as it was built")
    parser.add_argument("--update", action="store_true", help="write what is new, and what is now deprecated, to the list")
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--root", type=Path, default=ROOT, help="another tree, whose headers are looked at")
    parser.add_argument("--list", type=Path, default=ROOT / "tests/public_api.txt")
    chosen = parser.parse_args()

    listed = read(chosen.list)
    root = chosen.root.resolve()
    now = header_lines(root, listed) | cxx_lines(root, chosen.compiler)
    if chosen.module:
        now |= python_lines(chosen.module)
    else:
        now |= {line: mark for line, mark in listed.items() if line.startswith("python ")}
    kept = {signature(line)[0] for line, mark in now.items() if mark}
    named = {}
    for line in now:
        named.setdefault(signature(line)[0], []).append(line)
    gone = [line for line in listed if line not in now and not listed[line] and signature(line)[0] not in kept]
    # A field that moved to a base class is still one of the class where a using-declaration names it.
    moved = {line.replace("using ", "field ", 1) for line in now if line.startswith("using ")}
    lost = [line for line in gone if line not in moved and not any(serves(other, line) for other in named.get(signature(line)[0], []))]
    changed = [line for line in now if line not in listed or listed[line] != now[line]]

    for line in lost:
        print(f"disappeared: {line}")
    if lost:
        print("What was public stays for one version: declare it [[deprecated]], forwarding to what took its place.")
    if chosen.update:
        written = {line: listed[line] for line in lost} | now
        chosen.list.write_text(HEAD + "".join(f"{line}{written[line]}\n" for line in sorted(written)), encoding="utf-8")
        print(f"{len(changed)} lines are new in {chosen.list}")
        changed = []
    for line in changed:
        print(("new: " if line not in listed else "its mark changed: ") + line + now[line])
    if changed:
        print("To have them in the list: python3 tests/check_api.py --module BUILD/python --update")
    failed = len(lost) + len(changed)
    print(f"{len(now) + len(lost) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
