"""Count the instructions that the compact kernels spend on a matrix, and set their speed against that of the machine.

Usage: python benchmarks/instructions.py [--ops lu,solve] [--n 2,4,8] [--dtype float64] [--tiers avx2] [--json FILE]

Counts come from valgrind's callgrind, so they are the same on a busy machine: a change of a kernel shows in them at
once. Valgrind runs no AVX-512 code; that tier has times only. Times are those of one thread, the shortest of many
calls. "GFLOP/s" counts the operations of the textbook algorithm, and "of peak" compares with a product of large
matrices; "GB/s" counts each input and output once, "of copy" compares with a copy of a large array.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import _rounds
import compare
import sizes
import tune

OPS = ("cholesky", "cholesky_solve", "cholesky_inverse", "lu", "solve", "inv", "det", "solve_triangular", "qr", "eigh",
       "eigvalsh", "svd", "svdvals")
ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
BATCH = 512  # whole packs of every tier, and enough to make the cost of a call small
#: operations of the textbook algorithm by order; the iterative ones have no such number
FLOPS = {
    "cholesky": lambda n: n**3 / 3,
    "cholesky_solve": lambda n: 2 * n**2,
    "cholesky_inverse": lambda n: 2 * n**3 / 3,
    "lu": lambda n: 2 * n**3 / 3,
    "solve": lambda n: 2 * n**3 / 3 + 2 * n**2,
    "inv": lambda n: 2 * n**3,
    "det": lambda n: 2 * n**3 / 3,
    "solve_triangular": lambda n: n**2,
    "qr": lambda n: 8 * n**3 / 3,
}
COUNTED = "*_compact_run_compact"  # the function that runs a call of the compact tier
CHILD_SECONDS = 1200
TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def use(tier):
    """Let the tier serve all orders."""
    from linalgad._kernels import _compact as kernel
    from linalgad._lib._compact_tiers import ROWS

    kernel.set_tier(tier, [((float("inf"),) * 4, 0.0, 0.0)] * len(ROWS))


def bytes_moved(op, shape, dtype):
    """The bytes of a matrix's inputs and outputs."""
    import inputs

    outs = tune.caller(op, shape, 1, dtype)()
    outs = outs if isinstance(outs, tuple) else (outs,)
    return sum(x.nbytes for x in (*inputs.make(op, shape, dtype), *outs)) / shape[0]


def run_cases(cases, tier):
    """Call each case twice, for callgrind: memory of the first call is new, the second one counts."""
    use(tier)
    for op, n, dtype in cases:
        call = tune.caller(op, (BATCH, n, n), 1, dtype)
        call()
        call()


def count(cases, tier):
    """Instructions of a matrix for each case, in a process under callgrind that writes a file after each call."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            f"--toggle-collect={COUNTED}",
            f"--dump-after={COUNTED}",
            sys.executable,
            __file__,
            "--child",
            json.dumps([cases, tier]),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHILD_SECONDS)
        if done.returncode:
            raise SystemExit(done.stderr)
        dumps = sorted(Path(folder).glob("out.*"), key=lambda p: int(p.suffix[1:]))
        totals = [int(TOTAL.search(p.read_text())[1]) for p in dumps][: 2 * len(cases)]
    return [total / BATCH for total in totals[1::2]]


def machine_peaks():
    """GFLOP/s of a product of large float64 matrices and GB/s of a copy of a large array, on one thread."""
    import numpy as np

    a = np.random.default_rng(sizes.SEED).standard_normal((1024, 1024))
    big, copy = np.ones(1 << 24), np.zeros(1 << 24)
    product, copied = tune.shortest(lambda: a @ a, lambda: np.copyto(copy, big))
    return 2 * 1024**3 / product, 2 * big.nbytes / copied


def time_cases(cases, tier, peaks):
    """Times and rates on one thread."""
    use(tier)
    rows = []
    for op, n, dtype in cases:
        batch = sizes.batch_for(op, n)
        nbytes = bytes_moved(op, (batch, n, n), dtype)
        ns = tune.shortest(tune.caller(op, (batch, n, n), 1, dtype))[0] / batch
        row = {
            "op": op,
            "n": n,
            "dtype": dtype,
            "tier": tier,
            "us": ns / 1e3,
            "gb_s": nbytes / ns,
            "of_copy": nbytes / ns / peaks[1],
        }
        if op in FLOPS and dtype == "float64":
            row |= {"gflop_s": FLOPS[op](n) / ns, "of_peak": FLOPS[op](n) / ns / peaks[0]}
        rows.append(row)
    return rows


def table(rows):
    """Lines of text."""
    columns = (
        ("op", "16"),
        ("n", "3"),
        ("dtype", "10"),
        ("tier", "8"),
        ("instructions", "12.0f"),
        ("us", "8.4f"),
        ("gflop_s", "7.2f"),
        ("of_peak", "7.0%"),
        ("gb_s", "6.2f"),
        ("of_copy", "7.0%"),
    )
    width = {name: max(len(name), int(re.match(r"\d+", form)[0])) for name, form in columns}
    yield "  ".join(f"{name:>{width[name]}}" for name, _ in columns)
    for row in rows:
        cells = (format(row[name], form) if name in row else "-" for name, form in columns)
        yield "  ".join(f"{cell:>{width[name]}}" for cell, (name, _) in zip(cells, columns, strict=True))


def main(arguments=None):
    """Count, time and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ops", type=compare.words, default=OPS)
    parser.add_argument("--n", type=compare.numbers, default=ORDERS)
    parser.add_argument("--dtype", choices=compare.DTYPES, default="float64")
    parser.add_argument("--tiers", type=compare.words, help="comma-separated; default all of this CPU")
    parser.add_argument("--no-times", action="store_true", help="count only")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        run_cases(*json.loads(options.child))
        return
    from linalgad._kernels import _compact as kernel

    cases = [(op, n, options.dtype) for op in options.ops for n in options.n]
    peaks = None if options.no_times else machine_peaks()
    if peaks:
        print(f"peak {peaks[0]:.1f} GFLOP/s, copy {peaks[1]:.1f} GB/s")
    rows = []
    for tier in options.tiers or kernel.tiers():
        found = [dict(zip(("op", "n", "dtype"), case, strict=True), tier=tier) for case in cases]
        if peaks:
            found = time_cases(cases, tier, peaks)
        if tier != "avx512":
            for row, instructions in zip(found, count(cases, tier), strict=True):
                row["instructions"] = instructions
        rows += found
        print(*table(found), sep="\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    _rounds.set_environment(int(os.environ.get("OMP_NUM_THREADS", "1")))
    main()
