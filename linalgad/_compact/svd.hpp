// Singular values and vectors of one square matrix in each SIMD element: Householder reduction to a real bidiagonal
// matrix, the implicit QR iteration of Golub and Kahan on that, vectors by rotations and back-transformation.
#ifndef LINALGAD_COMPACT_SVD_HPP
#define LINALGAD_COMPACT_SVD_HPP

#include "spectral.hpp"

namespace lg {
namespace {

// ---- reduction ------------------------------------------------------------------------------------------------------
// A step of the reduction subtracts v y^T (from the left) and x u^H (from the right) from what is left of the matrix.
// That is done by the next step, in the pass that takes the products of its own v with the columns.
template <int NB, class V>
LG_FN void bidiagonal_columns(V *a, int n, int top, int j, const V *v, const V *y, const V *x, const V *u,
                              const V *next, V *product) {
    V yj[NB], uj[NB], sum[NB];
    LG_UNROLL for (int c = 0; c < NB; c++) yj[c] = y[j + c], uj[c] = u[j + c], sum[c] = V(0);
    for (int i = top; i < n; i++) {
        const V vi = v[i], xi = x[i], ni = next[i];
        LG_UNROLL for (int c = 0; c < NB; c++) {
            V *at = a + (j + c) * n + i;
            const V z = fnma_conj(xi, uj[c], fnma_(vi, yj[c], *at));
            *at = z;
            sum[c] = fma_conj(ni, z, sum[c]);
        }
    }
    LG_UNROLL for (int c = 0; c < NB; c++) product[j + c] = sum[c];
}
// x(i) = tau (sum of a(i, j) u(j) - v(i) s) for MB rows
template <int MB, class V>
LG_FN void bidiagonal_rows(const V *a, int n, int i, int first, const V *u, const V *v, V tau, V s, V *x) {
    V sum[MB];
    LG_UNROLL for (int r = 0; r < MB; r++) sum[r] = V(0);
    for (int j = first; j < n; j++)
        LG_UNROLL for (int r = 0; r < MB; r++) sum[r] = fma_(a[j * n + i + r], u[j], sum[r]);
    LG_UNROLL for (int r = 0; r < MB; r++) x[i + r] = tau * fnma_(v[i + r], s, sum[r]);
}
// Where the reflectors of a reduction lie: those from the left in the columns of the matrix, on and below its diagonal.
template <class V> struct bidiagonal_space {
    V *a, *right;           // n x n by columns; reflectors from the right, n apart, the k-th from its entry k + 1 on
    V *left_tau, *right_tau; // [n]
    V *x, *y, *y_last;       // [n]
};
// A = U B V^H; d and e get the diagonals of B.
template <class V>
LG_CALL void bidiagonal(const bidiagonal_space<V> &w, int n, typename traits<V>::real *d, typename traits<V>::real *e) {
    const int nb = side<V>::value;
    V *a = w.a, *x = w.x, *y = w.y, *last = w.y_last;
    for (int i = 0; i < n; i++) x[i] = last[i] = V(0);
    for (int k = 0; k < n; k++) {
        V *next = a + k * n, *r = w.right + k * n;
        const V *v = k > 0 ? next - n : x, *u = k > 0 ? r - n : x; // there is nothing to subtract at first
        const V yk = last[k], uk = u[k];
        for (int i = k; i < n; i++) next[i] = fnma_conj(x[i], uk, fnma_(v[i], yk, next[i]));
        w.left_tau[k] = reflector(next + k, n - k, d[k]);
        if (k + 1 == n) break;
        int j = k + 1;
        for (; j + nb <= n; j += nb) bidiagonal_columns<nb>(a, n, k, j, v, last, x, u, next, y);
        for (; j < n; j++) bidiagonal_columns<1>(a, n, k, j, v, last, x, u, next, y);
        const V t = conj_(w.left_tau[k]);
        for (j = k + 1; j < n; j++) {
            y[j] = y[j] * t;
            r[j] = conj_(a[j * n + k] - y[j]);
        }
        w.right_tau[k] = reflector(r + k + 1, n - k - 1, e[k]);
        V s(0);
        for (j = k + 1; j < n; j++) s = fma_(y[j], r[j], s);
        int i = k + 1;
        for (; i + nb <= n; i += nb) bidiagonal_rows<nb>(a, n, i, k + 1, r, next, w.right_tau[k], s, x);
        for (; i < n; i++) bidiagonal_rows<1>(a, n, i, k + 1, r, next, w.right_tau[k], s, x);
        V *swap = last;
        last = y, y = swap;
    }
}

// ---- QR iteration ---------------------------------------------------------------------------------------------------
// Every matrix works at its own last block [l, m] that has not split, as in ql_iteration().
template <class P> struct qr_window {
    typedef typename traits<P>::I I;
    I l, m;
    int from, to;
    P f, g;      // where the sweep begins
};
// Sets negligible e to zero, finds the windows and the shifts; false when all matrices are diagonal.
template <class P> LG_FN bool find_windows(const P *d, P *e, int top, qr_window<P> &q) {
    typedef typename traits<P>::I I;
    typedef spectral<typename traits<P>::scalar> S;
    const P floor(S::lift * S::eps * S::eps * S::eps);
    P dl(1), el(0), dm(0), dm1(0), em(1), least(1), most(1);
    q.l = I(0), q.m = I(0), q.from = q.to = 0;
    auto below = q.l != q.l; // whether e[i - 1] is there
    for (int i = 0; i < top; i++) {
        const P a = abs_(e[i]), di = abs_(d[i]), di1 = abs_(d[i + 1]);
        const auto here = a > fma_(P(S::eps), di + di1, floor);
        e[i] = select(here, e[i], P(0));
        const auto start = here & not_(below);
        q.l = select(start, I(i), q.l), dl = select(start, d[i], dl), el = select(start, e[i], el);
        least = select(start, di, least), most = select(start, di, most);
        q.m = select(here, I(i + 1), q.m);
        dm1 = select(here, di, dm1), dm = select(here, di1, dm), em = select(here, a, em);
        least = select(here, min_(least, di1), least), most = select(here, max_(most, di1), most);
        if (any(here)) q.to = i + 1;
        below = here;
    }
    if (q.to == 0) return false;
    const auto working = q.l < q.m;
    for (q.from = 0; !any(working & (q.l == I(q.from))); q.from++) {}
    // The smaller singular value of the last 2 x 2 block, over the larger one; none where the block is singular.
    const P a = dm1 + dm, b = dm1 - dm, g2 = em * em;
    const P larger = (sqrt_(fma_(a, a, g2)) + sqrt_(fma_(b, b, g2))) * P(0.5);
    P shift = min_(dm1, dm) * (max_(dm1, dm) / larger);
    const auto singular = least <= P(2 * S::eps) * most;
    const P safe = select(singular, P(1), dl);
    shift = select(singular, P(0), shift);
    const P f = (abs_(safe) - shift) * (copysign_(P(1), safe) + shift / safe);
    q.f = select(singular, dl, f), q.g = el;
    return true;
}
// One sweep from the top of the windows; rotations i turn columns i and i + 1, of v by cv, sv and of u by cu, su.
template <bool vectors, class P>
LG_FN void qr_sweep(P *d, P *e, const qr_window<P> &q, P *cu, P *su, P *cv, P *sv) {
    typedef typename traits<P>::I I;
    P f = q.f, g = q.g, di = d[q.from], ei = e[q.from];
    I at(q.from);
    for (int i = q.from; i < q.to; i++, at = at + I(1)) {
        const auto active = (at < q.m) & (at >= q.l);
        const auto inner = active & (at + I(1) < q.m);
        const P d1 = d[i + 1], e1 = e[i + 1];
        const rotation<P> right(f, g);
        if (i > q.from) e[i - 1] = select(active & (at > q.l), right.r, e[i - 1]);
        const P f2 = fma_(right.s, ei, right.c * di), e2 = fnma_(right.s, di, right.c * ei), d2 = right.c * d1;
        const rotation<P> left(f2, right.s * d1);
        const P f3 = fma_(left.s, d2, left.c * e2);
        d[i] = select(active, left.r, di);
        e[i] = select(active & not_(inner), f3, ei);
        di = select(active, fnma_(left.s, e2, left.c * d2), d1);
        f = select(active, f3, f), g = select(active, left.s * e1, g);
        ei = select(inner, left.c * e1, e1);
        if (vectors) {
            cv[i] = select(active, right.c, P(1)), sv[i] = select(active, right.s, P(0));
            cu[i] = select(active, left.c, P(1)), su[i] = select(active, left.s, P(0));
        }
    }
    d[q.to] = di;
}
// Diagonalises; e[n - 1] is workspace. u and v (with vectors) get the rotations. Returns 1 where it did not converge.
template <bool vectors, class P>
LG_CALL typename traits<P>::I qr_iteration(P *d, P *e, int n, const basis<P> &u, const basis<P> &v, sweeps<P> &ku,
                                           sweeps<P> &kv) {
    typedef typename traits<P>::I I;
    qr_window<P> q;
    int top = n - 1, left = sweeps_per_row * n;
    e[n - 1] = P(0);
    ku.count = ku.number = kv.count = kv.number = 0;
    bool more = false;
    for (; (more = find_windows(d, e, top, q)) && left > 0; left--) {
        const int at = ku.count * n;
        qr_sweep<vectors>(d, e, q, ku.c + at, ku.s + at, kv.c + at, kv.s + at);
        top = q.to;
        if (!vectors) continue;
        ku.from[ku.count] = kv.from[ku.count] = q.from;
        ku.to[ku.count] = kv.to[ku.count] = q.to;
        kv.count = ++ku.count;
        if (ku.count < kept_sweeps) continue;
        apply<true>(u, ku), apply<true>(v, kv);
        ku.number = kv.number += ku.count;
        ku.count = kv.count = 0;
    }
    if (vectors) apply<true>(u, ku), apply<true>(v, kv);
    return more ? select(q.l < q.m, I(1), I(0)) : I(0);
}

} // namespace
} // namespace lg
#endif
