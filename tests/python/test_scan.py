"""Loops inside of graphs: scan() and while_loop() beside loops in Python, and their gradients beside those of the unrolled loop."""
import gc
import weakref

import numpy as np
import pytest

import strata
from strata import Tensor

RNG = np.random.default_rng(5)


def data(*shape, scale=1.0):
    return strata.tensor((RNG.standard_normal(shape) * scale).astype(np.float32))


def unrolled(f, state, xs, length=None, reverse=False):
    """What scan() computes, as a loop in Python."""
    n = length if xs is None else (xs[0] if isinstance(xs, tuple) else xs).shape[0]
    outputs = [None] * n
    for t in reversed(range(n)) if reverse else range(n):
        x = None if xs is None else tuple(x[t] for x in xs) if isinstance(xs, tuple) else xs[t]
        state, outputs[t] = f(state, x)
    return state, outputs


def close(a, b, tolerance=1e-5):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(b).max(initial=0))))


def rnn():
    w, u, b = data(5, 4, scale=0.5).requires_grad_(), data(4, 4, scale=0.5).requires_grad_(), data(4).requires_grad_()
    xs, h = data(7, 3, 5).requires_grad_(), data(3, 4).requires_grad_()

    def step(h, x):
        h = (x @ w + h @ u + b).tanh()
        return h, h * 2

    return step, h, xs, [w, u, b, xs, h]


def lstm():
    w, b = data(2, 8).requires_grad_(), data(8).requires_grad_()
    xs, h, c = data(6, 3, 8).requires_grad_(), data(3, 2).requires_grad_(), data(3, 2).requires_grad_()

    def step(state, x):
        h, c = state
        gates = x + h @ w + b
        i, f, g, o = (gates[:, 2 * k : 2 * k + 2] for k in range(4))
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h, c), h

    return step, (h, c), xs, [w, b, xs, h, c]


def softmax_state():  # a step with reductions, a gelu (a custom gradient) and a state that no output has
    a, xs, s = data(4, 4).requires_grad_(), data(5, 4).requires_grad_(), data(4).requires_grad_()

    def step(s, x):
        s = ((s @ a) + x).softmax(0) + s.gelu() * a.sum(0)
        return s, s.sum() * x

    return step, s, xs, [a, xs, s]


def matrices():  # y[t] = A[t] @ y[t-1] + b[t]
    a, b, y = data(6, 3, 3, scale=0.5).requires_grad_(), data(6, 3).requires_grad_(), data(3).requires_grad_()

    def step(y, ab):
        y = ab[0] @ y + ab[1]
        return y, y

    return step, y, (a, b), [a, b, y]


def gathered():  # an embedding inside of the step, and integers as a sequence
    table, ids, s = data(6, 3).requires_grad_(), strata.tensor(RNG.integers(0, 6, (8,))), data(3).requires_grad_()

    def step(s, i):
        s = (s * 0.5 + table[i]).sin()
        return s, s

    return step, s, ids, [table, s]


def swapped():  # states that change places, one that stays, and one from outside
    a, b, k, xs = data(3).requires_grad_(), data(3).requires_grad_(), data(3).requires_grad_(), data(5, 3).requires_grad_()

    def step(s, x):
        first, second, third = s
        return (second, first + x, third), (first * third, k, x)

    return step, (a, b, k), xs, [a, b, k, xs]


STEPS = [rnn, lstm, softmax_state, matrices, gathered, swapped]


def tensors(value):
    if isinstance(value, Tensor):
        return [value]
    return [t for item in value for t in tensors(item)]


def stacked(outputs):
    if isinstance(outputs[0], Tensor):
        return Tensor.stack(outputs, 0)
    return tuple(Tensor.stack([o[k] for o in outputs], 0) for k in range(len(outputs[0])))


