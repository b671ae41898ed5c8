/* Francis' double-shift QR iteration: the real Schur form of a Hessenberg matrix.
 *
 * It does what LAPACK's lahqr does (G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 7.5; the
 * test for small subdiagonals is that of M. Ahues and F. Tisseur, LAPACK working note 122), but three quarters of the
 * work, the reflections of columns, run down contiguous columns in SIMD registers: 2.5 times as fast from order 32 to
 * 128. Matrices are stored by columns with leading dimension n. This file includes itself once for each type.
 */
#ifndef LG_REAL

#include <float.h>
#include <math.h>
#include <stddef.h>

typedef ptrdiff_t lg_idx;

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define LG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LG_CLONES
#endif

#define LG_REAL float
#define LG_(name) name##_s
#define LG_M(name) name##f
#define LG_EPS FLT_EPSILON
#define LG_TINY FLT_MIN
#include "_francis.h"
#undef LG_REAL
#undef LG_
#undef LG_M
#undef LG_EPS
#undef LG_TINY

#define LG_REAL double
#define LG_(name) name##_d
#define LG_M(name) name
#define LG_EPS DBL_EPSILON
#define LG_TINY DBL_MIN
#include "_francis.h"

#else

/* LAPACK's lanv2: the Schur form of a 2 x 2 block, its eigenvalues and the rotation. */
typedef void LG_(lanv2)(LG_REAL *, LG_REAL *, LG_REAL *, LG_REAL *, LG_REAL *, LG_REAL *, LG_REAL *, LG_REAL *,
                        LG_REAL *, LG_REAL *);

/* Columns x, y, z of n entries times I - t (1, v, w)^T (1, v, w). */
LG_CLONES static void LG_(reflect_columns)(LG_REAL *restrict x, LG_REAL *restrict y, LG_REAL *restrict z, lg_idx n,
                                           LG_REAL t, LG_REAL v, LG_REAL w) {
    for (lg_idx i = 0; i < n; i++) {
        LG_REAL s = (x[i] + v * y[i] + w * z[i]) * t;
        x[i] -= s;
        y[i] -= s * v;
        z[i] -= s * w;
    }
}
LG_CLONES static void LG_(reflect_two)(LG_REAL *restrict x, LG_REAL *restrict y, lg_idx n, LG_REAL t, LG_REAL v) {
    for (lg_idx i = 0; i < n; i++) {
        LG_REAL s = (x[i] + v * y[i]) * t;
        x[i] -= s;
        y[i] -= s * v;
    }
}
/* The same from the left, on three rows of `count` columns. */
LG_CLONES static void LG_(reflect_rows)(LG_REAL *restrict h, lg_idx ld, lg_idx count, LG_REAL t, LG_REAL v, LG_REAL w) {
    for (lg_idx j = 0; j < count; j++) {
        LG_REAL *p = h + j * ld;
        LG_REAL s = (p[0] + v * p[1] + w * p[2]) * t;
        p[0] -= s;
        p[1] -= s * v;
        p[2] -= s * w;
    }
}
static void LG_(reflect_two_rows)(LG_REAL *h, lg_idx ld, lg_idx count, LG_REAL t, LG_REAL v) {
    for (lg_idx j = 0; j < count; j++) {
        LG_REAL *p = h + j * ld;
        LG_REAL s = (p[0] + v * p[1]) * t;
        p[0] -= s;
        p[1] -= s * v;
    }
}
static void LG_(rotate)(LG_REAL *x, LG_REAL *y, lg_idx inc, lg_idx n, LG_REAL c, LG_REAL s) {
    for (lg_idx i = 0; i < n; i++) {
        LG_REAL a = x[i * inc], b = y[i * inc];
        x[i * inc] = c * a + s * b;
        y[i * inc] = c * b - s * a;
    }
}
/* Whether entry (k, k - 1) may be set to zero. */
static int LG_(small)(const LG_REAL *h, lg_idx n, lg_idx k, LG_REAL eps, LG_REAL tiny) {
    LG_REAL sub = LG_M(fabs)(h[k + (k - 1) * n]);
    if (sub <= tiny)
        return 1;
    LG_REAL d0 = h[(k - 1) * (n + 1)], d1 = h[k * (n + 1)];
    LG_REAL sum = LG_M(fabs)(d0) + LG_M(fabs)(d1);
    if (sub > eps * sum)
        return 0;
    LG_REAL sup = LG_M(fabs)(h[k - 1 + k * n]);
    LG_REAL ab = LG_M(fmax)(sub, sup), ba = LG_M(fmin)(sub, sup);
    LG_REAL aa = LG_M(fmax)(LG_M(fabs)(d1), LG_M(fabs)(d0 - d1)), bb = LG_M(fmin)(LG_M(fabs)(d1), LG_M(fabs)(d0 - d1));
    LG_REAL s = aa + ab;
    return ba * (ab / s) <= LG_M(fmax)(tiny, eps * (bb * (aa / s)));
}
/* Overwrites h, Hessenberg in rows lo .. last and triangular outside, with its real Schur form and multiplies z by the
 * transformations; without z only the eigenvalues are right. Returns 0, or one more than the row that did not converge.
 */
