"""lu, lu_factor, lu_factor_ex and lu_solve."""
import numpy as np
import pytest
import scipy.linalg
from _checks import Universal
from _layouts import fortran
from _matrices import KINDS, H, matrix, normal
from _measure import assert_same_bits, residual_ratio, solution_ratio
from _spec import Spec, described
from _structures import T, factors, product
from _tols import RESIDUAL, largest_multiplier
from hypothesis import given
from hypothesis import strategies as st

import linalgad as la
from linalgad import LinAlgError

SHAPES = ((1, 1), (1, 4), (2, 2), (5, 3), (3, 5), (33, 33), (40, 7), (6, 4))
SYSTEMS = ((1, 1), (3, 2), (8, 8), (33, 5), (6, 4))
EMPTY = ((0, 0), (0, 3), (3, 0))
ORDERS = (1, 2, 3, 8, 17, 40, 65)
BAD_PIVOTS = {"before the row": (1, 0, 2), "negative": (-1, 1, 2), "past the end": (0, 1, 3),
              "overflows int32": (2 ** 31 - 1, 1, 2), "needs int64": (2 ** 40, 1, 2)}

_scipy_lu_factor = np.vectorize(scipy.linalg.lu_factor, signature="(m,n)->(m,n),(k)")


def _scipy_lu(a, permute_l=False, p_indices=False):
    m, n = a.shape[-2:]
    if n or permute_l:
        return scipy.linalg.lu(a, permute_l=permute_l, p_indices=p_indices)
    # SciPy forgets the rows of a matrix without columns.
    p = np.arange(m) if p_indices else np.eye(m)
    return np.broadcast_to(p, a.shape[:-2] + p.shape), a, np.empty((*a.shape[:-2], 0, 0))


def _matrix(rng, batch, dtype, m, n, kind):
    return (matrix(rng, batch, m, n, dtype, kind),)


def _factors(rng, batch, dtype, n, k, kind):
    return (*factors(rng, batch, n, dtype), normal(rng, (*batch, n, k), dtype))


def _solve(fn, lu, piv, b, *args, **kw):
    return fn((lu, piv), b, *args, **kw)


def _triangles(low, up):
    """What is wrong with the shape and the size of the factors; partial pivoting bounds L."""
    k = low.shape[-1]
    return {"lower": np.inf if np.triu(low[..., :k, :], 1).any() else 0.0,
            "unit": np.inf if (np.diagonal(low, axis1=-2, axis2=-1) != 1).any() else 0.0,
            "upper": np.inf if np.tril(up, -1).any() else 0.0,
            "pivoting": np.inf if (np.abs(low) > largest_multiplier(low.dtype)).any() else 0.0}


def _residuals(args, outs):
    p, low, up = outs
    # U carries the scale of the matrix, so the transposed factors are measured.
    return {"a": residual_ratio(T(args[0]), T(up), T(low), T(p)), **_triangles(low, up)}


def _index_residuals(args, outs):
    return _residuals(args, (np.eye(args[0].shape[-2])[outs[0]], *outs[1:]))


def _permuted_residuals(args, outs):
    return {"a": residual_ratio(T(args[0]), T(outs[1]), T(outs[0]))}


def _factor_residuals(args, outs):
    lu, piv = outs[:2]
    big = np.abs(args[0]).max()
    a, k = product(np.triu(lu) / big + np.tril(lu, -1), piv), piv.shape[-1]
    return {"a": residual_ratio((args[0] / big).astype(lu.dtype), a.astype(lu.dtype)),
            "interchanges": np.inf if (piv < np.arange(k)).any() else 0.0}


def _solution(trans):
    op = {0: lambda a: a, 1: T, 2: H}[trans]
    return lambda lu, piv: op(product(lu, piv))


