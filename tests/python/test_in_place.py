"""Elements assigned to, and methods in place: what they do to gradients, beside PyTorch where it is there."""
import pytest
import strata
from strata import Tensor

try:
    import torch
except ImportError:
    torch = None


def slope(library, change, start=(1.0, 2.0, 3.0, 4.0)):
    """The elements of y after `change(library, y, x)`, and the gradient of a weighted sum of them by x."""
    x = library.tensor(list(start), requires_grad=True)
    y = x * 2
    y = change(library, y, x) or y
    if isinstance(y, tuple):
        y = y[0]
    (y * library.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    return y.tolist(), [0.0] * 4 if x.grad is None else x.grad.tolist()


def put(key, value):
    def change(library, y, x):
        y[key] = value(library, x) if callable(value) else value

    return change


def method(name, *args):
    def change(library, y, x):
        getattr(y, name)(*(a(library, x) if callable(a) else a for a in args))

    return change


def into_a_constant(library, y, x):
    z = library.zeros(4)
    z[1:3] = x[:2] * 3
    return (z,)


def made_before(library, y, x):
    z = y * y
    y = y.detach().clone() if library is not strata else y.detach()
    return (z,)


def twice(library, y, x):
    y[0] = y[3] * x[1]
    y[1:3] = y[:2] * 5
    y.mul_(x)


CASES = {
    "element": (put(0, 5.0), [5, 4, 6, 8], [0, 20, 200, 2000]),
    "slice": (put(slice(1, 3), 0), [2, 0, 0, 8], [2, 0, 0, 2000]),
    "slice of itself": (put(slice(0, 2), lambda T, x: x[2:] * x[2:]), [9, 16, 6, 8], [0, 0, 206, 2080]),
    "step": (put(slice(None, None, 2), lambda T, x: x[1]), [2, 4, 2, 8], [0, 121, 0, 2000]),
    "indices": (put([3, 0], lambda T, x: x[1:3]), [3, 4, 6, 2], [0, 1020, 201, 0]),
    "mask": (put([True, False, False, True], -1), [-1, 4, 6, -1], [0, 20, 200, 0]),
    "add_": (method("add_", lambda T, x: x * x), [3, 8, 15, 24], [4, 60, 800, 10000]),
    "mul_": (method("mul_", 3), [6, 12, 18, 24], [6, 60, 600, 6000]),
    "clamp_": (method("clamp_", 3, 7), [3, 4, 6, 7], [0, 20, 200, 0]),
    "copy_": (method("copy_", lambda T, x: x * x), [1, 4, 9, 16], [2, 40, 600, 8000]),
    "fill_": (method("fill_", 3), [3, 3, 3, 3], [0, 0, 0, 0]),
    "zero_": (method("zero_"), [0, 0, 0, 0], [0, 0, 0, 0]),
    "into a constant": (into_a_constant, [0, 3, 6, 0], [30, 300, 0, 0]),
    "twice": (twice, [16, 160, 60, 32], [16, 4608, 2000, 16404]),  # PyTorch has lost what it needs
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_pass(name):
    change, values, gradient = CASES[name]
    if name in ("fill_", "zero_"):  # nothing of x is left
        x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        y = x * 2
        change(strata, y, x)
        assert y.tolist() == values and not y.requires_grad
        return
    found, by = slope(strata, change)
    assert found == values
    assert by == gradient
    if torch is not None and name not in ("mask", "twice"):
        assert (found, by) == slope(torch, change)


def test_a_parameter_is_changed_under_no_grad_alone():
    w = Tensor([1.0, 2.0], requires_grad=True)
    for change in (lambda: w.__setitem__(0, 5.0), lambda: w.add_(1), lambda: w.zero_(), lambda: w.fill_(2), lambda: w.copy_([1.0, 1.0])):
        with pytest.raises(strata.DomainError, match="takes gradients, of shape .2,., is changed in place"):
            change()
    assert w.tolist() == [1, 2]
    with strata.no_grad():
        w[0] = 5.0
        w.sub_(1)
    assert w.requires_grad and w.tolist() == [4, 1]
    w.assign([7.0, 8.0])
    (w * w).sum().backward()
    assert w.grad.tolist() == [14, 16]


def test_under_no_grad_elements_change_alone():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    with strata.no_grad():
        y[0] = 100.0
        y.mul_(2)
    assert y.tolist() == [200, 12] and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    z = strata.zeros(2)
    with strata.no_grad():
        z[0] = x[0]
    assert not z.requires_grad


def test_what_was_made_before_keeps_its_gradient():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    before = y * y
    y[0] = 0.0
    (before + y).sum().backward()
    assert x.grad.tolist() == [18, 39]


def test_functional_gradients_and_higher_order():
    def f(x):
        y = x * x
        y[0] = x[1] ** 3
        x[1] = 10.0  # the function's own: what it was given stays
        return (y * y * x).sum()

    x = Tensor([3.0, 2.0])
    value, by = strata.value_and_grad(f)(x)
    assert value.item() == 8.0**2 * 3 + 4.0**2 * 10 and x.tolist() == [3, 2]
    assert by.tolist() == [64, 2 * 8 * 12 * 3 + 2 * 4 * 4 * 10]
    w = Tensor([2.0, 3.0], requires_grad=True)

    def cubes(w):
        y = w * w
        y[1] = w[1] ** 3
        return y.sum()

    (first,) = strata.grad(lambda v: strata.grad(cubes)(v).sum())(w),
    assert first.tolist() == [2, 18]


def test_in_a_captured_function():
    state = strata.zeros(3)
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)

    @strata.jit
    def step(x):
        w.grad = None
        y = w * x
        y[0] = y[1] * 2
        state.copy_(y)
        y.sum().backward()
        return w.grad

    for k in range(5):
        x = Tensor([1.0, 2.0, 3.0]) + k
        assert step(x).tolist() == [0, 3 * (2 + k), 3 + k]
        assert state.tolist() == [4 * (2 + k), 2 * (2 + k), 3 * (3 + k)] and not state.requires_grad
