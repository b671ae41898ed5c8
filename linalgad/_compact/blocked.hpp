// One matrix at a time, with SIMD along its rows: for matrices too large to be interleaved with others in the cache.
//
// A matrix lies by rows in the workspace, each row a run of V: pack<T>, or cx<pack<T>> with the real and the imaginary
// parts of W numbers side by side. Nearly all the work is in product_block(): a rectangle of rows and packs is held in
// registers while products of a column of numbers and a row of packs are taken from it. The sums of a number run in the
// same order wherever blocks begin.
#ifndef LINALGAD_COMPACT_BLOCKED_HPP
#define LINALGAD_COMPACT_BLOCKED_HPP

#include "alone.hpp"
#include "layout.hpp"

namespace lg {
namespace {

// Rows and columns eliminated at a time; a multiple of every W.
static const int BLOCK = 16;

// The register block: rows, and packs in each. Its accumulators and operands fill the register file.
template <class V> struct extent {
#if defined(LG_AVX512) || defined(__aarch64__)
    static const int rows = traits<V>::parts == 1 ? 8 : 4;
#else
    static const int rows = traits<V>::parts == 1 ? 4 : 2;
#endif
    static const int packs = traits<V>::parts == 1 ? 3 : 2;
};

template <class V> struct rows {
    typedef typename traits<V>::scalar T;
    typedef typename alone<V>::S S;
    static const int W = traits<V>::width, parts = traits<V>::parts;
    V *p;
    ptrdiff_t ld; // packs from row to row
    // where number j of a row is: its real part, the imaginary part W further
    LG_FN static ptrdiff_t place(ptrdiff_t j) { return parts == 1 ? j : j / W * (W * parts) + j % W; }
    LG_FN V *row(ptrdiff_t i) const { return p + i * ld; }
    LG_FN T *at(ptrdiff_t i, ptrdiff_t j) const { return (T *)row(i) + place(j); }
    LG_FN S get(ptrdiff_t i, ptrdiff_t j) const { return alone<V>::get(at(i, j)); }
    LG_FN void put(ptrdiff_t i, ptrdiff_t j, S x) const { alone<V>::put(at(i, j), x); }
    LG_FN ptrdiff_t step() const { return ld * W * parts; } // of at() from row to row
};
template <class V> LG_FN void exchange_rows(const rows<V> &x, int i, int j, int packs) {
    if (i != j) for (int q = 0; q < packs; q++) {
        const V t = x.row(i)[q];
        x.row(i)[q] = x.row(j)[q];
        x.row(j)[q] = t;
    }
}
// Numbers i and j of each of m rows.
template <class V> LG_FN void exchange_columns(const rows<V> &x, int i, int j, int m) {
    if (i != j) for (int r = 0; r < m; r++) {
        const auto t = x.get(r, i);
        x.put(r, i, x.get(r, j));
        x.put(r, j, t);
    }
}
LG_FN int packs_for(ptrdiff_t n, int width) { return (int)((n + width - 1) / width); }
// An odd number of packs: rows at a distance of a power of two would compete for the same places of the cache.
template <class V> LG_FN ptrdiff_t stride_for(ptrdiff_t n) { return packs_for(n, traits<V>::width) | 1; }
template <class V> LG_FN rows<V> take_rows(arena &ws, ptrdiff_t m, ptrdiff_t n) {
    return {ws.take<V>(m * stride_for<V>(n)), stride_for<V>(n)};
}
template <class V> LG_FN ptrdiff_t row_elements(ptrdiff_t m, ptrdiff_t n) { return m * stride_for<V>(n); }
// 0, 1, ... W - 1, plus an offset
template <class P> LG_FN P counted(ptrdiff_t from) {
    typedef typename traits<P>::scalar T;
    P x;
    LG_UNROLL for (int l = 0; l < traits<P>::width; l++) x.r[l] = (T)l;
    return x + P((T)from);
}

// ---- products --------------------------------------------------------------------------------------------------------
// The order of the factors shows in the rounding of complex products: the number of the triangle or of L comes first, as
// in the kernels for packs.
enum product { number_first, pack_first, number_conjugated };
template <product kind, class V> LG_FN V subtract(V number, V x, V c) {
    if constexpr (kind == number_first) return fnma_(number, x, c);
    if constexpr (kind == pack_first) return fnma_(x, number, c);
    return fnma_conj(x, number, c);
}
// x(i, j) = c(i, j) - sum over p < k of a(i, p) b(p, j) for MB rows and NB packs; a(i, p) is the number at a[p lda + i].
template <int MB, int NB, product kind, class V, class T>
LG_FN void product_block(V *c, ptrdiff_t ldc, const T *a, ptrdiff_t lda, const V *b, ptrdiff_t ldb, int k, V (&x)[MB][NB]) {
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) x[i][j] = c[i * ldc + j];
    for (int p = 0; p < k; p++, a += lda, b += ldb) {
        V y[NB];
        LG_UNROLL for (int j = 0; j < NB; j++) y[j] = b[j];
        LG_UNROLL for (int i = 0; i < MB; i++) {
            const V f = alone<V>::splat(a + i);
            LG_UNROLL for (int j = 0; j < NB; j++) x[i][j] = subtract<kind>(f, y[j], x[i][j]);
        }
    }
}
template <int MB, int NB, class V> LG_FN void put_block(V *c, ptrdiff_t ldc, const V (&x)[MB][NB]) {
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) c[i * ldc + j] = x[i][j];
}
template <int MB, int NB, product kind = number_first, class V, class T>
LG_FN int product_packs(V *c, ptrdiff_t ldc, const T *a, ptrdiff_t lda, const V *b, ptrdiff_t ldb, int k, int j, int packs) {
    for (; j + NB <= packs; j += NB) {
        V x[MB][NB];
        product_block<MB, NB, kind>(c + j, ldc, a, lda, b + j, ldb, k, x);
        put_block(c + j, ldc, x);
    }
    return j;
}
template <int MB, product kind = number_first, class V, class T>
LG_CALL void product_rows(V *c, ptrdiff_t ldc, const T *a, ptrdiff_t lda, const V *b, ptrdiff_t ldb, int k, int packs) {
    int j = product_packs<MB, extent<V>::packs, kind>(c, ldc, a, lda, b, ldb, k, 0, packs);
    if (extent<V>::packs > 2) j = product_packs<MB, 2, kind>(c, ldc, a, lda, b, ldb, k, j, packs);
    product_packs<MB, 1, kind>(c, ldc, a, lda, b, ldb, k, j, packs);
}
// Rows [from, m) of `packs` packs from c on; `from` is a multiple of BLOCK.
template <class V, class T>
LG_FN void subtract_product(V *c, ptrdiff_t ldc, int from, int m, int packs, const T *a, ptrdiff_t lda, const V *b,
                            ptrdiff_t ldb, int k) {
    const int mb = extent<V>::rows;
    int i = from;
    for (; i + mb <= m; i += mb) product_rows<mb>(c + i * ldc, ldc, a + rows<V>::place(i), lda, b, ldb, k, packs);
    if (i + mb / 2 <= m) {
        product_rows<mb / 2>(c + i * ldc, ldc, a + rows<V>::place(i), lda, b, ldb, k, packs);
        i += mb / 2;
    }
    for (; i < m; i++) product_rows<1>(c + i * ldc, ldc, a + rows<V>::place(i), lda, b, ldb, k, packs);
}

