"""The fuzzer of functions of functions: vmap(), jvp() and checkpoint() of random programs give what the programs give.

    fuzz_transforms.py [--count N] [--seed S] [--only PROGRAM_SEED] [--failures F] [--print 1]

Programs are those of fuzz_calls.py. vmap(f) is compared with a loop over f, values under DETERMINISTIC bit by bit, gradients by the inputs
near; jvp(f) with backward(): <u, jvp along t> is <gradient along u, t>; checkpoint(f) with f, values and gradients under DETERMINISTIC bit
by bit. What an operation refuses on tensors without elements alone is counted by operation.
"""
import functools
import random
import sys
import warnings

import numpy as np
import strata

import fuzz_calls
import fuzz_sizes
from fuzz_sizes import REFUSED, array_of, is_same, operation_of, program, run, shown, tensors
from fuzz_values import FLOATS, numbers

# What gives the memory of its argument in another order than its elements.
NOT_DRAWN = set("as_strided as_strided_scatter".split())
METHODS = [n for n in fuzz_calls.METHODS if n not in NOT_DRAWN]
FUNCTIONS = [n for n in fuzz_calls.FUNCTIONS if n not in NOT_DRAWN]
STEPS = ("", "", "z = [t * t + 1 for t in tensors(y) if t.dtype != 'bool']", "z = [t.flip(0) if t.ndim else t for t in tensors(y)]", "z = [t.cumsum(0) if t.ndim else t for t in tensors(y)]",
         "z = [t.softmax(-1) if t.ndim else t for t in tensors(y) if t.is_floating_point()]", "z = [T.cat([t, t]) if t.ndim else t for t in tensors(y)]",
         "z = [T.vmap(lambda v: v.sum())(t) if t.ndim else t for t in tensors(y)]", "z = [t.sort(-1).values if t.ndim else t for t in tensors(y) if t.dtype != 'bool']",
         "z = [T.scan(lambda h, v: (h + v * 0.5, h), T.zeros_like(t[0]), t) if t.ndim and t.shape[0] else t for t in tensors(y) if t.is_floating_point()]",
         "z = [T.grad(lambda v: (v * v.tanh()).sum())(t) for t in tensors(y) if t.is_floating_point()]")


def random_program(seed):
    w = fuzz_calls.Writer(seed)
    way = w.random.choices(list(fuzz_calls.WAYS), list(fuzz_calls.WAYS.values()))[0]
    w.name = w.pick(*{"x": METHODS, "T": FUNCTIONS, "F": fuzz_calls.FUNCTIONAL}[way])
    if w.dtype in fuzz_calls.INTEGERS and w.kind == "special":
        w.kind = "normal"
    fuzz_calls.call(w, w.name, way)
    step = w.pick(*STEPS)
    if step:
        w.lines += [step, "y = [y, z]"]
    return w


class Given:
    """make() of a program: element `turn` of a batch."""

    def __init__(self, turn):
        self.turn, self.leaves = turn, []

    def __call__(self, dtype, shape, kind, seed, layout="rows", grad=False):
        self.leaves.append((dtype, numbers(dtype, shape, kind, seed + 7919 * self.turn), layout, grad))
        return self.leaves[-1]


def tensor(dtype, values, grad=False):
    out = strata.Tensor(values)
    out = out.cast(dtype) if str(out.dtype) != dtype else out
    return out.realize().requires_grad_() if grad else out.realize()


def floats_of(results):
    return [t for t in tensors(results) if t.is_floating_point()]


def weighted(results):
    """A scalar that depends on each float of the results in its own way; nothing where there are none."""
    total = None
    for k, t in enumerate(floats_of(results)):
        if t.requires_grad and t.numel():
            part = (t * np.random.default_rng(k).uniform(0.5, 1.5, size=tuple(t.shape)).astype("float32")).sum().float()
            total = part if total is None else total + part
    return total


class Finding(Exception):
    def __init__(self, w, kind, text):
        super().__init__(f"{kind} {w.name}: {text}")
        self.key, self.lines = f"{kind} {w.name}", w.lines


