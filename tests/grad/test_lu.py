"""lu, lu_factor, lu_factor_ex, lu_solve: derivatives at fixed pivots against many digits."""
import mpmath as mp
import numpy as np
import pytest
from _tols import rounding
from grad import _exact as exact
from grad import _make as make
from grad import _rules as rules

import linalgad as la
from linalgad import grad

KAPPA = 20.0                 # of the leading blocks of the matrices below
SHAPES = [(4, 4), (5, 3), (3, 5), (1, 3), (3, 1)]
FORMS = [{}, {"permute_l": True}, {"p_indices": True}]


def regular(rng, shape, dtype):
    """Random rows on a dominant, permuted diagonal: pivots far from a tie."""
    *_, m, n = shape
    a = make.normal(rng, shape, dtype) + 4 * np.eye(m, n)
    return a[..., rng.permutation(m), :].astype(dtype)


def row_order(a):
    """Rows with a[rows] = L U."""
    return np.argsort(la.lu(a, p_indices=True).P)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_lu_rules(dtype, shape, form):
    a = regular(np.random.default_rng(1), (3, *shape), dtype)
    rules.duality(la.lu, (a,), rounding(dtype, 5, KAPPA), **form)
    rules.batch_is_loop(la.lu, (a,), **form)
    if shape != (1, 3):         # L = 1 and U = A: no second derivative
        rules.symmetry(la.lu, (a,), rounding(dtype, 5, KAPPA), **form)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("fun", [la.lu_factor, la.lu_factor_ex], ids=lambda f: f.__name__)
def test_lu_factor_rules(dtype, shape, fun):
    a = regular(np.random.default_rng(2), (3, *shape), dtype)
    rules.duality(fun, (a,), rounding(dtype, 5, KAPPA))
    rules.batch_is_loop(fun, (a,))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_lu_against_many_digits(dtype, shape):
    """Square, tall and wide; case lu-vjp-wide is among them."""
    rng = np.random.default_rng(3)
    a, da = regular(rng, shape, dtype), make.normal(rng, shape, dtype)
    outputs, slopes = grad.jvp(la.lu, (a,), (da,))
    fun = exact.lu(row_order(a))
    for got, want in zip(slopes[1:], exact.tangents(fun, (a,), (da,), outputs[1:]), strict=True):
        assert np.max(np.abs(got - want), initial=0) <= rounding(dtype, 5, KAPPA) * max(np.max(np.abs(want)), 1)
    assert slopes.P is None
    cts = tuple(make.normal(rng, y.shape, dtype) for y in outputs[1:])
    (ga,) = grad.vjp(la.lu, a)[1]((None, *cts))
    assert make.relative(ga, exact.gradient(fun, (a,), cts)) <= rounding(dtype, 5, KAPPA)


def test_lu_factor_against_many_digits():
    rng = np.random.default_rng(4)
    a = regular(rng, (4, 4), "complex128")
    g = make.normal(rng, (4, 4), "complex128")
    (ga,) = grad.vjp(la.lu_factor, a)[1]((g, None))
    want = exact.gradient(exact.packed(exact.lu(row_order(a))), (a,), (g,))
    assert make.relative(ga, want) <= rounding("complex128", 4, KAPPA)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_zero_in_the_last_pivot_is_harmless(dtype, shape):
    """A singular matrix of rank n - 1 has differentiable factors: the last pivot is never divided by."""
    rng = np.random.default_rng(5)
    a = np.rint(4 * make.normal(rng, shape, dtype).real).astype(dtype) + 8 * np.eye(*shape)
    a[-1] = a[0] / 2
    da = make.normal(rng, shape, dtype)
    outputs, slopes = grad.jvp(la.lu, (a,), (da,))
    assert outputs.U[-1, shape[0] - 1] == 0
    fun = exact.lu(row_order(a))
    for got, want in zip(slopes[1:], exact.tangents(fun, (a,), (da,), outputs[1:]), strict=True):
        assert make.relative(got, want) <= rounding(dtype, 5, KAPPA)
    rules.duality(la.lu, (a,), rounding(dtype, 5, KAPPA))
    rules.symmetry(la.lu, (a,), rounding(dtype, 5, KAPPA))


def test_an_earlier_zero_pivot_is_refused():
    a = np.stack([np.eye(3), np.diag([0.0, 1.0, 1.0])])
    a[1, :, 0] = 0
    with pytest.raises(grad.NotDifferentiableError, match=r"slices \(1,\): a pivot before the last"):
        grad.vjp(la.lu, a)
    with pytest.raises(grad.NotDifferentiableError, match=r"lu_factor: .*\(1,\)"):
        grad.jvp(la.lu_factor, (a,), (a,))


@pytest.mark.parametrize("dtype, power", [("float32", -84), ("complex64", -84), ("float64", -664), ("float64", 664),
                                          ("complex128", 664)])
def test_scale(dtype, power):
    """L does not scale, U does: gradients of <W, L> scale as 1/s, of <W, U> not; exactly for powers of two."""
    rng = np.random.default_rng(6)
    a = regular(rng, (4, 4), dtype)
    w = make.normal(rng, (4, 4), dtype)
    small = (a * 2.0**power).astype(dtype)
    base, there = grad.vjp(la.lu, a)[1], grad.vjp(la.lu, small)[1]
    assert np.array_equal(there((None, None, w))[0], base((None, None, w))[0])
    assert np.array_equal(there((None, w, None))[0], (base((None, w, None))[0] * 2.0**-power).astype(dtype))
    # sum |U|^2: the gradient scales as s and must survive the square of s.
    (big,), (tiny,) = base((None, None, la.lu(a).U)), there((None, None, la.lu(small).U))
    assert np.array_equal(tiny, (big * 2.0**power).astype(dtype))


