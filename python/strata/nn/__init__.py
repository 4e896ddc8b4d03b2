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

from typing import Any, Callable, ClassVar, Iterable, Iterator, List, Type, Union

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


class ModuleList(Module):
    """Modules by number: a list that is a module, as others have it. A plain list as an attribute does, too."""

    def __init__(self, modules: Iterable[Callable[..., Any]] = ()) -> None:
        super().__init__()
        self.extend(modules)

    @property
    def layers(self) -> List[Any]:
        """Those inside, in order."""
        return [value for name, value in vars(self).items() if name.isdigit()]

    def append(self, module: Callable[..., Any]) -> ModuleList:
        """One more."""
        setattr(self, str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Callable[..., Any]]) -> ModuleList:
        """Several more."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, k: Union[int, slice]) -> Any:
        return type(self)._made(self.layers[k]) if isinstance(k, slice) else self.layers[k]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    @classmethod
    def _made(cls, modules: List[Any]) -> ModuleList:
        return cls(modules)


class Sequential(ModuleList):
    """Layers and functions, one after another."""

    def __init__(self, *layers: Callable[..., Any]) -> None:
        super().__init__(layers)

    def forward(self, x: Any) -> Any:
        """The last layer's result."""
        for layer in self.layers:
            x = layer(x)
        return x

    @classmethod
    def _made(cls, modules: List[Any]) -> ModuleList:
        return cls(*modules)


class _Function(Module):
    """A function of tensors as a module."""

    _function: ClassVar[Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.args, self.kwargs = args, kwargs

    def forward(self, *x: Any) -> Any:
        """The function of x."""
        return type(self)._function(*x, *self.args, **self.kwargs)

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


def _of(name: str, function: Callable[..., Any]) -> Type[_Function]:
    members = {"__doc__": function.__doc__, "__module__": __name__, "_function": staticmethod(function)}
    return type(name, (_Function,), members)


def _identity(x: Any, *_: Any, **__: Any) -> Any:
    """x as it is, whatever was said."""
    return x


def _flatten(x: Any, start_dim: int = 1, end_dim: int = -1) -> Any:
    """Dimensions of a range as one: all but the batch's, where no other are said."""
    return x.flatten(start_dim, end_dim)


# Modules without parameters, by the functions that they are.
ReLU = _of("ReLU", _strata.relu)
ReLU6 = _of("ReLU6", _strata.relu6)
LeakyReLU = _of("LeakyReLU", _strata.leaky_relu)
ELU = _of("ELU", _strata.elu)
CELU = _of("CELU", _strata.celu)
SELU = _of("SELU", _strata.selu)
GELU = _of("GELU", _strata.gelu)
SiLU = _of("SiLU", _strata.silu)
Mish = _of("Mish", _strata.mish)
Sigmoid = _of("Sigmoid", _strata.sigmoid)
Tanh = _of("Tanh", _strata.tanh)
Softplus = _of("Softplus", _strata.softplus)
Softmax = _of("Softmax", _strata.softmax)
LogSoftmax = _of("LogSoftmax", _strata.log_softmax)
Hardtanh = _of("Hardtanh", _strata.hardtanh)
Hardswish = _of("Hardswish", _strata.hardswish)
Flatten = _of("Flatten", _flatten)
MaxPool1d = _of("MaxPool1d", _strata.max_pool1d)
MaxPool2d = _of("MaxPool2d", _strata.max_pool2d)
MaxPool3d = _of("MaxPool3d", _strata.max_pool3d)
AvgPool1d = _of("AvgPool1d", _strata.avg_pool1d)
AvgPool2d = _of("AvgPool2d", _strata.avg_pool2d)
AvgPool3d = _of("AvgPool3d", _strata.avg_pool3d)
AdaptiveAvgPool2d = _of("AdaptiveAvgPool2d", _strata.adaptive_avg_pool2d)

Identity = _of("Identity", _identity)

# Losses: of scores or values, and a target.
CrossEntropyLoss = _of("CrossEntropyLoss", _strata.cross_entropy)
NLLLoss = _of("NLLLoss", _strata.nll_loss)
MSELoss = _of("MSELoss", _strata.mse_loss)
L1Loss = _of("L1Loss", _strata.l1_loss)
SmoothL1Loss = _of("SmoothL1Loss", _strata.smooth_l1_loss)
HuberLoss = _of("HuberLoss", _strata.huber_loss)
BCELoss = _of("BCELoss", _strata.binary_cross_entropy)
BCEWithLogitsLoss = _of("BCEWithLogitsLoss", _strata.binary_cross_entropy_with_logits)
KLDivLoss = _of("KLDivLoss", _strata.kl_div)

# functional takes its names from the module, and optim is where tinygrad has it.
from . import functional as functional, state as state  # noqa: E402
from .. import optim as optim  # noqa: E402
