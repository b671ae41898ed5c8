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


cdef inline void trsm(char side, char uplo, char trans, char diag, blas_int m, blas_int n, lapack_t *a, blas_int lda,
                      lapack_t *b, blas_int ldb) noexcept nogil:
    """B := op(A)^-1 B (side L) or B op(A)^-1 (R), as BLAS has it, for A without a zero on its diagonal.

    In blocks this is T X = B by rows of X in turn, from the left with T = op(A), and transposed from the right.
    """
    cdef lapack_t one = 1
    cdef const lg_entry *kernel = rows_kernel[lapack_t](b)
    cdef bint left = side == b'L', plain = trans == b'N'
    cdef bint lower = ((uplo == b'L') == plain) == left         # T
    cdef Py_ssize_t order = m if left else n, count = n if left else m, item = sizeof(lapack_t)
    cdef Py_ssize_t blocks = (order + BLOCK - 1) // BLOCK, step, start, size, first, done, r, c
    cdef Py_ssize_t row = 1 if left else ldb, column = ldb if left else 1       # from one number of X to the next
    cdef lapack_t *block
    # The matrix is handed over as it lies by columns, and transposed by the kernel where T is.
    cdef int flags = ((0 if uplo == b'L' else LG_UPPER) | (0 if plain == left else LG_TRANS)
                      | (LG_CONJ if trans == b'C' else 0) | (LG_UNIT if diag == b'U' else 0))
    if kernel != NULL:
        for step in range(blocks):
            start = (step if lower else blocks - 1 - step) * BLOCK
            size = min(BLOCK, order - start)
            first = 0 if lower else start + size
            done = start if lower else order - first
            r, c = (start, first) if left else (first, start)
            block = a + (r + c * lda if plain else c + r * lda)
            if done > 0 and left:
                subtract_product[lapack_t](trans, b'N', size, count, done, block, lda, b + first, ldb, b + start, ldb)
            elif done > 0:
                subtract_product[lapack_t](b'N', trans, count, size, done, b + first * ldb, ldb, block, lda,
                                           b + start * ldb, ldb)
            run_block[lapack_t](kernel, flags, size, count, a + start * (lda + 1), item, lda * item,
                                <char *>(b + start * row), row * item, column * item, <char *>(b + start * row),
                                row * item, column * item)
    elif lapack_t is float:
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
        trsm[lapack_t](b'R', b'L', b'T', b'U', k, n, a, ld, x, k)
        trsm[lapack_t](b'R', b'U', b'T', b'N', k, n, a, ld, x, k)
        return
    if trans == b'C':
        conj_all[lapack_t](x, n * k)
    trsm[lapack_t](b'R', b'U', b'N', b'N', k, n, a, ld, x, k)
    trsm[lapack_t](b'R', b'L', b'N', b'U', k, n, a, ld, x, k)
    for i in range(n - 1, -1, -1):
        swap_rows[lapack_t](i, ipiv[i] - 1, k, x)
    if trans == b'C':
        conj_all[lapack_t](x, n * k)
