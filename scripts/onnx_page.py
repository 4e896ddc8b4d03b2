#!/usr/bin/env python3
"""Writes the table of operators at the end of docs/onnx.md from strata/onnx/operators.def.

tests/python/test_onnx.py says whether the page is that of the table.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/onnx.md"
MARK = "<!-- made by scripts/onnx_page.py -->\n"
ROW = re.compile(r'^STRATA_ONNX(?:_CONTROL)?\("(.*?)", (\w+), +(\d+), *(\d+), *(\w+), *(\w+), *(\w+), *"(.*?)", (\w+)\)$', re.MULTILINE)


def rows():
    """(domain, name, since, until, attributes) of each row, in the order of the table."""
    text = (ROOT / "strata/onnx/operators.def").read_text(encoding="utf-8")
    return [(d, n, int(s), int(u), a) for d, n, s, u, _, _, _, a, _ in ROW.findall(text)]


def versions(since, until):
    return f"{since} and later" if until == 0 else str(since) if since == until else f"{since} to {until}"


def attributes(text):
    """`axis`=1: names with their defaults."""
    parts = []
    for part in text.split():
        name, _, value = part.partition(":")
        default = value.partition("=")[2]
        parts.append(f"`{name}`" + (f"={default}" if default else ""))
    return ", ".join(parts)


def table():
    lines = ["| operator | versions | attributes, and their defaults |", "|---|---|---|"]
    for domain, name, since, until, text in sorted(rows(), key=lambda row: (row[0], row[1], row[2])):
        lines.append(f"| {domain + '.' if domain else ''}{name} | {versions(since, until)} | {attributes(text)} |")
    names = {row[:2] for row in rows()}
    return f"{len(names)} operators in {len(rows())} rows.\n\n" + "\n".join(lines) + "\n"


def page():
    text = PAGE.read_text(encoding="utf-8")
    return text[:text.index(MARK)] + MARK + table()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
