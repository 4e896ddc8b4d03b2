"""Linear algebra under the names of torch.linalg and numpy.linalg: products, norms, solvers and factorizations."""
import math
from typing import Any, Sequence, Tuple, Union

from . import _strata
from ._strata import _lu as lu, inverse as inv
from ._strata import cholesky as cholesky, det as det, diagonal as diagonal, inner as inner, matmul as matmul
from ._strata import matrix_exp as matrix_exp, matrix_power as matrix_power
from ._strata import multi_dot as multi_dot, outer as outer, qr as qr, slogdet as slogdet, solve as solve
from ._strata import solve_triangular as solve_triangular, tensordot as tensordot, trace as trace

__all__ = ["cholesky", "cross", "det", "diagonal", "inner", "inv", "lu", "matmul", "matrix_exp", "matrix_norm",
           "matrix_power", "multi_dot", "norm", "outer", "qr", "slogdet", "solve", "solve_triangular", "tensordot",
           "trace", "vecdot", "vector_norm"]


def cross(x: Any, other: Any, dim: int = -1) -> _strata.Tensor:
    """The cross product of vectors with three elements along axis `dim`."""
    return _strata.cross(x, other, dim)


def vector_norm(x: Any, ord: Any = 2, dim: Union[int, Sequence[int], None] = None, keepdim: bool = False) -> _strata.Tensor:
    """The norm of order `ord` of vectors along the axes `dim`; without `dim`, of all elements."""
    return _strata.norm(x, p=ord, axis=dim, keepdim=keepdim)


def matrix_norm(x: Any, ord: Any = "fro", dim: Tuple[int, int] = (-2, -1), keepdim: bool = False) -> _strata.Tensor:
    """The norm of the matrices in the two axes `dim`. `ord` is "fro" (Frobenius); 1 or -1, the largest or smallest sum of absolute values
    of a column; or inf or -inf, the same of a row.

    Norms of singular values (2, -2, "nuc") are not supported.
    """
    kinds = {1: "1", -1: "-1", math.inf: "inf", -math.inf: "-inf"}
    kind = ord if isinstance(ord, str) else kinds.get(ord, str(ord))
    matrices = _strata.movedim(x, dim, (-2, -1))
    norms = _strata.matrix_norm(matrices, kind, keepdim=keepdim)
    return norms.movedim((-2, -1), dim) if keepdim else norms


def norm(x: Any, ord: Any = None, dim: Union[int, Sequence[int], None] = None, keepdim: bool = False, *,
         axis: Union[int, Sequence[int], None] = None) -> _strata.Tensor:
    """The norm along the axes `dim`. Without `ord`: the root of the sum of squares, along `dim` or of all elements.

    With `ord`, two axes are those of matrices, as of matrix_norm(), and one axis is that of vectors, as of vector_norm(). Without `dim`,
    x is a vector or a matrix; raises ShapeError if it has other than 1 or 2 dimensions.
    """
    along = dim if dim is not None else axis
    if ord is None:
        return vector_norm(x, 2, along, keepdim)
    if along is None:
        dimensions = _strata.as_tensor(x).ndim
        if dimensions not in (1, 2):
            raise _strata.ShapeError(f"[norm] of order {ord}, of {dimensions} dimensions: dim must name the dimensions of the vector or the matrix")
        along = (0, 1) if dimensions == 2 else 0
    if isinstance(along, int):
        return vector_norm(x, ord, along, keepdim)
    axes = tuple(along)
    return matrix_norm(x, ord, (axes[0], axes[1]), keepdim) if len(axes) == 2 else vector_norm(x, ord, axes, keepdim)


def vecdot(x: Any, y: Any, dim: int = -1) -> _strata.Tensor:
    """The inner products of vectors along axis `dim`: (x * y).sum(dim)."""
    products: _strata.Tensor = x * y
    return products.sum(dim)
