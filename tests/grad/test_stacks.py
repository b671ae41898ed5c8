"""The stacked products and passes that the vocabulary of the rules stands on, against NumPy in wider precision."""
import numpy as np
import pytest
from _layouts import LAYOUTS
from _matrices import H, normal, wide
from _measure import assert_same_bits, distance
from _tols import rounding

import linalgad as la
from linalgad.grad import _stacks, xp

SHAPES = [((5, 4, 3), (5, 3, 6)), ((2, 1, 7, 7), (3, 7, 1)), ((40, 9, 9), (40, 9, 9)), ((3, 33, 20), (3, 20, 17)),
          ((4, 1, 5), (4, 5, 1)), ((6, 5, 1), (6, 1, 5)), ((2, 130, 70), (70, 90)), ((8, 8), (8, 8))]
EMPTY = [((0, 3, 3), (0, 3, 3)), ((2, 0, 3), (2, 3, 4)), ((2, 3, 0), (2, 0, 4)), ((2, 3, 4), (2, 4, 0))]
ALL_LAYOUTS = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def product(x, y):
    return np.matmul(x.astype(wide(x.dtype)), y.astype(wide(y.dtype)))


# ------------------------------------------------------------------ products

@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("tier", ["compact", "blas"])
def test_matmul(shapes, tier, dtype, rng, compact_orders):
    """All dtypes, square or not, batches broadcast."""
    compact_orders(1000.0 if tier == "compact" else 0.0)
    x, y = (normal(rng, shape, dtype) for shape in shapes)
    out, true = xp.matmul(x, y), product(x, y)
    assert (out.dtype, out.shape) == (dtype, true.shape)
    assert distance(out, true) <= rounding(dtype, x.shape[-1])


@pytest.mark.parametrize("tier", ["compact", "blas"])
@pytest.mark.parametrize("n", [3, 12, 40])
def test_conjugated_factors(n, tier, dtype, rng, compact_orders):
    """x^H y and x y^H of rectangular matrices."""
    compact_orders(1000.0 if tier == "compact" else 0.0)
    x, y, z = normal(rng, (5, n, n + 1), dtype), normal(rng, (5, n, 4), dtype), normal(rng, (5, 4, n + 1), dtype)
    assert distance(xp.inner(x, y), product(H(x), y)) <= rounding(dtype, n)
    assert distance(xp.outer(x, z), product(x, H(z))) <= rounding(dtype, n)
    assert distance(_stacks.matmul(x, H(z), conj_x=True), product(np.conj(x), H(z))) <= rounding(dtype, n)


@ALL_LAYOUTS
@pytest.mark.parametrize("n", [4, 19])
def test_matmul_of_any_layout(layout, n, dtype, rng):
    """Factors in any memory order, also read-only and with negative strides."""
    x, y = normal(rng, (3, 2, n, n), dtype), normal(rng, (3, 2, n, n), dtype)
    true = product(x, y)
    assert distance(xp.matmul(layout(x), y), true) <= rounding(dtype, n)
    assert distance(xp.matmul(x, layout(y)), true) <= rounding(dtype, n)
    assert distance(xp.inner(layout(x), layout(y)), product(H(x), y)) <= rounding(dtype, n)
    assert distance(xp.outer(layout(x), layout(y)), product(x, H(y))) <= rounding(dtype, n)


@pytest.mark.parametrize("shapes", EMPTY, ids=str)
def test_matmul_of_nothing(shapes, dtype):
    """An empty sum is zero."""
    out = xp.matmul(*(np.ones(shape, dtype) for shape in shapes))
    assert out.dtype == dtype
    assert np.array_equal(out, np.matmul(*(np.ones(shape) for shape in shapes)))


