"""jvp, vjp and hvp of any function in the table, on plain and on dual arrays."""
import numpy as np

from .._lib._lanes import get_lanes, lanes
from . import _xp as xp
from ._dual import Dual, base, join, level_of, primal_of, tangent_of
from ._policy import NotDifferentiableError, Options, judge
from ._program import serves
from ._slices import in_blocks
from ._table import Call, lookup


def jvp(fun, primals, tangents, **kw):
    """Value and directional derivative of a linalgad function.

    Parameters
    ----------
    fun : function or str
        A function of linalgad.
    primals : tuple
        Its array arguments.
    tangents : tuple
        One per argument, of its shape; None is zero. The Hermitian part is taken where `fun` takes a
        Hermitian matrix.
    **kw
        Keywords of `fun`, and `derivative_eps`, `rank_tol`, `gauge`, `gauge_tol`.

    Returns
    -------
    outputs, output_tangents
        As `fun` returns them. The tangent of an output without derivative (pivots) is None.

    Raises
    ------
    NotDifferentiableError
        If `fun` has no rule, or a slice failed under ``errors='nan'``.
    """
    args, _ = _leaves(primals)
    record, opt, kw = _prepare(fun, kw, len(primals))
    tans = _match(tangents, primals, args, "tangents")
    outputs, aux = _forward(record, args, kw, opt)
    if all(t is None for t in tans):
        douts = tuple(xp.zeros_like(y) if c.jvp else None for y, c in zip(outputs, record.capabilities, strict=True))
    else:
        with lanes(kw.get("lanes") or get_lanes()):
            douts = record.jvp(Call(args, outputs, aux, kw, opt), tans)
    return record.pack(outputs, kw), record.pack(douts, kw)


def vjp(fun, *primals, wrt=None, **kw):
    """Value of a linalgad function and its pullback.

    Parameters
    ----------
    fun : function or str
        A function of linalgad.
    *primals
        Its array arguments.
    wrt : int or tuple of int, optional
        The arguments to differentiate with respect to; all array arguments by default.
    **kw
        Keywords of `fun`, and `derivative_eps`, `rank_tol`, `gauge`, `gauge_tol`.

    Returns
    -------
    outputs
        As `fun` returns them.
    pullback : Pullback
        ``pullback(cotangents) -> tuple``, one entry per argument in `wrt`, under Re<ct_y, dy> = Re<ct_x, dx>.
        `cotangents` has the structure of `outputs`; None is zero and its work is skipped. It may be called
        many times; nothing is factored again. ``pullback.info`` holds the diagnostics of the last call.

    Raises
    ------
    NotDifferentiableError
        If `fun` has no rule, or a cotangent is given for an output that has none.
    GaugeError
        From the pullback, if the loss depends on the gauge and ``gauge='raise'``.
    """
    record, opt, kw = _prepare(fun, kw, len(primals))
    args, places = _leaves(primals)
    outputs, aux = _forward(record, args, kw, opt)
    pullback = Pullback(record, Call(args, outputs, aux, kw, opt), places, _wanted(wrt, record, places))
    return record.pack(outputs, kw), pullback


def hvp(fun, primals, tangents, cotangents, **kw):
    """Derivative of the pullback along `tangents` (forward over reverse).

    Parameters
    ----------
    fun : function or str
        A function of linalgad.
    primals : tuple
        Its array arguments.
    tangents : tuple
        One per argument, as for `jvp`.
    cotangents : structure of the outputs, or callable
        Held constant if arrays. A callable ``outputs -> cotangents`` is evaluated on dual outputs, so that
        its dependence on them counts too: with the gradient of a loss l it gives the Hessian of l(fun(x))
        times the tangents. Operators, indexing and the functions of ``linalgad.grad.xp`` work on duals. At
        repeated values the outputs it sees are in a basis that suits the tangents.
    **kw
        Keywords of `fun` and of the derivative, as for `jvp`.

    Returns
    -------
    tuple
        One array per argument, the derivative of what the pullback returns.
    """
    args, places = _leaves(primals)
    level = level_of(*args) + 1
    tangents = _match(tangents, primals, args, "tangents")
    duals = tuple(join(x, t, level) for x, t in zip(args, tangents, strict=True))
    record, opt, kw = _prepare(fun, kw, len(primals))
    outputs, aux = _forward(record, duals, kw, opt, align=callable(cotangents))
    pullback = Pullback(record, Call(duals, outputs, aux, kw, opt), places, _wanted(None, record, places))
    grads = pullback(cotangents(record.pack(outputs, kw)) if callable(cotangents) else cotangents)
    return tuple(_tangent_or_zero(g, level) for g in grads)


