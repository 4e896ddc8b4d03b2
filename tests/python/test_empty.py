"""Tensors without elements, of no dimensions, of one element: shapes, dtypes and values beside PyTorch's."""
import math
import warnings

import numpy as np
import pytest
import strata

try:
    import torch
except ImportError:
    torch = None


def Z(T, *shape):
    return T.zeros(*shape)


# fmt: off
CASES = {
    "linear": lambda T, F: F.linear(Z(T,0,3),Z(T,4,3),Z(T,4)),
    "linear_k0": lambda T, F: F.linear(Z(T,2,0),Z(T,4,0),T.ones(4)),
    "conv2d": lambda T, F: F.conv2d(Z(T,0,3,8,8),Z(T,4,3,3,3)),
    "convT": lambda T, F: F.conv_transpose2d(Z(T,0,3,8,8),Z(T,3,4,3,3)),
    "maxpool": lambda T, F: F.max_pool2d(Z(T,0,3,8,8),2),
    "avgpool": lambda T, F: F.avg_pool2d(Z(T,0,3,8,8),2),
    "adaptive": lambda T, F: F.adaptive_avg_pool2d(Z(T,0,3,8,8),2),
    "layer_norm": lambda T, F: F.layer_norm(Z(T,0,5),(5,)),
    "group_norm": lambda T, F: F.group_norm(Z(T,0,4,5),2),
    "bn": lambda T, F: F.batch_norm(Z(T,0,4),Z(T,4),T.ones(4)),
    "softmax": lambda T, F: F.softmax(Z(T,0,5),-1),
    "softmax2": lambda T, F: F.softmax(Z(T,5,0),-1),
    "logsoftmax2": lambda T, F: F.log_softmax(Z(T,0),0),
    "ce": lambda T, F: F.cross_entropy(Z(T,0,5),T.zeros(0,dtype=T.int64)),
    "ce_sum": lambda T, F: F.cross_entropy(Z(T,0,5),T.zeros(0,dtype=T.int64),reduction="sum"),
    "mse": lambda T, F: F.mse_loss(Z(T,0),Z(T,0)),
    "nll": lambda T, F: F.nll_loss(Z(T,0,5),T.zeros(0,dtype=T.int64)),
    "bce": lambda T, F: F.binary_cross_entropy(Z(T,0),Z(T,0)),
    "emb": lambda T, F: F.embedding(T.zeros(0,dtype=T.int64),Z(T,5,3)),
    "emb2": lambda T, F: F.embedding(T.zeros(2,0,dtype=T.int64),Z(T,5,3)),
    "interp": lambda T, F: F.interpolate(Z(T,0,3,4,4),scale_factor=2),
    "pad": lambda T, F: F.pad(Z(T,0,3),(1,1)),
    "pad0": lambda T, F: F.pad(Z(T,0,3),(0,0,2,1),value=2.0),
    "unfold": lambda T, F: F.unfold(Z(T,0,3,8,8),2),
    "onehot": lambda T, F: F.one_hot(T.zeros(0,dtype=T.int64),4),
    "cat": lambda T, F: T.cat([Z(T,0),T.ones(2,3)],0),
    "cat1": lambda T, F: T.cat([Z(T,0,3),T.ones(2,3)],0),
    "stack": lambda T, F: T.stack([Z(T,0),Z(T,0)]),
    "einsum": lambda T, F: T.einsum("ij,jk->ik",Z(T,2,0),Z(T,0,3)),
    "bmm": lambda T, F: T.bmm(Z(T,0,2,3),Z(T,0,3,4)),
    "mm0": lambda T, F: Z(T,2,0)@Z(T,0,3),
    "cdist": lambda T, F: T.cdist(Z(T,0,3),Z(T,2,3)),
    "normalize": lambda T, F: F.normalize(Z(T,0,3)),
    "cosine": lambda T, F: F.cosine_similarity(Z(T,0,3),Z(T,0,3)),
    "where": lambda T, F: T.where(Z(T,0)>0,Z(T,0),Z(T,0)),
    "nonzero": lambda T, F: T.nonzero(Z(T,0,3)),
    "nonzero0": lambda T, F: T.nonzero(T.tensor(1.0)),
    "unique": lambda T, F: T.unique(Z(T,0)),
    "histc": lambda T, F: T.histc(Z(T,0),4),
    "bincount": lambda T, F: T.bincount(T.zeros(0,dtype=T.int64)),
    "bincount4": lambda T, F: T.bincount(T.zeros(0,dtype=T.int64),minlength=4),
    "searchsorted": lambda T, F: T.searchsorted(Z(T,0),T.ones(2)),
    "searchsorted2": lambda T, F: T.searchsorted(T.ones(2),Z(T,0)),
    "kth": lambda T, F: T.kthvalue(Z(T,0,3),2)[0],
    "topk": lambda T, F: T.topk(Z(T,0,3),2)[0],
    "topk0": lambda T, F: T.topk(Z(T,3,0),0)[0],
    "sort": lambda T, F: T.sort(Z(T,2,0,2000))[0],
    "argsort": lambda T, F: T.argsort(Z(T,0,2000)),
    "topkL": lambda T, F: T.topk(Z(T,0,2000),500)[1],
    "median": lambda T, F: T.median(Z(T,0,3),1)[0],
    "mode": lambda T, F: T.mode(Z(T,0,3),1)[0],
    "var": lambda T, F: T.var(Z(T,0)),
    "std1": lambda T, F: T.std(T.ones(1)),
    "mean": lambda T, F: T.mean(Z(T,0)),
    "amaxerr": lambda T, F: T.amax(Z(T,0,3),1),
    "argmax": lambda T, F: T.argmax(Z(T,0,3),1),
    "norm": lambda T, F: T.norm(Z(T,0)),
    "prod": lambda T, F: T.prod(Z(T,0)),
    "gather": lambda T, F: T.gather(Z(T,0,3),0,T.zeros(0,3,dtype=T.int64)),
    "scatter": lambda T, F: Z(T,2,3).scatter(0,T.zeros(0,3,dtype=T.int64),Z(T,0,3)),
    "scatter_add": lambda T, F: Z(T,2,3).scatter_add(0,T.zeros(0,3,dtype=T.int64),Z(T,0,3)),
    "index_add": lambda T, F: Z(T,2,3).index_add(0,T.zeros(0,dtype=T.int64),Z(T,0,3)),
    "idx": lambda T, F: Z(T,2,3)[T.zeros(0,dtype=T.int64)],
    "idxm": lambda T, F: Z(T,2,3)[Z(T,2)>0],
    "take": lambda T, F: T.take(Z(T,3),T.zeros(0,dtype=T.int64)),
    "flip": lambda T, F: T.flip(Z(T,0,3),(0,)),
    "roll": lambda T, F: T.roll(Z(T,0,3),1,0),
    "tril": lambda T, F: T.tril(Z(T,0,3)),
    "trapz": lambda T, F: T.trapz(Z(T,0)),
    "diff": lambda T, F: T.diff(Z(T,0)),
    "diff1": lambda T, F: T.diff(Z(T,1)),
    "cumsum": lambda T, F: T.cumsum(Z(T,0,2000),1),
    "cummax": lambda T, F: T.cummax(Z(T,0,2000),1)[1],
    "logcumsumexp": lambda T, F: T.logcumsumexp(Z(T,0,2000),1),
    "logsumexp": lambda T, F: T.logsumexp(Z(T,0,3),1),
    "logsumexp0": lambda T, F: T.logsumexp(Z(T,0,3),0),
    "gridsample": lambda T, F: F.grid_sample(Z(T,0,1,4,4),Z(T,0,2,2,2)),
    "pixshuf": lambda T, F: F.pixel_shuffle(Z(T,0,4,2,2),2),
    "tensordot": lambda T, F: T.tensordot(Z(T,2,0),Z(T,0,3),1),
    "kron": lambda T, F: T.kron(Z(T,0),Z(T,2)),
    "repint": lambda T, F: T.repeat_interleave(Z(T,0),2),
    "arange": lambda T, F: T.arange(0),
    "linspace": lambda T, F: T.linspace(0,1,0),
    "eye": lambda T, F: T.eye(0),
    "glu": lambda T, F: F.glu(Z(T,0,4)),
    "huber": lambda T, F: F.huber_loss(Z(T,0),Z(T,0)),
}
# fmt: on
METHODS = {
    "argsort": [(), (0,)], "sort": [(), (0,)], "cumsum": [(0,), (-1,)], "cumprod": [(0,)], "cummax": [(0,)], "logcumsumexp": [(-1,)],
    "softmax": [(0,), (-1,)], "log_softmax": [(0,), (-1,)], "logsumexp": [(0,), (-1,)], "flip": [(0,)], "roll": [(1, 0)],
    "median": [()], "nanmedian": [()], "movedim": [(0, 0), (-1, -1)], "nan_to_num": [(), (None,)], "unique": [()], "nonzero": [()],
    "sum": [(), (0,)], "prod": [(), (0,)], "mean": [(), (0,)], "any": [(), (0,)], "all": [(), (0,)], "std": [(), (0,)], "norm": [()],
}


