"""Products, norms, systems of equations and factors, under the names of torch.linalg and numpy.linalg."""
from . import _strata
from ._strata import cholesky, det, diagonal, inner, matmul, matrix_exp, matrix_norm, matrix_power, multi_dot, norm, outer  # noqa: F401
from ._strata import qr, slogdet, solve, solve_triangular, tensordot, trace  # noqa: F401
from ._strata import _lu as lu, inverse as inv  # noqa: F401


def cross(x, other, dim=-1):
    """The cross product of vectors of three along an axis."""
    return _strata.cross(x, other, dim)


def vector_norm(x, ord=2, dim=None, keepdim=False):
    """The norm of vectors along axes: of all elements where none is said."""
    return norm(x, p=ord, dim=dim, keepdim=keepdim)


def vecdot(x, y, dim=-1):
    """Inner products along an axis."""
    return (x * y).sum(dim)
