// Register blocks: small rectangles of a tile held in registers while a long sum runs over them. Most of the time of
// the direct factorisations is spent in sub_product().
#ifndef LINALGAD_COMPACT_BLOCK_HPP
#define LINALGAD_COMPACT_BLOCK_HPP

#include "pack.hpp"

namespace lg {
namespace {

// The side of a square register block: its accumulators and operands fill the register file (32 vector registers with
// AVX-512, 16 elsewhere), a complex number taking two.
template <class V> struct side {
#if defined(LG_AVX512) || defined(__aarch64__)
    static const int value = traits<V>::parts == 1 ? 4 : 2;
#else
    static const int value = traits<V>::parts == 1 ? 3 : 2;
#endif
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
template <int MB, int NB, class V, class C> LG_FN void load_block(V (&acc)[MB][NB], const C &c) {
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) acc[i][j] = c(i, j);
}
template <int MB, int NB, class V, class C> LG_FN void store_block(const V (&acc)[MB][NB], const C &c) {
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) c(i, j) = acc[i][j];
}

} // namespace
} // namespace lg
#endif
