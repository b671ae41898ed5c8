"""The heavy functions of the vocabulary on plain arrays, by the kernels of `_kernels/_stacks` and `_matmul`.

They serve aligned native arrays of the four kernel dtypes; NumPy does the same on any others.
"""
import numpy as np

from .._kernels import _det, _matmul, _stacks
from .._kernels._lanes import is_ready


def matmul(x, y, conj_x=False, conj_y=False, triangle=0, k=0, upper=False):
    """x @ y, either factor conjugated first; its lower (-1) or upper (1) triangle from diagonal k.

    With `upper` x is upper triangular, with zeros below, most of which are not multiplied.
    """
    if not (is_ready(x) and is_ready(y) and x.dtype == y.dtype and x.ndim > 1 and y.ndim > 1
            and x.shape[-1] == y.shape[-2]):
        out = np.matmul(np.conj(x) if conj_x else x, np.conj(y) if conj_y else y)
        return out if not triangle else np.tril(out, k) if triangle < 0 else np.triu(out, k)
    batch = x.shape[:-2]
    if y.shape[:-2] != batch:
        batch = np.broadcast_shapes(batch, y.shape[:-2])
    return _matmul.matmul(x, y, (*batch, x.shape[-2], y.shape[-1]), conj_x, conj_y, triangle, k, upper, None)


def _by_columns(x):
    """Whether the matrices of a stack are the transposes of matrices by rows."""
    return abs(x.strides[-2]) < abs(x.strides[-1])


def _transposed(x):
    return np.swapaxes(x, -1, -2)


def tril(x, k=0):
    """The lower triangle from diagonal k down, in the memory order of x."""
    if not is_ready(x):
        return np.tril(x, k)
    if _by_columns(x):
        return _transposed(_stacks.triu(_transposed(x), -k, None))
    return _stacks.tril(x, k, "kept", None)


def triu(x, k=0):
    """The upper triangle from diagonal k up, in the memory order of x."""
    if not is_ready(x):
        return np.triu(x, k)
    if _by_columns(x):
        return _transposed(_stacks.tril(_transposed(x), -k, "kept", None))
    return _stacks.triu(x, k, None)


def half_lower(x):
    """The strict lower triangle and half the real part of the diagonal."""
    if is_ready(x):
        return _stacks.tril(x, 0, "halved", None)
    return _with_diagonal(np.tril(x, -1), np.diagonal(x, axis1=-2, axis2=-1).real * 0.5)


def unit_lower(x):
    """The strict lower triangle and ones on the diagonal."""
    return _stacks.tril(x, 0, "ones", None) if is_ready(x) else _with_diagonal(np.tril(x, -1), 1)


def _with_diagonal(x, d):
    i = np.arange(min(x.shape[-2:]))
    x[..., i, i] = d
    return x


def reflection(x, kind):
    """What x and x^H make: 'hermitian', 'skew', 'twist', 'untwist' or 'mirror'; see `_kernels/_stacks`."""
    if is_ready(x):
        return _stacks.reflection(x, kind, None)
    below, above = np.tril(x, -1), np.conj(_transposed(np.triu(x, 1)))
    d = np.diagonal(x, axis1=-2, axis2=-1)
    if kind in ("hermitian", "mirror"):
        low, d, sign = below if kind == "mirror" else 0.5 * (below + above), (d + np.conj(d)) * 0.5, 1
    else:
        low, d = {"skew": 0.5 * (below - above), "twist": below, "untwist": below - above}[kind], (d - np.conj(d)) * 0.5
        sign = 0 if kind == "untwist" else -1
    return _with_diagonal(low + sign * np.conj(_transposed(low)), d)


def adjoint(x, factors):
    """diag(factors) x^H of square matrices."""
    factors = factors.astype(x.dtype, copy=False)
    if is_ready(x) and is_ready(factors):
        return _stacks.adjoint(x, factors, None)
    return np.conj(_transposed(x)) * factors[..., None]


#: Order up to which a solution by columns is made without a transposition.
_EITHER_ORDER = 28


def solve_triangular(solve, a, b, **kw):
    """`solve` with the result in the memory order of b where that costs nothing."""
    out = None
    if (b.shape[-2] <= _EITHER_ORDER and is_ready(a) and is_ready(b) and a.dtype == b.dtype
            and a.shape[:-2] == b.shape[:-2] and _by_columns(b)):
        out = _transposed(np.empty((*b.shape[:-2], b.shape[-1], b.shape[-2]), b.dtype))
    return solve(a, b, out=out, **kw)


def serves_real(x):
    """Whether `largest` and `largest_of_columns` take x."""
    return is_ready(x) and x.dtype.kind == "f" and x.ndim > 1


def largest(x):
    """The largest modulus of each real matrix, (..., 1, 1)."""
    return _stacks.largest(x, None)[..., None, None]


def largest_of_columns(x):
    """The largest modulus in each column of each real matrix, (..., 1, N)."""
    return _stacks.largest_of_columns(x, None)[..., None, :]


def _check_rows(rows, m):
    """The kernels do not look: positions may come from a caller of the rules by name."""
    if rows.size and not 0 <= rows.min() <= rows.max() < m:
        raise IndexError(f"rows must be between 0 and {m - 1}, got {rows.min()} to {rows.max()}")


def take_rows(x, rows):
    """out[..., i, :] = x[..., rows[..., i], :]; `rows` may have a smaller batch."""
    _check_rows(rows, x.shape[-2])
    rows = np.broadcast_to(rows.astype(np.intp, copy=False), (*x.shape[:-2], rows.shape[-1]))
    return _stacks.take_rows(x, rows, None) if is_ready(x) else np.take_along_axis(x, rows[..., None], axis=-2)


def put_rows(x, rows):
    """out[..., rows[..., i], :] = x[..., i, :] for permutations; `rows` may have a smaller batch."""
    _check_rows(rows, x.shape[-2])
    rows = np.broadcast_to(rows.astype(np.intp, copy=False), x.shape[:-1])
    if is_ready(x):
        return _stacks.put_rows(x, rows, None)
    out = np.empty_like(x)
    np.put_along_axis(out, rows[..., None], x, axis=-2)
    return out


def row_order(piv, m):
    """Rows with a[rows] = L U, for the row interchanges of `lu_factor`."""
    _check_rows(piv, m)
    return _stacks.row_order(np.ascontiguousarray(piv, np.int32), m, None)


# Stacks that a public function has returned or taken are ready for the kernels.

def row_exponents(x, zero):
    """The binary exponent of the largest part in each row, (..., M); `zero` for rows of zeros, 1 if not finite."""
    return _stacks.row_exponents(x, zero, None)


def norms(x):
    """The Frobenius norm of each matrix, in double precision."""
    return _stacks.norms(x, None)


def pivot_product(lu, piv):
    """Determinants as (mantissa, binary exponent) from LU factors."""
    return _det.from_factors(lu, np.ascontiguousarray(piv, np.int32), False, None)


def log_product(lu, piv):
    """Determinants as (sign, logarithm of the modulus) from LU factors."""
    sign, log = _det.from_factors(lu, np.ascontiguousarray(piv, np.int32), True, None)
    return sign[()], log[()]
