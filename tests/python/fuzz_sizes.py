"""The fuzzer of symbolic sizes: random programs on sizes that are bound Variables give what they give on numbers.

    fuzz_sizes.py [--count N] [--seed S] [--only PROGRAM_SEED] [--failures F] [--print 1]

Programs are those of fuzz_calls.py, by sizes that print as expressions of variables (`(n+1)`). A program runs with numbers, with bound
variables, and captured once and replayed for several values: the ends of the bounds, 1, and what is no multiple of a vector. All agree;
floats, whose sums may have another order, within a tolerance. What an operation refuses for symbolic sizes alone is counted by operation.
"""
import collections
import random
import re
import sys
import time
import warnings

import numpy as np
import strata

import fuzz_calls
from fuzz_values import FLOATS, Ours, array, dtype_of, flat, near, numbers

REFUSED = (strata.Error, TypeError, ValueError, IndexError, NotImplementedError)
BOUNDS = ((1, 9), (0, 7), (1, 20), (2, 17), (1, 5), (3, 11), (0, 3))
# Programs whose values are not those of their inputs, and what reads the elements of views in memory.
NOT_DRAWN = set("as_strided as_strided_scatter det inverse logdet slogdet matrix_exp cholesky qr matrix_power".split())
SQUEEZE = ("squeeze", "squeeze_", "cov", "corrcoef")
READ = ("bincount", "repeat_interleave", "one_hot", "unique", "nonzero", "masked_select", "argwhere", "histc", "allclose")  # values of the captured call are kept
METHODS = [n for n in fuzz_calls.METHODS if n not in NOT_DRAWN]
FUNCTIONS = [n for n in fuzz_calls.FUNCTIONS if n not in NOT_DRAWN]


