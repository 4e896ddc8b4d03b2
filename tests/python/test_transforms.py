"""vmap, jvp and checkpoint: structures of arguments and results, refusals, and a sample of the programs of fuzz_transforms.py."""
import re

import numpy as np
import pytest
import strata
from strata import Tensor

X = np.random.default_rng(3).standard_normal((3, 4, 2)).astype("float32")


def close(got, want):
    np.testing.assert_allclose(got.numpy(), np.asarray(want), rtol=2e-5, atol=1e-5)


def test_structures_of_vmap():
    def f(p, x, scale=2, *, more=None):
        return {"y": x @ p["w"] * scale + p["b"], "pair": (x.sum(), [p["b"] * 1])} | ({} if more is None else {"more": more + 1})

    p = {"w": Tensor(X[0].copy()), "b": Tensor(X[:, 0].copy())}
    out = strata.vmap(f, in_axes=({"w": None, "b": 0}, 0))(p, Tensor(X[:, :, 0].copy()))
    close(out["y"], np.stack([X[k, :, 0] @ X[0] * 2 + X[k, 0] for k in range(3)]))
    close(out["pair"][0], X[:, :, 0].sum(1))
    close(out["pair"][1][0], X[:, 0])
    more = strata.vmap(f, in_axes=(None, 1, None), out_axes={"y": 1, "pair": (0, None), "more": -1})({"w": p["w"], "b": p["b"][0]}, Tensor(X[:, :, 0].T.copy()), 3, more=Tensor(np.arange(3, dtype="float32")))
    close(more["y"], np.stack([X[k, :, 0] @ X[0] * 3 + X[0, 0] for k in range(3)], 1))
    close(more["pair"][1][0], X[0, 0])
    close(more["more"], [1, 2, 3])


def test_gradients_of_each_sample():
    net = strata.nn.Linear(4, 2)
    loss = lambda w, x, y: ((x @ w.t() + net.bias).tanh() - y).square().sum()
    y = Tensor(X[:, 0].copy())
    each = strata.vmap(strata.grad(loss), in_axes=(None, 0, 0))(net.weight, Tensor(X[:, :, 0].copy()), y)
    for k in range(3):
        close(each[k], strata.grad(loss)(net.weight, Tensor(X[k, :, 0].copy()), y[k]).numpy())


def test_jacobians_and_hessians():
    f = lambda x: (x @ x.t()).tanh().sum(0) * x[:, 0]
    x, basis = Tensor(X[0].copy()), Tensor(np.eye(8, dtype="float32").reshape(8, 4, 2))
    forward = strata.vmap(lambda t: strata.jvp(f, (x,), (t,))[1])(basis)
    rows = [strata.grad(lambda v: f(v)[k])(x).numpy() for k in range(4)]
    close(forward.t(), np.stack(rows).reshape(4, 8))
    hessian = strata.vmap(lambda t: strata.jvp(strata.grad(lambda v: f(v).sum()), (x,), (t,))[1])(basis).reshape(8, 8)
    close(hessian, hessian.t().numpy())


def test_structures_of_jvp():
    f = lambda p, k: {"sum": (p["a"] * k[0]).sum(), "n": p["a"].argmax()}
    a, k = Tensor(X[0, :, 0].copy()), Tensor([2.0])
    y, dy = strata.jvp(f, ({"a": a}, [k]), ({"a": a * 0 + 1}, [k * 0 + 1]))
    close(dy["sum"], 8 + X[0, :, 0].sum())
    assert dy["n"].item() == 0 and y["n"].item() == int(X[0, :, 0].argmax())


def test_checkpoint_of_a_module():
    strata.manual_seed(0)
    net = strata.nn.Sequential(strata.nn.Linear(4, 8), strata.nn.Tanh(), strata.nn.Linear(8, 4))
    x = Tensor(X[:, :, 0].copy())
    found = []
    for f in (net, strata.checkpoint(net.forward if hasattr(net, "forward") else lambda v: net(v))):
        for p in net.parameters():
            p.grad = None
        with strata.flags(DETERMINISTIC=True):
            f(x).square().sum().backward()
            found.append([p.grad.numpy() for p in net.parameters()])
    assert all(np.array_equal(a, b) for a, b in zip(*found))


