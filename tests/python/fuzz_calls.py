"""Random calls of the methods and functions that Strata and PyTorch have under one name, from the tables that they carry.

A parameter is given what its type in `__parameters__` says; where methods need shapes or numbers that go together, a row of RECIPES
has them. A call is text, which both libraries run.
"""
import random

import strata
import surface
import torch
from fuzz_values import DTYPES, FLOATS, INTEGERS, KINDS, LAYOUTS

# What gives no values, or draws them, or has the library's own objects.
NOT_COMPARED = set("""backward bernoulli bernoulli_ multinomial requires_grad_ new_empty numpy tolist item storage_offset stride cpu to type is_contiguous
data_ptr empty empty_like rand rand_like randint randint_like randn randn_like randperm normal manual_seed dropout alpha_dropout feature_alpha_dropout rrelu from_dlpack
from_numpy as_tensor asarray tensor new_tensor zeros ones full arange eye linspace logspace tril_indices triu_indices contiguous save load grad element_size""".split())
# PyTorch has these under T with numbers for `reduction`, without defaults, or for other things.
ONLY_IN_F = set("""binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss kl_div margin_ranking_loss poisson_nll_loss triplet_margin_loss
embedding embedding_bag batch_norm instance_norm group_norm layer_norm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d adaptive_max_pool1d adaptive_avg_pool1d""".split())
NOT_COMPARED |= ONLY_IN_F
METHODS = sorted(n for n in surface.METHODS if hasattr(torch.Tensor, n) and n not in NOT_COMPARED)
FUNCTIONS = sorted(n for n in surface.FUNCTIONS if hasattr(torch, n) and n not in NOT_COMPARED)
# Of nn.functional: functions of a tensor and numbers.
FUNCTIONAL = sorted(n for n in surface.METHODS if hasattr(strata.nn.functional, n) and hasattr(torch.nn.functional, n) and n not in NOT_COMPARED and not hasattr(torch.Tensor, n)
                    and all(row[1] in ("float", "bool", "float | None") for row in surface.METHODS[n].__parameters__[1:]))
WAYS = {"x": 65, "T": 28, "F": 7}  # how often there is a method, a function of the module, one of nn.functional
DIVIDES = set("div divide true_divide floor_divide fmod remainder gcd lcm".split())  # the least integer by -1 ends PyTorch's process (SIGFPE)
SIZES = (0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 7)


