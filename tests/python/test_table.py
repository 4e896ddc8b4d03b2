"""Each row of the table of operations against what the row says of itself.

Rows that work element by element: values against the row's reference in NumPy or PyTorch, the dtype's rule, refusals, the forms in
place. All rows: further names, parameters and their defaults, and that references are there.
"""
import itertools

import pytest
import strata
from strata import Tensor, _strata

np = pytest.importorskip("numpy", reason="NumPy is not installed (Debian: python3-numpy)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")

ROWS = _strata._operations()
UNARY = {r["name"]: r for r in ROWS if r["kind"] == "unary"}
BINARY = {r["name"]: r for r in ROWS if r["kind"] == "binary"}

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTS, *FLOATS]
OF_TORCH = [d for d in DTYPES if hasattr(torch, d)]
TOLERANCE = {"float16": 1.1e-3, "bfloat16": 9e-3, "float32": 5e-6, "float64": 1e-12}

# References that the PyTorch of Debian 12 (1.13) does not have yet.
NEWER = {f"torch.nn.functional.{name}" for name in ("lp_pool3d", "rms_norm", "scaled_dot_product_attention")}


def reference_of(row):
    """The function; None where the row says that there is none."""
    if row["reference"].startswith("none: "):
        return None
    module, *path = row["reference"].split(".")
    found = {"np": np, "torch": torch}[module]
    for name in path:
        found = getattr(found, name)
    return found


def function_of(row):
    """What gives the same element by element, and the library whose arrays it takes."""
    kind, _, formula = row["reference"].partition(": ")
    if kind == "none":
        names = "x" if row["kind"] == "unary" else "a, b"
        return eval(f"lambda {names}: {formula}", {"np": np, "torch": torch}), formula.startswith("torch.")
    return reference_of(row), kind.startswith("torch.")


# --- dtypes ---


def category(dtype):
    return 0 if dtype == "bool" else 2 if dtype in FLOATS else 1


def result_dtype(rule, promoted):
    """The dtype that a rule gives to operands that are promoted to one; None where it refuses them."""
    if rule == "number" and promoted == "bool":
        return "int64"
    if rule == "integer" and promoted in FLOATS:
        return None
    if rule == "real":
        return promoted if promoted in FLOATS else "float32"
    return {"boolean": "bool", "float64": "float64"}.get(rule, promoted)


def expected_dtype(row, promoted):
    refuses_bools, of_floats = "bools are refused" in row["meaning"], "floats only" in row["meaning"]
    if (refuses_bools and promoted == "bool") or (of_floats and promoted not in FLOATS):
        return None
    return result_dtype("number" if "bools count as int64" in row["meaning"] and promoted == "bool" else row["dtype"], promoted)


def given(f, row, promoted):
    """What the row gives, or None where it refuses, as it has to."""
    expected = expected_dtype(row, promoted)
    if expected is None:
        with pytest.raises(strata.DomainError):
            f()
        return None
    out = f()
    assert str(out.dtype) == expected, (row["name"], promoted, str(out.dtype), expected)
    return out


@pytest.mark.parametrize("name", UNARY)
def test_dtypes_of_one(name):
    for dtype in DTYPES:
        x = strata.ones(2, 3, dtype=dtype)
        out = given(getattr(x, name), UNARY[name], dtype)
        assert out is None or out.shape == (2, 3)


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_of_two(name):
    for a, b in itertools.product(OF_TORCH, OF_TORCH):
        promoted = str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")
        x, y = strata.ones(2, 1, dtype=a), strata.ones(1, 3, dtype=b)
        out = given(lambda: getattr(x, name)(y), BINARY[name], promoted)
        assert out is None or out.shape == (2, 3)


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_beside_a_number(name):
    for dtype in OF_TORCH:
        for number, kind in ((True, 0), (2, 1), (2.0, 2)):
            promoted = dtype if category(dtype) >= kind else ("int64", "float32")[kind - 1]
            given(lambda: getattr(strata.ones(3, dtype=dtype), name)(number), BINARY[name], promoted)


# --- values ---

SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 0.25]


