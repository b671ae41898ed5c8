"""Eigenvalues and eigenvectors of general square matrices."""
from ._kernels import _eig as _kernel
from ._lib._errors import check_codes
from ._lib._gauge import tie
from ._lib._results import EigResult, LeftEigResult
from ._lib._validate import as_matrix, check_out, check_outs, complex_dtype

__all__ = ["eig", "eigvals"]

_FAILED = "has eigenvalues that did not converge"


def eig(a, *, left=False, lanes=None, errors="raise", out=None):
    """Compute eigenvalues and eigenvectors of square matrices, ``a @ v = v @ diag(w)``.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    left : bool, optional
        Whether to compute the left eigenvectors too, ``u^H @ a = diag(w) @ u^H``.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : tuple of ndarray, optional
        Where to write (eigenvalues, eigenvectors), and the left eigenvectors with `left`.

    Returns
    -------
    EigResult
        Eigenvalues (..., N) in no order but with conjugate pairs side by side, and eigenvectors
        (..., N, N), columns of unit 2-norm. Both are complex whatever the values, so that a batch has one
        dtype. With `left` a LeftEigResult with the left eigenvectors (..., N, N) in addition.

    Raises
    ------
    LinAlgError
        If a matrix has NaN or infinite entries or its iteration does not converge; `indices` lists them.

    See Also
    --------
    eigvals : eigenvalues only.
    eigh : of Hermitian matrices.

    Notes
    -----
    The entry of largest modulus of each vector is real and positive (the first such entry up to
    rounding). LAPACK's geev, with balancing. About 25 N^3 flops and 8 (4 N^2 + 300 N) bytes of workspace
    for each lane in double precision. A defective matrix has parallel eigenvectors, up to rounding. The
    derivative of eigenvalues and vectors is undefined at repeated eigenvalues, and grows with the
    condition of the eigenvector matrix.

    References
    ----------
    .. [1] E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM, 1999, section 2.4.5.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> w, v = la.eig(a)
    >>> w
    array([0.+1.j, 0.-1.j])
    >>> np.allclose(a @ v, v * w)
    True
    """
    a = as_matrix("eig", a, errors, lanes, True)
    if out is not None:
        z = complex_dtype(a.dtype)
        specs = [(a.shape[:-1], z)] + (2 if left else 1) * [(a.shape, z)]
        (a,) = check_outs("eig", out, specs, (a,))
        out = (*out, None)[:3]
    w, right, left_vectors, codes = _kernel.eig(a, True, left, out, tie(a.dtype), lanes)
    if codes is not None:
        check_codes("eig", codes, a.shape[:-2], errors, _FAILED)
    return LeftEigResult(w, right, left_vectors) if left else EigResult(w, right)


def eigvals(a, *, lanes=None, errors="raise", out=None):
    """Compute the eigenvalues of square matrices.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result.

    Returns
    -------
    ndarray, shape (..., N)
        Eigenvalues, complex whatever the values, in no order but with conjugate pairs side by side.

    Raises
    ------
    LinAlgError
        If a matrix has NaN or infinite entries or its iteration does not converge; `indices` lists them.

    See Also
    --------
    eig : with the eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.eigvals(np.diag([1.0, 2.0]))
    array([1.+0.j, 2.+0.j])
    """
    a = as_matrix("eigvals", a, errors, lanes, True)
    if out is not None:
        (a,) = check_out("eigvals", out, a.shape[:-1], complex_dtype(a.dtype), (a,))
        out = (out, None, None)
    w, _, _, codes = _kernel.eig(a, False, False, out, 0.0, lanes)
    if codes is not None:
        check_codes("eigvals", codes, a.shape[:-2], errors, _FAILED)
    return w
