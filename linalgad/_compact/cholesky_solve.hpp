// What the Cholesky factor of a matrix solves: systems with that matrix, and its inverse.
#ifndef LINALGAD_COMPACT_CHOLESKY_SOLVE_HPP
#define LINALGAD_COMPACT_CHOLESKY_SOLVE_HPP

#include "lu.hpp"

namespace lg {
namespace {

// b becomes (L L^H)^-1 b for the lower triangle L of t, or its conjugate for conj(b): R^H R is conj(L L^H) for L = R^T.
template <class V> LG_FN void solve_factored(tile<V> t, int n, tile<V> b, int k, bool conjugated) {
    const bool complex = traits<V>::parts == 2;
    if (complex && conjugated) conjugate(b, n, k);
    solve_lower<false>(t, n, b, k);
    if (complex) conjugate(b, n, k); // L^H x = b is L^T conj(x) = conj(b)
    solve_upper<false>(t.t(), n, b, k);
    if (complex && !conjugated) conjugate(b, n, k);
}

// MB x NB numbers of M^H M at row i and column j <= i, M lower triangular, and their conjugates across the diagonal.
template <int MB, int NB, class V> LG_FN void gram_block(const tile<V> &m, int n, const tile<V> &x, int i, int j) {
    V acc[MB][NB];
    LG_UNROLL for (int r = 0; r < MB; r++) LG_UNROLL for (int c = 0; c < NB; c++) acc[r][c] = V(0);
    for (int p = i; p < n; p++) {
        V y[NB];
        LG_UNROLL for (int c = 0; c < NB; c++) y[c] = m(p, j + c);
        LG_UNROLL for (int r = 0; r < MB; r++) {
            const V z = m(p, i + r);
            LG_UNROLL for (int c = 0; c < NB; c++) acc[r][c] = fma_conj(z, y[c], acc[r][c]);
        }
    }
    LG_UNROLL for (int r = 0; r < MB; r++) LG_UNROLL for (int c = 0; c < NB; c++) {
        if (i == j && r < c) continue;
        x(j + c, i + r) = conj_(acc[r][c]);
        x(i + r, j + c) = i == j && r == c ? V(real_(acc[r][c])) : acc[r][c];
    }
}
template <int MB, class V> LG_FN void gram_rows(const tile<V> &m, int n, const tile<V> &x, int i) {
    int j = 0;
    for (; j + 2 <= i; j += 2) gram_block<MB, 2>(m, n, x, i, j);
    gram_block<MB, MB>(m, n, x, i, j);
}
// x becomes M^H M for a lower triangular M whose upper triangle is zero. Blocks have the same side for every V, as the
// zeros of M that they meet would show if other numbers are not finite.
template <class V> LG_CALL void gram(tile<V> m, int n, tile<V> x) {
    int i = 0;
    for (; i + 2 <= n; i += 2) gram_rows<2>(m, n, x, i);
    if (i < n) gram_rows<1>(m, n, x, i);
}

// Orders 2 to 4 in registers: the operations above in the same order, so the same results bit for bit, where the
// reciprocals of the diagonal may be used.
template <int N, class V> struct small_factor {
    V x[N][N], recip[N];

    template <int K> LG_FN void solve(V (&z)[N][K], bool conjugated) const {
        if (conjugated) conjugate(z);
        substitute<false, false, false>(x, recip, z);
        conjugate(z);
        substitute<true, true, false>(x, recip, z);
        if (!conjugated) conjugate(z);
    }
    // z becomes the inverse of L L^H.
    LG_FN void inverse(V (&z)[N][N]) const {
        V m[N][N];
        invert_lower<false>(x, recip, m);
        LG_UNROLL for (int i = 0; i < N; i++) LG_UNROLL for (int j = 0; j <= i; j++) {
            V acc = V(0);
            LG_UNROLL for (int p = i; p < N; p++) acc = fma_conj(m[p][i], m[p][j], acc);
            z[j][i] = conj_(acc);
            z[i][j] = i == j ? V(real_(acc)) : acc;
        }
    }
};

} // namespace
} // namespace lg
#endif
