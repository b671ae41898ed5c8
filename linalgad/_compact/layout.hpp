// Between users' arrays and tiles.
//
// A tile interleaves the W matrices of a pack: the numbers (i, j) of all of them are neighbours, so one SIMD load
// fetches them. It lies in the workspace and is small enough for the cache. A tile keeps the memory order of its array
// (by rows or by columns; algorithms take either by its strides at no cost), so packing is a run through contiguous
// memory whatever the shape: 16 bytes of each matrix at a time, transposed in registers. An array that is contiguous in
// neither order is first copied, matrix by matrix, to a contiguous place in the workspace.
#ifndef LINALGAD_COMPACT_LAYOUT_HPP
#define LINALGAD_COMPACT_LAYOUT_HPP

#include "abi.h"
#include "block.hpp"

namespace lg {
namespace {

// A part of a call: `count` matrices from `first`, which is all of a pack, or one matrix for V = a plain number.
struct part {
    const lg_call *call;
    int first, count;
    mutable bool failed = false; // whether a matrix has an info
    LG_FN part(const lg_call *c, int f, int n) : call(c), first(f), count(n) {}
};

LG_FN bool good(const part &c, int l) { return l < c.count && c.call->info[c.first + l] == 0; }
LG_FN char *place(const part &c, int v, int l) {
    const lg_view &a = c.call->x[v];
    return a.list ? a.list[c.first + l] : a.base + (c.first + l) * a.step;
}

// Workspace of a call, handed out from the front.
struct arena {
    char *p;
    template <class V> LG_FN V *take(ptrdiff_t count) {
        V *a = (V *)p;
        p += (count * (ptrdiff_t)sizeof(V) + 63) & ~(ptrdiff_t)63;
        return a;
    }
};

enum order { by_rows, by_columns, strided };
LG_FN order order_of(const lg_view &v, ptrdiff_t m, ptrdiff_t n, ptrdiff_t item) {
    if ((v.cs == item || n == 1) && (v.rs == n * item || m == 1)) return by_rows;
    if ((v.rs == item || m == 1) && (v.cs == m * item || n == 1)) return by_columns;
    return strided;
}
template <class V> LG_FN tile<V> ordered(V *p, order o, ptrdiff_t m, ptrdiff_t n) {
    if (o == by_columns) return {p, 1, (int)m};
    return {p, (int)n, 1};
}

// ---- W runs of `count` numbers to and from interleaved storage -------------------------------------------------------
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

// The last granule of a run that is no multiple of G overlaps the one before.
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

// ---- operands --------------------------------------------------------------------------------------------------------
// Copies m x n elements between arrays with any strides; row i goes to row to_row[i step], or to row i without that
// list.
template <class T, int parts>
LG_CALL void copy_strided(char *to, ptrdiff_t trs, ptrdiff_t tcs, const char *from, ptrdiff_t frs, ptrdiff_t fcs,
                          ptrdiff_t m, ptrdiff_t n, const int *to_row = nullptr, int step = 1) {
    const ptrdiff_t item = parts * sizeof(T);
    for (ptrdiff_t i = 0; i < m; i++) {
        char *t = to + (to_row ? to_row[i * step] : i) * trs;
        const char *f = from + i * frs;
        if (tcs == item && fcs == item) // spelt out, as a call of memcpy costs more than a short row
            for (ptrdiff_t j = 0; j < n * parts; j++) ((T *)t)[j] = ((const T *)f)[j];
        else
            for (ptrdiff_t j = 0; j < n; j++) __builtin_memcpy(t + j * tcs, f + j * fcs, item);
    }
}

// Reads operand v, m x n, into the tile at p (m n numbers). `spare` is workspace for W contiguous matrices.
// Elements in flight beyond the matrices of the part repeat the first. With to_row ([m][W]) rows are permuted.
template <class V>
LG_CALL tile<V> load(V *p, const part &c, int v, ptrdiff_t m, ptrdiff_t n, V *spare, const int *to_row = nullptr) {
    typedef traits<V> X;
    typedef typename X::scalar T;
    const lg_view &a = c.call->x[v];
    const ptrdiff_t item = X::parts * sizeof(T);
    const order o = to_row ? strided : order_of(a, m, n, item);
    if (o != strided && !a.list && c.count == X::width) {
        const T *const from = (const T *)place(c, v, 0);
        if (adjoining<const T>::serves(a.step, m * n * X::parts))
            interleave((typename X::real *)p, adjoining<const T>{from, m * n * X::parts}, m * n * X::parts);
        else
            interleave((typename X::real *)p, spaced<const T>{from, a.step}, m * n * X::parts);
        return ordered(p, o, m, n);
    }
    const T *src[X::width];
    for (int l = 0; l < X::width; l++) {
        const char *q = place(c, v, l < c.count ? l : 0);
        if (o == strided) {
            char *s = (char *)spare + l * (m * n * item);
            copy_strided<T, X::parts>(s, n * item, item, q, a.rs, a.cs, m, n, to_row ? to_row + l : nullptr, X::width);
            q = s;
        }
        src[l] = (const T *)q;
    }
    interleave((typename X::real *)p, listed<const T>{src}, m * n * X::parts);
    return ordered(p, o, m, n);
}
// The order a result's tile should have for the quickest store().
template <class V> LG_FN tile<V> result(V *p, const part &c, int v, ptrdiff_t m, ptrdiff_t n) {
    return ordered(p, order_of(c.call->x[v], m, n, traits<V>::parts * sizeof(typename traits<V>::scalar)), m, n);
}
template <class T> LG_FN void put_numbers(T *to, pack<T> x) { *(typename raw<T>::U *)to = x.r; }
template <class T> LG_FN void put_numbers(T *to, T x) { *to = x; }
// Writes a contiguous tile of m n numbers to operand v, except for matrices whose info is not zero. `spare` and to_row
// as in load().
template <class V>
LG_CALL void store(tile<V> t, const part &c, int v, ptrdiff_t m, ptrdiff_t n, V *spare, const int *to_row = nullptr) {
    typedef traits<V> X;
    typedef typename X::scalar T;
    typedef typename X::real P;
    const lg_view &a = c.call->x[v];
    const ptrdiff_t item = X::parts * sizeof(T), numbers = m * n * X::parts;
    const order o = order_of(a, m, n, item);
    const bool rows = o == by_rows && (t.cs == 1 || n == 1) && (t.rs == n || m == 1);
    const bool direct = rows || (o == by_columns && (t.rs == 1 || m == 1) && (t.cs == m || n == 1));
    T *dst[X::width];
    if (direct && !to_row && !a.list && c.count == X::width && !c.failed) {
        T *const to = (T *)place(c, v, 0);
        if (numbers == 1 && a.step == item)
            put_numbers(to, *(const P *)t.p);
        else if (adjoining<T>::serves(a.step, numbers))
            deinterleave((const P *)t.p, adjoining<T>{to, numbers}, numbers);
        else
            deinterleave((const P *)t.p, spaced<T>{to, a.step}, numbers);
        return;
    }
    if (rows && to_row && c.count == X::width && !c.failed) {
        char *whole[X::width];
        for (int l = 0; l < X::width; l++) whole[l] = place(c, v, l);
        for (ptrdiff_t i = 0; i < m; i++) {
            for (int l = 0; l < X::width; l++) dst[l] = (T *)(whole[l] + to_row[i * X::width + l] * (n * item));
            deinterleave((const P *)(t.p + i * n), listed<T>{dst}, n * X::parts);
        }
        return;
    }
    for (int l = 0; l < X::width; l++)
        dst[l] = direct && !to_row && good(c, l) ? (T *)place(c, v, l) : (T *)((char *)spare + l * (m * n * item));
    deinterleave((const P *)t.p, listed<T>{dst}, numbers);
    if (!direct || to_row)
        for (int l = 0; l < c.count; l++)
            if (good(c, l))
                copy_strided<T, X::parts>(place(c, v, l), a.rs, a.cs, (const char *)dst[l], t.rs * item, t.cs * item, m, n,
                                          to_row ? to_row + l : nullptr, X::width);
}
// One number for each matrix, such as info: the element of matrix l of a pack of integers.
template <class T> LG_FN typename bits<T>::I lane_of(const ipack<T> &x, int l) { return x.r[l]; }
LG_FN long long lane_of(const long long &x, int) { return x; }
LG_FN int lane_of(const int &x, int) { return x; }
LG_FN void to_integers(double x, int *to) { *to = (int)x; }
LG_FN void to_integers(float x, int *to) { *to = (int)x; }
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
template <class I> LG_FN void store_info(const I &info, const part &c) {
    int *to = c.call->info + c.first;
    if (any(info != I(0))) {
        c.failed = true;
        for (int l = 0; l < c.count; l++) to[l] = (int)lane_of(info, l);
    } else {
        for (int l = 0; l < c.count; l++) to[l] = 0;
    }
}

// ---- entries of the table --------------------------------------------------------------------------------------------
// A pack takes about as long as four matrices done singly, with the same results bit for bit.
// An operation may do a stretch of packs in one loop, from matrix `first` to the one that is returned; most do not.
template <class Op> auto stretch(const lg_call *c, int first, int) -> decltype(Op::stretch(c, first)) {
    return Op::stretch(c, first);
}
template <class Op> int stretch(const lg_call *, int first, long) { return first; }
template <class P, class S, template <class> class Op> int run(const lg_call *c) {
    const int width = traits<P>::width;
    bool failed = false;
    for (int first = 0;;) {
        first = stretch<Op<P>>(c, first, 0);
        const int left = c->count - first;
        if (left == 0) return failed;
        const part p(c, first, left <= width / 4 ? 1 : left < width ? left : width);
        left <= width / 4 ? Op<S>::run(p) : Op<P>::run(p);
        failed |= p.failed;
        first += p.count;
    }
}
// Op<V>::elements is the workspace in tiles' elements; 64 bytes for the rounding of each of up to 16 pieces.
template <class P, template <class> class Op> ptrdiff_t workspace(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int flags) {
    return Op<P>::elements(m, n, k, flags) * (ptrdiff_t)sizeof(P) + 1024;
}
#define LG_PASTE_(a, b, c) a##b##_##c
#define LG_PASTE(a, b, c) LG_PASTE_(a, b, c)
#define LG_ENTRY(P, S, Op) {lg::run<P, S, lg::Op>, lg::workspace<P, lg::Op>}
// The same for operations on one matrix at a time, whose Op<V> takes parts of one.
template <class V, template <class> class Op> int run_alone(const lg_call *c) {
    bool failed = false;
    for (int l = 0; l < c->count; l++) {
        const part p(c, l, 1);
        Op<V>::run(p);
        failed |= p.failed;
    }
    return failed;
}
// Defines lg_<name>_<tier>[LG_DTYPES] for a struct template Op<V> with static run(part) and elements(m, n, k, flags).
#define LG_REGISTER(name, Op)                                                                                          \
    extern "C" {                                                                                                       \
    extern const lg_entry LG_PASTE(lg_, name, LG_TIER)[LG_DTYPES];                                                     \
    const lg_entry LG_PASTE(lg_, name, LG_TIER)[LG_DTYPES] = {                                                         \
        LG_ENTRY(lg::pack<float>, float, Op), LG_ENTRY(lg::pack<double>, double, Op),                                  \
        LG_ENTRY(lg::cx<lg::pack<float>>, lg::cx<float>, Op), LG_ENTRY(lg::cx<lg::pack<double>>, lg::cx<double>, Op)}; \
    }
#define LG_ENTRY_ALONE(V, Op) {lg::run_alone<V, lg::Op>, lg::workspace<V, lg::Op>}
#define LG_REGISTER_ALONE(name, Op)                                                                                    \
    extern "C" {                                                                                                       \
    extern const lg_entry LG_PASTE(lg_, name, LG_TIER)[LG_DTYPES];                                                     \
    const lg_entry LG_PASTE(lg_, name, LG_TIER)[LG_DTYPES] = {                                                         \
        LG_ENTRY_ALONE(lg::pack<float>, Op), LG_ENTRY_ALONE(lg::pack<double>, Op),                                     \
        LG_ENTRY_ALONE(lg::cx<lg::pack<float>>, Op), LG_ENTRY_ALONE(lg::cx<lg::pack<double>>, Op)};                    \
    }

} // namespace
} // namespace lg
#endif
