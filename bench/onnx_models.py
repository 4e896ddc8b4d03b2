"""ONNX models beside the same models in PyTorch, in one process, call by call in turn: ResNet-18 and MobileNet-v2 as
torch.onnx.export writes them.

    /usr/bin/python3 bench/onnx_models.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the time of load(), of the first call in a
process where nothing is cached, of the first call where the cache on disk has the kernels, the median times of a captured
call and of PyTorch's, their ratio, and the largest difference of the results by the largest result. Prints Markdown.
"""
import os
import subprocess
import sys
import tempfile
import time

import turns

ARGUMENTS = turns.begin(__doc__, model="", input="")

import numpy as np  # noqa: E402

import strata  # noqa: E402

if ARGUMENTS.model:  # a process of its own, for the seconds of load() and of the first call
    begin = time.perf_counter()
    model = strata.onnx.load(ARGUMENTS.model)
    loaded = time.perf_counter()
    model(np.load(ARGUMENTS.input)).realize()
    print(loaded - begin, time.perf_counter() - loaded)
    sys.exit()

import torch  # noqa: E402

import workloads  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
MODELS = [("ResNet-18", workloads.resnet18, (1, 3, 224, 224)), ("ResNet-18", workloads.resnet18, (8, 3, 64, 64)),
          ("MobileNet-v2", workloads.mobilenet_v2, (1, 3, 224, 224))]


def first_calls(model, given, cache):
    """The seconds of load() and of the first call in two processes, of which the second finds the kernels of the first on disk."""
    command = [sys.executable, __file__, "--build", ARGUMENTS.build, "--threads", str(ARGUMENTS.threads), "--model", model, "--input", given]
    environment = {**os.environ, "STRATA_CACHE_DIR": cache, "STRATA_DISK_CACHE": "1"}
    runs = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(2)]
    return [[float(word) for word in run.stdout.split()] for run in runs]


def row(name, make, shape, folder):
    torch.manual_seed(1)
    net = make(torch.nn, torch).eval()
    x = torch.randn(shape)
    model, given = os.path.join(folder, "model.onnx"), os.path.join(folder, "x.npy")
    torch.onnx.export(net, x, model, input_names=["x"], output_names=["y"], opset_version=16)
    np.save(given, x.numpy())
    with tempfile.TemporaryDirectory() as cache:
        (load, cold), (_, warm) = first_calls(model, given, cache)
    ours = strata.jit(strata.onnx.load(model).__call__)
    mine = strata.Tensor(x.numpy()).realize()

    def theirs():
        with torch.no_grad():
            return net(x)

    wanted = theirs().numpy()
    error = np.abs(ours(mine).numpy() - wanted).max() / np.abs(wanted).max()
    a, b = turns.medians([lambda: ours(mine).realize(), theirs], ARGUMENTS.turns)
    size = " x ".join(map(str, shape))
    print(f"| {name}, {size} | {load:.3f} | {cold:.2f} | {warm:.2f} | {a * 1e3:.2f} | {b * 1e3:.2f} | {a / b:.2f} | {error:.1e} |", flush=True)


print("| model, input | load, s | first call, s | with cache, s | ms | torch, ms | ratio | error |\n|---|---|---|---|---|---|---|---|")
for name, make, shape in MODELS:
    if ARGUMENTS.filter in name:
        with tempfile.TemporaryDirectory() as folder:
            row(name, make, shape, folder)
