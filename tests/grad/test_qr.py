"""qr: derivatives of every mode and shape against many digits, at deficient rank, of complete bases."""
import mpmath as mp
import numpy as np
import pytest
from _tols import gauge_tie, rounding
from grad import _exact as exact
from grad import _make as make
from grad import _rules as rules

import linalgad as la
from linalgad import grad

SPECTRUM = (3.0, 2.2, 1.3, 0.7)
KAPPA = 20.0                       # of the leading columns of the matrices below
SHAPES = [(4, 4), (5, 3), (3, 5), (1, 3), (3, 1)]
MODES = ["reduced", "r", "economic"]


def h(x):
    return np.conj(np.swapaxes(x, -1, -2))


def regular(rng, shape, dtype):
    """Random matrices whose leading columns are well conditioned."""
    return (make.normal(rng, shape, dtype) / 2 + 2 * np.eye(*shape[-2:])).astype(dtype)


def projector_cotangent(w, basis):
    """The cotangent of a basis from the loss Re<W, basis basis^H>."""
    return (w + h(w)) @ basis


# ------------------------------------------------------------------ full rank

@pytest.mark.parametrize("mode", [*MODES, "complete"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("pivoting, positive", [(False, False), (True, False), (False, True)])
def test_rules(dtype, shape, mode, pivoting, positive):
    a = regular(np.random.default_rng(1), (3, *shape), dtype)
    kw = {"mode": mode, "pivoting": pivoting, "positive": positive}
    rules.duality(la.qr, (a,), rounding(dtype, 5, KAPPA), **kw)
    rules.batch_is_loop(la.qr, (a,), **kw)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)], ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_second_derivatives_are_symmetric(dtype, shape, mode):
    a = regular(np.random.default_rng(2), (3, *shape), dtype)
    rules.symmetry(la.qr, (a,), rounding(dtype, 5, KAPPA), mode=mode)
    rules.symmetry(la.qr, (a,), rounding(dtype, 5, KAPPA), mode=mode, pivoting=True)


@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_against_many_digits(dtype, shape, pivoting):
    """What is returned, signs and phases included; cases qr-vjp-wide, qr-vjp-complex-tall, qr-jvp-r-factor."""
    rng = np.random.default_rng(3)
    a, da = regular(rng, shape, dtype), make.normal(rng, shape, dtype)
    outputs, slopes = grad.jvp(la.qr, (a,), (da,), pivoting=pivoting)
    fun = exact.qr(outputs.R, outputs.P if pivoting else None)
    tol = rounding(dtype, 5, KAPPA)
    for got, want in zip(slopes[:2], exact.tangents(fun, (a,), (da,), outputs[:2]), strict=True):
        assert np.max(np.abs(got - want)) <= tol * max(np.max(np.abs(want)), 1)
    assert np.array_equal(slopes.R, np.triu(slopes.R))
    cts = tuple(make.normal(rng, y.shape, dtype) for y in outputs[:2])
    rest = (None,) * (len(outputs) - 2)
    _, pullback = grad.vjp(la.qr, a, pivoting=pivoting)
    (ga,) = pullback((*cts, *rest))
    assert make.relative(ga, exact.gradient(fun, (a,), cts)) <= tol
    assert pullback.info.rank == min(shape)
    _, only = grad.vjp(la.qr, a, mode="r", pivoting=pivoting)
    (ga,) = only((cts[1], *rest))
    assert make.relative(ga, exact.gradient(fun, (a,), (None, cts[1]))) <= tol


@pytest.mark.parametrize("mode", MODES)
def test_differences(mode):
    rng = np.random.default_rng(4)
    for shape in ((2, 4, 3), (2, 3, 4)):
        grad.check_grads(la.qr, (regular(rng, shape, "complex128"),), mode=mode)


@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_differences_of_a_complete_basis(dtype, pivoting):
    """Extra columns are differenced in the basis that turns least from that of the argument."""
    rng = np.random.default_rng(13)
    grad.check_grads(la.qr, (make.normal(rng, (2, 6, 3), dtype),), mode="complete", pivoting=pivoting)


