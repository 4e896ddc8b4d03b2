"""Methods and functions of tensors, each beside NumPy's or PyTorch's of the same name."""
import numpy as np
import pytest
import strata
from strata import Tensor

rng = np.random.default_rng(7)
A = rng.standard_normal((3, 4)).astype(np.float32)
B = rng.standard_normal((3, 4)).astype(np.float32)
P = np.abs(A) + 0.5
I = rng.integers(-5, 6, (3, 4))
J = np.where(I == 0, 3, I)
M = A > 0


def check(got, want, rtol=2e-5, atol=2e-6):
    if isinstance(want, (tuple, list)) and not np.isscalar(want):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            check(g, w, rtol, atol)
        return
    want = np.asarray(want)
    got = got.numpy() if isinstance(got, Tensor) else np.asarray(got)
    assert got.shape == want.shape, (got.shape, want.shape)
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)


UNARY = """abs sign square sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
arctanh floor ceil trunc isnan isinf isfinite signbit logical_not deg2rad rad2deg negative absolute reciprocal positive fix rint""".split()


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = {"sqrt": P, "log": P, "log2": P, "log10": P, "log1p": P, "arccosh": P + 1, "arctanh": A / 10, "arcsin": A / 10, "arccos": A / 10}.get(name, A)
    check(getattr(strata, name)(x), getattr(np, name)(x))
    check(getattr(Tensor(x), name)(), getattr(np, name)(x))


BINARY = """add subtract multiply divide true_divide floor_divide remainder fmod maximum minimum fmax fmin arctan2 hypot copysign logaddexp
logaddexp2 equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor heaviside""".split()


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    ours = {"equal": "eq"}.get(name, name)
    check(getattr(strata, ours)(A, B), getattr(np, name)(A, B))
    check(getattr(Tensor(A), ours)(B[0]), getattr(np, name)(A, B[0]))
    check(getattr(Tensor(A), ours)(2.5), getattr(np, name)(A, np.float32(2.5)))
    check(getattr(strata, ours)(2.5, Tensor(A)), getattr(np, name)(np.float32(2.5), A))


@pytest.mark.parametrize("name", "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift".split())
def test_integers(name):
    b = np.abs(J) % 5 if "shift" in name else J
    check(getattr(strata, name)(I, b), getattr(np, name)(I, b))


def test_operators():
    import operator as op

    x = Tensor(A)
    for f in (op.add, op.sub, op.mul, op.truediv, op.floordiv, op.mod, op.lt, op.le, op.gt, op.ge, op.eq, op.ne, divmod):
        check(f(x, Tensor(B)), f(A, B), atol=1e-5)
        check(f(x, 2), f(A, np.float32(2)), atol=1e-5)
        check(f(2, x), f(np.float32(2), A), atol=1e-5)
        check(f(B, x), f(B, A), atol=1e-5)
        check(f(x, B), f(A, B), atol=1e-5)
        check(f(x, np.float32(2)), f(A, np.float32(2)), atol=1e-5)
    check(x**2, A**2)
    check(2**x, np.float32(2) ** A)
    check(Tensor(P) ** x, P**A)
    check(x @ B.T, A @ B.T, atol=1e-5)
    check(A.T @ x, A.T @ A, atol=1e-5)
    check(-x, -A)
    check(+x, A)
    check(abs(x), abs(A))
    check(~Tensor(M), ~M)
    i, j = Tensor(I), Tensor(J)
    for f in (op.and_, op.or_, op.xor, op.floordiv, op.mod):
        check(f(i, j), f(I, J))
        check(f(i, 3), f(I, 3))
        check(f(7, j), f(7, J))
    assert (i + 1.5).dtype == "float32" and (i + 1).dtype == "int64" and (2 ** Tensor(J.astype("i4"))).dtype == "int32"
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    assert x.__add__("a") is NotImplemented
    y = z = Tensor([1.0])
    y += 1
    assert y.item() == 2 and z.item() == 1
    assert (x + [1, 2, 3, 4]).shape == (3, 4)


REDUCE = "sum prod mean max min any all amax amin".split()


@pytest.mark.parametrize("name", REDUCE)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
def test_reductions(name, axis):
    want = getattr(np, name)(A, axis=axis)
    check(getattr(strata, name)(A, axis=axis), want)
    spelling = "axes" if name in ("max", "min") else "dim"  # by dim these have places, too
    check(getattr(Tensor(A), name)(**{spelling: axis}), want)
    check(getattr(Tensor(A), name)(axis, keepdims=True), getattr(np, name)(A, axis=axis, keepdims=True))


