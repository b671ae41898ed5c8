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

// Pairs of floats from a run without gaps, and back: a granule holds two of them.
template <class S> LG_FN void take_pairs(pack<float> *x, const S &from) {
    typedef granule<float> N;
    const typename N::R a = N::join(from, 0, 0), b = N::join(from, 2, 0);
    const typename N::R even = N::low(a, b), odd = N::high(a, b);
    x[0].r = N::low(even, odd), x[1].r = N::high(even, odd);
}
template <class S> LG_FN void put_pairs(const pack<float> *x, const S &to) {
    typedef granule<float> N;
    N::split(N::low(x[0].r, x[1].r), to, 0, 0);
    N::split(N::high(x[0].r, x[1].r), to, 2, 0);
}
// The granules of a run of `count` numbers, the last one overlapping the one before.
template <int count, class T, class S> LG_FN void take(pack<T> (&x)[count], const S &from) {
    typedef granule<T> N;
    const int G = N::G;
    if constexpr (count == 1) {
        x[0].r = *(const typename raw<T>::U *)from.p;
    } else if constexpr (count == 2 && sizeof(T) == 4) {
        take_pairs(x, from);
    } else if constexpr (count < G) {
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
    if constexpr (count == 1) {
        put_numbers(to.p, x[0]);
    } else if constexpr (count == 2 && sizeof(T) == 4) {
        put_pairs(x, to);
    } else if constexpr (count < G) {
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

// A pack of matrices by rows, and back to matrices that lie one after the other.
template <int M, int N, class V, class S> LG_FN void take_matrix(V (&x)[M][N], const S &from) {
    const int parts = traits<V>::parts;
    pack<typename traits<V>::scalar> y[M * N * parts];
    take(y, from);
    LG_UNROLL for (int i = 0; i < M; i++) LG_UNROLL for (int j = 0; j < N; j++) from_parts(x[i][j], y + (i * N + j) * parts);
}
template <int M, int N, class V, class T> LG_FN void put_matrix(const V (&x)[M][N], T *to) {
    const int parts = traits<V>::parts;
    pack<T> y[M * N * parts];
    LG_UNROLL for (int i = 0; i < M; i++) LG_UNROLL for (int j = 0; j < N; j++) to_parts(x[i][j], y + (i * N + j) * parts);
    put(y, adjoining<T>{to, M * N * parts});
}
// Operand v, which lies_directly(), and back.
template <int M, int N, class V> LG_FN void take_matrix(V (&x)[M][N], const part &c, int v) {
    typedef typename traits<V>::scalar T;
    take_matrix(x, adjoining<const T>{(const T *)place(c, v, 0), M * N * traits<V>::parts});
}
template <int M, int N, class V> LG_FN void put_matrix(const V (&x)[M][N], const part &c, int v) {
    put_matrix(x, (typename traits<V>::scalar *)place(c, v, 0));
}
// Operand v, wherever it lies.
template <int M, int N, class V> LG_FN void read_matrix(V (&x)[M][N], const part &c, int v) {
    if constexpr (traits<V>::width > 1)
        if (lies_directly<V>(c, v, M, N)) return take_matrix(x, c, v);
    arena ws{c.call->ws};
    V *p = ws.take<V>(M * N), *spare = ws.take<V>(M * N);
    load_block(x, load(p, c, v, M, N, spare));
}
// One number of each matrix to operand v.
template <class V> LG_FN void write_number(const V &x, const part &c, int v) {
    if constexpr (traits<V>::width > 1)
        if (!c.failed && lies_directly<V>(c, v, 1, 1)) return put_matrix((const V(&)[1][1])x, c, v);
    arena ws{c.call->ws};
    V *p = ws.take<V>(1), *spare = ws.take<V>(1);
    *p = x;
    store(ordered(p, by_rows, 1, 1), c, v, 1, 1, spare);
}

// The c.call->k columns of operand `from` go to operand `to` by way of `solve`, which works on one in registers.
template <int N, class V, class F> LG_FN void each_column(const part &c, int from, int to, const F &solve) {
    const int k = (int)c.call->k;
    V z[N][1];
    if (k == 1 && lies_directly<V>(c, from, N, 1) && lies_directly<V>(c, to, N, 1)) {
        take_matrix(z, c, from);
        solve(z);
        put_matrix(z, c, to);
        return;
    }
    arena ws{c.call->ws};
    V *p = ws.take<V>(N * k), *spare = ws.take<V>(N * k);
    const tile<V> b = load(p, c, from, N, k, spare);
    for (int j = 0; j < k; j++) {
        load_block(z, b.at(0, j));
        solve(z);
        store_block(z, b.at(0, j));
    }
    store(b, c, to, N, k, spare);
}

// Whether one of Op::direct<least> to <most> has done all the work for a whole pack of order n.
template <class V, class Op, int least = 2, int most = 4> LG_FN bool done_directly(const part &c, int n) {
    if constexpr (traits<V>::width > 1 && least <= most) {
        if (n == least) return c.count == traits<V>::width && Op::template direct<least>(c);
        return done_directly<V, Op, least + 1, most>(c, n);
    }
    return false;
}

} // namespace
} // namespace lg
#endif
