"""Builds wheels and source archives of Strata with CMake and Python's standard library (PEP 517, PEP 660).

A wheel holds the module with its types (strata/), what `cmake --install` lays down (strata/sdk/: headers, static
libraries, the CMake package, strata.pc, the program) and a command `strata`. It is for the machine that it was built on:
oneTBB, zlib and LLVM are linked, not packed.

Settings (pip install . --config-settings KEY=VALUE):
  build-dir   the folder that CMake builds in, kept between builds; build/wheel-cp311, say, where none is given
  cmake-args  more arguments for CMake, as a shell reads them
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import wheel_file

try:
    import tomllib
except ImportError:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
# Runs the program where the package is, without importing it.
LAUNCHER = """#!python
import importlib.util
import os
import sys

package = importlib.util.find_spec("strata").submodule_search_locations[0]
os.execv(os.path.join(package, "sdk", "bin", "strata"), sys.argv)
"""


def version():
    return re.search(r'STRATA_VERSION "(.*)"', (ROOT / "strata/base/version.h").read_text(encoding="utf-8"))[1]


def metadata():
    """METADATA, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}",
             f"Summary: {project['description']}", f"Keywords: {','.join(project['keywords'])}", "License: MIT",
             f"License-File: {project['license']['file']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {c}" for c in project["classifiers"]]
    for extra, needed in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f"Requires-Dist: {n}; extra == '{extra}'" for n in needed]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def run(*command):
    print("+", shlex.join(command), flush=True)
    subprocess.run(command, check=True)


def found(*command):
    return shutil.which(command[0]) is not None and subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


def pybind11_option():
    """Where pip brought it, CMake has to be told."""
    try:
        import pybind11
    except ImportError:
        return []
    return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]


def build(settings):
    """Configures and builds; the build folder."""
    settings = settings or {}
    python = Path(sys.executable).resolve()  # that of an environment may go before the folder does
    folder = Path(settings.get("build-dir") or ROOT / "build" / f"wheel-{wheel_file.python_tag()}").resolve()
    run("cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib",
        f"-DPython_EXECUTABLE={python}", "-DSTRATA_PYTHON_INSTALL_DIR=python", *pybind11_option(),
        *shlex.split(settings.get("cmake-args", "")))
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count())
    run("cmake", "--build", str(folder), "--parallel", jobs)
    if not (folder / "python/strata/_strata.so").exists():
        raise SystemExit("strata: no Python module was built: Python's headers (python3-dev) and pybind11 are needed")
    return folder


def write(wheel_directory, fill):
    """A wheel of what `fill(wheel)` adds, with metadata; its file name."""
    with wheel_file.Wheel(wheel_directory, "strata", version()) as wheel:
        fill(wheel)
        wheel.add(f"{wheel.info}/METADATA", metadata().encode())
        wheel.add(f"{wheel.info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        wheel.finish()
    return wheel.path.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = build(config_settings)
    with tempfile.TemporaryDirectory() as staging:
        for component in ("python", "dev", "program", "plugin"):
            prefix = Path(staging, "" if component == "python" else "sdk")
            run("cmake", "--install", str(folder), "--strip", "--component", component, "--prefix", str(prefix))

        def fill(wheel):
            wheel.add_folder(Path(staging, "python"), "")
            wheel.add_folder(Path(staging, "sdk"), "strata/sdk")
            wheel.add(f"{wheel.data}/scripts/strata", LAUNCHER.encode(), 0o755)

        return write(wheel_directory, fill)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package of the build folder, which links to its sources in Python."""
    folder = build(config_settings)
    return write(wheel_directory, lambda wheel: wheel.add("strata.pth", f"{folder}/python\n".encode()))


def sources():
    """The files of the tree, as Git knows them, or all but what builds left where there is no Git."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return sorted(name for name in listed.split("\0") if name and (ROOT / name).exists())
    names = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return sorted(name for name in names if not re.search(r"^(build|b)/|(^|/)__pycache__/|^PKG-INFO$", name))


def anonymous(entry):
    """An entry of an archive that does not say who made it when."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
    return entry


def build_sdist(sdist_directory, config_settings=None):
    stem = f"strata-{version()}"
    with tempfile.TemporaryDirectory() as folder:
        information = Path(folder, "PKG-INFO")
        information.write_text(metadata(), encoding="utf-8")
        with tarfile.open(Path(sdist_directory, f"{stem}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
            archive.add(information, f"{stem}/PKG-INFO", filter=anonymous)
            for name in sources():
                archive.add(ROOT / name, f"{stem}/{name}", filter=anonymous)
    return f"{stem}.tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    """What this machine does not have, pip may bring."""
    needed = [] if shutil.which("cmake") else ["cmake>=3.25"]
    installed = found("pkg-config", "--atleast-version=2.10", "pybind11") or found("pybind11-config", "--version")
    if installed or pybind11_option():
        return needed
    return needed + ["pybind11>=2.10"]


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config_settings=None):
    return []
