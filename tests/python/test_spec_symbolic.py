"""symbolic_and_upcast.md: every block, with the outputs that the document prints (or ought to: see the comments)."""
import unittest

import pytest
from spec_blocks import blocks_of, names_before, words
from strata import ShapeTracker, UOpGraph, Variable, View, expr

BLOCKS = blocks_of("symbolic_and_upcast.md")
# What the document's blocks use without importing it; it forgets to say what x is, too.
PRELUDE = """
import unittest
from typing import List, Optional, Tuple, cast
from strata.spec.codegen.linearizer import Linearizer, expand_node
from strata.spec.codegen.uops import UOp, UOps
from strata.spec.helpers import ConstType, DType, dtypes
from strata.spec.shape.symbolic import MulNode, Node, NumNode, Variable, create_ge_node, create_lt_node
from strata.spec.shape.view import View
x = Variable("x", 0, 100)
"""

LOOP = """\
   0 UOps.CONST          : dtypes.int                []                               0
   1 UOps.CONST          : dtypes.int                []                               11
   2 UOps.LOOP           : dtypes.int                [0, 1]                           None
"""


def linearizer():
    """One of the kernel of the document, with a list to be filled."""
    from strata import parse_kernel
    from strata.spec.codegen.linearizer import Linearizer
    return Linearizer(parse_kernel("a: f32[4]; b: f32[4]; c = (a*b).sum()"))


# --- figures ---

def grid_of_two_rows(text, names):
    assert [int(n) for n in text.replace(",", " ").split()] == ShapeTracker.from_shape((2, 3)).addresses()


def grid_of_three_rows(text, names):
    assert [int(n) for n in text.replace(",", " ").split()] == ShapeTracker.from_shape((3, 3)).addresses()
    masked = ShapeTracker((View.create((3, 3), mask=((0, 2), (0, 2))),))
    assert [a for a in masked.addresses() if a >= 0] == [0, 1, 3, 4]


def printed_list(text, names):
    assert text == LOOP


def metal_program(text, names):
    # The document's loop has no end; what it says there is that ENDLOOP closes it. So does ours.
    program = metal_text()
    assert words(program)[:-1] == words(text) and program.endswith("  for (int ridx0 = 0; ridx0 < 11; ridx0++) {\n  }\n}\n")


def metal_text():
    from strata.spec.codegen.uops import UOpGraph as SpecGraph
    from strata.spec.renderer.cstyle import MetalLanguage, uops_to_cstyle
    k = linearizer()
    k.uops = SpecGraph()
    k.render_loop([Variable("x", 0, 10)])
    return uops_to_cstyle(MetalLanguage(), "tester", k.uops)


# --- Python ---

def a_size_that_varies(printed, names):
    assert repr(names["st"]) == "ShapeTracker(views=(View(shape=(k, 3), strides=(3, 1), offset=0, mask=None, contiguous=True),))"
    assert names["st"].vars() == [names["k"]]


def prints_its_index(printed, names):
    assert printed == "((x*3)+y)\n1\n"


def makes_a_mask(printed, names):
    assert names["view"].mask == ((0, 2), (0, 2))


def prints_the_mask(printed, names):
    assert printed == "((x*3)+y)\n((x<2) and (y<2))\n"


def prints_one_row(printed, names):
    assert printed == "(3+y)\n(((x*-1)<0) and (x<2) and (y<2))\n"


def a_loop_of_two_ends(printed, names):
    k = linearizer()
    names["render_loop"](k, 0, 11)
    assert k.uops.text() == LOOP


def a_loop_of_a_variable(printed, names):
    k = linearizer()
    k.const = names["const"].__get__(k)
    loops = names["render_loop"](k, [Variable("x", 0, 10)])
    assert k.uops.text() == LOOP
    assert list(k.loop_uops) == ["x"] and loops == (k.uops[2],)


def prints_the_loop(printed, names):
    assert printed == LOOP


def prints_metal(printed, names):
    assert printed == metal_text() + "\n"


def an_index_of_nodes(printed, names):
    x, y = Variable("x", 0, 9), Variable("y", 0, 9)
    views = [View.create((10, 10)), View.create((10, 10), (1, 10), 5), View.create((10, 10), mask=((1, 3), (0, 10)))]
    for view in views:
        index, valid = names["_expr_view"](view, [x, y])
        ours = view.expr([x, y])
        holds = valid if valid.is_constant is False else expr.Expr(1)
        assert expr.prove_equal(valid, ours[1])
        assert expr.prove(index == ours[0], assuming=holds)


def expands_nodes(printed, names):
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(names["TestLinearizerHelper"])
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun == 4 and result.wasSuccessful(), result.errors + result.failures


CHECKS = [a_size_that_varies, grid_of_two_rows, prints_its_index, grid_of_three_rows, makes_a_mask, prints_the_mask,
          prints_one_row, a_loop_of_two_ends, a_loop_of_a_variable, prints_the_loop, printed_list, prints_metal, metal_program,
          an_index_of_nodes, expands_nodes]


def test_each_block_has_its_check():
    assert len(BLOCKS) == len(CHECKS)
    assert {b.language for b in BLOCKS} == {"", "python", "c++"}


@pytest.mark.parametrize("k", range(len(CHECKS)), ids=[c.__name__ for c in CHECKS])
def test_block(k):
    names = names_before(BLOCKS, k, PRELUDE)
    block = BLOCKS[k]
    CHECKS[k](block.run(names) if block.language == "python" else block.text, names)


def test_an_open_loop_is_an_error_outside_of_the_documents():
    from strata import DomainError, MetalLanguage, uops_to_cstyle
    k = linearizer()
    k.render_loop([Variable("x", 0, 10)])
    with pytest.raises(DomainError, match="LOOP is not closed"):
        uops_to_cstyle(MetalLanguage(), "tester", k.uops)
    assert isinstance(k.uops, UOpGraph)


def test_node_classes_tell_expressions_apart():
    from strata.spec.shape.symbolic import AndNode, DivNode, LtNode, ModNode, MulNode, Node, NumNode, SumNode
    a, b = Variable("a", 0, 10), Variable("b", 0, 10)
    made = {NumNode: NumNode(3), MulNode: MulNode(a, 3), SumNode: SumNode([a, b, 1]), DivNode: DivNode(a, 3),
            ModNode: ModNode(a, 3), LtNode: LtNode(a, 3), AndNode: AndNode([a < 3, b < 3])}
    for kind, e in made.items():
        assert [k for k in made if isinstance(e, k)] == [kind]
        assert isinstance(e, Node)
    assert isinstance(MulNode(a, b), MulNode)
    assert not isinstance(3, Node) and not isinstance(a, NumNode)
    assert Node.sum([a, b, 2]).render() == "((2+a)+b)" and Node.ands([]).render() == "1"
