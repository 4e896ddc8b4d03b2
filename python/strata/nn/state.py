"""Functions on the states of models, under tinygrad's names (tinygrad.nn.state)."""
from typing import Any, Dict, List, Mapping, Optional

from .. import _strata
from .._strata import _nn


def get_parameters(module: _nn.Module) -> List[_strata.Tensor]:
    """module.parameters(): the tensors that training updates."""
    return module.parameters()


def get_state_dict(module: _nn.Module) -> Dict[str, _strata.Tensor]:
    """module.state_dict(): parameters and buffers by name."""
    return module.state_dict()


def load_state_dict(module: _nn.Module, state: Mapping[str, Any], strict: bool = True) -> None:
    """module.load_state_dict(): assigns the values of `state` to the tensors of the same names."""
    module.load_state_dict(dict(state), strict)


def safe_save(tensors: Mapping[str, Any], path: Any, metadata: Optional[Mapping[str, str]] = None) -> None:
    """Writes tensors by name to a safetensors file."""
    _strata.save(tensors, path, dict(metadata or {}))


def safe_load(path: Any) -> Dict[str, _strata.Tensor]:
    """The tensors of a safetensors file by name."""
    tensors: Dict[str, _strata.Tensor] = _strata.load(path)
    return tensors
