"""The layout algebra: composition, complement, products and divides of layouts, under CuTe's names.

    >>> from strata import Layout, layout
    >>> layout.complement(Layout(4, 2), 24)
    Layout('(2,3):(1,8)')
"""
from ._strata import Layout
from ._strata._layout import (PlacedLayout, Swizzle, blocked_product, coalesce, complement, composition, cosize,
                              crd2idx, flat_divide, flat_product, flatten, idx2crd, left_inverse, logical_divide,
                              logical_product, make_layout, nullspace, raked_product, right_inverse, size, table,
                              tiled_divide, tiled_product, to_layout, zipped_divide, zipped_product)

__all__ = ["Layout", "PlacedLayout", "Swizzle", "blocked_product", "coalesce", "complement", "composition", "cosize",
           "crd2idx", "flat_divide", "flat_product", "flatten", "idx2crd", "left_inverse", "logical_divide",
           "logical_product", "make_layout", "nullspace", "raked_product", "right_inverse", "size", "table",
           "tiled_divide", "tiled_product", "to_layout", "zipped_divide", "zipped_product"]
