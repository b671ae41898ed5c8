"""The decisions of the vocabulary (`_xp`): what a rule reads off the plain numbers, constant under differentiation."""
import functools

import numpy as np

from . import _stacks
from ._dual import base, recordable


def dtype(x):
    """Decision: the dtype of an array."""
    return np.dtype(x.dtype)


def is_complex(x):
    """Decision: whether an array is complex."""
    return x.dtype.kind == "c"


def magnitude(x):
    """Decision: the moduli of the entries, as plain numbers."""
    return np.abs(base(x))


def max_magnitude(x, axis, keepdims=True):
    """Decision: the largest modulus along `axis`; 0 over an empty axis, and never 0/0 when it divides."""
    x = base(x)
    if keepdims and axis in (-2, (-2, -1)) and _stacks.serves_real(x):
        return _stacks.largest_of_columns(x) if axis == -2 else _stacks.largest(x)
    return np.max(np.abs(x), axis=axis, keepdims=keepdims, initial=0)


def norm_over(x, subscripts):
    """Decision: the 2-norm over the axes that `subscripts` sums, in one pass; scaled where squares leave the range."""
    with np.errstate(all="ignore"):
        if np.iscomplexobj(x):
            square = np.einsum(subscripts, x.real, x.real) + np.einsum(subscripts, x.imag, x.imag)
        else:
            square = np.einsum(subscripts, x, x)
        limits = np.finfo(square.dtype)
        safe = (square > limits.tiny / limits.eps) & (square < limits.max)
        if safe.all():
            return np.sqrt(square)
        axis = (-2, -1) if subscripts.endswith(">...") else -2
        top = np.max(np.abs(x), axis=axis, keepdims=True, initial=0)
        scaled = _sum_of_squares(x / np.where(top > 0, top, 1), axis)
        return np.where(safe, np.sqrt(square), np.sqrt(scaled) * np.squeeze(top, axis=axis))


def _sum_of_squares(x, axis):
    return np.sum(np.abs(x) ** 2, axis=axis)


def slice_norm(*xs):
    """Decision: the 2-norm of all entries of each slice over several (..., M, N) arrays, (...), as plain numbers."""
    return functools.reduce(np.hypot, [norm_over(base(x), "...ij,...ij->...") for x in xs])


def larger(x, y):
    """Decision: the entrywise maximum of plain numbers."""
    return np.maximum(x, y)


def nearest(x, y):
    """Decision: for each y[..., j] the position of the nearest x[..., i]."""
    return np.argmin(np.abs(x[..., :, None] - y[..., None, :]), axis=-2)


def count(mask):
    """Decision: how many entries of each slice of a (..., M, N) mask hold."""
    return np.count_nonzero(mask, axis=(-2, -1))


def eye(n, like):
    """The n x n identity in the dtype of `like`."""
    return np.eye(n, dtype=like.dtype)


@recordable
def zeros_like(x, shape=None):
    """Zeros in the dtype of `x`."""
    return np.zeros(x.shape if shape is None else shape, dtype=x.dtype)


def pivots(x, tie):
    """Decision: in each column, the first row whose modulus is within the factor 1 - `tie` of the largest."""
    size = np.abs(base(x))
    if not size.size:
        return np.zeros((*size.shape[:-2], size.shape[-1]), int)
    return np.argmax(size >= (1 - tie) * np.max(size, axis=-2, keepdims=True, initial=0), axis=-2)
