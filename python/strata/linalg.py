"""Products, norms, systems of equations and factors, under the names of torch.linalg and numpy.linalg."""
from typing import Any, Sequence, Union

from . import _strata
from ._strata import _lu as lu, inverse as inv
from ._strata import cholesky as cholesky, det as det, diagonal as diagonal, inner as inner, matmul as matmul
from ._strata import matrix_exp as matrix_exp, matrix_norm as matrix_norm, matrix_power as matrix_power
from ._strata import multi_dot as multi_dot, norm as norm, outer as outer, qr as qr, slogdet as slogdet, solve as solve
from ._strata import solve_triangular as solve_triangular, tensordot as tensordot, trace as trace

__all__ = ["cholesky", "cross", "det", "diagonal", "inner", "inv", "lu", "matmul", "matrix_exp", "matrix_norm",
           "matrix_power", "multi_dot", "norm", "outer", "qr", "slogdet", "solve", "solve_triangular", "tensordot",
           "trace", "vecdot", "vector_norm"]


def cross(x: Any, other: Any, dim: int = -1) -> _strata.Tensor:
    """The cross product of vectors of three along an axis."""
    return _strata.cross(x, other, dim)


def vector_norm(x: Any, ord: Any = 2, dim: Union[int, Sequence[int], None] = None, keepdim: bool = False) -> _strata.Tensor:
    """The norm of vectors along axes: of all elements where none is said."""
    return norm(x, p=ord, axis=dim, keepdim=keepdim)


def vecdot(x: Any, y: Any, dim: int = -1) -> _strata.Tensor:
    """Inner products along an axis."""
    products: _strata.Tensor = x * y
    return products.sum(dim)
