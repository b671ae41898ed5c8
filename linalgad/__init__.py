"""Batched dense linear algebra with derivatives.

Every function takes stacks of matrices, ``(..., M, N)``.

Singular values
    svd, svdvals
QR
    qr
Cholesky
    cholesky, cholesky_ex, cholesky_solve, cholesky_inverse
Lanes and workspace
    lanes, set_lanes, get_lanes, workspace_info, clear_workspace
Errors
    LinAlgError
"""
from ._cholesky import cholesky, cholesky_ex, cholesky_inverse, cholesky_solve
from ._lib._errors import LinAlgError
from ._lib._lanes import clear_workspace, get_lanes, lanes, set_lanes, workspace_info
from ._qr import qr
from ._svd import svd, svdvals

__version__ = "0.1.0"

__all__ = [
    "svd", "svdvals",
    "qr",
    "cholesky", "cholesky_ex", "cholesky_solve", "cholesky_inverse",
    "lanes", "set_lanes", "get_lanes", "workspace_info", "clear_workspace",
    "LinAlgError",
]  # fmt: skip
