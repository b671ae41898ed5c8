"""Programs: short sequences of stacked operations that run slice after slice, intermediate results in the workspace.

A program is made by `grad/_program`. Its values are blocks of buffers, transposed or not; a buffer is an array of the
call or a matrix by rows in the workspace of a lane, where it stays in the cache from one step to the next.
"""
from libc.math cimport fabs, fabsf, frexp, hypot, ldexp, isfinite, INFINITY
from libc.string cimport memcpy, memset
from libc.stddef cimport size_t
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, complex64_t, complex128_t
from ._layout cimport Slices, slices, at, aligned, batch_size, conj, load
from ._lanes cimport Plan, lane_fn, of_type, run_lanes, useful_lanes, wanted_lanes
from ._matmul cimport MatmulOp, matmul_lane, matmul_workspace
from ._stacks cimport PassOp, lower_lane, reflect_lane, rows_lane, upper_lane
from ._triangular cimport TriangularOp, solve_columns_lane, solve_triangular_lane, triangular_workspace

cnp.import_array()

# The steps, in the order of `STEPS`. The result comes first among the operands a, b, c, d.
cdef enum Kind:
    MATMUL              # a = b c; flags: conjugate b, conjugate c, triangle, diagonal, whether b is upper triangular
    SOLVE               # a = op(b)^-1 c; flags: lower, unit, trans, whether a and c lie by columns
    LOWER               # a = lower triangle of b; flags: Diagonal, from which diagonal
    UPPER
    REFLECT             # a = reflection of b; flags: Reflection
    ROWS                # a = rows of b by the positions c; flags: whether they are put
    COPY                # a = b; flags: conjugate
    CLEAR               # a = 0
    COMBINE             # a = x b + y c by two constants; c may be missing
    POWER               # a = power of two next below the largest modulus of b and c; 1 for moderate ones. Flags: the limit
    DIVIDE              # a = b / c by a real scalar
    TIMES
    LIFT                # a = b with 1 added to the last number on the diagonal if it is no larger than a constant
    DIAGONAL            # a = b with the row c added to the diagonal
    COLUMNS             # a = b with each column times the number in the row c
    PAIRS               # a = b over the differences of the numbers in the row c, column less row; 0 where these are at most
                        # the first constant, or b at most the second one times the sum of the numbers in the row d
    SUMS                # a = b over the sums of the numbers in the row c; 0 where both are at most the first constant

STEPS = ("matmul", "solve", "lower", "upper", "reflect", "rows", "copy", "clear", "combine", "power", "divide", "times",
         "lift", "diagonal", "columns", "pairs", "sums")

cdef enum:
    OPERANDS = 4
    FLAGS = 5
    STEP_WIDTH = 1 + OPERANDS + FLAGS
    VALUE_WIDTH = 6
    MOST_ARRAYS = 16

ctypedef cnp.int64_t word

cdef struct Step:
    word kind
    word at[OPERANDS]
    word flag[FLAGS]

cdef struct Value:
    word buffer, i, j, m, n, transposed     # a block m x n of a buffer from (i, j) on, then transposed

cdef struct ProgramOp:
    const Step *steps
    Py_ssize_t count
    const Value *values
    const double *constants     # two for each step
    const word *temporary       # of each buffer: columns, and bytes from the beginning of the workspace
    int arrays                  # buffers that are arrays of the call; the others are temporary
    size_t scratch              # bytes of the temporary ones
    Slices array[MOST_ARRAYS]


cdef inline Slices view(const ProgramOp *op, word which, Py_ssize_t slice, char *ws, size_t item) noexcept nogil:
    """A value as a stack of one matrix."""
    cdef Slices s
    cdef const Value *v = &op.values[which]
    cdef const Slices *a
    if v.buffer < op.arrays:
        a = &op.array[v.buffer]
        s.rs, s.cs = a.rs, a.cs
        s.data = at(a, slice)
    else:
        s.rs = op.temporary[2 * (v.buffer - op.arrays)] * item
        s.cs = item
        s.data = ws + op.temporary[2 * (v.buffer - op.arrays) + 1]
    s.data += v.i * s.rs + v.j * s.cs
    s.m, s.n = v.m, v.n
    if v.transposed:
        s.m, s.n = s.n, s.m
        s.rs, s.cs = s.cs, s.rs
    s.uniform = True
    s.step = 0
    s.shape = s.strides = s.bshape = NULL
    s.nd = s.bnd = 0
    return s


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
                (<lapack_t *>entry(to, i, j))[0] = (conj[lapack_t]((<lapack_t *>entry(x, i, j))[0]) if conjugate
                                                else (<lapack_t *>entry(x, i, j))[0])


