"""cholesky, cholesky_ex, cholesky_solve, cholesky_inverse: derivatives against many digits, scales, structure."""
import mpmath as mp
import numpy as np
import pytest
from _tols import rounding
from grad import _exact as exact
from grad import _make as make
from grad import _rules as rules

import linalgad as la
from linalgad import grad

KAPPA = 3.0


def h(x):
    return np.conj(np.swapaxes(x, -1, -2))


def definite(rng, n, dtype, count=None):
    """Positive definite matrices with eigenvalues from 1 to 3."""
    stack = [make.with_eigenvalues(rng, np.linspace(1, KAPPA, n), dtype) for _ in range(count or 1)]
    return np.stack(stack) if count else stack[0]


def factor(a, upper):
    """A factor as cholesky returns it, with rubbish in the triangle that is not read."""
    c = np.linalg.cholesky(a)
    c = h(c) if upper else c
    return c + (np.tril(np.ones_like(c), -1) if upper else np.triu(np.ones_like(c), 1))


def real_diagonal(x):
    """A tangent of a factor: its diagonal is real."""
    i = np.arange(x.shape[-1])
    x = x.copy()
    x[..., i, i] = x[..., i, i].real
    return x


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", make.DTYPES)
class TestAllTypes:
    def calls(self, dtype, upper, count=3):
        rng = np.random.default_rng(1)
        a = definite(rng, 5, dtype, count)
        c, b = factor(a, upper), make.normal(rng, (count, 5, 2), dtype)
        dc = real_diagonal(make.normal(rng, c.shape, dtype))
        return [(la.cholesky, (a,), (make.hermitian(make.normal(rng, a.shape, dtype)),)),
                (la.cholesky_ex, (a,), (make.hermitian(make.normal(rng, a.shape, dtype)),)),
                (la.cholesky_solve, (c, b), (dc, make.normal(rng, b.shape, dtype))),
                (la.cholesky_inverse, (c,), (dc,))]

    @pytest.mark.parametrize("which", range(4))
    def test_duality(self, dtype, upper, which):
        fun, args, tangents = self.calls(dtype, upper)[which]
        rules.duality(fun, args, rounding(dtype, 5, KAPPA), tangents, upper=upper)

    @pytest.mark.parametrize("which", range(4))
    def test_second_derivatives_are_symmetric(self, dtype, upper, which):
        fun, args, _ = self.calls(dtype, upper)[which]
        rng = np.random.default_rng(2)
        pair = [tuple(real_diagonal(make.normal(rng, x.shape, dtype)) for x in args) for _ in range(2)]
        if len(args) == 1 and fun is not la.cholesky_inverse:
            pair = [tuple(map(make.hermitian, t)) for t in pair]
        rules.symmetry(fun, args, rounding(dtype, 5, KAPPA), pair, upper=upper)

    @pytest.mark.parametrize("which", range(4))
    def test_batch_is_loop(self, dtype, upper, which):
        fun, args, _ = self.calls(dtype, upper)[which]
        rules.batch_is_loop(fun, args, upper=upper)

    def test_cholesky_against_many_digits(self, dtype, upper):
        rng = np.random.default_rng(3)
        a, da, g = definite(rng, 4, dtype), make.normal(rng, (4, 4), dtype), make.normal(rng, (4, 4), dtype)
        c, dc = grad.jvp(la.cholesky, (a,), (da,), upper=upper)
        (want,) = exact.tangents(exact.cholesky(upper), (a,), (da,), (c,))
        assert make.relative(dc, want) <= rounding(dtype, 4, KAPPA)
        assert np.array_equal(dc, np.triu(dc) if upper else np.tril(dc))
        (ga,) = grad.vjp(la.cholesky, a, upper=upper)[1](g)
        assert make.relative(ga, exact.gradient(exact.cholesky(upper), (a,), (g,))) <= rounding(dtype, 4, KAPPA)
        assert np.array_equal(ga, h(ga))

    def test_cholesky_solve_against_many_digits(self, dtype, upper):
        rng = np.random.default_rng(4)
        c = factor(definite(rng, 3, dtype), upper)
        b, g = make.normal(rng, (3, 2), dtype), make.normal(rng, (3, 2), dtype)
        gc, gb = grad.vjp(la.cholesky_solve, c, b, upper=upper)[1](g)

        def fun(c, b):
            return exact.solve(exact.gram(c, upper), b)
        assert make.relative(gc, exact.gradient(fun, (c, b), (g,))) <= rounding(dtype, 3, KAPPA)
        assert make.relative(gb, exact.gradient(fun, (c, b), (g,), 1)) <= rounding(dtype, 3, KAPPA)
        assert np.array_equal(gc, np.triu(gc) if upper else np.tril(gc))

    def test_cholesky_inverse_against_many_digits(self, dtype, upper):
        rng = np.random.default_rng(5)
        c, g = factor(definite(rng, 3, dtype), upper), make.normal(rng, (3, 3), dtype)
        (gc,) = grad.vjp(la.cholesky_inverse, c, upper=upper)[1](g)
        want = exact.gradient(lambda c: [mp.inverse(exact.gram(c, upper))], (c,), (g,))
        assert make.relative(gc, want) <= rounding(dtype, 3, KAPPA)


