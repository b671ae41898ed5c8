"""eigh and eigvalsh."""
import numpy as np
import pytest
import scipy.linalg
from _checks import Universal
from _matrices import KINDS, H, definite, hermitian, spectrum, wide
from _measure import assert_gauge, assert_ratios, assert_same_bits, distance, orthogonality_ratio, residual_ratio
from _spec import Spec
from _tols import rounding

import linalgad as la
from linalgad import LinAlgError
from linalgad._kernels import _eigh as kernel
from linalgad._lib._gauge import tie

SHAPES = ((1,), (2,), (5,), (16,), (33,), (6,))
SUBSET = (1, 3)


def _hermitian(rng, batch, dtype, n, kind):
    return (hermitian(rng, batch, n, dtype, kind),)


def _pencil(rng, batch, dtype, n, kind):
    return definite(rng, batch, n, dtype), hermitian(rng, batch, n, dtype, kind)


def _outputs(n):
    return [((n,), "r"), ((n, n), "t")]


def _ascending(w):
    return np.inf if (np.diff(w) < 0).any() else 0.0


def _residuals(args, outs):
    (a,), (w, v) = args, outs
    return {"a": residual_ratio(a, v * w[..., None, :], H(v)), "v": orthogonality_ratio(v), "ascending": _ascending(w)}


def _subset_residuals(args, outs):
    (a,), (w, v) = args, outs
    return {"a": residual_ratio(a.astype(wide(a.dtype)) @ v, v * w[..., None, :]), "v": orthogonality_ratio(v),
            "ascending": _ascending(w)}


def _pencil_residuals(kind):
    def residuals(args, outs):
        (b, a), (w, v) = (x.astype(wide(x.dtype)) for x in args), outs
        left, right = {1: (a @ v, b @ v), 2: (a @ (b @ v), v), 3: (b @ (a @ v), v)}[kind]
        factor = np.linalg.cholesky(b)
        unit = np.linalg.solve(factor, v) if kind == 3 else H(factor) @ v
        return {"a": residual_ratio(left, (right * w[..., None, :]).astype(v.dtype)),
                "v": orthogonality_ratio(unit.astype(v.dtype)), "ascending": _ascending(w)}
    return residuals


def _pencil_values(kind, vectors=True):
    def values(b, a):
        factor = np.linalg.cholesky(b)
        reduced = np.linalg.solve(factor, H(np.linalg.solve(factor, a))) if kind == 1 else H(factor) @ a @ factor
        w = np.linalg.eigvalsh(reduced)
        return (w, None) if vectors else w
    return values


def _indefinite(dtype, n):
    return np.diag([*np.ones(n - 1), -1.0]).astype(dtype)


def _swapped(fn, b, a, **kw):
    return fn(a, b, **kw)


_SQUARE = dict(square=True, empty=((0,),), nonfinite="fails")
# The checks put NaN into the lower triangle, which these do not read.
_UPPER = dict(square=True, empty=((0,),), nonfinite="unread")


class TestEigh(Universal):
    specs = (
        Spec("eigh", _outputs, _hermitian, shapes=SHAPES, kinds=KINDS, residuals=_residuals,
             reference=lambda a: (np.linalg.eigvalsh(a), None), **_SQUARE),
        Spec("eigh", _outputs, _hermitian, {"lower": False}, shapes=SHAPES, kinds=KINDS, residuals=_residuals,
             reference=lambda a: (np.linalg.eigvalsh(a, "U"), None), **_UPPER),
        Spec("eigvalsh", lambda n: [((n,), "r")], _hermitian, shapes=SHAPES, kinds=KINDS,
             residuals=lambda args, outs: {"ascending": _ascending(outs[0])}, reference=np.linalg.eigvalsh,
             **_SQUARE),
    )


class TestSubset(Universal):
    specs = (
        Spec("eigh", lambda n: [((3,), "r"), ((n, 3), "t")], _hermitian, {"subset_by_index": SUBSET},
             shapes=((4,), (17,), (6,)), residuals=_subset_residuals, square=True, empty=(), nonfinite="fails",
             reference=lambda a: (np.linalg.eigvalsh(a)[..., 1:4], None)),
        Spec("eigvalsh", lambda n: [((3,), "r")], _hermitian, {"subset_by_index": SUBSET, "lower": False},
             shapes=((4,), (17,), (6,)), reference=lambda a: np.linalg.eigvalsh(a)[..., 1:4],
             **(_UPPER | {"empty": ()})),
    )


