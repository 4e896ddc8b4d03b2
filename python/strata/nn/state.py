"""States of models, as tinygrad has them."""
from typing import Any, Dict, List, Mapping, Optional

from .. import _strata
from .._strata import _nn


def get_parameters(module: _nn.Module) -> List[_strata.Tensor]:
    """What gradients are taken by."""
    return module.parameters()


def get_state_dict(module: _nn.Module) -> Dict[str, _strata.Tensor]:
    """Parameters, and what else a module keeps, by name."""
    return module.state_dict()


def load_state_dict(module: _nn.Module, state: Mapping[str, Any], strict: bool = True) -> None:
    """Takes the values of tensors by name."""
    module.load_state_dict(dict(state), strict)


def safe_save(tensors: Mapping[str, Any], path: Any, metadata: Optional[Mapping[str, str]] = None) -> None:
    """Tensors by name as a safetensors file."""
    _strata.save(tensors, path, dict(metadata or {}))


def safe_load(path: Any) -> Dict[str, _strata.Tensor]:
    """The tensors of a safetensors file by name."""
    tensors: Dict[str, _strata.Tensor] = _strata.load(path)
    return tensors
