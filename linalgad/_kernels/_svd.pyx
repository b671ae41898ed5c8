"""SVD, a LAPACK call a slice.

Memory read by columns holds A^T = conj(V) S U^T, so gesdd of it returns, by columns, first the memory
of a row-major Vh and then that of a row-major U: nothing is transposed.
"""
cimport numpy as cnp
from numpy cimport ndarray
from libc.math cimport sqrt

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, load_slice, store_slice, fill_nan, identity, all_finite, batch_size, aligned, empty, real_of,
)
from ._compact cimport (
    Compact, add, compact_serves, run_compact, COMPACT_SVD, COMPACT_SVDVALS, LG_OP_svd, LG_COMPLETE, LG_VALUES,
)
from ._gauge cimport fix_columns, fix_phase
from ._lanes cimport lane_fn, of_type, mean_order, plan_lanes, run_lanes, OP_SVD, OP_SVDVALS
from ._lapack_factor cimport gesdd, gesvd
from ._query cimport cached_lwork, check_elements, whole

cnp.import_array()

cdef enum:
    NONFINITE = 1 << 30


cdef struct SvdOp:
    Slices a, u, s, vh
    char job            # A: full, S: thin, N: values
    bint skip_gesdd     # go to gesvd at once; the tests of the fallback ask for it
    blas_int lwork
    double tie          # see _lib._tols.gauge_tie
    size_t u_bytes, vh_bytes, s_bytes, rwork_bytes, iwork_bytes, work_bytes, a_bytes


cdef size_t svd_workspace(SvdOp *op, Py_ssize_t m, Py_ssize_t n, Py_ssize_t ku, Py_ssize_t kv, size_t item,
                          size_t ritem) noexcept nogil:
    """Bytes of one lane: a | u | vh | s | work | rwork | iwork, all of them live together."""
    cdef size_t k = min(m, n), big = max(m, n)
    op.a_bytes = aligned(m * n * item)
    op.u_bytes = aligned(m * ku * item)
    op.vh_bytes = aligned(kv * n * item)
    op.s_bytes = aligned(k * ritem)
    # After the LAPACK call `work` serves the phase search, 16 bytes a column of u.
    op.work_bytes = aligned(max(op.lwork * item, 16 * ku))
    op.rwork_bytes = 0
    if item != ritem:
        op.rwork_bytes = aligned((7 * k if op.job == b'N' else max(5 * k * k + 5 * k,
                                                                   2 * big * k + 2 * k * k + k)) * ritem)
    op.iwork_bytes = aligned(8 * k * sizeof(blas_int))
    return (op.a_bytes + op.u_bytes + op.vh_bytes + op.s_bytes + op.work_bytes + op.rwork_bytes
            + op.iwork_bytes)


cdef int svd_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const SvdOp *op = <const SvdOp *>op_
    cdef Py_ssize_t m = op.a.m, n = op.a.n, k = min(m, n), j
    cdef Py_ssize_t ku = m if op.job == b'A' else k, kv = n if op.job == b'A' else k
    cdef char *p = <char *>ws
    cdef lapack_t *u = <lapack_t *>(p + op.a_bytes)
    cdef lapack_t *vh = <lapack_t *>(p + op.a_bytes + op.u_bytes)
    p += op.a_bytes + op.u_bytes + op.vh_bytes
    cdef void *s = p
    cdef lapack_t *work = <lapack_t *>(p + op.s_bytes)
    cdef void *rwork = p + op.s_bytes + op.work_bytes
    cdef blas_int *iwork = <blas_int *>(p + op.s_bytes + op.work_bytes + op.rwork_bytes)
    cdef int info = NONFINITE
    load_slice[lapack_t](&op.a, i, ws)
    if k == 0:
        if op.job != b'N':
            identity[lapack_t](m, ku, u)
            identity[lapack_t](kv, n, vh)
            store_slice[lapack_t](&op.u, i, u)
            store_slice[lapack_t](&op.vh, i, vh)
        return 0
    # gesdd loops for ever on some infinities and swallows some NaNs, so it never sees one.
    if all_finite[lapack_t](ws, m * n):
        info = 1
        if not op.skip_gesdd:
            info = gesdd[lapack_t](op.job, n, m, ws, n, s, vh, n, u, ku, work, op.lwork, rwork, iwork)
            if info != 0:
                load_slice[lapack_t](&op.a, i, ws)
        if info != 0:
            info = gesvd[lapack_t](op.job, op.job, n, m, ws, n, s, vh, n, u, ku, work, op.lwork, rwork)
    if info != 0:
        if lapack_t is float or lapack_t is complex64_t:
            fill_nan[float](&op.s, i, <float *>s)
        else:
            fill_nan[double](&op.s, i, <double *>s)
        if op.job != b'N':
            fill_nan[lapack_t](&op.u, i, u)
            fill_nan[lapack_t](&op.vh, i, vh)
        return info
    if lapack_t is float or lapack_t is complex64_t:
        store_slice[float](&op.s, i, <float *>s)
    else:
        store_slice[double](&op.s, i, <double *>s)
    if op.job != b'N':
        fix_columns[lapack_t](u, m, ku, vh, k, n, <double *>work, <Py_ssize_t *>work + ku, op.tie)
        for j in range(k, kv):
            fix_phase[lapack_t](vh + j * n, 1, n, op.tie)
        store_slice[lapack_t](&op.u, i, u)
        store_slice[lapack_t](&op.vh, i, vh)
    return 0


