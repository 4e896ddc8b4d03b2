"""export_c(weight_dtype=): weights that are stored as f16 and int8, beside functions of weights that were rounded before."""
import numpy as np
import pytest

import strata
from exported import GCC, Library, call_twice, check
from strata import Tensor, nn

f4 = np.float32


def bytes_of_blocks(w):
    """What int8 storage makes of a weight: multiples of a power of two in blocks of 32."""
    if w.size < 1024 or not np.isfinite(w).all() or not 2.0**-100 <= np.abs(w).max() < 2.0**127:
        return w
    flat = np.zeros(-(-w.size // 32) * 32)
    flat[: w.size] = w.flat
    out = []
    for block in flat.reshape(-1, 32):
        e = next(e for e in range(-126, 128) if np.rint(np.abs(block).max() / 2.0**e) <= 127)
        out.append(np.rint(block / 2.0**e) * 2.0**e)
    return np.concatenate(out)[: w.size].reshape(w.shape).astype(f4)


def halves(w):
    """What f16 storage makes of a weight."""
    most = np.abs(w).max() if w.size and np.isfinite(w).all() else np.inf
    return w.astype("f2").astype(f4) if w.size >= 1024 and 2.0**-14 <= most <= 65504 else w


@pytest.mark.skipif(not GCC, reason="gcc is not here")
@pytest.mark.parametrize("target", ("plain", "avx512"))
def test_weights_in_blocks(tmp_path, target):
    """The C file has the bits of the function of weights that were rounded before, and 33 bytes for 32 elements."""
    rng = np.random.default_rng(7)
    w = [(rng.standard_normal(shape) * 0.3).astype(f4) for shape in ((48, 40), (1101,), (40, 50), (40,), (32, 6, 3, 3))]
    w[0].flat[:5] = 0.99999994, -0.5, 2.0**-149, -0.0, 1e-30  # rounds to 128 of 127, ties, subnormal ones
    w[0].flat[32:64] = 0
    w[1].flat[:3] = 3e37, -1e-38, 2.5
    w[2].flat[0] = 2.0**127  # stays f32

    def function(*w):
        def f(x, image):
            y = (x @ w[0]).relu() @ w[2] + w[1][:50]
            return y.sum(1), (w[0].transpose(0, 1)[::2] * 2 + 1).sum(0), w[1].sum(), image.conv2d(w[4], padding=1), x[:, :40] + w[3]
        return f

    x, image = Tensor(rng.standard_normal((3, 48)).astype(f4)), Tensor(rng.standard_normal((2, 6, 7, 9)).astype(f4))
    with strata.flags(DETERMINISTIC=True):
        run = strata.jit(function(*[Tensor(a) for a in w]))
        call_twice(run, x, image)
        sizes = run.export_c(tmp_path / "bytes", target=target, weight_dtype="int8", lines=False)
        blob = run.export_c(tmp_path / "blob", target=target, weight_dtype="int8", weights="pointer")
        want = [y.numpy() for y in function(*[Tensor(bytes_of_blocks(a)) for a in w])(x, image)]
    out = [np.zeros(y.shape, f4) for y in want]
    assert Library(tmp_path / "bytes")(x.numpy().copy(), image.numpy().copy(), *out) == 0
    for a, b in zip(out, want):
        assert np.array_equal(a.view("u4"), b.view("u4"))
    stored = sum(-(-a.size // 32) + a.size for a in (w[0], w[1], w[4])) + 4 * (w[2].size + w[3].size)
    assert stored <= sizes["constant_bytes"] <= stored + 5 * 64 and blob["constant_bytes"] == sizes["constant_bytes"]
    for a in w:
        assert a.size < 1024 or np.abs(bytes_of_blocks(a) - a).max() <= np.abs(a).max() / 127


@pytest.mark.skipif(not GCC, reason="gcc is not here")
@pytest.mark.parametrize("target", ("plain", "generic", "avx512"))
def test_weights_as_halves(tmp_path, target):
    """The C file has the bits of the function of weights that were rounded before."""
    rng = np.random.default_rng(6)
    w = [(rng.standard_normal(shape) * 0.3).astype(f4) for shape in ((48, 40), (1100,), (30, 40), (40,), (3, 5), (32, 6, 3, 3))]
    w[0].flat[:6] = 65504, -2.0**-24, 2.0**-25 * 1.5, -0.0, 3e-6, -1.0009765625 - 2.0**-11  # subnormal ones, ties
    w[2].flat[0] = 70000  # stays f32
    for stored in ((48, 40), (32, 6, 3, 3)):
        assert any(a.shape == stored and not np.array_equal(a, halves(a)) for a in w)

    def function(*w):
        def f(x, image):
            y = (x @ w[0]).relu() @ w[2].transpose(0, 1) + w[1][:30]
            return y @ w[2] + w[3], (w[0] * 2 + 1).sum(0) + w[4].sum(), image.conv2d(w[5], padding=1)
        return f

    x, image = Tensor(rng.standard_normal((3, 48)).astype(f4)), Tensor(rng.standard_normal((2, 6, 7, 9)).astype(f4))
    with strata.flags(DETERMINISTIC=True):
        weights = [Tensor(a) for a in w]
        run = strata.jit(function(*weights))
        call_twice(run, x, image)
        whole = run.export_c(tmp_path / "whole", target=target)
        sizes = run.export_c(tmp_path / "halves", target=target, weight_dtype="f16", lines=False)
        want = [y.numpy() for y in function(*[Tensor(halves(a)) for a in w])(x, image)]
        assert all(not np.array_equal(a, y.numpy()) for a, y in zip(want[1:], function(*weights)(x, image)[1:]))
    out = [np.zeros(y.shape, f4) for y in want]
    assert Library(tmp_path / "halves")(x.numpy().copy(), image.numpy().copy(), *out) == 0
    for a, b in zip(out, want):
        assert np.array_equal(a.view("u4"), b.view("u4"))
    assert sizes["constant_bytes"] < whole["constant_bytes"] - 1.8 * (w[0].size + w[5].size)
    assert "f16" in str(sizes["constants"]) or "u16" in str(sizes["constants"])
    how = {"target": target, "weight_dtype": "f16", "deterministic": True}
    with pytest.raises(strata.Error, match="max_flash is"):
        run.export_c(tmp_path / "no", max_flash=sizes["constant_bytes"] - 1, **how)
    run.export_c(tmp_path / "yes", max_flash=sizes["constant_bytes"], **how)


@pytest.mark.skipif(not GCC, reason="gcc is not here")
def test_halves_elsewhere(tmp_path):
    """Self tests, blobs, loops, masks, and what is refused."""
    rng = np.random.default_rng(8)
    w = Tensor(halves(rng.standard_normal((64, 64)).astype(f4)))
    mask = Tensor(np.where(np.tri(40, 40), 0, -np.inf).astype(f4))

    @strata.jit
    def f(x):
        return ((x @ w) @ x.transpose(0, 1) + mask).softmax(-1)

    x = Tensor(rng.standard_normal((40, 64)).astype(f4))
    with strata.flags(DETERMINISTIC=True):
        call_twice(f, x)
        check(f, tmp_path, "rounded", ("generic",), weight_dtype="f16")
        sizes = f.export_c(tmp_path / "blob", weights="pointer", weight_dtype="f16")
    assert (tmp_path / "blob.bin").stat().st_size == sizes["constant_bytes"] == 64 * 64 * 2 + 40 * 40 * 4
    w.assign(w + 0.0001)
    call_twice(f, x)
    with pytest.raises(strata.DomainError, match="which f16 rounds: its self test"):
        f.export_c(tmp_path / "no", selftest=True, weight_dtype="f16")
    with pytest.raises(strata.DomainError, match="which int8 rounds: its self test"):
        f.export_c(tmp_path / "no", selftest=True, weight_dtype="int8")
    with pytest.raises(strata.DomainError, match='"f16" or "int8", not "bf16"'):
        f.export_c(tmp_path / "no", weight_dtype="bf16")
    assert not (tmp_path / "no.c").exists()
    lstm = nn.LSTM(16, 32)
    loop = strata.jit(lambda x: lstm(x)[0])
    call_twice(loop, Tensor(rng.standard_normal((1, 5, 16)).astype(f4)))
    assert loop.export_c(tmp_path / "loop", weight_dtype="f16")["constant_bytes"] > 0


@pytest.mark.skipif(not GCC, reason="gcc is not here")
@pytest.mark.parametrize("stored", ("f16", "int8"))
def test_sorted_weights_stay_floats(tmp_path, stored):
    """The C functions that sort rows read what they sort as it is."""
    w = Tensor(np.random.default_rng(3).permutation(1280).astype(f4).reshape(40, 32)).realize()
    f = strata.jit(lambda x: (w.sort(1)[0] + x, w.flatten().topk(5, 0)[1] + x[:5].cast("int64")))
    x = np.arange(32, dtype=f4)
    want = [y.numpy() for y in call_twice(f, Tensor(x))]
    sizes = f.export_c(tmp_path / "sorted", weight_dtype=stored)
    out = [np.zeros_like(y) for y in want]
    assert Library(tmp_path / "sorted")(x, *out) == 0 and sizes["constant_bytes"] >= 4 * 1280
    for a, b in zip(out, want):
        assert np.array_equal(a, b)


def test_bytes_that_a_function_casts_stay_bytes(tmp_path):
    rng = np.random.default_rng(9)
    q, scale = Tensor(rng.integers(-127, 128, (96, 64)).astype("i1")), Tensor(rng.random((64,)).astype(f4))

    @strata.jit
    def f(x):
        return (x @ (q.cast("float32") * scale)).relu()

    x = Tensor(rng.standard_normal((4, 96)).astype(f4))
    y = call_twice(f, x).numpy()
    sizes = f.export_c(tmp_path / "bytes", deterministic=True)
    assert sizes["constant_bytes"] < 96 * 64 * 1.5, sizes["constants"]
    if GCC:
        out = np.zeros(y.shape, f4)
        assert Library(tmp_path / "bytes")(x.numpy().copy(), out) == 0 and np.allclose(out, y, atol=1e-5 * np.abs(y).max())
