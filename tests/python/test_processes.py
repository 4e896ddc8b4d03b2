"""What processes do: end while threads work, fork while they work, take Ctrl-C."""
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import strata

DEVICES = ["LLVM", "CLANG", "INTERP"]


def run_once(device):
    """Fails where the device is not to be had."""
    with strata.flags(DEVICE=device):
        strata.ones(2).realize()


def program(text, device="", **environment):
    env = dict(os.environ, STRATA_DEVICE=device, **environment)
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def result_of(process, patience=120):
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "hung", ""
    return process.returncode, out + err


def rest_of(process):
    """Of one whose output was read in part."""
    out = process.stdout.read()
    return process.wait(timeout=120), out


# --- Ctrl-C ---

# A kernel of half a minute (on INTERP ten seconds): elements that are expensive, far more of them than memory has to hold.
LONG = """
    import signal, sys, threading, time, strata
    signal.signal(signal.SIGINT, signal.default_int_handler)
    strata.ones(2).realize()
    x = strata.arange(%d).float()
    for k in range(%d):
        x = (x * 1.0001 + 0.5).sqrt()
    y = x.reshape(%s).sum(1)
    print('begin', flush=True)
    try:
        y.realize()
        print('not ended')
    except KeyboardInterrupt:
        print('ended', flush=True)
    print((strata.ones(3) + 1).tolist(), flush=True)
"""


# Many rows are iterations of a parallel loop; each of two long ones is a loop of its own.
@pytest.mark.parametrize("device,threads,shape", [
    ("LLVM", "1", "-1, 64"), ("LLVM", "0", "-1, 64"), ("LLVM", "1", "2, -1"), ("CLANG", "0", "-1, 64"), ("CLANG", "1", "2, -1"),
    ("INTERP", "1", "2, -1"), ("OPENCL", "0", "-1, 64")])
def test_ctrl_c_ends_a_long_kernel(device, threads, shape):
    run_once(device)
    size, steps = (1 << 23, 6) if device == "INTERP" else (1 << 32, 60)
    process = program(LONG % (size, steps, shape), device, STRATA_THREADS=threads)
    assert process.stdout.readline() == "begin\n"
    time.sleep(1.5)  # compiled by then
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().startswith("ended"), process.communicate()
    took = time.monotonic() - begin
    print(device, threads, "ended after %.3f s" % took)
    assert took < 2
    assert rest_of(process) == (0, "[2.0, 2.0, 2.0]\n")


def test_ctrl_c_ends_what_is_replayed():
    process = program("""
        import signal, strata
        signal.signal(signal.SIGINT, signal.default_int_handler)
        @strata.jit
        def step(x):
            for k in range(400):
                x = (x @ x).relu() * 0.0 + 0.5
                x = x.contiguous()
            return x
        x = strata.ones(256, 256).realize()
        for k in range(3): step(x)
        print('begin', flush=True)
        try:
            while True: x = step(x)
        except KeyboardInterrupt:
            print('ended', flush=True)
        print(step(strata.ones(256, 256).realize()).tolist()[0][0])
        """)
    assert process.stdout.readline() == "begin\n", process.communicate()
    time.sleep(1)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "ended\n"
    assert time.monotonic() - begin < 2
    assert rest_of(process) == (0, "0.5\n")


# --- the end of a process ---

WORKING = """
    import sys, threading, time, strata
    def work(k):
        with strata.no_grad():
            n = 0
            while True:
                n += 1
                x = strata.ones(64 + (n * 7 + k) % 97, 33)
                (x @ x.permute(1, 0)).relu().sum().realize().tolist()
    for k in range(4): threading.Thread(target=work, args=(k,), daemon=True).start()
    time.sleep({})
    sys.exit(7)
"""


@pytest.mark.parametrize("device", DEVICES)
def test_daemon_threads_do_not_disturb_the_end(device):
    run_once(device)
    for pause in (0.05, 0.3):
        assert result_of(program(WORKING.format(pause), device)) == (7, "")


def test_daemon_threads_in_callbacks_do_not_disturb_the_end():
    assert result_of(program("""
        import sys, threading, time, strata
        def work():
            while True:
                @strata.jit
                def f(x):
                    time.sleep(0.001)
                    return x * 2
                f(strata.ones(3).realize())
        for k in range(4): threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        sys.exit(7)
        """)) == (7, "")


# --- fork ---

