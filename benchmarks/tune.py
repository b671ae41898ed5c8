"""Measure the table by which a call chooses lanes or BLAS threads, and print it or write it into the package.

Usage: python benchmarks/tune.py [--write] [--threads 2]

For each op, the time of one matrix on one thread is fitted by ``base + cubic n^3``, in relative error, and the order is
found from which on all the threads of the BLAS make one matrix faster than one thread does. Run it on a quiet machine.
"""

import argparse
import math
import os
import time
from pathlib import Path

import _rounds
import sizes

DTYPE = "float64"
ORDERS = (2, 4, 8, 16, 32, 64, 128, 256)
WIDE_ORDERS = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
#: the threads count as useful when they save this part of the time
WORTH = 0.05
NEVER = 1e9
TURN_SECONDS = 0.03
ROUNDS = 3
#: calls that take longer are called once
SLOW_NS = 1e9
TABLE = Path(__file__).resolve().parents[1] / "linalgad" / "_lib" / "_tiers.py"
#: name in the table -> name in sizes.py, where they differ
ALIASES = {"triangular": "solve_triangular"}
HEAD = '''"""Which tier serves a call: the table that benchmarks/tune.py writes. Do not edit by hand.

One slice of order n takes about `base_ns + cubic_ns n^3` on one thread; threaded BLAS speeds up a
single slice from order `wide_n` on. The rows copy and matmul, which have no public function, are
estimates that the script keeps.
"""

OPS = {
    # op: (base_ns, cubic_ns, wide_n)
'''
TAIL = """}}

REGION_NS = {:.1f}          # opening and closing a parallel region
WIDE_EFFICIENCY = {:.2f}      # share of the machine that threaded BLAS keeps busy
"""


def shortest(*calls):
    """Nanoseconds of each call, the shortest of several rounds in which the calls take turns."""
    best = [math.inf] * len(calls)
    for _ in range(ROUNDS):
        if min(best) > SLOW_NS and math.isfinite(max(best)):
            break
        for k, call in enumerate(calls):
            end = time.perf_counter() + TURN_SECONDS
            while True:
                start = time.perf_counter()
                call()
                stop = time.perf_counter()
                best[k] = min(best[k], 1e9 * (stop - start))
                if stop > end:
                    break
    return best


def caller(op, shape, threads, dtype=DTYPE):
    """A call of ``op`` on seeded matrices of ``shape``."""
    import _peers
    import inputs

    import linalgad as la

    name, keywords = _peers.OUR_CALLS[op]
    fun, args = getattr(la, name), inputs.make(op, shape, dtype)
    return lambda: fun(*args, lanes=threads, **keywords)


def fit(op):
    """Coefficients of the cost of one matrix: those with the smallest relative residuals that are not negative."""
    import numpy as np
    from scipy.optimize import nnls

    times = []
    for n in ORDERS:
        batch = max(1, sizes.batch_for(op, n) // 8)
        # the cost of a call, as opposed to that of a matrix, is the difference to a call with one matrix
        whole, single = shortest(caller(op, (batch + 1, n, n), 1), caller(op, (1, n, n), 1))
        times.append(max(whole - single, 1.0) / batch)
    orders, times = np.array(ORDERS, float), np.array(times)
    system = np.stack([np.ones_like(orders), orders**3], axis=1) / times[:, None]
    (base, cubic), _ = nnls(system, np.ones_like(times))
    return float(base), float(cubic)


def wide_order(op, threads, use_threads):
    """Order from which on BLAS threads are worth their while, and the speed-up at the largest order."""
    wide_from, speedup = NEVER, 1.0
    for n in reversed(WIDE_ORDERS):
        times = []
        for wide in (False, True):
            use_threads(wide)
            times += shortest(caller(op, (1, n, n), threads))
        if n == WIDE_ORDERS[-1]:
            speedup = times[0] / times[1]
        if times[1] > (1 - WORTH) * times[0]:
            break
        wide_from = float(n)
    return wide_from, speedup


def region_cost(threads, set_table, rows):
    """Nanoseconds that a parallel region adds to a call: two tiny matrices on two lanes, or on one."""
    call = caller("cholesky", (threads, 2, 2), threads)
    times = []
    for base in (0.0, 1e12):
        set_table([(base, 0.0, NEVER) for _ in rows])
        times += shortest(call)
    return max(times[1] - times[0], 1000.0)


def measure(threads):
    """Text of the table for this machine."""
    from linalgad._kernels import _lanes
    from linalgad._lib import _tiers

    def set_table(rows):
        _lanes.set_tiers(rows, 1.0, _tiers.WIDE_EFFICIENCY)

    def use_threads(wide):
        set_table([(0.0, 0.0, 0.0 if wide else NEVER) for _ in _tiers.OPS])

    region = region_cost(threads, set_table, _tiers.OPS)
    print(f"a parallel region costs {region:.0f} ns", flush=True)
    lines, speedups = [], []
    for name, row in _tiers.OPS.items():
        op = ALIASES.get(name, name)
        if op in sizes.OPS:
            base, cubic = fit(op)
            wide, speedup = wide_order(op, threads, use_threads)
            if wide < NEVER:
                speedups.append(speedup)
            row = (base, cubic, wide)
        wide_text = "1e9" if row[2] >= NEVER else f"{row[2]:.1f}"
        lines.append(f'    "{name}": ({row[0]:.1f}, {row[1]:.3g}, {wide_text}),\n')
        print(lines[-1].strip(), flush=True)
    share = math.prod(speedups) ** (1 / len(speedups)) / threads if speedups else _tiers.WIDE_EFFICIENCY
    return HEAD + "".join(lines) + TAIL.format(region, min(share, 1.0))


def main(arguments=None):
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--write", action="store_true", help=f"replace {TABLE.name} of this source tree")
    options = parser.parse_args(arguments)
    if options.threads < 2:
        parser.error("needs at least two threads: the table is about when to use them")
    _rounds.set_environment(options.threads)
    text = measure(options.threads)
    print(text)
    if options.write:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
