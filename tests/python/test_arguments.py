"""What calls make of their arguments: no tensor is dropped, no mask or bool is an axis, no dtype is a wish.

Generated from the tables that the functions carry (`__parameters__`): what is added to the surface is tested, too.
"""
import inspect

import numpy as np
import pytest
import strata
import surface
from strata import Tensor

try:
    import torch
except ImportError:
    torch = None

A, B, C = surface.A, Tensor([[7.0, 8.0]]), Tensor([[9.0, 6.0]])


# --- methods that join ---


def test_methods_join_the_tensor_with_the_others():
    for name in ("cat", "concat", "concatenate"):
        whole = [[1, 5], [3, 2], [7, 8]]
        cat = getattr(A, name)
        assert cat(B).tolist() == whole == cat([B]).tolist() == cat((B,)).tolist() == cat(B, dim=0).tolist()
        assert cat(B, C).tolist() == whole + [[9, 6]] == cat([B, C]).tolist() == cat([B, C], 0).tolist()
        assert cat(A, dim=1).tolist() == [[1, 5, 1, 5], [3, 2, 3, 2]] == cat([A], 1).tolist() == cat(A, axis=-1).tolist()
        assert cat(B.numpy()).tolist() == whole and cat().tolist() == A.tolist()
        of_class = getattr(Tensor, name)
        assert of_class([A, B]).tolist() == whole == of_class(A, B).tolist() == getattr(strata, name)([A, B]).tolist()
        assert of_class([A, A], 1).tolist() == cat(A, dim=1).tolist() == of_class([A, A], dim=1).tolist() == of_class(A, A, dim=1).tolist()
        with pytest.raises(TypeError, match="tensors .an axis is given by name: dim=1."):
            cat(B, 1)
        with pytest.raises(TypeError, match="cat.*axis must be an integer"):
            getattr(strata, name)(A, B)


def test_methods_stack_the_tensor_and_the_others():
    rows = [[7, 8]], [[9, 6]]
    assert B.stack(C).tolist() == list(rows) == B.stack([C]).tolist() == Tensor.stack([B, C]).tolist() == Tensor.stack(B, C).tolist()
    assert B.stack(C, B, dim=1).tolist() == [[[7, 8], [9, 6], [7, 8]]] == B.stack([C, B], 1).tolist() == Tensor.stack([B, C, B], dim=1).tolist()
    assert B.stack().shape == (1, 1, 2) and strata.stack([B, C]).tolist() == list(rows)


def test_the_tensor_is_the_first_operand_of_einsum():
    assert A.einsum("ij->ji").tolist() == [[1, 3], [5, 2]] and A.einsum("ij,kj->ik", B).tolist() == (A @ B.T).tolist()
    assert Tensor.einsum("ij,kj->ik", A, B).tolist() == (A @ B.T).tolist() == strata.einsum("ij,kj->ik", [A, B]).tolist()
    for wrong in (lambda: A.einsum(), lambda: A.einsum(B, "ij,kj->ik")):
        with pytest.raises(TypeError, match="einsum"):
            wrong()


def test_what_is_called_on_the_class_takes_no_tensors():
    """Of a static method the instance is dropped: none may be one that an instance could be meant for."""
    for name in dir(Tensor):
        f = inspect.getattr_static(Tensor, name)
        if isinstance(f, staticmethod) and name != "from_numpy":
            types = " ".join(str(type_) for _, type_, _, _ in f.__func__.__parameters__)
            assert "Tensor" not in types, name


# --- axes ---

INTEGERS = {"int", "int | None", "int | Sequence[int]", "int | Sequence[int] | None"}
AXES = [(label, f, k) for label, f in surface.calls() for k, (_, type_, _, kind) in enumerate(f.__parameters__) if type_ in INTEGERS and kind != "rest"]


@pytest.mark.parametrize("label, f, at", AXES, ids=[f"{label}({f.__parameters__[at][0][0]})" for label, f, at in AXES])
def test_no_bool_or_tensor_is_an_integer(label, f, at):
    names = f.__parameters__[at][0]
    own = f.__name__.rstrip("_")
    of = getattr(strata, own).__name__ if hasattr(strata, own) else own  # x.rint(...) is x.round(...)
    for value in (True, False, np.bool_(True), Tensor(0), Tensor([0]), Tensor([True, False]), np.array(0)):
        positions, named = surface.given(f, at, value)
        with pytest.raises(TypeError, match=rf"^{of}\w*\(\): {names[0]} must be .*integer.*, not "):
            f(*positions, **named)


def test_there_are_many_axes():
    assert len(AXES) > 150


