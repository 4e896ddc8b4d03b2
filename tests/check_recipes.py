#!/usr/bin/env python3
"""The recipes for vcpkg and Conan, carried out by stand-ins for these tools (tests/recipes): check_recipes.py [vcpkg|conan]

What each makes is looked at as the tool would, moved, and used by tests/consumer. Prints `N passed, N failed`.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import check_version

ROOT = check_version.ROOT
PORT = Path("packaging/vcpkg/strata")
PRINTED = "(a%10) 0 9\n"  # by tests/consumer


def run(*command, **environment):
    """What it prints. @throws AssertionError where it fails."""
    result = subprocess.run([str(part) for part in command], env=dict(os.environ, **environment), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, f"{command}: exit status {result.returncode}\n{result.stdout[-4000:]}"
    return result.stdout


def copy_checkout(folder):
    """The files of the checkout, as a clone would have them."""
    for name in filter(None, run("git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard").split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def consumer(prefix, build_type, build):
    """tests/consumer, built against a package with find_package."""
    run("cmake", "-S", ROOT / "tests/consumer", "-B", build, "-G", "Unix Makefiles", f"-DCMAKE_BUILD_TYPE={build_type}",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    commands = run("cmake", "--build", build, "--verbose")
    assert run(build / "consumer") == PRINTED
    return commands


class Recipes:
    def __init__(self, work):
        self.work = work

    def check_vcpkg(self):
        work = self.work / "vcpkg"
        copy_checkout(work / "source")
        port = json.loads((work / "source" / PORT / "vcpkg.json").read_text())
        features = ["core", *port["default-features"]]
        run("cmake", f"-DPORT_DIR={work / 'source' / PORT}", f"-DWORK={work}", f"-DFEATURES={';'.join(features)}",
            "-P", ROOT / "tests/recipes/vcpkg.cmake")
        self.look_at_port(work / "packages", work)
        installed = work / "moved"
        (work / "packages").rename(installed)
        shutil.rmtree(work / "source")
        for build_type, prefix in {"Release": installed, "Debug": installed / "debug"}.items():
            commands = consumer(installed, build_type, work / build_type)
            assert f"{prefix}/lib/libstrata_view.a" in commands, commands
            flags = run("pkg-config", "--cflags", "--libs", "strata", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig").split()
            run("g++", "-std=c++20", ROOT / "tests/consumer/main.cpp", *flags, "-o", work / "consumer")
            assert run(work / "consumer") == PRINTED
        assert run(installed / "tools/strata/strata", "--version").split()[1] == port["version-semver"]
        targets = re.findall(r"strata::\w+", (installed / "share/strata/usage").read_text())
        assert targets == ["strata::strata"], targets

    def look_at_port(self, packages, work):
        """What vcpkg looks at when a port was built."""
        assert any((packages / "include").rglob("*.h"))
        for there in ("share/strata/copyright", "share/strata/usage", "share/strata/strata-config.cmake"):
            assert (packages / there).stat().st_size > 0, there
        for absent in ("bin", "debug/bin", "debug/include", "debug/share", "lib/cmake", "debug/lib/cmake"):
            assert not (packages / absent).exists(), absent
        empty = [str(folder) for folder in packages.rglob("*") if folder.is_dir() and not any(folder.iterdir())]
        assert not empty, f"empty folders: {empty}"
        release, debug = ({file.name for file in (packages / lib).glob("*.a")} for lib in ("lib", "debug/lib"))
        assert release and release == debug, release ^ debug
        misplaced = [file for file in packages.rglob("*.cmake") if file.parent != packages / "share/strata"]
        assert not misplaced, misplaced
        for file in [file for file in packages.rglob("*") if file.suffix in {".cmake", ".pc", ".h", ".def"}]:
            text = file.read_text()
            assert str(work) not in text and str(ROOT) not in text, f"{file}: an absolute path"

    def check_conan(self):
        tool = check_version.of_module("tests/recipes/conan.py")
        with mock.patch.dict(sys.modules, tool.modules()):
            recipe_class = check_version.of_module("conanfile.py").StrataConan
            try:
                tool.create(recipe_class, ROOT, self.work / "old", "gnu17")
                assert False, "C++17 was taken"
            except tool.InvalidConfiguration:
                pass
            made = tool.create(recipe_class, ROOT, self.work / "conan", "gnu20", tbb=False)
        assert [reference.split("/")[0] for reference in made.required] == ["zlib", "protozero"], made.required
        moved = self.work / "conan/moved"
        made.package_folder.rename(moved)
        shutil.rmtree(made.source_folder)
        assert made.cpp_info.properties == {"cmake_find_mode": "none"}
        folder, = made.cpp_info.builddirs
        config = (moved / folder / "strata-config.cmake").read_text()
        floors = {package: re.search(rf"strata_floors_with_{package} *([^)]*)", config)[1] for package in ("ZLIB", "TBB")}
        assert floors["ZLIB"] and not floors["TBB"], floors
        consumer(moved / folder, "Release", self.work / "conan/consumer")
        assert run(moved / "bin/strata", "--version").split()[1] == made.version


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        recipes = Recipes(Path(folder).resolve())
        os.environ["CCACHE_BASEDIR"] = str(recipes.work)  # so that the recipes share compilations
        for check in [f"check_{name}" for name in sys.argv[1:] or ("vcpkg", "conan")]:
            try:
                getattr(recipes, check)()
                passed += 1
            except (AssertionError, OSError, subprocess.CalledProcessError) as problem:
                print(f"{check.removeprefix('check_')}: {problem}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
