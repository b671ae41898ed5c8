"""Second derivatives at ties: cotangents given as functions of the dual outputs."""
import numpy as np
import pytest
from _tols import gap_free, gap_limited, rounding
from grad import _make as make
from grad import _truth as truth

import linalgad as la
from linalgad import grad

SPECTRUM = (3.0, 2.2, 1.3, 0.7)
KAPPA = 3.0 / 0.6
TIES = {"three": (2, 2, 2, 1), "all": (1, 1, 1, 1), "pairs": (2, 2, 1, 1)}


@pytest.mark.parametrize("s, gap", [(s, None) for s in (SPECTRUM, *TIES.values())]
                         + [((2, 2 * (1 - g), 1, 0.5), g) for g in (1e-4, 1e-8, 1e-12)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_hessian_of_a_polar_loss_through_the_vectors(dtype, s, gap):
    """Right at exact ties; at a gap the turning vectors cancel to rounding over it."""
    rng = np.random.default_rng(20)
    a, da, w = (make.with_singular_values(rng, s, 4, 4, dtype), make.normal(rng, (4, 4), dtype),
                make.normal(rng, (4, 4), dtype))
    xp = grad.xp
    (got,) = grad.hvp(la.svd, (a,), (da,), lambda o: (w @ xp.H(o[2]), None, xp.H(o[0]) @ w), full_matrices=False)
    tol = gap_free(dtype) if gap is None else gap_limited(dtype, gap)
    assert make.relative(got, truth.polar_hessian(a, da, w)) <= tol


@pytest.mark.parametrize("s", [(2, 2, 1, 0.5), (1, 1, 1, 1), SPECTRUM], ids=str)
def test_hessian_of_a_smooth_function_of_the_values(s):
    """sum s^4 / 4 = tr (A^T A)^2 / 4 has the gradient A A^T A."""
    rng = np.random.default_rng(21)
    a, da = make.with_singular_values(rng, s, 5, 4, "float64"), make.normal(rng, (5, 4), "float64")
    (got,) = grad.hvp(la.svdvals, (a,), (da,), lambda s: s * s * s)
    want = da @ a.T @ a + a @ da.T @ a + a @ a.T @ da
    assert make.relative(got, want) <= rounding("float64", 5, KAPPA)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("w", [(1, 1, 1), (1, 1, 2), (1, 2, 3)], ids=str)
def test_hessian_of_a_smooth_function_of_eigenvalues(dtype, w):
    """tr A^3 has the gradient 3 A^2."""
    rng = np.random.default_rng(22)
    a, da = make.with_eigenvalues(rng, w, dtype), make.hermitian(make.normal(rng, (3, 3), dtype))
    (got,) = grad.hvp(la.eigvalsh, (a,), (da,), lambda w: 3 * w * w)
    assert make.relative(got, 3 * (a @ da + da @ a)) <= rounding(dtype, 3, KAPPA)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("w", [(1.0, 1.0, 2.0), (1.0, 2.0, 3.0)], ids=str)
@pytest.mark.parametrize("fun", ["eigvals", "eig"])
def test_hessian_of_a_smooth_function_of_general_eigenvalues(dtype, w, fun):
    """Re tr A^3 has the gradient 3 (A^2)^H, with a semisimple tie too."""
    rng = np.random.default_rng(23)
    a = make.diagonalisable(rng, w, dtype)
    da = make.diagonalisable(rng, (0.5, -1.0, 2.0), dtype)
    (got,) = grad.hvp(fun, (a,), (da,), (lambda w: 3 * grad.xp.conj(w * w)) if fun == "eigvals" else
                      (lambda o: (3 * grad.xp.conj(o[0] * o[0]), None)))
    assert make.relative(got, 3 * np.conj((a @ da + da @ a).T)) <= rounding(dtype, 3, 10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_hessian_of_a_projector_with_ties_on_both_sides(dtype):
    """The projector on the eigenvalues 1, 1 of a matrix with 0, 0, 1, 1.

    To second order it is 3 B^2 - 2 B^3, less what the blocks of dB inside 0 and inside 1 add to that polynomial, 3 and
    -3 times their squares.
    """
    rng = np.random.default_rng(24)
    b = make.with_eigenvalues(rng, (0, 0, 1, 1), dtype)
    db, w = (make.hermitian(make.normal(rng, (4, 4), dtype)) for _ in range(2))

    def cotangents(o):
        return None, grad.xp.embed(2 * (w @ o[1][:, 2:]), shape=(4, 4), index=(slice(None), slice(2, 4)))

    (got,) = grad.hvp(la.eigh, (b,), (db,), cotangents)
    polynomial = 3 * (w @ db + db @ w)
    polynomial = polynomial - 2 * (w @ db @ b + w @ b @ db + db @ w @ b + b @ w @ db + db @ b @ w + b @ db @ w)
    rest = np.eye(4) - b
    inside = 6 * make.hermitian(rest @ w @ rest @ db @ rest - b @ w @ b @ db @ b)
    assert make.relative(got, polynomial - inside) <= rounding(dtype, 4, 10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 6)])
@pytest.mark.parametrize("s", [(2, 2, 0, 0), (3, 1, 1, 0), (0, 0, 0, 0)], ids=str)
def test_hessian_at_null_singular_values(dtype, shape, s):
    """sum s^2 = |A|^2 is smooth at any rank: twice the identity."""
    rng = np.random.default_rng(25)
    a, da = make.with_singular_values(rng, s, *shape, dtype), make.normal(rng, shape, dtype)
    (got,) = grad.hvp(la.svdvals, (a,), (da,), lambda s: 2 * s)
    assert make.relative(got, 2 * da) <= rounding(dtype, max(shape), KAPPA)
