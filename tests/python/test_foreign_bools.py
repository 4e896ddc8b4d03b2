"""Booleans that others wrote, neither 0 nor 1: true on each device, by whatever way they came."""
import ctypes
import json
import struct
import zipfile

import numpy as np
import pytest
import strata
from strata import Tensor as T

BYTES = bytes([0, 1, 2, 255, 0, 128, 4, 0, 1, 254, 0, 3, 2, 2, 0, 1, 77, 0, 0, 16])
TRUTH = np.frombuffer(BYTES, "u1") != 0
OTHER = np.arange(len(BYTES)) % 3 == 0


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", DLDevice), ("ndim", ctypes.c_int32), ("dtype", DLDataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


KEPT = []  # the memory that is lent


def by_dlpack(stride=1):
    memory = ctypes.create_string_buffer(bytes(b for one in BYTES for b in [one] + [9] * (stride - 1)))
    shape, strides = (ctypes.c_int64 * 1)(len(BYTES)), (ctypes.c_int64 * 1)(stride)
    managed = DLManagedTensor(DLTensor(ctypes.addressof(memory), DLDevice(1, 0), 1, DLDataType(6, 8, 1),
                                       shape, strides, 0), None, None)
    KEPT.append((memory, shape, strides, managed))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return strata.from_dlpack(new(ctypes.addressof(managed), b"dltensor", None))


def by_numpy():
    return T(np.frombuffer(bytearray(BYTES), "u1").view(bool))


WAYS = {
    "DLPack": by_dlpack,
    "DLPack, strided": lambda: by_dlpack(3),
    "NumPy": by_numpy,
    "NumPy, strided": lambda: T(np.frombuffer(bytearray(b for one in BYTES for b in (one, 7)), "u1").view(bool)[::2]),
    "NumPy's bools in a list": lambda: T(list(np.frombuffer(bytearray(BYTES), "u1").view(bool))),
    "a buffer": lambda: T(memoryview(bytearray(BYTES)).cast("?")),
    "bitcast": lambda: T(np.frombuffer(BYTES, "u1")).bitcast("bool"),
    "bitcast of what is computed": lambda: (T(np.frombuffer(BYTES, "u1")) + 0).bitcast("bool"),
}

# of x (or y, which holds elsewhere)
def written(x, key, value):
    """x with other elements: in its memory, or in a copy."""
    x = x if isinstance(x, T) else x.copy()
    x[key] = value
    return x


OPERATIONS = {
    "a copy": lambda x, y: x.clone() if isinstance(x, T) else x,
    "not": lambda x, y: ~x,
    "logical_not": lambda x, y: x.logical_not() if isinstance(x, T) else ~x,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "==": lambda x, y: x == y,
    "== another way": lambda x, y: y == x,
    "!=": lambda x, y: x != y,
    "== itself, read anew": lambda x, y: x == (x & x) if isinstance(x, T) else x == x,
    "sum": lambda x, y: x.sum(),
    "cast": lambda x, y: x.astype("int32"),
    "cast to floats": lambda x, y: x.astype("float32"),
    "cast to bytes": lambda x, y: x.astype("uint8"),
    "any": lambda x, y: x.any(),
    "all": lambda x, y: x.all(),
    "all of some": lambda x, y: x[12:14].all(),
    "argmax": lambda x, y: x.argmax(0),
    "where": lambda x, y: strata.where(x, 3, 5) if isinstance(x, T) else np.where(x, 3, 5),
    "where, chosen": lambda x, y: strata.where(y, x, ~x) if isinstance(x, T) else np.where(y, x, ~x),
    "cat": lambda x, y: strata.cat([x, y, x]) if isinstance(x, T) else np.concatenate([x, y, x]),
    "cat, cast": lambda x, y: strata.cat([x, y]).astype("int64") if isinstance(x, T) else np.concatenate([x, y]).astype("i8"),
    "max": lambda x, y: x.max(),
    "prod": lambda x, y: x[12:14].prod(),
    "cumsum": lambda x, y: x.cumsum(0),
    "sort": lambda x, y: x.sort(0)[0] if isinstance(x, T) else np.sort(x),
    "argsort": lambda x, y: x.argsort(0) if isinstance(x, T) else np.argsort(x, kind="stable"),
    "topk": lambda x, y: x.topk(5, 0)[1] if isinstance(x, T) else np.argsort(~x, kind="stable")[:5],
    "written to others": lambda x, y: written(y, slice(2, 9), x[3:10]),
    "written into": lambda x, y: written(x, slice(2, 9), y[3:10]),
    "mask": lambda x, y: (strata.arange(20) if isinstance(x, T) else np.arange(20))[x],
    "nonzero": lambda x, y: x.nonzero().flatten() if isinstance(x, T) else np.flatnonzero(x),
    "backwards": lambda x, y: x.flip(0).astype("int8") if isinstance(x, T) else x[::-1].astype("int8"),
    "padded": lambda x, y: x.pad(((1, 2),)).astype("int8") if isinstance(x, T) else np.pad(x, (1, 2)).astype("int8"),
    "bits": lambda x, y: x.bitcast("uint8") if isinstance(x, T) else x.view("u1"),
}


LENT = ["DLPack", "DLPack, strided", "bitcast", "bitcast of what is computed"]  # the bytes themselves


def check(way):
    for name in OPERATIONS:
        got = OPERATIONS[name](WAYS[way](), T(OTHER)).numpy()
        want = np.asarray(OPERATIONS[name](TRUTH, OTHER))
        assert got.astype("f8").tolist() == want.astype("f8").tolist(), (name, got, want)
        if got.dtype == bool and name != "a copy":  # which is lent memory still
            assert set(got.reshape(-1).view("u1").tolist()) <= {0, 1}, (name, got.view("u1"))


@pytest.mark.parametrize("way", WAYS)
def test_bytes_other_than_0_and_1_are_true(way):
    check(way)


@pytest.mark.parametrize("way", LENT)
@pytest.mark.parametrize("device", ["INTERP", "LLVM", "CLANG", "OPENCL"])
def test_bytes_other_than_0_and_1_are_true_on(device, way):
    with strata.flags(DEVICE=device):
        check(way)


def test_values_that_are_read_are_bools():
    for way in WAYS.values():
        x = way()
        assert x.tolist() == TRUTH.tolist()
        assert [x[k].item() for k in range(4)] == [False, True, True, True]
        assert [bool(v) for v in x] == TRUTH.tolist()


def test_files_with_other_bytes_are_refused(tmp_path):
    for read in (by_npy, by_npz, lambda path: by_npz(path, zipfile.ZIP_DEFLATED), by_safetensors):
        with pytest.raises(strata.ParseError, match="neither 0 nor 1"):
            read(tmp_path).sum().item()


def npy():
    head = "{'descr': '|b1', 'fortran_order': False, 'shape': (%d,), }" % len(BYTES)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + BYTES


def by_npy(path):
    (path / "x.npy").write_bytes(npy())
    return strata.load(str(path / "x.npy"))


def by_npz(path, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path / "x.npz", "w", how) as z:
        z.writestr("x.npy", npy())
    return strata.load(str(path / "x.npz"))["x"]


def by_safetensors(path):
    head = json.dumps({"x": {"dtype": "BOOL", "shape": [len(BYTES)], "data_offsets": [0, len(BYTES)]}}).encode()
    head += b" " * (-len(head) % 8)
    (path / "x.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + BYTES)
    return strata.load(str(path / "x.safetensors"))["x"]