def loss_of(state, outputs):
    total = 0
    for k, t in enumerate(tensors(state) + tensors(outputs)):
        total = total + (t.sin() * (k + 1)).sum()
    return total


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("make", STEPS, ids=lambda m: m.__name__)
def test_values_and_gradients(make, reverse):
    step, state, xs, parameters = make()
    last, ys = strata.scan(step, state, xs, reverse=reverse)
    last_, ys_ = unrolled(step, state, xs, reverse=reverse)
    ys_ = stacked(ys_)
    for a, b in zip(tensors(last) + tensors(ys), tensors(last_) + tensors(ys_)):
        close(a.numpy(), b.numpy())
    got = strata.gradients(loss_of(last, ys), parameters)
    wanted = strata.gradients(loss_of(last_, ys_), parameters)
    for a, b in zip(got, wanted):
        close(a.numpy(), b.numpy(), 1e-4)


@pytest.mark.parametrize("make", STEPS, ids=lambda m: m.__name__)
def test_second_gradients(make):
    step, state, xs, parameters = make()
    results = [strata.scan(step, state, xs)]
    last, ys = unrolled(step, state, xs)
    results.append((last, stacked(ys)))
    both = []
    for last, ys in results:
        first = strata.gradients(loss_of(last, ys), parameters)
        both.append(strata.gradients(loss_of(first, ()), parameters, allow_unused=True))
    for a, b in zip(*both):
        close(a.numpy(), b.numpy(), 1e-3)


@pytest.mark.parametrize("make", STEPS, ids=lambda m: m.__name__)
def test_gradients_of_a_part(make):  # of the last state alone, and of outputs alone: other results have no gradient
    step, state, xs, parameters = make()
    last, ys = strata.scan(step, state, xs)
    last_, ys_ = unrolled(step, state, xs)
    ys_ = stacked(ys_)
    for a, b in [(loss_of(last, ()), loss_of(last_, ())), (loss_of((), ys), loss_of((), ys_))]:
        for got, wanted in zip(strata.gradients(a, parameters, allow_unused=True), strata.gradients(b, parameters, allow_unused=True)):
            close(got.numpy(), wanted.numpy(), 1e-4)


@pytest.mark.parametrize("make", STEPS, ids=lambda m: m.__name__)
def test_replays(make):
    step, state, xs, parameters = make()

    def train(*given):
        last, ys = strata.scan(step, state, xs)
        loss = loss_of(last, ys)
        return (loss, *strata.gradients(loss, parameters))

    captured = strata.jit(train)
    wanted = [t.numpy() for t in train()]
    for _ in range(4):
        for a, b in zip(captured(), wanted):
            close(a.numpy(), b, 1e-4)
    assert captured.replays == 2


@pytest.mark.parametrize("device", [d.name for d in strata.Device.list() if not d.missing and d.name != "NULL"])
@pytest.mark.parametrize("make", [lstm, swapped], ids=lambda m: m.__name__)
def test_devices(make, device):
    step, state, xs, parameters = make()
    last, ys = unrolled(step, state, xs)
    to = lambda value: value.detach().to(device) if isinstance(value, Tensor) else tuple(to(v) for v in value)  # noqa: E731
    if make is swapped:  # its constant is from outside, and must be on the device, too
        outside = to(state)[2]

        def moved_step(s, x):
            first, second, third = s
            return (second, first + x, third), (first * third, outside, x)

        got_last, got = strata.scan(moved_step, to(state), to(xs))
    else:
        w, b = to(parameters[0]), to(parameters[1])

        def moved_step(state, x):
            h, c = state
            gates = x + h @ w + b
            i, f, g, o = (gates[:, 2 * k : 2 * k + 2] for k in range(4))
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            return (o.sigmoid() * c.tanh(), c), o.sigmoid() * c.tanh()

        got_last, got = strata.scan(moved_step, to(state), to(xs))
    for a, b in zip(tensors(got_last) + tensors(got), tensors(last) + tensors(stacked(ys))):
        close(a.numpy(), b.numpy())


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "uint16", "int32", "int64", "bool"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_dtypes_and_lengths(dtype, n):
    xs = strata.tensor(RNG.integers(0, 2, (n, 3))).cast(getattr(strata, dtype if dtype != "bool" else "bool_"))
    s = strata.tensor([1, 0, 1]).cast(xs.dtype)
    step = lambda s, x: ((s ^ x, s) if dtype == "bool" else (s + x, s * x))  # noqa: E731
    last, ys = strata.scan(step, s, xs)
    last_, ys_ = unrolled(step, s, xs)
    assert last.dtype == s.dtype and ys.shape == (n, 3)
    assert last.tolist() == last_.tolist()
    assert ys.tolist() == [y.tolist() for y in ys_]


