"""inv, inv_ex: derivatives against many digits."""
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
FUNCTIONS = pytest.mark.parametrize("fun", [la.inv, la.inv_ex], ids=lambda f: f.__name__)


def matrices(rng, dtype, count=3):
    return np.stack([make.with_singular_values(rng, SPECTRUM, 4, 4, dtype) for _ in range(count)])


@FUNCTIONS
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_rules(dtype, fun):
    a = matrices(np.random.default_rng(1), dtype)
    rules.duality(fun, (a,), rounding(dtype, 4, KAPPA))
    rules.symmetry(fun, (a,), rounding(dtype, 4, KAPPA))
    rules.batch_is_loop(fun, (a,))


@pytest.mark.parametrize("dtype", make.DTYPES)
def test_against_many_digits(dtype):
    rng = np.random.default_rng(2)
    (a,), da, g = matrices(rng, dtype, 1), make.normal(rng, (4, 4), dtype), make.normal(rng, (4, 4), dtype)

    def fun(a):
        return [mp.inverse(a)]
    x, dx = grad.jvp(la.inv, (a,), (da,))
    assert make.relative(dx, exact.tangents(fun, (a,), (da,), (x,))[0]) <= rounding(dtype, 4, KAPPA)
    (ga,) = grad.vjp(la.inv, a)[1](g)
    assert make.relative(ga, exact.gradient(fun, (a,), (g,))) <= rounding(dtype, 4, KAPPA)


def test_a_broadcast_view_gets_a_full_cotangent():
    """Zero strides: full, writable, nothing accumulated into shared memory; case inv-vjp-broadcast-view."""
    a = np.broadcast_to(np.array([[3.0, 1.0], [-1.0, 2.0]]), (4, 2, 2))
    w = np.arange(4.0)[:, None, None] * np.array([[0.3, -0.2], [1.0, 0.5]])
    x, pullback = grad.vjp(la.inv, a)
    (g,) = pullback(w)
    assert g.shape == a.shape and g.flags.writeable and g.flags.owndata
    assert make.relative(g, -x.swapaxes(-1, -2) @ w @ x.swapaxes(-1, -2)) <= rounding("float64", 2)


@pytest.mark.parametrize("dtype, power", [("float32", -84), ("float64", -664), ("float64", 664), ("complex128", 664)])
def test_scale(dtype, power):
    """With the cotangent scaled like A the gradient scales as 1/s, exactly."""
    rng = np.random.default_rng(3)
    (a,), w = matrices(rng, dtype, 1), make.normal(rng, (4, 4), dtype)
    s = 2.0**power
    (want,), (got,) = grad.vjp(la.inv, a)[1](w), grad.vjp(la.inv, (a * s).astype(dtype))[1]((w * s).astype(dtype))
    assert make.relative(got * s, want) <= rounding(dtype, 4, KAPPA)


@FUNCTIONS
def test_differences(fun):
    grad.check_grads(fun, (matrices(np.random.default_rng(4), "complex128", 2),))


def test_failed_slices_are_named():
    a = np.stack([np.eye(2), np.ones((2, 2))])
    with pytest.raises(grad.NotDifferentiableError, match=r"inv_ex: .*\(1,\)"):
        grad.vjp(la.inv_ex, a)
    with pytest.raises(la.LinAlgError):
        grad.vjp(la.inv, a)
    with pytest.raises(grad.NotDifferentiableError):
        grad.jvp(la.inv, (a,), (a,), errors="nan")


def test_the_pullback_neither_solves_nor_factors(monkeypatch):
    """Products with the inverse that was returned."""
    a = matrices(np.random.default_rng(5), "float64")
    x, pullback = grad.vjp(la.inv, a)
    monkeypatch.setattr("linalgad._kernels._inv.inv", None)
    (g,) = pullback(a)
    assert np.array_equal(g, grad.inv_vjp((a,), x, a)[0])


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)], ids=str)
def test_empty(shape):
    x, pullback = grad.vjp(la.inv, np.zeros(shape))
    assert pullback(x)[0].shape == shape
