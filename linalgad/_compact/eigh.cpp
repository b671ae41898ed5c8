#include "layout.hpp"

#include "eigh.hpp"
#include "jacobi.hpp"

namespace lg {
namespace {

template <class V> struct eigh_op {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) {
        return 4 * n * n + 8 * n + basis<P>::elements(n) + 2 * kept_sweeps * n;
    }
    // The lower triangle, by columns and scaled; what is read of t is one triangle.
    LG_FN static void triangle(tile<V> t, int n, bool upper, V *a, scaling<P> &scale) {
        const tile<V> low = upper ? t.t() : t;
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) scale.see(i == j ? V(real_(low(i, j))) : low(i, j));
        scale.choose();
        for (int j = 0; j < n; j++) {
            a[j * n + j] = scale(V(real_(low(j, j))));
            for (int i = j + 1; i < n; i++) a[j * n + i] = scale(upper ? conj_(low(i, j)) : low(i, j));
        }
    }
    // `jacobi`: vectors by columns, in order; null where they come from the QL iteration
    template <int NB> LG_FN static void columns(const basis<P> &z, const I *source, const reflectors<V> &h,
                                               const V *jacobi, V *q, tile<V> out, int j) {
        V phase[NB];
        if (jacobi) {
            for (int i = 0; i < z.n; i++)
                LG_UNROLL for (int c = 0; c < NB; c++) q[i * NB + c] = jacobi[(j + c) * z.n + i];
        } else {
            take_columns<NB>(z, source + j, q);
            back_transform<NB>(h, q);
        }
        fix_phases<NB>(q, z.n, phase);
        for (int i = 0; i < z.n; i++) LG_UNROLL for (int c = 0; c < NB; c++) out(i, j + c) = q[i * NB + c];
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        const bool vectors = !(c.call->flags & LG_VALUES);
        const int nb = fold<V>::value;
        arena ws{c.call->ws};
        V *pt = ws.take<V>(n * n), *spare = ws.take<V>(n * n), *a = ws.take<V>(n * n), *pv = ws.take<V>(n * n);
        V *tau = ws.take<V>(n), *w = ws.take<V>(n), *p = ws.take<V>(n);
        P *d = ws.take<P>(n), *e = ws.take<P>(n);
        I *source = ws.take<I>(n);
        scaling<P> scale;
        triangle(load(pt, c, 0, n, n, spare), n, c.call->flags & LG_UPPER, a, scale);
        basis<P> z{nullptr, n, basis<P>::best_side(n)};
        I info;
        const V *jacobi = nullptr;
        if (n > 1 && n <= jacobi_most) {
            info = n == 2 ? jacobi_eigh<2>(a, pv, d) : n == 3 ? jacobi_eigh<3>(a, pv, d) : jacobi_eigh<4>(a, pv, d);
            jacobi = pv;
        } else {
            tridiagonal(a, n, d, e, tau, w, p);
            sweeps<P> k;
            k.c = k.s = nullptr;
            if (vectors) {
                z.z = ws.take<P>(basis<P>::elements(n));
                k.c = ws.take<P>(kept_sweeps * n), k.s = ws.take<P>(kept_sweeps * n);
                z.identity();
                info = ql_iteration<true>(d, e, n, z, k);
            } else {
                info = ql_iteration<false>(d, e, n, z, k);
            }
            sort_values<false>(d, source, n);
        }
        store_info(info | scale.info(), c);
        for (int i = 0; i < n; i++) d[i] = scale.back(d[i]) + P(0);
        store(ordered(d, by_rows, n, 1), c, 1, n, 1, (P *)spare);
        if (!vectors) return;
        const reflectors<V> h{a, n, 1, n - 1, n, tau};
        tile<V> out = result(spare, c, 2, n, n);
        int j = 0;
        for (; j + nb <= n; j += nb) columns<nb>(z, source, h, jacobi, pt, out, j);
        for (; j < n; j++) columns<1>(z, source, h, jacobi, pt, out, j);
        store(out, c, 2, n, n, pt);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(eigh, eigh_op)
