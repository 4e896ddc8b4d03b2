"""export_c(kernels=...): kernels for devices with a table of their launches. A small host (opencl_host.py) runs those in OpenCL from the
table alone; those in CUDA are compiled where nvcc is; of the others the texts agree with the table."""
import json
import re
import shutil

import numpy as np
import pytest

import opencl_host
import strata
from exported import call_twice, make_mlp, make_symbolic, normal, run
from strata import Tensor

LANGUAGES = ["opencl", "cuda", "metal", "wgsl"]
NEEDS_OPENCL = pytest.mark.skipif(opencl_host.library() is None, reason="there is no device of OpenCL")
NVCC = shutil.which("nvcc")


@pytest.fixture(autouse=True)
def deterministic():
    with strata.flags(DETERMINISTIC=True):
        yield


def numpy_of(*tensors):
    return [np.array(t.numpy(), order="C") for t in tensors]


def agrees(got, want):
    if want.dtype.kind != "f":
        assert np.array_equal(got, want)
    else:
        assert got.shape == want.shape and np.allclose(got.astype("f8"), want.astype("f8"), rtol=2e-3 if want.dtype == np.float16 else 2e-5, atol=1e-5, equal_nan=True)


def check(f, folder, arguments, **options):
    """The results of the host are those of this process, for groups of one and of several work-items."""
    want = f(*arguments)
    want = numpy_of(*(want if isinstance(want, tuple) else (want,)))
    f.export_c(folder / "m", kernels="opencl", **options)
    for group in (1, 16):
        got = opencl_host.Model(folder / "m").run(*numpy_of(*arguments), group=group)
        assert len(got) == len(want)
        for g, w in zip(got, want):
            agrees(g, w)


@NEEDS_OPENCL
def test_nets(tmp_path):
    rng = np.random.default_rng(60)
    mlp, x, _ = make_mlp(rng, rows=32)
    check(mlp, tmp_path, [x])
    k1, w = normal(rng, 8, 1, 3, 3), normal(rng, 512, 10)

    @strata.jit
    def net(x):
        return x.conv2d(k1, padding=1).relu().max_pool2d(2).flatten(1) @ w, x.sum(), x * 1

    x = normal(rng, 2, 1, 16, 16)
    call_twice(net, x)
    check(net, tmp_path, [x])
    assert {f.name for f in tmp_path.iterdir()} == {"m.json", "m.cl", "m.bin"}


