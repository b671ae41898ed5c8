// Triangular systems. In a tile a transposed or reversed matrix is a matter of strides, so the lower triangular solver
// is the only one there; of orders that the compiler knows, matrices are in registers, and substitute() has all kinds.
#ifndef LINALGAD_COMPACT_TRIANGULAR_HPP
#define LINALGAD_COMPACT_TRIANGULAR_HPP

#include "block.hpp"

namespace lg {
namespace {

template <bool unit, int MB, int NB, class V, class D>
LG_FN void solve_lower_block(const tile<V> &t, const tile<V> &b, int i, int j, const D *div) {
    V x[MB][NB];
    load_block(x, b.at(i, j));
    sub_product<MB, NB>(x, i, t.at(i, 0), b.at(0, j));
    LG_UNROLL for (int r = 0; r < MB; r++) {
        LG_UNROLL for (int p = 0; p < r; p++) {
            const V y = t(i + r, i + p);
            LG_UNROLL for (int c = 0; c < NB; c++) x[r][c] = fnma_(y, x[p][c], x[r][c]);
        }
        if (!unit) LG_UNROLL for (int c = 0; c < NB; c++) x[r][c] = div[r](x[r][c]);
    }
    store_block(x, b.at(i, j));
}
template <bool unit, int MB, class V> LG_CALL void solve_lower_rows(const tile<V> &t, const tile<V> &b, int i, int k) {
    const int nb = side<V>::value;
    divisor<V> div[MB];
    if (!unit) LG_UNROLL for (int r = 0; r < MB; r++) div[r] = divisor<V>(t(i + r, i + r));
    int j = 0;
    for (; j + nb <= k; j += nb) solve_lower_block<unit, MB, nb>(t, b, i, j, div);
    if (nb > 2 && j + 2 <= k) {
        solve_lower_block<unit, MB, 2>(t, b, i, j, div);
        j += 2;
    }
    for (; j < k; j++) solve_lower_block<unit, MB, 1>(t, b, i, j, div);
}

// Overwrites b (n x k) with T^-1 b for the lower triangle T of t (n x n), its diagonal taken as ones if `unit`.
template <bool unit, class V> LG_CALL void solve_lower(tile<V> t, int n, tile<V> b, int k) {
    const int mb = side<V>::value;
    int i = 0;
    for (; i + mb <= n; i += mb) solve_lower_rows<unit, mb>(t, b, i, k);
    if (mb > 2 && i + 2 <= n) {
        solve_lower_rows<unit, 2>(t, b, i, k);
        i += 2;
    }
    for (; i < n; i++) solve_lower_rows<unit, 1>(t, b, i, k);
}
template <bool unit, class V> LG_FN void solve_upper(tile<V> t, int n, tile<V> b, int k) {
    solve_lower<unit>(t.reversed(n, n), n, b.upside_down(n), k);
}
template <class V> LG_FN void conjugate(tile<V> t, int m, int n) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) t(i, j) = conj_(t(i, j));
}
// The number of the first row with a zero on the diagonal, counted from 1; 0 if there is none.
template <class V> LG_FN typename traits<V>::I first_zero(tile<V> t, int n) {
    typedef typename traits<V>::I I;
    typedef typename traits<V>::real P;
    I info(0);
    for (int i = n - 1; i >= 0; i--) info = select(abs1_(t(i, i)) == P(0), I(i + 1), info);
    return info;
}

// Orders that the compiler knows, in registers: the operations above in the same order, so the same results bit for
// bit.
// z becomes T^-1 z for the upper or lower triangle T of x or, if `transposed`, of its transpose.
template <bool upper, bool transposed, bool unit, int N, int K, class V>
LG_FN void substitute(const V (&x)[N][N], const V (&recip)[N], V (&z)[N][K]) {
    LG_UNROLL for (int c = 0; c < K; c++) LG_UNROLL for (int s = 0; s < N; s++) {
        const int i = upper ? N - 1 - s : s;
        LG_UNROLL for (int q = 0; q < s; q++) {
            const int p = upper ? N - 1 - q : q;
            z[i][c] = fnma_(transposed ? x[p][i] : x[i][p], z[p][c], z[i][c]);
        }
        if (!unit) z[i][c] = z[i][c] * recip[i];
    }
}
// z becomes the inverse of the lower triangle, or of that of the transpose.
template <bool transposed, int N, class V>
LG_FN void invert_lower(const V (&x)[N][N], const V (&recip)[N], V (&z)[N][N]) {
    LG_UNROLL for (int c = 0; c < N; c++) LG_UNROLL for (int i = 0; i < N; i++) {
        z[i][c] = V(i == c);
        LG_UNROLL for (int p = c; p < i; p++) z[i][c] = fnma_(transposed ? x[p][i] : x[i][p], z[p][c], z[i][c]);
        if (i >= c) z[i][c] = z[i][c] * recip[i];
    }
}
template <int N, int K, class V> LG_FN void conjugate(V (&z)[N][K]) {
    LG_UNROLL for (int i = 0; i < N; i++) LG_UNROLL for (int c = 0; c < K; c++) z[i][c] = conj_(z[i][c]);
}
// The reciprocals of the diagonal; whether they may be used.
template <int N, class V> LG_FN bool invert_diagonal(const V (&x)[N][N], V (&recip)[N]) {
    typename traits<V>::M fine = typename traits<V>::real(0) == typename traits<V>::real(0);
    LG_UNROLL for (int i = 0; i < N; i++) {
        fine = fine & has_reciprocal(x[i][i]);
        recip[i] = recip_(x[i][i]);
    }
    return !any(not_(fine));
}

} // namespace
} // namespace lg
#endif
