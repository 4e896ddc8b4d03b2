#!/usr/bin/env python3
"""Ranks as processes: rank_program under mpirun, and what happens to it.

run_ranks.py RANK_PROGRAM STRATA [--long] [--only CASE] [--mpich]. Each case is a row: a task of tests/mesh/rank_program.cpp, or
words for the program strata, on a number of ranks, the status (0, or another one), and what its output has to say and must not say. After each case no process of it
is left. With --long also seven ranks, each fault on each rank, and messages of more than 2^31 bytes. With --mpich the plugin is compiled
by mpicc.mpich, and the launcher is MPICH's. Prints `N passed, N failed`.
"""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

TIMEOUT = 4  # seconds: STRATA_MESH_TIMEOUT of the cases that wait for it
NO_TIMEOUT = 60  # of the others: a busy machine changes nothing
WAITING = ("stop", "loop", "absent")
TO_END = 5   # more, until all processes are gone
TO_START = 20  # on a machine with other work
STEP = r"redistribute \(256, 256\) of 4 bytes from x:0 to x:1: i32 \(\S+rank_program.cpp:\d+\)"

# name, ranks, words of the program, whether it ends well, patterns that the output has, further environment
CASES = [
    *[(f"exchanges-{n}", n, "exchanges", True, [rf"rank {r}: 101 exchanges" for r in range(n)], {}) for n in (1, 2, 3, 4)],
    *[(f"captured-{n}", n, "captured", True, [rf"rank {r}: 10 captured" for r in range(n)], {}) for n in (1, 2, 3)],
    *[(f"few-{n}", n, "few", True, [rf"rank {r}: 8 replays" for r in range(n)], {}) for n in (2, 4)],
    ("replay", 3, "replay", True, [r"rank 0: 2 replays", r"rank 2: 2 replays", r"ranks disagree in step \d+: ranks 0 1: compute a tensor of shape \(.*\) .*from the elements \w+; rank 2: compute"], {}),
    *[(f"tensors-{n}", n, "tensors", True, [rf"rank {r}: 25 programs" for r in range(n)], {}) for n in (1, 2, 4)],
    ("values", 3, "values", False, [r"ranks disagree in step \d+: ranks 0 1: compute a tensor of shape \(4, 4\) \(operator \*, written at \S+rank_program.cpp:\d+\) by the program (\w+) from the elements \w+; rank 2: compute .* by the program \1 from"], {}),
    ("at-once", 3, "at_once", True, ["rank 0: both", "rank 1: both", "rank 2: both"], {}),
    ("wrong-size", 2, "wrong_size", False, [r"\[mesh\] x=2,y=2 has 4 ranks, but the world has 2"], {}),
    ("stop", 3, "stop", False, [rf"rank \d waited 4 s \(STRATA_MESH_TIMEOUT\) for rank 2 in step 3, {STEP}"], {}),
    ("loop-of-rank-0", 4, "loop --faulty 0", False, [rf"rank 1 waited 4 s \(STRATA_MESH_TIMEOUT\) for rank 0 in step 3, {STEP}"], {}),
    ("kill", 3, "kill", False, ["signal 9"], {}),
    ("exit", 3, "exit", False, [rf"ranks disagree in step 3: ranks 0 1: {STEP}; rank 2: the end of the program"], {}),
    ("operation", 3, "operation --faulty 1", False, [rf"step 3: ranks 0 2: {STEP}; rank 1: something else \(\S+:\d+\)"], {}),
    ("order", 2, "order", False, [rf"step 3: rank 0: {STEP}; rank 1: redistribute \(256, 256\) of 4 bytes from x:1 to x:0: i32 \(\S+:\d+\)"], {}),
    ("shape", 2, "shape", False, [rf"step 3: rank 0: {STEP}; rank 1: redistribute \(256, 255\) of 4 bytes from x:0 to x:1"], {}),
    ("dtype", 2, "dtype", False, [rf"step 3: rank 0: {STEP}; rank 1: redistribute \(256, 256\) of 4 bytes from x:0 to x:1: f32"], {}),
    ("flags", 3, "flags", False, [rf"step 3, {STEP}: ranks 0 1: DETERMINISTIC=0; rank 2: DETERMINISTIC=1"], {}),
    ("throws", 3, "throws", False, ["a mistake on this rank", r"rank 2: the end of the program"], {}),
    ("uncaught", 3, "throws --uncaught", False, ["a mistake on this rank"], {}),
    ("drops", 3, "drops", False, [r"rank 2 gave up step 3, redistribute .*: dropped \(\S+:\d+\)"], {}),
    ("goes-on", 3, "goes_on", True, [f"rank {r}: went on after three errors" for r in range(3)], {}),
    ("interrupted", 2, "interrupted", False, ["rank 0: stopped in time"], {}),
    ("absent", 2, "absent", False, [r"the ranks did not meet within 4 s \(STRATA_MESH_TIMEOUT\): connecting waits for all"], {}),
    ("communicator", 4, "communicator", True, [f"rank {r}: MPI ended" for r in range(4)], {}),
    ("communicator-ends", 2, "skips", False, ["rank 1: the end of the program"], {}),
    ("another-launcher", 0, "exchanges", False, [r"the launcher started 4 ranks \(PMI_SIZE=4\), but MPI gives this process a world of its own"],
     {"PMI_SIZE": "4", "RANKS": "4"}),
    ("doctor", 2, "strata doctor", True, ["MPI  +(Open MPI|MPICH)", "ranks  +rank 0 of 2, all meet; on this host: 0 1", "ranks  +rank 1 of 2"], {}),
    ("doctor-finds-no-ranks", 0, "strata doctor", False, [r"ranks  +\[mesh\] the launcher started 4 ranks"], {"PMI_SIZE": "4"}),
    ("no-plugin", 0, "exchanges", False, [r"\[mesh\] no libstrata_mpi.so \(sought: .*apt-get install libopenmpi-dev openmpi-bin"],
     {"STRATA_PLUGIN_DIR": "/nowhere", "RANKS": "1"}),
]
OF_OPEN_MPI = {"communicator", "communicator-ends"}  # they name its library
MPICH = [
    ("open-mpi-starts-mpich", 2, "exchanges", False, [r"the launcher started 2 ranks \(OMPI_COMM_WORLD_SIZE=2\), but MPI gives this process a "
                                                      r"world of its own: the plugin's library \(MPICH"], {"LAUNCHER": "open-mpi"}),
    ("two-libraries", 2, "communicator", False, [r"two MPI libraries in one process: \S+ and \S+; compile mpi_transport.c"], {"LAUNCHER": "open-mpi"}),
]
LAUNCHERS = {"open-mpi": "mpirun --oversubscribe --allow-run-as-root", "mpich": "mpirun.mpich"}
FAULTS = ["stop", "loop", "kill", "exit", "operation", "order", "shape", "dtype", "flags", "throws", "drops"]
LONG = [
    ("exchanges-7", 7, "exchanges", True, [f"rank {r}: 101 exchanges" for r in range(7)], {}),
    ("tensors-7", 7, "tensors 100", True, [f"rank {r}: 100 programs" for r in range(7)], {}),
    ("tensors-3", 3, "tensors 300", True, [f"rank {r}: 300 programs" for r in range(3)], {}),
    ("large", 2, "large", True, ["rank 0: large messages", "rank 1: large messages"], {"STRATA_MESH_TIMEOUT": "300"}),
    *[(f"{fault}-of-rank-{r}", 4, f"{fault} --faulty {r}", False, [], {}) for fault in FAULTS for r in range(4)],
]


