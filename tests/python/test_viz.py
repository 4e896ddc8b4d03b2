"""viz() and _repr_html_(): the page with an object in it, and pictures in notebooks."""
import base64
import gzip
import json
import os
import re
import stat
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest
import strata
from strata import Layout, ShapeTracker, Variable, View, _viz

PAGE = b"<!doctype html><title>Strata</title>the page"
N = Variable("n", 1, 9)
CASES = [
    (View.create((2, 2), (2, 1)), "shape", "View(shape=(2, 2), strides=(2, 1), offset=0, mask=None, contiguous=True)"),
    (View.create((N, 3)), "shape", "n: 1..9; View(shape=(n, 3), strides=(3, 1), offset=0, mask=None, contiguous=True)"),
    (ShapeTracker.from_shape((4,)).flip((0,)), "shape",
     "ShapeTracker(views=(View(shape=(4,), strides=(-1,), offset=3, mask=None, contiguous=False),))"),
    (ShapeTracker.from_shape((N.bind(3), 2)), "shape",
     "n: 1..9; ShapeTracker(views=(View(shape=(n, 2), strides=(2, 1), offset=0, mask=None, contiguous=True),))"),
    (Layout(((2, 4), 8), ((1, 16), 2)), "layouts", "((2,4),8):((1,16),2)"),
    (Layout((N, 4), (4, 1)), "layouts", "n: 1..9; (n,4):(4,1)"),
    ((N * 10 + 3) % 7 < 5, "expression", None),
    (N, "expression", "n: 1..9; n"),
    (View.create((2, 2)).to_indexed_uops()[1], "expression", "1"),
]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    (tmp_path / "page.gz").write_bytes(gzip.compress(PAGE))
    monkeypatch.setenv("STRATA_VIZ_PAGE", str(tmp_path / "page.gz"))
    monkeypatch.setenv("STRATA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def box(url):
    parts = parse_qs(urlsplit(url).fragment, strict_parsing=True)
    return parts["mode"][0], parts["q"][0]


@pytest.mark.parametrize("value, mode, text", CASES, ids=[str(k) for k in range(len(CASES))])
def test_links(value, mode, text, place):
    url = value.viz(open=False)
    assert url.startswith((place / "cache/viz/strata.html").as_uri() + "#mode=")
    assert " " not in url and url.isascii()
    said = box(url)
    assert said[0] == mode
    assert said[1] == (text if text is not None else "n: 1..9; " + value.render())
    assert (place / "cache/viz/strata.html").read_bytes() == PAGE


def test_files_are_the_users_alone(place):
    View.create((2,)).viz(open=False)
    assert stat.S_IMODE((place / "cache/viz").stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "cache/viz/strata.html").stat().st_mode) == 0o600
    os.chmod(place / "cache/viz", 0o777)
    with pytest.raises(PermissionError, match="user's alone"):
        View.create((2,)).viz(open=False)


def test_a_browser_is_opened(place, monkeypatch):
    opened = []
    monkeypatch.setattr(_viz.webbrowser, "open", opened.append)
    url = Layout(4, 1).viz()
    assert len(opened) == 1
    launcher = (place / "cache/viz" / opened[0].rsplit("/", 1)[1]).read_text()
    assert f'content="0;url={url.replace("&", "&amp;")}"' in launcher
    Layout(4, 1).viz(open=False)
    assert len(opened) == 1


def test_a_page_that_is_not_there(place, monkeypatch):
    monkeypatch.setenv("STRATA_VIZ_PAGE", str(place / "missing"))
    monkeypatch.setattr(_viz, "__file__", str(place / "_viz.py"))
    monkeypatch.setattr(_viz._strata, "__file__", str(place / "_strata.so"))
    with pytest.raises(FileNotFoundError, match="the page is not here"):
        View.create((2,)).viz(open=False)


class Balanced(HTMLParser):
    """Cells by table; every element is closed where it belongs."""

    def __init__(self):
        super().__init__()
        self.open, self.tables = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag == "td":
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.tables[-1][-1][-1] += data


def tables(value):
    parser = Balanced()
    text = value._repr_html_()
    parser.feed(text)
    parser.close()
    assert not parser.open
    assert "<script" not in text and "http" not in text
    return parser.tables


@pytest.mark.parametrize("value, expected", [
    (View.create((2, 2), (1, 2)), [[["0", "2"], ["1", "3"]]]),
    (View.create((3,), (2,)), [[["0", "2", "4"]]]),
    (View.create(()), [[["0"]]]),
    (View.create((2, 2), mask=((0, 1), (0, 2))), [[["0", "1"], ["·", "·"]]]),
    (ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2)), [[["0", "2"], ["4", "1"], ["3", "5"]]]),
    (ShapeTracker.from_shape((2, 1, 2)), [[["0", "1"]], [["2", "3"]]]),
    (Layout((2, 3), (1, 4)), [[["0", "4", "8"], ["1", "5", "9"]]]),
    (Layout(3, 2), [[["0", "2", "4"]]]),
    (View.create((1000, 1000)), []),
    (View.create((2**40,)), []),
    (View.create((0, 2)), []),
    (View.create((N, 2)), []),
    (Layout(2**40, 1), []),
    (Layout((N, 4), (4, 1)), []),
    (N < 5, []),
], ids=str)
def test_pictures(value, expected):
    assert tables(value) == expected


