"""det and slogdet."""
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from _checks import Universal
from _matrices import REGULAR, matrix, normal, spectrum, wide
from _measure import assert_same_bits
from _spec import Spec
from _tols import rounding
from hypothesis import given
from hypothesis import strategies as st

import linalgad as la

SHAPES = ((1,), (2,), (5,), (16,), (33,), (6,))
# Exponents of two of the rows and columns of 4 x 4 matrices, in units; they cancel in the determinant.
SCALES = {
    "rows": ((1, 1, -1, -1), (0, 0, 0, 0)),
    "columns": ((0, 0, 0, 0), (1, -1, 1, -1)),
    "one row": ((1, 0, 0, 0), (0, 0, 0, -1)),
    "opposed": ((1, -1, 0, 0), (-0.5, 0.5, 0.5, -0.5)),
    "all rows against one column": ((0.2,) * 4, (0, 0, -0.8, 0)),
    "columns apart, rows even": ((0.5,) * 4, (0.5, -1, -1, -0.5)),
}
EXPONENTS = st.lists(st.sampled_from([-1, -0.5, 0, 0.5, 1]), min_size=5, max_size=5)


def _matrix(rng, batch, dtype, n, kind):
    # Singular values below one half: no logarithm of a determinant is near 0, where it has no relative accuracy.
    return (matrix(rng, batch, n, n, dtype, kind) / 2,)


def _slogdet(a):
    return tuple(np.linalg.slogdet(a))


class TestDet(Universal):
    specs = (
        Spec("det", lambda n: [((), "t")], _matrix, shapes=SHAPES, empty=((0,),), reference=np.linalg.det, kappa=4.0,
             square=True),
        Spec("slogdet", lambda n: [((), "t"), ((), "r")], _matrix, shapes=SHAPES, empty=((0,),), reference=_slogdet,
             kappa=16.0, square=True),
    )


def exact(rows):
    """The determinant of a matrix of Python integers or fractions, by elimination without rounding."""
    rows = [[Fraction(x) for x in row] for row in rows]
    value = Fraction(1)
    while rows:
        k = next((k for k, row in enumerate(rows) if row[0]), None)
        if k is None:
            return Fraction(0)
        first = rows.pop(k)
        value *= (-1) ** k * first[0]
        rows = [[x - row[0] / first[0] * y for x, y in zip(row[1:], first[1:], strict=True)] for row in rows]
    return value


def error(got, true):
    """Relative error of a determinant, in mpmath so that nothing of it overflows."""
    with mpmath.workdps(60):
        got = mpmath.mpc(complex(got))
        return float(abs(got - true) / abs(true)) if true else float(abs(got))


def reference(a):
    """The determinant in 60 digits."""
    with mpmath.workdps(60):
        return mpmath.det(mpmath.matrix(a.astype(wide(a.dtype)).tolist()))


def unit(name):
    """The unit of exponents: two of them, on a row and a column, leave entries near 1 in the normal range."""
    return 400 if np.dtype(name).itemsize // (2 if np.dtype(name).kind == "c" else 1) == 8 else 50


def scale(a, rows, columns):
    """Multiply the rows and columns by two to the `unit` to those powers."""
    e = np.rint(unit(a.dtype) * np.add.outer(rows, columns)).astype(int)
    return (a * np.ldexp(1.0, e)).astype(a.dtype)


def regular(rng, n, dtype):
    """A matrix of condition 4, and how far rounding may take its determinant."""
    return matrix(rng, (), n, n, dtype), rounding(dtype, n, kappa=4.0)


# ---------------------------------------------------------------- accuracy
@pytest.mark.parametrize("n", range(1, 9))
def test_integers(n, dtype, rng):
    """Against elimination with fractions."""
    a = rng.integers(-9, 10, (n, n)) + 10 * n * np.eye(n, dtype=int)
    true = exact(a.tolist())
    assert error(la.det(a.astype(dtype)), mpmath.mpf(true.numerator)) <= rounding(dtype, n, kappa=4.0)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_sixty_digits(n, dtype, rng):
    """Against mpmath."""
    a, tolerance = regular(rng, n, dtype)
    assert error(la.det(a), reference(a)) <= tolerance


