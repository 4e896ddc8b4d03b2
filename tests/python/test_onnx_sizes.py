"""Models whose symbolic sizes have bounds: for each size the outputs are those without bounds, and kernels are compiled once."""
import re

import numpy as np
import pytest

import exported
import strata
from onnx_writer import Graph, node, port, write

RNG = np.random.default_rng(0)


def floats(*shape): return RNG.standard_normal(shape).astype(np.float32)


def outputs_of(model, inputs):
    out = model(inputs)
    return [y.numpy() for y in (out.values() if isinstance(out, dict) else [out])]


def same(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def symbols(graph_of, opset=17, **inputs):
    """A case: the graph, and the shapes of its inputs with texts for symbols."""
    return graph_of, opset, inputs


N, NT, HW = {"n": (1, 9)}, {"n": (1, 9), "t": (1, 6)}, {"h": (1, 9), "w": (1, 6)}
X = port("x", shape=["n", 3])
CASES = {
    "elementwise": (N, Graph([node("Add", "x x", "a"), node("Tanh", "a", "y")], [X], [port("y")]), {"x": ("n", 3)}),
    "a product": (N, Graph([node("MatMul", "x w", "y")], [X], [port("y")], {"w": floats(3, 4)}), {"x": ("n", 3)}),
    "gemm and softmax": (N, Graph([node("Gemm", "x w b", "a"), node("Softmax", "a", "y")], [X], [port("y")], {"w": floats(3, 4), "b": floats(4)}),
                         {"x": ("n", 3)}),
    "the shape itself": (N, Graph([node("Shape", "x", "y"), node("Size", "x", "z")], [X], [port("y", "int64"), port("z", "int64")]), {"x": ("n", 3)}),
    "sums over the size": (N, Graph([node("ReduceMean", "x", "y", axes=[0]), node("ReduceMax", "x", "z", axes=[0], keepdims=0)], [X],
                                    [port("y"), port("z")]), {"x": ("n", 3)}),
    "flattened": (N, Graph([node("Flatten", "x", "y", axis=1), node("Flatten", "x", "z", axis=0)], [port("x", shape=["n", 3, 2])],
                           [port("y"), port("z")]), {"x": ("n", 3, 2)}),
    "reshaped by its own shape": (N, Graph(
        [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n axis", "n1"), node("Concat", "n1 rest", "to", axis=0),
         node("Reshape", "x to", "y")], [port("x", shape=["n", 6])], [port("y")],
        {"zero": np.array(0), "axis": np.array([0]), "rest": np.array([2, -1])}), {"x": ("n", 6)}),
    "reshaped with arithmetic": (NT, Graph(
        [node("Shape", "x", "s"), node("Split", "s", "n t c", axis=0), node("Mul", "n t", "nt"), node("Div", "c two", "half"),
         node("Concat", "nt two half", "to", axis=0), node("Reshape", "x to", "r"), node("Transpose", "r", "p", perm=[1, 0, 2]),
         node("Concat", "n t c", "back", axis=0), node("Reshape", "r back", "y")], [port("x", shape=["n", "t", 4])], [port("y"), port("p")],
        {"two": np.array([2])}), {"x": ("n", "t", 4)}),
    "expanded as PyTorch does": (N, Graph(
        [node("Shape", "x", "s"), node("ConstantOfShape", "rank", "ones", value=np.array([1])), node("Mul", "ones minus", "open"),
         node("Gather", "s zero", "n", axis=0), node("Concat", "n minus1", "want", axis=0), node("Equal", "want open", "is_open"),
         node("Where", "is_open ones want", "to"), node("Expand", "row to", "y")], [X], [port("y")],
        {"rank": np.array([2]), "minus": np.array(-1), "minus1": np.array([-1]), "zero": np.array([0]), "row": floats(1, 3)}), {"x": ("n", 3)}),
    "constants of the shape": (N, Graph([node("Shape", "x", "s"), node("ConstantOfShape", "s", "c", value=np.array([2.5], np.float32)),
                                         node("Mul", "x c", "y")], [X], [port("y")]), {"x": ("n", 3)}),
    "a range": (N, Graph([node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Range", "zero n one", "r"), node("Cast", "r", "f", to=1),
                          node("Unsqueeze", "f axis", "column"), node("Mul", "x column", "y")], [X], [port("y")],
                {"zero": np.array(0), "one": np.array(1), "axis": np.array([1])}), {"x": ("n", 3)}),
    "the size as a number": (N, Graph([node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Cast", "n", "f", to=1),
                                       node("Div", "x f", "y")], [X], [port("y")], {"zero": np.array(0)}), {"x": ("n", 3)}),
    "joined along the size": (NT, Graph([node("Concat", "x z", "y", axis=0), node("Concat", "x x one", "w", axis=0)],
                                        [X, port("z", shape=["t", 3])], [port("y"), port("w")], {"one": floats(1, 3)}), {"x": ("n", 3), "z": ("t", 3)}),
    "sliced": (NT, Graph([node("Slice", "x zero last axis", "y"), node("Shape", "z", "s"), node("Gather", "s zero", "t", axis=0),
                          node("Slice", "table zero t axis", "w"), node("Slice", "x zero max axis", "all")],
                         [port("x", shape=["n", 3]), port("z", shape=["t", 1])], [port("y"), port("w"), port("all")],
                         {"zero": np.array([0]), "last": np.array([-1]), "axis": np.array([0]), "table": floats(9, 2), "max": np.array([2**63 - 1])}),
               {"x": ("n", 3), "z": ("t", 1)}),
    "padded": (N, Graph([node("Pad", "x around", "y")], [X], [port("y")], {"around": np.array([1, 0, 2, 1])}), {"x": ("n", 3)}),
    "gathered rows": (N, Graph([node("Gather", "table i", "y"), node("Gather", "i places", "some")], [port("i", "int64", ["n"])],
                               [port("y"), port("some", "int64")], {"table": floats(9, 4), "places": np.array([[0, -1], [-1, 0]])}), {"i": ("n",)}),
    "a convolution with a batch": (N, Graph(
        [node("Conv", "x w b", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "r"), node("MaxPool", "r", "m", kernel_shape=[2, 2], strides=[2, 2]),
         node("AveragePool", "m", "v", kernel_shape=[2, 2]), node("GlobalAveragePool", "v", "g"), node("Flatten", "g", "y")],
        [port("x", shape=["n", 2, 6, 6])], [port("y")], {"w": floats(4, 2, 3, 3), "b": floats(4)}), {"x": ("n", 2, 6, 6)}),
    "resized images": (N, Graph([node("Resize", "x _ scales", "y", mode="linear")], [port("x", shape=["n", 2, 3, 3])], [port("y")],
                                {"scales": np.array([1, 1, 2, 2], np.float32)}), {"x": ("n", 2, 3, 3)}),
    "images of any size": (HW, Graph(
        [node("Conv", "x w b", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "r"), node("Conv", "r v", "c", strides=[2, 2], pads=[1, 1, 1, 1], group=2),
         node("Conv", "c u", "d", auto_pad="SAME_UPPER", dilations=[2, 1]), node("MaxPool", "d", "m", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
         node("AveragePool", "m", "y", kernel_shape=[2, 3], pads=[1, 1, 1, 1]), node("LpPool", "c", "z", kernel_shape=[2, 2], pads=[1, 1, 1, 1])],
        [port("x", shape=[1, 2, "h", "w"])], [port("y"), port("z")], {"w": floats(4, 2, 3, 3), "b": floats(4), "v": floats(4, 2, 3, 3), "u": floats(3, 4, 2, 3)}),
        {"x": (1, 2, "h", "w")}),
    "a signal with strides": (N, Graph(
        [node("Conv", "x w", "a", pads=[3, 3], strides=[3]), node("Conv", "x v", "b", strides=[2]), node("MaxPool", "x", "c", kernel_shape=[1], strides=[2])],
        [port("x", shape=[2, 3, "n"])], [port("a"), port("b"), port("c")], {"w": floats(4, 3, 2), "v": floats(4, 3, 1)}), {"x": (2, 3, "n")}),
    "Split of sizes": (N, Graph(
        [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0), node("Sub", "n one", "less"), node("Concat", "one less", "sizes", axis=0),
         node("Split", "x sizes", "a b", axis=0), node("Concat", "x x", "twice", axis=0), node("Split", "twice", "c d", axis=0)],
        [X], [port("a"), port("b"), port("c"), port("d")], {"zero": np.array([0]), "one": np.array([1])}), {"x": ("n", 3)}),
    "padded by the elements": (N, Graph([node("Pad", "x around", "y", mode="edge"), node("Pad", "x sides", "z", mode="reflect")], [X], [port("y"), port("z")],
                                        {"around": np.array([1, 0, 2, 1]), "sides": np.array([0, 2, 0, 1])}), {"x": ("n", 3)}),
    "an LSTM": (NT, Graph([node("LSTM", "x w r", "y h c", hidden_size=2)], [port("x", shape=["t", "n", 3])], [port("y"), port("h"), port("c")],
                          {"w": floats(1, 8, 3), "r": floats(1, 8, 2)}), {"x": ("t", "n", 3)}),
    "a scan": (N, Graph([node("Scan", "zero x", "last ys", num_scan_inputs=1, body=Graph(
        [node("Add", "s e", "s2"), node("Identity", "s2", "o")], [port("s"), port("e")], [port("s2"), port("o")]))], [X],
        [port("last"), port("ys")], {"zero": np.zeros(3, np.float32)}), {"x": ("n", 3)}),
    "a loop over the size": (N, Graph([node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Loop", "n _ start", "last all", body=Graph(
        [node("Gather", "x i", "row"), node("Add", "v row", "v2"), node("Identity", "go", "goes"), node("Identity", "v2", "c")],
        [port("i", "int64", []), port("go", "bool", []), port("v")], [port("goes", "bool", []), port("v2"), port("c")]))], [X],
        [port("last"), port("all")], {"zero": np.array(0), "start": np.zeros(3, np.float32)}), {"x": ("n", 3)}),
    "softmax before version 13": (N, Graph([node("Softmax", "x", "y", axis=1)], [port("x", shape=["n", 3, 2])], [port("y")]), {"x": ("n", 3, 2)}),
}


