"""What this installation uses."""
import numpy as np
import scipy

from .._kernels import _lanes as _kernel
from . import _blas, _compact, _lanes
from ._validate import check_choice


def show_config(mode="stdout"):
    """Show what linalgad runs on.

    Parameters
    ----------
    mode : {'stdout', 'dicts'}, optional
        Print, or return the same as a dict.

    Returns
    -------
    dict or None
        Sections 'versions', 'blas' (SciPy's, which the kernels call: name, threading layer, threads),
        'lanes', 'compact' (SIMD kernels for small matrices) and 'workspace'; None if printed.

    Examples
    --------
    >>> import linalgad as la
    >>> la.show_config("dicts")["lanes"]["default"] >= 1
    True
    """
    check_choice("show_config", "mode", mode, ("stdout", "dicts"))
    config = {
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
        "blas": {**_blas.describe(), "threads": _kernel.blas_threads()},
        "lanes": {"default": _lanes.get_lanes(), "usable cpus": _lanes.usable_cpus(), "openmp": _kernel.has_openmp()},
        "compact": _compact.describe(),
        "workspace": _lanes.workspace_info()._asdict(),
    }
    if mode == "dicts":
        return config
    for section, rows in config.items():
        print(section)
        for name, value in rows.items():
            print(f"  {name}: {value}")
    return None
