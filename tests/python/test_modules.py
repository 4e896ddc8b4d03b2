"""What a module is made of: tensors and modules in attributes and containers, layers that get other tensors, sequences by name."""
import collections
import inspect
import os
import re

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim


def names(pairs):
    return [name for name, _ in pairs]


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = [nn.Parameter([1.0]), nn.Parameter([2.0])]
        self.t = (nn.Parameter([3.0]), 7, "text")
        self.d = collections.OrderedDict(key=nn.Parameter([4.0]), inner={"deep": [[nn.Parameter([5.0])]]})
        self.layers = [nn.Linear(1, 1, bias=False), {"own": nn.Parameter([6.0])}]
        self.constants = [strata.ones(2)]

    def forward(self, x):
        return x * self.l[0] * self.l[1] * self.t[0] * self.d["key"] * self.d["inner"]["deep"][0][0] * self.layers[1]["own"]


def test_tensors_in_containers_are_parameters():
    net = Held()
    assert sorted(names(net.named_parameters())) == ["d.inner.deep.0.0", "d.key", "l.0", "l.1", "layers.0.weight", "layers.1.own", "t.0"]
    assert set(net.state_dict()) == set(names(net.named_parameters()))
    assert net.l[1] in set(net.parameters()) and len(net.parameters()) == 7
    optimizer = optim.SGD(net.parameters(), lr=0.5)
    net(Tensor([1.0])).sum().backward()
    optimizer.step()
    assert net.l[0].tolist() != [1] and net.d["inner"]["deep"][0][0].tolist() != [5]
    other = Held()
    other.load_state_dict(net.state_dict())
    assert other.d["key"].tolist() == net.d["key"].tolist() != [4]
    net.zero_grad()
    assert net.l[0].grad is None


def test_what_was_computed_is_no_parameter_in_a_container():
    net = Held()
    net.losses, net.last = [net.l[0] * 2], {"x": net.l[1] + 1}
    assert len(net.parameters()) == 7 and len(net.state_dict()) == 7
    net.zero_grad()


def test_shared_tensors_have_all_their_names():
    w = nn.Parameter([[1.0]])
    net = nn.Module()
    net.a, net.list, net.layers = w, [w, w], [nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)]
    net.layers[0].weight = net.layers[1].weight = w
    assert len(net.parameters()) == 1 and net.parameters()[0] is w and names(net.named_parameters()) == ["a"]
    state = net.state_dict()
    assert sorted(state) == ["a", "layers.0.weight", "layers.1.weight", "list.0", "list.1"] and all(t is w for t in state.values())
    # One of its names is enough; PyTorch's files have them all, others the first.
    for given in ({"a": [[5.0]]}, {"list.1": [[6.0]]}):
        net.load_state_dict({k: Tensor(v) for k, v in given.items()})
        assert [w.tolist()] == list(given.values())
    with pytest.raises(strata.DomainError, match="'a' is missing"):
        net.load_state_dict({})


