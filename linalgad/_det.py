"""Determinants."""
from ._kernels import _det as _kernel
from ._lib._results import SlogdetResult
from ._lib._validate import as_matrix, check_out, check_outs, real_dtype

__all__ = ["det", "slogdet"]


def det(a, *, lanes=None, errors="raise", out=None):
    """Compute determinants.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Without effect: every matrix has a determinant, and one with NaN gives NaN.
    out : ndarray, optional
        Where to write the result.

    Returns
    -------
    scalar or ndarray, shape (...)
        Determinants; 1 for a 0 x 0 matrix.

    See Also
    --------
    slogdet : for determinants out of the range of floating point.

    Notes
    -----
    The product of the pivots of LU is accumulated with an exponent of its own. A matrix with extreme entries, or with a
    pivot that may have vanished by underflow alone, is scaled by powers of two that make some product of N entries, one
    from each row and column, 1 and no entry larger [3]_, and factored in double precision. 2 N^3 / 3 flops and 8 N^2
    bytes of workspace for each lane in double precision; scaling takes 12 N^2 bytes and O(N^3) operations on integers
    more.

    Determinants of order 2 and 3 whose size is not extreme come from closed forms with errors of the size of those of
    LU; real ones of order 2 are right to two roundings [2]_ where the processor fuses multiplication and addition.

    References
    ----------
    .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, section 14.6.
    .. [2] C.-P. Jeannerod, N. Louvet, J.-M. Muller, Further analysis of Kahan's algorithm for the accurate computation
       of 2 x 2 determinants, Math. Comp. 82 (2013) 2245-2264.
    .. [3] I. S. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J.
       Matrix Anal. Appl. 22 (2001) 973-996.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.det(np.diag([1e200, 1e-200, 3.0]))
    np.float64(3.0)
    """
    a = as_matrix("det", a, errors, lanes, True)
    if out is not None:
        (a,) = check_out("det", out, a.shape[:-2], a.dtype, (a,))
        _kernel.det(a, False, (out, None), lanes)
        return out
    d = _kernel.det(a, False, None, lanes)[0]
    return d if d.ndim else d[()]


def slogdet(a, *, lanes=None, errors="raise", out=None):
    """Compute the sign and the logarithm of the modulus of determinants.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Without effect: every matrix has a determinant, and one with NaN gives NaN.
    out : tuple of ndarray, optional
        Where to write (sign, logabsdet).

    Returns
    -------
    SlogdetResult
        sign (...), of modulus 1 or 0, in the dtype of `a`, and logabsdet (...), real, -inf where the
        determinant is 0: ``det = sign * exp(logabsdet)``.

    See Also
    --------
    det

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.slogdet(-np.eye(3))
    SlogdetResult(sign=np.float64(-1.0), logabsdet=np.float64(0.0))
    """
    a = as_matrix("slogdet", a, errors, lanes, True)
    if out is not None:
        batch = a.shape[:-2]
        (a,) = check_outs("slogdet", out, [(batch, a.dtype), (batch, real_dtype(a.dtype))], (a,))
        return SlogdetResult(*_kernel.det(a, True, tuple(out), lanes))
    sign, logabsdet = _kernel.det(a, True, None, lanes)
    return SlogdetResult(sign, logabsdet) if sign.ndim else SlogdetResult(sign[()], logabsdet[()])
