"""Determinants by LU, a LAPACK call a slice, as a mantissa and an exponent of two.

The product of the pivots is kept as mantissa 2^exponent, so it overflows or underflows only where the
determinant does. A matrix with extreme entries has its rows and columns scaled by powers of two first, which keeps the
elimination itself in range. If what underflows there may matter all the same, as an estimate of the inverse tells, the
elimination is done once more with an exponent to each number.
"""
from libc.math cimport copysign, frexp, ldexp, log, fabs, sqrt, isfinite, INFINITY
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport Slices, slices, at, load_slice, batch_size, aligned, empty, real_of
from ._compact cimport (
    Compact, add, run_compact, serves_or_plans, COMPACT_LU, COMPACT_BLOCKED_LU, LG_OP_det, LG_OP_slogdet,
    LG_OP_blocked_det, LG_OP_blocked_slogdet,
)
from ._lanes cimport Plan, lane_fn, of_type, plan_lanes, run_lanes, OP_COPY, OP_LU
from ._lapack_solve cimport getrf, gecon
from ._pool cimport pool_acquire, pool_release

cnp.import_array()

cdef enum:
    NONE = -(1 << 20)       # no exponent of a double is as small
    NO_MEMORY = 1           # code of a lane


cdef struct DetOp:
    Slices a
    Slices det          # or the sign
    Slices log          # of the modulus, or the exponent
    Slices piv
    bint split          # write sign and logarithm


cdef struct Product:
    double re, im
    Py_ssize_t exponent


cdef inline size_t det_workspace(const Slices *a, size_t item) noexcept nogil:
    """Bytes of one lane: a | pivots."""
    return aligned(a.m * a.m * item) + aligned(a.m * sizeof(blas_int))


cdef inline bint in_range(double re, double im) noexcept nogil:
    """Whether products of two such numbers need no thought."""
    cdef double size = max(fabs(re), fabs(im))
    return 1e-140 < size < 1e140


cdef inline void normalize(double *re, double *im, Py_ssize_t *exponent) noexcept nogil:
    cdef int e
    frexp(max(fabs(re[0]), fabs(im[0])), &e)
    re[0] = ldexp(re[0], -e)
    im[0] = ldexp(im[0], -e)
    exponent[0] += e


cdef inline void multiply(Product *p, double re, double im) noexcept nogil:
    """p *= re + i im."""
    cdef double t = p.re
    if not in_range(re, im):
        normalize(&re, &im, &p.exponent)
    if im == 0 and p.im == 0:       # also keeps an infinity from becoming inf * 0
        p.re = t * re
    else:
        p.re = t * re - p.im * im
        p.im = t * im + p.im * re
    if not in_range(p.re, p.im):
        normalize(&p.re, &p.im, &p.exponent)


cdef inline void multiply_pivot(Product *p, lapack_t x, bint exchanged) noexcept nogil:
    """p *= x, or -x for a row that was exchanged."""
    if exchanged:
        x = -x
    if lapack_t is float or lapack_t is double:
        multiply(p, x, 0)
    else:
        multiply(p, x.real, x.imag)


cdef inline bint extreme(const lapack_t *a, Py_ssize_t count) noexcept nogil:
    """Whether the elimination may leave the range: it forms products of three entries."""
    cdef double low = ldexp(1, -40) if lapack_t is float or lapack_t is complex64_t else ldexp(1, -340)
    cdef double high = 1 / low
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(count):
        if lapack_t is float or lapack_t is double:
            found += outside(a[i], low, high)
        else:
            found += outside(a[i].real, low, high) + outside(a[i].imag, low, high)
    return found != 0


cdef inline int outside(double x, double low, double high) noexcept nogil:
    x = fabs(x)
    return (x > high) | ((x < low) & (x != 0))


cdef inline int exponent_of(double re, double im) noexcept nogil:
    """The exponent of two of an entry; `NONE` of a zero, an infinity or NaN."""
    cdef double size = max(fabs(re), fabs(im))
    cdef int e
    if not 0 < size < INFINITY:
        return NONE
    frexp(size, &e)
    return e


cdef inline void widen(const lapack_t *a, Py_ssize_t count, double *to) noexcept nogil:
    """The same numbers, of which single precision then cannot leave the range; real and imaginary parts in turn."""
    cdef Py_ssize_t i
    for i in range(count):
        if lapack_t is float or lapack_t is double:
            to[i] = a[i]
        else:
            to[2 * i] = a[i].real
            to[2 * i + 1] = a[i].imag


