"""solve, solve_ex: derivatives in both arguments, for every structure, against many digits."""
import numpy as np
import pytest
from _tols import rounding
from grad import _exact as exact
from grad import _make as make
from grad import _rules as rules

import linalgad as la
from linalgad import grad

SPECTRUM = (3.0, 2.2, 1.3, 0.7)
KAPPA = SPECTRUM[0] / SPECTRUM[-1]
FUNCTIONS = pytest.mark.parametrize("fun", [la.solve, la.solve_ex], ids=lambda f: f.__name__)


def symmetric(x):
    return (x + np.swapaxes(x, -1, -2)) / 2


#: A structure: how a random matrix gets it, which is also the projection of tangents and cotangents.
STRUCTURES = {
    None: lambda x: x,
    "gen": lambda x: x,
    "pos": make.hermitian,
    "her": make.hermitian,
    "sym": symmetric,
    "diag": lambda x: x * np.eye(x.shape[-1], dtype=x.dtype),
    "tridiagonal": lambda x: np.triu(np.tril(x, 1), -1),
    "upper triangular": np.triu,
    "lower triangular": np.tril,
}
STRUCTURED = pytest.mark.parametrize("assume_a", STRUCTURES, ids=str)


def matrices(rng, assume_a, dtype, n=4, count=3):
    """Well conditioned, of the structure, with rubbish where the structure is not read."""
    if assume_a is None:
        return np.stack([make.with_singular_values(rng, SPECTRUM[:n], n, n, dtype) for _ in range(count)])
    a = STRUCTURES[assume_a](make.normal(rng, (count, n, n), dtype) / 3) + 2 * np.eye(n)
    return a.astype(dtype)


@STRUCTURED
@FUNCTIONS
@pytest.mark.parametrize("dtype", make.DTYPES)
def test_rules(dtype, fun, assume_a):
    rng = np.random.default_rng(1)
    project = STRUCTURES[assume_a]
    args = matrices(rng, assume_a, dtype), make.normal(rng, (3, 4, 2), dtype)

    def direction():
        return project(make.normal(rng, args[0].shape, dtype)), make.normal(rng, args[1].shape, dtype)
    rules.duality(fun, args, rounding(dtype, 4, KAPPA), direction(), assume_a=assume_a)
    rules.symmetry(fun, args, rounding(dtype, 4, KAPPA), [direction(), direction()], assume_a=assume_a)
    rules.batch_is_loop(fun, args, assume_a=assume_a)


@STRUCTURED
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_against_many_digits(dtype, lower, assume_a):
    """The gradient on matrices of the structure; one triangle is read of a symmetric one."""
    rng = np.random.default_rng(2)
    (a,) = matrices(rng, assume_a, dtype, 3, 1)
    b, g = make.normal(rng, (3, 2), dtype), make.normal(rng, (3, 2), dtype)
    read = a
    if assume_a in ("pos", "her", "sym"):
        read = a + (np.triu(np.ones_like(a), 1) if lower else np.tril(np.ones_like(a), -1))
    x, pullback = grad.vjp(la.solve, read, b, assume_a=assume_a, lower=lower)
    ga, gb = pullback(g)
    assert make.relative(x, np.linalg.solve(a, b)) <= rounding(dtype, 3, KAPPA)
    want = STRUCTURES[assume_a](exact.gradient(exact.solve, (a, b), (g,)))
    assert make.relative(ga, want) <= rounding(dtype, 3, KAPPA)
    assert make.relative(gb, exact.gradient(exact.solve, (a, b), (g,), 1)) <= rounding(dtype, 3, KAPPA)


@pytest.mark.parametrize("dtype", make.DTYPES)
def test_tangents_against_many_digits(dtype):
    rng = np.random.default_rng(3)
    (a,), b = matrices(rng, None, dtype, count=1), make.normal(rng, (4, 2), dtype)
    da, db = make.normal(rng, a.shape, dtype), make.normal(rng, b.shape, dtype)
    x, dx = grad.jvp(la.solve, (a, b), (da, db))
    assert make.relative(dx, exact.tangents(exact.solve, (a, b), (da, db), (x,))[0]) <= rounding(dtype, 4, KAPPA)
    for tangents in ((da, None), (None, db)):
        _, dx = grad.jvp(la.solve, (a, b), tangents)
        assert make.relative(dx, exact.tangents(exact.solve, (a, b), tangents, (x,))[0]) <= rounding(dtype, 4, KAPPA)


