"""Passes over stacks of matrices, each in one run through memory: triangles, reflections, rows, magnitudes.

The vocabulary of the derivative rules rests on them. Inputs may have any strides; results are new arrays by rows.
"""
from libc.math cimport fabs, frexp, isfinite, sqrt
from libc.string cimport memcpy, memset
cimport numpy as cnp
from numpy cimport npy_intp, ndarray

from ._types cimport lapack_t, complex64_t, complex128_t
from ._layout cimport Slices, slices, at, batch_size, conj, empty, load_slice
from ._lanes cimport Plan, lane_fn, of_type, plan_lanes, run_lanes, OP_COPY
from ._tops cimport larger, top_of

cnp.import_array()

cdef inline Plan passes(const PassOp *op, lanes) except *:
    """Lanes of a pass: it costs about as much as a copy."""
    return plan_lanes(OP_COPY, (<double>op.x.m * op.x.n) ** 0.5, batch_size(&op.out), lanes)


cdef inline void fetch(const Slices *s, const char *p, Py_ssize_t i, Py_ssize_t j, lapack_t *to) noexcept nogil:
    """to = entry (i, j) of a slice."""
    to[0] = (<lapack_t *>(p + i * s.rs + j * s.cs))[0]


cdef inline void copy_row(const Slices *s, const char *p, Py_ssize_t i, Py_ssize_t first, Py_ssize_t last,
                          lapack_t *to) noexcept nogil:
    """to[first:last] = row i of a slice."""
    cdef Py_ssize_t j
    if first >= last:
        return
    if s.cs == sizeof(lapack_t):
        memcpy(to + first, p + i * s.rs + first * s.cs, (last - first) * sizeof(lapack_t))
    else:
        for j in range(first, last):
            fetch[lapack_t](s, p, i, j, &to[j])


# ---------------------------------------------------------------- triangles
cdef int lower_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    """Entries up to the diagonal k."""
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t m = op.x.m, n = op.x.n, i, end
    cdef lapack_t quarter = 0.25
    cdef const char *p = at(&op.x, slice)
    cdef lapack_t *out = <lapack_t *>at(&op.out, slice)
    for i in range(m):
        end = min(max(i + op.k + 1, 0), n)
        copy_row[lapack_t](&op.x, p, i, 0, end, out)
        memset(out + end, 0, (n - end) * sizeof(lapack_t))
        if op.kind == HALVED and i < n:
            out[i] = out[i] * quarter
            out[i] = out[i] + conj[lapack_t](out[i])
        elif op.kind == ONES and i < n:
            out[i] = 1
        out += n
    return 0


cdef int upper_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    """Entries from the diagonal k on."""
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t m = op.x.m, n = op.x.n, i, start
    cdef const char *p = at(&op.x, slice)
    cdef lapack_t *out = <lapack_t *>at(&op.out, slice)
    for i in range(m):
        start = min(max(i + op.k, 0), n)
        memset(out, 0, start * sizeof(lapack_t))
        copy_row[lapack_t](&op.x, p, i, start, n, out)
        out += n
    return 0


cdef ndarray run_pass(PassOp *op, ndarray x, lane_fn lane, lanes):
    """A pass from x to a new stack of the same shape."""
    cdef ndarray out = empty(x, 2, 2, x.shape[x.ndim - 2], x.shape[x.ndim - 1], cnp.PyArray_TYPE(x))
    return run_to(op, x, out, 2, 0, lane, lanes)


cdef ndarray run_to(PassOp *op, ndarray x, ndarray out, int core, size_t ws_bytes, lane_fn lane, lanes):
    """A pass from x to `out`, which has `core` trailing axes for each matrix."""
    op.x = slices(x, 2, out, core)
    op.out = slices(out, core, out, core)
    if cnp.PyArray_SIZE(out) > 0:
        run_lanes(lane, op, batch_size(&op.out), ws_bytes, passes(op, lanes), NULL)
    return out


def tril(ndarray x, Py_ssize_t k, str diagonal, lanes):
    """The lower triangle from diagonal k down; the main one 'kept', 'halved' (its real part) or 'ones'."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    op.kind = {"kept": KEPT, "halved": HALVED, "ones": ONES}[diagonal]
    op.k = k
    return run_pass(&op, x, of_type(t, <lane_fn>lower_lane[float], <lane_fn>lower_lane[double],
                                    <lane_fn>lower_lane[complex64_t], <lane_fn>lower_lane[complex128_t]), lanes)


def triu(ndarray x, Py_ssize_t k, lanes):
    """The upper triangle from diagonal k up."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    op.k = k
    return run_pass(&op, x, of_type(t, <lane_fn>upper_lane[float], <lane_fn>upper_lane[double],
                                    <lane_fn>upper_lane[complex64_t], <lane_fn>upper_lane[complex128_t]), lanes)


