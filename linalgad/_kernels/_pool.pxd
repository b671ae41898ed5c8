from libc.stddef cimport size_t
from numpy cimport ndarray, npy_intp

cdef char *pool_acquire(size_t bytes) noexcept nogil
cdef void pool_release(char *ws) noexcept nogil
cdef ndarray new_array(int nd, npy_intp *dims, int typenum)
cdef ndarray new(tuple shape, int typenum)
