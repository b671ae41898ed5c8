"""QR, two LAPACK calls a slice.

Memory read by columns holds A^T, so the LQ of it, A^T = L Q^T, leaves by columns the memory of a
row-major R = L^T and of a row-major Q: nothing is transposed. Its reflectors are those of the QR of
A, its `tau` their conjugates. Column pivoting and, for large slices, blocks of reflectors whose
triangular factors serve Q too have no such twin in LAPACK and load A by columns.
"""
cimport numpy as cnp
from numpy cimport ndarray, npy_intp
from libc.math cimport sqrt
from libc.string cimport memcpy

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, load_slice, load_slice_t, store_slice, store_slice_t, fill_nan, identity, all_finite,
    at, batch_size, aligned, conj_all, empty,
)
from ._compact cimport (
    Compact, add, compact_serves, run_compact, COMPACT_QR, LG_OP_qr, LG_COMPLETE, LG_POSITIVE, LG_RAW, LG_VALUES,
)
from ._lanes cimport lane_fn, of_type, mean_order, plan_lanes, run_lanes, OP_QR
from ._lapack_factor cimport gelqf, geqp3, geqrt, larfb, orglq, orgqr
from ._query cimport cached_lwork, check_elements, whole

cnp.import_array()


cdef enum:
    BLOCK = 32          # reflectors a block
    BLOCKED_FROM = 96   # order from which blocks pay for loading and storing by columns


cdef struct QrOp:
    Slices a, q, r, tau, p      # r holds the reflectors too if raw
    bint raw, want_q, pivoting, positive
    blas_int lwork
    blas_int ldt                # rows of the triangular factors, one if there are no blocks: tau
    size_t a_bytes, q_bytes, tau_bytes, work_bytes, rwork_bytes


cdef size_t qr_workspace(QrOp *op, Py_ssize_t m, Py_ssize_t n, Py_ssize_t kq, size_t item) noexcept nogil:
    """Bytes of one lane: a | q | tau or t | work | rwork | pivots, all of them live together."""
    op.a_bytes = aligned(m * n * item)
    op.q_bytes = aligned(m * kq * item)
    op.tau_bytes = aligned(op.ldt * min(m, n) * item)
    op.work_bytes = aligned(op.lwork * item)
    op.rwork_bytes = aligned(2 * n * item) if op.pivoting else 0
    return (op.a_bytes + op.q_bytes + op.tau_bytes + op.work_bytes + op.rwork_bytes
            + (aligned(n * sizeof(blas_int)) if op.pivoting else 0))


cdef int qr_lane(const void *op_, Py_ssize_t i, lapack_t *a) noexcept nogil:
    cdef const QrOp *op = <const QrOp *>op_
    cdef Py_ssize_t m = op.a.m, n = op.a.n, k = min(m, n), kq = op.q.n, row
    cdef char *p = <char *>a + op.a_bytes
    cdef lapack_t *q = <lapack_t *>p
    cdef lapack_t *tau = <lapack_t *>(p + op.q_bytes)
    cdef lapack_t *work = <lapack_t *>(p + op.q_bytes + op.tau_bytes)
    if k == 0:
        if op.want_q:
            identity[lapack_t](m, kq, q)
            store_slice[lapack_t](&op.q, i, q)
        return 0
    load_slice[lapack_t](&op.a, i, a)
    gelqf[lapack_t](n, m, a, n, tau, work, op.lwork)
    if op.raw:
        conj_all[lapack_t](tau, k)
        store_slice[lapack_t](&op.tau, i, tau)
        store_slice[lapack_t](&op.r, i, a)
        return 0
    if op.want_q:
        for row in range(m):
            memcpy(q + row * kq, a + row * n, k * sizeof(lapack_t))
        orglq[lapack_t](kq, m, k, q, kq, tau, work, op.lwork)
    clear_below[lapack_t](a, n, 1, op.r.m, n)
    if op.positive:
        turn_rows[lapack_t](a, n, 1, n, q, 1, kq, m if op.want_q else 0, k)
    if op.want_q:
        store_slice[lapack_t](&op.q, i, q)
    store_slice[lapack_t](&op.r, i, a)
    return 0


