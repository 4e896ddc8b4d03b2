"""Whole workloads beside PyTorch, in one process, call by call in turn: the same network, parameters and inputs in both.

A workload is a function of a library, the parameters (filled by the first library that is asked) and whether PyTorch
freezes the network; it returns a function without arguments that computes once.

    /usr/bin/python3 bench/workloads.py --build DIR [--filter TEXT] [--threads N] [--turns N] [--memory] [--json]

DIR is a build folder with the module (build/release by default). PyTorch runs eager, and the forward passes traced and
frozen, too; the ratio is the median over the turns of Strata's time over the quicker one's. "differs" is the largest
difference of the results of the first two calls over the largest result: a workload whose results differ by more than
1e-3 fails. Prints Markdown, or a line of JSON for each row.

With --memory it measures the peak memory of a workload instead: resident bytes beyond those after the import of the
library, from the network to the fifth call, in a process for each library. Compiling is a part of it.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time

if __name__ == "__main__" and os.environ.get("WORKLOADS_READY") != "1":
    # OpenBLAS reads these when it is loaded, and some images set them to what halves it. Without the other two, glibc
    # gives the memory of large arrays back after each call, which costs PyTorch as much as the call.
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    clean |= {"WORKLOADS_READY": "1", "MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592"}
    clean.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # torch.set_num_threads() does not reach OpenBLAS, which takes all processors otherwise.
    words = sys.argv
    clean["OPENBLAS_NUM_THREADS"] = words[words.index("--threads") + 1] if "--threads" in words[:-1] else "1"
    os.execve(sys.executable, [sys.executable, *sys.argv], clean)

import numpy as np

MOST_DIFFERENCE = 1e-3
COMPARED_CALLS = 2  # the loss after a step tells wrong gradients; after more steps f32 itself differs (ResNet-18: 2e-3)
WARM_CALLS = 3


# --- networks: `nn` and `library` are Strata's or PyTorch's ---


def residual_block(nn):
    class Block(nn.Module):
        def __init__(self, width_in, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(width_in, width, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.has_shortcut = stride != 1 or width_in != width
            if self.has_shortcut:
                self.shortcut = nn.Conv2d(width_in, width, 1, stride=stride, bias=False)
                self.bn3 = nn.BatchNorm2d(width)

        def forward(self, x):
            y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
            return (y + (self.bn3(self.shortcut(x)) if self.has_shortcut else x)).relu()

    return Block


def resnet18(nn, library):
    Block = residual_block(nn)

    class ResNet18(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.pool = nn.MaxPool2d(3, stride=2, padding=1)
            widths = [64, 64, 128, 256, 512]
            for k in range(4):
                setattr(self, f"layer{k}a", Block(widths[k], widths[k + 1], 1 if k == 0 else 2))
                setattr(self, f"layer{k}b", Block(widths[k + 1], widths[k + 1], 1))
            self.fc = nn.Linear(512, 1000)

        def forward(self, x):
            x = self.pool(self.bn1(self.conv1(x)).relu())
            for k in range(4):
                x = getattr(self, f"layer{k}b")(getattr(self, f"layer{k}a")(x))
            return self.fc(x.mean((2, 3)))

    return ResNet18()


def mobilenet_v2(nn, library):
    def unit(width_in, width, kernel, stride=1, groups=1, acts=True):
        conv = nn.Conv2d(width_in, width, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(width), *([nn.ReLU6()] if acts else []))

    class Inverted(nn.Module):
        def __init__(self, width_in, width, stride, factor):
            super().__init__()
            inner = width_in * factor
            first = [] if factor == 1 else [unit(width_in, inner, 1)]
            self.body = nn.Sequential(*first, unit(inner, inner, 3, stride, inner), unit(inner, width, 1, acts=False))
            self.is_residual = stride == 1 and width_in == width

        def forward(self, x):
            return x + self.body(x) if self.is_residual else self.body(x)

    class MobileNetV2(nn.Module):
        def __init__(self):
            super().__init__()
            layers, width = [unit(3, 32, 3, 2)], 32
            for factor, out, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                               (6, 160, 3, 2), (6, 320, 1, 1)]:
                for k in range(count):
                    layers.append(Inverted(width, out, stride if k == 0 else 1, factor))
                    width = out
            self.features = nn.Sequential(*layers, unit(320, 1280, 1))
            self.fc = nn.Linear(1280, 1000)

        def forward(self, x):
            return self.fc(self.features(x).mean((2, 3)))

    return MobileNetV2()


def unet_block(nn, library):
    class UNetBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(32, 64, 3, padding=1)
            self.pool = nn.MaxPool2d(2)
            self.low = nn.Conv2d(64, 128, 3, padding=1)
            self.up = nn.Conv2d(128, 64, 1)
            self.joined = nn.Conv2d(128, 32, 3, padding=1)

        def forward(self, x):
            a = self.down(x).relu()
            b = self.up(self.low(self.pool(a)).relu())
            n, c, h, w = b.shape
            b = b.reshape(n, c, h, 1, w, 1).expand(n, c, h, 2, w, 2).reshape(n, c, 2 * h, 2 * w)
            return self.joined(library.cat([a, b], 1)).relu()

    return UNetBlock()


def cnn(nn, library):
    class CNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
            self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
            self.pool = nn.MaxPool2d(2)
            self.fc1, self.fc2 = nn.Linear(64 * 7 * 7, 128), nn.Linear(128, 10)

        def forward(self, x):
            x = self.pool(self.conv2(self.pool(self.conv1(x).relu())).relu())
            return self.fc2(self.fc1(x.reshape(x.shape[0], 64 * 7 * 7)).relu())

    return CNN()


def mlp(nn, library):
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def transformer(nn, library, width=256, heads=8, layers=4):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.gelu = nn.GELU()

        def forward(self, x):
            b, s, _ = x.shape
            qkv = self.qkv(self.norm1(x)).reshape(b, s, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            q, k, v = qkv[0], qkv[1], qkv[2]
            p = (q @ k.permute(0, 1, 3, 2) * (width // heads) ** -0.5).softmax(-1)
            x = x + self.out((p @ v).permute(0, 2, 1, 3).reshape(b, s, width))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

    return nn.Sequential(*[Block() for _ in range(layers)])


# --- what is done with them ---


class Library:
    """Strata or PyTorch, under the names that both have."""

    def __init__(self, is_torch):
        self.is_torch = is_torch
        if is_torch:
            import torch

            self.library, self.nn, self.optim = torch, torch.nn, torch.optim
            self.tensor, self.F = torch.from_numpy, torch.nn.functional
        else:
            import strata
            import strata.nn.functional
            from strata import nn, optim

            self.library, self.nn, self.optim = strata, nn, optim
            self.tensor, self.F = lambda a: strata.Tensor(a).realize(), strata.nn.functional

    def network(self, build, parameters):
        """The network; its parameters are those of `parameters`, which the first library that is asked fills."""
        net = build(self.nn, self.library)
        if not parameters:
            generator = np.random.default_rng(7)
            for name, p in net.state_dict().items():
                parameters[name] = initial(name, tuple(p.shape), generator)
        net.load_state_dict({k: self.tensor(v.copy()) for k, v in parameters.items()}, **({"strict": False} if self.is_torch else {}))
        return net


def initial(name, shape, generator):
    """Weights as He et al. draw them; norms that change little."""
    if name.endswith("running_var") or ("bn" in name and name.endswith("weight")):
        return np.ones(shape, "float32")
    if len(shape) < 2:
        return generator.normal(0, 0.02, shape).astype("float32")
    return generator.normal(0, (2 / np.prod(shape[1:])) ** 0.5, shape).astype("float32")


def forward(build, shape):
    """Workload: the network on one batch of `shape`."""

    def make(lib, parameters, frozen):
        net = lib.network(build, parameters)
        net.eval()
        x = lib.tensor(np.random.default_rng(1).normal(0, 1, shape).astype("float32"))
        if not lib.is_torch:
            call = lib.library.jit(lambda x: net(x))
            return lambda: call(x).realize()
        if frozen:
            net = lib.library.jit.freeze(lib.library.jit.trace(net, x))

        def run():
            with lib.library.no_grad():
                return net(x)

        return run

    make.has_frozen = True
    return make


def training(lib, net, optimizer):
    """A training step of the network, a function of a batch and perhaps of its classes, whose result is the loss."""
    net.train()
    chosen = getattr(lib.optim, optimizer)(list(net.parameters()), lr=1e-3)

    def run(x, target=None):
        chosen.zero_grad()
        y = net(x)
        loss = (y * y).mean() if target is None else lib.F.cross_entropy(y, target)
        loss.backward()
        chosen.step()
        return loss

    return run


def step(build, shape, optimizer, classes=None):
    """Workload: a training step of the network, whose result is the loss: cross entropy with random classes, or without
    classes the mean of squares."""

    def make(lib, parameters, frozen):
        net = lib.network(build, parameters)
        generator = np.random.default_rng(1)
        inputs = [lib.tensor(generator.normal(0, 1, shape).astype("float32"))]
        if classes is not None:
            inputs.append(lib.tensor(generator.integers(0, classes, shape[:1]).astype("int64")))
        run = training(lib, net, optimizer)
        call = run if lib.is_torch else lib.library.jit(run)
        return lambda: call(*inputs)

    make.has_frozen = False
    return make


def on_arrays(function, *shapes):
    """Workload: a function of arrays."""

    def make(lib, parameters, frozen):
        generator = np.random.default_rng(1)
        arrays = [lib.tensor(generator.normal(0, 1, s).astype("float32")) for s in shapes]
        call = (lambda *a: function(lib, *a)) if lib.is_torch else lib.library.jit(lambda *a: function(lib, *a))
        return lambda: call(*arrays)

    make.has_frozen = False
    return make


def k_means(lib, points, centres):
    distance = (centres * centres).sum(1) - 2 * (points @ centres.permute(1, 0))
    member = (distance.argmin(1)[:, None] == lib.library.arange(64)[None, :])
    member = member.float()
    return member.permute(1, 0) @ points / (member.sum(0)[:, None] + 1e-6)


def image_pipeline(lib, image):
    """Blur, gradient, sharpen and clip of three planes: 5-tap filters along both axes."""
    taps = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
    h, w = image.shape[1], image.shape[2]
    rows = sum(t * image[:, k : h - 4 + k, :] for k, t in enumerate(taps))
    blurred = sum(t * rows[:, :, k : w - 4 + k] for k, t in enumerate(taps))
    inner = image[:, 2 : h - 2, 2 : w - 2]
    return (inner + 1.5 * (inner - blurred)).clip(0, 1)


WORKLOADS = [
    ("MLP step b128", step(mlp, (128, 784), "SGD", 10)),
    ("CNN step b64", step(cnn, (64, 1, 28, 28), "SGD", 10)),
    ("ResNet-18 b1 64^2", forward(resnet18, (1, 3, 64, 64))),
    ("ResNet-18 b8 64^2", forward(resnet18, (8, 3, 64, 64))),
    ("ResNet-18 b1 224^2", forward(resnet18, (1, 3, 224, 224))),
    ("ResNet-18 b8 224^2", forward(resnet18, (8, 3, 224, 224))),
    ("ResNet-18 b8 64^2 step", step(resnet18, (8, 3, 64, 64), "SGD", 1000)),
    ("MobileNet-v2 b1 224^2", forward(mobilenet_v2, (1, 3, 224, 224))),
    ("U-Net block 128^2", forward(unet_block, (1, 32, 128, 128))),
    ("transformer d256 s128 b8", forward(transformer, (8, 128, 256))),
    ("transformer d256 s128 b8 step", step(transformer, (8, 128, 256), "Adam")),
    ("GPT-2-small prefill s64", forward(lambda nn, library: transformer(nn, library, 768, 12, 12), (1, 64, 768))),
    ("GPT-2-small one token", forward(lambda nn, library: transformer(nn, library, 768, 12, 12), (1, 1, 768))),
    ("k-means 1e5 points, 64 centres", on_arrays(k_means, (100_000, 16), (64, 16))),
    ("image pipeline 3x1080x1920", on_arrays(image_pipeline, (3, 1080, 1920))),
]


def to_numpy(value):
    return (value.detach() if hasattr(value, "detach") else value).numpy()


def seconds(call):
    """One call, the previous result dropped before."""
    start = time.perf_counter()
    value = call()
    if hasattr(value, "realize"):
        value.realize()
    return time.perf_counter() - start


def product_rate(torch):
    """GFLOP/s of PyTorch's product of 512x512: tells OpenBLAS from the reference BLAS."""
    a = torch.ones(512, 512)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        a @ a
        times.append(time.perf_counter() - start)
    return 2 * 512**3 / statistics.median(times) / 1e9


