"""streaming(): functions of whole signals as steps of blocks, against the whole."""
import functools
import random
import shutil
import subprocess

import numpy as np
import pytest

import fuzz_streaming
import strata
from strata import nn

SEED = 20
LENGTH = 96


@functools.lru_cache(maxsize=None)
def _weights(*shape):
    """The same tensor in each call: a function that makes its weights anew has others in each trace."""
    rng = np.random.default_rng([SEED, *shape])
    return strata.Tensor((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32))


def _signal(*shape):
    return strata.Tensor(np.random.default_rng([SEED, 1, *shape]).standard_normal(shape).astype(np.float32))


def _causal(x, out, k, dilation=1, stride=1, groups=1):
    """A causal convolution of (1, channels, length)."""
    w, b = _weights(out, x.shape[1] // groups, k), _weights(out)
    return strata.conv1d(x, w, b, stride=stride, padding=[((k - 1) * dilation, 0)], dilation=dilation, groups=groups)


def _stack(dilations, k=3, channels=4):
    def f(x):
        for d in dilations:
            x = _causal(x, channels, k, d).tanh()
        return x
    return f


def _wavenet(x):
    skip = None
    for d in (1, 2, 4, 8):
        gates = _causal(x, 8, 2, d)
        y = gates[:, :4].tanh() * gates[:, 4:].sigmoid()
        y = _causal(y, 4, 1)
        x = x + y
        skip = y if skip is None else skip + y
    return skip.relu()


def _residual(x):
    y = _causal(_causal(x, 8, 5).relu(), 4, 5, 3)
    return (x + y).relu()


def _fir(x):
    taps = _weights(1, 1, 33)
    return strata.conv1d(x.pad([(0, 0), (0, 0), (32, 0)]), taps)


def _two_paths(x):
    return strata.cat([_causal(x, 2, 7), _causal(x, 3, 4, 5), x], 1)


def _average(x):
    return strata.avg_pool1d(x.pad([(0, 0), (0, 0), (3, 0)]), 4, stride=1)


def _layer_norm(x):
    y = _causal(x, 6, 3).transpose(1, 2)
    y = (y - y.mean(2, keepdim=True)) / (y.var(2, keepdim=True) + 1e-5).sqrt()
    return y.transpose(1, 2)


class _Gru:
    def __init__(self, features=5):
        self.gru = nn.GRU(4, features, batch_first=True)
        for k, p in enumerate(self.gru.parameters()):
            p.assign(_weights(*p.shape) if len(p.shape) > 1 else _weights(p.shape[0]))

    def __call__(self, x):
        return self.gru(x.transpose(1, 2))[0].transpose(1, 2)


_GRU = functools.lru_cache(maxsize=None)(_Gru)
_BOTH_WAYS = functools.lru_cache(maxsize=None)(lambda: nn.GRU(4, 3, batch_first=True, bidirectional=True))


def _gru(x):
    return _GRU()(x)


def _gru_behind_conv(x):
    return _causal(_GRU()(_causal(x, 4, 3).tanh()), 1, 4)


def _chomped(x):
    return strata.conv1d(x, _weights(3, 4, 4), padding=3)[:, :, :x.shape[2]]


def _causal_2d(x):
    """(1, channels, length) as an image of (length, channels)."""
    y = strata.conv2d(x.transpose(1, 2).reshape((1, 1, x.shape[2], x.shape[1])), _weights(3, 1, 3, 3),
                      padding=[(2, 0), (1, 1)])
    return y.relu().sum(3)


_FRONT = strata.Tensor(np.full((1, 4, 2), 0.25, "f4"))


def _joined_front(x):
    return strata.conv1d(strata.cat([_FRONT] * 20 + [x], 2), _weights(2, 4, 3))


# Two resonances, and a filter of the order 5 (its poles are inside of the unit circle).
_SECTIONS = strata.Tensor(np.array([[0.2, 0.3, 0.1, 1, -1.2, 0.61], [1, -0.4, 0.3, 2, 1.1, 0.9]], "f4"))
_FRONT_TAPS, _BACK_TAPS = strata.Tensor(np.array([0.1, 0.2, -0.3], "f4")), strata.Tensor(np.poly([0.9, -0.5, 0.3, 0.7j, -0.7j]).real.astype("f4"))


def _biquads(x):
    return x.sosfilt(_SECTIONS, 2)


# name: the function, and the positions of its rings (the most, in the order of computation; 0: the state of a loop)
NETWORKS = {
    "dilation 1": (_stack([1]), [2]),
    "dilations 1 to 16": (_stack([1, 2, 4, 8, 16]), [2, 4, 8, 16, 32]),
    "dilations 1 to 512": (_stack([1, 2, 4, 8, 16, 32, 64, 128, 256, 512], 2), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
    "fir": (lambda x: _fir(x[:, :1]), [32]),
    "wavenet": (_wavenet, [1, 2, 4, 8]),
    "residual": (_residual, [4, 12]),
    "two paths": (_two_paths, [15]),
    "strided": (lambda x: _causal(_causal(x, 4, 5, stride=2).relu(), 4, 3, stride=3), [4, 2]),
    "strided without overlap": (lambda x: strata.conv1d(x, _weights(2, 4, 4), stride=4), [3]),
    "valid": (lambda x: strata.conv1d(x, _weights(2, 4, 6)), [5]),
    "max pool": (lambda x: strata.max_pool1d(_causal(x, 3, 3), 2), [2, 1]),
    "overlapping max pool": (lambda x: strata.max_pool1d(x, 5, stride=2), [4]),
    "average pool": (_average, [3]),
    "groups": (lambda x: _causal(x, 8, 3, 2, groups=2), [4]),
    "layer norm over channels": (_layer_norm, [2]),
    "gru": (_gru, [0]),
    "gru behind a convolution": (_gru_behind_conv, [2, 0, 3]),
    "chomped": (_chomped, [3]),
    "causal in 2d": (_causal_2d, [2]),
    "constant front": (_joined_front, [2]),
    "delay": (lambda x: x.pad([(0, 0), (0, 0), (11, 0)])[:, :, :x.shape[2]] * 0.5 + x, [11]),
    "running sum": (lambda x: x.cumsum(2), [0] * 8),
    "running product": (lambda x: (1 + x * 0.1).cumprod(2), [0] * 8),
    "running product of doubles": (lambda x: (1 + x.double() * 0.1).cumprod(2).float(), [0] * 8),
    "running maximum": (lambda x: x.cummax(2)[0] - x.cummin(2)[0], [0, 0]),
    "running sum of integers": (lambda x: (x * 9).int().cumsum(2), [0]),
    "running sum of halves": (lambda x: x.half().cumsum(2), [0] * 8),
    "log of running sums": (lambda x: x.logcumsumexp(2), [0, 1, 1, 0]),
    "biquads": (_biquads, [2, 1, 0, 0, 2, 1, 0, 0]),
    "filter of order 5": (lambda x: x.lfilter(_FRONT_TAPS, _BACK_TAPS, 2), [2, 1, 0, 0, 0, 0, 0]),
    "recurrence of a number": (lambda x: x.linear_recurrence(0.875, 2), [0]),
    "recurrence by channels": (lambda x: x.linear_recurrence(_weights(4, 1), 2), [0]),
    "recurrence by the signal": (lambda x: x.linear_recurrence(x.sigmoid(), 2), [0]),
    "scans and delays": (lambda x: _causal(_biquads(_causal(x, 4, 3, 2).tanh()), 2, 3, stride=2).cumsum(2), None),
    "scans of other axes": (lambda x: (x.cumsum(1) + _causal(x, 4, 2).linear_recurrence(0.5, 1)).flip(1).cumprod(1), [1]),
    "padded by a value": (lambda x: strata.conv1d(x.pad([(0, 0), (0, 0), (4, 0)], value=1.5).exp(), _weights(2, 4, 5)), [4]),
}


def _blocks(total, size):
    return [size] * (total // size) + ([total % size] if total % size else [])


def _run(stream, x, sizes, axis=2):
    out, at = [], 0
    for n in sizes:
        out.append(stream(x[:, :, at:at + n]).numpy())
        at += n
    return np.concatenate(out, axis=stream.axis)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mode", ["deterministic", "fast"])
def test_blocks_give_the_whole(name, mode):
    f, kept = NETWORKS[name]
    x = _signal(1, 4, LENGTH)
    with strata.flags(DETERMINISTIC=mode == "deterministic"):
        whole = f(x).numpy()
        stream = strata.streaming(f, 2, x)
        assert kept is None or [r.most for r in stream.rings] == kept, stream.describe()
        rng = random.Random(SEED)
        mixed = []
        while sum(mixed) < LENGTH:
            mixed.append(min(rng.choice([0, 1, 2, 3, 5, 17]), LENGTH - sum(mixed)))
        all_sizes = (_blocks(LENGTH, 1), _blocks(LENGTH, 7), _blocks(LENGTH, 64), [LENGTH], mixed)
        for sizes in all_sizes if mode == "deterministic" else all_sizes[1:2]:
            stream.reset()
            got = _run(stream, x, sizes)
            if mode == "deterministic":
                assert got.shape == whole.shape and got.tobytes() == whole.tobytes(), (sizes, np.abs(got - whole).max())
            else:
                np.testing.assert_allclose(got, whole, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["residual", "strided", "gru behind a convolution"])
def test_blocks_of_11_along_the_last_axis(name):
    f, _ = NETWORKS[name]
    x = _signal(1, 4, 48)
    with strata.flags(DETERMINISTIC=True):
        whole = f(x).numpy()
        assert _run(strata.streaming(f, -1, x), x, _blocks(48, 11)).tobytes() == whole.tobytes()


def test_least_rings():
    """A ring has (k - 1) * dilation positions, and behind strides k - stride to k - 1: those that later outputs read."""
    x = _signal(1, 4, 64)
    for k, dilation, stride in [(2, 1, 1), (3, 4, 1), (5, 2, 1), (5, 1, 2), (4, 1, 3), (3, 1, 3)]:
        ring, = strata.streaming(lambda x: _causal(x, 2, k, dilation, stride), 2, x).rings
        assert ring.most == (k - 1) * dilation
        assert ring.least == ((k - 1) * dilation if stride == 1 else k - stride)
        assert ring.shape == (1, 4, ring.most) and ring.bytes == 16 * ring.most
        assert ring.name == "x"
    text = strata.streaming(_stack([1, 8]), 2, x).describe()
    assert "x: 2 positions, (1, 4, 2), 32 bytes" in text and ": 16 positions, (1, 4, 16), 256 bytes" in text
    assert "in all 288 bytes; blocks of multiples of 1 position keep the sizes" in text


# --- what fuzz_streaming.py found ---

@pytest.mark.parametrize("name, f, rings", [
    ("a delay keeps what it delays", lambda x: x.pad([(0, 0), (0, 0), (3, 0)])[:, :, :x.shape[2]], [3]),
    ("an echo", lambda x: x + x.pad([(0, 0), (0, 0), (4, 0)])[:, :, :x.shape[2]].tanh(), [4]),
    ("padding behind a delay", lambda x: _causal(_causal(x, 4, 3).pad([(0, 0), (0, 0), (1, 0)])[:, :, :x.shape[2]], 2, 4), [2, 1, 3]),
    ("a front that comes late", lambda x: x.tanh()[:, :, 5:].pad([(0, 0), (1, 1), (2, 0)]), []),
    ("a front of every third", lambda x: _causal(x[:, :, ::3], 2, 4), [3]),
    ("windows that do not fit", lambda x: _causal(strata.max_pool1d(x, 2, stride=3, padding=[(1, 0)]), 2, 3), [1, 2])])
@pytest.mark.parametrize("size", [1, 5])
def test_fronts_delays_and_strides(name, f, rings, size):
    x = _signal(1, 4, LENGTH)
    with strata.flags(DETERMINISTIC=True):
        stream = strata.streaming(f, 2, x[:, :, :LENGTH // 2].contiguous())
        got = [stream(x[:, :, k:k + size].contiguous()).numpy() for k in range(0, LENGTH, size)]
        assert np.concatenate(got, 2).tobytes() == f(x).numpy().tobytes()
    assert [ring.most for ring in stream.rings] == rings, stream.describe()


@pytest.mark.parametrize("device, seed", [("LLVM", 7), ("INTERP", 8)])
def test_random_functions(device, seed):
    count, refused, failed = fuzz_streaming.fuzz(20, seed, device)
    assert failed == 0 and refused.total() < count / 4


def test_the_fuzzer_sees_what_is_wrong(monkeypatch, capsys):
    real = strata.streaming
    monkeypatch.setattr(strata, "streaming", lambda f, axis, x: real(lambda y: f(y) + 0.5, axis, x))
    assert fuzz_streaming.main(["--count", "5", "--seed", "7"]) == 1
    assert "--seed 7 --only 0 --device LLVM: " in capsys.readouterr().out


@pytest.mark.parametrize("f, length", [(lambda x: x.cumsum(2), 3000), (lambda x: (x.double() * 1e-3 + 1).cumprod(2), 1500)])
def test_running_totals_of_many_groups(f, length):
    """Groups of 16, runs of 64 groups: blocks that end anywhere in them."""
    x = _signal(1, 2, length)
    with strata.flags(DETERMINISTIC=True):
        whole = f(x).numpy()
        stream = strata.streaming(f, 2, x[:, :, :24])
        for size in (1000, 1024, 333):
            stream.reset()
            assert _run(stream, x, _blocks(length, size)).tobytes() == whole.tobytes(), size


def test_running_totals_of_blocks_of_the_order():
    """Blocks of 64 runs, 65,536 elements."""
    x = _signal(1, 1, 140_000)
    with strata.flags(DETERMINISTIC=True):
        stream = strata.streaming(lambda x: x.cumsum(2), 2, x[:, :, :24])
        assert _run(stream, x, _blocks(140_000, 50_000)).tobytes() == x.cumsum(2).numpy().tobytes()


def test_scans_of_what_is_not_finite():
    x = np.random.default_rng(3).standard_normal((1, 1, 64)).astype("f4")
    x[0, 0, ::9] = -0.0
    for special in (np.inf, -np.inf, np.nan, 1e38):
        x[0, 0, 30] = special
        for f in (lambda x: x.linear_recurrence(0.0, 2), lambda x: x.linear_recurrence(1.0, 2), lambda x: x.linear_recurrence(-0.5, 2),
                  lambda x: x.cumsum(2), lambda x: x.cumprod(2), lambda x: x.cummax(2)[0]):
            with strata.flags(DETERMINISTIC=True):
                stream = strata.streaming(f, 2, strata.Tensor(x[:, :, :16].copy()))
                for size in (1, 13):
                    stream.reset()
                    np.testing.assert_array_equal(_run(stream, strata.Tensor(x), _blocks(64, size)), f(strata.Tensor(x)).numpy())


def test_longer_than_the_example():
    f, _ = NETWORKS["strided"]
    x = _signal(1, 4, 500)
    with strata.flags(DETERMINISTIC=True):
        stream = strata.streaming(f, 2, x[:, :, :24])
        assert stream.period == 6
        assert _run(stream, x, _blocks(500, 6)).tobytes() == f(x).numpy().tobytes()
        stream.reset()
        assert _run(stream, x, _blocks(500, 77)).tobytes() == f(x).numpy().tobytes()


REFUSED = {
    "looks ahead": (lambda x: strata.conv1d(x, _weights(2, 4, 3), padding=1),
                    r"conv1d, written at .* looks ahead: position 15 of the result reads position 16 of x"),
    "ahead by a slice": (lambda x: x[:, :, 2:].pad([(0, 0), (0, 0), (0, 2)]) + x,
                         r"looks ahead: position 14 of the result reads position 16 of x"),
    "mean": (lambda x: x - x.mean(2, keepdim=True), r"reduces the whole axis of positions: position 0 of it reads position 15 of 16"),
    "softmax": (lambda x: x.softmax(2), r"reduces the whole axis of positions"),
    "flip": (lambda x: x.flip(2), r"reads the positions backwards: position 0 of it reads position 15 of x"),
    "first": (lambda x: x + x[:, :, :1], r"has no axis of positions|again and again"),
    "cumsum from the end": (lambda x: x.flip(2).cumsum(2).flip(2),
                            r"cumsum, written at .* reads the positions backwards: position 0 of it reads position 15 of x"),
    "filter from the end": (lambda x: x.flip(2).sosfilt(_SECTIONS, 2), r"reads the positions backwards: position 0 of it reads position 15 of x"),
    "total": (lambda x: x / x.cumsum(2)[:, :, -1:], r"again and again|no axis of positions|wait for the end of x"),
    "table by length": (lambda x: x + _weights(4, 48)[:, x.shape[2]:x.shape[2] + 1], r"depend on the length of x"),
    "places of extremes": (lambda x: x.cummax(2)[1], r"IOTA|depends on the length of x|other elements"),
    "backwards": (lambda x: _BOTH_WAYS()(x.transpose(1, 2))[0],
                  r"from the last position to the first: position 0 of it reads position 15"),
    "last state": (lambda x: _GRU(3).gru(x.transpose(1, 2))[1], r"no axis of positions|behind its last step"),
    "random": (lambda x: x + strata.rand(1, 4, 1), r"values that differ in each call|depends on the length"),
    "length": (lambda x: x / x.shape[2], r"reads the constant"),
    "table": (lambda x: x + strata.arange(x.shape[2]), r"IOTA|depends on the length of x|other elements"),
    "no input": (lambda x: strata.ones(1, 4, 16), r"the result does not depend on x"),
    "two axes": (lambda x: x.transpose(1, 2) @ x, r"positions along axes|along axis"),
    "merged": (lambda x: x.reshape((1, 4 * x.shape[2])), r"another axis|no step along"),
    "end": (lambda x: strata.cat([x, strata.ones(1, 4, 2)], 2), r"wait for the end of x|no axis of positions|depends? on the length of x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    f, message = REFUSED[name]
    with pytest.raises((ValueError, RuntimeError), match=message) as error:
        strata.streaming(f, 2, _signal(1, 4, 16))
    assert "[streaming]" in str(error.value)


def test_refused_assignment():
    total = strata.zeros(1, 4, 1).realize()

    def f(x):
        total.assign(total + 1)
        return x * total
    with pytest.raises((ValueError, RuntimeError), match="assigns to a tensor of shape"):
        strata.streaming(f, 2, _signal(1, 4, 16))


def test_refused_without_a_capture():
    with strata.flags(CHECK_INDEX=True), pytest.raises((ValueError, RuntimeError), match=r"\[streaming\] no call of the function is captured"):
        strata.streaming(_stack([2]), 2, _signal(1, 4, 16))


def test_bad_arguments():
    x = _signal(1, 4, 16)
    with pytest.raises((ValueError, RuntimeError, IndexError), match="axis 3 of an example of shape"):
        strata.streaming(lambda x: x, 3, x)
    with pytest.raises(TypeError, match="not a tensor"):
        strata.streaming(lambda x: 3, 2, x)
    stream = strata.streaming(_stack([2]), 2, x)
    with pytest.raises((ValueError, RuntimeError), match=r"a block of shape \(1, 3, 8\)"):
        stream(_signal(1, 3, 8))
    with pytest.raises((ValueError, RuntimeError), match="a block of float64|a block of f64|a block of double"):
        stream(strata.Tensor(np.zeros((1, 4, 8))))
    assert stream(x[:, :, :0]).shape == (1, 4, 0)


def test_captured():
    """A replay goes on where the last call ended; phases that change sizes are refused."""
    f, _ = NETWORKS["strided"]
    x = _signal(1, 4, 96)
    with strata.flags(DETERMINISTIC=True):
        whole = f(x).numpy()
        stream = strata.streaming(f, 2, x)
        step = strata.jit(lambda block: stream(block))
        out = [step(x[:, :, k:k + 12].contiguous()).numpy() for k in range(0, 96, 12)]
        assert np.concatenate(out, 2).tobytes() == whole.tobytes()
        stream.reset()
        assert step(x[:, :, :12].contiguous()).numpy().tobytes() == whole[:, :, :2].tobytes()
        odd = strata.jit(lambda block: stream(block))
        with pytest.raises((ValueError, RuntimeError), match="a block of 5 positions cannot be captured"):
            for _ in range(2):
                odd(x[:, :, :5].contiguous())


def _effect(gru):
    return lambda x: _causal(gru(_causal(x, 4, 5, 2).tanh()), 1, 3) + x


EFFECTS = {"a convolution and a GRU": lambda: _effect(_Gru(6)), "biquads": lambda: _biquads,
           "a running sum": lambda: lambda x: x.cumsum(2)}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not here")
@pytest.mark.parametrize("name", EFFECTS)
def test_exported_effect(tmp_path, name):
    """An effect as C: a program that takes block by block, against the whole in the process."""
    effect = EFFECTS[name]()
    x = _signal(1, 1, 256)
    with strata.flags(DETERMINISTIC=True):
        whole = effect(x).numpy()
        stream = strata.streaming(effect, 2, x)
        step = strata.jit(lambda block: stream(block))
        for k in range(2):
            step(x[:, :, 16 * k:16 * k + 16].contiguous())
        stream.reset()
        step.export_c(tmp_path / "effect", target="plain")
        x.numpy().tofile(tmp_path / "x")
        (tmp_path / "main.c").write_text(r"""
#include "effect.h"
#include <stdio.h>
EFFECT_ALIGNAS(EFFECT_ALIGNMENT) static unsigned char state[EFFECT_STATE_BYTES];
EFFECT_ALIGNAS(EFFECT_ALIGNMENT) static unsigned char arena[EFFECT_ARENA_BYTES + 1];
int main(void) {
  float x[16], y[16];
  FILE *in = fopen("x", "rb"), *out = fopen("y", "wb");
  effect_reset(state);
  while (fread(x, 4, 16, in) == 16) {
    if (effect_run(x, y, state, arena, sizeof arena, 0, 0) != EFFECT_OK) return 1;
    fwrite(y, 4, 16, out);
  }
  fclose(out);
  return 0;
}
""")
        subprocess.run(["gcc", "-std=c11", "-O2", "-ffp-contract=off", "main.c", "effect.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], cwd=tmp_path, check=True)
        assert (tmp_path / "y").read_bytes() == whole.tobytes()
