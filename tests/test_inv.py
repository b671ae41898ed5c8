"""inv and inv_ex."""
import numpy as np
import pytest
from _checks import Universal
from _matrices import REGULAR, condition, matrix, normal
from _measure import assert_same_bits, distance, inverse_ratio
from _spec import Spec
from _tols import RESIDUAL, rounding
from hypothesis import given
from hypothesis import strategies as st

import linalgad as la
from linalgad import LinAlgError

SHAPES = ((1,), (2,), (5,), (33,), (70,), (6,))


def _matrix(rng, batch, dtype, n, kind):
    return (matrix(rng, batch, n, n, dtype, kind),)


def _singular(dtype, n):
    return np.diag([*np.ones(n - 1), 0.0]).astype(dtype)


class TestInv(Universal):
    specs = (
        Spec("inv", lambda n: [((n, n), "t")], _matrix, shapes=SHAPES, empty=((0,),), kinds=REGULAR,
             residuals=lambda args, outs: {"inverse": inverse_ratio(args[0], outs[0])}, reference=np.linalg.inv,
             kappa=4.0, fails=_singular, square=True, inplace=0),
        Spec("inv_ex", lambda n: [((n, n), "t"), ((), "i")], _matrix, shapes=SHAPES, empty=((0,),),
             residuals=lambda args, outs: {"inverse": inverse_ratio(args[0], outs[0])}, fails=_singular, info=True,
             square=True, has_out=False),
    )


@pytest.mark.parametrize("kind", REGULAR)
def test_inverse_of_the_inverse(kind, dtype, rng):
    """The relative error is that of two inversions, each amplified by the condition."""
    a = matrix(rng, (3,), 6, 6, dtype, kind)
    kappa = condition(kind, 6, dtype)
    assert distance(la.inv(la.inv(a)), a) <= rounding(dtype, 6, kappa) * kappa


@given(n=st.integers(0, 9), batch=st.lists(st.integers(0, 3), max_size=2), name=st.sampled_from("fdFD"),
       step=st.sampled_from([(1, 1), (2, 1), (1, -1), (-2, 3)]))
def test_any_shape_and_strides(n, batch, name, step):
    """The residual is small whatever the shape and the strides."""
    rng = np.random.default_rng(n)
    big = np.full((*batch, n * abs(step[0]), n * abs(step[1])), np.nan, name)
    a = big[..., ::step[0], ::step[1]]
    a[...] = matrix(rng, batch, n, n, name)
    assert inverse_ratio(a, la.inv(a)) <= RESIDUAL


@pytest.mark.parametrize("zero", range(1, 6))
def test_info_is_the_zero_pivot(zero, dtype):
    """Counted from 1; the slice is NaN, the others are not touched."""
    a = np.stack([2 * np.eye(5), np.diag([0.0 if k >= zero else 2.0 for k in range(1, 6)])]).astype(dtype)
    x, info = la.inv_ex(a)
    assert info.tolist() == [0, zero]
    assert np.isnan(x[1]).all()
    assert (x[0] == np.eye(5) / 2).all()


@pytest.mark.parametrize("place", [(0, 0), (0, 2), (2, 0), (3, 3)], ids=str)
def test_nan_in_a_singular_matrix_is_no_failure(place, dtype):
    """A matrix with NaN gives NaN; whether it would be singular without is not decided."""
    a = np.diag([1.0, 0, 1, 1]).astype(dtype)
    a[place] = np.nan
    x, info = la.inv_ex(a)
    assert info == 0
    assert np.isnan(x).all()
    assert np.isnan(la.inv(a)).all()


@pytest.mark.parametrize("n", [1, 3, 8, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_nothing_but_nan_and_infinities(value, n, dtype):
    """No hang and no finite inverse; the inverse of an infinite number is 0."""
    x = la.inv(np.full((2, n, n), value, dtype), errors="nan")
    assert np.isnan(x).any() or (n == 1 and not x.any())


def test_out_of_the_info_form(dtype, rng):
    """The inverse goes where out says, also over the input."""
    a = normal(rng, (3, 4, 4), dtype)
    expected = la.inv_ex(a)
    got = la.inv_ex(a, out=a)
    assert got.inverse is a
    assert_same_bits(got, expected)


@pytest.mark.parametrize("move", [lambda b: (b[:, :-1, :-1], b[:, 1:, 1:]), lambda b: (b, b[::-1]),
                                  lambda b: (b, b.swapaxes(-1, -2))], ids=["shifted", "batch reversed", "transposed"])
def test_out_overlapping_askew(move, dtype, rng):
    """A destination that shares memory with the input, but not entry by entry."""
    a, out = move(normal(rng, (3, 6, 6), dtype))
    expected = la.inv(a.copy())
    assert_same_bits(la.inv(a, out=out), expected)


def test_failing_slices_of_out(dtype):
    """With errors='nan' the destination has NaN there, whatever it held."""
    out = np.full((2, 3, 3), 77, dtype)
    a = np.stack([np.zeros((3, 3)), 2 * np.eye(3)]).astype(dtype)
    assert la.inv(a, errors="nan", out=out) is out
    assert np.isnan(out[0]).all()
    assert (out[1] == np.eye(3) / 2).all()


def test_result_fields(dtype):
    """The names of the info form."""
    assert la.inv_ex(np.eye(2, dtype=dtype))._fields == ("inverse", "info")


def test_error_is_numpys(dtype):
    """Code that catches numpy.linalg.LinAlgError keeps working."""
    with pytest.raises(np.linalg.LinAlgError) as e:
        la.inv(np.zeros((2, 2), dtype))
    assert isinstance(e.value, LinAlgError)


def test_most_batch_axes(dtype, rng):
    """NumPy's arrays have at most 64 axes, 62 of them of the batch."""
    a = matrix(rng, (), 3, 3, dtype)
    assert_same_bits(la.inv(a.reshape(*(1,) * 62, 3, 3)).reshape(3, 3), la.inv(a))