cdef inline void combine(const Slices *to, double fx, const Slices *x, double fy, const Slices *y,
                         lapack_t *tag) noexcept nogil:
    """to = fx x + fy y; without y if that is NULL."""
    cdef Py_ssize_t i, j
    cdef lapack_t gx = <lapack_t>fx, gy = <lapack_t>fy
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
                (<lapack_t *>entry(to, i, j))[0] = gx * (<lapack_t *>entry(x, i, j))[0]
                if y != NULL:
                    (<lapack_t *>entry(to, i, j))[0] = (<lapack_t *>entry(to, i, j))[0] + gy * (<lapack_t *>entry(y, i, j))[0]
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


cdef inline double largest_part(const lapack_t *x, Py_ssize_t count) noexcept nogil:
    """The largest modulus of the parts of neighbours, NaN as infinity; several at a time, as one waits for another."""
    cdef Py_ssize_t i, parts = count
    cdef int l
    cdef float tops4[8]
    cdef float part4
    cdef double tops8[8]
    cdef double part8, top = 0
    cdef const float *p4 = <const float *>x
    cdef const double *p8 = <const double *>x
    if lapack_t is complex64_t or lapack_t is complex128_t:
        parts = 2 * count
    if lapack_t is float or lapack_t is complex64_t:
        for l in range(8):
            tops4[l] = 0
        for i in range(0, parts - 7, 8):
            for l in range(8):
                part4 = fabsf(p4[i + l])
                tops4[l] = tops4[l] if part4 <= tops4[l] else part4 if part4 == part4 else <float>INFINITY
        for i in range(parts - parts % 8, parts):
            part4 = fabsf(p4[i])
            tops4[0] = tops4[0] if part4 <= tops4[0] else part4 if part4 == part4 else <float>INFINITY
        for l in range(8):
            top = max(top, tops4[l])
    else:
        for l in range(8):
            tops8[l] = 0
        for i in range(0, parts - 7, 8):
            for l in range(8):
                part8 = fabs(p8[i + l])
                tops8[l] = tops8[l] if part8 <= tops8[l] else part8 if part8 == part8 else INFINITY
        for i in range(parts - parts % 8, parts):
            part8 = fabs(p8[i])
            tops8[0] = tops8[0] if part8 <= tops8[0] else part8 if part8 == part8 else INFINITY
        for l in range(8):
            top = max(top, tops8[l])
    return top


cdef inline double largest(const Slices *s, lapack_t *tag) noexcept nogil:
    """The largest modulus of the parts of all numbers; infinity if one is NaN."""
    cdef Py_ssize_t i, j
    cdef double top = 0
    for i in range(s.m if s.cs == sizeof(lapack_t) else 0):
        top = max(top, largest_part[lapack_t](<lapack_t *>entry(s, i, 0), s.n))
    if s.cs != sizeof(lapack_t):
        for j in range(s.n):
            for i in range(s.m):
                top = max(top, largest_part[lapack_t](<lapack_t *>entry(s, i, j), 1))
    return top


cdef inline double power(double top, word limit) noexcept nogil:
    """The power of two next below a number; 1 where its exponent is below `limit`, and for what is not finite."""
    cdef int exponent
    if top == 0 or not isfinite(top):
        return 1
    frexp(top, &exponent)
    return 1 if -limit < exponent <= limit else ldexp(1.0, exponent - 1)


