"""Inputs on which other libraries were reported to hang, crash or answer wrongly; each with its right answer."""
import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from _matrices import H, definite
from _measure import assert_same_bits, distance, orthogonality_ratio, residual_ratio
from _process import run
from _tols import RESIDUAL, rounding

import linalgad as la
from linalgad import LinAlgError

M3 = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])       # positive definite, determinant 18
M3_INVERSE = np.array([[11.0, -4.0, 1.0], [-4.0, 8.0, -2.0], [1.0, -2.0, 5.0]]) / 18
FLIP = np.eye(3)[::-1]


def product(result):
    """The matrix that a decomposition stands for."""
    match result:
        case (u, s, vh) if s.ndim == u.ndim - 1:
            return u * s[..., None, :] @ vh
        case (w, v) if w.ndim == v.ndim - 1:
            return v * w[..., None, :] @ H(v)
        case (q, r):
            return q @ r
        case _:
            return result @ H(result)


def close(got, expected, kappa=16.0):
    """Equal up to rounding in the dtype of the result."""
    got, expected = np.asarray(got), np.asarray(expected)
    return got.shape == expected.shape and distance(got, expected) <= rounding(got.dtype, 3, kappa)


thin_svd = functools.partial(la.svd, full_matrices=False)


# ---------------------------------------------------------------- values at extreme scales
def test_det_whose_partial_products_overflow():
    assert close(la.det(np.diag([1e200, 1e180, 1e-190, 1e-180])), 1e10)


def test_det_whose_partial_products_underflow():
    assert close(la.det(np.diag([1e-200, 1e-180, 1e190, 1e180])), 1e-10)


def test_det_of_a_singular_integer_matrix_is_rounding():
    """det [5 5 6; 7 7 5; 4 4 8] = 0; the rounding of its largest products may remain."""
    a = np.array([[5, 5, 6], [7, 7, 5], [4, 4, 8]])
    assert abs(la.det(a)) <= rounding("float64", 3) * 5 * 7 * 8


def test_slogdet_where_the_determinant_underflows():
    """120 values between 1e-4 and 1e-3: det = 1e-420."""
    sign, logabsdet = la.slogdet(np.diag(np.logspace(-4, -3, 120)))
    assert sign == 1
    assert close(logabsdet, -3.5 * 120 * np.log(10.0))


@pytest.mark.parametrize("scale", [1.0, 1e103, 1e-200, 1e300, 1e-300])
@pytest.mark.parametrize("assume_a", [None, "pos", "sym"])
def test_solve_is_scale_invariant(scale, assume_a):
    """Condition 1.3 at every scale; formulas by cofactors overflow or vanish."""
    a = (np.eye(3) + 0.1) * scale
    assert close(la.solve(a, np.full((3, 1), scale), assume_a=assume_a), np.full((3, 1), 1 / 1.3))


def test_singular_value_below_the_normal_range():
    s = la.svdvals(np.diag([1.0, 0.01, 1e-310]))
    assert close(s[:2], [1.0, 0.01])
    assert close(s[2:], [1e-310], kappa=2.0 ** 30)      # a subnormal number has 22 bits fewer


# ---------------------------------------------------------------- degenerate spectra
@pytest.mark.parametrize("a", [[[0.0, -7.0], [7.0, 0.0]], [[4.2, -5.6], [5.6, 4.2]]], ids=["quarter turn", "turn"])
def test_svd_of_a_scaled_rotation(a):
    """Both singular values are 7: closed formulas divide zero by zero here."""
    a = np.array(a)
    u, s, vh = la.svd(a)
    assert close(s, [7.0, 7.0])
    assert max(residual_ratio(a, u * s, vh), orthogonality_ratio(u), orthogonality_ratio(vh)) <= RESIDUAL


def test_svd_of_a_projector():
    """Singular values 0 and 1, twenty of each; some divide and conquer codes do not converge."""
    q, _ = np.linalg.qr(np.cos(np.arange(800.0).reshape(40, 20) ** 1.3))
    a = q @ q.T
    u, s, vh = thin_svd(a)
    assert close(s, np.repeat([1.0, 0.0], 20))
    assert max(residual_ratio(a, u * s, vh), orthogonality_ratio(u), orthogonality_ratio(H(vh))) <= RESIDUAL


def test_eigh_of_highly_degenerate_levels():
    """Six spins in a transverse field: levels -6, -4, ..., 6 with binomial multiplicities up to 20."""
    flip = np.array([[0.0, 1.0], [1.0, 0.0]])
    a = sum(np.kron(np.kron(np.eye(2 ** k), flip), np.eye(2 ** (5 - k))) for k in range(6))
    w, v = la.eigh(a)
    assert close(w, np.repeat(np.arange(-6.0, 7.0, 2.0), [1, 6, 15, 20, 15, 6, 1]))
    assert (np.diff(w) >= 0).all()
    assert max(residual_ratio(a, v * w, H(v)), orthogonality_ratio(v)) <= RESIDUAL


