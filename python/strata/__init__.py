"""Strata: an exact symbolic index algebra and a tensor compiler.

    import strata
    x = strata.rand(3, 4)
    y = (x @ x.T).relu().sum(axis=1)     # nothing has run
    y.numpy()                            # one array of NumPy's
"""
from . import expr, layout, linalg, nn, optim  # noqa: F401
from ._functions import TinyJit, grad, inference_mode, jit, no_grad, value_and_grad  # noqa: F401
from ._sdk import cmake_dir, pkgconfig_dir  # noqa: F401
from ._strata import *  # noqa: F401,F403
from ._strata import __version__, _tensor_from_bytes  # noqa: F401


def __getattr__(name):
    if name == "bool":  # as torch.bool; no name of the module, which `import *` would put before Python's
        return bool_  # noqa: F405
    raise AttributeError(f"module 'strata' has no attribute '{name}'")
