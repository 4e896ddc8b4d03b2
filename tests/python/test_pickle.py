"""Pickling and copying: tensors, modules, optimisers, and what they share."""
import copy
import io
import multiprocessing
import pickle

import pytest
import strata
from strata import Tensor, nn, optim

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]
WAYS = [copy.deepcopy] + [lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]


@pytest.mark.parametrize("again", WAYS)
def test_tensors(again):
    base = Tensor([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]])
    for dtype in DTYPES:
        x = base.cast(dtype)
        for one in (x, x.realize(), x.T, x[1], x[:, ::2], x.flip(0), x[1, 2], strata.zeros(0, 3, dtype=dtype), x + x):
            y = again(one)
            assert y is not one and y.dtype == one.dtype and y.shape == one.shape and y.tolist() == one.tolist() and not y.requires_grad
    w = nn.Parameter([1.0, float("nan"), float("inf"), -0.0])
    v = again(w)
    assert v.requires_grad and v is not w and str(v.tolist()) == str(w.tolist())
    with strata.no_grad():
        v.fill_(7)
    assert w.tolist()[0] == 1
    (v * 2).sum().backward()  # a leaf
    assert v.grad.tolist() == [2] * 4 and w.grad is None
    x, y = again((w * 3)[:2]), again(base.to("INTERP"))
    assert x.requires_grad and x.tolist()[0] == 3 and str(y.device) == "INTERP"


@pytest.mark.parametrize("again", WAYS)
def test_one_tensor_stays_one(again):
    w = nn.Parameter([1.0])
    a, b, (c,) = again([w, w, {"w": w}["w"] and (w,)])
    assert a is b is c and a is not w
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    tied.also = [tied[0].weight, tied]
    other, weight = again((tied, tied[0].weight))
    assert other[0].weight is other[1].weight is other.also[0] is weight and other.also[1] is other
    assert other[0].weight is not tied[0].weight and other[0].weight.tolist() == tied[0].weight.tolist()
    assert len(other.parameters()) == 1 and len(other.state_dict()) == len(tied.state_dict()) == 3


def test_shallow_copies_share():
    x = Tensor([1.0])
    assert copy.copy(x).tolist() == [1]
    layer = nn.Linear(2, 2)
    layer.more = [layer.weight]
    other = copy.copy(layer)
    assert other is not layer and other.weight is layer.weight and other.bias is layer.bias and other.more is layer.more
    other.bias = None
    assert layer.bias is not None


def test_gradients_are_copied_deeply():
    w = nn.Parameter([1.0, 2.0])
    (w * w).sum().backward()
    v = copy.deepcopy(w)
    assert v.grad.tolist() == [2, 4] and v.grad is not w.grad


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = [nn.Parameter([1.0]), nn.Linear(2, 2)]
        self.d = {"key": nn.Parameter([2.0]), "frozen": nn.Linear(2, 2).weight.detach()}
        self.register_buffer("seen", strata.zeros(1, dtype="int64"))
        self.bias = None

    def forward(self, x):
        return self.l[1](x) * self.l[0] * self.d["key"]


@pytest.mark.parametrize("again", WAYS)
def test_modules(again):
    net = nn.Sequential(Held(), nn.BatchNorm1d(2).eval(), nn.Dropout(0.1))
    net[0].l[1].bias = None
    net[0].l[1].weight.requires_grad_(False)
    strata.manual_seed(5)
    want = strata.rand(3).tolist()
    strata.manual_seed(5)
    other = again(net)
    assert strata.rand(3).tolist() == want, "a copy draws no random numbers"
    assert list(other.state_dict()) == list(net.state_dict()) and other[0].l[1].bias is None
    for name, tensor in net.state_dict().items():
        copied = other.state_dict()[name]
        assert copied is not tensor and copied.tolist() == tensor.tolist() and copied.requires_grad == tensor.requires_grad
    assert other[0].d["key"].requires_grad and not other[1].training and other[2].training and other[2].p == 0.1
    bare = nn.Linear(2, 2, bias=False)
    bare.bias = strata.ones(2)
    assert again(bare).bias.tolist() == [1, 1]
    assert set(map(id, other.parameters())).isdisjoint(map(id, net.parameters()))


