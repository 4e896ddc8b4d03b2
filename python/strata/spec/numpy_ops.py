"""A backend that is a table: a NumPy function for each op. Kernels run op by op."""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

import strata
from strata import BinaryOps, BufferOps, LoadOps, MovementOps, ReduceOps, ShapeTracker, TernaryOps, UnaryOps

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _quotient(a: Any, b: Any) -> Any:
    """a / b rounded down, element by element; 0 for b == 0."""
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def _truncated(a: Any, b: Any) -> Any:
    """a / b rounded towards 0, element by element; 0 for b == 0."""
    q = _quotient(a, b)
    return q + ((q < 0) & (q * b != a))


def _remainder(a: Any, b: Any) -> Any:
    """The remainder of a / b, with the sign of a. For integers, 0 for b == 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmod(a, b)


def _dot4(a: Any, b: Any, c: Any) -> Any:
    """c and the products of the four bytes of each a, unsigned, and of each b, signed, modulo 2^32."""
    def bytes_of(words: Any, dtype: Any) -> Any:
        words = np.ascontiguousarray(words, np.int32)
        return words.reshape(*words.shape, 1).view(dtype).astype(np.int32)
    return (bytes_of(a, np.uint8) * bytes_of(b, np.int8)).sum(-1, dtype=np.int32) + c

def _dot2(a: Any, b: Any, c: Any) -> Any:
    """c and the products of the two bf16 of each a and of each b, those of the high halves first."""
    def high(words: Any) -> Any: return (np.asarray(words, np.int32) & np.int32(-65536)).view(np.float32)
    def low(words: Any) -> Any: return (np.asarray(words, np.int32) << np.int32(16)).view(np.float32)
    return high(a) * high(b) + c + low(a) * low(b)


fxn_for_op: Dict[Any, Callable[..., Any]] = {
    UnaryOps.NOOP: lambda x: x, UnaryOps.REQUIRES_GRAD: lambda x: x, UnaryOps.DETACH: lambda x: x,
    UnaryOps.CUSTOM_GRAD: lambda x, *_: x, UnaryOps.IN_RANGE: lambda x: x, UnaryOps.NEG: np.negative, UnaryOps.ABS: np.abs, UnaryOps.NOT: np.invert,
    UnaryOps.RECIP: lambda x: 1 / x, UnaryOps.SQRT: np.sqrt, UnaryOps.TRUNC: np.trunc, UnaryOps.FLOOR: np.floor,
    UnaryOps.CEIL: np.ceil, UnaryOps.ROUND: np.round, UnaryOps.EXP2: np.exp2, UnaryOps.LOG2: np.log2,
    UnaryOps.EXP: np.exp, UnaryOps.LOG: np.log, UnaryOps.EXPM1: np.expm1, UnaryOps.LOG1P: np.log1p,
    UnaryOps.SIN: np.sin, UnaryOps.COS: np.cos, UnaryOps.TAN: np.tan, UnaryOps.ATAN: np.arctan,
    UnaryOps.TANH: np.tanh, UnaryOps.ERF: _erf,
    BinaryOps.ADD: np.add, BinaryOps.SUB: np.subtract, BinaryOps.MUL: np.multiply, BinaryOps.DIV: np.divide,
    BinaryOps.IDIV: _truncated, BinaryOps.MOD: _remainder,
    BinaryOps.FLOORDIV: _quotient, BinaryOps.FLOORMOD: lambda a, b: a - b * _quotient(a, b),
    BinaryOps.MAX: np.maximum, BinaryOps.MIN: np.minimum, BinaryOps.POW: np.power, BinaryOps.ATAN2: np.arctan2,
    BinaryOps.AND: np.bitwise_and, BinaryOps.OR: np.bitwise_or, BinaryOps.XOR: np.bitwise_xor,
    BinaryOps.SHL: np.left_shift, BinaryOps.SHR: np.right_shift, BinaryOps.CMPLT: np.less,
    BinaryOps.CMPEQ: np.equal, BinaryOps.CMPNE: np.not_equal,
    TernaryOps.WHERE: np.where, TernaryOps.MULACC: lambda a, b, c: a * b + c, TernaryOps.DOT4: _dot4,
    TernaryOps.DOT2: _dot2,
    ReduceOps.SUM: np.add.reduce, ReduceOps.PROD: np.multiply.reduce, ReduceOps.MAX: np.maximum.reduce,
    ReduceOps.MIN: np.minimum.reduce,
}

_moves: Dict[Any, Callable[[ShapeTracker, Any], ShapeTracker]] = {
    MovementOps.RESHAPE: ShapeTracker.reshape, MovementOps.PERMUTE: ShapeTracker.permute,
    MovementOps.EXPAND: ShapeTracker.expand, MovementOps.PAD: ShapeTracker.pad,
    MovementOps.SHRINK: ShapeTracker.shrink, MovementOps.STRIDE: ShapeTracker.stride,
}


def moved(st: ShapeTracker, op: Any, arg: Any) -> ShapeTracker:
    """The ShapeTracker `st` after the movement op `op` with argument `arg`. Raises KeyError for any other op."""
    return _moves[op](st, arg)


def _numbers(shape: Sequence[Any]) -> Tuple[int, ...]:
    """The shape as ints. Raises TypeError if a size is symbolic."""
    return tuple(operator.index(n) for n in shape)


def _gathered(elements: np.ndarray[Any, Any], st: ShapeTracker) -> np.ndarray[Any, Any]:
    """An array of the elements at the addresses of a ShapeTracker, with 0 at invalid indices."""
    addresses = np.array(st.addresses(), np.int64).reshape(_numbers(st.shape))
    if elements.size == 0:
        return np.zeros(_numbers(st.shape), elements.dtype)
    return np.where(addresses >= 0, elements[np.maximum(addresses, 0)], np.zeros((), elements.dtype))


def _reduced_axes(node: strata.LazyOp) -> Any:
    return tuple(node.arg)


def _value(node: strata.LazyOp, src: List[Any], bufs: Sequence[np.ndarray[Any, Any]], table: Dict[Any, Callable[..., Any]]) -> Any:
    dtype = node.dtype.numpy
    if node.op == BufferOps.LOAD:
        slot, _, st = node.arg
        return _gathered(bufs[slot].reshape(-1), st)
    if node.op == LoadOps.CONST:
        value, st = node.arg
        return np.where(np.array(st.addresses(), np.int64).reshape(_numbers(st.shape)) >= 0, value, 0).astype(dtype)
    if node.op == LoadOps.IOTA:
        return np.maximum(np.array(node.arg.addresses(), np.int64), 0).reshape(_numbers(node.shape)).astype(dtype)
    if node.op in _moves:
        return _gathered(src[0].reshape(-1), moved(ShapeTracker.from_shape(src[0].shape), node.op, node.arg))
    if node.op == UnaryOps.CAST:
        return src[0].astype(dtype)
    if node.op == UnaryOps.BITCAST:
        return src[0].view(dtype)
    if isinstance(node.op, ReduceOps):
        return table[node.op](src[0], axis=_reduced_axes(node), keepdims=True).astype(dtype)
    return np.asarray(table[node.op](*src)).astype(dtype)


def _postorder(root: strata.LazyOp) -> List[strata.LazyOp]:
    out: List[strata.LazyOp] = []
    seen = set()
    work = [(root, False)]
    while work:
        node, done = work.pop()
        if done:
            out.append(node)
        elif node not in seen:
            seen.add(node)
            work.append((node, True))
            work.extend((s, False) for s in reversed(node.src))
    return out


def run_kernel(kernel: strata.LazyOp, bufs: Sequence[np.ndarray[Any, Any]], table: Dict[Any, Callable[..., Any]]) -> None:
    """Computes each node of a kernel by the table, and writes the stored values to `bufs`, the buffers by slot."""
    values: Dict[strata.LazyOp, Any] = {}
    stores = []
    with np.errstate(all="ignore"):
        for node in _postorder(kernel):
            src = [values[s] for s in node.src if s in values]
            if node.op == BufferOps.STORE:
                stores.append((node.arg, src[0]))
            elif node.op != BufferOps.SINK:
                values[node] = _value(node, src, bufs, table)
    for (slot, _, st), value in stores:
        addresses = np.array(st.addresses(), np.int64)
        bufs[slot].reshape(-1)[addresses[addresses >= 0]] = value.reshape(-1)[addresses >= 0]
