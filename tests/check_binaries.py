#!/usr/bin/env python3
"""Looks at every ELF file of a build or of what was installed: where it has the loader look, and how it was hardened.

    check_binaries.py FOLDER...           no empty or relative element in RPATH or RUNPATH (of a build: tests among them)
    check_binaries.py --hardened FILE...  these files have RELRO, guards on the stack, checked functions of libc; and BIND_NOW, but
                                          for programs (cmake/hardening.cmake)

An empty or relative element is the working directory of whoever runs the program: whoever may write there says what is loaded.
"""
import os
import re
import subprocess
import sys

# What calls no function of libc with a size that the compiler knows, so that there is nothing to check.
UNCHECKED = {"libstrata_llvm.so"}


def elf_files(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if os.path.islink(path) or name.endswith(".o"):
                continue
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def read(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def bad_elements(dynamic):
    """The elements that are neither absolute nor relative to the file itself."""
    paths = re.findall(r"\((?:RPATH|RUNPATH)\)\s+Library (?:rpath|runpath): \[(.*)\]", dynamic)
    elements = [element for path in paths for element in path.split(":")]
    return [element for element in elements if not re.match(r"/|\$ORIGIN(/|$)|\$\{ORIGIN\}(/|$)", element)]


def missing_guards(path):
    dynamic, segments, symbols = read(path, "-d"), read(path, "-l"), read(path, "--dyn-syms")
    is_program = " INTERP " in segments
    guards = {
        "RELRO": "GNU_RELRO" in segments,
        "BIND_NOW": bool(re.search(r"BIND_NOW|\bNOW\b", dynamic)) or is_program,
        "stack protector": "__stack_chk_fail" in symbols,
        "_FORTIFY_SOURCE": os.path.basename(path) in UNCHECKED or bool(re.search(r"__(?!stack_)\w+_chk\b", symbols)),
    }
    return [name for name, there in guards.items() if not there]


def main(arguments):
    if arguments[:1] == ["--hardened"]:
        wrong = [f"{path}: no {', no '.join(missing)}" for path in arguments[1:] if (missing := missing_guards(path))]
        count = len(arguments) - 1
    else:
        files = sorted({path for folder in arguments for path in elf_files(folder)})
        wrong = [f"{path}: looks for libraries in {bad!r}" for path in files if (bad := bad_elements(read(path, "-d")))]
        count = len(files)
    print("\n".join(wrong + [f"{count} files, {len(wrong)} wrong"]))
    return 0 if count > 0 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
