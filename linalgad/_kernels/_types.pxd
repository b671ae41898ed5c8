"""Types every kernel shares."""
include "_blas_int.pxi"

ctypedef float complex complex64_t
ctypedef double complex complex128_t

ctypedef fused lapack_t:
    float
    double
    complex64_t
    complex128_t

ctypedef fused real_t:
    float
    double
