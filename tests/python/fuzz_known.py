"""Where Strata differs from PyTorch and means to: each with a page of docs/ and the words there; and where it is PyTorch 1.13 that is wrong.

A finding that a row here is for is counted under its name. `found` is what fuzz_torch.py has seen: its kind ("value", "gradient",
"dtype", "refuses"), the method's name, the elements that differ (`got`, `wants`), the lines of the program.
"""
import math
import re
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Found:
    kind: str
    name: str
    text: str
    values: str = "small"  # the kind of numbers that went in
    dtype: str = ""  # of the result
    got: list = field(default_factory=list)
    wants: list = field(default_factory=list)  # of each way, a list
    lines: list = field(default_factory=list)
    step: str = ""  # of a chain, the one that it is about

    def all_got(self, test):
        return bool(self.got) and all(test(v) for v in self.got)

    @property
    def last(self):
        return self.step or self.lines[-1]

    def all_wanted(self, test):
        return bool(self.wants) and all(test(v) for w in self.wants for v in w)

    @property
    def dtypes(self):
        return re.findall(r"make\('(\w+)'", "".join(self.lines))

    def has_dtype(self, *names):
        return bool(set(names) & set(self.dtypes))

    @property
    def is_of_floats(self):
        return any("float" in d for d in self.dtypes)

    @property
    def has_equal(self):
        """Whether operands have equal elements: they are whole, few, or seen more than once."""
        return self.values in ("small", "special") or any(word in "".join(self.lines) for word in ("expand", "'int", "'uint", "'bool")) or self.name.startswith("cl")


@dataclass
class Known:
    page: str
    words: str
    of: Callable


def is_nan(v):
    return v != v


def is_infinite(v):
    return isinstance(v, float) and math.isinf(v)


def is_one_of(text):
    names = set(text.split())
    return lambda name: name.rstrip("_") in names


PLACES = set("kthvalue topk mode".split())
CASTS = is_one_of("long int short char byte type_as copy index_copy masked_fill index_fill fill to type sum prod cumsum cumprod")
DIVISIONS = is_one_of("fmod remainder")
BOUNDED = is_one_of("acosh arccosh acos arccos asin arcsin atanh arctanh logit log log2 log10 log1p sqrt rsqrt erfinv lgamma digamma pow xlogy xlog1py var std var_mean std_mean "
                    "selu elu celu hardswish mish silu softplus gelu sinc")
CLAMPS = is_one_of("clamp clip clamp_min clamp_max")
RANKED = is_one_of("kthvalue topk mode median nanmedian sort argsort msort max min amax amin aminmax cummax cummin quantile nanquantile scatter_reduce index_reduce clamp clip norm dist")
LOGICAL = is_one_of("logical_not logical_or logical_and logical_xor eq ne lt le gt ge greater less not_equal greater_equal less_equal")
COMPARISONS = is_one_of("eq ne lt le gt ge greater less not_equal greater_equal less_equal clamp clip clamp_min clamp_max maximum minimum fmax fmin")
WITH_FACTORS = is_one_of("addmm addmv addr addbmm baddbmm threshold hardtanh add sub subtract addcmul lerp")
PRODUCTS = is_one_of("addr addmm addmv addbmm baddbmm mm matmul bmm einsum mv dot vdot inner chain_matmul")
# Made of several functions: what is 0 in one of them and infinite in another is NaN, in an order of each library's own.
COMPOSED = is_one_of("renorm dist norm cross cosine_similarity cdist pdist std var std_mean var_mean cov corrcoef lerp prod cumprod scatter_reduce index_reduce logcumsumexp trapezoid trapz "
                     "cumulative_trapezoid matmul mm addmm addmv addr addbmm baddbmm bmm einsum inner dot vdot mv outer ger kron diff addcdiv addcmul quantile nanquantile softmax log_softmax "
                     "logsumexp softmin cumsum sum mean nansum nanmean hypot ldexp logaddexp logaddexp2 matrix_power tensordot chain_matmul bilinear block_diag pow float_power xlogy div")
NAN_SLOPES = "slopes where the value is NaN"
NUMBER_RULE = "A number, or a tensor without dimensions, takes the dtype of the tensor beside it unless its kind (bool <"


