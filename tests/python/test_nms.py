"""nms(), beside a plain loop over NumPy's numbers."""
import numpy as np
import pytest

import strata
from strata import Tensor

RANDOM = np.random.default_rng(5)


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared
    return shared / union if union > 0 else 0


def expected(boxes, scores, iou, least=None, most=None):
    boxes = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)
    out = []
    for k in sorted(range(len(scores)), key=lambda k: (-scores[k], k)):
        if (least is None or scores[k] > least) and all(overlap(boxes[k], boxes[j]) <= boxes.dtype.type(iou) for j in out):
            out.append(k)
    return out[:most]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("device", ["INTERP", "LLVM"])
def test_random_boxes(dtype, device):
    for n in (0, 1, 2, 40, 200):
        boxes = RANDOM.integers(0, 20, (n, 4)).astype(dtype)  # degenerate ones, equal ones, corners in any order
        scores = (RANDOM.integers(0, 15, n) / 16).astype(dtype)
        b, s = Tensor(boxes).to(device), Tensor(scores).to(device)
        for iou in (0, 0.3, 0.5, 1):
            got = strata.nms(b, s, iou)
            assert got.tolist() == expected(boxes, scores, iou) and got.dtype == strata.int64 and got.device == b.device
        assert strata.nms(b, s, 0.4, score_threshold=0.5, max_boxes=3).tolist() == expected(boxes, scores, 0.4, 0.5, 3)


def test_centres_and_numbers_that_are_none():
    corners = np.array([[0, 0, 2, 2], [1, 0, 3, 2], [8, 8, 9, 9]], "f4")
    centres = np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], 1)
    scores = Tensor(np.array([0.5, 0.9, np.nan], "f4"))
    assert strata.nms(Tensor(centres), scores, 0.3, has_centres=True).tolist() == [1]
    assert strata.nms(Tensor(corners), scores, 0.4).tolist() == [1, 0]
    assert strata.nms(Tensor(corners).half(), scores, 0.4).tolist() == [1, 0]
    assert strata.nms(Tensor(corners), scores, 0.4, max_boxes=0).tolist() == []


def test_errors_name_the_values():
    boxes, scores = Tensor(np.zeros((5, 4), "f4")), Tensor(np.zeros(5, "f4"))
    for call, text in [
            (lambda: strata.nms(boxes, scores[:4]), r"\[nms\] boxes of shape \(5, 4\) and scores of shape \(4,\): \(n, 4\) and \(n,\)"),
            (lambda: strata.nms(scores, scores), r"\[nms\] boxes of shape \(5,\)"),
            (lambda: strata.nms(boxes.long(), scores), r"\[nms\] boxes have dtype i64: cast"),
            (lambda: strata.nms(boxes, scores, 1.5), r"\[nms\] iou_threshold is 1.5\d*, not in \[0, 1\]"),
            (lambda: strata.nms(boxes, scores, float("nan")), r"\[nms\] iou_threshold is nan"),
            (lambda: strata.nms(boxes, scores, max_boxes=-1), r"\[nms\] max_boxes is -1, below 0"),
            (lambda: strata.nms(boxes.to("INTERP"), scores.to("CLANG")), r"\[nms\] tensors on INTERP and on CLANG")]:
        with pytest.raises(ValueError, match=text):
            call()
