"""View, ShapeTracker and AffinePrimitives against NumPy."""
import copy
import pickle

import numpy as np
import pytest
import strata
from strata import AffinePrimitives, ShapeTracker, Variable, View, expr


def seen(st, memory):
    """The elements of memory that a ShapeTracker shows, -1 where it is invalid."""
    addresses = np.array(st.addresses()).reshape(st.shape)
    return np.where(addresses >= 0, memory[np.maximum(addresses, 0)], -1)


MOVES = [
    ("permute", lambda st: st.permute((1, 0)), lambda x: x.T),
    ("reshape", lambda st: st.reshape((2, 12)), lambda x: x.reshape(2, 12)),
    ("expand", lambda st: st.reshape((4, 6, 1)).expand((4, 6, 3)), lambda x: np.repeat(x[:, :, None], 3, 2)),
    ("pad", lambda st: st.pad(((1, 0), (2, 3))), lambda x: np.pad(x, ((1, 0), (2, 3)), constant_values=-1)),
    ("shrink", lambda st: st.shrink(((1, 3), (0, 5))), lambda x: x[1:3, 0:5]),
    ("flip", lambda st: st.flip((0, 1)), lambda x: x[::-1, ::-1]),
    ("stride", lambda st: st.stride((2, -2)), lambda x: x[::2, ::-2]),
    ("two views", lambda st: st.permute((1, 0)).reshape((4, 6)), lambda x: x.T.reshape(4, 6)),
    ("lists", lambda st: st.permute([1, 0]).reshape(np.array([3, 8])), lambda x: x.T.reshape(3, 8)),
]


@pytest.mark.parametrize("name, ours, theirs", MOVES, ids=[m[0] for m in MOVES])
def test_movement(name, ours, theirs):
    memory = np.arange(24)
    st = ours(ShapeTracker.from_shape((4, 6)))
    np.testing.assert_array_equal(seen(st, memory), theirs(memory.reshape(4, 6)))
    assert st.simplify().equal(st) and len(st.simplify().views) <= len(st.views)
    for again in (pickle.loads(pickle.dumps(st)), copy.deepcopy(st), eval(repr(st))):
        assert again == st and hash(again) == hash(st)
    index, valid = st.expr_idxs()
    idxs = index.vars() or valid.vars()
    assert all(v.name.startswith("idx") for v in idxs)


def test_views_are_frozen_values():
    v = View.create((2, 3), (3, 1), 4, ((0, 1), (0, 3)))
    for change in ("shape", "strides", "offset", "mask", "contiguous", "anything"):
        with pytest.raises(AttributeError):
            setattr(v, change, None)
    assert repr(v) == "View(shape=(2, 3), strides=(0, 1), offset=4, mask=((0, 1), (0, 3)), contiguous=False)"
    assert eval(repr(v)) == v == pickle.loads(pickle.dumps(v)) and hash(v) == hash(eval(repr(v)))
    assert v.size() == 6 and v.rank == 2 and v != View.create((2, 3)) and v != 3
    with pytest.raises(strata.DomainError, match="not contiguous"):
        View((2, 3), (1, 2), contiguous=True)


def test_views_add_to_one_or_none():
    lower, upper = View.create((3, 2)).permute((1, 0)), View.create((6,))
    assert lower + upper is None
    assert View.create((6,)) + View.create((2, 3)) == View.create((2, 3))
    assert View.create((3, 2)).permute((1, 0)).reshape((3, 2)) is None
    both = ShapeTracker.from_shape((2, 3)) + ShapeTracker.from_shape((3, 2))
    assert len(both.views) == 2 and both.simplify().contiguous


def test_inverses_and_minified_views():
    st = ShapeTracker.from_shape((3, 2)).permute((1, 0))
    back = st.invert((3, 2))
    assert (st + back).simplify().contiguous or (back + st).simplify().contiguous
    v = View.create((3, 2)).permute((1, 0))
    assert v.invert((3, 2)).strides == (1, 3) and v.inverse(6).shape == (3, 2)
    assert View.create((2, 1, 3)).minify().shape == (6,)
    assert View.create((2, 2), (0, 1)).invert((2,)) is None


def test_questions():
    st = ShapeTracker.from_shape((4, 6)).permute((1, 0)).pad(((1, 1), (0, 0)))
    assert st.real_strides() == (None, 6) and st.real_strides(ignore_valid=True) == (1, 6)
    assert st.unit_stride_axes() == () and st.unit_stride_axes(ignore_valid=True) == (0,)
    assert st.axis_is_masked(0) and not st.axis_is_masked(1)
    assert st.real_size() == 24 and st.size() == 32 and not st.contiguous and not st.consecutive
    assert ShapeTracker((View.create((2, 3), offset=3),)).consecutive
    two = ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2))
    assert two.why_not_merged() and not two.is_contiguous() and two.is_injective()
    assert two.is_contiguous().witness is not None
    assert two.fingerprint(7) == two.simplify().fingerprint(7) != two.flip((0,)).fingerprint(7)