@pytest.mark.parametrize("dtype, power", [("float32", -84), ("complex64", -84), ("float64", -664), ("float64", 664),
                                          ("complex128", 664)])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5)], ids=str)
def test_scale(dtype, power, shape):
    """Q does not scale, R does: gradients of <W, Q> scale as 1/s, of <W, R> not, of |R|^2 as s; exactly."""
    a, s = regular(np.random.default_rng(5), shape, dtype), 2.0**power
    (q, r), base = grad.vjp(la.qr, a)
    (_, r_there), there = grad.vjp(la.qr, (a * s).astype(dtype))
    w = np.ones_like(q)
    tol = rounding(dtype, 5, KAPPA)
    assert make.relative(there((w, None))[0] * s, base((w, None))[0]) <= tol
    assert make.relative(there((None, np.ones_like(r)))[0], base((None, np.ones_like(r)))[0]) <= tol
    assert make.relative(there((None, r_there))[0] / s, base((None, r))[0]) <= tol
    assert make.relative(base((None, r))[0], a) <= tol          # the gradient of |R|^2 / 2 = |A|^2 / 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_columns_of_very_different_size(dtype):
    """Scaling columns does not change Q, so it changes neither the rank nor the gradient of a loss of Q."""
    rng = np.random.default_rng(6)
    a, w = regular(rng, (4, 3), dtype), make.normal(rng, (4, 3), dtype)
    scales = np.array([1.0, 1e-12, 1e-7], dtype)
    (g,) = grad.vjp(la.qr, a)[1]((w, None))
    _, pullback = grad.vjp(la.qr, a * scales)
    (there,) = pullback((w, None))
    assert pullback.info.rank == 3
    assert make.relative(there * scales, g) <= rounding(dtype, 4, KAPPA)


# ------------------------------------------------------------------ complete bases and deficient rank

@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(5, 3), (4, 1)], ids=str)
def test_null_space_projector_of_a_complete_basis(dtype, shape):
    """Re<W, Q2 Q2^H> = tr W - Re<W, Q1 Q1^H>: silently 0 in torch, refused by jax."""
    rng = np.random.default_rng(7)
    a, w = regular(rng, shape, dtype), make.normal(rng, (shape[0], shape[0]), dtype)
    n = shape[1]
    (q, _), pullback = grad.vjp(la.qr, a, mode="complete")
    cotangent = np.zeros_like(q)
    cotangent[:, n:] = projector_cotangent(w, q[:, n:])
    (g,) = pullback((cotangent, None))
    thin, back = grad.vjp(la.qr, a)
    (want,) = back((-projector_cotangent(w, thin.Q), None))
    assert make.relative(g, want) <= rounding(dtype, 5, KAPPA)
    assert pullback.info.gauge_residual <= rounding(dtype, 5)

    def fun(x):
        p = mp.inverse(x.transpose_conj() * x)
        return [mp.eye(x.rows) - x * p * x.transpose_conj()]
    assert make.relative(g, exact.gradient(fun, (a,), (w,))) <= rounding(dtype, 5, KAPPA)


def test_the_basis_of_a_null_space_is_gauge():
    """A loss of its entries is refused, slice by slice; its size does not matter."""
    rng = np.random.default_rng(8)
    a, w = regular(rng, (2, 5, 3), "float64"), make.normal(rng, (2, 5, 5), "float64")
    w[0, :, 3:] = 0
    _, pullback = grad.vjp(la.qr, a, mode="complete")
    for size in (1.0, 1e-6, 1e-200):
        with pytest.raises(grad.GaugeError) as caught:
            pullback((size * w, None))
        assert caught.value.indices == ((1,),)
    with pytest.warns(grad.GaugeWarning):
        (warned,) = grad.vjp(la.qr, a, mode="complete", gauge="warn")[1]((w, None))
    outputs, projected = grad.vjp(la.qr, a, mode="complete", gauge="project")
    assert np.array_equal(projected((w, None))[0], warned)
    clean = grad.project_cotangent(la.qr, outputs, (w, None), mode="complete")
    assert make.relative(pullback(clean)[0], warned) <= rounding("float64", 5, KAPPA)


