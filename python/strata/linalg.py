"""Products and norms, under the names of torch.linalg and numpy.linalg."""
from ._strata import cross, diagonal, inner, matmul, matrix_norm, matrix_power, multi_dot, norm, outer, tensordot, trace  # noqa: F401


def vector_norm(x, ord=2, dim=None, keepdim=False):
    """The norm of vectors along axes: of all elements where none is said."""
    return norm(x, p=ord, dim=dim, keepdim=keepdim)


def vecdot(x, y, dim=-1):
    """Inner products along an axis."""
    return (x * y).sum(dim)
