"""What Python pays for Strata: building one lazy operation, calling a captured function, importing; and `strata batch`.

    /usr/bin/python3 bench/python_calls.py --build DIR [import ops jit batch] [--filter TEXT] [--quick] [--json]

DIR is a build folder with the module and the program (build/release by default). Prints Markdown, or a line of JSON for
each row. NumPy and PyTorch stand beside the operations where they are installed: they compute, on arrays of 8x16 f32, so
that their figures are nearly all overhead; Strata builds a node. As in harness.h the rows are sampled in turn, in batches
of about 0.2 ms, and the collector of Python is off.
"""

import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

BATCH_NS = 200_000
HERE = os.path.dirname(os.path.abspath(__file__))

# Name, target in ns (None: more than one operation), and what is called: on Strata, NumPy (n), PyTorch (t).
OPS = [
    ("x + y", 1500, "x + y", "x + y", "x + y"),
    ("x - y", 1500, "x - y", "x - y", "x - y"),
    ("x * 2", 1500, "x * 2", "x * 2", "x * 2"),
    ("x / 2", 1500, "x / 2", "x / 2", "x / 2"),
    ("x + row (1, 16)", 1500, "x + row", "x + row", "x + row"),
    ("-x", 1500, "-x", "-x", "-x"),
    ("abs", 1500, "x.abs()", "abs(x)", "x.abs()"),
    ("sqrt", 1500, "x.sqrt()", "np.sqrt(x)", "x.sqrt()"),
    ("exp", 1500, "x.exp()", "np.exp(x)", "x.exp()"),
    ("tanh", 1500, "x.tanh()", "np.tanh(x)", "x.tanh()"),
    ("maximum(x, y)", 1500, "x.maximum(y)", "np.maximum(x, y)", "x.maximum(y)"),
    ("x < y", 1500, "x < y", "x < y", "x < y"),
    ("x == y", 1500, "x == y", "x == y", "x == y"),
    ("x <= 0", 1500, "x <= 0", "x <= 0", "x <= 0"),
    ("where(m, x, y)", 1500, "m.where(x, y)", "np.where(m, x, y)", "torch.where(m, x, y)"),
    ("cast to f64", 1500, "x.double()", "x.astype('float64')", "x.double()"),
    ("reshape(16, 8)", 1500, "x.reshape(16, 8)", "x.reshape(16, 8)", "x.reshape(16, 8)"),
    ("permute(1, 0)", 1500, "x.permute(1, 0)", "x.transpose(1, 0)", "x.permute(1, 0)"),
    ("expand (1, 16) to (8, 16)", 1500, "row.expand(8, 16)", "np.broadcast_to(row, (8, 16))", "row.expand(8, 16)"),
    ("x[1:]", 1500, "x[1:]", "x[1:]", "x[1:]"),
    ("x[0]", 1500, "x[0]", "x[0]", "x[0]"),
    ("pad", 1500, "x.pad((1, 1))", "np.pad(x, ((0, 0), (1, 1)))", "torch.nn.functional.pad(x, (1, 1))"),
    ("flip(0)", 1500, "x.flip(0)", "np.flip(x, 0)", "x.flip(0)"),
    ("sum(1)", 1500, "x.sum(1)", "x.sum(1)", "x.sum(1)"),
    ("max over 1", 1500, "x.max(1)", "x.max(1)", "x.amax(1)"),
    ("mean(1)", None, "x.mean(1)", "x.mean(1)", "x.mean(1)"),
    ("relu", 1500, "x.relu()", "np.maximum(x, 0)", "x.relu()"),
    ("clip(0, 1)", None, "x.clip(0, 1)", "x.clip(0, 1)", "x.clip(0, 1)"),
    ("sigmoid", None, "x.sigmoid()", None, "x.sigmoid()"),
    ("softmax(1)", None, "x.softmax(1)", None, "x.softmax(1)"),
    ("gelu", None, "x.gelu()", None, "torch.nn.functional.gelu(x)"),
    ("x @ w", None, "x @ w", "x @ w", "x @ w"),
    ("var(1)", None, "x.var(1)", "x.var(1, ddof=1)", "x.var(1)"),
]