cdef inline void scale(const Slices *to, const Slices *x, double factor, bint divide, lapack_t *tag) noexcept nogil:
    """to = x / factor or x factor, powers of two."""
    if factor == 1:
        if to.data != x.data:
            copy[lapack_t](to, x, False, tag)
        return
    # The inverse of a power of two may be beyond the range when the power is not.
    cdef lapack_t f = <lapack_t>factor
    cdef Py_ssize_t i, j
    for i in range(x.m):
        for j in range(x.n):
            (<lapack_t *>entry(to, i, j))[0] = ((<lapack_t *>entry(x, i, j))[0] / f if divide
                                            else (<lapack_t *>entry(x, i, j))[0] * f)


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


cdef inline void divide_pairs(const Slices *to, const Slices *x, const Slices *values, const Slices *noise, double least,
                              double factor, double *row, lapack_t *tag) noexcept nogil:
    """The step PAIRS; `row` has room for three rows."""
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
                divisor[j] = gap if (fabs(gap) > least) & (size_of[lapack_t](p[j]) > factor * (c[i] + c[j])) else INFINITY
        divide_row[lapack_t](p, divisor, n, <lapack_t *>entry(to, i, 0))


cdef inline void divide_sums(const Slices *to, const Slices *x, const Slices *values, double least, double *row,
                             lapack_t *tag) noexcept nogil:
    """The step SUMS; `row` has room for two rows."""
    cdef Py_ssize_t i, j, n = x.n
    cdef double *w = row
    cdef double *divisor = row + n
    read_row[lapack_t](values, w, tag)
    for i in range(x.m):
        for j in range(n):
            divisor[j] = w[i] + w[j] if (w[i] > least) | (w[j] > least) else INFINITY
        divide_row[lapack_t](<const lapack_t *>entry(x, i, 0), divisor, n, <lapack_t *>entry(to, i, 0))


cdef inline void times_row(const Slices *to, const Slices *x, const Slices *factors, double *row,
                           lapack_t *tag) noexcept nogil:
    """The step COLUMNS; `row` has room for one row."""
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


