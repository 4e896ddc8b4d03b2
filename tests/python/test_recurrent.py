"""RNN, LSTM and GRU beside torch.nn: layers, directions, lengths, orders of axes, gradients; and layers of symbolic length."""
import itertools

import numpy as np
import pytest

import strata
from strata import nn

torch = pytest.importorskip("torch")


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def pair(kind, **options):
    """A layer of ours and torch's with the same weights."""
    torch.manual_seed(1)
    theirs = getattr(torch.nn, kind)(5, 4, batch_first=options.pop("batch_first", True), **options)
    ours = getattr(nn, kind)(5, 4, batch_first=theirs.batch_first, **options)
    ours.load_state_dict({name: strata.tensor(t.detach().numpy()) for name, t in theirs.state_dict().items()})
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    return ours, theirs


def flat(result):
    return [result[0], *(result[1] if isinstance(result[1], tuple) else (result[1],))]


def as_torch(state):
    """Torch's state of one layer in one direction has an axis more."""
    return state[None] if state.ndim == 2 else state


CASES = list(itertools.product(["RNN", "LSTM", "GRU"], [1, 2, 3], [False, True], [True, False], [True, False]))


@pytest.mark.parametrize("kind, layers, bidirectional, bias, batch_first", CASES)
def test_beside_torch(kind, layers, bidirectional, bias, batch_first):
    ours, theirs = pair(kind, num_layers=layers, bidirectional=bidirectional, bias=bias, batch_first=batch_first)
    rng = np.random.default_rng(layers)
    x = rng.standard_normal((3, 7, 5) if batch_first else (7, 3, 5)).astype(np.float32)
    count = layers * (2 if bidirectional else 1)
    states = [rng.standard_normal((3, 4) if count == 1 else (count, 3, 4)).astype(np.float32) for _ in range(2 if kind == "LSTM" else 1)]
    for with_state in (False, True):
        mine = tuple(map(strata.tensor, states))
        yours = tuple(torch.tensor(as_torch(s)) for s in states)
        args = () if not with_state else (mine,) if kind == "LSTM" else (mine[0],)
        their_args = () if not with_state else (yours,) if kind == "LSTM" else (yours[0],)
        xs, xt = strata.tensor(x).requires_grad_(), torch.tensor(x, requires_grad=True)
        got, wanted = flat(ours(xs, *args)), flat(theirs(xt, *their_args))
        for a, b in zip(got, wanted):
            close(as_torch(a.numpy()) if a is not got[0] else a.numpy(), b.detach().numpy())
        loss, their_loss = sum((t * t).sum() for t in got), sum((t * t).sum() for t in wanted)
        theirs.zero_grad()
        their_loss.backward()
        grads = strata.gradients(loss, [xs, *(p for _, p in ours.named_parameters())])
        for g, t in zip(grads, [xt, *theirs.parameters()]):
            close(g.numpy(), t.grad.numpy(), 1e-4)


@pytest.mark.parametrize("kind, bidirectional", itertools.product(["RNN", "LSTM", "GRU"], [False, True]))
def test_lengths(kind, bidirectional):
    ours, theirs = pair(kind, num_layers=2, bidirectional=bidirectional)
    x, lengths = np.random.default_rng(0).standard_normal((4, 6, 5)).astype(np.float32), [6, 1, 4, 3]
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), lengths, batch_first=True, enforce_sorted=False)
    out, state = theirs(packed)
    out = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]
    for a, b in zip(flat(ours(strata.tensor(x), None, strata.tensor(lengths))), flat((out, state))):
        close(a.numpy(), b.detach().numpy())


def test_relu():
    ours, theirs = pair("RNN", nonlinearity="relu")
    x = np.random.default_rng(0).standard_normal((2, 5, 5)).astype(np.float32)
    close(ours(strata.tensor(x))[0].numpy(), theirs(torch.tensor(x))[0].detach().numpy())