def test_statistics_and_order():
    x = Tensor(A)
    check(x.std(ddof=0), A.std())
    check(x.var(1), A.var(1, ddof=1))
    check(x.var(1, unbiased=False), A.var(1))
    check(x.std(axis=0, correction=0, keepdim=True), A.std(0, keepdims=True))
    check(x.argmax(1), A.argmax(1))
    check(x.argmin(), A.argmin())
    check(x.cumsum(1), A.cumsum(1))
    check(x.cumprod(0), A.cumprod(0))
    check(x.norm(), np.linalg.norm(A))
    check(x.norm(1, axis=1), np.abs(A).sum(1))
    check(x.norm("fro"), np.linalg.norm(A))
    check(x.sort(1).values, np.sort(A, 1))
    check(x.sort(1).indices, A.argsort(1, kind="stable"))
    values, indices = x.topk(2)
    check(values, -np.sort(-A, 1)[:, :2])
    check(x.argsort(descending=True), (-A).argsort(1, kind="stable"))
    check(x.quantile(0.3, axis=1), np.quantile(A, 0.3, axis=1))
    check(x.median(), np.sort(A.ravel())[5])
    check(x.median(1).values, np.sort(A, 1)[:, 1])
    check(x.diff(axis=0), np.diff(A, axis=0))
    check(x.count_nonzero(1), (A != 0).sum(1))
    check(x.softmax(1), np.exp(A) / np.exp(A).sum(1, keepdims=True))
    check(x.logsumexp(1), np.log(np.exp(A).sum(1)))
    check(Tensor(I).unique(), np.unique(I))
    check(Tensor(I).unique(return_inverse=True, return_counts=True)[2], np.unique(I, return_counts=True)[1])
    assert x.sum(dtype="float64").dtype == "float64" and Tensor(I).mean(dtype=float).dtype == "float32"
    check(Tensor([0, 2, 2]).bincount(), [1, 0, 2])


def test_movement():
    x = Tensor(A)
    check(x.reshape(2, 6), A.reshape(2, 6))
    check(x.reshape((2, -1)), A.reshape(2, 6))
    check(x.view(-1), A.ravel())
    check(x.view(strata.int32), A.view(np.int32))
    check(x.permute(1, 0), A.T)
    check(x.permute((1, 0)), A.T)
    check(x.transpose(), A.T)
    check(x.transpose(0, 1), A.T)
    check(x.transpose(dim0=0, dim1=1), A.T)
    check(strata.zeros(2, 3, 4).transpose(2, 0, 1), np.zeros((4, 2, 3)))
    check(x.flip(0), A[::-1])
    check(x.flip((0, 1)), A[::-1, ::-1])
    check(x.flip(dims=[1]), A[:, ::-1])
    check(x.flip(()), A)
    check(x.flip(), A[::-1, ::-1])
    check(x.unsqueeze(0).expand(2, -1, 4), np.broadcast_to(A, (2, 3, 4)))
    check(x.repeat(2, 1), np.tile(A, (2, 1)))
    check(x.tile((2, 2)), np.tile(A, (2, 2)))
    check(x.roll(1, 0), np.roll(A, 1, 0))
    check(x.roll((1, 2), dims=(0, 1)), np.roll(A, (1, 2), (0, 1)))
    check(x.rot90(), np.rot90(A))
    check(x.pad((1, 2)), np.pad(A, ((0, 0), (1, 2))))
    check(x.pad(((1, 0), None), value=3), np.pad(A, ((1, 0), (0, 0)), constant_values=3))
    check(x.pad((1, 1), "reflect"), np.pad(A, ((0, 0), (1, 1)), mode="reflect"))
    check(x.shrink(((1, 3), None)), A[1:3])
    check(x.narrow(1, 1, 2), A[:, 1:3])
    check(x.select(0, -1), A[-1])
    check(x.tril(), np.tril(A))
    check(x.triu(k=1), np.triu(A, 1))
    check(x.diagonal(), A.diagonal())
    check(x.diag(), np.diag(A))
    check(x.squeeze(), A)
    check(x[None].squeeze(0), A)
    check(x.flatten(), A.ravel())
    check(x.unflatten(1, (2, 2)), A.reshape(3, 2, 2))
    check(x.repeat_interleave(2, axis=1), np.repeat(A, 2, 1))
    check(x.moveaxis(0, 1), A.T)
    check(x.swapaxes(0, 1), A.T)
    check(strata.cat([x, B]), np.concatenate([A, B]))
    check(strata.concatenate((x, x), axis=1), np.concatenate([A, A], 1))
    check(strata.stack([x, x], dim=1), np.stack([A, A], 1))
    check(strata.vstack([x, x]), np.vstack([A, A]))
    check(x.split(2, dim=1), np.split(A, 2, 1))
    check(x.split([1, 3], 1), (A[:, :1], A[:, 1:]))
    check(x.chunk(2, 1), np.split(A, 2, 1))
    check(x.unbind(), tuple(A))
    check(strata.meshgrid(strata.arange(2), strata.arange(3)), np.meshgrid(np.arange(2), np.arange(3), indexing="ij"))
    assert x.size() == (3, 4) and x.shape == (3, 4)


