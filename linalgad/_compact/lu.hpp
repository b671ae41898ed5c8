// LU factorisation with partial pivoting, its exchanges and the inverse of its upper factor.
//
// The matrices of a pack pivot differently. With few rows below the pivot they are exchanged through masks, all being
// looked at, as one of them is the place of some matrix's pivot row; with many rows each matrix exchanges its two rows
// number by number. Four columns are eliminated at a time, so that the elimination of the columns right of them passes
// once over the rows instead of four times. Of the last rows (most_below) the masks stay in registers, and one column
// at a time is quicker. The operations on a number and their order are the same throughout. Gather instructions would pick
// a row in fewer steps, but are slow on processors with the gather-data-sampling mitigation.
#ifndef LINALGAD_COMPACT_LU_HPP
#define LINALGAD_COMPACT_LU_HPP

#include "gather.hpp"
#include "triangular.hpp"

namespace lg {
namespace {

// |x| as the search for pivots sees it: NaN is the largest, so that it spreads
template <class V> LG_FN typename traits<V>::real pivot_size(V x) { return nan_to_inf(abs1_(x)); }

template <class M, class V> LG_FN void exchange(M where, V &x, V &y) {
    const V t = select(where, y, x);
    y = select(where, x, y);
    x = t;
}
// Whether rows are exchanged number by number, with so many rows that may be the pivot row; as measured with AVX2.
template <class V> LG_FN constexpr bool by_numbers(int rows) {
    typedef traits<V> X;
    return X::width == 1 || rows > (X::parts == 2 && sizeof(typename X::scalar) == 8 ? 3 : 2) * X::width;
}
// Exchanges row k of each matrix with its row `place` in `count` columns.
template <class V> LG_CALL void exchange_rows(tile<V> a, int k, typename traits<V>::real place, int count) {
    typedef typename traits<V>::scalar T;
    const int width = traits<V>::width, reals = traits<V>::parts * width;
    int row[width];
    to_integers(place, row);
    T *x = (T *)&a(k, 0), *y[width];
    LG_UNROLL for (int l = 0; l < width; l++) y[l] = (T *)&a(row[l], 0);
    const ptrdiff_t step = (ptrdiff_t)a.cs * reals;
    for (ptrdiff_t j = 0, at = 0; j < count; j++, at += step)
        LG_UNROLL for (int i = 0; i < reals; i++) {
            T *const to_x = x + at + i, *const to_y = y[i % width] + at + i;
            const T t = *to_x;
            *to_x = *to_y;
            *to_y = t;
        }
}
// The first of the largest entries looked at, by number: row numbers are small, so that real packs hold them exactly, and
// real packs compare quickly in every instruction set.
template <class V> struct pivot_search {
    typedef typename traits<V>::real P;
    P most, place;
    LG_FN explicit pivot_search(P first) : most(0), place(first) {} // the first unless one is not zero
    LG_FN pivot_search(V x, P first) : most(pivot_size(x)), place(first) {}
    LG_FN void look(V x, P number) {
        const P size = pivot_size(x);
        place = select(size > most, number, place);
        most = larger_(most, size);
    }
};
// The pivot of step k, whose size is `most`, as a divisor. Below a zero pivot, which goes to info, everything is zero.
template <class V>
LG_FN divisor<V> pivot_divisor(V pivot, typename traits<V>::real most, int k, typename traits<V>::I &info) {
    typedef typename traits<V>::I I;
    const auto zero = most == typename traits<V>::real(0);
    info = select(zero & (info == I(0)), I(k + 1), info);
    return divisor<V>(select(zero, V(1), pivot));
}

// Columns [at, at + KB): their pivots to swap[at ..], multipliers and what is left of the rows in place.
template <int KB, bool by_number, class V>
LG_CALL void lu_panel(tile<V> a, int m, int at, typename traits<V>::real *swap, typename traits<V>::I &info) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    const bool alone = traits<V>::width == 1;
    const tile<V> b = a.at(0, at);
    P number = P(T(at));
    pivot_search<V> next(b(at, 0), number);
    for (int i = at + 1; i < m; i++) {
        number = number + P(1);
        next.look(b(i, 0), number);
    }
    LG_UNROLL for (int t = 0; t < KB; t++) {
        const int k = at + t;
        const pivot_search<V> found = next;
        swap[k] = found.place;
        V above[KB], row[KB];
        if constexpr (alone) exchange_rows(b, k, found.place, KB);
        LG_UNROLL for (int s = 0; s < KB; s++) row[s] = above[s] = b(k, s);
        if constexpr (!alone) {
            if constexpr (by_number) {
                int place[traits<V>::width];
                to_integers(found.place, place);
                LG_UNROLL for (int s = 0; s < KB; s++) row[s] = pick(&b(0, s), b.rs, place);
            } else {
                number = P(T(k + 1));
                for (int i = k + 1; i < m; i++, number = number + P(1)) {
                    const auto here = found.place == number;
                    LG_UNROLL for (int s = 0; s < KB; s++) row[s] = select(here, b(i, s), row[s]);
                }
            }
            LG_UNROLL for (int s = 0; s < KB; s++) b(k, s) = row[s];
        }
        const divisor<V> div = pivot_divisor(row[t], found.most, k, info);
        number = P(T(k + 1));
        next = pivot_search<V>(number);
        for (int i = k + 1; i < m; i++, number = number + P(1)) {
            V x[KB];
            LG_UNROLL for (int s = 0; s < KB; s++) x[s] = b(i, s);
            if constexpr (!alone) {
                const auto here = found.place == number;
                LG_UNROLL for (int s = 0; s < KB; s++) x[s] = select(here, above[s], x[s]);
            }
            x[t] = div(x[t]);
            LG_UNROLL for (int s = t + 1; s < KB; s++) x[s] = fnma_(x[t], row[s], x[s]);
            LG_UNROLL for (int s = alone ? t : 0; s < KB; s++) b(i, s) = x[s];
            if (t + 1 < KB) next.look(x[t + 1 < KB ? t + 1 : t], number);
        }
    }
}
// The exchanges of a panel in NB columns, through masks: the rows below, and the panel's own rows, which u gets.
template <int KB, int NB, class V>
LG_FN void exchange_panel(V (&u)[KB][NB], tile<V> b, int m, int at, const typename traits<V>::real *swap) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    load_block(u, b.at(at, 0));
    P to[KB];
    LG_UNROLL for (int t = 0; t < KB; t++) to[t] = swap[at + t];
    LG_UNROLL for (int t = 0; t < KB; t++) LG_UNROLL for (int s = t + 1; s < KB; s++) {
        const auto here = to[t] == P(T(at + s));
        LG_UNROLL for (int c = 0; c < NB; c++) exchange(here, u[t][c], u[s][c]);
    }
    P number = P(T(at + KB));
    for (int i = at + KB; i < m; i++, number = number + P(1)) {
        V x[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) x[c] = b(i, c);
        LG_UNROLL for (int t = 0; t < KB; t++) {
            const auto here = to[t] == number;
            LG_UNROLL for (int c = 0; c < NB; c++) exchange(here, u[t][c], x[c]);
        }
        LG_UNROLL for (int c = 0; c < NB; c++) b(i, c) = x[c];
    }
}
// The exchanges of KB steps from `at` on in NB columns, through masks.
template <int KB, int NB, class V>
LG_FN void exchange_through_masks(tile<V> b, int m, int at, const typename traits<V>::real *swap) {
    V u[KB][NB];
    exchange_panel(u, b, m, at, swap);
    store_block(u, b.at(at, 0));
}
// The same in `count` columns, two at a time.
template <int KB, class V>
LG_CALL void exchange_rows_of_panel(tile<V> b, int m, int at, const typename traits<V>::real *swap, int count) {
    const int nb = side<V>::value & ~1; // three, with AVX2, leave no registers for the masks
    int j = 0;
    for (; j + nb <= count; j += nb) exchange_through_masks<KB, nb>(b.at(0, j), m, at, swap);
    for (; j < count; j++) exchange_through_masks<KB, 1>(b.at(0, j), m, at, swap);
}
// NB columns right of the panel: their rows of U, and what is left of the rows below.
template <int KB, int NB, class V> LG_CALL void lu_update(tile<V> a, int m, int at, int j) {
    V u[KB][NB];
    const tile<V> left = a.at(0, at), b = a.at(0, j);
    load_block(u, b.at(at, 0));
    LG_UNROLL for (int t = 0; t < KB; t++) LG_UNROLL for (int s = 0; s < t; s++) {
        const V l = a(at + t, at + s);
        LG_UNROLL for (int c = 0; c < NB; c++) u[t][c] = fnma_(l, u[s][c], u[t][c]);
    }
    store_block(u, b.at(at, 0));
    for (int i = at + KB; i < m; i++) {
        V x[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) x[c] = b(i, c);
        LG_UNROLL for (int t = 0; t < KB; t++) {
            const V l = left(i, t);
            LG_UNROLL for (int c = 0; c < NB; c++) x[c] = fnma_(l, u[t][c], x[c]);
        }
        LG_UNROLL for (int c = 0; c < NB; c++) b(i, c) = x[c];
    }
}
template <int KB, int NB, bool by_number, class V>
LG_FN void lu_panel_and_columns(tile<V> a, int m, int n, int at, typename traits<V>::real *swap, typename traits<V>::I &info,
                      bool whole) {
    lu_panel<KB, by_number>(a, m, at, swap, info);
    int j = at + KB;
    if constexpr (by_number) // well before the columns are read: a pack is slow to read just after its numbers are written
        LG_UNROLL for (int t = 0; t < KB; t++) {
            exchange_rows(a.at(0, j), at + t, swap[at + t], n - j);
            if (whole) exchange_rows(a, at + t, swap[at + t], at);
        }
    else {
        exchange_rows_of_panel<KB>(a.at(0, j), m, at, swap, n - j);
        if (whole) exchange_rows_of_panel<KB>(a, m, at, swap, at);
    }
    for (; j + NB <= n; j += NB) lu_update<KB, NB>(a, m, at, j);
    if (NB > 2 && j + 2 <= n) {
        lu_update<KB, NB < 2 ? 1 : 2>(a, m, at, j);
        j += 2;
    }
    for (; j < n; j++) lu_update<KB, 1>(a, m, at, j);
}

