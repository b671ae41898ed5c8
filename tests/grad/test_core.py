"""The vocabulary, dual arrays, the table and the front functions, apart from any one rule."""
import ast
import dataclasses
import pathlib

import numpy as np
import pytest
from _tols import rounding, truncation
from grad import _make as make

import linalgad as la
from linalgad import grad
from linalgad.grad import _check, _dual, _table, xp
from linalgad.grad._gap import divide_gap, gaps

RNG = np.random.default_rng(100)
A, B = make.normal(RNG, (2, 4, 4), "complex128"), make.normal(RNG, (2, 4, 4), "complex128")
R = np.abs(RNG.standard_normal((2, 4, 4))) + 0.5
TRI = np.tril(A) + 3 * np.eye(4)
ROWS = np.array([[2, 0, 3, 1], [1, 3, 0, 2]])
DENSE = A + 4 * np.eye(4)


def _solver(b, trans=0):
    m = (DENSE, np.swapaxes(DENSE, -1, -2), np.conj(np.swapaxes(DENSE, -1, -2)))[trans]
    return np.linalg.solve(m, b)


VOCABULARY = {
    "add": (lambda x, y: x + y, A, B), "subtract": (lambda x, y: x - y, A, B), "multiply": (lambda x, y: x * y, A, B),
    "divide": (lambda x, y: x / y, A, R), "constant over": (lambda x: 2.0 / x, R), "negative": (lambda x: -x, A),
    "matmul": (lambda x, y: x @ y, A, B), "broadcast add": (lambda x, y: x + y, A, B[0, :1]),
    "getitem": (lambda x: x[..., 1:, :2], A), "T": (xp.T, A), "H": (xp.H, A), "conj": (xp.conj, A),
    "real": (xp.real, A), "imag": (xp.imag, A), "tril": (lambda x: xp.tril(x, k=-1), A), "triu": (xp.triu, A),
    "diagonal": (xp.diagonal, A), "diag_embed": (lambda x: xp.diag_embed(x[..., 0]), A),
    "off_diagonal": (xp.off_diagonal, A), "sum": (lambda x: xp.sum(x, axis=-2), A),
    "reshape": (lambda x: xp.reshape(x, shape=(2, 16)), A), "sum_to": (lambda x: xp.sum_to(x, (1, 4)), A),
    "embed": (lambda x: xp.embed(x, shape=(2, 4, 6), index=(..., slice(1, 5))), A),
    "take_rows": (lambda x: xp.take_rows(x, rows=ROWS), A), "put_rows": (lambda x: xp.put_rows(x, rows=ROWS), A),
    "take_pivots": (lambda x: xp.take_pivots(x, rows=ROWS), A),
    "put_pivots": (lambda x: xp.put_pivots(x[..., 0], rows=ROWS, m=5), A),
    "concatenate": (lambda x, y: xp.concatenate(x, y, axis=-1), A, B),
    "where": (lambda x, y: xp.where(A.real > 0, x, y), A, B), "where constant": (lambda x: xp.where(R > 1, x, 0), A),
    "herm": (xp.herm, A), "skew": (xp.skew, A), "sqrt": (xp.sqrt, R), "exp": (xp.exp, A), "log": (xp.log, R),
    "abs2": (xp.abs2, A), "reciprocal": (lambda x: xp.reciprocal(x, R > 1), R),
    "solve_triangular": (lambda x, y: xp.solve_triangular(x, y, lower=True), TRI, B),
    "solve_triangular H": (lambda x, y: xp.solve_triangular(x, y, lower=True, trans=2), TRI, B),
    "solve_triangular unit": (lambda x, y: xp.solve_triangular(x, y, lower=True, unit_diagonal=True), TRI, B),
    "solve_kept T": (lambda x, y: xp.solve_kept(x, y, solver=_solver, trans=1), DENSE, B),
    "solve_kept H": (lambda x, y: xp.solve_kept(x, y, solver=_solver, trans=2), DENSE, B),
    "divide_gap": (lambda x, y: divide_gap(x, gaps(y[..., 0])), A, R),
    "divide_gap lorentzian": (lambda x, y: divide_gap(x, gaps(y[..., 0]), eps=0.3), A, R),
}


@pytest.fixture(params=VOCABULARY, ids=str)
def word(request):
    fun, *args = VOCABULARY[request.param]
    rng = np.random.default_rng(101)
    return fun, args, [make.normal(rng, x.shape, x.dtype) for x in args], "solve_kept" not in request.param


