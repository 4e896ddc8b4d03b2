#!/usr/bin/env python3
"""The change that CONTRIBUTING.md shows for a new operation, made to a copy of the tree: add_operation.py [FOLDER]

Builds the copy and uses the operation: from C++, Python and the text of a kernel, in place, by its further name, differentiated, on
its page, and by the tests of each row. The copy is made in FOLDER (build/add_operation). Prints `N passed, N failed`.
"""
import re
import shutil
import sys
from pathlib import Path

from check_recipes import ROOT, copy_checkout, run

PROGRAM = """
#include <cmath>
#include <cstdio>

#include "strata/strata.h"

int main() {
  using namespace strata;
  const Tensor x = Tensor::linspace(-4, 4, 9, dtypes::float64);
  const std::vector<double> at = x.to_vector<double>();
  const std::vector<double> method = x.sech().to_vector<double>();
  const std::vector<double> alias = x.hyperbolic_secant().to_vector<double>();
  const std::vector<double> slope = grad([](const Tensor& t) { return t.sech().sum(); })(x).to_vector<double>();
  for (std::size_t k = 0; k < at.size(); ++k) {
    const double y = 1 / std::cosh(at[k]);
    if (std::abs(method[k] - y) > 1e-14 || alias[k] != method[k]) return 1;
    if (std::abs(slope[k] + y * std::tanh(at[k])) > 1e-14) return 2;
  }
  std::puts("sech of C++");
}
"""
LISTS = """cmake_minimum_required(VERSION 3.25)
project(sech LANGUAGES CXX)
find_package(strata REQUIRED)
add_executable(sech main.cpp)
target_link_libraries(sech PRIVATE strata::strata)
"""
PYTHON = """
import numpy as np
import strata

x = np.linspace(-4, 4, 9)
y = 1 / np.cosh(x)
t = strata.Tensor(x)
for made in (t.sech(), strata.sech(t), t.hyperbolic_secant(), strata.hyperbolic_secant(t)):
    assert made.dtype == strata.float64 and np.allclose(made.numpy(), y, rtol=1e-14, atol=0), made
assert strata.Tensor([0]).sech().dtype == strata.float32  # the rule `real`
w = strata.Tensor(x)
assert w.sech_() is w and np.allclose(w.numpy(), y, rtol=1e-14, atol=0)
v = strata.Tensor(x, requires_grad=True)
v.sech().sum().backward()
assert np.allclose(v.grad.numpy(), -y * np.tanh(x), rtol=1e-13, atol=1e-16)
assert strata.Tensor([1e4], dtype=strata.float64).sech().item() == 0
assert "hyperbolic secant" in strata.Tensor.sech.__doc__
print("sech of Python")
"""


def change():
    """The diff of CONTRIBUTING.md."""
    diffs = re.findall(r"^```diff\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
    assert len(diffs) == 1, f"CONTRIBUTING.md has {len(diffs)} diffs, not one"
    return diffs[0]


class Copy:
    def __init__(self, folder):
        self.tree, self.build = folder / "tree", folder / "build"
        shutil.rmtree(folder, ignore_errors=True)
        copy_checkout(self.tree)
        (folder / "change.diff").write_text(change())
        # Outside of any repository, so that paths are relative to the copy.
        run("git", "-C", self.tree, "apply", folder / "change.diff", GIT_CEILING_DIRECTORIES=str(folder))
        self.python = {"PYTHONPATH": str(self.build / "python"), "STRATA_DISK_CACHE": "0"}

    def check_that_it_touches_two_places(self):
        assert re.findall(r"^\+\+\+ b/(.*)$", change(), re.M) == ["strata/ops/elementwise.cpp", "strata/ops/operations.def"]

    def check_that_it_builds(self):
        run("cmake", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release", "-DSTRATA_WERROR=ON")
        run("cmake", "--build", self.build)

    def check_cpp(self):
        user = self.build / "user"
        user.mkdir()
        (user / "main.cpp").write_text(PROGRAM)
        (user / "CMakeLists.txt").write_text(LISTS)
        run("cmake", "--install", self.build, "--prefix", user / "prefix")
        run("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={user / 'prefix'}")
        run("cmake", "--build", user / "build")
        assert run(user / "build/sech") == "sech of C++\n"

    def check_python(self):
        assert run("/usr/bin/python3", "-c", PYTHON, **self.python) == "sech of Python\n"

    def check_kernel_text(self):
        text = run(self.build / "strata", "kernel", "x: f32[8]; y = sech(x) + hyperbolic_secant(x)")
        plain = run(self.build / "strata", "kernel", "x: f32[8]; y = sech(x) + sech(x)")
        assert text == plain, text

    def check_rows(self):
        """Values over all dtypes, rules, refusals, in place, further names: the tests of each row, among which it is."""
        found = run("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "sech or hyperbolic_secant",
                    self.tree / "tests/python/test_table.py", **self.python)
        assert re.search(r"^\d+ passed", found.splitlines()[-1]), found

    def check_stubs(self):
        stubs = "".join(path.read_text() for path in (self.build / "python").rglob("*.pyi"))
        assert all(f"def {name}(" in stubs for name in ("sech", "sech_", "hyperbolic_secant")), "a stub is missing"

    def check_page(self):
        run("/usr/bin/python3", self.tree / "scripts/operations_page.py", **self.python)
        row = "| `sech()` (`hyperbolic_secant`) | real | in place | `1 / np.cosh(x)` | The hyperbolic secant, 1 / cosh(x). |"
        page = (self.tree / "docs/operations.md").read_text()
        assert row in page, re.findall(r"^.*sech.*$", page, re.M)


def main():
    copy = Copy(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/add_operation").resolve())
    passed = failed = 0
    for name in (name for name in vars(Copy) if name.startswith("check_")):
        try:
            getattr(copy, name)()
            passed += 1
        except AssertionError as error:
            print(f"add_operation.py: {name}: {error}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