def elements(dtype, shape, seed, low=-5, high=6):
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == "bool":
        out = random.integers(0, 2, count).astype(bool)
    elif dtype in FLOATS:
        out = random.uniform(-3, 3, count)
        special = random.permutation(SPECIAL)[:count // 2]
        out[:len(special)] = special
        out = np.asarray(strata.tensor(out).cast(dtype).cast("float64").numpy())  # what the dtype has
    else:
        out = random.integers(0 if dtype[0] == "u" else low, high, count)
    return out.reshape(shape)


def second(name, dtype, shape, seed):
    """A second operand that the reference takes, too."""
    out = elements(dtype, shape, seed)
    if dtype in FLOATS:
        return np.where(np.isfinite(out), np.round(out), 1.0) if name == "ldexp" else out  # NumPy's takes whole exponents
    if name in ("floor_divide", "trunc_divide", "remainder", "fmod") and dtype != "bool":
        return np.where(out == 0, 3, out)
    if name in ("floor_divide", "trunc_divide", "remainder", "fmod"):
        return np.ones_like(out)
    return np.asarray(np.abs(out)) if name in ("pow", "float_power", "lshift", "rshift", "ldexp") else out


def computed_in(row, dtype, candidate):
    """The dtype in which a reference is asked: 16-bit floats in float32; integers as the rule makes them."""
    if dtype in ("float16", "bfloat16"):
        return dtype if row["name"] == "nextafter" else "float32"
    if dtype not in FLOATS and row["dtype"] == "real":
        return "float32"
    return candidate


def asked(row, dtype, operands):
    """The reference's elements as an array; in a wider dtype where it does not take this one."""
    function, is_torch = function_of(row)
    first = "float64" if row["dtype"] == "float64" else dtype
    if row["dtype"] == "number" and dtype == "bool":
        first = "int64"
    for candidate in dict.fromkeys(computed_in(row, dtype, c) for c in (first, "int64", "float64")):
        if candidate == "int64" and dtype in FLOATS:
            continue
        arrays = [x.astype(candidate) for x in operands]
        if row["name"] == "ldexp":
            arrays[1] = arrays[1].astype("int32")
        try:
            with np.errstate(all="ignore"):
                return np.asarray(function(*map(torch.from_numpy, arrays)).numpy() if is_torch else function(*arrays))
        except (TypeError, RuntimeError):
            continue
    raise AssertionError(f"{row['reference']} takes no {dtype}")


def as_array(x):
    return np.asarray(x.cast("float32").numpy() if str(x.dtype) == "bfloat16" else x.numpy())


def is_infinite(dtype, x):
    return np.isinf(x)


def is_least(dtype, x):
    return np.isneginf(x) if dtype in FLOATS else np.zeros(x.shape, bool)


# Elements that differ from the reference's: (row, whether, why).
KNOWN = [
    ("i0", is_infinite, "infinite, its limit; NumPy: NaN"),
    ("i1", is_infinite, "infinite, its limit; PyTorch: NaN"),
    ("silu", is_least, "0, its limit; PyTorch: NaN"),
    ("mish", is_least, "0, its limit; PyTorch: NaN"),
    ("hardswish", is_least, "0, as everywhere below -3; PyTorch: NaN"),
    ("quick_gelu", is_least, "0, its limit; the formula: NaN"),
]


def close(name, mine, other, dtype, operands):
    """Asserts it, but for what is known to differ."""
    left_out = np.zeros(mine.shape, bool)
    for row, where, _ in KNOWN:
        if row == name:
            left_out |= np.broadcast_to(where(dtype, *operands), mine.shape)
    assert mine.shape == other.shape, (name, dtype, mine.shape, other.shape)
    if dtype in FLOATS:
        with np.errstate(all="ignore"):
            other = np.asarray(strata.tensor(other.astype("float64")).cast(dtype).cast("float64").numpy())
    else:
        with np.errstate(all="ignore"):
            other = other.astype(dtype)
    mine, other = np.where(left_out, 0, mine), np.where(left_out, 0, other)
    tolerance = TOLERANCE.get(dtype, 0)
    np.testing.assert_allclose(mine.astype("float64") if dtype in FLOATS else mine, other, rtol=tolerance, atol=tolerance / 8, equal_nan=True,
                               err_msg=f"{name} of {[x.tolist() for x in operands]} ({dtype})")


def tensor_of(array, dtype):
    return strata.tensor(array).cast(dtype)


@pytest.mark.parametrize("name", UNARY)
def test_values_of_one(name):
    row = UNARY[name]
    for dtype in DTYPES:
        if expected_dtype(row, dtype) is None:
            continue
        for seed, shape in enumerate([(3, 8), (), (0, 3)]):
            x = elements(dtype, shape, seed)
            out = getattr(tensor_of(x, dtype), name)()
            close(name, as_array(out), asked(row, dtype, [x]), str(out.dtype), [x])


SHAPES = [((4, 6), (4, 6)), ((4, 1), (1, 6)), ((6,), (4, 6)), ((), (2, 3)), ((), ()), ((0, 3), (1, 3))]


@pytest.mark.parametrize("name", BINARY)
def test_values_of_two(name):
    row = BINARY[name]
    for dtype in DTYPES:
        if expected_dtype(row, dtype) is None or (name == "nextafter" and dtype == "bfloat16"):  # NumPy has none
            continue
        for seed, (of_a, of_b) in enumerate(SHAPES):
            a, b = elements(dtype, of_a, seed), second(name, dtype, of_b, seed + 100)
            out = getattr(tensor_of(a, dtype), name)(tensor_of(b, dtype))
            close(name, as_array(out), asked(row, dtype, [a, b]), str(out.dtype), [a, b])


# --- in place ---


def in_place(name, x, *others):
    """NAME_ does what NAME does, in x's dtype; or refuses where the result is of a higher kind."""
    out = getattr(x, name)(*others)
    y = x.clone()
    if category(str(out.dtype)) > category(str(x.dtype)):
        with pytest.raises(strata.DomainError):
            getattr(y, name + "_")(*others)
        assert y.tolist() == x.tolist()
        return
    assert getattr(y, name + "_")(*others) is y and y.dtype == x.dtype
    # NOTE: another kernel, where a product that goes into a sum may be rounded or not: the last place may differ.
    np.testing.assert_allclose(as_array(y), as_array(out.cast(x.dtype)), rtol=TOLERANCE.get(str(x.dtype), 0))


@pytest.mark.parametrize("name", [n for n, r in {**UNARY, **BINARY}.items() if r["in_place"]])
def test_in_place(name):
    row = {**UNARY, **BINARY}[name]
    for dtype in ("bool", "int32", "uint8", "float16", "float32"):
        if expected_dtype(row, dtype) is None:
            continue
        x = tensor_of(elements(dtype, (8,), 1), dtype)
        others = [tensor_of(second(name, dtype, (8,), 2), dtype)] * (name in BINARY)
        for each in (name, *row["names"]):
            in_place(each, x, *others)


def test_what_is_pure_has_no_form_in_place():
    changed = {n for r in ROWS if r["in_place"] for n in (r["name"], *r["names"])}
    methods = {n for r in ROWS if r["kind"] in ("unary", "binary", "method") for n in (r["name"], *r["names"])}
    assert not [n for n in sorted(methods - changed) if hasattr(Tensor, n + "_")]


# --- names, parameters, references ---


def places(row):
    return {"static": [strata], "function": [strata], "linalg": [strata.linalg, strata], "fft": [strata.fft]}.get(row["kind"], [Tensor, strata])


@pytest.mark.parametrize("row", [r for r in ROWS if r["names"]], ids=lambda r: r["name"])
def test_further_names_are_the_same_function(row):
    seen = 0
    for place in places(row):
        for name in row["names"]:
            if hasattr(place, row["name"]) and (place is Tensor or name != "type"):  # it would hide Python's
                seen += 1
                assert vars(place)[name] is vars(place)[row["name"]], (place, name)
    assert seen >= len(row["names"])


def python_default(type_, text):
    """A default of C++ as Python writes it."""
    if text is None:
        return None
    known = {"{}": "None", "true": "True", "false": "False"}
    if text in known:
        return known[text]
    if "::" in text:
        return repr(text.rsplit("::", 1)[1])
    return text + ".0" if type_ == "double" and not set(".e") & set(text) else text


BOUND = [r for r in ROWS if r["kind"] in ("method", "function") and r["binding"].startswith("bound")]


@pytest.mark.parametrize("row", BOUND, ids=lambda r: r["name"])
def test_parameters_are_those_of_the_row(row):
    first = 1 if row["kind"] == "function" else 0  # the tensor is "self" there
    for place in places(row)[:1 if row["binding"] == "bound_to_class" else 2]:
        self, *others = vars(place)[row["name"]].__parameters__
        assert self[0][0] == "self" and self[2] is None
        said = row["parameters"][first:]
        assert len(others) == len(said)
        for (names, _, default, kind), (type_, name, fallback, python_names) in zip(others, said):
            expected = (python_names or name).split("|")
            assert names[0] == expected[0].lstrip("*") and {n.lstrip("*") for n in expected} <= set(names)
            assert (kind == "rest") == expected[0].startswith("*")
            assert default == python_default(type_, fallback), (row["name"], names, default)


def test_references_are_there():
    missing = []
    for row in ROWS:
        try:
            assert reference_of(row) is None or callable(reference_of(row))
        except AttributeError:
            missing.append(row["reference"])
        assert "FILL" not in row["reference"] and row["meaning"].endswith("."), row["name"]
    assert not set(missing) - NEWER


def test_there_was_much_to_see():
    assert len(UNARY) > 60 and len(BINARY) > 40 and len(BOUND) > 100 and len(ROWS) > 390
