"""solve and solve_ex, for every structure."""
import itertools

import numpy as np
import pytest
import scipy.linalg
from _checks import Universal
from _layouts import LAYOUTS
from _matrices import REGULAR, H, definite, matrix, normal
from _measure import assert_same_bits, distance, solution_ratio
from _spec import Spec
from _structures import STRUCTURES, T, tridiagonal, unread, with_junk
from _tols import RESIDUAL, rounding
from hypothesis import given
from hypothesis import strategies as st

import linalgad as la
from linalgad import LinAlgError

SYSTEMS = ((1, 1), (2, 5), (3, 2), (8, 8), (33, 5), (6, 4))
TRIANGLES = ("pos", "sym", "her")       # of which one triangle is read, as `lower` says
WORDS = {"gen": None, "general": None, "positive definite": "pos", "symmetric": "sym", "hermitian": "her",
         "diagonal": "diag", "upper": "upper triangular", "lower": "lower triangular"}
CASES = tuple((s, low) for s, low in itertools.product(STRUCTURES, (False, True)) if s in TRIANGLES or not low)
IDS = [f"{s}{'-lower' * low}" for s, low in CASES]
BATCHES = (((), ()), ((3,), ()), ((), (2,)), ((2, 1), (3,)), ((0,), (1,)), ((1, 3), (2, 1)), ((2, 3), (2, 3)))

every_structure = pytest.mark.parametrize(("structure", "lower"), CASES, ids=IDS)


def _make(structure, lower):
    make, seen = STRUCTURES[structure](lower)

    def system(rng, batch, dtype, n, k, kind):
        return with_junk(rng, make(rng, batch, n, dtype, kind), seen), normal(rng, (*batch, n, k), dtype)
    return system


def _system(structure, lower, rng, dtype, batch=(3,), n=6, k=2):
    """A system, and the matrix without what the structure does not read."""
    kind = "dominant" if structure == "tridiagonal" else "separated"
    a, b = _make(structure, lower)(rng, batch, dtype, n, k, kind)
    return a, b, STRUCTURES[structure](lower)[1](a)


def _indefinite(dtype, n):
    return np.diag([*np.ones(n - 1), -1.0]).astype(dtype)


def _singular(dtype, n):
    return np.diag([*np.ones(n - 1), 0.0]).astype(dtype)


def _spec(structure, lower, **more):
    seen = STRUCTURES[structure](lower)[1]
    kinds = ("dominant", "random") if structure == "tridiagonal" else REGULAR
    kwargs = {k: v for k, v in {"assume_a": structure, "lower": lower}.items() if v}
    return Spec(
        kwargs=kwargs, names=("a", "b"), make=_make(structure, lower), shapes=SYSTEMS, square=True,
        empty=((0, 0), (0, 2), (3, 0)), kinds=kinds[:1] if "triangular" in str(structure) else kinds, kappa=16.0,
        residuals=lambda args, outs: {"x": solution_ratio(seen(args[0]), outs[0], args[1])},
        fails=_indefinite if structure == "pos" else _singular, **more)


def _reference(structure, lower):
    seen = STRUCTURES[structure](lower)[1]
    return lambda a, b: np.linalg.solve(seen(a), b)


class TestSolve(Universal):
    specs = tuple(_spec(s, low, fn="solve", outputs=lambda n, k: [((n, k), "t")], inplace=1,
                        reference=_reference(s, low))
                  for s, low in CASES)


class TestSolveEx(Universal):
    specs = tuple(_spec(s, low, fn="solve_ex", outputs=lambda n, k: [((n, k), "t"), ((), "i")], info=True,
                        has_out=False)
                  for s, low in ((None, False), ("pos", True), ("sym", False)))


# ---------------------------------------------------------------- structures
@every_structure
def test_entries_outside_the_structure_are_not_read(structure, lower, dtype, rng):
    """They may be NaN."""
    a, b, seen = _system(structure, lower, rng, dtype)
    blank = np.where(unread(STRUCTURES[structure](lower)[1], 6), np.array(np.nan, dtype), a)
    x = la.solve(blank, b, assume_a=structure, lower=lower)
    assert_same_bits(x, la.solve(seen, b, assume_a=structure, lower=lower))
    assert solution_ratio(seen, x, b) <= RESIDUAL


