"""The pages of the module, and what they ask for."""
import importlib
import sys
import types
from pathlib import Path

import pytest


@pytest.fixture()
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "python" / "tools"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module("reference")


def test_each_public_class_and_function_has_words(reference, tmp_path, capsys):
    pytest.importorskip("numpy")  # strata.spec has it
    assert reference.main(tmp_path) == 0, capsys.readouterr().out
    view = (tmp_path / "strata.html").read_text().split('<section id="View.create">')[1].split("</section>")[0]
    assert "@staticmethod\ndef create(shape: Sequence[int | Expr]" in view
    assert "<p>A View in canonical form" in view and "<pre>&gt;&gt;&gt; View.create((2, 3))" in view
    layers = (tmp_path / "strata.nn.html").read_text()
    assert "<pre>Linear(in_features: int, out_features: int, bias: bool = True)</pre>" in layers
    assert "<pre>ReLU()</pre>" in layers and "Flatten(start_dim: int = 1, end_dim: int = -1)" in layers
    for page in tmp_path.glob("*.html"):
        assert "strata::" not in page.read_text() and "builtins." not in page.read_text(), page


def test_what_has_no_words_is_named(reference):
    module = types.ModuleType("strata.made", "Made here.")
    exec("def bare(x): return x\n"
         "def told(x):\n  'Says it.'\n"
         "class Silent:\n  def shown(self): pass\n  def _hidden(self): pass\n"
         "class Told(Silent):\n  'Says it.'\n  @property\n  def size(self): return 1\n", vars(module))
    for value in vars(module).copy().values():
        if callable(value):
            value.__module__ = "strata.made"
    missing = []
    text, classes, functions = reference.module_html("strata.made", module, missing)
    assert missing == ["strata.made.Silent", "strata.made.Silent.shown", "strata.made.Told.size", "strata.made.bare"]
    assert (classes, functions) == (2, 2) and "def bare(x)" in text and "_hidden" not in text
