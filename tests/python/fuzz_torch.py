"""The fuzzer of the Python module: random programs beside PyTorch (CPU).

    fuzz_torch.py [--count N] [--seed S] [--only PROGRAM_SEED] [--failures F] [--modes calls,chains,replays,sums] [--print 1]
"""
import collections
import random
import re
import sys
import time
import warnings

import numpy as np
import strata
import torch

import fuzz_calls
import fuzz_chains
import fuzz_known
import fuzz_sums
from fuzz_values import near, FLOATS, NATIVE, SINGLE, WIDE, Ours, array, coarser, dtype_of, flat, wrong_at

REFUSED = (strata.Error, TypeError, ValueError, IndexError)


class Run:
    """What a program gives in one library: its results, and what is wrong with it, where it is refused."""

    def __init__(self, library, lines):
        self.library, self.env = library, {"T": library.T, "F": library.F, "make": library.make}
        self.error, self.results, self.gradients = None, [], {}
        try:
            for line in lines:
                exec(line, self.env)
            self.results = flat(self.env["y"])
        except Exception as e:  # PyTorch's are of all kinds
            self.error = e

    def differentiate(self, leaves, weights):
        """The gradients of the leaves, of a number that depends on all results."""
        total = None
        for k, r in enumerate(self.results):
            if hasattr(r, "requires_grad") and r.requires_grad and r.is_floating_point():
                part = (r * float(weights[k % len(weights)])).sum()
                total = part if total is None else total + part
        self.gradients = {name: None for name in leaves}
        if total is not None:
            total.backward()
            self.gradients = {name: self.env[name].grad for name in leaves}


def is_like(v):
    return isinstance(v, (bool, int, float, np.bool_, torch.Tensor, strata.Tensor))


class Finding(Exception):
    def __init__(self, w, kind, text, **more):
        self.found = fuzz_known.Found(kind, w.name, text, w.kind, lines=w.lines, **more)
        super().__init__(f"{kind} {w.name}: {text}")


def different(w, kind, what, got, wants, slack):
    """Raises where a result is none of what it may be."""
    floats = [d for d, _ in w.tensors.values() if d in FLOATS] if kind == "gradient" else []
    coarsest = None
    for d in [*floats, *(d for d in re.findall(r"dtype=T\.(\w+)", "".join(w.lines)) if d in FLOATS), dtype_of(got)]:
        coarsest = coarser(coarsest, d)
    text, places = wrong_at(got, wants, slack, coarsest if dtype_of(got) in FLOATS else None)
    if text:
        raise Finding(w, kind, f"{what}: {text}")
    if places:
        mine, others = array(got), [array(v) for v in wants if array(v).shape == array(got).shape]
        at = places[0]
        raise Finding(w, kind, f"{what}: {len(places)} of {mine.size} elements: at {at} it is {mine[at]!r}, not " + " or ".join(repr(o[at]) for o in others), dtype=dtype_of(got),
                      got=[mine[p].item() for p in places], wants=[[o[p].item() for p in places] for o in others])


def changed_in_place(w, ours):
    """The tensors that went in, as something else."""
    with strata.no_grad():
        for name in w.tensors:
            t = ours.env.get(name)
            way = w.random.randrange(3)
            if t.dtype == "bool":
                t.assign(t.logical_not())
            elif way == 0:
                t.add_(1)
            elif way == 1:
                t.assign(t.zeros_like())
            else:
                t[...] = 0


def check_call(seed, counts):
    judge(fuzz_calls.random_call(seed), counts)


def judge(w, counts):
    native = Run(NATIVE, w.lines)
    if native.error is not None and fuzz_known.is_another_signature(native.error):
        counts["another signature"] += 1
        return
    ours = Run(Ours, w.lines)
    if ours.error is not None and not isinstance(ours.error, REFUSED):
        raise Finding(w, "crash", f"{type(ours.error).__name__}: {ours.error}")
    reference = native
    has_dtypes = True
    if native.error is not None and fuzz_known.is_gap(native.error):
        reference, has_dtypes = Run(SINGLE, w.lines), False
    if reference.error is not None:
        if ours.error is not None:
            counts["both refuse"] += 1
        else:
            if "must refuse" and fuzz_known.must_refuse(reference.error):
                raise Finding(w, "accepts", f"what PyTorch refuses: {str(reference.error).splitlines()[0]}: {[array(v).tolist() for v in ours.results if is_like(v)]}")
            counts["accepts more"] += 1
        return
    if ours.error is not None:
        raise Finding(w, "refuses", f"{type(ours.error).__name__}: {ours.error}")
    wide = Run(WIDE, w.lines)
    single = reference if reference is not native or not any(d in ("float16", "bfloat16") for d, _ in w.tensors.values()) else Run(SINGLE, w.lines)
    compare(w, ours, reference, [r for r in (single, wide) if r.error is None] or [native], has_dtypes, counts)


