"""LazyBuffers: tensors without derivatives."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import strata
from strata import BinaryOps, LoadOps, MovementOps, ReduceOps, ShapeTracker, TernaryOps, UnaryOps

from .helpers import DType
from .numpy_ops import moved
from .ops import LazyOp, ScheduleItem
from .runtime.lib import RawBuffer, RawMallocBuffer, RawNumpyBuffer


class LazyBuffer:
    """A node of the graph, and the device that it is on.

    Where it is realized it has memory, `realized`; else it has an op, `op`, whose sources are LazyBuffers.
    """

    def __init__(self, node: strata.LazyOp, device: str) -> None:
        self.node = node
        self.device = device

    @property
    def shape(self) -> Tuple[Any, ...]:
        """The shape."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        dtype: DType = self.node.dtype
        return dtype

    @property
    def st(self) -> ShapeTracker:
        """How the elements of what is below the movement ops are seen."""
        node, moves = self.node, []
        while isinstance(node.op, MovementOps) and not node.is_realized:
            moves.append(node)
            node = node.src[0]
        out = ShapeTracker.from_shape(node.shape)
        for move in reversed(moves):
            out = moved(out, move.op, move.arg)
        return out

    @property
    def realized(self) -> Optional[RawBuffer]:
        """The memory; None where it is not realized."""
        buffer = self.node.buffer
        return None if buffer is None else RawMallocBuffer(len(buffer), buffer.dtype, buffer)

    @property
    def op(self) -> Optional[LazyOp]:
        """The op; None where it is realized."""
        if self.node.is_realized:
            return None
        if self.node.op == LoadOps.FROM and self.node.src[0].is_realized:
            return LazyOp(LoadOps.FROM, (_OnCPU(self.node.src[0]),), "CPU")
        return LazyOp(self.node.op, tuple(LazyBuffer(s, self.device) for s in self.node.src), self.node.arg)

    def schedule(self) -> List[ScheduleItem]:
        """What has to run for this to be realized, in order."""
        return [ScheduleItem(item) for item in strata.schedule([self.node])]

    def realize(self) -> LazyBuffer:
        """Computes it."""
        self.node.tensor(self.device).realize()
        return self

    def __repr__(self) -> str:
        what = "realized" if self.node.is_realized else f"op={self.node.op}"
        return f"<LB {self.shape} {self.dtype.spec_name} {self.device} {what}>"

    # --- what functions are made of ---

    def _of(self, node: strata.LazyOp) -> LazyBuffer:
        return LazyBuffer(node, self.device)

    def const(self, value: Any) -> LazyBuffer:
        """The same number everywhere, of this shape and dtype."""
        return self._of(strata.LazyOp.constant(value, self.dtype, self.shape))

    def e(self, op: UnaryOps | BinaryOps | TernaryOps, *srcs: LazyBuffer, arg: Any = None) -> LazyBuffer:
        """An op between elements, of this and of `srcs`. The argument of CAST is a dtype."""
        if op == UnaryOps.CAST:
            return self._of(self.node.cast(arg))
        return self._of(strata.LazyOp.alu(op, self.node, *[s.node for s in srcs]))

    def r(self, op: ReduceOps, new_shape: Sequence[Any]) -> LazyBuffer:
        """A reduction of the dimensions that are of size 1 in `new_shape` and not here."""
        axes = [k for k, (old, new) in enumerate(zip(self.shape, new_shape)) if old != new]
        return self._of(strata.LazyOp.reduce(op, self.node, axes))

    def contiguous(self) -> LazyBuffer:
        """The same elements in memory of their own."""
        return self._of(self.node.contiguous())

    def reshape(self, arg: Sequence[Any]) -> LazyBuffer:
        """In another shape."""
        return self._of(self.node.reshape(arg))

    def permute(self, arg: Sequence[int]) -> LazyBuffer:
        """With dimensions in another order."""
        return self._of(self.node.permute(arg))

    def expand(self, arg: Sequence[Any]) -> LazyBuffer:
        """With dimensions of size 1 repeated."""
        return self._of(self.node.expand(arg))

    def pad(self, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        """With zeros around: (before, after) a dimension."""
        return self._of(self.node.pad(arg))

    def shrink(self, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        """From begin up to end: (begin, end) a dimension."""
        return self._of(self.node.shrink(arg))

    def stride(self, arg: Sequence[Any]) -> LazyBuffer:
        """Every |step|-th element, backwards where step < 0."""
        return self._of(self.node.stride(arg))


class _InNumPy(LazyBuffer):
    """Elements in an array of NumPy's."""

    @property
    def realized(self) -> Optional[RawBuffer]:
        return RawNumpyBuffer(self.node.buffer.numpy())


class _OnCPU(LazyBuffer):
    """What a copy to a device is made of: elements of the CPU, in row-major order."""

    def __init__(self, node: strata.LazyOp) -> None:
        super().__init__(node, "CPU")

    @property
    def realized(self) -> Optional[RawBuffer]:
        return None

    @property
    def op(self) -> Optional[LazyOp]:
        return LazyOp(LoadOps.CONTIGUOUS, (_InNumPy(self.node, "CPU"),))


__all__ = ["LazyBuffer"]