def leading(a, r):
    """The gradient, in many digits, of a loss of the projector on the first r columns and of R[:r]."""
    def fun(x):
        x1 = x[:, :r]
        return [x1 * mp.inverse(x1.transpose_conj() * x1) * x1.transpose_conj()]
    return fun


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 5)], ids=str)
@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_deficient_rank_uses_the_leading_columns(dtype, shape, noise):
    """Losses of the first r columns of Q, exactly or to rounding dependent ones behind; case trailing-zero-column."""
    rng = np.random.default_rng(9)
    a, w = regular(rng, shape, dtype), make.normal(rng, (shape[0], shape[0]), dtype)
    r = 2
    a[:, r:] = a[:, :r] @ make.normal(rng, (r, shape[1] - r), dtype) * noise
    (q, _), pullback = grad.vjp(la.qr, a)
    cotangent = np.zeros_like(q)
    cotangent[:, :r] = projector_cotangent(w, q[:, :r])
    (g,) = pullback((cotangent, None))
    assert make.relative(g, exact.gradient(leading(a, r), (a,), (w,))) <= rounding(dtype, 5, KAPPA)
    assert not np.any(g[:, r:]) and pullback.info.rank == r


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_deficient_rank_beyond_the_leading_columns_is_gauge(dtype):
    a = regular(np.random.default_rng(10), (5, 3), dtype)
    a[:, 2] = a[:, 0]
    (q, r), pullback = grad.vjp(la.qr, a)
    for cts in ((np.ones_like(q), None), (None, np.triu(np.ones_like(r)))):
        with pytest.raises(grad.GaugeError):
            pullback(cts)
    (g,) = pullback((None, np.triu(np.ones_like(r)) * [[1], [1], [0]]))
    assert np.all(np.isfinite(g))


def test_the_last_column_of_a_square_real_q_is_determined():
    """Rank n - 1: q_n is fixed up to its sign, so everything has a derivative and no 1/R_nn appears."""
    rng = np.random.default_rng(11)
    a, da = regular(rng, (4, 4), "float64"), make.normal(rng, (4, 4), "float64")
    a[:, 3] = a[:, 0] + a[:, 1]
    (q, r), (dq, dr) = grad.jvp(la.qr, (a,), (da,))
    step = 1e-6
    up, down = (exact_last_column(a + t * da, q) for t in (step, -step))
    assert np.max(np.abs(dq[:, 3] - (up - down) / (2 * step))) <= gauge_tie("float64")
    assert np.max(np.abs(dq @ r + q @ dr - da)) <= rounding("float64", 4, KAPPA)
    rules.duality(la.qr, (a,), rounding("float64", 4, KAPPA))


@pytest.mark.parametrize("dtype", make.DTYPES)
def test_a_dependent_column_in_the_middle(dtype):
    """Columns (a, 0, b) of a complete QR: Q2 and R22 are gauge apart, but their product is not.

    The loss Re<G, Q R> = Re<G, A> has the cotangents G R^H and Q^H G, and the gradient G.
    """
    rng = np.random.default_rng(17)
    a, g = regular(rng, (5, 3), dtype), make.normal(rng, (5, 3), dtype)
    a[:, 1] = 0
    (q, r), pullback = grad.vjp(la.qr, a, mode="complete", gauge="ignore")
    (got,) = pullback((g @ h(r), h(q) @ g))
    assert pullback.info.rank == 1
    assert make.relative(got, g) <= rounding(dtype, 5, KAPPA)
    _, (dq, dr) = grad.jvp(la.qr, (a,), (g,), mode="complete")
    assert make.relative(dq @ r + q @ dr, g) <= rounding(dtype, 5, KAPPA)


def exact_last_column(a, q):
    """The unit vector orthogonal to all columns but the last, on the side of q's."""
    v = np.linalg.svd(a[:, :-1])[0][:, -1]
    return v * np.sign(v @ q[:, -1])


