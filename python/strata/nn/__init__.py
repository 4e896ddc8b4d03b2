"""Modules and layers, named and initialised as PyTorch has them.

    from strata import nn, optim

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(64, 32), nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.hidden(x).relu())
"""
from __future__ import annotations

from typing import Any, Callable, ClassVar, Iterator, Type, Union

from .. import _strata
from .._strata import load as _load_file
from .._strata import save as save
from .._strata._nn import (
    BatchNorm1d as BatchNorm1d,
    BatchNorm2d as BatchNorm2d,
    BatchNorm3d as BatchNorm3d,
    Conv1d as Conv1d,
    Conv2d as Conv2d,
    Conv3d as Conv3d,
    Dropout as Dropout,
    Embedding as Embedding,
    GroupNorm as GroupNorm,
    GRU as GRU,
    InstanceNorm as InstanceNorm,
    LayerNorm as LayerNorm,
    Linear as Linear,
    LSTM as LSTM,
    Module as Module,
    MultiheadAttention as MultiheadAttention,
    RMSNorm as RMSNorm,
    TransformerBlock as TransformerBlock,
    init as init,
)
from . import _pickled

BatchNorm = BatchNorm2d
_pickled.enable()


def load(module: Module, path: Any) -> None:
    """Takes the state of a module from a file that save() wrote."""
    module.load_state_dict(_load_file(path))


def Parameter(data: Any, requires_grad: bool = True) -> _strata.Tensor:
    """A tensor that gradients are taken by: the data's values, apart from how they were made."""
    return _strata.Tensor(data, requires_grad=requires_grad)


class Sequential(Module):
    """Layers and functions, one after another."""

    def __init__(self, *layers: Callable[..., Any]) -> None:
        super().__init__()
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        """The last layer's result."""
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, k: Union[int, slice]) -> Any:
        return Sequential(*self.layers[k]) if isinstance(k, slice) else self.layers[k]

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self.layers)


class _Activation(Module):
    """A function of one tensor as a module."""

    _function: ClassVar[Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.args, self.kwargs = args, kwargs

    def forward(self, x: Any) -> Any:
        """The function of x."""
        return type(self)._function(x, *self.args, **self.kwargs)

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


def _activation(name: str, function: Callable[..., Any]) -> Type[_Activation]:
    members = {"__doc__": function.__doc__, "__module__": __name__, "_function": staticmethod(function)}
    return type(name, (_Activation,), members)


def _flatten(x: Any, start_dim: int = 1, end_dim: int = -1) -> Any:
    """Dimensions of a range as one: all but the batch's, where no other are said."""
    return x.flatten(start_dim, end_dim)


# Modules without parameters, by the functions that they are.
ReLU = _activation("ReLU", _strata.relu)
ReLU6 = _activation("ReLU6", _strata.relu6)
LeakyReLU = _activation("LeakyReLU", _strata.leaky_relu)
ELU = _activation("ELU", _strata.elu)
CELU = _activation("CELU", _strata.celu)
SELU = _activation("SELU", _strata.selu)
GELU = _activation("GELU", _strata.gelu)
SiLU = _activation("SiLU", _strata.silu)
Mish = _activation("Mish", _strata.mish)
Sigmoid = _activation("Sigmoid", _strata.sigmoid)
Tanh = _activation("Tanh", _strata.tanh)
Softplus = _activation("Softplus", _strata.softplus)
Softmax = _activation("Softmax", _strata.softmax)
LogSoftmax = _activation("LogSoftmax", _strata.log_softmax)
Hardtanh = _activation("Hardtanh", _strata.hardtanh)
Hardswish = _activation("Hardswish", _strata.hardswish)
Flatten = _activation("Flatten", _flatten)
MaxPool1d = _activation("MaxPool1d", _strata.max_pool1d)
MaxPool2d = _activation("MaxPool2d", _strata.max_pool2d)
MaxPool3d = _activation("MaxPool3d", _strata.max_pool3d)
AvgPool1d = _activation("AvgPool1d", _strata.avg_pool1d)
AvgPool2d = _activation("AvgPool2d", _strata.avg_pool2d)
AvgPool3d = _activation("AvgPool3d", _strata.avg_pool3d)
AdaptiveAvgPool2d = _activation("AdaptiveAvgPool2d", _strata.adaptive_avg_pool2d)

# functional takes its names from the module, and optim is where tinygrad has it.
from . import functional as functional, state as state  # noqa: E402
from .. import optim as optim  # noqa: E402