# ---------------------------------------------------------------- reflections
cdef inline void reflect(int kind, lapack_t below, lapack_t above, lapack_t *to_below,
                         lapack_t *to_above) noexcept nogil:
    cdef lapack_t mirrored = conj[lapack_t](above), half = 0.5
    if kind == HERMITIAN:
        to_below[0] = (below + mirrored) * half
        to_above[0] = conj[lapack_t](to_below[0])
    elif kind == SKEW:
        to_below[0] = (below - mirrored) * half
        to_above[0] = -conj[lapack_t](to_below[0])
    elif kind == TWIST:
        to_below[0] = below
        to_above[0] = -conj[lapack_t](below)
    elif kind == MIRROR:
        to_below[0] = below
        to_above[0] = conj[lapack_t](below)
    else:
        to_below[0] = below - mirrored
        to_above[0] = 0


cdef inline void reflect_block(int kind, const Slices *s, const char *p, Py_ssize_t ib, Py_ssize_t jb,
                               lapack_t *out) noexcept nogil:
    """The entries below the diagonal in rows from ib, columns from jb of a block, and their mirror images."""
    cdef Py_ssize_t n = s.m, i, j, ie = min(ib + 16, n), je
    cdef lapack_t below, above
    for i in range(ib, ie):
        je = min(jb + 16, i)
        for j in range(jb, je):
            fetch[lapack_t](s, p, i, j, &below)
            fetch[lapack_t](s, p, j, i, &above)
            reflect[lapack_t](kind, below, above, &out[i * n + j], &out[j * n + i])


cdef int reflect_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t n = op.x.m, i, ib, jb
    cdef const char *p = at(&op.x, slice)
    cdef lapack_t *out = <lapack_t *>at(&op.out, slice)
    cdef lapack_t d, half = 0.5
    # Blocks keep both sides in the cache; the kind is a constant in each call.
    for ib in range(0, n, 16):
        for jb in range(0, ib + 1, 16):
            if op.kind == HERMITIAN:
                reflect_block[lapack_t](HERMITIAN, &op.x, p, ib, jb, out)
            elif op.kind == SKEW:
                reflect_block[lapack_t](SKEW, &op.x, p, ib, jb, out)
            elif op.kind == TWIST:
                reflect_block[lapack_t](TWIST, &op.x, p, ib, jb, out)
            elif op.kind == MIRROR:
                reflect_block[lapack_t](MIRROR, &op.x, p, ib, jb, out)
            else:
                reflect_block[lapack_t](UNTWIST, &op.x, p, ib, jb, out)
    for i in range(n):
        fetch[lapack_t](&op.x, p, i, i, &d)
        if op.kind == HERMITIAN or op.kind == MIRROR:
            d = d + conj[lapack_t](d)
        else:
            d = d - conj[lapack_t](d)
        out[i * n + i] = d * half
    return 0


def reflection(ndarray x, str kind, lanes):
    """What a square matrix and its conjugate transpose make: 'hermitian', 'skew', 'twist', 'untwist' or 'mirror'."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    op.kind = {"hermitian": HERMITIAN, "skew": SKEW, "twist": TWIST, "untwist": UNTWIST, "mirror": MIRROR}[kind]
    return run_pass(&op, x, of_type(t, <lane_fn>reflect_lane[float], <lane_fn>reflect_lane[double],
                                    <lane_fn>reflect_lane[complex64_t], <lane_fn>reflect_lane[complex128_t]), lanes)


# ---------------------------------------------------------------- adjoints
cdef int adjoint_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t n = op.x.m, i, j, ib, jb
    cdef const char *p = at(&op.x, slice)
    cdef const char *q = at(&op.rows, slice)
    cdef lapack_t *out = <lapack_t *>at(&op.out, slice)
    cdef lapack_t x, factor
    for ib in range(0, n, 16):
        for jb in range(0, n, 16):
            for i in range(ib, min(ib + 16, n)):
                factor = (<lapack_t *>(q + i * op.rows.rs))[0]
                for j in range(jb, min(jb + 16, n)):
                    fetch[lapack_t](&op.x, p, j, i, &x)
                    out[i * n + j] = factor * conj[lapack_t](x)
    return 0


def adjoint(ndarray x, ndarray factors, lanes):
    """diag(factors) x^H for square x and factors (..., N) of one dtype."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    cdef ndarray out = empty(x, 2, 2, x.shape[x.ndim - 1], x.shape[x.ndim - 1], t)
    op.rows = slices(factors, 1, out, 2)
    return run_to(&op, x, out, 2, 0,
                  of_type(t, <lane_fn>adjoint_lane[float], <lane_fn>adjoint_lane[double],
                          <lane_fn>adjoint_lane[complex64_t], <lane_fn>adjoint_lane[complex128_t]), lanes)


