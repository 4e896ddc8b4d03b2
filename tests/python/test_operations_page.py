"""docs/operations.md is what the table of operations makes of it."""
import importlib
import sys
from pathlib import Path


def test_the_page_is_that_of_the_table(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "scripts"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = importlib.import_module("operations_page")
    page = made.page()
    assert made.PAGE.read_text(encoding="utf-8") == page, "write it anew: scripts/operations_page.py"
    names = {row["name"] for row in made._strata._operations()}
    assert len(names) > 350 and page.count("\n| `") >= len(names)
