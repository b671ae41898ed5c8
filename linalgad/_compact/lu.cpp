#include "direct.hpp"

#include "det.hpp"
#include "det_small.hpp"
#include "lu_small.hpp"

namespace lg {
namespace {

LG_FN ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

// Whole numbers x as 32-bit integers in the place of real numbers, which layout.hpp moves: one in each float, two in
// each double. Returns how many real numbers that makes.
template <class T> LG_FN int pack_integers(const pack<T> *x, int count, pack<T> *y) {
    if constexpr (sizeof(T) == 4) {
        for (int k = 0; k < count; k++) y[k] = from_bits(x[k], to_whole(x[k]));
        return count;
    } else {
        for (int k = 0; k < count / 2; k++) y[k] = from_bits(x[k], to_whole(x[2 * k]) | to_whole(x[2 * k + 1]) << 32);
        return count / 2;
    }
}
// Whether matrices of a whole pack have their `count` integers without gaps, and pack_integers() holds all of them.
template <class T> LG_FN bool integers_pack(const part &c, int v, int count) {
    const lg_view &a = c.call->x[v];
    return c.count == pack<T>::W && !c.failed && !a.list && a.rs == sizeof(int) && a.step % sizeof(T) == 0 &&
           (ptrdiff_t)a.base % sizeof(T) == 0 && count * sizeof(int) % sizeof(T) == 0;
}
// Writes count numbers for each matrix as integers. `spare` is workspace for as many.
template <class P> LG_FN void put_integers(const part &c, int v, const P *x, int count, P *spare) {
    typedef typename traits<P>::scalar T;
    const lg_view &a = c.call->x[v];
    if constexpr (traits<P>::width > 1)
        if (integers_pack<T>(c, v, count))
            return deinterleave(spare, spaced<T>{(T *)place(c, v, 0), a.step}, pack_integers(x, count, spare));
    const int width = traits<P>::width;
    int *const list = (int *)spare;
    for (int k = 0; k < count; k++) to_integers(x[k], list + k * width);
    for (int l = 0; l < c.count; l++) {
        if (c.failed && !good(c, l)) continue;
        char *to = place(c, v, l);
        for (int k = 0; k < count; k++, to += a.rs) *(int *)to = list[k * width + l];
    }
}
// The same for a number that the compiler knows.
template <int N, class T> LG_FN void put_integers(const part &c, int v, const pack<T> (&x)[N]) {
    pack<T> y[N];
    if (integers_pack<T>(c, v, N) && c.call->x[v].step == N * sizeof(int)) {
        constexpr int numbers = N * sizeof(int) / sizeof(T) > 0 ? N * sizeof(int) / sizeof(T) : 1;
        pack_integers(x, N, y);
        return put((const pack<T>(&)[numbers])y, adjoining<T>{(T *)place(c, v, 0), numbers});
    }
    put_integers(c, v, x, N, y);
}
// Lists [m][W] that say where row i of a matrix went, and which row came to place k.
struct row_lists {
    int *position, *row;
    LG_FN row_lists(arena &ws, int width, int m) : position(ws.take<int>(width * m)), row(ws.take<int>(width * m)) {}
    // The rows from their exchanges; the numbers of the rows, in `number`, go through them as the rows do.
    template <class P> LG_FN void fill(const P *swap, int count, int m, P *number) const {
        for (int i = 0; i < m; i++) number[i] = P((typename traits<P>::scalar)i);
        exchange_numbers(number, count, m, swap);
        for (int k = 0; k < m; k++) to_integers(number[k], row + k * traits<P>::width);
    }
    LG_FN void fill_positions(int m, int width) const {
        for (int k = 0; k < m; k++)
            for (int l = 0; l < width; l++) position[row[k * width + l] * width + l] = k;
    }
};

template <class V> struct lu_factor_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) { return 2 * m * n + m; }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_lu<N, V> f;
        if (!lies_directly<V>(c, 0, N, N) || !lies_directly<V>(c, 1, N, N)) return false;
        take_matrix(f.x, c, 0);
        if (!f.template factor<true>()) return false;
        store_info(typename traits<V>::I(0), c);
        put_matrix(f.x, c, 1);
        put_integers(c, 2, f.swap);
        return true;
    }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, mn = m < n ? m : n;
        if (m == n && done_directly<V, lu_factor_op, 2, unrolled_factors<V>>(c, n)) return;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *spare = ws.take<V>(m * n);
        P *swap = ws.take<P>(mn);
        const tile<V> a = load(pa, c, 0, m, n, spare);
        store_info(lu(a, m, n, swap), c);
        store(a, c, 1, m, n, spare);
        put_integers(c, 2, swap, mn, (P *)spare);
    }
};

