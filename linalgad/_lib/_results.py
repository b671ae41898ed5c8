"""Named tuples of the public functions, with the field names of numpy.linalg and scipy.linalg."""
from typing import Any, NamedTuple


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class LeftEigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any
    left_eigenvectors: Any


class QRResult(NamedTuple):
    Q: Any
    R: Any


class PivotedQRResult(NamedTuple):
    Q: Any
    R: Any
    P: Any


class LUResult(NamedTuple):
    P: Any
    L: Any
    U: Any


class LUFactorResult(NamedTuple):
    lu: Any
    piv: Any


class LUFactorExResult(NamedTuple):
    lu: Any
    piv: Any
    info: Any


class CholeskyExResult(NamedTuple):
    L: Any
    info: Any


class SolveExResult(NamedTuple):
    x: Any
    info: Any


class InvExResult(NamedTuple):
    inverse: Any
    info: Any


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


class WorkspaceInfo(NamedTuple):
    cached_bytes: int
    cached_slabs: int
    in_use_bytes: int
    limit_bytes: int
    hits: int
    misses: int
