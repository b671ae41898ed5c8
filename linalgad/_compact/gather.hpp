// Numbers from a place of each matrix's own. Such loads are slow (a cache access for each matrix): for the last step of
// an algorithm, where the matrices of a pack put their results in different orders.
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

#ifndef LG_CUDA
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
