"""Functions that pickles call to rebuild devices and tensors."""
from __future__ import annotations

from typing import Any, Dict

from . import _strata


def device(name: str) -> Any:
    """The device with that name."""
    return _strata.Device.get(name)


def tensor_of_class(cls: Any, tensor: _strata.Tensor, attributes: Dict[str, Any]) -> _strata.Tensor:
    """An object of `cls`, a subclass of Tensor, for `tensor`, with the attributes of the pickled object."""
    out: _strata.Tensor = cls.__new__(cls, tensor)
    vars(out).update(attributes)
    return out
