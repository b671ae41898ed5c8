"""det and slogdet: first and second derivatives at any rank, and beyond the range of their determinants."""
import mpmath as mp
import numpy as np
import pytest
from _tols import rounding
from grad import _exact as exact
from grad import _make as make
from grad import _rules as rules

import linalgad as la
from linalgad import grad

SPECTRUM = (3.0, 2.2, 1.3, 0.7)
KAPPA = SPECTRUM[0] / SPECTRUM[-1]
#: Spectra with what stays well conditioned: the ratio of the first to the last singular value that counts.
RANKS = {"regular": (SPECTRUM, KAPPA), "corank 1": ((3, 2, 1.5, 0), 2.0), "corank 2": ((3, 2, 0, 0), 1.5),
         "corank 3": ((3, 0, 0, 0), 1.0), "nearly singular": ((3, 2, 1.5, 1e-9), 2.0),
         "nearly of corank 2": ((3, 2, 1e-7, 1e-9), 1.5), "zero": ((0, 0, 0, 0), 1.0)}
BY_RANK = pytest.mark.parametrize("rank", RANKS)


def matrix(rng, rank, dtype, exactly=False):
    """A matrix of a rank up to rounding, or of that rank exactly (small integers)."""
    s = RANKS[rank][0]
    if not exactly:
        return make.with_singular_values(rng, s, 4, 4, dtype)
    k = np.count_nonzero(s)
    x, y = (np.rint(2 * make.normal(rng, (4, k), "complex128")) for _ in range(2))
    product = x @ y.T
    return (product if np.dtype(dtype).kind == "c" else np.rint(x.real) @ np.rint(y.real).T).astype(dtype)


def ones(a):
    return np.ones(a.shape[:-2], a.dtype)


def size(a, order):
    """The size of derivatives of det of this order of a generic matrix of the same norm."""
    return max(np.linalg.norm(a, 2), 1e-3) ** (a.shape[-1] - order)


@BY_RANK
@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("exactly", [False, True])
def test_gradient_is_the_cofactor_matrix(dtype, rank, exactly):
    rng = np.random.default_rng(1)
    a = matrix(rng, rank, dtype, exactly)
    da = make.normal(rng, (4, 4), dtype)
    d, pullback = grad.vjp(la.det, a)
    (g,) = pullback(ones(a))
    want = exact.to_np(exact.cofactors(exact.to_mp(a)), a)
    tol = rounding(dtype, 4, RANKS[rank][1])
    assert np.max(np.abs(g - want)) <= tol * size(a, 1)
    value, slope = grad.jvp(la.det, (a,), (da,))
    assert value == d and np.abs(d - la.det(a)) <= tol * size(a, 0)
    assert np.abs(slope - np.sum(np.conj(want) * da)) <= tol * size(a, 1)


@BY_RANK
@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("exactly", [False, True])
def test_second_derivative(dtype, rank, exactly):
    """hvp against the derivative of the cofactors; at corank 2 others give NaN, though it is a polynomial."""
    rng = np.random.default_rng(2)
    a = matrix(rng, rank, dtype, exactly)
    da = make.normal(rng, (4, 4), dtype)
    (got,) = grad.hvp(la.det, (a,), (da,), ones(a))
    (want,) = exact.tangents(lambda x: [exact.cofactors(x)], (a,), (da,), (a,))
    tol = rounding(dtype, 4, RANKS[rank][1])
    assert np.max(np.abs(got - want)) <= tol * size(a, 2) * np.linalg.norm(da)


@pytest.mark.parametrize("dtype", make.DTYPES)
def test_rules_on_a_stack_of_all_ranks(dtype):
    rng = np.random.default_rng(3)
    a = np.stack([matrix(rng, rank, dtype) for rank in RANKS])
    rules.duality(la.det, (a,), rounding(dtype, 4, KAPPA))
    rules.symmetry(la.det, (a,), rounding(dtype, 4, KAPPA))
    rules.batch_is_loop(la.det, (a,))


