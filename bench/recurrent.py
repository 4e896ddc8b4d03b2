"""Recurrent layers beside PyTorch's, in one process, call by call in turn: forward, and with gradients; sequences of 64 and
of 1,000 steps.

    /usr/bin/python3 bench/recurrent.py --build DIR [--filter TEXT] [--threads N] [--turns N]

DIR is a build folder with the module (build/release by default). A row prints the median times, their ratio, the largest
difference of the results by the largest result, and the time of the first call of a captured function, which schedules
and compiles: the same for both lengths. Prints Markdown. Then the time of a step beside its kernel: a loop of one kernel
of one element.
"""
import time

import turns

ARGUMENTS = turns.begin(__doc__)

import numpy as np  # noqa: E402
import torch  # noqa: E402

import strata  # noqa: E402
from strata import Tensor, nn  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
RANDOM = np.random.default_rng(1)
KINDS = ("LSTM", "GRU", "RNN")
# batch, length, in, features
SIZES = [(16, 64, 64, 128), (16, 1000, 64, 128), (1, 64, 64, 128), (32, 64, 256, 256), (1, 1000, 32, 32)]


def pair(kind, inputs, features):
    """A layer of ours and torch's with the same weights."""
    theirs = getattr(torch.nn, kind)(inputs, features, batch_first=True)
    ours = getattr(nn, kind)(inputs, features)
    ours.load_state_dict({name: Tensor(t.detach().numpy()) for name, t in theirs.state_dict().items()})
    return ours, theirs


def rows(kind, batch, length, inputs, features):
    ours, theirs = pair(kind, inputs, features)
    x = RANDOM.standard_normal((batch, length, inputs)).astype(np.float32)
    mine, yours = Tensor(x).realize(), torch.from_numpy(x)
    parameters = [p for _, p in ours.named_parameters()]

    def forward(v):
        with strata.no_grad():
            return ours(v)[0].contiguous()

    def training(v):
        loss = ours(v)[0].square().sum()
        return (*strata.gradients(loss, parameters), loss)

    def their_forward():
        with torch.no_grad():
            return theirs(yours)[0]

    def their_training():
        theirs.zero_grad()
        loss = theirs(yours)[0].square().sum()
        loss.backward()
        return loss

    for what, f, g in (("forward", strata.jit(forward), their_forward), ("gradients", strata.jit(training), their_training)):
        def run(f=f):
            out = f(mine)
            return (out[0] if isinstance(out, tuple) else out).realize()

        begin = time.perf_counter()
        first = run()
        seconds = time.perf_counter() - begin
        wanted = g()
        wanted = (next(theirs.parameters()).grad if what == "gradients" else wanted).numpy()
        error = np.abs(first.numpy() - wanted).max() / np.abs(wanted).max()
        for _ in range(3):
            run()
        a, b = turns.medians([run, g], ARGUMENTS.turns)
        print(f"| {kind} {what}, {batch} x {length}, {inputs} to {features} | {a * 1e3:.3f} | {b * 1e3:.3f} | {a / b:.2f} | "
              f"{error:.1e} | {seconds:.2f} |", flush=True)


print("| layer, batch x length, inputs to features | ms | torch, ms | ratio | error | first call, s |\n|---|---|---|---|---|---|")
for kind in KINDS:
    for size in SIZES:
        if ARGUMENTS.filter in f"{kind} {size}":
            rows(kind, *size)
n = 100000
captured = strata.jit(lambda y, v: strata.scan(lambda s, e: (0.9 * s + 0.1 * e, None), y, v)[0])
start, elements = Tensor(0.0), strata.rand(n).realize()
for _ in range(3):
    captured(start, elements).realize()
print(f"\na step of a loop of one kernel: {turns.medians([lambda: captured(start, elements).realize()], ARGUMENTS.turns)[0] / n * 1e9:.0f} ns")