def test_mixed_dtypes():
    xs = data(6, 2)

    def step(s, x):
        total, count, seen = s
        return (total + x, count + 1, seen | (x > 0)), (count, total.cast(strata.float64), x > 0)

    s = (strata.zeros(2), strata.tensor(0), strata.zeros(2).cast(strata.bool_))
    last, ys = strata.scan(step, s, xs)
    last_, ys_ = unrolled(step, s, xs)
    for a, b in zip(tensors(last) + tensors(ys), tensors(last_) + tensors(stacked(ys_))):
        assert a.dtype == b.dtype
        close(a.numpy(), b.numpy())


def test_structures():
    xs = {"a": data(4, 2), "b": [data(4), None]}
    state = {"n": strata.tensor(0), "pair": (strata.zeros(2), None)}

    def step(s, x):
        return {"n": s["n"] + 1, "pair": (s["pair"][0] + x["a"] * x["b"][0], None)}, [x["a"].sum(), {"n": s["n"]}]

    last, ys = strata.scan(step, state, xs)
    close(last["pair"][0].numpy(), (xs["a"].numpy() * xs["b"][0].numpy()[:, None]).sum(0))
    assert last["n"].item() == 4 and last["pair"][1] is None and ys[1]["n"].tolist() == [0, 1, 2, 3]
    close(ys[0].numpy(), xs["a"].numpy().sum(1))


