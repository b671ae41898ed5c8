"""Measure up to which order the compact kernels beat LAPACK, for every tier this CPU has, and print or write the table.

Usage: python benchmarks/tune_compact.py [--write] [--tiers avx512 avx2] [--rows cholesky lu]

For each row of the table and each dtype, stacks are timed with the kernels of the row serving all orders and with the
next in line: those of the row's rival for larger matrices, or LAPACK. The crossover is the largest order up to which
they win at every order tried, which are those that no smaller kernel serves. A matrix alone gets no SIMD from kernels
for packs, and unless the rival takes it, it may take up to `ALONE` times as long as LAPACK: as results do not depend
on the stack, it cannot go another way. Rows and tiers that are not measured keep what the table has. Run it on a
quiet machine.
"""

import argparse
import os
import statistics
from pathlib import Path

import _rounds
import tune

ORDERS = (2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64)
DTYPES = ("float32", "float64", "complex64", "complex128")
ENTRIES = 1 << 18  # numbers in a stack
LARGE_ORDERS = (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # of kernels for one matrix at a time
FASTER = 0.97  # of the other's time
ALONE = 2.0  # of the other's time, for a matrix alone; with 1.3 stacks of order 64 would take up to three times as long
TRIES = 5  # where the first says no, as the machine may have had other work
TABLE = Path(__file__).resolve().parents[1] / "linalgad" / "_lib" / "_compact_tiers.py"
#: row of the table -> the calls that it serves
CALLS = {
    "cholesky": ("cholesky",),
    "triangular": ("solve_triangular",),
    "lu": ("lu", "solve", "inv", "det"),
    "qr": ("qr",),
    "eigh": ("eigh",),
    "eigvalsh": ("eigvalsh",),
    "svd": ("svd",),
    "svdvals": ("svdvals",),
    "matmul": ("matmul",),
    "cholesky_inverse": ("cholesky_inverse",),
    "blocked_lu": ("lu", "solve", "inv", "det"),
    "blocked_cholesky": ("cholesky",),
}
#: row -> the row that serves larger orders
RIVALS = {"lu": "blocked_lu", "cholesky": "blocked_cholesky"}
HEAD = '''"""Up to which order the compact kernels are the fastest: the table that benchmarks/tune_compact.py writes.

By tier, row and dtype (float32, float64, complex64, complex128). One float64 slice of order n takes about
`base_ns + cubic_ns n^3` on one thread. The order of an M x N matrix is sqrt(M N).
"""

'''


def use(tier, *rows):
    """Let the kernels of some rows serve all orders and LAPACK the rest."""
    from linalgad._kernels import _compact as kernel
    from linalgad._lib._compact_tiers import ROWS

    kernel.set_tier(tier, [((float("inf") if r in rows else 0.0,) * 4, 0.0, 0.0) for r in ROWS])


def caller(op, shape, dtype):
    """A call of ``op`` on one lane; products have no public function."""
    import inputs
    import numpy as np
    from linalgad._kernels._matmul import matmul

    if op != "matmul":
        return tune.caller(op, shape, 1, dtype)
    x, y = (inputs.random(np.random.default_rng(seed), shape, dtype) for seed in (0, 1))
    return lambda: matmul(x, y, shape, False, False, 0, 0, False, 1)


def times(calls, rows, others, n, dtype, tier, batch):
    """Nanoseconds for each matrix, all the calls together: by the kernels of some rows, and by those of others."""
    total = [0.0, 0.0]
    repeats = max(1, 64 // batch)  # so that the change of tables does not count
    for op in calls:
        call = caller(op, (batch, n, n), dtype)

        def with_rows(rows, call=call):
            use(tier, *rows)
            for _ in range(repeats):
                call()

        found = tune.shortest(lambda call=with_rows: call(rows), lambda call=with_rows: call(others))
        total = [t + f / (batch * repeats) for t, f in zip(total, found, strict=True)]
    return total


def within(limit, *case):
    """Whether the first kernels take at most `limit` of the others' time, if not at once by the median; their time."""
    pairs = []
    while len(pairs) < TRIES:
        pairs.append(times(*case))
        ratio = statistics.median(ours / other for ours, other in pairs)
        if ratio <= limit and len(pairs) in (1, TRIES):
            break
    return ratio <= limit, min(ours for ours, _ in pairs)


def wins(row, n, dtype, tier):
    """Whether the kernels of the row are to serve order n; their time."""
    rival = [RIVALS[row]] if row in RIVALS else []
    best, ours = within(FASTER, CALLS[row], [row], rival, n, dtype, tier, max(4, min(2048, ENTRIES // (n * n))))
    return best and within(ALONE, CALLS[row], [row, *rival], [], n, dtype, tier, 1)[0], ours


def crossover(row, dtype, tier, above):
    """Largest order, beyond `above`, that the kernels of the row win, and their times by order."""
    most, found = above, {}  # up to `above` they take what stacks leave
    for n in LARGE_ORDERS if row in RIVALS.values() else ORDERS:
        if n <= above:
            continue
        best, ours = wins(row, n, dtype, tier)
        found[n] = ours / len(CALLS[row])
        if not best:
            break
        most = n
    return most, found


def fit(found):
    """Coefficients base, cubic of the times of one matrix."""
    import numpy as np
    from scipy.optimize import nnls

    n, t = np.array(list(found), float), np.array(list(found.values()))
    (base, cubic), _ = nnls(np.stack([np.ones_like(n), n**3], axis=1) / t[:, None], np.ones_like(t))
    return float(base), float(cubic)


def measure(tiers, rows):
    """The table of this machine, over that of the package."""
    from linalgad._lib._compact_tiers import CROSSOVERS

    table = {tier: dict(CROSSOVERS.get(tier, {})) for tier in dict.fromkeys([*CROSSOVERS, *tiers])}
    smaller = {large: small for small, large in RIVALS.items()}
    for tier in tiers:
        for row in rows:
            most, cost = [], (0.0, 0.0)
            for k, dtype in enumerate(DTYPES):
                above = table[tier][smaller[row]][0][k] if row in smaller else 0
                order, found = crossover(row, dtype, tier, above)
                most.append(order)
                if dtype == "float64":
                    cost = fit(found)
            table[tier][row] = (tuple(most), *cost)
            print(tier, row, *table[tier][row], flush=True)
    return table


def text(table):
    """The module that holds the table."""
    from linalgad._lib._compact_tiers import ROWS

    names = "".join(f'    "{row}",\n' for row in ROWS)
    lines = [HEAD, f"ROWS = (\n{names})\n\nCROSSOVERS = {{\n"]
    lines.append("    # tier: row: (largest order by dtype, base_ns, cubic_ns)\n")
    for tier, rows in table.items():
        lines.append(f'    "{tier}": {{\n')
        for row in ROWS:
            if row in rows:
                most, base, cubic = rows[row]
                lines.append(f'        "{row}": ({most}, {base:.1f}, {cubic:.3g}),\n')
        lines.append("    },\n")
    return "".join([*lines, "}\n"])


def main(arguments=None):
    """Measure, print, and write if asked to."""
    from linalgad._kernels import _compact as kernel

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiers", nargs="+", default=kernel.tiers(), choices=kernel.tiers())
    parser.add_argument("--rows", nargs="+", default=list(CALLS), choices=list(CALLS))
    parser.add_argument("--write", action="store_true", help=f"replace {TABLE.name} of this source tree")
    options = parser.parse_args(arguments)
    found = text(measure(options.tiers, options.rows))
    print(found)
    if options.write:
        TABLE.write_text(found)


if __name__ == "__main__":
    _rounds.set_environment(int(os.environ.get("OMP_NUM_THREADS", "1")))
    main()
