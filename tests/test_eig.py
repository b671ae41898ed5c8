"""eig and eigvals."""
import numpy as np
import pytest
from _checks import Universal
from _matrices import H, general, normal, spectrum, wide
from _measure import assert_gauge, assert_ratios, assert_same_bits, distance, residual_ratio
from _spec import Spec
from _tols import eps, rounding

import linalgad as la
from linalgad._kernels import _eig as kernel
from linalgad._lib._gauge import tie

SHAPES = ((1,), (2,), (5,), (16,), (33,), (6,))
KINDS = ("simple", "pairs", "huge", "tiny")


def _signed(n):
    """Values of distinct modulus and alternating sign."""
    return spectrum("separated", n, "float64") * (-1.0) ** np.arange(n)


def _eigenvalues(kind, n, dtype):
    """Values with distinct real parts but for conjugate pairs (real dtypes), moduli from 0.2 to 1.2."""
    w = _signed(n) + 0j
    if np.dtype(dtype).kind == "c":
        w = w + 0.2j * np.cos(np.arange(n))
    elif kind == "pairs":
        pairs = n // 2
        w[: 2 * pairs] = np.repeat(_signed(pairs), 2) + 0.5j * (-1.0) ** np.arange(2 * pairs)
        w[2 * pairs:] = 0.2
    single = np.finfo(dtype).dtype.itemsize == 4
    return w * {"huge": 1e34 if single else 1e300, "tiny": 1e-30 if single else 1e-290}.get(kind, 1.0)


def _general(rng, batch, dtype, n, kind):
    w = _eigenvalues(kind, n, dtype)
    return (general(rng, batch, w if np.dtype(dtype).kind == "c" or w.imag.any() else w.real, dtype)[0],)


def _units(v):
    return np.abs(np.linalg.norm(v.astype(wide(v.dtype)), axis=-2) - 1).max(initial=0.0) / (v.shape[-2] * eps(v.dtype))


def _residuals(args, outs):
    (a,), (w, v, *u) = args, outs
    a = a.astype(wide(a.dtype))
    ratios = {"a": residual_ratio(a @ v, v * w[..., None, :]), "v": _units(v)}
    if u:
        ratios |= {"left": residual_ratio(H(a) @ u[0], u[0] * w.conj()[..., None, :]), "u": _units(u[0])}
    return ratios


def _order(w):
    return np.take_along_axis(w, np.lexsort((w.imag, w.real), axis=-1), -1)


def _outputs(n):
    return [((n,), "c"), ((n, n), "c")]


def _with_left(n):
    return [((n,), "c"), ((n, n), "c"), ((n, n), "c")]


_SQUARE = dict(shapes=SHAPES, empty=((0,),), square=True, nonfinite="fails")


class TestEig(Universal):
    specs = (
        Spec("eig", _outputs, _general, kinds=KINDS, residuals=_residuals, **_SQUARE),
        Spec("eig", _with_left, _general, {"left": True}, kinds=KINDS, residuals=_residuals, **_SQUARE),
        Spec("eigvals", lambda n: [((n,), "c")], _general, **_SQUARE),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SHAPES, ids=str)
def test_prescribed_eigenvalues(n, kind, dtype, rng):
    """The values the matrix was made with, by either function, at any scale."""
    a, expected = *_general(rng, (3,), dtype, *n, kind), _order(_eigenvalues(kind, *n, dtype))
    bound = rounding(dtype, *n, kappa=16.0)
    assert distance(_order(la.eigvals(a)), np.broadcast_to(expected, (3, *n))) <= bound
    assert distance(_order(la.eig(a).eigenvalues), np.broadcast_to(expected, (3, *n))) <= bound


@pytest.mark.parametrize("n", [1, 5, 16])
def test_values_agree_with_numpy(n, rng):
    """The same values, in whatever order."""
    a = normal(rng, (3, n, n), "float64")
    assert distance(_order(la.eigvals(a)), _order(np.linalg.eigvals(a) + 0j)) <= rounding("float64", n, kappa=64.0)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SHAPES, ids=str)
def test_fallback_driver(n, kind, left, dtype, rng):
    """geev, which serves the slices on which our iteration fails, meets the same conditions."""
    (a,) = _general(rng, (3,), dtype, *n, kind)
    *outs, vl, codes = kernel.eig(a, True, left, None, tie(dtype), None, skip_francis=True)
    assert codes is None
    assert_ratios(_residuals((a,), (*outs, vl) if left else outs))
    assert_gauge(outs[1])
    values = kernel.eig(a, False, False, None, tie(dtype), None, skip_francis=True)[0]
    expected = np.broadcast_to(_order(_eigenvalues(kind, *n, dtype)), (3, *n))
    assert distance(_order(values), expected) <= rounding(dtype, *n, kappa=16.0)


@pytest.mark.parametrize("n", [159, 161])
def test_both_sides_of_the_switch(n, dtype, rng):
    """Orders at which our iteration hands over to LAPACK's."""
    (a,) = _general(rng, (1,), dtype, n, "pairs")
    assert_ratios(_residuals((a,), la.eig(a, left=True)))


