"""Ops, the ASTs of kernels, and the two kinds of backends."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple, Type, Union

import strata
from strata import BinaryOps, BufferOps, LoadOps, MovementOps, ReduceOps, TernaryOps, UnaryOps

from .numpy_ops import fxn_for_op, run_kernel
from .runtime.lib import RawBuffer, RawMallocBuffer, RawNumpyBuffer

Op = Union[UnaryOps, BinaryOps, ReduceOps, MovementOps, TernaryOps, LoadOps, BufferOps]


class LazyOp:
    """An op, its sources and its argument. The AST of a kernel unpacks to itself: `Linearizer(*s.ast)` is `Linearizer(s.ast)`."""

    def __init__(self, op: Op, src: Sequence[Any] = (), arg: Any = None) -> None:
        self.op = op
        self.arg = arg
        self.node: Optional[strata.LazyOp] = None
        self._src: Optional[Tuple[Any, ...]] = tuple(src)

    @classmethod
    def of(cls, node: strata.LazyOp) -> LazyOp:
        """The LazyOp of a node of Strata's graph."""
        out = cls(node.op, (), node.arg)
        out.node = node
        out._src = None
        return out

    @property
    def src(self) -> Tuple[Any, ...]:
        """The sources: LazyOps in the AST of a kernel, LazyBuffers in a graph."""
        if self._src is None:
            assert self.node is not None
            self._src = tuple(LazyOp.of(s) for s in self.node.src)
        return self._src

    def __iter__(self) -> Iterator[LazyOp]:
        yield self

    def __repr__(self) -> str:
        return f"LazyOp(op={self.op}, src={len(self.src)} of them, arg={self.arg})"


def kernel_node(ast: Union[LazyOp, strata.LazyOp]) -> strata.LazyOp:
    """The node of an AST. Raises TypeError for a LazyOp that was constructed by hand, which has no node."""
    node = ast.node if isinstance(ast, LazyOp) else ast
    if not isinstance(node, strata.LazyOp):
        raise TypeError(f"{ast!r} is not an AST of a kernel: schedule() and strata.parse_kernel() give ASTs")
    return node


class ScheduleItem:
    """A step of a schedule: the AST of a kernel or a copy, and the nodes that it computes and reads."""

    def __init__(self, item: strata.ScheduleItem) -> None:
        self.ast = LazyOp.of(item.ast)
        self.outputs = tuple(item.outputs)
        self.inputs = tuple(item.inputs)
        self._text = item.text()

    def __repr__(self) -> str:
        return f"<ScheduleItem: {self._text.strip()}>"


class ASTRunner:
    """The program of a kernel: its source text `prg`, and a call that runs the kernel."""

    def __init__(self, name: str, prg: str, ast: Union[LazyOp, strata.LazyOp]) -> None:
        self.name = name
        self.prg = prg
        self.ast = kernel_node(ast)

    def __call__(self, *bufs: RawBuffer) -> None:
        """Runs the kernel on the default device. `bufs` are the buffers, by slot."""
        Device.strata_device().compile(self.ast).run([b._buf for b in bufs])

    exec = __call__


class Interpreted:
    """A backend that is a table from ops to functions of arrays."""

    def __init__(self, buffer: Type[RawBuffer], fxn_for_op: Dict[Any, Callable[..., Any]]) -> None:
        self.buffer = buffer
        self.fxn_for_op = fxn_for_op

    def exec_ast(self, ast: Union[LazyOp, strata.LazyOp], bufs: Sequence[RawBuffer]) -> None:
        """Runs a kernel op by op. `bufs` are the buffers, by slot."""
        run_kernel(kernel_node(ast), [b.toCPU() for b in bufs], self.fxn_for_op)


class Compiled:
    """A backend that is a code generator and a runtime."""

    def __init__(self, buffer: Type[RawBuffer], codegen: Any, runtime: Any, compiler: Callable[[str], bytes]) -> None:
        self.buffer = buffer
        self.codegen = codegen
        self.runtime = runtime
        self.compiler = compiler

    def exec_ast(self, ast: Union[LazyOp, strata.LazyOp], bufs: Sequence[RawBuffer]) -> None:
        """Renders the program of a kernel, compiles the program, and runs it. `bufs` are the buffers, by slot."""
        runner = self.codegen(ast).codegen()
        self.runtime(runner.name, self.compiler(runner.prg))(*bufs)


class _Devices:
    """The devices: `Device.DEFAULT` is the name of the default device, and Device[name] is a backend."""

    @property
    def DEFAULT(self) -> str:
        return str(strata.Device.DEFAULT)

    @DEFAULT.setter
    def DEFAULT(self, name: str) -> None:
        strata.Device.DEFAULT = "INTERP" if name == "CPU" else name

    def strata_device(self) -> strata.Device:
        """The default device, as a strata.Device."""
        return strata.Device.open(self.DEFAULT)

    def __getitem__(self, name: str) -> Union[Interpreted, Compiled]:
        """The backend "CPU", a table of NumPy functions, or "CLANG", a compiler. Raises KeyError for another name."""
        if name == "CPU":
            return Interpreted(RawNumpyBuffer, fxn_for_op)
        if name == "CLANG":
            from .renderer.cstyle import CStyleCodegen  # imported here, because they import this module
            from .runtime.ops_clang import ClangProgram, compile_clang
            return Compiled(RawMallocBuffer, CStyleCodegen, ClangProgram, compile_clang)
        raise KeyError(f"{name}: the backends of the specification are CPU and CLANG")


Device = _Devices()

__all__ = ["ASTRunner", "BinaryOps", "BufferOps", "Compiled", "Device", "Interpreted", "LazyOp", "LoadOps", "MovementOps",
           "Op", "ReduceOps", "ScheduleItem", "TernaryOps", "UnaryOps", "kernel_node"]
