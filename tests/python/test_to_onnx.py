"""f.to_onnx(): captured functions as ONNX files, which strata.onnx.load() reads back to the same values."""
import os
import re

import numpy as np
import pytest

import strata
from strata import Tensor, Variable, nn

import fuzz_onnx


def close(a, b, part=1e-5):
    a, b = a.numpy(), b.numpy()
    assert a.shape == b.shape and a.dtype == b.dtype
    if a.dtype.kind != "f":
        assert (a == b).all()
    elif b.size:
        assert np.abs(a - b).max() <= part * max(np.abs(b).max(), 1e-30)


def written(path, f, *inputs, names=None, **more):
    """Captures f and writes it; returns the loaded model."""
    g = f if hasattr(f, "to_onnx") else strata.jit(f)
    g(*inputs), g(*inputs)
    g.to_onnx(path, inputs=names, **more)
    return strata.onnx.load(path)


def listed(value):
    return list(value.values()) if isinstance(value, dict) else [value]


def operators(path):
    """The operators of a file in order, as `strata inspect` would count them."""
    data = path.read_bytes()
    return re.findall(rb"\x22[\x02-\x20]([A-Z][A-Za-z]+)", data)


def has(path, *names):
    found = {n.decode() for n in operators(path)}
    return all(n in found for n in names)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 16)
        self.last = nn.Linear(16, 3)

    def __call__(self, x):
        return self.last(self.first(x).relu()).softmax(1)


def test_an_mlp_keeps_its_names_and_values(tmp_path):
    model = Mlp()
    path = tmp_path / "mlp.onnx"

    def classify(flowers):
        return model(flowers)

    x = strata.rand(5, 4)
    read = written(path, classify, x)
    assert read.inputs == {"flowers": "f32[5, 4]"} and read.outputs == {"y": "f32[5, 3]"}
    assert [n for n, _ in read.named_parameters()] == ["first.weight", "first.bias", "last.weight", "last.bias"]
    assert operators(path) == [b"Gemm", b"Relu", b"Gemm", b"Softmax"]
    with strata.flags(DETERMINISTIC=True):
        other = strata.rand(5, 4)
        assert (read(flowers=other).numpy() == model(other).numpy()).all()


def test_a_bias_is_part_of_a_product_that_nothing_else_reads(tmp_path):
    w, b = strata.randn(5, 3), strata.randn(5)
    x = strata.rand(4, 3)
    wide = strata.randn(2, 4, 5)
    for f, names in ((lambda x: x.linear(w) + b, ["Gemm"]), (lambda x: b * 2 + x.linear(w), ["Mul", "Gemm"]), (lambda x: (x.linear(w), x.linear(w) + b), ["Gemm", "Add"]),
                     (lambda x: x.linear(w) + wide, ["Gemm", "Add"]), (lambda x: x.linear(w) + x.linear(w + b.reshape(5, 1)), ["Add", "Gemm", "Gemm"])):
        read = written(tmp_path / "m.onnx", f, x)
        found = [n.decode() for n in operators(tmp_path / "m.onnx")]
        assert sorted(n for n in found if n in ("Gemm", "Add", "Mul", "MatMul")) == sorted(names), found
        for got, want in zip(listed(read(x)), f(x) if isinstance(f(x), tuple) else [f(x)]):
            close(got, want)


def test_a_cnn_is_convolutions(tmp_path):
    conv, second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2)
    linear = nn.Linear(6 * 3 * 3, 10)

    def net(image):
        x = conv(image).relu().max_pool2d(2)
        return linear(second(x).relu().flatten(1))

    x = strata.rand(2, 1, 14, 14)
    read = written(tmp_path / "cnn.onnx", net, x)
    assert has(tmp_path / "cnn.onnx", "Conv", "MaxPool", "Gemm")
    other = strata.rand(2, 1, 14, 14)
    close(read(image=other), net(other))


