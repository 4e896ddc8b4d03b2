"""The code blocks of the specification's documents, and how they are run."""
from __future__ import annotations

import contextlib
import io
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List

FOLDER = Path(__file__).parent / "spec"

# `from tinygrad.x import y`, `import tinygrad.x as y`: the only lines that change.
_IMPORT = re.compile(r"^(\s*(?:from|import)\s+)tinygrad\b", re.MULTILINE)


def with_our_imports(program: str) -> str:
    """The program, with strata.spec for tinygrad in its import lines."""
    return _IMPORT.sub(r"\1strata.spec", program)


@dataclass
class Block:
    """What stands between two fences."""

    document: str
    line: int
    language: str
    text: str

    def run(self, names: Dict[str, Any]) -> str:
        """Runs the block; what it defines is added to `names`. Returns what it prints."""
        program = with_our_imports(textwrap.dedent(self.text))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, f"{self.document}:{self.line}", "exec"), names)
        return printed.getvalue()


def blocks_of(document: str) -> List[Block]:
    """All fenced blocks of a document, in order."""
    out: List[Block] = []
    language = None
    lines: List[str] = []
    for number, line in enumerate((FOLDER / document).read_text().splitlines(), 1):
        fence = re.match(r"\s*```(.*)$", line)
        if fence is None:
            lines.append(line)
        elif language is None:
            language, lines = fence.group(1).strip(), []
        else:
            out.append(Block(document, number - len(lines), language, "\n".join(lines) + "\n"))
            language = None
    assert language is None, f"{document}: a block has no end"
    return out


def names_before(blocks: List[Block], k: int, prelude: str) -> Dict[str, Any]:
    """What `prelude` and the Python blocks before block k define."""
    names: Dict[str, Any] = {"__name__": "document"}
    exec(prelude, names)
    for block in blocks[:k]:
        if block.language == "python":
            block.run(names)
    return names


def words(text: str) -> List[str]:
    """The text without white space, for what is equal up to it."""
    return text.split()
