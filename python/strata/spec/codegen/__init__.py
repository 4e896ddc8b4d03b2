"""The lowering of kernels to lists of UOps."""