def test_no_tangent_is_a_zero_tangent():
    x, dx = grad.jvp(la.solve, (np.eye(2), np.ones(2)), (None, None))
    assert dx.shape == x.shape and not dx.any()
    assert grad.jvp(la.lu, (np.eye(2),), (None,))[1].P is None


@pytest.mark.parametrize("b_shape", [(4,), (2, 4, 3), (1, 4, 3), (5, 1, 4, 3), (4, 3)], ids=str)
@pytest.mark.parametrize("batch", [(2,), ()], ids=str)
def test_broadcast_batches_are_summed_back(b_shape, batch):
    """Cotangents have the shapes of the operands; the sum over what was repeated."""
    rng = np.random.default_rng(4)
    a = matrices(rng, None, "complex128", count=2)
    a = a if batch else a[0]
    b = make.normal(rng, b_shape, "complex128")
    rules.duality(la.solve, (a, b), rounding("complex128", 4, KAPPA))
    x, pullback = grad.vjp(la.solve, a, b)
    g = make.normal(rng, x.shape, "complex128")
    ga, gb = pullback(g)
    vector = b.ndim == 1
    whole = np.broadcast_to(a, (*x.shape[: -1 if vector else -2], 4, 4))
    inner = np.linalg.solve(np.conj(np.swapaxes(whole, -1, -2)), g[..., None] if vector else g)
    outer = -inner @ np.conj(np.swapaxes(x[..., None] if vector else x, -1, -2))
    assert make.relative(ga, outer.reshape(-1, *a.shape).sum(axis=0)) <= rounding("complex128", 4, KAPPA)
    inner = inner[..., 0] if vector else inner
    assert make.relative(gb, inner.reshape(-1, *b.shape).sum(axis=0) if b.ndim < 4 else inner.sum(
        axis=1 if batch else (), keepdims=True)) <= rounding("complex128", 4, KAPPA)


def test_a_vector_is_not_a_row():
    """One-dimensional right-hand side; case solve-vjp-vector-rhs."""
    a, b, g = np.array([[3.0, 1.0], [-1.0, 2.0]]), np.array([1.0, -2.0]), np.array([0.7, -0.4])
    ga, gb = grad.vjp(la.solve, a, b)[1](g)
    want = np.linalg.solve(a.T, g)
    assert make.relative(gb, want) <= rounding("float64", 2, KAPPA)
    assert make.relative(ga, -np.outer(want, np.linalg.solve(a, b))) <= rounding("float64", 2, KAPPA)


@pytest.mark.parametrize("pair", [("float32", "float64"), ("float64", "complex64"), ("complex128", "float64")], ids=str)
def test_mixed_types(pair):
    """Cotangents in the type of their operand: real for a real one beside a complex one."""
    rng = np.random.default_rng(5)
    (a,), b = matrices(rng, None, pair[0], count=1), make.normal(rng, (4, 2), pair[1])
    rules.duality(la.solve, (a, b), rounding("float32", 4, KAPPA))


@pytest.mark.parametrize("dtype, power", [("float32", -84), ("complex64", -84), ("float64", -664), ("float64", 664),
                                          ("complex128", 664)])
def test_scale(dtype, power):
    """a and b scaled together leave x; with the cotangent scaled like them both gradients stay, exactly."""
    rng = np.random.default_rng(6)
    (a,), b = matrices(rng, None, dtype, count=1), make.normal(rng, (4, 2), dtype)
    g = make.normal(rng, (4, 2), dtype)
    s = 2.0**power
    want = grad.vjp(la.solve, a, b)[1](g)
    got = grad.vjp(la.solve, (a * s).astype(dtype), (b * s).astype(dtype))[1]((g * s).astype(dtype))
    assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))


