"""Tensors from and to what Python has: numbers, lists, arrays, other libraries; dtypes; texts; copies."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import strata
from strata import Tensor

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_numpys(name):
    d = strata.DType(name)
    assert d == np.dtype(name) and d == name and d == strata.DType(np.dtype(name)) and np.dtype(name) == np.dtype(d)
    assert d == getattr(np, name + "_" if name == "bool" else name)
    assert d != "float32" or name == "float32"
    assert str(d) == name and d.itemsize == np.dtype(name).itemsize
    assert pickle.loads(pickle.dumps(d)) == d and hash(d) == hash(strata.DType(name))
    assert strata.zeros(2, dtype=name).dtype is strata.zeros(3, dtype=d).dtype


def test_dtypes_of_python_and_mistakes():
    assert strata.DType(float) == strata.float32 and strata.DType(int) == "int64" and strata.DType(bool) == strata.bool_
    assert strata.bfloat16 != strata.float16 and strata.float32 != 3 and strata.float32 != "no dtype"
    assert strata.promote_types("int32", strata.float16) == strata.float16
    with pytest.raises(TypeError):
        strata.DType(object())
    with pytest.raises(ValueError):
        strata.DType("float33")


@pytest.mark.parametrize("name", NAMES)
def test_arrays_both_ways(name):
    a = np.arange(12).reshape(3, 4).astype(name)
    x = Tensor(a)
    assert x.shape == (3, 4) and x.dtype == a.dtype
    np.testing.assert_array_equal(x.numpy(), a)
    np.testing.assert_array_equal(np.asarray(x), a)
    np.testing.assert_array_equal(Tensor(a.T[::-1, 1:]).numpy(), a.T[::-1, 1:])
    assert x.tolist() == a.tolist()


def test_memory_is_shared_and_kept():
    a = np.arange(6.0)
    x = Tensor(a)
    assert np.shares_memory(x.numpy(), a)
    assert np.shares_memory(Tensor(a.reshape(2, 3).T).numpy(), a)
    assert np.shares_memory(x.reshape(2, 3).T.numpy(), a)
    assert not np.shares_memory(strata.tensor(a).numpy(), a)
    held = weakref.ref(a)
    out = x.numpy()
    del a, x
    gc.collect()
    assert held() is not None and out.tolist() == [0, 1, 2, 3, 4, 5]
    y = (strata.arange(1000) + 1).numpy()
    for _ in range(10):
        (strata.arange(1000) * 0).numpy()
    assert y.sum() == 500500 and not y.flags.writeable
    assert np.array(strata.arange(3)).flags.writeable


def test_memory_is_let_go():
    a = np.arange(6.0)
    held = weakref.ref(a)
    x = Tensor(a)
    x.numpy()
    del a, x
    gc.collect()
    for _ in range(100):
        pass
    Tensor(np.zeros(1))
    assert held() is None


def test_read_only_memory():
    a = np.arange(4.0)
    a.flags.writeable = False
    x = Tensor(a)
    assert (x + 1).tolist() == [1, 2, 3, 4]
    x.add_(1)
    assert x.tolist() == [1, 2, 3, 4] and a.tolist() == [0, 1, 2, 3]


def test_odd_arrays():
    big = np.arange(3, dtype=">i4")
    assert Tensor(big).tolist() == [0, 1, 2]
    fields = np.zeros(3, dtype=[("a", "i1"), ("b", "f4")])
    fields["b"] = [1, 2, 3]
    assert Tensor(fields["b"]).tolist() == [1, 2, 3]
    strange = np.array([0, 1, 2, 255], dtype=np.uint8).view(bool)
    assert Tensor(strange).tolist() == [False, True, True, True]
    assert Tensor(np.broadcast_to(np.float32(2), (3, 2))).tolist() == [[2, 2]] * 3
    assert Tensor(np.zeros((0, 3))).shape == (0, 3)
    assert Tensor(np.float64(2)).dtype == np.float64 and Tensor(bytearray(b"\1\2")).tolist() == [1, 2]
    for bad in (np.zeros(2, complex), np.array(["a"]), np.array([None])):
        with pytest.raises(TypeError):
            Tensor(bad)


def test_numbers_and_lists():
    assert Tensor(3).dtype == "int64" and Tensor(3.0).dtype == "float32" and Tensor(True).dtype == "bool"
    assert Tensor([[1, 2], [3, 4.5]]).tolist() == [[1, 2], [3, 4.5]]
    assert Tensor([[True], [False]]).dtype == "bool" and Tensor([True, 2]).tolist() == [1, 2]
    assert Tensor([]).shape == (0,) and Tensor([[], []]).shape == (2, 0) and Tensor(range(3)).tolist() == [0, 1, 2]
    assert Tensor([1, 2], dtype="u8").dtype == "uint8" and Tensor((1, 2), dtype=np.float16).tolist() == [1, 2]
    assert Tensor([np.arange(2), np.arange(2)]).shape == (2, 2) and Tensor([strata.ones(2), [1.0, 2.0]]).shape == (2, 2)
    assert Tensor(2**63).dtype == "uint64"
    for bad in ([[1], [1, 2]], [1, [2]], [[1], 2]):
        with pytest.raises(strata.ShapeError):
            Tensor(bad)
    endless = []
    endless.append(endless)
    with pytest.raises(strata.ShapeError):
        Tensor(endless)
    with pytest.raises(OverflowError):
        Tensor([300], dtype="uint8")
    with pytest.raises(OverflowError):
        Tensor(2**64)
    for bad in ("text", None, object(), [None], ["a"]):
        with pytest.raises(TypeError):
            Tensor(bad)


def test_values_out():
    x = Tensor([[2.5]])
    assert x.item() == 2.5 and float(x) == 2.5 and int(x) == 2 and bool(x) and isinstance(Tensor(1).item(), int)
    assert [10, 20, 30][Tensor(1)] == 20 and f"{x:.2f}" == "2.50"
    assert len(strata.zeros(3, 2)) == 3 and [r.tolist() for r in Tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert 2 in Tensor([1, 2]) and 5 not in Tensor([1, 2])
    with pytest.raises(TypeError):
        len(Tensor(1))
    with pytest.raises(TypeError):
        iter(Tensor(1))
    with pytest.raises(TypeError):
        [1, 2][Tensor(1.0)]
    for wrong in (lambda: bool(Tensor([1, 2])), lambda: Tensor([1, 2]).item()):
        with pytest.raises(ValueError):
            wrong()


def test_texts_run_nothing():
    x = strata.arange(4).reshape(2, 2) * 2
    assert repr(x) == "Tensor(shape=(2, 2), dtype=i64, device=%s, not realized)" % x.device
    assert not x.is_realized()
    x.realize()
    assert repr(x).startswith("Tensor([[0, 2],\n        [4, 6]], shape=(2, 2), dtype=i64")
    assert "..." in repr(strata.arange(2000).realize())


def test_buffers():
    x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    m = memoryview(x)
    assert m.readonly and m.shape == (2, 3) and m.format == "f" and m.tolist() == x.tolist()
    assert memoryview(x.T).strides == (4, 12) and bytes(memoryview(x.T)) == x.T.numpy().tobytes()
    with pytest.raises(BufferError):
        memoryview(x.bfloat16())
    i = x.__array_interface__
    assert i["shape"] == (2, 3) and i["data"][1] is True
    with pytest.raises(TypeError):
        x.bfloat16().numpy()


def test_dlpack():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(strata.from_dlpack(x).numpy(), x.numpy())
    a = np.arange(4.0)
    assert strata.from_dlpack(a).tolist() == [0, 1, 2, 3]
    capsule = x.__dlpack__()
    strata.from_dlpack(capsule)
    with pytest.raises(strata.DomainError):
        strata.from_dlpack(capsule)
    torch = pytest.importorskip("torch")
    t = torch.arange(6.0).reshape(2, 3)
    y = strata.from_dlpack(t)
    assert y.tolist() == t.tolist() and y.numpy().__array_interface__["data"][0] == t.data_ptr()
    assert torch.from_dlpack((x * 2).T).tolist() == [[2, 6], [4, 8]]
    assert Tensor(t.bfloat16()).dtype == strata.bfloat16 and Tensor(t).tolist() == t.tolist()


def test_tensors_of_pytorch_are_operands():
    torch = pytest.importorskip("torch")
    x = Tensor([1.0, 2.0])
    assert (x + torch.ones(2)).tolist() == [2, 3] and (x > torch.tensor([1.5, 1.5])).tolist() == [False, True]
    assert Tensor(torch.tensor([True, False])).tolist() == [True, False]


def test_copies():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    y = pickle.loads(pickle.dumps(x))
    assert y.tolist() == x.tolist() and y.requires_grad and y.dtype == x.dtype
    z = copy.deepcopy(x)
    w = copy.copy(x)
    with strata.no_grad():
        z.add_(1)
        assert x.tolist() == [[1, 2]] and z.tolist() == [[2, 3]]
        w.add_(1)
    assert x.tolist() == [[2, 3]]
    assert pickle.loads(pickle.dumps(strata.ones(2).bfloat16())).dtype == strata.bfloat16
    assert pickle.loads(pickle.dumps(strata.relu)) is strata.relu


def test_properties():
    x = strata.zeros(2, 3, 4, dtype="float64")
    assert x.ndim == 3 == x.dim() and x.numel() == 24 and x.nbytes == 192 and x.itemsize == 8
    assert x.size() == (2, 3, 4) and x.size(1) == 3 and x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert x.to("float16").dtype == "float16" and x.to("INTERP").device == "INTERP" and x.half().dtype == strata.half
    assert x.to(strata.ones(1, dtype="int32")).dtype == "int32"
    with pytest.raises(AttributeError):
        x.no_such_thing


def test_iterating_over_many_rows_realizes():
    many, few, tracked = strata.rand(17, 2) * 3, strata.rand(16, 2) * 3, strata.rand(17, 2).requires_grad_() * 3
    iter(many), iter(few), iter(tracked)
    assert many.is_realized() and not few.is_realized() and not tracked.is_realized()
    assert [row.tolist() for row in many] == many.tolist()
