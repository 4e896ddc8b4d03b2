"""A host of exported kernels in OpenCL: all that it knows of a model is in its JSON file and in the files that this names."""
import ctypes
import json
from pathlib import Path

import numpy as np

DTYPES = {"bool": "?", "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8", **{f"{k}{8 * n}": f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)}}


def library():
    """OpenCL's loader; None where there is none, or no device."""
    try:
        cl = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return None
    for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
        getattr(cl, name).restype = ctypes.c_void_p
    platform, device = ctypes.c_void_p(), ctypes.c_void_p()
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) != 0:
        return None
    all_types = ctypes.c_uint64(0xFFFFFFFF)
    return (cl, device) if cl.clGetDeviceIDs(platform, all_types, 1, ctypes.byref(device), None) == 0 else None


def value_of(size, sizes):
    """A size: a number, the name of one, or an operator with its operands."""
    if isinstance(size, int):
        return size
    if isinstance(size, str):
        return sizes[size]
    word, *operands = size
    if word == "?":
        return value_of(operands[1 if value_of(operands[0], sizes) else 2], sizes)
    total, *others = [value_of(o, sizes) for o in operands]
    for other in others:
        total = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "//": lambda a, b: a // b, "%": lambda a, b: a % b, "<": lambda a, b: a < b,
                 "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "min": min, "max": max, "and": lambda a, b: a and b,
                 "or": lambda a, b: a or b}[word](total, other)
    return int(total)


class Model:
    """A model on OpenCL's first device. Sizes are those of one run after another."""

    def __init__(self, path):
        self.table = json.loads(Path(f"{path}.json").read_text())
        assert self.table["format"] == "strata kernels 1" and self.table["language"] == "opencl"
        self.cl, self.device = library()
        self.folder, self.states = Path(path).parent, {}
        self.context = self.made(self.cl.clCreateContext, None, 1, ctypes.byref(self.device), None, None)
        self.queue = self.made(self.cl.clCreateCommandQueue, self.context, self.device, ctypes.c_uint64(0))
        self.kernels = [self.kernel(row) for row in self.table["kernels"]]
        weights = self.table.get("weights")
        self.weights = (self.folder / weights["file"]).read_bytes() if weights else b""
        assert len(self.weights) == (weights["bytes"] if weights else 0)

    def check(self, code):
        assert code == 0, f"OpenCL's error {code}"

    def made(self, function, *arguments):
        code = ctypes.c_int()
        out = function(*arguments, ctypes.byref(code))
        self.check(code.value)
        return ctypes.c_void_p(out)

    def log(self, program):
        text = ctypes.create_string_buffer(1 << 16)
        self.check(self.cl.clGetProgramBuildInfo(program, self.device, 0x1183, ctypes.c_size_t(len(text)), text, None))
        return text.value.decode()

    def kernel(self, row):
        text = ctypes.c_char_p((self.folder / row["file"]).read_bytes())
        program = self.made(self.cl.clCreateProgramWithSource, self.context, 1, ctypes.byref(text), None)
        code = self.cl.clBuildProgram(program, 1, ctypes.byref(self.device), b"-Werror", None, None)
        if code != 0 and "changes the ABI" in self.log(program):  # pocl's own functions of 16 floats, without AVX-512
            code = self.cl.clBuildProgram(program, 1, ctypes.byref(self.device), b"", None, None)
        assert code == 0, self.log(program)
        return self.made(self.cl.clCreateKernel, program, row["function"].encode())

    def buffer(self, k, bytes_, content):
        """A device's memory, with a state kept from run to run."""
        if k in self.states:
            return self.states[k]
        out = self.made(self.cl.clCreateBuffer, self.context, ctypes.c_uint64(1), ctypes.c_size_t(max(bytes_, 4)), None)
        if content is not None and bytes_ > 0:
            held = np.frombuffer(content, "u1")
            assert held.size == bytes_, (k, held.size, bytes_)
            self.check(self.cl.clEnqueueWriteBuffer(self.queue, out, 1, ctypes.c_size_t(0), ctypes.c_size_t(bytes_),
                                                    ctypes.c_void_p(held.ctypes.data), 0, None, None))
        return out

    def run(self, *arguments, group=None, **sizes):
        """The outputs, and the arguments that were written."""
        given, buffers, results = list(arguments), [], []
        assert set(sizes) == {s["name"] for s in self.table["sizes"]}
        for k, row in enumerate(self.table["buffers"]):
            bytes_, content = value_of(row["bytes"], sizes), None
            if row["kind"] in ("input", "in_out"):
                content = np.ascontiguousarray(given.pop(0)).tobytes()
            elif "offset" in row:
                content = self.weights[row["offset"]:row["offset"] + bytes_]
            elif row["kind"] == "state":
                content = bytes(bytes_)
            buffers.append(self.buffer(k, bytes_, content))
            if row["kind"] == "state":
                self.states[k] = buffers[-1]
        assert not given
        for step in self.table["steps"]:
            if "copy" in step:
                copy = step["copy"]
                self.check(self.cl.clEnqueueCopyBuffer(self.queue, buffers[copy["from"]], buffers[copy["to"]], ctypes.c_size_t(0), ctypes.c_size_t(0),
                                                       ctypes.c_size_t(value_of(copy["bytes"], sizes)), 0, None, None))
                continue
            row, kernel = self.table["kernels"][step["kernel"]], self.kernels[step["kernel"]]
            assert len(row["parameters"]) == len(step["arguments"])
            for k, (parameter, argument) in enumerate(zip(row["parameters"], step["arguments"])):
                if "value" in parameter:
                    word = {"i32": ctypes.c_int32, "i64": ctypes.c_int64}[parameter["value"]](value_of(argument, sizes))
                else:
                    word = buffers[argument]
                self.check(self.cl.clSetKernelArg(kernel, k, ctypes.c_size_t(ctypes.sizeof(word)), ctypes.byref(word)))
            items, in_group = value_of(step["items"], sizes), row.get("group", group or 1)
            whole, local = ctypes.c_size_t(-(-items // in_group) * in_group), ctypes.c_size_t(in_group)
            self.check(self.cl.clEnqueueNDRangeKernel(self.queue, kernel, 1, None, ctypes.byref(whole), ctypes.byref(local), 0, None, None))
        for buffer, row in zip(buffers, self.table["buffers"]):
            if row["kind"] in ("output", "in_out"):
                out = np.zeros([value_of(n, sizes) for n in row["shape"]], DTYPES[row["dtype"]])
                assert out.nbytes == value_of(row["bytes"], sizes)
                if out.size:
                    self.check(self.cl.clEnqueueReadBuffer(self.queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(out.nbytes),
                                                           ctypes.c_void_p(out.ctypes.data), 0, None, None))
                results.append(out)
        return results