def test_vocabulary_tangents(word):
    """Each function of the vocabulary against central differences."""
    fun, args, tangents, by_differences = word
    out = fun(*(_dual.Dual(x, t, 1) for x, t in zip(args, tangents, strict=True)))
    if by_differences:
        step = 1e-6
        up, down = (fun(*(x + c * t for x, t in zip(args, tangents, strict=True))) for c in (step, -step))
        want = (up - down) / (2 * step)
    else:
        # The kept solver is a constant: X = op(A)^-1 B is checked through op(dA) X + op(A) dX = dB.
        x, dx = out.primal, out.tangent
        op = (lambda m: np.swapaxes(m, -1, -2)) if np.allclose(np.swapaxes(DENSE, -1, -2) @ x, B) else \
            (lambda m: np.conj(np.swapaxes(m, -1, -2)))
        assert make.relative(op(tangents[0]) @ x + op(args[0]) @ dx, tangents[1]) < rounding("float64", 4, 10)
        return
    assert np.max(np.abs(out.tangent - want)) <= truncation("float64") * max(1, np.max(np.abs(want)))


def test_vocabulary_second_order(word):
    """Duals of duals: the mixed second derivative does not depend on the order of the levels."""
    fun, args, first, _ = word
    rng = np.random.default_rng(102)
    second = [make.normal(rng, x.shape, x.dtype) for x in args]

    def mixed(one, two):
        out = fun(*(_dual.Dual(_dual.Dual(x, s, 1), t, 2) for x, s, t in zip(args, one, two, strict=True)))
        tangent = out.tangent
        return _dual.tangent_of(tangent, 1)

    a, b = mixed(first, second), mixed(second, first)
    if a is None or b is None:
        assert a is None and b is None
    else:
        assert np.max(np.abs(a - b)) <= rounding("float64", 4, 10) * max(1, np.max(np.abs(a)))


def test_levels_do_not_mix():
    """d/dx [x * d/dy (x + y)] is 1: the inner derivative sees x as a constant."""
    x = np.ones((1, 1)) * 3
    outer = _dual.Dual(x, np.ones_like(x), 1)
    y = _dual.Dual(x, np.ones_like(x), 2)
    inner = (outer + y).tangent
    assert (outer * inner).tangent == 1


def test_arrays_leave_operators_to_duals():
    """ndarray op Dual is a Dual, not an object array."""
    d = _dual.Dual(A, B, 1)
    for out in (A + d, A - d, A * d, A / d, A @ d, 2.0 * d, 1 - d, np.float64(2) * d):
        assert isinstance(out, _dual.Dual)


def test_rules_use_the_vocabulary_only():
    """A rule file imports neither NumPy nor a kernel: it must run on any array the vocabulary knows."""
    folder = pathlib.Path(_table.__file__).parent
    for name in _table._RULES:
        tree = ast.parse((folder / f"{name}.py").read_text())
        for node in ast.walk(tree):
            names = [n.name for n in node.names] if isinstance(node, ast.Import) else \
                [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] in ("numpy", "scipy", "_kernels") for n in names), (name, names)


# ------------------------------------------------------------------ front functions

def test_unknown_function_is_named():
    with pytest.raises(grad.NotDifferentiableError, match="lanes"):
        grad.jvp(la.lanes, (A,), (A,))
    with pytest.raises(grad.NotDifferentiableError, match="svd"):
        grad.vjp(np.linalg.svd, A)


@pytest.mark.parametrize("kw, match", [({"gauge": "no"}, "gauge"), ({"derivative_eps": -1}, "derivative_eps"),
                                       ({"rank_tol": float("nan")}, "rank_tol")])
def test_options_are_checked(kw, match):
    with pytest.raises(ValueError, match=match):
        grad.vjp(la.svdvals, A, **kw)


