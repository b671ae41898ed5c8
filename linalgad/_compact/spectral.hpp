// What eigh and svd share: scaling, reflectors, plane rotations and their application to vectors, order, phases.
//
// Both reduce a matrix to a real tridiagonal or bidiagonal one, whose QR iteration is a chain of rotations that knows
// nothing of the vectors. The rotations of some sweeps are kept and then applied together, a few rows of the vectors
// at a time, so that these rows stay in the first cache. Complex matrices have complex reflectors and real rotations.
#ifndef LINALGAD_COMPACT_SPECTRAL_HPP
#define LINALGAD_COMPACT_SPECTRAL_HPP

#include "block.hpp"
#include "gather.hpp"

namespace lg {
namespace {

template <class T> struct spectral;
template <> struct spectral<double> {
    static constexpr double eps = 0x1p-53, lift = 1, unlift = 1; // half a unit in the last place
    static constexpr double near_pivot = (1 - 0x1p-26) * (1 - 0x1p-26); // (1 - gauge_tie)^2
    static constexpr double orthogonal = 0x1p-50, tiny_cosine = 0x1p-400;
    static constexpr double reach = 0x1p-500, most = 0x1p1023; // squares of entries below reach of the largest vanish
};
template <> struct spectral<float> {
    // Squares of single precision have little room below one, so a matrix is scaled to about 2^30.
    static constexpr float eps = 0x1p-24f, lift = 0x1p30f, unlift = 0x1p-30f;
    static constexpr float near_pivot = (1 - 3.4526698e-4f) * (1 - 3.4526698e-4f);
    static constexpr float orthogonal = 0x1p-21f, tiny_cosine = 0x1p-80f;
    static constexpr float reach = 0x1p-90f, most = 0x1p127f;
};
// sweeps allowed for each row; about two are usual
enum { sweeps_per_row = 30 };

// ---- plane rotations ------------------------------------------------------------------------------------------------
// 1 / sqrt(q) = y (1 + h), where y is near it. The chain of rotations waits for this, so where the processor offers 14
// bits of y, h is one step of fourth order (double) or third order (float), and numbers are multiplied by y meanwhile.
#ifdef LG_AVX512
template <class P> LG_FN P rsqrt_rest(P q, P y, double) {
    const P e = fnma_(q * y, y, P(1));
    return e * fma_(e, fma_(e, P(0.3125), P(0.375)), P(0.5));
}
template <class P> LG_FN P rsqrt_rest(P q, P y, float) {
    const P e = fnma_(q * y, y, P(1));
    return e * fma_(e, P(0.375f), P(0.5f));
}
LG_FN pack<double> rsqrt_near(pack<double> q) { return pack<double>::of(_mm512_rsqrt14_pd(q.r)); }
LG_FN pack<float> rsqrt_near(pack<float> q) { return pack<float>::of(_mm512_rsqrt14_ps(q.r)); }
LG_FN double rsqrt_near(double q) {
    const __m128d v = _mm_set_sd(q);
    return _mm_cvtsd_f64(_mm_rsqrt14_sd(v, v));
}
LG_FN float rsqrt_near(float q) {
    const __m128 v = _mm_set_ss(q);
    return _mm_cvtss_f32(_mm_rsqrt14_ss(v, v));
}
template <class P> struct rsqrt_times {
    P y, h;
    LG_FN explicit rsqrt_times(P q) : y(rsqrt_near(q)), h(rsqrt_rest(q, y, typename traits<P>::scalar())) {}
    LG_FN P operator()(P x) const { return fma_(x * y, h, x * y); }
};
#else
template <class P> struct rsqrt_times {
    P y;
    LG_FN explicit rsqrt_times(P q) : y(P(1) / sqrt_(q)) {}
    LG_FN P operator()(P x) const { return x * y; }
};
#endif
// c f + s g = r >= 0, c g - s f = 0. Pairs too small to be squared are dropped: c = 1, r = 0.
template <class P> struct rotation {
    P c, s, r;
    LG_FN rotation(P f, P g) {
        typedef bits<typename traits<P>::scalar> B;
        const P q = fma_(f, f, g * g);
        const auto some = q > P(B::square_tiny);
        const rsqrt_times<P> w(q);
        c = select(some, w(f), P(1)), s = select(some, w(g), P(0)), r = select(some, w(q), P(0));
    }
};

// ---- scaling --------------------------------------------------------------------------------------------------------
// Powers of two that bring the largest part of a matrix to about one (2^30 in single precision). A matrix with an
// infinity or NaN is replaced by zeros, which converge at once, and counts as failed.
// A matrix with entries that are not finite, or not zero but out of reach of the largest, goes to LAPACK.
template <class P> struct scaling {
    typedef spectral<typename traits<P>::scalar> S;
    P largest, smallest, poison;
    P up;
    typename traits<P>::M finite;
    LG_FN scaling() : largest(0), smallest(S::most), poison(0) {}
    LG_FN void see(P x) {
        const P size = abs_(x);
        largest = max_(largest, size), poison = fma_(x, P(0), poison);
        smallest = select((size < smallest) & not_(size == P(0)), size, smallest);
    }
    template <class Q> LG_FN void see(cx<Q> x) { see(x.re), see(x.im); }
    LG_FN void choose() { finite = poison == P(0), up = inverse_scale(largest); }
    LG_FN P operator()(P x) const {
        return select(finite, x * up * P(spectral<typename traits<P>::scalar>::lift), P(0));
    }
    template <class Q> LG_FN cx<Q> operator()(cx<Q> x) const { return {(*this)(x.re), (*this)(x.im)}; }
    LG_FN P back(P x) const { return x * P(spectral<typename traits<P>::scalar>::unlift) * inverse_power(up); }
    LG_FN typename traits<P>::I info() const {
        typedef typename traits<P>::I I;
        return select(finite & not_(smallest < largest * P(S::reach)), I(0), I(1));
    }
};

// ---- reflectors -----------------------------------------------------------------------------------------------------
// H = I - tau v v^H with v[0] = 1 and H^H x = beta e_0, beta real; v replaces x, its 1 stored. Where x is a multiple of
// e_0 up to what vanishes beside a matrix of norm one, tau is zero.
template <class P> LG_FN P reflector_scale(P alpha, P beta, P &tau) {
    tau = (beta - alpha) / beta;
    return P(1) / (alpha - beta);
}
template <class P> LG_FN cx<P> reflector_scale(cx<P> alpha, P beta, cx<P> &tau) {
    const P r = P(1) / beta, d = alpha.re - beta;
    tau = {(beta - alpha.re) * r, -(alpha.im * r)};
    const P w = P(1) / fma_(alpha.im, alpha.im, d * d);
    return {d * w, -(alpha.im * w)};
}
template <class V> LG_CALL V reflector(V *x, int n, typename traits<V>::real &beta) {
    typedef typename traits<V>::real P;
    typedef bits<typename traits<V>::scalar> B;
    P sum[4] = {P(0), P(0), P(0), P(0)};
    int i = 1;
    for (; i + 4 <= n; i += 4) LG_UNROLL for (int c = 0; c < 4; c++) sum[c] = add_abs2(x[i + c], sum[c]);
    for (; i < n; i++) sum[0] = add_abs2(x[i], sum[0]);
    const P rest = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    const V alpha = x[0];
    const P im = imag_(alpha), re = real_(alpha), off = fma_(im, im, rest);
    const auto some = off > P(B::square_tiny);
    const P norm = select(some, sqrt_(fma_(re, re, off)), P(1));
    beta = -copysign_(norm, re);
    V tau;
    V scale = reflector_scale(select(some, alpha, V(0)), beta, tau);
    beta = select(some, beta, re);
    tau = select(some, tau, V(0));
    scale = select(some, scale, V(0));
    x[0] = V(1);
    for (i = 1; i < n; i++) x[i] = x[i] * scale;
    return tau;
}
// A column of reflectors for back_transform(): v[k] + (k + shift) .. v[k] + rows.
template <class V> struct reflectors {
    V *p;
    int step, shift, count, rows; // reflector k begins at p + k step, and acts on rows k + shift and beyond
    const V *tau;
    LG_FN const V *at(int k) const { return p + k * (ptrdiff_t)step; } // its entry for row i is at(k)[i]
};
// NB columns q, stored by rows, become H_0 H_1 ... H_{count-1} q. A pass over q applies one reflector and takes the
// inner products with the next.
template <int NB, class V> LG_FN void back_transform(const reflectors<V> &h, V *q) {
    if (h.count == 0) return;
    V y[NB];
    int k = h.count - 1;
    const V *v = h.at(k);
    LG_UNROLL for (int j = 0; j < NB; j++) y[j] = V(0);
    for (int i = k + h.shift; i < h.rows; i++)
        LG_UNROLL for (int j = 0; j < NB; j++) y[j] = fma_conj(v[i], q[i * NB + j], y[j]);
    for (;; k--) {
        LG_UNROLL for (int j = 0; j < NB; j++) y[j] = y[j] * h.tau[k];
        const int top = k + h.shift;
        if (k == 0) {
            for (int i = top; i < h.rows; i++)
                LG_UNROLL for (int j = 0; j < NB; j++) q[i * NB + j] = fnma_(v[i], y[j], q[i * NB + j]);
            return;
        }
        const V *u = h.at(k - 1);
        V next[NB];
        LG_UNROLL for (int j = 0; j < NB; j++) next[j] = q[(top - 1) * NB + j];
        for (int i = top; i < h.rows; i++) {
            const V a = v[i], b = u[i];
            LG_UNROLL for (int j = 0; j < NB; j++) {
                const V x = fnma_(a, y[j], q[i * NB + j]);
                q[i * NB + j] = x;
                next[j] = fma_conj(b, x, next[j]);
            }
        }
        LG_UNROLL for (int j = 0; j < NB; j++) y[j] = next[j];
        v = u;
    }
}

// ---- vectors under rotation -----------------------------------------------------------------------------------------
// The real n x n matrix z, in blocks of `side` rows, the numbers of a column of a block
// together; it starts as the identity, of which the first sweeps touch only a growing part.
template <class P> struct basis {
    P *z;
    int n, side;
    LG_FN static int best_side(int n) { // least padding, then most rows
        int best = 4;
        for (int r = 3; r >= 2; r--)
            if ((n + r - 1) / r * r < (n + best - 1) / best * best) best = r;
        return best;
    }
    LG_FN static ptrdiff_t elements(ptrdiff_t n) { return n * (n + 3); }
    LG_FN int rows() const { return (n + side - 1) / side * side; }
    LG_FN P *block(int r) const { return z + (ptrdiff_t)r * n; } // r a multiple of side
    LG_FN P *row(int r) const { return block(r - r % side) + r % side; } // its columns are `side` apart
    LG_FN void identity() const {
        for (int i = 0; i < rows() * n; i++) z[i] = P(0);
        for (int i = 0; i < n; i++) row(i)[i * side] = P(1);
    }
};
enum { kept_sweeps = 4 };
template <class P> struct sweeps {
    P *c, *s; // [kept_sweeps][n]
    int from[kept_sweeps], to[kept_sweeps];
    int count, number; // kept now; applied before
};
template <int R, bool up, class P> LG_FN void rotate_block(P *z, const P *c, const P *s, int from, int to) {
    P h[R];
    const int first = up ? from : to;
    LG_UNROLL for (int r = 0; r < R; r++) h[r] = z[first * R + r];
    for (int step = from; step < to; step++) {
        const int i = up ? step : to - 1 - (step - from), other = up ? i + 1 : i, done = up ? i : i + 1;
        const P ci = c[i], si = s[i];
        LG_UNROLL for (int r = 0; r < R; r++) {
            const P x = z[other * R + r];
            z[done * R + r] = fma_(si, x, ci * h[r]);
            h[r] = fnma_(si, h[r], ci * x);
        }
    }
    const int last = up ? to : from;
    LG_UNROLL for (int r = 0; r < R; r++) z[last * R + r] = h[r];
}
// Rotation i turns columns i and i + 1; `up`: a sweep goes from i = from to i = to - 1, else back.
template <int R, bool up, class P> LG_CALL void apply_blocks(const basis<P> &b, const sweeps<P> &k) {
    for (int r = 0; r < b.n; r += R)
        for (int t = 0; t < k.count; t++) {
            const int age = k.number + t; // where the identity has not been reached, rotations do nothing
            int from = k.from[t], to = k.to[t];
            if (up && from < r - age - 1) from = r - age - 1;
            if (!up && to > r + R + age) to = r + R + age;
            if (from < to) rotate_block<R, up>(b.block(r), k.c + t * b.n, k.s + t * b.n, from, to);
        }
}
template <bool up, class P> LG_FN void apply(const basis<P> &b, const sweeps<P> &k) {
    if (b.side == 4)
        apply_blocks<4, up>(b, k);
    else if (b.side == 3)
        apply_blocks<3, up>(b, k);
    else
        apply_blocks<2, up>(b, k);
}

// ---- order and phase ------------------------------------------------------------------------------------------------
// Sorts w, stably; source[i] is the number that w[i] had.
template <bool descending, class P> LG_CALL void sort_values(P *w, typename traits<P>::I *source, int n) {
    typedef typename traits<P>::I I;
    for (int i = 0; i < n; i++) source[i] = I(i);
    for (int first = 0, quiet = 0; quiet < 2; first ^= 1) {
        bool swapped = false;
        for (int i = first; i + 1 < n; i += 2) {
            const P a = w[i], b = w[i + 1];
            const auto wrong = descending ? a < b : b < a;
            if (!any(wrong)) continue;
            swapped = true;
            const I p = source[i], q = source[i + 1];
            w[i] = select(wrong, b, a), w[i + 1] = select(wrong, a, b);
            source[i] = select(wrong, q, p), source[i + 1] = select(wrong, p, q);
        }
        quiet = swapped ? 0 : quiet + 1;
    }
}
// NB columns of the sorted basis, from column j, to the first rows of q
template <int NB, class V, class P>
LG_FN void take_columns(const basis<P> &b, const typename traits<P>::I *source, V *q) {
    typedef typename traits<P>::I I;
    typedef typename traits<P>::scalar T;
    I lane, at[NB];
    lane_number(lane);
    LG_UNROLL for (int j = 0; j < NB; j++) at[j] = source[j] * I(b.side * traits<P>::width) + lane;
    for (int i = 0; i < b.n; i++) {
        const T *row = (const T *)b.row(i);
        LG_UNROLL for (int j = 0; j < NB; j++) q[i * NB + j] = V(gather(row, at[j]));
    }
}
template <class P> LG_FN P unit_phase(P x) { return copysign_(P(1), x); }
template <class P> LG_FN cx<P> unit_phase(cx<P> x) {
    const P r = P(1) / sqrt_(add_abs2(x, P(0)));
    return {x.re * r, -(x.im * r)};
}
template <class P> LG_FN P drop_imag(typename traits<P>::M, P x) { return x; }
template <class P> LG_FN cx<P> drop_imag(typename traits<P>::M m, cx<P> x) { return {x.re, select(m, P(0), x.im)}; }
// Turns the columns of q so that the pivot entry of each (the first of nearly the largest modulus) is real and
// positive; `phase` gets the factors. Zeros come out positive, which rotations may not leave the same for every W.
template <int NB, class V> LG_FN void fix_phases(V *q, int rows, V (&phase)[NB]) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    P big[NB];
    LG_UNROLL for (int j = 0; j < NB; j++) big[j] = P(0);
    for (int i = 0; i < rows; i++)
        LG_UNROLL for (int j = 0; j < NB; j++) big[j] = max_(big[j], add_abs2(q[i * NB + j], P(0)));
    I at[NB];
    V pivot[NB];
    LG_UNROLL for (int j = 0; j < NB; j++) {
        big[j] = big[j] * P(spectral<typename traits<V>::scalar>::near_pivot);
        at[j] = I(0), pivot[j] = V(1);
    }
    for (int i = rows - 1; i >= 0; i--)
        LG_UNROLL for (int j = 0; j < NB; j++) {
            const V x = q[i * NB + j];
            const auto good = add_abs2(x, P(0)) >= big[j];
            pivot[j] = select(good, x, pivot[j]);
            if (traits<V>::parts == 2) at[j] = select(good, I(i), at[j]);
        }
    LG_UNROLL for (int j = 0; j < NB; j++) phase[j] = unit_phase(pivot[j]);
    for (int i = 0; i < rows; i++)
        LG_UNROLL for (int j = 0; j < NB; j++)
            q[i * NB + j] = drop_imag(at[j] == I(i), q[i * NB + j] * phase[j]) + V(0);
}

} // namespace
} // namespace lg
#endif
