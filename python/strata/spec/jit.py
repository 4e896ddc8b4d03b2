"""CacheCollector: a record of the kernels that ran."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import strata

from .ops import ASTRunner
from .runtime.lib import RawBuffer, RawMallocBuffer


class CacheCollector:
    """Collects the kernels that this thread runs between start() and finish()."""

    _log: Optional[strata.KernelLog] = None

    @classmethod
    def start(cls) -> None:
        """Begins to collect. Raises RuntimeError if a collection was begun and not finished."""
        if cls._log is not None:
            raise RuntimeError("CacheCollector.start(): the last collection did not finish()")
        cls._log = strata.KernelLog()
        cls._log.start()

    @classmethod
    def finish(cls) -> List[Tuple[ASTRunner, List[RawBuffer], Dict[str, int]]]:
        """Ends the collection, and returns a list of the kernels that ran.

        Each is a tuple of its program, its buffers by slot, and the values of its variables. Raises RuntimeError if no
        collection was begun.
        """
        if cls._log is None:
            raise RuntimeError("CacheCollector.finish(): there was no start()")
        log, cls._log = cls._log, None
        log.stop()
        device = strata.Device.open(strata.Device.DEFAULT)
        return [(ASTRunner(ran.kernel.name, device.source(ran.kernel), ran.kernel.ast),
                 [RawMallocBuffer(len(b), b.dtype, b) for b in ran.buffers], ran.values) for ran in log.kernels]


__all__ = ["CacheCollector"]
