"""The functions that tensors are made of, between derivatives and LazyBuffers.

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
    """The same elements in memory of their own."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.contiguous()


class Cast(Function):
    """The elements as another dtype."""

    def forward(self, x: LazyBuffer, dtype: DType) -> LazyBuffer:
        return x.e(UnaryOps.CAST, arg=dtype)


# --- of one ---

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
    """The natural logarithm."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(UnaryOps.LOG2).e(BinaryOps.MUL, x.const(math.log(2)))


class Exp(Function):
    """e to the x."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(BinaryOps.MUL, x.const(1 / math.log(2))).e(UnaryOps.EXP2)


class Sqrt(Function):
    """The square root."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        return x.e(UnaryOps.SQRT)


class Sigmoid(Function):
    """1 / (1 + e to the -x)."""

    def forward(self, x: LazyBuffer) -> LazyBuffer:
        falling = x.e(BinaryOps.MUL, x.const(-1 / math.log(2))).e(UnaryOps.EXP2)
        return x.const(1).e(BinaryOps.DIV, falling.e(BinaryOps.ADD, x.const(1)))


# --- of two and three ---

class Less(Function):
    """Whether x < y."""

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
    """y where x holds, else z."""

    def forward(self, x: LazyBuffer, y: LazyBuffer, z: LazyBuffer) -> LazyBuffer:
        return x.e(TernaryOps.WHERE, y, z)


# --- reductions ---

class Sum(Function):
    """The sum along the dimensions that are of size 1 in `new_shape` and not in x."""

    def forward(self, x: LazyBuffer, new_shape: Sequence[Any]) -> LazyBuffer:
        return x.r(ReduceOps.SUM, new_shape)


class Max(Function):
    """The largest element along the dimensions that are of size 1 in `new_shape` and not in x."""

    def forward(self, x: LazyBuffer, new_shape: Sequence[Any]) -> LazyBuffer:
        return x.r(ReduceOps.MAX, new_shape)


# --- movement ---

class Expand(Function):
    """Dimensions of size 1 repeated."""

    def forward(self, x: LazyBuffer, shape: Sequence[Any]) -> LazyBuffer:
        return x.expand(shape)


class Reshape(Function):
    """In another shape."""

    def forward(self, x: LazyBuffer, shape: Sequence[Any]) -> LazyBuffer:
        return x.reshape(shape)


class Permute(Function):
    """Dimensions in another order."""

    def forward(self, x: LazyBuffer, order: Sequence[int]) -> LazyBuffer:
        return x.permute(order)


class Pad(Function):
    """Zeros around: (before, after) a dimension."""

    def forward(self, x: LazyBuffer, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        return x.pad(arg)


class Shrink(Function):
    """From begin up to end: (begin, end) a dimension."""

    def forward(self, x: LazyBuffer, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        return x.shrink(arg)


class Flip(Function):
    """Backwards along the dimensions in `axis`."""

    def forward(self, x: LazyBuffer, axis: Sequence[int]) -> LazyBuffer:
        return x.stride([-1 if k in axis else 1 for k in range(len(x.shape))])
