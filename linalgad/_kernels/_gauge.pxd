"""The phase convention of singular vectors and eigenvectors; its text is in _lib/_gauge.py."""
from ._layout cimport modulus
from ._types cimport lapack_t


cdef inline double norm2(lapack_t x) noexcept nogil:
    if lapack_t is float or lapack_t is double:
        return <double>x * x
    else:
        return <double>x.real * x.real + <double>x.imag * x.imag


cdef inline Py_ssize_t pivot_entry(const lapack_t *x, Py_ssize_t inc, Py_ssize_t n, double tie) noexcept nogil:
    """The first entry whose modulus is the largest, up to the relative tolerance `tie`."""
    cdef Py_ssize_t i
    cdef double big = 0
    for i in range(n):
        big = max(big, modulus[lapack_t](x[i * inc]))
    big *= 1 - tie
    for i in range(n):
        if modulus[lapack_t](x[i * inc]) >= big:
            return i
    return 0


cdef inline void rotate(lapack_t *x, Py_ssize_t inc, Py_ssize_t n, Py_ssize_t pivot, lapack_t *y, Py_ssize_t yinc,
                        Py_ssize_t ny) noexcept nogil:
    """Make x[pivot] real and positive by a phase on x, and put the opposite phase on y."""
    cdef Py_ssize_t i
    cdef double size
    cdef lapack_t phase
    cdef lapack_t *x0 = x + pivot * inc
    if lapack_t is float or lapack_t is double:
        if x0[0] < 0:
            for i in range(n):
                x[i * inc] = -x[i * inc]
            for i in range(ny):
                y[i * yinc] = -y[i * yinc]
    else:
        size = modulus[lapack_t](x0[0])
        if size == 0 or x0[0].imag == 0 and x0[0].real > 0:
            return
        phase.real = x0[0].real / size
        phase.imag = x0[0].imag / size
        for i in range(ny):
            y[i * yinc] = y[i * yinc] * phase
        phase.imag = -phase.imag
        for i in range(n):
            x[i * inc] = x[i * inc] * phase
        x0[0].real = size
        x0[0].imag = 0


cdef inline void fix_phase(lapack_t *x, Py_ssize_t inc, Py_ssize_t n, double tie) noexcept nogil:
    """Rotate x so that its pivot entry is real and positive."""
    if n > 0:
        rotate[lapack_t](x, inc, n, pivot_entry[lapack_t](x, inc, n, tie), NULL, 0, 0)


cdef inline void fix_columns(lapack_t *u, Py_ssize_t m, Py_ssize_t ku, lapack_t *vh, Py_ssize_t k, Py_ssize_t n,
                             double *big, Py_ssize_t *pivot, double tie) noexcept nogil:
    """`fix_phase` of all columns of a row-major m x ku `u`, the first k with the rows of `vh`.

    The search sweeps along the rows, so it vectorises; `big` and `pivot` are scratch of length ku.
    """
    cdef Py_ssize_t i, j
    cdef double size
    for j in range(ku):
        big[j] = 0
        pivot[j] = -1
    for i in range(m):
        for j in range(ku):
            size = norm2[lapack_t](u[i * ku + j])
            big[j] = size if size > big[j] else big[j]
    for j in range(ku):
        big[j] *= (1 - tie) * (1 - tie)
    for i in range(m):
        for j in range(ku):
            if pivot[j] < 0 and norm2[lapack_t](u[i * ku + j]) >= big[j]:
                pivot[j] = i
    for j in range(ku):
        rotate[lapack_t](u + j, ku, m, pivot[j], vh + j * n, 1, n if j < k else 0)
