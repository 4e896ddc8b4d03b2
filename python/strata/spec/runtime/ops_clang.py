"""Programs in C, compiled by the compiler of the host."""
from __future__ import annotations

import strata
from strata import compile_clang

from .lib import RawBuffer


class ClangProgram:
    """The function `name` of a library that compile_clang() returned, called on raw buffers."""

    def __init__(self, name: str, prg: bytes) -> None:
        self.name = name
        self._program = strata.ClangProgram(name, prg)

    def __call__(self, *bufs: RawBuffer) -> None:
        """Calls the function with a pointer to each buffer. The function must not access memory outside of them."""
        self._program(*[b._buf for b in bufs])


__all__ = ["ClangProgram", "compile_clang"]
