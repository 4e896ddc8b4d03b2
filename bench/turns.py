"""What the benches with PyTorch and NumPy in one process share: arguments, the environment, and times call by call in turn.

    ARGUMENTS = turns.begin(__doc__)
"""
import argparse
import os
import statistics
import sys
import time


def begin(description, **more):
    """The arguments of the command line; `more` adds options with their default values.

    Starts the process anew with the numbers of threads and with memory that glibc keeps, and lets `import strata` find the
    module of the build. @pre neither numpy nor torch nor strata is imported
    """
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--filter", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=15)
    for name, default in more.items():
        parser.add_argument(f"--{name}", default=default)
    found = parser.parse_args()
    wanted = {
        # Without these two, glibc gives the memory of large arrays back after each call, which costs PyTorch much.
        "MALLOC_MMAP_THRESHOLD_": "4294967296",
        "MALLOC_TRIM_THRESHOLD_": "8589934592",
        "OMP_NUM_THREADS": str(found.threads),
        "OPENBLAS_NUM_THREADS": str(found.threads),
        "STRATA_THREADS": str(found.threads),
    }
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ |= wanted
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ)
    sys.path.insert(0, f"{found.build}/python")
    return found


def seconds(run):
    """Of one call: at least a millisecond of calls, divided by their number."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < 1e-3:
        run()
        calls += 1
    return (time.perf_counter() - start) / calls


def times(runs, turns):
    """The times of each function by turn, called in turn, after two calls that compile."""
    for run in runs:
        run()
        run()
    return list(zip(*[[seconds(run) for run in runs] for _ in range(turns)]))


def medians(runs, turns):
    """The median time of each function."""
    return [statistics.median(of_run) for of_run in times(runs, turns)]
