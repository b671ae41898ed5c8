"""Test matrices with a prescribed spectrum, so that their condition is known.

Everything is built in double precision and rounded to the dtype at the end. `batch` is the batch shape.
"""
import numpy as np

# Kinds of spectra: values in descending order with largest 1 (scaled for 'huge' and 'tiny').
KINDS = ("separated", "clustered", "degenerate", "deficient", "graded", "huge", "tiny")
REGULAR = ("separated", "clustered", "degenerate", "graded", "huge", "tiny")    # of full rank


def spectrum(kind, k, dtype):
    """k positive values in descending order (zeros at the end for 'deficient')."""
    eps = float(np.finfo(dtype).eps)
    single = np.finfo(dtype).dtype.itemsize == 4
    s = np.linspace(1.0, 0.25, k) if k > 1 else np.ones(k)
    if kind == "clustered":         # neighbours in pairs, a few roundings apart
        s[1::2] = s[0::2][: k // 2] * (1 - 8 * eps)
    elif kind == "degenerate":      # the upper half equal
        s[: (k + 1) // 2] = 1.0
    elif kind == "deficient":
        s[(k + 1) // 2:] = 0.0
    elif kind == "graded":
        s = eps ** np.linspace(0.0, 0.5, k) if k > 1 else s
    elif kind == "huge":
        s = s * (1e36 if single else 1e300)
    elif kind == "tiny":
        s = s * (1e-30 if single else 1e-290)
    elif kind != "separated":
        raise ValueError(kind)
    return s


def condition(kind, k, dtype):
    """Largest over smallest value of a spectrum of full rank."""
    s = spectrum(kind, k, dtype)
    return s[0] / s[-1] if k else 1.0


def H(x):
    """Hermitian transpose."""
    return np.conj(np.swapaxes(x, -1, -2))


def wide(dtype):
    """The double precision type of the same kind."""
    return np.result_type(dtype, np.float64)


def real(dtype):
    """The real type that belongs to `dtype`."""
    return np.finfo(dtype).dtype


def normal(rng, shape, dtype):
    """Standard normal entries, real and imaginary part."""
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def unitary(rng, batch, n, dtype):
    """Haar-distributed unitary (orthogonal) matrices, in double precision."""
    q, r = np.linalg.qr(normal(rng, (*batch, n, n), wide(dtype)))
    d = np.diagonal(r, axis1=-2, axis2=-1)
    return q * (d / np.where(d == 0, 1, np.abs(d)))[..., None, :]


def with_singular_values(rng, batch, m, n, s, dtype):
    """m x n matrices with the singular values `s`, (k,) or (..., k)."""
    k = min(m, n)
    u, v = unitary(rng, batch, m, dtype)[..., :k], unitary(rng, batch, n, dtype)[..., :k]
    return ((u * np.asarray(s)[..., None, :]) @ H(v)).astype(dtype)


def matrix(rng, batch, m, n, dtype, kind="separated"):
    """m x n matrices with a singular spectrum of that kind."""
    return with_singular_values(rng, batch, m, n, spectrum(kind, min(m, n), dtype), dtype)


def with_eigenvalues(rng, batch, w, dtype):
    """Hermitian matrices with the real eigenvalues `w`, exactly Hermitian."""
    v = unitary(rng, batch, np.shape(w)[-1], dtype)
    a = (v * np.asarray(w)[..., None, :]) @ H(v)
    return ((a + H(a)) / 2).astype(dtype)


def hermitian(rng, batch, n, dtype, kind="separated"):
    """Indefinite Hermitian matrices: the spectrum of that kind with alternating signs."""
    return with_eigenvalues(rng, batch, spectrum(kind, n, dtype) * (-1.0) ** np.arange(n), dtype)


def definite(rng, batch, n, dtype, kind="separated"):
    """Hermitian positive definite matrices (semidefinite for 'deficient')."""
    return with_eigenvalues(rng, batch, spectrum(kind, n, dtype), dtype)


def eigen_basis(rng, batch, n, dtype, kappa=4.0):
    """Invertible matrices of condition `kappa`, in double precision."""
    s = np.linspace(1.0, 1.0 / kappa, n) if n > 1 else np.ones(n)
    return with_singular_values(rng, batch, n, n, s, wide(dtype))


def general(rng, batch, w, dtype, kappa=4.0):
    """Square matrices with the eigenvalues `w`; returns (a, w).

    For a real dtype `w` is real, or holds conjugate pairs side by side.
    """
    w = np.asarray(w)
    n = w.shape[-1]
    x = eigen_basis(rng, batch, n, dtype, kappa)
    core = np.zeros((n, n), w.dtype)
    np.fill_diagonal(core, w)
    if np.dtype(dtype).kind == "f" and w.dtype.kind == "c":
        core = core.real.copy()
        first = np.flatnonzero(w.imag > 0)
        core[first, first + 1] = w.imag[first]
        core[first + 1, first] = -w.imag[first]
    return H(np.linalg.solve(H(x), H(x @ core))).astype(dtype), w


def triangular(rng, batch, n, dtype, lower=True):
    """Well-conditioned triangular matrices, random numbers in the triangle that nobody may read."""
    a = normal(rng, (*batch, n, n), wide(dtype)) / max(n, 1)
    i = np.arange(n)
    a[..., i, i] = 1.0 + np.abs(a[..., i, i])
    return a.astype(dtype)
