"""Divide and conquer for Hermitian matrices beyond packs, at any order at which it has two leaves or more."""
import mpmath
import numpy as np
import pytest
from _matrices import H, definite, hermitian, normal
from _measure import assert_gauge, assert_ratios, assert_same_bits, distance, orthogonality_ratio, residual_ratio
from _tols import eps, rounding

import linalgad as la
from linalgad._lib import _compact

ORDERS = [25, 31, 48, 49, 50, 66, 97, 130]


def _banded(d, e):
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)


def _from_values(rng, w):
    q = np.linalg.qr(rng.standard_normal((len(w), len(w))))[0]
    return q * w @ q.T


def _glued(n, block, glue):
    """Wilkinson's matrices along the diagonal: pairs of eigenvalues that agree, many times over."""
    e = np.ones(n - 1)
    e[block - 1::block] = glue
    return _banded(np.abs(np.arange(n) % block - block // 2), e)


#: name -> a function of (rng, n): spectra that are spread, clustered, equal, graded, or given up by deflation in part
FAMILIES = {
    "random": lambda rng, n: hermitian(rng, (), n, "float64"),
    "spread": lambda rng, n: _from_values(rng, np.arange(1.0, n + 1)),
    "half equal": lambda rng, n: _from_values(rng, np.r_[np.ones(n // 2), np.linspace(1, 2, n - n // 2)]),
    "nearly equal": lambda rng, n: _from_values(rng, 1 + 1e-12 * rng.standard_normal(n)),
    "two values": lambda rng, n: _from_values(rng, np.sign(rng.standard_normal(n))),
    "geometric": lambda rng, n: _from_values(rng, np.geomspace(1, 1e-14, n)),
    "rank one": lambda rng, n: np.outer(x := rng.standard_normal(n), x),
    "negative rank one": lambda rng, n: -np.outer(x := rng.standard_normal(n), x),
    "Wilkinson": lambda rng, n: _banded(np.abs(np.arange(n) - (n - 1) / 2), np.ones(n - 1)),
    "glued": lambda rng, n: _glued(n, 21, 1e-8),
    "glued loosely": lambda rng, n: _glued(n, 11, 1e-3),
    "second differences": lambda rng, n: _banded(np.full(n, 2.0), -np.ones(n - 1)),
    "no diagonal": lambda rng, n: _banded(np.zeros(n), np.ones(n - 1)),
    "Clement": lambda rng, n: _banded(np.zeros(n), np.sqrt(np.arange(1.0, n) * np.arange(n - 1.0, 0, -1))),
    "graded": lambda rng, n: _banded(2.0 ** -np.arange(n), 0.3 * 2.0 ** -np.arange(n - 1)),
    "graded up": lambda rng, n: _banded(2.0 ** np.arange(-n, 0), 0.3 * 2.0 ** np.arange(1 - n, 0)),
    "small couplings": lambda rng, n: _banded(rng.uniform(0, 1, n), 10.0 ** rng.uniform(-18, 0, n - 1)),
    "large couplings": lambda rng, n: _banded(rng.standard_normal(n), 10.0 ** rng.uniform(0, 4, n - 1)),
}


@pytest.fixture
def conquer(blocked_tier):
    """Tiers in which no packs serve eigh, so that divide and conquer does."""
    return blocked_tier


def _stack(rng, family, n, dtype):
    """A matrix of the family, its opposite in reverse and one as large as it, in one stack."""
    a = FAMILIES[family](rng, n)
    a = np.stack([a, -a[::-1, ::-1], 3e3 * a])
    if np.dtype(dtype).kind == "c":
        phase = np.exp(1j * rng.uniform(0, 6, n))
        a = phase[:, None] * a * phase.conj()
        a = (a + H(a)) / 2
    return a.astype(dtype)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_residuals(family, n, dtype, conquer, rng):
    """Residuals, orthogonality, order and phases, and the spectrum that LAPACK finds."""
    a = _stack(rng, family, n, dtype)
    w, v = la.eigh(a)
    assert_ratios({"a": residual_ratio(a, v * w[..., None, :], H(v)), "v": orthogonality_ratio(v)})
    assert (np.diff(w) >= 0).all()
    assert_gauge(v)
    _compact.use("off")
    assert distance(w, la.eigvalsh(a)) <= rounding(dtype, n)


@pytest.mark.parametrize("n", ORDERS)
def test_kernels_run(n, dtype, conquer, rng):
    """What LAPACK alone gives differs in rounding."""
    a = hermitian(rng, (2,), n, dtype)
    _, v = la.eigh(a)
    _compact.use("off")
    _, other = la.eigh(a)
    assert not np.array_equal(v, other)
    assert distance(v, other) <= rounding(dtype, n, kappa=64.0 * n)


@pytest.mark.parametrize("n", [100, 300])
def test_kernels_run_for_entries_of_all_sizes(n, conquer):
    """What is negligible beside the largest entry does not send the matrix to LAPACK."""
    rng = np.random.default_rng(0)
    size, g = 10.0 ** -rng.uniform(0, 100, n), rng.standard_normal((n, n))
    a = size[:, None] * (g + g.T) * size
    w, v = la.eigh(a)
    assert_ratios({"a": residual_ratio(a, v * w, H(v)), "v": orthogonality_ratio(v)})
    _compact.use("off")
    assert not np.array_equal(v, la.eigh(a).eigenvectors)


@pytest.mark.parametrize("family", ["random", "Wilkinson", "glued loosely", "geometric"])
def test_eigenvalues_in_sixty_digits(family, conquer, rng):
    """Errors are a small multiple of the rounding of the largest one."""
    a = FAMILIES[family](rng, 30)
    a = (a + a.T) / 2
    with mpmath.workdps(60):
        true = np.array([float(x) for x in mpmath.eigsy(mpmath.matrix(a.tolist()), eigvals_only=True)])
    assert np.abs(la.eigh(a).eigenvalues - true).max() <= 4 * eps("float64") * np.abs(true).max()


@pytest.mark.parametrize("value", [0.0, 1.0, -3.0])
def test_multiples_of_the_identity(value, dtype, conquer):
    a = value * np.eye(70, dtype=dtype)
    w, v = la.eigh(a)
    assert np.array_equal(w, np.full(70, value))
    assert np.array_equal(v, np.eye(70))


def test_independent_parts_keep_their_accuracy(conquer, rng):
    """A part far smaller than the other has the eigenvalues that it has alone, to its own rounding."""
    big, small = (_banded(rng.standard_normal(40), rng.standard_normal(39)) for _ in range(2))
    a = np.zeros((80, 80))
    a[:40, :40], a[40:, 40:] = big, 1e-30 * small
    w = la.eigvalsh(small)
    found = la.eigh(a).eigenvalues
    near = np.sort(found[np.argsort(np.abs(found))[:40]])
    assert np.abs(near - 1e-30 * w).max() <= 1e-30 * rounding("float64", 40) * np.abs(w).max()


@pytest.mark.parametrize("power", [-130, -100, -60, 60, 100, 120])
def test_any_scale(power, dtype, conquer, rng):
    """A power of two changes no digit; matrices whose reflectors would leave the range go to LAPACK."""
    a = hermitian(rng, (2,), 40, dtype)
    w, v = la.eigh(a)
    factor = np.ldexp(w.dtype.type(1), power)
    big_w, big_v = la.eigh(a * factor)
    if eps(dtype) < 1e-10:
        assert_same_bits((big_w, big_v), (w * factor, v))
    elif -120 < power < 120:
        assert distance(big_w, w * factor) <= rounding(dtype, 40)
        assert_ratios({"v": orthogonality_ratio(big_v)})


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_pencils(kind, dtype, conquer, rng):
    """Generalized problems are reduced to what divide and conquer solves."""
    a, b = hermitian(rng, (2,), 60, dtype), definite(rng, (2,), 60, dtype)
    w, v = la.eigh(a, b, type=kind)
    x, y, z = (t.astype(np.result_type(t, np.float64)) for t in (a, b, v))
    left, right = {1: (x @ z, y @ z), 2: (x @ (y @ z), z), 3: (y @ (x @ z), z)}[kind]
    assert_ratios({"a": residual_ratio(left, (right * w[..., None, :]).astype(dtype))})


def test_results_do_not_depend_on_lanes_or_neighbours(dtype, conquer, rng):
    a = hermitian(rng, (5,), 70, dtype)
    a[3, 2, 1] = np.nan
    out = la.eigh(a, lanes=1, errors="nan")
    assert_same_bits(la.eigh(a, lanes=2, errors="nan"), out)
    for i in (0, 1, 2, 4):
        assert_same_bits(la.eigh(a[i]), (out[0][i], out[1][i]))
    assert np.isnan(out[0][3]).all()


@pytest.mark.parametrize("upper", [False, True])
def test_the_other_triangle_is_not_read(upper, dtype, conquer, rng):
    a = hermitian(rng, (), 60, dtype)
    hidden = np.where(np.tri(60, k=-1, dtype=bool).T ^ upper, normal(rng, (60, 60), dtype), a)
    hidden[np.diag_indices(60)] = a[np.diag_indices(60)]
    assert_same_bits(la.eigh(hidden, lower=not upper), la.eigh(a, lower=not upper))
