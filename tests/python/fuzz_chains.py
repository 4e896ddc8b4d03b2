"""Programs of several steps for fuzz_torch.py: results that go into further ones, changes in place after use, and the same captured.

A program runs four times over: step by step, each realized and held against PyTorch's of the same operands; as one graph; as one graph
whose gradients are taken, held against PyTorch's; captured by `jit` and replayed with other inputs, the arguments changed by it among
them. All of Strata's agree; floats to a few units of the last place, as what is a constant in one kernel is computed in another. Here a slice is a value and no window (docs/coming-from.md): PyTorch changes
clones.
"""
import re

import numpy as np
import strata
import torch

import fuzz_calls
from fuzz_values import NATIVE, WIDE, Ours, array, coarser, dtype_of, near, wrong_at

# Sizes that are values; several results; what draws, or is about the tensor and not its elements.
NOT_CHAINED = set("""masked_select nonzero argwhere unique unique_consecutive bincount allclose equal size dim ndimension numel nelement is_floating_point is_signed isreal
det inverse logdet slogdet matrix_exp cholesky qr detach clone repeat_interleave matrix_power new_full new_ones new_zeros chunk split tensor_split hsplit vsplit dsplit unbind
sort topk kthvalue median mode cummax cummin nanmedian max min aminmax frexp digamma lgamma polygamma mvlgamma erfinv tan nextafter bitwise_left_shift bitwise_right_shift copysign
quantile nanquantile argsort as_strided as_strided_scatter half bfloat16 float_power cov corrcoef renorm log_softmax logcumsumexp sum_to_size unique_consecutive masked_scatter tril triu diff byte char short int long xlogy all any trace sinc""".split())
# Of PyTorch's in place these pass gradients that nobody defined (fuzz_known.py).
NOT_CHAINED |= {f"{n}_" for n in "logical_not logical_or logical_and logical_xor eq ne lt le gt ge greater less not_equal greater_equal less_equal".split()}
PLAIN = [n for n in fuzz_calls.METHODS if not n.endswith("_") and n not in NOT_CHAINED]
IN_PLACE = [n for n in fuzz_calls.METHODS if n.endswith("_") and not {n, n[:-1]} & NOT_CHAINED and n != "requires_grad_"]


class Step:
    """`name = text`; or `name.text`, or `name[place] = text`: in place."""

    def __init__(self, name, text, place=None, in_place=False):
        self.name, self.text, self.place, self.in_place = name, text, place, in_place

    @property
    def method(self):
        """What is called, where something is."""
        found = re.search(r"(\w+)\(", self.text)
        return found.group(1) if found else ""

    def line(self):
        return f"{self.name}[{self.place}] = {self.text}" if self.place else f"{self.name}.{self.text}" if self.in_place else f"{self.name} = {self.text}"

    def run_theirs(self, env):
        if not self.in_place:
            env[self.name] = eval(self.text, env).clone()
            return
        changed = env[self.name].clone()
        if self.place:
            changed[eval(f"_I[{self.place}]", {**env, "_I": Subscript()})] = eval(self.text, env)
        else:
            eval(f"_x.{self.text}", {**env, "_x": changed})
        env[self.name] = changed

    def run_ours(self, env):
        exec(self.line(), env)


class Subscript:
    def __getitem__(self, at):
        return at


def is_tame(v):
    """Neither infinite nor near it, and of some size: what goes on in a chain."""
    if not isinstance(v, torch.Tensor) or v.numel() > 400 or v.dtype in (torch.float16, torch.bfloat16) or v.is_complex():
        return False
    with torch.no_grad():
        return bool((v.double().abs() < 1e5).all())


def environment(library):
    return {"T": library.T, "make": library.make}


def random_chain(seed):
    """A writer with leaves, and steps."""
    w = fuzz_calls.Writer(seed)
    w.dtype, w.kind, w.name = w.pick("float32", "float32", "float64", "int64", "int32", "uint8"), w.pick("small", "normal", "positive", "unit"), "chain"
    env, steps = environment(NATIVE), []
    for _ in range(w.random.randrange(1, 4)):
        w.leaf(w.pick(w.dtype, w.dtype, "bool", "int64", "float32"), w.shape(0, 3), grad=False)
    inputs = list(w.lines)
    for line in inputs:
        exec(line, env)
    for _ in range(60):
        if len(steps) >= 8:
            break
        step = random_step(w, env, [n for n in w.tensors if n in env])
        if step is None:
            continue
        trial = dict(env)
        try:
            step.run_theirs(trial)
        except Exception:
            continue
        out = trial[step.name]
        if not is_tame(out) or (step.in_place and out.dtype != env[step.name].dtype):
            continue
        env = trial
        w.tensors[step.name] = (dtype_of(out), tuple(out.shape))
        steps.append(step)
    return w, inputs, steps


