// Eigenvalues and eigenvectors of one Hermitian matrix in each SIMD element: Householder reduction to a real
// tridiagonal matrix, implicit QL iteration with Wilkinson's shift on that, vectors by rotations and reflectors.
#ifndef LINALGAD_COMPACT_EIGH_HPP
#define LINALGAD_COMPACT_EIGH_HPP

#include "spectral.hpp"

namespace lg {
namespace {

// ---- reduction ------------------------------------------------------------------------------------------------------
// One step on the lower triangle of the trailing matrix, rows and columns [k + 1, n) of a (columns ld apart):
// subtracts the last step's v w^H + w v^H from NB columns at j and, with this step's vector x, adds their part of A x
// to p. The update of one step and the product of the next share a pass over the matrix.
template <int NB, class V>
LG_FN void tridiagonal_columns(V *a, int ld, int n, int j, const V *v, const V *w, const V *x, V *p) {
    V vj[NB], wj[NB], xj[NB], pj[NB];
    LG_UNROLL for (int c = 0; c < NB; c++) {
        vj[c] = v[j + c], wj[c] = w[j + c], xj[c] = x[j + c], pj[c] = V(0);
    }
    LG_UNROLL for (int r = 0; r < NB; r++) LG_UNROLL for (int c = 0; c <= r; c++) { // the triangle on the diagonal
        V *at = a + (j + c) * ld + j + r;
        const V y = fnma_conj(wj[r], vj[c], fnma_conj(vj[r], wj[c], *at));
        *at = y;
        if (r == c) {
            pj[c] = fma_(V(real_(y)), xj[c], pj[c]);
        } else {
            pj[r] = fma_(y, xj[c], pj[r]);
            pj[c] = fma_conj(y, xj[r], pj[c]);
        }
    }
    for (int i = j + NB; i < n; i++) {
        const V vi = v[i], wi = w[i], xi = x[i];
        V s = p[i];
        LG_UNROLL for (int c = 0; c < NB; c++) {
            V *at = a + (j + c) * ld + i;
            const V y = fnma_conj(wi, vj[c], fnma_conj(vi, wj[c], *at));
            *at = y;
            s = fma_(y, xj[c], s);
            pj[c] = fma_conj(y, xi, pj[c]);
        }
        p[i] = s;
    }
    LG_UNROLL for (int c = 0; c < NB; c++) p[j + c] = p[j + c] + pj[c];
}
// A = Q T Q^H: d and e get the diagonals of T, the columns of a below the diagonal the reflectors of Q.
// w and p: workspace of n each.
template <class V>
LG_CALL void tridiagonal(V *a, int n, typename traits<V>::real *d, typename traits<V>::real *e, V *tau, V *w, V *p) {
    typedef typename traits<V>::real P;
    const int nb = fold<V>::value; // the order of the sums depends on it
    for (int i = 0; i < n; i++) w[i] = V(0);
    for (int k = 0; k < n; k++) {
        V *x = a + k * n;
        const V *v = k > 0 ? x - n : w; // of the last step: v[k] = 1; there is nothing to subtract at first
        const V vk = v[k], wk = w[k];
        for (int i = k; i < n; i++) x[i] = fnma_conj(w[i], vk, fnma_conj(v[i], wk, x[i]));
        d[k] = real_(x[k]);
        if (k + 1 == n) break;
        tau[k] = reflector(x + k + 1, n - k - 1, e[k]);
        for (int i = k + 1; i < n; i++) p[i] = V(0);
        int j = k + 1;
        for (; j + nb <= n; j += nb) tridiagonal_columns<nb>(a, n, n, j, v, w, x, p);
        for (; j < n; j++) tridiagonal_columns<1>(a, n, n, j, v, w, x, p);
        V dot(0);
        for (int i = k + 1; i < n; i++) dot = fma_conj(x[i], p[i], dot);
        const P half = real_(dot) * add_abs2(tau[k], P(0)) * P(0.5);
        const V t = tau[k];
        for (int i = k + 1; i < n; i++) w[i] = fnma_(x[i], V(half), p[i] * t);
    }
}

// ---- QL iteration ---------------------------------------------------------------------------------------------------
// Every matrix works at its own lowest block [l, m] that has not split; a sweep runs over the union of the blocks, and
// outside a matrix's own block nothing of it changes.
template <class P> struct ql_window {
    typedef typename traits<P>::I I;
    I l, m;          // of each matrix; l = m where nothing is left
    int from, to;    // of all
    P dl, dl1, el, dm;
};
// Sets negligible e to zero and finds the windows; false when all matrices are diagonal. `bottom` only grows.
template <class P> LG_FN bool find_windows(const P *d, P *e, int n, int bottom, ql_window<P> &q) {
    typedef typename traits<P>::I I;
    typedef spectral<typename traits<P>::scalar> S;
    const P floor(S::lift * S::eps * S::eps * S::eps);
    q.l = I(0), q.m = I(0), q.dl = q.dl1 = q.dm = P(0), q.el = P(1);
    q.from = n, q.to = 0;
    auto above = q.l != q.l; // whether e[i + 1] is there
    for (int i = n - 2; i >= bottom; i--) {
        const P a = abs_(e[i]), di = d[i], di1 = d[i + 1];
        const auto here = a > fma_(P(S::eps), abs_(di) + abs_(di1), floor);
        e[i] = select(here, e[i], P(0));
        const auto top = here & not_(above);
        q.m = select(top, I(i + 1), q.m);
        q.dm = select(top, di1, q.dm);
        q.l = select(here, I(i), q.l);
        q.dl = select(here, di, q.dl), q.dl1 = select(here, di1, q.dl1), q.el = select(here, e[i], q.el);
        if (any(here)) q.from = i;
        above = here;
    }
    if (q.from == n) return false;
    for (q.to = n - 1; !any(q.m == I(q.to)); q.to--) {}
    return true;
}
// One sweep down from the top of the windows; c, s: its rotations, i turning columns i and i + 1.
template <bool vectors, class P> LG_FN void ql_sweep(P *d, P *e, const ql_window<P> &q, P *cs, P *sn) {
    typedef typename traits<P>::I I;
    const auto working = q.l < q.m;
    P g = (q.dl1 - q.dl) / (q.el + q.el);
    const P r = sqrt_(fma_(g, g, P(1)));
    g = (q.dm - q.dl) + q.el / (g + copysign_(r, g));
    P c(1), s(1), p(0), above = d[q.to];
    I at(q.to - 1);
    for (int i = q.to - 1; i >= q.from; i--, at = at - I(1)) {
        const auto active = working & (at < q.m) & (at >= q.l);
        const P ei = e[i], di = d[i];
        const P b = c * ei;
        const rotation<P> t(g, s * ei);
        const P dg = above - p;
        const P u = fma_(di - dg, t.s, t.c * (b + b));
        const P pn = t.s * u;
        e[i + 1] = select(active & (at + I(1) < q.m), t.r, e[i + 1]);
        d[i + 1] = select(active, dg + pn, above);
        g = select(active, fma_(t.c, u, -b), g);
        p = select(active, pn, p);
        c = select(active, t.c, c), s = select(active, t.s, s);
        const auto last = active & (at == q.l);
        above = select(last, di - pn, di);
        e[i] = select(last, g, ei);
        if (vectors) cs[i] = select(active, t.c, P(1)), sn[i] = select(active, t.s, P(0));
    }
    d[q.from] = above;
}
// Diagonalises; b (with vectors) gets the rotations, k is workspace. Returns 1 where a matrix did not converge.
template <bool vectors, class P>
LG_CALL typename traits<P>::I ql_iteration(P *d, P *e, int n, const basis<P> &b, sweeps<P> &k) {
    typedef typename traits<P>::I I;
    ql_window<P> q;
    q.from = 0;
    k.count = k.number = 0;
    int left = sweeps_per_row * n;
    bool more = false;
    for (; (more = find_windows(d, e, n, q.from, q)) && left > 0; left--) {
        ql_sweep<vectors>(d, e, q, k.c + k.count * n, k.s + k.count * n);
        if (!vectors) continue;
        k.from[k.count] = q.from, k.to[k.count] = q.to;
        if (++k.count < kept_sweeps) continue;
        apply<false>(b, k);
        k.number += k.count, k.count = 0;
    }
    if (vectors) apply<false>(b, k);
    return more ? select(q.l < q.m, I(1), I(0)) : I(0);
}

} // namespace
} // namespace lg
#endif
