"""Compact svd and svdvals: every order, dtype and tier, against LAPACK and themselves on other packs."""
import mpmath
import numpy as np
import pytest
from _matrices import KINDS, H, matrix, normal, real, wide
from _measure import (
    assert_gauge,
    assert_ratios,
    assert_same_bits,
    distance,
    orthogonality_ratio,
    part,
    residual_ratio,
)
from _tols import RESIDUAL, eps, rounding
from compact._tiers import BATCHES, ORDERS, WIDTH, WITH_LAPACK

import linalgad as la

TALL = [(2, 1), (5, 3), (9, 8), (32, 4), (64, 8), (100, 3), (40, 33)]
SHAPES = [(n, n) for n in (1, 2, 3, 4, 5, 8, 13, 20, 32)] + [(7, 4), (4, 7), (20, 5), (5, 20)]


def _ratios(a, u, s, vh):
    k = s.shape[-1]
    return {"a": residual_ratio(a, u[..., :k] * s[..., None, :], vh[..., :k, :]), "u": orthogonality_ratio(u),
            "v": orthogonality_ratio(H(vh)), "descending": np.inf if (np.diff(s) > 0).any() or (s < 0).any() else 0.0}


def _special(m, n, dtype):
    """Matrices in which much is zero, equal or already diagonal."""
    i, j = np.arange(m), np.arange(n)
    eye, small = np.eye(m, n), eps(dtype) ** 2
    path = eye + np.eye(m, n, 1)
    hole = path * (j != n // 2)
    return np.array([0 * eye, eye, -eye, np.ones((m, n)), eye * j, path, hole, np.eye(m, n, 1), np.eye(m, n, -1),
                     np.outer(i == m - 1, np.ones(n)), np.outer(np.ones(m), j == 0), eye * small ** (j / n),
                     eye * small ** (1 - j / n), path * small ** (j / n), path * small ** (1 - j / n),
                     np.triu(np.ones((m, n)))]).astype(dtype)


@pytest.mark.parametrize("n", ORDERS)
def test_against_lapack(n, dtype, tier, rng):
    a = matrix(rng, (5,), n, n, dtype)
    u, s, vh = la.svd(a)
    assert_ratios(_ratios(a, u, s, vh))
    assert_gauge(u)
    assert distance(s, np.linalg.svd(a.astype(wide(dtype)), compute_uv=False)) <= rounding(dtype, n)
    assert_same_bits(la.svdvals(a), s)


@pytest.mark.parametrize("wide_too", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", TALL)
def test_rectangular(shape, full, wide_too, dtype, tier, rng):
    m, n = shape[::-1] if wide_too else shape
    k = min(m, n)
    a = normal(rng, (WIDTH + 1, m, n), dtype)
    u, s, vh = la.svd(a, full_matrices=full)
    assert u.shape[-1] == (m if full else k) and vh.shape[-2] == (n if full else k)
    assert_ratios(_ratios(a, u, s, vh))
    assert_gauge(u)
    assert_gauge(np.swapaxes(vh[..., k:, :], -1, -2))
    assert_same_bits(la.svdvals(a), s)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, shape, dtype, tier, rng):
    a = matrix(rng, (5,), *shape, dtype, kind)
    assert_ratios(_ratios(a, *la.svd(a)))


@pytest.mark.parametrize("shape", SHAPES)
def test_special(shape, dtype, tier):
    a = _special(*shape, dtype)
    assert_ratios(_ratios(a, *la.svd(a)))


@pytest.mark.parametrize("n", [2, 4, 7])
@pytest.mark.parametrize("power", ["tiny", "max"])
def test_ends_of_the_range(power, n, dtype, tier, rng):
    a = matrix(rng, (WIDTH,), n, n, dtype)
    scale = getattr(np.finfo(real(dtype)), power)
    # a power of two: the scaled matrix is the same matrix, in normal numbers up to its smaller entries
    scale = np.ldexp(real(dtype).type(1), int(np.log2(scale)) + (24 if power == "tiny" else -4))
    s = la.svdvals(a)
    u, s2, vh = la.svd(a * scale)
    assert distance(s2, s.astype(np.float64) * scale) <= rounding(dtype, n)
    assert max(orthogonality_ratio(u), orthogonality_ratio(H(vh))) <= RESIDUAL


@pytest.mark.parametrize("shape", [(3, 3), (6, 6), (9, 4), (4, 9)])
def test_layouts(shape, dtype, tier, rng):
    a = matrix(rng, (WIDTH + 1,), *shape, dtype)
    expected = la.svd(a)
    assert_same_bits(la.svd(np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)), expected)
    assert_same_bits(la.svd(np.repeat(np.repeat(a, 2, -1), 3, -2)[:, ::3, ::2]), expected)


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (4, 4), (5, 5), (12, 12), (9, 4), (4, 9)])
@pytest.mark.parametrize("batch", BATCHES)
def test_batch_sizes(batch, shape, dtype, tier, rng):
    a = matrix(rng, (batch,), *shape, dtype)
    outs = la.svd(a)
    for i in range(batch):
        assert_same_bits(la.svd(a[i]), part(outs, i), i)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 5), (16, 16), (9, 4), (4, 9)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", [0, 5, WIDTH])
