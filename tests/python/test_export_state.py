"""export_c() of functions with state, of training steps and of loops: several calls beside those in this process."""
import numpy as np
import pytest

import strata
from exported import NEEDS_COMPILERS, Library, call_twice, check, deterministic, gru, normal, steps_agree
from strata import Tensor

pytestmark = NEEDS_COMPILERS


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(tmp_path, reverse):
    rng = np.random.default_rng(3)
    step = gru(normal(rng, 5, 24), normal(rng, 8, 24), 8)

    @strata.jit
    def sequence(x, h):
        return strata.scan(step, h, x, reverse=reverse)

    call_twice(sequence, normal(rng, 7, 2, 5), normal(rng, 2, 8))
    check(sequence, tmp_path, "sequence")


def test_nested_loops(tmp_path):
    rng = np.random.default_rng(4)
    w = normal(rng, 3, 3)

    @strata.jit
    def rows(x):
        def inner(h, v):
            h = (h @ w + v).tanh()
            return h, h

        def outer(total, row):
            last, all_ = strata.scan(inner, total, row)
            return last, all_.sum(0)
        return strata.scan(outer, Tensor(np.zeros(3, "f4")), x)

    call_twice(rows, normal(rng, 4, 5, 3))
    check(rows, tmp_path, "rows", ("generic",))


def test_while_loop(tmp_path):
    @strata.jit
    def halvings(x):
        return strata.while_loop(lambda s: s.abs().max() > 1, lambda s: s / 2, x, 50)

    call_twice(halvings, Tensor(np.array([100.0, -3, 7], "f4")))
    check(halvings, tmp_path, "halvings", ("generic",))


def test_gradients_of_while_loop(tmp_path):
    """The backward pass does as many steps as the loop did: none, some, and the most that are allowed."""
    rng = np.random.default_rng(9)
    w = Tensor(rng.uniform(0.5, 0.9, 3).astype("f4"), requires_grad=True)

    @strata.jit
    def slopes(x):
        w.grad = None
        x = x * 1.0
        x.requires_grad = True
        y = strata.while_loop(lambda s: s.abs().max() > 1, lambda s: (s * w).sin() + s * 0.5, x, 9)
        (y * y).sum().backward()
        return y, x.grad, w.grad

    inputs = [np.array(v, "f4") for v in ([5, -3, 2], [0.5, 0.1, -0.2], [1e6, 4, 1], [1.5, 1, 1])]
    call_twice(slopes, Tensor(inputs[0]))
    check(slopes, tmp_path, "slopes", ("plain", "generic"))
    slopes.export_c(tmp_path / "m")
    model = Library(tmp_path / "m")
    for x in inputs:
        wanted = [t.numpy() for t in slopes(Tensor(x))]
        got = [np.full(3, np.nan, "f4") for _ in wanted]
        assert model(x, *got) == 0
        for a, b in zip(got, wanted):
            np.testing.assert_array_equal(a, b)


def test_training_with_state(tmp_path):
    """The losses and the parameters of 12 steps of Adam, from the same beginning, and from a saved state."""
    rng = np.random.default_rng(8)
    w = Tensor((rng.standard_normal((8, 3)) * 0.3).astype("f4"), requires_grad=True)
    b = Tensor(np.zeros(3, "f4"), requires_grad=True)
    optimizer = strata.optim.Adam([w, b], lr=0.01)

    @strata.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = (x @ w + b).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = normal(rng, 5, 8), Tensor(np.array([0, 1, 2, 0, 1], "i8"))
    for _ in range(3):
        step(x, y)
    info = step.export_c(tmp_path / "step", outputs=["loss"])
    assert info["state_bytes"] > 0
    model = Library(tmp_path / "step")
    state = model.memory(model.macro("STATE_BYTES"))
    assert model.library.step_reset(model.word(state)) == 0
    saved, first = None, None
    for k in range(12):
        if k == 4:
            saved = state.copy()
        loss = np.zeros((), "f4")
        assert model(x.numpy(), y.numpy(), loss, state) == 0
        assert loss == step(x, y).numpy()
        if k == 4:
            first = loss.copy()
    state[:] = saved
    assert model(x.numpy(), y.numpy(), loss, state) == 0 and loss == first


