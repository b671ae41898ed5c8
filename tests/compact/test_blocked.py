"""The kernels that treat one matrix at a time: Cholesky, LU and what follows from it."""
import numpy as np
import pytest
from _layouts import LAYOUTS
from _matrices import H, definite, matrix, normal
from _measure import as_tuple, assert_ratios, assert_same_bits, distance, part, residual_ratio, solution_ratio
from _tols import rounding
from compact._ops import OPS
from compact._tiers import BATCHES, TIERS, WIDTH, WITH_LAPACK, select

import linalgad as la
from linalgad._lib import _compact

# both sides of a block, of a register block and of a pack, and several blocks
ORDERS = [1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 20, 31, 32, 33, 47, 64, 65, 100]
SHAPES = [(33, 20), (20, 33), (50, 16), (16, 50), (5, 40), (40, 5), (17, 1), (1, 17), (70, 35)]
BLOCKED_OPS = [o for o in OPS if o.name in ("cholesky", "lu", "solve", "inv", "slogdet")]

op = pytest.mark.parametrize("op", BLOCKED_OPS, ids=str)


@op
@pytest.mark.parametrize("n", ORDERS)
def test_residuals(op, n, dtype, blocked_tier, rng):
    args = op.make(rng, (3,), n, dtype, "separated")
    assert_ratios(op.residuals(args, as_tuple(op.call(*args))))


@op
@pytest.mark.parametrize("kind", ["clustered", "degenerate", "graded", "huge", "tiny"])
def test_kinds(op, kind, dtype, blocked_tier, rng):
    args = op.make(rng, (3,), 21, dtype, kind)
    assert_ratios(op.residuals(args, as_tuple(op.call(*args))))


@pytest.mark.parametrize("shape", SHAPES)
def test_rectangular_factors(shape, dtype, blocked_tier, rng):
    a = normal(rng, (2, *shape), dtype)
    p, l, u = la.lu(a)
    assert_ratios({"a": residual_ratio(np.swapaxes(p, -1, -2).astype(dtype) @ a, l, u)})
    assert not np.triu(l, 1).any()
    assert not np.tril(u, -1).any()
    assert (np.diagonal(l, axis1=-2, axis2=-1) == 1).all()
    rows, left, right = la.lu(a, p_indices=True)
    assert_same_bits((left, right), (l, u))
    assert_same_bits(la.lu(a, permute_l=True), (np.take_along_axis(l, rows[..., None], -2), u))
    packed, _ = la.lu_factor(a)
    k = min(shape)
    assert_same_bits(np.tril(packed, -1)[..., :k] + np.eye(shape[0], k, dtype=dtype), l)
    assert_same_bits(np.triu(packed)[..., :k, :], u)


@pytest.mark.parametrize("shape", [(17, 17), (40, 40), (33, 20), (20, 33)])
def test_pivots_are_those_of_lapack(shape, dtype, blocked_tier, rng):
    a = np.stack([normal(rng, shape, dtype), np.eye(*shape, dtype=dtype)[::-1]])
    found = la.lu_factor(a)
    _compact.use("off")
    expected = la.lu_factor(a)
    assert np.array_equal(found.piv, expected.piv)
    assert distance(found.lu, expected.lu) <= rounding(dtype, max(shape), 16)


def test_of_equal_pivots_the_first_wins(dtype, blocked_tier):
    a = np.zeros((20, 20), dtype)
    a[:, 0] = [1, -1] * 10
    a[:, 1:] = np.eye(20, 19)
    assert la.lu_factor(a).piv[0] == 0
    a[:7, 0] = 0
    assert la.lu_factor(a).piv[0] == 7


def test_nan_is_the_largest_pivot(dtype, blocked_tier, rng):
    a = normal(rng, (20, 20), dtype)
    a[12, 0] = np.nan
    assert la.lu_factor(a).piv[0] == 12


