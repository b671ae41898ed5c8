// A complex number for each matrix in flight: a pair of real V. In a tile the real pack and the imaginary pack are
// neighbours, so a complex tile is a real tile of twice as many elements.
#ifndef LINALGAD_COMPACT_COMPLEX_HPP
#define LINALGAD_COMPACT_COMPLEX_HPP

namespace lg {
namespace {

template <class P> struct cx {
    P re, im;
    cx() = default;
    LG_FN cx(P r) : re(r), im(P(0)) {}
    LG_FN cx(P r, P i) : re(r), im(i) {}
};
#ifndef LG_CUDA
// A pack can be made of a scalar; C++ does not chain two conversions, so V(0) needs this one.
template <class T> struct cx<pack<T>> {
    pack<T> re, im;
    cx() = default;
    LG_FN cx(T x) : re(x), im(T(0)) {}
    LG_FN cx(pack<T> r) : re(r), im(T(0)) {}
    LG_FN cx(pack<T> r, pack<T> i) : re(r), im(i) {}
    // GCC copies such a pair through memory, 16 bytes at a time, and a pack is slow to read just after that.
    LG_FN cx(const cx &x) : re(x.re), im(x.im) {}
    LG_FN cx &operator=(const cx &x) {
        re = x.re, im = x.im;
        return *this;
    }
};
#endif
template <class P> struct traits<cx<P>> {
    typedef P real;
    typedef typename traits<P>::scalar scalar;
    typedef typename traits<P>::M M;
    typedef typename traits<P>::I I;
    static const int width = traits<P>::width, parts = 2;
};

#define LG_P template <class P> LG_FN
LG_P cx<P> operator+(cx<P> a, cx<P> b) { return {a.re + b.re, a.im + b.im}; }
LG_P cx<P> operator-(cx<P> a, cx<P> b) { return {a.re - b.re, a.im - b.im}; }
LG_P cx<P> operator-(cx<P> a) { return {-a.re, -a.im}; }
LG_P cx<P> operator*(cx<P> a, cx<P> b) { return {fnma_(a.im, b.im, a.re * b.re), fma_(a.im, b.re, a.re * b.im)}; }
LG_P cx<P> fma_(cx<P> a, cx<P> b, cx<P> c) {
    return {fnma_(a.im, b.im, fma_(a.re, b.re, c.re)), fma_(a.im, b.re, fma_(a.re, b.im, c.im))};
}
LG_P cx<P> fnma_(cx<P> a, cx<P> b, cx<P> c) {
    return {fma_(a.im, b.im, fnma_(a.re, b.re, c.re)), fnma_(a.im, b.re, fnma_(a.re, b.im, c.im))};
}
template <class M, class P> LG_FN cx<P> select(M m, cx<P> a, cx<P> b) {
    return {select(m, a.re, b.re), select(m, a.im, b.im)};
}
#undef LG_P

// ---- the same words for real and complex V ---------------------------------------------------------------------------
template <class V> LG_FN V real_(V x) { return x; }
template <class P> LG_FN P real_(cx<P> x) { return x.re; }
template <class V> LG_FN V imag_(V) { return V(0); }
template <class P> LG_FN P imag_(cx<P> x) { return x.im; }
template <class V> LG_FN V conj_(V x) { return x; }
template <class P> LG_FN cx<P> conj_(cx<P> x) { return {x.re, -x.im}; }
// x times a real number
template <class V> LG_FN V scale_(V x, V r) { return x * r; }
template <class P> LG_FN cx<P> scale_(cx<P> x, P r) { return {x.re * r, x.im * r}; }
// |re| + |im|, LAPACK's measure for pivots
template <class V> LG_FN V abs1_(V x) { return abs_(x); }
template <class P> LG_FN P abs1_(cx<P> x) { return abs_(x.re) + abs_(x.im); }
// max(|re|, |im|)
template <class V> LG_FN V absmax_(V x) { return abs_(x); }
template <class P> LG_FN P absmax_(cx<P> x) { return max_(abs_(x.re), abs_(x.im)); }
// c + |x|^2
template <class V> LG_FN V add_abs2(V x, V c) { return fma_(x, x, c); }
template <class P> LG_FN P add_abs2(cx<P> x, P c) { return fma_(x.im, x.im, fma_(x.re, x.re, c)); }
// c - |x|^2
template <class V> LG_FN V sub_abs2(V x, V c) { return fnma_(x, x, c); }
template <class P> LG_FN P sub_abs2(cx<P> x, P c) { return fnma_(x.im, x.im, fnma_(x.re, x.re, c)); }
// c - a conj(b) and c + conj(a) b, with no negation left for the compiler to fold
template <class V> LG_FN V fnma_conj(V a, V b, V c) { return fnma_(a, b, c); }
template <class P> LG_FN cx<P> fnma_conj(cx<P> a, cx<P> b, cx<P> c) {
    return {fnma_(a.im, b.im, fnma_(a.re, b.re, c.re)), fnma_(a.im, b.re, fma_(a.re, b.im, c.im))};
}
template <class V> LG_FN V fma_conj(V a, V b, V c) { return fma_(a, b, c); }
template <class P> LG_FN cx<P> fma_conj(cx<P> a, cx<P> b, cx<P> c) {
    return {fma_(a.im, b.im, fma_(a.re, b.re, c.re)), fnma_(a.im, b.re, fma_(a.re, b.im, c.im))};
}
// 1 / x, scaled by a power of two first so that |x|^2 neither overflows nor underflows
template <class V> LG_FN V recip_(V x) { return V(1) / x; }
template <class P> LG_FN cx<P> recip_(cx<P> x) {
    P s = inverse_scale(absmax_(x));
    cx<P> y = scale_(x, s);
    P r = s / add_abs2(y, P(0));
    return {y.re * r, -(y.im * r)};
}
// y / x where 1 / x would overflow or lose bits
template <class V> LG_FN V divide_(V y, V x) { return y / x; }
template <class P> LG_FN cx<P> divide_(cx<P> y, cx<P> x) {
    P s = inverse_scale(absmax_(x));
    cx<P> z = scale_(x, s);
    cx<P> w = scale_(y, s) * conj_(z);
    P d = add_abs2(z, P(0));
    return {w.re / d, w.im / d};
}
template <class P> LG_FN cx<P> times_power(cx<P> x, typename traits<P>::I e) {
    return {times_power(x.re, e), times_power(x.im, e)};
}
// Division of many numbers by x: by its reciprocal, except where that is subnormal or infinite.
template <class V> LG_FN auto has_reciprocal(V x) {
    typedef bits<typename traits<V>::scalar> B;
    typedef typename traits<V>::real P;
    const P a = absmax_(x);
    return (a >= P(B::tiny)) & (a <= P(B::huge));
}
template <class V> struct divisor {
    V d, r;
    typename traits<V>::M odd;
    bool any_odd;
    divisor() = default;
    LG_FN explicit divisor(V x) : d(x), r(recip_(x)) {
        odd = not_(has_reciprocal(x));
        any_odd = any(odd);
    }
    LG_FN V operator()(V y) const {
        V q = y * r;
        return any_odd ? select(odd, divide_(y, d), q) : q;
    }
};

} // namespace
} // namespace lg
#endif
