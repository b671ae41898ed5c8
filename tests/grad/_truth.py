"""Derivatives in many digits: the reference of the accuracy tests.

Every function takes the matrix as it is in floating point and works on exactly that matrix.
"""
import mpmath as mp
import numpy as np

mp.mp.dps = 60


def to_mp(x):
    """A 2-D array as an mpmath matrix, exactly."""
    x = np.asarray(x)
    return mp.matrix([[mp.mpmathify(complex(v)) if x.dtype.kind == "c" else mp.mpf(float(v)) for v in r] for r in x])


def to_np(x, like):
    """An mpmath matrix in the kind (real or complex) of `like`, in double precision."""
    made = np.array([[complex(x[i, j]) for j in range(x.cols)] for i in range(x.rows)])
    return made if np.iscomplexobj(like) else made.real


def _svd(a):
    """(U, s, V) of an exact matrix, thin."""
    u, s, v = mp.svd(a)
    return u, [s[i] for i in range(len(s))], v.transpose_conj()


def singular_gradient(a, w, f, df):
    """The gradient of Re<W, U f(S) V^H> by divided differences, right at ties; f and df act on mpmath numbers.

    (f_j - f_i)/(s_j - s_i) on the Hermitian part of U^H W V, (f_j + f_i)/(s_j + s_i) on the skew part.
    """
    x, y = to_mp(a), to_mp(w)
    u, s, v = _svd(x)
    m = u.transpose_conj() * y * v
    k = len(s)
    fs = [f(t) for t in s]
    inner = mp.matrix(k, k)
    for i in range(k):
        for j in range(k):
            h = (m[i, j] + mp.conj(m[j, i])) / 2
            t = (m[i, j] - mp.conj(m[j, i])) / 2
            close = abs(s[j] - s[i]) < mp.mpf(10) ** -30
            slope = df(s[i]) if close else (fs[j] - fs[i]) / (s[j] - s[i])
            inner[i, j] = h * slope + t * (fs[i] + fs[j]) / (s[i] + s[j])
    ratio = mp.diag([fs[i] / s[i] for i in range(k)])
    out = u * inner * v.transpose_conj()
    out += (y * v - u * (u.transpose_conj() * y * v)) * ratio * v.transpose_conj()
    out += u * ratio * (u.transpose_conj() * y - m * v.transpose_conj())
    return to_np(out, a)


def polar_gradient(a, w):
    """The gradient of Re<W, U V^H>."""
    return singular_gradient(a, w, lambda t: mp.mpf(1), lambda t: mp.mpf(0))


def polar_hessian(a, da, w):
    """The derivative along `da` of the gradient of Re<W, U V^H>, by differences in many digits; a square."""
    def gradient(x):
        u, s, v = _svd(x)
        m = u.transpose_conj() * to_mp(w) * v
        k = len(s)
        rows = [[(m[i, j] - mp.conj(m[j, i])) / (s[i] + s[j]) for j in range(k)] for i in range(k)]
        return [u * mp.matrix(rows) * v.transpose_conj()]

    return to_np(differences(gradient, a, da)[0], a)


def polar_tangent(a, da):
    """d(U V^H) along `da`: U [2 K / (s_i + s_j)] V^H and what leaves the spans."""
    x, dx = to_mp(a), to_mp(da)
    u, s, v = _svd(x)
    uh, vh = u.transpose_conj(), v.transpose_conj()
    p = uh * dx * v
    k = len(s)
    inner = mp.matrix(k, k)
    for i in range(k):
        for j in range(k):
            inner[i, j] = (p[i, j] - mp.conj(p[j, i])) / (s[i] + s[j])
    inverse = mp.diag([1 / t for t in s])
    return to_np(u * inner * vh + (dx * v - u * p) * inverse * vh + u * inverse * (uh * dx - p * vh), a)


