// Register blocks: small rectangles of a tile held in registers while a long sum runs over them. Most of the time of
// the direct factorisations is spent in sub_product().
#ifndef LINALGAD_COMPACT_BLOCK_HPP
#define LINALGAD_COMPACT_BLOCK_HPP

#include "pack.hpp"

namespace lg {
namespace {

// W matrices with their numbers (i, j) side by side, in rows or columns: a transposed or reversed matrix is a tile too.
template <class V> struct tile {
    V *p;
    int rs, cs;
    LG_FN V &operator()(int i, int j) const { return p[i * rs + j * cs]; }
    LG_FN tile t() const { return {p, cs, rs}; }
    LG_FN tile at(int i, int j) const { return {p + i * rs + j * cs, rs, cs}; }
    // both orders reversed, of an m x n matrix: lower triangular becomes upper triangular
    LG_FN tile reversed(int m, int n) const { return {p + (m - 1) * rs + (n - 1) * cs, -rs, -cs}; }
    // rows reversed only
    LG_FN tile upside_down(int m) const { return {p + (m - 1) * rs, -rs, cs}; }
};

// The side of a square register block: its accumulators and operands fill the register file (32 vector registers with
// AVX-512 and NEON, 16 elsewhere), a complex number taking two. Sums run in the same order whatever the side, so it
// does not show in results; a matrix alone is served by the smallest code.
template <class V> struct side {
#if defined(LG_AVX512) || defined(__aarch64__)
    static const int value = traits<V>::parts == 1 && traits<V>::width > 1 ? 4 : 2;
#else
    static const int value = traits<V>::parts == 1 && traits<V>::width > 1 ? 3 : 2;
#endif
};

// Columns eliminated at a time where the order of the sums depends on it: the same for every tier and for one matrix.
template <class V> struct fold {
    static const int value = traits<V>::parts == 1 ? 4 : 2;
};

// acc(i, j) -= sum over p < k of a(i, p) b(p, j), or of a(i, p) conj(b(p, j))
template <int MB, int NB, bool conj_b = false, class V, class A, class B>
LG_FN void sub_product(V (&acc)[MB][NB], int k, const A &a, const B &b) {
    for (int p = 0; p < k; p++) {
        V x[MB];
        LG_UNROLL for (int i = 0; i < MB; i++) x[i] = a(i, p);
        LG_UNROLL for (int j = 0; j < NB; j++) {
            const V y = b(p, j);
            LG_UNROLL for (int i = 0; i < MB; i++)
                acc[i][j] = conj_b ? fnma_conj(x[i], y, acc[i][j]) : fnma_(x[i], y, acc[i][j]);
        }
    }
}
// acc(i, j) += sum over p < k of a(i, p) b(p, j)
template <int MB, int NB, class V, class A, class B>
LG_FN void add_product(V (&acc)[MB][NB], int k, const A &a, const B &b) {
    for (int p = 0; p < k; p++) {
        V x[MB];
        LG_UNROLL for (int i = 0; i < MB; i++) x[i] = a(i, p);
        LG_UNROLL for (int j = 0; j < NB; j++) {
            const V y = b(p, j);
            LG_UNROLL for (int i = 0; i < MB; i++) acc[i][j] = fma_(x[i], y, acc[i][j]);
        }
    }
}
template <int MB, int NB, class V, class C> LG_FN void load_block(V (&acc)[MB][NB], const C &c) {
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) acc[i][j] = c(i, j);
}
template <int MB, int NB, class V, class C> LG_FN void store_block(const V (&acc)[MB][NB], const C &c) {
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) c(i, j) = acc[i][j];
}

} // namespace
} // namespace lg
#endif
