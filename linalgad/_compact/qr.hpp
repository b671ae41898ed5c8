// Householder QR of an m x n matrix in each SIMD element, with LAPACK's signs: H = I - tau v v^H, v(0) = 1, the diagonal
// of R real.
#ifndef LINALGAD_COMPACT_QR_HPP
#define LINALGAD_COMPACT_QR_HPP

#include "block.hpp"

namespace lg {
namespace {

// Sum of |x(i)|^2 over rows 1 .. len - 1 of a column, in four parts to shorten the chain of additions.
template <class V> LG_FN typename traits<V>::real tail_squares(tile<V> x, int len) {
    typedef typename traits<V>::real P;
    P sum[4] = {P(0), P(0), P(0), P(0)};
    int i = 1;
    for (; i + 4 <= len; i += 4) LG_UNROLL for (int c = 0; c < 4; c++) sum[c] = add_abs2(x(i + c, 0), sum[c]);
    for (; i < len; i++) sum[0] = add_abs2(x(i, 0), sum[0]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Overwrites the column x of `len` numbers with beta and v(1) .. v(len - 1); returns tau, zero where the column already
// is beta times the first unit vector.
template <class V> LG_CALL V make_reflector(tile<V> x, int len) {
    typedef typename traits<V>::real P;
    typedef bits<typename traits<V>::scalar> B;
    if (len == 1 && traits<V>::parts == 1) return V(0);
    V alpha = x(0, 0);
    P s = P(1), tail = tail_squares(x, len);
    auto turned = not_(tail == P(0));
    const auto doubtful = not_((tail >= P(B::square_tiny)) & (add_abs2(alpha, tail) <= P(B::square_huge)));
    if (any(doubtful)) { // squares may have overflowed or vanished: scale those columns by a power of two
        P most = P(0);
        for (int i = 1; i < len; i++) most = max_(most, absmax_(x(i, 0)));
        turned = not_(most == P(0)) | turned;
        s = select(doubtful, inverse_scale(max_(most, absmax_(alpha))), P(1));
        // In place, since s times the reciprocal below overflows for subnormal columns.
        for (int i = 1; i < len; i++) x(i, 0) = scale_(x(i, 0), s);
        tail = tail_squares(x, len);
        alpha = scale_(alpha, s);
    }
    turned = turned | not_(imag_(alpha) == P(0)) | not_(tail == tail);
    const P beta = -copysign_(sqrt_(add_abs2(alpha, tail)), real_(alpha));
    const V shifted = alpha - V(beta);
    const V inv = select(turned, recip_(select(turned, shifted, V(1))), V(0));
    x(0, 0) = select(turned, V(beta * inverse_power(s)), x(0, 0));
    for (int i = 1; i < len; i++) x(i, 0) = x(i, 0) * inv;
    return select(turned, scale_(-shifted, P(1) / select(turned, beta, P(1))), V(0));
}

// b -= factor v (v^H b) for NB columns
template <int NB, class V> LG_FN void reflect_block(tile<V> v, int len, V factor, tile<V> b) {
    V w[NB];
    LG_UNROLL for (int c = 0; c < NB; c++) w[c] = b(0, c);
    for (int i = 1; i < len; i++) {
        const V y = v(i, 0);
        LG_UNROLL for (int c = 0; c < NB; c++) w[c] = fma_conj(y, b(i, c), w[c]);
    }
    LG_UNROLL for (int c = 0; c < NB; c++) {
        w[c] = w[c] * factor;
        b(0, c) = b(0, c) - w[c];
    }
    for (int i = 1; i < len; i++) {
        const V y = v(i, 0);
        LG_UNROLL for (int c = 0; c < NB; c++) b(i, c) = fnma_(y, w[c], b(i, c));
    }
}
template <class V> LG_CALL void reflect(tile<V> v, int len, V factor, tile<V> b, int n) {
    const int nb = side<V>::value;
    int j = 0;
    for (; j + nb <= n; j += nb) reflect_block<nb>(v, len, factor, b.at(0, j));
    if (nb > 3 && n - j == 3)
        reflect_block<3>(v, len, factor, b.at(0, j));
    else if (nb > 2 && n - j == 2)
        reflect_block<2>(v, len, factor, b.at(0, j));
    else if (n - j == 1)
        reflect_block<1>(v, len, factor, b.at(0, j));
}

// Overwrites a with R and the reflectors below it; tau gets their min(m, n) factors. As LAPACK's geqrf.
template <class V> LG_CALL void qr(tile<V> a, int m, int n, V *tau) {
    for (int k = 0; k < n && k < m; k++) {
        tau[k] = make_reflector(a.at(k, k), m - k);
        reflect(a.at(k, k), m - k, conj_(tau[k]), a.at(k, k + 1), n - k - 1);
    }
}
// q (m x columns) = the first columns of the product of count reflectors, as LAPACK's orgqr; count <= columns <= m.
template <class V> LG_CALL void qr_form(tile<V> a, const V *tau, int m, int count, tile<V> q, int columns) {
    for (int i = 0; i < m; i++)
        for (int j = count; j < columns; j++) q(i, j) = V(i == j);
    for (int k = count - 1; k >= 0; k--) {
        for (int j = k + 1; j < columns; j++) q(k, j) = V(0);
        reflect(a.at(k, k), m - k, tau[k], q.at(k, k + 1), columns - k - 1);
        for (int i = 0; i < k; i++) q(i, k) = V(0);
        q(k, k) = V(1) - tau[k];
        for (int i = k + 1; i < m; i++) q(i, k) = -(a(i, k) * tau[k]);
    }
}
// r (rows x n) = the triangle of a
template <class V> LG_FN void qr_triangle(tile<V> a, tile<V> r, int rows, int n) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) r(i, j) = j < i ? V(0) : a(i, j);
}
// Makes the diagonal of r, which is real, not negative: row i of r turns with column i of q.
template <class V> LG_FN void qr_turn(tile<V> r, int rows, int n, tile<V> q, int m) {
    typedef typename traits<V>::real P;
    for (int i = 0; i < rows && i < n; i++) {
        const P sign = select(real_(r(i, i)) < P(0), P(-1), P(1));
        for (int j = i; j < n; j++) r(i, j) = scale_(r(i, j), sign);
        for (int j = 0; j < m; j++) q(j, i) = scale_(q(j, i), sign);
    }
}

} // namespace
} // namespace lg
#endif