def test_eigvals_of_real_and_complex_slices():
    """One slice has real, the other imaginary eigenvalues: the stack is complex."""
    w = la.eigvals(np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]]]))
    assert w.dtype == np.complex128
    assert close(np.sort_complex(w), [[1.0, 2.0], [-1j, 1j]])


# ---------------------------------------------------------------- what an argument means
def test_right_hand_side_of_two_dimensions_is_a_matrix():
    """a (2, 2, 2) and b (2, 2): one matrix for both, not a stack of vectors."""
    x = la.solve(np.array([np.diag([1.0, 2.0]), np.diag([2.0, 4.0])]), np.array([[2.0, 4.0], [6.0, 8.0]]))
    assert_same_bits(x, np.array([[[2.0, 4.0], [3.0, 4.0]], [[1.0, 2.0], [1.5, 2.0]]]))


@pytest.mark.parametrize(("lower", "read"), [(True, 1.0), (False, 99.0)])
def test_eigvalsh_reads_one_triangle(lower, read):
    """Eigenvalues of [2 read; read 3]; a library that averages the triangles gives others."""
    root = np.hypot(0.5, read)
    assert close(la.eigvalsh(np.array([[2.0, 99.0], [1.0, 3.0]]), lower=lower), [2.5 - root, 2.5 + root])


# ---------------------------------------------------------------- non-finite input
@pytest.mark.parametrize("full", [True, False])
def test_svd_of_an_infinity_ends(full):
    """LAPACK's divide and conquer never returns from this matrix; in a child, so that a hang is a failure."""
    assert run(f"""
a = np.ones((3, 3))
a[0, 0] = np.inf
try:
    la.svd(a, {full})
except la.LinAlgError as e:
    print(e.indices)
""") == ["((),)"]


@pytest.mark.parametrize(("fn", "a"), [
    ("svdvals", [[np.nan, 0.0], [0.0, 1.0]]), ("svd", [[1.0, np.nan], [0.0, 1.0]]),
    ("eigvalsh", np.diag([1.0, np.nan, 2.0])), ("eigh", np.diag([np.nan, 1.0])), ("eigvals", np.diag([1.0, np.nan])),
    ("eig", [[1.0, np.nan], [0.0, 1.0]])])
def test_nan_is_no_plausible_number(fn, a):
    with pytest.raises(LinAlgError, match="NaN or infinite"):
        getattr(la, fn)(np.array(a))


def test_inverse_of_nan_is_nan():
    assert np.isnan(la.inv(np.full((8, 8), np.nan))).all()


def test_one_matrix_of_a_batch_is_not_definite():
    a = np.array([[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]]])
    with pytest.raises(LinAlgError) as e:
        la.cholesky(a)
    assert e.value.indices == ((1,),)
    c = la.cholesky(a, errors="nan")
    assert_same_bits(c[0], np.array([[2.0, 0.0], [1.0, 2.0]]))
    assert np.isnan(c[1]).all()


def test_objects_are_refused():
    with pytest.raises(TypeError, match=r"^inv: argument 'a' has dtype object"):
        la.inv(np.array([[2, 1], [1, 1]], dtype=object))


# ---------------------------------------------------------------- memory and dtypes
def frozen(order):
    a = np.array(M3, order=order)
    a.setflags(write=False)
    return a


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("fn", "undo", "expected"), [
    (la.inv, np.asarray, M3_INVERSE), (la.det, np.asarray, 18.0), (la.eigh, product, M3), (thin_svd, product, M3),
    (la.qr, product, M3), (la.cholesky, product, M3)])
def test_read_only_input_is_left_alone(fn, undo, expected, order):
    a = frozen(order)
    assert close(undo(fn(a)), expected)
    assert_same_bits(a, M3)


@pytest.mark.parametrize(("fn", "undo", "expected"), [
    (la.inv, np.asarray, FLIP @ M3_INVERSE @ FLIP), (la.det, np.asarray, 18.0), (la.eigh, product, FLIP @ M3 @ FLIP),
    (thin_svd, product, FLIP @ M3 @ FLIP),
    (lambda a: la.solve(a, np.arange(3.0)[::-1]), np.asarray, FLIP @ M3_INVERSE @ np.arange(3.0))])
def test_reversed_views(fn, undo, expected):
    assert close(undo(fn(M3[::-1, ::-1])), expected)


@pytest.mark.parametrize(("fn", "undo", "expected"), [
    (la.inv, np.asarray, M3_INVERSE), (la.eigh, product, M3), (thin_svd, product, M3), (la.qr, product, M3)])
def test_stack_that_repeats_one_matrix(fn, undo, expected):
    result = undo(fn(np.broadcast_to(M3, (5, 3, 3))))
    assert close(result, np.broadcast_to(expected, (5, 3, 3)))


