"""Orders 2 to 4, whose kernels keep whole packs in registers: values, in 60 digits, that do not depend on the pack."""
import itertools

import mpmath
import numpy as np
import pytest
from _matrices import H, definite, normal, triangular, wide
from _measure import as_tuple, assert_ratios, assert_same_bits, distance, part, solution_ratio
from _tols import eps, rounding
from compact._tiers import BATCHES, WIDTH

import linalgad as la
from linalgad._lib import _compact

DETERMINANTS = [la.det, la.slogdet]
determinant = pytest.mark.parametrize("f", DETERMINANTS, ids=["det", "slogdet"])
both = pytest.mark.parametrize("upper", [False, True])


def _sized(rng, count, n, dtype, kind):
    """Matrices of order n: regular, with rows that nearly agree, or with rows and columns of very different sizes."""
    a = normal(rng, (count, n, n), wide(dtype))
    if kind == "parallel":
        rows, columns = normal(rng, (2, count, n), wide(dtype))
        a = rows[:, :, None] * columns[:, None, :] * (1 + 8 * eps(dtype) * a)
    if kind == "near":  # determinants between a 4th and a 400th of the permanent
        rows, columns = normal(rng, (2, count, n), wide(dtype))
        a = rows[:, :, None] * columns[:, None, :] + 2.0 ** -rng.uniform(0, 4, (count, 1, 1)) * a
    if kind == "graded":
        span = 25 if eps(dtype) < 1e-10 else 6
        a = a * 2.0 ** rng.integers(-span, span, (count, n, 1)) * 2.0 ** rng.integers(-span, span, (count, 1, n))
    return a.astype(dtype)


def _cofactors(a):
    """The exact determinant and the moduli of the cofactors."""
    n = a.shape[0]
    x = mpmath.matrix(a.astype(wide(a.dtype)).tolist())
    minors = np.empty((n, n))
    for i, j in np.ndindex(n, n):
        rows, columns = [r for r in range(n) if r != i], [c for c in range(n) if c != j]
        minor = mpmath.matrix([[x[r, c] for c in columns] for r in rows])
        minors[i, j] = float(abs(mpmath.det(minor) if n > 2 else minor[0]))
    return sum((-1) ** j * x[0, j] * mpmath.det(mpmath.matrix([[x[r, c] for c in range(n) if c != j]
                                                               for r in range(1, n)])) for j in range(n)), minors


@pytest.mark.parametrize("kind", ["regular", "parallel", "near", "graded"])
@pytest.mark.parametrize("n", [2, 3])
def test_determinants_in_sixty_digits(n, kind, dtype, tier, rng):
    """The error is that of a change of each number by roundings of the largest of its column, as for pivoted LU."""
    a = _sized(rng, 2 * WIDTH, n, dtype, kind)
    got = la.det(a)
    for x, d in zip(a, got, strict=True):
        with mpmath.workdps(60):
            true, minors = _cofactors(x)
            error = float(abs(mpmath.mpmathify(complex(d)) - true))
        largest = np.abs(x).max(0)
        change = (largest * minors).sum() + eps(dtype) * largest.astype(float).prod()
        assert error <= 4 * n * eps(dtype) * change


@pytest.mark.parametrize("kind", ["regular", "parallel", "graded"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_real_determinants_of_order_two(name, kind, tier, rng):
    """Where multiplication and addition fuse, differences of products are right to two roundings, else the products."""
    a = _sized(rng, 8 * WIDTH, 2, np.dtype(name), kind)
    with mpmath.workdps(60):
        true, products = np.array([
            (float(mpmath.mpf(p) * s - mpmath.mpf(q) * r), float(abs(mpmath.mpf(p) * s) + abs(mpmath.mpf(q) * r)))
            for (p, q), (r, s) in a.astype(float).tolist()]).T
    assert (np.abs(la.det(a) - true) <= 2 * eps(name) * (products if tier == "baseline" else np.abs(true))).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 10, 15, 17])