OPTIMIZERS = {
    "SGD": dict(lr=0.1, momentum=0.9, nesterov=True), "Adam": dict(lr=0.01, betas=(0.8, 0.9)), "AdamW": dict(lr=0.01, weight_decay=0.1), "LAMB": dict(lr=0.02),
    "RMSprop": dict(lr=0.003, momentum=0.5),
}


def descend(net, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (net(strata.ones(2, 3)) ** 2).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("again", WAYS)
@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_optimisers(name, again):
    net = nn.Linear(3, 2)
    optimizer = getattr(optim, name)(net.parameters(), **OPTIMIZERS[name])
    optimizer.note = ["mine", net.weight]
    descend(net, optimizer, 3)
    optimizer.lr = 0.015
    net2, optimizer2 = again((net, optimizer))
    assert type(optimizer2) is type(optimizer) and optimizer2.lr == 0.015
    assert optimizer2.params[0] is net2.weight and optimizer2.note == ["mine", net2.weight] and optimizer2.note[1] is net2.weight
    assert net2.weight is not net.weight
    descend(net, optimizer, 3)
    descend(net2, optimizer2, 3)
    assert net2.weight.tolist() == net.weight.tolist() and net2.bias.tolist() == net.bias.tolist()
    a, b = optimizer.state_dict(), optimizer2.state_dict()
    assert a.keys() == b.keys() and all(a[k].tolist() == b[k].tolist() for k in a)


def test_optimisers_of_users_and_frozen_parameters():
    class Mine(optim.SGD):
        def __init__(self, net):
            super().__init__((p for p in net.parameters()), 0.1, momentum=0.5)
            self.calls = 0

        def step(self):
            self.calls += 1
            super().step()

    globals()["Mine"] = Mine
    Mine.__qualname__ = "Mine"
    net = nn.Linear(3, 2)
    optimizer = Mine(net)
    descend(net, optimizer, 2)
    net.bias.requires_grad_(False)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert type(other) is Mine and other.calls == 2 and [p.requires_grad for p in other.params] == [True, False]
        assert [p.tolist() for p in other.params] == [p.tolist() for p in optimizer.params]


def test_generators_and_devices():
    g = strata.Generator(9)
    strata.rand(5, generator=g)
    for other in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert other.seed == 9
        h = pickle.loads(pickle.dumps(g))
        assert strata.rand(3, generator=other).tolist() == strata.rand(3, generator=h).tolist()
    first = strata.rand(3, generator=strata.Generator(9)).tolist()
    assert strata.rand(3, generator=pickle.loads(pickle.dumps(g))).tolist() != first
    device = strata.ones(1).device
    assert pickle.loads(pickle.dumps(device)) == device == copy.deepcopy(device)


def test_a_checkpoint_in_a_file(tmp_path):
    """As torch.save is used."""
    net = Held()
    optimizer = optim.Adam(net.parameters())
    checkpoint = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "model": net, "epoch": 3}
    buffer = io.BytesIO()
    pickle.dump(checkpoint, buffer)
    (tmp_path / "checkpoint").write_bytes(buffer.getvalue())
    with open(tmp_path / "checkpoint", "rb") as file:
        back = pickle.load(file)
    assert back["epoch"] == 3 and back["model"].l[0] is back["net"]["l.0"]
    other = Held()
    other.load_state_dict(back["net"])
    assert all(t.tolist() == other.state_dict()[k].tolist() for k, t in net.state_dict().items())


class Sub(Tensor):
    """A user's own."""


def test_subclasses_of_tensors():
    x = Sub([1.0, 2.0])
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Sub and y.tolist() == [1, 2]


def double(x):
    return x * 2


def apply(net, x):
    return net(x), net


def test_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(double, (Tensor([1.5, 2.0]).cast("bfloat16"),)).tolist() == [3, 4]
        net = Held()
        y, other = pool.apply(apply, (net, strata.ones(1, 2)))
        assert y.tolist() == net(strata.ones(1, 2)).tolist() and other.l[0].tolist() == net.l[0].tolist() and len(other.parameters()) == 4
