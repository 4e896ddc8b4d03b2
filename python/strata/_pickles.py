"""What unpickling calls."""
from __future__ import annotations

from typing import Any, Dict, Type

from . import _strata


def device(name: str) -> Any:
    """The device of a name."""
    return _strata.Device.get(name)


def tensor_of_class(cls: Type[_strata.Tensor], tensor: _strata.Tensor, attributes: Dict[str, Any]) -> _strata.Tensor:
    """The tensor as an object of a class that derives from Tensor, with its attributes."""
    out = cls.__new__(cls, tensor)
    vars(out).update(attributes)
    return out