def test_symbolic_length():
    layer = nn.LSTM(5, 4, bidirectional=True)
    n = strata.Variable("n", 1, 12)
    x = strata.tensor(np.random.default_rng(0).standard_normal((2, 12, 5)).astype(np.float32))
    captured = strata.jit(lambda v: layer(v)[0].sum(1))
    for k in (4, 12, 1, 7, 2):
        close(captured(x[:, : n.bind(k)]).numpy(), layer(x[:, :k])[0].sum(1).numpy())
    assert captured.replays == 3


def test_dropout_between_layers():
    strata.manual_seed(0)
    layer = nn.GRU(5, 4, num_layers=2, dropout=0.5)
    x = strata.rand(2, 3, 5)
    assert not np.array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())
    layer.eval()
    assert np.array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())


def test_trains_as_torch():  # 30 steps of Adam in a captured function, loss by loss
    ours, theirs = pair("LSTM", num_layers=2)
    head, their_head = nn.Linear(4, 1), torch.nn.Linear(4, 1)
    head.load_state_dict({name: strata.tensor(t.detach().numpy()) for name, t in their_head.state_dict().items()})
    optimizer = strata.optim.Adam([p for m in (ours, head) for _, p in m.named_parameters()], lr=0.02)
    their_optimizer = torch.optim.Adam([*theirs.parameters(), *their_head.parameters()], lr=0.02)

    @strata.jit
    def train(x):
        optimizer.zero_grad()
        loss = ((head(ours(x)[0][:, -1]) - x[:, 0, :1]) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.uniform(-1, 1, (8, 6, 5)).astype(np.float32)
        their_optimizer.zero_grad()
        their_loss = ((their_head(theirs(torch.tensor(x))[0][:, -1]) - torch.tensor(x)[:, 0, :1]) ** 2).mean()
        their_loss.backward()
        their_optimizer.step()
        close(train(strata.tensor(x)).item(), their_loss.item(), 1e-4)


def test_refusals():
    layer = nn.LSTM(5, 4, num_layers=2)
    x = strata.zeros(2, 3, 5)
    for call, words in [
        (lambda: layer(strata.zeros(3, 5)), "takes \\(batch, length, features\\), not \\(3, 5\\)"),
        (lambda: layer(strata.zeros(2, 3, 6)), "the input has 6 features, not 5"),
        (lambda: layer(x, (strata.zeros(2, 4), strata.zeros(2, 4))), "has the shape \\(2, 4\\), not \\(2, 2, 4\\)"),
        (lambda: layer(x, None, strata.tensor([1, 2, 3])), "lengths are integers of shape \\(2,\\)"),
    ]:
        with pytest.raises(strata.ShapeError, match=words):
            call()
    for make, words in [
        (lambda: nn.LSTM(5, 4, num_layers=0), "0 layers"),
        (lambda: nn.LSTM(0, 4), "0 inputs"),
        (lambda: nn.GRU(5, 4, dropout=1.0), "dropout 1.0* is outside"),
        (lambda: nn.RNN(5, 4, nonlinearity="gelu"), "neither 'tanh' nor 'relu'"),
    ]:
        with pytest.raises(strata.DomainError, match=words):
            make()


def test_a_state_is_a_pair_of_tensors():
    layer, x = nn.LSTM(4, 4, num_layers=2), strata.rand(3, 2, 4)
    for state in (strata.rand(2, 2, 4), strata.rand(2, 3, 4), (strata.rand(2, 3, 4),), 3, (strata.rand(2, 3, 4), None)):
        with pytest.raises(TypeError, match=r"\[LSTM\] the state is a pair of tensors"):
            layer(x, state)
    with pytest.raises(strata.DomainError, match="the input is of f16, and the weights of f32"):
        layer(x.half())
    with pytest.raises(strata.DomainError, match="an initial state is of f64"):
        layer(x, (strata.rand(2, 3, 4).double(), strata.rand(2, 3, 4).double()))