def _lu_specs():
    def core(first):
        return lambda m, n: [*first(m), ((m, min(m, n)), "t"), ((min(m, n), n), "t")]

    common = dict(shapes=SHAPES, empty=EMPTY)
    return (
        Spec("lu", core(lambda m: [((m, m), "r")]), _matrix, kinds=KINDS, residuals=_residuals, kappa=64.0,
             reference=_scipy_lu, **common),
        Spec("lu", core(lambda m: [((m,), "p")]), _matrix, {"p_indices": True}, kinds=KINDS, kappa=64.0,
             residuals=_index_residuals, reference=lambda a: _scipy_lu(a, p_indices=True), **common),
        Spec("lu", core(lambda m: []), _matrix, {"permute_l": True}, kinds=KINDS, residuals=_permuted_residuals,
             kappa=64.0, reference=lambda a: _scipy_lu(a, permute_l=True), **common),
    )


def _solve_spec(trans, kwargs):
    solution = _solution(trans)
    return Spec("lu_solve", lambda n, k: [((n, k), "t")], _factors, kwargs, ("lu", "piv", "b"), SYSTEMS,
                ((0, 0), (0, 2), (3, 0)), call=_solve, square=True, inplace=2, kappa=64.0,
                fails=lambda dtype, n: np.diag([*np.ones(n - 1), 0.0]).astype(dtype),
                residuals=lambda args, outs: {"x": solution_ratio(solution(*args[:2]), outs[0], args[2])},
                reference=lambda lu, piv, b: np.linalg.solve(solution(lu, piv), b))


class TestLu(Universal):
    specs = _lu_specs()


class TestLuFactor(Universal):
    specs = (
        Spec("lu_factor", lambda m, n: [((m, n), "t"), ((min(m, n),), "i")], _matrix, shapes=SHAPES, empty=EMPTY,
             kinds=KINDS, residuals=_factor_residuals, reference=_scipy_lu_factor, kappa=64.0, inplace=0),
        Spec("lu_factor_ex", lambda m, n: [((m, n), "t"), ((min(m, n),), "i"), ((), "i")], _matrix, shapes=SHAPES,
             empty=EMPTY, residuals=_factor_residuals, info=True, has_out=False),
    )


class TestLuSolve(Universal):
    specs = (_solve_spec(0, {}), _solve_spec(1, {"trans": 1}), _solve_spec(2, {"trans": "C"}))


# ---------------------------------------------------------------- factors
@given(m=st.integers(0, 9), n=st.integers(0, 9), batch=st.lists(st.integers(0, 3), max_size=3),
       step=st.sampled_from([(1, 1), (2, 1), (1, -1), (-2, 3)]), name=st.sampled_from("fdFD"))
def test_any_shape_and_strides(m, n, batch, step, name):
    """P L U is the matrix, whatever its shape and strides."""
    rng = np.random.default_rng(m + 10 * n)
    big = normal(rng, (*batch, m * abs(step[0]), n * abs(step[1])), name)
    a = big[..., ::step[0], ::step[1]]
    p, low, up = la.lu(a)
    assert residual_ratio(T(a), T(up), T(low), T(p)) <= RESIDUAL


def test_the_three_forms_of_the_permutation(dtype, rng):
    """A matrix, indices and rows of L put into their places say the same."""
    a = normal(rng, (3, 6, 4), dtype)
    full, index, (permuted, up) = la.lu(a), la.lu(a, p_indices=True), la.lu(a, permute_l=True)
    assert_same_bits(np.take_along_axis(index.L, index.P[..., None], -2), permuted)
    assert_same_bits(full.P @ full.L.real, permuted.real)
    assert_same_bits((full.U, index.U), (up, up))


def test_permute_l_outweighs_p_indices(dtype, rng):
    """With both, as in SciPy, there is no permutation left to return."""
    a = normal(rng, (3, 6, 4), dtype)
    assert_same_bits(la.lu(a, permute_l=True, p_indices=True), la.lu(a, permute_l=True))


def test_compact_and_separate_factors_agree(dtype, rng):
    """lu_factor holds the factors of lu."""
    a = normal(rng, (3, 7, 5), dtype)
    compact, (_, low, up) = la.lu_factor(a).lu, la.lu(a)
    assert_same_bits((np.tril(compact, -1), np.triu(compact[..., :5, :])), (np.tril(low, -1), up))


