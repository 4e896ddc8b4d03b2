"""The scheduling of graphs into kernels."""