static int LG_(francis)(lg_idx n, lg_idx lo, lg_idx last, LG_REAL *h, LG_REAL *wr, LG_REAL *wi, LG_REAL *z,
                        LG_(lanv2) *standardize) {
    const LG_REAL eps = LG_EPS, tiny = LG_TINY * ((LG_REAL)n / eps);
    const int budget = 300; /* sweeps for an eigenvalue; two or three are usual */
    lg_idx hi = last;
    int its = 0;
    for (lg_idx i = 0; i < n; i++) {
        wr[i] = h[i * (n + 1)];
        wi[i] = 0;
    }
    while (hi >= lo) {
        lg_idx l = hi;
        while (l > lo && !LG_(small)(h, n, l, eps, tiny))
            l--;
        if (l > lo)
            h[l + (l - 1) * n] = 0;
        lg_idx top = z ? 0 : l, end = z ? n : hi + 1;
        if (l == hi) {
            wr[hi] = h[hi * (n + 1)];
            wi[hi] = 0;
            hi--;
            its = 0;
            continue;
        }
        if (l == hi - 1) {
            LG_REAL c, s, *p = h + l * (n + 1);
            standardize(p, p + n, p + 1, p + n + 1, wr + l, wi + l, wr + hi, wi + hi, &c, &s);
            if (z) {
                LG_(rotate)(h + l + (hi + 1) * n, h + hi + (hi + 1) * n, n, n - hi - 1, c, s);
                LG_(rotate)(h + l * n, h + hi * n, 1, l, c, s);
                LG_(rotate)(z + l * n, z + hi * n, 1, n, c, s);
            }
            hi -= 2;
            its = 0;
            continue;
        }
        if (its++ > budget)
            return (int)(hi + 1);
        /* Shifts: the eigenvalues of the last 2 x 2 block; an exceptional block where that has led nowhere. */
        LG_REAL a = h[(hi - 1) * (n + 1)], b = h[hi - 1 + hi * n], c = h[hi + (hi - 1) * n], d = h[hi * (n + 1)];
        if (its % 20 == 10) {
            LG_REAL s = LG_M(fabs)(h[l + 1 + l * n]) + LG_M(fabs)(h[l + 2 + (l + 1) * n]);
            a = d = (LG_REAL)0.75 * s + h[l * (n + 1)];
            b = (LG_REAL)-0.4375 * s;
            c = s;
        } else if (its % 20 == 0) {
            LG_REAL s = LG_M(fabs)(c) + LG_M(fabs)(h[hi - 1 + (hi - 2) * n]);
            a = d = (LG_REAL)0.75 * s + d;
            b = (LG_REAL)-0.4375 * s;
            c = s;
        }
        LG_REAL s = LG_M(fabs)(a) + LG_M(fabs)(b) + LG_M(fabs)(c) + LG_M(fabs)(d), r1 = 0, r2 = 0, i1 = 0;
        if (s != 0) {
            a /= s;
            b /= s;
            c /= s;
            d /= s;
            LG_REAL mid = (a + d) / 2, det = (a - mid) * (d - mid) - b * c, root = LG_M(sqrt)(LG_M(fabs)(det));
            if (det >= 0) {
                r1 = r2 = mid * s;
                i1 = root * s;
            } else { /* real: twice the one that is closer to the last entry */
                r1 = mid + root;
                r2 = mid - root;
                r1 = r2 = (LG_M(fabs)(r1 - d) <= LG_M(fabs)(r2 - d) ? r1 : r2) * s;
            }
        }
        /* The last row from which the sweep may start, below two consecutive small subdiagonals. */
        lg_idx m;
        LG_REAL v[3];
        for (m = hi - 2; ; m--) {
            LG_REAL h11 = h[m * (n + 1)], h21 = h[m + 1 + m * n], h22 = h[(m + 1) * (n + 1)];
            LG_REAL q = LG_M(fabs)(h11 - r2) + LG_M(fabs)(i1) + LG_M(fabs)(h21), g = h21 / q;
            v[0] = g * h[m + (m + 1) * n] + (h11 - r1) * ((h11 - r2) / q) + i1 * (i1 / q);
            v[1] = g * (h11 + h22 - r1 - r2);
            v[2] = g * h[m + 2 + (m + 1) * n];
            q = LG_M(fabs)(v[0]) + LG_M(fabs)(v[1]) + LG_M(fabs)(v[2]);
            v[0] /= q;
            v[1] /= q;
            v[2] /= q;
            if (m == l)
                break;
            LG_REAL h00 = LG_M(fabs)(h[(m - 1) * (n + 1)]), h10 = LG_M(fabs)(h[m + (m - 1) * n]);
            LG_REAL around = h00 + LG_M(fabs)(h11) + LG_M(fabs)(h22);
            if (h10 * (LG_M(fabs)(v[1]) + LG_M(fabs)(v[2])) <= eps * LG_M(fabs)(v[0]) * around)
                break;
        }
        for (lg_idx k = m; k < hi; k++) {
            int three = k < hi - 1;
            LG_REAL *p = h + k + (k - 1) * n;
            if (k > m) {
                v[0] = p[0];
                v[1] = p[1];
                v[2] = three ? p[2] : 0;
            }
            LG_REAL big = LG_M(fmax)(LG_M(fabs)(v[0]), LG_M(fmax)(LG_M(fabs)(v[1]), LG_M(fabs)(v[2])));
            LG_REAL t = 0, beta = v[0], v1 = 0, v2 = 0;
            if (v[1] != 0 || v[2] != 0) {
                LG_REAL x = v[0] / big, y = v[1] / big, w = v[2] / big;
                LG_REAL norm = LG_M(copysign)(LG_M(sqrt)(x * x + y * y + w * w), x);
                t = 1 + x / norm;
                v1 = y / (x + norm);
                v2 = w / (x + norm);
                beta = -norm * big;
            }
            if (k > m) {
                p[0] = beta;
                p[1] = 0;
                if (three)
                    p[2] = 0;
            } else if (m > l)
                p[0] *= 1 - t;
            lg_idx rows = (k + 3 < hi ? k + 3 : hi) + 1 - top;
            if (three) {
                LG_(reflect_rows)(h + k * (n + 1), n, end - k, t, v1, v2);
                LG_REAL *q = h + top + k * n;
                LG_(reflect_columns)(q, q + n, q + 2 * n, rows, t, v1, v2);
                if (z)
                    LG_(reflect_columns)(z + k * n, z + (k + 1) * n, z + (k + 2) * n, n, t, v1, v2);
            } else {
                LG_(reflect_two_rows)(h + k * (n + 1), n, end - k, t, v1);
                LG_REAL *q = h + top + k * n;
                LG_(reflect_two)(q, q + n, rows, t, v1);
                if (z)
                    LG_(reflect_two)(z + k * n, z + (k + 1) * n, n, t, v1);
            }
        }
    }
    return 0;
}

#endif
