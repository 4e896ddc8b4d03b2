"""STRATA_VIZ: what a program computes, as lines of JSON."""
import json
import os
import subprocess
import sys

PROGRAM = """
import strata
@strata.jit
def step(x):
    return (x * 2).sum()
for k in range(4):
    step(strata.tensor([1.0, 2.0, float(k)])).item()
"""


def test_a_program_writes_its_trace(tmp_path):
    path = tmp_path / "run.jsonl"
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "STRATA_VIZ": str(path)}, capture_output=True,
                          text=True, check=True)
    assert done.stdout == "" and done.stderr == ""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    events = [line["event"] for line in lines]
    assert events[0] == "trace" and events[-1] == "end"
    kernels = {line["kernel"] for line in lines if line["event"] == "kernel"}
    assert {line["kernel"] for line in lines if line["event"] == "run"} <= kernels
    [capture] = [line for line in lines if line["event"] == "capture"]
    replays = [line for line in lines if line["event"] == "replay"]
    assert len(replays) == 2 and all(len(r["marks"]) == len(capture["steps"]) + 1 for r in replays)


def test_1_is_a_file_of_the_process(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "STRATA_VIZ": "1"}, cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    [file] = tmp_path.iterdir()
    assert done.stderr == f"strata: the trace is {file.name} (strata viz {file.name})\n"
