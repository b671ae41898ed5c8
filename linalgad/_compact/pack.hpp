// One number for each matrix in flight.
//
// Every algorithm of this folder is written over a pack type V. On the CPU V holds one number for each of W matrices
// in a SIMD register; for a matrix alone, and in a CUDA thread, V is float, double or cx<float>, cx<double>. Algorithms
// branch only through masks, select() and any(), so that what one matrix holds never changes what another computes.
//
// Rules that keep results the same for any W: no reassociation, no contraction by the compiler (-ffp-contract=off);
// fused multiply-adds are spelled fma_/fnma_, which fuse for every V of a tier or for none.
//
// Everything has internal linkage: an object built for one instruction set must not offer its code to another.
#ifndef LINALGAD_COMPACT_PACK_HPP
#define LINALGAD_COMPACT_PACK_HPP

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define LG_CUDA 1
#define LG_FN __device__ __forceinline__
#define LG_CALL __device__
#define LG_UNROLL _Pragma("unroll")
#else
#if defined(LG_SANITIZED)
#define LG_FN inline
#else
#define LG_FN inline __attribute__((always_inline))
#endif
#define LG_CALL __attribute__((noinline)) // large enough to be called rather than copied
#if defined(__clang__)
#define LG_UNROLL _Pragma("unroll")
#else
#define LG_UNROLL _Pragma("GCC unroll 16")
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif

