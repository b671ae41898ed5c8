"""The compact tier: which SIMD kernels run, for which orders, and the lane that feeds them."""
from libc.string cimport memcpy
cimport numpy as cnp
from numpy cimport ndarray

from ._layout cimport Slices, aligned, at
from ._lanes cimport Plan, lane_fn, plan_lanes, run_lanes, useful_lanes, wanted_lanes
from ._pool cimport new_array, pool_acquire, pool_release

cnp.import_array()

cdef enum:
    ROWS = 16
    STEP_PACKS = 8      # at least, in a step of a lane
    STEP_NS = 8000      # and as many more as keep it busy for about so long

cdef struct Crossover:
    double most[4]      # the largest order that the compact kernels serve, by dtype; 0 for none
    double base_ns      # one slice of order n costs about base_ns + cubic_ns n^3 on one thread
    double cubic_ns

cdef const lg_tier *_tier = NULL
cdef Crossover _rows[ROWS]


def tiers():
    """Names of the tiers that were built and that this CPU runs, fastest first."""
    return [name for name in ("avx512", "avx2", "baseline") if lg_compact_tier(name.encode()) != NULL]


def tier():
    """Name of the tier in use, 'off' if there is none."""
    return "off" if _tier == NULL else (<bytes>_tier.name).decode()


def set_tier(name, rows):
    """Use the tier of that name ('off': none) with the crossover table `rows`, in the order of CompactRow."""
    global _tier
    cdef int k, j
    _tier = NULL
    if name != "off":
        _tier = lg_compact_tier(name.encode())
    for k, (most, base_ns, cubic_ns) in enumerate(rows):
        for j in range(4):
            _rows[k].most[j] = most[j]
        _rows[k].base_ns = base_ns
        _rows[k].cubic_ns = cubic_ns


cdef const lg_entry *compact_entry(int op, int dtype) noexcept nogil:
    """A kernel of the tier in use, dtypes counted from float32 to complex128; NULL if there is no tier."""
    return NULL if _tier == NULL else &_tier.op[op][dtype]


cdef inline int dtype_of(int typenum) noexcept nogil:
    """Dtypes counted from float32 to complex128."""
    return (0 if typenum == cnp.NPY_FLOAT else 1 if typenum == cnp.NPY_DOUBLE else 2 if typenum == cnp.NPY_CFLOAT
            else 3)


cdef bint compact_serves(Compact *c, int row, int op, int typenum, double order, lane_fn fallback,
                         const void *fallback_op) noexcept:
    """Whether the compact kernels are the fastest for such a slice; if so, prepare `c` but for sizes and operands."""
    cdef int dtype = dtype_of(typenum)
    if _tier == NULL or not 1 <= order <= _rows[row].most[dtype]:
        return False
    c.entry = &_tier.op[op][dtype]
    c.alone = NULL
    c.width = 1 if row >= COMPACT_ALONE else _tier.width[dtype]
    c.slice_ns = _rows[row].base_ns + _rows[row].cubic_ns * order * order * order
    c.fallback = fallback
    c.fallback_op = fallback_op
    c.m = c.n = c.k = 0
    c.flags = 0
    c.views = 0
    return True


cdef bint serves_or_plans(Compact *c, Plan *plan, int tier_op, double size, Py_ssize_t batch, lanes, int row, int op,
                          int blocked_row, int blocked_op, int typenum, double order, lane_fn fallback,
                          const void *fallback_op) except -1:
    """`compact_serves` by the kernels over the batch or those for one matrix; if neither, the plan of LAPACK's lanes.

    One large matrix that is worth all threads of the BLAS is left to LAPACK. Kernels of both kinds have the same
    results bit for bit, so those for one matrix take what would fill no more than half of a pack.
    """
    cdef int dtype = dtype_of(typenum)
    if compact_serves(c, row, op, typenum, order, fallback, fallback_op):
        if (LG_ALONE_REAL if dtype < 2 else LG_ALONE_COMPLEX) <= order <= _rows[blocked_row].most[dtype]:
            if 2 * batch <= c.width:
                return compact_serves(c, blocked_row, blocked_op, typenum, order, fallback, fallback_op)
            c.alone = &_tier.op[blocked_op][dtype]
        return True
    plan[0] = plan_lanes(tier_op, size, batch, lanes)
    return not plan.wide and compact_serves(c, blocked_row, blocked_op, typenum, order, fallback, fallback_op)