def values_of(shapes, sizes):
    out = {}
    for name, shape in shapes.items():
        numbers = [sizes[n] if isinstance(n, str) else n for n in shape]
        out[name] = np.arange(numbers[0]) if name == "i" else floats(*numbers)
    return out


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_without_bounds(tmp_path, name):
    bounds, graph, shapes = CASES[name]
    path = write(tmp_path / "m.onnx", graph, 11 if "before version 13" in name else 13 if "Split" in name else 17)
    plain, bounded = strata.onnx.load(path), strata.onnx.load(path, sizes=bounds)
    for n, t in [(4, 3), (1, 6), (9, 1), (2, 2)]:
        inputs = values_of(shapes, {"n": n, "t": t, "h": n, "w": t})
        same(outputs_of(bounded, inputs), outputs_of(plain, inputs))


@pytest.mark.parametrize("name", ["a product", "reshaped with arithmetic", "a range", "the size as a number", "sliced", "a scan", "a loop over the size",
                                  "a convolution with a batch", "an LSTM", "images of any size", "a signal with strides", "Split of sizes"])
def test_one_capture_serves_all_sizes(tmp_path, name):
    bounds, graph, shapes = CASES[name]
    path = write(tmp_path / "m.onnx", graph)
    plain, bounded = strata.onnx.load(path), strata.onnx.load(path, sizes=bounds)
    fast = strata.jit(lambda *xs: list(out.values()) if isinstance(out := bounded(*xs), dict) else [out])
    for n, t in [(4, 3), (1, 6), (9, 1), (2, 2), (5, 4)]:
        inputs = values_of(shapes, {"n": n, "t": t, "h": n, "w": t})
        same([y.numpy() for y in fast(*bounded.bound(inputs))], outputs_of(plain, inputs))
    assert fast.runs == 2 and fast.replays == 3
    # Numbers are captured for each size alone, and are right, too.
    numbers = strata.jit(lambda *xs: list(out.values()) if isinstance(out := bounded(*xs), dict) else [out])
    for n, t in [(4, 3), (4, 3), (4, 3), (2, 2), (2, 2), (2, 2)]:
        inputs = values_of(shapes, {"n": n, "t": t, "h": n, "w": t})
        same([y.numpy() for y in numbers(*[strata.Tensor(x) for x in inputs.values()])], outputs_of(plain, inputs))


