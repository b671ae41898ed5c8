// Cholesky factorisation of one matrix, A = U^H U by rows of U, by blocks of rows.
//
// By rows the numbers of U that meet a row of what is left, a column of U, are neighbours: nothing needs turning.
#ifndef LINALGAD_COMPACT_BLOCKED_CHOLESKY_HPP
#define LINALGAD_COMPACT_BLOCKED_CHOLESKY_HPP

#include "blocked.hpp"

namespace lg {
namespace {

// Rows [0, count) of a diagonal block whose first row is at `a`; returns the first pivot that is not positive, from 1.
template <class V> LG_FN int factor_diagonal(const rows<V> &a, int count) {
    typedef typename rows<V>::S S;
    const int W = rows<V>::W, packs = packs_for(count, W);
    for (int t = 0; t < count; t++) {
        const auto pivot = real_(a.get(t, t));
        if (!(pivot > 0)) return t + 1;
        const auto root = sqrt_(pivot);
        const positive_divisor<V> div(alone<V>::splat(S(root)));
        V *row = a.row(t);
        for (int v = t / W; v < packs; v++) row[v] = div(row[v]);
        a.put(t, t, S(root));
        for (int s = t + 1; s < count; s++) {
            const V f = alone<V>::splat(a.at(t, s));
            for (int v = s / W; v < packs; v++) a.row(s)[v] = fnma_conj(row[v], f, a.row(s)[v]);
        }
    }
    return 0;
}

// The upper triangle of a (n x n) becomes U, what is left of it stays undefined. Returns LAPACK's info.
template <class V> LG_CALL int factor_definite(const rows<V> &a, int n) {
    const int W = rows<V>::W, mb = extent<V>::rows, packs = packs_for(n, W);
    for (int at = 0; at < n; at += BLOCK) {
        const int end = at + BLOCK < n ? at + BLOCK : n, count = end - at;
        const rows<V> block{a.row(at) + at / W, a.ld};
        const int info = factor_diagonal(block, count);
        if (info) return at + info;
        if (end == n) return 0;
        solve_block<forward, false, number_conjugated>(block, 0, count, rows<V>{a.row(at), a.ld}, end / W, packs);
        int i = end;
        for (; i + mb <= n; i += mb)
            product_rows<mb, number_conjugated>(a.row(i) + i / W, a.ld, a.at(at, i), a.step(), a.row(at) + i / W, a.ld,
                                                count, packs - i / W);
        for (; i < n; i++)
            product_rows<1, number_conjugated>(a.row(i) + i / W, a.ld, a.at(at, i), a.step(), a.row(at) + i / W, a.ld,
                                               count, packs - i / W);
    }
    return 0;
}

} // namespace
} // namespace lg
#endif
