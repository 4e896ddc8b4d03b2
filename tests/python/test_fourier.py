"""Fourier transforms beside NumPy's and PyTorch's: sizes of every kind of factors, axes, norms, cut and padded, gradients, frames."""
import numpy as np
import pytest

import strata
from strata import Tensor, Variable

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
RANDOM = np.random.default_rng(11)
# 1, powers of two, products of small primes, primes that are one product, and primes that are a convolution.
SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 30, 31, 32, 37, 49, 64, 97, 100, 127, 128, 243, 509, 521, 960, 1000, 1021, 1024, 1042, 2187, 4096, 6007]


def complex_of(pairs):
    pairs = np.asarray(pairs)
    return pairs[..., 0] + 1j * pairs[..., 1]


def pairs_of(numbers, dtype):
    return np.stack([numbers.real, numbers.imag], -1).astype(dtype)


def check(found, wanted, dtype="f4"):
    assert found.shape == wanted.shape
    error, largest = np.abs(found - wanted).max(initial=0), np.abs(wanted).max(initial=1e-30)
    assert error <= (3e-6 if dtype == "f4" else 1e-12) * largest, error / largest


@pytest.mark.parametrize("n, dtype", [(n, "f4") for n in SIZES] + [(n, "f8") for n in (1, 2, 15, 64, 127, 1000)])
def test_all_transforms(n, dtype):
    x = RANDOM.standard_normal((3, n, 2)).astype(dtype)
    z = complex_of(x.astype("f8"))
    check(complex_of(strata.fft.fft(Tensor(x)).numpy()), np.fft.fft(z), dtype)
    check(complex_of(strata.fft.ifft(Tensor(x)).numpy()), np.fft.ifft(z), dtype)
    real = x[..., 0]
    half = np.fft.rfft(real.astype("f8"))
    found = strata.fft.rfft(Tensor(real))
    assert found.dtype == (strata.float32 if dtype == "f4" else strata.float64)
    check(complex_of(found.numpy()), half, dtype)
    check(strata.fft.irfft(found, n).numpy(), real, dtype)
    # Imaginary parts of the first and, for an even n, of the last number do not count.
    other = RANDOM.standard_normal((3, n // 2 + 1, 2)).astype(dtype)
    check(strata.fft.irfft(Tensor(other), n).numpy(), np.fft.irfft(complex_of(other.astype("f8")), n), dtype)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward", None])
@pytest.mark.parametrize("n", [None, 3, 6, 11])
def test_axes_norms_sizes(axis, norm, n):
    x = RANDOM.standard_normal((4, 6, 5, 2)).astype("f8")
    z = complex_of(x)
    for name in ("fft", "ifft"):
        check(complex_of(getattr(strata.fft, name)(Tensor(x), n, axis, norm).numpy()), getattr(np.fft, name)(z, n, axis, norm), "f8")
    check(complex_of(strata.fft.rfft(Tensor(x[..., 0]), n, axis, norm).numpy()), np.fft.rfft(x[..., 0], n, axis, norm), "f8")
    check(strata.fft.irfft(Tensor(x), n, axis, norm).numpy(), np.fft.irfft(z, n, axis, norm), "f8")


@pytest.mark.parametrize("device", ["LLVM", "CLANG", "INTERP", "OPENCL"])
def test_devices(device):
    x = RANDOM.standard_normal((2, 60)).astype("f4")
    check(complex_of(strata.fft.rfft(Tensor(x).to(device)).numpy()), np.fft.rfft(x))


@pytest.mark.parametrize("given", [np.arange(12), np.arange(12) % 3 == 1, np.arange(12).astype("f2"), np.arange(12).astype("u1")])
def test_other_dtypes_are_float32(given):
    found = strata.fft.rfft(Tensor(given))
    assert found.dtype == strata.float32
    check(complex_of(found.numpy()), np.fft.rfft(given.astype("f8")))


def test_empty_batch_and_symbolic_batch():
    assert strata.fft.fft(Tensor(np.zeros((0, 8, 2), "f4"))).shape == (0, 8, 2)
    n = Variable("n", 1, 9)
    x = RANDOM.standard_normal((9, 30)).astype("f4")
    f = strata.jit(lambda v: strata.fft.irfft(strata.fft.rfft(v) * 2))
    for k in (1, 4, 9, 2):
        out = f(Tensor(x).shrink(((0, n.bind(k)), (0, 30))).contiguous())
        check(out.numpy()[:k], 2 * x[:k])


@pytest.mark.parametrize("n", [1, 2, 7, 12, 521])
def test_gradients(n):
    x = RANDOM.standard_normal((2, n, 2))
    weight = RANDOM.standard_normal((2, n, 2))

    def theirs(f, given, weight):
        t = torch.from_numpy(given).requires_grad_()
        f(t).mul(torch.from_numpy(weight)).sum().backward()
        return t.grad.numpy()

    def ours(f, given, weight):
        t = Tensor(given).requires_grad_()
        (f(t) * Tensor(weight)).sum().backward()
        return t.grad.numpy()

    def of_pairs(name):
        return lambda t: torch.view_as_real(getattr(torch.fft, name)(torch.view_as_complex(t)))

    check(ours(strata.fft.fft, x, weight), theirs(of_pairs("fft"), x, weight), "f8")
    check(ours(strata.fft.ifft, x, weight), theirs(of_pairs("ifft"), x, weight), "f8")
    real, half = x[..., 0].copy(), weight[:, : n // 2 + 1]
    check(ours(strata.fft.rfft, real, half), theirs(lambda t: torch.view_as_real(torch.fft.rfft(t)), real, half), "f8")
    check(ours(lambda t: strata.fft.irfft(t, n), half, real), theirs(lambda t: torch.fft.irfft(torch.view_as_complex(t), n), half.copy(), real),
          "f8")


def test_frequencies():
    for n in (1, 4, 5):
        np.testing.assert_allclose(strata.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-7)
        np.testing.assert_allclose(strata.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5), rtol=1e-7)


FRAMES = [
    (16, {}), (16, {"hop_length": 5}), (15, {"hop_length": 4}), (16, {"center": False}), (16, {"normalized": True}),
    (16, {"onesided": False}), (16, {"pad_mode": "constant"}), (16, {"win_length": 9, "hop_length": 3}), (12, {"hop_length": 12, "center": False}),
]


@pytest.mark.parametrize("n_fft, options", FRAMES)
@pytest.mark.parametrize("shape", [(67,), (3, 67)])
@pytest.mark.parametrize("has_window", [False, True])
def test_frames_and_back(n_fft, options, shape, has_window):
    x = RANDOM.standard_normal(shape)
    window = 0.5 + RANDOM.random(options.get("win_length", n_fft)) if has_window else None
    ours = strata.stft(Tensor(x), n_fft, window=None if window is None else Tensor(window), **options)
    w = None if window is None else torch.from_numpy(window)
    theirs = torch.stft(torch.from_numpy(x), n_fft, window=w, return_complex=True, **options)
    check(complex_of(ours.numpy()), theirs.numpy(), "f8")
    options = {k: v for k, v in options.items() if k != "pad_mode"}
    if not options.get("center", True) and not has_window or options.get("center", True):
        for length in (None, 60, 67):
            back = strata.istft(ours, n_fft, window=None if window is None else Tensor(window), length=length, **options)
            if "win_length" in options and length is not None:
                continue  # PyTorch refuses windows that do not reach the end
            wanted = torch.istft(theirs, n_fft, window=w, length=length, **options)
            check(back.numpy(), wanted.numpy(), "f8")


@pytest.mark.parametrize("wrong, message", [
    (lambda: strata.fft.fft(Tensor(np.zeros((4, 3)))), r"\[fft\] the last axis of shape \(4, 3\) has 3 elements instead of 2"),
    (lambda: strata.fft.fft(Tensor(np.zeros(2))), r"\[fft\] the input has shape \(2,\)"),
    (lambda: strata.fft.rfft(Tensor(np.zeros((4, 3))), axis=2), r"\[rfft\] axis 2 of 2 axes"),
    (lambda: strata.fft.rfft(Tensor(np.zeros((4, 0)))), r"\[rfft\] a transform of 0 numbers"),
    (lambda: strata.fft.rfft(Tensor(np.zeros(4)), n=-1), r"\[rfft\] a transform of -1 numbers"),
    (lambda: strata.fft.rfft(Tensor(np.zeros(4)), n=1 << 40), r"\[rfft\] a transform of 1099511627776 numbers"),
    (lambda: strata.fft.rfft(Tensor(np.zeros(4)), norm="both"), "norm"),
    (lambda: strata.stft(Tensor(np.zeros((1, 2, 40))), 8), r"\[stft\] the input has shape \(1, 2, 40\)"),
    (lambda: strata.stft(Tensor(np.zeros(40)), 8, window=Tensor(np.zeros(7))), r"\[stft\] the window has shape \(7,\); \(8,\) is expected"),
    (lambda: strata.stft(Tensor(np.zeros(40)), 8, hop_length=0), r"\[stft\] a frame every 0 elements"),
    (lambda: strata.stft(Tensor(np.zeros(4)), 8, center=False), r"\[stft\] 4 samples are fewer than a frame of 8"),
    (lambda: strata.stft(Tensor(np.zeros(40)), 8, win_length=9), r"\[stft\] a window of 9 elements for frames of 8"),
    (lambda: strata.istft(Tensor(np.zeros((5, 7, 3))), 8), r"\[istft\] the input has shape \(5, 7, 3\)"),
    (lambda: strata.istft(Tensor(np.zeros((6, 7, 2))), 8), r"\[istft\] 6 bins for frames of 8: 5 are expected"),
])
def test_wrong_use(wrong, message):
    with pytest.raises(strata.Error, match=message):
        wrong()


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 16, 17])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(name, size, periodic):
    for dtype in ("float32", "float64"):
        found = getattr(strata, name)(size, periodic, dtype=dtype).numpy()
        wanted = getattr(torch, name)(size, periodic, dtype=getattr(torch, dtype)).numpy()
        np.testing.assert_allclose(found, wanted, atol=1e-6 if dtype == "float32" else 1e-14)
    with pytest.raises(strata.DomainError, match="a window of -1 elements"):
        getattr(strata, name)(-1)
    with pytest.raises(strata.DomainError, match="i32 is no dtype of floats"):
        getattr(strata, name)(4, dtype="int32")