@NEEDS_OPENCL
def test_dtypes_and_functions(tmp_path):
    rng = np.random.default_rng(61)

    @strata.jit
    def mixed(a, b, c):
        return (a.exp(), (b // 3 + b % 5).max(0), c.logical_not(), a.abs().sqrt().floor(), a.sin(), (a > 0).sum(), (b << 2) ^ b, a.argmax(1),
                a.cast("i8").cast("i16"), a.cast("f16") * 2, a.sum(1), b.cast("i64") * b.cast("i64"), a.cumsum(1), a.transpose(0, 1).contiguous())

    arguments = [normal(rng, 6, 70), Tensor(rng.integers(-20, 20, (6, 7)).astype("i4")), Tensor(rng.integers(0, 2, (6, 7)).astype(bool))]
    call_twice(mixed, *arguments)
    check(mixed, tmp_path, arguments)


@NEEDS_OPENCL
def test_sizes(tmp_path):
    symbolic, rows = make_symbolic(np.random.default_rng(62))
    symbolic.export_c(tmp_path / "m", kernels="opencl", outputs=["scores", "total"])
    model = opencl_host.Model(tmp_path / "m")
    assert model.table["sizes"] == [{"name": "n", "min": 1, "max": 64}]
    assert [b["name"] for b in model.table["buffers"] if "name" in b] == ["x", "scores", "total"]
    for k in (1, 2, 5, 13, 64):
        for got, want in zip(model.run(*numpy_of(rows(k)), n=k, group=8), symbolic(rows(k))):
            agrees(got, want.numpy())


FUNCTIONS = {
    "softmax": lambda x: x.softmax(-1), "attention": lambda x: (x @ x.transpose(0, 1)).softmax(-1) @ x, "sum": lambda x: x.sum(),
    "columns": lambda x: x.sum(0), "turned": lambda x: x.transpose(0, 1).contiguous() * 2, "running": lambda x: x.cumsum(0),
    "joined": lambda x: strata.cat([x.flip(0), x * 2], 0), "norm": lambda x: x * ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt().reciprocal()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_sizes(tmp_path, name):
    """Each language has them: what is left over of a size needs no integers of 64 bits, which Metal and WGSL do not have."""
    n, full = strata.Variable("n", 1, 100), normal(np.random.default_rng(68), 100, 32)
    rows = lambda k: full.shrink(((0, n.bind(k)), (0, 32))).contiguous()
    f = strata.jit(FUNCTIONS[name])
    for k in (5, 7):
        f(rows(k))
    for language in LANGUAGES:
        f.export_c(tmp_path / "m", kernels=language)
    if opencl_host.library() is None:
        pytest.skip("there is no device of OpenCL")
    f.export_c(tmp_path / "m", kernels="opencl")
    model = opencl_host.Model(tmp_path / "m")
    for k, group in ((1, 8), (17, 1), (100, 8)):
        agrees(model.run(*numpy_of(rows(k)), n=k, group=group)[0], np.array(f(rows(k)).numpy()))


@NEEDS_OPENCL
def test_state_and_arguments_that_are_written(tmp_path):
    """A state goes on from run to run, from that of the export; and what is updated in place is not read and written by one launch."""
    total = Tensor(np.arange(12, dtype="f4").reshape(3, 4))
    zeros = Tensor(np.zeros(4, "f4"))

    @strata.jit
    def f(x, held):
        total.assign(total.transpose(0, 1).reshape(3, 4) * 0.5 + x)
        zeros.assign(zeros + x.sum(0))
        held.assign(held.flip(0) + 1)
        return total * 1, zeros + 0

    rng = np.random.default_rng(63)
    for _ in range(2):
        f(normal(rng, 3, 4), Tensor(np.ones(5, "f4")))
    info = f.export_c(tmp_path / "m", kernels="opencl", states=["total", "zeros"])
    assert info["state_bytes"] == 128
    model = opencl_host.Model(tmp_path / "m")
    for step in model.table["steps"]:
        if "copy" not in step:
            parameters = model.table["kernels"][step["kernel"]]["parameters"]
            written = [a for a, p in zip(step["arguments"], parameters) if p.get("access", "read") != "read"]
            assert all(step["arguments"][:len(parameters)].count(a) == 1 for a in written)
    for _ in range(3):
        x, held = normal(rng, 3, 4), Tensor(np.arange(5, dtype="f4"))
        before = numpy_of(x, held)
        want = numpy_of(*f(x, held), held)
        got = model.run(*before)
        agrees(got[0], want[2])  # buffers have the order of the arguments, then that of the results
        agrees(got[1], want[0])
        agrees(got[2], want[1])


@NEEDS_OPENCL
def test_weights(tmp_path):
    rng = np.random.default_rng(64)
    mlp, x, _ = make_mlp(rng)
    info = mlp.export_c(tmp_path / "m", kernels="opencl")
    assert (tmp_path / "m.bin").stat().st_size == info["constant_bytes"]
    w = Tensor((rng.integers(-512, 512, (64, 32)) / 256).astype("f4"))

    @strata.jit
    def f(x):
        return x @ w

    call_twice(f, x)
    check(f, tmp_path, [x], weight_dtype="f16")
    assert f.export_c(tmp_path / "m", kernels="opencl", weight_dtype="f16")["constant_bytes"] == 64 * 32 * 2
    with pytest.raises(strata.Error, match="m needs 8192 bytes of flash, max_flash is 8000"):
        f.export_c(tmp_path / "m", kernels="opencl", max_flash=8000)


@NEEDS_OPENCL
def test_random_functions(tmp_path):
    from test_export import random_function
    for k in range(10):
        rng = np.random.default_rng(900 + k)
        f, arguments = random_function(rng), [normal(rng, 6, 6), normal(rng, 6, 6)]
        call_twice(f, *arguments)
        check(f, tmp_path, arguments)


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_agree_with_the_table(tmp_path, language):
    symbolic, _ = make_symbolic(np.random.default_rng(65))
    files = symbolic.export_c(tmp_path / "m", kernels=language, lines=False)["files"]
    table = json.loads((tmp_path / "m.json").read_text())
    assert {f.name for f in tmp_path.iterdir()} == set(files) == {"m.json", "m.bin", *(k["file"] for k in table["kernels"])}
    assert table["language"] == language and table["deterministic"]
    head = {"opencl": r"__kernel void {}\((.*)\) {{", "cuda": r'extern "C" __global__ void {}\((.*)\) {{', "metal": r"kernel void {}\((.*)\) {{",
            "wgsl": r"fn {}\((.*)\) {{"}[language]
    for kernel in table["kernels"]:
        text = (tmp_path / kernel["file"]).read_text()
        parameters = re.search(head.format(kernel["function"]), text)[1].split(", ")
        if language == "wgsl":
            assert re.findall(r"@binding\((\d+)\)", text) == [str(k) for k in range(len(kernel["parameters"]))]
            written = ["read_write" in line for line in re.findall(r"@binding.*", text)]
            assert f"@workgroup_size({kernel['group']}" in text
        else:
            parameters = [p for p in parameters if "[[thread" not in p]  # Metal's indices
            assert len(parameters) == len(kernel["parameters"])
            written = ["*" in p and not re.search(r"\bconst ", p) for p in parameters]
            assert kernel.get("group") in (None, 1)
        assert written == [p.get("access", "read") != "read" for p in kernel["parameters"]]
    for step in table["steps"]:
        assert len(step["arguments"]) == len(table["kernels"][step["kernel"]]["parameters"])
    again = {f: (tmp_path / f).read_bytes() for f in files}
    symbolic.export_c(tmp_path / "m", kernels=language, lines=False)
    assert all((tmp_path / f).read_bytes() == content for f, content in again.items())


@pytest.mark.skipif(NVCC is None, reason="nvcc is not here")
def test_cuda_is_compiled(tmp_path):
    mlp, _, _ = make_mlp(np.random.default_rng(66))
    mlp.export_c(tmp_path / "m", kernels="cuda")
    run(NVCC, "-ptx", "-Werror=all-warnings", tmp_path / "m.cu", "-o", tmp_path / "m.ptx")
    text = (tmp_path / "m.ptx").read_text()
    for kernel in json.loads((tmp_path / "m.json").read_text())["kernels"]:
        assert f".visible .entry {kernel['function']}(" in text


def test_refusals(tmp_path):
    rng = np.random.default_rng(67)
    x = normal(rng, 4, 40)

    def refused(f, words, language="opencl", arguments=(x,), **options):
        call_twice(f, *arguments)
        with pytest.raises(strata.Error) as error:
            f.export_c(tmp_path / "m", kernels=language, **options)
        assert words in str(error.value), str(error.value)
        assert not list(tmp_path.iterdir())

    refused(strata.jit(lambda x: x + 1), 'kernels in "vulkan" are not written: the languages are opencl, cuda, metal, wgsl', "vulkan")
    refused(strata.jit(lambda x: x.cast("f64") * 2), "cannot be written in wgsl: [render] WGSL has no f64", "wgsl")
    refused(strata.jit(lambda x: x.cast("f64") * 2), "cannot be written in metal: [render] Metal has no f64", "metal")
    refused(strata.jit(lambda x: x > 0), "cannot be written in wgsl: [render] memory cannot hold bool in WGSL", "wgsl")
    refused(strata.jit(lambda x: x.sort(1)[0]), "for which there is no kernel in opencl")
    refused(strata.jit(lambda x: strata.scan(lambda h, v: (h + v, h * v), x[0] * 0, x)[1]), "which a table of launches in opencl cannot say")
    refused(strata.jit(lambda x: x + strata.rand(4, 40)), "draws random numbers: a table of launches has no counter")
    for option, words in (({"target": "avx2"}, 'no C file: they have no target ("avx2")'), ({"selftest": True}, "they have no self test"),
                          ({"cpp": True}, "they have no class for C++"), ({"weights": "file"}, "no head in front of their weights")):
        refused(strata.jit(lambda x: x + 1), words, **option)
