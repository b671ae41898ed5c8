"""The vocabulary of the derivative rules: the only array functions a rule may use.

Besides the operators ``+ - * / @`` and indexing, a rule is written in the functions below. Each one
has a rule of its own (`_dual`), so every rule can be differentiated again. Functions marked *decision*
look at the plain numbers and are constants under differentiation (masks, ranks, pivot positions).
"""
import numpy as np

from . import _stacks
from ._decide import (
    count,
    dtype,
    eye,
    is_complex,
    larger,
    magnitude,
    max_magnitude,
    nearest,
    norm_over,
    pivots,
    slice_norm,
    zeros_like,
)
from ._dual import (
    Dual,
    add,
    base,
    broadcast_to,
    divide,
    getitem,
    inner,
    level_of,
    linear,
    matmul,
    multiply,
    negative,
    outer,
    plus,
    primitive,
    subtract,
    tril_inner,
    tril_outer,
    triu_outer,
)
from ._forward import public

__all__ = [
    "Dual",
    "H",
    "T",
    "abs2",
    "add_diagonal",
    "add",
    "base",
    "broadcast_to",
    "column_scale",
    "concatenate",
    "conj",
    "count",
    "diag_embed",
    "diagonal",
    "divide",
    "dtype",
    "embed",
    "exp",
    "eye",
    "getitem",
    "herm",
    "half_lower",
    "imag",
    "inner",
    "is_complex",
    "larger",
    "level_of",
    "log",
    "magnitude",
    "matmul",
    "max_magnitude",
    "mirror",
    "multiply",
    "nearest",
    "negative",
    "off_diagonal",
    "outer",
    "pivots",
    "put_pivots",
    "put_rows",
    "real",
    "reciprocal",
    "reshape",
    "skew",
    "slice_norm",
    "solve_kept",
    "solve_triangular",
    "sqrt",
    "subtract",
    "sum",
    "sum_to",
    "take_pivots",
    "take_rows",
    "tril",
    "tril_inner",
    "tril_outer",
    "triu",
    "triu_outer",
    "twist",
    "unit_lower",
    "untwist",
    "where",
    "zeros_like",
]


# ------------------------------------------------------------------ linear functions

@linear
def T(x):
    """The transpose of each matrix."""
    return np.swapaxes(x, -1, -2)


@linear
def conj(x):
    """The complex conjugate; a real array is returned as it is."""
    return np.conj(x) if np.iscomplexobj(x) else x


def H(x):
    """The conjugate transpose of each matrix."""
    return conj(T(x))


@linear
def real(x):
    """The real part."""
    return x.real


@linear
def imag(x):
    """The imaginary part; zeros for a real array."""
    return x.imag if np.iscomplexobj(x) else np.zeros_like(x)


@linear
def tril(x, *, k=0):
    """The lower triangle from diagonal `k` down."""
    return _stacks.tril(x, k)


@linear
def triu(x, *, k=0):
    """The upper triangle from diagonal `k` up."""
    return _stacks.triu(x, k)


@primitive
def unit_lower(x):
    """The strict lower triangle and ones on the diagonal."""
    return _stacks.unit_lower(x)


@unit_lower.rule
def _unit_lower(out, primals, tangents):
    return tril(tangents[0], k=-1)


@linear
def diagonal(x):
    """The main diagonal of each matrix, (..., min(M, N))."""
    return np.diagonal(x, axis1=-2, axis2=-1)


@linear
def diag_embed(x):
    """Square diagonal matrices with the given diagonals (..., N)."""
    out = np.zeros((*x.shape, x.shape[-1]), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i, i] = x
    return out


@linear
def off_diagonal(x):
    """Square matrices with their diagonal set to zero."""
    out = np.array(x)
    i = np.arange(x.shape[-1])
    out[..., i, i] = 0
    return out


@linear
def sum(x, *, axis=None, keepdims=False):
    """The sum over `axis`."""
    return np.sum(x, axis=axis, keepdims=keepdims)


@linear
def reshape(x, *, shape):
    """The same numbers in another shape."""
    return np.reshape(x, shape)


