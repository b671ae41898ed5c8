"""Derivatives of qr: reduced, complete and r, with fixed pivots, at the rank of the leading columns."""
from .._lib import _tols
from . import _factored as factored
from . import _xp as xp
from ._align import nearest_basis
from ._dual import join, level_of, plus, primal_of, tangent_of
from ._forward import public
from ._policy import Info, NotDifferentiableError
from ._program import program
from ._table import Capability, Record, register

# The leading r columns of A, whose diagonal in R is not negligible, are A1 = Q1 R11 and decide Q1 and the first r
# rows of R. The other columns of Q are a basis of what Q1 leaves, and gauge: with A2 = Q1 R12 + Q2 R22,
#     C = Q1^H dA1 R11^-1,  W = tril(C, -1) - tril(C, -1)^H + i Im diag C,  D = (I - Q1 Q1^H) dA1 R11^-1
#     dR11 = (C - W) R11      dR12 = Q1^H dA2 - W R12 + D^H Q2 R22      dQ1 = Q1 W + D
#     dQ2 = -Q1 D^H Q2        dR22 = Q2^H dA2 - Q2^H D R12
# with the rotation inside Q2 taken as zero. Reduced and full rank: Q2 is empty (r = n), or so are the rows of
# R22 (wide, r = m); complete: Q2 are the extra columns.


def _outside(x, q):
    """(I - Q Q^H) X, None where Q is square."""
    return None if q.shape[-2] == q.shape[-1] else x - xp.matmul(q, xp.inner(q, x))


def _blocks(q, r, rank):
    return q[..., :rank], q[..., rank:], r[..., :rank, :rank], r[..., :rank, rank:], r[..., rank:, rank:]


@program
def qr_tangents(da, q, r, rank):
    """(dQ, dR) for columns in their pivoted order."""
    scale = factored.binary_scale(r)
    da = factored.divided(da, scale)
    q1, q2, r11, r12, r22 = _blocks(q, factored.divided(r, scale), rank)
    da1, da2 = da[..., :rank], da[..., rank:]
    moved = factored.right_solve(da1, r11, lower=False)
    c = xp.inner(q1, moved)
    twist, outside = xp.twist(c), _outside(moved, q1)
    dq1 = xp.matmul(q1, twist)
    dr11, dr12 = xp.triu(xp.matmul(c - twist, r11)), xp.inner(q1, da2) - xp.matmul(twist, r12)
    dr22 = xp.inner(q2, da2)
    dq2 = xp.zeros_like(q2)
    if outside is not None:
        across = xp.inner(q2, outside)
        dq1 = dq1 + outside
        dq2 = -xp.outer(q1, across)
        dr12, dr22 = dr12 + xp.inner(across, r22), dr22 - xp.matmul(across, r12)
    below = xp.zeros_like(r11, shape=(*r11.shape[:-2], r22.shape[-2], rank))
    dr = xp.concatenate(xp.concatenate(dr11, below, axis=-2), xp.concatenate(dr12, dr22, axis=-2), axis=-1)
    return xp.concatenate(dq1, dq2, axis=-1), factored.times(dr, scale)


@program
def qr_cotangent(gq, gr, q, r, rank):
    """(cotangent of A, parts of the cotangents that are gauge), the adjoint of `qr_tangents`; gq or gr may be None.

    Gauge: what turns Q2 in itself or out of the range of Q, and below the rank the rows of R on a basis Q2 that
    is not unique.
    """
    scale = factored.binary_scale(r)
    r = factored.divided(r, scale)
    q1, _, r11, r12, _ = _blocks(q, r, rank)
    gq = factored.divided(gq, scale)
    gtwist = gouter = gc = ga2 = None
    if gq is not None:
        gouter = gq[..., :rank]
        gtwist = xp.inner(q1, gouter)
    along = gtwist
    if gr is not None:
        gc = xp.outer(xp.triu(gr[..., :rank, :rank]), r11, upper=True)
        gtwist = -gc if gtwist is None else gtwist - gc
    if gr is not None and r.shape[-1] > rank:
        g12 = gr[..., :rank, rank:]
        gtwist, ga2 = gtwist - xp.outer(g12, r12), xp.matmul(q1, g12)
    lost = ()
    if q.shape[-1] > rank:
        gouter, ga2, lost = _behind(gq, gr, q, r, rank, gouter, ga2)
        along = None if gouter is None else xp.inner(q1, gouter)
    core = plus(gc, xp.untwist(gtwist))
    # What leaves the range of Q1 is gD less its part along Q1, which joins the product with Q1.
    leaves = gouter is not None and q.shape[-2] > rank
    gmoved = plus(xp.matmul(q1, core - along if leaves else core), gouter if leaves else None)
    ga1 = factored.right_solve(gmoved, r11, lower=False, trans=2)
    if r.shape[-1] == rank:
        return ga1, lost
    if ga2 is None:
        ga2 = xp.zeros_like(ga1, shape=(*ga1.shape[:-1], r.shape[-1] - rank))
    return xp.concatenate(ga1, ga2, axis=-1), lost


