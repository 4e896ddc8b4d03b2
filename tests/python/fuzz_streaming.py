#!/usr/bin/env python3
"""Random functions of signals as streams, beside the whole: fuzz_streaming.py [--count N] [--seed S] [--only K] [--device D]

Each function is a chain of layers. Under DETERMINISTIC its results for blocks of one position, of random sizes, of the
period, and for all at once are, joined, those of the whole signal bit by bit, and as many where the signal is as long as
the example or twice as long; else one may come early or late. Refusals are counted. Prints `N functions, N refused, N failed`; 1 where any failed.
"""
import argparse
import collections
import sys

import numpy as np

import strata
from strata import Tensor


class Layers:
    """Layers of tensors (batch, channels, positions), with weights from `rng`."""

    def __init__(self, rng, channels):
        self.rng, self.channels = rng, channels

    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def weights(self, *shape):
        return Tensor(self.rng.normal(size=shape).astype("f4"))

    def conv(self):
        k, d, s, more, out = self.pick(1, 2, 3, 4), self.pick(1, 1, 2, 3), self.pick(1, 1, 1, 2, 3), self.pick(0, 0, 1, 2), self.pick(1, 2, 4)
        w, self.channels = self.weights(out, self.channels, k), out
        return lambda x: strata.conv1d(x, w, stride=s, dilation=d, padding=[((k - 1) * d + more, 0)])

    def average(self):
        k, s = self.pick(2, 3), self.pick(1, 2)
        return lambda x: strata.avg_pool1d(x.pad([(0, 0), (0, 0), (k - 1, 0)]), k, stride=s)

    def largest(self):
        k, s = self.pick(2, 3), self.pick(1, 2, 3)
        return lambda x: strata.max_pool1d(x, k, stride=s, padding=[(k - 1, 0)])

    def residual(self):
        w = self.weights(self.channels, self.channels, 3)
        return lambda x: x + strata.conv1d(x, w, padding=[(2, 0)]).relu()

    def beside(self):
        w = self.weights(2, self.channels, 2)
        self.channels += 2
        return lambda x: strata.cat([x, strata.conv1d(x, w, padding=[(3, 0)], dilation=3)], 1)

    def loop(self):
        a, channels = self.weights(self.channels) * 0.3, self.channels
        start = self.weights(1, channels)

        def step(h, u):
            h = (h * a + u).tanh()
            return h, h
        return lambda x: strata.scan(step, start.expand((x.shape[0], channels)), x.permute(2, 0, 1))[1].permute(1, 2, 0)

    def delay(self):
        q = self.pick(1, 3)
        return lambda x: x.pad([(0, 0), (0, 0), (q, 0)])[:, :, :x.shape[2]]

    def echo(self):
        q = self.pick(1, 4)
        return lambda x: x + x.pad([(0, 0), (0, 0), (q, 0)])[:, :, :x.shape[2]].tanh()

    def later(self):
        q = self.pick(1, 2, 5)
        return lambda x: x[:, :, q:]

    def every(self):
        q = self.pick(2, 3)
        return lambda x: x[:, :, ::q]

    def framed(self):
        q = self.pick(1, 2)
        self.channels += 2
        return lambda x: x.pad([(0, 0), (1, 1), (q, 0)])

    def front(self):
        return lambda x: x.pad([(0, 0), (0, 0), (3, 0)], value=1.5)

    def total(self):
        by = self.pick("cumsum", "cumprod", "maximum", "minimum", "integers")
        if by == "integers":
            return lambda x: (x * 9).clip(-99, 99).int().cumsum(2).float() * 0.01
        if by == "cumprod":
            return lambda x: (x.tanh() * 0.1 + 1).cumprod(2)
        if by == "cumsum":
            return lambda x: x.cumsum(2) * 0.1
        return lambda x: (x.cummax(2) if by == "maximum" else x.cummin(2))[0]

    def filtered(self):
        order, poles = self.pick(1, 2, 3, 5), self.rng.uniform(-0.9, 0.9, 5)
        b, a = self.weights(self.pick(1, 2, 3)), Tensor(np.poly(poles[:order]).astype("f4"))
        return lambda x: x.lfilter(b, a, 2)

    def biquads(self):
        sections = np.concatenate([self.rng.normal(size=(2, 3)), [[1, -0.9, 0.5], [2, 0.3, -0.8]]], 1)
        sections = Tensor(sections.astype("f4"))
        return lambda x: x.sosfilt(sections, 2)

    def recurrence(self):
        a = self.weights(self.channels, 1) * 0.3
        return self.pick(lambda x: x.linear_recurrence(a, 2), lambda x: x.linear_recurrence(x.sigmoid() * 0.9, 2),
                         lambda x: x.linear_recurrence(0.75, 2))

    def across(self):
        return self.pick(lambda x: x.cumsum(1), lambda x: x.linear_recurrence(0.5, 1))

    def reversed(self):
        """Refused, with a witness; seldom, since it ends the function."""
        if self.rng.random() < 0.9:
            return self.total()
        return self.pick(lambda x: x.flip(2).cumsum(2).flip(2), lambda x: x.flip(2).linear_recurrence(0.5, 2).flip(2))

    def mixed(self):
        m, self.channels = self.weights(self.channels, 3), 3
        return lambda x: (x.transpose(1, 2) @ m).transpose(1, 2)

    def products(self):
        self.channels *= self.channels
        return lambda x: (x.unsqueeze(1) * x.unsqueeze(2)).flatten(1, 2)

    def chosen(self):
        index, self.channels = Tensor(self.rng.integers(self.channels, size=2)), 2
        return lambda x: x.index_select(1, index)

    def doubled(self):
        self.channels *= 2
        return lambda x: strata.stack([x, -x], 2).flatten(1, 2)

    def centred(self):
        return lambda x: x - x.mean(1, keepdim=True)

    def turned(self):
        return lambda x: x.flip(1)

    def halves(self):
        return lambda x: x.half().float()

    def elementwise(self):
        return self.pick(lambda x: x.tanh(), lambda x: x * x.relu(), lambda x: x.sigmoid() + 1)