@pytest.mark.parametrize("n", [3, 16, 21, 40])
@pytest.mark.parametrize("nrhs", [1, 2, 4, 5, 9, 33])
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_lu_solve(n, nrhs, trans, dtype, blocked_tier, rng):
    a, b = matrix(rng, (2,), n, n, dtype), normal(rng, (2, n, nrhs), dtype)
    transposed = (a, np.swapaxes(a, -1, -2), H(a))[trans]
    x = la.lu_solve(la.lu_factor(a), b, trans=trans)
    assert_ratios({"x": solution_ratio(transposed, x, b)})


@pytest.mark.parametrize("n", [1, 7, 16, 33, 50])
@pytest.mark.parametrize("nrhs", [1, 3, 8, 20])
def test_solve_is_lu_solve(n, nrhs, dtype, blocked_tier, rng):
    a, b = matrix(rng, (3,), n, n, dtype), normal(rng, (3, n, nrhs), dtype)
    assert_same_bits(la.lu_solve(la.lu_factor(np.swapaxes(a, -1, -2)), b, trans=1), la.solve(a, b))


@op
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(op, layout, dtype, blocked_tier, rng):
    args = op.make(rng, (2, 2), 21, dtype, "separated")
    assert_same_bits(op.call(*(LAYOUTS[layout](x) for x in args)), op.call(*args))


@op
def test_out_in_fortran_order(op, dtype, blocked_tier, rng):
    args = op.make(rng, (2,), 21, dtype, "separated")
    found = op.call(*args)
    outs = [np.swapaxes(np.zeros_like(np.swapaxes(x, -1, -2), order="C"), -1, -2) if x.ndim == 3 else np.zeros_like(x)
            for x in as_tuple(found)]
    op.call(*args, out=outs[0] if len(outs) == 1 else tuple(outs))
    assert_same_bits(tuple(outs), tuple(as_tuple(found)))


@op
def test_batch_and_lanes_do_not_show(op, dtype, blocked_tier, rng):
    args = op.make(rng, (5,), 19, dtype, "separated")
    found = op.call(*args, lanes=1)
    assert_same_bits(op.call(*args, lanes=2), found)
    for i in range(5):
        assert_same_bits(op.call(*(a[i] for a in args)), part(found, i), i)


@op
def test_tiers_agree(op, dtype, rng):
    args = op.make(rng, (3,), 40, dtype, "separated")
    before, results = _compact.use(), []
    try:
        for name in WITH_LAPACK:
            select(name, packs=False, blocked=True)
            results.append(as_tuple(op.call(*args)))
    finally:
        _compact.use(before)
    assert len(results) == len(TIERS) + 1
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert distance(x, y) <= rounding(dtype, 40, 16)


@op
@pytest.mark.parametrize("where", [0, 2])
def test_nan_stays_in_its_matrix(op, where, dtype, blocked_tier, rng):
    args = op.make(rng, (3,), 20, dtype, "separated")
    outs = as_tuple(op.call(*args))
    args[0][where, -1, 0] = np.nan
    others = np.arange(3) != where
    found = as_tuple(op.call(*args))
    assert_same_bits(part(found, others), part(outs, others))
    assert any(np.isnan(x[where]).any() for x in found)


@pytest.mark.parametrize("op", [o for o in BLOCKED_OPS if o.fails], ids=str)
@pytest.mark.parametrize("rank", [0, 17])
def test_singular(op, rank, dtype, blocked_tier, rng):
    args = op.make(rng, (3,), 20, dtype, "separated")
    good = as_tuple(op.call(*args))
    args[0][1, rank:] = 0
    with pytest.raises(la.LinAlgError, match="1"):
        op.call(*args)
    found = op.call(*args, errors="nan")
    assert_same_bits(part(found, [0, 2]), part(good, [0, 2]))
    assert np.isnan(as_tuple(found)[0][1]).all()


def test_zero_pivots_are_reported_and_passed(dtype, blocked_tier, rng):
    a = normal(rng, (2, 20, 20), dtype)
    a[1, :, 5] = 0
    assert la.lu_factor_ex(a).info.tolist() == [0, 6]
    p, l, u = la.lu(a)
    assert u[1, 5, 5] == 0
    assert_ratios({"a": residual_ratio(a, p.astype(dtype), l, u)})
    assert la.det(a)[1] == 0
    assert la.slogdet(a).sign[1] == 0


