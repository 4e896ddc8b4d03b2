"""Elementwise functions beside PyTorch and NumPy, in one process, call by call in turn.

    /usr/bin/python3 bench/formulas.py --build DIR [--filter TEXT] [--threads N] [--turns N] [--size N]

DIR is a build folder with the module (build/release by default). A row prints the median over the turns of the time of
Strata an element, of PyTorch and of NumPy, and the median of the ratios of Strata's time to the quicker one's. Prints
Markdown.
"""
import statistics

import turns

ARGUMENTS = turns.begin(__doc__, size="100000")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import strata  # noqa: E402
from strata import Tensor  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
RANDOM = np.random.default_rng(1)
SIZE = int(ARGUMENTS.size)


def standard():
    return [RANDOM.standard_normal(SIZE)]


def positive():
    return [RANDOM.uniform(0.1, 10, SIZE)]


def unit():
    return [RANDOM.uniform(-0.99, 0.99, SIZE)]


def angles():
    return [RANDOM.uniform(-1000, 1000, SIZE)]


def pairs():
    return positive() + standard()


# A name, the inputs, and the function in Strata, PyTorch and NumPy (None: it has none).
FORMULAS = [
    ("exp", standard, Tensor.exp, torch.exp, np.exp),
    ("exp2", standard, Tensor.exp2, torch.exp2, np.exp2),
    ("expm1", standard, Tensor.expm1, torch.expm1, np.expm1),
    ("log", positive, Tensor.log, torch.log, np.log),
    ("log2", positive, Tensor.log2, torch.log2, np.log2),
    ("log1p", positive, Tensor.log1p, torch.log1p, np.log1p),
    ("sin", standard, Tensor.sin, torch.sin, np.sin),
    ("sin of angles", angles, Tensor.sin, torch.sin, np.sin),
    ("cos", standard, Tensor.cos, torch.cos, np.cos),
    ("tan", standard, Tensor.tan, torch.tan, np.tan),
    ("asin", unit, Tensor.asin, torch.asin, np.arcsin),
    ("acos", unit, Tensor.acos, torch.acos, np.arccos),
    ("atan", standard, Tensor.atan, torch.atan, np.arctan),
    ("sinh", standard, Tensor.sinh, torch.sinh, np.sinh),
    ("cosh", standard, Tensor.cosh, torch.cosh, np.cosh),
    ("tanh", standard, Tensor.tanh, torch.tanh, np.tanh),
    ("asinh", standard, Tensor.asinh, torch.asinh, np.arcsinh),
    ("atanh", unit, Tensor.atanh, torch.atanh, np.arctanh),
    ("erf", standard, Tensor.erf, torch.erf, None),
    ("erfc", standard, Tensor.erfc, torch.erfc, None),
    ("erfinv", unit, Tensor.erfinv, torch.erfinv, None),
    ("sigmoid", standard, Tensor.sigmoid, torch.sigmoid, None),
    ("silu", standard, Tensor.silu, torch.nn.functional.silu, None),
    ("gelu", standard, Tensor.gelu, torch.nn.functional.gelu, None),
    ("gelu tanh", standard, lambda x: x.gelu(approximate="tanh"),
     lambda x: torch.nn.functional.gelu(x, approximate="tanh"), None),
    ("softplus", standard, Tensor.softplus, torch.nn.functional.softplus, None),
    ("lgamma", positive, Tensor.lgamma, torch.lgamma, None),
    ("digamma", positive, Tensor.digamma, torch.digamma, None),
    ("pow", pairs, lambda x, y: x**y, torch.pow, np.power),
    ("atan2", pairs, lambda x, y: x.atan2(y), torch.atan2, np.arctan2),
    ("fmod", pairs, lambda x, y: x.fmod(y), torch.fmod, np.fmod),
]


def row(name, inputs, dtype, ours, theirs, numpys):
    name = f"{name} {dtype}"
    if ARGUMENTS.filter not in name:
        return
    arrays = [a.astype(dtype) for a in inputs()]
    mine, their = [Tensor(a).realize() for a in arrays], [torch.from_numpy(a) for a in arrays]
    runs = [lambda: ours(*mine).realize(), lambda: theirs(*their)] + ([lambda: numpys(*arrays)] if numpys else [])
    found = turns.times(runs, ARGUMENTS.turns)
    ns = [f"{statistics.median(t) / SIZE * 1e9:.2f}" for t in found] + ["-"]
    ratio = statistics.median(a / min(peers) for a, *peers in zip(*found))
    print(f"| {name} | {ns[0]} | {ns[1]} | {ns[2]} | {ratio:.2f} |", flush=True)


def main():
    print(f"strata {strata.__version__}, torch {torch.__version__}, numpy {np.__version__}, {ARGUMENTS.threads} threads,"
          f" {SIZE} elements\n")
    print("| function | Strata, ns an element | torch | NumPy | / quickest |\n|---|---|---|---|---|")
    for dtype in ("float32", "float64"):
        for name, inputs, ours, theirs, numpys in FORMULAS:
            row(name, inputs, dtype, ours, theirs, numpys)


if __name__ == "__main__":
    main()