def test_a_bad_matrix_stays_alone(where, bad, shape, dtype, tier, rng):
    a = matrix(rng, (2 * WIDTH,), *shape, dtype)
    outs = la.svd(a)
    a[where, -1, 0] = bad
    with pytest.raises(la.LinAlgError, match=str(where)):
        la.svd(a)
    others = np.arange(2 * WIDTH) != where
    found = la.svd(a, errors="nan")
    assert_same_bits(part(found, others), part(outs, others))
    assert all(np.isnan(x[where]).all() for x in found)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 24])
def test_tiers_agree(n, dtype, each_tier, rng):
    a = matrix(rng, (WIDTH,), n, n, dtype)
    gap = 2 * n      # of neighbours, relative to the norm
    first, *others = [la.svd(a) for _ in each_tier(WITH_LAPACK)]
    assert max(distance(x[1], first[1]) for x in others) <= rounding(dtype, n)
    assert max(distance(x[k], first[k]) for x in others for k in (0, 2)) <= rounding(dtype, n, gap)


def _graded(rng, kind, m, n, dtype):
    """Matrices of condition 4 whose columns, rows or both then span 12 decades, in no order."""
    b = matrix(rng, (2,), m, n, dtype)
    rows, columns = np.logspace(0, -12, m), np.logspace(0, -12, n)
    if kind == "both":
        rows, columns = np.sqrt(rows), np.sqrt(columns)
    rng.shuffle(rows)
    rng.shuffle(columns)
    if kind != "rows":
        b = b * columns
    return b if kind == "columns" else b * rows[:, None]


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (4, 4), (5, 5), (8, 8), (16, 16), (9, 4), (4, 9)])
@pytest.mark.parametrize("kind", ["columns", "rows", "both"])
@pytest.mark.parametrize("dtype", [np.dtype("f8"), np.dtype("c16")], ids=str)
def test_graded_matrices_keep_relative_accuracy(kind, shape, dtype, tier, rng):
    a = _graded(rng, kind, *shape, dtype)
    u, s, vh = la.svd(a, full_matrices=False)
    assert_ratios(_ratios(a, u, s, vh))
    assert_gauge(u)
    decompose = mpmath.svd_c if dtype.kind == "c" else mpmath.svd_r
    for x, got in zip(a, s, strict=True):
        with mpmath.workdps(50):
            true = np.sort([float(t) for t in decompose(mpmath.matrix(x.tolist()), compute_uv=False)])[::-1]
        assert (np.abs(got - true) <= rounding(dtype, max(shape), 4.0) * true).all()


@pytest.mark.parametrize("shape", [(3, 3), (6, 6), (16, 16), (9, 4), (4, 9)])
def test_a_graded_matrix_changes_no_other(shape, dtype, tier, rng):
    a = matrix(rng, (WIDTH,), *shape, dtype)
    outs = la.svd(a)
    others = np.arange(WIDTH) != 3
    a[3] *= np.logspace(0, -5, shape[0])[:, None]
    found = la.svd(a)
    assert_same_bits(part(found, others), part(outs, others))
    assert_same_bits(part(found, 3), la.svd(a[3]))