cdef bint equilibrate(double *a, Py_ssize_t n, Py_ssize_t parts, blas_int *rows, Py_ssize_t *exponent) noexcept nogil:
    """Bring the largest entry of every row and column near 1, adding to `exponent` what is taken out.

    Both scales of an entry are applied at once: one alone might push it out of the range. `rows` has
    room for the exponents of the rows. Returns whether no entry is small now that was not zero.
    """
    cdef Py_ssize_t r, c, part
    cdef int e, most, small = 0
    cdef double *x
    cdef double low = ldexp(1, -340), before
    for r in range(n):
        most = NONE
        for c in range(n):
            x = a + parts * (r * n + c)
            most = max(most, exponent_of(x[0], x[parts - 1]))
        rows[r] = 0 if most == NONE else most
        exponent[0] += rows[r]
    for c in range(n):
        most = NONE
        for r in range(n):
            x = a + parts * (r * n + c)
            e = exponent_of(x[0], x[parts - 1])
            if e != NONE:
                most = max(most, e - <int>rows[r])
        if most == NONE:
            continue
        exponent[0] += most
        for r in range(n):
            e = -most - <int>rows[r]
            for part in range(parts):
                x = a + parts * (r * n + c) + part
                before = x[0]
                x[0] = ldexp(before, e)
                small |= (fabs(x[0]) < low) & (before != 0)
    return small == 0


cdef void multiply_pivots(Product *p, const lapack_t *lu, Py_ssize_t n, const blas_int *ipiv) noexcept nogil:
    """p *= the determinant that the factors have."""
    cdef Py_ssize_t j
    for j in range(n):
        multiply_pivot[lapack_t](p, lu[j * n + j], ipiv[j] != j + 1)


