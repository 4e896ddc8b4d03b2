"""Writes ONNX models as bytes, field by field: models that PyTorch's exporter does not write. The numbers of fields are those of
onnx.proto. A message is bytes; attributes are keyword arguments of node()."""
import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
         "uint32": 12, "uint64": 13}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def integer(field, value): return varint(field << 3) + varint(value)


def content(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, array):
    """A TensorProto."""
    array = np.asarray(array)
    if array.dtype.kind in "UO":
        return b"".join(integer(1, n) for n in array.shape) + integer(2, 8) + content(8, name) + b"".join(content(6, str(t)) for t in array.reshape(-1))
    return b"".join(integer(1, n) for n in array.shape) + integer(2, TYPES[str(array.dtype)]) + content(8, name) + content(9, array.tobytes())


class Graph:
    """Nodes with the ports and constants of a graph. `constants` maps names to arrays."""

    def __init__(self, nodes, inputs, outputs, constants=None):
        self.bytes = (b"".join(content(1, n) for n in nodes) + content(2, "g")
                      + b"".join(content(5, tensor(name, value)) for name, value in (constants or {}).items())
                      + b"".join(content(11, p) for p in inputs) + b"".join(content(12, p) for p in outputs))


def attribute(name, value):
    if isinstance(value, Graph):
        return content(1, name) + content(6, value.bytes) + integer(20, 5)
    if isinstance(value, np.ndarray):
        return content(1, name) + content(5, tensor("", value)) + integer(20, 4)
    if isinstance(value, str):
        return content(1, name) + content(4, value) + integer(20, 3)
    if isinstance(value, float):
        return content(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return content(1, name) + integer(3, value) + integer(20, 2)
    if value and isinstance(value[0], str):
        return content(1, name) + b"".join(content(9, v) for v in value) + integer(20, 8)
    if value and isinstance(value[0], float):
        return content(1, name) + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + integer(20, 6)
    return content(1, name) + b"".join(integer(8, v) for v in value) + integer(20, 7)


def node(op, inputs, outputs, name="", **attributes):
    """A NodeProto; inputs and outputs are names apart by spaces, and _ is one that is left out."""
    def names(field, text): return b"".join(content(field, "" if n == "_" else n) for n in text.split())
    return (names(1, inputs) + names(2, outputs) + (content(3, name) if name else b"") + content(4, op)
            + b"".join(content(5, attribute(k, v)) for k, v in attributes.items()))


def port(name, dtype="float32", shape=None):
    """A ValueInfoProto. A size may be a text: a symbol; without `shape` any shape is one."""
    sizes = b"" if shape is None else content(2, b"".join(content(1, content(2, n) if isinstance(n, str) else integer(1, n)) for n in shape))
    return content(1, name) + content(2, content(1, integer(1, 8 if dtype == "text" else TYPES[dtype]) + sizes))


def model(graph, opset=17):
    return integer(1, 8) + content(7, graph.bytes) + content(8, integer(2, opset))


def write(path, graph, opset=17):
    path.write_bytes(model(graph, opset))
    return path
