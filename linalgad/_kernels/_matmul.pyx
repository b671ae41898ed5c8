"""Products of stacks of matrices, a BLAS call a slice.

A row-major matrix is its transpose to BLAS, so C = X Y is formed as C^T = Y^T X^T. A factor whose rows or columns are
contiguous is read where it lies, so that transposed views cost nothing; conjugation comes with the transposition.
"""
from libc.string cimport memset
cimport numpy as cnp
cimport scipy.linalg.cython_blas as blas
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport Slices, slices, load_slice, operand, batch_size, aligned, conj_all, new, at
from ._compact cimport Compact, add, compact_serves, run_compact, COMPACT_MATMUL, LG_OP_matmul, LG_CONJ, LG_CONJ_B
from ._lanes cimport lane_fn, of_type, plan_lanes, run_lanes, OP_MATMUL

cnp.import_array()


cdef enum:
    FEW = 16            # rows of x below which a copy of y costs more than it saves
    SMALL = 100         # order of y up to which it saves anything


cdef struct MatmulOp:
    Slices x, y, out
    bint conj_x, conj_y
    int triangle        # what is kept of the product: -1 the lower triangle, 1 the upper one, 0 all
    Py_ssize_t k        # from which diagonal


cdef inline size_t matmul_workspace(const MatmulOp *op, size_t item) noexcept nogil:
    """Bytes of one lane: x | y."""
    return aligned(op.x.m * op.x.n * item) + aligned(op.y.m * op.y.n * item)


cdef inline void gemm(char transa, char transb, blas_int m, blas_int n, blas_int k, const lapack_t *a, blas_int lda,
                      const lapack_t *b, blas_int ldb, lapack_t *c, blas_int ldc) noexcept nogil:
    """C := op(A) op(B)."""
    cdef lapack_t one = 1, zero = 0
    if lapack_t is float:
        blas.sgemm(&transa, &transb, &m, &n, &k, &one, <float *>a, &lda, <float *>b, &ldb, &zero, c, &ldc)
    elif lapack_t is double:
        blas.dgemm(&transa, &transb, &m, &n, &k, &one, <double *>a, &lda, <double *>b, &ldb, &zero, c, &ldc)
    elif lapack_t is complex64_t:
        blas.cgemm(&transa, &transb, &m, &n, &k, &one, <complex64_t *>a, &lda, <complex64_t *>b, &ldb, &zero, c, &ldc)
    else:
        blas.zgemm(&transa, &transb, &m, &n, &k, &one, <complex128_t *>a, &lda, <complex128_t *>b, &ldb, &zero, c, &ldc)


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


cdef int matmul_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const MatmulOp *op = <const MatmulOp *>op_
    cdef Py_ssize_t m = op.x.m, k = op.x.n, n = op.y.n
    cdef lapack_t *second = <lapack_t *>(<char *>ws + aligned(m * k * sizeof(lapack_t)))
    cdef lapack_t *c = <lapack_t *>at(&op.out, i)
    cdef char tx, ty
    cdef blas_int ldx, ldy
    if k == 0:
        memset(c, 0, m * n * sizeof(lapack_t))
        return 0
    # The kernels of OpenBLAS for small matrices are slow where the left factor, here y, is transposed.
    cdef bint rows = m >= FEW and n * k <= SMALL * SMALL
    cdef const lapack_t *x = factor[lapack_t](&op.x, i, op.conj_x, False, ws, &tx, &ldx)
    cdef const lapack_t *y = factor[lapack_t](&op.y, i, op.conj_y, rows, second, &ty, &ldy)
    gemm[lapack_t](ty, tx, n, m, k, y, ldy, x, ldx, c, n)
    if op.triangle != 0:
        clear_rest[lapack_t](op.triangle, op.k, m, n, c)
    return 0


cdef inline void clear_rest(int triangle, Py_ssize_t k, Py_ssize_t m, Py_ssize_t n, lapack_t *c) noexcept nogil:
    """Zeros beside the triangle of a product that is still in the cache."""
    cdef Py_ssize_t i, edge
    for i in range(m):
        if triangle < 0:
            edge = min(max(i + k + 1, 0), n)
            memset(c + i * n + edge, 0, (n - edge) * sizeof(lapack_t))
        else:
            memset(c + i * n, 0, min(max(i + k, 0), n) * sizeof(lapack_t))


def matmul(ndarray x, ndarray y, tuple shape, bint conj_x, bint conj_y, int triangle, Py_ssize_t k, lanes):
    """x @ y of a kernel dtype, as a new array of the broadcast `shape`; either factor may be conjugated first.

    With `triangle` -1 or 1 the other entries than those below or above the diagonal `k`, itself included, are zero.
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
    op.conj_x = complex_ and conj_x
    op.conj_y = complex_ and conj_y
    cdef lane_fn lane = of_type(t, <lane_fn>matmul_lane[float], <lane_fn>matmul_lane[double],
                                <lane_fn>matmul_lane[complex64_t], <lane_fn>matmul_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.out)
    cdef double order = (<double>op.x.m * op.x.n * op.y.n) ** (1.0 / 3)
    cdef size_t ws_bytes = matmul_workspace(&op, cnp.PyArray_ITEMSIZE(x))
    cdef Compact c
    if op.x.n > 0 and triangle == 0 and compact_serves(&c, COMPACT_MATMUL, LG_OP_matmul, t, order, lane, &op):
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
