"""The largest modulus among neighbours, for scales and magnitudes."""
from libc.math cimport fabs, fabsf, NAN

from ._types cimport lapack_t, complex64_t


cdef inline double top_of(Py_ssize_t count, const lapack_t *x) noexcept nogil:
    """The largest modulus of real numbers, or of the parts of complex ones; NaN if one is.

    Several maxima at a time, since each waits for the one before, and NaN apart: a maximum that heeds it is no single
    instruction.
    """
    cdef Py_ssize_t i, parts = count if lapack_t is float or lapack_t is double else 2 * count
    cdef int l
    cdef float tops4[8]
    cdef float odd4[8]
    cdef float part4
    cdef double tops8[8]
    cdef double odd8[8]
    cdef double part8, top = 0
    cdef const float *p4 = <const float *>x
    cdef const double *p8 = <const double *>x
    cdef bint odd = False
    if lapack_t is float or lapack_t is complex64_t:
        for l in range(8):
            tops4[l] = odd4[l] = 0
        for i in range(0, parts - 7, 8):
            for l in range(8):
                part4 = fabsf(p4[i + l])
                tops4[l] = part4 if part4 > tops4[l] else tops4[l]
                odd4[l] += part4 - part4
        for i in range(parts - parts % 8, parts):
            part4 = fabsf(p4[i])
            tops4[0] = part4 if part4 > tops4[0] else tops4[0]
            odd4[0] += part4 - part4
        for l in range(8):
            top = max(top, tops4[l])
            odd = odd or odd4[l] != 0
        for i in range(parts if odd else 0):        # infinities are odd too
            if p4[i] != p4[i]:
                return NAN
    else:
        for l in range(8):
            tops8[l] = odd8[l] = 0
        for i in range(0, parts - 7, 8):
            for l in range(8):
                part8 = fabs(p8[i + l])
                tops8[l] = part8 if part8 > tops8[l] else tops8[l]
                odd8[l] += part8 - part8
        for i in range(parts - parts % 8, parts):
            part8 = fabs(p8[i])
            tops8[0] = part8 if part8 > tops8[0] else tops8[0]
            odd8[0] += part8 - part8
        for l in range(8):
            top = max(top, tops8[l])
            odd = odd or odd8[l] != 0
        for i in range(parts if odd else 0):
            if p8[i] != p8[i]:
                return NAN
    return top