@exported.NEEDS_COMPILERS
@pytest.mark.parametrize("name", ["gemm and softmax", "a convolution with a batch", "reshaped with arithmetic"])
def test_one_c_file_serves_all_sizes(tmp_path, name):
    bounds, graph, shapes = CASES[name]
    bounded = strata.onnx.load(write(tmp_path / "m.onnx", graph, 13 if "arithmetic" in name else 17), sizes=bounds)
    with strata.flags(DETERMINISTIC=True):
        fast = strata.jit(lambda x: list(out.values()) if isinstance(out := bounded(x), dict) else [out])
        for n, t in [(4, 3), (2, 2)]:
            fast(*bounded.bound(values_of(shapes, {"n": n, "t": t})))
        fast.export_c(tmp_path / "net")
        net = exported.Library(tmp_path / "net", sizes=len(bounds))
        order = re.findall(r"^    int64_t (\w+),$", net.header, re.MULTILINE)
        assert sorted(order) == sorted(bounds)
        for symbol, (low, high) in bounds.items():
            assert (net.macro(f"{symbol.upper()}_MIN"), net.macro(f"{symbol.upper()}_MAX")) == (low, high)
        for n, t in [(1, 6), (9, 1), (5, 4)]:
            sizes = {"n": n, "t": t}
            inputs = values_of(shapes, sizes)
            want = outputs_of(bounded, inputs)
            got = [np.zeros_like(y) for y in want]
            assert net(*inputs.values(), *got, *[sizes[s] for s in order]) == 0
            for a, b in zip(got, want):
                assert a.tobytes() == b.tobytes(), sizes
            for wrong in (0, 10):
                status = net(*inputs.values(), *got, *[wrong if s == "n" else sizes[s] for s in order])
                assert "bounds" in net.text(status)


