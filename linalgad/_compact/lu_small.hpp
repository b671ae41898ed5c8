// LU of orders 2 to 4 with the matrices of a pack in registers, loops unrolled: the operations of lu.hpp in the same
// order, so the same results bit for bit. Only the common case is here. Where the reciprocal of a pivot may not be used,
// as for zeros and what is not finite, functions return false and have written nothing: lu.hpp sees to that pack.
#ifndef LINALGAD_COMPACT_LU_SMALL_HPP
#define LINALGAD_COMPACT_LU_SMALL_HPP

#include "lu.hpp"

namespace lg {
namespace {

template <int N, class V> struct small_lu {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::scalar T;
    typedef typename traits<V>::M M;
    V x[N][N], recip[N];
    P swap[N];
    M to[N][N]; // of rows t < i: exchanged in step t

    template <bool whole> LG_FN bool factor(const tile<V> &a) {
        typedef bits<T> B;
        load_block(x, a);
        M fine = P(0) == P(0);
        LG_UNROLL for (int t = 0; t < N; t++) {
            P most = pivot_size(x[t][t]);
            swap[t] = P(T(t));
            LG_UNROLL for (int i = t + 1; i < N; i++) {
                const P size = pivot_size(x[i][t]);
                swap[t] = select(size > most, P(T(i)), swap[t]);
                most = larger_(most, size);
            }
            LG_UNROLL for (int i = t + 1; i < N; i++) {
                to[t][i] = swap[t] == P(T(i));
                LG_UNROLL for (int s = whole ? 0 : t; s < N; s++) exchange(to[t][i], x[t][s], x[i][s]);
            }
            const P size = absmax_(x[t][t]);
            fine = fine & (size >= P(B::tiny)) & (size <= P(B::huge));
            recip[t] = recip_(x[t][t]);
            LG_UNROLL for (int i = t + 1; i < N; i++) {
                x[i][t] = x[i][t] * recip[t];
                LG_UNROLL for (int s = t + 1; s < N; s++) x[i][s] = fnma_(x[i][t], x[t][s], x[i][s]);
            }
        }
        return !any(not_(fine));
    }
    // rows of z, the solution of L^T P z' = z, to the order of the matrix
    template <int K> LG_FN void solve_pivoted(V (&z)[N][K]) const {
        LG_UNROLL for (int i = N - 2; i >= 0; i--) LG_UNROLL for (int p = N - 1; p > i; p--)
            LG_UNROLL for (int c = 0; c < K; c++) z[i][c] = fnma_(x[p][i], z[p][c], z[i][c]);
        LG_UNROLL for (int t = N - 2; t >= 0; t--) LG_UNROLL for (int i = t + 1; i < N; i++)
            LG_UNROLL for (int c = 0; c < K; c++) exchange(to[t][i], z[t][c], z[i][c]);
    }
};

template <int N, class V> LG_FN bool small_factor(tile<V> a, typename traits<V>::real *swap) {
    small_lu<N, V> f;
    if (!f.template factor<true>(a)) return false;
    store_block(f.x, a);
    LG_UNROLL for (int t = 0; t < N; t++) swap[t] = f.swap[t];
    return true;
}
template <int N, class V> LG_FN bool small_solve(tile<V> a, tile<V> b, int k) {
    small_lu<N, V> f;
    if (!f.template factor<true>(a)) return false;
    for (int j = 0; j < k; j++) {
        V z[N][1];
        load_block(z, b.at(0, j));
        LG_UNROLL for (int i = 0; i < N; i++) {
            LG_UNROLL for (int p = 0; p < i; p++) z[i][0] = fnma_(f.x[p][i], z[p][0], z[i][0]);
            z[i][0] = z[i][0] * f.recip[i];
        }
        f.solve_pivoted(z);
        store_block(z, b.at(0, j));
    }
    return true;
}
// b becomes the inverse of the transposed matrix
template <int N, class V> LG_FN bool small_inverse(tile<V> a, tile<V> b) {
    small_lu<N, V> f;
    if (!f.template factor<true>(a)) return false;
    V z[N][N];
    LG_UNROLL for (int c = 0; c < N; c++) LG_UNROLL for (int i = 0; i < N; i++) {
        z[i][c] = V(i == c);
        LG_UNROLL for (int p = c; p < i; p++) z[i][c] = fnma_(f.x[p][i], z[p][c], z[i][c]);
        if (i >= c) z[i][c] = z[i][c] * f.recip[i];
    }
    f.solve_pivoted(z);
    store_block(z, b);
    return true;
}
template <int N, class V> LG_FN bool small_determinant(tile<V> a, scaled_number<V> &d) {
    small_lu<N, V> f;
    if (!f.template factor<false>(a)) return false;
    d = lu_determinant([&f](int i) { return f.x[i][i]; }, N, f.swap);
    return true;
}

// The function of a constant order for n; one matrix alone gains little.
#define LG_SMALL(call)                                                                                                 \
    if (traits<V>::width > 1) switch (n) {                                                                             \
    case 2: { constexpr int N = 2; return call; }                                                                      \
    case 3: { constexpr int N = 3; return call; }                                                                      \
    case 4: { constexpr int N = 4; return call; }                                                                      \
    }                                                                                                                  \
    return false;
template <class V> LG_CALL bool try_factor(tile<V> a, int n, typename traits<V>::real *swap) {
    LG_SMALL(small_factor<N>(a, swap))
}
template <class V> LG_CALL bool try_solve(tile<V> a, int n, tile<V> b, int k) { LG_SMALL(small_solve<N>(a, b, k)) }
template <class V> LG_CALL bool try_inverse(tile<V> a, int n, tile<V> b) { LG_SMALL(small_inverse<N>(a, b)) }
template <class V> LG_CALL bool try_determinant(tile<V> a, int n, scaled_number<V> &d) {
    LG_SMALL(small_determinant<N>(a, d))
}
#undef LG_SMALL

} // namespace
} // namespace lg
#endif
