"""UOps, the Linearizer, renderers, devices, buffers and programs."""
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
import strata
from strata import (BinaryOps, Buffer, ClangProgram, CLanguage, Device, KernelLog, LazyOp, Linearizer, MetalLanguage, ReduceOps,
                    ShapeTracker, UOpGraph, UOps, Variable, compile_clang, compile_kernel, interpret, parse_kernel,
                    uops_to_cstyle, uops_to_llvm)

DEVICES = [d.name for d in Device.list() if not d.missing and d.name in ("LLVM", "CLANG", "INTERP")]


def two_plus_three():
    uops = UOpGraph()
    out = uops.add(UOps.DEFINE_GLOBAL, "float32", (), ("data0", strata.float32))
    total = uops.alu(BinaryOps.ADD, uops.constant(2.0, "f32"), uops.constant(3.0, "f32"))
    uops.add(UOps.STORE, None, (out, uops.constant(0), total))
    return uops


# --- lists ---

def test_a_list_made_by_hand():
    uops = two_plus_three()
    uops.verify()
    assert [u.op for u in uops] == [UOps.DEFINE_GLOBAL, UOps.CONST, UOps.CONST, UOps.ALU, UOps.CONST, UOps.STORE]
    assert [u.num for u in uops[5].src] == [0, 4, 3] and uops[3].arg == BinaryOps.ADD and uops[1].arg == 2.0
    assert uops[0].arg == ("data0", strata.float32) and uops[5].dtype is None and uops[1].dtype == np.float32
    assert uops[-1] == uops[5] != uops[4] and len({uops[1], uops[1], uops[2]}) == 2 and uops[3].vin == uops[3].src
    assert UOpGraph.parse(uops.text()).text() == uops.text() == str(uops) and repr(uops) == "<UOpGraph of 6 UOps>"
    out = Buffer(1)
    interpret(uops, [out])
    assert out.tolist() == [5.0]


def test_uops_keep_their_list():
    last = two_plus_three()[-1]
    gc.collect()
    assert last.src[2].arg == BinaryOps.ADD and str(last).split()[:2] == ["5", "UOps.STORE"]


def test_each_kind_of_argument():
    uops = UOpGraph()
    loop = uops.add("LOOP", "int32", (uops.constant(0), uops.constant(4)), cachable=False)
    one = uops.constant(1.0, "float32")
    for arg in (ReduceOps.SUM, (ReduceOps.SUM, 1)):  # an op alone: all loops at the end
        assert uops.add("REDUCE", "float32", (one, one, loop), arg).arg == (ReduceOps.SUM, 1)
    with pytest.raises(strata.DomainError, match=r"2 loops among 3 sources"):
        uops.add("REDUCE", "float32", (one, one, loop), (ReduceOps.SUM, 2))
    uops = UOpGraph()
    n = uops.add("DEFINE_VAR", "int32", arg=Variable("n", 1, 9))
    local = uops.add("DEFINE_LOCAL", "float32", arg=("temp0", 16))
    special = uops.add(UOps.SPECIAL, "int32", arg=("gidx0", 0, 64))
    named = uops.add(UOps.DEFINE_GLOBAL, "float32", arg=("out", None, 3))
    true, big = uops.constant(True, "bool"), uops.constant(2**64 - 1, "uint64")
    assert (n.arg.name, local.arg, special.arg, named.arg[2], true.arg, big.arg) == ("n", ("temp0", 16), ("gidx0", 0, 64), 3, True, 2**64 - 1)
    assert uops.add("DEFINE_GLOBAL", "float32", arg=2).arg[0] == "data2"
    assert uops.cast(uops.constant(3), "f32").dtype == strata.float32


@pytest.mark.parametrize("mistake, error", [
    (lambda u: u.add("NOPE"), strata.DomainError), (lambda u: u.add("STORE"), strata.DomainError),
    (lambda u: u.add("CONST", "int32", arg=1.5), TypeError), (lambda u: u.add("CONST", "int32", arg="x"), TypeError),
    (lambda u: u.add("ALU", "int32", (u.constant(1), u.constant(2)), "NOPE"), strata.DomainError),
    (lambda u: u.alu("ADD", u.constant(1), u.constant(1.0, "f32")), strata.DomainError),
    (lambda u: u.alu("ADD", u.constant(1), UOpGraph().constant(1)), strata.Error),
    (lambda u: u.add("DEFINE_GLOBAL", "float32", arg="out"), strata.DomainError), (lambda u: u[7], IndexError),
    (lambda u: u.constant(float("nan")), TypeError), (lambda u: u.constant(2**70, "uint64"), (OverflowError, RuntimeError, TypeError)),
    (lambda u: UOpGraph.parse("0 nonsense"), strata.ParseError)])
