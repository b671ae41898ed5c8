"""Thin wrappers of SciPy's LAPACK: QR, SVD and eigenvalues.

One routine for the four types: arguments by value, `info` returned, or/un and sy/he under the real
name. Cython has no type "the real type of lapack_t", so real buffers of complex routines (`w`, `s`,
`rwork`) are `void *` here and cast in the branch that knows; real routines ignore `rwork`. Index the
fused name in a call, `gesdd[lapack_t](b'S', ...)`: without it a character literal does not coerce.
"""
cimport scipy.linalg.cython_blas as blas
cimport scipy.linalg.cython_lapack as lapack

from ._types cimport lapack_t, blas_int, complex64_t


cdef inline blas_int geqrf(blas_int m, blas_int n, lapack_t *a, blas_int lda, lapack_t *tau, lapack_t *work,
                           blas_int lwork) noexcept nogil:
    """QR by Householder reflectors in place."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgeqrf(&m, &n, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dgeqrf(&m, &n, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgeqrf(&m, &n, a, &lda, tau, work, &lwork, &info)
    else:
        lapack.zgeqrf(&m, &n, a, &lda, tau, work, &lwork, &info)
    return info


cdef inline blas_int gelqf(blas_int m, blas_int n, lapack_t *a, blas_int lda, lapack_t *tau, lapack_t *work,
                           blas_int lwork) noexcept nogil:
    """LQ by Householder reflectors in place."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgelqf(&m, &n, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dgelqf(&m, &n, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgelqf(&m, &n, a, &lda, tau, work, &lwork, &info)
    else:
        lapack.zgelqf(&m, &n, a, &lda, tau, work, &lwork, &info)
    return info


cdef inline blas_int geqrt(blas_int m, blas_int n, blas_int nb, lapack_t *a, blas_int lda, lapack_t *t, blas_int ldt,
                           lapack_t *work) noexcept nogil:
    """QR by blocks of nb reflectors in place; `t` keeps their triangular factors side by side."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgeqrt(&m, &n, &nb, a, &lda, t, &ldt, work, &info)
    elif lapack_t is double:
        lapack.dgeqrt(&m, &n, &nb, a, &lda, t, &ldt, work, &info)
    elif lapack_t is complex64_t:
        lapack.cgeqrt(&m, &n, &nb, a, &lda, t, &ldt, work, &info)
    else:
        lapack.zgeqrt(&m, &n, &nb, a, &lda, t, &ldt, work, &info)
    return info


cdef inline void larfb(blas_int m, blas_int n, blas_int k, lapack_t *v, blas_int ldv, lapack_t *t, blas_int ldt,
                       lapack_t *c, blas_int ldc, lapack_t *work, blas_int ldwork) noexcept nogil:
    """Apply k reflectors, columns of `v`, to `c` from the left."""
    cdef char side = b'L', trans = b'N', direct = b'F', storev = b'C'
    if lapack_t is float:
        lapack.slarfb(&side, &trans, &direct, &storev, &m, &n, &k, v, &ldv, t, &ldt, c, &ldc, work, &ldwork)
    elif lapack_t is double:
        lapack.dlarfb(&side, &trans, &direct, &storev, &m, &n, &k, v, &ldv, t, &ldt, c, &ldc, work, &ldwork)
    elif lapack_t is complex64_t:
        lapack.clarfb(&side, &trans, &direct, &storev, &m, &n, &k, v, &ldv, t, &ldt, c, &ldc, work, &ldwork)
    else:
        lapack.zlarfb(&side, &trans, &direct, &storev, &m, &n, &k, v, &ldv, t, &ldt, c, &ldc, work, &ldwork)


cdef inline blas_int geqp3(blas_int m, blas_int n, lapack_t *a, blas_int lda, blas_int *jpvt, lapack_t *tau,
                           lapack_t *work, blas_int lwork, void *rwork) noexcept nogil:
    """QR with column pivoting in place; `jpvt` counts from 1."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgeqp3(&m, &n, a, &lda, jpvt, tau, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dgeqp3(&m, &n, a, &lda, jpvt, tau, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgeqp3(&m, &n, a, &lda, jpvt, tau, work, &lwork, <float *>rwork, &info)
    else:
        lapack.zgeqp3(&m, &n, a, &lda, jpvt, tau, work, &lwork, <double *>rwork, &info)
    return info


cdef inline blas_int orgqr(blas_int m, blas_int n, blas_int k, lapack_t *a, blas_int lda, lapack_t *tau,
                           lapack_t *work, blas_int lwork) noexcept nogil:
    """Q with orthonormal columns from the reflectors of geqrf."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sorgqr(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dorgqr(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cungqr(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    else:
        lapack.zungqr(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    return info


cdef inline blas_int orglq(blas_int m, blas_int n, blas_int k, lapack_t *a, blas_int lda, lapack_t *tau,
                           lapack_t *work, blas_int lwork) noexcept nogil:
    """Q with orthonormal rows from the reflectors of gelqf."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sorglq(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dorglq(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cunglq(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    else:
        lapack.zunglq(&m, &n, &k, a, &lda, tau, work, &lwork, &info)
    return info


