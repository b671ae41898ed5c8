"""Linear systems."""
import numpy as np

from ._kernels import _solve as _kernel
from ._kernels import _triangular as _triangular_kernel
from ._lib._errors import check_codes
from ._lib._results import SolveExResult
from ._lib._validate import as_system, check_choice, check_out

__all__ = ["solve", "solve_ex"]

# Structure codes of _kernels/_solve.pyx; triangles go to the triangular kernel. SciPy's words are known too.
_GENERAL, _POSITIVE, _SYMMETRIC, _HERMITIAN, _DIAGONAL, _TRIDIAGONAL, _UPPER, _LOWER = range(8)
_STRUCTURES = {
    None: _GENERAL, "gen": _GENERAL, "general": _GENERAL,
    "pos": _POSITIVE, "positive definite": _POSITIVE,
    "sym": _SYMMETRIC, "symmetric": _SYMMETRIC,
    "her": _HERMITIAN, "hermitian": _HERMITIAN,
    "diag": _DIAGONAL, "diagonal": _DIAGONAL,
    "tridiagonal": _TRIDIAGONAL,
    "upper triangular": _UPPER, "upper": _UPPER,
    "lower triangular": _LOWER, "lower": _LOWER,
}  # fmt: skip


def solve(a, b, *, assume_a=None, lower=False, lanes=None, errors="raise", out=None):
    """Solve ``a @ x = b``.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    b : array_like, shape (N,) or (..., N, K)
        Right-hand sides; a vector only if it has one dimension.
    assume_a : str, optional
        Structure of `a`, which is not checked: 'gen' (the default), 'pos' (Hermitian positive
        definite), 'sym' (symmetric, also complex), 'her', 'diag', 'tridiagonal', 'upper triangular',
        'lower triangular', or SciPy's long names of these. Entries outside the structure are not read.
    lower : bool, optional
        Which triangle of a 'pos', 'sym' or 'her' matrix is read.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Whether a failing matrix raises, or fills its slice of the result with NaN.
    out : ndarray, optional
        Where to write the result; `b` itself is allowed.

    Returns
    -------
    ndarray, shape (..., N) or (..., N, K)
        Solutions, over the broadcast batch.

    Raises
    ------
    LinAlgError
        If a matrix is exactly singular, or not positive definite under 'pos'; `indices` lists them. A
        matrix with NaN gives NaN.

    See Also
    --------
    solve_ex : never raises for a failing matrix; lu_factor, cholesky : to solve many times.

    Notes
    -----
    Partial pivoting (2 N^3 / 3 flops), Cholesky (N^3 / 3), or Bunch-Kaufman (N^3 / 3) and 2 N^2 K for
    the right-hand sides; 8 (N^2 + N K) bytes of workspace for each lane in double precision.

    References
    ----------
    .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002,
       chapters 9 to 11.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> la.solve(a, np.array([9.0, 8.0]))
    array([2., 3.])
    >>> la.solve(np.stack([a, 2 * a]), np.array([9.0, 8.0]), assume_a="pos")
    array([[2. , 3. ],
           [1. , 1.5]])
    """
    x, codes, core = _solve("solve", a, b, assume_a, lower, lanes, errors, out, None)
    if codes is not None:
        reason = "is not positive definite" if _STRUCTURES[assume_a] == _POSITIVE else "is singular"
        check_codes("solve", codes, x.shape[:-core], errors, reason)
    return x


def solve_ex(a, b, *, assume_a=None, lower=False, lanes=None, out=None):
    """Solve ``a @ x = b`` and report, rather than raise, where that fails.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        Matrices.
    b : array_like, shape (N,) or (..., N, K)
        Right-hand sides; a vector only if it has one dimension.
    assume_a : str, optional
        Structure of `a`, as for `solve`.
    lower : bool, optional
        Which triangle of a 'pos', 'sym' or 'her' matrix is read.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    out : ndarray, optional
        Where to write the solutions.

    Returns
    -------
    SolveExResult
        The solutions x, and `info` (...) of int32: 0, or the position from 1 of the zero pivot (under
        'pos' of the leading minor that is not positive). The slice of a failing matrix is NaN.

    See Also
    --------
    solve : raises for a failing matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> la.solve_ex(np.ones((2, 2)), np.ones(2))
    SolveExResult(x=array([nan, nan]), info=np.int32(2))
    """
    info = []
    x, _, _ = _solve("solve_ex", a, b, assume_a, lower, lanes, "raise", out, info)
    return SolveExResult(x, info[0][()])


def _solve(fn, a, b, assume_a, lower, lanes, errors, out, keep):
    """Solution, codes and core dimensions of b; the status codes go to the list `keep` if there is one."""
    if assume_a is not None:
        check_choice(fn, "assume_a", assume_a, _STRUCTURES)
    structure = _STRUCTURES[assume_a]
    a, b, shape = as_system(fn, a, b, errors, lanes)
    core = 1 if b.ndim == 1 else 2
    if out is not None:
        a, b = check_out(fn, out, shape, a.dtype, (a, b))
    info = None
    if keep is not None:
        info = np.empty(shape[:-core], np.int32)
        keep.append(info)
    if structure >= _UPPER:
        x, codes = _triangular_kernel.solve_triangular(a, b, shape, structure == _LOWER, 0, False, out, lanes, info)
    else:
        x, codes = _kernel.solve(a, b, shape, structure, lower, out, lanes, info)
    return x, codes, core