@pytest.mark.parametrize("kind", REGULAR)
def test_prescribed_spectrum(kind, dtype, rng):
    """The modulus is the product of the singular values, whatever their size."""
    n = 6
    a = matrix(rng, (), n, n, dtype, kind)
    s = spectrum(kind, n, dtype)
    true = np.log(s).sum()
    assert abs(la.slogdet(a).logabsdet - true) <= rounding(dtype, n, s[0] / s[-1]) * max(abs(true), 1)


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_permutations_have_exact_signs(n, dtype, rng):
    """Interchanges and nothing else."""
    order = rng.permutation(n)
    true = exact(np.eye(n, dtype=int)[order].tolist())
    a = np.eye(n, dtype=dtype)[order]
    assert la.det(a) == true
    assert_same_bits(la.slogdet(a), (dtype.type(int(true)), np.zeros((), dtype).real[()]))


def test_signs_of_a_complex_determinant(rng):
    """The sign is the phase."""
    phases = np.exp(1j * rng.uniform(0, 6, 5))
    sign, logabsdet = la.slogdet(np.diag(phases * [1, 2, 3, 4, 5]))
    assert error(sign, mpmath.mpc(complex(np.prod(phases)))) <= rounding("complex128", 5)
    assert abs(logabsdet - np.log(120)) <= rounding("complex128", 5)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_singular(n, dtype):
    """Exactly zero; the logarithm is -inf, the sign 0."""
    a = np.ones((2, n, n), dtype)
    a[:, 0] = 0
    assert la.det(a).tolist() == [0, 0]
    sign, logabsdet = la.slogdet(a)
    assert sign.tolist() == [0, 0]
    assert logabsdet.tolist() == [-np.inf] * 2


def test_cancelling_logarithms(dtype):
    """Many pivots over and under one: the logarithm of a determinant near one is not a difference of large sums."""
    d = np.ones(64)
    d[::2], d[1::2] = 2.0 ** 30, 2.0 ** -30
    d[0] *= 1.5
    sign, logabsdet = la.slogdet(np.diag(d).astype(dtype))
    assert sign == 1
    assert abs(logabsdet - np.log(1.5)) <= rounding(dtype, 1)


# ---------------------------------------------------------------- overflow and underflow
@pytest.mark.parametrize(("rows", "columns"), SCALES.values(), ids=SCALES)
def test_scales_that_cancel(rows, columns, dtype, rng):
    """Rows and columns of any size: the determinant is that of the matrix without them."""
    a, tolerance = regular(rng, 4, dtype)
    b = scale(a, rows, columns)
    assert error(la.det(b), reference(a)) <= tolerance
    sign, logabsdet = la.slogdet(b)
    assert error(sign, reference(a) / abs(reference(a))) <= tolerance
    assert abs(logabsdet - float(mpmath.log(abs(reference(a))))) <= tolerance


@given(n=st.integers(1, 5), name=st.sampled_from("fdFD"), rows=EXPONENTS, columns=EXPONENTS)
def test_rows_and_columns_of_any_scale(n, name, rows, columns):
    """The logarithm of the determinant moves by the sum of the exponents."""
    a, tolerance = regular(np.random.default_rng(n), n, np.dtype(name))
    b = scale(a, rows[:n], columns[:n])
    shift = sum(rows[:n] + columns[:n]) * unit(name) * np.log(2)
    (sign, got), (true_sign, true) = la.slogdet(b), np.linalg.slogdet(a.astype(wide(a.dtype)))
    assert abs(got - true - shift) <= tolerance * max(1, abs(shift))
    assert abs(sign - true_sign) <= tolerance


@pytest.mark.parametrize("exponents", [(1, 1, -1, -1), (-1, -1, 1, 1), (1, -1, 1, -1), (1, 0, 0, -1)], ids=str)
def test_partial_products_out_of_range(exponents, dtype):
    """No order of the pivots keeps every partial product in range; the result is."""
    d = np.ldexp(1.0, np.array(exponents) * 2 * unit(dtype)) * [3, 1, 1, 1]
    assert la.det(np.diag(d).astype(dtype)) == 3
    assert la.slogdet(np.diag(d).astype(dtype)).sign == 1


