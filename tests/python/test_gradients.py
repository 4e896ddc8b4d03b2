"""Gradients: backward, functions of functions, no_grad, custom ones."""
import numpy as np
import pytest
import strata
from strata import Tensor, nn


def test_backward():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w = strata.ones(2, 2).requires_grad_()
    (x.matmul(w) ** 2).sum().backward()
    assert w.grad.tolist() == [[48, 48], [68, 68]] and x.grad.shape == (2, 2)
    x.grad = None
    assert x.grad is None
    x.sum().backward()
    x.sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 2]]
    x.grad = strata.zeros(2, 2)
    assert x.grad.tolist() == [[0, 0], [0, 0]]
    y = x * 2
    assert y.requires_grad and not y.detach().requires_grad and not Tensor([1.0]).requires_grad
    y.backward(strata.ones(2, 2))
    assert x.grad.tolist() == [[2, 2], [2, 2]]
    x.requires_grad = False
    assert not x.requires_grad
    with pytest.raises(strata.ShapeError):
        (w * 2).backward()
    with pytest.raises(strata.DomainError):
        x.sum().backward()
    with pytest.raises(strata.DomainError):
        Tensor([1]).requires_grad_()


def test_data_of_others_is_not_marked():
    a = Tensor([1.0])
    b = Tensor(a, requires_grad=True)
    assert b.requires_grad and not a.requires_grad


def test_functions():
    f = lambda x: (x * x * x).sum()  # noqa: E731
    x = Tensor([1.0, 2.0])
    assert strata.grad(f)(x).tolist() == [3, 12]
    value, slope = strata.value_and_grad(f)(x)
    assert value.item() == 9 and slope.tolist() == [3, 12]
    assert strata.grad(lambda y: strata.grad(f)(y).sum())(x).tolist() == [6, 12]
    a, b = strata.grad(lambda u, v: (u * v).sum(), argnums=(0, 1))(x, x + 1)
    assert a.tolist() == [2, 3] and b.tolist() == [1, 2]
    (loss, more), slope = strata.value_and_grad(lambda u: ((u * 2).sum(), "more"))(x)
    assert more == "more" and slope.tolist() == [2, 2] and loss.item() == 6
    y = x.detach().requires_grad_()
    assert strata.grad((y * y).sum(), y).tolist() == [2, 4]
    assert [g.tolist() for g in strata.gradients(y * 3, [y], dy=[1.0, 2.0])] == [[3, 6]]
    with pytest.raises(strata.DomainError):
        strata.grad(f)(Tensor([1]))


def test_what_takes_no_gradient_is_refused():
    x, w, unused = Tensor([1.0, 2.0]), nn.Parameter([3.0, 4.0]), nn.Parameter([5.0])
    cube = (x ** 3 * w).sum()
    for use in (strata.grad, strata.gradients):
        for by in (x, [x], [w, x], (x,)):
            with pytest.raises(strata.DomainError, match=r"tensor \d of shape \(2,\) takes no gradient"):
                use(cube, by)
            with pytest.raises(strata.DomainError, match="takes no gradient"):
                use(cube, by, allow_unused=True)
        with pytest.raises(strata.DomainError, match=r"y does not depend on tensor 1 of shape \(1,\)"):
            use(cube, [w, unused])
        assert [g.tolist() for g in use(cube, [w, unused], allow_unused=True)] == [[1, 8], [0]]
        assert use(cube, w).tolist() == [1, 8] and use(w.round().sum(), w).tolist() == [0, 0]
    x.requires_grad_()
    with pytest.raises(strata.DomainError, match="y does not depend on tensor 0"):  # it took none when the cube was made of it
        strata.grad(cube, [x])
    assert strata.grad((x ** 3).sum(), [x])[0].tolist() == [3, 12]


def test_a_functions_argument_need_not_take_gradients():
    x = Tensor([1.0, 2.0])
    assert strata.grad(lambda t: (t ** 3).sum())(x).tolist() == [3, 12]
    assert strata.value_and_grad(lambda t: (t ** 3).sum())(x)[1].tolist() == [3, 12]
    assert strata.grad(lambda t: x.sum())(x).tolist() == [0, 0]  # no function of its argument
    rows = strata.stack([strata.grad(lambda t, k=k: (t ** 3)[k])(x) for k in range(2)])
    assert rows.tolist() == [[3, 0], [0, 12]]


def test_gradients_by_what_was_realized_meanwhile():
    x = (Tensor([1.0, 2.0]) + 1).requires_grad_()
    y = (x * x).sum()
    x.realize()
    assert strata.grad(y, x).tolist() == [4, 6]


def test_no_grad():
    x = strata.ones(2, requires_grad=True)
    with strata.no_grad():
        assert not (x * 2).requires_grad and not strata.is_grad_enabled()
        with strata.no_grad():
            pass
        assert not strata.is_grad_enabled()
    assert strata.is_grad_enabled()

    @strata.no_grad()
    def double(v):
        """Twice."""
        return v * 2

    @strata.no_grad
    def triple(v):
        return v * 3

    assert not double(x).requires_grad and not triple(x).requires_grad and double.__doc__ == "Twice."
    with pytest.raises(RuntimeError):
        with strata.no_grad():
            raise RuntimeError
    assert (x * 2).requires_grad


def test_custom_gradients():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = strata.with_gradient(x.detach().round(), [x], lambda dy: dy * 10)
    (y * 2).sum().backward()
    assert x.grad.tolist() == [20, 20]
    z = strata.with_gradient(x * 1, [x], lambda dy: [dy, dy])
    with pytest.raises((strata.Error, RuntimeError)):
        z.sum().backward()

    def broken(dy):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        strata.with_gradient(x * 1, [x], broken).sum().backward()


def test_against_pytorch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    a, w = rng.standard_normal((2, 3, 6, 6)), rng.standard_normal((4, 3, 3, 3))
    x, k = Tensor(a, requires_grad=True), Tensor(w, requires_grad=True)
    tx, tk = torch.tensor(a, requires_grad=True), torch.tensor(w, requires_grad=True)
    x.conv2d(k, padding=1).relu().max_pool2d(2).softmax(1).square().sum().backward()
    torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(tx, tk, padding=1).relu(), 2).softmax(1).square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(k.grad.numpy(), tk.grad.numpy(), rtol=1e-8, atol=1e-10)
