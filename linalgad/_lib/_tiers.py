"""Which tier serves a call: the table that benchmarks/tune.py --write replaces.

The numbers here are estimates set by hand; the script has not been run to its end on a quiet machine.

One slice of order n takes about `base_ns + cubic_ns n^3` on one thread; threaded BLAS speeds up a
single slice from order `wide_n` on.
"""

OPS = {
    # op: (base_ns, cubic_ns, wide_n)
    "cholesky": (300.0, 0.08, 160.0),
    "triangular": (300.0, 0.10, 400.0),
    "lu": (400.0, 0.12, 256.0),
    "solve": (500.0, 0.12, 256.0),
    "inv": (600.0, 0.30, 256.0),
    "qr": (800.0, 0.40, 256.0),
    "eigh": (1500.0, 1.1, 512.0),
    "eigvalsh": (1500.0, 0.5, 512.0),
    "eig": (4000.0, 7.0, 512.0),
    "eigvals": (3000.0, 4.0, 512.0),
    "svd": (2000.0, 1.8, 384.0),
    "svdvals": (2000.0, 0.8, 384.0),
    "copy": (100.0, 0.001, 1e9),
    "matmul": (300.0, 0.06, 300.0),
}

REGION_NS = 4000.0          # opening and closing a parallel region
WIDE_EFFICIENCY = 0.6       # share of the machine that threaded BLAS keeps busy
