"""The BLAS library behind SciPy's cython_lapack: its thread count and its name.

A process may hold several copies of OpenBLAS (NumPy's, SciPy's). A symbol looked up through SciPy's
own extension module resolves in the libraries that module is linked to, so the copy found is the right
one; a scan of the loaded libraries could not tell.
"""
import contextlib
import ctypes
import functools

import scipy.linalg.cython_blas

_OPENBLAS_NAMES = [(p, s) for p in ("scipy_", "") for s in ("", "64_", "_64")]
_THREADING = {0: "sequential", 1: "pthreads", 2: "openmp"}


@functools.cache
def _library():
    return ctypes.CDLL(scipy.linalg.cython_blas.__file__)


def _symbol(name):
    """The function of that name, or None."""
    with contextlib.suppress(AttributeError):
        return getattr(_library(), name)
    return None


@functools.cache
def _openblas():
    """Prefix and suffix of the symbols of an OpenBLAS build, or None for another BLAS."""
    for prefix, suffix in _OPENBLAS_NAMES:
        if _symbol(f"{prefix}openblas_set_num_threads{suffix}") is not None:
            return prefix, suffix
    return None


def _thread_functions():
    """Getter and setter of the thread count, or None."""
    if _openblas() is not None:
        prefix, suffix = _openblas()
        return tuple(_symbol(f"{prefix}openblas_{verb}_num_threads{suffix}") for verb in ("get", "set"))
    for names in (("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
                  ("bli_thread_get_num_threads", "bli_thread_set_num_threads")):
        pair = tuple(_symbol(name) for name in names)
        if None not in pair:
            return pair
    return None


def thread_control():
    """Addresses of the getter and the setter of the thread count, or None if there is no control."""
    pair = _thread_functions()
    return None if pair is None else tuple(ctypes.cast(f, ctypes.c_void_p).value for f in pair)


def describe():
    """Name, configuration and threading layer of the library, as a dict."""
    if _openblas() is None:
        known = {"MKL_Set_Num_Threads": "MKL", "bli_thread_set_num_threads": "BLIS"}
        name = next((v for k, v in known.items() if _symbol(k) is not None), "unknown")
        return {"name": name, "threading": "unknown"}
    prefix, suffix = _openblas()
    config = _symbol(f"{prefix}openblas_get_config{suffix}")
    core = _symbol(f"{prefix}openblas_get_corename{suffix}")
    for f in (config, core):
        f.restype = ctypes.c_char_p
    return {
        "name": "OpenBLAS",
        "configuration": config().decode(),
        "core": core().decode(),
        "threading": _THREADING.get(_symbol(f"{prefix}openblas_get_parallel{suffix}")(), "unknown"),
    }