LAYERS = [name for name in vars(Layers) if name not in ("__init__", "pick", "weights") and not name.startswith("__")]


# The axis of positions, how a signal of it becomes (batch, channels, positions), and back.
SIGNALS = {"bct": (2, lambda x: x, lambda x: x), "btc": (1, lambda x: x.transpose(1, 2), lambda x: x.transpose(1, 2)),
           "tc": (0, lambda x: x.t().unsqueeze(0), lambda x: x.squeeze(0).t())}


class Function:
    def __init__(self, seed, k, layers=None):
        rng = np.random.default_rng([seed, k])
        self.channels = int(rng.integers(1, 4))
        made = Layers(rng, self.channels)
        self.names, self.steps = [], []
        for name in layers or [LAYERS[n] for n in rng.integers(len(LAYERS), size=rng.integers(1, 6))]:
            if made.channels > 12:
                break
            self.names.append(name)
            self.steps.append(getattr(made, name)())
        self.length = made.pick(24, 36, 40)
        self.total = made.pick(1, 2, 3) * self.length + made.pick(0, 0, 7)
        self.blocks = [int(n) for n in rng.integers(0, 10, self.total * 2)]
        self.signal = made.pick(*SIGNALS)
        self.axis, self.enter, self.leave = SIGNALS[self.signal]
        sizes = {"b": made.pick(1, 2), "c": self.channels, "t": self.total}
        self.x = rng.normal(size=[sizes[axis] for axis in self.signal]).astype("f4")

    def __call__(self, x):
        x = self.enter(x)
        for step in self.steps:
            x = step(x)
        return self.leave(x)

    def failure(self):
        """What is wrong, or "". @throws strata.Error for what streaming() refuses"""
        x = Tensor(self.x)
        stream = strata.streaming(self, self.axis, x.narrow(self.axis, 0, self.length).contiguous())
        want = np.moveaxis(self(x).numpy(), self.axis, -1)
        for way, sizes in (("ones", [1] * self.total), ("random", self.blocks), ("periods", [stream.period] * self.total), ("all", [self.total])):
            stream.reset()
            out, at = [], 0
            for size in sizes + [self.total]:
                n = min(size, self.total - at)
                out.append(np.moveaxis(stream(x.narrow(self.axis, at, n).contiguous()).numpy(), stream.axis, -1))
                at += n
            got = np.concatenate(out, -1)
            n = min(got.shape[-1], want.shape[-1])
            if got[..., :n].tobytes() != want[..., :n].tobytes():
                return f"blocks of {way}: other values, {np.abs(got[..., :n] - want[..., :n]).max()} at most"
            if abs(got.shape[-1] - want.shape[-1]) > (self.total not in (self.length, 2 * self.length)):
                return f"blocks of {way}: {got.shape[-1]} results, not {want.shape[-1]}"
        return ""


def fuzz(count, seed, device="LLVM", only=None):
    """(functions, refusals by their text, failures)"""
    refused, failed = collections.Counter(), 0
    with strata.flags(DETERMINISTIC=True, DEVICE=device):
        for k in range(count) if only is None else [only]:
            f = Function(seed, k)
            try:
                wrong = f.failure()
            except strata.Error as error:
                if not str(error).startswith("[streaming]"):
                    raise
                refused[str(error).split(", written at")[0] + " ..." + str(error)[-60:]] += 1
                continue
            if wrong:
                failed += 1
                print(f"--seed {seed} --only {k} --device {device}: {f.signal} {' '.join(f.names)}: {wrong}")
    return count, refused, failed


def main(arguments):
    parser = argparse.ArgumentParser()
    for name, default in (("--count", 200), ("--seed", 1), ("--only", None)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--device", default="LLVM")
    given = parser.parse_args(arguments)
    count, refused, failed = fuzz(given.count, given.seed, given.device, given.only)
    for text, times in refused.most_common():
        print(f"{times:5} refused: {text}")
    print(f"{count} functions, {refused.total()} refused, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
