"""What random programs beside PyTorch found (fuzz_torch.py): values and slopes at edges, dtypes of numbers, what rounds twice."""
import math

import numpy as np
import pytest
import strata
import surface
from strata import Tensor
from strata.nn import functional as F

INF, NAN = math.inf, math.nan


def slope(f, *values, dtype="float32"):
    tensors = [Tensor(v, dtype=dtype, requires_grad=True) for v in values]
    f(*tensors).sum().backward()
    return [t.grad.tolist() for t in tensors] if len(tensors) > 1 else tensors[0].grad.tolist()


# --- NaN stays NaN ---

KEEP = {n: (lambda x, n=n: getattr(x, n)()) for n in """hardshrink softshrink relu relu6 elu celu selu gelu silu mish hardtanh hardsigmoid hardswish sigmoid logsigmoid softsign softplus
tanhshrink quick_gelu leaky_relu tanh sign softmax log_softmax logit abs floor sqrt""".split()}
KEEP["threshold"] = lambda x: x.threshold(0.5, 7.0)
KEEP["clip"] = lambda x: x.clip(0, 1)


@pytest.mark.parametrize("name", KEEP)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_nan_stays_nan(name, dtype):
    for value in (NAN, [NAN]):
        out = KEEP[name](Tensor(value, dtype=dtype)) if name not in ("softmax", "log_softmax") or isinstance(value, list) else getattr(Tensor(value, dtype=dtype), name)(0)
        assert math.isnan(out.reshape(-1)[0].item()), (name, value)


def test_softmax_of_a_number_is_that_of_a_row():
    for value in (1.0, INF, -INF, NAN, 0.0):
        for name in ("softmax", "log_softmax", "softmin"):
            row, number = getattr(Tensor([value]), name)(0).item(), getattr(Tensor(value), name)(0).item()
            assert row == number or (math.isnan(row) and math.isnan(number)), (name, value)
    assert slope(lambda x: x.softmax(0), 2.0) == 0 and slope(lambda x: x.log_softmax(0), 2.0) == 0


# --- slopes ---


def test_slopes_outside_of_where_a_function_is():
    assert [math.isnan(v) for v in slope(lambda x: x.logit(), [-0.5, 0.25, 1.5])] == [True, False, True]
    assert slope(lambda x: x.logit(), [0.0, 0.5, 1.0]) == [INF, 4, INF]
    assert slope(lambda x: x.logit(0.25), [0.0, 0.5, 1.0]) == [0, 4, 0]


def test_slopes_at_infinities():
    assert slope(lambda x: x.hardswish(), [INF, -INF, -4.0, 4.0, 0.0, 1.5]) == [1, 0, 0, 1, 0.5, 1]
    for dtype in ("float32", "float64"):
        at_infinity, far = slope(lambda x: x.digamma(), [INF, 1e30], dtype=dtype)
        assert at_infinity == 0 and far == pytest.approx(1e-30, rel=1e-6)
    assert Tensor([1e30, INF]).polygamma(1).tolist() == [pytest.approx(1e-30, rel=1e-6), 0]


FLAT = {
    "div floor": lambda x: x.div(3.0, rounding_mode="floor"), "div trunc": lambda x: x.div(x * 0 + 3, rounding_mode="trunc"), "//": lambda x: x // 2, "x ** 0": lambda x: x**0,
    "float_power": lambda x: x.float_power(0), "matrix_power": lambda x: x.matrix_power(0), "angle": lambda x: x.angle(), "beta=0": lambda x: x.addmm(Tensor([[1.0], [2.0]]), Tensor([[3.0, 4.0]]), beta=0),
       "div_ floor": lambda x: (x * 1).div_(2, rounding_mode="floor"),
    "floor": lambda x: x.floor() + x * 0}


@pytest.mark.parametrize("name", FLAT)
def test_what_does_not_depend_on_a_tensor_has_slopes_of_0(name):
    assert slope(FLAT[name], [[1.5, 2.5], [-3.5, 0.5]]) == [[0, 0], [0, 0]]
    x = Tensor([[1.5, 2.5], [-3.5, 0.5]], requires_grad=True)
    assert FLAT[name](x).requires_grad
    with strata.no_grad():
        assert not FLAT[name](x).requires_grad
    second = strata.grad(lambda x: strata.grad(lambda x: FLAT[name](x).sum())(x).sum())(x)
    assert second.tolist() == [[0, 0], [0, 0]]