def test_recurrent_state(tmp_path):
    rng = np.random.default_rng(9)
    h, w = Tensor(np.zeros((3, 4), "f4")), normal(rng, 4, 4)

    @strata.jit
    def cell(x):
        h.assign((x @ w + h @ w).tanh())
        return h.sum(0)

    call_twice(cell, normal(rng, 3, 4))
    check(cell, tmp_path, "cell", states=["h"])
    assert "CELL_PLAIN_H_OFFSET 0" in (tmp_path / "cell_plain.h").read_text()


KEPT = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


@pytest.mark.parametrize("dtype", KEPT)
def test_state_of_each_dtype_is_written_in_part(tmp_path, dtype):
    """A ring of rows: each call writes one row at a place that it is given, and a column of numbers."""
    rng = np.random.default_rng(10)
    ring = Tensor(rng.integers(0, 2, (5, 3))).cast(dtype).contiguous().realize()
    place = strata.Variable("place", 0, 4)

    @strata.jit
    def push(x, at):
        ring[at] = x.cast(dtype)
        ring[:, 1:2] = 1
        return ring.double().sum(0), ring[::2].float()

    rows = [Tensor((rng.integers(0, 2, 3) * (1 if dtype == "bool" else 97)).astype("f4")) for _ in range(6)]
    for k in range(3):
        push(rows[k], place.bind(k))
    steps_agree(push, tmp_path, "push", [((row, place.bind(at)), [at]) for row, at in zip(rows, [0, 4, 2, 2, 1, 3])])


def test_random_numbers_go_on(tmp_path):
    strata.manual_seed(5)

    @strata.jit
    def noise(x):
        return x + Tensor.rand(3, 4), Tensor.rand(3)

    x = np.zeros((3, 4), "f4")
    call_twice(noise, Tensor(x))
    noise.export_c(tmp_path / "noise")
    model = Library(tmp_path / "noise")
    state = model.memory(model.macro("STATE_BYTES"))
    model.library.noise_reset(model.word(state))
    for _ in range(3):
        a, b = np.zeros((3, 4), "f4"), np.zeros(3, "f4")
        assert model(x, a, b, state) == 0
        want = noise(Tensor(x))
        assert np.array_equal(a, want[0].numpy()) and np.array_equal(b, want[1].numpy())


def test_assigned_argument(tmp_path):
    @strata.jit
    def count(x, total):
        total.assign(total + x)
        return total * 2

    x, total = Tensor(np.arange(6, dtype="f4")), Tensor(np.zeros(6, "f4"))
    call_twice(count, x, total)
    count.export_c(tmp_path / "count")
    model = Library(tmp_path / "count")
    held, y = np.ones(6, "f4"), np.zeros(6, "f4")
    for k in range(3):
        assert model(x.numpy(), held, y) == 0
        assert np.array_equal(held, 1 + (k + 1) * np.arange(6)) and np.array_equal(y, 2 * held)


def test_argument_that_is_written_in_place(tmp_path):
    """A row of a cache that the caller has: nothing else of it is written, in this process and in C, and --selftest agrees."""
    @strata.jit
    def push(cache, row, at):
        old = cache[at] * 1
        cache[at] = row
        return old

    rng = np.random.default_rng(11)
    at, cache = strata.Variable("at", 0, 255), normal(rng, 256, 128)
    for k in range(3):
        push(cache, normal(rng, 128), at.bind(k))
    check(push, tmp_path, "checked")
    push.export_c(tmp_path / "push")
    assert "push_copy(" not in (tmp_path / "push.c").read_text()
    model, held, expected = Library(tmp_path / "push"), np.zeros((256, 128), "f4"), np.zeros((256, 128), "f4")
    for k in (3, 255, 0, 3):
        row, old = np.full(128, k + 1, "f4"), np.zeros(128, "f4")
        assert model(held, row, old, k) == 0
        assert np.array_equal(old, expected[k])
        expected[k] = row
        assert np.array_equal(held, expected)


