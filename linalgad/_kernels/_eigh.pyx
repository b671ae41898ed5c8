"""Eigenvalues and vectors of Hermitian matrices, a LAPACK call a slice.

Memory read by columns holds conj(A) of a Hermitian row-major A, and the lower triangle as the upper
one. Its eigenvalues are those of A, its eigenvectors the conjugates of those of A.
"""
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, load_slice, store_slice, store_slice_t, fill_nan, clear_triangle, all_finite, batch_size, aligned,
    conj_all, real_of,
)
from ._pool cimport new
from ._compact cimport (
    Compact, add, compact_serves, run_compact, COMPACT_EIGH, COMPACT_EIGVALSH, LG_OP_eigh, LG_UPPER, LG_VALUES,
)
from ._gauge cimport fix_phase
from ._lanes cimport lane_fn, of_type, plan_lanes, run_lanes, OP_EIGH, OP_EIGVALSH
from ._lapack_factor cimport ormtr, syev, syevd, syevr, sygst, sytrd, trmm
from ._lapack_solve cimport potrf, trtrs
from ._query cimport cached_lwork, check_elements, whole
from ._tops cimport top_of
from ._tridiagonal cimport ConquerKernels, conquer, conquer_kernels, conquer_workspace

cnp.import_array()

cdef enum:
    NONFINITE = 1 << 30


cdef struct EighOp:
    Slices a, b, w, v
    bint lower, vectors
    bint skip_syevd     # go to syev at once; the tests of the fallback ask for it
    int kind            # 0: A v = w v; 1, 2, 3: the generalized problems of sygst
    blas_int first, last            # numbers of the eigenvalues wanted, from 1; first = 0 for all
    blas_int lwork, lrwork, liwork
    double tie          # see _lib._tols.gauge_tie
    ConquerKernels own  # of our own divide and conquer; none to leave it to LAPACK
    size_t a_bytes, b_bytes, v_bytes, w_bytes, work_bytes, rwork_bytes, iwork_bytes


cdef size_t eigh_workspace(EighOp *op, Py_ssize_t n, Py_ssize_t k, size_t item, size_t ritem) noexcept nogil:
    """Bytes of one lane: a | b | v | w | work | rwork | iwork | isuppz | e | tau | those of `conquer`.

    Only the driver of a subset has `v` beside `a` and `isuppz`; the others leave the vectors in `a`.
    """
    op.a_bytes = aligned(n * n * item)
    op.b_bytes = aligned(n * n * item) if op.kind else 0
    op.v_bytes = aligned(n * k * item) if op.first and op.vectors else 0
    op.w_bytes = aligned(n * ritem)
    op.work_bytes = aligned(op.lwork * item)
    op.rwork_bytes = aligned(op.lrwork * ritem) if item != ritem else 0
    op.iwork_bytes = aligned((op.liwork + 2 * k) * sizeof(blas_int))
    cdef size_t own = 0
    if op.own.secular != NULL:
        own = op.w_bytes + aligned(n * item) + conquer_workspace(&op.own, n, ritem)
    return (op.a_bytes + op.b_bytes + op.v_bytes + op.w_bytes + op.work_bytes + op.rwork_bytes + op.iwork_bytes + own)


cdef int load_reduced(const EighOp *op, Py_ssize_t i, lapack_t *a, lapack_t *b) noexcept nogil:
    """Load the slice, and reduce a generalized problem to a standard one with the factor of B in `b`."""
    cdef Py_ssize_t n = op.a.n
    cdef char uplo = b'U' if op.lower else b'L'
    cdef int info
    load_slice[lapack_t](&op.a, i, a)
    clear_triangle[lapack_t](op.lower, n, a)
    # The iterations loop or swallow NaNs, so they never see one.
    if not all_finite[lapack_t](a, n * n):
        return NONFINITE
    if op.kind == 0:
        return 0
    load_slice[lapack_t](&op.b, i, b)
    clear_triangle[lapack_t](op.lower, n, b)
    if not all_finite[lapack_t](b, n * n):
        return NONFINITE
    info = potrf[lapack_t](uplo, n, b, n)
    if info == 0:
        info = sygst[lapack_t](op.kind, uplo, n, a, n, b, n)
    return info


cdef inline bint far_from_one(const lapack_t *a, Py_ssize_t n) noexcept nogil:
    """Whether reflectors of the matrix may overflow or underflow."""
    cdef double top = top_of[lapack_t](n * n, a)
    cdef double least = 1e-15 if lapack_t is float or lapack_t is complex64_t else 1e-145
    return not least < top < 1 / least


