"""The specification's modules, names and defaults on top of strata.

The documents of the specification quote programs; each of them runs when its imports say `strata.spec` for `tinygrad`:

    >>> from strata.spec.shape.symbolic import Variable
    >>> a, b = Variable("a", 0, 10), Variable("b", 0, 10)
    >>> ((a*40 + b) // 20).render()
    '(a*2)'

What is different from `strata` itself: Python's numbers make tensors of float32, and lists of UOps with open loops are closed where
they are rendered. Use `strata` for all else: this package adds nothing to it.
"""
from .tensor import Tensor

__all__ = ["Tensor"]
