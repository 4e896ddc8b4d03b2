"""create_schedule(): the kernels that compute LazyBuffers."""
from __future__ import annotations

from typing import List, Sequence

import strata

from ..lazy import LazyBuffer
from ..ops import ScheduleItem


def create_schedule(outs: Sequence[LazyBuffer]) -> List[ScheduleItem]:
    """The kernels and copies that compute the LazyBuffers `outs`, in execution order. A realized one needs none."""
    return [ScheduleItem(item) for item in strata.schedule([out.node for out in outs])]


__all__ = ["create_schedule"]
