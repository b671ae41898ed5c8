"""Which tier serves a call: the table that benchmarks/tune.py writes. Do not edit by hand.

One slice of order n takes about `base_ns + cubic_ns n^3` on one thread; threaded BLAS speeds up a
single slice from order `wide_n` on. The rows copy and matmul, which have no public function, are
estimates that the script keeps.
"""

OPS = {
    # op: (base_ns, cubic_ns, wide_n)
    "cholesky": (6.7, 0.0271, 768.0),
    "triangular": (26.7, 0.00186, 1e9),
    "lu": (10.8, 0.0541, 768.0),
    "solve": (10.0, 0.0522, 768.0),
    "inv": (4.7, 0.126, 768.0),
    "qr": (37.4, 0.351, 512.0),
    "eigh": (20.3, 0.595, 384.0),
    "eigvalsh": (16.1, 0.219, 384.0),
    "eig": (1256.5, 4.77, 1024.0),
    "eigvals": (637.7, 2.99, 1e9),
    "svd": (40.8, 1.1, 512.0),
    "svdvals": (30.7, 0.412, 768.0),
    "copy": (100.0, 0.001, 1e9),
    "matmul": (300.0, 0.06, 300.0),
}

REGION_NS = 1000.0          # opening and closing a parallel region
WIDE_EFFICIENCY = 0.68      # share of the machine that threaded BLAS keeps busy
