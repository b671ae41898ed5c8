"""Workspace lengths: cached queries, and the refusal of those a LAPACK integer cannot count."""
from libc.math cimport ceil, nextafterf, INFINITY

from ._types cimport lapack_t, blas_int, complex64_t


cdef inline object cached_lwork(dict cache, key):
    """A length found before. Shapes are few in practice; a program that tries many must not leak."""
    if len(cache) > 4096:
        cache.clear()
    return cache.get(key)


cdef inline Py_ssize_t whole(lapack_t work) noexcept nogil:
    """The length LAPACK reports in `work[0]`, safe when single precision rounded it down."""
    cdef double r
    if lapack_t is float or lapack_t is double:
        r = work
    else:
        r = work.real
    if lapack_t is float or lapack_t is complex64_t:
        r = nextafterf(<float>r, INFINITY)
    return <Py_ssize_t>ceil(r)


cdef inline int check_elements(op, double count, shape) except -1:
    """Refuse a length that overflows the integers of LAPACK."""
    cdef double limit = 2.0 ** (8 * sizeof(blas_int) - 1) - 1
    if count > limit:
        raise ValueError(f"{op}: a matrix of shape {shape} needs a workspace of about {count:.3g} elements, "
                         f"more than LAPACK's {8 * sizeof(blas_int)}-bit integers can count")
    return 0
