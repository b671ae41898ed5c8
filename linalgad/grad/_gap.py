"""Division by spectral gaps: the numerator test, closed under differentiation.

Vocabulary too, in a file of its own because every spectral rule stands on it.
"""
import numpy as np

from .._lib import _tols
from ._dual import base, plus, primitive
from ._xp import abs2, conj


def divide_gap(num, gap, noise=None, *, eps=None):
    """num / gap for the pairs of a spectrum, 0 where the quotient would be rounding only.

    Parameters
    ----------
    num : array (..., N, N)
        Numerators; the diagonal is never divided and gives 0.
    gap : array (..., N, N)
        Gaps relative to the largest singular value or |eigenvalue| of the slice.
    noise : array broadcastable to num, optional
        Magnitudes (`column_scale`) whose rounding limits `num`: an entry within a few units of it is zero.
    eps : float, optional
        None is the numerator test. A number replaces 1/gap by gap / (gap^2 + eps^2), 0 by the bare 1/gap.

    Notes
    -----
    The derivative is that of the quotient, d(n/g) = (dn - (n/g) dg)/g, put to the same test with the
    magnitudes of the tangents, so that a numerator that vanishes here does not hide its own derivative.
    """
    if eps:
        return conj(gap) * num / (abs2(gap) + eps * eps)
    return _quotient(num, gap, 0 if noise is None else noise, bare=eps is not None)


@primitive
def _quotient(num, gap, noise, *, bare):
    keep = np.abs(gap) > (0 if bare else _tols.gap_resolution(gap.dtype))
    if not bare and not isinstance(noise, int):
        keep &= np.abs(num) > _tols.numerator_noise(gap.dtype) * noise
    # A masked ufunc is several times slower than a division of everything, by infinity where nothing is kept.
    return num / np.where(keep, gap, gap.dtype.type(np.inf))


@_quotient.rule
def _quotient_tangent(out, primals, tangents, *, bare):
    (_, gap, _), (dnum, dgap, dnoise) = primals, tangents
    if dgap is not None:
        dnum = plus(dnum, -(out * dgap))
    return None if dnum is None else _quotient(dnum, gap, 0 if dnoise is None else dnoise, bare=bare)


def smallest_gap(w):
    """Decision: the smallest difference of the values of each slice, infinity when there is no pair."""
    w = base(w)
    if w.dtype.kind == "c":
        size = np.abs(gaps(w))
        i = np.arange(size.shape[-1])
        size[..., i, i] = np.inf
        return np.min(size, axis=(-2, -1), initial=np.inf)
    return np.min(np.abs(np.diff(w, axis=-1)), axis=-1, initial=np.inf)


def any_unresolved(w, smallest=None):
    """Decision: whether a pair of (sorted or complex) values has a gap below resolution."""
    smallest = smallest_gap(w) if smallest is None else smallest
    return bool(np.any(smallest <= _tols.gap_resolution(w.dtype)))


def unresolved(w, smallest=None):
    """Decision: the pairs i != j of (sorted or complex) values whose gap is below resolution, None if there is none."""
    if not any_unresolved(w, smallest):
        return None
    close = unresolved_or_phase(gaps(base(w)))
    i = np.arange(close.shape[-1])
    close[..., i, i] = False
    return close


def unresolved_or_phase(gap):
    """Decision: the unresolved pairs and the diagonal, where a cotangent may have no rotation or phase."""
    return np.abs(base(gap)) <= _tols.gap_resolution(gap.dtype)


def gaps(w):
    """The differences w_j - w_i, (..., N, N)."""
    return w[..., None, :] - w[..., :, None]
