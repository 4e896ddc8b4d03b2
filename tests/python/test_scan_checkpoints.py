"""Loops whose gradients keep the state of every k-th step alone: the same values and gradients, in less memory."""
import pytest

import strata
import test_scan


@pytest.mark.parametrize("every", [1, 2, 3, 5, 6, 50])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("make", test_scan.STEPS, ids=lambda m: m.__name__)
def test_checkpoints_change_no_value(make, reverse, every):
    step, state, xs, parameters = make()
    runs = [strata.scan(step, state, xs, reverse=reverse, checkpoint_every=k) for k in (0, every)]
    for a, b in zip(*(test_scan.tensors(last) + test_scan.tensors(ys) for last, ys in runs)):
        test_scan.close(a.numpy(), b.numpy())
    for a, b in zip(*(strata.gradients(test_scan.loss_of(last, ys), parameters) for last, ys in runs)):
        test_scan.close(a.numpy(), b.numpy(), 1e-4)


def test_checkpoints_of_second_gradients_and_of_no_sequence():
    step, state, xs, parameters = test_scan.rnn()
    both = []
    for every in (0, 3):
        first = strata.gradients(test_scan.loss_of(*strata.scan(step, state, xs, checkpoint_every=every)), parameters)
        both.append(strata.gradients(test_scan.loss_of(first, ()), parameters, allow_unused=True))
    for a, b in zip(*both):
        test_scan.close(a.numpy(), b.numpy(), 1e-3)
    last, ys = strata.scan(lambda h, _: (h * 2, h), strata.tensor([1.0]), length=11, checkpoint_every=4)
    assert last.tolist() == [2.0 ** 11] and ys.tolist() == [[2.0 ** k] for k in range(11)]


def test_checkpoints_take_less_memory(tmp_path):
    w, x = test_scan.data(64, 64, scale=0.1).requires_grad_(), test_scan.data(2048, 64)
    arenas = []
    for every in (0, 45):
        @strata.jit
        def f(x, every=every):
            last, _ = strata.scan(lambda h, e: ((h @ w + e).tanh(), None), strata.zeros(64), x, checkpoint_every=every)
            return strata.gradients(last.square().sum(), [w])[0]

        results = [f(x).numpy() for _ in range(2)]
        test_scan.close(results[0], results[1])
        arenas.append((results[1], f.export_c(str(tmp_path / f"f{every}"))["arena_bytes"]))
    test_scan.close(arenas[0][0], arenas[1][0], 1e-4)
    assert arenas[1][1] < 0.2 * arenas[0][1], arenas


def test_checkpoints_refuse():
    x = test_scan.data(4, 2)
    with pytest.raises(strata.DomainError, match=r"\[scan\] checkpoints every -1 steps"):
        strata.scan(lambda h, e: (h + e, None), strata.zeros(2), x, checkpoint_every=-1)
    n = strata.Variable("n", 1, 4)
    with pytest.raises(strata.ShapeError, match=r"\[scan\] checkpoints every 2 of n"):
        strata.scan(lambda h, e: (h + e, None), strata.zeros(2), x.shrink(((0, n.bind(3)), (0, 2))), checkpoint_every=2)
