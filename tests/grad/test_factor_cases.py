"""Derivatives of factorisations and linear systems that were reported as wrong elsewhere, from tests/data."""
import json
import pathlib

import numpy as np
import pytest
from grad._make import hermitian

from linalgad import grad

CASES = json.loads((pathlib.Path(__file__).parents[1] / "data" / "factor_cases.json").read_text())


def array(entry):
    x = np.array(entry["re"])
    if "im" in entry:
        x = x + 1j * np.array(entry["im"])
    return x.reshape(entry["shape"])


def squares(o, w):
    """sum W1 |Q|^2 + sum W2 |R|^2, which no sign convention changes."""
    return 2 * w[0] * o.Q, 2 * w[1] * o.R


def leading_projector(o, w):
    """<W, Q12 Q12^T>."""
    g = np.zeros_like(o.Q)
    g[:, :2] = 2 * w[0] @ o.Q[:, :2]
    return g, None


#: The cotangents of each case from the outputs and the weights.
COTANGENTS = {
    "det-vjp-1x1-zero": lambda d, w: np.ones_like(d),
    "det-vjp-zero-column": lambda d, w: np.ones_like(d),
    "det-vjp-corank2": lambda d, w: np.ones_like(d),
    "det-vjp-underflow": lambda d, w: np.ones_like(d),
    "slogdet-complex-sign": lambda o, w: (w[0], w[1]),
    "qr-vjp-wide": squares,
    "qr-vjp-complex-tall": squares,
    "qr-vjp-trailing-zero-column": leading_projector,
    "cholesky-vjp-logdet": lambda c, w: np.diag(2 / np.diagonal(c)),
    "cholesky-vjp-complex-batch": lambda c, w: np.broadcast_to(w[0], c.shape),
    "cholesky-vjp-upper": lambda c, w: w[0],
    "lu-vjp-wide": lambda o, w: (None, w[0], w[1]),
    "solve-vjp-vector-rhs": lambda x, w: w[0],
    "solve-vjp-complex": lambda x, w: w[0],
    "inv-vjp-broadcast-view": lambda x, w: w[0],
}
TANGENTS = {
    "slogdet-jvp-complex": lambda o, d: {"dsign": d.sign, "dlog": d.logabsdet},
    "qr-jvp-r-factor": lambda o, d: {"dR2": 2 * o.R * d.R, "dQ2": 2 * o.Q * d.Q},
}


def agrees(case, got):
    for label, entry in case["expected"].items():
        want = array(entry)
        scale = np.max(np.abs(want)) or 1.0
        error = np.max(np.abs(got[label] / scale - want / scale))
        assert np.shape(got[label]) == want.shape and error <= case["rtol"] + case["atol"] / scale, (label, error)


@pytest.mark.parametrize("name", COTANGENTS)
def test_reported_vjp(name):
    case = CASES[name]
    args = [array(x) for x in case["arguments"]]
    outputs, pullback = grad.vjp(case["function"], *args, **case["keywords"])
    grads = pullback(COTANGENTS[name](outputs, [array(w) for w in case["weights"]]))
    found = dict(zip(("g_a", "g_b"), grads, strict=False))
    if "sym_g_a" in case["expected"]:
        found["sym_g_a"] = hermitian(grads[0])
    agrees(case, found)


@pytest.mark.parametrize("name", TANGENTS)
def test_reported_jvp(name):
    case = CASES[name]
    args, tangents = (tuple(map(array, case[key])) for key in ("arguments", "tangents"))
    outputs, slopes = grad.jvp(case["function"], args, tangents, **case["keywords"])
    agrees(case, TANGENTS[name](outputs, slopes))


def test_every_case_is_tested():
    assert set(CASES) == {*COTANGENTS, *TANGENTS}
