#include "direct.hpp"
#include "half.hpp"

#include "cholesky.hpp"
#include "cholesky_solve.hpp"
#include "lu_small.hpp"

namespace lg {
namespace {

template <class V> struct cholesky_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 2 * n * n; }
    template <int N> LG_CALL static bool direct(const part &c) {
        typedef typename traits<V>::I I;
        V d[N][N];
        typename traits<V>::real inv[N];
        if (c.call->flags & LG_UPPER || !lies_directly<V>(c, 0, N, N) || !lies_directly<V>(c, 1, N, N)) return false;
        take_matrix(d, c, 0);
        I info(0);
        cholesky_diagonal(d, inv, 0, info);
        if (any(info != I(0))) return false;
        store_info(info, c);
        put_matrix(d, c, 1);
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        if (done_directly<V, cholesky_op>(c, n)) return;
        arena ws{c.call->ws};
        V *p = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        tile<V> a = load(p, c, 0, n, n, spare);
        // A^T is conj(A) and its factor conj(L), which transposed is the upper factor.
        store_info(cholesky<V>(c.call->flags & LG_UPPER ? a.t() : a, n), c);
        store(a, c, 1, n, n, spare);
    }
};

// Reads the factor, as L, into registers; whether it lies there directly and its diagonal may be inverted.
template <int N, class V> LG_FN bool small_factor_of(const part &c, small_factor<N, V> &f) {
    if (!lies_directly<V>(c, 0, N, N)) return false;
    take_matrix(f.x, c, 0);
    if (c.call->flags & LG_UPPER) transpose(f.x);
    return invert_diagonal(f.x, f.recip);
}

template <class V> struct cholesky_solve_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) { return n * n + n * k + (n > k ? n : k) * n; }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_factor<N, V> f;
        const bool upper = c.call->flags & LG_UPPER;
        if (!small_factor_of(c, f)) return false;
        store_info(typename traits<V>::I(0), c);
        each_column<N, V>(c, 1, 2, [&f, upper](auto &z) { f.solve(z, upper); });
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k;
        const bool upper = c.call->flags & LG_UPPER;
        if (done_directly<V, cholesky_solve_op>(c, n)) return;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pb = ws.take<V>(n * k), *spare = ws.take<V>((n > k ? n : k) * n);
        const tile<V> a = load_triangle(pa, c, 0, n, spare, upper), b = load(pb, c, 1, n, k, spare);
        store_info(first_zero(a, n), c);
        solve_factored(upper ? a.t() : a, n, b, k, upper);
        store(b, c, 2, n, k, spare);
    }
};

template <class V> struct cholesky_inverse_op {
    typedef typename traits<V>::real P;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 3 * n * n; }
    template <int N> LG_CALL static bool direct(const part &c) {
        small_factor<N, V> f;
        if (!lies_directly<V>(c, 1, N, N) || !small_factor_of(c, f)) return false;
        P mark = P(0);
        LG_UNROLL for (int i = 0; i < N; i++) LG_UNROLL for (int j = 0; j < i; j++) mark = see(mark, f.x[i][j]);
        if (any(not_(mark == P(0)))) return false;
        store_info(typename traits<V>::I(0), c);
        V z[N][N];
        f.inverse(z);
        if (c.call->flags & LG_UPPER) transpose(z);
        put_matrix(z, c, 1);
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        const bool upper = c.call->flags & LG_UPPER;
        if (done_directly<V, cholesky_inverse_op>(c, n)) return;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pm = ws.take<V>(n * n), *px = ws.take<V>(n * n);
        const tile<V> a = load_triangle(pa, c, 0, n, px, upper), m = ordered(pm, by_rows, n, n);
        const tile<V> x = result(px, c, 1, n, n);
        store_info(first_zero(a, n), c);
        const tile<V> lower = upper ? a.t() : a;
        P mark = P(0);
        for (int i = 0; n > 1 && i < n; i++)
            for (int j = 0; j <= i; j++) mark = see(mark, lower(i, j));
        invert_lower(lower, n, m, mark);
        gram(m, n, upper ? x.t() : x); // R^H R is conj(L L^H) for L = R^T: its inverse is the transpose
        store(x, c, 1, n, n, pa);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(cholesky, cholesky_op)
LG_REGISTER(cholesky_solve, cholesky_solve_op)
LG_REGISTER(cholesky_inverse, cholesky_inverse_op)
