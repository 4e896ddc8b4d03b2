"""Scans and scatters beside PyTorch, NumPy and a copy of the same bytes, in one process, call by call in turn; a cascade
of filters beside a loop in C++, which the host's compiler compiles for this machine.

    /usr/bin/python3 bench/scans.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the median over the turns of the time of
Strata, of the quickest peer, their ratio, and the time of a copy of the same size over Strata's: the share of the speed
of memory. Then n is doubled five times, and the exponent of each operation is printed: 1 is linear. Prints Markdown.
"""
import ctypes
import math
import os
import statistics
import subprocess
import tempfile

import turns

ARGUMENTS = turns.begin(__doc__)

import numpy as np  # noqa: E402
import torch  # noqa: E402

import strata  # noqa: E402
from strata import Tensor  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
RANDOM = np.random.default_rng(1)


def medians(runs):
    return turns.medians(runs, ARGUMENTS.turns)


class Operation:
    """A name, how inputs of n elements are made, and the operation in Strata, PyTorch and NumPy (None: it has none)."""

    def __init__(self, name, inputs, ours, theirs, numpys=None):
        self.name, self.inputs, self.ours, self.theirs, self.numpys = name, inputs, ours, theirs, numpys

    def functions(self, *size):
        arrays = self.inputs(*size)
        ours = [Tensor(a).realize() for a in arrays]
        theirs = [torch.from_numpy(a) for a in arrays]
        out = [lambda: self.ours(*ours).realize()]
        out += [lambda: self.theirs(*theirs)] if self.theirs else []
        out += [lambda: self.numpys(*arrays)] if self.numpys else []
        return out, lambda: arrays[0].copy()


def floats(*shape):
    return [RANDOM.standard_normal(shape).astype(np.float32)]


def places(count, n):
    return [RANDOM.standard_normal(count).astype(np.float32), RANDOM.integers(0, n, count), np.zeros(n, np.float32)]


def along(axis):
    return [
        Operation("cumsum", floats, lambda x: x.cumsum(axis), lambda x: x.cumsum(axis), lambda x: x.cumsum(axis)),
        Operation("cumprod", floats, lambda x: x.cumprod(axis), lambda x: x.cumprod(axis), lambda x: x.cumprod(axis)),
        Operation("cummax", floats, lambda x: x.cummax(axis)[0], lambda x: x.cummax(axis)[0],
                  lambda x: np.maximum.accumulate(x, axis)),
        Operation("logcumsumexp", floats, lambda x: x.logcumsumexp(axis), lambda x: x.logcumsumexp(axis)),
        Operation("linear_recurrence", floats, lambda x: x.linear_recurrence(0.5, axis), None),
    ]


SECTIONS = np.array([[1, 2, 1, 1, -1.6, 0.8], [0.5, 0, -0.5, 1, -0.15, 0.45], [1, -1, 0.5, 1, 0.1, 0.2],
                     [1, 0.5, 0.1, 1, -0.9, 0.3]], np.float32)
CASCADE = """
extern "C" void cascade(const float* x, float* y, long n, const float* c) {
  float s[4][2] = {};
  for (long t = 0; t < n; ++t) {
    float v = x[t];
    for (int k = 0; k < 4; ++k) {
      const float* const b = c + 6 * k;
      const float out = b[0] * v + s[k][0];
      s[k][0] = b[1] * v - b[4] * out + s[k][1];
      s[k][1] = b[2] * v - b[5] * out;
      v = out;
    }
    y[t] = v;
  }
}
"""


def cascade():
    """The loop as a function of an array: all sections of a sample, then the next sample."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "cascade.cpp"), os.path.join(folder, "cascade.so")
        with open(source, "w") as file:
            file.write(CASCADE)
        subprocess.run([os.environ.get("CXX", "c++"), "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library],
                       check=True)
        function = ctypes.CDLL(library).cascade
    pointer = ctypes.POINTER(ctypes.c_float)

    def run(x):
        y = np.empty_like(x)
        arguments = [a.ctypes.data_as(pointer) for a in (x, y, SECTIONS)]
        function(arguments[0], arguments[1], ctypes.c_long(x.size), arguments[2])
        return y

    return run


SCATTER = Operation("scatter_add", places, lambda v, i, z: z.scatter_add(0, i, v), lambda v, i, z: z.scatter_add(0, i, v))


def row(operation, *size):
    name = f"{operation.name} {' -> '.join(map(str, size)) if operation is SCATTER else 'x'.join(map(str, size))}"
    if ARGUMENTS.filter not in name:
        return
    runs, copy = operation.functions(*size)
    ours, *peers, copied = medians(runs + [copy])
    peer = f"{min(peers) * 1e6:.1f} us | {ours / min(peers):.2f}" if peers else "- | -"
    print(f"| {name} | {ours * 1e6:.1f} us | {peer} | {copied / ours:.2f} |", flush=True)


def exponent(operation, sizes):
    """The slope of log(time) over log(n), by least squares."""
    times = [medians(operation.functions(*size)[0][:1])[0] for size in sizes]
    x, y = [math.log(size[0]) for size in sizes], [math.log(t) for t in times]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)
    print(f"| {operation.name} | {sizes[0][0]} to {sizes[-1][0]} | {slope:.2f} |", flush=True)


def main():
    print(f"strata {strata.__version__}, torch {torch.__version__}, {ARGUMENTS.threads} threads\n")
    print("| operation | Strata | quickest peer | / peer | copy / Strata |\n|---|---|---|---|---|")
    for shape, axis in [((1000, 1003), 1), ((1000, 1003), 0), ((10_000_000,), 0)]:
        for operation in along(axis):
            operation.name += f" axis {axis},"
            row(operation, *shape)
    sections = Tensor(SECTIONS).realize()
    row(Operation("sosfilt of 4 sections", floats, lambda x: x.sosfilt(sections), None, cascade()), 1_000_000)
    for count, n in [(100_000, 1000), (100_000, 2), (10_000, 10_000), (1_000_000, 1_000_000)]:
        row(SCATTER, count, n)
    if ARGUMENTS.filter:
        return
    print("\n| operation | n | exponent |\n|---|---|---|")
    for operation in along(0):
        exponent(operation, [(100_000 << k,) for k in range(6)])
    exponent(SCATTER, [(10_000 << k, 10_000 << k) for k in range(6)])  # places that caches hold


if __name__ == "__main__":
    main()