def random_step(w, env, names):
    """A step whose operands are what is there already; PyTorch says whether it can be."""
    target = w.pick(*names)
    dtype, shape = w.tensors[target]
    there = Operands(w, names)
    if w.chance(0.25) and shape:
        if w.chance(0.2):  # one value: what a mask picks has a size that is a value, and is not captured
            return Step(target, w.pick("1", "0", "2"), f"{target} > 0", True)
        place = w.pick("0", "-1", "...", "::2", "1:", ":-1", "None", "..., 0", ":, ::2")
        text = w.pick("1", "0", "2", there.any_like(dtype), f"{target}[{place}] * 2")
        return Step(target, text, place, True)
    name = w.pick(*(IN_PLACE if w.chance(0.35) else PLAIN))
    f = fuzz_calls.surface.METHODS[name]
    arguments = []
    for row in f.__parameters__[1:]:
        if row[3] == "name" or (row[2] is not None and not w.chance(0.2)):
            break
        text = there.argument(row, dtype, shape)
        if text is None:
            return None
        arguments.append(text)
        if row[3] == "rest":
            break
    text = f"{name}({', '.join(arguments)})"
    if name.endswith("_"):
        return Step(target, text, None, True)
    return Step(f"v{len(w.tensors)}", f"{target}.{text}")


class Operands:
    """Arguments of tensors that are there."""

    def __init__(self, w, names):
        self.w, self.names = w, names

    def any_like(self, dtype):
        same = [n for n in self.names if self.w.tensors[n][0] == dtype]
        return self.w.pick(*(same or self.names))

    def argument(self, row, dtype, shape):
        w, (names, type_, _, kind) = self.w, row
        plain = type_.replace(" | None", "")
        if plain == "TensorLike":
            if names[0] in ("index", "indices"):
                return None
            if names[0] in ("mask", "condition"):
                return f"({self.any_like(dtype)} > 0)"
            name = self.any_like(dtype)
            return w.number() if w.chance(0.2) else f"{name}.t()" if w.chance(0.15) and len(w.tensors[name][1]) == 2 else name
        if kind == "rest" and "Size" in type_:
            return str(tuple(n if n != 1 or w.chance(0.5) else 3 for n in shape))
        if plain == "DTypeLike":
            return None
        return fuzz_calls.argument(w, row, shape)


def seeded(line, k):
    """The same input with other numbers."""
    head, tail = line.rsplit(", ", 1) if "layout=" not in line else line.split(", layout=")[0].rsplit(", ", 1)
    rest = line[len(head) + 2 + len(tail) :] if "layout=" in line else ""
    number = tail.rstrip(")")
    return f"{head}, {int(number) + k}" + (rest if rest else ")")


def values_of(env, names):
    return {n: array(env[n]) for n in names}


def is_same(a, b):
    """The same array; floats to a few units of the last place of the largest."""
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.kind != "f":
        return a.dtype == b.dtype and np.array_equal(a, b)
    finite = np.abs(b[np.isfinite(b)])
    unit = 16 * np.finfo(a.dtype).eps
    return np.allclose(a, b, rtol=unit, atol=unit * max(1.0, float(finite.max())) if finite.size else 0.0, equal_nan=True)


def different(a, b):
    """Names whose values are not the same."""
    return [n for n in a if not is_same(a[n], b[n])]


def check_chain(seed, fail, counts):
    w, inputs, steps = random_chain(seed)
    lines = inputs + [s.line() for s in steps]
    names = list(dict.fromkeys([line.split(" = ")[0] for line in inputs] + [s.name for s in steps]))
    report = lambda kind, text, step=None: fail(kind, text, lines, step)
    try:
        eager = stepwise(inputs, steps, report, counts)
        if eager is None:
            return
        lazy = environment(Ours)
        for line in inputs:
            exec(line, lazy)
        for step in steps:
            step.run_ours(lazy)
        strata.realize(*[lazy[n] for n in names])
        wrong = different(values_of(eager, names), values_of(lazy, names))
        if wrong:
            return report("fused", f"{wrong[0]} is {array(lazy[wrong[0]]).tolist()}, step by step {array(eager[wrong[0]]).tolist()}")
        counts["chains"] += 1
        if steps and seed % 2 == 0:
            replayed(inputs, steps, names, report, counts)
        if steps:
            slopes(inputs, steps, names, report, counts)
    except (strata.Error, TypeError, ValueError, IndexError) as e:
        report("refused", f"{type(e).__name__}: {e}")


