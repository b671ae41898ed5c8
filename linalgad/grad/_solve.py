"""Derivatives of solve and solve_ex, in both arguments, for every structure of the matrix."""
from .._lib._validate import as_system
from . import _factored as factored
from . import _xp as xp
from ._forward import public
from ._table import Capability, Record, register

_STRUCTURES = {
    "pos": "hermitian", "positive definite": "hermitian", "her": "hermitian", "hermitian": "hermitian",
    "sym": "symmetric", "symmetric": "symmetric", "diag": "diagonal", "diagonal": "diagonal",
    "tridiagonal": "tridiagonal", "upper triangular": "upper", "upper": "upper", "lower triangular": "lower",
    "lower": "lower",
}  # fmt: skip

#: The orthogonal projection of a tangent or cotangent on the matrices of a structure.
_PROJECT = {
    None: lambda x: x,
    "hermitian": xp.herm,
    "symmetric": lambda x: (x + xp.T(x)) * 0.5,
    "diagonal": lambda x: xp.diag_embed(xp.diagonal(x)),
    "tridiagonal": lambda x: xp.tril(xp.triu(x, k=-1), k=1),
    "upper": xp.triu,
    "lower": xp.tril,
}


def _structure(kw):
    return _STRUCTURES.get(kw.get("assume_a"))


def _whole(a, kw):
    """The plain matrix that a call of this structure solves with."""
    kind = _structure(kw)
    if kind not in ("hermitian", "symmetric"):
        return _PROJECT[kind](a)
    half = xp.tril(a) if kw.get("lower", False) else xp.triu(a)
    mirrored = xp.off_diagonal(xp.H(half) if kind == "hermitian" else xp.T(half))
    return half + mirrored


# ------------------------------------------------------------------ solvers on kept factors, (b, trans) -> x

def _lu_solver(factors, lanes):
    """By the LU factors of A^T, as solve itself has them."""
    def solver(b, trans):
        if trans == 2:
            return xp.conj(public("lu_solve")(factors, xp.conj(b), trans=0, lanes=lanes))
        return public("lu_solve")(factors, b, trans=1 - trans, lanes=lanes)
    return solver


def _cholesky_solver(c, lanes):
    """By the lower Cholesky factor."""
    def solver(b, trans):
        if trans == 1:
            return xp.conj(public("cholesky_solve")(c, xp.conj(b), lanes=lanes))
        return public("cholesky_solve")(c, b, lanes=lanes)
    return solver


def _triangular_solver(a, lower, lanes):
    def solver(b, trans):
        return public("solve_triangular")(a, b, lower=lower, trans=trans, lanes=lanes)
    return solver


def _solver(call):
    """The solver of a call, from what its forward kept: LU of the transpose, a Cholesky factor, or the matrix."""
    kind, lanes = _structure(call.kw), call.kw.get("lanes")
    if call.kw.get("assume_a") in ("pos", "positive definite"):
        return _cholesky_solver(call.aux, lanes)
    if kind in ("diagonal", "upper", "lower"):
        return _triangular_solver(call.aux, kind == "lower", lanes)
    return _lu_solver(call.aux, lanes)


# ------------------------------------------------------------------ rules

def _solve_forward(args, kw):
    a, b, _ = as_system("solve", *args)
    policy = {k: kw[k] for k in ("lanes", "errors") if k in kw}
    lanes = {"lanes": kw.get("lanes")}
    a = _whole(a, kw)
    kind = _structure(kw)
    if kw.get("assume_a") in ("pos", "positive definite"):
        c = public("cholesky")(a, **policy)
        return (public("cholesky_solve")(c, b, **lanes),), c
    if kind in ("diagonal", "upper", "lower"):
        return (public("solve_triangular")(a, b, lower=kind == "lower", **policy),), a
    factors = tuple(public("lu_factor")(xp.T(a), **lanes))
    return (public("lu_solve")(factors, b, trans=1, **policy),), factors


def _solve_ex_forward(args, kw):
    (x,), aux = _solve_forward(args, {**kw, "errors": "nan"})
    info = factored.status(x, 1 if args[1].ndim == 1 else 2)
    factored.refuse_failed("solve_ex", info)
    return (x, info), aux


def _jvp(call, tangents):
    """dX = A^-1 (dB - dA X)."""
    (a, b), (da, db) = call.args, tangents
    project, vector = _PROJECT[_structure(call.kw)], b.ndim == 1
    rhs = factored.columns(db, vector)
    if da is not None:
        moved = xp.matmul(project(da), factored.columns(call.outputs[0], vector))
        rhs = -moved if rhs is None else rhs - moved
    dx = xp.solve_kept(project(a), rhs, solver=_solver(call))
    return (factored.uncolumned(dx, vector), *(None for _ in call.outputs[1:]))


def _vjp(call, cotangents, needs):
    """gB = A^-H gX, gA = -gB X^H projected on the structure of A."""
    if cotangents[0] is None:
        return (None, None), None
    a, b = call.args
    project, vector = _PROJECT[_structure(call.kw)], b.ndim == 1
    # A plain matrix is not looked at by the kept factors, so it needs no projection.
    a = project(a) if xp.level_of(a) else a
    gb = factored.kept_adjoint(a, factored.columns(cotangents[0], vector), _solver(call))
    ga = project(xp.outer(-gb, factored.columns(call.outputs[0], vector))) if needs[0] else None
    return (ga, factored.uncolumned(gb, vector)), None


def _ex_result(outputs, kw):
    from .._lib._results import SolveExResult
    return SolveExResult(*outputs)


_CAVEAT = ("with assume_a the derivative on matrices of that structure: tangents and cotangents are projected on it; "
           "'her', 'sym' and 'tridiagonal' are factored by LU here")

register(Record(
    name="solve", forward=_solve_forward, jvp=_jvp, vjp=_vjp, remember=None, inexact=(0, 1),
    capabilities=(Capability("x", caveat=_CAVEAT),),
))
register(Record(
    name="solve_ex", forward=_solve_ex_forward, jvp=_jvp, vjp=_vjp, remember=None, inexact=(0, 1),
    pack=_ex_result, capabilities=(Capability("x", caveat=_CAVEAT),
                  Capability("info", jvp=False, vjp=False, second_order=False, caveat="a status code is constant")),
))
