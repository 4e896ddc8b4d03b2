"""Functions of functions of tensors: vmap, jvp and checkpoint."""
from __future__ import annotations

import functools
from typing import Any, Callable, Optional, Sequence, Union

from . import _strata
from ._strata import Tensor
from ._trees import Build, flatten, spread, structure, text

Axes = Union[None, int, Sequence[Any], dict[Any, Any]]


def _called(function: Callable[..., Any], build: Build, what: str) -> tuple[Callable[[list[Tensor]], list[Tensor]], list[Any]]:
    """The function from a list of tensors to a list of tensors, and a list that gets its result and how to build that again."""
    made: list[Any] = []

    def of_tensors(tensors: list[Tensor]) -> list[Tensor]:
        args, kwargs = build(list(tensors))
        result = function(*args, **kwargs)
        results: list[Tensor] = []
        made[:] = [result, flatten(result, what, results)]
        return results

    return of_tensors, made


def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """Returns `function` for all elements of a batch at once, as jax.vmap and torch.func.vmap do: one graph, without a loop.

    norms = strata.vmap(lambda x: (x * x).sum().sqrt())(rows)
    gradients = strata.vmap(strata.grad(loss), in_axes=(None, 0, 0))(w, xs, ys)      # one for each sample

    `in_axes` says along which axis of an argument its elements lie: an integer, None for an argument that is the same for all, or a tuple
    with one of these for each argument. The arguments may be tuples, lists and dictionaries of tensors, with an axis for all of their
    tensors or the same structure of axes. What is no tensor is passed on. Keyword arguments have axis 0. `out_axes` says the same of the
    results; None is a result that is the same for all elements.

    `function` runs once, on tensors without elements: reading one, e.g. by item(), raises DomainError, as does assigning to a tensor from
    outside. Random numbers are the same for all elements. Gradients flow through; `function` may take gradients, and call vmap. Raises
    ShapeError where the numbers of elements differ or an axis is out of range, and DomainError where no argument has an axis.
    """

    @functools.wraps(function)
    def batched(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        axes: list[Any] = []
        build = flatten((args, kwargs), "[vmap] an argument", tensors, others=True)
        each = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(each) != len(args):
            raise TypeError(f"[vmap] in_axes has {len(each)} elements for {len(args)} arguments")
        spread((tuple(each), 0), (args, kwargs), "[vmap] in_axes", axes)
        of_tensors, made = _called(function, build, "[vmap] a result")
        out: list[Any] = []

        def axes_of_results() -> list[Any]:
            out.clear()
            spread(out_axes, made[0], "[vmap] out_axes", out)
            return out

        results = _strata._vmap(of_tensors, tensors, axes, axes_of_results)
        return made[1](list(results))

    return batched


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """function(*primals), and its derivative along `tangents`: forward-mode differentiation, as jax.jvp and torch.func.jvp.

    y, dy = strata.jvp(lambda x: (x * x).sum(), (x,), (direction,))

    The tangents have the structure and shapes of the primals, which are float tensors. A result that is no float has the derivative 0. The
    derivatives can be differentiated again. Raises ShapeError where a tangent has another shape than its primal, and DomainError under
    no_grad, for a primal that is no float, and where a custom gradient is no linear function of the gradient that it is given.
    """
    xs: list[Tensor] = []
    along: list[Tensor] = []
    build = flatten((tuple(primals), {}), "[jvp] a primal", xs)
    flatten((tuple(tangents), {}), "[jvp] a tangent", along)
    if structure(tuple(primals)) != structure(tuple(tangents)):
        raise TypeError(f"[jvp] the tangents are {text(tuple(tangents))}, and the primals {text(tuple(primals))}")
    of_tensors, made = _called(function, build, "[jvp] a result")
    results, derivatives = _strata._jvp(of_tensors, xs, along)
    return made[1](list(results)), made[1](list(derivatives))


def checkpoint(function: Optional[Callable[..., Any]] = None) -> Any:
    """Returns `function`, whose gradients keep the arguments alone and compute what is inside again: less memory for one more evaluation.

    @strata.checkpoint
    def block(x):
        return x + attention(norm(x))

    Values and gradients are those of `function`, under DETERMINISTIC bit by bit, but for the order in which several contributions to one
    gradient are added up. Random numbers, e.g. of dropout, are the same in both evaluations. Gradients by tensors from outside, such as parameters, flow, too. Arguments and results are tensors, or tuples, lists and
    dictionaries of them; what is no tensor is passed on. As jax.checkpoint and torch.utils.checkpoint.

    `function` runs once for each call, on tensors without elements: reading one, e.g. by item(), raises DomainError, as does assigning to
    a tensor from outside, such as the running statistics of a BatchNorm in training.
    """
    if function is None:
        return checkpoint
    called: Callable[..., Any] = function

    @functools.wraps(called)
    def again(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        build = flatten((args, kwargs), "[checkpoint] an argument", tensors, others=True)
        of_tensors, made = _called(called, build, "[checkpoint] a result")
        results = _strata._checkpoint(of_tensors, tensors)
        return made[1](list(results))

    return again
