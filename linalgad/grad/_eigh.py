"""Derivatives of eigh and eigvalsh."""
from . import _gap
from . import _spectral as spectral
from . import _xp as xp
from ._align import aligned
from ._dual import join, level_of, primal_of, primitive, tangent_of
from ._forward import public
from ._program import program
from ._table import Capability, Record, register


def eigh_tangents(da, w, v, opt):
    """Tangents (dw, dv) of the full spectrum.

    With dP = V^H dA V: dw = Re diag dP, dV = V (dP o D) + i V phi, D_ij = 1/(w_j - w_i), phi from the
    phase convention. The rotation inside an unresolved pair is taken as zero. Reference: J. R. Magnus,
    Econometric Theory 1, 179 (1985), for the simple case.
    """
    top = spectral.top_scale(w)
    dp = xp.inner(v, xp.matmul(xp.herm(da), v))
    dv = xp.matmul(v, _gap.divide_gap(dp / top[..., None], _gap.gaps(w / top), eps=opt.derivative_eps))
    return xp.real(xp.diagonal(dp)), spectral.fix_phases((v, dv))[0]


def eigh_cotangent(gw, gv, w, v, opt):
    """Cotangent of a from (gw, gv) on the full spectrum, either None for zero.

    gA = V [N o D + diag(gw)] V^H, N = skew(V^H gV), with the numerator test on N (`_gap.divide_gap`).
    Dropped: N of unresolved pairs and Im diag N, which a gauge-invariant loss does not have.
    """
    top = spectral.top_scale(w)
    unit = w / top
    if gv is None:
        gw = xp.zeros_like(w) if gw is None else gw
        return (_from_values(v, spectral.row(gw)),
                spectral.spectral_info(unit, None, [spectral.row(gw * top)], opt=opt))
    if opt.gauge == "ignore" and xp.is_complex(v):
        gv = spectral.absorb_phases(v, gv, spectral.phase_slopes((v, gv)))
    scale = spectral.cotangent_scale(v, gv)
    whole = [scale] if gw is None else [scale, spectral.row(gw * top)]
    values = None if gw is None else spectral.row(gw)
    ga, numerator = _from_vectors(gv, v, spectral.row(unit), scale, top[..., None], values, eps=opt.derivative_eps,
                                  show=xp.is_complex(v) or _gap.any_unresolved(unit))
    return ga, spectral.spectral_info(unit, numerator, whole, opt=opt)


@program
def _from_values(v, gw):
    """V diag(gw) V^H."""
    return xp.mirror(xp.tril_outer(spectral.scale_columns(v, gw), v))


@program
def _from_vectors(gv, v, unit, scale, top, gw, *, eps, show):
    """gA of `eigh_cotangent`, and N if it is to be shown; what belongs to the columns comes as rows."""
    numerator = xp.skew(xp.inner(v, gv))
    inner = spectral.pair_quotient(numerator, unit, scale, eps=eps) / top
    if gw is not None:
        inner = spectral.add_to_diagonal(inner, gw)
    # The product is Hermitian.
    return xp.mirror(xp.tril_outer(xp.matmul(v, inner), v)), numerator if show else None


def lifted_spectrum(a, spectrum, opt):
    """The plain full spectrum (w, v) of `a`, as duals where `a` is dual."""
    level = level_of(a)
    if not level:
        return spectrum
    w, v = lifted_spectrum(primal_of(a, level), spectrum, opt)
    dw, dv = eigh_tangents(tangent_of(a, level), w, v, opt)
    return join(w, dw, level), join(v, dv, level)


@primitive
def spectral_sum(a, gw, *, spectrum, opt):
    """sum_j gw_j v_j v_j^H for the eigenvectors of `a`: the gradient of the eigenvalues as a function of `a`."""
    return _from_values(spectrum[1], spectral.row(gw))


@spectral_sum.rule
def _spectral_sum(out, primals, tangents, *, spectrum, opt):
    # Through divided differences of gw, and not through dV, so that close eigenvalues do not cancel.
    (a, gw), (da, dgw) = primals, tangents
    w, v = lifted_spectrum(a, spectrum, opt)
    inner = None if dgw is None else xp.diag_embed(dgw)
    if da is not None:
        top = spectral.top_scale(w)
        noise = spectral.pair_scale(xp.column_scale(spectral.row(gw)))
        quotient = _gap.divide_gap(_gap.gaps(gw) / top[..., None], _gap.gaps(w / top), noise / top[..., None],
                                   eps=opt.derivative_eps)
        dp = (xp.inner(v, xp.matmul(xp.herm(da), v))) * quotient
        inner = dp if inner is None else inner + dp
    return xp.outer(xp.matmul(v, inner), v)


def aligned_spectrum(da, w, v):
    """(w, v) with the basis of repeated eigenvalues that diagonalises the perturbation `da`."""
    r = aligned(xp.herm(xp.inner(v, xp.matmul(da, v))), _gap.unresolved(w / spectral.top_scale(w)))
    return (w, v) if r is None else (w, spectral.settle_phases(xp.matmul(v, r))[0])


