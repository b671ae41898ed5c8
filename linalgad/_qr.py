"""QR decomposition."""
import numpy as np

from ._kernels import _qr as _kernel
from ._lib._results import PivotedQRResult, QRResult
from ._lib._validate import as_matrix, check_choice, check_out, check_outs

__all__ = ["qr"]

# NumPy's modes, and SciPy's words for two of them.
_MODES = {"reduced": "reduced", "complete": "complete", "r": "r", "raw": "raw", "economic": "reduced",
          "full": "complete"}


def qr(a, mode="reduced", *, pivoting=False, positive=False, lanes=None, errors="raise", out=None):
    """Decompose matrices as ``Q @ R``, Q with orthonormal columns and R upper triangular.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
        Matrices; K = min(M, N).
    mode : {'reduced', 'complete', 'r', 'raw', 'economic', 'full'}, optional
        'reduced' (or 'economic') gives Q (..., M, K) and R (..., K, N); 'complete' (or 'full') gives Q
        (..., M, M) and R (..., M, N); 'r' gives R (..., K, N) only; 'raw' gives LAPACK's reflectors.
    pivoting : bool, optional
        Permute the columns of `a` such that the diagonal of R does not increase in modulus.
    positive : bool, optional
        Make the diagonal of R nonnegative, which makes Q and R unique if `a` has full column rank; not
        with 'raw'.
    lanes : int, optional
        Threads over the batch; see `get_lanes` for the default.
    errors : {'raise', 'nan'}, optional
        Without effect, since no matrix can fail; NaN and infinite entries propagate.
    out : ndarray or tuple of ndarray, optional
        Where to write the result, in the order of the returns; `a` itself is allowed.

    Returns
    -------
    QRResult
        Q and R, for 'reduced' and 'complete'. With `pivoting` a PivotedQRResult with P (..., N) in
        addition, integers such that ``a[..., P[j]]`` is column j of ``Q @ R``.
    ndarray
        R, for 'r'; the pair (R, P) with `pivoting`.
    tuple
        For 'raw', h (..., N, M) and tau (..., K) as `numpy.linalg.qr` has them, then P with `pivoting`:
        the transpose of h has R in its upper triangle and the reflectors below; tau has their factors.

    See Also
    --------
    svd : reveals the rank reliably.

    Notes
    -----
    The diagonal of R is real; its signs are those of LAPACK's reflectors unless `positive`. About
    2 K^2 (max(M, N) - K/3) flops for R and as many for Q, and 8 M (N + K) bytes of workspace for each
    lane in double precision. The derivative is undefined where the first K columns (the chosen ones,
    with `pivoting`) are linearly dependent. A matrix with NaN or infinite entries gives NaN in all of Q
    and R, and no interchanges, with `pivoting`.

    References
    ----------
    .. [1] E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM, 1999, section 2.4.2.
    .. [2] G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 2013, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> import linalgad as la
    >>> a = np.arange(24.0).reshape(2, 4, 3)
    >>> q, r = la.qr(a)
    >>> q.shape, r.shape
    ((2, 4, 3), (2, 3, 3))
    >>> np.allclose(q @ r, a)
    True
    >>> q, r, p = la.qr(a[0], pivoting=True)
    >>> np.allclose(q @ r, a[0][:, p])
    True
    """
    a = as_matrix("qr", a, errors, lanes)
    if mode != "reduced":
        check_choice("qr", "mode", mode, _MODES)
        mode = _MODES[mode]
        if mode == "raw":
            check_choice("qr", "positive in mode 'raw'", bool(positive), (False,))
    places = None
    if out is not None:
        a, places = _destinations(a, mode, pivoting, out)
    q, r, tau, p = _kernel.qr(a, mode, pivoting, positive, places, lanes)
    if mode == "raw":
        h = np.swapaxes(r, -1, -2) if out is None else out[0]
        return (h, tau, p) if pivoting else (h, tau)
    if mode == "r":
        return (r, p) if pivoting else r
    return PivotedQRResult(q, r, p) if pivoting else QRResult(q, r)


def _destinations(a, mode, pivoting, out):
    """Check `out`; returns the input and the kernel's four places."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    if mode == "r" and not pivoting:
        (a,) = check_out("qr", out, (*batch, k, n), a.dtype, (a,))
        return a, (None, out, None, None)
    wide = m if mode == "complete" else k
    cores = {"r": [(k, n)], "raw": [(n, m), (k,)]}.get(mode, [(m, wide), (wide, n)])
    specs = [((*batch, *core), a.dtype) for core in cores]
    if pivoting:
        specs.append(((*batch, n), np.dtype(np.intp)))
    (a,) = check_outs("qr", out, specs, (a,))
    p = out[-1] if pivoting else None
    if mode == "raw":
        return a, (None, np.swapaxes(out[0], -1, -2), out[1], p)
    return a, ((None, out[0], None, p) if mode == "r" else (out[0], out[1], None, p))
