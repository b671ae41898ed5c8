"""cholesky, cholesky_ex, cholesky_solve and cholesky_inverse."""
import numpy as np
import pytest
from _checks import Universal
from _matrices import REGULAR, H, condition, definite, normal, triangular
from _measure import assert_same_bits, distance, residual_ratio, solution_ratio
from _spec import Spec
from _tols import RESIDUAL, rounding

import linalgad as la
from linalgad import LinAlgError

SHAPES = ((1,), (2,), (5,), (16,), (33,), (6,))
SYSTEMS = ((1, 1), (3, 2), (8, 8), (33, 5), (6, 4))


def _definite(rng, batch, dtype, n, kind):
    return (definite(rng, batch, n, dtype, kind),)


def _factor(upper):
    def make(rng, batch, dtype, n, *nrhs, kind):
        c = triangular(rng, batch, n, dtype)
        c = np.swapaxes(c, -1, -2) if upper else c
        return (c, *(normal(rng, (*batch, n, k), dtype) for k in nrhs))
    return make


def _product(c, upper):
    return H(np.triu(c)) @ np.triu(c) if upper else np.tril(c) @ H(np.tril(c))


def _factor_residuals(upper):
    def residuals(args, outs):
        c = outs[0]
        other = np.tril(c, -1) if upper else np.triu(c, 1)
        d = np.diagonal(c, axis1=-2, axis2=-1)
        return {"a": _product_ratio(args[0], c, upper), "triangular": np.inf if other.any() else 0.0,
                "diagonal": np.inf if (d.imag != 0).any() or (d.real <= 0).any() else 0.0}
    return residuals


