#include "layout.hpp"

#include "matmul.hpp"
#include "triangular.hpp"

namespace lg {
namespace {

template <class V> struct matmul_op {
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int) {
        return m * k + k * n + m * n + larger(m, k) * larger(k, n);
    }
    LG_FN static ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, k = (int)c.call->k, flags = c.call->flags;
        const bool at = flags & LG_TRANS, bt = flags & LG_TRANS_B;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * k), *pb = ws.take<V>(k * n), *pc = ws.take<V>(m * n),
          *spare = ws.take<V>(larger(m, k) * larger(k, n));
        tile<V> a = at ? load(pa, c, 0, k, m, spare).t() : load(pa, c, 0, m, k, spare);
        tile<V> b = bt ? load(pb, c, 1, n, k, spare).t() : load(pb, c, 1, k, n, spare);
        const tile<V> r = result(pc, c, 2, m, n);
        if (traits<V>::parts == 2 && (flags & LG_CONJ)) conjugate(a, m, k);
        if (traits<V>::parts == 2 && (flags & LG_CONJ_B)) conjugate(b, k, n);
        multiply(a, b, r, m, n, k);
        store_info(typename traits<V>::I(0), c);
        store(r, c, 2, m, n, spare);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(matmul, matmul_op)