KNOWN = {
    "floats that an integer cannot hold": Known("tensors.md", "a float that goes to an integer dtype which cannot hold it becomes the nearest end", lambda f: f.kind == "value" and CASTS(f.name) and "int" in f.dtype and f.is_of_floats),
    "slopes of divisions by 0": Known("coming-from.md", NAN_SLOPES, lambda f: f.kind == "gradient" and DIVISIONS(f.name) and f.all_got(is_nan)),
    "slopes where the value is NaN": Known("coming-from.md", NAN_SLOPES, lambda f: f.kind == "gradient" and BOUNDED(f.name) and f.all_got(is_nan)),
    "slopes of clamps of NaN": Known("coming-from.md", NAN_SLOPES, lambda f: f.kind == "gradient" and CLAMPS(f.name) and f.values == "special" and f.all_got(lambda v: v == 1)),
    "slopes of logaddexp": Known("coming-from.md", "slopes of `logaddexp` of two equal infinities", lambda f: f.kind == "gradient" and f.name in ("logaddexp", "logaddexp2") and f.all_wanted(is_nan)),
    "slopes of copysign": Known("coming-from.md", "of `copysign` at an infinity", lambda f: f.kind == "gradient" and f.name == "copysign" and f.all_wanted(is_nan)),
    "slopes of xlogy": Known("coming-from.md", "slopes of `xlogy`, `xlog1py` where x is 0", lambda f: f.kind == "gradient" and f.name.rstrip("_") == "xlogy" and f.all_wanted(lambda v: is_nan(v) or is_infinite(v))),
    "an axis is a number": Known("coming-from.md", "a tensor or a bool is no axis", lambda f: f.kind == "refuses" and re.search("a bool or tensor is no axis|must be an integer, not strata.Tensor", f.text)),
    "a size is a number": Known("coming-from.md", "a tensor or a bool is no axis", lambda f: f.kind == "refuses" and "must be made of integers" in f.text),
    "signs of NaN": Known("coming-from.md", "`sign`, `softshrink` of NaN: 0", lambda f: f.kind == "value" and f.name.rstrip("_") in ("sign", "sgn", "softshrink") and f.all_got(is_nan)),
    "integers that 16 bits do not hold": Known("tensors.md", "an integer and a float in the", lambda f: f.kind in ("value", "gradient") and f.values == "special" and f.has_dtype("float16") and any("int" in d for d in f.dtypes)),
    "in place a result of a higher kind": Known("coming-from.md", "the same for each method with `_`", lambda f: "would lose information" in f.text),
    "einsum has its operands' dtype": Known("coming-from.md", '`einsum("ij->", x)` of small integers', lambda f: f.kind == "dtype" and f.name == "einsum" and "not int64" in f.text),
    "limits": Known("coming-from.md", "`gelu`, `silu`, `mish`, `hardswish` at -inf", lambda f: f.kind == "value" and f.name.rstrip("_") in ("gelu", "silu", "mish", "hardswish", "i0") and f.all_wanted(is_nan) and f.all_got(lambda v: v == 0 or is_infinite(v))),
    "any and all are bools": Known("coming-from.md", "`any`, `all` of u8 are u8", lambda f: f.kind == "dtype" and f.name in ("any", "all") and "bool, not uint8" in f.text),
    "numbers beyond a dtype": Known("coming-from.md", "a number that the dtype does not hold wraps where it is compared", lambda f: f.kind == "value" and COMPARISONS(f.name) and "'uint8'" in "".join(f.lines) and "-1" in f.last),
    "floats beside integers": Known("tensors.md", NUMBER_RULE, lambda f: f.kind in ("dtype", "refuses") and WITH_FACTORS(f.name) and (("float32, not " in f.text or "a result of f32" in f.text) and has_float(f) or "int64, not bool" in f.text)),
    "counts of bools": Known("coming-from.md", "products of bools, where there are any, are bools", lambda f: f.kind == "dtype" and PRODUCTS(f.name) and "int64, not bool" in f.text),
    "slopes of equal values": Known("coming-from.md", "slopes of medians, quantiles and extremes of equal values", lambda f: f.kind == "gradient" and RANKED(f.name) and f.has_equal),
    "what is overwritten altogether": Known("coming-from.md", "slopes of what is overwritten altogether", lambda f: f.kind == "gradient" and "no result takes gradients; of PyTorch they are 0" in f.text
                                            and is_one_of("zero fill copy slice_scatter select_scatter diagonal_scatter cat concat concatenate where masked_fill index_copy index_fill scatter")(f.name)),
    "masks of u8": Known("coming-from.md", "masks of u8, which are deprecated", lambda f: f.kind == "refuses" and "of bools is expected, such as mask != 0" in f.text),
    "the largest of nothing": Known("coming-from.md", "`norm(inf)` of nothing", lambda f: f.kind == "refuses" and "of nothing" in f.text),
    "infinities on the way": Known("coming-from.md", "where infinities and NaN meet on the way to a result", lambda f: f.kind in ("value", "gradient") and f.values == "special" and COMPOSED(f.name)),
}

