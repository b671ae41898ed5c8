"""Linear systems by the structure of the matrix, a LAPACK call a slice.

A row-major matrix is its transpose to LAPACK: a general system is solved with the transposed factors,
a symmetric one is itself, and a Hermitian one is its conjugate, solved for conjugated right-hand sides.
"""
from libc.math cimport fabs
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, load_slice, load_slice_t, store_slice, store_slice_t, fill_nan, all_finite, batch_size, aligned,
    conj_all,
)
from ._pool cimport new
from ._compact cimport (
    Compact, add, run_compact, serves_or_plans, COMPACT_LU, COMPACT_BLOCKED_LU, LG_OP_solve, LG_OP_blocked_solve,
)
from ._lanes cimport Plan, lane_fn, of_type, codes_pointer, plan_lanes, run_lanes, OP_CHOLESKY, OP_SOLVE, OP_TRIANGULAR
from ._by_rows cimport MANY, lu_solve_rows
from ._lapack_solve cimport potrf, potrs, getrf, getrs, sytrf, sytrs, hetrf, hetrs, gtsv

cnp.import_array()

# The structures `solve` knows, in the order of linalgad._solve.
cdef enum Structure:
    GENERAL, POSITIVE, SYMMETRIC, HERMITIAN, DIAGONAL, TRIDIAGONAL


cdef struct SolveOp:
    Slices a, b, out
    Structure structure
    bint lower


cdef inline Py_ssize_t solve_lwork(const SolveOp *op) noexcept nogil:
    """Elements of `work`: 64 columns, LAPACK's block size, or the three diagonals."""
    cdef Py_ssize_t n = op.a.m
    if op.structure == TRIDIAGONAL:
        return 3 * n
    if op.structure == SYMMETRIC or op.structure == HERMITIAN:
        return max(n * min(n, 64), 1)
    return 1


cdef inline size_t solve_workspace(const SolveOp *op, size_t item) noexcept nogil:
    """Bytes of one lane: a | b | pivots | work."""
    cdef size_t n = op.a.m
    return (aligned(n * n * item) + aligned(n * op.b.n * item) + aligned(n * sizeof(blas_int))
            + aligned(solve_lwork(op) * item))


cdef inline bint read_part_is_finite(const SolveOp *op, Py_ssize_t i, lapack_t *a) noexcept nogil:
    """Whether the entries of slice i that the structure reads are finite; leaves the others of `a` zero."""
    cdef Py_ssize_t n = op.a.m, r, c
    load_slice[lapack_t](&op.a, i, a)
    for r in range(n):
        for c in range(n):
            if (op.structure == DIAGONAL and r != c or op.structure == TRIDIAGONAL and not -1 <= r - c <= 1
                    or POSITIVE <= op.structure <= HERMITIAN and (c > r if op.lower else c < r)):
                a[r * n + c] = 0
    return all_finite[lapack_t](a, n * n)


cdef inline lapack_t quotient(lapack_t x, lapack_t d) noexcept nogil:
    """x / d; complex numbers by Smith's formula, because squares of the parts of d may leave the range."""
    cdef lapack_t q
    if lapack_t is float or lapack_t is double:
        return x / d
    else:
        q = d
        if fabs(d.real) >= fabs(d.imag):
            q.real = d.imag / d.real
            q.imag = d.real + d.imag * q.real
            d.real = (x.real + x.imag * q.real) / q.imag
            d.imag = (x.imag - x.real * q.real) / q.imag
        else:
            q.real = d.real / d.imag
            q.imag = d.real * q.real + d.imag
            d.real = (x.real * q.real + x.imag) / q.imag
            d.imag = (x.imag * q.real - x.real) / q.imag
        return d