def test_inverses_do_not_depend_on_the_others(n, dtype, tier, rng):
    """Nor do the signs of their zeros, nor what becomes of infinite pivots."""
    a = normal(rng, (2 * WIDTH + 3, n, n), dtype)
    a[1::4] = -np.eye(n, dtype=dtype)[rng.permutation(n)]
    a[2::4] = np.tril(a[2::4])
    a[3::8, -1, -1] = np.inf
    a[7::8] = np.diag(np.r_[[-1.0] * (n - 1), np.inf])
    x = la.inv(a)
    finite = np.isfinite(a).all((-2, -1))
    assert np.isfinite(x[finite]).all()
    assert np.isnan(x[~finite]).all()
    assert not np.signbit(x.view(x.real.dtype)[finite][x.view(x.real.dtype)[finite] == 0]).any()
    for i in np.flatnonzero(finite):
        assert_same_bits(la.inv(a[i]), x[i], i)
    assert np.isnan(la.inv(a[3])).all()


@both
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 15, 17])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0], ids=str)
def test_inverses_of_factors_do_not_depend_on_the_others(value, n, upper, dtype, tier, rng):
    """Wherever a factor has a number that is not finite, its inverse is NaN; a negative one is like any other."""
    c = triangular(rng, (2 * WIDTH + 3,), n, dtype)
    for k in range(0, len(c), 2):
        i, j = sorted(rng.integers(n, size=2))
        c[k][(i, j) if upper else (j, i)] = value
    x = la.cholesky_inverse(c, upper=upper)
    if np.isfinite(value):
        assert np.isfinite(x).all()
    else:
        assert np.isnan(x[::2]).all()
        assert np.isfinite(x[1::2]).all()
    for i in range(len(c)):
        if np.isfinite(x[i]).all():
            assert_same_bits(la.cholesky_inverse(c[i], upper=upper), x[i], i)
        else:
            assert np.isnan(la.cholesky_inverse(c[i], upper=upper)).all()


@determinant
@pytest.mark.parametrize("n", [2, 3])
def test_determinants_do_not_depend_on_the_others(f, n, dtype, tier, rng):
    """Packs in which some need elimination, or LAPACK."""
    a = normal(rng, (6 * WIDTH, n, n), dtype)
    special = [0, 1e-30, np.inf, np.nan, np.finfo(dtype).tiny, np.finfo(dtype).max]
    for k, (value, i, j) in enumerate(itertools.product(special, range(n), range(n))):
        a[(3 * k) % len(a), i, j] = value
    a[5], a[WIDTH] = 1, 0
    outs = f(a)
    for i in range(len(a)):
        assert_same_bits(f(a[i]), part(outs, i), i)


@determinant
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("batch", [*BATCHES, 5 * WIDTH])
def test_determinants_of_any_batch_and_layout(f, batch, n, dtype, tier, rng):
    a = normal(rng, (batch, n, n), dtype)
    expected = f(a)
    assert_same_bits(f(np.swapaxes(np.ascontiguousarray(np.swapaxes(a, 1, 2)), 1, 2)), expected)
    assert_same_bits(f(np.ascontiguousarray(a[::-1])[::-1]), expected)
    assert_same_bits(f(np.repeat(np.repeat(a, 2, -1), 3, -2)[:, ::3, ::2]), expected)
    out = tuple(np.repeat(x, 2)[::2] for x in as_tuple(expected))
    f(a, out=out if f is la.slogdet else out[0])
    assert_same_bits(out, expected)
    for i in range(batch):
        assert_same_bits(f(a[i]), part(expected, i), i)


