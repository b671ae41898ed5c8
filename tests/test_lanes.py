"""Lanes, the BLAS pin and the workspace pool, seen from one process; other processes in test_processes.py."""
import contextvars
import threading
import time
import tracemalloc

import numpy as np
import pytest
import threadpoolctl
from _matrices import definite, normal
from _measure import assert_same_bits
from _tols import PIN_SECONDS, SLAB_WASTE
from numpy._core.multiarray import get_handler_name

import linalgad as la
from linalgad import LinAlgError, grad
from linalgad._kernels import _lanes, _pool
from linalgad._lib import _compact
from linalgad._lib._tiers import OPS, REGION_NS, WIDE_EFFICIENCY

LONG = 2000         # 32 x 32 decompositions: more than a tenth of a second on one lane
BUSY = 32 << 10     # bytes of slabs in use while lanes run them; the status codes alone are fewer
VISITORS = 56 << 10 # at most what seven calls on tiny matrices use, two slabs of 4096 bytes each


def blas():
    """SciPy's copy of the BLAS, found by threadpoolctl: a wheel of NumPy brings another one."""
    found = [c for c in threadpoolctl.ThreadpoolController().lib_controllers if c.user_api == "blas"]
    return min(found, key=lambda c: "scipy" not in c.filepath.split("/")[-2])


@pytest.fixture
def two_blas_threads():
    """Let every BLAS use two threads, whatever the machine has; gives SciPy's."""
    with threadpoolctl.threadpool_limits(2, "blas"):
        yield blas()


@pytest.fixture
def empty_pool():
    """Start from a pool without cached slabs."""
    la.clear_workspace()


@pytest.fixture
def background():
    """Run functions in threads; the test fails if one raises, and waits for all."""
    threads, failures = [], []

    def run(fn, *args):
        def guarded():
            try:
                fn(*args)
            except BaseException as e:
                failures.append(e)
        threads.append(threading.Thread(target=guarded))
        threads[-1].start()
        return threads[-1]
    yield run
    for t in threads:
        t.join()
    assert failures == []


def wait_until(test, seconds=60.0):
    """Poll a condition without sleeping long."""
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end
        time.sleep(1e-4)


def samples_while(thread, read, busy=BUSY):
    """Values of `read()` taken while `thread` runs lanes: their slabs are in use before and after."""
    wait_until(lambda: la.workspace_info().in_use_bytes > busy)
    seen = []
    while thread.is_alive():
        value = read()
        if la.workspace_info().in_use_bytes > busy:
            seen.append(value)
        time.sleep(1e-3)
    return seen


# ---------------------------------------------------------------- how many lanes
class TestPolicy:
    def test_set_lanes(self):
        before = la.get_lanes()
        la.set_lanes(5)
        assert la.get_lanes() == 5
        la.set_lanes(None)
        assert la.get_lanes() == before

    def test_lanes_block_nests(self):
        before = la.get_lanes()
        with la.lanes(3):
            with la.lanes(7):
                assert la.get_lanes() == 7
            assert la.get_lanes() == 3
        assert la.get_lanes() == before

    def test_lanes_block_ends_with_an_error(self):
        before = la.get_lanes()
        with pytest.raises(ZeroDivisionError), la.lanes(3):
            raise ZeroDivisionError
        assert la.get_lanes() == before

    def test_lanes_block_is_of_its_thread(self, background):
        seen = []
        with la.lanes(la.get_lanes() + 3):
            background(lambda: seen.append(la.get_lanes())).join()
        assert seen == [la.get_lanes()]

    def test_lanes_block_is_of_its_context(self):
        context = contextvars.copy_context()
        with la.lanes(9):
            assert context.run(la.get_lanes) != 9
            assert contextvars.copy_context().run(la.get_lanes) == 9

    @pytest.mark.parametrize("n", [0, -2, 10 ** 6])
    @pytest.mark.parametrize("fn", ["set_lanes", "lanes"])
    def test_bad_count(self, fn, n):
        with pytest.raises(ValueError, match=rf"^{fn}: lanes must be at least 1"), la.lanes(1):
            getattr(la, fn)(n).__enter__()

    @pytest.mark.parametrize("n", ["2", 2.0, True], ids=repr)
    @pytest.mark.parametrize("fn", ["set_lanes", "lanes"])
    def test_bad_type(self, fn, n):
        with pytest.raises(TypeError, match=rf"^{fn}: lanes must be a positive integer"), la.lanes(1):
            getattr(la, fn)(n).__enter__()

    def test_numpy_integers_count(self, rng):
        a = normal(rng, (2, 3, 3), "float64")
        with la.lanes(np.int64(2)):
            assert_same_bits(la.svdvals(a, lanes=np.int8(1)), la.svdvals(a))


