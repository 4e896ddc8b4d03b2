"""Writes a wheel: a zip file with a record of what is in it (PEP 427)."""
import base64
import hashlib
import os
import sys
import sysconfig
import time
import zipfile
from pathlib import Path


def python_tag():
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def tag():
    """For this version of Python on this platform."""
    return f"{python_tag()}-{python_tag()}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def moment():
    """The time that files are given: SOURCE_DATE_EPOCH's, or the first that a zip file knows."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return max(time.gmtime(int(epoch))[:6], (1980, 1, 1, 0, 0, 0)) if epoch else (1980, 1, 1, 0, 0, 0)


class Wheel:
    def __init__(self, folder, name, version):
        stem = f"{name}-{version}"
        self.info, self.data = f"{stem}.dist-info", f"{stem}.data"
        self.path = Path(folder, f"{stem}-{tag()}.whl")
        self.record = []
        self.archive = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.archive.close()

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, moment())
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def add_folder(self, folder, prefix):
        """All files of a folder, below `prefix`."""
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            mode = 0o755 if path.stat().st_mode & 0o111 else 0o644
            self.add(str(Path(prefix, path.relative_to(folder)).as_posix()), path.read_bytes(), mode)

    def finish(self):
        lines = ("Wheel-Version: 1.0", "Generator: strata_build", "Root-Is-Purelib: false", f"Tag: {tag()}", "")
        self.add(f"{self.info}/WHEEL", "\n".join(lines).encode())
        self.record.append(f"{self.info}/RECORD,,")
        self.archive.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", moment()), "\n".join(self.record) + "\n")
