"""What the spectral rules (svd, eigh, eig) share: scales, phases, magnitudes, diagnostics."""
from .._lib import _tols
from . import _gap
from . import _xp as xp
from ._dual import recordable
from ._policy import Info


def top_scale(s):
    """Decision: the largest modulus of each slice's values, (..., 1); 1 where all are zero."""
    top = xp.max_magnitude(s, axis=-1)
    return xp.where(top > 0, top, 1)


def column(x):
    """A vector (..., N) as a column (..., N, 1)."""
    return x[..., :, None]


def row(x):
    """A vector (..., N) as a row (..., 1, N)."""
    return x[..., None, :]


def cotangent_scale(v, gv):
    """Magnitude of the cotangent columns as the numerators V^H gV see it, (..., 1, N); 0 for None.

    The columns of V have unit norm, so only their tangents add to the magnitude.
    """
    if gv is None:
        return 0
    return xp.column_scale(gv) * (xp.column_scale(v) if xp.level_of(v) else 1)


def pair_scale(scale):
    """c_i + c_j for column magnitudes c, (..., N, N); 0 stays 0, which asks for no test."""
    return scale if isinstance(scale, int) else scale + xp.T(scale)


# What a program has steps for; rows are (..., 1, N) and real.

@recordable
def pair_quotient(num, values, noise=None, *, eps=None):
    """`divide_gap` for all pairs of the numbers in a row, with the noise c_i + c_j of magnitudes c in another row."""
    return _gap.divide_gap(num, _gap.gaps(values[..., 0, :]), noise if noise is None else pair_scale(noise), eps=eps)


@recordable
def sum_quotient(num, values, tol):
    """num over the sums of all pairs of the numbers in a row, 0 where both numbers are at most `tol`."""
    values = values[..., 0, :]
    null = xp.magnitude(values) <= tol
    return num * xp.reciprocal(column(values) + row(values), ~(column(null) & row(null)))


@recordable
def scale_columns(x, factors):
    """x with each column times the number in a row."""
    return x * factors


@recordable
def add_to_diagonal(x, terms):
    """x with a row added to the diagonal."""
    return xp.add_diagonal(x, terms[..., 0, :])


def fix_phases(lead, *pairs):
    """Add the phases that keep the pivot entries of the leading vectors real.

    `lead` and `pairs` are (vectors, tangents); all are turned by the phases that the leading ones need,
    dv_j + i phi_j v_j with Im(dv_j + i phi_j v_j) = 0 at the pivot. Nothing happens to real vectors.
    """
    pairs = (lead, *pairs)
    if not xp.is_complex(lead[0]):
        return [dv for _, dv in pairs]
    v, dv = lead
    rows = xp.pivots(v, _tols.gauge_tie(v.dtype))
    phase = row(xp.imag(xp.take_pivots(dv, rows=rows)) / xp.real(xp.take_pivots(v, rows=rows)))
    return [y - x * phase * 1j for x, y in pairs]


def settling_phases(x):
    """The phases that make the pivots of plain vectors real and positive, a row."""
    pivot = xp.take_pivots(x, rows=xp.pivots(x, _tols.gauge_tie(x.dtype)))
    return row(xp.conj(pivot) / xp.magnitude(pivot))


def settle_phases(lead, *others):
    """Plain vectors with the pivots of the leading ones made real and positive; all turn together."""
    turn = settling_phases(lead)
    return [x * turn for x in (lead, *others)]


def absorb_phases(v, gv, slope):
    """The adjoint of `fix_phases`: a cotangent of the leading vectors that asks for no phase.

    `slope` (..., N) is the derivative of the loss along the phase of each column, Re<gv_j, i v_j> over
    all vectors that turn together.
    """
    rows = xp.pivots(v, _tols.gauge_tie(v.dtype))
    return gv + xp.put_pivots(slope / xp.real(xp.take_pivots(v, rows=rows)) * (-1j), rows=rows, m=v.shape[-2])


def phase_slopes(*pairs):
    """Re<gv_j, i v_j> summed over (vectors, cotangents) with None for zero, (..., N)."""
    total = 0
    for v, gv in pairs:
        if gv is not None:
            total = total - xp.imag(xp.sum(xp.conj(gv) * v, axis=-2))
    return total


def spectral_info(unit, numerator, whole, extra=(), rank=None, opt=None):
    """Diagnostics of a spectral pullback.

    `unit` are the values over the largest one. `numerator` (..., N, N) is gauge where a pair of them is
    unresolved, its diagonal where it is complex, and `extra` are further parts that no loss may have; all relative
    to the norm of the arrays `whole`.
    """
    smallest = _gap.smallest_gap(unit)
    close = _gap.unresolved(unit, smallest)
    parts = [*extra]
    if numerator is not None and close is not None:
        parts.append(xp.where(close, xp.magnitude(numerator), 0))
    if numerator is not None and xp.is_complex(numerator):
        parts.append(row(xp.imag(xp.diagonal(numerator))))
    residual = xp.zeros_like(smallest)
    if parts:
        size = xp.slice_norm(*whole)
        residual = xp.slice_norm(*parts) / xp.where(size > 0, size, 1)
    pairs = unit.shape[-1] * (unit.shape[-1] - 1) // 2 if opt.derivative_eps else 0
    if close is not None and not pairs:
        broadened = xp.count(close) // 2
    else:
        broadened = pairs + xp.zeros_like(xp.count(xp.magnitude(unit)[..., None]))
    return Info(gauge_residual=residual, smallest_gap=smallest, broadened_pairs=broadened, rank=rank)
