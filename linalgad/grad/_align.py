"""Bases of repeated values that diagonalise a perturbation, for second derivatives at ties."""
import numpy as np

from .._lib import _tols
from ._forward import public


def nearest_basis(x, like):
    """Decision: the unitary R for which X R is nearest to `like`, for bases X of neighbouring spaces."""
    u, _, vh = np.linalg.svd(np.conj(np.swapaxes(x, -1, -2)) @ like)
    return u @ vh


def aligned(coupling, close):
    """Unitary R, block diagonal over the clusters, with R^H C R diagonal inside every cluster.

    Parameters
    ----------
    coupling : ndarray (..., N, N)
        The Hermitian couplings C of a sorted spectrum.
    close : ndarray of bool (..., N, N) or None
        The pairs that are tied.

    Returns
    -------
    ndarray (..., N, N) or None
        None where nothing is tied.

    Notes
    -----
    In a basis that diagonalises the perturbation the values move by the diagonal of C alone, as in degenerate
    perturbation theory, so that functions of a tied block get their true second derivative. The basis of a
    repeated value is free, and a loss that is differentiable there does not see the change.
    """
    if close is None or not close.any():
        return None
    n = coupling.shape[-1]
    i = np.arange(n)
    cluster = np.zeros(close.shape[:-1], int)
    cluster[..., 1:] = np.cumsum(~close[..., i[:-1], i[1:]], axis=-1)
    same = cluster[..., :, None] == cluster[..., None, :]
    inside = np.where(same & (close | np.eye(n, dtype=bool)), coupling, 0)
    # A shift that grows from cluster to cluster keeps their vectors apart and in order.
    size = np.max(np.abs(inside), axis=(-2, -1), keepdims=True)
    unit = np.where(size > 0, size, 1)
    blocks = inside / unit + 4 * n * np.eye(n) * cluster[..., None, :]
    r = public("eigh")(blocks.astype(coupling.dtype))[1]
    alone = np.count_nonzero(same, axis=-2, keepdims=True) == 1
    return np.where(alone, np.eye(n, dtype=r.dtype), np.where(same, r, 0))


def aligned_general(coupling, close):
    """Invertible R, block diagonal over the clusters, with R^-1 C R diagonal inside every cluster.

    As `aligned` for the couplings of a spectrum that is neither sorted nor of a Hermitian matrix. A block without
    a basis of eigenvectors, or with complex ones for real couplings, keeps the basis it has.
    """
    if close is None:
        return None
    n = coupling.shape[-1]
    out = np.broadcast_to(np.eye(n, dtype=coupling.dtype), coupling.shape).copy()
    for i in np.ndindex(close.shape[:-2]):
        left = set(np.flatnonzero(close[i].any(axis=-1)).tolist())
        while left:
            members = {left.pop()}
            grown = members
            while grown:
                grown = {j for k in grown for j in np.flatnonzero(close[i][k]).tolist()} - members
                members |= grown
            left -= members
            block = np.ix_(*(sorted(members),) * 2)
            r = public("eig")(coupling[i][block])[1]
            fits = r.dtype.kind == coupling.dtype.kind
            if fits and np.linalg.cond(r) * _tols.eps(r.dtype) < _tols.gauge_violation(r.dtype):
                out[i][block] = r
    return out


def aligned_null(u, v, da, null):
    """Null singular vectors that diagonalise the perturbation: (u, v) with U0^H dA V0 diagonal and not negative.

    The values that are zero become the singular values of dA between the complements of the other vectors. A slice
    whose perturbation has not full rank there keeps the vectors it has.
    """
    if not null.any():
        return u, v
    u, v = u.copy(), v.copy()
    for i in np.ndindex(null.shape[:-1]):
        zero = null[i]
        if not zero.any():
            continue
        wide = u.shape[-2] < v.shape[-2]
        x, y, d = (v[i], u[i], da[i].conj().T) if wide else (u[i], v[i], da[i])
        # y[:, zero] spans the whole null space on its side; on the other the complement of the rest is larger.
        rest = x[:, ~zero]
        moved = d @ y[:, zero]
        moved = moved - rest @ (rest.conj().T @ moved)
        left, size, right = public("svd")(moved, full_matrices=False)
        if size[-1] > _tols.gauge_violation(size.dtype) * size[0]:
            x[:, zero], y[:, zero] = left, y[:, zero] @ right.conj().T
    return u, v
