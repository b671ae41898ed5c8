#include "layout.hpp"

#include "cholesky.hpp"

namespace lg {
namespace {

template <class V> struct cholesky_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 2 * n * n; }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        arena ws{c.call->ws};
        V *p = ws.take<V>(n * n), *spare = ws.take<V>(n * n);
        tile<V> a = load(p, c, 0, n, n, spare);
        // A^T is conj(A) and its factor conj(L), which transposed is the upper factor.
        store_info(cholesky<V>(c.call->flags & LG_UPPER ? a.t() : a, n), c);
        store(a, c, 1, n, n, spare);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(cholesky, cholesky_op)
