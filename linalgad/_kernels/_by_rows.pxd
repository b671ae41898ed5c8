"""Triangular and LU solves with the right-hand sides by rows, from the right.

Row-major right-hand sides are B^T to BLAS, and op(A) X = B is X^T op(A)^T = B^T: nothing is transposed, and
OpenBLAS solves many right-hand sides from the right in half the time it takes from the left.
"""
cimport scipy.linalg.cython_blas as blas

from ._types cimport lapack_t, blas_int, complex64_t
from ._layout cimport conj_all

cdef enum:
    MANY = 8            # right-hand sides from which the right side is the faster one


cdef inline void trsm_right(char uplo, char trans, char diag, blas_int m, blas_int n, lapack_t *a, blas_int lda,
                            lapack_t *b, blas_int ldb) noexcept nogil:
    """B := B op(A)^-1 for triangular A."""
    cdef char side = b'R'
    cdef lapack_t one = 1
    if lapack_t is float:
        blas.strsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    elif lapack_t is double:
        blas.dtrsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    elif lapack_t is complex64_t:
        blas.ctrsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    else:
        blas.ztrsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)


cdef inline void swap_rows(Py_ssize_t r, Py_ssize_t q, Py_ssize_t k, lapack_t *x) noexcept nogil:
    cdef Py_ssize_t c
    cdef lapack_t t
    if r == q:
        return
    for c in range(k):
        t = x[r * k + c]
        x[r * k + c] = x[q * k + c]
        x[q * k + c] = t


cdef inline void lu_solve_rows(char trans, Py_ssize_t n, Py_ssize_t k, lapack_t *a, blas_int ld, const blas_int *ipiv,
                               lapack_t *x) noexcept nogil:
    """Solve op(A) X = B in place for n x k row-major X, by column-major factors and row interchanges from 1.

    With A = P^T L U the plain system is X^T U^T L^T = (P B)^T, the transposed one (P X)^T L U = B^T, and the
    Hermitian one that of the conjugates.
    """
    cdef Py_ssize_t i
    if trans == b'N':
        for i in range(n):
            swap_rows[lapack_t](i, ipiv[i] - 1, k, x)
        trsm_right[lapack_t](b'L', b'T', b'U', k, n, a, ld, x, k)
        trsm_right[lapack_t](b'U', b'T', b'N', k, n, a, ld, x, k)
        return
    if trans == b'C':
        conj_all[lapack_t](x, n * k)
    trsm_right[lapack_t](b'U', b'N', b'N', k, n, a, ld, x, k)
    trsm_right[lapack_t](b'L', b'N', b'U', k, n, a, ld, x, k)
    for i in range(n - 1, -1, -1):
        swap_rows[lapack_t](i, ipiv[i] - 1, k, x)
    if trans == b'C':
        conj_all[lapack_t](x, n * k)