cdef bint scaled_det(lapack_t *a, Py_ssize_t n, blas_int *ipiv, lapack_t *work, void *iwork, Product *p) noexcept nogil:
    """p *= det a, for double precision; False if what underflowed on the way may matter.

    What underflows amounts to a change of the scaled matrix by less than n^2 2^-1074 an entry. As the inverse is the
    derivative of log det, that is beyond rounding unless the inverse comes near 2^1000.
    """
    cdef double rcond = 0
    cdef bint fine = equilibrate(<double *>a, n, sizeof(lapack_t) // sizeof(double), ipiv, &p.exponent)
    getrf[lapack_t](n, n, a, n, ipiv)
    multiply_pivots[lapack_t](p, a, n, ipiv)
    if fine or not isfinite(p.re) or not isfinite(p.im):
        return True     # the determinant is not finite where some entry is not
    gecon[lapack_t](b'1', n, a, n, 1, &rcond, work, iwork)
    return rcond > ldexp(1, -900)


cdef bint extreme_det(const lapack_t *a, Py_ssize_t n, Product *p) noexcept nogil:
    """p *= det a, whatever the sizes of the entries; False if there is no memory."""
    cdef Py_ssize_t parts = 1 if lapack_t is float or lapack_t is double else 2
    cdef size_t matrix = aligned(n * n * parts * sizeof(double)), ints = aligned(n * sizeof(blas_int))
    cdef char *ws = pool_acquire(matrix + 2 * ints + aligned(6 * n * sizeof(double)))
    cdef bint done
    cdef Product by_scaling = p[0]
    if ws == NULL:
        return False
    cdef double *wide = <double *>ws
    cdef blas_int *ipiv = <blas_int *>(ws + matrix)
    cdef void *iwork = ws + matrix + ints
    cdef double *work = <double *>(ws + matrix + 2 * ints)
    widen[lapack_t](a, n * n, wide)
    if lapack_t is float or lapack_t is double:
        done = scaled_det[double](wide, n, ipiv, work, iwork, &by_scaling)
    else:       # gecon's real numbers lie behind its complex ones
        done = scaled_det[complex128_t](<complex128_t *>wide, n, ipiv, <complex128_t *>work, work + 4 * n, &by_scaling)
    if done:
        p[0] = by_scaling
    else:
        widen[lapack_t](a, n * n, wide)
        done = det_with_exponents(wide, n, parts, p)
    pool_release(ws)
    return done


cdef inline Product with_exponent(double re, double im, Py_ssize_t exponent) noexcept nogil:
    """The number with its larger part between 1/2 and 1; zero has the exponent `NONE`."""
    cdef Product x
    x.re = re
    x.im = im
    x.exponent = exponent
    if re == 0 and im == 0:
        x.exponent = NONE
    else:
        normalize(&x.re, &x.im, &x.exponent)
    return x


cdef inline Product quotient(Product x, Product y) noexcept nogil:
    cdef double size = y.re * y.re + y.im * y.im
    return with_exponent((x.re * y.re + x.im * y.im) / size, (x.im * y.re - x.re * y.im) / size,
                         x.exponent - y.exponent)


cdef inline Product minus_product(Product x, Product l, Product u) noexcept nogil:
    """x - l u."""
    cdef Py_ssize_t e = l.exponent + u.exponent, top = max(e, x.exponent)
    cdef double s = scaled(1, x.exponent - top), t = scaled(1, e - top)
    if u.exponent == NONE:
        return x
    return with_exponent(x.re * s - (l.re * u.re - l.im * u.im) * t, x.im * s - (l.re * u.im + l.im * u.re) * t, top)


cdef bint det_with_exponents(const double *a, Py_ssize_t n, Py_ssize_t parts, Product *p) noexcept nogil:
    """p *= det a by elimination, pivots chosen as if the rows were scaled; False if there is no memory."""
    cdef char *ws = pool_acquire(aligned(n * n * sizeof(Product)) + aligned(n * sizeof(Py_ssize_t)))
    cdef Product *x = <Product *>ws
    cdef Py_ssize_t *row = <Py_ssize_t *>(ws + aligned(n * n * sizeof(Product)))
    cdef Py_ssize_t i, j, k, e, best, most
    cdef double size
    cdef Product l, t
    if ws == NULL:
        return False
    for i in range(n):
        row[i] = NONE
        for j in range(n):
            k = parts * (i * n + j)
            x[i * n + j] = with_exponent(a[k], a[k + 1] if parts == 2 else 0, 0)
            row[i] = max(row[i], x[i * n + j].exponent)
    for k in range(n):
        best = k
        most = NONE
        size = 0
        for i in range(k, n):
            t = x[i * n + k]
            e = t.exponent - row[i]
            if t.exponent != NONE and (e > most or (e == most and max(fabs(t.re), fabs(t.im)) > size)):
                best = i
                most = e
                size = max(fabs(t.re), fabs(t.im))
        if most == NONE:
            p.re = p.im = 0
            break
        if best != k:
            for j in range(n):
                t = x[k * n + j]
                x[k * n + j] = x[best * n + j]
                x[best * n + j] = t
            row[best] = row[k]
            p.re = -p.re
            p.im = -p.im
        t = x[k * n + k]
        multiply(p, t.re, t.im)
        p.exponent += t.exponent
        for i in range(k + 1, n):
            if x[i * n + k].exponent != NONE:
                l = quotient(x[i * n + k], t)
                for j in range(k + 1, n):
                    x[i * n + j] = minus_product(x[i * n + j], l, x[k * n + j])
    pool_release(ws)
    return True


cdef int det_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const DetOp *op = <const DetOp *>op_
    cdef Py_ssize_t n = op.a.m
    cdef blas_int *ipiv = <blas_int *>(<char *>ws + aligned(n * n * sizeof(lapack_t)))
    cdef Product p
    load_slice[lapack_t](&op.a, i, ws)
    p.re = 1
    p.im = 0
    p.exponent = 0
    if extreme[lapack_t](ws, n * n):
        if not extreme_det[lapack_t](ws, n, &p):
            return NO_MEMORY
    else:
        getrf[lapack_t](n, n, ws, max(n, 1), ipiv)
        multiply_pivots[lapack_t](&p, ws, n, ipiv)
    if op.split:
        write_split[lapack_t](op, i, &p, ws)
    else:
        write[lapack_t](at(&op.det, i), scaled(p.re, p.exponent), scaled(p.im, p.exponent), ws)
    return 0


cdef int factors_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    """The determinant from LU factors and interchanges from 0, as sign and logarithm or as mantissa and exponent."""
    cdef const DetOp *op = <const DetOp *>op_
    cdef Py_ssize_t j
    cdef const char *p = at(&op.a, i)
    cdef const char *q = at(&op.piv, i)
    cdef Product whole
    whole.re = 1
    whole.im = 0
    whole.exponent = 0
    for j in range(op.a.m):
        multiply_pivot[lapack_t](&whole, (<lapack_t *>(p + j * (op.a.rs + op.a.cs)))[0],
                                 (<cnp.int32_t *>(q + j * op.piv.rs))[0] != j)
    if op.split:
        write_split[lapack_t](op, i, &whole, ws)
    else:
        if whole.re != 0 or whole.im != 0:
            normalize(&whole.re, &whole.im, &whole.exponent)
        write[lapack_t](at(&op.det, i), whole.re, whole.im, ws)
        (<Py_ssize_t *>at(&op.log, i))[0] = whole.exponent
    return 0


cdef inline double scaled(double x, Py_ssize_t exponent) noexcept nogil:
    return ldexp(x, <int>max(min(exponent, 1 << 20), -(1 << 20)))


cdef inline void write(char *p, double re, double im, lapack_t *tag) noexcept nogil:
    """p[0] = re + i im; `tag` only selects the type."""
    if lapack_t is float or lapack_t is double:
        (<lapack_t *>p)[0] = <lapack_t>re
    else:
        (<lapack_t *>p)[0].real = re
        (<lapack_t *>p)[0].imag = im


cdef inline void write_split(const DetOp *op, Py_ssize_t i, const Product *p, lapack_t *tag) noexcept nogil:
    cdef double size = sqrt(p.re * p.re + p.im * p.im)
    cdef double whole = scaled(size, p.exponent)
    cdef double logarithm = -INFINITY
    if in_range(whole, 0):
        logarithm = log(whole)      # a sum of logarithms that cancel would lose digits
    elif size != 0:
        logarithm = log(size) + p.exponent * 0.693147180559945309417
    if size == 0:
        write[lapack_t](at(&op.det, i), 0, 0, tag)
    elif p.im == 0 and size == size:
        write[lapack_t](at(&op.det, i), copysign(1, p.re), 0, tag)
    else:
        write[lapack_t](at(&op.det, i), p.re / size, p.im / size, tag)
    if lapack_t is float or lapack_t is complex64_t:
        (<float *>at(&op.log, i))[0] = <float>logarithm
    else:
        (<double *>at(&op.log, i))[0] = logarithm


def det(ndarray a, bint split, out, lanes):
    """Determinants, or their (sign, logarithm) if `split`."""
    cdef DetOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef ndarray d, logarithm = None
    if out is None:
        d = empty(a, 2, 0, 0, 0, t)
        if split:
            logarithm = empty(a, 2, 0, 0, 0, real_of(t))
    else:
        d, logarithm = out
    op.a = slices(a, 2, a, 2)
    op.det = slices(d, 0, a, 2)
    op.split = split
    if split:
        op.log = slices(logarithm, 0, a, 2)
    cdef lane_fn lane = of_type(t, <lane_fn>det_lane[float], <lane_fn>det_lane[double],
                                <lane_fn>det_lane[complex64_t], <lane_fn>det_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef Compact c
    cdef Plan plan
    if serves_or_plans(&c, &plan, OP_LU, op.a.m, nb, lanes, COMPACT_LU, LG_OP_slogdet if split else LG_OP_det,
                       COMPACT_BLOCKED_LU, LG_OP_blocked_slogdet if split else LG_OP_blocked_det, t, op.a.m, lane, &op):
        c.n = op.a.m
        add(&c, &op.a)
        add(&c, &op.det)
        if split:
            add(&c, &op.log)
        failed = run_compact(&c, nb, det_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), lanes, NULL)
    else:
        failed = run_lanes(lane, &op, nb, det_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), plan, NULL)
    if failed is not None:
        raise MemoryError("no memory for a matrix with extreme entries")
    return d, logarithm


def from_factors(ndarray lu, ndarray piv, bint split, lanes):
    """Determinants from LU factors and int32 interchanges: (sign, logarithm) if `split`, else (mantissa, exponent)."""
    cdef DetOp op
    cdef int t = cnp.PyArray_TYPE(lu)
    cdef ndarray d = empty(lu, 2, 0, 0, 0, t)
    cdef ndarray second = empty(lu, 2, 0, 0, 0, real_of(t) if split else cnp.NPY_INTP)
    op.a = slices(lu, 2, lu, 2)
    op.piv = slices(piv, 1, lu, 2)
    op.det = slices(d, 0, lu, 2)
    op.log = slices(second, 0, lu, 2)
    op.split = split
    cdef lane_fn lane = of_type(t, <lane_fn>factors_lane[float], <lane_fn>factors_lane[double],
                                <lane_fn>factors_lane[complex64_t], <lane_fn>factors_lane[complex128_t])
    run_lanes(lane, &op, batch_size(&op.a), 0, plan_lanes(OP_COPY, op.a.m ** 0.5, batch_size(&op.a), lanes), NULL)
    return d, second
