"""ONNX models in Python: whole models that PyTorch exports, with weights from seeds, and how inputs and outputs are given."""
import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import strata
from onnx_writer import Graph, node, port, write

torch = pytest.importorskip("torch")
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore")  # what PyTorch says while it traces


def exported(tmp_path, model, inputs, names, outputs, **more):
    """The model in a file, as PyTorch writes it."""
    path = tmp_path / "model.onnx"
    model.eval()
    torch.onnx.export(model, tuple(inputs), str(path), input_names=names, output_names=outputs, **{"opset_version": 16, **more})
    return path


def check(path, model, inputs, names):
    """Compares the outputs with PyTorch's: floats within 1e-4 of the largest element, integers exactly."""
    with torch.no_grad():
        expected = model(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    got = strata.onnx.load(path)(dict(zip(names, [x.numpy() for x in inputs])))
    got = list(got.values()) if isinstance(got, dict) else [got]
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        a, b = a.numpy(), b.numpy()
        assert a.shape == b.shape and a.dtype == b.dtype
        if b.dtype.kind == "f" and b.size:
            assert np.abs(a - b).max() <= 1e-4 * np.abs(b).max()
        else:
            assert (a == b).all()


class Residual(nn.Module):
    """A block of ResNet-18."""

    def __init__(self, n, m, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(),
                                  nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m))
        self.short = nn.Sequential() if n == m and stride == 1 else nn.Sequential(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m))

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for n, m, stride in [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]:
        layers += [Residual(n, m, stride), Residual(m, m, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Inverted(nn.Module):
    """A block of MobileNet-v2."""

    def __init__(self, n, m, stride, factor):
        super().__init__()
        h = n * factor
        self.adds = stride == 1 and n == m
        self.body = nn.Sequential(nn.Conv2d(n, h, 1, bias=False), nn.BatchNorm2d(h), nn.ReLU6(),
                                  nn.Conv2d(h, h, 3, stride, 1, groups=h, bias=False), nn.BatchNorm2d(h), nn.ReLU6(),
                                  nn.Conv2d(h, m, 1, bias=False), nn.BatchNorm2d(m))

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet():
    layers, n = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
    for factor, m, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2), (6, 64, 2, 2), (6, 96, 1, 1)]:
        for k in range(count):
            layers.append(Inverted(n, m, stride if k == 0 else 1, factor))
            n = m
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 100))


class Bert(nn.Module):
    """Embeddings and layers of BERT, with a mask of tokens."""

    def __init__(self, words=100, size=64, heads=4, layers=2):
        super().__init__()
        self.word, self.place = nn.Embedding(words, size), nn.Embedding(64, size)
        self.norm, self.heads = nn.LayerNorm(size), heads
        self.layers = nn.ModuleList(nn.ModuleDict({"qkv": nn.Linear(size, 3 * size), "out": nn.Linear(size, size), "a": nn.LayerNorm(size),
                                                   "up": nn.Linear(size, 4 * size), "down": nn.Linear(4 * size, size), "b": nn.LayerNorm(size)})
                                    for _ in range(layers))

    def forward(self, ids, mask):
        n, t = ids.shape
        x = self.norm(self.word(ids) + self.place(torch.arange(t).unsqueeze(0)))
        hidden = (1 - mask[:, None, None, :].float()) * -1e4
        for layer in self.layers:
            q, k, v = layer["qkv"](x).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + hidden).softmax(-1)
            x = layer["a"](x + layer["out"]((weights @ v).transpose(1, 2).reshape(n, t, -1)))
            x = layer["b"](x + layer["down"](nn.functional.gelu(layer["up"](x))))
        return x


