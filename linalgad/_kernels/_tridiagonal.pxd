"""Eigenvectors of symmetric tridiagonal matrices by divide and conquer, with kernels of the compact tier.

A matrix is torn into leaves, of which the kernel for small matrices takes a pack at a time. Two parts with their
vectors Q meet in Q (D + rho z z^T) Q^T: laed2 sets aside what is an eigenvalue already, the secular kernel finds the
other ones with their vectors, and two products give these in the basis of the whole. Matrices lie by columns, as LAPACK
has them. Reference: J. J. M. Cuppen, Numerische Mathematik 36 (1981) 177.
"""
from libc.float cimport DBL_EPSILON, FLT_EPSILON
from libc.math cimport fabs, frexp, ldexp, sqrt
from libc.string cimport memcpy, memset
cimport scipy.linalg.cython_lapack as lapack

from ._compact cimport lg_call, lg_entry, compact_entry, LG_OP_eigh, LG_OP_secular
from ._layout cimport aligned
from ._matmul cimport gemm
from ._tops cimport top_of
from ._types cimport blas_int, real_t

cdef enum:
    LEAF = 24           # the largest order of a leaf
    PACK = 16           # to which rows of the kernel's result are rounded up


cdef struct ConquerKernels:
    const lg_entry *secular         # NULL without the compact tier
    const lg_entry *leaves


cdef struct Conquer:
    ConquerKernels kernel
    Py_ssize_t ld       # of the secular kernel's result
    void *q             # the vectors so far, and where laed2 sorts them
    void *q2
    void *s             # leaves, then vectors from the secular kernel, and in the end those of the whole
    void *z             # [n]
    void *pole
    void *weight
    blas_int *order     # [n]: the eigenvalues of a part in ascending order
    blas_int *ints      # [5 n]
    char *ws            # of the kernels


cdef inline ConquerKernels conquer_kernels(int dtype) noexcept nogil:
    """Kernels of the tier in use, for float32 (0) or float64 (1)."""
    cdef ConquerKernels kernel
    kernel.secular = compact_entry(LG_OP_secular, dtype)
    kernel.leaves = compact_entry(LG_OP_eigh, dtype)
    return kernel


cdef inline size_t conquer_workspace(const ConquerKernels *kernel, Py_ssize_t n, size_t item) noexcept nogil:
    """Bytes of `conquer`: s | z | pole | weight | integers | those of the kernels."""
    return (aligned(n * rounded(n) * item) + 3 * aligned(n * item) + aligned(6 * n * sizeof(blas_int))
            + max(kernel.secular.workspace(n, n, 0, 0), kernel.leaves.workspace(LEAF, LEAF, 0, 0)))