def test_columns_apart_by_hundreds_of_orders():
    """Scaling the rows alone would lose the second column."""
    assert error(la.det(np.array([[1e200, 1e-200], [1e200, 2e-200]])), mpmath.mpf(1)) <= rounding("float64", 2)
    assert error(la.det(np.array([[1e200, 1e200], [1e-200, 2e-200]])), mpmath.mpf(1)) <= rounding("float64", 2)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("share", [0.65, 0.93])
@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_entries_that_decide_beside_larger_ones(kind, share, place, dtype):
    """Beside the largest of its row and column an entry is less than the smallest double, and yet it decides."""
    h = 2.0 ** int(share * np.finfo(dtype).maxexp)
    t = 1 / h
    a = np.eye(5)
    a[place:place + 3, place:place + 3] = {"columns": [[h, t, t], [h, 2 * t, t], [1, 1, 2]],
                                           "rows": [[h, h, 1], [t, 2 * t, h], [t, t, 2 * h]]}[kind]
    true = exact(a.tolist())
    with mpmath.workdps(60):
        true = mpmath.mpf(true.numerator) / true.denominator
        logarithm = float(mpmath.log(true))
    phase = 1j if dtype.kind == "c" else -1
    b = a.astype(dtype)
    b[place] *= dtype.type(phase)
    for c in (b, b.T, b[::-1, ::-1]):
        assert error(la.det(c), phase * true) <= rounding(dtype, 5)
        sign, logabsdet = la.slogdet(c)
        assert sign == phase
        assert abs(logabsdet - logarithm) <= rounding(dtype, 5) * logarithm


def test_extreme_and_singular(dtype):
    """A column of zeros, and rows with entries in the same column only."""
    big = 2.0 ** (2 * unit(dtype))
    empty = np.diag([big, 1, 1, 0, 1]).astype(dtype)
    empty[3, 0], empty[1, 2] = 1, 1 / big
    crowded = np.zeros((5, 5), dtype)
    crowded[:3, :2], crowded[3:] = big, 1 / big
    for a in (empty, empty.T, crowded, crowded.T):
        assert la.det(a) == 0
        assert la.slogdet(a) == (0, -np.inf)


@pytest.mark.parametrize("n", [3, 5, 40])
@pytest.mark.parametrize("order", ["as it is", "transposed", "reversed"])
def test_small_entries_under_a_large_column(order, n, dtype):
    """A pivot chosen by the size of its row would swamp them: an order of 3 has the determinant -16."""
    h = 2.0 ** int(0.93 * np.finfo(dtype).maxexp)
    a = np.eye(n)
    a[:3, :3] = [[2 * h, 0, 5 / h], [3 * h, 1, 4], [4 * h, 0, 2 / h]]
    a = {"as it is": a, "transposed": a.T, "reversed": a[::-1, ::-1]}[order].astype(dtype)
    assert error(la.det(a), mpmath.mpf(-16)) <= rounding(dtype, n)


@pytest.mark.parametrize("n", [3, 4, 9, 30])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_one_large_column(share, n, dtype):
    """An arrow of ones, which is well conditioned, but for the scale of its column."""
    h = 2.0 ** int(share * np.finfo(dtype).maxexp)
    a = np.eye(n)
    a[0] = 1
    a[1:, 0] = h
    true = mpmath.mpf(1) - (n - 1) * mpmath.mpf(h)
    for b in (a, a.T):
        assert error(la.det(b.astype(dtype)), true) <= rounding(dtype, n)


