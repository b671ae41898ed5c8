#include "blocked.hpp"

#include "trsm.hpp"

namespace lg {
namespace {

enum { ORDER = 64 }; // the largest matrix: its panels are on the stack, and in the first-level cache

// Packs side by side in a panel.
template <class V> struct panel_packs {
#if defined(LG_AVX512) || defined(__aarch64__)
    static const int value = traits<V>::parts == 1 ? 4 : 2;
#else
    static const int value = traits<V>::parts == 1 ? 2 : 1;
#endif
};

template <int NB, class V> LG_FN void solve_columns(const lg_call *c, const spreader<V> &t, bool upper,
                                                    const divisor<typename alone<V>::S> *div, ptrdiff_t j, int count) {
    V space[ORDER * NB];
    const int n = (int)c->n;
    const rows<V> b{space, NB};
    const bool conjugated = rows<V>::parts == 2 && (c->flags & LG_CONJ); // conj(T) x = b is T conj(x) = conj(b)
    for (int i = 0; i < n; i++)
        for (int q = packs_for(count, rows<V>::W); q < NB; q++) b.row(i)[q] = V(0);
    load_rows(b, c->x[1].base + j * c->x[1].cs, c->x[1].rs, c->x[1].cs, n, count);
    if (conjugated) conjugate(b, n, count);
    tile<V> panel = {space, NB, 1};
    if (upper) panel = panel.upside_down(n);
    if (c->flags & LG_UNIT)
        solve_panel<true, NB>(t, n, panel, div);
    else
        solve_panel<false, NB>(t, n, panel, div);
    if (conjugated) conjugate(b, n, count);
    store_rows(b, c->x[2].base + j * c->x[2].cs, c->x[2].rs, c->x[2].cs, n, count);
}

template <class V> int trsm_run(const lg_call *c) {
    typedef typename alone<V>::S S;
    const int n = (int)c->n, NB = panel_packs<V>::value, W = traits<V>::width;
    const bool transposed = c->flags & LG_TRANS, upper = !!(c->flags & LG_UPPER) != transposed;
    const lg_view &a = c->x[0];
    spreader<V> t = {a.base, transposed ? a.cs : a.rs, transposed ? a.rs : a.cs};
    if (upper) t = t.reversed(n);
    divisor<S> div[ORDER];
    if (!(c->flags & LG_UNIT))
        for (int i = 0; i < n; i++) div[i] = divisor<S>(t.value(i, i));
    ptrdiff_t j = 0;
    for (; c->k - j > W; j += NB * W) {
        const ptrdiff_t left = c->k - j;
        solve_columns<panel_packs<V>::value>(c, t, upper, div, j, left < NB * W ? (int)left : NB * W);
    }
    if (j < c->k) solve_columns<1>(c, t, upper, div, j, (int)(c->k - j));
    return 0;
}
inline ptrdiff_t trsm_workspace(ptrdiff_t, ptrdiff_t, ptrdiff_t, int) { return 0; }

} // namespace
} // namespace lg

// One matrix in each call, unlike the other operations.
#define LG_TRSM(P) {lg::trsm_run<P>, lg::trsm_workspace}
extern "C" {
extern const lg_entry LG_PASTE(lg_, trsm, LG_TIER)[LG_DTYPES];
const lg_entry LG_PASTE(lg_, trsm, LG_TIER)[LG_DTYPES] = {LG_TRSM(lg::pack<float>), LG_TRSM(lg::pack<double>),
                                                          LG_TRSM(lg::cx<lg::pack<float>>),
                                                          LG_TRSM(lg::cx<lg::pack<double>>)};
}
