"""Derivatives of det and slogdet."""
from .._lib._validate import as_matrix
from . import _cofactor, _stacks
from . import _factored as factored
from . import _xp as xp
from ._forward import public
from ._table import Capability, Record, register

# ------------------------------------------------------------------ det

def _det_forward(args, kw):
    value, kept = _cofactor.keep(as_matrix("det", args[0], square=True), kw.get("lanes"))
    return (value,), kept


def _det_jvp(call, tangents):
    """d det = tr(adj(A) dA), the adjugate without division (`_cofactor`)."""
    c = _cofactor.cofactor(call.args[0], kept=call.aux)
    return (xp.sum(xp.conj(c) * tangents[0], axis=(-2, -1)),)


def _det_vjp(call, cotangents, needs):
    """gA = g adj(A)^H, right at any rank."""
    if cotangents[0] is None:
        return (None,), None
    return (_cofactor.cofactor(call.args[0], cotangents[0], kept=call.aux),), None


# ------------------------------------------------------------------ slogdet

def _slogdet_forward(args, kw):
    lanes = kw.get("lanes")
    lu, piv = factors = tuple(public("lu_factor")(as_matrix("slogdet", args[0], square=True), lanes=lanes))
    sign, logabsdet = _stacks.log_product(lu, piv)
    factored.refuse("slogdet", sign == 0, "the matrix is singular, its log|det| is -inf; det has a derivative there")
    return (sign, logabsdet), factors


def _solver(call):
    factors, lanes = call.aux, call.kw.get("lanes")

    def solver(b, trans):
        return public("lu_solve")(factors, b, trans=trans, lanes=lanes)
    return solver


def _slogdet_jvp(call, tangents):
    """d log|det| = Re t, d sign = i sign Im t, t = tr(A^-1 dA)."""
    moved = xp.solve_kept(call.args[0], tangents[0], solver=_solver(call))
    t = xp.sum(xp.diagonal(moved), axis=-1)
    sign = call.outputs[0]
    return (xp.imag(t) * sign * 1j if xp.is_complex(sign) else xp.zeros_like(sign)), xp.real(t)


def _slogdet_vjp(call, cotangents, needs):
    """gA = (g_log - i Im(conj(g_sign) sign)) A^-H."""
    gsign, glog = cotangents
    sign = call.outputs[0]
    slope = glog
    if gsign is not None and xp.is_complex(sign):
        turn = xp.imag(xp.conj(gsign) * sign) * -1j
        slope = turn if slope is None else slope + turn
    if slope is None:
        return (None,), None
    a = call.args[0]
    ones = xp.broadcast_to(xp.eye(a.shape[-1], sign), shape=a.shape)
    return (xp.solve_kept(a, ones * slope[..., None, None], solver=_solver(call), trans=2),), None


def _slogdet_result(outputs, kw):
    from .._lib._results import SlogdetResult
    return SlogdetResult(*outputs)


register(Record(
    name="det", forward=_det_forward, jvp=_det_jvp, vjp=_det_vjp, remember=None,
    capabilities=(Capability("det", caveat="first and second order at any rank; no third derivatives"),),
))
register(Record(
    name="slogdet", forward=_slogdet_forward, jvp=_slogdet_jvp, vjp=_slogdet_vjp, pack=_slogdet_result, remember=None,
    capabilities=(Capability("sign", caveat="a complex sign is a phase; a real one is locally constant, its tangent 0"),
                  Capability("logabsdet", caveat="not at a singular matrix, where it is -inf")),
))