def measure(name, make, libraries, options):
    ours, torch = libraries
    parameters = {}
    mine = make(ours, parameters, False)
    start = time.perf_counter()
    results = [to_numpy(mine())]
    first = time.perf_counter() - start
    results += [to_numpy(mine()) for _ in range(COMPARED_CALLS - 1)]
    peers = {"eager": make(torch, parameters, False)}
    if make.has_frozen:
        peers["frozen"] = make(torch, parameters, True)
    expected = [to_numpy(peers["eager"]()) for _ in results]
    differs = max(float(np.max(np.abs(r - e)) / max(np.max(np.abs(e)), 1e-30)) for r, e in zip(results, expected))
    for call in [mine, *peers.values()]:
        for _ in range(WARM_CALLS):
            call()
    times = {"strata": [], **{k: [] for k in peers}}
    for _ in range(options.turns):
        for label, call in [("strata", mine), *peers.items()]:
            if options.threads > 1:
                time.sleep(0.04)  # threads of the other library wait actively for a while
            times[label].append(seconds(call))
    middle = {k: statistics.median(v) for k, v in times.items()}
    best = min(peers, key=lambda k: middle[k])
    ratio = statistics.median(a / b for a, b in zip(times["strata"], times[best]))
    return {"strata_s": middle["strata"], "torch_s": middle[best], "torch_is": best, "ratio": ratio, "first_s": first,
            "differs": differs}


