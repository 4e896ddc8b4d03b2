"""Sorts and selections beside NumPy and PyTorch, in one process, call by call in turn.

    /usr/bin/python3 bench/sorts.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the median over the turns of the time of
Strata, of the quickest peer, and their ratio. The peers of an argsort are stable, as Strata's is. Then n is doubled six
times, and the exponent of each operation is printed: 1 is linear. Prints Markdown.
"""
import math
import statistics

import turns

ARGUMENTS = turns.begin(__doc__)

import numpy as np  # noqa: E402
import torch  # noqa: E402

import strata  # noqa: E402
from strata import Tensor  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
RANDOM = np.random.default_rng(1)

# A name, and the operation along the last axis in Strata, PyTorch and NumPy.
OPERATIONS = [
    ("sort", lambda x: x.sort(-1).values, lambda x: x.sort(-1)[0], lambda x: np.sort(x, -1)),
    ("argsort", lambda x: x.argsort(-1), lambda x: x.argsort(dim=-1, stable=True), lambda x: np.argsort(x, -1, kind="stable")),
    ("topk 10", lambda x: x.topk(10).indices, lambda x: x.topk(10)[1], lambda x: np.argpartition(x, x.shape[-1] - 10, -1)),
    ("median", lambda x: x.median(-1).values, lambda x: x.median(-1)[0],
     lambda x: np.partition(x, (x.shape[-1] - 1) // 2, -1)),
    ("unique", lambda x: x.unique(), lambda x: x.unique(), np.unique),
]


def functions(operation, shape, dtype):
    array = RANDOM.standard_normal(shape).astype(dtype) if dtype != "i4" else RANDOM.integers(-1000, 1000, shape, "i4")
    _, ours, theirs, numpys = operation
    x, y = Tensor(array).realize(), torch.from_numpy(array)
    return [lambda: ours(x).realize(), lambda: theirs(y), lambda: numpys(array)]


def row(operation, shape, dtype):
    name = f"{operation[0]} {dtype} {'x'.join(map(str, shape))}"
    if ARGUMENTS.filter not in name:
        return
    ours, *peers = turns.medians(functions(operation, shape, dtype), ARGUMENTS.turns)
    print(f"| {name} | {ours * 1e6:.1f} us | {min(peers) * 1e6:.1f} us | {ours / min(peers):.2f} |", flush=True)


def exponent(operation):
    """The slope of log(time) over log(n), by least squares."""
    sizes = [20_000 << k for k in range(7)]
    times = [turns.medians(functions(operation, (n,), "f4")[:1], ARGUMENTS.turns)[0] for n in sizes]
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in times]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)
    print(f"| {operation[0]} | {sizes[0]} to {sizes[-1]} | {slope:.2f} |", flush=True)


def main():
    print(f"strata {strata.__version__}, torch {torch.__version__}, {ARGUMENTS.threads} threads\n")
    print("| operation | Strata | quickest peer | / peer |\n|---|---|---|---|")
    for dtype in ("f4", "f8", "i4"):
        for shape in [(1000, 1003), (100_000,), (1_000_000,)]:
            for operation in OPERATIONS:
                if operation[0] != "unique" or len(shape) == 1:
                    row(operation, shape, dtype)
    if ARGUMENTS.filter:
        return
    print("\n| operation | n | exponent |\n|---|---|---|")
    for operation in OPERATIONS:
        exponent(operation)


if __name__ == "__main__":
    main()