@pytest.mark.parametrize(("word", "structure"), WORDS.items())
@pytest.mark.parametrize("lower", [False, True])
def test_words_of_scipy(word, structure, lower, dtype, rng):
    """SciPy's short and long names of a structure give the same bits."""
    a, b, _ = _system(structure, lower, rng, dtype)
    assert_same_bits(la.solve(a, b, assume_a=word, lower=lower), la.solve(a, b, assume_a=structure, lower=lower))


@pytest.mark.parametrize("structure", [s for s in STRUCTURES if s not in TRIANGLES])
def test_lower_has_no_effect_without_two_triangles(structure, dtype, rng):
    """Which triangle is read is the question of symmetric matrices alone."""
    a, b, _ = _system(structure, False, rng, dtype)
    assert_same_bits(la.solve(a, b, assume_a=structure, lower=True), la.solve(a, b, assume_a=structure))


@every_structure
def test_agrees_with_the_general_solution(structure, lower, dtype, rng):
    """One system, two factorisations."""
    a, b, seen = _system(structure, lower, rng, dtype)
    x = la.solve(a, b, assume_a=structure, lower=lower)
    assert distance(x, la.solve(seen, b)) <= rounding(dtype, 6, kappa=16.0)


@pytest.mark.parametrize("structure", ["gen", "pos", "sym", "her", "upper triangular", "lower triangular"])
@pytest.mark.parametrize("lower", [False, True])
def test_agrees_with_scipy(structure, lower, dtype, rng):
    """The keywords mean what SciPy's mean."""
    a, b, _ = _system(WORDS.get(structure, structure), lower, rng, dtype, batch=())
    x = la.solve(a, b, assume_a=structure, lower=lower)
    true = {"upper triangular": lambda: scipy.linalg.solve_triangular(a, b),
            "lower triangular": lambda: scipy.linalg.solve_triangular(a, b, lower=True)}.get(
                structure, lambda: scipy.linalg.solve(a, b, assume_a=structure, lower=lower))()
    assert distance(x, true) <= rounding(dtype, 6, kappa=16.0)


@pytest.mark.parametrize("structure", ["pos", "her"])
@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_imaginary_part_of_the_diagonal_is_ignored(structure, kind, rng):
    """The diagonal of a Hermitian matrix is real by definition."""
    a, b, _ = _system(structure, False, rng, kind)
    shifted = (a + 1j * np.eye(6)).astype(kind)
    assert_same_bits(la.solve(shifted, b, assume_a=structure), la.solve(a, b, assume_a=structure))


def test_complex_symmetric_is_not_hermitian(rng):
    """The same array, two matrices."""
    a, b, _ = _system("sym", True, rng, "complex128")
    x, y = (la.solve(a, b, assume_a=s, lower=True) for s in ("sym", "her"))
    low = np.tril(a, -1)
    assert solution_ratio(low + T(low) + np.eye(6) * a, x, b) <= RESIDUAL
    assert solution_ratio(low + H(low) + np.eye(6) * a.real, y, b) <= RESIDUAL


def test_tridiagonal_exchanges_rows(dtype, rng):
    """A zero diagonal is no obstacle."""
    a = tridiagonal(rng, (), 6, dtype, "random")
    np.fill_diagonal(a, 0)
    b = normal(rng, (6, 2), dtype)
    assert solution_ratio(a, la.solve(a, b, assume_a="tridiagonal"), b) <= RESIDUAL


def test_indefinite_pivots_of_order_two(dtype, rng):
    """A zero diagonal needs 2 x 2 pivots."""
    a = np.eye(6, dtype=dtype)[::-1].copy()
    b = normal(rng, (6, 2), dtype)
    assert_same_bits(la.solve(a, b, assume_a="sym"), b[::-1])
    assert_same_bits(la.solve(a, b, assume_a="her"), b[::-1])


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_diagonal_with_extreme_entries(name):
    """A complex quotient is formed without the squares of its parts."""
    big = {"complex64": 1e30, "complex128": 1e200}[name]
    a = np.diag([big * (1 + 1j), big * (3 - 4j), 1j / big, (1 - 1j) / big]).astype(name)
    true = np.array([1 - 2j, 2, 1, 3 + 1j]).astype(name)
    b = np.array([big * (3 - 1j), big * (6 - 8j), 1j / big, (4 - 2j) / big]).astype(name)
    assert distance(la.solve(a, b, assume_a="diag"), true) <= rounding(name, 4)


