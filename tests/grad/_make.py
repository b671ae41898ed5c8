"""Matrices with a prescribed spectrum and random arrays of a dtype."""
import numpy as np

DTYPES = ("float32", "float64", "complex64", "complex128")


def normal(rng, shape, dtype):
    """Standard normal entries of a dtype."""
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def unitary(rng, n, dtype):
    """A random unitary matrix in double precision, real for a real dtype."""
    wide = "complex128" if np.dtype(dtype).kind == "c" else "float64"
    return np.linalg.qr(normal(rng, (n, n), wide))[0]


def with_singular_values(rng, s, m, n, dtype):
    """An m x n matrix with the given singular values."""
    k = len(s)
    u, v = unitary(rng, m, dtype)[:, :k], unitary(rng, n, dtype)[:, :k]
    return ((u * np.asarray(s, float)) @ v.conj().T).astype(dtype)


def with_eigenvalues(rng, w, dtype):
    """A Hermitian matrix with the given eigenvalues."""
    q = unitary(rng, len(w), dtype)
    a = (q * np.asarray(w, float)) @ q.conj().T
    return ((a + a.conj().T) / 2).astype(dtype)


def diagonalisable(rng, w, dtype, skewness=0.4):
    """A general matrix with the given eigenvalues and mildly skewed eigenvectors."""
    n = len(w)
    v = unitary(rng, n, dtype) + skewness * normal(rng, (n, n), dtype).astype(np.result_type(dtype, "float64")) / n
    return (v @ np.diag(w) @ np.linalg.inv(v)).astype(dtype)


def hermitian(x):
    """The Hermitian part."""
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def inner(xs, ys):
    """Re<x, y> summed over pairs, None being zero, in double precision."""
    return sum(float(np.sum(np.conj(np.asarray(x, np.result_type(x, "float64"))) * y).real)
               for x, y in zip(xs, ys, strict=True) if x is not None and y is not None)


def relative(got, want):
    """The largest difference over the largest entry of `want`."""
    return float(np.max(np.abs(np.asarray(got) - want)) / np.max(np.abs(want)))
