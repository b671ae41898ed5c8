"""check_grads: rules against central differences, forward, reverse and second order."""
import numpy as np

from .._lib import _tols
from ._apply import _cotangents, _leaves, _like, hvp, jvp, vjp
from ._policy import Options
from ._table import Call, lookup


class GradientMismatch(AssertionError):
    """A derivative differs from central differences; the message names the worst entry."""


def check_grads(fun, args, *, order=2, modes=("fwd", "rev"), fast=False, batched=True, rtol=None, step=None, seed=0,
                **kw):
    """Compare the derivatives of a linalgad function with central differences.

    Parameters
    ----------
    fun : function or str
        A function of linalgad.
    args : tuple
        Its array arguments.
    order : {1, 2}, optional
        2 checks forward over reverse (`hvp`) too.
    modes : tuple of {'fwd', 'rev'}, optional
        'fwd' compares the tangents, 'rev' the adjoint identity Re<ct, dy> = Re<pullback(ct), dx>.
    fast : bool, optional
        Compare one random projection of every output in place of every entry.
    batched : bool, optional
        Check too that the slices of a stack give what each gives alone.
    rtol : float, optional
        Tolerance relative to the largest entry of what is compared; default sqrt(eps).
    step : float, optional
        Step of the differences relative to the argument.
    seed : int, optional
        Seed of the random directions.
    **kw
        Keywords of `fun` and of `jvp`.

    Raises
    ------
    GradientMismatch
        With the worst entry, both values and the tolerance.

    Notes
    -----
    The differences are central, of fourth order and in double precision. Random cotangents are projected
    (`project_cotangent`), so functions with a gauge can be checked. The tangents of Hermitian, symmetric and
    triangular arguments are such themselves, the last with a real diagonal where the argument has one.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> from linalgad import grad
    >>> grad.check_grads(la.svd, (np.diag([3.0, 2.0, 1.0]),), full_matrices=False)
    """
    for mode in modes:
        if mode not in ("fwd", "rev"):
            raise ValueError(f"modes are 'fwd' and 'rev', got {mode!r}")
    flat, _ = _leaves(args)
    dtype = np.result_type(*(x for x in flat if x.dtype.kind in "fc"), np.float32)
    # A sequence of its own: random arguments may come from the same seed, and a tangent along them sees little.
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    h = _tols.difference_step() if step is None else step
    check = _Comparison(fun, fast, rng, _tols.difference_error(dtype) if rtol is None else rtol)
    tangents = _map(lambda x: _tangent(rng, x), args)
    outputs, slopes = jvp(fun, args, tangents, **kw)
    h = h * max(float(np.max(np.abs(x), initial=0)) for x in flat) or h
    near = _Neighbours(fun, args, tangents, outputs, h, kw)
    if "fwd" in modes:
        for i, (t, reference) in enumerate(zip(_tuple(slopes), near.outputs(), strict=True)):
            if t is not None:
                check(f"jvp, output {i}", t, reference)
    cts = project_cotangent(fun, outputs, _structure(outputs, lambda y: _noise(rng, y), slopes),
                            count=len(args), **kw)
    if "rev" in modes:
        grads = vjp(fun, *args, **kw)[1](cts)
        check("vjp (adjoint identity)", _inner(_each(grads), _each(tangents)), _inner(_tuple(cts), _tuple(slopes)),
              floor=_size(_tuple(cts)) * _size(_tuple(slopes)))
    if order > 1:
        loose = dict(kw, gauge="project")
        second = _each(hvp(fun, args, tangents, cts, **loose))
        for i, (t, reference) in enumerate(zip(second, near.gradients(cts), strict=True)):
            if t is not None:
                check(f"hvp, argument leaf {i}", t, reference)
    if batched:
        _check_slices(fun, args, flat, tangents, slopes, check, kw)


class _Neighbours:
    """Fourth-order central differences along the tangents, in double precision whatever the dtype."""

    _WEIGHTS = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))

    def __init__(self, fun, args, tangents, outputs, h, kw):
        self._h = h
        record = lookup(fun, Options.split(kw)[1], len(args))
        wide = _map(_double, args)
        kw = dict(kw, gauge="project")
        self._points = []
        for k, weight in self._WEIGHTS:
            values, pullback = vjp(fun, *_shifted(wide, tangents, k * h), **kw)
            order = None if record.match is None else record.match(_tuple(values), _tuple(outputs))
            turns = (None,) * len(_tuple(values))
            if record.follow is not None:
                turns = record.follow(_tuple(values), tuple(map(_double, _tuple(outputs))))
            self._points.append((weight, _tuple(values), pullback, order, turns))

    def outputs(self):
        return self._difference([tuple(map(_turned, (_sorted(y, order) for y in values), turns))
                                 for _, values, _, order, turns in self._points])

    def gradients(self, cts):
        many = isinstance(cts, tuple)
        found = []
        for _, _, pullback, order, turns in self._points:
            mine = tuple(None if g is None else _unsorted(_turned(_double(g), t, back=True), order)
                         for g, t in zip(_tuple(cts), turns, strict=True))
            found.append(_each(pullback(mine if many else mine[0])))
        return self._difference(found)

    def _difference(self, values):
        weights = [p[0] / self._h for p in self._points]
        return [sum(c * y for c, y in zip(weights, ys, strict=True))
                if ys[0] is not None and ys[0].dtype.kind in "fc" else None for ys in zip(*values, strict=True)]


