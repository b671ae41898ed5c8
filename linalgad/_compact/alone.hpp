// The numbers of a pack V = pack<T> or cx<pack<T>>, one by one, where they belong to one matrix.
#ifndef LINALGAD_COMPACT_ALONE_HPP
#define LINALGAD_COMPACT_ALONE_HPP

#include "pack.hpp"

namespace lg {
namespace {

// get() and put() read and write one, splat() fills a pack with it; the imaginary part lies W behind the real one.
// load() and store() move W neighbours in a user's array, where complex numbers are pairs.
template <class V> struct alone;
template <class T> struct alone<pack<T>> {
    typedef T S;
    LG_FN static T get(const T *p) { return *p; }
    LG_FN static void put(T *p, T x) { *p = x; }
    LG_FN static pack<T> splat(const T *p) { return pack<T>(*p); }
    LG_FN static pack<T> splat(T x) { return pack<T>(x); }
    LG_FN static pack<T> load(const char *p) { return pack<T>::of(*(const typename raw<T>::U *)p); }
    LG_FN static void store(char *p, pack<T> x) { *(typename raw<T>::U *)p = x.r; }
};
template <class T> struct alone<cx<pack<T>>> {
    typedef cx<T> S;
    static const int W = pack<T>::W;
    LG_FN static cx<T> get(const T *p) { return {p[0], p[W]}; }
    LG_FN static void put(T *p, cx<T> x) { p[0] = x.re, p[W] = x.im; }
    LG_FN static cx<pack<T>> splat(const T *p) { return {pack<T>(p[0]), pack<T>(p[W])}; }
    LG_FN static cx<pack<T>> splat(cx<T> x) { return {pack<T>(x.re), pack<T>(x.im)}; }
    LG_FN static cx<pack<T>> load(const char *p) {
        cx<pack<T>> x;
        LG_UNROLL for (int l = 0; l < W; l++) x.re.r[l] = ((const T *)p)[2 * l], x.im.r[l] = ((const T *)p)[2 * l + 1];
        return x;
    }
    LG_FN static void store(char *p, cx<pack<T>> x) {
        LG_UNROLL for (int l = 0; l < W; l++) ((T *)p)[2 * l] = x.re.r[l], ((T *)p)[2 * l + 1] = x.im.r[l];
    }
};

} // namespace
} // namespace lg
#endif
