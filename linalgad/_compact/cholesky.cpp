#include "direct.hpp"

#include "cholesky.hpp"

namespace lg {
namespace {

template <class V> struct cholesky_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) { return 2 * n * n; }
    template <int N> LG_CALL static bool direct(const part &c) {
        typedef typename traits<V>::I I;
        V d[N][N];
        typename traits<V>::real inv[N];
        if (c.call->flags & LG_UPPER || !lies_directly<V>(c, 0, N, N) || !lies_directly<V>(c, 1, N, N)) return false;
        take_matrix(d, c, 0);
        I info(0);
        cholesky_diagonal(d, inv, 0, info);
        if (any(info != I(0))) return false;
        store_info(info, c);
        put_matrix(d, c, 1);
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n;
        if (done_directly<V, cholesky_op>(c, n)) return;
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
