"""From kernels to lists of UOps."""
