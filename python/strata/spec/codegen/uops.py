"""UOps, and UOpGraph, the list of UOps."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import strata
from strata import UOp, UOps


class UOpGraph(strata.UOpGraph):
    """A list of UOps. New UOps are appended."""

    def add(self, uop: UOps, dtype: Any = None, vin: Sequence[UOp] = (), arg: Any = None, cachable: bool = True,
            insert_before: Optional[int] = None) -> UOp:
        """Appends a UOp and returns it. With `cachable`, returns an equal UOp that was added before, if any.

        Raises ValueError for an `insert_before` other than the end of the list.
        """
        if insert_before is not None and insert_before != len(self):
            raise ValueError(f"a list of {len(self)} UOps grows at the end, not before {insert_before}")
        return super().add(uop, dtype, list(vin), arg, cachable)


__all__ = ["UOp", "UOpGraph", "UOps"]
