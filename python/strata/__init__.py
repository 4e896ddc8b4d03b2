"""Strata: an exact symbolic index algebra and a tensor compiler.

    import strata
    x = strata.rand(3, 4)
    y = (x @ x.T).relu().sum(axis=1)     # lazy: nothing has run
    y.numpy()                            # runs, and gives a NumPy array of shape (3,)

Operations on tensors build a graph; asking for values (numpy(), item(), tolist(), realize()) fuses it into kernels, compiles and runs
them. strata.nn has modules and layers, strata.optim optimisers, strata.linalg linear algebra, strata.fft Fourier transforms;
strata.expr and strata.layout are the index algebra.
"""
from . import expr as expr, fft as fft, layout as layout, linalg as linalg, nn as nn, onnx as onnx, optim as optim
from ._functions import TinyJit as TinyJit, grad as grad, inference_mode as inference_mode
from ._functions import jit as jit, no_grad as no_grad, value_and_grad as value_and_grad
from ._loops import scan as scan, while_loop as while_loop
from ._transforms import checkpoint as checkpoint, jvp as jvp, vmap as vmap
from ._sdk import cmake_dir as cmake_dir, pkgconfig_dir as pkgconfig_dir
from ._strata import *  # noqa: F401,F403
from ._strata import __version__ as __version__, _tensor_from_bytes as _tensor_from_bytes


def __getattr__(name: str) -> object:
    if name == "bool":  # strata.bool is a dtype, like torch.bool; as a global, `import *` would shadow Python's bool
        return bool_  # noqa: F405
    raise AttributeError(f"module 'strata' has no attribute '{name}'")
