"""What an exported function needs: the bound of the stack, limits of memory, and the report."""
import re
import xml.etree.ElementTree

import numpy as np
import pytest

import fuzz_streaming
import strata
from exported import GCC, NEEDS_COMPILERS, call_twice, deterministic, gru, make_mlp, make_symbolic, normal, stack_of
from strata import Tensor

pytestmark = NEEDS_COMPILERS
NEEDS_GCC = pytest.mark.skipif(GCC is None, reason="gcc is not here")


def make_conv(rng):
    c = strata.nn.Conv2d(3, 16, 3, padding=1)
    x = normal(rng, 1, 3, 24, 24)

    @strata.jit
    def conv(x):
        return c(x).relu().max_pool2d(2)

    call_twice(conv, x)
    return conv


def make_loop(rng):
    step = gru(normal(rng, 5, 24), normal(rng, 8, 24), 8)

    @strata.jit
    def sequence(x, h):
        return strata.scan(step, h, x)

    call_twice(sequence, normal(rng, 7, 2, 5), normal(rng, 2, 8))
    return sequence


def make_product(rng):
    w = normal(rng, 96, 96)

    @strata.jit
    def product(x):
        return (x @ w).softmax(-1) @ w

    call_twice(product, normal(rng, 64, 96))
    return product


def make_attention(rng):
    @strata.jit
    def attention(q, k, v):
        return (q @ k.transpose(-1, -2)).softmax(-1) @ v

    call_twice(attention, *[normal(rng, 2, 48, 16) for _ in range(3)])
    return attention


def make_doubles(rng):
    """Vectors of doubles, whose sine computes with products of 64-bit integers."""
    @strata.jit
    def doubles(a):
        return a.exp(), a.tanh(), a.abs().sqrt(), a / (a + 0.3), a.sin(), a.log(), a.sum(0), a * a + a, a.cast("f32"), a.round(), a > 0

    call_twice(doubles, Tensor(rng.standard_normal(48)))
    return doubles


MODELS = {"doubles": make_doubles, "mlp": lambda rng: make_mlp(rng)[0], "conv": make_conv, "loop": make_loop, "product": make_product,
          "attention": make_attention, "symbolic": lambda rng: make_symbolic(rng)[0]}


@NEEDS_GCC
@pytest.mark.parametrize("target", ["plain", "generic", "avx2"])
@pytest.mark.parametrize("name", MODELS)
def test_stack(tmp_path, name, target):
    model = MODELS[name](np.random.default_rng(31))
    bound = model.export_c(tmp_path / name, target=target)["stack_bytes"]
    more = {"plain": [], "generic": [], "avx2": ["-mavx2", "-mfma"]}[target]
    used = stack_of(tmp_path / name, name, *more)
    assert f"#define {name.upper()}_STACK_BYTES {bound}\n" in (tmp_path / f"{name}.h").read_text()
    assert used <= bound <= 3.2 * used, (used, bound)


@NEEDS_GCC
@pytest.mark.parametrize("seed", range(6))
def test_stack_of_random_functions(tmp_path, seed):
    f = fuzz_streaming.Function(77, seed)
    model, x = strata.jit(lambda x: f(x)), Tensor(f.x)
    call_twice(model, x)
    bound = model.export_c(tmp_path / "net")["stack_bytes"]
    used = stack_of(tmp_path / "net", "net")
    assert used <= bound <= 3 * used + 256, (used, bound)


def test_limits(tmp_path):
    model = make_product(np.random.default_rng(32))
    info = model.export_c(tmp_path / "m")
    ram = info["arena_bytes"] + info["state_bytes"] + info["stack_bytes"]
    flash = info["constant_bytes"]
    assert model.export_c(tmp_path / "m", max_ram=ram, max_flash=flash)["name"] == "m"
    with pytest.raises(strata.Error, match=rf"\[export\] m needs {ram} bytes of RAM, max_ram is {ram - 1}: arena {info['arena_bytes']} \(.*f32 \[64, 96\].* 24576"):
        model.export_c(tmp_path / "none" / "m", max_ram=ram - 1)
    with pytest.raises(strata.Error, match=rf"\[export\] m needs {flash} bytes of flash, max_flash is {flash - 1}: weights and tables {flash} \(c0, f32 "):
        model.export_c(tmp_path / "m", max_flash=flash - 1)
    assert not (tmp_path / "none").exists()


def test_report(tmp_path):
    model = make_product(np.random.default_rng(33))
    info = model.export_c(tmp_path / "m")
    lives = [sum(p["bytes"] for p in info["arena"] if p["first"] <= k <= p["last"]) for k in range(len(info["steps"]))]
    assert max(lives) <= info["arena_bytes"]
    for a in info["arena"]:
        assert a["at"] + a["bytes"] <= info["arena_bytes"]
        for b in info["arena"]:
            apart = a["at"] + a["bytes"] <= b["at"] or b["at"] + b["bytes"] <= a["at"] or a["last"] < b["first"] or b["last"] < a["first"]
            assert a is b or apart
    assert info["operations"] >= 2 * 2 * 64 * 96 * 96
    for k, live in enumerate(lives):
        assert re.search(rf"step {k} .* {live} bytes  {re.escape(info['steps'][k])}\n", info["text"])
    root = xml.etree.ElementTree.fromstring(info["svg"])
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(info["arena"])


def test_operations_of_a_loop(tmp_path):
    """Each step counts."""
    w = normal(np.random.default_rng(34), 8, 8)

    @strata.jit
    def steps(x):
        def step(h, v):
            h = (h @ w + v).relu()
            return h, h
        return strata.scan(step, Tensor(np.zeros((4, 8), "f4")), x)[0]

    call_twice(steps, normal(np.random.default_rng(35), 10, 4, 8))
    assert steps.export_c(tmp_path / "m")["operations"] >= 10 * 2 * 4 * 8 * 8
