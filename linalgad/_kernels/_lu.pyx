"""LU with partial pivoting, and solving with its factors, a LAPACK call a slice."""
from libc.math cimport sqrt
from libc.string cimport memset
cimport numpy as cnp
from numpy cimport npy_intp, ndarray

from ._types cimport lapack_t, blas_int, complex64_t, complex128_t
from ._layout cimport (
    Slices, slices, at, leads, load_slice, load_slice_t, store_slice, store_slice_t, zero_on_diagonal, fill_nan,
    all_finite, batch_size, aligned, empty, real_of,
)
from ._pool cimport new
from ._compact cimport (
    Compact, add, run_compact, serves_or_plans, COMPACT_LU, COMPACT_BLOCKED_LU,
    LG_OP_lu, LG_OP_lu_factor, LG_OP_lu_solve, LG_OP_blocked_lu, LG_OP_blocked_lu_factor, LG_OP_blocked_lu_solve,
    LG_CONJ, LG_INDICES, LG_PERMUTE_L, LG_TRANS,
)
from ._lanes cimport Plan, lane_fn, of_type, codes_pointer, mean_order, plan_lanes, run_lanes, OP_LU, OP_TRIANGULAR
from ._lapack_solve cimport getrf, getrs
from ._by_rows cimport MANY, lu_solve_rows

cnp.import_array()

cdef enum:
    BAD_PIVOT = 1 << 29


cdef struct LuOp:
    Slices a            # the matrix, or its factors where they are given
    Slices lu, piv
    Slices p, l, u
    Slices b, out
    bint permute_l, p_indices
    char trans


cdef inline size_t lu_workspace(const Slices *a, size_t item) noexcept nogil:
    """Bytes of one lane: factors | row interchanges | row order."""
    return (aligned(a.m * a.n * item) + aligned(min(a.m, a.n) * sizeof(blas_int))
            + aligned(a.m * sizeof(Py_ssize_t)))


cdef int lu_factor_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const LuOp *op = <const LuOp *>op_
    cdef Py_ssize_t m = op.a.m, n = op.a.n, j
    cdef blas_int *ipiv = <blas_int *>(<char *>ws + aligned(m * n * sizeof(lapack_t)))
    cdef char *piv = at(&op.piv, i)
    load_slice_t[lapack_t](&op.a, i, ws)
    cdef int info = getrf[lapack_t](m, n, ws, max(m, 1), ipiv)
    store_slice_t[lapack_t](&op.lu, i, ws)
    for j in range(min(m, n)):
        (<int *>(piv + j * op.piv.rs))[0] = ipiv[j] - 1
    return info


def lu_factor(ndarray a, out, lanes, info):
    """Factor stacks of matrices; returns (lu, piv), lu stored as the kernel leaves it, LAPACK by columns."""
    cdef LuOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef ndarray lu, piv
    cdef int nd = cnp.PyArray_NDIM(a)
    cdef lane_fn lane = of_type(t, <lane_fn>lu_factor_lane[float], <lane_fn>lu_factor_lane[double],
                                <lane_fn>lu_factor_lane[complex64_t], <lane_fn>lu_factor_lane[complex128_t])
    cdef Compact c
    op.a = slices(a, 2, a, 2)
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef Plan plan
    cdef bint compact = serves_or_plans(
        &c, &plan, OP_LU, mean_order(op.a.m, op.a.n, min(op.a.m, op.a.n)), nb, lanes, COMPACT_LU,
        LG_OP_lu_factor, COMPACT_BLOCKED_LU, LG_OP_blocked_lu_factor, t, sqrt(<double>op.a.m * op.a.n), lane, &op)
    if out is None:
        if compact:     # which leaves them by rows
            lu = empty(a, 0, 0, 0, 0, t)
        else:
            lu = empty(a, 2, 2, op.a.n, op.a.m, t)
            lu = cnp.PyArray_SwapAxes(lu, nd - 2, nd - 1)
        piv = empty(a, 2, 1, min(op.a.m, op.a.n), 0, cnp.NPY_INT32)
    else:
        lu, piv = out
    op.lu = slices(lu, 2, a, 2)
    op.piv = slices(piv, 1, a, 2)
    if compact:
        c.m = op.a.m
        c.n = op.a.n
        add(&c, &op.a)
        add(&c, &op.lu)
        add(&c, &op.piv)
        run_compact(&c, nb, lu_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), lanes, codes_pointer(info))
        return lu, piv
    run_lanes(lane, &op, nb, lu_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), plan, codes_pointer(info))
    return lu, piv


cdef inline void row_order(const blas_int *ipiv, Py_ssize_t k, Py_ssize_t m, Py_ssize_t *order) noexcept nogil:
    """order[i]: the row of A that the interchanges bring to row i."""
    cdef Py_ssize_t i
    for i in range(m):
        order[i] = i
    for i in range(k):
        order[i], order[ipiv[i] - 1] = order[ipiv[i] - 1], order[i]


