"""svd and svdvals: derivatives against many digits, at ties, ranks, scales and gauges."""
import mpmath as mp
import numpy as np
import pytest
from _tols import gap_free, gap_limited, rounding
from grad import _make as make
from grad import _truth as truth

import linalgad as la
from linalgad import grad

SPECTRUM = (3.0, 2.2, 1.3, 0.7)                       # relative gaps down to 0.2
KAPPA = 3.0 / 0.6
TIES = {"three": (2, 2, 2, 1), "all": (1, 1, 1, 1), "pairs": (2, 2, 1, 1)}
GAPS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 0.0)


def h(x):
    return np.conj(np.swapaxes(x, -1, -2))


def loss_cotangents(u, s, vh, w, f=None, df=None):
    """Cotangents of Re<W, U f(S) V^H>; of the polar factor without f."""
    if f is None:
        return w @ h(vh), None, h(u) @ w
    return (w @ h(vh)) * f(s), np.diagonal(h(u) @ w @ h(vh)).real * df(s), f(s)[:, None] * (h(u) @ w)


def pull(a, cotangents, full=False, **kw):
    outputs, pullback = grad.vjp(la.svd, a, full_matrices=full, **kw)
    (g,) = pullback(cotangents(*outputs))
    return g, pullback.info


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (4, 5)])
@pytest.mark.parametrize("full", [False, True])
def test_duality(dtype, shape, full):
    """Re<ct, jvp(da)> = Re<vjp(ct), da> for cotangents without gauge parts."""
    rng = np.random.default_rng(1)
    a = np.stack([make.with_singular_values(rng, SPECTRUM, *shape, dtype) for _ in range(3)])
    da = make.normal(rng, a.shape, dtype)
    outputs, slopes = grad.jvp(la.svd, (a,), (da,), full_matrices=full)
    cts = tuple(make.normal(rng, y.shape, y.dtype) for y in outputs)
    cts = grad.project_cotangent(la.svd, outputs, cts, full_matrices=full)
    (g,) = grad.vjp(la.svd, a, full_matrices=full)[1](cts)
    assert g.dtype == a.dtype and g.shape == a.shape
    size = make.inner(cts, cts) ** 0.5 * make.inner(slopes, slopes) ** 0.5
    assert abs(make.inner(cts, slopes) - make.inner([g], [da])) <= rounding(dtype, max(shape), KAPPA) * size


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 6)])
def test_jvp_is_the_derivative_of_what_is_returned(dtype, shape):
    """Phases included: against differences of the gauge-fixed factors in 60 digits."""
    rng = np.random.default_rng(2)
    a = make.with_singular_values(rng, SPECTRUM, *shape, dtype)
    da = make.normal(rng, shape, dtype)
    outputs, slopes = grad.jvp(la.svd, (a,), (da,), full_matrices=False)
    for got, want in zip(slopes, truth.svd_tangents(a, da, outputs.U), strict=True):
        assert make.relative(got, want) <= rounding(dtype, 4, KAPPA)


def test_jvp_of_a_full_basis_with_one_extra_column():
    """A one-dimensional null space has no freedom but its phase, so its vector has a derivative."""
    rng = np.random.default_rng(3)
    a, da = make.with_singular_values(rng, SPECTRUM, 5, 4, "complex128"), make.normal(rng, (5, 4), "complex128")
    outputs, slopes = grad.jvp(la.svd, (a,), (da,), full_matrices=True)
    want = truth.svd_tangents(a, da, outputs.U, full=True)[0]
    assert make.relative(slopes.U, want) <= rounding("complex128", 5, KAPPA)


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (4, 5)])
@pytest.mark.parametrize("s", [*TIES.values(), *((2, 2 * (1 - g), 1, 0.5) for g in GAPS)], ids=str)
def test_polar_factor_at_ties(dtype, shape, s):
    """<W, U V^H> has no gap in its gradient; NaN or 35 to 100 % off with the broadenings of others."""
    rng = np.random.default_rng(4)
    a, w = make.with_singular_values(rng, s, *shape, dtype), make.normal(rng, shape, dtype)
    g, info = pull(a, lambda u, s, vh: loss_cotangents(u, s, vh, w))
    assert make.relative(g, truth.polar_gradient(a, w)) <= gap_free(dtype)
    assert info.gauge_residual < 16 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("f, df, mf, mdf", [
    (lambda s: s, np.ones_like, lambda t: t, lambda t: mp.mpf(1)), (np.exp, np.exp, mp.exp, mp.exp)], ids=["s", "exp"])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_function_of_the_values_at_a_gap(dtype, f, df, mf, mdf, gap):
    """<W, U f(S) V^H> divides by the gap: no worse than rounding over it, where a broadening is 50 % off."""
    rng = np.random.default_rng(5)
    a, w = make.with_singular_values(rng, (2, 2 * (1 - gap), 1, 0.5), 4, 4, dtype), make.normal(rng, (4, 4), dtype)
    g, _ = pull(a, lambda u, s, vh: loss_cotangents(u, s, vh, w, f, df))
    assert make.relative(g, truth.singular_gradient(a, w, mf, mdf)) <= gap_limited(dtype, gap)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("s, gap", [(t, None) for t in TIES.values()]
                         + [((2, 2 * (1 - g), 1, 0.5), g) for g in (1e-4, 1e-8, 1e-12)], ids=str)
