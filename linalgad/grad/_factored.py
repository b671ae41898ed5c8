"""What the rules of factorisations and linear systems share.

Vocabulary too: every function here either decides on plain numbers or is written in `_xp`.
"""
import numpy as np

from .._lib import _tols
from . import _stacks
from . import _xp as xp
from ._dual import recordable
from ._policy import NotDifferentiableError

_TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


# ------------------------------------------------------------------ decisions

@recordable
def binary_scale(*xs):
    """Decision: the power of two next below the largest part of a number in each slice, (..., 1, 1).

    1 where the largest is near 1, zero or not finite, and None where it is in all slices: the range is no concern then.
    Rules that multiply a factor by its own cotangent divide the factor by this first, so that the product
    neither overflows nor underflows when the gradient does not; division by it is exact.
    """
    top = 0
    for x in map(xp.base, xs):
        for part in (x.real, x.imag) if xp.is_complex(x) else (x,):
            top = np.maximum(top, xp.max_magnitude(part, axis=(-2, -1)))
    exponent = np.frexp(np.where(np.isfinite(top) & (top > 0), top, 1))[1]
    limit = _tols.moderate_exponent(top.dtype) // 8
    extreme = (exponent <= -limit) | (exponent > limit)
    return np.ldexp(np.ones_like(top), np.where(extreme, exponent - 1, 0)) if extreme.any() else None


def divided(x, scale):
    """x over a `binary_scale`; None stays None."""
    return x if x is None or scale is None else x / scale


def times(x, scale):
    """x times a `binary_scale`."""
    return x if scale is None else x * scale


def row_order(piv, m):
    """Decision: rows with a[rows] = L U, for the row interchanges of `lu_factor`, (..., M)."""
    return _stacks.row_order(piv, m)


def matrix_order(p):
    """Decision: the row of the one in each column of permutation matrices."""
    return np.rint(np.arange(p.shape[-1]) @ p).astype(np.intp)


def inverse_order(p):
    """Decision: the inverse of a permutation."""
    return np.argsort(p, axis=-1)


def transposition(trans):
    """Decision: 0, 1 or 2 of a `trans` argument that the forward has accepted."""
    return _TRANSPOSED[trans]


def refuse(name, bad, reason):
    """Raise that the slices where `bad` holds have no derivative, with the reason."""
    if not np.any(bad):
        return
    where = np.argwhere(bad)
    slices = "" if np.ndim(bad) == 0 else " in slices " + ", ".join(str(tuple(map(int, i))) for i in where[:5])
    if np.ndim(bad) and len(where) > 5:
        slices += f" and {len(where) - 5} more"
    raise NotDifferentiableError(f"{name}: no derivative{slices}: {reason}")


def leading_run(x, threshold):
    """Decision: how many leading entries of each slice exceed their threshold before the first that does not."""
    return np.cumprod(x > threshold, axis=-1, dtype=int).sum(axis=-1)


def distinct(x):
    """Decision: the different integers in x; [0] where x is empty."""
    return [int(i) for i in np.unique(x)] or [0]


def positions(mask):
    """Decision: the flat positions where a mask holds."""
    return np.flatnonzero(mask)


def no_residual(x):
    """Decision: a zero for each slice of x, (..., 1, 1), in its real type."""
    return np.zeros((*x.shape[:-2], 1, 1), np.zeros((), x.dtype).real.dtype)


def joint_norm(*xs):
    """Decision: `_xp.slice_norm` over what is not None, of any shapes; 0 for nothing."""
    total = 0
    for x in xs:
        if x is not None:
            total = np.hypot(total, xp.slice_norm(x))
    return total


def status(x, core):
    """Decision: 1 for each slice of a result with `core` dimensions that holds NaN, else 0."""
    return np.isnan(x).any(axis=tuple(range(-core, 0))).astype(np.int32)[()]


def refuse_failed(name, info):
    """Raise if a function of the `_ex` family reports a failed slice, which it filled with NaN."""
    refuse(name, np.asarray(info) != 0, "the slice failed and holds NaN (info is not 0); take it out of the batch")


# ------------------------------------------------------------------ vectors, rows

def columns(x, vector):
    """Right-hand sides as a stack of matrices; None stays None."""
    return x if x is None or not vector else x[..., None]


def uncolumned(x, vector):
    """The inverse of `columns`."""
    return x if x is None or not vector else x[..., 0]


def _spread(x, rows):
    batch = np.broadcast_shapes(x.shape[:-2], rows.shape[:-1])
    return x if x.shape[:-2] == batch else xp.broadcast_to(x, shape=(*batch, *x.shape[-2:]))


def permuted(x, rows):
    """x[rows] for each slice, batches broadcast."""
    return xp.take_rows(_spread(x, rows), rows=rows)


def unpermuted(x, rows):
    """The inverse of `permuted`."""
    return xp.put_rows(_spread(x, rows), rows=rows)


# ------------------------------------------------------------------ triangles

def op(x, trans):
    """x, its transpose, or its conjugate transpose."""
    return x if trans == 0 else xp.T(x) if trans == 1 else xp.H(x)


def adjoint_solve(a, g, *, trans=0, **kw):
    """op(A)^-H G for triangular A: the cotangent of B from that of X in op(A) X = B."""
    if trans == 1:
        return xp.conj(xp.solve_triangular(a, xp.conj(g), trans=0, **kw))
    return xp.solve_triangular(a, g, trans=2 - trans, **kw)


def kept_adjoint(a, g, solver):
    """A^-H G by a kept factorisation (`_xp.solve_kept`)."""
    return xp.solve_kept(a, g, solver=solver, trans=2)


def right_solve(x, a, *, lower, trans=0):
    """X op(A)^-1 for triangular A; `trans` is 0 or 2."""
    if trans == 2:
        return xp.H(xp.solve_triangular(a, xp.H(x), lower=lower, trans=0))
    return xp.T(xp.solve_triangular(a, xp.T(x), lower=lower, trans=1))
