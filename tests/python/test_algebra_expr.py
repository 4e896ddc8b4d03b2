"""Expr, Variable and strata.expr against Python's own integers."""
import copy
import itertools
import pickle
import random

import numpy as np
import pytest
import strata
from strata import Expr, Variable, expand_node, expr, prove, prove_equal

A, B = Variable("a", -4, 5), Variable("b", 0, 6)
BOX = list(itertools.product(range(-4, 6), range(0, 7)))

# What an expression is written as, and what Python says it is.
EXPRESSIONS = [
    (A + B, lambda a, b: a + b), (A - B * 3 + 7, lambda a, b: a - b * 3 + 7), (2 - A, lambda a, b: 2 - a),
    (A * B, lambda a, b: a * b), (A // 3, lambda a, b: a // 3), (A % 3, lambda a, b: a % 3),
    (A // -3, lambda a, b: a // -3), (A % -3, lambda a, b: a % -3), (20 // (B + 1), lambda a, b: 20 // (b + 1)),
    (A % (B + 2), lambda a, b: a % (b + 2)), (-A, lambda a, b: -a), (+A, lambda a, b: a),
    (A < B, lambda a, b: a < b), (A <= 2, lambda a, b: a <= 2), (3 > A, lambda a, b: 3 > a), (A >= B, lambda a, b: a >= b),
    (A == B, lambda a, b: a == b), (A != 1, lambda a, b: a != 1), ((A < 2) & (B > 3), lambda a, b: a < 2 and b > 3),
    ((A < 0) | (B == 0), lambda a, b: a < 0 or b == 0), (~(A < 2), lambda a, b: not a < 2),
    (expr.min(A, B, 3), lambda a, b: min(a, b, 3)), (expr.max(A, B), max), (expr.ceildiv(A, 4), lambda a, b: -(-a // 4)),
    (expr.select(A < B, A * 2, B), lambda a, b: a * 2 if a < b else b), (expr.sum([A, B, 2]), lambda a, b: a + b + 2),
    (expr.all_of([A < 3, B < 3, A + B > 1]), lambda a, b: a < 3 and b < 3 and a + b > 1),
    (expr.any_of([A > 3, B > 3]), lambda a, b: a > 3 or b > 3), (divmod(A * 7 + B, 5)[1], lambda a, b: (a * 7 + b) % 5),
]


@pytest.mark.parametrize("e, meaning", EXPRESSIONS, ids=[str(e) for e, _ in EXPRESSIONS])
def test_values_and_bounds(e, meaning):
    values = [int(meaning(a, b)) for a, b in BOX]
    assert [e.evaluate({A: a, "b": b}) for a, b in BOX] == values
    assert [int(v) for v in e.expand([A, B])] == values
    assert e.min <= min(values) and max(values) <= e.max and e.vmin <= e.min and e.max <= e.vmax
    exact = e.facts("exact")
    assert (exact.min, exact.max, exact.exact) == (min(values), max(values), True)
    assert all(exact.modulus == 0 or v % exact.modulus == exact.residue for v in values)


@pytest.mark.parametrize("e, meaning", EXPRESSIONS, ids=[str(e) for e, _ in EXPRESSIONS])
def test_texts_and_pickles_give_it_back(e, meaning):
    assert expr.same(expr.parse(e.render(), [A, B]), e)
    assert expr.same(expr.parse(e.render("python"), [A, B]), e)
    assert expr.same(expr.parse(e.render("latex"), [A, B]), e)
    for again in (pickle.loads(pickle.dumps(e)), copy.deepcopy(e), copy.copy(e)):
        assert expr.same(again, e) and type(again) is type(e) and hash(again) == hash(e)
    for a, b in random.Random(1).sample(BOX, 5):
        assert eval(e.render("python"), {"a": a, "b": b, "min": min, "max": max}) == e.evaluate(a=a, b=b)


def test_the_documents_examples():
    a, b = Variable("a", 0, 10), Variable("b", 0, 10)
    assert ((a * 10).min, (a * 10).max, (a + b).min, (a + b).max) == (0, 100, 0, 20)
    assert ((a + b * 10) % 10).render() == "(a%10)"
    e = (a * 40 + b) // 20
    assert (e.render(), e.min, e.max) == ("(a*2)", 0, 20)


def test_numbers_of_numpy():
    assert expr.same(np.int64(3) * A + np.int32(1), A * 3 + 1)
    assert expr.same(A * np.uint8(3), A * 3)
    assert expr.same(Expr(True), Expr(1))


@pytest.mark.parametrize("mistake, error, text", [
    (lambda: bool(A < B), strata.UndefinedError, "use prove"), (lambda: A // (A + 1), strata.DomainError, "divisor"),
    (lambda: A + 2**63, OverflowError, "64 bits"), (lambda: A + 1.5, TypeError, "unsupported"),
    (lambda: A * 2**62 * 4, OverflowError, ""), (lambda: A.evaluate(b=1), strata.ParseError, "'a'"),
    (lambda: int(A), strata.UndefinedError, "not a constant"), (lambda: Variable("a", 3, 1), ValueError, ""),
    (lambda: Variable("1a", 0, 1), ValueError, ""), (lambda: A.render("lisp"), strata.DomainError, "lisp"),
    (lambda: A.facts("guess"), strata.DomainError, "guess"), (lambda: A.evaluate({3: 1}), TypeError, "must be Variables or names"),
    (lambda: expr.parse("a +", [A]), strata.ParseError, ""), (lambda: A.substitute({"a": 1}), (TypeError, RuntimeError), ""),
    (lambda: Variable("c", 0, 2**40).expand(), strata.BudgetError, ""), (lambda: expr.min(A, "b"), (TypeError, RuntimeError), ""),
])
def test_mistakes(mistake, error, text):
    with pytest.raises(error, match=text):
        mistake()


def test_columns_of_errors():
    with pytest.raises(strata.ParseError) as raised:
        expr.parse("a + zz", [A])
    assert raised.value.column == 5 and raised.value.kind == "parse"


def test_comparison_with_what_is_no_expression():
    assert (A == None) is False and (A != "a") is True  # noqa: E711
    assert A in [A, B] and {A: 1, B: 2}[Variable("a", -4, 5)] == 1


def test_proofs():
    assert prove(A * 2 < 11) and prove(A * 2 < 11).answer == "yes"
    no = prove(A < B)
    assert not no and no.answer == "no" and A.evaluate(no.counterexample) >= B.evaluate(no.counterexample)
    assert prove(A < B, assuming=A < 0) and not prove(A < B, assuming=A < 1)
    assert prove_equal((A // 2) * 2 + A % 2, A) and repr(prove_equal(A, B)).startswith("Proof('no', {Variable('")


def test_simplify_and_substitute():
    x, y = Variable("x", 0, 100), Variable("y", 0, 100)
    assert (x * 3 + y).simplify(assuming=(x >= 1) & (x < 2)).render() == "(3+y)"
    assert (x * 3 + y).substitute({x: y, y: x}).render() == "((y*3)+x)"
    assert (x * 3 + y).substitute({x * 3 + y: 5}).value == 5
    assert expr.same(x.simplify(effort="exact"), x)


def test_variables_and_what_is_bound():
    n = Variable("n", 1, 10).bind(7)
    assert (n.bound_value, n.unbind(), repr(n)) == (7, (Variable("n", 1, 10), 7), "Variable('n', 1, 10).bind(7)")
    assert (n * 2).max == 20 and (n * 2).evaluate() == 14
    plain, values = expr.unbind(n * 2)
    assert expr.same(plain, Variable("n", 1, 10) * 2) and values == {Variable("n", 1, 10): 7}
    assert [v.name for v in (Variable("i10", 0, 1) + Variable("i2", 0, 1)).vars()] == ["i2", "i10"]
    assert type((A + B - B)) is Variable and (A + B - B).name == "a"
    assert pickle.loads(pickle.dumps(n)).bound_value == 7


def test_what_it_is_made_of():
    e = A * 3 + 7
    assert (e.op, [str(s) for s in e.sources], e.is_constant, e.value) == ("+", ["7", "(a*3)"], False, None)
    assert (Expr(4).value, int(Expr(4)), Expr(4).is_constant, A.is_variable) == (4, 4, True, True)
    assert expr.count_nodes((A + 1) % 10) > expr.count_nodes(A)


def test_expand_node_expands_what_is_unrolled():
    u = Variable("_uidx0", 5, 7)
    assert [int(e) for e in expand_node(u * 3)] == [15, 18, 21]
    assert expand_node(A) == [A]


def test_deep_and_shared_expressions():
    e = A
    for k in range(3000):
        e = expr.max(e + (k % 3), B * (k % 5)) % 1000003
    assert expr.same(pickle.loads(pickle.dumps(e)), e)


def test_memory_comes_back():
    before = expr.live_nodes()
    e = [Variable(f"m{k}", 0, 9) // 3 for k in range(100)]
    assert expr.live_nodes() > before
    del e
    assert expr.live_nodes() == before