class Writer:
    """A program that grows: its lines, and what the tensors in it are. `known` has the shapes of expressions,
    and `names` the values of names in sizes, where a writer keeps them."""

    known, names = {}, {}

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.tensors, self.leaves, self.name = [], {}, [], ""
        self.dtype = self.random.choice(DTYPES + FLOATS + ("float32", "float32", "int64"))
        self.kind = self.random.choice(KINDS[:5] + ("normal", "small"))

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *choices):
        return self.random.choice(choices)

    def shape(self, low=0, high=4):
        rank = self.random.choice([r for r in (0, 1, 1, 2, 2, 2, 3, 3, 4) if low <= r <= high])
        return tuple(self.random.choice(SIZES) for _ in range(rank))

    def size(self, low=1):
        return self.random.choice([n for n in SIZES if n >= low])

    def add(self, text, dtype, shape):
        name = "abcdefghijklmnop"[len(self.tensors)]
        self.lines.append(f"{name} = {text}")
        self.tensors[name] = (dtype, tuple(shape))
        return name

    def leaf(self, dtype, shape, kind=None, grad=None):
        grad = dtype in FLOATS and (self.chance(0.6) if grad is None else grad)
        options = (f", layout={self.pick(*LAYOUTS)!r}" if len(shape) and self.chance(0.3) else "") + (", grad=True" if grad else "")
        name = self.add(f"make({dtype!r}, {tuple(shape)}, {kind or self.kind!r}, {self.random.randrange(1000)}{options})", dtype, shape)
        if grad:
            self.leaves.append(name)
        return name

    def tensor(self, dtype, shape, kind=None):
        """An expression: a tensor that is there already, another view of it, or one of its own, whole or seen through a view."""
        shape = tuple(shape)
        if kind is None and self.chance(0.3):
            for name, (other, its) in self.random.sample(sorted(self.tensors.items()), len(self.tensors)):
                if other != dtype:
                    continue
                if its == shape:
                    return name if self.chance(0.7) or len(shape) != 2 or shape[0] != shape[1] else f"{name}.t()"
                if len(shape) == 2 and its == shape[::-1]:
                    return f"{name}.t()"
        way = self.pick("whole", "whole", "permuted", "flipped", "stepped", "narrowed", "expanded", "row")
        if not shape or way == "whole":
            return self.leaf(dtype, shape, kind) if way != "row" else self.leaf(dtype, (2,), kind) + "[1]"
        axis = self.random.randrange(len(shape))
        with_size = lambda n: (*shape[:axis], n, *shape[axis + 1 :])
        if kind is not None and kind.startswith("distinct"):
            return self.leaf(dtype, shape, kind)
        if way == "permuted":
            order = self.random.sample(range(len(shape)), len(shape))
            inverse = [order.index(k) for k in range(len(shape))]
            return f"{self.leaf(dtype, [shape[k] for k in order], kind)}.permute({', '.join(map(str, inverse))})"
        if way == "flipped":
            return f"{self.leaf(dtype, shape, kind)}.flip({axis})"
        if way == "stepped":
            return f"{self.leaf(dtype, with_size(2 * shape[axis]), kind)}[{':, ' * axis}::2]"
        if way == "narrowed":
            return f"{self.leaf(dtype, with_size(shape[axis] + 2), kind)}[{':, ' * axis}1:-1]"
        if way == "expanded":
            return f"{self.leaf(dtype, with_size(1), kind)}.expand{shape if len(shape) > 1 else f'({shape[0]})'}"
        return f"{self.leaf(dtype, (2, *shape), kind)}[1]"

    def beside(self, shape):
        """A shape that broadcasts with another."""
        out = [1 if self.chance(0.2) else n if n != 1 or self.chance(0.8) else self.size() for n in shape]
        return tuple(out[self.random.randrange(len(out) + 1) if self.chance(0.2) else 0 :])

    def number(self):
        return self.pick("0", "1", "2", "-1", "3", "0.5", "-1.5", "2.0", "1.0", "True", "7", "0.1")

    def axis(self, rank):
        return str(self.random.randrange(-rank, rank)) if rank and not self.chance(0.02) else self.pick("0", "-1")

    def axes(self, rank):
        if rank and self.chance(0.4):
            chosen = self.random.sample(range(rank), self.random.randrange(1, rank + 1))
            return str(tuple(k - rank if self.chance(0.3) else k for k in chosen))
        return self.axis(rank)

    def index(self, shape, size, distinct=None):
        kind = f"below {max(size, 1)}" if distinct is None else f"distinct {size} {distinct}"
        return self.tensor("int64", shape, kind)


def dtype_beside(w):
    return w.dtype if w.chance(0.7) else w.pick(*DTYPES)


def argument(w, row, shape):
    """What a parameter of this type may be given, as text."""
    names, type_, _, _ = row
    plain = type_.replace(" | None", "")
    if plain == "TensorLike":
        if names[0] in ("mask", "condition"):
            return w.tensor("bool", w.beside(shape), "small")
        return w.number() if w.chance(0.2) else w.tensor(dtype_beside(w), w.beside(shape))
    if plain in ("float", "Number"):
        return w.pick("1e-6", "1e-3") if names[0] == "eps" else w.number()
    if plain == "bool":
        return w.pick("True", "False")
    if plain == "DTypeLike":
        return f"T.{w.pick(*DTYPES)}"
    if plain == "int | Sequence[int]":
        return w.axes(len(shape))
    if plain == "int" and {"dim", "axis0", "dim1", "start_dim", "end_dim"} & set(names):
        return w.axis(len(shape))
    if plain in ("int", "Size"):
        return w.pick("0", "1", "2", "-1", "3")
    if plain in ("Size | Sequence[Size]", "Sequence[int]"):
        return str(w.shape())
    if "Literal['sum'" in plain:
        return repr(w.pick("sum", "prod", "mean", "amax", "amin"))
    if names[0] == "interpolation":
        return repr(w.pick("linear", "lower", "higher", "nearest", "midpoint"))
    if names[0] == "rounding_mode":
        return repr(w.pick("floor", "trunc"))
    if names[0] == "reduce":
        return repr(w.pick("add", "multiply"))
    return "2"


