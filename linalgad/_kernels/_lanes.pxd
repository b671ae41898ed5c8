from libc.stddef cimport size_t
cimport numpy as cnp
from numpy cimport ndarray

# One slice of a batch: 0 for success, a positive LAPACK-like code for a numerical failure.
ctypedef int (*lane_fn)(const void *op, Py_ssize_t slice, char *ws) noexcept nogil

cdef struct Plan:
    int lanes       # OpenMP threads for this call
    bint wide       # slices in turn, each with all BLAS threads

# Every op has a row in the tier table, in the order of _lib/_tiers.py.
cdef enum Op:
    OP_CHOLESKY, OP_TRIANGULAR, OP_LU, OP_SOLVE, OP_INV, OP_QR, OP_EIGH, OP_EIGVALSH, OP_EIG, OP_EIGVALS
    OP_SVD, OP_SVDVALS, OP_COPY, OP_MATMUL

cdef int wanted_lanes(lanes) except -1
cdef int useful_lanes(double work_ns, Py_ssize_t batch, int lanes) noexcept
cdef Plan plan_lanes(int op, double order, Py_ssize_t batch, lanes) except *
cdef object run_lanes(lane_fn fn, const void *op, Py_ssize_t batch, size_t ws_bytes, Plan plan, int *info)


cdef inline lane_fn of_type(int typenum, lane_fn s, lane_fn d, lane_fn c, lane_fn z) noexcept:
    """The lane of a kernel type."""
    if typenum == cnp.NPY_FLOAT:
        return s
    if typenum == cnp.NPY_DOUBLE:
        return d
    return c if typenum == cnp.NPY_CFLOAT else z


cdef inline int *codes_pointer(info) except? NULL:
    """Data of the caller's contiguous int32 `info`, or NULL."""
    return NULL if info is None else <int *>cnp.PyArray_DATA(<ndarray?>info)


cdef inline double mean_order(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """Order of the square matrix whose product costs m n k; n itself for a square one, which a root would round."""
    return n if m == n == k else (<double>m * n * k) ** (1.0 / 3)
