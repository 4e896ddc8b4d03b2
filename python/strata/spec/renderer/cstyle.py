"""The rendering of lists of UOps as programs in languages of the C family."""
from __future__ import annotations

from typing import Optional

import strata
from strata import CLanguage, CUDALanguage, Language, MetalLanguage, OpenCLLanguage, UOps, WGSLLanguage

from ..codegen.linearizer import Linearizer
from ..ops import ASTRunner, LazyOp

_ENDS = {UOps.LOOP: UOps.ENDLOOP, UOps.IF: UOps.ENDIF}


def _closed(uops: strata.UOpGraph) -> strata.UOpGraph:
    """The list with all open loops and conditions closed, the innermost first."""
    closed = {u.src[0].num for u in uops if u.op in _ENDS.values()}
    still_open = [u.num for u in uops if u.op in _ENDS and u.num not in closed]
    if not still_open:
        return uops
    out = strata.UOpGraph.parse(uops.text())
    for num in reversed(still_open):
        out.add(_ENDS[out[num].op], None, (out[num],), cachable=False)
    return out


def uops_to_cstyle(lang: Language, function_name: str, uops: strata.UOpGraph) -> str:
    """The source text of a list of UOps, as a function of that name. Open loops of the list are closed in the text."""
    return strata.uops_to_cstyle(lang, function_name, _closed(uops))


class CStyleCodegen(Linearizer):
    """A Linearizer that also renders the program of the kernel, in the language `lang`, by default C."""

    def __init__(self, ast: LazyOp, lang: Optional[Language] = None) -> None:
        super().__init__(ast)
        self.lang = lang if lang is not None else CLanguage()

    def codegen(self) -> ASTRunner:
        """The program of the kernel."""
        self.linearize()
        name = self.function_name
        return ASTRunner(name, uops_to_cstyle(self.lang, name, self.uops), self.ast)


__all__ = ["CLanguage", "CStyleCodegen", "CUDALanguage", "Language", "MetalLanguage", "OpenCLLanguage", "WGSLLanguage",
           "uops_to_cstyle"]