def test_gradient_of_the_log_determinant_is_the_inverse():
    """2 sum log diag L: neither triangular nor counted twice; case cholesky-vjp-logdet."""
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.5]])
    c, pullback = grad.vjp(la.cholesky, a)
    (ga,) = pullback(np.diag(2 / np.diagonal(c)))
    want = mp.inverse(exact.to_mp(a))
    assert make.relative(ga, exact.to_np(want, a)) <= rounding("float64", 3, KAPPA)


@pytest.mark.parametrize("dtype, power", [("float32", -42), ("complex64", -42), ("float64", -332), ("float64", 332),
                                          ("complex128", 332)])
def test_scale(dtype, power):
    """cholesky(4^p A) = 2^p L: with the cotangent fixed the gradient scales as 2^-p, exactly."""
    rng = np.random.default_rng(6)
    a, w = definite(rng, 4, dtype), make.normal(rng, (4, 4), dtype)
    small = (a * 4.0**power).astype(dtype)
    (want,), (got,) = grad.vjp(la.cholesky, a)[1](w), grad.vjp(la.cholesky, small)[1](w)
    assert np.array_equal(got, (want * 2.0**-power).astype(dtype))
    # The loss sum |L|^2 = tr A has the cotangent 2 L and the gradient I at every scale.
    c, pullback = grad.vjp(la.cholesky, small)
    (g,) = pullback(2 * c)
    assert make.relative(g, np.eye(4)) <= rounding(dtype, 4, KAPPA)


@pytest.mark.parametrize("b_shape", [(4,), (2, 4, 3), (1, 4, 3), (4, 3)], ids=str)
@pytest.mark.parametrize("c_batch", [(2,), ()], ids=str)
def test_broadcast_arguments_get_cotangents_of_their_shape(b_shape, c_batch):
    rng = np.random.default_rng(7)
    c = np.linalg.cholesky(definite(rng, 4, "complex128", 2))
    c = c if c_batch else c[0]
    b = make.normal(rng, b_shape, "complex128")
    rules.duality(la.cholesky_solve, (c, b), rounding("complex128", 4, KAPPA))


@pytest.mark.parametrize("fun", [la.cholesky, la.cholesky_ex], ids=lambda f: f.__name__)
def test_differences(fun):
    """check_grads, second order included."""
    grad.check_grads(fun, (definite(np.random.default_rng(8), 4, "complex128", 2),))


def test_one_factorisation(kernel_calls):
    """None in pullbacks, second order or rules by name."""
    rng = np.random.default_rng(9)
    a = definite(rng, 4, "float64", 3)
    c, pullback = grad.vjp(la.cholesky, a)
    for _ in range(3):
        pullback(c)
    grad.cholesky_vjp((a,), c, c)
    grad.cholesky_jvp((a,), c, (a,))
    assert kernel_calls() == 1
    grad.hvp(la.cholesky, (a,), (a[::-1],), c)
    assert kernel_calls() == 2


def test_failed_slices_are_named():
    a = np.stack([np.eye(2), -np.eye(2)])
    with pytest.raises(grad.NotDifferentiableError, match=r"slices \(1,\)"):
        grad.vjp(la.cholesky_ex, a)
    with pytest.raises(grad.NotDifferentiableError, match="failed"):
        grad.jvp(la.cholesky, (a,), (a,), errors="nan")
    with pytest.raises(la.LinAlgError) as caught:
        grad.vjp(la.cholesky, a)
    assert caught.value.indices == ((1,),)


def test_info_has_no_derivative():
    outputs, pullback = grad.vjp(la.cholesky_ex, np.eye(2))
    with pytest.raises(grad.NotDifferentiableError, match="status"):
        pullback((None, outputs.info))
    assert [row.vjp for row in grad.capabilities(la.cholesky_ex)] == [True, False]


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)], ids=str)
def test_empty(shape):
    c, pullback = grad.vjp(la.cholesky, np.zeros(shape))
    assert pullback(c)[0].shape == shape
