"""Arguments that go together, for fuzz_calls.py: of products, of indices, of shapes.

A recipe gives self as text and what some of the parameters are; the others are as their types say.
"""
import math

from fuzz_values import FLOATS, INTEGERS

RECIPES = {}


def recipe(*names):
    def add(f):
        for name in names:
            assert name not in RECIPES, name
            RECIPES[name] = f
        return f

    return add


def product(names, shapes):
    """Operands whose sizes are letters, "ij jk": self and the others."""

    def make(w):
        sizes = {c: w.size(0 if w.chance(0.1) else 1) for c in "bijkl"}
        texts = [w.tensor(w.dtype, [sizes[c] for c in part]) for part in shapes.replace("-", "").split()]
        texts = [w.tensor(w.dtype, ()) if part == "-" else text for part, text in zip(shapes.split(), texts + [""] * 9)]
        return texts[0], dict(zip(names, texts[1:]))

    return make


for name, names, shapes in (
        ("addbmm", ("batch1", "batch2"), "ik bij bjk"), ("baddbmm", ("batch1", "batch2"), "bik bij bjk"), ("addmm", ("mat1", "mat2"), "ik ij jk"), ("addmv", ("mat", "vec"), "i ij j"),
        ("addr", ("vec1", "vec2"), "ij i j"), ("bmm", ("other",), "bij bjk"), ("mm", ("other",), "ij jk"), ("mv", ("vector",), "ij j"), ("dot", ("other",), "i i"), ("vdot", ("other",), "i i"),
        ("outer", ("other",), "i j"), ("ger", ("other",), "i j"), ("inner", ("other",), "ij kj"), ("chain_matmul", (), "ij"), ("cdist", ("other",), "ij kj"),
        ("trace", (), "ij"), ("corrcoef", (), "ij"), ("cov", (), "ij"), ("pdist", (), "ij"), ("bilinear", ("other", "weight"), "bi bj kij")):
    RECIPES[name] = product(names, shapes)


@recipe("matmul")
def matmul(w):
    left, right = w.pick(("ij", "jk"), ("bij", "bjk"), ("j", "j"), ("ij", "j"), ("j", "jk"), ("bij", "jk"), ("lbij", "bjk"), ("bij", "ljk"))
    sizes = {c: w.size(0 if w.chance(0.1) else 1) for c in "bijk"} | {"l": w.pick(1, 2)}
    return w.tensor(w.dtype, [sizes[c] for c in left]), {"other": w.tensor(w.dtype, [1 if c == "l" else sizes[c] for c in right])}


@recipe("cross")
def cross(w):
    shape = (w.size(), 3)
    return w.tensor(w.dtype, shape), {"other": w.tensor(w.dtype, shape), "axis": w.pick("1", "-1")}


@recipe("tensordot")
def tensordot(w):
    i, j, k = (w.size() for _ in range(3))
    return w.tensor(w.dtype, (i, j)), {"other": w.tensor(w.dtype, (j, k)), "axes": w.pick("1", "([1], [0])", "[[-1], [0]]")}


# --- square matrices ---


@recipe("det", "inverse", "logdet", "slogdet", "matrix_exp", "cholesky", "qr")
def square(w):
    dtype, n = w.pick("float32", "float64"), w.pick(1, 2, 3)
    a = w.leaf(dtype, (n, n), "unit")
    return f"({a} @ {a}.t() + 2 * T.eye({n}, dtype=T.{dtype}))", {"shape of self": (n, n), "upper": None, "mode": None}


@recipe("matrix_power")
def matrix_power(w):
    n = w.pick(1, 2, 3)
    return w.tensor(w.pick("float32", "float64"), (n, n), "unit"), {"n": w.pick("0", "1", "2", "3", "5")}


@recipe("polygamma", "mvlgamma")
def order(w):
    return w.tensor(w.pick(*FLOATS), w.shape(), "positive"), {"n": w.pick("0", "1", "2"), "p": w.pick("1")}


# --- quantised numbers ---


