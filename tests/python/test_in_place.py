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
        with pytest.raises(strata.DomainError, match="takes gradients, of shape .2,., cannot be changed in place"):
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


# --- dtypes in place ---

KINDS = {"bool": 0, "uint8": 1, "int32": 1, "int64": 1, "float16": 2, "bfloat16": 2, "float32": 2, "float64": 2}
STARTS = {"bool": [True, False, True], "int32": [1, 2, 3], "int64": [1, 2, 3], "float32": [0.5, 0.25, 0.75]}
OTHERS = {"true": True, "2": 2, "0.5": 0.5, "bools": [True, True, False], "ints": [1, 2, 2], "floats": [0.5, 1.5, 0.25]}


def as_other(library, other, dtype=None):
    return library.tensor(OTHERS[other]) if isinstance(OTHERS[other], list) else OTHERS[other]


TAKES_A_TENSOR = set("""fmod atan2 hypot copysign logical_and logical_or logical_xor gcd lcm xlogy heaviside bitwise_and bitwise_or
bitwise_xor""".split())
# What methods of more than one other take, beside PyTorch's names of methods.
WITH_MORE = {
    "clip_": lambda T, o: (o,), "clamp_": lambda T, o: (o,), "masked_fill_": lambda T, o: (T.tensor([True, False, True]), o),
    "lerp_": lambda T, o: (o, 0.5), "addcmul_": lambda T, o: (o, o), "addcdiv_": lambda T, o: (o, o), "threshold_": lambda T, o: (0.5, 0.25),
}
NOT_HERE = set("""masked_scatter_ addmm_ addmv_ addr_ baddbmm_ addbmm_ scatter_ scatter_add_ scatter_reduce_ index_add_ index_copy_ index_fill_
index_reduce_ put_ cumsum_ cumprod_ tril_ triu_ renorm_ dropout_ bernoulli_ rrelu_ requires_grad_ copy_ fill_ zero_""".split())  # of other shapes, or random, or casts


def in_place_methods():
    return [n for n in dir(Tensor) if n.endswith("_") and not n.startswith("_") and n not in NOT_HERE]


def arguments_of(name, library, other):
    if name in WITH_MORE:
        o = as_other(library, other)
        return WITH_MORE[name](library, o) if not (name in ("lerp_", "addcmul_", "addcdiv_") and not isinstance(OTHERS[other], list)) else None
    rows = getattr(Tensor, name).__parameters__
    needed = [names[0] for names, _, default, _ in rows[1:] if default is None]
    return (as_other(library, other),) if needed else ()


@pytest.mark.parametrize("name", in_place_methods())
def test_a_result_of_a_higher_kind_is_refused(name):
    refused = 0
    for dtype, start in STARTS.items():
        for other in OTHERS:
            arguments = arguments_of(name, strata, other)
            if arguments is None:
                continue
            x = strata.tensor(start, dtype=dtype)
            try:
                out = getattr(x, name[:-1])(*arguments)
            except strata.Error:
                continue  # bits of floats
            if KINDS[str(out.dtype)] > KINDS[dtype]:
                refused += 1
                with pytest.raises(strata.DomainError, match=rf"\[{name}\] a result of {out.dtype.short_name} in place of a tensor of {x.dtype.short_name}"):
                    getattr(x, name)(*arguments)
                assert x.tolist() == start and x.dtype == dtype
            else:
                assert getattr(x, name)(*arguments) is x and x.dtype == dtype
                assert str(x.tolist()) == str(out.cast(dtype).tolist())
    is_never = getattr(Tensor, name[:-1]).__name__ in "abs neg sign square floor ceil round trunc relu relu6 eq ne lt le gt ge frac logical_not bitwise_not".split()
    assert refused > 0 or is_never or "bit" in getattr(Tensor, name[:-1]).__name__ or "logical" in name or name in ("masked_fill_", "gcd_", "lcm_", "nan_to_num_"), name


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", "add_ sub_ mul_ div_ floor_divide_ remainder_ pow_ clamp_ sqrt_ exp_ sigmoid_ lerp_ eq_ lt_ atan2_ xlogy_ true_divide_".split())
def test_pytorch_refuses_the_same(name):
    for dtype, start in STARTS.items():
        for other in OTHERS:
            ours, theirs = arguments_of(name, strata, other), arguments_of(name, torch, other)
            if ours is None or (ours and name in ("atan2_",) and not hasattr(theirs[0], "dtype")):
                continue
            x, t = strata.tensor(start, dtype=dtype), torch.tensor(start, dtype=getattr(torch, dtype))
            try:
                getattr(t, name)(*theirs)
            except RuntimeError as e:
                if "can't be cast" in str(e):
                    with pytest.raises(strata.DomainError, match=rf"\[{name}\]"):
                        getattr(x, name)(*ours)
                continue
            getattr(x, name)(*ours)
            assert x.dtype == dtype and str(t.dtype) == "torch." + dtype
            for mine, other_one in zip(x.tolist(), t.tolist()):
                assert mine == pytest.approx(other_one, nan_ok=True), (dtype, other)


def test_integers_with_floats():
    x = Tensor([1, 2])
    for change, names in ((lambda: x.add_(0.5), "add_"), (lambda: x.div_(2), "div_"), (lambda: x.mul_(Tensor([0.5, 2.0])), "mul_"), (lambda: x.sqrt_(), "sqrt_")):
        with pytest.raises(strata.DomainError, match=rf"\[{names}\] a result of f32 in place of a tensor of i64"):
            change()
    with pytest.raises(strata.DomainError, match=r"\[add_\] a result of i64 in place of a tensor of bool"):
        Tensor([True]).add_(1)
    x += 0.5  # another tensor, as it was before
    assert x.tolist() == [1.5, 2.5] and x.dtype == "float32"
    y = strata.ones(2, dtype="float16").add_(Tensor([0.5, 1.5]))
    assert y.dtype == "float16" and y.tolist() == [1.5, 2.5]
    z = Tensor([1, 2], dtype="int32").add_(Tensor([1, 1])).copy_([7.9, 8.9]).fill_(3.5)  # these cast, as PyTorch's do
    assert z.dtype == "int32" and z.tolist() == [3, 3]
