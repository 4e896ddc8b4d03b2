"""The specification's modules, names and defaults on top of strata.

The programs in the documents of the specification run if their imports name `strata.spec` instead of `tinygrad`:

    >>> from strata.spec.shape.symbolic import Variable
    >>> a, b = Variable("a", 0, 10), Variable("b", 0, 10)
    >>> ((a*40 + b) // 20).render()
    '(a*2)'

There are two differences from `strata` itself. Tensors of Python numbers are float32, and open loops of a list of UOps
are closed when the list is rendered. This package adds no features: use `strata` for all other purposes.
"""
from .tensor import Tensor

__all__ = ["Tensor"]
