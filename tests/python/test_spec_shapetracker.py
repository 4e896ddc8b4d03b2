"""shapetracker.md: every block, with the outputs that the document prints (or ought to: see the comments)."""
import re

import pytest
from spec_blocks import blocks_of, names_before
from strata import Expr, ShapeTracker, Variable, View, expr

BLOCKS = blocks_of("shapetracker.md")
# What the document's blocks use without importing it.
PRELUDE = """
from typing import Optional, Tuple
from strata.spec.shape.view import View
from strata.spec.codegen.uops import UOp
from strata.spec.shape.shapetracker import ShapeTracker
view = View.create((2, 3), (1, 2)).minify()
"""

TREE = """\
UOp(Ops.ADD, dtypes.int, arg=None, src=(
  UOp(Ops.MUL, dtypes.int, arg=None, src=(
    UOp(Ops.RANGE, dtypes.int, arg=0, src=(
      x2:=UOp(Ops.CONST, dtypes.int, arg=0, src=()),
      x3:=UOp(Ops.CONST, dtypes.int, arg=2, src=()),)),
    x3,)),
  UOp(Ops.RANGE, dtypes.int, arg=1, src=(
    x2,
    x3,)),))
"""
STACK = ("ShapeTracker(views=(View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, contiguous=False), "
         "View(shape=(3, 2), strides=(2, 1), offset=0, mask=None, contiguous=True)))")
INDEX = "(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))"


def addresses(*views):
    return ShapeTracker(views).addresses()


def hexes(text):
    return [int(x, 16) for x in re.findall(r"0x[0-9a-f]+", text)]


# --- figures: the text itself says what has to be ---

def rows_of_a_matrix(text, names):
    memory = [1, 2, 3, 4]
    assert [int(x) for x in re.findall(r"\d", text)] == [memory[a] for a in addresses(View.create((2, 2), (2, 1)))]


def matrix(text, names):
    assert hexes(text) == addresses(View.create((2, 2), (2, 1)))


def transposed(text, names):
    assert hexes(text) == addresses(View.create((2, 2), (1, 2)))
    assert hexes(text) == addresses(View.create((2, 2), (2, 1)).permute((1, 0)))


def three_arrays(text, names):
    """(3,2), transposed, and reshaped, side by side."""
    rows = [hexes(line) for line in text.splitlines()[1:]]
    st = ShapeTracker.from_shape((3, 2))
    assert rows[0][:2] + rows[1][:2] + rows[2][:2] == st.addresses()
    assert rows[0][2:5] + rows[1][2:5] == st.permute((1, 0)).addresses()
    assert rows[0][5:] + rows[1][5:] + rows[2][2:] == st.permute((1, 0)).reshape((3, 2)).addresses()


def two_views(text, names):
    views = ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2)).views
    lines = text.splitlines()
    assert lines[0] == repr(views[0])
    assert lines[1] == repr(views[1]) + ")"  # the bracket of the ShapeTracker's text


def index_table(text, names):
    last = View.create((3, 2))
    lines = [re.findall(r"0x[0-9a-f]+|\d+", line) for line in text.splitlines()[1:]]
    row, col = Variable("row", 0, 2), Variable("col", 0, 1)
    index, _ = last.expr([row, col])
    assert [[int(r), int(c)] for r, _, c, _ in lines] == [[r, c] for r in range(3) for c in range(2)]
    assert [int(h, 16) for *_, h in lines] == [index.evaluate(row=int(r), col=int(c)) for r, _, c, _ in lines]


def renamed_index(text, names):
    row, col = Variable("row", 0, 2), Variable("col", 0, 1)
    st = ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2))
    index, valid = st.to_indexed_uops([row, col])
    assert index.render() == text.strip()
    assert expr.same(expr.parse(text, [row, col]), index)
    assert [int(e) for e in index.expand([row, col])] == [0, 2, 4, 1, 3, 5]
    assert valid.render() == "True"


# --- Python: run, and looked at ---

def creates_a_view(printed, names):
    assert printed == ""
    assert repr(View.create(shape=(2, 2), strides=(2, 1))) == \
        "View(shape=(2, 2), strides=(2, 1), offset=0, mask=None, contiguous=True)"


def prints_the_tree(printed, names):
    # The document's tree has `0+` and `*1`, which are folded here, and ends the row's range at 3: it is 2, as ends are exclusive.
    assert printed == TREE + "((ridx0*2)+ridx1)\n"
    assert names["valid"].render() == "True"
    assert str(names["valid"]) == "UOp(Ops.CONST, dtypes.bool, arg=True, src=())"


def one_view_is_not_enough(printed, names):
    assert printed == "(2, 3)\n(1, 2)\nNone\n"


def prints_two_views(printed, names):
    assert printed == STACK + "\n"
    assert names["a"].simplify() == names["a"]  # one View is impossible


def prints_the_index(printed, names):
    assert printed == INDEX + "\n"


def goes_through_views(printed, names):
    idx, valid = names["views_to_indexed_uops"](names["a"].views)
    assert idx.render() == INDEX
    assert valid.render() == "True"
    from strata.spec.shape.shapetracker import views_to_indexed_uops
    assert expr.same(views_to_indexed_uops(names["a"].views)[0], idx)


def unravels_an_index(printed, names):
    assert [e.render() for e in names["idxs"]] == ["(((ridx0*2)+ridx1)%3)", "(((ridx0*2)+ridx1)//3)"]
    assert names["acc"] == 6


def unravelled(names):
    # The loop as it stands in the function: `idx` is the address that the last View gives.
    names["idx"] = View.create((3, 2)).to_indexed_uops()[0]


CHECKS = [rows_of_a_matrix, creates_a_view, matrix, transposed, prints_the_tree, three_arrays, one_view_is_not_enough,
          prints_two_views, prints_the_index, goes_through_views, two_views, index_table, three_arrays, renamed_index,
          unravels_an_index]


def test_each_block_has_its_check():
    assert len(BLOCKS) == len(CHECKS)
    assert {b.language for b in BLOCKS} == {"", "python"}


@pytest.mark.parametrize("k", range(len(CHECKS)), ids=[c.__name__ for c in CHECKS])
def test_block(k):
    names = names_before(BLOCKS, k, PRELUDE)
    if CHECKS[k] is unravels_an_index:
        unravelled(names)
    block = BLOCKS[k]
    CHECKS[k](block.run(names) if block.language == "python" else block.text, names)


# --- what the document says in words and pictures ---

def test_stride_zero_repeats_a_row():
    row = ShapeTracker.from_shape((1, 3)).expand((4, 3))
    assert row.views[0].strides == (0, 1)
    assert row.addresses() == [0, 1, 2] * 4
    assert View.create((4, 3), (0, 1)) == row.views[0]


def test_rows_with_gaps():
    assert addresses(View.create((2, 2), (4, 1))) == [0, 1, 4, 5]


def test_masks_are_half_open():
    # "inclusive" is how the visualizer's boxes take them.
    assert addresses(View.create((2, 2), (2, 1), mask=((0, 1), (0, 2)))) == [0, 1, -1, -1]


def test_views_are_values():
    v = View.create((2, 2), (2, 1), 0, None)
    assert v == View.create(shape=(2, 2)) and hash(v) == hash(View.create((2, 2)))
    assert isinstance(v.to_indexed_uops()[0], Expr)