cdef inline void add_row(const Slices *to, const Slices *x, const Slices *terms, double *row,
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


cdef int run_step(const ProgramOp *op, Py_ssize_t k, Py_ssize_t slice, char *temporary, lapack_t *ws) noexcept nogil:
    cdef const Step *s = &op.steps[k]
    cdef size_t item = sizeof(lapack_t)
    cdef Slices a = view(op, s.at[0], slice, temporary, item), b, c, d
    cdef MatmulOp product
    cdef TriangularOp system
    cdef PassOp one
    cdef bint two = s.at[2] >= 0
    if s.at[1] >= 0:
        b = view(op, s.at[1], slice, temporary, item)
    if two:
        c = view(op, s.at[2], slice, temporary, item)
    if s.at[3] >= 0:
        d = view(op, s.at[3], slice, temporary, item)
    if s.kind == MATMUL:
        product.x, product.y, product.out = b, c, a
        product.conj_x, product.conj_y = s.flag[0], s.flag[1]
        product.triangle, product.k, product.upper = <int>s.flag[2], s.flag[3], s.flag[4]
        return matmul_lane[lapack_t](&product, 0, ws)
    if s.kind == SOLVE:
        system.a, system.b, system.out = b, c, a
        system.lower, system.unit, system.trans = s.flag[0], s.flag[1], <int>s.flag[2]
        if s.flag[3]:
            return solve_columns_lane[lapack_t](&system, 0, ws)
        return solve_triangular_lane[lapack_t](&system, 0, ws)
    if s.kind == COPY:
        copy[lapack_t](&a, &b, s.flag[0], ws)
    elif s.kind == CLEAR:
        for k in range(a.m):
            memset(a.data + k * a.rs, 0, a.n * item)
    elif s.kind == COMBINE:
        combine[lapack_t](&a, op.constants[2 * k], &b, op.constants[2 * k + 1], &c if two else NULL, ws)
    elif s.kind == POWER:
        (<lapack_t *>entry(&a, 0, 0))[0] = <lapack_t>power(
            max(largest[lapack_t](&b, ws), largest[lapack_t](&c, ws) if two else 0), s.flag[0])
    elif s.kind == DIVIDE or s.kind == TIMES:
        scale[lapack_t](&a, &b, scalar[lapack_t](&c, ws), s.kind == DIVIDE, ws)
    elif s.kind == DIAGONAL:
        add_row[lapack_t](&a, &b, &c, <double *>ws, ws)
    elif s.kind == COLUMNS:
        times_row[lapack_t](&a, &b, &c, <double *>ws, ws)
    elif s.kind == PAIRS:
        divide_pairs[lapack_t](&a, &b, &c, &d if s.at[3] >= 0 else NULL, op.constants[2 * k], op.constants[2 * k + 1],
                               <double *>ws, ws)
    elif s.kind == SUMS:
        divide_sums[lapack_t](&a, &b, &c, op.constants[2 * k], <double *>ws, ws)
    elif s.kind == LIFT:
        copy[lapack_t](&a, &b, False, ws)
        lift_last[lapack_t](&a, op.constants[2 * k], ws)
    else:
        one.x, one.out, one.kind, one.k = b, a, <int>s.flag[0], s.flag[1]
        if s.kind == LOWER:
            lower_lane[lapack_t](&one, 0, ws)
        elif s.kind == UPPER:
            upper_lane[lapack_t](&one, 0, ws)
        elif s.kind == REFLECT:
            reflect_lane[lapack_t](&one, 0, ws)
        else:
            one.rows = c
            rows_lane[lapack_t](&one, 0, ws)
    return 0


cdef int program_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const ProgramOp *op = <const ProgramOp *>op_
    cdef char *temporary = <char *>ws
    cdef Py_ssize_t k
    cdef int info
    for k in range(op.count):
        info = run_step[lapack_t](op, k, i, temporary, <lapack_t *>(temporary + op.scratch))
        if info != 0:
            return info
    return 0


def run(tuple arrays, int batch_axes, ndarray steps, ndarray values, ndarray constants, ndarray temporary,
        size_t temporary_items, size_t scratch_items, double work_ns, lanes):
    """Run a program over all slices; whether it did so, which a zero on the diagonal of a triangular matrix prevents.

    Parameters
    ----------
    arrays : the arrays of the call, the results too, over the same batch. The first one has the dtype of the program;
        the others too, or its real type where a step reads a row, or intp for positions
    batch_axes : their number
    steps, values, constants : int64 and float64 tables in the layout of `Step` and `Value`
    temporary : of each temporary buffer the columns, and where it begins in numbers of the dtype
    temporary_items, scratch_items : numbers in the temporary buffers, and in the workspace of the steps
    work_ns : what a slice costs about
    """
    cdef ProgramOp op
    cdef ndarray first = arrays[0], places
    cdef int t = cnp.PyArray_TYPE(first), k
    cdef size_t item = cnp.PyArray_ITEMSIZE(first)
    cdef Plan plan
    if len(arrays) > MOST_ARRAYS:
        raise ValueError(f"a program has at most {MOST_ARRAYS} arrays, got {len(arrays)}")
    op.arrays = len(arrays)
    for k in range(op.arrays):
        op.array[k] = slices(arrays[k], cnp.PyArray_NDIM(arrays[k]) - batch_axes, first,
                             cnp.PyArray_NDIM(first) - batch_axes)
    places = temporary * [1, item]
    op.steps = <const Step *>cnp.PyArray_DATA(steps)
    op.count = cnp.PyArray_SIZE(steps) // STEP_WIDTH
    op.values = <const Value *>cnp.PyArray_DATA(values)
    op.constants = <const double *>cnp.PyArray_DATA(constants)
    op.temporary = <const word *>cnp.PyArray_DATA(places)
    op.scratch = aligned(temporary_items * item)
    cdef Py_ssize_t nb = batch_size(&op.array[0])
    plan.wide = False
    plan.lanes = useful_lanes(nb * work_ns, nb, wanted_lanes(lanes))
    cdef lane_fn lane = of_type(t, <lane_fn>program_lane[float], <lane_fn>program_lane[double],
                                <lane_fn>program_lane[complex64_t], <lane_fn>program_lane[complex128_t])
    # Three parts of a step's workspace may be rounded up to cache lines.
    return run_lanes(lane, &op, nb, op.scratch + scratch_items * item + 192, plan, NULL) is None