def quantized(w, x):
    axis = w.pick(None, w.random.randrange(2))
    shape = (w.size(1), w.size(1))
    scale = w.pick("0.37", "2") if axis is None else w.leaf("float32", (shape[axis],), "positive")
    return w.tensor(x, shape), {"scale": scale, "zero_point": w.pick("0", "3"), "dtype": w.pick("'int8'", "'uint8'", "'int16'"), "axis": axis if axis is None else str(axis)}


@recipe("quantize")
def quantize(w):
    return quantized(w, w.dtype)


@recipe("dequantize")
def dequantize(w):
    of, given = quantized(w, w.pick("int8", "uint8", "int16", "int32"))
    return of, {name: text for name, text in given.items() if name != "dtype"}


# --- indices ---


def pair(w, low=1):
    shape = tuple(max(n, 1) for n in w.shape(low))
    return shape, w.random.randrange(len(shape))


@recipe("gather", "take_along_dim")
def gather(w):
    shape, axis = pair(w)
    its = tuple(w.random.randrange(1, 6) if k == axis else n for k, n in enumerate(shape))
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": w.index(its, shape[axis])}


def scattered(w, sums):
    shape, axis = pair(w)
    its = tuple(w.random.randrange(1, n + 1) for n in shape)
    return shape, axis, its, w.index(its, shape[axis], None if sums else axis)


@recipe("scatter")
def scatter(w):
    shape, axis, its, index = scattered(w, False)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": index, "src": w.tensor(w.dtype, its), "reduce": None}


@recipe("scatter_add", "scatter_reduce")
def scatter_add(w):
    shape, axis, its, index = scattered(w, True)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": index, "src": w.tensor(w.dtype, its)}


def along(w, distinct):
    shape, axis = pair(w)
    count = w.random.randrange(1, shape[axis] + 1)
    its = (*shape[:axis], count, *shape[axis + 1 :])
    return shape, axis, its, w.index((count,), shape[axis], 0 if distinct else None)


@recipe("index_select")
def index_select(w):
    shape, axis, _, index = along(w, False)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": index}


@recipe("index_add", "index_reduce")
def index_add(w):
    shape, axis, its, index = along(w, False)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": index, "source": w.tensor(w.dtype, its)}


@recipe("index_copy")
def index_copy(w):
    shape, axis, its, index = along(w, True)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": index, "source": w.tensor(w.dtype, its)}


@recipe("index_fill")
def index_fill(w):
    shape, axis, _, index = along(w, False)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": index, "value": w.number() if w.chance(0.5) else w.tensor(w.dtype, ())}


@recipe("index_put")
def index_put(w):
    shape, _ = pair(w)
    count = w.random.randrange(1, shape[0] + 1)
    values = w.tensor(w.dtype, (count, *shape[1:]) if w.chance(0.7) else ())
    accumulate = w.chance(0.5)
    return w.tensor(w.dtype, shape), {"indices": f"({w.index((count,), shape[0], None if accumulate else 0)},)", "values": values, "accumulate": str(accumulate)}


@recipe("put")
def put(w):
    shape, _ = pair(w)
    total = math.prod(shape)
    count, accumulate = w.random.randrange(1, total + 1), w.chance(0.5)
    return w.tensor(w.dtype, shape), {"index": w.index((count,), total, None if accumulate else 0), "source": w.tensor(w.dtype, (count,)), "accumulate": str(accumulate)}


@recipe("take")
def take(w):
    shape, _ = pair(w)
    total = math.prod(shape)
    return w.tensor(w.dtype, shape), {"index": w.index(w.shape(), total)}


@recipe("masked_select")
def masked_select(w):
    shape = w.shape(1)
    return w.tensor(w.dtype, shape), {"mask": w.tensor("bool", shape, "small")}


@recipe("masked_fill")
def masked_fill(w):
    shape = w.shape()
    mask = w.tensor("bool" if w.chance(0.9) else "uint8", w.beside(shape) if w.chance(0.5) else shape, "small")
    return w.tensor(w.dtype, shape), {"mask": mask, "value": w.number() if w.chance(0.7) else w.tensor(w.dtype, ())}