def test_forward_over_forward():
    """The second directional derivative of det is that of the polynomial det(A + t B)."""
    rng = np.random.default_rng(4)
    a = np.stack([matrix(rng, rank, "float64") for rank in RANKS])
    b = make.normal(rng, a.shape, "float64")
    inner = grad.xp.Dual(grad.xp.Dual(a, b, 1), grad.xp.Dual(b, np.zeros_like(b), 1), 2)
    second = grad.lift(la.det)(inner).tangent.tangent
    for k in range(len(a)):
        x, y = exact.to_mp(a[k]), exact.to_mp(b[k])
        want = mp.diff(lambda t, x=x, y=y: exact.expansion(x + t * y), 0, 2)
        assert abs(second[k] - float(want)) <= rounding("float64", 4, KAPPA) * size(a[k], 2) * np.linalg.norm(b[k]) ** 2


@pytest.mark.parametrize("a, want", [
    ([[0.0]], [[1.0]]),
    ([[0.0, 2.0], [0.0, 3.0]], [[3.0, 0.0], [-2.0, 0.0]]),
    ([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]),
    ([[1e-200, 0.0], [0.0, 1e-180]], [[1e-180, 0.0], [0.0, 1e-200]]),
    (np.diag([1e200, 1e180, 1e-190, 1e-180]), np.diag([1e-190, 1e-170, 1e200, 1e190])),
    (np.diag([1e-200, 0.0, 1e150]), np.diag([0.0, 1e-50, 0.0])),
    (np.diag([1e-160, 1e-160, 1e-160, 1e300]), np.diag([1e-20, 1e-20, 1e-20, 0.0])),
], ids=["1 x 1", "zero column", "zero", "det underflows", "products overflow", "wide range", "graded"])
def test_cofactors_beyond_the_range(a, want):
    """Entry by entry: the cofactors exist where det or their partial products under- or overflow."""
    a = np.array(a)
    (g,) = grad.vjp(la.det, a)[1](np.ones(()))
    assert np.all(np.abs(g - want) <= rounding("float64", 4) * np.abs(want) + np.finfo(float).smallest_normal)


def test_second_derivative_where_det_underflows():
    """d^2 det of diag(a, b, c) couples the entries a and b by c: 1e-200 and 1e-180 do not lose it."""
    a, da = np.diag([1e-200, 1e-180, 2.0]), np.ones((3, 3))
    (got,) = grad.hvp(la.det, (a,), (da,), np.ones(()))
    (want,) = exact.tangents(lambda x: [exact.cofactors(x)], (a,), (da,), (a,))
    assert make.relative(got, want) <= rounding("float64", 3)


@pytest.mark.parametrize("dtype, power", [("float32", -25), ("complex64", -25), ("float64", -220), ("float64", 220),
                                          ("complex128", 220)])
@BY_RANK
def test_scale(dtype, power, rank):
    """det is homogeneous of degree 4: the gradient scales as s^3, its derivative as s^2, exactly."""
    rng = np.random.default_rng(5)
    a, da, s = matrix(rng, rank, dtype), make.normal(rng, (4, 4), dtype), 2.0**power
    small = (a * s).astype(dtype)
    (want,), (got,) = grad.vjp(la.det, a)[1](ones(a)), grad.vjp(la.det, small)[1](ones(a))
    assert np.array_equal(got, (want * s**3).astype(dtype))
    (want,), (got,) = grad.hvp(la.det, (a,), (da,), ones(a)), grad.hvp(la.det, (small,), (da,), ones(a))
    assert np.array_equal(got, (want * s * s).astype(dtype))


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_single_precision_at_extreme_scale(scale):
    """float32 at 1e-25: the cofactors of order 2 are in range though det is not."""
    a = (np.array([[2.0, 1.0], [-1.0, 3.0]]) * scale).astype("float32")
    (g,) = grad.vjp(la.det, a)[1](np.ones((), "float32"))
    assert make.relative(g, np.array([[3.0, 1.0], [-1.0, 2.0]]) * np.float64(scale)) <= rounding("float32", 2)


def test_non_finite_slices_stay_alone():
    a = np.stack([np.eye(3), np.full((3, 3), np.nan), np.zeros((3, 3))])
    (g,) = grad.vjp(la.det, a)[1](np.ones(3))
    assert np.array_equal(g[0], np.eye(3)) and np.isnan(g[1]).all() and not g[2].any()


def test_third_derivatives_are_refused():
    a = np.eye(3)
    twice = grad.xp.Dual(grad.xp.Dual(a, a, 1), a, 2)
    with pytest.raises(grad.NotDifferentiableError, match="third derivatives"):
        grad.hvp(la.det, (twice,), (a,), np.ones(()))


