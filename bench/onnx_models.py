"""ONNX models beside the same models in PyTorch and in Strata, in one process, call by call in turn: the models as
torch.onnx.export writes them, and the same definition with the same parameters made of strata.nn.

    /usr/bin/python3 bench/onnx_models.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the time of load(), of the first call in a
process where nothing is cached, of the first call where the cache on disk has the kernels, the median times of captured
calls of the file and of the model in Strata and of a call of PyTorch's, the file's by both, and the largest difference of
the results by the largest result. Prints Markdown.
"""
import os
import subprocess
import sys
import tempfile
import time

import turns

ARGUMENTS = turns.begin(__doc__, model="", inputs="")

import numpy as np  # noqa: E402

import strata  # noqa: E402

if ARGUMENTS.model:  # a process of its own, for the seconds of load() and of the first call
    begin = time.perf_counter()
    model = strata.onnx.load(ARGUMENTS.model)
    loaded = time.perf_counter()
    made = model(dict(np.load(ARGUMENTS.inputs)))
    for tensor in made.values() if isinstance(made, dict) else [made]:
        tensor.realize()
    print(loaded - begin, time.perf_counter() - loaded)
    sys.exit()

import torch  # noqa: E402

import workloads  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)


# --- models that workloads.py does not have: `nn` and `library` are Strata's or PyTorch's ---