def _behind(gq, gr, q, r, rank, gouter, ga2):
    """What the columns Q2 behind the rank add: (gD, gA2, gauge parts); r and gq are scaled already."""
    q1, q2, _, r12, r22 = _blocks(q, r, rank)
    lost = []
    if gr is not None and r.shape[-1] > rank:
        g12, g22 = gr[..., :rank, rank:], gr[..., rank:, rank:]
        ga2 = ga2 + xp.matmul(q2, g22)
        gouter = plus(gouter, xp.matmul(q2, xp.outer(r22, g12) - xp.outer(g22, r12)))
        if rank < min(r.shape[-2:]) and (q.shape[-2] > rank + 1 or xp.is_complex(q)):
            lost.append(g22)
    if gq is not None:
        gq2 = gq[..., rank:]
        inside, along = xp.inner(q2, gq2), xp.inner(q1, gq2)
        gouter = plus(gouter, -xp.outer(q2, along))
        lost += [xp.skew(inside), gq2 - xp.matmul(q1, along) - xp.matmul(q2, inside)]
    return gouter, ga2, lost


# ------------------------------------------------------------------ slices of different rank

def _ranks(r, opt):
    """Decision: for each slice the number of leading columns whose diagonal in R is not negligible.

    A diagonal entry is compared with the largest of its own column, because scaling a column of A does not change Q.
    """
    k = min(r.shape[-2:])
    tol = _tols.derivative_rank(r.dtype, *r.shape[-2:]) if opt.rank_tol is None else opt.rank_tol
    return factored.leading_run(xp.magnitude(xp.diagonal(r)), xp.max_magnitude(r, axis=-2)[..., 0, :k] * tol)


def _by_rank(rule, arrays, ranks, shapes):
    """rule(*arrays, rank) for slices of each rank, put together; `shapes` are the cores of the results."""
    different = factored.distinct(ranks)
    if len(different) == 1:
        return rule(*arrays, different[0])
    batch = ranks.shape
    flat = [None if x is None else xp.reshape(x, shape=(ranks.size, *x.shape[len(batch):])) for x in arrays]
    total = [None for _ in shapes]
    for rank in different:
        where = factored.positions(ranks == rank)
        parts = rule(*(None if x is None else x[where] for x in flat), rank)
        total = [plus(t, xp.embed(y, shape=(ranks.size, *core), index=where))
                 for t, y, core in zip(total, parts, shapes, strict=True)]
    return [xp.reshape(x, shape=(*batch, *core)) for x, core in zip(total, shapes, strict=True)]


def _tangents(da, q, r, opt):
    return _by_rank(qr_tangents, (da, q, r), _ranks(r, opt), (q.shape[-2:], r.shape[-2:]))


def _cotangent(gq, gr, q, r, opt):
    """Cotangent of A (in pivoted order) and diagnostics."""
    def rule(gq, gr, q, r, rank):
        ga, lost = qr_cotangent(gq, gr, q, r, rank)
        if not lost:
            return ga, factored.no_residual(q)
        size = factored.joint_norm(factored.divided(gq, factored.binary_scale(r)), gr)
        off = factored.joint_norm(*lost)
        return ga, (off / xp.where(size > 0, size, 1))[..., None, None]
    ranks = _ranks(r, opt)
    core = (q.shape[-2], r.shape[-1])
    ga, residual = _by_rank(rule, (gq, gr, q, r), ranks, (core, (1, 1)))
    return ga, Info(gauge_residual=residual[..., 0, 0], rank=ranks)


def _lifted(a, factors, order, opt):
    """The plain factors of `a`, as duals where `a` is dual."""
    level = level_of(a)
    if not level:
        return factors
    primals = _lifted(primal_of(a, level), factors, order, opt)
    tangents = _tangents(_pivoted(tangent_of(a, level), order), *primals, opt)
    return tuple(join(x, dx, level) for x, dx in zip(primals, tangents, strict=True))


# ------------------------------------------------------------------ table

def _pivoted(x, order):
    """The columns of x in pivoted order."""
    return x if order is None else xp.T(factored.permuted(xp.T(x), order))


def _unpivoted(x, order):
    return x if order is None else xp.T(factored.unpermuted(xp.T(x), order))


def _forward(args, kw):
    outputs = tuple(public("qr")(args[0], **kw))
    return outputs, outputs[2] if kw.get("pivoting") else None


