"""Bound variables as arguments of captured functions: one capture for all values, whose replays give what the function gives."""

import numpy as np
import pytest

import strata
from strata import Tensor, Variable

ROWS, COLUMNS = 16, 4
POS = Variable("pos", 1, ROWS - 1)
X = np.random.default_rng(5).normal(0, 1, (ROWS, COLUMNS)).astype("float32")

# name: (the function of a tensor and an integer, the same in NumPy)
FUNCTIONS = {
    "row": (lambda x, k: x[k], lambda x, k: x[k]),
    "row by shrink": (lambda x, k: x.shrink(((k, k + 1), None)), lambda x, k: x[k:k + 1]),
    "row before": (lambda x, k: x[k - 1] * 2, lambda x, k: x[k - 1] * 2),
    "sum of a prefix": (lambda x, k: x[:k].sum(0), lambda x, k: x[:k].sum(0)),
    "mean of a prefix": (lambda x, k: x[:k].mean(0), lambda x, k: x[:k].mean(0)),
    "mean of all of it": (lambda x, k: x[:k].mean(), lambda x, k: x[:k].mean()),
    "variance of a prefix": (lambda x, k: x[:k + 1].var(0), lambda x, k: x[:k + 1].var(0, ddof=1)),
    "deviation": (lambda x, k: x[:k + 1].std(0), lambda x, k: x[:k + 1].std(0, ddof=1)),
    "max of a prefix": (lambda x, k: x[:k].max(0), lambda x, k: x[:k].max(0)),
    "rest": (lambda x, k: x[k:].sum(0), lambda x, k: x[k:].sum(0)),
    "softmax of a prefix": (lambda x, k: x[:k].softmax(0).max(0), lambda x, k: (np.exp(x[:k]) / np.exp(x[:k]).sum(0)).max(0)),
    "log_softmax": (lambda x, k: x[:k].log_softmax(0).sum(0), lambda x, k: np.log(np.exp(x[:k]) / np.exp(x[:k]).sum(0)).sum(0)),
    "product": (lambda x, k: x[:k].T.matmul(x[:k]), lambda x, k: x[:k].T @ x[:k]),
    "rows of a product": (lambda x, k: x[:k].matmul(x.T).sum(0), lambda x, k: (x[:k] @ x.T).sum(0)),
    "padded": (lambda x, k: x[:k].pad(((ROWS - k, 0), None)), lambda x, k: np.pad(x[:k], ((ROWS - k, 0), (0, 0)))),
    "positions": (lambda x, k: (strata.arange(ROWS)[k] * 2).float() + x[0], lambda x, k: 2 * k + x[0]),
    "mask": (lambda x, k: (strata.arange(ROWS) < strata.arange(ROWS)[k]).reshape(ROWS, 1).where(x, 0).sum(0), lambda x, k: x[:k].sum(0)),
    "attention": (lambda x, k: strata.nn.functional.scaled_dot_product_attention(x[k].reshape(1, COLUMNS), x[:k], x[:k]),
                  lambda x, k: (lambda w: w @ x[:k])(np.exp(x[k:k + 1] @ x[:k].T / 2) / np.exp(x[k:k + 1] @ x[:k].T / 2).sum())),
    "written": (lambda x, k: written(x, k), lambda x, k: np.where(np.arange(ROWS)[:, None] == k, x[0] * 2, x)),
    "number": (lambda x, k: x * k - 2 * k + (k - 3) * Tensor(1.5) + Tensor(k * 2), lambda x, k: x * k - 2 * k + (k - 3) * 1.5 + k * 2),
    "negative number": (lambda x, k: x - (3 - k * 5), lambda x, k: x - (3 - k * 5)),
    "comparison": (lambda x, k: (strata.arange(ROWS).reshape(ROWS, 1) <= k).where(x, -1).sum(0),
                   lambda x, k: np.where(np.arange(ROWS)[:, None] <= k, x, -1).sum(0)),
    "divided": (lambda x, k: x[:k].sum(0) / k, lambda x, k: x[:k].sum(0) / k),
    "norm": (lambda x, k: (x[:k] * x[:k]).sum().sqrt(), lambda x, k: np.sqrt((x[:k] * x[:k]).sum())),
    "flipped": (lambda x, k: x[:k].flip(0)[0], lambda x, k: x[:k][::-1][0]),
    "repeated": (lambda x, k: x[:k].reshape(1, k, COLUMNS).expand(3, k, COLUMNS).sum((0, 1)), lambda x, k: 3 * x[:k].sum(0)),
    "two of them": (lambda x, k: x[:k].sum(0) + x[k] - x[k - 1], lambda x, k: x[:k].sum(0) + x[k] - x[k - 1]),
    "cumsum": (lambda x, k: x.cumsum(0)[k], lambda x, k: x.cumsum(0)[k]),
    "cumsum of a prefix": (lambda x, k: x[:k].cumsum(0)[k - 1], lambda x, k: x[:k].cumsum(0)[k - 1]),
    "gradient": (lambda x, k: gradient(x, k), lambda x, k: np.where(np.arange(ROWS)[:, None] < k, 2 * x, 0)),
}


