"""abstractions.py.txt: the whole script, from a tensor down to C, with only its import lines changed."""
import contextlib
import io

import numpy as np
import pytest
import strata
from spec_blocks import FOLDER, with_our_imports, words
from strata import BinaryOps, LoadOps, ReduceOps, UnaryOps, Variable

SCRIPT = FOLDER / "abstractions.py"

LINEARIZED = """\
   0 UOps.DEFINE_GLOBAL  : ptr.dtypes.float          []                               ('data0', dtypes.float)
   1 UOps.CONST          : dtypes.float              []                               2.0
   2 UOps.CONST          : dtypes.float              []                               3.0
   3 UOps.ALU            : dtypes.float              [1, 2]                           BinaryOps.ADD
   4 UOps.CONST          : dtypes.int                []                               0
   5 UOps.STORE          :                           [0, 4, 3]                        None
"""


def view(shape, strides, contiguous=False):
    return f"View(shape={shape}, strides={strides}, offset=0, mask=None, contiguous={contiguous})"


# The document prints an older, shorter form; the long one is right.
TWO_VIEWS = [view((5, 2, 5, 2), (2, 1, 20, 10)), view((100,), (1,), True)]
TRACKERS = [
    f"ShapeTracker(views=({view((10, 10), (10, 1), True)},))",
    f"ShapeTracker(views=({view((10, 10), (1, 10))},))",
    f"ShapeTracker(views=({view((5, 2, 5, 2), (2, 1, 20, 10))},))",
    f"ShapeTracker(views=({TWO_VIEWS[0]}, {TWO_VIEWS[1]}))",
    "(((idx0%10)*10)+(idx0//10))",
    "((idx1*10)+idx0)",
    f"ShapeTracker(views=({TWO_VIEWS[0]}, {view((10, 10), (10, 1), True)}))",
    f"ShapeTracker(views=({view((10, 10), (1, 10))},))",
    f"ShapeTracker(views=({view((10, 10), (10, 1), True)},))",
]
VARIABLES = ["0 100", "0 20", "(a%10)", "(a*2)", "0 20"]


@pytest.fixture(scope="module")
def ran():
    """What the script prints, line by line, and what it defines."""
    names, printed = {"__name__": "abstractions"}, io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(with_our_imports(SCRIPT.read_text()), str(SCRIPT), "exec"), names)
    finally:
        strata.Device.DEFAULT = None
    return printed.getvalue(), names


def lines_after(printed, first, count):
    lines = printed.splitlines()
    at = lines.index(first)
    return lines[at:at + count]


def test_the_copy_is_the_document_up_to_white_space():
    text = (FOLDER / "abstractions.py.txt").read_text()
    assert words(SCRIPT.read_text()) == words(text[text.index('"""'):])
    assert words(text[:text.index('"""')]) == "openpilot1/tinygrad_repo/docs/abstractions.py 399 lines 15 KiB Python".split()


def test_only_imports_change():
    before, after = SCRIPT.read_text().splitlines(), with_our_imports(SCRIPT.read_text()).splitlines()
    changed = [(a, b) for a, b in zip(before, after) if a != b]
    assert len(before) == len(after) and len(changed) == 15
    assert all(a.split()[0] in ("from", "import") and a.replace("tinygrad", "strata.spec", 1) == b for a, b in changed)


def test_two_and_three_make_five(ran):
    assert ran[0].splitlines()[0] == "[2.] + [3.] = [5.]"


def test_the_lazydata_is_printed(ran):
    assert ran[0].splitlines()[1] == \
        "<class 'strata.spec.lazy.LazyBuffer'> <LB (1,) dtypes.float CLANG op=BinaryOps.ADD>"


def test_raw_clang(ran):
    assert ran[0].splitlines()[2] == "[5.]"
    assert ran[1]["output"].toCPU().dtype == np.float32


def test_the_uops_of_two_plus_three(ran):
    assert "".join(line + "\n" for line in ran[0].splitlines()[3:9]) == LINEARIZED
    # The document's own listing, which lost its columns.
    listing = SCRIPT.read_text().split("# output:")[1].split('"""')[1]
    assert words(listing) == words(LINEARIZED)


def test_the_generated_c(ran):
    _, names = ran
    program = names["prg"].prg
    document = SCRIPT.read_text().split("NOTE: the 2 and 3 are constant folded")[1].split('"""')[1]
    assert words(program.replace(names["prg"].name, "E_n2")) == words(document)
    assert program in ran[0]
    assert [b.toCPU().tolist() for b in names["bufs"]] == [[5.0]]


