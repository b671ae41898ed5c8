"""Derivatives of eigh and eigvalsh for a definite pencil (a, b)."""
from dataclasses import replace

from . import _eigh as plain
from . import _gap, _kept
from . import _spectral as spectral
from . import _xp as xp
from ._dual import join, level_of, primal_of, tangent_of
from ._forward import public


class Spectrum:
    """The plain full spectrum of a call, the type of its problem, and V^-1 where type 3 needs it."""

    def __init__(self, w, v, kind):
        self.w, self.v, self.kind = w, v, kind
        self.solver = _kept.LUSolver(v) if kind == 3 else None

    def couple(self, b, v, da, db):
        """(P, Q): U^H dA U and U^H dC U for the problem A U = C U diag(w) with U^H C U = I.

        Type 1 has C = B, U = V; type 3 has C = B^-1, U = V; type 2 has C = B^-1, U = B V.
        """
        p = q = None
        if da is not None:
            u = xp.matmul(b, v) if self.kind == 2 else v
            p = xp.inner(u, xp.matmul(xp.herm(da), u))
        if db is not None:
            db = xp.herm(db)
            if self.kind == 3:
                q = -xp.solve_kept(v, xp.H(xp.solve_kept(v, db, solver=self.solver)), solver=self.solver)
            else:
                q = xp.inner(v, xp.matmul(db, v))
                q = -q if self.kind == 2 else q
        return p, q

    def couple_adjoint(self, b, v, gp, gq):
        """The cotangents of (a, b) from those of P and Q, all Hermitian."""
        u = xp.matmul(b, v) if self.kind == 2 else v
        ga = xp.outer(xp.matmul(u, gp), u)
        if self.kind == 3:
            half = xp.solve_kept(v, gq, solver=self.solver, trans=2)
            return ga, -xp.solve_kept(v, xp.H(half), solver=self.solver, trans=2)
        gb = xp.outer(xp.matmul(v, gq), v)
        return ga, -gb if self.kind == 2 else gb


def pencil_tangents(b, da, db, w, v, spectrum, opt):
    """Tangents (dw, dv) of the full spectrum; da or db may be None for zero.

    With P, Q of `Spectrum.couple`: dw = Re diag(P - w Q), dU = U Omega, Omega_ij = (P_ij - w_j Q_ij) / (w_j - w_i),
    Omega_jj = -Q_jj/2 + i phi_j, and dV = dU, for type 2 dV = V (Omega + Q).
    """
    top = spectral.top_scale(w)
    p, q = spectrum.couple(b, v, da, db)
    moved = p if q is None else -(q * spectral.row(w)) if p is None else p - q * spectral.row(w)
    omega = _gap.divide_gap(moved / top[..., None], _gap.gaps(w / top), eps=opt.derivative_eps)
    if q is not None:
        omega = omega - xp.diag_embed(xp.diagonal(q)) * 0.5
        omega = omega + q if spectrum.kind == 2 else omega
    return xp.real(xp.diagonal(moved)), spectral.fix_phases((v, xp.matmul(v, omega)))[0]


def pencil_cotangent(b, gw, gv, w, v, spectrum, opt):
    """Cotangents of (a, b) on the full spectrum, gw or gv None for zero.

    With N = skew(V^H gV), h = herm(V^H gV), X = N o D: P gets X + diag(gw), and Q gets
    -X (w_i + w_j)/2 - h/2 - diag(gw w), for type 2 with +h/2. Only N stands over a gap.
    """
    top = spectral.top_scale(w)
    gp = xp.diag_embed(xp.zeros_like(w) if gw is None else gw) + xp.zeros_like(v)
    gq = -(gp * spectral.row(w))
    whole, numerator = [spectral.row(xp.diagonal(gp) * top)], None
    if gv is not None:
        if opt.gauge == "ignore" and xp.is_complex(v):
            gv = spectral.absorb_phases(v, gv, spectral.phase_slopes((v, gv)))
        inner = xp.inner(v, gv)
        numerator = xp.skew(inner)
        noise = spectral.pair_scale(spectral.cotangent_scale(v, gv))
        x = _gap.divide_gap(numerator, _gap.gaps(w / top), noise, eps=opt.derivative_eps) / top[..., None]
        gp = gp + x
        gq = gq - x * (spectral.row(w) + spectral.column(w)) * 0.5
        gq = gq + xp.herm(inner) * (0.5 if spectrum.kind == 2 else -0.5)
        whole.append(inner)
    ga, gb = spectrum.couple_adjoint(b, v, gp, gq)
    return (xp.herm(ga), xp.herm(gb)), spectral.spectral_info(w / top, numerator, whole, opt=opt)


def lifted_pencil(args, spectrum, opt):
    """The plain (w, v) of (a, b), as duals where the arguments are dual."""
    level = level_of(*args)
    if not level:
        return spectrum.w, spectrum.v
    primals = [primal_of(x, level) for x in args]
    w, v = lifted_pencil(primals, spectrum, opt)
    dw, dv = pencil_tangents(primals[1], *(tangent_of(x, level) for x in args), w, v, spectrum, opt)
    return join(w, dw, level), join(v, dv, level)


# ------------------------------------------------------------------ table

def _forward(args, kw):
    own = {k: v for k, v in kw.items() if k != "subset_by_index"}
    spectrum = Spectrum(*public("eigh")(*args, **own), kw.get("type", 1))
    part = plain.columns(kw, spectrum.w.shape[-1])
    return (spectrum.w[..., part], spectrum.v[..., part]), spectrum


def _jvp(call, tangents):
    w, v = lifted_pencil(call.args, call.aux, call.opt)
    dw, dv = pencil_tangents(call.args[1], *tangents, w, v, call.aux, call.opt)
    part = plain.columns(call.kw, w.shape[-1])
    return dw[..., part], dv[..., part]


def _vjp(call, cotangents, needs):
    w, v = lifted_pencil(call.args, call.aux, call.opt)
    part = plain.columns(call.kw, w.shape[-1])
    gw, gv = (g if g is None else xp.embed(g, shape=x.shape, index=(..., part))
              for g, x in zip(cotangents, (w, v), strict=True))
    return pencil_cotangent(call.args[1], gw, gv, w, v, call.aux, call.opt)


def _values_forward(args, kw):
    outputs, spectrum = _forward(args, kw)
    return outputs[:1], spectrum


def _project(call, cotangents):
    """Cotangents without phases and without rotations of unresolved pairs (they act as V (skew) on the right)."""
    w, v = call.outputs
    gw, gv = cotangents
    if gv is None:
        return gw, gv
    free = _gap.unresolved_or_phase(_gap.gaps(w / spectral.top_scale(w)))
    # The columns are not orthonormal: the least-squares combination of them whose skew part is N on the free pairs.
    gram = xp.inner(v, v)
    return gw, gv - xp.matmul(v, public("solve")(gram, xp.where(free, xp.skew(xp.inner(v, gv)), 0)))


VECTORS = replace(plain.VECTORS, forward=_forward, jvp=_jvp, vjp=_vjp, remember=None, align=None, project=_project,
                  sliced=False, inexact=(0, 1))
VALUES = replace(plain.VALUES, forward=_values_forward,
                 jvp=lambda call, tangents: _jvp(call, tangents)[:1],
                 vjp=lambda call, cotangents, needs: _vjp(call, (*cotangents, None), needs),
                 align=None, sliced=False, inexact=(0, 1))
