"""Discrete Fourier transforms under the names of torch.fft and numpy.fft. A complex number is a pair (real part, imaginary part) along
a last axis of size 2, as torch.view_as_real() makes it; axes are counted without this one."""
from . import _strata
from ._strata import _fft as fft, _ifft as ifft, _irfft as irfft, _rfft as rfft

__all__ = ["fft", "fftfreq", "ifft", "irfft", "rfft", "rfftfreq"]


def fftfreq(n: int, d: float = 1.0) -> _strata.Tensor:
    """The frequencies of the n numbers that fft() gives, in cycles per unit of the distance `d` of samples; float32, shape (n,)."""
    ahead = _strata.arange((n + 1) // 2)
    return (_strata.cat([ahead, _strata.arange(-(n // 2), 0)]).cast(_strata.float64) * (1 / (n * d))).cast(_strata.float32)


def rfftfreq(n: int, d: float = 1.0) -> _strata.Tensor:
    """The frequencies of the n // 2 + 1 numbers that rfft() gives; float32, shape (n // 2 + 1,)."""
    return (_strata.arange(n // 2 + 1).cast(_strata.float64) * (1 / (n * d))).cast(_strata.float32)
