"""What was made of a tensor stays what it was: no function hands out the tensor that it was given, whatever is neutral about the call.

Each method and function of the tables, of tensors of many kinds, with arguments that change nothing (turns by 0, one repetition, axes that
are not there, p = 0): the tensor is then assigned to, and what was made of it has to be the same as before.
"""
import pytest
import strata
import surface
from strata import Tensor

# These give back the tensor itself and say so; in PyTorch, too.
THE_TENSOR_ITSELF = {"to", "cpu", "assign", "realize", "requires_grad_", "as_tensor", "asarray", "from_numpy"}
SEEN = {"grad", "numpy", "backward", "set_grad"}  # of the tensor, not made of it
KINDS = {
    "float": lambda: Tensor(1.5), "int": lambda: Tensor(3), "bool": lambda: Tensor(True), "one": lambda: Tensor([1.5]), "one int": lambda: Tensor([3]), "one bool": lambda: Tensor([True]),
    "ints": lambda: Tensor([[1, 2], [3, 4]]), "floats": lambda: Tensor([[1.5, 2.5], [3.5, 4.5]]), "bools": lambda: Tensor([[True, False], [True, True]]), "row": lambda: Tensor([[1.5]]),
    "sides": lambda: Tensor([[[1.5, 2.5], [3.5, 4.5]]]), "image": lambda: Tensor([[[[1.5, 2.5], [3.5, 4.5]]]]), "half": lambda: Tensor([0.5, 0.25], dtype="float16")}
NEUTRAL = {
    "int": (0, 1, -1), "float": (0.0, 1.0), "Number": (0, 1), "bool": (False,), "int | Sequence[int]": ((), 0, 1, (0,)), "int | Sequence[int] | None": ((), None), "Size": (0, 1), "int | None": (None, 0),
    "Size | Sequence[Size]": ((1,), (2, 2), (1, 1)), "bool | None": (False,), "Any": (1, ())}


def neutral_calls(f, x):
    for turn in range(4):
        positions, named = [], {}
        for k, (names, type_, default, kind) in enumerate(f.__parameters__):
            if k > 0 and default is not None and not (type_ in NEUTRAL and turn % 2 == 1 and type_ != "int | None"):
                continue
            choices = NEUTRAL.get(type_)
            value = x if k == 0 else choices[turn // 2 % len(choices)] if choices else surface.argument_of((names, type_, default, kind))
            if k == 0 and "Sequence[TensorLike]" in type_:
                value = [x]
            if kind == "rest" and isinstance(value, (tuple, list)):
                positions.extend(value)
            elif kind != "name" and len(positions) >= k:
                positions.append(value)
            else:
                named[names[0] if names[0] not in ("lambda", "from") else names[1]] = value
        yield positions, named


def flat(result):
    return [v for part in result for v in flat(part)] if isinstance(result, (tuple, list)) else [result]


def changed(x):
    x.assign(x.logical_not() if x.dtype == "bool" else x + 1)


CALLS = [(label, f) for label, f in surface.calls() if not label.endswith("_") and label.split(".")[1] not in THE_TENSOR_ITSELF | SEEN]


def check(label, call, x, say):
    try:
        results = [r for r in flat(call(x)) if isinstance(r, Tensor)]
        before = [r.tolist() for r in results]
    except (strata.Error, TypeError, ValueError, IndexError):
        return 0
    again = [r for r in flat(call(x)) if isinstance(r, Tensor)]  # not computed before x is changed
    changed(x)
    for r, was, other in zip(results, before, again):
        assert str(r.tolist()) == str(was), f"{label}{say}: {was} became {r.tolist()}"
        assert other is not x and r is not x, f"{label}{say} gives the tensor itself"
    return 1


@pytest.mark.parametrize("label, f", CALLS, ids=[label for label, _ in CALLS])
def test_no_function_gives_its_tensor(label, f):
    for kind, make in KINDS.items():
        for turn in range(4):
            call = lambda x: (lambda positions, named: f(*positions, **named))(*list(neutral_calls(f, x))[turn])
            check(label, call, make(), f" of {kind}, {list(neutral_calls(f, kind))[turn]}")


BRACKETS = {"...": lambda x: x[...], "()": lambda x: x[()], ":": lambda x: x[:], "+x": lambda x: +x, "abs": abs, "x + 0": lambda x: x + 0, "x * 1": lambda x: x * 1, "x ** 1": lambda x: x**1, "T": lambda x: x.T, "mT": lambda x: x.mT, "einsum": lambda x: strata.einsum("...->...", x), "Identity": lambda x: strata.nn.Identity()(x) * 1, "cat": lambda x: x.cat(), "iter": lambda x: list(x)}


@pytest.mark.parametrize("name", BRACKETS)
def test_no_operator_gives_its_tensor(name):
    assert sum(check(name, BRACKETS[name], make(), f" of {kind}") for kind, make in KINDS.items()) > 0


def test_what_gives_the_tensor_itself():
    x = Tensor([1.0])
    assert x.requires_grad_() is x and x.realize() is x and x.detach() is not x and strata.as_tensor(x) is x and x.cpu() is x
    copy, number = strata.tensor(x), strata.tensor(Tensor(2.0))
    x.assign(x + 1)
    assert copy.tolist() == [1] and number.item() == 2


def test_a_result_of_a_parameter_is_no_parameter():
    """It is made of the parameter: gradients pass, and what the optimiser puts into the parameter does not change it."""
    x = Tensor([[1.5, -2.5]], requires_grad=True)
    for f in (lambda: +x, lambda: x.roll(0), lambda: x.atleast_2d(), lambda: x[...]):
        y = f()
        assert y is not x and y.requires_grad
        with strata.no_grad():
            x.add_(1)
        y.sum().backward()
        assert x.grad.tolist() == [[1, 1]] and y.tolist() == (x - 1).tolist()
        x.grad = None