class Size(int):
    """A number that prints as the expression it is the value of."""

    def __new__(cls, value, text):
        out = super().__new__(cls, value)
        out.text = text
        return out

    def __repr__(self):
        return self.text

    __str__ = __repr__

    def __format__(self, spec):
        return self.text

    def __add__(self, other):
        return Size(int(self) + int(other), f"({self.text}+{other})") if int(other) else self

    __radd__ = __add__

    def __sub__(self, other):
        return Size(int(self) - int(other), f"({self.text}-{other})") if int(other) else self

    def __mul__(self, other):
        return Size(int(self) * int(other), f"({self.text}*{other})") if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other):
        return Size(int(self) // int(other), f"({self.text}//{other})")


class SizedWriter(fuzz_calls.Writer):
    """A writer whose sizes are numbers, and expressions of variables with the values `names`."""

    def __init__(self, seed):
        super().__init__(seed)
        self.known, self.names, self.bounds = {}, {}, {}
        for name in "nm"[: self.pick(1, 1, 2)]:
            low, high = self.pick(*BOUNDS)
            self.bounds[name] = (low, high)
            self.names[name] = Size(self.random.randrange(max(low, 1), high + 1), name)
        every = list(self.names.values())
        one = self.pick(*every)
        self.drawn = [*every, *every, self.pick(one, one + 1, one * 2, one // 2)]

    def size(self, low=1):
        choices = [n for n in self.drawn if n >= low]
        return self.pick(*choices) if choices and self.chance(0.55) else super().size(low)

    def shape(self, low=0, high=4):
        return tuple(self.size(0) if self.chance(0.7) else n for n in super().shape(low, high))

    def number(self):
        return self.pick(*self.names) if self.chance(0.06) else super().number()

    def leaf(self, dtype, shape, kind=None, grad=None):
        name = super().leaf(dtype, shape, kind, grad)
        self.known[name] = tuple(shape)
        return name

    def tensor(self, dtype, shape, kind=None):
        text = super().tensor(dtype, shape, kind)
        self.known[text] = tuple(shape)
        return text

    def values(self):
        """Dicts of values of the variables: those of the program first."""
        out = [{name: int(n) for name, n in self.names.items()}]
        ends = [{name: b[end] for name, b in self.bounds.items()} for end in (0, 1)]
        ones = {name: min(max(1, b[0]), b[1]) for name, b in self.bounds.items()}
        others = [{name: self.random.randrange(b[0], b[1] + 1) for name, b in self.bounds.items()} for _ in range(2)]
        for v in self.random.sample([*ends, ones, *others], 3):
            if v not in out:
                out.append(v)
        return out


# Texts of programs whose arguments are sizes; {x} is a tensor of shape {s}, {k} one of its sizes, {n} a variable.
SIZED = """T.arange({n}); T.arange({n}+1); T.arange(1, {n}+1); T.arange({n}, dtype=T.float32); T.zeros({n}, 3); T.ones(2, {n}); T.full(({n}, {n}), 2.5); T.eye({n}); T.eye({n}, 3)
T.linspace(0, 1, {n}); {x}[:{k}]; {x}[{k}//2:]; {x}[:{k}//2]; {x}[{k}-1:]; {x}[..., 1:]; {x}[..., :-1]; {x}[..., ::2]; {x}[..., 1::3]; {x}[..., ::-1]; {x}[::-2]; {x}[{k}-1]; {x}[-1]; {x}[0]; {x}[{k}//2]
{x}.pad(({n}, 1)); {x}.pad((1, {n})); {x}.pad((1, 1), mode='reflect'); {x}.pad((1, 2), mode='replicate'); {x}.pad((1, 1), mode='circular'); {x}.narrow(0, 0, {k}//2); {x}.narrow(0, {k}//2, 1); {x} + {n}; {n} * {x}; {x} - {k}
{x}.repeat({n}, *[1] * {r}); {x}.roll({n}, 0); {x}.roll(1, 0); {x}.roll(-{n}); {x}.roll((1, 2), (0, -1)); {x}.expand({n}, *{x}.shape); {x}.unsqueeze(0).expand({n}, *[-1] * {r})
T.cat([{x}, {x}[:1]]); T.cat([{x}, {x}, {x} * 2], -1); T.stack([{x}, {x} + 1], -1); {x}.reshape(-1); {x}.reshape({x}.shape[0], -1); {x}.flatten(0); {x}.reshape(*{x}.shape, 1).squeeze(-1)
{x}.argmax(0); {x}.argmin(-1); {x}.argmax(); {x}.max(0); {x}.min(-1, keepdim=True); {x}.sort(0); {x}.argsort(-1); {x}.topk(1, -1); {x}.kthvalue(1); {x}.median(); {x}.cumsum(0); {x}.cumprod(-1); {x}.cummax(0); {x}.logcumsumexp(0)
{x}.split(2); {x}.split({k}); {x}.split([{k}//2, {k}-{k}//2]); {x}.chunk(2); {x}.unbind(0); {x}.unfold(0, 1, 1); {x}[T.arange({k})]; {x}[[0, -1]]; {x}[T.tensor([0, 0])]; {x}.take(T.tensor([0, -1])); {x}.gather(0, {x}.long() * 0)
{x}.index_select(0, T.arange({k})); {x}.scatter(0, {x}.long() * 0, 1); {x}.index_add(0, T.tensor([0, 0]), T.cat([{x}[:1], {x}[:1]])); {x}.masked_fill({x} > 0, 1); {x}.where({x} > 0, {n}); T.where({x} > {n}, {x}, 0)
T.arange({n}) < {k}; T.arange({n}) @ T.arange({n}); T.arange({n}).reshape({n}, 1) * T.arange({n}); {x}.diff(); {x}.tril(); {x}.diagonal(); {x}.diag(); {x}.trace(); {x}.mean(0); {x}.var(0); {x}.std(-1); {x}.softmax(0); {x}.log_softmax(-1)
F.one_hot(T.arange({n}) % 3, 3); F.one_hot(T.arange({n}), {n}); T.meshgrid(T.arange({n}), T.arange(3), indexing='ij'); {x}.norm(); {x}.prod(0); {x}.all(0); {x}.any(-1); {x}.logsumexp(0); {x} @ {x}.t(); {x}.nonzero(); {x}[{x} > 0]; {x}.numel() * {x}
{x}.split([1, {k}-1]); {x}.split([{k}//2, 0, {k}-{k}//2]); {x}.tensor_split(2); {x}.tensor_split(3, -1); {x}.tensor_split([1, -1]); {x}.chunk(1); {x}.chunk(3, -1); {x}.hsplit([1]); {x}.unfold(0, 1, 2); {x}.unfold(-1, 2, 1); {x}.unfold(-1, 3, 2)
{x}.roll({k}//2, 0); {x}.roll({k}-1, 0); {x}.roll(({n}, -{n}), (0, -1)); T.arange(7).roll({n}); T.linspace(-1, 2.5, {n}); T.linspace(3, 0, {n}+1); F.one_hot(T.arange(4), {n}); {x}.tril(1); {x}.triu(-1); {x}.pad(({n}, 1), mode='replicate'); {x}.pad(({k}, 0), mode='circular'); {x}.pad(({k}-1, 1), mode='reflect')
F.conv1d({x}.reshape(1, 1, -1), T.arange(3.0).reshape(1, 1, 3), padding=1); F.conv1d({x}.reshape(1, 1, -1), T.arange(4.0).reshape(2, 1, 2), stride=2, padding=1); F.conv1d({x}.reshape(1, 1, -1), T.arange(3.0).reshape(1, 1, 3), padding=2, dilation=2)
F.conv2d({x}.reshape(1, 1, {k}, -1), T.arange(6.0).reshape(1, 1, 2, 3), padding=(1, 1), stride=(1, 2)); F.conv2d({x}.reshape(1, 1, {k}, -1), T.arange(9.0).reshape(1, 1, 3, 3), padding=1); F.conv1d({x}.reshape(1, 1, -1), T.arange(2.0).reshape(2, 1, 1), stride=3)
F.max_pool1d({x}.reshape(1, 1, -1), 2, 2, 1); F.avg_pool1d({x}.reshape(1, 1, -1), 3, 1, 1); F.avg_pool2d({x}.reshape(1, 1, {k}, -1), 3, 2, 1, count_include_pad=False); F.max_pool2d({x}.reshape(1, {k}, -1), 3, 1, 1); F.unfold({x}.reshape(1, 1, {k}, -1), 3, padding=1); F.max_pool1d({x}.reshape(1, 1, -1), 1, 3)
{x}.quantile(0.5, 0); {x}.unique(); {x}.bincount(); {x}.histc(4, -1, 1); {x}.flip(0).flip(0); {x}.movedim(0, -1); {x}.rot90(); {x}.outer({x}); {x}.searchsorted({x}); {x}.layer_norm({x}.shape[-1:]); {x}.select(0, {k}-1); {x}.repeat_interleave(2, 0); T.tril_indices({n}, {n})"""
SIZED = [text.strip() for text in SIZED.replace("\n", ";").split(";")]


def sized_call(w):
    """A program of SIZED."""
    shape = w.shape(1, 3)
    text = w.pick(*SIZED)
    w.name = (re.search(r"\.(\w+)\(", text) or re.search(r"()", "")).group(1) or "index"
    x = w.tensor(w.dtype, shape) if "{x}" in text else ""
    n, k = w.pick(*w.names), repr(shape[0])
    w.lines.append("y = " + text.format(x=x if x.isidentifier() else f"({x})", n=n, k=k, r=len(shape), s=shape))


def random_program(seed):
    w = SizedWriter(seed)
    if w.chance(0.4):
        sized_call(w)
    else:
        way = w.random.choices(list(fuzz_calls.WAYS), list(fuzz_calls.WAYS.values()))[0]
        w.name = w.pick(*{"x": METHODS, "T": FUNCTIONS, "F": fuzz_calls.FUNCTIONAL}[way])
        if w.dtype in fuzz_calls.INTEGERS and w.kind == "special":
            w.kind = "normal"
        fuzz_calls.call(w, w.name, way)
    if w.chance(0.25):
        w.lines.append(w.pick("z = [t * 2 + 1 for t in tensors(y)]", "z = [t.flip(0) if t.ndim else t for t in tensors(y)]", "z = [t.cumsum(0) if t.ndim else t for t in tensors(y)]",
                              "z = [t[:1] if t.ndim else t for t in tensors(y)]", "z = [t.sum() for t in tensors(y)]", "z = [T.cat([t, t]) if t.ndim else t for t in tensors(y)]"))
        w.lines.append("y = [y, z]")
    return w


# --- running ---


class Maker:
    """make() of a program: tensors of numbers, or windows of symbolic size of memory that holds other numbers besides."""

    def __init__(self, values):
        self.values = values

    def __call__(self, dtype, shape, kind, seed, layout="rows", grad=False):
        words = kind.split()
        if len(words) > 1:  # "below n", "distinct n 0"
            words[1] = str(max(eval(words[1], {}, dict(self.values)), 1))
            kind = " ".join(words)
        plain = tuple(strata_number(n) for n in shape)
        values = numbers(dtype, plain, kind, seed)
        if all(isinstance(n, int) for n in shape):
            out = Ours.make(dtype, plain, kind, seed, layout)
        else:
            most = tuple(n if isinstance(n, int) else n.max for n in shape)
            memory = numbers(dtype, most, "small", seed + 1)
            memory[tuple(slice(0, n) for n in plain)] = values
            if layout == "columns":
                out = strata.Tensor(np.ascontiguousarray(memory.T)).realize().permute(*reversed(range(len(most))))
            else:
                out = strata.Tensor(memory).realize()
            out = out.cast(dtype).realize() if dtype == "bfloat16" else out
            out = out.shrink(tuple((0, n) for n in shape))
            if layout == "every other":
                out = out.contiguous().realize()
            elif layout == "backwards":
                out = out.contiguous()
        return out.detach().requires_grad_() if grad else out


def tensors(results):
    return [t for t in flat(results) if isinstance(t, strata.Tensor)]


def strata_number(n):
    return n if isinstance(n, int) else n.evaluate()


class Run:
    """A program with sizes: what it gives, and what is wrong where it gives nothing."""

    def __init__(self, w, values, sizes, function=None):
        self.env = {"T": strata, "F": strata.nn.functional, "tensors": tensors, "make": Maker(values), **sizes}
        self.error, self.results, self.gradients, self.changed = None, [], {}, []
        try:
            for line in w.inputs:
                exec(line, self.env)
            given = {name: self.env[name] for name in w.inputs_of} | sizes
            y = (function or program(w))(**given)
            self.results = [v for v in flat(y)]
            if w.changes:
                with strata.no_grad():
                    for name in w.inputs_of:
                        if self.env[name].dtype != "bool":
                            self.env[name].add_(1)
            self.arrays = [array_of(v) for v in self.results]
            self.changed = [array_of(self.env[name]) for name in w.inputs_of]
        except Exception as e:
            self.error = e

    def differentiate(self, w):
        total = None
        for k, r in enumerate(self.results):
            if isinstance(r, strata.Tensor) and r.requires_grad and r.is_floating_point():
                part = (r * (1.0, 0.5, -1.25)[k % 3]).sum()
                total = part if total is None else total + part
        try:
            if total is not None:
                total.backward()
            self.gradients = {name: self.env[name].grad for name in w.leaves}
            self.gradients = {name: None if g is None else array_of(g) for name, g in self.gradients.items()}
        except Exception as e:
            self.error = e


def array_of(v):
    """The array and the dtype of a result."""
    if isinstance(v, (strata.Expr, strata.Variable)):
        return np.asarray(v.evaluate()), "int64"
    if isinstance(v, strata.Tensor) or isinstance(v, (bool, int, float)):
        return array(v), dtype_of(v)
    return np.asarray(0), str(type(v))


def program(w):
    """The function of the program's last lines."""
    text = f"def step({', '.join([*w.inputs_of, *w.names])}):\n" + "".join(f"    {line}\n" for line in w.steps) + "    return y\n"
    env = {"T": strata, "F": strata.nn.functional, "tensors": tensors}
    exec(text, env)
    return env["step"]


class Finding(Exception):
    def __init__(self, w, kind, text, values=None):
        super().__init__(f"{kind} {w.name}: {text}" + (f", with {values}" if values else ""))
        self.key, self.lines = f"{kind} {w.name}", [f"bounds {w.bounds}", *w.lines]


def is_same(got, want, is_exact, slack):
    (a, dtype), (b, other) = got, want
    if dtype != other or a.shape != b.shape:
        return False
    if dtype not in FLOATS or is_exact:
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(near(a, b, dtype, slack).all())


def shown(v):
    return f"{v[1]} {v[0].tolist()}" if v[0].size < 60 else f"{v[1]} of shape {v[0].shape}"


def operation_of(error, w):
    """The operation that an error names; else what the program calls."""
    found = re.match(r"\[(\w+)\]|(\w+)\(\)", str(error))
    return (found.group(1) or found.group(2)) if found else w.name


class Fuzzing:
    """Programs by their seeds; what they found, and which operations refuse symbolic sizes."""

    def __init__(self, failures=10, prints=False):
        self.most, self.prints = failures, prints
        self.counts, self.failures, self.refusals, self.words = (collections.Counter() for _ in range(4))
        self.words = {}
        self.devices = [d.name for d in strata.Device.list() if d.name in ("LLVM", "INTERP")]

    def one(self, seed):
        choose = random.Random(seed)
        device = choose.choices(self.devices, [3 if d == "LLVM" else 2 for d in self.devices])[0]
        threads, exact = choose.choice((1, 2)), choose.random() < 0.4
        try:
            w = random_program(seed)
        except (ValueError, IndexError, ZeroDivisionError):  # a recipe that has no program for these sizes
            self.counts["not written"] += 1
            return
        if self.prints:
            print(f"--only {seed} on {device}: {w.lines}", flush=True)
        try:
            with warnings.catch_warnings(), strata.flags(DEVICE=device, THREADS=threads, DETERMINISTIC=exact):
                warnings.simplefilter("ignore")
                self.check(w, exact)
        except Finding as e:
            self.failures[e.key] += 1
            if self.failures.total() <= self.most:
                print(f"FAILED --only {seed}, on {device}{', DETERMINISTIC' if exact else ''}: {e}\n   " + "\n   ".join(e.lines), flush=True)

    def check(self, w, exact):
        w.inputs, w.steps = [t for t in w.lines if "make(" in t[:10]], [t for t in w.lines if "make(" not in t[:10]]
        w.inputs_of = [t.split(" = ")[0] for t in w.inputs]
        w.changes = w.chance(0.3)
        if any(name in re.findall(r"\w+", " ".join(w.lines)) for name in w.names):
            self.counts["programs"] += 1
        else:
            self.counts["without variables"] += 1
            return
        variables = {name: strata.Variable(name, *b) for name, b in w.bounds.items()}
        captured, calls, is_refused = strata.jit(program(w)), 0, False
        for values in w.values():
            plain = Run(w, values, dict(values))
            if plain.error is not None:
                if not isinstance(plain.error, REFUSED):
                    raise Finding(w, "crash with numbers", f"{type(plain.error).__name__}: {plain.error}", values)
                self.counts["refused with numbers"] += 1
                continue
            sizes = {name: v.bind(values[name]) for name, v in variables.items()}
            ours = Run(w, values, sizes)
            if ours.error is not None:
                self.refused(w, ours.error, values)
                is_refused = True
                continue
            self.compare(w, "value", ours, plain, exact, values)
            if w.leaves and not w.changes and not (w.name in SQUEEZE and 1 in values.values()):
                self.slopes(w, ours, plain, exact, values)
            if is_refused or w.name in READ:
                continue
            again = Run(w, values, {name: v.bind(values[name]) for name, v in variables.items()}, captured)
            if again.error is not None:
                self.refused(w, again.error, values, " in jit")
                is_refused = True
                continue
            calls += 1
            self.compare(w, "captured", again, plain, exact, values)
        if calls > 2 and captured.runs > 2:
            self.counts["captured again"] += 1
        self.counts["replays"] += max(0, captured.replays)

    def refused(self, w, error, values, where=""):
        if not isinstance(error, REFUSED) or isinstance(error, strata.InternalError) or "InternalError" in type(error).__name__:
            raise Finding(w, "crash", f"{type(error).__name__}: {error}{where}", values)
        key = operation_of(error, w) + where
        self.refusals[key] += 1
        self.words.setdefault(key, f"{type(error).__name__}: {str(error).splitlines()[0]}")

    def compare(self, w, kind, ours, plain, exact, values):
        if len(ours.arrays) != len(plain.arrays):
            raise Finding(w, kind, f"{len(ours.arrays)} results, not {len(plain.arrays)}", values)
        for k, (got, want) in enumerate(zip(ours.arrays + ours.changed, plain.arrays + plain.changed)):
            if not is_same(got, want, False, 4.0):
                if w.name in SQUEEZE and 1 in values.values():  # a symbolic size is none that vanishes
                    self.counts["squeezed"] += 1
                    return
                raise Finding(w, kind, f"result {k}: {shown(got)}, not {shown(want)}", values)
            if exact and not is_same(got, want, True, 0.0):
                self.counts["other bits under DETERMINISTIC"] += 1
        self.counts[kind + "s"] += 1

    def slopes(self, w, ours, plain, exact, values):
        plain.differentiate(w)
        if plain.error is not None:
            self.counts["no gradient with numbers"] += 1
            return
        ours.differentiate(w)
        if ours.error is not None:
            self.refused(w, ours.error, values, " gradient")
            return
        for name, want in plain.gradients.items():
            got = ours.gradients[name]
            if (got is None or want is None) and all(g is None or g[0].size == 0 for g in (got, want)):  # nothing to compare: the part was left out, or empty
                continue
            if (got is None) != (want is None) or (got is not None and not is_same(got, want, False, 20.0)):
                raise Finding(w, "gradient", f"of {name}: {got and shown(got)}, not {want and shown(want)}", values)
        self.counts["gradients"] += 1

    refused_by = "refused for symbolic sizes, by operation:"

    def report(self, seconds):
        print(f"{seconds:.1f} s; " + ", ".join(f"{n} {name}" for name, n in sorted(self.counts.items())))
        if self.refusals:
            print(self.refused_by)
        for key, n in self.refusals.most_common():
            print(f"  {n:5d} {key:24s} {self.words[key][:150]}")
        for key, n in sorted(self.failures.items()):
            print(f"  {n} {key}")
        print(f"{self.failures.total()} findings")


def fuzz(count, seed, failures=10, only=None, prints=False, kind=Fuzzing):
    """@return what was found: a `kind`"""
    out, begin, seeds = kind(failures, prints), time.time(), random.Random(seed)
    for _ in range(count if only is None else 1):
        out.one(seeds.randrange(2**48) if only is None else only)
    out.report(time.time() - begin)
    return out


def run(arguments, fuzz):
    """The exit status of a fuzzer with these flags: 1 where it finds something, 2 for wrong flags."""
    config = {"count": 1000, "seed": 1, "only": None, "failures": 10, "print": 0}
    if len(arguments) % 2 == 1:
        print(f"{arguments[-1]} takes a value", file=sys.stderr)
        return 2
    for flag, value in zip(arguments[::2], arguments[1::2]):
        if not flag.startswith("--") or flag[2:] not in config:
            print(f"unknown flag {flag}", file=sys.stderr)
            return 2
        if not (value.isascii() and value.isdigit()):
            print(f"{flag} takes a number, not '{value}'", file=sys.stderr)
            return 2
        config[flag[2:]] = int(value)
    return 1 if fuzz(config["count"], config["seed"], config["failures"], config["only"], config["print"] != 0).failures else 0


def main(arguments):
    return run(arguments, fuzz)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