@pytest.mark.parametrize("stride,padding,dilation,groups", [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1), (3, 0, 1, 4)])
def test_convolutions_of_every_kind(tmp_path, stride, padding, dilation, groups):
    w = strata.randn(8, 4 // groups, 3, 2)
    f = lambda x: x.conv2d(w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    x = strata.randn(2, 4, 11, 9)
    read = written(tmp_path / "c.onnx", f, x, names=["x"])
    assert has(tmp_path / "c.onnx", "Conv")
    other = strata.randn(2, 4, 11, 9)
    close(read(x=other), f(other))


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def __call__(self, x):
        b, t, c = x.shape
        h = self.qkv(self.norm1(x)).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = h[0], h[1], h[2]
        scores = (q @ k.transpose(-1, -2)) * (c // self.heads) ** -0.5
        mask = Tensor.arange(t).unsqueeze(1) >= Tensor.arange(t)
        y = mask.where(scores, -1e9).softmax(-1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(self.up(self.norm2(x)).gelu())


def test_a_transformer_layer(tmp_path):
    layer = Layer()
    x = strata.randn(2, 7, 16)
    read = written(tmp_path / "t.onnx", lambda x: layer(x), x, names=["x"])
    assert has(tmp_path / "t.onnx", "MatMul", "Softmax", "Erf")
    other = strata.randn(2, 7, 16)
    close(read(x=other), layer(other))
    assert "qkv.weight" in dict(read.named_parameters())


def test_an_lstm_is_one_scan(tmp_path):
    lstm = nn.LSTM(3, 5)
    x = strata.randn(6, 2, 3)
    path = tmp_path / "lstm.onnx"
    read = written(path, lambda x: lstm(x)[0], x, names=["x"])
    assert operators(path).count(b"Scan") == 1
    other = strata.randn(6, 2, 3)
    close(read(x=other), lstm(other)[0])


def test_a_loop_with_a_condition(tmp_path):
    def root(x):
        done = strata.while_loop(lambda s: (s[0] * s[0] - s[1]).abs().sum() > 1e-5,
                                 lambda s: ((s[0] + s[1] / s[0]) * 0.5, s[1]), (x * 0 + 1, x), 50)
        return done[0]

    path = tmp_path / "root.onnx"
    read = written(path, root, Tensor([2.0, 9.0]), names=["x"])
    assert has(path, "Loop")
    close(read(x=Tensor([16.0, 5.0])), Tensor([4.0, 5.0 ** 0.5]))


@pytest.mark.parametrize("reverse", [False, True])
def test_scans_in_both_directions(tmp_path, reverse):
    def f(x):
        state, out = strata.scan(lambda s, e: ((s[0] * 0.5 + e[0],), (s[0] + e[0] * e[0],)), (x[0] * 0,), (x,), reverse=reverse)
        return state[0], out[0]

    read = written(tmp_path / "s.onnx", f, strata.randn(5, 3), names=["x"])
    other = strata.randn(5, 3)
    for a, b in zip(listed(read(x=other)), f(other)):
        close(a, b)


def test_trained_digits(tmp_path):
    strata.manual_seed(1)
    x = strata.rand(64, 8)
    target = (x.sum(1) > 4).cast("i64").realize()
    model = nn.Linear(8, 2)
    optimizer = strata.optim.SGD(model.parameters(), lr=0.5)

    @strata.jit
    def train(x, target):
        optimizer.zero_grad()
        loss = model(x).cross_entropy(target)
        loss.backward()
        optimizer.step()
        return loss

    losses = [train(x, target).item() for _ in range(30)]
    assert losses[-1] < losses[0]
    read = written(tmp_path / "d.onnx", lambda x: model(x).argmax(1), x, names=["x"])
    assert (read(x=x).numpy() == model(x).argmax(1).numpy()).all()
    with pytest.raises(strata.Error, match="the gradient of a tensor of shape"):
        train.to_onnx(tmp_path / "train.onnx")
    assert not (tmp_path / "train.onnx").exists()
    before = [p.numpy().copy() for p in model.parameters()]
    train(x, target)  # tracing has left everything as it was
    assert all((p.numpy() != b).any() for p, b in zip(model.parameters(), before))


def test_a_symbolic_batch_is_a_symbol(tmp_path):
    n = Variable("n", 1, 16)
    layer = Layer()
    w = strata.randn(3, 4)

    @strata.jit
    def f(x):
        y = x.reshape(x.shape[0], 3, 4) + w
        return y.transpose(1, 2) @ w, y.reshape(-1).sum(), y.flatten(1).softmax(1)

    for size in (3, 5, 5):
        f(strata.randn(16, 12)[:n.bind(size)])
    path = tmp_path / "s.onnx"
    f.to_onnx(path)
    read = strata.onnx.load(path)
    assert read.inputs == {"x": "f32[n, 12]"}
    for size in (1, 2, 16):
        x = strata.randn(size, 12)
        y = x.reshape(size, 3, 4) + w
        for a, b in zip(listed(read(x=x)), (y.transpose(1, 2) @ w, y.reshape(-1).sum(), y.flatten(1).softmax(1))):
            close(a, b)


def test_a_size_that_is_an_argument(tmp_path):
    pos = Variable("pos", 0, 7)
    table = strata.randn(8, 3)

    @strata.jit
    def f(x, pos):
        return table[pos] + x, x * strata.Tensor.of(pos) if hasattr(strata.Tensor, "of") else x

    x = strata.randn(3)
    for k in (2, 5, 3):
        f(x, pos.bind(k))
    path = tmp_path / "p.onnx"
    f.to_onnx(path)
    read = strata.onnx.load(path)
    assert list(read.inputs) == ["x0", "pos"] or list(read.inputs) == ["x", "pos"]
    name = list(read.inputs)[0]
    for k in (0, 4, 7):
        close(listed(read({name: x, "pos": Tensor(k)}))[0], table[k] + x)


def test_embeddings_are_gathers(tmp_path):
    table = nn.Embedding(10, 4)
    path = tmp_path / "e.onnx"
    read = written(path, lambda i: table(i), Tensor([[1, 2], [3, 4]]), names=["i"])
    assert operators(path).count(b"Gather") == 1 and not has(path, "GatherElements")
    close(read(i=Tensor([[9, 0], [5, 5]])), table(Tensor([[9, 0], [5, 5]])))


def test_sorts_are_top_k(tmp_path):
    path = tmp_path / "k.onnx"
    f = lambda x: (*x.sort(1), *x.topk(2, 0), x.argsort(1, True))
    read = written(path, f, strata.randn(4, 5), names=["x"])
    assert has(path, "TopK")
    x = Tensor([[1.0, 3, 1, float("nan"), -0.0], [0, -0.0, 2, 2, 1], [5, 4, 3, 2, 1], [1, 1, 1, 1, 1]])
    for a, b in zip(listed(read(x=x)), f(x)):
        assert np.array_equal(a.numpy(), b.numpy(), equal_nan=True)


def test_joins_are_concat(tmp_path):
    path = tmp_path / "j.onnx"
    f = lambda a, b: (strata.cat([a, b, a], 1), strata.stack([a, a], 0), strata.cat([a] * 20, 0))
    read = written(path, f, strata.randn(2, 3), strata.randn(2, 4), names=["a", "b"])
    assert operators(path).count(b"Concat") == 3 and not has(path, "Pad")
    a, b = Tensor([[-0.0, 1, 2], [3, 4, 5]]), strata.randn(2, 4)
    for got, expected in zip(listed(read(a=a, b=b)), f(a, b)):
        assert (got.numpy() == expected.numpy()).all() and (np.signbit(got.numpy()) == np.signbit(expected.numpy())).all()


def test_inputs_as_outputs_and_one_tensor_twice(tmp_path):
    w = strata.randn(3)

    def f(a, b):
        y = a + b
        return a, y, y, w, b

    read = written(tmp_path / "a.onnx", f, strata.randn(3), strata.randn(3), outputs=["p", "q", "r", "s", "t"])
    a, b = strata.randn(3), strata.randn(3)
    got = read(a=a, b=b)
    assert list(got) == ["p", "q", "r", "s", "t"]
    for y, expected in zip(got.values(), (a, a + b, a + b, w, b)):
        assert (y.numpy() == expected.numpy()).all()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_scalars_and_empty_tensors(tmp_path, shape):
    f = lambda x: (x * 2 + 1, x.sum(), x.reshape(-1), x.flatten().cumsum(0))
    read = written(tmp_path / "e.onnx", f, strata.ones(*shape), names=["x"])
    for a, b in zip(listed(read(x=strata.ones(*shape))), f(strata.ones(*shape))):
        assert a.shape == b.shape and (a.numpy() == b.numpy()).all()


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_integers_are_exact(tmp_path, dtype):
    def f(a, b):
        return (a + b, a - b, a * b, a // b, a % b, a.trunc_divide(b), a.fmod(b), a.maximum(b), a.minimum(b), -a, a.abs(), ~a,
                a.lshift(b.abs() % 9), a.rshift(b.abs() % 9), a < b, a == b, a.sum(), a.prod(), a.max(), a.min(), a.cumsum(0), a & 7, a.sign())

    info = np.iinfo({"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    a = np.array([0, 1, 2, 7, info.max, info.min, 100, 5, 3, info.min], info.dtype)
    b = np.array([3, 0, 5, 2, 2, 3, 7, info.max, info.min, 1], info.dtype)
    ones = Tensor(np.ones(10, info.dtype))
    read = written(tmp_path / "i.onnx", f, ones, ones)
    for k, (got, expected) in enumerate(zip(listed(read(a=Tensor(a), b=Tensor(b))), f(Tensor(a), Tensor(b)))):
        assert (got.numpy() == expected.numpy()).all(), k


def test_indices_out_of_range(tmp_path):
    """0 where an index that nobody promised is outside, and nothing goes there."""
    def f(x, i):
        return strata.where(i > 100, 0, x.gather(0, i)), x.scatter_add(0, i, x)

    x, i = Tensor([1.0, 2, 3]), Tensor([0, 1, -1])
    read = written(tmp_path / "i.onnx", f, x, i)
    for i in (Tensor([2, 2, 0]), Tensor([-3, 1, -1])):
        for got, expected in zip(listed(read(x=x, i=i)), f(x, i)):
            assert (got.numpy() == expected.numpy()).all()


def test_everything_that_cannot_be_said_is_named_at_once(tmp_path):
    path = tmp_path / "no.onnx"
    path.write_bytes(b"before")

    @strata.jit
    def f(x):
        a = x.bitcast("i32")
        b = x.cast("i32").bitwise_xor(5)
        return a + b, x * strata.rand(3)

    x = strata.ones(3)
    f(x), f(x)
    with pytest.raises(strata.Error) as error:
        f.to_onnx(path)
    text = str(error.value)
    assert error.value.kind == "undefined" and "has 3 operations" in text
    for what in ("BITCAST", "XOR", "random numbers", "test_to_onnx.py:"):
        assert what in text, text
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["no.onnx"]


def test_state_is_refused_and_stays_as_it_was(tmp_path):
    count = strata.zeros(1).realize()

    @strata.jit
    def f(x):
        count.assign(count + 1)
        return x + count

    f(strata.ones(1)), f(strata.ones(1))
    with pytest.raises(strata.Error, match=r"assigns to a tensor of shape \(1,\) .*test_to_onnx.py"):
        f.to_onnx(tmp_path / "n.onnx")
    assert count.item() == 2 and f(strata.ones(1)).item() == 4


def test_elements_cannot_be_read(tmp_path):
    f = strata.jit(lambda x: x * x.sum().item())
    f(strata.ones(3)), f(strata.ones(3))
    with pytest.raises(strata.Error, match="is read while .* a function for to_onnx.*test_to_onnx.py"):
        f.to_onnx(tmp_path / "n.onnx")


def test_wrong_use(tmp_path):
    f = strata.jit(lambda x, y: x + y)
    path = tmp_path / "f.onnx"
    with pytest.raises(strata.Error, match="never called"):
        f.to_onnx(path)
    f(strata.ones(3), strata.ones(3))
    with pytest.raises(strata.Error, match="not captured"):
        f.to_onnx(path)
    f(strata.ones(3), strata.ones(3))
    with pytest.raises(strata.Error, match="1 names are given for 2 arguments"):
        f.to_onnx(path, inputs=["a"])
    with pytest.raises(strata.Error, match='named "a"'):
        f.to_onnx(path, inputs=["a", "a"])
    with pytest.raises(strata.Error, match='named "x"'):
        f.to_onnx(path, outputs=["x"])
    with pytest.raises(strata.Error, match="empty"):
        f.to_onnx(path, outputs=[""])
    with pytest.raises(TypeError):
        f.to_onnx(path, parameters=3)
    with pytest.raises(strata.Error, match="No such file"):
        f.to_onnx(tmp_path / "nowhere" / "f.onnx")
    with pytest.raises(TypeError):
        f.to_onnx()
    f.to_onnx(path, parameters={"unused": strata.ones(2), "": strata.ones(2)})
    assert (strata.onnx.load(path)(x=strata.ones(3), y=strata.ones(3)).numpy() == 2).all()


def test_a_size_with_one_value_is_refused(tmp_path):
    n = Variable("n", 1, 8)
    f = strata.jit(lambda x: x * 2)
    x = strata.ones(8)
    f(x[:n.bind(3)]), f(x[:n.bind(3)])
    with pytest.raises(strata.Error, match="n = 3 alone"):
        f.to_onnx(tmp_path / "n.onnx")


def test_names_of_weights_do_not_meet_inputs(tmp_path):
    x = strata.randn(3)
    weights = {"y": x, "scale": strata.randn(3)}
    read = written(tmp_path / "n.onnx", lambda x: x * weights["y"] + weights["scale"], strata.ones(3), names=["x"], outputs=["y"])
    assert sorted(n for n, _ in read.named_parameters()) == ["weights.scale", "weights.y"]
    f = strata.jit(lambda x: x * weights["y"])
    f(strata.ones(3)), f(strata.ones(3))
    f.to_onnx(tmp_path / "m.onnx", inputs=["x"], outputs=["y"], parameters=weights)
    again = strata.onnx.load(tmp_path / "m.onnx")
    assert [n for n, _ in again.named_parameters()] != ["y"]
    assert (again(x=strata.ones(3)).numpy() == x.numpy()).all()


def test_bits_are_equal_where_operations_are(tmp_path):
    """Under DETERMINISTIC: sums, products, quotients, roots, functions that ONNX has, products of matrices, convolutions."""
    w, k = strata.randn(12, 7), strata.randn(3, 2, 3, 3)

    def f(x):
        image = x.reshape(2, 2, 4, 3)
        return (x @ w, image.conv2d(k, padding=1), x.sum(0), (x.abs() + 1).sqrt() / x.exp(), x.tanh() * x.sigmoid() - x.sin(), x.softmax(1),
                x.cumsum(1), x.max(1), (x * x).mean(0), x.erf().log())

    with strata.flags(DETERMINISTIC=True):
        read = written(tmp_path / "b.onnx", f, strata.randn(4, 12), names=["x"])
        x = strata.randn(4, 12)
        for n, (got, expected) in enumerate(zip(listed(read(x=x)), f(x))):
            assert np.array_equal(got.numpy(), expected.numpy(), equal_nan=True), n


def test_signs_and_powers(tmp_path):
    f = lambda x: (x.copysign(-x), x.signbit().cast("i32"), x.pow(7), x ** 5, strata.atan2(x, -x), x.expm1(), x.log1p(), x.exp2(), x.trunc())
    values = [0.0, -0.0, 1.5, -2.25, 1e-10, -1e-10, 3e4, float("inf"), -float("inf"), 0.75, 8.0]
    read = written(tmp_path / "s.onnx", f, strata.ones(11), names=["x"])
    for n, (got, expected) in enumerate(zip(listed(read(x=Tensor(values))), f(Tensor(values)))):
        a, b = got.numpy(), expected.numpy()
        assert np.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True), (n, a, b)
        if n not in (2, 3):  # powers of -0 by repeated products are 0
            assert (np.signbit(a) == np.signbit(b))[~np.isnan(b)].all(), (n, a, b)


def test_gelu_and_its_kin(tmp_path):
    f = lambda x: (x.gelu(), x.gelu("tanh"), x.silu(), x.mish(), x.logsigmoid(), x.softplus(), x.hardswish(), x.elu(), x.leaky_relu(0.1), x.selu(),
                   x.erfc(), x.ndtr())
    read = written(tmp_path / "g.onnx", f, strata.ones(64), names=["x"])
    x = strata.randn(64) * 3
    for got, expected in zip(listed(read(x=x)), f(x)):
        assert (abs(got - expected) <= 4e-7 * (1 + abs(x))).all().item()


def test_random_functions_interpreted():
    before = strata.Device.DEFAULT
    strata.Device.DEFAULT = "INTERP"
    try:
        out = fuzz_onnx.fuzz(100, 7)
    finally:
        strata.Device.DEFAULT = before
    assert not out.failures and out.compared >= 60


def test_random_functions_compiled():
    out = fuzz_onnx.fuzz(12, 1007)
    assert not out.failures and out.compared >= 6