def _product_ratio(a, c, upper):
    # The factor carries the square root of the scale; a power of four moves out exactly.
    e = 2 * (np.frexp(np.abs(a).max((-2, -1), keepdims=True))[1] // 2)
    c, a = c * np.ldexp(c.real.dtype.type(1), -e // 2), a * np.ldexp(1.0, -e // 2) * np.ldexp(1.0, -e // 2)
    return residual_ratio(a.astype(c.dtype), H(c), c) if upper else residual_ratio(a.astype(c.dtype), c, H(c))


def _solve_residuals(upper):
    return lambda args, outs: {"x": solution_ratio(_product(args[0].astype(np.result_type(args[0], np.float64)), upper),
                                                   outs[0], args[1])}


def _inverse_residuals(args, outs):
    (x,) = outs
    return {"hermitian": np.inf if (x != H(x)).any() else 0.0}


def _indefinite(dtype, n):
    return np.diag([*np.ones(n - 1), -1.0]).astype(dtype)


def _singular_factor(dtype, n):
    return np.diag([*np.ones(n - 1), 0.0]).astype(dtype)


def _specs(upper):
    kw = {"upper": True} if upper else {}
    square = dict(square=True, inplace=0)
    return (
        Spec("cholesky", lambda n: [((n, n), "t")], _definite, kw, shapes=SHAPES, empty=((0,),), kinds=REGULAR,
             residuals=_factor_residuals(upper), fails=_indefinite, kappa=4.0, **square,
             reference=lambda a: H(np.linalg.cholesky(a)) if upper else np.linalg.cholesky(a)),
        Spec("cholesky_ex", lambda n: [((n, n), "t"), ((), "i")], _definite, kw, shapes=SHAPES, empty=((0,),),
             residuals=_factor_residuals(upper), fails=_indefinite, info=True, square=True, has_out=False),
        Spec("cholesky_solve", lambda n, k: [((n, k), "t")], _factor(upper), kw, ("c", "b"), SYSTEMS,
             ((0, 0), (0, 2), (3, 0)), residuals=_solve_residuals(upper), square=True, inplace=1, kappa=64.0,
             reference=lambda c, b: np.linalg.solve(_product(c, upper), b)),
        Spec("cholesky_inverse", lambda n: [((n, n), "t")], _factor(upper), kw, ("c",), SHAPES, ((0,),),
             residuals=_inverse_residuals, fails=_singular_factor, kappa=64.0, **square,
             reference=lambda c: np.linalg.inv(_product(c, upper))),
    )


class TestLower(Universal):
    specs = _specs(False)


class TestUpper(Universal):
    specs = _specs(True)


@pytest.mark.parametrize("upper", [False, True])
def test_only_one_triangle_is_read(upper, dtype, rng):
    """The other triangle may hold anything, NaN included."""
    a = definite(rng, (4,), 6, dtype)
    junk = np.triu(np.full((6, 6), np.nan), 1).astype(dtype)
    junk = junk.T if upper else junk
    clean = np.triu(a) if upper else np.tril(a)
    assert_same_bits(la.cholesky(np.where(np.isnan(junk), junk, a), upper=upper), la.cholesky(a, upper=upper))
    assert_same_bits(la.cholesky(clean, upper=upper), la.cholesky(a, upper=upper))


@pytest.mark.parametrize("fn", ["cholesky_solve", "cholesky_inverse"])
@pytest.mark.parametrize("upper", [False, True])
def test_only_one_triangle_of_the_factor_is_read(fn, upper, dtype, rng):
    """The other triangle of a factor may hold anything, NaN included."""
    c = la.cholesky(definite(rng, (4,), 6, dtype), upper=upper)
    b = (normal(rng, (6, 2), dtype),) if fn == "cholesky_solve" else ()
    junk = c + (np.tril(np.full((6, 6), np.nan), -1) if upper else np.triu(np.full((6, 6), np.nan), 1)).astype(dtype)
    assert_same_bits(getattr(la, fn)(junk, *b, upper=upper), getattr(la, fn)(c, *b, upper=upper))


@pytest.mark.parametrize("kind", REGULAR)
def test_factor_solves_and_inverts(kind, dtype, rng):
    """The chain cholesky, cholesky_solve, cholesky_inverse against the prescribed inverse."""
    n = 6
    a = definite(rng, (3,), n, dtype, kind)
    c = la.cholesky(a)
    b = normal(rng, (3, n, 2), dtype) * np.abs(a).max()
    assert solution_ratio(a, la.cholesky_solve(c, b), b) <= RESIDUAL
    inverse = la.cholesky_inverse(c)
    x = la.cholesky_solve(c, np.eye(n, dtype=dtype))
    assert distance(inverse, x) <= rounding(dtype, n, condition(kind, n, dtype))


def test_vector_right_hand_side(dtype, rng):
    """b is a vector only if it has one dimension, and then broadcasts over the batch."""
    c, b = la.cholesky(definite(rng, (4,), 5, dtype)), normal(rng, (5,), dtype)
    x = la.cholesky_solve(c, b)
    assert x.shape == (4, 5)
    assert_same_bits(x, la.cholesky_solve(c, b[:, None])[..., 0])


def test_stack_of_rows_is_not_vectors(rng):
    """A (4, 5) right-hand side of 5 x 5 factors is one matrix with the wrong number of rows."""
    c = la.cholesky(definite(rng, (4,), 5, "float64"))
    with pytest.raises(ValueError, match=r"^cholesky_solve: argument 'b' has 4 rows, expected the 5 of 'c'"):
        la.cholesky_solve(c, normal(rng, (4, 5), "float64"))


def test_batches_that_do_not_broadcast(rng):
    """The message names both shapes."""
    c = la.cholesky(definite(rng, (4,), 5, "float64"))
    with pytest.raises(ValueError, match=r"batch shapes \(4,\) of 'c' and \(3,\) of 'b' do not broadcast"):
        la.cholesky_solve(c, normal(rng, (3, 5, 2), "float64"))


@pytest.mark.parametrize("order", range(1, 6))
def test_info_is_the_failing_minor(order, dtype):
    """info counts the leading minors up to the first that is not positive."""
    a = np.eye(5, dtype=dtype)
    a[order - 1, order - 1] = -1
    assert la.cholesky_ex(a).info == order
    assert np.isnan(la.cholesky_ex(a).L).all()


def test_zero_matrix_is_not_definite(dtype):
    """A zero pivot is a failure, not a division by zero."""
    with pytest.raises(LinAlgError, match=r"^cholesky: the matrix is not positive definite"):
        la.cholesky(np.zeros((2, 2), dtype))


def test_imaginary_part_of_the_diagonal_is_ignored(rng):
    """The diagonal of a Hermitian matrix is real by definition; LAPACK does not read its imaginary part."""
    a = definite(rng, (3,), 4, "complex128")
    assert_same_bits(la.cholesky(a + 1j * np.eye(4)), la.cholesky(a))


def test_result_fields(dtype):
    """The names of the info form."""
    assert la.cholesky_ex(np.eye(2, dtype=dtype))._fields == ("L", "info")