def test_texts_are_escaped():
    assert "(n&lt;5)" in (N < 5)._repr_html_()
    assert "[1, :, :]" in ShapeTracker.from_shape((2, 2, 2))._repr_html_()


def test_no_page_is_needed_for_a_picture(monkeypatch):
    monkeypatch.setenv("STRATA_VIZ_PAGE", "/missing")
    assert "View(" in View.create((2, 2))._repr_html_()


def lines_in(url):
    """The trace in the page of a URL."""
    text = open(urlsplit(url).path, encoding="utf-8").read()
    data = re.search(r'<title>[^<]* - Strata</title><script type="application/json" id="trace" data-encoding="gzip-base64">([^<]*)</script>', text)
    return [json.loads(line) for line in gzip.decompress(base64.b64decode(data[1])).splitlines()]


def test_tensors_show_what_would_run(place):
    x = strata.tensor([[float(i + j) for i in range(32)] for j in range(64)])
    y = (x @ x.permute(1, 0)).relu().softmax(1)
    url = y.viz(open=False)
    assert url.startswith((place / "cache/viz/tensor-").as_uri()) and url.endswith("#mode=live&side=graph")
    assert not y.is_realized()
    lines = lines_in(url)
    assert [line["event"] for line in lines if line["event"] != "kernel"] == ["trace", "graph", "nodes", "schedule", "plan", "device", "end"]
    kernels = [line for line in lines if line["event"] == "kernel"]
    items = lines[3]["items"]
    assert len(kernels) == sum(item["kind"] == "kernel" for item in items) == len(y.explain().splitlines())
    assert all(kernel["source"] and kernel["device"] == y.device.name for kernel in kernels)
    nodes = lines[2]["nodes"]
    assert len(nodes) == lines[1]["count"] and nodes[-1]["shape"] == [64, 64] and lines[1]["roots"] == [len(nodes) - 1]
    assert y.viz(open=False) == url
    assert (y + 1).viz(open=False) != url


@pytest.mark.parametrize("make", [
    lambda: strata.tensor([1.0, 2.0]),  # in memory: nothing runs
    lambda: strata.tensor(3.0),
    lambda: strata.zeros((0, 4)) + 1,
    lambda: strata.tensor([1, 2, 3]).flip((0,)),
    lambda: strata.arange(1 << 20).sum(),  # two kernels in one
    lambda: strata.tensor([True, False]),
    lambda: strata.tensor([1.0]).to("INTERP") * 2,
], ids=["memory", "scalar", "empty", "view", "split", "bool", "device"])
def test_any_tensor_has_a_page(make):
    x = make()
    assert lines_in(x.viz(open=False))[-1]["event"] == "end"
    Balanced().feed(x._repr_html_())


def test_kernels_have_a_page(place):
    kernel = strata.compile_kernel(strata.parse_kernel("a: f32[64,64]; b: f32[64,64]; c = a @ b"))
    url = kernel.viz(open=False)
    assert url.startswith((place / f"cache/viz/{kernel.name}-").as_uri()) and url.endswith("#mode=live&side=kernels&kernel=1")
    trace, said, end = lines_in(url)
    assert (said["event"], said["kernel"], said["name"], said["device"], said["axes"]) == ("kernel", 1, kernel.name, None, kernel.axes)
    other = strata.compile_kernel(strata.parse_kernel("a: f32[64,64]; b: f32[64,64]; c = a @ b"), opts="")
    assert other.viz(open=False) != url
    assert kernel.name in kernel._repr_html_() and "reduce 64" in kernel._repr_html_()


def test_values_are_drawn_where_they_are_there():
    x = strata.tensor([[1.5, -2.0], [0.0, 4.0]])
    assert "-2.0" in x._repr_html_() and "not computed" not in x._repr_html_()
    y = x + 1
    assert "not computed yet" in y._repr_html_() and not y.is_realized()
    assert "<td" not in strata.tensor([0.0] * 257)._repr_html_()
    assert "<td" not in (strata.zeros((0, 3)) + 1).realize()._repr_html_()


def test_the_plan_keeps_what_a_gradient_may_ask_for():
    def planned(x):
        y = (x @ x).softmax(1) @ x
        return next(line for line in lines_in(y.sum().viz(open=False)) if line["event"] == "plan")["nodes"]
    x = strata.tensor([[0.5] * 64] * 64)
    assert planned(x)
    x.requires_grad = True
    assert not planned(x)  # all that a kernel leaves has memory of its own