@recipe("masked_scatter")
def masked_scatter(w):
    shape = w.shape(1)
    return w.tensor(w.dtype, shape), {"mask": w.tensor("bool", shape, "small"), "source": w.tensor(w.dtype, shape)}


@recipe("where")
def where(w):
    shape = w.shape()
    return w.tensor(w.dtype, shape), {"condition": w.tensor("bool", w.beside(shape), "small")}


@recipe("bincount")
def bincount(w):
    n = w.size()
    return w.tensor(w.pick("int64", "int32", "uint8"), (n,), "below 6"), {"weights": w.tensor("float64", (n,)) if w.chance(0.4) else None, "minlength": w.pick("0", "3", "9")}


@recipe("searchsorted", "bucketize")
def searchsorted(w):
    row = f"{w.tensor(w.dtype, (w.size(),), 'small')}.sort()[0]"
    values = w.tensor(w.dtype, w.shape(), "small")
    return (values, {"boundaries": row}) if w.name == "bucketize" else (row, {"values": values, "sorted_sequence": row})


@recipe("unique")
def unique(w):
    return w.tensor(w.dtype, w.shape()), {"sorted": None, "axis": None if w.chance(0.6) else "0"}


@recipe("max", "min")
def extreme(w):
    shape = w.shape()
    axis = None if w.chance(0.4) else w.axis(len(shape))
    return w.tensor(w.dtype, shape), {"axis": axis, "dim": None, "keepdim": None if axis is None or w.chance(0.6) else w.pick("True", "False")}


@recipe("isin")
def isin(w):
    return w.tensor(w.dtype, w.shape(), "small"), {}


# --- shapes ---


def splits(w, total):
    """A shape of so many elements."""
    out = []
    for factor in (2, 3, 5, 7):
        while total and total % factor == 0:
            out.append(factor)
            total //= factor
    w.random.shuffle(out)
    while len(out) > 1 and w.chance(0.6):
        out.append(out.pop() * out.pop())
    if w.chance(0.3):
        out.insert(w.random.randrange(len(out) + 1), 1)
    if out and w.chance(0.2):
        out[w.random.randrange(len(out))] = -1
    return out if total else [0, *out]


def elements(shape):
    out = 1
    for n in shape:
        out *= n
    return out


def text_of(sizes):
    return "(" + "".join(f"{n}, " for n in sizes) + ")" if len(sizes) else "()"


@recipe("reshape", "view")
def reshape(w):
    shape = w.shape()
    return f"{w.tensor(w.dtype, shape)}.contiguous()", {"shape": text_of(splits(w, elements(shape))), "shape of self": shape}


@recipe("reshape_as", "view_as")
def reshape_as(w):
    shape = w.shape()
    return f"{w.tensor(w.dtype, shape)}.contiguous()", {"other": w.leaf(w.dtype, [abs(n) for n in splits(w, elements(shape))]), "shape of self": shape}


@recipe("expand", "broadcast_to")
def expand(w):
    shape = w.shape()
    more = [w.size() for _ in range(w.random.randrange(3))]
    return w.tensor(w.dtype, [1 if w.chance(0.4) else n for n in shape]), {"shape": text_of([*more, *shape])}


@recipe("expand_as")
def expand_as(w):
    shape = w.shape()
    return w.tensor(w.dtype, [1 if w.chance(0.4) else n for n in shape]), {"other": w.leaf(w.dtype, shape)}


@recipe("sum_to_size")
def sum_to_size(w):
    shape = w.shape()
    return w.tensor(w.dtype, shape), {"shape": text_of([1 if w.chance(0.5) else n for n in shape][w.random.randrange(len(shape) + 1) if w.chance(0.3) else 0 :])}


@recipe("permute")
def permute(w):
    shape = w.shape(1)
    return w.tensor(w.dtype, shape), {"axes": text_of(w.random.sample(range(len(shape)), len(shape)))}


@recipe("transpose", "swapaxes", "swapdims")
def transpose(w):
    shape = w.shape(1)
    both = w.axis(len(shape)), w.axis(len(shape))
    return w.tensor(w.dtype, shape), {"axes": f"*({both[0]}, {both[1]})", "axis0": both[0], "axis1": both[1], "dim0": None if w.chance(1) else "", "dim1": None}


