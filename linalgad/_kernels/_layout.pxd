"""Strided operands of a batch: where a slice lies, and copies between it and dense workspace.

Workspace matrices are dense and row-major here. A LAPACK routine, which reads memory by columns,
sees their transpose; loading with rows and columns exchanged gives it the matrix itself.
"""
from libc.math cimport fabs, sqrt, frexp, isfinite
from libc.string cimport memcpy
cimport numpy as cnp
from numpy cimport npy_intp, ndarray

from ._pool cimport new_array
from ._types cimport lapack_t, blas_int, complex128_t


cdef extern from *:
    """
    /* to[i, j] = from[i, j] of strided matrices, by the size of an element, and never inlined: among the variables of a
     * caller the inner loop would spill its own. Tiles keep both sides in cache where one runs across the other. */
    #define LG_COPY(name, word)                                                                                     \
        static __attribute__((noinline, unused)) void name(const char *from, Py_ssize_t rs, Py_ssize_t cs,          \
                                                           Py_ssize_t m, Py_ssize_t n, char *to, Py_ssize_t to_rs,  \
                                                           Py_ssize_t to_cs) {                                      \
            for (Py_ssize_t ib = 0; ib < m; ib += 16)                                                               \
                for (Py_ssize_t jb = 0; jb < n; jb += 16) {                                                         \
                    const Py_ssize_t ie = ib + 16 < m ? ib + 16 : m, count = n - jb < 16 ? n - jb : 16;             \
                    for (Py_ssize_t i = ib; i < ie; i++) {                                                          \
                        const char *p = from + i * rs + jb * cs;                                                    \
                        char *q = to + i * to_rs + jb * to_cs;                                                      \
                        for (Py_ssize_t j = 0; j < count; j++, p += cs, q += to_cs) *(word *)q = *(const word *)p;  \
                    }                                                                                               \
                }                                                                                                   \
        }
    typedef unsigned lg_word4 __attribute__((may_alias));
    typedef unsigned long long lg_word8 __attribute__((may_alias));
    typedef struct { lg_word8 a, b; } __attribute__((may_alias)) lg_word16;
    LG_COPY(lg_copy_4, lg_word4)
    LG_COPY(lg_copy_8, lg_word8)
    LG_COPY(lg_copy_16, lg_word16)
    """
    void lg_copy_4(const char *p, npy_intp rs, npy_intp cs, Py_ssize_t m, Py_ssize_t n, char *to, npy_intp to_rs,
                   npy_intp to_cs) noexcept nogil
    void lg_copy_8(const char *p, npy_intp rs, npy_intp cs, Py_ssize_t m, Py_ssize_t n, char *to, npy_intp to_rs,
                   npy_intp to_cs) noexcept nogil
    void lg_copy_16(const char *p, npy_intp rs, npy_intp cs, Py_ssize_t m, Py_ssize_t n, char *to, npy_intp to_rs,
                    npy_intp to_cs) noexcept nogil


cdef struct Slices:
    char *data
    const npy_intp *shape       # of the operand's own batch axes
    const npy_intp *strides
    int nd
    const npy_intp *bshape      # of the batch axes of the call
    int bnd
    bint uniform                # slice i lies at data + i * step
    npy_intp step
    Py_ssize_t m, n             # core
    npy_intp rs, cs             # bytes from row to row, from column to column


cdef inline Slices slices(ndarray a, int core, ndarray ref, int ref_core) noexcept:
    """View `a` as a stack of cores (`core` trailing axes) over the batch axes of `ref`."""
    cdef Slices s
    cdef int k, j
    cdef npy_intp stride, extent, acc = 1
    cdef bint first = True
    s.data = <char *>cnp.PyArray_DATA(a)
    s.shape = cnp.PyArray_DIMS(a)
    s.strides = cnp.PyArray_STRIDES(a)
    s.nd = cnp.PyArray_NDIM(a) - core
    s.bshape = cnp.PyArray_DIMS(ref)
    s.bnd = cnp.PyArray_NDIM(ref) - ref_core
    s.m = s.shape[s.nd] if core > 0 else 1
    s.n = s.shape[s.nd + 1] if core > 1 else 1
    s.rs = s.strides[s.nd] if core > 0 else 0
    s.cs = s.strides[s.nd + 1] if core > 1 else 0
    s.uniform = True
    s.step = 0
    for k in range(1, s.bnd + 1):
        extent = s.bshape[s.bnd - k]
        if extent == 1:
            continue
        j = s.nd - k
        stride = s.strides[j] if j >= 0 and s.shape[j] != 1 else 0
        if first:
            s.step = stride
            first = False
        elif stride != s.step * acc:
            s.uniform = False
        acc *= extent
    return s


