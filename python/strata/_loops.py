"""Loops inside of graphs: scan and while_loop."""
from __future__ import annotations

from typing import Any, Callable, Optional, Union

from . import _strata
from ._strata import Expr, Tensor
from ._trees import flatten, structure, text


def _count(value: Any, what: str) -> Any:
    if isinstance(value, Expr) or (hasattr(value, "__index__") and not isinstance(value, (bool, Tensor))):
        return value
    raise TypeError(f"{what} is an integer or an expression, not {type(value).__name__}")


def _check_state(before: Any, after: Any, operation: str) -> None:
    if structure(before) != structure(after):
        raise TypeError(f"[{operation}] the step changes the structure of the state from {text(before)} to {text(after)}")


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Optional[Union[int, Expr]] = None,
    reverse: bool = False,
    checkpoint_every: int = 0,
) -> tuple[Any, Any]:
    """Applies `f` to the state and one element of `xs` after another: a loop that is one node of the graph.

    def step(h, x):
        h = (x @ w + h @ u).tanh()
        return h, h             # the next state, and the output of this step
    last, hs = strata.scan(step, strata.zeros(8), xs)

    `f(state, x)` returns the next state, with the shapes and dtypes of the state, and an output. State, elements and outputs are tensors,
    None, or tuples, lists and dictionaries of them. The elements are those of `xs` along axis 0; the outputs are stacked along a new
    axis 0. Returns the state behind the last step, and the outputs. `length` is the number of steps, needed where `xs` is None. With
    `reverse` the loop begins at the last element; output k still belongs to element k.

    With `checkpoint_every=k` gradients keep the state of every k-th step alone, and compute the steps between again: memory for n / k + k
    steps in place of n. The number of steps is no symbolic size then.

    `f` runs once, on tensors without elements: reading one, e.g. by item(), raises DomainError, and random numbers are drawn once. Tensors
    from outside are the same in all steps. Gradients flow through the loop; jit() captures it. Raises ShapeError where a step changes
    the shape of a state or the sequences differ in length, DomainError where it changes a dtype, and TypeError where it changes the
    structure of the state.
    """
    initial: list[Tensor] = []
    sequences: list[Tensor] = []
    build_state, build_element = flatten(init, "[scan] the state", initial), flatten(xs, "[scan] a sequence", sequences)
    build_output: list[Callable[[list[Tensor]], Any]] = []

    def step(state: list[Tensor], elements: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        made = f(build_state(state), build_element(elements))
        if not isinstance(made, tuple) or len(made) != 2:
            raise TypeError(f"[scan] the step returns a pair of the next state and an output, not {type(made).__name__}")
        _check_state(init, made[0], "scan")
        following: list[Tensor] = []
        outputs: list[Tensor] = []
        flatten(made[0], "[scan] the next state", following)
        build_output.append(flatten(made[1], "[scan] an output", outputs))
        return following, outputs

    count = None if length is None else _count(length, "[scan] the length")
    last, stacked = _strata._scan(step, initial, sequences, count, reverse, checkpoint_every)
    return build_state(list(last)), build_output[0](list(stacked))


def while_loop(condition: Callable[[Any], Tensor], f: Callable[[Any], Any], init: Any, most: Union[int, Expr]) -> Any:
    """The state while `condition(state)` is true: `init`, then f(state), and so on, at most `most` times.

    root = strata.while_loop(lambda x: (x * x - 2).abs() > 1e-6, lambda x: x - (x * x - 2) / (2 * x), strata.tensor(1.0), 50)

    A loop that is one node of the graph: `f` and `condition` run once, on tensors without elements, as in scan(). The condition returns
    a bool of one element. Gradients flow through the steps that ran. Raises as scan().
    """
    initial: list[Tensor] = []
    build_state = flatten(init, "[while_loop] the state", initial)

    def goes_on(state: list[Tensor]) -> Tensor:
        made = condition(build_state(list(state)))
        if not isinstance(made, Tensor):
            raise TypeError(f"[while_loop] the condition is a bool tensor of one element, not {type(made).__name__}")
        return made

    def step(state: list[Tensor]) -> list[Tensor]:
        made = f(build_state(state))
        _check_state(init, made, "while_loop")
        following: list[Tensor] = []
        flatten(made, "[while_loop] the next state", following)
        return following

    last = _strata._while_loop(goes_on, step, initial, _count(most, "[while_loop] the most steps"))
    return build_state(list(last))