@pytest.mark.parametrize("k", [4, 6, 20])
@pytest.mark.parametrize("share", [0.22, 0.3, 0.5])
@pytest.mark.parametrize("rest", [True, False])
def test_chains_of_small_numbers(rest, share, k, dtype):
    """With exchanges of rows the elimination multiplies k numbers; the determinant is their product all the same."""
    s = 2.0 ** -int(share * np.finfo(dtype).maxexp)
    d = [1, *[s] * k, 1, *[1 / s] * (k if rest else 0)]
    a = np.diag(d) + np.diag([1.0] * (k + 1) + [0.0] * (len(d) - k - 2), 1)
    logarithm = 0 if rest else k * np.log(s)
    both = np.kron(np.diag([1.0, 0]), a) + np.kron(np.diag([0, 1.0]), a.T)
    for b in (a, a.T, both):
        logarithm *= len(b) // len(a)
        b = np.stack([b] * 9).astype(dtype)
        for c in (b, b[0]):
            sign, logabsdet = la.slogdet(c)
            assert np.all(sign == 1)
            assert np.max(abs(logabsdet - logarithm)) <= rounding(dtype, 1) * max(1, abs(logarithm))


@pytest.mark.parametrize("n", [2, 3, 4, 6, 9])
def test_entries_of_any_size(n, dtype, rng):
    """Exponents all over the range, against mpmath."""
    power = 0.9 * np.log10(np.finfo(dtype).max) * rng.uniform(-1, 1, (10, n, n))
    a = normal(rng, (10, n, n), np.dtype(wide(dtype))) * 10.0 ** power
    sign, logabsdet = la.slogdet(a.astype(dtype))
    with mpmath.workdps(1500):
        for i, b in enumerate(a.astype(dtype).astype(wide(dtype))):
            true = mpmath.det(mpmath.matrix(b.tolist()))
            logarithm = float(mpmath.log(abs(true)))
            assert abs(logabsdet[i] - logarithm) <= rounding(dtype, n) * max(1, abs(logarithm))
            assert abs(complex(sign[i]) - complex(true / abs(true))) <= rounding(dtype, n)


@pytest.mark.parametrize("n", [4, 8, 20, 40])
def test_singular_matrices_need_no_scaling(n, dtype, rng):
    """Exact zeros, of matrices in stacks of others and alone."""
    a = rng.integers(1, 4, (9, n, n)).astype(dtype)
    a[1::2, 1] = 0
    a[4] = 0
    d = la.det(a)
    assert (d[1::2] == 0).all()
    assert d[4] == 0
    for i in (1, 4):
        assert la.slogdet(a[i]) == (0, -np.inf)
        assert_same_bits(la.det(a[i]), d[i])


def test_product_of_three_entries_out_of_range():
    """The elimination forms a b / c, here 2^-1500, where the determinant is 2^-1000."""
    assert la.det(np.array([[2.0 ** 500, 2.0 ** -500], [2.0 ** -500, 0]])) == -2.0 ** -1000


@pytest.mark.parametrize("n", [1, 2, 3])
def test_subnormal_entries(n, dtype):
    """They have few digits, which are kept."""
    tiny = np.finfo(dtype).smallest_subnormal
    a = (np.eye(n) * 3 + np.ones((n, n))).astype(dtype) * tiny
    true = exact((np.eye(n, dtype=int) * 3 + 1).tolist())
    sign, logabsdet = la.slogdet(a)
    assert error(sign, mpmath.mpf(1)) <= rounding(dtype, n)
    logarithm = float(mpmath.log(true.numerator) + n * mpmath.log(mpmath.mpf(float(tiny))))
    assert abs(logabsdet - logarithm) <= rounding(dtype, n) * abs(logarithm)


def test_subnormal_result(dtype):
    """A determinant below the normal range is rounded once."""
    tiny = np.finfo(dtype).smallest_subnormal
    a = np.diag([tiny, 4, 3, 0.25]).astype(dtype)
    assert la.det(a) == 3 * tiny


@pytest.mark.parametrize("sign", [1, -1])
def test_overflow_and_underflow(sign, dtype):
    """What cannot be represented is infinite or zero; slogdet is neither."""
    big = 2.0 ** (2 * unit(dtype))
    over, under = (np.diag([sign * x] + [x] * 3).astype(dtype) for x in (big, 1 / big))
    assert np.real(la.det(over)) == sign * np.inf
    assert la.det(under) == 0
    assert la.slogdet(over).sign == la.slogdet(under).sign == sign
    assert abs(la.slogdet(over).logabsdet - 4 * np.log(big)) <= rounding(dtype, 4) * 4 * np.log(big)
    assert abs(la.slogdet(under).logabsdet + 4 * np.log(big)) <= rounding(dtype, 4) * 4 * np.log(big)