cdef int divide(const EighOp *op, lapack_t *a, void *w, lapack_t *work, void *rwork, char *ws,
                lapack_t **v) noexcept nogil:
    """Eigenvalues and vectors by our own divide and conquer; where the vectors lie. Not zero if LAPACK should try.

    The real one of the work arrays of syevd and heevd has room for two matrices.
    """
    cdef Py_ssize_t n = op.a.n, i
    cdef char uplo = b'U' if op.lower else b'L'
    cdef void *e = ws
    cdef void *two = <void *>work if lapack_t is float or lapack_t is double else rwork
    cdef lapack_t *tau = <lapack_t *>(ws + op.w_bytes)
    cdef float *s32
    cdef double *s64
    ws += op.w_bytes + aligned(n * sizeof(lapack_t))
    if far_from_one[lapack_t](a, n):
        return 1
    cdef int info = sytrd[lapack_t](uplo, n, a, n, w, e, tau, work, op.lwork)
    if info == 0:
        if lapack_t is float or lapack_t is complex64_t:
            info = conquer[float](&op.own, n, <float *>w, <float *>e, <float *>two, ws, &s32)
        else:
            info = conquer[double](&op.own, n, <double *>w, <double *>e, <double *>two, ws, &s64)
    if info != 0:
        return info
    if lapack_t is float:
        v[0] = s32
    elif lapack_t is double:
        v[0] = s64
    else:
        v[0] = <lapack_t *>two
        for i in range(n * n):
            v[0][i] = s32[i] if lapack_t is complex64_t else s64[i]
    return ormtr[lapack_t](uplo, n, n, a, n, tau, v[0], n, work, op.lwork)


cdef int eigh_lane(const void *op_, Py_ssize_t i, lapack_t *a) noexcept nogil:
    cdef const EighOp *op = <const EighOp *>op_
    cdef Py_ssize_t n = op.a.n, k = op.w.m, j
    cdef char uplo = b'U' if op.lower else b'L', job = b'V' if op.vectors else b'N'
    cdef char *p = <char *>a + op.a_bytes
    cdef lapack_t *b = <lapack_t *>p
    cdef lapack_t *v = <lapack_t *>(p + op.b_bytes) if op.first else a
    p += op.b_bytes + op.v_bytes
    cdef void *w = p
    cdef lapack_t *work = <lapack_t *>(p + op.w_bytes)
    p += op.w_bytes + op.work_bytes
    cdef void *rwork = p
    cdef blas_int *iwork = <blas_int *>(p + op.rwork_bytes)
    if n == 0:
        return 0
    cdef int info = load_reduced[lapack_t](op, i, a, b)
    if info == 0 and op.first:
        info = syevr[lapack_t](job, uplo, n, a, n, op.first, op.last, w, v, n, iwork + op.liwork, work, op.lwork,
                               rwork, op.lrwork, iwork, op.liwork)
    elif info == 0:
        info = 1
        if op.own.secular != NULL:
            info = divide[lapack_t](op, a, w, work, rwork, <char *>iwork + op.iwork_bytes, &v)
            if info != 0:
                v = a
                load_reduced[lapack_t](op, i, a, b)
        if info != 0 and not op.skip_syevd:
            info = syevd[lapack_t](job, uplo, n, a, n, w, work, op.lwork, rwork, op.lrwork, iwork, op.liwork)
            if info != 0:
                load_reduced[lapack_t](op, i, a, b)
        if info != 0:
            info = syev[lapack_t](job, uplo, n, a, n, w, work, op.lwork, rwork)
    if info != 0:
        if lapack_t is float or lapack_t is complex64_t:
            fill_nan[float](&op.w, i, <float *>w)
        else:
            fill_nan[double](&op.w, i, <double *>w)
        if op.vectors:
            fill_nan[lapack_t](&op.v, i, a)
        return info
    if lapack_t is float or lapack_t is complex64_t:
        store_slice[float](&op.w, i, <float *>w)
    else:
        store_slice[double](&op.w, i, <double *>w)
    if op.vectors:
        if op.kind == 3:
            trmm[lapack_t](b'L', uplo, b'C' if op.lower else b'N', b'N', n, k, b, n, v, n)
        elif op.kind != 0:
            trtrs[lapack_t](uplo, b'N' if op.lower else b'C', b'N', n, k, b, n, v, n)
        for j in range(k):
            fix_phase[lapack_t](v + j * n, 1, n, op.tie)
        conj_all[lapack_t](v, n * k)
        store_slice_t[lapack_t](&op.v, i, v)
    return 0


