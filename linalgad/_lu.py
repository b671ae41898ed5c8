"""LU factorisation with partial pivoting."""
import numpy as np

from ._kernels import _lu as _kernel
from ._lib._errors import check_codes
from ._lib._results import LUFactorExResult, LUFactorResult, LUResult
from ._lib._validate import (
    as_factors,
    as_matrix,
    as_pivots,
    as_system,
    bad_pivots,
    broadcast,
    check_out,
    check_outs,
    real_dtype,
    transposition,
)

__all__ = ["lu", "lu_factor", "lu_factor_ex", "lu_solve"]

_BAD_PIVOT = 1 << 29    # the kernel's code


def lu(a, *, permute_l=False, p_indices=False, lanes=None, errors="raise", out=None):
    """Factor matrices as ``P @ L @ U``.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
        Matrices; K = min(M, N).
    permute_l : bool, optional
        Return ``(P @ L, U)``.
    p_indices : bool, optional
        Return P as the row indices p with ``a = L[p] @ U``; without effect if `permute_l`.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Without effect: every matrix has this factorisation, and one with NaN gives NaN.
    out : tuple of ndarray, optional
        Where to write the results.

    Returns
    -------
    LUResult, or tuple of two ndarray if `permute_l`
        P (..., M, M) a real permutation matrix or (..., M) integers, L (..., M, K) unit lower
        triangular (trapezoidal), U (..., K, N) upper triangular (trapezoidal).

    See Also
    --------
    lu_factor : the compact form that `lu_solve` takes.

    Notes
    -----
    About M N K - (M + N) K^2 / 2 + K^3 / 3 multiplications, and 8 M N bytes of workspace for each
    lane in double precision. The permutation is constant where the derivative exists.

    References
    ----------
    .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, chapter 9.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> p, l, u = la.lu(a)
    >>> np.allclose(p @ l @ u, a)
    True
    """
    a = as_matrix("lu", a, errors, lanes)
    if out is not None:
        m, n = a.shape[-2:]
        k = min(m, n)
        batch = a.shape[:-2]
        specs = [((*batch, m, k), a.dtype), ((*batch, k, n), a.dtype)]
        if not permute_l:
            specs.insert(0, ((*batch, m), np.dtype(np.intp)) if p_indices else ((*batch, m, m), real_dtype(a.dtype)))
        (a,) = check_outs("lu", out, specs, (a,))
        out = (None, *out) if permute_l else tuple(out)
    p, l, u = _kernel.lu(a, permute_l, p_indices and not permute_l, out, lanes)
    return (l, u) if permute_l else LUResult(p, l, u)


def _factor(fn, a, lanes, errors, out, info):
    if out is not None:
        k = min(a.shape[-2:])
        (a,) = check_outs(fn, out, [(a.shape, a.dtype), ((*a.shape[:-2], k), np.dtype(np.int32))], (a,))
    return _kernel.lu_factor(a, out, lanes, info)


def lu_factor(a, *, lanes=None, errors="raise", out=None):
    """Factor matrices by LU in the compact form of LAPACK.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
        Matrices; K = min(M, N).
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Without effect: every matrix has this factorisation, and one with NaN gives NaN.
    out : tuple of ndarray, optional
        Where to write (lu, piv); `a` itself is allowed for lu.

    Returns
    -------
    LUFactorResult
        lu (..., M, N) with U in the upper triangle and the strict lower triangle of L below; piv
        (..., K) of int32: row i was exchanged with row ``piv[i]``, counted from 0.

    See Also
    --------
    lu : separate factors; lu_factor_ex : tells singular matrices.

    Notes
    -----
    Factors from LAPACK are stored by columns (Fortran order in each slice), as it leaves them and
    `lu_solve` reads them in place; those of small matrices, from the compact kernels, by rows. A
    singular matrix is factored like any other; its U has a zero on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> x = la.lu_solve(la.lu_factor(a), np.array([5.0, 11.0]))
    >>> np.allclose(a @ x, [5.0, 11.0])
    True
    """
    a = as_matrix("lu_factor", a, errors, lanes)
    return LUFactorResult(*_factor("lu_factor", a, lanes, errors, out, None))


def lu_factor_ex(a, *, lanes=None, out=None):
    """Factor matrices by LU and report which are singular.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
        Matrices; K = min(M, N).
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    out : tuple of ndarray, optional
        Where to write (lu, piv).

    Returns
    -------
    LUFactorExResult
        lu and piv of `lu_factor`, and `info` (...) of int32: 0, or the position from 1 of the first
        zero on the diagonal of U.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.lu_factor_ex(np.ones((2, 2))).info
    np.int32(2)
    """
    a = as_matrix("lu_factor_ex", a, "raise", lanes)
    info = np.empty(a.shape[:-2], np.int32)
    return LUFactorExResult(*_factor("lu_factor_ex", a, lanes, "raise", out, info), info[()])


def lu_solve(lu_and_piv, b, trans=0, *, lanes=None, errors="raise", out=None):
    """Solve ``a @ x = b`` given the factors of `a`.

    Parameters
    ----------
    lu_and_piv : tuple of array_like
        (lu, piv) from `lu_factor` of matrices (..., N, N).
    b : array_like, shape (N,) or (..., N, K)
        Right-hand sides; a vector only if it has one dimension.
    trans : {0, 1, 2, 'N', 'T', 'C'}, optional
        Solve with `a`, its transpose, or its conjugate transpose.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether singular factors raise, or fill their slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `b` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N) or (..., N, K)
        Solutions, over the broadcast batch.

    Raises
    ------
    LinAlgError
        If a U has a zero on its diagonal; `indices` lists them.

    Notes
    -----
    2 N^2 K flops. Factors in Fortran order are read in place.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> la.lu_solve(la.lu_factor(a), a.T @ [1.0, 1.0], trans=1)
    array([1., 1.])
    """
    fn = "lu_solve"
    lu, piv = as_factors(fn, lu_and_piv)
    lu, b, shape = as_system(fn, lu, b, errors, lanes, names=("lu", "b"))
    piv = as_pivots(fn, piv, lu)
    core = 1 if b.ndim == 1 else 2
    batch = broadcast(fn, shape[:-core], piv.shape[:-1], ("lu", "piv"))
    shape = batch + shape[-core:]
    if out is not None:
        lu, b, piv = check_out(fn, out, shape, lu.dtype, (lu, b, piv))
    x, codes = _kernel.lu_solve(lu, piv, b, shape, "NTC"[transposition(fn, trans)], out, lanes)
    if codes is not None:
        if (codes == _BAD_PIVOT).any():
            raise bad_pivots(fn)
        check_codes(fn, codes, batch, errors, "is singular")
    return x
