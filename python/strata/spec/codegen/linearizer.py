"""The Linearizer: from a kernel's AST to a list of UOps."""
from __future__ import annotations

from typing import Dict, Optional, Sequence, Tuple

import strata
from strata import UOp, UOps, Variable, expand_node

from ..helpers import ConstType, DType, dtypes
from ..ops import LazyOp, kernel_node
from ..shape.symbolic import NumNode
from .uops import UOpGraph


class Linearizer:
    """Makes `uops` of the AST of a kernel: of `ScheduleItem.ast`, or of a `strata.LazyOp` that is a SINK."""

    def __init__(self, ast: LazyOp) -> None:
        self.ast = ast
        self.uops = UOpGraph()
        self.loop_uops: Dict[str, UOp] = {}
        self._inner = strata.Linearizer(kernel_node(ast))

    @property
    def function_name(self) -> str:
        """The kernel's name."""
        return strata.compile_kernel(kernel_node(self.ast), opts="").name

    def linearize(self) -> Linearizer:
        """Fills `uops`, without optimisations."""
        self._inner.linearize()
        self.uops = UOpGraph(self._inner.uops)
        self.loop_uops = {}
        return self

    def const(self, b: ConstType, dtype: DType = dtypes.int32, insert_before: Optional[int] = None) -> UOp:
        """Adds a CONST."""
        return self.uops.add(UOps.CONST, dtype, (), b, insert_before=insert_before)

    def render_loop(self, xx: Sequence[Variable]) -> Tuple[UOp, ...]:
        """Adds a LOOP from each Variable's least value to its largest, which is in it; the loops stay open."""
        new_loops = {x.expr: self.uops.add(UOps.LOOP, dtypes.int32, (self.const(x.min), self.const(x.max + 1)), cachable=False)
                     for x in xx if not isinstance(x, NumNode)}
        self.loop_uops.update(new_loops)
        return tuple(new_loops.values())


__all__ = ["Linearizer", "expand_node"]
