#include "blocked_lu.hpp"

#include "det.hpp"

namespace lg {
namespace {

// Right-hand sides that are solved one by one; more are solved together, a row of them at a time.
template <class V> LG_FN bool are_few(ptrdiff_t k) { return 2 * k <= traits<V>::width; }

// position[i]: the row of the factors that row i of the matrix became
LG_FN void positions(const int *swap, int count, int m, int *row, int *position) {
    for (int i = 0; i < m; i++) row[i] = i;
    for (int k = 0; k < count; k++) {
        const int t = row[k];
        row[k] = row[swap[k]];
        row[swap[k]] = t;
    }
    for (int i = 0; i < m; i++) position[row[i]] = i;
}
template <class V> LG_FN int first_zero(const rows<V> &f, int n) {
    for (int i = 0; i < n; i++)
        if (abs1_(f.get(i, i)) == 0) return i + 1;
    return 0;
}

template <class V> struct blocked_lu_factor_op {
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) {
        return row_elements<V>(m, n) + m + panel_elements<V>(m);
    }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, k = m < n ? m : n;
        arena ws{c.call->ws};
        const rows<V> a = take_rows<V>(ws, m, n);
        int *swap = ws.take<int>(k);
        load_view(a, c, 0, m, n);
        const int info = factor(a, m, n, swap, ws);
        set_info(c, info);
        if (info) return;
        store_view(a, c, 1, m, n);
        for (int i = 0; i < k; i++) *(int *)(place(c, 2) + i * c.call->x[2].rs) = swap[i];
    }
};

template <class V> struct blocked_lu_op {
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int) {
        return 2 * row_elements<V>(m, n) + 3 * m + panel_elements<V>(m);
    }
    static void run(const part &c) {
        typedef typename traits<V>::real P;
        typedef typename rows<V>::T T;
        typedef typename rows<V>::S S;
        const int m = (int)c.call->m, n = (int)c.call->n, k = m < n ? m : n, flags = c.call->flags, W = rows<V>::W;
        arena ws{c.call->ws};
        const rows<V> u = take_rows<V>(ws, m, n), l = take_rows<V>(ws, m, k);
        int *swap = ws.take<int>(k), *row = ws.take<int>(m), *position = ws.take<int>(m);
        load_view(u, c, 0, m, n);
        set_info(c, 0); // a zero pivot leaves a valid factorisation
        factor(u, m, n, swap, ws);
        positions(swap, k, m, row, position);
        for (int i = 0; i < m; i++) {
            for (int v = 0; v < packs_for(k, W); v++)
                l.row(i)[v] = select(counted<P>(v * W) < P((T)i), u.row(i)[v], V(0));
            if (i >= k) continue;
            l.put(i, i, S(1));
            for (int v = 0; v < i / W; v++) u.row(i)[v] = V(0);
            V &x = u.row(i)[i / W];
            x = select(counted<P>(i / W * W) >= P((T)i), x, V(0));
        }
        store_rows(l, place(c, 1), c.call->x[1].rs, c.call->x[1].cs, m, k, flags & LG_PERMUTE_L ? row : nullptr);
        store_view(u, c, 2, k, n);
        if (flags & LG_PERMUTE_L) return;
        const lg_view &v = c.call->x[3];
        for (int i = 0; i < m; i++) {
            char *p = place(c, 3) + i * v.rs;
            if (flags & LG_INDICES) {
                *(ptrdiff_t *)p = position[i];
                continue;
            }
            if (v.cs == sizeof(T))
                __builtin_memset(p, 0, m * sizeof(T));
            else
                for (int j = 0; j < m; j++) *(T *)(p + j * v.cs) = 0;
            *(T *)(p + position[i] * v.cs) = 1;
        }
    }
};

