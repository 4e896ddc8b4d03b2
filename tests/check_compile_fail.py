#!/usr/bin/env python3
"""A file that must not compile: check_compile_fail.py FILE -- COMPILER FLAGS...

The file says on lines `// expect: REGEX` what the compiler must print, each of them.
"""
import re
import subprocess
import sys
from pathlib import Path


def main() -> int:
    file, dashes, *command = sys.argv[1:]
    assert dashes == "--", __doc__
    expected = re.findall(r"^\s*// expect: (.+)$", Path(file).read_text(), re.MULTILINE)
    if not expected:
        print(f"{file}: no `// expect: REGEX` line")
        return 1
    result = subprocess.run([*command, file], capture_output=True, text=True)
    output = result.stdout + result.stderr
    if result.returncode == 0:
        print(f"{file}: compiled, but must not")
        return 1
    missing = [regex for regex in expected if not re.search(regex, output)]
    for regex in missing:
        print(f"{file}: the compiler did not print /{regex}/; it printed:\n{output}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
