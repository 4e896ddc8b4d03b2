"""Products and norms, under the names of torch.linalg and numpy.linalg."""
from typing import Any, Sequence, Union

from . import _strata
from ._strata import cross as cross, diagonal as diagonal, inner as inner, matmul as matmul, matrix_norm as matrix_norm
from ._strata import matrix_power as matrix_power, multi_dot as multi_dot, norm as norm, outer as outer
from ._strata import tensordot as tensordot, trace as trace


def vector_norm(x: Any, ord: Any = 2, dim: Union[int, Sequence[int], None] = None, keepdim: bool = False) -> _strata.Tensor:
    """The norm of vectors along axes: of all elements where none is said."""
    return norm(x, p=ord, axis=dim, keepdim=keepdim)


def vecdot(x: Any, y: Any, dim: int = -1) -> _strata.Tensor:
    """Inner products along an axis."""
    products: _strata.Tensor = x * y
    return products.sum(dim)
