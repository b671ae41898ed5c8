#include "layout.hpp"

#include "trsm.hpp"

namespace lg {
namespace {

enum { ORDER = 64 }; // the largest matrix: its panels are on the stack, and in the first-level cache

// Packs side by side in a panel.
template <class V> struct panel {
#if defined(LG_AVX512) || defined(__aarch64__)
    static const int value = traits<V>::parts == 1 ? 4 : 2;
#else
    static const int value = traits<V>::parts == 1 ? 2 : 1;
#endif
};

template <class T> LG_FN void put(pack<T> &x, int l, T y) { x.r[l] = y; }
template <class T> LG_FN void put(cx<pack<T>> &x, int l, cx<T> y) { x.re.r[l] = y.re, x.im.r[l] = y.im; }
template <class T> LG_FN T take(const pack<T> &x, int l) { return x.r[l]; }
template <class T> LG_FN cx<T> take(const cx<pack<T>> &x, int l) { return {x.re.r[l], x.im.r[l]}; }
template <class T> LG_FN void take_row(pack<T> &x, const char *p) { x.r = *(const typename raw<T>::U *)p; }
template <class T> LG_FN void put_row(const pack<T> &x, char *p) { *(typename raw<T>::U *)p = x.r; }
// A row of complex numbers holds real and imaginary parts in turn.
template <class T> LG_FN void take_row(cx<pack<T>> &x, const char *p) {
    const T *q = (const T *)p;
    LG_UNROLL for (int l = 0; l < pack<T>::W; l++) x.re.r[l] = q[2 * l], x.im.r[l] = q[2 * l + 1];
}
template <class T> LG_FN void put_row(const cx<pack<T>> &x, char *p) {
    T *q = (T *)p;
    LG_UNROLL for (int l = 0; l < pack<T>::W; l++) q[2 * l] = x.re.r[l], q[2 * l + 1] = x.im.r[l];
}

// The `count` columns of b from j on, in NB packs a row; those beyond are zero.
template <int NB, class V> LG_CALL void load_panel(V *to, const lg_view &b, int n, ptrdiff_t j, int count, bool conj) {
    typedef typename alone<V>::S S;
    const int W = traits<V>::width;
    const bool by_rows = b.cs == (ptrdiff_t)sizeof(S);
    for (int i = 0; i < n; i++) {
        const char *p = b.base + i * b.rs + j * b.cs;
        LG_UNROLL for (int c = 0; c < NB; c++) {
            V x(0);
            if (by_rows && count >= (c + 1) * W)
                take_row(x, p + c * W * sizeof(S));
            else
                for (int l = 0; l < W && c * W + l < count; l++) put(x, l, *(const S *)(p + (c * W + l) * b.cs));
            to[i * NB + c] = conj ? conj_(x) : x;
        }
    }
}
template <int NB, class V> LG_CALL void store_panel(const V *from, const lg_view &b, int n, ptrdiff_t j, int count, bool conj) {
    typedef typename alone<V>::S S;
    const int W = traits<V>::width;
    const bool by_rows = b.cs == (ptrdiff_t)sizeof(S);
    for (int i = 0; i < n; i++) {
        char *p = b.base + i * b.rs + j * b.cs;
        LG_UNROLL for (int c = 0; c < NB; c++) {
            const V x = conj ? conj_(from[i * NB + c]) : from[i * NB + c];
            if (by_rows && count >= (c + 1) * W)
                put_row(x, p + c * W * sizeof(S));
            else
                for (int l = 0; l < W && c * W + l < count; l++) *(S *)(p + (c * W + l) * b.cs) = take(x, l);
        }
    }
}

template <int NB, class V> LG_FN void solve_columns(const lg_call *c, const spreader<V> &t, bool upper,
                                                    const divisor<typename alone<V>::S> *div, ptrdiff_t j, int count) {
    V b[ORDER * NB];
    const int n = (int)c->n;
    const bool conj = traits<V>::parts == 2 && (c->flags & LG_CONJ);
    load_panel<NB>(b, c->x[1], n, j, count, conj); // conj(T) x = b is T conj(x) = conj(b)
    tile<V> rows = {b, NB, 1};
    if (upper) rows = rows.upside_down(n);
    if (c->flags & LG_UNIT)
        solve_panel<true, NB>(t, n, rows, div);
    else
        solve_panel<false, NB>(t, n, rows, div);
    store_panel<NB>(b, c->x[2], n, j, count, conj);
}

template <class V> int trsm_run(const lg_call *c) {
    typedef typename alone<V>::S S;
    const int n = (int)c->n, NB = panel<V>::value, W = traits<V>::width;
    const bool transposed = c->flags & LG_TRANS, upper = !!(c->flags & LG_UPPER) != transposed;
    const lg_view &a = c->x[0];
    spreader<V> t = {a.base, transposed ? a.cs : a.rs, transposed ? a.rs : a.cs};
    if (upper) t = t.reversed(n);
    divisor<S> div[ORDER];
    if (!(c->flags & LG_UNIT))
        for (int i = 0; i < n; i++) div[i] = divisor<S>(t.value(i, i));
    ptrdiff_t j = 0;
    for (; c->k - j > W; j += NB * W) {
        const ptrdiff_t left = c->k - j;
        solve_columns<panel<V>::value>(c, t, upper, div, j, left < NB * W ? (int)left : NB * W);
    }
    if (j < c->k) solve_columns<1>(c, t, upper, div, j, (int)(c->k - j));
    return 0;
}
inline ptrdiff_t trsm_workspace(ptrdiff_t, ptrdiff_t, ptrdiff_t, int) { return 0; }

} // namespace
} // namespace lg

// One matrix in each call, unlike the other operations.
#define LG_TRSM(P) {lg::trsm_run<P>, lg::trsm_workspace}
extern "C" {
extern const lg_entry LG_PASTE(lg_, trsm, LG_TIER)[LG_DTYPES];
const lg_entry LG_PASTE(lg_, trsm, LG_TIER)[LG_DTYPES] = {LG_TRSM(lg::pack<float>), LG_TRSM(lg::pack<double>),
                                                          LG_TRSM(lg::cx<lg::pack<float>>),
                                                          LG_TRSM(lg::cx<lg::pack<double>>)};
}
