"""Derivatives of lu, lu_factor, lu_factor_ex (the permutation is held fixed) and lu_solve."""
from .._lib import _tols
from . import _factored as factored
from . import _xp as xp
from ._dual import plus, recordable
from ._forward import public
from ._program import program
from ._table import Capability, Record, register

# The rules are in the rows of L U. With k = min(m, n), M the square unit lower triangular matrix whose first columns
# are L and whose others are those of the identity, K = M^-1 dA and S = tril(K[:, :k] U[:, :k]^-1, -1):
# dL = M S,  dU = triu(K - S U). In a square or wide matrix the last column of S is empty, and a last pivot 0 harmless.


def _times(l, s):
    """M S."""
    m, k = l.shape[-2:]
    if m == k:
        return xp.matmul(l, s)
    below = xp.embed(s[..., k:, :], shape=s.shape, index=(..., slice(k, None), slice(None)))
    return xp.matmul(l, s[..., :k, :]) + below


def _low_adjoint(l, x):
    """The strict lower triangle of M^H X; it sees no other entries of X."""
    m, k = l.shape[-2:]
    top = xp.tril_inner(l[..., :k, :], x[..., :k, :], k=-1, upper=True)
    if m == k:
        return top
    return xp.concatenate(top + xp.tril_inner(l[..., k:, :], x[..., k:, :], k=-1), x[..., k:, :], axis=-2)


def _solve(l, x):
    """M^-1 X."""
    k = l.shape[-1]
    top = xp.solve_triangular(l[..., :k, :], x[..., :k, :], lower=True, unit_diagonal=True)
    return top if l.shape[-2] == k else xp.concatenate(top, x[..., k:, :] - xp.matmul(l[..., k:, :], top), axis=-2)


def _solve_adjoint(l, x):
    """M^-H X."""
    k = l.shape[-1]
    top, rest = x[..., :k, :], x[..., k:, :]
    if l.shape[-2] > k:
        top = top - xp.inner(l[..., k:, :], rest)
    top = xp.solve_triangular(l[..., :k, :], top, lower=True, trans=2, unit_diagonal=True)
    return top if l.shape[-2] == k else xp.concatenate(top, rest, axis=-2)


def _widened(x, n, axis):
    """x with zeros appended up to n rows or columns."""
    missing = n - x.shape[axis]
    if not missing:
        return x
    shape = list(x.shape)
    shape[axis] = missing
    return xp.concatenate(x, xp.zeros_like(x, shape=tuple(shape)), axis=axis)


def _pivots(u, m):
    """The square matrix of the pivots, which S is multiplied by the inverse of.

    The last pivot of a square or wide matrix divides nothing that counts: where it is negligible it is moved away
    from zero. The entries of `u` are near 1 at most.
    """
    k = u.shape[-2]
    lead = u[..., :k]
    return lead if m > k or k == 0 else lifted(lead)


@recordable
def lifted(x):
    """Square matrices with 1 added to the last number on the diagonal where it is negligible."""
    k = x.shape[-1]
    negligible = xp.magnitude(x[..., k - 1, k - 1]) <= _tols.eps(x.dtype)
    if not negligible.any():
        return x
    return xp.add_diagonal(x, xp.eye(k, x)[-1] * negligible[..., None])


@program
def lu_tangents(da, l, u):
    """(dL, dU) from the tangent of the permuted matrix."""
    k = l.shape[-1]
    scale = factored.binary_scale(u)
    unit = factored.divided(u, scale)
    moved = _solve(l, factored.divided(da, scale))
    s = xp.tril(factored.right_solve(moved[..., :k], _pivots(unit, l.shape[-2]), lower=False), k=-1)
    return _times(l, s), factored.times(xp.triu((moved - xp.matmul(s, unit))[..., :k, :]), scale)


@program
def lu_cotangent(gl, gu, l, u):
    """Cotangent of the permuted matrix, the adjoint of `lu_tangents`; gl or gu may be None."""
    scale = factored.binary_scale(u)
    unit = factored.divided(u, scale)
    # Only the strict lower triangles of gL and of gS count.
    gs = None if gl is None else _low_adjoint(l, factored.divided(gl, scale))
    gk = None if gu is None else _widened(xp.triu(gu), l.shape[-2], -2)
    if gk is not None:
        moved = xp.tril_outer(gk, unit, k=-1, upper=True)
        gs = -moved if gs is None else gs - moved
    gs = factored.right_solve(gs, _pivots(unit, l.shape[-2]), lower=False, trans=2)
    return _solve_adjoint(l, plus(gk, _widened(gs, u.shape[-1], -1)))


