"""Flags: for a block, and from now on; what is printed by them; what devices are called."""
import os
import re
import subprocess
import sys

import pytest
import strata


def test_assigned():
    assert strata.flags.NAN_CHECK is False and strata.flags.KERNEL_CACHE == 4096
    try:
        strata.flags.NAN_CHECK = True
        assert strata.flags.NAN_CHECK is True and strata.flags.all()["NAN_CHECK"] == "1"
        with pytest.raises(strata.DomainError, match="NAN_CHECK"):
            strata.tensor([-1.0]).sqrt().realize()
        with strata.flags(NAN_CHECK=False):
            assert strata.flags.NAN_CHECK is False
            strata.tensor([-1.0]).sqrt().realize()
        assert strata.flags.NAN_CHECK is True
    finally:
        strata.flags.NAN_CHECK = 0
    strata.tensor([-1.0]).sqrt().realize()
    assert strata.flags.NAN_CHECK is False


def test_names_and_types():
    with pytest.raises(AttributeError, match="no flag NANCHECK, there are DEBUG, .*NAN_CHECK"):
        strata.flags.NANCHECK = True
    assert not hasattr(strata.flags, "NANCHECK")
    with pytest.raises(AttributeError, match="no flag FOO"):
        with strata.flags(NOFUSE=True, FOO=1):
            pass
    assert strata.flags.NOFUSE is False
    with pytest.raises(TypeError, match="DEBUG is of type Int"):
        strata.flags.DEBUG = "2"
    assert strata.flags.DEBUG == 0 and "NAN_CHECK" in dir(strata.flags)


def printed(level, code="import strata; (strata.tensor([[1.0, 2.0], [3.0, 4.0]]) * 2 + 1).T.sum(0).realize()"):
    paths = [p for p in (os.path.dirname(os.path.dirname(strata.__file__)), os.environ.get("PYTHONPATH")) if p]
    environment = {**os.environ, "STRATA_DEBUG": str(level), "STRATA_DISK_CACHE": "0", "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stderr


def test_ladder():
    assert printed(0) == ""
    first = printed(1)
    assert all(line.startswith("[device] ") for line in first.splitlines())
    assert first.count("which runs kernels now") == 1 and "[device] threads: " in first and "[device] INTERP: " in first
    assert "GFLOP/s" in printed(2) and "opts: " not in printed(2)
    third = printed(3)
    assert "opts: " in third and "opts: \n" not in third and "[rewrite]" not in third
    fifth = printed(5, "import strata; strata.ones(3, 4).contiguous().realize().T.reshape(12).contiguous().realize()")
    assert "[rewrite] " in fifth and "  ->  " in fifth


def test_names_of_devices():
    x = strata.ones(2)
    assert x.to("interp").device == "INTERP" and x.to("INTERP").device == "INTERP"
    assert x.to("cpu").device == strata.ones(1).device and x.to("float64").dtype == strata.float64
    with pytest.raises(strata.DomainError, match='"cuda" names neither a dtype: .*f32.*; nor a device: .*INTERP'):
        x.to("cuda")
    with pytest.raises(strata.DomainError, match='no device "cuda": there are .*INTERP.*"cpu" is'):
        strata.zeros(2, device="cuda")
    with pytest.raises(strata.DomainError, match="cuda"):
        x.to(device="cuda")


def test_explain_several():
    x = strata.tensor([1.0, 2.0])
    text = strata.explain(x.sum(), (x * 2).max())
    assert text.count("a kernel of shape") == 1  # one kernel makes both
    y = x * 3
    assert strata.explain(y, y.sum()).count("a kernel of shape") == 2 and y.explain() == strata.explain(y)
    with pytest.raises(TypeError):
        strata.explain(1, "a")


def test_explain_predicts():
    a, b = strata.rand(256, 256), strata.rand(256, 256)
    text = (a.realize() @ b.realize()).explain()
    assert re.search(r"\), predicted [\d.]+ (us|ms)$", text.strip()), text
    assert "predicted" not in (a[0] + b[0]).explain()