def test_training_of_a_net(tmp_path):
    """Convolution, batch norm with its running mean, dropout with its random numbers, AdamW with its corrections."""
    rng = np.random.default_rng(21)

    class Net(strata.nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.b, self.l = strata.nn.Conv2d(1, 8, 3, padding=1), strata.nn.BatchNorm2d(8), strata.nn.Linear(128, 4)

        def __call__(self, x):
            return self.l(self.b(self.c(x)).relu().max_pool2d(2).flatten(1).dropout(0.2))

    net = Net()
    optimizer = strata.optim.AdamW(net.parameters(), lr=0.01)

    @strata.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = net(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    batch = lambda: (normal(rng, 6, 1, 8, 8), Tensor(rng.integers(0, 4, 6).astype("i8")))
    for _ in range(3):
        step(*batch())
    steps_agree(step, tmp_path, "step", [(batch(), ()) for _ in range(6)])


def test_training_through_a_loop(tmp_path):
    rng = np.random.default_rng(22)
    wx = Tensor((rng.standard_normal((3, 4)) * 0.3).astype("f4"), requires_grad=True)
    wh = Tensor((rng.standard_normal((4, 4)) * 0.3).astype("f4"), requires_grad=True)
    optimizer = strata.optim.SGD([wx, wh], lr=0.1, momentum=0.9)

    @strata.jit
    def step(x):
        optimizer.zero_grad()

        def cell(h, v):
            h = (v @ wx + h @ wh).tanh()
            return h, h
        _, all_ = strata.scan(cell, Tensor(np.zeros((2, 4), "f4")), x)
        loss = (all_ * all_).mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        step(normal(rng, 6, 2, 3))
    steps_agree(step, tmp_path, "step", [((normal(rng, 6, 2, 3),), ()) for _ in range(4)])


def test_loops_of_symbolic_length(tmp_path):
    rng = np.random.default_rng(23)
    n = strata.Variable("n", 0, 12)
    full, wx, wh = normal(rng, 12, 2, 3), normal(rng, 3, 4), normal(rng, 4, 4)

    @strata.jit
    def last(x):
        def cell(h, v):
            h = (v @ wx + h @ wh).tanh()
            return h, h
        return strata.scan(cell, Tensor(np.zeros((2, 4), "f4")), x)[0]

    cut = lambda k: full.shrink(((0, n.bind(k)), (0, 2), (0, 3))).contiguous()
    for k in (4, 7):
        last(cut(k))
    steps_agree(last, tmp_path, "last", [((cut(k),), (k,)) for k in (1, 2, 12, 0)], sizes=1)


def test_a_position_as_an_argument(tmp_path):
    """Attention to the rows up to a position, which is an argument itself."""
    rng = np.random.default_rng(24)
    keys, values = normal(rng, 16, 8), normal(rng, 16, 8)
    position = strata.Variable("position", 0, 15)

    @strata.jit
    def attend(x, p):
        scores = (keys.shrink(((0, p + 1), (0, 8))) @ x).softmax(-1)
        return scores.reshape(1, p + 1) @ values.shrink(((0, p + 1), (0, 8)))

    for k in (3, 5):
        attend(normal(rng, 8), position.bind(k))
    steps_agree(attend, tmp_path, "attend", [((normal(rng, 8), position.bind(k)), (k,)) for k in (0, 4, 15)], sizes=1)


@pytest.mark.parametrize("name", ["k", "c", "d0", "p1", "count", "at", "needed", "base", "begin", "work"])
def test_names_of_sizes(tmp_path, name):
    """A size has a name that the functions of the file use, too."""
    rng = np.random.default_rng(25)
    n = strata.Variable(name, 1, 9)
    full, w = normal(rng, 9, 4), normal(rng, 4, 4)

    @strata.jit
    def f(x):
        def cell(h, v):
            h = (v + h @ w).tanh()
            return h, h
        return strata.scan(cell, Tensor(np.zeros(4, "f4")), x)[0], (x @ w).softmax(0)

    cut = lambda k: full.shrink(((0, n.bind(k)), (0, 4))).contiguous()
    for k in (4, 7):
        f(cut(k))
    steps_agree(f, tmp_path, "f", [((cut(k),), (k,)) for k in (1, 9)], sizes=1)
