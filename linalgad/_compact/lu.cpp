#include "layout.hpp"

#include "lu_small.hpp"

namespace lg {
namespace {

LG_FN ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

// Writes count numbers for each matrix as integers. `spare` is workspace for as many.
template <class P> LG_FN void put_integers(const part &c, int v, const P *x, int count, int *spare) {
    const int width = traits<P>::width;
    for (int k = 0; k < count; k++) to_integers(x[k], spare + k * width);
    const ptrdiff_t rs = c.call->x[v].rs;
    const bool all = all_good(c);
    for (int l = 0; l < c.count; l++) {
        if (!all && !good(c, l)) continue;
        char *p = place(c, v, l);
        for (int k = 0; k < count; k++) *(int *)(p + k * rs) = spare[k * width + l];
    }
}
// Lists [W][m] that say where row i of a matrix went, and which row came to place k.
struct row_lists {
    int *position, *row;
    LG_FN row_lists(arena &ws, int width, int m) : position(ws.take<int>(width * m)), row(ws.take<int>(width * m)) {}
    template <class P> LG_FN void fill(const P *swap, int count, int m, int width) const {
        for (int l = 0; l < width; l++) {
            int *r = row + l * m;
            for (int k = 0; k < m; k++) r[k] = k;
            for (int k = 0; k < count; k++) {
                const int p = (int)lane_of(swap[k], l), t = r[k];
                r[k] = r[p];
                r[p] = t;
            }
            for (int k = 0; k < m; k++) position[l * m + r[k]] = k;
        }
    }
};

template <class V> struct lu_factor_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) { return 2 * m * n + m; }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, mn = m < n ? m : n;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *spare = ws.take<V>(m * n);
        P *swap = ws.take<P>(mn);
        const tile<V> a = load(pa, c, 0, m, n, spare);
        if (m == n && try_factor(a, n, swap))
            store_info(typename traits<V>::I(0), c);
        else
            store_info(lu(a, m, n, swap), c);
        store(a, c, 1, m, n, spare);
        put_integers(c, 2, swap, mn, (int *)spare);
    }
};

template <class V> struct lu_op {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) { return 4 * m * n + 3 * m; }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, k = m < n ? m : n, flags = c.call->flags;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *pu = ws.take<V>(k * n), *pl = ws.take<V>(m * k), *spare = ws.take<V>(m * n);
        P *swap = ws.take<P>(k);
        const row_lists lists(ws, traits<V>::width, m);
        const tile<V> a = load(pa, c, 0, m, n, spare), u = result(pu, c, 2, k, n), l = result(pl, c, 1, m, k);
        lu(a, m, n, swap);
        lists.fill(swap, k, m, traits<V>::width);
        store_info(typename traits<V>::I(0), c); // a zero pivot leaves a valid factorisation
        for (int i = 0; i < m; i++)
            for (int j = 0; j < k; j++) l(i, j) = i > j ? a(i, j) : V(i == j);
        for (int i = 0; i < k; i++)
            for (int j = 0; j < n; j++) u(i, j) = i > j ? V(0) : a(i, j);
        store(l, c, 1, m, k, spare, flags & LG_PERMUTE_L ? lists.row : nullptr);
        store(u, c, 2, k, n, spare);
        if (flags & LG_PERMUTE_L) return;
        const lg_view &v = c.call->x[3];
        const int *position = lists.position;
        for (int at = 0; at < c.count; at++, position += m)
            for (int i = 0; i < m; i++) {
                char *p = place(c, 3, at) + i * v.rs;
                if (flags & LG_INDICES)
                    *(ptrdiff_t *)p = position[i];
                else
                    for (int j = 0; j < m; j++) *(T *)(p + j * v.cs) = (T)(position[i] == j);
            }
    }
};

// From LAPACK's row exchanges, [W][n] lists: row i of the matrix went to position[i], and row k of the factors was row[k].
// Sets info of a matrix whose pivots are no exchanges.
LG_FN void read_swaps(const part &c, int v, int n, int *position, int *row, int width) {
    const lg_view &a = c.call->x[v];
    for (int l = 0; l < width; l++, position += n, row += n) {
        const char *p = place(c, v, l < c.count ? l : 0);
        for (int k = 0; k < n; k++) row[k] = k;
        for (int k = 0; k < n; k++) {
            const int j = *(const int *)(p + k * a.rs), t = row[k];
            if (j < k || j >= n) { // not an exchange
                if (l < c.count) c.call->info[c.first + l] = 1;
                continue;
            }
            row[k] = row[j];
            row[j] = t;
        }
        for (int k = 0; k < n; k++) position[row[k]] = k;
    }
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
        read_swaps(c, 1, n, lists.position, lists.row, traits<V>::width);
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
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pb = ws.take<V>(n * k), *spare = ws.take<V>(n * larger(n, k));
        P *swap = ws.take<P>(n);
        const tile<V> a = load(pa, c, 0, n, n, spare).t(), b = load(pb, c, 1, n, k, spare);
        if (try_solve(a, n, b, k)) {
            store_info(typename traits<V>::I(0), c);
        } else {
            store_info(lu(a, n, n, swap), c);
            solve_lower<false>(a.t(), n, b, k);
            solve_upper<true>(a.t(), n, b, k);
            restore_rows(b, n, k, swap);
        }
        store(b, c, 2, n, k, spare);
    }
};

