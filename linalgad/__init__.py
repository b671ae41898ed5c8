"""Batched dense linear algebra with derivatives.

Every function takes stacks of matrices, ``(..., M, N)``.

Singular values
    svd, svdvals
Eigenvalues
    eigh, eigvalsh, eig, eigvals
QR
    qr
Cholesky
    cholesky, cholesky_ex, cholesky_solve, cholesky_inverse
LU, linear systems, determinants
    lu, lu_factor, lu_factor_ex, lu_solve, solve, solve_ex, solve_triangular, inv, inv_ex, det, slogdet
Lanes and workspace
    lanes, set_lanes, get_lanes, workspace_info, clear_workspace, show_config
Errors
    LinAlgError
"""
from ._cholesky import cholesky, cholesky_ex, cholesky_inverse, cholesky_solve
from ._det import det, slogdet
from ._eig import eig, eigvals
from ._eigh import eigh, eigvalsh
from ._inv import inv, inv_ex
from ._lib._config import show_config
from ._lib._errors import LinAlgError
from ._lib._lanes import clear_workspace, get_lanes, lanes, set_lanes, workspace_info
from ._lu import lu, lu_factor, lu_factor_ex, lu_solve
from ._qr import qr
from ._solve import solve, solve_ex
from ._svd import svd, svdvals
from ._triangular import solve_triangular

__version__ = "0.1.0"

__all__ = [
    "svd", "svdvals",
    "eigh", "eigvalsh", "eig", "eigvals",
    "qr",
    "cholesky", "cholesky_ex", "cholesky_solve", "cholesky_inverse",
    "lu", "lu_factor", "lu_factor_ex", "lu_solve", "solve", "solve_ex", "solve_triangular",
    "inv", "inv_ex", "det", "slogdet",
    "lanes", "set_lanes", "get_lanes", "workspace_info", "clear_workspace", "show_config",
    "LinAlgError",
]  # fmt: skip
