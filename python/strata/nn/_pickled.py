"""Pickling and copying of modules and optimisers.

A pickle has the arguments of the constructor, with which the C++ part is made again, the tensors of that part, and the attributes. The
tensors are pickled as objects, so a tensor in several places is one tensor after unpickling, too.
"""
import functools
import inspect
from typing import Any, Callable

from .._strata import Tensor, _nn, _optim

_ARGUMENTS = "_arguments"


def _native_class(cls: type) -> Any:
    """The C++ class of a module: its own class, or the nearest base class that is bound."""
    return next(c for c in cls.__mro__ if c.__module__.startswith("strata._strata"))


def _made(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module = cls.__new__(cls)
    with _nn._NoInitialValues():
        _native_class(cls).__init__(module, *args, **kwargs)
    return module


def _reduced(self: Any) -> tuple[Any, ...]:
    attributes = dict(self.__dict__)
    args, kwargs = attributes.pop(_ARGUMENTS, ((), {}))
    return _made, (type(self), args, kwargs), (self.training, self._native_state(), attributes)


def _restored(self: Any, state: tuple[Any, ...]) -> None:
    training, own, attributes = state
    self.train(training)  # before the attributes: modules in them have their own
    self._restore_quantized(own)
    for name in self._native_state():
        self._set_native(name, own.pop(name, None))
    for name, tensor in own.items():  # a bias that the constructor was told to leave out
        self._set_native(name, tensor)
    self.__dict__.update(attributes)


def _made_optimizer(cls: Any, params: list[Tensor], kwargs: dict[str, Any]) -> Any:
    optimizer = cls.__new__(cls)
    frozen = [p for p in params if not p.requires_grad]
    for p in frozen:
        p.requires_grad_(True)
    _native_class(cls).__init__(optimizer, params, **kwargs)
    for p in frozen:
        p.requires_grad_(False)
    return optimizer


def _reduced_optimizer(self: Any) -> tuple[Any, ...]:
    attributes = dict(self.__dict__)
    kwargs = attributes.pop(_ARGUMENTS)
    return _made_optimizer, (type(self), list(self.params), kwargs), (self.state_dict(), attributes)


def _restored_optimizer(self: Any, state: tuple[Any, ...]) -> None:
    tensors, attributes = state
    self.load_state_dict(tensors)
    self.__dict__.update(attributes)


def _remembering(made: Callable[..., None]) -> Callable[..., None]:
    """Wraps a constructor so that the object keeps the arguments."""

    @functools.wraps(made)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.__dict__[_ARGUMENTS] = (args, kwargs)

    return __init__


def _remembering_options(made: Callable[..., None]) -> Callable[..., None]:
    """The same for an optimiser: keeps the arguments by name, without the parameters, which the optimiser has anyway."""
    names = [part.split(":")[0].strip() for part in (made.__doc__ or "").split("(", 1)[1].split(", ") if ":" in part][1:]

    @functools.wraps(made)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        given = dict(zip(names, args), **kwargs)
        self.__dict__[_ARGUMENTS] = {name: value for name, value in given.items() if name != "params"}

    return __init__


def _classes(module: Any, base: Any) -> list[Any]:
    return [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, base) and c is not base]


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.forward(*args, **kwargs)


def _dispatching(cls: Any, **kwargs: Any) -> None:
    """Makes calls of a subclass of a C++ layer use its forward(), if the class defines forward() and inherits only __call__()."""
    super(_nn.Module, cls).__init_subclass__(**kwargs)
    nearest = next(c for c in cls.__mro__ if "forward" in vars(c) or "__call__" in vars(c))
    if "__call__" not in vars(nearest) and "forward" in vars(nearest):
        cls.__call__ = _call


def enable() -> None:
    """Enables pickling and copying for the modules and optimisers of C++ and their subclasses."""
    base: Any = _nn.Module
    base.__reduce__, base.__setstate__ = _reduced, _restored
    base.__init_subclass__ = classmethod(_dispatching)
    for cls in _classes(_nn, base):
        cls.__init__ = _remembering(cls.__init__)
    optimizer: Any = _optim.Optimizer
    optimizer.__reduce__, optimizer.__setstate__ = _reduced_optimizer, _restored_optimizer
    for cls in _classes(_optim, optimizer):
        cls.__init__ = _remembering_options(cls.__init__)
