"""Optimisers, under PyTorch's names and with its formulas.

    optimizer = strata.optim.Adam(net.parameters(), lr=1e-3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
from ._strata._optim import *  # noqa: F401,F403