# ---------------------------------------------------------------- rows
cdef int rows_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    """Row i from row rows[i], or (kind 1) to it."""
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t n = op.x.n, i, r
    cdef const char *p = at(&op.x, slice)
    cdef const char *q = at(&op.rows, slice)
    cdef lapack_t *out = <lapack_t *>at(&op.out, slice)
    for i in range(op.rows.m):
        r = (<const npy_intp *>(q + i * op.rows.rs))[0]
        if op.kind == 1:
            copy_row[lapack_t](&op.x, p, i, 0, n, out + r * n)
        else:
            copy_row[lapack_t](&op.x, p, r, 0, n, out + i * n)
    return 0


cdef ndarray run_rows(ndarray x, ndarray rows, int kind, lanes):
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    cdef ndarray out = empty(x, 2, 2, rows.shape[rows.ndim - 1], x.shape[x.ndim - 1], t)
    op.kind = kind
    op.rows = slices(rows, 1, out, 2)
    op.x = slices(x, 2, out, 2)
    op.out = slices(out, 2, out, 2)
    if cnp.PyArray_SIZE(out) > 0:
        run_lanes(of_type(t, <lane_fn>rows_lane[float], <lane_fn>rows_lane[double], <lane_fn>rows_lane[complex64_t],
                          <lane_fn>rows_lane[complex128_t]), &op, batch_size(&op.out), 0, passes(&op, lanes), NULL)
    return out


def take_rows(ndarray x, ndarray rows, lanes):
    """out[i, :] = x[rows[i], :] for intp rows over the batch of x; the positions are not checked."""
    return run_rows(x, rows, 0, lanes)


def put_rows(ndarray x, ndarray rows, lanes):
    """out[rows[i], :] = x[i, :] for permutations `rows` of intp over the batch of x; they are not checked."""
    return run_rows(x, rows, 1, lanes)


cdef int order_lane(const void *op_, Py_ssize_t slice, char *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef npy_intp *rows = <npy_intp *>at(&op.out, slice)
    cdef const char *p = at(&op.x, slice)
    cdef Py_ssize_t i, j
    for i in range(op.out.m):
        rows[i] = i
    for i in range(op.x.m):
        j = (<const cnp.int32_t *>(p + i * op.x.rs))[0]
        rows[i], rows[j] = rows[j], rows[i]
    return 0


def row_order(ndarray piv, Py_ssize_t m, lanes):
    """The rows of a matrix in the order that int32 row interchanges leave; the interchanges are not checked."""
    cdef PassOp op
    cdef ndarray out = empty(piv, 1, 1, m, 0, cnp.NPY_INTP)
    op.x = slices(piv, 1, out, 1)
    op.out = slices(out, 1, out, 1)
    if cnp.PyArray_SIZE(out) > 0:
        run_lanes(order_lane, &op, batch_size(&op.out), 0, passes(&op, lanes), NULL)
    return out


# ---------------------------------------------------------------- magnitudes of real matrices
cdef int largest_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef npy_intp item = sizeof(lapack_t)
    cdef Py_ssize_t m = op.x.m, n = op.x.n
    cdef const lapack_t *p = <const lapack_t *>at(&op.x, slice)
    if not (op.x.cs == item and op.x.rs == n * item or op.x.rs == item and op.x.cs == m * item):
        load_slice[lapack_t](&op.x, slice, ws)
        p = ws
    (<lapack_t *>at(&op.out, slice))[0] = <lapack_t>top_of[lapack_t](m * n, p)
    return 0


def largest(ndarray x, lanes):
    """The largest modulus of each real matrix."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    return run_to(&op, x, empty(x, 2, 0, 0, 0, t), 0, x.shape[x.ndim - 2] * x.shape[x.ndim - 1] * x.itemsize,
                  <lane_fn>largest_lane[float] if t == cnp.NPY_FLOAT else <lane_fn>largest_lane[double], lanes)


cdef int columns_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t i, j, n = op.x.n
    cdef const char *p = at(&op.x, slice)
    cdef lapack_t *top = <lapack_t *>at(&op.out, slice)
    cdef lapack_t *row = ws
    memset(top, 0, n * sizeof(lapack_t))
    if lapack_t is float or lapack_t is double:
        for i in range(op.x.m):
            copy_row[lapack_t](&op.x, p, i, 0, n, row)
            for j in range(n):
                top[j] = larger[lapack_t](top[j], <lapack_t>fabs(row[j]))
    return 0


def largest_of_columns(ndarray x, lanes):
    """The largest modulus in each column of each real matrix, (..., N)."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    return run_to(&op, x, empty(x, 2, 1, x.shape[x.ndim - 1], 0, t), 1, x.shape[x.ndim - 1] * x.itemsize,
                  <lane_fn>columns_lane[float] if t == cnp.NPY_FLOAT else <lane_fn>columns_lane[double], lanes)


