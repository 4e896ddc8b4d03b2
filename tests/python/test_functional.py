"""The functions of neural networks, each beside PyTorch's: as strata.NAME, as a method, and in strata.nn.functional."""
import numpy as np
import pytest
import strata
from strata import Tensor
from strata.nn import functional as F

torch = pytest.importorskip("torch")
T = torch.nn.functional
rng = np.random.default_rng(5)


def a(*shape):
    return rng.standard_normal(shape).astype(np.float32)


X, IMG, W = a(4, 6), a(2, 4, 8, 8), a(6, 4, 3, 3)
LABELS = np.array([0, 5, 2, 1])
SIGNS = np.array([1, -1, 1, -1], np.float32)
UNIT = 1 / (1 + np.exp(-a(4, 6)))

CALLS = [
    ("conv1d", (a(2, 4, 9), a(6, 2, 3), a(6)), dict(stride=2, padding=1, groups=2)),
    ("conv2d", (IMG, W), dict(padding="same", dilation=2)),
    ("conv2d", (IMG, W, a(6)), dict(stride=(2, 1), padding=(1, 2))),
    ("conv3d", (a(1, 2, 5, 5, 5), a(3, 2, 2, 2, 2)), {}),
    ("conv_transpose2d", (IMG, a(4, 3, 3, 3)), dict(stride=2, padding=1, output_padding=1)),
    ("conv_transpose1d", (a(2, 4, 5), a(4, 3, 3)), {}),
    ("unfold", (IMG, 3), dict(padding=1, stride=2)),
    ("fold", (a(2, 36, 9), (5, 5), 3), {}),
    ("max_pool1d", (a(2, 3, 9), 2), {}), ("max_pool2d", (IMG, 3), dict(stride=2, padding=1, ceil_mode=True)), ("max_pool3d", (a(1, 2, 4, 4, 4), 2), {}),
    ("max_pool2d", (IMG, 2), dict(return_indices=True)),
    ("avg_pool1d", (a(2, 3, 9), 2), {}), ("avg_pool2d", (IMG, 3), dict(stride=2, padding=1, count_include_pad=False)), ("avg_pool3d", (a(1, 2, 4, 4, 4), 2), {}),
    ("adaptive_avg_pool2d", (IMG, 3), {}), ("adaptive_max_pool2d", (IMG, (4, 2)), {}), ("adaptive_avg_pool1d", (a(2, 3, 9), 4), {}), ("adaptive_avg_pool3d", (a(1, 2, 4, 4, 4), 2), {}),
    ("lp_pool2d", (np.abs(IMG), 2, 2), {}),
    ("batch_norm", (IMG, a(4), np.abs(a(4)), a(4), a(4)), {}), ("layer_norm", (X, (6,), a(6), a(6)), {}), ("group_norm", (IMG, 2, a(4), a(4)), {}),
    ("instance_norm", (IMG,), {}), ("local_response_norm", (IMG, 3), dict(alpha=0.1)), ("normalize", (X,), dict(dim=0, p=1)),
    ("linear", (X, a(3, 6), a(3)), {}), ("bilinear", (X, a(4, 5), a(3, 6, 5)), {}), ("embedding", (LABELS, X[:, :3].repeat(2, 0)), {}),
    ("prelu", (X, np.array([0.2], np.float32)), {}), ("glu", (X,), dict(dim=1)), ("softmin", (X,), dict(dim=0)), ("cosine_similarity", (X, a(4, 6)), {}),
    ("pairwise_distance", (X, a(4, 6)), dict(keepdim=True)), ("pdist", (X,), {}),
    ("relu", (X,), {}), ("relu6", (X,), {}), ("leaky_relu", (X, 0.2), {}), ("elu", (X,), dict(alpha=0.5)), ("celu", (X,), {}), ("selu", (X,), {}), ("silu", (X,), {}),
    ("mish", (X,), {}), ("gelu", (X,), {}), ("gelu", (X,), dict(approximate="tanh")), ("softplus", (X,), dict(beta=2)), ("softsign", (X,), {}), ("tanhshrink", (X,), {}),
    ("hardtanh", (X,), dict(min_val=-0.5)), ("hardswish", (X,), {}), ("hardsigmoid", (X,), {}), ("hardshrink", (X,), {}), ("softshrink", (X,), {}), ("threshold", (X, 0.1, 2.0), {}),
    ("logsigmoid", (X,), {}), ("sigmoid", (X,), {}), ("tanh", (X,), {}), ("softmax", (X,), dict(dim=1)), ("log_softmax", (X,), dict(dim=0)), ("rrelu", (X,), {}),
    ("mse_loss", (X, a(4, 6)), {}), ("l1_loss", (X, a(4, 6)), dict(reduction="sum")), ("smooth_l1_loss", (X, a(4, 6)), dict(beta=0.5)), ("huber_loss", (X, a(4, 6)), dict(delta=0.5)),
    ("cross_entropy", (X, LABELS), dict(label_smoothing=0.1)), ("cross_entropy", (X, LABELS), dict(reduction="none", ignore_index=5)), ("cross_entropy", (X, UNIT), {}),
    ("nll_loss", (X, LABELS), dict(weight=np.abs(a(6)))), ("binary_cross_entropy", (UNIT, UNIT[::-1].copy()), {}), ("binary_cross_entropy_with_logits", (X, UNIT), dict(pos_weight=np.abs(a(6)))),
    ("kl_div", (np.log(UNIT), UNIT[::-1].copy()), dict(reduction="batchmean")), ("poisson_nll_loss", (X, np.abs(X)), dict(full=True)), ("gaussian_nll_loss", (X, a(4, 6), np.abs(a(4, 6))), {}),
    ("soft_margin_loss", (X[:, 0], SIGNS), {}), ("hinge_embedding_loss", (X[:, 0], SIGNS), {}), ("cosine_embedding_loss", (X, a(4, 6), SIGNS), dict(margin=0.1)),
    ("margin_ranking_loss", (X[:, 0], a(4), SIGNS), {}), ("triplet_margin_loss", (X, a(4, 6), a(4, 6)), dict(swap=True)), ("multi_margin_loss", (X, LABELS), dict(p=2)),
    ("multilabel_soft_margin_loss", (X, (UNIT > 0.5).astype(np.float32)), {}), ("multilabel_margin_loss", (X, np.array([[0, 2, -1, 0, 0, 0]] * 4)), {}),
    ("interpolate", (IMG,), dict(scale_factor=2)), ("interpolate", (IMG,), dict(size=(5, 7), mode="bilinear", align_corners=False)), ("interpolate", (IMG,), dict(size=5, mode="bicubic", align_corners=True)),
    ("pixel_shuffle", (IMG, 2), {}), ("channel_shuffle", (IMG, 2), {}), ("pad", (IMG, (1, 2, 0, 1)), dict(mode="reflect")), ("one_hot", (LABELS, 7), {}),
    ("grid_sample", (IMG, np.tanh(a(2, 3, 3, 2))), dict(align_corners=True)), ("affine_grid", (a(2, 2, 3), (2, 4, 3, 3)), dict(align_corners=False)),
    ("max_unpool1d", (np.array([[[1.0, 2.0]]], np.float32), np.array([[[1, 2]]]), 2), {}),
]


