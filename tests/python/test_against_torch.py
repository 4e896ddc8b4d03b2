"""Each operation against PyTorch's: values, dtypes, shapes and gradients.

A case is one expression of both libraries: `T` is `torch` or `strata`, `F` its `nn.functional`; the tensors hold the same
numbers. Where PyTorch is not installed nothing here runs, and the line that pytest prints says so.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")

import numpy as np
import strata

LIBRARIES = ((torch, torch.nn.functional), (strata, strata.nn.functional))


class Case:
    """`f(T, F, *tensors)` on tensors of `shapes`, of numbers from `low` to `high`."""

    def __init__(self, f, *shapes, low=-2.0, high=2.0, grad=True, atol=1e-5, rtol=1e-4, dtype="float32", seed=0):
        self.f, self.shapes, self.low, self.high, self.grad = f, shapes, low, high, grad
        self.atol, self.rtol, self.dtype, self.seed = atol, rtol, dtype, seed

    def inputs(self):
        random = np.random.default_rng(self.seed)
        if self.dtype == "bool":
            return [random.integers(0, 2, size=s).astype(bool) for s in self.shapes]
        if self.dtype.startswith(("int", "uint")):
            return [random.integers(int(self.low), int(self.high) + 1, size=s).astype(self.dtype) for s in self.shapes]
        return [random.uniform(self.low, self.high, size=s).astype(self.dtype) for s in self.shapes]


def flat(result):
    """The tensors of a result, which may be a tuple of them."""
    if isinstance(result, (list, tuple)):
        return [t for part in result for t in flat(part)]
    return [result]


def values(t):
    if isinstance(t, (bool, int, float)):
        return np.asarray(t)
    return t.detach().numpy()


def run(case, library):
    T, F = library
    # Copies, so that neither library sees what the other one does.
    tensors = [T.tensor(x) if x.ndim == 0 else T.from_numpy(x.copy()) for x in case.inputs()]
    takes_gradients = case.grad and case.dtype.startswith("float")
    if takes_gradients:
        for t in tensors:
            t.requires_grad = True
    results = flat(case.f(T, F, *tensors))
    if takes_gradients:
        total = None
        for k, r in enumerate(results):
            if not isinstance(r, (bool, int, float)) and r.requires_grad and r.is_floating_point():
                weights = np.random.default_rng(7 + k).uniform(0.5, 1.5, size=tuple(r.shape)).astype(case.dtype)
                part = (r * (T.tensor(weights) if weights.ndim == 0 else T.from_numpy(weights))).sum()
                total = part if total is None else total + part
        assert total is not None, "no result depends on the inputs"
        total.backward()
    gradients = [None if t.grad is None else values(t.grad) for t in tensors] if takes_gradients else []
    return [(tuple(values(r).shape), values(r)) for r in results], gradients


def check(case):
    theirs, their_gradients = run(case, LIBRARIES[0])
    ours, our_gradients = run(case, LIBRARIES[1])
    assert len(ours) == len(theirs)
    for (our_shape, mine), (their_shape, other) in zip(ours, theirs):
        assert our_shape == their_shape
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, atol=case.atol, rtol=case.rtol)
    for k, (mine, other) in enumerate(zip(our_gradients, their_gradients)):
        if other is None:
            other = np.zeros(case.shapes[k], case.dtype)
        mine = np.zeros(case.shapes[k], case.dtype) if mine is None else mine
        np.testing.assert_allclose(mine, other, atol=10 * case.atol, rtol=10 * case.rtol, err_msg=f"gradient {k}")


UNARY = """abs neg sign square exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh erf erfc floor ceil round trunc frac relu
sigmoid sgn positive deg2rad rad2deg sinc isnan isinf isfinite signbit logical_not erfc digamma lgamma""".split()
POSITIVE = "sqrt rsqrt reciprocal log log2 log10 log1p".split()
UNIT = "asin acos atanh erfinv logit".split()
FUNCTIONAL = """relu6 elu celu selu gelu silu mish softplus softsign tanhshrink hardsigmoid hardswish hardtanh hardshrink softshrink
leaky_relu logsigmoid""".split()
BINARY = """add sub mul div maximum minimum atan2 hypot fmax fmin copysign logaddexp logaddexp2""".split()
COMPARE = "eq ne lt le gt ge logical_and logical_or logical_xor".split()
CASES = {}


def add(name, f, *shapes, **options):
    assert name not in CASES, name
    CASES[name] = Case(f, *shapes, **options)


def method(name):
    return lambda T, F, x, *rest: getattr(x, name)(*rest)


def function(name):
    return lambda T, F, *tensors: getattr(T, name)(*tensors)


def functional(name):
    return lambda T, F, *tensors: getattr(F, name)(*tensors)


for n in dict.fromkeys(UNARY):
    has_grad = n not in "isnan isinf isfinite signbit logical_not sgn".split()  # PyTorch 1.13 gives noise for sgn
    add(f"x.{n}", method(n), (4, 5), grad=has_grad, low=0.3 if n == "digamma" else -2.0)
    add(f"T.{n}", function(n), (3,), grad=has_grad, low=0.3)
    add(f"x.{n} of a scalar", method(n), (), grad=has_grad, low=0.3)
for n in POSITIVE:
    add(f"x.{n}", method(n), (4, 5), low=0.2)
    add(f"T.{n}", function(n), (7,), low=0.2)
add("x.acosh", method("acosh"), (4, 5), low=1.2)
for n in UNIT:
    low = 0.05 if n == "logit" else -0.9
    add(f"x.{n}", method(n), (4, 5), low=low, high=0.9, atol=3e-5)
for n in FUNCTIONAL:
    add(f"F.{n}", functional(n), (4, 5))
for n in BINARY:
    add(f"x.{n}", method(n), (4, 5), (4, 5), low=0.3)
    add(f"x.{n}, broadcast", method(n), (4, 1, 5), (3, 1))
    add(f"x.{n} below 0", method(n), (6,), (6,), seed=3)
for n in COMPARE:
    add(f"x.{n}", method(n), (4, 5), (4, 5), grad=False)
    add(f"x.{n} of integers", method(n), (4, 5), (5,), low=0, high=2, dtype="int32")
for n in "add sub mul maximum minimum gcd lcm bitwise_and bitwise_or bitwise_xor remainder fmod floor_divide".split():
    add(f"x.{n} of i32", method(n), (4, 5), (4, 5), low=1, high=9, dtype="int32")
    add(f"x.{n} of u8", method(n), (4, 5), (5,), low=1, high=9, dtype="uint8")
for n in "abs neg sign square exp sqrt sin sum mean prod max min".split():
    if n != "mean":
        add(f"x.{n} of i64", method(n), (4, 3), low=1, high=4, dtype="int64")
for n in "sum prod any all".split():
    add(f"x.{n} of bools", method(n), (4, 3), dtype="bool")
add("x / y of integers", lambda T, F, x, y: x / y, (4,), (4,), low=1, high=9, dtype="int32")
add("x // y of integers", lambda T, F, x, y: x // y, (9,), (9,), low=1, high=9, dtype="int32")
add("x % y below 0", lambda T, F, x, y: x % y, (9,), (9,), low=-9, high=-1, dtype="int64")
add("shifts", lambda T, F, x, y: (x << y, x >> y), (9,), (9,), low=0, high=5, dtype="int32")
add("~x", lambda T, F, x: ~x, (9,), low=-9, high=9, dtype="int32")
add("operators", lambda T, F, x, y: (x + y, x - y, x * y, x / y, x**2, -x, 2 - x, 3 / y, 2**x, x + 1, 1 + x), (4,), (4,), low=0.4)
add("x ** y", lambda T, F, x, y: x**y, (9,), (9,), low=0.3)
add("x ** 0.5, 3, -1, 0", lambda T, F, x: (x**0.5, x**3, x**-1, x**0), (9,), low=0.3)
add("x.pow", lambda T, F, x: x.pow(3), (4, 5))
add("T.pow(2, x)", lambda T, F, x: T.pow(2.0, x), (4, 5))
add("float_power", lambda T, F, x: T.float_power(x, 2), (4, 5), low=0.2, grad=False)
add("x.fmod", lambda T, F, x: (x.fmod(0.7), x.remainder(0.7), x // 0.7), (17,), grad=False)
add("x.div, modes", lambda T, F, x, y: (x.div(y, rounding_mode="floor"), x.div(y, rounding_mode="trunc")), (9,), (9,), grad=False)
add("clamp", lambda T, F, x: (x.clamp(-1, 1), x.clip(-1, 1), T.clamp(x, min=0), x.clamp(max=0.5)), (4, 5))
add("clamp by tensors", lambda T, F, x, a, b: T.clamp(x, a, b), (4, 5), (5,), (4, 1))
add("where", lambda T, F, x, y: (T.where(x > 0, x, y), x.where(x > y, y)), (4, 5), (4, 5))
add("where, numbers", lambda T, F, x: T.where(x > 0, x, 0.0), (4, 5))
add("lerp", lambda T, F, x, y: T.lerp(x, y, 0.3), (4, 5), (4, 5))
add("lerp by a tensor", lambda T, F, x, y, w: x.lerp(y, w), (4, 5), (4, 5), (5,))
add("addcmul, addcdiv", lambda T, F, x, y, z: (T.addcmul(x, y, z, value=0.3), x.addcdiv(y, z, value=2)), (4, 5), (4, 5), (5,), low=0.4)
add("xlogy", lambda T, F, x, y: T.xlogy(x, y), (9,), (9,), low=0.2)
add("heaviside", lambda T, F, x, y: T.heaviside(x, y), (9,), (9,), grad=False)
add("ldexp", lambda T, F, x: T.ldexp(x, T.tensor([1, 2, 3])), (3,), grad=False)
add("nan_to_num", lambda T, F, x: T.nan_to_num(x / 0.0), (4, 5), grad=False)
add("isclose, allclose, equal", lambda T, F, x, y: (x.isclose(y), x.isclose(x + 1e-7), T.allclose(x, x), T.equal(x, y)), (4,), (4,), grad=False)
add("masked_fill", lambda T, F, x: x.masked_fill(x > 0, 9.0), (4, 5))
add("gelu, tanh", lambda T, F, x: F.gelu(x, approximate="tanh"), (4, 5))
add("leaky_relu, slope", lambda T, F, x: F.leaky_relu(x, 0.3), (4, 5))
add("elu, alpha", lambda T, F, x: (F.elu(x, 0.5), F.celu(x, 2.0)), (4, 5))
add("softplus, beta", lambda T, F, x: F.softplus(x, beta=2.0, threshold=3.0), (4, 5))
add("threshold", lambda T, F, x: F.threshold(x, 0.1, 20.0), (4, 5))
add("glu", lambda T, F, x: F.glu(x, dim=1), (4, 6))
add("prelu", lambda T, F, x, w: F.prelu(x, w), (2, 3, 4), (3,))
add("round, decimals", lambda T, F, x: T.round(x, decimals=1), (9,), grad=False)

# --- reductions ---
for n in "sum mean prod amax amin logsumexp".split():
    add(f"x.{n}(1)", lambda T, F, x, n=n: getattr(x, n)(1), (3, 4, 5), low=0.4)
    add(f"x.{n}(dim=(0, 2), keepdim)", lambda T, F, x, n=n: getattr(x, n)(dim=(0, 2) if n != "prod" else 0, keepdim=True), (3, 4, 5), low=0.4)
    add(f"x.{n}(-1)", lambda T, F, x, n=n: getattr(x, n)(-1), (3, 4), seed=2)
for n in "sum mean prod max min std var argmax argmin".split():
    add(f"x.{n}()", lambda T, F, x, n=n: getattr(x, n)(), (3, 4, 5), low=0.4, grad="arg" not in n)
for n in "std var".split():
    add(f"x.{n}(1)", lambda T, F, x, n=n: getattr(x, n)(1), (3, 4, 5))
    add(f"x.{n}, unbiased", lambda T, F, x, n=n: getattr(x, n)(dim=1, unbiased=False, keepdim=True), (3, 4, 5))
    add(f"T.{n}_mean", lambda T, F, x, n=n: getattr(T, n + "_mean")(x, dim=1), (3, 4, 5))
add("argmax, argmin", lambda T, F, x: (x.argmax(1), x.argmin(dim=0), x.argmax(-1, keepdim=True)), (3, 4, 5), grad=False)
add("any, all", lambda T, F, x: ((x > 1).any(), (x > 1).all(1), (x > -3).all(), (x > 1).any(0, keepdim=True)), (3, 4), grad=False)
add("norm", lambda T, F, x: (x.norm(), x.norm(dim=1), x.norm(p=1, dim=0), T.norm(x, p=3.0, dim=1)), (3, 4))
add("norm inf", lambda T, F, x: x.norm(float("inf"), 1), (3, 4))
add("count_nonzero", lambda T, F, x: ((x > 0).count_nonzero(), T.count_nonzero(x > 0, dim=1)), (3, 4), grad=False)
add("nansum, nanmean", lambda T, F, x: (T.nansum(x, 1), x.nanmean(1)), (3, 4))
add("aminmax", lambda T, F, x: T.aminmax(x, dim=1), (3, 4), grad=False)
add("sum, dtype", lambda T, F, x: x.sum(dim=0, dtype=T.float64), (3, 4), grad=False)
add("sum of nothing", lambda T, F, x: (x.sum(), x.sum(0), x.prod(1)), (0, 4), grad=False)
add("softmax", lambda T, F, x: (x.softmax(1), F.softmax(x, dim=0), T.softmax(x, -1)), (3, 4, 5))
add("log_softmax", lambda T, F, x: (x.log_softmax(1), F.log_softmax(x, dim=0)), (3, 4, 5))
add("softmin", lambda T, F, x: F.softmin(x, dim=1), (3, 4))
add("cumsum, cumprod", lambda T, F, x: (x.cumsum(0), x.cumsum(-1), x.cumprod(1)), (3, 4), low=0.3)
add("cumprod with 0", lambda T, F, x: (x * (x > 0.8)).cumprod(0), (5,), low=0.3)
add("cummax, cummin", lambda T, F, x: (T.cummax(x, 1), x.cummin(0)), (3, 4))
add("logcumsumexp", lambda T, F, x: T.logcumsumexp(x, 1), (3, 4))
add("sort", lambda T, F, x: (T.sort(x), x.sort(0, descending=True)), (5, 6))
add("argsort, msort", lambda T, F, x: (x.argsort(1), T.msort(x)), (5, 6), grad=False)
add("topk", lambda T, F, x: (x.topk(3), T.topk(x, 2, dim=0, largest=False)), (5, 6))
add("kthvalue, median", lambda T, F, x: (x.kthvalue(2), x.median(), x.median(0), T.kthvalue(x, 3, 0)), (5, 6))
add("mode", lambda T, F, x: T.mode(x, 1)[0], (5, 6), low=0, high=3, dtype="int64")
add("quantile", lambda T, F, x: (T.quantile(x, 0.3), x.quantile(0.7, dim=1)), (5, 6))
add("unique", lambda T, F, x: T.unique(x, return_inverse=True, return_counts=True), (5, 6), low=0, high=7, dtype="int64")
add("bincount", lambda T, F, x: (T.bincount(x), T.bincount(x, minlength=12)), (30,), low=0, high=7, dtype="int64")
add("histc", lambda T, F, x: T.histc(x, bins=5, min=-2, max=2), (30,), grad=False)
add("searchsorted, bucketize", lambda T, F, x: (T.searchsorted(x.sort()[0], x), T.bucketize(x, T.tensor([-1.0, 0.0, 1.0]))), (9,), grad=False)
add("diff", lambda T, F, x: (T.diff(x), x.diff(dim=0)), (4, 5))
add("trapezoid", lambda T, F, x: (T.trapezoid(x), T.cumulative_trapezoid(x, dim=0)), (4, 5))
add("cov, corrcoef", lambda T, F, x: (T.cov(x), T.corrcoef(x)), (3, 8))
add("dist", lambda T, F, x, y: (T.dist(x, y), T.dist(x, y, 1)), (3, 4), (3, 4))

# --- movement ---
add("reshape", lambda T, F, x: (x.reshape(4, 6), x.reshape((2, -1)), x.view(12, 2), T.reshape(x, (24,))), (2, 3, 4))
add("permute", lambda T, F, x: (x.permute(2, 0, 1), T.permute(x, (1, 2, 0)), x.permute((0, 2, 1))), (2, 3, 4))
add("transpose", lambda T, F, x: (x.transpose(0, 2), T.transpose(x, 1, -1), x.mT, x.swapaxes(0, 1), x.swapdims(1, 2)), (2, 3, 4))
add("t, T", lambda T, F, x: (x.t(), x.T), (3, 4))
add("movedim", lambda T, F, x: (x.movedim(0, 2), T.movedim(x, (0, 1), (1, 0)), x.moveaxis(1, 0)), (2, 3, 4))
add("squeeze", lambda T, F, x: (x.squeeze(), x.squeeze(0), x.squeeze(1), x.unsqueeze(-1), T.unsqueeze(x, 1)), (1, 3, 1, 4))
add("flatten", lambda T, F, x: (x.flatten(), x.flatten(1), x.flatten(0, 1), x.ravel(), x.unflatten(2, (2, 2))), (2, 3, 4))
add("expand", lambda T, F, x: (x.expand(4, 3, 5), x.expand(-1, -1, 2), x.broadcast_to((2, 4, 3, 1)), x.expand_as(x)), (4, 3, 1))
add("repeat, tile", lambda T, F, x: (x.repeat(2, 3), x.repeat(2, 1, 2), x.tile((2,)), T.tile(x, (2, 2))), (3, 4))
add("repeat_interleave", lambda T, F, x: (x.repeat_interleave(2), x.repeat_interleave(3, dim=1)), (3, 4))
add("flip", lambda T, F, x: (x.flip(0), x.flip((0, 1)), T.flip(x, [1]), x.fliplr(), x.flipud()), (3, 4))
add("roll, rot90", lambda T, F, x: (x.roll(2), x.roll(1, 0), T.roll(x, (1, -1), (0, 1)), T.rot90(x), x.rot90(2)), (3, 4))
add("cat", lambda T, F, x, y: (T.cat([x, y]), T.cat((x, x), dim=1), T.concat([x, y], 0), T.cat([x, y], -2)), (3, 4), (2, 4))
add("stack", lambda T, F, x, y: (T.stack([x, y]), T.stack((x, y), dim=-1), T.hstack([x, y]), T.vstack([x, y]), T.dstack([x, y])), (3, 4), (3, 4))
add("column_stack", lambda T, F, x, y: T.column_stack([x, y]), (3,), (3, 2))
add("split, chunk", lambda T, F, x: (x.split(2), T.split(x, [1, 4], 0), x.chunk(2, 1), T.tensor_split(x, 3), x.unbind(1)), (5, 4))
add("narrow, select", lambda T, F, x: (x.narrow(0, 1, 2), x.select(1, 2), T.narrow(x, 1, 0, 3)), (3, 4))
add("tril, triu", lambda T, F, x: (x.tril(), x.triu(1), T.tril(x, -1)), (4, 5))
add("diag", lambda T, F, x: (x.diag(), T.diag(x, 1), x.diagonal(), T.diag_embed(x), x.diagonal(1), T.diagflat(x)), (4, 5))
add("trace", lambda T, F, x: (x.trace(), T.diag(x[0])), (4, 5))
add("unfold", lambda T, F, x: (x.unfold(0, 3, 2), x.unfold(1, 2, 1)), (7, 5))
add("pad", lambda T, F, x: (F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=3.0), F.pad(x, (-1, 1))), (3, 4, 5))
for n in "reflect replicate circular".split():
    add(f"pad, {n}", lambda T, F, x, n=n: (F.pad(x, (2, 1), mode=n), F.pad(x, (1, 2, 2, 1), mode=n) if x.ndim == 4 else x), (2, 3, 5))
    add(f"pad, {n}, two axes", lambda T, F, x, n=n: F.pad(x, (1, 2, 2, 1), mode=n), (2, 3, 5, 4))
add("pixel_shuffle", lambda T, F, x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2)), (1, 8, 2, 3))
add("channel_shuffle", lambda T, F, x: F.channel_shuffle(x, 2), (1, 4, 2, 3), grad=False)
add("meshgrid", lambda T, F, x, y: (T.meshgrid(x, y, indexing="ij"), T.meshgrid(x, y, indexing="xy")), (3,), (4,))
add("atleast", lambda T, F, x: (T.atleast_1d(x), T.atleast_2d(x), T.atleast_3d(x)), (3,))
add("broadcast_tensors", lambda T, F, x, y: T.broadcast_tensors(x, y), (3, 1), (1, 4))
add("cartesian_prod, combinations", lambda T, F, x, y: (T.cartesian_prod(x, y), T.combinations(x, 2)), (3,), (2,))
add("block_diag, vander", lambda T, F, x, y: (T.block_diag(x, y), T.vander(x[0].detach(), N=3)), (2, 3), (1, 2))
add("hsplit", lambda T, F, x: (T.hsplit(x, 2), T.vsplit(x, 2)), (4, 6))

# --- indexing ---
add("brackets", lambda T, F, x: (x[0], x[-1], x[1:], x[:, 1], x[..., 0], x[:, None], x[1:3, ::2], x[None], x[2, 3]), (4, 5))
add("three axes", lambda T, F, x: (x[:, 1:2], x[..., 1], x[0, :, 1], x[:, :, -2:], x[1][2]), (3, 4, 5))
add("by tensors", lambda T, F, x: (x[T.tensor([0, 2, 2])], x[:, T.tensor([1, 0])], x[T.tensor([0, 1]), T.tensor([2, 3])], x[[1, 0]]), (4, 5))
add("by tensors that broadcast", lambda T, F, x: x[T.tensor([[0], [1]]), :, T.tensor([0, 2])], (3, 4, 5))
add("by masks", lambda T, F, x: (x[x > 0], x[T.tensor([True, False, True])]), (3, 4))
add("gather", lambda T, F, x: (x.gather(0, T.tensor([[0, 1], [2, 0]])), T.gather(x, 1, T.tensor([[0, 3], [1, 1], [2, 2]]))), (3, 4))
add("index_select, take", lambda T, F, x: (x.index_select(1, T.tensor([0, 3, 3])), T.take(x, T.tensor([0, 5, 11]))), (3, 4))
add("take_along_dim", lambda T, F, x: T.take_along_dim(x, x.argsort(1), 1), (3, 4))
add("scatter", lambda T, F, x, y: (x.scatter(0, T.tensor([[0, 1, 2, 0]]), y), x.scatter(1, T.tensor([[1], [0], [3]]), 9.0)), (3, 4), (1, 4))
add("scatter_add", lambda T, F, x, y: x.scatter_add(0, T.tensor([[0, 1, 0, 2], [0, 0, 0, 2]]), y), (3, 4), (2, 4))
for n in "sum prod mean amax amin".split():
    for inside in (True, False):
        add(f"scatter_reduce {n} {inside}", lambda T, F, x, y, n=n, inside=inside: x.scatter_reduce(0, T.tensor([[0, 1, 0, 2], [0, 0, 0, 2]]), y, reduce=n, include_self=inside), (3, 4), (2, 4), low=0.4)
add("index_add, index_copy, index_fill", lambda T, F, x, y: (x.index_add(0, T.tensor([2, 0]), y), x.index_copy(0, T.tensor([2, 0]), y), x.index_fill(1, T.tensor([1]), 7.0)), (3, 4), (2, 4))
add("index_put", lambda T, F, x, y: (x.index_put((T.tensor([0, 2]),), y), x.index_put((T.tensor([0, 0]),), y, accumulate=True)), (3, 4), (2, 4))
add("masked_select, masked_scatter", lambda T, F, x, y: (x.masked_select(x > 0), x.masked_scatter(x > 0, y)), (3, 4), (12,))
add("nonzero", lambda T, F, x: (T.nonzero(x > 0), T.argwhere(x > 0)), (3, 4), grad=False)
add("one_hot", lambda T, F, x: (F.one_hot(x), F.one_hot(x, 9)), (3, 4), low=0, high=4, dtype="int64")
add("slice_scatter", lambda T, F, x, y: (T.slice_scatter(x, y, 0, 1, 3, 1), T.select_scatter(x, y[0], 0, 2), T.diagonal_scatter(x, y[0, :3])), (3, 4), (2, 4))

# --- products ---
add("matmul", lambda T, F, x, y: (x @ y, x.matmul(y), T.mm(x, y)), (4, 5), (5, 3))
add("matmul of stacks", lambda T, F, x, y: (x @ y, T.matmul(x, y[0])), (2, 4, 5), (2, 5, 3))
add("matmul that broadcasts", lambda T, F, x, y: x @ y, (3, 1, 4, 5), (2, 5, 2))
add("matmul of vectors", lambda T, F, x, y: (x @ y, x.dot(y), T.outer(x, y), T.inner(x, y), T.vdot(x, y)), (5,), (5,))
add("mv, bmm", lambda T, F, x, y: (T.mv(x[0], y[0, :, 0]), T.bmm(x, y)), (2, 4, 5), (2, 5, 3))
add("addmm", lambda T, F, c, x, y: (T.addmm(c, x, y), c.addmm(x, y, beta=0.5, alpha=2)), (4, 3), (4, 5), (5, 3))
add("addmv, addr", lambda T, F, c, x, y: (T.addmv(c, x, y), T.addr(x, c, y)), (4,), (4, 5), (5,))
add("baddbmm, addbmm", lambda T, F, c, x, y: (T.baddbmm(c, x, y), T.addbmm(c[0], x, y)), (2, 4, 3), (2, 4, 5), (2, 5, 3))
add("einsum", lambda T, F, x, y: (T.einsum("ij,jk->ik", x, y), T.einsum("ij,jk", x, y), T.einsum("ij->ji", x), T.einsum("ij->", x), T.einsum("ij,ij->i", x, x)), (4, 5), (5, 3))
add("einsum of stacks", lambda T, F, x, y: (T.einsum("bij,bjk->bik", x, y), T.einsum("...ij,...jk->...ik", x, y), T.einsum("bij,bjk->b", x, y)), (2, 4, 5), (2, 5, 3))
add("tensordot", lambda T, F, x, y: (T.tensordot(x, y, dims=1), T.tensordot(x, y, dims=([1], [0]))), (4, 5), (5, 3))
add("kron", lambda T, F, x, y: T.kron(x, y), (2, 3), (3, 2))
add("cross", lambda T, F, x, y: T.cross(x, y, dim=1), (4, 3), (4, 3))
add("cdist", lambda T, F, x, y: (T.cdist(x, y), T.cdist(x, y, p=1.0)), (4, 3), (5, 3))
add("pdist", lambda T, F, x: F.pdist(x), (4, 3))
add("matrix_power, multi_dot", lambda T, F, x: (T.matrix_power(x, 3), T.linalg.multi_dot([x, x, x])), (3, 3))
add("linear", lambda T, F, x, w, b: (F.linear(x, w, b), F.linear(x, w)), (4, 5), (3, 5), (3,))
add("bilinear", lambda T, F, x, y, w, b: F.bilinear(x, y, w, b), (4, 5), (4, 3), (2, 5, 3), (2,))
add("pairwise_distance, cosine_similarity", lambda T, F, x, y: (F.pairwise_distance(x, y), F.cosine_similarity(x, y)), (4, 5), (4, 5))

# --- windows ---
add("conv1d", lambda T, F, x, w, b: (F.conv1d(x, w, b), F.conv1d(x, w, stride=2, padding=1), F.conv1d(x, w, dilation=2)), (2, 3, 9), (4, 3, 3), (4,))
add("conv2d", lambda T, F, x, w, b: F.conv2d(x, w, b, padding=1), (2, 3, 6, 7), (4, 3, 3, 3), (4,))
add("conv2d, stride", lambda T, F, x, w: (F.conv2d(x, w, stride=(2, 1), padding=(1, 0)), F.conv2d(x, w, dilation=2)), (1, 2, 7, 7), (3, 2, 3, 2))
add("conv2d, groups", lambda T, F, x, w: F.conv2d(x, w, groups=2), (2, 4, 5, 5), (6, 2, 3, 3))
add("conv2d, same", lambda T, F, x, w: F.conv2d(x, w, padding="same"), (1, 2, 5, 6), (3, 2, 3, 4), grad=False)
add("conv2d of one", lambda T, F, x, w: F.conv2d(x, w), (2, 5, 6), (3, 2, 3, 3))
add("conv3d", lambda T, F, x, w: F.conv3d(x, w, padding=1), (1, 2, 4, 4, 4), (3, 2, 3, 3, 3))
add("conv_transpose1d", lambda T, F, x, w: F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1), (2, 3, 5), (3, 4, 3))
add("conv_transpose2d", lambda T, F, x, w, b: (F.conv_transpose2d(x, w, b), F.conv_transpose2d(x, w, stride=2, padding=1, dilation=2)), (1, 3, 4, 4), (3, 2, 3, 3), (2,))
add("conv_transpose2d, groups", lambda T, F, x, w: F.conv_transpose2d(x, w, groups=2), (1, 4, 4, 4), (4, 3, 3, 3))
add("conv_transpose3d", lambda T, F, x, w: F.conv_transpose3d(x, w, stride=2), (1, 2, 3, 3, 3), (2, 2, 2, 2, 2))
add("fold", lambda T, F, x: (F.unfold(x, (2, 3)), F.fold(F.unfold(x, 2, stride=2), (4, 6), 2, stride=2)), (2, 3, 4, 6))
for n in "max avg".split():
    add(f"{n}_pool1d", lambda T, F, x, n=n: getattr(F, n + "_pool1d")(x, 3, stride=2, padding=1), (2, 3, 9))
    add(f"{n}_pool2d", lambda T, F, x, n=n: (getattr(F, n + "_pool2d")(x, 2), getattr(F, n + "_pool2d")(x, (3, 2), stride=1, padding=1)), (2, 3, 6, 7))
    add(f"{n}_pool2d, ceil", lambda T, F, x, n=n: getattr(F, n + "_pool2d")(x, 3, stride=2, ceil_mode=True), (1, 2, 6, 8))
    add(f"{n}_pool3d", lambda T, F, x, n=n: getattr(F, n + "_pool3d")(x, 2), (1, 2, 4, 4, 4))
    add(f"adaptive_{n}_pool1d", lambda T, F, x, n=n: getattr(F, f"adaptive_{n}_pool1d")(x, 4), (2, 3, 10))
    add(f"adaptive_{n}_pool2d", lambda T, F, x, n=n: getattr(F, f"adaptive_{n}_pool2d")(x, (2, 3)), (2, 3, 5, 7))
add("avg_pool2d, options", lambda T, F, x: (F.avg_pool2d(x, 3, padding=1, count_include_pad=False), F.avg_pool2d(x, 2, divisor_override=3)), (1, 2, 6, 6))
add("max_pool2d, indices", lambda T, F, x: F.max_pool2d(x, 2, return_indices=True), (1, 2, 4, 6))
add("max_unpool2d", lambda T, F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), (1, 2, 4, 6))
add("lp_pool2d", lambda T, F, x: F.lp_pool2d(x, 2.0, 2), (1, 2, 4, 6), low=0.3)
for mode in "nearest bilinear bicubic area nearest-exact".split():
    add(f"interpolate, {mode}", lambda T, F, x, mode=mode: (F.interpolate(x, size=(7, 5), mode=mode), F.interpolate(x, scale_factor=2.0, mode=mode)), (1, 2, 4, 6))
add("interpolate, corners", lambda T, F, x: (F.interpolate(x, size=(7, 5), mode="bilinear", align_corners=True), F.interpolate(x, size=(7, 5), mode="bicubic", align_corners=True)), (1, 2, 4, 6))
add("interpolate, linear", lambda T, F, x: F.interpolate(x, size=7, mode="linear"), (1, 2, 4))
add("interpolate, trilinear", lambda T, F, x: F.interpolate(x, size=(3, 5, 2), mode="trilinear"), (1, 2, 4, 3, 3))
for mode in "bilinear nearest bicubic".split():
    for border in "zeros border reflection".split():
        add(f"grid_sample, {mode}, {border}", lambda T, F, x, g, mode=mode, border=border: F.grid_sample(x, g, mode=mode, padding_mode=border, align_corners=False), (1, 2, 4, 5), (1, 3, 3, 2), low=-1.2, high=1.2, grad=mode != "nearest", atol=3e-5)
add("affine_grid", lambda T, F, x: F.affine_grid(x, (2, 1, 3, 4), align_corners=False), (2, 2, 3))

# --- norms, attention, embedding ---
add("layer_norm", lambda T, F, x, w, b: (F.layer_norm(x, (5,), w, b), F.layer_norm(x, (4, 5))), (3, 4, 5), (5,), (5,))
add("group_norm", lambda T, F, x, w, b: (F.group_norm(x, 2, w, b), F.group_norm(x, 4)), (2, 4, 5), (4,), (4,))
add("instance_norm", lambda T, F, x: F.instance_norm(x), (2, 3, 8))
add("batch_norm", lambda T, F, x, m, v, w, b: (F.batch_norm(x, m.detach(), v.detach(), w, b), F.batch_norm(x, m.detach(), v.detach())), (4, 3, 5), (3,), (3,), (3,), (3,), low=0.3)
add("batch_norm, training", lambda T, F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), (4, 3, 5), (3,), (3,))
add("local_response_norm", lambda T, F, x: F.local_response_norm(x, 2), (2, 5, 4))
add("normalize", lambda T, F, x: (F.normalize(x), F.normalize(x, p=1, dim=0)), (3, 4))
add("embedding", lambda T, F, w: (F.embedding(T.tensor([[0, 2], [1, 1]]), w), F.embedding(T.tensor([0, 2]), w, padding_idx=0)), (4, 5))
add("embedding_bag", lambda T, F, w: F.embedding_bag(T.tensor([[0, 2], [1, 1]]), w, mode="sum"), (4, 5))

# --- losses ---
for n in "mse_loss l1_loss smooth_l1_loss huber_loss".split():
    add(f"{n}", lambda T, F, x, y, n=n: (getattr(F, n)(x, y), getattr(F, n)(x, y, reduction="none"), getattr(F, n)(x, y, reduction="sum")), (4, 5), (4, 5))
add("cross_entropy", lambda T, F, x: (F.cross_entropy(x, T.tensor([1, 0, 4])), F.cross_entropy(x, T.tensor([1, 0, 4]), label_smoothing=0.1), F.cross_entropy(x, T.tensor([1, -100, 4]), reduction="none")), (3, 5))
add("cross_entropy, weights", lambda T, F, x: F.cross_entropy(x, T.tensor([1, 0, 4]), weight=T.tensor([1.0, 2.0, 3.0, 4.0, 5.0])), (3, 5))
add("cross_entropy of probabilities", lambda T, F, x, y: F.cross_entropy(x, y.softmax(1)), (3, 5), (3, 5))
add("cross_entropy of images", lambda T, F, x: F.cross_entropy(x, T.tensor([[[1, 0], [2, 2]]])), (1, 3, 2, 2))
add("nll_loss", lambda T, F, x: (F.nll_loss(x.log_softmax(1), T.tensor([1, 0, 4])), F.nll_loss(x.log_softmax(1), T.tensor([1, 0, 4]), reduction="sum")), (3, 5))
add("binary_cross_entropy", lambda T, F, x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), (4, 5), (4, 5))
add("binary_cross_entropy_with_logits", lambda T, F, x, y: (F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=T.tensor([2.0]))), (4, 5), (4, 5))
add("kl_div", lambda T, F, x, y: (F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), F.kl_div(x.log_softmax(1), y.log_softmax(1), reduction="sum", log_target=True)), (4, 5), (4, 5))
add("poisson_nll_loss", lambda T, F, x, y: F.poisson_nll_loss(x, y), (4, 5), (4, 5), low=0.3)
add("gaussian_nll_loss", lambda T, F, x, y, v: F.gaussian_nll_loss(x, y, v), (4, 5), (4, 5), (4, 5), low=0.3)
add("hinge_embedding_loss", lambda T, F, x, y: F.hinge_embedding_loss(x, y.detach().sign()), (4, 5), (4, 5))
add("soft_margin_loss", lambda T, F, x, y: F.soft_margin_loss(x, y.detach().sign()), (4, 5), (4, 5))
add("margin_ranking_loss", lambda T, F, x, y: F.margin_ranking_loss(x, y, T.ones(5), margin=0.5), (5,), (5,))
add("multi_margin_loss", lambda T, F, x: F.multi_margin_loss(x, T.tensor([1, 0, 4])), (3, 5))
add("multilabel_margin_loss", lambda T, F, x: F.multilabel_margin_loss(x, T.tensor([[3, 0, -1, 1]])), (1, 4))
add("multilabel_soft_margin_loss", lambda T, F, x, y: F.multilabel_soft_margin_loss(x, (y > 0).to(x.dtype)), (3, 5), (3, 5))
add("triplet_margin_loss", lambda T, F, x, y, z: F.triplet_margin_loss(x, y, z), (4, 5), (4, 5), (4, 5))
add("cosine_embedding_loss", lambda T, F, x, y: F.cosine_embedding_loss(x, y, T.tensor([1, -1, 1, -1])), (4, 5), (4, 5))
add("ctc_loss", lambda T, F, x: F.ctc_loss(x.log_softmax(2), T.tensor([[1, 2], [2, 2]]), T.tensor([6, 6]), T.tensor([2, 2])), (6, 2, 4), atol=1e-4)

# --- making ---
add("making", lambda T, F: (T.zeros(2, 3), T.ones((2, 3)), T.full((2, 2), 7), T.full((2,), 1.5), T.eye(3), T.eye(2, 4), T.arange(5), T.arange(1, 9, 2), T.arange(0.0, 1.0, 0.25)), grad=False)
add("linspace, logspace", lambda T, F: (T.linspace(0, 1, 5), T.logspace(0, 2, 5), T.linspace(3, 3, 1)), grad=False)
add("like", lambda T, F, x: (T.zeros_like(x), T.ones_like(x), T.full_like(x, 2.0), x.new_zeros((2,)), x.new_full((2, 2), 4.0)), (2, 3), grad=False)
add("indices", lambda T, F: (T.tril_indices(3, 4), T.triu_indices(3, 3, 1)), grad=False)
add("dtypes", lambda T, F, x: (x.double(), x.int(), x.long(), x.half(), x.bool(), x.to(T.float64), x.type(T.int16)), (5,), grad=False)
add("promotion", lambda T, F, x, y: (x + 1, x + 1.5, x + y, x * True, x / 2), (3,), (3,), low=1, high=5, dtype="int32")


@pytest.mark.parametrize("name", CASES)
def test_is_what_pytorch_gives(name):
    check(CASES[name])


def test_attention_is_softmax_of_products():
    random = np.random.default_rng(1)
    q, k, v = (random.normal(size=(2, 3, 6, 4)).astype(np.float32) for _ in range(3))
    tq, tk, tv = (torch.from_numpy(x) for x in (q, k, v))
    mask = np.tril(np.ones((6, 6), bool))
    for is_causal in (False, True):
        scores = tq @ tk.transpose(-1, -2) / 2.0
        if is_causal:
            scores = scores.masked_fill(torch.from_numpy(~mask), float("-inf"))
        expected = (scores.softmax(-1) @ tv).numpy()
        ours = strata.nn.functional.scaled_dot_product_attention(
            strata.from_numpy(q), strata.from_numpy(k), strata.from_numpy(v), is_causal=is_causal)
        np.testing.assert_allclose(ours.numpy(), expected, atol=1e-5)
