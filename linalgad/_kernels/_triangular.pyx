"""Triangular systems, a LAPACK call a slice.

A row-major matrix is its transpose to LAPACK, so upper and lower change places and so do the plain
and the transposed system; the Hermitian-transposed system is the plain one of the conjugates.
"""
cimport numpy as cnp
from numpy cimport ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    slices, at, load, load_slice, load_slice_t, store_slice, store_slice_t, operand, fill_nan, clear_triangle,
    all_finite, zero_on_diagonal, batch_size, aligned, conj_all,
)
from ._pool cimport new
from ._compact cimport (
    Compact, add, compact_serves, lg_entry, run_compact, COMPACT_TRIANGULAR, LG_OP_solve_triangular,
    LG_CONJ, LG_TRANS, LG_UNIT, LG_UPPER,
)
from ._lanes cimport lane_fn, of_type, codes_pointer, plan_lanes, run_lanes, OP_TRIANGULAR
from ._lapack_solve cimport trtrs
from ._by_rows cimport BLOCK, MANY, rows_kernel, run_block, trsm

cnp.import_array()


cdef size_t triangular_workspace(const TriangularOp *op, size_t item) noexcept nogil:
    """Bytes of one lane: a | b."""
    return aligned(op.a.m * op.a.m * item) + aligned(op.a.m * op.b.n * item)


cdef inline bint solve_in_place(const TriangularOp *op, Py_ssize_t i, lapack_t *a, bint by_rows, blas_int ld,
                                lapack_t *ws) noexcept nogil:
    """Whether the kernel of one block solved slice i, from rows of b to rows of the result."""
    cdef const lg_entry *kernel = rows_kernel[lapack_t](a)
    cdef Py_ssize_t item = sizeof(lapack_t)
    if kernel == NULL or (not op.unit and zero_on_diagonal[lapack_t](a, op.a.m, ld) != 0):
        return False
    if <char *>a == at(&op.out, i):     # which is written before all of the matrix is read
        load_slice[lapack_t](&op.a, i, ws)
        a = ws
        by_rows = True
        ld = max(op.a.m, 1)
    cdef int flags = ((0 if op.lower else LG_UPPER) | (LG_UNIT if op.unit else 0) | (LG_TRANS if op.trans != 0 else 0)
                      | (LG_CONJ if op.trans == 2 else 0))
    run_block[lapack_t](kernel, flags, op.a.m, op.b.n, a, ld * item if by_rows else item,
                        item if by_rows else ld * item, at(&op.b, i), op.b.rs, item, at(&op.out, i), op.out.rs, item)
    return True


cdef int solve_triangular_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const TriangularOp *op = <const TriangularOp *>op_
    cdef Py_ssize_t n = op.a.m, k = op.b.n
    cdef lapack_t *x = <lapack_t *>(<char *>ws + aligned(n * n * sizeof(lapack_t)))
    cdef bint by_rows, right = k >= MANY
    cdef blas_int ld
    cdef lapack_t *a = operand[lapack_t](&op.a, i, ws, &by_rows, &ld)
    if right and n <= BLOCK and op.b.cs == sizeof(lapack_t) and op.out.cs == sizeof(lapack_t):
        if solve_in_place[lapack_t](op, i, a, by_rows, ld, ws):
            return 0
    if not by_rows:
        # Another way through BLAS rounds differently, and the bits must not depend on the layout.
        load_slice[lapack_t](&op.a, i, ws)
        a = ws
        by_rows = True
        ld = max(n, 1)
    # The stored matrix is a^T where it lies by rows, and the system from the right is the transposed one.
    cdef bint plain = (op.trans == 0) == (by_rows == right)
    cdef bint conjugate = op.trans == 2 and plain
    cdef char trans = b'N' if plain else b'T' if op.trans < 2 else b'C'
    cdef char uplo = b'L' if op.lower != by_rows else b'U'
    cdef char diag = b'U' if op.unit else b'N'
    # Not left to trtrs: OpenBLAS overlooks a zero beside a NaN.
    cdef int info = 0 if op.unit else zero_on_diagonal[lapack_t](a, n, ld)
    if right:
        load_slice[lapack_t](&op.b, i, x)
    else:
        load_slice_t[lapack_t](&op.b, i, x)
    if conjugate:
        conj_all[lapack_t](x, n * k)
    if info == 0 and right:
        trsm[lapack_t](b'R', uplo, trans, diag, k, n, a, ld, x, k)
    elif info == 0:
        trtrs[lapack_t](uplo, trans, diag, n, k, a, ld, x, max(n, 1))
    else:
        load_slice[lapack_t](&op.a, i, ws)
        clear_triangle[lapack_t](op.lower, n, ws)
        if not all_finite[lapack_t](ws, n * n):
            info = 0
        fill_nan[lapack_t](&op.out, i, ws)
        return info
    if conjugate:
        conj_all[lapack_t](x, n * k)
    if right:
        store_slice[lapack_t](&op.out, i, x)
    else:
        store_slice_t[lapack_t](&op.out, i, x)
    return 0


