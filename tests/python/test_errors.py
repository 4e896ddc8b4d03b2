"""Errors: the exceptions that users of Python expect, with the library's words and the place in Python."""
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import strata
from strata import Tensor


def test_kinds():
    x = strata.ones(2, 3)
    with pytest.raises(ValueError) as e:
        x + strata.ones(4)
    assert isinstance(e.value, strata.ShapeError) and isinstance(e.value, strata.Error)
    assert e.value.kind == "shape" and e.value.column == 0 and "(2, 3)" in str(e.value)
    for wrong in (lambda: x[5], lambda: x.sum(7), lambda: x[0, 0, 0, 0]):
        with pytest.raises((IndexError, strata.ShapeError)):
            wrong()
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(IndexError):
        x.sum(axis=2)
    with pytest.raises(strata.DomainError):
        x.clip()
    with pytest.raises(OverflowError):
        strata.zeros(2**62, 2**62)
    with pytest.raises(strata.ShapeError, match=r"\[hsplit\] axis 1 of size 3 cannot be split into 16777216 equal parts"):
        x.hsplit(1 << 24)
    with pytest.raises(strata.BudgetError, match=r"\[tensor_split\] 1099511627776 parts"):
        x.tensor_split(1 << 40)
    with pytest.raises(strata.ParseError):
        strata.einsum("i!", x)
    assert pickle.loads(pickle.dumps(e.value)).kind == "shape"


def test_wrong_calls_are_type_errors():
    x = strata.ones(2, 3)
    for wrong in (
        lambda: x.sum("a"),
        lambda: x.sum(no_such=1),
        lambda: x.sum(0, axis=0),
        lambda: x.sum(0, True, None, None, 3),
        lambda: x.gather(0),
        lambda: x + "a",
        lambda: x + None,
        lambda: x["a"],
        lambda: x.sum(1.5),
        lambda: strata.cat(3),
        lambda: x.leaky_relu("a"),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match="sum.*axis"):
        x.sum(axis="a")


def test_the_place_is_in_python():
    with strata.flags(NAN_CHECK=True):
        y = strata.Tensor([-1.0]).log()
        with pytest.raises(strata.DomainError) as e:
            y.realize()
    assert "log, written at " in str(e.value)
    assert "test_errors.py:%d" % (test_the_place_is_in_python.__code__.co_firstlineno + 2) in str(e.value)


def test_ctrl_c_ends_long_runs():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started us in the background

    def long():
        x = strata.ones(64, 64)
        for _ in range(200000):
            x = (x @ x).realize() * 0

    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            long()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 20


def test_other_threads_run_meanwhile():
    counted = []
    done = threading.Event()

    def count():
        while not done.is_set():
            counted.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(3):
        (strata.rand(300, 300) @ strata.rand(300, 300)).realize()
    done.set()
    thread.join()
    assert counted


@pytest.mark.parametrize("call", [
    lambda v: Tensor([1, 2]) * v, lambda v: v + Tensor([1, 2]), lambda v: v * Tensor([1.5]), lambda v: v + np.zeros(2), lambda v: v < np.array([1, 2]),
    lambda v: strata.prove(np.ones(2)), lambda v: strata.prove_equal(np.zeros(0), 1), lambda v: strata.Expr(np.zeros(0)), lambda v: v // Tensor([[1.0]])])
def test_arrays_are_no_expressions(call):
    with pytest.raises(TypeError):
        call(strata.Variable("x", 0, 5))


def test_files_that_are_not_there(tmp_path):
    x = Tensor([1.0])
    with pytest.raises(FileNotFoundError, match="cannot read it") as raised:
        strata.load(str(tmp_path / "missing.npy"))
    assert isinstance(raised.value, strata.FileError) and raised.value.kind == "parse"
    with pytest.raises(FileNotFoundError, match="cannot write"):
        strata.save(x, str(tmp_path / "none" / "x.npy"))
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(OSError):
        strata.load(str(tmp_path / "folder.npy"))


def test_integers_beyond_63_bits():
    assert Tensor([1 << 63, 3]).dtype == np.uint64 and Tensor([1 << 63, 3]).tolist() == [1 << 63, 3]
    for list_ in ([1 << 63, -1], [1 << 64]):
        with pytest.raises(OverflowError, match="does not fit"):
            Tensor(list_)
    with pytest.raises(OverflowError, match="does not fit in i64"):
        Tensor([1 << 63], dtype="int64")


@pytest.mark.parametrize("call", [lambda: strata.rand(2, generator=5), lambda: Tensor([1.0]).dropout(generator="g")])
def test_generators(call):
    with pytest.raises(TypeError, match=r"generator must be a strata.Generator or None, not (int|str)"):
        call()


@pytest.mark.parametrize("make", [
    lambda p: strata.optim.SGD(p, lr=-1.0), lambda p: strata.optim.SGD(p, lr=float("nan")), lambda p: strata.optim.SGD(p, momentum=-1.0), lambda p: strata.optim.Adam(p, betas=(1.0, 2.0)),
    lambda p: strata.optim.AdamW(p, weight_decay=-1.0), lambda p: strata.optim.RMSprop(p, alpha=1.5)])
def test_options_of_optimisers(make):
    with pytest.raises(strata.DomainError, match=r"\[\w+\] \w+ is -?[\dna.]+; 0 or more"):
        make([strata.ones(2).requires_grad_()])


def test_a_gradient_of_another_dtype():
    w = strata.ones(2).requires_grad_()
    with pytest.raises(strata.DomainError, match="a gradient of dtype f64 does not match a tensor of dtype f32"):
        w.grad = Tensor([1.0, 2.0], dtype="float64")
