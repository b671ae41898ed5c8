// W runs of `count` numbers to and from interleaved storage: some bytes of each run at a time, transposed in registers.
#ifndef LINALGAD_COMPACT_GRANULE_HPP
#define LINALGAD_COMPACT_GRANULE_HPP

#include <stddef.h>

#include "pack.hpp"

namespace lg {
namespace {

// Where the W runs begin: equally far apart, or anywhere.
template <class T> struct spaced {
    T *p;
    ptrdiff_t step; // in bytes
    LG_FN T *operator()(int l) const { return (T *)((char *)p + l * step); }
};
template <class T> struct listed {
    T *const *p;
    LG_FN T *operator()(int l) const { return p[l]; }
};
// Matrices one after the other. The runs of a pack are too short and too many for the prefetchers of the hardware, so
// the part of the next pack is asked for that has the place of the one being moved, unless packs would fill the cache.
template <class T> struct adjoining {
    static const int width = LG_BYTES / sizeof(T), most_bytes = 1 << 14;
    T *p;
    ptrdiff_t count;
    LG_FN T *operator()(int l) const { return p + l * count; }
    LG_FN static bool serves(ptrdiff_t step, ptrdiff_t count) {
        return step == count * (ptrdiff_t)sizeof(T) && width * step <= most_bytes;
    }
};
template <int rw, class S> LG_FN void ask_for_next(const S &, ptrdiff_t, ptrdiff_t) {}
template <int rw, class T> LG_FN void ask_for_next(const adjoining<T> &a, ptrdiff_t f, ptrdiff_t g) {
    const char *next = (const char *)(a.p + a.width * (a.count + f));
    for (int i = 0; i < LG_BYTES * g; i += 64) __builtin_prefetch(next + i, rw, 3);
}

// Registers x[0..G) hold, in part q of register i, G numbers of matrix q G + i (16 bytes; 32 for AVX-512's doubles);
// after turn() register j holds number j of matrices q G .. q G + G - 1, in order. turn() is its own inverse.
// join() and split() move numbers [f, f + G) of the runs of i; some() takes fewer, where a run has no more.
template <class T> struct granule;
template <> struct granule<double> {
    static const int G = LG_BYTES == 64 ? 4 : 2;
    typedef raw<double>::R R;
    typedef double H __attribute__((vector_size(16), aligned(8), may_alias));
#if LG_BYTES == 64
    template <class S> LG_FN static R join(const S &p, int i, ptrdiff_t f) {
        return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(p(i) + f)), _mm256_loadu_pd(p(i + 4) + f), 1);
    }
    template <class S> LG_FN static void split(R x, const S &p, int i, ptrdiff_t f) {
        _mm256_storeu_pd(p(i) + f, _mm512_castpd512_pd256(x));
        _mm256_storeu_pd(p(i + 4) + f, _mm512_extractf64x4_pd(x, 1));
    }
    template <class S> LG_FN static R join_some(const S &p, int i, int few) {
        const __mmask8 k = (__mmask8)((1 << few) - 1);
        return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_maskz_loadu_pd(k, p(i))),
                                  _mm256_maskz_loadu_pd(k, p(i + 4)), 1);
    }
    template <class S> LG_FN static void split_some(R x, const S &p, int i, int few) {
        const __mmask8 k = (__mmask8)((1 << few) - 1);
        _mm256_mask_storeu_pd(p(i), k, _mm512_castpd512_pd256(x));
        _mm256_mask_storeu_pd(p(i + 4), k, _mm512_extractf64x4_pd(x, 1));
    }
    LG_FN static void turn(R *x) {
        const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        R a = _mm512_unpacklo_pd(x[0], x[1]), b = _mm512_unpackhi_pd(x[0], x[1]);
        R c = _mm512_unpacklo_pd(x[2], x[3]), d = _mm512_unpackhi_pd(x[2], x[3]);
        x[0] = _mm512_permutex2var_pd(a, even, c), x[1] = _mm512_permutex2var_pd(b, even, d);
        x[2] = _mm512_permutex2var_pd(a, odd, c), x[3] = _mm512_permutex2var_pd(b, odd, d);
    }
#elif LG_BYTES == 32
    template <class S> LG_FN static R join(const S &p, int i, ptrdiff_t f) {
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p(i) + f)), _mm_loadu_pd(p(i + 2) + f), 1);
    }
    template <class S> LG_FN static void split(R x, const S &p, int i, ptrdiff_t f) {
        _mm_storeu_pd(p(i) + f, _mm256_castpd256_pd128(x));
        _mm_storeu_pd(p(i + 2) + f, _mm256_extractf128_pd(x, 1));
    }
    template <class S> LG_FN static R join_some(const S &p, int i, int) { return R{p(i)[0], 0, p(i + 2)[0], 0}; }
    template <class S> LG_FN static void split_some(R x, const S &p, int i, int) { p(i)[0] = x[0], p(i + 2)[0] = x[2]; }
    LG_FN static void turn(R *x) {
        R a = _mm256_unpacklo_pd(x[0], x[1]), b = _mm256_unpackhi_pd(x[0], x[1]);
        x[0] = a, x[1] = b;
    }