def test_shape_trackers_and_variables(ran):
    assert ran[0].splitlines()[-len(TRACKERS + VARIABLES):] == TRACKERS + VARIABLES


# --- the same layers, without the script ---

@pytest.fixture(autouse=True)
def clang():
    strata.Device.DEFAULT = "CLANG"
    yield
    strata.Device.DEFAULT = None


def test_kinds_of_nodes():
    from strata.spec.tensor import Tensor
    result = Tensor([2]) + Tensor([3])
    add = result.lazydata.op
    assert add.op == BinaryOps.ADD and [s.op.op for s in add.src] == [LoadOps.FROM] * 2
    assert [s.op.src[0].op.src[0].realized.toCPU().tolist() for s in add.src] == [[2.0], [3.0]]
    assert result.lazydata.realized is None
    result.realize()
    assert result.lazydata.op is None and result.lazydata.realized.toCPU().tolist() == [5.0]


def test_backends_are_a_table_or_a_code_generator():
    from strata.spec.ops import Compiled, Device, Interpreted
    from strata.spec.runtime.lib import RawMallocBuffer, RawNumpyBuffer
    kernel = strata.parse_kernel("a: f32[3,4]; b: f32[4]; c = (exp2(a)*b).sum(1) + 1")
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4) / 4, np.array([1, -2, 3, -4], np.float32)
    want = (np.exp2(a) * b).sum(1, keepdims=True) + 1
    interpreted, compiled = Device["CPU"], Device["CLANG"]
    assert isinstance(interpreted, Interpreted) and isinstance(compiled, Compiled)
    assert interpreted.fxn_for_op[UnaryOps.EXP2](3.0) == 8.0 and interpreted.fxn_for_op[BinaryOps.ADD](2, 3) == 5
    for backend in (interpreted, compiled):
        out = backend.buffer.fromCPU(np.zeros(3, np.float32))
        backend.exec_ast(kernel, [out, backend.buffer.fromCPU(a.reshape(-1)), backend.buffer.fromCPU(b)])
        np.testing.assert_allclose(out.toCPU(), want.reshape(-1), rtol=1e-5)
    assert (interpreted.buffer, compiled.buffer) == (RawNumpyBuffer, RawMallocBuffer)
    with pytest.raises(KeyError, match="CPU and CLANG"):
        Device["TPU"]


def test_the_table_knows_each_op():
    from strata.spec.numpy_ops import fxn_for_op
    from strata import TernaryOps
    kinds = [UnaryOps, BinaryOps, TernaryOps, ReduceOps]
    assert {op for kind in kinds for op in kind} == set(fxn_for_op) | {UnaryOps.CAST, UnaryOps.BITCAST}


@pytest.mark.parametrize("text", [
    "a: i32[4]; b: i32[4]; c = a//b + a%b", "a: f32[4]; b: f32[4]; c = pad(a*b, 1:2).sum()",
    "a: f32[4]; b: f32[4]; c = where(a < b, a, b).flip(0)", "a: i32[4]; b: i32[4]; c = max(a, b) ^ (a & b)",
    "a: f32[4]; b: f32[4]; c = (a @ b).cast(i32)", "a: i32[4]; b: i32[4]; c = iota(4) * a - b << 1"])
def test_the_table_agrees_with_strata(text):
    from strata.spec.ops import Device
    from strata.spec.runtime.lib import RawNumpyBuffer
    kernel = strata.parse_kernel(text)
    program = strata.Device.get("INTERP").compile(kernel)
    out, a, b = program.kernel.buffers
    inputs = [np.array(v, a["dtype"].numpy) for v in ([7, -7, 5, 0], [3, 2, -4, 6])]
    ours, theirs = (np.full(out["size"], 9, out["dtype"].numpy) for _ in range(2))
    program(ours, *inputs)
    Device["CPU"].exec_ast(kernel, [RawNumpyBuffer(x) for x in (theirs, *inputs)])
    np.testing.assert_array_equal(ours, theirs)


def test_functions_have_gradients():
    from strata.spec import mlops
    from strata.spec.tensor import Tensor
    x = Tensor([1.0, 2.0, 4.0], requires_grad=True)
    y = mlops.Sum.apply(mlops.Log.apply(x), new_shape=(1,))
    np.testing.assert_allclose(y.numpy(), [np.log(8)], rtol=1e-6)
    y.reshape(()).backward()
    np.testing.assert_allclose(x.grad.numpy(), [1, 0.5, 0.25], rtol=1e-6)


