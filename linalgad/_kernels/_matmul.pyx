"""Products of stacks of matrices, a BLAS call a slice.

A row-major matrix is its transpose to BLAS, so C = X Y is formed as C^T = Y^T X^T. A factor whose rows or columns are
contiguous is read where it lies, so that transposed views cost nothing; conjugation comes with the transposition.
"""
from libc.string cimport memset
cimport numpy as cnp
cimport scipy.linalg.cython_blas as blas
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport slices, load_slice, operand, batch_size, aligned, conj, conj_all, at, Slices
from ._pool cimport new
from ._compact cimport Compact, add, compact_serves, run_compact, COMPACT_MATMUL, LG_OP_matmul, LG_CONJ, LG_CONJ_B
from ._lanes cimport lane_fn, of_type, mean_order, plan_lanes, run_lanes, OP_MATMUL

cnp.import_array()


cdef enum:
    FEW = 16            # rows of x below which a copy of y costs more than it saves
    SMALL = 100         # order of y up to which it saves anything
    PANEL = 32          # rows of a product of which only a triangle is formed, or with a triangle
    THIN = 2            # columns of a product up to which as many products with a vector cost less


cdef size_t matmul_workspace(const MatmulOp *op, size_t item) noexcept nogil:
    """Bytes of one lane: x | y."""
    return aligned(op.x.m * op.x.n * item) + aligned(op.y.m * op.y.n * item)


cdef inline void gemv(char trans, blas_int m, blas_int n, const lapack_t *a, blas_int lda, const lapack_t *x,
                      blas_int incx, lapack_t *y, blas_int incy) noexcept nogil:
    """y := op(A) x for m x n A."""
    cdef lapack_t one = 1, zero = 0
    if lapack_t is float:
        blas.sgemv(&trans, &m, &n, &one, <float *>a, &lda, <float *>x, &incx, &zero, y, &incy)
    elif lapack_t is double:
        blas.dgemv(&trans, &m, &n, &one, <double *>a, &lda, <double *>x, &incx, &zero, y, &incy)
    elif lapack_t is complex64_t:
        blas.cgemv(&trans, &m, &n, &one, <complex64_t *>a, &lda, <complex64_t *>x, &incx, &zero, y, &incy)
    else:
        blas.zgemv(&trans, &m, &n, &one, <complex128_t *>a, &lda, <complex128_t *>x, &incx, &zero, y, &incy)


cdef inline const lapack_t *factor(const Slices *s, Py_ssize_t i, bint conjugate, bint rows, lapack_t *buffer,
                                   char *trans, blas_int *ld) noexcept nogil:
    """Slice i, or its conjugate, in the form in which BLAS takes the transpose of it; copied by rows if `rows`."""
    cdef bint by_rows
    cdef const lapack_t *p = operand[lapack_t](s, i, buffer, &by_rows, ld)
    if (by_rows and conjugate) or (rows and not by_rows):
        if p != buffer:
            load_slice[lapack_t](s, i, buffer)
        if conjugate:
            conj_all[lapack_t](buffer, s.m * s.n)
        p = buffer
        by_rows = True
        ld[0] = max(s.n, 1)
    trans[0] = b'N' if by_rows else b'C' if conjugate else b'T'
    return p


cdef inline void columns_of(const MatmulOp *op, Py_ssize_t i, Py_ssize_t count, Py_ssize_t *first,
                            Py_ssize_t *end) noexcept nogil:
    """Columns of which a panel of `count` rows from row i on has some in the triangle."""
    cdef Py_ssize_t n = op.y.n
    first[0] = min(max(i + op.k, 0), n) if op.triangle > 0 else 0
    end[0] = min(max(i + count + op.k, 0), n) if op.triangle < 0 else n


cdef inline void scaled_row(lapack_t f, bint conjugate, const lapack_t *y, Py_ssize_t n, lapack_t *c) noexcept nogil:
    """c := f y, or f conj(y), for rows of n numbers."""
    cdef Py_ssize_t j
    if conjugate and lapack_t is not float and lapack_t is not double:
        for j in range(n):
            c[j] = f * conj[lapack_t](y[j])
    else:
        for j in range(n):
            c[j] = f * y[j]


cdef inline void outer_product(const MatmulOp *op, Py_ssize_t i, lapack_t *y) noexcept nogil:
    """A product of one term, row by row: half of it is left out where only a triangle is formed."""
    cdef Py_ssize_t r, first, end, ld = op.out.rs // <Py_ssize_t>sizeof(lapack_t)
    cdef const char *x = at(&op.x, i)
    cdef lapack_t *c = <lapack_t *>at(&op.out, i)
    cdef lapack_t f
    load_slice[lapack_t](&op.y, i, y)
    for r in range(op.x.m):
        columns_of(op, r, 1, &first, &end)
        f = (<const lapack_t *>(x + r * op.x.rs))[0]
        if op.conj_x:
            f = conj[lapack_t](f)
        scaled_row[lapack_t](f, op.conj_y, y + first, end - first, c + r * ld + first)


