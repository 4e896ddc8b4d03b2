"""Requests for `strata batch`, one a line: views, moved, padded, merged, asked for index and validity.

    python3 bench/view_requests.py 100000 > requests.jsonl
    time build/release/strata batch requests.jsonl > /dev/null

The same number gives the same file. Of ten requests eight are `view` (one in four of these starts from a stack of
views, one in eight lists its addresses, one in eight does not simplify) and two are `equal_view`.
"""

import json
import random
import sys

LARGEST = 1 << 20  # elements


def product(sizes):
    out = 1
    for size in sizes:
        out *= size
    return out


def factors(n, parts, rng):
    """n as a product of `parts` sizes."""
    sizes = [1] * parts
    divisor = 2
    while n > 1:
        while n % divisor == 0:
            sizes[rng.randrange(parts)] *= divisor
            n //= divisor
        divisor += 1
    return sizes


def movement(shape, rng):
    """A movement of a shape that is legal, and the shape after it."""
    rank = len(shape)
    kind = rng.choice(["reshape", "reshape", "permute", "permute", "pad", "shrink", "expand", "flip", "stride"])
    if kind == "reshape":
        to = factors(product(shape), rng.randint(1, 5), rng)
        return [kind, to], to
    if kind == "permute":
        order = rng.sample(range(rank), rank)
        return [kind, order], [shape[k] for k in order]
    if kind == "pad":
        pairs = [[rng.randint(0, 3), rng.randint(0, 3)] if rng.random() < 0.5 else [0, 0] for _ in shape]
        after = [before + size + behind for size, (before, behind) in zip(shape, pairs)]
        return ([kind, pairs], after) if product(after) <= LARGEST else movement(shape, rng)
    if kind == "shrink":
        pairs = []
        for size in shape:
            begin = rng.randint(0, max(0, min(2, size - 1)))
            pairs.append([begin, rng.randint(begin + 1, size)])
        return [kind, pairs], [end - begin for begin, end in pairs]
    if kind == "expand":
        to = [rng.randint(2, 8) if size == 1 else size for size in shape]
        return ([kind, to], to) if product(to) <= LARGEST else movement(shape, rng)
    if kind == "flip":
        return [kind, rng.sample(range(rank), rng.randint(1, rank))], shape
    steps = [rng.choice([1, 1, 2, -1, -2]) for _ in shape]
    return [kind, steps], [-(-size // abs(step)) for size, step in zip(shape, steps)]


def start(rng):
    """The beginning of a request, and its shape."""
    shape = [rng.choice([1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 64]) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.75:
        return {"shape": shape}, shape
    strides, place = [0] * len(shape), 1
    for k in rng.sample(range(len(shape)), len(shape)):
        strides[k] = place
        place *= shape[k]
    view = {"shape": shape, "strides": strides}
    if rng.random() < 0.5:
        view["offset"] = rng.randint(0, 9)
    if rng.random() < 0.5:
        view["mask"] = [[0, rng.randint(1, size)] for size in shape]
    return {"views": [view]}, shape


def moved(rng, most):
    request, shape = start(rng)
    ops = []
    for _ in range(rng.randint(1, most)):
        op, shape = movement(shape, rng)
        ops.append(op)
    request["ops"] = ops
    return request, shape


def request_of(number, rng):
    if rng.random() < 0.2:
        a, _ = moved(rng, 4)
        b = dict(a, ops=a["ops"] + [["flip", []]]) if rng.random() < 0.5 else moved(rng, 4)[0]
        return {"id": number, "do": "equal_view", "a": a, "b": b}
    request, shape = moved(rng, 8)
    request = {"id": number, "do": "view"} | request
    if product(shape) <= 256 and rng.random() < 0.125:
        request["addresses"] = True
    if rng.random() < 0.125:
        request["simplify"] = False
    return request


def main():
    rng = random.Random(1)
    for number in range(int(sys.argv[1])):
        print(json.dumps(request_of(number, rng), separators=(",", ":")))


if __name__ == "__main__":
    main()
