"""strata.jit: captured once, replayed."""
import threading

import pytest
import strata
from strata import Tensor


def test_replays():
    calls = []

    @strata.jit
    def f(x, y):
        """Doc."""
        calls.append(1)
        return (x * y + 1).sum(0)

    for k in range(5):
        assert f(strata.full((2, 2), float(k)).realize(), strata.ones(2, 2).realize()).tolist() == [2 * k + 2.0] * 2
    assert len(calls) == 2 == f.runs and f.replays == 3 and f.__name__ == "f" and f.__doc__ == "Doc."
    assert f(strata.ones(3, 2), strata.ones(3, 2)).tolist() == [6, 6] and len(calls) == 3


def test_arguments_and_results_in_structures():
    @strata.jit
    def f(batch, scale=2, *, flags=()):
        return {"sum": batch["x"] + batch["ys"][0], "more": [batch["x"] * scale, (scale, None)], "flags": flags}

    for k in range(4):
        x = strata.full((2,), float(k)).realize()
        out = f({"x": x, "ys": [x * 2]}, scale=3, flags=("a",))
        assert out["sum"].tolist() == [3 * k] * 2 and out["more"][0].tolist() == [3 * k] * 2
        assert out["more"][1] == (3, None) and out["flags"] == ("a",)
    assert f.runs == 2 and f.replays == 2
    assert f({"x": x, "ys": [x]}, 5)["more"][0].tolist() == [15, 15] and f.runs == 3


def test_methods_and_other_objects():
    class Model:
        def __init__(self, by):
            self.by = by

        @strata.jit
        def run(self, x):
            return x * self.by

    a, b = Model(2), Model(3)
    for _ in range(3):
        assert a.run(strata.ones(2).realize()).tolist() == [2, 2] and b.run(strata.ones(2).realize()).tolist() == [3, 3]


def test_state_and_random_numbers():
    count = Tensor([0.0]).realize()

    @strata.jit
    def step(x):
        count.assign(count + x)
        return strata.rand(3)

    seen = {tuple(step(Tensor([2.0])).tolist()) for _ in range(6)}
    assert count.tolist() == [12] and len(seen) == 6


def test_errors_come_through():
    @strata.jit
    def f(x):
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError):
            f(strata.ones(2))
    with pytest.raises(TypeError):
        strata.jit(3)


def test_a_keyword_decorator():
    @strata.jit(captures=1)
    def f(x):
        return x + 1

    for n in (2, 3, 2, 3):
        assert f(strata.zeros(n)).tolist() == [1] * n


def test_threads():
    @strata.jit
    def f(x):
        return x * 2 + 1

    wrong = []

    def work(k):
        for _ in range(20):
            if f(strata.full((64,), float(k)).realize()).tolist() != [2.0 * k + 1] * 64:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_variables_change_without_a_capture():
    n = strata.Variable("n", 1, 8)
    x = strata.arange(8).realize()

    @strata.jit
    def total(y):
        return (y * 2).sum()

    for k in (2, 3, 4, 5):
        assert total(x[: n.bind(k)]).item() == k * (k - 1)
