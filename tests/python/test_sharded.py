"""Sharded tensors from Python: meshes, shard(), local(), from_local(), training; on simulated ranks, and on processes."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import strata
from strata import nn, optim

RNG = np.random.default_rng(7)
X = RNG.standard_normal((24, 6)).astype(np.float32)
Y = RNG.integers(0, 3, 24).astype(np.int32)


def meshes():
    return [strata.Mesh.simulated((2,), ("data",)), strata.Mesh.simulated((3,), ("data",)),
            strata.Mesh.simulated((2, 2), ("data", "model"))]


def test_a_mesh_says_what_it_is():
    mesh = strata.Mesh.simulated((2, 3), ("data", "model"))
    assert (mesh.size, mesh.sizes, mesh.names, mesh.rank, mesh.is_simulated) == (6, (2, 3), ("data", "model"), 0, True)
    assert repr(mesh) == "<strata.Mesh data=2,model=3, simulated>"
    mesh.agree("nothing")


@pytest.mark.parametrize("splits, text", [("data:0", "data:0"), ({"data": 1}, "data:1"), ([("data", 0), ("model", 1)], "data:0,model:1"),
                                          ([(("data", "model"), 0)], "data+model:0"), ([("model", 1, 2)], "model:1/cyclic(2)"), ([], "replicated")])
def test_splits_are_written_in_three_ways(splits, text):
    mesh = strata.Mesh.simulated((2, 2), ("data", "model"))
    x = strata.Tensor(X).shard(mesh, splits)
    assert x.sharding() == text
    np.testing.assert_array_equal(x.numpy(), X)
    assert strata.Tensor(X).sharding() is None


def test_ranks_have_their_parts():
    mesh = strata.Mesh.simulated((4,), ("data",))
    x = strata.Tensor(X[:10]).shard(mesh, "data:0")
    for rank, rows in enumerate([X[0:3], X[3:6], X[6:9], X[9:10]]):
        np.testing.assert_array_equal(x.local(rank).numpy(), rows)
    np.testing.assert_array_equal(x.local().numpy(), X[0:3])
    again = strata.from_local(mesh, [x.local(r) * 2 for r in range(4)], (10, 6), "data:0")
    assert again.sharding() == "data:0"
    np.testing.assert_array_equal(again.numpy(), X[:10] * 2)


def train(optimiser, mesh, captured=False, shards_parameters=False):
    strata.manual_seed(5)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    if shards_parameters:
        for p in net.parameters():
            p.assign(p.shard(mesh, "data:0"))
    steps, losses = optimiser(net.parameters()), []

    def step(x, y):
        steps.zero_grad()
        loss = net(x).cross_entropy(y)
        loss.backward()
        steps.step()
        return loss

    run = strata.jit(step) if captured else step
    for _ in range(5):
        x, y = strata.Tensor(X), strata.Tensor(Y)
        if mesh is not None:
            x, y = x.shard(mesh, "data:0"), y.shard(mesh, "data:0")
        losses.append(run(x, y).item())
    assert not captured or run.replays == 3
    return losses, [p.numpy() for p in net.parameters()]


@pytest.mark.parametrize("optimiser", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, lr=0.01)], ids=["sgd", "adamw"])
@pytest.mark.parametrize("mesh", meshes(), ids=repr)
def test_data_parallel_training_is_that_of_one_process(optimiser, mesh):
    losses, parameters = train(optimiser, mesh)
    expected, plain = train(optimiser, None)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for a, b in zip(parameters, plain):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mesh", meshes(), ids=repr)
def test_under_deterministic_training_has_the_bits_of_one_process(mesh):
    before = strata.flags.DETERMINISTIC
    strata.flags.DETERMINISTIC = True
    try:
        losses, parameters = train(lambda p: optim.SGD(p, lr=0.1), mesh)
        expected, plain = train(lambda p: optim.SGD(p, lr=0.1), None)
    finally:
        strata.flags.DETERMINISTIC = before
    assert losses == expected
    for a, b in zip(parameters, plain):
        np.testing.assert_array_equal(a, b)


def test_linear_pairs_by_columns_and_rows():
    mesh = strata.Mesh.simulated((2,), ("model",))
    a, b = RNG.standard_normal((6, 16)).astype(np.float32), RNG.standard_normal((16, 6)).astype(np.float32)
    first = strata.Tensor(a).shard(mesh, "model:1").realize()
    second = strata.Tensor(b).shard(mesh, "model:0").realize()
    hidden = (strata.Tensor(X) @ first).relu()
    out = hidden @ second
    lines = out.explain().splitlines()
    assert any("each rank reduces its part" in line for line in lines), lines
    np.testing.assert_allclose(out.numpy(), np.maximum(X @ a, 0) @ b, rtol=1e-4, atol=1e-5)
    assert hidden.realize().sharding() == "model:1"


def test_gradients_and_assigned_values_follow_their_parameter():
    mesh = strata.Mesh.simulated((2,), ("data",))
    w = strata.Tensor(X).shard(mesh, "data:0").realize()
    w.requires_grad = True
    (w * w).sum().backward()
    assert w.grad.sharding() == "data:0"
    np.testing.assert_allclose(w.grad.numpy(), 2 * X, rtol=1e-6)
    v = strata.Tensor(X).shard(mesh, "data:0")
    v[3] = 7
    assert v.sharding() == "data:0"
    expected = X.copy()
    expected[3] = 7
    np.testing.assert_array_equal(v.numpy(), expected)


def test_what_is_no_sharding_is_refused():
    mesh = strata.Mesh.simulated((2,), ("data",))
    x = strata.Tensor(X)
    with pytest.raises(strata.DomainError, match="there is no axis 'model' in the mesh: it has data"):
        x.shard(mesh, "model:0")
    with pytest.raises(strata.DomainError, match="axis 5 is not one of the tensor's 2 axes"):
        x.shard(mesh, {"data": 5})
    with pytest.raises(TypeError, match="an entry of splits is"):
        x.shard(mesh, ["data"])
    with pytest.raises(strata.DomainError, match="is not sharded"):
        x.local()
    with pytest.raises(strata.DomainError, match="tensors of two meshes"):
        (x.shard(mesh, "data:0") + x.shard(strata.Mesh.simulated((2,), ("data",)), "data:0")).numpy()
    with pytest.raises(TypeError, match="comm is an mpi4py communicator"):
        strata.Mesh((1,), ("data",), comm="world")


def test_captures_have_exchanges():
    mesh = strata.Mesh.simulated((3,), ("data",))
    squares = strata.jit(lambda t: t @ t.T)
    for k in range(5):
        x = strata.Tensor(X + k).shard(mesh, "data:0")
        np.testing.assert_allclose(squares(x).numpy(), (X + k) @ (X + k).T, rtol=1e-5)
        assert squares(x).sharding() == "data:0"
    assert squares.replays > 0


@pytest.mark.parametrize("shards_parameters", [False, True], ids=["data", "parameters"])
@pytest.mark.parametrize("optimiser", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, lr=0.01)], ids=["sgd", "adamw"])
def test_training_is_captured(optimiser, shards_parameters):
    for mesh in meshes():
        losses, parameters = train(optimiser, mesh, True, shards_parameters)
        expected, plain = train(optimiser, None)
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        for a, b in zip(parameters, plain):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_what_is_exported_is_in_one_memory(tmp_path):
    mesh = strata.Mesh.simulated((2,), ("data",))
    x = strata.Tensor(X).shard(mesh, "data:0")
    double = strata.jit(lambda t: t * 2)
    for _ in range(3):
        double(x)
    with pytest.raises(strata.UndefinedError, match="computes with sharded tensors"):
        double.export_c(str(tmp_path / "double"))


PROGRAM = """
import os
import sys
import numpy as np
import strata
sys.path.insert(0, {folder!r})
import test_sharded
mesh = strata.Mesh(({ranks},), ("data",))
assert mesh.size == {ranks} and not mesh.is_simulated, mesh
losses, parameters = test_sharded.train(lambda p: test_sharded.optim.SGD(p, lr=0.1, momentum=0.9), mesh)
expected, plain = test_sharded.train(lambda p: test_sharded.optim.SGD(p, lr=0.1, momentum=0.9), None)
np.testing.assert_allclose(losses, expected, rtol=1e-5)
for a, b in zip(parameters, plain):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
x = strata.Tensor(test_sharded.X).shard(mesh, "data:0")
assert x.local().shape == (24 // {ranks}, 6)
part = strata.from_local(mesh, x.local() + mesh.rank, (24, 6), "data:0")
expected = test_sharded.X + np.repeat(np.arange({ranks}), 24 // {ranks})[:, None].astype(np.float32)
np.testing.assert_array_equal(part.numpy(), expected)
os.write(1, f"rank {{mesh.rank}} is done\\n".encode())  # in one piece
"""


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no MPI launcher (Debian: openmpi-bin)")
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_processes_train_together(ranks):
    program = PROGRAM.format(folder=str(Path(__file__).parent), ranks=ranks)
    environment = {**os.environ, "STRATA_MESH_TIMEOUT": "200"}
    of_ranks = ["env", "LD_PRELOAD=" + environment.pop("LD_PRELOAD", "")]  # a sanitizer watches the ranks, not the launcher
    done = subprocess.run(["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), *of_ranks, sys.executable, "-c", program],
                          env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"rank {rank} is done" in done.stdout for rank in range(ranks)), done.stdout


@pytest.mark.parametrize("optimiser", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, lr=0.01)], ids=["sgd", "adamw"])
@pytest.mark.parametrize("ways", ["data", "parameters", "columns and rows", "sequence"])
def test_only_the_lines_of_shard_differ(optimiser, ways):
    mesh = strata.Mesh.simulated((4,), ("ranks",))

    def trained(ways):
        strata.manual_seed(9)
        net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
        x, y = strata.Tensor(X.reshape(3, 8, 6)), strata.Tensor(X[::-1].reshape(3, 8, 6).copy())
        if ways == "parameters":
            for p in net.parameters():
                p.assign(p.shard(mesh, "ranks:0"))
        if ways == "columns and rows":
            net[0].weight.assign(net[0].weight.shard(mesh, "ranks:0"))
            net[0].bias.assign(net[0].bias.shard(mesh, "ranks:0"))
            net[2].weight.assign(net[2].weight.shard(mesh, "ranks:1"))
        steps = optimiser(net.parameters())
        for _ in range(4):
            inputs, targets = x, y
            if ways in ("data", "parameters"):
                inputs, targets = x.shard(mesh, "ranks:0"), y.shard(mesh, "ranks:0")
            if ways == "sequence":
                inputs, targets = x.shard(mesh, "ranks:1"), y.shard(mesh, "ranks:1")
            steps.zero_grad()
            ((net(inputs) - targets) ** 2).mean().backward()
            steps.step()
        return net, steps

    net, steps = trained(ways)
    plain, _ = trained(None)
    for p, q in zip(net.parameters(), plain.parameters()):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=2e-4, atol=2e-6)
    first = net.parameters()[0]
    if ways in ("parameters", "columns and rows"):
        assert first.sharding() == "ranks:0" and first.grad.sharding() == "ranks:0" and first.local(1).shape == (4, 6)
        states = {name: t for name, t in steps.state_dict().items() if name.startswith("state.0.")}
        assert states and all(t.sharding() == "ranks:0" for t in states.values())