FORKING = """
    import os, signal, sys, threading, time, strata
    stop = False
    def build(k):
        n = 0
        while not stop:
            n += 1
            x = strata.ones(8, 8 + n % 13)
            for j in range(20): x = x * float(n * 100 + j) + 1
            if n % 5 == 0: x.sum().realize()
    kept = strata.arange(1000).float().realize()
    threads = [threading.Thread(target=build, args=(k,)) for k in range(3)]
    for t in threads: t.start()
    wrong = []
    for i in range({}):
        pid = os.fork()
        if pid == 0:
            sum = (kept * 3.0 + float(i)).sum().tolist()
            os._exit(0 if abs(sum - (499500.0 * 3 + 1000 * i)) < 200 else 3)
        end = time.monotonic() + 20
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done: break
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                status = 'hung'
                break
            time.sleep(0.002)
        if status != 0: wrong.append(status)
    stop = True
    for t in threads: t.join()
    print(wrong)
"""


@pytest.mark.parametrize("device", DEVICES)
def test_fork_while_threads_build_and_run(device):
    run_once(device)
    assert result_of(program(FORKING.format(30), device)) == (0, "[]\n")


def job(argument):
    device, k = argument
    with strata.flags(DEVICE=device):
        x = strata.arange(2000).float()
        n = 30 if device == "INTERP" else 300  # the others run it on threads
        return (x * float(k) + 1).sum().tolist() / 1999000, (strata.ones(n, n) @ strata.ones(n, n)).sum().tolist() / n ** 3


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_thread_pools(method):
    jobs = [(device, k) for device in DEVICES for k in range(3)]
    stop = threading.Event()

    def build():
        k = 0
        while not stop.is_set():
            k += 1
            (strata.ones(50, 40 + k % 17) * float(k)).sum().tolist()

    others = [threading.Thread(target=build) for _ in range(2)]
    for t in others:
        t.start()
    try:
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map_async(job, jobs).get(timeout=240)
    finally:
        stop.set()
        for t in others:
            t.join()
    for (_, k), (sum, product) in zip(jobs, results):
        assert sum == pytest.approx(k + 2000 / 1999000, rel=1e-4) and product == 1


@pytest.mark.parametrize("device", DEVICES)
def test_threads_read_one_lazy_tensor(device):
    """Each thread computes the tensor, and replaces its graph by its memory, while the others look at it."""
    status, out = result_of(program("""
        import concurrent.futures, threading, strata
        x = strata.arange(64).float().realize()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for turn in range(200):
                y = (x + float(turn)).sum()
                begin = threading.Barrier(8)
                def read(k):
                    begin.wait()
                    return [y.numpy().item(), (y + 1.0).item(), y.item()][k % 3]
                found = list(pool.map(read, range(8)))
                assert found == [64.0 * turn + 2016 + (k % 3 == 1) for k in range(8)], (turn, found)
        print("ok")
    """, device))
    assert (status, out) == (0, "ok\n"), out


def test_opencl_in_a_child_says_fork():
    run_once("OPENCL")
    status, out = result_of(program("""
        import os, strata
        x = strata.ones(3).realize()
        pid = os.fork()
        if pid == 0:
            try:
                (x + 1).realize()
            except strata.UndefinedError as e:
                print(e, flush=True)
            with strata.flags(DEVICE='INTERP'):
                print((strata.ones(2) * 2).tolist(), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print((x + 1).tolist())
        """, "OPENCL"))
    assert status == 0 and "child of fork()" in out and "[2.0, 2.0]" in out and "[2.0, 2.0, 2.0]" in out


# --- functions that are captured ---


def test_a_jitted_function_that_calls_itself():
    @strata.jit
    def f(x):
        return f(x) + 1

    for _ in range(2):
        with pytest.raises(strata.DomainError, match=r"f \(.*test_processes.py:\d+\) calls itself"):
            f(strata.ones(2).realize())

    @strata.jit
    def g(x):
        return h(x) * 2

    @strata.jit
    def h(x):
        return g(x) + 1

    with pytest.raises(strata.DomainError, match="g .* calls itself"):
        g(strata.ones(2).realize())


def test_who_waits_for_a_captured_function_hears_ctrl_c():
    status, out = result_of(program("""
        import os, signal, threading, time, strata
        signal.signal(signal.SIGINT, signal.default_int_handler)
        inside = threading.Event()
        @strata.jit
        def slow(x):
            inside.set()
            time.sleep(3)
            return x * 2
        x = strata.ones(2).realize()
        other = threading.Thread(target=lambda: print(slow(x).tolist(), flush=True))
        other.start()
        inside.wait()
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            slow(x)
            print('not ended')
        except KeyboardInterrupt:
            print(time.monotonic() - begin < 2, flush=True)
        other.join()
        print(slow(x).tolist())
        """))
    assert (status, out) == (0, "True\n[2.0, 2.0]\n[2.0, 2.0]\n")
