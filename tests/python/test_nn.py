"""Modules, optimisers and files."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 3)
        self.blocks = [nn.Sequential(nn.Linear(8, 8), nn.ReLU()), {"norm": nn.LayerNorm(8)}]
        self.scale = nn.Parameter(1.0)
        self.register_buffer("seen", strata.zeros(1))
        self.constant = strata.ones(2)

    def forward(self, x):
        h = self.blocks[0](self.hidden(x).relu())
        return self.out(self.blocks[1]["norm"](h)) * self.scale


def test_parameters_by_name():
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    inner = ["hidden", "out", "blocks.0.0", "blocks.1.norm"]
    assert sorted(names) == sorted(["scale"] + [f"{name}.{part}" for name in inner for part in ("weight", "bias")])
    assert set(net.state_dict()) == set(names) | {"seen"} and len(net.parameters()) == 9
    assert net.training and net.eval() is net and not net.hidden.training and net.train().blocks[1]["norm"].training
    assert "hidden.weight=(8, 4)" in repr(net)
    tied = nn.Sequential(net.hidden, net.hidden)
    assert len(tied.parameters()) == 2


OPTIMIZERS = [
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    lambda p: optim.Adam(p, lr=0.01),
    lambda p: optim.AdamW(p, lr=0.01),
    lambda p: optim.RMSprop(p, lr=0.003),
    lambda p: optim.LAMB(p, lr=0.02),
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_training(make):
    strata.manual_seed(1)
    net = Net()
    optimizer = make(net.parameters())
    x, y = strata.randn(32, 4).realize(), strata.randint(0, 3, (32,)).realize()

    @strata.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = net(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x, y).item() for _ in range(40)]
    assert losses[-1] < losses[0] * 0.9
    optimizer.lr = 0
    before = net.scale.item()
    step(x, y)
    assert net.scale.item() == pytest.approx(before, abs=1e-6)


def test_states():
    a, b = Net(), Net()
    b.load_state_dict(a.state_dict())
    x = strata.randn(2, 4).realize()
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())
    state = {name: t.numpy() for name, t in a.state_dict().items()}
    b.load_state_dict(state)
    with pytest.raises(strata.ShapeError):
        b.load_state_dict(dict(state, scale=np.ones(2, np.float32)))
    with pytest.raises(strata.DomainError, match="missing"):
        b.load_state_dict({})
    with pytest.raises(strata.DomainError, match="other"):
        b.load_state_dict(dict(state, other=np.ones(2)))
    b.load_state_dict({"scale": 3.0}, strict=False)
    assert b.scale.item() == 3


def test_files(tmp_path):
    net, other = Net(), Net()
    nn.save(net, tmp_path / "net.safetensors")
    nn.load(other, tmp_path / "net.safetensors")
    np.testing.assert_array_equal(other.hidden.weight.numpy(), net.hidden.weight.numpy())
    x = strata.arange(6).reshape(2, 3)
    strata.save(x, tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").tolist() == x.tolist() and strata.load(tmp_path / "x.npy").tolist() == x.tolist()
    strata.save({"a": x, "b": np.ones(2)}, str(tmp_path / "x.npz"))
    assert np.load(tmp_path / "x.npz")["b"].tolist() == [1, 1] and strata.load(tmp_path / "x.npz")["a"].shape == (2, 3)
    nn.state.safe_save({"a": x}, tmp_path / "y.safetensors", {"made": "here"})
    assert strata.load_metadata(tmp_path / "y.safetensors") == {"made": "here"}
    np.savez_compressed(tmp_path / "z.npz", a=np.eye(3))
    assert strata.load(tmp_path / "z.npz")["a"].tolist() == np.eye(3).tolist()
    with pytest.raises(strata.DomainError):
        strata.save(x, tmp_path / "x.txt")
    (tmp_path / "bad.npy").write_bytes(b"no such thing")
    with pytest.raises(strata.ParseError):
        strata.load(tmp_path / "bad.npy")


def test_layers_are_pytorchs():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(2).standard_normal((2, 4, 9)).astype(np.float32)
    pairs = [
        (nn.Linear(9, 5), torch.nn.Linear(9, 5)),
        (nn.Conv1d(4, 6, 3, stride=2, padding=1), torch.nn.Conv1d(4, 6, 3, stride=2, padding=1)),
        (nn.LayerNorm(9), torch.nn.LayerNorm(9)),
        (nn.GroupNorm(2, 4), torch.nn.GroupNorm(2, 4)),
        (nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4)),
        (nn.Linear(9, 5, bias=False), torch.nn.Linear(9, 5, bias=False)),
    ]
    for ours, theirs in pairs:
        ours.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items() if "num_batches" not in k})
        want = theirs(torch.tensor(x)).detach().numpy()
        np.testing.assert_allclose(ours(Tensor(x)).detach().numpy(), want, rtol=2e-5, atol=2e-5)


def test_sequences():
    x = strata.randn(2, 5, 4)
    out, (h, c) = nn.LSTM(4, 6)(x)
    assert out.shape == (2, 5, 6) and h.shape == c.shape
    out, h = nn.GRU(4, 6)(x, None)
    assert out.shape == (2, 5, 6)
    assert nn.MultiheadAttention(4, 2)(x, is_causal=True).shape == (2, 5, 4)
    assert nn.TransformerBlock(4, 2, 8)(x).shape == (2, 5, 4)
    assert nn.Embedding(10, 3)([[1, 2]]).shape == (1, 2, 3) and nn.Dropout(0.5).eval()(x).shape == x.shape
    assert nn.init.kaiming_uniform((3, 4)).shape == (3, 4) and nn.init.normal((2,), 0, 1, "float64").dtype == "float64"


def test_gradients_are_clipped():
    w = strata.ones(4, requires_grad=True)
    (w * 3).sum().backward()
    assert optim.clip_grad_norm([w], 1.0).item() == pytest.approx(6) and w.grad.norm().item() == pytest.approx(1, rel=1e-4)
    optim.clip_grad_value([w], 0.25)
    assert w.grad.max().item() == 0.25
    assert optim.cosine_schedule(1.0, 5, 10) == pytest.approx(0.5)
    with pytest.raises(TypeError):
        optim.SGD([1])
    with pytest.raises(strata.DomainError):
        optim.SGD([strata.ones(2)])


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.BatchNorm1d(3), nn.Dropout(0.5))]
        self.scale = nn.Parameter([2.0])
        self.register_buffer("steps", strata.tensor([5.0]))
        self.more = {"name": "text", "norm": nn.LayerNorm(3)}

    def forward(self, x):
        return self.more["norm"](self.layers[1](self.layers[0](x))) * self.scale + self.steps


class Wide(nn.Linear):
    """Of C++, with attributes of its own."""

    def __init__(self, size):
        super().__init__(size, 2 * size, bias=False)
        self.size = size


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_modules_are_copied(copied):
    net = Shared()
    x = strata.randn(6, 4)
    net(x).realize()  # moves the running mean
    net.layers[1].eval()
    net.layers[0].weight.requires_grad_(False)
    other = copied(net)
    assert [n for n, _ in other.named_parameters()] == [n for n, _ in net.named_parameters()]
    assert "layers.0.weight" in other.state_dict() and "steps" in other.state_dict()
    for name, tensor in net.state_dict().items():
        assert other.state_dict()[name].tolist() == tensor.tolist(), name
        assert other.state_dict()[name].requires_grad == tensor.requires_grad, name
    assert other.training and not other.layers[1].training and other.more["name"] == "text"
    assert other(x).tolist() == net(x).tolist()
    with strata.no_grad():
        net.scale.fill_(9)
        net.layers[0].bias.zero_()
    assert other.scale.tolist() == [2] and any(other.layers[0].bias.tolist())

    wide = copied(Wide(3))
    assert type(wide) is Wide and wide.size == 3 and wide.weight.shape == (6, 3) and wide.bias is None
    for layer in (nn.Conv2d(2, 3, (3, 1), padding="same"), nn.Embedding(5, 2), nn.GRU(3, 4), nn.LSTM(3, 4), nn.GroupNorm(2, 4),
                  nn.MultiheadAttention(4, 2), nn.TransformerBlock(4, 2, 8), nn.RMSNorm(3), nn.InstanceNorm(3), nn.Dropout(0.1)):
        again = copied(layer)
        assert type(again) is type(layer) and again.state_dict().keys() == layer.state_dict().keys()
        for name, tensor in layer.state_dict().items():
            assert again.state_dict()[name].tolist() == tensor.tolist()


def test_modules_that_are_not_made():
    uses = (repr, pickle.dumps, lambda m: m.parameters(), lambda m: m.eval(), lambda m: m.training, lambda m: m.weight,
            lambda m: m(Tensor([1.0])), lambda m: m.forward(Tensor([1.0])), lambda m: m.state_dict())
    for use in uses:
        with pytest.raises(TypeError, match="class Linear is not made yet"):
            use(nn.Linear.__new__(nn.Linear))

    class Early(nn.Module):
        def __init__(self):
            self.parameters()

    with pytest.raises(TypeError, match="class Early is not made yet"):
        Early()
    with pytest.raises(TypeError, match=r"does not take \(str\)|needs 'out_features'"):
        nn.Linear("a")


def test_a_tensor_is_one_object():
    net = strata.nn.Linear(2, 3)
    assert net.weight is net.weight and net.weight is not net.bias
    assert [p is q for p, q in zip(net.parameters(), [net.weight, net.bias])] == [True, True]
    steps = {p: k for k, p in enumerate(net.parameters())}
    assert steps[net.weight] == 0 and steps[net.bias] == 1
    net(strata.ones(1, 2)).sum().backward()
    assert net.weight.grad is net.weight.grad


def test_states_of_pytorch():
    """What PyTorch saved is taken, and computes the same."""
    torch = pytest.importorskip("torch")
    strata.manual_seed(3)
    x = strata.randn(4, 6, 5)
    image = strata.randn(2, 3, 8, 8)
    pairs = [
        (torch.nn.Linear(5, 2), nn.Linear(5, 2), x), (torch.nn.LayerNorm(5), nn.LayerNorm(5), x), (torch.nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 3, padding=1), image),
        (torch.nn.BatchNorm2d(3).eval(), nn.BatchNorm2d(3).eval(), image), (torch.nn.GroupNorm(3, 3), nn.GroupNorm(3, 3), image),
        (torch.nn.LSTM(5, 3, batch_first=True), nn.LSTM(5, 3), x), (torch.nn.GRU(5, 3, batch_first=True), nn.GRU(5, 3), x),
        (torch.nn.Embedding(7, 2), nn.Embedding(7, 2), Tensor([[1, 6], [0, 3]])),
        (torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).eval(), nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(), image),
    ]
    for theirs, ours, given in pairs:
        for name, tensor in theirs.state_dict().items():
            if name.endswith("running_mean"):
                tensor.uniform_(-1, 1)
        ours.load_state_dict(theirs.state_dict())
        want, got = theirs(torch.tensor(given.numpy())), ours(given)
        if isinstance(want, tuple):
            want, got = want[0], got[0]
        np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=2e-5, atol=2e-6)
        back = {name: torch.tensor(t.numpy()) for name, t in ours.state_dict().items()}
        assert set(back) == {name for name in theirs.state_dict() if not name.endswith("num_batches_tracked")}


def test_lists_of_modules():
    layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 3)]).append(nn.Identity(7, "any"))
    assert list(layers.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"] and len(layers) == 3
    assert layers[1].weight.shape == (3, 2) and isinstance(layers[1:], nn.ModuleList) and len(layers[1:]) == 2
    net = nn.Sequential(*layers)
    assert net[0] is layers[0] and len(net[:2]) == 2 and net(strata.ones(1, 2)).shape == (1, 3)
    assert len(pickle.loads(pickle.dumps(net)).parameters()) == 4


@pytest.mark.parametrize("name, options, target", [
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, "classes"), ("NLLLoss", {}, "classes"), ("MSELoss", {"reduction": "sum"}, "same"), ("L1Loss", {}, "same"),
    ("SmoothL1Loss", {"beta": 0.5}, "same"), ("HuberLoss", {"delta": 0.5}, "same"), ("BCELoss", {}, "same"), ("BCEWithLogitsLoss", {"reduction": "none"}, "same"),
    ("KLDivLoss", {"reduction": "batchmean"}, "same")])
def test_losses_are_pytorchs(name, options, target):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(5).uniform(0.1, 0.9, (4, 3)).astype(np.float32)
    y = np.array([0, 2, 1, 1]) if target == "classes" else x[::-1].copy()
    want = getattr(torch.nn, name)(**options)(torch.tensor(x), torch.tensor(y))
    np.testing.assert_allclose(getattr(nn, name)(**options)(Tensor(x), Tensor(y)).numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("base", [nn.Module, nn.Linear, nn.LSTM, nn.Sequential])
def test_cycles_are_collected(base):
    class Inner(base):
        def __init__(self):
            super().__init__(*{nn.Module: (), nn.Sequential: (nn.Linear(2, 2),)}.get(base, (2, 2)))
            self.me, self.bound, self.table = self, self.train, {"net": self, "layer": nn.Linear(2, 2)}

    gone = [weakref.ref(Inner()) for _ in range(3)]
    gc.collect()
    assert [r() for r in gone] == [None] * 3
    kept = Inner()
    gc.collect()
    assert kept.me is kept and kept.table["layer"].weight.shape == (2, 2)


def test_a_run_is_taken_up_again(tmp_path):
    def descend(net, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (net(strata.ones(2, 3)) ** 2).sum().backward()
            optimizer.step()

    net = nn.Linear(3, 2)
    optimizer = optim.AdamW(net.parameters(), lr=0.05)
    descend(net, optimizer, 3)
    nn.save(net, str(tmp_path / "net.safetensors"))
    strata.save(optimizer.state_dict(), str(tmp_path / "optimizer.npz"))
    descend(net, optimizer, 3)
    other = nn.Linear(3, 2)
    again = optim.AdamW(other.parameters())
    nn.load(other, str(tmp_path / "net.safetensors"))
    again.load_state_dict(strata.load(str(tmp_path / "optimizer.npz")))
    descend(other, again, 3)
    assert again.lr == 0.05 and other.weight.tolist() == net.weight.tolist()
    with pytest.raises(strata.DomainError, match="lr is missing"):
        again.load_state_dict({"steps": 3})
