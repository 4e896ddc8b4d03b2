#!/usr/bin/env python3
"""A wheel of a build, used: check_wheel.py BUILD_FOLDER

pip builds it without a network from what the folder has and installs it into an empty environment. In empty folders, README.md's
first block of Python and the program are run, and docs/installing.md's program is built against the C++ side of the wheel; then
the wheel goes, and the build folder is installed as it is (`pip install -e`). PYTHON: of which Python (default
/usr/bin/python3, with python3-venv). Prints `N passed, N failed`.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import check_docs

ROOT = check_docs.ROOT
FOREIGN = ("PYTHON", "STRATA_", "CMAKE_PREFIX_PATH", "PIP_", "VIRTUAL_ENV")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def run(*command, cwd):
    """What it prints. @throws AssertionError where it fails."""
    result = subprocess.run([str(part) for part in command], cwd=cwd, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, f"{command}: exit status {result.returncode}\n{result.stdout}"
    return result.stdout


def first(language, page):
    """The first block of a language on a page."""
    return next(block for block in check_docs.blocks(ROOT / page) if block.language == language)


class Wheel:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.python = folder / "environment/bin/python"
        run(os.environ.get("PYTHON", "/usr/bin/python3"), "-m", "venv", folder / "environment", cwd=folder)

    def pip(self, *arguments):
        run(self.python, "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments, cwd=self.folder)

    def empty(self):
        return Path(tempfile.mkdtemp(dir=self.folder))

    def asked(self, code):
        return run(self.python, "-c", code, cwd=self.empty()).strip()

    def check_install(self):
        self.pip("wheel", ROOT, "--no-index", "--wheel-dir", self.folder, "--config-settings", f"build-dir={self.build}")
        wheel, = self.folder.glob("*.whl")
        self.pip("install", "--no-index", wheel)
        where = Path(self.asked("import strata; print(strata.__file__)"))
        assert self.folder in where.parents, where

    def check_python(self):
        block = first("python", "README.md")
        printed = self.asked(block.text)
        assert check_docs.agrees(printed, block.output), printed

    def check_devices(self):
        """The plugin for LLVM came along, where the build has one."""
        usable = self.asked("import strata; print(strata.Device.get('LLVM').missing == '')")
        assert usable == str((self.build / "libstrata_llvm.so").exists()), usable

    def check_program(self):
        program = self.python.with_name("strata")
        printed = run(program, "expr", "(a + b*10) % 10", "--var", "a=0..10", "--var", "b=0..10", cwd=self.empty())
        assert printed.startswith("simplified  (a%10)\n"), printed

    def check_cpp(self):
        block, folder = first("cpp", "docs/installing.md"), self.empty()
        (folder / "taste.cpp").write_text(block.text)
        (folder / "CMakeLists.txt").write_text(first("cmake", "docs/installing.md").text)
        prefix = run(self.python, "-m", "strata", "--cmake-dir", cwd=folder).strip()
        run("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=folder)
        run("cmake", "--build", "b", cwd=folder)
        printed = run("b/taste", cwd=folder)
        assert check_docs.agrees(printed, block.output), printed

    def check_uninstall(self):
        site = Path(self.asked("import strata, pathlib; print(pathlib.Path(strata.__file__).parents[1])"))
        self.pip("uninstall", "-y", "strata")
        left = [path for path in site.glob("strata*")]
        assert not left and not self.python.with_name("strata").exists(), left

    def check_editable(self):
        self.pip("install", "--no-index", "--config-settings", f"build-dir={self.build}", "-e", ROOT)
        where = self.asked("import strata; print(strata.__file__, (strata.Tensor([2.0]) + 3).item())")
        assert where == f"{self.build}/python/strata/__init__.py 5.0", where


def main():
    build = Path(sys.argv[1]).resolve()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        wheel = Wheel(build, Path(folder).resolve())
        for check in [name for name in vars(Wheel) if name.startswith("check_")]:
            try:
                getattr(wheel, check)()
                passed += 1
            except (AssertionError, ValueError) as problem:
                print(f"{check.removeprefix('check_')}: {problem}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
