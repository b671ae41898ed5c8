"""The lane driver: the only parallel region and the BLAS pin."""
from cython.parallel cimport parallel, threadid
cimport numpy as cnp
from numpy cimport ndarray
from ._types cimport blas_int
from ._pool cimport new_array, pool_acquire, pool_release

cnp.import_array()

cdef extern from "_lanes_os.h" nogil:
    ctypedef unsigned long pthread_t
    void lg_watch_forks(void (*on_child)() noexcept nogil)
    void lg_lock()
    void lg_unlock()
    int lg_region_is_stale()
    void lg_region_opened()
    int lg_thread_start(pthread_t *t, void *(*fn)(void *) noexcept nogil, void *arg)
    void lg_thread_join(pthread_t t)
    double lg_seconds()
    Py_ssize_t lg_fetch_add(Py_ssize_t *p, Py_ssize_t v)
    int lg_load(int *p)
    void lg_store(int *p, int v)

cdef extern from "Python.h":
    # Cython's own declaration may raise, and in the middle of lanes that would print and drop the exception.
    int PyErr_CheckSignals() noexcept

cdef extern from *:
    """
    #ifdef _OPENMP
    #define LG_OPENMP 1
    #else
    #define LG_OPENMP 0
    #endif
    """
    const int LG_OPENMP


# ---------------------------------------------------------------- BLAS pin
# The thread count of SciPy's BLAS is process-wide. The first call that runs lanes saves it and sets
# it to one, the last one that leaves restores it, so concurrent callers never see it flicker.

ctypedef int (*get_threads_fn)() noexcept nogil
ctypedef void (*set_threads_fn)(int) noexcept nogil

cdef get_threads_fn _get_threads = NULL
cdef set_threads_fn _set_threads = NULL
cdef int _pins = 0
cdef int _pinned_from = 0       # the count to restore; 0 when nothing is pinned


cdef inline void _blas_pin() noexcept nogil:
    global _pins, _pinned_from
    if _set_threads == NULL:
        return
    lg_lock()
    if _pins == 0:
        # A fork while another thread held the pin leaves _pinned_from set: that is the count to keep.
        if _pinned_from == 0:
            _pinned_from = _get_threads()
        if _pinned_from != 1:
            _set_threads(1)
    _pins += 1
    lg_unlock()


cdef inline void _blas_unpin() noexcept nogil:
    global _pins, _pinned_from
    if _set_threads == NULL:
        return
    lg_lock()
    _pins -= 1
    if _pins == 0:
        if _pinned_from != 1:
            _set_threads(_pinned_from)
        _pinned_from = 0
    lg_unlock()


cdef void _forget_parent_threads() noexcept nogil:
    global _pins
    _pins = 0


def set_blas_control(size_t getter, size_t setter):
    """Addresses of `int get(void)` and `void set(int)` of the BLAS that cython_lapack calls."""
    global _get_threads, _set_threads
    _get_threads = <get_threads_fn>getter
    _set_threads = <set_threads_fn>setter


def blas_threads():
    """Threads SciPy's BLAS uses now, or None if it offers no control."""
    return None if _get_threads == NULL else _get_threads()


def pin_cycle(Py_ssize_t repeats):
    """Pin and unpin `repeats` times; the benchmark of the switch."""
    cdef Py_ssize_t _i
    with nogil:
        for _i in range(repeats):
            _blas_pin()
            _blas_unpin()


def lapack_limit():
    """The largest number LAPACK's integers hold."""
    return 2 ** 31 - 1 if sizeof(blas_int) == 4 else 2 ** 63 - 1


def is_ready(a):
    """Whether `a` is exactly an ndarray of a kernel dtype, aligned and in native byte order."""
    if type(a) is not ndarray or not cnp.PyArray_ISBEHAVED_RO(a):
        return False
    cdef int t = cnp.PyArray_TYPE(a)
    return t == cnp.NPY_DOUBLE or t == cnp.NPY_FLOAT or t == cnp.NPY_CDOUBLE or t == cnp.NPY_CFLOAT


# ---------------------------------------------------------------- tiers
cdef struct Tier:
    double base_ns      # one slice of order n costs about base_ns + cubic_ns n^3 on one thread
    double cubic_ns
    double wide_n       # from this order on threaded BLAS speeds up a single slice

cdef enum:
    OPS = 16

cdef Tier _tiers[OPS]
cdef int _default_lanes = 1
cdef double _region_ns = 5000.0
cdef double _wide_efficiency = 0.6
cdef object _lanes_var = None


def set_tiers(rows, double region_ns, double wide_efficiency):
    """Load the table of _lib/_tiers.py: rows in the order of `Op`."""
    global _region_ns, _wide_efficiency
    for k, row in enumerate(rows):
        _tiers[k].base_ns, _tiers[k].cubic_ns, _tiers[k].wide_n = row
    _region_ns = region_ns
    _wide_efficiency = wide_efficiency


def set_default_lanes(int n):
    """Lanes of calls that do not say otherwise."""
    global _default_lanes
    _default_lanes = n


def get_default_lanes():
    """Lanes of calls that do not say otherwise."""
    return _default_lanes


def set_lanes_var(var):
    """The context variable that `linalgad.lanes` sets."""
    global _lanes_var
    _lanes_var = var


def has_openmp():
    """Whether this build can run more than one lane."""
    return bool(LG_OPENMP)


cdef int wanted_lanes(lanes) except -1:
    """Lanes a call asks for, by its keyword, the context or the default."""
    lanes = _lanes_var.get() if lanes is None else lanes
    return _default_lanes if lanes is None else lanes