def stepwise(inputs, steps, report, counts):
    """Each step realized, beside PyTorch's of the same operands."""
    ours = environment(Ours)
    for line in inputs:
        exec(line, ours)
    for k, step in enumerate(steps):
        theirs, wide = environment(NATIVE), environment(WIDE)
        for name, v in list(ours.items()):
            if isinstance(v, strata.Tensor):
                values = torch.tensor(np.ascontiguousarray(array(v)).reshape(array(v).shape))
                theirs[name], wide[name] = values, values.double() if values.is_floating_point() else values
        try:
            step.run_theirs(theirs)
        except (RuntimeError, TypeError):  # as as_strided() of strides that overflow, clip() by a number and a tensor: nothing to stand beside
            counts["refused by PyTorch"] += 1
            return None
        try:
            step.run_theirs(wide)
        except Exception:
            wide = theirs
        step.run_ours(ours)
        ours[step.name].realize()
        got, want = ours[step.name], theirs[step.name]
        if dtype_of(got) != dtype_of(want):
            report("dtype", f"step {k}, {step.line()}: {dtype_of(got)}, not {dtype_of(want)}", step)
            return None
        text, places = wrong_at(got, [want, wide[step.name]], 2.0)
        if text or places:
            report("value", f"step {k}, {step.line()}: {text or [(p, array(got)[p].item(), array(want)[p].item()) for p in places[:3]]}", step)
            return None
        counts["steps"] += 1
    return ours


def replayed(inputs, steps, names, report, counts):
    """The steps captured, their arguments changed in place among them; four calls with other numbers."""
    arguments = [line.split(" = ")[0] for line in inputs]

    def program(*given):
        env = {**environment(Ours), **dict(zip(arguments, given))}
        for step in steps:
            step.run_ours(env)
        return tuple(env[n] for n in names if n not in arguments) or (env[names[0]] * 1,)

    captured = strata.jit(program)
    for k in range(4):
        plain, fast = environment(Ours), environment(Ours)
        for line in inputs:
            exec(seeded(line, k), plain), exec(seeded(line, k), fast)
        want = program(*(plain[n] for n in arguments))
        wanted = [array(v) for v in want] + [array(plain[n]) for n in arguments]
        out = captured(*(fast[n] for n in arguments))
        got = [array(v) for v in out] + [array(fast[n]) for n in arguments]
        for one, other in zip(got, wanted):
            if not is_same(one, other):
                return report("replay", f"call {k}: {one.tolist()}, not {other.tolist()}")
    counts["replays"] += 1


def slopes(inputs, steps, names, report, counts):
    """Gradients of all that is there at the end by the inputs, which are changed in place on the way, against PyTorch's."""
    runs = {}
    coarsest = None  # a float() on the way rounds slopes of f64 to f32
    for way, library in (("ours", Ours), ("native", NATIVE), ("wide", WIDE)):
        env = environment(library)
        leaves = {}
        for line in inputs:
            name = line.split(" = ")[0]
            exec(line, env)
            if "float" in dtype_of(env[name]):
                leaves[name] = env[name].requires_grad_()
                env[name] = env[name] * 1
        if not leaves:
            return
        try:
            for step in steps:
                (step.run_ours if way == "ours" else step.run_theirs)(env)
            total = None
            for k, n in enumerate(names):
                if env[n].requires_grad:
                    part = (env[n] * (0.5 + 0.25 * (k % 3))).sum()
                    total = part if total is None else total + part
            if total is None:
                return
            total.backward()
        except (RuntimeError, NotImplementedError, TypeError) as e:
            if way == "ours" and not isinstance(e, (strata.Error, NotImplementedError)):
                return report("gradient", f"{type(e).__name__}: {e}")
            return None if way != "ours" else report("gradient", f"refused: {e}")
        runs[way] = leaves
        if way == "ours":
            for v in env.values():
                if isinstance(v, strata.Tensor):
                    coarsest = coarser(coarsest, dtype_of(v))
    for name, leaf in runs["ours"].items():
        g = [np.zeros(leaf.shape) if r.get(name) is None or r[name].grad is None else array(r[name].grad) for r in (runs["ours"], runs["native"], runs["wide"])]
        is_sure = np.isclose(g[1], g[2], rtol=1e-3, atol=1e-3, equal_nan=True) & np.isfinite(g[2])  # else values decide that rounding changes
        dtype = coarser(coarsest, dtype_of(leaf))
        wrong = ~(near(g[0], g[1], dtype, 100.0) | near(g[0], g[2], dtype, 100.0)) & is_sure
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            return report("gradient", f"of {name} at {at}: {g[0][at]}, not {g[1][at]} or {g[2][at]}")
    counts["gradients of chains"] += 1