def test_without_sequences_or_states():
    (a, b), ys = strata.scan(lambda s, x: ((s[1], s[0] + s[1]), s[0]), (strata.tensor(0), strata.tensor(1)), None, length=10)
    assert (a.item(), b.item(), ys.tolist()) == (55, 89, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    x = data(5, 2)
    nothing, ys = strata.scan(lambda s, x: (None, x * 2), None, x)
    assert nothing is None
    close(ys.numpy(), x.numpy() * 2)


def test_nested():
    x, w = data(4, 5), data(5).requires_grad_()

    def row(total, r):
        last, partial = strata.scan(lambda s, e: (s * 0.5 + e * w[0], s), total, r)
        return last, partial.sum() + last

    last, ys = strata.scan(row, strata.tensor(0.0), x)

    def by_hand():
        total, out = strata.tensor(0.0), []
        for i in range(4):
            partial = 0
            for j in range(5):
                partial = partial + total
                total = total * 0.5 + x[i, j] * w[0]
            out.append(partial + total)
        return total, Tensor.stack(out, 0)

    last_, ys_ = by_hand()
    close(ys.numpy(), ys_.numpy())
    close(strata.gradients(last + ys.sum(), w).numpy(), strata.gradients(last_ + ys_.sum(), w).numpy(), 1e-4)


def test_one_loop_whose_kernels_do_not_depend_on_the_length():
    step, state, xs, _ = lstm()
    texts = []
    for n in (3, 300):
        x = data(n, 3, 8)
        h, c = (s.detach() for s in state)
        last, ys = strata.scan(step, (h, c), x)
        texts.append(ys.contiguous().explain())
    assert texts[0].count("\n") == texts[1].count("\n")
    assert texts[0].count("in each step") == 2 and "a loop of 3 steps" in texts[0] and "a loop of 300 steps" in texts[1]


def test_values_from_outside_are_computed_once():
    w = data(64, 64)
    text = strata.scan(lambda s, x: (s @ (w @ w).exp() + x, None), strata.zeros(64), data(5, 64))[0].contiguous().explain()
    steps = [line for line in text.splitlines() if line.startswith("  in each step")]
    assert len(steps) == 1


def test_slices_of_memory_are_not_copied():
    x = data(10, 4, 3).realize()
    for view in (x, x[2:9], x[::2], x.flip(0), x[:, 1:3], x[:, 2]):
        text = strata.scan(lambda s, e: (s + e, None), strata.zeros(*view.shape[1:]).contiguous().realize(), view)[0].contiguous().explain()
        assert len([line for line in text.splitlines() if line.startswith("a kernel")]) == 1, text  # the copy of the result
        close(strata.scan(lambda s, e: (s + e, None), strata.zeros(*view.shape[1:]), view)[0].numpy(), view.numpy().sum(0))
    for view in (x.transpose(0, 1), x[:, :, 1:], x.transpose(1, 2)):
        close(strata.scan(lambda s, e: (s + e, None), strata.zeros(*view.shape[1:]), view)[0].numpy(), view.numpy().sum(0))


def test_symbolic_length():
    n = strata.Variable("n", 1, 9)
    x = data(9, 3)

    @strata.jit
    def total(v):
        last, ys = strata.scan(lambda s, e: (s * 0.5 + e, s), strata.zeros(3), v)
        return last, ys.sum(0)

    for k in (3, 9, 1, 5, 7):
        last, ys = total(x[: n.bind(k)])
        s, all_ = np.zeros(3, np.float32), np.zeros(3, np.float32)
        for t in range(k):
            all_ += s
            s = s * 0.5 + x.numpy()[t]
        close(last.numpy(), s)
        close(ys.numpy(), all_)


def test_while():
    def root(a):
        return strata.while_loop(lambda x: (x * x - a).abs() > 1e-6, lambda x: x - (x * x - a) / (2 * x), strata.tensor(1.0), 50)

    a = strata.tensor(3.0).requires_grad_()
    y = root(a)
    close(y.item(), 3**0.5)
    close(strata.gradients(y, a).item(), 0.5 / 3**0.5, 1e-4)
    captured = strata.jit(root)
    for value in (2.0, 5.0, 9.0, 1.0):
        close(captured(strata.tensor(value)).item(), value**0.5)


def test_while_counts():
    def collatz(n):
        even = lambda s: s[0] % 2 == 0  # noqa: E731
        return strata.while_loop(
            lambda s: s[0] != 1, lambda s: (even(s).where(s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, strata.tensor(0)), 1000
        )

    captured = strata.jit(lambda n: collatz(n)[1])
    for n, steps in [(1, 0), (6, 8), (7, 16), (27, 111), (97, 118)]:
        assert captured(strata.tensor(n)).item() == steps
    last = strata.while_loop(lambda s: s < 10, lambda s: s + 1, strata.tensor(0), 3)  # at most 3 steps
    assert last.item() == 3
    assert strata.while_loop(lambda s: s < 10, lambda s: s + 1, strata.tensor(4), 0).item() == 4


def test_gradients_of_while_with_weights():
    w, x = data(3, 3, scale=0.3).requires_grad_(), data(2, 3).requires_grad_()

    def step(s):
        return (s[0] @ w).tanh() + s[0] * 0.1, s[1] + 1

    y, n = strata.while_loop(lambda s: s[1] < 5, step, (x, strata.tensor(0)), 40)
    s = (x, strata.tensor(0))
    for _ in range(5):
        s = step(s)
    close(y.numpy(), s[0].numpy())
    for a, b in zip(strata.gradients((y * y).sum(), [w, x]), strata.gradients((s[0] * s[0]).sum(), [w, x])):
        close(a.numpy(), b.numpy(), 1e-4)


def test_training_step_inside_of_a_loop():  # descent on a quadratic: gradients are taken inside of the step
    target = data(4)

    def step(w, x):
        p = w.detach().requires_grad_()
        loss = ((p - target) * (p - target)).sum()
        return w - 0.1 * strata.gradients(loss, p), loss

    w, losses = strata.scan(step, strata.zeros(4), None, length=100)
    close(w.numpy(), target.numpy(), 1e-4)
    assert losses.numpy()[-1] < 1e-6 * losses.numpy()[0]


def test_deterministic_bits():
    step, state, xs, parameters = lstm()
    with strata.flags(DETERMINISTIC=True):
        last, ys = strata.scan(step, state, xs)
        last_, ys_ = unrolled(step, state, xs)
        for a, b in zip(tensors(last) + tensors(ys), tensors(last_) + tensors(stacked(ys_))):
            assert a.numpy().tobytes() == b.numpy().tobytes()


K = strata.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "f, error, words",
    [
        (lambda s, x: (s[:2], None), strata.ShapeError, r"state 0 has the shape \(3,\), and behind a step \(2,\) \(.*test_scan.py"),
        (lambda s, x: (s.long(), None), strata.DomainError, r"state 0 is of f32, and behind a step of i64 \(.*test_scan.py"),
        (lambda s, x: ((s, s), None), TypeError, r"changes the structure of the state from Tensor to \(Tensor, Tensor\)"),
        (lambda s, x: (s * s.sum().item(), None), strata.DomainError, "only when the loop runs"),
        (lambda s, x: (s * float(x), None), strata.DomainError, "only when the loop runs"),
        (lambda s, x: s, TypeError, "returns a pair"),
        (lambda s, x: (1.0, None), TypeError, "changes the structure|not float"),
    ],
)
def test_refuses_steps(f, error, words):
    with pytest.raises(error, match=words):
        strata.scan(f, K, data(7))[0].numpy()


def test_refuses_arguments():
    with pytest.raises(strata.ShapeError, match="neither sequences nor a length"):
        strata.scan(lambda s, x: (s, None), K)
    with pytest.raises(strata.ShapeError, match="sequence 1 has 3 elements, not 4"):
        strata.scan(lambda s, x: (s, None), K, (data(4), data(3)))
    with pytest.raises(strata.ShapeError, match="sequence 0 has 4 elements, not 5"):
        strata.scan(lambda s, x: (s, None), K, data(4), length=5)
    with pytest.raises(strata.ShapeError, match="has no axis"):
        strata.scan(lambda s, x: (s, None), K, strata.tensor(1.0))
    with pytest.raises(strata.ShapeError, match="-1 steps"):
        strata.scan(lambda s, x: (s, None), K, None, length=-1)
    with pytest.raises(strata.DomainError, match="a bool of one element"):
        strata.while_loop(lambda s: s > 0, lambda s: s, K, 5)
    with pytest.raises(TypeError, match="not int"):
        strata.scan(lambda s, x: (s, None), 3, data(4))
    with pytest.raises(ZeroDivisionError):
        strata.scan(lambda s, x: 1 / 0, K, data(4))


def test_constants_that_have_memory():
    """A constant is one node in the whole program. Where somebody has realized the node, loops read its memory."""
    table = strata.arange(4) * 3 + 1
    strata.realize(table)  # the node itself, and later an equal one in a step
    last, ys = strata.scan(lambda s, x: (s + (strata.arange(4) * 3 + 1), strata.arange(4) * 3 + 1), strata.zeros(4).long(), None, length=3)
    assert last.tolist() == [3, 12, 21, 30] and ys.tolist() == [[1, 4, 7, 10]] * 3
    wanted = strata.arange(5) * 7
    (s, t), _ = strata.scan(lambda s, x: ((strata.arange(5) * 7, s[0]), None), (strata.zeros(5).long(), strata.ones(5).long()), None, length=2)
    strata.realize(wanted)  # behind the trace, in front of the compilation
    assert s.tolist() == t.tolist() == [0, 7, 14, 21, 28]


def test_constant_sources_need_no_kernel():
    x = data(5, 3).realize()
    last, _ = strata.scan(lambda s, e: (s + e, None), strata.full((3,), 2.5), x)
    assert [line.split(" ")[1] for line in last.contiguous().explain().splitlines() if not line.startswith(" ")] == ["loop", "kernel"]
    close(last.numpy(), x.numpy().sum(0) + 2.5)
    ones = strata.ones(5, 3)
    close(strata.scan(lambda s, e: (s + e[0] * e[1], None), strata.zeros(3), (x, ones))[0].numpy(), x.numpy().sum(0))
    for value in (-1, 300):
        got = strata.scan(lambda s, e: (s + 1, None), strata.full((3,), value).cast(strata.int16), None, length=0)[0]
        assert got.tolist() == [value] * 3


def test_the_condition_outlives_the_kernels_of_its_step():
    w = strata.tensor([[0.5, 0.2], [0.1, 0.9]])
    steps = [
        (lambda x: ((x @ w).softmax(0) @ w).softmax(0), lambda n: n * 2 + 1 < 6, 3),
        (lambda x: (x @ w).cumsum(0) @ w, lambda n: n < 3, 3),
        (lambda x: ((x @ w).softmax(0) @ w).sum() + x, lambda n: (n * 3 - 7) * n < 5, 3),
    ]
    for f, goes_on, wanted in steps:
        x, n = strata.while_loop(lambda s: goes_on(s[1]), lambda s: (f(s[0]), s[1] + 1), (strata.tensor([1.0, 2.0]), strata.tensor(0)), 50)
        assert n.item() == wanted
        y = strata.tensor([1.0, 2.0])
        for _ in range(wanted):
            y = f(y)
        close(x.numpy(), y.numpy())


@pytest.mark.parametrize("seed", range(12))
def test_random_while_loops_with_gradients(seed):
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(2, 5)), int(rng.integers(1, 9))
    w = strata.tensor((rng.standard_normal((n, n)) * 0.7).astype(np.float32)).requires_grad_()
    x = strata.tensor(rng.standard_normal(n).astype(np.float32)).requires_grad_()
    ops = [lambda v: v @ w, lambda v: v.softmax(0), lambda v: v.cumsum(0), lambda v: v.tanh(), lambda v: v - v.mean(), lambda v: v.gelu()]
    chosen = [ops[k] for k in rng.integers(0, len(ops), 4)]

    def f(v):
        for op in chosen:
            v = op(v)
        return v

    y, k = strata.while_loop(lambda s: s[1] * 2 < 2 * most - 1, lambda s: (f(s[0]), s[1] + 1), (x, strata.tensor(0)), 40)
    z = x
    for _ in range(most):
        z = f(z)
    assert k.item() == most
    close(y.numpy(), z.numpy(), 1e-4)
    for a, b in zip(strata.gradients(y.sin().sum(), [w, x], allow_unused=True), strata.gradients(z.sin().sum(), [w, x], allow_unused=True)):
        close(a.numpy(), b.numpy(), 1e-3)


