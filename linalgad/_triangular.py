"""Triangular systems."""
from ._kernels import _triangular as _kernel
from ._lib._errors import check_codes
from ._lib._validate import as_system, check_out, transposition

__all__ = ["solve_triangular"]


def solve_triangular(a, b, *, lower=False, trans=0, unit_diagonal=False, lanes=None, errors="raise", out=None):
    """Solve ``a @ x = b`` for triangular matrices.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Triangular matrices; the other triangle is not read.
    b : array_like, shape (N,) or (..., N, K)
        Right-hand sides; a vector only if it has one dimension.
    lower : bool, optional
        Whether `a` is lower triangular.
    trans : {0, 1, 2, 'N', 'T', 'C'}, optional
        Solve with `a`, its transpose, or its conjugate transpose.
    unit_diagonal : bool, optional
        Take the diagonal as ones without reading it.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a singular matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `b` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N) or (..., N, K)
        Solutions, over the broadcast batch.

    Raises
    ------
    LinAlgError
        If a matrix has a zero on its diagonal; `indices` lists them. A matrix with NaN gives NaN.

    See Also
    --------
    solve : any other structure.

    Notes
    -----
    N^2 K flops.

    References
    ----------
    .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> la.solve_triangular(a, np.array([2.0, 9.0]), lower=True)
    array([1., 2.])
    """
    fn = "solve_triangular"
    a, b, shape = as_system(fn, a, b, errors, lanes)
    if out is not None:
        a, b = check_out(fn, out, shape, a.dtype, (a, b))
    x, codes = _kernel.solve_triangular(a, b, shape, lower, transposition(fn, trans), unit_diagonal, out, lanes, None)
    if codes is not None:
        check_codes(fn, codes, shape[:-1 if b.ndim == 1 else -2], errors, "is singular")
    return x