def test_a_bool_or_tensor_is_no_axis():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for wrong in (lambda: x.std(True), lambda: strata.max(x, Tensor(0)), lambda: x.sum(x > 2), lambda: x.max(dim=True), lambda: x.sum((True, 0)),
                  lambda: x.softmax(Tensor(1)), lambda: x.squeeze(False), lambda: x.permute(True, False), lambda: x.flip(True), lambda: x.sum(dim=[Tensor(0)])):
        with pytest.raises(TypeError, match="must be an integer .a bool or tensor is no axis., not "):
            wrong()
    for wrong in (lambda: x.reshape(True, 4), lambda: strata.zeros(2, True), lambda: x.narrow(0, True, 1), lambda: x.sum(0, 2)):
        with pytest.raises(TypeError, match=r"^\w+\(\): \w+ must be "):
            wrong()
    assert x.sum(np.int64(1)).tolist() == [3, 7] and x.reshape(np.array([4])).shape == (4,) and strata.zeros(Tensor(3)).shape == (3,)
    assert x.sum(0, 1).shape == (1, 2) and x.repeat_interleave(Tensor(2), 0).shape == (4, 2)


# --- where ---


def test_where():
    x, mask, other = Tensor([True, True, False, False]), Tensor([True, False, True, False]), Tensor([False, False, True, True])
    f, g = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([5.0, 6.0, 7.0, 8.0])
    assert x.where(mask, other).tolist() == [True, False, False, True]
    assert f.where(mask, g).tolist() == [1, 6, 3, 8] == mask.where(f, g).tolist() == strata.where(mask, f, g).tolist()
    assert f.where(mask.tolist(), 0).tolist() == [1, 0, 3, 0] and mask.where(1, g).tolist() == [1, 6, 1, 8]
    assert mask.where(True, False).tolist() == mask.tolist()
    assert strata.where(x, mask, other).tolist() == [True, False, True, True]  # the function's first one is the condition
    assert strata.where(condition=x, input=f, other=g).tolist() == [1, 2, 7, 8]
    if torch is not None:
        t = [torch.tensor(v.tolist()) for v in (x, mask, other, f, g)]
        assert t[0].where(t[1], t[2]).tolist() == x.where(mask, other).tolist()
        assert t[3].where(t[1], t[4]).tolist() == f.where(mask, g).tolist()
        assert torch.where(t[0], t[1], t[2]).tolist() == strata.where(x, mask, other).tolist()
    for wrong in (lambda: f.where(g, f), lambda: f.where(1, 2), lambda: Tensor([1, 0]).where(f[:2], g[:2])):
        with pytest.raises(strata.DomainError, match=r"\[where\].* is a condition of bools"):
            wrong()


# --- max and min, by each name of an axis ---


def pair(result):
    values, indices = result
    assert result.values is values and result.indices is indices and indices.dtype == "int64"
    return values.tolist(), indices.tolist()


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("of", [lambda name: getattr(A, name), lambda name: lambda *a, **k: getattr(strata, name)(A, *a, **k)], ids=["method", "function"])
def test_extremes_have_places_by_dim(name, of):
    f = of(name)
    values, places = ([5, 3], [1, 0]) if name == "max" else ([1, 2], [0, 1])
    assert f(1).tolist() == f(axis=1).tolist() == f(axes=1).tolist() == f(-1).tolist() == f((1,)).tolist() == values
    assert f(1, True).tolist() == f(axis=1, keepdims=True).tolist() == f(1, keepdim=True).tolist() == [[v] for v in values]
    assert f().item() == f(axis=None).item() == f((0, 1)).item() == (5 if name == "max" else 1)
    assert pair(f(dim=1)) == pair(f(dim=-1)) == pair(f(dims=1)) == (values, places)
    assert pair(f(dim=1, keepdim=True)) == pair(f(dim=1, keepdims=True)) == ([[v] for v in values], [[p] for p in places])
    for wrong in (lambda: f(1, dim=1), lambda: f(axis=0, dim=1), lambda: f(dim=(0, 1)), lambda: f(dim=True)):
        with pytest.raises(TypeError):
            wrong()
    assert getattr(A, "a" + name)(dim=1).tolist() == values  # PyTorch's amax and amin have values alone
    if torch is not None:
        theirs = getattr(torch.tensor(A.tolist()), name)(dim=1, keepdim=True)
        assert (theirs.values.tolist(), theirs.indices.tolist()) == pair(f(dim=1, keepdim=True))


def test_medians_and_modes_are_pairs_in_every_spelling():
    for name in ("median", "mode", "nanmedian"):
        for call in (lambda **k: getattr(A, name)(**k), lambda **k: getattr(strata, name)(A, **k)):
            for spelling in ({"dim": 1}, {"axis": 1}, {"axes": 1}):
                assert pair(call(**spelling)) == ([1, 2], [0, 1])
        assert pair(getattr(A, name)(1)) == ([1, 2], [0, 1]) == pair(getattr(A, name)(1, False))


