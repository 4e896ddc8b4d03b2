"""C through the host's compiler."""
from __future__ import annotations

import strata
from strata import compile_clang

from .lib import RawBuffer


class ClangProgram:
    """A function of what compile_clang() gives, called on raw buffers."""

    def __init__(self, name: str, prg: bytes) -> None:
        self.name = name
        self._program = strata.ClangProgram(name, prg)

    def __call__(self, *bufs: RawBuffer) -> None:
        """Calls the function, which has to take as many pointers and to stay inside of the buffers."""
        self._program(*[b._buf for b in bufs])


__all__ = ["ClangProgram", "compile_clang"]