cdef int compact_lane(const void *c_, Py_ssize_t step, char *ws) noexcept nogil:
    """Some packs; the number of slices that failed."""
    cdef const Compact *c = <const Compact *>c_
    cdef Py_ssize_t first = step * c.share
    cdef lg_call call
    cdef char *places[LG_MAX_VIEWS][LG_MAX_WIDTH]
    cdef const Slices *s
    cdef int v, l, failures = 0, count = <int>min(c.share, c.batch - first), alone = count % c.width
    cdef int *info = c.info + first if c.codes_bytes == 0 else <int *>ws
    cdef bint failed = False
    call.m = c.m
    call.n = c.n
    call.k = c.k
    call.flags = c.flags
    call.count = count
    call.info = info
    call.ws = ws + c.codes_bytes
    for v in range(c.views):
        s = c.view[v]
        call.x[v].rs = s.rs
        call.x[v].cs = s.cs
        call.x[v].step = s.step
        if s.uniform:
            call.x[v].base = s.data + first * s.step
            call.x[v].list = NULL
        else:
            for l in range(count):
                places[v][l] = at(s, first + l)
            call.x[v].list = places[v]
    if c.alone != NULL and 0 < alone and 2 * alone <= c.width:
        call.count = count - alone
    if call.count > 0:
        failed = c.entry.run(&call) != 0
    if call.count < count:
        for v in range(c.views):
            if call.x[v].list == NULL:  # a list has one pack at most, so that nothing lies before the rest
                call.x[v].base += call.count * call.x[v].step
        call.info += call.count
        call.count = alone
        failed |= c.alone.run(&call) != 0
    if not failed:
        return 0
    for l in range(count):
        if info[l] != 0:
            info[l] = c.fallback(c.fallback_op, first + l, call.ws)
            failures += info[l] != 0
    if failures and c.codes_bytes != 0:
        memcpy(c.info + first, info, count * sizeof(int))
    return failures


cdef object run_compact(Compact *c, Py_ssize_t batch, size_t fallback_bytes, lanes, int *info):
    """Run `c` on every slice; None, or an int32 array of codes if any slice failed, as run_lanes.

    Parameters
    ----------
    batch : number of slices
    fallback_bytes : workspace of the LAPACK lane
    lanes : of the call
    info : where to leave the codes, or NULL if they are wanted only on failure; the steps then keep theirs in their
        workspace unless some are not zero, as codes for all would be a good part of what the smallest matrices move
    """
    cdef Plan plan
    cdef Py_ssize_t packs = (batch + c.width - 1) // c.width, i
    cdef bint uniform = True
    cdef ndarray steps
    cdef size_t ws_bytes = max(<size_t>c.entry.workspace(c.m, c.n, c.k, c.flags), fallback_bytes)
    if c.alone != NULL:
        ws_bytes = max(ws_bytes, <size_t>c.alone.workspace(c.m, c.n, c.k, c.flags))
    cdef char *own = NULL
    cdef cnp.npy_intp size = batch
    if batch == 0:
        return None
    plan.wide = False
    plan.lanes = useful_lanes(batch * c.slice_ns, packs, wanted_lanes(lanes))
    c.share = c.width
    for i in range(c.views):
        uniform = uniform and c.view[i].uniform
    # A step of a few packs costs less, but each lane must find several.
    if uniform:
        c.share *= max(1, min(max(STEP_PACKS, <Py_ssize_t>(STEP_NS / (c.slice_ns * c.width + 1))),
                              packs // (4 * plan.lanes)))
    c.codes_bytes = 0
    if info == NULL:
        c.codes_bytes = aligned(c.share * sizeof(int))
        own = pool_acquire(batch * sizeof(int))
        if own == NULL:
            raise MemoryError(f"no memory for {batch * sizeof(int)} bytes of status codes")
        info = <int *>own
    c.batch = batch
    c.info = info
    codes = None
    try:
        steps = run_lanes(compact_lane, c, (batch + c.share - 1) // c.share, c.codes_bytes + ws_bytes, plan, NULL)
        if steps is not None:
            codes = new_array(1, &size, cnp.NPY_INT32)
            for i in range(batch):
                if c.codes_bytes == 0 or (<int *>cnp.PyArray_DATA(steps))[i // c.share] != 0:
                    (<int *>cnp.PyArray_DATA(codes))[i] = info[i]
                else:
                    (<int *>cnp.PyArray_DATA(codes))[i] = 0
    finally:
        pool_release(own)
    return codes