def test_the_gradient_of_an_extreme_by_dim_goes_to_its_place():
    x = Tensor([[2.0, 2.0], [1.0, 4.0]], requires_grad=True)
    x.max(dim=1)[0].sum().backward()
    assert x.grad.tolist() == [[1, 0], [0, 1]]


# --- dtypes that are asked for ---

ASKED = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "uint8"]
VALUES = {  # what is computed, as exactly as f64 has it
    "sum": (lambda f, d: f(Tensor([3, 4, 5]), dtype=d), lambda: 12), "prod": (lambda f, d: f(Tensor([3, 4, 5]), dtype=d), lambda: 60),
    "mean": (lambda f, d: f(Tensor([3, 4, 5]), dtype=d), lambda: 4),
    "cumsum": (lambda f, d: f(Tensor([3, 4, 5]), dtype=d), lambda: [3, 7, 12]), "cumprod": (lambda f, d: f(Tensor([3, 4, 5]), dtype=d), lambda: [3, 12, 60]),
    "softmax": (lambda f, d: f(Tensor([1, 2]), dtype=d), lambda: np.exp([1.0, 2]) / np.exp([1.0, 2]).sum()),
    "log_softmax": (lambda f, d: f(Tensor([1, 2]), dtype=d), lambda: np.log(np.exp([1.0, 2]) / np.exp([1.0, 2]).sum())),
    "zeros_like": (lambda f, d: f(Tensor([1, 2]), dtype=d), lambda: [0, 0]), "ones_like": (lambda f, d: f(Tensor([1, 2]), dtype=d), lambda: [1, 1]),
    "full_like": (lambda f, d: f(Tensor([1, 2]), 0.3, dtype=d), lambda: [0.3, 0.3]), "full": (lambda f, d: f((2,), 0.3, dtype=d), lambda: [0.3, 0.3]),
    "zeros": (lambda f, d: f(2, dtype=d), lambda: [0, 0]), "ones": (lambda f, d: f(2, dtype=d), lambda: [1, 1]),
    "arange": (lambda f, d: f(0.3, 3, 0.7, dtype=d), lambda: 0.3 + 0.7 * np.arange(4)), "eye": (lambda f, d: f(2, dtype=d), lambda: np.eye(2)),
    "linspace": (lambda f, d: f(0.3, 7, 6, dtype=d), lambda: np.linspace(0.3, 7, 6)), "logspace": (lambda f, d: f(0, 2, 5, base=1.7, dtype=d), lambda: np.logspace(0, 2, 5, base=1.7)),
    "hann_window": (lambda f, d: f(7, False, dtype=d), lambda: np.hanning(7)), "hamming_window": (lambda f, d: f(7, False, dtype=d), lambda: np.hamming(7)),
    "blackman_window": (lambda f, d: f(7, False, dtype=d), lambda: np.blackman(7)),
    "tensor": (lambda f, d: f([0.3, 2], dtype=d), lambda: [0.3, 2]), "as_tensor": (lambda f, d: f([0.3, 2], dtype=d), lambda: [0.3, 2]),
    "array": (lambda f, d: f([0.3, 2], dtype=d), lambda: [0.3, 2]), "asarray": (lambda f, d: f([0.3, 2], dtype=d), lambda: [0.3, 2]),
    "new_tensor": (lambda f, d: f(Tensor([1]), [0.3, 2], dtype=d), lambda: [0.3, 2]), "to": (lambda f, d: f(Tensor([0.3, 2], dtype="float64"), dtype=d), lambda: [0.3, 2]),
    "cast": (lambda f, d: f(Tensor([0.3, 2], dtype="float64"), dtype=d), lambda: [0.3, 2]),
    "astype": (lambda f, d: f(Tensor([0.3, 2], dtype="float64"), dtype=d), lambda: [0.3, 2]),
    "type": (lambda f, d: f(Tensor([0.3, 2], dtype="float64"), dtype=d), lambda: [0.3, 2]),
    "quantize": (lambda f, d: f(Tensor([3.0, 5.2]), 0.5, dtype=d), lambda: [6, 10]),
    "empty": (lambda f, d: f(0, dtype=d), lambda: []), "empty_like": (lambda f, d: f(strata.zeros(0), dtype=d), lambda: []),
}
DRAWN = {"rand": lambda f, d: f(50, dtype=d), "randn": lambda f, d: f(50, dtype=d), "uniform": lambda f, d: f(50, dtype=d), "randint": lambda f, d: f(0, 7, (50,), dtype=d),
         "kaiming_uniform": lambda f, d: f(5, 5, dtype=d), "kaiming_normal": lambda f, d: f(5, 5, dtype=d), "glorot_uniform": lambda f, d: f(5, 5, dtype=d)}
