"""Singular value decomposition."""

from ._kernels import _svd as _kernel
from ._lib._errors import check_codes
from ._lib._gauge import tie
from ._lib._results import SVDResult
from ._lib._validate import as_matrix, check_out, check_outs, real_dtype

__all__ = ["svd", "svdvals"]

_FAILED = "has an SVD that did not converge"


def svd(a, full_matrices=True, compute_uv=True, *, lanes=None, errors="raise", out=None):
    """Decompose matrices as ``U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
        Matrices; K = min(M, N).
    full_matrices : bool, optional
        Whether U and Vh are square, (..., M, M) and (..., N, N), or thin, (..., M, K) and (..., K, N).
    compute_uv : bool, optional
        Whether to compute U and Vh; otherwise only S is returned.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : tuple of ndarray, or ndarray, optional
        Where to write (U, S, Vh), or S if `compute_uv` is false.

    Returns
    -------
    SVDResult
        U with orthonormal columns, S (..., K) real and descending, Vh with orthonormal rows; or S
        alone if `compute_uv` is false.

    Raises
    ------
    LinAlgError
        If a matrix has NaN or infinite entries or its iteration does not converge; `indices` lists them.

    Notes
    -----
    The entry of largest modulus of each column of U is real and positive (the first such entry up to
    rounding). Small matrices are served by the compact kernels; else LAPACK's divide and conquer
    (gesdd) runs first, its QR iteration (gesvd) where that fails. About 4 M N K + 8 K^3 flops and
    8 (2 M N + 5 K^2) bytes of workspace for each lane in double precision. The derivative of U and Vh
    is undefined at repeated singular values, except for functions that do not depend on the choice of
    basis there.

    References
    ----------
    .. [1] E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM, 1999, section 2.4.6.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.arange(24.0).reshape(2, 4, 3)
    >>> u, s, vh = la.svd(a, full_matrices=False)
    >>> np.allclose(u * s[..., None, :] @ vh, a)
    True
    """
    if not compute_uv:
        return _values("svd", a, lanes, errors, out)
    a = as_matrix("svd", a, errors, lanes)
    m, n = a.shape[-2:]
    if out is not None:
        k = min(m, n)
        ku, kv = (m, n) if full_matrices else (k, k)
        batch = a.shape[:-2]
        (a,) = check_outs("svd", out, [((*batch, m, ku), a.dtype), ((*batch, k), real_dtype(a.dtype)),
                                       ((*batch, kv, n), a.dtype)], (a,))
    u, s, vh, codes = _kernel.svd(a, "A" if full_matrices else "S", out, tie(a.dtype), lanes)
    if codes is not None:
        check_codes("svd", codes, a.shape[:-2], errors, _FAILED)
    return SVDResult(u, s, vh)


def svdvals(a, *, lanes=None, errors="raise", out=None):
    """Compute the singular values of matrices.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
        Matrices.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result.

    Returns
    -------
    ndarray, shape (..., min(M, N))
        Singular values, real and descending.

    Raises
    ------
    LinAlgError
        If a matrix has NaN or infinite entries or its iteration does not converge; `indices` lists them.

    See Also
    --------
    svd : with the singular vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.svdvals(np.diag([3.0, 4.0]))
    array([4., 3.])
    """
    return _values("svdvals", a, lanes, errors, out)


def _values(fn, a, lanes, errors, out):
    a = as_matrix(fn, a, errors, lanes)
    if out is not None:
        (a,) = check_out(fn, out, (*a.shape[:-2], min(a.shape[-2:])), real_dtype(a.dtype), (a,))
        out = (None, out, None)
    s, codes = _kernel.svd(a, "N", out, 0.0, lanes)[1::2]
    if codes is not None:
        check_codes(fn, codes, a.shape[:-2], errors, _FAILED)
    return s
