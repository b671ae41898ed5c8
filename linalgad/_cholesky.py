"""Cholesky factorisation of Hermitian positive definite matrices, and what its factor solves."""
import numpy as np

from ._kernels import _cholesky as _kernel
from ._lib._errors import check_codes
from ._lib._results import CholeskyExResult
from ._lib._validate import as_matrix, as_system, check_out

__all__ = ["cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve"]


def cholesky(a, *, upper=False, lanes=None, errors="raise", out=None):
    """Factor Hermitian positive definite matrices as ``L @ L^H``.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices; only the lower triangle is read (the upper one if `upper`).
    upper : bool, optional
        Return the upper factor R with ``R^H @ R = a``.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `a` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N, N)
        The factor, with a real positive diagonal and zeros in the other triangle.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite; `indices` lists them. A matrix with NaN gives NaN.

    See Also
    --------
    cholesky_ex : never raises for a failing matrix.

    Notes
    -----
    N^3 / 3 flops and 8 N^2 bytes of workspace for each lane in double precision.

    References
    ----------
    .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, chapter 10.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> c = la.cholesky(a)
    >>> c
    array([[2., 0.],
           [1., 2.]])
    >>> np.allclose(c @ c.T, a)
    True
    """
    a = as_matrix("cholesky", a, errors, lanes, True)
    if out is not None:
        (a,) = check_out("cholesky", out, a.shape, a.dtype, (a,))
    c, codes = _kernel.cholesky(a, upper, out, lanes, None)
    if codes is not None:
        check_codes("cholesky", codes, a.shape[:-2], errors, "is not positive definite")
    return c


def cholesky_ex(a, *, upper=False, lanes=None, out=None):
    """Factor Hermitian matrices as ``L @ L^H`` and report, rather than raise, where that fails.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices; only the lower triangle is read (the upper one if `upper`).
    upper : bool, optional
        Return the upper factor R with ``R^H @ R = a``.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    out : ndarray, optional
        Where to write the factor.

    Returns
    -------
    CholeskyExResult
        The factor L (..., N, N) and `info` (...) of int32: 0, or the order of the first leading minor
        that is not positive. The slice of a failing matrix is NaN.

    See Also
    --------
    cholesky : raises for a failing matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.cholesky_ex(np.diag([1.0, -1.0])).info
    np.int32(2)
    """
    a = as_matrix("cholesky_ex", a, "raise", lanes, True)
    if out is not None:
        (a,) = check_out("cholesky_ex", out, a.shape, a.dtype, (a,))
    info = np.empty(a.shape[:-2], np.int32)
    c, _ = _kernel.cholesky(a, upper, out, lanes, info)
    return CholeskyExResult(c, info[()])


def cholesky_solve(c, b, *, upper=False, lanes=None, errors="raise", out=None):
    """Solve ``a @ x = b`` given the Cholesky factor of `a`.

    Parameters
    ----------
    c : array_like, shape (..., N, N)
        Factor from `cholesky`; the other triangle is not read.
    b : array_like, shape (N,) or (..., N, K)
        Right-hand sides; a vector only if it has one dimension.
    upper : bool, optional
        Whether `c` is the upper factor.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a factor with a zero on its diagonal raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `b` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N) or (..., N, K)
        Solutions, over the broadcast batch.

    Raises
    ------
    LinAlgError
        If a factor has a zero on its diagonal; `indices` lists them.

    See Also
    --------
    cholesky, solve

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> x = la.cholesky_solve(la.cholesky(a), np.array([8.0, 12.0]))
    >>> np.allclose(a @ x, [8.0, 12.0])
    True
    """
    c, b, shape = as_system("cholesky_solve", c, b, errors, lanes, names=("c", "b"))
    if out is not None:
        c, b = check_out("cholesky_solve", out, shape, c.dtype, (c, b))
    x, codes = _kernel.cholesky_solve(c, b, shape, upper, out, lanes)
    if codes is not None:
        check_codes("cholesky_solve", codes, shape[:-1 if b.ndim == 1 else -2], errors, "has a singular factor")
    return x


def cholesky_inverse(c, *, upper=False, lanes=None, errors="raise", out=None):
    """Invert a matrix given its Cholesky factor.

    Parameters
    ----------
    c : array_like, shape (..., N, N)
        Factor from `cholesky`; the other triangle is not read.
    upper : bool, optional
        Whether `c` is the upper factor.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a singular factor raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `c` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N, N)
        The inverse of ``L @ L^H`` (of ``R^H @ R`` if `upper`), exactly Hermitian.

    Raises
    ------
    LinAlgError
        If a factor has a zero on its diagonal; `indices` lists them.

    See Also
    --------
    cholesky, inv

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> np.allclose(la.cholesky_inverse(la.cholesky(a)) @ a, np.eye(2))
    True
    """
    c = as_matrix("cholesky_inverse", c, errors, lanes, True, "c")
    if out is not None:
        (c,) = check_out("cholesky_inverse", out, c.shape, c.dtype, (c,))
    x, codes = _kernel.cholesky_inverse(c, upper, out, lanes)
    if codes is not None:
        check_codes("cholesky_inverse", codes, c.shape[:-2], errors, "has a singular factor")
    return x
