"""Checks of arguments: the only place that raises TypeError and ValueError about them."""
import operator

import numpy as np

from .._kernels._lanes import is_ready, lapack_limit
from ._errors import LinAlgError

_LAPACK_LIMIT = lapack_limit()
_MOST_AXES = 64         # of a NumPy array
KERNEL_DTYPES = tuple(np.dtype(c) for c in "fdFD")
_SUPPORTED = "float32, float64, complex64 and complex128 (bool and integers become float64, float16 float32)"


def kernel_dtype(dtype, fn, name):
    """The dtype of the four that an array of `dtype` is computed in."""
    if dtype.kind in "biu":
        return KERNEL_DTYPES[1]
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return KERNEL_DTYPES[dtype.itemsize == 8]
    if dtype.kind == "c" and dtype.itemsize <= 16:
        return KERNEL_DTYPES[2 + (dtype.itemsize == 16)]
    raise TypeError(f"{fn}: argument '{name}' has dtype {dtype}, which is not supported; expected {_SUPPORTED}")


def as_array(fn, a, name, dtype=None):
    """`a` as an aligned native ndarray of a kernel dtype (of `dtype` if given)."""
    if is_ready(a) and (dtype is None or a.dtype == dtype):
        return a
    if np.ma.isMaskedArray(a):
        raise TypeError(f"{fn}: argument '{name}' is a masked array, which is not supported; fill it first")
    if hasattr(a, "tocsr") or hasattr(a, "todense"):
        raise TypeError(f"{fn}: argument '{name}' is a sparse array; pass a dense one, for instance its toarray()")
    try:
        a = np.asarray(a)
    except ValueError as e:
        raise ValueError(f"{fn}: argument '{name}' cannot be made an array: {e}") from None
    if dtype is None:
        dtype = kernel_dtype(a.dtype, fn, name)
    if a.dtype != dtype or not a.dtype.isnative:
        a = a.astype(dtype)
    return a if a.flags.aligned else a.copy()


def check_policy(fn, errors, lanes):
    """Check the keywords every function has."""
    if errors != "raise" and errors != "nan":
        raise ValueError(f"{fn}: errors must be 'raise' or 'nan', got {errors!r}")
    if lanes is not None:
        check_lanes(fn, lanes)