def test_a_stack_of_different_ranks_is_its_slices():
    rng = np.random.default_rng(12)
    a = regular(rng, (2, 3, 4, 3), "complex128")
    a[0, 1, :, 2] = 0
    a[1, 0, :, 1] = a[1, 0, :, 0]
    a[1, 2] = 0
    (q, _), pullback = grad.vjp(la.qr, a, gauge="project")
    w = make.normal(rng, q.shape, "complex128")
    (g,) = pullback((w, None))
    assert np.array_equal(pullback.info.rank, [[3, 2, 3], [1, 3, 0]])
    assert np.array_equal(pullback.info.gauge_residual > gauge_tie("float64"), pullback.info.rank < 3)
    for i in np.ndindex(2, 3):
        assert np.array_equal(grad.vjp(la.qr, a[i], gauge="project")[1]((w[i], None))[0], g[i])
    _, (dq, _) = grad.jvp(la.qr, (a,), (w,))
    assert np.array_equal(grad.jvp(la.qr, (a[0, 1],), (w[0, 1],))[1].Q, dq[0, 1])
    (second,) = grad.hvp(la.qr, (a,), (w,), (w, None), gauge="project")
    assert np.all(np.isfinite(second))


@pytest.mark.parametrize("rank_tol, rank", [(None, 3), (1e-3, 2)])
def test_rank_tol(rank_tol, rank):
    a = np.diag([1.0, 1.0, 0.0])[:, [0, 1, 1]] + np.diag([0, 0, 1e-4])
    _, pullback = grad.vjp(la.qr, a, rank_tol=rank_tol, gauge="project")
    pullback((a, None))
    assert pullback.info.rank == rank


# ------------------------------------------------------------------ what has no derivative, cost

def test_refused():
    a = regular(np.random.default_rng(13), (3, 3), "float64")
    outputs, pullback = grad.vjp(la.qr, a, pivoting=True)
    with pytest.raises(grad.NotDifferentiableError, match=r"output P .*permutation"):
        pullback((None, None, outputs.P))
    with pytest.raises(grad.NotDifferentiableError, match="raw"):
        grad.vjp(la.qr, a, mode="raw")
    assert [row.output for row in grad.capabilities(la.qr, pivoting=True)] == ["Q", "R", "P"]
    assert [row.vjp for row in grad.capabilities(la.qr, mode="raw")] == [False, False]
    assert grad.jvp(la.qr, (a,), (a,), pivoting=True)[1].P is None


@pytest.mark.parametrize("mode", ["reduced", "r", "complete"])
def test_one_factorisation(kernel_calls, mode):
    a = regular(np.random.default_rng(14), (3, 5, 3), "float64")
    outputs, pullback = grad.vjp(la.qr, a, mode=mode)
    for _ in range(3):
        pullback(outputs)
    assert kernel_calls() == 1
    grad.hvp(la.qr, (a,), (a[::-1],), outputs, mode=mode)
    assert kernel_calls() == 2


def test_rules_by_name():
    a = regular(np.random.default_rng(15), (3, 5, 3), "complex128")
    outputs, pullback = grad.vjp(la.qr, a, pivoting=True)
    cts = (outputs.Q * 1j, outputs.R, None)
    assert np.array_equal(grad.qr_vjp((a,), outputs, cts, pivoting=True)[0], pullback(cts)[0])
    named = grad.qr_jvp((a,), outputs, (a,), pivoting=True)
    assert np.array_equal(named.R, grad.jvp(la.qr, (a,), (a,), pivoting=True)[1].R)


def test_tall_pullback_needs_linear_memory():
    """No m x m projector: a few copies of A at most."""
    import tracemalloc
    a = make.normal(np.random.default_rng(16), (100_000, 8), "float64")
    outputs, pullback = grad.vjp(la.qr, a)
    cts = tuple(np.ones_like(y) for y in outputs)
    tracemalloc.start()
    pullback(cts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * a.nbytes


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3), (2, 3, 0)], ids=str)
def test_empty(shape):
    outputs, pullback = grad.vjp(la.qr, np.zeros(shape))
    assert pullback(outputs)[0].shape == shape
