"""interpolate() beside PyTorch, and its options of ONNX's Resize beside a reference that is written from ONNX's specification."""
import itertools
import random
import zlib

import numpy as np
import pytest

import strata
from strata import Tensor
from strata.nn import functional as F

from onnx_writer import Graph, node, port, write

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="no torch")
COORDINATES = ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "tf_crop_and_resize"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


# --- the reference: a matrix for each axis, whose row has the weights of one output ---

def place(o, n, to, length, scale, coordinates, roi):
    if coordinates == "align_corners":
        return 0 if length == 1 else o * (n - 1) / (length - 1)
    if coordinates == "asymmetric":
        return o / scale
    if coordinates == "tf_crop_and_resize":
        if length <= 1:
            return 0.5 * (roi[0] + roi[1]) * (n - 1)
        return roi[0] * (n - 1) + o * (roi[1] - roi[0]) * (n - 1) / (length - 1)
    if coordinates == "pytorch_half_pixel" and length <= 1:
        return 0
    at = (o + 0.5) / scale - 0.5
    if coordinates == "half_pixel_symmetric":
        at += n / 2 * (1 - to / length)
    return at


def nearest(at, mode):
    if mode == "floor":
        return np.floor(at)
    if mode == "ceil":
        return np.ceil(at)
    low = np.floor(at)
    if at - low == 0.5:
        return low if mode == "round_prefer_floor" else low + 1
    return np.round(at)


