// Cholesky factorisation A = L L^H of one Hermitian positive definite matrix in each SIMD element.
#ifndef LINALGAD_COMPACT_CHOLESKY_HPP
#define LINALGAD_COMPACT_CHOLESKY_HPP

#include "block.hpp"

namespace lg {
namespace {

// Factors the diagonal block at row `at`; inv gets the reciprocals of its diagonal. info becomes the order of the first
// leading minor that is not positive; a NaN pivot counts as one, as in LAPACK.
template <int NB, class V>
LG_FN void cholesky_diagonal(V (&d)[NB][NB], typename traits<V>::real (&inv)[NB], int at, typename traits<V>::I &info) {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;
    LG_UNROLL for (int j = 0; j < NB; j++) {
        P s = real_(d[j][j]);
        LG_UNROLL for (int p = 0; p < j; p++) s = sub_abs2(d[j][p], s);
        info = select(not_(s > P(0)) & (info == I(0)), I(at + j + 1), info);
        s = sqrt_(s);
        inv[j] = P(1) / s;
        d[j][j] = V(s);
        LG_UNROLL for (int i = j + 1; i < NB; i++) {
            LG_UNROLL for (int p = 0; p < j; p++) d[i][j] = fnma_conj(d[i][p], d[j][p], d[i][j]);
            d[i][j] = scale_(d[i][j], inv[j]);
        }
        LG_UNROLL for (int i = 0; i < j; i++) d[i][j] = V(0);
    }
}

// NB columns from column `at`: the diagonal block, then MB rows at a time below it.
template <int NB, int MB, class T, class V>
LG_FN void cholesky_rows(const T &a, int i, int at, const V (&d)[NB][NB], const typename traits<V>::real (&inv)[NB]) {
    V x[MB][NB];
    load_block(x, a.at(i, at));
    sub_product<MB, NB, true>(x, at, a.at(i, 0), a.at(at, 0).t());
    LG_UNROLL for (int j = 0; j < NB; j++) LG_UNROLL for (int r = 0; r < MB; r++) {
        LG_UNROLL for (int p = 0; p < j; p++) x[r][j] = fnma_conj(x[r][p], d[j][p], x[r][j]);
        x[r][j] = scale_(x[r][j], inv[j]);
    }
    store_block(x, a.at(i, at));
}
template <int NB, class V, class T> LG_FN void cholesky_columns(const T &a, int n, int at, typename traits<V>::I &info) {
    V d[NB][NB];
    typename traits<V>::real inv[NB];
    load_block(d, a.at(at, at));
    sub_product<NB, NB, true>(d, at, a.at(at, 0), a.at(at, 0).t());
    cholesky_diagonal(d, inv, at, info);
    store_block(d, a.at(at, at));
    int i = at + NB;
    for (; i + NB <= n; i += NB) cholesky_rows<NB, NB>(a, i, at, d, inv);
    for (; i < n; i++) cholesky_rows<NB, 1>(a, i, at, d, inv);
    // the other triangle, right of the diagonal block
    for (int j = at + NB; j < n; j++) LG_UNROLL for (int r = 0; r < NB; r++) a(at + r, j) = V(0);
}

// Overwrites the lower triangle of the n x n tile with L and its upper triangle with zeros. Only the lower triangle
// and the real parts of the diagonal are read. Returns LAPACK's info.
template <class V, class T> LG_FN typename traits<V>::I cholesky(const T &a, int n) {
    const int nb = side<V>::value;
    typename traits<V>::I info(0);
    int at = 0;
    for (; at + nb <= n; at += nb) cholesky_columns<nb, V>(a, n, at, info);
    if (n - at == 3 && nb > 3) cholesky_columns<3, V>(a, n, at, info);
    if (n - at == 2 && nb > 2) cholesky_columns<2, V>(a, n, at, info);
    if (n - at == 1) cholesky_columns<1, V>(a, n, at, info);
    return info;
}

} // namespace
} // namespace lg
#endif
