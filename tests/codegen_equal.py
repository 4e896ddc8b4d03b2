#!/usr/bin/env python3
"""What affine functions of constants compile to is what one writes by hand: codegen_equal.py COMPILER SOURCE_DIR

Pairs of functions, `f_NAME` and `hand_NAME`, are compiled with -O2; their instructions must be the same, addresses,
padding and jump targets' names aside. Where sums may be ordered freely, as many or fewer.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# name, parameters, the function, by hand.
CASES = [
    ("line", "i", 'affine<"i * 128 + 64">(i)', "i * 128 + 64"),
    ("line_axes", "i", "(ai * 128 + 64)(ai = i)", "i * 128 + 64"),
    ("shift", "i", 'affine<"i / 16">(i)', "i >> 4"),
    ("mask", "i", 'affine<"i % 16">(i)', "i & 15"),
    ("mask_axes", "i", "(ai % 16)(ai = i)", "i & 15"),
    ("floor", "i", 'affine<"i / 3">(i)', "strata::floor_div(i, 3)"),
    ("floor_axes", "i", "(ai / 3)(ai = i)", "strata::floor_div(i, 3)"),
    ("modulus", "i", 'affine<"i % 7">(i)', "strata::floor_mod(i, 7)"),
]
# Here the compiler is free to choose the order of the sums: as many instructions, or fewer.
ORDER_FREE = [
    ("scaled", "i", 'affine<"2 * (i * 3 - 4) + i">(i)', "2 * (i * 3 - 4) + i"),
    ("digits", "i, j", 'affine<"i * 128 + j % 16 * 8 + j / 16">(i, j)', "i * 128 + (j & 15) * 8 + (j >> 4)"),
    ("digits_axes", "i, j", "(ai * 128 + aj % 16 * 8 + aj / 16)(ai = i, aj = j)", "i * 128 + (j & 15) * 8 + (j >> 4)"),
]

SOURCE = """#include "strata/base/int_math.h"
#include "strata/affine/affine_axes.h"
#include "strata/affine/affine_static.h"
using strata::affine;
const auto [ai, aj] = strata::axes<"i", "j">;
"""


def source() -> str:
    out = SOURCE
    for name, names, function, by_hand in CASES + ORDER_FREE:
        parameters = ", ".join(f"std::int64_t {n}" for n in names.split(", "))
        for prefix, body in (("f", function), ("hand", by_hand)):
            out += f'extern "C" std::int64_t {prefix}_{name}({parameters}) {{ return std::int64_t({body}); }}\n'
    return out


def functions(listing: str) -> dict[str, list[str]]:
    """The instructions of each function of an objdump."""
    out: dict[str, list[str]] = {}
    current: list[str] = []
    for line in listing.splitlines():
        if head := re.match(r"^[0-9a-f]+ <(\w+)>:$", line):
            current = out.setdefault(head.group(1), [])
        elif instruction := re.match(r"^\s*[0-9a-f]+:\s+(.*\S)", line):
            text = re.sub(r"\s+", " ", instruction.group(1))
            text = re.sub(r"\b[0-9a-f]+ <\w+(\+0x[0-9a-f]+)?>", r"<here\1>", text)  # jumps inside of the function
            if not re.match(r"(data16|cs )*\s*(nop|xchg %ax,%ax)|.*\bnop[wl]?\b", text):
                current.append(text)
    return out


def main() -> int:
    compiler, root = sys.argv[1:3]
    objdump = shutil.which("objdump") or shutil.which("llvm-objdump") or shutil.which("llvm-objdump-19")
    if objdump is None:
        print("neither objdump nor llvm-objdump was found (Debian: binutils)")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "pairs.cpp"), Path(folder, "pairs.o")
        text.write_text(source())
        subprocess.run([compiler, "-std=c++20", "-O2", "-I", root, "-c", text, "-o", binary], check=True)
        listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", binary], check=True, capture_output=True,
                                 text=True)
    code = functions(listing.stdout)
    failures = 0
    for case in CASES + ORDER_FREE:
        name, _, function, by_hand = case
        ours, theirs = code[f"f_{name}"], code[f"hand_{name}"]
        if not ours or (len(ours) > len(theirs) if case in ORDER_FREE else ours != theirs):
            failures += 1
            print(f"{name}: {function}\n  {ours}\nis not {by_hand}\n  {theirs}")
    count = len(CASES + ORDER_FREE)
    print(f"{count - failures} of {count} pairs compile to what one writes by hand")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