def hermitian_gradient(a, w, kept):
    """The gradient of Re<W, P>, P the projector on the eigenvectors `kept` (ascending) of a Hermitian matrix.

    `kept` and the others must not share an eigenvalue; ties inside either are fine.
    """
    x, y = to_mp(a), to_mp(w)
    return to_np(_projector_gradient(x, (y + y.transpose_conj()) / 2, kept), a)


def _projector_gradient(x, y, kept):
    e, q = mp.eighe(x)
    n = x.rows
    m = q.transpose_conj() * y * q
    inner = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            if (i in kept) != (j in kept):
                inner[i, j] = m[i, j] * ((i in kept) - (j in kept)) / (e[i] - e[j])
    return q * inner * q.transpose_conj()


def left_projector_gradient(a, w, kept):
    """The gradient of Re<W, U_K U_K^H>, K the singular vectors `kept` (0 the largest), null ones included."""
    x, y = to_mp(a), to_mp(w)
    y = (y + y.transpose_conj()) / 2
    m = x.rows
    g = _projector_gradient(x * x.transpose_conj(), y, {m - 1 - i for i in kept})
    return to_np((g + g.transpose_conj()) * x, a)


_STEP = mp.mpf(10) ** -20


def differences(fun, a, da):
    """Central differences of mpmath arrays along `da`, good to 30 digits and more."""
    x, dx = to_mp(a), to_mp(da)
    up, down = fun(x + _STEP * dx), fun(x - _STEP * dx)
    return [(u - d) / (2 * _STEP) for u, d in zip(up, down, strict=True)]


def svd_tangents(a, da, u, full=False):
    """(dU, ds, dVh) of what linalgad returns, `u` telling where the pivots are; of a tall matrix if `full`."""
    rows = pivot_rows(u)

    def returned(x):
        q, s, vh = mp.svd(x, full_matrices=full)
        turned = _turned(q, rows)
        phases = [(turned[int(r), j] / q[int(r), j]) for j, r in enumerate(rows)]
        vh = mp.matrix([[vh[i, j] * mp.conj(phases[i]) for j in range(vh.cols)] for i in range(vh.rows)])
        return turned, mp.matrix([s[i] for i in range(len(s))]), vh

    du, ds, dvh = differences(returned, a, da)
    return to_np(du, u), to_np(ds, np.zeros(1))[:, 0], to_np(dvh, u)


def _turned(q, rows):
    q = mp.matrix(q)
    for j in range(q.cols):
        pivot = q[int(rows[j]), j]
        size = mp.sqrt(mp.fsum(abs(q[i, j]) ** 2 for i in range(q.rows)))
        for i in range(q.rows):
            q[i, j] *= abs(pivot) / pivot / size
    return q


def pivot_rows(v):
    """Where the forward convention puts the pivots."""
    return np.argmax(np.abs(v) >= (1 - np.finfo(v.dtype).eps ** 0.5) * np.abs(v).max(axis=0), axis=0)


def eigh_tangents(a, da, v):
    """(dw, dV) of what linalgad returns."""
    rows = pivot_rows(v)

    def returned(x):
        e, q = mp.eighe(x)
        return mp.matrix([e[i] for i in range(len(e))]), _turned(q, rows)

    dw, dv = differences(returned, a, da)
    return to_np(dw, np.zeros(1))[:, 0], to_np(dv, v)


def eig_tangents(a, da, w, v, left):
    """(dw, dV, dleft) of what linalgad returns, in its order."""
    right_rows, left_rows = pivot_rows(v), pivot_rows(left)

    def returned(x):
        e, vl, vr = mp.eig(x, left=True, right=True)
        order = [min(range(len(e)), key=lambda i, t=t: abs(e[i] - mp.mpmathify(complex(t)))) for t in w]
        vl = vl.transpose_conj()
        vr, vl = (mp.matrix([[q[i, j] for j in order] for i in range(q.rows)]) for q in (vr, vl))
        return mp.matrix([e[i] for i in order]), _turned(vr, right_rows), _turned(vl, left_rows)

    dw, dv, dl = differences(returned, a, da)
    return to_np(dw, w)[:, 0], to_np(dv, v), to_np(dl, left)