cdef inline blas_int gesdd(char jobz, blas_int m, blas_int n, lapack_t *a, blas_int lda, void *s, lapack_t
                           *u, blas_int ldu, lapack_t *vt, blas_int ldvt, lapack_t *work, blas_int lwork,
                           void *rwork, blas_int *iwork) noexcept nogil:
    """SVD by divide and conquer."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgesdd(&jobz, &m, &n, a, &lda, <float *>s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info)
    elif lapack_t is double:
        lapack.dgesdd(&jobz, &m, &n, a, &lda, <double *>s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgesdd(&jobz, &m, &n, a, &lda, <float *>s, u, &ldu, vt, &ldvt, work, &lwork, <float *>rwork,
                      iwork, &info)
    else:
        lapack.zgesdd(&jobz, &m, &n, a, &lda, <double *>s, u, &ldu, vt, &ldvt, work, &lwork,
                      <double *>rwork, iwork, &info)
    return info


cdef inline blas_int gesvd(char jobu, char jobvt, blas_int m, blas_int n, lapack_t *a, blas_int lda, void
                           *s, lapack_t *u, blas_int ldu, lapack_t *vt, blas_int ldvt, lapack_t *work,
                           blas_int lwork, void *rwork) noexcept nogil:
    """SVD by implicit QR."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgesvd(&jobu, &jobvt, &m, &n, a, &lda, <float *>s, u, &ldu, vt, &ldvt, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dgesvd(&jobu, &jobvt, &m, &n, a, &lda, <double *>s, u, &ldu, vt, &ldvt, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgesvd(&jobu, &jobvt, &m, &n, a, &lda, <float *>s, u, &ldu, vt, &ldvt, work, &lwork,
                      <float *>rwork, &info)
    else:
        lapack.zgesvd(&jobu, &jobvt, &m, &n, a, &lda, <double *>s, u, &ldu, vt, &ldvt, work, &lwork,
                      <double *>rwork, &info)
    return info


cdef inline blas_int syevd(char jobz, char uplo, blas_int n, lapack_t *a, blas_int lda, void *w, lapack_t
                           *work, blas_int lwork, void *rwork, blas_int lrwork, blas_int *iwork, blas_int
                           liwork) noexcept nogil:
    """Hermitian eigenvalues and vectors by divide and conquer."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssyevd(&jobz, &uplo, &n, a, &lda, <float *>w, work, &lwork, iwork, &liwork, &info)
    elif lapack_t is double:
        lapack.dsyevd(&jobz, &uplo, &n, a, &lda, <double *>w, work, &lwork, iwork, &liwork, &info)
    elif lapack_t is complex64_t:
        lapack.cheevd(&jobz, &uplo, &n, a, &lda, <float *>w, work, &lwork, <float *>rwork, &lrwork, iwork,
                      &liwork, &info)
    else:
        lapack.zheevd(&jobz, &uplo, &n, a, &lda, <double *>w, work, &lwork, <double *>rwork, &lrwork, iwork,
                      &liwork, &info)
    return info


cdef inline blas_int sytrd(char uplo, blas_int n, lapack_t *a, blas_int lda, void *d, void *e, lapack_t *tau,
                           lapack_t *work, blas_int lwork) noexcept nogil:
    """Hermitian to tridiagonal by Householder reflectors in place."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssytrd(&uplo, &n, a, &lda, <float *>d, <float *>e, tau, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dsytrd(&uplo, &n, a, &lda, <double *>d, <double *>e, tau, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.chetrd(&uplo, &n, a, &lda, <float *>d, <float *>e, tau, work, &lwork, &info)
    else:
        lapack.zhetrd(&uplo, &n, a, &lda, <double *>d, <double *>e, tau, work, &lwork, &info)
    return info