def test_structures_are_checked():
    """Shapes and counts of tangents and cotangents, naming what was expected."""
    with pytest.raises(ValueError, match=r"tangents: expected shape \(2, 4, 4\), got \(4, 4\)"):
        grad.jvp(la.svdvals, (A,), (A[0],))
    with pytest.raises(TypeError, match="one entry per argument"):
        grad.jvp(la.svdvals, (A,), ())
    with pytest.raises(TypeError, match="complex values for a real array"):
        grad.jvp(la.svdvals, (R,), (A,))
    _, pullback = grad.vjp(la.svd, A)
    with pytest.raises(TypeError, match="U, S, Vh"):
        pullback((None, None))
    with pytest.raises(grad.NotDifferentiableError, match="argument 1"):
        grad.vjp(la.svdvals, A, wrt=1)
    with pytest.raises(TypeError, match="out="):
        grad.vjp(la.svdvals, A, out=np.empty((2, 4)))


def test_failed_slices_have_no_derivative():
    """errors='nan' gives values, but no derivative passes through a failed slice."""
    bad = R.copy()
    bad[1, 0, 0] = np.nan
    with pytest.raises(grad.NotDifferentiableError, match="errors='nan'"):
        grad.jvp(la.svdvals, (bad,), (R,), errors="nan")
    with pytest.raises(la.LinAlgError):
        grad.jvp(la.svdvals, (bad,), (R,))
    assert np.all(np.isfinite(grad.jvp(la.svdvals, (R,), (R,), errors="nan")[1]))


def test_integers_and_views():
    """Integer arguments become double; the cotangent of a broadcast view is a full writable array."""
    a = np.array([[3, 1], [1, 2]])
    _, pullback = grad.vjp(la.svdvals, a)
    (g,) = pullback(np.ones(2))
    assert g.dtype == np.float64
    _, pullback = grad.vjp(la.svdvals, np.broadcast_to(R[0], (3, 4, 4)))
    (g,) = pullback(np.ones((3, 4)))
    assert g.shape == (3, 4, 4) and g.flags.writeable and g.flags.owndata


@pytest.mark.parametrize("name, shape", [
    *(("svd", s) for s in [(0, 4, 3), (2, 0, 3), (2, 3, 0), (0, 0), (1, 1)]),
    *((f, s) for f in ("eigh", "eig", "eigvals", "eigvalsh", "svdvals")
      for s in [(0, 0), (2, 0, 0), (0, 3, 3), (1, 1)])])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_empty_and_order_one(name, shape, dtype):
    """Empty batches and cores, and matrices of order one, through every mode."""
    a = np.ones(shape, dtype)
    outputs, slopes = grad.jvp(name, (a,), (a,))
    flat = outputs if isinstance(outputs, tuple) else (outputs,)
    assert [x.shape for x in (slopes if isinstance(slopes, tuple) else (slopes,))] == [x.shape for x in flat]
    cts = tuple(np.zeros_like(y) for y in flat)
    (g,) = grad.vjp(name, a)[1](cts if len(cts) > 1 else cts[0])
    (hess,) = grad.hvp(name, (a,), (a,), lambda o: tuple(0 * y for y in o) if isinstance(o, tuple) else 0 * o)
    assert g.shape == hess.shape == shape and g.dtype == hess.dtype == dtype


def test_byte_order_and_read_only_input():
    """A swapped or read-only argument gives the same cotangent, in native byte order."""
    ct = (A[0], None, None)
    (want,) = grad.vjp(la.svd, A[0], gauge="project")[1](ct)
    swapped = A[0].astype(">c16")
    swapped.setflags(write=False)
    (got,) = grad.vjp(la.svd, swapped, gauge="project")[1](ct)
    assert np.array_equal(got, want) and got.dtype.isnative


def test_forward_over_forward():
    """jvp on dual primals: d/dt of a directional derivative, against differences of it."""
    rng = np.random.default_rng(103)
    a = make.with_singular_values(rng, (3, 2, 1), 3, 3, "complex128")
    da, db = make.normal(rng, (3, 3), "complex128"), make.normal(rng, (3, 3), "complex128")
    _, slopes = grad.jvp(la.svd, (_dual.Dual(a, db, 1),), (da,))
    step = 1e-5
    up, down = (grad.jvp(la.svd, (a + c * db,), (da,))[1] for c in (step, -step))
    for s, u, d in zip(slopes, up, down, strict=True):
        assert make.relative(s.tangent, (u - d) / (2 * step)) <= truncation("float64")


def test_lift_takes_duals():
    """A loss written with lifted functions is differentiated by feeding it duals."""
    a, da = R[0], R[1]
    out = grad.lift(la.svdvals)(_dual.Dual(a, da, 1))
    assert make.relative(out.tangent, grad.jvp(la.svdvals, (a,), (da,))[1]) == 0


