"""Compact eigh and eigvalsh: every order, dtype and tier, against LAPACK and themselves on other packs."""
import numpy as np
import pytest
from _matrices import KINDS, H, hermitian, normal, real, wide
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


def _ratios(a, w, v):
    return {"a": residual_ratio(a, v * w[..., None, :], H(v)), "v": orthogonality_ratio(v),
            "ascending": np.inf if (np.diff(w) < 0).any() else 0.0}


def _special(n, dtype):
    """Matrices in which much is zero, equal or already diagonal."""
    i, eye = np.arange(n), np.eye(n)
    path = np.eye(n, k=1) + np.eye(n, k=-1)
    arrow = np.where((i == 0)[:, None] | (i == 0), 1.0, 2 * eye)
    swap = eye[::-1]
    return np.array([0 * eye, eye, -eye, np.ones((n, n)), np.diag(i - n / 2), path, eye + path, arrow, swap,
                     np.diag(eps(dtype) ** (2.0 * i / n)), eye * (i == n - 1)]).astype(dtype)


@pytest.mark.parametrize("n", ORDERS)
def test_against_lapack(n, dtype, tier, rng):
    a = hermitian(rng, (5,), n, dtype)
    w, v = la.eigh(a)
    assert_ratios(_ratios(a, w, v))
    assert_gauge(v)
    assert distance(w, np.linalg.eigvalsh(a.astype(wide(dtype)))) <= rounding(dtype, n)
    assert_same_bits(la.eigvalsh(a), w)


@pytest.mark.parametrize("n", ORDERS)
def test_random(n, dtype, tier, rng):
    a = normal(rng, (WIDTH + 1, n, n), dtype)
    a = a + H(a)
    assert_ratios(_ratios(a, *la.eigh(a)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 20, 32])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, n, dtype, tier, rng):
    a = hermitian(rng, (5,), n, dtype, kind)
    assert_ratios(_ratios(a, *la.eigh(a)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 17, 32])
def test_special(n, dtype, tier):
    a = _special(n, dtype)
    assert_ratios(_ratios(a, *la.eigh(a)))


@pytest.mark.parametrize("n", [2, 4, 7])
@pytest.mark.parametrize("power", ["tiny", "max"])
def test_ends_of_the_range(power, n, dtype, tier, rng):
    a = hermitian(rng, (WIDTH,), n, dtype)
    scale = getattr(np.finfo(real(dtype)), power)
    # a power of two: the scaled matrix is the same matrix, in normal numbers up to its smaller entries
    scale = np.ldexp(real(dtype).type(1), int(np.log2(scale)) + (24 if power == "tiny" else -4))
    w, _v = la.eigh(a)
    w2, v2 = la.eigh(a * scale)
    assert distance(w2, w.astype(np.float64) * scale) <= rounding(dtype, n)
    assert orthogonality_ratio(v2) <= RESIDUAL


@pytest.mark.parametrize("n", [3, 6])
def test_only_the_triangle_counts(n, dtype, tier, rng):
    a = hermitian(rng, (WIDTH + 1,), n, dtype)
    expected = la.eigh(a)
    lower, upper = a.copy(), a.copy()
    i = np.arange(n)
    lower[:, i[:, None] < i] = np.nan
    upper[:, i[:, None] > i] = np.nan
    assert_same_bits(la.eigh(lower), expected)
    assert_same_bits(la.eigh(upper, lower=False), expected)
    assert_same_bits(la.eigh(np.asfortranarray(a)), expected)
    assert_same_bits(la.eigh(a.swapaxes(-1, -2).conj()), expected)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 12])
@pytest.mark.parametrize("batch", BATCHES)
def test_batch_sizes(batch, n, dtype, tier, rng):
    a = hermitian(rng, (batch,), n, dtype)
    outs = la.eigh(a)
    for i in range(batch):
        assert_same_bits(la.eigh(a[i]), part(outs, i), i)


@pytest.mark.parametrize("n", [1, 3, 5, 16])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", [0, 5, WIDTH])
def test_a_bad_matrix_stays_alone(where, bad, n, dtype, tier, rng):
    a = hermitian(rng, (2 * WIDTH,), n, dtype)
    outs = la.eigh(a)
    a[where, -1, 0] = bad
    with pytest.raises(la.LinAlgError, match=str(where)):
        la.eigh(a)
    others = np.arange(2 * WIDTH) != where
    found = la.eigh(a, errors="nan")
    assert_same_bits(part(found, others), part(outs, others))
    assert all(np.isnan(x[where]).all() for x in found)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 24])
def test_tiers_agree(n, dtype, each_tier, rng):
    a = hermitian(rng, (WIDTH,), n, dtype)
    gap = n      # of neighbours, relative to the norm
    first, *others = [la.eigh(a) for _ in each_tier(WITH_LAPACK)]
    assert max(distance(x[0], first[0]) for x in others) <= rounding(dtype, n)
    assert max(distance(x[1], first[1]) for x in others) <= rounding(dtype, n, gap)