# ---------------------------------------------------------------- the BLAS pin
def fails_at_the_end(n):
    a = np.broadcast_to(np.eye(n), (LONG, n, n)).copy()
    a[-1] = -1
    return a


class TestBlasThreads:
    def test_the_right_copy_is_controlled(self, two_blas_threads):
        two_blas_threads.set_num_threads(1)
        assert _lanes.blas_threads() == 1
        two_blas_threads.set_num_threads(2)
        assert _lanes.blas_threads() == 2

    @pytest.mark.parametrize("lanes", [1, 2])
    def test_one_thread_while_lanes_run(self, lanes, two_blas_threads, background, rng):
        a = normal(rng, (LONG, 32, 32), "float64")
        thread = background(lambda: la.svd(a, lanes=lanes))
        seen = samples_while(thread, lambda: two_blas_threads.num_threads)
        assert len(seen) > 10
        assert set(seen) == {1}
        assert two_blas_threads.num_threads == 2

    @pytest.mark.parametrize("lanes", [1, 2])
    def test_restored_behind_an_error(self, lanes, two_blas_threads):
        with pytest.raises(LinAlgError):
            la.cholesky(fails_at_the_end(8), lanes=lanes)
        assert two_blas_threads.num_threads == 2

    def test_no_flicker_with_eight_threads(self, two_blas_threads, background, rng):
        """One long call pins; seven others come and go, half of them with errors, without releasing the pin."""
        a, bad = normal(rng, (LONG // 5, 64, 64), "float64"), fails_at_the_end(3)[-4:]
        long = background(lambda: la.svd(a, lanes=1))
        wait_until(lambda: la.workspace_info().in_use_bytes > BUSY)

        def visit(k):
            while long.is_alive():
                if k % 2:
                    la.svdvals(a[:1, :3, :3], lanes=1)
                else:
                    with pytest.raises(LinAlgError):
                        la.cholesky(bad, lanes=1)
                time.sleep(1e-3)
        for k in range(7):
            background(visit, k)
        seen = samples_while(long, lambda: two_blas_threads.num_threads, BUSY + VISITORS)
        assert len(seen) > 10
        assert set(seen) == {1}

    def test_eight_threads_leave_the_count_as_it_was(self, two_blas_threads, background, rng):
        a = normal(rng, (40, 8, 8), "float64")
        expected = la.svd(a, lanes=1)
        for k in range(8):
            background(lambda lanes=k % 3 + 1: [assert_same_bits(la.svd(a, lanes=lanes), expected) for _ in range(5)])
        wait_until(lambda: threading.active_count() == 1)
        assert two_blas_threads.num_threads == 2
        assert la.workspace_info().in_use_bytes == 0

    def test_large_matrices_keep_all_threads(self, two_blas_threads, background, rng):
        """The tier of few and large matrices takes them in turn, each with the threads of the BLAS."""
        order = int(OPS["svd"][2]) + 1
        a = normal(rng, (order, order), "float64")
        thread = background(lambda: la.svd(a, lanes=2))
        assert set(samples_while(thread, lambda: two_blas_threads.num_threads)[:-1]) == {2}

    def test_the_switch_costs_less_than_a_microsecond(self, two_blas_threads):
        repeats = 20000
        best = min(_seconds(_lanes.pin_cycle, repeats) for _ in range(7)) / repeats
        assert best < PIN_SECONDS
        assert two_blas_threads.num_threads == 2


def _seconds(fn, *args):
    start = time.perf_counter()
    fn(*args)
    return time.perf_counter() - start


# ---------------------------------------------------------------- the GIL
@pytest.mark.parametrize("lanes", [1, 2])
def test_other_python_threads_run_meanwhile(lanes, background, rng):
    """Without the GIL a second thread gets on in the middle half of a call, not only around it."""
    a, ticks, stop = normal(rng, (LONG, 32, 32), "float64"), [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(1e-4)
    background(tick)
    start = time.monotonic()
    la.svd(a, lanes=lanes)
    end = time.monotonic()
    stop.set()
    quarter = (end - start) / 4
    assert sum(start + quarter < t < end - quarter for t in ticks) > 10


# ---------------------------------------------------------------- results
@pytest.mark.parametrize("lanes", [2, 3, 64])
@pytest.mark.parametrize("order", [3, 30, 70])
def test_lanes_and_position_do_not_change_a_bit(order, lanes, rng, eager_lanes):
    """Any number of lanes, any place in the batch, any neighbours."""
    a = definite(rng, (11,), order, "float64")
    assert_same_bits(la.cholesky(a, lanes=lanes), la.cholesky(a, lanes=1))
    whole = la.svd(a, lanes=1)
    assert_same_bits(la.svd(a[::-1], lanes=lanes), tuple(x[::-1] for x in whole))
    assert_same_bits(la.svd(a[4:9], lanes=lanes), tuple(x[4:9] for x in whole))


def test_failures_under_lanes_are_in_order(eager_lanes):
    """Lanes end in any order; the slices are named in theirs."""
    a = np.broadcast_to(np.eye(4), (200, 4, 4)).copy()
    a[::3] = -1
    with pytest.raises(LinAlgError, match=r"67 of 200 .* 0, 3, 6, 9, 12, \.\.\.") as e:
        la.cholesky(a, lanes=5)
    assert e.value.indices == tuple((k,) for k in range(0, 200, 3))


# ---------------------------------------------------------------- the pool
def slab_of(order):
    """Bytes of slabs that LAPACK's Cholesky factorisation of one matrix leaves: its workspace and its status code."""
    before = _compact.use("off")    # other kernels pad their rows
    try:
        la.clear_workspace()
        la.cholesky(np.eye(order), lanes=1)
        return la.workspace_info().cached_bytes
    finally:
        _compact.use(before)


class TestPool:
    def test_clear_workspace(self, rng):
        la.svd(normal(rng, (3, 8, 8), "float64"))
        assert la.workspace_info().cached_bytes > 0
        assert la.workspace_info().cached_slabs > 0
        la.clear_workspace()
        assert la.workspace_info()[:3] == (0, 0, 0)

    def test_info_fields(self):
        assert la.workspace_info()._fields == (
            "cached_bytes", "cached_slabs", "in_use_bytes", "limit_bytes", "hits", "misses")

    def test_slabs_in_use_are_counted(self, background, rng):
        a = normal(rng, (LONG, 32, 32), "float64")
        thread = background(lambda: la.svd(a, lanes=1))
        seen = samples_while(thread, lambda: la.workspace_info().in_use_bytes)
        assert max(seen) >= 3 * 32 * 32 * 8
        assert la.workspace_info().in_use_bytes == 0

    @pytest.mark.parametrize("order", [80, 100, 127, 128, 200, 300])
    def test_slabs_waste_little(self, order):
        """The rest of the smallest slab, 4096 bytes, holds the status code of one matrix."""
        slab, need = slab_of(order) - 4096, order * order * 8
        assert need <= slab
        assert slab - need <= SLAB_WASTE * slab + 128

    # The compact tier keeps status codes of its packs beside those of the matrices; u and vh of order 80 are large.
    @pytest.mark.parametrize(("order", "more"), [(12, 2), (80, 3)], ids=["compact", "LAPACK"])
    @pytest.mark.parametrize("lanes", [1, 2, 3])
    def test_steady_state_asks_the_system_for_nothing(self, lanes, order, more, rng, eager_lanes, empty_pool):
        a = normal(rng, (50, order, order), "float64")
        start = la.workspace_info().misses
        for _ in range(30):
            la.svd(a, lanes=lanes)
        # A slab for each lane that ever ran beside the others, and those for the status codes and the results.
        assert la.workspace_info().misses - start <= lanes + more
        assert la.workspace_info().cached_slabs <= lanes + more

    @pytest.mark.parametrize(("order", "requests"), [(6, 3), (80, 2)], ids=["compact", "LAPACK"])
    def test_hits_count_requests_served(self, order, requests, rng, empty_pool):
        a = normal(rng, (4, order, order), "float64")
        la.svd(a, lanes=1)
        before = la.workspace_info()
        la.svd(a, lanes=1)
        after = la.workspace_info()
        assert (after.hits - before.hits, after.misses - before.misses) == (requests, 0)

    def test_limit(self, rng, empty_pool):
        before = la.workspace_info().limit_bytes
        a = normal(rng, (2, 50, 50), "float64")
        try:
            _pool.set_limit(8192)
            la.svd(a, lanes=1)
            assert la.workspace_info().cached_bytes <= 8192
            assert la.workspace_info().limit_bytes == 8192
            _pool.set_limit(0)
            assert la.workspace_info().cached_bytes == 0
        finally:
            _pool.set_limit(before)

    def test_default_limit(self):
        assert la.workspace_info().limit_bytes == 256 << 20


class TestLargeResults:
    """Results of a MiB and more are in the pool's memory, which an array owns like any other."""

    @pytest.fixture
    def stack(self, rng, empty_pool):
        return definite(rng, (4096,), 8, "float64")     # 2 MiB

    def test_memory_is_used_again(self, stack):
        """On one lane, as how many workspaces lanes need depends on whether they meet."""
        x = la.cholesky(stack, lanes=1)
        place, values, size = x.ctypes.data, x.copy(), x.nbytes
        held = la.workspace_info()
        assert held.in_use_bytes == 0
        del x
        assert size <= la.workspace_info().cached_bytes - held.cached_bytes <= size / (1 - SLAB_WASTE) + 128
        y = la.cholesky(stack, lanes=1)
        assert y.ctypes.data == place
        assert la.workspace_info().misses == held.misses
        assert_same_bits(y, values)

    def test_every_result_of_a_tuple(self, stack):
        results = [*la.svd(stack), *la.eigh(stack), *la.lu(stack), *la.qr(stack)]
        for x in results:
            large = x.nbytes >= 1 << 20
            assert get_handler_name(x) == ("linalgad" if large else "default_allocator")
        assert sum(get_handler_name(x) == "linalgad" for x in results) == 8

    @pytest.mark.parametrize("order", [8, 32], ids=["blocks", "program"])
    def test_gradients(self, order, rng):
        stack = definite(rng, ((1 << 18) // order**2,), order, "float64")     # 2 MiB
        _, pullback = grad.vjp(la.cholesky, stack)
        (g,) = pullback(stack)
        assert get_handler_name(g if g.base is None else g.base) == "linalgad"

    def test_other_arrays_are_not_affected(self, stack):
        x = la.cholesky(stack)
        assert get_handler_name(np.empty(1 << 20)) == get_handler_name(x + 1) == "default_allocator"

    def test_the_array_owns_its_memory(self, stack):
        x = la.cholesky(stack)
        values = x.copy()
        assert x.flags.owndata
        assert x.base is None
        assert x.ctypes.data % 64 == 0
        x.resize((5000, 8, 8), refcheck=False)
        assert_same_bits(x[:4096], values)
        assert not x[4096:].any()
        x.resize((2, 8, 8), refcheck=False)
        assert_same_bits(x, values[:2])

    def test_results_outlive_the_pool(self, stack):
        x = la.cholesky(stack)
        values = x.copy()
        la.clear_workspace()
        la.cholesky(2 * stack)
        assert_same_bits(x, values)

    def test_freed_in_another_thread(self, stack, background):
        results = [la.cholesky(stack)]
        before = la.workspace_info().cached_slabs
        background(results.clear).join()
        assert la.workspace_info().cached_slabs == before + 1

    def test_what_the_pool_could_not_keep_is_not_from_it(self, stack):
        before = la.workspace_info().limit_bytes
        try:
            _pool.set_limit(4 * stack.nbytes)
            assert get_handler_name(la.cholesky(stack)) == "linalgad"
            _pool.set_limit(4 * stack.nbytes - 1)
            assert get_handler_name(la.cholesky(stack)) == "default_allocator"
        finally:
            _pool.set_limit(before)


class TestAllocation:
    """tracemalloc sees NumPy's arrays and Python's objects; the pool counts the rest."""

    @staticmethod
    def peak(fn):
        fn()
        tracemalloc.start()
        fn()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def test_with_out_nothing_grows_with_the_batch(self, dtype, rng):
        """The smaller batch has more than 256 slices, or Python would not have to make an int of its size."""
        a = normal(rng, (3000, 4, 4), dtype)
        out = la.svd(a)
        small, few = a[:300], tuple(x[:300] for x in out)
        large_peak = self.peak(lambda: la.svd(a, out=out))
        assert large_peak <= self.peak(lambda: la.svd(small, out=few))
        assert large_peak < a.nbytes / 8

    def test_without_out_only_the_outputs(self, dtype, rng):
        a = normal(rng, (2000, 4, 4), dtype)
        out = la.svd(a)
        extra = self.peak(lambda: la.svd(a)) - sum(x.nbytes for x in out)
        assert extra < a.nbytes / 8


def test_tier_table_covers_every_op():
    """A row for each op the kernels know, and sane numbers."""
    assert len(OPS) <= 16
    assert all(base > 0 and cubic > 0 and wide > 0 for base, cubic, wide in OPS.values())
    assert REGION_NS > 0
    assert 0 < WIDE_EFFICIENCY <= 1
