"""The compact kernels against LAPACK-style ratios, each other, and themselves on other packs."""
from itertools import product

import mpmath
import numpy as np
import pytest
from _matrices import matrix, normal
from _measure import (
    as_tuple,
    assert_ratios,
    assert_same_bits,
    distance,
    orthogonality_ratio,
    part,
    residual_ratio,
)
from _tols import rounding
from compact._ops import OPS
from compact._tiers import BATCHES, ORDERS, WIDTH, WITH_LAPACK

import linalgad as la

KINDS = ("clustered", "degenerate", "graded", "huge", "tiny")

op = pytest.mark.parametrize("op", OPS, ids=str)
singular = pytest.mark.parametrize("op", [o for o in OPS if not o.fails and o.name != "slogdet"], ids=str)


@op
@pytest.mark.parametrize("n", ORDERS)
def test_residuals(op, n, dtype, tier, rng):
    args = op.make(rng, (5,), n, dtype, "separated")
    assert_ratios(op.residuals(args, as_tuple(op.call(*args))))


@op
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(op, kind, dtype, tier, rng):
    args = op.make(rng, (5,), 7, dtype, kind)
    assert_ratios(op.residuals(args, as_tuple(op.call(*args))))


@singular
@pytest.mark.parametrize("kind", ["deficient", "zero", "identity"])
def test_singular(op, kind, dtype, tier, rng):
    (a,) = op.make(rng, (5,), 7, dtype, "deficient")
    if kind != "deficient":
        a[...] = np.eye(*a.shape[-2:]) if kind == "identity" else 0
    assert_ratios(op.residuals((a,), as_tuple(op.call(a))))


@op
@pytest.mark.parametrize("batch", BATCHES)
def test_batch_sizes(op, batch, dtype, tier, rng):
    args = op.make(rng, (batch,), 6, dtype, "separated")
    outs = op.call(*args)
    for i in range(batch):
        assert_same_bits(op.call(*(a[i] for a in args)), part(outs, i), i)


@op
@pytest.mark.parametrize("where", [0, 5, WIDTH])
def test_nan_stays_in_its_matrix(op, where, dtype, tier, rng):
    args = op.make(rng, (2 * WIDTH,), 6, dtype, "separated")
    outs = as_tuple(op.call(*args))
    args[0][where, -1, 0] = np.nan
    others = np.arange(2 * WIDTH) != where
    found = as_tuple(op.call(*args))
    assert_same_bits(part(found, others), part(outs, others))
    assert any(np.isnan(x[where]).any() for x in found)


@pytest.mark.parametrize("op", [o for o in OPS if o.fails], ids=str)
@pytest.mark.parametrize("where", [0, 3, WIDTH - 1])
def test_a_failing_matrix_goes_to_lapack(op, where, dtype, tier, rng):
    args = op.make(rng, (WIDTH,), 5, dtype, "separated")
    good = as_tuple(op.call(*args))
    args[0][where] = 0
    with pytest.raises(la.LinAlgError, match=str(where)):
        op.call(*args)
    others = np.arange(WIDTH) != where
    assert_same_bits(part(op.call(*args, errors="nan"), others), part(good, others))


@pytest.mark.parametrize("op", [o for o in OPS if o.fails and o.name != "solve_triangular"], ids=str)
def test_a_failing_matrix_goes_to_lapack_from_its_own_place(op, dtype, tier, rng):
    args = op.make(rng, (WIDTH,), 5, dtype, "separated")
    args[0][3] = 0
    apart = op.call(*args, errors="nan")
    target = args[-1]
    assert_same_bits(op.call(*args, errors="nan", out=target), apart)


