"""Functions of functions: decorators and gradients."""
from __future__ import annotations

import functools
from typing import Any, Callable, Optional, Sequence, TypeVar, Union, overload

from . import _strata
from ._strata import Tensor, gradients

F = TypeVar("F", bound=Callable[..., Any])


class no_grad(_strata._NoGrad):
    """No gradient passes what is computed meanwhile: a context, and a decorator.

    with strata.no_grad():
        loss = model(x)

    @strata.no_grad()
    def evaluate(x): ...
    """

    @overload
    def __new__(cls, function: None = None) -> no_grad: ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]  # of a function it makes a function

    def __new__(cls, function: Optional[F] = None) -> Any:
        self = super().__new__(cls)
        if function is None:
            return self
        no_grad.__init__(self)
        return self(function)

    def __init__(self, function: Optional[Callable[..., Any]] = None) -> None:
        super().__init__()

    @overload
    def __call__(self, function: F) -> F: ...

    @overload  # for checkers that do not see what __new__ makes of a function
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __call__(self, function: Callable[..., Any]) -> Any:  # type: ignore[misc]
        """The function, without gradients."""

        @functools.wraps(function)
        def without_gradients(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return function(*args, **kwargs)

        return without_gradients


inference_mode = no_grad


def value_and_grad(function: Callable[..., Any], argnums: Union[int, Sequence[int]] = 0) -> Callable[..., Any]:
    """The function that gives function(...) and its gradient by the argument in that place (or by several).

    Where the function returns a tuple, its first element is differentiated.
    """

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        return _strata._value_and_gradients(function, argnums, *args, **kwargs)

    return both


def grad(function: Any, argnums: Any = 0, *, allow_unused: bool = False) -> Any:
    """The function that gives the gradient of a function whose result is a scalar, by the argument in that place.

    Several places in a tuple give several gradients.

    slope = strata.grad(lambda x: (x * x).sum())
    slope(x)        # 2 * x

    The argument need not take gradients; one that the result does not depend on has zeros.

    As torch.autograd.grad, of a tensor: grad(y, xs) is gradients(y, xs), which raises DomainError for an x that takes no
    gradient, and for one that y does not depend on, unless allow_unused says that these are zeros.
    """
    if isinstance(function, Tensor):
        return gradients(function, argnums, allow_unused=allow_unused)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return _strata._value_and_gradients(function, argnums, *args, **kwargs)[1]

    return gradient


@overload
def jit(function: Callable[..., Any], *, captures: int = 8) -> _strata._Jit: ...


@overload
def jit(function: None = None, *, captures: int = 8) -> Callable[[Callable[..., Any]], _strata._Jit]: ...


def jit(function: Optional[Callable[..., Any]] = None, *, captures: int = 8) -> Any:
    """A function of tensors that is captured once and replayed: no graphs, no scheduling, no checks.

    @strata.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    The first call runs as it is written; the second one, too, and is captured; from then on the same kernels run on
    other memory. Tensors among the arguments, also in tuples, lists and dictionaries, are inputs; other shapes or dtypes,
    and other values of what is no tensor, are another capture, of which so many are kept. Tensors that the function reads
    from outside are read as they are now, random numbers go on, learning rates change. All else is as it was in the
    captured call: numbers that Python computed, branches, what was printed.

    `runs` and `replays` of the result count calls.
    """
    if function is None:
        return functools.partial(jit, captures=captures)
    captured = _strata._Jit(function, captures)
    functools.update_wrapper(captured, function)
    return captured


TinyJit = jit
