// Places of each matrix's own: as integers, and the numbers there. Such loads are slow (an access of the cache for each
// matrix), so they are for where all rows would have to be looked at instead, or for the last step of an algorithm.
#ifndef LINALGAD_COMPACT_GATHER_HPP
#define LINALGAD_COMPACT_GATHER_HPP

#include "pack.hpp"

namespace lg {
namespace {

// An offset counts real numbers from `base` and includes the matrix's number in its pack, which lane_number() gives.
LG_FN void lane_number(long long &i) { i = 0; }
LG_FN void lane_number(int &i) { i = 0; }
LG_FN double gather(const double *base, long long i) { return base[i]; }
LG_FN float gather(const float *base, int i) { return base[i]; }

// Numbers that are whole, one for each matrix.
LG_FN void to_integers(double x, int *to) { *to = (int)x; }
LG_FN void to_integers(float x, int *to) { *to = (int)x; }

#ifndef LG_CUDA
template <class T> LG_FN void to_integers(pack<T> x, int *to) {
#if defined(LG_AVX512)
    if constexpr (sizeof(T) == 8)
        _mm256_storeu_si256((__m256i *)to, _mm512_cvttpd_epi32((__m512d)x.r));
    else
        _mm512_storeu_si512(to, _mm512_cvttps_epi32((__m512)x.r));
#elif defined(LG_AVX2)
    if constexpr (sizeof(T) == 8)
        _mm_storeu_si128((__m128i *)to, _mm256_cvttpd_epi32((__m256d)x.r));
    else
        _mm256_storeu_si256((__m256i *)to, _mm256_cvttps_epi32((__m256)x.r));
#else
    for (int l = 0; l < pack<T>::W; l++) to[l] = (int)x.r[l];
#endif
}
// Each matrix's number in a row of its own, at the column that p points to, of rows that are rs packs apart.
template <class T> LG_FN pack<T> pick(const pack<T> *p, ptrdiff_t rs, const int *row) {
    pack<T> x;
    LG_UNROLL for (int l = 0; l < pack<T>::W; l++) x.r[l] = ((const T *)(p + row[l] * rs))[l];
    return x;
}
template <class T> LG_FN cx<pack<T>> pick(const cx<pack<T>> *p, ptrdiff_t rs, const int *row) {
    return {pick(&p->re, 2 * rs, row), pick(&p->im, 2 * rs, row)};
}
template <class T> LG_FN void lane_number(ipack<T> &a) {
    LG_UNROLL for (int l = 0; l < pack<T>::W; l++) a.r[l] = l;
}
#if defined(LG_AVX512)
LG_FN pack<double> gather(const double *base, ipack<double> i) {
    return pack<double>::of(_mm512_i64gather_pd((__m512i)i.r, base, 8));
}
LG_FN pack<float> gather(const float *base, ipack<float> i) {
    return pack<float>::of(_mm512_i32gather_ps((__m512i)i.r, base, 4));
}
#elif defined(LG_AVX2)
LG_FN pack<double> gather(const double *base, ipack<double> i) {
    return pack<double>::of(_mm256_i64gather_pd(base, (__m256i)i.r, 8));
}
LG_FN pack<float> gather(const float *base, ipack<float> i) {
    return pack<float>::of(_mm256_i32gather_ps(base, (__m256i)i.r, 4));
}
#else
template <class T> LG_FN pack<T> gather(const T *base, ipack<T> i) {
    pack<T> x;
    LG_UNROLL for (int l = 0; l < pack<T>::W; l++) x.r[l] = base[i.r[l]];
    return x;
}
#endif
#endif

// The same for a real or complex number of a tile: the real and the imaginary pack are neighbours.
template <class V> LG_FN V gather_number(const V *base, typename traits<V>::I at) {
    return gather((const typename traits<V>::scalar *)base, at);
}
template <class P> LG_FN cx<P> gather_number(const cx<P> *base, typename traits<P>::I at) {
    const typename traits<P>::scalar *b = (const typename traits<P>::scalar *)base;
    return {gather(b, at), gather(b + traits<P>::width, at)};
}

} // namespace
} // namespace lg
#endif