def kernel(d, mode, a):
    d = abs(d)
    if mode == "linear":
        return max(0.0, 1 - d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def matrix(n, to, length, scale, o, roi):
    """The weights (to, n) of an axis, and which outputs lie outside."""
    weights, outside = np.zeros((to, n)), np.zeros(to, bool)
    for k in range(to):
        at = place(k, n, to, length, scale, o["coordinate_transformation_mode"], roi)
        outside[k] = o["coordinate_transformation_mode"] == "tf_crop_and_resize" and not 0 <= at <= n - 1
        if o["mode"] == "nearest":
            weights[k, int(min(max(nearest(at, o["nearest_mode"]), 0), n - 1))] = 1
            continue
        narrow = min(scale, 1.0) if o["antialias"] else 1.0
        reach = int(np.ceil(2 / narrow)) + 1
        around = {e: kernel((e - at) * narrow, o["mode"], o["cubic_coeff_a"]) for e in range(int(np.floor(at)) - reach, int(np.ceil(at)) + reach + 1)}
        if o["exclude_outside"]:
            around = {e: w if 0 <= e < n else 0.0 for e, w in around.items()}
        total = sum(around.values()) or 1.0
        for e, w in around.items():
            weights[k, min(max(e, 0), n - 1)] += w / total
    return weights, outside


def resize(x, axes, o, size=None, scale_factor=None, roi=None):
    y, masks = x.astype("float64"), []
    policy = o["keep_aspect_ratio_policy"]
    if policy != "stretch":
        common = (min if policy == "not_larger" else max)(s / x.shape[a] for s, a in zip(size, axes))
    for k, axis in enumerate(axes):
        n = x.shape[axis]
        if scale_factor is not None:
            scale = scale_factor[k]
            length, to = n * scale, int(np.floor(np.float32(n) * np.float32(scale)))
        elif policy != "stretch":
            scale, length, to = common, n * common, int(np.floor(n * common + 0.5))
        else:
            scale, length, to = size[k] / n, size[k], size[k]
        weights, outside = matrix(n, to, length, scale, o, None if roi is None else (roi[k], roi[k + len(axes)]))
        y = np.moveaxis(np.tensordot(weights, y, (1, axis)), 0, axis)
        masks.append((axis, outside))
    for axis, outside in masks:
        np.moveaxis(y, axis, 0)[outside] = o["extrapolation_value"]
    return y


def drawn(seed):
    r = random.Random(seed)
    shape = [r.randint(2, 6) for _ in range(r.randint(1, 4))]
    axes = r.sample(range(len(shape)), r.randint(1, min(2, len(shape))))
    mode = r.choice(["nearest", "linear", "cubic", "cubic"])
    o = {"mode": mode, "coordinate_transformation_mode": r.choice(COORDINATES), "nearest_mode": r.choice(NEAREST), "cubic_coeff_a": r.choice([-0.75, -0.5]),
         "exclude_outside": r.random() < 0.5, "antialias": mode != "nearest" and r.random() < 0.5, "extrapolation_value": 7.0, "keep_aspect_ratio_policy": "stretch"}
    given = {}
    if r.random() < 0.5:
        given["size"] = [r.randint(1, 10) for _ in axes]
        o["keep_aspect_ratio_policy"] = r.choice(["stretch", "stretch", "not_larger", "not_smaller"])
    else:
        # Quarters and eighths: places that are exact, so that of two nearest elements all choose the same.
        given["scale_factor"] = [r.choice([0.5, 0.75, 1.25, 1.5, 2.0, 2.5, 3.125]) for _ in axes]
    if o["coordinate_transformation_mode"] == "tf_crop_and_resize":
        given["roi"] = [r.choice([0.0, 0.25, -0.25]) for _ in axes] + [r.choice([1.0, 0.75, 1.5]) for _ in axes]
    return np.random.default_rng(seed).normal(size=shape), axes, o, given


@pytest.mark.parametrize("seed", range(60))
def test_drawn_options(seed):
    x, axes, o, given = drawn(seed)
    expected = resize(x, axes, o, **given)
    options = {name: value for name, value in o.items() if name != "nearest_mode" or o["mode"] == "nearest"}
    for device in ("LLVM", "INTERP"):
        got = Tensor(x, device=device).interpolate(axes=axes, **options, **given).numpy()
        assert got.shape == expected.shape and got.dtype == np.float64
        np.testing.assert_allclose(got, expected, atol=1e-9, err_msg=f"{x.shape} {axes} {options} {given}")
    assert Tensor(x.astype("float32")).interpolate(axes=axes, **options, **given).numpy() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("seed", range(24))
def test_resize_of_models(tmp_path, seed):
    x, axes, o, given = drawn(seed)
    x = x.astype("float32")
    attributes = {name: int(value) if isinstance(value, bool) else value for name, value in o.items()}
    constants = {"roi": np.array(given["roi"], np.float32) if "roi" in given else None,
                 "scales": np.array(given["scale_factor"], np.float32) if "scale_factor" in given else None, "sizes": np.array(given["size"]) if "size" in given else None}
    names = " ".join(name if value is not None else "_" for name, value in constants.items())
    graph = Graph([node("Resize", f"x {names}", "y", axes=axes, **attributes)], [port("x")], [port("y")], {name: value for name, value in constants.items() if value is not None})
    got = strata.onnx.load(write(tmp_path / "m.onnx", graph, 19))(x).numpy()
    np.testing.assert_allclose(got, resize(x, axes, o, **given), atol=1e-4, err_msg=f"{x.shape} {axes} {o} {given}")


def cases():
    for mode, shape, sizes in (("linear", (2, 3, 7), [(4,), (13,), (1,)]), ("bilinear", (1, 2, 6, 9), [(3, 4), (11, 20), (6, 5)]),
                               ("bicubic", (1, 2, 6, 9), [(3, 4), (11, 20), (1, 9)]), ("trilinear", (1, 1, 3, 4, 5), [(5, 2, 5)]),
                               ("nearest", (1, 2, 6, 9), [(3, 4), (11, 20)]), ("nearest-exact", (1, 2, 6, 9), [(3, 4), (11, 20)]), ("area", (1, 2, 6, 9), [(3, 4), (4, 2)])):
        is_weighted = mode in ("linear", "bilinear", "bicubic", "trilinear")
        given = [{"size": s} for s in sizes] + [{"scale_factor": f, "recompute_scale_factor": again} for f in (0.6, 1.7, 2.0) for again in (None, True)]
        for g, align, antialias in itertools.product(given, (False, True) if is_weighted else (None,), (False, True) if mode in ("bilinear", "bicubic") else (False,)):
            # NOTE: with both, PyTorch does not align the corners.
            if not (align and antialias):
                yield mode, shape, {**g, "align_corners": align, "antialias": antialias}


@needs_torch
@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear", "nearest", "nearest-exact", "area"])
def test_beside_torch(mode):
    for m, shape, options in cases():
        if m != mode:
            continue
        x = np.random.default_rng(zlib.crc32(repr(options).encode())).normal(size=shape)
        for dtype in ("float32", "float64"):
            t = torch.tensor(x.astype(dtype), requires_grad=True)
            expected = torch.nn.functional.interpolate(t, mode=mode, **options)
            expected.square().sum().backward()
            s = Tensor(x.astype(dtype), requires_grad=True)
            got = F.interpolate(s, mode=mode, **options)
            got.square().sum().backward()
            most = {"float32": 3e-5, "float64": 1e-11}[dtype]
            np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), atol=most, err_msg=str(options))
            np.testing.assert_allclose(s.grad.numpy(), t.grad.numpy(), atol=30 * most, err_msg=str(options))


