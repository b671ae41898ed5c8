"""Derivatives of cholesky, cholesky_ex, cholesky_solve and cholesky_inverse.

Every rule works on the lower factor; an upper one is its conjugate transpose.
"""
from . import _factored as factored
from . import _xp as xp
from ._forward import public
from ._program import program
from ._table import Capability, Record, register


def _given(x, upper):
    """A factor (tangent, cotangent) of the caller's kind as a lower one, and back; nothing is masked."""
    return xp.H(x) if upper else x


@program
def cholesky_tangent(da, c, *, upper):
    """dL = L Phi(L^-1 dA L^-H), Phi the lower triangle with half the diagonal; the Hermitian part of dA counts.

    Reference: I. Murray, Differentiation of the Cholesky decomposition (2016), equation 8.
    """
    scale = factored.binary_scale(c)
    unit = factored.divided(_given(c, upper), scale)
    inner = xp.solve_triangular(unit, factored.divided(xp.herm(da), scale), lower=True)
    return _given(xp.matmul(unit, xp.half_lower(factored.right_solve(inner, unit, lower=True, trans=2))), upper)


@program
def cholesky_cotangent(gc, c, *, upper):
    """gA = herm(L^-H Phi(L^H gL) L^-1), full and Hermitian; Phi sees only the lower triangle of gL."""
    scale = factored.binary_scale(c)
    unit = factored.divided(_given(c, upper), scale)
    inner = xp.half_lower(xp.tril_inner(unit, _given(gc, upper), upper=True))
    inner = xp.solve_triangular(unit, inner, lower=True, trans=2)
    return factored.divided(xp.herm(factored.right_solve(inner, unit, lower=True)), scale)


def _lower(x, upper):
    """The lower factor (or its tangent or cotangent) in what the caller has; the other triangle is not read."""
    return None if x is None else xp.tril(xp.H(x) if upper else x)


def _product_solve(c, b):
    """(L L^H)^-1 B."""
    return xp.solve_triangular(c, xp.solve_triangular(c, b, lower=True), lower=True, trans=2)


@program
def solved_cotangent(c, gb, x, *, upper):
    """gL = -tril((gB X^H + X gB^H) L) of X = (L L^H)^-1 B."""
    moved = xp.inner(xp.tril(_given(c, upper)), xp.concatenate(x, gb, axis=-1))
    return _given(xp.tril_outer(xp.concatenate(-gb, -x, axis=-1), moved), upper)


@program
def inverse_cotangent(c, gx, *, upper):
    """gL = -tril(L^-H L^-1 (gX + gX^H) L^-H) of X = (L L^H)^-1."""
    c = _given(c, upper)
    inner = factored.right_solve(xp.herm(gx) * -2, c, lower=True, trans=2)
    return _given(xp.tril(_product_solve(c, inner)), upper)


# ------------------------------------------------------------------ table

def _cholesky_forward(args, kw):
    return (public("cholesky")(args[0], **kw),), None


def _cholesky_ex_forward(args, kw):
    c, info = public("cholesky_ex")(args[0], **kw)
    factored.refuse_failed("cholesky_ex", info)
    return (c, info), None


def _cholesky_jvp(call, tangents):
    upper = call.kw.get("upper", False)
    return (cholesky_tangent(tangents[0], call.outputs[0], upper=upper), *(None for _ in call.outputs[1:]))


def _cholesky_vjp(call, cotangents, needs):
    upper = call.kw.get("upper", False)
    if cotangents[0] is None:
        return (None,), None
    return (cholesky_cotangent(cotangents[0], call.outputs[0], upper=upper),), None


def _cholesky_solve_forward(args, kw):
    return (public("cholesky_solve")(*args, **kw),), None


def _cholesky_solve_jvp(call, tangents):
    """dX = (L L^H)^-1 (dB - (dL L^H + L dL^H) X)."""
    upper, vector = call.kw.get("upper", False), call.args[1].ndim == 1
    c, dc = _lower(call.args[0], upper), _lower(tangents[0], upper)
    rhs = factored.columns(tangents[1], vector)
    if dc is not None:
        x = factored.columns(call.outputs[0], vector)
        moved = xp.matmul(dc, xp.inner(c, x)) + xp.matmul(c, xp.inner(dc, x))
        rhs = -moved if rhs is None else rhs - moved
    return (factored.uncolumned(_product_solve(c, rhs), vector),)


def _cholesky_solve_vjp(call, cotangents, needs):
    """gB = (L L^H)^-1 gX; gL = -tril((gB X^H + X gB^H) L)."""
    if cotangents[0] is None:
        return (None, None), None
    upper, vector = call.kw.get("upper", False), call.args[1].ndim == 1
    gb = _product_solve(_given(call.args[0], upper), factored.columns(cotangents[0], vector))
    gc = None
    if needs[0]:
        gc = solved_cotangent(call.args[0], gb, factored.columns(call.outputs[0], vector), upper=upper)
    return (gc, factored.uncolumned(gb, vector)), None


def _cholesky_inverse_forward(args, kw):
    return (public("cholesky_inverse")(args[0], **kw),), None


def _cholesky_inverse_jvp(call, tangents):
    """dX = -(Y + Y^H), Y = L^-H (L^-1 dL) L^-1."""
    upper = call.kw.get("upper", False)
    c, dc = _lower(call.args[0], upper), _lower(tangents[0], upper)
    inner = factored.right_solve(xp.solve_triangular(c, dc, lower=True), c, lower=True)
    return (xp.herm(xp.solve_triangular(c, inner, lower=True, trans=2)) * -2,)


def _cholesky_inverse_vjp(call, cotangents, needs):
    """gL = -tril(L^-H L^-1 (gX + gX^H) L^-H)."""
    if cotangents[0] is None:
        return (None,), None
    upper = call.kw.get("upper", False)
    return (inverse_cotangent(call.args[0], cotangents[0], upper=upper),), None


def _ex_result(outputs, kw):
    from .._lib._results import CholeskyExResult
    return CholeskyExResult(*outputs)


_HERMITIAN = "the Hermitian part of a tangent counts; the cotangent of the matrix is the full Hermitian matrix"
_TRIANGLE = "the triangle of the factor that is not read has a zero cotangent"
_INFO = "a status code is constant"

register(Record(
    name="cholesky", sliced=True, programmed=True, forward=_cholesky_forward, jvp=_cholesky_jvp, vjp=_cholesky_vjp,
    capabilities=(Capability("L", caveat=_HERMITIAN),),
))
register(Record(
    name="cholesky_ex", sliced=True, programmed=True,
    forward=_cholesky_ex_forward, jvp=_cholesky_jvp, vjp=_cholesky_vjp,
    pack=_ex_result,
    capabilities=(Capability("L", caveat=_HERMITIAN),
                  Capability("info", jvp=False, vjp=False, second_order=False, caveat=_INFO)),
))
register(Record(
    name="cholesky_solve", sliced=True, programmed=True, forward=_cholesky_solve_forward, jvp=_cholesky_solve_jvp,
    vjp=_cholesky_solve_vjp, inexact=(0, 1), capabilities=(Capability("x", caveat=_TRIANGLE),),
))
register(Record(
    name="cholesky_inverse", sliced=True, programmed=True, forward=_cholesky_inverse_forward,
    jvp=_cholesky_inverse_jvp, vjp=_cholesky_inverse_vjp, capabilities=(Capability("inverse", caveat=_TRIANGLE),),
))
