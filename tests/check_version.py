#!/usr/bin/env python3
"""The version is strata/base/version.h's; what has to say it again says the same. Prints `N passed, N failed`."""
import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def first(pattern, path):
    match = re.search(pattern, text(path), re.MULTILINE)
    return match[1] if match else f"nothing like {pattern}"


def of_module(path):
    """A file of Python, run."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "path", [str((ROOT / path).parent), *sys.path]), \
            mock.patch.object(sys, "dont_write_bytecode", True):
        spec.loader.exec_module(module)
    return module


def of_conan():
    """What the recipe sets."""
    with mock.patch.dict(sys.modules, of_module("tests/recipes/conan.py").modules()):
        recipe = of_module("conanfile.py").StrataConan()
    recipe.recipe_folder = ROOT
    recipe.set_version()
    return recipe.version


def of_pyproject():
    """No version of its own: the backend's."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    if "version" in project or "version" not in project["dynamic"]:
        return "a version of its own"
    return re.search(r"^Version: (.*)$", of_module("packaging/backend/strata_build.py").metadata(), re.MULTILINE)[1]


def main():
    version = first(r'^#define STRATA_VERSION "(.*)"$', "strata/base/version.h")
    minor = version.rpartition(".")[0]
    number = r"(0|[1-9]\d*)"
    port = json.loads(text("packaging/vcpkg/strata/vcpkg.json"))
    consumer = "tests/consumer/CMakeLists.txt"
    said = [
        ("strata/base/version.h: semantic", bool(re.fullmatch(rf"{number}\.{number}\.{number}", version)), True),
        ("CMakeLists.txt", first(r'^file\(STRINGS (\S+) version_line', "CMakeLists.txt"), "strata/base/version.h"),
        ("CHANGELOG.md", first(r"^## \[(\d[^\]]*)\]", "CHANGELOG.md"), version),
        ("pyproject.toml", of_pyproject(), version),
        ("conanfile.py", of_conan(), version),
        ("packaging/vcpkg/strata/vcpkg.json", port["version-semver"], version),
        ("debian/changelog", first(r"\Astrata \((.*?)\)", "debian/changelog"), version),
        (consumer, first(r"find_package\(strata (\S+) ", consumer), minor),
    ]
    failed = 0
    for place, found, expected in said:
        if found != expected:
            print(f"{place}: {found}, not {expected}")
            failed += 1
    print(f"{len(said) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