def _jvp(call, tangents):
    dq, dr = _tangents(_pivoted(tangents[0], call.aux), *call.outputs[:2], call.opt)
    return (dq, dr, *(None for _ in call.outputs[2:]))


def _vjp(call, cotangents, needs):
    gq, gr = cotangents[:2]
    if gq is None and gr is None:
        return (None,), None
    ga, info = _cotangent(gq, gr, *call.outputs[:2], call.opt)
    return (_unpivoted(ga, call.aux),), info


def _r_forward(args, kw):
    q, r, *p = public("qr")(args[0], **{**kw, "mode": "reduced"})
    return (r, *p), (q, r, p[0] if p else None)


def _r_jvp(call, tangents):
    q, r, order = call.aux
    factors = _lifted(call.args[0], (q, r), order, call.opt)
    return (_tangents(_pivoted(tangents[0], order), *factors, call.opt)[1], *(None for _ in call.outputs[1:]))


def _r_vjp(call, cotangents, needs):
    if cotangents[0] is None:
        return (None,), None
    q, r, order = call.aux
    ga, info = _cotangent(None, cotangents[0], *_lifted(call.args[0], (q, r), order, call.opt), call.opt)
    return (_unpivoted(ga, order),), info


def _follow(outputs, like):
    """The columns of a complete Q behind those of A, which only their span decides."""
    q, r = outputs[:2]
    k = min(r.shape[-2:])
    if q.shape[-1] == k:
        return (None,) * len(outputs)
    return (-1, nearest_basis(q[..., k:], like[0][..., k:])), *(None,) * (len(outputs) - 1)


def _raw(*_):
    raise NotDifferentiableError("qr: mode 'raw' (reflectors and their factors) has no derivative; differentiate "
                                 "mode 'reduced', or householder_product")


def _project(call, cotangents):
    """Cotangents without what only the basis of the undetermined columns of Q decides."""
    def rule(gq, gr, q, r, rank):
        q1, q2, gq2 = q[..., :rank], q[..., rank:], gq[..., rank:]
        gq2 = xp.matmul(q1, xp.inner(q1, gq2)) + xp.matmul(q2, xp.herm(xp.inner(q2, gq2)))
        beyond = (..., slice(rank, None), slice(rank, None))
        gr = gr - xp.embed(gr[beyond], shape=gr.shape, index=beyond)
        return xp.concatenate(gq[..., :rank], gq2, axis=-1), gr
    (q, r), (gq, gr) = call.outputs[:2], cotangents[:2]
    gq, gr = xp.zeros_like(q) if gq is None else gq, xp.zeros_like(r) if gr is None else gr
    return (*_by_rank(rule, (gq, gr, q, r), _ranks(r, call.opt), (q.shape[-2:], r.shape[-2:])), *cotangents[2:])


def _result(outputs, kw):
    from .._lib import _results
    return (_results.QRResult if len(outputs) == 2 else _results.PivotedQRResult)(*outputs)


def _r_result(outputs, kw):
    return outputs[0] if len(outputs) == 1 else outputs


_RANK = ("beyond the rank of the leading columns (rank_tol, relative to each column) Q and R are gauge: only losses "
         "that do not see a rotation there")
_Q = Capability("Q", caveat=f"{_RANK}; extra columns of a complete Q through their projector only")
_R = Capability("R", caveat=_RANK)
_P = Capability("P", jvp=False, vjp=False, second_order=False, caveat="a permutation is constant where Q and R are "
                                                                       "differentiable")


def _variant(kw, count):
    mode, pivoting = kw.get("mode", "reduced"), bool(kw.get("pivoting"))
    return _VARIANTS.get((mode if mode in ("r", "raw") else "reduced", pivoting), _RAW)


_FULL = {"name": "qr", "forward": _forward, "jvp": _jvp, "vjp": _vjp, "pack": _result, "project": _project,
         "follow": _follow,
         "sliced": True, "programmed": True,
         "remember": lambda args, outputs, kw: outputs[2] if kw.get("pivoting") else None}
_ONLY_R = {"name": "qr", "forward": _r_forward, "jvp": _r_jvp, "vjp": _r_vjp, "pack": _r_result, "remember": None,
           "sliced": True, "programmed": True}
_RAW = Record(name="qr", forward=_raw, jvp=_raw, vjp=_raw, capabilities=tuple(
    Capability(output, jvp=False, vjp=False, second_order=False, caveat="mode 'raw' has no derivative")
    for output in ("h", "tau")))
_VARIANTS = {
    ("reduced", False): register(Record(**_FULL, variant=_variant, capabilities=(_Q, _R))),
    ("reduced", True): Record(**_FULL, capabilities=(_Q, _R, _P)),
    ("r", False): Record(**_ONLY_R, capabilities=(_R,)),
    ("r", True): Record(**_ONLY_R, capabilities=(_R, _P)),
}
