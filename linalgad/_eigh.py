"""Eigenvalues and eigenvectors of Hermitian matrices and of definite pencils."""
from ._kernels import _eigh as _kernel
from ._lib._errors import check_codes
from ._lib._gauge import tie
from ._lib._results import EighResult
from ._lib._validate import as_matrix, as_pencil, check_choice, check_out, check_outs, check_subset, real_dtype

__all__ = ["eigh", "eigvalsh"]

_FAILED = "has eigenvalues that did not converge"
_FAILED_PENCIL = "has a b that is not positive definite or eigenvalues that did not converge"


def eigh(a, b=None, *, lower=True, type=1, subset_by_index=None, lanes=None, errors="raise", out=None):
    """Compute eigenvalues and eigenvectors of Hermitian matrices, ``a @ v = v @ diag(w)``.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices; only the lower triangle is read (the upper one if not `lower`), and only the real part
        of the diagonal counts.
    b : array_like, shape (..., N, N), optional
        Hermitian positive definite matrices of a generalized problem; the same triangle is read.
    lower : bool, optional
        Which triangle holds the matrix.
    type : {1, 2, 3}, optional
        The problem if there is a `b`: ``a @ v = b @ v @ diag(w)``, ``a @ b @ v = v @ diag(w)`` or
        ``b @ a @ v = v @ diag(w)``.
    subset_by_index : (int, int), optional
        First and last eigenvalue wanted, from 0 and both included; K = last - first + 1, else K = N.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : tuple of ndarray, optional
        Where to write (eigenvalues, eigenvectors); `a` itself is allowed for the eigenvectors.

    Returns
    -------
    EighResult
        Eigenvalues (..., K), real and ascending, and eigenvectors (..., N, K), orthonormal columns.
        With `b` the columns satisfy ``v^H @ b @ v = I`` (types 1 and 2) or ``v^H @ inv(b) @ v = I``.

    Raises
    ------
    LinAlgError
        If a matrix has NaN or infinite entries in its triangle, its iteration does not converge, or `b`
        is not positive definite; `indices` lists them.

    See Also
    --------
    eigvalsh : eigenvalues only.

    Notes
    -----
    The entry of largest modulus of each eigenvector is real and positive (the first such entry up to
    rounding). Small matrices are served by the compact kernels, larger ones by divide and conquer [2]_ [3]_
    whose leaves and secular equations use SIMD, and those of extreme scale by LAPACK's (syevd, heevd). Where
    that fails its QR iteration (syev, heev) runs; relatively robust representations (syevr, heevr) serve a
    subset. About 9 N^3 flops at most and 8 (5 N^2 + 60 N) bytes of workspace for each lane in double
    precision. The derivative of the eigenvectors is undefined at repeated eigenvalues, except for functions
    that do not depend on the choice of basis there.

    References
    ----------
    .. [1] E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM, 1999, sections 2.4.4 and 2.4.7.
    .. [2] J. J. M. Cuppen, A divide and conquer method for the symmetric tridiagonal eigenproblem, Numerische
       Mathematik 36 (1981) 177-195.
    .. [3] M. Gu and S. C. Eisenstat, A stable and efficient algorithm for the rank-one modification of the symmetric
       eigenproblem, SIAM J. Matrix Anal. Appl. 15 (1994) 1266-1276.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> w, v = la.eigh(a)
    >>> w
    array([1., 3.])
    >>> np.allclose(v * w @ v.T, a)
    True
    >>> b = np.diag([1.0, 4.0])
    >>> w, v = la.eigh(a, b)
    >>> np.allclose(a @ v, b @ v * w)
    True
    """
    return EighResult(*_eigen("eigh", a, b, lower, type, subset_by_index, lanes, errors, out, True))


def eigvalsh(a, b=None, *, lower=True, type=1, subset_by_index=None, lanes=None, errors="raise", out=None):
    """Compute the eigenvalues of Hermitian matrices.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices; only the lower triangle is read (the upper one if not `lower`).
    b : array_like, shape (..., N, N), optional
        Hermitian positive definite matrices of a generalized problem; the same triangle is read.
    lower : bool, optional
        Which triangle holds the matrix.
    type : {1, 2, 3}, optional
        The problem if there is a `b`; see `eigh`.
    subset_by_index : (int, int), optional
        First and last eigenvalue wanted, from 0 and both included; K = last - first + 1, else K = N.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result.

    Returns
    -------
    ndarray, shape (..., K)
        Eigenvalues, real and ascending.

    Raises
    ------
    LinAlgError
        If a matrix has NaN or infinite entries in its triangle, its iteration does not converge, or `b`
        is not positive definite; `indices` lists them.

    See Also
    --------
    eigh : with the eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([1., 3.])
    """
    return _eigen("eigvalsh", a, b, lower, type, subset_by_index, lanes, errors, out, False)[0]


def _eigen(fn, a, b, lower, kind, subset, lanes, errors, out, vectors):
    """Check the arguments of either function and run the kernel; returns (w, v)."""
    if b is None:
        a = as_matrix(fn, a, errors, lanes, True)
        batch, kind = a.shape[:-2], 0
    else:
        check_choice(fn, "type", kind, (1, 2, 3))
        a, b, batch = as_pencil(fn, a, b, errors, lanes)
    n = k = a.shape[-1]
    if subset is not None:
        subset = check_subset(fn, subset, n)
        k = subset[1] - subset[0] + 1
    if out is not None:
        inputs = (a,) if b is None else (a, b)
        values = (*batch, k), real_dtype(a.dtype)
        if vectors:
            inputs = check_outs(fn, out, [values, ((*batch, n, k), a.dtype)], inputs)
        else:
            inputs = check_out(fn, out, *values, inputs)
            out = (out, None)
        a, b = inputs[0], inputs[-1]
    w, v, codes = _kernel.eigh(a, b, batch, lower, kind, vectors, subset, out, tie(a.dtype), lanes)
    if codes is not None:
        check_codes(fn, codes, batch, errors, _FAILED_PENCIL if kind else _FAILED)
    return w, v
