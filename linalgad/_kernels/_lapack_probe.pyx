"""Python-callable shims over every wrapper of _lapack_solve and _lapack_factor, for tests only.

Indexed by the type, `potrf["double"](0, ...)`, each takes an unused number and then the arguments of the
wrapper, with arrays in the place of pointers (None for NULL) and the codes of characters; it returns what
the wrapper returns.
"""
cimport numpy as cnp
from numpy cimport ndarray

from . cimport _lapack_factor as factor, _lapack_solve as solve
from ._types cimport lapack_t, blas_int

cnp.import_array()

BLAS_INT_BYTES = sizeof(blas_int)


cdef inline void *data(a) except? NULL:
    return NULL if a is None else cnp.PyArray_DATA(<ndarray?>a)


def potrf(lapack_t tag, char uplo, blas_int n, a, blas_int lda):
    return solve.potrf[lapack_t](uplo, n, <lapack_t *>data(a), lda)


def potrs(lapack_t tag, char uplo, blas_int n, blas_int nrhs, a, blas_int lda, b, blas_int ldb):
    return solve.potrs[lapack_t](uplo, n, nrhs, <lapack_t *>data(a), lda, <lapack_t *>data(b), ldb)


def potri(lapack_t tag, char uplo, blas_int n, a, blas_int lda):
    return solve.potri[lapack_t](uplo, n, <lapack_t *>data(a), lda)


def getrf(lapack_t tag, blas_int m, blas_int n, a, blas_int lda, ipiv):
    return solve.getrf[lapack_t](m, n, <lapack_t *>data(a), lda, <blas_int *>data(ipiv))


def getrs(lapack_t tag, char trans, blas_int n, blas_int nrhs, a, blas_int lda, ipiv, b, blas_int ldb):
    return solve.getrs[lapack_t](trans, n, nrhs, <lapack_t *>data(a), lda, <blas_int *>data(ipiv),
                                 <lapack_t *>data(b), ldb)


def getri(lapack_t tag, blas_int n, a, blas_int lda, ipiv, work, blas_int lwork):
    return solve.getri[lapack_t](n, <lapack_t *>data(a), lda, <blas_int *>data(ipiv), <lapack_t *>data(work), lwork)


def sytrf(lapack_t tag, char uplo, blas_int n, a, blas_int lda, ipiv, work, blas_int lwork):
    return solve.sytrf[lapack_t](uplo, n, <lapack_t *>data(a), lda, <blas_int *>data(ipiv), <lapack_t *>data(work),
                                 lwork)


def sytrs(lapack_t tag, char uplo, blas_int n, blas_int nrhs, a, blas_int lda, ipiv, b, blas_int ldb):
    return solve.sytrs[lapack_t](uplo, n, nrhs, <lapack_t *>data(a), lda, <blas_int *>data(ipiv), <lapack_t *>data(b),
                                 ldb)


def hetrf(lapack_t tag, char uplo, blas_int n, a, blas_int lda, ipiv, work, blas_int lwork):
    return solve.hetrf[lapack_t](uplo, n, <lapack_t *>data(a), lda, <blas_int *>data(ipiv), <lapack_t *>data(work),
                                 lwork)


def hetrs(lapack_t tag, char uplo, blas_int n, blas_int nrhs, a, blas_int lda, ipiv, b, blas_int ldb):
    return solve.hetrs[lapack_t](uplo, n, nrhs, <lapack_t *>data(a), lda, <blas_int *>data(ipiv), <lapack_t *>data(b),
                                 ldb)


def gtsv(lapack_t tag, blas_int n, blas_int nrhs, dl, d, du, b, blas_int ldb):
    return solve.gtsv[lapack_t](n, nrhs, <lapack_t *>data(dl), <lapack_t *>data(d), <lapack_t *>data(du),
                                <lapack_t *>data(b), ldb)


def trtrs(lapack_t tag, char uplo, char trans, char diag, blas_int n, blas_int nrhs, a, blas_int lda, b,
          blas_int ldb):
    return solve.trtrs[lapack_t](uplo, trans, diag, n, nrhs, <lapack_t *>data(a), lda, <lapack_t *>data(b), ldb)


def geqrf(lapack_t tag, blas_int m, blas_int n, a, blas_int lda, tau, work, blas_int lwork):
    return factor.geqrf[lapack_t](m, n, <lapack_t *>data(a), lda, <lapack_t *>data(tau), <lapack_t *>data(work),
                                  lwork)


def gelqf(lapack_t tag, blas_int m, blas_int n, a, blas_int lda, tau, work, blas_int lwork):
    return factor.gelqf[lapack_t](m, n, <lapack_t *>data(a), lda, <lapack_t *>data(tau), <lapack_t *>data(work),
                                  lwork)


def geqp3(lapack_t tag, blas_int m, blas_int n, a, blas_int lda, jpvt, tau, work, blas_int lwork, rwork):
    return factor.geqp3[lapack_t](m, n, <lapack_t *>data(a), lda, <blas_int *>data(jpvt), <lapack_t *>data(tau),
                                  <lapack_t *>data(work), lwork, <void *>data(rwork))


def orgqr(lapack_t tag, blas_int m, blas_int n, blas_int k, a, blas_int lda, tau, work, blas_int lwork):
    return factor.orgqr[lapack_t](m, n, k, <lapack_t *>data(a), lda, <lapack_t *>data(tau), <lapack_t *>data(work),
                                  lwork)


