"""eig and eigvals: derivatives against many digits, left vectors, repeated and ill-conditioned eigenvalues."""
import numpy as np
import pytest
from _tols import gap_free, rounding
from grad import _make as make
from grad import _truth as truth

import linalgad as la
from linalgad import grad

REAL = (-2.0, -0.7, 0.9, 2.5)
KAPPA = 10.0


def general(dtype, spectrum=None, seed=1):
    """A matrix with well separated eigenvalues; a complex pair in the real case without a given spectrum."""
    rng = np.random.default_rng(seed)
    if spectrum is None and np.dtype(dtype).kind != "c":
        block = np.array([[1.0, 2.0, 0, 0], [-2.0, 1.0, 0, 0], [0, 0, -1.5, 0], [0, 0, 0, 3.0]])
        v = make.unitary(rng, 4, dtype) + 0.1 * rng.standard_normal((4, 4))
        return (v @ block @ np.linalg.inv(v)).astype(dtype)
    return make.diagonalisable(rng, REAL if spectrum is None else spectrum, dtype)


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("spectrum", [None, REAL], ids=["pair", "real"])
def test_jvp_is_the_derivative_of_what_is_returned(dtype, left, spectrum):
    """Norms and phases of right and left vectors included."""
    a, da = general(dtype, spectrum), make.normal(np.random.default_rng(2), (4, 4), dtype)
    outputs, slopes = grad.jvp(la.eig, (a,), (da,), left=left)
    want = truth.eig_tangents(a, da, outputs[0], outputs[1], la.eig(a, left=True)[2])
    for got, y, t in zip(slopes, outputs, want, strict=False):
        assert got.dtype == y.dtype
        assert make.relative(got, t) <= rounding(dtype, 4, KAPPA)


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("gauge", ["raise", "ignore"])
def test_duality(dtype, left, gauge):
    """With projected cotangents, and with any cotangent once the phases are pulled back too."""
    a = np.stack([general(dtype, seed=s) for s in (3, 4)])
    rng = np.random.default_rng(5)
    da = make.normal(rng, a.shape, dtype)
    outputs, slopes = grad.jvp(la.eig, (a,), (da,), left=left)
    cts = tuple(make.normal(rng, y.shape, y.dtype) for y in outputs)
    if gauge == "raise":
        cts = grad.project_cotangent(la.eig, outputs, cts, left=left)
    (g,) = grad.vjp(la.eig, a, left=left, gauge=gauge)[1](cts)
    assert g.dtype == a.dtype
    size = make.inner(cts, cts) ** 0.5 * make.inner(slopes, slopes) ** 0.5
    assert abs(make.inner(cts, slopes) - make.inner([g], [da])) <= rounding(dtype, 4, KAPPA) * size


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_trace_identity_at_a_repeated_eigenvalue(dtype):
    """Re sum w^2 = Re tr A^2 has the gradient 2 A^H, semisimple ties or not."""
    a = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, -1.0], [0.0, 0.0, 5.0]]).astype(dtype)
    w, pullback = grad.vjp(la.eigvals, a)
    (g,) = pullback(np.conj(2 * w))
    assert make.relative(g, 2 * np.conj(a.T)) <= gap_free(dtype)
    (hess,) = grad.hvp(la.eigvals, (a,), (a.T.copy(),), np.ones_like(w))
    assert np.max(np.abs(hess)) <= gap_free(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_simple_vector_among_repeated_ones(dtype):
    """The vector of a simple eigenvalue while another is repeated, against (A - w) pseudo-inverted in closed form."""
    rng = np.random.default_rng(6)
    spectrum = (1.0, 1.0, 3.0)
    v = make.unitary(rng, 3, dtype) + 0.2 * make.normal(rng, (3, 3), dtype)
    a = v @ np.diag(spectrum) @ np.linalg.inv(v)
    x = make.hermitian(make.normal(rng, (3, 3), dtype))
    outputs, pullback = grad.vjp(la.eig, a)
    j = int(np.argmax(outputs[0].real))
    gv = np.zeros_like(outputs[1])
    gv[:, j] = 2 * x @ outputs[1][:, j]
    (g,) = pullback((None, gv))
    # Spectral projector P = (A - 1)/2 on the simple vector: v = P c, d P from the resolvent, loss <x, v v^H>/|v|^2.
    y = np.linalg.inv(v)[2].conj()
    r = v[:, 2] / np.linalg.norm(v[:, 2])
    y = y / np.conj(np.vdot(y, r))
    z = (np.eye(3) - np.outer(r, np.conj(r))) @ (2 * x @ r)
    reduced = (np.eye(3) - np.outer(r, np.conj(y))) / 2          # (3 - A)^+ on the complement, eigenvalue 1 there
    want = np.outer(reduced.conj().T @ z, np.conj(r))
    assert make.relative(g, want if dtype == "complex128" else want.real) <= 10 * gap_free(dtype)


def test_defective_slice_is_refused_and_named():
    """A Jordan block has dependent eigenvectors; its neighbour in the batch keeps its derivative."""
    a = np.stack([np.diag([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 1.0]])])
    w, pullback = grad.vjp(la.eigvals, a)
    with pytest.raises(grad.GaugeError, match=r"\(1,\)") as caught:
        pullback(np.ones_like(w))
    assert caught.value.indices == ((1,),)


@pytest.mark.parametrize("scale, dtype", [(1e-25, "float32"), (1e-200, "float64"), (1e200, "complex128")])
def test_scale_of_the_matrix(scale, dtype):
    """The gradient of a loss on the vectors goes as 1/c."""
    a, c = general(dtype, REAL), np.dtype(dtype).type(scale)
    x = make.normal(np.random.default_rng(7), (4, 4), dtype)

    def gradient(m):
        (w, v), pullback = grad.vjp(la.eig, m)
        gv = np.zeros_like(v)
        j = int(np.argmax(w.real))
        gv[:, j] = 2 * make.hermitian(x) @ v[:, j]
        return pullback((None, gv))[0]

    assert make.relative(gradient(a * c) * c, gradient(a)) <= rounding(dtype, 4, KAPPA)


def test_factorisations(kernel_calls):
    """One eigenvalue iteration and one LU of the vectors for the forward, none in the pullback."""
    a = general("float64")
    outputs, pullback = grad.vjp(la.eig, a, gauge="project")
    before = kernel_calls()
    pullback(outputs)
    pullback((outputs[0], None))
    assert kernel_calls() == before <= 2


@pytest.mark.parametrize("dtype", make.DTYPES)
@pytest.mark.parametrize("left", [False, True])
def test_check_grads(dtype, left):
    a = np.stack([general(dtype, seed=s) for s in (8, 9)])
    grad.check_grads(la.eig, (a,), left=left)
    grad.check_grads(la.eigvals, (a,), fast=True)
