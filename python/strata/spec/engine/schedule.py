"""What has to run for a graph to be realized."""
from __future__ import annotations

from typing import List, Sequence

import strata

from ..lazy import LazyBuffer
from ..ops import ScheduleItem


def create_schedule(outs: Sequence[LazyBuffer]) -> List[ScheduleItem]:
    """Kernels and copies, in order. What is realized needs none."""
    return [ScheduleItem(item) for item in strata.schedule([out.node for out in outs])]


__all__ = ["create_schedule"]