@pytest.mark.parametrize("n", [5, 40])
def test_matmul_is_the_same_for_any_lanes_and_batch(n, dtype, rng):
    """Bit by bit."""
    x, y = normal(rng, (70, n, n), dtype), normal(rng, (70, n, n), dtype)
    with la.lanes(1):
        one = xp.matmul(x, y)
    with la.lanes(3):
        assert_same_bits(xp.matmul(x, y), one)
    assert_same_bits(np.stack([xp.matmul(x[i:i + 1], y[i:i + 1])[0] for i in range(70)]), one)


def test_matmul_of_other_types(rng):
    """Mixed dtypes and integers are NumPy's."""
    x, y = rng.standard_normal((2, 3, 3)), np.arange(9).reshape(3, 3)
    assert np.array_equal(xp.matmul(x, y), np.matmul(x, y))
    assert np.array_equal(xp.inner(1j * x, x), np.matmul(H(1j * x), x))
    with pytest.raises(ValueError, match="matmul"):
        xp.matmul(x, np.ones((2, 4, 3)))


def test_special_values_are_kept(dtype):
    """NaN and infinity go where the sums lead them, and nowhere else."""
    x, y = np.zeros((9, 20, 20), dtype), np.ones((9, 20, 20), dtype)
    x[3, 2, 5], x[4, 1, 1] = np.nan, np.inf
    out = xp.matmul(x, y)
    bad = ~np.isfinite(out)
    assert bad[3, 2].all()
    assert bad[4, 1].all()
    assert np.count_nonzero(bad) == 40


# ------------------------------------------------------------------ passes

def passes(x):
    """Pairs of a pass and what NumPy says it is, for square x."""
    low, above, d = np.tril(x, -1), np.triu(x, 1), np.diagonal(x, axis1=-2, axis2=-1)
    dtype, eye = x.dtype, np.eye(x.shape[-1], dtype=bool)

    def with_diagonal(y, d):
        return np.where(eye, np.broadcast_to(d, d.shape)[..., None, :], y).astype(dtype)
    turn = (1j * d.imag).astype(dtype) if dtype.kind == "c" else np.zeros_like(d)
    return {
        "herm": (xp.herm(x), (x + H(x)) / 2), "skew": (xp.skew(x), (x - H(x)) / 2),
        "twist": (xp.twist(x), with_diagonal(low - H(low), turn)),
        "untwist": (xp.untwist(x), with_diagonal(low - H(above), turn)),
        "half_lower": (xp.half_lower(x), with_diagonal(low, d.real / 2)),
        "unit_lower": (xp.unit_lower(x), with_diagonal(low, np.ones_like(d))),
        **{f"tril{k}": (xp.tril(x, k=k), np.tril(x, k)) for k in (-30, -2, 0, 1, 30)},
        **{f"triu{k}": (xp.triu(x, k=k), np.triu(x, k)) for k in (-30, -2, 0, 1, 30)},
    }


@ALL_LAYOUTS
@pytest.mark.parametrize("n", [1, 6, 19])
def test_passes(layout, n, dtype, rng):
    """Each pass does the arithmetic of its NumPy expression, in any memory order."""
    x = layout(normal(rng, (3, 2, n, n), dtype))
    for name, (got, expected) in passes(x).items():
        assert got.dtype.newbyteorder("=") == dtype, name
        assert np.array_equal(got, expected), name


@pytest.mark.parametrize("shape", [(3, 4, 7), (3, 7, 4), (0, 3, 3), (2, 0, 3), (2, 3, 0)])
def test_triangles_of_any_shape(shape, dtype, rng):
    x = normal(rng, shape, dtype)
    for k in (-2, 0, 1):
        assert np.array_equal(xp.tril(x, k=k), np.tril(x, k))
        assert np.array_equal(xp.triu(x, k=k), np.triu(x, k))
    assert np.array_equal(xp.unit_lower(x), np.tril(x, -1) + np.eye(*shape[-2:], dtype=dtype))


def test_passes_of_other_types():
    """Integers and foreign byte order take NumPy's way, with the same results."""
    x = np.arange(18.0).reshape(2, 3, 3)
    swapped = x.astype(x.dtype.newbyteorder())
    for name, (got, expected) in passes(x).items():
        assert np.array_equal(passes(swapped)[name][0], got), name
        assert np.array_equal(got, expected), name


