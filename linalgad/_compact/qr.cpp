#include "layout.hpp"

#include "qr.hpp"

namespace lg {
namespace {

template <class V> struct qr_op {
    static ptrdiff_t columns_of_q(ptrdiff_t m, ptrdiff_t n, int flags) { return flags & LG_COMPLETE || m < n ? m : n; }
    static ptrdiff_t spare_elements(ptrdiff_t m, ptrdiff_t n, int flags) {
        return (m > n ? m : n) * columns_of_q(m, n, flags); // m x n, q and r fit
    }
    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int flags) {
        const ptrdiff_t columns = columns_of_q(m, n, flags);
        return m * n + n + (m + n) * columns + spare_elements(m, n, flags);
    }
    static void run(const part &c) {
        const int m = (int)c.call->m, n = (int)c.call->n, mn = m < n ? m : n, flags = c.call->flags;
        const int columns = (int)columns_of_q(m, n, flags);
        arena ws{c.call->ws};
        V *pa = ws.take<V>(m * n), *tau = ws.take<V>(mn), *pq = ws.take<V>(m * columns), *pr = ws.take<V>(columns * n),
          *spare = ws.take<V>(spare_elements(m, n, flags));
        const tile<V> a = load(pa, c, 0, m, n, spare);
        qr(a, m, n, tau);
        store_info(typename traits<V>::I(0), c);
        if (flags & LG_RAW) {
            store(a, c, 1, m, n, spare);
            store(ordered(tau, by_rows, mn, 1), c, 2, mn, 1, spare);
            return;
        }
        const int at = flags & LG_VALUES ? 1 : 2; // where r goes
        const tile<V> r = result(pr, c, at, columns, n);
        qr_triangle(a, r, columns, n);
        const tile<V> q = at == 2 ? result(pq, c, 1, m, columns) : tile<V>{pq, 0, 0};
        if (at == 2) qr_form(a, tau, m, mn, q, columns);
        if (flags & LG_POSITIVE) qr_turn(r, columns, n, q, at == 2 ? m : 0);
        if (at == 2) store(q, c, 1, m, columns, spare);
        store(r, c, at, columns, n, spare);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(qr, qr_op)
