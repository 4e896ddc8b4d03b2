"""Modules and layers, with the names, parameters and initial values of PyTorch's.

    from strata import nn, optim

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(64, 32), nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.hidden(x).relu())
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, ClassVar, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

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
    RNN as RNN,
    Module as Module,
    MultiheadAttention as MultiheadAttention,
    RMSNorm as RMSNorm,
    TransformerBlock as TransformerBlock,
    _quantize,
    init as init,
)
from . import _pickled

BatchNorm = BatchNorm2d
_pickled.enable()


def load(module: Module, path: Any) -> None:
    """Loads the state of a module from a file that save() wrote: module.load_state_dict() of its tensors."""
    module.load_state_dict(_load_file(path))


def Parameter(data: Any, requires_grad: bool = True) -> _strata.Tensor:
    """A tensor with the values of `data` that requires gradients. It is detached: gradients do not pass on to `data`."""
    return _strata.Tensor(data, requires_grad=requires_grad)


def quantize(model: Module, calibration_inputs: Any, per_channel: bool = True, percentile: Optional[float] = None,
             exclude: Sequence[str] = ()) -> Module:
    """Quantisation after training: makes the Linear and Conv layers of a model compute in integers, and returns the model.

    The model is called with each of `calibration_inputs`, a list (a tuple in the list has the arguments of one call) or one
    Tensor. Each layer observes the range of its inputs and then holds int8 weights and an int32 bias in place of its floats; its
    inputs become uint8 and its sums int32. A layer takes and gives float32 as before. `per_channel`: each output channel of a
    weight has a scale of its own. `percentile`, e.g. 99.9: the range of inputs leaves out what lies beyond. `exclude`: names of
    layers, or of modules with all layers inside, that stay floats. The model changes in place (copy.deepcopy() keeps the old one),
    its quantised layers have no parameters any more, and a captured jit function keeps the floats.

    Raises DomainError if there are no inputs, the model is in training, a layer is quantised already, no input reached a layer,
    or its inputs or weights are not finite; the model is unchanged then. The arithmetic is defined in strata/nn/quantize.h.
    """
    inputs = [calibration_inputs] if isinstance(calibration_inputs, _strata.Tensor) else list(calibration_inputs)
    if not inputs:
        raise _strata.DomainError("[quantize] no calibration inputs are given")

    def calibrate() -> None:
        for given in inputs:
            model(*given) if isinstance(given, tuple) else model(given)

    _quantize(model, calibrate, per_channel, percentile, list(exclude))
    return model


def _refuse_unknown(function: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        raise TypeError(_strata._unknown_argument(function, name, list(known)))


def _checked_layer(owner: str, place: Any, layer: Any) -> Any:
    """Returns the layer. Raises TypeError, which names the place, if the object is neither a module nor a function."""
    if isinstance(layer, type):
        raise TypeError(f"[{owner}] layer {place!r} is the class {layer.__name__}, not an object of it: {layer.__name__}(...)")
    if not callable(layer):
        kind = type(layer).__name__
        raise TypeError(f"[{owner}] layer {place!r} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}: neither a module nor a function")
    return layer


class ModuleList(Module):
    """A list of modules that is a module; its items have the names "0", "1", ... A plain list as an attribute works, too."""

    _order: List[str]

    def __init__(self, modules: Iterable[Callable[..., Any]] = (), **unknown: Any) -> None:
        super().__init__()
        _refuse_unknown(type(self).__name__, unknown, ["modules"])
        self._order = []
        self.extend(modules)

    @property
    def layers(self) -> List[Any]:
        """The items, in order."""
        return [getattr(self, name) for name in self._order]

    def _add(self, name: str, layer: Any) -> None:
        setattr(self, name, layer)
        self._order.append(name)

    def append(self, module: Callable[..., Any]) -> ModuleList:
        """Appends a module. Raises TypeError for an object that is neither a module nor a function."""
        self._add(str(len(self)), _checked_layer(type(self).__name__, len(self), module))
        return self

    def extend(self, modules: Iterable[Callable[..., Any]]) -> ModuleList:
        """Appends several modules."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, k: Union[int, slice]) -> Any:
        return self._part(k) if isinstance(k, slice) else self.layers[k]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def _part(self, places: slice) -> ModuleList:
        return type(self)(self.layers[places])


