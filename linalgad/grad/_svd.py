"""Derivatives of svd (thin and full) and svdvals: the gap 1/(s_j^2 - s_i^2) split into difference and sum."""
from .._lib import _tols
from . import _gap
from . import _spectral as spectral
from . import _xp as xp
from ._align import aligned, aligned_null, nearest_basis
from ._dual import join, level_of, plus, primal_of, primitive, tangent_of
from ._forward import public
from ._program import program
from ._table import Capability, Record, register


def _null_size(s, m, n, opt):
    """Up to what part of the largest a singular value counts as zero."""
    return _tols.derivative_rank(s.dtype, m, n) if opt.rank_tol is None else opt.rank_tol


def _scaled(s, m, n, opt):
    """(top, s/top, 1/(s/top), E, null): everything the rules divide by, in the scale of the slice.

    E_ij = 1/(s_i + s_j). Where s is below `rank_tol` its reciprocal is 0, and so is E for a pair of such.
    """
    top = spectral.top_scale(s)
    unit = s / top
    null = xp.magnitude(unit) <= _null_size(s, m, n, opt)
    total = spectral.column(unit) + spectral.row(unit)
    if not null.any():
        return top, unit, 1 / unit, 1 / total, null
    pair = spectral.column(null) & spectral.row(null)
    return top, unit, xp.reciprocal(unit, ~null), xp.reciprocal(total, ~pair), null


def _outside(x, u):
    """(I - U U^H) X by two projections, None if U is square or X None: no m x m matrix, no lost digits."""
    if x is None or u.shape[-2] == u.shape[-1]:
        return None
    x = x - xp.matmul(u, xp.inner(u, x))
    return x - xp.matmul(u, xp.inner(u, x))


def _halves(x, k):
    """The first k columns and the others (None if there are none) of an array or None."""
    if x is None:
        return None, None
    return x[..., :k], x[..., k:] if x.shape[-1] > k else None


def svd_tangents(da, u, s, vh, opt):
    """Tangents (du, ds, dvh), thin or full.

    With dP = U^H dA V, H = herm dP, K = skew dP: ds = Re diag dP,
    dU = U (H o D + K o E) + (I - U U^H) dA V / S, dV = V (H o D - K o E) + (I - V V^H) dA^H U / S, and
    phases that keep the pivots of U real. Extra columns move by -U1 dU1^H U2, the horizontal lift of their
    projector, and by their own phase. The rotation inside an unresolved pair is taken as zero.
    Reference: J. Townsend, Differentiating the singular value decomposition (2016), for distinct values.
    """
    k = s.shape[-1]
    u1, u2 = _halves(u, k)
    v1, v2 = _halves(xp.H(vh), k)
    top, unit, inverse, sums, _ = _scaled(s, u.shape[-2], vh.shape[-1], opt)
    da = da / top[..., None]
    dav, dahu = xp.matmul(da, v1), xp.inner(da, u1)
    dp = xp.inner(u1, dav)
    turn = _gap.divide_gap(xp.herm(dp), _gap.gaps(unit), eps=opt.derivative_eps)
    twist = xp.skew(dp) * sums
    du1 = _moved(u1, turn + twist, dav, inverse)
    dv1 = _moved(v1, turn - twist, dahu, inverse)
    du1, dv1 = spectral.fix_phases((u1, du1), (v1, dv1))
    return _with_extra(u1, u2, du1), xp.real(xp.diagonal(dp)) * top, xp.H(_with_extra(v1, v2, dv1))


def _moved(u, omega, x, inverse):
    outside = _outside(x, u)
    along = xp.matmul(u, omega)
    return along if outside is None else along + outside * spectral.row(inverse)


def _with_extra(u1, u2, du1):
    if u2 is None:
        return du1
    du2 = spectral.fix_phases((u2, -xp.matmul(u1, xp.inner(du1, u2))))[0]
    return xp.concatenate(du1, du2, axis=-1)