def lift(fun):
    """Return `fun` as a function that takes dual arrays too, for losses by hand and forward-over-forward.

    Parameters
    ----------
    fun : function or str
        A function of linalgad.

    Returns
    -------
    callable
        Takes the arguments of `fun` and the keywords of the derivative.
    """
    def lifted(*primals, **kw):
        record, opt, own = _prepare(fun, kw, len(primals))
        args, _ = _leaves(primals)
        return record.pack(_forward(record, args, own, opt)[0], own)
    return lifted


class Pullback:
    """The transposed derivative at one point; `info` holds what the last call found."""

    def __init__(self, record, call, places, wanted):
        self._record, self._call, self._places, self._wanted = record, call, places, wanted
        self.info = None

    def __call__(self, cotangents):
        record, call = self._record, self._call
        cts = _cotangents(record, call.outputs, cotangents)
        needs = tuple(p in self._wanted and i in record.inexact for i, p in enumerate(self._places))
        blocks = record.sliced and not (record.programmed and serves(call.args[0]))
        run = in_blocks if blocks else _whole
        with lanes(call.kw.get("lanes") or get_lanes()):
            grads, self.info = run(record.vjp, call, cts, needs)
        judge(record.name, self.info, call.opt)
        leaves = [_finish(g, x) if need else None for g, x, need in zip(grads, call.args, needs, strict=True)]
        out = []
        for p in self._wanted:
            mine = [g for g, q in zip(leaves, self._places, strict=True) if q == p]
            out.append(mine[0] if len(mine) == 1 else tuple(mine))
        return tuple(out)


def _whole(rule, call, cotangents, needs):
    return rule(call, cotangents, needs)


# ------------------------------------------------------------------ the forward, at any level

def _forward(record, args, kw, opt, align=False):
    """Outputs (dual where the arguments are) and aux, with one factorisation at the bottom."""
    level = level_of(*args)
    if not level:
        outputs, aux = record.forward(args, kw)
        if kw.get("errors") == "nan":
            _refuse_failed(record, outputs)
        return outputs, aux
    primals = tuple(primal_of(x, level) for x in args)
    tangents = tuple(tangent_of(x, level) for x in args)
    outputs, aux = _forward(record, primals, kw, opt)
    if align and record.align and not level_of(*primals):
        outputs, aux = record.align(Call(primals, outputs, aux, kw, opt), tangents)
    douts = record.jvp(Call(primals, outputs, aux, kw, opt), tangents)
    return tuple(join(y, dy, level) for y, dy in zip(outputs, douts, strict=True)), aux


def _refuse_failed(record, outputs):
    if any(y.dtype.kind in "fc" and not np.all(np.isfinite(y)) for y in outputs):
        raise NotDifferentiableError(f"{record.name}: a slice failed and errors='nan' filled it with NaN; "
                                     "a failed slice has no derivative, take it out of the batch")


def _prepare(fun, kw, count):
    opt, kw = Options.split(kw)
    if kw.pop("out", None) is not None:
        raise TypeError("out= has no meaning in a derivative")
    return lookup(fun, kw, count), opt, kw


# ------------------------------------------------------------------ structures