cdef int useful_lanes(double work_ns, Py_ssize_t batch, int lanes) noexcept:
    """Lanes worth opening: when each gets several times the cost of the parallel region."""
    cdef double most = min(min(<double>lanes, <double>batch), work_ns / (2 * _region_ns))
    return max(1, <int>most) if LG_OPENMP else 1


cdef Plan plan_lanes(int op, double order, Py_ssize_t batch, lanes) except *:
    """Tier and lane count of a call on `batch` slices of geometric-mean order `order`.

    Threaded BLAS wins when it fills more of the machine than whole slices can: it reaches about
    `wide_efficiency` of it from order `wide_n` on, whole slices leave idle lanes in the last round.
    """
    cdef Plan plan
    cdef int n = wanted_lanes(lanes)
    plan.wide = False
    plan.lanes = 1
    if n == 1 or batch == 0:
        return plan
    cdef Tier *t = &_tiers[op]
    cdef double rounds = (batch + n - 1) // n
    if order >= t.wide_n and rounds * n * _wide_efficiency > batch:
        plan.wide = True
        return plan
    plan.lanes = useful_lanes(batch * (t.base_ns + t.cubic_ns * order * order * order), batch, n)
    return plan


# ---------------------------------------------------------------- driver
cdef struct Job:
    lane_fn fn
    const void *op
    Py_ssize_t batch
    Py_ssize_t chunk
    size_t ws_bytes
    int *info
    Py_ssize_t next
    Py_ssize_t failures
    int lanes
    int stop            # 1: interrupted, 2: no memory


cdef int _signals() noexcept with gil:
    """-1 if a handler has raised; its exception stays in the thread state until `_raise_pending`."""
    return PyErr_CheckSignals()


cdef void _work(Job *job, bint master) noexcept nogil:
    """Take chunks of slices until none is left. Only the calling thread looks for signals."""
    cdef Py_ssize_t i, start, end, failures = 0
    cdef double looked = 0.0, now
    cdef char *ws = pool_acquire(job.ws_bytes)
    if ws == NULL:
        lg_store(&job.stop, 2)
        return
    while not lg_load(&job.stop):
        start = lg_fetch_add(&job.next, job.chunk)
        if start >= job.batch:
            break
        end = min(start + job.chunk, job.batch)
        for i in range(start, end):
            job.info[i] = job.fn(job.op, i, ws)
            failures += job.info[i] != 0
        if master and end < job.batch:
            now = lg_seconds()
            if looked == 0.0:
                looked = now
            elif now - looked > 0.1:
                looked = now
                if _signals() != 0:
                    lg_store(&job.stop, 1)
    lg_fetch_add(&job.failures, failures)
    pool_release(ws)


cdef void *_region(void *arg) noexcept nogil:
    """The parallel region, opened by the caller or, behind a fork, by a thread of its own."""
    cdef Job *job = <Job *>arg
    with parallel(num_threads=job.lanes):
        _work(job, False)
    return NULL


cdef void _run(Job *job) noexcept nogil:
    cdef pthread_t helper
    cdef int lanes = job.lanes
    if lanes == 1:
        _work(job, True)
    elif lg_region_is_stale():
        job.lanes = lanes - 1
        if lg_thread_start(&helper, _region, job) == 0:
            _work(job, True)
            lg_thread_join(helper)
        else:
            _work(job, True)
    else:
        lg_region_opened()
        with parallel(num_threads=lanes):
            _work(job, threadid() == 0)


cdef object run_lanes(lane_fn fn, const void *op, Py_ssize_t batch, size_t ws_bytes, Plan plan, int *info):
    """Run `fn` on every slice; None, or an int32 array of codes if any slice failed.

    Parameters
    ----------
    fn, op : one slice of the operation and its description
    batch : number of slices
    ws_bytes : workspace of one lane
    plan : lanes, or BLAS threads
    info : where to leave the codes, or NULL if they are wanted only on failure
    """
    cdef Job job
    cdef char *own = NULL
    cdef cnp.npy_intp size = batch
    if batch == 0:
        return None
    job.fn = fn
    job.op = op
    job.batch = batch
    job.ws_bytes = ws_bytes
    job.next = 0
    job.failures = 0
    job.stop = 0
    job.lanes = plan.lanes
    # Slices with much workspace are slow: hand them out one by one, and look for signals after each.
    job.chunk = 1 if ws_bytes > (1 << 16) else min(max(batch // (8 * plan.lanes), 1), 64)
    if info == NULL:
        own = pool_acquire(batch * sizeof(int))
        if own == NULL:
            raise MemoryError(f"no memory for {batch * sizeof(int)} bytes of status codes")
        info = <int *>own
    job.info = info
    with nogil:
        if plan.wide:
            _run(&job)
        else:
            _blas_pin()
            _run(&job)
            _blas_unpin()
    codes = None
    if job.failures and job.stop == 0:
        codes = new_array(1, &size, cnp.NPY_INT32)
        for i in range(batch):
            (<int *>cnp.PyArray_DATA(codes))[i] = info[i]
    pool_release(own)
    if job.stop == 1:
        _raise_pending()
    if job.stop == 2:
        raise MemoryError(f"no memory for a workspace of {ws_bytes} bytes")
    return codes


cdef int _raise_pending() except -1:
    """The signal handler has left its exception in the thread state."""
    return -1


lg_watch_forks(_forget_parent_threads)
