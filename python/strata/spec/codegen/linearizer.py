"""The Linearizer, which lowers the AST of a kernel to a list of UOps."""
from __future__ import annotations

from typing import Dict, Optional, Sequence, Tuple

import strata
from strata import UOp, UOps, Variable, expand_node

from ..helpers import ConstType, DType, dtypes
from ..ops import LazyOp, kernel_node
from ..shape.symbolic import NumNode
from .uops import UOpGraph


class Linearizer:
    """Lowers the AST of a kernel, `ScheduleItem.ast` or a `strata.LazyOp` that is a SINK, to the list `uops`."""

    def __init__(self, ast: LazyOp) -> None:
        self.ast = ast
        self.uops = UOpGraph()
        self.loop_uops: Dict[str, UOp] = {}
        self._inner = strata.Linearizer(kernel_node(ast))

    @property
    def function_name(self) -> str:
        """The name of the kernel, e.g. "E_n2"."""
        return strata.compile_kernel(kernel_node(self.ast), opts="").name

    def linearize(self) -> Linearizer:
        """Fills `uops`, without optimisations, and returns this Linearizer."""
        self._inner.linearize()
        self.uops = UOpGraph(self._inner.uops)
        self.loop_uops = {}
        return self

    def const(self, b: ConstType, dtype: DType = dtypes.int32, insert_before: Optional[int] = None) -> UOp:
        """Adds a CONST with the value `b`, and returns it."""
        return self.uops.add(UOps.CONST, dtype, (), b, insert_before=insert_before)

    def render_loop(self, xx: Sequence[Variable]) -> Tuple[UOp, ...]:
        """Adds a LOOP for each Variable, from its least to its largest value, both included. Closes no loop."""
        new_loops = {x.expr: self.uops.add(UOps.LOOP, dtypes.int32, (self.const(x.min), self.const(x.max + 1)), cachable=False)
                     for x in xx if not isinstance(x, NumNode)}
        self.loop_uops.update(new_loops)
        return tuple(new_loops.values())


__all__ = ["Linearizer", "expand_node"]