def test_jvp_of_the_polar_factor(dtype, s, gap):
    """At ties the rotation drops out; at a gap g it cancels to rounding over g."""
    rng = np.random.default_rng(6)
    a, da = make.with_singular_values(rng, s, 4, 4, dtype), make.normal(rng, (4, 4), dtype)
    (u, _, vh), (du, _, dvh) = grad.jvp(la.svd, (a,), (da,), full_matrices=False)
    got = du @ vh + u @ dvh
    want = truth.polar_tangent(a, da)
    assert make.relative(got, want) <= (gap_free(dtype) if gap is None else gap_limited(dtype, gap))


def _rank_two(dtype, exact):
    """A 4 x 3 matrix with singular values 2, 1, 0, exactly or to rounding."""
    if exact:
        a = np.zeros((4, 3), dtype)
        a[0, 0], a[1, 1] = 2, 1
        return a
    return make.with_singular_values(np.random.default_rng(7), (2, 1, 0), 4, 3, dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("kept", [1, 2])
@pytest.mark.parametrize("exact", [True, False])
def test_leading_projector_of_a_rank_deficient_matrix(dtype, kept, exact):
    """U_k U_k^H with s_k > s_{k+1} = 0 below: smooth, NaN or 1e15 elsewhere."""
    a, w = _rank_two(dtype, exact), make.normal(np.random.default_rng(8), (4, 4), dtype)

    def cotangents(u, s, vh):
        gu = np.zeros_like(u)
        gu[:, :kept] = 2 * make.hermitian(w) @ u[:, :kept]
        return gu, None, None

    g, info = pull(a, cotangents)
    assert make.relative(g, truth.left_projector_gradient(a, w, range(kept))) <= 10 * gap_free(dtype)
    assert info.rank == 2


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_leading_projector_with_a_tie_inside(dtype):
    """Ties inside the kept block are not seen by its projector."""
    rng = np.random.default_rng(9)
    a, w = make.with_singular_values(rng, (2, 2, 1, 0.5), 5, 4, dtype), make.normal(rng, (5, 5), dtype)

    def cotangents(u, s, vh):
        gu = np.zeros_like(u)
        gu[:, :2] = 2 * make.hermitian(w) @ u[:, :2]
        return gu, None, None

    g, _ = pull(a, cotangents)
    assert make.relative(g, truth.left_projector_gradient(a, w, (0, 1))) <= 10 * gap_free(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("s", [(3, 2), (2, 2)])
def test_null_space_projector_of_a_full_svd(dtype, s):
    """U2 U2^H of a full basis: 0 in silence or refused elsewhere."""
    rng = np.random.default_rng(10)
    a, w = make.with_singular_values(rng, s, 5, 2, dtype), make.normal(rng, (5, 5), dtype)

    def cotangents(u, s, vh):
        gu = np.zeros_like(u)
        gu[:, 2:] = 2 * make.hermitian(w) @ u[:, 2:]
        return gu, None, None

    g, _ = pull(a, cotangents, full=True)
    assert make.relative(g, truth.left_projector_gradient(a, w, range(2, 5))) <= 10 * gap_free(dtype)


def test_null_space_with_a_zero_singular_value():
    """The null vectors of U1 and the extra columns span one space; its projector is smooth at constant rank."""
    a, w = _rank_two("float64", False), make.normal(np.random.default_rng(11), (4, 4), "float64")

    def cotangents(u, s, vh):
        gu = np.zeros_like(u)
        gu[:, 2:] = 2 * make.hermitian(w) @ u[:, 2:]
        return gu, None, None

    g, _ = pull(a, cotangents, full=True)
    assert make.relative(g, truth.left_projector_gradient(a, w, (2, 3))) <= 10 * gap_free("float64")


@pytest.mark.parametrize("scale, dtype", [(1e-25, "float32"), (1e25, "float32"), (1e-200, "float64"),
                                          (1e200, "float64"), (1e-300, "complex128"), (1e-30, "complex64")])
def test_scale_of_the_matrix(scale, dtype):
    """gradient(c A) = gradient(A) / c for a loss of degree 0, finite at any scale."""
    rng = np.random.default_rng(12)
    a, w = make.with_singular_values(rng, SPECTRUM, 5, 4, dtype), make.normal(rng, (5, 4), dtype)
    c = np.dtype(dtype).type(scale)
    g, _ = pull(a, lambda u, s, vh: loss_cotangents(u, s, vh, w))
    scaled, _ = pull(a * c, lambda u, s, vh: loss_cotangents(u, s, vh, w))
    assert make.relative(scaled * c, g) <= rounding(dtype, 5, KAPPA)


@pytest.mark.parametrize("eps", [None, 1e-8])
@pytest.mark.parametrize("loss_scale", [1e-30, 1e-6, 1.0, 1e20])
def test_scale_of_the_loss(loss_scale, eps):
    """The loss times c gives the gradient times c and the same verdict."""
    rng = np.random.default_rng(13)
    a, w = make.with_singular_values(rng, (2, 2, 1, 0.5), 4, 4, "float64"), make.normal(rng, (4, 4), "float64")
    one, info = pull(a, lambda u, s, vh: loss_cotangents(u, s, vh, w), derivative_eps=eps)
    g, scaled = pull(a, lambda u, s, vh: loss_cotangents(u, s, vh, w * loss_scale), derivative_eps=eps)
    assert make.relative(g / loss_scale, one) <= rounding("float64", 4)
    assert abs(scaled.gauge_residual - info.gauge_residual) <= 16 * np.finfo("float64").eps


def test_bare_formula_and_lorentzian():
    """derivative_eps=0 divides by the gap, a number x by gap / (gap^2 + x^2): the bias is (x/gap)^2."""
    rng = np.random.default_rng(14)
    gap, x = 1e-3, 1e-4
    a, w = make.with_singular_values(rng, (1, 1 - gap, 0.5), 3, 3, "float64"), make.normal(rng, (3, 3), "float64")
    gs = [pull(a, lambda u, s, vh: loss_cotangents(u, s, vh, w, np.exp, np.exp), derivative_eps=e)[0]
          for e in (None, 0, x)]
    assert make.relative(gs[1], gs[0]) <= gap_limited("float64", gap)
    bias = make.relative(gs[2], gs[0])
    assert 0.1 * (x / gap) ** 2 < bias < 2 * (x / gap) ** 2


# ------------------------------------------------------------------ gauge policies

def _phase_dependent(u, s, vh):
    return np.ones_like(u), None, None


def test_phase_of_a_complex_vector_is_refused_and_the_slice_named():
    """Only the slice whose cotangent asks for a phase is at fault."""
    rng = np.random.default_rng(15)
    a = np.stack([make.with_singular_values(rng, SPECTRUM, 4, 4, "complex128") for _ in range(3)])
    outputs, pullback = grad.vjp(la.svd, a, full_matrices=False)
    ct = np.zeros_like(outputs.U)
    ct[1] = 1e-12
    with pytest.raises(grad.GaugeError, match=r"\(1,\)") as caught:
        pullback((ct, None, None))
    assert caught.value.indices == ((1,),)
    assert pullback.info.gauge_residual[0] == 0


def test_gauge_warn_project_and_tolerance():
    """'warn' warns and gives what 'project' gives, which is the projected cotangent's gradient."""
    rng = np.random.default_rng(16)
    a = make.with_singular_values(rng, SPECTRUM, 4, 4, "complex128")
    with pytest.warns(grad.GaugeWarning):
        warned, _ = pull(a, _phase_dependent, gauge="warn")
    dropped, _ = pull(a, _phase_dependent, gauge="project")
    assert np.array_equal(warned, dropped)
    tolerant, _ = pull(a, _phase_dependent, gauge_tol=2.0)
    assert np.array_equal(tolerant, dropped)
    outputs = la.svd(a, full_matrices=False)
    clean = grad.project_cotangent(la.svd, outputs, _phase_dependent(*outputs), full_matrices=False)
    g, info = pull(a, lambda *_: clean)
    assert make.relative(g, dropped) <= rounding("complex128", 4, KAPPA)
    assert info.gauge_residual <= 16 * np.finfo("float64").eps


def test_gauge_ignore_is_the_exact_transpose_of_jvp():
    """A loss may then read the phases the forward fixed: any cotangent satisfies duality."""
    rng = np.random.default_rng(17)
    a, da = make.with_singular_values(rng, SPECTRUM, 5, 4, "complex128"), make.normal(rng, (5, 4), "complex128")
    outputs, slopes = grad.jvp(la.svd, (a,), (da,), full_matrices=False)
    cts = tuple(make.normal(rng, y.shape, y.dtype) for y in outputs)
    g, _ = pull(a, lambda *_: cts, gauge="ignore")
    size = make.inner(cts, cts) ** 0.5 * make.inner(slopes, slopes) ** 0.5
    assert abs(make.inner(cts, slopes) - make.inner([g], [da])) <= rounding("complex128", 5, KAPPA) * size


@pytest.mark.parametrize("s", [(2, 2, 1), (2, 1, 0), (1, 0, 0)], ids=str)
def test_projected_cotangents_pass_at_ties_and_null_values(s):
    """project_cotangent removes rotations of a tie and what is divided by zero."""
    rng = np.random.default_rng(18)
    a = make.with_singular_values(rng, s, 4, 3, "complex128")
    for full in (False, True):
        outputs, pullback = grad.vjp(la.svd, a, full_matrices=full)
        raw = tuple(make.normal(rng, y.shape, y.dtype) for y in outputs)
        with pytest.raises(grad.GaugeError):
            pullback(raw)
        (g,) = pullback(grad.project_cotangent(la.svd, outputs, raw, full_matrices=full))
        assert np.all(np.isfinite(g))


# ------------------------------------------------------------------ second order

@pytest.mark.parametrize("s", [SPECTRUM, *TIES.values(), (2, 2 * (1 - 1e-9), 1, 0.5)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_hessian_of_the_sum_of_singular_values(dtype, s):
    """The nuclear norm is smooth at full rank, ties or not: its gradient is the polar factor."""
    rng = np.random.default_rng(19)
    a, da = make.with_singular_values(rng, s, 4, 4, dtype), make.normal(rng, (4, 4), dtype)
    (got,) = grad.hvp(la.svdvals, (a,), (da,), np.ones(4))
    want = truth.polar_tangent(a, da)
    assert make.relative(got, want) <= gap_free(dtype)


# ------------------------------------------------------------------ cost

def test_no_factorisation_in_the_pullback(kernel_calls):
    """One SVD for the forward; pullbacks, second order and the rule by name add none."""
    rng = np.random.default_rng(22)
    a = make.normal(rng, (3, 5, 4), "float64")
    outputs, pullback = grad.vjp(la.svd, a, full_matrices=False)
    assert kernel_calls() == 1
    for _ in range(3):
        pullback(tuple(make.normal(rng, y.shape, "float64") for y in outputs))
    grad.svd_vjp((a,), outputs, outputs, full_matrices=False)
    grad.svd_jvp((a,), outputs, (a,), full_matrices=False)
    assert kernel_calls() == 1
    grad.hvp(la.svd, (a,), (a[::-1],), outputs, full_matrices=False)
    assert kernel_calls() == 2


def test_tall_pullback_needs_linear_memory():
    """No m x m projector: a few copies of A at most."""
    import tracemalloc
    a = make.normal(np.random.default_rng(23), (100_000, 8), "float64")
    outputs, pullback = grad.vjp(la.svd, a, full_matrices=False)
    cts = tuple(np.ones_like(y) for y in outputs)
    tracemalloc.start()
    pullback(cts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * a.nbytes


def test_none_skips_and_rules_by_name_agree():
    """A None cotangent is a zero one, and svd_vjp gives what the pullback gives."""
    rng = np.random.default_rng(24)
    a = make.with_singular_values(rng, SPECTRUM, 5, 4, "float64")
    outputs, pullback = grad.vjp(la.svd, a, full_matrices=False)
    gs = make.normal(rng, (4,), "float64")
    (only,) = pullback((None, gs, None))
    (zeros,) = pullback((np.zeros_like(outputs.U), gs, np.zeros_like(outputs.Vh)))
    assert make.relative(only, zeros) <= rounding("float64", 5)
    (named,) = grad.svd_vjp((a,), outputs, (None, gs, None), full_matrices=False)
    assert np.array_equal(named, only)


@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5), (1, 4, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_differences_of_full_factors(dtype, shape):
    """check_grads follows the extra columns of U and rows of V^H, which only their span decides."""
    grad.check_grads(la.svd, (make.normal(np.random.default_rng(31), shape, dtype),))
    grad.check_grads(la.svd, (make.normal(np.random.default_rng(32), shape, dtype),), fast=True, full_matrices=True)
