"""Fourier transforms beside PyTorch's, in one process, call by call in turn: of pairs (fft) and of real numbers (rfft).

    /usr/bin/python3 bench/transforms.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the median times of a captured call and of
PyTorch's, their ratio, the time of an eager call, and the largest difference of the results by the largest result. The
lengths are powers of two, products of small primes, and primes. Prints Markdown.
"""
import turns

ARGUMENTS = turns.begin(__doc__)

import numpy as np  # noqa: E402
import torch  # noqa: E402

import strata  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
RANDOM = np.random.default_rng(1)
SIZES = [(1, 64), (64, 256), (64, 400), (64, 1000), (64, 1024), (8, 4096), (1, 1 << 16), (4, 499), (16, 1021)]


def row(name, batch, n):
    x = RANDOM.standard_normal((batch, n, 2) if name == "fft" else (batch, n)).astype(np.float32)
    mine, yours = strata.Tensor(x).realize(), torch.from_numpy(x)
    if name == "fft":
        yours = torch.view_as_complex(yours)
    eager, their = getattr(strata.fft, name), getattr(torch.fft, name)
    captured = strata.jit(lambda v: eager(v))
    wanted = torch.view_as_real(their(yours)).numpy()
    error = np.abs(captured(mine).numpy() - wanted).max() / np.abs(wanted).max()
    a, b, c = turns.medians([lambda: captured(mine).realize(), lambda: their(yours), lambda: eager(mine).realize()], ARGUMENTS.turns)
    print(f"| {name}, {batch} x {n} | {a * 1e6:.1f} | {b * 1e6:.1f} | {a / b:.2f} | {c * 1e6:.1f} | {error:.1e} |", flush=True)


print("| transform, batch x length | us | torch, us | ratio | eager, us | error |\n|---|---|---|---|---|---|")
for name in ("fft", "rfft"):
    for size in SIZES:
        if ARGUMENTS.filter in name:
            row(name, *size)
