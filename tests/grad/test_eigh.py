"""eigh and eigvalsh: derivatives against many digits, at ties, subsets, scales and gauges."""
import numpy as np
import pytest
from _tols import gap_free, gap_limited, rounding
from grad import _make as make
from grad import _truth as truth

import linalgad as la
from linalgad import grad

SPECTRUM = (-2.0, -0.8, 0.7, 1.5, 3.0)
KAPPA = 3.0 / 0.8
N = len(SPECTRUM)


def pull(a, cotangents, **kw):
    outputs, pullback = grad.vjp(la.eigh, a, **kw)
    (g,) = pullback(cotangents(*outputs))
    return g, pullback.info


def projector_cotangents(w, kept):
    """Cotangents of Re<W, V_K V_K^H>."""
    def cotangents(values, v):
        gv = np.zeros_like(v)
        gv[:, kept] = 2 * make.hermitian(w) @ v[:, kept]
        return None, gv
    return cotangents


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("kw", [{}, {"lower": False}, {"subset_by_index": (1, 3)}, {"subset_by_index": (4, 4)}],
                         ids=str)
def test_duality(dtype, kw):
    rng = np.random.default_rng(1)
    a = np.stack([make.with_eigenvalues(rng, SPECTRUM, dtype) for _ in range(3)])
    da = make.hermitian(make.normal(rng, a.shape, dtype))
    outputs, slopes = grad.jvp(la.eigh, (a,), (da,), **kw)
    assert all(s.shape == y.shape and s.dtype == y.dtype for s, y in zip(slopes, outputs, strict=True))
    cts = tuple(make.normal(rng, y.shape, y.dtype) for y in outputs)
    cts = grad.project_cotangent(la.eigh, outputs, cts, **kw)
    (g,) = grad.vjp(la.eigh, a, **kw)[1](cts)
    assert g.dtype == a.dtype and np.array_equal(g, np.conj(np.swapaxes(g, -1, -2)))
    size = make.inner(cts, cts) ** 0.5 * make.inner(slopes, slopes) ** 0.5
    assert abs(make.inner(cts, slopes) - make.inner([g], [da])) <= rounding(dtype, N, KAPPA) * size


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("subset", [None, (1, 2)])
def test_jvp_is_the_derivative_of_what_is_returned(dtype, subset):
    """Phases included; a subset has the exact partial derivative, couplings to dropped vectors included."""
    rng = np.random.default_rng(2)
    a, da = make.with_eigenvalues(rng, SPECTRUM, dtype), make.hermitian(make.normal(rng, (N, N), dtype))
    _, slopes = grad.jvp(la.eigh, (a,), (da,), subset_by_index=subset)
    part = slice(None) if subset is None else slice(subset[0], subset[1] + 1)
    dw, dv = truth.eigh_tangents(a, da, la.eigh(a)[1])
    assert make.relative(slopes.eigenvalues, dw[part]) <= rounding(dtype, N)
    assert make.relative(slopes.eigenvectors, dv[:, part]) <= rounding(dtype, N, KAPPA)


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("gap", [1e-4, 1e-8, 1e-10, 1e-12, 1e-14, 0.0])
def test_projector_of_a_cluster(dtype, gap):
    """A cluster used only through its projector: no gap inside it in the gradient."""
    rng = np.random.default_rng(3)
    a, w = make.with_eigenvalues(rng, (1, 1 + gap, 3, 4), dtype), make.normal(rng, (4, 4), dtype)
    g, info = pull(a, projector_cotangents(w, [0, 1]))
    assert make.relative(g, truth.hermitian_gradient(a, w, {0, 1})) <= 10 * gap_free(dtype)
    assert info.gauge_residual <= 16 * np.finfo(dtype).eps