cdef int blocked_qr_lane(const void *op_, Py_ssize_t i, lapack_t *a) noexcept nogil:
    cdef const QrOp *op = <const QrOp *>op_
    cdef Py_ssize_t m = op.a.m, n = op.a.n, k = min(m, n), kq = op.q.n, j, block
    cdef char *p = <char *>a + op.a_bytes
    cdef lapack_t *q = <lapack_t *>p
    cdef lapack_t *t = <lapack_t *>(p + op.q_bytes)
    cdef lapack_t *work = <lapack_t *>(p + op.q_bytes + op.tau_bytes)
    load_slice_t[lapack_t](&op.a, i, a)
    geqrt[lapack_t](m, n, BLOCK, a, m, t, BLOCK, work)
    if op.raw:
        for j in range(k):
            t[j] = t[j * BLOCK + j % BLOCK]
    if op.want_q:
        identity[lapack_t](kq, m, q)
        for block in range((k - 1) // BLOCK, -1, -1):
            j = block * BLOCK
            larfb[lapack_t](m - j, kq - j, min(<Py_ssize_t>BLOCK, k - j), a + j * m + j, m, t + j * BLOCK, BLOCK,
                            q + j * m + j, m, work, kq)
    store_columns[lapack_t](op, i, a, q, t)
    return 0


cdef int pivoted_qr_lane(const void *op_, Py_ssize_t i, lapack_t *a) noexcept nogil:
    cdef const QrOp *op = <const QrOp *>op_
    cdef Py_ssize_t m = op.a.m, n = op.a.n, k = min(m, n), kq = op.q.n, j
    cdef char *p = <char *>a + op.a_bytes
    cdef lapack_t *q = <lapack_t *>p
    cdef lapack_t *tau = <lapack_t *>(p + op.q_bytes)
    p += op.q_bytes + op.tau_bytes
    cdef lapack_t *work = <lapack_t *>p
    cdef void *rwork = p + op.work_bytes
    cdef blas_int *pivots = <blas_int *>(p + op.work_bytes + op.rwork_bytes)
    load_slice_t[lapack_t](&op.a, i, a)
    # The search for the largest column norm may leave the matrix when norms are NaN.
    cdef bint finite = all_finite[lapack_t](a, m * n)
    for j in range(n):
        pivots[j] = 0 if finite and k > 0 else j + 1
    if k > 0 and finite:
        geqp3[lapack_t](m, n, a, m, pivots, tau, work, op.lwork, rwork)
    for j in range(n):
        (<npy_intp *>(at(&op.p, i) + j * op.p.rs))[0] = pivots[j] - 1
    if not finite:
        if op.want_q:
            fill_nan[lapack_t](&op.q, i, q)
        if op.raw:
            fill_nan[lapack_t](&op.tau, i, tau)
        fill_nan[lapack_t](&op.r, i, a)
        return 0
    if k == 0:
        if op.want_q:
            identity[lapack_t](m, kq, q)
            store_slice[lapack_t](&op.q, i, q)
        return 0
    if op.want_q:
        memcpy(q, a, m * k * sizeof(lapack_t))
        orgqr[lapack_t](m, kq, k, q, m, tau, work, op.lwork)
    store_columns[lapack_t](op, i, a, q, tau)
    return 0


cdef inline void store_columns(const QrOp *op, Py_ssize_t i, lapack_t *a, lapack_t *q, lapack_t *tau) noexcept nogil:
    """Write the results from the factored matrix and the Q that the lane left by columns."""
    cdef Py_ssize_t m = op.a.m, n = op.a.n, kr = op.r.m, j, row
    if op.raw:
        store_slice[lapack_t](&op.tau, i, tau)
        store_slice_t[lapack_t](&op.r, i, a)
        return
    if kr < m:
        for j in range(n):
            for row in range(kr):
                a[j * kr + row] = a[j * m + row]
    clear_below[lapack_t](a, 1, kr, kr, n)
    if op.positive:
        turn_rows[lapack_t](a, 1, kr, n, q, m, 1, m if op.want_q else 0, min(m, n))
    if op.want_q:
        store_slice_t[lapack_t](&op.q, i, q)
    store_slice_t[lapack_t](&op.r, i, a)


cdef inline void clear_below(lapack_t *r, Py_ssize_t rs, Py_ssize_t cs, Py_ssize_t m, Py_ssize_t n) noexcept nogil:
    """Zero the entries under the diagonal."""
    cdef Py_ssize_t i, j
    for i in range(1, m):
        for j in range(min(i, n)):
            r[i * rs + j * cs] = 0


cdef inline void turn_rows(lapack_t *r, Py_ssize_t rs, Py_ssize_t cs, Py_ssize_t n, lapack_t *q, Py_ssize_t qs,
                           Py_ssize_t qc, Py_ssize_t m, Py_ssize_t k) noexcept nogil:
    """Make the diagonal of R, which LAPACK leaves real, nonnegative; row i of R turns with column i of Q."""
    cdef Py_ssize_t i, j
    cdef double d
    for i in range(k):
        if lapack_t is float or lapack_t is double:
            d = r[i * (rs + cs)]
        else:
            d = r[i * (rs + cs)].real
        if d < 0:
            for j in range(i, n):
                r[i * rs + j * cs] = -r[i * rs + j * cs]
            for j in range(m):
                q[i * qs + j * qc] = -q[i * qs + j * qc]


cdef Py_ssize_t qr_query(lapack_t *tag, bint pivoting, Py_ssize_t m, Py_ssize_t n, Py_ssize_t kq) noexcept nogil:
    """Length of `work` that suits the factorisation and, where kq > 0, the product of its reflectors."""
    cdef lapack_t one = 0
    cdef lapack_t two = 0
    if pivoting:
        geqp3[lapack_t](m, n, tag, m, NULL, tag, &one, -1, tag)
        if kq > 0:
            orgqr[lapack_t](m, kq, min(m, n), tag, m, tag, &two, -1)
    else:
        gelqf[lapack_t](n, m, tag, n, tag, &one, -1)
        if kq > 0:
            orglq[lapack_t](kq, m, min(m, n), tag, kq, tag, &two, -1)
    return max(whole[lapack_t](one), whole[lapack_t](two))


cdef Py_ssize_t lwork_of(int t, bint pivoting, Py_ssize_t m, Py_ssize_t n, Py_ssize_t kq) except -1:
    cdef double tag[2]
    key = (t, pivoting, m, n, kq)
    found = cached_lwork(_lwork, key)
    if found is None and not pivoting and min(m, n) >= BLOCKED_FROM:
        check_elements("qr", max(<double>m, BLOCK * <double>max(n, kq)), (m, n))
        found = _lwork[key] = BLOCK * max(n, kq)
    elif found is None:
        # A block of columns for each row of the workspace; LAPACK's blocks are at most 64 wide.
        check_elements("qr", max(<double>m, 70.0 * max(n, kq)), (m, n))
        if min(m, n) == 0:
            found = 1
        elif t == cnp.NPY_FLOAT:
            found = qr_query[float](<float *>tag, pivoting, m, n, kq)
        elif t == cnp.NPY_DOUBLE:
            found = qr_query[double](<double *>tag, pivoting, m, n, kq)
        elif t == cnp.NPY_CFLOAT:
            found = qr_query[complex64_t](<complex64_t *>tag, pivoting, m, n, kq)
        else:
            found = qr_query[complex128_t](<complex128_t *>tag, pivoting, m, n, kq)
        _lwork[key] = found
    return found


_lwork = {}


def qr(ndarray a, mode, bint pivoting, bint positive, out, lanes):
    """Decompose stacks; `mode` is numpy's. Returns (q, r, tau, p) with None for what the mode lacks.

    In mode 'raw', `r` holds R and the reflectors, (..., M, N). `out` has the same four places.
    """
    cdef QrOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef Py_ssize_t m = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 2), n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1)
    cdef Py_ssize_t k = min(m, n), kq = 0, kr = k
    cdef ndarray q = None, r = None, tau = None, p = None
    op.raw = mode == "raw"
    op.want_q = mode == "reduced" or mode == "complete"
    op.pivoting = pivoting
    op.positive = positive
    if op.raw or mode == "complete":
        kr = m
    if op.want_q:
        kq = kr
    op.ldt = BLOCK if k >= BLOCKED_FROM and not pivoting else 1
    op.lwork = lwork_of(t, pivoting, m, n, kq)
    if out is not None:
        q, r, tau, p = out
    else:
        r = empty(a, 2, 2, kr, n, t)
        if op.want_q:
            q = empty(a, 2, 2, m, kq, t)
        if op.raw:
            tau = empty(a, 2, 1, k, 0, t)
        if pivoting:
            p = empty(a, 2, 1, n, 0, cnp.NPY_INTP)
    op.a = slices(a, 2, a, 2)
    op.r = slices(r, 2, a, 2)
    op.q.n = 0
    if op.want_q:
        op.q = slices(q, 2, a, 2)
    if op.raw:
        op.tau = slices(tau, 1, a, 2)
    if pivoting:
        op.p = slices(p, 1, a, 2)
    cdef lane_fn lane
    if pivoting:
        lane = of_type(t, <lane_fn>pivoted_qr_lane[float], <lane_fn>pivoted_qr_lane[double],
                       <lane_fn>pivoted_qr_lane[complex64_t], <lane_fn>pivoted_qr_lane[complex128_t])
    elif op.ldt > 1:
        lane = of_type(t, <lane_fn>blocked_qr_lane[float], <lane_fn>blocked_qr_lane[double],
                       <lane_fn>blocked_qr_lane[complex64_t], <lane_fn>blocked_qr_lane[complex128_t])
    else:
        lane = of_type(t, <lane_fn>qr_lane[float], <lane_fn>qr_lane[double],
                       <lane_fn>qr_lane[complex64_t], <lane_fn>qr_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef size_t ws_bytes = qr_workspace(&op, m, n, kq, cnp.PyArray_ITEMSIZE(a))
    cdef Compact c
    if not pivoting and k > 0 and compact_serves(&c, COMPACT_QR, LG_OP_qr, t, sqrt(<double>m * max(n, kq)), lane, &op):
        c.m = m
        c.n = n
        c.flags = ((LG_RAW if op.raw else LG_COMPLETE if mode == "complete" else 0)
                   | (0 if op.want_q or op.raw else LG_VALUES) | (LG_POSITIVE if positive else 0))
        add(&c, &op.a)
        if op.want_q:
            add(&c, &op.q)
        add(&c, &op.r)
        if op.raw:
            add(&c, &op.tau)
        run_compact(&c, nb, ws_bytes, lanes, NULL)
        return q, r, tau, p
    run_lanes(lane, &op, nb, ws_bytes,
              plan_lanes(OP_QR, mean_order(m, n, k), nb, lanes), NULL)
    return q, r, tau, p