#else
    template <class S> LG_FN static R join(const S &p, int i, ptrdiff_t f) { return *(const H *)(p(i) + f); }
    template <class S> LG_FN static void split(R x, const S &p, int i, ptrdiff_t f) { *(H *)(p(i) + f) = x; }
    template <class S> LG_FN static R join_some(const S &p, int i, int) { return R{p(i)[0], 0}; }
    template <class S> LG_FN static void split_some(R x, const S &p, int i, int) { p(i)[0] = x[0]; }
    LG_FN static void turn(R *x) {
        R a = {x[0][0], x[1][0]}, b = {x[0][1], x[1][1]};
        x[0] = a, x[1] = b;
    }
#endif
};
template <> struct granule<float> {
    static const int G = 4;
    typedef raw<float>::R R;
    typedef float H __attribute__((vector_size(16), aligned(4), may_alias));
#if LG_BYTES < 64
    LG_FN static H some(const float *p, int few) { return H{p[0], few > 1 ? p[1] : 0, few > 2 ? p[2] : 0, 0}; }
    LG_FN static void put_some(H x, float *p, int few) {
        p[0] = x[0];
        if (few > 1) p[1] = x[1];
        if (few > 2) p[2] = x[2];
    }
#endif
#if LG_BYTES == 64
    LG_FN static R four(__m128 a, __m128 b, __m128 c, __m128 d) {
        R x = _mm512_insertf32x4(_mm512_castps128_ps512(a), b, 1);
        return _mm512_insertf32x8(x, _mm256_insertf128_ps(_mm256_castps128_ps256(c), d, 1), 1);
    }
    template <class S> LG_FN static R join(const S &p, int i, ptrdiff_t f) {
        return four(_mm_loadu_ps(p(i) + f), _mm_loadu_ps(p(i + 4) + f), _mm_loadu_ps(p(i + 8) + f),
                    _mm_loadu_ps(p(i + 12) + f));
    }
    template <class S> LG_FN static void split(R x, const S &p, int i, ptrdiff_t f) {
        _mm_storeu_ps(p(i) + f, _mm512_castps512_ps128(x));
        _mm_storeu_ps(p(i + 4) + f, _mm512_extractf32x4_ps(x, 1));
        _mm_storeu_ps(p(i + 8) + f, _mm512_extractf32x4_ps(x, 2));
        _mm_storeu_ps(p(i + 12) + f, _mm512_extractf32x4_ps(x, 3));
    }
    template <class S> LG_FN static R join_some(const S &p, int i, int few) {
        const __mmask8 k = (__mmask8)((1 << few) - 1);
        return four(_mm_maskz_loadu_ps(k, p(i)), _mm_maskz_loadu_ps(k, p(i + 4)), _mm_maskz_loadu_ps(k, p(i + 8)),
                    _mm_maskz_loadu_ps(k, p(i + 12)));
    }
    template <class S> LG_FN static void split_some(R x, const S &p, int i, int few) {
        const __mmask8 k = (__mmask8)((1 << few) - 1);
        _mm_mask_storeu_ps(p(i), k, _mm512_castps512_ps128(x));
        _mm_mask_storeu_ps(p(i + 4), k, _mm512_extractf32x4_ps(x, 1));
        _mm_mask_storeu_ps(p(i + 8), k, _mm512_extractf32x4_ps(x, 2));
        _mm_mask_storeu_ps(p(i + 12), k, _mm512_extractf32x4_ps(x, 3));
    }
    LG_FN static R low(R a, R b) { return _mm512_unpacklo_ps(a, b); }
    LG_FN static R high(R a, R b) { return _mm512_unpackhi_ps(a, b); }
    LG_FN static R low2(R a, R b) { return (R)_mm512_unpacklo_pd((__m512d)a, (__m512d)b); }
    LG_FN static R high2(R a, R b) { return (R)_mm512_unpackhi_pd((__m512d)a, (__m512d)b); }
#elif LG_BYTES == 32
    template <class S> LG_FN static R join(const S &p, int i, ptrdiff_t f) {
        return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p(i) + f)), _mm_loadu_ps(p(i + 4) + f), 1);
    }
    template <class S> LG_FN static void split(R x, const S &p, int i, ptrdiff_t f) {
        _mm_storeu_ps(p(i) + f, _mm256_castps256_ps128(x));
        _mm_storeu_ps(p(i + 4) + f, _mm256_extractf128_ps(x, 1));
    }
    template <class S> LG_FN static R join_some(const S &p, int i, int few) {
        return _mm256_insertf128_ps(_mm256_castps128_ps256((__m128)some(p(i), few)), (__m128)some(p(i + 4), few), 1);
    }
    template <class S> LG_FN static void split_some(R x, const S &p, int i, int few) {
        put_some((H)_mm256_castps256_ps128(x), p(i), few);
        put_some((H)_mm256_extractf128_ps(x, 1), p(i + 4), few);
    }
    LG_FN static R low(R a, R b) { return _mm256_unpacklo_ps(a, b); }
    LG_FN static R high(R a, R b) { return _mm256_unpackhi_ps(a, b); }
    LG_FN static R low2(R a, R b) { return (R)_mm256_unpacklo_pd((__m256d)a, (__m256d)b); }
    LG_FN static R high2(R a, R b) { return (R)_mm256_unpackhi_pd((__m256d)a, (__m256d)b); }
