"""Gradients of what is computed in blocks of rows, beside PyTorch: at once, and after the result is memory."""
import numpy as np
import pytest
import torch

from strata import Tensor, realize


def attention(q, k, v, hidden):
    return hidden((q @ k.transpose(-1, -2)) * 0.125).softmax(-1) @ v


def causal(scores):
    rows = scores.shape[-2]
    if isinstance(scores, torch.Tensor):
        return scores.masked_fill(torch.ones(rows, rows, dtype=torch.bool).triu(1), -torch.inf)
    return Tensor(np.triu(np.ones((rows, rows), bool), 1)).where(-np.inf, scores)


def largest(x):
    return x.amax(-1)


def extremes(scores):
    e = (scores - largest(scores)[..., None]).exp()
    return e.sum(-1).log() + largest(scores)


CASES = {
    "attention": lambda q, k, v: attention(q, k, v, lambda scores: scores),
    "causal": lambda q, k, v: attention(q, k, v, causal),
    "largest": lambda q, k, v: largest(q @ k.transpose(-1, -2)) * 2 + v[..., 0] * 0,
    "maximum": lambda q, k, v: largest(q @ k.transpose(-1, -2)),
    "logsumexp": lambda q, k, v: extremes(q @ k.transpose(-1, -2)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("is_memory", [False, True])
def test_gradients(name, is_memory):
    random = np.random.default_rng(3)
    arrays = [random.standard_normal((2, 576, 64)).astype(np.float32) for _ in range(3)]
    mine = [Tensor(a).requires_grad_() for a in arrays]
    their = [torch.tensor(a, requires_grad=True) for a in arrays]
    result, wanted = CASES[name](*mine), CASES[name](*their)
    if is_memory:
        result.realize()
    by = random.standard_normal(wanted.shape).astype(np.float32)
    result.backward(Tensor(by))
    wanted.backward(torch.tensor(by))
    found = [(result, wanted.detach())] + [(a.grad, b.grad) for a, b in zip(mine, their) if b.grad is not None]
    realize(*(a for a, _ in found if a is not None))
    for a, b in found:
        if a is not None:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=2e-5 * max(1, float(b.abs().max())))
