"""Stacks of Views."""
from __future__ import annotations

from typing import Optional, Sequence, Tuple, Union

from strata import Expr, ShapeTracker, View


def views_to_indexed_uops(views: Sequence[View], _idxs: Optional[Sequence[Expr]] = None) -> Tuple[Expr, Expr]:
    """The pair (address, condition) of the index `_idxs` of a stack of Views, the one next to the memory first.

    The index is that of the last View. The address of each View is the row-major number of an index of the View below:
    digit t of this index is (address // product of the later sizes) % size.

    >>> views_to_indexed_uops((View.create((2, 3), (1, 2)), View.create((3, 2))))[0].render()
    '(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))'
    """
    idx, valid = views[-1].to_indexed_uops(_idxs)
    for view in reversed(views[:-1]):
        view = view.minify()
        acc: Union[int, Expr] = 1
        idxs = []
        for d in reversed(view.shape):
            idxs.append((idx // acc) % d)
            acc *= d
        idx, valid = view.to_indexed_uops(idxs[::-1], valid)
    return idx, valid


__all__ = ["ShapeTracker", "View", "views_to_indexed_uops"]