// ---- triangular systems ----------------------------------------------------------------------------------------------
// With f = F, forward solves T X = B for T(i, p) = F(p, i), p <= i, and backward for T(i, p) = F(p, i), p >= i: the
// triangles of the transposed matrix, so that the numbers that meet a row of X are neighbours in F.
// With number_conjugated F is conjugated, and its diagonal positive.
enum direction { forward, backward };

// Division by a positive number
template <class V> struct positive_divisor {
    typename traits<V>::real r;
    positive_divisor() = default;
    LG_FN explicit positive_divisor(V x) : r(typename traits<V>::real(1) / real_(x)) {}
    LG_FN V operator()(V y) const { return scale_(y, r); }
};
template <product kind, class V> struct diagonal { typedef divisor<V> type; };
template <class V> struct diagonal<number_conjugated, V> { typedef positive_divisor<V> type; };

// MB rows of X from row i on, within a block of rows [at, end): products with rows already solved, then the triangle.
template <direction D, bool unit, product kind, int MB, int NB, class V, class Q>
LG_FN void solve_packs(const rows<V> &f, int at, int end, int i, const rows<V> &x, V *base, const Q *div) {
    V z[MB][NB];
    V *c = base + i * x.ld;
    if (D == forward)
        product_block<MB, NB, kind>(c, x.ld, f.at(at, i), f.step(), base + at * x.ld, x.ld, i - at, z);
    else
        product_block<MB, NB, kind>(c, x.ld, f.at(end - 1, i), -f.step(), base + (end - 1) * x.ld, -x.ld, end - i - MB, z);
    LG_UNROLL for (int s = 0; s < MB; s++) {
        const int r = D == forward ? s : MB - 1 - s;
        LG_UNROLL for (int q = 0; q < s; q++) {
            const int p = D == forward ? q : MB - 1 - q;
            const V t = alone<V>::splat(f.at(i + p, i + r));
            LG_UNROLL for (int j = 0; j < NB; j++) z[r][j] = subtract<kind>(t, z[p][j], z[r][j]);
        }
        if (!unit) LG_UNROLL for (int j = 0; j < NB; j++) z[r][j] = div[r](z[r][j]);
    }
    put_block(c, x.ld, z);
}
template <direction D, bool unit, product kind, int MB, class V>
LG_CALL void solve_some(const rows<V> &f, int at, int end, int i, const rows<V> &x, int first, int packs) {
    const int nb = 2;
    typedef typename diagonal<kind, V>::type Q;
    Q div[MB];
    if (!unit) LG_UNROLL for (int r = 0; r < MB; r++) div[r] = Q(alone<V>::splat(f.at(i + r, i + r)));
    int j = first;
    for (; j + nb <= packs; j += nb) solve_packs<D, unit, kind, MB, nb>(f, at, end, i, x, x.p + j, div);
    for (; j < packs; j++) solve_packs<D, unit, kind, MB, 1>(f, at, end, i, x, x.p + j, div);
}
// Rows [at, end) of X, packs [first, packs) of each; the other rows of the sums have been subtracted.
template <direction D, bool unit, product kind = number_first, class V>
LG_FN void solve_block(const rows<V> &f, int at, int end, const rows<V> &x, int first, int packs) {
    const int mb = extent<V>::rows, whole = at + (end - at) / mb * mb;
    if (D == forward) {
        for (int i = at; i < whole; i += mb) solve_some<D, unit, kind, mb>(f, at, end, i, x, first, packs);
        for (int i = whole; i < end; i++) solve_some<D, unit, kind, 1>(f, at, end, i, x, first, packs);
    } else {
        for (int i = end - 1; i >= whole; i--) solve_some<D, unit, kind, 1>(f, at, end, i, x, first, packs);
        for (int i = whole - mb; i >= at; i -= mb) solve_some<D, unit, kind, mb>(f, at, end, i, x, first, packs);
    }
}
// X of n rows. With `lower` the right-hand sides are the identity, or the lower triangle that the forward half makes of it.
template <direction D, bool unit, bool lower, class V>
LG_CALL void solve_rows(const rows<V> &f, int n, const rows<V> &x, int packs) {
    if (D == forward)
        for (int at = 0; at < n; at += BLOCK) {
            const int end = at + BLOCK < n ? at + BLOCK : n;
            const int some = lower ? packs_for(end, rows<V>::W) : packs;
            solve_block<D, unit>(f, at, end, x, 0, some);
            subtract_product(x.p, x.ld, end, n, some, f.at(at, 0), f.step(), x.row(at), x.ld, end - at);
        }
    else
        for (int at = (n - 1) / BLOCK * BLOCK; at >= 0; at -= BLOCK) {
            const int end = at + BLOCK < n ? at + BLOCK : n;
            solve_block<D, unit>(f, at, end, x, 0, packs);
            subtract_product(x.p, x.ld, 0, at, packs, f.at(end - 1, 0), -f.step(), x.row(end - 1), -x.ld, end - at);
        }
}

