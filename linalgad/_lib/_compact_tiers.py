"""Up to which order the compact kernels are the fastest: the table that benchmarks/tune_compact.py writes.

By tier, row and dtype (float32, float64, complex64, complex128). One float64 slice of order n takes about
`base_ns + cubic_ns n^3` on one thread. The order of an M x N matrix is sqrt(M N).
"""

ROWS = ("cholesky", "triangular", "lu", "qr", "eigh", "eigvalsh", "svd", "svdvals")

CROSSOVERS = {
    # tier: row: (largest order by dtype, base_ns, cubic_ns)
    "avx512": {
        "cholesky": ((32, 32, 32, 32), 10.0, 0.06),
        "triangular": ((32, 32, 32, 32), 10.0, 0.02),
        "lu": ((32, 32, 32, 32), 20.0, 0.12),
        "qr": ((32, 32, 32, 32), 30.0, 0.30),
    },
    "avx2": {
        "cholesky": ((32, 32, 24, 24), 10.0, 0.06),
        "triangular": ((32, 32, 24, 24), 10.0, 0.02),
        "lu": ((32, 24, 24, 16), 20.0, 0.15),
        "qr": ((32, 32, 24, 24), 30.0, 0.40),
    },
    "baseline": {
        "cholesky": ((24, 16, 16, 8), 20.0, 0.20),
        "triangular": ((24, 16, 16, 8), 20.0, 0.06),
        "lu": ((16, 12, 12, 8), 30.0, 0.40),
        "qr": ((24, 16, 16, 16), 50.0, 0.80),
    },
}
