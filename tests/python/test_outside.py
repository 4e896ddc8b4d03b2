"""Classes, indices and weights outside of their range: an error where the host has them at the call, else NaN on each device."""
import numpy as np
import pytest
import strata
from strata import Tensor as T

DEVICES = ["INTERP", "LLVM", "CLANG", "OPENCL"]


def on(name):
    with strata.flags(DEVICE=name):
        yield name


@pytest.fixture(params=DEVICES)
def device(request):
    yield from on(request.param)


@pytest.fixture(params=["INTERP", "LLVM"])
def quick_device(request):
    """CLANG and OPENCL compile what LLVM compiles, and take their time."""
    yield from on(request.param)


def scores(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("f")


def later(values, dtype="int64"):
    """Integers that nobody knows before they are computed."""
    return T(np.array(values, dtype)) + T(np.zeros_like(np.array(values, dtype)))


# A loss of scores and labels, no mean of them; labels of which those in `wrong` rows are outside; the shape of the scores.
LOSSES = {
    "cross_entropy": (lambda x, y: x.cross_entropy(y, reduction="none"), [2, 3, -100, -1, 0], [1, 3], (5, 3)),
    "cross_entropy of images": (lambda x, y: x.cross_entropy(y, reduction="none").sum(1),
                                [[2, 1], [0, 7], [-100, 0]], [1], (3, 3, 2)),
    "cross_entropy, smoothed": (lambda x, y: x.cross_entropy(y, reduction="none", label_smoothing=0.5),
                                [2, 3, -100, -1, 0], [1, 3], (5, 3)),
    "cross_entropy, weighted": (lambda x, y: x.cross_entropy(y, T([1.0, 2, 3]), reduction="none"),
                                [2, 3, -100, -1, 0], [1, 3], (5, 3)),
    "cross_entropy, ignoring 7": (lambda x, y: x.cross_entropy(y, ignore_index=7, reduction="none"),
                                  [7, -100, 0, 3], [1, 3], (4, 3)),
    "sparse_categorical_crossentropy": (lambda x, y: x.sparse_categorical_crossentropy(y, reduction="none"),
                                        [2, 3, -1, -2, 0], [1, 3], (5, 3)),
    "nll_loss": (lambda x, y: x.nll_loss(y, reduction="none"), [2, 3, -100, -1, 0], [1, 3], (5, 3)),
    "multi_margin_loss": (lambda x, y: x.multi_margin_loss(y, reduction="none"), [2, 3, 1, -1, 0], [1, 3], (5, 3)),
    "multi_margin_loss, squared": (lambda x, y: x.multi_margin_loss(y, 2, 0.0, T([1.0, 2, 3]), reduction="none"),
                                   [2, 3, 1, -100, 0], [1, 3], (5, 3)),
    "multi_margin_loss of one class": (lambda x, y: x.multi_margin_loss(y, reduction="none"), [0, 1], [1], (2, 1)),
    "multilabel_margin_loss": (lambda x, y: x.multilabel_margin_loss(y, reduction="none"),
                               [[2, 0, -1], [3, -1, -1], [0, -2, 1], [-1, 0, 0], [0, 1, 2]], [1, 2], (5, 3)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_labels_that_are_computed(quick_device, name):
    check_computed_labels(name)


@pytest.mark.parametrize("name", ["cross_entropy", "multi_margin_loss", "multilabel_margin_loss"])
def test_labels_that_are_computed_on(device, name):
    check_computed_labels(name)


def check_computed_labels(name):
    loss, labels, wrong, shape = LOSSES[name]
    x = T(scores(*shape), requires_grad=True)
    out = loss(x, later(labels))
    out.sum().backward()
    values, slopes = out.numpy(), x.grad.numpy().reshape(shape[0], -1)
    for row in range(shape[0]):
        assert np.isnan(values[row]) == (row in wrong), (row, values)
        if name == "cross_entropy of images" and row in wrong:
            assert np.isnan(slopes[row]).sum() == 3  # of the pixel alone
        else:
            assert np.isnan(slopes[row]).all() == np.isnan(slopes[row]).any() == (row in wrong), (row, slopes)


@pytest.mark.parametrize("name", LOSSES)
def test_labels_at_hand(name):
    loss, labels, wrong, shape = LOSSES[name]
    x = T(scores(*shape))
    with pytest.raises(strata.OutOfRangeError, match=r"class -?\d+ at \(\d.*\) is outside of a range: 0 to \d"):
        loss(x, T(labels))
    kept = [k for k in range(shape[0]) if k not in wrong]
    assert np.isfinite(loss(T(scores(*shape)[kept]), T([labels[k] for k in kept])).numpy()).all()


def test_the_error_names_place_value_and_limit():
    x = T(scores(2, 3, 4))
    labels = np.zeros((2, 4), "int32")
    labels[1, 2] = 3
    text = r"^\[cross_entropy\] class 3 at \(1, 2\) is outside of a range: 0 to 2, and -100$"
    for at_hand in (T(labels), labels, T(labels.T).transpose(0, 1), T(labels[::-1].copy()).flip(0),
                    T(labels).to("CLANG" if T(labels).device != "CLANG" else "LLVM").to(T(labels).device)):
        with pytest.raises(strata.OutOfRangeError, match=text):
            x.cross_entropy(at_hand)
    with pytest.raises(strata.OutOfRangeError, match=r"class 3 at \(0,\) is outside"):
        T(scores(2, 3)).nll_loss(strata.full((2,), 3))
    with pytest.raises(strata.OutOfRangeError, match=r"class 18446744073709551516 at \(0,\) is outside"):
        T(scores(1, 3)).cross_entropy(T(np.array([2**64 - 100], "uint64")))
    with pytest.raises(strata.OutOfRangeError, match=r"class 9 at \(\) is outside"):
        T(scores(3)).cross_entropy(T(9))


def test_narrow_labels():
    """-100 is no class of u8 labels, and 300 classes are more than an i8 counts to."""
    x = T(scores(2, 300))
    want = x.cross_entropy(T([156, 1]), reduction="none").numpy()
    for labels in (T(np.array([156, 1], "uint8")), later([156, 1], "uint8")):
        assert np.array_equal(x.cross_entropy(labels, reduction="none").numpy(), want)
    few = T(scores(1, 3))
    assert np.isnan(few.cross_entropy(later([2**64 - 100], "uint64")).numpy())
    assert np.isfinite(x.cross_entropy(later([100, 1], "int8")).numpy())
    assert np.isfinite(x.multi_margin_loss(later([100, 1], "int8")).numpy())


def test_computed_labels_are_not_run_for():
    labels = later([5])
    T(scores(1, 3)).cross_entropy(labels)
    assert not labels.is_realized()


def test_under_jit(device):
    @strata.jit
    def step(x, y):
        return x.cross_entropy(y, reduction="none"), x.multi_margin_loss(y.maximum(0), reduction="none")

    x = T(scores(2, 3))
    for _ in range(3):
        assert np.isfinite(step(x, T([1, 2]))[0].numpy()).all()
    plain, margin = step(x, T([1, 3]))
    assert np.isnan(plain.numpy()).tolist() == [False, True] == np.isnan(margin.numpy()).tolist()


def ctc(x, targets, input_lengths, target_lengths, reduction="none"):
    return x.log_softmax(2).ctc_loss(targets, input_lengths, target_lengths, reduction=reduction)


CTC = [
    # targets, input lengths, target lengths, wrong rows, words
    ([[1, 2], [3, 1], [1, 9], [-1, 2]], [4, 4, 4, 4], [2, 2, 1, 2], [1, 3], r"class 3 at \(1, 0\)"),
    ([1, 2, 3, 1, 1, -1, 2], [4, 4, 4, 4], [2, 2, 1, 2], [1, 3], r"class 3 at \(2,\)"),
    ([1, 2, 1, 1, 2], [4, 4, 4, 4], [2, 2, 1, 2], [3], r"target 3 has length 2, but of 5 classes only 0 are left"),
    ([[1, 2]] * 4, [4, 5, 4, -1], [2] * 4, [1, 3], r"input length 5 at \(1,\) is outside of a range: 0 to 4"),
    ([[1, 2]] * 4, [4] * 4, [2, 3, 0, -1], [1, 3], r"target length 3 at \(1,\) is outside of a range: 0 to 2"),
]


@pytest.mark.parametrize("case", range(len(CTC)))
def test_ctc(quick_device, case):
    targets, inputs, lengths, wrong, words = CTC[case]
    values = scores(4, 4, 3)
    with pytest.raises(strata.Error, match=r"\[ctc_loss\] " + words):
        ctc(T(values), T(targets), T(inputs), T(lengths))
    x = T(values, requires_grad=True)
    out = ctc(x, later(targets), later(inputs), later(lengths))
    out.sum().backward()
    assert np.isnan(out.numpy()).tolist() == [k in wrong for k in range(4)]
    slopes = np.isnan(x.grad.numpy()).transpose(1, 0, 2).reshape(4, -1)
    assert slopes.all(1).tolist() == slopes.any(1).tolist() == [k in wrong for k in range(4)]


def test_ctc_on(device):
    losses = ctc(T(scores(4, 2, 3)), later([[1, 2], [3, 1]]), later([4, 4]), later([2, 2])).numpy()
    assert np.isnan(losses).tolist() == [False, True]


def test_ctc_of_padded_targets():
    """What stands behind a target's end is no class of it."""
    x = T(scores(4, 2, 3))
    want = ctc(x, T([[1, 0], [2, 1]]), T([4, 4]), T([1, 2])).numpy()
    for pad in (-1, 99, -100):
        for make in (T, later):
            got = ctc(x, make([[1, pad], [2, 1]]), T([4, 4]), T([1, 2])).numpy()
            assert np.array_equal(got, want) and np.isfinite(got).all()


def test_multinomial(device):
    wrong = [([0.0, 0.0], 1, False, r"the weights are all 0"),
             ([[1.0, 1.0], [0.0, 0.0]], 1, True, r"the weights of row \(1,\) are all 0"),
             ([[1.0, 1.0], [1.0, -2.0]], 1, False, r"weight -2.* at \(1, 1\) is negative or not finite"),
             ([1.0, float("nan")], 1, False, r"weight nan at \(1,\)"),
             ([1.0, float("inf")], 1, True, r"weight inf at \(1,\)"),
             ([[1.0, 1.0], [0.0, 3.0]], 2, False,
              r"2 draws without replacement are more than the 1 weights of row \(1,\) that are above 0")]
    for weights, count, replacement, words in wrong:
        for dtype in ("float32", "float64", "float16"):
            with pytest.raises(strata.DomainError, match=r"\[multinomial\] " + words):
                T(np.array(weights, dtype)).multinomial(count, replacement)
    none = T(np.zeros((2, 3), "f")) * 1
    assert none.multinomial(2).numpy().tolist() == [[-1, -1]] * 2
    assert none.multinomial(2, True).numpy().tolist() == [[-1, -1]] * 2
    some = (T([[0.0, 2.0, -1.0]]) * 1).multinomial(3).numpy()
    assert some.tolist() == [[1, -1, -1]]


def test_embedding(device):
    weight = scores(3, 2)
    for dtype in ("int64", "uint8", "int8", "int32"):
        w = T(weight, requires_grad=True)
        rows = strata.embedding(later([2, 3, 0] + ([-1] if dtype != "uint8" else [200]), dtype), w)
        assert np.array_equal(rows.numpy(), np.array([weight[2], [np.nan] * 2, weight[0], [np.nan] * 2]), equal_nan=True)
        rows.sum().backward()
        assert w.grad.numpy().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert strata.embedding(later([2, 3]), T(np.arange(6).reshape(3, 2))).numpy().tolist() == [[4, 5], [0, 0]]
    bags = strata.embedding_bag(later([[0, 1], [1, 3]]), T(weight)).numpy()
    assert np.isfinite(bags[0]).all() and np.isnan(bags[1]).all()