def orglq(lapack_t tag, blas_int m, blas_int n, blas_int k, a, blas_int lda, tau, work, blas_int lwork):
    return factor.orglq[lapack_t](m, n, k, <lapack_t *>data(a), lda, <lapack_t *>data(tau), <lapack_t *>data(work),
                                  lwork)


def gesdd(lapack_t tag, char jobz, blas_int m, blas_int n, a, blas_int lda, s, u, blas_int ldu, vt, blas_int ldvt,
          work, blas_int lwork, rwork, iwork):
    return factor.gesdd[lapack_t](jobz, m, n, <lapack_t *>data(a), lda, <void *>data(s), <lapack_t *>data(u), ldu,
                                  <lapack_t *>data(vt), ldvt, <lapack_t *>data(work), lwork, <void *>data(rwork),
                                  <blas_int *>data(iwork))


def gesvd(lapack_t tag, char jobu, char jobvt, blas_int m, blas_int n, a, blas_int lda, s, u, blas_int ldu, vt,
          blas_int ldvt, work, blas_int lwork, rwork):
    return factor.gesvd[lapack_t](jobu, jobvt, m, n, <lapack_t *>data(a), lda, <void *>data(s), <lapack_t *>data(u),
                                  ldu, <lapack_t *>data(vt), ldvt, <lapack_t *>data(work), lwork,
                                  <void *>data(rwork))


def syevd(lapack_t tag, char jobz, char uplo, blas_int n, a, blas_int lda, w, work, blas_int lwork, rwork,
          blas_int lrwork, iwork, blas_int liwork):
    return factor.syevd[lapack_t](jobz, uplo, n, <lapack_t *>data(a), lda, <void *>data(w), <lapack_t *>data(work),
                                  lwork, <void *>data(rwork), lrwork, <blas_int *>data(iwork), liwork)


def sytrd(lapack_t tag, char uplo, blas_int n, a, blas_int lda, d, e, tau, work, blas_int lwork):
    return factor.sytrd[lapack_t](uplo, n, <lapack_t *>data(a), lda, <void *>data(d), <void *>data(e),
                                  <lapack_t *>data(tau), <lapack_t *>data(work), lwork)


def ormtr(lapack_t tag, char uplo, blas_int m, blas_int n, a, blas_int lda, tau, c, blas_int ldc, work, blas_int lwork):
    return factor.ormtr[lapack_t](uplo, m, n, <lapack_t *>data(a), lda, <lapack_t *>data(tau), <lapack_t *>data(c), ldc,
                                  <lapack_t *>data(work), lwork)


def syev(lapack_t tag, char jobz, char uplo, blas_int n, a, blas_int lda, w, work, blas_int lwork, rwork):
    return factor.syev[lapack_t](jobz, uplo, n, <lapack_t *>data(a), lda, <void *>data(w), <lapack_t *>data(work),
                                 lwork, <void *>data(rwork))


def geev(lapack_t tag, char jobvl, char jobvr, blas_int n, a, blas_int lda, w, wi, vl, blas_int ldvl, vr,
         blas_int ldvr, work, blas_int lwork, rwork):
    return factor.geev[lapack_t](jobvl, jobvr, n, <lapack_t *>data(a), lda, <void *>data(w), <void *>data(wi),
                                 <lapack_t *>data(vl), ldvl, <lapack_t *>data(vr), ldvr, <lapack_t *>data(work),
                                 lwork, <void *>data(rwork))


def syevr(lapack_t tag, char jobz, char uplo, blas_int n, a, blas_int lda, blas_int il, blas_int iu, w, z,
          blas_int ldz, isuppz, work, blas_int lwork, rwork, blas_int lrwork, iwork, blas_int liwork):
    return factor.syevr[lapack_t](jobz, uplo, n, <lapack_t *>data(a), lda, il, iu, <void *>data(w),
                                  <lapack_t *>data(z), ldz, <blas_int *>data(isuppz), <lapack_t *>data(work), lwork,
                                  <void *>data(rwork), lrwork, <blas_int *>data(iwork), liwork)


def sygst(lapack_t tag, blas_int itype, char uplo, blas_int n, a, blas_int lda, b, blas_int ldb):
    return factor.sygst[lapack_t](itype, uplo, n, <lapack_t *>data(a), lda, <lapack_t *>data(b), ldb)


def trmm(lapack_t tag, char side, char uplo, char trans, char diag, blas_int m, blas_int n, a, blas_int lda, b,
         blas_int ldb):
    factor.trmm[lapack_t](side, uplo, trans, diag, m, n, <lapack_t *>data(a), lda, <lapack_t *>data(b), ldb)


def geqrt(lapack_t tag, blas_int m, blas_int n, blas_int nb, a, blas_int lda, t, blas_int ldt, work):
    return factor.geqrt[lapack_t](m, n, nb, <lapack_t *>data(a), lda, <lapack_t *>data(t), ldt, <lapack_t *>data(work))


def larfb(lapack_t tag, blas_int m, blas_int n, blas_int k, v, blas_int ldv, t, blas_int ldt, c, blas_int ldc, work,
          blas_int ldwork):
    factor.larfb[lapack_t](m, n, k, <lapack_t *>data(v), ldv, <lapack_t *>data(t), ldt, <lapack_t *>data(c), ldc,
                           <lapack_t *>data(work), ldwork)
