"""qr."""
import numpy as np
import pytest
import scipy.linalg
from _checks import Universal
from _matrices import KINDS, H, matrix, wide
from _measure import assert_ratios, assert_same_bits, distance, orthogonality_ratio, residual_ratio
from _spec import Spec
from _tols import RESIDUAL, rounding

import linalgad as la

SHAPES = ((1, 1), (1, 4), (4, 1), (5, 5), (3, 8), (40, 7), (33, 70), (101, 99), (6, 4))


def _matrix(rng, batch, dtype, m, n, kind):
    return (matrix(rng, batch, m, n, dtype, kind),)


def _ratios(a, q, r):
    return {"a": residual_ratio(H(a), H(r), H(q)), "q": orthogonality_ratio(q),
            "upper": np.inf if np.tril(r, -1).any() else 0.0}


def _residuals(args, outs):
    return _ratios(args[0], *outs)


def _diagonal(r):
    return np.diagonal(r, axis1=-2, axis2=-1)


def _positive_residuals(args, outs):
    d = _diagonal(outs[1])
    return {**_ratios(args[0], *outs), "diagonal": np.inf if (d.real < 0).any() or (d.imag != 0).any() else 0.0}


def _pivoted_residuals(args, outs):
    q, r, p = outs
    d = np.abs(_diagonal(r))
    falls = (np.diff(d) <= RESIDUAL * np.finfo(r.dtype).eps * d[..., :1]).all()
    return {**_ratios(np.take_along_axis(args[0], p[..., None, :], -1), q, r), "falling": 0.0 if falls else np.inf}


def _positive(a):
    q, r = np.linalg.qr(a)
    sign = np.where(_diagonal(r).real < 0, -1.0, 1.0)
    return q * sign[..., None, :], r * sign[..., :, None]


def _reduced(m, n):
    return [((m, min(m, n)), "t"), ((min(m, n), n), "t")]


def _complete(m, n):
    return [((m, m), "t"), ((m, n), "t")]


def _r(m, n):
    return [((min(m, n), n), "t")]


def _raw(m, n):
    return [((n, m), "t"), ((min(m, n),), "t")]


def _pivoted(outputs):
    return lambda m, n: [*outputs(m, n), ((n,), "p")]


class TestQr(Universal):
    specs = (
        Spec("qr", _reduced, _matrix, shapes=SHAPES, kinds=KINDS, residuals=_residuals, reference=np.linalg.qr,
             inplace=0, kappa=4.0),
        Spec("qr", _complete, _matrix, {"mode": "complete"}, shapes=SHAPES, kinds=KINDS, residuals=_residuals,
             reference=lambda a: np.linalg.qr(a, "complete"), kappa=4.0),
        Spec("qr", _r, _matrix, {"mode": "r"}, shapes=SHAPES, reference=lambda a: np.linalg.qr(a, "r"), kappa=4.0),
        Spec("qr", _raw, _matrix, {"mode": "raw"}, shapes=SHAPES, reference=lambda a: np.linalg.qr(a, "raw"),
             kappa=16.0),
    )


class TestPositive(Universal):
    specs = (
        Spec("qr", _reduced, _matrix, {"positive": True}, shapes=SHAPES, kinds=KINDS, residuals=_positive_residuals,
             reference=_positive, kappa=4.0),
        Spec("qr", _complete, _matrix, {"mode": "complete", "positive": True}, shapes=SHAPES,
             residuals=_positive_residuals),
        Spec("qr", _r, _matrix, {"mode": "r", "positive": True}, shapes=SHAPES, reference=lambda a: _positive(a)[1],
             kappa=4.0),
    )


class TestPivoted(Universal):
    specs = (
        Spec("qr", _pivoted(_reduced), _matrix, {"pivoting": True}, shapes=SHAPES, kinds=KINDS,
             residuals=_pivoted_residuals, inplace=0),
        Spec("qr", _pivoted(_complete), _matrix, {"mode": "complete", "pivoting": True, "positive": True},
             shapes=SHAPES, kinds=KINDS, residuals=_pivoted_residuals),
        Spec("qr", _pivoted(_r), _matrix, {"mode": "r", "pivoting": True}, shapes=SHAPES),
        Spec("qr", _pivoted(_raw), _matrix, {"mode": "raw", "pivoting": True}, shapes=SHAPES),
    )


@pytest.mark.parametrize(("ours", "theirs"), [("reduced", "economic"), ("complete", "full"), ("raw", "raw")])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pivoted_agrees_with_scipy(shape, ours, theirs, dtype, rng):
    """The same reflectors, the same choice of pivots."""
    a = matrix(rng, (), *shape, dtype)
    q, r, p = scipy.linalg.qr(a, mode=theirs, pivoting=True)
    got = la.qr(a, ours, pivoting=True)
    if ours == "raw":
        (h, tau), _ = q, r
        q, r = h.T, tau
    assert got[2].tolist() == p.tolist()
    assert max(distance(got[0], q), distance(got[1], r)) <= rounding(dtype, max(shape), kappa=16.0)


