"""A sample of the programs of symbolic sizes that `./test --long` runs, that the fuzzer finds what is wrong, and what it found."""
import re

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")

import strata
from strata import Tensor, Variable

import fuzz_sizes


def test_programs_are_what_they_are_with_numbers(capsys):
    out = fuzz_sizes.fuzz(300, 14)
    assert not out.failures, capsys.readouterr().out
    assert out.counts["values"] > 200 and out.counts["captureds"] > 200 and out.counts["gradients"] > 50 and out.counts["replays"] > 60
    assert "refused for symbolic sizes, by operation:" in capsys.readouterr().out


WRONG = {"a value": lambda f: lambda x, *a, **k: f(x, *a, **k) + (0 if all(isinstance(n, int) for n in x.shape) else 1),
         "a crash": lambda f: lambda x, *a, **k: f(x, *a, **k) if all(isinstance(n, int) for n in x.shape) else 1 / 0}


@pytest.mark.parametrize("what", WRONG)
def test_it_finds(what, monkeypatch, capsys):
    monkeypatch.setattr(strata.Tensor, "sum", WRONG[what](strata.Tensor.sum))
    monkeypatch.setattr(fuzz_sizes, "METHODS", ["sum"])
    monkeypatch.setattr("fuzz_calls.WAYS", {"x": 1})
    monkeypatch.setattr(fuzz_sizes, "SIZED", ["{x}.sum()"])
    out = fuzz_sizes.fuzz(60, 3)
    assert out.failures.total() > 2
    seed = re.search(r"--only (\d+)", capsys.readouterr().out).group(1)
    assert fuzz_sizes.fuzz(1, 1, only=int(seed)).failures.total() == 1


def test_flags(capsys):
    for wrong, words in ((("--count", "many"), "--count takes a number, not 'many'"), (("--seed",), "--seed takes a value"), (("--programs", "3"), "unknown flag --programs")):
        assert fuzz_sizes.main(list(wrong)) == 2 and words in capsys.readouterr().err


# --- what it found ---

