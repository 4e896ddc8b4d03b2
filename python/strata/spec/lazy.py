"""LazyBuffers: nodes of the graph of tensors, without gradients."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import strata
from strata import BinaryOps, LoadOps, MovementOps, ReduceOps, ShapeTracker, TernaryOps, UnaryOps

from .helpers import DType
from .numpy_ops import moved
from .ops import LazyOp, ScheduleItem
from .runtime.lib import RawBuffer, RawMallocBuffer, RawNumpyBuffer


class LazyBuffer:
    """A node of the graph, and its device.

    A realized node has memory, `realized`. Any other node has an op, `op`, whose sources are LazyBuffers.
    """

    def __init__(self, node: strata.LazyOp, device: str) -> None:
        self.node = node
        self.device = device

    @property
    def shape(self) -> Tuple[Any, ...]:
        """The shape: a tuple with the size of each dimension."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        dtype: DType = self.node.dtype
        return dtype

    @property
    def st(self) -> ShapeTracker:
        """The ShapeTracker of the movement ops from this node down to the first other or realized node."""
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
        """The memory of the elements; None if the node is not realized."""
        buffer = self.node.buffer
        return None if buffer is None else RawMallocBuffer(len(buffer), buffer.dtype, buffer)

    @property
    def op(self) -> Optional[LazyOp]:
        """The op with its sources and its argument; None if the node is realized."""
        if self.node.is_realized:
            return None
        if self.node.op == LoadOps.FROM and self.node.src[0].is_realized:
            return LazyOp(LoadOps.FROM, (_OnCPU(self.node.src[0]),), "CPU")
        return LazyOp(self.node.op, tuple(LazyBuffer(s, self.device) for s in self.node.src), self.node.arg)

    def schedule(self) -> List[ScheduleItem]:
        """The kernels and copies that compute the elements, in execution order."""
        return [ScheduleItem(item) for item in strata.schedule([self.node])]

    def realize(self) -> LazyBuffer:
        """Computes the elements, and returns this LazyBuffer."""
        self.node.tensor(self.device).realize()
        return self

    def __repr__(self) -> str:
        what = "realized" if self.node.is_realized else f"op={self.node.op}"
        return f"<LB {self.shape} {self.dtype.spec_name} {self.device} {what}>"

    # --- ops, which the functions in mlops.py consist of ---

    def _of(self, node: strata.LazyOp) -> LazyBuffer:
        return LazyBuffer(node, self.device)

    def const(self, value: Any) -> LazyBuffer:
        """A LazyBuffer of this shape and dtype whose elements are all `value`."""
        return self._of(strata.LazyOp.constant(value, self.dtype, self.shape))

    def e(self, op: UnaryOps | BinaryOps | TernaryOps, *srcs: LazyBuffer, arg: Any = None) -> LazyBuffer:
        """An elementwise op on this LazyBuffer and `srcs`. For CAST, `arg` is the dtype."""
        if op == UnaryOps.CAST:
            return self._of(self.node.cast(arg))
        return self._of(strata.LazyOp.alu(op, self.node, *[s.node for s in srcs]))

    def r(self, op: ReduceOps, new_shape: Sequence[Any]) -> LazyBuffer:
        """A reduction by `op` over the dimensions that have size 1 in `new_shape`, but not in this shape."""
        axes = [k for k, (old, new) in enumerate(zip(self.shape, new_shape)) if old != new]
        return self._of(strata.LazyOp.reduce(op, self.node, axes))

    def contiguous(self) -> LazyBuffer:
        """The same elements, stored in row-major order in memory of their own."""
        return self._of(self.node.contiguous())

    def reshape(self, arg: Sequence[Any]) -> LazyBuffer:
        """The same elements in row-major order in the shape `arg`."""
        return self._of(self.node.reshape(arg))

    def permute(self, arg: Sequence[int]) -> LazyBuffer:
        """Reorders the dimensions: dimension k of the result is dimension arg[k]."""
        return self._of(self.node.permute(arg))

    def expand(self, arg: Sequence[Any]) -> LazyBuffer:
        """Repeats dimensions of size 1 to the shape `arg`."""
        return self._of(self.node.expand(arg))

    def pad(self, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        """Adds zeros around the elements. `arg` has a pair (before, after) for each dimension."""
        return self._of(self.node.pad(arg))

    def shrink(self, arg: Sequence[Tuple[Any, Any]]) -> LazyBuffer:
        """Keeps the elements in a box. `arg` has a half-open interval (begin, end) for each dimension."""
        return self._of(self.node.shrink(arg))

    def stride(self, arg: Sequence[Any]) -> LazyBuffer:
        """Keeps every |step|-th element of each dimension, for step < 0 from the last one backwards."""
        return self._of(self.node.stride(arg))


class _InNumPy(LazyBuffer):
    """The elements of a realized node in a NumPy array."""

    @property
    def realized(self) -> Optional[RawBuffer]:
        return RawNumpyBuffer(self.node.buffer.numpy())


class _OnCPU(LazyBuffer):
    """The source of a copy to a device: elements on the CPU, in row-major order."""

    def __init__(self, node: strata.LazyOp) -> None:
        super().__init__(node, "CPU")

    @property
    def realized(self) -> Optional[RawBuffer]:
        return None

    @property
    def op(self) -> Optional[LazyOp]:
        return LazyOp(LoadOps.CONTIGUOUS, (_InNumPy(self.node, "CPU"),))


__all__ = ["LazyBuffer"]