def is_place(x, values, places, axis):
    """Whether the values are at the places: which of equal ones is open in PyTorch."""
    if x.ndim == 0:
        return places.size == 0 or not places.any()
    if values.ndim < x.ndim:
        values, places = np.expand_dims(values, axis), np.expand_dims(places, axis)
    return np.array_equal(np.take_along_axis(x, places, axis), values, equal_nan=x.dtype.kind == "f")


def compare(w, ours, reference, others, has_dtypes, counts):
    if len(ours.results) != len(reference.results):
        raise Finding(w, "value", f"{len(ours.results)} results, not {len(reference.results)}")
    takes = [k for k, v in enumerate(ours.results) if is_like(v)]
    for k in takes:
        want = reference.results[k]
        if has_dtypes and isinstance(ours.results[k], strata.Tensor) and isinstance(want, torch.Tensor) and dtype_of(ours.results[k]) != dtype_of(want):
            raise Finding(w, "dtype", f"result {k}: {dtype_of(ours.results[k])}, not {dtype_of(want)}")
    weights = [1.0, 0.5, -1.25]
    try:
        if w.name in fuzz_known.PLACES:
            w.operand = eval(w.first, ours.env).detach()
        changed_in_place(w, ours)
        for k in takes:
            wants = [r.results[k] for r in others if len(r.results) == len(ours.results)]
            if dtype_of(ours.results[k]) not in FLOATS and reference.error is None:
                wants.append(reference.results[k])
            if k == 1 and w.name in fuzz_known.PLACES:
                if not is_place(array(w.operand), array(ours.results[0]), array(ours.results[1]), int(w.along)):
                    raise Finding(w, "value", f"the places are not those of the values: {ours.results[1].tolist()}")
                continue
            different(w, "value", f"result {k}", ours.results[k], wants, 1.0)
    except REFUSED as e:
        raise Finding(w, "refuses", f"when it runs: {e}")
    counts["compared"] += 1
    gradients(w, ours, reference, others, weights, counts)


def gradients(w, ours, reference, others, weights, counts):
    if not w.leaves:
        return
    for r in others:
        try:
            r.differentiate(w.leaves, weights)
        except RuntimeError as e:
            counts["no gradient there"] += 1
            return
    if all(g is None or g.numel() == 0 for r in others for g in r.gradients.values()):
        return
    if not any(isinstance(r, strata.Tensor) and r.requires_grad for r in ours.results):
        raise Finding(w, "gradient", "no result takes gradients; of PyTorch " + ("they are 0" if all(g is None or not g.any() for r in others for g in r.gradients.values()) else "they are not 0"))
    try:
        ours.differentiate(w.leaves, weights)
    except REFUSED as e:
        raise Finding(w, "gradient", f"refused: {e}")
    for name in w.leaves:
        g = ours.gradients[name]
        wants = [np.zeros(tuple(r.env[name].shape)) if r.gradients[name] is None else r.gradients[name] for r in others]
        g = g if g is not None else ours.env[name].zeros_like()
        if tuple(g.shape) != tuple(wants[0].shape) or dtype_of(g) != w.tensors[name][0]:
            raise Finding(w, "gradient", f"of {name}: {dtype_of(g)} {tuple(g.shape)}")
        try:
            different(w, "gradient", f"of {name}", g, wants, 10.0)
        except Finding:
            if not is_as_near_as_theirs(w, name, g, wants, weights):
                raise
            counts["gradients of 16 bits that cancel"] += 1
    counts["gradients"] += 1


def is_as_near_as_theirs(w, name, got, wants, weights):
    """Whether slopes of 16 bits are nowhere twice as far from the true ones as PyTorch's own of that dtype: terms that cancel are rounded each."""
    if dtype_of(got) not in ("float16", "bfloat16"):
        return False
    native = Run(NATIVE, w.lines)
    try:
        native.differentiate(w.leaves, weights)
    except RuntimeError:
        return False
    if native.error is not None or native.gradients[name] is None:
        return False
    got, want, theirs = (array(v).astype("float64") for v in (got, wants[-1], native.gradients[name]))
    bound = np.abs(theirs - want)
    return bool(np.isfinite(got).all() and (near(got, want, dtype_of(native.gradients[name]), 10.0) | (np.abs(got - want) <= 2 * bound)).all())


