"""Cholesky factor, solve and inverse: compact kernels, or a LAPACK call a slice.

Memory read by columns holds conj(A) of a Hermitian row-major A, and the lower triangle as the upper
one. With conj(A) = U^H U there, U^T = L and A = L L^H: the row-major factor comes out in place.
"""
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, load_slice, load_slice_t, store_slice, store_slice_t, operand, zero_on_diagonal, fill_nan,
    clear_triangle, all_finite, batch_size, aligned, conj, conj_all, empty,
)
from ._pool cimport new
from ._compact cimport (
    Compact, add, compact_serves, run_compact, serves_or_plans, COMPACT_CHOLESKY, COMPACT_CHOLESKY_INVERSE,
    COMPACT_TRIANGULAR, COMPACT_BLOCKED_CHOLESKY, LG_OP_cholesky, LG_OP_cholesky_inverse, LG_OP_cholesky_solve,
    LG_OP_blocked_cholesky, LG_UPPER,
)
from ._lanes cimport Plan, lane_fn, of_type, codes_pointer, plan_lanes, run_lanes, OP_CHOLESKY, OP_TRIANGULAR
from ._lapack_solve cimport potrf, potrs, potri

cnp.import_array()


cdef struct CholeskyOp:
    Slices a            # the matrix, or the factor where one is given
    Slices b            # right-hand sides
    Slices out
    bint upper


cdef inline size_t square_workspace(const Slices *a, size_t item) noexcept nogil:
    return aligned(a.m * a.m * item)


cdef int cholesky_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const CholeskyOp *op = <const CholeskyOp *>op_
    cdef Py_ssize_t n = op.a.m
    load_slice[lapack_t](&op.a, i, ws)
    cdef int info = potrf[lapack_t](b'L' if op.upper else b'U', n, ws, max(n, 1))
    if info != 0:
        load_slice[lapack_t](&op.a, i, ws)
        clear_triangle[lapack_t](not op.upper, n, ws)
        if not all_finite[lapack_t](ws, n * n):
            info = 0
        fill_nan[lapack_t](&op.out, i, ws)
        return info
    clear_triangle[lapack_t](not op.upper, n, ws)
    store_slice[lapack_t](&op.out, i, ws)
    return 0


def cholesky(ndarray a, bint upper, out, lanes, info):
    """Factor stacks of Hermitian matrices; returns (factor, codes)."""
    cdef CholeskyOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef ndarray x = empty(a, 0, 0, 0, 0, t) if out is None else out
    op.a = slices(a, 2, a, 2)
    op.out = slices(x, 2, a, 2)
    op.upper = upper
    cdef lane_fn lane = of_type(t, <lane_fn>cholesky_lane[float], <lane_fn>cholesky_lane[double],
                                <lane_fn>cholesky_lane[complex64_t], <lane_fn>cholesky_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef Compact c
    cdef Plan plan
    if serves_or_plans(&c, &plan, OP_CHOLESKY, op.a.m, nb, lanes, COMPACT_CHOLESKY, LG_OP_cholesky,
                       COMPACT_BLOCKED_CHOLESKY, LG_OP_blocked_cholesky, t, op.a.m, lane, &op):
        c.n = op.a.m
        c.flags = LG_UPPER if upper else 0
        add(&c, &op.a)
        add(&c, &op.out)
        return x, run_compact(&c, nb, square_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), lanes, codes_pointer(info))
    return x, run_lanes(lane, &op, nb, square_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), plan, codes_pointer(info))


cdef int cholesky_solve_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const CholeskyOp *op = <const CholeskyOp *>op_
    cdef Py_ssize_t n = op.a.m, k = op.b.n
    cdef lapack_t *x = <lapack_t *>(<char *>ws + square_workspace(&op.a, sizeof(lapack_t)))
    cdef bint by_rows
    cdef blas_int ld
    cdef lapack_t *c = operand[lapack_t](&op.a, i, ws, &by_rows, &ld)
    cdef int info = zero_on_diagonal[lapack_t](c, n, ld)
    if info != 0:
        fill_nan[lapack_t](&op.out, i, ws)
        return info
    load_slice_t[lapack_t](&op.b, i, x)
    if by_rows:
        conj_all[lapack_t](x, n * k)
    potrs[lapack_t](b'U' if op.upper != by_rows else b'L', n, k, c, ld, x, max(n, 1))
    if by_rows:
        conj_all[lapack_t](x, n * k)
    store_slice_t[lapack_t](&op.out, i, x)
    return 0