// Rows below the pivot row of which lu_step() keeps the masks: AVX-512 has seven registers for masks.
constexpr int most_below = 7;
template <int KB, int NB, class V>
LG_FN void lu_columns(tile<V> a, int m, int n, int at, typename traits<V>::real *swap, typename traits<V>::I &info,
                      bool whole) {
    constexpr bool with_fewest = by_numbers<V>(most_below + 2), with_most = by_numbers<V>(1 << 30); // rows
    if (with_fewest == with_most || by_numbers<V>(m - at))
        lu_panel_and_columns<KB, NB, with_most>(a, m, n, at, swap, info, whole);
    else
        lu_panel_and_columns<KB, NB, with_fewest>(a, m, n, at, swap, info, whole);
}
// Step t, with R rows below it: column t, then those right of it and, if `whole`, left of it.
template <int R, class V>
LG_CALL void lu_step(tile<V> a, int n, int t, typename traits<V>::real *swap, typename traits<V>::I &info, bool whole) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    const ptrdiff_t rs = a.rs, cs = a.cs;
    V *const p = &a(t, t);
    pivot_search<V> found(p[0], P(0));
    LG_UNROLL for (int r = 1; r <= R; r++) found.look(p[r * rs], P(T(r)));
    swap[t] = found.place + P(T(t));
    typename traits<V>::M here[R + 1];
    LG_UNROLL for (int r = 1; r <= R; r++) here[r] = found.place == P(T(r));
    // the pivot row's number of the column at q goes to the top, and what was there to `above`
    const auto bring_up = [&](V *q, V &above) {
        V u = above = q[0];
        LG_UNROLL for (int r = 1; r <= R; r++) u = select(here[r], q[r * rs], u);
        return q[0] = u;
    };
    V above;
    const V pivot = bring_up(p, above);
    const divisor<V> div = pivot_divisor(pivot, found.most, t, info);
    V l[R + 1];
    LG_UNROLL for (int r = 1; r <= R; r++) l[r] = select(here[r], above, p[r * rs]);
    if (div.any_odd)
        LG_UNROLL for (int r = 1; r <= R; r++) l[r] = div(l[r]);
    else
        LG_UNROLL for (int r = 1; r <= R; r++) l[r] = l[r] * div.r;
    LG_UNROLL for (int r = 1; r <= R; r++) p[r * rs] = l[r];
    V *q = p;
    for (int s = t + 1; s < n; s++) {
        q += cs;
        const V u = bring_up(q, above);
        LG_UNROLL for (int r = 1; r <= R; r++) q[r * rs] = fnma_(l[r], u, select(here[r], above, q[r * rs]));
    }
    q = p;
    if (whole) for (int s = 0; s < t; s++) {
        q -= cs;
        bring_up(q, above);
        LG_UNROLL for (int r = 1; r <= R; r++) q[r * rs] = select(here[r], above, q[r * rs]);
    }
}
// The steps from t on, of which the first has at most R rows below it.
template <int R, class V>
LG_FN void lu_last_steps(tile<V> a, int m, int n, int t, typename traits<V>::real *swap, typename traits<V>::I &info,
                         bool whole) {
    if (m - 1 - t == R && t < n) lu_step<R>(a, n, t++, swap, info, whole);
    if constexpr (R > 0) lu_last_steps<R - 1>(a, m, n, t, swap, info, whole);
}