@pytest.mark.parametrize("word", ["banded", "Pos", "", "upper_triangular", 1, True, ["pos"], b"pos"], ids=repr)
@pytest.mark.parametrize("fn", ["solve", "solve_ex"])
def test_other_structures_are_refused(fn, word):
    """Nothing is guessed from a wrong word."""
    with pytest.raises(ValueError, match=f"^{fn}: assume_a must be one of None, 'gen', .*, got"):
        getattr(la, fn)(np.eye(2), np.ones(2), assume_a=word)


# ---------------------------------------------------------------- consistency
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape", SYSTEMS, ids=str)
def test_is_lu_solve_of_the_transpose(shape, layout, dtype, rng):
    """solve is bitwise lu_solve with the factors of the transpose, on which the derivative rests."""
    n, k = shape
    a, b = layout(matrix(rng, (2, 3), n, n, dtype)), layout(normal(rng, (2, 3, n, k), dtype))
    assert_same_bits(la.solve(a, b), la.lu_solve(la.lu_factor(T(a)), b, trans=1))


@pytest.mark.parametrize("structure", ["upper triangular", "lower triangular"])
def test_is_solve_triangular(structure, dtype, rng):
    """Triangular structures are solve_triangular by another name."""
    a, b, _ = _system(structure, False, rng, dtype)
    assert_same_bits(la.solve(a, b, assume_a=structure), la.solve_triangular(a, b, lower=structure[0] == "l"))


def test_is_cholesky_solve(dtype, rng):
    """'pos' is the chain of cholesky and cholesky_solve, up to rounding."""
    a, b = definite(rng, (3,), 6, dtype), normal(rng, (3, 6, 2), dtype)
    x = la.solve(a, b, assume_a="pos")
    assert distance(la.cholesky_solve(la.cholesky(a), b), x) <= rounding(dtype, 6, kappa=16.0)


@every_structure
def test_info_form_gives_the_same_bits(structure, lower, dtype, rng):
    """solve_ex is solve that does not raise."""
    a, b, _ = _system(structure, lower, rng, dtype)
    x, info = la.solve_ex(a, b, assume_a=structure, lower=lower)
    assert_same_bits(x, la.solve(a, b, assume_a=structure, lower=lower))
    assert info.tolist() == [0, 0, 0]


@given(n=st.integers(0, 9), k=st.integers(0, 4), batches=st.sampled_from(BATCHES), name=st.sampled_from("fdFD"),
       case=st.sampled_from(CASES), step=st.sampled_from([(1, 1), (2, 1), (1, -1), (-2, 3)]))
def test_any_shape_batch_and_strides(n, k, batches, name, case, step):
    """The residual is small whatever the shapes and the strides."""
    rng = np.random.default_rng(n + 10 * k)
    good, _, seen = _system(*case, rng, np.dtype(name), batches[0], n, k)
    a = np.full((*batches[0], n * abs(step[0]), n * abs(step[1])), np.nan, name)[..., ::step[0], ::step[1]]
    a[...] = good
    b = normal(rng, (*batches[1], n, k), name)
    x = la.solve(a, b, assume_a=case[0], lower=case[1])
    assert x.shape == (*np.broadcast_shapes(*batches), n, k)
    assert solution_ratio(seen, x, b) <= RESIDUAL


# ---------------------------------------------------------------- failures
@pytest.mark.parametrize("zero", range(1, 6))
@pytest.mark.parametrize("structure", STRUCTURES)
def test_info_is_the_zero_pivot(structure, zero, dtype):
    """Counted from 1, under 'pos' the leading minor; an upper triangle is searched from its end by nobody."""
    a = np.eye(5, dtype=dtype)
    a[zero - 1, zero - 1] = 0
    x, info = la.solve_ex(a, np.ones(5, dtype), assume_a=structure)
    assert info == zero
    assert np.isnan(x).all()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_reason_of_a_failure(structure, dtype):
    """A matrix that is not definite need not be singular."""
    reason = "not positive definite" if structure == "pos" else "singular"
    with pytest.raises(LinAlgError, match=f"^solve: 1 of 2 matrices failed, at index 1: the matrix is {reason}$"):
        la.solve(np.stack([np.eye(3), np.zeros((3, 3))]).astype(dtype), np.ones(3, dtype), assume_a=structure)