def test_mistakes_in_lists(mistake, error):
    with pytest.raises(error):
        mistake(UOpGraph())


def test_enums_of_ops():
    assert str(BinaryOps.ADD) == "BinaryOps.ADD" and str(ReduceOps.MAX) == "ReduceOps.MAX" and BinaryOps.MAX != ReduceOps.MAX
    assert pickle.loads(pickle.dumps(UOps.LOOP)) is UOps.LOOP
    assert parse_kernel("a: f32[4]; c = a.max(0)").src[0].src[0].op == ReduceOps.MAX


# --- the Linearizer ---

def test_linearize_and_opts():
    k = Linearizer(parse_kernel("a: f32[16]; b: f32[16]; c = (a*b).sum()"))
    k.linearize()
    assert [u.op for u in k.uops].count(UOps.LOOP) == 1
    k.linearize("UNROLL 1 16")
    assert [u.op for u in k.uops].count(UOps.LOOP) == 0 and [u.op for u in k.uops].count(UOps.LOAD) == 32
    with pytest.raises(strata.ParseError):
        k.linearize("NOPE 1")
    with pytest.raises(strata.DomainError):
        k.linearize("UPCAST 7 4")
    with pytest.raises(strata.DomainError):
        Linearizer(LazyOp.constant(1.0, "f32", (1,)))


def test_loops_by_hand():
    k = Linearizer(parse_kernel("a: f32[4]; c = a + 1"))
    k.uops = uops = UOpGraph()
    n, i = Variable("n", 1, 100), Variable("i", 0, 99)
    (loop,) = k.render_loop([(i, 0, n)])
    index = k.render(i * 3 + n)
    assert loop in list(uops) and k.loop_uops == [(i, loop)] and index.op == UOps.ALU and k.constant(7).arg == 7
    with pytest.raises(strata.DomainError, match="not closed"):
        uops.verify()
    k.close_loops()
    uops.verify()
    assert k.loop_uops == [] and "for (int ridx0 = 0; ridx0 < n; ridx0++) {" in uops_to_cstyle(CLanguage(), "loops", uops)
    k.uops = UOpGraph()
    k.loop_uops = {}
    with pytest.raises(strata.DomainError):
        k.loop_uops = [(i, loop)]  # of the list before


def test_kernels_do_not_change():
    kernel = compile_kernel(parse_kernel("a: f32[8]; c = a * 2"), opts="")
    assert (kernel.name, kernel.axes, kernel.opts, kernel.variables) == ("E_8", "0 output 8: loop 8\n", "", [])
    assert [b["written"] for b in kernel.buffers] == [True, False] and kernel.proof.startswith("2 accesses proven")
    uops = kernel.uops
    del kernel
    with pytest.raises(strata.DomainError, match="does not change"):
        uops.constant(1)
    assert len(uops) > 5


# --- renderers ---

def test_programs_of_a_list():
    uops = two_plus_three()
    assert uops_to_cstyle(CLanguage(), "E_n2", uops) == "void E_n2(float* restrict data0) {\n  data0[0] = (2.0f+3.0f);\n}\n"
    assert "E_n2_entry" in uops_to_cstyle(CLanguage(), "E_n2", uops, entry=True)
    assert uops_to_llvm("E_n2", uops).startswith("define internal void @E_n2(ptr noalias")
    for language in (strata.CUDALanguage(), strata.OpenCLLanguage(), MetalLanguage(), strata.WGSLLanguage()):
        assert "E_n2" in uops_to_cstyle(language, "E_n2", uops) and language.name in repr(language)
    with pytest.raises(strata.DomainError):
        uops_to_cstyle(CLanguage(), "no name", uops)


# --- graphs ---

