"""The largest modulus among neighbours, for scales and magnitudes."""
from libc.math cimport fabs, NAN

from ._types cimport lapack_t, complex64_t


cdef inline lapack_t larger(lapack_t x, lapack_t y) noexcept nogil:
    """The larger of two real numbers, NaN if one is, as np.maximum."""
    if lapack_t is float or lapack_t is double:
        return x if x >= y or x != x else y
    else:
        return x


cdef inline double top_of(Py_ssize_t count, const lapack_t *x) noexcept nogil:
    """The largest modulus of real numbers, or of the parts of complex ones; NaN if one is.

    Several maxima at a time, since each waits for the one before, and NaN apart: a maximum that heeds it is no single
    instruction.
    """
    cdef lapack_t tops[8]
    cdef lapack_t odd[8]
    cdef lapack_t size
    cdef double top = 0
    cdef Py_ssize_t i
    cdef int l
    if lapack_t is float or lapack_t is double:
        for l in range(8):
            tops[l] = odd[l] = 0
        for i in range(0, count - 7, 8):
            for l in range(8):
                size = <lapack_t>fabs(x[i + l])
                tops[l] = size if size > tops[l] else tops[l]
                odd[l] += size - size
        for i in range(count - count % 8, count):
            size = <lapack_t>fabs(x[i])
            tops[0] = size if size > tops[0] else tops[0]
            odd[0] += size - size
        for l in range(8):
            top = max(top, tops[l])
            odd[0] = odd[0] + odd[l]
        for i in range(count if odd[0] != 0 else 0):    # infinities are odd too
            if x[i] != x[i]:
                return NAN
        return top
    elif lapack_t is complex64_t:
        return top_of[float](2 * count, <const float *>x)
    else:
        return top_of[double](2 * count, <const double *>x)
