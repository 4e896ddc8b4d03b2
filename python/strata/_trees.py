"""Tensors inside of tuples, lists and dictionaries, for functions that take functions."""
from __future__ import annotations

from typing import Any, Callable

from ._strata import Tensor

Build = Callable[[list[Tensor]], Any]


def flatten(value: Any, what: str, out: list[Tensor], others: bool = False) -> Build:
    """Appends the tensors inside of `value` to `out`, those of dictionaries in the order of their keys.

    Returns a function that takes them off the front of a list and builds the same again. Other values are refused, or with `others` kept
    as they are.
    """
    if value is None:
        return lambda tensors: None
    if isinstance(value, Tensor):
        out.append(value)
        return lambda tensors: tensors.pop(0)
    if isinstance(value, dict):
        parts = {key: flatten(value[key], what, out, others) for key in sorted(value, key=_order)}
        return lambda tensors: {key: part(tensors) for key, part in parts.items()}
    if isinstance(value, (tuple, list)):
        items = [flatten(item, what, out, others) for item in value]
        if hasattr(value, "_fields"):  # a named tuple
            return lambda tensors: type(value)(*[item(tensors) for item in items])
        return lambda tensors: type(value)([item(tensors) for item in items])
    if others:
        return lambda tensors: value
    raise TypeError(f"{what} is a tensor, None, or a tuple, list or dictionary of them, not {type(value).__name__}")


def spread(given: Any, value: Any, what: str, out: list[Any]) -> None:
    """Appends to `out`, for each tensor that flatten() finds in `value`, what `given` says of it.

    `given` has the structure of `value`, or ends above the tensors: then it is said of all of them.
    """
    if isinstance(value, Tensor):
        if isinstance(given, (tuple, list, dict)):
            raise TypeError(f"{what} of a tensor is one integer or None, not {given!r}")
        out.append(given)
    elif isinstance(value, dict):
        if isinstance(given, dict) and given.keys() != value.keys():
            raise TypeError(f"{what} has the keys {list(given)}, and its value {list(value)}")
        for key in sorted(value, key=_order):
            spread(given[key] if isinstance(given, dict) else given, value[key], what, out)
    elif isinstance(value, (tuple, list)):
        is_each = isinstance(given, (tuple, list))
        if is_each and len(given) != len(value):
            raise TypeError(f"{what} has {len(given)} elements, and its value {len(value)}")
        for k, item in enumerate(value):
            spread(given[k] if is_each else given, item, what, out)


def _order(key: Any) -> tuple[str, str]:
    """The order of keys: that of a dictionary says nothing."""
    return type(key).__name__, repr(key)


def structure(value: Any) -> Any:
    """What flatten() keeps of a value, for comparisons."""
    if isinstance(value, dict):
        return {key: structure(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([structure(item) for item in value]) if not hasattr(value, "_fields") else type(value)(*map(structure, value))
    return None if value is None else Tensor


def text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(text, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside},)" if len(value) == 1 else f"({inside})"
    return "None" if value is None else "Tensor"
