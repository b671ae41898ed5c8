"""What each library is asked to do: op name -> callable on that library's own arrays.

A peer is measured at its best: finiteness checks and symmetrising of inputs off, arrays converted beforehand, JAX
compiled, PyTorch without autograd (except in the vjp suite).
"""

import functools
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field

import sizes


def _same(x):
    return x


@dataclass(frozen=True)
class Peer:
    """One library: its ops, and how arrays get in and results are waited for."""

    name: str
    version: str
    ops: dict[str, Callable]
    convert: Callable = _same
    wait: Callable = _same
    to_numpy: Callable = _same
    vjp: Callable | None = None
    details: dict = field(default_factory=dict)


def _blas(module):
    config = module.show_config(mode="dicts")
    return config["Build Dependencies"]["blas"]


#: op -> our function and its keywords
OUR_CALLS = {op: (op, {}) for op in sizes.OPS} | {
    "lu": ("lu_factor", {}),
    "solve_triangular": ("solve_triangular", {"lower": True}),
    "svd": ("svd", {"full_matrices": False}),
}


def load_linalgad(threads):
    """Ours, with as many lanes as the others have threads; an op that this version lacks is left out."""
    import linalgad as la

    la.set_lanes(threads)
    ops = {
        op: functools.partial(getattr(la, name), **keywords)
        for op, (name, keywords) in OUR_CALLS.items()
        if hasattr(la, name)
    }
    details = {"show_config": la.show_config("dicts")}
    return Peer("linalgad", la.__version__, ops, vjp=_linalgad_vjp(la), details=details)


def _linalgad_vjp(la):
    if importlib.util.find_spec("linalgad.grad") is None:
        return None
    from linalgad import grad

    def build(op, arrays, cts):
        name, keywords = OUR_CALLS[op]
        fun = getattr(la, name)
        ct = cts if len(cts) > 1 else cts[0]

        def call():
            _, pullback = grad.vjp(fun, *arrays, **keywords)
            return pullback(ct)

        return call

    return build


def load_numpy(threads):
    """numpy.linalg."""
    import numpy as np

    la = np.linalg
    names = ("cholesky", "solve", "inv", "det", "slogdet", "qr", "eigh", "eigvalsh", "eig", "eigvals", "svdvals")
    ops = {name: getattr(la, name) for name in names}
    ops["svd"] = lambda a: la.svd(a, full_matrices=False)
    return Peer("numpy", np.__version__, ops, details={"blas": _blas(np)})


def load_scipy(threads):
    """scipy.linalg, with check_finite=False."""
    import numpy as np
    import scipy
    import scipy.linalg as la

    def eyes_like(a):
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)

    ops = {
        "cholesky": lambda a: la.cholesky(a, lower=True, check_finite=False),
        "cholesky_solve": lambda c, b: la.cho_solve((c, True), b, check_finite=False),
        "cholesky_inverse": lambda c: la.cho_solve((c, True), eyes_like(c), check_finite=False),
        "solve": lambda a, b: la.solve(a, b, assume_a="gen", check_finite=False),
        "solve_triangular": lambda a, b: la.solve_triangular(a, b, lower=True, check_finite=False),
        "inv": lambda a: la.inv(a, check_finite=False, assume_a="gen"),
        "lu": lambda a: la.lu_factor(a, check_finite=False),
        "det": lambda a: la.det(a, check_finite=False),
        "qr": lambda a: la.qr(a, mode="economic", check_finite=False),
        "eigh": lambda a: la.eigh(a, check_finite=False),
        "eigvalsh": lambda a: la.eigvalsh(a, check_finite=False),
        "eig": lambda a: la.eig(a, check_finite=False),
        "eigvals": lambda a: la.eigvals(a, check_finite=False),
        "svd": lambda a: la.svd(a, full_matrices=False, check_finite=False),
        "svdvals": lambda a: la.svdvals(a, check_finite=False),
    }
    return Peer("scipy", scipy.__version__, ops, details={"blas": _blas(scipy)})


def load_torch(threads):
    """torch.linalg on the CPU."""
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    la = torch.linalg
    names = ("cholesky", "solve", "inv", "det", "slogdet", "qr", "eigh", "eigvalsh", "eig", "eigvals", "svdvals")
    ops = {name: getattr(la, name) for name in names}
    ops |= {
        "cholesky_solve": lambda c, b: torch.cholesky_solve(b, c),
        "cholesky_inverse": torch.cholesky_inverse,
        "solve_triangular": lambda a, b: la.solve_triangular(a, b, upper=False),
        "lu": la.lu_factor,
        "svd": lambda a: la.svd(a, full_matrices=False),
    }

    def vjp(op, arrays, cts):
        inputs = [x.clone().requires_grad_() for x in arrays]
        fun = ops[op]

        def call():
            with torch.enable_grad():
                outputs = fun(*inputs)
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                pairs = [(y, ct) for y, ct in zip(outputs, cts, strict=True) if ct is not None]
                return torch.autograd.grad([y for y, _ in pairs], inputs, [ct for _, ct in pairs])

        return call

    return Peer(
        "torch",
        torch.__version__,
        ops,
        convert=torch.from_numpy,
        to_numpy=lambda x: x.detach().resolve_conj().numpy(),
        vjp=vjp,
        details={"config": torch.__config__.show()},
    )


def load_jax(threads):
    """jax.numpy.linalg and jax.scipy.linalg, compiled, on the CPU, in double precision where asked."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["NPROC"] = str(threads)
    if threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    la = jnp.linalg

    def eyes_like(a):
        return jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)

    names = ("solve", "inv", "det", "slogdet", "qr", "eigvals", "svdvals")
    plain = {name: getattr(la, name) for name in names}
    plain |= {
        "cholesky": lambda a: la.cholesky(a, symmetrize_input=False),
        "cholesky_solve": lambda c, b: jsl.cho_solve((c, True), b),
        "cholesky_inverse": lambda c: jsl.cho_solve((c, True), eyes_like(c)),
        "solve_triangular": lambda a, b: jsl.solve_triangular(a, b, lower=True),
        "lu": jsl.lu_factor,
        "eig": lambda a: tuple(jax.lax.linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)),
        "eigh": lambda a: la.eigh(a, symmetrize_input=False),
        "eigvalsh": lambda a: la.eigvalsh(a, symmetrize_input=False),
        "svd": lambda a: la.svd(a, full_matrices=False),
    }
    ops = {name: jax.jit(fun) for name, fun in plain.items()}

    def vjp(op, arrays, cts):
        def differentiable(*args):
            outputs = plain[op](*args)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            return tuple(y for y, ct in zip(outputs, cts, strict=True) if ct is not None)

        # jax.vjp pairs without conjugation, so its cotangents are the conjugates of ours
        ct = tuple(jnp.conj(ct) for ct in cts if ct is not None)

        @jax.jit
        def both(args, ct):
            outputs, pullback = jax.vjp(differentiable, *args)
            return outputs, pullback(ct)

        return lambda: both(arrays, ct)

    return Peer(
        "jax",
        jax.__version__,
        ops,
        convert=jnp.asarray,
        wait=jax.block_until_ready,
        to_numpy=np.asarray,
        vjp=vjp,
        details={"blas": "LAPACK of SciPy's copy, XLA kernels"},
    )


LOADERS = {
    "linalgad": load_linalgad,
    "numpy": load_numpy,
    "scipy": load_scipy,
    "torch": load_torch,
    "jax": load_jax,
}
OURS = "linalgad"
PEERS = tuple(name for name in LOADERS if name != OURS)


def installed(name):
    """Whether the library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None