@every_structure
@pytest.mark.parametrize("place", list(itertools.product(range(4), repeat=2)), ids=str)
@pytest.mark.parametrize("rhs", ["ones", "zeros"])
def test_nan_anywhere_that_is_read(rhs, place, structure, lower, dtype):
    """No zero hides a NaN: not in the matrix, which is singular besides, not in the right-hand side."""
    a = np.diag([1.0, 1, 1, 0]).astype(dtype)
    a[place] = np.nan
    b = np.full((4, 1), rhs == "ones", dtype)
    x, info = la.solve_ex(a, b, assume_a=structure, lower=lower)
    if unread(STRUCTURES[structure](lower)[1], 4)[place]:
        assert info == 4
    else:
        assert info == 0
    assert np.isnan(x).any()


@every_structure
@pytest.mark.parametrize("rhs", range(4))
@pytest.mark.parametrize("width", [1, 12])
@pytest.mark.parametrize("place", list(itertools.product(range(4), repeat=2)), ids=str)
def test_nan_does_not_meet_a_zero(place, width, rhs, structure, lower, dtype):
    """Unit vectors on the right: BLAS skips zeros, which must not make a NaN disappear."""
    a = np.eye(4, dtype=dtype)
    a[place] = np.nan
    x = la.solve(a, np.eye(4, dtype=dtype)[:, [rhs] * width], assume_a=structure, lower=lower)
    assert np.isnan(x).any() != unread(STRUCTURES[structure](lower)[1], 4)[place]


@every_structure
def test_nan_on_the_right_stays_in_its_column(structure, lower, dtype, rng):
    """The other right-hand sides of the same matrix have their solutions."""
    a, b, _ = _system(structure, lower, rng, dtype)
    good = la.solve(a, b, assume_a=structure, lower=lower)
    b[1, 5, 0] = np.nan
    x = la.solve(a, b, assume_a=structure, lower=lower)
    assert np.isnan(x[1, :, 0]).any()
    assert distance(x[1, :, 1:], good[1, :, 1:]) <= rounding(dtype, 6)
    assert_same_bits(x[::2], good[::2])


@every_structure
@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_nothing_but_nan_and_infinities(value, n, structure, lower, dtype):
    """No hang and no finite solution, except that a number over infinity is 0."""
    a, b = np.full((2, n, n), value, dtype), np.ones((n, 1), dtype)
    x = la.solve(a, b, assume_a=structure, lower=lower, errors="nan")
    assert np.isnan(x).any() or ((x == 0).all() and np.isinf(value) and (n == 1 or structure == "diag"))


# ---------------------------------------------------------------- arguments
def test_matrices_and_right_hand_sides_broadcast(dtype, rng):
    """Each matrix with each right-hand side."""
    a, b = matrix(rng, (4, 1), 5, 5, dtype), normal(rng, (3, 5, 2), dtype)
    x = la.solve(a, b)
    assert_same_bits(x, la.solve(np.broadcast_to(a, (4, 3, 5, 5)), np.broadcast_to(b, (4, 3, 5, 2))))


@every_structure
def test_vector_right_hand_side(structure, lower, dtype, rng):
    """b is a vector only if it has one dimension, and then broadcasts over the batch."""
    a, b, _ = _system(structure, lower, rng, dtype)
    x = la.solve(a, b[0, :, 0], assume_a=structure, lower=lower)
    assert x.shape == (3, 6)
    assert_same_bits(x, la.solve(a, b[0, :, :1], assume_a=structure, lower=lower)[..., 0])


def test_stack_of_rows_is_not_vectors():
    """A (4, 5) right-hand side of 5 x 5 matrices is one matrix with the wrong number of rows."""
    with pytest.raises(ValueError, match=r"^solve: argument 'b' has 4 rows, expected the 5 of 'a'"):
        la.solve(np.stack([np.eye(5)] * 4), np.ones((4, 5)))


