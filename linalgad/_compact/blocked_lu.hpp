// LU factorisation of one matrix with partial pivoting, by panels of BLOCK columns.
//
// A panel is turned, so that a column is a run of packs, and factored there; its rows are exchanged in the whole
// matrix, which by rows is quick. What is right of the panel follows by rows: a triangular system for the rows of U and
// one product for the rest.
#ifndef LINALGAD_COMPACT_BLOCKED_LU_HPP
#define LINALGAD_COMPACT_BLOCKED_LU_HPP

#include "blocked.hpp"

namespace lg {
namespace {

// Columns of a panel that are eliminated before the others of the panel follow.
static const int STRIP = 4;

// W rows of a panel of `count` columns, turned to packs of the columns at `panel` or back. `run` tells where the rows begin.
template <class V, class F>
LG_FN void turn_rows(const rows<V> &panel, int v, const F &run, int count, bool in) {
    typedef typename rows<V>::T T;
    const int W = rows<V>::W, parts = rows<V>::parts;
    for (int s = 0; s < count; s += W)
        for (int part = 0; part < parts; part++) {
            auto columns = [&](int f) { return (pack<T> *)(panel.row(s + f) + v) + part; };
            auto runs = [&](int l) { return run(l) + (s * parts + part * W); };
            const int some = count - s < W ? count - s : W;
            if (in)
                turn_in<T>(columns, runs, some);
            else
                turn_out<T>(columns, runs, some);
        }
}
// Columns [at, at + count) of rows [at, m) of a, turned: row s of `panel` is column at + s. `spare` is a row to read and
// to write beyond the last.
template <class V>
LG_FN void turn_panel(const rows<V> &a, int m, int at, int count, const rows<V> &panel, bool in, typename rows<V>::T *spare) {
    typedef typename rows<V>::T T;
    const int W = rows<V>::W;
    int i = at;
    for (; i + W <= m; i += W)
        turn_rows(panel, (i - at) / W, spaced<T>{a.at(i, at), a.step() * (ptrdiff_t)sizeof(T)}, count, in);
    if (i < m)
        turn_rows(panel, (i - at) / W, [&](int l) { return i + l < m ? a.at(i + l, at) : spare; }, count, in);
}

// The row of the largest number of column t from row t on, of equals the first; a NaN is the largest, so that it spreads.
template <class V> LG_FN int largest(const rows<V> &p, int t, int m) {
    typedef typename traits<V>::real P;
    typedef typename rows<V>::T T;
    const int W = rows<V>::W;
    P size(-1), place((T)t);
    for (int v = t / W; v * W < m; v++) {
        P s = abs1_(p.row(t)[v]);
        s = select(s == s, s, infinity<P>());
        const P index = counted<P>(v * W);
        const auto better = (s > size) & (index >= P((T)t)) & (index < P((T)m));
        size = select(better, s, size);
        place = select(better, index, place);
    }
    T most[W], where[W];
    LG_UNROLL for (int l = 0; l < W; l++) most[l] = size.r[l];
    LG_UNROLL for (int h = W / 2; h > 0; h /= 2) LG_UNROLL for (int l = 0; l < h; l++)
        most[l] = most[l] > most[l + h] ? most[l] : most[l + h];
    place = select(size == P(most[0]), place, P((T)m));
    LG_UNROLL for (int l = 0; l < W; l++) where[l] = place.r[l];
    LG_UNROLL for (int h = W / 2; h > 0; h /= 2) LG_UNROLL for (int l = 0; l < h; l++)
        where[l] = where[l] < where[l + h] ? where[l] : where[l + h];
    return (int)where[0];
}

// Column t of the panel becomes multipliers, the R columns after it what is left of them.
template <int R, class V> LG_FN void eliminate(const rows<V> &p, int t, int m, const divisor<V> &div) {
    typedef typename traits<V>::real P;
    typedef typename rows<V>::T T;
    const int W = rows<V>::W;
    V u[R + 1];
    LG_UNROLL for (int s = 1; s <= R; s++) u[s] = alone<V>::splat(p.at(t + s, t));
    int v = t / W;
    const auto below = counted<P>(v * W) > P((T)t);
    V *x = p.row(t);
    const V first = div(x[v]);
    x[v] = select(below, first, x[v]);
    LG_UNROLL for (int s = 1; s <= R; s++) {
        V *y = p.row(t + s);
        y[v] = select(below, fnma_(first, u[s], y[v]), y[v]);
    }
    for (v++; v * W < m; v++) {
        const V l = div(x[v]);
        x[v] = l;
        LG_UNROLL for (int s = 1; s <= R; s++) {
            V *y = p.row(t + s);
            y[v] = fnma_(l, u[s], y[v]);
        }
    }
}

// Columns [end, count) of the panel after the strip [at, end): their rows of U, and what is left below.
template <class V> LG_FN void follow(const rows<V> &p, int at, int end, int count, int m) {
    typedef typename traits<V>::real P;
    typedef typename rows<V>::T T;
    typedef typename rows<V>::S S;
    const int W = rows<V>::W, first = end / W, packs = packs_for(m, W);
    V space[STRIP][BLOCK / W], kept[BLOCK];
    const rows<V> u{space[0], BLOCK / W};
    for (int s = end; s < count; s++) {
        S x[STRIP];
        for (int t = 0; t < end - at; t++) x[t] = p.get(s, at + t);
        for (int t = 0; t < end - at; t++) {
            for (int q = t + 1; q < end - at; q++) x[q] = fnma_(p.get(at + t, at + q), x[t], x[q]);
            p.put(s, at + t, x[t]);
            u.put(t, s, x[t]);
        }
        kept[s] = p.row(s)[first < packs ? first : 0];
    }
    if (first == packs) return;
    const int mb = extent<V>::rows < STRIP ? extent<V>::rows : STRIP;
    int s = end;
    for (; s + mb <= count; s += mb)
        product_rows<mb, pack_first>(p.row(s) + first, p.ld, u.at(0, s), u.step(), p.row(at) + first, p.ld, end - at,
                                     packs - first);
    for (; s < count; s++)
        product_rows<1, pack_first>(p.row(s) + first, p.ld, u.at(0, s), u.step(), p.row(at) + first, p.ld, end - at,
                                    packs - first);
    if (end % W) { // rows above `end` share the first pack
        const auto below = counted<P>(first * W) >= P((T)end);
        for (s = end; s < count; s++) p.row(s)[first] = select(below, p.row(s)[first], kept[s]);
    }
}

// Factors a panel of `count` turned columns of m numbers; the number of the first zero pivot, from 1.
template <class V> LG_CALL int factor_panel(const rows<V> &p, int m, int count, int *swap) {
    int info = 0;
    for (int at = 0; at < count; at += STRIP) {
        const int end = at + STRIP < count ? at + STRIP : count;
        for (int t = at; t < end; t++) {
            const int r = largest(p, t, m);
            swap[t] = r;
            exchange_columns(p, t, r, count);
            const auto pivot = p.get(t, t);
            const bool zero = abs1_(pivot) == 0;
            if (zero && info == 0) info = t + 1;
            const divisor<V> div(zero ? V(1) : alone<V>::splat(pivot)); // below a zero pivot everything is zero
            switch (end - 1 - t) {
            case 0: eliminate<0>(p, t, m, div); break;
            case 1: eliminate<1>(p, t, m, div); break;
            case 2: eliminate<2>(p, t, m, div); break;
            default: eliminate<STRIP - 1>(p, t, m, div);
            }
        }
        if (end < count) follow(p, at, end, count, m);
    }
    return info;
}

template <class V> ptrdiff_t panel_elements(ptrdiff_t m) { return row_elements<V>(BLOCK, m) + BLOCK; }

// a (m x n) becomes L below the diagonal and U above it, its rows exchanged; swap[k] >= k is the row that came to row k,
// from 0. Returns LAPACK's info: the first zero pivot, from 1.
template <class V> LG_CALL int factor(const rows<V> &a, int m, int n, int *swap, arena ws) {
    const int W = rows<V>::W, packs = packs_for(n, W), least = m < n ? m : n;
    const rows<V> p = take_rows<V>(ws, BLOCK, m);
    auto *spare = (typename rows<V>::T *)ws.take<V>(BLOCK);
    int info = 0;
    for (int i = 0; i < BLOCK; i++) spare[i] = 0;
    for (int at = 0; at < least; at += BLOCK) {
        const int end = at + BLOCK < least ? at + BLOCK : least, count = end - at;
        turn_panel(a, m, at, count, p, true, spare);
        const int found = factor_panel(p, m - at, count, swap + at);
        if (found && !info) info = at + found;
        for (int k = at; k < end; k++) {
            swap[k] += at;
            exchange_rows(a, k, swap[k], packs);
        }
        const int first = end / W; // its numbers left of `end` are overwritten by the panel below
        if (first < packs) {
            const rows<V> u{a.row(at), a.ld};
            solve_block<forward, true>(p, 0, count, u, first, packs);
            subtract_product(a.row(at) + first, a.ld, count, m - at, packs - first, p.at(0, 0), p.step(), u.p + first,
                             a.ld, count);
        }
        turn_panel(a, m, at, count, p, false, spare);
    }
    return info;
}

} // namespace
} // namespace lg
#endif
