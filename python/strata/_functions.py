"""Functions of functions: decorators and gradients."""
import functools

from . import _strata
from ._strata import Tensor, gradients


class no_grad(_strata._NoGrad):
    """No gradient passes what is computed meanwhile: a context, and a decorator.

    with strata.no_grad():
        loss = model(x)

    @strata.no_grad()
    def evaluate(x): ...
    """

    def __new__(cls, function=None):
        self = super().__new__(cls)
        if function is None:
            return self
        self.__init__()
        return self(function)

    def __init__(self, function=None):
        super().__init__()

    def __call__(self, function):
        @functools.wraps(function)
        def without_gradients(*args, **kwargs):
            with no_grad():
                return function(*args, **kwargs)

        return without_gradients


inference_mode = no_grad


def value_and_grad(function, argnums=0):
    """The function that gives function(...) and its gradient by the argument in that place (or by several).

    Where the function returns a tuple, its first element is differentiated.
    """

    @functools.wraps(function)
    def both(*args, **kwargs):
        return _strata._value_and_gradients(function, argnums, *args, **kwargs)

    return both


def grad(function, argnums=0):
    """The function that gives the gradient of a function whose result is a scalar, by the argument in that place.

    Several places in a tuple give several gradients.

    slope = strata.grad(lambda x: (x * x).sum())
    slope(x)        # 2 * x

    As torch.autograd.grad, of a tensor: grad(y, xs) is gradients(y, xs).
    """
    if isinstance(function, Tensor):
        return gradients(function, argnums)

    @functools.wraps(function)
    def gradient(*args, **kwargs):
        return _strata._value_and_gradients(function, argnums, *args, **kwargs)[1]

    return gradient


def jit(function=None, *, captures=8):
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
    return functools.update_wrapper(_strata._Jit(function, captures), function)


TinyJit = jit