OTHERWISE = {"bitcast", "cumsum_", "cumprod_", "empty_like"}  # bits; in place they have the tensor's; no values
FLOATS_ALONE = {"mean", "softmax", "log_softmax", "rand", "randn", "uniform", "kaiming_uniform", "kaiming_normal", "glorot_uniform", "hann_window",
                "hamming_window", "blackman_window"}
REFUSED_DTYPES = {"quantize": set(ASKED) - {"int16", "uint8"}}  # test_quantize.py has the refusals
WITH_DTYPE = [(label, f) for label, f in surface.calls() if "dtype" in [names[0] for names, _, _, _ in f.__parameters__]]


def test_every_function_with_a_dtype_is_tested():
    assert {label.split(".")[1] for label, _ in WITH_DTYPE} <= set(VALUES) | set(DRAWN) | OTHERWISE


@pytest.mark.parametrize("dtype", ASKED)
@pytest.mark.parametrize("label, f", WITH_DTYPE, ids=[label for label, _ in WITH_DTYPE])
def test_a_dtype_is_what_comes_out(label, f, dtype):
    name = label.split(".")[1]
    if name in OTHERWISE or (name in FLOATS_ALONE and "float" not in dtype) or dtype in REFUSED_DTYPES.get(name, ()):
        return
    if name in DRAWN:
        out = DRAWN[name](f, dtype)
        assert out.dtype == dtype and len(set(out.cast("float64").reshape(-1).tolist())) > 3
        return
    call, want = VALUES[name]
    out, want = call(f, dtype), np.asarray(want(), "float64")
    assert out.dtype == dtype and out.shape == want.shape
    epsilon = {"float64": 4e-16, "float32": 2e-7, "float16": 1e-3, "bfloat16": 8e-3}.get(dtype)
    if epsilon:
        np.testing.assert_allclose(out.cast("float64").numpy(), want, rtol=4 * epsilon, atol=epsilon)
    else:
        assert out.tolist() == np.trunc(want).astype("int64").tolist()


def test_dtypes_of_the_issue():
    assert Tensor([1, 2]).full_like(0.5, dtype="float64").tolist() == [0.5, 0.5]
    small = Tensor([1, 2], dtype="int32")
    assert small.cumsum(dtype="int32").dtype == "int32" and small.cumsum(0).dtype == "int64" == small.sum().dtype and small.sum(dtype="int32").dtype == "int32"
    assert Tensor([1.0]).new_tensor([0.1], dtype="float64").item() == 0.1 and strata.arange(0, 1, 0.1, dtype="float64").tolist()[1] == 0.1
    assert strata.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2] and strata.arange(5, -5, -3).tolist() == [5, 2, -1, -4]


# --- ends of ranges ---


@pytest.mark.parametrize("dtype", ASKED)
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_linspace_ends_at_its_end(dtype, steps):
    for begin, end in ((0, 1), (0.1, 0.7), (100, 3)):
        got = strata.linspace(begin, end, steps, dtype=dtype)
        ends = Tensor([begin, end], dtype="float64").cast(dtype).tolist()
        assert got.dtype == dtype and got.shape == (steps,) and got[0].item() == ends[0] and (steps == 1 or got[-1].item() == ends[1])
        backwards = strata.linspace(end, begin, steps, dtype=dtype).tolist()[::-1]
        if steps % 2 == 0:
            np.testing.assert_allclose(got.cast("float64").numpy(), backwards, rtol=1e-12)  # from the end that is nearer
        if dtype == "float64":
            np.testing.assert_allclose(got.numpy(), np.linspace(begin, end, steps), rtol=4e-16, atol=4e-16 * max(abs(begin), abs(end)))


def test_linspace_of_many_and_of_large_ones():
    many = strata.linspace(0, 1, 1_000_000, dtype="float64").numpy()
    assert many[-1] == 1 and (np.diff(many) > 0).all() and strata.linspace(0, 1, 0).shape == (0,)
    assert strata.linspace(-1.7e308, 1.7e308, 3, dtype="float64").tolist() == [-1.7e308, 0, 1.7e308]
    assert strata.linspace(0, 10, 5, dtype="int32").tolist() == [0, 2, 5, 7, 10]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_logspace_ends_at_its_end(dtype, steps):
    for begin, end, base in ((0, 3, 10), (0.5, 12, 10), (1, 9, 1.7), (2, -2, 3.3)):
        got = strata.logspace(begin, end, steps, base=base, dtype=dtype)
        ends = Tensor([float(base) ** begin, float(base) ** end], dtype="float64").cast(dtype).tolist()
        assert got[0].item() == ends[0] and (steps == 1 or got[-1].item() == ends[1])


def test_names_that_are_no_texts():
    for call in (strata.nn.Linear, Tensor([1.0]).sum, Tensor([1.0]).reshape, strata.ones, strata.jit(lambda x: x)):
        with pytest.raises((TypeError, UnicodeError)):
            call(1, **{"\udc80": 1})