cdef Py_ssize_t svd_query(lapack_t *tag, char job, Py_ssize_t m, Py_ssize_t n) noexcept nogil:
    """Length of `work` that suits gesdd and gesvd of the transposed slice."""
    cdef lapack_t one = 0
    cdef lapack_t two = 0
    cdef blas_int ku = m if job == b'A' else min(m, n)
    gesdd[lapack_t](job, n, m, tag, max(n, 1), tag, tag, max(n, 1), tag, max(ku, 1), &one, -1, tag, NULL)
    gesvd[lapack_t](job, job, n, m, tag, max(n, 1), tag, tag, max(n, 1), tag, max(ku, 1), &two, -1, tag)
    return max(whole[lapack_t](one), whole[lapack_t](two))


cdef Py_ssize_t lwork_of(int t, char job, Py_ssize_t m, Py_ssize_t n) except -1:
    cdef double tag[2]
    cdef double k
    key = (t, job, m, n)
    found = cached_lwork(_lwork, key)
    if found is None and min(m, n) == 0:
        found = 1
    elif found is None:
        # What the query itself would overflow on: 4 k^2 + 7 k of the real gesdd, half of it if complex.
        k = min(m, n)
        check_elements("svd", 100.0 * (m + n) + (0 if job == b'N' else 4.0 * k * k), (m, n))
        if t == cnp.NPY_FLOAT:
            found = svd_query[float](<float *>tag, job, m, n)
        elif t == cnp.NPY_DOUBLE:
            found = svd_query[double](<double *>tag, job, m, n)
        elif t == cnp.NPY_CFLOAT:
            found = svd_query[complex64_t](<complex64_t *>tag, job, m, n)
        else:
            found = svd_query[complex128_t](<complex128_t *>tag, job, m, n)
        _lwork[key] = found
    return found


_lwork = {}


def svd(ndarray a, job, out, double tie, lanes, bint skip_gesdd=False):
    """Decompose stacks; `job` is 'A', 'S' or 'N'. Returns (u, s, vh, codes), u and vh None for 'N'."""
    cdef SvdOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef Py_ssize_t m = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 2), n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1)
    cdef Py_ssize_t k = min(m, n), ku = 0, kv = 0
    cdef ndarray u = None, s, vh = None
    op.job = ord(job)
    op.tie = tie
    op.skip_gesdd = skip_gesdd
    op.lwork = lwork_of(t, op.job, m, n)
    if out is not None:
        u, s, vh = out
    else:
        s = empty(a, 2, 1, k, 0, real_of(t))
    op.s = slices(s, 1, a, 2)
    op.a = slices(a, 2, a, 2)
    if op.job != b'N':
        ku = m if op.job == b'A' else k
        kv = n if op.job == b'A' else k
        if out is None:
            u = empty(a, 2, 2, m, ku, t)
            vh = empty(a, 2, 2, kv, n, t)
        op.u = slices(u, 2, a, 2)
        op.vh = slices(vh, 2, a, 2)
    cdef lane_fn lane = of_type(t, <lane_fn>svd_lane[float], <lane_fn>svd_lane[double],
                                <lane_fn>svd_lane[complex64_t], <lane_fn>svd_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef size_t item = cnp.PyArray_ITEMSIZE(a)
    cdef size_t ws_bytes = svd_workspace(&op, m, n, ku, kv, item, cnp.PyArray_ITEMSIZE(s))
    cdef Compact c
    cdef double order = max(m, n) if op.job == b'A' else sqrt(<double>m * n)
    if k > 0 and not skip_gesdd and compact_serves(&c, COMPACT_SVDVALS if op.job == b'N' else COMPACT_SVD, LG_OP_svd, t,
                                                   order, lane, &op):
        c.m = m
        c.n = n
        c.flags = LG_VALUES if op.job == b'N' else LG_COMPLETE if op.job == b'A' else 0
        add(&c, &op.a)
        if op.job != b'N':
            add(&c, &op.u)
        add(&c, &op.s)
        if op.job != b'N':
            add(&c, &op.vh)
        return u, s, vh, run_compact(&c, nb, ws_bytes, lanes, NULL)
    codes = run_lanes(lane, &op, nb, ws_bytes,
                      plan_lanes(OP_SVDVALS if op.job == b'N' else OP_SVD, mean_order(m, n, k), nb, lanes),
                      NULL)
    return u, s, vh, codes
