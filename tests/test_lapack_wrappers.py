"""Every LAPACK wrapper of the kernels, in every type, against scipy.linalg.lapack."""
import re
from pathlib import Path

import numpy as np
import pytest
from _matrices import H, definite, hermitian, normal, triangular
from _measure import distance
from _tols import rounding
from scipy.linalg import blas, lapack

from linalgad._kernels import _lapack_probe as probe

M, N, NRHS, LWORK = 7, 5, 3, 2000
KEYS = {"f": "float", "d": "double", "F": "float complex", "D": "double complex"}
PREFIX = {"f": "s", "d": "d", "F": "c", "D": "z"}


class Routines:
    """The wrappers and SciPy's routines for one type, and arrays for both."""

    def __init__(self, dtype, rng):
        self.dtype, self.rng = np.dtype(dtype), rng
        self.complex = self.dtype.kind == "c"

    def ours(self, name, *args):
        """Call a wrapper; letters become their codes."""
        fn = getattr(probe, name)[KEYS[self.dtype.char]]
        return fn(0, *(ord(x) if isinstance(x, str) else x for x in args))

    def theirs(self, name, *args, complex_name=None, module=lapack, **kw):
        """Call SciPy's routine of the same name, or of `complex_name` in the complex types."""
        name = complex_name if complex_name and self.complex else name
        return getattr(module, PREFIX[self.dtype.char] + name)(*args, **kw)

    def array(self, *shape):
        return np.zeros(shape, self.dtype, order="F")

    def reals(self, *shape):
        return np.zeros(shape, np.finfo(self.dtype).dtype)

    def ints(self, *shape):
        return np.zeros(shape, np.int32 if probe.BLAS_INT_BYTES == 4 else np.int64)

    def normal(self, *shape):
        return np.asfortranarray(normal(self.rng, shape, self.dtype))

    def definite(self):
        return np.asfortranarray(definite(self.rng, (), N, self.dtype))

    def hermitian(self):
        return np.asfortranarray(hermitian(self.rng, (), N, self.dtype))

    def symmetric(self):
        a = self.normal(N, N)
        return np.asfortranarray(a + a.T)

    def triangular(self):
        return np.asfortranarray(triangular(self.rng, (), N, self.dtype))


# Each case calls both sides and returns pairs (ours, theirs).

def potrf(r):
    a = r.definite()
    c = a.copy(order="F")
    assert r.ours("potrf", "L", N, c, N) == 0
    return [(np.tril(c), r.theirs("potrf", a, lower=1)[0])]


def potrs(r):
    c, b = r.triangular(), r.normal(N, NRHS)
    x = b.copy(order="F")
    assert r.ours("potrs", "L", N, NRHS, c, N, x, N) == 0
    return [(x, r.theirs("potrs", c, b, lower=1)[0])]


def potri(r):
    c = r.triangular()
    x = c.copy(order="F")
    assert r.ours("potri", "L", N, x, N) == 0
    return [(np.tril(x), np.tril(r.theirs("potri", c, lower=1)[0]))]


def lu(r, m=N):
    a = r.normal(m, N)
    f, piv = a.copy(order="F"), r.ints(N)
    assert r.ours("getrf", m, N, f, m, piv) == 0
    return a, f, piv


def getrf(r):
    a, f, piv = lu(r, M)
    lu_, piv_, _ = r.theirs("getrf", a)
    return [(f, lu_), (piv - 1, piv_)]


def getrs(trans):
    def case(r):
        _, f, piv = lu(r)
        b = r.normal(N, NRHS)
        x = b.copy(order="F")
        assert r.ours("getrs", trans, N, NRHS, f, N, piv, x, N) == 0
        return [(x, r.theirs("getrs", f, piv - 1, b, trans="NTC".index(trans))[0])]
    return case


def getri(r):
    _, f, piv = lu(r)
    x = f.copy(order="F")
    assert r.ours("getri", N, x, N, piv, r.array(LWORK), LWORK) == 0
    return [(x, r.theirs("getri", f, piv - 1)[0])]


def indefinite(factor, solve, make, complex_factor, complex_system):
    """Bunch-Kaufman: the factor, its interchanges and a solution."""
    def case(r):
        a, b = make(r), r.normal(N, NRHS)
        f, piv, x = a.copy(order="F"), r.ints(N), b.copy(order="F")
        assert r.ours(factor, "L", N, f, N, piv, r.array(LWORK), LWORK) == 0
        assert r.ours(solve, "L", N, NRHS, f, N, piv, x, N) == 0
        f_, piv_, _ = r.theirs("sytrf", a, lower=1, complex_name=complex_factor)
        x_ = r.theirs("sysv", a, b, lower=1, complex_name=complex_system)[2]    # SciPy 1.14 has no wrapper of sytrs
        return [(np.tril(f), np.tril(f_)), (piv, piv_), (x, x_)]
    return case


