// Whole packs of the smallest matrices between users' arrays and registers, without a tile in between: for orders that
// the compiler knows, and for matrices by rows that lie one after the other. layout.hpp serves all others.
#ifndef LINALGAD_COMPACT_DIRECT_HPP
#define LINALGAD_COMPACT_DIRECT_HPP

#include "layout.hpp"

namespace lg {
namespace {

template <class V> LG_FN bool lies_directly(const part &c, int v, ptrdiff_t m, ptrdiff_t n) {
    const ptrdiff_t item = traits<V>::parts * sizeof(typename traits<V>::scalar);
    const lg_view &a = c.call->x[v];
    return c.count == traits<V>::width && !a.list && a.step == m * n * item && order_of(a, m, n, item) == by_rows;
}

// The granules of a run of `count` numbers, the last one overlapping the one before.
template <int count, class T> LG_FN void take(pack<T> (&x)[count], const adjoining<const T> &from) {
    typedef granule<T> N;
    const int G = N::G;
    if constexpr (count < G) {
        interleave(x, from, count);
    } else {
        LG_UNROLL for (int g = 0; g < (count + G - 1) / G; g++) {
            const int f = g * G < count - G ? g * G : count - G;
            typename raw<T>::R y[G];
            ask_for_next<0>(from, f, G);
            LG_UNROLL for (int i = 0; i < G; i++) y[i] = N::join(from, i, f);
            N::turn(y);
            LG_UNROLL for (int i = 0; i < G; i++) x[f + i].r = y[i];
        }
    }
}
template <int count, class T> LG_FN void put(const pack<T> (&x)[count], const adjoining<T> &to) {
    typedef granule<T> N;
    const int G = N::G;
    if constexpr (count < G) {
        deinterleave(x, to, count);
    } else {
        LG_UNROLL for (int g = 0; g < (count + G - 1) / G; g++) {
            const int f = g * G < count - G ? g * G : count - G;
            typename raw<T>::R y[G];
            ask_for_next<1>(to, f, G);
            LG_UNROLL for (int i = 0; i < G; i++) y[i] = x[f + i].r;
            N::turn(y);
            LG_UNROLL for (int i = 0; i < G; i++) N::split(y[i], to, i, f);
        }
    }
}
template <class T> LG_FN void from_parts(pack<T> &x, const pack<T> *p) { x = p[0]; }
template <class T> LG_FN void from_parts(cx<pack<T>> &x, const pack<T> *p) { x.re = p[0], x.im = p[1]; }
template <class T> LG_FN void to_parts(const pack<T> &x, pack<T> *p) { p[0] = x; }
template <class T> LG_FN void to_parts(const cx<pack<T>> &x, pack<T> *p) { p[0] = x.re, p[1] = x.im; }

// Operand v, which lies_directly(), and back.
template <int M, int N, class V> LG_FN void take_matrix(V (&x)[M][N], const part &c, int v) {
    typedef typename traits<V>::scalar T;
    const int parts = traits<V>::parts;
    pack<T> y[M * N * parts];
    take(y, adjoining<const T>{(const T *)place(c, v, 0), M * N * parts});
    LG_UNROLL for (int i = 0; i < M; i++) LG_UNROLL for (int j = 0; j < N; j++) from_parts(x[i][j], y + (i * N + j) * parts);
}
template <int M, int N, class V> LG_FN void put_matrix(const V (&x)[M][N], const part &c, int v) {
    typedef typename traits<V>::scalar T;
    const int parts = traits<V>::parts;
    pack<T> y[M * N * parts];
    LG_UNROLL for (int i = 0; i < M; i++) LG_UNROLL for (int j = 0; j < N; j++) to_parts(x[i][j], y + (i * N + j) * parts);
    put(y, adjoining<T>{(T *)place(c, v, 0), M * N * parts});
}

// Whether one of Op::direct<2> to <4> has done all the work for a whole pack of order n.
template <class V, class Op> LG_FN bool done_directly(const part &c, int n) {
    if constexpr (traits<V>::width > 1) {
        if (c.count < traits<V>::width) return false;
        switch (n) {
        case 2: return Op::template direct<2>(c);
        case 3: return Op::template direct<3>(c);
        case 4: return Op::template direct<4>(c);
        }
    }
    return false;
}

} // namespace
} // namespace lg
#endif
