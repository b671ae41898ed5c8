#include "direct.hpp"
#include "half.hpp"

#include "triangular.hpp"

namespace lg {
namespace {

template <class V> struct solve_triangular_op {
    static ptrdiff_t elements(ptrdiff_t, ptrdiff_t n, ptrdiff_t k, int) { return n * n + n * k + (n > k ? n : k) * n; }
    template <bool upper, bool transposed, int N>
    LG_FN static void solve_columns(const part &c, const V (&x)[N][N], const V (&recip)[N]) {
        const bool unit = c.call->flags & LG_UNIT, conjugated = c.call->flags & LG_CONJ;
        each_column<N, V>(c, 1, 2, [&](auto &z) {
            if (conjugated) conjugate(z);
            if (unit)
                substitute<upper, transposed, true>(x, recip, z);
            else
                substitute<upper, transposed, false>(x, recip, z);
            if (conjugated) conjugate(z);
        });
    }
    template <int N> LG_CALL static bool direct(const part &c) {
        V x[N][N], recip[N];
        const int flags = c.call->flags;
        if (!lies_directly<V>(c, 0, N, N)) return false;
        take_matrix(x, c, 0);
        if (!invert_diagonal(x, recip) && !(flags & LG_UNIT)) return false;
        store_info(typename traits<V>::I(0), c);
        switch (flags & (LG_UPPER | LG_TRANS)) {
        case 0: solve_columns<false, false>(c, x, recip); break;
        case LG_UPPER: solve_columns<true, false>(c, x, recip); break;
        case LG_TRANS: solve_columns<true, true>(c, x, recip); break;
        default: solve_columns<false, true>(c, x, recip);
        }
        return true;
    }
    static void run(const part &c) {
        const int n = (int)c.call->n, k = (int)c.call->k, flags = c.call->flags;
        if (done_directly<V, solve_triangular_op>(c, n)) return;
        arena ws{c.call->ws};
        V *pa = ws.take<V>(n * n), *pb = ws.take<V>(n * k), *spare = ws.take<V>((n > k ? n : k) * n);
        tile<V> a = load_triangle(pa, c, 0, n, spare, flags & LG_UPPER), b = load(pb, c, 1, n, k, spare);
        const bool transposed = flags & LG_TRANS, upper = !!(flags & LG_UPPER) != transposed, unit = flags & LG_UNIT;
        const bool conjugated = (flags & LG_CONJ) && traits<V>::parts == 2;
        if (transposed) a = a.t();
        store_info(unit ? typename traits<V>::I(0) : first_zero(a, n), c);
        if (conjugated) conjugate(b, n, k); // conj(T) x = b is T conj(x) = conj(b)
        if (upper)
            unit ? solve_upper<true>(a, n, b, k) : solve_upper<false>(a, n, b, k);
        else
            unit ? solve_lower<true>(a, n, b, k) : solve_lower<false>(a, n, b, k);
        if (conjugated) conjugate(b, n, k);
        store(b, c, 2, n, k, spare);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(solve_triangular, solve_triangular_op)