@pytest.mark.parametrize("zero", range(1, 6))
def test_info_is_the_first_zero_of_u(zero, dtype):
    """Counted from 1; the factors are still those of the matrix."""
    a = np.diag([0.0 if k >= zero else 2.0 for k in range(1, 6)]).astype(dtype)
    lu, piv, info = la.lu_factor_ex(a)
    assert info == zero
    assert_same_bits((lu, piv), (a, np.arange(5, dtype=np.int32)))


def test_info_of_a_batch(dtype):
    """One code a slice; a stack is not spoilt by its singular members."""
    a = np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, 2, 0])]).astype(dtype)
    assert la.lu_factor_ex(a).info.tolist() == [0, 2, 1, 3]


def test_result_fields(dtype):
    """The field names of the results."""
    a = np.eye(2, dtype=dtype)
    assert [la.lu(a)._fields, la.lu_factor(a)._fields, la.lu_factor_ex(a)._fields] == [
        ("P", "L", "U"), ("lu", "piv"), ("lu", "piv", "info")]


def test_out_of_the_info_form(dtype, rng):
    """(lu, piv) go where out says; lu may be the input."""
    a = normal(rng, (3, 4, 4), dtype)
    expected = la.lu_factor_ex(a)
    piv = np.empty((3, 4), np.int32)
    got = la.lu_factor_ex(a, out=(a, piv))
    assert got.lu is a
    assert got.piv is piv
    assert_same_bits(got, expected)


def test_out_overlapping_askew(dtype, rng):
    """A destination shifted against the input by a row."""
    buffer = normal(rng, (3, 5, 4), dtype)
    a, out = buffer[:, :-1], (buffer[:, 1:], np.empty((3, 4), np.int32))
    expected = la.lu_factor(a.copy())
    assert_same_bits(la.lu_factor(a, out=out), expected)


def test_outs_that_overlap_each_other_are_refused(dtype):
    """L and U cannot share memory."""
    low = np.empty((2, 3, 3), dtype)
    with pytest.raises(ValueError, match=r"^lu: out\[1\] overlaps another destination"):
        la.lu(np.ones((2, 3, 3), dtype), permute_l=True, out=(low, low))


@pytest.mark.parametrize("out", [np.empty((3, 3)), (np.empty((3, 3)),), 3], ids=["array", "one of two", "number"])
def test_out_that_is_no_pair_is_refused(out):
    """lu_factor has two results."""
    with pytest.raises(TypeError, match=r"^lu_factor: out must be a tuple of 2 arrays"):
        la.lu_factor(np.eye(3), out=out)


# ---------------------------------------------------------------- NaN and infinities
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_pivots_of_nonfinite_matrices_are_interchanges(value, n, dtype):
    """Whatever the search for a pivot makes of NaN, it stays inside the matrix, and lu_solve takes it."""
    factored = la.lu_factor(np.full((2, n, n), value, dtype))
    assert ((np.arange(n) <= factored.piv) & (factored.piv < n)).all()
    x = la.lu_solve(factored, np.ones((n, 2), dtype), errors="nan")
    assert np.isnan(x).any() or (n == 1 and not x.any())


@pytest.mark.parametrize("n", ORDERS)
def test_nan_gives_a_permutation_and_nan(n, dtype):
    """P stays a permutation, so P @ L @ U is NaN and nothing else."""
    p, _, up = la.lu(np.full((n, n), np.nan, dtype), p_indices=True)
    assert sorted(p) == list(range(n))
    assert np.isnan(up).any()


# ---------------------------------------------------------------- lu_solve
@pytest.mark.parametrize(("number", "letter"), [(0, "N"), (1, "T"), (2, "C")])
def test_letters_of_trans(number, letter, dtype, rng):
    """LAPACK's letters mean what SciPy's numbers mean."""
    lu, piv, b = _factors(rng, (3,), dtype, 5, 2, None)
    assert_same_bits(la.lu_solve((lu, piv), b, trans=letter), la.lu_solve((lu, piv), b, number))


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_agrees_with_scipy(trans, dtype, rng):
    """The factors of one are those of the other."""
    a, b = matrix(rng, (), 6, 6, dtype), normal(rng, (6, 3), dtype)
    op = {0: a, 1: a.T, 2: H(a)}[trans]
    assert solution_ratio(op, la.lu_solve(scipy.linalg.lu_factor(a), b, trans), b) <= RESIDUAL
    assert solution_ratio(op, scipy.linalg.lu_solve(la.lu_factor(a), b, trans), b) <= RESIDUAL


