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
from linalgad.grad._dual import Symbol

ORDERS = (16, 33, 65)
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


@pytest.mark.parametrize("n", [16, 65])
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
@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("cholesky", "inv", "lu", "qr", "eigh", "svd")],
                         ids=lambda c: f"{c[0]}-{c[1]}-{'-'.join(map(str, c[2].values()))}")
@pytest.mark.parametrize("name", ["float64", "complex64"])
def test_layouts(case, layout, name, plain):
    """Cotangents, and the outputs that a rule by name is given, may lie in memory in any order."""
    rng = np.random.default_rng(113)
    fun, kind, kw, which = case
    args = arguments(kind, rng, 30, np.dtype(name))
    cts = cotangents(rng, fun, args, kw, which)
    cts = tuple(None if c is None else layout(c) for c in cts)
    tol = rounding(name, 30, condition(fun, 30))
    (got,), (want,) = pulled(fun, args, kw, cts), plain(pulled, fun, args, kw, cts)
    assert make.relative(got, want) <= tol
    outputs = tuple(layout(y) if y.dtype == name else y for y in tuple_of(grad.vjp(fun, *args, **kw)[0]))
    rule = getattr(grad, f"{fun}_vjp")
    (got,) = rule(args, outputs if len(outputs) > 1 else outputs[0], cts if len(cts) > 1 else cts[0], gauge="project",
                  **kw)
    assert make.relative(got, want) <= tol


def test_steps_over_their_operands(runs):
    """A sum may take the place of either term, in whatever order the other one lies."""
    @_program.program
    def rule(x, y):
        return xp.T(x) + xp.matmul(y, y), xp.matmul(y, y) - xp.T(x), xp.T(xp.matmul(x, y)) - xp.matmul(y, x) * 0.5

    rng = np.random.default_rng(118)
    x, y = rng.standard_normal((2, 3, 30, 30))
    xt = np.swapaxes(x, -1, -2)
    for got, want in zip(rule(x, y), (xt + y @ y, y @ y - xt, np.swapaxes(x @ y, -1, -2) - y @ x * 0.5), strict=True):
        assert make.relative(got, want) <= rounding("float64", 30)
    assert runs() == 1


@pytest.mark.parametrize("power", ["tiny", "huge"])
@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("cholesky", "lu", "qr", "eigh", "svd")
                                  and c[1] in ("definite", "general", "hermitian", "spaced")],
                         ids=lambda c: f"{c[0]}-{'-'.join(map(str, c[2].values()))}")
def test_extreme_scales(case, power, dtype):
    """A factor far from 1 is scaled by a power of two in each slice, beside slices that are not."""
    rng = np.random.default_rng(114)
    exponent = {"tiny": -1, "huge": 1}[power] * (600 if np.finfo(dtype).eps < 1e-10 else 70)
    factor = np.ldexp(1.0, exponent)
    name, kind, kw, which = case
    (a,) = arguments(kind, rng, 30, dtype)
    far = a.copy()
    far[1] = far[1] * np.dtype(dtype).type(factor).real
    # Cotangents of outputs without scale give gradients that go with the inverse of the argument's.
    scaled = {"lu": (2,) if not kw else (1,), "qr": (1,), "eigh": (0,), "svd": (1,)}.get(name, ())
    inverse = np.ldexp(1.0, exponent // 2) if name == "cholesky" else 1.0 if kw.get("mode") == "r" else factor
    cts = cotangents(rng, name, (a,), kw, tuple(i for i in which if i not in scaled))
    (want,) = pulled(name, (a,), kw, cts)
    (got,) = pulled(name, (far,), kw, cts)
    assert_same_bits(got[0], want[0])
    assert_same_bits(got[2], want[2])
    assert make.relative(got[1] * got.real.dtype.type(inverse), want[1]) <= rounding(dtype, 30, condition(name, 30))


def test_gauge_is_judged_in_each_slice():
    """Neighbours of another size do not move what counts as dependent on the gauge."""
    rng = np.random.default_rng(119)
    a = rng.standard_normal((2, 40, 30))
    a[0] *= 2.0 ** 60
    a[1] *= 2.0 ** 600
    outputs = grad.vjp(la.qr, a, mode="complete")[0]
    g = rng.standard_normal((2, 40, 40))
    projected = grad.project_cotangent(la.qr, outputs, (g, None), mode="complete")
    pullback = grad.vjp(la.qr, a, mode="complete")[1]
    pullback(projected)
    assert np.all(pullback.info.gauge_residual <= rounding("float64", 40))
    with pytest.raises(grad.GaugeError) as caught:
        pullback((g, None))
    assert caught.value.indices == ((0,), (1,))


def test_large_matrices_too(plain, runs):
    """From some order on few matrices have the threads of BLAS."""
    rng = np.random.default_rng(120)
    a = regular(rng, (1, 330, 330), "float64")
    g = rng.standard_normal(a.shape)
    for cts in ((None, g, g), (None, None, g)):
        (got,), (want,) = pulled("lu", (a,), {}, cts), plain(pulled, "lu", (a,), {}, cts)
        assert make.relative(got, want) <= rounding("float64", 330, KAPPA)
    assert runs() == 2


def test_spectra_with_nan():
    """A NaN among the values shows in the gradient of its slice, and in no other."""
    rng = np.random.default_rng(121)
    a = spaced(rng, 30, 30, "float64")
    u, s, vh = la.svd(a)
    s = s.copy()
    s[1, 4] = np.nan
    (g,) = grad.svd_vjp((a,), (u, s, vh), (u, None, vh), gauge="ignore")
    assert np.isnan(g[1]).any()
    assert np.isfinite(g[[0, 2]]).all()


def test_too_many_arrays_run_as_they_are(runs):
    """A program takes a limited number of arrays."""
    @_program.program
    def rule(*xs):
        return sum(xs[1:], xs[0])
    x = np.ones((2, 30, 30))
    assert np.array_equal(rule(*[x] * 20), 20 * x)
    assert runs() == 0


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
    assert tried == [Symbol, np.ndarray, np.ndarray]
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
    made = _program._recorded(rule.__wrapped__, (x,), {}, x.dtype)
    assert len(made._steps) > 20
    assert made._bytes <= 4 * (x[0].nbytes + 64)
