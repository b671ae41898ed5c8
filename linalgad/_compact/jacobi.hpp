// The smallest decompositions by Jacobi's method, N known to the compiler: rotations of the columns of an N x N matrix
// for the SVD, of rows and columns for eigh. Rotations of disjoint pairs run side by side, where a QR iteration is one
// chain. Singular values of a matrix whose columns differ by orders of magnitude come out to high relative accuracy.
#ifndef LINALGAD_COMPACT_JACOBI_HPP
#define LINALGAD_COMPACT_JACOBI_HPP

#include "spectral.hpp"

namespace lg {
namespace {

enum { jacobi_sweeps = 30, jacobi_most = 4 };

// x + y s and x - y s for real s
template <class P> LG_FN P add_scaled(P x, P y, P s) { return fma_(y, s, x); }
template <class P> LG_FN P sub_scaled(P x, P y, P s) { return fnma_(y, s, x); }
template <class P> LG_FN cx<P> add_scaled(cx<P> x, cx<P> y, P s) { return {fma_(y.re, s, x.re), fma_(y.im, s, x.im)}; }
template <class P> LG_FN cx<P> sub_scaled(cx<P> x, cx<P> y, P s) {
    return {fnma_(y.re, s, x.re), fnma_(y.im, s, x.im)};
}
// |z| and conj(z) / |z|; one for z = 0
template <class P> LG_FN P polar(P z, P &unit) {
    unit = P(1);
    return z; // a real rotation takes the sign of z itself
}
template <class P> LG_FN P polar(cx<P> z, cx<P> &unit) {
    const P q = add_abs2(z, P(0));
    const auto some = q > P(spectral<typename traits<P>::scalar>::tiny_cosine);
    const rsqrt_times<P> w(q);
    unit = {select(some, w(z.re), P(1)), select(some, -w(z.im), P(0))};
    return select(some, w(q), P(0));
}
// The smaller of the two angles with tan 2 theta = y / x
template <class P> LG_FN void jacobi_angle(P x, P y, typename traits<P>::M turn, P &c, P &s) {
    const rsqrt_times<P> h(select(turn, fma_(x, x, y * y), P(1)));
    const P c2 = fma_(h(abs_(x)), P(0.5), P(0.5));
    const rsqrt_times<P> r(c2);
    c = select(turn, r(c2), P(1)), s = select(turn, r(h(y)) * copysign_(P(0.5), x), P(0));
}
// Calls f(p, q) for every pair, disjoint ones after each other.
template <int N, class F> LG_FN void jacobi_pairs(const F &f) {
    if (N == 2) f(0, 1);
    if (N == 3) LG_UNROLL for (int t = 0; t < 3; t++) f(t == 2, t == 0 ? 1 : 2);
    if (N == 4)
        LG_UNROLL for (int t = 0; t < 3; t++) {
            f(0, t + 1);
            f(t == 0 ? 2 : 1, t == 2 ? 2 : 3);
        }
}
// Makes columns p and q of w orthogonal where they are not, with the same rotation of v.
template <int N, class V>
LG_FN void jacobi_pair(V *w, V *v, int p, int q, typename traits<V>::real floor, typename traits<V>::M &turned) {
    typedef typename traits<V>::real P;
    typedef spectral<typename traits<V>::scalar> S;
    P alpha(0), beta(0);
    V gamma(0);
    LG_UNROLL for (int i = 0; i < N; i++) {
        alpha = add_abs2(w[p * N + i], alpha), beta = add_abs2(w[q * N + i], beta);
        gamma = fma_conj(w[p * N + i], w[q * N + i], gamma);
    }
    const auto there = (alpha > floor) & (beta > floor);
    const rsqrt_times<P> ra(select(there, alpha, P(1))), rb(select(there, beta, P(1)));
    const P scale = rb(ra(P(1)));
    const V cosine = scale_(gamma, scale);
    const auto turn = there & (add_abs2(cosine, P(0)) > P(S::orthogonal * S::orthogonal));
    turned = turned | turn;
    if (!any(turn)) return;
    V unit;
    const P size = polar(cosine, unit);
    P c, s;
    jacobi_angle((beta - alpha) * scale, size + size, turn, c, s);
    unit = select(turn, unit, V(1));
    LG_UNROLL for (int k = 0; k < 2; k++) {
        V *z = k == 0 ? w : v;
        LG_UNROLL for (int i = 0; i < N; i++) {
            const V a = z[p * N + i], b = traits<V>::parts == 2 ? z[q * N + i] * unit : z[q * N + i];
            z[p * N + i] = sub_scaled(scale_(a, c), b, s);
            z[q * N + i] = add_scaled(scale_(b, c), a, s);
        }
    }
}
// Orders columns p and p + 1 of v, and of w if given, by falling s.
template <int N, class V> LG_FN void jacobi_order(V *w, V *v, typename traits<V>::real *s, int p) {
    typedef typename traits<V>::real P;
    const auto wrong = s[p] < s[p + 1];
    const P t = s[p];
    s[p] = select(wrong, s[p + 1], t), s[p + 1] = select(wrong, t, s[p + 1]);
    LG_UNROLL for (int k = 0; k < 2 * N; k++) {
        if (k < N && !w) continue;
        V *x = k < N ? w + p * N + k : v + p * N + k - N;
        const V y = *x;
        *x = select(wrong, x[N], y), x[N] = select(wrong, y, x[N]);
    }
}
// Where `absent`, column j becomes a unit vector orthogonal to the columns before it.
template <int N, class V> LG_CALL void jacobi_complete(V *u, int j, typename traits<V>::M absent) {
    typedef typename traits<V>::real P;
    V x[N];
    P best(-1);
    for (int k = 0; k < N; k++) { // the coordinate vector farthest from those columns
        P rest(1);
        for (int c = 0; c < j; c++) rest = sub_abs2(u[c * N + k], rest);
        const auto better = rest > best;
        best = select(better, rest, best);
        for (int i = 0; i < N; i++) x[i] = select(better, V(i == k), x[i]);
    }
    for (int twice = 0; twice < 2; twice++)
        for (int c = 0; c < j; c++) {
            V dot(0);
            for (int i = 0; i < N; i++) dot = fma_conj(u[c * N + i], x[i], dot);
            for (int i = 0; i < N; i++) x[i] = fnma_(u[c * N + i], dot, x[i]);
        }
    P sum(0);
    for (int i = 0; i < N; i++) sum = add_abs2(x[i], sum);
    const P r = P(1) / sqrt_(sum);
    for (int i = 0; i < N; i++) u[j * N + i] = select(absent, scale_(x[i], r), u[j * N + i]);
}
// w (by columns) becomes u, with w = u diag(s) v^H, s falling. Returns 1 where it did not converge.
template <int N, class V>
LG_CALL typename traits<V>::I jacobi_svd(V *w, V *v, typename traits<V>::real *s) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    typedef spectral<typename traits<V>::scalar> S;
    P whole(0);
    LG_UNROLL for (int i = 0; i < N * N; i++) {
        whole = add_abs2(w[i], whole);
        v[i] = V(i % (N + 1) == 0);
    }
    const P floor = max_(whole * P(S::eps * S::eps) * P(S::eps * S::eps),
                         P(bits<typename traits<V>::scalar>::square_tiny));
    auto turned = whole != whole;
    for (int left = jacobi_sweeps; left > 0; left--) {
        turned = whole != whole;
        jacobi_pairs<N>([&](int p, int q) { jacobi_pair<N>(w, v, p, q, floor, turned); });
        if (!any(turned)) break;
    }
    LG_UNROLL for (int j = 0; j < N; j++) {
        P sum(0);
        LG_UNROLL for (int i = 0; i < N; i++) sum = add_abs2(w[j * N + i], sum);
        s[j] = sqrt_(sum);
    }
    LG_UNROLL for (int t = N - 1; t > 0; t--) LG_UNROLL for (int p = 0; p < t; p++) jacobi_order<N>(w, v, s, p);
    LG_UNROLL for (int j = 0; j < N; j++) {
        const auto absent = not_(s[j] * s[j] > floor);
        const P r = P(1) / select(absent, P(1), s[j]);
        LG_UNROLL for (int i = 0; i < N; i++) w[j * N + i] = scale_(w[j * N + i], r);
        if (any(absent)) jacobi_complete<N>(w, j, absent);
    }
    return select(turned, I(1), I(0));
}

// ---- eigh -----------------------------------------------------------------------------------------------------------
// Makes a(p, q) and a(q, p) zero where they are not negligible, with the same rotation of v.
template <int N, class V>
LG_FN void jacobi_turn(V *a, V *v, int p, int q, typename traits<V>::real floor, typename traits<V>::M &turned) {
    typedef typename traits<V>::real P;
    const P alpha = real_(a[p * N + p]), beta = real_(a[q * N + q]);
    const V gamma = a[q * N + p];
    const auto turn = add_abs2(gamma, P(0)) > floor;
    turned = turned | turn;
    if (!any(turn)) return;
    V unit;
    const P size = polar(gamma, unit);
    P c, s;
    jacobi_angle(beta - alpha, size + size, turn, c, s);
    unit = select(turn, unit, V(1));
    const P shift = size * (s / c);
    a[p * N + p] = V(select(turn, alpha - shift, alpha)), a[q * N + q] = V(select(turn, beta + shift, beta));
    a[q * N + p] = select(turn, V(0), gamma), a[p * N + q] = select(turn, V(0), a[p * N + q]);
    LG_UNROLL for (int k = 0; k < 2 * N; k++) {
        if (k == p || k == q) continue;
        V *z = k < N ? a : v;
        const int i = k < N ? k : k - N;
        const V x = z[p * N + i], y = traits<V>::parts == 2 ? z[q * N + i] * unit : z[q * N + i];
        z[p * N + i] = sub_scaled(scale_(x, c), y, s);
        z[q * N + i] = add_scaled(scale_(y, c), x, s);
        if (k < N) a[i * N + p] = conj_(a[p * N + i]), a[i * N + q] = conj_(a[q * N + i]);
    }
}
// a (by columns, its lower triangle given) = v diag(d) v^H, d rising. Returns 1 where it did not converge.
template <int N, class V> LG_CALL typename traits<V>::I jacobi_eigh(V *a, V *v, typename traits<V>::real *d) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    typedef spectral<typename traits<V>::scalar> S;
    P whole(0);
    LG_UNROLL for (int j = 0; j < N; j++) LG_UNROLL for (int i = 0; i < N; i++) {
        if (i < j) a[j * N + i] = conj_(a[i * N + j]);
        whole = add_abs2(a[j * N + i], whole);
        v[j * N + i] = V(i == j);
    }
    const P floor = max_(whole * P(S::eps * S::eps / 4), P(bits<typename traits<V>::scalar>::square_tiny));
    auto turned = whole != whole;
    for (int left = jacobi_sweeps; left > 0; left--) {
        turned = whole != whole;
        jacobi_pairs<N>([&](int p, int q) { jacobi_turn<N>(a, v, p, q, floor, turned); });
        if (!any(turned)) break;
    }
    LG_UNROLL for (int j = 0; j < N; j++) d[j] = -real_(a[j * N + j]);
    LG_UNROLL for (int t = N - 1; t > 0; t--)
        LG_UNROLL for (int p = 0; p < t; p++) jacobi_order<N>((V *)nullptr, v, d, p);
    LG_UNROLL for (int j = 0; j < N; j++) d[j] = -d[j];
    return select(turned, I(1), I(0));
}

} // namespace
} // namespace lg
#endif
