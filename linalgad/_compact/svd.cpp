#include "layout.hpp"

#include "jacobi.hpp"
#include "qr.hpp"
#include "svd.hpp"

namespace lg {
namespace {

// A tall matrix is first reduced to its triangle; a wide one is treated as its transpose, u and v exchanged.
enum { graded_ratio = 256, sorted_rows = 64 };
template <class P> struct work_sizes {
    P *row, *column;
};
template <class V> struct svd_op {
    typedef typename traits<V>::real P;
    typedef typename traits<V>::I I;

    static ptrdiff_t elements(ptrdiff_t m, ptrdiff_t n, ptrdiff_t, int flags) {
        const ptrdiff_t k = m < n ? m : n, l = m < n ? n : m;
        const ptrdiff_t out = flags & LG_VALUES ? 0 : flags & LG_COMPLETE ? l * l : l * k;
        const ptrdiff_t most = out > l * k ? out : l * k;
        return 2 * l * k + most + 4 * k * k + out + 2 * basis<P>::elements(k) + 12 * (l + k) +
               (4 * kept_sweeps + 12) * k + 64;
    }
    struct work {
        int m, n; // of the tall matrix
        bool wide;
        tile<V> u, vh; // results
        reflectors<V> tall, left, right;
        basis<P> bu, bv;
        const I *source, *row_place, *column_place; // places: of a row among the sorted ones; null where none is sorted
        const P *sign;
        const V *ju, *jv; // vectors of the triangle by columns, in order; null where they come from the QR iteration
        V *qu, *qv, *spare;
    };
    // Rows of q back to where they were before sorting.
    template <int NB> LG_FN static void unsort(V *q, int rows, const I *place, V *spare) {
        if (!place) return;
        I lane;
        lane_number(lane);
        for (int i = 0; i < rows * NB; i++) spare[i] = q[i];
        for (int i = 0; i < rows; i++) {
            const I at = place[i] * I(NB * traits<V>::parts * traits<V>::width) + lane;
            LG_UNROLL for (int c = 0; c < NB; c++) q[i * NB + c] = gather_number(spare + c, at);
        }
    }
    // Columns j to j + NB of u and rows of vh.
    template <int NB> LG_FN static void columns(const work &w, int j) {
        typedef typename traits<V>::scalar T;
        V phase[NB];
        P sign[NB];
        if (w.ju) {
            for (int i = 0; i < w.n; i++) LG_UNROLL for (int c = 0; c < NB; c++) {
                w.qu[i * NB + c] = w.ju[(j + c) * w.n + i], w.qv[i * NB + c] = w.jv[(j + c) * w.n + i];
            }
            LG_UNROLL for (int c = 0; c < NB; c++) sign[c] = P(1);
        } else {
            I lane;
            lane_number(lane);
            take_columns<NB>(w.bu, w.source + j, w.qu);
            back_transform<NB>(w.left, w.qu);
            take_columns<NB>(w.bv, w.source + j, w.qv);
            back_transform<NB>(w.right, w.qv);
            LG_UNROLL for (int c = 0; c < NB; c++)
                sign[c] = gather((const T *)w.sign, w.source[j + c] * I(traits<P>::width) + lane);
        }
        if (w.m > w.n) {
            for (int i = w.n * NB; i < w.m * NB; i++) w.qu[i] = V(0);
            back_transform<NB>(w.tall, w.qu);
        }
        unsort<NB>(w.qu, w.m, w.row_place, w.spare);
        unsort<NB>(w.qv, w.n, w.column_place, w.spare);
        if (!w.wide) {
            fix_phases<NB>(w.qu, w.m, phase);
            for (int i = 0; i < w.m; i++) LG_UNROLL for (int c = 0; c < NB; c++) w.u(i, j + c) = w.qu[i * NB + c];
            LG_UNROLL for (int c = 0; c < NB; c++) phase[c] = scale_(phase[c], sign[c]);
            for (int i = 0; i < w.n; i++)
                LG_UNROLL for (int c = 0; c < NB; c++) w.vh(j + c, i) = conj_(w.qv[i * NB + c] * phase[c]) + V(0);
        } else {
            for (int i = 0; i < w.n * NB; i++) w.qv[i] = conj_(w.qv[i]);
            fix_phases<NB>(w.qv, w.n, phase);
            for (int i = 0; i < w.n; i++) LG_UNROLL for (int c = 0; c < NB; c++) w.u(i, j + c) = w.qv[i * NB + c];
            LG_UNROLL for (int c = 0; c < NB; c++) phase[c] = conj_(scale_(phase[c], sign[c]));
            for (int i = 0; i < w.m; i++)
                LG_UNROLL for (int c = 0; c < NB; c++) w.vh(j + c, i) = w.qu[i * NB + c] * phase[c] + V(0);
        }
    }
    // Columns j to j + NB of a square u, j >= n, or rows of a square vh.
    template <int NB> LG_FN static void extra_columns(const work &w, int j) {
        V phase[NB];
        for (int i = 0; i < w.m; i++) LG_UNROLL for (int c = 0; c < NB; c++) w.qu[i * NB + c] = V(i == j + c);
        back_transform<NB>(w.tall, w.qu);
        unsort<NB>(w.qu, w.m, w.row_place, w.spare);
        fix_phases<NB>(w.qu, w.m, phase);
        for (int i = 0; i < w.m; i++)
            LG_UNROLL for (int c = 0; c < NB; c++) (w.wide ? w.vh(j + c, i) : w.u(i, j + c)) = w.qu[i * NB + c];
    }
    LG_FN static void measure(const V *a, int m, int n, work_sizes<P> size) {
        for (int i = 0; i < m; i++) size.row[i] = P(0);
        for (int j = 0; j < n; j++) {
            P most(0);
            for (int i = 0; i < m; i++) {
                const P x = absmax_(a[j * m + i]);
                most = max_(most, x), size.row[i] = max_(size.row[i], x);
            }
            size.column[j] = most;
        }
    }
    // Sorts the rows or columns of badly scaled matrices by falling size, so that the reduction keeps small singular
    // values of graded matrices; `size` is destroyed, source[k] becomes the row that is k now and place its inverse.
    LG_CALL static bool sort_sizes(P *size, int n, I *source, I *place) {
        typedef decltype(lane_of(*source, 0)) S;
        P least = size[0], most = size[0];
        for (int i = 1; i < n; i++) least = min_(least, size[i]), most = max_(most, size[i]);
        const auto graded = most > least * P(graded_ratio);
        const P keep = select(graded, P(1), P(0)); // equal sizes stay in place
        for (int i = 0; i < n; i++) size[i] = size[i] * keep;
        sort_values<true>(size, source, n);
        for (int k = 0; k < n; k++)
            for (int l = 0; l < traits<V>::width; l++)
                ((S *)(place + lane_of(source[k], l)))[l] = (S)k;
        return any(graded);
    }
    // As above for the rows and columns of the m x n matrix at a; whether anything was sorted.
    LG_CALL static bool sort_graded(V *a, int m, int n, V *spare, I *order, work_sizes<P> size) {
        I *rows = order, *columns = order + m, *row_place = columns + n, *column_place = row_place + m;
        const bool by_rows_too = sort_sizes(size.row, m, rows, row_place);
        if (!(sort_sizes(size.column, n, columns, column_place) | by_rows_too)) return false;
        I lane;
        lane_number(lane);
        const I number(traits<V>::parts * traits<V>::width);
        for (int i = 0; i < m * n; i++) spare[i] = a[i];
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                a[j * m + i] = gather_number(spare, (columns[j] * I(m) + rows[i]) * number + lane);
        return true;
    }
    // QR of the m x n matrix at a: its reflectors replace it, r (n x n) gets the triangle.
    LG_FN static void triangle(V *a, V *tau, int m, int n, V *r) {
        for (int k = 0; k < n; k++) {
            V *x = a + k * m;
            P beta;
            tau[k] = reflector(x + k, m - k, beta);
            reflect(tile<V>{x + k, 1, m}, m - k, conj_(tau[k]), tile<V>{x + m + k, 1, m}, n - k - 1);
            for (int i = 0; i < n; i++) r[k * n + i] = i < k ? x[i] : i == k ? V(beta) : V(0);
        }
    }
    static void run(const part &c) {
        const int cm = (int)c.call->m, cn = (int)c.call->n, flags = c.call->flags;
        const bool vectors = !(flags & LG_VALUES), wide = cm < cn;
        const int m = wide ? cn : cm, n = wide ? cm : cn, k = flags & LG_COMPLETE ? m : n; // rows of the results' tiles
        arena ws{c.call->ws};
        V *pt = ws.take<V>(m * n), *spare = ws.take<V>(vectors ? m * k : m * n), *tall = ws.take<V>(m * n);
        bidiagonal_space<V> s;
        s.a = ws.take<V>(n * n), s.right = ws.take<V>(n * n);
        s.left_tau = ws.take<V>(n), s.right_tau = ws.take<V>(n);
        s.x = ws.take<V>(n), s.y = ws.take<V>(n), s.y_last = ws.take<V>(n);
        V *tall_tau = ws.take<V>(n);
        P *d = ws.take<P>(n), *e = ws.take<P>(n), *sign = ws.take<P>(n);
        I *source = ws.take<I>(n);

        const tile<V> in = load(pt, c, 0, cm, cn, spare), t = wide ? in.t() : in;
        scaling<P> scale;
        for (int i = 0; i < m * n; i++) scale.see(pt[i]);
        scale.choose();
        V *first = m > n ? tall : s.a;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) first[j * m + i] = scale(t(i, j));
        I *places = nullptr;
        if (m <= sorted_rows && m > jacobi_most) {
            const work_sizes<P> size{ws.take<P>(m), ws.take<P>(n)};
            measure(first, m, n, size);
            I *order = ws.take<I>(2 * (m + n));
            if (sort_graded(first, m, n, pt, order, size)) places = order + m + n;
        }
        if (m > n) triangle(tall, tall_tau, m, n, s.a);
        work w;
        w.ju = w.jv = nullptr;
        I info(0);
        if (n == 1 || n > jacobi_most) {
            bidiagonal(s, n, d, e);
            w.bu = {nullptr, n, basis<P>::best_side(n)};
            w.bv = w.bu;
            sweeps<P> ku, kv;
            ku.c = ku.s = kv.c = kv.s = nullptr;
            if (vectors) {
                w.bu.z = ws.take<P>(basis<P>::elements(n)), w.bv.z = ws.take<P>(basis<P>::elements(n));
                ku.c = ws.take<P>(kept_sweeps * n), ku.s = ws.take<P>(kept_sweeps * n);
                kv.c = ws.take<P>(kept_sweeps * n), kv.s = ws.take<P>(kept_sweeps * n);
                w.bu.identity(), w.bv.identity();
                info = qr_iteration<true>(d, e, n, w.bu, w.bv, ku, kv);
            } else {
                info = qr_iteration<false>(d, e, n, w.bu, w.bv, ku, kv);
            }
            for (int i = 0; i < n; i++) {
                sign[i] = copysign_(P(1), d[i]);
                d[i] = abs_(d[i]);
            }
            sort_values<true>(d, source, n);
        } else {
            info = n == 2   ? jacobi_svd<2>(s.a, s.right, d)
                   : n == 3 ? jacobi_svd<3>(s.a, s.right, d)
                            : jacobi_svd<4>(s.a, s.right, d);
            w.ju = s.a, w.jv = s.right;
        }
        store_info(info | scale.info(), c);
        for (int i = 0; i < n; i++) d[i] = scale.back(d[i]);
        store(ordered(d, by_rows, n, 1), c, vectors ? 2 : 1, n, 1, (P *)spare);
        if (!vectors) return;
        w.m = m, w.n = n, w.wide = wide;
        w.tall = {tall, m, 0, n, m, tall_tau};
        w.left = {s.a, n, 0, n, n, s.left_tau};
        w.right = {s.right, n, 1, n - 1, n, s.right_tau};
        w.source = source, w.sign = sign;
        w.row_place = places, w.column_place = places ? places + m : nullptr;
        w.qu = ws.take<V>(4 * m), w.qv = ws.take<V>(4 * n), w.spare = ws.take<V>(4 * m);
        V *pu = ws.take<V>(m * k), *pv = ws.take<V>(n * n);
        w.u = wide ? result(pv, c, 1, n, n) : result(pu, c, 1, m, k);
        w.vh = wide ? result(pu, c, 3, k, m) : result(pv, c, 3, n, n);
        const int nb = fold<V>::value;
        int j = 0;
        for (; j + nb <= n; j += nb) columns<nb>(w, j);
        for (; j < n; j++) columns<1>(w, j);
        for (; j + nb <= k; j += nb) extra_columns<nb>(w, j);
        for (; j < k; j++) extra_columns<1>(w, j);
        store(w.u, c, 1, cm, wide ? n : k, spare);
        store(w.vh, c, 3, wide ? k : n, cn, spare);
    }
};

} // namespace
} // namespace lg

LG_REGISTER(svd, svd_op)
