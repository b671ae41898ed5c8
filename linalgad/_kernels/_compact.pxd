"""The compact tier in a kernel module: ask whether it serves a call, name the operands, run.

An entry prepares its LAPACK lane first. Where `compact_serves` says so it adds its operands in the order of ops.def and
calls `run_compact`, which gives every slice that the SIMD kernel reports to the LAPACK lane. The kernel leaves the
results of such a slice alone, so that lane finds its input whole even where `out` overlays it.
"""
from libc.stddef cimport size_t

from ._layout cimport Slices
from ._lanes cimport Plan, lane_fn

cdef extern from "abi.h" nogil:
    cdef enum:
        LG_MAX_WIDTH
        LG_MAX_VIEWS
        LG_ALONE_REAL
        LG_ALONE_COMPLEX
        LG_UPPER
        LG_TRANS
        LG_CONJ
        LG_UNIT
        LG_COMPLETE
        LG_RAW
        LG_VALUES
        LG_POSITIVE
        LG_PERMUTE_L
        LG_INDICES
        LG_CONJ_B
    ctypedef struct lg_view:
        char *base
        Py_ssize_t step
        char *const *list
        Py_ssize_t rs
        Py_ssize_t cs
    ctypedef struct lg_call:
        Py_ssize_t m, n, k
        int count, flags
        int *info
        char *ws
        lg_view x[LG_MAX_VIEWS]
    ctypedef struct lg_entry:
        int (*run)(const lg_call *call) noexcept nogil
        Py_ssize_t (*workspace)(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, int flags) noexcept nogil
    ctypedef enum lg_op:
        LG_OP_blocked_cholesky
        LG_OP_blocked_det
        LG_OP_blocked_inv
        LG_OP_blocked_lu
        LG_OP_blocked_lu_factor
        LG_OP_blocked_lu_solve
        LG_OP_blocked_slogdet
        LG_OP_blocked_solve
        LG_OP_cholesky
        LG_OP_cholesky_inverse
        LG_OP_cholesky_solve
        LG_OP_det
        LG_OP_eigh
        LG_OP_inv
        LG_OP_lu
        LG_OP_lu_factor
        LG_OP_lu_solve
        LG_OP_matmul
        LG_OP_qr
        LG_OP_secular
        LG_OP_slogdet
        LG_OP_solve
        LG_OP_solve_triangular
        LG_OP_svd
        LG_OP_trsm
        LG_OPS
    ctypedef struct lg_tier:
        const char *name
        int width[4]
        const lg_entry *op[LG_OPS]
    const lg_tier *lg_compact_tier(const char *name) noexcept

# Rows of the crossover table. Operations that must agree bit for bit (solve is lu_solve of lu_factor) share a row.
cdef enum CompactRow:
    COMPACT_CHOLESKY, COMPACT_TRIANGULAR, COMPACT_LU, COMPACT_QR, COMPACT_EIGH, COMPACT_EIGVALSH, COMPACT_SVD
    COMPACT_SVDVALS, COMPACT_MATMUL, COMPACT_CHOLESKY_INVERSE, COMPACT_BLOCKED_LU, COMPACT_BLOCKED_CHOLESKY

# Kernels of the rows from this one on treat one matrix at a time.
cdef enum:
    COMPACT_ALONE = COMPACT_BLOCKED_LU

cdef struct Compact:
    const lg_entry *entry
    const lg_entry *alone   # the same results bit for bit, a matrix at a time, for half a pack and less; or NULL
    int width
    Py_ssize_t m, n, k
    int flags
    int views
    const Slices *view[LG_MAX_VIEWS]
    lane_fn fallback
    const void *fallback_op
    Py_ssize_t batch
    Py_ssize_t share        # slices of a lane's step: whole packs
    int *info               # codes of the slices; if codes_bytes is not 0, only of the steps in which one has failed
    size_t codes_bytes      # in front of the workspace of a step, for its codes; 0 if kernels write them to `info`
    double slice_ns

cdef bint compact_serves(Compact *c, int row, int op, int typenum, double order, lane_fn fallback,
                         const void *fallback_op) noexcept
cdef bint serves_or_plans(Compact *c, Plan *plan, int tier_op, double size, Py_ssize_t batch, lanes, int row, int op,
                          int blocked_row, int blocked_op, int typenum, double order, lane_fn fallback,
                          const void *fallback_op) except -1
cdef const lg_entry *compact_entry(int op, int dtype) noexcept nogil
cdef object run_compact(Compact *c, Py_ssize_t batch, size_t fallback_bytes, lanes, int *info)


cdef inline void add(Compact *c, const Slices *s) noexcept:
    """The next operand."""
    c.view[c.views] = s
    c.views += 1