def gpt_with_cache(nn, library, width=256, heads=8):
    """A layer of GPT-2: new tokens attend to the keys and values of a cache, and to earlier new ones."""

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.gelu = nn.GELU()

        def forward(self, x, past_k, past_v):
            b, t, _ = x.shape
            qkv = self.qkv(self.norm1(x)).reshape(b, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            k, v = library.cat([past_k, qkv[1]], 2), library.cat([past_v, qkv[2]], 2)
            p = (qkv[0] @ k.permute(0, 1, 3, 2) * (width // heads) ** -0.5).softmax(-1)
            x = x + self.out((p @ v).permute(0, 2, 1, 3).reshape(b, t, width))
            return x + self.down(self.gelu(self.up(self.norm2(x)))), k, v

    return Layer()


def lstm_tagger(nn, library):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(1000, 64)
            self.lstm = nn.LSTM(64, 64, 2, bidirectional=True, batch_first=True)
            self.tags = nn.Linear(128, 20)

        def forward(self, ids):
            return self.tags(self.lstm(self.words(ids))[0]).log_softmax(-1)

    return Tagger()


def yolo_head(nn, library):
    """A small detector: boxes and scores of the cells of a grid of 16x16."""
    side, anchors, classes = 16, 3, 4

    class Yolo(nn.Module):
        def __init__(self):
            super().__init__()
            layers = []
            for n, m in [(3, 16), (16, 32), (32, 64)]:
                layers += [nn.Conv2d(n, m, 3, stride=2, padding=1), nn.LeakyReLU(0.1)]
            self.body = nn.Sequential(*layers, nn.Conv2d(64, anchors * (5 + classes), 1))

        def forward(self, x):
            y = self.body(x)
            n = y.shape[0]
            y = y.reshape(n, anchors, 5 + classes, side, side).permute(0, 1, 3, 4, 2)
            steps = library.arange(side)
            columns, rows = steps.reshape(1, side).expand(side, side), steps.reshape(side, 1).expand(side, side)
            grid = library.stack([columns, rows], -1).float()
            centre, size = (y[..., :2].sigmoid() + grid) * 8, y[..., 2:4].exp() * 8
            boxes = library.cat([centre - size / 2, centre + size / 2], -1).reshape(n, anchors * side * side, 4)
            scores = (y[..., 4:5].sigmoid() * y[..., 5:].softmax(-1)).reshape(n, anchors * side * side, classes)
            return boxes, scores

    return Yolo()


def normal(*shape):
    return np.random.default_rng(1).normal(0, 1, shape).astype("float32")


# Name, definition, inputs.
MODELS = [
    ("ResNet-18, 1 x 3 x 224 x 224", workloads.resnet18, [normal(1, 3, 224, 224)]),
    ("ResNet-18, 8 x 3 x 64 x 64", workloads.resnet18, [normal(8, 3, 64, 64)]),
    ("MobileNet-v2, 1 x 3 x 224 x 224", workloads.mobilenet_v2, [normal(1, 3, 224, 224)]),
    ("U-Net block, 1 x 32 x 64 x 64", workloads.unet_block, [normal(1, 32, 64, 64)]),
    ("transformer, 4 layers, 1 x 128 x 256", workloads.transformer, [normal(1, 128, 256)]),
    ("GPT-2 layer, 1 token, cache of 255", gpt_with_cache, [normal(1, 1, 256), normal(1, 8, 255, 32), normal(1, 8, 255, 32)]),
    ("LSTM tagger, 1 x 64", lstm_tagger, [np.random.default_rng(1).integers(0, 1000, (1, 64))]),
    ("YOLO head, 1 x 3 x 128 x 128", yolo_head, [normal(1, 3, 128, 128)]),
]


def first_calls(model, inputs, cache):
    """The seconds of load() and of the first call in two processes, of which the second finds the kernels of the first on disk."""
    command = [sys.executable, __file__, "--build", ARGUMENTS.build, "--threads", str(ARGUMENTS.threads), "--model", model, "--inputs", inputs]
    environment = {**os.environ, "STRATA_CACHE_DIR": cache, "STRATA_DISK_CACHE": "1"}
    runs = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(2)]
    return [[float(word) for word in run.stdout.split()] for run in runs]


def listed(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else list(outputs.values()) if isinstance(outputs, dict) else [outputs]


def captured(call, inputs):
    """A captured call, which computes all outputs."""
    function = strata.jit(lambda *x: tuple(listed(call(*x))))
    given = [strata.Tensor(x).realize() for x in inputs]
    return lambda: [y.realize() for y in function(*given)]


def row(name, make, inputs, folder):
    parameters, mine, theirs = {}, workloads.Library(False), workloads.Library(True)
    own, net = mine.network(make, parameters).eval(), theirs.network(make, parameters).eval()
    model, given = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.npz")
    names, tensors = [f"x{k}" for k in range(len(inputs))], tuple(torch.from_numpy(x) for x in inputs)
    with torch.no_grad():
        torch.onnx.export(net, tensors, model, input_names=names, opset_version=16)
    np.savez(given, **dict(zip(names, inputs)))
    with tempfile.TemporaryDirectory() as cache:
        (load, cold), (_, warm) = first_calls(model, given, cache)
    loaded = strata.onnx.load(model)

    def of_torch():
        with torch.no_grad():
            return listed(net(*tensors))

    calls = [captured(lambda *x: loaded(*x), inputs), captured(own, inputs), of_torch]
    wanted = [y.numpy() for y in of_torch()]
    error = max(np.abs(y.numpy() - z).max() / np.abs(z).max() for call in calls[:2] for y, z in zip(call(), wanted, strict=True))
    a, b, c = turns.medians(calls, ARGUMENTS.turns)
    print(f"| {name} | {load:.3f} | {cold:.2f} | {warm:.2f} | {a * 1e3:.3f} | {b * 1e3:.3f} | {c * 1e3:.3f} | {a / b:.2f} | {a / c:.2f} | {error:.1e} |",
          flush=True)


print("| model, inputs | load, s | first call, s | with cache, s | ms | in Strata, ms | torch, ms | by Strata | by torch | error |\n"
      "|---|---|---|---|---|---|---|---|---|---|")
for name, make, inputs in MODELS:
    if ARGUMENTS.filter in name:
        with tempfile.TemporaryDirectory() as folder:
            row(name, make, inputs, folder)