template <class V> struct lu_op {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) { return 4 * m * n + 4 * m; }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, k = m < n ? m : n, flags = c.call->flags;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *pu = ws.take<V>(k * n), *pl = ws.take<V>(m * k), *spare = ws.take<V>(m * n);
        P *swap = ws.take<P>(k), *number = ws.take<P>(m);
        const row_lists lists(ws, traits<V>::width, m);
        const tile<V> a = load(pa, c, 0, m, n, spare), u = result(pu, c, 2, k, n), l = result(pl, c, 1, m, k);
        lu(a, m, n, swap);
        lists.fill(swap, k, m, number);
        lists.fill_positions(m, traits<V>::width);
        store_info(typename traits<V>::I(0), c); // a zero pivot leaves a valid factorisation
        for (int i = 0; i < m; i++)
            for (int j = 0; j < k; j++) l(i, j) = i > j ? a(i, j) : V(i == j);
        for (int i = 0; i < k; i++)
            for (int j = 0; j < n; j++) u(i, j) = i > j ? V(0) : a(i, j);
        store(l, c, 1, m, k, spare, flags & LG_PERMUTE_L ? lists.row : nullptr);
        store(u, c, 2, k, n, spare);
        if (flags & LG_PERMUTE_L) return;
        const lg_view &v = c.call->x[3];
        for (int at = 0; at < c.count; at++)
            for (int i = 0; i < m; i++) {
                char *p = place(c, 3, at) + i * v.rs;
                const int position = lists.position[i * traits<V>::width + at];
                if (flags & LG_INDICES)
                    *(ptrdiff_t *)p = position;
                else
                    for (int j = 0; j < m; j++) *(T *)(p + j * v.cs) = (T)(position == j);
            }
    }
};

// The lists from LAPACK's row exchanges. Sets info of a matrix whose pivots are no exchanges.
LG_FN void read_swaps(const part &c, int v, int n, const row_lists &lists, int width) {
    const lg_view &a = c.call->x[v];
    for (int l = 0; l < width; l++) {
        const char *p = place(c, v, l < c.count ? l : 0);
        int *row = lists.row + l;
        for (int k = 0; k < n; k++) row[k * width] = k;
        for (int k = 0; k < n; k++) {
            const int j = *(const int *)(p + k * a.rs), t = row[k * width];
            if (j < k || j >= n) { // not an exchange
                if (l < c.count) c.call->info[c.first + l] = 1, c.failed = true;
                continue;
            }
            row[k * width] = row[j * width];
            row[j * width] = t;
        }
    }
    lists.fill_positions(n, width);
}

template <class V> struct lu_solve_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) { return n * n + n * k + n * larger(n, k) + 2 * n; }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k, flags = c.call->flags;
        const bool conjugated = (flags & LG_CONJ) && traits<V>::parts == 2;
        arena ws{c.call->ws};
        V *pf = ws.take<V>(n * n), *px = ws.take<V>(n * k), *spare = ws.take<V>(n * larger(n, k));
        const row_lists lists(ws, traits<V>::width, n);
        const tile<V> f = load(pf, c, 0, n, n, spare);
        store_info(first_zero(f, n), c);
        read_swaps(c, 1, n, lists, traits<V>::width);
        if (flags & LG_TRANS) {
            const tile<V> x = load(px, c, 2, n, k, spare);
            if (conjugated) conjugate(x, n, k);
            solve_lower<false>(f.t(), n, x, k);
            solve_upper<true>(f.t(), n, x, k);
            if (conjugated) conjugate(x, n, k);
            store(x, c, 3, n, k, spare, lists.row);
        } else {
            const tile<V> x = load(px, c, 2, n, k, spare, lists.position);
            solve_lower<true>(f, n, x, k);
            solve_upper<false>(f, n, x, k);
            store(x, c, 3, n, k, spare);
        }
    }
};

// Factors the transposed matrix, so that solve() is lu_solve() of what lu_factor() returns for it, bit for bit.
template <class V> struct solve_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) { return n * n + n * k + n * larger(n, k) + n; }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_lu<N, V> f;
        if (!lies_directly<V>(c, 0, N, N)) return false;
        take_matrix(f.x, c, 0);
        transpose(f.x);
        if (!f.template factor<true>()) return false;
        store_info(typename traits<V>::I(0), c);
        each_column<N, V>(c, 1, 2, [&f](auto &z) { f.solve(z); });
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k;
        if (done_directly<V, solve_op, 2, unrolled_solutions>(c, n)) return;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pb = ws.take<V>(n * k), *spare = ws.take<V>(n * larger(n, k));
        P *swap = ws.take<P>(n);
        const tile<V> a = load(pa, c, 0, n, n, spare).t(), b = load(pb, c, 1, n, k, spare);
        store_info(lu(a, n, n, swap), c);
        solve_lower<false>(a.t(), n, b, k);
        solve_upper<true>(a.t(), n, b, k);
        restore_rows(b, n, k, swap);
        store(b, c, 2, n, k, spare);
    }
};

