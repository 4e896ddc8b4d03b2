"""STRATA_CHECK_INDEX=1: what is outside raises when it is realized, with the user's line."""
import inspect
import re

import numpy as np
import pytest
import strata
from strata import Tensor as T


def later(values, dtype="int64"):
    """Integers that nobody knows before they are computed."""
    return T(np.array(values, dtype)) + T(np.zeros_like(np.array(values, dtype)))


def scores(*shape):
    return T(np.random.default_rng(0).normal(size=shape).astype("f"))


# what is built, and the words: operation, value, place, range
CASES = {
    "brackets": (lambda: T([1, 2, 3])[later([0, 3])], r"\[index\] index 3 at \(1,\) is outside of a range: -3 to 2"),
    "brackets of two": (lambda: scores(3, 4)[later([0, 1]), later([3, -5])], r"\[index\] index -5 at \(1,\) .*: -4 to 3"),
    "index_put": (lambda: T([1, 2, 3]).index_put((later([7]),), T([1])), r"\[index\] index 7 at \(0,\)"),
    "gather": (lambda: scores(2, 3).gather(1, later([[0, 1], [-3, -4]])), r"\[gather\] index -4 at \(1, 1\) .*: -3 to 2"),
    "take": (lambda: scores(2, 3).take(later([[5, 6]])), r"\[take\] index 6 at \(0, 1\) .*: -6 to 5"),
    "take_along_dim": (lambda: scores(2, 3).take_along_dim(later([[0], [3]]), 1), r"\[take_along_dim\] index 3 at \(1, 0\)"),
    "index_select": (lambda: scores(2, 3).index_select(0, later([1, 2], "uint8")), r"\[index_select\] index 2 at \(1,\)"),
    "scatter": (lambda: scores(2, 3).scatter(1, later([[3], [0]]), 1.0), r"\[scatter\] index 3 at \(0, 0\)"),
    "scatter_add": (lambda: scores(2, 3).scatter_add(1, later([[2], [-4]]), T([[1.0], [2.0]])),
                    r"\[scatter_add\] index -4 at \(1, 0\)"),
    "scatter_reduce": (lambda: scores(4).scatter_reduce(0, later([4]), T([1.0]), "amax"), r"\[scatter_reduce\] index 4 at"),
    "index_add": (lambda: scores(4).index_add(0, later([4]), T([1.0])), r"\[index_add\] index 4 at \(0,\)"),
    "index_copy": (lambda: scores(4).index_copy(0, later([0, 9]), T([1.0, 2.0])), r"\[index_copy\] index 9 at \(1,\)"),
    "index_fill": (lambda: scores(4).index_fill(0, later([-5]), 0.0), r"\[index_fill\] index -5 at \(0,\)"),
    "put": (lambda: scores(2, 2).put(later([4]), T([1.0])), r"\[put\] index 4 at \(0,\)"),
    "embedding": (lambda: strata.embedding(later([[0, -1]]), scores(3, 2)), r"\[embedding\] index -1 at \(0, 1\) .*: 0 to 2"),
    "embedding_bag": (lambda: strata.embedding_bag(later([[0, 3]]), scores(3, 2)), r"\[embedding\] index 3 at \(0, 1\)"),
    "one_hot": (lambda: later([[0], [5]]).one_hot(5), r"\[one_hot\] class 5 at \(1, 0\) is outside of a range: 0 to 4"),
    "cross_entropy": (lambda: scores(3, 3).cross_entropy(later([-100, 1, 3])),
                      r"\[cross_entropy\] class 3 at \(2,\) is outside of a range: 0 to 2, and -100"),
    "nll_loss": (lambda: scores(2, 3, 2).nll_loss(later([[0, 1], [0, -1]]), ignore_index=7),
                 r"\[nll_loss\] class -1 at \(1, 1\) is outside of a range: 0 to 2, and 7"),
    "multi_margin_loss": (lambda: scores(2, 3).multi_margin_loss(later([0, 4])), r"\[multi_margin_loss\] class 4 at \(1,\)"),
    "multilabel_margin_loss": (lambda: scores(1, 3).multilabel_margin_loss(later([[0, -1, 3]])),
                               r"\[multilabel_margin_loss\] class 3 at \(0, 2\)"),
    "ctc_loss": (lambda: scores(4, 2, 3).log_softmax(2).ctc_loss(later([[1, 9], [1, 3]]), later([4, 4]), later([1, 2])),
                 r"\[ctc_loss\] class 3 at \(1, 1\)"),
    "ctc_loss, lengths": (lambda: scores(4, 1, 3).log_softmax(2).ctc_loss(later([[1, 2]]), later([5]), later([2])),
                          r"\[ctc_loss\] input length 5 at \(0,\) is outside of a range: 0 to 4"),
    "max_unpool1d": (lambda: scores(1, 1, 2).max_unpool1d(later([[[0, 4]]]), 2), r"\[max_unpool1d\] index 4 at \(0, 0, 1\)"),
    "what was computed by an index": (lambda: scores(3)[T([0, 5, 1])[later([1])]], r"\[index\] index 5 at \(0,\)"),
    "an index by an index": (lambda: scores(3)[T([0, 1])[later([2])]], r"\[index\] index 2 at \(0,\) .*: -2 to 1"),
    "below other work": (lambda: (strata.embedding(later([0, 3]), scores(3, 2)).relu() @ scores(2, 2)).sum(), r"\[embedding\] index 3"),
    "constants": (lambda: scores(3)[strata.arange(4)], r"\[index\] index 3 at \(3,\)"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["INTERP", "LLVM"])
def test_what_is_outside_raises_when_it_is_realized(device, name):
    build, words = CASES[name]
    with strata.flags(DEVICE=device):
        plain = build().numpy()  # as documented: 0, NaN, or put nowhere
        x = build()
        with strata.flags(CHECK_INDEX=True):
            with pytest.raises(strata.OutOfRangeError, match=words) as error:
                x.realize()
            line = int(re.search(r"written at .*test_check_index\.py:(\d+)\)$", str(error.value))[1])
            assert 0 <= line - build.__code__.co_firstlineno <= 1
            with pytest.raises(strata.OutOfRangeError, match=words):
                build().realize()
        assert np.array_equal(build().numpy(), plain, equal_nan=True)


@pytest.mark.parametrize("device", ["CLANG", "OPENCL"])
def test_other_devices(device):
    with strata.flags(DEVICE=device, CHECK_INDEX=True):
        assert T([1.0, 2.0])[later([1, -2])].numpy().tolist() == [2, 1]
        for name in ("brackets", "embedding", "cross_entropy", "scatter"):
            with pytest.raises(strata.OutOfRangeError, match=CASES[name][1]):
                CASES[name][0]().realize()


def test_the_line_is_the_users():
    with strata.flags(CHECK_INDEX=True):
        y = scores(3).gather(0, later([3])); line = inspect.currentframe().f_lineno
        z = y.exp() + 1
        with pytest.raises(strata.OutOfRangeError, match=rf"\(gather, written at .*test_check_index.py:{line}\)$"):
            z.sum().item()


def test_what_is_inside_stays():
    w = T(np.arange(6.0).reshape(3, 2).astype("f"), requires_grad=True)
    with strata.flags(CHECK_INDEX=True):
        rows = strata.embedding(later([2, 0, 2]), w)
        rows.sum().backward()
        assert rows.numpy().tolist() == [[4, 5], [0, 1], [4, 5]] and w.grad.numpy().tolist() == [[1, 1], [0, 0], [2, 2]]
        assert scores(2, 3).cross_entropy(later([-100, 2])).item() > 0
        assert scores(1, 1, 4).max_pool1d(2, return_indices=True)[0].shape == (1, 1, 2)
        assert later([3, 1, 2]).sort(0)[0].numpy().tolist() == [1, 2, 3]
        assert later([0, 2]).one_hot(3).numpy().tolist() == [[1, 0, 0], [0, 0, 1]]
        big = T(np.random.default_rng(1).permutation(3000).astype("f"))
        assert big.sort(0)[0].numpy().tolist() == list(range(3000))
        assert (T(np.arange(0.0, 8)).quantile(0.5)).item() == 3.5
        assert T([[1.0, 2], [3, 5]]).inverse().numpy().shape == (2, 2) if hasattr(T, "inverse") else True


def test_gradients_of_what_is_outside():
    w = scores(3, 2).requires_grad_(True)
    strata.embedding(later([3]), w).sum().backward()
    with strata.flags(CHECK_INDEX=True), pytest.raises(strata.OutOfRangeError, match=r"\[embedding\] index 3"):
        w.grad.numpy()


def test_under_jit():
    @strata.jit
    def step(x, i):
        return x[i] * 2

    x = T([1.0, 2, 3])
    with strata.flags(CHECK_INDEX=True):
        for _ in range(4):
            assert step(x, T([0, 2])).numpy().tolist() == [2, 6]
        for _ in range(2):
            with pytest.raises(strata.OutOfRangeError, match=r"\[index\] index 3 at \(1,\)"):
                step(x, T([0, 3]))
        assert step.replays == 0
    for _ in range(4):
        assert step(x, T([0, 3])).numpy().tolist() == [2, 0]
    assert step.replays > 0
    with strata.flags(CHECK_INDEX=True), pytest.raises(strata.OutOfRangeError, match=r"\[index\] index 3"):
        step(x, T([0, 3]))


def test_the_flag_is_one_of_all():
    assert strata.flags.CHECK_INDEX is False and "CHECK_INDEX" in strata.flags.all()


@pytest.mark.parametrize("given", [list, np.array], ids=["list", "array"])
def test_indices_that_are_written_are_checked_at_once(given):
    x, w = scores(2, 3), scores(4, 2)
    for call, words in [
        (lambda i: x.gather(1, given([[0, i], [1, 2]])), r"\[gather\] index 3 at \(0, 1\) is outside of a range: -3 to 2"),
        (lambda i: strata.gather(x, -1, given([[0, i], [1, 2]])), r"\[gather\] index 3 at \(0, 1\)"),
        (lambda i: x.index_select(1, given([0, i])), r"\[index_select\] index 3 at \(1,\)"),
        (lambda i: x.take(given([2 * i])), r"\[take\] index 6 at \(0,\) is outside of a range: -6 to 5"),
        (lambda i: x.take_along_dim(given([[i], [1]]), 1), r"\[take_along_dim\] index 3 at \(0, 0\)"),
        (lambda i: x.take_along_dim(given([2 * i])), r"\[take_along_dim\] index 6 at \(0,\)"),
        (lambda i: strata.embedding(given([1, i + 1]), w), r"\[embedding\] index 4 at \(1,\) is outside of a range: 0 to 3"),
    ]:
        assert np.isfinite(call(2).numpy()).all()
        with pytest.raises(strata.OutOfRangeError, match=words):
            call(3)
    assert T(5.0).gather(0, given([0])).numpy().tolist() in (5.0, [5.0])
    with pytest.raises(strata.OutOfRangeError):
        T(5.0).index_select(0, given([1]))
    assert x.take(T([6])).numpy().tolist() == [0]  # of a tensor nothing is known
