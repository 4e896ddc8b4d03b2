"""Tensors with the specification's defaults: Python numbers become float32."""
from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np

import strata

from .helpers import DType, dtypes
from .lazy import LazyBuffer


def _node_of(data: Any, dtype: Optional[DType]) -> strata.LazyOp:
    if isinstance(data, LazyBuffer):
        return data.node
    if isinstance(data, (bool, int, float)):
        return strata.LazyOp.constant(data, dtype or dtypes.float32, ())
    if isinstance(data, np.ndarray):
        array = data if dtype is None else data.astype(dtype.numpy)
    else:
        array = np.array(data, (dtype or dtypes.float32).numpy)
    return strata.LazyOp.from_buffer(strata.Buffer.fromCPU(array), array.shape).copied()


class Tensor:
    """A lazily computed array. The class has all methods and properties of strata.Tensor.

    `data` is a number, nested lists of numbers, an array, a LazyBuffer or a strata.Tensor.

    >>> (Tensor([2]) + Tensor([3])).numpy()
    array([5.], dtype=float32)
    """

    def __init__(self, data: Any, device: Optional[str] = None, dtype: Optional[DType] = None,
                 requires_grad: Optional[bool] = None) -> None:
        inner = data if isinstance(data, strata.Tensor) else _node_of(data, dtype).tensor(device)
        self._tensor: strata.Tensor = inner
        self._ctx: Optional[Function] = None
        if requires_grad is not None:
            self.requires_grad = requires_grad

    @property
    def lazydata(self) -> LazyBuffer:
        """The node of the graph, as a LazyBuffer."""
        return LazyBuffer(strata.lazy_op(self._tensor), self.device)

    @property
    def device(self) -> str:
        """The name of the device."""
        return str(getattr(self._tensor.device, "name", self._tensor.device))

    @property
    def requires_grad(self) -> bool:
        """True if the tensor is a parameter, by which gradients are taken, or was computed from one."""
        return bool(self._tensor.requires_grad)

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._tensor.requires_grad = on

    @property
    def grad(self) -> Optional[Tensor]:
        """The gradient that backward() has accumulated, or None."""
        return None if self._tensor.grad is None else Tensor(self._tensor.grad)

    def realize(self) -> Tensor:
        """Computes the elements, and returns this tensor. A number is not computed: kernels have it as a constant."""
        if strata.lazy_op(self._tensor).op != strata.LoadOps.CONST:
            self._tensor.realize()
        return self

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array. Realizes the tensor."""
        array: np.ndarray[Any, Any] = self._tensor.numpy()
        return array

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_tensor":
            raise AttributeError(name)
        found = getattr(self._tensor, name)
        if not callable(found):
            return _wrapped(found)
        return lambda *args, **kwargs: _wrapped(found(*_inner(args), **_inner(kwargs)))

    def __repr__(self) -> str:
        return f"<Tensor {self.lazydata!r}>"

    __hash__ = object.__hash__


def _wrapped(value: Any) -> Any:
    if isinstance(value, strata.Tensor):
        return Tensor(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_wrapped(v) for v in value)
    return value


def _inner(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._tensor
    if isinstance(value, (tuple, list)):
        return type(value)(_inner(v) for v in value)
    if isinstance(value, dict):
        return {k: _inner(v) for k, v in value.items()}
    return value


def _operator(name: str) -> Any:
    def apply(self: Tensor, *others: Any) -> Any:
        return _wrapped(getattr(self._tensor, name)(*_inner(others)))
    apply.__name__ = name
    return apply


for _name in ("add sub mul truediv floordiv mod pow matmul and or xor radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul "
              "lt le gt ge eq ne neg abs invert getitem len bool float int").split():
    setattr(Tensor, f"__{_name}__", _operator(f"__{_name}__"))


class Function:
    """A function of tensors. A subclass defines forward(), a function of LazyBuffers.

    A subclass defines no gradient: Strata has a gradient rule for each op that forward() makes.
    """

    def __init__(self, *tensors: Tensor) -> None:
        self.parents = tensors

    def forward(self, *args: Any, **kwargs: Any) -> LazyBuffer:
        """The LazyBuffer of the result, computed from the LazyBuffers of the arguments."""
        raise TypeError(f"{type(self).__name__} does not define forward()")

    @classmethod
    def apply(cls, *x: Tensor, **kwargs: Any) -> Tensor:
        """Applies the function to tensors, and returns the result."""
        ctx = cls(*x)
        out = Tensor(ctx.forward(*[t.lazydata for t in x], **kwargs), device=x[0].device if x else None)
        out._ctx = ctx
        return out


Scalar = Union[bool, int, float]

__all__ = ["Function", "Tensor"]