def test_products_and_gathers():
    x = Tensor(A)
    check(strata.matmul(A, B.T), A @ B.T, atol=1e-5)
    check(strata.einsum("ij,kj->ik", x, B), A @ B.T, atol=1e-5)
    check(strata.einsum("ij,kj->ik", [x, B]), A @ B.T, atol=1e-5)
    # Of several operands the cheapest order: a chain that ends in a vector is never a product of matrices.
    chain = [np.random.default_rng(k).random((20, 20), dtype=np.float32) / 10 for k in range(7)]
    formula = "ab,bc,cd,de,ef,fg,gh,h->a"
    terms = [*(Tensor(m) for m in chain), Tensor(np.ones(20, np.float32))]
    check(strata.einsum(formula, *terms), np.einsum(formula, *chain, np.ones(20, np.float32), optimize=True), atol=1e-4)
    assert strata.einsum(formula, *terms).explain().count("a kernel of shape") == 7
    check(strata.tensordot(x, B, 2), np.tensordot(A, B, 2), atol=1e-5)
    check(x.tensordot(B, axes=([0], [0])), np.tensordot(A, B, ([0], [0])), atol=1e-5)
    check(strata.outer(A[0], B[0]), np.outer(A[0], B[0]))
    check(strata.dot(A[0], B[0]), A[0] @ B[0], atol=1e-5)
    check(strata.kron(A[:2, :2], B[:2, :2]), np.kron(A[:2, :2], B[:2, :2]))
    check(x.gather(1, [[0], [1], [3]]), np.take_along_axis(A, np.array([[0], [1], [3]]), 1))
    check(x.index_select(0, [2, 0]), A[[2, 0]])
    check(x.take([0, 5]), A.ravel()[[0, 5]])
    check(x.masked_select(M), A[M])
    check(x.masked_fill(M, 0), np.where(M, 0, A))
    check(strata.where(M, x, B), np.where(M, A, B))
    check(strata.where(M, 1.0, x), np.where(M, 1, A))
    check(x.where(M, 0.0), np.where(M, A, 0))
    check(x.nonzero(), np.argwhere(A))
    check(strata.searchsorted([1.0, 2.0, 3.0], [2.5]), [2])
    check(Tensor([0, 2]).one_hot(3), np.eye(3)[[0, 2]])
    check(strata.zeros(3).scatter(0, [0, 2], 5.0), [5, 0, 5])
    check(x.clip(-0.5, 0.5), A.clip(-0.5, 0.5))
    check(strata.clamp(x, min=0), A.clip(0))
    check(x.round(decimals=1), A.round(1))
    check(x.add(1, alpha=2), A + 2)
    check(x.div(B, rounding_mode="floor"), np.floor(A / B))
    check(x.lerp(B, 0.5), (A + B) / 2)
    check(strata.allclose(A, A), True)


