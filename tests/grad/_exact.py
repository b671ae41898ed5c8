"""Factorisations and linear systems in 60 digits, and derivatives of them by differences good to 30 and more.

Functions take and return lists of mpmath matrices and work on exactly the floating-point arguments they get.
"""
import mpmath as mp
import numpy as np
from grad._truth import to_mp, to_np

_STEP = mp.mpf(10) ** -20


def herm(x):
    return (x + x.transpose_conj()) / 2


def cholesky(upper=False):
    def fun(a):
        c = mp.cholesky(herm(a))
        return [c.transpose_conj() if upper else c]
    return fun


def gram(c, upper=False):
    """L L^H of a factor of which one triangle is read."""
    c = triangle(c, not upper)
    return c.transpose_conj() * c if upper else c * c.transpose_conj()


def triangle(a, lower, unit=False):
    """The triangle of a square matrix, with ones on the diagonal if `unit`."""
    def entry(i, j):
        if i == j:
            return mp.mpf(1) if unit else a[i, j]
        return a[i, j] if (i > j) == bool(lower) else mp.mpf(0)
    return mp.matrix([[entry(i, j) for j in range(a.cols)] for i in range(a.rows)])


def op(a, trans):
    return (a, a.transpose(), a.transpose_conj())[trans]


def lu(rows):
    """L and U of the rows in this order."""
    def fun(a):
        m, n = a.rows, a.cols
        k = min(m, n)
        u = mp.matrix([[a[int(i), j] for j in range(n)] for i in rows])
        l = mp.zeros(m, k)
        for j in range(k):
            l[j, j] = mp.mpf(1)
            for i in range(j + 1, m):
                l[i, j] = u[i, j] / u[j, j]
                for c in range(j, n):
                    u[i, c] -= l[i, j] * u[j, c]
        return [l, u[:k, :]]
    return fun


def packed(lu_fun):
    """The compact form of `lu`."""
    def fun(a):
        l, u = lu_fun(a)
        return [mp.matrix([[l[i, j] if i > j else u[i, j] for j in range(u.cols)] for i in range(l.rows)])]
    return fun


def qr(r, order=None):
    """Q and R with the signs of the given R, of the columns in this order; thin."""
    signs = np.sign(np.diagonal(r).real)
    order = range(r.shape[-1]) if order is None else order

    def fun(a):
        a = mp.matrix([[a[i, int(j)] for j in order] for i in range(a.rows)])
        k = min(a.rows, a.cols)
        q = mp.zeros(a.rows, k)
        for j in range(k):
            v = a[:, j]
            for i in range(j):
                v -= q[:, i] * (q[:, i].transpose_conj() * a[:, j])[0]
            v *= mp.mpf(float(signs[j])) / mp.norm(v)
            for i in range(a.rows):
                q[i, j] = v[i]
        return [q, q.transpose_conj() * a]
    return fun


def solve(a, b):
    return [mp.inverse(a) * b]


def expansion(a):
    """The determinant as a polynomial, exact at any rank."""
    n = a.rows

    def minor(rows, j):
        if j == n:
            return mp.mpf(1)
        return mp.fsum((-1) ** k * a[i, j] * minor(rows[:k] + rows[k + 1:], j + 1) for k, i in enumerate(rows))
    return minor(tuple(range(n)), 0)


def slogdet(a):
    d = expansion(a)
    return [mp.matrix([[d / abs(d)]]), mp.matrix([[mp.log(abs(d))]])]


def cofactors(a):
    """adj(A)^H by minors, exact at any rank."""
    n = a.rows

    def minor(i, j):
        if n == 1:
            return mp.mpf(1)
        return expansion(mp.matrix([[a[r, c] for c in range(n) if c != j] for r in range(n) if r != i]))
    return mp.matrix([[mp.conj((-1) ** (i + j) * minor(i, j)) for j in range(n)] for i in range(n)])


# ------------------------------------------------------------------ derivatives

def slopes(fun, args, tangents):
    """Tangents of the outputs in double precision; a tangent may be None."""
    xs = [to_mp(x) for x in args]
    ts = [None if t is None else to_mp(t) for t in tangents]

    def moved(h):
        return fun(*(x if t is None else x + h * t for x, t in zip(xs, ts, strict=True)))
    return [(u - d) / (2 * _STEP) for u, d in zip(moved(_STEP), moved(-_STEP), strict=True)]


def tangents(fun, args, directions, like):
    """`slopes` as arrays in the kind of the arrays `like`."""
    return [to_np(t, y) for t, y in zip(slopes(fun, args, directions), like, strict=True)]


def gradient(fun, args, cotangents, which=0):
    """The gradient with respect to one argument, by a difference along every entry (and i times it)."""
    x = args[which]
    cts = [None if g is None else to_mp(g) for g in cotangents]
    out = np.zeros(x.shape, "complex128" if x.dtype.kind == "c" else "float64")
    for i in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            direction = np.zeros(x.shape, out.dtype)
            direction[i] = unit
            dys = slopes(fun, args, [direction if k == which else None for k in range(len(args))])
            total = mp.fsum(mp.re(mp.conj(g[r, c]) * dy[r, c]) for g, dy in zip(cts, dys, strict=True) if g is not None
                            for r in range(dy.rows) for c in range(dy.cols))
            out[i] += unit * float(total)
    return out
