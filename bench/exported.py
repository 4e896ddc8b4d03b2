"""Exported C beside the same captured function in process, PyTorch, NumPy and onnx2c, in one process, call by call in turn.

    [ONNX2C=DIR] /usr/bin/python3 bench/exported.py --build DIR [--filter TEXT] [--turns N]

DIR is a build folder with the module (build/release by default). One thread. The C file is compiled by clang -O3 for this
processor, and called from Python, as the captured function is. The convolutions have the shapes of onnx2c's own benchmarks. With a
checkout of onnx2c, built in DIR/build, its C file of the same model is compiled with the same options. A row prints median times in
microseconds and the medians of ratios by turn; the results are compared. Prints Markdown.
"""
import ctypes
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import tempfile

import turns

ARGUMENTS = turns.begin(__doc__)

import numpy as np  # noqa: E402

import strata  # noqa: E402
from strata import Tensor, nn  # noqa: E402

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

RANDOM = np.random.default_rng(1)
CLANG = shutil.which("clang-19") or shutil.which("clang") or "cc"
OPTIONS = ["-O3", "-march=native", "-shared", "-fPIC", "-w"]
WORDS = open("/proc/cpuinfo").read() if platform.system() == "Linux" else ""
TARGET = "avx512" if "avx512bw" in WORDS else "avx2" if "avx2" in WORDS else "generic"


def weights(*shape):
    return Tensor((RANDOM.standard_normal(shape) * 0.1).astype("f4")).realize()


def convolution(x, w, stride, padding, groups=1):
    """Channels in, size, (channels out, kernel), stride, padding, groups."""
    kernel = weights(w[0], x[0] // groups, w[1], w[1])
    plain = torch.from_numpy(kernel.numpy().copy()) if torch else None
    return (1, x[0], x[1], x[1]), lambda x: x.conv2d(kernel, stride=stride, padding=padding, groups=groups), \
        torch and (lambda x: torch.nn.functional.conv2d(x, plain, stride=stride, padding=padding, groups=groups)), None


def digits(batch):
    """The shape of the net that `./run` trains: 64 pixels, 32 hidden ones, 10 digits."""
    w = [weights(64, 32), weights(32), weights(32, 10), weights(10)]
    a, b, c, d = [v.numpy().copy() for v in w]
    t = [torch.from_numpy(v) for v in (a, b, c, d)] if torch else None
    return (batch, 64), lambda x: (x @ w[0] + w[1]).relu() @ w[2] + w[3], \
        torch and (lambda x: torch.addmm(t[3], torch.addmm(t[1], x, t[0]).relu_(), t[2])), \
        lambda x: np.maximum(x @ a + b, 0) @ c + d


def small_cnn():
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
                        nn.Linear(16 * 14 * 14, 10)).eval()
    return (1, 1, 28, 28), lambda x: net(x), None, None


CASES = {
    "digits net, batch 1": lambda: digits(1),
    "digits net, batch 64": lambda: digits(64),
    "small CNN 28x28": small_cnn,
    "conv 7x7 s2 3->64 224x224": lambda: convolution((3, 224), (64, 7), 2, 3),
    "conv 3x3 64->64 56x56": lambda: convolution((64, 56), (64, 3), 1, 1),
    "conv 1x1 256->64 28x28": lambda: convolution((256, 28), (64, 1), 1, 0),
    "conv 3x3 depthwise 32 112x112": lambda: convolution((32, 112), (32, 3), 1, 1, 32),
    "conv 1x1 32->64 112x112": lambda: convolution((32, 112), (64, 1), 1, 0),
}


def compiled(source, folder):
    library = folder / (source.stem + ".so")
    subprocess.run([CLANG, *OPTIONS, source, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def exported(run, x, y, folder):
    """A call of the C function, on arrays."""
    run.export_c(folder / "net", target=TARGET, lines=False)
    function = compiled(folder / "net.c", folder).net_run
    bytes_ = int(re.search(r"#define NET_ARENA_BYTES (\d+)", (folder / "net.h").read_text())[1])
    whole = np.zeros(bytes_ + 128, "u1")
    arena = whole[-whole.ctypes.data % 64:]
    given = [address(x), address(y), address(arena), ctypes.c_size_t(bytes_ + 64), None, None]

    def call():
        status = function(*given)
        assert status == 0 and whole is not None, status

    return call


def by_onnx2c(run, x, y, folder):
    """A call of onnx2c's function; None where it is not here."""
    if "ONNX2C" not in os.environ:
        return None
    run.to_onnx(folder / "net.onnx")
    program = pathlib.Path(os.environ["ONNX2C"]) / "build" / "onnx2c"
    (folder / "peer.c").write_bytes(subprocess.run([program, folder / "net.onnx"], check=True, capture_output=True).stdout)
    function, given = compiled(folder / "peer.c", folder).entry, [address(x), address(y)]
    return lambda: function(*given)


def row(name, make):
    shape, f, theirs, plain = make()
    array = RANDOM.standard_normal(shape).astype("f4")
    x, run = Tensor(array).realize(), strata.jit(f)
    with strata.no_grad(), tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run(x), run(x)
        wanted = run(x).numpy().copy()
        out, peer_out = np.zeros_like(wanted), np.zeros_like(wanted)
        x_torch = torch and torch.from_numpy(array)
        calls = [exported(run, array, out, folder), lambda: run(x), by_onnx2c(run, array, peer_out, folder),
                 theirs and (lambda: theirs(x_torch)), plain and (lambda: plain(array))]
        calls[0]()
        assert np.allclose(out, wanted, rtol=1e-4, atol=1e-4), "the exported function differs"
        if calls[2]:
            calls[2]()
            assert np.allclose(peer_out, wanted, rtol=1e-3, atol=1e-3), "onnx2c's function differs"
        there = [c for c in calls if c]
        # Short calls are repeated, so that a turn takes 50 us or more.
        each = turns.medians(there, 5)
        repeats = max(1, int(5e-5 / min(each)))
        many = [lambda c=c: [c() for _ in range(repeats)] for c in there]
        times = iter(turns.times(many, ARGUMENTS.turns))
    cells, ours = [], None
    for call in calls:
        if not call:
            cells.append("not measured")
            continue
        t = next(times)
        ours = ours or t
        us = f"{statistics.median(t) / repeats * 1e6:.1f}"
        cells.append(us if t is ours else f"{us} ({statistics.median(a / b for a, b in zip(ours, t)):.2f})")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    print(f"strata {strata.__version__}, target {TARGET}, {os.path.basename(CLANG)} {' '.join(OPTIONS[:2])}\n")
    print("| function | exported C us | in process (C / it) | onnx2c (C / it) | torch (C / it) | NumPy (C / it) |\n|---|---|---|---|---|---|")
    for name, make in CASES.items():
        if ARGUMENTS.filter in name:
            row(name, make)


if __name__ == "__main__":
    main()