def test_lazy_ops():
    st = ShapeTracker.from_shape((2, 3))
    a, b = LazyOp.load(1, "float32", st), LazyOp.load(2, "float32", st.permute((1, 0)).permute((1, 0)))
    total = LazyOp.reduce("SUM", LazyOp.alu(BinaryOps.MUL, a, b), (1,))
    kernel = LazyOp.sink([LazyOp.store(0, ShapeTracker.from_shape((2, 1)), total)])
    assert a.arg == (1, 6, st) and total.shape == (2, 1) and total.dtype == strata.float32 and kernel.dtype is None
    assert a == LazyOp.load(1, "float32", st) and hash(a) == hash(LazyOp.load(1, "float32", st)) and a != b
    assert kernel.src[0].src[0] == total and total.op == ReduceOps.SUM and total.arg == (1,)
    x, y = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32) + 1
    out = np.zeros(2, np.float32)
    Device.get("INTERP").compile(kernel)(out, x, y)
    np.testing.assert_array_equal(out, (x * y).reshape(2, 3).sum(1))
    moved = a.reshape((3, 2)).permute((1, 0)).pad(((1, 0), (0, 0))).shrink(((0, 2), (0, 3))).flip((0,)).stride((1, 2))
    assert moved.shape == (2, 2) and moved.cast("int32").dtype == strata.int32
    with pytest.raises(strata.ShapeError):
        LazyOp.alu("ADD", a, total)


def test_graphs_of_tensors():
    x = strata.tensor([1.0, 2.0])
    y = x + 1
    node = strata.lazy_op(y)
    assert node.op == BinaryOps.ADD and not node.is_realized and node.buffer is None
    assert [item.is_kernel for item in strata.schedule([node])][-1]
    node.realize()
    assert node.is_realized and node.buffer.tolist() == [2.0, 3.0] and node.tensor().tolist() == [2.0, 3.0]
    leaf = LazyOp.from_buffer(Buffer.from_numpy(np.arange(6, dtype=np.int64)), (2, 3))
    assert leaf.is_realized and leaf.permute((1, 0)).tensor().tolist() == [[0, 3], [1, 4], [2, 5]]


# --- buffers ---

@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"])
def test_buffers_share_memory_with_arrays(dtype):
    a = np.array([0, 1, 2, 3]).astype(dtype)
    b = Buffer.from_numpy(a)
    assert (b.size, len(b), b.nbytes, b.dtype, b.device) == (4, 4, a.nbytes, dtype, "CPU")
    a[0] = 1
    assert b[0] == 1 and b[-1] == a[3] and b.tolist() == a.tolist()
    c = b.numpy()
    c[1] = 0
    assert a[1] == 0 and np.shares_memory(a, c) and c.dtype == a.dtype
    assert np.asarray(memoryview(b)).tolist() == a.tolist() and np.asarray(b).dtype == a.dtype


def test_lifetimes_of_buffers():
    array = np.arange(3, dtype=np.float32)
    gone = weakref.ref(array)
    b = Buffer.from_numpy(array)
    c = b.numpy()
    del array, b
    gc.collect()
    assert gone() is not None and c.tolist() == [0, 1, 2]
    del c
    for _ in range(100):  # arrays are let go when the interpreter next comes by
        if gone() is None:
            break
        gc.collect()
    assert gone() is None


def test_copies_and_read_only_memory():
    a = np.arange(4, dtype=np.float32)
    assert not np.shares_memory(Buffer.from_numpy(a, copy=True).numpy(), a) and not np.shares_memory(Buffer.fromCPU(a).numpy(), a)
    assert Buffer.from_numpy(a[::2]).tolist() == [0, 2] and Buffer.from_numpy([1, 2]).dtype == "int64"
    a.flags.writeable = False
    b = Buffer.from_numpy(a)
    assert b.is_read_only and not b.numpy().flags.writeable and memoryview(b).readonly
    with pytest.raises(strata.DomainError):
        b.copy_from(np.zeros(4, np.float32))
    d = Buffer(4, "float32")
    d.copy_from(a)
    assert d.tolist() == [0, 1, 2, 3] and d.toCPU().shares(d) and Buffer(0).numpy().shape == (0,)
    with pytest.raises(strata.ShapeError):
        d.copy_from(np.zeros(3, np.float32))
    with pytest.raises(TypeError):
        Buffer.from_numpy(np.array(["a"]))
    with pytest.raises(ValueError):
        Buffer(-1)


