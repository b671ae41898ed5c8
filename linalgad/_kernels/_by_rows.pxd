"""Triangular and LU solves with many right-hand sides: by rows from the right, by columns from the left.

Row-major right-hand sides are B^T to BLAS, and op(A) X = B is X^T op(A)^T = B^T: nothing is transposed. Blocks of
the matrix are solved by the kernel of the compact tier, which takes neighbouring right-hand sides at a time, and
products with the solved rows make up the rest. Without that tier BLAS solves from the right.
"""
cimport scipy.linalg.cython_blas as blas

from ._types cimport lapack_t, blas_int, complex64_t
from ._layout cimport conj_all
from ._compact cimport lg_call, lg_entry, compact_entry, LG_CONJ, LG_OP_trsm, LG_TRANS, LG_UNIT, LG_UPPER

cdef enum:
    BLOCK = 64          # the largest matrix of the compact kernel
    MANY = 8            # right-hand sides from which the right side is the faster one


cdef inline const lg_entry *rows_kernel(const lapack_t *tag) noexcept nogil:
    """The kernel of one block, or NULL; `tag` only selects the type."""
    return compact_entry(LG_OP_trsm, 0 if lapack_t is float else 1 if lapack_t is double else
                         2 if lapack_t is complex64_t else 3)


cdef inline void run_block(const lg_entry *kernel, int flags, Py_ssize_t n, Py_ssize_t k, lapack_t *a, Py_ssize_t rs,
                           Py_ssize_t cs, char *b, Py_ssize_t b_rs, Py_ssize_t b_cs, char *x, Py_ssize_t x_rs,
                           Py_ssize_t x_cs) noexcept nogil:
    """X = op(A)^-1 B by `kernel` for n x n A and k right-hand sides; strides are in bytes."""
    cdef lg_call call
    cdef int info = 0
    call.m = call.count = 1
    call.n = n
    call.k = k
    call.flags = flags
    call.info = &info
    call.ws = NULL
    call.x[0].list = call.x[1].list = call.x[2].list = NULL
    call.x[0].base = <char *>a
    call.x[0].rs = rs
    call.x[0].cs = cs
    call.x[1].base = b
    call.x[1].rs = b_rs
    call.x[1].cs = b_cs
    call.x[2].base = x
    call.x[2].rs = x_rs
    call.x[2].cs = x_cs
    kernel.run(&call)


cdef inline void subtract_product(char transa, char transb, blas_int m, blas_int n, blas_int k, lapack_t *a,
                                  blas_int lda, lapack_t *b, blas_int ldb, lapack_t *c, blas_int ldc) noexcept nogil:
    """C := C - op(A) op(B)."""
    cdef lapack_t one = 1, minus = -1
    if lapack_t is float:
        blas.sgemm(&transa, &transb, &m, &n, &k, &minus, a, &lda, b, &ldb, &one, c, &ldc)
    elif lapack_t is double:
        blas.dgemm(&transa, &transb, &m, &n, &k, &minus, a, &lda, b, &ldb, &one, c, &ldc)
    elif lapack_t is complex64_t:
        blas.cgemm(&transa, &transb, &m, &n, &k, &minus, a, &lda, b, &ldb, &one, c, &ldc)
    else:
        blas.zgemm(&transa, &transb, &m, &n, &k, &minus, a, &lda, b, &ldb, &one, c, &ldc)


