from ._types cimport lapack_t
from ._layout cimport Slices

# What becomes of the main diagonal of a lower triangle.
cdef enum Diagonal:
    KEPT
    HALVED              # half the real part
    ONES

# What becomes of an entry below the diagonal and of its mirror image, by the sum and the difference of the two.
cdef enum Reflection:
    HERMITIAN           # both halves of x + x^H
    SKEW                # both halves of x - x^H
    TWIST               # x below, -x^H above
    UNTWIST             # x - x^H below, zero above
    MIRROR              # x below, x^H above


cdef struct PassOp:
    Slices x, out, rows
    int kind            # a Diagonal, a Reflection, or for rows 1 to put them
    Py_ssize_t k


cdef int lower_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil
cdef int upper_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil
cdef int reflect_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil
