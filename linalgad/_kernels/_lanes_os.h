/* What the lane driver and the pool need from the operating system: a mutex each, fork awareness, a clock, memory. */
#ifndef LINALGAD_LANES_OS_H
#define LINALGAD_LANES_OS_H

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Guards the slabs in the pool's module and the BLAS pin in the driver's; held for a few dozen instructions at a time. */
static pthread_mutex_t lg_mutex = PTHREAD_MUTEX_INITIALIZER;

/* A forked child has none of its parent's OpenMP threads, yet the runtime's thread-local state in
   the forking thread still refers to them and GNU's runtime then waits for ever. The generation
   says whether the calling thread opened a parallel region before the fork it lives behind. */
static int lg_generation = 0;
static __thread int lg_region_generation = -1;
static void (*lg_on_child)(void) = NULL;

static void lg_fork_prepare(void) { pthread_mutex_lock(&lg_mutex); }
static void lg_fork_parent(void) { pthread_mutex_unlock(&lg_mutex); }
static void lg_fork_child(void) {
    lg_generation++;
    if (lg_on_child) lg_on_child();
    pthread_mutex_unlock(&lg_mutex);
}
static void lg_watch_forks(void (*on_child)(void)) {
    lg_on_child = on_child;
    pthread_atfork(lg_fork_prepare, lg_fork_parent, lg_fork_child);
}
static void lg_lock(void) { pthread_mutex_lock(&lg_mutex); }
static void lg_unlock(void) { pthread_mutex_unlock(&lg_mutex); }

static int lg_region_is_stale(void) {
    return lg_region_generation != -1 && lg_region_generation != lg_generation;
}
static void lg_region_opened(void) { lg_region_generation = lg_generation; }

/* A fresh thread has fresh runtime state, so a parallel region opened there works after a fork. */
static int lg_thread_start(pthread_t *t, void *(*fn)(void *), void *arg) {
    return pthread_create(t, NULL, fn, arg);
}
static void lg_thread_join(pthread_t t) { pthread_join(t, NULL); }

static double lg_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static Py_ssize_t lg_fetch_add(Py_ssize_t *p, Py_ssize_t v) {
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
static int lg_load(int *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static void lg_store(int *p, int v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }

/* Large memory in large pages where the system has them: it is cleared in few steps when it is first touched. */
static void *lg_aligned(size_t bytes) {
    const size_t page = 2 << 20;
    void *p = NULL;
    if (posix_memalign(&p, bytes < 2 * page ? 64 : page, bytes)) return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= 2 * page) madvise(p, bytes / page * page, MADV_HUGEPAGE);
#endif
    return p;
}
#endif