// solve() for the identity, leaving out its zeros
template <class V> struct inv_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 3 * n * n + 3 * n; }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *px = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        P *swap = ws.take<P>(n);
        const row_lists lists(ws, traits<V>::width, n);
        const tile<V> a = load(pa, c, 0, n, n, spare).t(), best = result(px, c, 1, n, n), x = ordered(px, by_rows, n, n);
        if (try_inverse(a, n, best)) {
            store_info(typename traits<V>::I(0), c);
            store(best, c, 1, n, n, spare);
            return;
        }
        store_info(lu(a, n, n, swap), c);
        lists.fill(swap, n, n, traits<V>::width);
        invert_lower(a.t(), n, x);
        solve_upper<true>(a.t(), n, x, n);
        store(x, c, 1, n, n, spare, lists.row);
    }
};

// 1 where an entry is so large or small that products within the elimination may leave the range although the
// determinant does not, or is not finite; the LAPACK lane scales rows and columns. Zeros are fine, but few.
template <class V> LG_FN typename traits<V>::I badly_scaled(tile<V> a, int n) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    typedef bits<typename traits<V>::scalar> B;
    P sum = P(0), least = P(B::entry_huge);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const P x = abs1_(a(i, j));
            sum = sum + x; // bounds the largest, and keeps NaN
            least = smaller_(least, x);
        }
    auto fine = (sum <= P(B::entry_huge)) & (least >= P(B::entry_tiny));
    if (!any(not_(fine))) return I(0);
    fine = P(0) == P(0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const P x = abs1_(a(i, j));
            fine = fine & (x <= P(B::entry_huge)) & ((x >= P(B::entry_tiny)) | (x == P(0)));
        }
    return select(fine, I(0), I(1));
}

template <class V> struct det_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 2 * n * n + n + 2; }
    static scaled_number<V> determinant(const part &c, arena &ws) {
        const int n = (int)c.call->n;
        V *pa = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        P *swap = ws.take<P>(n);
        const tile<V> a = load(pa, c, 0, n, n, spare);
        store_info(badly_scaled(a, n), c);
        scaled_number<V> d;
        if (try_determinant(a, n, d)) return d;
        lu(a, n, n, swap, false);
        return lu_determinant([a](int i) { return a(i, i); }, n, swap);
    }
    LG_FN static V value(scaled_number<V> d) { return times_power(d.m, d.e); }
    static void run(const part &c) {
        arena ws{c.call->ws};
        V *p = ws.take<V>(1), *spare = ws.take<V>(1);
        *p = value(determinant(c, ws));
        store(ordered(p, by_rows, 1, 1), c, 1, 1, 1, spare);
    }
};

template <class V> struct slogdet_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int flags) {
        return det_op<V>::elements(m, n, k, flags) + 4;
    }
    static void run(const part &c) {
        arena ws{c.call->ws};
        V *p = ws.take<V>(1), *spare = ws.take<V>(1);
        const scaled_number<V> d = det_op<V>::determinant(c, ws);
        const P size = sqrt_(add_abs2(d.m, P(0)));
        const V sign = scale_(d.m, P(1) / size);
        *p = select(size == P(0), V(0), sign);
        store(ordered(p, by_rows, 1, 1), c, 1, 1, 1, spare);
        for (int l = 0; l < c.count; l++) {
            typedef typename traits<V>::scalar T;
            if (!good(c, l)) continue;
            // in double for float too: one number for each matrix
            const double log2 = 0.69314718055994530942;
            *(T *)place(c, 2, l) = (T)(__builtin_log((double)lane_of(size, l)) + (double)lane_of(d.e, l) * log2);
        }
    }
};

} // namespace
} // namespace lg

LG_REGISTER(lu_factor, lu_factor_op)
LG_REGISTER(lu, lu_op)
LG_REGISTER(lu_solve, lu_solve_op)
LG_REGISTER(solve, solve_op)
LG_REGISTER(inv, inv_op)
LG_REGISTER(det, det_op)
LG_REGISTER(slogdet, slogdet_op)
