"""Every tolerance of the tests, one documented function each."""
import numpy as np


def eps(dtype):
    """Spacing at 1 of the real type of `dtype`."""
    return float(np.finfo(dtype).eps)


def rounding(dtype, n, kappa=1.0):
    """Truth and duality: 64 n eps kappa, kappa the condition number the matrix was made with."""
    return 64 * n * eps(dtype) * kappa


def gap_free(dtype):
    """A derivative that has no small gap in it, at ties: 1e-13 in double, 1e-5 in single precision."""
    return 1e-13 if eps(dtype) < 1e-10 else 1e-5


def gap_limited(dtype, gap):
    """A derivative that divides by a relative gap: 100 units of rounding over the gap."""
    return 100 * eps(dtype) / gap


def truncation(dtype):
    """Central differences of step 1e-5 in double precision: smoke only."""
    return 1e-7