def written(x, k):
    y = x * 1
    y[k] = x[0] * 2
    return y


def gradient(x, k):
    y = (x * 1).detach().requires_grad_()
    (y[:k] * y[:k]).sum().backward()
    return y.grad


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_replay_takes_the_values_of_its_call(name):
    function, expected = FUNCTIONS[name]
    x = Tensor(X).realize()
    captured = strata.jit(function)
    for k in (3, 7, 1, 14, 8, 2, 14, 5):
        np.testing.assert_allclose(captured(x, POS.bind(k)).numpy(), expected(X, k), rtol=2e-5, atol=1e-6, err_msg=f"{name} at {k}")
    assert (captured.runs, captured.replays) == (2, 6)


def test_a_cache_is_filled_and_read_row_by_row():
    """A decoder: each step writes its row of a cache and attends to the rows so far."""
    cache, heads = Tensor(np.zeros((ROWS, COLUMNS), "float32")).realize(), Tensor(X).realize()

    @strata.jit
    def step(x, pos):
        cache[pos] = x * 2
        seen = cache[: pos + 1]
        weights = (seen * x).sum(1).softmax(0)
        return (weights.reshape(pos + 1, 1) * seen).sum(0), pos + 1

    known, pos = np.zeros((ROWS, COLUMNS), "float32"), Variable("pos", 0, ROWS - 1)
    for k in range(ROWS):
        result, following = step(heads[k], pos.bind(k))
        known[k] = X[k] * 2
        scores = np.exp((known[: k + 1] * X[k]).sum(1))
        np.testing.assert_allclose(result.numpy(), (scores / scores.sum()) @ known[: k + 1], rtol=1e-5, atol=1e-6)
        assert (strata.expr.unbind(following)[1], following.evaluate()) == ({pos: k}, k + 1)
    np.testing.assert_array_equal(cache.numpy(), known)
    assert (step.runs, step.replays) == (2, ROWS - 2)


def test_other_expressions_are_captured_apart():
    x = Tensor(X).realize()
    captured = strata.jit(lambda x, k: x[:k].sum())
    for k in range(2, 8):
        np.testing.assert_allclose(captured(x, POS.bind(k)).item(), X[:k].sum(), rtol=1e-5)
        np.testing.assert_allclose(captured(x, POS.bind(k) + 1).item(), X[: k + 1].sum(), rtol=1e-5)
        np.testing.assert_allclose(captured(x, k).item(), X[:k].sum(), rtol=1e-5)  # a number: a capture for each
        np.testing.assert_allclose(captured(x, k=Variable("other", 1, 9).bind(k)).item(), X[:k].sum(), rtol=1e-5)
    assert captured.runs == 2 + 2 + 6 + 2


def test_a_shape_and_an_argument_have_one_value():
    x, n = Tensor(X).realize(), Variable("n", 1, ROWS)
    captured = strata.jit(lambda y, k: y.sum() * 0 + y[k - 1].sum())
    for k in (3, 5, 4, 9):
        np.testing.assert_allclose(captured(x[: n.bind(k)], n.bind(k)).item(), X[k - 1].sum(), rtol=1e-5)
    assert captured.runs == 2
    with pytest.raises(strata.DomainError, match="n has two values in one call, 3 and 4"):
        captured(x[: n.bind(3)], n.bind(4))