def test_checkpoint_in_jit():
    block = strata.checkpoint(lambda v, w: (v @ w).tanh())
    step = strata.jit(strata.grad(lambda w, v: block(block(v, w), w).sum()))
    for k in range(4):
        w, v = Tensor(X[0, :2] + k), Tensor(X[1, :, :] * (k + 1))
        want = strata.grad(lambda w, v: ((v @ w).tanh() @ w).tanh().sum())(w, v)
        close(step(w, v), want.numpy())
    assert step.replays == 2


def test_refusals():
    x = Tensor(X[0].copy())
    for call, error, words in (
        (lambda: strata.vmap(lambda v: v.sum().item())(x), strata.DomainError, "is read while a function is traced"),
        (lambda: strata.vmap(lambda v: v, in_axes=(0, 0))(x), TypeError, "[vmap] in_axes has 2 elements for 1 arguments"),
        (lambda: strata.vmap(lambda v: v["a"], in_axes=({"b": 0},))({"a": x}), TypeError, "[vmap] in_axes has the keys ['b'], and its value ['a']"),
        (lambda: strata.vmap(lambda v: v, in_axes=5)(x), strata.ShapeError, "[vmap] axis 5 of argument 0 with 2 dimensions"),
        (lambda: strata.vmap(lambda v: "no")(x), TypeError, "[vmap] a result is a tensor, None, or a tuple, list or dictionary of them, not str"),
        (lambda: strata.vmap(lambda v: v, in_axes=None)(x), strata.DomainError, "no argument has an axis of the batch"),
        (lambda: strata.vmap(lambda v: v, out_axes=None)(x), strata.DomainError, "[vmap] result 0 depends on the element of the batch"),
        (lambda: strata.vmap(lambda v: v)(3), strata.DomainError, "no argument has an axis of the batch"),
        (lambda: strata.jvp(lambda v: v, (x,), ({"a": x},)), TypeError, "[jvp] the tangents are ({'a': Tensor},), and the primals (Tensor,)"),
        (lambda: strata.jvp(lambda v: v, (3,), (x,)), TypeError, "[jvp] a primal is a tensor, None"),
        (lambda: strata.checkpoint(lambda v: v.tolist())(x), strata.DomainError, "is read while a function is traced")):
        with pytest.raises(error, match=re.escape(words)):
            call()
    with strata.no_grad(), pytest.raises(strata.DomainError, match="turns derivatives off"):
        strata.jvp(lambda v: v, (x,), (x,))


fuzzing = pytest.mark.skipif(not __import__("importlib").util.find_spec("torch"), reason="PyTorch is not installed (Debian: python3-torch)")


@fuzzing
def test_programs_are_what_they_are_alone(capsys):
    import fuzz_transforms

    out = fuzz_transforms.fuzz(300, 14)
    assert not out.failures, capsys.readouterr().out
    assert out.counts["vmap"] > 200 and out.counts["vmap gradients"] > 70 and out.counts["checkpoint gradients"] > 60 and out.counts["jvp compared"] > 40


@fuzzing
@pytest.mark.parametrize("name", ["vmap", "checkpoint", "jvp"])
def test_the_fuzzer_finds(name, monkeypatch, capsys):
    import fuzz_transforms

    right = getattr(strata, name)
    wrong = {"vmap": lambda f, **k: lambda *a: [t + 1 for t in right(f, **k)(*a)], "checkpoint": lambda f: lambda *a: [t * 2 + 1 for t in right(f)(*a)],
             "jvp": lambda f, p, t: (right(f, p, t)[0], [d * 1.1 for d in right(f, p, t)[1]])}[name]
    monkeypatch.setattr(strata, name, wrong)
    monkeypatch.setattr(fuzz_transforms, "STEPS", ("",))
    out = fuzz_transforms.fuzz(60, 3)
    assert out.failures.total() > 5
    seed = re.search(r"--only (\d+)", capsys.readouterr().out).group(1)
    assert fuzz_transforms.fuzz(1, 1, only=int(seed)).failures.total() == 1
