"""Programs: short sequences of stacked operations that run slice after slice, intermediate results in the workspace.

A program is made by `grad/_program`. Its values are blocks of buffers, transposed or not; a buffer is an array of the
call or a matrix by rows in the workspace of a lane, where it stays in the cache from one step to the next.
"""
from libc.string cimport memset
from libc.stddef cimport size_t
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, complex64_t, complex128_t
from ._layout cimport Slices, slices, at, aligned, batch_size
from ._lanes cimport Plan, lane_fn, of_type, plan_lanes, run_lanes, useful_lanes, wanted_lanes, OP_MATMUL
from ._matmul cimport MatmulOp, matmul_lane
from ._stacks cimport PassOp, lower_lane, reflect_lane, upper_lane
from ._steps cimport (
    add_to_diagonal, combine, copy, divide_pairs, divide_sums, entry, largest, lift_last, power, scalar, scale,
    times_row, word,
)
from ._tops cimport larger
from ._triangular cimport TriangularOp, solve_columns_lane, solve_triangular_lane

cnp.import_array()

# The steps, in the order of `STEPS`. The result comes first among the operands a, b, c, d.
cdef enum Kind:
    MATMUL              # a = b c; flags: conjugate b, conjugate c, triangle, its diagonal, b is upper triangular
    SOLVE               # a = op(b)^-1 c; flags: lower, unit, trans, whether a and c lie by columns
    LOWER               # a = lower triangle of b; flags: Diagonal, from which diagonal
    UPPER
    REFLECT             # a = reflection of b; flags: Reflection
    COPY                # a = b; flags: conjugate
    CLEAR               # a = 0
    COMBINE             # a = x b + y c by two constants; c may be missing
    POWER               # a = power of two below the largest modulus of b and c, or 1; flags: exponents up to which 1
    DIVIDE              # a = b / c by a real scalar
    TIMES
    LIFT                # a = b with 1 added to the last number on the diagonal if it is no larger than a constant
    DIAGONAL            # a = b with the row c added to the diagonal
    COLUMNS             # a = b with each column times the number in the row c
    # a = b over the differences of numbers in the row c, column less row; 0 for differences up to the first constant,
    # and for b up to the second one times the sum of numbers in the row d
    PAIRS
    SUMS                # a = b over the sums of numbers in the row c; 0 where both are at most the first constant

STEPS = ("matmul", "solve", "lower", "upper", "reflect", "copy", "clear", "combine", "power", "divide", "times",
         "lift", "diagonal", "columns", "pairs", "sums")

cdef enum:
    OPERANDS = 4
    FLAGS = 5
    STEP_WIDTH = 1 + OPERANDS + FLAGS
    MOST_ARRAYS = 16

MOST = MOST_ARRAYS

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


cdef int run_step(const ProgramOp *op, Py_ssize_t k, Py_ssize_t slice, char *temporary, lapack_t *ws) noexcept nogil:
    cdef const Step *s = &op.steps[k]
    cdef size_t item = sizeof(lapack_t)
    cdef Slices a = view(op, s.at[0], slice, temporary, item), b, c, d
    cdef MatmulOp product
    cdef TriangularOp system
    cdef PassOp one
    cdef bint two = s.at[2] >= 0
    cdef Py_ssize_t i
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
        for i in range(a.m):        # new matrices lie by rows
            memset(a.data + i * a.rs, 0, a.n * item)
    elif s.kind == COMBINE:
        combine[lapack_t](&a, op.constants[2 * k], &b, op.constants[2 * k + 1], &c if two else NULL, ws)
    elif s.kind == POWER:
        (<lapack_t *>entry(&a, 0, 0))[0] = <lapack_t>power(
            larger[double](largest[lapack_t](&b, ws), largest[lapack_t](&c, ws) if two else 0), s.flag[0])
    elif s.kind == DIVIDE or s.kind == TIMES:
        scale[lapack_t](&a, &b, scalar[lapack_t](&c, ws), s.kind == DIVIDE, ws)
    elif s.kind == DIAGONAL:
        add_to_diagonal[lapack_t](&a, &b, &c, <double *>ws, ws)
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
        else:
            reflect_lane[lapack_t](&one, 0, ws)
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
        size_t temporary_bytes, size_t scratch_bytes, double order, double work_ns, lanes):
    """Run a program over all slices; whether it did so, which a zero on the diagonal of a triangular matrix prevents.

    Parameters
    ----------
    arrays : the arrays of the call, the results too, over the same batch, in the dtype of the first one; or of its real
        type where a step reads a row. At most `MOST`
    batch_axes : their number
    steps, values, constants : int64 and float64 tables in the layout of `Step` and `Value`
    temporary : of each temporary buffer the columns, and bytes from the first one to it
    temporary_bytes, scratch_bytes : of the temporary buffers, and of the workspace of the steps
    order, work_ns : of the matrices, and what a slice costs about
    """
    cdef ProgramOp op
    cdef ndarray first = arrays[0]
    cdef int t = cnp.PyArray_TYPE(first), k
    cdef Plan plan
    op.arrays = len(arrays)
    for k in range(op.arrays):
        op.array[k] = slices(arrays[k], cnp.PyArray_NDIM(arrays[k]) - batch_axes, first,
                             cnp.PyArray_NDIM(first) - batch_axes)
    op.steps = <const Step *>cnp.PyArray_DATA(steps)
    op.count = cnp.PyArray_SIZE(steps) // STEP_WIDTH
    op.values = <const Value *>cnp.PyArray_DATA(values)
    op.constants = <const double *>cnp.PyArray_DATA(constants)
    op.temporary = <const word *>cnp.PyArray_DATA(temporary)
    op.scratch = aligned(temporary_bytes)
    cdef Py_ssize_t nb = batch_size(&op.array[0])
    plan = plan_lanes(OP_MATMUL, order, nb, lanes)
    if not plan.wide:
        plan.lanes = useful_lanes(nb * work_ns, nb, wanted_lanes(lanes))
    cdef lane_fn lane = of_type(t, <lane_fn>program_lane[float], <lane_fn>program_lane[double],
                                <lane_fn>program_lane[complex64_t], <lane_fn>program_lane[complex128_t])
    # A product and a system have two parts of workspace, which begin on cache lines.
    return run_lanes(lane, &op, nb, op.scratch + aligned(scratch_bytes) + 128, plan, NULL) is None