def gtsv(r):
    low, d, up, b = r.normal(N - 1), 4 + r.normal(N), r.normal(N - 1), r.normal(N, NRHS)
    x = b.copy(order="F")
    expected = r.theirs("gtsv", low.copy(), d.copy(), up.copy(), b)[3]
    assert r.ours("gtsv", N, NRHS, low, d, up, x, N) == 0
    return [(x, expected)]


def trtrs(r):
    a, b = r.triangular(), r.normal(N, NRHS)
    x = b.copy(order="F")
    assert r.ours("trtrs", "L", "C", "U", N, NRHS, a, N, x, N) == 0
    return [(x, r.theirs("trtrs", a, b, lower=1, trans=2, unitdiag=1)[0])]


def reflect(r):
    a = r.normal(M, N)
    f, tau = a.copy(order="F"), r.array(N)
    assert r.ours("geqrf", M, N, f, M, tau, r.array(LWORK), LWORK) == 0
    return a, f, tau


def geqrf(r):
    a, f, tau = reflect(r)
    f_, tau_, _, _ = r.theirs("geqrf", a)
    return [(f, f_), (tau, tau_)]


def orgqr(r):
    _, f, tau = reflect(r)
    q = f.copy(order="F")
    assert r.ours("orgqr", M, N, N, q, M, tau, r.array(LWORK), LWORK) == 0
    return [(q, r.theirs("orgqr", f, tau, complex_name="ungqr")[0])]


def lq(r):
    """SciPy does not offer gelqf and orglq: L Q gives the matrix back, and L is R^H of the QR of A^H."""
    a = r.normal(N, M)
    f, tau = a.copy(order="F"), r.array(N)
    assert r.ours("gelqf", N, M, f, N, tau, r.array(LWORK), LWORK) == 0
    q = f.copy(order="F")
    assert r.ours("orglq", N, M, N, q, N, tau, r.array(LWORK), LWORK) == 0
    low = np.tril(f[:, :N])
    mirror = H(r.theirs("geqrf", np.asfortranarray(H(a)))[0])[:, :N]
    return [(low @ q, a), (q @ H(q), np.eye(N)), (np.abs(low), np.abs(np.tril(mirror)))]


def geqp3(r):
    a = r.normal(M, N)
    f, tau, jpvt = a.copy(order="F"), r.array(N), r.ints(N)
    assert r.ours("geqp3", M, N, f, M, jpvt, tau, r.array(LWORK), LWORK, r.reals(2 * N)) == 0
    f_, jpvt_, tau_, _, _ = r.theirs("geqp3", a)
    return [(f, f_), (jpvt, jpvt_), (tau, tau_)]


def gesdd(r):
    a = r.normal(M, N)
    s, u, vt = r.reals(N), r.array(M, M), r.array(N, N)
    assert r.ours("gesdd", "A", M, N, a.copy(order="F"), M, s, u, M, vt, N, r.array(LWORK), LWORK, r.reals(LWORK),
                  r.ints(8 * N)) == 0
    u_, s_, vt_, _ = r.theirs("gesdd", a, full_matrices=1)
    return [(s, s_), (u, u_), (vt, vt_)]


def gesvd(r):
    a = r.normal(M, N)
    s, u, vt = r.reals(N), r.array(M, N), r.array(N, N)
    assert r.ours("gesvd", "S", "S", M, N, a.copy(order="F"), M, s, u, M, vt, N, r.array(LWORK), LWORK,
                  r.reals(5 * N)) == 0
    u_, s_, vt_, _ = r.theirs("gesvd", a, full_matrices=0)
    return [(s, s_), (u, u_), (vt, vt_)]


def syevd(r):
    a, w = r.hermitian(), r.reals(N)
    v = a.copy(order="F")
    assert r.ours("syevd", "V", "L", N, v, N, w, r.array(LWORK), LWORK, r.reals(LWORK), LWORK, r.ints(LWORK),
                  LWORK) == 0
    w_, v_, _ = r.theirs("syevd", a, lower=1, complex_name="heevd")
    return [(w, w_), (v, v_)]


def tridiagonal(uplo):
    def case(r):
        a, q, d, e, tau = r.hermitian(), np.asfortranarray(np.eye(N, dtype=r.dtype)), r.reals(N), r.reals(N), r.array(N)
        f = a.copy(order="F")
        assert r.ours("sytrd", uplo, N, f, N, d, e, tau, r.array(LWORK), LWORK) == 0
        assert r.ours("ormtr", uplo, N, N, f, N, tau, q, N, r.array(LWORK), LWORK) == 0
        f_, d_, e_, tau_, _ = r.theirs("sytrd", a, lower=uplo == "L", complex_name="hetrd")
        t = np.diag(d) + np.diag(e[:-1], 1) + np.diag(e[:-1], -1)
        return [(f, f_), (d, d_), (e[:-1], e_), (tau[:-1], tau_), (q @ t @ H(q), a), (q @ H(q), np.eye(N))]
    return case