class TestPencil(Universal):
    """The generalized problems; `b` comes first, so that the checks make it fail."""

    specs = tuple(
        Spec("eigh", _outputs, _pencil, {"type": kind}, ("b", "a"), shapes=SHAPES, residuals=_pencil_residuals(kind),
             reference=_pencil_values(kind), kappa=16.0, fails=_indefinite, call=_swapped, **_SQUARE)
        for kind in (1, 2, 3)
    ) + (
        Spec("eigvalsh", lambda n: [((n,), "r")], _pencil, {"lower": False}, ("b", "a"), shapes=SHAPES,
             reference=_pencil_values(1, False), kappa=16.0, fails=_indefinite, call=_swapped, **_UPPER),
    )


def _turned(v):
    """Columns rotated as the gauge says."""
    pivot = np.take_along_axis(v, np.argmax(np.abs(v), -2)[..., None, :], -2)
    return v * (np.conj(pivot) / np.abs(pivot))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [2, 5, 33])
def test_vectors_agree_with_numpy(n, lower, dtype, rng):
    """Conjugation and transposition are right: the vectors are those of A, up to phase."""
    a = hermitian(rng, (3,), n, dtype)
    v = _turned(np.linalg.eigh(a.astype(wide(dtype)))[1])
    got = la.eigh(a, lower=lower).eigenvectors
    size = np.sort(np.abs(v), -2)
    clear = size[..., -1, :] > 1.01 * size[..., -2, :]      # the pivot is not a matter of rounding
    assert distance(np.where(clear[..., None, :], got, 0), np.where(clear[..., None, :], v, 0)) <= rounding(dtype, n, 8)


@pytest.mark.parametrize("kind", (1, 2, 3))
@pytest.mark.parametrize("subset", [None, (0, 2)])
def test_pencil_agrees_with_scipy(kind, subset, dtype, rng):
    """Values, and vectors up to phase."""
    a, b = hermitian(rng, (), 5, dtype), definite(rng, (), 5, dtype)
    w, v = scipy.linalg.eigh(a.astype(wide(dtype)), b.astype(wide(dtype)), type=kind, subset_by_index=subset)
    got = la.eigh(a, b, type=kind, subset_by_index=subset)
    assert distance(got.eigenvalues, w) <= rounding(dtype, 5, kappa=16.0)
    assert distance(np.abs(got.eigenvectors), np.abs(v)) <= rounding(dtype, 5, kappa=64.0)
    assert_gauge(got.eigenvectors)
    assert distance(la.eigvalsh(a, b, type=kind, subset_by_index=subset), w) <= rounding(dtype, 5, kappa=16.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SHAPES, ids=str)
def test_gauge(n, kind, dtype, rng):
    """The pivot of each eigenvector is real and positive."""
    assert_gauge(la.eigh(hermitian(rng, (3,), *n, dtype, kind)).eigenvectors)


def test_gauge_pivot_among_equal_entries(dtype):
    """Entries equal but for rounding: the first is the pivot, whatever LAPACK returned."""
    h = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    w, v = la.eigh(((h * [1.0, 2.0, 3.0, 4.0]) @ h.T).astype(dtype))
    assert distance(w, np.array([1.0, 2.0, 3.0, 4.0])) <= rounding(dtype, 4)
    assert distance(v, h) <= rounding(dtype, 4, kappa=4.0)


@pytest.mark.parametrize("keywords", [{}, {"subset_by_index": (0, 2)}, {"b": "definite"}], ids=str)
@pytest.mark.parametrize("fn", ["eigh", "eigvalsh"])
@pytest.mark.parametrize("lower", [True, False])
def test_only_one_triangle_is_read(lower, fn, keywords, dtype, rng):
    """The other triangle may hold anything, NaN included; that of b too."""
    a = hermitian(rng, (4,), 6, dtype)
    junk = np.triu(np.ones((6, 6), bool), 1)
    junk = junk if lower else junk.T
    plain, dirty = dict(keywords), dict(keywords)
    if "b" in keywords:
        plain["b"] = definite(rng, (4,), 6, dtype)
        dirty["b"] = np.where(junk, np.nan, plain["b"]).astype(dtype)
    got = getattr(la, fn)(np.where(junk, np.nan, a).astype(dtype), lower=lower, **dirty)
    assert_same_bits(got, getattr(la, fn)(a, lower=lower, **plain))


@pytest.mark.parametrize("fn", ["eigh", "eigvalsh"])
@pytest.mark.parametrize("lower", [True, False])
def test_nonfinite_in_the_triangle_is_a_failure(lower, fn, dtype, rng):
    """NaN where it is read is never swallowed."""
    a = hermitian(rng, (3,), 6, dtype)
    a[1, 2, 4] = a[1, 4, 2] = np.nan
    with pytest.raises(LinAlgError, match="NaN or infinite") as e:
        getattr(la, fn)(a, lower=lower)
    assert e.value.indices == ((1,),)