cdef int solve_columns_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const TriangularOp *op = <const TriangularOp *>op_
    cdef Py_ssize_t n = op.a.m, k = op.b.n, j, ldx = op.out.cs // <Py_ssize_t>sizeof(lapack_t)
    cdef lapack_t *x = <lapack_t *>at(&op.out, i)
    cdef const char *b = at(&op.b, i)
    cdef bint by_rows
    cdef blas_int ld
    cdef lapack_t *a = operand[lapack_t](&op.a, i, ws, &by_rows, &ld)
    if not op.unit and zero_on_diagonal[lapack_t](a, n, ld) != 0:
        return zero_on_diagonal[lapack_t](a, n, ld)
    # The conjugate of what is stored has no name in BLAS: the system of the conjugates is solved.
    cdef bint plain = (op.trans == 0) != by_rows, conjugate = op.trans == 2 and plain
    for j in range(k):
        load[lapack_t](b + j * op.b.cs, op.b.rs, op.b.rs, n, 1, x + j * ldx)
        if conjugate:
            conj_all[lapack_t](x + j * ldx, n)
    trsm[lapack_t](b'L', b'L' if op.lower != by_rows else b'U', b'N' if plain else b'T' if op.trans < 2 else b'C',
                   b'U' if op.unit else b'N', n, k, a, ld, x, ldx)
    if conjugate:
        for j in range(k):
            conj_all[lapack_t](x + j * ldx, n)
    return 0


def solve_triangular(ndarray a, ndarray b, tuple shape, bint lower, int trans, bint unit, out, lanes, info):
    """Solve triangular systems; returns (x, codes)."""
    cdef TriangularOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef int core = 1 if cnp.PyArray_NDIM(b) == 1 else 2
    cdef ndarray x = new(shape, t) if out is None else out
    op.a = slices(a, 2, x, core)
    op.b = slices(b, core, x, core)
    op.out = slices(x, core, x, core)
    op.lower = lower
    op.trans = trans
    op.unit = unit
    cdef lane_fn lane = of_type(t, <lane_fn>solve_triangular_lane[float], <lane_fn>solve_triangular_lane[double],
                                <lane_fn>solve_triangular_lane[complex64_t],
                                <lane_fn>solve_triangular_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.out)
    cdef Compact c
    if op.b.n > 0 and compact_serves(&c, COMPACT_TRIANGULAR, LG_OP_solve_triangular, t, op.a.m, lane, &op):
        c.n = op.a.m
        c.k = op.b.n
        c.flags = ((0 if lower else LG_UPPER) | (LG_UNIT if unit else 0) | (LG_TRANS if trans != 0 else 0)
                   | (LG_CONJ if trans == 2 else 0))
        add(&c, &op.a)
        add(&c, &op.b)
        add(&c, &op.out)
        return x, run_compact(&c, nb, triangular_workspace(&op, cnp.PyArray_ITEMSIZE(a)), lanes, codes_pointer(info))
    codes = run_lanes(lane, &op, nb, triangular_workspace(&op, cnp.PyArray_ITEMSIZE(a)),
                      plan_lanes(OP_TRIANGULAR, op.a.m, nb, lanes), codes_pointer(info))
    return x, codes