def test_integers_and_axes():
    x = Tensor([[1, 2], [3, 4]])
    assert x.interpolate(scale_factor=2, axes=1).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]
    assert x.interpolate(size=4, axes=[-2]).tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert x.interpolate(size=[3, 1], axes=[0, 1], coordinate_transformation_mode="align_corners", nearest_mode="ceil").tolist() == [[1], [3], [3]]
    assert x.interpolate(size=[4, 6], axes=[0, 1], keep_aspect_ratio_policy="not_larger").shape == (4, 4)
    assert x.interpolate(scale_factor=0.25, axes=0, coordinate_transformation_mode="asymmetric").shape == (0, 2)
    n = strata.Variable("n", 1, 8)
    rows = Tensor(np.arange(16.0).reshape(8, 2)).realize()[: n.bind(3)]
    assert rows.interpolate(size=4, axes=1).tolist() == [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]


IMAGE = Tensor(np.zeros((1, 1, 4, 4), "float32"))


@pytest.mark.parametrize("options, words", [
    (dict(), "either a size or a factor is expected"),
    (dict(size=2, scale_factor=2), "either a size or a factor is expected"),
    (dict(size=2, align_corners=True), "align_corners is for the modes linear and cubic alone; a coordinate_transformation_mode is for all"),
    (dict(size=2, antialias=True), "antialias is for the modes linear and cubic alone"),
    (dict(size=2, mode="bicubic", align_corners=True, coordinate_transformation_mode="asymmetric"), "align_corners is a coordinate_transformation_mode; another one is given"),
    (dict(size=2, mode="cubic", nearest_mode="floor"), "nearest_mode is for the modes nearest alone"),
    (dict(size=2, mode="area", axes=[2, 3]), "the mode area has no coordinates"),
    (dict(size=2, roi=[0, 0, 1, 1]), "a roi is for the coordinate_transformation_mode tf_crop_and_resize alone"),
    (dict(size=2, roi=[0, 1], coordinate_transformation_mode="tf_crop_and_resize"), "needs a roi of 4 numbers for 2 axes; 2 are given"),
    (dict(size=2, roi=[0, 0, 1, 1e40], coordinate_transformation_mode="tf_crop_and_resize"), "output 1 of axis 3 lies 2\\*\\*50 elements or more beyond the input"),
    (dict(scale_factor=2, keep_aspect_ratio_policy="not_larger"), "keep_aspect_ratio_policy is for sizes; a factor is given"),
    (dict(size=2, axes=[2, -2]), "axis -2 is given twice"),
    (dict(size=2, axes=4), r"axis 4 is not one of the shape \(1, 1, 4, 4\)"),
    (dict(size=[1, 2, 3]), "size of 3 axes, not 2"),
    (dict(scale_factor=[1, 2, 3]), "3 factors for 2 axes"),
    (dict(size=2, coordinate_transformation_mode="half"), "coordinate_transformation_mode"),
    (dict(size=2, nearest_mode="round"), "nearest_mode"),
    (dict(size=2, keep_aspect_ratio_policy="keep"), "keep_aspect_ratio_policy"),
    (dict(size=1 << 23, mode="bicubic"), "the size 8388608 of axis 2, with 4 elements each, is more than 16777216"),
])
def test_refusals(options, words):
    with pytest.raises(Exception, match=words):
        IMAGE.interpolate(**options)