class Sequential(ModuleList):
    """Layers and functions that are applied one after another: Sequential(a, b), or with names, Sequential({"first": a, "second": b})."""

    def __init__(self, *layers: Any, **unknown: Any) -> None:
        super().__init__()
        _refuse_unknown(type(self).__name__, unknown, [])
        if len(layers) == 1 and isinstance(layers[0], Mapping):
            for name, layer in layers[0].items():
                self._check_name(name)
                self._add(name, _checked_layer(type(self).__name__, name, layer))
        else:
            self.extend(layers)

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or not name or "." in name or hasattr(self, name):
            why = "an attribute of its own" if isinstance(name, str) and name and hasattr(self, name) else "a text without dots"
            raise TypeError(f"[{type(self).__name__}] the name {name!r} of a layer is " + (why if why[1] == "n" else f"not {why}"))

    def forward(self, x: Any) -> Any:
        """Applies all layers in order, and returns the result of the last one."""
        for layer in self.layers:
            x = layer(x)
        return x

    def _part(self, places: slice) -> ModuleList:
        names = self._order[places]
        if all(name.isdigit() for name in names):
            return type(self)(*self.layers[places])
        return type(self)({name: getattr(self, name) for name in names})


class _Function(Module):
    """A module without parameters that calls a function of tensors."""

    _function: ClassVar[Callable[..., Any]]
    _tensors: ClassVar[int]  # the number of its parameters that a call gives; the constructor gives the others

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._check(args, kwargs)
        self.args, self.kwargs = args, kwargs

    @classmethod
    def _options(cls) -> List[Tuple[str, ...]]:
        """For each parameter of the constructor, its names."""
        return [names for names, *_ in _parameters_of(cls._function)[cls._tensors:]]

    @classmethod
    def _check(cls, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        rows = _parameters_of(cls._function)[cls._tensors:]
        positions = [row for row in rows if row[3] != "name"]
        if len(args) > len(positions):
            s = "" if len(positions) == 1 else "s"
            raise TypeError(f"{cls.__name__}() takes at most {len(positions)} argument{s} by position, not {len(args)}")
        given = {names[0] for names, *_ in positions[:len(args)]}
        for name in kwargs:
            place = next((names[0] for names, *_ in rows if name in names), None)
            if place is None:
                raise TypeError(_strata._unknown_argument(cls.__name__, name, [names[0] for names, *_ in rows]))
            if place in given:
                raise TypeError(f"{cls.__name__}() got '{place}' twice")
            given.add(place)
        for names, _, default, _ in rows:
            if default is None and names[0] not in given:
                raise TypeError(f"{cls.__name__}() needs '{names[0]}'")

    def forward(self, *x: Any) -> Any:
        """Calls the function with x and the constructor's arguments."""
        return type(self)._function(*x, *self.args, **self.kwargs)

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


def _parameters_of(function: Any) -> List[Tuple[Tuple[str, ...], str, Any, str]]:
    """For each parameter: its names, type, default (None: required) and kind."""
    rows = getattr(function, "__parameters__", None)
    if rows is not None:
        return list(rows)
    out: List[Tuple[Tuple[str, ...], str, Any, str]] = []
    for p in inspect.signature(function).parameters.values():
        out.append(((p.name,), "Any", None if p.default is p.empty else str(p.default), "position"))
    return out


def _of(name: str, function: Callable[..., Any], tensors: int = 1) -> Type[_Function]:
    members = {"__doc__": function.__doc__, "__module__": __name__, "_function": staticmethod(function), "_tensors": tensors}
    return type(name, (_Function,), members)


class Identity(Module):
    """Returns its input. A placeholder for a layer; ignores the arguments of its constructor."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        """Returns x."""
        return x


def _flatten(x: Any, start_dim: int = 1, end_dim: int = -1) -> Any:
    """Merges the axes start_dim to end_dim into one; by default all except the batch axis."""
    return x.flatten(start_dim, end_dim)


# Modules without parameters: each calls a function of the package.
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

# Losses: a call takes the predictions and the targets.
CrossEntropyLoss = _of("CrossEntropyLoss", _strata.cross_entropy, 2)
NLLLoss = _of("NLLLoss", _strata.nll_loss, 2)
MSELoss = _of("MSELoss", _strata.mse_loss, 2)
L1Loss = _of("L1Loss", _strata.l1_loss, 2)
SmoothL1Loss = _of("SmoothL1Loss", _strata.smooth_l1_loss, 2)
HuberLoss = _of("HuberLoss", _strata.huber_loss, 2)
BCELoss = _of("BCELoss", _strata.binary_cross_entropy, 2)
BCEWithLogitsLoss = _of("BCEWithLogitsLoss", _strata.binary_cross_entropy_with_logits, 2)
KLDivLoss = _of("KLDivLoss", _strata.kl_div, 2)

# The submodules nn.functional and nn.state; nn.optim is tinygrad's name of strata.optim.
from . import functional as functional, state as state  # noqa: E402
from .. import optim as optim  # noqa: E402
