"""Training steps on a mesh of two processes beside one process of two threads, and beside PyTorch's DDP over gloo.

    /usr/bin/python3 bench/sharded.py --build DIR [--filter TEXT] [--turns N] [--steps N] [--json]

Each column is a program of its own: one Strata process of two threads, captured and not; two Strata ranks of one thread each, with the batch
sharded (mpirun -n 2), captured and not; one PyTorch process of two threads; two PyTorch processes of one thread each in DistributedDataParallel. The
programs run in turn; a row has the medians of the turns, each the median of the steps after the first ten, and ratios: of captured ranks to
the captured process, of ranks to the process, of captured ranks to DDP. Prints Markdown, or a line of JSON for each row.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
COLUMNS = ["strata captured", "strata", "ranks captured", "ranks", "torch", "torch DDP"]
RATIOS = [("ranks captured", "strata captured"), ("ranks", "strata"), ("ranks captured", "torch DDP")]
ROWS = {"digits b1024": ("mlp", (1024, 784), 10, "SGD"), "transformer d256 s128 b16": ("transformer", (16, 128, 256), None, "Adam")}


def build_of(name):
    import workloads

    return getattr(workloads, name)


def measured(step, steps):
    times = []
    for _ in range(10 + steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[10:])


def run(column, row, steps):
    """The seconds of a step, in this process, on rank 0; None on the others."""
    import numpy as np
    import workloads

    name, shape, classes, optimiser = ROWS[row]
    lib = workloads.Library(column.startswith("torch"))
    generator = np.random.default_rng(1)
    inputs = [lib.tensor(generator.normal(0, 1, shape).astype("float32"))]
    if classes is not None:
        inputs.append(lib.tensor(generator.integers(0, classes, shape[:1]).astype("int64")))
    rank, net = 0, lib.network(build_of(name), {})
    if column == "torch DDP":
        import torch
        import torch.distributed

        torch.set_num_threads(1)
        torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:" + os.environ["DDP_PORT"],
                                             rank=int(os.environ["OMPI_COMM_WORLD_RANK"]), world_size=2)
        rank = torch.distributed.get_rank()
        net = torch.nn.parallel.DistributedDataParallel(net)
        inputs = [x.chunk(2)[rank].contiguous() for x in inputs]
    elif column == "torch":
        import torch

        torch.set_num_threads(2)
    elif column.startswith("ranks"):
        mesh = lib.library.Mesh((2,), ("data",))
        rank, inputs = mesh.rank, [x.shard(mesh, "data:0").realize() for x in inputs]
    step = workloads.training(lib, net, optimiser)
    call = lib.library.jit(step) if column.endswith("captured") else step
    seconds = measured(lambda: call(*inputs), steps)
    if column == "torch DDP":
        torch.distributed.destroy_process_group()
    return seconds if rank == 0 else None


def started(column, row, options, port):
    ranks = 2 if column.startswith("ranks") or column == "torch DDP" else 1
    threads = "1" if ranks == 2 else "2"
    environment = {**os.environ, "STRATA_THREADS": threads, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads,
                   "DDP_PORT": str(port), "WORKLOADS_READY": "1", "MALLOC_MMAP_THRESHOLD_": "4294967296",
                   "MALLOC_TRIM_THRESHOLD_": "8589934592", "PYTHONPATH": f"{options.build}/python:{BENCH}"}
    command = [sys.executable, __file__, "--column", column, "--filter", row, "--steps", str(options.steps), "--build", str(options.build)]
    if ranks == 2:
        command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "core", "-n", "2", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("seconds ")]
    if len(lines) != 1:
        sys.exit(f"{column}, {row}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return float(lines[0].split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--column", choices=COLUMNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.column:
        seconds = run(options.column, options.filter, options.steps)
        if seconds is not None:
            print(f"seconds {seconds}", flush=True)
        return
    options.build = options.build.resolve()
    if not options.json:
        print("| step, ms | " + " | ".join(COLUMNS + [f"{a} / {b}" for a, b in RATIOS]) + " |\n|---" + "|---:" * (len(COLUMNS) + len(RATIOS)) + "|")
    for number, row in enumerate(name for name in ROWS if options.filter in name):
        times = {column: [] for column in COLUMNS}
        for turn in range(options.turns):
            for column in COLUMNS:
                times[column].append(started(column, row, options, 29500 + 100 * number + turn))
        median = {column: statistics.median(times[column]) for column in COLUMNS}
        ratios = {f"{a} / {b}": statistics.median(x / y for x, y in zip(times[a], times[b])) for a, b in RATIOS}
        if options.json:
            print(json.dumps({"row": row, "seconds": median, "ratios": ratios}), flush=True)
        else:
            print(f"| {row} | " + " | ".join(f"{1e3 * median[c]:.2f}" for c in COLUMNS) + " | " + " | ".join(f"{r:.2f}" for r in ratios.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
