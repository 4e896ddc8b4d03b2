"""Exact integer expressions: functions that build them (select, min, ceildiv, ...), and functions that prove facts about them.

    >>> from strata import Variable, expr
    >>> x = Variable("x", 0, 9)
    >>> expr.select(x < 5, x, 9 - x).facts("exact").max
    4
"""
from ._strata import Expr, Facts, Proof, Variable
from ._strata._expr import (all_of, any_of, ceildiv, count_nodes, expand_node, live_nodes, max, min,
                            parse, prove, prove_equal, same, select, sum, unbind)

__all__ = ["Expr", "Facts", "Proof", "Variable", "all_of", "any_of", "ceildiv", "count_nodes", "expand_node",
           "live_nodes", "max", "min", "parse", "prove", "prove_equal", "same", "select", "sum", "unbind"]