// Factors the m x n tile a in place, as LAPACK does: L below the diagonal, U above, in swap (min(m, n)) the row that was
// exchanged with each, counted from 0. Unless `whole`, what is below the diagonal is not put in order and of no use.
// Returns LAPACK's info: the first zero pivot, from 1.
template <class V>
LG_CALL typename traits<V>::I lu(tile<V> a, int m, int n, typename traits<V>::real *swap, bool whole = true) {
    const int kb = fold<V>::value, nb = side<V>::value < kb ? side<V>::value : kb, mn = m < n ? m : n;
    const int few = traits<V>::width > 1 ? most_below + 1 : 0; // rows left to steps
    typename traits<V>::I info(0);
    int at = 0;
    for (; at + kb <= mn && m - at > few; at += kb) lu_columns<kb, nb>(a, m, n, at, swap, info, whole);
    if (kb > 2 && at + 2 <= mn && m - at > few) {
        lu_columns<2, 1>(a, m, n, at, swap, info, whole);
        at += 2;
    }
    for (; at < mn && m - at > few; at++) lu_columns<1, 1>(a, m, n, at, swap, info, whole);
    if constexpr (traits<V>::width > 1) lu_last_steps<most_below>(a, m, n, at, swap, info, whole);
    return info;
}

// Undoes the exchanges of n rows in NB columns of x, the last one first.
template <int NB, class V> LG_FN void restore_columns(tile<V> x, int n, const typename traits<V>::real *swap) {
    for (int k = n - 1; k >= 0; k--)
        by_numbers<V>(n - k) ? exchange_rows(x, k, swap[k], NB) : exchange_through_masks<1, NB>(x, n, k, swap);
}
template <class V> LG_CALL void restore_rows(tile<V> x, int n, int k, const typename traits<V>::real *swap) {
    const int nb = side<V>::value;
    int j = 0;
    for (; j + nb <= k; j += nb) restore_columns<nb>(x.at(0, j), n, swap);
    for (; j < k; j++) restore_columns<1>(x.at(0, j), n, swap);
}
// Exchanges m numbers as the first `count` steps exchanged rows.
template <class P> LG_FN void exchange_numbers(P *number, int count, int m, const P *swap) {
    const tile<P> x = {number, 1, 1};
    for (int k = 0; k < count; k++)
        by_numbers<P>(m - k) ? exchange_rows(x, k, swap[k], 1) : exchange_through_masks<1, 1>(x, m, k, swap);
}
// A mark is 0, or NaN if any of the numbers it has seen is not finite.
template <class P> LG_FN P see(P mark, P x) { return fma_(x, P(0), mark); }
template <class P> LG_FN P see(P mark, cx<P> x) { return see(see(mark, x.re), x.im); }
template <class P> LG_FN P marked(P x, P mark) { return x + mark; }
template <class P> LG_FN cx<P> marked(cx<P> x, P mark) { return {x.re + mark, x.im + mark}; }
// b becomes U^-T for an upper triangle U: its upper triangle is left zero and not worked on.
// Where a number of the triangle is not finite it would show which zeros are left out, and kernels leave out different
// ones: `mark` has then made NaN of it all.
template <class V> LG_FN void invert_lower(tile<V> t, int n, tile<V> b, typename traits<V>::real mark) {
    const V zero = marked(V(0), mark), one = marked(V(1), mark);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) b(i, j) = zero;
        b(i, i) = one;
    }
    const int nb = side<V>::value;
    for (int j = 0; j < n; j += nb) solve_lower<false>(t.at(j, j), n - j, b.at(j, j), n - j < nb ? n - j : nb);
}

} // namespace
} // namespace lg
#endif