def test_dictionaries_are_matched_by_key():
    step = lambda s, x: ({"b": s["b"] + 10, "a": s["a"] + 1}, {"z": s["a"], "y": s["b"]})  # noqa: E731
    last, ys = strata.scan(step, {"a": strata.tensor(0), "b": strata.tensor(0)}, None, length=2)
    assert (last["a"].item(), last["b"].item()) == (2, 20) and ys["z"].tolist() == [0, 1] and ys["y"].tolist() == [0, 10]
    last = strata.while_loop(lambda s: s["a"] < 3, lambda s: step(s, None)[0], {"a": strata.tensor(0), "b": strata.tensor(0)}, 9)
    assert (last["a"].item(), last["b"].item()) == (3, 30)


def test_flags_that_check():
    table = strata.arange(5)
    with strata.flags(CHECK_INDEX=True):
        assert strata.scan(lambda s, i: (s + table[i], None), strata.tensor(0), strata.tensor([1, 2, 4]))[0].item() == 7
        with pytest.raises(strata.OutOfRangeError, match=r"9.*test_scan.py"):
            strata.scan(lambda s, i: (s + table[i], None), strata.tensor(0), strata.tensor([1, 2, 9]))[0].item()
    with strata.flags(NAN_CHECK=True):
        close(strata.scan(lambda s, i: (s + s.sqrt(), None), strata.tensor(3.0), None, length=3)[0].item(), 9.5356, 1e-3)
        with pytest.raises(strata.DomainError, match=r"SQRT.*in a step of a loop.*test_scan.py"):
            strata.scan(lambda s, i: (s + ((s - 100).sqrt() > 0).where(1.0, 0.0), None), strata.tensor(3.0), None, length=5)[0].item()


