// Products of small matrices.
#ifndef LINALGAD_COMPACT_MATMUL_HPP
#define LINALGAD_COMPACT_MATMUL_HPP

#include "block.hpp"

namespace lg {
namespace {

template <int MB, int NB, class V> LG_FN void multiply_block(tile<V> a, tile<V> b, tile<V> c, int k) {
    V acc[MB][NB];
    LG_UNROLL for (int i = 0; i < MB; i++) LG_UNROLL for (int j = 0; j < NB; j++) acc[i][j] = V(0);
    add_product<MB, NB>(acc, k, a, b);
    store_block(acc, c);
}
template <int MB, class V> LG_CALL void multiply_rows(tile<V> a, tile<V> b, tile<V> c, int n, int k) {
    const int nb = side<V>::value;
    int j = 0;
    for (; j + nb <= n; j += nb) multiply_block<MB, nb>(a, b.at(0, j), c.at(0, j), k);
    for (; j < n; j++) multiply_block<MB, 1>(a, b.at(0, j), c.at(0, j), k);
}
// c (m x n) = a (m x k) b (k x n)
template <class V> LG_FN void multiply(tile<V> a, tile<V> b, tile<V> c, int m, int n, int k) {
    const int mb = side<V>::value;
    int i = 0;
    for (; i + mb <= m; i += mb) multiply_rows<mb>(a.at(i, 0), b, c.at(i, 0), n, k);
    for (; i < m; i++) multiply_rows<1>(a.at(i, 0), b, c.at(i, 0), n, k);
}

} // namespace
} // namespace lg
#endif