def _refuse_zero_pivots(name, u, m):
    r = max(min(m - 1, u.shape[-1]), 0)
    zero = xp.magnitude(xp.diagonal(u[..., :r, :r])) == 0
    factored.refuse(name, zero.any(axis=-1), "a pivot before the last column is exactly zero, so that L is not "
                                             "determined there")


# ------------------------------------------------------------------ lu

def _lu_forward(args, kw):
    permute = kw.get("permute_l")
    if permute:
        kw = {**kw, "permute_l": False, "p_indices": True}
    p, l, u = public("lu")(args[0], **kw)
    _refuse_zero_pivots("lu", u, l.shape[-2])
    rows = _row_order(p, kw)
    return ((factored.unpermuted(l, rows), u) if permute else (p, l, u)), rows


def _row_order(p, kw):
    """Rows with a[rows] = L U, from either form of P."""
    return factored.inverse_order(p) if kw.get("p_indices") else factored.matrix_order(p)


def _lu_factors(call):
    """(L, U) of a call in the rows of L U."""
    l, u = call.outputs[-2:]
    return (factored.permuted(l, call.aux) if call.kw.get("permute_l") else l), u


def _lu_jvp(call, tangents):
    dl, du = lu_tangents(factored.permuted(tangents[0], call.aux), *_lu_factors(call))
    return (factored.unpermuted(dl, call.aux), du) if call.kw.get("permute_l") else (None, dl, du)


def _lu_vjp(call, cotangents, needs):
    gl, gu = cotangents[-2:]
    if gl is None and gu is None:
        return (None,), None
    if gl is not None and call.kw.get("permute_l"):
        gl = factored.permuted(gl, call.aux)
    return (factored.unpermuted(lu_cotangent(gl, gu, *_lu_factors(call)), call.aux),), None


def _lu_remember(args, outputs, kw):
    return _row_order(outputs[0], kw)


def _lu_result(outputs, kw):
    from .._lib._results import LUResult
    return LUResult(*outputs)


# ------------------------------------------------------------------ lu_factor, lu_factor_ex

def _unpacked(lu):
    """(L, U) of the compact form."""
    k = min(lu.shape[-2:])
    return xp.unit_lower(lu[..., :k]), xp.triu(lu[..., :k, :])


def _packed(l, u):
    """Tangents (dL, dU) in the compact form."""
    return _widened(l, u.shape[-1], -1) + _widened(u, l.shape[-2], -2)


def _factor_forward(name):
    def forward(args, kw):
        outputs = tuple(public(name)(args[0], **kw))
        lu, piv = outputs[:2]
        _refuse_zero_pivots(name, lu, lu.shape[-2])
        return outputs, factored.row_order(piv, lu.shape[-2])
    return forward


def _factor_remember(args, outputs, kw):
    return factored.row_order(outputs[1], outputs[0].shape[-2])


def _factor_jvp(call, tangents):
    dlu = _packed(*lu_tangents(factored.permuted(tangents[0], call.aux), *_unpacked(call.outputs[0])))
    return (dlu, *(None for _ in call.outputs[1:]))


def _factor_vjp(call, cotangents, needs):
    g = cotangents[0]
    if g is None:
        return (None,), None
    k = min(g.shape[-2:])
    ga = lu_cotangent(g[..., :k], g[..., :k, :], *_unpacked(call.outputs[0]))
    return (factored.unpermuted(ga, call.aux),), None


def _factor_result(outputs, kw):
    from .._lib import _results
    return (_results.LUFactorResult if len(outputs) == 2 else _results.LUFactorExResult)(*outputs)


# ------------------------------------------------------------------ lu_solve

def _lu_solve_forward(args, kw):
    lu, piv, b = args
    return (public("lu_solve")((lu, piv), b, **kw),), factored.row_order(piv, lu.shape[-2])


def _lu_solve_remember(args, outputs, kw):
    return factored.row_order(args[1], args[0].shape[-2])


_UNIT = {"lower": True, "unit_diagonal": True}
_UPPER = {"lower": False}


def _lu_solve_jvp(call, tangents):
    """Two triangular systems one after the other, each differentiated by dX = op(T)^-1 (dB - op(dT) X)."""
    lu, _, b = call.args
    dlu, _, db = tangents
    trans, vector = factored.transposition(call.kw.get("trans", 0)), b.ndim == 1
    x, rhs = factored.columns(call.outputs[0], vector), factored.columns(db, vector)
    first, second = _order(trans)
    if trans == 0 and rhs is not None:
        rhs = factored.permuted(rhs, call.aux)
    if trans:
        x = factored.permuted(x, call.aux)
    if dlu is not None:
        moved = xp.matmul(factored.op(_part(dlu, first), trans),
                          xp.matmul(factored.op(_part(lu, second, one=True), trans), x))
        rhs = -moved if rhs is None else rhs - moved
    rhs = xp.solve_triangular(lu, rhs, trans=trans, **first)
    if dlu is not None:
        rhs = rhs - xp.matmul(factored.op(_part(dlu, second), trans), x)
    dx = xp.solve_triangular(lu, rhs, trans=trans, **second)
    return (factored.uncolumned(factored.unpermuted(dx, call.aux) if trans else dx, vector),)


