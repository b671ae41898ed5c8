"""Second derivatives at ties: cotangents given as functions of the dual outputs."""
import numpy as np
import pytest
from _tols import rounding, truncation
from grad import _make as make
from grad import _truth as truth

import linalgad as la
from linalgad import grad

SPECTRUM = (3.0, 2.2, 1.3, 0.7)
KAPPA = 3.0 / 0.6
TIES = {"three": (2, 2, 2, 1), "all": (1, 1, 1, 1), "pairs": (2, 2, 1, 1)}


@pytest.mark.parametrize("s", [SPECTRUM, *TIES.values()], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_hessian_of_a_polar_loss_through_the_vectors(dtype, s):
    """The cotangents as a function of the dual outputs: right at exact ties as well."""
    rng = np.random.default_rng(20)
    a, da, w = (make.with_singular_values(rng, s, 4, 4, dtype), make.normal(rng, (4, 4), dtype),
                make.normal(rng, (4, 4), dtype))
    xp = grad.xp
    (got,) = grad.hvp(la.svd, (a,), (da,), lambda o: (w @ xp.H(o[2]), None, xp.H(o[0]) @ w), full_matrices=False)
    step = 1e-5
    want = (truth.polar_gradient(a + step * da, w) - truth.polar_gradient(a - step * da, w)) / (2 * step)
    assert make.relative(got, want) <= truncation(dtype)


@pytest.mark.parametrize("s", [(2, 2, 1, 0.5), (1, 1, 1, 1), SPECTRUM], ids=str)
def test_hessian_of_a_smooth_function_of_the_values(s):
    """sum s^4 / 4 = tr (A^T A)^2 / 4 has the gradient A A^T A."""
    rng = np.random.default_rng(21)
    a, da = make.with_singular_values(rng, s, 5, 4, "float64"), make.normal(rng, (5, 4), "float64")
    (got,) = grad.hvp(la.svdvals, (a,), (da,), lambda s: s * s * s)
    want = da @ a.T @ a + a @ da.T @ a + a @ a.T @ da
    assert make.relative(got, want) <= rounding("float64", 5, KAPPA)