// The same for a right-hand side that is a row y of n numbers, where they are too few to fill a pack: as many numbers as
// a pack has are found, and their multiples of rows of F are subtracted from the others.
template <direction D, bool unit, class V> LG_CALL void solve_row(const rows<V> &f, int n, const rows<V> &y) {
    typedef typename rows<V>::S S;
    const int W = rows<V>::W, packs = packs_for(n, W), sign = D == forward ? 1 : -1;
    for (int q = 0; q < packs; q++) {
        const int v = D == forward ? q : packs - 1 - q, at = v * W, count = n - at < W ? n - at : W;
        const int first = D == forward ? at : at + count - 1;
        S x[W];
        for (int t = 0; t < count; t++) x[t] = y.get(0, first + sign * t);
        for (int t = 0; t < count; t++) {
            const int r = first + sign * t;
            if (!unit) x[t] = divisor<S>(f.get(r, r))(x[t]);
            for (int s = t + 1; s < count; s++) x[s] = fnma_(f.get(r, first + sign * s), x[t], x[s]);
            y.put(0, r, x[t]);
        }
        const int end = D == forward ? packs : v;
        int j = D == forward ? v + 1 : 0;
        const auto *a = y.at(0, first);
        const V *b = f.row(first);
        j = product_packs<1, 4, pack_first>(y.p, y.ld, a, sign, b, sign * f.ld, count, j, end);
        product_packs<1, 1, pack_first>(y.p, y.ld, a, sign, b, sign * f.ld, count, j, end);
    }
}

