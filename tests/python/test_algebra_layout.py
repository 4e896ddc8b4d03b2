"""Layouts: CuTe's functions, checked by what they promise."""
import pickle

import pytest
import strata
from strata import Layout, Variable, View, layout


def test_what_a_layout_is():
    l = Layout(((2, 4), 8), ((1, 16), 2))
    assert (repr(l), str(l), l.shape, l.stride) == ("Layout('((2,4),8):((1,16),2)')", "((2,4),8):((1,16),2)", ((2, 4), 8), ((1, 16), 2))
    assert (l.rank, l.depth, len(l), l.size(), l.cosize()) == (2, 2, 2, 64, 64)
    assert [l(n) for n in range(64)] == l.table() and l((1, 3)) == l(1, 3) == 7 and l(((1, 2), 3)) == 39
    assert list(l) == [l[0], l[1]] == [l.mode(0), l.mode(1)] and l[-1] == Layout(8, 2)
    assert l.crd2idx(l.idx2crd(37)) == l(37) and l.idx2crd(5) == ((1, 2), 0)
    assert pickle.loads(pickle.dumps(l)) == l == Layout(str(l)) == eval(repr(l)) and hash(l) == hash(Layout(str(l)))
    assert Layout(4) == Layout(4, 1) and Layout((2, 3)).stride == (1, 2) and Layout(()).size() == 1 and l != 3


@pytest.mark.parametrize("a, b", [("(6,2):(8,2)", "(4,3):(3,1)"), ("20:2", "(5,4):(4,1)"), ("(10,2):(16,4)", "(5,4):(1,5)")])
def test_composition(a, b):
    a, b = Layout(a), Layout(b)
    r = a.composition(b)
    assert r.table() == [a(v) for v in b.table()] and layout.composition(a, b) == r == a.composition(str(b))


def test_complement_divide_and_product():
    a = Layout(4, 2)
    c = a.complement(24)
    assert c == Layout((2, 3), (1, 8)) and sorted(x + y for x in a.table() for y in c.table()) == list(range(24))
    whole = Layout((8, 8))
    for divided in (whole.logical_divide([2, 4]), whole.zipped_divide([2, Layout(4)]), whole.tiled_divide([2, 4]), whole.flat_divide([2, 4])):
        assert sorted(divided.table()) == list(range(64))
    assert whole.zipped_divide([2, 4])[0].size() == 8
    for product in ("logical", "zipped", "tiled", "flat", "blocked", "raked"):
        p = getattr(Layout((2, 2)), product + "_product")(Layout((3, 4)))
        assert sorted(p.table()) == list(range(48)), product
        assert getattr(layout, product + "_product")(Layout((2, 2)), Layout((3, 4))) == p


def test_inverses_and_coalesce():
    l = Layout((4, 8), (8, 1))
    assert [l(i) for i in l.right_inverse().table()] == list(range(32)) == [l.left_inverse()(v) for v in l.table()]
    assert Layout((2, (1, 6)), (1, (6, 2))).coalesce() == Layout(12, 1) and Layout(((2, 3), 4)).flatten() == Layout((2, 3, 4))
    assert Layout((2, 3), (0, 1)).nullspace() == Layout(2, 1)
    assert layout.make_layout([4, Layout(2, 8)]) == Layout((4, 2), (1, 8)) and layout.size(l) == 32


def test_views_and_layouts():
    assert Layout((2, 3), (3, 1)).to_view() == View.create((2, 3)) and Layout(((2, 2), 3)).to_view(5) is not None
    placed = layout.to_layout(View.create((4, 6), mask=((1, 3), (0, 6))))
    assert placed.begin == (1, 0) and placed.shape == (4, 6) and placed.to_view() == View.create((4, 6), mask=((1, 3), (0, 6)))
    st = strata.ShapeTracker.from_shape((2, 2, 3)).permute((1, 0, 2)).reshape((4, 3))
    assert layout.to_layout(st).to_shape_tracker().equal(st)


def test_symbolic_sizes():
    n = Variable("n", 1, 100)
    l = Layout.parse("(n,4):(4,1)", [n])
    assert l == Layout((n, 4), (4, 1)) and str(l) == "(n,4):(4,1)" and l.size().substitute({n: 3}).value == 12
    assert pickle.loads(pickle.dumps(l)) == l


def test_swizzle():
    s = layout.Swizzle(2, 0, 3)
    assert sorted(s.table()) == list(range(s.size())) and [s(s(i)) for i in range(s.size())] == list(range(s.size()))


@pytest.mark.parametrize("mistake, error", [
    (lambda: Layout((2, 3), (1,)), strata.ShapeError), (lambda: Layout("(2,3:1"), strata.ParseError), (lambda: Layout(0), strata.ShapeError),
    (lambda: Layout((2, "x")), TypeError), (lambda: Layout(2.5), TypeError), (lambda: Layout((2, 3))[2], IndexError),
    (lambda: Layout((2, 3))(1, 2, 3), strata.ShapeError), (lambda: Layout(4, 3).composition("5:7").left_inverse().x, AttributeError),
    (lambda: Layout((2, 2), (1, 1)).left_inverse(), strata.UndefinedError), (lambda: Layout(4, -1).complement(8), strata.UndefinedError)])
def test_mistakes(mistake, error):
    with pytest.raises(error):
        mistake()


def test_deep_nesting():
    shape = 2
    for _ in range(2000):
        shape = (shape, 1)
    assert Layout(shape).size() == 2