# --- dtypes of numbers ---

INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers_leave_integers_what_they_are(dtype):
    a, b, c = Tensor([[1, 2], [3, 4]], dtype=dtype), Tensor([[1, 0], [2, 1]], dtype=dtype), Tensor([1, 2], dtype=dtype)
    product = b.cast("int64") @ b.cast("int64")
    for out, want in ((a.addmm(b, b, beta=2, alpha=3), a.cast("int64") * 2 + product * 3), (a.addmm(b, b, beta=0), product), (c.addmv(b, c, alpha=2), c.cast("int64") + (b.cast("int64") @ c.cast("int64")) * 2),
                      (a.addr(c, c, beta=3), a.cast("int64") * 3 + c.cast("int64").outer(c.cast("int64"))), (a.threshold(2, 7), Tensor([[7, 7], [3, 4]])), (a.hardtanh(2, 3), Tensor([[2, 2], [3, 3]])),
                      (a.relu6(), a.cast("int64")), (a[None].baddbmm(b[None], b[None], alpha=2)[0], a.cast("int64") + product * 2), (a.addbmm(b[None], b[None], beta=2), a.cast("int64") * 2 + product)):
        assert out.dtype == dtype and out.tolist() == want.tolist()
    assert a.addmm(b, b, alpha=0.5).dtype == "float32" == a.threshold(2, 0.5).dtype
    a.addmm_(b, b, alpha=2)
    assert a.dtype == dtype and a.tolist() == (Tensor([[1, 2], [3, 4]]) + product * 2).tolist()


def test_masked_fill_leaves_other_elements_what_they_are():
    large = Tensor([2**62 + 1, 2**53 + 1, -(2**62) - 1, 5])
    mask = Tensor([False, False, False, True])
    for value in (2.0, 2, Tensor(2.0), Tensor([2.0]), True):
        assert large.masked_fill(mask, value).tolist() == [2**62 + 1, 2**53 + 1, -(2**62) - 1, int(Tensor(value).reshape(-1)[0].item())]
    wide = Tensor([0.1, 1.0], dtype="float64")
    assert wide.masked_fill(Tensor([False, True]), Tensor(0.3, dtype="float64")).tolist() == [0.1, 0.3]
    assert Tensor([1, 2]).masked_fill(Tensor([True, False]), 2.7).tolist() == [2, 2]
    for other in (Tensor([1, 0]), Tensor([1.0, 0.0])):
        with pytest.raises(strata.DomainError, match=r"\[masked_fill\] a mask of (i64|f32): of bools is expected"):
            Tensor([1.0, 2.0]).masked_fill(other, 0)


def test_bounds_in_the_wrong_order():
    x = Tensor([-1.0, 2.0, 9.0, NAN])
    assert x.hardtanh(7, 1).tolist()[:3] == [1, 1, 1] == x.clip(7, 1).tolist()[:3]


def test_bools_are_close():
    a, b = Tensor([True, False, True]), Tensor([True, True, False])
    assert a.isclose(b).tolist() == [True, False, False] and a.isclose(b, atol=2).tolist() == [True, True, True] == a.isclose(b, rtol=1, atol=1).tolist()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"])
def test_integers_are_close(dtype):
    info = np.iinfo(dtype)
    a = Tensor(np.array([1, 3, info.max, info.min, info.max], dtype))
    b = Tensor(np.array([3, 1, info.min, info.max, info.max - 1], dtype))
    assert a.isclose(b, rtol=3).tolist() == [True, True, info.min < 0, True, True] and a.isclose(b, rtol=0, atol=2).tolist() == [True, True, False, False, True]
    assert a.isclose(b, rtol=0, atol=0).tolist() == [False] * 5 and a.isclose(a, rtol=0, atol=0).all().item()
    assert Tensor([1, 2]).isclose(Tensor([1, 4], dtype="uint8"), rtol=1).tolist() == [True, True]


def test_no_differences_are_the_tensor():
    x = Tensor([[1.0, 2.0]])
    assert x.diff(n=0, prepend=Tensor([[0.0]]), append=Tensor([[0.0]])).tolist() == [[1, 2]]


# --- rounded once ---