// X = P^T L^-T U^-T B of factors by rows, for B in operand v and X in operand v + 1; with `plain` the factors f are of the
// transposed matrix, their parts change places, and rows are exchanged first.
template <class V> struct pivoted_solver {
    static ptrdiff_t elements(ptrdiff_t n, ptrdiff_t k) {
        return are_few<V>(k) ? row_elements<V>(k, n) : row_elements<V>(n, k);
    }
    LG_FN static void exchange(const rows<V> &x, int i, int j, bool few, int k) {
        few ? exchange_columns(x, i, j, k) : exchange_rows(x, i, j, packs_for(k, rows<V>::W));
    }
    template <bool plain> static void halves(const rows<V> &f, int n, const rows<V> &x, int k, bool few) {
        if (few)
            for (int r = 0; r < k; r++) {
                solve_row<forward, plain>(f, n, rows<V>{x.row(r), x.ld});
                solve_row<backward, !plain>(f, n, rows<V>{x.row(r), x.ld});
            }
        else {
            solve_rows<forward, plain, false>(f, n, x, packs_for(k, rows<V>::W));
            solve_rows<backward, !plain, false>(f, n, x, packs_for(k, rows<V>::W));
        }
    }
    static void run(const part &c, int v, const rows<V> &f, int n, int k, const int *swap, bool plain, bool conjugated,
                    arena ws) {
        const bool few = are_few<V>(k);
        const rows<V> x = few ? take_rows<V>(ws, k, n) : take_rows<V>(ws, n, k);
        const int m = few ? k : n, w = few ? n : k;
        load_view(x, c, v, m, w, few);
        if (conjugated) conjugate(x, m, w);
        if (plain) {
            for (int i = 0; i < n; i++) exchange(x, i, swap[i], few, k);
            halves<true>(f, n, x, k, few);
        } else {
            halves<false>(f, n, x, k, few);
            for (int i = n - 1; i >= 0; i--) exchange(x, i, swap[i], few, k);
        }
        if (conjugated) conjugate(x, m, w);
        store_view(x, c, v + 1, m, w, few);
    }
};

template <class V> struct blocked_lu_solve_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) {
        return row_elements<V>(n, n) + n + pivoted_solver<V>::elements(n, k);
    }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k, flags = c.call->flags;
        arena ws{c.call->ws};
        const rows<V> f = take_rows<V>(ws, n, n);
        int *swap = ws.take<int>(n);
        load_view(f, c, 0, n, n, !(flags & LG_TRANS));
        int info = first_zero(f, n);
        for (int i = 0; i < n; i++) {
            swap[i] = *(const int *)(place(c, 1) + i * c.call->x[1].rs);
            if (swap[i] < i || swap[i] >= n) info = 1; // not an exchange
        }
        set_info(c, info);
        if (info) return;
        pivoted_solver<V>::run(c, 2, f, n, k, swap, !(flags & LG_TRANS), (flags & LG_CONJ) && rows<V>::parts == 2, ws);
    }
};

// Factors the transposed matrix, so that solve() is lu_solve() of what lu_factor() returns for it, bit for bit.
template <class V> struct blocked_solve_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) {
        return row_elements<V>(n, n) + n + pivoted_solver<V>::elements(n, k) + panel_elements<V>(n);
    }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k;
        arena ws{c.call->ws};
        const rows<V> f = take_rows<V>(ws, n, n);
        int *swap = ws.take<int>(n);
        load_view(f, c, 0, n, n, true);
        const int info = factor(f, n, n, swap, ws);
        set_info(c, info);
        if (info == 0) pivoted_solver<V>::run(c, 1, f, n, k, swap, false, false, ws);
    }
};

