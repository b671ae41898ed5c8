#include "layout.hpp"

#include "lu.hpp"

namespace lg {
namespace {

LG_FN ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

template <class V> struct lu_space {
    pivots<V> piv;
    V *mult;
    LG_FN lu_space(arena &ws, int m) {
        typedef typename traits<V>::real P;
        piv.position = ws.take<P>(m), piv.swap = ws.take<P>(m);
        mult = ws.take<V>(fold<V>::value * m);
    }
    static ptrdiff_t elements(ptrdiff_t m) { return (2 + fold<V>::value) * m; }
};
// Numbers held as real packs, as the lists of integers [W][count] that load() and store() take.
template <class P> LG_FN int *as_lists(const P *x, int count, arena &ws, int width) {
    int *list = ws.take<int>((ptrdiff_t)width * count);
    for (int l = 0; l < width; l++)
        for (int i = 0; i < count; i++) list[l * count + i] = (int)lane_of(x[i], l);
    return list;
}

template <class V> struct lu_factor_op {
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) {
        return 3 * m * n + lu_space<V>::elements(m) + m;
    }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *pf = ws.take<V>(m * n), *spare = ws.take<V>(m * n);
        const lu_space<V> s(ws, m);
        tile<V> a = load(pa, c, 0, m, n, spare);
        store_info(lu(a, ordered(pf, by_rows, m, n), m, n, s.mult, s.piv), c);
        store(a, c, 1, m, n, spare, as_lists(s.piv.position, m, ws, traits<V>::width));
        const lg_view &v = c.call->x[2];
        for (int l = 0; l < c.count; l++)
            for (int k = 0; good(c, l) && k < (m < n ? m : n); k++)
                *(int *)(v.ptr[c.first + l] + k * v.rs) = (int)lane_of(s.piv.swap[k], l);
    }
};

template <class V> struct lu_op {
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) {
        return 4 * m * n + lu_space<V>::elements(m) + m;
    }
    static void run(const part &c) {
        typedef typename traits<V>::real P;
        typedef typename traits<V>::scalar T;
        const int m = (int)c.call->m, n = (int)c.call->n, k = m < n ? m : n, flags = c.call->flags;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *pf = ws.take<V>(m * n), *pl = ws.take<V>(m * k), *spare = ws.take<V>(m * n);
        const lu_space<V> s(ws, m);
        const tile<V> a = load(pa, c, 0, m, n, spare), u = result(pf, c, 2, k, n), l = ordered(pl, by_rows, m, k);
        lu(a, u, m, n, s.mult, s.piv);
        store_info(typename traits<V>::I(0), c); // a zero pivot leaves a valid factorisation
        for (int i = 0; i < m; i++) {
            const P p = s.piv.position[i];
            for (int j = 0; j < k; j++)
                l(i, j) = select(p > P(T(j)), a(i, j), select(p == P(T(j)), V(1), V(0)));
        }
        for (int i = 1; i < k; i++)
            for (int j = 0; j < i; j++) u(i, j) = V(0);
        const int *position = as_lists(s.piv.position, m, ws, traits<V>::width);
        store(l, c, 1, m, k, spare, flags & LG_PERMUTE_L ? nullptr : position);
        store(u, c, 2, k, n, spare);
        if (flags & LG_PERMUTE_L) return;
        const lg_view &v = c.call->x[3];
        for (int at = 0; at < c.count; at++, position += m)
            for (int i = 0; i < m; i++) {
                char *p = v.ptr[c.first + at] + i * v.rs;
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
        const char *p = a.ptr[c.first + (l < c.count ? l : 0)];
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
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) {
        return 2 * n * n + 2 * n * k + n * larger(n, k) + 3 * n;
    }
    static void run(const part &c) {
        typedef typename traits<V>::real P;
        typedef typename traits<V>::scalar T;
        const int n = (int)c.call->n, k = (int)c.call->k, flags = c.call->flags, width = traits<V>::width;
        const bool conjugated = (flags & LG_CONJ) && traits<V>::parts == 2;
        arena ws{c.call->ws};
        V *pf = ws.take<V>(n * n), *pa = ws.take<V>(n * n), *pb = ws.take<V>(n * k), *px = ws.take<V>(n * k),
          *spare = ws.take<V>(n * larger(n, k));
        P *place = ws.take<P>(n);
        int *position = ws.take<int>(width * n), *row = ws.take<int>(width * n);
        tile<V> f = load(pf, c, 0, n, n, spare), x = result(px, c, 3, n, k);
        store_info(first_zero(f, n), c);
        read_swaps(c, 1, n, position, row, width);
        if (flags & LG_TRANS) {
            tile<V> b = load(pb, c, 2, n, k, spare), a = load(pa, c, 0, n, n, spare, row);
            for (int l = 0; l < width; l++)
                for (int i = 0; i < n; i++) ((T *)place)[i * width + l] = (T)position[l * n + i];
            if (conjugated) conjugate(b, n, k);
            solve_lower<false>(f.t(), n, b, k);
            solve_pivoted(a, f, n, b, x, k, place);
            if (conjugated) conjugate(x, n, k);
        } else {
            x = load(px, c, 2, n, k, spare, position);
            solve_lower<true>(f, n, x, k);
            solve_upper<false>(f, n, x, k);
        }
        store(x, c, 3, n, k, spare);
    }
};