cdef inline char *at(const Slices *s, Py_ssize_t i) noexcept nogil:
    """Where slice i begins."""
    cdef npy_intp offset = 0
    cdef int k, j
    if s.uniform:
        return s.data + i * s.step
    for k in range(1, s.bnd + 1):
        j = s.nd - k
        if j >= 0 and s.shape[j] != 1:
            offset += (i % s.bshape[s.bnd - k]) * s.strides[j]
        i = i // s.bshape[s.bnd - k]
    return s.data + offset


cdef inline Py_ssize_t batch_size(const Slices *s) noexcept nogil:
    cdef Py_ssize_t total = 1
    cdef int k
    for k in range(s.bnd):
        total *= s.bshape[k]
    return total


cdef inline void copy(const char *p, npy_intp rs, npy_intp cs, Py_ssize_t m, Py_ssize_t n, char *to, npy_intp to_rs,
                      npy_intp to_cs, const lapack_t *tag) noexcept nogil:
    """to[i, j] = p[i, j] for strided m x n matrices; `tag` only selects the type."""
    cdef npy_intp item = sizeof(lapack_t)
    cdef Py_ssize_t i
    if cs == item and to_cs == item:
        if rs == n * item and to_rs == n * item:
            memcpy(to, p, m * n * item)
        else:
            for i in range(m):
                memcpy(to + i * to_rs, p + i * rs, n * item)
    elif lapack_t is float:
        lg_copy_4(p, rs, cs, m, n, to, to_rs, to_cs)
    elif lapack_t is complex128_t:
        lg_copy_16(p, rs, cs, m, n, to, to_rs, to_cs)
    else:
        lg_copy_8(p, rs, cs, m, n, to, to_rs, to_cs)


cdef inline void load(const char *p, npy_intp rs, npy_intp cs, Py_ssize_t m, Py_ssize_t n,
                      lapack_t *dst) noexcept nogil:
    """dst[i, j] = p[i, j] for a strided m x n source and a dense row-major destination."""
    copy[lapack_t](p, rs, cs, m, n, <char *>dst, n * sizeof(lapack_t), sizeof(lapack_t), dst)


cdef inline void store(char *p, npy_intp rs, npy_intp cs, Py_ssize_t m, Py_ssize_t n,
                       const lapack_t *src) noexcept nogil:
    """p[i, j] = src[i, j] for a dense row-major source and a strided m x n destination."""
    cdef npy_intp item = sizeof(lapack_t)
    if cs == item:
        copy[lapack_t](<const char *>src, n * item, item, m, n, p, rs, cs, src)
    else:       # down the columns, which are most often what is contiguous in the destination
        copy[lapack_t](<const char *>src, item, n * item, n, m, p, cs, rs, src)


cdef inline void load_slice(const Slices *s, Py_ssize_t i, lapack_t *dst) noexcept nogil:
    """Row-major copy of slice i; LAPACK reads it as the transpose."""
    load[lapack_t](at(s, i), s.rs, s.cs, s.m, s.n, dst)


cdef inline void load_slice_t(const Slices *s, Py_ssize_t i, lapack_t *dst) noexcept nogil:
    """Column-major copy of slice i; LAPACK reads it as it is."""
    load[lapack_t](at(s, i), s.cs, s.rs, s.n, s.m, dst)


cdef inline void store_slice(const Slices *s, Py_ssize_t i, const lapack_t *src) noexcept nogil:
    store[lapack_t](at(s, i), s.rs, s.cs, s.m, s.n, src)


cdef inline void store_slice_t(const Slices *s, Py_ssize_t i, const lapack_t *src) noexcept nogil:
    """Write slice i from column-major memory."""
    store[lapack_t](at(s, i), s.cs, s.rs, s.n, s.m, src)


cdef inline bint leads(npy_intp stride, Py_ssize_t n, npy_intp item) noexcept nogil:
    """Whether a stride in bytes is a leading dimension LAPACK takes, of at least n elements."""
    cdef npy_intp ld = stride // item
    return ld * item == stride and ld >= max(n, 1) and <npy_intp><blas_int>ld == ld


cdef inline lapack_t *operand(const Slices *s, Py_ssize_t i, lapack_t *buffer, bint *by_rows,
                              blas_int *ld) noexcept nogil:
    """Slice i for reading only: in place if its rows or columns are contiguous, else copied by rows."""
    cdef npy_intp item = sizeof(lapack_t)
    if s.cs == item and leads(s.rs, s.n, item):
        by_rows[0] = True
        ld[0] = s.rs // item
        return <lapack_t *>at(s, i)
    if s.rs == item and leads(s.cs, s.m, item):
        by_rows[0] = False
        ld[0] = s.cs // item
        return <lapack_t *>at(s, i)
    by_rows[0] = True
    ld[0] = max(s.n, 1)
    load_slice[lapack_t](s, i, buffer)
    return buffer


