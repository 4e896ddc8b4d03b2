"""Decorators and functions that take a function: no_grad, value_and_grad, grad and jit."""
from __future__ import annotations

import functools
from typing import Any, Callable, Optional, Sequence, TypeVar, Union, overload

from . import _strata
from ._strata import Tensor, gradients

F = TypeVar("F", bound=Callable[..., Any])


class no_grad(_strata._NoGrad):
    """Turns gradients off: results that are computed inside do not require gradients. A context manager and a decorator.

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

    @overload  # for type checkers that do not see that __new__ returns a function for a function
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __call__(self, function: Callable[..., Any]) -> Any:  # type: ignore[misc]
        """The function, wrapped so that it runs under no_grad()."""

        @functools.wraps(function)
        def without_gradients(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return function(*args, **kwargs)

        return without_gradients


inference_mode = no_grad


def value_and_grad(function: Callable[..., Any], argnums: Union[int, Sequence[int]] = 0) -> Callable[..., Any]:
    """Returns a function that calls `function` and returns a pair: the result, and the gradient with respect to argument `argnums`.

    loss, slope = strata.value_and_grad(lambda w, x: (x @ w).sum())(w, x)

    `function` returns a scalar tensor, or a tuple whose first element is one; that element is differentiated. `argnums` is the index of
    a positional argument, or a tuple of indices, which gives a tuple of gradients. The argument is a float tensor, or numbers that become
    one; it need not require gradients. The gradient of an argument on which the result does not depend is zeros.
    """

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        return _strata._value_and_gradients(function, argnums, *args, **kwargs)

    return both


def grad(function: Any, argnums: Any = 0, *, allow_unused: bool = False) -> Any:
    """Returns a function that computes the gradient of `function` with respect to argument `argnums`: value_and_grad() without the value.

    slope = strata.grad(lambda x: (x * x).sum())
    slope(x)        # 2 * x

    With a tensor as the first argument it is torch.autograd.grad: grad(y, xs) is gradients(y, xs), dy/dx for each x. It raises DomainError
    for an x that does not require gradients, and for an x on which y does not depend, unless allow_unused=True, which gives zeros.
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
    """Captures the kernels of a function of tensors once, and replays them: a replay builds no graph, schedules and checks nothing.

    @strata.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    The first call runs the function. The second call runs it, too, and captures its kernels. Each later call runs the captured kernels on
    the new arguments, without calling the function.

    Tensors in the arguments, also inside tuples, lists and dictionaries, are inputs. So are integers whose variables are bound, e.g. the
    position in step(x, pos.bind(5)): a replay takes those of this call. Calls with other shapes or dtypes, or with other
    values of arguments that are neither, are captured separately; `captures` is the number of captures that are kept for different
    shapes and dtypes.

    A replay reads the current values of tensors that the function uses from outside, draws new random numbers, and uses the current
    learning rates. Everything else is as in the captured call: Python numbers, branches; print() does not print again.

    The result has the attributes `runs` and `replays`, the numbers of calls that ran the function and that replayed a capture.
    """
    if function is None:
        return functools.partial(jit, captures=captures)
    captured = _strata._Jit(function, captures)
    functools.update_wrapper(captured, function)
    return captured


TinyJit = jit
