// LU factorisation with partial pivoting, and what follows from it.
//
// The matrices of a pack pivot differently, and exchanging rows would move every number through masks. Rows therefore
// stay where they are: each has its position in the pivoted order, pivot rows are picked out by masks, and a row that
// has been a pivot is left behind (its later multipliers are zero). Gather instructions would pick a row in fewer steps
// but are slow on processors with the gather-data-sampling mitigation.
#ifndef LINALGAD_COMPACT_LU_HPP
#define LINALGAD_COMPACT_LU_HPP

#include "triangular.hpp"

namespace lg {
namespace {

// The pivot order of an m x n factorisation. Row numbers are small, so that real packs hold them exactly, and real
// packs compare quickly in every instruction set.
template <class V> struct pivots {
    typedef typename traits<V>::real P;
    P *position; // [m] of row i: its place in the factors
    P *swap;     // [min(m, n)] LAPACK's pivots, from 0
};

// One candidate for a pivot: the largest |a|, of equals the first in the present order, as LAPACK's search does.
template <class V> struct candidate {
    typedef typename traits<V>::real P;
    P size, row, position;
    LG_FN void consider(P s, P r, P p, typename traits<V>::M eligible) {
        const auto better = eligible & ((s > size) | ((s == size) & (p < position)));
        size = select(better, s, size);
        row = select(better, r, row);
        position = select(better, p, position);
    }
};
template <class V> LG_CALL candidate<V> find_pivot(tile<V> a, int m, int k, const typename traits<V>::real *position) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    candidate<V> best[4];
    LG_UNROLL for (int c = 0; c < 4; c++) best[c] = {P(-1), P(0), P(T(m))};
    auto look = [&](candidate<V> &b, int i) {
        P s = abs1_(a(i, k));
        s = select(s == s, s, P(__builtin_inff())); // a NaN is the largest, so that it spreads
        b.consider(s, P(T(i)), position[i], position[i] >= P(T(k)));
    };
    int i = 0;
    for (; i + 4 <= m; i += 4) LG_UNROLL for (int c = 0; c < 4; c++) look(best[c], i + c);
    for (; i < m; i++) look(best[0], i);
    LG_UNROLL for (int c = 1; c < 4; c++)
        best[0].consider(best[c].size, best[c].row, best[c].position, best[c].position < P(T(m)));
    return best[0];
}

// Columns [at, at + KB) of every row, with their pivots; mult(i, t) gets the multipliers, zero in rows left behind.
template <int KB, class V>
LG_FN void lu_panel(tile<V> a, tile<V> f, int m, int at, V *mult, const pivots<V> &piv, typename traits<V>::I &info) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    typedef typename traits<V>::I I;
    LG_UNROLL for (int t = 0; t < KB; t++) {
        const P k = P(T(at + t));
        const candidate<V> best = find_pivot(a, m, at + t, piv.position);
        piv.swap[at + t] = best.position;
        V row[KB];
        LG_UNROLL for (int s = 0; s < KB; s++) row[s] = V(0);
        for (int i = 0; i < m; i++) {
            const auto chosen = best.row == P(T(i));
            LG_UNROLL for (int s = 0; s < KB; s++) row[s] = select(chosen, a(i, at + s), row[s]);
            P p = piv.position[i];
            p = select(p == k, best.position, p);
            piv.position[i] = select(chosen, k, p);
        }
        LG_UNROLL for (int s = 0; s < KB; s++) f(at + t, at + s) = row[s];
        const auto zero = absmax_(row[t]) == P(0);
        info = select(zero & (info == I(0)), I(at + t + 1), info);
        const divisor<V> div(select(zero, V(1), row[t])); // below a zero pivot everything is zero
        for (int i = 0; i < m; i++) {
            const auto active = piv.position[i] > k;
            const V x = a(i, at + t), l = select(active, div(x), V(0));
            mult[i * KB + t] = l;
            a(i, at + t) = select(active, l, x);
            LG_UNROLL for (int s = t + 1; s < KB; s++) a(i, at + s) = fnma_(l, row[s], a(i, at + s));
        }
    }
}
// NB columns right of the panel: their rows of U, and what is left of every row.
template <int KB, int NB, class V>
LG_FN void lu_update(tile<V> a, tile<V> f, int m, int at, int j, const V *mult, const pivots<V> &piv) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    V u[KB][NB];
    LG_UNROLL for (int t = 0; t < KB; t++) LG_UNROLL for (int c = 0; c < NB; c++) u[t][c] = V(0);
    for (int i = 0; i < m; i++) {
        const P p = piv.position[i];
        V x[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) x[c] = a(i, j + c);
        LG_UNROLL for (int t = 0; t < KB; t++) {
            const auto chosen = p == P(T(at + t));
            LG_UNROLL for (int c = 0; c < NB; c++) u[t][c] = select(chosen, x[c], u[t][c]);
        }
    }
    LG_UNROLL for (int t = 0; t < KB; t++) {
        LG_UNROLL for (int s = 0; s < t; s++) {
            const V l = f(at + t, at + s);
            LG_UNROLL for (int c = 0; c < NB; c++) u[t][c] = fnma_(l, u[s][c], u[t][c]);
        }
        LG_UNROLL for (int c = 0; c < NB; c++) f(at + t, j + c) = u[t][c];
    }
    for (int i = 0; i < m; i++) {
        V x[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) x[c] = a(i, j + c);
        LG_UNROLL for (int t = 0; t < KB; t++) {
            const V l = mult[i * KB + t];
            LG_UNROLL for (int c = 0; c < NB; c++) x[c] = fnma_(l, u[t][c], x[c]);
        }
        LG_UNROLL for (int c = 0; c < NB; c++) a(i, j + c) = x[c];
    }
}
template <int KB, class V>
LG_FN void lu_columns(tile<V> a, tile<V> f, int m, int n, int at, V *mult, const pivots<V> &piv,
                      typename traits<V>::I &info) {
    const int nb = side<V>::value < KB ? side<V>::value : KB;
    lu_panel<KB>(a, f, m, at, mult, piv, info);
    int j = at + KB;
    for (; j + nb <= n; j += nb) lu_update<KB, nb>(a, f, m, at, j, mult, piv);
    for (; j < n; j++) lu_update<KB, 1>(a, f, m, at, j, mult, piv);
}