def svd_cotangent(gu, gs, gvh, u, s, vh, opt):
    """Cotangent of a from (gu, gs, gvh), any of them None for zero.

    With a_U = skew(U^H gU), a_V = skew(V^H gV), N = a_U + a_V put to the numerator test:
    gA = U [N o D + (a_U - a_V) o E + diag(gs)] V^H + (I - U U^H) gU S^-1 V^H + U S^-1 gV^H (I - V V^H),
    and for extra columns of a full U the term -U2 gU2^H U1 S^-1 V^H (alike for V). Dropped, and reported as
    gauge residual: N of unresolved pairs, Im diag N, what is divided by a null singular value, and rotations
    among the extra columns.
    """
    k = s.shape[-1]
    if gu is None and gvh is None:
        gs = xp.zeros_like(s) if gs is None else gs
        return _from_values(u[..., :k], vh[..., :k, :], spectral.row(gs)), _values_info(gs, s, u, vh, opt)
    (u1, u2), (v1, v2) = _halves(u, k), _halves(xp.H(vh), k)
    (gu1, gu2), (gv1, gv2) = _halves(gu, k), _halves(None if gvh is None else xp.H(gvh), k)
    if opt.gauge == "ignore" and xp.is_complex(u):
        gu1 = xp.zeros_like(u1) if gu1 is None else gu1
        gu1 = spectral.absorb_phases(u1, gu1, spectral.phase_slopes((u1, gu1), (v1, gv1)))
    top, unit, inverse, _, null = _scaled(s, u.shape[-2], vh.shape[-1], opt)
    columns = spectral.cotangent_scale(u1, gu1) + spectral.cotangent_scale(v1, gv1)
    values = None if gs is None else spectral.row(gs * top)
    show = xp.is_complex(u) or null.any() or _gap.any_unresolved(unit)
    ga, shown = _from_vectors(u1, v1, gu1, gv1, _behind(u1, u2, gu2), _behind(v1, v2, gv2), spectral.row(unit),
                              spectral.row(inverse), columns, values, top[..., None], eps=opt.derivative_eps,
                              null=_null_size(s, u.shape[-2], vh.shape[-1], opt), show=bool(show))
    numerator, twist, left, right = shown
    lost = _lost(twist, left, right, null, (u2, gu2), (v2, gv2))
    whole = [columns] + [x for x in (gu2, gv2, values) if x is not None]
    return ga, spectral.spectral_info(unit, numerator, whole, lost, xp.count(~null[..., None]), opt)


def _behind(u1, u2, gu2):
    """What the cotangent of extra columns adds to the part that moves U1 out of its span; None if nothing."""
    return None if gu2 is None else -xp.matmul(u2, xp.inner(gu2, u1))


@program
def _from_values(u, vh, gs):
    """U diag(gs) V^H."""
    return xp.matmul(spectral.scale_columns(u, gs), vh)


@program
def _from_vectors(u, v, gu, gv, left, right, unit, inverse, columns, values, top, *, eps, null, show):
    """gA of `svd_cotangent`, and (N, a_U - a_V, and what leaves the spans) if they are to be shown.

    `left` and `right` are what `_behind` finds; what belongs to the columns comes as rows.
    """
    au = None if gu is None else xp.skew(xp.inner(u, gu))
    av = None if gv is None else xp.skew(xp.inner(v, gv))
    numerator = au if av is None else av if au is None else au + av
    twist = au if av is None else -av if au is None else au - av
    inner = spectral.pair_quotient(numerator, unit, columns, eps=eps) + spectral.sum_quotient(twist, unit, null)
    if values is not None:
        inner = spectral.add_to_diagonal(inner, values)
    # what moves U and V out of their spans, before division by s
    left, right = plus(_outside(gu, u), left), plus(_outside(gv, v), right)
    cols = xp.matmul(u, inner)
    if left is not None:
        cols = cols + spectral.scale_columns(left, inverse)
    ga = xp.outer(cols, v)
    if right is not None:
        ga = ga + xp.outer(spectral.scale_columns(u, inverse), right)
    return ga / top, (numerator, twist, left, right) if show else (None, None, None, None)


def _lost(twist, left, right, null, *extras):
    """What no loss may ask for, besides rotations of unresolved pairs (`spectral_info`)."""
    parts = []
    if null.any():
        parts.append(xp.where(spectral.column(null) & spectral.row(null), xp.magnitude(twist), 0))
        parts += [xp.where(spectral.row(null), xp.magnitude(x), 0) for x in (left, right) if x is not None]
    parts += [xp.magnitude(xp.skew(xp.inner(u2, gu2))) for u2, gu2 in extras if gu2 is not None]
    return parts


