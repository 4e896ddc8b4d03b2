"""The kernels that ran, for those who want to look at them."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import strata

from .ops import ASTRunner
from .runtime.lib import RawBuffer, RawMallocBuffer


class CacheCollector:
    """Collects the kernels that this thread runs, between start() and finish()."""

    _log: Optional[strata.KernelLog] = None

    @classmethod
    def start(cls) -> None:
        """Collects from now on. Raises RuntimeError where it does already."""
        if cls._log is not None:
            raise RuntimeError("CacheCollector.start(): the last one did not finish()")
        cls._log = strata.KernelLog()
        cls._log.start()

    @classmethod
    def finish(cls) -> List[Tuple[ASTRunner, List[RawBuffer], Dict[str, int]]]:
        """The kernels that ran: each with its program, its buffers by slot and the values of its variables."""
        if cls._log is None:
            raise RuntimeError("CacheCollector.finish(): there was no start()")
        log, cls._log = cls._log, None
        log.stop()
        device = strata.Device.open(strata.Device.DEFAULT)
        return [(ASTRunner(ran.kernel.name, device.source(ran.kernel), ran.kernel.ast),
                 [RawMallocBuffer(len(b), b.dtype, b) for b in ran.buffers], ran.values) for ran in log.kernels]


__all__ = ["CacheCollector"]
