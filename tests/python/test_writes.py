"""x[key] = value beside NumPy: any integers and slices, values of all kinds, and those who hold the old elements."""
import random
import sys
import threading

import numpy as np
import pytest

import strata
from strata import Tensor

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]
DEVICES = ["LLVM", "INTERP", "CLANG"]


def random_key(rng, shape):
    """Integers, slices of any step, an ellipsis and new axes, for some of the axes."""
    key = []
    for n in shape[: rng.randint(0, len(shape))]:
        if rng.random() < 0.4:
            key.append(rng.randrange(-n, n))
        else:
            ends = [rng.choice([None, rng.randint(-n - 1, n + 1)]) for _ in range(2)]
            key.append(slice(*ends, rng.choice([None, 1, 2, 3, -1, -2])))
    if rng.random() < 0.3:
        key.append(Ellipsis)
    if rng.random() < 0.2:
        key.insert(rng.randint(0, len(key)), None)
    return tuple(key)


def elements(rng, shape, dtype):
    values = np.array([rng.randint(-9, 9) for _ in range(int(np.prod(shape)))], "f8").reshape(shape)
    return values if dtype.startswith(("float", "bf", "int")) else abs(values) % 2


def tensor(values, dtype, device):
    return Tensor(values, dtype=getattr(strata, dtype), device=device).realize()


def numbers(x):
    """The elements, in f64."""
    return np.array(x.tolist(), "f8").reshape(x.shape)


def broadcastable(rng, shape):
    """A shape that broadcasts to `shape`: axes in front are left out, others are 1."""
    return [n if rng.random() < 0.7 else 1 for n in shape[rng.randint(0, len(shape)) :]]


def one_write(rng, x, expected, dtype, device):
    key = random_key(rng, expected.shape)
    selected = expected[key].shape
    kind = rng.choice(["number", "tensor", "lazy", "own", "view"])
    if kind == "number":
        value = rng.randint(0, 1) if dtype in ("bool", "uint8", "uint16", "uint64") else rng.randint(-9, 9)
        x[key], expected[key] = bool(value) if dtype == "bool" else value, value
    elif kind == "own":  # its own elements, in another order
        flipped = tuple(slice(None, None, -1) for _ in selected)
        x[key], expected[key] = x[key][flipped] if selected else x[key], expected[key][flipped].copy()
    else:
        values = elements(rng, broadcastable(rng, selected), dtype)
        value = tensor(values, dtype, device)
        if kind == "lazy":
            value = (value + 0).cast(value.dtype) if dtype != "bool" else value & value
        if kind == "view" and values.ndim:
            value, values = value.flip(0), values[::-1]
        x[key], expected[key] = value, values


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_beside_numpy(dtype, device):
    rng = random.Random(f"{dtype} {device}")
    for trial in range({"INTERP": 12, "LLVM": 3, "CLANG": 1}[device]):  # kernels of values are compiled
        shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
        start = elements(rng, shape, dtype)
        x, expected = tensor(start, dtype, device), start.copy()
        for turn in range(4):
            before = expected.copy()
            holder = rng.choice([None, lambda: x[0:], lambda: x.flip(0), lambda: x.sum(0), lambda: x.contiguous().realize()])
            held = holder and (holder(), numbers(holder()))
            one_write(rng, x, expected, dtype, device)
            where = f"{dtype} on {device}, trial {trial}, turn {turn}, shape {shape}"
            np.testing.assert_array_equal(numbers(x), expected, err_msg=where)
            if held:
                np.testing.assert_array_equal(numbers(held[0]), held[1], err_msg=f"{where}: held\n{before}")


def test_numpy_memory_is_not_written():
    given = np.arange(6.0)
    x = Tensor(given)
    x[2] = 9
    assert x.tolist() == [0, 1, 9, 3, 4, 5] and given[2] == 2


def test_memory_that_numpy_sees_is_not_written():
    x = strata.arange(4).float().realize()
    seen = x.numpy()
    x[1] = 7
    assert x.tolist() == [0, 7, 2, 3] and seen.tolist() == [0, 1, 2, 3]


def test_loops_over_rows():
    x = strata.zeros(50, 3)
    for k in range(50):
        x[k] = k
        x[k, 1] += 0.5
    assert x.tolist() == [[k, k + 0.5, k] for k in range(50)]


def test_in_a_captured_function():
    @strata.jit
    def put(x, k):
        x[1] = k
        return x.sum()

    x = strata.zeros(3).contiguous().realize()
    for k in range(5):
        assert put(x, strata.tensor(float(k))).item() == k
        x[0] = 0.0  # outside, in the memory that the replays write
    assert x.tolist() == [0, 4, 0]


def address_of(x):
    return x.numpy().__array_interface__["data"][0]