def test_one_factorisation(kernel_calls):
    """One LU for regular slices, an SVD and two signs more where one is nearly singular; none in pullbacks."""
    a = make.normal(np.random.default_rng(6), (3, 4, 4), "float64") + 4 * np.eye(4)
    d, pullback = grad.vjp(la.det, a)
    for _ in range(3):
        pullback(d)
    assert kernel_calls() == 1
    a[1] = 1
    d, pullback = grad.vjp(la.det, a)
    made = kernel_calls()
    pullback(d)
    assert kernel_calls() == made


# ------------------------------------------------------------------ slogdet

@pytest.mark.parametrize("dtype", make.DTYPES)
def test_slogdet_rules(dtype):
    rng = np.random.default_rng(7)
    a = np.stack([matrix(rng, "regular", dtype) for _ in range(3)])
    rules.duality(la.slogdet, (a,), rounding(dtype, 4, KAPPA))
    rules.symmetry(la.slogdet, (a,), rounding(dtype, 4, KAPPA))
    rules.batch_is_loop(la.slogdet, (a,))


@pytest.mark.parametrize("dtype", make.DTYPES)
def test_slogdet_against_many_digits(dtype):
    """The sign of a complex matrix moves; that of a real one does not (cases slogdet-complex-sign and -jvp-complex)."""
    rng = np.random.default_rng(8)
    a, da = matrix(rng, "regular", dtype), make.normal(rng, (4, 4), dtype)
    outputs, slopes = grad.jvp(la.slogdet, (a,), (da,))
    assert np.abs(outputs.sign - la.slogdet(a).sign) <= rounding(dtype, 4)
    assert np.abs(outputs.logabsdet - la.slogdet(a).logabsdet) <= rounding(dtype, 4)
    want = exact.tangents(exact.slogdet, (a,), (da,), (np.ones((1, 1), dtype), np.ones((1, 1))))
    for got, w in zip(slopes, want, strict=True):
        assert np.abs(got - w[0, 0]) <= rounding(dtype, 4, KAPPA) * np.linalg.norm(da)
    cts = make.normal(rng, (1, 1), dtype), make.normal(rng, (1, 1), "float32").astype(slopes.logabsdet.dtype)
    (g,) = grad.vjp(la.slogdet, a)[1](tuple(x[0, 0] for x in cts))
    assert make.relative(g, exact.gradient(exact.slogdet, (a,), cts)) <= rounding(dtype, 4, KAPPA)


@pytest.mark.parametrize("dtype, power", [("float32", -84), ("complex64", -84), ("float64", -664), ("float64", 664)])
def test_slogdet_scale(dtype, power):
    rng = np.random.default_rng(9)
    a, s = matrix(rng, "regular", dtype), 2.0**power
    cts = np.zeros((), dtype), np.ones((), np.zeros((), dtype).real.dtype)
    (want,), (got,) = (grad.vjp(la.slogdet, x)[1](cts) for x in (a, (a * s).astype(dtype)))
    assert make.relative(got * s, want) <= rounding(dtype, 4, KAPPA)


def test_slogdet_of_a_singular_matrix_is_refused():
    with pytest.raises(grad.NotDifferentiableError, match=r"slices \(1,\): the matrix is singular"):
        grad.vjp(la.slogdet, np.stack([np.eye(2), np.ones((2, 2))]))


def test_slogdet_factors_once(kernel_calls):
    a = make.normal(np.random.default_rng(10), (3, 4, 4), "complex128")
    outputs, pullback = grad.vjp(la.slogdet, a)
    for _ in range(3):
        pullback((outputs.sign, None))
    grad.hvp(la.slogdet, (a,), (a,), (None, outputs.logabsdet))
    assert kernel_calls() == 2


@pytest.mark.parametrize("fun", [la.det, la.slogdet], ids=lambda f: f.__name__)
def test_differences(fun):
    grad.check_grads(fun, (make.normal(np.random.default_rng(11), (2, 3, 3), "complex128"),))


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)], ids=str)
@pytest.mark.parametrize("fun", [la.det, la.slogdet], ids=lambda f: f.__name__)
def test_empty(fun, shape):
    outputs, pullback = grad.vjp(fun, np.zeros(shape))
    assert pullback(tuple(outputs) if fun is la.slogdet else outputs)[0].shape == shape