def syev(r):
    a, w = r.hermitian(), r.reals(N)
    v = a.copy(order="F")
    assert r.ours("syev", "V", "U", N, v, N, w, r.array(LWORK), LWORK, r.reals(3 * N)) == 0
    w_, v_, _ = r.theirs("syev", a, lower=0, complex_name="heev")
    return [(w, w_), (v, v_)]


def syevr(r):
    a, w, z = r.hermitian(), r.reals(N), r.array(N, 3)
    assert r.ours("syevr", "V", "L", N, a.copy(order="F"), N, 2, 4, w, z, N, r.ints(2 * N), r.array(LWORK), LWORK,
                  r.reals(LWORK), LWORK, r.ints(LWORK), LWORK) == 0
    w_, z_, *_ = r.theirs("syevr", a, lower=1, range="I", il=2, iu=4, complex_name="heevr")
    return [(w[:3], w_[:3]), (z, z_[:, :3])]


def geev(r):
    a, vl, vr = r.normal(N, N), r.array(N, N), r.array(N, N)
    w, wi = (r.array(N), None) if r.complex else (r.reals(N), r.reals(N))
    assert r.ours("geev", "V", "V", N, a.copy(order="F"), N, w, wi, vl, N, vr, N, r.array(LWORK), LWORK,
                  r.reals(2 * N)) == 0
    *values, vl_, vr_, _ = r.theirs("geev", a)
    return [*zip((w, wi), values, strict=False), (vl, vl_), (vr, vr_)]


def sygst(r):
    a, c = r.hermitian(), r.triangular()
    x = a.copy(order="F")
    assert r.ours("sygst", 1, "L", N, x, N, c, N) == 0
    return [(np.tril(x), np.tril(r.theirs("sygst", a, c, itype=1, lower=1, complex_name="hegst")[0]))]


def trmm(r):
    a, b = r.triangular(), r.normal(N, NRHS)
    x = b.copy(order="F")
    assert r.ours("trmm", "L", "L", "C", "N", N, NRHS, a, N, x, N) is None
    one = r.dtype.type(1)
    return [(x, r.theirs("trmm", one, a, b, lower=1, trans_a=2, module=blas))]


def blocked_qr(r):
    a, c = r.normal(M, N), r.normal(M, NRHS)
    v, t, x = a.copy(order="F"), r.array(N, N), c.copy(order="F")
    assert r.ours("geqrt", M, N, N, v, M, t, N, r.array(N, N)) == 0
    v_, t_, _ = r.theirs("geqrt", N, a)
    assert r.ours("larfb", M, NRHS, N, v, M, t, N, x, M, r.array(NRHS, N), NRHS) is None
    return [(v, v_), (np.triu(t), np.triu(t_)), (x, r.theirs("gemqrt", v_, t_, c)[0])]


CASES = {
    "potrf": potrf, "potrs": potrs, "potri": potri, "getrf": getrf, "getri": getri, "gtsv": gtsv, "trtrs": trtrs,
    "getrs-N": getrs("N"), "getrs-T": getrs("T"), "getrs-C": getrs("C"),
    "sytrf-sytrs": indefinite("sytrf", "sytrs", Routines.symmetric, "sytrf", "sysv"),
    "hetrf-hetrs": indefinite("hetrf", "hetrs", Routines.hermitian, "hetrf", "hesv"),
    "geqrf": geqrf, "orgqr": orgqr, "gelqf-orglq": lq, "geqp3": geqp3, "gesdd": gesdd, "gesvd": gesvd, "syevd": syevd,
    "sytrd-ormtr-L": tridiagonal("L"), "sytrd-ormtr-U": tridiagonal("U"),
    "syev": syev, "syevr": syevr, "geev": geev, "sygst": sygst, "trmm": trmm,
    "geqrt-larfb": blocked_qr,
}


@pytest.mark.parametrize("name", CASES)
def test_wrapper(name, dtype, rng):
    """The wrapper does what SciPy's routine of that name and type does."""
    pairs = CASES[name](Routines(dtype, rng))
    assert all(np.shape(got) == np.shape(expected) for got, expected in pairs)
    assert max(distance(got, expected) for got, expected in pairs) <= rounding(dtype, M, kappa=4.0)


def test_every_wrapper_has_a_case():
    """A routine added to the wrappers needs a shim and a case."""
    folder = Path(__file__).resolve().parents[1] / "linalgad" / "_kernels"
    declared = re.findall(r"^cdef inline (?:blas_int|void) (\w+)\(", "".join(
        (folder / f"_lapack_{part}.pxd").read_text() for part in ("solve", "factor")), re.MULTILINE)
    assert sorted(declared) == sorted({part for name in CASES for part in name.split("-") if len(part) > 1})


@pytest.mark.parametrize(("name", "args"), [("potrf", ("L", -1, None, 1)), ("getrf", (-1, 1, None, 1, None)),
                                            ("geqrf", (1, -1, None, 1, None, None, 1))])
def test_info_is_returned(name, args, dtype, rng, capfd):
    """LAPACK's complaint about an argument comes back as a negative code."""
    assert Routines(dtype, rng).ours(name, *args) < 0
