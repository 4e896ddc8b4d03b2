"""States of models, as tinygrad has them."""
from .._strata import load as _load
from .._strata import save as _save


def get_parameters(module):
    """What gradients are taken by."""
    return module.parameters()


def get_state_dict(module):
    """Parameters, and what else a module keeps, by name."""
    return module.state_dict()


def load_state_dict(module, state, strict=True):
    """Takes the values of tensors by name."""
    module.load_state_dict(state, strict)


def safe_save(tensors, path, metadata=None):
    """Tensors by name as a safetensors file."""
    _save(tensors, path, metadata or {})


def safe_load(path):
    """The tensors of a safetensors file by name."""
    return _load(path)