def _leaves(primals):
    """The arguments as a flat tuple of arrays, and the argument each one came from."""
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"primals must be a tuple of arguments, got {type(primals).__name__}")
    flat, places = [], []
    for i, x in enumerate(primals):
        for leaf in x if isinstance(x, tuple) else (x,):
            flat.append(_array(leaf))
            places.append(i)
    return tuple(flat), tuple(places)


def _array(x):
    """An array in one of the four dtypes the kernels have, in native byte order; duals as they are."""
    if type(x) is Dual:
        return x
    x = np.asarray(x)
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if x.dtype.kind == "b":
        return x.astype(np.float64)
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _match(tangents, primals, args, word):
    """Tangents, leaf by leaf, in the dtype and shape of their arguments."""
    if not isinstance(tangents, (tuple, list)) or len(tangents) != len(primals):
        raise TypeError(f"{word} must be a tuple with one entry per argument ({len(primals)}), got {tangents!r:.60}")
    flat = []
    for x, t in zip(primals, tangents, strict=True):
        if isinstance(x, tuple):
            flat.extend((None,) * len(x) if t is None else t)
        else:
            flat.append(t)
    return tuple(None if t is None else _like(t, x, word) for t, x in zip(flat, args, strict=True))


def _like(t, x, word):
    """A tangent or cotangent checked and cast against the array it belongs to."""
    if type(t) is not Dual:
        t = np.asarray(t)
    if tuple(t.shape) != tuple(x.shape):
        raise ValueError(f"{word}: expected shape {tuple(x.shape)}, got {tuple(t.shape)}")
    if type(t) is Dual:
        return t
    if t.dtype.kind == "c" and x.dtype.kind != "c":
        raise TypeError(f"{word}: complex values for a real array")
    return t.astype(x.dtype if x.dtype.kind in "fc" else np.float64, copy=False)


def _cotangents(record, outputs, cotangents):
    """Cotangents, one per output leaf, checked against the outputs."""
    names = [c.output for c in record.capabilities]
    if len(names) == 1 and not isinstance(cotangents, (tuple, list)):
        cotangents = (cotangents,)
    flat = tuple(cotangents)
    if len(flat) != len(outputs):
        raise TypeError(f"{record.name}: cotangents must have one entry per output ({', '.join(names)}), "
                        f"got {len(flat)}")
    for g, c in zip(flat, record.capabilities, strict=True):
        if g is not None and not c.vjp:
            raise NotDifferentiableError(f"{record.name}: output {c.output} is not differentiable: {c.caveat}")
    return tuple(None if g is None else _like(g, y, f"cotangent of {n}")
                 for g, y, n in zip(flat, outputs, names, strict=True))


def _wanted(wrt, record, places):
    """The argument numbers of `wrt`."""
    able = sorted({places[i] for i in record.inexact if i < len(places)})
    if wrt is None:
        return tuple(able)
    wrt = (wrt,) if isinstance(wrt, int) else tuple(wrt)
    for p in wrt:
        if p not in able:
            raise NotDifferentiableError(f"{record.name}: argument {p} is not a differentiable array")
    return wrt


def _finish(g, x):
    """A rule's cotangent summed to the argument's shape, real for a real argument, a fresh writable array."""
    if g is None:
        return xp.zeros_like(x)
    if not xp.is_complex(x) and xp.is_complex(g):
        g = xp.real(g)
    g = xp.sum_to(g, x.shape)
    if type(g) is Dual:
        return g
    dtype = x.dtype if x.dtype.kind in "fc" else np.float64
    g = np.asarray(g, dtype)
    return g if g.flags.writeable and g.flags.owndata and g.flags.c_contiguous else g.copy()


def _tangent_or_zero(g, level):
    if isinstance(g, tuple):
        return tuple(None if x is None else _tangent_or_zero(x, level) for x in g)
    t = tangent_of(g, level)
    return np.zeros_like(base(g)) if t is None else t


__all__ = ["Options", "Pullback", "hvp", "jvp", "lift", "vjp"]