# ------------------------------------------------------------------ table

def columns(kw, n):
    """The slice of eigenvalues a call returns."""
    subset = kw.get("subset_by_index")
    return slice(None) if subset is None else slice(subset[0], subset[1] + 1)


def _whole_spectrum(a, kw):
    return tuple(public("eigh")(a, **{k: v for k, v in kw.items() if k != "subset_by_index"}))


def _eigh_remember(args, outputs, kw):
    """A subset of the eigenvectors does not decide its own derivative."""
    return None if kw.get("subset_by_index") is None else _whole_spectrum(args[0], kw)


def _eigh_forward(args, kw):
    w, v = spectrum = _whole_spectrum(args[0], kw)
    if kw.get("subset_by_index") is None:
        return spectrum, None
    part = columns(kw, w.shape[-1])
    return (w[..., part], v[..., part]), spectrum


def _spectrum(call):
    """The full spectrum of a call at its level: the outputs, or what was kept beside a subset."""
    return call.outputs if call.aux is None else lifted_spectrum(call.args[0], call.aux, call.opt)


def _eigh_jvp(call, tangents):
    w, v = _spectrum(call)
    dw, dv = eigh_tangents(tangents[0], w, v, call.opt)
    part = columns(call.kw, w.shape[-1])
    return dw[..., part], dv[..., part]


def _embedded(g, like, call):
    if g is None or call.aux is None:
        return g
    return xp.embed(g, shape=like.shape, index=(..., columns(call.kw, like.shape[-1])))


def _eigh_vjp(call, cotangents, needs):
    w, v = _spectrum(call)
    gw, gv = (_embedded(g, like, call) for g, like in zip(cotangents, (w, v), strict=True))
    ga, info = eigh_cotangent(gw, gv, w, v, call.opt)
    return (ga,), info


def _eigh_align(call, tangents):
    if call.aux is None:
        return aligned_spectrum(tangents[0], *call.outputs), None
    w, v = spectrum = aligned_spectrum(tangents[0], *call.aux)
    part = columns(call.kw, w.shape[-1])
    return (w[..., part], v[..., part]), spectrum


def _eigvalsh_align(call, tangents):
    return call.outputs, aligned_spectrum(tangents[0], *call.aux)


def _eigvalsh_forward(args, kw):
    spectrum = _whole_spectrum(args[0], kw)
    return (spectrum[0][..., columns(kw, spectrum[0].shape[-1])],), spectrum


def _eigvalsh_jvp(call, tangents):
    _, v = lifted_spectrum(call.args[0], call.aux, call.opt)
    dw = xp.real(xp.sum(xp.conj(v) * xp.matmul(xp.herm(tangents[0]), v), axis=-2))
    return (dw[..., columns(call.kw, dw.shape[-1])],)


def _eigvalsh_vjp(call, cotangents, needs):
    gw = cotangents[0]
    if gw is None:
        return (None,), None
    gw = xp.embed(gw, shape=call.aux[0].shape, index=(..., columns(call.kw, call.aux[0].shape[-1])))
    ga = spectral_sum(call.args[0], gw, spectrum=call.aux, opt=call.opt)
    w = call.aux[0]
    return (ga,), spectral.spectral_info(w / spectral.top_scale(w), None, [spectral.row(gw)], opt=call.opt)


def _project(call, cotangents):
    """Cotangents without phases and without rotations of unresolved pairs."""
    w, v = call.outputs
    gw, gv = cotangents
    if gv is None:
        return gw, gv
    free = _gap.unresolved_or_phase(_gap.gaps(w / spectral.top_scale(w)))
    return gw, gv - xp.matmul(v, xp.where(free, xp.skew(xp.inner(v, gv)), 0))


def _pencil(name):
    from . import _eigh_pencil
    return getattr(_eigh_pencil, name)


def _result(outputs, kw):
    from .._lib._results import EighResult
    return EighResult(*outputs)


_TIE = ("at a repeated eigenvalue: right for losses that do not see a rotation inside the eigenspace; "
        "the part of another loss that needs the limit of N/gap is lost (use a function of the matrix)")
_TRACE = "the tangents of a repeated eigenvalue sum to the trace of its block"

VECTORS = register(Record(
    name="eigh", forward=_eigh_forward, jvp=_eigh_jvp, vjp=_eigh_vjp, pack=_result, project=_project,
    variant=lambda kw, count: _pencil("VECTORS") if count > 1 else VECTORS, align=_eigh_align, sliced=True,
    programmed=True, remember=_eigh_remember,
    capabilities=(Capability("eigenvalues", caveat=_TRACE), Capability("eigenvectors", caveat=_TIE)),
))
VALUES = register(Record(
    name="eigvalsh", forward=_eigvalsh_forward, jvp=_eigvalsh_jvp, vjp=_eigvalsh_vjp, remember=None,
    variant=lambda kw, count: _pencil("VALUES") if count > 1 else VALUES, align=_eigvalsh_align, sliced=True,
    programmed=True,
    capabilities=(Capability("eigenvalues", caveat=_TRACE),),
))