// solve() for the identity, leaving out its zeros
template <class V> struct blocked_inv_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) {
        return 2 * row_elements<V>(n, n) + 3 * n + panel_elements<V>(n);
    }
    static void run(const part &c) {
        typedef typename rows<V>::S S;
        typedef typename traits<V>::real P;
        const int n = (int)c.call->n, packs = packs_for(n, rows<V>::W);
        arena ws{c.call->ws};
        const rows<V> f = take_rows<V>(ws, n, n), x = take_rows<V>(ws, n, n);
        int *swap = ws.take<int>(n), *position = ws.take<int>(n), *row = ws.take<int>(n);
        load_view(f, c, 0, n, n, true);
        const int info = factor(f, n, n, swap, ws);
        set_info(c, info);
        if (info) return;
        typename traits<S>::real mark = 0; // as in the kernel for packs
        for (int i = 0; n > 1 && i < n; i++) mark = see(mark, f.get(i, i));
        for (int i = 0; i < n; i++) {
            for (int q = 0; q < packs; q++) x.row(i)[q] = marked(V(0), P(mark));
            x.put(i, i, marked(S(1), mark));
        }
        solve_rows<forward, false, true>(f, n, x, packs);
        solve_rows<backward, true, false>(f, n, x, packs);
        for (int i = 0; i < n; i++)
            for (int q = 0; q < packs; q++) x.row(i)[q] = marked(x.row(i)[q], P(0));
        positions(swap, n, n, row, position);
        store_rows(x, place(c, 1), c.call->x[1].rs, c.call->x[1].cs, n, n, row);
    }
};

template <class V> struct blocked_det_op {
    typedef typename rows<V>::S S;
    typedef typename traits<V>::I I;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) {
        return row_elements<V>(n, n) + 2 * n + panel_elements<V>(n);
    }
    static scaled_number<S> determinant(const part &c) {
        typedef typename traits<S>::real T;
        const int n = (int)c.call->n;
        arena ws{c.call->ws};
        const rows<V> a = take_rows<V>(ws, n, n);
        int *swap = ws.take<int>(n);
        T *order = ws.take<T>(n);
        load_view(a, c, 0, n, n);
        const auto pivot = [a](int i) { return a.get(i, i); };
        bool out = any(badly_scaled([a](int i, int q) { return a.row(i)[q]; }, n, packs_for(n, rows<V>::W)) != I(0));
        factor(a, n, n, swap, ws);
        for (int i = 0; i < n; i++) order[i] = (T)swap[i];
        const scaled_number<S> d = lu_determinant(pivot, n, order);
        if (vanishing(pivot, n)) {
            load_view(a, c, 0, n, n);
            out |= may_vanish([a](int i, int j) { return a.get(i, j); }, n) != 0;
        }
        set_info(c, out);
        return d;
    }
    static void run(const part &c) {
        const scaled_number<S> d = determinant(c);
        const S x = times_power(d.m, d.e);
        if (good(c, 0)) __builtin_memcpy(place(c, 1), &x, sizeof x);
    }
};

template <class V> struct blocked_slogdet_op {
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int flags) {
        return blocked_det_op<V>::elements(m, n, k, flags);
    }
    static void run(const part &c) {
        typedef typename rows<V>::S S;
        typedef typename traits<S>::real T;
        const scaled_number<S> det = blocked_det_op<V>::determinant(c);
        if (!good(c, 0)) return;
        T logarithm;
        const S sign = sign_and_logarithm(det, logarithm);
        __builtin_memcpy(place(c, 1), &sign, sizeof sign);
        __builtin_memcpy(place(c, 2), &logarithm, sizeof logarithm);
    }
};

} // namespace
} // namespace lg

LG_REGISTER_ALONE(blocked_lu_factor, blocked_lu_factor_op)
LG_REGISTER_ALONE(blocked_lu, blocked_lu_op)
LG_REGISTER_ALONE(blocked_lu_solve, blocked_lu_solve_op)
LG_REGISTER_ALONE(blocked_solve, blocked_solve_op)
LG_REGISTER_ALONE(blocked_inv, blocked_inv_op)
LG_REGISTER_ALONE(blocked_det, blocked_det_op)
LG_REGISTER_ALONE(blocked_slogdet, blocked_slogdet_op)
