"""A test specification: what a function takes and returns, as data for the universal checks."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _matrices import normal, real
from _measure import as_tuple

import linalgad


def _plain(rng, batch, dtype, m, n, kind):
    return (normal(rng, (*batch, m, n), dtype),)


@dataclass(frozen=True)
class Spec:
    """One function with fixed keywords.

    Parameters
    ----------
    fn : name of the public function.
    outputs : core shape -> list of (core shape, type) of each output; the type is 't' for the dtype of the
        input, 'r' for its real type, 'c' for its complex type, 'i' for int32, 'p' for the platform's index type.
    make : (rng, batch, dtype, *shape, kind) -> tuple of the arrays the function takes, all with that batch.
    kwargs : keywords of the call.
    names : names of the arguments as the messages have them; integer arguments are exempt from dtype checks.
    shapes : core shapes to try, as `make` and `outputs` take them; the last one serves the checks that are
        not about shapes, so let it be neither tiny nor square by accident.
    empty : core shapes with a zero.
    kinds : spectra to try in the residual test (names of `_matrices.KINDS`, or the spec's own).
    residuals : (args, outputs) -> dict label -> ratio, at most `_tols.RESIDUAL`.
    reference : args in double precision -> outputs to agree with (None: not compared), by NumPy or SciPy.
    kappa : condition of the outputs for the first kind.
    fails : (dtype, n) -> a matrix for which the function raises LinAlgError, or None if there is none.
    nonfinite : 'fails' or 'propagates', what NaN and infinities in the first argument do.
    square : whether the first argument must be square.
    inplace : index of the argument that `out` (the first output) may be, or None.
    call : how arrays and keywords are passed, if not as `fn(*args, **kwargs)`.
    info : whether the last output reports the code of each slice and nothing ever raises (`_ex` functions).
    """

    fn: str
    outputs: Callable[..., list]
    make: Callable[..., tuple] = _plain
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    names: tuple = ("a",)
    shapes: tuple = ((1, 1), (2, 3), (5, 5), (7, 4))
    empty: tuple = ((0, 0), (0, 3), (3, 0))
    kinds: tuple = ("separated",)
    residuals: Callable | None = None
    reference: Callable | None = None
    kappa: float = 1.0
    fails: Callable | None = None
    nonfinite: str = "propagates"
    square: bool = False
    inplace: int | None = None
    call: Callable | None = None
    info: bool = False
    has_out: bool = True

    def __str__(self):
        return "-".join([self.fn, *(f"{k}={v}" for k, v in self.kwargs.items())])

    @property
    def typical(self):
        """The core shape of checks that are not about shapes."""
        return self.shapes[-1]

    @property
    def many(self):
        """Whether it takes several arrays, so that batches broadcast."""
        return len(self.names) > 1

    def __call__(self, *args, **kw):
        fn = getattr(linalgad, self.fn)
        kw = {**self.kwargs, **kw}
        return self.call(fn, *args, **kw) if self.call else fn(*args, **kw)

    def args(self, rng, batch, dtype, shape, kind=None):
        return self.make(rng, batch, np.dtype(dtype), *shape, kind=kind or self.kinds[0])

    def expected(self, batch, dtype, shape):
        """Shape and dtype of every output."""
        types = {"t": np.dtype(dtype), "r": real(dtype), "c": np.result_type(dtype, np.complex64),
                 "i": np.dtype(np.int32), "p": np.dtype(np.intp)}
        return [((*batch, *core), types[t]) for core, t in self.outputs(*shape)]

    def buffers(self, batch, dtype, shape, layout=np.copy):
        """Destinations full of junk, as the `out` keyword takes them."""
        out = tuple(layout(np.full(s, 77, t)) for s, t in self.expected(batch, dtype, shape))
        return out if len(out) > 1 else out[0]

    def floats(self, args):
        """Indices of the arguments that are not integers."""
        return [k for k, a in enumerate(args) if a.dtype.kind in "fc"]


def described(result):
    """Shape and dtype of every output of a result."""
    return [(np.shape(x), np.asarray(x).dtype) for x in as_tuple(result)]