def test_masks_print_as_the_documents_have_them():
    x, y = Variable("x", 0, 100), Variable("y", 0, 100)
    st = ShapeTracker((View.create((Variable("k", 1, 100), 3), mask=((1, 2), (0, 2))),))
    index, valid = st.expr_idxs([x, y])
    assert (index.render(), valid.render()) == ("(3+y)", "(((x*-1)<0) and (x<2) and (y<2))")


def test_sizes_that_vary():
    n = Variable("n", 1, 10)
    st = ShapeTracker.from_shape((n.bind(4), 3)).reshape((3 * n.bind(4),))
    assert st.var_vals == {n: 4} and [v.name for v in st.vars()] == ["n"]
    plain, values = st.unbind()
    assert values == {n: 4} and plain.var_vals == {} and plain.shape[0].vars() == [n]
    assert plain.substitute({n: 4}).shape == (12,)
    v = View.create((n, 3))
    assert type(v.shape[0]) is Variable and v.vars() == [n] and v.substitute({n: 2}) == View.create((2, 3))
    assert pickle.loads(pickle.dumps(v)) == v and eval(repr(v), {"View": View, "n": n}) == v
    assert v.unbind() == (v, {})


def test_index_expressions_that_print_as_trees():
    index, valid = View.create((2, 2), mask=((0, 1), (0, 2))).to_indexed_uops()
    assert valid.render() == "(ridx0<1)" and str(valid).startswith("UOp(Ops.CMPLT, dtypes.bool, arg=None, src=(")
    assert valid.is_condition and not index.is_condition and (index + 1).render() == "(1+ridx1)"
    assert str(pickle.loads(pickle.dumps(valid))) == str(valid)
    again = View.create((4,)).to_indexed_uops([index], valid)
    assert expr.same(again[0], index) and expr.same(again[1], valid)


@pytest.mark.parametrize("mistake", [
    lambda: View.create((-1,)), lambda: View.create((2,), (1, 2)), lambda: View.create((2,), mask=((0, 3),)),
    lambda: View.create((2, 2)).permute((0, 0)), lambda: View.create((2, 2)).shrink(((0, 3), (0, 1))),
    lambda: ShapeTracker(()), lambda: View.create((2, 2)).expr([1]), lambda: ShapeTracker.from_shape((2,)).axis_is_masked(3)])
def test_mistakes_of_shape(mistake):
    with pytest.raises(strata.ShapeError):
        mistake()


@pytest.mark.parametrize("mistake", [
    lambda: View.create(3), lambda: View.create((1.5,)), lambda: View.create("ab"), lambda: ShapeTracker((1,)),
    lambda: View.create((2,)).pad((1,))])
def test_mistakes_of_type(mistake):
    with pytest.raises(TypeError):
        mistake()


def test_an_overflow():
    with pytest.raises(OverflowError):
        View.create((2**40, 2**40))


# --- affine primitives ---

def test_affine_functions():
    ap = AffinePrimitives()
    f = ap.create("(i*7 - j) // 3 % 5")
    for i in range(-5, 6):
        for j in range(-5, 6):
            ap["i"], ap["j"] = i, np.int64(j)
            assert f() == (i * 7 - j) // 3 % 5
    assert f.names() == ["i", "j"] and not f.is_linear and ap["i"] == 5 and f.expr is None


def test_tables_of_affine_functions():
    f = AffinePrimitives().compile("i*128 + j//2", {"i": range(3), "j": (-2, 4)})
    want = np.arange(3)[:, None] * 128 + np.arange(-2, 4)[None, :] // 2
    np.testing.assert_array_equal(f.fill(), want)
    assert f.fill().dtype == np.int64 and f.domain == {"i": range(3), "j": range(-2, 4)} and f.expr.render() == "((i*128)+(j//2))"


@pytest.mark.parametrize("mistake, error", [
    (lambda ap: ap.create("i +"), strata.ParseError), (lambda ap: ap.create("i // 0"), strata.DomainError),
    (lambda ap: ap.create("i")(), strata.ParseError), (lambda ap: ap.compile("i + j", {"i": range(3)}), strata.ParseError),
    (lambda ap: ap.create("i", {"i": range(0, 4, 2)}), strata.DomainError), (lambda ap: ap.create("i", {"i": 3}), TypeError),
    (lambda ap: ap.__setitem__("i", 2**70), OverflowError), (lambda ap: ap.create("i").fill(), strata.UndefinedError)])
def test_affine_mistakes(mistake, error):
    with pytest.raises(error):
        mistake(AffinePrimitives())