// ---- to and from users' arrays and the columns of a panel ------------------------------------------------------------
// W runs of `count` numbers become packs, number f the one at to(f), and back.
template <class T, class D, class F> LG_FN void turn_in(const D &to, const F &from, int count) {
    typedef granule<T> G;
    typename raw<T>::R x[G::G];
    int f = 0;
    for (; f + G::G <= count; f += G::G) {
        LG_UNROLL for (int i = 0; i < G::G; i++) x[i] = G::join(from, i, f);
        G::turn(x);
        LG_UNROLL for (int i = 0; i < G::G; i++) to(f + i)->r = x[i];
    }
    for (; f < count; f++) LG_UNROLL for (int l = 0; l < pack<T>::W; l++) to(f)->r[l] = from(l)[f];
}
template <class T, class D, class F> LG_FN void turn_out(const D &from, const F &to, int count) {
    typedef granule<T> G;
    typename raw<T>::R x[G::G];
    int f = 0;
    for (; f + G::G <= count; f += G::G) {
        LG_UNROLL for (int i = 0; i < G::G; i++) x[i] = from(f + i)->r;
        G::turn(x);
        LG_UNROLL for (int i = 0; i < G::G; i++) G::split(x[i], to, i, f);
    }
    for (; f < count; f++) LG_UNROLL for (int l = 0; l < pack<T>::W; l++) to(l)[f] = from(f)->r[l];
}
// Pack v of each row, as the numbers of W columns of a user's array come: parts of a complex number in turn.
template <class V> LG_FN auto down_columns(const rows<V> &d, int v) {
    typedef pack<typename rows<V>::T> P;
    const int parts = rows<V>::parts;
    return [=](int f) { return (P *)(d.row(f / parts) + v) + f % parts; };
}