def test_arguments_in_containers_and_captured_callers():
    x = Tensor(X).realize()
    inner = strata.jit(lambda x, at: x[at["k"]] + x[at["k"] - 1])
    outer = strata.jit(lambda x, both: inner(x, {"k": both[0]}) * both[1])
    for k in (4, 2, 9, 6):
        np.testing.assert_allclose(outer(x, (POS.bind(k), 3.0)).numpy(), (X[k] + X[k - 1]) * 3, rtol=1e-6)
    assert (outer.runs, outer.replays) == (2, 2)


# --- values that are not the arguments' ---


def same_at(function, positions, expected):
    captured = strata.jit(function)
    x = Tensor(X).realize()
    for k in positions:
        np.testing.assert_allclose(captured(x, POS.bind(k)).numpy(), expected(k), rtol=1e-6, err_msg=str(k))
    return captured


@pytest.mark.parametrize("positions", [(3, 5, 4, 2, 3), (3, 3, 5, 3, 4, 6), (2, 3, 5, 2, 4), (3, 2, 5, 2, 4), (2, 2, 2, 5, 4, 3)])
def test_a_function_that_binds_the_variable_itself(positions):
    own = same_at(lambda x, k: (x[k] * 10).contiguous() + x[POS.bind(2)].contiguous(), positions, lambda k: X[k] * 10 + X[2])
    assert own.runs > 2  # a capture for each value
    y = (Tensor(X) * 1)[: POS.bind(3)].realize()
    same_at(lambda x, k: x[k] + y.sum(0).contiguous(), positions, lambda k: X[k] + X[:3].sum(0))


def test_the_same_value_twice_is_no_proof():
    plain = same_at(lambda x, k: x[k] * 10, (3, 3, 3, 5, 6, 7, 3, 2), lambda k: X[k] * 10)
    assert (plain.runs, plain.replays) == (4, 4)


def test_results_whose_shapes_have_other_variables():
    x, other = Tensor(X).realize(), Variable("q", 0, 15)
    captured = strata.jit(lambda x, k: (x[: other.bind(3)] * k, x[: k + 1], other.bind(7)))
    for k in (2, 5, 4, 9, 1):
        a, b, seven = captured(x, POS.bind(k))
        np.testing.assert_allclose(a.numpy(), X[:3] * k, rtol=1e-6)
        np.testing.assert_allclose(b.numpy(), X[: k + 1], rtol=1e-6)
        assert seven.evaluate() == 7
    assert captured.runs == 2
    alone = strata.jit(lambda x: x[: other.bind(3)] * 2)
    assert [alone(x).numpy().shape for _ in range(4)] == [(3, COLUMNS)] * 4


def test_results_keep_values_of_the_functions_own():
    captured = strata.jit(lambda x, k: (x[k], k + 1, POS.bind(2)))
    for k in (2, 5, 4, 9):
        row, following, own = captured(Tensor(X).realize(), POS.bind(k))
        np.testing.assert_array_equal(row.numpy(), X[k])
        assert (following.evaluate(), own.evaluate()) == (k + 1, 2)


def test_a_variable_without_a_value_is_no_operand():
    x = Tensor(X)
    for call in (lambda: x + POS, lambda: POS < x, lambda: Tensor(POS), lambda: x * (POS.bind(3) + Variable("q", 0, 3)), lambda: x.add(POS)):
        with pytest.raises(TypeError):
            call()
    assert Tensor(POS.bind(3) * 2).item() == 6


def test_constant_expressions_are_numbers():
    x, captured = Tensor(X).realize(), strata.jit(lambda x, k: (x[0] + 1, k * 2))
    for k in range(1, 9):
        assert captured(x, POS.bind(k) - POS.bind(k))[1] == 0
    assert (captured.runs, captured.replays) == (2, 6)