def processes_with(mark: str) -> list[int]:
    """The processes whose environment has the mark."""
    out = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark.encode() in file.read():
                    out.append(int(entry))
        except OSError:
            continue
    return out


def run(program: str, strata: str, launcher: str, case) -> list[str]:
    """Runs a case; what is wrong with it."""
    name, ranks, words, ends_well, patterns, further = case
    mark = f"MESH_CASE={uuid.uuid4()}"
    environment = {**os.environ, "STRATA_MESH_TIMEOUT": str(TIMEOUT if words.split()[0] in WAITING else NO_TIMEOUT), "NO_COLOR": "1", "RANKS": str(ranks), **further}
    environment[mark.split("=")[0]] = mark.split("=")[1]
    launcher = LAUNCHERS[environment.pop("LAUNCHER", launcher)]
    command = [*(shlex.split(launcher) + ["-n", str(ranks)] if ranks else []), *([strata] if words.startswith("strata") else [program, words.split()[0]]), *words.split()[1:]]
    limit = int(environment["STRATA_MESH_TIMEOUT"]) + TO_END + TO_START
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    problems = []
    try:
        said = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        problems.append(f"is not over after {limit} s")
        for pid in processes_with(mark):
            os.kill(pid, signal.SIGKILL)
        said = process.communicate()[0]
    end = time.monotonic() + TO_END
    while (left := processes_with(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    if left:
        problems.append(f"leaves processes: {left}")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    if (process.returncode == 0) != ends_well:
        problems.append(f"ends with status {process.returncode}")
    problems += [f"does not say {pattern}" for pattern in patterns if not re.search(pattern, said)]
    if "WRONG VALUE" in said or "went on\n" in said:
        problems.append("went on with a wrong value")
    return problems + ([said] if problems else [])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("strata")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--mpich", action="store_true")
    options = parser.parse_args()
    cases = CASES + (LONG if options.long else [])
    with tempfile.TemporaryDirectory() as folder:
        if options.mpich:
            root = Path(__file__).resolve().parents[2]
            subprocess.run(["mpicc.mpich", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{root}",
                            str(root / "strata/mesh/mpi_plugin/mpi_transport.c"), "-o", f"{folder}/libstrata_mpi.so"], check=True)
            os.environ["STRATA_PLUGIN_DIR"] = folder
            cases = [case for case in cases if case[0] not in OF_OPEN_MPI] + MPICH
        cases = [case for case in cases if options.only in (None, case[0])]
        failed = 0
        for case in cases:
            begin = time.monotonic()
            problems = run(options.program, options.strata, "mpich" if options.mpich else "open-mpi", case)
            print(f"{case[0]}: {'failed' if problems else 'ok'} ({time.monotonic() - begin:.1f} s)", *problems, sep="\n  ", flush=True)
            failed += bool(problems)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