#else
    template <class S> LG_FN static R join(const S &p, int i, ptrdiff_t f) { return *(const H *)(p(i) + f); }
    template <class S> LG_FN static void split(R x, const S &p, int i, ptrdiff_t f) { *(H *)(p(i) + f) = x; }
    template <class S> LG_FN static R join_some(const S &p, int i, int few) { return some(p(i), few); }
    template <class S> LG_FN static void split_some(R x, const S &p, int i, int few) { put_some(x, p(i), few); }
    LG_FN static R low(R a, R b) { return R{a[0], b[0], a[1], b[1]}; }
    LG_FN static R high(R a, R b) { return R{a[2], b[2], a[3], b[3]}; }
    LG_FN static R low2(R a, R b) { return R{a[0], a[1], b[0], b[1]}; }
    LG_FN static R high2(R a, R b) { return R{a[2], a[3], b[2], b[3]}; }
#endif
    LG_FN static void turn(R *x) {
        R a = low(x[0], x[1]), b = high(x[0], x[1]), c = low(x[2], x[3]), d = high(x[2], x[3]);
        x[0] = low2(a, c), x[1] = high2(a, c), x[2] = low2(b, d), x[3] = high2(b, d);
    }
};

// The last granule of a run that is no multiple of G overlaps the one before. Where the runs begin comes by value: of a
// reference the compiler would read it again after every store.
template <class T, class S> LG_FN void interleave_granule(pack<T> *dst, const S &from, ptrdiff_t f) {
    typedef granule<T> N;
    const int G = N::G;
    typename raw<T>::R x[G];
    ask_for_next<0>(from, f, G);
    LG_UNROLL for (int i = 0; i < G; i++) x[i] = N::join(from, i, f);
    N::turn(x);
    LG_UNROLL for (int i = 0; i < G; i++) dst[f + i].r = x[i];
}
template <class T, class S> LG_FN void interleave(pack<T> *dst, const S from, ptrdiff_t count) {
    typedef granule<T> N;
    const int G = N::G;
    if (count >= G) {
        ptrdiff_t f = 0;
        for (; f <= count - G; f += G) interleave_granule(dst, from, f);
        if (f < count) interleave_granule(dst, from, count - G);
        return;
    }
    typename raw<T>::R x[G];
    LG_UNROLL for (int i = 0; i < G; i++) x[i] = N::join_some(from, i, (int)count);
    N::turn(x);
    LG_UNROLL for (int i = 0; i < G - 1; i++) if (i < count) dst[i].r = x[i];
}
template <class T, class S> LG_FN void deinterleave_granule(const pack<T> *src, const S &to, ptrdiff_t f) {
    typedef granule<T> N;
    const int G = N::G;
    typename raw<T>::R x[G];
    ask_for_next<1>(to, f, G);
    LG_UNROLL for (int i = 0; i < G; i++) x[i] = src[f + i].r;
    N::turn(x);
    LG_UNROLL for (int i = 0; i < G; i++) N::split(x[i], to, i, f);
}
template <class T, class S> LG_FN void deinterleave(const pack<T> *src, const S to, ptrdiff_t count) {
    typedef granule<T> N;
    const int G = N::G;
    if (count >= G) {
        ptrdiff_t f = 0;
        for (; f <= count - G; f += G) deinterleave_granule(src, to, f);
        if (f < count) deinterleave_granule(src, to, count - G);
        return;
    }
    typename raw<T>::R x[G];
    LG_UNROLL for (int i = 0; i < G; i++) x[i] = i < count ? src[i].r : src[0].r;
    N::turn(x);
    LG_UNROLL for (int i = 0; i < G; i++) N::split_some(x[i], to, i, (int)count);
}
template <class T, class S> LG_FN void interleave(T *dst, const S &from, ptrdiff_t count) {
    const T *src = from(0);
    for (ptrdiff_t f = 0; f < count; f++) dst[f] = src[f];
}
template <class T, class S> LG_FN void deinterleave(const T *src, const S &to, ptrdiff_t count) {
    T *dst = to(0);
    for (ptrdiff_t f = 0; f < count; f++) dst[f] = src[f];
}

} // namespace
} // namespace lg
#endif
