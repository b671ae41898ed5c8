"""How results are measured; the thresholds are in _tols.py."""
import numpy as np
from _matrices import H, wide
from _tols import RESIDUAL, eps, gauge_tie


def one_norm(x):
    """The 1-norm of each matrix; 0 for an empty core."""
    return np.abs(x).sum(-2).max(-1, initial=0.0)


def unit_scale(a):
    """A power of two for each matrix that brings its largest entry near 1, as exponent."""
    big = np.abs(a).max((-2, -1), initial=0.0, keepdims=True)
    return -np.frexp(np.where(big > 0, big, 1.0))[1]


def scaled(x, e):
    """x times 2**e, in double precision and in two steps, so that neither factor overflows."""
    x = np.asarray(x).astype(wide(x.dtype))
    half = e // 2
    return x * np.ldexp(1.0, half) * np.ldexp(1.0, e - half)


def residual_ratio(a, *factors):
    """|a - product of factors| / (max(m, n) |a| eps), worst slice; the LAPACK test ratio.

    The first factor carries the scale of `a`.
    """
    e = unit_scale(a)
    a, product = scaled(a, e), scaled(factors[0], e)
    for f in factors[1:]:
        product = product @ f.astype(wide(f.dtype))
    norm = one_norm(a)
    error = one_norm(a - product)
    n = max(*a.shape[-2:], 1)
    return _worst(error, n * norm * eps(factors[0].dtype))


def solution_ratio(a, x, b):
    """|b - a x| / ((|a| |x| + |b|) max(m, n) eps), worst slice: the backward error of a solution."""
    ea, eb = unit_scale(a), unit_scale(b)
    dtype = x.dtype
    a, x, b = scaled(a, ea), scaled(x, eb - ea), scaled(b, eb)
    bound = one_norm(a) * one_norm(x) + one_norm(b)
    return _worst(one_norm(b - a @ x), max(*a.shape[-2:], 1) * bound * eps(dtype))


def inverse_ratio(a, x):
    """|I - a x| / (|a| |x| n eps), worst slice: LAPACK's ratio of an inverse, which bounds its error."""
    e = unit_scale(a)
    dtype = x.dtype
    a, x = scaled(a, e), scaled(x, -e)
    n = a.shape[-1]
    return _worst(one_norm(np.eye(n) - a @ x), max(n, 1) * one_norm(a) * one_norm(x) * eps(dtype))


def orthogonality_ratio(q):
    """|Q^H Q - I| / (m eps), worst slice."""
    w = q.astype(wide(q.dtype))
    return _worst(one_norm(H(w) @ w - np.eye(q.shape[-1])), max(q.shape[-2], 1) * eps(q.dtype))


def distance(got, true):
    """Normwise relative distance of arrays over their last axes, worst slice; scale-safe."""
    got, true = np.atleast_2d(got), np.atleast_2d(true)
    e = unit_scale(true)
    got, true = scaled(got, e), scaled(true, e)
    return _worst(np.abs(got - true).max((-2, -1), initial=0.0), np.abs(true).max((-2, -1), initial=0.0))


def _worst(error, scale):
    """Largest error / scale; NaN counts as infinite, 0 / 0 as 0."""
    error, scale = np.broadcast_arrays(error, scale)
    bad = np.where(error == 0, 0.0, np.inf)
    ratio = np.divide(error, scale, out=bad, where=scale > 0)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max(initial=0.0))


def assert_ratios(ratios):
    """All LAPACK-style ratios, a dict label -> ratio, are at most RESIDUAL."""
    assert {k: r for k, r in ratios.items() if not r <= RESIDUAL} == {}


def assert_gauge(columns):
    """The pivot entry of every column is real and positive; the pivot is the first of the largest entries."""
    size = np.abs(columns)
    if not size.size:
        return
    pivot = np.argmax(size >= (1 - gauge_tie(columns.dtype)) * size.max(-2, keepdims=True), -2)
    entry = np.take_along_axis(columns, pivot[..., None, :], -2)
    assert (entry.real > 0).all()
    assert (entry.imag == 0).all()


def assert_same_bits(got, expected, where=()):
    """Two results (arrays, scalars or tuples of them) are bitwise equal, NaNs included."""
    got, expected = as_tuple(got), as_tuple(expected)
    assert len(got) == len(expected)
    for k, (g, e) in enumerate(zip(got, expected, strict=True)):
        g, e = np.asarray(g), np.asarray(e)
        assert (g.dtype, g.shape) == (e.dtype, e.shape), (k, where)
        same = np.ascontiguousarray(g).tobytes() == np.ascontiguousarray(e).tobytes()
        assert same, f"output {k} differs {where}: {np.argwhere(g != e)[:5].tolist()}"


def as_tuple(result):
    """A result as a plain tuple of its outputs."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def part(result, index):
    """The slice of every output at a batch index."""
    return tuple(np.asarray(x)[index] for x in as_tuple(result))