@pytest.mark.parametrize("name", ["permuted", "scaled", "companion", "triangular", "cyclic", "block", "graded"])
def test_structured_matrices(name, dtype, rng):
    """Matrices that balancing permutes or scales, slow starters of the QR iteration, clusters."""
    n = 12
    r = normal(rng, (n, n), dtype)
    p = np.eye(n)[rng.permutation(n)]
    a = {"permuted": p @ np.triu(r) @ p.T, "scaled": r * 4.0 ** np.subtract.outer(np.arange(n), np.arange(n)),
         "companion": np.eye(n, k=-1) + np.outer(np.arange(n) == 0, r[0]), "triangular": np.tril(r),
         "cyclic": np.roll(np.eye(n), 1, 0), "block": np.kron(np.eye(n // 2), r[:2, :2]),
         "graded": r * 10.0 ** -np.add.outer(np.arange(n), np.arange(n)) ** 0.5}[name].astype(dtype)
    w, v, u = la.eig(a, left=True)
    wa, norm = a.astype(wide(dtype)), np.linalg.norm(a)
    bound = rounding(dtype, n)
    # Balancing by powers of two gives vectors whose residual is small relative to the balanced matrix.
    scale = norm if name != "scaled" else np.abs(np.linalg.eigvals(wa)).max() * 4.0 ** n
    assert np.linalg.norm(wa @ v - v * w, axis=0).max() <= bound * scale
    assert np.linalg.norm(H(wa) @ u - u * w.conj(), axis=0).max() <= bound * scale
    assert_ratios({"v": _units(v), "u": _units(u)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SHAPES, ids=str)
def test_gauge(n, kind, dtype, rng):
    """The pivot of each vector, right and left, is real and positive."""
    _, v, u = la.eig(*_general(rng, (3,), dtype, *n, kind), left=True)
    assert_gauge(v)
    assert_gauge(u)


def test_gauge_pivot_among_equal_entries(dtype):
    """Entries equal but for rounding: the first is the pivot, whatever LAPACK returned."""
    h = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    w, v, u = la.eig(((h * [1.0, 2.0, 3.0, 4.0]) @ h.T).astype(dtype), left=True)
    order = np.argsort(w.real)
    assert distance(v[:, order], h) <= rounding(dtype, 4, kappa=4.0)
    assert distance(u[:, order], h) <= rounding(dtype, 4, kappa=4.0)


def test_left_vectors_are_biorthogonal(dtype, rng):
    """Left and right vectors of different eigenvalues are orthogonal."""
    _, v, u = la.eig(*_general(rng, (3,), dtype, 6, "pairs"), left=True)
    cross = H(u) @ v
    i = np.arange(6)
    size = np.abs(cross[..., i, i]).min()
    cross[..., i, i] = 0
    assert np.abs(cross).max() <= rounding(dtype, 6, kappa=16.0) * size


def test_conjugate_pairs(dtype, rng):
    """Pairs of a real matrix are exactly conjugate, the positive imaginary part first."""
    a = _general(rng, (3,), np.finfo(dtype).dtype, 6, "pairs")[0]
    w, v, u = la.eig(a, left=True)
    assert (w[..., ::2].imag > 0).all()
    for x in (w, v, u):
        assert np.array_equal(x[..., 1::2], x[..., ::2].conj())


def test_batch_of_real_and_complex_values():
    """One dtype for the batch, whatever the values of each matrix."""
    a = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]]])
    assert distance(_order(la.eigvals(a)), np.array([[1.0, 2.0], [-1j, 1j]])) <= rounding("float64", 2)
    assert not la.eigvals(a)[0].imag.any()


def test_real_values_have_no_imaginary_part(dtype, rng):
    """Values and vectors of a real matrix with real spectrum."""
    a = _general(rng, (3,), np.finfo(dtype).dtype, 6, "simple")[0]
    assert not any(x.imag.any() for x in la.eig(a, left=True))


def test_defective_matrix(dtype):
    """A Jordan block: the values are right and every column is an eigenvector."""
    a = np.array([[1, 1], [0, 1]], dtype)
    w, v = la.eig(a)
    assert distance(w, np.ones(2)) <= rounding(dtype, 2)
    assert_ratios(_residuals((a,), (w, v)))


def test_scaling_by_a_power_of_two_is_exact(dtype, rng):
    """Extreme scales go through the same numbers: SciPy's geev is wrong by 1e160 at a scale of 1e-300."""
    e = 100 if np.finfo(dtype).dtype.itemsize == 4 else 900
    a = normal(rng, (3, 7, 7), dtype)
    a /= np.abs(a).max((-2, -1), keepdims=True) * 4 / 3      # largest entry 3/4, binary exponent 0
    w, v = la.eig(a)
    up, down = (la.eig(a * np.ldexp(np.finfo(dtype).dtype.type(1), s)) for s in (e, -e))
    assert_same_bits(up.eigenvectors, v)
    assert_same_bits(down.eigenvectors, v)
    assert_same_bits(up.eigenvalues, w * np.ldexp(np.finfo(dtype).dtype.type(1), e))


def test_subnormal_matrix():
    """Entries below the smallest normal number keep their leading digits."""
    a = np.diag([4.0, 2.0, 1.0]) * 2.0 ** -1060
    assert distance(la.eigvals(a).real, np.diag(a)) <= 2.0 ** -14


def test_zero_matrix(dtype):
    """All eigenvalues zero, the unit vectors as eigenvectors."""
    w, v = la.eig(np.zeros((2, 3, 3), dtype))
    assert not w.any()
    assert_same_bits(v, np.broadcast_to(np.eye(3), (2, 3, 3)).astype(v.dtype))


@pytest.mark.parametrize("left", [False, True])
def test_result_fields(left, dtype):
    """The field names of numpy.linalg."""
    names = ("eigenvalues", "eigenvectors", "left_eigenvectors")
    assert la.eig(np.eye(3, dtype=dtype), left=left)._fields == names[: 2 + left]


@pytest.mark.parametrize("fn", ["eig", "eigvals"])
def test_workspace_too_long_for_lapack(fn):
    """More elements than LAPACK's integers count: refused before anything is allocated."""
    with pytest.raises(ValueError, match=rf"^{fn}: a matrix of shape .* more than LAPACK's"):
        getattr(la, fn)(np.broadcast_to(np.float32(1), (2 ** 24, 2 ** 24)))
