"""The operations of the compact tier: arguments, the function, and residuals of its results."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _matrices import H, definite, matrix, normal, triangular, wide
from _measure import inverse_ratio, orthogonality_ratio, residual_ratio, solution_ratio
from _tols import rounding

import linalgad as la


@dataclass
class Op:
    """`make(rng, batch, n, dtype, kind)` gives the arguments, `residuals(args, outs)` ratios by name."""

    name: str
    call: Callable
    make: Callable
    residuals: Callable
    fails: bool = True          # for singular matrices

    def __repr__(self):
        return self.name


def _general(rng, batch, n, dtype, kind):
    return (matrix(rng, batch, n, n, dtype, kind),)


def _system(rng, batch, n, dtype, kind):
    return (matrix(rng, batch, n, n, dtype, kind), normal(rng, (*batch, n, 3), dtype))


def _definite(rng, batch, n, dtype, kind):
    return (definite(rng, batch, n, dtype, kind),)


def _triangular(rng, batch, n, dtype, kind):
    return (triangular(rng, batch, n, dtype), normal(rng, (*batch, n, 5), dtype))


def _factor(rng, batch, n, dtype, kind):
    return (triangular(rng, batch, n, dtype),)


def _rectangular(ratio):
    def make(rng, batch, n, dtype, kind):
        m = max(1, round(n * ratio))
        return (matrix(rng, batch, m, n, dtype, kind),)
    return make


def _cholesky(args, outs):
    (a,), (c,) = args, outs
    e = 2 * (np.frexp(np.abs(a).max((-2, -1), keepdims=True))[1] // 2)
    c = c * np.ldexp(c.real.dtype.type(1), -e // 2)
    a = a * np.ldexp(1.0, -e // 2) * np.ldexp(1.0, -e // 2)
    return {"a": residual_ratio(a.astype(c.dtype), c, H(c)), "zeros": np.inf if np.triu(c, 1).any() else 0.0}


def _lu(args, outs):
    p, l, u = outs
    unit = np.diagonal(l, axis1=-2, axis2=-1)
    return {"a": residual_ratio(np.swapaxes(p, -1, -2).astype(l.dtype) @ args[0], l, u),
            "unit": np.inf if (unit != 1).any() or np.triu(l, 1).any() or np.tril(u, -1).any() else 0.0,
            "pivoting": np.inf if (np.abs(l) > 2).any() else 0.0}


def _solve(args, outs):
    return {"x": solution_ratio(args[0], outs[0], args[1])}


def _lower(args, outs):
    return {"x": solution_ratio(np.tril(args[0]), outs[0], args[1])}


def _product(c):
    c = np.tril(c.astype(wide(c.dtype)))
    return c @ H(c)


def _solve_factored(args, outs):
    return {"x": solution_ratio(_product(args[0]), outs[0], args[1])}


def _inverse_factored(args, outs):
    (x,) = outs
    return {"x": inverse_ratio(_product(args[0]), x), "hermitian": np.inf if (x != H(x)).any() else 0.0}


def _inverse(args, outs):
    a, x = args[0], outs[0]
    eye = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return {"x": solution_ratio(a, x, eye)}


def _qr(args, outs):
    q, r = outs
    d = np.diagonal(r, axis1=-2, axis2=-1)
    return {"a": residual_ratio(args[0], q, r), "q": orthogonality_ratio(q),
            "r": np.inf if np.tril(r, -1).any() or np.imag(d).any() else 0.0}


def _slogdet(args, outs):
    a = args[0].astype(wide(args[0].dtype))
    sign, logabs = np.linalg.slogdet(a)
    bound = rounding(args[0].dtype, a.shape[-1], np.linalg.cond(a).max(initial=1.0))
    far = np.abs(outs[1] - logabs) > bound * np.maximum(np.abs(logabs), 1.0)
    return {"sign": np.inf if (np.abs(outs[0] - sign) > bound).any() else 0.0, "log": np.inf if far.any() else 0.0}


OPS = (
    Op("cholesky", la.cholesky, _definite, _cholesky),
    Op("lu", la.lu, _general, _lu, fails=False),
    Op("solve", la.solve, _system, _solve),
    Op("solve_triangular", lambda a, b, **kw: la.solve_triangular(a, b, lower=True, **kw), _triangular, _lower),
    Op("cholesky_solve", la.cholesky_solve, _triangular, _solve_factored),
    Op("cholesky_inverse", la.cholesky_inverse, _factor, _inverse_factored),
    Op("inv", la.inv, _general, _inverse),
    Op("slogdet", la.slogdet, _general, _slogdet, fails=False),
    Op("qr", la.qr, _rectangular(1.0), _qr, fails=False),
    Op("qr_tall", la.qr, _rectangular(2.5), _qr, fails=False),
    Op("qr_wide", la.qr, _rectangular(0.6), _qr, fails=False),
)
