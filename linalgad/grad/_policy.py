"""What a caller may ask of a derivative (`Options`), what a rule found out (`Info`), and who complains."""
import warnings
from dataclasses import dataclass

import numpy as np

from .._lib import _tols
from .._lib._errors import LinAlgError

POLICIES = ("raise", "warn", "project", "ignore")


class GaugeError(LinAlgError):
    """A loss depends on what a decomposition leaves free. `indices` lists the slices, `residual` all slices."""

    def __init__(self, message, indices, residual):
        super().__init__(message, indices)
        self.residual = residual


class GaugeWarning(UserWarning):
    """The warning of ``gauge='warn'``."""


class NotDifferentiableError(TypeError):
    """An output, argument or case has no derivative; the message gives the reason."""


@dataclass(frozen=True)
class Options:
    """The keywords common to all derivatives.

    Attributes
    ----------
    derivative_eps : float or None
        None: the numerator test. A number: a Lorentzian of that width, relative to the largest singular
        value or |eigenvalue| of the slice, on the difference factor. 0: the bare formula.
    gauge : {'raise', 'warn', 'project', 'ignore'}
        What happens to a cotangent that depends on the gauge. 'project' drops the offending part in
        silence; 'ignore' pulls phases back through the forward's phase convention and checks nothing.
    gauge_tol : float or None
        Offending part, relative to the cotangent of the slice, from which the policy speaks.
    rank_tol : float or None
        Relative size below which a singular value (or a diagonal entry of R) counts as zero.
    """

    derivative_eps: float | None = None
    gauge: str = "raise"
    gauge_tol: float | None = None
    rank_tol: float | None = None

    def __post_init__(self):
        if self.gauge not in POLICIES:
            raise ValueError(f"gauge must be one of {POLICIES}, got {self.gauge!r}")
        for name in ("derivative_eps", "gauge_tol", "rank_tol"):
            value = getattr(self, name)
            if value is None:
                continue
            if not value >= 0:
                raise ValueError(f"{name} must be None or a number >= 0, got {value!r}")
            object.__setattr__(self, name, float(value))

    @classmethod
    def split(cls, kw):
        """Take the options out of a call's keywords: (options, the function's own keywords)."""
        mine = {k: v for k, v in kw.items() if k in cls.__dataclass_fields__}
        return cls(**mine), {k: v for k, v in kw.items() if k not in mine}


@dataclass
class Info:
    """Diagnostics of one pullback, one number per slice of the batch.

    Attributes
    ----------
    gauge_residual : array or None
        The gauge-dependent part of the cotangent relative to the cotangent.
    smallest_gap : array or None
        The smallest gap relative to the largest singular value or modulus of an eigenvalue; infinity without pairs.
    broadened_pairs : array or None
        Pairs i < j that are not divided by their true gap: unresolved ones, and all pairs of a Lorentzian.
    rank : array or None
        Singular values (or diagonal entries of R) that count as non-zero.
    """

    gauge_residual: np.ndarray | None = None
    smallest_gap: np.ndarray | None = None
    broadened_pairs: np.ndarray | None = None
    rank: np.ndarray | None = None


def judge(name, info, opt):
    """Apply the gauge policy to what a rule reported; the only place that raises or warns about gauge."""
    if opt.gauge in ("project", "ignore") or info is None or info.gauge_residual is None:
        return
    residual = np.asarray(info.gauge_residual)
    tol = _tols.gauge_violation(residual.dtype) if opt.gauge_tol is None else opt.gauge_tol
    bad = np.argwhere(residual > tol)
    if not len(bad):
        return
    worst = residual.max()
    where = "" if residual.ndim == 0 else " in slices " + ", ".join(str(tuple(map(int, i))) for i in bad[:5])
    if residual.ndim and len(bad) > 5:
        where += f" and {len(bad) - 5} more"
    message = (f"{name}: the cotangent depends on the gauge (a phase, a rotation inside a repeated value, the basis "
               f"of a null space, or 1/s at s = 0){where}: part {worst:.1e} of it, gauge_tol is {tol:.1e}; "
               "gauge='project' drops that part")
    if opt.gauge == "warn":
        warnings.warn(message, GaugeWarning, stacklevel=4)
    else:
        raise GaugeError(message, tuple(tuple(map(int, i)) for i in bad), residual)
