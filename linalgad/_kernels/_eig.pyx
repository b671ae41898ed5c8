"""Eigenvalues and vectors of general matrices, slice by slice.

Complex and large matrices go through LAPACK's geev, real ones up to order FRANCIS_TO through the same
steps with our own QR iteration, which is most of the work (_francis.h), and through geev where that
does not converge. Real routines leave a conjugate pair of vectors as real and imaginary part in two
columns; results are complex whatever the values, so that a batch has one dtype.
"""
from libc.math cimport fabs, frexp, ldexp, sqrt
from libc.string cimport memcpy
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, load_slice_t, store_slice, store_slice_t, fill_nan, all_finite, batch_size, aligned, empty,
    identity,
)
from ._gauge cimport fix_phase
from ._lanes cimport lane_fn, of_type, plan_lanes, run_lanes, OP_EIG, OP_EIGVALS
from ._lapack_factor cimport geev
from ._lapack_schur cimport francis, gebak, gebal, gehrd, orghr, real_t, trevc
from ._query cimport cached_lwork, check_elements, whole

cnp.import_array()

cdef enum:
    NONFINITE = 1 << 30
    FRANCIS_TO = 160    # beyond, LAPACK's multishift iteration wins


cdef struct EigOp:
    Slices a, w, right, left
    bint want_right, want_left      # left only with right
    bint francis        # our iteration first; the tests of geev turn it off
    blas_int lwork
    double tie          # see _lib._tols.gauge_tie
    size_t a_bytes, w_bytes, v_bytes, z_bytes, work_bytes


cdef size_t eig_workspace(EigOp *op, Py_ssize_t n, size_t item, size_t zitem) noexcept nogil:
    """Bytes of one lane: a | w | wr, wi or rwork | right | left | z | work, all of them live together.

    `z` has the complex vectors of a real matrix, one side at a time.
    """
    cdef size_t sides = op.want_right + op.want_left
    op.a_bytes = aligned(n * n * item)
    op.w_bytes = aligned(n * zitem)
    op.v_bytes = aligned(n * n * item)
    op.z_bytes = aligned(n * n * zitem) if sides > 0 and item != zitem else 0
    op.work_bytes = aligned(op.lwork * item)
    return op.a_bytes + 2 * op.w_bytes + sides * op.v_bytes + op.z_bytes + op.work_bytes


cdef inline int far_exponent(const lapack_t *a, Py_ssize_t count) noexcept nogil:
    """The binary exponent of the largest entry if products of entries could leave the range, else 0."""
    cdef Py_ssize_t i
    cdef double big = 0
    cdef int e
    cdef int safe = 32 if lapack_t is float or lapack_t is complex64_t else 256
    for i in range(count):
        if lapack_t is float or lapack_t is double:
            big = max(big, fabs(a[i]))
        else:
            big = max(big, max(fabs(a[i].real), fabs(a[i].imag)))
    if big == 0:
        return 0
    frexp(big, &e)
    return e if e > safe or e < -safe else 0


cdef inline void shift(lapack_t *a, Py_ssize_t count, int e) noexcept nogil:
    """Multiply by 2^e."""
    cdef Py_ssize_t i
    if e == 0:
        return
    for i in range(count):
        if lapack_t is float or lapack_t is double:
            a[i] = ldexp(a[i], e)
        else:
            a[i].real = ldexp(a[i].real, e)
            a[i].imag = ldexp(a[i].imag, e)


cdef inline void merge_pairs(const lapack_t *wr, const lapack_t *wi, lapack_t *w, Py_ssize_t n) noexcept nogil:
    """Interleave real and imaginary parts."""
    cdef Py_ssize_t j
    for j in range(n):
        w[2 * j] = wr[j]
        w[2 * j + 1] = wi[j]


cdef inline void expand_pairs(const lapack_t *wi, const lapack_t *v, lapack_t *z, Py_ssize_t n) noexcept nogil:
    """The complex columns of z, as interleaved parts, from the real columns of v."""
    cdef Py_ssize_t i, j = 0
    cdef const lapack_t *x
    cdef lapack_t *y
    while j < n:
        x = v + j * n
        y = z + 2 * j * n
        if wi[j] == 0:
            for i in range(n):
                y[2 * i] = x[i]
                y[2 * i + 1] = 0
            j += 1
        else:
            for i in range(n):
                y[2 * i] = y[2 * (n + i)] = x[i]
                y[2 * i + 1] = x[n + i]
                y[2 * (n + i) + 1] = -x[n + i]
            j += 2


