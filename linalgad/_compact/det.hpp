// Determinants from the pivots of LU: their product over the whole range of exponents, its sign and its logarithm.
#ifndef LINALGAD_COMPACT_DET_HPP
#define LINALGAD_COMPACT_DET_HPP

#include "lu.hpp"

namespace lg {
namespace {

// det = m 2^e, whatever the sizes of the pivots: |m| is between 1 and 2, zero or not finite, or m is plain and e 0
template <class V> struct scaled_number {
    V m;
    typename traits<V>::I e;
};
// +1 or -1 for step i; as a complex number, so that no negative zero comes of it
template <class V, class P> LG_FN V pivot_sign(int i, const P *swap) {
    typedef typename traits<P>::scalar T;
    return V(select(swap[i] == P(T(i)), P(1), P(-1)));
}
// The product y of n pivots, pivot(i) being the i-th. Returns where no partial product comes near the ends of the range.
template <class F, class P, class V> LG_FN auto pivot_product(const F &pivot, int n, const P *swap, V &y) {
    typedef bits<typename traits<V>::scalar> B;
    y = V(1);
    auto plain = P(0) == P(0);
    for (int i = 0; i < n; i++) {
        y = y * pivot(i) * pivot_sign<V>(i, swap);
        const P size = absmax_(y);
        plain = plain & (size >= P(B::plain_tiny)) & (size <= P(B::plain_huge));
    }
    return plain;
}
// y with its exponent apart, where neither it nor its reciprocal leaves the range
template <class V> LG_FN scaled_number<V> normalized(V y) {
    typedef typename traits<V>::I I;
    const auto one = inverse_scale(absmax_(y));
    return {scale_(y, one), I(0) - exponent(one)};
}
// The same number as split() and log_modulus() take it: squares of its parts are in range.
template <class P> LG_FN scaled_number<P> within_range(const scaled_number<P> &d) { return d; }
template <class P> LG_FN scaled_number<cx<P>> within_range(const scaled_number<cx<P>> &d) {
    const scaled_number<cx<P>> n = normalized(d.m);
    return {n.m, n.e + d.e};
}
// Where products are plain, scaling by powers of two would change no bit.
template <class F, class P> LG_FN auto lu_determinant(const F &pivot, int n, const P *swap) {
    typedef decltype(pivot(0)) V;
    typedef typename traits<V>::I I;
    V y;
    const auto plain = pivot_product(pivot, n, swap, y);
    const scaled_number<V> d = {y, I(0)};
    if (!any(not_(plain))) return d;
    scaled_number<V> e = {V(1), I(0)};
    for (int i = 0; i < n; i++) {
        const P s = inverse_scale(absmax_(pivot(i)));
        y = e.m * scale_(pivot(i), s) * pivot_sign<V>(i, swap);
        const P r = inverse_scale(absmax_(y));
        e.m = scale_(y, r);
        e.e = e.e - exponent(s) - exponent(r);
    }
    return scaled_number<V>{select(plain, d.m, e.m), select(plain, d.e, e.e)};
}
// Where some pivot is zero or as small as what underflows.
template <class F> LG_FN auto vanishing(const F &pivot, int n) {
    typedef decltype(absmax_(pivot(0))) P;
    auto gone = P(0) != P(0);
    for (int i = 0; i < n; i++) gone = gone | (absmax_(pivot(i)) < P(bits<typename traits<P>::scalar>::plain_tiny));
    return gone;
}
// 1 where the elimination, which may multiply n quotients of entries, can form such a pivot of other numbers.
template <class A> LG_FN auto may_vanish(const A &a, int n) {
    typedef decltype(abs1_(a(0, 0))) P;
    typedef bits<typename traits<P>::scalar> B;
    P least = P(B::entry_huge), most = P(0), product = P(1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const P x = abs1_(a(i, j));
            least = select((x > P(0)) & (x < least), x, least);
            most = larger_(most, x);
        }
    for (int i = 0; i < n; i++) product = product * (least / most);
    return select(product < P(B::plain_tiny), typename traits<P>::I(1), typename traits<P>::I(0));
}
// The sign and the modulus of m; the sign of zero is zero.
template <class P> LG_FN P split(const scaled_number<P> &d, P &size) {
    size = abs_(d.m);
    return select(size > P(0), copysign_(P(1), d.m), size); // NaN stays
}
template <class P> LG_FN cx<P> split(const scaled_number<cx<P>> &d, P &size) {
    size = sqrt_(add_abs2(d.m, P(0)));
    return select(size == P(0), cx<P>(0), scale_(d.m, P(1) / size));
}
// log(size 2^e), the size being a normal number, zero or not finite. With size = m 2^k, m between sqrt(1/2) and sqrt(2),
// and s = (m - 1) / (m + 1): log m = 2 artanh s = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), where 2 s = (m - 1) (1 - s).
template <class P> LG_FN P log_modulus(P size, typename traits<P>::I e) {
    typedef typename traits<P>::I I;
    typedef typename traits<P>::scalar T;
    typedef bits<T> B;
    // adding what is between the least m and 1 makes the exponent k
    const I least = as_bits(P(B::sqrt_half)), moved = as_bits(nan_to_inf(size)) + (as_bits(P(1)) - least);
    const P m = from_bits(size, (moved & I(~(B::sign | B::exp))) + least);
    const P f = m - P(1), s = f / (f + P(2)), z = s * s;
    P series = P(0);
    LG_UNROLL for (int k = B::log_terms; k > 0; k--) series = fma_(series, z, P(T(2) / T(2 * k + 1)));
    const P power = to_real(size, e + exponent(from_bits(size, moved)));
    const P y = power * P(B::log2_high) - ((s * (f - z * series) - power * P(B::log2_low)) - f);
    return select(size == P(0), -infinity<P>(), select(size < infinity<P>(), y, size));
}

// The sign of a determinant; log|det| to `logarithm`.
template <class V, class P> LG_FN V sign_and_logarithm(const scaled_number<V> &det, P &logarithm) {
    const scaled_number<V> d = within_range(det);
    P size;
    const V sign = split(d, size);
    logarithm = log_modulus(size, d.e);
    return sign;
}

// 1 where an entry is so large or small that products within the elimination may leave the range although the
// determinant does not, or is not finite; the LAPACK lane scales such matrices. Zeros are fine, but few.
template <class A> LG_FN auto badly_scaled(const A &a, int m, int n) {
    typedef decltype(abs1_(a(0, 0))) P;
    typedef typename traits<P>::I I;
    typedef bits<typename traits<P>::scalar> B;
    P sum = P(0), least = P(B::entry_huge);
    LG_UNROLL for (int i = 0; i < m; i++) LG_UNROLL for (int j = 0; j < n; j++) {
        const P x = abs1_(a(i, j));
        sum = sum + x; // bounds the largest, and keeps NaN
        least = smaller_(least, x);
    }
    auto fine = (sum <= P(B::entry_huge)) & (least >= P(B::entry_tiny));
    if (!any(not_(fine))) return I(0);
    fine = P(0) == P(0);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const P x = abs1_(a(i, j));
            fine = fine & (x <= P(B::entry_huge)) & ((x >= P(B::entry_tiny)) | (x == P(0)));
        }
    return select(fine, I(0), I(1));
}

} // namespace
} // namespace lg
#endif
