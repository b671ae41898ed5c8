"""Every tolerance of the tests, one documented function each; no other test file holds one.

| kind                              | measure                                                     | at most           |
| residual                          | LAPACK-style ratio, see `_measure.residual_ratio`           | 30, all dtypes    |
| duality of jvp and vjp            | |Re<ct, jvp> - Re<vjp, da>| / (|ct||jvp| + |vjp||da|)        | 64 n eps kappa    |
| truth                             | against mpmath, longdouble or a wider type, normwise        | 64 n eps kappa    |
| compiled rule and the plain rule  | normwise                                                    | 64 n eps kappa    |
| consistency                       | batched and loop, n lanes and one                           | bitwise           |

kappa is the condition of the quantity; it is known because the test matrices prescribe their spectrum.
"""
import numpy as np

RESIDUAL = 30.0


def eps(dtype):
    """Spacing at 1 of the real type of `dtype`."""
    return float(np.finfo(dtype).eps)


def rounding(dtype, n, kappa=1.0):
    """Truth and duality: 64 n eps kappa, kappa the condition number the matrix was made with."""
    return 64 * max(n, 1) * eps(dtype) * kappa


def gap_free(dtype):
    """A derivative that has no small gap in it, at ties: 1e-13 in double, 1e-5 in single precision."""
    return 1e-13 if eps(dtype) < 1e-10 else 1e-5


def gap_limited(dtype, gap):
    """A derivative that divides by a relative gap: 100 units of rounding over the gap."""
    return 100 * eps(dtype) / gap


def truncation(dtype):
    """Central differences of step 1e-5 in double precision: smoke only."""
    return 1e-7


def gauge_tie(dtype):
    """Entries this close (relatively) to the largest count as the largest; the first of them is the pivot."""
    return eps(dtype) ** 0.5


def largest_multiplier(dtype):
    """Bound on the entries of L under partial pivoting; LAPACK compares complex pivots by |re| + |im|."""
    return (2 ** 0.5 if np.dtype(dtype).kind == "c" else 1.0) * (1 + 4 * eps(dtype))


PIN_SECONDS = 1e-6          # pinning the BLAS to one thread and releasing it again
INTERRUPT_SECONDS = 1.0     # from the signal to KeyboardInterrupt
SLAB_WASTE = 0.2            # share of a workspace slab that nobody asked for