def test_custom_gradients_of_gradients():
    a0 = strata.tensor([1.0, 2.0]).requires_grad_()

    def step(s, x):
        a, b = s
        return (a * 0.5, strata.with_gradient(b.detach() * 1, [b], lambda dy: [strata.with_gradient(dy * 1, [a], lambda d: [d])])), None

    (_, m), _ = strata.scan(step, (a0, a0), None, length=2)
    assert strata.gradients(m.sum(), a0).tolist() == [1.0, 1.0]


def test_values_of_a_step_do_not_leave_it():
    buffer, x = strata.zeros(2, 3), data(4, 3)
    norm = strata.nn.BatchNorm(3)
    before = norm.running_mean.numpy().copy()

    def writes(s, e):
        buffer[0] = e
        return s, None

    for f in (writes, lambda s, e: (s + norm(e.reshape(1, 3).expand(4, 3))[0], None)):
        with pytest.raises(strata.DomainError, match="assigns one of its values to a tensor of shape"):
            strata.scan(f, strata.zeros(3), x)
    assert buffer.tolist() == [[0] * 3] * 2
    assert np.array_equal(norm.running_mean.numpy(), before)

    weight, read = data(3).requires_grad_(), data(3).requires_grad_()
    (read * 2).sum().backward()
    doubled = weight * 2  # the step reaches the parameter through what was computed of it

    def learns(s, e):
        (doubled * s + read * e).sum().backward()
        return s + e, None

    def sets(s, e):
        read.grad = e
        return s, None

    for f in (learns, sets):
        with pytest.raises(strata.DomainError, match=r"\[scan\] the step makes the gradient of a tensor of shape \(3,\)"):
            strata.scan(f, strata.zeros(3), x)
        assert weight.grad is None and read.grad.tolist() == [2] * 3

    def inside(s, e):  # tensors of the step itself may change
        t = s * 2
        t += e
        t[0] = 5.0
        own = (s * 1).detach().requires_grad_()
        (own * own).sum().backward()
        return t + own.grad * 0, None

    close(strata.scan(inside, strata.zeros(3), x)[0].numpy()[1:], unrolled(inside, strata.zeros(3), x)[0].numpy()[1:])


