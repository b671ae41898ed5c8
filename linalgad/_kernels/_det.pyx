"""Determinants by LU, a LAPACK call a slice, as a mantissa and an exponent of two.

The product of the pivots is kept as mantissa 2^exponent, so it overflows or underflows only where the
determinant does. What the elimination forms on the way may leave the range much earlier. A matrix with
extreme entries, or with a pivot that may have vanished so, is scaled by powers of two that make some
product of n entries, one from each row and column, 1 and no entry larger.
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
from ._lapack_solve cimport getrf
from ._pool cimport pool_acquire, pool_release

cnp.import_array()

cdef enum:
    NO_MEMORY = 1           # code of a lane
    ZERO = 1 << 20          # in place of the cost of a zero: no exponent of a double is as large

cdef Py_ssize_t FAR = 1 << 40       # the cost of a zero: more than that of any entries together


cdef struct DetOp:
    Slices a
    Slices det          # or the sign
    Slices log          # of the modulus, or the exponent
    Slices piv
    bint split          # write sign and logarithm


cdef struct Product:
    double re, im
    Py_ssize_t exponent


cdef inline void one(Product *p) noexcept nogil:
    p.re = 1
    p.im = 0
    p.exponent = 0


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


cdef inline double part_size(lapack_t x) noexcept nogil:
    """The larger of the moduli of real and imaginary part."""
    if lapack_t is float or lapack_t is double:
        return fabs(x)
    else:
        return max(fabs(x.real), fabs(x.imag))


cdef inline bint extreme(const lapack_t *a, Py_ssize_t count) noexcept nogil:
    """Whether products of three entries, as a step of the elimination forms them, come near the ends of the range."""
    cdef double low = ldexp(1, -30) if lapack_t is float or lapack_t is complex64_t else ldexp(1, -240)
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


cdef inline double tiny(const lapack_t *a) noexcept nogil:
    """Underflow does not show in what is larger. `a` only selects the type."""
    return ldexp(1, -90) if lapack_t is float or lapack_t is complex64_t else ldexp(1, -800)


cdef bint vanishing(const lapack_t *lu, Py_ssize_t n) noexcept nogil:
    """Whether some pivot is zero or as small as what underflows."""
    cdef double low = tiny[lapack_t](lu)
    cdef Py_ssize_t j
    for j in range(n):
        if part_size[lapack_t](lu[j * n + j]) < low:
            return True
    return False


cdef bint may_vanish(const lapack_t *a, Py_ssize_t n) noexcept nogil:
    """Whether the elimination, which may multiply n quotients of entries, can form such a pivot of other numbers."""
    cdef double most = 0, least = INFINITY, size
    cdef Py_ssize_t i
    for i in range(n * n):
        size = part_size[lapack_t](a[i])
        most = max(most, size)
        if size != 0:
            least = min(least, size)
    return most > 0 and n * log(least / most) < log(tiny[lapack_t](a))


cdef bint matching_scales(const int *cost, Py_ssize_t n, Py_ssize_t *row, Py_ssize_t *column,
                          Py_ssize_t *ws) noexcept nogil:
    """Integers with row[i] + column[j] <= cost[i, j], and equality at n places, one in each row and column.

    The assignment of rows to columns of least cost by shortest augmenting paths. The cost `ZERO` stands for no
    place. False if there is no such assignment. `ws` has room for 4 n numbers.

    References
    ----------
    I. S. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J. Matrix
    Anal. Appl. 22 (2001) 973-996.
    """
    cdef Py_ssize_t *owner = ws
    cdef Py_ssize_t *distance = ws + n
    cdef Py_ssize_t *before = ws + 2 * n
    cdef Py_ssize_t *seen = ws + 3 * n
    cdef Py_ssize_t i, j, k, last, best, here, step
    for j in range(n):
        owner[j] = -1
        column[j] = FAR
        for i in range(n):
            column[j] = min(column[j], price(cost[i * n + j]))
        if column[j] == FAR:
            return False
    for i in range(n):
        row[i] = FAR
        for j in range(n):
            row[i] = min(row[i], price(cost[i * n + j]) - column[j])
        if row[i] > FAR // 2:
            return False
    for i in range(n):
        # the distance of a column is what a path to it costs; from a column the way leads on to the row that owns it
        for j in range(n):
            distance[j] = FAR
            seen[j] = 0
        k = i
        last = -1
        here = 0
        while k >= 0:
            best = -1
            for j in range(n):
                if seen[j]:
                    continue
                step = here + price(cost[k * n + j]) - row[k] - column[j]
                if step < distance[j]:
                    distance[j] = step
                    before[j] = last
                # of equal columns one without an owner, where the path ends
                if best < 0 or distance[j] < distance[best] or (distance[j] == distance[best] and owner[j] < 0):
                    best = j
            if best < 0 or distance[best] > FAR // 2:
                return False
            last = best
            here = distance[last]
            seen[last] = 1
            k = owner[last]
        row[i] += here
        for j in range(n):
            if seen[j] and j != last:
                row[owner[j]] += here - distance[j]
                column[j] -= here - distance[j]
        while before[last] >= 0:
            owner[last] = owner[before[last]]
            last = before[last]
        owner[last] = i
    return True


cdef inline Py_ssize_t price(int cost) noexcept nogil:
    return FAR if cost == ZERO else cost


cdef void multiply_pivots(Product *p, const lapack_t *lu, Py_ssize_t n, const blas_int *ipiv) noexcept nogil:
    """p *= the determinant that the factors have."""
    cdef Py_ssize_t j
    for j in range(n):
        multiply_pivot[lapack_t](p, lu[j * n + j], ipiv[j] != j + 1)


cdef bint scaled_det(const lapack_t *a, Py_ssize_t n, Product *p) noexcept nogil:
    """p *= det a in double precision, with scaled rows and columns; False if there is no memory."""
    cdef Py_ssize_t parts = 1 if lapack_t is float or lapack_t is double else 2
    cdef size_t matrix = aligned(n * n * parts * sizeof(double)), costs = aligned(n * n * sizeof(int))
    cdef size_t ints = aligned(n * sizeof(blas_int))
    cdef char *ws = pool_acquire(matrix + costs + ints + 6 * n * sizeof(Py_ssize_t))
    cdef Py_ssize_t i, j
    cdef bint finite = True, regular = True
    if ws == NULL:
        return False
    cdef double *wide = <double *>ws
    cdef int *cost = <int *>(ws + matrix)
    cdef blas_int *ipiv = <blas_int *>(ws + matrix + costs)
    cdef Py_ssize_t *row = <Py_ssize_t *>(ws + matrix + costs + ints)
    cdef Py_ssize_t *column = row + n
    for i in range(n * n):
        if lapack_t is float or lapack_t is double:
            wide[i] = a[i]
        else:
            wide[2 * i] = a[i].real
            wide[2 * i + 1] = a[i].imag
        cost[i] = ZERO
        if part_size[lapack_t](a[i]) != 0:
            frexp(part_size[lapack_t](a[i]), &cost[i])
            cost[i] = -cost[i]
        finite = finite and isfinite(wide[parts * i]) and isfinite(wide[parts * (i + 1) - 1])
    if finite:
        regular = matching_scales(cost, n, row, column, row + 2 * n)
        if regular:
            for i in range(n):
                p.exponent -= row[i] + column[i]
                for j in range(parts * n):
                    wide[parts * i * n + j] = scaled(wide[parts * i * n + j], row[i] + column[j // parts])
    if not regular:
        p.re = p.im = 0
    elif lapack_t is float or lapack_t is double:
        getrf[double](n, n, wide, n, ipiv)
        multiply_pivots[double](p, wide, n, ipiv)
    else:
        getrf[complex128_t](n, n, <complex128_t *>wide, n, ipiv)
        multiply_pivots[complex128_t](p, <complex128_t *>wide, n, ipiv)
    pool_release(ws)
    return True


cdef int det_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const DetOp *op = <const DetOp *>op_
    cdef Py_ssize_t n = op.a.m
    cdef blas_int *ipiv = <blas_int *>(<char *>ws + aligned(n * n * sizeof(lapack_t)))
    cdef Product p
    cdef bint by_scaling
    load_slice[lapack_t](&op.a, i, ws)
    by_scaling = extreme[lapack_t](ws, n * n)
    one(&p)
    if not by_scaling:
        getrf[lapack_t](n, n, ws, max(n, 1), ipiv)
        multiply_pivots[lapack_t](&p, ws, n, ipiv)
        if vanishing[lapack_t](ws, n):
            load_slice[lapack_t](&op.a, i, ws)
            by_scaling = may_vanish[lapack_t](ws, n)
    if by_scaling:
        one(&p)
        if not scaled_det[lapack_t](ws, n, &p):
            return NO_MEMORY
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
    one(&whole)
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
