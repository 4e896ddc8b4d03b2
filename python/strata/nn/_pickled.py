"""Pickling and copying of modules: by what made their part in C++, the values of its tensors, and their attributes."""
import functools
from typing import Any, Callable

from .._strata import Tensor, _nn

_ARGUMENTS = "_arguments"


def _native_class(cls: type) -> Any:
    """The class of C++ that a module is, or derives from."""
    return next(c for c in cls.__mro__ if c.__module__.startswith("strata._strata"))


def _made(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module = cls.__new__(cls)
    _native_class(cls).__init__(module, *args, **kwargs)
    return module


def _own_tensors(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors of its part in C++, by name."""
    native = _native_class(type(module))
    state = module.state_dict()
    return {name: state[name] for name in _made(native, args, kwargs).state_dict()}


def _reduced(self: Any) -> tuple[Any, ...]:
    attributes = dict(self.__dict__)
    args, kwargs = attributes.get(_ARGUMENTS, ((), {}))
    return _made, (type(self), args, kwargs), (self.training, _own_tensors(self, args, kwargs), attributes)


def _restored(self: Any, state: tuple[Any, ...]) -> None:
    training, tensors, attributes = state
    self.train(training)  # before the attributes: modules in them have their own
    for name, own in self.state_dict().items():
        own.requires_grad_(False)
        own.assign(tensors[name].detach())
        own.requires_grad_(tensors[name].requires_grad)
    self.__dict__.update(attributes)


def _remembering(made: Callable[..., None]) -> Callable[..., None]:
    """A constructor that keeps what it was given."""

    @functools.wraps(made)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.__dict__[_ARGUMENTS] = (args, kwargs)

    return __init__


def enable() -> None:
    """For the modules of C++ and all that derive from them."""
    base: Any = _nn._NativeModule
    base.__reduce__, base.__setstate__ = _reduced, _restored
    for cls in vars(_nn).values():
        if isinstance(cls, type) and issubclass(cls, base) and cls not in (base, _nn.Module):
            made: Any = cls
            made.__init__ = _remembering(made.__init__)