def test_batch_axis_in_the_middle_or_at_the_end():
    pair = np.stack([M3, 2 * M3])
    assert close(la.det(np.moveaxis(np.stack([M3, 2 * M3], axis=-1), -1, 0)), [18.0, 144.0])
    assert close(product(thin_svd(np.moveaxis(np.stack([M3, 2 * M3], axis=1), 1, 0))), pair)


def test_integers_in_fortran_order():
    """A symmetric indefinite integer matrix: a failed in-place Cholesky factorisation must not destroy it."""
    a = np.array([[1, 2], [2, 3]], order="F")
    assert close(la.inv(a), [[-3.0, 2.0], [2.0, -1.0]])
    assert a.tolist() == [[1, 2], [2, 3]]


@pytest.mark.parametrize(("fn", "args", "expected"), [
    (la.det, [np.eye(3, dtype=bool)], 1.0),
    (la.inv, [np.array([[2, 1], [1, 1]], np.int8)], [[1.0, -1.0], [-1.0, 2.0]]),
    (la.solve, [np.array([[3, 1], [1, 2]], np.uint8), np.array([9, 8])], [2.0, 3.0]),
    (la.eigvalsh, [np.array([[2, 1], [1, 2]])], [1.0, 3.0]), (la.svdvals, [np.array([[3, 0], [0, 4]])], [4.0, 3.0])])
def test_narrow_integers_are_promoted(fn, args, expected):
    result = np.asarray(fn(*args))
    assert result.dtype == np.float64
    assert close(result, expected)


@pytest.mark.parametrize("dtype_in", ["float32", "complex64"])
@pytest.mark.parametrize(("fn", "kinds"), [
    ("inv", "t"), ("det", "t"), ("slogdet", "tr"), ("svd", "trt"), ("eigh", "rt"), ("qr", "tt"), ("cholesky", "t"),
    ("eig", "cc"), ("lu", "rtt")])
def test_single_precision_stays_single(fn, kinds, dtype_in):
    result = getattr(la, fn)(M3.astype(dtype_in))
    result = result if isinstance(result, tuple) else (result,)
    types = {"t": dtype_in, "r": "float32", "c": "complex64"}
    assert [x.dtype.name for x in result] == [types[k] for k in kinds]


# ---------------------------------------------------------------- empty matrices
@pytest.mark.parametrize(("fn", "args", "shapes"), [
    ("inv", [(0, 0)], [(0, 0)]), ("solve", [(0, 0), (0, 3)], [(0, 3)]), ("cholesky", [(0, 0)], [(0, 0)]),
    ("eigh", [(0, 0)], [(0,), (0, 0)]), ("qr", [(3, 0)], [(3, 0), (0, 0)]), ("qr", [(0, 3)], [(0, 0), (0, 3)]),
    ("svd", [(3, 0)], [(3, 3), (0,), (0, 0)]), ("lu", [(0, 3)], [(0, 0), (0, 0), (0, 3)])], ids=str)
def test_empty_matrices(fn, args, shapes):
    result = getattr(la, fn)(*(np.zeros(s) for s in args))
    assert [x.shape for x in (result if isinstance(result, tuple) else (result,))] == shapes


def test_determinant_of_nothing_is_one():
    assert la.det(np.zeros((0, 0))) == 1
    assert la.det(np.zeros((2, 0, 0))).tolist() == [1, 1]
    assert la.slogdet(np.zeros((0, 0))) == (1, 0)


def test_full_svd_without_rows_has_an_orthogonal_basis():
    u, s, vh = la.svd(np.zeros((0, 3)))
    assert u.shape == (0, 0)
    assert s.shape == (0,)
    assert close(vh @ vh.T, np.eye(3))


# ---------------------------------------------------------------- threads and processes
def test_eight_decompositions_at_once(rng):
    """eigh and svd from four Python threads: no thread sees the numbers of another."""
    stacks = [definite(rng, (4,), n, "float64") for n in (40, 33) for _ in range(4)]
    fns = [la.eigh] * 4 + [thin_svd] * 4
    alone = [fn(a) for fn, a in zip(fns, stacks, strict=True)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda fn, a: fn(a), fns * 3, stacks * 3))
    assert_same_bits(sum(together, ()), sum(alone * 3, ()))


def test_fork_after_large_and_small_work():
    """A solve with threaded BLAS and a batch before a fork; the same in the child, and again in the parent."""
    assert run(f"""
rng = np.random.default_rng(5)
a = rng.standard_normal((200, 200)) + 20 * np.eye(200)
h = rng.standard_normal((6, 60, 60))
def work():
    assert np.abs(a @ la.solve(a, np.ones(200)) - 1).max() <= {rounding('float64', 200)}
    w, v = la.eigh(h)
    return w
first = work()
pid = os.fork()
if pid == 0:
    os._exit(0 if np.array_equal(work(), first) else 3)
print(os.waitpid(pid, 0)[1], np.array_equal(work(), first))
""") == ["0", "True"]
