"""Raw buffers: memory with a size and a dtype."""
from __future__ import annotations

from typing import Any

import numpy as np

import strata

from ..helpers import DType, dtypes


class RawBuffer:
    """A buffer: `size` elements of `dtype` in an opaque container `buf`. Subclasses define the container."""

    def __init__(self, size: int, dtype: DType, buf: Any) -> None:
        self.size = size
        self.dtype = dtype
        self._buf = buf

    @classmethod
    def fromCPU(cls, x: np.ndarray[Any, Any]) -> RawBuffer:
        """A buffer with the elements of an array. Raises TypeError on RawBuffer itself."""
        raise TypeError(f"{cls.__name__} has no memory: use a subclass")

    def toCPU(self) -> np.ndarray[Any, Any]:
        """The elements as an array of shape (size,). Raises TypeError on RawBuffer itself."""
        raise TypeError(f"{type(self).__name__} has no memory: use a subclass")

    def __repr__(self) -> str:
        return f"buffer<{self.size}, {self.dtype.spec_name}>"


class RawNumpyBuffer(RawBuffer):
    """A buffer in a NumPy array."""

    def __init__(self, buf: np.ndarray[Any, Any]) -> None:
        super().__init__(buf.size, dtypes.from_np(buf.dtype), buf)

    @classmethod
    def fromCPU(cls, x: np.ndarray[Any, Any]) -> RawNumpyBuffer:
        return cls(x)

    def toCPU(self) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = self._buf
        return array


class RawMallocBuffer(RawBuffer):
    """A buffer in memory of the host: the `strata.Buffer` `buf`, by default a new one with unspecified elements."""

    def __init__(self, size: int, dtype: DType, buf: Any = None) -> None:
        super().__init__(size, dtype, strata.Buffer(size, dtype) if buf is None else buf)

    @classmethod
    def fromCPU(cls, x: np.ndarray[Any, Any]) -> RawMallocBuffer:
        buffer = strata.Buffer.fromCPU(x)
        return cls(len(buffer), buffer.dtype, buffer)

    def toCPU(self) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = self._buf.numpy()
        return array


__all__ = ["RawBuffer", "RawMallocBuffer", "RawNumpyBuffer"]
