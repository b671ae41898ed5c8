from ._types cimport lapack_t
from ._layout cimport Slices

cdef struct TriangularOp:
    Slices a, b, out
    bint lower, unit
    int trans           # 0: a, 1: a^T, 2: a^H

cdef size_t triangular_workspace(const TriangularOp *op, size_t item) noexcept nogil
cdef int solve_triangular_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil
# The same by columns, which are contiguous in `out`. A matrix with a zero on its diagonal sets the code alone.
cdef int solve_columns_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil
