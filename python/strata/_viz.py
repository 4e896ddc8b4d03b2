"""The implementation of viz() and _repr_html_(): the page with an object in it, and a small picture for notebooks."""
from __future__ import annotations

import base64
import gzip
import hashlib
import html
import math
import os
import stat
import tempfile
import webbrowser
from pathlib import Path
from typing import Any, Iterator, List, Optional, Sequence, Tuple
from urllib.parse import quote

from . import _strata
from ._strata._layout import size as size_of

MOST_CELLS = 256
STYLE = "border:1px solid #8888;padding:2px 6px;text-align:right;font-family:monospace"


def _expressions(tree: Any) -> Iterator[_strata.Expr]:
    """The expressions in nested tuples of sizes, in order."""
    left = [tree]
    while left:
        item = left.pop()
        if isinstance(item, tuple):
            left.extend(reversed(item))
        elif isinstance(item, _strata.Expr):
            yield item


def _declared(variables: Sequence[_strata.Variable], text: str) -> str:
    bounds = dict.fromkeys(f"{v.name}: {v.min}..{v.max}; " for v in variables)
    return "".join(bounds) + text


def box_text(value: Any) -> Tuple[str, str]:
    """The mode of the page for an object, and the text of its input box. A bound variable is written with its bounds, not its value."""
    if isinstance(value, _strata.Layout):
        variables = [v for e in _expressions((value.shape, value.stride)) for v in e.vars()]
        return "layouts", _declared(variables, value.render())
    if isinstance(value, _strata.Expr):
        return "expression", _declared(value.vars(), _strata.Expr.render(value))  # not as a tree
    plain, _ = value.unbind()
    return "shape", _declared(plain.vars(), plain.render())


def fragment(value: Any) -> str:
    """The fragment of the page's URL that shows the object: `#mode=...&q=...`."""
    mode, text = box_text(value)
    return f"#mode={mode}&q={quote(text, safe='')}"


def page() -> bytes:
    """The HTML of the page, from the file that STRATA_VIZ_PAGE names (an absolute path), else from the package."""
    chosen = os.environ.get("STRATA_VIZ_PAGE", "")
    place = Path(chosen) if chosen.startswith("/") else Path(__file__).resolve().parent / "strata.html.gz"
    if not place.is_file():
        place = Path(_strata.__file__).parent / "strata.html.gz"  # of a build, which links to its sources
    if not place.is_file():
        raise FileNotFoundError(f"[viz] the page is not here (sought: {place}; STRATA_VIZ_PAGE may name strata.html.gz, by an absolute path)")
    return gzip.decompress(place.read_bytes())


def private_folder() -> Path:
    """The folder in which pages are written. Raises PermissionError unless it belongs to this user and others cannot write to it."""
    named = [os.environ.get("STRATA_CACHE_DIR", ""), os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")]
    if named[0]:
        cache = Path(named[0]).absolute()
    elif named[1].startswith("/"):
        cache = Path(named[1], "strata")
    elif named[2].startswith("/"):
        cache = Path(named[2], ".cache", "strata")
    else:
        raise FileNotFoundError("[viz] no folder for the page: there is neither STRATA_CACHE_DIR nor XDG_CACHE_HOME nor HOME")
    folder = cache / "viz"
    for part in [*reversed(cache.parents), cache, folder]:
        if not part.exists() and not part.is_symlink():
            part.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"[viz] {folder} cannot be used: the path must be a folder that is this user's alone")
    return folder


def keep(name: str, content: bytes) -> Path:
    """The path of the file `name` in the private folder. Writes the file atomically, unless it has this content already."""
    folder = private_folder()
    path = folder / name
    if not path.is_symlink() and path.is_file() and path.read_bytes() == content:
        return path
    handle, half = tempfile.mkstemp(dir=folder, prefix=name + ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(half, path)
    except OSError:
        os.unlink(half)
        raise
    return path


def page_with_trace(trace: str, title: str) -> bytes:
    """The page with a trace inside: compressed, in a script element behind the title."""
    begin, end, rest = page().partition(b"<title>")
    _, close, rest = rest.partition(b"</title>")
    if not end or not close:
        raise ValueError("[viz] the page is damaged: it has no title")
    data = base64.b64encode(gzip.compress(trace.encode(), mtime=0))
    element = b'<script type="application/json" id="trace" data-encoding="gzip-base64">' + data + b"</script>"
    return begin + end + html.escape(title).encode() + close + element + rest


def traced(value: Any) -> bool:
    """Whether the page shows the object as a trace of what would run: tensors and kernels."""
    return isinstance(value, (_strata.Tensor, _strata.Kernel))


def url_of(value: Any) -> str:
    if not traced(value):
        return keep("strata.html", page()).as_uri() + fragment(value)
    trace = value._trace()
    if isinstance(value, _strata.Kernel):
        name, shown, mode = value.name, "\n".join([value.axes, value.opts, *map(str, value.uops)]), "#mode=live&side=kernels&kernel=1"
    else:
        graph = [line for line in trace.splitlines() if '"graph":' in line[:40]]
        name, shown, mode = "tensor", "\n".join(graph), "#mode=live&side=graph"
    # Equal graphs have the same file: the times in a trace do not change the name.
    name_of_file = f"{name}-{hashlib.sha256(shown.encode()).hexdigest()[:16]}.html"
    return keep(name_of_file, page_with_trace(trace, f"{name} - Strata")).as_uri() + mode


def show(value: Any, open: bool) -> str:
    """The URL of the page with the object in it. With `open`, also opens the page in a browser."""
    url = url_of(value)
    if open:
        # Programs that open files drop fragments. So the browser opens a file that redirects to the URL.
        escaped = html.escape(url)
        launcher = f'<!doctype html><meta charset="utf-8"><title>Strata</title><meta http-equiv="refresh" content="0;url={escaped}">\n'
        webbrowser.open(keep("open-python.html", launcher.encode()).as_uri())
    return url


def _table(rows: Sequence[Sequence[Any]], caption: str) -> str:
    lines = []
    for row in rows:
        cells = "".join(f'<td style="{STYLE}">{"·" if cell is None else html.escape(str(cell))}</td>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f'<table style="display:inline-table;border-collapse:collapse;margin:4px">{title}{"".join(lines)}</table>'


def _tables(shape: Sequence[int], cells: Sequence[Any]) -> str:
    """One table for each index of all dimensions except the last two. `cells` is in row-major order."""
    rows, columns = ([1, 1, *shape])[-2:]
    out = []
    for number in range(len(cells) // max(1, rows * columns)):
        part = cells[number * rows * columns:(number + 1) * rows * columns]
        place: List[int] = []
        rest = number
        for size in reversed(shape[:-2]):
            place.insert(0, rest % size)
            rest //= size
        caption = "[" + ", ".join(map(str, place)) + ", :, :]" if place else ""
        out.append(_table([part[r * columns:(r + 1) * columns] for r in range(rows)], caption))
    return "".join(out)


def _stack_picture(stack: _strata.ShapeTracker) -> str:
    shape = stack.shape
    numbers = [size for size in shape if isinstance(size, int)]
    count = 1
    for size in numbers:
        count *= size
    if len(numbers) != len(shape) or stack.vars() or not 0 < count <= MOST_CELLS:
        return ""
    return _tables(numbers, [None if address < 0 else address for address in stack.addresses(MOST_CELLS)])


def _layout_picture(layout: _strata.Layout) -> str:
    size = size_of(layout)
    if layout.rank > 2 or any(True for _ in _expressions((layout.shape, layout.stride))) or not isinstance(size, int) or size > MOST_CELLS:
        return ""
    rows = size_of(layout.mode(0)) if layout.rank == 2 else 1
    assert isinstance(rows, int)
    values = [int(layout(k)) for k in range(size)]  # mode 0 is the fastest
    return _table([values[r::rows] for r in range(rows)], "")


def _values_picture(tensor: _strata.Tensor) -> str:
    shape = tensor.shape
    count = math.prod(size for size in shape if isinstance(size, int))
    if not tensor.is_realized() or any(not isinstance(size, int) for size in shape) or not 0 < count <= MOST_CELLS:
        return ""
    return _tables(shape, tensor.reshape((count,)).tolist())


def _traced_picture(value: Any) -> str:
    if isinstance(value, _strata.Kernel):
        return f"<div><code>{html.escape(value.name)}</code><pre>{html.escape(value.axes)}opts: {html.escape(value.opts or 'none')}</pre></div>"
    sizes = ", ".join(map(str, value.shape))
    text = f"Tensor of shape ({sizes}{',' if len(value.shape) == 1 else ''}), {value.dtype.name} on {value.device.name}"
    text += "" if value.is_realized() else ", not computed yet"
    return f"<div><code>{html.escape(text)}</code><div>{_values_picture(value)}</div></div>"


def picture(value: Any) -> str:
    """The HTML for a notebook. Of a layout or view: its text, the fragment of its URL, and a table of addresses if it has at most
    MOST_CELLS elements and no variables. Of an expression: its text and fragment. Of a tensor: its values, if they are in memory and at
    most MOST_CELLS. Of a kernel: its loops and opts."""
    if traced(value):
        return _traced_picture(value)
    if isinstance(value, _strata.Layout):
        drawn = _layout_picture(value)
    elif isinstance(value, _strata.Expr):
        drawn = ""
    else:
        drawn = _stack_picture(value if isinstance(value, _strata.ShapeTracker) else _strata.ShapeTracker((value,)))
    text = f"<code>{html.escape(value.render())}</code>"
    return f'<div>{text}<div>{drawn}</div><small><code>strata.html{html.escape(fragment(value))}</code></small></div>'
