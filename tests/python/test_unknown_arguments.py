"""Arguments that a function does not have: what is said of them."""
import inspect
import re

import pytest
import strata
from strata import Tensor, nn, optim

NATIVE = re.compile(r"__init__\(self(?:: [^,)]+)?,? ?(.*)\) -> None", re.DOTALL)


def parameters_of(cls):
    """Names of what a constructor takes."""
    found = NATIVE.search((cls.__init__.__doc__ or "").split("\n")[0]) if cls.__module__.startswith("strata._strata") else None
    if found:
        return re.findall(r"(\w+): ", found[1])
    if hasattr(cls, "_function"):
        return [row[0] for row in cls._options()]
    signature = inspect.signature(cls.__init__)
    return [p.name for p in list(signature.parameters.values())[1:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


CONSTRUCTORS = {f"{module.__name__}.{name}": cls for module in (nn, optim) for name, cls in vars(module).items()
                if inspect.isclass(cls) and cls.__module__.startswith("strata") and not name.startswith("_") and name not in ("Optimizer", "Identity")}


@pytest.mark.parametrize("name", sorted(CONSTRUCTORS))
def test_constructors_of_nn_and_optim(name):
    cls = CONSTRUCTORS[name]
    known = parameters_of(cls)
    assert known or cls in (nn.Module, nn.Sequential) or getattr(cls, "_function", None) is not None
    with pytest.raises(TypeError) as raised:
        cls(zzz=1)
    text = str(raised.value)
    assert text.startswith(f"{cls.__name__}() has no parameter 'zzz'"), text
    assert all(re.search(rf"\b{p}\b", text) for p in known) and "\n" not in text, text
    for p in known:
        wrong = p[1:] if len(p) > 4 else p + "q"
        with pytest.raises(TypeError) as raised:
            cls(**{wrong: 1})
        assert str(raised.value).startswith(f"{cls.__name__}() has no parameter '{wrong}', but {p}"), str(raised.value)
        assert "strata._strata" not in str(raised.value)


def test_there_are_many():
    assert len(CONSTRUCTORS) >= 55
    takes = {name.rsplit(".", 1)[1]: parameters_of(cls) for name, cls in CONSTRUCTORS.items()}
    assert takes["Linear"] == ["in_features", "out_features", "bias"] and takes["Adam"][:3] == ["params", "lr", "betas"]
    assert takes["MSELoss"] == ["reduction"] and "ignore_index" in takes["CrossEntropyLoss"] and takes["MaxPool2d"][0] == "kernel_size"
    assert takes["ModuleList"] == ["modules"]


@pytest.mark.parametrize("call, message", [
    (lambda: nn.Linear(1, 1, bais=True), "Linear() has no parameter 'bais', but bias, in_features, out_features"),
    (lambda: nn.Linear(1), "Linear() needs 'out_features'"),
    (lambda: nn.Linear(1, 2, True, 4), "Linear() takes at most 3 arguments by position, not 4"),
    (lambda: nn.Linear(1, 2, in_features=4), "Linear() got 'in_features' twice"),
    (lambda: nn.Linear("a", 2), "Linear(in_features: int, out_features: int, bias: bool = True) does not take (str, int)"),
    (lambda: nn.Linear(1, 2, bias="no"), "does not take (int, int, bias=str)"),
    (lambda: nn.init.uniform((2,), hihg=3), "uniform() has no parameter 'hihg', but high"),
    (lambda: optim.cosine_schedule(1.0, 2, 3, lats=0.1), "cosine_schedule() has no parameter 'lats', but last"),
    (lambda: strata.Variable("x", 0, 3, foo=1), "Variable() has no parameter 'foo', but"),
    (lambda: strata.View.create((2, 3), stride=(1, 2)), "create() has no parameter 'stride', but strides"),
    (lambda: strata.expr.parse("x", varables=[]), "parse() has no parameter 'varables', but variables"),
    (lambda: strata.relu(strata.ones(1), foo=1), "relu() has no parameter 'foo'"),
    (lambda: strata.ones(2).sum(dimm=0), "sum() has no parameter 'dimm', but dim, "),
    (lambda: strata.ones(2).softmax(1, dtpe="float32"), "softmax() has no parameter 'dtpe'"),
    (lambda: Tensor([1.0], requires_gard=True), "Tensor() has no parameter 'requires_gard', but requires_grad, "),
    (lambda: nn.MSELoss(reductoin="sum"), "MSELoss() has no parameter 'reductoin', but reduction"),
    (lambda: nn.MSELoss("sum", "mean"), "MSELoss() takes at most 1 argument by position, not 2"),
    (lambda: nn.MSELoss("sum", reduction="mean"), "MSELoss() got 'reduction' twice"),
    (lambda: nn.AdaptiveAvgPool2d(), "AdaptiveAvgPool2d() needs 'output_size'"),
    (lambda: nn.ReLU(inplace=True), "ReLU() has no parameter 'inplace'"),
    (lambda: nn.Linear(1, 1).state_dict(prefx=""), "state_dict() has no parameter 'prefx'"),
])
def test_messages(call, message):
    with pytest.raises(TypeError) as raised:
        call()
    assert message in str(raised.value) and "strata._strata" not in str(raised.value)


def test_every_bound_function_says_it_in_a_line():
    """Everything that C++ binds, found by walking the module."""
    from strata import _strata

    seen, told = set(), 0

    def ask(path, function):
        nonlocal told
        try:
            function(no_such_argument_anywhere=1)
        except TypeError as e:
            text = str(e)
            assert "incompatible" not in text and "\n" not in text, (path, text)
            told += "has no parameter 'no_such_argument_anywhere'" in text
        except Exception as e:  # what takes any name says something of its own
            assert "incompatible" not in str(e), (path, e)

    def walk(path, thing):
        for name, value in list(vars(thing).items()):
            inner = getattr(value, "__func__", value)
            kind = type(inner).__name__
            if id(value) in seen or name in ("cmake_dir",):
                continue
            seen.add(id(value))
            if inspect.ismodule(value) and value.__name__.startswith("strata._strata"):
                walk(f"{path}.{name}", value)
            elif inspect.isclass(value) and value.__module__.startswith("strata") and not issubclass(value, BaseException):
                walk(f"{path}.{name}", value)
            elif kind in ("builtin_function_or_method", "instancemethod", "PyCFunction"):
                ask(f"{path}.{name}", inner if kind != "instancemethod" else inner)

    walk("strata", _strata)
    assert told > 150
