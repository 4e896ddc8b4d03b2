"""The functions of tensors, as ops on LazyBuffers.

    >>> Log.apply(Tensor([1.0])).numpy()
    array([0.], dtype=float32)
"""
from __future__ import annotations

import math
from typing import Any, Sequence, Tuple

from strata import BinaryOps, ReduceOps, TernaryOps, UnaryOps

from .helpers import DType
from .lazy import LazyBuffer
from .tensor import Function


class Contiguous(Function):
    """The same elements, stored in row-major order in memory of their own."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.contiguous()


class Cast(Function):
    """The same values in another dtype."""

    def forward(self, x: LazyBuffer, dtype: DType) -> LazyBuffer:
        return x.e(UnaryOps.CAST, arg=dtype)


# --- functions of one tensor ---

class Neg(Function):
    """-x."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(UnaryOps.NEG)


class Sin(Function):
    """sin(x)."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(UnaryOps.SIN)


class Relu(Function):
    """max(x, 0)."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.MAX, x.const(0))


class Log(Function):
    """The natural logarithm of x."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(UnaryOps.LOG2).e(BinaryOps.MUL, x.const(math.log(2)))


class Exp(Function):
    """e to the power x."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.MUL, x.const(1 / math.log(2))).e(UnaryOps.EXP2)


class Sqrt(Function):
    """The square root of x."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(UnaryOps.SQRT)


class Sigmoid(Function):
    """1 / (1 + exp(-x))."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        falling = x.e(BinaryOps.MUL, x.const(-1 / math.log(2))).e(UnaryOps.EXP2)
        return x.const(1).e(BinaryOps.DIV, falling.e(BinaryOps.ADD, x.const(1)))


# --- functions of two and three tensors ---

class Less(Function):
    """True where x < y, else False."""

    def forward(self, x: LazyBuffer, y: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.CMPLT, y)


class Add(Function):
    """x + y."""

    def forward(self, x: LazyBuffer, y: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.ADD, y)


class Sub(Function):
    """x - y."""

    def forward(self, x: LazyBuffer, y: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.SUB, y)


class Mul(Function):
    """x * y."""

    def forward(self, x: LazyBuffer, y: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.MUL, y)


class Div(Function):
    """x / y."""

    def forward(self, x: LazyBuffer, y: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.DIV, y)


class Where(Function):
    """Elements of y where the condition x is true, else elements of z."""

    def forward(self, x: LazyBuffer, y: LazyBuffer, z: LazyBuffer) -> LazyBuffer:
        return x.e(TernaryOps.WHERE, y, z)


# --- reductions ---

class Sum(Function):
    """The sum over the dimensions that have size 1 in `new_shape`, but not in x."""

    def forward(self, x: LazyBuffer, new_shape: Sequence[Any]) -> LazyBuffer:
        return x.r(ReduceOps.SUM, new_shape)


class Max(Function):
    """The largest element over the dimensions that have size 1 in `new_shape`, but not in x."""

    def forward(self, x: LazyBuffer, new_shape: Sequence[Any]) -> LazyBuffer:
        return x.r(ReduceOps.MAX, new_shape)


# --- movement ---

class Expand(Function):
    """Repeats dimensions of size 1 to the sizes in `shape`."""

    def forward(self, x: LazyBuffer, shape: Sequence[Any]) -> LazyBuffer:
        return x.expand(shape)


class Reshape(Function):
    """The same elements in row-major order in another shape."""

    def forward(self, x: LazyBuffer, shape: Sequence[Any]) -> LazyBuffer:
        return x.reshape(shape)


class Permute(Function):
    """Reorders the dimensions: dimension k of the result is dimension order[k] of x."""

    def forward(self, x: LazyBuffer, order: Sequence[int]) -> LazyBuffer:
        return x.permute(order)


class Pad(Function):
    """Adds zeros around the elements. `arg` has a pair (before, after) for each dimension."""

    def forward(self, x: LazyBuffer, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        return x.pad(arg)


class Shrink(Function):
    """Keeps the elements in a box. `arg` has a half-open interval (begin, end) for each dimension."""

    def forward(self, x: LazyBuffer, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        return x.shrink(arg)


class Flip(Function):
    """Reverses the order of the elements along the dimensions in `axis`."""

    def forward(self, x: LazyBuffer, axis: Sequence[int]) -> LazyBuffer:
        return x.stride([-1 if k in axis else 1 for k in range(len(x.shape))])