def test_eager_loops_keep_nothing():
    alive = []

    def run():
        w = np.ones(1000)
        alive.append(weakref.ref(w))
        w = strata.from_numpy(w)
        strata.scan(lambda s, e: (s * w[0] + w.sum(), None), strata.zeros(()).cast(strata.float64), None, length=3)[0].numpy()

    for _ in range(60):
        run()
    gc.collect()
    assert sum(ref() is not None for ref in alive) <= 1


def test_refuses_other_types():
    with pytest.raises(TypeError, match=r"\[while_loop\] the condition is a bool tensor of one element, not bool"):
        strata.while_loop(lambda s: True, lambda s: s, K, 5)
    with pytest.raises(TypeError, match=r"\[while_loop\] the most steps is an integer or an expression, not float"):
        strata.while_loop(lambda s: s.sum() > 0, lambda s: s, K, 2.5)
    with pytest.raises(TypeError, match=r"\[scan\] the length is an integer or an expression, not str"):
        strata.scan(lambda s, x: (s, None), K, None, length="3")
    with pytest.raises(TypeError, match=r"\[scan\] an output is .*, not float"):
        strata.scan(lambda s, x: (s, 3.0), K, data(4))
    with pytest.raises(strata.DomainError, match=r"\[scan\] sequence 0 is on CLANG, and the loop on LLVM"):
        strata.scan(lambda s, x: (s, None), K.to("LLVM"), data(4).to("CLANG"))
