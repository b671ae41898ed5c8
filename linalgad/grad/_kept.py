"""Factorisations that a forward keeps for its rules."""
import copy

import numpy as np

from .._lib import _tols
from ._forward import public


class LUSolver:
    """op(V)^-1 B by a kept LU of V: the `solver` of `_xp.solve_kept`.

    `doubt` estimates eps cond(V) of each slice for V with unit columns, the relative rounding of what the
    solves give: infinite for a singular V.
    """

    def __init__(self, v):
        self._factors = tuple(public("lu_factor_ex")(v)[:2])
        self.doubt = self._estimate(v)

    def mapped(self, fun):
        """The solver of other slices: with `fun` of every array it keeps."""
        other = copy.copy(self)
        other._factors, other.doubt = tuple(map(fun, self._factors)), fun(self.doubt)
        return other

    def __call__(self, b, trans=0):
        factors = self._factors
        if b.dtype != factors[0].dtype:
            dtype = np.result_type(b, factors[0])
            b, factors = b.astype(dtype), (factors[0].astype(dtype), factors[1])
        return public("lu_solve")(factors, b, trans=trans)

    def _estimate(self, v):
        n = v.shape[-1]
        probe = np.where(np.arange(n) % 2, -1, 1).astype(v.dtype)[:, None] / max(n, 1) ** 0.5
        with np.errstate(all="ignore"):
            grown = np.linalg.norm(self(np.broadcast_to(probe, (*v.shape[:-1], 1))), axis=(-2, -1))
        return np.where(np.isfinite(grown), grown, np.inf) * _tols.eps(v.dtype)
