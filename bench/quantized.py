"""Quantised networks beside the same ones in f32, in one process, call by call in turn: whole programs that are captured.

    /usr/bin/python3 bench/quantized.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the median times in microseconds, the median of their
ratios by turn (f32 / int8), and the largest difference of the results by the largest result. Prints Markdown. The first line says
whether the processor has dot products of bytes (VNNI), without which integers are not faster.
"""
import statistics

import turns

ARGUMENTS = turns.begin(__doc__)

import numpy as np  # noqa: E402

import strata  # noqa: E402
from strata import Tensor, nn  # noqa: E402

RANDOM = np.random.default_rng(1)
# rows, then features from layer to layer
LINEAR = [(256, 784, 512), (1, 1024, 1024), (16, 1024, 1024), (1, 4096, 4096), (64, 256, 256, 256, 10), (256, 784, 512, 512, 10)]
# batch, channels from layer to layer, size of the image
CONVOLUTIONS = [(1, 64, 64, 56), (8, 32, 64, 28), (1, 128, 128, 14)]


def chain(layers):
    out = []
    for layer in layers:
        out += [layer, nn.ReLU()]
    return nn.Sequential(*out[:-1]).eval()


def cases():
    for rows, *features in LINEAR:
        name = f"Linear {rows}x" + "x".join(map(str, features))
        yield name, lambda features=features: chain(nn.Linear(a, b) for a, b in zip(features, features[1:])), (rows, features[0])
    for batch, *channels, size in CONVOLUTIONS:
        name = f"Conv2d 3x3 {batch}x" + "x".join(map(str, channels)) + f" of {size}x{size}"
        yield name, lambda channels=channels: chain(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(channels, channels[1:])), (batch, channels[0], size, size)


def main():
    words = open("/proc/cpuinfo").read()
    print("VNNI:", "yes" if "avx512_vnni" in words or "avx_vnni" in words else "no")
    print("\n| network | f32 us | int8 us | f32 / int8 | difference |\n|---|---|---|---|---|")
    for name, make, shape in cases():
        if ARGUMENTS.filter not in name:
            continue
        floats, integers = make(), make()
        integers.load_state_dict(floats.state_dict())
        x = Tensor(RANDOM.standard_normal(shape).astype(np.float32)).realize()
        nn.quantize(integers, [x])
        with strata.no_grad():
            runs = [strata.jit(lambda x, net=net: net(x)) for net in (floats, integers)]
            f, q = (run(x).numpy().copy() for run in runs)
            times = turns.times([lambda run=run: run(x) for run in runs], ARGUMENTS.turns)
        ratio = statistics.median(a / b for a, b in zip(*times))
        f_us, q_us = (statistics.median(t) * 1e6 for t in times)
        print(f"| {name} | {f_us:.1f} | {q_us:.1f} | {ratio:.2f} | {abs(f - q).max() / abs(f).max():.3f} |", flush=True)


main()