cdef inline Py_ssize_t rounded(Py_ssize_t n) noexcept nogil:
    """An odd number of packs: rows at a distance of a power of two would compete for the same places of the cache."""
    return ((n + PACK - 1) // PACK | 1) * PACK


cdef inline blas_int stedc(blas_int n, real_t *d, real_t *e, real_t *z, real_t *work, blas_int lwork, blas_int *iwork,
                           blas_int liwork) noexcept nogil:
    """Eigenvalues, ascending, and vectors of a tridiagonal matrix by LAPACK's divide and conquer."""
    cdef char job = b'I'
    cdef blas_int info = 0
    if real_t is float:
        lapack.sstedc(&job, &n, d, e, z, &n, work, &lwork, iwork, &liwork, &info)
    else:
        lapack.dstedc(&job, &n, d, e, z, &n, work, &lwork, iwork, &liwork, &info)
    return info


cdef inline blas_int laed2(blas_int *k, blas_int n, blas_int n1, real_t *d, real_t *q, blas_int ldq, blas_int *order,
                           real_t *rho, real_t *z, real_t *pole, real_t *weight, real_t *q2, blas_int *ints,
                           ) noexcept nogil:
    """Deflation; of `ints` [4 n] the second quarter is the order of entries, the last begins with counts of columns."""
    cdef blas_int info = 0
    if real_t is float:
        lapack.slaed2(k, &n, &n1, d, q, &ldq, order, rho, z, pole, weight, q2, ints, ints + n, ints + 2 * n,
                      ints + 3 * n, &info)
    else:
        lapack.dlaed2(k, &n, &n1, d, q, &ldq, order, rho, z, pole, weight, q2, ints, ints + n, ints + 2 * n,
                      ints + 3 * n, &info)
    return info


cdef inline void lamrg(blas_int n1, blas_int n2, real_t *d, blas_int *order) noexcept nogil:
    """Order of numbers of which the first n1 ascend and the others descend."""
    cdef blas_int up = 1, down = -1
    if real_t is float:
        lapack.slamrg(&n1, &n2, d, &up, &down, order)
    else:
        lapack.dlamrg(&n1, &n2, d, &up, &down, order)


cdef inline void ascend(Py_ssize_t n, const real_t *d, blas_int *order) noexcept nogil:
    """Mend an order that neighbours may break by a rounding: two roots next to a common pole."""
    cdef Py_ssize_t i, j
    cdef blas_int which
    for i in range(1, n):
        which = order[i]
        j = i
        while j > 0 and d[order[j - 1] - 1] > d[which - 1]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = which


cdef inline int secular(const Conquer *c, blas_int k, real_t *pole, real_t *weight, real_t *rho, real_t *w, real_t *s,
                        const blas_int *entries, int *index) noexcept nogil:
    """The kernel; `index` [k] is scratch for the order of entries."""
    cdef lg_call call
    cdef int info = 0
    cdef Py_ssize_t i
    for i in range(k):
        index[i] = entries[i]
    call.m = call.n = k
    call.k = 0
    call.count = 1
    call.flags = 0
    call.info = &info
    call.ws = c.ws
    call.x[0].base = <char *>pole
    call.x[1].base = <char *>weight
    call.x[2].base = <char *>rho
    call.x[3].base = <char *>w
    call.x[4].base = <char *>s
    call.x[4].rs = c.ld * sizeof(real_t)
    call.x[5].base = <char *>index
    return c.kernel.secular.run(&call)


cdef inline void half_of_vectors(blas_int m, blas_int k, blas_int terms, const real_t *q2, const real_t *s,
                                 blas_int lds, real_t *q, blas_int ldq) noexcept nogil:
    """m rows of the vectors of a merged part."""
    cdef Py_ssize_t j
    if terms > 0:
        gemm[real_t](b'N', b'T', m, k, terms, q2, m, s, lds, q, ldq)
    else:
        for j in range(k):
            memset(q + j * ldq, 0, m * sizeof(real_t))


cdef inline blas_int merge(const Conquer *c, blas_int n, blas_int n1, real_t rho, real_t *d, real_t *q, blas_int ldq,
                           blas_int *order) noexcept nogil:
    """Eigenvalues and vectors of a part of order n from those of its first n1 rows and columns and of the rest."""
    cdef real_t *z = <real_t *>c.z
    cdef real_t *pole = <real_t *>c.pole
    cdef real_t *weight = <real_t *>c.weight
    cdef real_t *q2 = <real_t *>c.q2
    cdef real_t *s = <real_t *>c.s
    cdef const blas_int *count = c.ints + 3 * n
    cdef blas_int k = 0, info
    cdef Py_ssize_t j
    for j in range(n1):
        z[j] = q[j * ldq + n1 - 1]
    for j in range(n1, n):
        z[j] = q[j * ldq + n1]
    info = laed2[real_t](&k, n, n1, d, q, ldq, order, &rho, z, pole, weight, q2, c.ints)
    if info != 0:
        return info
    if k == 0:
        for j in range(n):
            order[j] = j + 1
        return 0
    if secular[real_t](c, k, pole, weight, &rho, d, s, c.ints + n, <int *>c.ints):
        return 1
    # columns that have entries in the upper half, in both, and in the lower one
    cdef blas_int upper = count[0] + count[1], lower = count[1] + count[2]
    half_of_vectors[real_t](n1, k, upper, q2, s, c.ld, q, ldq)
    half_of_vectors[real_t](n - n1, k, lower, q2 + n1 * <Py_ssize_t>upper, s + count[0] * c.ld, c.ld, q + n1, ldq)
    lamrg[real_t](k, n - k, d, order)
    ascend[real_t](n, d, order)
    return 0


cdef inline bint splits(Py_ssize_t n, const real_t *d, const real_t *e) noexcept nogil:
    """Whether the matrix has independent parts, which may have very different norms."""
    cdef double eps = 0.5 * (FLT_EPSILON if real_t is float else DBL_EPSILON)
    cdef Py_ssize_t i
    for i in range(n - 1):
        if fabs(e[i]) <= eps * sqrt(fabs(d[i])) * sqrt(fabs(d[i + 1])):
            return True
    return False


cdef inline int solve_leaves(const Conquer *c, Py_ssize_t m, Py_ssize_t count, Py_ssize_t n, real_t *d, real_t *e,
                             real_t *q) noexcept nogil:
    """Eigenvalues and vectors of `count` blocks of order m along the diagonal of the matrix."""
    cdef lg_call call
    cdef real_t *leaf = <real_t *>c.s
    cdef Py_ssize_t i, j
    if count == 0:
        return 0
    memset(leaf, 0, count * m * m * sizeof(real_t))
    for i in range(count):
        for j in range(m):
            leaf[(i * m + j) * m + j] = d[i * m + j]
        for j in range(1, m):
            leaf[(i * m + j) * m + j - 1] = e[i * m + j - 1]
    call.m = call.n = m
    call.k = 0
    call.count = count
    call.flags = 0
    call.info = <int *>c.ints
    call.ws = c.ws
    call.x[0].list = call.x[1].list = call.x[2].list = NULL
    call.x[0].base = <char *>leaf
    call.x[0].step = m * m * sizeof(real_t)
    call.x[0].rs = m * sizeof(real_t)
    call.x[0].cs = sizeof(real_t)
    call.x[1].base = <char *>d
    call.x[1].step = m * sizeof(real_t)
    call.x[1].rs = call.x[1].cs = sizeof(real_t)
    call.x[2].base = <char *>q
    call.x[2].step = m * (n + 1) * sizeof(real_t)
    call.x[2].rs = sizeof(real_t)
    call.x[2].cs = n * sizeof(real_t)
    return c.kernel.leaves.run(&call)


cdef inline void scale(Py_ssize_t n, real_t *x, int power) noexcept nogil:
    """x := x 2^power; what is far below the rounding of one becomes zero, as the kernel of the leaves asks for."""
    cdef Py_ssize_t i
    cdef real_t least = 2.0 ** -60 if real_t is float else 2.0 ** -400
    for i in range(n):
        x[i] = <real_t>ldexp(x[i], power)
        if fabs(x[i]) < least:
            x[i] = 0


cdef inline blas_int conquer(const ConquerKernels *kernel, Py_ssize_t n, real_t *d, real_t *e, real_t *two,
                             char *ws, real_t **vectors) noexcept nogil:
    """Eigenvalues, ascending in place of the diagonal d, and the vectors, which lie at the start of the workspace.

    `two` has room for two matrices; e is lost. Not zero where an iteration failed.
    """
    cdef Conquer c
    cdef Py_ssize_t i, j, b, m, parts
    cdef blas_int info = 0
    cdef int power = 0
    c.kernel = kernel[0]
    c.ld = rounded(n)
    c.q = two
    c.q2 = two + n * n
    c.s = vectors[0] = <real_t *>ws
    ws += aligned(n * c.ld * sizeof(real_t))
    c.z = ws
    ws += aligned(n * sizeof(real_t))
    c.pole = ws
    ws += aligned(n * sizeof(real_t))
    c.weight = ws
    ws += aligned(n * sizeof(real_t))
    c.order = <blas_int *>ws
    c.ints = c.order + n
    c.ws = ws + aligned(6 * n * sizeof(blas_int))
    cdef real_t *q = two
    cdef real_t *sorted = <real_t *>c.z
    cdef blas_int *size = c.ints + 4 * n
    if n <= LEAF or splits[real_t](n, d, e):
        return stedc[real_t](n, d, e, vectors[0], q, 2 * n * n, c.order, 6 * n)
    frexp(max(top_of[real_t](n, d), top_of[real_t](n - 1, e)), &power)
    scale[real_t](n, d, -power)
    scale[real_t](n - 1, e, -power)
    memset(q, 0, n * n * sizeof(real_t))
    parts = 2
    while n > parts * LEAF:
        parts *= 2
    b = 0
    for i in range(parts):
        size[i] = (n + i) // parts      # laed2 wants the smaller part first
        for j in range(size[i]):
            c.order[b + j] = j + 1
        b += size[i]
        if b < n:
            d[b - 1] -= <real_t>fabs(e[b - 1])
            d[b] -= <real_t>fabs(e[b - 1])
    m = n // parts
    i = n % parts
    j = n - i * (m + 1)
    if (solve_leaves[real_t](&c, m, parts - i, n, d, e, q)
            or solve_leaves[real_t](&c, m + 1, i, n, d + j, e + j, q + j * n + j)):
        return 1
    while parts > 1:
        parts //= 2
        b = 0
        for i in range(parts):
            m = size[2 * i] + size[2 * i + 1]
            info = merge[real_t](&c, m, size[2 * i], e[b + size[2 * i] - 1], d + b, q + b * n + b, n, c.order + b)
            if info != 0:
                return info
            size[i] = m
            b += m
    for j in range(n):
        i = c.order[j] - 1
        sorted[j] = <real_t>ldexp(d[i], power)
        memcpy(vectors[0] + j * n, q + i * n, n * sizeof(real_t))
    memcpy(d, sorted, n * sizeof(real_t))
    return 0
