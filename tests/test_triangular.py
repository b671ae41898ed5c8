"""solve_triangular."""
import itertools

import numpy as np
import pytest
import scipy.linalg
from _checks import Universal
from _layouts import fortran
from _matrices import H, normal, triangular
from _measure import assert_same_bits, distance, solution_ratio
from _spec import Spec, described
from _structures import T
from _tols import RESIDUAL, rounding
from hypothesis import given
from hypothesis import strategies as st

import linalgad as la
from linalgad import LinAlgError

SYSTEMS = ((1, 1), (3, 2), (8, 8), (33, 5), (6, 4))
OPERATIONS = {0: lambda a: a, 1: T, 2: H}
SIDES = tuple(itertools.product((False, True), (0, 1, 2), (False, True)))


def _seen(lower, trans, unit):
    """The matrix that a call with these keywords solves with, of an array."""
    half = np.tril if lower else np.triu

    def matrix(a):
        a = half(a, -1 if lower else 1) + np.eye(a.shape[-1], dtype=a.dtype) if unit else half(a)
        return OPERATIONS[trans](a)
    return matrix


def _system(rng, batch, dtype, n, k, kind):
    return triangular(rng, batch, n, dtype), normal(rng, (*batch, n, k), dtype)


def _spec(lower, trans, unit):
    seen = _seen(lower, trans, unit)
    kwargs = {k: v for k, v in {"lower": lower, "trans": trans, "unit_diagonal": unit}.items() if v}
    fails = None if unit else lambda dtype, n: np.diag([*np.ones(n - 1), 0.0]).astype(dtype)
    return Spec("solve_triangular", lambda n, k: [((n, k), "t")], _system, kwargs, ("a", "b"), SYSTEMS,
                ((0, 0), (0, 2), (3, 0)), square=True, inplace=1, kappa=16.0, fails=fails,
                residuals=lambda args, outs: {"x": solution_ratio(seen(args[0]), outs[0], args[1])},
                reference=lambda a, b: np.linalg.solve(seen(a), b))


class TestSolveTriangular(Universal):
    specs = tuple(_spec(lower, trans, False) for lower, trans, unit in SIDES if not unit)


@pytest.mark.parametrize(("lower", "trans", "unit"), SIDES)
@pytest.mark.parametrize("order", [np.copy, fortran], ids=["rows", "columns"])
def test_only_the_triangle_is_read(order, lower, trans, unit, dtype, rng):
    """The other triangle, and a unit diagonal, may hold anything, NaN included."""
    a, b = _system(rng, (4,), dtype, 6, 2, None)
    half = np.tril if lower else np.triu
    read = half(np.ones((6, 6)), (-1 if lower else 1) * unit) > 0
    junk = order(np.where(read, a, np.array(np.nan, dtype)))
    keywords = dict(lower=lower, trans=trans, unit_diagonal=unit)
    x = la.solve_triangular(junk, b, **keywords)
    assert_same_bits(x, la.solve_triangular(a, b, **keywords))
    assert solution_ratio(_seen(lower, trans, unit)(a), x, b) <= RESIDUAL


@given(n=st.integers(0, 9), k=st.integers(0, 4), batch=st.lists(st.integers(0, 3), max_size=2),
       name=st.sampled_from("fdFD"), side=st.sampled_from(SIDES),
       step=st.sampled_from([(1, 1), (2, 1), (1, -1), (-2, 3)]))
def test_any_shape_and_strides(n, k, batch, name, side, step):
    """The residual is small whatever the shape and the strides of the matrix."""
    rng = np.random.default_rng(n + 10 * k)
    big = np.full((*batch, n * abs(step[0]), n * abs(step[1])), np.nan, name)
    a, b = big[..., ::step[0], ::step[1]], normal(rng, (*batch, n, k), name)
    a[...] = triangular(rng, batch, n, name)
    lower, trans, unit = side
    x = la.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
    assert x.shape == b.shape
    assert solution_ratio(_seen(*side)(a), x, b) <= RESIDUAL


@pytest.mark.parametrize(("lower", "trans", "unit"), SIDES)
def test_agrees_with_scipy(lower, trans, unit, dtype, rng):
    """The keywords mean what SciPy's mean."""
    a, b = _system(rng, (), dtype, 6, 2, None)
    x = la.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
    true = scipy.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
    assert distance(x, true) <= rounding(dtype, 6, kappa=16.0)


@pytest.mark.parametrize(("number", "letter"), [(0, "N"), (1, "T"), (2, "C")])
def test_letters_of_trans(number, letter, dtype, rng):
    """LAPACK's letters mean what SciPy's numbers mean."""
    a, b = _system(rng, (3,), dtype, 5, 2, None)
    assert_same_bits(la.solve_triangular(a, b, trans=letter), la.solve_triangular(a, b, trans=number))


@pytest.mark.parametrize("trans", [3, -1, "n", "H", "", None, 0.5, np.zeros(2)], ids=repr)
def test_other_trans_is_refused(trans):
    """Nothing is guessed from a wrong trans."""
    with pytest.raises(ValueError, match=r"^solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got"):
        la.solve_triangular(np.eye(2), np.ones(2), trans=trans)