def test_sizes_out_of_bounds_and_bounds_of_nothing_are_refused(tmp_path):
    path = write(tmp_path / "m.onnx", Graph([node("Relu", "x", "y")], [X], [port("y")]))
    model = strata.onnx.load(path, sizes={"n": (2, 4)})
    with pytest.raises(strata.ShapeError, match=r'input "x" is f32\[n, 3\], and n is 5, outside of its bounds 2 and 4'):
        model(floats(5, 3))
    with pytest.raises(strata.DomainError, match='bounds of "m", which is no symbolic size of an input; there are: n'):
        strata.onnx.load(path, sizes={"m": (1, 2)})
    with pytest.raises(strata.DomainError, match='the bounds of "n" are 3 and 2'):
        strata.onnx.load(path, sizes={"n": (3, 2)})
    fixed = strata.onnx.load(path, sizes={"n": (5, 5)})
    assert fixed(floats(5, 3)).shape == (5, 3)
    for model in (fixed, fixed.train()):
        with pytest.raises(strata.ShapeError, match="and n is 4, outside of its bounds 5 and 5"):
            model(floats(4, 3))


@pytest.mark.parametrize("graph, message", [
    (Graph([node("Conv", "x w", "y", name="here", auto_pad="SAME_UPPER", strides=[2, 2])], [port("x", shape=[1, 2, "n", 6])], [port("y")], {"w": floats(4, 2, 1, 1)}),
     r'node "here" \(Conv\): axis 2 of the shape \(1, 2, n.*, 6\) has to be a number, since auto_pad with stride 2'),
    (Graph([node("Conv", "x w", "y", name="here")], [port("x", shape=[1, 2, "n", 6])], [port("y")], {"w": floats(4, 2, 2, 1)}),
     r'node "here" \(Conv\): a window of 2 does not fit into n.* elements'),
    (Graph([node("MaxPool", "x", "y", name="here", kernel_shape=[1, 1], ceil_mode=1)], [port("x", shape=[1, 2, "n", 6])], [port("y")]),
     r'node "here" \(MaxPool\): \[max_pool2d\] ceil_mode needs a number for spatial axis 0 of size n'),
    (Graph([node("Split", "x", "a b", name="here")], [port("x", shape=["n", 2, 6, 6])], [port("a"), port("b")]),
     r'node "here" \(Split\): an axis of n.* does not split into 2 equal parts'),
    (Graph([node("Shape", "x", "s"), node("Gather", "s zero", "k", axis=0), node("TopK", "v k", "y i", name="here")],
           [port("x", shape=["n", 2, 6, 6])], [port("y")], {"v": floats(9), "zero": np.array([0])}),
     r'node "here" \(TopK\): numbers are needed for input 1, which is \(n'),
    (Graph([node("NonZero", "x", "y", name="here")], [port("x", shape=["n", 2, 6, 6])], [port("y", "int64")]),
     r'node "here" \(NonZero\): .* a size is symbolic: \(n'),
])
def test_a_node_that_needs_a_number_is_named(tmp_path, graph, message):
    model = strata.onnx.load(write(tmp_path / "m.onnx", graph), sizes={"n": (1, 6)})
    x = np.ones((1, 2, 4, 6) if "Conv" in message or "Pool" in message else (4, 2, 6, 6), np.float32)
    with pytest.raises(strata.ShapeError, match=message):
        model(x)


def test_in_training_sizes_are_numbers(tmp_path):
    path = write(tmp_path / "m.onnx", Graph([node("MatMul", "x w", "y")], [X], [port("y")], {"w": floats(3, 2)}))
    model = strata.onnx.load(path, sizes=N).train()
    x = floats(4, 3)
    (model(x) * strata.ones(4, 2)).sum().backward()
    np.testing.assert_allclose(dict(model.named_parameters())["w"].grad.numpy(), x.sum(0)[:, None].repeat(2, 1), rtol=1e-5)


@pytest.mark.parametrize("name", ["elementwise", "gemm and softmax", "a convolution with a batch", "an LSTM"])
def test_other_sizes_compile_nothing(tmp_path, name):
    bounds, graph, shapes = CASES[name]
    model = strata.onnx.load(write(tmp_path / "m.onnx", graph), sizes=bounds)

    def kernels(n, t):
        with strata.KernelLog() as log:
            model(values_of(shapes, {"n": n, "t": t}))
        return {str(ran.kernel.ast) for ran in log.kernels}
    first = kernels(4, 3)
    assert first and all(kernels(n, t) == first for n, t in [(9, 6), (1, 1), (5, 2)])