class Fuzzing(fuzz_sizes.Fuzzing):
    """Programs by their seeds; what they found, and which operations refuse tensors without elements."""

    refused_by = "refused, by operation:"

    def one(self, seed):
        choose = random.Random(seed)
        device, exact = choose.choice(self.devices), choose.random() < 0.7
        try:
            w = random_program(seed)
        except (ValueError, IndexError, ZeroDivisionError):  # a recipe that has no program for these sizes
            self.counts["not written"] += 1
            return
        if self.prints:
            print(f"--only {seed} on {device}: {w.lines}", flush=True)
        try:
            with warnings.catch_warnings(), strata.flags(DEVICE=device, DETERMINISTIC=exact):
                warnings.simplefilter("ignore")
                self.check(w, choose, exact)
        except Finding as e:
            self.failures[e.key] += 1
            if self.failures.total() <= self.most:
                print(f"FAILED --only {seed}, on {device}{', DETERMINISTIC' if exact else ''}: {e}\n   " + "\n   ".join(e.lines), flush=True)

    def check(self, w, choose, exact):
        w.inputs, w.steps = [t for t in w.lines if "make(" in t[:10]], [t for t in w.lines if "make(" not in t[:10]]
        w.inputs_of = [t.split(" = ")[0] for t in w.inputs]
        self.f = lambda *args: tensors(program(w)(*args))
        turns = [self.given(w, turn) for turn in range(choose.choice((1, 2, 3, 3)))]
        if not w.inputs_of:
            self.counts["without inputs"] += 1
            return
        try:
            self.wanted = [self.f(*[tensor(d, v) for d, v, _, _ in turn]) for turn in turns]
            arrays = [[array_of(t) for t in of] for of in self.wanted]
        except Exception as e:
            if not isinstance(e, REFUSED):
                raise Finding(w, "crash alone", f"{type(e).__name__}: {e}")
            self.counts["refused alone"] += 1
            return
        self.counts["programs"] += 1
        if len({tuple((a.shape, d) for a, d in of) for of in arrays}) == 1:
            self.attempt(w, "vmap", lambda: self.mapped(w, choose, turns, arrays, exact))
        self.attempt(w, "checkpoint", lambda: self.checkpointed(w, turns[0], arrays[0], exact))
        self.attempt(w, "jvp", lambda: self.along(w, turns[0]))

    def given(self, w, turn):
        given = Given(turn)
        env = {"make": given, "T": strata}
        for line in w.inputs:
            exec(line, env)
        return given.leaves

    def attempt(self, w, kind, check):
        try:
            check()
            self.counts[kind] += 1
        except REFUSED as e:
            if isinstance(e, strata.InternalError):
                raise Finding(w, f"crash in {kind}", f"{type(e).__name__}: {e}") from e
            key = f"{kind} {operation_of(e, w)}"
            self.refusals[key] += 1
            self.words.setdefault(key, f"{type(e).__name__}: {str(e).splitlines()[0]}")
        except Finding:
            raise
        except Exception as e:
            raise Finding(w, f"crash in {kind}", f"{type(e).__name__}: {e}") from e

    def compare(self, w, kind, got, want, exact, slack=4.0):
        if len(got) != len(want):
            raise Finding(w, kind, f"{len(got)} results, not {len(want)}")
        for k, (a, b) in enumerate(zip(got, want)):
            if (a is None) != (b is None) or (a is not None and not is_same(a, b, exact, slack)):
                raise Finding(w, kind, f"result {k}: {a and shown(a)}, not {b and shown(b)}")

    def slopes(self, w, f, inputs):
        """The gradients of weighted() by the inputs; nothing where there is none, or an operation has no derivative."""
        try:
            total = weighted(f(*inputs))
            if total is None:
                return None
            total.backward()
            return [None if x.grad is None else array_of(x.grad) for x in inputs]
        except REFUSED:
            return None

    def mapped(self, w, choose, turns, arrays, exact):
        axes = [choose.choice((0, 0, 0, -1, None)) for _ in w.inputs_of]
        if all(a is None for a in axes):
            axes[0] = 0
        wanted = arrays
        if None in axes:  # these are the same for all: those of element 0
            turns = [[turns[0][k] if a is None else leaf for k, (a, leaf) in enumerate(zip(axes, turn))] for turn in turns]
            wanted = [[array_of(t) for t in self.f(*[tensor(d, v) for d, v, _, _ in turn])] for turn in turns]
            if len({tuple((a.shape, d) for a, d in of) for of in wanted}) != 1:
                return
        inputs = []
        for k, axis in enumerate(axes):
            dtype, values, _, _ = turns[0][k]
            all_of = values if axis is None else np.stack([turn[k][1] for turn in turns], axis)
            inputs.append((dtype, all_of))
        f = strata.vmap(self.f, in_axes=tuple(axes))
        got = [array_of(t) for t in f(*[tensor(*x) for x in inputs])]
        self.compare(w, "vmap", got, [(np.stack([of[k][0] for of in wanted]), wanted[0][k][1]) for k in range(len(wanted[0]))], exact)
        if w.kind == "special":  # sums of infinities have an order
            return
        inputs = [tensor(dtype, values, dtype in FLOATS) for dtype, values in inputs]
        got = f(*inputs)
        weights = [np.random.default_rng(k).uniform(0.5, 1.5, size=tuple(t.shape)).astype("float32") for k, t in enumerate(floats_of(got))]
        total = weighted(got)
        if total is None:
            return
        total.backward()
        slopes = [None if x.grad is None else array_of(x.grad) for x in inputs]
        each = []
        for i, turn in enumerate(turns):
            own = [tensor(d, v, d in FLOATS) for d, v, _, _ in turn]
            part = None
            for weight, t in zip(weights, floats_of(self.f(*own))):
                if t.requires_grad and t.numel():
                    one = (t * weight[i]).sum().float()
                    part = one if part is None else part + one
            if part is None:
                return
            part.backward()
            each.append([None if x.grad is None else array_of(x.grad) for x in own])
        for k, axis in enumerate(axes):
            of = [e[k] for e in each]
            if any(g is None for g in of):
                continue
            want = (np.stack([g[0] for g in of], axis), of[0][1]) if axis is not None else (sum(g[0].astype("float64") for g in of).astype(of[0][0].dtype), of[0][1])
            self.compare(w, "vmap gradient", [slopes[k]], [want], False, 40.0)
        self.counts["vmap gradients"] += 1

    def checkpointed(self, w, turn, arrays, exact):
        f = lambda *args: strata.checkpoint(self.f)(*args)
        self.compare(w, "checkpoint", [array_of(t) for t in f(*[tensor(d, v) for d, v, _, _ in turn])], arrays, exact)
        want = self.slopes(w, self.f, [tensor(d, v, d in FLOATS) for d, v, _, _ in turn])
        if want is None:
            return
        inputs = [tensor(d, v, d in FLOATS) for d, v, _, _ in turn]
        total = weighted(f(*inputs))
        if total is None:  # tracked inside of the program alone
            return
        total.backward()
        got = [None if x.grad is None else array_of(x.grad) for x in inputs]
        zeros = [(np.zeros_like(g[0]), g[1]) if g is not None and n is None else n for g, n in zip(got, want)]  # checkpoint gives zeros
        # Of several results the gradients are added up in another order.
        is_one = len(floats_of(self.f(*inputs))) == 1
        if not is_one and any(t.itemsize == 2 for t in floats_of(self.f(*inputs))):  # sums of 16 bits on the way to more
            return
        self.compare(w, "checkpoint gradient", got, zeros, exact and is_one, 40.0)
        self.counts["checkpoint gradients"] += 1

    def along(self, w, turn):
        where = [k for k, (d, v, _, _) in enumerate(turn) if d in ("float32", "float64")]
        if not where or any(d in ("float16", "bfloat16") for d, _, _, _ in turn):
            return
        others = [tensor(d, v) for d, v, _, _ in turn]
        f = lambda *xs: self.f(*[xs[where.index(k)] if k in where else x for k, x in enumerate(others)])
        inputs = [tensor(*turn[k][:2], True) for k in where]
        total = None
        cotangents = []
        for k, t in enumerate(f(*inputs)):
            cotangents.append(None)
            if t.is_floating_point() and t.requires_grad and t.numel():
                cotangents[-1] = np.random.default_rng(k).uniform(0.5, 1.5, size=tuple(t.shape))
                part = (t.double() * cotangents[-1]).sum()
                total = part if total is None else total + part
        if total is None:
            return
        total.backward()
        tangents = [np.random.default_rng(100 + k).standard_normal(tuple(x.shape)).astype("float64") for k, x in enumerate(inputs)]
        y, dy = strata.jvp(f, tuple(x.detach() for x in inputs), tuple(tensor(x.dtype.name, t.astype(x.dtype.name)) for x, t in zip(inputs, tangents)))
        left = [(u * d.double().numpy()).ravel() for u, d in zip(cotangents, dy) if u is not None]
        right = [(x.grad.double().numpy() * t).ravel() for x, t in zip(inputs, tangents) if x.grad is not None]
        left, right = (np.concatenate(part) if part else np.zeros(1) for part in (left, right))
        with np.errstate(all="ignore"):
            size = np.abs(left).sum() + np.abs(right).sum()
            if np.isfinite(size) and abs(left.sum() - right.sum()) > 1e-4 * size + 1e-6:
                raise Finding(w, "jvp", f"<u, jvp> is {left.sum()}, and <gradient, t> {right.sum()}")
        self.counts["jvp compared"] += int(np.isfinite(size))


fuzz = functools.partial(fuzz_sizes.fuzz, kind=Fuzzing)


def main(arguments):
    return run(arguments, fuzz)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