for again in ("swapaxes", "swapdims"):
    RECIPES[again] = lambda w: (lambda shape: (w.tensor(w.dtype, shape), {"axis0": w.axis(len(shape)), "axis1": w.axis(len(shape))}))(w.shape(1))


@recipe("movedim", "moveaxis")
def movedim(w):
    shape = w.shape(1)
    count = w.random.randrange(1, len(shape) + 1)
    sample = lambda: text_of(w.random.sample(range(len(shape)), count))
    return w.tensor(w.dtype, shape), {"source": sample(), "destination": sample()}


@recipe("repeat", "tile")
def repeat(w):
    shape = w.shape(0, 3)
    return w.tensor(w.dtype, shape), {"counts": text_of([w.pick(0, 1, 1, 2, 3) for _ in range(len(shape) + w.pick(0, 0, 1))])}


@recipe("repeat_interleave")
def repeat_interleave(w):
    shape, axis = pair(w)
    each = w.tensor("int64", (shape[axis],), "below 4") if w.chance(0.4) else w.pick("0", "1", "3")
    return w.tensor(w.dtype, shape), {"repeats": each, "axis": str(axis)}


@recipe("unflatten")
def unflatten(w):
    shape, axis = pair(w)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "sizes": text_of(splits(w, shape[axis]))}


@recipe("flatten")
def flatten(w):
    shape = w.shape()
    low, high = sorted(w.random.randrange(max(len(shape), 1)) for _ in range(2))
    return w.tensor(w.dtype, shape), {"start_dim": str(low), "end_dim": str(high)} if w.chance(0.8) else {}


@recipe("unfold")
def unfold(w):
    shape, axis = pair(w)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "size": str(w.random.randrange(1, shape[axis] + 1)), "step": w.pick("1", "2", "3")}


@recipe("narrow")
def narrow(w):
    shape, axis = pair(w)
    start = w.random.randrange(shape[axis] + 1)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "start": str(start), "length": str(w.random.randrange(shape[axis] - start + 1))}


@recipe("select")
def select(w):
    shape, axis = pair(w)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": str(w.random.randrange(-shape[axis], shape[axis]))}


@recipe("select_scatter")
def select_scatter(w):
    shape, axis = pair(w)
    return w.tensor(w.dtype, shape), {"axis": str(axis), "index": str(w.random.randrange(-shape[axis], shape[axis])), "source": w.tensor(w.dtype, shape[:axis] + shape[axis + 1 :])}


@recipe("slice_scatter")
def slice_scatter(w):
    shape, axis = pair(w)
    start, step = w.random.randrange(shape[axis]), w.pick(1, 1, 2)
    count = len(range(start, shape[axis], step))
    return w.tensor(w.dtype, shape), {"axis": str(axis), "start": str(start), "end": str(shape[axis]), "step": str(step), "source": w.tensor(w.dtype, (*shape[:axis], count, *shape[axis + 1 :]))}


@recipe("diagonal_scatter")
def diagonal_scatter(w):
    n, m = w.size(), w.size()
    return w.tensor(w.dtype, (n, m)), {"source": w.tensor(w.dtype, (min(n, m),)), "offset": None, "dim1": None, "dim2": None}


@recipe("diag", "diagflat")
def diag(w):
    return w.tensor(w.dtype, w.shape(1, 2)), {}


@recipe("diagonal")
def diagonal(w):
    shape = w.shape(2)
    first, second = w.random.sample(range(len(shape)), 2)
    return w.tensor(w.dtype, shape), {"offset": w.pick("0", "1", "-1", "-2"), "dim1": str(first), "dim2": str(second)} if w.chance(0.7) else {}


@recipe("diag_embed")
def diag_embed(w):
    return w.tensor(w.dtype, w.shape(1, 3)), {"dim1": None, "dim2": None}


@recipe("tril", "triu", "fliplr", "matrix", "rot90")
def matrix(w):
    return w.tensor(w.dtype, w.shape(2)), {"axes": None}