def cholesky_solve(ndarray c, ndarray b, tuple shape, bint upper, out, lanes):
    """Solve A x = b given the factor of A; returns (x, codes)."""
    cdef CholeskyOp op
    cdef int t = cnp.PyArray_TYPE(c)
    cdef int core = 1 if cnp.PyArray_NDIM(b) == 1 else 2
    cdef ndarray x = new(shape, t) if out is None else out
    op.a = slices(c, 2, x, core)
    op.b = slices(b, core, x, core)
    op.out = slices(x, core, x, core)
    op.upper = upper
    cdef lane_fn lane = of_type(t, <lane_fn>cholesky_solve_lane[float], <lane_fn>cholesky_solve_lane[double],
                                <lane_fn>cholesky_solve_lane[complex64_t], <lane_fn>cholesky_solve_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.out), item = cnp.PyArray_ITEMSIZE(c)
    cdef size_t ws_bytes = square_workspace(&op.a, item) + aligned(op.b.m * op.b.n * item)
    cdef Compact k
    if op.b.n > 0 and compact_serves(&k, COMPACT_TRIANGULAR, LG_OP_cholesky_solve, t, op.a.m, lane, &op):
        k.n = op.a.m
        k.k = op.b.n
        k.flags = LG_UPPER if upper else 0
        add(&k, &op.a)
        add(&k, &op.b)
        add(&k, &op.out)
        return x, run_compact(&k, nb, ws_bytes, lanes, NULL)
    return x, run_lanes(lane, &op, nb, ws_bytes, plan_lanes(OP_TRIANGULAR, op.a.m, nb, lanes), NULL)


cdef int cholesky_inverse_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const CholeskyOp *op = <const CholeskyOp *>op_
    cdef Py_ssize_t n = op.a.m, r, c
    load_slice[lapack_t](&op.a, i, ws)
    cdef int info = potri[lapack_t](b'L' if op.upper else b'U', n, ws, max(n, 1))
    if info != 0:
        fill_nan[lapack_t](&op.out, i, ws)
        return info
    for r in range(n):
        for c in range(r):
            if op.upper:
                ws[r * n + c] = conj[lapack_t](ws[c * n + r])
            else:
                ws[c * n + r] = conj[lapack_t](ws[r * n + c])
    store_slice[lapack_t](&op.out, i, ws)
    return 0


def cholesky_inverse(ndarray c, bint upper, out, lanes):
    """Invert A given its factor; returns (inverse, codes)."""
    cdef CholeskyOp op
    cdef int t = cnp.PyArray_TYPE(c)
    cdef ndarray x = empty(c, 0, 0, 0, 0, t) if out is None else out
    op.a = slices(c, 2, c, 2)
    op.out = slices(x, 2, c, 2)
    op.upper = upper
    cdef lane_fn lane = of_type(t, <lane_fn>cholesky_inverse_lane[float], <lane_fn>cholesky_inverse_lane[double],
                                <lane_fn>cholesky_inverse_lane[complex64_t],
                                <lane_fn>cholesky_inverse_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef size_t ws_bytes = square_workspace(&op.a, cnp.PyArray_ITEMSIZE(c))
    cdef Compact k
    if compact_serves(&k, COMPACT_CHOLESKY_INVERSE, LG_OP_cholesky_inverse, t, op.a.m, lane, &op):
        k.n = op.a.m
        k.flags = LG_UPPER if upper else 0
        add(&k, &op.a)
        add(&k, &op.out)
        return x, run_compact(&k, nb, ws_bytes, lanes, NULL)
    return x, run_lanes(lane, &op, nb, ws_bytes, plan_lanes(OP_CHOLESKY, op.a.m, nb, lanes), NULL)