@pytest.mark.parametrize("power", [0, 1, -1])
def test_determinants_leave_the_range_only_if_they_must(power, dtype, blocked_tier):
    big = 2.0 ** (np.finfo(dtype).maxexp // 2 + 10)
    a = np.diag([big, 1 / big] * 10).astype(dtype) * dtype.type(2.0 ** power)
    assert la.det(a) == dtype.type(2.0 ** (20 * power))
    sign, logabs = la.slogdet(a)
    assert sign == 1
    assert np.abs(logabs - 20 * power * np.log(2)) <= rounding(dtype, 20)


@pytest.mark.parametrize("n", [1, 5, 16, 21, 40])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle(n, upper, dtype, blocked_tier, rng):
    a = definite(rng, (2,), n, dtype)
    c = la.cholesky(a, upper=upper)
    assert_ratios({"a": residual_ratio(a, H(c), c) if upper else residual_ratio(a, c, H(c))})
    other = np.tri(n, n, -1, dtype=bool)
    blank = np.where(other if upper else other.T, np.array(np.nan, dtype), a)
    if blank.dtype.kind == "c":
        blank.imag[:, np.arange(n), np.arange(n)] = np.nan
    assert_same_bits(la.cholesky(blank, upper=upper), c)


@pytest.mark.parametrize("n", [3, 16, 17, 40])
def test_first_pivot_that_is_not_positive(n, dtype, blocked_tier, rng):
    a = definite(rng, (3,), n, dtype)
    a[1, n - 1, n - 1] = -1
    a[2, n // 2, n // 2] = 0
    assert la.cholesky_ex(a).info.tolist() == [0, n, n // 2 + 1]


def test_rows_of_extreme_scale(dtype, blocked_tier, rng):
    """Multipliers that vanish although their products count: such a matrix must reach the lane that scales."""
    a = normal(rng, (2, 20, 20), dtype)
    e = np.where(np.arange(20) % 2, 1, -1) * int(0.6 * np.finfo(dtype).maxexp)
    scaled = a * np.ldexp(a.real.dtype.type(1), e)[:, None]
    assert distance(la.det(scaled), la.det(a)) <= rounding(dtype, 20, 100)
    for found, true in zip(la.slogdet(scaled), la.slogdet(a), strict=True):
        assert distance(found, true) <= rounding(dtype, 20, 100)


def test_bad_pivots_are_reported(blocked_tier):
    lu, piv = np.eye(20)[None].repeat(3, 0), np.tile(np.arange(20, dtype=np.int32), (3, 1))
    piv[1, 4] = 3
    with pytest.raises(ValueError, match="piv"):
        la.lu_solve((lu, piv), np.ones((3, 20, 1)))


def _everything(a, b, trans):
    """What follows from LU and Cholesky for the matrices `a`, square or not, by name."""
    f = la.lu_factor_ex(a)
    outs = {"lu": f, "plu": la.lu(a), "permuted": la.lu(a, permute_l=True), "rows": la.lu(a, p_indices=True)}
    if a.shape[-1] == a.shape[-2]:
        outs |= {"solve": la.solve_ex(a, b), "inv": la.inv_ex(a), "det": la.det(a), "slogdet": la.slogdet(a)}
        outs |= {"lu_solve": la.lu_solve((f.lu, f.piv), b, trans=trans, errors="nan")}
        outs |= {upper: la.cholesky_ex(a, upper=upper) for upper in (False, True)}
    return outs


def _with_one_nan(outs):
    """The same arrays with the same NaN everywhere: its sign is the processor's business."""
    numbers = [np.ascontiguousarray(x).view(x.real.dtype) for x in as_tuple(outs)]
    return tuple(np.where(np.isnan(x), np.abs(x), x) for x in numbers)


def _stacks(rng, shape, dtype):
    """Regular and definite matrices, ties, zero columns, what is not finite, ends of the range, rows of any size."""
    a = normal(rng, (WIDTH, *shape), dtype)
    info = np.finfo(dtype)
    singular, spoilt, imaginary = a.copy(), a.copy(), a.copy()
    singular[::2, :, shape[1] // 2] = 0
    imaginary[::2, :, 0] = 0
    imaginary[0, 0, 0] = imaginary[1, 0, -1] = complex(0, np.nan) if dtype.kind == "c" else np.nan
    spoilt[0, shape[0] // 2, shape[1] // 3] = np.nan
    spoilt[1, 0, 0], spoilt[2, -1, -1], spoilt[3, -1, 0] = np.inf, -np.inf, np.inf
    powers = rng.integers(info.minexp // 2, info.maxexp // 2, (WIDTH, shape[0], 1))
    yield from (a, rng.integers(-1, 2, a.shape).astype(dtype), singular, spoilt, imaginary)
    yield from (a * info.tiny * 4, a * (info.max / 1000), a * np.ldexp(a.real.dtype.type(1), powers))
    if shape[0] == shape[1]:
        yield definite(rng, (WIDTH,), shape[0], dtype)
        zeros = definite(rng, (WIDTH,), shape[0], dtype).real.astype(dtype)
        zeros[:, 5:, :5] = zeros[:, :5, 5:] = 0
        yield zeros
        yield -np.eye(shape[0], dtype=dtype)[[rng.permutation(shape[0]) for _ in range(WIDTH)]]
        yield np.tril(a)
        yield -np.triu(np.abs(a)).astype(dtype)


@pytest.mark.parametrize("shape", [*((n, n) for n in (16, 17, 24, 33, 40, 64)), (40, 30), (20, 64), (70, 20)], ids=str)
@pytest.mark.parametrize("tier", TIERS)
def test_kernels_for_packs_have_the_same_bits(tier, shape, dtype, rng):
    """This lets the kernels for one matrix take the end of a stack."""
    before = _compact.use()
    try:
        with np.errstate(all="ignore"):
            for a in _stacks(rng, shape, dtype):
                for columns, trans in ((1, 0), (3, 1), (9, 2)):
                    b = normal(rng, (WIDTH, shape[0], columns), dtype)
                    select(tier)
                    expected = _everything(a, b, trans)
                    select(tier, packs=False, blocked=True)
                    for key, found in _everything(a, b, trans).items():
                        assert_same_bits(_with_one_nan(found), _with_one_nan(expected[key]), key)
    finally:
        _compact.use(before)


@op
@pytest.mark.parametrize("batch", BATCHES[1:])
@pytest.mark.parametrize("n", [15, 16, 24, 33])
def test_stacks_of_packs_and_single_matrices(op, batch, n, dtype, rng):
    """Kernels of both kinds serve: the results and the failures are those of each matrix alone, whatever the layout."""
    before = _compact.use()
    try:
        for tier in TIERS:
            select(tier, blocked=True)
            args = op.make(rng, (batch,), n, dtype, "separated")
            found = op.call(*args)
            for i in range(batch):
                assert_same_bits(op.call(*(x[i] for x in args)), part(found, i), i)
            # two batch axes that no single stride joins
            assert_same_bits(op.call(*(np.stack([x, x, x], 1)[:, ::2] for x in args)),
                             tuple(np.stack([x, x], 1) for x in as_tuple(found)))
            for failing in ([0], [batch - 1], [0, batch - 1]) if op.fails else ():
                broken = args[0].copy()
                broken[failing] = 0
                with pytest.raises(la.LinAlgError) as caught:
                    op.call(broken, *args[1:])
                assert sorted(set(caught.value.indices)) == sorted({(i,) for i in failing})
                others = np.delete(np.arange(batch), failing)
                assert_same_bits(part(op.call(broken, *args[1:], errors="nan"), others), part(found, others))
    finally:
        _compact.use(before)