// solve() for the identity, leaving out its zeros
template <class V> struct inv_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 3 * n * n + 4 * n; }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_lu<N, V> f;
        if (!lies_directly<V>(c, 0, N, N) || !lies_directly<V>(c, 1, N, N)) return false;
        take_matrix(f.x, c, 0);
        transpose(f.x);
        if (!f.template factor<true>()) return false;
        store_info(typename traits<V>::I(0), c);
        V z[N][N];
        f.inverse(z);
        LG_UNROLL for (int i = 0; i < N; i++) LG_UNROLL for (int j = 0; j < N; j++) z[i][j] = marked(z[i][j], P(0));
        put_matrix(z, c, 1);
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        if (done_directly<V, inv_op, 2, unrolled_solutions>(c, n)) return;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *px = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        P *swap = ws.take<P>(n), *number = ws.take<P>(n);
        const row_lists lists(ws, traits<V>::width, n);
        const tile<V> a = load(pa, c, 0, n, n, spare).t(), x = ordered(px, by_rows, n, n);
        store_info(lu(a, n, n, swap), c);
        lists.fill(swap, n, n, number);
        P mark = P(0); // whatever is not finite reaches the pivot of its column; the inverse of one infinity is 0
        for (int i = 0; n > 1 && i < n; i++) mark = see(mark, a(i, i));
        invert_lower(a.t(), n, x, mark);
        solve_upper<true>(a.t(), n, x, n);
        for (int i = 0; i < n; i++) // the signs of zeros depend on which are left out
            for (int j = 0; j < n; j++) x(i, j) = marked(x(i, j), P(0));
        store(x, c, 1, n, n, spare, lists.row);
    }
};

// Determinants y of whole packs in a row from matrix `first` on, as long as they are plain, each to write(y, matrix).
// Returns the first matrix that is left.
template <int N, class V, class F> LG_CALL int plain_determinants(const lg_call *c, int first, const F &write) {
    typedef typename traits<V>::scalar T;
    typedef spaced<const T> runs; // not adjoining: all packs are one run, which the hardware's prefetchers follow
    const int width = traits<V>::width, start = first, most = plain_test<N, V>::exists ? 4 : 1;
    const ptrdiff_t numbers = N * N * traits<V>::parts;
    const part next(c, first, width);
    if (!lies_directly<V>(next, 0, N, N)) return first;
    const T *from = (const T *)place(next, 0, 0);
    V x[N][N], y[most][1][1];
    for (bool plain = true; plain && first + width <= c->count;) {
        int packs = (c->count - first) / width;
        if constexpr (most > 1)
            if (packs >= most) {
                plain_test<N, V> test;
                LG_UNROLL for (int i = 0; i < most; i++) {
                    take_matrix(x, runs{from + i * width * numbers, numbers * (ptrdiff_t)sizeof(T)});
                    y[i][0][0] = expansion(x);
                    test.see(x, y[i][0][0]);
                }
                if (test.all()) {
                    LG_UNROLL for (int i = 0; i < most; i++) write(y[i], first + i * width);
                    first += most * width;
                    from += most * width * numbers;
                    continue;
                }
                packs = most;
            }
        for (; packs > 0; packs--, first += width, from += width * numbers) {
            take_matrix(x, runs{from, numbers * (ptrdiff_t)sizeof(T)});
            plain = !any(not_(determinant(x, y[0][0][0])));
            if (!plain) break;
            write(y[0], first);
        }
    }
    __builtin_memset(c->info + start, 0, (first - start) * sizeof(int));
    return first;
}
template <class V, class F> LG_FN int plain_stretch(const lg_call *c, int first, const F &write) {
    return c->n == 2 ? plain_determinants<2, V>(c, first, write)
         : c->n == 3 ? plain_determinants<3, V>(c, first, write)
                     : first;
}
// Whether operand v has one number after the other, and where those of matrix `first` on are.
template <class V> LG_FN typename traits<V>::scalar *numbers_of(const lg_call *c, int v, int first) {
    const part next(c, first, traits<V>::width);
    return lies_directly<V>(next, v, 1, 1) ? (typename traits<V>::scalar *)place(next, v, 0) : nullptr;
}