def format_ns(ns):
    for limit, unit in ((1e3, "ns"), (1e6, "us"), (1e9, "ms"), (float("inf"), "s")):
        if ns < limit:
            value = ns / (limit / 1e3) if limit != float("inf") else ns / 1e9
            return f"{value:#.3g}".rstrip(".") + " " + unit


def batch_ns(call, count):
    loop = range(count)
    start = time.perf_counter_ns()
    for _ in loop:
        call()
    return (time.perf_counter_ns() - start) / count


def measured(calls, turns):
    """(median, minimum) of each call in ns; a call that is None gives None."""
    counts = [1 if call is None else max(1, int(BATCH_NS / min(batch_ns(call, 50) for _ in range(4)))) for call in calls]
    samples = [[] for _ in calls]
    for _ in range(turns):
        for call, count, into in zip(calls, counts, samples):
            if call is not None:
                into.append(batch_ns(call, count))
    return [(statistics.median(s), min(s)) if s else None for s in samples]


def said(target, value):
    if target is None:
        return ""
    return f"< {format_ns(target)}" + ("" if value < target else " **missed**")


class Report:
    def __init__(self, options):
        self.options = options

    def table(self, titles):
        if not self.options.json:
            print("\n| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")

    def row(self, name, cells, **figures):
        if self.options.json:
            print(json.dumps({"row": name} | figures))
        else:
            print("| " + " | ".join([name] + cells) + " |", flush=True)


def spaces():
    """Names that the expressions of OPS use: of Strata, NumPy, PyTorch; None where one is not installed."""
    import strata

    def arrays(make, less):
        names = {"x": make((8, 16), 2.5), "y": make((8, 16), 1.5), "row": make((1, 16), 0.5), "w": make((16, 8), 0.5)}
        return names | {"m": less(names["x"], names["y"])}

    ours = arrays(lambda shape, v: strata.full(shape, v).contiguous().realize(), lambda a, b: (a < b).realize())
    out = [ours, None, None]
    try:
        import numpy

        out[1] = arrays(lambda shape, v: numpy.full(shape, v, "float32"), numpy.less) | {"np": numpy}
    except ImportError:
        pass
    try:
        import torch

        torch.set_num_threads(1)
        out[2] = arrays(lambda shape, v: torch.full(shape, v), torch.lt) | {"torch": torch}
    except ImportError:
        pass
    return out


def bench_ops(report, options):
    names = spaces()
    calls, rows = [], []
    for row in OPS:
        if options.filter not in row[0]:
            continue
        rows.append(row)
        for names_of_one, text in zip(names, row[2:]):
            absent = names_of_one is None or text is None
            calls.append(None if absent else eval("lambda: " + text, names_of_one))
    all_figures = measured(calls, options.turns)
    report.table(["one lazy operation, from Python", "Strata", "minimum", "NumPy", "PyTorch", "target"])
    for k, (name, target, *_) in enumerate(rows):
        ours, *peers = all_figures[3 * k : 3 * k + 3]
        cells = [format_ns(ours[0]), format_ns(ours[1])] + [format_ns(p[0]) if p else "" for p in peers]
        figures = dict(zip(("numpy_ns", "torch_ns"), (p[0] if p else None for p in peers)))
        report.row(name, cells + [said(target, ours[0])], median_ns=ours[0], min_ns=ours[1], **figures)


def bench_jit(report, options):
    import strata

    x, y = (strata.full((4,), v).contiguous().realize() for v in (1.0, 2.0))
    kept = []
    add, scale = strata.jit(lambda a, b: a + b), strata.jit(lambda a, k: a * k)

    def keep():
        if len(kept) == 64:
            kept.clear()
        kept.append(add(x, y))

    rows = [("add(x, y)", lambda: add(x, y)), ("add(x, y), results are kept", keep), ("scale(x, k=2)", lambda: scale(x, k=2))]
    for _, call in rows:
        for _ in range(3):
            call()
    report.table(["a captured function of one kernel, four elements", "median", "minimum", "target"])
    for (name, _), (median, least) in zip(rows, measured([call for _, call in rows], options.turns)):
        report.row(name, [format_ns(median), format_ns(least), said(1500, median)], median_ns=median, min_ns=least)