def check_lanes(fn, n):
    """`n` as a lane count."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"{fn}: lanes must be a positive integer or None, got {n!r}")
    if not 1 <= n <= 65536:
        raise ValueError(f"{fn}: lanes must be at least 1 and at most 65536, got {n}")
    return int(n)


def check_choice(fn, name, value, choices):
    """Refuse a value that is none of `choices`."""
    try:
        known = value in choices
    except TypeError:       # not hashable
        known = False
    if not known:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{fn}: {name} must be one of {listed}, got {value!r}")


def as_matrix(fn, a, errors="raise", lanes=None, square=False, name="a"):
    """Check one stack of matrices and the common keywords; returns the kernel-ready array."""
    if errors != "raise" or lanes is not None:
        check_policy(fn, errors, lanes)
    if not is_ready(a):
        a = as_array(fn, a, name)
    shape = a.shape
    if len(shape) < 2:
        raise LinAlgError(f"{fn}: argument '{name}' must have at least two dimensions, got shape {shape}")
    if square and shape[-1] != shape[-2]:
        raise LinAlgError(f"{fn}: argument '{name}' must be a stack of square matrices, got shape {shape}")
    if shape[-1] > _LAPACK_LIMIT or shape[-2] > _LAPACK_LIMIT:
        raise _uncountable(fn, name, shape)
    return a


def _uncountable(fn, name, shape):
    return ValueError(f"{fn}: a matrix of shape {shape} as argument '{name}' has more than LAPACK's "
                      f"{_LAPACK_LIMIT} rows or columns")


def as_system(fn, a, b, errors="raise", lanes=None, square=True, names=("a", "b")):
    """Check a system and its right-hand sides.

    Returns both in their common kernel dtype and the shape of the solution. `b` is a vector only if
    it has one dimension; batch axes broadcast.
    """
    a = as_matrix(fn, a, errors, lanes, square, names[0])
    b = as_array(fn, b, names[1])
    if a.dtype != b.dtype:
        dtype = np.result_type(a.dtype, b.dtype)
        a, b = as_array(fn, a, names[0], dtype), as_array(fn, b, names[1], dtype)
    ashape, bshape = a.shape, b.shape
    if len(bshape) == 0:
        raise ValueError(f"{fn}: argument '{names[1]}' must have at least one dimension, got a scalar")
    core = 1 if len(bshape) == 1 else 2
    if bshape[-core] != ashape[-2]:
        raise ValueError(f"{fn}: argument '{names[1]}' has {bshape[-core]} rows, expected the {ashape[-2]} of "
                         f"'{names[0]}'; shapes are {ashape} and {bshape}")
    if bshape[-1] > _LAPACK_LIMIT:
        raise _uncountable(fn, names[1], bshape)
    batch = broadcast(fn, ashape[:-2], bshape[:-core], names)
    tail = (ashape[-1],) if core == 1 else (ashape[-1], bshape[-1])
    return a, b, batch + tail


def as_pencil(fn, a, b, errors="raise", lanes=None):
    """Check the two square matrices of a generalized eigenproblem.

    Returns both in their common kernel dtype and the broadcast batch shape.
    """
    a = as_matrix(fn, a, errors, lanes, True)
    b = as_matrix(fn, b, square=True, name="b")
    if a.dtype != b.dtype:
        dtype = np.result_type(a.dtype, b.dtype)
        a, b = as_array(fn, a, "a", dtype), as_array(fn, b, "b", dtype)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"{fn}: argument 'b' must be of the order of 'a'; shapes are {a.shape} and {b.shape}")
    return a, b, broadcast(fn, a.shape[:-2], b.shape[:-2], ("a", "b"))


def check_subset(fn, subset, n):
    """`subset_by_index` as a pair of ints, both ends inclusive."""
    try:
        low, high = map(operator.index, subset)
    except (TypeError, ValueError):
        raise TypeError(f"{fn}: subset_by_index must be a pair of integers, got {subset!r}") from None
    if not 0 <= low <= high < n:
        raise ValueError(f"{fn}: subset_by_index must be (low, high) with 0 <= low <= high < {n}, got {subset!r}")
    return low, high


def broadcast(fn, s, t, names):
    """The common batch shape of two operands."""
    if s == t or not t:
        return s
    # np.broadcast_shapes knows no more than 32 axes.
    n = max(len(s), len(t))
    pairs = list(zip((1,) * (n - len(s)) + s, (1,) * (n - len(t)) + t, strict=True))
    if any(x != y and x != 1 and y != 1 for x, y in pairs):
        raise ValueError(f"{fn}: batch shapes {s} of '{names[0]}' and {t} of '{names[1]}' do not broadcast")
    return tuple(y if x == 1 else x for x, y in pairs)


def check_out(fn, out, shape, dtype, inputs, name="out"):
    """Check a destination; returns the inputs, copied where the destination overlaps them askew.

    A slice is read completely before it is written, so a destination that is exactly an input is safe.
    """
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{fn}: {name} must be a NumPy array, got {type(out).__name__}")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"{fn}: {name} must have shape {shape} and dtype {dtype}, got {out.shape} and {out.dtype}")
    if not (out.flags.writeable and out.flags.aligned and out.dtype.isnative):
        raise ValueError(f"{fn}: {name} must be writeable, aligned and in native byte order")
    if out.size and 0 in out.strides and any(s == 0 and d > 1 for s, d in zip(out.strides, out.shape, strict=True)):
        raise ValueError(f"{fn}: {name} must not have overlapping elements (a stride is zero)")
    return tuple(a.copy() if np.may_share_memory(a, out) and not same_view(a, out) else a for a in inputs)


def same_view(a, b):
    """Whether two arrays are the same elements at the same places."""
    return (a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
            and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


def check_outs(fn, out, specs, inputs):
    """Check a tuple of destinations against (shape, dtype) pairs; returns the inputs as `check_out` does."""
    if not isinstance(out, (tuple, list)) or len(out) != len(specs):
        raise TypeError(f"{fn}: out must be a tuple of {len(specs)} arrays")
    for k, (o, (shape, dtype)) in enumerate(zip(out, specs, strict=True)):
        inputs = check_out(fn, o, shape, dtype, inputs, f"out[{k}]")
        for other in out[:k]:
            if np.may_share_memory(o, other):
                raise ValueError(f"{fn}: out[{k}] overlaps another destination")
    return inputs


def real_dtype(dtype):
    """The real dtype that belongs to a kernel dtype."""
    return KERNEL_DTYPES[dtype.itemsize // (2 if dtype.kind == "c" else 1) == 8]


def transposition(fn, trans):
    """0, 1 or 2 of a `trans` argument: the matrix, its transpose, its conjugate transpose."""
    if isinstance(trans, (str, int, np.integer)):
        code = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}.get(trans)
        if code is not None:
            return code
    raise ValueError(f"{fn}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")


def as_factors(fn, pair):
    """The two parts of an `lu_and_piv` argument."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"{fn}: argument 'lu_and_piv' must be a pair (lu, piv), got {type(pair).__name__}")
    return pair


def as_pivots(fn, piv, lu):
    """Row interchanges of `lu_factor` as int32; the kernel checks their range."""
    p = np.asarray(piv)
    if p.dtype.kind not in "iu":
        raise TypeError(f"{fn}: the pivots must be integers, got dtype {p.dtype}")
    if p.ndim < 1 or p.shape[-1] != lu.shape[-1]:
        raise ValueError(f"{fn}: the pivots must have {lu.shape[-1]} entries for factors of shape {lu.shape}, "
                         f"got shape {p.shape}")
    if p.ndim == _MOST_AXES:
        raise ValueError(f"{fn}: the pivots have {p.ndim - 1} batch axes; the result can have at most {_MOST_AXES - 2}")
    if p.dtype == np.int32 and p.dtype.isnative and p.flags.aligned:
        return p
    narrow = p.astype(np.int32)
    if (narrow != p).any():
        raise bad_pivots(fn)
    return narrow


def bad_pivots(fn):
    """The error for row interchanges that do not fit the matrix."""
    return ValueError(f"{fn}: the pivots must be row interchanges as lu_factor returns them: entry i between i and N-1")


def complex_dtype(dtype):
    """The complex dtype that belongs to a kernel dtype."""
    return KERNEL_DTYPES[2 + (real_dtype(dtype) == KERNEL_DTYPES[1])]
