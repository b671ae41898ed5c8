// LU factorisation with partial pivoting, and what follows from it.
//
// The matrices of a pack pivot differently: rows are exchanged through masks, all below the pivot being looked at, as one
// of them is the place of some matrix's pivot row. Four columns are eliminated at a time, so that the exchanges and the
// elimination of the columns right of them pass twice over the rows instead of eight times. A matrix alone exchanges
// two rows. Gather instructions would pick a row in fewer steps, but are slow on processors with the
// gather-data-sampling mitigation.
#ifndef LINALGAD_COMPACT_LU_HPP
#define LINALGAD_COMPACT_LU_HPP

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
// Exchanges rows k and p of NB columns of a.
template <int NB, class V> LG_FN void exchange_two(tile<V> a, int k, int p) {
    if (p != k) LG_UNROLL for (int c = 0; c < NB; c++) {
        const V t = a(k, c);
        a(k, c) = a(p, c);
        a(p, c) = t;
    }
}

// Step k of the search in column t of the panel a, m rows: brings the first row with an entry of size `most` to row k,
// whose entries `row` gets. Returns its number: row numbers are small, so that real packs hold them exactly, and real
// packs compare quickly in every instruction set.
template <int KB, class V>
LG_FN typename traits<V>::real pivot_to_top(tile<V> a, int m, int k, int t, typename traits<V>::real most, V (&row)[KB]) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    if constexpr (traits<V>::width == 1) {
        int p = k;
        while (p + 1 < m && !(pivot_size(a(p, t)) == most)) p++;
        exchange_two<KB>(a, k, p);
        LG_UNROLL for (int s = 0; s < KB; s++) row[s] = a(k, s);
        return P(T(p));
    }
    V top[KB];
    LG_UNROLL for (int s = 0; s < KB; s++) row[s] = top[s] = a(k, s);
    auto found = pivot_size(top[t]) == most;
    P pivot = P(T(k));
    for (int i = k + 1; i < m; i++) {
        V x[KB];
        LG_UNROLL for (int s = 0; s < KB; s++) x[s] = a(i, s);
        const auto here = (pivot_size(x[t]) == most) & not_(found);
        found = found | here;
        pivot = select(here, P(T(i)), pivot);
        LG_UNROLL for (int s = 0; s < KB; s++) {
            row[s] = select(here, x[s], row[s]);
            a(i, s) = select(here, top[s], x[s]);
        }
    }
    LG_UNROLL for (int s = 0; s < KB; s++) a(k, s) = row[s];
    return pivot;
}
// Columns [at, at + KB): their pivots to swap[at ..], multipliers and what is left of the rows in place.
template <int KB, class V>
LG_FN void lu_panel(tile<V> a, int m, int at, typename traits<V>::real *swap, typename traits<V>::I &info) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    const tile<V> b = a.at(0, at);
    P most = pivot_size(b(at, 0));
    for (int i = at + 1; i < m; i++) most = larger_(most, pivot_size(b(i, 0)));
    LG_UNROLL for (int t = 0; t < KB; t++) {
        const int k = at + t;
        V row[KB];
        swap[k] = pivot_to_top(b, m, k, t, most, row);
        const auto zero = most == P(0);
        info = select(zero & (info == I(0)), I(k + 1), info);
        const divisor<V> div(select(zero, V(1), row[t])); // below a zero pivot everything is zero
        most = P(0);
        for (int i = k + 1; i < m; i++) {
            const V l = div(b(i, t));
            b(i, t) = l;
            LG_UNROLL for (int s = t + 1; s < KB; s++) {
                const V x = fnma_(l, row[s], b(i, s));
                b(i, s) = x;
                if (s == t + 1) most = larger_(most, pivot_size(x));
            }
        }
    }
}
// The exchanges of a panel in NB columns from j: the rows below, and the panel's own rows, which u gets.
template <int KB, int NB, class V>
LG_FN void exchange_rows(V (&u)[KB][NB], tile<V> a, int m, int at, int j, const typename traits<V>::real *swap) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    const tile<V> b = a.at(0, j);
    if constexpr (traits<V>::width == 1) {
        LG_UNROLL for (int t = 0; t < KB; t++) exchange_two<NB>(b, at + t, (int)swap[at + t]);
        load_block(u, b.at(at, 0));
        return;
    }
    load_block(u, b.at(at, 0));
    P to[KB];
    LG_UNROLL for (int t = 0; t < KB; t++) to[t] = swap[at + t];
    LG_UNROLL for (int t = 0; t < KB; t++) LG_UNROLL for (int s = t + 1; s < KB; s++) {
        const auto here = to[t] == P(T(at + s));
        LG_UNROLL for (int c = 0; c < NB; c++) exchange(here, u[t][c], u[s][c]);
    }
    for (int i = at + KB; i < m; i++) {
        V x[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) x[c] = b(i, c);
        LG_UNROLL for (int t = 0; t < KB; t++) {
            const auto here = to[t] == P(T(i));
            LG_UNROLL for (int c = 0; c < NB; c++) exchange(here, u[t][c], x[c]);
        }
        LG_UNROLL for (int c = 0; c < NB; c++) b(i, c) = x[c];
    }
}
// NB columns right of the panel: exchanges, their rows of U, and what is left of the rows below.
template <int KB, int NB, class V>
LG_FN void lu_update(tile<V> a, int m, int at, int j, const typename traits<V>::real *swap) {
    V u[KB][NB];
    exchange_rows(u, a, m, at, j, swap);
    LG_UNROLL for (int t = 0; t < KB; t++) LG_UNROLL for (int s = 0; s < t; s++) {
        const V l = a(at + t, at + s);
        LG_UNROLL for (int c = 0; c < NB; c++) u[t][c] = fnma_(l, u[s][c], u[t][c]);
    }
    store_block(u, a.at(at, j));
    const tile<V> left = a.at(0, at), b = a.at(0, j);
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
// The exchanges of the panel in NB columns left of it.
template <int KB, int NB, class V>
LG_FN void lu_left(tile<V> a, int m, int at, int j, const typename traits<V>::real *swap) {
    V u[KB][NB];
    exchange_rows(u, a, m, at, j, swap);
    store_block(u, a.at(at, j));
}
template <int KB, int NB, class V>
LG_FN void lu_columns(tile<V> a, int m, int n, int at, typename traits<V>::real *swap, typename traits<V>::I &info,
                      bool whole) {
    lu_panel<KB>(a, m, at, swap, info);
    int j = at + KB;
    for (; j + NB <= n; j += NB) lu_update<KB, NB>(a, m, at, j, swap);
    if (NB > 2 && j + 2 <= n) {
        lu_update<KB, NB < 2 ? 1 : 2>(a, m, at, j, swap);
        j += 2;
    }
    for (; j < n; j++) lu_update<KB, 1>(a, m, at, j, swap);
    if (!whole) return;
    for (j = 0; j + NB <= at; j += NB) lu_left<KB, NB>(a, m, at, j, swap);
    for (; j < at; j++) lu_left<KB, 1>(a, m, at, j, swap);
}

// Factors the m x n tile a in place, as LAPACK does: L below the diagonal, U above, in swap (min(m, n)) the row that was
// exchanged with each, counted from 0. Unless `whole`, what is below the diagonal is not put in order and of no use.
// Returns LAPACK's info: the first zero pivot, from 1.
template <class V>
LG_CALL typename traits<V>::I lu(tile<V> a, int m, int n, typename traits<V>::real *swap, bool whole = true) {
    const int kb = fold<V>::value, nb = side<V>::value < kb ? side<V>::value : kb, mn = m < n ? m : n;
    typename traits<V>::I info(0);
    int at = 0;
    for (; at + kb <= mn; at += kb) lu_columns<kb, nb>(a, m, n, at, swap, info, whole);
    if (kb > 2 && at + 2 <= mn) {
        lu_columns<2, 1>(a, m, n, at, swap, info, whole);
        at += 2;
    }
    for (; at < mn; at++) lu_columns<1, 1>(a, m, n, at, swap, info, whole);
    return info;
}

// Undoes the exchanges of n rows in NB columns of x, the last one first.
template <int NB, class V> LG_FN void restore_columns(tile<V> x, int n, const typename traits<V>::real *swap) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    for (int k = n - 1; k >= 0; k--) {
        if constexpr (traits<V>::width == 1) {
            exchange_two<NB>(x, k, (int)swap[k]);
            continue;
        }
        V top[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) top[c] = x(k, c);
        for (int i = k + 1; i < n; i++) {
            const auto here = swap[k] == P(T(i));
            LG_UNROLL for (int c = 0; c < NB; c++) {
                V y = x(i, c);
                exchange(here, top[c], y);
                x(i, c) = y;
            }
        }
        LG_UNROLL for (int c = 0; c < NB; c++) x(k, c) = top[c];
    }
}
template <class V> LG_CALL void restore_rows(tile<V> x, int n, int k, const typename traits<V>::real *swap) {
    const int nb = side<V>::value;
    int j = 0;
    for (; j + nb <= k; j += nb) restore_columns<nb>(x.at(0, j), n, swap);
    for (; j < k; j++) restore_columns<1>(x.at(0, j), n, swap);
}
// Exchanges m numbers as the first `count` steps exchanged rows.
template <class P> LG_FN void exchange_numbers(P *x, int count, int m, const P *swap) {
    typedef typename traits<P>::scalar T;
    for (int k = 0; k < count; k++) {
        if constexpr (traits<P>::width == 1) {
            exchange_two<1>(tile<P>{x, 1, 1}, k, (int)swap[k]);
            continue;
        }
        P top = x[k];
        for (int i = k + 1; i < m; i++) exchange(swap[k] == P(T(i)), top, x[i]);
        x[k] = top;
    }
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
// +1 or -1 for step i; as a complex number, so that no negative zero comes of it
template <class V, class P> LG_FN V pivot_sign(int i, const P *swap) {
    typedef typename traits<P>::scalar T;
    return V(select(swap[i] == P(T(i)), P(1), P(-1)));
}
// The product y of n pivots, pivot(i) being the i-th. Returns where no partial product comes near the ends of the range.
template <class F, class P, class V> LG_FN auto pivot_product(const F &pivot, int n, const P *swap, V &y) {
    typedef bits<typename traits<V>::scalar> B;
    y = V(1);
    auto plain = P(0) == P(0);
    for (int i = 0; i < n; i++) {
        y = y * pivot(i) * pivot_sign<V>(i, swap);
        const P size = absmax_(y);
        plain = plain & (size >= P(B::plain_tiny)) & (size <= P(B::plain_huge));
    }
    return plain;
}
// y with its exponent apart, where neither it nor its reciprocal leaves the range
template <class V> LG_FN scaled_number<V> normalized(V y) {
    typedef typename traits<V>::I I;
    const auto one = inverse_scale(absmax_(y));
    return {scale_(y, one), I(0) - exponent(one)};
}
// Where products are plain, scaling by powers of two would change no bit.
template <class F, class P> LG_FN auto lu_determinant(const F &pivot, int n, const P *swap) {
    typedef decltype(pivot(0)) V;
    typedef typename traits<V>::I I;
    V y;
    const auto plain = pivot_product(pivot, n, swap, y);
    const scaled_number<V> d = normalized(y);
    if (!any(not_(plain))) return d;
    scaled_number<V> e = {V(1), I(0)};
    for (int i = 0; i < n; i++) {
        const P s = inverse_scale(absmax_(pivot(i)));
        y = e.m * scale_(pivot(i), s) * pivot_sign<V>(i, swap);
        const P r = inverse_scale(absmax_(y));
        e.m = scale_(y, r);
        e.e = e.e - exponent(s) - exponent(r);
    }
    return scaled_number<V>{select(plain, d.m, e.m), select(plain, d.e, e.e)};
}
// The sign and the modulus of m; the sign of zero is zero.
template <class V> LG_FN V split(const scaled_number<V> &d, typename traits<V>::real &size) {
    typedef typename traits<V>::real P;
    size = sqrt_(add_abs2(d.m, P(0)));
    return select(size == P(0), V(0), scale_(d.m, P(1) / size));
}
#ifndef LG_CUDA
// log(size 2^e), in double for float too: one number for each matrix
template <class T, class I> LG_FN T log_modulus(T size, I e) {
    return (T)(__builtin_log((double)size) + (double)e * 0.69314718055994530942);
}
#endif

// 1 where an entry is so large or small that products within the elimination may leave the range although the
// determinant does not, or is not finite; the LAPACK lane scales rows and columns. Zeros are fine, but few.
template <class A> LG_FN auto badly_scaled(const A &a, int m, int n) {
    typedef decltype(abs1_(a(0, 0))) P;
    typedef typename traits<P>::I I;
    typedef bits<typename traits<P>::scalar> B;
    P sum = P(0), least = P(B::entry_huge);
    LG_UNROLL for (int i = 0; i < m; i++) LG_UNROLL for (int j = 0; j < n; j++) {
        const P x = abs1_(a(i, j));
        sum = sum + x; // bounds the largest, and keeps NaN
        least = smaller_(least, x);
    }
    auto fine = (sum <= P(B::entry_huge)) & (least >= P(B::entry_tiny));
    if (!any(not_(fine))) return I(0);
    fine = P(0) == P(0);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const P x = abs1_(a(i, j));
            fine = fine & (x <= P(B::entry_huge)) & ((x >= P(B::entry_tiny)) | (x == P(0)));
        }
    return select(fine, I(0), I(1));
}

} // namespace
} // namespace lg
#endif