# What PyTorch 1.13 does and says nowhere, or says otherwise; newer ones have mended most of it.
THEIRS = {
    "logical operations in place pass gradients": lambda f: f.kind == "gradient" and f.name.endswith("_") and LOGICAL(f.name) and f.all_got(lambda v: v == 0),
    "hardswish at 3, where its slope jumps": lambda f: f.kind == "gradient" and f.name.rstrip("_") == "hardswish" and f.values in ("small", "special"),
    "trace of what is not square: gradients in other places": lambda f: f.kind == "gradient" and f.name == "trace",
    "as_strided_scatter: gradients from memory that was not set": lambda f: f.kind == "gradient" and f.name == "as_strided_scatter",
    "sgn: gradients from memory that was not set": lambda f: f.kind == "gradient" and f.name.rstrip("_") == "sgn" and f.all_got(lambda v: v == 0),
    "trigamma is infinite at poles, and to 1e-9 elsewhere": lambda f: (f.kind == "gradient" and f.name.rstrip("_") == "digamma" or f.name.rstrip("_") == "polygamma")
    and (f.all_got(is_infinite) or all(abs(a - b) <= 1e-8 * abs(b) for w in f.wants for a, b in zip(f.got, w))),
    "as nothing is added up, sum_to_size of a number is i64": lambda f: f.kind == "dtype" and f.name == "sum_to_size",
    "matrices of no elements are not looked at": lambda f: f.kind == "refuses" and f.name.rstrip("_") in ("tril", "triu") and "two dimensions at least" in f.text,
    "of no elements, pixel_unshuffle gives what it got": lambda f: f.name == "pixel_unshuffle" and re.search(r"shape \([^)]*0\), not ", f.text) is not None,
    "hardshrink of NaN has the slope 0": lambda f: f.kind == "gradient" and f.name == "hardshrink" and f.values == "special" and all(w == 0 for ws in f.wants for w in ws) and f.all_got(lambda v: v in (1, 0.5, -1.25)),
    "aminmax of a number has an axis": lambda f: f.name == "aminmax" and "shape (), not (1,)" in f.text,
    "of nothing, trapezoid has the dtype that it got": lambda f: f.kind == "dtype" and f.name in ("trapezoid", "trapz") and ", 0" in f.lines[0],
    "hardsigmoid's sixth is of f32": lambda f: f.kind == "gradient" and f.name == "hardsigmoid" and all(abs(a - b) < 1e-7 for w in f.wants for a, b in zip(f.got, w)),
    "least multiples that overflow are negative": lambda f: f.name.rstrip("_") == "lcm" and f.values == "special" and all(a == -b for w in f.wants for a, b in zip(f.got, w)),
    "integers that overflow before they are floats": lambda f: f.kind == "value" and f.name in ("softsign", "pairwise_distance", "dist", "cosine_similarity") and f.values == "special",
    "of no elements, another dtype": lambda f: f.kind == "dtype" and re.search(r"make\('\w+', \((\d+, )*0[,)]", "".join(f.lines)) is not None,
    "median of an expanded axis: memory that was not set": lambda f: f.kind == "value" and f.name.endswith("median") and "expand" in f.last,
    "unique_consecutive has an inverse of no elements": lambda f: f.name == "unique_consecutive" and ("not (0,)" in f.text or "results, not" in f.text),
    "nan_to_num in place of 16 bits, which it does not have: the ends are those of f32": lambda f: f.name == "nan_to_num_" and f.dtype in ("float16", "bfloat16") and all(abs(w) > 3.4e38 for ws in f.wants for w in ws),
    "narrow of an axis of no elements begins at -1": lambda f: f.kind == "refused" and "[narrow] 0 from -1 on" in f.text and "of size 0" in f.text,
    "hardtanh of NaN: its slope is 0 in vectors and 1 behind them": lambda f: f.kind == "gradient" and f.name.rstrip("_") in ("hardtanh", "relu6") and f.values == "special" and f.all_got(lambda v: v == 1),
    "mode beside NaN": lambda f: f.kind == "value" and f.name == "mode" and f.all_wanted(is_nan),
    "-a of u8 in the slope of atan2": lambda f: f.kind == "gradient" and "atan2" in f.name or f.kind == "gradient" and "arctan2" in f.name and "'uint8'" in "".join(f.lines),
    "beta of softplus is 0": lambda f: f.name == "softplus" and re.search(r"a[^,]*, (beta=)?(0|False)", f.last) is not None,
    "unique_consecutive by place": lambda f: f.name == "unique_consecutive" and re.search(r"\((a\S*, )?True", f.last) is not None,
    "16 bits beside a number of 64: a divisor is rounded, or not": lambda f: f.name.rstrip("_") in ("fmod", "remainder", "floor_divide") and f.has_dtype("float16", "bfloat16") and len(set(f.dtypes)) > 1,
}


def has_float(f):
    return re.search(r"[ =(]-?\d+\.\d", f.last) is not None or f.is_of_floats


def is_another_signature(error):
    return isinstance(error, (TypeError, AttributeError, SyntaxError))


def is_gap(error):
    return re.search(r"not implemented for|not supported for|expected scalar type|not currently supported|only supports", str(error)) is not None


def must_refuse(error):
    return re.search(r"can't be cast to|must match the size|shape mismatch|size mismatch|out of range", str(error)) is not None


def explained(found):
    """The row that a finding belongs to; None where nothing explains it."""
    for name, row in KNOWN.items():
        if row.of(found):
            return name
    for name, of in THEIRS.items():
        if of(found):
            return "PyTorch: " + name
    return None