X = np.random.default_rng(5).integers(-4, 5, size=(12, 3)).astype("float32")
ROWS = Variable("rows", 1, 12)
OPERATIONS = {
    "argmax": lambda x, n: x.argmax(0), "argmin of all": lambda x, n: x.argmin(), "roll": lambda x, n: x.roll(2, 0), "roll back": lambda x, n: x.roll(-15, 0),
    "sort": lambda x, n: x.sort(0)[0], "argsort": lambda x, n: x.argsort(0, descending=True), "topk": lambda x, n: x.topk(1, 0)[0], "indices": lambda x, n: x[Tensor([0, -1, 0])],
    "several indices": lambda x, n: x[Tensor([0, -1]), Tensor([2, -3])], "gather": lambda x, n: x.gather(0, (x * 0).long() - 1), "take": lambda x, n: x.take(Tensor([0, -1])),
    "index_select": lambda x, n: x.index_select(0, strata.arange(n) // 2), "index_add": lambda x, n: x.index_add(0, Tensor([-1, 0]), Tensor(X[:2])),
    "scatter": lambda x, n: x.scatter(0, (x * 0).long(), 7.0), "put": lambda x, n: x.put(Tensor([-1]), Tensor([9.0])), "every other": lambda x, n: x[::2], "every third": lambda x, n: x[::3],
    "backwards": lambda x, n: x[::-1], "every other, backwards": lambda x, n: x[::-2], "diagonal": lambda x, n: (x @ x.t()).diagonal(), "trace": lambda x, n: (x @ x.t()).trace(),
    "diff": lambda x, n: strata.cat([x, x[:1]]).diff(dim=0), "arange": lambda x, n: strata.arange(n), "arange from": lambda x, n: strata.arange(n, 2 * n + 1, 2, dtype="float32"), "eye": lambda x, n: strata.eye(n, 3),
    "split": lambda x, n: strata.cat([p * (k + 1) for k, p in enumerate(x.split([1, n - 1]))]), "tensor_split": lambda x, n: strata.cat([p * (k + 1) for k, p in enumerate(x.tensor_split(3))]),
    "chunk": lambda x, n: strata.cat([p * (k + 1) for k, p in enumerate(strata.cat([x, x]).chunk(2))]), "unfold": lambda x, n: strata.cat([x, x]).unfold(0, 2, 1), "unfold by 3": lambda x, n: strata.cat([x, x]).unfold(0, 2, 3),
    "roll by a size": lambda x, n: x.roll(n // 2, 0), "roll a number by a size": lambda x, n: strata.arange(7).roll(n), "linspace": lambda x, n: strata.linspace(0, 3, n), "one_hot": lambda x, n: strata.arange(4).one_hot(n),
    "reflected": lambda x, n: x.t().pad((n - 1, 0), mode="reflect"), "edges": lambda x, n: x.t().pad((n, 2), mode="replicate"), "circular": lambda x, n: x.t().pad((1, n), mode="circular"), "tril": lambda x, n: x.tril(-1),
    "conv1d": lambda x, n: x.t().unsqueeze(0).conv1d(strata.arange(18.0).reshape(2, 3, 3), padding=1), "conv1d by 2": lambda x, n: x.t().unsqueeze(0).conv1d(strata.arange(18.0).reshape(2, 3, 3), stride=2, padding=1),
    "conv2d": lambda x, n: x.reshape(1, 1, n, 3).conv2d(strata.arange(12.0).reshape(2, 1, 3, 2), padding=(1, 0), stride=(2, 1)), "conv2d apart": lambda x, n: x.reshape(1, 1, n, 3).conv2d(strata.arange(12.0).reshape(2, 1, 3, 2), padding=(2, 0), dilation=(2, 1)),
    "max_pool": lambda x, n: strata.nn.functional.max_pool1d(x.t(), 3, 2, 1), "avg_pool": lambda x, n: strata.nn.functional.avg_pool1d(x.t(), 2, 2, 1) * 2, "a number by integers": lambda x, n: n * x.sum(1).long()[:n]}


@pytest.mark.parametrize("device", ["LLVM", "INTERP"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_symbolic_sizes(name, device):
    f = OPERATIONS[name]
    with strata.flags(DEVICE=device):
        x, captured = Tensor(X).realize(), strata.jit(f)
        for k in (3, 1, 12, 9, 8):
            want = f(Tensor(X[:k]), k)
            for got in (f(x[: ROWS.bind(k)], ROWS.bind(k)), captured(x[: ROWS.bind(k)], ROWS.bind(k))):
                assert isinstance(got, Tensor) and got.dtype == want.dtype and got.tolist() == want.tolist()
        assert (captured.runs, captured.replays) == (2, 3)


@pytest.mark.parametrize("name", ["indices", "gather", "roll", "sort", "every other", "diagonal", "index_add", "diff", "split", "tensor_split", "unfold", "unfold by 3", "reflected", "edges", "circular", "conv1d", "conv1d by 2", "conv2d", "conv2d apart", "max_pool", "avg_pool"])
def test_slopes_of_symbolic_sizes(name):
    f = OPERATIONS[name]
    for k in (1, 5, 12):
        slopes = []
        for v, n in ((Tensor(X[:k]), k), (Tensor(X).realize()[: ROWS.bind(k)], ROWS.bind(k))):
            leaf = v.detach().requires_grad_()
            f(leaf, n).square().sum().backward()
            slopes.append(leaf.grad.tolist())
        assert slopes[0] == slopes[1]


def test_windows_that_may_be_empty_are_read():
    x = strata.arange(16).reshape(2, 2, 4).realize()
    n = Variable("n", 0, 5)
    for k in (0, 3, 5):
        half = min(k // 2, 2)
        assert x[:, : n.bind(k) // 2].tolist() == np.arange(16).reshape(2, 2, 4)[:, :half].tolist()
        assert x[:, : n.bind(k) // 2][1].tolist() == np.arange(16).reshape(2, 2, 4)[1, :half].tolist()


def test_a_histogram_of_nothing_counts_nothing():
    n = Variable("n", 0, 12)
    for k in (0, 1, 5):
        assert Tensor(X).realize()[: n.bind(k)].histc(4).tolist() == Tensor(X[:k]).histc(4).tolist()


def test_what_is_refused_says_where():
    x = Tensor(X).realize()[: ROWS.bind(3)]
    for call, words in ((lambda: x.median(0), "[median]"), (lambda: x.unbind(0), "[unbind] the size rows of axis 0 is symbolic: the number of parts has to be known"), (lambda: x.split(2), "[split] axis of size rows in parts of 2: the number of parts differs"),
                        (lambda: x.chunk(2), "[chunk] axis of size rows in parts of"), (lambda: x.split([1, 2]), "[split] axis 0 of size rows has no 2 left"), (lambda: x.split([1]), "leave (-1+rows) elements over"), (lambda: x.unfold(0, 2, 1), "[unfold] windows of size 2"),
                        (lambda: x.t().conv1d(Tensor(X[:, :2]).reshape(4, 3, 2)), "[conv1d] a kernel that spans 2 elements does not fit the rows elements"), (lambda: x.t().pad((2, 0), mode="reflect"), "[pad] the padding (2, 0) of dimension 1 of size rows is more than (-1+rows)"),
                        (lambda: strata.nn.functional.max_pool1d(x.t(), 1, ceil_mode=True), "[max_pool1d] ceil_mode needs a number"), (lambda: x.reshape(1, 1, -1).conv_transpose1d(strata.ones(1, 1, 2)), "[conv_transpose1d] a size is symbolic"), (lambda: x.topk(2, 0), "[topk] k is 2, not from 0 to the rows"),
                        (lambda: x[5], "[index] index 5 is outside of axis 0 of size rows"), (lambda: x[[0, 4]], "[index] index 4"), (lambda: Tensor(X).realize()[: Variable("some", 0, 12).bind(3)].diff(dim=0), "[diff]"),
                        (lambda: strata.arange(0, ROWS.bind(2), 0.5), "[arange]"), (lambda: strata.arange(0.5, ROWS.bind(2)), "[arange]"), (lambda: strata.arange(ROWS.bind(3), 0), "[arange]")):
        with pytest.raises(strata.Error, match=re.escape(words)):
            call().tolist()
