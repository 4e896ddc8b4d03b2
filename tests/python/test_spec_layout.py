"""tensor_layout.md: its formula, its numbers, and its C++ block said in Python."""
import re

import numpy as np
import pytest
from spec_blocks import FOLDER, blocks_of
from strata import AffinePrimitives, Buffer, Layout, View

BLOCKS = [b for b in blocks_of("tensor_layout.md")]

# Line by line: what the C++ says, in Python.
TRANSLATION = [
    (r"AffinePrimitives ap;", "ap = AffinePrimitives()"),
    (r"auto affine = (.*);", r"affine = \1"),
    (r"for \(int (\w+) = (\d+); \1 < (\d+); \+\+\1\) \{", r"for \1 in range(\2, \3):"),
    (r"    ap\[(.*)\] = (.*);", r"    ap[\1] = \2"),
    (r"    MLLM_RT_ASSERT_EQ\((.*), (.*)\);", r"    assert \1 == \2; checked += 1"),
    (r"\}", ""),
    (r"", ""),
]


def in_python(line):
    for pattern, replacement in TRANSLATION:
        match = re.fullmatch(pattern, line)
        if match:
            return match.expand(replacement)
    raise AssertionError(f"a line that nobody translates: {line!r}")


def test_the_blocks_of_the_document():
    assert [b.language for b in BLOCKS] == ["{figure} ../_static/img/tensor-storage.png", "text", "c++"]


def test_affine_primitives():
    names = {"AffinePrimitives": AffinePrimitives, "checked": 0}
    exec("\n".join(in_python(line) for line in BLOCKS[2].text.splitlines()), names)
    assert names["checked"] == 128
    assert type(names["affine"]()) is int


@pytest.mark.parametrize("shape, strides", [((3, 4), (4, 1)), ((3, 4, 5), (20, 5, 1))])
def test_strides_of_a_shape(shape, strides):
    assert str(list(shape)) in (FOLDER / "tensor_layout.md").read_text()
    assert View.create(shape).strides == strides
    assert Layout(shape, strides).to_view() == View.create(shape)


def test_the_formula_of_a_pointer():
    formula = BLOCKS[1].text.strip()
    assert formula == "ptr = storage.ptr + (storage_offsets + dot_product(indices, stride)) * sizeof(datatype)"
    storage = np.arange(100, dtype=np.int16)
    seen = storage[7:].reshape(3, 31)[:, 3:20:4]
    view = View.create(seen.shape, tuple(s // storage.itemsize for s in seen.strides), 10)
    pointer = Buffer.from_numpy(storage).numpy().ctypes.data
    assert pointer == storage.ctypes.data
    for indices in np.ndindex(seen.shape):
        address = view.offset + np.dot(indices, view.strides)
        assert view.expr([int(i) for i in indices])[0].value == address
        assert pointer + address * storage.itemsize == seen[indices[0]:, indices[1]:].ctypes.data


def test_hierarchical_indices():
    layout = Layout(((2, 4), 8), ((1, 16), 2))
    assert layout(((1, 2), 3)) == 1 + 32 + 6
    assert layout.crd2idx(layout.idx2crd(37)) == layout(37)
