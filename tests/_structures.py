"""Matrices and factors of a known structure, with the entries that the structure does not read full of junk."""
import numpy as np
from _matrices import H, definite, hermitian, matrix, normal, real, spectrum, triangular, unitary, wide


def T(x):
    """Transpose of each matrix."""
    return np.swapaxes(x, -1, -2)


def factors(rng, batch, n, dtype):
    """Well-conditioned LU factors in the compact form, and any row interchanges that are possible."""
    i = np.arange(n)
    piv = i + np.floor(rng.random((*batch, n)) * (n - i)).astype(np.int64)
    lower = np.tril(triangular(rng, batch, n, dtype), -1)
    return lower + np.triu(triangular(rng, batch, n, dtype)), piv.astype(np.int32)


@np.vectorize(signature="(m),(k)->(m)")
def row_order(rows, piv):
    """Where each row of `a` is after the interchanges: ``a[row_order(range(m), piv)] = L @ U``."""
    order = rows.copy()
    for i, p in enumerate(piv):
        order[[i, p]] = order[[p, i]]
    return order


def product(lu, piv):
    """The matrix that compact factors stand for, in double precision."""
    lu = lu.astype(wide(lu.dtype))
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = np.tril(lu[..., :k], -1) + np.eye(m, k)
    order = row_order(np.broadcast_to(np.arange(m), (*lu.shape[:-2], m)), piv)
    return np.take_along_axis(lower @ np.triu(lu[..., :k, :]), np.argsort(order)[..., None], -2)


def symmetric(rng, batch, n, dtype, kind="separated"):
    """Symmetric matrices, complex for a complex dtype, with a singular spectrum of that kind."""
    if np.dtype(dtype).kind == "f":
        return hermitian(rng, batch, n, dtype, kind)
    u = unitary(rng, batch, n, dtype)
    a = (u * spectrum(kind, n, dtype)) @ T(u)
    return ((a + T(a)) / 2).astype(dtype)


def diagonal(rng, batch, n, dtype, kind="separated"):
    """Diagonal matrices with entries of the moduli of that spectrum."""
    x = normal(rng, (*batch, n), wide(dtype))
    return ((x / np.abs(x) * spectrum(kind, n, dtype))[..., None] * np.eye(n)).astype(dtype)


def tridiagonal(rng, batch, n, dtype, kind="dominant"):
    """Tridiagonal matrices: diagonally dominant, or so random that rows are exchanged."""
    a = normal(rng, (*batch, n, n), wide(dtype))
    if kind == "dominant":
        a = a / np.maximum(np.abs(a), 1) + 4 * np.eye(n)
    return _band(a).astype(dtype)


def _band(a):
    return np.triu(np.tril(a, 1), -1)


def _triangle(rng, batch, n, dtype, kind):
    return triangular(rng, batch, n, dtype)


def _mirror(lower, flip):
    """Read one triangle and the mirror image that `flip` makes of it."""
    half = np.tril if lower else np.triu

    def seen(a):
        return half(a) + flip(half(a, -1 if lower else 1))
    return seen


def _whole(a):
    return a


def _diagonal_of(a):
    return a * np.eye(a.shape[-1], dtype=real(a.dtype))


# assume_a -> lower -> (what makes such a matrix, what is read of an array)
STRUCTURES = {
    None: lambda lower: (lambda rng, batch, n, dtype, kind: matrix(rng, batch, n, n, dtype, kind), _whole),
    "pos": lambda lower: (definite, _mirror(lower, H)),
    "sym": lambda lower: (symmetric, _mirror(lower, T)),
    "her": lambda lower: (hermitian, _mirror(lower, H)),
    "diag": lambda lower: (diagonal, _diagonal_of),
    "tridiagonal": lambda lower: (tridiagonal, _band),
    "upper triangular": lambda lower: (_triangle, np.triu),
    "lower triangular": lambda lower: (_triangle, np.tril),
}


def unread(seen, n):
    """Mask of the entries of an n x n array that `seen` does not read."""
    unit = np.eye(n * n).reshape(n * n, n, n)
    return ~seen(unit).any((-2, -1)).reshape(n, n)


def with_junk(rng, a, seen):
    """`a` with random numbers where `seen` does not read."""
    return np.where(unread(seen, a.shape[-1]), normal(rng, a.shape, a.dtype), a)