def _values_info(gs, s, u, vh, opt):
    _top, unit, _, _, null = _scaled(s, u.shape[-2], vh.shape[-1], opt)
    return spectral.spectral_info(unit, None, [spectral.row(gs)], rank=xp.count(~null[..., None]), opt=opt)


def lifted_svd(a, factors, opt):
    """The plain thin factors (u, s, vh) of `a`, as duals where `a` is dual."""
    level = level_of(a)
    if not level:
        return factors
    primals = lifted_svd(primal_of(a, level), factors, opt)
    tangents = svd_tangents(tangent_of(a, level), *primals, opt)
    return tuple(join(x, dx, level) for x, dx in zip(primals, tangents, strict=True))


@primitive
def singular_sum(a, gs, *, factors, opt):
    """sum_j gs_j u_j v_j^H for the singular vectors of `a`: the gradient of the values as a function of `a`."""
    u, _, vh = factors
    return _from_values(u, vh, spectral.row(gs))


@singular_sum.rule
def _singular_sum(out, primals, tangents, *, factors, opt):
    # Divided differences (g_j - g_i)/(s_j - s_i) and sums (g_j + g_i)/(s_j + s_i): no vector tangent, which
    # would cancel for close values.
    (a, gs), (da, dgs) = primals, tangents
    u, s, vh = lifted_svd(a, factors, opt)
    if da is None:
        return xp.matmul(u * spectral.row(dgs), vh)
    v = xp.H(vh)
    top, unit, inverse, sums, _ = _scaled(s, u.shape[-2], vh.shape[-1], opt)
    da, slope = da / top[..., None], spectral.row(gs * inverse)
    dav, dahu = xp.matmul(da, v), xp.inner(da, u)
    dp = xp.inner(u, dav)
    noise = spectral.pair_scale(xp.column_scale(spectral.row(gs)))
    quotient = _gap.divide_gap(_gap.gaps(gs), _gap.gaps(unit), noise, eps=opt.derivative_eps)
    inner = xp.herm(dp) * quotient + xp.skew(dp) * (spectral.row(gs) + spectral.column(gs)) * sums
    if dgs is not None:
        inner = inner + xp.diag_embed(dgs)
    left, right = _outside(dav, u), _outside(dahu, v)
    cols = xp.matmul(u, inner)
    if left is not None:
        cols = cols + left * slope
    dg = xp.matmul(cols, vh)
    return dg if right is None else dg + xp.outer(u * slope, right)


def aligned_svd(da, u, s, vh, opt):
    """(u, s, vh) with the bases of repeated and of null values that diagonalise the perturbation `da`."""
    k = s.shape[-1]
    u1, u2 = _halves(u, k)
    v1, v2 = _halves(xp.H(vh), k)
    _, unit, _, _, null = _scaled(s, u.shape[-2], vh.shape[-1], opt)
    if u2 is None and v2 is None:
        u1, v1 = aligned_null(u1, v1, da, null)
    close = _gap.unresolved(unit)
    if close is not None:
        close &= ~(spectral.column(null) & spectral.row(null))
    r = aligned(xp.herm(xp.inner(u1, xp.matmul(da, v1))), close)
    if r is None and not null.any():
        return u, s, vh
    u1, v1 = spectral.settle_phases(*((u1, v1) if r is None else (xp.matmul(u1, r), xp.matmul(v1, r))))
    return _joined(u1, u2), s, xp.H(_joined(v1, v2))


# ------------------------------------------------------------------ table

def _svd_forward(args, kw):
    return tuple(public("svd")(args[0], **kw)), None


def _svd_jvp(call, tangents):
    return svd_tangents(tangents[0], *call.outputs, call.opt)


def _svd_vjp(call, cotangents, needs):
    ga, info = svd_cotangent(*cotangents, *call.outputs, call.opt)
    return (ga,), info


def _svdvals_forward(args, kw):
    kw = {k: v for k, v in kw.items() if k not in ("full_matrices", "compute_uv")}
    factors = tuple(public("svd")(args[0], full_matrices=False, **kw))
    return (factors[1],), factors


def _svdvals_jvp(call, tangents):
    u, _, vh = lifted_svd(call.args[0], call.aux, call.opt)
    return (xp.real(xp.sum(xp.conj(u) * (xp.outer(tangents[0], vh)), axis=-2)),)


def _svdvals_vjp(call, cotangents, needs):
    if cotangents[0] is None:
        return (None,), None
    u, s, vh = call.aux
    ga = singular_sum(call.args[0], cotangents[0], factors=call.aux, opt=call.opt)
    return (ga,), _values_info(cotangents[0], s, u, vh, call.opt)