@FUNCTIONS
@pytest.mark.parametrize("assume_a", [None, "pos", "diag"])
def test_differences(fun, assume_a):
    rng = np.random.default_rng(7)
    args = matrices(rng, assume_a, "float64", count=2), make.normal(rng, (2, 4, 2), "float64")
    grad.check_grads(fun, args, assume_a=assume_a)


# ------------------------------------------------------------------ cost

@pytest.mark.parametrize("assume_a, count", [(None, 1), ("pos", 1), ("her", 1), ("sym", 1), ("tridiagonal", 1),
                                             ("diag", 0), ("upper triangular", 0)])
def test_many_cotangents_of_one_solve_factor_once(kernel_calls, assume_a, count):
    rng = np.random.default_rng(8)
    a, b = matrices(rng, assume_a, "float64"), make.normal(rng, (3, 4, 2), "float64")
    _, pullback = grad.vjp(la.solve, a, b, assume_a=assume_a)
    for _ in range(5):
        pullback(b)
    assert kernel_calls() == count
    grad.hvp(la.solve, (a, b), (a, b), b, assume_a=assume_a)
    assert kernel_calls() == 2 * count


def test_the_forward_is_solve_bit_by_bit():
    """The kept factors are those of the transpose, as solve has them."""
    rng = np.random.default_rng(9)
    a, b = make.normal(rng, (3, 40, 40), "complex128"), make.normal(rng, (3, 40, 2), "complex128")
    for kw in ({}, {"assume_a": "upper triangular"}):
        assert np.array_equal(grad.vjp(la.solve, a, b, **kw)[0], la.solve(a, b, **kw))


def test_rules_by_name_take_the_factors():
    """Or factor once, where they are not given and the results hold none."""
    rng = np.random.default_rng(10)
    a, b = matrices(rng, None, "complex128"), make.normal(rng, (3, 4, 2), "complex128")
    x, pullback = grad.vjp(la.solve, a, b)
    factors = la.lu_factor(np.swapaxes(a, -1, -2))
    named = grad.solve_vjp((a, b), x, b, aux=factors)
    assert all(np.array_equal(p, q) for p, q in zip(named, pullback(b), strict=True))
    assert all(np.array_equal(p, q) for p, q in zip(grad.solve_vjp((a, b), x, b), pullback(b), strict=True))


def test_only_what_is_asked_for():
    """wrt chooses; None is a zero cotangent; info is constant."""
    rng = np.random.default_rng(11)
    a, b = matrices(rng, None, "float64"), make.normal(rng, (3, 4, 2), "float64")
    ga, gb = grad.vjp(la.solve, a, b)[1](b)
    assert np.array_equal(grad.vjp(la.solve, a, b, wrt=0)[1](b)[0], ga)
    assert np.array_equal(grad.vjp(la.solve, a, b, wrt=1)[1](b)[0], gb)
    outputs, pullback = grad.vjp(la.solve_ex, a, b)
    assert not any(g.any() for g in pullback((None, None)))
    with pytest.raises(grad.NotDifferentiableError, match="status"):
        pullback((None, outputs.info))


def test_failed_slices_are_named():
    a, b = np.stack([np.eye(2), np.ones((2, 2))]), np.ones((2, 1))
    with pytest.raises(grad.NotDifferentiableError, match=r"solve_ex: .*\(1,\)"):
        grad.vjp(la.solve_ex, a, b)
    with pytest.raises(la.LinAlgError) as caught:
        grad.vjp(la.solve, a, b)
    assert caught.value.indices == ((1,),)
    with pytest.raises(grad.NotDifferentiableError):
        grad.vjp(la.solve, a, b, errors="nan")


@pytest.mark.parametrize("n, columns, batch", [(0, 2, 2), (3, 0, 2), (3, 2, 0)])
def test_empty(n, columns, batch):
    a, b = np.broadcast_to(np.eye(n), (batch, n, n)), np.zeros((batch, n, columns))
    ga, gb = grad.vjp(la.solve, a, b)[1](b)
    assert ga.shape == a.shape and gb.shape == b.shape and not ga.any()
