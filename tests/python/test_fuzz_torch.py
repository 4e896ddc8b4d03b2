"""A sample of what `./test --long` runs: random programs beside PyTorch; and that the fuzzer finds what is wrong."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")

import strata

import fuzz_calls
import fuzz_known
import fuzz_torch

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_programs_are_what_pytorch_makes_of_them(capsys):
    out = fuzz_torch.fuzz(500, 14)
    assert not out.failures, capsys.readouterr().out
    assert out.counts["compared"] > 200 and out.counts["gradients"] > 50 and out.counts["chains"] > 50 and out.counts["replays"] > 20
    assert sum(n for name, n in out.counts.items() if name.startswith("sums")) > 2


def test_the_tables_feed_it():
    assert len(fuzz_calls.METHODS) > 350 and len(fuzz_calls.FUNCTIONS) > 250 and len(fuzz_calls.FUNCTIONAL) > 10
    assert fuzz_calls.random_call(7).lines == fuzz_calls.random_call(7).lines


@pytest.mark.parametrize("name", fuzz_known.KNOWN)
def test_what_is_known_stands_in_a_page(name):
    row = fuzz_known.KNOWN[name]
    page = " ".join((DOCS / row.page).read_text().split())
    assert " ".join(row.words.split()) in page


WRONG = {
    "a value": ("tanh", lambda f: lambda x: f(x) * 1.001, "calls"), "a NaN that vanishes": ("sqrt", lambda f: lambda x: f(x).nan_to_num(0), "calls"),
    "a slope": ("sin", lambda f: lambda x: f(x.detach()) + x - x.detach(), "calls"), "the tensor itself": ("neg", lambda f: lambda x: x.assign(f(x).detach()), "calls"),
    "a dtype": ("sum", lambda f: lambda x, *a, **k: f(x, *a, **k).cast("float64"), "calls"), "an error": ("exp", lambda f: lambda x: x[None, 3], "calls"),
    "what is read while it is captured": ("sub", lambda f: lambda x, *a, **k: f(x, *a, **k) * 0 + strata.tensor(f(x, *a, **k).tolist(), dtype=f(x, *a, **k).dtype), "chains"),
    "a large sum": ("sum", lambda f: lambda x, *a, **k: f(x, *a, **k) * 1.0001 if x.dtype == "float32" and x.numel() > 10_000 else f(x, *a, **k), "sums")}


@pytest.mark.parametrize("what", WRONG)
def test_it_finds(what, monkeypatch, capsys):
    name, spoil, mode = WRONG[what]
    spoiled = spoil(getattr(strata.Tensor, name))
    monkeypatch.setattr(strata.Tensor, name, spoiled)
    monkeypatch.setattr(fuzz_calls, "METHODS", [name])
    monkeypatch.setattr(fuzz_calls, "FUNCTIONS", [name])
    monkeypatch.setattr("fuzz_chains.PLAIN", [name])
    if mode == "sums":
        monkeypatch.setattr("fuzz_sums.NAMES", (name,))
    monkeypatch.setattr(fuzz_calls, "WAYS", {"x": 1})
    out = fuzz_torch.fuzz(60, 3, (mode,))
    assert out.failures.total() > 2
    text = capsys.readouterr().out
    seed = re.search(r"--only (\d+)", text).group(1)
    again = fuzz_torch.fuzz(1, 1, (mode,), only=int(seed))
    assert again.failures.total() == 1 and f"--only {seed}" in capsys.readouterr().out


def run(*arguments):
    environment = {**os.environ, "STRATA_DISK_CACHE": "0"}
    return subprocess.run([sys.executable, str(HERE / "fuzz_torch.py"), *arguments], capture_output=True, text=True, env=environment)


def test_flags(capsys):
    for wrong, words in ((("--count", "many"), "--count takes a number, not 'many'"), (("--seed", "-1"), "--seed takes a number, not '-1'"), (("--only", "1.5"), "--only takes a number"),
                         (("--count",), "--count takes a value"), (("--programs", "3"), "unknown flag --programs"), (("--modes", "calls,all"), "--modes takes some of calls,chains,sums")):
        assert fuzz_torch.main(list(wrong)) == 2 and words in capsys.readouterr().err
    out = run("--count", "5", "--seed", "2", "--modes", "calls")
    assert out.returncode == 0 and "0 findings" in out.stdout
