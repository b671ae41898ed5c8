"""What every rule of a factorisation or a linear system must satisfy, as checks of one call."""
import numpy as np
from grad import _make as make

from linalgad import grad


def flat(x):
    """The leaves of arguments or outputs; None stays one."""
    if isinstance(x, (tuple, list)):
        return [y for part in x for y in flat(part)]
    return [x if x is None else np.asarray(x)]


def directions(rng, args):
    """Random tangents of arguments, None for integers."""
    def one(x):
        if isinstance(x, tuple):
            return tuple(map(one, x))
        return make.normal(rng, x.shape, x.dtype) if x.dtype.kind in "fc" else None
    return tuple(map(one, args))


def noise(rng, outputs, slopes):
    """Random cotangents where there is a tangent, None elsewhere."""
    made = tuple(None if t is None else make.normal(rng, y.shape, y.dtype)
                 for y, t in zip(flat(outputs), flat(slopes), strict=True))
    return made if isinstance(outputs, tuple) else made[0]


def norm(xs):
    """The 2-norm over all leaves, in double precision."""
    wide = [np.asarray(x, np.result_type(x, "float64")) for x in xs if x is not None]
    return sum(float(np.sum(np.abs(x) ** 2)) for x in wide) ** 0.5


def duality(fun, args, bound, tangents=None, **kw):
    """Re<ct, jvp(da)> = Re<vjp(ct), da>, relative to the sizes of both sides; and the shapes and dtypes."""
    rng = np.random.default_rng(100)
    tangents = directions(rng, args) if tangents is None else tangents
    outputs, slopes = grad.jvp(fun, args, tangents, **kw)
    cts = grad.project_cotangent(fun, outputs, noise(rng, outputs, slopes), **kw)
    grads, ts = flat(grad.vjp(fun, *args, **kw)[1](cts)), [t for t in flat(tangents) if t is not None]
    grads = [g for g in grads if g is not None]
    assert [(g.shape, g.dtype) for g in grads] == [(t.shape, t.dtype) for t in ts]
    cts, slopes = flat(cts), flat(slopes)
    difference = make.inner(cts, slopes) - make.inner(grads, ts)
    assert abs(difference) <= bound * (norm(cts) * norm(slopes) + norm(grads) * norm(ts))


def symmetry(fun, args, bound, tangents=None, **kw):
    """Second derivatives are symmetric: Re<hvp(da), db> = Re<hvp(db), da> for fixed cotangents."""
    rng = np.random.default_rng(101)
    da, db = (directions(rng, args) if tangents is None else t for t in tangents or (None, None))
    outputs, slopes = grad.jvp(fun, args, da, **kw)
    cts = grad.project_cotangent(fun, outputs, noise(rng, outputs, slopes), **kw)
    ga, gb = (flat(grad.hvp(fun, args, t, cts, **kw)) for t in (da, db))
    da, db = flat(da), flat(db)
    size = norm(ga) * norm(db) + norm(gb) * norm(da)
    assert size > 0
    assert abs(make.inner(ga, db) - make.inner(gb, da)) <= bound * size


def batch_is_loop(fun, args, **kw):
    """A stack gives what its slices give alone, bit by bit; all leaves have one batch dimension."""
    rng = np.random.default_rng(102)
    tangents = directions(rng, args)
    outputs, slopes = grad.jvp(fun, args, tangents, **kw)
    cts = grad.project_cotangent(fun, outputs, noise(rng, outputs, slopes), **kw)
    grads = flat(grad.vjp(fun, *args, **kw)[1](cts))

    def at(x, i):
        if isinstance(x, tuple):
            return tuple(at(y, i) for y in x)
        return None if x is None else x[i]
    for i in range(flat(args)[0].shape[0]):
        alone = grad.jvp(fun, at(args, i), at(tangents, i), **kw)[1]
        mine = flat(grad.vjp(fun, *at(args, i), **kw)[1](at(cts, i)))
        pairs = [*zip(flat(slopes), flat(alone), strict=True), *zip(grads, mine, strict=True)]
        assert all(np.array_equal(x[i], y) for x, y in pairs if x is not None)