# ---------------------------------------------------------------- NaN and infinities
@pytest.mark.parametrize("place", list(np.ndindex(3, 3)), ids=str)
@pytest.mark.parametrize("base", [np.eye(3), np.zeros((3, 3)), np.ones((3, 3)), np.diag([1e300, 1, 1])],
                         ids=["identity", "zero", "ones", "extreme"])
def test_nan_anywhere(base, place):
    """No zero hides a NaN, neither a cofactor nor a pivot."""
    a = base.copy()
    a[place] = np.nan
    assert np.isnan(la.det(a))
    assert np.isnan(la.slogdet(a).logabsdet)
    assert np.isnan(la.det(a + 0j))
    assert np.isnan(la.slogdet(a + 0j).logabsdet)
    b = np.diag([1e300, 1e-300, 1, 1, 1])
    b[2:, 2:] = a
    b[0, 1] = 1e-300
    for c in (b, b + 0j):
        assert np.isnan(la.det(c))
        assert np.isnan(la.slogdet(c).logabsdet)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("value", [np.inf, -np.inf], ids=str)
def test_an_infinite_pivot(value, name):
    """The other pivots do not make NaN of it."""
    a = np.diag([value, 2, 3]).astype(name)
    assert la.det(a) == value
    assert_same_bits(la.slogdet(a), (np.dtype(name).type(np.sign(value)), np.dtype(name).type(np.inf)))


def test_infinity_times_zero():
    """A singular matrix with an infinite entry has no determinant."""
    assert np.isnan(la.det(np.diag([np.inf, 0.0])))
    assert np.isnan(la.slogdet(np.diag([np.inf, 0.0])).logabsdet)


@pytest.mark.parametrize("n", [1, 3, 8, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_nothing_but_nan_and_infinities(value, n, dtype):
    """No hang and no finite determinant."""
    assert not np.isfinite(la.det(np.full((2, n, n), value, dtype))).any()


# ---------------------------------------------------------------- results
def test_scalars(dtype, rng):
    """One matrix has NumPy scalars, a stack has arrays."""
    a = normal(rng, (3, 4, 4), dtype)
    assert isinstance(la.det(a[0]), dtype.type)
    assert all(isinstance(x, t) for x, t in zip(la.slogdet(a[0]), (dtype.type, type(np.finfo(dtype).eps)), strict=True))
    assert la.det(a).shape == (3,)


def test_empty_matrices():
    """The empty product is 1."""
    assert la.det(np.empty((0, 0))) == 1
    assert la.det(np.empty((2, 0, 0))).tolist() == [1, 1]
    assert la.slogdet(np.empty((0, 0))) == (1, 0)


def test_result_fields(dtype):
    """The field names of numpy.linalg."""
    assert la.slogdet(np.eye(2, dtype=dtype))._fields == ("sign", "logabsdet")


def test_out_of_one_matrix(dtype, rng):
    """A destination without axes is filled and returned."""
    a = normal(rng, (3, 3), dtype)
    out = np.empty((), dtype)
    assert la.det(a, out=out) is out
    assert_same_bits(out, la.det(a))


def test_out_inside_the_input(dtype, rng):
    """A destination that shares memory with the matrices."""
    a = normal(rng, (3, 4, 4), dtype)
    expected = la.det(a.copy())
    assert_same_bits(la.det(a, out=a[0, 1, :3]), expected)


def test_most_batch_axes(dtype, rng):
    """NumPy's arrays have at most 64 axes, 62 of them of the batch."""
    a = matrix(rng, (), 3, 3, dtype)
    assert_same_bits(la.det(a.reshape(*(1,) * 62, 3, 3)).reshape(1), la.det(a[None]))


def test_workspace_no_machine_has():
    """Refused as memory, without overflow on the way there."""
    with pytest.raises(MemoryError, match="workspace of"):
        la.det(np.broadcast_to(1.0, (2 ** 30 - 1, 2 ** 30 - 1)))
