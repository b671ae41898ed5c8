"""Inverse."""
import numpy as np

from ._kernels import _inv as _kernel
from ._lib._errors import check_codes
from ._lib._results import InvExResult
from ._lib._validate import as_matrix, check_out

__all__ = ["inv", "inv_ex"]


def inv(a, *, lanes=None, errors="raise", out=None):
    """Invert matrices.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a singular matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `a` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N, N)
        Inverses.

    Raises
    ------
    LinAlgError
        If a matrix is exactly singular; `indices` lists them. A matrix with NaN gives NaN.

    See Also
    --------
    inv_ex : never raises for a singular matrix; solve : cheaper and more accurate for a right-hand side.

    Notes
    -----
    By LU with partial pivoting: 2 N^3 flops and 8 (N^2 + 64 N) bytes of workspace for each lane in
    double precision.

    References
    ----------
    .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, chapter 14.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.inv(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    a = as_matrix("inv", a, errors, lanes, True)
    if out is not None:
        (a,) = check_out("inv", out, a.shape, a.dtype, (a,))
    x, codes = _kernel.inv(a, out, lanes, None)
    if codes is not None:
        check_codes("inv", codes, a.shape[:-2], errors, "is singular")
    return x


def inv_ex(a, *, lanes=None, out=None):
    """Invert matrices and report, rather than raise, where that fails.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    out : ndarray, optional
        Where to write the inverses.

    Returns
    -------
    InvExResult
        The inverses, and `info` (...) of int32: 0, or the position from 1 of the zero pivot. The slice
        of a singular matrix is NaN.

    See Also
    --------
    inv : raises for a singular matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.inv_ex(np.diag([1.0, 0.0])).info
    np.int32(2)
    """
    a = as_matrix("inv_ex", a, "raise", lanes, True)
    if out is not None:
        (a,) = check_out("inv_ex", out, a.shape, a.dtype, (a,))
    info = np.empty(a.shape[:-2], np.int32)
    x, _ = _kernel.inv(a, out, lanes, info)
    return InvExResult(x, info[()])
