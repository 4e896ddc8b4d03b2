"""Kernels are compiled anew: what these tests see does not depend on runs before.

With STRATA_TEST_SHARE=N only a part of the parametrised cases runs: of each test its first case, and of the others those whose
name has a checksum that N divides. With STRATA_TEST_SAMPLE=N only the tests run whose name has a checksum that N divides. The build
with sanitizers, which takes ten times as long, runs a share of a sample.
"""
import os
import types
import zlib

import numpy as np

os.environ.setdefault("STRATA_DISK_CACHE", "0")


def pytest_collection_modifyitems(config, items):
    share, sample = int(os.environ.get("STRATA_TEST_SHARE", "1")), int(os.environ.get("STRATA_TEST_SAMPLE", "1"))
    seen, kept, dropped = set(), [], []
    for item in items:
        test = item.nodeid.split("[")[0]
        is_kept = zlib.crc32(test.encode()) % sample == 0 and (test not in seen or zlib.crc32(item.nodeid.encode()) % share == 0)
        seen.add(test)
        (kept if is_kept else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def pytest_runtest_setup(item):
    """The generators of a module, and of modules that it imports, begin anew with each test: its data depends on no other test."""
    modules = [item.module, *[m for m in vars(item.module).values() if isinstance(m, types.ModuleType) and m.__name__.startswith("test_")]]
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, np.random.Generator):
                setattr(module, name, np.random.default_rng(zlib.crc32(item.nodeid.encode())))