def sum_to(x, shape):
    """Sum over what broadcasting from `shape` to x.shape repeated: the adjoint of broadcast_to."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] != 1)
    return reshape(sum(x, axis=axes), shape=shape) if axes else reshape(x, shape=shape)


@linear
def embed(x, *, shape, index):
    """Zeros of `shape` with `x` at `index`: the adjoint of x[index]."""
    out = np.zeros(shape, x.dtype)
    out[index] = x
    return out


@linear
def take_rows(x, *, rows):
    """Rows of each matrix: out[..., i, :] = x[..., rows[..., i], :], `rows` being (..., K) integers."""
    return _stacks.take_rows(x, rows)


@linear
def put_rows(x, *, rows):
    """The adjoint of `take_rows` for a permutation: out[..., rows[..., i], :] = x[..., i, :]."""
    return _stacks.put_rows(x, rows)


@primitive
def concatenate(*xs, axis):
    """Arrays joined along `axis`."""
    return np.concatenate(xs, axis=axis)


@concatenate.rule
def _concatenate(out, primals, tangents, *, axis):
    filled = (zeros_like(x) if dx is None else dx for x, dx in zip(primals, tangents, strict=True))
    return concatenate(*filled, axis=axis)


def where(mask, x, y):
    """x where the plain boolean `mask` holds, y elsewhere."""
    return _where(x, y, mask=mask)


@primitive
def _where(x, y, *, mask):
    return np.where(mask, x, y)


@_where.rule
def _where_tangent(out, primals, tangents, *, mask):
    dx, dy = (0 if t is None else t for t in tangents)
    return _where(dx, dy, mask=mask)


@linear
def herm(x):
    """The Hermitian part (x + x^H) / 2."""
    return _stacks.reflection(x, "hermitian")


@linear
def skew(x):
    """The skew-Hermitian part (x - x^H) / 2."""
    return _stacks.reflection(x, "skew")


@linear
def twist(x):
    """tril(x, -1) - tril(x, -1)^H + i Im diag x: the skew matrix whose entries below the diagonal are those of x."""
    return _stacks.reflection(x, "twist")


@linear
def untwist(x):
    """tril(x - x^H, -1) + i Im diag x: the adjoint of `twist`."""
    return _stacks.reflection(x, "untwist")


@linear
def mirror(x):
    """The Hermitian matrix with the entries of x below the diagonal."""
    return _stacks.reflection(x, "mirror")


@linear
def half_lower(x):
    """The strict lower triangle and half the real part of the diagonal: the L of L + L^H for Hermitian x."""
    return _stacks.half_lower(x)


@primitive
def add_diagonal(x, d):
    """x + diag(d) for square matrices."""
    out = np.array(x, np.result_type(x, d))
    i = np.arange(x.shape[-1])
    out[..., i, i] += d
    return out


@add_diagonal.rule
def _add_diagonal(out, primals, tangents):
    dx, dd = tangents
    return dx if dd is None else diag_embed(dd) if dx is None else add_diagonal(dx, dd)


# ------------------------------------------------------------------ elementwise functions

def _elementwise(fun, slope):
    """A vocabulary function with d fun(x) = slope(x, fun(x)) dx."""
    call = primitive(fun)

    @call.rule
    def tangent(out, primals, tangents):
        return slope(primals[0], out) * tangents[0]

    return call


sqrt = _elementwise(np.sqrt, lambda x, out: 0.5 / out)
exp = _elementwise(np.exp, lambda x, out: out)
log = _elementwise(np.log, lambda x, out: 1 / x)


def abs2(x):
    """The squared modulus, real."""
    return real(conj(x) * x)


@primitive
def _reciprocal(x, *, mask):
    return np.divide(1, x, out=np.zeros_like(x), where=mask)


@_reciprocal.rule
def _reciprocal_tangent(out, primals, tangents, *, mask):
    return -(out * out) * tangents[0]


def reciprocal(x, mask):
    """1/x where the plain boolean `mask` holds, 0 elsewhere; never a division by zero there."""
    return _reciprocal(x, mask=mask)


# ------------------------------------------------------------------ solves with factors that are kept

@primitive
def solve_triangular(a, b, *, lower, trans=0, unit_diagonal=False):
    """X of op(A) X = B for triangular A; `trans` is 0 (A), 1 (A^T) or 2 (A^H). B is a stack of matrices."""
    solve = public("solve_triangular")
    return _stacks.solve_triangular(solve, a, b, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


def _op(x, trans):
    return x if trans == 0 else T(x) if trans == 1 else H(x)


@solve_triangular.rule
def _solve_triangular(out, primals, tangents, *, lower, trans=0, unit_diagonal=False):
    da, rhs = tangents
    if da is not None:
        k = 1 if unit_diagonal else 0
        da = tril(da, k=-k) if lower else triu(da, k=k)
        rhs = plus(rhs, -matmul(_op(da, trans), out))
    return solve_triangular(primals[0], rhs, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


@primitive
def solve_kept(a, b, *, solver, trans=0):
    """X of op(A) X = B by a factorisation of A kept from the forward: ``solver(b, trans)`` on plain arrays.

    `trans` is 0 (A), 1 (A^T) or 2 (A^H). `a` itself is looked at only when it is dual.
    """
    return solver(b, trans)


@solve_kept.rule
def _solve_kept(out, primals, tangents, *, solver, trans=0):
    da, rhs = tangents
    if da is not None:
        rhs = plus(rhs, -matmul(_op(da, trans), out))
    return solve_kept(primals[0], rhs, solver=solver, trans=trans)


# ------------------------------------------------------------------ magnitudes and pivots

@primitive
def column_scale(x):
    """The 2-norm of each column, (..., 1, N), as a magnitude.

    The tangent of a magnitude is the magnitude of the tangent, not the derivative of the norm: sums and
    products of magnitudes then bound the rounding of what is computed, at every order.
    """
    return norm_over(x, "...ij,...ij->...j")[..., None, :]


@column_scale.rule
def _column_scale(out, primals, tangents):
    return column_scale(tangents[0])


@linear
def take_pivots(x, *, rows):
    """The entries x[..., rows[..., j], j], (..., N)."""
    return np.take_along_axis(x, rows[..., None, :], axis=-2)[..., 0, :]


@linear
def put_pivots(x, *, rows, m):
    """The adjoint of `take_pivots`: m-row matrices with x[..., j] at row rows[..., j] of column j."""
    out = np.zeros((*x.shape[:-1], m, x.shape[-1]), x.dtype)
    np.put_along_axis(out, rows[..., None, :], x[..., None, :], axis=-2)
    return out