@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize(("scipys", "numpys"), [("economic", "reduced"), ("full", "complete")])
def test_words_of_scipy(scipys, numpys, pivoting, dtype, rng):
    """Two names, one mode."""
    a = matrix(rng, (3,), 6, 4, dtype)
    assert_same_bits(la.qr(a, scipys, pivoting=pivoting), la.qr(a, numpys, pivoting=pivoting))


@pytest.mark.parametrize("pivoting", [False, True])
def test_modes_agree(pivoting, dtype, rng):
    """R and the pivots are the same numbers in every mode, and the raw form holds R."""
    a = matrix(rng, (3,), 7, 4, dtype)
    full, reduced = la.qr(a, "complete", pivoting=pivoting), la.qr(a, pivoting=pivoting)
    alone, raw = la.qr(a, "r", pivoting=pivoting), la.qr(a, "raw", pivoting=pivoting)
    assert_same_bits(reduced[1], full.R[:, :4])
    assert_same_bits(alone if pivoting else (alone,), reduced[1:])
    assert_same_bits(np.triu(np.swapaxes(raw[0], -1, -2)), full.R)
    assert_same_bits(raw[2:], reduced[2:])


def test_reflectors_of_raw_are_lapacks(dtype, rng):
    """H(1) ... H(k) made from h and tau, applied to R, give the matrix."""
    a = matrix(rng, (), 5, 3, dtype)
    h, tau = la.qr(a, "raw")
    q, v = np.eye(5), np.tril(h.T, -1) + np.eye(5, 3)
    for k in range(3):
        q = q - tau[k] * np.outer(q @ v[:, k], v[:, k].conj())
    assert residual_ratio(H(a), H(np.triu(h.T)), H(q)) <= RESIDUAL


def test_complete_extends_reduced(dtype, rng):
    """The first columns of the square Q are the reduced Q."""
    a = matrix(rng, (3,), 9, 4, dtype)
    assert distance(la.qr(a, "complete").Q[..., :4], la.qr(a).Q) <= rounding(dtype, 9)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize("shape", [(96, 96), (97, 130), (131, 97)], ids=str)
def test_blocks_of_reflectors(shape, mode, dtype, rng):
    """Orders at which the kernel keeps the triangular factors of its blocks: LAPACK's reflectors still."""
    a = matrix(rng, (2,), *shape, dtype)
    got, expected = la.qr(a, mode), np.linalg.qr(a.astype(wide(dtype)), mode)
    pairs = [(got, expected)] if mode == "r" else zip(got, expected, strict=True)
    assert max(distance(x, y) for x, y in pairs) <= rounding(dtype, max(shape), kappa=16.0)
    if mode in ("reduced", "complete"):
        assert_ratios(_positive_residuals((a,), la.qr(a, mode, positive=True)))


def test_zero_matrix(dtype):
    """Q of a zero matrix is orthonormal and the diagonal of R is zero, not negative."""
    q, r = la.qr(np.zeros((2, 4, 3), dtype), positive=True)
    assert not r.any()
    assert orthogonality_ratio(q) <= RESIDUAL


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_with_pivoting(value, mode, dtype, rng):
    """Norms that are NaN choose no pivots: that slice is NaN with its columns in place."""
    a = matrix(rng, (3,), 5, 4, dtype)
    good = la.qr(a, mode, pivoting=True)
    a[1, 2, 1] = value
    *outs, p = la.qr(a, mode, pivoting=True)
    assert all(np.isnan(x[1]).all() for x in outs)
    assert p[1].tolist() == [0, 1, 2, 3]
    assert_same_bits(tuple(x[[0, 2]] for x in (*outs, p)), tuple(x[[0, 2]] for x in good))


@pytest.mark.parametrize("pivoting", [False, True])
def test_result_fields(pivoting, dtype):
    """The field names of numpy.linalg, and P as scipy calls it."""
    result = la.qr(np.eye(3, dtype=dtype), pivoting=pivoting)
    assert result._fields == (("Q", "R", "P") if pivoting else ("Q", "R"))


def test_unknown_mode():
    """The message lists the modes."""
    with pytest.raises(ValueError, match=r"^qr: mode must be one of 'reduced', .* got 'thin'"):
        la.qr(np.eye(3), "thin")


def test_raw_has_no_positive_form():
    """The reflectors determine the signs."""
    with pytest.raises(ValueError, match=r"^qr: positive in mode 'raw'"):
        la.qr(np.eye(3), "raw", positive=True)


@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("shape", [(2 ** 32, 2), (2, 2 ** 32), (2 ** 27, 2 ** 27)], ids=str)
def test_too_long_for_lapack(shape, pivoting):
    """More elements than LAPACK's integers count: refused before anything is allocated."""
    with pytest.raises(ValueError, match=r"^qr: a matrix of shape .* more than LAPACK's"):
        la.qr(np.broadcast_to(np.float32(1), shape), pivoting=pivoting)