@ALL_LAYOUTS
def test_rows(layout, dtype, rng):
    """Permuted rows, with one permutation for each matrix or for all."""
    x = layout(normal(rng, (3, 2, 5, 4), dtype))
    for rows in (rng.permuted(np.broadcast_to(np.arange(5), (3, 2, 5)), axis=-1), rng.permutation(5)):
        taken = np.take_along_axis(x, np.broadcast_to(rows, (3, 2, 5))[..., None], -2)
        assert np.array_equal(xp.take_rows(x, rows=rows), taken)
        assert np.array_equal(xp.put_rows(taken, rows=rows), x)


def test_rows_out_of_range_are_refused():
    """Positions come from arguments of the rules by name."""
    x = np.ones((2, 3, 3))
    for rows in ([0, 1, 3], [0, -4, 1]):
        with pytest.raises(IndexError):
            xp.take_rows(x, rows=np.array(rows))
        with pytest.raises(IndexError):
            xp.put_rows(x, rows=np.array(rows))
        with pytest.raises(IndexError):
            _stacks.row_order(np.array(rows), 3)


def test_row_order(rng):
    """Interchanges one after the other, as LU makes them; fewer than rows."""
    piv = np.array([[2, 3, 2], [0, 1, 2], [4, 4, 4]], np.int32)
    expected = []
    for p in piv:
        rows = np.arange(5)
        for i, j in enumerate(p):
            rows[[i, j]] = rows[[j, i]]
        expected.append(rows)
    assert np.array_equal(_stacks.row_order(piv, 5), expected)


@ALL_LAYOUTS
def test_adjoint(layout, dtype, rng):
    """Rows of the conjugate transpose by factors of their own."""
    x, factors = normal(rng, (3, 2, 19, 19), dtype), normal(rng, (3, 2, 19), dtype)
    assert distance(_stacks.adjoint(layout(x), factors), H(x) * factors[..., None]) <= rounding(dtype, 1)


@ALL_LAYOUTS
@pytest.mark.parametrize("k", [3, 40])
def test_solutions_keep_the_order_of_the_right_hand_sides(layout, k, dtype, rng):
    """The same bits, in memory that needs no transposition."""
    a, b = normal(rng, (3, 2, 9, 9), dtype) + 9 * np.eye(9, dtype=dtype), normal(rng, (3, 2, 9, k), dtype)
    x = xp.solve_triangular(a, layout(b), lower=True)
    assert_same_bits(x, la.solve_triangular(a, b, lower=True))
    assert layout is not LAYOUTS["fortran"] or np.swapaxes(x, -1, -2).flags.c_contiguous


@ALL_LAYOUTS
@pytest.mark.parametrize("shape", [(3, 2, 6, 4), (3, 2, 19, 33), (2, 0, 3), (2, 3, 0)])
def test_magnitudes(layout, shape, dtype, rng):
    """The largest modulus of each matrix and of each of its columns; 0 of nothing."""
    x = layout(normal(rng, shape, dtype))
    assert np.array_equal(xp.max_magnitude(x, axis=(-2, -1)), np.max(np.abs(x), (-2, -1), keepdims=True, initial=0))
    assert np.array_equal(xp.max_magnitude(x, axis=-2), np.max(np.abs(x), -2, keepdims=True, initial=0))


@pytest.mark.parametrize("where", [0, 5, 8, 18])
def test_magnitudes_keep_nan(where, dtype, rng):
    """One entry of the middle matrix is NaN, wherever the run over it has come to."""
    x = normal(rng, (3, 19, 19), dtype)
    x[1, where, where] = np.nan
    assert np.isnan(xp.max_magnitude(x, axis=(-2, -1))).ravel().tolist() == [False, True, False]
    found = np.isnan(xp.max_magnitude(x, axis=-2))[:, 0]
    assert np.argwhere(found).tolist() == [[1, where]]