def resident(field):
    """VmRSS, or VmHWM: its peak since reset_peak(), in MB."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def reset_peak():
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")


def print_memory_of(name, kind):
    """In a process of its own: the peak memory of a workload with `kind`: strata, eager or frozen."""
    lib = Library(kind != "strata")
    if lib.is_torch:
        lib.library.set_num_threads(1)
    reset_peak()
    before = resident("VmRSS")
    call = dict(WORKLOADS)[name](lib, {}, kind == "frozen")
    for _ in range(5):
        value = call()
        if hasattr(value, "realize"):
            value.realize()
    print(resident("VmHWM") - before)


def measure_memory(name, make, options):
    row = {}
    for kind in ["strata", "eager"] + ["frozen"] * make.has_frozen:
        words = [sys.executable, __file__, "--build", options.build, "--memory-of", kind, "--filter", name]
        row[kind] = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    best = min((k for k in row if k != "strata"), key=row.get)
    return {"strata_mb": row["strata"], "torch_mb": row[best], "torch_is": best, "ratio": row["strata"] / row[best]}


class Options:
    build, filter, json, threads, turns, memory, memory_of = "build/release", "", False, 1, 15, False, None

    def __init__(self, words):
        words = iter(words)
        for word in words:
            if word in ("--json", "--memory"):
                setattr(self, word[2:], True)
            elif word in ("--build", "--filter", "--memory-of"):
                setattr(self, word[2:].replace("-", "_"), next(words))
            elif word in ("--threads", "--turns"):
                setattr(self, word[2:], int(next(words)))
            else:
                sys.exit(f"workloads.py: unknown option {word}\n{__doc__}")


def print_memory(options):
    if not options.json:
        print("| workload | Strata, MB | PyTorch, MB | / PyTorch |\n|---|---|---|---|")
    for name, make in WORKLOADS:
        if options.filter not in name:
            continue
        row = measure_memory(name, make, options)
        if options.json:
            print(json.dumps({"row": name} | row), flush=True)
        else:
            peer = f"{row['torch_mb']:.0f} {row['torch_is']}"
            print(f"| {name} | {row['strata_mb']:.0f} | {peer} | {row['ratio']:.2f} |", flush=True)


def main():
    options = Options(sys.argv[1:])
    sys.path.insert(0, os.path.abspath(os.path.join(options.build, "python")))
    os.environ["STRATA_THREADS"] = str(options.threads)
    if options.memory_of:
        return print_memory_of(options.filter, options.memory_of)
    if options.memory:
        return print_memory(options)
    libraries = [Library(False), Library(True)]
    libraries[1].library.set_num_threads(options.threads)
    gc.disable()
    if not options.json:
        torch = libraries[1].library
        print(f"{options.threads} thread(s), load {os.getloadavg()[0]:.1f}, PyTorch {torch.__version__}, whose product of"
              f" 512^3 has {product_rate(torch):.0f} GFLOP/s\n")
        print("| workload | Strata | first call | PyTorch | / PyTorch | differs |\n|---|---|---|---|---|---|", flush=True)
    failed = []
    for name, make in WORKLOADS:
        if options.filter not in name:
            continue
        row = measure(name, make, libraries, options)
        if not row["differs"] <= MOST_DIFFERENCE:
            failed.append(name)
        if options.json:
            print(json.dumps({"row": name, "threads": options.threads} | row), flush=True)
        else:
            peer = f"{row['torch_s'] * 1e3:.2f} ms {row['torch_is']}"
            print(f"| {name} | {row['strata_s'] * 1e3:.2f} ms | {row['first_s']:.2f} s | {peer} | {row['ratio']:.2f} |"
                  f" {row['differs']:.0e} |", flush=True)
        gc.collect()
    if failed:
        sys.exit(f"workloads.py: results differ from PyTorch's: {', '.join(failed)}")


if __name__ == "__main__":
    main()
