#!/usr/bin/env python3
"""Builds and simplifies the expressions of data/exprs.txt with a tinygrad checkout; prints a Markdown table.

usage: symbolic_tinygrad.py CHECKOUT FILE

Works with the trees that have UOp.variable and simplify (2024 and later). The variables are made once; building is
evaluating the compiled Python expression on them. tinygrad keeps nodes by weak reference, so nothing is warm but its
own caches.
"""
import re
import statistics
import sys
import time

SECONDS, FEWEST, MOST = 0.5, 9, 400


def timed(call):
    """Median and minimum seconds of `call`."""
    call()
    samples, end = [], time.perf_counter() + SECONDS
    while len(samples) < FEWEST or (time.perf_counter() < end and len(samples) < MOST):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples), min(samples)


def text_of(seconds):
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def variable(UOp, name, low, high):
    try:
        return UOp.variable(name, low, high, param=True)  # newer trees tell parameters from loop variables
    except TypeError:
        return UOp.variable(name, low, high)


def programs(path):
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            name, ranges, text, _ideal = (field.strip() for field in line.split(";"))
            yield name, [r.split(":") for r in ranges.split()], text


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    try:
        from tinygrad.uop.ops import UOp
    except ImportError:
        try:
            from tinygrad.ops import UOp
        except ImportError as error:
            sys.exit(f"symbolic_tinygrad: no tinygrad with UOp in {sys.argv[1]}: {error}")
    print("| expression | build+simplify | minimum | left | result |\n|---|---|---|---|---|")
    for name, ranges, text in programs(sys.argv[2]):
        names = {n: variable(UOp, n, int(low), int(high)) for n, low, high in ranges}
        code = compile(text, name, "eval")
        result = eval(code, {}, names).simplify().render()
        median, least = timed(lambda: eval(code, {}, names).simplify())
        left = len(re.findall(r"//|%", result))
        print(f"| {name} | {text_of(median)} | {text_of(least)} | {left} | `{result}` |", flush=True)


main()