def test_third_order():
    """hvp at a dual point is a third derivative; sum s^2 = |A|^2 has none, s^4 has."""
    rng = np.random.default_rng(104)
    a, da, db = (make.normal(rng, (4, 3), "float64") for _ in range(3))
    (flat,) = grad.hvp(la.svdvals, (_dual.Dual(a, db, 1),), (da,), lambda s: 2 * s)
    assert np.max(np.abs(flat.tangent)) <= rounding("float64", 4, 100)
    (cube,) = grad.hvp(la.svdvals, (_dual.Dual(a, db, 1),), (da,), lambda s: s * s * s)
    want = (da @ db.T @ a + da @ a.T @ db + db @ da.T @ a + a @ da.T @ db + db @ a.T @ da + a @ db.T @ da)
    assert make.relative(cube.tangent, want) <= rounding("float64", 4, 100)


# ------------------------------------------------------------------ check_grads and capabilities

def test_check_grads_finds_a_wrong_rule(monkeypatch):
    """A rule that is 1 % off is reported with the entry, both values and the tolerance."""
    record = _table.load()["svdvals"]
    wrong = dataclasses.replace(record, jvp=lambda call, t: tuple(1.01 * y for y in record.jvp(call, t)))
    monkeypatch.setitem(_table._TABLE, "svdvals", wrong)
    for fast in (False, True):
        with pytest.raises(grad.GradientMismatch, match=r"svdvals: jvp, output 0 at \(.*rule .*reference .*tolerance"):
            grad.check_grads(la.svdvals, (R,), fast=fast)
    half = dataclasses.replace(record, vjp=lambda call, g, n: ((0.99 * record.vjp(call, g, n)[0][0],), None))
    monkeypatch.setitem(_table._TABLE, "svdvals", half)
    with pytest.raises(grad.GradientMismatch, match="adjoint identity"):
        grad.check_grads(la.svdvals, (R,))


def test_check_grads_does_not_go_along_the_argument(monkeypatch):
    """Random arguments and tangents of one seed are not parallel, or the check would see nothing turn."""
    a = np.random.default_rng(0).standard_normal((6, 3))
    seen = []
    monkeypatch.setattr(_check, "jvp", lambda fun, args, tangents, **kw: seen.append(tangents[0]) or grad.jvp(
        fun, args, tangents, **kw))
    grad.check_grads(la.qr, (a,), batched=False)
    cosine = np.sum(seen[0] * a) / np.linalg.norm(seen[0]) / np.linalg.norm(a)
    assert abs(cosine) < 0.9


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("fast", [False, True])
def test_check_grads_passes(dtype, fast):
    rng = np.random.default_rng(105)
    a = np.stack([make.with_singular_values(rng, (3, 2, 1), 4, 3, dtype) for _ in range(2)])
    grad.check_grads(la.svd, (a,), fast=fast, full_matrices=False)
    grad.check_grads(la.svdvals, (a,), fast=fast)


@pytest.mark.parametrize("case", ["symmetric", "cholesky_inverse", "solve_triangular", "cholesky_solve"])
def test_check_grads_keeps_structures(case):
    """Directions of complex symmetric matrices are such; a Cholesky factor keeps its triangle and its real diagonal."""
    rng = np.random.default_rng(108)
    a, b = make.normal(rng, (2, 4, 4), "complex128") + 4 * np.eye(4), make.normal(rng, (2, 4, 3), "complex128")
    if case == "symmetric":
        return grad.check_grads(la.solve, (a + np.swapaxes(a, -1, -2), b), assume_a="sym")
    c = np.tril(a)
    i = np.arange(4)
    c[..., i, i] = np.abs(c[..., i, i])
    if case == "cholesky_inverse":
        return grad.check_grads(la.cholesky_inverse, (c,))
    return grad.check_grads(case, (c, b), **({"lower": True} if case == "solve_triangular" else {}))


def test_rules_by_name_take_the_results_alone():
    """Also where they hold no factors."""
    rng = np.random.default_rng(109)
    a = make.normal(rng, (3, 4, 4), "complex128")
    for fun in (la.det, la.slogdet, la.inv, la.eigvals, la.svdvals, la.solve):
        args = (a, a) if fun is la.solve else (a,)
        outputs, pullback = grad.vjp(fun, *args)
        flat = outputs if isinstance(outputs, tuple) else (outputs,)
        cts = tuple(make.normal(rng, y.shape, y.dtype) for y in flat)
        named = getattr(grad, f"{fun.__name__}_vjp")(args, outputs, cts)
        assert all(np.array_equal(x, y) for x, y in zip(named, pullback(cts if len(cts) > 1 else cts[0]), strict=True))


