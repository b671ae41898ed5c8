"""Recorded programs against the rules as they are written, one operation of the whole stack at a time."""
import numpy as np
import pytest
from _layouts import LAYOUTS
from _matrices import H
from _measure import assert_same_bits
from _tols import rounding
from grad import _make as make

import linalgad as la
from linalgad import grad
from linalgad.grad import _program, xp

ORDERS = (24, 33, 65)
KAPPA = 30.0


@pytest.fixture
def runs(monkeypatch):
    """A function that tells how many programs have run since the test began."""
    counted, run = [0], _program.kernel.run

    def counting(*args):
        counted[0] += 1
        return run(*args)
    monkeypatch.setattr(_program.kernel, "run", counting)
    return lambda: counted[0]


@pytest.fixture
def plain(monkeypatch):
    """A function that calls another one without programs."""
    def call(fun, *args, **kw):
        with monkeypatch.context() as patch:
            patch.setattr(_program, "SMALLEST", 10 ** 6)
            return fun(*args, **kw)
    return call


def regular(rng, shape, dtype):
    """Matrices with singular values between 1 and `KAPPA`."""
    m, n = shape[-2:]
    s = np.geomspace(1, KAPPA, min(m, n))
    return np.stack([make.with_singular_values(rng, s, m, n, dtype) for _ in range(shape[0])])


def spaced(rng, m, n, dtype):
    """Matrices with well separated singular values."""
    return np.stack([make.with_singular_values(rng, np.linspace(2, 1, min(m, n)), m, n, dtype) for _ in range(3)])


def arguments(kind, rng, n, dtype):
    """Arguments of a kind: a matrix, or a matrix and right-hand sides."""
    kind, _, columns = kind.partition(" ")
    m, k = {"tall": (n + 7, n), "wide": (n, n + 5)}.get(kind.rpartition("-")[2], (n, n))
    if kind == "hermitian":
        return (np.stack([make.with_eigenvalues(rng, np.linspace(1, 2, n) * sign, dtype) for sign in (1, -1, 0.5)]),)
    if kind.startswith("spaced"):
        return (spaced(rng, m, k, dtype),)
    a = regular(rng, (3, m, k), dtype)
    if kind in ("definite", "lower", "upper"):
        a = a @ H(a) / KAPPA
    if kind in ("lower", "upper"):
        a = np.linalg.cholesky(a).astype(dtype)
        a = H(a) if kind == "upper" else a
    return (a, make.normal(rng, (3, n, int(columns)), dtype)) if columns else (a,)


# name, kind of arguments, keywords, outputs with a cotangent
CASES = [
    *(("cholesky", "definite", {"upper": upper}, (0,)) for upper in (False, True)),
    *(("cholesky_inverse", kind, {"upper": kind == "upper"}, (0,)) for kind in ("lower", "upper")),
    *(("cholesky_solve", f"{kind} {k}", {"upper": kind == "upper"}, (0,))
      for kind in ("lower", "upper") for k in (1, 9)),
    *(("solve_triangular", f"lower {k}", {"lower": True, "trans": 2}, (0,)) for k in (1, 9)),
    *(("solve_triangular", f"upper {k}", {"unit_diagonal": True, "trans": 1}, (0,)) for k in (1, 9)),
    ("inv", "general", {}, (0,)),
    *(case for kind in ("general", "tall", "wide") for case in (
        ("lu", kind, {}, (1, 2)), ("lu", kind, {"permute_l": True}, (0, 1)), ("lu_factor", kind, {}, (0,)),
        ("qr", kind, {}, (0, 1)), ("qr", kind, {"pivoting": True}, (0, 1)), ("qr", kind, {"mode": "r"}, (0,)))),
    ("qr", "tall", {"mode": "complete"}, (0, 1)),
    ("eigh", "hermitian", {}, (0, 1)),
    ("eigh", "hermitian", {"subset_by_index": (2, 9)}, (1,)),
    ("eigvalsh", "hermitian", {}, (0,)),
    *(case for kind in ("spaced", "spaced-tall", "spaced-wide") for case in (
        ("svd", kind, {"full_matrices": False}, (0, 1, 2)), ("svd", kind, {}, (0, 2)), ("svdvals", kind, {}, (0,)))),
]
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{'-'.join(map(str, c[2].values()))}")