def test_unit_diagonal_is_never_singular(dtype, rng):
    """A diagonal that is not read cannot fail."""
    a, b = _system(rng, (), dtype, 5, 2, None)
    np.fill_diagonal(a, 0)
    x = la.solve_triangular(a, b, lower=True, unit_diagonal=True)
    assert solution_ratio(_seen(True, 0, True)(a), x, b) <= RESIDUAL


@pytest.mark.parametrize("zero", range(5))
@pytest.mark.parametrize("lower", [False, True])
def test_a_zero_anywhere_on_the_diagonal_fails(lower, zero, dtype, rng):
    """Not the first or the last one only."""
    a, b = _system(rng, (), dtype, 5, 2, None)
    a[zero, zero] = 0
    with pytest.raises(LinAlgError, match=r"^solve_triangular: the matrix is singular"):
        la.solve_triangular(a, b, lower=lower)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("place", [(0, 0), (2, 2), (2, 1), (1, 2)], ids=str)
def test_nan_beside_a_zero_on_the_diagonal(place, lower, dtype, rng):
    """A matrix with NaN gives NaN, also if it is singular; NaN in the other triangle does not count."""
    a, b = _system(rng, (), dtype, 4, 1, None)
    a[3, 3] = 0
    a[place] = np.nan
    if (place[0] < place[1]) == lower and place[0] != place[1]:
        with pytest.raises(LinAlgError, match="singular"):
            la.solve_triangular(a, b, lower=lower)
    else:
        assert np.isnan(la.solve_triangular(a, b, lower=lower)).all()


def test_vector_right_hand_side(dtype, rng):
    """b is a vector only if it has one dimension, and then broadcasts over the batch."""
    a, b = _system(rng, (4,), dtype, 5, 2, None)
    x = la.solve_triangular(a, b[0, :, 0])
    assert x.shape == (4, 5)
    assert_same_bits(x, la.solve_triangular(a, b[0, :, :1])[..., 0])


def test_stack_of_rows_is_not_vectors():
    """A (4, 5) right-hand side of 5 x 5 matrices is one matrix with the wrong number of rows."""
    with pytest.raises(ValueError, match=r"^solve_triangular: argument 'b' has 4 rows, expected the 5 of 'a'"):
        la.solve_triangular(np.stack([np.eye(5)] * 4), np.ones((4, 5)))


def test_batches_that_do_not_broadcast():
    """The message names both shapes."""
    with pytest.raises(ValueError, match=r"batch shapes \(4,\) of 'a' and \(3,\) of 'b' do not broadcast"):
        la.solve_triangular(np.stack([np.eye(5)] * 4), np.ones((3, 5, 2)))


def test_a_scalar_right_hand_side_is_refused():
    """There is nothing to be solved for."""
    with pytest.raises(ValueError, match=r"^solve_triangular: argument 'b' must have at least one dimension"):
        la.solve_triangular(np.eye(2), 1.0)


@pytest.mark.parametrize("target", ["a", "b"])
def test_out_overlapping_askew(target, dtype, rng):
    """A destination shifted against an input by a row, or in the reverse order of its batch."""
    buffer = triangular(rng, (3,), 6, dtype)
    given_ = {"a": buffer[:, 1:, 1:], "b": normal(rng, (3, 5, 5), dtype)}
    expected = la.solve_triangular(given_["a"].copy(), given_["b"].copy())
    out = {"a": buffer[:, :-1, :-1], "b": given_["b"][::-1]}[target]
    assert_same_bits(la.solve_triangular(given_["a"], given_["b"], out=out), expected)


@pytest.mark.parametrize("strides", [(8, 2 ** 40), (2 ** 40, 8), (8, 0), (0, 8), (8, -8), (0, 0)], ids=str)
def test_strides_no_leading_dimension_can_hold(strides, capfd):
    """The stride of an axis of length 1 may be anything, also what LAPACK's integers cannot count."""
    a = np.lib.stride_tricks.as_strided(np.full(1, 4.0), (1, 1), strides)
    assert la.solve_triangular(a, np.full(1, 8.0)).tolist() == [2.0]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("strides", [(8, 0), (0, 8), (0, 0)], ids=str)
def test_empty_matrix_of_any_strides(strides, capfd):
    """LAPACK wants a leading dimension of at least 1 even of nothing, and complains on stderr."""
    a = np.lib.stride_tricks.as_strided(np.empty(0), (0, 0), strides)
    assert described(la.solve_triangular(a, np.empty((0, 2)))) == [((0, 2), np.dtype(float))]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("lower", "trans", "unit"), SIDES)
@pytest.mark.parametrize(("n", "k"), [(40, 8), (63, 33), (64, 70), (65, 9), (130, 17)])
def test_many_right_hand_sides(n, k, lower, trans, unit, dtype, rng):
    """Blocks of the matrix and panels of right-hand sides, full and not; without the compact tier BLAS solves."""
    a, b = triangular(rng, (3,), n, dtype), normal(rng, (3, n, k), dtype)
    seen = _seen(lower, trans, unit)
    for order in (np.copy, fortran):
        x = la.solve_triangular(order(a), order(b), lower=lower, trans=trans, unit_diagonal=unit)
        assert solution_ratio(seen(a), x, b) <= RESIDUAL