def import_us(module):
    """What `import module` takes in a process of its own, as -X importtime says."""
    told = subprocess.run([sys.executable, "-X", "importtime", "-c", f"import {module}"], capture_output=True, text=True)
    found = re.findall(rf"\| +(\d+) \| {module}$", told.stderr, re.MULTILINE)
    return int(found[-1]) if found else None


def forget_files(folder):
    """Has the system drop its copies of the files below a folder: the next import reads them from the disk.

    Not those that a process has mapped: this one must not have imported the module."""
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.open(os.path.join(path, name), os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def bench_import(report, options):
    folder = os.path.join(options.build, "python", "strata")
    report.table(["import, a new process", "median", "minimum", "target"])
    rows = [("strata", "strata", False, 60e6), ("strata, its files not in memory", "strata", True, 60e6)]
    rows += [("numpy", "numpy", False, None), ("torch", "torch", False, None)]
    for name, module, is_cold, target in rows:
        if import_us(module) is None:
            continue
        samples = []
        for _ in range(5 if module == "torch" else max(5, options.turns // 4)):
            if is_cold:
                forget_files(folder)
            samples.append(import_us(module) * 1e3)
        median = statistics.median(samples)
        cells = [format_ns(median), format_ns(min(samples)), said(target, median)]
        report.row(name, cells, median_ns=median, min_ns=min(samples))


def bench_batch(report, options):
    count = 10_000 if options.quick else 100_000
    target = 5e9 * count / 100_000
    with tempfile.TemporaryDirectory() as folder:
        requests = os.path.join(folder, "requests.jsonl")
        with open(requests, "w", encoding="utf-8") as file:
            subprocess.run([sys.executable, os.path.join(HERE, "view_requests.py"), str(count)], stdout=file, check=True)
        samples, in_process = [], []
        for _ in range(3):
            before, start = os.times().children_user, time.perf_counter_ns()
            program = [os.path.join(options.build, "strata"), "batch", requests]
            subprocess.run(program, stdout=subprocess.DEVNULL, check=True)
            samples.append(time.perf_counter_ns() - start)
            in_process.append((os.times().children_user - before) * 1e9)
    report.table(["`strata batch`", "median", "minimum", "its own processor time", "target"])
    median = statistics.median(samples)
    cells = [format_ns(median), format_ns(min(samples)), format_ns(min(in_process)), said(target, median)]
    report.row(f"{count:,} requests about views", cells, median_ns=median, min_ns=min(samples), user_ns=min(in_process))


class Options:
    build, filter, json, quick = "build/release", "", False, False

    def __init__(self, words):
        self.groups = []
        words = iter(words)
        for word in words:
            if word in GROUPS:
                self.groups.append(word)
            elif word in ("--json", "--quick"):
                setattr(self, word[2:], True)
            elif word in ("--build", "--filter"):
                setattr(self, word[2:], next(words))
            else:
                sys.exit(f"python_calls.py: unknown group or option {word}\n{__doc__}")
        self.turns = 20 if self.quick else 100


GROUPS = {"import": bench_import, "ops": bench_ops, "jit": bench_jit, "batch": bench_batch}  # import comes first


def main():
    options = Options(sys.argv[1:])
    package = os.path.abspath(os.path.join(options.build, "python"))
    sys.path.insert(0, package)
    os.environ["PYTHONPATH"] = package
    gc.disable()
    if not options.json:
        print(f"Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}")
    for name, bench in GROUPS.items():
        if name in (options.groups or GROUPS):
            bench(Report(options), options)


if __name__ == "__main__":
    main()