def to_torch(value):
    return torch.tensor(value) if isinstance(value, np.ndarray) else value


def compare(got, want):
    if isinstance(want, tuple):
        for g, w in zip(got, want):
            compare(g, w)
        return
    assert got.shape == tuple(want.shape)
    np.testing.assert_allclose(got.numpy().astype(np.float64), want.numpy().astype(np.float64), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name,args,kwargs", CALLS, ids=[f"{k}-{c[0]}" for k, c in enumerate(CALLS)])
def test_is_pytorchs(name, args, kwargs):
    theirs = getattr(T, name, None) or getattr(torch, name)
    want = theirs(*map(to_torch, args), **{k: to_torch(v) for k, v in kwargs.items()})
    compare(getattr(F, name)(*args, **kwargs), want)
    if name not in ("unfold", "affine_grid"):
        compare(getattr(Tensor(args[0]), name)(*args[1:], **kwargs), want)


def test_attention():
    q, k, v = a(2, 3, 5, 4), a(2, 3, 6, 4), a(2, 3, 6, 4)
    mask = rng.random((5, 6)) > 0.3
    mask[:, 0] = True
    scores = torch.tensor(q) @ torch.tensor(k).mT / 2
    want = torch.softmax(scores.masked_fill(~torch.tensor(mask), -torch.inf), -1) @ torch.tensor(v)
    compare(strata.scaled_dot_product_attention(q, k, v, attn_mask=mask), want)
    causal = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert F.scaled_dot_product_attention(q, q, q, dropout_p=0.1).shape == causal.shape
    compare(causal[:, :, 0], torch.tensor(q)[:, :, 0])


def test_ctc():
    logp = torch.log_softmax(torch.tensor(a(7, 2, 5)), -1)
    targets, lengths = np.array([[1, 2, 3], [2, 2, 4]]), np.array([3, 2])
    want = T.ctc_loss(logp, torch.tensor(targets), torch.tensor([7, 6]), torch.tensor(lengths))
    compare(F.ctc_loss(logp.numpy(), targets, [7, 6], lengths), want)


def test_running_statistics():
    x, mean, var = Tensor(IMG), strata.zeros(4), strata.ones(4)
    tm, tv = torch.zeros(4), torch.ones(4)
    compare(x.batch_norm(mean, var, training=True), T.batch_norm(torch.tensor(IMG), tm, tv, training=True))
    compare(mean, tm)
    compare(var, tv)


def test_tinygrads_names():
    x = Tensor(X)
    compare(x.layernorm(), T.layer_norm(torch.tensor(X), (6,)))
    compare(x.sparse_categorical_crossentropy(LABELS), T.cross_entropy(torch.tensor(X), torch.tensor(LABELS)))
    compare(Tensor(IMG).max_pool2d(), T.max_pool2d(torch.tensor(IMG), 2))
    compare(x.swish(), T.silu(torch.tensor(X)))


def test_words_that_are_wrong():
    with pytest.raises(strata.DomainError, match="none.*mean"):
        F.mse_loss(X, X, reduction="men")
    with pytest.raises(strata.DomainError):
        F.pad(X, (1, 1), mode="nothing")
    with pytest.raises(TypeError):
        F.conv2d(IMG, W, padding="s" if False else 1.5)
