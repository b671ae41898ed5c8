"""Every run-time tolerance of the package, one documented function each."""
import numpy as np


def eps(dtype):
    """Unit roundoff (spacing at 1) of the real type that belongs to `dtype`."""
    return float(np.finfo(dtype).eps)


def gauge_tie(dtype):
    """How far below the largest modulus an entry may be and still count as the largest.

    The pivot entry of a vector is the first whose modulus is within this relative distance of the
    largest. Entries that are equal in exact arithmetic differ by rounding, at most some n eps, so a
    tolerance of sqrt(eps) lets kernels with different rounding choose the same entry.
    """
    return eps(dtype) ** 0.5


def gap_resolution(dtype):
    """Relative spectral gap below which two values count as one: 100 units of rounding."""
    return 100 * eps(dtype)


def numerator_noise(dtype):
    """Rounding of the numerator over a spectral gap, relative to its cotangent columns.

    Measured at most 0.6 units for orders 3 to 100 in all dtypes; 16 leaves room for the rounding of
    the caller's own cotangents.
    """
    return 16 * eps(dtype)


def gauge_violation(dtype):
    """Default `gauge_tol`: the gauge-dependent part of a cotangent, relative to it, that speaks: sqrt(eps)."""
    return eps(dtype) ** 0.5


def derivative_rank(dtype, m, n):
    """Default `rank_tol`: a singular value below this part of the largest counts as zero in a rule."""
    return max(m, n, 1) * eps(dtype)


def difference_step():
    """Step of fourth-order central differences in double precision, relative to the argument."""
    return 1e-4


def difference_error(dtype):
    """What `check_grads` allows between a rule and central differences, relative to the largest entry: sqrt(eps)."""
    return eps(dtype) ** 0.5


def cofactor_condition(dtype):
    """Condition number, in the Frobenius norm, up to which cofactors come from LU: eps^-0.4.

    Their derivative then loses at most eps^0.6 to cancellation; beyond it an SVD is taken, which loses nothing.
    """
    return eps(dtype) ** -0.4


def moderate_exponent(dtype):
    """Powers of two that may multiply numbers of order one without a thought: half of the range."""
    return -int(np.finfo(dtype).minexp) // 2


def exponent_range(dtype):
    """Powers of two between the largest and the smallest row of a matrix beyond which rows are scaled apart.

    Up to there a row keeps all its digits when the matrix is scaled to 1, with as many to spare.
    """
    info = np.finfo(dtype)
    return -int(info.minexp) - 2 * int(info.nmant)
