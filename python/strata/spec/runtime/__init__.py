"""Buffers of memory, and programs that run on them."""