def test_each_function():
    from strata.spec import mlops
    from strata.spec.helpers import dtypes
    from strata.spec.tensor import Tensor
    a, b = np.array([[0.5, -1.5], [2.0, 3.0]], np.float32), np.array([[1.0, 2.0], [-1.0, 4.0]], np.float32)
    x, y = Tensor(a), Tensor(b)
    table = {
        mlops.Neg: -a, mlops.Sin: np.sin(a), mlops.Relu: np.maximum(a, 0), mlops.Exp: np.exp(a),
        mlops.Sigmoid: 1 / (1 + np.exp(-a)), mlops.Contiguous: a,
    }
    for function, want in table.items():
        np.testing.assert_allclose(function.apply(x).numpy(), want, rtol=1e-5, err_msg=function.__name__)
    for function, want in {mlops.Less: a < b, mlops.Add: a + b, mlops.Sub: a - b, mlops.Mul: a * b, mlops.Div: a / b}.items():
        np.testing.assert_allclose(function.apply(x, y).numpy(), want, rtol=1e-6, err_msg=function.__name__)
    np.testing.assert_allclose(mlops.Sqrt.apply(Tensor(abs(a))).numpy(), np.sqrt(abs(a)), rtol=1e-6)
    np.testing.assert_array_equal(mlops.Where.apply(mlops.Less.apply(x, y), x, y).numpy(), np.where(a < b, a, b))
    np.testing.assert_array_equal(mlops.Max.apply(x, new_shape=(2, 1)).numpy(), a.max(1, keepdims=True))
    np.testing.assert_array_equal(mlops.Reshape.apply(x, shape=(4,)).numpy(), a.reshape(4))
    np.testing.assert_array_equal(mlops.Permute.apply(x, order=(1, 0)).numpy(), a.T)
    np.testing.assert_array_equal(mlops.Expand.apply(Tensor(a[:1]), shape=(3, 2)).numpy(), np.repeat(a[:1], 3, 0))
    np.testing.assert_array_equal(mlops.Pad.apply(x, arg=((1, 0), (0, 2))).numpy(), np.pad(a, ((1, 0), (0, 2))))
    np.testing.assert_array_equal(mlops.Shrink.apply(x, arg=((0, 1), (1, 2))).numpy(), a[0:1, 1:2])
    np.testing.assert_array_equal(mlops.Flip.apply(x, axis=(0,)).numpy(), a[::-1])
    assert mlops.Cast.apply(x, dtype=dtypes.int32).numpy().dtype == np.int32


def test_shape_trackers_of_lazy_buffers():
    from strata.spec.tensor import Tensor
    x = Tensor(np.zeros((2, 3), np.float32)).lazydata
    assert x.permute((1, 0)).reshape((6,)).st.shape == (6,)
    assert x.permute((1, 0)).st.views[0].strides == (1, 3)
    assert "LB (2, 3)" in repr(x)


def test_collectors_do_not_nest():
    from strata.spec.jit import CacheCollector
    with pytest.raises(RuntimeError, match="no start"):
        CacheCollector.finish()
    CacheCollector.start()
    with pytest.raises(RuntimeError, match="did not finish"):
        CacheCollector.start()
    assert CacheCollector.finish() == []


def test_lists_grow_at_their_end():
    from strata.spec.codegen.uops import UOpGraph, UOps
    uops = UOpGraph()
    first = uops.add(UOps.CONST, "int32", arg=1, insert_before=0)
    assert first.num == 0 and uops.add(UOps.CONST, "int32", arg=1) == first
    with pytest.raises(ValueError, match="grows at the end"):
        uops.add(UOps.CONST, "int32", arg=2, insert_before=0)


def test_codegen_writes_a_program():
    from strata.spec.renderer.cstyle import CStyleCodegen
    runner = CStyleCodegen(strata.parse_kernel("a: f32[4]; c = a + 1")).codegen()
    assert runner.prg.startswith(f"void {runner.name}(float* restrict data0, const float* restrict data1) {{")
    with pytest.raises(TypeError, match="not an AST of a kernel"):
        from strata.spec.ops import LazyOp
        CStyleCodegen(LazyOp(BinaryOps.ADD))


def test_variables_are_those_of_strata():
    from strata.spec.shape import symbolic
    assert symbolic.Variable is Variable