namespace lg {
namespace {

// ---- constants of the two real types -------------------------------------------------------------------------------
#if defined(LG_CUDA) || defined(__FMA__) || defined(__aarch64__)
constexpr bool fused = true; // fma_ rounds once
#else
constexpr bool fused = false;
#endif
template <class T> struct bits;
template <> struct bits<double> {
    typedef long long I;
    static const int mant = 52, bias = 1023;
    static const I sign = (I)(1ull << 63), exp = (I)(0x7ffull << 52);
    static constexpr double tiny = 0x1p-1022, huge = 0x1p1022; // normal, and so are their reciprocals
    static constexpr double square_tiny = 0x1p-960, square_huge = 0x1p1000; // sums of squares that lost nothing
    static constexpr double entry_tiny = 0x1p-240, entry_huge = 0x1p240; // an elimination stays in range
    static constexpr double plain_tiny = 0x1p-800, plain_huge = 0x1p800; // and so do products with its pivots
    static constexpr double cube_tiny = 0x1p-600; // of the cube of what has entered: nothing lost by underflow shows
    static constexpr double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33; // log 2; the first has 32 bits
    static constexpr double sqrt_half = 0x1.6a09e667f3bcep-1; // a little more
    static const int log_terms = 10; // of the series of artanh that count beside 1
};
template <> struct bits<float> {
    typedef int I;
    static const int mant = 23, bias = 127;
    static const I sign = (I)(1u << 31), exp = (I)(0xffu << 23);
    static constexpr float tiny = 0x1p-126f, huge = 0x1p126f;
    static constexpr float square_tiny = 0x1p-96f, square_huge = 0x1p110f;
    static constexpr float entry_tiny = 0x1p-30f, entry_huge = 0x1p30f;
    static constexpr float plain_tiny = 0x1p-90f, plain_huge = 0x1p90f;
    static constexpr float cube_tiny = 0x1p-80f;
    static constexpr float log2_high = 0x1.62cp-1f, log2_low = 0x1.217f7ep-12f;
    static constexpr float sqrt_half = 0x1.6a09e8p-1f;
    static const int log_terms = 4;
};

// ---- V = a plain number ----------------------------------------------------------------------------------------------
#ifdef LG_CUDA
LG_FN double sqrt_(double x) { return ::sqrt(x); }
LG_FN float sqrt_(float x) { return ::sqrtf(x); }
LG_FN double fma_(double a, double b, double c) { return ::fma(a, b, c); }
LG_FN float fma_(float a, float b, float c) { return ::fmaf(a, b, c); }
LG_FN long long as_bits(double x) { return __double_as_longlong(x); }
LG_FN int as_bits(float x) { return __float_as_int(x); }
LG_FN double from_bits(double, long long i) { return __longlong_as_double(i); }
LG_FN float from_bits(float, int i) { return __int_as_float(i); }
LG_FN double abs_(double x) { return ::fabs(x); }
LG_FN float abs_(float x) { return ::fabsf(x); }
#else
LG_FN double sqrt_(double x) { return __builtin_sqrt(x); }
LG_FN float sqrt_(float x) { return __builtin_sqrtf(x); }
#if defined(__FMA__) || defined(__aarch64__)
LG_FN double fma_(double a, double b, double c) { return __builtin_fma(a, b, c); }
LG_FN float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
LG_FN double fma_(double a, double b, double c) { return a * b + c; }
LG_FN float fma_(float a, float b, float c) { return a * b + c; }
#endif
LG_FN long long as_bits(double x) { long long i; __builtin_memcpy(&i, &x, sizeof i); return i; }
LG_FN int as_bits(float x) { int i; __builtin_memcpy(&i, &x, sizeof i); return i; }
LG_FN double from_bits(double, long long i) { double x; __builtin_memcpy(&x, &i, sizeof x); return x; }
LG_FN float from_bits(float, int i) { float x; __builtin_memcpy(&x, &i, sizeof x); return x; }
LG_FN double abs_(double x) { return __builtin_fabs(x); }
LG_FN float abs_(float x) { return __builtin_fabsf(x); }
#endif
LG_FN double fnma_(double a, double b, double c) { return fma_(-a, b, c); }
LG_FN float fnma_(float a, float b, float c) { return fma_(-a, b, c); }
LG_FN bool any(bool m) { return m; }
LG_FN bool not_(bool m) { return !m; }
LG_FN double select(bool m, double a, double b) { return m ? a : b; }
LG_FN float select(bool m, float a, float b) { return m ? a : b; }
LG_FN int select(bool m, int a, int b) { return m ? a : b; }
LG_FN long long select(bool m, long long a, long long b) { return m ? a : b; }

template <class T> struct pack;  // W numbers of type T; only on the CPU
template <class T> struct mask;  // the result of comparing two packs
template <class T> struct ipack; // W integers as wide as T

// ---- what an algorithm may ask of V ----------------------------------------------------------------------------------
template <class V> struct traits;
template <> struct traits<double> {
    typedef double real, scalar; typedef bool M; typedef long long I;
    static const int width = 1, parts = 1;
};
template <> struct traits<float> {
    typedef float real, scalar; typedef bool M; typedef int I;
    static const int width = 1, parts = 1;
};
template <class T> struct traits<pack<T>> {
    typedef pack<T> real; typedef T scalar; typedef mask<T> M; typedef ipack<T> I;
    static const int width = pack<T>::W, parts = 1;
};

// ---- arithmetic common to numbers and packs --------------------------------------------------------------------------
template <class V> LG_FN V min_(V a, V b) { return select(b < a, b, a); } // a where either is NaN
template <class V> LG_FN V max_(V a, V b) { return select(b > a, b, a); }
// the larger and the smaller of two that are not NaN, and infinity for NaN; instructions of their own where packs have them
template <class V> LG_FN V larger_(V a, V b) { return select(b > a, b, a); }
template <class V> LG_FN V smaller_(V a, V b) { return select(b < a, b, a); }
// infinity by its bits: not every compiler for GPUs has the builtin
template <class V> LG_FN V infinity() {
    return from_bits(V(0), typename traits<V>::I(bits<typename traits<V>::scalar>::exp));
}
template <class V> LG_FN V nan_to_inf(V a) { return select(a < infinity<V>(), a, infinity<V>()); }
// |x| with the sign of y
LG_FN double copysign_(double x, double y) {
    typedef bits<double> B;
    return from_bits(x, (as_bits(x) & ~B::sign) | (as_bits(y) & B::sign));
}
LG_FN float copysign_(float x, float y) {
    typedef bits<float> B;
    return from_bits(x, (as_bits(x) & ~B::sign) | (as_bits(y) & B::sign));
}
// The power of two s with 1 <= |x s| < 2, kept within [1/huge, huge] so that s and 1/s are normal numbers;
// zero, subnormal and non-finite x get the nearest end.
template <class V> LG_FN V inverse_scale(V x) {
    typedef typename traits<V>::scalar T;
    typedef typename traits<V>::I I;
    typedef bits<T> B;
    const I e = I((typename B::I)(2 * B::bias) << B::mant) - (as_bits(x) & I(B::exp));
    return smaller_(larger_(from_bits(x, e), V(B::tiny)), V(B::huge)); // minus infinity for x that are not finite
}
// e with s = 2^e
template <class V> LG_FN typename traits<V>::I exponent(V s) {
    typedef typename traits<V>::I I;
    typedef bits<typename traits<V>::scalar> B;
    return ((as_bits(s) & I(B::exp)) >> B::mant) - I(B::bias);
}
// e as a real number like x, exactly where it has two bits less than those do
template <class V> LG_FN V to_real(V x, typename traits<V>::I e) {
    typedef bits<typename traits<V>::scalar> B;
    x = V((typename traits<V>::scalar)(3ll << (B::mant - 1)));
    return from_bits(x, as_bits(x) + e) - x;
}
// and back, for a whole number x
template <class V> LG_FN typename traits<V>::I to_whole(V x) {
    const V zero = V((typename traits<V>::scalar)(3ll << (bits<typename traits<V>::scalar>::mant - 1)));
    return as_bits(x + zero) - as_bits(zero);
}
// x 2^e for 1 <= |x| < 2 and any e: rounded once
template <class V> LG_FN V times_power(V x, typename traits<V>::I e) {
    typedef typename traits<V>::I I;
    typedef bits<typename traits<V>::scalar> B;
    const I most(3 * (B::bias - 1));
    e = select(e > most, most, e);
    e = select(e < I(0) - most, I(0) - most, e);
    // three equal steps: the first two keep x normal where the result is not zero
    I third = (e * I(21846)) >> 16;
    V s = from_bits(x, (third + I(B::bias)) << B::mant);
    return x * s * s * from_bits(x, (e - third - third + I(B::bias)) << B::mant);
}
// 1 / s of a power of two between 2^-(bias-1) and 2^(bias-1), exactly
template <class V> LG_FN V inverse_power(V s) {
    typedef typename traits<V>::scalar T;
    typedef typename traits<V>::I I;
    typedef bits<T> B;
    return from_bits(s, I((typename B::I)(2 * B::bias) << B::mant) - as_bits(s));
}

} // namespace
} // namespace lg

#ifndef LG_CUDA
#include "simd.hpp"
#endif
#include "complex.hpp"
#endif