cdef inline int solve_diagonal(lapack_t *a, Py_ssize_t n, lapack_t *x, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t r, c
    for r in range(n):
        if a[r * n + r] == 0:
            return r + 1
    for c in range(k):
        for r in range(n):
            x[c * n + r] = quotient[lapack_t](x[c * n + r], a[r * n + r])
    return 0


cdef inline int solve_tridiagonal(lapack_t *a, Py_ssize_t n, lapack_t *x, Py_ssize_t k, lapack_t *work) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        work[n + r] = a[r * n + r]
        if r + 1 < n:
            work[r] = a[(r + 1) * n + r]
            work[2 * n + r] = a[r * n + r + 1]
    return gtsv[lapack_t](n, k, work, work + n, work + 2 * n, x, n)


cdef inline int failed_slice(const SolveOp *op, Py_ssize_t i, lapack_t *ws, int info) noexcept nogil:
    """NaN for a slice that cannot be solved; its code, which is 0 if the matrix has NaN."""
    if not read_part_is_finite[lapack_t](op, i, ws):
        info = 0
    fill_nan[lapack_t](&op.out, i, ws)
    return info


cdef int solve_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const SolveOp *op = <const SolveOp *>op_
    cdef Py_ssize_t n = op.a.m, k = op.b.n
    cdef size_t item = sizeof(lapack_t)
    cdef lapack_t *x = <lapack_t *>(<char *>ws + aligned(n * n * item))
    cdef blas_int *ipiv = <blas_int *>(<char *>x + aligned(n * k * item))
    cdef lapack_t *work = <lapack_t *>(<char *>ipiv + aligned(n * sizeof(blas_int)))
    cdef char uplo = b'U' if op.lower else b'L'
    cdef int info
    if n == 0:
        return 0
    load_slice[lapack_t](&op.a, i, ws)
    # Symmetric elimination may divide infinities away. Only the read part counts; the rest is zero afterwards.
    if (POSITIVE <= op.structure <= HERMITIAN and not all_finite[lapack_t](ws, n * n)
            and not read_part_is_finite[lapack_t](op, i, ws)):
        fill_nan[lapack_t](&op.out, i, ws)
        return 0
    if op.structure == GENERAL and k >= MANY:
        info = getrf[lapack_t](n, n, ws, n, ipiv)
        if info == 0:
            load_slice[lapack_t](&op.b, i, x)
            lu_solve_rows[lapack_t](b'T', n, k, ws, n, ipiv, x)
            store_slice[lapack_t](&op.out, i, x)
            return 0
        return failed_slice[lapack_t](op, i, ws, info)
    load_slice_t[lapack_t](&op.b, i, x)
    if op.structure == POSITIVE or op.structure == HERMITIAN:
        conj_all[lapack_t](x, n * k)
    if op.structure == GENERAL:
        info = getrf[lapack_t](n, n, ws, n, ipiv)
        if info == 0:
            getrs[lapack_t](b'T', n, k, ws, n, ipiv, x, n)
    elif op.structure == POSITIVE:
        info = potrf[lapack_t](uplo, n, ws, n)
        if info == 0:
            potrs[lapack_t](uplo, n, k, ws, n, x, n)
    elif op.structure == SYMMETRIC:
        info = sytrf[lapack_t](uplo, n, ws, n, ipiv, work, solve_lwork(op))
        if info == 0:
            sytrs[lapack_t](uplo, n, k, ws, n, ipiv, x, n)
    elif op.structure == HERMITIAN:
        info = hetrf[lapack_t](uplo, n, ws, n, ipiv, work, solve_lwork(op))
        if info == 0:
            hetrs[lapack_t](uplo, n, k, ws, n, ipiv, x, n)
    elif op.structure == DIAGONAL:
        info = solve_diagonal[lapack_t](ws, n, x, k)
    else:
        info = solve_tridiagonal[lapack_t](ws, n, x, k, work)
    if info != 0:
        return failed_slice[lapack_t](op, i, ws, info)
    if op.structure == POSITIVE or op.structure == HERMITIAN:
        conj_all[lapack_t](x, n * k)
    store_slice_t[lapack_t](&op.out, i, x)
    return 0


def solve(ndarray a, ndarray b, tuple shape, int structure, bint lower, out, lanes, info):
    """Solve systems; returns (x, codes)."""
    cdef SolveOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef int core = 1 if cnp.PyArray_NDIM(b) == 1 else 2
    cdef ndarray x = new(shape, t) if out is None else out
    op.a = slices(a, 2, x, core)
    op.b = slices(b, core, x, core)
    op.out = slices(x, core, x, core)
    op.structure = <Structure>structure
    op.lower = lower
    cdef lane_fn lane = of_type(t, <lane_fn>solve_lane[float], <lane_fn>solve_lane[double],
                                <lane_fn>solve_lane[complex64_t], <lane_fn>solve_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.out)
    cdef Compact c
    cdef int row = (OP_CHOLESKY if op.structure == POSITIVE else
                    OP_TRIANGULAR if op.structure >= DIAGONAL else OP_SOLVE)
    cdef Plan plan
    if op.structure != GENERAL or op.b.n == 0:
        plan = plan_lanes(row, op.a.m, nb, lanes)
    elif serves_or_plans(&c, &plan, row, op.a.m, nb, lanes, COMPACT_LU, LG_OP_solve,
                         COMPACT_BLOCKED_LU, LG_OP_blocked_solve, t, op.a.m, lane, &op):
        c.n = op.a.m
        c.k = op.b.n
        add(&c, &op.a)
        add(&c, &op.b)
        add(&c, &op.out)
        return x, run_compact(&c, nb, solve_workspace(&op, cnp.PyArray_ITEMSIZE(a)), lanes, codes_pointer(info))
    return x, run_lanes(lane, &op, nb, solve_workspace(&op, cnp.PyArray_ITEMSIZE(a)), plan, codes_pointer(info))