cdef int schur(const EigOp *op, real_t *a, real_t *wr, real_t *right, real_t *left, real_t *work) noexcept nogil:
    """Eigenvalues and vectors by balancing, Hessenberg form and Francis' iteration; `work` begins with
    the scale of the balancing and the factors of the reflectors."""
    cdef Py_ssize_t n = op.a.n, i, j
    cdef blas_int first = 1, last = n, lwork = op.lwork - 2 * n
    cdef real_t *tau = work + n
    cdef real_t *rest = work + 2 * n
    gebal[real_t](b'B', n, a, n, &first, &last, work)
    if last - first > 1:
        gehrd[real_t](n, first, last, a, n, tau, rest, lwork)
        if op.want_right:
            memcpy(right, a, n * n * sizeof(real_t))
            orghr[real_t](n, first, last, right, n, tau, rest, lwork)
    elif op.want_right:
        identity[real_t](n, n, right)
    for j in range(n):
        for i in range(j + 2, n):
            a[j * n + i] = 0
    cdef int info = francis[real_t](n, first - 1, last - 1, a, wr, wr + n, right if op.want_right else NULL)
    if info != 0 or not op.want_right:
        return info
    if op.want_left:
        memcpy(left, right, n * n * sizeof(real_t))
    trevc[real_t](b'B' if op.want_left else b'R', n, a, n, left, n, right, n, rest)
    gebak[real_t](b'B', b'R', n, first, last, work, n, right, n)
    normalize[real_t](wr + n, right, n)
    if op.want_left:
        gebak[real_t](b'B', b'L', n, first, last, work, n, left, n)
        normalize[real_t](wr + n, left, n)
    return 0


cdef inline void normalize(const real_t *wi, real_t *v, Py_ssize_t n) noexcept nogil:
    """Scale the vectors to unit 2-norm; a pair of columns is one vector."""
    cdef Py_ssize_t i, j = 0, count
    cdef double big, total
    while j < n:
        count = n if wi[j] == 0 else 2 * n
        big = 0
        total = 0
        for i in range(count):
            big = max(big, fabs(v[j * n + i]))
        for i in range(count):
            total += (v[j * n + i] / big) * (v[j * n + i] / big)
        total = sqrt(total)
        for i in range(count):
            v[j * n + i] = <real_t>(v[j * n + i] / big / total)
        j += count // n


cdef inline void store_vectors(const EigOp *op, const Slices *s, Py_ssize_t i, void *z, Py_ssize_t n,
                               lapack_t *tag) noexcept nogil:
    """Fix the phases of the columns of z and write them; `tag` only selects the precision."""
    cdef Py_ssize_t j
    for j in range(n):
        if lapack_t is float or lapack_t is complex64_t:
            fix_phase[complex64_t](<complex64_t *>z + j * n, 1, n, op.tie)
        else:
            fix_phase[complex128_t](<complex128_t *>z + j * n, 1, n, op.tie)
    if lapack_t is float or lapack_t is complex64_t:
        store_slice_t[complex64_t](s, i, <complex64_t *>z)
    else:
        store_slice_t[complex128_t](s, i, <complex128_t *>z)


cdef inline void fail(const EigOp *op, Py_ssize_t i, lapack_t *tag) noexcept nogil:
    """Fill the results with NaN."""
    if lapack_t is float or lapack_t is complex64_t:
        fill_nan[complex64_t](&op.w, i, NULL)
        if op.want_right:
            fill_nan[complex64_t](&op.right, i, NULL)
        if op.want_left:
            fill_nan[complex64_t](&op.left, i, NULL)
    else:
        fill_nan[complex128_t](&op.w, i, NULL)
        if op.want_right:
            fill_nan[complex128_t](&op.right, i, NULL)
        if op.want_left:
            fill_nan[complex128_t](&op.left, i, NULL)


