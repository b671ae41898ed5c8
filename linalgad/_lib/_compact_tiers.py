"""Up to which order the compact kernels are the fastest: the table that benchmarks/tune_compact.py writes.

The rows cholesky, lu, eigh to svdvals and the blocked ones are estimates from single timings; the script has measured
the others.

By tier, row and dtype (float32, float64, complex64, complex128). One float64 slice of order n takes about
`base_ns + cubic_ns n^3` on one thread. The order of an M x N matrix is sqrt(M N).
"""

ROWS = ("cholesky", "triangular", "lu", "qr", "eigh", "eigvalsh", "svd", "svdvals", "matmul", "blocked_lu",
        "blocked_cholesky")

CROSSOVERS = {
    # tier: row: (largest order by dtype, base_ns, cubic_ns)
    "avx512": {
        "cholesky": ((56, 64, 64, 64), 39.1, 0.0461),
        "triangular": ((64, 32, 64, 28), 32.6, 0.0226),
        "lu": ((56, 40, 56, 32), 58.2, 0.11),
        "qr": ((64, 64, 64, 64), 40.1, 0.309),
        "eigh": ((64, 64, 64, 64), 200.0, 0.6),
        "eigvalsh": ((64, 64, 64, 64), 200.0, 0.25),
        "svd": ((64, 64, 64, 64), 300.0, 1.1),
        "svdvals": ((64, 64, 64, 64), 300.0, 0.4),
        "matmul": ((8, 8, 28, 20), 30.0, 0.12),
        "blocked_lu": ((512, 512, 512, 512), 500.0, 0.025),
        "blocked_cholesky": ((512, 512, 512, 512), 300.0, 0.01),
    },
    "avx2": {
        "cholesky": ((56, 64, 40, 40), 30.8, 0.0554),
        "triangular": ((64, 64, 40, 16), 59.1, 0.0169),
        "lu": ((40, 24, 24, 16), 89.9, 0.343),
        "qr": ((64, 64, 64, 32), 55.7, 0.338),
        "eigh": ((64, 64, 64, 48), 400.0, 1),
        "eigvalsh": ((64, 64, 64, 64), 400.0, 0.4),
        "svd": ((64, 48, 48, 40), 600.0, 1.9),
        "svdvals": ((64, 64, 64, 48), 600.0, 0.7),
        "matmul": ((8, 6, 20, 12), 40.0, 0.15),
        "blocked_lu": ((512, 512, 512, 512), 500.0, 0.045),
        "blocked_cholesky": ((512, 512, 512, 512), 300.0, 0.02),
    },
    "baseline": {
        "cholesky": ((64, 64, 64, 64), 46.6, 0.0724),
        "triangular": ((64, 16, 48, 8), 52.6, 0.0414),
        "lu": ((16, 12, 16, 8), 150.0, 1.2),
        "qr": ((64, 64, 64, 64), 96.5, 0.555),
        "eigh": ((64, 48, 48, 32), 900.0, 2.4),
        "eigvalsh": ((64, 48, 64, 48), 900.0, 1),
        "svd": ((48, 40, 40, 24), 1300.0, 4.4),
        "svdvals": ((64, 48, 48, 40), 1300.0, 1.6),
        "matmul": ((6, 4, 12, 8), 50.0, 0.3),
        "blocked_lu": ((256, 128, 64, 48), 500.0, 0.2),
        "blocked_cholesky": ((256, 192, 128, 128), 300.0, 0.1),
    },
}
