"""Kernels are compiled anew: what these tests see does not depend on runs before."""
import os

os.environ.setdefault("STRATA_DISK_CACHE", "0")
