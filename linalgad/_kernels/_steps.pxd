"""The steps of programs that are not kernels of their own: copies, sums, scales, divisions by pairs of a spectrum."""
from libc.math cimport fabs, frexp, hypot, ldexp, isfinite, INFINITY

from ._types cimport lapack_t, complex64_t, complex128_t
from ._layout cimport Slices, conj, load
from ._tops cimport larger, top_of

ctypedef long long word


cdef inline char *entry(const Slices *s, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    return s.data + i * s.rs + j * s.cs


cdef inline void copy(const Slices *to, const Slices *x, bint conjugate, lapack_t *tag) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef lapack_t *d
    for i in range(x.m):
        if to.cs == sizeof(lapack_t):
            d = <lapack_t *>entry(to, i, 0)
            load[lapack_t](x.data + i * x.rs, x.rs, x.cs, 1, x.n, d)
            if conjugate:
                for j in range(x.n):
                    d[j] = conj[lapack_t](d[j])
        else:
            for j in range(x.n):
                (<lapack_t *>entry(to, i, j))[0] = (<lapack_t *>entry(x, i, j))[0]
                if conjugate:
                    (<lapack_t *>entry(to, i, j))[0] = conj[lapack_t]((<lapack_t *>entry(to, i, j))[0])


cdef inline void combine(const Slices *to, double fx, const Slices *x, double fy, const Slices *y,
                         lapack_t *tag) noexcept nogil:
    """to = fx x + fy y, which may be either of them; without y if that is NULL."""
    cdef Py_ssize_t i, j
    cdef lapack_t gx = <lapack_t>fx, gy = <lapack_t>fy, value
    cdef lapack_t *d
    cdef lapack_t *p
    cdef lapack_t *q
    cdef Py_ssize_t item = sizeof(lapack_t)
    cdef bint rows = to.cs == item and x.cs == item and (y == NULL or y.cs == item)
    for i in range(x.m):
        d = <lapack_t *>entry(to, i, 0)
        p = <lapack_t *>entry(x, i, 0)
        q = NULL if y == NULL else <lapack_t *>entry(y, i, 0)
        if not rows:
            for j in range(x.n):
                value = gx * (<lapack_t *>entry(x, i, j))[0]
                if y != NULL:
                    value = value + gy * (<lapack_t *>entry(y, i, j))[0]
                (<lapack_t *>entry(to, i, j))[0] = value
        elif y == NULL:
            for j in range(x.n):
                d[j] = gx * p[j]
        elif fx == 1 and fy == 1:
            for j in range(x.n):
                d[j] = p[j] + q[j]
        elif fx == 1 and fy == -1:
            for j in range(x.n):
                d[j] = p[j] - q[j]
        else:
            for j in range(x.n):
                d[j] = gx * p[j] + gy * q[j]


cdef inline double largest(const Slices *s, lapack_t *tag) noexcept nogil:
    """The largest modulus of the parts of all numbers; NaN if one is."""
    cdef Py_ssize_t i, j, run = s.n if s.cs == sizeof(lapack_t) else 1
    cdef double top = 0
    for i in range(s.m):
        for j in range(s.n // run):
            top = larger[double](top, top_of[lapack_t](run, <lapack_t *>entry(s, i, j)))
    return top


cdef inline double power(double top, word limit) noexcept nogil:
    """The power of two next below a number; 1 where its exponent is below `limit`, and for what is not finite."""
    cdef int exponent
    if top == 0 or not isfinite(top):
        return 1
    frexp(top, &exponent)
    return 1 if -limit < exponent <= limit else ldexp(1.0, exponent - 1)


cdef inline void scale(const Slices *to, const Slices *x, double factor, bint divide, lapack_t *tag) noexcept nogil:
    """to = x / factor or x factor, for x and to by rows."""
    cdef Py_ssize_t i, j
    cdef lapack_t *p
    cdef lapack_t *d
    if factor == 1:
        if to.data != x.data:
            copy[lapack_t](to, x, False, tag)
        return
    # By parts: a complex quotient would square the divisor.
    for i in range(x.m):
        p = <lapack_t *>entry(x, i, 0)
        d = <lapack_t *>entry(to, i, 0)
        for j in range(x.n):
            if lapack_t is float or lapack_t is double:
                d[j] = p[j] / <lapack_t>factor if divide else p[j] * <lapack_t>factor
            elif lapack_t is complex64_t:
                d[j].real = p[j].real / <float>factor if divide else p[j].real * <float>factor
                d[j].imag = p[j].imag / <float>factor if divide else p[j].imag * <float>factor
            else:
                d[j].real = p[j].real / factor if divide else p[j].real * factor
                d[j].imag = p[j].imag / factor if divide else p[j].imag * factor


cdef inline double scalar(const Slices *s, lapack_t *tag) noexcept nogil:
    """The first number of a value, or its real part."""
    if lapack_t is float or lapack_t is complex64_t:
        return (<const float *>s.data)[0]
    else:
        return (<const double *>s.data)[0]


cdef inline void lift_last(const Slices *s, double negligible, lapack_t *tag) noexcept nogil:
    """Add 1 to the last number on the diagonal if it is negligible."""
    cdef Py_ssize_t n = s.m
    if n == 0:
        return
    cdef lapack_t *d = <lapack_t *>entry(s, n - 1, n - 1)
    cdef lapack_t one = 1
    cdef double size
    if lapack_t is float or lapack_t is double:
        size = fabs(d[0])
    else:
        size = max(fabs(d[0].real), fabs(d[0].imag))
    if size <= negligible:
        d[0] = d[0] + one


cdef inline void read_row(const Slices *s, double *to, lapack_t *tag) noexcept nogil:
    """A row of real numbers."""
    cdef Py_ssize_t j
    for j in range(s.n):
        if lapack_t is float or lapack_t is complex64_t:
            to[j] = (<const float *>entry(s, 0, j))[0]
        else:
            to[j] = (<const double *>entry(s, 0, j))[0]


cdef inline double size_of(lapack_t x) noexcept nogil:
    """The modulus as np.abs has it: no square leaves the range."""
    if lapack_t is float or lapack_t is double:
        return fabs(x)
    else:
        return hypot(x.real, x.imag)


cdef inline void divide_row(const lapack_t *p, const double *divisor, Py_ssize_t n, lapack_t *d) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        if lapack_t is float or lapack_t is double:
            d[j] = <lapack_t>(p[j] / divisor[j])
        elif lapack_t is complex64_t:
            d[j].real, d[j].imag = <float>(p[j].real / divisor[j]), <float>(p[j].imag / divisor[j])
        else:
            d[j].real, d[j].imag = p[j].real / divisor[j], p[j].imag / divisor[j]


cdef inline void divide_pairs(const Slices *to, const Slices *x, const Slices *values, const Slices *noise,
                              double least, double factor, double *row, lapack_t *tag) noexcept nogil:
    """The step PAIRS for x and to by rows; `row` has room for three rows."""
    cdef Py_ssize_t i, j, n = x.n
    cdef const lapack_t *p
    cdef double *w = row
    cdef double *c = row + n
    cdef double *divisor = row + 2 * n
    cdef double gap
    read_row[lapack_t](values, w, tag)
    if noise != NULL:
        read_row[lapack_t](noise, c, tag)
    # What is not kept is divided by infinity: a branch would keep the division from the SIMD registers.
    for i in range(x.m):
        p = <const lapack_t *>entry(x, i, 0)
        if noise == NULL:
            for j in range(n):
                gap = w[j] - w[i]
                divisor[j] = gap if fabs(gap) > least else INFINITY
        else:
            for j in range(n):
                gap = w[j] - w[i]
                divisor[j] = gap if ((fabs(gap) > least)
                                     & (size_of[lapack_t](p[j]) > factor * (c[i] + c[j]))) else INFINITY
        divide_row[lapack_t](p, divisor, n, <lapack_t *>entry(to, i, 0))


cdef inline void divide_sums(const Slices *to, const Slices *x, const Slices *values, double least, double *row,
                             lapack_t *tag) noexcept nogil:
    """The step SUMS for x and to by rows; `row` has room for two rows."""
    cdef Py_ssize_t i, j, n = x.n
    cdef double *w = row
    cdef double *divisor = row + n
    read_row[lapack_t](values, w, tag)
    for i in range(x.m):
        for j in range(n):
            divisor[j] = INFINITY if (w[i] <= least) & (w[j] <= least) else w[i] + w[j]
        divide_row[lapack_t](<const lapack_t *>entry(x, i, 0), divisor, n, <lapack_t *>entry(to, i, 0))


cdef inline void times_row(const Slices *to, const Slices *x, const Slices *factors, double *row,
                           lapack_t *tag) noexcept nogil:
    """The step COLUMNS for x and to by rows; `row` has room for one row."""
    cdef Py_ssize_t i, j
    cdef const lapack_t *p
    cdef lapack_t *d
    read_row[lapack_t](factors, row, tag)
    for i in range(x.m):
        p = <const lapack_t *>entry(x, i, 0)
        d = <lapack_t *>entry(to, i, 0)
        for j in range(x.n):
            if lapack_t is float or lapack_t is double:
                d[j] = p[j] * <lapack_t>row[j]
            elif lapack_t is complex64_t:
                d[j].real, d[j].imag = p[j].real * <float>row[j], p[j].imag * <float>row[j]
            else:
                d[j].real, d[j].imag = p[j].real * row[j], p[j].imag * row[j]


cdef inline void add_to_diagonal(const Slices *to, const Slices *x, const Slices *terms, double *row,
                                 lapack_t *tag) noexcept nogil:
    """The step DIAGONAL; `row` has room for one row."""
    cdef Py_ssize_t i
    cdef lapack_t *d
    read_row[lapack_t](terms, row, tag)
    if to.data != x.data:
        copy[lapack_t](to, x, False, tag)
    for i in range(x.m):
        d = <lapack_t *>entry(to, i, i)
        if lapack_t is float or lapack_t is double:
            d[0] = d[0] + <lapack_t>row[i]
        elif lapack_t is complex64_t:
            d[0].real += <float>row[i]
        else:
            d[0].real += row[i]