cdef inline blas_int ormtr(char uplo, blas_int m, blas_int n, lapack_t *a, blas_int lda, lapack_t *tau, lapack_t *c,
                           blas_int ldc, lapack_t *work, blas_int lwork) noexcept nogil:
    """C := Q C for the Q of `sytrd`."""
    cdef blas_int info = 0
    cdef char side = b'L', trans = b'N'
    if lapack_t is float:
        lapack.sormtr(&side, &uplo, &trans, &m, &n, a, &lda, tau, c, &ldc, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dormtr(&side, &uplo, &trans, &m, &n, a, &lda, tau, c, &ldc, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cunmtr(&side, &uplo, &trans, &m, &n, a, &lda, tau, c, &ldc, work, &lwork, &info)
    else:
        lapack.zunmtr(&side, &uplo, &trans, &m, &n, a, &lda, tau, c, &ldc, work, &lwork, &info)
    return info


cdef inline blas_int syev(char jobz, char uplo, blas_int n, lapack_t *a, blas_int lda, void *w, lapack_t
                          *work, blas_int lwork, void *rwork) noexcept nogil:
    """Hermitian eigenvalues and vectors by implicit QL."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssyev(&jobz, &uplo, &n, a, &lda, <float *>w, work, &lwork, &info)
    elif lapack_t is double:
        lapack.dsyev(&jobz, &uplo, &n, a, &lda, <double *>w, work, &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cheev(&jobz, &uplo, &n, a, &lda, <float *>w, work, &lwork, <float *>rwork, &info)
    else:
        lapack.zheev(&jobz, &uplo, &n, a, &lda, <double *>w, work, &lwork, <double *>rwork, &info)
    return info


cdef inline blas_int geev(char jobvl, char jobvr, blas_int n, lapack_t *a, blas_int lda, void *w, void *wi,
                          lapack_t *vl, blas_int ldvl, lapack_t *vr, blas_int ldvr, lapack_t *work, blas_int
                          lwork, void *rwork) noexcept nogil:
    """Eigenvalues and vectors of a general matrix; real routines split `w` into `w` and `wi`."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.sgeev(&jobvl, &jobvr, &n, a, &lda, <float *>w, <float *>wi, vl, &ldvl, vr, &ldvr, work,
                     &lwork, &info)
    elif lapack_t is double:
        lapack.dgeev(&jobvl, &jobvr, &n, a, &lda, <double *>w, <double *>wi, vl, &ldvl, vr, &ldvr, work,
                     &lwork, &info)
    elif lapack_t is complex64_t:
        lapack.cgeev(&jobvl, &jobvr, &n, a, &lda, <lapack_t *>w, vl, &ldvl, vr, &ldvr, work, &lwork, <float *>rwork,
                     &info)
    else:
        lapack.zgeev(&jobvl, &jobvr, &n, a, &lda, <lapack_t *>w, vl, &ldvl, vr, &ldvr, work, &lwork, <double *>rwork,
                     &info)
    return info


cdef inline blas_int syevr(char jobz, char uplo, blas_int n, lapack_t *a, blas_int lda, blas_int il, blas_int iu,
                           void *w, lapack_t *z, blas_int ldz, blas_int *isuppz, lapack_t *work, blas_int lwork,
                           void *rwork, blas_int lrwork, blas_int *iwork, blas_int liwork) noexcept nogil:
    """Hermitian eigenvalues number il to iu (from 1) and vectors by relatively robust representations."""
    cdef blas_int info = 0, found = 0
    cdef char chosen = b'I'
    cdef float s0 = 0
    cdef double d0 = 0
    if lapack_t is float:
        lapack.ssyevr(&jobz, &chosen, &uplo, &n, a, &lda, &s0, &s0, &il, &iu, &s0, &found, <float *>w, z, &ldz,
                      isuppz, work, &lwork, iwork, &liwork, &info)
    elif lapack_t is double:
        lapack.dsyevr(&jobz, &chosen, &uplo, &n, a, &lda, &d0, &d0, &il, &iu, &d0, &found, <double *>w, z, &ldz,
                      isuppz, work, &lwork, iwork, &liwork, &info)
    elif lapack_t is complex64_t:
        lapack.cheevr(&jobz, &chosen, &uplo, &n, a, &lda, &s0, &s0, &il, &iu, &s0, &found, <float *>w, z, &ldz,
                      isuppz, work, &lwork, <float *>rwork, &lrwork, iwork, &liwork, &info)
    else:
        lapack.zheevr(&jobz, &chosen, &uplo, &n, a, &lda, &d0, &d0, &il, &iu, &d0, &found, <double *>w, z, &ldz,
                      isuppz, work, &lwork, <double *>rwork, &lrwork, iwork, &liwork, &info)
    return info


cdef inline blas_int sygst(blas_int itype, char uplo, blas_int n, lapack_t *a, blas_int lda, lapack_t *b,
                           blas_int ldb) noexcept nogil:
    """Reduce a definite generalized eigenproblem to a standard one; `b` has the Cholesky factor."""
    cdef blas_int info = 0
    if lapack_t is float:
        lapack.ssygst(&itype, &uplo, &n, a, &lda, b, &ldb, &info)
    elif lapack_t is double:
        lapack.dsygst(&itype, &uplo, &n, a, &lda, b, &ldb, &info)
    elif lapack_t is complex64_t:
        lapack.chegst(&itype, &uplo, &n, a, &lda, b, &ldb, &info)
    else:
        lapack.zhegst(&itype, &uplo, &n, a, &lda, b, &ldb, &info)
    return info


cdef inline void trmm(char side, char uplo, char trans, char diag, blas_int m, blas_int n, lapack_t *a,
                      blas_int lda, lapack_t *b, blas_int ldb) noexcept nogil:
    """Multiply b by a triangular matrix in place."""
    cdef lapack_t one = 1
    if lapack_t is float:
        blas.strmm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    elif lapack_t is double:
        blas.dtrmm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    elif lapack_t is complex64_t:
        blas.ctrmm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
    else:
        blas.ztrmm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb)
