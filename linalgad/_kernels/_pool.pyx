"""The memory pool: workspace of the lanes, and large results."""
from libc.string cimport memcpy, memset
from libc.stdlib cimport free
cimport numpy as cnp
from numpy cimport ndarray, npy_intp
from cpython.pycapsule cimport PyCapsule_New

cnp.import_array()

cdef extern from "_lanes_os.h" nogil:
    void lg_watch_forks(void (*on_child)() noexcept nogil)
    void lg_lock()
    void lg_unlock()
    void *lg_aligned(size_t bytes)

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void *ctx
        void *(*malloc)(void *ctx, size_t size) noexcept nogil
        void *(*calloc)(void *ctx, size_t count, size_t size) noexcept nogil
        void *(*realloc)(void *ctx, void *p, size_t size) noexcept nogil
        void (*free)(void *ctx, void *p, size_t size) noexcept nogil
    ctypedef struct PyDataMem_Handler:
        char name[127]
        unsigned char version
        PyDataMemAllocator allocator
    object PyDataMem_SetHandler(object handler)


# A slab is a 64-byte header followed by 64-byte-aligned memory. Free slabs wait in lists by size
# class, four classes for each doubling, so that at most a fifth of a slab is never asked for.

cdef struct Slab:
    Slab *next
    size_t bytes
    int cls

cdef enum:
    HEADER = 64
    CLASSES = 256

cdef Slab *_free_slabs[CLASSES]
cdef size_t _limit = 256 << 20
cdef size_t _cached = 0
cdef size_t _in_use = 0
cdef Py_ssize_t _n_cached = 0
cdef Py_ssize_t _hits = 0
cdef Py_ssize_t _misses = 0


cdef inline size_t _class_of(size_t bytes, int *cls) noexcept nogil:
    """The size that serves a request, and its class."""
    cdef size_t base = 4096
    cdef int k = 0
    while base * 2 < bytes:
        base *= 2
        k += 4
    cdef size_t size = base
    while size < bytes:
        size += base // 4
        k += 1
    cls[0] = k
    return size


cdef char *_take(size_t bytes, bint counted) noexcept nogil:
    """A 64-byte-aligned slab of at least `bytes` bytes, in use by a call if `counted`; NULL if there is no memory."""
    global _cached, _in_use, _n_cached, _hits, _misses
    cdef int cls
    cdef size_t size = _class_of(bytes + HEADER, &cls)
    cdef Slab *slab
    lg_lock()
    slab = _free_slabs[cls]
    if slab != NULL:
        _free_slabs[cls] = slab.next
        _cached -= slab.bytes
        _n_cached -= 1
        _hits += 1
    else:
        _misses += 1
    _in_use += size * counted
    lg_unlock()
    if slab == NULL:
        slab = <Slab *>lg_aligned(size)
        if slab == NULL:
            lg_lock()
            _in_use -= size * counted
            lg_unlock()
            return NULL
        slab.bytes = size
        slab.cls = cls
    return <char *>slab + HEADER


cdef void _give(char *memory, bint counted) noexcept nogil:
    """Give a slab back: to the pool while it is below its limit, else to the system."""
    global _cached, _in_use, _n_cached
    if memory == NULL:
        return
    cdef Slab *slab = <Slab *>(memory - HEADER)
    lg_lock()
    _in_use -= slab.bytes * counted
    if _cached + slab.bytes <= _limit:
        slab.next = _free_slabs[slab.cls]
        _free_slabs[slab.cls] = slab
        _cached += slab.bytes
        _n_cached += 1
        slab = NULL
    lg_unlock()
    free(slab)


cdef char *pool_acquire(size_t bytes) noexcept nogil:
    """64-byte-aligned workspace of at least `bytes` bytes, or NULL if there is no memory."""
    return _take(bytes, True)


cdef void pool_release(char *ws) noexcept nogil:
    """Give workspace back."""
    _give(ws, True)


