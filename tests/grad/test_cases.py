"""Derivatives that were reported as wrong elsewhere, and gradients of common losses, from tests/data."""
import json
import pathlib

import numpy as np
import pytest
from grad._make import hermitian

from linalgad import grad

DATA = pathlib.Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "derivative_cases.json").read_text())
REFERENCE = json.loads((DATA / "reference_gradients.json").read_text())["cases"]


def array(entry):
    x = np.array(entry["re"])
    if "im" in entry:
        x = x + 1j * np.array(entry["im"])
    return x.reshape(entry["shape"])


def h(x):
    return np.conj(np.swapaxes(x, -1, -2))


# The weights of the losses.
W33 = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6], [-0.9, 0.8, 0.5]])
W44 = np.array([[0.5, -0.2, 0.9, 0.1], [-1.0, 0.3, 0.4, 0.8], [0.6, 0.7, -0.3, -0.9], [0.2, -0.4, 1.1, 0.35]])
W54 = np.vstack([W44, [0.15, 0.25, -0.6, 0.45]])
C23 = np.array([[0.4 - 0.1j, -0.7 + 0.6j, 1.3 + 0.2j], [0.9 + 0.3j, 0.2 - 0.8j, -0.5 + 0.4j]])
C33 = np.array([[0.3 + 0.2j, -1.2 + 0.1j, 0.7 - 0.4j], [1.1 - 0.3j, 0.4 + 0.9j, -0.6j],
                [-0.9 + 0.5j, 0.8 - 0.2j, 0.5 + 0.1j]])


def polar(w):
    """Re<W, U V^H>."""
    return lambda o: (w @ h(o.Vh), None, h(o.U) @ w)


def vectors(w, columns):
    """Re<W, V_K V_K^H>."""
    def cotangents(o):
        gv = np.zeros_like(o.eigenvectors)
        gv[..., columns] = (w + h(w)) @ o.eigenvectors[..., columns]
        return None, gv
    return cotangents


def top_pair(o):
    """<W, u_0 v_0^T>."""
    gu, gvh = np.zeros_like(o.U), np.zeros_like(o.Vh)
    gu[:, 0], gvh[0] = W54 @ o.Vh[0], o.U[:, 0] @ W54
    return gu, None, gvh


def null_space(o):
    """<W, V2 V2^T>, V2 the null space."""
    gvh = np.zeros_like(o.Vh)
    gvh[2:] = 2 * o.Vh[2:] @ hermitian(W33)
    return None, None, gvh


def weighted_vectors(o):
    """sum_j c_j v_j^H (W + W^H) v_j / 2 + <d, w>."""
    gv = (C33 + h(C33)) @ o.eigenvectors * np.array([0.5, -1.0, 2.0])
    return np.array([0.1, 0.2, -0.3]), gv


COTANGENTS = {
    "svd-polar-repeated": polar(W44),
    "svd-s-only-repeated": lambda o: (None, o.S / np.sqrt(np.sum(o.S ** 2)), None),
    "svd-top-pair-rest-zero": top_pair,
    "svd-complex-wide-polar": polar(C23),
    "svd-polar-scale-1e-170": polar(W33),
    "svd-full-null-projector": null_space,
    "svdvals-vjp-1x1-negative": np.ones_like,
    "eigh-simple-vector-among-repeated": vectors(W33, [2]),
    "eigh-projector-of-cluster": vectors(W33, [0, 1]),
    "eigh-cluster-gap-1e-10": vectors(W33, [0, 1]),
    "eigh-vector-scale-1e-9": vectors(W33, [0]),
    "eigh-complex-phase-invariant": weighted_vectors,
    "eigvals-complex-pair": lambda w: np.conj(2 * w),
    "eigvals-semisimple-repeated": lambda w: np.conj(2 * w),
}
TANGENTS = {
    "eigh-jvp-trace-degenerate": lambda o, d: {"dtrace": np.sum(d.eigenvalues),
                                               "finite": float(np.all(np.isfinite(d.eigenvectors)))},
    "eigh-jvp-complex-projector": lambda o, d: {
        "dP": d.eigenvectors[:, :1] @ h(o.eigenvectors[:, :1]) + o.eigenvectors[:, :1] @ h(d.eigenvectors[:, :1]),
        "dw": d.eigenvalues},
}


def agrees(case, got):
    for label, entry in case["expected"].items():
        want = array(entry)
        scale = np.max(np.abs(want)) or 1.0
        error = np.max(np.abs(got[label] / scale - want / scale))
        assert np.shape(got[label]) == want.shape and error <= case["rtol"] + case["atol"] / scale, (label, error)


def keywords(case, **more):
    return {**case["keywords"], **more}


@pytest.mark.parametrize("name, eps", [(n, e) for n in COTANGENTS for e in CASES[n].get("derivative_eps", [None])])
def test_reported_vjp(name, eps):
    case = CASES[name]
    outputs, pullback = grad.vjp(case["function"], array(case["a"]), **keywords(case, derivative_eps=eps))
    (g,) = pullback(COTANGENTS[name](outputs))
    found = {"g_a": g, "imag": np.imag(g)}
    if "sym_g_a" in case["expected"]:
        found["sym_g_a"] = hermitian(g)
    agrees(case, found)


@pytest.mark.parametrize("name", TANGENTS)
def test_reported_jvp(name):
    case = CASES[name]
    outputs, slopes = grad.jvp(case["function"], (array(case["a"]),), (array(case["tangent"]),), **keywords(case))
    agrees(case, TANGENTS[name](outputs, slopes))


def test_every_case_is_tested():
    assert set(CASES) == {*COTANGENTS, *TANGENTS}


# ------------------------------------------------------------------ losses that do not depend on phases

def spectrum_weights(w, case):
    """The cotangent of sum(Re w * cr) + sum(Im w * ci), the order of w being that of the case."""
    cr, ci = np.array(case["cr"]), np.array(case["ci"])
    order = np.argsort(w.real) if np.isrealobj(w) or not np.any(w.imag) else np.argsort(-w.imag)
    g = np.zeros(len(w), complex)
    g[order] = cr + 1j * ci
    return g if np.iscomplexobj(w) else g.real


def reference_cotangents(case, o):
    def shape(key, like):
        return np.array(case[key]).reshape(like.shape)

    if case["op"] == "svd thin":
        return 2 * o.U * shape("MU", o.U), np.array(case["c"]), 2 * o.Vh * shape("MV", o.Vh)
    if case["op"] == "svdvals":
        return np.array(case["c"])
    if case["op"] == "eigvals":
        return spectrum_weights(o, case)
    order = np.argsort(np.argsort(o.eigenvalues.real))
    weights = np.array(case["MR"]).reshape(3, 3)[:, order]
    return spectrum_weights(o.eigenvalues, case), 2 * o.eigenvectors * weights


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_gradient(name):
    case = REFERENCE[name]
    a = np.array(case["A"]).reshape(case["shape"])
    fun = case["op"].split()[0]
    outputs, pullback = grad.vjp(fun, a, **({"full_matrices": False} if fun == "svd" else {}))
    (g,) = pullback(reference_cotangents(case, outputs))
    want = np.array(case["dA"]).reshape(a.shape)
    assert np.max(np.abs(g - want)) <= case["rtol"] * np.max(np.abs(want))
