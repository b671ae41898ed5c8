#include "secular.hpp"

namespace lg {
namespace {

template <class V> ptrdiff_t secular_workspace(ptrdiff_t, ptrdiff_t n, ptrdiff_t, int) {
    typedef typename traits<V>::scalar T;
    return ((ptrdiff_t)packs_for(n, traits<V>::width) * n + n) * sizeof(V) + 3 * (n + 1) * sizeof(T) + 5 * 64;
}
template <class V> int secular_run(const lg_call *c) {
    typedef typename traits<V>::scalar T;
    arena ws{c->ws};
    const int n = (int)c->n;
    const T *d = (const T *)c->x[0].base, *z = (const T *)c->x[1].base, rho = *(const T *)c->x[2].base;
    secular<V> q = {n, ws.take<T>(n + 1), ws.take<T>(n + 1), T(1) / rho};
    T sum = 0;
    for (int j = 0; j < n; j++) {
        q.pole[j] = d[j];
        q.weight[j] = z[j] * z[j];
        sum += q.weight[j];
    }
    // the last root lies in the lower half of the last gap
    q.pole[n] = d[n - 1] + T(2.125) * rho * sum;
    q.weight[n] = 0;
    return !decompose(q, z, ws, (T *)c->x[3].base, (T *)c->x[4].base, c->x[4].rs / (ptrdiff_t)sizeof(T),
                      (const int *)c->x[5].base);
}

} // namespace
} // namespace lg

// One matrix in each call, and its numbers are real.
#define LG_SECULAR(P) {lg::secular_run<P>, lg::secular_workspace<P>}
extern "C" {
extern const lg_entry LG_PASTE(lg_, secular, LG_TIER)[LG_DTYPES];
const lg_entry LG_PASTE(lg_, secular, LG_TIER)[LG_DTYPES] = {LG_SECULAR(lg::pack<float>), LG_SECULAR(lg::pack<double>),
                                                             LG_SECULAR(lg::pack<float>), LG_SECULAR(lg::pack<double>)};
}