def _order(trans):
    """The triangles in the order in which the system of `trans` is solved with them."""
    return ((_UNIT, _UPPER), (_UPPER, _UNIT))[trans > 0]


def _part(lu, kind, one=False):
    """The triangle of the compact form that `kind` names; with the ones of L if `one`."""
    if kind is _UPPER:
        return xp.triu(lu)
    return xp.unit_lower(lu) if one else xp.tril(lu, k=-1)


@program
def _factors_cotangent(lu, inner, gb, x, *, trans):
    """The cotangent of both triangles, from the right-hand sides between the solves and in front of them."""
    first, second = _order(trans)
    middle = xp.matmul(factored.op(_part(lu, second, one=True), trans), x)
    return (_part(factored.op(xp.outer(-inner, x), trans), second)
            + _part(factored.op(xp.outer(-gb, middle), trans), first))


def _lu_solve_vjp(call, cotangents, needs):
    """The adjoint of `_lu_solve_jvp`: op(T) X = B gives gB = op(T)^-H gX and g op(T) = -gB X^H."""
    if cotangents[0] is None:
        return (None, None, None), None
    lu, _, b = call.args
    trans, vector = factored.transposition(call.kw.get("trans", 0)), b.ndim == 1
    x, g = factored.columns(call.outputs[0], vector), factored.columns(cotangents[0], vector)
    first, second = _order(trans)
    if trans:
        x, g = factored.permuted(x, call.aux), factored.permuted(g, call.aux)
    inner = factored.adjoint_solve(lu, g, trans=trans, **second)
    gb = factored.adjoint_solve(lu, inner, trans=trans, **first)
    glu = _factors_cotangent(lu, inner, gb, x, trans=trans) if needs[0] else None
    gb = gb if trans else factored.unpermuted(gb, call.aux)
    return (glu, None, factored.uncolumned(gb, vector)), None


# ------------------------------------------------------------------ table

_FIXED = "at fixed pivots, which are constant where the derivative exists"
_PERMUTATION = "a permutation is constant where the factors are differentiable"
_LAST = "an exact zero pivot is allowed in the last row only"


def _constant(output, caveat=_PERMUTATION):
    return Capability(output, jvp=False, vjp=False, second_order=False, caveat=caveat)


_FACTORS = (Capability("L", caveat=f"{_FIXED}; {_LAST}"), Capability("U", caveat=f"{_FIXED}; {_LAST}"))

_PERMUTED = Record(name="lu", forward=_lu_forward, jvp=_lu_jvp, vjp=_lu_vjp, sliced=True, programmed=True,
                   pack=lambda outputs, kw: outputs, remember=None, capabilities=_FACTORS)
_SEPARATE = register(Record(
    name="lu", forward=_lu_forward, jvp=_lu_jvp, vjp=_lu_vjp, sliced=True, programmed=True,
    pack=_lu_result, remember=_lu_remember,
    variant=lambda kw, count: _PERMUTED if kw.get("permute_l") else _SEPARATE,
    capabilities=(_constant("P"), *_FACTORS),
))
register(Record(
    name="lu_factor", forward=_factor_forward("lu_factor"), jvp=_factor_jvp, vjp=_factor_vjp, sliced=True,
    programmed=True, pack=_factor_result, remember=_factor_remember,
    capabilities=(Capability("lu", caveat=f"{_FIXED}; {_LAST}"), _constant("piv")),
))
register(Record(
    name="lu_factor_ex", forward=_factor_forward("lu_factor_ex"), jvp=_factor_jvp, vjp=_factor_vjp, sliced=True,
    programmed=True, pack=_factor_result, remember=_factor_remember,
    capabilities=(Capability("lu", caveat=f"{_FIXED}; {_LAST}"), _constant("piv"),
                  _constant("info", "a status code is constant")),
))
register(Record(
    name="lu_solve", forward=_lu_solve_forward, jvp=_lu_solve_jvp, vjp=_lu_solve_vjp, sliced=True, programmed=True,
    remember=_lu_solve_remember, inexact=(0, 2),
    capabilities=(Capability("x", caveat="with respect to lu and b; the pivots are constant"),),
))
