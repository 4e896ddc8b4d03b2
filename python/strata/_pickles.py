"""What unpickling calls."""
from __future__ import annotations

from typing import Any, Dict

from . import _strata


def device(name: str) -> Any:
    """The device of a name."""
    return _strata.Device.get(name)


def tensor_of_class(cls: Any, tensor: _strata.Tensor, attributes: Dict[str, Any]) -> _strata.Tensor:
    """The tensor as an object of a class that derives from Tensor, with its attributes."""
    out: _strata.Tensor = cls.__new__(cls, tensor)
    vars(out).update(attributes)
    return out