// Factors the m x n tile a. Row i of a becomes row position[i] of LAPACK's result (L below the diagonal, U above);
// f (min(m, n) x n) gets U by its own rows, and the part of L inside each diagonal block of `fold` columns.
// mult is workspace of fold m numbers. Returns LAPACK's info: the first zero pivot, from 1.
template <class V> LG_CALL typename traits<V>::I lu(tile<V> a, tile<V> f, int m, int n, V *mult, pivots<V> piv) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    const int kb = fold<V>::value, mn = m < n ? m : n;
    typename traits<V>::I info(0);
    for (int i = 0; i < m; i++) piv.position[i] = P(T(i));
    int at = 0;
    for (; at + kb <= mn; at += kb) lu_columns<kb>(a, f, m, n, at, mult, piv, info);
    for (; at < mn; at++) lu_columns<1>(a, f, m, n, at, mult, piv, info);
    return info;
}

// KB rows of the solution of L^T P x = y, to their own places in x.
template <int KB, int NB, class V>
LG_FN void solve_pivoted_block(tile<V> a, tile<V> f, int n, int k, tile<V> y, tile<V> x, int j,
                               const typename traits<V>::real *position) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    V z[KB][NB];
    load_block(z, y.at(k, j));
    sub_product<KB, NB>(z, n, a.at(0, k).t(), x.at(0, j)); // rows of x not yet known are zero
    LG_UNROLL for (int t = KB - 1; t >= 0; t--) LG_UNROLL for (int s = t + 1; s < KB; s++) {
        const V l = f(k + s, k + t);
        LG_UNROLL for (int c = 0; c < NB; c++) z[t][c] = fnma_(l, z[s][c], z[t][c]);
    }
    for (int i = 0; i < n; i++) {
        const P p = position[i];
        V v[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) v[c] = x(i, j + c);
        LG_UNROLL for (int t = 0; t < KB; t++) {
            const auto here = p == P(T(k + t));
            LG_UNROLL for (int c = 0; c < NB; c++) v[c] = select(here, z[t][c], v[c]);
        }
        LG_UNROLL for (int c = 0; c < NB; c++) x(i, j + c) = v[c];
    }
}
template <int NB, class V>
LG_CALL void solve_pivoted_columns(tile<V> a, tile<V> f, int n, tile<V> y, tile<V> x, int j,
                                   const typename traits<V>::real *position) {
    const int kb = fold<V>::value;
    int k = n;
    for (int i = 0; i < n; i++) LG_UNROLL for (int c = 0; c < NB; c++) x(i, j + c) = V(0);
    for (; k % kb; k--) solve_pivoted_block<1, NB>(a, f, n, k - 1, y, x, j, position);
    for (; k; k -= kb) solve_pivoted_block<kb, NB>(a, f, n, k - kb, y, x, j, position);
}
// x = P^T L^-T y with a and f as lu() leaves them.
template <class V>
LG_FN void solve_pivoted(tile<V> a, tile<V> f, int n, tile<V> y, tile<V> x, int k, const typename traits<V>::real *position) {
    const int nb = side<V>::value;
    int j = 0;
    for (; j + nb <= k; j += nb) solve_pivoted_columns<nb>(a, f, n, y, x, j, position);
    for (; j < k; j++) solve_pivoted_columns<1>(a, f, n, y, x, j, position);
}
// b becomes U^-T for an upper triangle U: its upper triangle is left zero and not worked on.
template <class V> LG_FN void invert_lower(tile<V> t, int n, tile<V> b) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) b(i, j) = V(i == j);
    const int nb = side<V>::value;
    for (int j = 0; j < n; j += nb) solve_lower<false>(t.at(j, j), n - j, b.at(j, j), n - j < nb ? n - j : nb);
}

// det = m 2^e with |m| between 1 and 2 (or zero, or not finite), whatever the sizes of the pivots
template <class V> struct scaled_number {
    V m;
    typename traits<V>::I e;
};
template <class V> LG_FN scaled_number<V> lu_determinant(tile<V> f, int n, const typename traits<V>::real *swap) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    typedef typename traits<V>::I I;
    scaled_number<V> d = {V(1), I(0)};
    for (int i = 0; i < n; i++) {
        const P s = inverse_scale(absmax_(f(i, i)));
        const P sign = select(swap[i] == P(T(i)), P(1), P(-1));
        const V y = d.m * scale_(f(i, i), s) * V(sign); // as a complex number: no negative zero comes of it
        const P r = inverse_scale(absmax_(y));
        d.m = scale_(y, r);
        d.e = d.e - exponent(s) - exponent(r);
    }
    return d;
}

} // namespace
} // namespace lg
#endif