cdef inline void trsm_right_blocks(const lg_entry *kernel, char uplo, char trans, char diag, blas_int m, blas_int n,
                                   lapack_t *a, blas_int lda, lapack_t *b, blas_int ldb) noexcept nogil:
    """`trsm_right` with the matrix in blocks: T X^T = B^T with T = op(A)^T, and the rows of X^T solved in turn."""
    cdef bint lower = (uplo == b'U') == (trans == b'N')         # of T
    cdef Py_ssize_t blocks = (n + BLOCK - 1) // BLOCK, step, start, size, first, done
    cdef Py_ssize_t item = sizeof(lapack_t)
    # The matrix is handed over as it lies by columns; the kernel transposes it.
    cdef int flags = ((0 if uplo == b'L' else LG_UPPER) | (LG_TRANS if trans == b'N' else 0)
                      | (LG_CONJ if trans == b'C' else 0) | (LG_UNIT if diag == b'U' else 0))
    for step in range(blocks):
        start = (step if lower else blocks - 1 - step) * BLOCK
        size = min(BLOCK, n - start)
        first = 0 if lower else start + size
        done = start if lower else n - first
        if done > 0:
            subtract_product[lapack_t](
                b'N', trans, m, size, done, b + first * ldb, ldb,
                a + (first + start * lda if trans == b'N' else start + first * lda), lda, b + start * ldb, ldb)
        run_block[lapack_t](kernel, flags, size, m, a + start * (lda + 1), item, lda * item,
                            <char *>(b + start * ldb), ldb * item, item, <char *>(b + start * ldb), ldb * item, item)


cdef inline void trsm_right(char uplo, char trans, char diag, blas_int m, blas_int n, lapack_t *a, blas_int lda,
                            lapack_t *b, blas_int ldb) noexcept nogil:
    """B := B op(A)^-1 for triangular A without a zero on its diagonal."""
    cdef char side = b'R'
    cdef lapack_t one = 1
    cdef const lg_entry *kernel = rows_kernel[lapack_t](b)
    if kernel != NULL:
        trsm_right_blocks[lapack_t](kernel, uplo, trans, diag, m, n, a, lda, b, ldb)
        return
    if lapack_t is float:
        blas.strsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    elif lapack_t is double:
        blas.dtrsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    elif lapack_t is complex64_t:
        blas.ctrsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    else:
        blas.ztrsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)


cdef inline void trsm_left(char uplo, char trans, char diag, blas_int n, blas_int k, lapack_t *a, blas_int lda,
                           lapack_t *b, blas_int ldb) noexcept nogil:
    """B := op(A)^-1 B for triangular A without a zero on its diagonal and B by columns, in blocks as `trsm_right`."""
    cdef char side = b'L'
    cdef lapack_t one = 1
    cdef const lg_entry *kernel = rows_kernel[lapack_t](b)
    cdef bint lower = (uplo == b'L') == (trans == b'N')         # of op(A)
    cdef Py_ssize_t blocks = (n + BLOCK - 1) // BLOCK, step, start, size, first, done
    cdef Py_ssize_t item = sizeof(lapack_t)
    cdef int flags = ((0 if uplo == b'L' else LG_UPPER) | (LG_TRANS if trans != b'N' else 0)
                      | (LG_CONJ if trans == b'C' else 0) | (LG_UNIT if diag == b'U' else 0))
    if kernel != NULL:
        for step in range(blocks):
            start = (step if lower else blocks - 1 - step) * BLOCK
            size = min(BLOCK, n - start)
            first = 0 if lower else start + size
            done = start if lower else n - first
            if done > 0:
                subtract_product[lapack_t](
                    trans, b'N', size, k, done,
                    a + (start + first * lda if trans == b'N' else first + start * lda), lda, b + first, ldb,
                    b + start, ldb)
            run_block[lapack_t](kernel, flags, size, k, a + start * (lda + 1), item, lda * item, <char *>(b + start),
                                item, ldb * item, <char *>(b + start), item, ldb * item)
    elif lapack_t is float:
        blas.strsm(&side, &uplo, &trans, &diag, &n, &k, &one, a, &lda, b, &ldb)
    elif lapack_t is double:
        blas.dtrsm(&side, &uplo, &trans, &diag, &n, &k, &one, a, &lda, b, &ldb)
    elif lapack_t is complex64_t:
        blas.ctrsm(&side, &uplo, &trans, &diag, &n, &k, &one, a, &lda, b, &ldb)
    else:
        blas.ztrsm(&side, &uplo, &trans, &diag, &n, &k, &one, a, &lda, b, &ldb)


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