// Factors the transposed matrix, so that solve() is lu_solve() of what lu_factor() returns for it, bit for bit.
template <class V> struct solve_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) {
        return 2 * n * n + 2 * n * k + n * larger(n, k) + lu_space<V>::elements(n);
    }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pf = ws.take<V>(n * n), *pb = ws.take<V>(n * k), *px = ws.take<V>(n * k),
          *spare = ws.take<V>(n * larger(n, k));
        const lu_space<V> s(ws, n);
        const tile<V> a = load(pa, c, 0, n, n, spare).t(), b = load(pb, c, 1, n, k, spare), x = result(px, c, 2, n, k);
        const tile<V> f = ordered(pf, by_rows, n, n);
        store_info(lu(a, f, n, n, s.mult, s.piv), c);
        solve_lower<false>(f.t(), n, b, k);
        solve_pivoted(a, f, n, b, x, k, s.piv.position);
        store(x, c, 2, n, k, spare);
    }
};

// solve() for the identity, leaving out its zeros
template <class V> struct inv_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 4 * n * n + lu_space<V>::elements(n); }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pf = ws.take<V>(n * n), *pb = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        const lu_space<V> s(ws, n);
        const tile<V> a = load(pa, c, 0, n, n, spare).t(), f = ordered(pf, by_rows, n, n), b = ordered(pb, by_rows, n, n);
        const tile<V> x = result(spare, c, 1, n, n);
        store_info(lu(a, f, n, n, s.mult, s.piv), c);
        invert_lower(f.t(), n, b);
        solve_pivoted(a, f, n, b, x, n, s.piv.position);
        store(x, c, 1, n, n, pf);
    }
};

// 1 where an entry is so large or small that products within the elimination may leave the range although the
// determinant does not, or is not finite; the LAPACK lane scales rows and columns.
template <class V> LG_FN typename traits<V>::I badly_scaled(tile<V> a, int n) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    typedef bits<typename traits<V>::scalar> B;
    auto fine = P(0) == P(0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const P x = abs1_(a(i, j));
            fine = fine & (x <= P(B::entry_huge)) & ((x >= P(B::entry_tiny)) | (x == P(0)));
        }
    return select(fine, I(0), I(1));
}

template <class V> struct det_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 3 * n * n + 2 + lu_space<V>::elements(n); }
    static scaled_number<V> determinant(const part &c, arena &ws) {
        const int n = (int)c.call->n;
        V *pa = ws.take<V>(n * n), *pf = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        const lu_space<V> s(ws, n);
        tile<V> f = ordered(pf, by_rows, n, n);
        const tile<V> a = load(pa, c, 0, n, n, spare);
        store_info(badly_scaled(a, n), c);
        lu(a, f, n, n, s.mult, s.piv);
        return lu_determinant(f, n, s.piv.swap);
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
        const lg_view &v = c.call->x[2];
        for (int l = 0; l < c.count; l++) {
            typedef typename traits<V>::scalar T;
            if (!good(c, l)) continue;
            // in double for float too: one number for each matrix
            const double log2 = 0.69314718055994530942;
            *(T *)v.ptr[c.first + l] = (T)(__builtin_log((double)lane_of(size, l)) + (double)lane_of(d.e, l) * log2);
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
