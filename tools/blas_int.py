"""Print the Cython line that defines `blas_int`, the integer type of SciPy's LAPACK."""
import importlib.util
from pathlib import Path

scipy = Path(importlib.util.find_spec("scipy").origin).parent
pxd = (scipy / "linalg" / "cython_lapack.pxd").read_text()
if "blas_int" in pxd:
    print("from scipy.linalg.cython_lapack cimport blas_int")
else:
    print("ctypedef int blas_int")