@pytest.mark.parametrize("subset", [None, (0, 2)])
def test_imaginary_part_of_the_diagonal_is_ignored(subset, rng):
    """The diagonal of a Hermitian matrix is real by definition."""
    a = hermitian(rng, (3,), 4, "complex128")
    assert_same_bits(la.eigh(a + 1j * np.eye(4), subset_by_index=subset), la.eigh(a, subset_by_index=subset))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("n", SHAPES, ids=str)
def test_fallback_driver(n, vectors, lower, dtype, rng):
    """syev, which serves the slices on which syevd fails, meets the same conditions."""
    a = hermitian(rng, (3,), *n, dtype)
    w, v, codes = kernel.eigh(a, None, (3,), lower, 0, vectors, None, None, tie(dtype), None, skip_syevd=True)
    assert codes is None
    assert distance(w, np.linalg.eigvalsh(a.astype(wide(dtype)))) <= rounding(dtype, *n)
    if vectors:
        assert_ratios(_residuals((a,), (w, v)))
        assert_gauge(v)


def test_fallback_driver_of_a_pencil(dtype, rng):
    """The reduction happens again before the second driver."""
    a, b = hermitian(rng, (3,), 6, dtype), definite(rng, (3,), 6, dtype)
    w, v, codes = kernel.eigh(a, b, (3,), True, 1, True, None, None, tie(dtype), None, skip_syevd=True)
    assert codes is None
    assert_ratios(_pencil_residuals(1)((b, a), (w, v)))


@pytest.mark.parametrize("kind", KINDS)
def test_values_agree(kind, dtype, rng):
    """With and without vectors, and by subset: one spectrum."""
    a = hermitian(rng, (3,), 9, dtype, kind)
    w = la.eigh(a).eigenvalues
    assert distance(w, np.sort(spectrum(kind, 9, dtype) * (-1.0) ** np.arange(9))) <= rounding(dtype, 9)
    assert distance(la.eigvalsh(a), w) <= rounding(dtype, 9)
    assert distance(la.eigvalsh(a, subset_by_index=(0, 8)), w) <= rounding(dtype, 9)


def test_large_degeneracy():
    """A spin Hamiltonian, levels up to 20-fold: values ascending and exact, vectors orthonormal."""
    x, a = np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros((64, 64))
    for k in range(6):
        a += np.kron(np.kron(np.eye(2 ** k), x), np.eye(2 ** (5 - k)))
    w, v = la.eigh(a)
    assert distance(w, np.repeat([-6.0, -4, -2, 0, 2, 4, 6], [1, 6, 15, 20, 15, 6, 1])) <= rounding("float64", 64)
    assert_ratios(_residuals((a,), (w, v)))


def test_subnormal_matrix():
    """Entries below the smallest normal number keep their leading digits."""
    a = np.diag([1.0, 2.0, 4.0]) * 2.0 ** -1060
    assert distance(la.eigvalsh(a), np.diag(a)) <= 2.0 ** -14


def test_indefinite_b_is_named(dtype, rng):
    """The message says which matrix may be at fault."""
    a, b = hermitian(rng, (), 3, dtype), _indefinite(dtype, 3)
    with pytest.raises(LinAlgError, match=r"^eigh: the matrix has a b that is not positive definite"):
        la.eigh(a, b)


def test_result_fields(dtype):
    """The field names of numpy.linalg."""
    assert la.eigh(np.eye(3, dtype=dtype))._fields == ("eigenvalues", "eigenvectors")


@pytest.mark.parametrize(("subset", "error"), [((2, 1), ValueError), ((0, 3), ValueError), ((-1, 1), ValueError),
                                               (1, TypeError), ((0, 1, 2), TypeError), ((0, 1.5), TypeError)], ids=str)
def test_bad_subset_is_refused(subset, error):
    """First and last index, both within the matrix."""
    with pytest.raises(error, match=r"^eigh: subset_by_index must be"):
        la.eigh(np.eye(3), subset_by_index=subset)


def test_bad_pencils_are_refused():
    """The message names what differs."""
    with pytest.raises(ValueError, match=r"^eigh: type must be one of 1, 2, 3, got 4"):
        la.eigh(np.eye(3), np.eye(3), type=4)
    with pytest.raises(ValueError, match=r"^eigh: argument 'b' must be of the order of 'a'"):
        la.eigh(np.eye(3), np.eye(2))


@pytest.mark.parametrize(("fn", "n"), [("eigh", 40000), ("eigvalsh", 2 ** 25)])
def test_workspace_too_long_for_lapack(fn, n):
    """More elements than LAPACK's integers count: refused before anything is allocated."""
    with pytest.raises(ValueError, match=rf"^{fn}: a matrix of shape .* more than LAPACK's"):
        getattr(la, fn)(np.broadcast_to(np.float32(1), (n, n)))