def test_as_many_vectors_as_rows_is_a_matrix():
    """The ambiguous case: a (2, 2) right-hand side of a stack of two 2 x 2 matrices is one matrix."""
    a, b = np.stack([np.diag([1.0, 2.0]), np.diag([2.0, 4.0])]), np.array([[2.0, 4.0], [6.0, 8.0]])
    assert la.solve(a, b).tolist() == [[[2, 4], [3, 4]], [[1, 2], [1.5, 2]]]


@pytest.mark.parametrize("fn", ["solve", "solve_ex"])
def test_batches_that_do_not_broadcast(fn):
    """The message names both shapes."""
    with pytest.raises(ValueError, match=rf"^{fn}: batch shapes \(4,\) of 'a' and \(3,\) of 'b' do not broadcast"):
        getattr(la, fn)(np.stack([np.eye(5)] * 4), np.ones((3, 5, 2)))


def test_a_scalar_right_hand_side_is_refused():
    """There is nothing to be solved for."""
    with pytest.raises(ValueError, match=r"^solve: argument 'b' must have at least one dimension"):
        la.solve(np.eye(2), 1.0)


@pytest.mark.parametrize(("first", "second", "result"), [
    ("float32", "float64", "float64"), ("float32", "complex64", "complex64"), ("float64", "complex64", "complex128"),
    ("int32", "float32", "float64"), ("float16", "complex64", "complex64"), ("bool", "bool", "float64")])
def test_mixed_types(first, second, result):
    """NumPy's promotion, either way round."""
    a, b = np.eye(2, dtype=first), np.ones(2, second)
    assert la.solve(a, b).dtype == result
    assert la.solve(b[None, :] * np.eye(2, dtype=second), np.ones(2, first)).dtype == result


@pytest.mark.parametrize("target", ["a", "b"])
def test_out_overlapping_askew(target, dtype, rng):
    """A destination shifted against the matrix by a row, or in the reverse order of the batch of b."""
    buffer = matrix(rng, (3,), 6, 6, dtype)
    system = {"a": buffer[:, 1:, 1:], "b": normal(rng, (3, 5, 5), dtype)}
    expected = la.solve(system["a"].copy(), system["b"].copy())
    out = {"a": buffer[:, :-1, :-1], "b": system["b"][::-1]}[target]
    assert_same_bits(la.solve(system["a"], system["b"], out=out), expected)


@every_structure
def test_out_is_the_matrix(structure, lower, dtype, rng):
    """A square right-hand side: the solution may take the place of the matrix."""
    a, b, _ = _system(structure, lower, rng, dtype, k=6)
    expected = la.solve(a, b, assume_a=structure, lower=lower)
    assert_same_bits(la.solve(a, b, assume_a=structure, lower=lower, out=a), expected)


def test_out_of_the_info_form(dtype, rng):
    """The solution goes where out says; the failing slice is NaN there."""
    a, b = np.stack([2 * np.eye(3), np.zeros((3, 3))]).astype(dtype), normal(rng, (2, 3, 2), dtype)
    expected = la.solve_ex(a, b)
    got = la.solve_ex(a, b, out=b)
    assert got.x is b
    assert_same_bits(got, expected)
    assert got.info.tolist() == [0, 1]


def test_result_fields(dtype):
    """The names of the info form."""
    assert la.solve_ex(np.eye(2, dtype=dtype), np.ones(2, dtype))._fields == ("x", "info")


@pytest.mark.parametrize("axes", [33, 62])
def test_most_batch_axes(axes, dtype, rng):
    """NumPy's arrays have at most 64 axes, 62 of them of the batch; its own broadcasting stops at 32."""
    a, b = matrix(rng, (), 3, 3, dtype), normal(rng, (2, 3, 2), dtype)
    many = (1,) * (axes - 1)
    x = la.solve(a.reshape(*many, 1, 3, 3), b.reshape(2, *many, 3, 2))
    assert x.shape == (2, *many, 3, 2)
    assert_same_bits(x.reshape(2, 3, 2), la.solve(a, b))


def test_more_columns_than_lapack_counts():
    """Refused before anything is allocated, also where the batch is empty."""
    with pytest.raises(ValueError, match=r"^solve: a matrix of shape .* as argument 'b' has more than LAPACK's"):
        la.solve(np.empty((0, 3, 3)), np.broadcast_to(1.0, (3, 2 ** 40)))