class Gpt(nn.Module):
    """A layer of GPT-2 with a cache of keys and values: new tokens attend to those in the cache and to earlier new ones."""

    def __init__(self, size=64, heads=4):
        super().__init__()
        self.heads, self.a, self.b = heads, nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x, past_k, past_v):
        n, t, c = x.shape
        q, k, v = self.qkv(self.a(x)).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
        s = k.shape[2]
        mask = torch.ones(s, s).tril()[s - t:] == 0
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(mask, -1e9)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.b(x)))), k, v


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        def conv(n, m): return nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.ReLU(), nn.Conv2d(m, m, 3, padding=1), nn.ReLU())
        self.a, self.b, self.c = conv(3, 8), conv(8, 16), conv(16, 32)
        self.up, self.d, self.e, self.out = nn.ConvTranspose2d(32, 16, 2, 2), conv(32, 16), conv(24, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(nn.functional.max_pool2d(a, 2))
        d = self.d(torch.cat([self.up(self.c(nn.functional.max_pool2d(b, 2))), b], 1))
        return self.out(self.e(torch.cat([nn.functional.interpolate(d, scale_factor=2.0, mode="bilinear", align_corners=False), a], 1)))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm = nn.Embedding(50, 16), nn.LSTM(16, 12, 2, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(24, 5)

    def forward(self, ids):
        return self.tags(self.lstm(self.words(ids))[0]).log_softmax(-1)


class Yolo(nn.Module):
    """A small detector: boxes and scores of the cells of a grid."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(layer for n, m in [(3, 8), (8, 16), (16, 16)]
                                    for layer in (nn.Conv2d(n, m, 3, 2, 1), nn.LeakyReLU(0.1))), nn.Conv2d(16, 3 * 7, 1))

    def forward(self, x):
        y = self.body(x)
        n, _, h, w = y.shape
        y = y.view(n, 3, 7, h, w).permute(0, 1, 3, 4, 2)
        grid = torch.stack(torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")[::-1], -1).float()
        centre, size = (y[..., :2].sigmoid() + grid) * 8, y[..., 2:4].exp() * 8
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).view(n, -1, 4)
        return boxes, (y[..., 4:5].sigmoid() * y[..., 5:].softmax(-1)).view(n, -1, 2).transpose(1, 2)


def seeded(make):
    torch.manual_seed(5)
    model = make()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 2)
    return model


@pytest.mark.parametrize("make, side", [(resnet18, 64), (mobilenet, 64), (UNet, 32), (Yolo, 64)])
def test_image_models(tmp_path, make, side):
    model = seeded(make)
    x = torch.randn(1, 3, side, side)
    outputs = ["boxes", "scores"] if make is Yolo else ["y"]
    path = exported(tmp_path, model, [x], ["x"], outputs, dynamic_axes={"x": {0: "batch"}} | {name: {0: "batch"} for name in outputs})
    check(path, model, [x], ["x"])
    check(path, model, [torch.randn(3, 3, side, side)], ["x"])


def test_bert(tmp_path):
    model = seeded(Bert)
    inputs = [torch.randint(100, (2, 9)), torch.ones(2, 9, dtype=torch.int64)]
    axes = {0: "batch", 1: "length"}
    path = exported(tmp_path, model, inputs, ["ids", "mask"], ["y"], dynamic_axes={"ids": axes, "mask": axes, "y": axes})
    check(path, model, inputs, ["ids", "mask"])
    check(path, model, [torch.randint(100, (3, 5)), torch.randint(2, (3, 5))], ["ids", "mask"])


def test_bert_with_bounds(tmp_path):
    """Batch and length are variables: other sizes compile nothing, and one capture serves all."""
    model = seeded(Bert)
    axes = {0: "batch", 1: "length"}
    def inputs(n, t): return [torch.randint(100, (n, t)), torch.randint(2, (n, t))]
    path = exported(tmp_path, model, inputs(2, 9), ["ids", "mask"], ["y"], dynamic_axes={"ids": axes, "mask": axes, "y": axes})
    bounded = strata.onnx.load(path, sizes={"batch": (1, 4), "length": (1, 16)})
    fast, seen = strata.jit(lambda ids, mask: bounded(ids, mask)), set()
    for k, (n, t) in enumerate([(2, 9), (3, 5), (1, 1), (4, 16)]):
        ids, mask = inputs(n, t)
        expected = model(ids, mask).detach().numpy()
        with strata.KernelLog() as log:
            got = bounded(ids.numpy(), mask.numpy())
        kernels = {str(ran.kernel.ast) for ran in log.kernels}
        assert k == 0 or kernels <= seen
        seen |= kernels
        for y in (got.numpy(), fast(*bounded.bound(ids.numpy(), mask.numpy())).numpy()):
            assert y.shape == expected.shape and np.abs(y - expected).max() <= 1e-4 * np.abs(expected).max()
    assert fast.replays == 2


def test_gpt_with_cache(tmp_path):
    model = seeded(Gpt)
    names, outputs = ["x", "past_k", "past_v"], ["y", "k", "v"]
    def inputs(t, past): return [torch.randn(2, t, 64), torch.randn(2, 4, past, 16), torch.randn(2, 4, past, 16)]
    axes = {"x": {1: "t"}, "y": {1: "t"}, "past_k": {2: "past"}, "past_v": {2: "past"}, "k": {2: "all"}, "v": {2: "all"}}
    first = inputs(3, 4)
    path = exported(tmp_path, model, first, names, outputs, dynamic_axes=axes)
    check(path, model, first, names)
    check(path, model, inputs(1, 7), names)


def test_lstm_tagger(tmp_path):
    model = seeded(Tagger)
    ids = torch.randint(50, (2, 7))
    path = exported(tmp_path, model, [ids], ["ids"], ["y"], dynamic_axes={"ids": {1: "t"}, "y": {1: "t"}})
    check(path, model, [ids], ["ids"])
    check(path, model, [torch.randint(50, (2, 4))], ["ids"])


def test_inputs_and_outputs(tmp_path):
    model = nn.Linear(4, 3)
    path = exported(tmp_path, model, [torch.ones(2, 4)], ["x"], ["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
    loaded = strata.onnx.load(path)
    assert loaded.inputs == {"x": "f32[n, 4]"} and loaded.outputs == {"y": "f32[n, 3]"} and loaded.optional_inputs == {}
    assert {name: p.shape for name, p in loaded.named_parameters()} == {"weight": (3, 4), "bias": (3,)}
    expected = model(torch.ones(1, 4)).detach().numpy()
    for y in (loaded(x=np.ones((1, 4), "f4")), loaded([[1, 1, 1, 1]]), loaded({"x": strata.ones(1, 4)}), loaded.forward(strata.ones(1, 4))):
        assert np.allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(strata.ShapeError, match=r'the input "x" is f32\[n, 4\], not f32\(1, 5\)'):
        loaded(np.ones((1, 5), "f4"))
    with pytest.raises(strata.DomainError, match='the input "x" .* is missing'):
        loaded()
    with pytest.raises(strata.DomainError, match='no input "z"'):
        loaded(z=1)
    with pytest.raises(strata.DomainError, match="not f64"):
        loaded(np.ones((1, 4)))


def test_training(tmp_path):
    """Gradients go to the parameters after train(), and an optimiser's step changes what a call gives."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(6, 4)
    loaded = strata.onnx.load(exported(tmp_path, model, [x], ["x"], ["y"])).train()
    optimizer = strata.optim.SGD(loaded.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (loaded(x.numpy()) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]
    state = loaded.state_dict()
    assert np.abs(state["0.weight"].numpy() - model[0].weight.detach().numpy()).max() > 0


def test_jit(tmp_path):
    """A model whose shapes are known is captured like a function of tensors."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x = torch.randn(5, 4)
    loaded = strata.onnx.load(exported(tmp_path, model, [x], ["x"], ["y"]))
    fast = strata.jit(loaded)
    for _ in range(4):
        x = torch.randn(5, 4)
        assert np.allclose(fast(strata.Tensor(x.numpy())).numpy(), model(x).detach().numpy(), atol=1e-5)


def test_what_is_missing_is_refused_at_once(tmp_path):
    path = exported(tmp_path, nn.Sequential(nn.Tanh(), nn.Sigmoid()), [torch.ones(3)], ["x"], ["y"])
    path.write_bytes(path.read_bytes().replace(b"Tanh", b"Tonh").replace(b"Sigmoid", b"Sigmuid"))
    with pytest.raises(strata.Error, match=r"(?s)2 nodes need operators that Strata lacks:.*\(Tonh\).*\(Sigmuid\)"):
        strata.onnx.load(path)


def test_operators():
    rows = strata.onnx.operators()
    assert ("", "Relu", 1, 0) in rows and len({name for _, name, _, _ in rows}) > 150


def test_the_page_is_that_of_the_table(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "scripts"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = importlib.import_module("onnx_page")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "write it anew: scripts/onnx_page.py"
    assert sorted(row[:4] for row in made.rows()) == sorted(strata.onnx.operators())


def loaded(tmp_path, operator, x, constant, **attributes):
    """A model of one node, whose second input is a constant, called with x."""
    nodes = [node("Constant", "", "c", value=constant), node(operator, "x c", "y", **attributes)]
    graph = Graph(nodes, [port("x", str(x.dtype), x.shape)], [port("y", str(x.dtype))])
    return strata.onnx.load(write(tmp_path / "one.onnx", graph, 16))(x)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0, 0.0, 1.7])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_powers_of_known_numbers(tmp_path, exponent, shape):
    x = np.random.default_rng(1).uniform(0.1, 3, (3, 4)).astype("float32")
    y = loaded(tmp_path, "Pow", x, np.full(shape, exponent, "float32"))
    assert ("POW" in str(strata.lazy_op(y))) == (exponent == 1.7 or len(shape) == 3)
    assert y.shape == ((3, 4) if len(shape) < 3 else (1, 3, 4))
    np.testing.assert_allclose(y.numpy().reshape(3, 4), x ** np.float32(exponent), rtol=1e-5)


@pytest.mark.parametrize("index, is_gather", [(2, False), (-1, False), ([1], False), ([1, 2, 3], False), ([-3, -2], False), ([], True), ([-1, 0], True),
                                              ([0, 2], True), ([3, 2], True), ([[0, 1]], True)])
def test_elements_at_known_places(tmp_path, index, is_gather):
    x = np.arange(24, dtype="float32").reshape(2, 4, 3)
    at = np.array(index, "int64")
    y = loaded(tmp_path, "Gather", x, at, axis=1)
    assert np.array_equal(y.numpy(), x.take(at, 1))
    assert ("GATHER" in str(strata.lazy_op(loaded(tmp_path, "Gather", x, at, axis=1)))) == is_gather


def test_places_outside_stay_what_they_were(tmp_path):
    x = np.arange(4, dtype="float32")
    for at in (4, -5, [3, 4]):
        with strata.flags(CHECK_INDEX=True), pytest.raises(strata.OutOfRangeError):
            loaded(tmp_path, "Gather", x, np.array(at, "int64"), axis=0).numpy()