@pytest.mark.parametrize("trans", [3, -1, "n", "H", "", None, 0.5], ids=repr)
def test_other_trans_is_refused(trans):
    """Nothing is guessed from a wrong trans."""
    with pytest.raises(ValueError, match=r"^lu_solve: trans must be 0, 1, 2, 'N', 'T' or 'C', got"):
        la.lu_solve(la.lu_factor(np.eye(2)), np.ones(2), trans)


@pytest.mark.parametrize("errors", ["raise", "nan"])
@pytest.mark.parametrize("piv", BAD_PIVOTS.values(), ids=BAD_PIVOTS)
def test_wrong_pivots_are_refused(piv, errors, dtype):
    """Pivots that would exchange rows outside the matrix raise, also under errors='nan'."""
    piv = np.array([(0, 1, 2), piv, (2, 2, 2)])
    with pytest.raises(ValueError, match=r"^lu_solve: the pivots must be row interchanges"):
        la.lu_solve((np.eye(3, dtype=dtype), piv), np.ones(3, dtype), errors=errors)


@pytest.mark.parametrize("piv", [[0.0, 1.0], [True, True], ["0", "1"], [None, None]], ids=str)
def test_pivots_that_are_no_integers_are_refused(piv):
    """Floats, booleans, strings and objects are no row numbers."""
    with pytest.raises(TypeError, match=r"^lu_solve: the pivots must be integers"):
        la.lu_solve((np.eye(2), piv), np.ones(2))


@pytest.mark.parametrize("piv", [0, [0], [0, 1, 2]], ids=str)
def test_pivots_of_another_length_are_refused(piv):
    """There is one for every row."""
    with pytest.raises(ValueError, match=r"^lu_solve: the pivots must have 2 entries"):
        la.lu_solve((np.eye(2), piv), np.ones(2))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64", ">i4"])
def test_pivots_of_any_integer_type(kind, dtype, rng):
    """SciPy's and everybody's row numbers are taken."""
    lu, piv, b = _factors(rng, (3,), dtype, 5, 2, None)
    assert_same_bits(la.lu_solve((lu, piv.astype(kind)), b), la.lu_solve((lu, piv), b))


@pytest.mark.parametrize("pair", [np.eye(3), (np.eye(2),), 5, None], ids=["array", "one", "number", "none"])
def test_what_is_no_pair_of_factors_is_refused(pair):
    """The message says what was expected."""
    with pytest.raises(TypeError, match=r"^lu_solve: argument 'lu_and_piv' must be a pair \(lu, piv\)"):
        la.lu_solve(pair, np.ones(3))


def test_factors_and_pivots_broadcast(dtype, rng):
    """One L and U under several row orders, several right-hand sides each."""
    lu, piv, b = _factors(rng, (4, 3), dtype, 5, 2, None)
    x = la.lu_solve((lu[0, 0], piv[:, :1]), b[:1])
    whole = la.lu_solve(tuple(np.broadcast_to(v, (4, 3, *v.shape[2:])) for v in (lu[:1, :1], piv[:, :1])),
                        np.broadcast_to(b[:1], b.shape))
    assert_same_bits(x, whole)


@pytest.mark.parametrize(("factors_", "pivots", "rhs", "names"), [
    ((4,), (4,), (3,), "of 'lu' and .* of 'b'"), ((4,), (3,), (4,), "of 'lu' and .* of 'piv'")], ids=["b", "piv"])
