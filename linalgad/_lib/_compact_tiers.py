"""Up to which order the compact kernels are the fastest: the table that benchmarks/tune_compact.py writes.

By tier, row and dtype (float32, float64, complex64, complex128). One float64 slice of order n takes about
`base_ns + cubic_ns n^3` on one thread. The order of an M x N matrix is sqrt(M N).
"""

ROWS = (
    "cholesky",
    "triangular",
    "lu",
    "qr",
    "eigh",
    "eigvalsh",
    "svd",
    "svdvals",
    "matmul",
    "cholesky_inverse",
    "blocked_lu",
    "blocked_cholesky",
)

CROSSOVERS = {
    # tier: row: (largest order by dtype, base_ns, cubic_ns)
    "avx512": {
        "cholesky": ((48, 64, 64, 64), 11.9, 0.0415),
        "triangular": ((64, 48, 64, 48), 22.4, 0.0123),
        "lu": ((48, 48, 48, 40), 10.3, 0.14),
        "qr": ((64, 64, 64, 64), 54.4, 0.339),
        "eigh": ((64, 64, 64, 64), 50.1, 0.968),
        "eigvalsh": ((64, 64, 64, 64), 36.1, 0.26),
        "svd": ((64, 64, 64, 64), 78.0, 1.46),
        "svdvals": ((64, 64, 64, 64), 48.0, 0.486),
        "matmul": ((8, 8, 48, 8), 21.7, 0.259),
        "cholesky_inverse": ((48, 64, 32, 32), 11.9, 0.0604),
        "blocked_lu": ((512, 512, 512, 512), 14841.4, 0.0383),
        "blocked_cholesky": ((512, 512, 512, 512), 8076.8, 0.0161),
    },
    "avx2": {
        "cholesky": ((64, 64, 64, 64), 11.2, 0.0353),
        "triangular": ((64, 64, 64, 48), 17.9, 0.00845),
        "lu": ((64, 64, 64, 48), 9.8, 0.109),
        "qr": ((64, 64, 64, 64), 51.2, 0.272),
        "eigh": ((64, 64, 64, 64), 52.6, 0.835),
        "eigvalsh": ((64, 64, 64, 64), 29.9, 0.36),
        "svd": ((64, 64, 64, 64), 87.9, 1.53),
        "svdvals": ((64, 64, 64, 64), 65.4, 0.524),
        "matmul": ((8, 8, 6, 8), 18.4, 0.189),
        "cholesky_inverse": ((64, 64, 64, 64), 8.0, 0.0812),
        "blocked_lu": ((512, 512, 512, 256), 10085.3, 0.0746),
        "blocked_cholesky": ((512, 512, 512, 192), 40740.1, 0.0253),
    },
    "baseline": {
        "cholesky": ((64, 64, 64, 64), 26.0, 0.0489),
        "triangular": ((64, 48, 48, 32), 23.7, 0.00992),
        "lu": ((64, 64, 24, 20), 16.9, 0.236),
        "qr": ((64, 48, 48, 48), 93.3, 0.493),
        "eigh": ((64, 64, 64, 64), 77.0, 3.08),
        "eigvalsh": ((64, 64, 64, 64), 62.5, 1.44),
        "svd": ((64, 64, 64, 48), 138.2, 5.6),
        "svdvals": ((64, 64, 64, 64), 108.2, 2.3),
        "matmul": ((8, 8, 8, 6), 36.1, 0.178),
        "cholesky_inverse": ((64, 64, 48, 64), 10.4, 0.134),
        "blocked_lu": ((96, 64, 64, 24), 0.0, 0.162),
        "blocked_cholesky": ((96, 64, 64, 64), 0.0, 0.0688),
    },
}