def test_capabilities_name_the_outputs():
    """One row per output, in the order of the function; keywords choose the variant."""
    assert [r.output for r in grad.capabilities(la.svd)] == ["U", "S", "Vh"]
    assert [r.function for r in grad.capabilities("svd", compute_uv=False)] == ["svdvals"]
    rows = grad.capabilities()
    assert {r.function for r in rows} == set(_table.load())
    assert all(r.caveat for r in rows if not (r.jvp and r.vjp and r.second_order))


# ------------------------------------------------------------------ blocks

@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("name", ["svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals"])
def test_blocks_give_what_a_loop_gives(monkeypatch, name, lanes):
    """A pullback run in blocks and threads is bitwise the pullback of each slice, diagnostics included."""
    from linalgad.grad import _slices
    rng = np.random.default_rng(106)
    a = make.normal(rng, (3, 5, 4, 4), "complex128")
    a = make.hermitian(a) if name.startswith("eigh") or name == "eigvalsh" else a
    monkeypatch.setattr(_slices, "BLOCK_BYTES", 4 * a[0, 0].nbytes)
    outputs, pullback = grad.vjp(name, a, gauge="project", lanes=lanes)
    flat = outputs if isinstance(outputs, tuple) else (outputs,)
    cts = tuple(make.normal(rng, y.shape, y.dtype) for y in flat)
    (g,) = pullback(cts if len(cts) > 1 else cts[0])
    for i in np.ndindex(3, 5):
        alone = grad.vjp(name, a[i], gauge="project")[1]
        (one,) = alone(tuple(c[i] for c in cts) if len(cts) > 1 else cts[0][i])
        assert np.array_equal(one, g[i])
        assert alone.info.smallest_gap == pullback.info.smallest_gap[i]
    assert pullback.info.gauge_residual.shape == (3, 5)


def _blocked(rng):
    """Calls whose pullbacks run in blocks: name, arguments for 3 x 5 slices, keywords."""
    a = make.normal(rng, (3, 5, 4, 4), "float64") + 4 * np.eye(4)
    b, c = make.normal(rng, (3, 5, 4, 2), "float64"), np.tril(a)
    yield from (("cholesky", (a @ np.swapaxes(a, -1, -2),), kw) for kw in ({}, {"upper": True}))
    yield from (("qr", (a[..., :m, :n],), kw) for m, n, kw in (
        (4, 4, {}), (4, 2, {}), (3, 4, {"pivoting": True}), (4, 3, {"mode": "r"}), (4, 2, {"mode": "complete"})))
    yield from (("lu", (a,), kw) for kw in ({}, {"permute_l": True}, {"p_indices": True}))
    yield from ((name, (a,), {}) for name in ("lu_factor", "inv"))
    yield from (("cholesky_solve", (c, b), {}), ("cholesky_inverse", (c,), {}))


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("case", range(len(list(_blocked(np.random.default_rng(0))))))
def test_blocks_of_factorisations(monkeypatch, case, lanes):
    """Blocks and threads do not show in any pullback that is run in them."""
    from linalgad.grad import _slices
    rng = np.random.default_rng(107)
    name, args, kw = list(_blocked(rng))[case]
    outputs, whole = grad.vjp(name, *args, gauge="project", **kw)
    flat = outputs if isinstance(outputs, tuple) else (outputs,)
    cts = tuple(make.normal(rng, y.shape, y.dtype) if y.dtype.kind == "f" and y.ndim > 3
                else None for y in flat)
    cts = tuple(None if name == "lu" and not kw.get("permute_l") and i == 0 else c for i, c in enumerate(cts))
    expected = whole(cts if len(cts) > 1 else cts[0])
    monkeypatch.setattr(_slices, "BLOCK_BYTES", 4 * args[0][0, 0].nbytes)
    got = grad.vjp(name, *args, gauge="project", lanes=lanes, **kw)[1](cts if len(cts) > 1 else cts[0])
    for x, y in zip(expected, got, strict=True):
        assert x.shape == y.shape
        assert np.any(x)
        assert np.array_equal(x, y)
