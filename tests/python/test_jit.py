"""strata.jit: captured once, replayed."""
import threading

import numpy as np
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


def is_near(a, b):
    return np.allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-4)


def test_functions_of_functions():
    w = strata.randn(30, 40).realize()

    @strata.jit
    def inner(x):
        return {"y": (x @ w).relu()}

    @strata.jit
    def outer(x):
        return inner(x)["y"].sum(1) + 1

    for k in range(6):
        x = strata.randn(5, 30).realize()
        wanted = (x @ w).relu().sum(1) + 1
        assert is_near(outer(x), wanted)
        if k % 2:  # the inner function has captures of its own
            assert is_near(inner(x)["y"], (x @ w).relu())
    assert outer.replays == 4


def test_packed_weights_follow_their_tensor():
    w = strata.randn(64, 48).realize()
    f = strata.jit(lambda x: x @ w)
    x = strata.randn(3, 64).realize()
    for k in range(9):
        assert is_near(f(x), x @ w), k
        if k % 2:
            w.assign(strata.randn(64, 48))
    assert f.replays == 7


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


# --- writes to arguments ---

CHANGES = {
    "element": lambda t, v: t.__setitem__(0, v), "slice": lambda t, v: t.__setitem__(slice(1, 3), v), "mask": lambda t, v: t.__setitem__([True, False, True], v),
    "indices": lambda t, v: t.__setitem__(Tensor([2, 0]), v), "twice": lambda t, v: (t.__setitem__(0, v), t.__setitem__(1, t[0] * 3)),
    "assign": lambda t, v: t.assign(t * 2 + v), "add_": lambda t, v: t.add_(v), "mul_": lambda t, v: t.mul_(v), "copy_": lambda t, v: t.copy_(v),
    "fill_": lambda t, v: t.fill_(3), "zero_": lambda t, v: t.zero_(), "clamp_": lambda t, v: t.clamp_(v, v + 2), "cumsum_": lambda t, v: t.cumsum_(0),
    "relu_ after sub_": lambda t, v: t.sub_(v).relu_(), "itself": lambda t, v: t.assign(t), "flipped": lambda t, v: t.assign(t.flip(0)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_an_argument_gets_it_gets_in_every_call(name):
    change = CHANGES[name]

    def body(t, v):
        change(t, v)
        return t.sum()

    f = strata.jit(body)
    mine, plain = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0, 3.0])
    for k in range(7):
        v = Tensor(float(k))
        got, want = f(mine, v), body(plain, v)
        assert mine.tolist() == plain.tolist() and got.item() == want.item(), k
        if k == 4:  # another tensor in its place
            mine, plain = Tensor([5.0, -1.0, 2.0]), Tensor([5.0, -1.0, 2.0])
    assert f.runs == 2 and f.replays == 5


def test_several_arguments_in_structures_and_of_one_shape():
    @strata.jit
    def swap(a, *, more):
        a[0] = a[0] + 100.0
        kept = a + 0
        a.assign(more["b"])
        more["b"].assign(kept)
        more["c"][0].add_(1)

    a, b, c = Tensor([1.0]), Tensor([2.0]), Tensor([0.0])
    x, y = 1.0, 2.0
    for k in range(6):
        swap(a, more={"b": b, "c": [c]})
        x, y = y, x + 100
        assert (a.item(), b.item(), c.item()) == (x, y, k + 1.0)


def test_values_that_pass_from_one_to_the_other():
    state, last = Tensor([0.0, 0.0]), Tensor([0.0])

    @strata.jit
    def shift(a, b):
        state.assign(a)  # an input's own memory
        old = b + 0
        b.assign(a)
        a.assign(old)
        last.assign(strata.rand(1))

    a, b, seen = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), set()
    x, y = a.tolist(), b.tolist()
    for _ in range(6):
        shift(a, b)
        assert state.tolist() == x
        x, y = y, x
        assert (a.tolist(), b.tolist()) == (x, y)
        seen.add(last.item())
    assert len(seen) == 6


