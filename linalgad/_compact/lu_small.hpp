// LU of the smallest orders with all loops unrolled and without a tile: the operations
// of lu.hpp in the same order, so the same results bit for bit. Only the common case is here. Where the reciprocal of a
// pivot may not be used, as for zeros and what is not finite, factor() returns false, and lu.hpp sees to that pack.
#ifndef LINALGAD_COMPACT_LU_SMALL_HPP
#define LINALGAD_COMPACT_LU_SMALL_HPP

#include "lu.hpp"

namespace lg {
namespace {

// The largest orders for which this is quicker than lu.hpp: for factors alone, and where systems follow. Rows that do not
// fit in registers are exchanged in memory, which complex numbers reach earlier.
template <class V> constexpr int unrolled_factors = traits<V>::parts == 1 ? 5 : 4;
constexpr int unrolled_solutions = 6;

template <int N, class V> struct small_lu {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    typedef typename traits<V>::M M;
    V x[N][N], recip[N]; // the matrix, then its factors
    P swap[N];
    M to[N][N]; // of rows t < i: exchanged in step t

    template <bool whole> LG_FN bool factor() {
        M fine = P(0) == P(0);
        LG_UNROLL for (int t = 0; t < N; t++) {
            pivot_search<V> found(x[t][t], P(T(t)));
            LG_UNROLL for (int i = t + 1; i < N; i++) found.look(x[i][t], P(T(i)));
            swap[t] = found.place;
            LG_UNROLL for (int i = t + 1; i < N; i++) {
                to[t][i] = swap[t] == P(T(i));
                LG_UNROLL for (int s = whole ? 0 : t; s < N; s++) exchange(to[t][i], x[t][s], x[i][s]);
            }
            fine = fine & has_reciprocal(x[t][t]);
            recip[t] = recip_(x[t][t]);
            LG_UNROLL for (int i = t + 1; i < N; i++) {
                x[i][t] = x[i][t] * recip[t];
                LG_UNROLL for (int s = t + 1; s < N; s++) x[i][s] = fnma_(x[i][t], x[t][s], x[i][s]);
            }
        }
        return !any(not_(fine));
    }
    // z becomes the solution for the transposed matrix, with K columns of right-hand sides
    template <int K> LG_FN void solve(V (&z)[N][K]) const {
        substitute<false, true, false>(x, recip, z);
        solve_pivoted(z);
    }
    // and the inverse of the transposed matrix
    LG_FN void inverse(V (&z)[N][N]) const {
        invert_lower<true>(x, recip, z);
        solve_pivoted(z);
    }
    template <int K> LG_FN void solve_pivoted(V (&z)[N][K]) const {
        substitute<true, true, true>(x, recip, z);
        LG_UNROLL for (int t = N - 2; t >= 0; t--) LG_UNROLL for (int i = t + 1; i < N; i++)
            LG_UNROLL for (int c = 0; c < K; c++) exchange(to[t][i], z[t][c], z[i][c]);
    }
};

// Rows and columns of the square x exchanged.
template <int N, class V> LG_FN void transpose(V (&x)[N][N]) {
    LG_UNROLL for (int i = 0; i < N; i++) LG_UNROLL for (int j = 0; j < i; j++) {
        const V t = x[i][j];
        x[i][j] = x[j][i];
        x[j][i] = t;
    }
}

} // namespace
} // namespace lg
#endif