def test_shared_modules_have_all_their_names():
    layer = nn.Linear(1, 1)
    tied = nn.Sequential(layer, nn.ReLU(), layer)
    assert list(tied.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert names(tied.named_parameters()) == ["0.weight", "0.bias"] and len(tied.parameters()) == 2


def test_cycles_end():
    net = nn.Module()
    net.w = nn.Parameter([1.0])
    net.list, net.me, net.table = [net], net, {}
    net.list.append(net.list)
    net.table["again"] = (net.table, net.list, nn.Parameter([2.0]))
    assert sorted(net.state_dict()) == ["table.again.2", "w"]
    peers = [nn.Linear(1, 1, bias=False) for _ in range(40)]
    for one in peers:
        one.peers = peers
    assert len(nn.Sequential(*peers).state_dict()) == 40
    deep = nest = []
    depth = 20000 if "asan" in os.environ.get("LD_PRELOAD", "") else 50000  # the names of all levels have n**2 characters
    for _ in range(depth):
        nest.append([])
        nest = nest[0]
    nest.append(nn.Parameter([3.0]))
    net = nn.Module()
    net.deep = deep
    (name,) = net.state_dict()
    assert name == "deep" + ".0" * (depth + 1)


def test_one_name_is_one_tensor():
    net = nn.Module()
    net.d = {1: nn.Parameter([1.0]), "1": nn.Parameter([2.0])}
    for use in (net.state_dict, net.named_parameters):
        with pytest.raises(strata.DomainError, match=r"two tensors .*'d\.1'"):
            use()


# --- sequences ---


def test_sequences_by_name():
    strata.manual_seed(2)
    layers = dict(a=nn.Linear(2, 3), act=strata.relu, b=nn.Linear(3, 1))
    x = strata.randn(4, 2)
    want = layers["b"](layers["a"](x).relu()).tolist()
    for given in (layers, collections.OrderedDict(layers)):
        net = nn.Sequential(given)
        assert list(net.state_dict()) == ["a.weight", "a.bias", "b.weight", "b.bias"]
        assert net(x).tolist() == want and len(net) == 3 and net.a is net[0] and list(net) == list(layers.values())
        assert list(net[1:].state_dict()) == ["b.weight", "b.bias"] and net[1:].b is net.b
    net.extra = nn.Linear(7, 7)  # an attribute, no layer of the sequence
    assert net(x).tolist() == want and len(net) == 3


@pytest.mark.parametrize("make, message", [
    (lambda: nn.Sequential(3), "layer 0 is an int"),
    (lambda: nn.Sequential(nn.Linear(1, 1), None), "layer 1 is a NoneType"),
    (lambda: nn.Sequential(nn.Linear(1, 1), "relu"), "layer 1 is a str"),
    (lambda: nn.Sequential([nn.Linear(1, 1)]), "layer 0 is a list"),
    (lambda: nn.Sequential(nn.Linear(1, 1), {"a": nn.Linear(1, 1)}), "layer 1 is a dict"),
    (lambda: nn.Sequential(nn.Linear(1, 1), nn.ReLU), "layer 1 is the class ReLU"),
    (lambda: nn.Sequential(strata.ones(2)), "layer 0 is a Tensor"),
    (lambda: nn.Sequential(dict(a=nn.ReLU(), b=2.5)), "layer 'b' is a float"),
    (lambda: nn.Sequential({3: nn.ReLU()}), "name 3"),
    (lambda: nn.Sequential({"a.b": nn.ReLU()}), "name 'a.b'"),
    (lambda: nn.Sequential({"": nn.ReLU()}), "name ''"),
    (lambda: nn.Sequential({"forward": nn.ReLU()}), "name 'forward'"),
    (lambda: nn.ModuleList([nn.ReLU(), 4]), "layer 1 is an int"),
    (lambda: nn.ModuleList([nn.ReLU()]).append(None), "layer 1 is a NoneType"),
    (lambda: nn.ModuleList(7), "int"),
])
def test_what_is_no_layer(make, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


# --- classes ---

LAYERS = {
    "Linear": (2, 3), "Conv1d": (2, 3, 1), "Conv2d": (2, 3, 1), "Conv3d": (2, 3, 1), "Embedding": (4, 3), "BatchNorm": (2,), "BatchNorm1d": (2,), "BatchNorm2d": (2,),
    "BatchNorm3d": (2,), "LayerNorm": (2,), "GroupNorm": (1, 2), "InstanceNorm": (2,), "RMSNorm": (2,), "Dropout": (), "MultiheadAttention": (2, 1),
    "TransformerBlock": (2, 1, 4), "LSTM": (2, 3), "GRU": (2, 3), "RNN": (2, 3),
}
ARGUMENTS = {"MaxPool1d": (2,), "MaxPool2d": (2,), "MaxPool3d": (2,), "AvgPool1d": (2,), "AvgPool2d": (2,), "AvgPool3d": (2,), "AdaptiveAvgPool2d": (1,),
             "Softmax": (1,), "LogSoftmax": (1,)}
CLASSES = {name: value for name, value in vars(nn).items() if inspect.isclass(value) and value.__module__.startswith("strata") and not name.startswith("_")}


def made(name):
    return CLASSES[name](*LAYERS.get(name, ARGUMENTS.get(name, ())))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_class_is_a_module(name):
    assert issubclass(CLASSES[name], nn.Module) and isinstance(made(name), nn.Module)
    assert not isinstance(strata.ones(1), nn.Module)


def test_subclasses_of_layers():
    class Twice(nn.Linear):
        def __init__(self, n):
            super().__init__(n, n, bias=False)
            self.scale = nn.Parameter([2.0])

        def forward(self, x):
            return super().forward(x) * self.scale

    class Mixin:
        def forward(self, x):
            return -super().forward(x)

    class Mixed(Mixin, nn.Linear):
        pass

    class Thrice(Twice):
        pass

    x = strata.ones(1, 2)
    for layer, factor in ((Twice(2), 2), (Thrice(2), 2), (Mixed(2, 2, bias=False), -1)):
        assert isinstance(layer, nn.Linear) and isinstance(layer, nn.Module)
        plain = x @ layer.weight.T
        np.testing.assert_allclose(layer(x).numpy(), (plain * factor).numpy(), rtol=1e-6)
        np.testing.assert_allclose(nn.Sequential(layer)(x).numpy(), (plain * factor).numpy(), rtol=1e-6)
    assert names(Twice(2).named_parameters()) == ["weight", "scale"]
    for name, arguments in LAYERS.items():
        sub = type("Sub", (CLASSES[name],), {"forward": lambda self, *a: "mine"})
        assert sub(*arguments)(x) == "mine", name
        assert callable(CLASSES[name].forward)


# --- tensors of layers ---

INPUTS = {
    "Linear": (1, 2), "Conv1d": (1, 2, 3), "Conv2d": (1, 2, 3, 3), "Conv3d": (1, 2, 3, 3, 3), "BatchNorm": (2, 2, 3, 3), "BatchNorm1d": (3, 2), "BatchNorm2d": (2, 2, 3, 3),
    "BatchNorm3d": (2, 2, 2, 2, 2), "LayerNorm": (3, 2), "GroupNorm": (1, 2, 3), "InstanceNorm": (1, 2, 3), "RMSNorm": (3, 2), "Dropout": (2, 2),
    "MultiheadAttention": (1, 3, 2), "TransformerBlock": (1, 3, 2), "LSTM": (1, 3, 2), "GRU": (1, 3, 2), "RNN": (1, 3, 2),
}


def input_of(name):
    return Tensor([0, 1]) if name == "Embedding" else strata.randn(*INPUTS[name]).realize()


def first(result):
    while isinstance(result, tuple):
        result = result[0]
    return result


WEIGHTS = ("weight", "bias", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "running_mean", "running_var")


@pytest.mark.parametrize("name", sorted(set(LAYERS) - {"Dropout", "MultiheadAttention", "TransformerBlock"}))
def test_a_tensor_becomes_the_parameter(name):
    layer = made(name).eval()
    own = [w for w in WEIGHTS if getattr(layer, w, None) is not None]
    assert own
    for attribute in own:
        before = getattr(layer, attribute)
        (full,) = [n for n, t in layer.state_dict().items() if t is before]
        t = strata.full(before.shape, 0.25)
        setattr(layer, attribute, t)
        assert getattr(layer, attribute) is t and layer.state_dict()[full] is t
        is_buffer = attribute.startswith("running")
        assert t.requires_grad != is_buffer and any(p is t for p in layer.parameters()) != is_buffer
        assert not any(p is before for p in layer.state_dict().values())
        for wrong, kind, words in [(strata.ones(*before.shape, 1), strata.ShapeError, "shape"), (t.double(), strata.DomainError, "f64"),
                                   (t.detach().int(), strata.DomainError, "i32"), ((t if t.requires_grad else nn.Parameter(t)) * 2, strata.DomainError, "detach"),
                                   ([1.0], TypeError, "list"), (3, TypeError, "int"), ("w", TypeError, "str")]:
            with pytest.raises(kind, match=words) as raised:
                setattr(layer, attribute, wrong)
            assert full in str(raised.value) and getattr(layer, attribute) is t
        if attribute != "bias":
            with pytest.raises(TypeError, match="None"):
                setattr(layer, attribute, None)
    y = first(layer(input_of(name)))
    if layer.parameters():
        (y * y + y).sum().backward()
        assert layer.parameters()[0].grad is not None


@pytest.mark.parametrize("name", ["Linear", "Conv1d", "Conv2d", "Conv3d"])
def test_a_bias_may_be_absent(name):
    layer = made(name)
    x, b = input_of(name), layer.bias
    layer.bias = None
    assert layer.bias is None and list(layer.state_dict()) == ["weight"] and len(layer.parameters()) == 1
    without = layer(x).numpy()
    layer.bias = nn.Parameter(strata.full((3,), 10.0))
    assert list(layer.state_dict()) == ["weight", "bias"]
    np.testing.assert_allclose(layer(x).numpy(), without + 10, rtol=1e-4)
    bare = CLASSES[name](*LAYERS[name], bias=False)
    bare.bias = b
    assert bare.bias is b and len(bare.parameters()) == 2
    with pytest.raises(strata.ShapeError, match="bias"):
        bare.bias = strata.ones(7)


def test_one_tensor_in_two_layers():
    a, b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    net = nn.Sequential(a, nn.Tanh(), b)
    old = optim.SGD(net.parameters(), lr=0.1)
    b.weight = a.weight
    assert len(net.parameters()) == 1 and list(net.state_dict()) == ["0.weight", "2.weight"]
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    net(strata.ones(1, 2)).sum().backward()
    before = a.weight.tolist()
    optimizer.step()
    assert a.weight.tolist() == b.weight.tolist() != before
    assert len(old.params) == 2 and not any(p is b.weight for p in old.params[1:])  # as PyTorch's: it holds what it was given


def test_an_optimiser_from_before_moves_the_old_tensor():
    layer = nn.Linear(2, 1, bias=False)
    held = layer.weight
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    layer.weight = t = strata.ones(1, 2)
    layer(strata.ones(1, 2)).sum().backward()
    with pytest.raises(strata.DomainError, match="no parameter has a gradient"):
        optimizer.step()
    assert t.tolist() == [[1, 1]] and optimizer.params[0] is held


def test_inner_layers():
    block = nn.TransformerBlock(2, 1, 4)
    assert block.attention.query.weight is block.state_dict()["attention.query.weight"]
    t = strata.zeros(4, 2)
    block.up.weight = t
    assert block.state_dict()["up.weight"] is t and isinstance(block.norm1, nn.LayerNorm)
    block.drop.p  # noqa: B018
    with pytest.raises(AttributeError):
        block.up = nn.Linear(2, 4)
    with pytest.raises(AttributeError):
        nn.MultiheadAttention(2, 1).query = nn.Linear(2, 2)


# --- where it was written ---


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_say_the_users_line(name):
    layer, x = made(name), input_of(name)
    for y in (first(layer(x)), first(layer.forward(x)), first(nn.Sequential(layer)(x))):  # this line
        line = inspect.currentframe().f_lineno - 1
        text = y.explain()
        places = re.findall(r"written at (.*?):(\d+)", text)
        assert places and "layers" not in text, text
        assert {(path.rsplit("/", 1)[-1], int(at)) for path, at in places} == {("test_modules.py", line)}, text


def test_initial_values_and_clipping_say_the_users_line():
    for make in (nn.init.uniform, nn.init.normal, nn.init.kaiming_uniform, nn.init.kaiming_normal, nn.init.xavier_uniform, nn.init.xavier_normal):
        text = (make((3, 4)) * 1).explain()
        line = inspect.currentframe().f_lineno - 1
        assert f"test_modules.py:{line}" in text and "init.cpp" not in text, text
    w = nn.Parameter([1.0, 2.0])
    (w * w).sum().backward()
    norm = optim.clip_grad_norm([w], 1.0)
    line = inspect.currentframe().f_lineno - 1
    optim.clip_grad_value([w], 0.1)
    assert f"test_modules.py:{line}" in norm.explain() and f"test_modules.py:{line + 2}" in w.grad.explain() and "optim.cpp" not in norm.explain() + w.grad.explain()
