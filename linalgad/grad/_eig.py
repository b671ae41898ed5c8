"""Derivatives of eig (right and left eigenvectors) and eigvals."""
from dataclasses import replace
from typing import Any, NamedTuple

from . import _gap, _kept
from . import _spectral as spectral
from . import _xp as xp
from ._align import aligned_general
from ._dual import join, level_of, primal_of, primitive, tangent_of
from ._forward import public
from ._table import Capability, Record, register


class Basis(NamedTuple):
    """The plain eigenvalues and right eigenvectors of a call, and V^-1 as a kept factorisation."""

    w: Any
    v: Any
    solver: Any


def _normalised(x, dx):
    """The tangent of unit columns with a real pivot whose raw tangent is dx."""
    dx = dx - x * spectral.row(xp.real(xp.sum(xp.conj(x) * dx, axis=-2)))
    return spectral.fix_phases((x, dx))[0]


def _raw_cotangent(x, gx, opt):
    """The adjoint of `_normalised`, and the phase the cotangent asks for."""
    if opt.gauge == "ignore" and xp.is_complex(x):
        gx = spectral.absorb_phases(x, gx, spectral.phase_slopes((x, gx)))
    along = spectral.row(xp.sum(xp.conj(x) * gx, axis=-2))
    return gx - x * xp.real(along), xp.imag(along)


def _couplings(da, w, v, solver, opt):
    """(dP, Omega) with dP = V^-1 dA V and Omega_ij = dP_ij / (w_j - w_i), its diagonal 0."""
    top = spectral.top_scale(w)
    dp = xp.solve_kept(v, xp.matmul(da, v), solver=solver)
    return dp, _gap.divide_gap(dp / top[..., None], _gap.gaps(w / top), eps=opt.derivative_eps)


def eig_tangents(da, w, v, solver, opt, left=None):
    """Tangents (dw, dv) or, with the left eigenvectors given, (dw, dv, dleft).

    With dP = V^-1 dA V, Omega = dP o D, D_ij = 1/(w_j - w_i): dw = diag dP, dV = V Omega and
    d(V^-H) = -V^-H Omega^H, each column brought back to unit norm and real pivot. The rotation inside an
    unresolved pair is taken as zero. Reference: A. L. Andrew, K.-W. E. Chu, P. Lancaster, SIAM J. Matrix
    Anal. Appl. 14, 903 (1993).
    """
    dp, omega = _couplings(da, w, v, solver, opt)
    out = xp.diagonal(dp), _normalised(v, xp.matmul(v, omega))
    if left is None:
        return out
    scale = xp.sum(xp.conj(v) * left, axis=-2)
    return *out, _normalised(left, -(xp.solve_kept(v, xp.H(omega), solver=solver, trans=2) * spectral.row(scale)))


def eig_cotangent(cotangents, w, v, solver, opt, left=None):
    """Cotangent of a from (gw, gv) or (gw, gv, gleft), any None for zero.

    gA = V^-H [M / conj(w_j - w_i) + diag(gw)] V^H with M = V^H gv' - N gl'^H V^-H, gv' and gl' the cotangents
    without their part along the columns, N = diag(v_j^H l_j); the numerator test on M as for eigh.
    """
    gw, gv, *rest = cotangents
    gl = rest[0] if rest else None
    top = spectral.top_scale(w)
    numerator, noise, lost, whole = None, 0, [], []
    if gv is not None:
        raw, phase = _raw_cotangent(v, gv, opt)
        numerator, noise = xp.inner(v, raw), spectral.cotangent_scale(v, raw)
        lost.append(phase)
        whole.append(gv)
    if gl is not None:
        raw, phase = _raw_cotangent(left, gl, opt)
        scale = xp.sum(xp.conj(v) * left, axis=-2)
        part = xp.solve_kept(v, raw * spectral.row(xp.conj(scale)), solver=solver)
        numerator = -xp.H(part) if numerator is None else numerator - xp.H(part)
        noise = noise + xp.T(xp.column_scale(part))
        lost.append(phase)
        whole.append(gl)
    inner = None
    if numerator is not None:
        gap = xp.conj(_gap.gaps(w / top))
        inner = _gap.divide_gap(numerator, gap, spectral.pair_scale(noise), eps=opt.derivative_eps)
        inner = inner / top[..., None]
    if gw is not None:
        inner = xp.diag_embed(gw) if inner is None else xp.add_diagonal(inner, gw)
        whole.append(spectral.row(gw * top))
    if inner is None:
        return None, None
    ga = xp.solve_kept(v, xp.outer(inner, v), solver=solver, trans=2)
    return ga, spectral.spectral_info(w / top, numerator, whole, lost, opt=opt)


def lifted_basis(a, basis, opt):
    """The plain (w, v) of `a`, as duals where `a` is dual."""
    level = level_of(a)
    if not level:
        return basis.w, basis.v
    w, v = lifted_basis(primal_of(a, level), basis, opt)
    dw, dv = eig_tangents(tangent_of(a, level), w, v, basis.solver, opt)
    return join(w, dw, level), join(v, dv, level)


@primitive
def eigen_sum(a, gw, *, basis, opt):
    """V^-H diag(gw) V^H for the eigenvectors of `a`: the gradient of the eigenvalues as a function of `a`."""
    return xp.solve_kept(basis.v, spectral.column(gw) * xp.H(basis.v), solver=basis.solver, trans=2)


@eigen_sum.rule
def _eigen_sum(out, primals, tangents, *, basis, opt):
    (a, gw), (da, dgw) = primals, tangents
    w, v = lifted_basis(a, basis, opt)
    inner = None if dgw is None else xp.diag_embed(dgw)
    if da is not None:
        top = spectral.top_scale(w)
        noise = spectral.pair_scale(xp.column_scale(spectral.row(gw)))
        quotient = _gap.divide_gap(_gap.gaps(gw), xp.conj(_gap.gaps(w / top)), noise, eps=opt.derivative_eps)
        dp = xp.solve_kept(v, xp.matmul(da, v), solver=basis.solver)
        dg = xp.H(dp) * quotient / top[..., None]
        inner = dg if inner is None else inner + dg
    return xp.solve_kept(v, xp.outer(inner, v), solver=basis.solver, trans=2)


# ------------------------------------------------------------------ table

def _basis(w, v):
    return Basis(w, v, _kept.LUSolver(v))


def _own(kw):
    return {k: v for k, v in kw.items() if k != "left"}


def _eig_forward(args, kw):
    outputs = tuple(public("eig")(args[0], **kw))
    return outputs, _basis(*outputs[:2])


def _remember(args, outputs, kw):
    return _basis(*outputs[:2])


def _eig_jvp(call, tangents):
    return eig_tangents(tangents[0], *call.outputs[:2], call.aux.solver, call.opt, *call.outputs[2:])


def _eig_vjp(call, cotangents, needs):
    ga, info = eig_cotangent(cotangents, *call.outputs[:2], call.aux.solver, call.opt, *call.outputs[2:])
    return (ga,), _doubt(info, call)


def _doubt(info, call):
    """Let slices speak whose V is so ill conditioned that the derivative is rounding: eps cond(V)."""
    if info is not None:
        info.gauge_residual = xp.larger(info.gauge_residual, call.aux.solver.doubt)
    return info


def _aligned(da, basis):
    """The basis with vectors of repeated eigenvalues that diagonalise the perturbation; itself if there are none."""
    close = _gap.unresolved(basis.w / spectral.top_scale(basis.w))
    if close is None:
        return basis
    r = aligned_general(xp.solve_kept(basis.v, xp.matmul(da, basis.v), solver=basis.solver), close)
    return _basis(basis.w, _unit(xp.matmul(basis.v, r)))


def _unit(x):
    """Plain columns with unit norm and real positive pivots."""
    return spectral.settle_phases(x / xp.column_scale(x))[0]


def _eig_align(call, tangents):
    basis = _aligned(tangents[0], call.aux)
    if basis is call.aux:
        return call.outputs, basis
    identity = xp.zeros_like(basis.v) + xp.eye(basis.v.shape[-1], basis.v)
    left = [_unit(xp.solve_kept(basis.v, identity, solver=basis.solver, trans=2)) for _ in call.outputs[2:]]
    return (basis.w, basis.v, *left), basis


def _eigvals_align(call, tangents):
    return call.outputs, _aligned(tangents[0], call.aux)


def _eigvals_forward(args, kw):
    outputs = tuple(public("eig")(args[0], **_own(kw)))
    return outputs[:1], _basis(*outputs)


def _eigvals_jvp(call, tangents):
    _, v = lifted_basis(call.args[0], call.aux, call.opt)
    return (xp.diagonal(xp.solve_kept(v, xp.matmul(tangents[0], v), solver=call.aux.solver)),)


def _eigvals_vjp(call, cotangents, needs):
    gw = cotangents[0]
    if gw is None:
        return (None,), None
    ga = eigen_sum(call.args[0], gw, basis=call.aux, opt=call.opt)
    unit = call.aux.w / spectral.top_scale(call.aux.w)
    return (ga,), _doubt(spectral.spectral_info(unit, None, [spectral.row(gw)], opt=call.opt), call)


def _project(call, cotangents):
    """Cotangents without phases and without rotations of unresolved pairs."""
    w = call.outputs[0]
    close = _gap.unresolved_or_phase(_gap.gaps(w / spectral.top_scale(w)))
    out = [cotangents[0]]
    for x, gx in zip(call.outputs[1:], cotangents[1:], strict=True):
        if gx is not None:
            inner = xp.inner(x, gx)
            phase = xp.diag_embed(xp.imag(xp.diagonal(inner))) * 1j if xp.is_complex(x) else 0
            # The columns of a cluster are not orthogonal: their Gram matrix gives the coefficients.
            gram = xp.where(close, xp.inner(x, x), 0)
            gx = gx - xp.matmul(x, public("solve")(gram, xp.off_diagonal(xp.where(close, inner, 0)) + phase))
        out.append(gx)
    return tuple(out)


def _match(outputs, like):
    return xp.nearest(outputs[0], like[0])


def _result(outputs, kw):
    from .._lib import _results
    return (_results.LeftEigResult if len(outputs) > 2 else _results.EigResult)(*outputs)


_TIE = ("right for losses that do not see a rotation inside a repeated eigenvalue; slices whose eigenvectors are "
        "numerically dependent are refused by the gauge policy")

_RIGHT = register(Record(
    name="eig", forward=_eig_forward, jvp=_eig_jvp, vjp=_eig_vjp, pack=_result, remember=_remember, project=_project,
    sliced=True,
    align=_eig_align, match=_match, variant=lambda kw, count: _LEFT if kw.get("left") else _RIGHT,
    capabilities=(Capability("eigenvalues", caveat="no derivative at a defective eigenvalue"),
                  Capability("eigenvectors", caveat=_TIE)),
))
_LEFT = replace(_RIGHT, capabilities=(*_RIGHT.capabilities, Capability("left_eigenvectors", caveat=_TIE)))
register(Record(
    name="eigvals", forward=_eigvals_forward, jvp=_eigvals_jvp, vjp=_eigvals_vjp, remember=None, sliced=True,
    align=_eigvals_align, match=_match,
    capabilities=(Capability("eigenvalues", caveat="no derivative at a defective eigenvalue"),),
))
