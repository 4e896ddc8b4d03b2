"""Operators that changed in versions 18 to 23, beside NumPy: ONNX's test data here ends at version 17."""
import math

import numpy as np
import pytest

import strata
from onnx_writer import TYPES, Graph, node, port, write

RNG = np.random.default_rng(3)
A = RNG.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = RNG.standard_normal((1, 2, 6, 5)).astype(np.float32)
INTS = np.array([[1, 6, 3], [12, 5, 250]], np.uint8)
MORE = np.array([[3, 5, 255], [10, 1, 15]], np.uint8)


def groups_of(x, count, eps=1e-5):
    parts = x.reshape(x.shape[0], count, -1)
    centred = parts - parts.mean(2, keepdims=True)
    return (centred / np.sqrt((centred ** 2).mean(2, keepdims=True) + eps)).reshape(x.shape)


def average(x, kernel, dilation, pad, stride, counts_pads):
    """AveragePool over two axes, window by window."""
    h, w = x.shape[2:]
    def places(size, k): return range((size + 2 * pad - (kernel[k] - 1) * dilation[k] - 1) // stride + 1)
    out = np.zeros((*x.shape[:2], len(places(h, 0)), len(places(w, 1))), np.float32)
    for i in places(h, 0):
        for j in places(w, 1):
            at = [(i * stride - pad + a * dilation[0], j * stride - pad + b * dilation[1]) for a in range(kernel[0]) for b in range(kernel[1])]
            inside = [(r, c) for r, c in at if 0 <= r < h and 0 <= c < w]
            out[:, :, i, j] = sum(x[:, :, r, c] for r, c in inside) / (len(at) if counts_pads else len(inside))
    return out


def erf(x): return np.vectorize(math.erf)(x).astype(np.float32)


def blocks(scale, size, block): return np.repeat(scale, block, 1)[:, :size]


Q = np.array([[0.5, -1.2, 3.4, 7.0, 2.5], [1.5, 0.1, -0.3, 9.0, -4.0]], np.float32)
SCALE = np.array([[0.5, 0.1, 1.0], [0.25, 0.2, 0.5]], np.float32)
ZERO = np.array([[3, 0, 10], [128, 7, 1]], np.uint8)

# version, node, inputs (constants by name x0, x1, ...), outputs
CASES = {
    "ReduceL1 axes": (18, node("ReduceL1", "x0 x1", "y"), [A, np.array([1])], [np.abs(A).sum(1, keepdims=True)]),
    "ReduceL2 no keepdims": (18, node("ReduceL2", "x0 x1", "y", keepdims=0), [A, np.array([0, -1])], [np.sqrt((A ** 2).sum((0, 2)))]),
    "ReduceMean all": (18, node("ReduceMean", "x0", "y", keepdims=0), [A], [A.mean()]),
    "ReduceMax noop": (18, node("ReduceMax", "x0", "y", noop_with_empty_axes=1), [A], [A]),
    "ReduceMin empty axes": (18, node("ReduceMin", "x0 x1", "y"), [A, np.zeros(0, np.int64)], [A.min().reshape(1, 1, 1)]),
    "ReduceProd": (18, node("ReduceProd", "x0 x1", "y"), [A, np.array([2])], [A.prod(2, keepdims=True)]),
    "ReduceSumSquare": (18, node("ReduceSumSquare", "x0 x1", "y", keepdims=0), [A, np.array([-2])], [(A ** 2).sum(1)]),
    "ReduceLogSum": (18, node("ReduceLogSum", "x0 x1", "y"), [np.abs(A), np.array([1])], [np.log(np.abs(A).sum(1, keepdims=True))]),
    "ReduceLogSumExp": (18, node("ReduceLogSumExp", "x0 x1", "y"), [A, np.array([1])], [np.log(np.exp(A).sum(1, keepdims=True))]),
    "ReduceMax of bools": (20, node("ReduceMax", "x0 x1", "y"), [A > 1, np.array([1])], [(A > 1).any(1, keepdims=True)]),
    "ReduceMin of bools": (20, node("ReduceMin", "x0 x1", "y", keepdims=0), [A > -1, np.array([2])], [(A > -1).all(2)]),
    "Split num_outputs": (18, node("Split", "x0", "y z w", axis=0, num_outputs=3), [np.arange(7)], [np.arange(3), np.arange(3, 6), np.arange(6, 7)]),
    "Split even": (18, node("Split", "x0", "y z", axis=2, num_outputs=2), [A], [A[..., :2], A[..., 2:]]),
    "Split sizes": (18, node("Split", "x0 x1", "y z", axis=2), [A, np.array([1, 3])], [A[..., :1], A[..., 1:]]),
    "Pad axes": (18, node("Pad", "x0 x1 x2 x3", "y"), [A, np.array([1, 0, 2, 1]), np.float32(5), np.array([2, 0])],
                 [np.pad(A, [(0, 1), (0, 0), (1, 2)], constant_values=5)]),
    "Pad wrap": (19, node("Pad", "x0 x1", "y", mode="wrap"), [A, np.array([0, 1, 2, 0, 0, 1])], [np.pad(A, [(0, 0), (1, 0), (2, 1)], mode="wrap")]),
    "Gelu": (20, node("Gelu", "x0", "y"), [A], [0.5 * A * (1 + erf(A / math.sqrt(2)))]),
    "Gelu tanh": (20, node("Gelu", "x0", "y", approximate="tanh"), [A], [0.5 * A * (1 + np.tanh(math.sqrt(2 / math.pi) * (A + 0.044715 * A ** 3)))]),
    "Mish": (18, node("Mish", "x0", "y"), [A], [A * np.tanh(np.log1p(np.exp(A)))]),
    "BitwiseAnd": (18, node("BitwiseAnd", "x0 x1", "y"), [INTS, MORE], [INTS & MORE]),
    "BitwiseOr broadcasts": (18, node("BitwiseOr", "x0 x1", "y"), [INTS, MORE[0]], [INTS | MORE[0]]),
    "BitwiseXor": (18, node("BitwiseXor", "x0 x1", "y"), [INTS.astype(np.int32), -MORE.astype(np.int32)], [INTS.astype(np.int32) ^ -MORE.astype(np.int32)]),
    "BitwiseNot": (18, node("BitwiseNot", "x0", "y"), [INTS], [~INTS]),
    "AveragePool dilations": (19, node("AveragePool", "x0", "y", kernel_shape=[2, 2], dilations=[2, 3]), [IMAGE],
                              [average(IMAGE, (2, 2), (2, 3), 0, 1, False)]),
    "AveragePool dilations with pads": (19, node("AveragePool", "x0", "y", kernel_shape=[3, 2], dilations=[2, 1], pads=[1, 1, 1, 1], strides=[2, 2]),
                                        [IMAGE], [average(IMAGE, (3, 2), (2, 1), 1, 2, False)]),
    "AveragePool dilations that count pads": (19, node("AveragePool", "x0", "y", kernel_shape=[3, 2], dilations=[2, 2], pads=[1, 1, 1, 1],
                                                       count_include_pad=1), [IMAGE], [average(IMAGE, (3, 2), (2, 2), 1, 1, True)]),
    "LpPool dilations": (18, node("LpPool", "x0", "y", kernel_shape=[2, 2], dilations=[2, 2]), [IMAGE],
                         [np.sqrt(average(IMAGE ** 2, (2, 2), (2, 2), 0, 1, False) * 4)]),
    "GroupNormalization 18": (18, node("GroupNormalization", "x0 x1 x2", "y", num_groups=2),
                              [np.concatenate([IMAGE, 2 * IMAGE + 1], 1), np.array([2, 3], np.float32), np.array([0, 1], np.float32)],
                              [groups_of(np.concatenate([IMAGE, 2 * IMAGE + 1], 1), 2) * np.array([2, 2, 3, 3]).reshape(1, 4, 1, 1)
                               + np.array([0, 0, 1, 1]).reshape(1, 4, 1, 1)]),
    "GroupNormalization 21": (21, node("GroupNormalization", "x0 x1 x2", "y", num_groups=2, epsilon=0.1),
                              [np.concatenate([IMAGE, 2 * IMAGE + 1], 1), np.arange(1, 5, dtype=np.float32), np.arange(4, dtype=np.float32)],
                              [groups_of(np.concatenate([IMAGE, 2 * IMAGE + 1], 1), 2, 0.1) * np.arange(1, 5).reshape(1, 4, 1, 1)
                               + np.arange(4).reshape(1, 4, 1, 1)]),
    "RMSNormalization": (23, node("RMSNormalization", "x0 x1", "y", axis=-2), [A, IMAGE[0, 0, :3, :4]],
                         [A / np.sqrt((A ** 2).mean((1, 2), keepdims=True) + 1e-5) * IMAGE[0, 0, :3, :4]]),
    "ScatterElements max": (18, node("ScatterElements", "x0 x1 x2", "y", axis=0, reduction="max"),
                            [np.array([1, 5, 3], np.float32), np.array([1, 1, 0]), np.array([4, 9, 0], np.float32)], [np.array([1, 9, 3])]),
    "ScatterND min": (18, node("ScatterND", "x0 x1 x2", "y", reduction="min"),
                      [np.array([1, 5, 3], np.float32), np.array([[1], [0]]), np.array([4, 9], np.float32)], [np.array([1, 4, 3])]),
    "Cast saturate": (19, node("Cast", "x0", "y", to=6, saturate=1), [np.array([1.5, -2.5], np.float32)], [np.array([1, -2], np.int32)]),
    "CenterCropPad crops": (18, node("CenterCropPad", "x0 x1", "y", axes=[-1, 1]), [A, np.array([1, 2])], [A[:, 0:2, 1:2]]),
    "CenterCropPad pads": (18, node("CenterCropPad", "x0 x1", "y"), [A, np.array([5, 2, 4])], [np.pad(A[:, :2], [(1, 2), (0, 0), (0, 0)])]),
    "OptionalHasElement of nothing": (18, node("OptionalHasElement", "", "y"), [], [np.array(False)]),
    "DFT axis": (20, node("DFT", "x0 _ x1", "y"), [A[..., None], np.array(1)],
                 [np.stack([np.fft.fft(A, axis=1).real, np.fft.fft(A, axis=1).imag], -1)]),
    "DFT default axis": (20, node("DFT", "x0", "y", onesided=1), [A[..., None]], [np.stack([np.fft.rfft(A).real, np.fft.rfft(A).imag], -1)]),
    "QuantizeLinear blocks": (21, node("QuantizeLinear", "x0 x1 x2", "y", axis=1, block_size=2), [Q, SCALE, ZERO],
                              [np.clip(np.rint(Q / blocks(SCALE, 5, 2)) + blocks(ZERO, 5, 2), 0, 255).astype(np.uint8)]),
    "QuantizeLinear output_dtype": (21, node("QuantizeLinear", "x0 x1", "y", output_dtype=TYPES["int8"]), [Q, np.float32(0.05)],
                                    [np.clip(np.rint(Q / np.float32(0.05)), -128, 127).astype(np.int8)]),
    "DequantizeLinear blocks": (21, node("DequantizeLinear", "x0 x1 x2", "y", axis=1, block_size=2), [INTS[:, [0, 1, 2, 0, 1]], SCALE, ZERO],
                                [(INTS[:, [0, 1, 2, 0, 1]].astype(np.float32) - blocks(ZERO, 5, 2)) * blocks(SCALE, 5, 2)]),
    "DequantizeLinear half": (19, node("DequantizeLinear", "x0 x1", "y"), [INTS, np.float16(0.5)], [(INTS * 0.5).astype(np.float16)]),
    "Resize axes": (18, node("Resize", "x0 _ x1", "y", axes=[3], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
                    [IMAGE, np.array([2], np.float32)], [IMAGE.repeat(2, 3)]),
    "Resize sizes of axes": (18, node("Resize", "x0 _ _ x1", "y", axes=[-1, 2], mode="nearest", coordinate_transformation_mode="asymmetric",
                                      nearest_mode="floor"), [IMAGE, np.array([10, 12])], [IMAGE.repeat(2, 3).repeat(2, 2)]),
    "Resize not_larger": (18, node("Resize", "x0 _ _ x1", "y", axes=[2, 3], keep_aspect_ratio_policy="not_larger", mode="nearest",
                                   coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
                          [IMAGE, np.array([12, 20])], [IMAGE.repeat(2, 3).repeat(2, 2)]),
    "Resize not_smaller": (18, node("Resize", "x0 _ _ x1", "y", axes=[2, 3], keep_aspect_ratio_policy="not_smaller", mode="nearest",
                                    coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
                           [IMAGE, np.array([7, 15])], [IMAGE.repeat(3, 3).repeat(3, 2)]),
    "GridSample linear": (20, node("GridSample", "x0 x1", "y", mode="linear", align_corners=1),
                          [IMAGE, np.stack(np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 6)), -1)[None].astype(np.float32)], [IMAGE]),
    "Reshape allowzero": (21, node("Reshape", "x0 x1", "y", allowzero=1), [np.zeros((0, 3), np.float32), np.array([3, 0])], [np.zeros((3, 0))]),
}

def run(tmp_path, version, made, given, outputs, device="LLVM"):
    names = [f"x{k}" for k in range(len(given))]
    # The first input is one of the call, so that nothing of it is folded; the others are constants.
    graph = Graph([made], [port(n, str(np.asarray(v).dtype)) for n, v in zip(names[:1], given)], [port(n) for n in "yzw"[:outputs]],
                  dict(zip(names[1:], given[1:])))
    out = strata.onnx.load(write(tmp_path / "m.onnx", graph, version), device=device)(dict(zip(names[:1], given)))
    return [y.numpy() for y in (out.values() if isinstance(out, dict) else [out])]


@pytest.mark.parametrize("device", ["LLVM", "INTERP"])
@pytest.mark.parametrize("name", CASES)
def test_operators(tmp_path, name, device):
    version, made, given, expected = CASES[name]
    got = run(tmp_path, version, made, given, len(expected), device)
    for a, b in zip(got, expected, strict=True):
        b = np.asarray(b)
        assert a.shape == b.shape, (a.shape, b.shape)
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
        else:
            assert a.dtype == b.dtype and (a == b).all(), (a, b)


def test_texts(tmp_path):
    def of(op, *given):
        graph = Graph([node(op, "x0 x1", "y")], [port("x0", "text"), port("x1", "text")], [port("y", "text" if op != "Equal" else "bool")])
        out = strata.onnx.load(write(tmp_path / "m.onnx", graph, 20))(*given)
        return out if isinstance(out, list) else out.tolist()
    assert of("Equal", [["a", "b"], ["c", "b"]], ["c", "b"]) == [[False, True], [True, True]]
    assert of("StringConcat", ["a", "b"], [["x"], ["y"]]) == [["ax", "bx"], ["ay", "by"]]


@pytest.mark.parametrize("version, made, message", [
    (24, node("Relu", "x0", "y"), "the model asks for opset 24; Strata has 1 to 23"),
    (18, node("ReduceMax", "x0", "y", axes=[0]), r'\(ReduceMax\) has the attribute "axes", which Strata does not know for version 18'),
    (17, node("Mish", "x0", "y"), r"\(Mish\) of version 17"),
    (20, node("ImageDecoder", "x0", "y"), r"\(ImageDecoder\) of version 20"),
    (19, node("DeformConv", "x0 x0 x0", "y"), r"\(DeformConv\) of version 19"),
    (23, node("Attention", "x0 x0 x0", "y"), r"\(Attention\) of version 23"),
    (19, node("Cast", "x0", "y", to=17), "elements of ONNX's type 17"),
    (18, node("Split", "x0", "y z w", num_outputs=3), "does not split into 3 parts"),
])
def test_what_is_missing_is_refused(tmp_path, version, made, message):
    with pytest.raises(strata.Error, match=message):
        run(tmp_path, version, made, [np.ones((1, 1), np.float32)], 1)