def project_cotangent(fun, outputs, cotangents, *, count=1, **kw):
    """Remove the gauge-dependent part of cotangents.

    Parameters
    ----------
    fun : function or str
        A function of linalgad.
    outputs : array or tuple of array
        What it returned.
    cotangents : structure of the outputs
        None is zero.
    count : int, optional
        The number of arguments of the call, where it decides (2 for eigh of a pencil).
    **kw
        Keywords of `fun`, and `rank_tol`.

    Returns
    -------
    structure of the outputs
        Cotangents that every gauge policy accepts.
    """
    opt, kw = Options.split(kw)
    record = lookup(fun, kw, count)
    flat = tuple(np.asarray(y) for y in _tuple(outputs))
    return record.pack(record.project(Call((), flat, None, kw, opt), _cotangents(record, flat, cotangents)), kw)


class _Comparison:
    """Raises if a derivative and its reference differ."""

    def __init__(self, fun, fast, rng, tol):
        self._name = fun if isinstance(fun, str) else fun.__name__
        self._fast, self._rng, self._tol = fast, rng, tol

    def __call__(self, what, got, want, floor=0.0):
        got, want = np.asarray(got), np.asarray(want)
        if self._fast and got.ndim:
            probe = self._rng.standard_normal(got.shape)
            got, want = np.sum(probe * got), np.sum(probe * want)
            floor = max(floor, np.linalg.norm(probe) * np.max(np.abs(want), initial=0))
        error = np.abs(got - want)
        allowed = self._tol * max(np.max(np.abs(want), initial=0), floor, np.finfo(error.dtype).tiny)
        if got.size and not np.max(error) <= allowed:
            worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
            raise GradientMismatch(f"{self._name}: {what} at {tuple(map(int, worst))}: rule {got[worst]}, reference "
                                   f"{want[worst]}, difference {error[worst]:.1e}, tolerance {allowed:.1e}")


def _check_slices(fun, args, flat, tangents, slopes, check, kw):
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in flat if x.ndim >= 2)) if flat else ()
    if not batch or any(x.shape[:len(batch)] != batch for x in flat) or 0 in batch:
        return
    i = tuple(n - 1 for n in batch)
    alone = jvp(fun, _map(lambda x: x[i], args), _map(lambda x: x[i], tangents), **kw)[1]
    for k, (t, s) in enumerate(zip(_tuple(alone), _tuple(slopes), strict=True)):
        if t is not None:
            check(f"slice {i} alone, output {k}", t, s[i])


def _double(x):
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if x.dtype.kind in "fc" else x


def _sorted(y, order):
    """Columns brought to the order of the unshifted spectrum."""
    return y if order is None else np.take_along_axis(y, order.reshape(order.shape[:-1] + (1,) * (y.ndim - order.ndim)
                                                                      + order.shape[-1:]), axis=-1)


def _turned(y, turn, back=False):
    """The last columns (rows for axis -2) of an output in the basis that `Record.follow` found, or back from it."""
    if turn is None:
        return y
    axis, r = turn
    k = y.shape[axis] - r.shape[-1]
    if back != (axis == -2):
        r = np.conj(np.swapaxes(r, -1, -2))
    if axis == -2:
        return np.concatenate([y[..., :k, :], r @ y[..., k:, :]], axis=-2)
    return np.concatenate([y[..., :k], y[..., k:] @ r], axis=-1)


def _unsorted(g, order):
    """The inverse of `_sorted`."""
    return g if order is None else _sorted(g, np.argsort(order, axis=-1))


def _tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _each(groups):
    return tuple(y for x in groups for y in _tuple(x))


def _map(fun, args):
    def apply(x):
        return None if x is None else fun(np.asarray(x))
    return tuple(tuple(map(apply, x)) if isinstance(x, tuple) else apply(x) for x in args)


def _structure(outputs, fun, slopes):
    made = tuple(None if t is None else fun(np.asarray(y))
                 for y, t in zip(_tuple(outputs), _tuple(slopes), strict=True))
    return made if isinstance(outputs, tuple) else made[0]


def _noise(rng, x):
    out = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        out = out + 1j * rng.standard_normal(x.shape)
    return _like(out, x, "random direction")


def _tangent(rng, x):
    """A random direction of the structure of a square argument, None for integers."""
    if x.dtype.kind not in "fc":
        return None
    t = _noise(rng, x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return t
    for mirrored in (lambda y: np.conj(np.swapaxes(y, -1, -2)), lambda y: np.swapaxes(y, -1, -2)):
        if np.array_equal(x, mirrored(x)):
            return (t + mirrored(t)) / 2
    for triangle in (np.tril, np.triu):
        if np.array_equal(x, triangle(x)):
            i = np.arange(x.shape[-1])
            if not np.any(x[..., i, i].imag):
                t[..., i, i] = t[..., i, i].real
            return triangle(t)
    return t


def _shifted(args, tangents, h):
    return tuple(_shifted(x, t, h) if isinstance(x, tuple) else x if t is None else x + h * t
                 for x, t in zip(args, tangents, strict=True))


def _inner(xs, ys):
    return sum(float(np.sum(np.conj(x) * y).real) for x, y in zip(xs, ys, strict=True)
               if x is not None and y is not None)


def _size(xs):
    return sum(float(np.sum(np.abs(x) ** 2)) for x in xs if x is not None) ** 0.5
