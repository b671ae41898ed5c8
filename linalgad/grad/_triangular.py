"""Derivatives of solve_triangular."""
from . import _factored as factored
from . import _xp as xp
from ._forward import public
from ._table import Capability, Record, register


def _triangle(x, kw):
    """The part of the matrix that the call reads."""
    k = 1 if kw.get("unit_diagonal", False) else 0
    return xp.tril(x, k=-k) if kw.get("lower", False) else xp.triu(x, k=k)


def _options(kw):
    """The keywords of the vocabulary's solve."""
    return {"lower": kw.get("lower", False), "unit_diagonal": kw.get("unit_diagonal", False),
            "trans": factored.transposition(kw.get("trans", 0))}


def _forward(args, kw):
    return (public("solve_triangular")(*args, **kw),), None


def _jvp(call, tangents):
    """dX = op(A)^-1 (dB - op(dA) X)."""
    (a, b), (da, db) = call.args, tangents
    vector, options = b.ndim == 1, _options(call.kw)
    rhs = factored.columns(db, vector)
    if da is not None:
        moved = xp.matmul(factored.op(_triangle(da, call.kw), options["trans"]),
                          factored.columns(call.outputs[0], vector))
        rhs = -moved if rhs is None else rhs - moved
    return (factored.uncolumned(xp.solve_triangular(a, rhs, **options), vector),)


def _vjp(call, cotangents, needs):
    """gB = op(A)^-H gX; g op(A) = -gB X^H, on the triangle that is read."""
    if cotangents[0] is None:
        return (None, None), None
    a, b = call.args
    vector, options = b.ndim == 1, _options(call.kw)
    gb = factored.adjoint_solve(a, factored.columns(cotangents[0], vector), **options)
    ga = None
    if needs[0]:
        trans, k = options["trans"], 1 if options["unit_diagonal"] else 0
        # The triangle of op(A) is the other one of A.
        if options["lower"] == (trans == 0):
            ga = xp.tril_outer(-gb, factored.columns(call.outputs[0], vector), k=-k)
        else:
            ga = xp.triu_outer(-gb, factored.columns(call.outputs[0], vector), k=k)
        ga = factored.op(ga, trans)
    return (ga, factored.uncolumned(gb, vector)), None


register(Record(
    name="solve_triangular", forward=_forward, jvp=_jvp, vjp=_vjp, inexact=(0, 1),
    capabilities=(Capability("x", caveat="entries that are not read have a zero cotangent"),),
))
