"""Sums of all elements that are broadcast: the merged axes of the sum and those of the output begin with the same dimension."""
import itertools

import numpy as np
import pytest

import strata

INPUTS = [(2, 2), (2, 3), (4, 1), (1, 4), (2, 2, 2), (2, 1, 2), (3, 2, 1), (6,)]
OUTPUTS = [(3, 1, 5), (4, 1, 4), (3, 1, 1, 5), (2, 3, 1, 5), (1, 3, 5), (2, 2, 3), (2, 2), (3, 1, 8), (2, 1, 2, 1)]
DEVICES = [d.name for d in strata.Device.list() if not d.missing and d.name in ("LLVM", "INTERP")]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("given, wanted", list(itertools.product(INPUTS, OUTPUTS)))
def test_sums_in_broadcast_elements(device, given, wanted):
    a = np.random.default_rng(len(given) * 31 + len(wanted)).integers(-9, 9, given).astype(np.float32)
    b = np.arange(np.prod(wanted), dtype=np.float32).reshape(wanted)
    x, y = strata.tensor(a).to(device), strata.tensor(b).to(device)
    for ours, numpys in ((x.sum() + y, a.sum() + b), (x.max() * 2 - y, a.max() * 2 - b), (x.sum().expand(*wanted) * 1.5, np.full(wanted, a.sum() * 1.5))):
        np.testing.assert_array_equal(ours.numpy(), numpys)
