"""What needs a process of its own: the environment, OpenMP's threads, fork, Ctrl-C, exhausted memory."""
import signal
import time

import pytest
from _process import run, start
from _tols import INTERRUPT_SECONDS

GOOD = """
rng = np.random.default_rng(0)
a = rng.standard_normal((60, 8, 8))
expected = la.svdvals(a, lanes=1)
def good(lanes=2):
    assert np.array_equal(la.svdvals(a, lanes=lanes), expected)
    assert la.workspace_info().in_use_bytes == 0
def eager():
    from linalgad._lib._tiers import OPS
    _lanes.set_tiers(list(OPS.values()), 1e-9, 0.6)
def threads():
    return len(os.listdir("/proc/self/task"))
"""


# ---------------------------------------------------------------- environment
@pytest.mark.parametrize(("env", "lanes"), [
    ({"LINALGAD_LANES": "3"}, "3"), ({"OMP_NUM_THREADS": "1"}, "1"), ({"OMP_NUM_THREADS": "1,7"}, "1"),
    ({"LINALGAD_LANES": "5", "OMP_NUM_THREADS": "1"}, "5"), ({"LINALGAD_LANES": "many", "OMP_NUM_THREADS": "1"}, "1"),
    ({"LINALGAD_LANES": "0", "OMP_NUM_THREADS": "1"}, "1")], ids=str)
def test_lanes_of_the_environment(env, lanes):
    """LINALGAD_LANES first, then OMP_NUM_THREADS; what is no positive number is ignored."""
    assert run("print(la.get_lanes())", **env) == [lanes]


def test_default_is_the_affinity_mask():
    """One CPU allowed: one lane, though the machine may have more."""
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    assert run("print(la.get_lanes())", prelude=f"{code}\nimport linalgad as la\n") == ["1"]


def test_omp_num_threads_does_not_raise_the_default():
    """OMP_NUM_THREADS limits the CPUs that may be used; it does not add any."""
    out = run("print(la.get_lanes(), len(os.sched_getaffinity(0)))", OMP_NUM_THREADS="4096")
    assert int(out[0]) <= int(out[1])


def test_workspace_limit_of_the_environment():
    """Nothing stays in a pool of size zero."""
    code = "la.svd(np.eye(9)); print(la.workspace_info().limit_bytes, la.workspace_info().cached_slabs)"
    assert run(code, LINALGAD_WORKSPACE_LIMIT="0") == ["0", "0"]


def test_one_lane_opens_no_parallel_region():
    """No thread appears with one lane; with three lanes two do (so the count would show it)."""
    out = run(GOOD + """
eager()
at_import = threads()
good(1)
with la.lanes(1):
    la.cholesky(np.broadcast_to(np.eye(20), (3000, 20, 20)))
after_one = threads()
good(3)
print(after_one - at_import, threads() - after_one, 2 * _lanes.has_openmp())
""")
    assert out[0] == "0"
    assert out[1] == out[2]


# ---------------------------------------------------------------- fork
@pytest.mark.parametrize("parent", [1, 2])
def test_fork_after_use(parent):
    """multiprocessing's fork: the child has none of the parent's OpenMP threads, and must not wait for them."""
    assert run(GOOD + f"""
import multiprocessing
eager()
good({parent})
def child():
    good(2); good(3); good(1)
    assert _lanes.blas_threads() == 2
def parent_of_another():
    good(2)
    p = context.Process(target=child); p.start(); p.join(60)
    assert p.exitcode == 0
context = multiprocessing.get_context("fork")
assert _lanes.blas_threads() == 2
for target in (child, parent_of_another):
    p = context.Process(target=target); p.start(); p.join(60)
    assert p.exitcode == 0, p.exitcode
    good(2)
print("done")
""", OPENBLAS_NUM_THREADS="2") == ["done"]


def test_fork_while_another_thread_computes():
    """The lock, the pool and the pin are consistent in the child, and its BLAS is not left at one thread."""
    assert run(GOOD + """
eager()
good(2)
stop = threading.Event()
def compute():
    while not stop.is_set():
        la.svd(a, lanes=2)
worker = threading.Thread(target=compute)
worker.start()
status = []
for k in range(12):
    time.sleep(0.003)
    pid = os.fork()
    if pid == 0:
        try:
            good_child = np.array_equal(la.svdvals(a, lanes=k % 3 + 1), expected)
            os._exit(0 if good_child and _lanes.blas_threads() == 2 else 3)
        except BaseException:
            os._exit(4)
    status.append(os.waitpid(pid, 0)[1])
stop.set()
worker.join()
good(2)
print(*set(status))
""", OPENBLAS_NUM_THREADS="2") == ["0"]


def test_pool_of_forked_workers():
    """Several children at once, each with lanes of its own."""
    assert run(GOOD + """
import multiprocessing
eager()
good(2)
def job(k):
    good(2)
    return k
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(*pool.map(job, range(9)))
""") == [str(k) for k in range(9)]


# ---------------------------------------------------------------- Ctrl-C
@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("order", [8, 60])
def test_interrupt(lanes, order):
    """SIGINT ends a batch that would take minutes; the library works after it, nothing stays pinned or in use."""
    code = GOOD + f"""
before = _lanes.blas_threads()
long = np.broadcast_to(rng.standard_normal(({order}, {order})), (10 ** 7, 2, {order}, {order}))
out = np.lib.stride_tricks.as_strided(np.empty({order}), (10 ** 7, 2, {order}), (0, 0, 8))
def interrupted():
    kernel = __import__("linalgad._kernels._svd")._kernels._svd
    kernel.svd(long, "N", (None, out, None), 0.0, {lanes})
import signal       # a suite run in the background of a shell inherits an ignored SIGINT
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    interrupted()
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert _lanes.blas_threads() == before
good(1); good(2)
print("works", flush=True)
"""
    with start(code) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        elapsed = time.monotonic() - sent
        assert child.stdout.readline() == "works\n"
    assert elapsed < INTERRUPT_SECONDS


def test_interrupt_before_a_call_is_not_lost():
    """A handler of the user's runs during the batch; if it does not raise, the batch goes on."""
    assert run(GOOD + """
import signal
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
big = np.broadcast_to(a[0], (1000000, 8, 8))
s = la.svdvals(big, lanes=2)
signal.setitimer(signal.ITIMER_REAL, 0)
assert np.array_equal(s, np.broadcast_to(expected[0], s.shape))
print(len(seen) > 0)
""") == ["True"]


# ---------------------------------------------------------------- memory
@pytest.mark.parametrize("lanes", [1, 2])
def test_no_memory_for_a_workspace(lanes):
    """A zero-stride factor of order 10^6 needs no memory itself, but a workspace of 8 TB."""
    assert run(GOOD + f"""
before = _lanes.blas_threads()
n = 10 ** 6
c = np.broadcast_to(np.float64(1), (2, n, n))
try:
    la.cholesky_solve(c, np.ones(n), lanes={lanes})
except MemoryError as e:
    print(str(e).split()[:3] == ["no", "memory", "for"])
assert _lanes.blas_threads() == before
good(1); good(2)
""") == ["True"]
