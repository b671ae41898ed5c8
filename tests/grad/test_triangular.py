"""solve_triangular: derivatives in both arguments, for every triangle and transposition."""
import numpy as np
import pytest
from _tols import rounding
from grad import _exact as exact
from grad import _make as make
from grad import _rules as rules

import linalgad as la
from linalgad import grad

KAPPA = 10.0
TRIANGLES = [{"lower": lower, "unit_diagonal": unit} for lower in (False, True) for unit in (False, True)]


def matrix(rng, shape, dtype):
    return (make.normal(rng, shape, dtype) / 4 + 2 * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("kw", TRIANGLES, ids=str)
@pytest.mark.parametrize("trans", [0, 1, 2, "C"])
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_rules(dtype, trans, kw):
    rng = np.random.default_rng(1)
    args = matrix(rng, (3, 4, 4), dtype), make.normal(rng, (3, 4, 2), dtype)
    rules.duality(la.solve_triangular, args, rounding(dtype, 4, KAPPA), trans=trans, **kw)
    rules.symmetry(la.solve_triangular, args, rounding(dtype, 4, KAPPA), trans=trans, **kw)
    rules.batch_is_loop(la.solve_triangular, args, trans=trans, **kw)


@pytest.mark.parametrize("kw", TRIANGLES, ids=str)
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_against_many_digits(dtype, trans, kw):
    rng = np.random.default_rng(2)
    a, b, g = matrix(rng, (3, 3), dtype), make.normal(rng, (3, 2), dtype), make.normal(rng, (3, 2), dtype)
    ga, gb = grad.vjp(la.solve_triangular, a, b, trans=trans, **kw)[1](g)

    def fun(a, b):
        return exact.solve(exact.op(exact.triangle(a, kw["lower"], kw["unit_diagonal"]), trans), b)
    assert make.relative(ga, exact.gradient(fun, (a, b), (g,))) <= rounding(dtype, 3, KAPPA)
    assert make.relative(gb, exact.gradient(fun, (a, b), (g,), 1)) <= rounding(dtype, 3, KAPPA)


@pytest.mark.parametrize("b_shape", [(4,), (2, 4, 3), (1, 4, 3), (4, 3)], ids=str)
@pytest.mark.parametrize("batch", [(2,), ()], ids=str)
def test_broadcast_arguments_get_cotangents_of_their_shape(b_shape, batch):
    rng = np.random.default_rng(3)
    args = matrix(rng, (*batch, 4, 4), "complex128"), make.normal(rng, b_shape, "complex128")
    rules.duality(la.solve_triangular, args, rounding("complex128", 4, KAPPA), trans=1)


def test_what_is_not_read_has_no_cotangent():
    rng = np.random.default_rng(4)
    a, b = matrix(rng, (3, 3), "float64"), make.normal(rng, (3, 1), "float64")
    ga, _ = grad.vjp(la.solve_triangular, a, b, lower=True, unit_diagonal=True)[1](b)
    assert np.array_equal(ga, np.tril(ga, -1)) and np.all(ga[np.tril_indices(3, -1)] != 0)
    (gb,) = grad.vjp(la.solve_triangular, a, b, wrt=1)[1](b)
    assert np.array_equal(gb, la.solve_triangular(a, b, trans=1))


def test_differences():
    rng = np.random.default_rng(5)
    args = matrix(rng, (2, 3, 3), "complex128"), make.normal(rng, (2, 3, 2), "complex128")
    grad.check_grads(la.solve_triangular, args, lower=True, trans=2)


@pytest.mark.parametrize("n, columns", [(0, 2), (3, 0)])
def test_empty(n, columns):
    a, b = np.broadcast_to(np.eye(n), (2, n, n)), np.zeros((2, n, columns))
    ga, gb = grad.vjp(la.solve_triangular, a, b)[1](b)
    assert ga.shape == a.shape and gb.shape == b.shape and not ga.any()