def test_permutations_have_no_derivative():
    a = regular(np.random.default_rng(7), (3, 3), "float64")
    outputs, pullback = grad.vjp(la.lu, a)
    with pytest.raises(grad.NotDifferentiableError, match=r"output P .*permutation"):
        pullback((outputs.P, None, None))
    with pytest.raises(grad.NotDifferentiableError, match="output piv "):
        grad.vjp(la.lu_factor, a)[1]((None, la.lu_factor(a).piv))
    assert [row.jvp for row in grad.capabilities(la.lu)] == [False, True, True]
    assert [row.output for row in grad.capabilities(la.lu, permute_l=True)] == ["L", "U"]


# ------------------------------------------------------------------ lu_solve

def solution(order, trans):
    """lu_solve in many digits as a function of the compact factors and b."""
    inverse = np.argsort(order)

    def fun(lu, b):
        rows = exact.triangle(lu, True, unit=True) * exact.triangle(lu, False)
        a = mp.matrix([[rows[int(i), j] for j in range(rows.cols)] for i in inverse])
        return exact.solve(exact.op(a, trans), b)
    return fun


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_lu_solve_rules(dtype, trans):
    rng = np.random.default_rng(8)
    factors = tuple(la.lu_factor(regular(rng, (3, 4, 4), dtype)))
    args = (factors, make.normal(rng, (3, 4, 2), dtype))
    rules.duality(la.lu_solve, args, rounding(dtype, 4, KAPPA), trans=trans)
    rules.symmetry(la.lu_solve, args, rounding(dtype, 4, KAPPA), trans=trans)
    rules.batch_is_loop(la.lu_solve, args, trans=trans)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lu_solve_against_many_digits(dtype, trans):
    rng = np.random.default_rng(9)
    a = regular(rng, (3, 3), dtype)
    lu, piv = la.lu_factor(a)
    b, g = make.normal(rng, (3, 2), dtype), make.normal(rng, (3, 2), dtype)
    (glu, gpiv), gb = grad.vjp(la.lu_solve, (lu, piv), b, trans=trans)[1](g)
    fun = solution(row_order(a), trans)
    assert gpiv is None
    assert make.relative(glu, exact.gradient(fun, (lu, b), (g,))) <= rounding(dtype, 3, KAPPA)
    assert make.relative(gb, exact.gradient(fun, (lu, b), (g,), 1)) <= rounding(dtype, 3, KAPPA)


@pytest.mark.parametrize("b_shape", [(4,), (2, 4, 3), (1, 4, 3), (4, 3)], ids=str)
@pytest.mark.parametrize("batch", [(2,), ()], ids=str)
@pytest.mark.parametrize("trans", [0, 2])
def test_lu_solve_broadcasts(b_shape, batch, trans):
    rng = np.random.default_rng(10)
    factors = tuple(la.lu_factor(regular(rng, (*batch, 4, 4), "complex128")))
    rules.duality(la.lu_solve, (factors, make.normal(rng, b_shape, "complex128")), rounding("complex128", 4, KAPPA),
                  trans=trans)


def test_differences_and_chain():
    """check_grads of every function; and lu_solve after lu_factor has the gradient of solve."""
    rng = np.random.default_rng(11)
    a, b, g = (make.normal(rng, s, "complex128") for s in ((4, 4), (4, 2), (4, 2)))
    a = a + 4 * np.eye(4)
    for fun in (la.lu, la.lu_factor, la.lu_factor_ex):
        grad.check_grads(fun, (a,))
    factors, back = grad.vjp(la.lu_factor, a)
    _, solved = grad.vjp(la.lu_solve, tuple(factors), b)
    (glu, _), gb = solved(g)
    (ga,) = back((glu, None))
    want = grad.vjp(la.solve, a, b)[1](g)
    assert make.relative(ga, want[0]) <= rounding("complex128", 4, KAPPA)
    assert make.relative(gb, want[1]) <= rounding("complex128", 4, KAPPA)


def test_one_factorisation(kernel_calls):
    a = regular(np.random.default_rng(12), (3, 4, 4), "float64")
    outputs, pullback = grad.vjp(la.lu, a)
    for _ in range(3):
        pullback((None, *outputs[1:]))
    grad.lu_vjp((a,), outputs, (None, *outputs[1:]))
    grad.lu_jvp((a,), outputs, (a,))
    assert kernel_calls() == 1
    factors, pullback = grad.vjp(la.lu_factor, a)
    pullback((a, None))
    grad.lu_factor_vjp((a,), factors, (a, None))
    assert kernel_calls() == 2
    _, pullback = grad.vjp(la.lu_solve, tuple(factors), a)
    pullback(a)
    assert kernel_calls() == 2


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3), (2, 3, 0)], ids=str)
def test_empty(shape):
    outputs, pullback = grad.vjp(la.lu, np.zeros(shape))
    assert pullback((None, *outputs[1:]))[0].shape == shape