@recipe("t")
def t(w):
    return w.tensor(w.dtype, w.shape(0, 2)), {}


@recipe("split", "tensor_split", "hsplit", "vsplit", "dsplit", "chunk")
def split(w):
    shape = tuple(max(n, 1) for n in w.shape(3, 4))
    axis = w.random.randrange(len(shape))
    cut = w.random.randrange(shape[axis] + 1)
    sections = w.pick("1", "2", "3", f"[{cut}, {shape[axis] - cut}]", "[1, 2]")
    return w.tensor(w.dtype, shape), {"indices_or_sections": sections, "split_size_or_sections": sections, "chunks": w.pick("1", "2", "3"), "axis": str(axis)}


@recipe("as_strided")
def as_strided(w):
    return w.leaf(w.dtype, (4, 5)), {"size": "(3, 2)", "stride": w.pick("(1, 2)", "(5, 1)", "(0, 3)", "(2, 7)"), "storage_offset": w.pick("0", "1", "4")}


@recipe("as_strided_scatter")
def as_strided_scatter(w):
    return w.leaf(w.dtype, (4, 5)), {"src": w.tensor(w.dtype, (3, 2)), "size": "(3, 2)", "stride": w.pick("(1, 4)", "(5, 1)", "(2, 7)"), "storage_offset": w.pick("0", "1", "4")}


@recipe("roll")
def roll(w):
    shape = w.shape(1)
    count = w.random.randrange(1, len(shape) + 1)
    axes = w.random.sample(range(len(shape)), count)
    return w.tensor(w.dtype, shape), {"shifts": text_of([w.random.randrange(-4, 8) for _ in axes]), "axis": text_of(axes)} if w.chance(0.7) else {"shifts": w.pick("1", "-2", "9"), "axis": None}


@recipe("flip")
def flip(w):
    shape = w.shape(1)
    return w.tensor(w.dtype, shape), {"axes": w.axes(len(shape))}


# --- numbers that go together ---


@recipe("bitwise_left_shift", "bitwise_right_shift", "ldexp")
def shifts(w):
    shape = w.shape()
    dtype = w.pick(*INTEGERS)
    count = w.tensor(dtype, w.beside(shape), "below 7") if w.chance(0.7) else w.pick("0", "1", "3")
    return w.tensor(dtype, shape), {"other": count}


@recipe("kthvalue", "topk")
def ranks(w):
    shape, axis = pair(w)
    return w.tensor(w.dtype, shape), {"k": str(w.random.randrange(1, shape[axis] + 1)), "axis": str(axis), "sorted": None}


@recipe("quantile", "nanquantile")
def quantile(w):
    dtype = w.pick("float32", "float64")
    q = w.pick("0", "0.25", "0.5", "1", "0.9") if w.chance(0.6) else w.tensor(dtype, w.shape(0, 1), "unit") + ".detach().abs()"
    return w.tensor(dtype, w.shape(1)), {"q": q}


@recipe("histc")
def histc(w):
    return w.tensor(w.pick("float32", "float64"), w.shape(), "small"), {"bins": w.pick("1", "4", "7"), "min": w.pick("0", "-2"), "max": w.pick("0", "3")}


@recipe("renorm")
def renorm(w):
    return w.tensor(w.pick("float32", "float64"), w.shape(2)), {"p": w.pick("1", "2", "3"), "axis": w.pick("0", "1"), "maxnorm": w.pick("1.0", "3.5")}


@recipe("norm")
def norm(w):
    return w.tensor(w.pick(*FLOATS), w.shape()), {"p": w.pick("1", "2", "0", "3", "0.5", "float('inf')", "-float('inf')", "'fro'")}


@recipe("dist")
def dist(w):
    shape = w.shape()
    return w.tensor(w.pick(*FLOATS), shape), {"other": w.tensor(w.dtype, w.beside(shape)), "p": w.pick("1", "2", "0", "3", "float('inf')")}


@recipe("prelu")
def prelu(w):
    shape = w.shape(1)
    return w.tensor(w.pick("float32", "float64"), shape), {"weight": w.tensor("float32", (shape[1] if len(shape) > 1 and w.chance(0.5) else 1,))}