cdef inline void clear(char *p, npy_intp stride, Py_ssize_t count, lapack_t *tag) noexcept nogil:
    """Zeros from p on, `stride` bytes apart; `tag` only selects the type."""
    cdef Py_ssize_t i
    cdef lapack_t zero = 0
    if count > 0 and stride == sizeof(lapack_t):
        memset(p, 0, count * sizeof(lapack_t))
        return
    for i in range(count):
        (<lapack_t *>(p + i * stride))[0] = zero


cdef inline void store_factors(const LuOp *op, Py_ssize_t i, const lapack_t *lu,
                               const Py_ssize_t *order) noexcept nogil:
    """Write L (its rows in the order of A if asked for) and U, by tiles: one side runs down the columns."""
    cdef Py_ssize_t m = op.a.m, n = op.a.n, k = min(m, n), r, c, rb, cb
    cdef lapack_t one = 1
    cdef char *l = at(&op.l, i)
    cdef char *u = at(&op.u, i)
    cdef char *row
    for rb in range(0, m, 16):
        for cb in range(0, n, 16):
            for r in range(rb, min(rb + 16, m)):
                row = l + (order[r] if op.permute_l else r) * op.l.rs
                for c in range(cb, min(cb + 16, min(k, r))):
                    (<lapack_t *>(row + c * op.l.cs))[0] = lu[c * m + r]
                row = u + r * op.u.rs
                for c in range(max(cb, r), min(cb + 16, n) if r < k else 0):
                    (<lapack_t *>(row + c * op.u.cs))[0] = lu[c * m + r]
        for r in range(rb, min(rb + 16, m)):
            row = l + (order[r] if op.permute_l else r) * op.l.rs
            if r < k:
                (<lapack_t *>(row + r * op.l.cs))[0] = one
                clear[lapack_t](u + r * op.u.rs, op.u.cs, r, &one)
            clear[lapack_t](row + (r + 1) * op.l.cs, op.l.cs, k - r - 1, &one)


cdef inline void store_permutation(const Slices *s, char *p, const Py_ssize_t *order, lapack_t one) noexcept nogil:
    """P[order[c], c] = 1; `one` also selects the type."""
    cdef Py_ssize_t r, c
    for r in range(s.m):
        clear[lapack_t](p + r * s.rs, s.cs, s.m, &one)
    for c in range(s.m):
        (<lapack_t *>(p + order[c] * s.rs + c * s.cs))[0] = one


cdef int lu_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const LuOp *op = <const LuOp *>op_
    cdef Py_ssize_t m = op.a.m, n = op.a.n, k = min(m, n), r
    cdef blas_int *ipiv = <blas_int *>(<char *>ws + aligned(m * n * sizeof(lapack_t)))
    cdef Py_ssize_t *order = <Py_ssize_t *>(<char *>ipiv + aligned(k * sizeof(blas_int)))
    cdef char *p
    load_slice_t[lapack_t](&op.a, i, ws)
    getrf[lapack_t](m, n, ws, max(m, 1), ipiv)
    row_order(ipiv, k, m, order)
    store_factors[lapack_t](op, i, ws, order)
    if op.permute_l:
        return 0
    p = at(&op.p, i)
    if op.p_indices:
        for r in range(m):
            (<cnp.npy_intp *>(p + order[r] * op.p.rs))[0] = r
    elif lapack_t is float or lapack_t is complex64_t:
        store_permutation[float](&op.p, p, order, 1)
    else:
        store_permutation[double](&op.p, p, order, 1)
    return 0


def lu(ndarray a, bint permute_l, bint p_indices, out, lanes):
    """Factor stacks of matrices; returns (p, l, u), p None where it is applied to l."""
    cdef LuOp op
    cdef int t = cnp.PyArray_TYPE(a)
    cdef int nd = cnp.PyArray_NDIM(a)
    cdef Py_ssize_t m = cnp.PyArray_DIM(a, nd - 2), n = cnp.PyArray_DIM(a, nd - 1), k = min(m, n)
    cdef ndarray p = None, l, u
    if out is not None:
        p, l, u = out
    else:
        l = empty(a, 2, 2, m, k, t)
        u = empty(a, 2, 2, k, n, t)
        if p_indices:
            p = empty(a, 2, 1, m, 0, cnp.NPY_INTP)
        elif not permute_l:
            p = empty(a, 2, 2, m, m, real_of(t))
    op.a = slices(a, 2, a, 2)
    op.l = slices(l, 2, a, 2)
    op.u = slices(u, 2, a, 2)
    if p is not None:
        op.p = slices(p, 1 if p_indices else 2, a, 2)
    op.permute_l = permute_l
    op.p_indices = p_indices
    cdef lane_fn lane = of_type(t, <lane_fn>lu_lane[float], <lane_fn>lu_lane[double],
                                <lane_fn>lu_lane[complex64_t], <lane_fn>lu_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.a)
    cdef Compact c
    cdef Plan plan
    if serves_or_plans(&c, &plan, OP_LU, mean_order(m, n, k), nb, lanes, COMPACT_LU, LG_OP_lu,
                       COMPACT_BLOCKED_LU, LG_OP_blocked_lu, t, sqrt(<double>m * n), lane, &op):
        c.m = m
        c.n = n
        c.flags = LG_PERMUTE_L if permute_l else LG_INDICES if p_indices else 0
        add(&c, &op.a)
        add(&c, &op.l)
        add(&c, &op.u)
        if not permute_l:
            add(&c, &op.p)
        run_compact(&c, nb, lu_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), lanes, NULL)
        return p, l, u
    run_lanes(lane, &op, nb, lu_workspace(&op.a, cnp.PyArray_ITEMSIZE(a)), plan, NULL)
    return p, l, u


