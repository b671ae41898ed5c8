from ._types cimport lapack_t
from ._layout cimport Slices

cdef struct MatmulOp:
    Slices x, y, out    # the rows of `out` are contiguous
    bint conj_x, conj_y
    int triangle        # what is kept of the product: -1 the lower triangle, 1 the upper one, 0 all
    Py_ssize_t k        # from which diagonal
    bint upper          # x is upper triangular, with zeros below, most of which are not multiplied

cdef size_t matmul_workspace(const MatmulOp *op, size_t item) noexcept nogil
cdef int matmul_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil
