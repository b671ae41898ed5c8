"""Thin wrappers of SciPy's LAPACK: the steps of a real nonsymmetric eigenproblem.

The style is that of _lapack_factor.pxd.
"""
cimport scipy.linalg.cython_lapack as lapack

from ._types cimport blas_int

ctypedef fused real_t:
    float
    double

cdef extern from "_francis.h" nogil:
    ctypedef void lanv2_s(float *, float *, float *, float *, float *, float *, float *, float *, float *,
                          float *) noexcept nogil
    ctypedef void lanv2_d(double *, double *, double *, double *, double *, double *, double *, double *, double *,
                          double *) noexcept nogil
    int francis_s(Py_ssize_t n, Py_ssize_t lo, Py_ssize_t last, float *h, float *wr, float *wi, float *z,
                  lanv2_s *lanv2)
    int francis_d(Py_ssize_t n, Py_ssize_t lo, Py_ssize_t last, double *h, double *wr, double *wi, double *z,
                  lanv2_d *lanv2)


cdef inline int francis(Py_ssize_t n, Py_ssize_t lo, Py_ssize_t last, real_t *h, real_t *wr, real_t *wi,
                        real_t *z) noexcept nogil:
    """Schur form of a Hessenberg matrix; see _francis.h."""
    if real_t is float:
        return francis_s(n, lo, last, h, wr, wi, z, <lanv2_s *>lapack.slanv2)
    else:
        return francis_d(n, lo, last, h, wr, wi, z, <lanv2_d *>lapack.dlanv2)


cdef inline blas_int gebal(char job, blas_int n, real_t *a, blas_int lda, blas_int *ilo, blas_int *ihi,
                           real_t *scale) noexcept nogil:
    """Balance a general matrix by a permutation and a diagonal scaling."""
    cdef blas_int info = 0
    if real_t is float:
        lapack.sgebal(&job, &n, a, &lda, ilo, ihi, scale, &info)
    else:
        lapack.dgebal(&job, &n, a, &lda, ilo, ihi, scale, &info)
    return info


cdef inline blas_int gehrd(blas_int n, blas_int ilo, blas_int ihi, real_t *a, blas_int lda, real_t *tau, real_t *work,
                           blas_int lwork) noexcept nogil:
    """Reduce to Hessenberg form by reflectors, left below the subdiagonal."""
    cdef blas_int info = 0
    if real_t is float:
        lapack.sgehrd(&n, &ilo, &ihi, a, &lda, tau, work, &lwork, &info)
    else:
        lapack.dgehrd(&n, &ilo, &ihi, a, &lda, tau, work, &lwork, &info)
    return info


cdef inline blas_int orghr(blas_int n, blas_int ilo, blas_int ihi, real_t *a, blas_int lda, real_t *tau, real_t *work,
                           blas_int lwork) noexcept nogil:
    """The orthogonal matrix of gehrd."""
    cdef blas_int info = 0
    if real_t is float:
        lapack.sorghr(&n, &ilo, &ihi, a, &lda, tau, work, &lwork, &info)
    else:
        lapack.dorghr(&n, &ilo, &ihi, a, &lda, tau, work, &lwork, &info)
    return info


cdef inline blas_int trevc(char side, blas_int n, real_t *t, blas_int ldt, real_t *vl, blas_int ldvl, real_t *vr,
                           blas_int ldvr, real_t *work) noexcept nogil:
    """Eigenvectors from a Schur form, multiplied by the Schur vectors in vl and vr."""
    cdef blas_int info = 0
    cdef blas_int found = 0
    cdef char howmny = b'B'
    if real_t is float:
        lapack.strevc(&side, &howmny, NULL, &n, t, &ldt, vl, &ldvl, vr, &ldvr, &n, &found, work, &info)
    else:
        lapack.dtrevc(&side, &howmny, NULL, &n, t, &ldt, vl, &ldvl, vr, &ldvr, &n, &found, work, &info)
    return info


cdef inline blas_int gebak(char job, char side, blas_int n, blas_int ilo, blas_int ihi, real_t *scale, blas_int m,
                           real_t *v, blas_int ldv) noexcept nogil:
    """Undo the balancing on eigenvectors."""
    cdef blas_int info = 0
    if real_t is float:
        lapack.sgebak(&job, &side, &n, &ilo, &ihi, scale, &m, v, &ldv, &info)
    else:
        lapack.dgebak(&job, &side, &n, &ilo, &ihi, scale, &m, v, &ldv, &info)
    return info
