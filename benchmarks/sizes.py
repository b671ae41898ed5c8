"""The one table of benchmark sizes, shared by ``compare.py`` and the asv files."""

SEED = 20240229
RHS_COLUMNS = 1

#: name of the op -> stem of the file that implements it
STEMS = {
    "cholesky": "cholesky",
    "cholesky_solve": "cholesky",
    "cholesky_inverse": "cholesky",
    "solve": "solve",
    "solve_triangular": "triangular",
    "inv": "inv",
    "lu": "lu",
    "det": "det",
    "slogdet": "det",
    "qr": "qr",
    "eigh": "eigh",
    "eigvalsh": "eigh",
    "eig": "eig",
    "eigvals": "eig",
    "svd": "svd",
    "svdvals": "svd",
}
OPS = tuple(STEMS)

#: these need tens of times longer than the others at the same size, and get smaller batches
ITERATIVE = frozenset({"eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals"})

#: core size n -> batch of an iterative op; the others get four times as many matrices
BATCH = {
    2: 8192,
    3: 8192,
    4: 4096,
    6: 2048,
    8: 2048,
    12: 1024,
    16: 1024,
    24: 512,
    32: 256,
    48: 128,
    64: 64,
    96: 24,
    128: 16,
    192: 8,
    256: 4,
}
BATCHED_N = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)
VJP_N = (3, 4, 8, 16, 32, 64, 128, 256)
SINGLE_N = 4
LARGE_N = 1024
TALL_SHAPES = ((32, 4), (64, 8), (100, 3))
TALL_OPS = ("svd", "qr")
TALL_BATCH = 1024

#: asv runs often, so it takes a few sizes of each tier
ASV_N = (4, 16, 64, 128)
ASV_DTYPES = ("float64", "complex128")


def batch_for(op, n):
    """Matrices in one call, so that the call takes some milliseconds."""
    known = max((size for size in BATCH if size <= n), default=2)
    batch = BATCH[known] if n <= max(BATCH) else 1
    return batch if op in ITERATIVE else 4 * batch


def shape_for(op, n):
    """Shape of the stack of n x n matrices that the batched suite gives to ``op``."""
    return (batch_for(op, n), n, n)
