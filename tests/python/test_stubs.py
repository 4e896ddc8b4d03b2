"""The types that the module tells, and a typed program that uses them."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import strata

STUBS = Path(__file__).resolve().parents[2] / "python" / "tools" / "stubs.py"

PROGRAM = """
from typing import Any, Tuple

import numpy as np
import strata
from strata import Tensor, expr, layout, linalg, nn, optim
from strata.nn import functional as F

x: Tensor = strata.rand(3, 4, dtype=np.float32)
y = (x @ x.T).relu().sum(axis=1) + x.sum(dim=1, keepdim=False) - 2
shape: Tuple[int, ...] = y.shape
n: int = x.ndim
z = strata.cat([x, x], dim=0).max_pool1d(2)[0, ..., None]
values, indices = x.sort(dim=1)
flag: bool = x.is_realized()
most: Tensor = x.max(1)
least: Tensor = strata.min(x, axis=0, keepdims=True)
every: Tensor = x.max()
best, where = x.max(dim=1, keepdim=True)
worst: Tensor = strata.min(x, dim=0).indices
both: Tensor = x.cat(x, dim=1)
same: Tensor = Tensor.cat([x, x], dim=1).stack(both)
rows: Tensor = Tensor.einsum("ij->ji", x) + x.einsum("ij->ji")
chosen: Tensor = strata.where(x > 0, x, 0.0) + x.where(x > 0, 1)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.relu(self.hidden(x)))


net = Net()
layers = nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Flatten())
optimizer = optim.Adam(net.parameters(), lr=1e-3)


@strata.jit
def step(a: Tensor) -> Tensor:
    loss: Tensor = net(a).mean()
    loss.backward()
    optimizer.step()
    return loss


@strata.jit(captures=2)
def twice(a: Tensor) -> Tensor:
    return a * 2


@strata.no_grad()
def predict(a: Tensor) -> Any:
    return net(a)


@strata.no_grad
def untouched(a: Tensor) -> Tensor:
    return a


with strata.no_grad():
    step(twice(x)), predict(x), untouched(x)
slope = strata.grad(lambda t: t.sum())(x)
norms: Tensor = linalg.vector_norm(x) + linalg.norm(x)
i = strata.Variable("i", 0, 3)
moved: Tensor = x + i.bind(2)
url: str = strata.View.create((2, 2)).viz(open=False) + strata.Layout(4, 1).viz() + i.viz(False)
shown: str = strata.ShapeTracker.from_shape((2, 2))._repr_html_()
largest = expr.select(i < 2, i, i + 1).vmax
rest = layout.complement(strata.Layout(4, 2), 24)
stack = strata.ShapeTracker.from_shape((2, 3)).permute((1, 0))
print(strata.__version__, x.dtype == np.float32, F.gelu(x))
"""

WRONG = """
import strata

strata.rand(3).sum(axis="a")
strata.relu(1, 2)
strata.rand(3).no_such_thing()
text: str = strata.rand(3).ndim
pair: strata.Tensor = strata.rand(3).max(dim=0)
"""


@pytest.fixture(scope="module")
def typed_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    left_out = shutil.ignore_patterns("*.so", "__pycache__", "_strata")
    shutil.copytree(Path(strata.__file__).parent, folder / "strata", ignore=left_out)
    environment = dict(os.environ, PYTHONPATH=str(Path(strata.__file__).parents[1]))
    subprocess.run([sys.executable, str(STUBS), str(folder / "strata")], check=True, env=environment)
    return folder


def checked(folder, *what):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", *what]
    environment = dict(os.environ, MYPYPATH=str(folder))
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_mypy_finds_nothing_in_the_package(typed_package):
    pytest.importorskip("mypy")
    done = checked(typed_package, "-p", "strata")
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_takes_what_is_right_and_refuses_what_is_wrong(typed_package):
    pytest.importorskip("mypy")
    (typed_package / "program.py").write_text(PROGRAM)
    done = checked(typed_package, "program.py")
    assert done.returncode == 0, done.stdout + done.stderr
    (typed_package / "wrong.py").write_text(WRONG)
    done = checked(typed_package, "wrong.py")
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert [line.split(":")[1] for line in lines if line.startswith("wrong.py")] == ["4", "5", "6", "7", "8"], done.stdout


def test_every_function_has_a_docstring_and_a_signature():
    import inspect

    for name in dir(strata.Tensor):
        value = inspect.getattr_static(strata.Tensor, name)
        if type(value).__module__ == "strata":
            assert value.__doc__.strip() and str(inspect.signature(value)).startswith("(self"), name
    assert str(inspect.signature(strata.sum)) == "(self, axis=None, keepdim=False, *, dtype=None)"