def check_steps(seed, counts):
    def fail(kind, text, lines, step):
        w = fuzz_calls.Writer(0)
        w.name, w.kind, w.lines = step.method if step else "chain", "normal", lines
        raise Finding(w, kind, text, step=step.line() if step else "")

    with strata.flags(DETERMINISTIC=True):
        fuzz_chains.check_chain(seed, fail, counts)


def check_sums(seed, counts):
    def fail(text):
        w = fuzz_calls.Writer(0)
        w.name, w.kind, w.lines = "sums", "normal", [text]
        raise Finding(w, "value", text)

    with strata.flags(DETERMINISTIC=seed % 4 == 0):
        fuzz_sums.check_sum(seed, fail, counts)


MODES = {"calls": (check_call, 77), "chains": (check_steps, 21), "sums": (check_sums, 2)}
DEVICES = (("INTERP", 90), ("LLVM", 9), ("CLANG", 1))  # CLANG starts a compiler for each kernel


def drawn(random, weighted):
    names = [name for name, _ in weighted]
    return random.choices(names, [n for _, n in weighted])[0]


class Fuzzing:
    """Programs by their seeds, and what was found."""

    def __init__(self, modes, failures=10, prints=False):
        self.modes, self.most, self.prints = modes, failures, prints
        self.counts, self.known, self.failures = collections.Counter(), collections.Counter(), collections.Counter()
        self.devices = [(n, k) for n, k in DEVICES if n in [d.name for d in strata.Device.list()]]

    def one(self, seed):
        choose = random.Random(seed)
        mode = drawn(choose, [(m, MODES[m][1]) for m in self.modes])
        device = drawn(choose, self.devices) if mode != "sums" else drawn(choose, [(n, {"INTERP": 30, "LLVM": 60}.get(n, 10)) for n, _ in self.devices])
        if self.prints:
            print(f"{mode} on {device}, --only {seed}", flush=True)
        try:
            with warnings.catch_warnings(), strata.flags(DEVICE=device):
                warnings.simplefilter("ignore")
                MODES[mode][0](seed, self.counts)
        except Finding as e:
            why = fuzz_known.explained(e.found)
            if why:
                self.known[why] += 1
                return
            self.failures[f"{e.found.kind} {e.found.name}"] += 1
            if self.failures.total() <= self.most:
                print(f"FAILED --only {seed}, on {device}: {e}\n   " + "\n   ".join(e.found.lines), flush=True)

    def report(self, seconds):
        total = sum(self.counts.values())
        print(f"{seconds:.1f} s; " + ", ".join(f"{n} {name}" for name, n in sorted(self.counts.items())))
        if self.known:
            print("explained: " + ", ".join(f"{n} {name}" for name, n in sorted(self.known.items())))
        for key, n in sorted(self.failures.items()):
            print(f"  {n} {key}")
        print(f"{self.failures.total()} findings")


def fuzz(count, seed, modes=tuple(MODES), failures=10, only=None, prints=False):
    """@return what was found: a Fuzzing"""
    out, begin, seeds = Fuzzing(modes, failures, prints), time.time(), random.Random(seed)
    for _ in range(count if only is None else 1):
        out.one(seeds.randrange(2**48) if only is None else only)
    out.report(time.time() - begin)
    return out


def main(arguments):
    config = {"count": 1000, "seed": 1, "only": None, "failures": 10, "modes": ",".join(MODES), "print": 0}
    if len(arguments) % 2 == 1:
        print(f"{arguments[-1]} takes a value", file=sys.stderr)
        return 2
    for flag, value in zip(arguments[::2], arguments[1::2]):
        name = flag[2:]
        if not flag.startswith("--") or name not in config:
            print(f"unknown flag {flag}", file=sys.stderr)
            return 2
        if name == "modes":
            if not set(value.split(",")) <= set(MODES):
                print(f"--modes takes some of {','.join(MODES)}, not '{value}'", file=sys.stderr)
                return 2
        elif not (value.isascii() and value.isdigit()):
            print(f"{flag} takes a number, not '{value}'", file=sys.stderr)
            return 2
        config[name] = value if name == "modes" else int(value)
    torch.set_num_threads(1)
    out = fuzz(config["count"], config["seed"], tuple(config["modes"].split(",")), config["failures"], config["only"], config["print"] != 0)
    return 1 if out.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