// The matrix at q with strides in bytes, m x n, to rows; numbers of the last pack beyond n are zero.
template <class V> LG_CALL void load_rows(const rows<V> &d, const char *q, ptrdiff_t rs, ptrdiff_t cs, int m, int n) {
    typedef typename rows<V>::T T;
    typedef typename rows<V>::S S;
    const int W = rows<V>::W, whole = n / W;
    int done = 0; // columns
    if (n % W)
        for (int i = 0; i < m; i++) d.row(i)[whole] = V(0);
    if (cs == sizeof(S)) {
        done = whole * W;
        for (int i = 0; i < m; i++)
            for (int v = 0; v < whole; v++) d.row(i)[v] = alone<V>::load(q + i * rs + v * W * sizeof(S));
    } else if (rs == sizeof(S)) {
        for (; done + W <= n; done += W)
            turn_in<T>(down_columns(d, done / W), spaced<const T>{(const T *)(q + done * cs), cs}, m * rows<V>::parts);
    }
    for (int at = 0; at < m; at += BLOCK) // by tiles: one side may run down columns
        for (int j = done; j < n; j += BLOCK)
            for (int i = at; i < m && i < at + BLOCK; i++)
                for (int c = j; c < n && c < j + BLOCK; c++) {
                    S x;
                    __builtin_memcpy(&x, q + i * rs + c * cs, sizeof x);
                    d.put(i, c, x);
                }
}
// Row i goes to row to_row[i], or to row i without that list.
template <class V>
LG_CALL void store_rows(const rows<V> &d, char *q, ptrdiff_t rs, ptrdiff_t cs, int m, int n, const int *to_row = nullptr) {
    typedef typename rows<V>::T T;
    typedef typename rows<V>::S S;
    const int W = rows<V>::W, whole = n / W;
    int done = 0;
    if (cs == sizeof(S)) {
        done = whole * W;
        for (int i = 0; i < m; i++)
            for (int v = 0; v < whole; v++)
                alone<V>::store(q + (to_row ? to_row[i] : i) * rs + v * W * sizeof(S), d.row(i)[v]);
    } else if (rs == sizeof(S) && !to_row) {
        for (; done + W <= n; done += W)
            turn_out<T>(down_columns(d, done / W), spaced<T>{(T *)(q + done * cs), cs}, m * rows<V>::parts);
    }
    for (int at = 0; at < m; at += BLOCK)
        for (int j = done; j < n; j += BLOCK)
            for (int i = at; i < m && i < at + BLOCK; i++)
                for (int c = j; c < n && c < j + BLOCK; c++) {
                    const S x = d.get(i, c);
                    __builtin_memcpy(q + (to_row ? to_row[i] : i) * rs + c * cs, &x, sizeof x);
                }
}

// The operands of a call for one matrix.
LG_FN char *place(const part &c, int v) { return place(c, v, 0); }
LG_FN void set_info(const part &c, int info) {
    c.call->info[c.first] = info;
    c.failed = info != 0;
}
template <class V> LG_FN void load_view(const rows<V> &d, const part &c, int v, int m, int n, bool transposed = false) {
    const lg_view &a = c.call->x[v];
    load_rows(d, place(c, v), transposed ? a.cs : a.rs, transposed ? a.rs : a.cs, m, n);
}
template <class V> LG_FN void store_view(const rows<V> &d, const part &c, int v, int m, int n, bool transposed = false) {
    const lg_view &a = c.call->x[v];
    store_rows(d, place(c, v), transposed ? a.cs : a.rs, transposed ? a.rs : a.cs, m, n);
}
template <class V> LG_FN void conjugate(const rows<V> &x, int m, int n) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < packs_for(n, rows<V>::W); j++) x.row(i)[j] = conj_(x.row(i)[j]);
}

} // namespace
} // namespace lg
#endif
