// Eigenvalues and vectors of D + rho z z^T, D diagonal, for one matrix: W roots of the secular equation at a time.
//
// f(x) = 1/rho + sum_j z_j^2 / (d_j - x) has a root between neighbouring poles and one above the last. A step puts
// c + s / (d_k - x) + t / (d_k+1 - x) in the place of f, with the same value and first two derivatives: this converges
// cubically and from one side. Roots are kept as distances from the nearest pole, so that their distances from all
// poles are accurate, and the vectors are those of the z which has exactly these roots: they are orthogonal however
// close the roots are. References: C. F. Borges and W. B. Gragg, A parallel divide and conquer algorithm for the
// generalized real symmetric definite tridiagonal eigenproblem (1993); M. Gu and S. C. Eisenstat, SIAM J. Matrix Anal.
// Appl. 15 (1994) 1266.
#ifndef LINALGAD_COMPACT_SECULAR_HPP
#define LINALGAD_COMPACT_SECULAR_HPP

#include "blocked.hpp"

namespace lg {
namespace {

enum { SECULAR_STEPS = 40 }; // three or four suffice but for freaks

// Poles, ascending, and their weights z^2. A pole without weight follows, far enough above the last root.
template <class V> struct secular {
    typedef typename traits<V>::scalar T;
    static const int W = traits<V>::width;
    int n;
    T *pole, *weight; // [n + 1]
    T constant;       // 1/rho

    // The roots from `first` on; elements beyond the last root repeat it.
    LG_FN V gathered(const T *p, int first, int shift) const {
        V x;
        for (int l = 0; l < W; l++) x.r[l] = p[(first + l < n ? first + l : n - 1) + shift];
        return x;
    }
    // f(j, special) for all poles, `special` for those that lie beside one of the roots from `first` on
    template <class F> LG_FN void each_pole(int first, const F &f) const {
        const int end = first + W < n - 1 ? first + W + 1 : n;
        for (int j = 0; j < first; j++) f(j, false);
        for (int j = first; j < end; j++) f(j, true);
        for (int j = end; j < n; j++) f(j, false);
    }
};

// W roots, where they are, and the sums at these places over all poles but the two beside each root.
template <class V> struct roots {
    typedef typename traits<V>::scalar T;
    V number, left, right, left_weight, right_weight, gap;
    V origin, shift;                     // a root lies at origin + shift
    V below, above, slope, curvature;    // sums of z^2/g, those of either sign apart, z^2/g^2 and z^2/g^3, g = d_j - x
    V to_left, to_right;                 // g of the two

    LG_FN roots(const secular<V> &q, int first) {
        number = q.gathered(q.pole, first, 0);
        for (int l = 0; l < q.W; l++) number.r[l] = (T)(first + l < q.n ? first + l : q.n - 1);
        left = q.gathered(q.pole, first, 0);
        right = q.gathered(q.pole, first, 1);
        left_weight = q.gathered(q.weight, first, 0);
        right_weight = q.gathered(q.weight, first, 1);
        gap = right - left;
        origin = left;
        shift = gap * V(T(0.5));
    }

    // Sums at the present places; r[j] = 1 / (d_j - x).
    LG_CALL void sum(const secular<V> &q, int first, V *r) {
        const V o = origin, s = shift, one(T(1)), next = number + one, zero(T(0));
        V low(zero), high(zero), square(zero), cube(zero);
        q.each_pole(first, [&](int j, bool special) {
            const V p = one / ((V(q.pole[j]) - o) - s);
            r[j] = p;
            V t = V(q.weight[j]) * p;
            if (special) {
                const V index((T)j);
                t = select(not_((index == number) | (index == next)), t, zero);
                low = low + smaller_(t, zero);
                high = high + larger_(t, zero);
            } else if (j < first) {
                low = low + t;
            } else {
                high = high + t;
            }
            const V u = t * p;
            square = square + u;
            cube = fma_(u, p, cube);
        });
        below = low, above = high, slope = square, curvature = cube;
        to_left = (left - o) - s;
        to_right = (right - o) - s;
    }
    // s and t, without the weights of the two poles
    LG_FN void extra_weights(V &s, V &t) const {
        const V zero(T(0)), part = to_left * to_right / gap;
        s = larger_((curvature - slope / to_right) * (to_left * to_left) * part, zero);
        t = larger_((slope / to_left - curvature) * (to_right * to_right) * part, zero);
    }
    // From the middle between the poles: which one is nearer, and where the root is as seen from it.
    LG_FN void start(const secular<V> &q, V &low, V &high) {
        const V zero(T(0)), two(T(2)), four(T(4));
        V s, t;
        extra_weights(s, t);
        const V c = V(q.constant) + below + above - s / to_left - t / to_right;
        s = s + left_weight;
        t = t + right_weight;
        const auto at_left = V(q.constant) + below + above + left_weight / to_left + right_weight / to_right >= zero;
        // the smaller root of c y^2 - a y + b = 0 for the distance y from the nearer pole; from the right one, with -c
        const V e = select(at_left, c, -c), a = e * gap + s + t, b = select(at_left, s, t) * gap;
        const V root = sqrt_(larger_(a * a - four * e * b, zero));
        const V y = select(a > zero, two * b / (a + root), (a - root) / (two * e));
        const V half = gap * V(T(0.5));
        origin = select(at_left, left, right);
        low = select(at_left, zero, -half);
        high = select(at_left, half, zero);
        place(select(at_left, y, -y), low, high);
    }
    LG_FN void place(V x, V low, V high) {
        shift = select((x > low) & (x < high), x, (low + high) * V(T(0.5)));
    }
};

// The roots from `first` on, r[j] = 1 / (d_j - root); false if one was not found.
template <class V> LG_CALL bool find_roots(const secular<V> &q, int first, V *r, roots<V> &x) {
    typedef typename traits<V>::scalar T;
    const V zero(T(0)), two(T(2)), four(T(4)), eight(T(8));
    const V eps(from_bits(T(0), (typename bits<T>::I)(bits<T>::bias - bits<T>::mant - 1) << bits<T>::mant));
    V low, high;
    x.sum(q, first, r);
    x.start(q, low, high);
    auto done = zero > zero;
    for (int step = 0; step < SECULAR_STEPS; step++) {
        x.sum(q, first, r);
        const V left = x.left_weight / x.to_left, right = x.right_weight / x.to_right;
        const V f = ((V(q.constant) + x.below) + x.above) + (left + right);
        const V size = (x.above - x.below) + (right - left);
        const V steep = x.slope + left / x.to_left + right / x.to_right;
        done = done | (abs_(f) <= eps * (eight * size + V(q.constant) + abs_(x.shift) * steep));
        if (!any(not_(done))) return true;
        low = select(f > zero, low, x.shift);
        high = select(f > zero, x.shift, high);
        V s, t;
        x.extra_weights(s, t);
        const V c = V(q.constant) + x.below + x.above - s / x.to_left - t / x.to_right;
        const V a = c * (x.to_left + x.to_right) + (s + x.left_weight) + (t + x.right_weight);
        const V b = x.to_left * x.to_right * f;
        const V root = sqrt_(larger_(a * a - four * c * b, zero));
        const V y = select(a > zero, two * b / (a + root), (a - root) / (two * c));
        const V before = x.shift;
        x.place(before + y, low, high);
        // where rounding stops it, the last place is as good as any
        const auto still = abs_(x.shift - before) <= two * eps * abs_(before);
        x.shift = select(done | still, before, x.shift);
        done = done | still;
        if (!any(not_(done))) return true;
    }
    return false;
}

// Eigenvalues to w, ascending, and the vectors as columns of S = s[i * ld + k]: row i is entry index[i] of them, counted
// from 1. A row of s has room for whole packs.
template <class V>
LG_FN bool decompose(const secular<V> &q, const typename traits<V>::scalar *z, arena &ws, typename traits<V>::scalar *w,
                     typename traits<V>::scalar *s, ptrdiff_t ld, const int *index) {
    typedef typename traits<V>::scalar T;
    const int n = q.n, W = q.W;
    V *r = ws.take<V>((ptrdiff_t)n * packs_for(n, W)), *product = ws.take<V>(n);
    T *vector = ws.take<T>(n);
    const V one(T(1)), zero(T(0));
    for (int j = 0; j < n; j++) product[j] = one;
    for (int first = 0; first < n; first += W, r += n) {
        roots<V> x(q, first);
        if (!find_roots(q, first, r, x)) return false;
        const V root = x.origin + x.shift;
        const bool whole = first + W <= n;
        const auto there = counted<V>(first) < V((T)n);
        for (int l = 0; l < W && first + l < n; l++) w[first + l] = root.r[l];
        q.each_pole(first, [&](int j, bool special) {
            V f = r[j] * (V(q.pole[j]) - x.left);
            if (special) f = select(V((T)j) == x.number, r[j], f);
            if (!whole) f = select(there, f, one);
            product[j] = product[j] * f;
        });
    }
    for (int j = 0; j < n; j++) {
        T p = product[j].r[0];
        for (int l = 1; l < W; l++) p *= product[j].r[l];
        vector[j] = copysign_(sqrt_(T(-1) / p), z[j]);
    }
    r -= (ptrdiff_t)n * packs_for(n, W);
    for (int first = 0; first < n; first += W, r += n) {
        V sum(zero);
        for (int j = 0; j < n; j++) {
            r[j] = V(vector[j]) * r[j];
            sum = fma_(r[j], r[j], sum);
        }
        const V norm = one / sqrt_(sum);
        for (int i = 0; i < n; i++) alone<V>::store((char *)(s + i * ld + first), r[index[i] - 1] * norm);
    }
    return true;
}

} // namespace
} // namespace lg
#endif