def test_one_tensor_given_twice_is_one():
    @strata.jit
    def f(a, b):
        a.add_(1)
        return b * 10

    for turn in range(2):
        one, k = Tensor([1.0]), 1
        for _ in range(5):
            k += 1
            assert f(one, one).tolist() == [10.0 * k] and one.tolist() == [k]
        a, b = Tensor([1.0]), Tensor([5.0])
        for k in range(5):
            assert f(a, b).tolist() == [50] and a.tolist() == [k + 2] and b.tolist() == [5]


def test_tensors_that_the_function_knows_change_too():
    total, count = strata.zeros(2), Tensor(0)

    @strata.jit
    def add(x):
        total.add_(x)
        total[0] = total[0] * 2
        count.add_(1)
        x.mul_(2)
        return total.sum()

    x, want = Tensor([1.0, 1.0]), [0.0, 0.0]
    for k in range(6):
        want = [2 * (want[0] + 2**k), want[1] + 2**k]
        assert add(x).item() == sum(want) and total.tolist() == want and count.item() == k + 1 and x.tolist() == [2.0 ** (k + 1)] * 2


def test_an_argument_that_is_known_from_outside_too():
    w = Tensor([1.0, 2.0])

    @strata.jit
    def reads(x):
        x.add_(1)
        return w * 10

    y = Tensor([0.0, 0.0])
    for k in range(4):
        assert reads(y).tolist() == [10, 20] and y.tolist() == [k + 1.0] * 2
    assert reads(w).tolist() == [20, 30] and w.tolist() == [2, 3]  # as it is written
    with pytest.raises(strata.DomainError, match=r"\[jit\] a tensor is an argument, and the function also uses the tensor from outside"):
        reads(w)
    assert w.tolist() == [2, 3]
    assert reads(y).tolist() == [20, 30] and y.tolist() == [5, 5]

    @strata.jit
    def writes_outside(x):  # which changes nothing that is read later
        new = x * 2
        w.assign(new)
        return new

    for k in range(1, 5):
        assert writes_outside(w).tolist() == [2.0 * 2**k, 3.0 * 2**k] == w.tolist()


def test_memory_of_an_array_is_never_written():
    numpy = pytest.importorskip("numpy")
    state = strata.zeros(3)

    @strata.jit
    def f(t, s):
        t[0] = 100.0
        s.assign(state + t)
        state.add_(t)

    arrays = [numpy.full(3, float(k), "float32") for k in range(8)]
    for k, array in enumerate(arrays):
        t, s = Tensor(array), strata.zeros(3)
        if k % 3 == 2:
            state.assign(Tensor(arrays[k - 1]))
        f(t, s)
        assert t.tolist() == [100, k, k]
    assert [a.tolist() for a in arrays] == [[float(k)] * 3 for k in range(8)]


def test_parameters_and_views_as_arguments():
    w = Tensor([1.0, 2.0], requires_grad=True)

    @strata.jit
    def step(w, x):
        with strata.no_grad():
            w.sub_(x)

    @strata.jit
    def fill(row):
        row[0] = row[1] + 1

    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for k in range(5):
        step(w, Tensor([1.0, 1.0]))
        assert w.requires_grad and w.tolist() == [-float(k), 1.0 - k]
        (w * w).sum().backward()
        assert w.grad.tolist() == [-2.0 * k, 2.0 - 2 * k]
        w.grad = None
        row = x[1]
        fill(row)  # a value: x stays
        assert row.tolist() == [5, 4] and x.tolist() == [[1, 2], [3, 4]]


def test_what_was_written_before_an_error_stays():
    fails = [False]

    @strata.jit
    def f(t):
        t.add_(1)
        if fails[0]:
            raise KeyError("mine")
        return t

    t = Tensor([0.0])
    f(t)
    fails[0] = True
    with pytest.raises(KeyError):  # while it is captured
        f(t)
    assert t.tolist() == [2]


def test_symbolic_sizes_of_what_is_written():
    n = strata.Variable("n", 1, 8)

    @strata.jit
    def double(y):
        y.mul_(2)
        return y.sum()

    for k in (2, 3, 3, 3, 5, 2, 5):
        y = strata.arange(8).realize()[: n.bind(k)]
        assert double(y).item() == k * (k - 1) and y.sum().item() == k * (k - 1)


