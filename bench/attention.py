"""Attention of eight heads beside PyTorch's softmax(q @ k^T) @ v, in one process, call by call in turn.

    /usr/bin/python3 bench/attention.py --build DIR [--filter TEXT] [--threads N] [--turns N] [--lengths N,...]

DIR is a build folder with the module (build/release by default). A row prints the median over the turns of the time of
Strata, of PyTorch, and their ratio turn by turn; then Strata's bytes beyond the inputs, and the largest difference.
Rows with gradients compute the result and its gradients by q, k and v. Prints Markdown. OpenBLAS has the kernels that OPENBLAS_CORETYPE names, where it is set.
"""
import resource
import statistics

import turns

ARGUMENTS = turns.begin(__doc__, lengths="512,2048")

import numpy as np  # noqa: E402
import torch  # noqa: E402

from strata import Tensor, realize  # noqa: E402

torch.set_num_threads(ARGUMENTS.threads)
HEADS = 8


def resident():
    """The most bytes that the process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def row(queries, keys, size, causal, gradients=False):
    random = np.random.default_rng(1)
    shapes = [(1, HEADS, n, size) for n in (queries, keys, keys)]
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    by = random.standard_normal(shapes[0]).astype(np.float32)
    mine, their = [Tensor(a).realize() for a in arrays], [torch.from_numpy(a) for a in arrays]
    my_by, their_by = Tensor(by).realize(), torch.from_numpy(by)
    for array in [*mine, *their] if gradients else []:
        array.requires_grad_()
    hidden = torch.ones(queries, keys, dtype=torch.bool).triu(1) if causal else None

    def ours():
        for array in mine if gradients else []:
            array.grad = None
        q, k, v = mine
        result = q.scaled_dot_product_attention(k, v, causal=causal)
        if not gradients:
            return [result.realize()]
        result.backward(my_by)
        results = [result, *(array.grad for array in mine)]
        realize(*results)
        return results

    def theirs():
        for array in their:
            array.grad = None
        q, k, v = their
        scores = q @ k.transpose(-2, -1) * size**-0.5
        if causal:
            scores = scores.masked_fill(hidden, -torch.inf)
        result = torch.softmax(scores, -1) @ v
        if not gradients:
            return [result]
        result.backward(their_by)
        return [result.detach(), *(array.grad for array in their)]

    before = resident()
    ours()
    beyond = resident() - before
    difference = max(np.abs(a.numpy() - b.numpy()).max() for a, b in zip(ours(), theirs()))
    times = [(turns.seconds(ours), turns.seconds(theirs)) for _ in range(ARGUMENTS.turns)]
    mine, peer = (statistics.median(t) for t in zip(*times))
    ratio = statistics.median(a / b for a, b in times)
    name = f"{queries} queries, {keys} keys of {size}" + ", causal" * causal + ", with gradients" * gradients
    print(f"| {name} | {mine * 1e3:.2f} ms | {peer * 1e3:.2f} ms | {ratio:.2f} | {beyond / 1e6:.0f} MB | {difference:.0e} |",
          flush=True)


def main():
    print("| attention, 8 heads | Strata | PyTorch | / PyTorch | memory | differs |\n|---|---|---|---|---|---|")
    for length in map(int, ARGUMENTS.lengths.split(",")):
        for size in (64, 128):
            for causal in (False, True):
                for gradients in (False, True):
                    kind = ("causal" if causal else "full") + (" gradients" if gradients else " values")
                    if ARGUMENTS.filter in kind:
                        row(length, length, size, causal, gradients)
    for size in (64, 128):
        if ARGUMENTS.filter in "decode":
            row(1, 1024, size, False)


if __name__ == "__main__":
    main()
