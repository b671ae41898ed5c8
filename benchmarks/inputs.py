"""Seeded inputs for each op; only NumPy is needed."""

import numpy as np
import sizes

SYMMETRIC = frozenset({"eigh", "eigvalsh"})


def random(rng, shape, dtype):
    """Draw standard normal numbers of any of the four dtypes."""
    dtype = np.dtype(dtype)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def adjoint(a):
    """Hermitian transpose of each matrix of a stack."""
    return np.swapaxes(a, -1, -2).conj()


def positive_definite(rng, shape, dtype):
    """Hermitian stacks whose eigenvalues lie between 1 and about 5."""
    n = shape[-1]
    a = random(rng, shape, np.result_type(dtype, np.float64))
    return (a @ adjoint(a) / n + np.eye(n)).astype(dtype)


def lower_triangular(rng, shape, dtype):
    """Well-conditioned lower triangles with a positive diagonal."""
    n = shape[-1]
    return np.tril(random(rng, shape, dtype) / (2 * n) + np.eye(n)).astype(dtype)


def make(op, shape, dtype):
    """Arguments of ``op`` for a stack of ``shape``: the same numbers for every library."""
    rng = np.random.default_rng([sizes.SEED, *shape])
    if op == "cholesky":
        return (positive_definite(rng, shape, dtype),)
    if op in SYMMETRIC:
        a = random(rng, shape, dtype)
        return ((a + adjoint(a)) / 2,)
    if op in ("solve_triangular", "cholesky_solve", "cholesky_inverse"):
        a = lower_triangular(rng, shape, dtype)
    else:
        a = random(rng, shape, dtype)
    if op in ("solve", "solve_triangular", "cholesky_solve"):
        return a, random(rng, (*shape[:-1], sizes.RHS_COLUMNS), dtype)
    return (a,)


def cotangents(outputs, seed=sizes.SEED):
    """Random cotangents for ``outputs`` that do not ask for the derivative of a phase.

    In each column of a complex factor, and in each row of the last one of an SVD, the part along i times the vector
    itself is removed: that part is a choice of phase and not defined. Integer outputs, such as pivots, get None.
    """
    rng = np.random.default_rng(seed)
    result = []
    for position, value in enumerate(outputs):
        if value.dtype.kind not in "fc":
            result.append(None)
            continue
        ct = random(rng, value.shape, value.dtype)
        if value.dtype.kind == "c" and len(outputs) > 1 and value.ndim > 1:
            axis = -1 if position == 2 else -2
            phase = np.sum(value.conj() * ct, axis=axis, keepdims=True).imag
            norm = np.sum(np.abs(value) ** 2, axis=axis, keepdims=True)
            ct = ct - (1j * value * phase / np.where(norm == 0, 1, norm)).astype(value.dtype)
        result.append(ct)
    return tuple(result)
