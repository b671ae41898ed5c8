// Determinants of order 2 and 3 without the pivots and quotients that LU forms for larger ones.
//
// A function sets y to the determinant and returns where it is plain: no partial result has left the range of the
// numbers, and the error is of the size of that of elimination with partial pivoting. Elsewhere y is not defined.
#ifndef LINALGAD_COMPACT_DET_SMALL_HPP
#define LINALGAD_COMPACT_DET_SMALL_HPP

#include "lu.hpp"

namespace lg {
namespace {

// Whether minors come out with a small relative error.
template <class V> constexpr bool exact_minors = fused && traits<V>::parts == 1;
// a d - b c. Kahan's form for real numbers has a relative error of at most two roundings, however much cancels; the
// other has that error relative to |a d| + |b c|, as elimination has.
template <class V> LG_FN V difference_of_products(V a, V d, V b, V c) {
    if constexpr (exact_minors<V>) {
        const V w = b * c;
        return fma_(a, d, -w) + fnma_(b, c, w);
    } else {
        return fnma_(b, c, a * d);
    }
}

// Complex matrices may have real determinants: the sign of a zero must not depend on which function finds it.
template <class V> LG_FN V without_negative_zeros(V x) { return x; }
template <class P> LG_FN cx<P> without_negative_zeros(cx<P> x) { return {x.re + P(0), x.im + P(0)}; }

template <class V> LG_FN V expansion(const V (&x)[2][2]) {
    return without_negative_zeros(difference_of_products(x[0][0], x[1][1], x[0][1], x[1][0]));
}
template <class V> LG_FN auto determinant(const V (&x)[2][2], V &y) {
    typedef bits<typename traits<V>::scalar> B;
    typedef typename traits<V>::real P;
    y = expansion(x);
    const P size = abs1_(y), product = abs1_(x[0][1] * x[1][0]);
    const auto in_range = (size >= P(B::plain_tiny)) & (size <= P(B::plain_huge));
    // zero is plain where the products that cancel are
    return in_range | ((size <= P(0)) & (product >= P(B::plain_tiny)) & (product <= P(B::plain_huge)));
}

// The sum of the entries of the first row, each times minor(a, d, b, c) of the rows below.
template <class V, class F> LG_FN V along_first_row(const V (&x)[3][3], const F &minor) {
    V y = x[0][0] * minor(x[1][1], x[2][2], x[1][2], x[2][1]);
    y = fma_(x[0][1], minor(x[1][2], x[2][0], x[1][0], x[2][2]), y);
    return fma_(x[0][2], minor(x[1][0], x[2][1], x[1][1], x[2][0]), y);
}
template <class V> LG_FN V expansion(const V (&x)[3][3]) {
    return without_negative_zeros(along_first_row(x, difference_of_products<V>));
}
// As Kahan's minors come out with a small relative error, so small are the changes of the first row that would explain
// the error of the sum. The others' errors are relative to the sum without cancellation, the permanent of the moduli:
// where the determinant is at least a 64th of that, they are no larger than those of elimination.
template <class V> LG_FN auto expand(const V (&x)[3][3], V &y) {
    typedef bits<typename traits<V>::scalar> B;
    typedef typename traits<V>::real P;
    y = expansion(x);
    P size[3][3];
    LG_UNROLL for (int i = 0; i < 3; i++)
        LG_UNROLL for (int j = 0; j < 3; j++) size[i][j] = abs1_(x[i][j]);
    const P most = size[0][0] + size[0][1] + size[0][2], all = abs1_(y);
    // a minor that underflows has lost no more than the last bit of the smallest number, which its entry multiplies
    auto plain = (all >= P(B::plain_tiny) * larger_(P(1), most)) & (all <= P(B::plain_huge));
    if constexpr (!exact_minors<V>)
        plain = plain & (all >= P(0x1p-6) * along_first_row(size, [](P a, P d, P b, P c) { return fma_(a, d, b * c); }));
    return plain;
}
// One step of elimination.
template <class V> LG_FN auto eliminate(const V (&x)[3][3], V &y) {
    typedef bits<typename traits<V>::scalar> B;
    typedef typename traits<V>::real P;
    V p[3], q[3], r[3];
    const P first = abs1_(x[0][0]), second = abs1_(x[1][0]), third = abs1_(x[2][0]);
    const auto lower = second > first;
    const auto lowest = third > larger_(first, second);
    P sum = P(0);
    LG_UNROLL for (int j = 0; j < 3; j++) {
        p[j] = x[0][j], q[j] = x[1][j], r[j] = x[2][j];
        sum = sum + abs1_(p[j]) + abs1_(q[j]) + abs1_(r[j]);
        exchange(lower, p[j], q[j]);
        exchange(lowest, p[j], r[j]);
    }
    const V reciprocal = recip_(p[0]), l = q[0] * reciprocal, m = r[0] * reciprocal;
    y = p[0] * difference_of_products(fnma_(l, p[1], q[1]), fnma_(m, p[2], r[2]), fnma_(l, p[2], q[2]),
                                      fnma_(m, p[1], r[1]));
    y = without_negative_zeros(scale_(y, select(lower, P(-1), P(1)) * select(lowest, P(-1), P(1))));
    const P size = abs1_(y);
    return (size >= P(B::plain_tiny)) & (size >= sum * sum * sum * P(B::cube_tiny)) & (size <= P(B::plain_huge));
}
template <class V> LG_FN auto determinant(const V (&x)[3][3], V &y) {
    auto plain = expand(x, y);
    if constexpr (!exact_minors<V>)
        if (any(not_(plain))) {
            V z;
            const auto eliminated = eliminate(x, z);
            y = select(plain, y, z);
            plain = plain | eliminated;
        }
    return plain;
}

// Whether many determinants are plain, in fewer operations than determinant() takes and more strictly: their moduli are
// between the square roots of the smallest and of the largest number, by their exponents as integers, and the squares of a
// first row are so small that what minors lose does not show in the least of such determinants.
// For packs alone, whose integers wrap around.
template <class T> LG_FN pack<T> signed_size(pack<T> x) { return x; } // the test does not see the sign
template <class P> LG_FN P signed_size(cx<P> x) { return abs1_(x); }
template <int N, class V> struct plain_test {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    typedef bits<typename traits<V>::scalar> B;
    static constexpr bool exists = N == 2 || exact_minors<V>;
    // An exponent is in the second or third quarter if adding a quarter takes it to the upper half.
    static constexpr typename B::I quarter = ((typename B::I)1 << B::mant) * ((B::bias + 1) / 2);
    // expand() wants plain_tiny times the sum of the row, at most twice the root of this, below the square root of tiny
    static constexpr typename traits<V>::scalar row_huge = B::tiny / B::plain_tiny / B::plain_tiny / 4;
    I exponents = I(-1);
    P rows = P(0);
    LG_FN void see(const V (&x)[N][N], V y) {
        exponents = exponents & (as_bits(signed_size(y)) + I(quarter));
        if constexpr (N == 3) // NaN does not stay in the largest, but has made NaN of the determinant
            rows = larger_(rows, fma_(x[0][2], x[0][2], fma_(x[0][1], x[0][1], x[0][0] * x[0][0])));
    }
    LG_FN bool all() const { return !any(((exponents & I(2 * quarter)) == I(0)) | not_(rows <= P(row_huge))); }
};

} // namespace
} // namespace lg
#endif
