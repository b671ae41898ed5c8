// The SIMD pack of pack.hpp for the instruction set this file is compiled for: 64 bytes with AVX-512, 32 with AVX2 and
// FMA, 16 otherwise (SSE2, NEON). Arithmetic uses the compiler's vector extensions; what they lack uses intrinsics where
// the set has them and a loop over the elements elsewhere.
#ifndef LINALGAD_COMPACT_SIMD_HPP
#define LINALGAD_COMPACT_SIMD_HPP

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define LG_BYTES 64
#define LG_AVX512 1
#elif defined(__AVX2__) && defined(__FMA__)
#define LG_BYTES 32
#define LG_AVX2 1
#else
#define LG_BYTES 16
#endif

namespace lg {
namespace {

// A vector_size that depends on a template parameter is dropped by GCC, hence one specialisation each.
template <class T> struct raw;
template <> struct raw<double> {
    typedef double R __attribute__((vector_size(LG_BYTES)));
    typedef double U __attribute__((vector_size(LG_BYTES), aligned(8), may_alias)); // unaligned, in users' arrays
    typedef long long I __attribute__((vector_size(LG_BYTES)));
    typedef unsigned long long N __attribute__((vector_size(LG_BYTES)));
#ifdef LG_AVX512
    typedef __mmask8 K;
#else
    typedef I K;
#endif
};
template <> struct raw<float> {
    typedef float R __attribute__((vector_size(LG_BYTES)));
    typedef float U __attribute__((vector_size(LG_BYTES), aligned(4), may_alias));
    typedef int I __attribute__((vector_size(LG_BYTES)));
    typedef unsigned N __attribute__((vector_size(LG_BYTES)));
#ifdef LG_AVX512
    typedef __mmask16 K;
#else
    typedef I K;
#endif
};

template <class T> struct mask {
    typename raw<T>::K k;
};
template <class T> struct ipack {
    typedef typename bits<T>::I S;
    typename raw<T>::I r;
    ipack() = default;
    LG_FN ipack(S x) : r(x - (typename raw<T>::I){}) {}
    LG_FN static ipack of(typename raw<T>::I x) { ipack a; a.r = x; return a; }
};
template <class T> struct pack {
    static const int W = LG_BYTES / sizeof(T);
    typedef typename raw<T>::R R;
    R r;
    pack() = default;
    LG_FN pack(T x) : r(x - (R){}) {}
    LG_FN static pack of(R x) { pack a; a.r = x; return a; }
};

#define LG_T template <class T> LG_FN
LG_T pack<T> operator+(pack<T> a, pack<T> b) { return pack<T>::of(a.r + b.r); }
LG_T pack<T> operator-(pack<T> a, pack<T> b) { return pack<T>::of(a.r - b.r); }
LG_T pack<T> operator*(pack<T> a, pack<T> b) { return pack<T>::of(a.r * b.r); }
LG_T pack<T> operator/(pack<T> a, pack<T> b) { return pack<T>::of(a.r / b.r); }
LG_T pack<T> operator-(pack<T> a) { return pack<T>::of(-a.r); }
LG_T ipack<T> operator+(ipack<T> a, ipack<T> b) { // wraps around, which signed elements may not
    typedef typename raw<T>::N N;
    return ipack<T>::of((typename raw<T>::I)((N)a.r + (N)b.r));
}
LG_T ipack<T> operator-(ipack<T> a, ipack<T> b) { return ipack<T>::of(a.r - b.r); }
LG_T ipack<T> operator*(ipack<T> a, ipack<T> b) { return ipack<T>::of(a.r * b.r); }
LG_T ipack<T> operator&(ipack<T> a, ipack<T> b) { return ipack<T>::of(a.r & b.r); }
LG_T ipack<T> operator|(ipack<T> a, ipack<T> b) { return ipack<T>::of(a.r | b.r); }
LG_T ipack<T> operator^(ipack<T> a, ipack<T> b) { return ipack<T>::of(a.r ^ b.r); }
LG_T ipack<T> operator<<(ipack<T> a, int s) { return ipack<T>::of(a.r << s); }
LG_T ipack<T> operator>>(ipack<T> a, int s) { return ipack<T>::of(a.r >> s); }
LG_T ipack<T> as_bits(pack<T> a) { return ipack<T>::of((typename raw<T>::I)a.r); }
LG_T pack<T> from_bits(pack<T>, ipack<T> i) { return pack<T>::of((typename raw<T>::R)i.r); }
LG_T pack<T> abs_(pack<T> a) { return from_bits(a, as_bits(a) & ipack<T>(~bits<T>::sign)); }
LG_T pack<T> copysign_(pack<T> a, pack<T> b) {
    const ipack<T> s(bits<T>::sign), rest(~bits<T>::sign);
    return from_bits(a, (as_bits(a) & rest) | (as_bits(b) & s));
}

// ---- comparisons, select, any ----------------------------------------------------------------------------------------
#ifdef LG_AVX512
#define LG_COMPARE(op, pred, ipred)                                                                                    \
    LG_FN mask<double> operator op(pack<double> a, pack<double> b) { return {_mm512_cmp_pd_mask(a.r, b.r, pred)}; }    \
    LG_FN mask<float> operator op(pack<float> a, pack<float> b) { return {_mm512_cmp_ps_mask(a.r, b.r, pred)}; }       \
    LG_FN mask<double> operator op(ipack<double> a, ipack<double> b) {                                                 \
        return {_mm512_cmp_epi64_mask((__m512i)a.r, (__m512i)b.r, ipred)};                                             \
    }                                                                                                                  \
    LG_FN mask<float> operator op(ipack<float> a, ipack<float> b) {                                                    \
        return {_mm512_cmp_epi32_mask((__m512i)a.r, (__m512i)b.r, ipred)};                                             \
    }
LG_COMPARE(<, _CMP_LT_OQ, _MM_CMPINT_LT)
LG_COMPARE(<=, _CMP_LE_OQ, _MM_CMPINT_LE)
LG_COMPARE(>, _CMP_GT_OQ, _MM_CMPINT_NLE)
LG_COMPARE(>=, _CMP_GE_OQ, _MM_CMPINT_NLT)
LG_COMPARE(==, _CMP_EQ_OQ, _MM_CMPINT_EQ)
LG_COMPARE(!=, _CMP_NEQ_UQ, _MM_CMPINT_NE)
#undef LG_COMPARE
LG_T mask<T> operator&(mask<T> a, mask<T> b) { return {(typename raw<T>::K)(a.k & b.k)}; }
LG_T mask<T> operator|(mask<T> a, mask<T> b) { return {(typename raw<T>::K)(a.k | b.k)}; }
LG_T mask<T> not_(mask<T> a) { return {(typename raw<T>::K)~a.k}; }
LG_T bool any(mask<T> a) { return a.k != 0; }
LG_FN pack<double> select(mask<double> m, pack<double> a, pack<double> b) {
    return pack<double>::of(_mm512_mask_blend_pd(m.k, b.r, a.r));
}
LG_FN pack<float> select(mask<float> m, pack<float> a, pack<float> b) {
    return pack<float>::of(_mm512_mask_blend_ps(m.k, b.r, a.r));
}
LG_FN ipack<double> select(mask<double> m, ipack<double> a, ipack<double> b) {
    return ipack<double>::of((raw<double>::I)_mm512_mask_blend_epi64(m.k, (__m512i)b.r, (__m512i)a.r));
}
LG_FN ipack<float> select(mask<float> m, ipack<float> a, ipack<float> b) {
    return ipack<float>::of((raw<float>::I)_mm512_mask_blend_epi32(m.k, (__m512i)b.r, (__m512i)a.r));
}
#else
#define LG_COMPARE(op)                                                                                                 \
    LG_T mask<T> operator op(pack<T> a, pack<T> b) { return {(typename raw<T>::I)(a.r op b.r)}; }                      \
    LG_T mask<T> operator op(ipack<T> a, ipack<T> b) { return {(typename raw<T>::I)(a.r op b.r)}; }
LG_COMPARE(<) LG_COMPARE(<=) LG_COMPARE(>) LG_COMPARE(>=) LG_COMPARE(==) LG_COMPARE(!=)
#undef LG_COMPARE
LG_T mask<T> operator&(mask<T> a, mask<T> b) { return {a.k & b.k}; }
LG_T mask<T> operator|(mask<T> a, mask<T> b) { return {a.k | b.k}; }
LG_T mask<T> not_(mask<T> a) { return {~a.k}; }
// Masks are all ones or all zeros in each element, so bitwise selection is exact.
LG_T ipack<T> select(mask<T> m, ipack<T> a, ipack<T> b) { return ipack<T>::of((a.r & m.k) | (b.r & ~m.k)); }
#ifdef LG_AVX2
LG_FN bool any(mask<double> a) { return _mm256_movemask_pd((__m256d)a.k) != 0; }
LG_FN bool any(mask<float> a) { return _mm256_movemask_ps((__m256)a.k) != 0; }
LG_FN pack<double> select(mask<double> m, pack<double> a, pack<double> b) {
    return pack<double>::of(_mm256_blendv_pd(b.r, a.r, (__m256d)m.k));
}
LG_FN pack<float> select(mask<float> m, pack<float> a, pack<float> b) {
    return pack<float>::of(_mm256_blendv_ps(b.r, a.r, (__m256)m.k));
}
#else
LG_T pack<T> select(mask<T> m, pack<T> a, pack<T> b) {
    return from_bits(a, select(m, as_bits(a), as_bits(b)));
}
#ifdef __SSE2__
LG_FN bool any(mask<double> a) { return _mm_movemask_pd((__m128d)a.k) != 0; }
LG_FN bool any(mask<float> a) { return _mm_movemask_ps((__m128)a.k) != 0; }
#else
LG_T bool any(mask<T> a) {
    typename bits<T>::I s = 0;
    LG_UNROLL for (int i = 0; i < pack<T>::W; i++) s |= a.k[i];
    return s != 0;
}
#endif
#endif
#endif

// ---- larger, smaller, NaN to infinity: the instructions return their second operand where one is NaN ------------------
#ifdef __SSE2__
#if defined(LG_AVX512)
#define LG_X86(name, type) _mm512_##name##_##type
#elif defined(LG_AVX2)
#define LG_X86(name, type) _mm256_##name##_##type
#else
#define LG_X86(name, type) _mm_##name##_##type
#endif
LG_FN pack<double> larger_(pack<double> a, pack<double> b) { return pack<double>::of(LG_X86(max, pd)(a.r, b.r)); }
LG_FN pack<float> larger_(pack<float> a, pack<float> b) { return pack<float>::of(LG_X86(max, ps)(a.r, b.r)); }
LG_FN pack<double> smaller_(pack<double> a, pack<double> b) { return pack<double>::of(LG_X86(min, pd)(a.r, b.r)); }
LG_FN pack<float> smaller_(pack<float> a, pack<float> b) { return pack<float>::of(LG_X86(min, ps)(a.r, b.r)); }
LG_FN pack<double> nan_to_inf(pack<double> a) {
    return pack<double>::of(LG_X86(min, pd)(a.r, infinity<pack<double>>().r));
}
LG_FN pack<float> nan_to_inf(pack<float> a) {
    return pack<float>::of(LG_X86(min, ps)(a.r, infinity<pack<float>>().r));
}
#undef LG_X86
#endif

// ---- square root, fused multiply-add ---------------------------------------------------------------------------------
#if defined(LG_AVX512)
LG_FN pack<double> sqrt_(pack<double> a) { return pack<double>::of(_mm512_sqrt_pd(a.r)); }
LG_FN pack<float> sqrt_(pack<float> a) { return pack<float>::of(_mm512_sqrt_ps(a.r)); }
#define LG_FMA(name, d, s)                                                                                             \
    LG_FN pack<double> name(pack<double> a, pack<double> b, pack<double> c) { return pack<double>::of(d(a.r, b.r, c.r)); } \
    LG_FN pack<float> name(pack<float> a, pack<float> b, pack<float> c) { return pack<float>::of(s(a.r, b.r, c.r)); }
LG_FMA(fma_, _mm512_fmadd_pd, _mm512_fmadd_ps)
LG_FMA(fnma_, _mm512_fnmadd_pd, _mm512_fnmadd_ps)
#elif defined(LG_AVX2)
LG_FN pack<double> sqrt_(pack<double> a) { return pack<double>::of(_mm256_sqrt_pd(a.r)); }
LG_FN pack<float> sqrt_(pack<float> a) { return pack<float>::of(_mm256_sqrt_ps(a.r)); }
#define LG_FMA(name, d, s)                                                                                             \
    LG_FN pack<double> name(pack<double> a, pack<double> b, pack<double> c) { return pack<double>::of(d(a.r, b.r, c.r)); } \
    LG_FN pack<float> name(pack<float> a, pack<float> b, pack<float> c) { return pack<float>::of(s(a.r, b.r, c.r)); }
LG_FMA(fma_, _mm256_fmadd_pd, _mm256_fmadd_ps)
LG_FMA(fnma_, _mm256_fnmadd_pd, _mm256_fnmadd_ps)
#else
#if defined(__SSE2__)
LG_FN pack<double> sqrt_(pack<double> a) { return pack<double>::of(_mm_sqrt_pd(a.r)); }
LG_FN pack<float> sqrt_(pack<float> a) { return pack<float>::of(_mm_sqrt_ps(a.r)); }
#else
LG_T pack<T> sqrt_(pack<T> a) {
    LG_UNROLL for (int i = 0; i < pack<T>::W; i++) a.r[i] = sqrt_(a.r[i]);
    return a;
}
#endif
#if defined(__aarch64__)
LG_FN pack<double> fma_(pack<double> a, pack<double> b, pack<double> c) {
    return pack<double>::of((raw<double>::R)vfmaq_f64((float64x2_t)c.r, (float64x2_t)a.r, (float64x2_t)b.r));
}
LG_FN pack<float> fma_(pack<float> a, pack<float> b, pack<float> c) {
    return pack<float>::of((raw<float>::R)vfmaq_f32((float32x4_t)c.r, (float32x4_t)a.r, (float32x4_t)b.r));
}
#elif defined(__FMA__)
// A tier with FMA but 16-byte packs: the scalar fma_ fuses, so this must.
LG_T pack<T> fma_(pack<T> a, pack<T> b, pack<T> c) {
    LG_UNROLL for (int i = 0; i < pack<T>::W; i++) c.r[i] = fma_(a.r[i], b.r[i], c.r[i]);
    return c;
}
#else
LG_T pack<T> fma_(pack<T> a, pack<T> b, pack<T> c) { return a * b + c; }
#endif
LG_T pack<T> fnma_(pack<T> a, pack<T> b, pack<T> c) { return fma_(-a, b, c); }
#endif
#undef LG_FMA
#undef LG_T

} // namespace
} // namespace lg
#endif