def condition(name, n):
    """The condition of the derivative: that of the matrix, or the inverse of the relative gap."""
    return 2.0 * n if name in ("eigh", "svd") else KAPPA


def tuple_of(x):
    return x if isinstance(x, tuple) else (x,)


def pulled(name, args, kw, cts):
    return grad.vjp(name, *args, gauge="project", **kw)[1](cts if len(cts) > 1 else cts[0])


def cotangents(rng, name, args, kw, which):
    outputs = grad.vjp(name, *args, **kw)[0]
    cts = tuple(make.normal(rng, y.shape, y.dtype) if i in which else None for i, y in enumerate(tuple_of(outputs)))
    projected = grad.project_cotangent(name, outputs, cts, **kw) if name in ("eigh", "svd") else cts
    return tuple(None if c is None else p for c, p in zip(cts, projected, strict=True))


@pytest.mark.parametrize("n", ORDERS)
@EVERY_CASE
def test_pullbacks(case, n, dtype, runs, plain):
    """The cotangents of the recorded steps are those of the rule."""
    rng = np.random.default_rng(110)
    name, kind, kw, which = case
    args = arguments(kind, rng, n, dtype)
    cts = cotangents(rng, name, args, kw, which)
    before = runs()
    got = pulled(name, args, kw, cts)
    assert runs() > before or name == "solve_triangular"
    for x, y in zip(got, plain(pulled, name, args, kw, cts), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert make.relative(x, y) <= rounding(dtype, n, condition(name, n))


@pytest.mark.parametrize("n", [24, 65])
@EVERY_CASE
def test_tangents(case, n, dtype, plain):
    """So are the tangents."""
    rng = np.random.default_rng(111)
    name, kind, kw, which = case
    args = arguments(kind, rng, n, dtype)
    tangents = tuple(make.normal(rng, x.shape, dtype) for x in args)
    got = tuple_of(grad.jvp(name, args, tangents, **kw)[1])
    want = tuple_of(plain(grad.jvp, name, args, tangents, **kw)[1])
    for i in which:
        assert make.relative(got[i], want[i]) <= rounding(dtype, n, condition(name, n))


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_bits_do_not_depend_on_batch_or_lanes(name, dtype):
    """A slice of a stack is the slice alone, for any number of lanes."""
    rng = np.random.default_rng(112)
    a = regular(rng, (7, 40, 40), dtype)
    a = a @ H(a) / KAPPA if name == "cholesky" else a
    cts = cotangents(rng, name, (a,), {}, {"cholesky": (0,), "lu": (1, 2), "qr": (0, 1)}[name])
    (whole,) = pulled(name, (a,), {}, cts)
    for lanes in (1, 3):
        assert_same_bits(pulled(name, (a,), {"lanes": lanes}, cts)[0], whole)
    for i in range(len(a)):
        one = pulled(name, (a[i:i + 1],), {}, tuple(None if c is None else c[i:i + 1] for c in cts))[0]
        assert_same_bits(one[0], whole[i])


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_of_cotangents(layout, dtype, plain):
    """Cotangents may lie in memory in any order."""
    rng = np.random.default_rng(113)
    a = regular(rng, (3, 30, 30), dtype)
    g = make.normal(rng, a.shape, dtype)
    for name, x in (("cholesky", a @ H(a) / KAPPA), ("inv", a)):
        (got,), (want,) = (pulled(name, (x,), {}, (c,)) for c in (layout(g), g))
        assert make.relative(got, want) <= rounding(dtype, 30, KAPPA)
    with np.errstate(all="ignore"):
        assert np.array_equal(layout(g), g)


@pytest.mark.parametrize("scale", ["tiny", "huge"])
def test_extreme_scales(scale, dtype):
    """A factor far from 1 is scaled by a power of two in each slice, beside one that is not."""
    rng = np.random.default_rng(114)
    exponent = {"tiny": -1, "huge": 1}[scale] * (600 if np.finfo(dtype).eps < 1e-10 else 70)
    a = regular(rng, (2, 32, 32), dtype)
    a = a @ H(a) / KAPPA
    g = make.normal(rng, a.shape, dtype)
    (want,) = pulled("cholesky", (a,), {}, (g,))
    far = a.copy()
    far[1] = np.ldexp(1.0, exponent).astype(far.real.dtype) * far[1]
    (got,) = pulled("cholesky", (far,), {}, (g,))
    assert_same_bits(got[0], want[0])
    # c goes with the square root of a, so its gradient with the inverse root
    assert make.relative(np.ldexp(1.0, exponent // 2).astype(far.real.dtype) * got[1], want[1]) <= rounding(dtype, 32)


def test_singular_factor_is_refused(runs):
    """A zero on the diagonal ends the program, and the rule as it is written says what is wrong."""
    c = np.tile(np.tril(np.ones((30, 30))) + np.eye(30), (4, 1, 1))
    c[2, 5, 5] = 0
    with pytest.raises(la.LinAlgError, match="singular") as caught:
        grad.cholesky_vjp((np.eye(30) + np.zeros((4, 1, 1)),), c, np.ones_like(c))
    assert caught.value.indices == ((2,),)
    assert runs() == 1


def test_what_is_not_recorded_runs_as_it_is(runs):
    """Without a step for it a function gives its own result; it is not tried again for the same shapes."""
    tried = []

    @_program.program
    def rule(x):
        tried.append(type(x))
        return xp.exp(xp.tril(x))
    x = np.random.default_rng(115).standard_normal((2, 30, 30))
    for _ in range(2):
        assert np.array_equal(rule(x), np.exp(np.tril(x)))
    assert tried == [xp.Symbol, np.ndarray, np.ndarray]
    assert runs() == 0


def test_results_that_are_views_inputs_or_the_same(runs):
    """Transposes, blocks, arguments and one matrix twice come back as arrays of their own."""
    @_program.program
    def rule(x, y):
        z = xp.matmul(x, y)
        return xp.T(z), z[..., 2:5, :4], x, (z, None), z - z * 0.5

    rng = np.random.default_rng(116)
    x, y = rng.standard_normal((2, 3, 30, 30))
    t, block, same, (z, none), half = rule(x, y)
    assert runs() == 1
    assert none is None
    assert make.relative(z, x @ y) <= rounding("float64", 30)
    assert np.array_equal(t, np.swapaxes(z, -1, -2))
    assert np.array_equal(block, z[:, 2:5, :4])
    assert np.array_equal(same, x)
    assert np.array_equal(half, z / 2)
    arrays = (t, block, same, z, half, x, y)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_memory_of_temporaries_is_used_again(runs):
    """A value that is still needed is not written over, however many others come and go."""
    @_program.program
    def rule(x):
        kept, total = xp.matmul(x, x), xp.herm(x)
        for k in range(6):
            total = xp.matmul(total, x) * 0.25 + xp.tril(total, k=-k) - xp.twist(total)
        return kept + total, kept * 2.0

    def by_numpy(x):
        kept, total = x @ x, (x + H(x)) / 2
        for k in range(6):
            low = np.tril(total, -1)
            total = total @ x * 0.25 + np.tril(total, -k) - (low - H(low))
        return kept + total, kept * 2

    x = np.random.default_rng(117).standard_normal((3, 30, 30)) / 8
    for got, want in zip(rule(x), by_numpy(x), strict=True):
        assert make.relative(got, want) <= rounding("float64", 30)
    assert runs() == 1