@pytest.mark.parametrize("n", [2, 6])
def test_failures_in_a_long_stack(n, tier, rng):
    """A lane keeps the codes of the steps in which none failed to itself."""
    a = normal(rng, (20000, n, n), np.dtype("float64"))
    singular = [5, 9000, 19999]
    good = la.inv(np.delete(a, singular, axis=0))
    a[singular] = 0
    with pytest.raises(la.LinAlgError, match="3 of 20000 matrices failed, at index 5, 9000, 19999:"):
        la.inv(a)
    assert_same_bits(np.delete(la.inv(a, errors="nan"), singular, axis=0), good)


@op
@pytest.mark.parametrize("n", [3, 8, 17])
def test_tiers_agree(op, n, dtype, each_tier, rng):
    args = op.make(rng, (WIDTH,), n, dtype, "separated")
    first, *others = [as_tuple(op.call(*args)) for _ in each_tier(WITH_LAPACK)]
    assert max(distance(x, y) for outs in others for x, y in zip(first, outs, strict=True)) <= rounding(dtype, n, 16)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 16])
def test_pivots_are_those_of_lapack(n, dtype, each_tier, rng):
    a = np.concatenate([matrix(rng, (WIDTH,), n, n, dtype), rng.integers(-1, 2, (WIDTH, n, n)).astype(dtype)[:1]])
    a[-1] = np.eye(n)[::-1]
    pivots = [la.lu_factor(a).piv for _ in each_tier(WITH_LAPACK)]
    assert all(np.array_equal(p, pivots[-1]) for p in pivots)


def test_of_equal_pivots_the_first_wins(dtype, each_tier):
    a = np.array([[[1, 2, 0], [1, 0, 1], [-1, 1, 1]], [[0, 1, 1], [1, 1, 0], [1, 0, 1]]], dtype)
    results = [la.lu_factor(a) for _ in each_tier(WITH_LAPACK)]
    for found in results:
        assert_same_bits(found, results[-1])


@pytest.mark.parametrize("n", [1, 4, 7, 16, 33])
@pytest.mark.parametrize("nrhs", [1, 2, 7])
def test_solve_is_lu_solve(n, nrhs, dtype, tier, rng):
    a, b = matrix(rng, (9,), n, n, dtype), normal(rng, (9, n, nrhs), dtype)
    assert_same_bits(la.lu_solve(la.lu_factor(np.swapaxes(a, -1, -2)), b, trans=1), la.solve(a, b))


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (9, 5), (5, 9), (1, 6), (6, 1), (17, 8)])
def test_reflectors_are_those_of_lapack(shape, dtype, each_tier, rng):
    a = normal(rng, (WIDTH, *shape), dtype)
    a[1, :, 0] = 0
    a[2, 1:] = 0
    a[3] = np.eye(*shape)
    found = [la.qr(a, mode="raw") for _ in each_tier(WITH_LAPACK)]
    for h, tau in found[:-1]:
        assert distance(h, found[-1][0]) <= rounding(dtype, max(shape), 16)
        assert np.abs(tau - found[-1][1]).max() <= rounding(dtype, max(shape), 16)
        assert (tau[3] == 0).all()