@recipe("diff")
def diff(w):
    shape, axis = pair(w)
    more = lambda: w.tensor(w.dtype, (*shape[:axis], w.pick(0, 1, 2), *shape[axis + 1 :])) if w.chance(0.3) else None
    return w.tensor(w.dtype, shape), {"n": w.pick("0", "1", "2", "9"), "axis": str(axis), "prepend": more(), "append": more()}


@recipe("lerp")
def lerp(w):
    shape = w.shape()
    return w.tensor(w.dtype, shape), {"end": w.tensor(w.dtype, w.beside(shape)), "weight": w.pick("0", "0.25", "0.75", "1", "2.5") if w.chance(0.5) else w.tensor(w.dtype, w.beside(shape))}


@recipe("clamp", "clip")
def clamp(w):
    shape = w.shape()
    bound = lambda: w.number() if w.chance(0.5) else w.tensor(w.dtype, w.beside(shape)) if w.chance(0.7) else None
    return w.tensor(w.dtype, shape), {"min": bound(), "max": bound()}


@recipe("copy")
def copy(w):
    shape = w.shape()
    return w.tensor(w.dtype, shape), {"source": w.tensor(w.pick(w.dtype, "float32", "int64"), [1 if w.chance(0.2) else n for n in shape])}


@recipe("std_mean", "var_mean", "std", "var")
def deviation(w):
    shape = w.shape()
    return w.tensor(w.dtype, shape), {"ddof": None, "correction": None if w.chance(0.6) else w.pick("0", "1", "2"), "unbiased": None if w.chance(0.6) else w.pick("True", "False")}


@recipe("frexp", "angle", "isreal")
def unary(w):
    return w.tensor(w.dtype, w.shape()), {}


# --- several tensors ---


@recipe("cat", "concat", "concatenate")
def cat(w):
    shape, axis = pair(w)
    parts = [w.tensor(dtype_of_part(w), (*shape[:axis], w.pick(0, 1, 2, 3), *shape[axis + 1 :])) for _ in range(w.pick(1, 2, 3))]
    return f"[{', '.join(parts)}]", {"axis": str(axis), "tensors": None}


def dtype_of_part(w):
    return w.dtype if w.chance(0.8) else w.pick("float32", "int64", "bool", "float16")


@recipe("stack", "hstack", "vstack", "dstack", "row_stack", "column_stack", "broadcast_tensors", "meshgrid", "cartesian_prod", "block_diag", "atleast_1d", "atleast_2d", "atleast_3d")
def stack(w):
    shape = w.shape(0, 2)
    parts = [w.tensor(dtype_of_part(w), shape) for _ in range(w.pick(1, 2, 3))]
    return f"[{', '.join(parts)}]", {"axis": str(w.random.randrange(-len(shape) - 1, len(shape) + 1)), "tensors": None, "indexing": "'ij'"}


for one in ("atleast_1d", "atleast_2d", "atleast_3d"):
    RECIPES[one] = unary
for splat in ("broadcast_tensors", "meshgrid", "cartesian_prod", "block_diag"):
    RECIPES[splat] = lambda w, splat=splat: ("*" + stack(w)[0] if splat != "cartesian_prod" else f"*[{w.tensor(w.dtype, (2,))}, {w.tensor(w.dtype, (3,))}]", {"tensors": None, "indexing": "'ij'" if splat == "meshgrid" else None})


@recipe("einsum")
def einsum(w):
    text = w.pick("ij,jk->ik", "ij,jk", "ij->ji", "ij->", "ii->i", "ij,ij->i", "bij,bjk->bik", "...ij,...jk->...ik", "ij,k->", "ij,ij,ij->j", "ij,jk,kl->il")
    sizes = {c: w.size() for c in "bijkl"}
    parts = [w.tensor(w.dtype, [sizes[c] for c in part if c.isalpha()]) for part in text.split("->")[0].split(",")]
    return f"{text!r}, {', '.join(parts)}", {"operands": None, "tensors": None}
