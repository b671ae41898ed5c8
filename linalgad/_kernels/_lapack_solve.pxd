"""Thin wrappers of SciPy's LAPACK: linear systems.

One routine for the four types: arguments by value, `info` returned, or/un and sy/he under the real
name. Cython has no type "the real type of lapack_t", so real buffers of complex routines (`w`, `s`,
`rwork`) are `void *` here and cast in the branch that knows; real routines ignore `rwork`. Index the
fused name in a call, `gesdd[lapack_t](b'S', ...)`: without it a character literal does not coerce.
"""
cimport scipy.linalg.cython_lapack as lapack

from ._types cimport lapack_t, blas_int, complex64_t


cdef inline blas_int potrf(char uplo, blas_int n, lapack_t *a, blas_int lda) noexcept nogil:
    """Cholesky factor in place."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.spotrf(&uplo, &n, a, &lda, &info)
    elif lapack_t is double:
        lapack.dpotrf(&uplo, &n, a, &lda, &info)
    elif lapack_t is complex64_t:
        lapack.cpotrf(&uplo, &n, a, &lda, &info)
    else:
        lapack.zpotrf(&uplo, &n, a, &lda, &info)
    return info


cdef inline blas_int potrs(char uplo, blas_int n, blas_int nrhs, lapack_t *a, blas_int lda, lapack_t *b,
                           blas_int ldb) noexcept nogil:
    """Solve with a Cholesky factor."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.spotrs(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dpotrs(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.cpotrs(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info)
    else:
        lapack.zpotrs(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info)
    return info


cdef inline blas_int potri(char uplo, blas_int n, lapack_t *a, blas_int lda) noexcept nogil:
    """Inverse from a Cholesky factor, one triangle."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.spotri(&uplo, &n, a, &lda, &info)
    elif lapack_t is double:
        lapack.dpotri(&uplo, &n, a, &lda, &info)
    elif lapack_t is complex64_t:
        lapack.cpotri(&uplo, &n, a, &lda, &info)
    else:
        lapack.zpotri(&uplo, &n, a, &lda, &info)
    return info


cdef inline blas_int getrf(blas_int m, blas_int n, lapack_t *a, blas_int lda, blas_int
                           *ipiv) noexcept nogil:
    """LU with partial pivoting in place."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgetrf(&m, &n, a, &lda, ipiv, &info)
    elif lapack_t is double:
        lapack.dgetrf(&m, &n, a, &lda, ipiv, &info)
    elif lapack_t is complex64_t:
        lapack.cgetrf(&m, &n, a, &lda, ipiv, &info)
    else:
        lapack.zgetrf(&m, &n, a, &lda, ipiv, &info)
    return info


cdef inline blas_int getrs(char trans, blas_int n, blas_int nrhs, lapack_t *a, blas_int lda, blas_int *ipiv,
                           lapack_t *b, blas_int ldb) noexcept nogil:
    """Solve with an LU factorisation."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgetrs(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dgetrs(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.cgetrs(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    else:
        lapack.zgetrs(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    return info


cdef inline blas_int getri(blas_int n, lapack_t *a, blas_int lda, blas_int *ipiv, lapack_t *work, blas_int
                           lwork) noexcept nogil:
    """Inverse from an LU factorisation in place."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgetri(&n, a, &lda, ipiv, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dgetri(&n, a, &lda, ipiv, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgetri(&n, a, &lda, ipiv, work, &lwork, &info)
    else:
        lapack.zgetri(&n, a, &lda, ipiv, work, &lwork, &info)
    return info


cdef inline blas_int sytrf(char uplo, blas_int n, lapack_t *a, blas_int lda, blas_int *ipiv, lapack_t *work,
                           blas_int lwork) noexcept nogil:
    """Bunch-Kaufman factorisation of a symmetric matrix (also complex symmetric)."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssytrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dsytrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.csytrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    else:
        lapack.zsytrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    return info


cdef inline blas_int sytrs(char uplo, blas_int n, blas_int nrhs, lapack_t *a, blas_int lda, blas_int *ipiv,
                           lapack_t *b, blas_int ldb) noexcept nogil:
    """Solve with a symmetric Bunch-Kaufman factorisation."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssytrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dsytrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.csytrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    else:
        lapack.zsytrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    return info


cdef inline blas_int hetrf(char uplo, blas_int n, lapack_t *a, blas_int lda, blas_int *ipiv, lapack_t *work,
                           blas_int lwork) noexcept nogil:
    """Bunch-Kaufman factorisation of a Hermitian matrix."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssytrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dsytrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.chetrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    else:
        lapack.zhetrf(&uplo, &n, a, &lda, ipiv, work, &lwork, &info)
    return info


cdef inline blas_int hetrs(char uplo, blas_int n, blas_int nrhs, lapack_t *a, blas_int lda, blas_int *ipiv,
                           lapack_t *b, blas_int ldb) noexcept nogil:
    """Solve with a Hermitian Bunch-Kaufman factorisation."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssytrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dsytrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.chetrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    else:
        lapack.zhetrs(&uplo, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info)
    return info


cdef inline blas_int gtsv(blas_int n, blas_int nrhs, lapack_t *dl, lapack_t *d, lapack_t *du, lapack_t *b,
                          blas_int ldb) noexcept nogil:
    """Solve a tridiagonal system."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgtsv(&n, &nrhs, dl, d, du, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dgtsv(&n, &nrhs, dl, d, du, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.cgtsv(&n, &nrhs, dl, d, du, b, &ldb, &info)
    else:
        lapack.zgtsv(&n, &nrhs, dl, d, du, b, &ldb, &info)
    return info


cdef inline blas_int trtrs(char uplo, char trans, char diag, blas_int n, blas_int nrhs, lapack_t *a,
                           blas_int lda, lapack_t *b, blas_int ldb) noexcept nogil:
    """Solve a triangular system; `info` names the first zero on the diagonal."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.strtrs(&uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dtrtrs(&uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.ctrtrs(&uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &ldb, &info)
    else:
        lapack.ztrtrs(&uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &ldb, &info)
    return info