@pytest.mark.parametrize("gap", [0, 1, -1], ids=["equal", "spread", "small"])
def test_determinants_leave_the_range_only_if_they_must(gap, dtype, tier):
    big = 2.0 ** (np.finfo(dtype).maxexp // 2 + 10)
    a = np.stack([np.diag([big, 1 / big, big, 1 / big]), np.diag([1 / big, big, 1 / big, big])]).astype(dtype)
    a = a * dtype.type(2.0 ** gap)
    assert_same_bits(la.det(a), np.full(2, 16.0 ** gap, dtype))
    sign, logabs = la.slogdet(a)
    assert (sign == 1).all()
    assert np.abs(logabs - gap * np.log(16)).max() <= rounding(dtype, 4)


@pytest.mark.parametrize("n", [2, 3])
def test_determinants_of_many_packs(n, dtype, tier, rng):
    """Several packs are looked at together; a matrix that needs more care has the result it has alone."""
    info = np.finfo(dtype)
    e, half = info.maxexp, info.nmant // 2
    loses_a_minor = np.diag([2.0 ** int(0.68 * e), 3 * 2.0 ** (-e // 2), (1 + 2.0 ** -half) * 2.0 ** (-e // 2 - half)])
    odd = [np.zeros((n, n)), np.diag([np.nan, *[1] * (n - 1)]),
           *(np.full((n, n), x) for x in (1, 2.0 ** int(0.6 * e), np.inf)),
           *(2.0 ** int(x * e) * rng.standard_normal((n, n)) for x in (0.9, 0.35, 0.2, -0.2, -0.35, -0.9)),
           loses_a_minor[:n, :n]]
    for _ in range(8):  # a large first row, and a determinant near the square root of the smallest number
        rows = np.array([2.0 ** int(0.24 * e), *[2.0 ** int(-0.72 * e / (n - 1))] * (n - 1)])
        odd.append(rows[:, np.newaxis] * (np.eye(n) + 0.3 * rng.standard_normal((n, n))))
    ordinary = normal(rng, (8 * WIDTH + 3, n, n), dtype) + dtype.type(4) * np.eye(n, dtype=dtype)
    alone = [la.det(a) for a in ordinary], [la.slogdet(a) for a in ordinary]
    for place, x in product((0, 3 * WIDTH, len(ordinary) - 1), odd):
        a = ordinary.copy()
        a[place] = x
        for f, results in zip((la.det, la.slogdet), alone, strict=True):
            outs = f(a)
            for i, result in enumerate(results):
                assert_same_bits(f(a[i]) if i == place else result, part(outs, i), i)
    if n == 3:
        a[1] = loses_a_minor
        assert la.det(a)[1] == 3 * (1 + 2.0 ** -half) * 2.0 ** (int(0.68 * e) - e // 2 * 2 - half)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 9])
def test_logarithms(n, dtype, tier, rng):
    """Of determinants that are exact, near one too, where the logarithm vanishes."""
    info = np.finfo(dtype)
    k = np.arange(2, info.nmant)
    d = np.concatenate([(1 + rng.random(99)) * 2.0 ** rng.integers(info.minexp + 2, info.maxexp - 2, 99),
                        1 + 2.0 ** -k, 1 - 2.0 ** -k, [1, 2, 0.5]]).astype(info.dtype)
    a = np.tile(np.eye(n, dtype=dtype), (len(d), 1, 1))
    a[:, 0, 0] = d
    true = np.array([float(mpmath.log(float(x))) for x in d])
    assert (np.abs(la.slogdet(a).logabsdet - true) <= 1.5 * info.eps * np.abs(true)).all()


@pytest.mark.parametrize("n", ORDERS)
def test_first_of_equal_pivots(n, dtype, each_tier, rng):
    """As LAPACK takes it: of +-1 the first four steps are exact, and nearly all pivots have equals."""
    a = rng.choice([-1, 1], (WIDTH + 3, n, n)).astype(dtype)
    *found, of_lapack = [la.lu_factor(a)[1][:, :4] for _ in each_tier(WITH_LAPACK)]
    for piv in found:
        assert (piv == of_lapack).all()


def test_bad_pivots_are_reported(tier):
    lu, piv = np.eye(3)[None].repeat(WIDTH, 0), np.tile(np.arange(3, dtype=np.int32), (WIDTH, 1))
    piv[5, 1] = 7
    with pytest.raises(ValueError, match="piv"):
        la.lu_solve((lu, piv), np.ones((WIDTH, 3, 1)))


@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (30, 20), (40, 33)])
def test_qr_of_ones(shape, dtype, tier):
    """Elimination leaves columns of subnormal rounding below the first; their reflectors must not overflow."""
    a = np.ones((WIDTH + 1, *shape), dtype)
    q, r = la.qr(a)
    assert_ratios({"a": residual_ratio(a, q, r), "q": orthogonality_ratio(q)})