cdef int eig_lane(const void *op_, Py_ssize_t i, lapack_t *a) noexcept nogil:
    cdef const EigOp *op = <const EigOp *>op_
    cdef Py_ssize_t n = op.a.n
    cdef char *p = <char *>a + op.a_bytes
    cdef lapack_t *w = <lapack_t *>p                    # interleaved parts if lapack_t is real
    cdef lapack_t *wr = <lapack_t *>(p + op.w_bytes)    # real parts, then imaginary ones; or rwork
    p += 2 * op.w_bytes
    cdef lapack_t *right = <lapack_t *>p
    p += op.v_bytes if op.want_right else 0
    cdef lapack_t *left = <lapack_t *>p
    p += op.v_bytes if op.want_left else 0
    cdef lapack_t *z = <lapack_t *>p
    cdef lapack_t *work = <lapack_t *>(p + op.z_bytes)
    cdef char jobvl = b'V' if op.want_left else b'N', jobvr = b'V' if op.want_right else b'N'
    cdef int info = NONFINITE, e = 0
    if n == 0:
        return 0
    load_slice_t[lapack_t](&op.a, i, a)
    # The QR iteration loops or swallows NaNs, so it never sees one.
    if all_finite[lapack_t](a, n * n):
        # geev scales such matrices too, but some builds do not scale the eigenvalues back.
        e = far_exponent[lapack_t](a, n * n)
        shift[lapack_t](a, n * n, -e)
        if lapack_t is float or lapack_t is double:
            info = 1
            if op.francis:
                info = schur[lapack_t](op, a, wr, right, left, work)
                if info != 0:
                    load_slice_t[lapack_t](&op.a, i, a)
                    shift[lapack_t](a, n * n, -e)
            if info != 0:
                info = geev[lapack_t](jobvl, jobvr, n, a, n, wr, wr + n, left, n, right, n, work, op.lwork, NULL)
        else:
            info = geev[lapack_t](jobvl, jobvr, n, a, n, w, NULL, left, n, right, n, work, op.lwork, wr)
    if info != 0:
        fail[lapack_t](op, i, a)
        return info
    if lapack_t is float or lapack_t is double:
        shift[lapack_t](wr, 2 * n, e)
        merge_pairs[lapack_t](wr, wr + n, w, n)
    else:
        shift[lapack_t](w, n, e)
    if lapack_t is float or lapack_t is complex64_t:
        store_slice[complex64_t](&op.w, i, <complex64_t *>w)
    else:
        store_slice[complex128_t](&op.w, i, <complex128_t *>w)
    if op.want_right:
        if lapack_t is float or lapack_t is double:
            expand_pairs[lapack_t](wr + n, right, z, n)
            store_vectors[lapack_t](op, &op.right, i, z, n, a)
        else:
            store_vectors[lapack_t](op, &op.right, i, right, n, a)
    if op.want_left:
        if lapack_t is float or lapack_t is double:
            expand_pairs[lapack_t](wr + n, left, z, n)
            store_vectors[lapack_t](op, &op.left, i, z, n, a)
        else:
            store_vectors[lapack_t](op, &op.left, i, left, n, a)
    return 0


cdef Py_ssize_t eig_query(lapack_t *tag, bint right, bint left, Py_ssize_t n) noexcept nogil:
    """Length of `work` that suits geev, and its steps with 2 n numbers before their own work."""
    cdef lapack_t one = 0
    geev[lapack_t](b'V' if left else b'N', b'V' if right else b'N', n, tag, n, tag, tag, tag, n, tag, n, &one, -1, tag)
    return whole[lapack_t](one) + 2 * n


cdef Py_ssize_t lwork_of(int t, bint right, bint left, Py_ssize_t n) except -1:
    cdef double tag[2]
    key = (t, right, left, n)
    found = cached_lwork(_lwork, key)
    if found is None:
        # Blocks of columns of the vectors dominate: two of 128 at most.
        check_elements("eig" if right else "eigvals", 300.0 * n, (n, n))
        if n == 0:
            found = 1
        elif t == cnp.NPY_FLOAT:
            found = eig_query[float](<float *>tag, right, left, n)
        elif t == cnp.NPY_DOUBLE:
            found = eig_query[double](<double *>tag, right, left, n)
        elif t == cnp.NPY_CFLOAT:
            found = eig_query[complex64_t](<complex64_t *>tag, right, left, n)
        else:
            found = eig_query[complex128_t](<complex128_t *>tag, right, left, n)
        _lwork[key] = found
    return found


_lwork = {}


def eig(ndarray a, bint right, bint left, out, double tie, lanes, bint skip_francis=False):
    """Decompose stacks. Returns (w, right, left, codes), None for the vectors that are not wanted."""
    cdef EigOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef int z = cnp.NPY_CFLOAT if t == cnp.NPY_FLOAT or t == cnp.NPY_CFLOAT else cnp.NPY_CDOUBLE
    cdef Py_ssize_t n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1)
    cdef ndarray w = None, vr = None, vl = None
    op.want_right = right
    op.want_left = left
    op.tie = tie
    op.francis = n <= FRANCIS_TO and not skip_francis
    op.lwork = lwork_of(t, right, left, n)
    if out is not None:
        w, vr, vl = out
    else:
        w = empty(a, 2, 1, n, 0, z)
        if right:
            vr = empty(a, 2, 2, n, n, z)
        if left:
            vl = empty(a, 2, 2, n, n, z)
    op.a = slices(a, 2, a, 2)
    op.w = slices(w, 1, a, 2)
    if right:
        op.right = slices(vr, 2, a, 2)
    if left:
        op.left = slices(vl, 2, a, 2)
    cdef lane_fn lane = of_type(t, <lane_fn>eig_lane[float], <lane_fn>eig_lane[double],
                                <lane_fn>eig_lane[complex64_t], <lane_fn>eig_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    codes = run_lanes(lane, &op, nb, eig_workspace(&op, n, cnp.PyArray_ITEMSIZE(a), cnp.PyArray_ITEMSIZE(w)),
                      plan_lanes(OP_EIG if right else OP_EIGVALS, n, nb, lanes), NULL)
    return w, vr, vl, codes