def _svd_align(call, tangents):
    return aligned_svd(tangents[0], *call.outputs, call.opt), None


def _svdvals_align(call, tangents):
    return call.outputs, aligned_svd(tangents[0], *call.aux, call.opt)


def _project(call, cotangents):
    """Cotangents without what `_lost` and `spectral_info` report."""
    u, s, vh = call.outputs
    k = s.shape[-1]
    (u1, u2), (v1, v2) = _halves(u, k), _halves(xp.H(vh), k)
    gu, gs, gvh = cotangents
    gu = xp.zeros_like(u) if gu is None else gu
    gvh = xp.zeros_like(vh) if gvh is None else gvh
    (gu1, gu2), (gv1, gv2) = _halves(gu, k), _halves(xp.H(gvh), k)
    _, unit, _, _, null = _scaled(s, u.shape[-2], vh.shape[-1], call.opt)
    au, av = xp.skew(xp.inner(u1, gu1)), xp.skew(xp.inner(v1, gv1))
    free = _gap.unresolved_or_phase(_gap.gaps(unit))
    both = spectral.column(null) & spectral.row(null)
    shared = xp.where(free & ~both, (au + av) * 0.5, 0)
    gu1 = gu1 - xp.matmul(u1, shared + xp.where(both, au, 0))
    gv1 = gv1 - xp.matmul(v1, shared + xp.where(both, av, 0))
    gu1, gu2 = _project_outside(u1, u2, gu1, gu2, null)
    gv1, gv2 = _project_outside(v1, v2, gv1, gv2, null)
    return _joined(gu1, gu2), gs, xp.H(_joined(gv1, gv2))


def _follow(outputs, like):
    """The extra columns of U and rows of V^H, which only their span decides, in their phase convention."""
    u, s, vh = outputs
    k = s.shape[-1]

    def turn(x, y):
        r = nearest_basis(x[..., k:], y[..., k:])
        return r * spectral.settling_phases(x[..., k:] @ r)
    return (None if u.shape[-1] == k else (-1, turn(u, like[0])), None,
            None if vh.shape[-2] == k else (-2, turn(xp.H(vh), xp.H(like[2]))))


def _project_outside(u1, u2, gu1, gu2, null):
    if gu2 is not None:
        gu2 = gu2 - xp.matmul(u2, xp.skew(xp.inner(u2, gu2)))
        # u2^H gu1 - gu2^H u1 in a null column: half from either side.
        half = xp.where(spectral.row(null), (xp.inner(u2, gu1) - xp.inner(gu2, u1)) * 0.5, 0)
        return gu1 - xp.matmul(u2, half), gu2 + xp.outer(u1, half)
    outside = _outside(gu1, u1)
    return (gu1 if outside is None else gu1 - xp.where(spectral.row(null), outside, 0)), None


def _joined(x1, x2):
    return x1 if x2 is None else xp.concatenate(x1, x2, axis=-1)


def _result(outputs, kw):
    from .._lib._results import SVDResult
    return SVDResult(*outputs)


_TIE = ("at repeated singular values: right for losses that do not see a rotation inside the cluster; the part of "
        "another loss that needs the limit of N/gap is lost (use a function of the matrix); a null singular "
        "value gives no vector derivative")

_TRACE = "the tangents of a repeated value sum to the trace of its block"

_VALUES = register(Record(
    name="svdvals", forward=_svdvals_forward, jvp=_svdvals_jvp, vjp=_svdvals_vjp, remember=None,
    align=_svdvals_align, sliced=True, programmed=True,
    capabilities=(Capability("S", caveat=_TRACE + "; a subgradient at 0"),),
))
_VECTORS = register(Record(
    name="svd", forward=_svd_forward, jvp=_svd_jvp, vjp=_svd_vjp, pack=_result, project=_project, follow=_follow,
    align=_svd_align, sliced=True, programmed=True,
    variant=lambda kw, count: _VECTORS if kw.get("compute_uv", True) else _VALUES,
    capabilities=(Capability("U", caveat=_TIE + "; extra columns of a full U through their projector only"),
                  Capability("S", caveat=_TRACE),
                  Capability("Vh", caveat=_TIE + "; extra rows of a full Vh through their projector only")),
))