cdef inline int zero_on_diagonal(const lapack_t *a, Py_ssize_t n, Py_ssize_t ld) noexcept nogil:
    """Position, from 1, of the first zero on the diagonal of a stored factor; 0 if there is none."""
    cdef Py_ssize_t i
    for i in range(n):
        if a[i * ld + i] == 0:
            return i + 1
    return 0


cdef inline void fill_nan(const Slices *s, Py_ssize_t i, lapack_t *tag) noexcept nogil:
    """Fill slice i with NaN; `tag` only selects the type."""
    cdef Py_ssize_t r, c
    cdef char *p = at(s, i)
    cdef double nan = <double>float_nan()
    for r in range(s.m):
        for c in range(s.n):
            if lapack_t is float or lapack_t is double:
                (<lapack_t *>(p + r * s.rs + c * s.cs))[0] = <lapack_t>nan
            else:
                (<lapack_t *>(p + r * s.rs + c * s.cs))[0].real = nan
                (<lapack_t *>(p + r * s.rs + c * s.cs))[0].imag = nan


cdef inline double float_nan() noexcept nogil:
    cdef double zero = 0.0
    return zero / zero


cdef inline bint all_finite(const lapack_t *x, Py_ssize_t count) noexcept nogil:
    """Whether no entry is NaN or infinite: x - x is 0 for the finite ones alone."""
    cdef Py_ssize_t i
    cdef double a0 = 0, a1 = 0, a2 = 0, a3 = 0
    if lapack_t is float or lapack_t is double:
        for i in range(0, count - 3, 4):
            a0 += x[i] - x[i]
            a1 += x[i + 1] - x[i + 1]
            a2 += x[i + 2] - x[i + 2]
            a3 += x[i + 3] - x[i + 3]
        for i in range(count - count % 4, count):
            a0 += x[i] - x[i]
    else:
        for i in range(count):
            a0 += x[i].real - x[i].real
            a1 += x[i].imag - x[i].imag
    return a0 + a1 + a2 + a3 == 0


cdef inline double modulus(lapack_t x) noexcept nogil:
    if lapack_t is float or lapack_t is double:
        return fabs(x)
    else:
        return sqrt(<double>x.real * x.real + <double>x.imag * x.imag)


cdef inline lapack_t conj(lapack_t x) noexcept nogil:
    if lapack_t is float or lapack_t is double:
        return x
    else:
        x.imag = -x.imag
        return x


cdef inline void conj_all(lapack_t *x, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    if lapack_t is not float and lapack_t is not double:
        for i in range(count):
            x[i].imag = -x[i].imag


cdef inline void clear_triangle(bint upper, Py_ssize_t n, lapack_t *a) noexcept nogil:
    """Zero the strict upper (lower) triangle of a dense row-major n x n matrix."""
    cdef Py_ssize_t i, j
    for i in range(n):
        if upper:
            for j in range(i + 1, n):
                a[i * n + j] = 0
        else:
            for j in range(i):
                a[i * n + j] = 0


cdef inline void identity(Py_ssize_t m, Py_ssize_t n, lapack_t *a) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(m):
        for j in range(n):
            a[i * n + j] = i == j


cdef inline size_t aligned(size_t bytes) noexcept nogil:
    """Round up to 64 bytes: parts of a workspace start on cache lines."""
    return (bytes + 63) & ~<size_t>63


cdef inline ndarray empty(ndarray a, int core, int ncore, Py_ssize_t d0, Py_ssize_t d1, int typenum):
    """A new array with the batch axes of `a` (all but its last `core`) and a core of its own."""
    cdef npy_intp dims[64]
    cdef int k, nb = cnp.PyArray_NDIM(a) - core
    for k in range(nb):
        dims[k] = cnp.PyArray_DIM(a, k)
    if ncore > 0:
        dims[nb] = d0
    if ncore > 1:
        dims[nb + 1] = d1
    return new_array(nb + ncore, dims, typenum)


cdef inline int real_of(int typenum) noexcept nogil:
    """The type number of the real type that belongs to a kernel type."""
    if typenum == cnp.NPY_CFLOAT:
        return cnp.NPY_FLOAT
    if typenum == cnp.NPY_CDOUBLE:
        return cnp.NPY_DOUBLE
    return typenum