def test_batches_that_do_not_broadcast(factors_, pivots, rhs, names, rng):
    """The message names both arguments."""
    lu, piv = np.ones((*factors_, 5, 5)), np.zeros((*pivots, 5), int)
    with pytest.raises(ValueError, match=f"^lu_solve: batch shapes .* {names} do not broadcast"):
        la.lu_solve((lu, piv), np.ones((*rhs, 5, 2)))


def test_vector_right_hand_side(dtype, rng):
    """b is a vector only if it has one dimension, and then broadcasts over the batch."""
    lu, piv, b = _factors(rng, (4,), dtype, 5, 2, None)
    x = la.lu_solve((lu, piv), b[0, :, 0])
    assert x.shape == (4, 5)
    assert_same_bits(x, la.lu_solve((lu, piv), b[0, :, :1])[..., 0])


def test_stack_of_rows_is_not_vectors():
    """A (4, 5) right-hand side of 5 x 5 factors is one matrix with the wrong number of rows."""
    with pytest.raises(ValueError, match=r"^lu_solve: argument 'b' has 4 rows, expected the 5 of 'lu'"):
        la.lu_solve(la.lu_factor(np.stack([np.eye(5)] * 4)), np.ones((4, 5)))


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_factors_in_fortran_order_are_read_in_place(trans, dtype, rng):
    """Same bits as from a copy, and untouched; so too inside a larger array."""
    lu, piv, b = _factors(rng, (3,), dtype, 5, 2, None)
    large = T(np.full((3, 9, 8), np.nan, dtype))[:, :5, :5]
    large[...] = lu
    expected = la.lu_solve((lu, piv), b, trans)
    assert_same_bits(la.lu_solve((fortran(lu), piv), b, trans), expected)
    assert_same_bits(la.lu_solve((large, piv), b, trans), expected)
    assert_same_bits(large, lu)


@pytest.mark.parametrize("strides", [(8, 2 ** 40), (2 ** 40, 8), (8, 0), (0, 8)], ids=str)
def test_strides_no_leading_dimension_can_hold(strides):
    """The stride of an axis of length 1 may be anything, also what LAPACK's integers cannot count."""
    lu = np.lib.stride_tricks.as_strided(np.full(1, 4.0), (1, 1), strides)
    assert la.lu_solve((lu, [0]), np.full(1, 8.0)).tolist() == [2.0]


@pytest.mark.parametrize("order", ["C", "F"])
def test_empty_factors_of_any_strides(order, dtype, capfd):
    """LAPACK wants a leading dimension of at least 1 even of nothing, and complains on stderr."""
    lu = np.broadcast_to(np.empty((1, 0), dtype), (0, 0))
    lu = lu.T if order == "F" else lu
    assert described(la.lu_solve((lu, np.empty(0, int)), np.empty((0, 2), dtype))) == [((0, 2), dtype)]
    assert capfd.readouterr() == ("", "")


def test_singular_factors_of_a_chain(dtype):
    """lu_factor takes a singular matrix, lu_solve names it."""
    a = np.stack([np.eye(3), np.ones((3, 3)), np.eye(3)]).astype(dtype)
    with pytest.raises(LinAlgError, match=r"^lu_solve: 1 of 3 matrices failed, at index 1: .* is singular") as e:
        la.lu_solve(la.lu_factor(a), np.ones(3, dtype))
    assert e.value.indices == ((1,),)


def test_most_batch_axes(dtype, rng):
    """NumPy's arrays have at most 64 axes, 62 of them of the batch."""
    a, b = matrix(rng, (), 3, 3, dtype), normal(rng, (3, 2), dtype)
    many = (1,) * 62
    lu, piv = la.lu_factor(a.reshape(*many, 3, 3))
    x = la.lu_solve((lu, piv), b.reshape(*many, 3, 2))
    assert_same_bits(x.reshape(3, 2), la.lu_solve(la.lu_factor(a), b))


def test_more_batch_axes_than_the_result_can_have():
    """Pivots of 63 batch axes leave no room for the matrix in the result."""
    with pytest.raises(ValueError, match=r"^lu_solve: .* 63 batch axes"):
        la.lu_solve((np.eye(2), np.zeros((1,) * 63 + (2,), int)), np.ones((2, 1)))
