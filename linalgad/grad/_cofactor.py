"""The cofactor matrix and its derivative, without a division by anything that may vanish.

Vocabulary too, in a file of its own: `cofactor` and `cofactor_tangent` stand for themselves in the rules of det.
"""
import math
from dataclasses import dataclass

import numpy as np

from .._lib import _tols
from . import _stacks
from ._dual import plus, primitive
from ._forward import public
from ._policy import NotDifferentiableError


@dataclass
class Cofactors:
    """What the forward of det keeps of a stack of n x n matrices, flattened over the batch.

    The matrices are diag(2^rows) unit, with one exponent for all rows unless their range is extreme. All slices
    keep inverse and determinant of `unit` (by LU), of use to none of the slices `other`, which keep its SVD and the
    unimodular det(U) det(V^H) too; determinants are pairs of mantissa and binary exponent.
    """

    batch: tuple
    rows: np.ndarray
    inverse: np.ndarray
    det: tuple
    other: np.ndarray
    svd: tuple
    phase: np.ndarray


# ------------------------------------------------------------------ numbers beyond the range of floating point

#: The exponent of zero.
_NO_EXPONENT = np.iinfo(np.int32).min


def _scaled(x, exponent):
    """x 2^exponent, for real or complex x; infinite in silence where that is out of range, as det itself is."""
    if _moderate(exponent, x.dtype):
        return x * _power(exponent, x.dtype)
    with np.errstate(over="ignore"):
        if not np.iscomplexobj(x):
            return np.ldexp(x, exponent)
        out = np.empty(np.broadcast_shapes(x.shape, exponent.shape), x.dtype)
        out.real, out.imag = np.ldexp(x.real, exponent), np.ldexp(x.imag, exponent)
        return out


def _moderate(exponent, dtype):
    """Whether 2^exponent is a normal number with room for a few factors of order one, everywhere."""
    return np.max(np.abs(exponent), initial=0) < _tols.moderate_exponent(dtype)


def _power(exponent, dtype):
    """2^exponent in the real type of `dtype`."""
    return np.ldexp(np.ones((), dtype).real, exponent)


def _normalised(x):
    """(x 2^-e, e) with the modulus of the first in [0.5, 2); zero and NaN have e = 0."""
    size = np.maximum(np.abs(x.real), np.abs(x.imag)) if np.iscomplexobj(x) else np.abs(x)
    exponent = np.frexp(size)[1]
    return _scaled(x, -exponent), exponent


def _times(x, y):
    """The product of two pairs (mantissa, exponent)."""
    mantissa, exponent = _normalised(x[0] * y[0])
    return mantissa, exponent + x[1] + y[1]


def _products_without(x):
    """For each i the product of the x_k, k != i, over the last axis, by products from either end."""
    n = x.shape[-1]
    mantissa, exponent = np.ones(x.shape, x.dtype), np.zeros(x.shape, int)
    factors = _normalised(x)
    for order in (range(n), range(n - 1, -1, -1)):
        total = np.ones(x.shape[:-1], x.dtype), np.zeros(x.shape[:-1], int)
        for i in order:
            mantissa[..., i], exponent[..., i] = _times((mantissa[..., i], exponent[..., i]), total)
            total = _times(total, (factors[0][..., i], factors[1][..., i]))
    return mantissa, exponent