cdef int matmul_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const MatmulOp *op = <const MatmulOp *>op_
    cdef Py_ssize_t m = op.x.m, k = op.x.n, n = op.y.n, row, count, first, end, skip, panel
    cdef Py_ssize_t ld = op.out.rs // <Py_ssize_t>sizeof(lapack_t)
    cdef lapack_t *second = <lapack_t *>(<char *>ws + aligned(m * k * sizeof(lapack_t)))
    cdef lapack_t *c = <lapack_t *>at(&op.out, i)
    cdef char tx, ty
    cdef blas_int ldx, ldy
    if k == 0:
        clear_rows[lapack_t](m, n, c, ld)
        return 0
    if k == 1:
        outer_product[lapack_t](op, i, ws)
        clear_rest[lapack_t](op, c, ld)
        return 0
    # The kernels of OpenBLAS for small matrices are slow where the left factor, here y, is transposed.
    cdef bint rows = m >= FEW and n * k <= SMALL * SMALL
    cdef const lapack_t *x = factor[lapack_t](&op.x, i, op.conj_x, False, ws, &tx, &ldx)
    cdef const lapack_t *y = factor[lapack_t](&op.y, i, op.conj_y, rows or n <= THIN, second, &ty, &ldy)
    if n <= THIN and op.triangle == 0 and not op.upper and tx != b'C':
        for row in range(n):
            if tx == b'N':
                gemv[lapack_t](b'T', k, m, x, ldx, y + row, ldy, c + row, ld)
            else:
                gemv[lapack_t](b'N', m, k, x, ldx, y + row, ldy, c + row, ld)
        return 0
    panel = PANEL if op.triangle != 0 or op.upper else m
    row = 0
    while row < m:
        count = min(panel, m - row)
        columns_of(op, row, count, &first, &end)
        skip = min(row, k) if op.upper else 0
        if skip < k and first < end:
            gemm[lapack_t](ty, tx, end - first, count, k - skip,
                           y + (first + skip * ldy if ty == b'N' else first * ldy + skip), ldy,
                           x + (row * ldx + skip if tx == b'N' else row + skip * ldx), ldx, c + row * ld + first, ld)
        elif first < end:
            clear_rows[lapack_t](count, n, c + row * ld, ld)
        row += count
    clear_rest[lapack_t](op, c, ld)
    return 0


cdef inline void clear_rows(Py_ssize_t m, Py_ssize_t n, lapack_t *c, Py_ssize_t ld) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(m):
        memset(c + i * ld, 0, n * sizeof(lapack_t))


cdef inline void clear_rest(const MatmulOp *op, lapack_t *c, Py_ssize_t ld) noexcept nogil:
    """Zeros beside the triangle of a product that is still in the cache."""
    cdef Py_ssize_t i, first, end
    if op.triangle == 0:
        return
    for i in range(op.x.m):
        columns_of(op, i, 1, &first, &end)
        memset(c + i * ld, 0, first * sizeof(lapack_t))
        memset(c + i * ld + end, 0, (op.y.n - end) * sizeof(lapack_t))


def matmul(ndarray x, ndarray y, tuple shape, bint conj_x, bint conj_y, int triangle, Py_ssize_t k, bint upper,
           lanes):
    """x @ y of a kernel dtype, as a new array of the broadcast `shape`; either factor may be conjugated first.

    With `triangle` -1 or 1 the other entries than those below or above the diagonal `k`, itself included, are zero.
    With `upper` x is upper triangular, with zeros below, most of which are not multiplied.
    """
    cdef MatmulOp op
    cdef int t = cnp.PyArray_TYPE(x)
    cdef bint complex_ = t == cnp.NPY_CFLOAT or t == cnp.NPY_CDOUBLE
    cdef ndarray out = new(shape, t)
    if cnp.PyArray_SIZE(out) == 0:
        return out
    op.x = slices(x, 2, out, 2)
    op.y = slices(y, 2, out, 2)
    op.out = slices(out, 2, out, 2)
    op.triangle = triangle
    op.k = k
    op.upper = upper
    op.conj_x = complex_ and conj_x
    op.conj_y = complex_ and conj_y
    cdef lane_fn lane = of_type(t, <lane_fn>matmul_lane[float], <lane_fn>matmul_lane[double],
                                <lane_fn>matmul_lane[complex64_t], <lane_fn>matmul_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.out)
    cdef double order = mean_order(op.x.m, op.x.n, op.y.n)
    cdef size_t ws_bytes = matmul_workspace(&op, cnp.PyArray_ITEMSIZE(x))
    cdef Compact c
    cdef bint whole = op.x.n > 0 and triangle == 0 and not upper
    if whole and compact_serves(&c, COMPACT_MATMUL, LG_OP_matmul, t, order, lane, &op):
        c.m = op.x.m
        c.n = op.y.n
        c.k = op.x.n
        c.flags = (LG_CONJ if op.conj_x else 0) | (LG_CONJ_B if op.conj_y else 0)
        add(&c, &op.x)
        add(&c, &op.y)
        add(&c, &op.out)
        run_compact(&c, nb, ws_bytes, lanes, NULL)
    else:
        run_lanes(lane, &op, nb, ws_bytes, plan_lanes(OP_MATMUL, order, nb, lanes), NULL)
    return out