def test_lists_are_interpreted_on_buffers_that_fit():
    uops = two_plus_three()
    for wrong in (Buffer(1, "float64"), Buffer(1, "uint8")):
        with pytest.raises(strata.ShapeError, match="not f32"):
            interpret(uops, [wrong])
    with pytest.raises(strata.DomainError):
        interpret(uops, [Buffer(0)])
    fixed = np.zeros(1, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(strata.DomainError, match="read-only"):
        interpret(uops, [fixed])


# --- devices and programs ---

def test_the_default_device():
    before = Device.DEFAULT
    Device.DEFAULT = "INTERP"
    assert Device.DEFAULT == "INTERP" and strata.tensor([1.0]).device.name == "INTERP"
    with pytest.raises(ValueError, match="there is no device"):
        Device.DEFAULT = "ABACUS"
    Device.DEFAULT = Device.get("NULL")
    Device.DEFAULT = None
    assert Device.DEFAULT == before


@pytest.mark.parametrize("name", DEVICES)
def test_programs(name):
    device = Device.open(name)
    program = device.compile(parse_kernel("n: 1..8; a: f32[n]; b: f32[n]; c = a*b + 1"))
    a, b, out = np.arange(8, dtype=np.float32), np.full(8, 2, np.float32), np.zeros(8, np.float32)
    program(out, a, b, n=5)
    np.testing.assert_array_equal(out, [1, 3, 5, 7, 9, 0, 0, 0])
    program.run([Buffer.from_numpy(out), a, Buffer.from_numpy(b)], {Variable("n", 1, 8): 8})
    np.testing.assert_array_equal(out, a * b + 1)
    assert program.device.name == name and program.kernel.name == program.name and program.source == program.prg != ""
    for mistake, error in [(lambda: program(out, a, b), strata.DomainError), (lambda: program(out, a, n=8), strata.ShapeError),
                           (lambda: program(out, a[:4], b, n=8), strata.ShapeError), (lambda: program(out[::2], a, b, n=2), strata.DomainError),
                           (lambda: program(out, a, b, n=9), strata.DomainError), (lambda: program(out, a.astype("f8"), b, n=8), strata.ShapeError),
                           (lambda: program(out, [1.0], b, n=1), TypeError)]:
        with pytest.raises(error):
            mistake()


def test_c_by_hand():
    add = ClangProgram("add", compile_clang("void add(float *a, float *b, float *c) { *a = *b + *c; }"))
    out = np.zeros(1, np.float32)
    add(out, np.array([2], np.float32), Buffer.from_numpy(np.array([3], np.float32)))
    assert out[0] == 5 and add.name == "add"
    with pytest.raises(strata.UndefinedError, match="error:"):
        compile_clang("void broken( {")
    with pytest.raises(strata.UndefinedError):
        ClangProgram("absent", compile_clang("void there(float *a) { *a = 1; }"))
    with pytest.raises(strata.UndefinedError):
        ClangProgram("add", b"no shared object")


def test_logs_of_kernels():
    with KernelLog() as log:
        x = (strata.tensor([1.0, 2.0]) * 3).realize()
    (strata.tensor([1.0]) + 1).realize()
    assert x.tolist() == [3.0, 6.0] and len(log.kernels) == 1
    ran = log.kernels[0]
    assert ran.kernel.name.startswith("E") and ran.buffers[0].tolist() == [3.0, 6.0] and ran.values == {} and ran.seconds >= 0
    assert Device.open(Device.DEFAULT).source(ran.kernel)
    outer, inner = KernelLog(), KernelLog()
    outer.start()
    inner.start()
    with pytest.raises(strata.UndefinedError):
        outer.stop()
    inner.stop()
    outer.stop()
    with pytest.raises(strata.UndefinedError):
        outer.stop()


def test_threads_run_programs_at_once():
    program = Device.get("INTERP").compile(parse_kernel("a: f32[64]; c = exp2(a) + 1"))
    outs = [np.zeros(64, np.float32) for _ in range(4)]
    threads = [threading.Thread(target=lambda k=k: [program(outs[k], np.full(64, k, np.float32)) for _ in range(20)]) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [float(o[0]) for o in outs] == [2.0, 3.0, 5.0, 9.0]
