cimport scipy.linalg.cython_blas as blas

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport Slices

cdef struct MatmulOp:
    Slices x, y, out    # the rows of `out` are contiguous
    bint conj_x, conj_y
    int triangle        # what is kept of the product: -1 the lower triangle, 1 the upper one, 0 all
    Py_ssize_t k        # from which diagonal
    bint upper          # x is upper triangular, with zeros below, most of which are not multiplied

cdef size_t matmul_workspace(const MatmulOp *op, size_t item) noexcept nogil
cdef int matmul_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil


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
