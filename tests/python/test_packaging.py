"""What is put into wheels and source archives, without building one; what the module shows to whoever loads it."""
import base64
import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import strata

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging/backend"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import strata_build
    return strata_build


def test_a_wheel_is_complete_and_its_record_true(backend, tmp_path):
    content = tmp_path / "content"
    (content / "strata").mkdir(parents=True)
    (content / "strata/a.py").write_text("x = 1\n")
    (content / "strata/program").write_text("#!/bin/sh\n")
    (content / "strata/program").chmod(0o755)
    name = backend.write(tmp_path, lambda wheel: wheel.add_folder(content, ""))
    assert name == f"strata-{strata.__version__}-{backend.wheel_file.tag()}.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        info = f"strata-{strata.__version__}.dist-info"
        assert set(wheel.namelist()) == {"strata/a.py", "strata/program"} | {
            f"{info}/{file}" for file in ("METADATA", "LICENSE", "WHEEL", "RECORD")}
        for row in wheel.read(f"{info}/RECORD").decode().splitlines()[:-1]:
            path, digest, size = row.rsplit(",", 2)
            data = wheel.read(path)
            assert int(size) == len(data)
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert wheel.getinfo("strata/program").external_attr >> 16 == 0o100755
        assert f"\nVersion: {strata.__version__}\n" in wheel.read(f"{info}/METADATA").decode()
    again = tmp_path / "again"
    again.mkdir()
    backend.write(again, lambda wheel: wheel.add_folder(content, ""))
    assert (again / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_source_archive_has_what_a_build_reads(backend, tmp_path):
    name = backend.build_sdist(tmp_path)
    stem = name.removesuffix(".tar.gz")
    with tarfile.open(tmp_path / name) as archive:
        names = set(archive.getnames())
    for file in ("PKG-INFO", "CMakeLists.txt", "pyproject.toml", "LICENSE", "cmake/install.cmake", "python/exports.map",
                 "strata/base/version.h", "packaging/backend/wheel_file.py"):
        assert f"{stem}/{file}" in names
    assert not [n for n in names if n.startswith((f"{stem}/build/", f"{stem}/.git/"))]


def test_outside_of_a_wheel_there_is_no_sdk():
    with pytest.raises(FileNotFoundError, match="cmake --install"):
        strata.cmake_dir()
    asked = subprocess.run([sys.executable, "-m", "strata", "--cmake-dir"], capture_output=True, text=True)
    assert asked.returncode == 1 and asked.stderr.startswith("strata: no ")


def test_the_module_exports_its_entry_alone():
    listed = subprocess.run(["nm", "-D", "--defined-only", strata._strata.__file__], check=True, capture_output=True, text=True)
    assert [line.split()[2] for line in listed.stdout.splitlines()] == ["PyInit__strata"]