# ---------------------------------------------------------------- scales
cdef int exponents_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t i, n = op.x.n
    cdef const char *p = at(&op.x, slice)
    cdef cnp.int32_t *out = <cnp.int32_t *>at(&op.out, slice)
    cdef const lapack_t *row
    cdef double top
    cdef int e
    for i in range(op.x.m):
        row = <const lapack_t *>(p + i * op.x.rs)
        if op.x.cs != sizeof(lapack_t):
            copy_row[lapack_t](&op.x, p, i, 0, n, ws)
            row = ws
        top = top_of[lapack_t](n, row)
        if top == 0:
            out[i] = op.kind
        else:
            frexp(top if isfinite(top) else 1.0, &e)
            out[i] = e
    return 0


def row_exponents(ndarray x, int zero, lanes):
    """The binary exponent of the largest part in each row, int32 (..., M); `zero` for zeros, 1 if it is not finite."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    op.kind = zero
    return run_to(&op, x, empty(x, 2, 1, x.shape[x.ndim - 2], 0, cnp.NPY_INT32), 1, x.shape[x.ndim - 1] * x.itemsize,
                  of_type(t, <lane_fn>exponents_lane[float], <lane_fn>exponents_lane[double],
                          <lane_fn>exponents_lane[complex64_t], <lane_fn>exponents_lane[complex128_t]), lanes)


cdef inline void add_squares(const lapack_t *x, Py_ssize_t count, double *sums) noexcept nogil:
    """Add the squares of numbers to eight sums."""
    cdef Py_ssize_t i
    cdef int l
    if lapack_t is float or lapack_t is double:
        for i in range(0, count - 7, 8):
            for l in range(8):
                sums[l] += <double>x[i + l] * x[i + l]
        for i in range(count - count % 8, count):
            sums[0] += <double>x[i] * x[i]
    elif lapack_t is complex64_t:
        add_squares[float](<const float *>x, 2 * count, sums)
    else:
        add_squares[double](<const double *>x, 2 * count, sums)


cdef int norm_lane(const void *op_, Py_ssize_t slice, lapack_t *ws) noexcept nogil:
    cdef const PassOp *op = <const PassOp *>op_
    cdef Py_ssize_t i, n = op.x.n
    cdef const char *p = at(&op.x, slice)
    cdef const lapack_t *row
    cdef double sums[8]
    cdef int l
    for l in range(8):
        sums[l] = 0
    for i in range(op.x.m):
        row = <const lapack_t *>(p + i * op.x.rs)
        if op.x.cs != sizeof(lapack_t):
            copy_row[lapack_t](&op.x, p, i, 0, n, ws)
            row = ws
        add_squares[lapack_t](row, n, sums)
    for l in range(1, 8):
        sums[0] += sums[l]
    (<double *>at(&op.out, slice))[0] = sqrt(sums[0])
    return 0


def norms(ndarray x, lanes):
    """The Frobenius norm of each matrix in double precision; squares beyond its range are infinite, or lost."""
    cdef PassOp op
    cdef int t = cnp.PyArray_TYPE(x)
    return run_to(&op, x, empty(x, 2, 0, 0, 0, cnp.NPY_DOUBLE), 0, x.shape[x.ndim - 1] * x.itemsize,
                  of_type(t, <lane_fn>norm_lane[float], <lane_fn>norm_lane[double], <lane_fn>norm_lane[complex64_t],
                          <lane_fn>norm_lane[complex128_t]), lanes)