@pytest.mark.parametrize("device", ["INTERP", "LLVM"])
@pytest.mark.parametrize("other", ["b[...] = a", "b[...] = a.reshape(1, 1)", "b.assign(a.expand(4, 7))", "b[...] = a\n    c[...] = a"])
def test_arguments_that_get_one_value(device, other):
    scope = {}
    exec(f"def step(a, b, c):\n    a.bitwise_xor_(1)\n    {other}\n    return c * 1", scope)
    captured = strata.jit(scope["step"])
    with strata.flags(DEVICE=device):
        held = []
        for k in range(6):
            a, b, c = Tensor(9 + k, dtype="int32"), strata.arange(28, dtype="int32").reshape(4, 7), Tensor([k], dtype="int32")
            captured(a, b, c)
            held.append((a, b, k))
            for x, y, j in held[-2:]:
                assert (x.tolist(), y.tolist()) == ((9 + j) ^ 1, [[(9 + j) ^ 1] * 7] * 4)


ONE_MEMORY = [  # what is assigned to several tensors is computed once, and may be returned besides
    "return a, a", "a.add_(1); return a, a", "a.add_(1); return a, a*1", "a.add_(1); b[...] = a; return a, b", "a.add_(1); b[...] = a; c[...] = b; return a+b, c",
    "t = a*2; a[...] = t; b[...] = t; return t, t+1", "t = a*2; a[...] = t; b[...] = t.flip(0); return t, b", "t = a+b; a.assign(t); b.assign(t); c.assign(t); return t, c",
    "a[...] = b; b[...] = c; return a*1, b*1", "t = a*1; a[...] = b; b[...] = t; return a*1, b*1", "outside[0].assign(a+1); b.assign(outside[0]); return b, a",
    "t = a+1; outside[0].assign(t); outside[1].assign(t); return outside[0], outside[1]", "a[0] = b[1]; b[0] = a[1]; return a, b",
    "t = a.sum(); a[...] = t; b[...] = t; c[0] = t; return t, a", "t = a.reshape(2, 2)+1; a.assign(t.reshape(4)); b.assign(t.T.reshape(4)); return t, b",
    "t = a[:2]*1; b[:2] = t; a[2:] = t; return t, b", "b.assign(a.bitcast('int32').bitcast('float32')); a.add_(1); return b, a"]


@pytest.mark.parametrize("device", ["INTERP", "LLVM"])
@pytest.mark.parametrize("body", ONE_MEMORY)
def test_what_several_tensors_are_given(device, body):
    def function():
        scope = {"outside": [Tensor([0.0] * 4), Tensor([0.0] * 4)]}
        exec("def f(a, b, c):\n  " + body.replace("; ", "\n  "), scope)
        return scope["f"], scope["outside"]

    values = lambda tensors: [x.tolist() for x in tensors]
    held = []
    with strata.flags(DEVICE=device):
        (plain, its), (fast, others) = function(), function()
        captured = strata.jit(fast)
        for k in range(7):
            given = [Tensor([1.0 + k, 2, 3, 4 * k]), Tensor([5.0, 6 + k, 7, 8]), Tensor([9.0, k, 1, 2])]
            same = [Tensor(x.tolist()) for x in given]
            wanted, got = plain(*given), captured(*same)
            assert (values(got), values(same), values(others)) == (values(wanted), values(given), values(its))
            if k % 3:  # held on to, so that its memory is not free for what comes
                held.append((got, same, values(got), values(same)))
            for results, arguments, were, these in held:
                assert (values(results), values(arguments)) == (were, these)


def test_writes_through_an_array_of_a_buffer_are_seen():
    w = strata.Tensor(np.arange(70 * 40, dtype=np.float32).reshape(70, 40)).contiguous()
    w = (w + 0).realize()
    f = strata.jit(lambda x: x.matmul(w))
    x = strata.Tensor(np.ones((3, 70), np.float32))
    for _ in range(4):
        f(x)
    elements = strata.lazy_op(w).buffer.numpy()
    for k in range(3):
        elements[...] = k
        np.testing.assert_array_equal(f(x).numpy(), np.full((3, 40), 70.0 * k))