@pytest.mark.parametrize("a", [np.array([[2.0, 1, 1], [1, 2, 1], [1, 1, 2]]), np.diag([4.0, 1, 1]),
                               np.diag([1.0, 4, 1])], ids=["to rounding", "exact", "exact, permuted"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_simple_vector_among_repeated_ones(a, dtype):
    """The vector of a simple eigenvalue while another pair is repeated."""
    a, w = a.astype(dtype), make.normal(np.random.default_rng(4), (3, 3), dtype)
    g, _ = pull(a, projector_cotangents(w, [2]))
    assert make.relative(g, truth.hermitian_gradient(a, w, {2})) <= gap_free(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_single_vector_at_a_gap(dtype, gap):
    """One vector of a close pair divides by the gap: rounding over it."""
    rng = np.random.default_rng(5)
    a, w = make.with_eigenvalues(rng, (1, 1 + gap, 3, 4), dtype), make.normal(rng, (4, 4), dtype)
    g, _ = pull(a, projector_cotangents(w, [0]))
    assert make.relative(g, truth.hermitian_gradient(a, w, {0})) <= gap_limited(dtype, gap)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("subset", [(0, 1), (1, 1)])
def test_subset_projector(dtype, subset):
    """Projectors of the vectors of a subset, a tie inside it or among the dropped ones."""
    rng = np.random.default_rng(6)
    w = (1, 1, 2, 5) if subset == (0, 1) else (0.5, 1, 2, 2)
    a, x = make.with_eigenvalues(rng, w, dtype), make.normal(rng, (4, 4), dtype)
    g, _ = pull(a, lambda values, v: (None, 2 * make.hermitian(x) @ v), subset_by_index=subset)
    want = truth.hermitian_gradient(a, x, set(range(subset[0], subset[1] + 1)))
    assert make.relative(g, want) <= 10 * gap_free(dtype)


def test_tie_across_the_edge_of_a_subset_is_refused():
    """Half an eigenspace is gauge."""
    rng = np.random.default_rng(7)
    a, x = make.with_eigenvalues(rng, (1, 2, 2, 5), "float64"), make.normal(rng, (4, 4), "float64")
    with pytest.raises(grad.GaugeError):
        pull(a, lambda values, v: (None, 2 * make.hermitian(x) @ v), subset_by_index=(0, 1))


@pytest.mark.parametrize("scale, dtype", [(1e-25, "float32"), (1e-9, "float64"), (1e-200, "float64"),
                                          (1e200, "complex128")])
@pytest.mark.parametrize("eps", [None, 1e-8])
def test_scale_of_the_matrix(scale, dtype, eps):
    """gradient(c A) = gradient(A) / c for a loss on the vectors; so with a broadening, which is relative."""
    rng = np.random.default_rng(8)
    a, w = make.with_eigenvalues(rng, SPECTRUM, dtype), make.normal(rng, (N, N), dtype)
    c = np.dtype(dtype).type(scale)
    g, _ = pull(a, projector_cotangents(w, [0]), derivative_eps=eps)
    scaled, _ = pull(a * c, projector_cotangents(w, [0]), derivative_eps=eps)
    assert make.relative(scaled * c, g) <= rounding(dtype, N, KAPPA)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("spectrum", [(1, 1, 1), (2, 2, 1), (1, 2, 3), (1, 1 + 1e-10, 2)], ids=str)
def test_hessian_of_the_trace_is_zero(dtype, spectrum):
    """The sum of the eigenvalues is linear in A; NaN elsewhere at ties."""
    rng = np.random.default_rng(9)
    a, da = make.with_eigenvalues(rng, spectrum, dtype), make.normal(rng, (3, 3), dtype)
    assert np.array_equal(grad.hvp(la.eigvalsh, (a,), (da,), np.ones(3))[0], np.zeros((3, 3)))
    assert np.array_equal(grad.hvp(la.eigvalsh, (np.eye(3, dtype=dtype),), (da,), np.ones(3))[0], np.zeros((3, 3)))


def test_trace_of_a_tie_forward():
    """The tangents of the eigenvalues at the identity are finite and sum to the trace."""
    _, slopes = grad.jvp(la.eigh, (np.eye(2),), (np.array([[0.3, 1.0], [1.0, -0.1]]),))
    assert np.all(np.isfinite(slopes.eigenvectors))
    assert abs(np.sum(slopes.eigenvalues) - 0.2) <= rounding("float64", 2)


def test_phase_and_tie_are_refused_and_projected():
    """Rotations inside a tie and phases are reported per slice, and project_cotangent removes them."""
    rng = np.random.default_rng(10)
    a = np.stack([make.with_eigenvalues(rng, w, "complex128") for w in ((1, 1, 3), (1, 2, 3))])
    outputs, pullback = grad.vjp(la.eigh, a)
    raw = (None, make.normal(rng, (2, 3, 3), "complex128"))
    with pytest.raises(grad.GaugeError, match=r"\(0,\), \(1,\)"):
        pullback(raw)
    clean = grad.project_cotangent(la.eigh, outputs, raw)
    (g,) = pullback(clean)
    assert np.all(pullback.info.gauge_residual <= 16 * np.finfo("float64").eps)
    (dropped,) = grad.vjp(la.eigh, a, gauge="project")[1](raw)
    assert make.relative(g, dropped) <= rounding("float64", 3, KAPPA)
    assert pullback.info.broadened_pairs.tolist() == [1, 0]


def test_gauge_ignore_is_the_exact_transpose_of_jvp():
    rng = np.random.default_rng(11)
    a, da = make.with_eigenvalues(rng, SPECTRUM, "complex128"), make.hermitian(make.normal(rng, (N, N), "complex128"))
    outputs, slopes = grad.jvp(la.eigh, (a,), (da,))
    cts = tuple(make.normal(rng, y.shape, y.dtype) for y in outputs)
    g, _ = pull(a, lambda *_: cts, gauge="ignore")
    size = make.inner(cts, cts) ** 0.5 * make.inner(slopes, slopes) ** 0.5
    assert abs(make.inner(cts, slopes) - make.inner([g], [da])) <= rounding("complex128", N, KAPPA) * size


def test_no_factorisation_in_the_pullback(kernel_calls):
    rng = np.random.default_rng(12)
    a = make.with_eigenvalues(rng, SPECTRUM, "float64")
    outputs, pullback = grad.vjp(la.eigh, a)
    pullback(outputs)
    grad.eigh_vjp((a,), outputs, outputs)
    grad.eigh_jvp((a,), outputs, (a,))
    assert kernel_calls() == 1
    grad.vjp(la.eigvalsh, a, subset_by_index=(0, 1))[1](np.ones(2))
    assert kernel_calls() == 2


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("kw", [{}, {"subset_by_index": (1, 2)}], ids=str)
def test_check_grads(dtype, kw):
    rng = np.random.default_rng(13)
    a = np.stack([make.with_eigenvalues(rng, SPECTRUM, dtype) for _ in range(2)])
    grad.check_grads(la.eigh, (a,), **kw)
    grad.check_grads(la.eigvalsh, (a,), fast=True, **kw)


# ------------------------------------------------------------------ pencils

@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("kw", [{}, {"subset_by_index": (1, 2)}], ids=str)
def test_pencil(dtype, kind, kw):
    """Both matrices of a definite pencil, forward, reverse and second order."""
    rng = np.random.default_rng(14)
    a = np.stack([make.with_eigenvalues(rng, SPECTRUM, dtype) for _ in range(2)])
    b = np.stack([make.with_eigenvalues(rng, (0.7, 1, 1.3, 1.6, 2), dtype) for _ in range(2)])
    grad.check_grads(la.eigh, (a, b), type=kind, **kw)
    grad.check_grads(la.eigvalsh, (a, b), type=kind, **kw)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_pencil_with_identity_is_the_plain_problem(kind):
    rng = np.random.default_rng(15)
    a = make.with_eigenvalues(rng, (1, 1, 2, 4), "complex128")
    w = make.normal(rng, (4, 4), "complex128")
    ct = projector_cotangents(w, [0, 1])
    outputs, pullback = grad.vjp(la.eigh, a, np.eye(4), type=kind)
    ga, _ = pullback(ct(*outputs))
    assert make.relative(ga, pull(a, ct)[0]) <= 10 * gap_free("complex128")


def test_a_pencil_matrix_given_as_a_keyword_is_refused():
    """It would be a silent constant."""
    with pytest.raises(grad.NotDifferentiableError, match="give b as an argument"):
        grad.vjp(la.eigh, np.eye(2), b=np.eye(2))
