#include "blocked_cholesky.hpp"

namespace lg {
namespace {

template <class V> struct blocked_cholesky_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return row_elements<V>(n, n); }
    static void run(const part &c) {
        typedef typename traits<V>::real P;
        typedef typename rows<V>::T T;
        const int n = (int)c.call->n, W = rows<V>::W;
        const bool lower = !(c.call->flags & LG_UPPER); // then the rows are columns
        arena ws{c.call->ws};
        const rows<V> a = take_rows<V>(ws, n, n);
        load_view(a, c, 0, n, n, lower);
        const int info = factor_definite(a, n);
        set_info(c, info);
        if (info) return;
        for (int i = 0; i < n; i++) {
            for (int v = 0; v < i / W; v++) a.row(i)[v] = V(0);
            V &x = a.row(i)[i / W];
            x = select(counted<P>(i / W * W) >= P((T)i), x, V(0));
        }
        store_view(a, c, 1, n, n, lower);
    }
};

} // namespace
} // namespace lg

LG_REGISTER_ALONE(blocked_cholesky, blocked_cholesky_op)