cdef Py_ssize_t eigh_query(lapack_t *tag, bint vectors, bint subset, Py_ssize_t n) noexcept nogil:
    """Length of `work` that suits the drivers."""
    cdef lapack_t one = 0
    cdef lapack_t two = 0
    cdef double r = 0
    cdef blas_int i = 0
    cdef char job = b'V' if vectors else b'N'
    if subset:
        syevr[lapack_t](job, b'L', n, tag, n, 1, n, tag, tag, n, &i, &one, -1, &r, -1, &i, -1)
    else:
        syevd[lapack_t](job, b'L', n, tag, n, tag, &one, -1, &r, -1, &i, -1)
        syev[lapack_t](job, b'L', n, tag, n, tag, &two, -1, &r)
    return max(whole[lapack_t](one), whole[lapack_t](two))


cdef int set_lengths(EighOp *op, int t, Py_ssize_t n) except -1:
    """Lengths of the work arrays: the longest of what the drivers of the job ask for."""
    cdef double tag[2]
    cdef bint subset = op.first != 0
    cdef double square = 2.0 * n * n if op.vectors and not subset else 0.0
    key = (t, op.vectors, subset, n)
    found = cached_lwork(_lwork, key)
    if found is None:
        check_elements("eigh" if op.vectors else "eigvalsh", square + 100.0 * n, (n, n))
        if n == 0:
            found = 1
        elif t == cnp.NPY_FLOAT:
            found = eigh_query[float](<float *>tag, op.vectors, subset, n)
        elif t == cnp.NPY_DOUBLE:
            found = eigh_query[double](<double *>tag, op.vectors, subset, n)
        elif t == cnp.NPY_CFLOAT:
            found = eigh_query[complex64_t](<complex64_t *>tag, op.vectors, subset, n)
        else:
            found = eigh_query[complex128_t](<complex128_t *>tag, op.vectors, subset, n)
        _lwork[key] = found
    op.lwork = found
    op.lrwork = 24 * n if subset else max(1 + 5 * n + <Py_ssize_t>square, 3 * n)
    op.liwork = 10 * n if subset else 3 + 5 * n
    return 0


_lwork = {}


def eigh(ndarray a, b, tuple batch, bint lower, int kind, bint vectors, subset, out, double tie, lanes,
         bint skip_syevd=False):
    """Decompose stacks; `batch` is the broadcast one, `subset` a pair or None. Returns (w, v, codes)."""
    cdef EighOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef Py_ssize_t n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1), k = n
    cdef ndarray w = None, v = None
    op.lower = lower
    op.vectors = vectors
    op.kind = kind
    op.tie = tie
    op.skip_syevd = skip_syevd
    op.own.secular = NULL
    if vectors and subset is None and not skip_syevd:
        op.own = conquer_kernels(0 if t == cnp.NPY_FLOAT or t == cnp.NPY_CFLOAT else 1)
    op.first = op.last = 0
    if subset is not None:
        op.first = subset[0] + 1
        op.last = subset[1] + 1
        k = op.last - op.first + 1
    set_lengths(&op, t, n)
    if out is not None:
        w, v = out
    else:
        w = new((*batch, k), real_of(t))
        if vectors:
            v = new((*batch, n, k), t)
    op.w = slices(w, 1, w, 1)
    op.a = slices(a, 2, w, 1)
    if kind != 0:
        op.b = slices(b, 2, w, 1)
    if vectors:
        op.v = slices(v, 2, w, 1)
    cdef lane_fn lane = of_type(t, <lane_fn>eigh_lane[float], <lane_fn>eigh_lane[double],
                                <lane_fn>eigh_lane[complex64_t], <lane_fn>eigh_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.w)
    cdef size_t ws_bytes = eigh_workspace(&op, n, k, cnp.PyArray_ITEMSIZE(a), cnp.PyArray_ITEMSIZE(w))
    cdef Compact c
    if (kind == 0 and subset is None and not skip_syevd
            and compact_serves(&c, COMPACT_EIGH if vectors else COMPACT_EIGVALSH, LG_OP_eigh, t, n, lane, &op)):
        c.n = n
        c.flags = (0 if lower else LG_UPPER) | (0 if vectors else LG_VALUES)
        add(&c, &op.a)
        add(&c, &op.w)
        if vectors:
            add(&c, &op.v)
        return w, v, run_compact(&c, nb, ws_bytes, lanes, NULL)
    codes = run_lanes(lane, &op, nb, ws_bytes,
                      plan_lanes(OP_EIGH if vectors else OP_EIGVALSH, n, nb, lanes), NULL)
    return w, v, codes
