// Reading one triangle of a matrix: half the memory, and half the work of packing.
#ifndef LINALGAD_COMPACT_HALF_HPP
#define LINALGAD_COMPACT_HALF_HPP

#include "layout.hpp"

namespace lg {
namespace {

// Runs that are `step` bytes apart, of matrices that follow each other in the same distance. The hardware follows
// neither eight runs at once nor runs of growing length, so that the cache lines of the next pack are asked for.
template <class T> struct leading : spaced<T> {};
template <int rw, class T> LG_FN void ask_for_next(const leading<T> &a, ptrdiff_t f, ptrdiff_t) {
    const int width = LG_BYTES / sizeof(T);
    const char *next = (const char *)(a.p + f) + width * a.step;
    if (f * sizeof(T) % 64 == 0) LG_UNROLL for (int l = 0; l < width; l++) __builtin_prefetch(next + l * a.step, rw, 2);
}

// load() of the lower triangle of an n x n operand, or of the upper one. What the tile holds elsewhere is not defined.
template <class V> LG_CALL tile<V> load_triangle(V *p, const part &c, int v, ptrdiff_t n, V *spare, bool upper) {
    typedef traits<V> X;
    typedef typename X::scalar T;
    const lg_view &a = c.call->x[v];
    const order o = order_of(a, n, n, X::parts * sizeof(T));
    const ptrdiff_t least = 16; // below, the runs are too short
    if constexpr (X::width > 1) {
        if (n >= least && o != strided && !a.list && c.count == X::width) {
            const tile<V> t = ordered(p, o, n, n);
            const bool heads = upper == (o == by_columns); // the first numbers of each line, or the last
            const T *const from = (const T *)place(c, v, 0);
            for (ptrdiff_t i = 0; i < n; i++) {
                const ptrdiff_t at = (i * n + (heads ? 0 : i)) * X::parts, count = (heads ? i + 1 : n - i) * X::parts;
                interleave((typename X::real *)p + at, leading<const T>{{from + at, a.step}}, count);
            }
            return t;
        }
    }
    return load(p, c, v, n, n, spare);
}

} // namespace
} // namespace lg
#endif
