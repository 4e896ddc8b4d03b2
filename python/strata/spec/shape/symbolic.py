"""Symbolic integers under the specification's class names.

Expressions are `strata.Expr`. The classes here construct them, and isinstance() tells which kind an expression is:

    >>> MulNode(Variable("a", 0, 10), 3).render()
    '(a*3)'
    >>> isinstance(Variable("a", 0, 10) % 3, ModNode)
    True

Expressions are canonical: if a is always below 100, `ModNode(a, 100)` is a.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, Union

from strata import Expr, Variable, expand_node
from strata import expr as _expr

Sint = Union[Expr, int]


class _NodeType(type):
    """The metaclass by which isinstance(e, MulNode) tests the kind of the expression e."""

    _is: Callable[[Expr], bool]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Expr) and cls._is(instance)


def _is_product(e: Expr) -> bool:
    return e.op == "*" or (e.op == "+" and len(e.sources) == 1)


class Node(metaclass=_NodeType):
    """Any expression."""

    _is = staticmethod(lambda e: True)

    @staticmethod
    def sum(nodes: Iterable[Sint]) -> Expr:
        """The sum of the expressions; 0 for an empty list."""
        return _expr.sum(list(nodes))

    @staticmethod
    def ands(nodes: Iterable[Sint]) -> Expr:
        """The condition that all conditions hold; 1 for an empty list."""
        return _expr.all_of(list(nodes))


class NumNode(Node):
    """A constant."""

    _is = staticmethod(lambda e: bool(e.is_constant))

    def __new__(cls, num: int) -> Expr:  # type: ignore[misc]
        return Expr(num)


class MulNode(Node):
    """A product a * b."""

    _is = staticmethod(_is_product)

    def __new__(cls, a: Sint, b: Sint) -> Expr:  # type: ignore[misc]
        return Expr(a) * b


class SumNode(Node):
    """A sum of two or more expressions."""

    _is = staticmethod(lambda e: bool(e.op == "+" and len(e.sources) > 1))

    def __new__(cls, nodes: Iterable[Sint]) -> Expr:  # type: ignore[misc]
        return _expr.sum(list(nodes))


class DivNode(Node):
    """A quotient a // b, rounded down."""

    _is = staticmethod(lambda e: bool(e.op == "//"))

    def __new__(cls, a: Sint, b: Sint) -> Expr:  # type: ignore[misc]
        return Expr(a) // b


class ModNode(Node):
    """A remainder a % b of a floor division."""

    _is = staticmethod(lambda e: bool(e.op == "%"))

    def __new__(cls, a: Sint, b: Sint) -> Expr:  # type: ignore[misc]
        return Expr(a) % b


class LtNode(Node):
    """The condition a < b."""

    _is = staticmethod(lambda e: bool(e.op == "<"))

    def __new__(cls, a: Sint, b: Sint) -> Expr:  # type: ignore[misc]
        return Expr(a) < b


class AndNode(Node):
    """The condition that all conditions in a list hold."""

    _is = staticmethod(lambda e: bool(e.op == "and"))

    def __new__(cls, nodes: Iterable[Sint]) -> Expr:  # type: ignore[misc]
        return _expr.all_of(list(nodes))


def create_lt_node(lhs: Sint, b: Sint) -> Expr:
    """The condition lhs < b."""
    return Expr(lhs) < b


def create_ge_node(lhs: Sint, b: Sint) -> Expr:
    """The condition lhs >= b."""
    return Expr(lhs) >= b


__all__ = ["AndNode", "DivNode", "LtNode", "ModNode", "MulNode", "Node", "NumNode", "SumNode", "Variable",
           "create_ge_node", "create_lt_node", "expand_node"]
