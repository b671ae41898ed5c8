"""Inverses, a LAPACK call a slice. The inverse of the transpose LAPACK sees is the transposed inverse."""
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport Slices, slices, load_slice, store_slice, fill_nan, all_finite, batch_size, aligned, empty
from ._compact cimport (
    Compact, add, run_compact, serves_or_plans, COMPACT_LU, COMPACT_BLOCKED_LU, LG_OP_inv, LG_OP_blocked_inv,
)
from ._lanes cimport Plan, lane_fn, of_type, codes_pointer, run_lanes, OP_INV
from ._lapack_solve cimport getrf, getri

cnp.import_array()


cdef struct InvOp:
    Slices a, out


cdef inline size_t inv_workspace(const Slices *a, size_t item) noexcept nogil:
    """Bytes of one lane: a | pivots | work of 64 columns, LAPACK's block size."""
    cdef size_t n = a.m
    return aligned(n * n * item) + aligned(n * sizeof(blas_int)) + aligned(n * 64 * item)


cdef int inv_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const InvOp *op = <const InvOp *>op_
    cdef Py_ssize_t n = op.a.m
    cdef blas_int *ipiv = <blas_int *>(<char *>ws + aligned(n * n * sizeof(lapack_t)))
    cdef lapack_t *work = <lapack_t *>(<char *>ipiv + aligned(n * sizeof(blas_int)))
    if n == 0:
        return 0
    load_slice[lapack_t](&op.a, i, ws)
    cdef int info = getrf[lapack_t](n, n, ws, n, ipiv)
    if info == 0:
        info = getri[lapack_t](n, ws, n, ipiv, work, n * 64)
    if info != 0:
        load_slice[lapack_t](&op.a, i, ws)
        if not all_finite[lapack_t](ws, n * n):
            info = 0
        fill_nan[lapack_t](&op.out, i, ws)
        return info
    store_slice[lapack_t](&op.out, i, ws)
    return 0


def inv(ndarray a, out, lanes, info):
    """Invert matrices; returns (inverse, codes)."""
    cdef InvOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef ndarray x = empty(a, 0, 0, 0, 0, t) if out is None else out
    op.a = slices(a, 2, a, 2)
    op.out = slices(x, 2, a, 2)
    cdef lane_fn lane = of_type(t, <lane_fn>inv_lane[float], <lane_fn>inv_lane[double],
                                <lane_fn>inv_lane[complex64_t], <lane_fn>inv_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef Compact c
    cdef Plan plan
    if serves_or_plans(&c, &plan, OP_INV, op.a.m, nb, lanes, COMPACT_LU, LG_OP_inv,
                       COMPACT_BLOCKED_LU, LG_OP_blocked_inv, t, op.a.m, lane, &op):
        c.n = op.a.m
        add(&c, &op.a)
        add(&c, &op.out)
        return x, run_compact(&c, nb, inv_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), lanes, codes_pointer(info))
    return x, run_lanes(lane, &op, nb, inv_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), plan, codes_pointer(info))