@pytest.mark.parametrize("dtype, unit", [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
def test_sums_of_products_round_once(dtype, unit):
    random = np.random.default_rng(3)
    make = lambda *shape: Tensor(random.normal(size=shape)).cast(dtype)
    wide = lambda *tensors: [t.cast("float64").numpy() for t in tensors]
    c, a, b, v, u = make(40, 30), make(40, 20), make(20, 30), make(20), make(40)
    C, A, B, V, U = wide(c, a, b, v, u)
    index = Tensor(random.integers(0, 40, 60))
    more = make(60, 30)
    summed = C.copy()
    np.add.at(summed, index.numpy(), 7 * wide(more)[0])
    w = Tensor(random.uniform(size=(40, 30))).cast(dtype)
    W = wide(w)[0]
    d, e = make(40, 30), make(40, 30)
    D, E = wide(d, e)
    for name, got, want in (("addmm", c.addmm(a, b, beta=2, alpha=0.5), 2 * C + 0.5 * A @ B), ("addmv", u.addmv(a, v), U + A @ V), ("addr", c.addr(u, make(30) * 0 + 3), C + np.outer(U, np.full(30, 3.0))),
                            ("baddbmm", c[None].baddbmm(a[None], b[None])[0], C + A @ B), ("addbmm", c.addbmm(a[None], b[None]), C + A @ B), ("lerp", d.lerp(e, w), D + (E - D) * W),
                            ("lerp by a number", d.lerp(e, 0.3), D + (E - D) * 0.3), ("addcmul", c.addcmul(d, e, value=3), C + D * E * 3), ("addcdiv", c.addcdiv(d, e, value=3), C + D / E * 3), ("index_add", c.index_add(0, index, more, alpha=7), summed),
                            ("add", d.add(e, alpha=-1.3), D - 1.3 * E), ("sub", d.sub(e, alpha=-1.3), D + 1.3 * E)):
        assert got.dtype == dtype
        (found,) = wide(got)
        bound = 1.02 * unit * np.abs(want) + 1e-5 * (1 + np.abs(want).max())
        assert (np.abs(found - want) <= bound).all(), (name, np.abs(found - want).max())


def test_a_multiple_of_few_bits_beside_many():
    a, b = Tensor([0.1, 0.7], dtype="float32"), Tensor([0.3, 2.3], dtype="bfloat16")
    np.testing.assert_allclose(a.sub(b, alpha=-1.5).numpy(), a.numpy() + 1.5 * b.cast("float32").numpy(), rtol=1e-7)
    np.testing.assert_allclose(a.add(b, alpha=-1.3).numpy(), a.numpy() - np.float32(1.3) * b.cast("float32").numpy(), rtol=3e-7)
    assert Tensor([0.0], dtype="float64").add(0.1, alpha=2.0).item() == 0.2 and Tensor([1.0]).to("INTERP").sub(0.5, alpha=2).item() == 0
    ints = Tensor([1, 2], dtype="int8")
    assert ints.add(ints, alpha=3).tolist() == [4, 8] and ints.sub(ints, alpha=2).dtype == "int8" and ints.add(2, alpha=3).tolist() == [7, 8]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_ends_of_logit_in_16_bits(dtype):
    out = Tensor([-1.0, 0.25, 2.0], dtype=dtype).logit(1e-3).cast("float64").numpy()
    np.testing.assert_allclose(out, [-6.9067548, -1.0986123, 6.9067548], rtol=0.004)


@pytest.mark.parametrize("dtype, unit", [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
@pytest.mark.parametrize("how", ["sum", "mean", "prod"])
@pytest.mark.parametrize("include_self", [True, False])
def test_what_is_scattered_rounds_once(dtype, unit, how, include_self):
    random = np.random.default_rng(4)
    x, y = (Tensor(random.uniform(0.8, 1.2, size=n) * random.choice([-1, 1], size=n)).cast(dtype) for n in (4, 40))
    index = random.integers(0, 4, 40)
    a, b = x.cast("float64").numpy(), y.cast("float64").numpy()
    for name, got in (("index_reduce", x.index_reduce(0, Tensor(index), y, how, include_self=include_self)), ("scatter_reduce", x.scatter_reduce(0, Tensor(index), y, how, include_self=include_self))):
        for k in range(4):
            parts = np.concatenate([a[k : k + 1] if include_self else [], b[index == k]])
            want = {"sum": parts.sum, "mean": parts.mean, "prod": parts.prod}[how]()
            assert abs(got[k].cast("float64").item() - want) <= 1.02 * unit * abs(want) + 1e-6, (name, k)
    if how == "sum" and include_self:
        assert (x.scatter_add(0, Tensor(index), y).tolist(), x.index_add(0, Tensor(index), y).tolist()) == (got.tolist(), got.tolist())


def test_factors_of_few_bits_beside_more():
    x, y, z = Tensor(0.1), Tensor(898), Tensor(6.65, dtype="float16")
    assert x.addcdiv(y, z).item() == pytest.approx(0.1 + 898 / z.cast("float64").item(), rel=1e-6)
    assert x.addcmul(Tensor(1.001, dtype="float16"), z).item() == pytest.approx(0.1 + Tensor(1.001, dtype="float16").cast("float64").item() * z.cast("float64").item(), rel=1e-6)


def test_slopes_of_quotients_by_0_that_are_rounded():
    x = Tensor([1.0, 2.0], requires_grad=True)
    for mode in ("floor", "trunc"):
        x.grad = None
        x.div(Tensor([0.0, 3.0]), rounding_mode=mode).sum().backward()
        assert x.grad.tolist() == [0, 0]


# --- masks that are assigned to ---


def test_a_mask_that_is_assigned_to_is_captured():
    @strata.jit
    def f(x, rows, v):
        x[x > 0] = 5
        rows[v > 1] = Tensor([[7.0, 8.0]])
        rows[v < 0] = 4
        return x * 1

    for k in range(5):
        x, rows, v = Tensor([k - 2.0, -1.0, 2.0 - k]), Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([k - 1.0, 1.0 - k])
        want = [5.0 if n > 0 else n for n in x.tolist()]
        by_row = [[7.0, 8.0] if n > 1 else [4.0, 4.0] if n < 0 else [a, b] for n, (a, b) in zip(v.tolist(), rows.tolist())]
        assert f(x, rows, v).tolist() == want == x.tolist() and rows.tolist() == by_row
    assert f.replays == 3


@pytest.mark.parametrize("shape, mask_shape", [((3, 4), (3, 4)), ((3, 4), (3,)), ((2, 3, 4), (2, 3)), ((5,), (5,)), ((), ()), ((0, 3), (0,))])
@pytest.mark.parametrize("value_kind", ["number", "0-d", "one", "rest", "one row", "many"])
def test_a_mask_is_assigned_to_as_in_numpy(shape, mask_shape, value_kind):
    random = np.random.default_rng(5)
    a, mask = random.normal(size=shape), np.asarray(random.integers(0, 2, size=mask_shape)).astype(bool)
    rest = shape[len(mask_shape) :]
    value = {"number": 7.0, "0-d": np.array(7.0), "one": np.array([7.0]), "rest": random.normal(size=rest), "one row": random.normal(size=(1, *rest)), "many": random.normal(size=(int(mask.sum()), *rest))}[value_kind]
    if value_kind == "one" and () in (shape, mask_shape):
        return
    want, x = a.copy(), strata.tensor(a)
    want[mask] = value
    x[Tensor(mask)] = value if value_kind == "number" else Tensor(np.asarray(value))
    np.testing.assert_array_equal(x.numpy(), want)


def test_a_mask_of_another_shape_is_refused():
    x = strata.zeros(3, 4)
    for mask in (Tensor([True, False]), Tensor([[True] * 3] * 3)):
        with pytest.raises(strata.ShapeError, match="a mask of shape"):
            x[mask] = 1
    with pytest.raises(strata.Error):
        x[Tensor([True, False, True])] = strata.ones(5)


def test_activations_of_functional_are_these():
    assert F.threshold(Tensor([1, 2, 3]), 2, 0).tolist() == [0, 0, 3] and F.hardshrink(Tensor([NAN, 0.2, 2.0])).tolist()[1:] == [0, 2]


def test_a_tensor_of_nothing():
    x = Tensor()
    assert x.shape == (0,) and x.dtype == "float32" and x.tolist() == [] and Tensor(dtype="int32").dtype == "int32" and Tensor(requires_grad=True).requires_grad
    assert strata.cat([x, Tensor([1.0])]).tolist() == [1]


NUMBERS = [(label, f, k) for label, f in surface.calls() for k, (_, type_, _, _) in enumerate(f.__parameters__) if k > 0 and type_.startswith("TensorLike")]


@pytest.mark.parametrize("label, f, at", NUMBERS, ids=[f"{label}({f.__parameters__[at][0][0]})" for label, f, at in NUMBERS])
def test_a_number_is_as_exact_as_the_tensor_beside_it(label, f, at):
    results = []
    for value in (0.1, Tensor(0.1, dtype="float64")):
        positions, named = surface.given(f, at, value)
        positions[0] = Tensor([[1.3, 5.0], [3.0, 2.0]], dtype="float64")
        strata.manual_seed(1)
        try:
            out = f(*positions, **named)
        except (strata.Error, TypeError, ValueError, IndexError):
            return
        results.append([v.tolist() if isinstance(v, Tensor) else v for v in (out if isinstance(out, (tuple, list)) else [out])])
    assert repr(results[0]) == repr(results[1])


def test_there_are_many_numbers():
    assert len(NUMBERS) > 300


def test_slopes_of_sinc_around_0():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 40
    for dtype, bound in (("float64", 4e-15), ("float32", 2e-6)):
        x = [s * v for v in (1e-9, 1e-5, 0.002, 0.013, 0.03, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.3) for s in (1, -1)]
        exact = Tensor(x, dtype=dtype).cast("float64").tolist()
        for v, got in zip(exact, slope(lambda t: t.sinc(), x, dtype=dtype)):
            p = mpmath.pi * mpmath.mpf(v)
            want = float((mpmath.cos(p) - mpmath.sin(p) / p) / mpmath.mpf(v))
            assert abs(got - want) <= bound * (abs(want) + (abs(v) > 0.5)), (dtype, v, got, want)


def test_slope_of_prelu_where_the_weight_is_infinite():
    x, weight = strata.Tensor([2.0, -2.0], requires_grad=True), strata.Tensor([float("inf")])
    x.prelu(weight).sum().backward()
    assert x.grad.tolist() == [1, float("inf")]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cross_rounds_once(dtype):
    random = np.random.default_rng(3)
    a, b = (Tensor(random.standard_normal((3, 50)).astype("float32")).cast(dtype) for _ in "ab")
    wanted = np.cross(*(t.cast("float64").numpy() for t in (a, b)), axis=0).astype("float32")
    assert a.cross(b, dim=0).tolist() == Tensor(wanted).cast(dtype).tolist()


def test_unfold_of_a_number():
    for size in (0, 1):
        assert strata.Tensor(3.0).unfold(0, size, 1).tolist() == [3.0] * size
    with pytest.raises(strata.Error, match=r"\[unfold\] windows of size 2 and step 1 do not fit axis 0 of size 1"):
        strata.Tensor(3.0).unfold(0, 2, 1)


def test_slopes_of_ldexp_by_far_exponents():
    x, y = slope(lambda x, y: x.ldexp(y), [INF, -INF, 3e38, 1.0], [-300.0, -300.0, -228.0, 0.5])
    assert y[:2] == [INF, -INF] and x[3] == pytest.approx(2 ** 0.5)
    assert y[2] == pytest.approx(3e38 * 2.0 ** -228 * math.log(2), rel=1e-5)


@pytest.mark.parametrize("real", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("whole", ["uint8", "int64", "bool"])
def test_distances_and_losses_of_integers_have_the_others_dtype(whole, real):
    a, b = Tensor([[1, 0, 1]]).cast(whole), Tensor([[2.0, 1.0, 0.5]]).cast(real)
    F = strata.nn.functional if hasattr(strata.nn, "functional") else strata.nn
    for f in (F.pairwise_distance, lambda x, y: x.dist(y), lambda x, y: x.cdist(y), F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.soft_margin_loss):
        assert str(f(a, b).dtype) == real
    assert str(F.pairwise_distance(b, a).dtype) == real


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
def test_areas_of_16_bit_floats_are_rounded_once(narrow):
    y = Tensor([1.0, 0.345, -0.777, 3.14]).cast(narrow)
    x = Tensor([0.0, 0.31, 1.7, 1.9]).cast(narrow)
    wide = y.double(), x.double()
    assert y.diff(3).tolist() == wide[0].diff(3).cast(narrow).tolist()
    for mine, exact in [(y.trapezoid(), wide[0].trapezoid()), (y.trapezoid(x), wide[0].trapezoid(wide[1])),
                        (y.cumulative_trapezoid(x), wide[0].cumulative_trapezoid(wide[1]))]:
        assert str(mine.dtype) == narrow
        assert mine.tolist() == exact.cast(narrow).tolist()
