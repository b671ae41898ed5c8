"""svd and svdvals."""
import numpy as np
import pytest
from _checks import Universal
from _matrices import KINDS, H, matrix, normal
from _measure import assert_gauge, assert_ratios, distance, orthogonality_ratio, residual_ratio
from _spec import Spec
from _tols import RESIDUAL, rounding

import linalgad as la
from linalgad._kernels import _svd as kernel
from linalgad._lib._gauge import tie

SHAPES = ((1, 1), (1, 4), (2, 2), (5, 3), (3, 5), (8, 8), (40, 7), (6, 4))


def _matrix(rng, batch, dtype, m, n, kind):
    return (matrix(rng, batch, m, n, dtype, kind),)


def _residuals(args, outs):
    (a,), (u, s, vh) = args, outs
    k = s.shape[-1]
    return {"a": residual_ratio(a, u[..., :k] * s[..., None, :], vh[..., :k, :]),
            "u": orthogonality_ratio(u), "vh": orthogonality_ratio(H(vh)),
            "descending": np.inf if (np.diff(s) > 0).any() or (s < 0).any() else 0.0}


def _values(a):
    return np.linalg.svd(a, compute_uv=False)


class TestSvd(Universal):
    specs = (
        Spec("svd", lambda m, n: [((m, m), "t"), ((min(m, n),), "r"), ((n, n), "t")], _matrix, shapes=SHAPES,
             kinds=KINDS, residuals=_residuals, reference=lambda a: (None, _values(a), None), nonfinite="fails"),
        Spec("svd", lambda m, n: [((m, min(m, n)), "t"), ((min(m, n),), "r"), ((min(m, n), n), "t")], _matrix,
             {"full_matrices": False}, shapes=SHAPES, kinds=KINDS, residuals=_residuals, nonfinite="fails"),
        Spec("svd", lambda m, n: [((min(m, n),), "r")], _matrix, {"compute_uv": False}, shapes=SHAPES,
             reference=_values, nonfinite="fails"),
        Spec("svdvals", lambda m, n: [((min(m, n),), "r")], _matrix, shapes=SHAPES, reference=_values,
             nonfinite="fails"),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gauge(shape, kind, dtype, rng):
    """The pivot of each column of a full u, and of each extra row of vh, is real and positive."""
    u, s, vh = la.svd(matrix(rng, (3,), *shape, dtype, kind))
    assert_gauge(u)
    assert_gauge(H(vh[..., s.shape[-1]:, :]))


def test_gauge_pivot_among_equal_entries(dtype):
    """Entries equal but for rounding: the first is the pivot, whatever LAPACK returned."""
    h = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    a = (h * [4.0, 3.0, 2.0, 1.0]) @ h.T
    u, s, vh = la.svd(a.astype(dtype))
    assert distance(s, np.array([4.0, 3.0, 2.0, 1.0])) <= rounding(dtype, 4)
    assert distance(u, h) <= rounding(dtype, 4, kappa=4.0)
    assert distance(vh, h.T) <= rounding(dtype, 4, kappa=4.0)


def test_gauge_makes_results_independent_of_phase(dtype, rng):
    """A and A times a phase on the left have the same vh up to that phase: u is fixed, so vh carries it."""
    a = matrix(rng, (), 5, 4, dtype)
    phase = np.dtype(dtype).type(-1 if np.dtype(dtype).kind == "f" else np.exp(1j))
    u, _, vh = la.svd(a, full_matrices=False)
    u2, _, vh2 = la.svd(phase * a, full_matrices=False)
    assert distance(u2, u) <= rounding(dtype, 5, kappa=8.0)
    assert distance(vh2, phase * vh) <= rounding(dtype, 5, kappa=8.0)


@pytest.mark.parametrize("kind", KINDS)
def test_thin_full_and_values_agree(kind, dtype, rng):
    """Three drivers or jobs, one spectrum."""
    a = matrix(rng, (3,), 9, 6, dtype, kind)
    full, thin, values = la.svd(a), la.svd(a, full_matrices=False), la.svdvals(a)
    assert distance(thin.S, full.S) <= rounding(dtype, 9)
    assert distance(values, full.S) <= rounding(dtype, 9)


def test_result_fields(dtype):
    """The field names of numpy.linalg."""
    assert la.svd(np.eye(3, dtype=dtype))._fields == ("U", "S", "Vh")


@pytest.mark.parametrize("job", ["A", "S", "N"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fallback_driver(shape, job, dtype, rng):
    """gesvd, which serves the slices on which gesdd fails, meets the same conditions."""
    a = matrix(rng, (3,), *shape, dtype)
    u, s, vh, codes = kernel.svd(a, job, None, tie(dtype), None, skip_gesdd=True)
    assert codes is None
    assert distance(s, _values(a)) <= rounding(dtype, max(shape))
    if job != "N":
        assert_ratios(_residuals((a,), (u, s, vh)))
        assert_gauge(u)


def test_exact_zero_matrix(dtype):
    """The vectors of a zero matrix are still orthonormal."""
    u, s, vh = la.svd(np.zeros((2, 4, 3), dtype))
    assert not s.any()
    assert max(orthogonality_ratio(u), orthogonality_ratio(vh)) <= RESIDUAL


def test_subnormal_matrix():
    """Entries below the smallest normal number keep their leading digits."""
    a = np.diag([4.0, 2.0, 1.0]) * 2.0 ** -1060
    assert distance(la.svdvals(a), np.diag(a)) <= 2.0 ** -14


@pytest.mark.parametrize("full", [True, False])
def test_wide_is_tall_transposed(full, dtype, rng):
    """The singular values of A and of its transpose agree."""
    a = normal(rng, (3, 4, 9), dtype)
    assert distance(la.svd(a, full).S, la.svd(np.swapaxes(a, -1, -2), full).S) <= rounding(dtype, 9)


@pytest.mark.parametrize("shape", [(100000, 100000), (70000, 70000)], ids=str)
def test_workspace_too_long_for_lapack(shape):
    """More elements than LAPACK's integers count: refused before anything is allocated."""
    a = np.broadcast_to(np.float32(1), shape)
    with pytest.raises(ValueError, match=r"^svd: a matrix of shape .* more than LAPACK's"):
        la.svd(a)
