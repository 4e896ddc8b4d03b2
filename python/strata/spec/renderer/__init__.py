"""The rendering of lists of UOps as programs."""