def tensor_for_number(w):
    return w.tensor(w.pick("float32", "int64", "bool", "float64"), w.pick((), (), (1,), (2,)), "small")


def spelled(names):
    """PyTorch's name of a parameter."""
    return next((n for n in ("dim", "dims", "dim0", "dim1") if n in names), names[0])


def call(w, name, way):
    """The text of one call, as a method ("x"), a function of the module ("T") or of nn.functional ("F"); self is a clone where it changes."""
    from fuzz_recipes import RECIPES

    f = (surface.FUNCTIONS if way == "T" else surface.METHODS)[name]
    rows = f.__parameters__
    recipe = RECIPES.get(name.rstrip("_"))
    first, given = recipe(w) if recipe else (None, {})
    if first is None:
        first = w.tensor(w.dtype, w.shape())
    shape = given.pop("shape of self", None) or w.tensors.get(first, (None, ()))[1] or shape_of(w, first)
    positions, named = [], []
    w.first, w.along = first, "-1" if name in ("topk", "kthvalue", "mode") else "0"
    for k, row in enumerate(rows[1:]):
        names, type_, default, kind = row
        key = next((n for n in names if n in given), None)
        if key is None and default is not None and not w.chance(0.3):
            continue
        text = given[key] if key is not None else argument(w, row, shape)
        if text is None:
            continue
        if not type_.startswith(("Tensor", "Any")) and key is None and w.chance(0.05):
            text = tensor_for_number(w)
        if names[0] == "axis":
            w.along = text
        if kind == "rest":
            positions.append(text if w.chance(0.5) or not text.startswith("(") else "*" + text)
        elif kind == "position" and len(positions) == k and (default is None and w.chance(0.8) or w.chance(0.4)):
            positions.append(text)
        else:
            named.append(f"{spelled(names)}={text}")
    if name in ("max", "min"):  # by place they are NumPy's
        given = dict(zip(("dim", "keepdim"), positions)) | dict(n.split("=", 1) for n in named)
        given = {"dim" if n in ("axis", "axes", "dims") else n: v for n, v in given.items()}
        positions, named = [], [f"{n}={v}" for n, v in given.items()]
    arguments = ", ".join(positions + named)
    if way != "x":
        w.lines.append(f"y = {way}.{name}({', '.join([first] * (first != '') + [arguments] * (arguments != ''))})")
    elif name.endswith("_"):
        w.lines += [f"x = {first}.contiguous().clone()", f"y = x.{name}({arguments}), x"]
    else:
        w.lines.append(f"y = {first}.{name}({arguments})")


def shape_of(w, text):
    """The shape of an expression that the writer made."""
    if text in w.known:
        return w.known[text]
    from fuzz_values import NATIVE

    env = {"make": NATIVE.make, "T": NATIVE.T, **w.names}
    for line in w.lines:
        exec(line, env)
    out = () if not text or text.startswith(("*", "'")) else eval(text, env)
    return tuple(out.shape) if hasattr(out, "shape") else ()



def random_call(seed):
    w = Writer(seed)
    way = w.random.choices(list(WAYS), list(WAYS.values()))[0]
    w.name = w.pick(*{"x": METHODS, "T": FUNCTIONS, "F": FUNCTIONAL}[way])
    if w.dtype in INTEGERS and w.kind == "special" and w.name.rstrip("_") in DIVIDES:
        w.kind = "normal"
    call(w, w.name, way)
    return w