INDICES = [
    0, -1, slice(1, None), slice(None, None, -1), slice(5, 0, -2), None, ..., (0, 1), (slice(None), 2), (..., 0), (None, ..., None), [0, 2], [True, False, True],
    ([0, 1], [1, 2]), (slice(None), [0, 3]), np.array([1, 1]), np.array([[0], [1]]), (np.array([0, 2]), slice(1, 3)), M, M[:, 0], (np.int64(1), 2), (),
    (slice(-2, None), slice(0, 100)), True, (np.int32(1), np.uint8(2)), np.zeros((3, 4), bool), ([[0], [1]], [0, 2]), np.arange(4)[::2],
    np.array([2, 0], np.uint8), np.array([-1, 0], np.int32),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing(index):
    check(Tensor(A)[index], A[index])
    ours = index
    if isinstance(index, np.ndarray):
        ours = Tensor(index)
    elif isinstance(index, tuple):
        ours = tuple(Tensor(i) if isinstance(i, (np.ndarray, list)) else i for i in index)
    check(Tensor(A)[ours], A[index])
    want = A.copy()
    want[index] = 7
    x = strata.tensor(A)
    x[index] = 7
    check(x, want)


def test_puts():
    x = strata.zeros(3, 3)
    x[1] = [1, 2, 3]
    x[:, 0] += 1
    check(x, [[1, 0, 0], [2, 2, 3], [1, 0, 0]])
    with pytest.raises(TypeError):
        del x[0]
    with pytest.raises(IndexError):
        x[3] = 1
    with pytest.raises(IndexError, match=r"index 3 is outside of axis 0 of size 3"):
        x[[0, 3]] = 1
    check(x, [[1, 0, 0], [2, 2, 3], [1, 0, 0]])


def test_lists_and_arrays_are_checked():
    x = Tensor(A)
    for outside in ([3], [0, -4], np.array([5]), np.arange(8)[::2], np.array([200], np.uint8), [[0], [3]]):
        with pytest.raises(IndexError, match=r"\[index\] index -?\d+ is outside of axis 0 of size 3"):
            x[outside]
    with pytest.raises(IndexError, match="index 9 is outside of axis 1"):
        x[:, [0, 9]]
    check(x[Tensor([3, 0])], np.stack([0 * A[0], A[0]]))  # a tensor is not waited for
    picks = strata.jit(lambda t: t[[2, 0]] + t[np.array([1, 1])])
    for k in range(4):
        check(picks(Tensor(A + k)), A[[2, 0]] + A[[1, 1]] + 2 * k)


def test_in_place():
    x = y = Tensor([1.0, 4.0])
    assert x.sqrt_() is x and y.tolist() == [1, 2]
    x.add_(1).mul_(2).clamp_(max=5)
    assert y.tolist() == [4, 5]
    x.zero_()
    assert y.tolist() == [0, 0] and x.fill_(3).tolist() == [3, 3] and x.copy_(1).tolist() == [1, 1]
    i = Tensor([1, 2])
    assert i.add_(2).tolist() == [3, 4] and i.dtype == "int64"
    with pytest.raises(strata.DomainError, match=r"\[add_\]"):
        i.add_(1.7)
    with pytest.raises(strata.ShapeError):
        x.add_(strata.ones(2, 2))


def test_making():
    check(strata.zeros(2, 3), np.zeros((2, 3)))
    check(strata.ones((2, 3), dtype="int8"), np.ones((2, 3)))
    check(strata.zeros((2,), np.int32), np.zeros(2))
    check(strata.full((2,), 7), [7, 7])
    check(strata.arange(5), np.arange(5))
    check(strata.arange(1, 2, 0.25), np.arange(1, 2, 0.25))
    check(strata.linspace(0, 1, 5), np.linspace(0, 1, 5))
    check(strata.eye(3), np.eye(3))
    check(Tensor.ones(2), [1, 1])
    check(strata.zeros_like(A), 0 * A)
    check(strata.full_like(A, 3), 0 * A + 3)
    check(Tensor(A).new_zeros(2), [0, 0])
    assert strata.empty(2, 3).shape == (2, 3) and strata.zeros(()).shape == () and strata.zeros().shape == ()
    assert strata.zeros(2, requires_grad=True).requires_grad and strata.zeros(2, device="INTERP").device == "INTERP"
    assert strata.arange(3).dtype == "int64" and strata.arange(3.0).dtype == "float32"


def test_random_numbers():
    strata.manual_seed(3)
    a, b = strata.rand(5).tolist(), strata.randn(5).tolist()
    strata.manual_seed(3)
    assert strata.rand(5).tolist() == a and strata.randn((5,)).tolist() == b
    g = strata.Generator(3)
    assert strata.rand(5, generator=g).tolist() == a and g.seed == 3
    i = strata.randint(2, 5, (100,)).numpy()
    assert i.min() == 2 and i.max() == 4 and strata.randint(10, (2, 3)).shape == (2, 3) and strata.randint(0, 2, size=(4,)).shape == (4,)
    assert sorted(strata.randperm(6).tolist()) == list(range(6))
    assert strata.dropout(strata.ones(1000), 0.5).count_nonzero().item() < 700


def test_aliases_are_the_same_functions():
    assert strata.swish is strata.silu and strata.clamp is strata.clip and strata.concat is strata.cat and Tensor.multiply is Tensor.mul
    for name in "astype type expand_dims power mod concatenate moveaxis absolute".split():
        assert hasattr(Tensor, name) or hasattr(strata, name)
    assert Tensor([1.5]).int().dtype == "int32" and Tensor([1]).float().dtype == "float32" and Tensor([1.5]).long().tolist() == [1]


def test_symbolic_sizes():
    n = strata.Variable("n", 1, 8)
    x = strata.arange(8).realize()
    for k in (3, 5):
        y = (x * 2)[: n.bind(k)]
        assert y.shape[0].render().startswith("n") and y.sum().item() == k * (k - 1)