def test_arguments_are_written_in_place():
    """The memory of an argument that nobody else sees; else a copy: a view, NumPy and a graph keep the old elements."""
    @strata.jit
    def push(cache, row, at):
        cache[at] = row
        return row.sum()

    at = strata.Variable("at", 0, 255)
    cache, expected = Tensor(np.zeros((256, 128), "f4")).contiguous().realize(), np.zeros((256, 128), "f4")
    for k in (0, 1, 7, 200, 255, 7):
        place = address_of(cache)
        row = np.full(128, k + 1, "f4")
        assert push(cache, Tensor(row), at.bind(k)).item() == 128 * (k + 1)
        assert k < 2 or address_of(cache) == place
        expected[k] = row
        assert np.array_equal(cache.numpy(), expected)
    view, seen, graph = cache[3:9], cache.numpy(), cache + 1
    push(cache, Tensor(np.ones(128, "f4")), at.bind(5))
    assert np.array_equal(view.numpy(), expected[3:9]) and np.array_equal(seen, expected) and np.array_equal(graph.numpy(), expected + 1)
    expected = expected.copy()
    expected[5] = 1
    assert np.array_equal(cache.numpy(), expected)
    borrowed = np.zeros((256, 128), "f4")
    lent = Tensor(borrowed)
    push(lent, Tensor(np.ones(128, "f4")), at.bind(5))
    assert not borrowed.any() and lent.numpy()[5].all()


ARGUMENT_FUNCTIONS = [
    lambda a, b: a.assign(a * 2 + b),
    lambda a, b: (a.assign(a.flip(0) + b), b.assign(b + 1)),
    lambda a, b: (a.assign(a + b), b.assign(b * a)),
    lambda a, b: a.assign(b + 0),
    lambda a, b: (a.__setitem__(slice(2, 5), b[:3]), b.__setitem__(0, a[1])),
    lambda a, b: (a.__setitem__((slice(None), slice(0, 7)), 3), a.__setitem__(1, a[2])),
    lambda a, b: a.assign(a.cumsum(0)),
]


@pytest.mark.parametrize("which", range(len(ARGUMENT_FUNCTIONS)))
@pytest.mark.parametrize("device", DEVICES)
def test_random_calls_with_arguments_that_are_assigned(which, device):
    """A captured function beside the same function that is not: arguments may be new, the same as before, views or seen elsewhere."""
    def plain(a, b):
        before = (a * b).sum(1)
        ARGUMENT_FUNCTIONS[which](a, b)
        return before, a.sum(0), a

    captured = strata.jit(plain)
    rng = np.random.default_rng([44, which])
    with strata.flags(DEVICE=device):
        made = lambda: Tensor(rng.integers(-3, 4, (130, 129)).astype("f4")).contiguous().realize()
        pairs = [[made(), made()] for _ in range(2)]
        twins = [[Tensor(x.numpy().copy()) for x in p] for p in pairs]
        for turn in range(10):
            k, choice, by_view, is_new = rng.integers([2, 6, 4, 5])
            used = [list(pairs[k]), list(twins[k])]
            holders = [lambda a, b: a[1:4], lambda a, b: b + 1, lambda a, b: a.numpy(), lambda a, b: b.transpose(0, 1)]
            kept = [holders[choice](*own) for own in used] if choice < len(holders) else []
            before = [np.array(x if isinstance(x, np.ndarray) else x.numpy()) for x in kept]
            if by_view == 0:
                used = [[a[:], b] for a, b in used]
            if by_view == 1:
                used = [[a, a] for a, _ in used]
            for found, wanted in zip(captured(*used[0]), plain(*used[1])):
                assert np.array_equal(found.numpy(), wanted.numpy())
            for x, y in zip(pairs[k] + pairs[1 - k] + used[0], twins[k] + twins[1 - k] + used[1]):
                assert np.array_equal(x.numpy(), y.numpy())
            for held, elements in zip(kept, before):
                assert np.array_equal(held if isinstance(held, np.ndarray) else held.numpy(), np.array(elements))
            small = [[x.remainder(11).contiguous().realize() for x in p[k]] for p in (pairs, twins)]
            for p, values in zip((pairs, twins), small):
                for x, v in zip(p[k], values):
                    x.assign(v)
                if is_new == 0:
                    p[k] = values


def test_wrong_writes_leave_everything():
    x = strata.arange(6).float().reshape(2, 3).contiguous().realize()
    for key, value, words in [(2, 1, "index 2 is outside of axis 0 of size 2"), ((0, 0, 0), 1, "3 axes are indexed"),
                              (0, strata.zeros(2), "do not broadcast"), (slice(None, None, 0), 1, "step 0")]:
        with pytest.raises(strata.Error, match=words):
            x[key] = value
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_in_the_backward_pass_of_a_traced_function():
    def backward(dy):
        g = dy.detach() * 2
        g[0] = 0.0
        h = strata.zeros(3)
        h[1] = dy.detach()[2]
        return [g + h]

    def f(x):
        return strata.with_gradient(x.detach() * 3, [x], backward)

    def slope(g):
        x = Tensor([1.0, 2.0, 3.0]).requires_grad_()
        g(x).sum().backward()
        return x.grad.tolist()

    assert slope(f) == slope(strata.checkpoint(f)) == [0, 3, 2]
    assert slope(lambda x: strata.vmap(f)(x.reshape(1, 3))) == [0, 3, 2]
    assert slope(lambda x: strata.scan(lambda s, e: (f(s), None), x, None, length=1)[0]) == [0, 3, 2]


def test_by_several_threads():
    """Rows of one tensor: the GIL orders writes of elements that are known."""
    x = strata.zeros(64, 8).contiguous().realize()

    def fill(begin):
        for k in range(begin, 64, 2):
            x[k] = float(k)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            x[:] = -1.0
            threads = [threading.Thread(target=fill, args=(k,)) for k in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert x[:, 3].tolist() == list(range(64))
    finally:
        sys.setswitchinterval(before)