def clear():
    """Return all cached memory to the system."""
    global _cached, _n_cached
    cdef Slab *slab
    cdef Slab *all_slabs = NULL
    cdef int k
    lg_lock()
    for k in range(CLASSES):
        while _free_slabs[k] != NULL:
            slab = _free_slabs[k]
            _free_slabs[k] = slab.next
            slab.next = all_slabs
            all_slabs = slab
    _cached = 0
    _n_cached = 0
    lg_unlock()
    while all_slabs != NULL:
        slab = all_slabs.next
        free(all_slabs)
        all_slabs = slab


def state():
    """Counters of the pool as a dict; bytes are those of the slabs, headers included."""
    return dict(cached_bytes=_cached, cached_slabs=_n_cached, in_use_bytes=_in_use, limit_bytes=_limit,
                hits=_hits, misses=_misses)


def set_limit(size_t limit):
    """Set how many bytes of free slabs the pool may keep."""
    global _limit
    _limit = limit
    if _cached > _limit:
        clear()


# ---------------------------------------------------------------- results
# Memory that is new to the process is slow: the system clears it page by page when it is first
# touched, which for results of several MB can take longer than their computation, and the C library
# gives such memory back to the system when it is freed. So large results live in the pool, whose
# memory numpy manages for the array through a handler (NEP 49): it owns its data as any array does.

cdef enum:
    LEAST_RESULT = 1 << 20      # smaller ones come from memory that the C library keeps
    LARGEST_ITEM = 16           # bytes of a complex128
    PARTS = 4                   # of the limit of the pool that one result may be


cdef void *_result_malloc(void *ctx, size_t size) noexcept nogil:
    return _take(size, False)


cdef void *_result_calloc(void *ctx, size_t count, size_t size) noexcept nogil:
    cdef void *p = _take(count * size, False)
    if p != NULL:
        memset(p, 0, count * size)
    return p


cdef void *_result_realloc(void *ctx, void *p, size_t size) noexcept nogil:
    cdef char *q = _take(size, False)
    if q != NULL and p != NULL:
        memcpy(q, p, min(size, (<Slab *>(<char *>p - HEADER)).bytes - HEADER))
        _give(<char *>p, False)
    return q


cdef void _result_free(void *ctx, void *p, size_t size) noexcept nogil:
    _give(<char *>p, False)


cdef PyDataMem_Handler _handler
memcpy(_handler.name, <const char *>"linalgad", 9)
_handler.version = 1
_handler.allocator.ctx = NULL
_handler.allocator.malloc = _result_malloc
_handler.allocator.calloc = _result_calloc
_handler.allocator.realloc = _result_realloc
_handler.allocator.free = _result_free
cdef object _results = PyCapsule_New(&_handler, "mem_handler", NULL)


cdef ndarray new_array(int nd, npy_intp *dims, int typenum):
    """A new array, its memory from the pool if it is large."""
    cdef size_t bytes = 1
    cdef int k
    for k in range(nd):
        bytes *= dims[k]
    if bytes >= LEAST_RESULT // LARGEST_ITEM:
        bytes *= cnp.PyArray_DescrFromType(typenum).itemsize
    if bytes < LEAST_RESULT or bytes > _limit // PARTS:
        return cnp.PyArray_EMPTY(nd, dims, typenum, 0)
    previous = PyDataMem_SetHandler(_results)
    try:
        return cnp.PyArray_EMPTY(nd, dims, typenum, 0)
    finally:
        PyDataMem_SetHandler(previous)


cdef ndarray new(tuple shape, int typenum):
    """A new array of that shape."""
    cdef npy_intp dims[64]
    cdef int k, nd = len(shape)
    for k in range(nd):
        dims[k] = shape[k]
    return new_array(nd, dims, typenum)


def empty(tuple shape, dtype):
    """numpy.empty(), its memory from the pool if it is large."""
    return new(shape, dtype.num)


lg_watch_forks(NULL)