template <class V> struct det_op {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    typedef typename traits<V>::M M;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 2 * n * n + n + 2; }
    // By elimination, for the matrices that are not known.
    static scaled_number<V> by_factors(const part &c, M known = P(0) != P(0)) {
        const int n = (int)c.call->n;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        P *swap = ws.take<P>(n);
        const tile<V> a = load(pa, c, 0, n, n, spare);
        const auto pivot = [a](int i) { return a(i, i); };
        I info = badly_scaled(a, n, n);
        lu(a, n, n, swap, false);
        const scaled_number<V> d = lu_determinant(pivot, n, swap);
        const M gone = vanishing(pivot, n);
        if (any(gone)) info = info | select(gone, may_vanish(load(pa, c, 0, n, n, spare), n), I(0));
        store_info(select(known, I(0), info), c);
        return d;
    }
    // Order 2 and 3: y where it is plain, d elsewhere. Returns whether it is plain everywhere.
    template <int N> LG_FN static bool closed_form(const part &c, V &y, M &plain, scaled_number<V> &d) {
        V x[N][N];
        read_matrix(x, c, 0);
        plain = lg::determinant(x, y);
        if (any(not_(plain))) {
            d = by_factors(c, plain);
            return false;
        }
        store_info(I(0), c);
        return true;
    }
    template <int N> LG_FN static bool small_factors(const part &c, small_lu<N, V> &f) {
        if (!lies_directly<V>(c, 0, N, N)) return false;
        take_matrix(f.x, c, 0);
        const auto info = badly_scaled([&f](int i, int j) { return f.x[i][j]; }, N, N);
        if (any(info != I(0)) || !f.template factor<false>()) return false;
        store_info(info, c);
        return true;
    }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_lu<N, V> f;
        V y;
        if (!small_factors(c, f)) return false;
        if (any(not_(pivot_product([&f](int i) { return f.x[i][i]; }, N, f.swap, y)))) return false;
        write_number(y, c, 1);
        return true;
    }
    template <int N> LG_CALL static void small(const part &c) {
        V y;
        M plain;
        scaled_number<V> d;
        if (!closed_form<N>(c, y, plain, d)) y = select(plain, y, times_power(d.m, d.e));
        write_number(y, c, 1);
    }
    static int stretch(const lg_call *c, int first) {
        auto *to = numbers_of<V>(c, 1, first);
        if (!to) return first;
        return plain_stretch<V>(c, first, [=](const V (&y)[1][1], int at) {
            put_matrix(y, to + (at - first) * traits<V>::parts);
        });
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        if (n == 2) return small<2>(c);
        if (n == 3) return small<3>(c);
        if (done_directly<V, det_op, 4, unrolled_factors<V>>(c, n)) return;
        const scaled_number<V> d = by_factors(c);
        write_number(times_power(d.m, d.e), c, 1);
    }
};

template <class V> struct slogdet_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int flags) {
        return det_op<V>::elements(m, n, k, flags) + 4;
    }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_lu<N, V> f;
        if (!det_op<V>::small_factors(c, f)) return false;
        finish(c, lu_determinant([&f](int i) { return f.x[i][i]; }, N, f.swap));
        return true;
    }
    template <int N> LG_CALL static void small(const part &c) {
        V y;
        typename traits<V>::M plain;
        scaled_number<V> d;
        const bool all = det_op<V>::template closed_form<N>(c, y, plain, d);
        const scaled_number<V> e = {y, typename traits<V>::I(0)};
        finish(c, all ? e : scaled_number<V>{select(plain, e.m, d.m), select(plain, e.e, d.e)});
    }
    static int stretch(const lg_call *c, int first) {
        auto *signs = numbers_of<V>(c, 1, first);
        auto *logarithms = numbers_of<P>(c, 2, first);
        if (!signs || !logarithms) return first;
        return plain_stretch<V>(c, first, [=](const V (&y)[1][1], int at) {
            P logarithm[1][1];
            const V sign[1][1] = {{sign_and_logarithm(scaled_number<V>{y[0][0], typename traits<V>::I(0)}, logarithm[0][0])}};
            put_matrix(sign, signs + (at - first) * traits<V>::parts);
            put_matrix(logarithm, logarithms + (at - first));
        });
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        if (n == 2) return small<2>(c);
        if (n == 3) return small<3>(c);
        if (!done_directly<V, slogdet_op, 4, unrolled_factors<V>>(c, n)) finish(c, det_op<V>::by_factors(c));
    }
    static void finish(const part &c, const scaled_number<V> &det) {
        P logarithm;
        write_number(sign_and_logarithm(det, logarithm), c, 1);
        write_number(logarithm, c, 2);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(lu_factor, lu_factor_op)
LG_REGISTER(lu, lu_op)
LG_REGISTER(lu_solve, lu_solve_op)
LG_REGISTER(solve, solve_op)
LG_REGISTER(inv, inv_op)
LG_REGISTER(slogdet, slogdet_op)

LG_REGISTER(det, det_op)