def _common(x):
    """Numbers (mantissa, exponent) as an array relative to the power of two of the largest, and that power."""
    mantissa, exponent = x
    axes = tuple(range(1, mantissa.ndim))
    top = np.max(np.where(mantissa != 0, exponent, _NO_EXPONENT), axis=axes, initial=_NO_EXPONENT)
    top = np.where(np.any(mantissa != 0, axis=axes), top, 0)
    relative = np.maximum(exponent - top.reshape(-1, *(1 for _ in axes)), _NO_EXPONENT // 2)
    return np.ldexp(mantissa, relative), top


# ------------------------------------------------------------------ the forward

def keep(a, lanes=None):
    """Determinants of a plain stack, and what their derivatives need: `Cofactors`.

    LU serves the slices whose condition number leaves the cofactors accurate, and det itself and an SVD the
    others: near a singular matrix det(A) A^-1 is 0 times infinity, and at second order a difference of such.
    """
    batch, n = a.shape[:-2], a.shape[-1]
    a = _flat(a, batch, n)
    rows, wide = _row_exponents(a)
    unit = _scaled(a, -rows[..., None]) if rows.any() else a
    lu, piv = public("lu_factor")(unit, lanes=lanes)
    ones = np.broadcast_to(np.eye(n, dtype=a.dtype), a.shape)
    inverse = public("lu_solve")((lu, piv), ones, lanes=lanes, errors="nan")
    with np.errstate(all="ignore"):
        size = _stacks.norms(unit)
        condition = size * _stacks.norms(inverse)
    good = (condition <= _tols.cofactor_condition(a.dtype)) & ~wide | ~np.isfinite(size)
    other = np.flatnonzero(~good)
    with np.errstate(all="ignore"):
        det = _stacks.pivot_product(lu, piv)
        value = _scaled(det[0], det[1] + rows.sum(axis=-1))
    svd, phase = (), None
    if len(other):
        value[other] = public("det")(a[other], lanes=lanes)
        svd = tuple(public("svd")(unit[other], full_matrices=False, lanes=lanes))
        phase = public("slogdet")(svd[0], lanes=lanes)[0] * public("slogdet")(svd[2], lanes=lanes)[0]
    return value.reshape(batch)[()], Cofactors(batch, rows, inverse, det, other, svd, phase)


def _row_exponents(a):
    """Binary exponents of the rows, that of the slice or each row's own, and the slices whose range asks for these."""
    exponent = _stacks.row_exponents(a, _NO_EXPONENT)
    zero = exponent == _NO_EXPONENT
    top = np.max(exponent, axis=-1, keepdims=True, initial=_NO_EXPONENT)
    top = np.where(top == _NO_EXPONENT, 0, top)
    own = np.where(zero, top, exponent)
    wide = np.max(top - own, axis=-1, initial=0) > _tols.exponent_range(a.dtype)
    common = np.where(np.abs(top) < _tols.moderate_exponent(a.dtype) // 4, 0, top)
    return np.where(wide[:, None], own, common), wide


def _flat(a, batch, n):
    """A stack with one batch dimension."""
    return a.reshape(math.prod(batch), n, n)


# ------------------------------------------------------------------ the vocabulary

def _conj_transpose(x):
    return np.conj(np.swapaxes(x, -1, -2))


@primitive
def cofactor(a, g=None, *, kept):
    """g adj(A)^H with the gradient of det: conj(det) A^-H, or conj(phase) U diag(prod of the other s) V^H."""
    power = kept.rows.sum(axis=-1, keepdims=True) - kept.rows
    weight = (np.ones_like(kept.det[0]), 0) if g is None else _normalised(g.reshape(-1).astype(kept.det[0].dtype))
    power = power + np.reshape(weight[1], (-1, 1))
    mantissa, exponent = kept.det
    with np.errstate(all="ignore"):
        regular = _adjoint_times(kept.inverse, weight[0] * np.conj(mantissa), power + exponent[:, None])
    if not len(kept.other):
        return regular.reshape(a.shape)
    i, (u, s, vh) = kept.other, kept.svd
    p, exponent = _common(_products_without(s))
    other = u * ((weight[0][i] * np.conj(kept.phase))[:, None] * p)[:, None, :] @ vh
    return _together(kept, regular, _scaled(other, (power[i] + exponent[:, None])[..., None])).reshape(a.shape)


def _adjoint_times(x, mantissa, exponent):
    """mantissa 2^exponent x^H, one mantissa for a slice and one exponent for a row."""
    if _moderate(exponent, x.dtype):
        return _stacks.adjoint(x, mantissa[:, None] * _power(exponent, x.dtype))
    return _scaled(_stacks.adjoint(x, np.broadcast_to(mantissa[:, None], exponent.shape)), exponent[..., None])


def _together(kept, regular, other):
    """The slices of either kind in their places."""
    regular[kept.other] = other
    return regular


@cofactor.rule
def _cofactor(out, primals, tangents, *, kept):
    (a, g), (da, dg) = ((*x, None)[:2] for x in (primals, tangents))
    moved = None if da is None else cofactor_tangent(a, da, kept=kept)
    if moved is not None and g is not None:
        moved = g[..., None, None] * moved
    return plus(moved, None if dg is None else cofactor(a, dg, kept=kept))


@primitive
def cofactor_tangent(a, da, *, kept):
    """The derivative of adj(A)^H along dA.

    With X = A^-1: conj(det) (conj(tr(X dA)) X^H - (X dA X)^H). In the basis of the SVD, M = U^H dA V and
    P_ij the product of all s but two: the diagonal sum_k P_ik M_kk and off the diagonal -P_ij M_ij. It is
    finite and right at any rank.
    """
    n = a.shape[-1]
    flat = _flat(np.broadcast_to(da, (*kept.batch, n, n)), kept.batch, n)
    size = np.max(np.abs(flat), axis=(-2, -1), initial=0)
    shift = np.frexp(np.where(np.isfinite(size), size, 1))[1] - kept.rows.min(axis=-1, initial=np.iinfo(np.int32).max)
    unit = _scaled(flat, (-shift[:, None] - kept.rows)[..., None])
    power = kept.rows.sum(axis=-1, keepdims=True) - kept.rows + shift[:, None]
    x, (mantissa, exponent) = kept.inverse, kept.det
    with np.errstate(all="ignore"):
        xd = _stacks.matmul(x, unit)
        moved = np.trace(xd, axis1=-2, axis2=-1)[:, None, None] * x - _stacks.matmul(xd, x)
        regular = _adjoint_times(moved, np.conj(mantissa), power + exponent[:, None])
    if not len(kept.other):
        return regular.reshape(da.shape)
    i, (u, s, vh) = kept.other, kept.svd
    m = _conj_transpose(u) @ unit[i] @ _conj_transpose(vh)
    p, exponent = _pair_products(s)
    core = -p * m
    j = np.arange(n)
    core[:, j, j] = (p @ np.diagonal(m, axis1=-2, axis2=-1)[..., None])[..., 0]
    other = u @ (kept.phase[:, None, None].conj() * _conj_transpose(core)) @ vh
    return _together(kept, regular, _scaled(other, (power[i] + exponent[:, None])[..., None])).reshape(da.shape)


def _pair_products(s):
    """The products of all s but s_i and s_j, zero on the diagonal, with a common exponent."""
    n = s.shape[-1]
    others = np.broadcast_to(s[:, None, :], (*s.shape, n)).copy()
    j = np.arange(n)
    others[:, j, j] = 1
    mantissa, exponent = _products_without(others)
    mantissa[:, j, j] = 0
    return _common((mantissa, exponent))


@cofactor_tangent.rule
def _cofactor_tangent(out, primals, tangents, *, kept):
    if tangents[0] is not None:
        raise NotDifferentiableError("det: third derivatives are not available; log(det) by slogdet has them")
    return cofactor_tangent(primals[0], tangents[1], kept=kept)
