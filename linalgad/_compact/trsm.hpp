// One triangular matrix and many right-hand sides that lie by rows: a pack is W of them, neighbours in memory, and the
// numbers of the matrix are spread over it. Sums run in the order of triangular.hpp, so results are the same bit for bit.
#ifndef LINALGAD_COMPACT_TRSM_HPP
#define LINALGAD_COMPACT_TRSM_HPP

#include "alone.hpp"
#include "block.hpp"

namespace lg {
namespace {

// The numbers of one matrix, with strides in bytes, each spread over a pack when it is read.
template <class V> struct spreader {
    typedef typename alone<V>::S S;
    const char *p;
    ptrdiff_t rs, cs;
    LG_FN S value(int i, int j) const { return *(const S *)(p + i * rs + j * cs); }
    LG_FN V operator()(int i, int j) const { return alone<V>::splat(value(i, j)); }
    LG_FN spreader at(int i, int j) const { return {p + i * rs + j * cs, rs, cs}; }
    LG_FN spreader reversed(int n) const { return {p + (n - 1) * (rs + cs), -rs, -cs}; }
};

// Rows i .. i + MB of a panel of NB packs, the rows above being solved.
template <bool unit, int MB, int NB, class V>
LG_FN void solve_panel_rows(const spreader<V> &t, const tile<V> &b, int i, const divisor<typename alone<V>::S> *div) {
    V x[MB][NB];
    load_block(x, b.at(i, 0));
    sub_product<MB, NB>(x, i, t.at(i, 0), b);
    LG_UNROLL for (int r = 0; r < MB; r++) {
        LG_UNROLL for (int p = 0; p < r; p++) {
            const V y = t(i + r, i + p);
            LG_UNROLL for (int c = 0; c < NB; c++) x[r][c] = fnma_(y, x[p][c], x[r][c]);
        }
        if (!unit) {
            const V d = alone<V>::splat(div[i + r].d), q = alone<V>::splat(div[i + r].r);
            LG_UNROLL for (int c = 0; c < NB; c++) x[r][c] = div[i + r].any_odd ? divide_(x[r][c], d) : x[r][c] * q;
        }
    }
    store_block(x, b.at(i, 0));
}
// Overwrites a panel of n x NB packs with T^-1 times it for the lower triangle T of t.
template <bool unit, int NB, class V>
LG_CALL void solve_panel(spreader<V> t, int n, tile<V> b, const divisor<typename alone<V>::S> *div) {
    int i = 0;
    for (; i + 4 <= n; i += 4) solve_panel_rows<unit, 4, NB>(t, b, i, div);
    for (; i < n; i++) solve_panel_rows<unit, 1, NB>(t, b, i, div);
}

} // namespace
} // namespace lg
#endif