@determinant
@pytest.mark.parametrize("n", [2, 3])
def test_determinants_far_from_one(f, n, dtype, tier, rng):
    """What the closed forms leave to LAPACK has LAPACK's values."""
    a = normal(rng, (2 * WIDTH, n, n), dtype)
    a[::3] *= dtype.type(np.ldexp(1.0, np.finfo(dtype).maxexp // 2 + 4))
    a[1::3] *= dtype.type(np.ldexp(1.0, np.finfo(dtype).minexp // 2 - 4))
    found = as_tuple(f(a))
    _compact.use("off")
    for x, y in zip(found, as_tuple(f(a)), strict=True):
        finite = np.isfinite(y)
        assert_same_bits(np.isfinite(x), finite)
        x, y = x[finite].astype(wide(dtype)), y[finite]
        least = np.finfo(dtype).smallest_subnormal
        assert (np.abs(x - y) <= rounding(dtype, n, 64.0) * np.abs(y) + least).all()


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [2, 3])
def test_determinants_of_complex_matrices_without_imaginary_parts(n, name, tier, rng):
    """Their imaginary part is zero, and positive."""
    a = np.stack([np.diag(rng.choice([-2.0, 2.0], n))[list(order)] for order in itertools.permutations(range(n))
                  for _ in range(WIDTH)])
    got, (sign, _) = la.det(a.astype(name)), la.slogdet(a.astype(name))
    assert_same_bits(got, la.det(a).astype(name))
    assert_same_bits(sign, np.sign(got.real).astype(name))


def test_determinants_keep_small_imaginary_parts(tier):
    """Also beside a matrix that sends the pack to another kernel."""
    a = np.diag([2.0**200 + 2.0**-1070 * 1j, 2.0**200, 2.0**200, 2.0**199])
    others = la.det(np.stack([a, np.zeros_like(a)] * WIDTH))
    assert_same_bits(others[::2], np.full(WIDTH, 2.0**799 + 2.0**-471 * 1j))
    assert_same_bits(la.det(np.stack([a] * WIDTH)), others[::2])


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_quotients_at_the_ends_of_the_range(name, tier):
    """A pivot without a reciprocal divides all the same."""
    info = np.finfo(name)
    for size in (0.7 * info.max, 0.7j * info.max, info.smallest_subnormal, 1j * info.smallest_subnormal):
        x = np.full((WIDTH + 1, 1, 1), size, name)
        assert (la.solve(x, x) == 1).all()
        a = np.tile(np.eye(3, dtype=name), (WIDTH + 1, 1, 1))
        a[:, :2, 0] = size
        assert (la.lu(a)[1][:, 1, 0] == 1).all()


def _product(c, upper):
    c = c.astype(wide(c.dtype))
    return H(np.triu(c)) @ np.triu(c) if upper else np.tril(c) @ H(np.tril(c))


@both
@pytest.mark.parametrize("nrhs", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 17])
def test_cholesky_solve_of_any_batch_and_layout(n, nrhs, upper, dtype, tier, rng):
    c, b = triangular(rng, (2 * WIDTH + 3,), n, dtype), normal(rng, (2 * WIDTH + 3, n, nrhs), dtype)
    x = la.cholesky_solve(c, b, upper=upper)
    inverse = la.cholesky_inverse(c, upper=upper)
    assert_ratios({"x": solution_ratio(_product(c, upper), x, b)})
    assert (inverse == H(inverse)).all()
    for i in range(len(c)):
        assert_same_bits(la.cholesky_solve(c[i], b[i], upper=upper), x[i], i)
        assert_same_bits(la.cholesky_inverse(c[i], upper=upper), inverse[i], i)
    by_columns = np.swapaxes(np.ascontiguousarray(np.swapaxes(c, 1, 2)), 1, 2)
    assert_same_bits(la.cholesky_solve(by_columns, b, upper=upper), x)
    assert_same_bits(la.cholesky_inverse(by_columns, upper=upper), inverse)
    assert_same_bits(la.cholesky_solve(c, np.repeat(b, 2, -1)[..., ::2], upper=upper), x)


@both
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_cholesky_solve_and_inverse_in_sixty_digits(n, upper, dtype, tier, rng):
    c, b = triangular(rng, (WIDTH,), n, dtype), normal(rng, (WIDTH, n, 1), dtype)
    x, inverse = la.cholesky_solve(c, b, upper=upper), la.cholesky_inverse(c, upper=upper)
    with mpmath.workdps(60):
        a = [mpmath.matrix((np.triu(y) if upper else np.tril(y)).astype(wide(dtype)).tolist()) for y in c]
        a = [y.H * y if upper else y * y.H for y in a]
        true = np.array([(y ** -1).tolist() for y in a], complex)
        solution = np.array([mpmath.lu_solve(y, mpmath.matrix(z.astype(wide(dtype)).tolist())).tolist()
                             for y, z in zip(a, b, strict=True)], complex)
    kappa = np.linalg.cond(_product(c, upper)).max()
    assert distance(inverse, true) <= rounding(dtype, n, kappa)
    assert distance(x, solution) <= rounding(dtype, n, kappa)


@both
@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("f", ["cholesky_solve", "cholesky_inverse"])
def test_a_singular_factor_stays_alone(f, n, upper, dtype, tier, rng):
    """It fails, by its number; a NaN in another spreads there and nowhere else."""
    c = triangular(rng, (2 * WIDTH,), n, dtype)
    b = (normal(rng, (2 * WIDTH, n, 1), dtype),) if f == "cholesky_solve" else ()
    expected = getattr(la, f)(c, *b, upper=upper)
    c[3, -1, -1], c[WIDTH, 0, 0] = 0, np.nan
    with pytest.raises(la.LinAlgError, match="3") as caught:
        getattr(la, f)(c, *b, upper=upper)
    assert list(caught.value.indices) == [(3,)]
    found = getattr(la, f)(c, *b, upper=upper, errors="nan")
    assert np.isnan(found[[3, WIDTH]]).any((-2, -1)).all()
    others = np.delete(np.arange(2 * WIDTH), [3, WIDTH])
    assert_same_bits(found[others], expected[others])


@both
def test_extreme_factors_are_solved_with_quotients(upper, dtype, tier, rng):
    """The reciprocal of a diagonal near the end of the range is no number; quotients are."""
    tiny = dtype.type(np.finfo(dtype).tiny / 2)
    c = np.broadcast_to(np.eye(3, dtype=dtype), (WIDTH, 3, 3)).copy()
    b = np.ones((WIDTH, 3, 1), dtype)
    c[1::2] *= tiny
    b[1::2] *= tiny
    x = la.cholesky_solve(c, b, upper=upper)
    assert (x == 1 / tiny.real ** (np.arange(WIDTH) % 2)[:, None, None]).all()
    assert_same_bits(x, np.stack([la.cholesky_solve(y, z, upper=upper) for y, z in zip(c, b, strict=True)]))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_factor_solves_what_it_came_from(n, dtype, tier, rng):
    a, b = definite(rng, (WIDTH + 1,), n, dtype), normal(rng, (WIDTH + 1, n, 2), dtype)
    assert_ratios({upper: solution_ratio(a, la.cholesky_solve(la.cholesky(a, upper=upper), b, upper=upper), b)
                   for upper in (False, True)})


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_triangular_systems_of_any_kind(n, lower, trans, unit_diagonal, dtype, tier, rng):
    """NaN in the other triangle, and on a diagonal of ones, is not read; nothing depends on the pack or the columns."""
    t = triangular(rng, (2 * WIDTH + 3,), n, dtype)
    t = np.tril(t) if lower else np.triu(t)
    if unit_diagonal:
        t[:, range(n), range(n)] = 1
    b = normal(rng, (2 * WIDTH + 3, n, 3), dtype)
    kind = {"lower": lower, "trans": trans, "unit_diagonal": unit_diagonal}
    stored = t.copy()
    stored[:, ~np.tri(n, dtype=bool) if lower else ~np.tri(n, dtype=bool).T] = np.nan
    if unit_diagonal:
        stored[:, range(n), range(n)] = np.nan
    x = la.solve_triangular(stored, b, **kind)
    assert_ratios({"x": solution_ratio((t, np.swapaxes(t, 1, 2), H(t))[trans], x, b)})
    columns = [la.solve_triangular(stored, np.ascontiguousarray(b[..., k : k + 1]), **kind) for k in range(3)]
    assert_same_bits(np.concatenate(columns, -1), x)
    for i in range(len(t)):
        assert_same_bits(la.solve_triangular(stored[i], b[i], **kind), x[i], i)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_singular_triangle_stays_alone(n, lower, dtype, tier, rng):
    """A zero on the diagonal fails by its number, unless nobody reads it; a tiny one is a divisor."""
    t, b = triangular(rng, (2 * WIDTH,), n, dtype), normal(rng, (2 * WIDTH, n, 1), dtype)
    expected = la.solve_triangular(t, b, lower=lower)
    tiny = dtype.type(np.finfo(dtype).tiny / 2)
    t[5] *= tiny
    b[5] *= tiny
    t[3, -1, -1] = 0
    with pytest.raises(la.LinAlgError, match="3") as caught:
        la.solve_triangular(t, b, lower=lower)
    assert list(caught.value.indices) == [(3,)]
    found = la.solve_triangular(t, b, lower=lower, errors="nan")
    assert np.isnan(found[3]).all()
    assert distance(found[5], expected[5]) <= rounding(dtype, n, kappa=2.0**10)
    others = np.delete(np.arange(2 * WIDTH), [3, 5])
    assert_same_bits(found[others], expected[others])
    unit = la.solve_triangular(t[:WIDTH], b[:WIDTH], lower=lower, unit_diagonal=True)
    assert_same_bits(unit[3], la.solve_triangular(t[3], b[3], lower=lower, unit_diagonal=True))
