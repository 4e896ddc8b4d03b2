"""Dtypes under the specification's names."""
from __future__ import annotations

from typing import Any, Union

import strata
from strata import DType

ConstType = Union[float, int, bool]


class dtypes:
    """The dtypes, under NumPy's names, e.g. `dtypes.float32`, and the names of listings, e.g. `dtypes.float`."""

    bool = bool_ = strata.bool_
    char = int8 = strata.int8
    short = int16 = strata.int16
    int = int32 = strata.int32
    long = int64 = strata.int64
    uchar = uint8 = strata.uint8
    ushort = uint16 = strata.uint16
    uint = uint32 = strata.uint32
    ulong = uint64 = strata.uint64
    half = float16 = strata.float16
    bfloat16 = strata.bfloat16
    float = float32 = strata.float32
    double = float64 = strata.float64

    @staticmethod
    def from_np(dtype: Any) -> DType:
        """The dtype that corresponds to a NumPy dtype."""
        return DType(dtype)


__all__ = ["ConstType", "DType", "dtypes"]
