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
#include "gather.hpp"
#include "granule.hpp"

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