def outcome(library, f):
    """Shapes, dtypes and values of what comes out; None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = f(library, library.nn.functional)
        except Exception:
            return None
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [(a.shape, a.dtype, a) for a in (t.detach().numpy() for t in parts)]


def check(f):
    ours, theirs = outcome(strata, f), outcome(torch, f)
    assert (ours is None) == (theirs is None) and (ours is None or len(ours) == len(theirs))
    for (shape, dtype, values), (their_shape, their_dtype, wanted) in zip(ours or [], theirs or []):
        assert shape == their_shape and dtype == their_dtype
        np.testing.assert_array_equal(values, wanted)


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed (Debian: python3-torch)")
@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    check(CASES[name])


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed (Debian: python3-torch)")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0), (2, 0, 3), (1, 1), (0, 2000), (2000, 0)])
def test_methods(name, shape):
    for args in METHODS[name]:
        check(lambda T, F: getattr(T.ones(shape) * 0.5, name)(*args))


def test_without_pytorch():
    empty = strata.zeros(0, 2000)
    values, places = empty.sort()
    assert values.shape == places.shape == (0, 2000) and places.dtype == strata.int64
    assert empty.softmax(0).shape == (0, 2000) and strata.zeros(5, 0).log_softmax(1).shape == (5, 0)
    assert strata.zeros(0, 3).logsumexp(0).tolist() == [-math.inf] * 3 and strata.zeros(3, 0).logsumexp(0).shape == (0,)
    assert math.isnan(strata.zeros(0).median().item()) and math.isnan(strata.zeros(0).nanmedian().item())
    for name in ("softmax", "log_softmax"):
        with pytest.raises(strata.Error, match=f"{name}. axis 2 is outside"):
            getattr(strata.zeros(0, 3), name)(2)


def test_scalars_have_an_axis():
    x, zero = strata.tensor(2.0), strata.tensor([0])
    assert x.index_select(0, zero).tolist() == 2 and x.index_add(0, zero, strata.tensor(3.0)).tolist() == 5
    assert x.index_copy(0, zero, strata.tensor(3.0)).tolist() == 3 and x.index_fill(0, zero, 7).tolist() == 7
    assert x.movedim(0, -1).tolist() == 2
    with pytest.raises(strata.Error, match="movedim. axis 1 is outside"):
        x.movedim(1, 0)
    assert strata.tensor([True, False]).isclose(strata.tensor([True, True])).tolist() == [True, False]


def test_counts_for_each():
    x = strata.tensor([[1, 2], [3, 4], [5, 6]])
    counts = strata.tensor([2, 0, 1])
    assert x.repeat_interleave(counts, 0).tolist() == [[1, 2], [1, 2], [5, 6]]
    assert strata.tensor([7, 8, 9]).repeat_interleave(counts).tolist() == [7, 7, 9]
    assert x.repeat_interleave(strata.tensor([2]), 1).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4], [5, 5, 6, 6]]
    assert strata.zeros(0).repeat_interleave(strata.zeros(0, dtype="int64")).shape == (0,)
    with pytest.raises(strata.Error, match="repeat_interleave. counts of i64 .2,. do not match axis 0"):
        x.repeat_interleave(strata.tensor([1, 2]), 0)