cdef int lu_solve_lane(const void *op_, Py_ssize_t i, lapack_t *ws) noexcept nogil:
    cdef const LuOp *op = <const LuOp *>op_
    cdef Py_ssize_t n = op.a.m, k = op.b.n, j
    cdef size_t item = sizeof(lapack_t)
    cdef blas_int *ipiv = <blas_int *>(<char *>ws + aligned(n * n * item))
    cdef lapack_t *x = <lapack_t *>(<char *>ws + lu_workspace(&op.a, item))
    cdef lapack_t *a = ws
    cdef char *piv = at(&op.piv, i)
    cdef blas_int ld = max(n, 1)
    cdef int row
    for j in range(n):
        row = (<int *>(piv + j * op.piv.rs))[0]
        if not j <= row < n:
            return BAD_PIVOT
        ipiv[j] = row + 1
    # The factors must be read by columns; only then do they serve in place.
    if op.a.rs == <cnp.npy_intp>item and leads(op.a.cs, n, item):
        a = <lapack_t *>at(&op.a, i)
        ld = op.a.cs // <cnp.npy_intp>item
    else:
        load_slice_t[lapack_t](&op.a, i, ws)
    cdef int info = zero_on_diagonal[lapack_t](a, n, ld)
    if info != 0:
        # A search for pivots that meets NaN may settle for a zero.
        load_slice_t[lapack_t](&op.a, i, ws)
        if not all_finite[lapack_t](ws, n * n):
            info = 0
        fill_nan[lapack_t](&op.out, i, ws)
        return info
    if k >= MANY:
        load_slice[lapack_t](&op.b, i, x)
        lu_solve_rows[lapack_t](op.trans, n, k, a, ld, ipiv, x)
        store_slice[lapack_t](&op.out, i, x)
        return 0
    load_slice_t[lapack_t](&op.b, i, x)
    getrs[lapack_t](op.trans, n, k, a, ld, ipiv, x, max(n, 1))
    store_slice_t[lapack_t](&op.out, i, x)
    return 0


def lu_solve(ndarray lu, ndarray piv, ndarray b, tuple shape, trans, out, lanes):
    """Solve with the factors of lu_factor; returns (x, codes)."""
    cdef LuOp op
    cdef int t = cnp.PyArray_TYPE(lu)
    cdef int core = 1 if cnp.PyArray_NDIM(b) == 1 else 2
    cdef ndarray x = new(shape, t) if out is None else out
    op.a = slices(lu, 2, x, core)
    op.piv = slices(piv, 1, x, core)
    op.b = slices(b, core, x, core)
    op.out = slices(x, core, x, core)
    op.trans = ord(trans)
    cdef lane_fn lane = of_type(t, <lane_fn>lu_solve_lane[float], <lane_fn>lu_solve_lane[double],
                                <lane_fn>lu_solve_lane[complex64_t], <lane_fn>lu_solve_lane[complex128_t])
    cdef Py_ssize_t nb = batch_size(&op.out), item = cnp.PyArray_ITEMSIZE(lu)
    cdef size_t ws_bytes = lu_workspace(&op.a, item) + aligned(op.b.m * op.b.n * item)
    cdef Compact c
    cdef Plan plan
    if op.b.n == 0:
        plan = plan_lanes(OP_TRIANGULAR, op.a.m, nb, lanes)
    elif serves_or_plans(&c, &plan, OP_TRIANGULAR, op.a.m, nb, lanes, COMPACT_LU, LG_OP_lu_solve,
                         COMPACT_BLOCKED_LU, LG_OP_blocked_lu_solve, t, op.a.m, lane, &op):
        c.n = op.a.m
        c.k = op.b.n
        c.flags = 0 if op.trans == b'N' else LG_TRANS if op.trans == b'T' else LG_TRANS | LG_CONJ
        add(&c, &op.a)
        add(&c, &op.piv)
        add(&c, &op.b)
        add(&c, &op.out)
        return x, run_compact(&c, nb, ws_bytes, lanes, NULL)
    return x, run_lanes(lane, &op, nb, ws_bytes, plan, NULL)
